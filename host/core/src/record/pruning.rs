//! The signed note of a host that has removed the beginning of a run's history. Without the note, a removal is detected as damage.

use serde::{Deserialize, Serialize};

use super::cumulative::CumulativeState;
use crate::digest::{Digest, DomainHasher};
use crate::json::{self, ReadJsonError, TreeLimit};
use crate::time::Timestamp;
use crate::trust::{KeyId, Signature, SigningKey, VerifyingKey};

const DOMAIN: &str = "graph-host/pruning/v1";

/// The note that the checkpoints of a namespace before one of them were removed. It contains the data of theirs that is still needed,
/// except values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pruning {
    /// The time of the removal.
    pub at: Timestamp,
    /// The removed entries of the run's history, as stretches in order: the number of entries before each, and its length. Those of earlier
    /// removals are included; empty in a note of a release that did not record them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<(u64, u64)>,
    /// The record digest of the first remaining checkpoint.
    pub first: Digest,
    /// The number of the first remaining checkpoint.
    pub first_sequence: u64,
    /// The namespace whose checkpoints were removed; empty for the root run.
    pub namespace: String,
    /// The record digest of the newest checkpoint at that time. A history without it was cut at its end as well.
    pub newest: Digest,
    /// The number of the newest checkpoint at that time.
    pub newest_sequence: u64,
    /// Number of removed checkpoints, those of earlier removals included.
    pub removed: u64,
    /// The id of the run.
    pub run: String,
    /// The stamps and counts at the first remaining checkpoint, unless that one is whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<CumulativeState>,
    /// The nodes visited in the removed checkpoints, in order.
    pub visited: Vec<String>,
    /// The warnings of the removed checkpoints, in order.
    pub warnings: Vec<String>,
}

/// A [`Pruning`] with the host's signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedPruning {
    /// The signed text, in JSON.
    pub body: String,
    /// The key that signed.
    pub key_id: KeyId,
    /// The signature over the digest of the text.
    pub signature: Signature,
}

/// The reason why a note about a removal is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum PruningError {
    /// The note cannot be read.
    #[error("what is said about removed checkpoints of run {run} cannot be read: {reason}")]
    Malformed { run: String, reason: String },
    /// The signature is not that of the key.
    #[error("the removal of checkpoints of run {run} is not signed by the key {key}")]
    Signature {
        run: String,
        /// The key that was expected.
        key: KeyId,
    },
    /// The note is about another run or namespace.
    #[error("what is said about removed checkpoints of run {run} is about run {found}")]
    Misplaced {
        run: String,
        /// The namespace or run in the note.
        found: String,
    },
}

impl Pruning {
    /// Signs the note with the key of the host that removed the checkpoints.
    pub fn sign(&self, key: &SigningKey) -> Result<SignedPruning, serde_json::Error> {
        let body = serde_json::to_string(self)?;
        let signature = key.sign_digest(DOMAIN, &digest_of(&body));
        Ok(SignedPruning { body, key_id: key.id(), signature })
    }
}

impl SignedPruning {
    /// Reads a stored text, and checks that the key has signed it, for this namespace of this run.
    pub fn open(text: &str, key: &VerifyingKey, run: &str, namespace: &str) -> Result<Pruning, PruningError> {
        let malformed =
            |error: ReadJsonError| PruningError::Malformed { run: run.to_owned(), reason: error.to_string() };
        let signed: Self = json::read(text, TreeLimit::RECORD).map_err(malformed)?;
        let digest = digest_of(&signed.body);
        if signed.key_id != key.id() || !key.verify_digest(DOMAIN, &digest, &signed.signature) {
            return Err(PruningError::Signature { run: run.to_owned(), key: key.id() });
        }
        let pruning: Pruning = json::read(&signed.body, TreeLimit::RECORD).map_err(malformed)?;
        if (pruning.run.as_str(), pruning.namespace.as_str()) != (run, namespace) {
            let found = format!("{}, namespace `{}`", pruning.run, pruning.namespace);
            return Err(PruningError::Misplaced { run: run.to_owned(), found });
        }
        Ok(pruning)
    }

    /// Reads a stored text without checking anything: to show the note of another host.
    pub fn decode(text: &str) -> Result<Pruning, ReadJsonError> {
        json::read::<Self>(text, TreeLimit::RECORD)
            .and_then(|signed| json::read(&signed.body, TreeLimit::RECORD))
    }
}

fn digest_of(body: &str) -> Digest {
    DomainHasher::new(DOMAIN).field(body.as_bytes()).finish()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn it_holds_for_one_namespace_of_one_run_and_one_key() {
        let key = SigningKey::from_seed(&[1; 32]);
        let pruning = Pruning {
            at: Timestamp(5),
            entries: vec![(0, 3), (5, 2)],
            first: Digest::of_bytes(b"first"),
            first_sequence: 4,
            namespace: String::new(),
            newest: Digest::of_bytes(b"newest"),
            newest_sequence: 9,
            removed: 4,
            run: "r".to_owned(),
            standing: None,
            visited: vec!["a".to_owned()],
            warnings: Vec::new(),
        };
        let text = serde_json::to_string(&pruning.sign(&key).unwrap()).unwrap();
        assert_eq!(SignedPruning::open(&text, &key.verifying_key(), "r", ""), Ok(pruning.clone()));
        assert_eq!(SignedPruning::decode(&text).unwrap(), pruning);
        let open = |text: &str, run, namespace| {
            SignedPruning::open(text, &key.verifying_key(), run, namespace).unwrap_err()
        };
        assert!(matches!(open(&text, "s", ""), PruningError::Misplaced { .. }));
        assert!(matches!(open(&text, "r", "x"), PruningError::Misplaced { .. }));
        let moved = text.replace("first_sequence\\\":4", "first_sequence\\\":5");
        assert_ne!(moved, text);
        assert!(matches!(open(&moved, "r", ""), PruningError::Signature { .. }));
        assert!(matches!(open("{}", "r", ""), PruningError::Malformed { .. }));
        let other = SigningKey::from_seed(&[2; 32]).verifying_key();
        assert!(matches!(SignedPruning::open(&text, &other, "r", ""), Err(PruningError::Signature { .. })));
    }
}
