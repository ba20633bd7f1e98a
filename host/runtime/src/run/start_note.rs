//! A signed note about the start of a run, among the texts that it keeps.
//!
//! Until a run's first checkpoint, only its row names its graph and its manifest, and rows are not signed. A stranger's
//! store may contain any row, also one that names the key of this host. So the host signs the start, and a run without
//! checkpoints continues only with this note.

use graph_core::digest::{Digest, DomainHasher};
use graph_core::trust::{Signature, SigningKey, VerifyingKey};
use graph_store::{CheckpointStore, RunRow, Snapshot};

use crate::error::{Error, Result};
use crate::remedy::Remedy;

const DOMAIN: &str = "graph-host/run-start/v1";

/// The graph, inputs, pins and seed that a run starts with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunStart<'r> {
    pub(crate) run: &'r str,
    pub(crate) graph: Digest,
    pub(crate) inputs: Digest,
    pub(crate) pins: Digest,
    pub(crate) seed: Digest,
}

impl<'r> RunStart<'r> {
    /// Reads them from the row of a run.
    pub(crate) fn of(row: &'r RunRow) -> Self {
        Self { run: &row.run_id, graph: row.graph, inputs: row.inputs, pins: row.pins, seed: row.seed }
    }

    /// Returns the digest of all fields, under which the note is stored.
    pub(crate) fn digest(&self) -> Digest {
        [self.graph, self.inputs, self.pins, self.seed]
            .iter()
            .fold(DomainHasher::new(DOMAIN).field(self.run.as_bytes()), |hasher, digest| {
                hasher.field(digest.as_bytes())
            })
            .finish()
    }

    /// Makes the note for the store.
    pub(crate) fn note(&self, key: &SigningKey) -> Snapshot {
        let digest = self.digest();
        Snapshot { digest, text: key.sign_digest(DOMAIN, &digest).to_string().into() }
    }

    /// Fails for a run that was not started by the host with this key.
    pub(crate) fn check(&self, store: &dyn CheckpointStore, key: &VerifyingKey) -> Result<()> {
        let digest = self.digest();
        let signature = store.snapshot(&digest)?.and_then(|text| text.parse::<Signature>().ok());
        if signature.is_some_and(|signature| key.verify_digest(DOMAIN, &digest, &signature)) {
            return Ok(());
        }
        Err(Error::denied(format!(
            "run {} has no checkpoint yet, and nothing signed says that this host has begun it: what it would run, and with \
             which manifest, may be what another party has written",
            self.run
        ))
        .details(serde_json::json!({ "run_id": self.run }))
        .help(Remedy::StartAnew { run: self.run.to_owned() }))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use graph_store::MemoryStore;

    use super::*;

    #[test]
    fn a_note_is_for_one_run_and_one_key() {
        let key = SigningKey::from_seed(&[1; 32]);
        let store = MemoryStore::new();
        let row = graph_store::conformance::sample::run("r").row;
        let begun = RunStart::of(&row);
        assert!(begun.check(&store, &key.verifying_key()).is_err());
        let Snapshot { digest, text } = begun.note(&key);
        store.put_snapshot(&digest, &text).unwrap();
        begun.check(&store, &key.verifying_key()).unwrap();
        let other = SigningKey::from_seed(&[2; 32]).verifying_key();
        assert!(begun.check(&store, &other).is_err());
        let digest = Digest::of_bytes(b"other");
        for changed in [
            RunStart { run: "s", ..begun },
            RunStart { graph: digest, ..begun },
            RunStart { inputs: digest, ..begun },
            RunStart { pins: digest, ..begun },
            RunStart { seed: digest, ..begun },
        ] {
            store.put_snapshot(&changed.digest(), &text).unwrap();
            assert!(changed.check(&store, &key.verifying_key()).is_err(), "{changed:?}");
        }
    }
}
