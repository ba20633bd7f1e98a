//! The part of a walker that a tree of runs uses.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::Walker;
use super::allowance::TaskAllowance;
use super::children::{ChildStop, ChildUse};
use super::event::{Effect, Event};
use super::pending::PendingTask;
use super::resume::GivenAnswers;
use super::setup::{HandleError, Setup};
use super::stop_state::Phase;
use super::superstep::Superstep;
use crate::graph::Graph;
use graph_core::capability::Manifest;
use graph_core::limits::{HostUse, ModelUse};
use graph_core::record::{Accepted, CacheEntry, End, InterruptRecord, RunError, Status, StopLimit};
use graph_core::time::Timestamp;

/// A child run that its task dispatches.
pub(super) struct ChildDispatch<'d> {
    /// The path of nodes from the root graph to the one that starts it.
    pub path: &'d str,
    /// The limits from its task.
    pub allowance: TaskAllowance,
    /// Its manifest, narrowed by its parents.
    pub manifest: Arc<Manifest>,
}

impl Walker {
    /// A walker for a child run that starts. `work` is the work to start it, which its task is charged with, and `stored` what
    /// is stored of its document.
    pub(super) fn new_child(
        graph: Arc<Graph>,
        setup: Setup,
        path: &str,
        allowance: TaskAllowance,
        (work, stored): (u64, u64),
    ) -> Self {
        let mut walker = Self::new(graph, setup);
        path.clone_into(&mut walker.path);
        walker.allowance.begin_dispatch(allowance);
        walker.totals.add_work(work);
        walker.totals.add_stored(stored);
        walker
    }

    /// Makes the walker that of a child run. `accepted`: the changes that were accepted for the root run since the child
    /// was stored.
    pub(super) fn become_child(&mut self, path: String, accepted: Vec<Accepted>) {
        self.path = path;
        self.unwritten.set_accepted(accepted);
    }

    /// Its task dispatches it: whether it ran for that dispatch already.
    pub(super) fn begin_dispatch(&mut self, dispatch: ChildDispatch<'_>) -> bool {
        let ChildDispatch { path, allowance, manifest } = dispatch;
        path.clone_into(&mut self.path);
        self.allow(manifest);
        self.allowance.begin_dispatch(allowance)
    }

    /// Replaces the manifest, and with it the limits.
    fn allow(&mut self, manifest: Arc<Manifest>) {
        self.setup.manifest = manifest;
        self.pass_on();
        self.dispatches.clear();
    }

    /// Takes an event. `slice` is how much has been done since the driver handed over its own.
    pub(super) fn take_in(
        &mut self,
        now: Timestamp,
        event: Event,
        slice: &mut u64,
    ) -> Result<Vec<Effect>, HandleError> {
        self.slice.begin(*slice);
        let effects = self.take(now, event);
        *slice = self.slice.spent();
        effects
    }

    /// Learns that the child run of a task has stopped.
    pub(super) fn child_stopped_in(
        &mut self,
        now: Timestamp,
        task: &str,
        stop: ChildStop,
        slice: &mut u64,
    ) -> Result<Vec<Effect>, HandleError> {
        self.slice.begin(*slice);
        let effects = self.child_done(now, task, stop);
        *slice = self.slice.spent();
        effects
    }

    /// Continues with these answers, by task. A refusal changes nothing.
    pub(super) fn continue_in(
        &mut self,
        now: Timestamp,
        answered: GivenAnswers,
        max_steps: Option<u64>,
        slice: &mut u64,
    ) -> Result<Vec<Effect>, HandleError> {
        let mut effects = Vec::new();
        self.slice.begin(*slice);
        self.continue_run(now, answered, max_steps, None, &mut effects)?;
        self.drive(now, &mut effects);
        *slice = self.slice.spent();
        Ok(effects)
    }

    /// Raises the total of supersteps of a run that is at its own.
    pub(super) fn lift(&mut self, total: Option<u64>) {
        let step = self.line.step();
        if let Some(total) = total.filter(|total| step >= self.allowance.max_steps() && *total > step) {
            self.allowance.set_max_steps(total);
        }
    }

    /// Has control return to the driver after so much work.
    pub(super) const fn set_slice_length(&mut self, length: u64) {
        self.slice.set_length(length);
    }

    /// How much work may be done before control returns to the driver.
    pub(super) const fn slice_length(&self) -> u64 {
        self.slice.length()
    }

    /// The time of the last event from outside.
    pub(super) const fn event_time(&self) -> Timestamp {
        self.event_time
    }

    /// The graph that this walker walks.
    pub(super) const fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// The setup that it was created with.
    pub(super) const fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The path of nodes from the root graph to the one that has started it.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The number of the newest boundary, and that of the newest superstep.
    pub(super) const fn boundary(&self) -> (u64, u64) {
        (self.line.sequence(), self.line.step())
    }

    /// The status of its run.
    pub(super) const fn status(&self) -> Status {
        self.stop.status()
    }

    /// Why it stopped, if something went wrong.
    pub(super) const fn error(&self) -> Option<&RunError> {
        self.stop.error()
    }

    /// How it ended, if it has.
    pub(super) const fn end(&self) -> Option<&End> {
        self.stop.end()
    }

    /// All warnings of its run so far.
    pub(super) fn warnings(&self) -> &[String] {
        self.warnings.all()
    }

    pub(super) fn interrupts(&self) -> &[InterruptRecord] {
        self.stop.interrupts()
    }

    /// The changes that were accepted since its newest checkpoint.
    pub(super) fn accepted(&self) -> &[Accepted] {
        self.unwritten.accepted()
    }

    /// Whether it is on its way: neither stopped nor about to stop.
    pub(super) const fn is_under_way(&self) -> bool {
        self.stop.is_under_way()
    }

    /// Whether a superstep is being committed: its channels may contain values that are not final.
    pub(super) const fn is_between_boundaries(&self) -> bool {
        matches!(self.stop.phase(), Phase::Committing | Phase::Planning)
    }

    /// Whether nothing happens until it is resumed.
    pub(super) fn is_suspended(&self) -> bool {
        self.stop.phase() == Phase::Suspended
    }

    /// Whether it was asked to stop.
    pub(super) const fn is_cancel_requested(&self) -> bool {
        self.stop.is_cancel_requested()
    }

    /// Whether it was under way when it was last heard of.
    pub(super) const fn is_recovered(&self) -> bool {
        self.stop.is_recovered()
    }

    /// Whether it has stopped because its time was over.
    pub(super) fn has_run_out_of_time(&self) -> bool {
        self.stop.error().is_some_and(|error| error.limit == Some(StopLimit::Timeout))
    }

    /// A resume has begun for it, or for a run below: it continues without another answer.
    pub(super) const fn restore_resumed(&mut self) {
        self.stop.restore_resumed();
    }

    /// The committed state, which it does not have any more: nothing further is asked of it but how it stopped.
    pub(super) fn take_state(&mut self) -> Map<String, Value> {
        self.stop.enter(Phase::Broken);
        self.channels.take()
    }

    /// What would be stored with the next checkpoint, in logical bytes.
    pub(super) const fn unstored(&self) -> u64 {
        self.totals.unstored()
    }

    /// Whether a boundary has been made that no checkpoint holds.
    pub(super) const fn has_unwritten_boundary(&self) -> bool {
        self.line.unwritten().is_some()
    }

    /// What supersteps have left for later tasks and no checkpoint has brought.
    pub(super) fn take_results(&mut self) -> impl Iterator<Item = CacheEntry> + use<> {
        self.unwritten.take_results()
    }

    /// Whether anything is known of a task of the superstep that has not committed.
    pub(super) fn has_pending(&self, task: &str) -> bool {
        self.pending.get(task).is_some()
    }

    /// Whether a task's answer, or a failure that is handled, has settled it.
    pub(super) fn is_pending_settled(&self, task: &str) -> bool {
        self.pending.get(task).is_some_and(PendingTask::is_settled)
    }

    /// The tasks whose child runs ask, each with whether it has been woken already.
    pub(super) fn suspended_tasks(&self) -> impl Iterator<Item = (&Arc<str>, bool)> {
        self.pending.suspended()
    }

    /// Whether a question has its answer, and its task has not continued with it.
    pub(super) fn has_answers(&self) -> bool {
        self.pending.has_answers()
    }

    /// Answers have added so much in all to the budgets of language models of a task's child run.
    pub(super) fn add_below(&mut self, task: &str, granted: ModelUse) {
        self.pending.add_below(task, granted);
    }

    /// The child run of a task has something to continue with.
    pub(super) fn wake(&mut self, task: &str) {
        self.pending.wake(task);
    }

    /// What it has used so far, with the tasks of the active superstep as far as they have been charged.
    pub(super) fn used(&self) -> ChildUse {
        let tasks = || self.superstep.iter().flat_map(Superstep::tasks);
        let fuel = tasks().map(|task| task.used().fuel).fold(self.fuel_so_far(), u64::saturating_add);
        let host = tasks().map(|task| task.used().host).fold(self.host_so_far(), HostUse::plus);
        let below = tasks().map(|task| task.used().steps).fold(self.pending.steps(), u64::saturating_add);
        let steps = self.line.step().saturating_add(self.totals.child_steps()).saturating_add(below);
        ChildUse {
            fuel: fuel.saturating_add(self.pending.fuel()),
            host: host.plus(self.pending.host()),
            steps,
            granted: self.granted(),
        }
    }

    /// How many nodes visited are held that no checkpoint has brought yet.
    #[cfg(test)]
    pub(super) const fn visited_held(&self) -> usize {
        self.visited.unwritten_count()
    }
}
