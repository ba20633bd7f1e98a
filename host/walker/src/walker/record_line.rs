//! The position of a run in its history, and what its next record builds on.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::event::PersistId;
use super::setup::CheckpointRef;
use graph_core::digest::Digest;
use graph_core::record::{Checkpoint, Delta, Source};
use graph_core::time::Timestamp;

/// The position of a run in its history.
#[derive(Debug, Default)]
pub(super) struct RecordLine {
    /// The number of the newest boundary.
    sequence: u64,
    /// The number of supersteps committed so far.
    step: u64,
    /// The recorded time of the newest boundary.
    at: Timestamp,
    /// The newest checkpoint that was handed out to be persisted.
    last: Option<CheckpointRef>,
    /// What the next checkpoint builds on; if none, it is whole.
    base: Option<Delta>,
    /// A boundary has been made that no checkpoint holds yet, with what made it.
    unwritten: Option<Source>,
    /// How many records have been handed out.
    persists: u64,
    /// The attempts that wait until a record says what they may use of language models, by that record.
    reserving: BTreeMap<PersistId, (Arc<str>, u32)>,
}

impl RecordLine {
    /// The line that ends with a checkpoint.
    pub(super) fn restore(checkpoint: &Checkpoint, digest: Digest) -> Self {
        let (sequence, step, at) = (checkpoint.sequence, checkpoint.step, checkpoint.at);
        // What release 0.1.0 wrote has no digests to build on: the next checkpoint is whole.
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
    pub(super) const fn sequence(&self) -> u64 {
        self.sequence
    }

    /// The number of supersteps committed so far.
    #[inline]
    pub(super) const fn step(&self) -> u64 {
        self.step
    }

    /// The recorded time of the newest boundary.
    #[inline]
    pub(super) const fn at(&self) -> Timestamp {
        self.at
    }

    /// The newest checkpoint that was handed out to be persisted.
    #[inline]
    pub(super) const fn last(&self) -> Option<&CheckpointRef> {
        self.last.as_ref()
    }

    /// What made the newest boundary, if no checkpoint holds it yet.
    #[inline]
    pub(super) const fn unwritten(&self) -> Option<&Source> {
        self.unwritten.as_ref()
    }

    /// The checkpoint that a record is under: its digest and its number.
    pub(super) fn under(&self) -> (Digest, u64) {
        self.last.map_or((Digest::from_bytes([0; 32]), 0), |last| (last.digest, last.sequence))
    }

    /// The run begins: its inputs are the first boundary.
    pub(super) fn begin(&mut self, now: Timestamp) {
        self.at = now;
        self.unwritten = Some(Source::Input);
    }

    /// Counts a superstep that is about to commit, so that work for its boundary includes it.
    #[inline]
    pub(super) const fn count_superstep(&mut self) {
        self.step += 1;
    }

    /// It does not commit after all.
    #[inline]
    pub(super) const fn take_superstep_back(&mut self) {
        self.step -= 1;
    }

    /// A boundary is made.
    pub(super) fn make_boundary(&mut self, now: Timestamp, source: Source) {
        self.sequence += 1;
        self.at = now;
        self.unwritten = Some(source);
    }

    /// Another run begins at this boundary, with a line of its own.
    pub(super) fn branch_off(&mut self, source: Source) {
        self.last = None;
        self.base = None;
        self.unwritten = Some(source);
    }

    /// A run that went back to an earlier checkpoint continues at the end of its history. The newest checkpoint there is
    /// not its predecessor in state, so the next one is whole.
    pub(super) fn continue_after(&mut self, end: &Self) {
        self.sequence = end.sequence;
        self.last = end.last;
        self.persists = end.persists;
        self.base = None;
    }

    /// A checkpoint of the newest boundary is about to be made: what made the boundary.
    pub(super) fn take_unwritten(&mut self) -> Source {
        self.unwritten.take().unwrap_or(Source::Superstep)
    }

    /// What a checkpoint with this number of changed entries builds on; none if it is whole. It is whole if the changes
    /// since the last whole one would have more than `most` entries.
    pub(super) fn build_on(&mut self, entries: u64, most: u64) -> Option<Delta> {
        let delta = self.base.and_then(|base| {
            let entries = base.entries.saturating_add(entries);
            (entries <= most).then_some(Delta { entries, ..base })
        });
        self.base = Some(delta.unwrap_or(Delta { entries: 0, whole: self.sequence }));
        delta
    }

    /// A checkpoint of the newest boundary has been made.
    pub(super) const fn written(&mut self, checkpoint: CheckpointRef) {
        self.last = Some(checkpoint);
    }

    /// The number of the next record that is handed out.
    #[inline]
    pub(super) const fn hand_out(&mut self) -> PersistId {
        self.persists += 1;
        PersistId(self.persists)
    }

    /// An attempt of a task waits until that record is stored.
    pub(super) fn waits_for(&mut self, id: PersistId, task: Arc<str>, attempt: u32) {
        self.reserving.insert(id, (task, attempt));
    }

    /// One of the attempts that waited for this record, or for one before it: records that are stored together are reported
    /// by the newest of them.
    pub(super) fn take_recorded(&mut self, id: PersistId) -> Option<(Arc<str>, u32)> {
        let recorded = self.reserving.first_entry().filter(|waiting| *waiting.key() <= id)?;
        Some(recorded.remove())
    }

    /// Whether a record of that number was handed out.
    #[inline]
    pub(super) const fn has_handed_out(&self, id: PersistId) -> bool {
        id.0 <= self.persists
    }
}
