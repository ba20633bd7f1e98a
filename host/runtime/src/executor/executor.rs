//! Performs tasks with components.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use graph_core::capability::{CapabilityKind, DispatchPatterns, EffectiveGrant, Manifest};
use graph_core::digest::Digest;
use graph_core::item::{ItemOperation, ItemType, NodeCapabilities};
use graph_core::limits::{NodeLimits, TaskLimits};
use graph_core::node::{Activation, Category, Failure};
use graph_core::record::{CacheEntry, HostCall, JournalEntry, LogLine, ModelDelta};
use graph_core::time::Timestamp;
use graph_core::trust::ComponentStanding;
use graph_engine::{
    Call, EventRecord, HttpDoubles, Journal, Knowledge, LiveCalls, ModelDoubles, ModelLedger, PreparedNode,
    Services,
};
use graph_store::CheckpointStore;
use graph_walker::graph::{Graph, NodeIndex};
use graph_walker::walker::{CustomEvent, HookSpec, TaskReport, TaskSpec};

use crate::executor::component_calls::Caller;
use crate::executor::item_operations::{ItemOperations, Request};
use crate::executor::ledger::Ledger;
use crate::functions;
use crate::journal::Tape;
use crate::journal::operation_journal as items;
use crate::notice::{Notice, NoticeObserver};
use crate::plan::admission::{Components, LinkedComponent};
use crate::plan::{Plan, PlannedId, Scope};
use crate::project::Project;
use crate::project::knowledge::ProjectKnowledge;
use crate::project::user_home::Home;
use graph_driver::{CallObserver, Reservations, TaskExecutor};

/// Attempts that are expected to take less time than this run on the driver's own thread: spawning a task would cost more.
const BRIEF: Duration = Duration::from_micros(60);
/// Time after the deadline within which the engine ends a call by itself; then the attempt is abandoned.
const GRACE: Duration = Duration::from_millis(100);
/// The weight of the newest call in the moving average of call durations, as a right shift.
const NEWEST: u32 = 2;

/// Opens the knowledge of a project.
pub(crate) fn knowledge_of(project: &Project, home: &Home) -> Arc<dyn Knowledge> {
    Arc::new(ProjectKnowledge::new(project, home))
}

/// Parts of an executor in addition to components and their plan.
#[derive(Clone, Debug)]
pub struct ExecutorParts {
    /// Receives the lines that components log.
    pub notices: Arc<dyn NoticeObserver>,
    /// In a replay, answers calls instead of the world, or limits how often calls of the world are repeated.
    pub tape: Option<Arc<Tape>>,
    /// The store that keeps the text of every item that a task reads.
    pub keeps_texts: Option<Arc<dyn CheckpointStore>>,
    /// The knowledge store of components that are granted knowledge.
    pub knowledge: Option<Arc<dyn Knowledge>>,
    /// Answers HTTP requests instead of the network.
    pub http: Option<Arc<dyn HttpDoubles>>,
    /// Answers requests instead of the language models.
    pub model: Option<Arc<dyn ModelDoubles>>,
}

impl ExecutorParts {
    /// Makes parts without tape, store, knowledge or doubles.
    pub fn bare(notices: Arc<dyn NoticeObserver>) -> Self {
        Self { notices, tape: None, keeps_texts: None, knowledge: None, http: None, model: None }
    }
}

/// Performs tasks with the components of a plan, and with components that templates name while the run is under way.
pub struct ComponentExecutor {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    components: Components,
    item_operations: ItemOperations,
    /// Components that are ready to be called: by graph and narrowing, then by call site and item.
    callable: RwLock<HashMap<Digest, Scopes>>,
    /// Components that are ready to be called by other components.
    callees: RwLock<HashMap<CalleeKey, Arc<CallableItem>>>,
    knowledge: Option<Arc<dyn Knowledge>>,
    http: Option<Arc<dyn HttpDoubles>>,
    model: Option<Arc<dyn ModelDoubles>>,
    notices: Arc<dyn NoticeObserver>,
    /// Receives the calls that components make, for telemetry.
    calls: OnceLock<Arc<dyn CallObserver>>,
    /// Stores reservations of attempts for language models, in the run that the newest driver drives.
    reservations: RwLock<Option<Reservations>>,
    /// In a replay, answers calls instead of the world.
    tape: Option<Arc<Tape>>,
}

/// Key of a component that another one calls: the graph's digest, its narrowing, the call site, the digest of the
/// caller's grant, and the item.
type CalleeKey = (Digest, String, CallSite, Digest, String);

/// The ready components of one graph, by the narrowing of its grants.
type Scopes = HashMap<String, HashMap<(CallSite, String), Arc<CallableItem>>>;

/// The place in a graph where a component is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CallSite {
    Node(NodeIndex),
    /// A hook. All hooks of a graph grant an item the same.
    Hook,
}

impl CallSite {
    /// The restrictions of a grant in the graph itself at this call site: interfaces and items, and the limits.
    pub(crate) fn restrictions(self, graph: &Graph) -> (Option<&NodeCapabilities>, NodeLimits) {
        match self {
            Self::Node(node) => {
                let node = graph.node(node);
                (node.capabilities.as_ref(), node.limits)
            }
            Self::Hook => (None, graph.limits),
        }
    }
}

/// A component that becomes known at its first dispatch by a task, or at a call by another component.
struct Late {
    graph: Arc<Graph>,
    manifest: Arc<Manifest>,
    place: CallSite,
    item: String,
    /// The recorded time of its superstep.
    clock: Timestamp,
    /// Effective grant of the calling component, if a component calls this one.
    caller: Option<Arc<EffectiveGrant>>,
}

impl Late {
    fn of(spec: &TaskSpec, place: CallSite) -> Self {
        let (graph, manifest) = (Arc::clone(&spec.graph), Arc::clone(&spec.manifest));
        Self { graph, manifest, place, item: spec.item_id.clone(), clock: spec.clock, caller: None }
    }
}

/// A component that is linked with its grant and can be called.
pub(crate) struct CallableItem {
    node: PreparedNode,
    /// The effective grant. Its limits may be below those that the manifest and the node give a task.
    grant: Arc<EffectiveGrant>,
    /// Signers that admitted it, and the expiry of their signatures.
    standing: ComponentStanding,
    /// The digest of everything that its results depend on in addition to its params: the component, its grant and the engine.
    performer: Digest,
    /// Moving average of the durations of its calls, in nanoseconds; 0 before the first call.
    expected: AtomicU64,
}

impl CallableItem {
    fn new(prepared: LinkedComponent, engine: &Digest) -> Self {
        let LinkedComponent { node, grant, component, standing } = prepared;
        let performer = CacheEntry::performer(&component, &grant.digest(), engine);
        Self { node, grant: Arc::new(grant), standing, performer, expected: AtomicU64::new(0) }
    }

    /// Returns the failure for a signature that has expired by the recorded time of a superstep; `None` if it is valid.
    pub(crate) fn expired(&self, item: &str, clock: Timestamp) -> Option<Failure> {
        let error = self.standing.expired(item, clock)?;
        Some(Failure::new(Category::Denied, error.to_string()))
    }

    pub(crate) fn node(&self) -> &PreparedNode {
        &self.node
    }

    pub(crate) fn grant(&self) -> Arc<EffectiveGrant> {
        Arc::clone(&self.grant)
    }

    pub(crate) fn limits(&self) -> TaskLimits {
        self.grant.limits
    }
}

impl ComponentExecutor {
    /// Makes an executor over the components that a plan has linked.
    pub fn new(components: Components, plan: Plan, parts: ExecutorParts) -> Self {
        let ExecutorParts { notices, tape, keeps_texts, knowledge, http, model } = parts;
        let mut item_operations = ItemOperations::from_components(&components);
        item_operations.store = keeps_texts;
        // Later reads belong to later supersteps, to which the recorded time of the resumed superstep does not apply.
        item_operations.texts.recorded = None;
        item_operations.pinned =
            plan.texts.into_iter().filter_map(|(key, text)| text.ok().map(|text| (key, text))).collect();
        let mut callable: HashMap<Digest, Scopes> = HashMap::new();
        let engine = components.engine.digest();
        for planned in plan.nodes.into_iter().chain(plan.hooks) {
            if let (PlannedId::Literal(id), Some(node), Some(grant)) =
                (planned.item, planned.linked, planned.grant)
                && let Some(Ok(admitted)) = plan.items.get(&id)
            {
                let standing = admitted.verified.standing().clone();
                let component = *admitted.verified.digest();
                let prepared = LinkedComponent { node, grant, component, standing };
                let Scope { graph, narrowing } = planned.scope;
                let scope = callable.entry(graph).or_default().entry(narrowing).or_default();
                let place =
                    if planned.hook.is_some() { CallSite::Hook } else { CallSite::Node(planned.index) };
                scope.insert((place, id), Arc::new(CallableItem::new(prepared, &engine)));
            }
        }
        let callable = RwLock::new(callable);
        Self {
            shared: Arc::new(Shared {
                components,
                item_operations,
                callable,
                callees: RwLock::default(),
                knowledge,
                http,
                model,
                notices,
                calls: OnceLock::new(),
                reservations: RwLock::default(),
                tape,
            }),
        }
    }

    /// Performs an action of a node or a hook.
    fn dispatch(&self, spec: TaskSpec, place: CallSite) -> BoxFuture<'static, TaskReport> {
        let shared = Arc::clone(&self.shared);
        async move {
            if (spec.operation, spec.item_type) != (ItemOperation::Execute, ItemType::Tool) {
                return shared.with_text(spec, place).await;
            }
            if shared.is_function(&spec) {
                return shared.function(spec, place).await;
            }
            match shared.callable(&spec, place).await {
                // The component was admitted at the start or resume of the run; its signature may have expired by the
                // recorded time of this superstep.
                Ok(callable) => match callable.expired(&spec.item_id, spec.clock) {
                    Some(failure) => TaskReport::new(Err(failure), 0),
                    None => shared.call(&callable, spec, place).await,
                },
                Err(failure) => TaskReport::new(Err(failure), 0),
            }
        }
        .boxed()
    }
}

impl fmt::Debug for ComponentExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ComponentExecutor")
            .field("components", &self.shared.components)
            .finish_non_exhaustive()
    }
}

impl TaskExecutor for ComponentExecutor {
    fn execute(&self, spec: TaskSpec) -> BoxFuture<'static, TaskReport> {
        let place = CallSite::Node(spec.node);
        self.dispatch(spec, place)
    }

    fn prepare(&self, spec: &TaskSpec, is_hook: bool) -> Option<BoxFuture<'static, Result<(), Failure>>> {
        let place = if is_hook { CallSite::Hook } else { CallSite::Node(spec.node) };
        let is_component = (spec.operation, spec.item_type) == (ItemOperation::Execute, ItemType::Tool);
        if !is_component || self.shared.is_function(spec) || self.shared.known(spec, place).is_some() {
            return None;
        }
        let (shared, late) = (Arc::clone(&self.shared), Late::of(spec, place));
        Some(async move { shared.make_ready(late).await.map(drop) }.boxed())
    }

    fn execute_hook(&self, spec: HookSpec) -> BoxFuture<'static, TaskReport> {
        self.dispatch(spec.call, CallSite::Hook)
    }

    fn performer(&self, spec: &TaskSpec) -> BoxFuture<'static, Option<Digest>> {
        let (shared, spec) = (Arc::clone(&self.shared), spec.clone());
        async move {
            // The dependencies of a function's answer are unknown, so it is never cached.
            if shared.is_function(&spec) {
                return None;
            }
            let callable = shared.callable(&spec, CallSite::Node(spec.node)).await.ok()?;
            // Stored results of a component with an expired signature must not be used either.
            callable.expired(&spec.item_id, spec.clock).is_none().then_some(callable.performer)
        }
        .boxed()
    }

    fn is_brief(&self, spec: &TaskSpec) -> bool {
        self.shared.known(spec, CallSite::Node(spec.node)).is_some_and(|callable| {
            let expected = callable.expected.load(Ordering::Relaxed);
            expected > 0 && Duration::from_nanos(expected) < BRIEF
        })
    }

    fn parallelism(&self) -> usize {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        processors.saturating_mul(2)
    }

    fn observe(&self, calls: Arc<dyn CallObserver>) {
        // The first observer is kept: there is one per run.
        let _ = self.shared.calls.set(calls);
    }

    fn reserve_with(&self, reservations: Reservations) {
        *self.shared.reservations.write().unwrap_or_else(PoisonError::into_inner) = Some(reservations);
    }

    fn bound(&self, limits: &TaskLimits) -> Duration {
        // The engine enforces the deadline itself; this bound is for host calls that do not return.
        limits.timeout.saturating_add(GRACE)
    }

    fn timed_out(&self, limits: &TaskLimits) -> TaskReport {
        // The fuel of an abandoned call is unknown: it is charged in full, like a trap.
        let message = format!("it did not answer within {} ms", limits.timeout.as_millis());
        let failure = Failure::new(Category::Timeout, message);
        TaskReport {
            journal: vec![JournalEntry::deadline(&failure)],
            ..TaskReport::new(Err(failure), limits.fuel)
        }
    }
}

/// Reports host calls together with the attempt that made them.
struct Attempt {
    spec: Arc<TaskSpec>,
    calls: Arc<dyn CallObserver>,
    /// `true` if another component called this one: then only the call itself is reported, by its caller.
    is_called: bool,
}

impl graph_engine::OutputObserver for Attempt {
    fn log(&self, _line: &LogLine) {}

    fn event(&self, _event: &EventRecord) {}

    fn call(&self, call: &HostCall) {
        let Activation { task, attempt, .. } = &self.spec.activation;
        if !self.is_called {
            self.calls.host_call(task, *attempt, call);
        }
    }

    fn model_delta(&self, delta: &ModelDelta) {
        self.calls.model_delta(&self.spec, delta);
    }
}

impl Shared {
    fn known(&self, spec: &TaskSpec, place: CallSite) -> Option<Arc<CallableItem>> {
        let callable = self.callable.read().unwrap_or_else(PoisonError::into_inner);
        let scope = callable.get(&spec.graph.digest)?.get(spec.manifest.narrowing())?;
        scope.get(&(place, spec.item_id.clone())).map(Arc::clone)
    }

    /// Returns the component for a task. A component that a template names is looked up at its first dispatch.
    async fn callable(
        self: &Arc<Self>,
        spec: &TaskSpec,
        place: CallSite,
    ) -> Result<Arc<CallableItem>, Failure> {
        if let Some(callable) = self.known(spec, place) {
            return Ok(callable);
        }
        Arc::clone(self).make_ready(Late::of(spec, place)).await
    }

    /// Verifies, compiles and links a component that was not known before the run.
    async fn made_callable(self: &Arc<Self>, late: &Arc<Late>) -> Result<Arc<CallableItem>, Failure> {
        let (shared, late) = (Arc::clone(self), Arc::clone(late));
        let prepared = tokio::task::spawn_blocking(move || {
            let Late { graph, manifest, place, item, clock, caller } = &*late;
            let (capabilities, limits) = place.restrictions(graph);
            shared.components.prepare_late(item, manifest, capabilities, limits, *clock, caller.as_deref())
        });
        let prepared = prepared.await.map_err(|error| {
            Failure::new(Category::Internal, format!("the item could not be loaded: {error}"))
        })?;
        Ok(Arc::new(CallableItem::new(prepared?, &self.components.engine.digest())))
    }

    /// Like [`Self::made_ready`], and keeps the component for further dispatches.
    async fn make_ready(self: Arc<Self>, late: Late) -> Result<Arc<CallableItem>, Failure> {
        let late = Arc::new(late);
        let callable = self.made_callable(&late).await?;
        let mut known = self.callable.write().unwrap_or_else(PoisonError::into_inner);
        let scopes = known.entry(late.graph.digest).or_default();
        let scope = scopes.entry(late.manifest.narrowing().to_owned()).or_default();
        scope.insert((late.place, late.item.clone()), Arc::clone(&callable));
        drop(known);
        Ok(callable)
    }

    /// Checks whether the item is a function of this program, or was one of the program that recorded the run.
    fn is_function(&self, spec: &TaskSpec) -> bool {
        self.components.functions.contains(&spec.item_id)
            || self.tape.as_ref().is_some_and(|tape| {
                tape.entries().first().is_some_and(|entry| entry.interface == functions::UNSANDBOXED)
            })
    }

    /// Performs an attempt with a function of the program; in a replay, the tape answers.
    async fn function(&self, spec: TaskSpec, place: CallSite) -> TaskReport {
        // A function runs outside of the sandbox, so a replay does not repeat it: the tape answers.
        if let Some(tape) = &self.tape {
            return functions::played(tape, &spec);
        }
        let (capabilities, _) = place.restrictions(&spec.graph);
        let trust = &self.components.trust;
        match functions::refusal(&spec.item_id, &spec.manifest, capabilities, trust, spec.clock.into()) {
            Some(refusal) => {
                TaskReport::new(Err(Failure::new(Category::Denied, refusal.message().to_owned())), 0)
            }
            None => self.components.functions.perform(spec).await,
        }
    }

    /// Returns the host services of a call, which its grant restricts further.
    pub(crate) fn services(&self) -> Services {
        Services {
            knowledge: self.knowledge.clone(),
            http: self.http.clone(),
            model: self.model.clone(),
            ..Services::default()
        }
    }

    /// Returns the ledger that reserves the model use of an attempt or a hook; none in a replay.
    pub(crate) fn ledger(&self, spec: &TaskSpec) -> Option<Arc<dyn ModelLedger>> {
        if self.tape.is_some() {
            return None;
        }
        let reservations = self.reservations.read().unwrap_or_else(PoisonError::into_inner);
        Some(Arc::new(Ledger::of(spec, reservations.as_ref()?)))
    }

    /// Returns the observer of a component's calls.
    pub(crate) fn observer(
        &self,
        spec: &Arc<TaskSpec>,
        is_called: bool,
    ) -> Option<Arc<dyn graph_engine::OutputObserver>> {
        let calls = Arc::clone(self.calls.get()?);
        Some(Arc::new(Attempt { spec: Arc::clone(spec), calls, is_called }))
    }

    /// Returns the component that another one calls, granted no more than its caller.
    pub(crate) async fn callee(
        self: &Arc<Self>,
        (spec, place): (&TaskSpec, CallSite),
        item: &str,
        caller: &Arc<EffectiveGrant>,
    ) -> Result<Arc<CallableItem>, Failure> {
        let narrowing = spec.manifest.narrowing().to_owned();
        let key = (spec.graph.digest, narrowing, place, caller.digest(), item.to_owned());
        let known = self.callees.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(callable) = known {
            return Ok(callable);
        }
        let late = Late { item: item.to_owned(), caller: Some(Arc::clone(caller)), ..Late::of(spec, place) };
        let callable = self.made_callable(&Arc::new(late)).await?;
        self.callees.write().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&callable));
        Ok(callable)
    }

    /// Loads, searches or signs an item, or fills a directive in.
    async fn with_text(self: Arc<Self>, spec: TaskSpec, place: CallSite) -> TaskReport {
        let request = items::request(&spec);
        // A replay never signs again, not even if the world answers.
        let played =
            self.tape.as_ref().filter(|tape| !tape.is_live() || spec.operation == ItemOperation::Sign);
        if let Some(tape) = played {
            let operation = (items::ITEMS, spec.operation.as_str());
            return items::played(tape, operation, &request, spec.limits.fuel);
        }
        let operation = spec.operation;
        let mut report = self.text_of_world(spec, place).await;
        report.journal.push(items::entry(items::ITEMS, operation.as_str(), request, &report));
        report
    }

    async fn text_of_world(self: Arc<Self>, spec: TaskSpec, place: CallSite) -> TaskReport {
        let done = tokio::task::spawn_blocking(move || {
            let own = match place {
                CallSite::Node(node) => spec.graph.node(node).capabilities.as_ref(),
                CallSite::Hook => None,
            };
            let own = own.and_then(|own| own.dispatch.as_ref());
            // In a child run, the manifest is already narrowed by its parents.
            let left = spec.manifest.dispatch().clone();
            let own = own.into_iter().chain(spec.narrowing.as_deref());
            let narrowed = own.fold(left, DispatchPatterns::narrowed_by);
            self.item_operations.perform(Request {
                operation: spec.operation,
                item_type: spec.item_type,
                item_id: &spec.item_id,
                params: &spec.params,
                narrowed: Some(&narrowed),
                most_output: spec.limits.output,
            })
        });
        done.await.unwrap_or_else(|error| {
            let message = format!("the item could not be used: {error}");
            TaskReport::new(Err(Failure::new(Category::Internal, message)), 0)
        })
    }

    async fn call(
        self: &Arc<Self>,
        callable: &CallableItem,
        mut spec: TaskSpec,
        place: CallSite,
    ) -> TaskReport {
        let began = Instant::now();
        let played = self.tape.as_ref().filter(|tape| !tape.is_live()).map(|tape| tape.entries());
        // The params are moved to the component: its own calls need only the rest of the task.
        let params = std::mem::take(&mut spec.params);
        let spec = Arc::new(spec);
        let mut services = self.services();
        services.ledger = self.ledger(&spec);
        if callable.grant.kinds.contains(&CapabilityKind::Tools) {
            services.tools = Some(Arc::new(Caller {
                shared: Arc::clone(self),
                spec: Arc::clone(&spec),
                place,
                grant: callable.grant(),
                depth: 0,
                seed: *spec.seed.as_bytes(),
            }));
        }
        let observer = self.observer(&spec, false);
        let spec = &*spec;
        let mut report = callable
            .node
            .call(Call {
                activation: &spec.activation,
                params: Cow::Owned(params),
                seed: *spec.seed.as_bytes(),
                clock: spec.clock,
                limits: spec.limits.min(callable.limits()),
                observer,
                journal: self.journal(played.clone()),
                services,
                depth: 0,
            })
            .await;
        let took = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX).max(1);
        let before = callable.expected.load(Ordering::Relaxed);
        let expected = if before == 0 { took } else { before - (before >> NEWEST) + (took >> NEWEST) };
        callable.expected.store(expected, Ordering::Relaxed);
        for line in &report.logs {
            self.show(spec, line);
        }
        for event in &report.events {
            self.show_event(spec, event);
        }
        match (&self.tape, report.difference.take()) {
            (Some(tape), Some(difference)) => tape.differs(difference),
            // The journal consists of the recorded entries that answered the attempt, unchanged.
            _ => report.journal = played.unwrap_or(report.journal),
        }
        let events = report.events.into_iter();
        TaskReport {
            logs: report.logs,
            events: events.map(|EventRecord { name, payload }| CustomEvent { name, payload }).collect(),
            journal: report.journal,
            work: report.work,
            ..TaskReport::new(report.result, report.fuel_used)
        }
    }

    /// Chooses the source of an attempt's answers: the world, the journal of the replayed attempt, or the world within
    /// the bounds of that journal.
    fn journal(&self, played: Option<Vec<JournalEntry>>) -> Journal {
        match (&self.tape, played) {
            (_, Some(entries)) => Journal::Replay(entries),
            (Some(tape), None) => Journal::Live(LiveCalls { recorded: tape.entries(), sends: tape.sends() }),
            (None, None) => Journal::Record,
        }
    }

    fn show_event(&self, spec: &TaskSpec, event: &EventRecord) {
        let EventRecord { name, payload } = event;
        self.notices.notice(Notice::Event { path: &spec.path, item: spec.item, name, payload });
    }

    pub(crate) fn show(&self, spec: &TaskSpec, line: &LogLine) {
        let LogLine { level, message } = line;
        self.notices.notice(Notice::LogLine { path: &spec.path, item: spec.item, level: *level, message });
    }
}
