//! From what is next to the tasks of a superstep, and from its tasks to attempts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::Walker;
use super::cache::Caching;
use super::event::{Effect, Notice, TaskSpec, TimerId};
use super::hook_verdict::LimitCode;
use super::superstep::{
    Activated, Dispatch, Pending, PendingTask, Start, Superstep, Task, TaskState, Used, task_id,
};
use super::telling::Told;
use crate::capability::DispatchPatterns;
use crate::digest::DomainHasher;
use crate::graph::{
    Action, Foreach, ItemType, Node, NodeIndex, NodeKind, NodeLimits, OnItemError, Primary, RetryPolicy,
    TemplateMode,
};
use crate::hook::{Control, ControlAction, HookAction, HookEvent, MAX_RETRIES, is_control_item};
use crate::limits::{HostUse, TaskLimits};
use crate::node::{Activation, Category, Failure, Outcome};
use crate::record::{ErrorCode, PendingOutcome, RunError};
use crate::template::{Root, Scope, TemplateError};
use crate::time::Timestamp;

/// A node's action, as far as it does not depend on state.
#[derive(Debug)]
pub(super) struct Prepared {
    /// The dispatch, or the failure, of an action whose item id is written out.
    pub(super) dispatch: Option<Result<Dispatch, Failure>>,
    /// A further narrowing by the node.
    pub(super) narrowed: Option<DispatchPatterns>,
}

/// A child run is bounded by what its task has reserved, by its own graph, and by what its node says.
const CHILD_LIMITS: TaskLimits = TaskLimits::UNBOUNDED;

impl Walker {
    /// Everything about a node's dispatch that is the same each time.
    pub(super) fn prepare(&self, node: &Node) -> Prepared {
        let narrowed = node.capabilities.as_ref().and_then(|narrowing| narrowing.dispatch.as_deref()).map(
            // The patterns were checked with the document; one that cannot be read permits nothing.
            |patterns| DispatchPatterns::parse(patterns).unwrap_or_else(|_| DispatchPatterns::deny_all()),
        );
        let literal = node.action.as_ref().and_then(|action| {
            let id = action.item_id.literal()?.as_str()?;
            Some(self.permit(node, action, narrowed.as_ref(), id))
        });
        Prepared { dispatch: literal, narrowed }
    }

    /// Whether the manifest permits a dispatch at all.
    pub(super) fn may_dispatch(
        &self,
        primary: Primary,
        item_type: ItemType,
        item_id: &str,
    ) -> Result<(), Failure> {
        // A search need not name where it looks.
        let whole_search = primary == Primary::Search && item_id.is_empty();
        if !whole_search && crate::id::ItemId::parse(item_id).is_err() {
            let message = format!("`{item_id}` is not an item id");
            return Err(Failure::new(Category::InvalidInput, message));
        }
        if is_control_item(primary, item_type, item_id)
            || self.setup.manifest.dispatch().permits(primary, item_type, item_id)
        {
            return Ok(());
        }
        let name = crate::capability::capability_name(primary, item_type, item_id);
        if self.setup.manifest.dispatch().leaves_out(primary, item_type, item_id) {
            let message = format!(
                "the manifest grants `{name}`, and `capabilities` leave it out: those among the inputs, or of a node \
                 above"
            );
            return Err(Failure::new(Category::Denied, message));
        }
        Err(Failure::new(
            Category::Denied,
            format!(
                "the capability `{name}` is not granted; a manifest grants it with `dispatch: [\"{name}\"]`"
            ),
        ))
    }

    /// Checks that an item may be dispatched, and with which limits.
    fn permit(
        &self,
        node: &Node,
        action: &Action,
        narrowed: Option<&DispatchPatterns>,
        item_id: &str,
    ) -> Result<Dispatch, Failure> {
        let (primary, item_type) = (action.primary, action.item_type);
        self.may_dispatch(primary, item_type, item_id)?;
        if narrowed.is_some_and(|patterns| !patterns.permits(primary, item_type, item_id)) {
            let name = crate::capability::capability_name(primary, item_type, item_id);
            return Err(Failure::new(
                Category::Denied,
                format!("the node's own `capabilities` leave out `{name}`"),
            ));
        }
        let is_graph = primary == Primary::Execute
            && item_type == ItemType::Tool
            && super::tree::graph_of(&self.setup.graphs, item_id).is_some();
        if is_graph && node.cache.is_some() {
            return Err(super::cache::not_for_graphs(&node.name, item_id));
        }
        let limits = if is_graph { CHILD_LIMITS } else { self.setup.manifest.limits_for(item_id) };
        let limits = lower(limits, &node.limits, &self.graph.limits);
        Ok(Dispatch { primary, item_type, item_id: item_id.into(), limits, is_graph })
    }

    /// Makes the tasks of the next superstep from what is next and what is known of them already, and starts those
    /// that can start.
    pub(super) fn start_superstep(
        &mut self,
        now: Timestamp,
        fx: &mut Vec<Effect>,
    ) -> Result<(), (LimitCode, RunError)> {
        let number = self.step + 1;
        let mut pending = std::mem::take(&mut self.pending);
        let result = self.make_tasks(number, &mut pending);
        let mut superstep = match result {
            Ok(superstep) => superstep,
            Err(error) => {
                self.pending = pending;
                return Err(error);
            }
        };
        self.count_used(pending);
        self.reserve(&mut superstep);
        self.reserve_steps(&mut superstep);
        fx.push(Effect::Emit(Notice::SuperstepStarted {
            superstep: number,
            nodes: superstep
                .activated
                .iter()
                .map(|active| self.graph.node(active.node).name.clone())
                .collect(),
            tasks: superstep.tasks.len() as u64,
        }));
        for task in &superstep.tasks {
            if let TaskState::Backoff { due, .. } = &task.state {
                let timer = TimerId::Retry { task: Arc::clone(&task.id), attempt: task.attempt + 1 };
                fx.push(Effect::SetTimer { timer, at: *due });
            }
        }
        self.superstep = Some(superstep);
        for at in 0..self.superstep.as_ref().map_or(0, |superstep| superstep.activated.len()) {
            self.release_items(at);
        }
        self.ask_about_failures(now, fx);
        self.start_ready(now, fx);
        Ok(())
    }

    /// Counts what tasks have used that will not be taken up again.
    pub(super) fn count_used(&mut self, left: Pending) {
        for node in left.cached() {
            self.cached[node.0 as usize] += 1;
        }
        for left in left.0.into_values() {
            self.executions[left.node.0 as usize] += u64::from(left.used.dispatches);
            self.fuel = self.fuel.saturating_add(left.used.fuel);
            self.host = self.host.plus(left.used.host);
            self.child_steps = self.child_steps.saturating_add(left.used.steps);
        }
    }

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

    /// Sets fuel and use of the host aside for every task that will run, in task order, so that what each may use does not
    /// depend on which finishes first. A task is set aside what all its attempts may use, or an equal share of what is left where that
    /// is not enough for all: a wide superstep gives each task less, and none nothing.
    fn reserve(&self, superstep: &mut Superstep) {
        let used: u64 = superstep.tasks.iter().map(|task| task.start.used.fuel).fold(0, u64::saturating_add);
        let spent = self.fuel.saturating_add(self.hooks.counted).saturating_add(used);
        let mut left = self.setup.manifest.run_limits().fuel.saturating_sub(spent);
        let host_used = superstep.tasks.iter().map(|task| task.start.used.host);
        let host_used = host_used.fold(self.host.plus(self.hooks.counted_host), HostUse::plus);
        let mut host_left = self.setup.manifest.run_limits().host().less(host_used);
        let (for_hooks, host_for_hooks, retries) = self.fuel_of_error_hooks();
        let takes_part = |task: &Task| {
            let has_failed = matches!(
                task.state,
                TaskState::Failing { .. } | TaskState::Failed(_) | TaskState::Handled(_)
            );
            (task.dispatch.is_some() || (for_hooks > 0 && has_failed)) && task.shares()
        };
        let mut sharers = superstep.tasks.iter().filter(|task| takes_part(task)).count() as u64;
        for task in superstep.tasks.iter_mut().filter(|task| takes_part(task)) {
            let node = self.graph.node(superstep.activated[task.activated].node);
            let attempts =
                u64::from(node.retry.max_attempts.saturating_sub(task.start.attempts).max(1)) + retries;
            let of_item = task.dispatch.as_ref().map_or(0, |dispatch| dispatch.limits.fuel);
            let wanted =
                of_item.saturating_mul(attempts).saturating_add(for_hooks.saturating_mul(1 + retries));
            let share = wanted.min(left / sharers);
            task.reserved = share.saturating_sub(task.used.fuel.saturating_sub(task.start.used.fuel));
            left -= share;
            let of_item =
                task.dispatch.as_ref().map_or(HostUse::default(), |dispatch| dispatch.limits.host());
            let wanted = of_item.times(attempts).plus(host_for_hooks.times(1 + retries));
            let share = wanted.min(host_left.share(sharers));
            task.reserved_host = share.less(task.used.host.less(task.start.used.host));
            host_left = host_left.less(share);
            sharers -= 1;
        }
    }

    /// What all hooks may use that are asked about one failure, and how often they may have a task tried again.
    fn fuel_of_error_hooks(&self) -> (u64, HostUse, u64) {
        let (mut fuel, mut host, mut retries) = (0_u64, HostUse::default(), 0);
        for hook in self.hooks_at(HookEvent::Error) {
            let most = |control: Control| match control.action {
                ControlAction::Retry => u64::from(control.max_retries.unwrap_or(MAX_RETRIES)),
                _ => 0,
            };
            let more = match &hook.action {
                HookAction::Nothing => 0,
                HookAction::Control(control) => most(*control),
                HookAction::Item(action) => {
                    let id = action.item_id.literal().and_then(Value::as_str).unwrap_or_default();
                    if is_control_item(action.primary, action.item_type, id) {
                        let written = action.params.literal().and_then(|params| Control::read(params).ok());
                        written.flatten().map_or(u64::from(MAX_RETRIES), most)
                    } else {
                        let limits = self.setup.manifest.limits_for(id);
                        let limits = lower(limits, &self.graph.limits, &self.graph.limits);
                        fuel = fuel.saturating_add(limits.fuel);
                        host = host.plus(limits.host());
                        u64::from(MAX_RETRIES)
                    }
                }
            };
            retries = more.max(retries);
        }
        (fuel, host, retries)
    }

    /// Lets the tasks of a node start that may: all of them, or the next item of a serial `foreach`.
    pub(super) fn release_items(&mut self, activated: usize) {
        let keeps_going = self.keeps_going(activated);
        let Some(superstep) = &mut self.superstep else { return };
        let active = &mut superstep.activated[activated];
        let end = active.tasks.end;
        let serial =
            matches!(&self.graph.node(active.node).kind, NodeKind::Foreach(foreach) if !foreach.parallel);
        while active.reached < end {
            let at = active.reached;
            let stops = match &superstep.tasks[at].state {
                TaskState::Waiting => {
                    superstep.ready.insert(at);
                    if serial {
                        return;
                    }
                    false
                }
                TaskState::Running | TaskState::Backoff { .. } | TaskState::Failing { .. } if serial => {
                    return;
                }
                // What comes after a question is reached once it is answered.
                TaskState::Interrupted { .. } | TaskState::Suspended | TaskState::Failed(_) => serial,
                TaskState::Handled(_) => serial && !keeps_going,
                _ => false,
            };
            active.reached += 1;
            if stops {
                for task in &mut superstep.tasks[active.reached..end] {
                    if matches!(task.state, TaskState::Waiting) {
                        task.state = TaskState::NotReached;
                        superstep.open -= 1;
                    }
                }
                active.reached = end;
            }
        }
    }

    /// Whether a handled failure of an item lets the next item of a serial `foreach` run: only where the item's own
    /// rule handled it, not where the node's edge did.
    fn keeps_going(&self, activated: usize) -> bool {
        let Some(superstep) = &self.superstep else { return false };
        match &self.graph.node(superstep.activated[activated].node).kind {
            NodeKind::Foreach(foreach) => foreach.on_item_error != OnItemError::Fail,
            _ => true,
        }
    }

    /// Starts ready tasks, in task order, while there is room.
    pub(super) fn start_ready(&mut self, now: Timestamp, fx: &mut Vec<Effect>) {
        let most = self
            .setup
            .max_concurrency
            .or(self.graph.max_concurrency)
            .map_or(usize::MAX, |most| most as usize);
        loop {
            let Some(superstep) = &mut self.superstep else { return };
            if self.cancel_requested || superstep.running >= most.max(1) {
                return;
            }
            let Some(at) = superstep.ready.pop_first() else { return };
            self.start_task(now, at, fx);
        }
    }

    fn start_task(&mut self, now: Timestamp, at: usize, fx: &mut Vec<Effect>) {
        let Some(superstep) = &mut self.superstep else { return };
        let number = superstep.number;
        let task = &mut superstep.tasks[at];
        task.attempt += 1;
        let attempt = task.attempt;
        let place = task.activated;
        let node_index = superstep.activated[place].node;
        let graph = Arc::clone(&self.graph);
        let node = graph.node(node_index);
        let (Some(dispatch), Some(action)) = (superstep.tasks[at].dispatch.clone(), &node.action) else {
            superstep.tasks[at].state = TaskState::Running;
            superstep.running += 1;
            return self.pass_through(now, at, node, fx);
        };
        let mut warnings = Vec::new();
        let params = {
            let Some(superstep) = &self.superstep else { return };
            let active = &superstep.activated[place];
            let task = &superstep.tasks[at];
            let variable = match &node.kind {
                NodeKind::Foreach(foreach) => Some(foreach.variable.as_str()),
                _ => None,
            };
            let context = self.context(node, active);
            let scope = self.scope(&context, active.argument.as_deref(), variable.zip(task.item.as_deref()));
            self.evaluate(&action.params, &scope, node, &mut warnings)
        };
        let Some(superstep) = &mut self.superstep else { return };
        let active = &superstep.activated[place];
        let (argument, visit) = (active.argument.clone(), active.visit);
        let task = &mut superstep.tasks[at];
        if attempt == 1 {
            task.warnings.append(&mut warnings);
        }
        task.state = TaskState::Running;
        // An attempt of that number that was given up has been told of by now, or never will be.
        if !self.aborted.is_empty() {
            self.aborted.remove(&(Arc::clone(&task.id), attempt));
        }
        superstep.running += 1;
        let params = match params {
            Ok(params) => params,
            Err(failure) => return self.failed(now, at, failure, fx),
        };
        let fuel = dispatch.limits.fuel.min(task.reserved);
        if fuel == 0 {
            let total = self.setup.manifest.run_limits().fuel;
            let message = format!("the run's fuel of {total} is used up");
            return self.failed(now, at, Failure::new(Category::Limit, message), fx);
        }
        let task = &mut superstep.tasks[at];
        // A component that asks nothing of the world runs where nothing of that is left.
        let HostUse { calls, bytes } = dispatch.limits.host().min(task.reserved_host);
        if is_control_item(dispatch.primary, dispatch.item_type, &dispatch.item_id) {
            task.used.dispatches += 1;
            return self.accept(now, at, Outcome::Result(params), fx);
        }
        let identity = &self.setup.identity;
        let seed = self.digests.seed(&task.id);
        let argument = task.item.as_deref().or(argument.as_deref()).cloned();
        let activation = Activation {
            run_id: identity.run.clone(),
            root_run_id: identity.root.clone(),
            parent_run_id: identity.parent.clone(),
            graph_id: graph.id.clone(),
            node_id: node.name.clone(),
            superstep: number,
            task: task.id.to_string(),
            attempt,
            visit,
            argument,
            answers: task.answers.clone(),
            idempotency_key: self.digests.idempotency_key(&task.id),
        };
        let spec = Box::new(TaskSpec {
            path: self.path_of(&node.name),
            graph: Arc::clone(&graph),
            manifest: Arc::clone(&self.setup.manifest),
            node: node_index,
            primary: dispatch.primary,
            item_type: dispatch.item_type,
            item_id: dispatch.item_id.to_string(),
            params,
            activation,
            limits: TaskLimits { fuel, calls, bytes, ..dispatch.limits },
            clock: self.at,
            seed,
        });
        self.dispatch(now, at, node, spec, fx);
    }

    /// The path of nodes from the root graph to a node of this one.
    pub(super) fn path_of(&self, node: &str) -> String {
        if self.path.is_empty() { node.to_owned() } else { format!("{}/{node}", self.path) }
    }

    /// A node without an action: its result is null, and that of a `return` node is its output.
    fn pass_through(&mut self, now: Timestamp, at: usize, node: &Node, fx: &mut Vec<Effect>) {
        let mut warnings = Vec::new();
        let value = match (&node.kind, &self.superstep) {
            (NodeKind::Return { output: Some(output) }, Some(superstep)) => {
                let active = &superstep.activated[superstep.tasks[at].activated];
                let context = self.context(node, active);
                let scope = self.scope(&context, active.argument.as_deref(), None);
                self.evaluate(output, &scope, node, &mut warnings)
            }
            _ => Ok(Value::Null),
        };
        if let Some(superstep) = &mut self.superstep {
            superstep.tasks[at].warnings.append(&mut warnings);
        }
        match value {
            Ok(value) => self.accept(now, at, Outcome::Result(value), fx),
            Err(failure) => self.failed(now, at, failure, fx),
        }
    }

    /// What templates of a node read as `node` and `run`.
    pub(super) fn context(&self, node: &Node, active: &Activated) -> Context {
        if !self.uses_context {
            return Context::default();
        }
        let mut about =
            json!({ "id": node.name, "name": node.name, "visit": active.visit, "metadata": node.metadata });
        if node.feedback {
            about["previous"] = self.previous(node);
        }
        Context { node: about, run: self.run_document() }
    }

    /// What templates read as `run`.
    pub(super) fn run_document(&self) -> Value {
        let identity = &self.setup.identity;
        json!({
            "id": identity.run,
            "root_id": identity.root,
            "parent_id": identity.parent,
            "graph": self.graph.id,
            "superstep": self.step + 1,
            "step": self.step,
        })
    }

    /// What templates of a node read.
    pub(super) fn scope<'a>(
        &'a self,
        context: &'a Context,
        argument: Option<&'a Value>,
        item: Option<(&'a str, &'a Value)>,
    ) -> Scope<'a> {
        let mut scope = Scope::new()
            .with("state", Root::Fields(&self.channels))
            .with("inputs", Root::Value(&self.setup.inputs))
            .with("node", Root::Value(&context.node))
            .with("run", Root::Value(&context.run));
        if let Some(argument) = argument.or(item.map(|(_, value)| value)) {
            scope = scope.with("argument", Root::Value(argument));
        }
        if let Some((name, value)) = item {
            scope = scope.with(name, Root::Value(value));
        }
        scope
    }

    /// Evaluates a template of a node; missing paths become warnings, or the failure that strict templates ask for.
    pub(super) fn evaluate(
        &self,
        template: &crate::template::ValueTemplate,
        scope: &Scope<'_>,
        node: &Node,
        warnings: &mut Vec<String>,
    ) -> Result<Value, Failure> {
        let mut missing = Vec::new();
        let value = template.evaluate(scope, self.graph.templates, &mut missing);
        let strict = self.graph.templates == TemplateMode::Strict;
        for path in missing.into_iter().filter(|_| !strict) {
            warnings.push(format!("node `{}`: `{path}` is missing and read as null", node.name));
        }
        value.map_err(|error: TemplateError| {
            Failure::new(Category::InvalidInput, format!("node `{}`: {error}", node.name))
        })
    }
}

/// What templates read as `node` and `run`.
#[derive(Debug, Default)]
pub(super) struct Context {
    node: Value,
    run: Value,
}

pub(super) fn limit(node: Option<String>, message: String) -> RunError {
    RunError { code: ErrorCode::Limit, category: Some(Category::Limit), message, node }
}

/// The manifest's limits, as far as a node, or else its graph, does not lower them.
pub(super) fn lower(limits: TaskLimits, own: &NodeLimits, graph: &NodeLimits) -> TaskLimits {
    TaskLimits {
        fuel: limits.fuel.min(own.fuel.or(graph.fuel).unwrap_or(u64::MAX)),
        memory: limits.memory.min(own.memory.or(graph.memory).unwrap_or(u64::MAX)),
        timeout: limits.timeout.min(own.timeout.or(graph.timeout).unwrap_or(Duration::MAX)),
        ..limits
    }
}

/// How long to wait before the attempt after `attempt`. Jitter is a draw from the run's seed between half and all of
/// the interval.
pub(super) fn back_off(
    policy: &RetryPolicy,
    attempt: u32,
    seed: &crate::digest::Digest,
    task: &str,
) -> Duration {
    let longest = policy.max_interval.as_secs_f64();
    let mut seconds = policy.initial_interval.as_secs_f64().min(longest);
    // Multiplied step by step: `powi` may differ in its last bit from machine to machine.
    for _ in 1..attempt {
        if seconds >= longest || seconds <= 0.0 {
            break;
        }
        seconds = (seconds * policy.backoff).min(longest);
    }
    let mut wait = Duration::try_from_secs_f64(seconds).unwrap_or(policy.max_interval);
    if policy.jitter {
        let draw = DomainHasher::new("graph-host/jitter/v1")
            .digest(seed)
            .field(task.as_bytes())
            .field(&attempt.to_le_bytes())
            .finish();
        let [a, b, c, d, ..] = *draw.as_bytes();
        let part = f64::from(u32::from_le_bytes([a, b, c, d])) / f64::from(u32::MAX);
        wait = wait.mul_f64(0.5 + part / 2.0);
    }
    Duration::from_millis(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX))
}
