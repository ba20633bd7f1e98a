//! Checks a run's history: every record is signed, every entry is numbered, none is missing.

use std::collections::{BTreeMap, BTreeSet};

use graph_core::digest::Digest;
use graph_core::record::{Checkpoint, Pruning, Record, RecordKind, SignedRecord, Source, Status};
use graph_core::trust::VerifyingKey;
use graph_store::{CheckpointStore, RunRow};

use crate::error::{Error, Result};
use crate::remedy::Remedy;
use crate::run::{checkpoints, restore};

/// Number of records that are read at a time.
const PAGE: usize = 256;

/// Number of the last entries that a resume checks, however long the history is.
const LAST: u64 = 64;

/// Result of the audit of a history.
#[derive(Debug, Default)]
pub struct History {
    /// Number of entries.
    pub entries: u64,
    /// First halves of the digests of its records, sorted. Records are signed, so no one can forge two with the same half.
    records: Vec<u128>,
    /// Number of its first checked checkpoint with numbered entries: older ones were stored before entries were numbered.
    first: Option<u64>,
}

impl History {
    /// Checks whether a record of the run itself belongs to the history.
    pub fn holds(&self, sequence: u64, digest: &Digest) -> bool {
        self.first.is_none_or(|first| sequence < first) || self.records.binary_search(&half(digest)).is_ok()
    }
}

fn half(digest: &Digest) -> u128 {
    let (half, _) = digest.as_bytes().split_first_chunk().unwrap_or((&[0; 16], &[]));
    u128::from_be_bytes(*half)
}

/// Checks each record of a run's history with the key. Entries may be missing only where the run's host has removed their checkpoints.
pub fn audit(
    store: &dyn CheckpointStore,
    run: &str,
    key: &VerifyingKey,
    prunings: &[Pruning],
) -> Result<History> {
    audit_after(store, run, key, 0, Gaps::of(prunings))
}

/// Checks the end of the history of a run that is resumed: its last entries are complete, each is under the checkpoint
/// before it, and the records that the run is resumed from are among them.
pub(crate) fn audit_end(
    store: &dyn CheckpointStore,
    run: &str,
    key: &VerifyingKey,
    (sequence, newest): (u64, &Digest),
) -> Result<()> {
    let length = store.history_length(run)?;
    let after = length.saturating_sub(LAST);
    let history = match audit_after(store, run, key, after, Gaps::of(&[])) {
        Ok(history) => history,
        // The notes about removed checkpoints are read only if something is missing.
        Err(refused) => {
            let mut prunings = Vec::new();
            for namespace in store.namespaces(run)? {
                prunings.extend(checkpoints::begins(store, run, &namespace, Some(key))?);
            }
            if prunings.is_empty() {
                return Err(refused);
            }
            audit_after(store, run, key, after, Gaps::of(&prunings))?
        }
    };
    if history.entries != length {
        return Err(not_whole(run, history.entries, length));
    }
    if !history.holds(sequence, newest) {
        return Err(untold(run, RecordKind::Checkpoint, sequence));
    }
    match restore::pending_status(store, run, "")? {
        // A status record that is older than the checked entries is not looked for.
        Some(status) if !history.holds(status.sequence, &status.digest) => {
            Err(untold(run, status.kind, status.sequence))
        }
        _ => Ok(()),
    }
}

/// Checks that a run which stopped short of its end has a signed record of its status under its newest checkpoint.
pub(crate) fn check_pause(
    row: &RunRow,
    newest: Option<&Checkpoint>,
    store: &dyn CheckpointStore,
) -> Result<()> {
    let Some(newest) = newest else { return Ok(()) };
    // An edit from outside replaces such a record, and leaves the status unchanged.
    let from_outside = !matches!(newest.source, Source::Input | Source::Superstep);
    if row.status == Status::Running || row.status.is_end() || from_outside {
        return Ok(());
    }
    if let Some(record) = restore::pending_status(store, &row.run_id, "")? {
        let opened = record.decode().map_err(|error| Error::integrity(error.to_string()).caused_by(error))?;
        if matches!(opened, Record::Status(status) if status.status == row.status) {
            return Ok(());
        }
    }
    Err(Error::integrity(format!(
        "the row of run {} says {}, and no signed record says so: the row was changed, or the record was removed",
        row.run_id, row.status
    )))
}

/// Makes the error of a record that is missing from the history.
pub(crate) fn untold(run: &str, kind: RecordKind, sequence: u64) -> Error {
    Error::integrity(format!("the {} record {sequence} of run {run} is not in its history", kind.as_str()))
        .help(Remedy::RestoreStore)
}

fn not_whole(run: &str, after: u64, next: u64) -> Error {
    Error::integrity(format!("the history of run {run} is not whole: after entry {after} comes entry {next}"))
        .help(Remedy::RestoreStore)
}

fn audit_after(
    store: &dyn CheckpointStore,
    run: &str,
    key: &VerifyingKey,
    after: u64,
    mut gaps: Gaps,
) -> Result<History> {
    let mut history = History { entries: after, ..History::default() };
    // The newest checkpoint so far of each namespace.
    let mut newest: BTreeMap<String, Digest> = BTreeMap::new();
    loop {
        let page = store.history(run, history.entries, PAGE)?;
        for numbered in &page {
            let record = &numbered.record;
            let opened =
                record.open(key).map_err(|error| Error::integrity(error.to_string()).caused_by(error))?;
            let (wanted, found) = (history.entries, numbered.before);
            // The first record may begin before the checked entries.
            let begins_before = history.records.is_empty() && found < wanted;
            if wanted != found && !begins_before && !gaps.explain(wanted, found) {
                return Err(not_whole(run, wanted, found.saturating_add(1)));
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
            follow(&mut newest, record, &opened)?;
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

/// Checks that a status record is under the newest checkpoint before it, as it was when it was stored.
fn follow(newest: &mut BTreeMap<String, Digest>, record: &SignedRecord, opened: &Record) -> Result<()> {
    let before = newest.get_mut(&record.namespace);
    match (opened, before) {
        (Record::Checkpoint(_), Some(before)) => *before = record.digest,
        (Record::Checkpoint(_), None) => {
            newest.insert(record.namespace.clone(), record.digest);
        }
        (Record::Status(status), Some(before)) if status.checkpoint != *before => {
            return Err(Error::integrity(format!(
                "the status record {} of run {} is in its history after another checkpoint than the one that it is under: \
                 it was added or moved",
                record.sequence, record.run
            ))
            .help(Remedy::RestoreStore));
        }
        _ => {}
    }
    Ok(())
}

/// Entries that may be missing because the host removed their checkpoints.
struct Gaps {
    /// Removed ranges, in order: the numbers of entries before each and up to its end.
    removed: Vec<(u64, u64)>,
    /// First checkpoints after removals whose notes do not count the removed entries: any entry before these may be missing.
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

    /// Checks whether all entries from number `wanted` up to `found` were removed.
    fn explain(&self, mut wanted: u64, found: u64) -> bool {
        if wanted < found && !self.unsaid.is_empty() {
            return true;
        }
        if wanted > found {
            return false;
        }
        // Ranges do not overlap, so all ranges before the one with the first missing entry end before that entry.
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

    /// Records that a record exists.
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
