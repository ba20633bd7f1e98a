//! The walker itself: events in, effects out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::channels::Channels;
use super::event::{Effect, Event, Notice, Persist, PersistId, TaskReport, TimerId};
use super::routes::Step;
use super::schedule::{Prepared, back_off, limit};
use super::setup::{CheckpointRef, HandleError, Setup, Summary};
use super::superstep::{Activated, Answer, Pending, Superstep, TaskState};
use crate::digest::Digest;
use crate::graph::{Durability, Graph, Node, NodeIndex, NodeKind, OnError, OnItemError};
use crate::node::{Category, Failure, Outcome};
use crate::record::{
    Canonical, Checkpoint, EncodeError, End, ErrorCode, InterruptRecord, PendingOutcome, Record, RunError,
    Source, Status, StatusRecord, TaskRecord, TaskSummary, TaskUse,
};
use crate::time::Timestamp;

/// Walks a graph in supersteps.
///
/// Give it [`Event`]s, perform the [`Effect`]s that come back, in order. The same graph, setup and events always give
/// the same effects.
#[derive(Debug)]
pub struct Walker {
    pub(super) graph: Arc<Graph>,
    pub(super) setup: Setup,
    pub(super) prepared: Vec<Prepared>,
    /// Whether any template reads `node` or `run`.
    pub(super) uses_context: bool,
    pub(super) channels: Channels,
    pub(super) inputs_digest: Digest,
    /// The number of the newest boundary.
    pub(super) sequence: u64,
    /// Supersteps committed.
    pub(super) step: u64,
    /// The recorded time of the newest boundary.
    pub(super) at: Timestamp,
    /// The newest checkpoint that was handed out to be persisted.
    pub(super) last: Option<CheckpointRef>,
    /// A boundary has been made that no checkpoint holds yet, with what made it.
    pub(super) unwritten: Option<Source>,
    pub(super) next: Vec<Step>,
    pub(super) deferred: Vec<Step>,
    /// For each barrier, which of its nodes have arrived.
    pub(super) barriers: BTreeMap<NodeIndex, BTreeSet<NodeIndex>>,
    pub(super) visits: Vec<u64>,
    pub(super) visited_digest: Digest,
    pub(super) visited: Vec<NodeIndex>,
    /// How many of `visited` checkpoints hold.
    pub(super) visited_written: usize,
    /// The nodes of the last superstep, for `interrupt: after`.
    pub(super) just_visited: Vec<NodeIndex>,
    pub(super) executions: Vec<u64>,
    pub(super) fuel: u64,
    pub(super) tasks_unwritten: Vec<TaskSummary>,
    pub(super) warnings: Vec<String>,
    /// How many of `warnings` checkpoints hold.
    pub(super) warnings_written: usize,
    pub(super) errors_continued: bool,
    pub(super) end: Option<End>,
    pub(super) max_steps: u64,
    pub(super) superstep: Option<Superstep>,
    pub(super) pending: Pending,
    pub(super) phase: Phase,
    pub(super) status: Status,
    pub(super) error: Option<RunError>,
    pub(super) interrupts: Vec<InterruptRecord>,
    /// Static interrupts of the newest boundary have been passed.
    pub(super) released: bool,
    pub(super) cancel_requested: bool,
    pub(super) timed_out: bool,
    persists: u64,
    aborted: BTreeSet<(Arc<str>, u32)>,
}

/// Where the walker stands between events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing has happened yet.
    New,
    /// A boundary waits to be persisted.
    Boundary(PersistId),
    /// A superstep may start.
    Ready,
    /// A superstep is under way.
    Running,
    /// A suspension waits to be persisted.
    Suspending(PersistId),
    /// Nothing happens until somebody resumes the run.
    Suspended,
    /// The run has ended.
    Finished,
    /// The store has refused a record.
    Broken,
}

impl Walker {
    /// A walker for a new run. Its first event is [`Event::Started`].
    pub fn new(graph: Arc<Graph>, setup: Setup) -> Self {
        let channels = Channels::new(&graph, Arc::clone(&setup.inputs));
        Self::with(graph, setup, channels)
    }

    pub(super) fn with(graph: Arc<Graph>, setup: Setup, channels: Channels) -> Self {
        let mut walker = Self {
            channels,
            prepared: Vec::new(),
            uses_context: uses_context(&graph),
            inputs_digest: super::setup::inputs_digest(&setup.inputs),
            sequence: 0,
            step: 0,
            at: Timestamp::default(),
            last: None,
            unwritten: None,
            next: Vec::new(),
            deferred: Vec::new(),
            barriers: BTreeMap::new(),
            visits: vec![0; graph.nodes.len()],
            visited_digest: graph.digest,
            visited: Vec::new(),
            visited_written: 0,
            just_visited: Vec::new(),
            executions: vec![0; graph.nodes.len()],
            fuel: 0,
            tasks_unwritten: Vec::new(),
            warnings: Vec::new(),
            warnings_written: 0,
            errors_continued: false,
            end: None,
            max_steps: setup.max_steps.unwrap_or(graph.max_steps),
            superstep: None,
            pending: Pending::default(),
            phase: Phase::New,
            status: Status::Running,
            error: None,
            interrupts: Vec::new(),
            released: false,
            cancel_requested: false,
            timed_out: false,
            persists: 0,
            aborted: BTreeSet::new(),
            graph,
            setup,
        };
        walker.prepared = walker.graph.nodes.iter().map(|node| walker.prepare(node)).collect();
        walker
    }

    /// Takes an event that happened at `now` and says what is to be done.
    pub fn handle(&mut self, now: Timestamp, event: Event) -> Result<Vec<Effect>, HandleError> {
        let mut fx = Vec::new();
        match event {
            Event::Started => self.start(now, &mut fx)?,
            Event::TaskDone { task, attempt, report } => {
                self.task_done(now, &task, attempt, report, &mut fx)?
            }
            Event::Persisted(id) => self.persisted(id, &mut fx)?,
            Event::PersistFailed { id, message } => self.persist_failed(id, message, &mut fx)?,
            Event::Resumed(resume) => self.resume(now, resume, &mut fx)?,
            Event::TimerFired(timer) => self.timer(now, &timer, &mut fx),
            Event::CancelRequested => self.cancel(),
            Event::KillRequested => self.kill(now, &mut fx),
        }
        self.drive(now, &mut fx);
        Ok(fx)
    }

    fn start(&mut self, now: Timestamp, fx: &mut Vec<Effect>) -> Result<(), HandleError> {
        if self.phase != Phase::New {
            return Err(illegal("the run has started already"));
        }
        let seeds = std::mem::take(&mut self.setup.initial_state);
        if let Err(error) = self.channels.seed(seeds) {
            let error = self.fold_error(&error);
            return Err(HandleError::Refused { code: error.code, message: error.message });
        }
        self.at = now;
        self.begin().map_err(|error| HandleError::Refused { code: error.code, message: error.message })?;
        self.unwritten = Some(Source::Input);
        fx.push(Effect::SetTimer { timer: TimerId::RunTimeout, at: now.after(self.run_timeout()) });
        self.reach_boundary(fx);
        Ok(())
    }

    pub(super) fn run_timeout(&self) -> std::time::Duration {
        self.graph.timeout.min(self.setup.manifest.run_limits().timeout)
    }

    /// Goes on until something has to happen outside. A loop, not recursion: nodes without actions need nothing from
    /// outside, and there may be many.
    pub(super) fn drive(&mut self, now: Timestamp, fx: &mut Vec<Effect>) {
        loop {
            match self.phase {
                Phase::Ready => self.advance(now, fx),
                Phase::Running if self.superstep.as_ref().is_some_and(Superstep::is_settled) => {
                    self.settle(now, fx)
                }
                Phase::Running if self.cancel_requested && self.running() == 0 => {
                    self.suspend(now, Status::Cancelled, None, fx);
                }
                _ => return,
            }
        }
    }

    fn running(&self) -> usize {
        self.superstep.as_ref().map_or(0, |superstep| superstep.running)
    }

    /// From a boundary to the next superstep, or to a stop.
    fn advance(&mut self, now: Timestamp, fx: &mut Vec<Effect>) {
        if let Some(end) = &self.end {
            self.status = end.status;
            self.phase = Phase::Finished;
            fx.push(Effect::Finish(self.status));
            return;
        }
        if self.cancel_requested {
            return self.suspend(now, Status::Cancelled, None, fx);
        }
        if self.timed_out {
            return self.time_out(now, fx);
        }
        if self.next.is_empty() {
            let error = self.stalled();
            return self.suspend(now, Status::Failed, Some(error), fx);
        }
        if let Some(error) = self.step_limit() {
            return self.suspend(now, Status::Limit, Some(error), fx);
        }
        if !self.released {
            let interrupts = self.static_interrupts();
            if !interrupts.is_empty() {
                self.interrupts = interrupts;
                return self.suspend(now, Status::Interrupted, None, fx);
            }
        }
        self.phase = Phase::Running;
        if let Err(error) = self.start_superstep(now, fx) {
            self.suspend(now, Status::Limit, Some(error), fx);
        }
    }

    fn step_limit(&self) -> Option<RunError> {
        if self.step >= self.max_steps {
            let message = format!(
                "{} supersteps have run, which is `max_steps`, and something is next; resume with a larger total",
                self.step
            );
            return Some(limit(None, message));
        }
        let total = self.max_total_steps();
        (self.step >= total).then(|| {
            limit(
                None,
                format!(
                    "{} supersteps have run, which is `max_total_steps`, and something is next",
                    self.step
                ),
            )
        })
    }

    /// A total given for this run speaks for the tree too.
    fn max_total_steps(&self) -> u64 {
        self.graph.max_total_steps.max(self.setup.max_steps.unwrap_or(0))
    }

    fn static_interrupts(&self) -> Vec<InterruptRecord> {
        let mut interrupts = Vec::new();
        let mut add = |node: &Node, place: String| {
            let payload = Canonical::from(Value::Null);
            interrupts.push(InterruptRecord { id: place, node: node.name.clone(), payload });
        };
        for node in &self.just_visited {
            let node = self.graph.node(*node);
            if node.interrupt.after {
                add(node, format!("{}/after/{}", self.place(self.step), node.name));
            }
        }
        let mut named = BTreeSet::new();
        for next in &self.next {
            let node = self.graph.node(next.node);
            if node.interrupt.before && named.insert(next.node) {
                add(node, format!("{}/before/{}", self.place(self.step + 1), node.name));
            }
        }
        interrupts
    }

    fn place(&self, superstep: u64) -> String {
        match self.setup.identity.namespace.as_str() {
            "" => superstep.to_string(),
            namespace => format!("{namespace}/{superstep}"),
        }
    }

    fn persisted(&mut self, id: PersistId, fx: &mut Vec<Effect>) -> Result<(), HandleError> {
        if id.0 > self.persists {
            return Err(illegal("nothing with that id was to be persisted"));
        }
        match self.phase {
            Phase::Boundary(wanted) if id >= wanted => self.phase = Phase::Ready,
            Phase::Suspending(wanted) if id >= wanted => {
                self.phase = Phase::Suspended;
                fx.push(Effect::Suspend(self.status));
            }
            _ => {}
        }
        Ok(())
    }

    fn persist_failed(
        &mut self,
        id: PersistId,
        message: String,
        fx: &mut Vec<Effect>,
    ) -> Result<(), HandleError> {
        if id.0 > self.persists {
            return Err(illegal("nothing with that id was to be persisted"));
        }
        self.abort_all(fx);
        self.superstep = None;
        self.status = Status::Failed;
        let error = RunError {
            category: None,
            code: ErrorCode::Storage,
            message: format!("the run could not be stored: {message}"),
            node: None,
        };
        fx.push(Effect::Emit(Notice::Stopped(error.clone())));
        self.error = Some(error);
        self.phase = Phase::Broken;
        fx.push(Effect::Suspend(Status::Failed));
        Ok(())
    }

    fn timer(&mut self, now: Timestamp, timer: &TimerId, fx: &mut Vec<Effect>) {
        match timer {
            TimerId::RunTimeout => match self.phase {
                Phase::Running => self.time_out(now, fx),
                Phase::Boundary(_) => self.timed_out = true,
                _ => {}
            },
            TimerId::Retry { task, attempt } => {
                if self.phase != Phase::Running {
                    return;
                }
                let Some(superstep) = &mut self.superstep else { return };
                let Some(&at) = superstep.by_id.get(task) else { return };
                let found = &mut superstep.tasks[at];
                if matches!(found.state, TaskState::Backoff { .. }) && found.attempt + 1 == *attempt {
                    found.state = TaskState::Waiting;
                    superstep.ready.insert(at);
                    self.start_ready(now, fx);
                }
            }
        }
    }

    fn time_out(&mut self, now: Timestamp, fx: &mut Vec<Effect>) {
        self.timed_out = false;
        let seconds = self.run_timeout().as_secs_f64();
        let error = limit(None, format!("the run's time limit of {seconds} s is over; resume it to go on"));
        self.suspend(now, Status::Limit, Some(error), fx);
    }

    /// What is running commits; `drive` and `advance` stop the run as soon as nothing is.
    fn cancel(&mut self) {
        if !matches!(self.phase, Phase::Finished | Phase::Broken) {
            self.cancel_requested = true;
        }
    }

    fn kill(&mut self, now: Timestamp, fx: &mut Vec<Effect>) {
        match self.phase {
            Phase::Running | Phase::Ready | Phase::Boundary(_) if self.end.is_none() => {
                self.suspend(now, Status::Killed, None, fx);
            }
            _ => {}
        }
    }

    fn task_done(
        &mut self,
        now: Timestamp,
        task: &Arc<str>,
        attempt: u32,
        report: TaskReport,
        fx: &mut Vec<Effect>,
    ) -> Result<(), HandleError> {
        if self.aborted.remove(&(Arc::clone(task), attempt)) {
            return Ok(());
        }
        let Some(superstep) = &mut self.superstep else { return Err(illegal("no superstep is under way")) };
        let Some(&at) = superstep.by_id.get(task) else { return Err(illegal("there is no such task")) };
        let found = &mut superstep.tasks[at];
        if !matches!(found.state, TaskState::Running) || found.attempt != attempt {
            return Err(illegal("that attempt is not running"));
        }
        found.used.fuel = found.used.fuel.saturating_add(report.fuel);
        found.reserved = found.reserved.saturating_sub(report.fuel);
        found.warnings.extend(report.warnings);
        match report.result {
            Ok(outcome) => self.answered(now, at, outcome, fx),
            Err(failure) => self.failed(now, at, failure, fx),
        }
        self.start_ready(now, fx);
        Ok(())
    }

    /// A running attempt has answered.
    pub(super) fn answered(&mut self, now: Timestamp, at: usize, outcome: Outcome, fx: &mut Vec<Effect>) {
        let outcome = match super::rye::unwrap(outcome) {
            Ok(outcome) => outcome,
            Err(failure) => return self.failed(now, at, failure, fx),
        };
        self.accept(now, at, outcome, fx);
    }

    /// Takes an answer, or the value of a node without an action, as it is.
    pub(super) fn accept(&mut self, now: Timestamp, at: usize, outcome: Outcome, fx: &mut Vec<Effect>) {
        let graph = Arc::clone(&self.graph);
        let Some(superstep) = &mut self.superstep else { return };
        let place = superstep.tasks[at].activated;
        let node = graph.node(superstep.activated[place].node);
        if let Outcome::Interrupt(payload) = outcome {
            superstep.tasks[at].state = TaskState::Interrupted { payload: Arc::new(payload) };
            return self.settled(now, at, fx);
        }
        let mut warnings = Vec::new();
        let answer = {
            let Some(superstep) = &self.superstep else { return };
            let item = superstep.tasks[at].item.as_deref();
            self.answer(node, &superstep.activated[place], item, Arc::new(outcome), &mut warnings)
        };
        let Some(superstep) = &mut self.superstep else { return };
        superstep.tasks[at].warnings.append(&mut warnings);
        match answer {
            Ok(answer) => {
                superstep.tasks[at].state = TaskState::Done(answer);
                self.settled(now, at, fx);
            }
            Err(failure) => self.failed(now, at, failure, fx),
        }
    }

    /// Checks an answer against what the node may do, and works out its writes.
    pub(super) fn answer(
        &self,
        node: &Node,
        active: &Activated,
        item: Option<&Value>,
        outcome: Arc<Outcome>,
        warnings: &mut Vec<String>,
    ) -> Result<Answer, Failure> {
        let mut assigned = Vec::new();
        match &*outcome {
            Outcome::Command { update, goto } => {
                self.check_command(
                    node,
                    update.keys().map(String::as_str),
                    goto.iter().map(|goto| &*goto.node),
                )?;
            }
            Outcome::Result(result) => {
                // A `foreach` node assigns once, from the list of its items' results.
                if !node.assign.is_empty() && !matches!(node.kind, NodeKind::Foreach(_)) {
                    assigned = self.assign(node, active, item, result, warnings)?;
                }
            }
            Outcome::Interrupt(_) => {}
        }
        Ok(Answer { outcome, assigned })
    }

    pub(super) fn assign(
        &self,
        node: &Node,
        active: &Activated,
        item: Option<&Value>,
        result: &Value,
        warnings: &mut Vec<String>,
    ) -> Result<Vec<(String, Value)>, Failure> {
        let context = self.context(node, active);
        let variable = match &node.kind {
            NodeKind::Foreach(foreach) => Some(foreach.variable.as_str()),
            _ => None,
        };
        let scope = self
            .scope(&context, active.argument.as_deref(), variable.zip(item))
            .with("result", crate::template::Root::Value(result));
        let values = node.assign.iter().map(|(channel, template)| {
            Ok((channel.clone(), self.evaluate(template, &scope, node, warnings)?))
        });
        values.collect()
    }

    fn check_command<'a>(
        &self,
        node: &Node,
        keys: impl Iterator<Item = &'a str>,
        targets: impl Iterator<Item = &'a str>,
    ) -> Result<(), Failure> {
        let denied = |message: String| Failure::new(Category::Denied, message);
        let empty = crate::graph::CommandGrant::default();
        let grant = node.command.as_ref().unwrap_or(&empty);
        for target in targets {
            let found = self.graph.find(target);
            if found.is_none() {
                return Err(denied(format!(
                    "node `{}` goes to `{target}`, which is not in the graph",
                    node.name
                )));
            }
            if !found.is_some_and(|found| grant.goto.contains(&found)) {
                return Err(denied(format!(
                    "node `{}` goes to `{target}`, which its `command: {{goto: [..]}}` does not list",
                    node.name
                )));
            }
        }
        for key in keys {
            if !grant.write.iter().any(|allowed| allowed == key) {
                return Err(denied(format!(
                    "node `{}` writes `{key}`, which its `command: {{write: [..]}}` does not list",
                    node.name
                )));
            }
        }
        Ok(())
    }

    /// A running attempt has failed: it is tried again, or the graph handles that, or the superstep fails.
    pub(super) fn failed(&mut self, now: Timestamp, at: usize, failure: Failure, fx: &mut Vec<Effect>) {
        let graph = Arc::clone(&self.graph);
        let Some(superstep) = &mut self.superstep else { return };
        let task = &mut superstep.tasks[at];
        let node = graph.node(superstep.activated[task.activated].node);
        let policy = &node.retry;
        let again = task.attempt < policy.max_attempts
            && failure.category != Category::Denied
            && policy.retry_on.contains(&failure.category);
        if again {
            let due = now.after(back_off(policy, task.attempt, &self.setup.seed, &task.id));
            let timer = TimerId::Retry { task: Arc::clone(&task.id), attempt: task.attempt + 1 };
            fx.push(Effect::Emit(Notice::Retrying {
                task: Arc::clone(&task.id),
                node: node.name.clone(),
                attempt: task.attempt + 1,
                due,
                failure: failure.clone(),
            }));
            task.state = TaskState::Backoff { due, failure };
            superstep.running -= 1;
            self.persist_task(now, at, fx);
            fx.push(Effect::SetTimer { timer, at: due });
            return;
        }
        let is_item = task.item.is_some();
        let state = self.give_up(node, failure, is_item);
        if let Some(superstep) = &mut self.superstep {
            superstep.tasks[at].state = state;
        }
        self.settled(now, at, fx);
    }

    /// What a failure that is not tried again makes of its task.
    pub(super) fn give_up(&self, node: &Node, failure: Failure, is_item: bool) -> TaskState {
        let by_item = match &node.kind {
            NodeKind::Foreach(foreach) => is_item && foreach.on_item_error != OnItemError::Fail,
            _ => false,
        };
        if by_item || node.on_error.is_some() || self.graph.on_error == OnError::Continue {
            TaskState::Handled(failure)
        } else {
            TaskState::Failed(failure)
        }
    }

    /// A running task has settled.
    fn settled(&mut self, now: Timestamp, at: usize, fx: &mut Vec<Effect>) {
        let Some(superstep) = &mut self.superstep else { return };
        superstep.running -= 1;
        superstep.open -= 1;
        let task = &superstep.tasks[at];
        let place = task.activated;
        let failure = match &task.state {
            TaskState::Failed(failure) | TaskState::Handled(failure) => Some(failure.clone()),
            _ => None,
        };
        if !matches!(task.state, TaskState::Interrupted { .. }) {
            fx.push(Effect::Emit(Notice::TaskFinished {
                task: Arc::clone(&task.id),
                node: self.graph.node(superstep.activated[place].node).name.clone(),
                attempts: task.attempt,
                fuel: task.used.fuel,
                failure,
            }));
        }
        self.persist_task(now, at, fx);
        if matches!(&self.node_kind(place), Some(NodeKind::Foreach(foreach)) if !foreach.parallel) {
            self.release_items(place);
        }
    }

    fn node_kind(&self, activated: usize) -> Option<&NodeKind> {
        let superstep = self.superstep.as_ref()?;
        Some(&self.graph.node(superstep.activated[activated].node).kind)
    }

    /// Persists what a task has come to, if there is anything to keep.
    pub(super) fn persist_task(&mut self, now: Timestamp, at: usize, fx: &mut Vec<Effect>) {
        if self.setup.durability == Durability::Exit {
            return;
        }
        self.write_task(now, at, fx);
    }

    pub(super) fn write_task(&mut self, now: Timestamp, at: usize, fx: &mut Vec<Effect>) {
        let (Some(superstep), Some(last)) = (&self.superstep, &self.last) else { return };
        let task = &superstep.tasks[at];
        let outcome = match &task.state {
            TaskState::Done(answer) => PendingOutcome::Done { outcome: Arc::clone(&answer.outcome) },
            TaskState::Handled(failure) => PendingOutcome::Handled { failure: failure.clone() },
            TaskState::Interrupted { payload } => PendingOutcome::Interrupted {
                answered: u32::try_from(task.answers.len()).unwrap_or(u32::MAX),
                payload: Canonical(Arc::clone(payload)),
            },
            TaskState::Backoff { due, failure } => {
                PendingOutcome::Retrying { due: *due, failure: failure.clone() }
            }
            TaskState::Waiting | TaskState::Running | TaskState::Failed(_) | TaskState::NotReached => return,
        };
        let record = Record::Task(TaskRecord {
            at: now,
            attempt: task.attempt,
            checkpoint: last.digest,
            dispatches: task.used.dispatches,
            fuel: task.used.fuel,
            namespace: self.setup.identity.namespace.clone(),
            node: self.graph.node(superstep.activated[task.activated].node).name.clone(),
            outcome,
            run: self.setup.identity.run.clone(),
            sequence: last.sequence,
            task: task.id.to_string(),
            warnings: task.warnings.clone(),
        });
        self.persist(record, fx);
    }

    /// Hands a record out to be persisted.
    pub(super) fn persist(&mut self, record: Record, fx: &mut Vec<Effect>) -> PersistId {
        self.persists += 1;
        let id = PersistId(self.persists);
        fx.push(Effect::Persist(Box::new(Persist {
            id,
            record,
            encoded: None,
            step: self.step,
            values: Vec::new(),
        })));
        id
    }

    /// Makes a boundary known: persists it, unless the run's durability leaves that to its end.
    pub(super) fn reach_boundary(&mut self, fx: &mut Vec<Effect>) {
        if self.setup.durability == Durability::Exit && self.end.is_none() {
            self.phase = Phase::Ready;
            return;
        }
        self.phase = match self.write_checkpoint(fx) {
            Ok(id) => Phase::Boundary(id),
            Err(error) => return self.unwritable(&error, fx),
        };
    }

    fn unwritable(&mut self, error: &EncodeError, fx: &mut Vec<Effect>) {
        self.status = Status::Failed;
        self.error = Some(RunError {
            category: None,
            code: ErrorCode::Storage,
            message: error.to_string(),
            node: None,
        });
        self.phase = Phase::Broken;
        fx.push(Effect::Suspend(Status::Failed));
    }

    /// Persists the newest boundary.
    pub(super) fn write_checkpoint(&mut self, fx: &mut Vec<Effect>) -> Result<PersistId, EncodeError> {
        let source = self.unwritten.take().unwrap_or(Source::Superstep);
        let checkpoint = self.checkpoint(source);
        let result_digest = checkpoint.result;
        let record = Record::Checkpoint(Box::new(checkpoint));
        let (body, digest) = record.encode()?;
        self.last = Some(CheckpointRef { sequence: self.sequence, digest, result_digest });
        self.persists += 1;
        let id = PersistId(self.persists);
        let values = self.channels.take_unpersisted();
        let encoded = Some((body, digest));
        fx.push(Effect::Persist(Box::new(Persist { id, record, encoded, step: self.step, values })));
        Ok(id)
    }

    /// Counts by node name; nodes that count nothing are left out.
    fn counted(&self, counts: &[u64]) -> BTreeMap<String, u64> {
        let counted = self.graph.nodes.iter().zip(counts).filter(|(_, count)| **count > 0);
        counted.map(|(node, count)| (node.name.clone(), *count)).collect()
    }

    fn checkpoint(&mut self, source: Source) -> Checkpoint {
        let name = |node: NodeIndex| self.graph.node(node).name.clone();
        let barriers =
            self.barriers.iter().filter(|(_, arrived)| !arrived.is_empty()).map(|(barrier, arrived)| {
                let waits = self.graph.node(*barrier).wait_for.iter();
                (
                    name(*barrier),
                    waits.filter(|node| arrived.contains(node)).map(|node| name(*node)).collect(),
                )
            });
        let mut checkpoint = Checkpoint {
            at: self.at,
            barriers: barriers.collect(),
            channels: self.channels.stamps(),
            deferred: self.deferred.iter().map(|step| step.record(&self.graph)).collect(),
            end: self.end.clone(),
            errors_continued: self.errors_continued,
            executions: self.counted(&self.executions),
            fuel: self.fuel,
            graph: self.graph.digest,
            inputs: self.inputs_digest,
            namespace: self.setup.identity.namespace.clone(),
            next: self.next.iter().map(|step| step.record(&self.graph)).collect(),
            parent: self.last.map(|last| last.digest),
            pins: self.setup.pins,
            result: crate::record::ResultDigest(Digest::from_bytes([0; 32])),
            run: self.setup.identity.run.clone(),
            seed: self.setup.seed,
            sequence: self.sequence,
            source,
            step: self.step,
            tasks: std::mem::take(&mut self.tasks_unwritten),
            visited: self.visited[self.visited_written..].iter().map(|node| name(*node)).collect(),
            visited_digest: self.visited_digest,
            visits: self.counted(&self.visits),
            warnings: self.warnings[self.warnings_written..].to_vec(),
        };
        self.visited_written = self.visited.len();
        self.warnings_written = self.warnings.len();
        checkpoint.result = checkpoint.result_digest();
        checkpoint
    }

    /// Gives up on everything that is running.
    fn abort_all(&mut self, fx: &mut Vec<Effect>) {
        let Some(superstep) = &mut self.superstep else { return };
        for task in superstep.tasks.iter_mut().filter(|task| matches!(task.state, TaskState::Running)) {
            fx.push(Effect::Abort { task: Arc::clone(&task.id), attempt: task.attempt });
            self.aborted.insert((Arc::clone(&task.id), task.attempt));
            task.state = TaskState::Waiting;
            task.attempt = task.attempt.saturating_sub(1);
            superstep.running -= 1;
        }
    }

    /// Stops short of the end: everything that is known is persisted first, then the driver is told.
    pub(super) fn suspend(
        &mut self,
        now: Timestamp,
        status: Status,
        error: Option<RunError>,
        fx: &mut Vec<Effect>,
    ) {
        self.abort_all(fx);
        self.cancel_requested = false;
        if self.unwritten.is_some()
            && let Err(error) = self.write_checkpoint(fx)
        {
            return self.unwritable(&error, fx);
        }
        if self.setup.durability == Durability::Exit {
            for at in 0..self.superstep.as_ref().map_or(0, |superstep| superstep.tasks.len()) {
                self.write_task(now, at, fx);
            }
        }
        if let Some(superstep) = self.superstep.take() {
            for task in &superstep.tasks {
                let fresh = task.warnings.iter().filter(|_| matches!(task.state, TaskState::Failed(_)));
                self.warnings.extend(fresh.cloned());
            }
            self.pending = superstep.into_pending();
            self.interrupts = self.pending.interrupts(&self.graph);
        }
        if self.setup.durability == Durability::Exit {
            let tasks: Vec<Arc<str>> = self.pending.0.keys().cloned().collect();
            for task in &tasks {
                self.write_answers(now, task, fx);
            }
        }
        if let Some(error) = &error {
            fx.push(Effect::Emit(Notice::Stopped(error.clone())));
        }
        self.status = status;
        self.error = error;
        let id = self.write_status(now, fx);
        self.phase = Phase::Suspending(id);
    }

    /// Persists the status as it stands.
    pub(super) fn write_status(&mut self, now: Timestamp, fx: &mut Vec<Effect>) -> PersistId {
        let (checkpoint, sequence) =
            self.last.map_or((Digest::from_bytes([0; 32]), 0), |last| (last.digest, last.sequence));
        let record = Record::Status(StatusRecord {
            at: now,
            checkpoint,
            error: self.error.clone(),
            interrupts: self.interrupts.clone(),
            namespace: self.setup.identity.namespace.clone(),
            released: self.released,
            run: self.setup.identity.run.clone(),
            sequence,
            status: self.status,
            tasks: self.pending_use(),
            warnings: self.warnings[self.warnings_written..].to_vec(),
        });
        self.persist(record, fx)
    }

    fn pending_use(&self) -> BTreeMap<String, TaskUse> {
        let left = self.pending.0.iter().map(|(task, left)| {
            let node = self.graph.node(left.node).name.clone();
            (task.to_string(), TaskUse { dispatches: left.used.dispatches, fuel: left.used.fuel, node })
        });
        left.collect()
    }

    /// The run as it stands.
    pub fn summary(&self) -> Summary {
        let mut executions = self.executions.clone();
        let mut fuel = self.fuel;
        if let Some(superstep) = &self.superstep {
            for task in &superstep.tasks {
                executions[superstep.activated[task.activated].node.0 as usize] +=
                    u64::from(task.used.dispatches);
                fuel = fuel.saturating_add(task.used.fuel);
            }
        }
        for left in self.pending.0.values() {
            executions[left.node.0 as usize] += u64::from(left.used.dispatches);
            fuel = fuel.saturating_add(left.used.fuel);
        }
        let name = |node: NodeIndex| self.graph.node(node).name.clone();
        Summary {
            status: self.status,
            ended_by: self.end.as_ref().map(|end| end.ended_by),
            limit_reached: self.end.as_ref().is_some_and(|end| end.limit_reached),
            state: self.channels.to_map(),
            output: self.end.as_ref().map(|end| Value::clone(&end.output.0)),
            inputs: Arc::clone(&self.setup.inputs),
            steps: self.step,
            visited: self.visited.iter().map(|node| name(*node)).collect(),
            executions: self.counted(&executions),
            next: self.next.iter().map(|step| name(step.node)).collect(),
            interrupts: self.interrupts.clone(),
            error: self.error.clone(),
            warnings: self.warnings.clone(),
            fuel,
            checkpoint: self.last,
        }
    }
}

fn uses_context(graph: &Graph) -> bool {
    graph.nodes.iter().any(|node| {
        let mut templates: Vec<&crate::template::ValueTemplate> =
            node.assign.iter().map(|(_, template)| template).collect();
        if let Some(action) = &node.action {
            templates.extend([&action.item_id, &action.params]);
        }
        match &node.kind {
            NodeKind::Foreach(foreach) => templates.push(&foreach.over),
            NodeKind::Return { output: Some(output) } => templates.push(output),
            _ => {}
        }
        templates
            .into_iter()
            .any(|template| template.paths().any(|used| matches!(used.path.root(), "node" | "run")))
    })
}

pub(super) fn illegal(reason: &str) -> HandleError {
    HandleError::Illegal { reason: reason.to_owned() }
}
