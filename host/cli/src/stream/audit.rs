//! The check of a run's history: every record signed, every entry numbered, none missing.

use std::collections::BTreeSet;

use graph_core::digest::Digest;
use graph_core::record::RecordKind;
use graph_core::trust::VerifyingKey;
use graph_store::CheckpointStore;

use crate::error::{Error, Result};

/// Records that are read at a time.
const PAGE: usize = 256;

/// What a history has been found to hold.
#[derive(Debug, Default)]
pub struct History {
    /// How many entries.
    pub entries: u64,
    /// The digests of its records.
    records: BTreeSet<Digest>,
    /// The number of its first checkpoint of the run itself: what is older was stored before entries were numbered.
    first: Option<u64>,
}

impl History {
    /// Whether a record of the run itself has its place in the history.
    pub fn holds(&self, sequence: u64, digest: &Digest) -> bool {
        self.first.is_none_or(|first| sequence < first) || self.records.contains(digest)
    }
}

/// Goes through a run's history and checks each record with the key. Where its host has removed checkpoints, `cut`, the
/// entries that they held are missing.
pub fn audit(store: &dyn CheckpointStore, run: &str, key: &VerifyingKey, cut: bool) -> Result<History> {
    let mut history = History::default();
    loop {
        let page = store.history(run, history.entries, PAGE)?;
        for numbered in &page {
            let record = &numbered.record;
            let opened = record.open(key).map_err(|error| Error::integrity(error.to_string()))?;
            let (wanted, found) = (history.entries, numbered.before);
            if wanted != found && !(cut && wanted < found) {
                return Err(Error::integrity(format!(
                    "the history of run {run} is not whole: after entry {wanted} comes entry {}",
                    found.saturating_add(1)
                )));
            }
            if opened.event_count() != record.events {
                return Err(Error::integrity(format!(
                    "the {} record {} of run {run} has {} entries, and the store says {}",
                    record.kind.as_str(),
                    record.sequence,
                    opened.event_count(),
                    record.events
                )));
            }
            if record.kind == RecordKind::Checkpoint && record.namespace.is_empty() {
                history.first.get_or_insert(record.sequence);
            }
            history.records.insert(record.digest);
            history.entries = found.saturating_add(record.events);
        }
        if page.len() < PAGE {
            return Ok(history);
        }
    }
}
