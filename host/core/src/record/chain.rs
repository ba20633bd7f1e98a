//! Verification of a run's checkpoints against each other: none is changed, missing or foreign.

use std::collections::{BTreeMap, BTreeSet};

use super::accepted::{AcceptedPinChange, follow};
use super::body::Record;
use super::checkpoint::{ChannelStamp, Checkpoint, Delta};
use super::cumulative::CumulativeState;
use super::digest_tree::DigestTree;
use super::pruning::Pruning;
use super::signed::{DecodeError, SignedRecord};
use super::value::{ChannelValue, ValueKind};
use crate::digest::Digest;
use crate::trust::VerifyingKey;

/// A checkpoint does not follow from the ones before it.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum ChainError {
    /// The record itself is invalid.
    #[error(transparent)]
    Record(#[from] DecodeError),
    /// The record is not a checkpoint.
    #[error("record {sequence} is not a checkpoint")]
    NotACheckpoint { sequence: u64 },
    /// The parent is not the preceding checkpoint.
    #[error(
        "checkpoint {sequence} does not follow the one before it: it was reordered, or one between is missing"
    )]
    Parent { sequence: u64 },
    /// A channel value does not match the checkpoint's digests.
    #[error("the value of channel `{channel}` at checkpoint {sequence} was changed")]
    Value {
        /// The number of the checkpoint with the value.
        sequence: u64,
        channel: String,
    },
    /// The run's pins differ from those before, and no host has accepted the change.
    #[error(
        "checkpoint {sequence} is pinned to something else than the one before it, and what was accepted does not lead there"
    )]
    Pins { sequence: u64 },
    /// A checkpoint with changes does not continue the ones before it.
    #[error("checkpoint {sequence} holds changes to something else than the checkpoints before it")]
    Delta { sequence: u64 },
    /// The digest of the channels does not match the changes up to the checkpoint.
    #[error("the state digest of checkpoint {sequence} does not match the changes up to it")]
    State { sequence: u64 },
    /// The result digest does not match the contents.
    #[error("the result digest of checkpoint {sequence} does not match its contents")]
    Result { sequence: u64 },
}

/// Verifies a run's checkpoints in order, each against the ones before.
#[derive(Debug)]
pub struct ChainVerifier {
    key: VerifyingKey,
    /// The beginning of the history after a removal: digest and number of the first checkpoint, and the cumulative state there.
    begins: Option<(Digest, u64, Option<CumulativeState>)>,
    last: Option<(Digest, u64)>,
    /// The pins of the newest checkpoint.
    pins: Option<Digest>,
    /// The `delta` of the newest checkpoint, from which that of the next one follows: the number of the whole checkpoint, and the entries
    /// since.
    line: Option<Delta>,
    /// The stamps of all channels as computed from their values, and the counts of all nodes.
    standing: CumulativeState,
    /// The digests of the channels, from the first checkpoint that states a digest of all channels.
    tree: Option<DigestTree>,
}

impl ChainVerifier {
    /// Creates a verifier for a run whose records are signed with `key`.
    pub fn new(key: VerifyingKey) -> Self {
        Self {
            key,
            begins: None,
            last: None,
            pins: None,
            line: None,
            standing: CumulativeState::default(),
            tree: None,
        }
    }

    /// Creates a verifier for a run whose first checkpoints were removed, according to the host's signed note. The first remaining
    /// checkpoint comes with every value that it builds on.
    pub fn after(key: VerifyingKey, pruning: &Pruning) -> Self {
        let begins = (pruning.first, pruning.first_sequence, pruning.standing.clone());
        Self { begins: Some(begins), ..Self::new(key) }
    }

    /// Checks the next checkpoint with the values it changed.
    pub fn checkpoint(&mut self, record: &SignedRecord) -> Result<Checkpoint, ChainError> {
        let sequence = record.sequence;
        let Record::Checkpoint(checkpoint) = record.open(&self.key)? else {
            return Err(ChainError::NotACheckpoint { sequence });
        };
        let follows = match self.last {
            None => match &self.begins {
                None => checkpoint.parent.is_none(),
                Some((first, number, _)) => (*first, *number) == (record.digest, sequence),
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
            // Earlier acceptances cannot be followed for the first remaining checkpoint.
            None => Some(checkpoint.pins),
        };
        if pins != Some(checkpoint.pins) {
            return Err(ChainError::Pins { sequence });
        }
        self.pins = Some(checkpoint.pins);
        self.changes(&checkpoint, &record.values)?;
        self.last = Some((record.digest, sequence));
        Ok(*checkpoint)
    }

    /// Returns the stamps and counts at the newest checkpoint.
    pub const fn standing(&self) -> &CumulativeState {
        &self.standing
    }

    /// Checks the accepted changes since the newest checkpoint, which no checkpoint contains yet.
    pub fn accepted(&self, accepted: &[AcceptedPinChange]) -> Result<(), ChainError> {
        let leads = self.pins.is_none_or(|before| follow(before, accepted, self.key.id()).is_some());
        let sequence = self.last.map_or(0, |(_, sequence)| sequence);
        if leads { Ok(()) } else { Err(ChainError::Pins { sequence }) }
    }

    fn changes(&mut self, checkpoint: &Checkpoint, values: &[ChannelValue]) -> Result<(), ChainError> {
        let sequence = checkpoint.sequence;
        let begins = self.last.is_none().then(|| self.begins.as_mut()?.2.take()).flatten();
        match (checkpoint.delta, self.line, &begins) {
            (None, ..) | (Some(_), None, Some(_)) => {}
            (Some(delta), Some(line), _) if delta == after(line, checkpoint) => {}
            (Some(_), ..) => return Err(ChainError::Delta { sequence }),
        }
        self.line = Some(checkpoint.delta.unwrap_or(Delta { entries: 0, whole: sequence }));
        let written = self.take_values(sequence, values)?;
        let whole = begins.as_ref().map(|standing| &standing.channels);
        let whole = whole.or_else(|| checkpoint.is_whole().then_some(&checkpoint.channels));
        let changed = |channel: &str| ChainError::Value { sequence, channel: channel.to_owned() };
        if let Some(channels) = whole {
            self.standing.channels.retain(|channel, _| channels.contains_key(channel));
            self.compare(sequence, channels)?;
        } else {
            let stands = |channel: &str| checkpoint.channels.contains_key(channel);
            if let Some(channel) = written.iter().find(|channel| !stands(channel)) {
                return Err(changed(channel));
            }
            for channel in &checkpoint.gone {
                self.standing.channels.remove(channel).ok_or_else(|| changed(channel))?;
            }
        }
        self.compare(sequence, &checkpoint.channels)?;
        match begins {
            Some(standing) => {
                self.standing = standing;
                self.tree = None;
            }
            None => self.standing.follow(checkpoint),
        }
        self.check_state(checkpoint)
    }

    /// Checks the digest of the channels, which is updated with the changes.
    fn check_state(&mut self, checkpoint: &Checkpoint) -> Result<(), ChainError> {
        let Some(state) = checkpoint.state else {
            self.tree = None;
            return Ok(());
        };
        let tree = match &mut self.tree {
            Some(tree) if !checkpoint.is_whole() => {
                for (channel, stamp) in &checkpoint.channels {
                    tree.set(channel, stamp.digest);
                }
                for channel in &checkpoint.gone {
                    tree.remove(channel);
                }
                tree
            }
            tree => tree.insert(self.standing.tree()),
        };
        let sequence = checkpoint.sequence;
        if tree.digest() == state { Ok(()) } else { Err(ChainError::State { sequence }) }
    }

    /// Applies the values of a checkpoint, and returns the channels that have some.
    fn take_values<'v>(
        &mut self,
        sequence: u64,
        values: &'v [ChannelValue],
    ) -> Result<BTreeSet<&'v str>, ChainError> {
        let mut written = BTreeSet::new();
        for value in values {
            let stamp = self.standing.channels.get(&value.channel).copied();
            let base = match (value.kind, stamp) {
                (ValueKind::Whole, _) => value.version,
                (ValueKind::Segment, Some(stamp)) => stamp.base,
                (ValueKind::Segment, None) => {
                    return Err(ChainError::Value { sequence, channel: value.channel.clone() });
                }
            };
            let digest = value.digest(stamp.map(|stamp| stamp.digest).as_ref());
            let stamp = ChannelStamp { base, digest, version: value.version };
            self.standing.channels.insert(value.channel.clone(), stamp);
            written.insert(value.channel.as_str());
        }
        Ok(written)
    }

    /// Compares the stamps of channels with their values.
    fn compare(&self, sequence: u64, channels: &BTreeMap<String, ChannelStamp>) -> Result<(), ChainError> {
        for (channel, stamp) in channels {
            if self.standing.channels.get(channel) != Some(stamp) {
                return Err(ChainError::Value { sequence, channel: channel.clone() });
            }
        }
        Ok(())
    }
}

/// Computes the `delta` that a checkpoint with changes must have after one whose `delta` is `line`.
fn after(line: Delta, checkpoint: &Checkpoint) -> Delta {
    Delta { entries: line.entries.saturating_add(checkpoint.state_entries()), ..line }
}
