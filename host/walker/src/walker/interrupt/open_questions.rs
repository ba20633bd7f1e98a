//! Questions of a tree of runs, and the answers to them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::walker::event::Answers;
use crate::walker::interrupt::match_answers::{AnsweredQuestion, OpenQuestions, QuestionPath, match_answers};
use crate::walker::interrupt::resume::{AnswersByTask, task_of};
use crate::walker::setup::HandleError;
use crate::walker::tasks::superstep::ordinal;
use crate::walker::tree::names::child_namespace;
use crate::walker::tree::run_tree::RunTree;
use graph_core::record::{InterruptRecord, Status};
use graph_core::time::Timestamp;

/// Answers by namespace and task.
type AnswersByRun = BTreeMap<Arc<str>, AnswersByTask>;

impl RunTree {
    /// Returns the questions of a run and those below it, in task order, each with its namespace. Nodes are named by paths from the root.
    pub(in crate::walker) fn open(&self, namespace: &str) -> Vec<(Arc<str>, InterruptRecord)> {
        let Some(walker) = self.walker(namespace) else { return Vec::new() };
        let here: Arc<str> = namespace.into();
        let mut found: Vec<(u64, Arc<str>, InterruptRecord)> = walker
            .interrupts()
            .iter()
            .map(|asked| {
                let record = InterruptRecord { node: walker.path_of(&asked.node), ..asked.clone() };
                (ordinal(&task_of(&asked.id)), Arc::clone(&here), record)
            })
            .collect();
        for (name, child) in self.children() {
            if **child.parent() == *namespace && self.is_open(namespace, child.task()) {
                let below = self.open(name).into_iter();
                found.extend(below.map(|(owner, asked)| (ordinal(child.task()), owner, asked)));
            }
        }
        found.sort_by_key(|(ordinal, ..)| *ordinal);
        found.into_iter().map(|(_, owner, asked)| (owner, asked)).collect()
    }

    /// Returns `true` if no result or handled failure has settled a task, so that it may still continue.
    fn is_open(&self, namespace: &str, task: &str) -> bool {
        self.walker(namespace).is_some_and(|walker| !walker.is_pending_settled(task))
    }

    /// Distributes the answers over the runs that asked.
    pub(in crate::walker) fn answers(
        &self,
        answers: Answers,
        now: Timestamp,
    ) -> Result<AnswersByRun, HandleError> {
        let (mut asked, mut static_interrupts) = (Vec::new(), Vec::new());
        let mut owners = BTreeMap::new();
        for (owner, question) in self.open("") {
            let walker = self.walker(&owner);
            let own = task_of(&question.id);
            let is_task = walker.is_some_and(|walker| walker.has_pending(&own));
            owners.insert(question.id.clone(), (Arc::clone(&owner), is_task.then_some(own)));
            if is_task { asked.push(question) } else { static_interrupts.push(question) }
        }
        let mut answered = Vec::new();
        for (namespace, question) in self.answered_by_namespace() {
            owners.insert(question.id.clone(), (namespace, Some(task_of(&question.id))));
            answered.push(question);
        }
        let mut paths = BTreeMap::new();
        let mut asked_again = BTreeSet::new();
        for question in &asked {
            let Some((owner, _)) = owners.get(&question.id) else { continue };
            let task = task_of(&question.id);
            paths.insert(question.id.clone(), self.path_to(owner, &task));
            if self.walker(owner).is_some_and(|walker| walker.asks_again(&task)) {
                asked_again.insert(question.id.clone());
            }
        }
        let status = if asked.is_empty() { self.root().status() } else { self.summary().status };
        // A run that crashed has still to stop at the pauses of its child runs, which have not been shown yet.
        let was_reported = !self.root().is_recovered() && self.root().status() != Status::Running;
        let passes_all = was_reported && asked.is_empty() && !matches!(answers, Answers::ById(_));
        let questions = OpenQuestions {
            open: &asked,
            static_interrupts: &static_interrupts,
            answered,
            paths,
            asked_again,
            status,
        };
        let resolved = match_answers(&questions, answers, now)?;
        let mut by_run = AnswersByRun::new();
        for (id, answer) in resolved {
            let Some((owner, task)) = owners.get(&id) else { continue };
            let of_run = by_run.entry(Arc::clone(owner)).or_default();
            if let Some(task) = task {
                of_run.insert(Arc::clone(task), answer.into_task_answer(&id, now));
            }
        }
        if passes_all {
            for question in &static_interrupts {
                if let Some((owner, _)) = owners.get(&question.id) {
                    by_run.entry(Arc::clone(owner)).or_default();
                }
            }
        }
        Ok(by_run)
    }

    fn answered_by_namespace(&self) -> Vec<(Arc<str>, AnsweredQuestion)> {
        let mut found = Vec::new();
        for namespace in std::iter::once("").chain(self.children().keys().map(|child| &**child)) {
            let Some(walker) = self.walker(namespace) else { continue };
            found.extend(walker.answered_questions().into_iter().map(|question| {
                let node = walker.path_of(&question.node);
                (Arc::from(namespace), AnsweredQuestion { node, ..question })
            }));
        }
        found
    }

    /// Returns the questions of uncommitted supersteps that have an answer.
    pub fn answered(&self) -> Vec<AnsweredQuestion> {
        self.answered_by_namespace().into_iter().map(|(_, question)| question).collect()
    }

    /// Returns the last question of uncommitted supersteps with that name that has an answer. A name is an id, a node,
    /// or a path such as `each#2/ask`.
    pub fn answered_named(&self, name: &str) -> Option<AnsweredQuestion> {
        let is_named = |(namespace, question): &(Arc<str>, AnsweredQuestion)| {
            question.id == name
                || question.node == name
                || self.path_to(namespace, &task_of(&question.id)).is_named(name)
        };
        self.answered_by_namespace().into_iter().rfind(is_named).map(|(_, question)| question)
    }

    /// Returns `true` if a resume asks an open question again in case accepted changes have made it another one.
    pub fn is_asked_again(&self, id: &str) -> bool {
        let mut found = self.open("").into_iter().filter(|(_, asked)| asked.id == id);
        found.any(|(owner, asked)| {
            self.walker(&owner).is_some_and(|walker| walker.asks_again(&task_of(&asked.id)))
        })
    }

    /// Returns `true` if the root graph has a node of that name.
    pub fn has_node(&self, name: &str) -> bool {
        self.root().graph().find(name).is_some()
    }

    /// Returns the ids of the open questions with a name: an id, a node, or a path such as `each#2/ask`.
    pub fn open_named(&self, name: &str) -> Vec<String> {
        let is_named = |(owner, asked): &(Arc<str>, InterruptRecord)| {
            asked.id == name || asked.node == name || self.path_to(owner, &task_of(&asked.id)).is_named(name)
        };
        self.open("").into_iter().filter(is_named).map(|(_, asked)| asked.id).collect()
    }

    /// Returns the path from the root run to a task of a run.
    fn path_to(&self, namespace: &str, task: &str) -> QuestionPath {
        let mut path = match self.children().get(namespace) {
            Some(child) => self.path_to(child.parent(), child.task()),
            None => QuestionPath::default(),
        };
        path.0.extend(self.walker(namespace).into_iter().flat_map(|walker| walker.question_path(task).0));
        path
    }

    /// Has the child runs ask questions again if changes have been accepted: open ones that may have changed, and those
    /// whose answer was given to another form.
    pub(in crate::walker) fn ask_changed_again(&mut self, now: Timestamp) {
        for walker in self.child_walkers_mut() {
            walker.ask_changed_again(now);
        }
    }

    /// Adds the additions of answers to budgets of language models in a child run to the runs around it, whose budgets
    /// contain the child's.
    pub(in crate::walker) fn raise_above(&mut self, namespace: &Arc<str>) {
        let mut namespace = Arc::clone(namespace);
        while let Some(child) = self.children().get(&namespace) {
            let (parent, task) = (Arc::clone(child.parent()), Arc::clone(child.task()));
            let granted = self.used(&namespace).granted;
            if granted.is_nothing() {
                return;
            }
            if let Ok(walker) = self.walker_mut(&parent) {
                walker.add_below(&task, granted);
            }
            namespace = parent;
        }
    }

    /// Wakes the tasks of a run whose child runs can continue.
    pub(in crate::walker) fn wake(&mut self, namespace: &str) {
        let Some(walker) = self.walker(namespace) else { return };
        let suspended: Vec<Arc<str>> = walker.suspended_tasks().map(|(task, _)| Arc::clone(task)).collect();
        let awake: Vec<Arc<str>> = suspended
            .into_iter()
            .filter(|task| {
                self.walker(namespace).is_some_and(|walker| self.can_go_on(&child_namespace(walker, task)))
            })
            .collect();
        let Ok(walker) = self.walker_mut(namespace) else { return };
        for task in awake {
            walker.wake(&task);
        }
    }

    /// Returns `true` if a child run that the root run waits for has something to continue with.
    pub(in crate::walker) fn goes_on_below(&self) -> bool {
        self.root().suspended_tasks().any(|(task, _)| self.has_more(&child_namespace(self.root(), task)))
    }

    /// Returns `true` if a child run, or one below it, can continue. A run that was never stored can start.
    pub(in crate::walker) fn can_go_on(&self, namespace: &str) -> bool {
        let Some(child) = self.children().get(namespace) else { return true };
        !child.walker().status().is_paused() || self.has_more(namespace)
    }

    /// Returns `true` if a stopped child run, or one below it, has an answer or a release to continue with.
    pub(in crate::walker) fn has_more(&self, namespace: &str) -> bool {
        let Some(child) = self.children().get(namespace) else { return false };
        let walker = child.walker();
        let has_failed = matches!(walker.status(), Status::Failed | Status::Limit);
        walker.has_answers()
            || walker.waits_at_released_pause()
            || walker.suspended_tasks().any(|(task, is_woken)| {
                // Child runs that were active when their run failed have stopped with it: only answers that arrived since count.
                let below = child_namespace(walker, task);
                if is_woken && has_failed { self.has_more(&below) } else { self.can_go_on(&below) }
            })
    }
}
