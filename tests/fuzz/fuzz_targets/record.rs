//! Stored records: the first byte selects the kind, the rest is the text. It is refused, or it reads the same after it is written.
#![no_main]

use graph_core::digest::Digest;
use graph_core::record::{RecordKind, SignedCacheEntry, SignedRecord};
use graph_core::time::Timestamp;
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
    if text.starts_with('r') {
        return result(&text[1..], &key);
    }
    let stored = SignedRecord {
        kind,
        run: "r".into(),
        namespace: String::new(),
        sequence: 1,
        step: 0,
        task: String::new(),
        body: text[1..].into(),
        digest,
        signature: key.sign_digest(kind.domain(), &digest).into(),
        key_id: key.id(),
        events: 0,
        values: Vec::new(),
        results: Vec::new(),
    };
    assert!(stored.open(&key.verifying_key()).is_err(), "a record of another digest was believed");
    let Ok(record) = stored.decode() else { return };
    let (body, digest) = record.encode().expect("what was read can be written");
    let again = SignedRecord { body, digest, ..stored }.decode().expect("what was written can be read");
    assert_eq!(again.encode().expect("and written again").1, digest, "it reads as something else");
});

/// Checks a result that is kept for later tasks.
fn result(text: &str, key: &SigningKey) {
    let stored = SignedCacheEntry {
        key: Digest::of_bytes(b"key"),
        at: Timestamp(1),
        expires: Timestamp(2),
        run: "r".into(),
        namespace: String::new(),
        body: text.into(),
        key_id: key.id(),
        signature: key.sign_digest("graph-host/checkpoint/v1", &Digest::of_bytes(text.as_bytes())),
    };
    assert!(stored.open(&key.verifying_key()).is_err(), "a result under another signature was believed");
    let Ok(entry) = stored.decode() else { return };
    let again = entry.sign(key).expect("what was read can be written");
    assert_eq!(again.open(&key.verifying_key()), Ok(entry), "it reads as something else");
}
