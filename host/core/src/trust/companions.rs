//! The signature of the files that are published with a graph: its cases, the manifest that it requests, its picture.
//!
//! ```json
//! {"content": "sha256:…", "files": {"a.case.yaml": {"digest": "sha256:…", "kind": "case"}}, "id": "acme/flow"}
//! ```
//!
//! The statement is the payload of a DSSE envelope of the type [`COMPANIONS_TYPE`], which contains the version of the format. `content`
//! is the digest that the graph's own signature covers. A file counts as signed only if a key that the trust store allows for the graph has
//! signed the statement, and if its name, its kind and its digest are the stated ones: write access to a registry permits removing files,
//! and not adding any.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::dsse::{Envelope, EnvelopeError, sign_document};
use super::key::SigningKey;
use super::store::TrustStore;
use crate::digest::Digest;
use crate::json::{TreeLimit, canonical_string, parse_strict};
use crate::time::Timestamp;

/// The payload type of the signature, with the version of its format.
pub const COMPANIONS_TYPE: &str = "application/vnd.graph-host.companions.v1+json";
/// Length of the longest envelope of such a signature that is read, in bytes.
pub const MAX_COMPANIONS: usize = 256 << 10;

/// A publisher's statement about the files that are published with a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompanionsStatement {
    /// The digest of the content that the graph's signature covers.
    pub content: Digest,
    /// The files, by name.
    pub files: BTreeMap<String, SignedFile>,
    /// The id of the graph.
    pub id: String,
}

/// A file that is published with a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedFile {
    /// The digest of the file.
    pub digest: Digest,
    /// The kind of the file, such as `case`, so that a file signed as another kind is not used as a case.
    pub kind: String,
}

/// The statement cannot be written as JSON.
#[derive(Debug, thiserror::Error)]
#[error("the statement cannot be written: {0}")]
pub struct WriteError(#[from] serde_json::Error);

/// The reason why a text is not a valid statement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompanionsError {
    /// The text is longer than any statement.
    #[error("it has {0} bytes, more than the {MAX_COMPANIONS} that are read")]
    TooLong(usize),
    /// The text is not an envelope around such a statement.
    #[error(transparent)]
    Envelope(#[from] EnvelopeError),
    /// The statement is not signed by a key that the trust store allows for the graph.
    #[error("no key that is trusted for the graph has signed it")]
    NotSigned,
    /// Not JSON, or not of its shape.
    #[error("{0}")]
    Shape(String),
    /// The statement is about another graph.
    #[error("it is about another graph")]
    Other,
}

impl CompanionsStatement {
    /// Signs the statement, and returns the text of its envelope, which is always the same.
    pub fn sign(&self, key: &SigningKey) -> Result<String, WriteError> {
        let payload = canonical_string(&serde_json::to_value(self)?).into_bytes();
        Ok(sign_document(COMPANIONS_TYPE, payload, key)?)
    }
}

impl TrustStore {
    /// Returns the statement about the files of a graph, if a key that is valid for the graph now has signed it. A signature has to name
    /// its key (`keyid`).
    pub fn verify_companions(
        &self,
        envelope: &str,
        (id, content): (&str, &Digest),
        now: Timestamp,
    ) -> Result<CompanionsStatement, CompanionsError> {
        if envelope.len() > MAX_COMPANIONS {
            return Err(CompanionsError::TooLong(envelope.len()));
        }
        let envelope = Envelope::parse_as(COMPANIONS_TYPE, envelope)?;
        let counts = envelope.signatures.iter().any(|signed| {
            let key = self.keys().iter().find(|key| Envelope::hints_at(signed, key.id()));
            key.is_some_and(|key| {
                matches!(self.allow(key.id(), id, now), Some(Ok(_)))
                    && envelope.opened(signed, &key.key).is_some()
            })
        });
        if !counts {
            return Err(CompanionsError::NotSigned);
        }
        let shape = |error: &dyn std::fmt::Display| CompanionsError::Shape(super::shown(&error.to_string()));
        let text = std::str::from_utf8(envelope.unverified()).map_err(|error| shape(&error))?;
        let value = parse_strict(text, 4, TreeLimit::STATEMENT).map_err(|error| shape(&error))?;
        let statement: CompanionsStatement = serde_json::from_value(value).map_err(|error| shape(&error))?;
        if statement.id != id || statement.content != *content {
            return Err(CompanionsError::Other);
        }
        Ok(statement)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::trust::store::tests::entry;
    use crate::trust::{Revocation, YANK_TYPE};

    const NOW: Timestamp = Timestamp(1_900_000_000_000);

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_seed(&[seed; 32])
    }

    fn store() -> TrustStore {
        TrustStore::new(vec![entry("me", &key(1), &["acme/*"])])
    }

    fn content() -> Digest {
        Digest::of_bytes(b"graph")
    }

    fn statement() -> CompanionsStatement {
        let file = SignedFile { digest: Digest::of_bytes(b"case"), kind: "case".to_owned() };
        let files = BTreeMap::from([("a.case.yaml".to_owned(), file)]);
        CompanionsStatement { content: content(), files, id: "acme/flow".to_owned() }
    }

    fn verify(store: &TrustStore, envelope: &str) -> Result<CompanionsStatement, CompanionsError> {
        store.verify_companions(envelope, ("acme/flow", &content()), NOW)
    }

    #[test]
    fn only_a_key_of_the_graph_signs_what_it_takes_along() {
        let envelope = statement().sign(&key(1)).unwrap();
        assert_eq!(envelope, statement().sign(&key(1)).unwrap());
        assert_eq!(verify(&store(), &envelope).unwrap(), statement());
        let not_signed =
            |store: &TrustStore, envelope: &str| verify(store, envelope) == Err(CompanionsError::NotSigned);
        let stranger = statement().sign(&key(9)).unwrap();
        assert!(not_signed(&store(), &stranger));
        let forged = stranger.replace(&key(9).id().to_string(), &key(1).id().to_string());
        assert!(not_signed(&store(), &forged));
        assert!(not_signed(&TrustStore::default(), &envelope));
        let other = TrustStore::new(vec![entry("me", &key(1), &["other/*"])]);
        assert!(not_signed(&other, &envelope));
        let mut revoked = entry("me", &key(1), &["acme/*"]);
        revoked.revoked = Some(Revocation::Always);
        assert!(not_signed(&TrustStore::new(vec![revoked]), &envelope));
    }

    #[test]
    fn a_statement_about_another_graph_or_of_another_kind_counts_for_nothing() {
        let mut others = [statement(), statement()];
        others[0].id = "acme/other".to_owned();
        others[1].content = Digest::of_bytes(b"other");
        for other in others {
            let envelope = other.sign(&key(1)).unwrap();
            assert_eq!(verify(&store(), &envelope), Err(CompanionsError::Other));
        }
        let payload = canonical_string(&serde_json::to_value(statement()).unwrap()).into_bytes();
        let yank = sign_document(YANK_TYPE, payload, &key(1)).unwrap();
        assert!(matches!(verify(&store(), &yank), Err(CompanionsError::Envelope(_))));
        for payload in [&b"[]"[..], b"{}", b"\xff", br#"{"content":1,"files":{},"id":"acme/flow"}"#] {
            let envelope = sign_document(COMPANIONS_TYPE, payload.to_vec(), &key(1)).unwrap();
            assert!(matches!(verify(&store(), &envelope), Err(CompanionsError::Shape(_))));
        }
        let long = " ".repeat(MAX_COMPANIONS + 1);
        assert_eq!(verify(&store(), &long), Err(CompanionsError::TooLong(MAX_COMPANIONS + 1)));
    }
}
