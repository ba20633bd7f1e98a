//! The state of a run, followed from checkpoint to checkpoint.

use graph_core::record::{ChannelValue, Checkpoint, Source};
use graph_store::CheckpointStore;
use serde_json::{Map, Value};

use crate::error::Result;
use crate::run::restore;

/// The state of one namespace at a checkpoint.
#[derive(Debug, Default)]
pub(super) struct State {
    channels: Map<String, Value>,
    /// The number of the checkpoint that this state belongs to.
    sequence: Option<u64>,
}

impl State {
    /// Brings the state forward to a checkpoint: by its changes if it follows the current one, else from the store.
    pub(super) fn go_to(
        &mut self,
        checkpoint: &Checkpoint,
        changed: &[ChannelValue],
        store: &dyn CheckpointStore,
    ) -> Result<&Map<String, Value>> {
        let next =
            checkpoint.sequence == 0 || self.sequence.is_some_and(|last| last + 1 == checkpoint.sequence);
        // A checkpoint that restores an earlier state, or begins a fork, need not list all differences as changes.
        let follows = next && !matches!(checkpoint.source, Source::Update { .. } | Source::Fork { .. });
        if follows {
            restore::apply(&mut self.channels, changed.to_vec())?;
        } else {
            self.channels = restore::state(store, checkpoint)?;
        }
        if checkpoint.is_whole() {
            self.channels.retain(|channel, _| checkpoint.channels.contains_key(channel));
        }
        for channel in &checkpoint.gone {
            self.channels.remove(channel);
        }
        self.sequence = Some(checkpoint.sequence);
        Ok(&self.channels)
    }
}
