//! The superstep under way: its tasks, what each has come to, and what remains of them when it does not commit.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;

use super::cache::Caching;
use super::telling::Told;
use crate::graph::Graph;
use crate::graph::{ItemType, NodeIndex, Primary};
use crate::limits::{Budget, HostUse, TaskLimits};
use crate::node::{Failure, Outcome};
use crate::record::{
    AnswersRecord, AttemptJournal, Canonical, InterruptRecord, PendingOutcome, StatusRecord, TaskCache,
    TaskEvent, TaskRecord, TaskUse,
};
use crate::time::Timestamp;
use crate::work::size;

/// The superstep under way.
#[derive(Debug)]
pub(super) struct Superstep {
    /// Its number, from 1.
    pub(super) number: u64,
    /// The nodes that are active, in task order.
    pub(super) activated: Vec<Activated>,
    /// The tasks of all of them.
    pub(super) tasks: Vec<Task>,
    /// Tasks that may start as soon as there is room.
    pub(super) ready: BTreeSet<usize>,
    /// How many attempts are running.
    pub(super) running: usize,
    /// How many tasks have not settled.
    pub(super) open: usize,
    /// What its tasks hold: the items that they are given and what they have returned, as `work::size` measures it.
    pub(super) held: u64,
    /// The params of the attempts that are running, measured in the same way.
    pub(super) in_flight: u64,
}

/// A node that is active.
#[derive(Debug)]
pub(super) struct Activated {
    /// The node.
    pub(super) node: NodeIndex,
    /// A send's argument.
    pub(super) argument: Option<Arc<Value>>,
    /// How often the node has been entered, this time included.
    pub(super) visit: u64,
    /// Its tasks in [`Superstep::tasks`].
    pub(super) tasks: Range<usize>,
    /// Tasks before this one have been released, or will never be.
    pub(super) reached: usize,
    /// Of a `foreach`, the list of its items' results, once all have settled.
    pub(super) list: Option<Arc<Value>>,
    /// What the `assign` of a `foreach` came to, once all its items have settled.
    pub(super) assigned: Option<Result<Vec<Value>, Failure>>,
}

/// A task.
#[derive(Debug)]
pub(super) struct Task {
    /// Its id.
    pub(super) id: Arc<str>,
    /// Its place in [`Superstep::activated`].
    pub(super) activated: usize,
    /// The item of a `foreach`.
    pub(super) item: Option<Arc<Value>>,
    /// What it dispatches; none for a node without an action.
    pub(super) dispatch: Option<Dispatch>,
    /// Where it stands.
    pub(super) state: TaskState,
    /// The attempt, from 1; 0 before the first.
    pub(super) attempt: u32,
    /// How often its item was dispatched and the fuel of all attempts.
    pub(super) used: Used,
    /// Where it stood when the run was last taken up: shares are made of that.
    pub(super) start: Start,
    /// Fuel set aside for it, for its attempts and for the host's work on it, that has not been used.
    pub(super) reserved: u64,
    /// What of `reserved` its components may use, where a node above bounds their fuel; everything otherwise.
    pub(super) components: u64,
    /// The size of the params of the attempt that is running.
    pub(super) params: u64,
    /// Fuel of the host's work on what its last attempt was given.
    pub(super) own_work: u64,
    /// What is set aside for it of the host's use, and no attempt has used.
    pub(super) reserved_host: HostUse,
    /// Supersteps set aside for its child run, those apart that the child has taken already.
    pub(super) reserved_steps: u64,
    /// How many of its attempts a hook has asked for.
    pub(super) retried: u32,
    /// A hook had its failure passed: `on_error` does not apply.
    pub(super) continued: bool,
    /// Answers to its interrupts.
    pub(super) answers: Vec<Value>,
    /// Warnings of its attempts.
    pub(super) warnings: Vec<String>,
    /// What it tells beside what it comes to.
    pub(super) told: Told,
    /// Where it stands with the cache of results.
    pub(super) caching: Caching,
}

/// What a task has used, whatever it came to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Used {
    pub(super) dispatches: u32,
    pub(super) fuel: u64,
    /// What all attempts used of the host.
    pub(super) host: HostUse,
    /// Microseconds that all attempts took.
    pub(super) micros: u64,
    /// Supersteps of its child run, and of the runs below that.
    pub(super) steps: u64,
    /// How often hooks were asked about a failure of it.
    pub(super) asked: u32,
}

/// Where a task stands when its superstep begins, or when a run that has stopped is taken up. What tasks are set aside
/// follows from this alone, so that a crash in between changes none of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Start {
    /// What it had used.
    pub(super) used: Used,
    /// Attempts that count against its retry policy.
    pub(super) attempts: u32,
    /// It was not to run.
    pub(super) settled: bool,
}

/// What a task dispatches, as far as it is the same for every attempt.
#[derive(Clone, Debug)]
pub(super) struct Dispatch {
    pub(super) primary: Primary,
    pub(super) item_type: ItemType,
    pub(super) item_id: Arc<str>,
    pub(super) limits: TaskLimits,
    /// The item is a graph: the task is a child run.
    pub(super) is_graph: bool,
}

/// Where a task stands.
#[derive(Debug)]
pub(super) enum TaskState {
    /// Not yet started; ready, or behind an earlier item of a serial `foreach`.
    Waiting,
    /// An attempt is running.
    Running,
    /// An attempt has failed; the next is due.
    Backoff { due: Timestamp, failure: Failure },
    /// It has failed, and hooks are asked what becomes of that; `told`: not for the first time.
    Failing { failure: Failure, told: bool },
    /// It asks.
    Interrupted { payload: Arc<Value> },
    /// Its child run asks.
    Suspended,
    /// It has answered.
    Done(Answer),
    /// It has failed for good and the graph handles that.
    Handled(Failure),
    /// It has failed for good.
    Failed(Failure),
    /// It has used a budget of the run up: the superstep does not commit, whatever the graph says of failures.
    Exhausted {
        budget: Budget,
        /// In a child run: the path of nodes to where that was.
        within: Option<String>,
    },
    /// An earlier item of its serial `foreach` stopped the node.
    NotReached,
}

/// What a task has answered.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    /// The answer itself: a result or a command.
    pub(super) outcome: Arc<Outcome>,
    /// What the node's `assign` makes of a result, in its order.
    pub(super) assigned: Vec<Value>,
}

impl Answer {
    /// What it holds.
    pub(super) fn held(&self) -> u64 {
        self.assigned.iter().map(size::of).fold(outcome_size(&self.outcome), u64::saturating_add)
    }
}

/// What an outcome takes up.
pub(super) fn outcome_size(outcome: &Outcome) -> u64 {
    match outcome {
        Outcome::Result(value) | Outcome::Interrupt(value) => size::of(value),
        Outcome::Command { update, goto } => {
            let update = update.iter().map(|(key, value)| key.len() as u64 + size::of(value));
            let goto = goto.iter().map(|goto| {
                let argument = goto.argument.as_ref().map_or(0, size::of);
                size::VALUE + goto.node.len() as u64 + argument
            });
            update.chain(goto).fold(size::VALUE, u64::saturating_add)
        }
    }
}

impl Task {
    /// Whether it has a share in what is set aside for the tasks of its superstep: it was to run when the run was last
    /// taken up, whatever it has come to since.
    pub(super) const fn shares(&self) -> bool {
        !self.start.settled || !self.state.is_settled()
    }
}

impl TaskState {
    /// Whether the superstep no longer waits for the task.
    pub(super) const fn is_settled(&self) -> bool {
        !matches!(self, Self::Waiting | Self::Running | Self::Backoff { .. } | Self::Failing { .. })
    }
}

impl Superstep {
    /// Whether every task has settled.
    pub(super) const fn is_settled(&self) -> bool {
        self.open == 0
    }

    /// The place of a task, which is the ordinal in its id.
    pub(super) fn find(&self, id: &str) -> Option<usize> {
        let at = usize::try_from(ordinal(id)).ok()?;
        self.tasks.get(at).filter(|task| *task.id == *id).map(|_| at)
    }

    /// What remains of the superstep when it does not commit.
    pub(super) fn into_pending(self) -> Pending {
        let mut pending = Pending::default();
        for task in self.tasks {
            let outcome = match &task.state {
                TaskState::Done(answer) => {
                    Some(PendingOutcome::Done { outcome: Arc::clone(&answer.outcome) })
                }
                TaskState::Handled(failure) => Some(PendingOutcome::Handled { failure: failure.clone() }),
                TaskState::Interrupted { payload } => Some(PendingOutcome::Interrupted {
                    answered: u32::try_from(task.answers.len()).unwrap_or(u32::MAX),
                    payload: Canonical(Arc::clone(payload)),
                }),
                TaskState::Suspended => Some(PendingOutcome::Suspended),
                TaskState::Backoff { due, failure } => {
                    Some(PendingOutcome::Retrying { due: *due, failure: failure.clone() })
                }
                TaskState::Failing { failure, told: true } => {
                    Some(PendingOutcome::Failing { failure: failure.clone() })
                }
                TaskState::Waiting
                | TaskState::Running
                | TaskState::Failing { told: false, .. }
                | TaskState::Failed(_)
                | TaskState::Exhausted { .. }
                | TaskState::NotReached => None,
            };
            let left = PendingTask {
                node: self.activated[task.activated].node,
                outcome,
                attempt: task.attempt,
                retried: task.retried,
                continued: task.continued,
                used: task.used,
                start: task.start,
                answers: task.answers,
                warnings: task.warnings,
                events: task.told.events,
                journal: task.told.journal,
                cache: task.caching.cache,
                woken: false,
            };
            let is_new = left.outcome.is_none() && left.used == Used::default() && left.answers.is_empty();
            if !is_new || left.attempt > 0 {
                pending.0.insert(task.id, left);
            }
        }
        pending
    }
}

impl Superstep {
    /// A superstep without tasks.
    pub(super) fn new(number: u64) -> Self {
        Self {
            number,
            activated: Vec::new(),
            tasks: Vec::new(),
            ready: BTreeSet::new(),
            running: 0,
            open: 0,
            held: 0,
            in_flight: 0,
        }
    }

    /// Fuel that its tasks have used, of components and of the host's work together.
    pub(super) fn spent(&self) -> u64 {
        self.tasks.iter().map(Task::spent).fold(0, u64::saturating_add)
    }
}

/// What is known of the tasks of a superstep that has not committed.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending(pub(super) BTreeMap<Arc<str>, PendingTask>);

/// What is known of one of them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PendingTask {
    pub(super) node: NodeIndex,
    pub(super) outcome: Option<PendingOutcome>,
    pub(super) attempt: u32,
    pub(super) retried: u32,
    pub(super) continued: bool,
    pub(super) used: Used,
    pub(super) start: Start,
    pub(super) answers: Vec<Value>,
    pub(super) warnings: Vec<String>,
    /// What happened in it and stands in no record of the history yet.
    pub(super) events: Vec<TaskEvent>,
    /// What the world answered to its attempts.
    pub(super) journal: Vec<AttemptJournal>,
    /// What it has to do with the cache of results.
    pub(super) cache: Option<TaskCache>,
    /// Its child run has something to go on with.
    pub(super) woken: bool,
}

impl PendingTask {
    /// What it holds.
    pub(super) fn holds(&self) -> u64 {
        match &self.outcome {
            Some(PendingOutcome::Done { outcome }) => outcome_size(outcome),
            Some(PendingOutcome::Interrupted { payload, .. }) => size::of(&payload.0),
            _ => 0,
        }
    }

    /// Where it stands now, as a run that has stopped is taken up.
    pub(super) fn stand(&self) -> Start {
        let (settled, attempts) = match &self.outcome {
            None => (false, 0),
            Some(PendingOutcome::Retrying { .. }) => (false, self.attempt),
            Some(PendingOutcome::Interrupted { answered, .. }) if self.answers.len() > *answered as usize => {
                (false, self.attempt.saturating_sub(1))
            }
            Some(PendingOutcome::Suspended) if self.woken => (false, self.attempt.saturating_sub(1)),
            Some(_) => (true, self.attempt),
        };
        Start { used: self.used, attempts, settled }
    }
}

impl Pending {
    /// A run that has stopped is taken up, or stops: from here on its tasks are counted.
    pub(super) fn begin(&mut self) {
        for left in self.0.values_mut() {
            left.start = left.stand();
        }
    }

    /// From stored records. A record that names a node that the graph does not have is the name in the error.
    pub(super) fn from_records(
        graph: &Graph,
        records: Vec<TaskRecord>,
        answers: Vec<AnswersRecord>,
        status: Option<&StatusRecord>,
    ) -> Result<Self, String> {
        let used = status.map(|status| &status.tasks);
        let mut pending = Self::default();
        for (task, used) in used.into_iter().flatten() {
            let entry = pending.entry(graph, task, &used.node)?;
            let TaskUse { asked, attempts, dispatches, fuel, host, micros, settled, steps, .. } = *used;
            entry.used = Used { dispatches, fuel, host, micros, steps, asked };
            entry.start = Start { used: entry.used, attempts, settled };
            entry.journal.clone_from(&used.journal);
        }
        for record in records {
            let entry = pending.entry(graph, &record.task, &record.node)?;
            entry.used.dispatches = entry.used.dispatches.max(record.dispatches);
            entry.used.fuel = entry.used.fuel.max(record.fuel);
            entry.used.host = entry.used.host.max(record.host);
            entry.used.micros = entry.used.micros.max(record.micros);
            entry.used.steps = entry.used.steps.max(record.steps);
            entry.used.asked = entry.used.asked.max(record.asked);
            // A failure that a later status record knows of has stopped the run: whoever resumed it, or resumes it now,
            // counts the attempts anew. One that no status record knows of has yet to stop the run.
            let told = used.and_then(|used| used.get(&record.task));
            let anew = told.is_some_and(|told| told.dispatches >= record.dispatches);
            // Its child run was to go on, and what it has come to since then is not known.
            entry.woken = anew && !entry.start.settled && matches!(record.outcome, PendingOutcome::Suspended);
            // A status record tells everything that had happened by then.
            entry.events = if anew { Vec::new() } else { record.events };
            if !(anew && matches!(record.outcome, PendingOutcome::Failed { .. })) {
                entry.attempt = record.attempt;
                entry.retried = record.retried;
                entry.continued = record.continued;
                entry.outcome = Some(record.outcome);
            }
            entry.warnings = record.warnings;
            entry.cache = record.cache;
            // Journals only grow: whichever record is the later one has the longer one.
            if record.journal.len() >= entry.journal.len() {
                entry.journal = record.journal;
            }
        }
        for record in answers {
            let entry = pending.entry(graph, &record.task, &record.node)?;
            entry.answers = record.answers.into_iter().map(|answer| Value::clone(&answer.0)).collect();
        }
        Ok(pending)
    }

    fn entry(&mut self, graph: &Graph, task: &str, node: &str) -> Result<&mut PendingTask, String> {
        let node = graph.find(node).ok_or_else(|| node.to_owned())?;
        Ok(self.0.entry(task.into()).or_insert_with(|| PendingTask {
            node,
            outcome: None,
            attempt: 0,
            retried: 0,
            continued: false,
            used: Used::default(),
            start: Start::default(),
            answers: Vec::new(),
            warnings: Vec::new(),
            events: Vec::new(),
            journal: Vec::new(),
            cache: None,
            woken: false,
        }))
    }

    /// Of which of them a stored result has stood in for the dispatch: their nodes.
    pub(super) fn cached(&self) -> impl Iterator<Item = NodeIndex> {
        self.0.values().filter(|left| matches!(left.cache, Some(TaskCache::Hit(_)))).map(|left| left.node)
    }

    /// Fuel of all of them.
    pub(super) fn fuel(&self) -> u64 {
        self.0.values().map(|task| task.used.fuel).fold(0, u64::saturating_add)
    }

    /// What all of them have used of the host.
    pub(super) fn host(&self) -> HostUse {
        self.0.values().map(|task| task.used.host).fold(HostUse::default(), HostUse::plus)
    }

    /// Supersteps of the child runs of all of them.
    pub(super) fn steps(&self) -> u64 {
        self.0.values().map(|task| task.used.steps).fold(0, u64::saturating_add)
    }

    /// The tasks whose child runs ask.
    pub(super) fn suspended(&self) -> impl Iterator<Item = &Arc<str>> {
        let waits = |left: &PendingTask| matches!(left.outcome, Some(PendingOutcome::Suspended));
        self.0.iter().filter(move |(_, left)| waits(left)).map(|(task, _)| task)
    }

    /// Whether a question has its answer, and its task has not gone on with it.
    pub(super) fn has_answers(&self) -> bool {
        self.0.values().any(|left| match &left.outcome {
            Some(PendingOutcome::Interrupted { answered, .. }) => left.answers.len() > *answered as usize,
            _ => false,
        })
    }

    /// The open questions, in task order.
    pub(super) fn interrupts(&self, graph: &Graph) -> Vec<InterruptRecord> {
        let mut asked: Vec<_> = self
            .0
            .iter()
            .filter_map(|(task, left)| match &left.outcome {
                Some(PendingOutcome::Interrupted { answered, payload })
                    if left.answers.len() <= *answered as usize =>
                {
                    Some((
                        ordinal(task),
                        InterruptRecord {
                            id: format!("{task}/{answered}"),
                            node: graph.node(left.node).name.clone(),
                            payload: payload.clone(),
                        },
                    ))
                }
                _ => None,
            })
            .collect();
        asked.sort_by_key(|(ordinal, _)| *ordinal);
        asked.into_iter().map(|(_, interrupt)| interrupt).collect()
    }
}

/// The ordinal in a task's id.
pub(super) fn ordinal(task: &str) -> u64 {
    task.rsplit('.').next().and_then(|digits| digits.parse().ok()).unwrap_or(u64::MAX)
}

/// A task's id: `namespace/superstep.ordinal`; the root namespace is left out.
pub(super) fn task_id(namespace: &str, superstep: u64, ordinal: usize) -> Arc<str> {
    if namespace.is_empty() {
        format!("{superstep}.{ordinal}").into()
    } else {
        format!("{namespace}/{superstep}.{ordinal}").into()
    }
}
