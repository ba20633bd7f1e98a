//! Feeds the recorded events to the walker, and compares the effects with the record.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use graph_core::digest::Digest;
use graph_core::limits::ModelUse;
use graph_core::node::Outcome;
use graph_core::policy::Durability;
use graph_core::record::{CacheEntry, CumulativeState, JournalEntry, Record, Status, StatusRecord};
use graph_core::time::Timestamp;

use super::compare::{self, Difference, Unrepeatable, Way, shortened};
use super::machine::{ReplayOptions, Step};
use super::recorded::{Mark, RecordedRun, TaskRecords};
use super::summary::{Replay, ReplayedSuperstep};
use super::world;
use crate::walker::{
    Answered, Effect, Event, HandleError, HookSpec, Lookup, Notice, Persist, PersistId, RunTree, TaskReport,
    TaskSpec, TimerId, is_below, namespace_of, task_of_child,
};

/// The records of an attempt that a replay executes.
#[derive(Debug)]
pub struct RecordedAttempt {
    /// Number of the superstep.
    pub(super) step: u64,
    /// Id of the task.
    pub(super) task: String,
    /// Path of nodes to its node.
    pub(super) node: String,
    /// Number of the dispatch of the task, from 1.
    pub(super) dispatch: u32,
    /// Number of the attempt, from 1.
    attempt: u32,
    entries: Vec<JournalEntry>,
    /// Model use of earlier attempts that left no result, and the same by the last requested model, if it is charged with this attempt.
    lost: Option<(ModelUse, BTreeMap<String, ModelUse>)>,
}

impl RecordedAttempt {
    /// Returns the recorded calls of the attempt with their answers, in order.
    pub fn entries(&self) -> &[JournalEntry] {
        &self.entries
    }
}

/// Progress of a section.
pub(super) enum Progress {
    /// The driver has to do something.
    Step(Step),
    /// The end is reached, or something differs.
    Ended {
        /// Number of the last checkpoint of the root run.
        reached: Option<u64>,
    },
}

/// The execution of a run from one checkpoint on.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) recorded: Arc<RecordedRun>,
    pub(super) options: ReplayOptions,
    pub(super) tree: RunTree,
    /// Cumulative state at the newest checkpoint of each namespace that was reached.
    standing: BTreeMap<String, CumulativeState>,
    /// Number of the newest checkpoint that each run of the tree has reached, by namespace.
    pub(super) reached: BTreeMap<String, u64>,
    /// Number of the checkpoint of the root run at which this ends.
    end: u64,
    effects: VecDeque<Effect>,
    pub(super) tasks: VecDeque<TaskSpec>,
    hooks: VecDeque<HookSpec>,
    lookups: VecDeque<Lookup>,
    pub(super) persisted: VecDeque<(PersistId, String)>,
    /// Checkpoints that were compared and that the driver has not taken.
    compared: VecDeque<ReplayedSuperstep>,
    /// Namespace of a run whose deadline passed before it was notified of the stop of a child run.
    pub(super) untold: Option<String>,
    /// Child runs whose deadline has passed.
    late: BTreeSet<String>,
    /// Calls of hooks that were performed, or whose records were written.
    hooked: BTreeSet<String>,
    retries: VecDeque<TimerId>,
    /// Number of dispatches of each task of the active supersteps.
    pub(super) dispatches: BTreeMap<String, u32>,
    /// Tasks of the active supersteps that were charged with the model use of their lost attempts.
    pub(super) lost: BTreeSet<String>,
    /// Number of answers that each task of the active supersteps was given.
    pub(super) answered: BTreeMap<String, usize>,
    /// Child runs whose deadline is still to pass, in order.
    pub(super) overdue: Vec<Arc<StatusRecord>>,
    suspended: Option<Status>,
    /// `true` if the walkers have returned `Continue`.
    has_more: bool,
    /// Number of resumes of the active superstep.
    pub(super) resumes: u64,
    /// Effects of the run that cannot be repeated.
    cut: Unrepeatable,
    /// `true` if there was a difference since the last checkpoint of the root run.
    differed: bool,
}

impl Section {
    pub(super) fn new(
        recorded: Arc<RecordedRun>,
        options: ReplayOptions,
        tree: RunTree,
        reached: Option<u64>,
        end: u64,
    ) -> Self {
        let reached = reached.map(|sequence| (String::new(), sequence)).into_iter().collect();
        let overdue = recorded.overdue().to_vec();
        Self {
            recorded,
            options,
            tree,
            standing: BTreeMap::new(),
            reached,
            end,
            effects: VecDeque::new(),
            tasks: VecDeque::new(),
            hooks: VecDeque::new(),
            lookups: VecDeque::new(),
            persisted: VecDeque::new(),
            compared: VecDeque::new(),
            untold: None,
            late: BTreeSet::new(),
            hooked: BTreeSet::new(),
            retries: VecDeque::new(),
            dispatches: BTreeMap::new(),
            lost: BTreeSet::new(),
            answered: BTreeMap::new(),
            overdue,
            suspended: None,
            has_more: false,
            resumes: 0,
            cut: Unrepeatable::default(),
            differed: false,
        }
    }

    /// Gives the walker the first event.
    pub(super) fn begin(&mut self, first: Event, replay: &mut Replay) {
        if let Err(error) = self.handle("", first) {
            self.stuck(&error.to_string(), replay);
        }
    }

    /// Continues until the driver has to do something, the end is reached or something differs.
    pub(super) fn next(&mut self, replay: &mut Replay) -> Progress {
        loop {
            while let Some(effect) = self.effects.pop_front() {
                self.perform(effect, replay);
            }
            if let Some(replayed) = self.compared.pop_front() {
                return Progress::Step(Step::Superstep(replayed));
            }
            let reached = self.reached.get("").copied();
            if self.differed || reached.is_some_and(|reached| reached >= self.end) {
                return Progress::Ended { reached };
            }
            let handled = if std::mem::take(&mut self.has_more) {
                self.handle("", Event::Continued)
            } else if let Some((id, namespace)) = self.next_persisted() {
                self.handle(&namespace, Event::Persisted(id))
            } else if let Some(spec) = self.hooks.pop_front() {
                self.hook(&spec, replay)
            } else if let Some(lookup) = self.lookups.pop_front() {
                if self.task_records(&lookup.spec.activation.task).cached.is_some() {
                    replay.cached += 1;
                    return Progress::Step(Step::LookUp(Box::new(lookup)));
                }
                // A result that the run did not use is not used now either.
                self.answer_lookup(&lookup, Answered::default())
            } else if let Some(spec) = self.next_task() {
                match self.attempt(spec, replay) {
                    Ok(step) => return Progress::Step(step),
                    Err(cut) => self.set_aside(&cut),
                }
            } else if let Some(timer) = self.retries.pop_front() {
                let namespace = match &timer {
                    TimerId::Retry { task, .. } => namespace_of(task).to_owned(),
                    _ => String::new(),
                };
                self.handle(&namespace, Event::TimerFired(timer))
            } else if let Some(at) = self.next_overdue() {
                let namespace = self.overdue[at].namespace.clone();
                let below = |spec: &TaskSpec| is_below(&spec.activation.task, &namespace);
                // A task that was held back until nothing else could be done.
                if let Some(spec) = self.tasks.iter().position(below).and_then(|at| self.tasks.remove(at)) {
                    match self.attempt(spec, replay) {
                        Ok(step) => return Progress::Step(step),
                        Err(cut) => self.set_aside(&cut),
                    }
                } else {
                    self.overdue.remove(at);
                    let timer = TimerId::ChildTimeout { namespace: namespace.as_str().into() };
                    self.untold = None;
                    self.late.insert(namespace.clone());
                    self.handle(&namespace, Event::TimerFired(timer))
                }
            } else {
                self.go_on(replay)
            };
            self.settle(handled, replay);
        }
    }

    /// Resumes the run, which has nothing left to do.
    fn go_on(&mut self, replay: &mut Replay) -> Result<(), HandleError> {
        match self.suspended.take().map(|status| self.resume(status)) {
            Some(Ok(resume)) => return self.handle_at(self.next_of_all(), Event::Resumed(resume)),
            Some(Err(reason)) => self.stuck(&reason, replay),
            None => self.stuck("nothing is left to be done, and the superstep has not committed", replay),
        }
        Ok(())
    }

    /// Reports an event that the walker does not take.
    fn settle(&mut self, handled: Result<(), HandleError>, replay: &mut Replay) {
        match handled {
            // The attempt was abandoned meanwhile, or the timer fires too late.
            Ok(()) | Err(HandleError::Refused { .. } | HandleError::Unfit { .. }) => {}
            Err(error @ HandleError::Illegal { .. }) => self.stuck(&error.to_string(), replay),
        }
    }

    pub(super) fn handle(&mut self, namespace: &str, event: Event) -> Result<(), HandleError> {
        self.handle_at(self.now(namespace), event)
    }

    fn handle_at(&mut self, now: Timestamp, event: Event) -> Result<(), HandleError> {
        self.effects.extend(self.tree.handle(now, event)?);
        Ok(())
    }

    /// Returns the time of a resume, as far as anything depends on it. It concerns all runs of the tree: a child run
    /// starts in this very event, a node that asks without a component commits in it, and all later effects follow.
    fn next_of_all(&self) -> Timestamp {
        let next = |namespace: &String| self.next_in(namespace);
        self.reached.keys().filter_map(next).map(|next| next.at).min().unwrap_or_else(|| self.now(""))
    }

    /// Returns the next record in a namespace: the first checkpoint of a child run that has still to start, without
    /// which the superstep around it cannot commit, or else the next boundary.
    fn next_in(&self, namespace: &str) -> Option<Mark> {
        let reached = self.reached.get(namespace).copied();
        let at = reached.and_then(|sequence| self.recorded.find(namespace, sequence));
        let child = at.and_then(|at| {
            self.recorded.child_to_begin(&at.checkpoint, |child| self.reached.contains_key(child))
        });
        child.or_else(|| self.recorded.next_mark(namespace, reached))
    }

    /// Returns the records of a task of an active superstep.
    pub(super) fn task_records(&self, task: &str) -> TaskRecords {
        let namespace = namespace_of(task);
        self.recorded.task(namespace, self.reached.get(namespace).copied(), task)
    }

    /// Returns the time of this event, as far as anything depends on it. A child run starts with the time of the event
    /// that started it; otherwise it is the time of the next boundary. A run without another boundary ends here, so its
    /// time is that of the boundary in its parent.
    fn now(&self, namespace: &str) -> Timestamp {
        let mut namespace = namespace;
        loop {
            if let Some(next) = self.next_in(namespace) {
                return next.at;
            }
            if namespace.is_empty() {
                return self.recorded.line("").last().map_or(Timestamp(0), |last| last.at);
            }
            namespace = namespace_of(namespace);
        }
    }

    fn perform(&mut self, effect: Effect, replay: &mut Replay) {
        match effect {
            Effect::RunTask(spec) => self.tasks.push_back(*spec),
            Effect::LookUp(lookup) => self.lookups.push_back(*lookup),
            Effect::Abort { task, attempt } => {
                let other =
                    |spec: &TaskSpec| spec.activation.task != *task || spec.activation.attempt != attempt;
                self.tasks.retain(other);
                self.lookups.retain(|lookup| other(&lookup.spec));
            }
            Effect::Persist(persist) => self.persist(*persist, replay),
            Effect::RunHook(spec) => self.hooks.push_back(*spec),
            Effect::AbortHook { hook } => self.hooks.retain(|spec| spec.call.activation.task != *hook),
            Effect::SetTimer { timer: timer @ TimerId::Retry { .. }, .. } => self.retries.push_back(timer),
            Effect::Suspend(status) => self.suspended = Some(status),
            Effect::Continue => self.has_more = true,
            Effect::Emit(Notice::ChildStarted { namespace, .. }) => {
                *self.dispatches.entry(task_of_child(&namespace).to_owned()).or_default() += 1;
            }
            Effect::SetTimer { .. } | Effect::Emit(_) | Effect::Finish(_) | Effect::ModelRecorded { .. } => {}
        }
    }

    /// Uses the cached result that the run used, if the key is the same; otherwise the task is dispatched, and its checkpoint shows
    /// the difference.
    pub(super) fn looked_up(&mut self, lookup: &Lookup, performer: Option<Digest>, replay: &mut Replay) {
        let told = &lookup.spec.activation;
        let hit = self.task_records(&told.task).cached;
        let answered = Answered {
            key: performer.map(|performer| lookup.key(&performer)),
            found: hit.map(|hit| CacheEntry::of_hit(&hit, &told.node_id)),
            ..Answered::default()
        };
        let handled = self.answer_lookup(lookup, answered);
        self.settle(handled, replay);
    }

    fn answer_lookup(&mut self, lookup: &Lookup, answered: Answered) -> Result<(), HandleError> {
        let namespace = namespace_of(&lookup.spec.activation.task);
        self.handle(namespace, lookup.answer(answered))
    }

    /// Returns the step that executes an attempt, or the attempt itself if it had not ended when its run stopped.
    fn attempt(&mut self, mut spec: TaskSpec, replay: &mut Replay) -> Result<Step, Box<TaskSpec>> {
        let is_cut = self.was_cut(&spec);
        let (task, attempt) = (spec.activation.task.clone(), spec.activation.attempt);
        let dispatch = self.dispatches.entry(task.clone()).or_default();
        *dispatch += 1;
        if is_cut {
            return Err(Box::new(spec));
        }
        let dispatch = *dispatch;
        let records = self.task_records(&task);
        let mut journal = records.journal.into_iter();
        let kept = journal.find(|kept| kept.dispatch == dispatch && kept.attempt == attempt);
        let entries = kept.map(|kept| kept.entries).unwrap_or_default();
        replay.entries += entries.len() as u64;
        replay.attempts += 1;
        let (step, node) = (spec.activation.superstep, spec.path.clone());
        // Lost use was charged before the next attempt, which had less left.
        let is_lost = !records.lost.is_nothing() && self.lost.insert(task.clone());
        let lost = is_lost.then_some((records.lost, records.lost_models));
        if is_lost {
            spec.limits.model = spec.limits.model.less(records.lost);
        }
        let attempt = Box::new(RecordedAttempt { step, task, node, dispatch, attempt, entries, lost });
        Ok(Step::Execute { spec: Box::new(spec), attempt })
    }

    /// Gives the walker the result of an attempt.
    pub(super) fn executed(
        &mut self,
        attempt: RecordedAttempt,
        mut report: TaskReport,
        difference: Option<String>,
        replay: &mut Replay,
    ) {
        let namespace = namespace_of(&attempt.task).to_owned();
        replay.fuel = replay.fuel.saturating_add(report.fuel);
        if let Some(difference) = difference {
            let next = self.recorded.next_mark(&namespace, self.reached.get(&namespace).copied());
            self.differs(
                Difference {
                    step: attempt.step,
                    namespace: namespace.clone(),
                    checkpoint: next.map(|next| next.sequence),
                    task: Some(attempt.task.clone()),
                    node: Some(attempt.node.clone()),
                    key: "journal".to_owned(),
                    recorded: "what its journal holds".to_owned(),
                    replayed: difference,
                },
                replay,
            );
        }
        if self.options.live {
            replay.world.extend(world::differences(&attempt, &report.journal));
        }
        if let Some((lost, models)) = attempt.lost {
            (report.lost, report.lost_models) = (lost, models);
        }
        let event = Event::TaskDone { task: attempt.task.into(), attempt: attempt.attempt, report };
        let handled = self.handle(&namespace, event);
        self.settle(handled, replay);
    }

    /// Answers a hook with its recorded result: hooks are not executed again.
    fn hook(&mut self, spec: &HookSpec, replay: &mut Replay) -> Result<(), HandleError> {
        let call = spec.call.activation.task.as_str();
        // The id of a child run is that of the root run followed by its namespace.
        let run = format!("{}/", self.recorded.run);
        let namespace = spec.call.activation.run_id.strip_prefix(&run).unwrap_or_default().to_owned();
        let reached = self.reached.get(&namespace).copied();
        self.hooked.insert(call.to_owned());
        let Some(found) = self.recorded.hook(&namespace, reached, call) else {
            if self.overdue_around(&namespace).is_some()
                || self.late.iter().any(|late| is_below(&namespace, late))
            {
                // The hook was abandoned together with its run: its reserved use counts.
                let Some(model) = self.recorded.reserved_of_hook(call) else { return Ok(()) };
                // A hook has one attempt.
                let event = Event::ModelReserved { task: call.into(), attempt: 1, model, name: None };
                return self.handle(&namespace, event);
            }
            let next = self.recorded.next(&namespace, reached);
            self.differs(
                Difference {
                    step: next.as_ref().map_or(0, |next| next.checkpoint.step),
                    namespace,
                    checkpoint: next.map(|next| next.checkpoint.sequence),
                    task: None,
                    node: None,
                    key: "hooked".to_owned(),
                    recorded: "nothing".to_owned(),
                    replayed: call.to_owned(),
                },
                replay,
            );
            return Ok(());
        };
        let result = match (&found.failure, found.control) {
            (Some(failure), _) => Err(failure.clone()),
            (None, Some(control)) => Ok(Outcome::Result(serde_json::to_value(control).unwrap_or_default())),
            (None, None) => Ok(Outcome::Result(serde_json::Value::Null)),
        };
        let report =
            TaskReport { host: Some(found.host), lost: found.lost, ..TaskReport::new(result, found.fuel) };
        self.handle(&namespace, Event::HookDone { hook: call.into(), report })
    }

    fn persist(&mut self, persist: Persist, replay: &mut Replay) {
        let namespace = match &persist.record {
            Record::Checkpoint(record) => record.namespace.clone(),
            Record::Task(record) => record.namespace.clone(),
            Record::Answers(record) => record.namespace.clone(),
            Record::Hook(record) => record.namespace.clone(),
            Record::Status(record) => record.namespace.clone(),
        };
        // A hook that answers without a dispatch has its record with the stop.
        if let Record::Hook(record) = &persist.record {
            self.hooked.insert(record.call.clone());
        }
        let stops = match &persist.record {
            Record::Checkpoint(checkpoint) => checkpoint.end.is_some(),
            Record::Status(status) => status.status != Status::Running,
            _ => false,
        };
        let hooks = || self.recorded.hooks_of(&namespace).any(|call| !self.hooked.contains(call));
        if stops && self.is_untold(&namespace) && !hooks() {
            let around = self.overdue_around(namespace_of(&namespace));
            self.untold = around.map(|stop| stop.namespace.clone());
        }
        // A child run that has stopped commits nothing in this event; whatever it lets start is in the run around it,
        // which has room again. Its own next boundary, if it has one, is that of a later resume.
        let timed = if stops && matches!(persist.record, Record::Status(_)) {
            namespace_of(&namespace).to_owned()
        } else {
            namespace.clone()
        };
        self.persisted.push_back((persist.id, timed));
        let Record::Checkpoint(checkpoint) = persist.record else { return };
        let found = self.recorded.find(&namespace, checkpoint.sequence);
        let standing = self.standing.entry(namespace.clone()).or_default();
        standing.follow(&checkpoint);
        // Only recorded boundaries can be compared: under `durability: exit`, not all are recorded.
        if let Some(stored) = found {
            let strict = self.recorded.durability != Durability::Exit;
            let compared = compare::compare(
                &stored,
                &checkpoint,
                &persist.values,
                standing,
                Way { strict, live: self.options.live, first_release: self.recorded.first_release },
                &mut self.cut,
            );
            let replayed =
                ReplayedSuperstep::compared(&checkpoint, &stored.checkpoint, compared.is_none(), strict);
            self.compared.push_back(replayed.clone());
            replay.supersteps.push(replayed);
            if let Some(difference) = compared {
                self.differs(difference, replay);
            }
        } else if self.recorded.durability != Durability::Exit {
            let next = self.recorded.next_mark(&namespace, self.reached.get(&namespace).copied());
            self.differs(
                Difference {
                    step: checkpoint.step,
                    namespace: namespace.clone(),
                    checkpoint: next.map(|next| next.sequence),
                    task: None,
                    node: None,
                    key: "sequence".to_owned(),
                    recorded: next
                        .map_or_else(|| "no checkpoint".to_owned(), |next| next.sequence.to_string()),
                    replayed: checkpoint.sequence.to_string(),
                },
                replay,
            );
        }
        let below = if namespace.is_empty() { String::new() } else { format!("{namespace}/") };
        self.dispatches.retain(|task, _| !task.starts_with(&below));
        self.answered.retain(|task, _| !task.starts_with(&below));
        if namespace.is_empty() {
            self.resumes = 0;
            // The child runs of a committed superstep are no longer needed.
            self.reached.retain(|namespace, _| namespace.is_empty());
        }
        self.reached.insert(namespace, checkpoint.sequence);
    }

    /// Reports that the superstep cannot be completed.
    fn stuck(&mut self, reason: &str, replay: &mut Replay) {
        let next = self.recorded.next("", self.reached.get("").copied());
        let error = self.tree.summary().error;
        let node = error.as_ref().and_then(|error| error.node.clone());
        let told = error.map(|error| format!(": {}", error.message)).unwrap_or_default();
        let task = next.as_ref().and_then(|next| {
            let mut tasks = next.checkpoint.tasks.iter();
            tasks.find(|task| node.as_ref() == Some(&task.node)).map(|task| task.task.clone())
        });
        let difference = Difference {
            step: next.as_ref().map_or(0, |next| next.checkpoint.step),
            namespace: String::new(),
            checkpoint: next.map(|next| next.checkpoint.sequence),
            task,
            node,
            key: "outcome".to_owned(),
            recorded: "committed".to_owned(),
            replayed: shortened(&format!("{reason}{told}")),
        };
        self.differs(difference, replay);
    }

    fn differs(&mut self, difference: Difference, replay: &mut Replay) {
        // Within one superstep, only the first difference is reported: the others may be its consequences.
        if !self.differed {
            replay.differences.push(difference);
        }
        self.differed = true;
    }
}
