//! The stamps and counts of all channels and nodes at a checkpoint, assembled from checkpoints with changes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::checkpoint::{ChannelStamp, Checkpoint};
use super::digest_tree::DigestTree;
use super::pruning::Pruning;

/// The stamps of all channels and the counts of all nodes at a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CumulativeState {
    /// Number of times that a cached result was used instead of a dispatch, by node.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cached: BTreeMap<String, u64>,
    /// The stamps of all channels.
    pub channels: BTreeMap<String, ChannelStamp>,
    /// Number of dispatches of each node's item.
    pub executions: BTreeMap<String, u64>,
    /// Number of tasks whose failure was handled, by node.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<String, u64>,
    /// Number of visits of each node.
    pub visits: BTreeMap<String, u64>,
}

impl CumulativeState {
    /// Returns the stamps and counts before the first checkpoint of a history whose beginning was removed.
    pub fn after(pruning: &Pruning) -> Self {
        pruning.standing.clone().unwrap_or_default()
    }

    /// Returns the stamps and counts of a whole checkpoint.
    pub fn from_checkpoint(checkpoint: &Checkpoint) -> Self {
        Self {
            cached: checkpoint.cached.clone(),
            channels: checkpoint.channels.clone(),
            executions: checkpoint.executions.clone(),
            failed: checkpoint.failed.clone(),
            visits: checkpoint.visits.clone(),
        }
    }

    /// Applies the next checkpoint.
    pub fn follow(&mut self, checkpoint: &Checkpoint) {
        if checkpoint.is_whole() {
            *self = Self::default();
        }
        for (channel, stamp) in &checkpoint.channels {
            set(&mut self.channels, channel, *stamp);
        }
        for channel in &checkpoint.gone {
            self.channels.remove(channel);
        }
        let counts = [
            (&mut self.cached, &checkpoint.cached),
            (&mut self.executions, &checkpoint.executions),
            (&mut self.failed, &checkpoint.failed),
            (&mut self.visits, &checkpoint.visits),
        ];
        for (all, changed) in counts {
            for (node, count) in changed {
                set(all, node, *count);
            }
        }
    }

    /// Builds the tree of the channels' digests, from which a checkpoint's [`state`](Checkpoint::state) follows.
    pub fn tree(&self) -> DigestTree {
        let mut tree = DigestTree::default();
        for (channel, stamp) in &self.channels {
            tree.set(channel, stamp.digest);
        }
        tree
    }

    /// Makes a checkpoint whole in memory with these stamps and counts. Its text and its record digest remain unchanged.
    pub fn complete(self, checkpoint: &mut Checkpoint) {
        let Self { cached, channels, executions, failed, visits } = self;
        (checkpoint.cached, checkpoint.channels) = (cached, channels);
        (checkpoint.executions, checkpoint.failed, checkpoint.visits) = (executions, failed, visits);
    }
}

/// Changes an entry; its key is only copied if it is new.
fn set<T>(map: &mut BTreeMap<String, T>, key: &str, value: T) {
    match map.get_mut(key) {
        Some(found) => *found = value,
        None => {
            map.insert(key.to_owned(), value);
        }
    }
}
