//! Files of cases: read, or refused with the place of every problem.
#![no_main]

use std::path::Path;

use graph_cases::Case;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match Case::parse(Path::new("fuzz.case.yaml"), text) {
        Ok(case) => {
            let lines = text.lines().count();
            assert!(case.script.iter().all(|step| (1..=lines).contains(&step.line)), "a step of no line");
            let same = Case::parse(Path::new("fuzz.case.yaml"), text).expect("it was read before");
            assert_eq!(format!("{case:?}"), format!("{same:?}"), "the same text, another case");
        }
        Err(problems) => {
            assert!(problems.has_errors(), "refused without a reason");
            for line in problems.to_lines() {
                assert!(line.starts_with("fuzz.case.yaml:"), "a problem without its place: {line}");
                assert!(!line.contains(|c: char| c.is_control()), "control characters: {line:?}");
            }
        }
    }
});
