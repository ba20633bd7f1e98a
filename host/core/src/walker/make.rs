//! The tasks of a superstep: made from what is next, and taken up from what is known of them already.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::Walker;
use super::cache::Caching;
use super::hook_verdict::LimitCode;
use super::schedule::limit;
use super::superstep::{Activated, Pending, PendingTask, Start, Superstep, Task, TaskState, Used, task_id};
use super::telling::Told;
use crate::graph::{Foreach, Node, NodeIndex, NodeKind, Primary};
use crate::hook::HookEvent;
use crate::limits::HostUse;
use crate::node::{Category, Failure};
use crate::record::{PendingOutcome, RunError};

impl Walker {
    /// The tasks of the next superstep, with what is known of them already.
    pub(super) fn make_tasks(
        &self,
        number: u64,
        pending: &mut Pending,
    ) -> Result<Superstep, (LimitCode, RunError)> {
        let mut superstep = Superstep {
            number,
            activated: Vec::with_capacity(self.next.len()),
            tasks: Vec::with_capacity(self.next.len()),
            ready: BTreeSet::new(),
            running: 0,
            open: 0,
        };
        let mut visits: BTreeMap<NodeIndex, u64> = BTreeMap::new();
        for (place, next) in self.next.iter().enumerate() {
            let entered = visits.entry(next.node).or_insert_with(|| self.visits[next.node.0 as usize]);
            *entered += 1;
            let node = self.graph.node(next.node);
            if let Some(most) = self.graph.max_visits_per_node.filter(|most| *entered > *most) {
                let message = format!(
                    "node `{}` was entered {most} times, which is its `max_visits_per_node`",
                    node.name
                );
                return Err((LimitCode::MaxVisits, limit(Some(node.name.clone()), message)));
            }
            let active = Activated {
                node: next.node,
                argument: next.argument.clone(),
                visit: *entered,
                tasks: superstep.tasks.len()..superstep.tasks.len(),
                reached: superstep.tasks.len(),
                assigned: None,
            };
            self.make_node_tasks(&mut superstep, place, active, node);
            if superstep.tasks.len() as u64 > self.graph.max_fan_out {
                let message = format!(
                    "superstep {number} has more than {} tasks, its `max_fan_out`",
                    self.graph.max_fan_out
                );
                return Err((LimitCode::MaxFanOut, limit(Some(node.name.clone()), message)));
            }
        }
        for at in 0..superstep.tasks.len() {
            let task = &mut superstep.tasks[at];
            // What is kept may be of another node's task: untracked state decides how many tasks a `foreach` has, and is
            // gone after a resume.
            let node = superstep.activated[task.activated].node;
            if pending.0.get(&task.id).is_some_and(|known| known.node == node)
                && let Some(known) = pending.0.remove(&task.id)
            {
                self.take_up(task, &superstep.activated, known);
            }
            if !task.state.is_settled() {
                superstep.open += 1;
            }
        }
        Ok(superstep)
    }

    fn make_node_tasks(&self, superstep: &mut Superstep, place: usize, mut active: Activated, node: &Node) {
        let number = superstep.number;
        let new_task = |ordinal: usize| Task {
            id: task_id(&self.setup.identity.namespace, number, ordinal),
            activated: place,
            item: None,
            dispatch: None,
            state: TaskState::Waiting,
            attempt: 0,
            used: Used::default(),
            start: Start::default(),
            reserved: 0,
            reserved_host: HostUse::default(),
            reserved_steps: 0,
            retried: 0,
            continued: false,
            answers: Vec::new(),
            warnings: Vec::new(),
            told: Told::default(),
            caching: Caching::default(),
        };
        let first = superstep.tasks.len();
        match &node.kind {
            NodeKind::Foreach(foreach) => {
                let mut warnings = Vec::new();
                match self.items(foreach, node, &active, &mut warnings) {
                    Ok(items) => {
                        for item in items {
                            let mut task = new_task(superstep.tasks.len());
                            let item = Arc::new(item);
                            let bound = Some((foreach.variable.as_str(), &*item));
                            self.bind_dispatch(&mut task, node, &active, bound);
                            task.item = Some(item);
                            superstep.tasks.push(task);
                            if superstep.tasks.len() as u64 > self.graph.max_fan_out {
                                break;
                            }
                        }
                        if let Some(task) = superstep.tasks.get_mut(first) {
                            task.warnings.append(&mut warnings);
                        }
                    }
                    Err(failure) => {
                        let mut task = new_task(first);
                        task.state = self.failed_early(node, failure, false);
                        superstep.tasks.push(task);
                    }
                }
            }
            NodeKind::Default | NodeKind::Return { .. } => {
                let mut task = new_task(first);
                self.bind_dispatch(&mut task, node, &active, None);
                superstep.tasks.push(task);
            }
        }
        active.tasks = first..superstep.tasks.len();
        superstep.activated.push(active);
    }

    fn items(
        &self,
        foreach: &Foreach,
        node: &Node,
        active: &Activated,
        warnings: &mut Vec<String>,
    ) -> Result<Vec<Value>, Failure> {
        let context = self.context(node, active);
        let scope = self.scope(&context, active.argument.as_deref(), None);
        let over = self.evaluate(&foreach.over, &scope, node, warnings)?;
        let wrong = |kind: &str| {
            Failure::new(
                Category::InvalidInput,
                format!("`over` of `{}` must be a list, and is {kind}", node.name),
            )
        };
        match over {
            Value::Array(items) => Ok(items),
            Value::String(text) => match crate::json::parse_strict(&text, 128) {
                Ok(Value::Array(items)) => Ok(items),
                _ => Err(wrong("a string that is not the JSON text of one")),
            },
            other => Err(wrong(super::reduce::kind(&other))),
        }
    }

    /// Resolves which item a task dispatches; a failure settles the task.
    fn bind_dispatch(&self, task: &mut Task, node: &Node, active: &Activated, item: Option<(&str, &Value)>) {
        let Some(action) = &node.action else { return };
        let prepared = &self.prepared[active.node.0 as usize];
        let dispatch = if let Some(known) = &prepared.dispatch {
            known.clone()
        } else {
            let context = self.context(node, active);
            let scope = self.scope(&context, active.argument.as_deref(), item);
            match self.evaluate(&action.item_id, &scope, node, &mut task.warnings) {
                Ok(Value::Null) if action.primary == Primary::Search => {
                    self.permit(node, action, prepared.narrowed.as_ref(), "")
                }
                Ok(Value::String(id)) => self.permit(node, action, prepared.narrowed.as_ref(), &id),
                Ok(other) => Err(Failure::new(
                    Category::InvalidInput,
                    format!("`item_id` must be a string, and is {}", super::reduce::kind(&other)),
                )),
                Err(failure) => Err(failure),
            }
        };
        match dispatch {
            Ok(dispatch) => task.dispatch = Some(dispatch),
            Err(failure) => task.state = self.failed_early(node, failure, item.is_some()),
        }
    }

    /// What a failure makes of a task that could not start.
    fn failed_early(&self, node: &Node, failure: Failure, is_item: bool) -> TaskState {
        if self.has_hooks(HookEvent::Error) {
            TaskState::Failing { failure, told: false }
        } else {
            self.give_up(node, failure, is_item)
        }
    }

    /// Goes on from what is known of a task.
    fn take_up(&self, task: &mut Task, activated: &[Activated], known: PendingTask) {
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
            return;
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
                task.state = match self.answer(node, active, task.item.as_deref(), outcome, &mut repeated) {
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
    }
}
