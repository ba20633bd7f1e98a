//! The boundary of a superstep.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::accepted::Accepted;
use super::body::is_zero;
use super::edge::FiredEdge;
use super::event::Wrote;
use super::hook::{HookSummary, PlannedHook};
use super::status::End;
use super::task::TaskSummary;
use super::value::Canonical;
use crate::digest::{Digest, DomainHasher};
use crate::format;
use crate::limits::{HostUse, ModelUse};
use crate::time::Timestamp;

/// What made a checkpoint.
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
        /// The id of the other run.
        run: String,
        /// The checkpoint in the other run.
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

/// Answers that a task of the next superstep has from the start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GivenRecord {
    /// The answers, in the order of the task's questions.
    pub answers: Vec<Canonical>,
    /// When each answer came, by its number, as far as it is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arrived: BTreeMap<u32, Timestamp>,
    /// The numbers of the answers that no one gave, with the deadlines that had passed: the answer is the question's default, or
    /// null if it has none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub expired: BTreeMap<u32, Timestamp>,
    /// The digests of the forms that answers were given to, by their number: of questions of `ask` nodes.
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
#[serde(deny_unknown_fields)]
pub struct PendingActivation {
    /// The argument, for a send.
    #[serde(default, deserialize_with = "crate::node::present", skip_serializing_if = "Option::is_none")]
    pub argument: Option<Canonical>,
    /// Whether an edge, a barrier or a send activates it.
    pub kind: ActivationKind,
    /// The name of the node that is activated.
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

/// What a checkpoint that contains only changes builds on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delta {
    /// How many entries the checkpoints after `whole` hold, up to this one: once there are as many as a whole checkpoint has, the
    /// next one is whole.
    pub entries: u64,
    /// The number of the newest checkpoint that is whole.
    pub whole: u64,
}

/// A boundary of a run. It holds what changed; the channel values are stored next to it.
///
/// The maps of channels and nodes hold what changed since the checkpoint before, unless the checkpoint is whole: then they hold
/// everything. [`CumulativeState`](super::CumulativeState) puts them together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// Changes of the run's pins that were accepted since the checkpoint before, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<Accepted>,
    /// The recorded time, which the next superstep's tasks read as their clock.
    pub at: Timestamp,
    /// For each half-filled barrier, the nodes that have arrived, in `wait_for` order.
    pub barriers: BTreeMap<String, Vec<String>>,
    /// How often a cached result was used instead of a dispatch, by node.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cached: BTreeMap<String, u64>,
    /// The stamps of channels.
    pub channels: BTreeMap<String, ChannelStamp>,
    /// Supersteps that child runs have taken so far, at any depth.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub child_steps: u64,
    /// What this builds on; absent from a whole checkpoint, and from all that release 0.1.0 wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta: Option<Delta>,
    /// Deferred activations, waiting until nothing else is active.
    pub deferred: Vec<PendingActivation>,
    /// The end, if this is it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
    /// A failure was continued past; the run will end as `completed_with_errors`.
    pub errors_continued: bool,
    /// How often each node's item has been dispatched.
    pub executions: BTreeMap<String, u64>,
    /// The edges that fired since the checkpoint before, and the branches that no edge continued: by node in the order of the
    /// document.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fired: Vec<FiredEdge>,
    /// Of a boundary that new inputs made: the nodes of the superstep before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub follows: Vec<String>,
    /// Fuel of the run so far.
    pub fuel: u64,
    /// Channels that no longer exist, in order of their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
    /// What answers have added so far to the run's budget of language models, and to those of its child runs.
    #[serde(default, skip_serializing_if = "ModelUse::is_nothing")]
    pub granted: ModelUse,
    /// The digest of the graph that the checkpoint was made with.
    pub graph: Digest,
    /// Hooks that ran since the checkpoint before, in the order of their calls' ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooked: Vec<HookSummary>,
    /// Hooks that run once this is persisted, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooks: Vec<PlannedHook>,
    /// The run's use of the host so far.
    #[serde(default, skip_serializing_if = "HostUse::is_nothing")]
    pub host: HostUse,
    /// The digest of the canonical inputs.
    pub inputs: Digest,
    /// The total of `max_steps`, if hooks or a new turn had extended it when the boundary was made. Later decisions are
    /// in a status record.
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
    /// The record digest of the checkpoint before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Digest>,
    /// The digest of the run's pins: components, grants, manifest, engine.
    pub pins: Digest,
    /// Of a boundary that new inputs made: the static interrupts there have been passed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub released: bool,
    /// The result digest: what the run has computed, independent of the host that ran it.
    pub result: ResultDigest,
    /// The id of the root run.
    pub run: String,
    /// The seed from which the random numbers of all tasks follow.
    pub seed: Digest,
    /// The checkpoint's number: 0 for the first, then counting boundaries.
    pub sequence: u64,
    /// Whether a start, a superstep, new inputs, an edit or a fork made it.
    pub source: Source,
    /// The digest of all channels ([`DigestTree`](super::DigestTree)); absent from what release 0.1.0 wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Digest>,
    /// The number of supersteps committed so far.
    pub step: u64,
    /// The total of `max_steps` that applied when it was made, if that is not the graph's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_limit: Option<u64>,
    /// The tasks of this superstep, in task order.
    pub tasks: Vec<TaskSummary>,
    /// Supersteps of the run and of its child runs before its present turn: nothing in the first one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub turn_steps: u64,
    /// For each channel that nodes wrote in this superstep, the nodes and what each wrote, in task order. Untracked
    /// channels are left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub updates: BTreeMap<String, Vec<(String, Wrote)>>,
    /// The version of the format: 2, or 1 in what release 0.1.0 wrote, which names every channel and node each time.
    #[serde(
        default = "first_version",
        deserialize_with = "known_version",
        skip_serializing_if = "is_first_version"
    )]
    pub version: u64,
    /// The nodes of this superstep, in task order; at the beginning of a fork, all that were visited up to there.
    pub visited: Vec<String>,
    /// The digest of all nodes visited so far, as a chain over supersteps.
    pub visited_digest: Digest,
    /// How often each node has been visited.
    pub visits: BTreeMap<String, u64>,
    /// The newest checkpoint before this one that raised warnings, if one did. It is named if this one raises some itself
    /// or is whole, so that all warnings are found without the checkpoints in between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warned: Option<CheckpointPlace>,
    /// Warnings that this superstep raised; at the beginning of a fork, all up to there.
    pub warnings: Vec<String>,
}

/// A result digest as it begins for every checkpoint of a run with these inputs.
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
        _ => Err(serde::de::Error::custom(format::Newer { found, current: format::CHECKPOINT })),
    }
}

/// A result digest: over the graph, the inputs, the channel values, what is next, the barriers, the visits and the fuel,
/// and over nothing that differs between two hosts that compute the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ResultDigest(pub Digest);

impl Checkpoint {
    /// Whether its maps hold everything, and not what changed alone.
    pub const fn is_whole(&self) -> bool {
        self.delta.is_none()
    }

    /// How many entries its maps of channels and nodes have.
    pub fn state_entries(&self) -> u64 {
        let counts = [&self.cached, &self.executions, &self.visits].map(BTreeMap::len);
        let entries = counts.into_iter().fold(self.channels.len(), usize::saturating_add);
        entries.saturating_add(self.gone.len()) as u64
    }

    /// Computes the result digest of everything else in the checkpoint.
    pub fn result_digest(&self) -> ResultDigest {
        let digest = if let Some(state) = &self.state {
            result_hasher(&self.graph, &self.inputs).digest(state)
        } else {
            // As release 0.1.0 digested it: over every channel.
            let over = DomainHasher::new("graph-host/result/v1").digest(&self.graph).digest(&self.inputs);
            let counted = over.field(&(self.channels.len() as u64).to_le_bytes());
            let add = |digest: DomainHasher, (channel, stamp): (&String, &ChannelStamp)| {
                digest.field(channel.as_bytes()).digest(&stamp.digest)
            };
            self.channels.iter().fold(counted, add)
        };
        self.result_after(digest)
    }

    /// The result digest, of which the digest of everything up to the channels has begun.
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

    /// The chain digest of the visits once `nodes` have been visited in one superstep.
    pub fn extend_visited<'a>(before: &Digest, nodes: impl IntoIterator<Item = &'a str>) -> Digest {
        let mut digest = DomainHasher::new("graph-host/visited/v1").digest(before);
        for node in nodes {
            digest = digest.field(node.as_bytes());
        }
        digest.finish()
    }
}
