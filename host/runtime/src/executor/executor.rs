//! Performs tasks with components.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use graph_core::capability::{CapabilityKind, DispatchPatterns, EffectiveGrant};
use graph_core::digest::{Digest, DomainHasher};
use graph_core::graph::{Graph, ItemType, NodeCapabilities, NodeIndex, NodeLimits, Primary};
use graph_core::limits::TaskLimits;
use graph_core::node::{Category, Failure};
use graph_core::record::{HostCall, JournalEntry};
use graph_core::time::Timestamp;
use graph_core::trust::Standing;
use graph_core::walker::{CustomEvent, HookSpec, TaskReport, TaskSpec};
use graph_engine::{Call, EventRecord, Journal, Knowledge, LogLine, PreparedNode, Services};
use graph_store::CheckpointStore;

use crate::executor::component_calls::Caller;
use crate::executor::functions;
use crate::executor::item_operations::{Primaries, Request};
use crate::executor::operation_journal as items;
use crate::executor::tape::Tape;
use crate::notice::{Notice, NoticeObserver};
use crate::plan::admission::{Components, LinkedComponent};
use crate::plan::{Plan, PlannedId, Scope};
use crate::project::knowledge::ProjectKnowledge;
use crate::project::user_home::Home;
use graph_driver::{CallObserver, TaskExecutor};

/// An attempt that is over sooner than this is done by the driver's own thread.
const BRIEF: Duration = Duration::from_micros(60);
/// How long the engine has to end a call whose time is over.
const GRACE: Duration = Duration::from_millis(100);
/// The weight of the newest call in what is expected of the next one, as a shift.
const NEWEST: u32 = 2;

/// Performs tasks with the components of a plan, and those that templates name.
pub struct ComponentExecutor {
    shared: Arc<Shared>,
}

pub(crate) struct Shared {
    components: Components,
    primaries: Primaries,
    /// By graph and what is left for it, then by place and item.
    ready: RwLock<HashMap<Digest, Scopes>>,
    /// What was made ready to be called by components, by what asks for it.
    callees: RwLock<HashMap<CalleeKey, Arc<CallableItem>>>,
    knowledge: Option<Arc<dyn Knowledge>>,
    notices: Arc<dyn NoticeObserver>,
    /// Hears of the calls that components make.
    calls: OnceLock<Arc<dyn CallObserver>>,
    /// Answers in the place of the world, in a replay.
    tape: Option<Arc<Tape>>,
}

/// A component that another one calls: the graph, what is left for it, the node, the caller's grant and the item.
type CalleeKey = (Digest, String, CallSite, Digest, String);

/// What was made ready in one graph, by what is left for it.
type Scopes = HashMap<String, HashMap<(CallSite, String), Arc<CallableItem>>>;

/// Where in a graph a component is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CallSite {
    Node(NodeIndex),
    /// At a hook: all of them grant an item the same.
    Hook,
}

impl CallSite {
    /// What the graph leaves there of a grant: the interfaces and items, and the limits.
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

/// A component that is ready to be called.
pub(crate) struct CallableItem {
    node: PreparedNode,
    /// Its grant, whose limits may be below those that the manifest and the node give a task.
    grant: Arc<EffectiveGrant>,
    /// Whose signature it runs by, and until when that counts.
    standing: Standing,
    /// What its results depend on beside what it is given: the component, its grant and the engine.
    performer: Digest,
    /// How long a call takes, in nanoseconds; 0: not known.
    expected: AtomicU64,
}

impl CallableItem {
    fn new(prepared: LinkedComponent, engine: &Digest) -> Self {
        let LinkedComponent { node, grant, component, standing } = prepared;
        let performer = DomainHasher::new("graph-host/performer/v1")
            .digest(&component)
            .digest(&grant.digest())
            .digest(engine)
            .finish();
        Self { node, grant: Arc::new(grant), standing, performer, expected: AtomicU64::new(0) }
    }

    /// Why its signature does not count any more at a superstep of that time; none if it does.
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
    /// Takes over what a plan has linked.
    pub fn new(components: Components, plan: Plan, notices: Arc<dyn NoticeObserver>) -> Self {
        let mut primaries = components.primaries();
        // What is read from now on is read now; the superstep that the run goes on with is over by then.
        primaries.texts.recorded = None;
        primaries.pinned =
            plan.texts.into_iter().filter_map(|(key, text)| text.ok().map(|text| (key, text))).collect();
        let mut ready: HashMap<Digest, Scopes> = HashMap::new();
        let engine = components.engine.digest();
        for planned in plan.nodes.into_iter().chain(plan.hooks) {
            if let (PlannedId::Literal(id), Some(node), Some(grant)) =
                (planned.item, planned.ready, planned.grant)
                && let Some(Ok(admitted)) = plan.items.get(&id)
            {
                let standing = admitted.verified.standing().clone();
                let component = *admitted.verified.digest();
                let prepared = LinkedComponent { node, grant, component, standing };
                let Scope { graph, narrowing } = planned.scope;
                let scope = ready.entry(graph).or_default().entry(narrowing).or_default();
                let place =
                    if planned.hook.is_some() { CallSite::Hook } else { CallSite::Node(planned.index) };
                scope.insert((place, id), Arc::new(CallableItem::new(prepared, &engine)));
            }
        }
        let ready = RwLock::new(ready);
        Self {
            shared: Arc::new(Shared {
                components,
                primaries,
                ready,
                callees: RwLock::default(),
                knowledge: None,
                notices,
                calls: OnceLock::new(),
                tape: None,
            }),
        }
    }

    /// Performs a dispatch of a node or a hook.
    fn dispatch(&self, spec: TaskSpec, place: CallSite) -> BoxFuture<'static, TaskReport> {
        let shared = Arc::clone(&self.shared);
        async move {
            if (spec.primary, spec.item_type) != (Primary::Execute, ItemType::Tool) {
                return shared.with_text(spec, place).await;
            }
            if shared.is_function(&spec) {
                return shared.function(spec, place).await;
            }
            match shared.ready(&spec, place).await {
                // It was let in when the run began, or went on; this superstep may be recorded later than that.
                Ok(ready) => match ready.expired(&spec.item_id, spec.clock) {
                    Some(failure) => TaskReport::new(Err(failure), 0),
                    None => shared.call(&ready, spec, place).await,
                },
                Err(failure) => TaskReport::new(Err(failure), 0),
            }
        }
        .boxed()
    }

    /// Lets a tape answer in the place of the world.
    #[must_use]
    pub fn playing(mut self, tape: Arc<Tape>) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.tape = Some(tape);
        }
        self
    }

    /// Keeps the text of every item that a task reads in this store.
    #[must_use]
    pub fn keeping(mut self, store: Arc<dyn CheckpointStore>) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.primaries.store = Some(store);
        }
        self
    }
}

impl ComponentExecutor {
    /// Lets components that are granted knowledge use that of a project.
    #[must_use]
    pub fn with_knowledge_of(mut self, project: &Path, home: &Home) -> Self {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.knowledge = Some(Arc::new(ProjectKnowledge::of(project, home)));
        }
        self
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

    fn execute_hook(&self, spec: HookSpec) -> BoxFuture<'static, TaskReport> {
        self.dispatch(spec.call, CallSite::Hook)
    }

    fn performer(&self, spec: &TaskSpec) -> BoxFuture<'static, Option<Digest>> {
        let (shared, spec) = (Arc::clone(&self.shared), spec.clone());
        async move {
            // What a function's answer depends on is not known.
            if shared.is_function(&spec) {
                return None;
            }
            let ready = shared.ready(&spec, CallSite::Node(spec.node)).await.ok()?;
            // What would not be let in now has nothing to stand in for it.
            ready.expired(&spec.item_id, spec.clock).is_none().then_some(ready.performer)
        }
        .boxed()
    }

    fn is_brief(&self, spec: &TaskSpec) -> bool {
        self.shared.known(spec, CallSite::Node(spec.node)).is_some_and(|ready| {
            let expected = ready.expected.load(Ordering::Relaxed);
            expected > 0 && Duration::from_nanos(expected) < BRIEF
        })
    }

    fn parallelism(&self) -> usize {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        processors.saturating_mul(2)
    }

    fn observe(&self, calls: Arc<dyn CallObserver>) {
        // Whoever came first is told.
        let _ = self.shared.calls.set(calls);
    }

    fn bound(&self, limits: &TaskLimits) -> Duration {
        // The engine keeps the deadline itself; this is for host calls that do not come back.
        limits.timeout.saturating_add(GRACE)
    }

    fn timed_out(&self, limits: &TaskLimits) -> TaskReport {
        // What a call used up that was given up cannot be known: it is charged in full, as a trap is.
        let message = format!("it did not answer within {} ms", limits.timeout.as_millis());
        let failure = Failure::new(Category::Timeout, message);
        TaskReport {
            journal: vec![JournalEntry::deadline(&failure)],
            ..TaskReport::new(Err(failure), limits.fuel)
        }
    }
}

/// Says which attempt a call of the host belongs to.
struct Attempt {
    task: String,
    number: u32,
    calls: Arc<dyn CallObserver>,
}

impl Attempt {
    fn of(spec: &TaskSpec, calls: &Arc<dyn CallObserver>) -> Arc<dyn graph_engine::Observer> {
        let (task, number) = (spec.activation.task.clone(), spec.activation.attempt);
        Arc::new(Self { task, number, calls: Arc::clone(calls) })
    }
}

impl graph_engine::Observer for Attempt {
    fn log(&self, _line: &LogLine) {}

    fn event(&self, _event: &EventRecord) {}

    fn call(&self, call: &HostCall) {
        self.calls.host_call(&self.task, self.number, call);
    }
}

impl Shared {
    fn known(&self, spec: &TaskSpec, place: CallSite) -> Option<Arc<CallableItem>> {
        let ready = self.ready.read().unwrap_or_else(PoisonError::into_inner);
        let scope = ready.get(&spec.graph.digest)?.get(spec.manifest.narrowing())?;
        scope.get(&(place, spec.item_id.clone())).map(Arc::clone)
    }

    /// The component for a task; one that a template names is looked up the first time.
    async fn ready(self: &Arc<Self>, spec: &TaskSpec, place: CallSite) -> Result<Arc<CallableItem>, Failure> {
        if let Some(ready) = self.known(spec, place) {
            return Ok(ready);
        }
        let (shared, item) = (Arc::clone(self), spec.item_id.clone());
        let (graph, manifest) = (Arc::clone(&spec.graph), Arc::clone(&spec.manifest));
        let clock = spec.clock;
        let prepared = tokio::task::spawn_blocking(move || {
            let (capabilities, limits) = place.restrictions(&graph);
            shared.components.prepare_late(&item, &manifest, capabilities, limits, clock, None)
        })
        .await
        .map_err(|error| {
            Failure::new(Category::Internal, format!("the item could not be loaded: {error}"))
        })??;
        let ready = Arc::new(CallableItem::new(prepared, &self.components.engine.digest()));
        let mut known = self.ready.write().unwrap_or_else(PoisonError::into_inner);
        let scopes = known.entry(spec.graph.digest).or_default();
        let scope = scopes.entry(spec.manifest.narrowing().to_owned()).or_default();
        scope.insert((place, spec.item_id.clone()), Arc::clone(&ready));
        drop(known);
        Ok(ready)
    }

    /// Whether the item is a function of the program, or was one of the program that ran the graph.
    fn is_function(&self, spec: &TaskSpec) -> bool {
        self.components.functions.contains(&spec.item_id)
            || self.tape.as_ref().is_some_and(|tape| {
                tape.entries().first().is_some_and(|entry| entry.interface == functions::UNSANDBOXED)
            })
    }

    /// Performs an attempt with a function.
    async fn function(&self, spec: TaskSpec, place: CallSite) -> TaskReport {
        // Nothing repeats in a replay what no sandbox holds.
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

    /// What the host has for every call.
    pub(crate) fn services(&self) -> Services {
        Services { knowledge: self.knowledge.clone(), tools: None }
    }

    /// The component that another one calls, with no more than that one is granted.
    pub(crate) async fn callee(
        self: &Arc<Self>,
        (spec, place): (&TaskSpec, CallSite),
        item: &str,
        caller: &Arc<EffectiveGrant>,
    ) -> Result<Arc<CallableItem>, Failure> {
        let narrowing = spec.manifest.narrowing().to_owned();
        let key = (spec.graph.digest, narrowing, place, caller.digest(), item.to_owned());
        let known = self.callees.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(ready) = known {
            return Ok(ready);
        }
        let (shared, item) = (Arc::clone(self), item.to_owned());
        let (graph, manifest, caller) =
            (Arc::clone(&spec.graph), Arc::clone(&spec.manifest), Arc::clone(caller));
        let clock = spec.clock;
        let prepared = tokio::task::spawn_blocking(move || {
            let (capabilities, limits) = place.restrictions(&graph);
            shared.components.prepare_late(&item, &manifest, capabilities, limits, clock, Some(&caller))
        })
        .await
        .map_err(|error| {
            Failure::new(Category::Internal, format!("the item could not be loaded: {error}"))
        })??;
        let ready = Arc::new(CallableItem::new(prepared, &self.components.engine.digest()));
        self.callees.write().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&ready));
        Ok(ready)
    }

    /// Loads, searches or signs an item, or fills a directive in.
    async fn with_text(self: Arc<Self>, spec: TaskSpec, place: CallSite) -> TaskReport {
        let request = items::request(&spec);
        // What is signed is not signed again, whoever answers.
        let played = self.tape.as_ref().filter(|tape| !tape.is_live() || spec.primary == Primary::Sign);
        if let Some(tape) = played {
            let operation = (items::ITEMS, spec.primary.as_str());
            return items::played(tape, operation, &request, spec.limits.fuel);
        }
        let primary = spec.primary;
        let mut report = self.text_of_world(spec, place).await;
        report.journal.push(items::entry(items::ITEMS, primary.as_str(), request, &report));
        report
    }

    async fn text_of_world(self: Arc<Self>, spec: TaskSpec, place: CallSite) -> TaskReport {
        let done = tokio::task::spawn_blocking(move || {
            let own = match place {
                CallSite::Node(node) => spec.graph.node(node).capabilities.as_ref(),
                CallSite::Hook => None,
            };
            // The patterns were checked with the document; one that cannot be read permits nothing.
            let own = own
                .and_then(|own| own.dispatch.as_deref())
                .map(|patterns| DispatchPatterns::parse(patterns).unwrap_or_default());
            // In a child run, what its parents leave of the manifest.
            let left = spec.manifest.dispatch().clone();
            let narrowed = match &own {
                Some(own) => left.narrowed_by(own),
                None => left,
            };
            self.primaries.perform(Request {
                primary: spec.primary,
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

    async fn call(self: &Arc<Self>, ready: &CallableItem, mut spec: TaskSpec, place: CallSite) -> TaskReport {
        let began = Instant::now();
        let played = self.tape.as_ref().filter(|tape| !tape.is_live()).map(|tape| tape.entries());
        // They are the component's from here on: its own calls ask for what else the attempt is.
        let params = std::mem::take(&mut spec.params);
        let spec = Arc::new(spec);
        let mut services = self.services();
        if ready.grant.kinds.contains(&CapabilityKind::Tools) {
            services.tools = Some(Arc::new(Caller {
                shared: Arc::clone(self),
                spec: Arc::clone(&spec),
                place,
                grant: ready.grant(),
                depth: 0,
                seed: *spec.seed.as_bytes(),
            }));
        }
        let spec = &*spec;
        let mut report = ready
            .node
            .call(Call {
                activation: &spec.activation,
                params: Cow::Owned(params),
                seed: *spec.seed.as_bytes(),
                clock: spec.clock,
                limits: spec.limits.min(ready.limits()),
                observer: self.calls.get().map(|calls| Attempt::of(spec, calls)),
                journal: played.clone().map_or(Journal::Record, Journal::Replay),
                services,
                depth: 0,
            })
            .await;
        let took = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX).max(1);
        let before = ready.expected.load(Ordering::Relaxed);
        let expected = if before == 0 { took } else { before - (before >> NEWEST) + (took >> NEWEST) };
        ready.expected.store(expected, Ordering::Relaxed);
        for line in &report.logs {
            self.show(spec, line);
        }
        for event in &report.events {
            self.show_event(spec, event);
        }
        match (&self.tape, report.difference.take()) {
            (Some(tape), Some(difference)) => tape.differs(difference),
            // What answered is what is kept of the attempt, as it was then.
            _ => report.journal = played.unwrap_or(report.journal),
        }
        let events = report.events.into_iter();
        TaskReport {
            events: events.map(|EventRecord { name, payload }| CustomEvent { name, payload }).collect(),
            journal: report.journal,
            ..TaskReport::new(report.result, report.fuel_used)
        }
    }

    fn show_event(&self, spec: &TaskSpec, event: &EventRecord) {
        let EventRecord { name, payload } = event;
        self.notices.notice(Notice::Event { path: &spec.path, name, payload });
    }

    pub(crate) fn show(&self, spec: &TaskSpec, line: &LogLine) {
        let LogLine { level, message } = line;
        self.notices.notice(Notice::LogLine { path: &spec.path, level: *level, message });
    }
}
