//! Capability manifests, trust stores, knowledge and directives: read, or refused with a place.
#![no_main]

use graph_core::capability::Manifest;
use graph_core::trust::TrustStore;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match Manifest::parse(text, "caps.yaml", "/base") {
        Ok((manifest, _)) => {
            let same = Manifest::parse(text, "caps.yaml", "/base").expect("it was read before").0;
            assert_eq!(manifest.digest(), same.digest(), "the same manifest, another digest");
            assert!(manifest.differences(&same).is_empty(), "a manifest differs from itself");
        }
        Err(problems) => assert!(!problems.to_string().is_empty(), "refused without a reason"),
    }
    if let Err(problems) = TrustStore::from_yaml("trust.yaml", text) {
        assert!(!problems.to_string().is_empty(), "refused without a reason");
    }
});
