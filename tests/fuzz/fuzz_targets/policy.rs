//! Capability manifests, trust stores, knowledge and directives: read, or refused with a place.
#![no_main]

use graph_core::capability::Manifest;
use graph_core::diagnostic::Diagnostics;
use graph_core::trust::TrustStore;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match Manifest::parse(text, "caps.yaml", "/base") {
        Ok((manifest, _)) => {
            let same = Manifest::parse(text, "caps.yaml", "/base").expect("it was read before").0;
            assert_eq!(manifest.digest(), same.digest(), "the same manifest, another digest");
            assert!(manifest.differences(&same).is_empty(), "a manifest differs from itself");
        }
        Err(problems) => placed(&problems),
    }
    match TrustStore::from_yaml("trust.yaml", text) {
        Ok((store, _)) => {
            let same = TrustStore::from_yaml("trust.yaml", text).expect("it was read before").0;
            assert_eq!(store, same, "the same text, another store");
        }
        Err(problems) => placed(&problems),
    }
});

/// Checks that every problem has its place, and can be printed.
fn placed(problems: &Diagnostics) {
    assert!(problems.has_errors(), "refused without a reason");
    for line in problems.to_lines() {
        assert!(line.starts_with(&format!("{}:", problems.source_name())), "without its place: {line}");
        assert!(!line.contains(|c: char| c.is_control()), "control characters: {line:?}");
    }
}
