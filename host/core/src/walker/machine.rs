//! The walker itself: events in, effects out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::cache::Answered;
use super::channels::Channels;
use super::commit::{Committing, keep_warnings};
use super::event::{Effect, Event, Notice, PersistId, TimerId};
use super::hook_context::Planning;
use super::hook_verdict::LimitCode;
use super::hooks::Hooks;
use super::make::Making;
use super::permits::Prepared;
use super::routes::{Fired, Step};
use super::schedule::limit;
use super::setup::{CheckpointRef, HandleError, Setup, Summary, TaskDigests};
use super::superstep::{Pending, Superstep, TaskState};
use super::tallies::{Counted, Tallies};
use super::telling::Telling;
use crate::digest::{Digest, DomainHasher};
use crate::graph::{Durability, Graph, Node, NodeIndex, NodeKind};
use crate::limits::HostUse;
use crate::record::{
    Accepted, CacheEntry, Canonical, CheckpointPlace, Delta, End, InterruptRecord, RunError, Source, Status,
    TaskSummary, result_hasher,
};
use crate::time::Timestamp;
use crate::work::rates;

/// What the message of a run that has stopped for lack of time begins with.
pub const TIME_LIMIT: &str = "the run's time limit";

/// Walks a graph in supersteps.
///
/// Give it [`Event`]s, perform the [`Effect`]s that come back, in order. The same graph, setup and events always give
/// the same effects.
#[derive(Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own about the run, and any may hold beside any"
)]
pub struct Walker {
    pub(super) graph: Arc<Graph>,
    pub(super) setup: Setup,
    pub(super) digests: TaskDigests,
    /// The path of nodes from the root graph to the one that has started this run; empty for the root graph.
    pub(super) path: String,
    pub(super) prepared: Vec<Prepared>,
    /// Whether any template reads `node` or `run`.
    pub(super) uses_context: bool,
    pub(super) channels: Channels,
    pub(super) inputs_digest: Digest,
    /// What the result digests of all checkpoints with these inputs begin with.
    pub(super) result_hasher: DomainHasher,
    /// The number of the newest boundary.
    pub(super) sequence: u64,
    /// Supersteps committed.
    pub(super) step: u64,
    /// The recorded time of the newest boundary.
    pub(super) at: Timestamp,
    /// The newest checkpoint that was handed out to be persisted.
    pub(super) last: Option<CheckpointRef>,
    /// What it builds on; without it, the next checkpoint is whole.
    pub(super) line: Option<Delta>,
    /// A boundary has been made that no checkpoint holds yet, with what made it.
    pub(super) unwritten: Option<Source>,
    pub(super) next: Vec<Step>,
    pub(super) deferred: Vec<Step>,
    /// For each barrier, which of its nodes have arrived.
    pub(super) barriers: BTreeMap<NodeIndex, BTreeSet<NodeIndex>>,
    /// What is counted of each node.
    pub(super) tallies: Tallies,
    pub(super) visited_digest: Digest,
    /// The nodes that were visited since the newest checkpoint. Those before are in the checkpoints.
    pub(super) visited: Vec<NodeIndex>,
    /// The nodes of the last superstep, for `interrupt: after`.
    pub(super) just_visited: Vec<NodeIndex>,
    /// Results that no checkpoint has brought yet, by what they are found by.
    pub(super) results: BTreeMap<Digest, CacheEntry>,
    pub(super) fuel: u64,
    /// What everything that has committed used of the host.
    pub(super) host: HostUse,
    /// Fuel of the host's work since the newest boundary, that for tasks apart.
    pub(super) work: u64,
    /// Fuel of the host's work since the driver handed over the last event.
    pub(super) slice: u64,
    /// When the last thing happened outside.
    pub(super) event_time: Timestamp,
    /// How much of it may be done before control goes back to the driver.
    pub(super) slice_length: u64,
    /// What was stored when the newest checkpoint was handed out.
    pub(super) stored_so_far: u64,
    /// How many slices of work may still pass before a stop that was asked for is made.
    pub(super) patience: u32,
    /// Supersteps that child runs have taken, at any depth, as far as the superstep of their task has committed.
    pub(super) child_steps: u64,
    /// For a child run: how many supersteps it and the runs below it may take together.
    pub(super) step_share: Option<u64>,
    /// For a child run: how much fuel the components of it and of the runs below it may use together, where a node above says
    /// so. The host's own work is no part of that.
    pub(super) fuel_share: Option<u64>,
    /// For a child run: which dispatch of its parent's task it runs for, from 1.
    pub(super) dispatch: u32,
    pub(super) tasks_unwritten: Vec<TaskSummary>,
    pub(super) fired_unwritten: Fired,
    /// What the next checkpoint tells of its superstep.
    pub(super) telling: Telling,
    pub(super) warnings: Vec<String>,
    /// How many of `warnings` checkpoints hold.
    pub(super) warnings_written: usize,
    /// The newest checkpoint on the way here that raised warnings.
    pub(super) warned: Option<CheckpointPlace>,
    pub(super) errors_continued: bool,
    pub(super) end: Option<End>,
    pub(super) max_steps: u64,
    pub(super) superstep: Option<Superstep>,
    /// The superstep whose tasks are being made.
    pub(super) making: Option<Box<Making>>,
    /// The superstep that commits.
    pub(super) committing: Option<Box<Committing>>,
    /// The superstep that has committed, while it is worked out which hooks follow.
    pub(super) planning: Option<Box<Planning>>,
    pub(super) pending: Pending,
    pub(super) hooks: Hooks,
    pub(super) phase: Phase,
    pub(super) status: Status,
    pub(super) error: Option<RunError>,
    pub(super) interrupts: Vec<InterruptRecord>,
    /// Static interrupts of the newest boundary have been passed.
    pub(super) released: bool,
    /// What was accepted since the newest checkpoint.
    pub(super) accepted: Vec<Accepted>,
    /// The run was under way when it was last heard of: going on takes up nothing that it had not taken up already.
    pub(super) recovered: bool,
    pub(super) cancel_requested: bool,
    /// The stop that was requested discards what is running.
    pub(super) kill_requested: bool,
    pub(super) timed_out: bool,
    pub(super) persists: u64,
    pub(super) aborted: BTreeSet<(Arc<str>, u32)>,
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
    /// The tasks of a superstep are being made.
    Making,
    /// A superstep is under way.
    Running,
    /// A superstep commits.
    Committing,
    /// A superstep has committed, and it is worked out which hooks follow.
    Planning,
    /// Hooks are asked, and nothing else happens.
    Hooks,
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

    pub(super) fn with(graph: Arc<Graph>, mut setup: Setup, channels: Channels) -> Self {
        // Of a child run, its parent's task says what is left to it.
        if setup.identity.namespace.is_empty() {
            setup.manifest = Arc::new(crate::parameters::allowed(&graph, &setup.inputs, &setup.manifest));
        }
        let inputs_digest = super::setup::inputs_digest(&setup.inputs);
        let mut walker = Self {
            channels,
            digests: TaskDigests::new(&setup),
            prepared: Vec::new(),
            uses_context: uses_context(&graph),
            inputs_digest,
            result_hasher: result_hasher(&graph.digest, &inputs_digest),
            sequence: 0,
            step: 0,
            at: Timestamp::default(),
            last: None,
            line: None,
            unwritten: None,
            next: Vec::new(),
            deferred: Vec::new(),
            barriers: BTreeMap::new(),
            tallies: Tallies::new(&graph),
            visited_digest: graph.digest,
            visited: Vec::new(),
            just_visited: Vec::new(),
            results: BTreeMap::new(),
            fuel: 0,
            host: HostUse::default(),
            work: 0,
            slice: 0,
            event_time: Timestamp::default(),
            slice_length: rates::SLICE,
            stored_so_far: 0,
            patience: 0,
            child_steps: 0,
            step_share: None,
            fuel_share: None,
            dispatch: 0,
            tasks_unwritten: Vec::new(),
            fired_unwritten: Fired::new(),
            telling: Telling::default(),
            warnings: Vec::new(),
            warnings_written: 0,
            warned: None,
            errors_continued: false,
            end: None,
            max_steps: setup.max_steps.unwrap_or(graph.max_steps),
            superstep: None,
            making: None,
            committing: None,
            planning: None,
            pending: Pending::default(),
            hooks: Hooks::default(),
            phase: Phase::New,
            status: Status::Running,
            error: None,
            interrupts: Vec::new(),
            released: false,
            accepted: Vec::new(),
            recovered: false,
            cancel_requested: false,
            kill_requested: false,
            timed_out: false,
            persists: 0,
            aborted: BTreeSet::new(),
            path: String::new(),
            graph,
            setup,
        };
        walker.prepared = walker.graph.nodes.iter().map(|node| walker.prepare(node)).collect();
        walker
    }

    /// Takes an event that happened at `now` and says what is to be done. It does a bounded amount of work
    /// ([`rates::SLICE`](crate::work::rates::SLICE), and the step of work that is under way then); where there is more to do,
    /// the last effect is [`Effect::Continue`].
    pub fn handle(&mut self, now: Timestamp, event: Event) -> Result<Vec<Effect>, HandleError> {
        self.slice = 0;
        self.take(now, event)
    }

    /// As [`Self::handle`], where work has been done already since the driver handed over an event.
    pub(super) fn take(&mut self, now: Timestamp, event: Event) -> Result<Vec<Effect>, HandleError> {
        // How often control goes back and forth depends on how much work there is, and nothing else may show it: what is
        // gone on with happens when it began. Where boundaries are not recorded one by one, nothing shows it anyhow.
        let now = match event {
            Event::Continued if self.setup.durability != Durability::Exit => self.event_time,
            _ => now,
        };
        self.event_time = now;
        let mut fx = Vec::new();
        match event {
            Event::Started => self.start(now, &mut fx)?,
            Event::TaskDone { task, attempt, report } => {
                self.task_done(now, &task, attempt, report, &mut fx)?;
            }
            Event::LookedUp { task, attempt, key, found, trouble } => {
                let found = found.map(|found| *found);
                self.looked_up(now, &task, attempt, Answered { key, found, trouble }, &mut fx)?;
            }
            Event::HookDone { hook, report } => self.hook_done(now, &hook, report, &mut fx)?,
            Event::Persisted(id) => self.persisted(id, &mut fx)?,
            Event::PersistFailed { id, message } => self.persist_failed(id, &message, &mut fx)?,
            Event::Resumed(resume) => self.resume(now, resume, &mut fx)?,
            Event::Updated(update) => self.update(now, *update, &mut fx)?,
            Event::Forked(edit) => self.begin_fork(now, edit, &mut fx)?,
            Event::TimerFired(timer) => self.timer(now, &timer, &mut fx),
            Event::CancelRequested => self.cancel(),
            Event::KillRequested => self.kill(now, &mut fx),
            Event::Continued => {}
        }
        self.drive(now, &mut fx);
        Ok(fx)
    }

    fn start(&mut self, now: Timestamp, fx: &mut Vec<Effect>) -> Result<(), HandleError> {
        if self.phase != Phase::New {
            return Err(illegal("the run has started already"));
        }
        let seeds = std::mem::take(&mut self.setup.initial_state);
        let meter = self.meter(0);
        let seeded = self.channels.seed(seeds, &meter);
        self.count_work(&meter);
        if let Err(error) = seeded {
            let error = self.fold_error(&error);
            return Err(HandleError::Refused { code: error.code, message: error.message });
        }
        self.at = now;
        let meter = self.meter(0);
        let begun = self.begin(&meter);
        self.count_work(&meter);
        begun.map_err(|error| HandleError::Refused { code: error.code, message: error.message })?;
        self.unwritten = Some(Source::Input);
        self.plan_start();
        fx.push(Effect::SetTimer { timer: TimerId::RunTimeout, at: now.after(self.run_timeout()) });
        self.reach_boundary(fx);
        Ok(())
    }

    pub(super) fn run_timeout(&self) -> std::time::Duration {
        self.graph.timeout.min(self.setup.manifest.run_limits().timeout)
    }

    /// Goes on until something has to happen outside, or enough has been done at one time. A loop, not recursion: nodes
    /// without actions need nothing from outside, and there may be many.
    pub(super) fn drive(&mut self, now: Timestamp, fx: &mut Vec<Effect>) {
        while let Some(work) = self.own_work() {
            if self.has_worked_enough() {
                fx.push(Effect::Continue);
                return;
            }
            match work {
                OwnWork::Advance => self.advance(now, fx),
                OwnWork::Make => self.make_more(now, fx),
                OwnWork::Settle => self.settle(now, fx),
                OwnWork::Stop => self.suspend(now, self.stopped_as(), None, fx),
                OwnWork::Start => self.start_ready(now, fx),
                OwnWork::Commit => self.commit_more(now, fx),
                OwnWork::Plan => self.plan_more(fx),
            }
        }
    }

    /// What there is to do without anything from outside.
    fn own_work(&self) -> Option<OwnWork> {
        match self.phase {
            Phase::Ready => Some(OwnWork::Advance),
            Phase::Making => Some(OwnWork::Make),
            Phase::Committing => Some(OwnWork::Commit),
            Phase::Planning => Some(OwnWork::Plan),
            Phase::Running if self.superstep.as_ref().is_some_and(Superstep::is_settled) => {
                Some(OwnWork::Settle)
            }
            Phase::Running if self.cancel_requested && self.running() == 0 && self.hooks.tasks.is_empty() => {
                Some(OwnWork::Stop)
            }
            Phase::Running if self.can_start() => Some(OwnWork::Start),
            _ => None,
        }
    }

    /// Whether it is on its way: neither stopped nor about to stop.
    pub(super) const fn is_under_way(&self) -> bool {
        match self.phase {
            Phase::Boundary(_)
            | Phase::Ready
            | Phase::Making
            | Phase::Running
            | Phase::Committing
            | Phase::Planning
            | Phase::Hooks => true,
            Phase::New | Phase::Suspending(_) | Phase::Suspended | Phase::Finished | Phase::Broken => false,
        }
    }

    /// Whether a superstep is being committed: its channels may hold what is not final.
    pub(super) const fn is_between_boundaries(&self) -> bool {
        matches!(self.phase, Phase::Committing | Phase::Planning)
    }

    fn running(&self) -> usize {
        self.superstep.as_ref().map_or(0, |superstep| superstep.running)
    }

    /// From a boundary to the next superstep, or to a stop.
    fn advance(&mut self, now: Timestamp, fx: &mut Vec<Effect>) {
        if self.cancel_requested && self.end.is_none() {
            return self.suspend(now, self.stopped_as(), None, fx);
        }
        if self.ask_at_boundary(now, fx) {
            return;
        }
        if let Some(end) = &self.end {
            self.status = end.status;
            self.phase = Phase::Finished;
            fx.push(Effect::Finish(self.status));
            return;
        }
        if self.timed_out {
            return self.time_out(now, fx);
        }
        if self.next.is_empty() {
            let error = self.stalled();
            return self.suspend(now, Status::Failed, Some(error), fx);
        }
        if let Some((code, error)) = self.step_limit() {
            return self.stop_at_limit(now, code, error, fx);
        }
        if !self.released {
            let interrupts = self.static_interrupts();
            if !interrupts.is_empty() {
                self.interrupts.clone_from(&interrupts);
                return self.stop_to_ask(now, Status::Interrupted, None, &interrupts, fx);
            }
        }
        self.slice = self.slice.saturating_add(rates::VISIT);
        self.begin_making();
    }

    fn step_limit(&self) -> Option<(LimitCode, RunError)> {
        if self.step >= self.max_steps {
            let message = format!(
                "{} supersteps have run, which is `max_steps`, and something is next; resume with a larger total",
                self.step
            );
            return Some((LimitCode::MaxSteps, limit(None, message)));
        }
        self.tree_limit()
    }

    pub(super) fn static_interrupts(&self) -> Vec<InterruptRecord> {
        let mut interrupts = Vec::new();
        let mut add = |node: &Node, place: String| {
            let payload = Canonical::from(Value::Null);
            interrupts.push(InterruptRecord { id: place, node: node.name.clone(), payload });
        };
        let mut named = BTreeSet::new();
        for visited in &self.just_visited {
            let node = self.graph.node(*visited);
            if node.interrupt.after && named.insert(*visited) {
                add(node, format!("{}/after/{}", self.place(self.step), node.name));
            }
        }
        named.clear();
        for next in &self.next {
            let node = self.graph.node(next.node);
            if node.interrupt.before && named.insert(next.node) {
                add(node, format!("{}/before/{}", self.place(self.step + 1), node.name));
            }
        }
        interrupts
    }

    pub(super) fn place(&self, superstep: u64) -> String {
        match self.setup.identity.namespace.as_str() {
            "" => superstep.to_string(),
            namespace => format!("{namespace}/{superstep}"),
        }
    }

    fn timer(&mut self, now: Timestamp, timer: &TimerId, fx: &mut Vec<Effect>) {
        match timer {
            TimerId::RunTimeout => match self.phase {
                Phase::Running | Phase::Making | Phase::Committing => self.time_out(now, fx),
                Phase::Boundary(_) | Phase::Hooks | Phase::Ready | Phase::Planning => self.timed_out = true,
                _ => {}
            },
            // The tree keeps the time of child runs.
            TimerId::ChildTimeout { .. } => {}
            TimerId::Retry { task, attempt } => {
                if self.phase != Phase::Running {
                    return;
                }
                let Some(superstep) = &mut self.superstep else { return };
                let Some(at) = superstep.find(task) else { return };
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
        self.abandon_work();
        let seconds = self.run_timeout().as_secs_f64();
        let whose =
            if self.graph.timeout <= self.budgets().timeout { "of the graph" } else { "of the manifest" };
        let message = format!(
            "{TIME_LIMIT} of {seconds} s is over (`timeout` {whose}); a resumed run has as much time again"
        );
        let error = limit(None, message);
        self.stop_at_limit(now, LimitCode::Timeout, error, fx);
    }

    /// What is running commits; `drive` and `advance` stop the run as soon as nothing is.
    fn cancel(&mut self) {
        if !matches!(self.phase, Phase::Finished | Phase::Broken) {
            self.cancel_requested = true;
        }
    }

    fn kill(&mut self, now: Timestamp, fx: &mut Vec<Effect>) {
        match self.phase {
            Phase::Running
            | Phase::Ready
            | Phase::Making
            | Phase::Committing
            | Phase::Boundary(_)
            | Phase::Hooks
                if self.end.is_none() || self.phase == Phase::Hooks =>
            {
                self.suspend(now, Status::Killed, None, fx);
            }
            // Nothing is running: the run stops as soon as it would go on.
            Phase::New | Phase::Suspended | Phase::Planning => {
                self.cancel_requested = true;
                self.kill_requested = true;
            }
            _ => {}
        }
    }

    /// The status of a run that is stopped because somebody asked for it.
    pub(super) fn stopped_as(&self) -> Status {
        if self.kill_requested { Status::Killed } else { Status::Cancelled }
    }

    /// Takes back what is being worked out and not final, since the run stops.
    fn abandon_work(&mut self) {
        self.abandon_making();
        self.abandon_commit();
    }

    /// Gives up on everything that is running.
    pub(super) fn abort_all(&mut self, fx: &mut Vec<Effect>) {
        self.abort_hooks(fx);
        let Some(superstep) = &mut self.superstep else { return };
        for task in superstep.tasks.iter_mut().filter(|task| matches!(task.state, TaskState::Running)) {
            fx.push(Effect::Abort { task: Arc::clone(&task.id), attempt: task.attempt });
            self.aborted.insert((Arc::clone(&task.id), task.attempt));
            task.state = TaskState::Waiting;
            task.attempt = task.attempt.saturating_sub(1);
            task.caching.waiting = None;
            superstep.running -= 1;
            superstep.in_flight = superstep.in_flight.saturating_sub(std::mem::take(&mut task.params));
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
        self.abandon_work();
        self.abort_all(fx);
        // What it took to get here and did not come to a boundary is done again by whoever goes on.
        self.work = 0;
        self.cancel_requested = false;
        self.kill_requested = false;
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
                keep_warnings(&mut self.warnings, fresh.cloned());
            }
            self.pending = superstep.into_pending();
            self.interrupts = self.pending.interrupts(&self.graph);
        }
        self.recovered = false;
        self.begin_counting();
        if self.setup.durability == Durability::Exit {
            self.write_hooks(fx);
        }
        if let Some(error) = &error {
            fx.push(Effect::Emit(Notice::Stopped(error.clone())));
        }
        self.status = status;
        self.error = error;
        let id = self.write_status(now, fx);
        self.phase = Phase::Suspending(id);
    }

    /// Fuel that its tasks have used by now, of a superstep under way too.
    pub(super) fn all_fuel(&self) -> u64 {
        let under_way =
            self.superstep.iter().flat_map(|superstep| &superstep.tasks).map(|task| task.used.fuel);
        let left = self.pending.0.values().map(|left| left.used.fuel);
        under_way.chain(left).fold(self.fuel_so_far(), u64::saturating_add)
    }

    /// The run as it stands.
    pub fn summary(&self) -> Summary {
        let mut tallies = self.tallies.clone();
        let mut host = self.host_so_far();
        if let Some(superstep) = &self.superstep {
            for task in &superstep.tasks {
                let counts = tallies.of_mut(superstep.activated[task.activated].node);
                counts.executions += u64::from(task.used.dispatches);
                counts.cached += u64::from(task.caching.hit().is_some());
                host = host.plus(task.used.host);
            }
        }
        for left in self.pending.0.values() {
            tallies.of_mut(left.node).executions += u64::from(left.used.dispatches);
            host = host.plus(left.used.host);
        }
        for node in self.pending.cached() {
            tallies.of_mut(node).cached += 1;
        }
        let Counted { executions, cached, .. } = tallies.all(&self.graph);
        let name = |node: NodeIndex| self.graph.node(node).name.clone();
        Summary {
            status: self.status,
            ended_by: self.end.as_ref().map(|end| end.ended_by),
            limit_reached: self.end.as_ref().is_some_and(|end| end.limit_reached),
            state: self.channels.to_map(),
            output: self.end.as_ref().map(|end| Arc::clone(&end.output.0)),
            inputs: Arc::clone(&self.setup.inputs),
            steps: self.step,
            visited_digest: self.visited_digest,
            executions,
            cached,
            next: self.next.iter().map(|step| name(step.node)).collect(),
            interrupts: self.interrupts.clone(),
            error: self.error.clone(),
            warnings: self.warnings.clone(),
            fuel: self.all_fuel(),
            host,
            checkpoint: self.last,
        }
    }
}

/// What a walker does without anything from outside.
#[derive(Clone, Copy, Debug)]
enum OwnWork {
    /// From a boundary to the next superstep, or to a stop.
    Advance,
    Make,
    Settle,
    /// Nothing is running any more of a run that was asked to stop.
    Stop,
    Start,
    Commit,
    Plan,
}

fn uses_context(graph: &Graph) -> bool {
    graph.nodes.iter().any(|node| {
        let mut templates: Vec<&crate::template::ValueTemplate> =
            node.assign.iter().map(|write| &write.value).collect();
        if let Some(action) = &node.action {
            templates.extend([&action.item_id, &action.params]);
        }
        templates.extend(node.cache.iter().filter_map(|policy| policy.key.as_ref()));
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
