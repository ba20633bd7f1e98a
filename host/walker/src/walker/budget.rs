//! The run's budgets: how much of each is left, and how a run ends that has used one up.
//!
//! Work for a task is charged against what was reserved for that task, work between tasks against what the run has left.
//! Neither depends on the order in which tasks finish, so whether a budget is exceeded does not either.

use super::Walker;
use super::event::Effect;
use super::hook_verdict::LimitCode;
use super::schedule::limit;
use super::superstep::Superstep;
use super::task::TaskState;
use crate::written_graph::Refusal;
use graph_core::limits::{Budget, ModelUse, RunLimits};
use graph_core::node::{Category, Failure};
use graph_core::record::RunError;
use graph_core::time::Timestamp;
use graph_core::work::rates::STEP;
use graph_core::work::{Exhausted, Meter};

/// What is reserved for the host's own work of one attempt: its templates, and taking its answer in.
pub(super) const WORK_OF_ATTEMPT: u64 = 2 * STEP;

/// Why a piece of work for a node could not be done.
#[derive(Clone, Debug)]
pub(super) enum Trouble {
    /// The node has failed.
    Failed(Failure),
    /// The fuel for it is used up.
    Exhausted(Exhausted),
}

impl Trouble {
    /// The trouble of preparing a child run. A step over its bound is that of a written graph's schema, and fails the task alone.
    pub(super) fn of_child(self, is_written: bool) -> Self {
        match self {
            Self::Exhausted(exhausted @ Exhausted::Step) if is_written => {
                let message = format!("the graph cannot be started: {exhausted}");
                Self::Failed(Failure::new(Category::Limit, message))
            }
            trouble => trouble,
        }
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<Refusal> for Trouble {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Failed(failure) => Self::Failed(failure),
            // The document is what costs so much: it is no step of this graph's own.
            Refusal::Exhausted(exhausted @ Exhausted::Step) => {
                Self::Failed(Failure::new(Category::Limit, format!("the graph cannot be read: {exhausted}")))
            }
            Refusal::Exhausted(exhausted) => Self::Exhausted(exhausted),
        }
    }
}

impl From<Exhausted> for Trouble {
    fn from(exhausted: Exhausted) -> Self {
        Self::Exhausted(exhausted)
    }
}

/// A limit that the run has reached, and the error that it stops with.
pub(super) type Reached = (LimitCode, RunError);

impl Walker {
    pub(super) fn budgets(&self) -> RunLimits {
        self.setup.manifest.run_limits()
    }

    /// What answers have added so far to budgets of language models, those of child runs included.
    pub(super) fn granted(&self) -> ModelUse {
        let tasks = self.superstep.iter().flat_map(Superstep::tasks);
        let granted = tasks.map(|task| task.used().granted).fold(self.totals.granted(), ModelUse::plus);
        self.pending.tasks().map(|left| left.used().granted).fold(granted, ModelUse::plus)
    }

    /// The run's budget of language models once answers have added so much to it. What the task of a child run has set aside
    /// for the child contains that already.
    pub(super) fn models_with(&self, granted: ModelUse) -> ModelUse {
        let most = self.budgets().model;
        if self.setup.identity.namespace.is_empty() { most.raised(granted) } else { most }
    }

    /// What the run at the top may use of language models, with what answers have added to it.
    pub(super) fn models_of_root(&self) -> ModelUse {
        if self.setup.identity.namespace.is_empty() {
            return self.models_with(self.granted());
        }
        self.budgets().model_of_root
    }

    /// How much of a budget the run may use.
    pub(super) fn most_of(&self, budget: Budget) -> u64 {
        match budget.figure() {
            Some(figure) => figure.of(self.models_with(self.granted())),
            None => budget.of(&self.budgets()),
        }
    }

    /// Fuel that has been used by everything that has committed, by the hooks that were asked about the run since, and by the
    /// host's work on the superstep under way, that for its tasks apart.
    pub(super) fn spent(&self) -> u64 {
        self.fuel_so_far().saturating_add(self.host_fuel_so_far()).saturating_add(self.totals.work())
    }

    /// A meter for work between tasks, when the tasks of the active superstep have used `by_tasks`.
    pub(super) fn meter(&self, by_tasks: u64) -> Meter {
        Meter::new(self.budgets().fuel.saturating_sub(self.spent().saturating_add(by_tasks)))
    }

    /// Counts work between tasks.
    pub(super) fn count_work(&mut self, meter: &Meter) {
        self.totals.add_work(meter.spent());
        self.slice.add(meter.spent());
    }

    /// Counts work for a task.
    pub(super) fn count_task_work(&mut self, at: usize, spent: u64) {
        self.slice.add(spent);
        if let Some(superstep) = &mut self.superstep {
            superstep.task_mut(at).account_mut().charge_work(spent);
        }
    }

    /// The error of a run whose own work exceeds a budget.
    pub(super) fn exhausted(&self, exhausted: Exhausted, node: Option<String>) -> Reached {
        match exhausted {
            Exhausted::Step => self.used_up(Budget::Work, STEP, node),
            Exhausted::Fuel => self.used_up(Budget::Fuel, self.spent(), node),
        }
    }

    /// The error of a run that has used up a budget. `used` is how much it has used, or would have.
    pub(super) fn used_up(&self, budget: Budget, used: u64, node: Option<String>) -> Reached {
        let most = self.most_of(budget);
        let (key, unit) = (budget.as_str(), budget.unit(most));
        let at = node.as_ref().map_or(String::new(), |node| format!("node `{node}`: "));
        let message = if budget == Budget::Work {
            format!("{at}{}; nothing raises that: let the graph handle smaller values", Exhausted::Step)
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
            // If the work was not done, it is not known how much it would have used in all.
            let used = if used > most { format!("{} of ", budget.written(used)) } else { String::new() };
            format!(
                "{at}the run's budget `{key}` is used up: {used}{} {unit} ({whose}); `{}` in the manifest (--caps FILE) \
                 allows more",
                budget.written(most),
                budget.line(raised(budget, most))
            )
        };
        let error = RunError { budget: Some(budget), ..limit(node, message) };
        (LimitCode::Budget(budget), error)
    }

    /// The first task of a superstep, in task order, that has used a budget of the run up.
    pub(super) fn first_exhausted(&self, superstep: &Superstep) -> Option<Reached> {
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

    /// A running task has used a budget of the run up: the superstep does not commit. Its siblings finish, as at every
    /// failure, so that nothing depends on which task is first.
    pub(super) fn exhaust(
        &mut self,
        now: Timestamp,
        at: usize,
        budget: Budget,
        within: Option<String>,
        fx: &mut Vec<Effect>,
    ) {
        let Some(superstep) = &mut self.superstep else { return };
        superstep.task_mut(at).enter(TaskState::Exhausted { budget, within });
        self.settled(now, at, fx);
    }

    /// The work for a running task could not be done.
    pub(super) fn troubled(&mut self, now: Timestamp, at: usize, trouble: Trouble, fx: &mut Vec<Effect>) {
        match trouble {
            Trouble::Failed(failure) => self.failed(now, at, failure, fx),
            Trouble::Exhausted(exhausted) => self.exhaust(now, at, budget_of(exhausted), None, fx),
        }
    }

    /// Counts the memory of a task's result. Once that exceeds `results`, the superstep ends, whichever task was the last
    /// one, and everything that was reserved is charged.
    pub(super) fn hold(&mut self, size: u64) {
        if let Some(superstep) = &mut self.superstep {
            superstep.hold(size);
        }
    }

    /// Whether the tasks of the superstep under way hold more than they may.
    pub(super) fn holds_too_much(&self) -> bool {
        self.superstep.as_ref().is_some_and(|superstep| superstep.held() > self.budgets().results)
    }

    /// Ends a superstep whose tasks hold more than they may.
    pub(super) fn stop_holding(&mut self, now: Timestamp, fx: &mut Vec<Effect>) {
        // How far the only task had got depends on nothing else.
        if self.superstep.as_ref().is_some_and(|superstep| superstep.tasks().len() == 1) {
            return self.exhaust(now, 0, Budget::Results, None, fx);
        }
        let held = self.superstep.as_ref().map_or(0, Superstep::held);
        self.abort_all(fx);
        if let Some(superstep) = &mut self.superstep {
            superstep.forfeit();
        }
        // How much is held when the limit is passed depends on which task was the last one.
        let most = self.budgets().results;
        let (code, error) = self.used_up(Budget::Results, held.min(most), None);
        self.stop_at_limit(now, code, error, fx);
    }
}

/// The budget that is used up where work cannot be paid for.
pub(super) const fn budget_of(exhausted: Exhausted) -> Budget {
    match exhausted {
        Exhausted::Step => Budget::Work,
        Exhausted::Fuel => Budget::Fuel,
    }
}

/// A figure of a budget to write in a manifest in place of `most`.
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
