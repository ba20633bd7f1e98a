//! Stored records: the first byte says which kind, the rest is its text. It is refused, or what is read from it is
//! written so that it reads the same.
#![no_main]

use graph_core::digest::Digest;
use graph_core::record::{RecordKind, SignedRecord};
use graph_core::trust::SigningKey;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Some(kind) = text.get(..1) else { return };
    let kind = match kind {
        "c" => RecordKind::Checkpoint,
        "t" => RecordKind::Task,
        "a" => RecordKind::Answers,
        "h" => RecordKind::Hook,
        _ => RecordKind::Status,
    };
    let key = SigningKey::from_seed(&[7; 32]);
    let digest = Digest::of_bytes(b"another text");
    let stored = SignedRecord {
        kind,
        run: "r".into(),
        namespace: String::new(),
        sequence: 1,
        step: 0,
        task: String::new(),
        body: text[1..].into(),
        digest,
        signature: key.sign_digest(kind.domain(), &digest),
        key_id: key.id(),
        events: 0,
        values: Vec::new(),
    };
    assert!(stored.open(&key.verifying_key()).is_err(), "a record of another digest was believed");
    let Ok(record) = stored.decode() else { return };
    let (body, digest) = record.encode().expect("what was read can be written");
    let again = SignedRecord { body, digest, ..stored }.decode().expect("what was written can be read");
    assert_eq!(again.encode().expect("and written again").1, digest, "it reads as something else");
});
