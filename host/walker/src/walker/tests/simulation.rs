//! A driver without a clock, a store or an engine: it performs effects in memory, in an order that a test chooses.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde_json::{Value, json};

use super::graphs::{double, hook_double, pure_double};
use crate::graph::Graph;
use crate::walker::{
    Answered, Answers, Effect, Event, Graphs, HandleError, HookSpec, Identity, Lookup, Notice, Persist,
    PersistId, Restored, RestoredChild, RestoredTree, Resume, RunTree, Setup, Summary, TaskSpec, TimerId,
    is_child_of, warnings_on, way_to,
};
use graph_core::capability::{DispatchPatterns, Manifest};
use graph_core::digest::Digest;
use graph_core::hook_event::HookEvent;
use graph_core::limits::{ModelUse, RunLimits};
use graph_core::policy::Durability;
use graph_core::record::{
    ChainError, ChainVerifier, Checkpoint, CheckpointWindow, HistoryEntry, Record, SignedCacheEntry,
    SignedRecord, Status, TaskEvent, TrustedCheckpoint,
};
use graph_core::time::Timestamp;
use graph_core::trust::SigningKey;

/// Content of a store.
#[derive(Clone, Default)]
pub(super) struct Stored {
    pub(super) checkpoints: Vec<SignedRecord>,
    /// Pending records, with their namespaces.
    pub(super) pending: Vec<(String, Record)>,
    /// The inputs of child runs, by namespace.
    pub(super) inputs: BTreeMap<String, Value>,
    /// The documents of written graphs, by the digests in checkpoints.
    pub(super) documents: BTreeMap<Digest, Value>,
    /// Cached results.
    results: BTreeMap<(Digest, String), SignedCacheEntry>,
    /// The custom events in the history, in order.
    pub(super) told: Vec<String>,
}

impl Stored {
    /// Number of stored supersteps of each run, by namespace.
    fn steps(&self) -> BTreeMap<String, u64> {
        self.checkpoints.iter().map(|signed| (signed.namespace.clone(), signed.step)).collect()
    }

    /// Keeps the inputs of a child run, as a driver does with its first checkpoint.
    pub(super) fn keep_inputs(&mut self, namespace: &str, inputs: &Value) {
        if !namespace.is_empty() {
            self.inputs.insert(namespace.to_owned(), inputs.clone());
        }
    }

    pub(super) fn commit(&mut self, persist: Persist) {
        let record = persist.record.clone();
        let entries = record.entries();
        assert_eq!(entries.len() as u64, record.event_count());
        self.told.extend(entries.iter().filter_map(|entry| match entry {
            HistoryEntry::Event { task, event: TaskEvent::Custom { attempt, payload, .. }, .. } => {
                Some(format!("{task} {attempt} {}", payload.0))
            }
            _ => None,
        }));
        let key = |record: &Record| match record {
            Record::Task(task) => format!("t{}", task.task),
            Record::Answers(answers) => format!("a{}", answers.task),
            Record::Hook(hook) => format!("h{}", hook.call),
            Record::Status(_) => "s".to_owned(),
            Record::Checkpoint(_) => String::new(),
        };
        match record {
            Record::Checkpoint(checkpoint) => {
                self.pending.retain(|(namespace, _)| *namespace != checkpoint.namespace);
                let mut signed = persist.sign(&SigningKey::from_seed(&[7; 32])).unwrap();
                let results = std::mem::take(&mut signed.results);
                self.results
                    .extend(results.into_iter().map(|entry| ((entry.key, entry.namespace.clone()), entry)));
                self.checkpoints.push(signed);
            }
            record => {
                // Read the record back from its stored text.
                let namespace = match &record {
                    Record::Task(task) => &task.namespace,
                    Record::Answers(answers) => &answers.namespace,
                    Record::Hook(hook) => &hook.namespace,
                    Record::Status(status) => &status.namespace,
                    Record::Checkpoint(_) => unreachable!(),
                };
                let namespace = namespace.clone();
                self.pending.retain(|(of, old)| *of != namespace || key(old) != key(&record));
                let signed = persist.sign(&SigningKey::from_seed(&[7; 32])).unwrap();
                let opened = signed.open(&SigningKey::from_seed(&[7; 32]).verifying_key()).unwrap();
                self.pending.push((namespace, opened));
            }
        }
    }

    /// Number of answers given to tasks under the newest checkpoints.
    pub(super) fn answers_of_tasks(&self) -> usize {
        let given = |(_, record): &(String, Record)| match record {
            Record::Answers(record) => record.answers.len(),
            _ => 0,
        };
        self.pending.iter().map(given).sum()
    }

    /// Returns a checkpoint of the root run with its values, without pending records.
    pub(super) fn restored(&self, at: usize) -> Restored {
        self.restored_in("", at)
    }

    /// Returns the nodes visited on the way to a checkpoint of the root run.
    pub(super) fn visited(&self, at: usize) -> Vec<String> {
        let line = self.line("");
        let way = way_to(&line, at).unwrap();
        way.iter().flat_map(|place| line[*place].1.visited.clone()).collect()
    }

    /// Opens a checkpoint of a namespace by reading backwards from it.
    fn trusted(&self, namespace: &str, at: usize) -> TrustedCheckpoint {
        let key = SigningKey::from_seed(&[7; 32]).verifying_key();
        let line: Vec<_> = self.checkpoints.iter().filter(|signed| signed.namespace == namespace).collect();
        let mut stretch = CheckpointWindow::up_to(line[at], Some(&key), None).unwrap();
        let mut earlier = line[..at].iter().rev();
        while stretch.wants_below().is_some() {
            stretch.take(earlier.next().unwrap()).unwrap();
        }
        stretch.finish().unwrap()
    }

    /// Returns the checkpoints of a namespace from their texts.
    pub(super) fn line(&self, namespace: &str) -> Vec<(Digest, Checkpoint)> {
        let key = SigningKey::from_seed(&[7; 32]).verifying_key();
        let of_namespace = self.checkpoints.iter().filter(|signed| signed.namespace == namespace);
        let opened = of_namespace.map(|signed| match signed.open(&key).unwrap() {
            Record::Checkpoint(checkpoint) => (signed.digest, *checkpoint),
            other => panic!("{other:?} among the checkpoints"),
        });
        opened.collect()
    }

    fn restored_in(&self, namespace: &str, at: usize) -> Restored {
        let key = SigningKey::from_seed(&[7; 32]).verifying_key();
        let mut verifier = graph_core::record::ChainVerifier::new(key);
        let mut kept = BTreeMap::<String, Vec<graph_core::record::ChannelValue>>::new();
        let mut found = None;
        let checkpoints = self.checkpoints.iter().filter(|signed| signed.namespace == namespace);
        for (index, signed) in checkpoints.enumerate() {
            let mut checkpoint = verifier.checkpoint(signed).unwrap();
            for value in &signed.values {
                kept.entry(value.channel.clone()).or_default().push(value.clone());
            }
            if index == at {
                verifier.standing().clone().complete(&mut checkpoint);
                found = Some((checkpoint, signed.digest));
            }
        }
        let (checkpoint, digest) = found.unwrap();
        let span = |(channel, stamp): (&String, &graph_core::record::ChannelStamp)| {
            let (base, version) = (stamp.base, stamp.version);
            let values = kept[channel].iter().filter(move |value| (base..=version).contains(&value.version));
            values.cloned().collect::<Vec<_>>()
        };
        let values: Vec<_> = checkpoint.channels.iter().flat_map(span).collect();
        let line = self.line(namespace);
        let way = way_to(&line, at).unwrap();
        let (warnings, warned) = warnings_on(&line, &way);
        let trusted = self.trusted(namespace, at);
        assert_eq!((&trusted.checkpoint, trusted.warned), (&checkpoint, warned));
        assert_eq!(checkpoint.check_values(&values), Ok(()));
        Restored {
            checkpoint,
            digest,
            values,
            pending: Vec::new(),
            answers: Vec::new(),
            hooks: Vec::new(),
            status: None,
            warnings,
            warned,
        }
    }

    /// Restores the tree from the store; `None` if nothing is stored.
    pub(super) fn restore(&self, graph: &Arc<Graph>, setup: Setup) -> Option<RunTree> {
        let root = self.newest("")?;
        let mut parents = vec![root.checkpoint.clone()];
        let mut tree = RestoredTree::from(root);
        while let Some(parent) = parents.pop() {
            for (namespace, inputs) in &self.inputs {
                if is_child_of(namespace, &parent)
                    && let Some(restored) = self.newest(namespace)
                {
                    parents.push(restored.checkpoint.clone());
                    let (namespace, inputs) = (namespace.clone(), inputs.clone());
                    let kept = self.documents.get(&restored.checkpoint.graph);
                    let graph = kept.map(|kept| Arc::new(crate::document::load_snapshot(kept).unwrap()));
                    tree.children.push(RestoredChild { namespace, inputs, restored, graph });
                }
            }
        }
        Some(RunTree::restore(Arc::clone(graph), setup, tree).unwrap())
    }

    /// Returns the pins of the run: those of its newest checkpoint, or of the last change accepted under it.
    pub(super) fn pins(&self) -> Option<Digest> {
        let newest = self.newest("")?;
        let accepted = newest.status.as_ref().and_then(|status| status.accepted.last());
        Some(accepted.map_or(newest.checkpoint.pins, |accepted| accepted.after))
    }

    /// Checks the checkpoints of all namespaces, and the changes accepted under the newest ones.
    pub(super) fn check(&self) -> Result<(), ChainError> {
        let namespaces: BTreeSet<_> = self.checkpoints.iter().map(|signed| &signed.namespace).collect();
        for namespace in namespaces {
            let mut verifier = ChainVerifier::new(SigningKey::from_seed(&[7; 32]).verifying_key());
            for signed in self.checkpoints.iter().filter(|signed| signed.namespace == *namespace) {
                verifier.checkpoint(signed)?;
            }
            for (_, record) in self.pending.iter().filter(|(of, _)| of == namespace) {
                if let Record::Status(status) = record {
                    verifier.accepted(&status.accepted)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the newest checkpoint of a namespace with its pending records.
    pub(super) fn newest(&self, namespace: &str) -> Option<Restored> {
        let count = self.checkpoints.iter().filter(|signed| signed.namespace == namespace).count();
        let mut restored = self.restored_in(namespace, count.checked_sub(1)?);
        for (_, record) in self.pending.iter().filter(|(of, _)| of == namespace).cloned() {
            match record {
                Record::Task(record) => restored.pending.push(record),
                Record::Answers(record) => restored.answers.push(record),
                Record::Hook(record) => restored.hooks.push(record),
                Record::Status(record) => restored.status = Some(record),
                Record::Checkpoint(_) => unreachable!(),
            }
        }
        Some(restored)
    }
}

/// Returns the work after which walkers return control: often little, so that every piece of work is interrupted somewhere.
pub(super) fn slice_of(graph: &Graph) -> u64 {
    match graph.digest.as_bytes()[2] % 4 {
        0 => 1,
        1 => 10_000,
        2 => 50_000,
        _ => graph_core::work::rates::SLICE,
    }
}

/// Returns `true` for some graphs, whose runs have little fuel or use of the host, so that the reservations of tasks matter.
pub(super) fn has_little(graph: &Graph) -> bool {
    graph.digest.as_bytes()[0].is_multiple_of(3) || graph.digest.as_bytes()[1] % 4 < 2
}

pub(super) fn setup(graph: &Graph, durability: Durability) -> Setup {
    setup_with(graph, Arc::default(), durability)
}

pub(super) fn setup_with(graph: &Graph, graphs: Arc<Graphs>, durability: Durability) -> Setup {
    let inputs = Arc::new(json!({}));
    let manifest = Manifest::of_dispatch(DispatchPatterns::parse(["*"]).unwrap());
    let run = manifest.run_limits();
    let fuel = if graph.digest.as_bytes()[0].is_multiple_of(3) { 150_000 } else { run.fuel };
    let (calls, bytes, model) = match (graph.digest.as_bytes()[1] % 4, graph.digest.as_bytes()[2] % 2) {
        (0, 0) => (6, run.bytes, run.model),
        (1, 0) => (run.calls, 40, run.model),
        (0, _) => (run.calls, run.bytes, ModelUse { calls: 3, ..run.model }),
        (1, _) => (run.calls, run.bytes, ModelUse { input: 200, ..run.model }),
        _ => (run.calls, run.bytes, run.model),
    };
    let manifest = manifest.with_run_limits(RunLimits { fuel, calls, bytes, model, ..run });
    Setup {
        identity: Identity { run: "r".into(), root: "r".into(), parent: None, namespace: String::new() },
        seed: Setup::default_seed(graph, &inputs),
        inputs,
        initial_state: serde_json::Map::new(),
        hooks: Arc::default(),
        manifest: Arc::new(manifest),
        graphs,
        pins: graph_core::digest::Digest::of_bytes(b"pins"),
        accepted: Vec::new(),
        durability,
        max_steps: None,
        max_concurrency: None,
    }
}

/// A simulation that runs a graph to its end, or to a stop that no answer continues.
pub(super) struct Simulation {
    pub(super) graph: Arc<Graph>,
    pub(super) walker: RunTree,
    pub(super) stored: Stored,
    salt: u64,
    /// Chooses among the possible next events.
    order: u64,
    running: BTreeMap<(Arc<str>, u32), TaskSpec>,
    lookups: BTreeMap<(Arc<str>, u32), Lookup>,
    /// Number of dispatches avoided by cached results.
    pub(super) hits: usize,
    /// `true` if lookups find cached results.
    pub(super) looks_up: bool,
    /// `true` if doubles answer by their input alone.
    pub(super) is_pure: bool,
    hooks: BTreeMap<Arc<str>, HookSpec>,
    timers: BTreeSet<TimerId>,
    /// `true` if the walker has work left.
    pub(super) has_more: bool,
    unacknowledged: VecDeque<(PersistId, Option<(String, u64)>)>,
    /// The newest superstep of each run whose checkpoint is known to be persisted.
    acknowledged_steps: BTreeMap<String, u64>,
    pub(super) events: Vec<Event>,
    pub(super) effects: Vec<String>,
    pub(super) stopped: Option<Status>,
    /// Tasks whose writes were persisted under the newest checkpoint.
    pub(super) kept: BTreeSet<String>,
    /// Calls of hooks whose results were persisted under the newest checkpoint.
    pub(super) kept_hooks: BTreeSet<String>,
    /// Number of effects that may still be performed.
    pub(super) budget: usize,
    /// Number of effects performed up to each record, except for the last of the records that were handed out together.
    pub(super) middles: Vec<usize>,
    durability: Durability,
}

impl Simulation {
    pub(super) fn new(graph: Arc<Graph>, salt: u64, order: u64, durability: Durability) -> Self {
        let walker = RunTree::new(Arc::clone(&graph), setup(&graph, durability));
        Self::with(graph, walker, Stored::default(), salt, order, durability)
    }

    pub(super) fn with(
        graph: Arc<Graph>,
        walker: RunTree,
        stored: Stored,
        salt: u64,
        order: u64,
        durability: Durability,
    ) -> Self {
        let acknowledged_steps = stored.steps();
        let mut walker = walker;
        walker.set_slice(slice_of(&graph));
        Self {
            graph,
            walker,
            stored,
            salt,
            order,
            running: BTreeMap::new(),
            lookups: BTreeMap::new(),
            hits: 0,
            looks_up: true,
            is_pure: false,
            hooks: BTreeMap::new(),
            timers: BTreeSet::new(),
            has_more: false,
            unacknowledged: VecDeque::new(),
            acknowledged_steps,
            events: Vec::new(),
            effects: Vec::new(),
            stopped: None,
            kept: BTreeSet::new(),
            kept_hooks: BTreeSet::new(),
            budget: usize::MAX,
            middles: Vec::new(),
            durability,
        }
    }

    fn draw(&mut self, below: usize) -> usize {
        self.order =
            self.order.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.order >> 33).unwrap() % below.max(1)
    }

    pub(super) fn handle(&mut self, event: Event) -> Result<(), HandleError> {
        self.events.push(event.clone());
        let effects = self.walker.handle(Timestamp(1), event)?;
        // The records of a resume are stored together with the record that the run continues, or not at all.
        let whole = effects.iter().position(goes_on).map_or(0, |at| at + 1);
        if self.budget < whole {
            self.budget = 0;
        }
        let begin = self.effects.len();
        let records = (0..effects.len()).filter(|at| matches!(effects[*at], Effect::Persist(_)));
        let ends: Vec<usize> = records.filter(|at| *at + 1 >= whole).map(|at| begin + at + 1).collect();
        self.middles.extend(ends.split_last().map_or(&[][..], |(_, rest)| rest));
        for effect in effects {
            self.effects.push(format!("{effect:?}"));
            if self.budget == 0 {
                continue;
            }
            self.budget -= 1;
            self.perform(effect);
        }
        Ok(())
    }

    /// Forgets hooks about limits of child runs: a child run whose task has handled its limit may be resumed, and
    /// reaches the limit once more.
    fn forget_limits(&mut self, record: &Record) {
        let heard = match record {
            Record::Task(task) => vec![&task.task],
            Record::Status(status) if status.status != Status::Running => status.tasks.keys().collect(),
            _ => Vec::new(),
        };
        for task in heard {
            let of_child = |call: &str| {
                let below = call.strip_prefix(task.as_str()).unwrap_or_default();
                (below.starts_with('/') || below.starts_with('@')) && call.contains("_exceeded/")
            };
            self.kept_hooks.retain(|call| !of_child(call));
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::LookUp(lookup) => {
                self.check_begin(&lookup.spec);
                let told = &lookup.spec.activation;
                assert!(told.attempt == 1 && told.answers.is_empty(), "looked up for {told:?}");
                self.lookups.insert((told.task.as_str().into(), told.attempt), *lookup);
            }
            Effect::ModelRecorded { .. } => panic!("no task reserves anything"),
            Effect::RunTask(spec) => {
                self.check_begin(&spec);
                let told = &spec.activation;
                self.running.insert((told.task.as_str().into(), told.attempt), *spec);
            }
            Effect::Abort { task, attempt } => {
                let name = (task, attempt);
                assert!(self.running.remove(&name).is_some() || self.lookups.remove(&name).is_some());
            }
            Effect::RunHook(spec) => {
                let told = &spec.call.activation;
                let namespace = told.run_id.split_once('/').map_or("", |(_, namespace)| namespace);
                let follows = matches!(
                    spec.event,
                    HookEvent::GraphStarted | HookEvent::AfterStep | HookEvent::GraphCompleted
                );
                // At a limit the end's hooks are asked within a superstep, as `limit` hooks are.
                let at_limit = told.task.contains("_exceeded/");
                if follows && !at_limit && self.durability == Durability::Sync {
                    assert_eq!(
                        Some(&told.superstep),
                        self.acknowledged_steps.get(namespace),
                        "a hook before its checkpoint"
                    );
                }
                // Other child runs may continue meanwhile.
                let below = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
                let tasks = self.running.keys().chain(self.lookups.keys()).map(|(task, _)| task);
                let under_way = tasks.chain(self.hooks.keys());
                assert!(
                    spec.event == HookEvent::Error || !under_way.into_iter().any(|id| id.starts_with(&below)),
                    "a hook beside something else"
                );
                assert!(
                    !self.kept_hooks.contains(&told.task),
                    "hook {} runs again though its result was kept",
                    told.task
                );
                self.hooks.insert(told.task.as_str().into(), *spec);
            }
            Effect::AbortHook { hook } => {
                assert!(self.hooks.remove(&hook).is_some());
            }
            Effect::Persist(persist) => {
                let step = match &persist.record {
                    Record::Checkpoint(checkpoint) => Some((checkpoint.namespace.clone(), checkpoint.step)),
                    _ => None,
                };
                if let Record::Checkpoint(checkpoint) = &persist.record
                    && checkpoint.parent.is_none()
                {
                    let inputs = self.walker.inputs_of(&checkpoint.namespace).unwrap();
                    self.stored.inputs.insert(checkpoint.namespace.clone(), Value::clone(&inputs));
                    let document = self.walker.new_document(&persist.record);
                    self.stored
                        .documents
                        .extend(document.map(|(digest, document)| (digest, Value::clone(&document))));
                }
                if let Record::Task(task) = &persist.record
                    && matches!(
                        task.outcome,
                        graph_core::record::PendingOutcome::Done { .. }
                            | graph_core::record::PendingOutcome::Handled { .. }
                    )
                {
                    self.kept.insert(task.task.clone());
                }
                if let Record::Hook(hook) = &persist.record
                    && !(hook.required && hook.failure.is_some())
                {
                    self.kept_hooks.insert(hook.call.clone());
                }
                self.forget_limits(&persist.record);
                if let Some((namespace, _)) = &step {
                    // The tasks and hooks of that run, and of those below it.
                    let below = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
                    self.kept.retain(|task| !task.starts_with(&below));
                    self.kept_hooks.retain(|call| !call.starts_with(&below));
                }
                self.unacknowledged.push_back((persist.id, step));
                self.stored.commit(*persist);
            }
            Effect::SetTimer { timer, .. } => {
                self.timers.insert(timer);
            }
            Effect::Emit(notice) => self.hits += hits(&notice),
            Effect::Continue => self.has_more = true,
            Effect::Suspend(status) | Effect::Finish(status) => {
                assert!(self.running.is_empty() && self.lookups.is_empty(), "stopped with tasks running");
                assert!(self.hooks.is_empty(), "stopped with hooks running");
                assert!(self.unacknowledged.is_empty(), "stopped before everything was persisted");
                self.stopped = Some(status);
            }
        }
    }

    /// Asserts that a task that is dispatched or looked up has a checkpoint before it and no kept result.
    fn check_begin(&self, spec: &TaskSpec) {
        let told = &spec.activation;
        if self.durability == Durability::Sync {
            let namespace = told.task.rsplit_once('/').map_or("", |(namespace, _)| namespace);
            assert_eq!(
                told.superstep,
                self.acknowledged_steps[namespace] + 1,
                "a task before its predecessor's checkpoint"
            );
        }
        assert!(!self.kept.contains(&told.task), "task {} runs again though its writes were kept", told.task);
    }

    /// Looks up a cached result for a task.
    fn look_up(&self, lookup: &Lookup) -> Event {
        if !self.looks_up {
            return lookup.answer(Answered::default());
        }
        let key = lookup.key(&Digest::of_bytes(b"double"));
        let signer = SigningKey::from_seed(&[7; 32]).verifying_key();
        let kept = self.stored.results.values().filter(|entry| entry.key == key).cloned().collect::<Vec<_>>();
        let answered = lookup.choose(key, &kept, [], &signer);
        assert_eq!(answered.trouble, None);
        lookup.answer(answered)
    }

    /// Performs one of the possible next events, chosen by `order`; `false` if there is none.
    pub(super) fn step(&mut self) -> bool {
        let retries: Vec<TimerId> =
            self.timers.iter().filter(|timer| matches!(timer, TimerId::Retry { .. })).cloned().collect();
        let others = self.running.len() + usize::from(!self.unacknowledged.is_empty()) + retries.len();
        let with_hooks = others + self.hooks.len();
        let all = with_hooks + self.lookups.len();
        if all == 0 && !self.has_more {
            return false;
        }
        let choice = self.draw(all + usize::from(self.has_more));
        if choice == all {
            self.has_more = false;
            self.handle(Event::Continued).unwrap();
            return true;
        }
        if let Some(name) = choice.checked_sub(with_hooks).and_then(|at| self.lookups.keys().nth(at)).cloned()
        {
            let lookup = self.lookups.remove(&name).unwrap();
            let found = self.look_up(&lookup);
            self.handle(found).unwrap();
            return true;
        }
        if let Some(call) = choice.checked_sub(others).and_then(|at| self.hooks.keys().nth(at)).cloned() {
            let spec = self.hooks.remove(&call).unwrap();
            let report = hook_double(self.salt, &spec);
            self.handle(Event::HookDone { hook: call, report }).unwrap();
            return true;
        }
        if choice < self.running.len() {
            let key = self.running.keys().nth(choice).cloned().unwrap();
            let spec = self.running.remove(&key).unwrap();
            let double = if self.is_pure { pure_double } else { double };
            let report = double(self.salt, &spec);
            self.handle(Event::TaskDone { task: key.0, attempt: key.1, report }).unwrap();
        } else if let Some(timer) = retries.get(choice - self.running.len()) {
            self.timers.remove(timer);
            self.handle(Event::TimerFired(timer.clone())).unwrap();
        } else {
            let (id, step) = self.unacknowledged.pop_front().unwrap();
            self.acknowledged_steps.extend(step);
            self.handle(Event::Persisted(id)).unwrap();
        }
        true
    }

    /// Continues until the run has stopped and no answer continues it, or the budget is used up.
    pub(super) fn run(&mut self, first: Event) -> Summary {
        self.handle(first).unwrap();
        for _ in 0..10_000 {
            if self.budget == 0 {
                break;
            }
            if let Some(status) = self.stopped.take() {
                let open = self.walker.summary().interrupts;
                if status != Status::Interrupted || open.is_empty() {
                    break;
                }
                self.handle(Event::Resumed(answers(&open))).unwrap();
            } else if !self.step() {
                break;
            }
        }
        self.walker.summary()
    }
}

/// Number of dispatches that a notice reports as avoided by cached results.
fn hits(notice: &Notice) -> usize {
    match notice {
        Notice::Cached { .. } => 1,
        Notice::Child { notice, .. } => hits(notice),
        _ => 0,
    }
}

/// Returns `true` if an effect records that the root run continues.
fn goes_on(effect: &Effect) -> bool {
    matches!(effect, Effect::Persist(persist)
        if matches!(&persist.record, Record::Status(status)
            if status.namespace.is_empty() && status.status == Status::Running))
}

/// Returns answers to all questions; static interrupts need none.
pub(super) fn answers(open: &[graph_core::record::InterruptRecord]) -> Resume {
    let asked: BTreeMap<String, Value> = open
        .iter()
        .filter(|asked| !asked.payload.0.is_null())
        .map(|asked| (asked.id.clone(), json!(format!("answer to {}", asked.id))))
        .collect();
    let answers = if asked.is_empty() { Answers::None } else { Answers::ById(asked) };
    Resume { answers, ..Resume::default() }
}
