//! Envelopes and statements of components, and signature lines of text items: whatever they state, none is accepted
//! without a trusted key.
#![no_main]

use std::sync::Arc;

use graph_core::time::Timestamp;
use graph_core::trust::{EnvelopeClaims, TextKind, TextStanding, TrustStore, VerifiedComponent, verify_text};
use libfuzzer_sys::fuzz_target;

/// The smallest component: its header.
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

fuzz_target!(|text: &str| {
    if let Err(refused) = EnvelopeClaims::read(text) {
        assert!(!refused.to_string().is_empty(), "refused without a reason");
    }
    let store = TrustStore::default();
    let verified =
        VerifiedComponent::verify(Arc::from(COMPONENT), Some(text), &store, "fuzz/item", Timestamp(1));
    assert!(verified.is_err(), "a store without keys has believed someone");
    for kind in TextKind::ALL {
        let standing = verify_text(kind, "fuzz/item", text, &store, Timestamp(1));
        assert!(!matches!(standing, TextStanding::Signed { .. }), "a store without keys has believed a line");
    }
});
