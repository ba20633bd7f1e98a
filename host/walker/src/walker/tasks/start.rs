//! Starts supersteps and the attempts of their tasks.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::compat::rye;
use crate::graph::{Action, Node, NodeKind, RetryPolicy};
use crate::hook::is_control_item;
use crate::host_item::HostItem;
use crate::walker::Walker;
use crate::walker::budget::run_budget::NodeWorkError;
use crate::walker::budget::task_shares::limits_of_attempt;
use crate::walker::event::{Effect, Notice, TaskSpec, TimerId};
use crate::walker::nodes::ask::{AskAnswer, AskResult};
use crate::walker::nodes::scope::ForeachItem;
use crate::walker::nodes::wait::{WaitAnswer, waited};
use crate::walker::phase::{Cause, Phase, PhaseName};
use crate::walker::tasks::pending_tasks::PendingTasks;
use crate::walker::tasks::superstep::{ActivatedNode, Superstep};
use crate::walker::tasks::task::{Dispatch, TaskState, outcome_size};
use crate::walker::tree::child_usage::CHILDREN;
use crate::written_graph;
use graph_core::digest::{Digest, DomainHasher};
use graph_core::item::{ItemOperation, ItemType};
use graph_core::json::canonical_size;
use graph_core::limits::Budget;
use graph_core::node::{Activation, Category, Failure, Outcome};
use graph_core::policy::OnItemError;
use graph_core::question;
use graph_core::question::form_digest;
use graph_core::record::{ErrorCode, RunError};
use graph_core::time::Timestamp;
use graph_core::work::{Meter, rates, size};

/// Memory of the params of running attempts above which no further attempt is started, as [`size`] measures it. A
/// single attempt may have more.
const IN_FLIGHT: u64 = 64 << 20;

/// Memory counted for a running attempt besides its params. It limits running attempts to about two thousand, so that a
/// run that is requested to stop need not wait long for them.
const ATTEMPT: u64 = 32 << 10;

/// Limit of running attempts that read texts: a search may read all items, and a text may have megabytes, whatever the
/// size of the params.
const TEXTS: u64 = 8;

impl Walker {
    /// Starts a superstep whose tasks have been made. `pending` has the records of other tasks, whose use is only counted.
    pub(in crate::walker) fn start_superstep(
        &mut self,
        now: Timestamp,
        mut superstep: Superstep,
        pending: PendingTasks,
        fx: &mut Vec<Effect>,
    ) {
        let number = superstep.number();
        self.count_used(pending);
        self.reserve(&mut superstep);
        self.reserve_steps(&mut superstep);
        fx.push(Effect::Emit(Notice::SuperstepStarted {
            superstep: number,
            nodes: superstep
                .activated()
                .iter()
                .map(|active| self.graph.node(active.node()).name.clone())
                .collect(),
            tasks: superstep.tasks().len() as u64,
        }));
        for task in superstep.tasks() {
            if let TaskState::Backoff { due, .. } = task.state() {
                let timer = TimerId::Retry { task: Arc::clone(task.id()), attempt: task.attempt() + 1 };
                fx.push(Effect::SetTimer { timer, at: *due });
            }
        }
        self.phase.enter(Cause::Start, Phase::Running(Box::new(superstep)));
        for at in 0..self.phase.superstep().map_or(0, |superstep| superstep.activated().len()) {
            self.release_items(at);
        }
        self.ask_about_failures(now, fx);
        self.start_ready(now, fx);
    }

    /// Counts the use of tasks that will not continue.
    pub(in crate::walker) fn count_used(&mut self, left: PendingTasks) {
        for left in left.into_tasks() {
            self.usage.add_task(left.node(), left.used(), left.is_cached(), false);
        }
    }

    /// Lets tasks of a node start: all of them, or the next item of a serial `foreach`.
    pub(in crate::walker) fn release_items(&mut self, activated: usize) {
        let keeps_going = self.keeps_going(activated);
        let Some(superstep) = self.phase.superstep_mut() else { return };
        let node = self.graph.node(superstep.activated()[activated].node());
        let serial = matches!(&node.kind, NodeKind::Foreach(foreach) if !foreach.parallel);
        superstep.release(activated, serial, keeps_going);
    }

    /// Returns `true` if a serial `foreach` continues after a handled failure of an item: only if `on_item_error`
    /// handled it, not the node's error edge.
    fn keeps_going(&self, activated: usize) -> bool {
        let Some(superstep) = self.phase.superstep() else { return false };
        match &self.graph.node(superstep.activated()[activated].node()).kind {
            NodeKind::Foreach(foreach) => foreach.on_item_error != OnItemError::Fail,
            _ => true,
        }
    }

    /// Starts ready tasks, in task order, while there is room and the time slice is not over.
    pub(in crate::walker) fn start_ready(&mut self, now: Timestamp, fx: &mut Vec<Effect>) {
        while self.can_start() && !self.slice.is_over() {
            let Some(superstep) = self.phase.superstep_mut() else { return };
            let Some(at) = superstep.pop_first_ready() else { return };
            self.start_task(now, at, fx);
        }
    }

    /// Returns `true` if a task is ready and there is room for it.
    pub(in crate::walker) fn can_start(&self) -> bool {
        let Some(superstep) = self.phase.superstep() else { return false };
        if !superstep.has_ready()
            || self.stop.is_cancel_requested()
            || self.phase.name() != PhaseName::Running
        {
            return false;
        }
        let most = self.setup.max_concurrency.or(self.graph.max_concurrency);
        let most = most.map_or(usize::MAX, |most| most as usize).max(1);
        // The params of attempts stay in memory until the attempts end.
        superstep.running() < most && (superstep.running() == 0 || superstep.in_flight() < IN_FLIGHT)
    }

    fn start_task(&mut self, now: Timestamp, at: usize, fx: &mut Vec<Effect>) {
        let Some(superstep) = self.phase.superstep_mut() else { return };
        let number = superstep.number();
        let task = superstep.task_mut(at);
        let attempt = task.begin_attempt();
        let place = task.activated();
        let node_index = superstep.activated()[place].node();
        let graph = Arc::clone(&self.graph);
        let node = graph.node(node_index);
        let (Some(dispatch), Some(action)) = (superstep.tasks()[at].dispatch().cloned(), &node.action) else {
            superstep.run(at);
            return self.pass_through(now, at, node, fx);
        };
        let mut warnings = Vec::new();
        let meter = superstep.tasks()[at].account().meter();
        let params = self.params_of(at, node, action, &mut warnings, &meter);
        self.count_task_work(at, meter.spent());
        let Some(superstep) = self.phase.superstep_mut() else { return };
        let active = &superstep.activated()[place];
        let (argument, visit) = (active.argument().cloned(), active.visit());
        let task = superstep.task_mut(at);
        if attempt == 1 {
            task.add_warnings(warnings);
        }
        // If an earlier attempt with that number was abandoned, its end has been reported by now, or never will be.
        if !self.aborted.is_empty() {
            self.aborted.remove(&(Arc::clone(task.id()), attempt));
        }
        superstep.run(at);
        let task = superstep.task_mut(at);
        let params = match params {
            Ok(params) => params,
            Err(error) => return self.end_with_error(now, at, error, fx),
        };
        if task.account().left() == 0 {
            return self.exhaust(now, at, Budget::Fuel, None, fx);
        }
        let fuel = dispatch.limits.fuel.min(task.account().left_to_components());
        if fuel == 0 {
            let failure = self.without_fuel();
            return self.failed(now, at, failure, fx);
        }
        let task = superstep.task_mut(at);
        let limits = limits_of_attempt(task, &dispatch, fuel, &self.setup.manifest.run_limits());
        if let Some(short) = task.answers_mut().take_stopped() {
            return self.end_stopped(now, at, *short, fx);
        }
        if task.answers().has_timed_out() {
            task.account_mut().begin_and_end();
            let failure = crate::walker::nodes::ask::timeout();
            return self.failed(now, at, failure, fx);
        }
        if is_control_item(dispatch.operation, dispatch.item_type, &dispatch.item_id) {
            task.account_mut().begin_and_end();
            return self.accept(now, at, Outcome::Result(params), fx);
        }
        let host_item = HostItem::of_dispatch(dispatch.operation, dispatch.item_type, &dispatch.item_id);
        if let Some(item @ (HostItem::Validate | HostItem::Threads)) = host_item {
            task.account_mut().begin_and_end();
            return self.perform_item(now, at, item, &params, dispatch.limits.output, fx);
        }
        task.account_mut().set_own_work(meter.spent());
        if dispatch.is_graph {
            self.slice.add(rates::CHILD);
        }
        superstep.give_params(at, memory_in_flight(&dispatch, &params));
        let task = &superstep.tasks()[at];
        let identity = &self.setup.identity;
        let seed = self.digests.seed(task.id());
        let argument = task.item().or(argument.as_deref()).cloned();
        let item = task.item().map(|_| superstep.item_place(at));
        let activation = Activation {
            run_id: identity.run.clone(),
            root_run_id: identity.root.clone(),
            parent_run_id: identity.parent.clone(),
            graph_id: graph.id.clone(),
            node_id: node.name.clone(),
            superstep: number,
            task: String::from(&**task.id()),
            attempt,
            visit,
            argument,
            answers: task.answers().counting(),
            idempotency_key: self.digests.idempotency_key(task.id()),
        };
        let spec = Box::new(TaskSpec {
            path: self.path_of(&node.name),
            item,
            graph: Arc::clone(&graph),
            manifest: self.passed_on(),
            node: node_index,
            operation: dispatch.operation,
            item_type: dispatch.item_type,
            item_id: String::from(&*dispatch.item_id),
            params,
            activation,
            limits,
            narrowing: dispatch.narrowing,
            clock: self.position.at(),
            seed,
        });
        self.dispatch(now, at, node, spec, fx);
    }

    /// Performs an item of the host for a task. `most` limits the result, in bytes.
    fn perform_item(
        &mut self,
        now: Timestamp,
        at: usize,
        item: HostItem,
        params: &Value,
        most: u64,
        fx: &mut Vec<Effect>,
    ) {
        let Some(superstep) = self.phase.superstep() else { return };
        let meter = superstep.tasks()[at].account().meter();
        let result = match item {
            HostItem::Threads => self.coordinate(params, &meter),
            // The faults of a document are the result. (A document is run as a child run, not here.)
            HostItem::Validate | HostItem::Run => {
                written_graph::validate(params, self.setup.manifest.dispatch(), &meter)
                    .map_err(NodeWorkError::from)
            }
        };
        self.count_task_work(at, meter.spent());
        match result {
            Ok(result) => {
                let length = canonical_size(&result);
                if length > most {
                    let message =
                        format!("the result has {length} bytes, and the task's limit `output` is {most}");
                    return self.failed(now, at, Failure::new(Category::Limit, message), fx);
                }
                let outcome = Outcome::Result(result);
                self.add_memory(outcome_size(&outcome));
                if self.exceeds_memory() {
                    return self.stop_over_memory(now, fx);
                }
                self.accept(now, at, outcome, fx);
            }
            Err(error) => self.end_with_error(now, at, error, fx),
        }
    }

    /// Returns the state of threads that the run has started.
    fn coordinate(&self, params: &Value, meter: &Meter) -> Result<Value, NodeWorkError> {
        let kept = self.channels.get(rye::THREADS);
        meter.charge_each(kept.and_then(Value::as_array).map_or(0, Vec::len), rates::LOOKUP)?;
        let threads = rye::Threads::new(kept);
        // The ids may be listed, and each result that the params name is copied at most as often as it is named.
        meter.charge_each(threads.len(), size::VALUE)?;
        let one = params.get("thread_id").into_iter();
        for named in params.get("thread_ids").and_then(Value::as_array).into_iter().flatten().chain(one) {
            meter.charge(rates::LOOKUP)?;
            let id = named.as_str().or_else(|| rye::started(named));
            meter.charge(size::of(id.and_then(|id| threads.get(id)).unwrap_or(named)))?;
        }
        Ok(rye::coordinate(params, &threads)?)
    }

    /// Returns the failure of an attempt whose component may use no fuel.
    fn without_fuel(&self) -> Failure {
        let most = self.limits.fuel_share().unwrap_or_default();
        let message = format!("the fuel of {most} that a node above leaves to its graph is used up");
        Failure::new(Category::Limit, message)
    }

    /// Evaluates the params of a task's attempt.
    fn params_of(
        &self,
        at: usize,
        node: &Node,
        action: &Action,
        warnings: &mut Vec<String>,
        meter: &Meter,
    ) -> Result<Value, NodeWorkError> {
        let Some(superstep) = self.phase.superstep() else { return Ok(Value::Null) };
        let task = &superstep.tasks()[at];
        let active = &superstep.activated()[task.activated()];
        self.params(node, active, task.foreach_item(node).as_ref(), action, warnings, meter)
    }

    /// Evaluates the params of an active node, or of one of its items.
    fn params(
        &self,
        node: &Node,
        active: &ActivatedNode,
        item: Option<&ForeachItem<'_>>,
        action: &Action,
        warnings: &mut Vec<String>,
        meter: &Meter,
    ) -> Result<Value, NodeWorkError> {
        meter.charge(rates::TASK)?;
        let argument = item.map(ForeachItem::value).or(active.argument().map(|argument| &**argument));
        meter.charge(argument.map_or(0, size::of))?;
        let context = self.context(node, active, meter)?;
        let scope = self.scope(&context, active.argument().map(|argument| &**argument), item);
        self.evaluate(&action.params, &scope, node, warnings, meter)
    }

    /// Returns the path of nodes from the root graph to a node of this graph.
    pub(in crate::walker) fn path_of(&self, node: &str) -> String {
        if self.path.is_empty() { node.to_owned() } else { format!("{}/{node}", self.path) }
    }

    /// Settles the task of a node without an action. Its result is null, the output of a `return` node, or the answer
    /// or question of an `ask` node; a `fail` node fails.
    fn pass_through(&mut self, now: Timestamp, at: usize, node: &Node, fx: &mut Vec<Effect>) {
        let mut warnings = Vec::new();
        let Some(superstep) = self.phase.superstep() else { return };
        let meter = superstep.tasks()[at].account().meter();
        let active = &superstep.activated()[superstep.tasks()[at].activated()];
        let value = self.value_of_passed(node, active, &mut warnings, &meter);
        let value = match (value, &node.kind) {
            (Ok(value), NodeKind::Ask { timeout, sources, .. }) => {
                let until = timeout.map(|timeout| now.after(timeout));
                let answers = superstep.tasks()[at].answers();
                let question = answers.new_question();
                let answer = answers.newest().map(|answer| AskAnswer {
                    answer,
                    is_expired: answers.is_newest_expired(),
                    asked: question.as_ref().map(|question| &*question.0),
                    form: answers.newest_form(),
                    has_changed: !self.unwritten.accepted().is_empty(),
                });
                crate::walker::nodes::ask::answered(value, *sources, until, answer.as_ref(), &meter)
            }
            (Ok(value), NodeKind::Wait(_)) => {
                let answers = superstep.tasks()[at].answers();
                let is_expired = answers.is_newest_expired();
                let answer = answers.newest().map(|value| WaitAnswer { value, is_expired });
                waited(&value, now, answer.as_ref())
            }
            (Ok(value), NodeKind::Fail(_)) => Err(crate::walker::nodes::ask::failure(value).into()),
            (value, _) => value.map(AskResult::Answer),
        };
        self.count_task_work(at, meter.spent());
        if let Some(superstep) = self.phase.superstep_mut() {
            superstep.task_mut(at).add_warnings(warnings);
        }
        if let (Ok(AskResult::Again(_)), Some(superstep)) = (&value, self.phase.superstep_mut()) {
            superstep.task_mut(at).answers_mut().withdraw();
        }
        match value {
            Ok(asked) => {
                let outcome = match asked {
                    AskResult::Question(question) | AskResult::Again(question) => {
                        Outcome::Interrupt(question)
                    }
                    AskResult::Answer(answer) => Outcome::Result(answer),
                };
                self.add_memory(outcome_size(&outcome));
                if self.exceeds_memory() {
                    return self.stop_over_memory(now, fx);
                }
                self.accept(now, at, outcome, fx);
            }
            Err(error) => self.end_with_error(now, at, error, fx),
        }
    }

    /// Returns `true` if an active node is an `ask` node.
    pub(in crate::walker) fn is_ask(&self, active: &ActivatedNode) -> bool {
        matches!(self.graph.node(active.node()).kind, NodeKind::Ask { .. })
    }

    /// Returns the digest of the present form of an active `ask` node's question; `None` if it cannot be asked or has no form.
    pub(in crate::walker) fn form_now(&self, now: Timestamp, active: &ActivatedNode) -> Option<Digest> {
        let node = self.graph.node(active.node());
        let NodeKind::Ask { timeout, .. } = &node.kind else { return None };
        let asked = self.value_of_passed(node, active, &mut Vec::new(), &Meter::of_one_step()).ok()?;
        form_digest(&question::payload(asked, timeout.map(|timeout| now.after(timeout))))
    }

    fn value_of_passed(
        &self,
        node: &Node,
        active: &ActivatedNode,
        warnings: &mut Vec<String>,
        meter: &Meter,
    ) -> Result<Value, NodeWorkError> {
        meter.charge(rates::TASK)?;
        let (NodeKind::Return { output: Some(output) }
        | NodeKind::Ask { question: output, .. }
        | NodeKind::Fail(output)
        | NodeKind::Wait(output)) = &node.kind
        else {
            return Ok(Value::Null);
        };
        let context = self.context(node, active, meter)?;
        let scope = self.scope(&context, active.argument().map(|argument| &**argument), None);
        self.evaluate(output, &scope, node, warnings, meter)
    }
}

/// Returns the memory counted for a running attempt: at least that of its params.
fn memory_in_flight(dispatch: &Dispatch, params: &Value) -> u64 {
    let mut memory = size::of(params).saturating_add(ATTEMPT);
    if dispatch.is_graph {
        memory = memory.max(IN_FLIGHT / CHILDREN);
    }
    if (dispatch.operation, dispatch.item_type) != (ItemOperation::Execute, ItemType::Tool) {
        memory = memory.max(IN_FLIGHT / TEXTS);
    }
    memory
}

pub(in crate::walker) fn limit(node: Option<String>, message: String) -> RunError {
    RunError { category: Some(Category::Limit), node, ..RunError::new(ErrorCode::Limit, message) }
}

/// Returns the wait before the attempt after `attempt`. Jitter is a draw from the run's seed between half and all of the interval.
pub(in crate::walker) fn back_off(
    policy: &RetryPolicy,
    attempt: u32,
    seed: &graph_core::digest::Digest,
    task: &str,
) -> Duration {
    let longest = policy.max_interval.as_secs_f64();
    let mut seconds = policy.initial_interval.as_secs_f64().min(longest);
    // Multiplies step by step: `powi` may differ in its last bit between machines.
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
