//! The boundary of a superstep.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::accepted::AcceptedPinChange;
use super::body::is_zero;
use super::edge::FiredEdge;
use super::event::ChannelWrite;
use super::hook::{HookSummary, PlannedHook};
use super::status::End;
use super::task::TaskSummary;
use super::value::CanonicalValue;
use crate::digest::{Digest, DomainHasher};
use crate::format;
use crate::limits::{HostUse, ModelUse};
use crate::time::Timestamp;

/// The cause of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The start of the run.
    Input,
    /// A superstep that committed.
    Superstep,
    /// New inputs on resume.
    Inputs,
    /// An edit from outside the graph.
    Update {
        /// The answers with which the run continued at once, by task: the tasks of the next superstep start with them.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        answers: BTreeMap<String, GivenRecord>,
        /// The node in whose name the values were written, and whose edges were followed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        as_node: Option<String>,
        /// The channels that were written, in order of their names.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        channels: Vec<String>,
        /// The earlier checkpoint of the same run that was restored.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        restored: Option<CheckpointPlace>,
    },
    /// The beginning of a fork: a copy of a checkpoint of another run.
    Fork {
        /// The id of the other run.
        run: String,
        /// The checkpoint in the other run.
        of: CheckpointPlace,
    },
}

impl Source {
    /// Returns the name in output.
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

/// Answers with which a task of the next superstep starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenRecord {
    /// The answers, in the order of the task's questions.
    pub answers: Vec<CanonicalValue>,
    /// The time at which each answer arrived, by its number, as far as it is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arrived: BTreeMap<u32, Timestamp>,
    /// Answers that no one gave, by their number, with their deadlines: the answer is the question's default, or null if it has none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub expired: BTreeMap<u32, Timestamp>,
    /// The digests of the forms of the questions that were answered, by their number, for questions of `ask` nodes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub forms: BTreeMap<u32, Digest>,
    /// The node of the task.
    pub node: String,
}

/// A checkpoint of a run, by its number and its record digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckpointPlace {
    /// The record digest, which identifies the checkpoint in any history.
    pub digest: Digest,
    /// The checkpoint's number in its namespace, from 0.
    pub sequence: u64,
}

/// The source of an activation.
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

/// A node that is active in the next superstep, or deferred.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PendingActivation {
    /// The argument, for a send.
    #[serde(default, deserialize_with = "crate::node::present", skip_serializing_if = "Option::is_none")]
    pub argument: Option<CanonicalValue>,
    /// The source: an edge, a barrier or a send.
    pub kind: ActivationKind,
    /// The name of the activated node.
    pub node: String,
}

/// The version and digest of a channel's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelStamp {
    /// The version of the newest whole value; segments after it add to it.
    pub base: u64,
    /// The digest of the channel.
    pub digest: Digest,
    /// The sequence number of the checkpoint that last changed it.
    pub version: u64,
}

/// The position of a checkpoint with changes relative to the newest whole one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delta {
    /// Number of entries of the checkpoints after `whole`, up to this one: once it reaches that of a whole checkpoint, the next one is
    /// whole.
    pub entries: u64,
    /// The number of the newest whole checkpoint.
    pub whole: u64,
}

/// A boundary of a run. It holds the changes; the channel values are stored next to it.
///
/// The maps of channels and nodes hold the changes since the preceding checkpoint; those of a whole checkpoint hold everything.
/// [`CumulativeState`](super::CumulativeState) assembles them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// Changes of the run's pins that were accepted since the preceding checkpoint, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<AcceptedPinChange>,
    /// The recorded time, which the next superstep's tasks read as their clock.
    pub at: Timestamp,
    /// For each half-filled barrier, the nodes that have arrived, in `wait_for` order.
    pub barriers: BTreeMap<String, Vec<String>>,
    /// Number of times that a cached result was used instead of a dispatch, by node.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cached: BTreeMap<String, u64>,
    /// The stamps of channels.
    pub channels: BTreeMap<String, ChannelStamp>,
    /// Supersteps that child runs have taken so far, at any depth.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub child_steps: u64,
    /// The position relative to the newest whole checkpoint; absent from a whole checkpoint, and from all of release 0.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta: Option<Delta>,
    /// Deferred activations, waiting until nothing else is active.
    pub deferred: Vec<PendingActivation>,
    /// The end of the run, if it ends here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
    /// `true` if the run has continued after a failure; it will end as `completed_with_errors`.
    pub errors_continued: bool,
    /// Number of dispatches of each node's item.
    pub executions: BTreeMap<String, u64>,
    /// Number of tasks whose failure was handled, by node.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<String, u64>,
    /// The edges that fired since the preceding checkpoint, and the branches that no edge continued: by node in the order of the document.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fired: Vec<FiredEdge>,
    /// For a boundary made by new inputs: the nodes of the superstep before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub follows: Vec<String>,
    /// Fuel of the run so far.
    pub fuel: u64,
    /// Channels that no longer exist, in order of their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
    /// Amount that answers have added so far to the run's budget of language models, and to those of its child runs.
    #[serde(default, skip_serializing_if = "ModelUse::is_nothing")]
    pub granted: ModelUse,
    /// The digest of the graph with which the checkpoint was made.
    pub graph: Digest,
    /// Hooks that ran since the preceding checkpoint, in the order of their calls' ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooked: Vec<HookSummary>,
    /// Hooks that run once this checkpoint is persisted, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<PlannedHook>,
    /// The run's use of the host so far.
    #[serde(default, skip_serializing_if = "HostUse::is_nothing")]
    pub host: HostUse,
    /// The digest of the canonical inputs.
    pub inputs: Digest,
    /// The total of `max_steps`, if hooks or a new turn had extended it at the boundary. Later decisions are in a status record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u64>,
    /// Microseconds from the start of the superstep's first attempt to the end of its last one, in the process that
    /// committed it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub micros: u64,
    /// The namespace; empty for the root graph of a run.
    pub namespace: String,
    /// The next activations, in task order.
    pub next: Vec<PendingActivation>,
    /// The record digest of the preceding checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Digest>,
    /// The digest of the run's pins: components, grants, manifest, engine.
    pub pins: Digest,
    /// For a boundary made by new inputs: `true` if the static interrupts there have been passed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub released: bool,
    /// The result digest: the computation of the run, independent of the host.
    pub result: ResultDigest,
    /// The id of the root run.
    pub run: String,
    /// The seed from which the random numbers of all tasks follow.
    pub seed: Digest,
    /// The checkpoint's number: 0 for the first, then counting boundaries.
    pub sequence: u64,
    /// The cause of the checkpoint.
    pub source: Source,
    /// The digest of all channels ([`DigestTree`](super::DigestTree)); absent from checkpoints of release 0.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Digest>,
    /// The number of supersteps committed so far.
    pub step: u64,
    /// The total of `max_steps` that applied at the boundary, if it differs from the graph's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_limit: Option<u64>,
    /// The tasks of this superstep, in task order.
    pub tasks: Vec<TaskSummary>,
    /// Supersteps of the run and of its child runs before its present turn: 0 in the first one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub turn_steps: u64,
    /// For each channel that nodes wrote in this superstep, the nodes and their writes, in task order. Untracked channels are left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub updates: BTreeMap<String, Vec<(String, ChannelWrite)>>,
    /// The version of the format: 2, or 1 in checkpoints of release 0.1.0, which name every channel and node each time.
    #[serde(
        default = "first_version",
        deserialize_with = "known_version",
        skip_serializing_if = "is_first_version"
    )]
    pub version: u64,
    /// The nodes of this superstep, in task order; at the beginning of a fork, all nodes visited before.
    pub visited: Vec<String>,
    /// The digest of all nodes visited so far, as a chain over supersteps.
    pub visited_digest: Digest,
    /// Number of visits of each node.
    pub visits: BTreeMap<String, u64>,
    /// The newest earlier checkpoint that raised warnings, if any. Checkpoints that raise warnings or are whole state it, so that all
    /// warnings are found without reading the checkpoints in between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warned: Option<CheckpointPlace>,
    /// Warnings of this superstep; at the beginning of a fork, all warnings before it.
    pub warnings: Vec<String>,
}

/// Begins the result digest of every checkpoint of a run with these inputs.
pub fn result_hasher(graph: &Digest, inputs: &Digest) -> DomainHasher {
    DomainHasher::new("graph-host/result/v2").digest(graph).digest(inputs)
}

const fn first_version() -> u64 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
const fn is_first_version(version: &u64) -> bool {
    *version == 1
}

fn known_version<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let found = u64::deserialize(deserializer)?;
    match found {
        1..=format::CHECKPOINT => Ok(found),
        _ => Err(serde::de::Error::custom(format::NewerFormat { found, current: format::CHECKPOINT })),
    }
}

/// A result digest: over the graph, the inputs, the channel values, the next activations, the barriers, the visits and the fuel, and over
/// nothing that differs between two hosts that compute the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ResultDigest(pub Digest);

impl Checkpoint {
    /// Checks whether the maps hold everything, and not only changes.
    pub const fn is_whole(&self) -> bool {
        self.delta.is_none()
    }

    /// Returns the number of entries in its maps of channels and nodes.
    pub fn state_entries(&self) -> u64 {
        let counts = [&self.cached, &self.executions, &self.failed, &self.visits].map(BTreeMap::len);
        let entries = counts.into_iter().fold(self.channels.len(), usize::saturating_add);
        entries.saturating_add(self.gone.len()) as u64
    }

    /// Computes the result digest of everything else in the checkpoint.
    pub fn result_digest(&self) -> ResultDigest {
        let digest = if let Some(state) = &self.state {
            result_hasher(&self.graph, &self.inputs).digest(state)
        } else {
            // The digest of release 0.1.0: over every channel.
            let over = DomainHasher::new("graph-host/result/v1").digest(&self.graph).digest(&self.inputs);
            let counted = over.field(&(self.channels.len() as u64).to_le_bytes());
            let add = |digest: DomainHasher, (channel, stamp): (&String, &ChannelStamp)| {
                digest.field(channel.as_bytes()).digest(&stamp.digest)
            };
            self.channels.iter().fold(counted, add)
        };
        self.result_after(digest)
    }

    /// Completes the result digest from a digest of everything up to the channels.
    pub fn result_after(&self, begun: DomainHasher) -> ResultDigest {
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
        let mut digest = begun;
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

    /// Extends the chain digest of visits by the nodes of one superstep.
    pub fn extend_visited<'a>(before: &Digest, nodes: impl IntoIterator<Item = &'a str>) -> Digest {
        let mut digest = DomainHasher::new("graph-host/visited/v1").digest(before);
        for node in nodes {
            digest = digest.field(node.as_bytes());
        }
        digest.finish()
    }
}
