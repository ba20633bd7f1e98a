//! The events that a driver reports to the walker, and the effects that the walker asks of a driver.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::hooks::calls::HookSpec;
use super::setup::Restored;
use super::tasks::result_cache::Lookup;
use crate::graph::{Graph, NodeIndex};
use graph_core::capability::{DispatchPatterns, Manifest};
use graph_core::digest::Digest;
use graph_core::item::{ItemOperation, ItemType};
use graph_core::limits::{HostUse, ModelUse, TaskLimits};
use graph_core::node::{Activation, Failure, Outcome};
use graph_core::record::{
    CacheEntry, ChannelValue, EncodeError, HookSummary, JournalEntry, LogLine, Record, RunError,
    SignedRecord, Status, UnsignedRecord,
};
use graph_core::time::Timestamp;
use graph_core::trust::SigningKey;

/// An event, for the walker to handle. Its time is an argument of [`Walker::handle`](super::Walker::handle).
#[derive(Clone, Debug)]
pub enum Event {
    /// The run is started. The first event of a new run, and of no other.
    Started,
    /// An attempt that [`Effect::RunTask`] asked for has ended.
    TaskDone {
        /// The id of the task, with its namespace.
        task: Arc<str>,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// The result, and the use.
        report: TaskReport,
    },
    /// An attempt is about to ask a language model. The answer is [`Effect::ModelRecorded`], unless the attempt has ended.
    ModelReserved {
        /// The id of the task, with its namespace.
        task: Arc<str>,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// Use of language models by the attempt so far, plus the most that this request may use, components that it called included.
        model: ModelUse,
        /// The name in the manifest of the model that it asks, if the driver knows it.
        name: Option<Arc<str>>,
    },
    /// The answer to [`Effect::LookUp`].
    LookedUp {
        /// The id of the task, with its namespace.
        task: Arc<str>,
        /// The attempt that would be dispatched.
        attempt: u32,
        /// The cache key of the task's result; none if the component that would perform the task is not known, or if no
        /// cached result may be used.
        key: Option<Digest>,
        /// The cached result to use, chosen by [`Lookup::choose`].
        found: Option<Box<CacheEntry>>,
        /// The reason why the stored results are not used, if they cannot be read or trusted.
        trouble: Option<String>,
    },
    /// A hook that [`Effect::RunHook`] asked for has ended.
    HookDone {
        /// The id of the call, which the walker gave it.
        hook: Arc<str>,
        /// The result, and the use.
        report: TaskReport,
    },
    /// All persists up to this one are accepted under the run's durability mode.
    Persisted(PersistId),
    /// The store has refused a record.
    PersistFailed {
        /// The id of the persist that was refused.
        id: PersistId,
        /// The store's error, for the user.
        message: String,
    },
    /// The user or a program resumes a suspended run. The first event of a restored run.
    Resumed(Resume),
    /// The user or a program edits a suspended run; it stays suspended.
    Updated(Box<Update>),
    /// A fork is started, edited or unchanged; it is suspended where it begins. The first event of a walker that
    /// [`Walker::fork`](super::Walker::fork) made, and of no other.
    Forked(Option<Edit>),
    /// A timer has fired.
    TimerFired(TimerId),
    /// Running tasks commit, then the run stops.
    CancelRequested,
    /// The run stops at once; running tasks are discarded.
    KillRequested,
    /// The walker gets control back, as [`Effect::Continue`] requested. If it was not requested, nothing happens.
    Continued,
}

/// The result of an attempt, and its use.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskReport {
    /// The answer or the failure.
    pub result: Result<Outcome, Failure>,
    /// Fuel used by the component.
    pub fuel: u64,
    /// Fuel of the host's own work for the attempt, metered by the driver: for a text item that was read, filled in or
    /// searched. The walker's own work is not included.
    pub work: u64,
    /// Warnings that it raised, for the run's list of warnings.
    pub warnings: Vec<String>,
    /// Log lines of its component, in order.
    pub logs: Vec<LogLine>,
    /// Records that its component added to the event stream, in order.
    pub events: Vec<CustomEvent>,
    /// The calls that its component made of the host, with their answers, in order.
    pub journal: Vec<JournalEntry>,
    /// Use of the host by a hook, if it does not follow from `work` and `journal`: a replay takes it from the history.
    pub host: Option<HostUse>,
    /// Use of language models by earlier attempts that left no result: a replay takes it from the task record.
    pub lost: ModelUse,
    /// `lost` by the model that was asked last, as far as its name is known.
    pub lost_models: BTreeMap<String, ModelUse>,
    /// Duration of the attempt, measured by the driver.
    pub timing: Timing,
}

impl TaskReport {
    /// A report without warnings, events and journal, and without timing.
    pub fn new(result: Result<Outcome, Failure>, fuel: u64) -> Self {
        Self {
            result,
            fuel,
            work: 0,
            warnings: Vec::new(),
            logs: Vec::new(),
            events: Vec::new(),
            journal: Vec::new(),
            host: None,
            lost: ModelUse::NOTHING,
            lost_models: BTreeMap::new(),
            timing: Timing::default(),
        }
    }
}

/// A record of a component for the event stream.
#[derive(Clone, Debug, PartialEq)]
pub struct CustomEvent {
    /// The name that the component gave the record.
    pub name: String,
    /// The payload of the event.
    pub payload: Value,
}

/// Duration of an attempt. It is recorded for people; nothing in the run depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Time at which the attempt ended; none if it was not measured.
    pub at: Option<Timestamp>,
    /// Beginning of the attempt, counted from any fixed point of the process.
    pub began: Duration,
    /// Time from the beginning to the end.
    pub took: Duration,
}

impl Timing {
    /// Returns the duration in microseconds.
    pub fn micros(&self) -> u64 {
        u64::try_from(self.took.as_micros()).unwrap_or(u64::MAX)
    }

    /// Returns the span from the first beginning to the last end of both, in whichever order they are given.
    pub(super) fn and(self, other: Self) -> Self {
        match (self.at, other.at) {
            (_, None) => self,
            (None, _) => other,
            (one, two) => {
                let began = self.began.min(other.began);
                let end = |timing: &Self| timing.began.saturating_add(timing.took);
                Self { at: one.max(two), began, took: end(&self).max(end(&other)).saturating_sub(began) }
            }
        }
    }
}

/// Arguments for resuming a suspended run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resume {
    /// Answers to its interrupts.
    pub answers: Answers,
    /// A new total for `max_steps`.
    pub max_steps: Option<u64>,
    /// New inputs, merged shallowly over the old ones; pending writes and interrupts are discarded.
    pub inputs: Option<Map<String, Value>>,
    /// Values for channels, folded by their reducers before the run continues: its superstep starts again with them and with the answers.
    pub update: Option<Map<String, Value>>,
}

/// Writes from outside the graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Edit {
    /// The values to write, by channel; they are folded by the reducers.
    pub values: Map<String, Value>,
    /// The node as which to write. Its routing, with the edited state and `values` as its result, replaces that node's
    /// among the next activations; without a node, these stay.
    pub as_node: Option<String>,
}

/// An edit of a suspended run. Pending writes and interrupts are discarded.
#[derive(Clone, Debug)]
pub struct Update {
    /// The values to write, and the node as which to write them.
    pub edit: Edit,
    /// The checkpoint of the same run that the edit goes back to; none for the newest.
    pub back_to: Option<Earlier>,
}

/// An earlier checkpoint of a run.
#[derive(Clone, Debug)]
pub struct Earlier {
    /// The restored checkpoint, without pending records.
    pub restored: Restored,
    /// The inputs that the run had then.
    pub inputs: Arc<Value>,
}

/// The answers that a resume brings.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Answers {
    /// The run is resumed without an answer.
    #[default]
    None,
    /// One answer, for the only open interrupt.
    Bare(Value),
    /// Answers by the interrupt's id, or by the name of a node that has just one open interrupt.
    ById(BTreeMap<String, Value>),
    /// Answers by the interrupt's id, from records of the run: a replay expects no others, and ignores deadlines.
    Recorded(BTreeMap<String, RecordedAnswer>),
}

/// An answer from a record.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedAnswer {
    /// The answer was given.
    Given(Value),
    /// No answer was given before this deadline.
    Expired(Timestamp),
    /// The answer was given, and no longer counts.
    Dropped(Value),
}

/// Id of a persist; later ones are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PersistId(pub u64);

/// Id of a timer that the walker has set; there is one timer per id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimerId {
    /// The wait before the attempt of a task.
    Retry {
        /// The id of the task.
        task: Arc<str>,
        /// The attempt that is due.
        attempt: u32,
    },
    /// The wall time of the run.
    RunTimeout,
    /// The wall time of a child run.
    ChildTimeout {
        /// The child run's namespace.
        namespace: Arc<str>,
    },
}

/// An action for the driver. Effects are performed in the order in which they are returned.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Perform an attempt of a task and answer with [`Event::TaskDone`]. The driver bounds it by `limits.timeout`.
    RunTask(Box<TaskSpec>),
    /// The attempt's reservation for language models is recorded; it may send its request.
    ModelRecorded {
        /// The id of the task.
        task: Arc<str>,
        /// The number of the attempt, from 1.
        attempt: u32,
    },
    /// Look a task up in the cache, and answer with [`Lookup::answer`]. Results that were handed out to be persisted
    /// before this count as stored.
    LookUp(Box<Lookup>),
    /// Abandon a running task, or a lookup for it; its `TaskDone`, or its `LookedUp`, is no longer expected and would be
    /// ignored.
    Abort {
        /// The id of the task.
        task: Arc<str>,
        /// The number of the attempt, from 1.
        attempt: u32,
    },
    /// Perform a hook's dispatch and answer with [`Event::HookDone`]. The driver bounds it by `limits.timeout`.
    RunHook(Box<HookSpec>),
    /// Abandon a running hook; its `HookDone` is no longer expected and would be ignored.
    AbortHook {
        /// The id of the call to abandon.
        hook: Arc<str>,
    },
    /// Store a record and answer with [`Event::Persisted`] or [`Event::PersistFailed`].
    Persist(Box<Persist>),
    /// Answer with [`Event::TimerFired`] at that time.
    SetTimer {
        /// The timer. Setting it again moves it.
        timer: TimerId,
        /// Time at which the timer fires; at once if that time has passed.
        at: Timestamp,
    },
    /// Report a notice to the observers of the run.
    Emit(Notice),
    /// The walker has work left. Check for signals, stop requests and due timers, report all events that have happened,
    /// and otherwise answer with [`Event::Continued`].
    Continue,
    /// The run has stopped before its end; a later [`Event::Resumed`] resumes it.
    Suspend(Status),
    /// The run has reached its end.
    Finish(Status),
}

/// A record to store.
#[derive(Clone, Debug)]
pub struct Persist {
    /// Position in the order of persists.
    pub id: PersistId,
    /// The record to encode, sign and store.
    pub record: Record,
    /// The record's text and digest, if the walker has computed them.
    encoded: Option<(Arc<str>, Digest)>,
    /// Number of supersteps committed when the record was made.
    pub step: u64,
    /// Of a checkpoint: the channel values that changed since the last checkpoint that was persisted.
    pub values: Vec<ChannelValue>,
    /// Of a checkpoint: results for the cache, which are stored with it or not at all.
    pub results: Vec<CacheEntry>,
}

impl Persist {
    /// Creates a persist of a record without values and results.
    pub(super) const fn new(id: PersistId, record: Record, step: u64) -> Self {
        Self { id, record, encoded: None, step, values: Vec::new(), results: Vec::new() }
    }

    /// Creates a persist of a checkpoint whose text and digest are known.
    pub(super) const fn of_checkpoint(
        id: PersistId,
        record: Record,
        encoded: (Arc<str>, Digest),
        step: u64,
        values: Vec<ChannelValue>,
        results: Vec<CacheEntry>,
    ) -> Self {
        Self { id, record, encoded: Some(encoded), step, values, results }
    }

    /// Encodes the record for the store; it is signed with the others that are stored with it.
    ///
    /// A task or answers record is void once a checkpoint with a greater sequence number is stored: a driver that
    /// stores both together may leave it out.
    pub fn encode(self) -> Result<UnsignedRecord, EncodeError> {
        let encoded = match self.encoded {
            Some(encoded) => encoded,
            None => self.record.encode()?,
        };
        Ok(UnsignedRecord::new(self.record, encoded, self.step, self.values, self.results))
    }

    /// Signs the record by itself.
    pub fn sign(self, key: &SigningKey) -> Result<SignedRecord, EncodeError> {
        self.encode()?.sign(key)
    }
}

/// An attempt of a task.
#[derive(Clone, Debug)]
pub struct TaskSpec {
    /// The graph that the node is in.
    pub graph: Arc<Graph>,
    /// The index of the node in its graph.
    pub node: NodeIndex,
    /// The path of nodes from the root graph to this one, `outer/inner/node`.
    pub path: String,
    /// Item of a `foreach` that the task is for. Only observers of the run read this.
    pub item: Option<ItemPlace>,
    /// Manifest of the attempt; in a child run it is narrowed by the parents.
    pub manifest: Arc<Manifest>,
    /// The operation on the item.
    pub operation: ItemOperation,
    /// The type of the item.
    pub item_type: ItemType,
    /// The item's id, templates resolved.
    pub item_id: String,
    /// The item's params, templates resolved.
    pub params: Value,
    /// The activation that the component receives; its `task` and `attempt` name the attempt.
    pub activation: Activation,
    /// Limits of the attempt.
    pub limits: TaskLimits,
    /// Dispatch patterns from templates of the node, besides its literal `capabilities`; none permits everything.
    pub narrowing: Option<Arc<DispatchPatterns>>,
    /// Time that the component reads: the superstep's recorded time.
    pub clock: Timestamp,
    /// The seed of its random numbers: the same for every attempt.
    pub seed: Digest,
}

/// Position of a task's item in the list of its `foreach`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemPlace {
    /// Position in the list, from 1.
    pub number: u64,
    /// Number of items in the list.
    pub of: u64,
}

/// A notice for the observers of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// A superstep has begun.
    SuperstepStarted {
        /// Number of the superstep, from 1.
        superstep: u64,
        /// Nodes of the superstep, in task order.
        nodes: Vec<String>,
        /// Number of tasks.
        tasks: u64,
    },
    /// A task has answered, or failed for good.
    TaskFinished {
        /// The id of the task, with its namespace.
        task: Arc<str>,
        /// The name of the task's node.
        node: String,
        /// Number of attempts made, the last included.
        attempts: u32,
        /// Fuel of all attempts.
        fuel: u64,
        /// The failure, if it failed.
        failure: Option<Failure>,
    },
    /// A cached result is used instead of a task's dispatch.
    Cached {
        /// The id of the task, with its namespace.
        task: Arc<str>,
        /// The name of the task's node.
        node: String,
        /// The fuel that computing the result took, which is charged again.
        fuel: u64,
        /// The run in which the result was computed.
        run: String,
    },
    /// A task will be tried again.
    Retrying {
        /// The id of the task, with its namespace.
        task: Arc<str>,
        /// The name of the task's node.
        node: String,
        /// The attempt that is due.
        attempt: u32,
        /// Time at which the next attempt is due.
        due: Timestamp,
        /// The failure of the last attempt.
        failure: Failure,
    },
    /// A superstep has committed.
    Committed {
        /// Number of the superstep, from 1.
        superstep: u64,
        /// Nodes of the superstep, in task order.
        nodes: Vec<String>,
        /// Fuel of all its tasks.
        fuel: u64,
        /// The channels that it changed.
        changed: Vec<ChannelChange>,
    },
    /// A hook has ended.
    HookFinished(Box<HookSummary>),
    /// The run has stopped because of an error.
    Stopped(RunError),
    /// A warning, which the next record contains.
    Warning(String),
    /// A child run is started or resumed.
    ChildStarted {
        /// The child run's namespace.
        namespace: Arc<str>,
        /// The path of nodes from the root graph to the node that starts it.
        path: Arc<str>,
        /// The item id of the graph that it runs.
        graph: String,
        /// The attempt of the task that starts it, without its argument and answers.
        activation: Box<Activation>,
        /// Item of a `foreach` that the child run is for.
        item: Option<ItemPlace>,
    },
    /// A notice of a child run.
    Child {
        /// The child run's namespace.
        namespace: Arc<str>,
        /// The path of nodes from the root graph to the node that has started it.
        path: Arc<str>,
        /// The notice of the child run.
        notice: Box<Notice>,
    },
}

/// A channel that a superstep changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelChange {
    /// The name of the channel.
    pub channel: String,
    /// Number of elements that were appended, if the channel is a list that only grew.
    pub appended: Option<u64>,
}
