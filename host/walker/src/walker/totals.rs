//! What a run has used, as far as it has committed.

use super::tallies::Tallies;
use super::task_account::Used;
use crate::graph::{Graph, NodeIndex};
use graph_core::limits::{HostUse, ModelUse};
use graph_core::record::Checkpoint;

/// What a run has used, as far as it has committed, and the host's work since.
#[derive(Debug)]
pub(super) struct Totals {
    /// Fuel of components; that of the host's own work is in `host`.
    fuel: u64,
    /// What everything that has committed used of the host.
    host: HostUse,
    /// Fuel of the host's work since the newest boundary, not counting that for tasks.
    work: u64,
    /// Supersteps of child runs, at any depth, of supersteps that have committed.
    child_steps: u64,
    /// What answers have added to budgets of language models, in supersteps that have committed.
    granted: ModelUse,
    /// How much was stored when the newest checkpoint was handed out.
    stored_so_far: u64,
    /// The counts of each node.
    tallies: Tallies,
}

impl Totals {
    /// Nothing has been used yet.
    pub(super) fn new(graph: &Graph) -> Self {
        Self {
            fuel: 0,
            host: HostUse::default(),
            work: 0,
            child_steps: 0,
            granted: ModelUse::NOTHING,
            stored_so_far: 0,
            tallies: Tallies::new(graph),
        }
    }

    /// What had been used at a checkpoint.
    pub(super) const fn restore(checkpoint: &Checkpoint, tallies: Tallies) -> Self {
        Self {
            fuel: checkpoint.fuel,
            host: checkpoint.host,
            work: 0,
            child_steps: checkpoint.child_steps,
            granted: checkpoint.granted,
            stored_so_far: checkpoint.host.stored,
            tallies,
        }
    }

    #[inline]
    pub(super) const fn fuel(&self) -> u64 {
        self.fuel
    }

    /// What everything that has committed used of the host.
    #[inline]
    pub(super) const fn host(&self) -> HostUse {
        self.host
    }

    /// Fuel of the host's work since the newest boundary, not counting that for tasks.
    #[inline]
    pub(super) const fn work(&self) -> u64 {
        self.work
    }

    /// Supersteps of child runs whose task has committed.
    #[inline]
    pub(super) const fn child_steps(&self) -> u64 {
        self.child_steps
    }

    /// What answers have added to budgets of language models.
    #[inline]
    pub(super) const fn granted(&self) -> ModelUse {
        self.granted
    }

    /// The counts of each node.
    #[inline]
    pub(super) const fn tallies(&self) -> &Tallies {
        &self.tallies
    }

    /// The counts of each node, to be changed.
    #[inline]
    pub(super) const fn tallies_mut(&mut self) -> &mut Tallies {
        &mut self.tallies
    }

    /// What would be stored with the next checkpoint, in logical bytes.
    #[inline]
    pub(super) const fn unstored(&self) -> u64 {
        self.host.stored.saturating_sub(self.stored_so_far)
    }

    /// A checkpoint has been handed out.
    #[inline]
    pub(super) const fn mark_stored(&mut self) {
        self.stored_so_far = self.host.stored;
    }

    /// The host has worked, for no task.
    #[inline]
    pub(super) const fn add_work(&mut self, spent: u64) {
        self.work = self.work.saturating_add(spent);
    }

    /// Forgets the host's work since the newest boundary: it is done again.
    #[inline]
    pub(super) const fn forget_work(&mut self) {
        self.work = 0;
    }

    /// Adds the host's work between tasks to the cost of the boundary.
    pub(super) const fn charge_work(&mut self) {
        self.host.fuel = self.host.fuel.saturating_add(self.work);
        self.work = 0;
    }

    /// Adds the size of a boundary to what is stored.
    #[inline]
    pub(super) const fn add_stored(&mut self, growth: u64) {
        self.host.stored = self.host.stored.saturating_add(growth);
    }

    /// A node is visited.
    #[inline]
    pub(super) fn add_visit(&mut self, node: NodeIndex) {
        self.tallies.of_mut(node).visits += 1;
    }

    /// Counts what a task has used. `is_cached`: a cached result was used instead of its dispatch.
    #[inline]
    pub(super) fn add_task(&mut self, node: NodeIndex, used: &Used, is_cached: bool) {
        let counts = self.tallies.of_mut(node);
        counts.executions += u64::from(used.dispatches);
        counts.cached += u64::from(is_cached);
        self.fuel = self.fuel.saturating_add(used.fuel);
        self.host = self.host.plus(used.host);
        self.child_steps = self.child_steps.saturating_add(used.steps);
        self.granted = self.granted.plus(used.granted);
    }

    /// Counts what hooks have used that were asked about the run.
    #[inline]
    pub(super) fn add_hooks(&mut self, fuel: u64, host: HostUse) {
        self.fuel = self.fuel.saturating_add(fuel);
        self.host = self.host.plus(host);
    }

    /// A run that went back to an earlier checkpoint keeps counting what it has used since.
    pub(super) fn keep_spent(&mut self, of: &Self) {
        self.tallies.take_spent(&of.tallies);
        self.fuel = of.fuel;
        self.host = of.host;
        self.granted = of.granted;
    }
}

/// How much has been done since the driver handed over the last event, and how much may be.
#[derive(Debug)]
pub(super) struct Slice {
    /// Fuel of the host's work since then.
    spent: u64,
    /// How much of it may be done before control returns to the driver.
    length: u64,
}

impl Slice {
    pub(super) const fn new(length: u64) -> Self {
        Self { spent: 0, length }
    }

    /// How much has been done.
    #[inline]
    pub(super) const fn spent(&self) -> u64 {
        self.spent
    }

    /// How much may be done before control returns to the driver.
    #[inline]
    pub(super) const fn length(&self) -> u64 {
        self.length
    }

    /// The driver has handed over an event, and so much has been done for it already.
    #[inline]
    pub(super) const fn begin(&mut self, spent: u64) {
        self.spent = spent;
    }

    /// Has control return to the driver after so much.
    pub(super) const fn set_length(&mut self, length: u64) {
        self.length = length;
    }

    /// Something has been done.
    #[inline]
    pub(super) const fn add(&mut self, spent: u64) {
        self.spent = self.spent.saturating_add(spent);
    }

    /// Whether so much has been done that control returns to the driver.
    #[inline]
    pub(super) const fn is_over(&self) -> bool {
        self.spent >= self.length
    }
}
