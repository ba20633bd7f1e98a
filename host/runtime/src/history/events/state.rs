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
    /// The checkpoint that it is the state of.
    sequence: Option<u64>,
}

impl State {
    /// Goes on to a checkpoint: by what it changed from the one before, or else from the store.
    pub(super) fn go_to(
        &mut self,
        checkpoint: &Checkpoint,
        changed: &[ChannelValue],
        store: &dyn CheckpointStore,
    ) -> Result<&Map<String, Value>> {
        let next =
            checkpoint.sequence == 0 || self.sequence.is_some_and(|last| last + 1 == checkpoint.sequence);
        // What was taken back to an earlier state, or over from another run, need not be among what changed.
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
