//! What has happened in a run and is in no checkpoint yet.

use std::collections::BTreeMap;

use super::agenda::Fired;
use super::superstep_events::SuperstepEvents;
use crate::graph::NodeIndex;
use graph_core::digest::Digest;
use graph_core::record::{Accepted, CacheEntry, TaskSummary};

/// What the next checkpoint will contain.
#[derive(Debug, Default)]
pub(super) struct Unwritten {
    tasks: Vec<TaskSummary>,
    fired: Fired,
    events: SuperstepEvents,
    /// Results for the cache, by key.
    results: BTreeMap<Digest, CacheEntry>,
    /// The changes that were accepted since the newest checkpoint.
    accepted: Vec<Accepted>,
}

impl Unwritten {
    /// A task has committed.
    #[inline]
    pub(super) fn add_task(&mut self, task: TaskSummary) {
        self.tasks.push(task);
    }

    pub(super) fn add_fired(&mut self, edges: Fired) {
        for (edge, count) in edges {
            let fired = self.fired.entry(edge).or_default();
            *fired = fired.saturating_add(count);
        }
    }

    /// A superstep has committed. Several may share a checkpoint: their times add up, and values that were written over are
    /// gone.
    pub(super) fn add_events(&mut self, events: SuperstepEvents) {
        self.events = SuperstepEvents { micros: self.events.micros.saturating_add(events.micros), ..events };
    }

    /// A task leaves a result for later ones.
    pub(super) fn add_result(&mut self, entry: CacheEntry) {
        self.results.insert(entry.key, entry);
    }

    /// The result that is found by this, if a task has left it since the newest checkpoint.
    pub(super) fn result(&self, key: &Digest) -> Option<&CacheEntry> {
        self.results.get(key)
    }

    /// The changes that were accepted since the newest checkpoint.
    pub(super) fn accepted(&self) -> &[Accepted] {
        &self.accepted
    }

    /// Sets the changes that were accepted before the walker was made.
    pub(super) fn set_accepted(&mut self, accepted: Vec<Accepted>) {
        self.accepted = accepted;
    }

    /// Something has been accepted.
    pub(super) fn accept(&mut self, accepted: Vec<Accepted>) {
        self.accepted.extend(accepted);
    }

    /// The tasks that have committed, for a checkpoint.
    pub(super) fn take_tasks(&mut self) -> Vec<TaskSummary> {
        std::mem::take(&mut self.tasks)
    }

    /// How often each edge has fired, for a checkpoint.
    pub(super) fn take_fired(&mut self) -> Fired {
        std::mem::take(&mut self.fired)
    }

    /// The events of supersteps, for a checkpoint.
    pub(super) fn take_events(&mut self) -> SuperstepEvents {
        std::mem::take(&mut self.events)
    }

    /// The accepted changes, for a checkpoint.
    pub(super) fn take_accepted(&mut self) -> Vec<Accepted> {
        std::mem::take(&mut self.accepted)
    }

    /// The results for later tasks, to be stored.
    pub(super) fn take_results(&mut self) -> impl Iterator<Item = CacheEntry> + use<> {
        std::mem::take(&mut self.results).into_values()
    }
}

/// The nodes that a run has visited.
#[derive(Debug)]
pub(super) struct Visited {
    /// Of all nodes, superstep by superstep.
    digest: Digest,
    /// Those since the newest checkpoint. Those before are in the checkpoints.
    unwritten: Vec<NodeIndex>,
    /// Those of the last superstep, for `interrupt: after`.
    newest: Vec<NodeIndex>,
}

impl Visited {
    /// The nodes of the last superstep, and the digest of all.
    pub(super) const fn new(digest: Digest, newest: Vec<NodeIndex>) -> Self {
        Self { digest, unwritten: Vec::new(), newest }
    }

    /// The digest of all nodes, superstep by superstep.
    #[inline]
    pub(super) const fn digest(&self) -> Digest {
        self.digest
    }

    /// The nodes of the last superstep.
    #[inline]
    pub(super) fn newest(&self) -> &[NodeIndex] {
        &self.newest
    }

    /// Adds a committed superstep. `digest` covers its nodes and those before.
    #[inline]
    pub(super) fn commit(&mut self, newest: Vec<NodeIndex>, digest: Digest) {
        self.digest = digest;
        self.unwritten.extend_from_slice(&newest);
        self.newest = newest;
    }

    /// The newest boundary is not that of a superstep.
    pub(super) fn forget_newest(&mut self) {
        self.newest.clear();
    }

    /// Another run begins here: its first checkpoint names all nodes visited on the way.
    pub(super) fn begin_anew(&mut self, all: Vec<NodeIndex>) {
        self.unwritten = all;
        self.newest.clear();
    }

    /// Those that no checkpoint names, for the next one.
    pub(super) fn take_unwritten(&mut self) -> std::vec::Drain<'_, NodeIndex> {
        self.unwritten.drain(..)
    }

    /// Forgets those that no checkpoint names: they are never asked for again.
    pub(super) fn forget_unwritten(&mut self) {
        self.unwritten = Vec::new();
    }

    /// How many no checkpoint names.
    #[cfg(test)]
    pub(super) const fn unwritten_count(&self) -> usize {
        self.unwritten.len()
    }
}
