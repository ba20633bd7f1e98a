//! Types for creating a walker, for restoring it and for reading its state, and its errors.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::graph::Graph;
use crate::hook::Hook;
use graph_core::capability::Manifest;
use graph_core::digest::{Digest, DomainHasher};
use graph_core::json;
use graph_core::limits::HostUse;
use graph_core::policy::Durability;
use graph_core::record::{
    AcceptedPinChange, AnswersRecord, ChannelValue, Checkpoint, CheckpointPlace, EndedBy, ErrorCode,
    HookRecord, InterruptRecord, ResultDigest, RunError, Status, StatusRecord, TaskRecord,
};

/// Identity of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The id of the run in its store; child runs have that of the root run.
    pub run: String,
    /// Id of the root run of the tree of runs.
    pub root: String,
    /// The run that started this one.
    pub parent: Option<String>,
    /// Namespace in the root run; empty for the root run itself.
    pub namespace: String,
}

impl Identity {
    /// Id under which the store keeps the run's records: for a child run the id of its root run.
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

/// The parameters of a walker, which never change.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Identity of the run.
    pub identity: Identity,
    /// The inputs, validated, with defaults filled in.
    pub inputs: Arc<Value>,
    /// Writes to channels before the first superstep.
    pub initial_state: Map<String, Value>,
    /// Dispatch patterns, item rules and limits of the run.
    pub manifest: Arc<Manifest>,
    /// The items that are graphs: a node that dispatches one of these starts a child run.
    pub graphs: Arc<Graphs>,
    /// The hooks of the project and of the user, in this order: they come after the graph's own.
    pub hooks: Arc<Vec<Hook>>,
    /// The seed from which the random numbers of all tasks follow.
    pub seed: Digest,
    /// The digest of the run's pins.
    pub pins: Digest,
    /// The accepted changes with which a restored run is resumed.
    pub accepted: Vec<AcceptedPinChange>,
    /// Durability mode: it decides when a boundary counts as persisted.
    pub durability: Durability,
    /// Overrides the graph's `max_steps`.
    pub max_steps: Option<u64>,
    /// Overrides the graph's `max_concurrency`.
    pub max_concurrency: Option<u32>,
}

impl Setup {
    /// Returns the seed of a run that was not given one: a digest of graph and inputs.
    pub fn default_seed(graph: &Graph, inputs: &Value) -> Digest {
        Self::default_seed_of(&graph.digest, &inputs_digest(inputs))
    }

    /// Returns the same seed for inputs that were digested before.
    pub fn default_seed_of(graph: &Digest, inputs: &Digest) -> Digest {
        DomainHasher::new("graph-host/seed/v1").digest(graph).digest(inputs).finish()
    }
}

/// Hashers of the seed and the idempotency key of a task or hook call, which are the same for all its attempts. Their
/// prefixes are digested once per run.
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

    /// Returns the seed of a task's random numbers.
    pub(super) fn seed(&self, task: &str) -> Digest {
        self.seed.clone().field(task.as_bytes()).finish()
    }

    /// Returns the key that a task sends along with effects that must not happen twice, in hexadecimal.
    pub(super) fn idempotency_key(&self, task: &str) -> String {
        self.idempotency.clone().field(task.as_bytes()).finish().hex()
    }
}

/// Digests inputs as checkpoints record them.
pub fn inputs_digest(inputs: &Value) -> Digest {
    json::digest(INPUTS_DOMAIN, inputs)
}

/// Digests inputs, given as canonical JSON text, without parsing them.
pub fn inputs_text_digest(text: &str) -> Digest {
    DomainHasher::new(INPUTS_DOMAIN).field(text.as_bytes()).finish()
}

const INPUTS_DOMAIN: &str = "graph-host/inputs/v1";

/// The stored records that a walker is restored from.
#[derive(Clone, Debug)]
pub struct Restored {
    /// The newest checkpoint of the namespace, completed from the earlier ones that it builds on.
    pub checkpoint: Checkpoint,
    /// The record digest of that checkpoint, as it is stored.
    pub digest: Digest,
    /// The channel values that the checkpoint refers to.
    pub values: Vec<ChannelValue>,
    /// The task records under it.
    pub pending: Vec<TaskRecord>,
    /// The answers under it.
    pub answers: Vec<AnswersRecord>,
    /// The results of hooks under it.
    pub hooks: Vec<HookRecord>,
    /// The status record under it.
    pub status: Option<StatusRecord>,
    /// All warnings, from the checkpoints in order.
    pub warnings: Vec<String>,
    /// The newest checkpoint that raised any of these warnings.
    pub warned: Option<CheckpointPlace>,
}

/// Reason why a run cannot be restored from stored records.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// The checkpoint was made with another graph.
    #[error("the checkpoint was made with graph {found}, not {expected}")]
    OtherGraph {
        /// The digest in the checkpoint.
        found: Digest,
        /// The digest of the present graph.
        expected: Digest,
    },
    /// The checkpoint was made with other inputs.
    #[error("the checkpoint was made with other inputs")]
    OtherInputs,
    /// A channel's value is missing or does not match the checkpoint.
    #[error("{reason}")]
    Channel {
        /// The name of the channel, and the fault of its value.
        reason: String,
    },
    /// The channels and counts that are given for the checkpoint do not match its digest.
    #[error("the channels of checkpoint {sequence} are not those of its state digest")]
    State {
        /// The number of the checkpoint whose digest does not match.
        sequence: u64,
    },
    /// A child run cannot be restored.
    #[error("the child run `{namespace}` cannot be restored: {reason}")]
    Child {
        /// The child run's namespace.
        namespace: String,
        /// The record that is missing or does not match.
        reason: String,
    },
    /// The checkpoint names a node that the graph does not have.
    #[error("the checkpoint names node `{node}`, which the graph does not have")]
    UnknownNode {
        /// The name of the unknown node.
        node: String,
    },
}

/// Refusal of an event; the walker has not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandleError {
    /// The request cannot be carried out; nothing has changed.
    #[error("{message}")]
    Refused {
        /// The code, which stays the same when the message is worded differently.
        code: ErrorCode,
        /// The reason, and a remedy.
        message: String,
    },
    /// The changed graph cannot take over what channels hold, unless the resume overwrites it; nothing has changed. Its
    /// code is [`ErrorCode::Integrity`].
    #[error("{message}")]
    Unfit {
        /// The channels, and the reasons.
        message: String,
        /// The run.
        run: String,
        /// Updates by which the channels would hold values that they can take.
        updates: Vec<(String, Value)>,
    },
    /// The event is not possible in this state, which is an error of the driver; nothing has changed.
    #[error("the walker does not take this event now: {reason}")]
    Illegal {
        /// The reason why the event is not possible.
        reason: String,
    },
}

/// A checkpoint and its digests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointRef {
    /// The checkpoint's number in the root run's namespace.
    pub sequence: u64,
    /// The digest of its text, which the next checkpoint names as its parent.
    pub digest: Digest,
    /// The digest of the results that the run has computed so far.
    pub result_digest: ResultDigest,
}

/// The present state of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The status; `running` until the run stops.
    pub status: Status,
    /// The end of the run, if it has ended.
    pub ended_by: Option<EndedBy>,
    /// `true` if the run ended because `on_max_steps: return_with_flag` took effect.
    pub limit_reached: bool,
    /// The state after the last superstep that committed.
    pub state: Map<String, Value>,
    /// The output, if the run has ended.
    pub output: Option<Arc<Value>>,
    /// The inputs, with defaults filled in.
    pub inputs: Arc<Value>,
    /// The number of supersteps committed so far.
    pub steps: u64,
    /// The digest of the nodes visited, superstep by superstep, in task order. The checkpoints have their names.
    pub visited_digest: Digest,
    /// Number of dispatches of each node's item, by node.
    pub executions: BTreeMap<String, u64>,
    /// Number of cached results used instead of a dispatch, by node.
    pub cached: BTreeMap<String, u64>,
    /// Number of tasks whose failure was handled, by node.
    pub failed: BTreeMap<String, u64>,
    /// The nodes that are next, in task order.
    pub next: Vec<String>,
    /// The questions that wait for an answer.
    pub interrupts: Vec<InterruptRecord>,
    /// The error with which the run stopped, if any.
    pub error: Option<RunError>,
    /// All warnings of the run, in order.
    pub warnings: Vec<String>,
    /// Fuel used, failed attempts included.
    pub fuel: u64,
    /// The use of the host, failed attempts included.
    pub host: HostUse,
    /// The newest checkpoint of the root run, once there is one.
    pub checkpoint: Option<CheckpointRef>,
}

impl Summary {
    /// Deserializes the committed state; the fields of `T` are channels. Channels that `T` does not name are ignored,
    /// unless it denies unknown fields.
    pub fn state_as<T: serde::de::DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_value(Value::Object(self.state.clone()))
    }

    /// Deserializes the output; `None` if the run has not ended.
    pub fn output_as<T: serde::de::DeserializeOwned>(&self) -> Result<Option<T>, serde_json::Error> {
        self.output.as_deref().map(T::deserialize).transpose()
    }
}
