//! The result of a replay.

use graph_core::digest::Digest;
use graph_core::record::{Checkpoint, Source};
use serde::Serialize;

use super::compare::Difference;
use super::world::LiveDifference;

/// A superstep that was executed again.
#[derive(Clone, Debug, Serialize)]
pub struct ReplayedSuperstep {
    /// Namespace; empty for the run itself.
    pub namespace: String,
    /// Number of the checkpoint that it produced.
    pub checkpoint: u64,
    /// Number of the superstep.
    pub step: u64,
    /// Source of the checkpoint: a superstep, or another one.
    pub made_by: String,
    /// Its nodes, in task order.
    pub nodes: Vec<String>,
    /// The fuel of its tasks.
    pub fuel: u64,
    /// `true` if the checkpoints are equal.
    pub equal: bool,
    /// `true` if the record digest was compared in addition to the result digest.
    pub record: bool,
    /// Recorded result digest.
    #[serde(skip)]
    pub recorded_result: Digest,
    /// Result digest of the replay.
    #[serde(skip)]
    pub replayed_result: Digest,
}

impl ReplayedSuperstep {
    /// Describes a checkpoint that was made again and compared.
    pub(super) fn compared(replayed: &Checkpoint, recorded: &Checkpoint, equal: bool, record: bool) -> Self {
        Self {
            namespace: replayed.namespace.clone(),
            checkpoint: replayed.sequence,
            step: replayed.step,
            made_by: if replayed.source == Source::Input { "start" } else { replayed.source.as_str() }
                .to_owned(),
            nodes: recorded.visited.clone(),
            fuel: replayed.tasks.iter().fold(0, |fuel, task| fuel.saturating_add(task.fuel)),
            equal,
            record,
            recorded_result: recorded.result.0,
            replayed_result: replayed.result.0,
        }
    }

    /// Describes a checkpoint that no superstep made: the replay starts again from it.
    pub(super) fn taken(checkpoint: &Checkpoint) -> Self {
        let made_by = if checkpoint.source == Source::Superstep {
            "first that is kept"
        } else {
            checkpoint.source.as_str()
        };
        Self {
            namespace: String::new(),
            checkpoint: checkpoint.sequence,
            step: checkpoint.step,
            made_by: made_by.to_owned(),
            nodes: Vec::new(),
            fuel: 0,
            equal: true,
            record: false,
            recorded_result: checkpoint.result.0,
            replayed_result: checkpoint.result.0,
        }
    }
}

/// The result of a replay.
#[derive(Debug, Default, Serialize)]
pub struct Replay {
    /// Supersteps, in the order in which they were run again; those of child runs precede the one around them.
    pub supersteps: Vec<ReplayedSuperstep>,
    /// Number of attempts that were run.
    pub attempts: u64,
    /// Number of tasks for which a cached result was used.
    pub cached: u64,
    /// Number of entries of journals.
    pub entries: u64,
    /// The fuel of all attempts.
    pub fuel: u64,
    /// Pinned items, grants and documents that are missing or have changed, a line each.
    pub changes: Vec<String>,
    /// Differences between the replay and the record.
    pub differences: Vec<Difference>,
    /// Answers of the world that differ from the recorded ones.
    pub world: Vec<LiveDifference>,
}

impl Replay {
    /// Checks that there are no differences and no changes. Differences of the world do not count.
    pub fn is_equal(&self) -> bool {
        self.differences.is_empty() && self.changes.is_empty()
    }

    /// Describes the differences of a run's replay by the first one; `None` if there is none.
    pub fn difference_message(&self, run: &str) -> Option<String> {
        let (first, others) = self.differences.split_first()?;
        Some(first.message(run, others.len()))
    }
}
