//! What a walker is told once, and what it can be asked.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::capability::Manifest;
use crate::digest::{Digest, DomainHasher};
use crate::graph::{Durability, Graph};
use crate::hook::Hook;
use crate::json;
use crate::limits::HostUse;
use crate::record::{
    Accepted, AnswersRecord, ChannelValue, Checkpoint, CheckpointPlace, EndedBy, ErrorCode, HookRecord,
    InterruptRecord, ResultDigest, RunError, Status, StatusRecord, TaskRecord,
};

/// Which run it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The run's id.
    pub run: String,
    /// The run at the top of the tree of runs.
    pub root: String,
    /// The run that started this one.
    pub parent: Option<String>,
    /// The namespace: empty for the root graph of a run.
    pub namespace: String,
}

impl Identity {
    /// The run in the store, under whose id the records are: for a child run that of the run at the top.
    pub fn record_run(&self) -> &str {
        let of_child = |run: &'_ str| run.len().checked_sub(self.namespace.len() + 1);
        match of_child(&self.run) {
            Some(end) if !self.namespace.is_empty() => &self.run[..end],
            _ => &self.run,
        }
    }
}

/// Graphs by item id.
pub type Graphs = BTreeMap<String, Arc<Graph>>;

/// What a walker is told once.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Which run it is.
    pub identity: Identity,
    /// The inputs, validated, with defaults filled in.
    pub inputs: Arc<Value>,
    /// Writes to channels before the first superstep.
    pub initial_state: Map<String, Value>,
    /// What may be dispatched, and the limits.
    pub manifest: Arc<Manifest>,
    /// The items that are graphs: a node that dispatches one of these starts a child run.
    pub graphs: Arc<Graphs>,
    /// The hooks of the project and of the user, in this order: they come after the graph's own.
    pub hooks: Arc<Vec<Hook>>,
    /// The run's seed.
    pub seed: Digest,
    /// The digest of what the run is pinned to.
    pub pins: Digest,
    /// What a restored run is to go on with although it was begun with something else.
    pub accepted: Vec<Accepted>,
    /// When a boundary counts as persisted.
    pub durability: Durability,
    /// Takes the place of the graph's `max_steps`.
    pub max_steps: Option<u64>,
    /// Takes the place of the graph's `max_concurrency`.
    pub max_concurrency: Option<u32>,
}

impl Setup {
    /// The seed of a run that was not given one: the digest of graph and inputs.
    pub fn default_seed(graph: &Graph, inputs: &Value) -> Digest {
        DomainHasher::new("graph-host/seed/v1").digest(&graph.digest).digest(&inputs_digest(inputs)).finish()
    }
}

/// What tasks, and calls of hooks, are told that is the same for every attempt of theirs. What it begins with is the same
/// for all of a run, and digested once.
#[derive(Clone, Debug)]
pub(super) struct TaskDigests {
    seed: DomainHasher,
    idempotency: DomainHasher,
}

impl TaskDigests {
    pub(super) fn new(setup: &Setup) -> Self {
        let run = setup.identity.run.as_bytes();
        Self {
            seed: DomainHasher::new("graph-host/task-seed/v1").digest(&setup.seed),
            idempotency: DomainHasher::new("graph-host/idempotency/v1").field(run),
        }
    }

    /// Where the randomness of a task comes from.
    pub(super) fn seed(&self, task: &str) -> Digest {
        self.seed.clone().field(task.as_bytes()).finish()
    }

    /// What a task sends along with effects that must not happen twice.
    pub(super) fn idempotency_key(&self, task: &str) -> String {
        self.idempotency.clone().field(task.as_bytes()).finish().hex()
    }
}

/// The digest of inputs, as checkpoints record it.
pub fn inputs_digest(inputs: &Value) -> Digest {
    json::digest("graph-host/inputs/v1", inputs)
}

/// What was read from a store, to restore a walker from.
#[derive(Clone, Debug)]
pub struct Restored {
    /// The newest checkpoint.
    pub checkpoint: Checkpoint,
    /// Its record digest.
    pub digest: Digest,
    /// The channel values it points at.
    pub values: Vec<ChannelValue>,
    /// The task records under it.
    pub pending: Vec<TaskRecord>,
    /// The answers under it.
    pub answers: Vec<AnswersRecord>,
    /// What hooks have come to under it.
    pub hooks: Vec<HookRecord>,
    /// The status record under it.
    pub status: Option<StatusRecord>,
    /// All warnings, from the checkpoints in order.
    pub warnings: Vec<String>,
    /// The newest checkpoint that raised some of them.
    pub warned: Option<CheckpointPlace>,
}

/// What was stored does not make a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// The checkpoint is of another graph.
    #[error("the checkpoint was made with graph {found}, not {expected}")]
    OtherGraph {
        /// What the checkpoint says.
        found: Digest,
        /// The graph at hand.
        expected: Digest,
    },
    /// The checkpoint was made with other inputs.
    #[error("the checkpoint was made with other inputs")]
    OtherInputs,
    /// A channel's value is missing or is not what the checkpoint says.
    #[error("{reason}")]
    Channel {
        /// Which and why.
        reason: String,
    },
    /// What is given as everything that stands at the checkpoint is not what its digest is of.
    #[error("the channels of checkpoint {sequence} are not those of its state digest")]
    State {
        /// The checkpoint's number.
        sequence: u64,
    },
    /// The checkpoint of a child run names no graph that there is.
    #[error("the child run `{namespace}` cannot be restored: {reason}")]
    Child {
        /// Its namespace.
        namespace: String,
        /// Why.
        reason: String,
    },
    /// The checkpoint names a node that the graph does not have.
    #[error("the checkpoint names node `{node}`, which the graph does not have")]
    UnknownNode {
        /// The name.
        node: String,
    },
}

/// An event was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandleError {
    /// What was asked for cannot be done; nothing has changed.
    #[error("{message}")]
    Refused {
        /// The stable code.
        code: ErrorCode,
        /// Why, and what to do.
        message: String,
    },
    /// The event has no place here; nothing has changed.
    #[error("the walker does not take this event now: {reason}")]
    Illegal {
        /// Why.
        reason: String,
    },
}

/// Where a checkpoint is found, and what it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointRef {
    /// Its number.
    pub sequence: u64,
    /// Its record digest.
    pub digest: Digest,
    /// Its result digest.
    pub result_digest: ResultDigest,
}

/// A run as it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The status.
    pub status: Status,
    /// How it ended, if it has.
    pub ended_by: Option<EndedBy>,
    /// `on_max_steps: return_with_flag` took effect.
    pub limit_reached: bool,
    /// The committed state.
    pub state: Map<String, Value>,
    /// The output, if the run has ended.
    pub output: Option<Arc<Value>>,
    /// The inputs.
    pub inputs: Arc<Value>,
    /// Supersteps committed.
    pub steps: u64,
    /// The digest of the nodes visited, superstep by superstep, in task order. The checkpoints have their names.
    pub visited_digest: Digest,
    /// How often each node's item was dispatched.
    pub executions: BTreeMap<String, u64>,
    /// How often a stored result stood in for a dispatch of each node's item.
    pub cached: BTreeMap<String, u64>,
    /// The nodes that are next, in task order.
    pub next: Vec<String>,
    /// The questions that are open.
    pub interrupts: Vec<InterruptRecord>,
    /// Why the run stopped, if something went wrong.
    pub error: Option<RunError>,
    /// All warnings.
    pub warnings: Vec<String>,
    /// Fuel used, failed attempts included.
    pub fuel: u64,
    /// What was used of the host, failed attempts included.
    pub host: HostUse,
    /// The newest checkpoint.
    pub checkpoint: Option<CheckpointRef>,
}
