//! Accounting of the child runs of a walker's tasks: their use, their outcomes, and their limits of supersteps.

use std::sync::Arc;

use serde_json::Value;

use crate::compat::rye;
use crate::graph::{Node, NodeKind};
use crate::walker::Walker;
use crate::walker::budget::run_budget::ReachedLimit;
use crate::walker::event::{Effect, Timing};
use crate::walker::machine::illegal;
use crate::walker::nodes::feedback::OUTPUTS;
use crate::walker::phase::PhaseName;
use crate::walker::setup::HandleError;
use crate::walker::stop::limit_codes::LimitCode;
use crate::walker::tasks::pending_tasks::{PendingTask, PendingTasks};
use crate::walker::tasks::start::limit;
use crate::walker::tasks::superstep::Superstep;
use crate::walker::tasks::task::{Task, TaskState};
use graph_core::limits::{Budget, HostUse, ModelUse};
use graph_core::node::{Failure, Outcome};
use graph_core::record::Status;
use graph_core::time::Timestamp;
use graph_core::work::size;

/// The outcome of a child run, as its task sees it.
#[derive(Debug)]
pub(in crate::walker) enum ChildEnd {
    /// The run has ended with this output.
    Output(Value),
    /// The run has failed, or is at a limit.
    Failed(Failure),
    /// The run has used up a budget of the whole run.
    Exhausted {
        budget: Budget,
        /// The path of nodes to the failure.
        within: Option<String>,
    },
    /// The run waits for answers to its questions, or for time and events.
    Asks {
        /// `true` if it asks nothing.
        waits: bool,
    },
    /// The run was cancelled.
    Stopped,
}

/// Use of a child run so far.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::walker) struct ChildUsage {
    /// Fuel, that of its children included.
    pub fuel: u64,
    /// The use of the host, with that of its children.
    pub host: HostUse,
    /// Supersteps, those of its children included.
    pub steps: u64,
    /// Additions of answers to budgets of language models, those of its children included.
    pub granted: ModelUse,
}

/// The report to a task about its child run, which has stopped.
#[derive(Debug)]
pub(in crate::walker) struct ChildStop {
    pub used: ChildUsage,
    pub warnings: Vec<String>,
    pub end: ChildEnd,
    /// Span of the run's attempts, as far as they were measured.
    pub took: Timing,
    /// Memory that the run holds until the superstep of its task commits, in bytes.
    pub memory: u64,
}

/// Estimated memory of a walker besides its channels, and of each node of its graph, in bytes.
const WALKER: u64 = 16 << 10;
const NODE: u64 = 32;
/// Estimated memory of a literal dispatch, in bytes.
const DISPATCH: u64 = 512;

/// Remedy for a run that has used up its supersteps, child runs included.
const MORE_STEPS: &str =
    "without `max_total_steps` a graph has the larger of 1000 and `max_steps`; resume with a larger total";

/// Limit of child runs of one superstep that are active at a time.
pub(in crate::walker) const CHILDREN: u64 = 8;

impl Walker {
    /// Returns the shares of `state` and `results` for each child run of the active superstep, such that all child runs
    /// active at a time take no more than one run may.
    pub(in crate::walker) fn shares_of_children(&self) -> (u64, u64) {
        let tasks = self.phase.superstep().into_iter().flat_map(Superstep::tasks);
        let graphs = tasks.filter(|task| task.is_graph());
        let together = (graphs.take(usize::try_from(CHILDREN).unwrap_or(usize::MAX)).count() as u64).max(1);
        let limits = self.budgets();
        (limits.state.saturating_sub(self.channels.size()) / together, limits.results / 2 / together)
    }

    /// Returns the memory that the run holds while its parent's superstep has not committed, in bytes.
    pub(in crate::walker) fn memory(&self) -> u64 {
        let output = self.stop.end().map_or(0, |end| size::of(&end.output.0));
        let inside = self.phase.superstep().map_or(0, Superstep::memory);
        let warnings = self.warnings.all().iter().map(|warning| warning.len() as u64);
        let left = self.pending.tasks().map(PendingTask::memory);
        let nodes = NODE.saturating_mul(self.graph.nodes.len() as u64);
        let dispatches = DISPATCH.saturating_mul(self.dispatches.len() as u64);
        let channels = self.channels.size().saturating_add(self.channels.overhead());
        let values = [size::of(&self.setup.inputs), output, inside, channels, nodes, dispatches];
        warnings.chain(left).chain(values).fold(WALKER, u64::saturating_add)
    }

    /// Frees the state of a run that has ended. Its output is kept, since its task may need it again.
    pub(in crate::walker) fn drop_state(&mut self) {
        if self.phase.name() == PhaseName::Finished {
            self.channels.clear();
            self.visited.forget_unwritten();
            self.dispatches.clear();
            self.pending = PendingTasks::default();
        }
    }

    /// Returns the result of a run that has ended for the node that runs its graph, in dialects where it is more than the `output`.
    pub(in crate::walker) fn nested_result(&self, output: Value, status: Status) -> Value {
        let mut state = self.channels.to_map();
        state.retain(|key, _| !key.starts_with(OUTPUTS) && key != rye::THREADS);
        state.insert("inputs".to_owned(), Value::clone(&self.setup.inputs));
        let returns = |node: &Node| matches!(node.kind, NodeKind::Return { output: Some(_) });
        let declares = self.graph.output.is_some() || self.graph.nodes.iter().any(returns);
        rye::nested_result(&Value::Object(state), self.position.step(), status, declares.then_some(output))
    }

    /// Handles the stop of a running attempt's child run.
    pub(in crate::walker) fn child_done(
        &mut self,
        now: Timestamp,
        task: &str,
        stop: ChildStop,
    ) -> Result<Vec<Effect>, HandleError> {
        let ChildStop { used, warnings, end, took, memory } = stop;
        self.event_time = now;
        let mut fx = Vec::new();
        let Some(superstep) = self.phase.superstep_mut() else {
            return Err(illegal("no superstep is under way"));
        };
        let Some(at) = superstep.find(task) else { return Err(illegal("there is no such task")) };
        if !matches!(superstep.tasks()[at].state(), TaskState::Running) {
            return Err(illegal("that task is not running"));
        }
        superstep.take_params(at);
        let found = superstep.task_mut(at);
        found.account_mut().end_child(&used, !matches!(end, ChildEnd::Stopped));
        found.keep_warnings(warnings);
        // The task ends when its child run does, which is later than the last attempt in that run.
        let took = Timing { at: took.at.map(|_| now), ..took };
        found.add_report(took, Vec::new(), Vec::new(), Vec::new());
        self.add_time(took);
        let output = match &end {
            ChildEnd::Output(output) => size::of(output),
            _ => 0,
        };
        self.add_memory(memory.saturating_add(output));
        if self.exceeds_memory() {
            self.stop_over_memory(now, &mut fx);
            self.drive(now, &mut fx);
            return Ok(fx);
        }
        let Some(superstep) = self.phase.superstep_mut() else { return Ok(fx) };
        let found = superstep.task_mut(at);
        match end {
            ChildEnd::Exhausted { budget, within } => self.exhaust(now, at, budget, within, &mut fx),
            ChildEnd::Output(output) => self.accept(now, at, Outcome::Result(output), &mut fx),
            ChildEnd::Failed(failure) => self.failed(now, at, failure, &mut fx),
            ChildEnd::Asks { waits } => {
                found.enter(TaskState::Suspended { waits });
                self.settled(now, at, &mut fx);
            }
            ChildEnd::Stopped => {
                superstep.take_attempt_back(at);
            }
        }
        self.start_ready(now, &mut fx);
        self.drive(now, &mut fx);
        Ok(fx)
    }

    /// Returns a task of the active superstep.
    pub(in crate::walker) fn task(&self, id: &str) -> Option<&Task> {
        let superstep = self.phase.superstep()?;
        superstep.find(id).map(|at| &superstep.tasks()[at])
    }

    /// Returns the use by child runs that has been charged to a task of the active superstep, or to one that is pending.
    pub(in crate::walker) fn accounted(&self, task: &str) -> ChildUsage {
        let used = match (self.task(task), self.pending.get(task)) {
            (Some(task), _) => *task.used(),
            (None, Some(left)) => *left.used(),
            (None, None) => return ChildUsage::default(),
        };
        ChildUsage { fuel: used.fuel, host: used.host, steps: used.steps, granted: used.granted }
    }

    /// Forgets that an attempt was abandoned, once its child run has been notified and no part of that run is active.
    pub(in crate::walker) fn forget_aborted(&mut self, task: &Arc<str>, attempt: u32) {
        self.aborted.remove(&(Arc::clone(task), attempt));
    }

    /// Limit of supersteps of the run and those below it together, with those of earlier turns added. A total given for
    /// this run applies to all.
    pub(in crate::walker) fn max_total_steps(&self) -> u64 {
        let own = self.graph.max_total_steps.max(self.setup.max_steps.unwrap_or(0));
        let own = own.saturating_add(self.limits.before_turn());
        own.min(self.limits.step_share().unwrap_or(u64::MAX))
    }

    /// Returns the limit that prevents another superstep, if the run and those below it have used up their supersteps.
    pub(in crate::walker) fn tree_limit(&self) -> Option<ReachedLimit> {
        let taken = self.position.step().saturating_add(self.usage.child_steps());
        let most = self.budgets().steps;
        if taken >= most && most <= self.max_total_steps() {
            return Some(self.used_up(Budget::Steps, taken, None));
        }
        (taken >= self.max_total_steps()).then(|| {
            let message = match (self.limits.step_share(), self.usage.child_steps()) {
                (Some(share), _) if share <= self.graph.max_total_steps => format!(
                    "{taken} supersteps have run, which is its share of `max_total_steps`, and something is next"
                ),
                (_, 0) => format!(
                    "{taken} supersteps have run, which is `max_total_steps`, and something is next; {MORE_STEPS}"
                ),
                (_, below) => format!(
                    "{taken} supersteps have run, {below} of them in child runs, which is `max_total_steps`, and \
                     something is next; {MORE_STEPS}"
                ),
            };
            (LimitCode::MaxTotalSteps, limit(None, message))
        })
    }

    /// Reserves supersteps for the child runs of a superstep: the rest, without the superstep itself, in equal shares
    /// and in task order, so that no share depends on the order in which they finish.
    pub(in crate::walker) fn reserve_steps(&self, superstep: &mut Superstep) {
        let takes_part = |task: &Task| task.is_graph() && task.shares();
        let mut sharers = superstep.tasks().iter().filter(|task| takes_part(task)).count() as u64;
        if sharers == 0 {
            return;
        }
        let used = superstep.tasks().iter().map(|task| task.start().used.steps).fold(0, u64::saturating_add);
        let taken = self
            .position
            .step()
            .saturating_add(self.usage.child_steps())
            .saturating_add(used)
            .saturating_add(1);
        let mut left = self.max_total_steps().min(self.budgets().steps).saturating_sub(taken);
        for (task, _) in superstep.tasks_with_nodes_mut().filter(|(task, _)| takes_part(task)) {
            let share = left / sharers;
            task.account_mut().set_aside_steps(share);
            left -= share;
            sharers -= 1;
        }
    }
}
