//! What a walker knows of the child runs of its tasks: what they have used, what they have come to, and how many
//! supersteps they may take.

use std::sync::Arc;

use serde_json::Value;

use super::Walker;
use super::budget::Reached;
use super::commit::keep_warnings;
use super::event::Effect;
use super::hook_verdict::LimitCode;
use super::machine::{Phase, illegal};
use super::schedule::limit;
use super::setup::HandleError;
use super::superstep::{Pending, PendingTask, Superstep, Task, TaskState};
use crate::limits::{Budget, HostUse};
use crate::node::{Failure, Outcome};
use crate::time::Timestamp;
use crate::work::size;

/// What a child run has come to, as its task sees it.
#[derive(Debug)]
pub(super) enum ChildEnd {
    /// It has ended with this output.
    Output(Value),
    /// It has failed, or is at a limit.
    Failed(Failure),
    /// It has used a budget of the whole run up.
    Exhausted {
        budget: Budget,
        /// The path of nodes to where that was.
        within: Option<String>,
    },
    /// It asks.
    Asks,
    /// It was cancelled.
    Stopped,
}

/// What a child run has used since it began.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChildUse {
    /// Fuel, that of its children included.
    pub(super) fuel: u64,
    /// What is used of the host, that of its children included.
    pub(super) host: HostUse,
    /// Supersteps, those of its children included.
    pub(super) steps: u64,
}

/// What a task learns of its child run that has stopped.
#[derive(Debug)]
pub(super) struct ChildStop {
    pub(super) used: ChildUse,
    pub(super) warnings: Vec<String>,
    pub(super) end: ChildEnd,
    /// What stays of the run in memory until the superstep of its task commits.
    pub(super) holds: u64,
}

/// What a walker takes up besides its channels.
const WALKER: u64 = 16 << 10;

/// As many child runs of one superstep are under way at a time at most.
pub(super) const CHILDREN: u64 = 8;

impl Walker {
    /// What of `state` and `results` each child run of the superstep under way may take up: those that are under way
    /// together do not take up more than one run may.
    pub(super) fn shares_of_children(&self) -> (u64, u64) {
        let tasks = self.superstep.iter().flat_map(|superstep| &superstep.tasks);
        let graphs = tasks.filter(|task| task.dispatch.as_ref().is_some_and(|dispatch| dispatch.is_graph));
        let together = (graphs.take(usize::try_from(CHILDREN).unwrap_or(usize::MAX)).count() as u64).max(1);
        let limits = self.budgets();
        (limits.state.saturating_sub(self.channels.size()) / together, limits.results / 2 / together)
    }

    /// What it takes up while it waits for its superstep to commit.
    pub(super) fn holds(&self) -> u64 {
        let output = self.end.as_ref().map_or(0, |end| size::of(&end.output.0));
        let inside = self.superstep.as_ref().map_or(0, |superstep| superstep.held);
        let warnings = self.warnings.iter().map(|warning| warning.len() as u64);
        let left = self.pending.0.values().map(PendingTask::holds);
        let values = [size::of(&self.setup.inputs), output, inside, self.channels.size()];
        warnings.chain(left).chain(values).fold(WALKER, u64::saturating_add)
    }

    /// Forgets what a run that has ended is not asked for any more. Its output stays: its task may need it again.
    pub(super) fn shed(&mut self) {
        if self.phase == Phase::Finished {
            self.channels.clear();
            self.visited = Vec::new();
            self.prepared = Vec::new();
            self.pending = Pending::default();
        }
    }

    /// The child run of a running attempt has stopped.
    pub(super) fn child_done(
        &mut self,
        now: Timestamp,
        task: &str,
        stop: ChildStop,
    ) -> Result<Vec<Effect>, HandleError> {
        let ChildStop { used, warnings, end, holds } = stop;
        self.event_time = now;
        let mut fx = Vec::new();
        let Some(superstep) = &mut self.superstep else { return Err(illegal("no superstep is under way")) };
        let Some(at) = superstep.find(task) else { return Err(illegal("there is no such task")) };
        let found = &mut superstep.tasks[at];
        if !matches!(found.state, TaskState::Running) {
            return Err(illegal("that task is not running"));
        }
        superstep.in_flight = superstep.in_flight.saturating_sub(std::mem::take(&mut found.params));
        // What the host did for the task itself is part of its own figure.
        let before = found.spent();
        found.components = found.components.saturating_sub(used.fuel.saturating_sub(found.used.fuel));
        found.used.fuel = found.used.fuel.max(used.fuel);
        found.reserved_host = found.reserved_host.less(used.host.less(found.used.host));
        found.used.host = found.used.host.max(used.host);
        found.reserved = found.reserved.saturating_sub(found.spent().saturating_sub(before));
        found.reserved_steps =
            found.reserved_steps.saturating_sub(used.steps.saturating_sub(found.used.steps));
        found.used.steps = found.used.steps.max(used.steps);
        keep_warnings(&mut found.warnings, warnings);
        let output = match &end {
            ChildEnd::Output(output) => size::of(output),
            _ => 0,
        };
        self.hold(holds.saturating_add(output));
        if self.holds_too_much() {
            self.stop_holding(now, &mut fx);
            return Ok(fx);
        }
        let Some(superstep) = &mut self.superstep else { return Ok(fx) };
        let found = &mut superstep.tasks[at];
        match end {
            ChildEnd::Exhausted { budget, within } => self.exhaust(now, at, budget, within, &mut fx),
            ChildEnd::Output(output) => self.accept(now, at, Outcome::Result(output), &mut fx),
            ChildEnd::Failed(failure) => self.failed(now, at, failure, &mut fx),
            ChildEnd::Asks => {
                found.state = TaskState::Suspended;
                self.settled(now, at, &mut fx);
            }
            ChildEnd::Stopped => {
                found.state = TaskState::Waiting;
                found.attempt = found.attempt.saturating_sub(1);
                superstep.running -= 1;
            }
        }
        self.start_ready(now, &mut fx);
        self.drive(now, &mut fx);
        Ok(fx)
    }

    /// A task of the superstep under way.
    pub(super) fn task(&self, id: &str) -> Option<&Task> {
        let superstep = self.superstep.as_ref()?;
        superstep.find(id).map(|at| &superstep.tasks[at])
    }

    /// What the tasks of the superstep under way, and those that are left of it, have accounted for their child runs.
    pub(super) fn accounted(&self, task: &str) -> ChildUse {
        let used = match (self.task(task), self.pending.0.get(task)) {
            (Some(task), _) => task.used,
            (None, Some(left)) => left.used,
            (None, None) => return ChildUse::default(),
        };
        ChildUse { fuel: used.fuel, host: used.host, steps: used.steps }
    }

    /// Forgets that an attempt was given up: its child run has been told, and nothing of it is under way.
    pub(super) fn forget_aborted(&mut self, task: &Arc<str>, attempt: u32) {
        self.aborted.remove(&(Arc::clone(task), attempt));
    }

    /// How many supersteps the run and those below it may take together. A total given for this run speaks for all.
    pub(super) fn max_total_steps(&self) -> u64 {
        let own = self.graph.max_total_steps.max(self.setup.max_steps.unwrap_or(0));
        own.min(self.step_share.unwrap_or(u64::MAX))
    }

    /// Why no superstep may follow, where the run and those below it have had all of theirs.
    pub(super) fn tree_limit(&self) -> Option<Reached> {
        let taken = self.step.saturating_add(self.child_steps);
        let most = self.budgets().steps;
        if taken >= most && most <= self.max_total_steps() {
            return Some(self.used_up(Budget::Steps, taken, None));
        }
        (taken >= self.max_total_steps()).then(|| {
            let message = match (self.step_share, self.child_steps) {
                (Some(share), _) if share <= self.graph.max_total_steps => format!(
                    "{taken} supersteps have run, which is its share of `max_total_steps`, and something is next"
                ),
                (_, 0) => format!("{taken} supersteps have run, which is `max_total_steps`, and something is next"),
                (_, below) => format!(
                    "{taken} supersteps have run, {below} of them in child runs, which is `max_total_steps`, and \
                     something is next"
                ),
            };
            (LimitCode::MaxTotalSteps, limit(None, message))
        })
    }

    /// Sets supersteps aside for the child runs of a superstep: what is left, without the superstep itself, in equal
    /// shares and in task order, so that what each may take does not depend on which finishes first.
    pub(super) fn reserve_steps(&self, superstep: &mut Superstep) {
        let takes_part =
            |task: &Task| task.dispatch.as_ref().is_some_and(|dispatch| dispatch.is_graph) && task.shares();
        let mut sharers = superstep.tasks.iter().filter(|task| takes_part(task)).count() as u64;
        if sharers == 0 {
            return;
        }
        let used = superstep.tasks.iter().map(|task| task.start.used.steps).fold(0, u64::saturating_add);
        let taken = self.step.saturating_add(self.child_steps).saturating_add(used).saturating_add(1);
        let mut left = self.max_total_steps().min(self.budgets().steps).saturating_sub(taken);
        for task in superstep.tasks.iter_mut().filter(|task| takes_part(task)) {
            let share = left / sharers;
            task.reserved_steps = share.saturating_sub(task.used.steps.saturating_sub(task.start.used.steps));
            left -= share;
            sharers -= 1;
        }
    }
}
