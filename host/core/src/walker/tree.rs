//! A run with the runs of the graphs inside its graph. It takes events and gives effects as one walker does, so that
//! whoever drives a run need not know how many there are.

mod child;
mod cycles;
mod names;
mod questions;
mod restore;
mod route;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::Walker;
use super::event::{Effect, Event, Persist, PersistId, Resume, TimerId};
use super::machine::{Phase, illegal};
use super::records::SPILL;
use super::setup::{HandleError, RestoreError, Restored, Setup, Summary};
use crate::digest::Digest;
use crate::graph::{Durability, Graph};
use crate::record::{CacheEntry, Record, Status};
use crate::time::Timestamp;

pub use cycles::{cycles, named};
pub use names::is_child_of;
pub use restore::{RestoredChild, RestoredTree};

pub(super) use names::graph_of;

/// Walks a graph, and the graphs that its nodes name.
#[derive(Debug)]
pub struct RunTree {
    root: Walker,
    /// The child runs of the supersteps under way, by namespace. Those of committed supersteps are history.
    children: BTreeMap<Arc<str>, Child>,
    /// The records that were handed out and are not known to be persisted: by the tree's number, whose they are.
    sent: VecDeque<Sent>,
    persists: u64,
    /// Under `durability: exit`: records that wait until the run at the top stops, in the order in which they count.
    held: Vec<(Arc<str>, Box<Persist>)>,
    /// What those take up, in logical bytes.
    held_size: u64,
    /// Under `durability: exit`: results that committed supersteps have left and that nothing has stored yet.
    results: BTreeMap<(Digest, String), CacheEntry>,
    /// The total of supersteps that a resume brought. It lets a child go on that is at its limit.
    lifted: Option<u64>,
    /// The walkers that have more to do and have given control back, by namespace, in the order in which they get it again.
    unfinished: VecDeque<Arc<str>>,
}

/// A record that was handed out.
#[derive(Clone, Debug)]
struct Sent {
    id: PersistId,
    namespace: Arc<str>,
    own: PersistId,
}

/// A child run.
#[derive(Debug)]
struct Child {
    walker: Walker,
    /// The task of its parent.
    task: Arc<str>,
    /// The namespace of its parent.
    parent: Arc<str>,
    /// The attempt of that task that waits for it, if one does.
    attempt: Option<u32>,
    /// Its time is the node's `timeout`, not that of a run.
    timed_by_node: bool,
    /// It has had all its time.
    timed_out: bool,
    /// Of what its params ask for, what is not done.
    warnings: Vec<String>,
}

impl RunTree {
    /// A tree for a new run. Its first event is [`Event::Started`].
    pub fn new(graph: Arc<Graph>, setup: Setup) -> Self {
        Self::with(Walker::new(graph, setup))
    }

    fn with(root: Walker) -> Self {
        Self {
            root,
            children: BTreeMap::new(),
            sent: VecDeque::new(),
            persists: 0,
            held: Vec::new(),
            held_size: 0,
            results: BTreeMap::new(),
            lifted: None,
            unfinished: VecDeque::new(),
        }
    }

    /// A tree for a new run that begins where another run stood at a checkpoint: see [`Walker::fork`]. Its first event is
    /// [`Event::Forked`].
    pub fn fork(
        graph: Arc<Graph>,
        setup: Setup,
        of: Restored,
        visited: &[String],
    ) -> Result<Self, RestoreError> {
        Ok(Self::with(Walker::fork(graph, setup, of, visited)?))
    }

    /// Takes an event that happened at `now` and says what is to be done.
    pub fn handle(&mut self, now: Timestamp, event: Event) -> Result<Vec<Effect>, HandleError> {
        if self.root.setup.graphs.is_empty() && !self.is_stored_at_stops() {
            return self.root.handle(now, event);
        }
        let mut route = route::Route::new(now);
        match event {
            Event::TaskDone { ref task, .. } | Event::TimerFired(TimerId::Retry { ref task, .. }) => {
                let namespace: Arc<str> = names::namespace_of(task).into();
                self.tell(&namespace, event, &mut route)?;
            }
            Event::LookedUp { task, attempt, key, found, trouble } => {
                let namespace: Arc<str> = names::namespace_of(&task).into();
                let unstored = key.and_then(|key| self.unstored(&namespace, &task, &key, found.as_deref()));
                let found = unstored.map(Box::new).or(found);
                let event = Event::LookedUp { task, attempt, key, found, trouble };
                self.tell(&namespace, event, &mut route)?;
            }
            Event::HookDone { ref hook, .. } => {
                let waits = self.children.iter().find(|(_, child)| child.walker.awaits_hook(hook));
                let namespace: Arc<str> = waits.map_or_else(|| "".into(), |(name, _)| Arc::clone(name));
                // The superstep around its run may have committed meanwhile.
                if self.walker(&namespace).is_some_and(|walker| walker.awaits_hook(hook)) {
                    self.tell(&namespace, event, &mut route)?;
                }
            }
            Event::TimerFired(TimerId::ChildTimeout { ref namespace }) => {
                let namespace = Arc::clone(namespace);
                // It may have ended meanwhile.
                if let Some(child) = self.children.get_mut(&namespace) {
                    child.timed_out = child.walker.is_under_way();
                    self.tell(&namespace, Event::TimerFired(TimerId::RunTimeout), &mut route)?;
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
                self.tell("", Event::CancelRequested, &mut route)?;
                for namespace in active {
                    self.tell(&namespace, Event::CancelRequested, &mut route)?;
                }
            }
            Event::Updated(_) => {
                self.tell("", event, &mut route)?;
                // What was under way is discarded, and its child runs with it.
                self.children.clear();
                self.held.clear();
            }
            Event::Continued => self.go_on_with_unfinished(&mut route)?,
            Event::Started
            | Event::Forked(_)
            | Event::KillRequested
            | Event::TimerFired(TimerId::RunTimeout) => {
                self.tell("", event, &mut route)?;
            }
        }
        self.follow(&mut route)?;
        self.spill(&mut route)?;
        if !self.unfinished.is_empty() {
            route.out.push(Effect::Continue);
        }
        Ok(route.out)
    }

    /// Gives control back to walkers that have more to do, until enough has been done at one time.
    fn go_on_with_unfinished(&mut self, route: &mut route::Route) -> Result<(), HandleError> {
        for _ in 0..self.unfinished.len() {
            if route.slice >= self.root.slice_length {
                break;
            }
            let Some(namespace) = self.unfinished.pop_front() else { break };
            // The superstep around it may have committed meanwhile.
            if let Some(walker) = self.walker(&namespace) {
                if !self.is_stored_at_stops() {
                    route.now = walker.event_time;
                }
                self.tell(&namespace, Event::Continued, route)?;
                self.follow(route)?;
            }
        }
        Ok(())
    }

    /// Under `durability: exit` records wait for the end of the run at the top. Once too much waits, everything is stored up
    /// to where the runs are, as it would be if they had stopped there.
    fn spill(&mut self, route: &mut route::Route) -> Result<(), HandleError> {
        if !self.is_stored_at_stops() || self.children.is_empty() {
            return Ok(());
        }
        let walkers = || std::iter::once(&self.root).chain(self.children.values().map(|child| &child.walker));
        let waits = walkers().map(Walker::unstored).fold(self.held_size, u64::saturating_add);
        // What a commit has written to channels is not final before it is done.
        if waits <= SPILL || walkers().any(Walker::is_between_boundaries) {
            return Ok(());
        }
        let namespaces = std::iter::once(Arc::from("")).chain(self.children.keys().cloned());
        let namespaces: Vec<Arc<str>> = namespaces.collect();
        for namespace in namespaces {
            let walker = self.walker_mut(&namespace)?;
            if walker.unwritten.is_none() {
                continue;
            }
            let mut effects = Vec::new();
            if walker.write_checkpoint(&mut effects).is_err() {
                // It stops the run once the boundary has to be written.
                continue;
            }
            for effect in effects {
                if let Effect::Persist(persist) = effect {
                    self.hold(&namespace, persist);
                }
            }
        }
        self.hand_out_held(route);
        Ok(())
    }

    /// What stands in for a task, of what was found and of what nothing has stored yet.
    fn unstored(
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

    /// A person or program wants the run to go on. What is refused changes nothing.
    fn resumed(&mut self, resume: Resume, route: &mut route::Route) -> Result<(), HandleError> {
        self.root.check_suspended()?;
        if self.root.cancel_requested || resume.inputs.is_some() {
            let anew = resume.inputs.is_some() && !self.root.cancel_requested;
            self.tell("", Event::Resumed(resume), route)?;
            if anew {
                // What was under way is discarded, and its child runs with it.
                self.children.clear();
                self.held.clear();
            }
            return Ok(());
        }
        let mut given = self.answers(resume.answers)?;
        self.root.check_limit(resume.max_steps)?;
        let own = given.remove("").unwrap_or_default();
        // What a resume brings is recorded with the runs that it is for before any of them goes on.
        let mut recorded = Vec::new();
        for (namespace, answers) in given {
            let mut effects = Vec::new();
            self.walker_mut(&namespace)?.take_given(route.now, answers, &mut effects);
            recorded.push((namespace, effects));
        }
        self.lifted = resume.max_steps.or(self.lifted);
        self.wake("");
        let mut effects = Vec::new();
        self.root.slice = route.slice;
        self.root.go_on(route.now, own, resume.max_steps, None, &mut effects)?;
        self.root.drive(route.now, &mut effects);
        route.push("", effects);
        for (namespace, effects) in recorded.into_iter().rev() {
            route.push(&namespace, effects);
        }
        Ok(())
    }

    /// Has every walker give control back after so much work.
    #[cfg(test)]
    pub(super) fn set_slice(&mut self, length: u64) {
        self.root.slice_length = length;
        self.children.values_mut().for_each(|child| child.walker.slice_length = length);
    }

    fn walker(&self, namespace: &str) -> Option<&Walker> {
        if namespace.is_empty() {
            return Some(&self.root);
        }
        self.children.get(namespace).map(|child| &child.walker)
    }

    fn walker_mut(&mut self, namespace: &str) -> Result<&mut Walker, HandleError> {
        if namespace.is_empty() {
            return Ok(&mut self.root);
        }
        let child = self.children.get_mut(namespace);
        child.map(|child| &mut child.walker).ok_or_else(|| illegal("there is no such child run"))
    }

    /// The run as it stands. The questions of child runs are among its own, each with the path of nodes to it.
    pub fn summary(&self) -> Summary {
        let mut summary = self.root.summary();
        if self.children.is_empty() {
            return summary;
        }
        summary.interrupts = self.open("").into_iter().map(|(_, asked)| asked).collect();
        if summary.status == Status::Interrupted && summary.interrupts.is_empty() {
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

    /// The run as it stood when it stopped, for the last time: its state is handed over and not copied, and the walker is of
    /// no use afterwards.
    pub fn take_summary(&mut self) -> Summary {
        let state = self.root.channels.take();
        self.root.phase = Phase::Broken;
        Summary { state, ..self.summary() }
    }

    /// How many nodes visited are held that no checkpoint has brought yet.
    #[cfg(test)]
    pub(super) fn visited_held(&self) -> usize {
        self.root.visited.len()
    }

    /// Fuel that the run has used by now, child runs included: [`Summary::fuel`] without the rest.
    pub fn fuel(&self) -> u64 {
        let of_children = self.children.iter().filter(|(_, child)| child.parent.is_empty());
        let of_children = of_children.map(|(namespace, child)| {
            self.used(namespace).fuel.saturating_sub(self.root.accounted(&child.task).fuel)
        });
        of_children.fold(self.root.all_fuel(), u64::saturating_add)
    }

    /// The inputs of the run in a namespace, if it is under way.
    pub fn inputs_of(&self, namespace: &str) -> Option<Arc<Value>> {
        self.walker(namespace).map(|walker| Arc::clone(&walker.setup.inputs))
    }

    /// The inputs as they would be with `new` ones merged over them, shallowly.
    pub fn merged_inputs(&self, new: &Map<String, Value>) -> Value {
        self.root.merged_inputs(new)
    }

    /// Forgets the child runs of supersteps that have committed, and what of them waits to be stored.
    fn forget(&mut self, committed: &BTreeSet<Arc<str>>) {
        let before = self.children.len();
        for parent in committed {
            let Ok(walker) = self.walker_mut(parent) else { continue };
            let (step, ended) = (walker.step, walker.end.is_some());
            let prefix = if parent.is_empty() { String::new() } else { format!("{parent}/") };
            self.children.retain(|namespace, _| {
                let Some(below) = namespace.strip_prefix(prefix.as_str()) else { return true };
                let number = below.split_once('.').and_then(|(number, _)| number.parse::<u64>().ok());
                !ended && number.is_some_and(|number| number > step)
            });
        }
        if committed.iter().any(|namespace| namespace.is_empty()) {
            // It has taken up what a resume has brought.
            self.held.clear();
        } else if self.children.len() < before {
            self.forget_held();
        }
    }

    /// Drops the records that wait and are of child runs that are history. What a resume has brought for them stays with
    /// the word that the run at the top goes on: that word alone would have it go on without.
    fn forget_held(&mut self) {
        let (children, mut brought) = (&self.children, self.brought());
        self.held.retain(|(namespace, _)| {
            let is_brought = brought > 0;
            brought = brought.saturating_sub(1);
            is_brought || namespace.is_empty() || children.contains_key(namespace)
        });
    }

    /// How many of the records that wait are what a resume has brought: those up to the word that the run at the top goes
    /// on.
    fn brought(&self) -> usize {
        let goes_on = |(namespace, persist): &(Arc<str>, Box<Persist>)| {
            namespace.is_empty() && matches!(persist.record, Record::Status(_))
        };
        self.held.iter().position(goes_on).map_or(0, |at| at + 1)
    }

    /// Whether nothing of the run is stored but where it stops.
    fn is_stored_at_stops(&self) -> bool {
        self.root.setup.durability == Durability::Exit
    }
}

impl Child {
    /// Whether it is on its way.
    fn is_active(&self) -> bool {
        self.attempt.is_some() && self.walker.is_under_way()
    }
}
