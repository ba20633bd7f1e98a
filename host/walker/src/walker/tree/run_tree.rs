//! A run with its child runs. The tree takes events and returns effects like a single walker, so that a driver need not
//! know the number of runs.

mod child;
mod restore;
mod route;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::graph::{Action, Graph};
use crate::host_item::HostItem;
use crate::walker::Walker;
use crate::walker::event::{Effect, Event, Persist, PersistId, Resume, TimerId};
use crate::walker::machine::illegal;
use crate::walker::records::persist::SPILL;
use crate::walker::setup::{HandleError, RestoreError, Restored, Setup, Summary};
use crate::walker::tree::{names, visits};
use crate::written_graph::WrittenLimits;
use graph_core::digest::Digest;
use graph_core::item::{ItemOperation, ItemType};
use graph_core::limits::ModelUse;
use graph_core::policy::Durability;
use graph_core::record::{CacheEntry, Record, Source, Status};
use graph_core::time::Timestamp;

pub use restore::{RestoredChild, RestoredTree};

/// Number of child runs, or of waiting records, up to which all are checked after each event that may concern them.
const FEW: usize = 16;
/// Logical bytes of a deferred record, besides those that its run counts as stored: the part that a checkpoint repeats.
const DEFERRED: u64 = 2 << 10;

/// Walkers of a graph and of the graphs that its nodes name.
#[derive(Debug)]
pub struct RunTree {
    root: Walker,
    /// The child runs of active supersteps, by namespace. Those of committed supersteps are history.
    children: BTreeMap<Arc<str>, Child>,
    /// The records that were handed out and are not known to be persisted, in the order of the tree's ids.
    sent: VecDeque<SentRecord>,
    persists: u64,
    /// Under `durability: exit`: records that wait until the root run stops, in the order in which they are to be stored.
    deferred: Vec<(Arc<str>, Box<Persist>)>,
    /// Number of waiting records when those of ended child runs were last dropped; none if no child run has ended since.
    deferred_since: Option<usize>,
    /// Number of events since the size of the waiting records was last checked.
    unweighed: usize,
    /// Under `durability: exit`: cache entries of committed supersteps that are not stored yet.
    results: BTreeMap<(Digest, String), CacheEntry>,
    /// The limit of supersteps that a resume brought. It lets child runs continue that have reached their limit.
    lifted: Option<u64>,
    /// The namespaces of walkers that have returned control with work left, in the order in which they continue.
    unfinished: VecDeque<Arc<str>>,
    /// The same namespaces as a set: very many child runs may have started before any of them continues.
    is_unfinished: BTreeSet<Arc<str>>,
    /// `true` if the root run may start child runs.
    nests: bool,
}

/// A record that was handed out.
#[derive(Clone, Debug)]
struct SentRecord {
    id: PersistId,
    namespace: Arc<str>,
    own: PersistId,
}

#[derive(Debug)]
pub(in crate::walker) struct Child {
    walker: Walker,
    /// The task in the parent run.
    task: Arc<str>,
    /// The namespace of the parent run.
    parent: Arc<str>,
    /// The attempt of that task that waits for the child run, if one does.
    attempt: Option<u32>,
    /// `true` if the node's `timeout` limits the time, not that of a run.
    timed_by_node: bool,
    /// Budget of language models that the node leaves to the whole run. A figure that something else limits further is `u64::MAX`.
    models_of_node: ModelUse,
    /// `true` if the run has used up its time.
    timed_out: bool,
    /// Warnings about params that have no effect.
    warnings: Vec<String>,
    /// The caller's limits, if the graph was written by the run itself.
    written: Option<WrittenLimits>,
}

impl RunTree {
    /// Creates the tree of a new run. Its first event is [`Event::Started`].
    pub fn new(graph: Arc<Graph>, setup: Setup) -> Self {
        Self::with(Walker::new(graph, setup))
    }

    fn with(root: Walker) -> Self {
        let writes = |action: &Action| HostItem::Run.may_be(action);
        let setup = root.setup();
        let may_write =
            setup.manifest.dispatch().permits(ItemOperation::Execute, ItemType::Tool, HostItem::Run.id())
                && root.graph().nodes.iter().filter_map(|node| node.action.as_ref()).any(writes);
        Self {
            nests: may_write || !setup.graphs.is_empty(),
            root,
            children: BTreeMap::new(),
            sent: VecDeque::new(),
            persists: 0,
            deferred: Vec::new(),
            deferred_since: None,
            unweighed: 0,
            results: BTreeMap::new(),
            lifted: None,
            unfinished: VecDeque::new(),
            is_unfinished: BTreeSet::new(),
        }
    }

    /// Creates the tree of a new run that begins with the state of another run at a checkpoint: see [`Walker::fork`].
    /// Its first event is [`Event::Forked`].
    pub fn fork(
        graph: Arc<Graph>,
        setup: Setup,
        of: Restored,
        visited: &[String],
    ) -> Result<Self, RestoreError> {
        Ok(Self::with(Walker::fork(graph, setup, of, visited)?))
    }

    /// Finds the namespace of the run that waits for a call of a hook, among the prefixes of the call's id.
    fn awaiting_hook(&self, call: &str) -> Option<Arc<str>> {
        let around = std::iter::successors(Some(names::namespace_of(call)), |namespace| {
            (!namespace.is_empty()).then(|| names::namespace_of(namespace))
        });
        let waits = |namespace: &&str| self.walker(namespace).is_some_and(|walker| walker.awaits_hook(call));
        around.into_iter().find(waits).map(Arc::from)
    }

    /// Handles an event that happened at `now`, and returns the effects.
    pub fn handle(&mut self, now: Timestamp, event: Event) -> Result<Vec<Effect>, HandleError> {
        if !self.nests && !self.is_stored_at_stops() {
            return self.root.handle(now, event);
        }
        let mut route = route::Route::new(now);
        match event {
            Event::TaskDone { ref task, .. } | Event::TimerFired(TimerId::Retry { ref task, .. }) => {
                let namespace: Arc<str> = names::namespace_of(task).into();
                self.deliver(&namespace, event, &mut route)?;
            }
            Event::LookedUp { task, attempt, key, found, trouble } => {
                let namespace: Arc<str> = names::namespace_of(&task).into();
                let best =
                    key.and_then(|key| self.best_cached_result(&namespace, &task, &key, found.as_deref()));
                let found = best.map(Box::new).or(found);
                let event = Event::LookedUp { task, attempt, key, found, trouble };
                self.deliver(&namespace, event, &mut route)?;
            }
            Event::ModelReserved { ref task, .. } => {
                let of_hook = self.awaiting_hook(task);
                let namespace = of_hook.unwrap_or_else(|| names::namespace_of(task).into());
                // The run may have ended meanwhile; then the attempt gets no answer and cannot ask.
                if self.walker(&namespace).is_some() {
                    self.deliver(&namespace, event, &mut route)?;
                }
            }
            Event::HookDone { ref hook, .. } => {
                // The superstep around the hook's run may have committed meanwhile.
                if let Some(namespace) = self.awaiting_hook(hook) {
                    self.deliver(&namespace, event, &mut route)?;
                }
            }
            Event::TimerFired(TimerId::ChildTimeout { ref namespace }) => {
                let namespace = Arc::clone(namespace);
                // The child run may have ended meanwhile.
                if let Some(child) = self.children.get_mut(&namespace) {
                    child.timed_out = child.walker.is_under_way();
                    self.deliver(&namespace, Event::TimerFired(TimerId::RunTimeout), &mut route)?;
                }
            }
            Event::Persisted(id) => self.persisted(id, &mut route)?,
            Event::PersistFailed { id, message } => self.persist_failed(id, &message, &mut route)?,
            Event::Resumed(resume) => self.resumed(resume, &mut route)?,
            Event::CancelRequested => {
                let active = self
                    .children
                    .iter()
                    .filter(|(_, child)| child.is_active())
                    .map(|(name, _)| Arc::clone(name));
                let active: Vec<Arc<str>> = active.collect();
                self.deliver("", Event::CancelRequested, &mut route)?;
                for namespace in active {
                    self.deliver(&namespace, Event::CancelRequested, &mut route)?;
                }
            }
            Event::Updated(_) => {
                self.deliver("", event, &mut route)?;
                // The active superstep is discarded, and its child runs with it.
                self.children.clear();
                self.deferred.clear();
            }
            Event::Continued => self.go_on_with_unfinished(&mut route)?,
            Event::Started
            | Event::Forked(_)
            | Event::KillRequested
            | Event::TimerFired(TimerId::RunTimeout) => {
                self.deliver("", event, &mut route)?;
            }
        }
        self.follow(&mut route)?;
        self.spill(&mut route)?;
        if !self.unfinished.is_empty() {
            route.send(Effect::Continue);
        }
        Ok(route.into_effects())
    }

    /// Continues walkers that have work left, until the time slice is over.
    fn go_on_with_unfinished(&mut self, route: &mut route::Route) -> Result<(), HandleError> {
        for _ in 0..self.unfinished.len() {
            if route.slice() >= self.root.slice_length() {
                break;
            }
            let Some(namespace) = self.unfinished.pop_front() else { break };
            self.is_unfinished.remove(&namespace);
            // The superstep around the run may have committed meanwhile.
            if let Some(walker) = self.walker(&namespace) {
                if !self.is_stored_at_stops() {
                    route.return_to(walker.event_time());
                }
                self.deliver(&namespace, Event::Continued, route)?;
                self.follow(route)?;
            }
        }
        Ok(())
    }

    /// Hands out the waiting records under `durability: exit` once there are too many, as if the runs had stopped at this point.
    fn spill(&mut self, route: &mut route::Route) -> Result<(), HandleError> {
        if !self.is_stored_at_stops() || self.children.is_empty() {
            return Ok(());
        }
        // With very many child runs, their sizes are not summed after each event.
        self.unweighed += 1;
        if self.unweighed <= self.children.len() / FEW {
            return Ok(());
        }
        self.unweighed = 0;
        visits::add(self.children.len());
        let walkers = || std::iter::once(&self.root).chain(self.children.values().map(|child| &child.walker));
        let waits = walkers().map(Walker::unstored).fold(self.deferred_size(), u64::saturating_add);
        // Writes of a commit to channels are not final before it is complete.
        if waits <= SPILL || walkers().any(Walker::is_between_boundaries) {
            return Ok(());
        }
        let namespaces = std::iter::once(Arc::from("")).chain(self.children.keys().cloned());
        let namespaces: Vec<Arc<str>> = namespaces.collect();
        for namespace in namespaces {
            let walker = self.walker_mut(&namespace)?;
            if !walker.has_unwritten_boundary() {
                continue;
            }
            let mut effects = Vec::new();
            if walker.write_checkpoint(&mut effects).is_err() {
                // The error stops the run once the boundary must be written.
                continue;
            }
            for effect in effects {
                if let Effect::Persist(persist) = effect {
                    self.defer(&namespace, persist);
                }
            }
        }
        self.hand_out_deferred(route);
        Ok(())
    }

    /// Chooses the cached result for a task from the one that the store found and those that are not stored yet.
    fn best_cached_result(
        &self,
        namespace: &str,
        task: &str,
        key: &Digest,
        found: Option<&CacheEntry>,
    ) -> Option<CacheEntry> {
        let under = self.results.range((*key, String::new())..).take_while(|((of, _), _)| of == key);
        let entries = under.map(|(_, entry)| entry).chain(found);
        self.walker(namespace)?.best_for(task, entries.cloned())
    }

    /// Resumes the run. A refusal changes nothing.
    fn resumed(&mut self, resume: Resume, route: &mut route::Route) -> Result<(), HandleError> {
        if resume.inputs.is_none() {
            self.root.check_suspended()?;
        }
        let begins_anew = resume.inputs.is_some() || resume.update.is_some();
        if self.root.is_cancel_requested() || begins_anew {
            let anew = begins_anew && !self.root.is_cancel_requested();
            self.deliver("", Event::Resumed(resume), route)?;
            if anew {
                // The active superstep is discarded, and its child runs with it.
                self.children.clear();
                self.deferred.clear();
            }
            return Ok(());
        }
        self.root.check_changed_reducers(None)?;
        self.children.values().try_for_each(|child| child.walker.check_changed_reducers(None))?;
        let mut by_run = self.answers(resume.answers, route.now())?;
        self.root.check_limit(resume.max_steps)?;
        let own = by_run.remove("").unwrap_or_default();
        // The answers of a resume are recorded for all runs concerned before any of them continues.
        let mut recorded = Vec::new();
        for (namespace, answers) in by_run {
            let mut effects = Vec::new();
            self.walker_mut(&namespace)?.take_answers_of_parent(route.now(), answers, &mut effects);
            self.raise_above(&namespace);
            recorded.push((namespace, effects));
        }
        self.lifted = resume.max_steps.or(self.lifted);
        self.ask_changed_again(route.now());
        self.wake("");
        let effects = self.root.continue_in(route.now(), own, resume.max_steps, &mut { route.slice() })?;
        route.push("", effects);
        for (namespace, effects) in recorded.into_iter().rev() {
            route.push(&namespace, effects);
        }
        Ok(())
    }

    /// Returns the tasks of uncommitted supersteps that have answers: the namespace, the task, the number of its
    /// answers, and the numbers of the dropped ones.
    pub fn given_answers(&self) -> impl Iterator<Item = (&str, &str, u32, Vec<u32>)> {
        let children = self.children.iter().map(|(namespace, child)| (&**namespace, &child.walker));
        let walkers = std::iter::once(("", &self.root)).chain(children);
        walkers.flat_map(|(namespace, walker)| {
            walker.given_answers().map(move |(task, count, dropped)| (namespace, task, count, dropped))
        })
    }

    /// Sets the work after which every walker returns control.
    #[cfg(test)]
    pub(in crate::walker) fn set_slice(&mut self, length: u64) {
        self.root.set_slice_length(length);
        self.children.values_mut().for_each(|child| child.walker.set_slice_length(length));
    }

    /// The walker of the root run.
    pub(in crate::walker) const fn root(&self) -> &Walker {
        &self.root
    }

    /// The child runs of active supersteps, by namespace.
    pub(in crate::walker) const fn children(&self) -> &BTreeMap<Arc<str>, Child> {
        &self.children
    }

    /// The walkers of these child runs.
    pub(in crate::walker) fn child_walkers_mut(&mut self) -> impl Iterator<Item = &mut Walker> {
        self.children.values_mut().map(|child| &mut child.walker)
    }

    pub(in crate::walker) fn walker(&self, namespace: &str) -> Option<&Walker> {
        if namespace.is_empty() {
            return Some(&self.root);
        }
        self.children.get(namespace).map(|child| &child.walker)
    }

    pub(in crate::walker) fn walker_mut(&mut self, namespace: &str) -> Result<&mut Walker, HandleError> {
        if namespace.is_empty() {
            return Ok(&mut self.root);
        }
        let child = self.children.get_mut(namespace);
        child.map(|child| &mut child.walker).ok_or_else(|| illegal("there is no such child run"))
    }

    /// Returns the present state of the run. Its questions include those of child runs, each with the path of nodes to it.
    pub fn summary(&self) -> Summary {
        let mut summary = self.root.summary();
        if self.children.is_empty() {
            return summary;
        }
        summary.interrupts = self.open("").into_iter().map(|(_, asked)| asked).collect();
        if summary.status.is_paused() && summary.interrupts.is_empty() {
            summary.status = Status::Running;
        }
        summary.fuel = self.fuel();
        for (namespace, child) in &self.children {
            if child.parent.is_empty() {
                let (used, accounted) = (self.used(namespace), self.root.accounted(&child.task));
                summary.host = summary.host.plus(used.host.less(accounted.host));
            }
        }
        summary
    }

    /// Takes the state of the run when it stopped. The state is moved and not copied, so that the tree must not be used afterwards.
    pub fn take_summary(&mut self) -> Summary {
        let state = self.root.take_state();
        Summary { state, ..self.summary() }
    }

    /// Number of visited nodes in memory that no checkpoint has brought yet.
    #[cfg(test)]
    pub(in crate::walker) fn unwritten_visits(&self) -> usize {
        self.root.unwritten_visits()
    }

    /// Returns the fuel used so far, child runs included: [`Summary::fuel`] without computing the rest.
    pub fn fuel(&self) -> u64 {
        let of_children = self.children.iter().filter(|(_, child)| child.parent.is_empty());
        let of_children = of_children.map(|(namespace, child)| {
            self.used(namespace).fuel.saturating_sub(self.root.accounted(&child.task).fuel)
        });
        of_children.fold(self.root.all_fuel(), u64::saturating_add)
    }

    /// Returns the use of language models so far, child runs included: that of [`Summary::host`] without computing the rest.
    pub fn model_use(&self) -> ModelUse {
        let of_children = self.children.iter().filter(|(_, child)| child.parent.is_empty());
        let of_children = of_children.map(|(namespace, child)| {
            self.used(namespace).host.less(self.root.accounted(&child.task).host).model
        });
        of_children.fold(self.root.all_host().model, ModelUse::plus)
    }

    /// Returns the inputs of the run in a namespace, if the tree has it.
    pub fn inputs_of(&self, namespace: &str) -> Option<Arc<Value>> {
        self.walker(namespace).map(|walker| Arc::clone(&walker.setup().inputs))
    }

    /// Returns the inputs that a record is the first to name, whose text a driver stores with it. The inputs of a new
    /// root run are stored when it is created.
    pub fn new_inputs(&self, record: &Record) -> Option<Arc<Value>> {
        let Record::Checkpoint(checkpoint) = record else { return None };
        let of_child = !checkpoint.namespace.is_empty() && checkpoint.parent.is_none();
        let is_new = of_child || checkpoint.source == Source::Inputs;
        is_new.then(|| self.inputs_of(&checkpoint.namespace)).flatten()
    }

    /// Returns the document of a written graph that a record is the first to name, with the digest of the graph. A
    /// driver stores its text with the record, and [`RestoredChild::graph`] gives it back.
    pub fn new_document(&self, record: &Record) -> Option<(Digest, Arc<Value>)> {
        let Record::Checkpoint(checkpoint) = record else { return None };
        let child = self.children.get(&*checkpoint.namespace)?;
        let graph = child.walker.graph();
        let is_new = child.written.is_some() && checkpoint.parent.is_none();
        is_new.then(|| (graph.digest, Arc::clone(&graph.document)))
    }

    /// Returns the inputs with `new` ones merged over them, shallowly.
    pub fn merged_inputs(&self, new: &Map<String, Value>) -> Value {
        self.root.merged_inputs(new)
    }

    /// Drops the child runs of committed supersteps, and their records that wait to be stored.
    fn forget(&mut self, committed: &BTreeSet<Arc<str>>) {
        let before = self.children.len();
        for parent in committed {
            let Ok(walker) = self.walker_mut(parent) else { continue };
            let ((_, step), ended) = (walker.boundary(), walker.end().is_some());
            // Only runs below the parent are visited, since each of very many child runs commits.
            let prefix = prefix_below(parent);
            let is_history = |namespace: &str| {
                let below = namespace.get(prefix.len()..).unwrap_or_default();
                let number = below.split_once('.').and_then(|(number, _)| number.parse::<u64>().ok());
                ended || number.is_none_or(|number| number <= step)
            };
            let history: Vec<Arc<str>> = names_below(&self.children, &prefix)
                .filter(|namespace| is_history(namespace))
                .cloned()
                .collect();
            for namespace in history {
                self.children.remove(&namespace);
            }
        }
        if committed.iter().any(|namespace| namespace.is_empty()) {
            // The boundary of the root run replaces the records of the resume.
            self.deferred.clear();
        } else if self.children.len() < before {
            // Not at each end of a child run: very many records may wait, and very many child runs end.
            let since = *self.deferred_since.get_or_insert(self.deferred.len());
            if self.deferred.len() / 2 >= since.max(FEW) {
                self.forget_deferred();
            }
        }
    }

    /// Drops waiting records of child runs that have ended. The records of a resume for them stay, up to the record
    /// that the root run continues: stored alone, that record would have the run continue without the answers.
    fn forget_deferred(&mut self) {
        if self.deferred_since.take().is_none() {
            return;
        }
        visits::add(self.deferred.len());
        let (children, mut brought) = (&self.children, self.brought());
        self.deferred.retain(|(namespace, _)| {
            let is_brought = brought > 0;
            brought = brought.saturating_sub(1);
            is_brought || namespace.is_empty() || children.contains_key(namespace)
        });
    }

    /// Logical bytes of the waiting records, besides those that their runs count as stored.
    pub(super) fn deferred_size(&self) -> u64 {
        DEFERRED.saturating_mul(self.deferred.len() as u64)
    }

    /// Number of waiting records that a resume has brought: those up to the record that the root run continues.
    fn brought(&self) -> usize {
        let goes_on = |(namespace, persist): &(Arc<str>, Box<Persist>)| {
            namespace.is_empty() && matches!(persist.record, Record::Status(_))
        };
        self.deferred.iter().position(goes_on).map_or(0, |at| at + 1)
    }

    /// Returns `true` if records are stored only when the root run stops.
    fn is_stored_at_stops(&self) -> bool {
        self.root.setup().durability == Durability::Exit
    }
}

/// Returns the prefix of the namespaces of the runs below a run.
fn prefix_below(namespace: &str) -> String {
    if namespace.is_empty() { String::new() } else { format!("{namespace}/") }
}

/// Returns the namespaces of child runs with a prefix, in order.
fn names_below<'c>(
    children: &'c BTreeMap<Arc<str>, Child>,
    prefix: &'c str,
) -> impl Iterator<Item = &'c Arc<str>> {
    let from = (Bound::Included(prefix), Bound::Unbounded);
    children
        .range::<str, _>(from)
        .map(|(namespace, _)| namespace)
        .inspect(|_| visits::count())
        .take_while(move |namespace| namespace.starts_with(prefix))
}

impl Child {
    pub(in crate::walker) const fn walker(&self) -> &Walker {
        &self.walker
    }

    /// The namespace of the parent run.
    pub(in crate::walker) const fn parent(&self) -> &Arc<str> {
        &self.parent
    }

    /// The task in the parent run.
    pub(in crate::walker) const fn task(&self) -> &Arc<str> {
        &self.task
    }

    /// Returns `true` if the child run is active and its task waits for it.
    fn is_active(&self) -> bool {
        self.attempt.is_some() && self.walker.is_under_way()
    }
}
