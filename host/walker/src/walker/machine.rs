//! The walker: takes events and returns effects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::budget::node_counts::CheckpointCounts;
use super::budget::run_limits::WalkerLimits;
use super::budget::run_usage::RunUsage;
use super::budget::work_slice::WorkSlice;
use super::event::{Effect, Event, TimerId, Timing};
use super::hooks::calls::Hooks;
use super::phase::{Cause, Phase, PhaseName, RunPhase};
use super::records::position::HistoryPosition;
use super::records::unwritten_changes::{UnwrittenChanges, VisitedNodes};
use super::records::warnings::Warnings;
use super::setup::{HandleError, Setup, Summary, TaskDigests};
use super::state::channels::Channels;
use super::stop::limit_codes::LimitCode;
use super::stop::stop_state::StopState;
use super::tasks::agenda::{Agenda, AgendaStep};
use super::tasks::pending_tasks::PendingTasks;
use super::tasks::result_cache::Answered;
use super::tasks::start::limit;
use super::tasks::superstep::Superstep;
use super::tasks::task::{Dispatch, TaskState};
use crate::graph::{Graph, Node, NodeIndex, NodeKind};
use crate::host_item::HostItem;
use graph_core::capability::Manifest;
use graph_core::digest::{Digest, DomainHasher};
use graph_core::item::{ItemOperation, ItemType};
use graph_core::limits::HostUse;
use graph_core::node::Failure;
use graph_core::policy::Durability;
use graph_core::record::{CanonicalValue, InterruptRecord, RunError, Status, StopLimit, result_hasher};
use graph_core::time::Timestamp;
use graph_core::work::rates;

/// Walks a graph in supersteps.
///
/// Give it [`Event`]s, perform the [`Effect`]s that come back, in order. The same graph, setup and events always give
/// the same effects.
#[derive(Debug)]
pub struct Walker {
    pub(super) graph: Arc<Graph>,
    /// `true` if the graph queries the threads that it has started, or may do so.
    keeps_threads: bool,
    /// Span of the attempts since the parent's task was last reported, those of child runs included.
    took: Timing,
    pub(super) setup: Setup,
    pub(super) digests: TaskDigests,
    /// The path of nodes from the root graph to the one that has started this run; empty for the root graph.
    pub(super) path: String,
    /// The dispatches of the nodes that were active, if they are literal.
    pub(super) dispatches: BTreeMap<NodeIndex, Result<Dispatch, Failure>>,
    /// Manifest for the run's dispatches: its own, with the item rules from its inputs.
    passed_on: Arc<Manifest>,
    /// `true` if any template reads `node` or `run`.
    pub(super) uses_context: bool,
    pub(super) channels: Channels,
    pub(super) inputs_digest: Digest,
    /// The hasher of result digests, after the prefix that all checkpoints with these inputs share.
    pub(super) result_hasher: DomainHasher,
    /// Position in the run's history.
    pub(super) position: HistoryPosition,
    /// Changes that the next checkpoint will contain.
    pub(super) unwritten: UnwrittenChanges,
    pub(super) visited: VisitedNodes,
    pub(super) warnings: Warnings,
    pub(super) agenda: Agenda,
    /// Use so far.
    pub(super) usage: RunUsage,
    /// The limits that hooks and resumes can raise.
    pub(super) limits: WalkerLimits,
    /// The phase, with the superstep that is made, active or committed.
    pub(super) phase: RunPhase,
    pub(super) stop: StopState,
    /// The time of the last event from outside.
    pub(super) event_time: Timestamp,
    /// Work done since that event.
    pub(super) slice: WorkSlice,
    pub(super) pending: PendingTasks,
    pub(super) hooks: Hooks,
    pub(super) aborted: BTreeSet<(Arc<str>, u32)>,
}

impl Walker {
    /// Creates a walker for a new run. Its first event is [`Event::Started`].
    pub fn new(graph: Arc<Graph>, setup: Setup) -> Self {
        let channels = Channels::new(&graph, Arc::clone(&setup.inputs));
        Self::with(graph, setup, channels)
    }

    /// Returns the manifest for this run's dispatches: narrowed by the rules of the agents above and of this graph.
    pub(super) fn passed_on(&self) -> Arc<Manifest> {
        Arc::clone(&self.passed_on)
    }

    /// Updates the fields derived from the inputs and the manifest after either has changed: a restored child run has
    /// another manifest until its task dispatches it.
    pub(super) fn pass_on(&mut self) {
        self.passed_on =
            super::nodes::approvals::passed_on(&self.graph, &self.setup.inputs, &self.setup.manifest);
        self.keeps_threads = keeps_threads(&self.graph, &self.setup);
    }

    pub(super) fn with(graph: Arc<Graph>, mut setup: Setup, channels: Channels) -> Self {
        // In a child run, the limits come from its parent's task.
        if setup.identity.namespace.is_empty() {
            setup.manifest = Arc::new(crate::parameters::allowed(&graph, &setup.inputs, &setup.manifest));
        }
        let inputs_digest = super::setup::inputs_digest(&setup.inputs);
        Self {
            channels,
            digests: TaskDigests::new(&setup),
            dispatches: BTreeMap::new(),
            passed_on: super::nodes::approvals::passed_on(&graph, &setup.inputs, &setup.manifest),
            uses_context: uses_context(&graph),
            inputs_digest,
            result_hasher: result_hasher(&graph.digest, &inputs_digest),
            position: HistoryPosition::default(),
            unwritten: UnwrittenChanges::default(),
            visited: VisitedNodes::new(graph.digest, Vec::new()),
            warnings: Warnings::default(),
            agenda: Agenda::default(),
            usage: RunUsage::new(&graph),
            limits: WalkerLimits::new(setup.max_steps.unwrap_or(graph.max_steps)),
            phase: RunPhase::new(),
            stop: StopState::new(),
            event_time: Timestamp::default(),
            slice: WorkSlice::new(rates::SLICE),
            keeps_threads: keeps_threads(&graph, &setup),
            took: Timing::default(),
            pending: PendingTasks::default(),
            hooks: Hooks::default(),
            aborted: BTreeSet::new(),
            path: String::new(),
            graph,
            setup,
        }
    }

    /// Handles an event that happened at `now` and returns the effects. It does a bounded amount of work
    /// ([`rates::SLICE`](graph_core::work::rates::SLICE), plus the step of work that is then in progress); if there is more to
    /// do, the last effect is [`Effect::Continue`].
    pub fn handle(&mut self, now: Timestamp, event: Event) -> Result<Vec<Effect>, HandleError> {
        self.slice.begin(0);
        self.take(now, event)
    }

    /// Handles an event as [`Self::handle`] does, counting work that was done already since the driver handed over its event.
    pub(super) fn take(&mut self, now: Timestamp, event: Event) -> Result<Vec<Effect>, HandleError> {
        // The driver gets control back after an amount of work, which must not be visible in the records: a continued operation keeps the
        // time at which it began. With `durability: exit`, boundaries are not recorded one by one, so that it is not visible anyway.
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
            Event::ModelReserved { task, attempt, model, name } => {
                self.reserve_model(now, task, attempt, (model, name), &mut fx);
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
            // Running tasks commit; `drive` and `advance` stop the run as soon as none is running.
            Event::CancelRequested => self.request_cancel(),
            Event::KillRequested => self.kill(now, &mut fx),
            Event::Continued => {}
        }
        self.drive(now, &mut fx);
        Ok(fx)
    }

    fn start(&mut self, now: Timestamp, fx: &mut Vec<Effect>) -> Result<(), HandleError> {
        if self.phase.name() != PhaseName::New {
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
        let meter = self.meter(0);
        let begun = self.begin(&meter);
        self.count_work(&meter);
        begun.map_err(|error| HandleError::Refused { code: error.code, message: error.message })?;
        self.position.begin(now);
        self.plan_start();
        fx.push(Effect::SetTimer { timer: TimerId::RunTimeout, at: now.after(self.run_timeout()) });
        self.reach_boundary(fx);
        Ok(())
    }

    /// Returns `true` if the graph queries the threads that it has started, or may do so.
    #[inline]
    pub(super) const fn keeps_threads(&self) -> bool {
        self.keeps_threads
    }

    /// Adds the time of an attempt, or of the attempts of a child run.
    pub(super) fn add_time(&mut self, took: Timing) {
        self.took = self.took.and(took);
    }

    /// Returns the span of the attempts since the last call, and resets it.
    pub(super) fn take_time(&mut self) -> Timing {
        std::mem::take(&mut self.took)
    }

    pub(super) fn run_timeout(&self) -> std::time::Duration {
        self.graph.timeout.min(self.setup.manifest.run_limits().timeout)
    }

    /// Works until an event from outside is needed or the time slice is over. It is a loop and not recursion: nodes
    /// without actions need no event, and there may be many. A change of the phase that was refused breaks the run.
    pub(super) fn drive(&mut self, now: Timestamp, fx: &mut Vec<Effect>) {
        self.work(now, fx);
        if let Some(refused) = self.phase.take_refused() {
            self.break_down_at(refused, fx);
        }
    }

    fn work(&mut self, now: Timestamp, fx: &mut Vec<Effect>) {
        while let Some(work) = self.own_work() {
            if self.slice.is_over() {
                fx.push(Effect::Continue);
                return;
            }
            match work {
                OwnWork::Advance => self.advance(now, fx),
                OwnWork::Make => self.make_more(now, fx),
                OwnWork::Settle => self.settle(now, fx),
                OwnWork::Stop => self.suspend(now, self.stop.stopped_as(), None, fx),
                OwnWork::Start => self.start_ready(now, fx),
                OwnWork::Commit => self.commit_more(now, fx),
                OwnWork::Plan => self.plan_more(fx),
            }
        }
    }

    /// Returns the work that can be done without an event from outside.
    fn own_work(&self) -> Option<OwnWork> {
        match self.phase.now()? {
            Phase::Ready => Some(OwnWork::Advance),
            Phase::Making(_) => Some(OwnWork::Make),
            Phase::Committing(_) => Some(OwnWork::Commit),
            Phase::Planning(_) => Some(OwnWork::Plan),
            Phase::Running(superstep) if superstep.is_settled() => Some(OwnWork::Settle),
            Phase::Running(superstep)
                if self.stop.is_cancel_requested()
                    && superstep.running() == 0
                    && !self.hooks.are_asked_about_tasks() =>
            {
                Some(OwnWork::Stop)
            }
            Phase::Running(_) if self.can_start() => Some(OwnWork::Start),
            _ => None,
        }
    }

    /// Goes from a boundary to the next superstep, or to a stop.
    fn advance(&mut self, now: Timestamp, fx: &mut Vec<Effect>) {
        if self.stop.is_cancel_requested() && self.stop.end().is_none() {
            return self.suspend(now, self.stop.stopped_as(), None, fx);
        }
        if self.ask_at_boundary(now, fx) {
            return;
        }
        if let Some(status) = self.stop.finish() {
            self.phase.enter(Cause::Finish, Phase::Finished);
            fx.push(Effect::Finish(status));
            return;
        }
        if self.stop.is_timed_out() {
            return self.time_out(now, fx);
        }
        if self.agenda.next().is_empty() {
            let error = self.stalled();
            return self.suspend(now, Status::Failed, Some(error), fx);
        }
        if let Some((code, error)) = self.step_limit() {
            return self.stop_at_limit(now, code, error, fx);
        }
        if !self.stop.is_released() {
            let interrupts = self.static_interrupts();
            if !interrupts.is_empty() {
                self.stop.wait_for(interrupts.clone());
                return self.stop_to_ask(now, Status::Interrupted, None, &interrupts, fx);
            }
        }
        self.slice.add(rates::VISIT);
        self.begin_making();
    }

    fn step_limit(&self) -> Option<(LimitCode, RunError)> {
        if self.position.step() >= self.limits.max_steps() {
            let message = format!(
                "{} supersteps have run, which is `max_steps`, and something is next; resume with a larger total",
                self.position.step()
            );
            let error = RunError { limit: Some(StopLimit::MaxSteps), ..limit(None, message) };
            return Some((LimitCode::MaxSteps, error));
        }
        self.tree_limit()
    }

    pub(super) fn static_interrupts(&self) -> Vec<InterruptRecord> {
        let mut interrupts = Vec::new();
        let mut add = |node: &Node, place: String| {
            let payload = CanonicalValue::from(Value::Null);
            interrupts.push(InterruptRecord { budget: None, id: place, node: node.name.clone(), payload });
        };
        let mut named = BTreeSet::new();
        for visited in self.visited.newest() {
            let node = self.graph.node(*visited);
            if node.interrupt.after && named.insert(*visited) {
                add(node, format!("{}/after/{}", self.place(self.position.step()), node.name));
            }
        }
        named.clear();
        for next in self.agenda.next() {
            let node = self.graph.node(next.node());
            if node.interrupt.before && named.insert(next.node()) {
                add(node, format!("{}/before/{}", self.place(self.position.step() + 1), node.name));
            }
        }
        interrupts
    }

    /// Returns the name of a boundary: `namespace/superstep`; the root namespace is left out.
    pub(super) fn place(&self, superstep: u64) -> String {
        match self.setup.identity.namespace.as_str() {
            "" => superstep.to_string(),
            namespace => format!("{namespace}/{superstep}"),
        }
    }

    fn timer(&mut self, now: Timestamp, timer: &TimerId, fx: &mut Vec<Effect>) {
        match timer {
            TimerId::RunTimeout => match self.phase.name() {
                PhaseName::Running | PhaseName::Making | PhaseName::Committing => self.time_out(now, fx),
                PhaseName::Boundary | PhaseName::Hooks | PhaseName::Ready | PhaseName::Planning => {
                    self.stop.set_timed_out(true);
                }
                _ => {}
            },
            // The tree keeps the time of child runs.
            TimerId::ChildTimeout { .. } => {}
            TimerId::Retry { task, attempt } => {
                if self.phase.name() != PhaseName::Running {
                    return;
                }
                let Some(superstep) = self.phase.superstep_mut() else { return };
                let Some(at) = superstep.find(task) else { return };
                let found = superstep.task_mut(at);
                if matches!(found.state(), TaskState::Backoff { .. }) && found.attempt() + 1 == *attempt {
                    found.enter(TaskState::Waiting);
                    superstep.make_ready(at);
                    self.start_ready(now, fx);
                }
            }
        }
    }

    /// Returns the fuel used by all tasks so far, those of the active superstep included.
    pub(super) fn all_fuel(&self) -> u64 {
        let under_way =
            self.phase.superstep().into_iter().flat_map(Superstep::tasks).map(|task| task.used().fuel);
        self.pending.fuel_after(under_way.fold(self.fuel_so_far(), u64::saturating_add))
    }

    /// Returns the use of the host by all tasks so far, those of the active superstep included.
    pub(super) fn all_host(&self) -> HostUse {
        let under_way =
            self.phase.superstep().into_iter().flat_map(Superstep::tasks).map(|task| task.used().host);
        under_way.fold(self.host_so_far().plus(self.pending.host()), HostUse::plus)
    }

    /// Returns the next nodes, in task order. If the run has failed or is interrupted, nodes whose tasks have ended are left
    /// out, since they do not run again; a `foreach` is never left out, and if only the commit remains, all nodes are next.
    fn not_run(&self) -> Vec<NodeIndex> {
        let next = || self.agenda.next().iter().map(AgendaStep::node);
        // If a run stops before its superstep has settled, the tasks that have ended depend on the order in which they finish.
        if !matches!(self.stop.status(), Status::Failed | Status::Interrupted | Status::Waiting) {
            return next().collect();
        }
        let has_one_task = |node: NodeIndex| !matches!(self.graph.node(node).kind, NodeKind::Foreach(_));
        let mut over: BTreeMap<NodeIndex, usize> = BTreeMap::new();
        for left in self.pending.tasks().filter(|left| left.is_settled() && has_one_task(left.node())) {
            *over.entry(left.node()).or_default() += 1;
        }
        let is_left = |node: &NodeIndex| match over.get_mut(node) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        };
        let left: Vec<NodeIndex> = next().filter(is_left).collect();
        if left.is_empty() { next().collect() } else { left }
    }

    /// Returns the present state of the run.
    pub fn summary(&self) -> Summary {
        let mut node_counts = self.usage.node_counts().clone();
        let mut host = self.host_so_far();
        if let Some(superstep) = self.phase.superstep() {
            for task in superstep.tasks() {
                let counts = node_counts.get_mut(superstep.node_of(task));
                counts.executions += u64::from(task.used().dispatches);
                counts.cached += u64::from(task.caching().hit().is_some());
                counts.failed += u64::from(matches!(task.state(), TaskState::Handled(_)));
                host = host.plus(task.used().host);
            }
        }
        for left in self.pending.tasks() {
            let counts = node_counts.get_mut(left.node());
            counts.executions += u64::from(left.used().dispatches);
            counts.cached += u64::from(left.is_cached());
            counts.failed += u64::from(left.is_handled());
            host = host.plus(left.used().host);
        }
        let CheckpointCounts { executions, cached, failed, .. } = node_counts.all(&self.graph);
        let name = |node: NodeIndex| self.graph.node(node).name.clone();
        Summary {
            status: self.stop.status(),
            ended_by: self.stop.end().map(|end| end.ended_by),
            limit_reached: self.stop.end().is_some_and(|end| end.limit_reached),
            state: self.channels.to_map(),
            output: self.stop.end().map(|end| Arc::clone(&end.output.0)),
            inputs: Arc::clone(&self.setup.inputs),
            steps: self.position.step(),
            visited_digest: self.visited.digest(),
            executions,
            cached,
            failed,
            next: self.not_run().into_iter().map(name).collect(),
            interrupts: self.stop.interrupts().to_vec(),
            error: self.stop.error().cloned(),
            warnings: self.warnings.all().to_vec(),
            fuel: self.all_fuel(),
            host,
            checkpoint: self.position.last().copied(),
        }
    }
}

/// Work of a walker that needs no event from outside.
#[derive(Clone, Copy, Debug)]
enum OwnWork {
    /// Go from a boundary to the next superstep, or to a stop.
    Advance,
    Make,
    Settle,
    /// Stop: a stop was requested and no task is running.
    Stop,
    Start,
    Commit,
    Plan,
}

/// Checks whether results of threads are kept: the graph names the item that queries them, or a template may name it
/// and the manifest permits its dispatch.
fn keeps_threads(graph: &Graph, setup: &Setup) -> bool {
    let asks = HostItem::Threads;
    let may = || setup.manifest.dispatch().permits(ItemOperation::Execute, ItemType::Tool, asks.id());
    asks.is_named_in(graph) || (asks.may_be_in(graph) && may())
}

fn uses_context(graph: &Graph) -> bool {
    graph.nodes.iter().any(|node| {
        let mut templates: Vec<&graph_core::template::ValueTemplate> =
            node.assign.iter().map(|write| &write.value).collect();
        if let Some(action) = &node.action {
            templates.extend([&action.item_id, &action.params]);
        }
        templates.extend(node.cache.iter().filter_map(|policy| policy.key.as_ref()));
        templates.extend(node.bounds.iter());
        match &node.kind {
            NodeKind::Foreach(foreach) => templates.push(&foreach.over),
            NodeKind::Return { output: Some(output) } => templates.push(output),
            NodeKind::Ask { question, .. } => templates.push(question),
            NodeKind::Fail(value) | NodeKind::Wait(value) => templates.push(value),
            NodeKind::Return { output: None } | NodeKind::Default => {}
        }
        templates
            .into_iter()
            .any(|template| template.paths().any(|used| matches!(used.path.root(), "node" | "run")))
    })
}

pub(super) fn illegal(reason: &str) -> HandleError {
    HandleError::Illegal { reason: reason.to_owned() }
}
