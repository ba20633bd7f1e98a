//! The state of a run, followed from checkpoint to checkpoint.

use graph_core::record::{ChannelValue, Checkpoint, Source, ValueKind};
use graph_store::{CheckpointStore, Wanted};
use serde_json::{Map, Value};

use crate::error::{Error, Result};

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
            self.apply(changed)?;
        } else {
            let wanted: Vec<_> = checkpoint
                .channels
                .iter()
                .map(|(channel, stamp)| Wanted { channel, base: stamp.base, version: stamp.version })
                .collect();
            self.channels.clear();
            self.apply(&store.values(&checkpoint.run, &checkpoint.namespace, &wanted)?)?;
        }
        self.channels.retain(|channel, _| checkpoint.channels.contains_key(channel));
        self.sequence = Some(checkpoint.sequence);
        Ok(&self.channels)
    }

    fn apply(&mut self, values: &[ChannelValue]) -> Result<()> {
        for value in values {
            let parsed: Value = serde_json::from_str(&value.json).map_err(|error| {
                Error::integrity(format!("channel `{}` cannot be read: {error}", value.channel))
            })?;
            match (value.kind, self.channels.get_mut(&value.channel), parsed) {
                (ValueKind::Segment, Some(Value::Array(list)), Value::Array(more)) => list.extend(more),
                (_, _, parsed) => {
                    self.channels.insert(value.channel.clone(), parsed);
                }
            }
        }
        Ok(())
    }
}
