//! The check of a run's checkpoints against each other: nothing changed, nothing missing, nothing from elsewhere.

use std::collections::BTreeMap;

use super::accepted::{Accepted, follow};
use super::body::Record;
use super::checkpoint::{ChannelStamp, Checkpoint};
use super::pruning::Pruning;
use super::signed::{DecodeError, SignedRecord};
use super::value::{ChannelValue, ValueKind};
use crate::digest::Digest;
use crate::trust::VerifyingKey;

/// A checkpoint does not follow from the ones before it.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// The record itself is bad.
    #[error(transparent)]
    Record(#[from] DecodeError),
    /// Another kind of record stands where a checkpoint should.
    #[error("record {sequence} is not a checkpoint")]
    NotACheckpoint {
        /// Its number.
        sequence: u64,
    },
    /// The parent is not the checkpoint before.
    #[error(
        "checkpoint {sequence} does not follow the one before it: it was reordered, or one between is missing"
    )]
    Parent {
        /// Its number.
        sequence: u64,
    },
    /// A channel value is not what the checkpoint's digests say.
    #[error("the value of channel `{channel}` at checkpoint {sequence} was changed")]
    Value {
        /// The checkpoint's number.
        sequence: u64,
        /// The channel.
        channel: String,
    },
    /// The run goes on with something else than before, and nobody has said so.
    #[error(
        "checkpoint {sequence} is pinned to something else than the one before it, and what was accepted does not lead there"
    )]
    Pins {
        /// Its number.
        sequence: u64,
    },
    /// The result digest is not that of the contents.
    #[error("the result digest of checkpoint {sequence} does not match its contents")]
    Result {
        /// Its number.
        sequence: u64,
    },
}

/// Takes a run's checkpoints in order and checks each against the ones before.
#[derive(Debug)]
pub struct ChainVerifier {
    key: VerifyingKey,
    /// Where the history begins, if its beginning was removed.
    begins: Option<(Digest, u64)>,
    last: Option<(Digest, u64)>,
    /// What the newest checkpoint is pinned to.
    pins: Option<Digest>,
    channels: BTreeMap<String, ChannelStamp>,
}

impl ChainVerifier {
    /// A verifier for a run whose records are signed with `key`.
    pub fn new(key: VerifyingKey) -> Self {
        Self { key, begins: None, last: None, pins: None, channels: BTreeMap::new() }
    }

    /// A verifier for a run whose first checkpoints were removed, as the host has signed. The first one that is left
    /// brings every value that it builds on.
    pub fn after(key: VerifyingKey, pruning: &Pruning) -> Self {
        Self { begins: Some((pruning.first, pruning.first_sequence)), ..Self::new(key) }
    }

    /// Checks the next checkpoint with the values it changed.
    pub fn checkpoint(&mut self, record: &SignedRecord) -> Result<Checkpoint, ChainError> {
        let sequence = record.sequence;
        let Record::Checkpoint(checkpoint) = record.open(&self.key)? else {
            return Err(ChainError::NotACheckpoint { sequence });
        };
        let follows = match self.last {
            None => match self.begins {
                None => checkpoint.parent.is_none(),
                Some(first) => first == (record.digest, sequence),
            },
            Some((digest, before)) => checkpoint.parent == Some(digest) && sequence > before,
        };
        if !follows {
            return Err(ChainError::Parent { sequence });
        }
        if checkpoint.result_digest() != checkpoint.result {
            return Err(ChainError::Result { sequence });
        }
        let pins = match self.pins {
            Some(before) => follow(before, &checkpoint.accepted, self.key.id()),
            // What was accepted before the first one that is there has nothing to begin from.
            None => Some(checkpoint.pins),
        };
        if pins != Some(checkpoint.pins) {
            return Err(ChainError::Pins { sequence });
        }
        self.pins = Some(checkpoint.pins);
        self.values(&checkpoint, &record.values)?;
        self.last = Some((record.digest, sequence));
        Ok(*checkpoint)
    }

    /// Checks what was accepted under the newest checkpoint and stands in no checkpoint yet.
    pub fn accepted(&self, accepted: &[Accepted]) -> Result<(), ChainError> {
        let leads = self.pins.is_none_or(|before| follow(before, accepted, self.key.id()).is_some());
        let sequence = self.last.map_or(0, |(_, sequence)| sequence);
        if leads { Ok(()) } else { Err(ChainError::Pins { sequence }) }
    }

    fn values(&mut self, checkpoint: &Checkpoint, values: &[ChannelValue]) -> Result<(), ChainError> {
        let sequence = checkpoint.sequence;
        let changed = |channel: &str| ChainError::Value { sequence, channel: channel.to_owned() };
        for value in values {
            let stamp = self.channels.get(&value.channel).copied();
            let base = match (value.kind, stamp) {
                (ValueKind::Whole, _) => value.version,
                (ValueKind::Segment, Some(stamp)) => stamp.base,
                (ValueKind::Segment, None) => return Err(changed(&value.channel)),
            };
            let digest = value.digest(stamp.map(|stamp| stamp.digest).as_ref());
            let stamp = ChannelStamp { base, digest, version: value.version };
            self.channels.insert(value.channel.clone(), stamp);
        }
        self.channels.retain(|channel, _| checkpoint.channels.contains_key(channel));
        for (channel, stamp) in &checkpoint.channels {
            if self.channels.get(channel) != Some(stamp) {
                return Err(changed(channel));
            }
        }
        Ok(())
    }
}
