//! Routing of effects from a walker to the driver, or to another walker of the tree.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::{RunTree, SentRecord, names_below, prefix_below};
use crate::host_item::HostItem;
use crate::walker::event::{Effect, Event, Notice, Persist, PersistId, TimerId};
use crate::walker::machine::illegal;
use crate::walker::setup::HandleError;
use crate::walker::tree::names::{child_namespace, graph_of, is_below, namespace_of};
use crate::walker::tree::visits;
use graph_core::item::{ItemOperation, ItemType};
use graph_core::record::{CacheEntry, Record, Status};
use graph_core::time::Timestamp;

/// Effects that have not reached their receivers.
#[derive(Debug)]
pub(super) struct Route {
    now: Timestamp,
    /// Effects of walkers that have not been performed, with their namespaces.
    waiting: VecDeque<(Arc<str>, Effect)>,
    /// Number of waiting effects of a namespace, so that those of a walker without any need not be searched for.
    counts: BTreeMap<Arc<str>, usize>,
    /// The effects for the driver.
    out: Vec<Effect>,
    /// Runs that have committed a superstep.
    committed: BTreeSet<Arc<str>>,
    /// Held-back records that their walkers count as persisted.
    taken: Vec<(Arc<str>, PersistId)>,
    /// Fuel of the host's work, of all walkers, since the driver handed over the event.
    slice: u64,
}

impl Route {
    pub(super) const fn new(now: Timestamp) -> Self {
        Self {
            now,
            waiting: VecDeque::new(),
            counts: BTreeMap::new(),
            out: Vec::new(),
            committed: BTreeSet::new(),
            taken: Vec::new(),
            slice: 0,
        }
    }

    /// Time of the event that the driver handed over.
    pub(super) const fn now(&self) -> Timestamp {
        self.now
    }

    /// Sets the time to that of an earlier event for which a walker has work left.
    pub(super) const fn return_to(&mut self, then: Timestamp) {
        self.now = then;
    }

    /// Work done since the driver handed over the event.
    pub(super) const fn slice(&self) -> u64 {
        self.slice
    }

    /// Work done since the driver handed over the event, for a walker to add to.
    pub(super) const fn slice_mut(&mut self) -> &mut u64 {
        &mut self.slice
    }

    /// Adds an effect for the driver.
    pub(super) fn send(&mut self, effect: Effect) {
        self.out.push(effect);
    }

    /// The effects for the driver.
    pub(super) fn into_effects(self) -> Vec<Effect> {
        self.out
    }

    /// Puts a walker's effects before the waiting ones, since they follow from the effect that is being performed; but
    /// after waiting effects of the same walker.
    pub(super) fn push(&mut self, namespace: &str, effects: Vec<Effect>) {
        if effects.is_empty() {
            return;
        }
        let namespace: Arc<str> = namespace.into();
        let count = self.counts.entry(Arc::clone(&namespace)).or_default();
        let own = if *count == 0 {
            None
        } else {
            self.waiting.iter().inspect(|_| visits::count()).rposition(|(of, _)| *of == namespace)
        };
        *count += effects.len();
        for (at, effect) in (own.map_or(0, |own| own + 1)..).zip(effects) {
            self.waiting.insert(at, (Arc::clone(&namespace), effect));
        }
    }

    /// Takes the next effect to perform, with the namespace of its walker.
    fn next(&mut self) -> Option<(Arc<str>, Effect)> {
        let (namespace, effect) = self.waiting.pop_front()?;
        if let Some(count) = self.counts.get_mut(&namespace) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.counts.remove(&namespace);
            }
        }
        Some((namespace, effect))
    }
}

impl RunTree {
    /// Hands an event to a walker.
    pub(super) fn deliver(
        &mut self,
        namespace: &str,
        event: Event,
        route: &mut Route,
    ) -> Result<(), HandleError> {
        let effects = self.walker_mut(namespace)?.take_in(route.now, event, &mut route.slice);
        route.push(namespace, effects?);
        Ok(())
    }

    /// Performs effects until all have reached the driver or another walker.
    pub(super) fn follow(&mut self, route: &mut Route) -> Result<(), HandleError> {
        loop {
            while let Some((namespace, effect)) = route.next() {
                self.perform(&namespace, effect, route)?;
            }
            let taken = std::mem::take(&mut route.taken);
            if taken.is_empty() {
                break;
            }
            for (namespace, id) in taken {
                if self.walker(&namespace).is_some() {
                    self.deliver(&namespace, Event::Persisted(id), route)?;
                }
            }
        }
        let committed = std::mem::take(&mut route.committed);
        self.forget(&committed);
        Ok(())
    }

    fn perform(
        &mut self,
        namespace: &Arc<str>,
        effect: Effect,
        route: &mut Route,
    ) -> Result<(), HandleError> {
        let of_root = namespace.is_empty();
        match effect {
            Effect::RunTask(spec) => {
                let is_written =
                    HostItem::of_dispatch(spec.operation, spec.item_type, &spec.item_id).is_some();
                let is_graph = spec.operation == ItemOperation::Execute
                    && spec.item_type == ItemType::Tool
                    && graph_of(&self.root.setup().graphs, &spec.item_id).is_some();
                if is_written || is_graph {
                    return self.run_child(namespace, &spec, route);
                }
                route.out.push(Effect::RunTask(spec));
            }
            Effect::Abort { task, attempt } => {
                let child = match self.walker(namespace) {
                    Some(walker) => child_namespace(walker, &task),
                    None => return Ok(()),
                };
                let Some(found) =
                    self.children.get_mut(&child).filter(|child| child.attempt == Some(attempt))
                else {
                    route.out.push(Effect::Abort { task, attempt });
                    return Ok(());
                };
                found.attempt = None;
                self.walker_mut(namespace)?.forget_aborted(&task, attempt);
                self.deliver(&child, Event::KillRequested, route)?;
            }
            Effect::Persist(persist) => self.hand_out(namespace, persist, route),
            Effect::SetTimer { timer: TimerId::RunTimeout, at } if !of_root => {
                let timer = TimerId::ChildTimeout { namespace: Arc::clone(namespace) };
                route.out.push(Effect::SetTimer { timer, at });
            }
            Effect::Emit(notice) => {
                if matches!(notice, Notice::Committed { .. }) {
                    self.take_results(namespace);
                    route.committed.insert(Arc::clone(namespace));
                }
                let notice = match self.walker(namespace) {
                    Some(walker) if !of_root => Notice::Child {
                        namespace: Arc::clone(namespace),
                        path: walker.path().into(),
                        notice: Box::new(notice),
                    },
                    _ => notice,
                };
                route.out.push(Effect::Emit(notice));
            }
            Effect::Continue => {
                if self.is_unfinished.insert(Arc::clone(namespace)) {
                    self.unfinished.push_back(Arc::clone(namespace));
                }
            }
            Effect::Suspend(_) | Effect::Finish(_) if !of_root => self.child_stopped(namespace, route)?,
            effect @ (Effect::LookUp(_)
            | Effect::ModelRecorded { .. }
            | Effect::RunHook(_)
            | Effect::AbortHook { .. }
            | Effect::SetTimer { .. }
            | Effect::Suspend(_)
            | Effect::Finish(_)) => {
                route.out.push(effect);
            }
        }
        Ok(())
    }

    /// Gives a record its place in the order of all records. Under `durability: exit` records wait until the root run
    /// stops. The records of a resume, and the record that the run continues with it, wait as well, so that a prefix of
    /// the stored records always describes a consistent progress.
    fn hand_out(&mut self, namespace: &Arc<str>, persist: Box<Persist>, route: &mut Route) {
        if !self.is_stored_at_stops() {
            return self.number(namespace, persist, route);
        }
        let committed = std::mem::take(&mut route.committed);
        self.forget(&committed);
        if !namespace.is_empty() {
            route.taken.push((Arc::clone(namespace), persist.id));
        }
        let goes_on = match &persist.record {
            Record::Answers(_) => true,
            Record::Status(status) => status.status == Status::Running,
            Record::Checkpoint(_) | Record::Task(_) | Record::Hook(_) => false,
        };
        self.defer(namespace, persist);
        if namespace.is_empty() && !goes_on {
            self.hand_out_deferred(route);
        }
    }

    /// Keeps a record until the root run stops. A checkpoint that is made only when its run stops precedes the records
    /// of the child runs of the superstep after it, which belong to it.
    pub(super) fn defer(&mut self, namespace: &Arc<str>, mut persist: Box<Persist>) {
        let results = std::mem::take(&mut persist.results);
        self.keep_until_stored(results);
        let at = match &persist.record {
            Record::Checkpoint(_) if self.has_children(namespace) => {
                self.forget_deferred();
                let from = self.brought();
                let below = self.deferred[from..].iter().position(|(of, _)| is_below(of, namespace));
                below.map(|at| from + at)
            }
            _ => None,
        };
        self.deferred.insert(at.unwrap_or(self.deferred.len()), (Arc::clone(namespace), persist));
    }

    fn has_children(&self, namespace: &str) -> bool {
        names_below(&self.children, &prefix_below(namespace)).next().is_some()
    }

    /// Hands out the waiting records. Results for the cache come with the checkpoint that ends their superstep: that of
    /// their own run or, if that run has ended, of the one around it. Earlier they would replace results of earlier
    /// supersteps, which a run that crashed looks up again.
    pub(super) fn hand_out_deferred(&mut self, route: &mut Route) {
        self.forget_deferred();
        let mut deferred = std::mem::take(&mut self.deferred);
        let mut newest: BTreeMap<Arc<str>, usize> = BTreeMap::new();
        for (at, (namespace, persist)) in deferred.iter().enumerate() {
            if matches!(persist.record, Record::Checkpoint(_)) {
                newest.insert(Arc::clone(namespace), at);
            }
        }
        for (place, entry) in std::mem::take(&mut self.results) {
            let around = std::iter::successors(Some(place.1.as_str()), |namespace| {
                (!namespace.is_empty()).then(|| namespace_of(namespace))
            });
            let at = around.into_iter().find_map(|namespace| newest.get(namespace).copied());
            match at {
                Some(at) => deferred[at].1.results.push(entry),
                None => drop(self.results.insert(place, entry)),
            }
        }
        for (namespace, persist) in deferred {
            self.number(&namespace, persist, route);
        }
    }

    /// Takes results for the cache under `durability: exit`: they are stored with the root run, whatever happens to their own run.
    fn take_results(&mut self, namespace: &str) {
        if self.is_stored_at_stops()
            && let Ok(walker) = self.walker_mut(namespace)
        {
            let results = walker.take_results();
            self.keep_until_stored(results);
        }
    }

    fn keep_until_stored(&mut self, results: impl IntoIterator<Item = CacheEntry>) {
        let placed = |entry: CacheEntry| ((entry.key, entry.namespace().to_owned()), entry);
        self.results.extend(results.into_iter().map(placed));
    }

    fn number(&mut self, namespace: &Arc<str>, mut persist: Box<Persist>, route: &mut Route) {
        self.persists += 1;
        let id = PersistId(self.persists);
        // A child run whose records were held back has counted them as persisted already.
        if namespace.is_empty() || !self.is_stored_at_stops() {
            self.sent.push_back(SentRecord { id, namespace: Arc::clone(namespace), own: persist.id });
        }
        persist.id = id;
        route.out.push(Effect::Persist(persist));
    }

    /// Notifies the runs whose records are persisted, which are all up to `id`.
    pub(super) fn persisted(&mut self, id: PersistId, route: &mut Route) -> Result<(), HandleError> {
        if id.0 > self.persists {
            return Err(illegal("nothing with that id was to be persisted"));
        }
        let mut newest: BTreeMap<Arc<str>, (PersistId, PersistId)> = BTreeMap::new();
        while let Some(sent) = self.sent.pop_front_if(|sent| sent.id <= id) {
            newest.insert(sent.namespace, (sent.id, sent.own));
        }
        let mut stored: Vec<_> =
            newest.into_iter().map(|(namespace, (id, own))| (id, namespace, own)).collect();
        stored.sort_unstable();
        for (_, namespace, own) in stored {
            // The superstep around a child may have committed meanwhile.
            if self.walker(&namespace).is_some() {
                self.deliver(&namespace, Event::Persisted(own), route)?;
                self.follow(route)?;
            }
        }
        Ok(())
    }

    /// Stops all runs of the tree because the store has refused a record.
    pub(super) fn persist_failed(
        &mut self,
        id: PersistId,
        message: &str,
        route: &mut Route,
    ) -> Result<(), HandleError> {
        if id.0 > self.persists {
            return Err(illegal("nothing with that id was to be persisted"));
        }
        let tasks: BTreeSet<Arc<str>> = self.children.values().map(|child| Arc::clone(&child.task)).collect();
        let failed = || Event::PersistFailed { id: PersistId(0), message: message.to_owned() };
        for child in self.children.values_mut() {
            let effects = child.walker.take(route.now, failed())?;
            let aborts = effects
                .into_iter()
                .filter(|effect| matches!(effect, Effect::Abort { .. } | Effect::AbortHook { .. }));
            route.out.extend(aborts);
        }
        route.out.extend(self.root.take(route.now, failed())?);
        route.out.retain(|effect| !matches!(effect, Effect::Abort { task, .. } if tasks.contains(task)));
        Ok(())
    }
}
