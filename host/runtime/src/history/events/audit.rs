//! The check of a run's history: every record signed, every entry numbered, none missing.

use std::collections::BTreeSet;

use graph_core::digest::Digest;
use graph_core::record::{Pruning, RecordKind};
use graph_core::trust::VerifyingKey;
use graph_store::CheckpointStore;

use crate::error::{Error, Result};

/// How many records are read at a time.
const PAGE: usize = 256;

/// What the audit of a history found.
#[derive(Debug, Default)]
pub struct History {
    /// The number of entries.
    pub entries: u64,
    /// The first halves of the digests of its records, in order. Records are signed, so no one can forge two with the
    /// same half.
    records: Vec<u128>,
    /// The number of its first checkpoint with numbered entries: older ones were stored before entries were numbered.
    first: Option<u64>,
}

impl History {
    /// Whether a record of the run itself belongs to the history.
    pub fn holds(&self, sequence: u64, digest: &Digest) -> bool {
        self.first.is_none_or(|first| sequence < first) || self.records.binary_search(&half(digest)).is_ok()
    }
}

fn half(digest: &Digest) -> u128 {
    let (half, _) = digest.as_bytes().split_first_chunk().unwrap_or((&[0; 16], &[]));
    u128::from_be_bytes(*half)
}

/// Goes through a run's history and checks each record with the key. Where its host has removed checkpoints, the entries
/// that they held are missing, and no others.
pub fn audit(
    store: &dyn CheckpointStore,
    run: &str,
    key: &VerifyingKey,
    prunings: &[Pruning],
) -> Result<History> {
    let mut history = History::default();
    let mut gaps = Gaps::of(prunings);
    loop {
        let page = store.history(run, history.entries, PAGE)?;
        for numbered in &page {
            let record = &numbered.record;
            let opened = record.open(key).map_err(|error| Error::integrity(error.to_string()))?;
            let (wanted, found) = (history.entries, numbered.before);
            if wanted != found && !gaps.explain(wanted, found) {
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
            gaps.pass(&record.digest);
            history.records.push(half(&record.digest));
            history.entries = found.saturating_add(record.events);
        }
        if page.is_empty() {
            history.records.sort_unstable();
            return Ok(history);
        }
    }
}

/// Entries that may be missing because the host removed their checkpoints.
struct Gaps {
    /// Removed ranges, in order: how many entries come before each, and how many up to its end.
    removed: Vec<(u64, u64)>,
    /// The first checkpoints that were kept by removals whose notes do not count the removed entries: any entry before
    /// these may be missing.
    unsaid: BTreeSet<Digest>,
}

impl Gaps {
    fn of(prunings: &[Pruning]) -> Self {
        let stretches = prunings.iter().flat_map(|pruning| &pruning.entries);
        let mut removed: Vec<_> =
            stretches.map(|(before, count)| (*before, before.saturating_add(*count))).collect();
        removed.sort_unstable();
        let unsaid = prunings.iter().filter(|pruning| pruning.entries.is_empty());
        Self { removed, unsaid: unsaid.map(|pruning| pruning.first).collect() }
    }

    /// Whether all entries from one number up to another were removed.
    fn explain(&self, mut wanted: u64, found: u64) -> bool {
        if wanted < found && !self.unsaid.is_empty() {
            return true;
        }
        if wanted > found {
            return false;
        }
        // Ranges do not overlap, so those before the one that holds the first missing entry end before it.
        let first = self.removed.partition_point(|(before, _)| *before <= wanted).saturating_sub(1);
        for (before, end) in self.removed.iter().skip(first) {
            if *before > wanted {
                break;
            }
            wanted = wanted.max(*end);
        }
        // A range that reaches further would cover entries that exist.
        wanted == found
    }

    /// Notes that a record exists.
    fn pass(&mut self, digest: &Digest) {
        self.unsaid.remove(digest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_removed_may_be_missing() {
        let gaps = Gaps { removed: vec![(0, 4), (6, 9), (9, 12)], unsaid: BTreeSet::new() };
        assert!(gaps.explain(0, 4) && gaps.explain(6, 12));
        assert!(!gaps.explain(4, 6) && !gaps.explain(0, 5) && !gaps.explain(12, 13) && !gaps.explain(6, 13));
        assert!(!gaps.explain(6, 9) && !gaps.explain(5, 4) && !gaps.explain(4, 9));
    }

    #[test]
    fn a_removal_that_does_not_say_what_went_explains_what_is_before_its_first_checkpoint() {
        let digest = Digest::of_bytes(b"first");
        let mut gaps = Gaps { removed: Vec::new(), unsaid: BTreeSet::from([digest]) };
        assert!(gaps.explain(0, 7) && !gaps.explain(7, 0));
        gaps.pass(&digest);
        assert!(!gaps.explain(7, 9));
    }
}
