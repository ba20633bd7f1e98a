//! The tasks of a superstep: made from what is next, and taken up from what is known of them already. A superstep may have
//! many, and work to do for each, so they are made one by one.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::Walker;
use super::budget::{Reached, Trouble};
use super::cache::Caching;
use super::event::Effect;
use super::hook_verdict::LimitCode;
use super::machine::Phase;
use super::schedule::limit;
use super::superstep::{Activated, Pending, PendingTask, Start, Superstep, Task, TaskState, Used, task_id};
use super::telling::Told;
use crate::graph::{Foreach, Node, NodeIndex, NodeKind, Primary};
use crate::hook::HookEvent;
use crate::json::MeteredJsonError;
use crate::limits::{Budget, HostUse};
use crate::node::{Category, Failure};
use crate::record::PendingOutcome;
use crate::time::Timestamp;
use crate::work::{Exhausted, Meter, rates, size};

/// A superstep whose tasks are being made. Nothing of it is known outside, and nothing has started.
#[derive(Debug)]
pub(super) struct Making {
    superstep: Superstep,
    /// What is known of its tasks already, those apart that have been taken up.
    pending: Pending,
    /// How often nodes were entered, with this superstep.
    visits: BTreeMap<NodeIndex, u64>,
    /// How many of the activations that are next have their tasks, or are getting them.
    place: usize,
    /// The activation that is getting its tasks, with the items that have none yet.
    items: Option<(Activated, std::vec::IntoIter<Value>)>,
    /// Warnings about those items, for the first of their tasks.
    raised: Vec<String>,
    /// How many tasks have been taken up.
    taken: usize,
}

impl Making {
    fn new(number: u64, pending: Pending) -> Self {
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

    /// What was known before of the tasks.
    fn into_pending(mut self) -> Pending {
        if let Some((active, _)) = self.items.take() {
            Walker::close(&mut self.superstep, active);
        }
        let mut pending = self.superstep.into_pending();
        pending.0.extend(self.pending.0);
        pending
    }
}

impl Walker {
    /// Begins to make the tasks of the next superstep.
    pub(super) fn begin_making(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        self.making = Some(Box::new(Making::new(self.step + 1, pending)));
        self.phase = Phase::Making;
    }

    /// Makes tasks until all are made, or until enough has been done at one time.
    pub(super) fn make_more(&mut self, now: Timestamp, fx: &mut Vec<Effect>) {
        let Some(mut making) = self.making.take() else { return };
        if self.cancel_requested {
            self.pending = making.into_pending();
            self.phase = Phase::Ready;
            return;
        }
        loop {
            if self.has_worked_enough() {
                self.making = Some(making);
                return;
            }
            match self.make_one(&mut making) {
                Ok(true) => {}
                Ok(false) => break,
                Err((code, error)) => {
                    self.pending = making.into_pending();
                    self.phase = Phase::Ready;
                    return self.stop_at_limit(now, code, error, fx);
                }
            }
        }
        let Making { superstep, pending, .. } = *making;
        self.start_superstep(now, superstep, pending, fx);
    }

    /// Forgets the tasks that are being made, since the run stops.
    pub(super) fn abandon_making(&mut self) {
        if let Some(making) = self.making.take() {
            self.pending = making.into_pending();
            self.phase = Phase::Ready;
        }
    }

    /// The tasks of the next superstep as they stand, to look at. None where they cannot be made.
    pub(super) fn preview(&mut self) -> Option<Superstep> {
        let mut making = Making::new(self.step + 1, self.pending.clone());
        let made = loop {
            match self.make_one(&mut making) {
                Ok(true) => {}
                Ok(false) => break true,
                Err(_) => break false,
            }
        };
        // Whoever starts the superstep pays for it.
        (self.work, self.slice) = (0, 0);
        made.then_some(making.superstep)
    }

    /// Makes, or takes up, one task; `false` once there is nothing more to do.
    fn make_one(&mut self, making: &mut Making) -> Result<bool, Reached> {
        if let Some((active, items)) = &mut making.items {
            if let Some(item) = items.next() {
                let meter = self.meter(0);
                let graph = Arc::clone(&self.graph);
                let node = graph.node(active.node);
                let (ordinal, place) = (making.superstep.tasks.len(), making.superstep.activated.len());
                let mut task = self.new_task(making.superstep.number, ordinal, place);
                task.warnings = std::mem::take(&mut making.raised);
                let bound = self.make_item_task(&mut task, node, active, item, &meter);
                making.superstep.tasks.push(task);
                self.count_work(&meter);
                bound.map_err(|exhausted| self.exhausted(exhausted, Some(node.name.clone())))?;
                return self.check_fan_out(&making.superstep, &node.name).map(|()| true);
            }
            if let Some((active, _)) = making.items.take() {
                Self::close(&mut making.superstep, active);
            }
            return Ok(true);
        }
        if let Some(step) = self.next.get(making.place) {
            making.place += 1;
            let (node, argument) = (step.node, step.argument.clone());
            self.make_activation(making, node, argument)?;
            return Ok(true);
        }
        let Some(task) = making.superstep.tasks.get_mut(making.taken) else { return Ok(false) };
        making.taken += 1;
        self.slice = self.slice.saturating_add(rates::LOOKUP);
        // What is kept may be of another node's task: untracked state decides how many tasks a `foreach` has, and is gone
        // after a resume.
        let node = making.superstep.activated[task.activated].node;
        if making.pending.0.get(&task.id).is_some_and(|known| known.node == node)
            && let Some(known) = making.pending.0.remove(&task.id)
        {
            let worked = self.take_up(task, &making.superstep.activated, known);
            self.slice = self.slice.saturating_add(worked);
            making.superstep.held = making.superstep.held.saturating_add(held_by(&task.state));
        }
        if !task.state.is_settled() {
            making.superstep.open += 1;
        }
        Ok(true)
    }

    /// Makes the task of an active node, or evaluates which items it has.
    fn make_activation(
        &mut self,
        making: &mut Making,
        index: NodeIndex,
        argument: Option<Arc<Value>>,
    ) -> Result<(), Reached> {
        let graph = Arc::clone(&self.graph);
        let node = graph.node(index);
        let superstep = &mut making.superstep;
        let before = self.tallies.of(index).visits;
        let entered = making.visits.entry(index).or_insert(before);
        *entered += 1;
        if let Some(most) = self.graph.max_visits_per_node.filter(|most| *entered > *most) {
            let message =
                format!("node `{}` was entered {most} times, which is its `max_visits_per_node`", node.name);
            return Err((LimitCode::MaxVisits, limit(Some(node.name.clone()), message)));
        }
        let first = superstep.tasks.len();
        let active = Activated {
            node: index,
            argument,
            visit: *entered,
            tasks: first..first,
            reached: first,
            list: None,
            assigned: None,
        };
        let place = superstep.activated.len();
        let meter = self.meter(0);
        let exhausted = if let NodeKind::Foreach(foreach) = &node.kind {
            let mut warnings = Vec::new();
            match self.items(foreach, node, &active, &mut warnings, &meter) {
                Ok(items) => {
                    superstep.held = superstep.held.saturating_add(items.iter().map(size::of).sum());
                    let too_much = superstep.held > self.budgets().results;
                    if too_much {
                        let (used, name) = (superstep.held, node.name.clone());
                        self.count_work(&meter);
                        return Err(self.used_up(Budget::Results, used, Some(name)));
                    }
                    making.items = Some((active, items.into_iter()));
                    making.raised = warnings;
                    None
                }
                Err(Trouble::Failed(failure)) => {
                    let mut task = self.new_task(superstep.number, first, place);
                    task.state = self.failed_early(node, failure, false);
                    task.warnings = warnings;
                    superstep.tasks.push(task);
                    Self::close(superstep, active);
                    None
                }
                Err(Trouble::Exhausted(exhausted)) => Some(exhausted),
            }
        } else {
            let mut task = self.new_task(superstep.number, first, place);
            let bound = self.bind_dispatch(&mut task, node, &active, None, &meter);
            superstep.tasks.push(task);
            Self::close(superstep, active);
            bound.err()
        };
        self.count_work(&meter);
        if let Some(exhausted) = exhausted {
            return Err(self.exhausted(exhausted, Some(node.name.clone())));
        }
        self.check_fan_out(&making.superstep, &node.name)
    }

    fn check_fan_out(&self, superstep: &Superstep, node: &str) -> Result<(), Reached> {
        if superstep.tasks.len() as u64 <= self.graph.max_fan_out {
            return Ok(());
        }
        let (number, most) = (superstep.number, self.graph.max_fan_out);
        let message = format!("superstep {number} has more than {most} tasks, its `max_fan_out`");
        Err((LimitCode::MaxFanOut, limit(Some(node.to_owned()), message)))
    }

    /// The activation has all its tasks.
    fn close(superstep: &mut Superstep, mut active: Activated) {
        active.tasks = active.tasks.start..superstep.tasks.len();
        superstep.activated.push(active);
    }

    fn new_task(&self, superstep: u64, ordinal: usize, activated: usize) -> Task {
        Task {
            id: task_id(&self.setup.identity.namespace, superstep, ordinal),
            activated,
            item: None,
            dispatch: None,
            state: TaskState::Waiting,
            attempt: 0,
            used: Used::default(),
            start: Start::default(),
            reserved: 0,
            components: u64::MAX,
            params: 0,
            own_work: 0,
            reserved_host: HostUse::NOTHING,
            reserved_steps: 0,
            retried: 0,
            continued: false,
            answers: Vec::new(),
            warnings: Vec::new(),
            told: Told::default(),
            caching: Caching::default(),
        }
    }

    fn make_item_task(
        &self,
        task: &mut Task,
        node: &Node,
        active: &Activated,
        item: Value,
        meter: &Meter,
    ) -> Result<(), Exhausted> {
        let item = Arc::new(item);
        let variable = match &node.kind {
            NodeKind::Foreach(foreach) => foreach.variable.as_str(),
            _ => "",
        };
        let bound = self.bind_dispatch(task, node, active, Some((variable, &*item)), meter);
        task.item = Some(item);
        bound
    }

    /// The items of a `foreach`.
    fn items(
        &self,
        foreach: &Foreach,
        node: &Node,
        active: &Activated,
        warnings: &mut Vec<String>,
        meter: &Meter,
    ) -> Result<Vec<Value>, Trouble> {
        let context = self.context(node, active, meter)?;
        let scope = self.scope(&context, active.argument.as_deref(), None);
        let over = self.evaluate(&foreach.over, &scope, node, warnings, meter)?;
        let wrong = |kind: &str| {
            Trouble::Failed(Failure::new(
                Category::InvalidInput,
                format!("`over` of `{}` must be a list, and is {kind}", node.name),
            ))
        };
        match over {
            Value::Array(items) => Ok(items),
            Value::String(text) => {
                match crate::json::parse_strict_metered(&text, crate::json::MAX_DEPTH, meter) {
                    Ok(Value::Array(items)) => Ok(items),
                    Err(MeteredJsonError::Exhausted(exhausted)) => Err(exhausted.into()),
                    _ => Err(wrong("a string that is not the JSON text of one")),
                }
            }
            other => Err(wrong(super::reduce::kind(&other))),
        }
    }

    /// Resolves which item a task dispatches; a failure settles the task.
    fn bind_dispatch(
        &self,
        task: &mut Task,
        node: &Node,
        active: &Activated,
        item: Option<(&str, &Value)>,
        meter: &Meter,
    ) -> Result<(), Exhausted> {
        meter.charge(rates::VISIT)?;
        let Some(action) = &node.action else { return Ok(()) };
        let prepared = &self.prepared[active.node.0 as usize];
        let dispatch = if let Some(known) = &prepared.dispatch {
            known.clone()
        } else {
            let context = self.context(node, active, meter)?;
            let scope = self.scope(&context, active.argument.as_deref(), item);
            match self.evaluate(&action.item_id, &scope, node, &mut task.warnings, meter) {
                Ok(Value::Null) if action.primary == Primary::Search => {
                    self.permit(node, action, prepared.narrowed.as_ref(), "")
                }
                Ok(Value::String(id)) => self.permit(node, action, prepared.narrowed.as_ref(), &id),
                Ok(other) => Err(Failure::new(
                    Category::InvalidInput,
                    format!("`item_id` must be a string, and is {}", super::reduce::kind(&other)),
                )),
                Err(Trouble::Failed(failure)) => Err(failure),
                Err(Trouble::Exhausted(exhausted)) => return Err(exhausted),
            }
        };
        match dispatch {
            Ok(dispatch) => task.dispatch = Some(dispatch),
            Err(failure) => task.state = self.failed_early(node, failure, item.is_some()),
        }
        Ok(())
    }

    /// What a failure makes of a task that could not start.
    fn failed_early(&self, node: &Node, failure: Failure, is_item: bool) -> TaskState {
        if self.has_hooks(HookEvent::Error) {
            TaskState::Failing { failure, told: false }
        } else {
            self.give_up(node, failure, is_item)
        }
    }

    /// Goes on from what is known of a task. Its answer was paid for when it came; how much work it is to take it in again
    /// counts for how long control is kept alone.
    fn take_up(&self, task: &mut Task, activated: &[Activated], known: PendingTask) -> u64 {
        let meter = Meter::of_one_step();
        let PendingTask {
            outcome,
            attempt,
            retried,
            continued,
            used,
            start,
            answers,
            warnings,
            events,
            journal,
            cache,
            woken,
            ..
        } = known;
        (task.used, task.start) = (used, start);
        task.answers = answers;
        task.told = Told::of(events, journal);
        task.caching.cache = cache;
        if task.state.is_settled() {
            return 0;
        }
        let active = &activated[task.activated];
        let node = self.graph.node(active.node);
        if outcome.is_some() {
            (task.retried, task.continued) = (retried, continued);
        }
        match outcome {
            Some(PendingOutcome::Done { outcome }) => {
                task.attempt = attempt;
                task.warnings = warnings;
                // The same state gives the same writes; what could not be assigned was never recorded as done.
                let mut repeated = Vec::new();
                task.state =
                    match self.answer(node, active, task.item.as_deref(), outcome, &mut repeated, &meter) {
                        Ok(answer) => TaskState::Done(answer),
                        Err(_) => TaskState::Waiting,
                    };
            }
            Some(PendingOutcome::Handled { failure }) => {
                task.attempt = attempt;
                task.warnings = warnings;
                task.state = TaskState::Handled(failure);
            }
            Some(PendingOutcome::Interrupted { answered, payload }) => {
                task.attempt = attempt.saturating_sub(1);
                if task.answers.len() <= answered as usize {
                    task.attempt = attempt;
                    task.warnings = warnings;
                    task.state = TaskState::Interrupted { payload: payload.0 };
                }
            }
            Some(PendingOutcome::Suspended) => {
                task.attempt = attempt.saturating_sub(1);
                if !woken {
                    task.attempt = attempt;
                    task.warnings = warnings;
                    task.state = TaskState::Suspended;
                }
            }
            Some(PendingOutcome::Retrying { due, failure }) => {
                task.attempt = attempt;
                task.warnings = warnings;
                task.state = TaskState::Backoff { due, failure };
            }
            Some(PendingOutcome::Failing { failure }) => {
                task.attempt = attempt;
                task.warnings = warnings;
                task.state = TaskState::Failing { failure, told: true };
            }
            Some(PendingOutcome::Failed { failure }) => {
                task.attempt = attempt;
                task.warnings = warnings;
                task.state = TaskState::Failed(failure);
            }
            None => {}
        }
        meter.spent()
    }
}

/// What a task holds by what it has come to.
pub(super) fn held_by(state: &TaskState) -> u64 {
    match state {
        TaskState::Done(answer) => answer.held(),
        TaskState::Interrupted { payload } => size::of(payload),
        TaskState::Handled(failure) | TaskState::Failed(failure) => failure_size(failure),
        _ => 0,
    }
}

/// What a failure takes up.
pub(super) fn failure_size(failure: &Failure) -> u64 {
    let details = failure.details.as_ref().map_or(0, size::of);
    (failure.message.len() as u64).saturating_add(details)
}
