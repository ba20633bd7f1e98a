//! Changes of a run that are in no checkpoint yet.

use std::collections::BTreeMap;

use crate::graph::NodeIndex;
use crate::walker::tasks::agenda::FiredEdges;
use crate::walker::tasks::superstep_events::SuperstepEvents;
use graph_core::digest::Digest;
use graph_core::record::{AcceptedPinChange, CacheEntry, TaskSummary};

/// Changes that the next checkpoint will contain.
#[derive(Debug, Default)]
pub(in crate::walker) struct UnwrittenChanges {
    tasks: Vec<TaskSummary>,
    fired: FiredEdges,
    events: SuperstepEvents,
    /// Results for the cache, by key.
    results: BTreeMap<Digest, CacheEntry>,
    /// The changes that were accepted since the newest checkpoint.
    accepted: Vec<AcceptedPinChange>,
}

impl UnwrittenChanges {
    /// Adds a task that has committed.
    #[inline]
    pub(in crate::walker) fn add_task(&mut self, task: TaskSummary) {
        self.tasks.push(task);
    }

    pub(in crate::walker) fn add_fired(&mut self, edges: FiredEdges) {
        for (edge, count) in edges {
            let fired = self.fired.entry(edge).or_default();
            *fired = fired.saturating_add(count);
        }
    }

    /// Adds the events of a superstep that has committed. If several share a checkpoint, their times add up, and only
    /// the writes of the last are kept.
    pub(in crate::walker) fn add_events(&mut self, events: SuperstepEvents) {
        self.events = SuperstepEvents { micros: self.events.micros.saturating_add(events.micros), ..events };
    }

    /// Adds a result for the cache.
    pub(in crate::walker) fn add_result(&mut self, entry: CacheEntry) {
        self.results.insert(entry.key, entry);
    }

    /// Returns the result with a key, if a task has added it since the newest checkpoint.
    pub(in crate::walker) fn result(&self, key: &Digest) -> Option<&CacheEntry> {
        self.results.get(key)
    }

    /// The changes that were accepted since the newest checkpoint.
    pub(in crate::walker) fn accepted(&self) -> &[AcceptedPinChange] {
        &self.accepted
    }

    /// Sets the changes that were accepted before the walker was made.
    pub(in crate::walker) fn set_accepted(&mut self, accepted: Vec<AcceptedPinChange>) {
        self.accepted = accepted;
    }

    /// Adds accepted changes.
    pub(in crate::walker) fn accept(&mut self, accepted: Vec<AcceptedPinChange>) {
        self.accepted.extend(accepted);
    }

    /// Takes the tasks that have committed, for a checkpoint.
    pub(in crate::walker) fn take_tasks(&mut self) -> Vec<TaskSummary> {
        std::mem::take(&mut self.tasks)
    }

    /// Takes the counts of the edges that fired, for a checkpoint.
    pub(in crate::walker) fn take_fired(&mut self) -> FiredEdges {
        std::mem::take(&mut self.fired)
    }

    /// Takes the events of supersteps, for a checkpoint.
    pub(in crate::walker) fn take_events(&mut self) -> SuperstepEvents {
        std::mem::take(&mut self.events)
    }

    /// Takes the accepted changes, for a checkpoint.
    pub(in crate::walker) fn take_accepted(&mut self) -> Vec<AcceptedPinChange> {
        std::mem::take(&mut self.accepted)
    }

    /// Takes the results for the cache, to be stored.
    pub(in crate::walker) fn take_results(&mut self) -> impl Iterator<Item = CacheEntry> + use<> {
        std::mem::take(&mut self.results).into_values()
    }
}

/// The nodes that a run has visited.
#[derive(Debug)]
pub(in crate::walker) struct VisitedNodes {
    /// Digest of all nodes, superstep by superstep.
    digest: Digest,
    /// Nodes visited since the newest checkpoint. Earlier ones are in the checkpoints.
    unwritten: Vec<NodeIndex>,
    /// Nodes of the last superstep, for `interrupt: after`.
    newest: Vec<NodeIndex>,
}

impl VisitedNodes {
    /// Creates the record from the digest of all nodes and the nodes of the last superstep.
    pub(in crate::walker) const fn new(digest: Digest, newest: Vec<NodeIndex>) -> Self {
        Self { digest, unwritten: Vec::new(), newest }
    }

    /// The digest of all nodes, superstep by superstep.
    #[inline]
    pub(in crate::walker) const fn digest(&self) -> Digest {
        self.digest
    }

    /// The nodes of the last superstep.
    #[inline]
    pub(in crate::walker) fn newest(&self) -> &[NodeIndex] {
        &self.newest
    }

    /// Adds a committed superstep. `digest` covers its nodes and those before.
    #[inline]
    pub(in crate::walker) fn commit(&mut self, newest: Vec<NodeIndex>, digest: Digest) {
        self.digest = digest;
        self.unwritten.extend_from_slice(&newest);
        self.newest = newest;
    }

    /// Forgets the nodes of the last superstep, since the newest boundary is not that of a superstep.
    pub(in crate::walker) fn forget_newest(&mut self) {
        self.newest.clear();
    }

    /// Begins another run, whose first checkpoint names all nodes visited on the way.
    pub(in crate::walker) fn begin_anew(&mut self, all: Vec<NodeIndex>) {
        self.unwritten = all;
        self.newest.clear();
    }

    /// Takes the nodes that no checkpoint names, for the next one.
    pub(in crate::walker) fn take_unwritten(&mut self) -> std::vec::Drain<'_, NodeIndex> {
        self.unwritten.drain(..)
    }

    /// Forgets the nodes that no checkpoint names, which are not needed any more.
    pub(in crate::walker) fn forget_unwritten(&mut self) {
        self.unwritten = Vec::new();
    }

    /// Number of nodes that no checkpoint names.
    #[cfg(test)]
    pub(in crate::walker) const fn unwritten_count(&self) -> usize {
        self.unwritten.len()
    }
}
