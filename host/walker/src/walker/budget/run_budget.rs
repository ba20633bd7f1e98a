//! The run's budgets: the rest of each, and the error with which a run stops when one is used up.
//!
//! Work for a task is charged against the task's reservation, work between tasks against the rest of the run's budget.
//! Neither depends on the order in which tasks finish, so whether a budget is exceeded does not either.

use crate::walker::Walker;
use crate::walker::event::Effect;
use crate::walker::stop::limit_codes::LimitCode;
use crate::walker::tasks::start::limit;
use crate::walker::tasks::superstep::Superstep;
use crate::walker::tasks::task::TaskState;
use crate::written_graph::Refusal;
use graph_core::limits::{Budget, ModelUse, RunLimits};
use graph_core::node::{Category, Failure};
use graph_core::record::RunError;
use graph_core::time::Timestamp;
use graph_core::work::rates::STEP;
use graph_core::work::{FuelExhausted, Meter};

/// Reservation for the host's own work for one attempt: evaluating its templates and accepting its answer.
pub(in crate::walker) const WORK_OF_ATTEMPT: u64 = 2 * STEP;

/// Reason why a piece of work for a node could not be done.
#[derive(Clone, Debug)]
pub(in crate::walker) enum NodeWorkError {
    /// The node has failed.
    Failed(Failure),
    /// The fuel for the work is used up.
    Exhausted(FuelExhausted),
}

impl NodeWorkError {
    /// Converts the error of preparing a child run. If the graph was written by a run, work over the bound of a step
    /// comes from its schema, and fails the task alone.
    pub(in crate::walker) fn for_child(self, is_written: bool) -> Self {
        match self {
            Self::Exhausted(exhausted @ FuelExhausted::Step) if is_written => {
                let message = format!("the graph cannot be started: {exhausted}");
                Self::Failed(Failure::new(Category::Limit, message))
            }
            error => error,
        }
    }
}

impl From<Failure> for NodeWorkError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<Refusal> for NodeWorkError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Failed(failure) => Self::Failed(failure),
            // The work is that of the document and not a step of this graph.
            Refusal::Exhausted(exhausted @ FuelExhausted::Step) => {
                Self::Failed(Failure::new(Category::Limit, format!("the graph cannot be read: {exhausted}")))
            }
            Refusal::Exhausted(exhausted) => Self::Exhausted(exhausted),
        }
    }
}

impl From<FuelExhausted> for NodeWorkError {
    fn from(exhausted: FuelExhausted) -> Self {
        Self::Exhausted(exhausted)
    }
}

/// A limit that the run has reached, and the error that it stops with.
pub(in crate::walker) type ReachedLimit = (LimitCode, RunError);

impl Walker {
    pub(in crate::walker) fn budgets(&self) -> RunLimits {
        self.setup.manifest.run_limits()
    }

    /// Sums the additions of answers to budgets of language models so far, child runs included.
    pub(in crate::walker) fn granted(&self) -> ModelUse {
        let tasks = self.phase.superstep().into_iter().flat_map(Superstep::tasks);
        let granted = tasks.map(|task| task.used().granted).fold(self.usage.granted(), ModelUse::plus);
        self.pending.tasks().map(|left| left.used().granted).fold(granted, ModelUse::plus)
    }

    /// Returns the run's budget of language models with the additions of answers. A child run's budget, which its
    /// parent's task has set aside, contains them already.
    pub(in crate::walker) fn models_with(&self, granted: ModelUse) -> ModelUse {
        let most = self.budgets().model;
        if self.setup.identity.namespace.is_empty() { most.raised(granted) } else { most }
    }

    /// Returns the root run's budget of language models, with the additions of answers.
    pub(in crate::walker) fn models_of_root(&self) -> ModelUse {
        if self.setup.identity.namespace.is_empty() {
            return self.models_with(self.granted());
        }
        self.budgets().model_of_root
    }

    /// Returns the limit of a budget, with the additions of answers.
    pub(in crate::walker) fn most_of(&self, budget: Budget) -> u64 {
        match budget.figure() {
            Some(figure) => figure.of(self.models_with(self.granted())),
            None => budget.of(&self.budgets()),
        }
    }

    /// Fuel used by everything that has committed, by the hooks dispatched since for the run, and by the host's work on
    /// the active superstep, without that for its tasks.
    pub(in crate::walker) fn spent(&self) -> u64 {
        self.fuel_so_far().saturating_add(self.host_fuel_so_far()).saturating_add(self.usage.work())
    }

    /// Creates a meter for work between tasks, if the tasks of the active superstep have used `by_tasks` fuel.
    pub(in crate::walker) fn meter(&self, by_tasks: u64) -> Meter {
        Meter::new(self.budgets().fuel.saturating_sub(self.spent().saturating_add(by_tasks)))
    }

    /// Counts work between tasks.
    pub(in crate::walker) fn count_work(&mut self, meter: &Meter) {
        self.usage.add_work(meter.spent());
        self.slice.add(meter.spent());
    }

    /// Counts work for the task at an index.
    pub(in crate::walker) fn count_task_work(&mut self, at: usize, spent: u64) {
        self.slice.add(spent);
        if let Some(superstep) = self.phase.superstep_mut() {
            superstep.task_mut(at).account_mut().charge_work(spent);
        }
    }

    /// Returns the error of a run whose own work exceeds a budget.
    pub(in crate::walker) fn exhausted(
        &self,
        exhausted: FuelExhausted,
        node: Option<String>,
    ) -> ReachedLimit {
        match exhausted {
            FuelExhausted::Step => self.used_up(Budget::Work, STEP, node),
            FuelExhausted::Fuel => self.used_up(Budget::Fuel, self.spent(), node),
        }
    }

    /// Returns the error of a run that has used up a budget. `used` is its use, or the use that it would have had.
    pub(in crate::walker) fn used_up(&self, budget: Budget, used: u64, node: Option<String>) -> ReachedLimit {
        let most = self.most_of(budget);
        let (key, unit) = (budget.as_str(), budget.unit(most));
        let at = node.as_ref().map_or(String::new(), |node| format!("node `{node}`: "));
        let message = if budget == Budget::Work {
            format!("{at}{}; nothing raises that: let the graph handle smaller values", FuelExhausted::Step)
        } else {
            let whose = if !self.setup.identity.namespace.is_empty() {
                "what its parent has set aside for it"
            } else if most != budget.of(&self.budgets()) {
                "with what answers have added"
            } else if most == budget.of(&RunLimits::DEFAULT) {
                "the default"
            } else {
                "from the manifest"
            };
            // If the work was not done, its total use is not known.
            let used = if used > most { format!("{} of ", budget.written(used)) } else { String::new() };
            format!(
                "{at}the run's budget `{key}` is used up: {used}{} {unit} ({whose}); `{}` in the manifest \
                 allows more",
                budget.written(most),
                budget.line(raised(budget, most))
            )
        };
        let error = RunError { budget: Some(budget), ..limit(node, message) };
        (LimitCode::Budget(budget), error)
    }

    /// Returns the error of the first task of a superstep, in task order, that has used up a budget of the run.
    pub(in crate::walker) fn first_exhausted(&self, superstep: &Superstep) -> Option<ReachedLimit> {
        let found = superstep.tasks().iter().find_map(|task| match task.state() {
            TaskState::Exhausted { budget, within } => Some((task, *budget, within)),
            _ => None,
        });
        let (task, budget, within) = found?;
        let name = &self.graph.node(superstep.node_of(task)).name;
        let node = within.as_ref().map_or_else(|| name.clone(), |within| format!("{name}/{within}"));
        let (code, mut error) = self.used_up(budget, self.most_of(budget), Some(node));
        if budget == Budget::Results && task.is_graph() {
            error.message.push_str("; child runs that run side by side may hold half of that together");
        }
        Some((code, error))
    }

    /// Notes that a running task has used up a budget of the run, so that the superstep does not commit. Its siblings
    /// finish, as at every failure, so that the result does not depend on which task is first.
    pub(in crate::walker) fn exhaust(
        &mut self,
        now: Timestamp,
        at: usize,
        budget: Budget,
        within: Option<String>,
        fx: &mut Vec<Effect>,
    ) {
        let Some(superstep) = self.phase.superstep_mut() else { return };
        superstep.task_mut(at).enter(TaskState::Exhausted { budget, within });
        self.settled(now, at, fx);
    }

    /// Handles work for a running task that could not be done.
    pub(in crate::walker) fn end_with_error(
        &mut self,
        now: Timestamp,
        at: usize,
        error: NodeWorkError,
        fx: &mut Vec<Effect>,
    ) {
        match error {
            NodeWorkError::Failed(failure) => self.failed(now, at, failure, fx),
            NodeWorkError::Exhausted(exhausted) => self.exhaust(now, at, budget_of(exhausted), None, fx),
        }
    }

    /// Counts the memory of a task's result, in logical bytes. Once the sum exceeds `results`, the superstep ends,
    /// whichever task was the last one, and all reservations are charged.
    pub(in crate::walker) fn add_memory(&mut self, size: u64) {
        if let Some(superstep) = self.phase.superstep_mut() {
            superstep.add_memory(size);
        }
    }

    /// Returns `true` if the results of the active superstep exceed the budget `results`.
    pub(in crate::walker) fn exceeds_memory(&self) -> bool {
        self.phase.superstep().is_some_and(|superstep| superstep.memory() > self.budgets().results)
    }

    /// Stops the run at a superstep whose results exceed the budget `results`.
    pub(in crate::walker) fn stop_over_memory(&mut self, now: Timestamp, fx: &mut Vec<Effect>) {
        // The progress of an only task does not depend on other tasks.
        if self.phase.superstep().is_some_and(|superstep| superstep.tasks().len() == 1) {
            return self.exhaust(now, 0, Budget::Results, None, fx);
        }
        let memory = self.phase.superstep().map_or(0, Superstep::memory);
        self.abort_all(fx);
        if let Some(superstep) = self.phase.superstep_mut() {
            superstep.forfeit();
        }
        // The amount that is held when the limit is passed depends on which task was the last one.
        let most = self.budgets().results;
        let (code, error) = self.used_up(Budget::Results, memory.min(most), None);
        self.stop_at_limit(now, code, error, fx);
    }
}

/// Returns the budget that is used up if work cannot be paid for.
pub(in crate::walker) const fn budget_of(exhausted: FuelExhausted) -> Budget {
    match exhausted {
        FuelExhausted::Step => Budget::Work,
        FuelExhausted::Fuel => Budget::Fuel,
    }
}

/// Returns a larger figure to write in a manifest in place of `most`.
const fn raised(budget: Budget, most: u64) -> u64 {
    match most {
        0 if budget.of(&RunLimits::DEFAULT) == u64::MAX => 1_000_000,
        0 => budget.of(&RunLimits::DEFAULT),
        most => most.saturating_mul(2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figure_to_write_allows_more() {
        assert_eq!(raised(Budget::Fuel, 5), 10);
        assert_eq!(raised(Budget::ModelCalls, 0), RunLimits::DEFAULT.model.calls);
        assert_eq!(raised(Budget::ModelCost, 0), 1_000_000);
        assert_eq!(raised(Budget::Results, u64::MAX), u64::MAX);
    }
}
