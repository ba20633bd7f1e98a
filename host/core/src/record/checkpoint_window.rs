//! Checkpoints that are read backwards from a signed one, and the channels and counts at one of them.
//!
//! A checkpoint names the digest of the one before it. A reader that trusts one checkpoint can therefore trust every earlier one with
//! the named digest: no record is parsed before its digest was checked, and only the signature of the checkpoint at which reading begins is
//! needed. [`ChainReader`] goes back in this way, one checkpoint at a time; [`CheckpointWindow`] goes back to the newest whole checkpoint, and
//! assembles the channels and counts at the wanted one.
//! [`ChainVerifier`](super::ChainVerifier) checks a whole history.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::accepted::{AcceptedPinChange, follow};
use super::body::{Record, RecordKind};
use super::chain::ChainError;
use super::checkpoint::{ChannelStamp, Checkpoint, CheckpointPlace, Source};
use super::cumulative::CumulativeState;
use super::pruning::Pruning;
use super::signed::{DecodeError, SignedRecord};
use super::value::{ChannelValue, ValueKind};
use crate::digest::Digest;
use crate::json::{self, TreeLimit};
use crate::trust::{KeyId, VerifyingKey};

/// Reads checkpoints backwards from a signed one.
#[derive(Clone, Debug)]
pub struct ChainReader {
    /// Digest and number of the first remaining checkpoint, if the host has removed those before it.
    begins: Option<(Digest, u64)>,
    /// The number of the checkpoint that was read last.
    at: u64,
    /// The digest of the one before it.
    parent: Option<Digest>,
}

/// The fields of a checkpoint that link it to earlier ones. They are read several times as fast as the whole checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct CheckpointLink {
    /// The checkpoint's number in its namespace.
    pub sequence: u64,
    /// The source of the checkpoint; an edit names the one that it restored.
    pub source: Source,
    /// Warnings of its superstep.
    pub warnings: Vec<String>,
    namespace: String,
    #[serde(default)]
    parent: Option<Digest>,
    run: String,
}

impl CheckpointLink {
    /// Returns the checkpoint of the same run that this one has restored, if any.
    pub fn restored(&self) -> Option<CheckpointPlace> {
        match self.source {
            Source::Update { restored, .. } => restored,
            _ => None,
        }
    }
}

impl ChainReader {
    /// Reads the first checkpoint. Everything that is read afterwards is trusted because of its signature by `key`; without a key, as for
    /// records of another host, everything can only be shown.
    ///
    /// `begins` describes the beginning of the history if checkpoints were removed.
    pub fn from_signed(
        record: &SignedRecord,
        key: Option<&VerifyingKey>,
        begins: Option<&Pruning>,
    ) -> Result<(Self, Checkpoint), ChainError> {
        let opened = if let Some(key) = key {
            record.open(key)?
        } else {
            record.check_digest()?;
            record.read_in_place()?
        };
        let begins = begins.map(|begins| (begins.first, begins.first_sequence));
        let mut reader = Self { begins, at: record.sequence, parent: None };
        let Record::Checkpoint(checkpoint) = opened else {
            return Err(ChainError::NotACheckpoint { sequence: record.sequence });
        };
        reader.come_to(record, checkpoint.parent)?;
        Ok((reader, *checkpoint))
    }

    /// Continues with the checkpoints before a trusted one.
    pub fn before(trusted: &TrustedCheckpoint, begins: Option<&Pruning>) -> Self {
        let begins = begins.map(|begins| (begins.first, begins.first_sequence));
        let (at, parent) = (trusted.checkpoint.sequence, trusted.checkpoint.parent);
        let is_first = begins.is_some_and(|(_, first)| first >= at);
        Self { begins, at, parent: parent.filter(|_| !is_first) }
    }

    /// Checks whether there is a checkpoint before the one that was read last.
    pub const fn has_earlier(&self) -> bool {
        self.parent.is_some()
    }

    /// Returns the number of the checkpoint that was read last.
    pub const fn at(&self) -> u64 {
        self.at
    }

    /// Reads the preceding checkpoint.
    pub fn earlier(&mut self, record: &SignedRecord) -> Result<Checkpoint, ChainError> {
        self.check(record)?;
        let Record::Checkpoint(checkpoint) = record.read_in_place()? else {
            return Err(ChainError::NotACheckpoint { sequence: record.sequence });
        };
        self.come_to(record, checkpoint.parent)?;
        Ok(*checkpoint)
    }

    /// Reads only the link of the preceding checkpoint.
    pub fn earlier_link(&mut self, record: &SignedRecord) -> Result<CheckpointLink, ChainError> {
        self.check(record)?;
        let link = CheckpointLink::from_record(record)?;
        self.come_to(record, link.parent)?;
        Ok(link)
    }

    /// Continues at an earlier checkpoint that the one read last names: it is read next.
    pub const fn go_to(&mut self, place: CheckpointPlace) {
        self.parent = Some(place.digest);
    }

    /// Creates the error of a history that lacks the checkpoint before the one that was read last.
    pub const fn missing(&self) -> ChainError {
        ChainError::Parent { sequence: self.at }
    }

    fn check(&self, record: &SignedRecord) -> Result<(), ChainError> {
        let sequence = record.sequence;
        if record.kind != RecordKind::Checkpoint {
            return Err(ChainError::NotACheckpoint { sequence });
        }
        record.check_digest()?;
        if self.parent != Some(record.digest) || sequence >= self.at {
            return Err(self.missing());
        }
        Ok(())
    }

    fn come_to(&mut self, record: &SignedRecord, parent: Option<Digest>) -> Result<(), ChainError> {
        (self.at, self.parent) = (record.sequence, parent);
        if let Some((first, number)) = self.begins
            && number >= record.sequence
        {
            self.parent = None;
            if (first, number) != (record.digest, record.sequence) {
                return Err(self.missing());
            }
        }
        Ok(())
    }
}

impl CheckpointLink {
    /// Reads the link of a checkpoint whose digest was checked before.
    fn from_record(record: &SignedRecord) -> Result<Self, DecodeError> {
        let (kind, run, sequence) = (record.kind, record.run.clone(), record.sequence);
        let link: Self = json::read(&*record.body, TreeLimit::RECORD).map_err(|error| {
            DecodeError::Malformed { kind, run: run.clone(), sequence, reason: error.to_string() }
        })?;
        if (&link.run, &link.namespace, link.sequence) != (&record.run, &record.namespace, sequence) {
            let found = format!("run {}, namespace `{}`, number {}", link.run, link.namespace, link.sequence);
            return Err(DecodeError::Misplaced { kind, run, sequence, found });
        }
        Ok(link)
    }
}

/// A checkpoint and the earlier ones that it builds on, the newest first.
#[derive(Clone, Debug)]
pub struct CheckpointWindow<'p> {
    reader: ChainReader,
    begins: Option<&'p Pruning>,
    target: Checkpoint,
    digest: Digest,
    /// The channels and counts at the target that were read so far: the first value read of each is the newest.
    standing: CumulativeState,
    /// Channels that no longer existed at the target.
    gone: BTreeSet<String>,
    warned: Option<CheckpointPlace>,
    checkpoints: u64,
    is_complete: bool,
}

/// A checkpoint that was checked, and can be built on.
#[derive(Clone, Debug, PartialEq)]
pub struct TrustedCheckpoint {
    /// The checkpoint, made whole: with the stamps of all channels and the counts of all nodes.
    pub checkpoint: Checkpoint,
    /// The record digest of the checkpoint as stored.
    pub digest: Digest,
    /// Number of checkpoints that were read and checked for it, itself included.
    pub checkpoints: u64,
    /// The number of the earliest of them.
    pub first: u64,
    /// The newest checkpoint up to this one that raised warnings. Checkpoints of release 0.1.0 do not state it.
    pub warned: Option<CheckpointPlace>,
}

impl<'p> CheckpointWindow<'p> {
    /// Begins with the wanted checkpoint. Its signature is checked with the key; `begins` is as for [`ChainReader::from_signed`].
    pub fn up_to(
        record: &SignedRecord,
        key: Option<&VerifyingKey>,
        begins: Option<&'p Pruning>,
    ) -> Result<Self, ChainError> {
        let (reader, target) = ChainReader::from_signed(record, key, begins)?;
        let mut window = Self {
            reader,
            begins,
            digest: record.digest,
            standing: CumulativeState::default(),
            gone: BTreeSet::new(),
            warned: None,
            checkpoints: 0,
            is_complete: false,
            target: target.clone(),
        };
        window.add(target, record.digest)?;
        Ok(window)
    }

    /// Returns the number below which the next checkpoint is to be added; `None` once everything is known.
    pub fn wants_below(&self) -> Option<u64> {
        (!self.is_complete).then_some(self.reader.at)
    }

    /// Adds the checkpoint before the one that was added last.
    pub fn take(&mut self, record: &SignedRecord) -> Result<(), ChainError> {
        let checkpoint = self.reader.earlier(record)?;
        self.add(checkpoint, record.digest)
    }

    /// Creates the error of a history that lacks the checkpoint to be added next.
    pub const fn missing(&self) -> ChainError {
        self.reader.missing()
    }

    fn add(&mut self, checkpoint: Checkpoint, digest: Digest) -> Result<(), ChainError> {
        let sequence = checkpoint.sequence;
        self.checkpoints += 1;
        if self.warned.is_none() && !checkpoint.warnings.is_empty() {
            self.warned = Some(CheckpointPlace { digest, sequence });
        }
        let whole = self.target.delta.map_or(sequence, |delta| delta.whole);
        let begin = self.begins.filter(|begins| begins.first_sequence == sequence);
        if let Some(standing) = begin.and_then(|begins| begins.standing.clone()) {
            self.take_older(standing);
            self.is_complete = true;
        } else if checkpoint.is_whole() {
            self.warned = self.warned.or(checkpoint.warned);
            self.is_complete = true;
            let Checkpoint { cached, channels, executions, failed, visits, .. } = checkpoint;
            self.take_older(CumulativeState { cached, channels, executions, failed, visits });
        } else if sequence <= whole || !self.reader.has_earlier() {
            return Err(ChainError::Delta { sequence });
        } else {
            let Checkpoint { cached, channels, executions, failed, visits, gone, .. } = checkpoint;
            for channel in gone {
                if !self.standing.channels.contains_key(&channel) {
                    self.gone.insert(channel);
                }
            }
            self.take_older(CumulativeState { cached, channels, executions, failed, visits });
        }
        Ok(())
    }

    /// Adds older stamps and counts; known ones are newer and remain.
    fn take_older(&mut self, older: CumulativeState) {
        fn add<T>(known: &mut BTreeMap<String, T>, older: BTreeMap<String, T>) {
            for (name, value) in older {
                known.entry(name).or_insert(value);
            }
        }
        let CumulativeState { cached, mut channels, executions, failed, visits } = older;
        channels.retain(|channel, _| !self.gone.contains(channel));
        add(&mut self.standing.channels, channels);
        add(&mut self.standing.cached, cached);
        add(&mut self.standing.executions, executions);
        add(&mut self.standing.failed, failed);
        add(&mut self.standing.visits, visits);
    }

    /// Returns the wanted checkpoint, checked and made whole; fails unless [`Self::wants_below`] returns `None`.
    pub fn finish(self) -> Result<TrustedCheckpoint, ChainError> {
        let Self { reader, mut target, digest, standing, checkpoints, is_complete, warned, .. } = self;
        if !is_complete {
            return Err(reader.missing());
        }
        let sequence = target.sequence;
        if target.state.is_some_and(|state| state != standing.tree().digest()) {
            return Err(ChainError::State { sequence });
        }
        standing.complete(&mut target);
        if target.result_digest() != target.result {
            return Err(ChainError::Result { sequence });
        }
        Ok(TrustedCheckpoint { checkpoint: target, digest, checkpoints, first: reader.at, warned })
    }
}

impl Checkpoint {
    /// Checks the values of its channels, each with its segments, against its stamps. The checkpoint has to be whole.
    pub fn check_values(&self, values: &[ChannelValue]) -> Result<(), ChainError> {
        let mut stand: BTreeMap<&str, ChannelStamp> = BTreeMap::new();
        for value in values {
            let before = stand.get(value.channel.as_str());
            let base = match (value.kind, before) {
                (ValueKind::Segment, Some(before)) => before.base,
                _ => value.version,
            };
            let digest = value.digest(before.map(|before| &before.digest));
            stand.insert(&value.channel, ChannelStamp { base, digest, version: value.version });
        }
        match self.channels.iter().find(|(channel, stamp)| stand.get(channel.as_str()) != Some(stamp)) {
            Some((channel, _)) => {
                Err(ChainError::Value { sequence: self.sequence, channel: channel.clone() })
            }
            None => Ok(()),
        }
    }

    /// Checks the accepted changes since this checkpoint, which no checkpoint contains yet: each has to be accepted by the key and to begin
    /// with the pins before it.
    pub fn check_accepted(&self, accepted: &[AcceptedPinChange], key: KeyId) -> Result<(), ChainError> {
        match follow(self.pins, accepted, key) {
            Some(_) => Ok(()),
            None => Err(ChainError::Pins { sequence: self.sequence }),
        }
    }
}
