//! Feeds the recorded events to the walker, and compares the effects with the record.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use graph_core::json::canonical_string;
use graph_core::limits::ModelUse;
use graph_core::node::Outcome;
use graph_core::policy::Durability;
use graph_core::record::{
    CacheEntry, CanonicalValue, Checkpoint, CumulativeState, JournalEntry, Record, Source, Status,
    StatusRecord,
};
use graph_core::time::Timestamp;
use graph_walker::walker::{
    Answered, Answers, Effect, Event, HandleError, HookSpec, Lookup, Notice, Persist, PersistId,
    RecordedAnswer, Resume, RunTree, TaskReport, TaskSpec, TimerId, task_of_child,
};
use serde::Serialize;

use super::compare::{self, Difference, Unrepeatable, Way, shortened};
use super::recorded::{Known, Mark, Recorded, reported};
use super::{Replay, ReplayContext, Replayed};
use graph_driver::TaskExecutor as _;

/// A call of the host that the world answers differently.
#[derive(Clone, Debug, Serialize)]
pub struct LiveDifference {
    /// Number of the superstep.
    pub step: u64,
    /// Id of the task.
    pub task: String,
    /// Path of nodes to its node.
    pub node: String,
    /// Number of the dispatch of the task, from 1.
    pub dispatch: u32,
    /// Index of the entry in the journal, from 0.
    pub entry: usize,
    /// Call of the host.
    pub call: String,
    /// Recorded answer; `None` if the call was not made then.
    pub recorded: Option<String>,
    /// Present answer; `None` if the call is not made now.
    pub now: Option<String>,
}

/// The execution of a run from one checkpoint on.
pub(super) struct Walk<'r> {
    recorded: &'r Recorded,
    stage: &'r ReplayContext,
    tree: RunTree,
    /// Cumulative state at the newest checkpoint of each namespace that was reached.
    standing: BTreeMap<String, CumulativeState>,
    /// Number of the newest checkpoint that each run of the tree has reached, by namespace.
    reached: BTreeMap<String, u64>,
    /// Number of the checkpoint of the root run at which this ends.
    end: u64,
    effects: VecDeque<Effect>,
    tasks: VecDeque<TaskSpec>,
    hooks: VecDeque<HookSpec>,
    lookups: VecDeque<Lookup>,
    persisted: VecDeque<(PersistId, String)>,
    /// Namespace of a run whose deadline passed before it was notified of the stop of a child run.
    untold: Option<String>,
    /// Child runs whose deadline has passed.
    late: BTreeSet<String>,
    /// Calls of hooks that were performed, or whose records were written.
    hooked: BTreeSet<String>,
    retries: VecDeque<TimerId>,
    /// Number of dispatches of each task of the active supersteps.
    dispatches: BTreeMap<String, u32>,
    /// Tasks of the active supersteps that were charged with the model use of their lost attempts.
    lost: BTreeSet<String>,
    /// Number of answers that each task of the active supersteps was given.
    answered: BTreeMap<String, usize>,
    /// Child runs whose deadline is still to pass, in order.
    overdue: Vec<&'r StatusRecord>,
    suspended: Option<Status>,
    /// `true` if the walkers have returned `Continue`.
    has_more: bool,
    /// Number of resumes of the active superstep.
    resumes: u64,
    /// Effects of the run that cannot be repeated.
    cut: Unrepeatable,
    /// `true` if there was a difference since the last checkpoint of the root run.
    differed: bool,
}

impl<'r> Walk<'r> {
    pub(super) fn new(
        recorded: &'r Recorded,
        stage: &'r ReplayContext,
        tree: RunTree,
        reached: Option<u64>,
        end: u64,
    ) -> Self {
        let reached = reached.map(|sequence| (String::new(), sequence)).into_iter().collect();
        Self {
            recorded,
            stage,
            tree,
            standing: BTreeMap::new(),
            reached,
            end,
            effects: VecDeque::new(),
            tasks: VecDeque::new(),
            hooks: VecDeque::new(),
            lookups: VecDeque::new(),
            persisted: VecDeque::new(),
            untold: None,
            late: BTreeSet::new(),
            hooked: BTreeSet::new(),
            retries: VecDeque::new(),
            dispatches: BTreeMap::new(),
            lost: BTreeSet::new(),
            answered: BTreeMap::new(),
            overdue: recorded.overdue().iter().collect(),
            suspended: None,
            has_more: false,
            resumes: 0,
            cut: Unrepeatable::default(),
            differed: false,
        }
    }

    /// Executes until the end is reached or something differs, and returns the number of the last checkpoint of the root run.
    pub(super) async fn go(
        &mut self,
        first: Event,
        replay: &mut Replay,
        tell: &mut (dyn FnMut(&Replayed) + Send),
    ) -> Option<u64> {
        if let Err(error) = self.handle("", first) {
            self.stuck(&error.to_string(), replay);
        }
        loop {
            while let Some(effect) = self.effects.pop_front() {
                self.perform(effect, replay, tell);
            }
            let root = self.reached.get("").copied();
            if self.differed || root.is_some_and(|root| root >= self.end) {
                return root;
            }
            let handled = if std::mem::take(&mut self.has_more) {
                self.handle("", Event::Continued)
            } else if let Some((id, namespace)) = self.next_persisted() {
                self.handle(&namespace, Event::Persisted(id))
            } else if let Some(spec) = self.hooks.pop_front() {
                self.hook(&spec, replay)
            } else if let Some(lookup) = self.lookups.pop_front() {
                self.look_up(&lookup, replay).await
            } else if let Some(spec) = self.next_task() {
                self.run_or_cut(spec, replay).await
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
                    let ran = self.run_or_cut(spec, replay).await;
                    if let Err(error @ HandleError::Illegal { .. }) = ran {
                        self.stuck(&error.to_string(), replay);
                    }
                    continue;
                }
                self.overdue.remove(at);
                let timer = TimerId::ChildTimeout { namespace: namespace.as_str().into() };
                self.untold = None;
                self.late.insert(namespace.clone());
                self.handle(&namespace, Event::TimerFired(timer))
            } else {
                match self.suspended.take().map(|status| self.resume(status)) {
                    Some(Ok(resume)) => {
                        let now = self.next_of_all();
                        self.handle_at(now, Event::Resumed(resume))
                    }
                    Some(Err(reason)) => {
                        self.stuck(&reason, replay);
                        Ok(())
                    }
                    None => {
                        self.stuck("nothing is left to be done, and the superstep has not committed", replay);
                        Ok(())
                    }
                }
            };
            match handled {
                // The attempt was abandoned meanwhile, or the timer fires too late.
                Ok(()) | Err(HandleError::Refused { .. }) => {}
                Err(error @ HandleError::Illegal { .. }) => self.stuck(&error.to_string(), replay),
            }
        }
    }

    fn handle(&mut self, namespace: &str, event: Event) -> Result<(), HandleError> {
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

    /// Checks whether a child run has reached the checkpoint at which its deadline passed.
    fn is_at(&self, stop: &StatusRecord) -> bool {
        self.reached.get(&stop.namespace) == Some(&stop.sequence)
    }

    /// Returns the record of the run in a namespace, or of the closest one around it, whose deadline passes at its present checkpoint.
    fn overdue_around(&self, namespace: &str) -> Option<&'r StatusRecord> {
        let mut around = namespace;
        while !around.is_empty() {
            let stop = self.overdue.iter().find(|stop| stop.namespace == around && self.is_at(stop));
            if stop.is_some() {
                return stop.copied();
            }
            around = namespace_of(around);
        }
        None
    }

    /// Checks whether an attempt was under way, or had not started, when the deadline of its child run or of one around it passed.
    fn was_cut(&self, spec: &TaskSpec) -> bool {
        let (task, attempt) = (spec.activation.task.as_str(), spec.activation.attempt);
        let namespace = namespace_of(task);
        let dispatch = self.dispatches.get(task).copied().unwrap_or_default() + 1;
        match self.overdue_around(namespace) {
            Some(_) if self.recorded.has_ended(task, dispatch) => false,
            Some(stop) if stop.namespace == namespace => stop.tasks.get(task).map_or(0, reported) < attempt,
            Some(_) => {
                let reached = self.reached.get(namespace).copied();
                self.recorded.next_mark(namespace, reached).is_none()
                    && self.recorded.reported(task) < attempt
            }
            None => false,
        }
    }

    /// Returns the next record that was stored. A stop that no run was notified of then is not reported now either.
    fn next_persisted(&mut self) -> Option<(PersistId, String)> {
        if self.untold.is_some() { None } else { self.persisted.pop_front() }
    }

    /// Returns the next attempt. Attempts are held back that may lead to a stop that no run was notified of.
    fn next_task(&mut self) -> Option<TaskSpec> {
        let waits = |spec: &TaskSpec| {
            let mut namespace = namespace_of(&spec.activation.task);
            while !namespace.is_empty() && !self.is_untold(namespace) {
                namespace = namespace_of(namespace);
            }
            !namespace.is_empty()
        };
        let at = self.tasks.iter().position(|spec| self.overdue.is_empty() || !waits(spec))?;
        self.tasks.remove(at)
    }

    /// Returns the index of the child run whose deadline passes next.
    fn next_overdue(&self) -> Option<usize> {
        let of_untold = |stop: &StatusRecord| self.untold.as_ref().is_none_or(|of| stop.namespace == *of);
        self.overdue.iter().position(|stop| self.is_at(stop) && of_untold(stop))
    }

    async fn run_or_cut(&mut self, spec: TaskSpec, replay: &mut Replay) -> Result<(), HandleError> {
        if self.was_cut(&spec) {
            *self.dispatches.entry(spec.activation.task.clone()).or_default() += 1;
            return self.set_aside(&spec);
        }
        self.run(spec, replay).await
    }

    /// Charges the model use that an attempt had reserved when it was cut off.
    fn set_aside(&mut self, spec: &TaskSpec) -> Result<(), HandleError> {
        let task = &spec.activation.task;
        let namespace = namespace_of(task).to_owned();
        let stop = self.overdue_around(&namespace).filter(|stop| stop.namespace == namespace);
        let Some(used) = stop.and_then(|stop| stop.tasks.get(task)).or_else(|| self.recorded.stopped(task))
        else {
            return Ok(());
        };
        let known = self.recorded.task(&namespace, self.reached.get(&namespace).copied(), task);
        let charged = if self.lost.contains(task) { known.lost } else { ModelUse::NOTHING };
        let model = used.lost.less(charged);
        if model.is_nothing() {
            return Ok(());
        }
        let name = used.lost_models.keys().next_back().map(|name| name.as_str().into());
        let event = Event::ModelReserved {
            task: task.as_str().into(),
            attempt: spec.activation.attempt,
            model,
            name,
        };
        self.handle(&namespace, event)
    }

    /// Checks whether a child run stopped by itself, and the deadline of the run around it passed before that run was notified.
    fn is_untold(&self, namespace: &str) -> bool {
        let (task, parent) = (task_of_child(namespace), namespace_of(namespace));
        let dispatch = self.dispatches.get(task).copied().unwrap_or_default();
        if self.recorded.first_release || self.recorded.has_ended(task, dispatch) {
            return false;
        }
        match self.overdue_around(parent) {
            Some(stop) if stop.namespace == parent => true,
            Some(_) => {
                let reached = self.reached.get(parent).copied();
                self.recorded.next_mark(parent, reached).is_none() && self.recorded.reported(task) == 0
            }
            None => false,
        }
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

    fn perform(&mut self, effect: Effect, replay: &mut Replay, tell: &mut (dyn FnMut(&Replayed) + Send)) {
        match effect {
            Effect::RunTask(spec) => self.tasks.push_back(*spec),
            Effect::LookUp(lookup) => self.lookups.push_back(*lookup),
            Effect::Abort { task, attempt } => {
                let other =
                    |spec: &TaskSpec| spec.activation.task != *task || spec.activation.attempt != attempt;
                self.tasks.retain(other);
                self.lookups.retain(|lookup| other(&lookup.spec));
            }
            Effect::Persist(persist) => self.persist(*persist, replay, tell),
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

    /// Uses a cached result if the run used it and the key is the same; otherwise the task is dispatched, and its
    /// checkpoint shows the difference. A result that the run did not use is not used now either.
    async fn look_up(&mut self, lookup: &Lookup, replay: &mut Replay) -> Result<(), HandleError> {
        let told = &lookup.spec.activation;
        let namespace = namespace_of(&told.task).to_owned();
        let known = self.recorded.task(&namespace, self.reached.get(&namespace).copied(), &told.task);
        let mut answered = Answered::default();
        if let Some(hit) = known.cached {
            replay.cached += 1;
            let performer = self.stage.executor.performer(&lookup.spec).await;
            answered.key = performer.map(|performer| lookup.key(&performer));
            answered.found = Some(CacheEntry::of_hit(&hit, &told.node_id));
        }
        self.handle(&namespace, lookup.answer(answered))
    }

    async fn run(&mut self, mut spec: TaskSpec, replay: &mut Replay) -> Result<(), HandleError> {
        let (task, attempt) = (spec.activation.task.clone(), spec.activation.attempt);
        let namespace = namespace_of(&task).to_owned();
        let dispatch = self.dispatches.entry(task.clone()).or_default();
        *dispatch += 1;
        let dispatch = *dispatch;
        let known = self.recorded.task(&namespace, self.reached.get(&namespace).copied(), &task);
        let entries = known.journal.iter().find(|kept| kept.dispatch == dispatch && kept.attempt == attempt);
        let entries = entries.map(|kept| kept.entries.clone()).unwrap_or_default();
        replay.entries += entries.len() as u64;
        replay.attempts += 1;
        self.stage.tape.load(entries.clone());
        let (step, path) = (spec.activation.superstep, spec.path.clone());
        // Lost use was charged before the next attempt, which had less left.
        let lost = Some(known.lost).filter(|lost| !lost.is_nothing() && self.lost.insert(task.clone()));
        if let Some(lost) = lost {
            spec.limits.model = spec.limits.model.less(lost);
        }
        let mut report = self.stage.executor.execute(spec).await;
        if let Some(lost) = lost {
            (report.lost, report.lost_models) = (lost, known.lost_models.clone());
        }
        replay.fuel = replay.fuel.saturating_add(report.fuel);
        if let Some(difference) = self.stage.tape.difference() {
            self.differs(
                Difference {
                    step,
                    namespace: namespace.clone(),
                    checkpoint: self
                        .recorded
                        .next_mark(&namespace, self.reached.get(&namespace).copied())
                        .map(|next| next.sequence),
                    task: Some(task.clone()),
                    node: Some(path.clone()),
                    key: "journal".to_owned(),
                    recorded: "what its journal holds".to_owned(),
                    replayed: difference.to_string(),
                },
                replay,
            );
        }
        if self.stage.mode.is_live() {
            let at = AttemptPlace { step, task: &task, node: &path, dispatch };
            replay.world.extend(world(&at, &entries, &report.journal));
        }
        self.handle(&namespace, Event::TaskDone { task: task.into(), attempt, report })
    }

    /// Answers a hook with its recorded result: hooks are not executed again.
    fn hook(&mut self, spec: &HookSpec, replay: &mut Replay) -> Result<(), HandleError> {
        let call = spec.call.activation.task.as_str();
        // The id of a child run is that of the root run followed by its namespace.
        let run = format!("{}/", self.recorded.row.run_id);
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

    /// Returns the parameters of the run's resume at this point.
    fn resume(&mut self, status: Status) -> Result<Resume, String> {
        let summary = self.tree.summary();
        self.resumes += 1;
        // A live replay resumes no more often than the run did: each resume would repeat calls of the world.
        let live = self.stage.mode.is_live();
        let expected = self.recorded.next("", self.reached.get("").copied()).map_or(0, |next| {
            let again = |dispatches: u32| u64::from(dispatches.saturating_sub(u32::from(live)));
            next.checkpoint.tasks.iter().map(|task| again(task.dispatches)).sum::<u64>()
        });
        let below: u64 = self.answered.values().map(|count| *count as u64).sum();
        if self.resumes > expected + below + if live { 0 } else { 16 } {
            let error = summary.error.map(|error| error.message).unwrap_or_default();
            return Err(format!("it stops again and again as {status}: {error}"));
        }
        let mut asked = false;
        let mut known_answers = Vec::new();
        for open in summary.interrupts.iter().filter(|open| !open.payload.0.is_null()) {
            asked = true;
            let task = namespace_of(&open.id).to_owned();
            let namespace = namespace_of(&task);
            let known = self.recorded.task(namespace, self.reached.get(namespace).copied(), &task);
            let number = open.id.rsplit_once('/').and_then(|(_, number)| number.parse().ok());
            if let Some((number, answer)) =
                number.and_then(|number: usize| Some((number, known.answers.get(number)?)))
            {
                let next = self.recorded.next_mark(namespace, self.reached.get(namespace).copied());
                let next = next.map_or(u64::MAX, |next| next.at.0);
                // This dispatch ends at once: the answer adds nothing to a budget.
                let is_stopped = open.budget.is_some() && *answer.0 == serde_json::Value::Bool(false);
                let answer = recorded(&known, number, answer);
                known_answers.push((next, open.id.clone(), task, answer, is_stopped));
            }
        }
        // The run may have been resumed with one answer after the other. Effects of the first one are recorded first.
        let first = known_answers.iter().map(|(next, ..)| *next).min();
        let mut given = BTreeMap::new();
        for (_, id, task, answer, is_stopped) in
            known_answers.into_iter().filter(|(next, ..)| Some(*next) == first)
        {
            given.insert(id, answer);
            if is_stopped {
                *self.dispatches.entry(task.clone()).or_default() += 1;
            }
            *self.answered.entry(task).or_default() += 1;
        }
        if asked && given.is_empty() {
            let asked: Vec<_> = summary.interrupts.iter().map(|open| open.node.as_str()).collect();
            return Err(format!("{} asks, and no answer is recorded", asked.join(", ")));
        }
        // An answer that was replaced by another one before the superstep committed.
        for (namespace, task, count, dropped) in self.tree.given_answers() {
            let known = self.recorded.task(namespace, self.reached.get(namespace).copied(), task);
            let replaced = known.dropped.iter().find(|number| **number < count && !dropped.contains(number));
            if let (Some(number), Some(answer)) = (replaced, known.answers.get(count as usize)) {
                given
                    .entry(format!("{task}/{number}"))
                    .or_insert_with(|| recorded(&known, count as usize, answer));
            }
        }
        let answers = if given.is_empty() { Answers::None } else { Answers::Recorded(given) };
        let max_steps = (status == Status::Limit).then_some(u64::MAX - 1);
        Ok(Resume { answers, max_steps, ..Resume::default() })
    }

    fn persist(&mut self, persist: Persist, replay: &mut Replay, tell: &mut (dyn FnMut(&Replayed) + Send)) {
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
            let strict = self.recorded.row.durability != Durability::Exit;
            let compared = compare::compare(
                &stored,
                &checkpoint,
                &persist.values,
                standing,
                Way { strict, live: self.stage.mode.is_live(), first_release: self.recorded.first_release },
                &mut self.cut,
            );
            let replayed = shown(&checkpoint, &stored.checkpoint, compared.is_none(), strict);
            tell(&replayed);
            replay.supersteps.push(replayed);
            if let Some(difference) = compared {
                self.differs(difference, replay);
            }
        } else if self.recorded.row.durability != Durability::Exit {
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

fn shown(replayed: &Checkpoint, recorded: &Checkpoint, equal: bool, record: bool) -> Replayed {
    Replayed {
        namespace: replayed.namespace.clone(),
        checkpoint: replayed.sequence,
        step: replayed.step,
        made_by: if replayed.source == Source::Input { "start" } else { replayed.source.as_str() }.to_owned(),
        nodes: recorded.visited.clone(),
        fuel: replayed.tasks.iter().fold(0, |fuel, task| fuel.saturating_add(task.fuel)),
        equal,
        record,
    }
}

/// Attempt in which a difference is found.
struct AttemptPlace<'a> {
    step: u64,
    task: &'a str,
    node: &'a str,
    dispatch: u32,
}

/// Converts an answer for the walker.
fn recorded(known: &Known, number: usize, answer: &CanonicalValue) -> RecordedAnswer {
    let number = u32::try_from(number).ok();
    let is_dropped = number.is_some_and(|number| known.dropped.contains(&number));
    match number.and_then(|number| known.expired.get(&number)) {
        Some(until) => RecordedAnswer::Expired(*until),
        None if is_dropped => RecordedAnswer::Dropped((*answer.0).clone()),
        None => RecordedAnswer::Given((*answer.0).clone()),
    }
}

/// Compares the answers of the world, entry by entry while the same calls are made, up to the first call that differs.
fn world(at: &AttemptPlace<'_>, recorded: &[JournalEntry], now: &[JournalEntry]) -> Vec<LiveDifference> {
    let call = |entry: &JournalEntry| {
        let request = shortened(&canonical_string(&entry.request.0));
        format!("{}#{}({request})", entry.interface, entry.function)
    };
    let answer = |entry: &JournalEntry| {
        let answer = shortened(&canonical_string(&entry.result.0));
        if entry.ok { answer } else { format!("error {answer}") }
    };
    let of = |entry, then: Option<&JournalEntry>, now: Option<&JournalEntry>| LiveDifference {
        step: at.step,
        task: at.task.to_owned(),
        node: at.node.to_owned(),
        dispatch: at.dispatch,
        entry,
        call: now.or(then).map(call).unwrap_or_default(),
        recorded: then.map(answer),
        now: now.map(answer),
    };
    let mut found = Vec::new();
    for entry in 0..recorded.len().max(now.len()) {
        match (recorded.get(entry), now.get(entry)) {
            (Some(then), Some(now)) if then == now => {}
            (Some(then), Some(now)) if call(then) == call(now) => {
                found.push(of(entry, Some(then), Some(now)));
            }
            (then, Some(now)) if then.is_none_or(|then| call(then) != call(now)) => {
                // From here on the two sequences of calls are unrelated.
                found.push(of(entry, None, Some(now)));
                return found;
            }
            (then, now) => {
                found.push(of(entry, then, now));
                return found;
            }
        }
    }
    found
}

/// Checks whether a run or a task is inside another run.
fn is_below(namespace: &str, other: &str) -> bool {
    namespace.strip_prefix(other).is_some_and(|below| below.starts_with('/'))
}

/// Returns the namespace of a task, or the task of an interrupt.
fn namespace_of(id: &str) -> &str {
    id.rsplit_once('/').map_or("", |(namespace, _)| namespace)
}
