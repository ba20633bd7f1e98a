//! The signature of a transcript: a host's statement that a file contains the requests to models, and their answers, in a run.
//!
//! ```json
//! {"at": "2026-01-31T12:00:00.000Z", "bytes": 1234, "digest": "sha256:…", "messages": 7, "run": "r1"}
//! ```
//!
//! The statement is the payload of a DSSE envelope of the type [`TRANSCRIPT_TYPE`], which contains the version of the format. The digest
//! is the SHA-256 of the whole file. A transcript is as trustworthy as its host: it does not contain the records from which it was made.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::dsse::{Envelope, EnvelopeError, sign_document};
use super::key::{KeyId, SigningKey, VerifyingKey};
use super::{objects_at, shown};
use crate::digest::Digest;
use crate::json::{TreeLimit, canonical_string, parse_strict};
use crate::time::Timestamp;

/// The payload type of the signature of a transcript, with the version of its format.
pub const TRANSCRIPT_TYPE: &str = "application/vnd.graph-host.transcript.v1+json";
/// Length of the longest envelope of such a signature that is read, in bytes.
pub const MAX_TRANSCRIPT_ENVELOPE: usize = 16 << 10;
/// Length of the longest name of a run, in bytes: names of child runs grow with their depth.
const MAX_RUN: usize = 4_000;

/// A host's statement about the file of a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptStatement {
    /// The time at which the file was written, by the clock of the host.
    pub at: Timestamp,
    /// The length of the file, in bytes.
    pub bytes: u64,
    /// The SHA-256 of the file.
    pub digest: Digest,
    /// Number of messages in it.
    pub messages: u64,
    /// The id of the run; of a child run, with its namespace.
    pub run: String,
}

/// The reason why a transcript cannot be signed, or its signature is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TranscriptError {
    /// The text is longer than any signature.
    #[error("it has {0} bytes, more than the {MAX_TRANSCRIPT_ENVELOPE} that are read")]
    TooLong(usize),
    /// The text is not an envelope around the signature of a transcript.
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
    /// None of its signatures names a known key.
    #[error("it is signed by the key {0}, which is not known here")]
    UnknownKey(String),
    /// A signature names a known key and is not valid.
    #[error("the signature of the key {0} does not hold")]
    BadSignature(KeyId),
    /// Not JSON, or not of its shape.
    #[error("{0}")]
    Shape(String),
    /// The statement cannot be written as JSON.
    #[error("the statement cannot be written: {0}")]
    Write(String),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    at: String,
    bytes: u64,
    digest: Digest,
    messages: u64,
    run: String,
}

impl TranscriptStatement {
    /// Signs the statement, and returns the text of its envelope. The same rules apply as when reading one.
    pub fn sign(&self, key: &SigningKey) -> Result<String, TranscriptError> {
        self.check()?;
        let document = json!({
            "at": self.at.to_string(),
            "bytes": self.bytes,
            "digest": self.digest,
            "messages": self.messages,
            "run": self.run,
        });
        let payload = canonical_string(&document).into_bytes();
        sign_document(TRANSCRIPT_TYPE, payload, key)
            .map_err(|error| TranscriptError::Write(error.to_string()))
    }

    /// Verifies the statement in an envelope, and returns it with the key that signed it. `key` returns the key with an id, if it is known.
    pub fn verify(
        envelope: &str,
        key: impl Fn(KeyId) -> Option<VerifyingKey>,
    ) -> Result<(Self, KeyId), TranscriptError> {
        if envelope.len() > MAX_TRANSCRIPT_ENVELOPE {
            return Err(TranscriptError::TooLong(envelope.len()));
        }
        let envelope = Envelope::parse_as(TRANSCRIPT_TYPE, envelope)?;
        let mut refused = None;
        for signed in &envelope.signatures {
            let known = signed.keyid.parse().ok().and_then(|id| key(id).filter(|key| key.id() == id));
            match known {
                Some(key) => match envelope.opened(signed, &key) {
                    Some(payload) => return Ok((Self::parse(payload)?, key.id())),
                    None => refused = Some(TranscriptError::BadSignature(key.id())),
                },
                None => {
                    refused.get_or_insert_with(|| TranscriptError::UnknownKey(shown(&signed.keyid)));
                }
            }
        }
        Err(refused.unwrap_or(EnvelopeError::NoSignature.into()))
    }

    fn parse(payload: &[u8]) -> Result<Self, TranscriptError> {
        let text = std::str::from_utf8(payload).map_err(|error| TranscriptError::Shape(error.to_string()))?;
        let value = parse_strict(text, 2, TreeLimit::STATEMENT)
            .map_err(|error| TranscriptError::Shape(error.to_string()))?;
        objects_at(&value, &[""]).map_err(TranscriptError::Shape)?;
        let Document { at, bytes, digest, messages, run } = serde_json::from_value(value)
            .map_err(|error| TranscriptError::Shape(shown(&error.to_string())))?;
        let at = at.parse().ok().filter(|read: &Timestamp| read.to_string() == at).ok_or_else(|| {
            TranscriptError::Shape(format!(
                "`at`: `{}` is not a time like 2030-01-31T12:00:00.000Z",
                shown(&at)
            ))
        })?;
        let statement = Self { at, bytes, digest, messages, run };
        statement.check()?;
        Ok(statement)
    }

    fn check(&self) -> Result<(), TranscriptError> {
        if self.run.is_empty() || self.run.len() > MAX_RUN {
            let message = format!("`run`: the name of a run has 1 to {MAX_RUN} bytes");
            return Err(TranscriptError::Shape(message));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn statement() -> TranscriptStatement {
        TranscriptStatement {
            at: Timestamp(1_900_000_000_000),
            bytes: 3,
            digest: Digest::of_bytes(b"abc"),
            messages: 7,
            run: "r1/2.0".to_owned(),
        }
    }

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_seed(&[seed; 32])
    }

    fn known(keys: &[u8]) -> impl Fn(KeyId) -> Option<VerifyingKey> {
        let keys: Vec<_> = keys.iter().map(|seed| key(*seed).verifying_key()).collect();
        move |id| keys.iter().find(|key| key.id() == id).copied()
    }

    #[test]
    fn a_statement_counts_with_a_known_key_alone() {
        let envelope = statement().sign(&key(1)).unwrap();
        let read = TranscriptStatement::verify(&envelope, known(&[2, 1])).unwrap();
        assert_eq!(read, (statement(), key(1).verifying_key().id()));
        let id = key(1).verifying_key().id();
        let unknown = TranscriptStatement::verify(&envelope, known(&[2])).unwrap_err();
        assert_eq!(unknown, TranscriptError::UnknownKey(id.to_string()));
        // A key under another id is refused.
        let other = |_: KeyId| Some(key(2).verifying_key());
        assert!(matches!(TranscriptStatement::verify(&envelope, other), Err(TranscriptError::UnknownKey(_))));
        let claimed = statement()
            .sign(&key(2))
            .unwrap()
            .replace(&key(2).verifying_key().id().to_string(), &id.to_string());
        let refused = TranscriptStatement::verify(&claimed, known(&[1])).unwrap_err();
        assert_eq!(refused, TranscriptError::BadSignature(id));
    }

    #[test]
    fn what_is_no_statement_is_refused() {
        let signed =
            |payload: &str, kind: &str| sign_document(kind, payload.as_bytes().to_vec(), &key(1)).unwrap();
        let digest = Digest::of_bytes(b"");
        let whole = format!(
            r#"{{"at":"2030-01-31T12:00:00.000Z","bytes":1,"digest":"{digest}","messages":1,"run":"r"}}"#
        );
        assert!(TranscriptStatement::verify(&signed(&whole, TRANSCRIPT_TYPE), known(&[1])).is_ok());
        for payload in [
            "[]".to_owned(),
            whole.replace("\"run\":\"r\"", "\"run\":\"\""),
            whole.replace("\"messages\":1", "\"messages\":-1"),
            whole.replace(".000Z", "Z"),
            whole.replace("\"bytes\"", "\"more\":1,\"bytes\""),
        ] {
            let refused = TranscriptStatement::verify(&signed(&payload, TRANSCRIPT_TYPE), known(&[1]));
            assert!(matches!(refused, Err(TranscriptError::Shape(_))), "{payload}: {refused:?}");
        }
        let other = signed(&whole, "application/vnd.in-toto+json");
        assert!(matches!(
            TranscriptStatement::verify(&other, known(&[1])),
            Err(TranscriptError::Envelope(EnvelopeError::PayloadType { .. }))
        ));
        let long = " ".repeat(MAX_TRANSCRIPT_ENVELOPE + 1);
        assert!(matches!(TranscriptStatement::verify(&long, known(&[1])), Err(TranscriptError::TooLong(_))));
    }
}
