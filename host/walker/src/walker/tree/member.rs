//! Methods of a walker for the tree of runs.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::graph::Graph;
use crate::walker::Walker;
use crate::walker::budget::run_limits::DispatchLimits;
use crate::walker::event::{Effect, Event};
use crate::walker::interrupt::resume::AnswersByTask;
use crate::walker::phase::{Cause, Phase, PhaseName};
use crate::walker::setup::{HandleError, Setup};
use crate::walker::tasks::pending_tasks::PendingTask;
use crate::walker::tasks::superstep::Superstep;
use crate::walker::tree::child_usage::{ChildStop, ChildUsage};
use graph_core::capability::Manifest;
use graph_core::limits::{HostUse, ModelUse};
use graph_core::record::{AcceptedPinChange, CacheEntry, End, InterruptRecord, RunError, Status, StopLimit};
use graph_core::time::Timestamp;

/// A child run that its task dispatches.
pub(in crate::walker) struct ChildDispatch<'d> {
    /// The path of nodes from the root graph to the one that starts the child run.
    pub path: &'d str,
    /// The limits from the task.
    pub limits: DispatchLimits,
    /// The child's manifest, narrowed by its parents.
    pub manifest: Arc<Manifest>,
}

impl Walker {
    /// Creates a walker for a child run that starts. `work` is the work of starting it, which its task is charged, and
    /// `stored` the stored bytes of its document.
    pub(in crate::walker) fn new_child(
        graph: Arc<Graph>,
        setup: Setup,
        path: &str,
        limits: DispatchLimits,
        (work, stored): (u64, u64),
    ) -> Self {
        let mut walker = Self::new(graph, setup);
        path.clone_into(&mut walker.path);
        walker.limits.begin_dispatch(limits);
        walker.usage.add_work(work);
        walker.usage.add_stored(stored);
        walker
    }

    /// Turns a restored walker into that of a child run. `accepted`: the changes accepted for the root run since the child was stored.
    pub(in crate::walker) fn become_child(&mut self, path: String, accepted: Vec<AcceptedPinChange>) {
        self.path = path;
        self.unwritten.set_accepted(accepted);
    }

    /// Applies a dispatch by the run's task. Returns `true` if the run has worked for that dispatch already.
    pub(in crate::walker) fn begin_dispatch(&mut self, dispatch: ChildDispatch<'_>) -> bool {
        let ChildDispatch { path, limits, manifest } = dispatch;
        path.clone_into(&mut self.path);
        self.allow(manifest);
        self.limits.begin_dispatch(limits)
    }

    /// Replaces the manifest and the limits in it.
    fn allow(&mut self, manifest: Arc<Manifest>) {
        self.setup.manifest = manifest;
        self.pass_on();
        self.dispatches.clear();
    }

    /// Handles an event. `slice` is the work done since the driver handed over its event, and is updated.
    pub(in crate::walker) fn take_in(
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

    /// Handles the stop of a task's child run.
    pub(in crate::walker) fn child_stopped_in(
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

    /// Continues a suspended run with answers by task. A refusal changes nothing.
    pub(in crate::walker) fn continue_in(
        &mut self,
        now: Timestamp,
        answered: AnswersByTask,
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

    /// Raises the limit of supersteps, if the run has reached it.
    pub(in crate::walker) fn lift(&mut self, total: Option<u64>) {
        let step = self.position.step();
        if let Some(total) = total.filter(|total| step >= self.limits.max_steps() && *total > step) {
            self.limits.set_max_steps(total);
        }
    }

    /// Sets the work after which control returns to the driver.
    pub(in crate::walker) const fn set_slice_length(&mut self, length: u64) {
        self.slice.set_length(length);
    }

    /// Work after which control returns to the driver.
    pub(in crate::walker) const fn slice_length(&self) -> u64 {
        self.slice.length()
    }

    /// The time of the last event from outside.
    pub(in crate::walker) const fn event_time(&self) -> Timestamp {
        self.event_time
    }

    pub(in crate::walker) const fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    pub(in crate::walker) const fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The path of nodes from the root graph to the one that has started this run.
    pub(in crate::walker) fn path(&self) -> &str {
        &self.path
    }

    /// The numbers of the newest boundary and of the newest superstep.
    pub(in crate::walker) const fn boundary(&self) -> (u64, u64) {
        (self.position.sequence(), self.position.step())
    }

    pub(in crate::walker) const fn status(&self) -> Status {
        self.stop.status()
    }

    /// The error with which the run stopped, if any.
    pub(in crate::walker) const fn error(&self) -> Option<&RunError> {
        self.stop.error()
    }

    /// The end of the run, if it has ended.
    pub(in crate::walker) const fn end(&self) -> Option<&End> {
        self.stop.end()
    }

    /// All warnings of the run so far.
    pub(in crate::walker) fn warnings(&self) -> &[String] {
        self.warnings.all()
    }

    pub(in crate::walker) fn interrupts(&self) -> &[InterruptRecord] {
        self.stop.interrupts()
    }

    /// The changes that were accepted since the run's newest checkpoint.
    pub(in crate::walker) fn accepted(&self) -> &[AcceptedPinChange] {
        self.unwritten.accepted()
    }

    /// Returns `true` if the run is neither stopped nor about to stop.
    pub(in crate::walker) const fn is_under_way(&self) -> bool {
        self.phase.name().is_under_way()
    }

    /// Returns `true` while a superstep is being committed: channels may contain values that are not final.
    pub(in crate::walker) const fn is_between_boundaries(&self) -> bool {
        matches!(self.phase.name(), PhaseName::Committing | PhaseName::Planning)
    }

    /// Returns `true` if the run is suspended until it is resumed.
    pub(in crate::walker) fn is_suspended(&self) -> bool {
        self.phase.name() == PhaseName::Suspended
    }

    /// Returns `true` if a stop was requested.
    pub(in crate::walker) const fn is_cancel_requested(&self) -> bool {
        self.stop.is_cancel_requested()
    }

    /// Returns `true` if the run crashed and continues from its records.
    pub(in crate::walker) const fn is_recovered(&self) -> bool {
        self.stop.is_recovered()
    }

    /// Returns `true` if the run has stopped at its time limit.
    pub(in crate::walker) fn has_run_out_of_time(&self) -> bool {
        self.stop.error().is_some_and(|error| error.limit == Some(StopLimit::Timeout))
    }

    /// Notes that a resume of this run or of one below has begun: the run continues without another answer.
    pub(in crate::walker) const fn restore_resumed(&mut self) {
        self.stop.restore_resumed();
    }

    /// Takes the committed state. Afterwards the walker only reports how the run stopped.
    pub(in crate::walker) fn take_state(&mut self) -> Map<String, Value> {
        let superstep = self.phase.take_superstep();
        self.phase.enter(Cause::Close, Phase::Broken(superstep));
        self.channels.take()
    }

    /// Number of logical bytes that the next checkpoint would store.
    pub(in crate::walker) const fn unstored(&self) -> u64 {
        self.usage.unstored()
    }

    /// Returns `true` if the newest boundary is in no checkpoint yet.
    pub(in crate::walker) const fn has_unwritten_boundary(&self) -> bool {
        self.position.unwritten().is_some()
    }

    /// Takes the cache entries of supersteps that no checkpoint has brought yet.
    pub(in crate::walker) fn take_results(&mut self) -> impl Iterator<Item = CacheEntry> + use<> {
        self.unwritten.take_results()
    }

    /// Returns `true` if the uncommitted superstep has a record of the task.
    pub(in crate::walker) fn has_pending(&self, task: &str) -> bool {
        self.pending.get(task).is_some()
    }

    /// Returns `true` if a result or a handled failure has settled the task.
    pub(in crate::walker) fn is_pending_settled(&self, task: &str) -> bool {
        self.pending.get(task).is_some_and(PendingTask::is_settled)
    }

    /// The tasks whose child runs are suspended, each with `true` if the child run can continue.
    pub(in crate::walker) fn suspended_tasks(&self) -> impl Iterator<Item = (&Arc<str>, bool)> {
        self.pending.suspended()
    }

    /// Returns `true` if a question has an answer with which its task has not continued yet.
    pub(in crate::walker) fn has_answers(&self) -> bool {
        self.pending.has_answers()
    }

    /// Sets the total additions of answers to budgets of language models in a task's child run.
    pub(in crate::walker) fn add_below(&mut self, task: &str, granted: ModelUse) {
        self.pending.add_below(task, granted);
    }

    /// Notes that a task's child run can continue.
    pub(in crate::walker) fn wake(&mut self, task: &str) {
        self.pending.wake(task);
    }

    /// Returns the use of the run so far, with the tasks of the active superstep as far as they have been charged.
    pub(in crate::walker) fn used(&self) -> ChildUsage {
        let tasks = || self.phase.superstep().into_iter().flat_map(Superstep::tasks);
        let fuel = tasks().map(|task| task.used().fuel).fold(self.fuel_so_far(), u64::saturating_add);
        let host = tasks().map(|task| task.used().host).fold(self.host_so_far(), HostUse::plus);
        let below = tasks().map(|task| task.used().steps).fold(self.pending.steps(), u64::saturating_add);
        let steps = self.position.step().saturating_add(self.usage.child_steps()).saturating_add(below);
        ChildUsage {
            fuel: fuel.saturating_add(self.pending.fuel()),
            host: host.plus(self.pending.host()),
            steps,
            granted: self.granted(),
        }
    }

    /// Number of visited nodes in memory that no checkpoint has brought yet.
    #[cfg(test)]
    pub(in crate::walker) const fn unwritten_visits(&self) -> usize {
        self.visited.unwritten_count()
    }
}
