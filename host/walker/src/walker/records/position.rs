//! The position of a run in its history, and the base of its next checkpoint.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::walker::event::PersistId;
use crate::walker::setup::CheckpointRef;
use graph_core::digest::Digest;
use graph_core::record::{Checkpoint, Delta, Source};
use graph_core::time::Timestamp;

/// The position of a run in its history.
#[derive(Debug, Default)]
pub(in crate::walker) struct HistoryPosition {
    /// The number of the newest boundary.
    sequence: u64,
    /// The number of supersteps committed so far.
    step: u64,
    /// The recorded time of the newest boundary.
    at: Timestamp,
    /// The newest checkpoint that was handed out to be persisted.
    last: Option<CheckpointRef>,
    /// The base of the next checkpoint; without one, the checkpoint is whole.
    base: Option<Delta>,
    /// The origin of the newest boundary, if no checkpoint holds the boundary yet.
    unwritten: Option<Source>,
    /// Number of records handed out to be persisted.
    persists: u64,
    /// The attempts that wait for the record of their reservation for language models, by that record.
    reserving: BTreeMap<PersistId, (Arc<str>, u32)>,
}

impl HistoryPosition {
    /// Restores the position at a checkpoint.
    pub(in crate::walker) fn restore(checkpoint: &Checkpoint, digest: Digest) -> Self {
        let (sequence, step, at) = (checkpoint.sequence, checkpoint.step, checkpoint.at);
        // A checkpoint of release 0.1.0 has no digests to build on, so that the next one is whole.
        let base = checkpoint.delta.unwrap_or(Delta { entries: 0, whole: sequence });
        Self {
            sequence,
            step,
            at,
            last: Some(CheckpointRef { sequence, digest, result_digest: checkpoint.result }),
            base: checkpoint.state.map(|_| base),
            unwritten: None,
            persists: 0,
            reserving: BTreeMap::new(),
        }
    }

    /// The number of the newest boundary.
    #[inline]
    pub(in crate::walker) const fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The number of supersteps committed so far.
    #[inline]
    pub(in crate::walker) const fn step(&self) -> u64 {
        self.step
    }

    /// The recorded time of the newest boundary.
    #[inline]
    pub(in crate::walker) const fn at(&self) -> Timestamp {
        self.at
    }

    /// The newest checkpoint that was handed out to be persisted.
    #[inline]
    pub(in crate::walker) const fn last(&self) -> Option<&CheckpointRef> {
        self.last.as_ref()
    }

    /// The origin of the newest boundary, if no checkpoint holds the boundary yet.
    #[inline]
    pub(in crate::walker) const fn unwritten(&self) -> Option<&Source> {
        self.unwritten.as_ref()
    }

    /// Digest and number of the checkpoint that a new record belongs to; zeros if there is none.
    pub(in crate::walker) fn under(&self) -> (Digest, u64) {
        self.last.map_or((Digest::from_bytes([0; 32]), 0), |last| (last.digest, last.sequence))
    }

    /// Begins the run, with its inputs as the first boundary.
    pub(in crate::walker) fn begin(&mut self, now: Timestamp) {
        self.at = now;
        self.unwritten = Some(Source::Input);
    }

    /// Counts a superstep that is about to commit, so that work for its boundary includes it.
    #[inline]
    pub(in crate::walker) const fn count_superstep(&mut self) {
        self.step += 1;
    }

    /// Takes the count of a superstep back that does not commit after all.
    #[inline]
    pub(in crate::walker) const fn take_superstep_back(&mut self) {
        self.step -= 1;
    }

    /// Makes a boundary.
    pub(in crate::walker) fn make_boundary(&mut self, now: Timestamp, source: Source) {
        self.sequence += 1;
        self.at = now;
        self.unwritten = Some(source);
    }

    /// Begins the history of another run at this boundary.
    pub(in crate::walker) fn branch_off(&mut self, source: Source) {
        self.last = None;
        self.base = None;
        self.unwritten = Some(source);
    }

    /// Continues at the end of the history of a run that went back to an earlier checkpoint. The newest checkpoint
    /// there is not the predecessor in state, so the next one is whole.
    pub(in crate::walker) fn continue_after(&mut self, end: &Self) {
        self.sequence = end.sequence;
        self.last = end.last;
        self.persists = end.persists;
        self.base = None;
    }

    /// Takes the origin of the newest boundary, for its checkpoint.
    pub(in crate::walker) fn take_unwritten(&mut self) -> Source {
        self.unwritten.take().unwrap_or(Source::Superstep)
    }

    /// Returns the base of a checkpoint with this number of changed entries; none if it is whole. It is whole if the
    /// changes since the last whole one would have more than `most` entries.
    pub(in crate::walker) fn build_on(&mut self, entries: u64, most: u64) -> Option<Delta> {
        let delta = self.base.and_then(|base| {
            let entries = base.entries.saturating_add(entries);
            (entries <= most).then_some(Delta { entries, ..base })
        });
        self.base = Some(delta.unwrap_or(Delta { entries: 0, whole: self.sequence }));
        delta
    }

    /// Notes the checkpoint of the newest boundary.
    pub(in crate::walker) const fn written(&mut self, checkpoint: CheckpointRef) {
        self.last = Some(checkpoint);
    }

    /// Returns the id of the next record to hand out.
    #[inline]
    pub(in crate::walker) const fn hand_out(&mut self) -> PersistId {
        self.persists += 1;
        PersistId(self.persists)
    }

    /// Has an attempt of a task wait until a record is stored.
    pub(in crate::walker) fn waits_for(&mut self, id: PersistId, task: Arc<str>, attempt: u32) {
        self.reserving.insert(id, (task, attempt));
    }

    /// Takes one of the attempts that waited for this record or an earlier one: records that are stored together are
    /// reported by the newest of them.
    pub(in crate::walker) fn take_recorded(&mut self, id: PersistId) -> Option<(Arc<str>, u32)> {
        let recorded = self.reserving.first_entry().filter(|waiting| *waiting.key() <= id)?;
        Some(recorded.remove())
    }

    /// Returns `true` if a record with that id was handed out.
    #[inline]
    pub(in crate::walker) const fn has_handed_out(&self, id: PersistId) -> bool {
        id.0 <= self.persists
    }
}
