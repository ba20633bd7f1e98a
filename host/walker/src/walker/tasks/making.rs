//! Makes the tasks of a superstep from the next activations and from the tasks' records. A superstep may have many
//! tasks, and each takes work, so they are made one by one.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use serde_json::Value;

use crate::graph::{Foreach, Node, NodeIndex, NodeKind};
use crate::walker::Walker;
use crate::walker::budget::run_budget::{NodeWorkError, ReachedLimit};
use crate::walker::event::Effect;
use crate::walker::nodes::scope::ForeachItem;
use crate::walker::phase::{Cause, Phase};
use crate::walker::stop::limit_codes::LimitCode;
use crate::walker::tasks::pending_tasks::{PendingTask, PendingTasks};
use crate::walker::tasks::start::limit;
use crate::walker::tasks::superstep::{ActivatedNode, Superstep, task_id};
use crate::walker::tasks::task::{Dispatch, Task, TaskState};
use graph_core::hook_event::HookEvent;
use graph_core::json::MeteredJsonError;
use graph_core::limits::Budget;
use graph_core::node::{Category, Failure};
use graph_core::record::PendingOutcome;
use graph_core::time::Timestamp;
use graph_core::work::{FuelExhausted, Meter, rates, size};

/// A superstep whose tasks are being made. None of them has started, and none of their effects are visible outside.
#[derive(Debug)]
pub(in crate::walker) struct SuperstepDraft {
    superstep: Superstep,
    /// The records of tasks that have not been restored yet.
    pending: PendingTasks,
    /// Number of visits of each entered node, this superstep included.
    visits: BTreeMap<NodeIndex, u64>,
    /// Number of next activations that have their tasks, or are getting them.
    place: usize,
    /// The activation that is getting its tasks, with the items that have none yet.
    items: Option<(ActivatedNode, std::vec::IntoIter<Value>)>,
    /// Warnings about those items, for the first of their tasks.
    raised: Vec<String>,
    /// Number of tasks whose records have been looked up.
    taken: usize,
}

impl SuperstepDraft {
    fn new(number: u64, pending: PendingTasks) -> Self {
        Self {
            superstep: Superstep::new(number),
            pending,
            visits: BTreeMap::new(),
            place: 0,
            items: None,
            raised: Vec::new(),
            taken: 0,
        }
    }

    /// Turns all tasks back into records, together with the records that were not restored.
    fn into_pending(mut self) -> PendingTasks {
        if let Some((active, _)) = self.items.take() {
            self.superstep.push_activated(active);
        }
        let mut pending = self.superstep.into_pending();
        pending.extend(self.pending);
        pending
    }
}

impl Walker {
    /// Begins to make the tasks of the next superstep.
    pub(in crate::walker) fn begin_making(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        let making = SuperstepDraft::new(self.position.step() + 1, pending);
        self.phase.enter(Cause::Make, Phase::Making(Box::new(making)));
    }

    /// Makes tasks until all are made, or until the time slice is over.
    pub(in crate::walker) fn make_more(&mut self, now: Timestamp, fx: &mut Vec<Effect>) {
        let Some(mut making) = self.phase.take_making() else { return };
        if self.stop.is_cancel_requested() {
            return self.unmake(*making);
        }
        loop {
            if self.slice.is_over() {
                return self.phase.keep(Phase::Making(making));
            }
            match self.make_one(&mut making) {
                Ok(true) => {}
                Ok(false) => break,
                Err((code, error)) => {
                    self.unmake(*making);
                    return self.stop_at_limit(now, code, error, fx);
                }
            }
        }
        let SuperstepDraft { superstep, pending, .. } = *making;
        self.start_superstep(now, superstep, pending, fx);
    }

    /// Forgets the tasks that are being made, since the run stops.
    pub(in crate::walker) fn abandon_making(&mut self) {
        if let Some(making) = self.phase.take_making() {
            self.unmake(*making);
        }
    }

    /// Goes back to before the tasks were made.
    fn unmake(&mut self, making: SuperstepDraft) {
        self.pending = making.into_pending();
        self.phase.enter(Cause::Abandon, Phase::Ready);
    }

    /// Makes the tasks of the next superstep without starting it; `None` if they cannot be made.
    pub(in crate::walker) fn preview(&mut self) -> Option<Superstep> {
        let mut making = SuperstepDraft::new(self.position.step() + 1, self.pending.clone());
        let made = loop {
            match self.make_one(&mut making) {
                Ok(true) => {}
                Ok(false) => break true,
                Err(_) => break false,
            }
        };
        // The work to make the tasks is charged to the superstep that starts.
        self.usage.forget_work();
        self.slice.begin(0);
        made.then_some(making.superstep)
    }

    /// Makes one task, or restores one from its record; `false` once there is nothing more to do.
    fn make_one(&mut self, making: &mut SuperstepDraft) -> Result<bool, ReachedLimit> {
        if let Some((active, items)) = &mut making.items {
            if let Some(item) = items.next() {
                let meter = self.meter(0);
                let graph = Arc::clone(&self.graph);
                let node = graph.node(active.node());
                let (ordinal, place) = (making.superstep.tasks().len(), making.superstep.activated().len());
                let mut task = self.new_task(making.superstep.number(), ordinal, place);
                task.add_warnings(std::mem::take(&mut making.raised));
                let index = ordinal - active.first_task();
                let bound = self.make_item_task(&mut task, node, active, (item, index), &meter);
                making.superstep.add_memory(task.dispatch().map_or(0, Dispatch::memory));
                making.superstep.push_task(task);
                self.count_work(&meter);
                bound.map_err(|exhausted| self.exhausted(exhausted, Some(node.name.clone())))?;
                self.check_memory(&making.superstep, &node.name)?;
                return self.check_fan_out(&making.superstep, &node.name).map(|()| true);
            }
            if let Some((active, _)) = making.items.take() {
                making.superstep.push_activated(active);
            }
            return Ok(true);
        }
        if let Some(step) = self.agenda.next().get(making.place) {
            making.place += 1;
            let (node, argument) = (step.node(), step.argument().cloned());
            self.make_activation(making, node, argument)?;
            return Ok(true);
        }
        let Some((task, active)) = making.superstep.task_with_activated(making.taken) else {
            return Ok(false);
        };
        making.taken += 1;
        self.slice.add(rates::LOOKUP);
        let mut memory = 0;
        if let Some(known) = making.pending.take(task.id(), active.node()) {
            let worked = self.restore_task(task, active, known);
            self.slice.add(worked);
            memory = memory_of(task.state());
        }
        let is_open = !task.state().is_settled();
        making.superstep.add_memory(memory);
        if is_open {
            making.superstep.count_open();
        }
        Ok(true)
    }

    /// Makes the task of an active node, or evaluates its items if it is a `foreach`.
    fn make_activation(
        &mut self,
        making: &mut SuperstepDraft,
        index: NodeIndex,
        argument: Option<Arc<Value>>,
    ) -> Result<(), ReachedLimit> {
        let graph = Arc::clone(&self.graph);
        let node = graph.node(index);
        let superstep = &mut making.superstep;
        let before = self.usage.node_counts().get(index).visits;
        let entered = making.visits.entry(index).or_insert(before);
        *entered += 1;
        if let Some(most) = self.graph.max_visits_per_node.filter(|most| *entered > *most) {
            let message =
                format!("node `{}` was entered {most} times, which is its `max_visits_per_node`", node.name);
            return Err((LimitCode::MaxVisits, limit(Some(node.name.clone()), message)));
        }
        let first = superstep.tasks().len();
        let active = ActivatedNode::new(index, argument, *entered, first);
        let place = superstep.activated().len();
        let meter = self.meter(0);
        let exhausted = if let NodeKind::Foreach(foreach) = &node.kind {
            let mut warnings = Vec::new();
            match self.items(foreach, node, &active, &mut warnings, &meter) {
                Ok(items) => {
                    superstep.add_memory(items.iter().map(size::of).sum());
                    if let Err(reached) = self.check_memory(superstep, &node.name) {
                        self.count_work(&meter);
                        return Err(reached);
                    }
                    making.items = Some((active, items.into_iter()));
                    making.raised = warnings;
                    None
                }
                Err(NodeWorkError::Failed(failure)) => {
                    let mut task = self.new_task(superstep.number(), first, place);
                    task.enter(self.failed_early(node, failure, false));
                    task.add_warnings(warnings);
                    superstep.push_task(task);
                    superstep.push_activated(active);
                    None
                }
                Err(NodeWorkError::Exhausted(exhausted)) => Some(exhausted),
            }
        } else {
            let mut task = self.new_task(superstep.number(), first, place);
            let bound = self.bind_dispatch(&mut task, node, &active, None, &meter);
            superstep.add_memory(task.dispatch().map_or(0, Dispatch::memory));
            superstep.push_task(task);
            superstep.push_activated(active);
            bound.err()
        };
        self.count_work(&meter);
        if let Some(exhausted) = exhausted {
            return Err(self.exhausted(exhausted, Some(node.name.clone())));
        }
        self.check_memory(&making.superstep, &node.name)?;
        self.check_fan_out(&making.superstep, &node.name)
    }

    fn check_fan_out(&self, superstep: &Superstep, node: &str) -> Result<(), ReachedLimit> {
        if superstep.tasks().len() as u64 <= self.graph.max_fan_out {
            return Ok(());
        }
        let (number, most) = (superstep.number(), self.graph.max_fan_out);
        let message = format!("superstep {number} has more than {most} tasks, its `max_fan_out`");
        Err((LimitCode::MaxFanOut, limit(Some(node.to_owned()), message)))
    }

    /// Checks that the values held for the tasks fit in the budget `results`.
    fn check_memory(&self, superstep: &Superstep, node: &str) -> Result<(), ReachedLimit> {
        if superstep.memory() <= self.budgets().results {
            return Ok(());
        }
        Err(self.used_up(Budget::Results, superstep.memory(), Some(node.to_owned())))
    }

    fn new_task(&self, superstep: u64, ordinal: usize, activated: usize) -> Task {
        Task::new(task_id(&self.setup.identity.namespace, superstep, ordinal), activated)
    }

    fn make_item_task(
        &mut self,
        task: &mut Task,
        node: &Node,
        active: &ActivatedNode,
        (item, index): (Value, usize),
        meter: &Meter,
    ) -> Result<(), FuelExhausted> {
        let item = Arc::new(item);
        let bound =
            self.bind_dispatch(task, node, active, ForeachItem::new(node, &item, index).as_ref(), meter);
        task.set_item(item, index);
        bound
    }

    /// Evaluates the items of a `foreach`.
    fn items(
        &self,
        foreach: &Foreach,
        node: &Node,
        active: &ActivatedNode,
        warnings: &mut Vec<String>,
        meter: &Meter,
    ) -> Result<Vec<Value>, NodeWorkError> {
        let context = self.context(node, active, meter)?;
        let scope = self.scope(&context, active.argument().map(|argument| &**argument), None);
        let over = self.evaluate(&foreach.over, &scope, node, warnings, meter)?;
        let wrong = |kind: &str| {
            NodeWorkError::Failed(Failure::new(
                Category::InvalidInput,
                format!("`over` of `{}` must be a list, and is {kind}", node.name),
            ))
        };
        let items = match over {
            Value::Array(items) => items,
            Value::String(text) => {
                match graph_core::json::parse_strict_metered(&text, graph_core::json::MAX_DEPTH, meter) {
                    Ok(Value::Array(items)) => items,
                    Err(MeteredJsonError::Exhausted(exhausted)) => return Err(exhausted.into()),
                    _ => return Err(wrong("a string that is not the JSON text of one")),
                }
            }
            other => return Err(wrong(crate::walker::state::reduce::kind(&other))),
        };
        Ok(match foreach.batch {
            None => items,
            Some(batch) => batches(items, batch, meter)?,
        })
    }

    /// Sets a task's dispatch; a failure settles the task.
    fn bind_dispatch(
        &mut self,
        task: &mut Task,
        node: &Node,
        active: &ActivatedNode,
        item: Option<&ForeachItem<'_>>,
        meter: &Meter,
    ) -> Result<(), FuelExhausted> {
        meter.charge(rates::VISIT)?;
        let Some(action) = &node.action else { return Ok(()) };
        let dispatch = if let Some(known) = self.literal_dispatch(active.node(), node, action) {
            known
        } else {
            let context = self.context(node, active, meter)?;
            let scope = self.scope(&context, active.argument().map(|argument| &**argument), item);
            let mut warnings = Vec::new();
            let bound = self.evaluate_dispatch(node, action, &scope, &mut warnings, meter);
            task.add_warnings(warnings);
            match bound {
                Ok(dispatch) => Ok(dispatch),
                Err(NodeWorkError::Failed(failure)) => Err(failure),
                Err(NodeWorkError::Exhausted(exhausted)) => return Err(exhausted),
            }
        };
        match dispatch {
            Ok(dispatch) => task.set_dispatch(dispatch),
            Err(failure) => task.enter(self.failed_early(node, failure, item.is_some())),
        }
        Ok(())
    }

    /// Returns the state of a task that failed before it could start.
    fn failed_early(&self, node: &Node, failure: Failure, is_item: bool) -> TaskState {
        if self.has_hooks(HookEvent::Error) {
            TaskState::Failing { failure, hooks_asked: false }
        } else {
            self.give_up(node, failure, is_item)
        }
    }

    /// Restores a task from its record. The host's work for the result was charged when it was first accepted; the work
    /// of reading it again is returned, and only bounds the time until control returns to the driver.
    fn restore_task(&self, task: &mut Task, active: &ActivatedNode, known: PendingTask) -> u64 {
        let meter = Meter::of_one_step();
        let (known, outcome, woken) = known.into_parts();
        let (attempt, warnings) = task.restore(known, outcome.is_some());
        if task.state().is_settled() {
            return 0;
        }
        let node = self.graph.node(active.node());
        let state = match outcome {
            Some(PendingOutcome::Done { outcome }) => {
                // The same state gives the same writes: a result that could not be assigned was never recorded as done.
                let mut repeated = Vec::new();
                match self.answer(node, active, outcome, &mut repeated, &meter) {
                    Ok(answer) => TaskState::Done(answer),
                    Err(_) => TaskState::Waiting,
                }
            }
            Some(PendingOutcome::Handled { failure }) => TaskState::Handled(failure),
            Some(PendingOutcome::Interrupted { answered, payload, short }) => {
                if task.answers().len() > answered {
                    match short {
                        Some(short) => task.answers_mut().set_granted(*short),
                        None => task.answers_mut().set_new(payload.0),
                    }
                    task.begin_anew(attempt);
                    return meter.spent();
                }
                TaskState::Interrupted { payload: payload.0, short }
            }
            Some(PendingOutcome::Suspended { .. }) if woken => {
                task.begin_anew(attempt);
                return meter.spent();
            }
            Some(PendingOutcome::Suspended { waits }) => TaskState::Suspended { waits },
            Some(PendingOutcome::Retrying { due, failure }) => TaskState::Backoff { due, failure },
            Some(PendingOutcome::Failing { failure }) => TaskState::Failing { failure, hooks_asked: true },
            Some(PendingOutcome::Failed { failure }) => TaskState::Failed(failure),
            None => return meter.spent(),
        };
        task.stand(attempt, warnings, state);
        meter.spent()
    }
}

/// Returns the items in lists of `batch` items; the last may be shorter.
fn batches(items: Vec<Value>, batch: NonZeroUsize, meter: &Meter) -> Result<Vec<Value>, FuelExhausted> {
    meter.charge_each(items.len(), rates::LOOKUP)?;
    let count = items.len().div_ceil(batch.get());
    let mut items = items.into_iter();
    Ok((0..count).map(|_| items.by_ref().take(batch.get()).collect()).collect())
}

/// Returns the memory that a task holds in its state, in bytes.
pub(in crate::walker) fn memory_of(state: &TaskState) -> u64 {
    match state {
        TaskState::Done(answer) => answer.memory(),
        TaskState::Interrupted { payload, .. } => size::of(payload),
        TaskState::Handled(failure) | TaskState::Failed(failure) => failure_size(failure),
        _ => 0,
    }
}

/// Returns the memory of a failure, in bytes.
pub(in crate::walker) fn failure_size(failure: &Failure) -> u64 {
    let details = failure.details.as_ref().map_or(0, size::of);
    (failure.message.len() as u64).saturating_add(details)
}
