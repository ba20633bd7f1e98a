//! Use of a run, as far as it has committed.

use crate::graph::{Graph, NodeIndex};
use crate::walker::budget::node_counts::NodeCounts;
use crate::walker::budget::task_usage::TaskUsage;
use graph_core::limits::{HostUse, ModelUse};
use graph_core::record::Checkpoint;

/// Use of a run, as far as it has committed, and the host's work since.
#[derive(Debug)]
pub(in crate::walker) struct RunUsage {
    /// Fuel of components; that of the host's own work is in `host`.
    fuel: u64,
    /// Use of the host by everything that has committed.
    host: HostUse,
    /// Fuel of the host's work since the newest boundary, not counting that for tasks.
    work: u64,
    /// Supersteps of child runs, at any depth, of supersteps that have committed.
    child_steps: u64,
    /// Additions of answers to budgets of language models, in supersteps that have committed.
    granted: ModelUse,
    /// Number of logical bytes stored when the newest checkpoint was handed out.
    stored_so_far: u64,
    /// The counts of each node.
    node_counts: NodeCounts,
}

impl RunUsage {
    /// Creates usage of zero.
    pub(in crate::walker) fn new(graph: &Graph) -> Self {
        Self {
            fuel: 0,
            host: HostUse::default(),
            work: 0,
            child_steps: 0,
            granted: ModelUse::NOTHING,
            stored_so_far: 0,
            node_counts: NodeCounts::new(graph),
        }
    }

    /// Restores the usage from a checkpoint.
    pub(in crate::walker) const fn restore(checkpoint: &Checkpoint, node_counts: NodeCounts) -> Self {
        Self {
            fuel: checkpoint.fuel,
            host: checkpoint.host,
            work: 0,
            child_steps: checkpoint.child_steps,
            granted: checkpoint.granted,
            stored_so_far: checkpoint.host.stored,
            node_counts,
        }
    }

    #[inline]
    pub(in crate::walker) const fn fuel(&self) -> u64 {
        self.fuel
    }

    /// Use of the host by everything that has committed.
    #[inline]
    pub(in crate::walker) const fn host(&self) -> HostUse {
        self.host
    }

    /// Fuel of the host's work since the newest boundary, not counting that for tasks.
    #[inline]
    pub(in crate::walker) const fn work(&self) -> u64 {
        self.work
    }

    /// Supersteps of child runs whose task has committed.
    #[inline]
    pub(in crate::walker) const fn child_steps(&self) -> u64 {
        self.child_steps
    }

    /// Additions of answers to budgets of language models.
    #[inline]
    pub(in crate::walker) const fn granted(&self) -> ModelUse {
        self.granted
    }

    /// The counts of each node.
    #[inline]
    pub(in crate::walker) const fn node_counts(&self) -> &NodeCounts {
        &self.node_counts
    }

    /// The counts of each node, to be changed.
    #[inline]
    pub(in crate::walker) const fn node_counts_mut(&mut self) -> &mut NodeCounts {
        &mut self.node_counts
    }

    /// Number of logical bytes that the next checkpoint would store.
    #[inline]
    pub(in crate::walker) const fn unstored(&self) -> u64 {
        self.host.stored.saturating_sub(self.stored_so_far)
    }

    /// Notes that a checkpoint has been handed out.
    #[inline]
    pub(in crate::walker) const fn mark_stored(&mut self) {
        self.stored_so_far = self.host.stored;
    }

    /// Adds the host's work that is not for a task.
    #[inline]
    pub(in crate::walker) const fn add_work(&mut self, spent: u64) {
        self.work = self.work.saturating_add(spent);
    }

    /// Forgets the host's work since the newest boundary, which is done again.
    #[inline]
    pub(in crate::walker) const fn forget_work(&mut self) {
        self.work = 0;
    }

    /// Adds the host's work between tasks to the cost of the boundary.
    pub(in crate::walker) const fn charge_work(&mut self) {
        self.host.fuel = self.host.fuel.saturating_add(self.work);
        self.work = 0;
    }

    /// Adds the size of a boundary to the stored bytes.
    #[inline]
    pub(in crate::walker) const fn add_stored(&mut self, growth: u64) {
        self.host.stored = self.host.stored.saturating_add(growth);
    }

    /// Counts a visit of a node.
    #[inline]
    pub(in crate::walker) fn add_visit(&mut self, node: NodeIndex) {
        self.node_counts.get_mut(node).visits += 1;
    }

    /// Counts the use of a task. `is_cached`: a cached result was used instead of its dispatch; `is_failed`: its failure was handled.
    #[inline]
    pub(in crate::walker) fn add_task(
        &mut self,
        node: NodeIndex,
        used: &TaskUsage,
        is_cached: bool,
        is_failed: bool,
    ) {
        let counts = self.node_counts.get_mut(node);
        counts.executions += u64::from(used.dispatches);
        counts.cached += u64::from(is_cached);
        counts.failed += u64::from(is_failed);
        self.fuel = self.fuel.saturating_add(used.fuel);
        self.host = self.host.plus(used.host);
        self.child_steps = self.child_steps.saturating_add(used.steps);
        self.granted = self.granted.plus(used.granted);
    }

    /// Counts the use by hooks that were asked about the run.
    #[inline]
    pub(in crate::walker) fn add_hooks(&mut self, fuel: u64, host: HostUse) {
        self.fuel = self.fuel.saturating_add(fuel);
        self.host = self.host.plus(host);
    }

    /// Keeps the use of a run that went back to an earlier checkpoint, since that checkpoint included.
    pub(in crate::walker) fn keep_spent(&mut self, of: &Self) {
        self.node_counts.take_spent(&of.node_counts);
        self.fuel = of.fuel;
        self.host = of.host;
        self.granted = of.granted;
    }
}
