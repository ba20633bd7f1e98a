//! The questions of a tree of runs, and the answers to them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::super::answers::resolve;
use super::super::event::Answers;
use super::super::resume::task_of;
use super::super::setup::HandleError;
use super::super::superstep::ordinal;
use super::RunTree;
use super::names::child_namespace;
use crate::record::{InterruptRecord, PendingOutcome, Status};

/// Answers by namespace and task.
type Given = BTreeMap<Arc<str>, BTreeMap<Arc<str>, Value>>;

impl RunTree {
    /// What a run and those below it ask, in task order, each with its namespace. Nodes are paths from the top.
    pub(super) fn open(&self, namespace: &str) -> Vec<(Arc<str>, InterruptRecord)> {
        let Some(walker) = self.walker(namespace) else { return Vec::new() };
        let here: Arc<str> = namespace.into();
        let mut found: Vec<(u64, Arc<str>, InterruptRecord)> = walker
            .interrupts
            .iter()
            .map(|asked| {
                let record = InterruptRecord { node: walker.path_of(&asked.node), ..asked.clone() };
                (ordinal(&task_of(&asked.id)), Arc::clone(&here), record)
            })
            .collect();
        for (name, child) in &self.children {
            if *child.parent == *namespace && self.is_open(namespace, &child.task) {
                let below = self.open(name).into_iter();
                found.extend(below.map(|(owner, asked)| (ordinal(&child.task), owner, asked)));
            }
        }
        found.sort_by_key(|(ordinal, ..)| *ordinal);
        found.into_iter().map(|(_, owner, asked)| (owner, asked)).collect()
    }

    /// Whether a task may still go on: neither its answer nor a failure that is handled has settled it.
    fn is_open(&self, namespace: &str, task: &str) -> bool {
        let Some(walker) = self.walker(namespace) else { return false };
        let left = walker.pending.0.get(task).and_then(|left| left.outcome.as_ref());
        !matches!(left, Some(PendingOutcome::Done { .. } | PendingOutcome::Handled { .. }))
    }

    /// Which run goes on with which answers.
    pub(super) fn answers(&self, answers: Answers) -> Result<Given, HandleError> {
        let (mut asked, mut passive) = (Vec::new(), Vec::new());
        let mut owners = BTreeMap::new();
        for (owner, question) in self.open("") {
            let walker = self.walker(&owner);
            let own = task_of(&question.id);
            let is_task = walker.is_some_and(|walker| walker.pending.0.contains_key(&own));
            owners.insert(question.id.clone(), (Arc::clone(&owner), is_task.then_some(own)));
            if is_task { asked.push(question) } else { passive.push(question) }
        }
        let status = if asked.is_empty() { self.root.status } else { self.summary().status };
        // A run that was cut short has yet to stop at the pauses of its child runs: nobody has been told of them.
        let was_told = !self.root.recovered && self.root.status != Status::Running;
        let passes_all = was_told && asked.is_empty() && !matches!(answers, Answers::ById(_));
        let resolved = resolve(&asked, &passive, status, answers)?;
        let mut given = Given::new();
        for (id, answer) in resolved {
            let Some((owner, task)) = owners.get(&id) else { continue };
            let of_run = given.entry(Arc::clone(owner)).or_default();
            if let Some(task) = task {
                of_run.insert(Arc::clone(task), answer);
            }
        }
        if passes_all {
            for question in &passive {
                if let Some((owner, _)) = owners.get(&question.id) {
                    given.entry(Arc::clone(owner)).or_default();
                }
            }
        }
        Ok(given)
    }

    /// Lets the tasks of a run go on whose child runs have something to go on with.
    pub(super) fn wake(&mut self, namespace: &str) {
        let Some(walker) = self.walker(namespace) else { return };
        let suspended: Vec<Arc<str>> = walker.pending.suspended().cloned().collect();
        let awake: Vec<Arc<str>> = suspended
            .into_iter()
            .filter(|task| {
                self.walker(namespace).is_some_and(|walker| self.can_go_on(&child_namespace(walker, task)))
            })
            .collect();
        let Ok(walker) = self.walker_mut(namespace) else { return };
        for task in awake {
            if let Some(left) = walker.pending.0.get_mut(&task) {
                left.woken = true;
            }
        }
    }

    /// Whether something has come for one of the child runs that the run at the top waits for.
    pub(super) fn goes_on_below(&self) -> bool {
        self.root.pending.suspended().any(|task| self.has_more(&child_namespace(&self.root, task)))
    }

    /// Whether a child run, or one below it, has something to go on with. A run that was never stored begins.
    pub(super) fn can_go_on(&self, namespace: &str) -> bool {
        let Some(child) = self.children.get(namespace) else { return true };
        child.walker.status != Status::Interrupted || self.has_more(namespace)
    }

    /// Whether something has come for a child run that has stopped, or for one below it.
    pub(super) fn has_more(&self, namespace: &str) -> bool {
        let Some(child) = self.children.get(namespace) else { return false };
        let walker = &child.walker;
        walker.pending.has_answers()
            || walker.is_let_go()
            || walker.pending.suspended().any(|task| self.can_go_on(&child_namespace(walker, task)))
    }
}
