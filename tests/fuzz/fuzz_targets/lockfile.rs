//! Lockfiles: they are the same after they are read, written and read again; a problem is reported with its line.
#![no_main]

use graph_registry::lock::{FILE, Lock};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match Lock::parse(FILE, text) {
        Ok(lock) => {
            let written = lock.to_text();
            let again = Lock::parse(FILE, &written).expect("what was written can be read");
            assert_eq!(again, lock, "it reads as something else");
            assert_eq!(again.to_text(), written, "the same lockfile, another text");
        }
        Err(problems) => {
            assert!(problems.has_errors() && !problems.is_empty(), "refused without a reason");
            for line in problems.to_lines() {
                assert!(!line.contains(|c: char| c.is_control()), "control characters: {line:?}");
                assert!(line.starts_with(&format!("{FILE}:")), "a problem without its place: {line}");
            }
        }
    }
});
