//! The way of effects: from the walker that asks for something to the driver, or to another walker of the tree.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::super::event::{Effect, Event, Notice, Persist, PersistId, TimerId};
use super::super::machine::illegal;
use super::super::setup::HandleError;
use super::names::{child_namespace, graph_of};
use super::{RunTree, Sent};
use crate::graph::{Durability, ItemType, Primary};
use crate::record::{CacheEntry, Record};
use crate::time::Timestamp;

/// Effects on their way.
#[derive(Debug)]
pub(super) struct Route {
    pub(super) now: Timestamp,
    /// Effects of walkers, by namespace, that have not been looked at.
    waiting: VecDeque<(Arc<str>, Effect)>,
    /// What the driver is to do.
    pub(super) out: Vec<Effect>,
    /// Runs of which a superstep has committed.
    committed: BTreeSet<Arc<str>>,
    /// Records that are held back and whose walkers take them for persisted.
    taken: Vec<(Arc<str>, PersistId)>,
}

impl Route {
    pub(super) const fn new(now: Timestamp) -> Self {
        Self { now, waiting: VecDeque::new(), out: Vec::new(), committed: BTreeSet::new(), taken: Vec::new() }
    }

    /// What a walker asks for comes before what waits already, for it is what that leads to; but behind what the same
    /// walker has asked for before.
    pub(super) fn push(&mut self, namespace: &str, effects: Vec<Effect>) {
        let namespace: Arc<str> = namespace.into();
        let own = self.waiting.iter().rposition(|(of, _)| *of == namespace);
        for (at, effect) in (own.map_or(0, |own| own + 1)..).zip(effects) {
            self.waiting.insert(at, (Arc::clone(&namespace), effect));
        }
    }
}

impl RunTree {
    /// Hands a walker an event.
    pub(super) fn tell(
        &mut self,
        namespace: &str,
        event: Event,
        route: &mut Route,
    ) -> Result<(), HandleError> {
        let effects = self.walker_mut(namespace)?.handle(route.now, event)?;
        route.push(namespace, effects);
        Ok(())
    }

    /// Follows effects until all have reached the driver, or another walker.
    pub(super) fn follow(&mut self, route: &mut Route) -> Result<(), HandleError> {
        loop {
            while let Some((namespace, effect)) = route.waiting.pop_front() {
                self.perform(&namespace, effect, route)?;
            }
            let taken = std::mem::take(&mut route.taken);
            if taken.is_empty() {
                break;
            }
            for (namespace, id) in taken {
                if self.walker(&namespace).is_some() {
                    self.tell(&namespace, Event::Persisted(id), route)?;
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
                let is_graph = spec.primary == Primary::Execute
                    && spec.item_type == ItemType::Tool
                    && graph_of(&self.root.setup.graphs, &spec.item_id).is_some();
                if is_graph {
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
                self.tell(&child, Event::KillRequested, route)?;
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
                        path: walker.path.as_str().into(),
                        notice: Box::new(notice),
                    },
                    _ => notice,
                };
                route.out.push(Effect::Emit(notice));
            }
            Effect::Suspend(_) | Effect::Finish(_) if !of_root => self.child_stopped(namespace, route)?,
            effect @ (Effect::LookUp(_)
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

    /// Gives a record its place in the order of all. Under `durability: exit` the records of a child wait for those of the
    /// run at the top: nothing of a run is stored before it stops. They follow the checkpoint that they are under. What
    /// supersteps leave for later tasks comes with the first checkpoint of all: a run that goes on finds the same there.
    fn hand_out(&mut self, namespace: &Arc<str>, mut persist: Box<Persist>, route: &mut Route) {
        if self.root.setup.durability == Durability::Exit {
            let results = std::mem::take(&mut persist.results);
            self.keep_until_stored(results);
            if !namespace.is_empty() {
                route.taken.push((Arc::clone(namespace), persist.id));
                if let Some(child) = self.children.get_mut(namespace) {
                    child.held.push(*persist);
                }
                return;
            }
            let committed = std::mem::take(&mut route.committed);
            self.forget(&committed);
            let (first, last) = match persist.record {
                Record::Checkpoint(_) => (Some(persist), None),
                _ => (None, Some(persist)),
            };
            if let Some(mut checkpoint) = first {
                checkpoint.results = std::mem::take(&mut self.results).into_values().collect();
                self.number(namespace, checkpoint, true, route);
            }
            let held: Vec<(Arc<str>, Vec<Persist>)> = self
                .children
                .iter_mut()
                .map(|(namespace, child)| (Arc::clone(namespace), std::mem::take(&mut child.held)))
                .collect();
            for (namespace, records) in held {
                for mut record in records {
                    // Where the run at the top stands as before, what is left of committed supersteps is of its child runs.
                    if matches!(record.record, Record::Checkpoint(_)) && !self.results.is_empty() {
                        record.results = std::mem::take(&mut self.results).into_values().collect();
                    }
                    self.number(&namespace, Box::new(record), false, route);
                }
            }
            if let Some(record) = last {
                self.number(namespace, record, true, route);
            }
            return;
        }
        self.number(namespace, persist, true, route);
    }

    /// Under `durability: exit` what supersteps leave for later tasks is stored with the run at the top, whatever becomes
    /// of the run that it is of.
    fn take_results(&mut self, namespace: &str) {
        if self.root.setup.durability == Durability::Exit
            && let Ok(walker) = self.walker_mut(namespace)
        {
            let results = std::mem::take(&mut walker.results);
            self.keep_until_stored(results.into_values());
        }
    }

    fn keep_until_stored(&mut self, results: impl IntoIterator<Item = CacheEntry>) {
        let placed = |entry: CacheEntry| ((entry.key, entry.namespace().to_owned()), entry);
        self.results.extend(results.into_iter().map(placed));
    }

    fn number(&mut self, namespace: &Arc<str>, mut persist: Box<Persist>, told: bool, route: &mut Route) {
        self.persists += 1;
        let id = PersistId(self.persists);
        if told {
            self.sent.push_back(Sent { id, namespace: Arc::clone(namespace), own: persist.id });
        }
        persist.id = id;
        route.out.push(Effect::Persist(persist));
    }

    /// Everything up to a record is persisted: whoever has handed any of it out is told.
    pub(super) fn persisted(&mut self, id: PersistId, route: &mut Route) -> Result<(), HandleError> {
        if id.0 > self.persists {
            return Err(illegal("nothing with that id was to be persisted"));
        }
        let mut newest: BTreeMap<Arc<str>, (PersistId, PersistId)> = BTreeMap::new();
        while let Some(sent) = self.sent.pop_front_if(|sent| sent.id <= id) {
            newest.insert(sent.namespace, (sent.id, sent.own));
        }
        let mut told: Vec<_> =
            newest.into_iter().map(|(namespace, (id, own))| (id, namespace, own)).collect();
        told.sort_unstable();
        for (_, namespace, own) in told {
            // The superstep around a child may have committed meanwhile.
            if self.walker(&namespace).is_some() {
                self.tell(&namespace, Event::Persisted(own), route)?;
                self.follow(route)?;
            }
        }
        Ok(())
    }

    /// The store has refused a record: no run of the tree can go on.
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
            let effects = child.walker.handle(route.now, failed())?;
            let aborts = effects
                .into_iter()
                .filter(|effect| matches!(effect, Effect::Abort { .. } | Effect::AbortHook { .. }));
            route.out.extend(aborts);
        }
        route.out.extend(self.root.handle(route.now, failed())?);
        route.out.retain(|effect| !matches!(effect, Effect::Abort { task, .. } if tasks.contains(task)));
        Ok(())
    }
}
