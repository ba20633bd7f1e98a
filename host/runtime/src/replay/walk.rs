//! Feeds the walker what it was fed then, and takes what comes of it.

use std::collections::{BTreeMap, VecDeque};

use graph_core::graph::Durability;
use graph_core::json::canonical_string;
use graph_core::node::Outcome;
use graph_core::record::{
    CacheEntry, Checkpoint, JournalEntry, Record, Source, Standing, Status, StatusRecord,
};
use graph_core::time::Timestamp;
use graph_core::walker::{
    Answered, Answers, Effect, Event, HandleError, HookSpec, Lookup, Persist, PersistId, Resume, RunTree,
    TaskReport, TaskSpec, TimerId,
};
use serde::Serialize;

use super::compare::{self, Difference, Way, shortened};
use super::recorded::{Recorded, reported};
use super::{Mode, Replay, ReplayContext, Replayed};
use graph_driver::TaskExecutor as _;

/// Where the world answers otherwise than it did.
#[derive(Clone, Debug, Serialize)]
pub struct LiveDifference {
    /// The superstep.
    pub step: u64,
    /// The task.
    pub task: String,
    /// Its node, with the path of nodes to it.
    pub node: String,
    /// Which dispatch of the task it was, from 1.
    pub dispatch: u32,
    /// The place in the journal, from 0.
    pub entry: usize,
    /// What was asked.
    pub call: String,
    /// What was answered then; none where nothing was asked.
    pub recorded: Option<String>,
    /// What is answered now; none where nothing is asked.
    pub now: Option<String>,
}

/// A walk from one checkpoint on.
pub(super) struct Walk<'r> {
    recorded: &'r Recorded,
    stage: &'r ReplayContext,
    tree: RunTree,
    /// What stands at the newest checkpoint of each namespace, as far as it was walked.
    standing: BTreeMap<String, Standing>,
    /// The newest checkpoint that each run of the tree has come to.
    reached: BTreeMap<String, u64>,
    /// The checkpoint of the run itself at which it ends.
    end: u64,
    effects: VecDeque<Effect>,
    tasks: VecDeque<TaskSpec>,
    hooks: VecDeque<HookSpec>,
    lookups: VecDeque<Lookup>,
    persisted: VecDeque<(PersistId, String)>,
    retries: VecDeque<TimerId>,
    /// How often each task of the supersteps under way was dispatched.
    dispatches: BTreeMap<String, u32>,
    /// How many answers each task of the supersteps under way was given.
    answered: BTreeMap<String, usize>,
    /// The child runs whose time is yet to be over, in order.
    overdue: Vec<&'r StatusRecord>,
    suspended: Option<Status>,
    /// The walkers have more to do.
    has_more: bool,
    /// How often the superstep under way was taken up again.
    resumes: u64,
    /// Attempts were cut short then, which nothing is known of but that they were.
    cut: bool,
    /// Something has differed since the last checkpoint of the run itself.
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
            retries: VecDeque::new(),
            dispatches: BTreeMap::new(),
            answered: BTreeMap::new(),
            overdue: recorded.overdue().iter().collect(),
            suspended: None,
            has_more: false,
            resumes: 0,
            cut: false,
            differed: false,
        }
    }

    /// Walks until the end is reached or something differs; gives the checkpoint of the run itself that it came to.
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
            } else if let Some((id, namespace)) = self.persisted.pop_front() {
                self.handle(&namespace, Event::Persisted(id))
            } else if let Some(spec) = self.hooks.pop_front() {
                self.hook(&spec, replay)
            } else if let Some(lookup) = self.lookups.pop_front() {
                self.look_up(&lookup, replay).await
            } else if let Some(spec) = self.tasks.pop_front() {
                if self.was_cut(&spec) {
                    *self.dispatches.entry(spec.activation.task.clone()).or_default() += 1;
                    Ok(())
                } else {
                    self.run(spec, replay).await
                }
            } else if let Some(timer) = self.retries.pop_front() {
                let namespace = match &timer {
                    TimerId::Retry { task, .. } => namespace_of(task).to_owned(),
                    _ => String::new(),
                };
                self.handle(&namespace, Event::TimerFired(timer))
            } else if let Some(at) = self.overdue.iter().position(|stop| self.is_at(stop)) {
                let namespace = self.overdue.remove(at).namespace.clone();
                let timer = TimerId::ChildTimeout { namespace: namespace.as_str().into() };
                self.handle(&namespace, Event::TimerFired(timer))
            } else {
                match self.suspended.take().map(|status| self.resume(status)) {
                    Some(Ok(resume)) => self.handle("", Event::Resumed(resume)),
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
                // An attempt that was given up meanwhile, a timer that comes too late.
                Ok(()) | Err(HandleError::Refused { .. }) => {}
                Err(error @ HandleError::Illegal { .. }) => self.stuck(&error.to_string(), replay),
            }
        }
    }

    fn handle(&mut self, namespace: &str, event: Event) -> Result<(), HandleError> {
        let now = self.now(namespace);
        self.effects.extend(self.tree.handle(now, event)?);
        Ok(())
    }

    /// Whether a child run has come to where its time was over.
    fn is_at(&self, stop: &StatusRecord) -> bool {
        self.reached.get(&stop.namespace) == Some(&stop.sequence)
    }

    /// Whether an attempt was under way, or had yet to begin, when the time of its child run was over, or of one around it.
    fn was_cut(&self, spec: &TaskSpec) -> bool {
        let (task, attempt) = (spec.activation.task.as_str(), spec.activation.attempt);
        let namespace = namespace_of(task);
        let mut around = namespace;
        while !around.is_empty() {
            let stop = self.overdue.iter().find(|stop| stop.namespace == around && self.is_at(stop));
            match stop {
                Some(stop) if around == namespace => {
                    return stop.tasks.get(task).map_or(0, reported) < attempt;
                }
                Some(_) => {
                    let reached = self.reached.get(namespace).copied();
                    return self.recorded.next_mark(namespace, reached).is_none()
                        && self.recorded.reported(task) < attempt;
                }
                None => around = namespace_of(around),
            }
        }
        false
    }

    /// The time at which this event happened, as far as anything depends on it. A child run begins with the time of what
    /// started it; as long as one is still to begin, the superstep around it cannot commit. Otherwise it is the time of the
    /// next boundary; a run that has none any more ends, and so it is the time of what that leads to in its parent.
    fn now(&self, namespace: &str) -> Timestamp {
        let mut namespace = namespace;
        loop {
            let reached = self.reached.get(namespace).copied();
            let at = reached.and_then(|sequence| self.recorded.find(namespace, sequence));
            let child = at.and_then(|at| {
                self.recorded.child_to_begin(&at.checkpoint, |child| self.reached.contains_key(child))
            });
            if let Some(next) = child.or_else(|| self.recorded.next_mark(namespace, reached)) {
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
            Effect::SetTimer { .. } | Effect::Emit(_) | Effect::Finish(_) => {}
        }
    }

    /// What stood in for a task then stands in for it now, if it is found by the same; else it is dispatched, and its
    /// checkpoint shows the difference. Nothing stands in that did not stand in then.
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

    async fn run(&mut self, spec: TaskSpec, replay: &mut Replay) -> Result<(), HandleError> {
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
        let report = self.stage.executor.execute(spec).await;
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
        if self.stage.mode == Mode::Live {
            let at = AttemptPlace { step, task: &task, node: &path, dispatch };
            replay.world.extend(world(&at, &entries, &report.journal));
        }
        self.handle(&namespace, Event::TaskDone { task: task.into(), attempt, report })
    }

    /// A hook says what it said then: its result is kept with the run.
    fn hook(&mut self, spec: &HookSpec, replay: &mut Replay) -> Result<(), HandleError> {
        let call = spec.call.activation.task.as_str();
        // A child run's id is that of the run with its namespace behind it.
        let run = format!("{}/", self.recorded.row.run_id);
        let namespace = spec.call.activation.run_id.strip_prefix(&run).unwrap_or_default().to_owned();
        let reached = self.reached.get(&namespace).copied();
        let Some(found) = self.recorded.hook(&namespace, reached, call) else {
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
        let report = TaskReport::new(result, found.fuel);
        self.handle(&namespace, Event::HookDone { hook: call.into(), report })
    }

    /// What the run was resumed with when it stood here.
    fn resume(&mut self, status: Status) -> Result<Resume, String> {
        let summary = self.tree.summary();
        self.resumes += 1;
        let expected = self.recorded.next("", self.reached.get("").copied()).map_or(0, |next| {
            next.checkpoint.tasks.iter().map(|task| u64::from(task.dispatches)).sum::<u64>()
        });
        let below: u64 = self.answered.values().map(|count| *count as u64).sum();
        if self.resumes > expected + below + 16 {
            let error = summary.error.map(|error| error.message).unwrap_or_default();
            return Err(format!("it stops again and again as {status}: {error}"));
        }
        let mut given = BTreeMap::new();
        let mut asked = false;
        for open in summary.interrupts.iter().filter(|open| !open.payload.0.is_null()) {
            asked = true;
            let task = namespace_of(&open.id).to_owned();
            let namespace = namespace_of(&task);
            let known = self.recorded.task(namespace, self.reached.get(namespace).copied(), &task);
            let count = self.answered.entry(task).or_default();
            if let Some(answer) = known.answers.get(*count) {
                *count += 1;
                given.insert(open.id.clone(), (*answer.0).clone());
            }
        }
        if asked && given.is_empty() {
            let asked: Vec<_> = summary.interrupts.iter().map(|open| open.node.as_str()).collect();
            return Err(format!("{} asks, and no answer is recorded", asked.join(", ")));
        }
        let answers = if given.is_empty() { Answers::None } else { Answers::ById(given) };
        let max_steps = (status == Status::Limit).then_some(u64::MAX - 1);
        Ok(Resume { answers, max_steps, inputs: None })
    }

    fn persist(&mut self, persist: Persist, replay: &mut Replay, tell: &mut (dyn FnMut(&Replayed) + Send)) {
        let namespace = match &persist.record {
            Record::Checkpoint(record) => record.namespace.clone(),
            Record::Task(record) => record.namespace.clone(),
            Record::Answers(record) => record.namespace.clone(),
            Record::Hook(record) => record.namespace.clone(),
            Record::Status(record) => record.namespace.clone(),
        };
        self.persisted.push_back((persist.id, namespace.clone()));
        let Record::Checkpoint(checkpoint) = persist.record else { return };
        let found = self.recorded.find(&namespace, checkpoint.sequence);
        let standing = self.standing.entry(namespace.clone()).or_default();
        standing.follow(&checkpoint);
        // Only what is recorded can be compared: not every boundary is, under `durability: exit`.
        if let Some(stored) = found {
            let strict = self.recorded.row.durability != Durability::Exit;
            let compared = compare::compare(
                &stored,
                &checkpoint,
                &persist.values,
                standing,
                Way {
                    strict,
                    live: self.stage.mode == Mode::Live,
                    first_release: self.recorded.first_release,
                },
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
            // Child runs of a superstep that has committed are history.
            self.reached.retain(|namespace, _| namespace.is_empty());
        }
        self.reached.insert(namespace, checkpoint.sequence);
    }

    /// The superstep does not come to its end.
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
        // What follows from a difference within one superstep says nothing new.
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

/// Where an attempt is.
struct AttemptPlace<'a> {
    step: u64,
    task: &'a str,
    node: &'a str,
    dispatch: u32,
}

/// Where the world answers otherwise: entry by entry, as far as the same is asked, and the first that is asked otherwise.
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
                // From here on the two have gone different ways.
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

/// The namespace of a task, or the task of an interrupt.
fn namespace_of(id: &str) -> &str {
    id.rsplit_once('/').map_or("", |(namespace, _)| namespace)
}
