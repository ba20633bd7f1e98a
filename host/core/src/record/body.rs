//! The bodies of records. Maps are sorted and values canonical, so that one record has one text.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::accepted::Accepted;
use super::cache::{CacheHit, TaskCache};
use super::edge::FiredEdge;
use super::event::{TaskEvent, Wrote};
use super::hook::{HookRecord, HookSummary, PlannedHook};
use super::journal::AttemptJournal;
use super::value::Canonical;
use crate::digest::{Digest, DomainHasher};
use crate::limits::HostUse;
use crate::node::{Failure, Outcome};
use crate::time::Timestamp;

/// Any record of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// A boundary: everything that a superstep changed.
    Checkpoint(Box<Checkpoint>),
    /// What one task of the superstep under way has come to.
    Task(TaskRecord),
    /// Answers to a task's interrupts.
    Answers(AnswersRecord),
    /// What a hook has come to.
    Hook(HookRecord),
    /// The run has stopped short of its end, or goes on.
    Status(StatusRecord),
}

/// What kind of record it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum RecordKind {
    Checkpoint,
    Task,
    Answers,
    Hook,
    Status,
}

impl RecordKind {
    /// The name in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Checkpoint => "checkpoint",
            Self::Task => "task",
            Self::Answers => "answers",
            Self::Hook => "hook",
            Self::Status => "status",
        }
    }

    /// The domain under which records of this kind are digested and signed.
    pub const fn domain(self) -> &'static str {
        match self {
            Self::Checkpoint => "graph-host/checkpoint/v1",
            Self::Task => "graph-host/task/v1",
            Self::Answers => "graph-host/answers/v1",
            Self::Hook => "graph-host/hook/v1",
            Self::Status => "graph-host/status/v1",
        }
    }

    /// Reads the name in the store.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Checkpoint, Self::Task, Self::Answers, Self::Hook, Self::Status]
            .into_iter()
            .find(|kind| kind.as_str() == text)
    }
}

/// What made a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The start of the run.
    Input,
    /// A superstep.
    Superstep,
    /// New inputs on resume.
    Inputs,
    /// An edit from outside the graph.
    Update {
        /// The node that was written as, whose routing took its place.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        as_node: Option<String>,
        /// The channels that were written, in order of their names.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        channels: Vec<String>,
        /// The earlier checkpoint of the same run that everything else was taken back to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        restored: Option<CheckpointPlace>,
    },
    /// The beginning of a fork: everything is as at a checkpoint of another run.
    Fork {
        /// That run.
        run: String,
        /// That checkpoint.
        of: CheckpointPlace,
    },
}

impl Source {
    /// The name in output.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Superstep => "superstep",
            Self::Inputs => "inputs",
            Self::Update { .. } => "update",
            Self::Fork { .. } => "fork",
        }
    }
}

/// A checkpoint of a run, by its number and its record digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointPlace {
    /// The record digest.
    pub digest: Digest,
    /// The number.
    pub sequence: u64,
}

/// Where an activation came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActivationKind {
    /// `start`, `next`, `on_error`, or a goto without an argument.
    Plain,
    /// A barrier that opened.
    Barrier,
    /// A goto with an argument.
    Send,
}

/// A node that is next, or deferred.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingActivation {
    /// A send's argument.
    #[serde(default, deserialize_with = "crate::node::present", skip_serializing_if = "Option::is_none")]
    pub argument: Option<Canonical>,
    /// Where it came from.
    pub kind: ActivationKind,
    /// The node's name.
    pub node: String,
}

/// Where a channel's value stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelStamp {
    /// The version of the newest whole value; segments after it add to it.
    pub base: u64,
    /// The digest of the channel.
    pub digest: Digest,
    /// The sequence number of the checkpoint that last changed it.
    pub version: u64,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// Nothing was next.
    End,
    /// A `return` node.
    Return,
    /// `max_steps` with `return_last` or `return_with_flag`.
    MaxSteps,
    /// The last branch ended because none of its edges matched.
    NoEdgeMatched,
}

impl EndedBy {
    /// The name in documents and output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::End => "end",
            Self::Return => "return",
            Self::MaxSteps => "max_steps",
            Self::NoEdgeMatched => "no_edge_matched",
        }
    }
}

/// What a run's status is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Status {
    Running,
    Completed,
    CompletedWithErrors,
    Interrupted,
    Failed,
    Limit,
    Cancelled,
    Killed,
}

impl Status {
    /// The name in documents, the store and output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::CompletedWithErrors => "completed_with_errors",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
            Self::Limit => "limit",
            Self::Cancelled => "cancelled",
            Self::Killed => "killed",
        }
    }

    /// Whether the run has reached its end and cannot be resumed.
    pub const fn is_end(self) -> bool {
        matches!(self, Self::Completed | Self::CompletedWithErrors)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a run stopped, or an operation on it was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum ErrorCode {
    NodeFailed,
    Denied,
    ConflictingWrite,
    InvalidUpdate,
    NoEdgeMatched,
    StalledBarrier,
    Limit,
    Finished,
    AmbiguousAnswer,
    AnswerNeeded,
    UnknownInterrupt,
    NotFound,
    InvalidDocument,
    Integrity,
    Storage,
}

impl ErrorCode {
    /// The name in output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NodeFailed => "node_failed",
            Self::Denied => "denied",
            Self::ConflictingWrite => "conflicting_write",
            Self::InvalidUpdate => "invalid_update",
            Self::NoEdgeMatched => "no_edge_matched",
            Self::StalledBarrier => "stalled_barrier",
            Self::Limit => "limit",
            Self::Finished => "finished",
            Self::AmbiguousAnswer => "ambiguous_answer",
            Self::AnswerNeeded => "answer_needed",
            Self::UnknownInterrupt => "unknown_interrupt",
            Self::NotFound => "not_found",
            Self::InvalidDocument => "invalid_document",
            Self::Integrity => "integrity",
            Self::Storage => "storage",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a run stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunError {
    /// The failure's category, where a node failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<crate::node::Category>,
    /// The stable code.
    pub code: ErrorCode,
    /// What happened, for a person.
    pub message: String,
    /// The node, where one is to blame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// How it ended.
    pub ended_by: EndedBy,
    /// `on_max_steps: return_with_flag` took effect.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub limit_reached: bool,
    /// The run's output.
    pub output: Canonical,
    /// `completed` or `completed_with_errors`.
    pub status: Status,
}

/// What a task of a committed superstep came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSummary {
    /// The answers to its questions, in the order they were asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Canonical>,
    /// When its last attempt ended; absent where nothing was dispatched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// Attempts of the last series, retries included.
    pub attempts: u32,
    /// The stored result that stood in for its dispatch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<Box<CacheHit>>,
    /// How often its item was dispatched, earlier failures and questions included.
    pub dispatches: u32,
    /// What happened in it that no earlier record of the run's history tells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<TaskEvent>,
    /// The failure that was handled, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Fuel of all attempts.
    pub fuel: u64,
    /// What all attempts used of the host.
    #[serde(default, skip_serializing_if = "HostUse::is_nothing")]
    pub host: HostUse,
    /// The item that was dispatched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// What the world answered to each of its attempts, in order; those that asked nothing are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub journal: Vec<AttemptJournal>,
    /// Microseconds that all attempts took.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub micros: u64,
    /// The node.
    pub node: String,
    /// The task's id.
    pub task: String,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A boundary of a run. It holds what changed; channel values lie beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Changes of what the run is pinned to that were accepted since the checkpoint before, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<Accepted>,
    /// The recorded time, which the next superstep's tasks read as their clock.
    pub at: Timestamp,
    /// For each half-filled barrier, the nodes that have arrived, in `wait_for` order.
    pub barriers: BTreeMap<String, Vec<String>>,
    /// How often a stored result has stood in for a dispatch of each node's item.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cached: BTreeMap<String, u64>,
    /// Where every channel stands.
    pub channels: BTreeMap<String, ChannelStamp>,
    /// Supersteps that child runs have taken so far, at any depth.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub child_steps: u64,
    /// Deferred activations, waiting until nothing else is active.
    pub deferred: Vec<PendingActivation>,
    /// The end, if this is it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
    /// A failure was continued past; the run will end as `completed_with_errors`.
    pub errors_continued: bool,
    /// How often each node's item has been dispatched.
    pub executions: BTreeMap<String, u64>,
    /// The edges that fired since the checkpoint before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fired: Vec<FiredEdge>,
    /// Of a boundary that new inputs made: the nodes of the superstep before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub follows: Vec<String>,
    /// Fuel of the run so far.
    pub fuel: u64,
    /// The graph's digest.
    pub graph: Digest,
    /// Hooks that ran since the checkpoint before, in the order of their calls' ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooked: Vec<HookSummary>,
    /// Hooks that run once this is persisted, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<PlannedHook>,
    /// What the run has used so far of the host.
    #[serde(default, skip_serializing_if = "HostUse::is_nothing")]
    pub host: HostUse,
    /// The digest of the canonical inputs.
    pub inputs: Digest,
    /// The total of `max_steps`, where hooks have extended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u64>,
    /// Microseconds from the start of the superstep's first attempt to the end of its last one, in the process that
    /// committed it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub micros: u64,
    /// The namespace; empty for the root graph of a run.
    pub namespace: String,
    /// What is next, in task order.
    pub next: Vec<PendingActivation>,
    /// The record digest of the checkpoint before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Digest>,
    /// The digest of what the run is pinned to: components, grants, manifest, engine.
    pub pins: Digest,
    /// Of a boundary that new inputs made: the static interrupts there have been passed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub released: bool,
    /// The result digest: what the run has computed, whoever ran it.
    pub result: ResultDigest,
    /// The run's id.
    pub run: String,
    /// The run's seed.
    pub seed: Digest,
    /// The checkpoint's number: 0 for the first, then counting boundaries.
    pub sequence: u64,
    /// What made it.
    pub source: Source,
    /// The number of supersteps committed so far.
    pub step: u64,
    /// The tasks of this superstep, in task order.
    pub tasks: Vec<TaskSummary>,
    /// For each channel that nodes wrote in this superstep, the nodes and what each wrote, in task order. Untracked
    /// channels are left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub updates: BTreeMap<String, Vec<(String, Wrote)>>,
    /// The nodes of this superstep, in task order; at the beginning of a fork, all that were visited up to there.
    pub visited: Vec<String>,
    /// The digest of all nodes visited so far, as a chain over supersteps.
    pub visited_digest: Digest,
    /// How often each node has been visited.
    pub visits: BTreeMap<String, u64>,
    /// Warnings that this superstep raised; at the beginning of a fork, all up to there.
    pub warnings: Vec<String>,
}

/// A result digest: over the graph, the inputs, the channel values, what is next, the barriers, the visits and the
/// fuel, and nothing that differs between two hosts that compute the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ResultDigest(pub Digest);

impl Checkpoint {
    /// Computes the result digest of everything else in the checkpoint.
    pub fn result_digest(&self) -> ResultDigest {
        fn activations(mut digest: DomainHasher, list: &[PendingActivation]) -> DomainHasher {
            digest = digest.field(&(list.len() as u64).to_le_bytes());
            for activation in list {
                let kind = match activation.kind {
                    ActivationKind::Plain => b"p",
                    ActivationKind::Barrier => b"b",
                    ActivationKind::Send => b"s",
                };
                digest = digest.field(activation.node.as_bytes()).field(kind);
                if let Some(argument) = &activation.argument {
                    digest = digest.field(crate::json::canonical_string(&argument.0).as_bytes());
                }
            }
            digest
        }
        let mut digest = DomainHasher::new("graph-host/result/v1").digest(&self.graph).digest(&self.inputs);
        digest = digest.field(&(self.channels.len() as u64).to_le_bytes());
        for (channel, stamp) in &self.channels {
            digest = digest.field(channel.as_bytes()).digest(&stamp.digest);
        }
        digest = activations(digest, &self.next);
        digest = activations(digest, &self.deferred);
        digest = digest.field(&(self.barriers.len() as u64).to_le_bytes());
        for (barrier, arrived) in &self.barriers {
            digest = digest.field(barrier.as_bytes()).field(&(arrived.len() as u64).to_le_bytes());
            for node in arrived {
                digest = digest.field(node.as_bytes());
            }
        }
        if let Some(end) = &self.end {
            digest = digest
                .field(end.status.as_str().as_bytes())
                .field(end.ended_by.as_str().as_bytes())
                .field(crate::json::canonical_string(&end.output.0).as_bytes());
        }
        ResultDigest(digest.digest(&self.visited_digest).field(&self.fuel.to_le_bytes()).finish())
    }

    /// The chain digest of the visits once `nodes` have been visited in one superstep.
    pub fn extend_visited<'a>(before: &Digest, nodes: impl IntoIterator<Item = &'a str>) -> Digest {
        let mut digest = DomainHasher::new("graph-host/visited/v1").digest(before);
        for node in nodes {
            digest = digest.field(node.as_bytes());
        }
        digest.finish()
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
pub(super) const fn is_none_yet(count: &u32) -> bool {
    *count == 0
}

/// What one task of the superstep under way has come to. It is void as soon as the superstep commits, and never
/// applies to another checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// When it came to this.
    pub at: Timestamp,
    /// The attempt, from 1.
    pub attempt: u32,
    /// How often hooks were asked about a failure of it so far.
    #[serde(default, skip_serializing_if = "is_none_yet")]
    pub asked: u32,
    /// What it has to do with the cache of results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<TaskCache>,
    /// The record digest of the checkpoint it is under.
    pub checkpoint: Digest,
    /// A hook had its failure passed: `on_error` does not apply.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub continued: bool,
    /// How often its item was dispatched so far.
    pub dispatches: u32,
    /// What happened in it that the run's history does not tell yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<TaskEvent>,
    /// Fuel of all attempts so far, and of the hooks that were asked about them.
    pub fuel: u64,
    /// What all attempts, and the hooks that were asked about them, have used so far of the host.
    #[serde(default, skip_serializing_if = "HostUse::is_nothing")]
    pub host: HostUse,
    /// What the world answered to each of its attempts so far, in order; those that asked nothing are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub journal: Vec<AttemptJournal>,
    /// Microseconds that all attempts took so far.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub micros: u64,
    /// The namespace.
    pub namespace: String,
    /// The node.
    pub node: String,
    /// What it has come to.
    pub outcome: PendingOutcome,
    /// How many of its attempts a hook has asked for.
    #[serde(default, skip_serializing_if = "is_none_yet")]
    pub retried: u32,
    /// The run's id.
    pub run: String,
    /// The sequence number of the checkpoint it is under.
    pub sequence: u64,
    /// Supersteps of its child run so far, and of the runs below that.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub steps: u64,
    /// The task's id.
    pub task: String,
    /// Warnings of the task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// What a task has come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum PendingOutcome {
    /// It answered; it will not run again.
    Done {
        /// The answer.
        outcome: Arc<Outcome>,
    },
    /// It failed, and hooks are asked what becomes of that.
    Failing {
        /// The failure.
        failure: Failure,
    },
    /// It failed for good after it was to be tried again; a resume counts its attempts anew.
    Failed {
        /// The failure.
        failure: Failure,
    },
    /// It failed for good and the graph handles that; it will not run again.
    Handled {
        /// The failure.
        failure: Failure,
    },
    /// Its child run asks, and keeps the questions.
    Suspended,
    /// It asks.
    Interrupted {
        /// How many answers it had when it asked.
        answered: u32,
        /// The question.
        payload: Canonical,
    },
    /// It failed and will be tried again.
    Retrying {
        /// When.
        due: Timestamp,
        /// The failure.
        failure: Failure,
    },
}

/// All answers to a task's interrupts so far, in the order they were asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswersRecord {
    /// The answers.
    pub answers: Vec<Canonical>,
    /// When the last one came.
    pub at: Timestamp,
    /// The record digest of the checkpoint it is under.
    pub checkpoint: Digest,
    /// The namespace.
    pub namespace: String,
    /// The node.
    pub node: String,
    /// The run's id.
    pub run: String,
    /// The sequence number of the checkpoint it is under.
    pub sequence: u64,
    /// The task's id.
    pub task: String,
}

/// What a task has used, whatever it came to, and where it stands as the run goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskUse {
    /// How often hooks were asked about a failure of it.
    #[serde(default, skip_serializing_if = "is_none_yet")]
    pub asked: u32,
    /// The attempts that count against its retry policy.
    #[serde(default, skip_serializing_if = "is_none_yet")]
    pub attempts: u32,
    /// How often its item was dispatched.
    pub dispatches: u32,
    /// What happened in it that no earlier record of the run's history tells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<TaskEvent>,
    /// Fuel of all attempts.
    pub fuel: u64,
    /// What all attempts used of the host.
    #[serde(default, skip_serializing_if = "HostUse::is_nothing")]
    pub host: HostUse,
    /// What the world answered to each of its attempts, in order, where no task record has it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub journal: Vec<AttemptJournal>,
    /// Microseconds that all attempts took.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub micros: u64,
    /// Its node.
    pub node: String,
    /// It will not run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub settled: bool,
    /// Supersteps of its child run, and of the runs below that.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub steps: u64,
}

/// A question that is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InterruptRecord {
    /// The id by which it is answered, `task/n`.
    pub id: String,
    /// The node.
    pub node: String,
    /// The question; null for a static interrupt.
    pub payload: Canonical,
}

/// The run has stopped short of its end, or goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusRecord {
    /// Changes of what the run is pinned to that were accepted under this checkpoint, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<Accepted>,
    /// When.
    pub at: Timestamp,
    /// The record digest of the checkpoint it is under.
    pub checkpoint: Digest,
    /// Of a child run: which dispatch of its parent's task it runs for, from 1.
    #[serde(default, skip_serializing_if = "is_none_yet")]
    pub dispatch: u32,
    /// Why, if something went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RunError>,
    /// What the hooks that follow the run's end have come to: no checkpoint comes after it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooked: Vec<HookSummary>,
    /// Fuel of the hooks that were asked about the run since the checkpoint, as far as it counts for what tasks are set
    /// aside.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hooks_fuel: u64,
    /// What those hooks used of the host, as far as it counts in the same way.
    #[serde(default, skip_serializing_if = "HostUse::is_nothing")]
    pub hooks_host: HostUse,
    /// The hooks of this boundary have had their say.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hooks_passed: bool,
    /// The questions that are open.
    pub interrupts: Vec<InterruptRecord>,
    /// The total of `max_steps`, where hooks have extended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u64>,
    /// The namespace.
    pub namespace: String,
    /// Static interrupts of this boundary have been passed.
    pub released: bool,
    /// How often the run has gone on from a failure or a limit under this checkpoint.
    #[serde(default, skip_serializing_if = "is_none_yet")]
    pub resumes: u32,
    /// The run's id.
    pub run: String,
    /// The sequence number of the checkpoint it is under.
    pub sequence: u64,
    /// The new status.
    pub status: Status,
    /// What the tasks of the superstep under way have used so far, by task id.
    pub tasks: BTreeMap<String, TaskUse>,
    /// Warnings since the checkpoint.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}
