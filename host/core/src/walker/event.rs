//! What a driver tells the walker, and what the walker asks of a driver.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};

use super::cache::Lookup;
use super::hooks::HookSpec;
use super::setup::Restored;
use crate::capability::Manifest;
use crate::digest::Digest;
use crate::graph::{Graph, ItemType, NodeIndex, Primary};
use crate::limits::TaskLimits;
use crate::node::{Activation, Failure, Outcome};
use crate::record::{
    CacheEntry, ChannelValue, EncodeError, HookSummary, JournalEntry, Record, RunError, SignedRecord, Status,
    UnsignedRecord,
};
use crate::time::Timestamp;
use crate::trust::SigningKey;

/// Something that has happened. Time comes with it, as an argument of [`Walker::handle`](super::Walker::handle).
#[derive(Clone, Debug)]
pub enum Event {
    /// The run begins. The first event of a new run, and of no other.
    Started,
    /// An attempt that [`Effect::RunTask`] asked for has come to an end.
    TaskDone {
        /// The task's id.
        task: Arc<str>,
        /// The attempt.
        attempt: u32,
        /// What it came to.
        report: TaskReport,
    },
    /// What [`Effect::LookUp`] has found.
    LookedUp {
        /// The task's id.
        task: Arc<str>,
        /// The attempt that would be dispatched.
        attempt: u32,
        /// What the task's result is found by; none where nobody can say who would perform it, or nothing is to stand in.
        key: Option<Digest>,
        /// What stands in, by [`Lookup::choose`].
        found: Option<Box<CacheEntry>>,
        /// Why what is kept is not used, where it cannot be read or trusted.
        trouble: Option<String>,
    },
    /// A hook that [`Effect::RunHook`] asked for has come to an end.
    HookDone {
        /// The call's id.
        hook: Arc<str>,
        /// What it came to.
        report: TaskReport,
    },
    /// Everything up to this persist is accepted under the run's durability mode.
    Persisted(PersistId),
    /// A persist was refused by the store.
    PersistFailed {
        /// Which.
        id: PersistId,
        /// Why.
        message: String,
    },
    /// A person or program wants a suspended run to go on. The first event of a restored run.
    Resumed(Resume),
    /// A person or program edits a suspended run; it stays suspended.
    Updated(Box<Update>),
    /// A fork begins, edited or as it is; it is suspended where it began. The first event of a walker that
    /// [`Walker::fork`](super::Walker::fork) made, and of no other.
    Forked(Option<Edit>),
    /// A timer has fired.
    TimerFired(TimerId),
    /// Running tasks commit, then the run stops.
    CancelRequested,
    /// The run stops at once; running tasks are discarded.
    KillRequested,
    /// The walker has control again, as [`Effect::Continue`] asked for. Where it did not ask, nothing happens.
    Continued,
}

/// What an attempt came to.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskReport {
    /// The answer or the failure.
    pub result: Result<Outcome, Failure>,
    /// The fuel it used.
    pub fuel: u64,
    /// Fuel of the host's own work for it, which the driver has metered: of a text item that was read, filled in or searched
    /// for. What the walker does for an attempt is not part of it.
    pub work: u64,
    /// Warnings that it raised, for the run's list of warnings.
    pub warnings: Vec<String>,
    /// Records that its component added to the event stream, in order.
    pub events: Vec<CustomEvent>,
    /// What its component asked of the world, and what was answered, in order.
    pub journal: Vec<JournalEntry>,
    /// How long it took, as the driver measured it.
    pub timing: Timing,
}

impl TaskReport {
    /// A report without warnings, events and journal, whose time nobody has measured.
    pub fn new(result: Result<Outcome, Failure>, fuel: u64) -> Self {
        Self {
            result,
            fuel,
            work: 0,
            warnings: Vec::new(),
            events: Vec::new(),
            journal: Vec::new(),
            timing: Timing::default(),
        }
    }
}

/// A record of a component for the event stream.
#[derive(Clone, Debug, PartialEq)]
pub struct CustomEvent {
    /// What kind of record it is.
    pub name: String,
    /// What it says.
    pub payload: Value,
}

/// How long an attempt took. It is told of the run and decides nothing in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// When it ended; none where nobody has looked.
    pub at: Option<Timestamp>,
    /// When it began, counted from any fixed point of the process.
    pub began: Duration,
    /// From its beginning to its end.
    pub took: Duration,
}

impl Timing {
    /// From its beginning to its end, in microseconds.
    pub fn micros(&self) -> u64 {
        u64::try_from(self.took.as_micros()).unwrap_or(u64::MAX)
    }
}

/// How a suspended run goes on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Resume {
    /// Answers to its interrupts.
    pub answers: Answers,
    /// A new total for `max_steps`.
    pub max_steps: Option<u64>,
    /// New inputs, merged shallowly over the old ones; pending writes and interrupts are discarded.
    pub inputs: Option<Map<String, Value>>,
}

/// Writes from outside the graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Edit {
    /// What is written, by channel; it goes through the reducers.
    pub values: Map<String, Value>,
    /// The node that is written as. Its routing, on the edited state and with `values` as its result, takes its place
    /// among what is next; without one, what is next stays.
    pub as_node: Option<String>,
}

/// An edit of a suspended run. Pending writes and interrupts are discarded.
#[derive(Clone, Debug)]
pub struct Update {
    /// What is written.
    pub edit: Edit,
    /// The checkpoint of the same run that the edit goes back to; none for the newest.
    pub back_to: Option<Earlier>,
}

/// An earlier checkpoint of a run.
#[derive(Clone, Debug)]
pub struct Earlier {
    /// What was read from the store, without anything pending.
    pub restored: Restored,
    /// The inputs that the run had then.
    pub inputs: Arc<Value>,
}

/// Answers to interrupts.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Answers {
    /// None.
    #[default]
    None,
    /// One, for the only open interrupt.
    Bare(Value),
    /// By the interrupt's id, or the name of a node that has just one open.
    ById(BTreeMap<String, Value>),
}

/// Names a persist; later ones are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PersistId(pub u64);

/// Names a timer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TimerId {
    /// The wait before the attempt of a task.
    Retry {
        /// The task.
        task: Arc<str>,
        /// The attempt that is due.
        attempt: u32,
    },
    /// The wall time of the run.
    RunTimeout,
    /// The wall time of a child run.
    ChildTimeout {
        /// Its namespace.
        namespace: Arc<str>,
    },
}

/// Something that the driver is to do. Effects are performed in the order in which they come.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Perform an attempt of a task and answer with [`Event::TaskDone`]. The driver bounds it by `limits.timeout`.
    RunTask(Box<TaskSpec>),
    /// Say what is kept for a task that may be dispatched, with [`Lookup::answer`]. Everything that was handed out to be
    /// persisted before counts as kept.
    LookUp(Box<Lookup>),
    /// Give up on a running task, or on looking something up for it; its `TaskDone`, or its `LookedUp`, is no longer
    /// expected and would be ignored.
    Abort {
        /// The task.
        task: Arc<str>,
        /// The attempt.
        attempt: u32,
    },
    /// Perform a hook's dispatch and answer with [`Event::HookDone`]. The driver bounds it by `limits.timeout`.
    RunHook(Box<HookSpec>),
    /// Give up on a running hook; its `HookDone` is no longer expected and would be ignored.
    AbortHook {
        /// The call's id.
        hook: Arc<str>,
    },
    /// Store a record and answer with [`Event::Persisted`] or [`Event::PersistFailed`].
    Persist(Box<Persist>),
    /// Answer with [`Event::TimerFired`] at that time.
    SetTimer {
        /// Which timer. Setting it again moves it.
        timer: TimerId,
        /// When.
        at: Timestamp,
    },
    /// Tell whoever watches.
    Emit(Notice),
    /// There is more to do. Look at signals, stop requests and timers that are due, hand over whatever has happened, and
    /// otherwise answer with [`Event::Continued`].
    Continue,
    /// The run has stopped short of its end; a later [`Event::Resumed`] lets it go on.
    Suspend(Status),
    /// The run has reached its end.
    Finish(Status),
}

/// A record to store.
#[derive(Clone, Debug)]
pub struct Persist {
    /// Its place in the order of persists.
    pub id: PersistId,
    /// The record.
    pub record: Record,
    /// The record's text and digest, where the walker needed them already.
    pub(super) encoded: Option<(Arc<str>, Digest)>,
    /// Supersteps committed when it was made.
    pub step: u64,
    /// With a checkpoint, the channel values that it changed since the last one that was persisted.
    pub values: Vec<ChannelValue>,
    /// With a checkpoint, results that it leaves for later tasks: kept with it, or not at all.
    pub results: Vec<CacheEntry>,
}

impl Persist {
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
    /// The node.
    pub node: NodeIndex,
    /// The path of nodes from the root graph to this one, `outer/inner/node`.
    pub path: String,
    /// What may be used: for a node of a child run what its parents leave of it.
    pub manifest: Arc<Manifest>,
    /// What is done with the item.
    pub primary: Primary,
    /// What kind of item it is.
    pub item_type: ItemType,
    /// The item's id, templates resolved.
    pub item_id: String,
    /// What it is given, templates resolved.
    pub params: Value,
    /// What it is told; its `task` and `attempt` name the attempt.
    pub activation: Activation,
    /// What it may use up.
    pub limits: TaskLimits,
    /// The time it reads: the superstep's recorded time.
    pub clock: Timestamp,
    /// The seed of its random numbers: the same for every attempt.
    pub seed: Digest,
}

/// Something that whoever watches a run may want to see.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// A superstep has begun.
    SuperstepStarted {
        /// Its number, from 1.
        superstep: u64,
        /// Its nodes, in task order.
        nodes: Vec<String>,
        /// How many tasks it has.
        tasks: u64,
    },
    /// A task has answered, or failed for good.
    TaskFinished {
        /// The task's id.
        task: Arc<str>,
        /// Its node.
        node: String,
        /// Attempts in all.
        attempts: u32,
        /// Fuel of all attempts.
        fuel: u64,
        /// The failure, if it failed.
        failure: Option<Failure>,
    },
    /// A stored result stands in for a task's dispatch.
    Cached {
        /// The task's id.
        task: Arc<str>,
        /// Its node.
        node: String,
        /// The fuel that it took when it was computed, and is charged again.
        fuel: u64,
        /// The run that it was computed in.
        run: String,
    },
    /// A task will be tried again.
    Retrying {
        /// The task's id.
        task: Arc<str>,
        /// Its node.
        node: String,
        /// The attempt that is due.
        attempt: u32,
        /// When.
        due: Timestamp,
        /// Why.
        failure: Failure,
    },
    /// A superstep has committed.
    Committed {
        /// Its number, from 1.
        superstep: u64,
        /// Its nodes, in task order.
        nodes: Vec<String>,
        /// Fuel of all its tasks.
        fuel: u64,
        /// The channels that it changed.
        changed: Vec<ChannelChange>,
    },
    /// A hook has come to something.
    HookFinished(Box<HookSummary>),
    /// The run has stopped because of an error.
    Stopped(RunError),
    /// A warning.
    Warning(String),
    /// A child run begins, or goes on.
    ChildStarted {
        /// Its namespace.
        namespace: Arc<str>,
        /// The path of nodes from the root graph to the node that starts it.
        path: Arc<str>,
        /// Its graph's id.
        graph: String,
    },
    /// Something has happened in a child run.
    Child {
        /// Its namespace.
        namespace: Arc<str>,
        /// The path of nodes from the root graph to the node that has started it.
        path: Arc<str>,
        /// What.
        notice: Box<Notice>,
    },
}

/// A channel that a superstep changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelChange {
    /// The channel.
    pub channel: String,
    /// How many elements it gained, where it is a list that only grew.
    pub appended: Option<u64>,
}
