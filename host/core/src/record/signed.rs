//! Records as they are stored: their text, its digest, and the host's signature.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::body::{Record, RecordKind};
use super::cache::{CacheEntry, SignedCacheEntry};
use super::checkpoint::Checkpoint;
use super::group::RecordSignature;
use super::hook::HookRecord;
use super::status::StatusRecord;
use super::task::{AnswersRecord, TaskRecord};
use super::value::ChannelValue;
use crate::digest::{Digest, DomainHasher};
use crate::format;
use crate::json::{self, TreeLimit};
use crate::trust::{KeyId, SigningKey, VerifyingKey};

/// A record with its signature, which covers the digest of the stored text.
///
/// The JSON form is used by hosts that are not written in Rust.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedRecord {
    /// The kind of record.
    pub kind: RecordKind,
    /// The id of the root run, under which all records of its tree are stored.
    pub run: String,
    /// The namespace; empty for the root graph of a run.
    pub namespace: String,
    /// The checkpoint's number, or that of the checkpoint to which the record belongs.
    pub sequence: u64,
    /// The superstep count of a checkpoint; for other records, that of their checkpoint.
    pub step: u64,
    /// The task of a task or answers record, the call of a hook record; empty for others.
    pub task: String,
    /// The text, in JSON.
    pub body: Arc<str>,
    /// The digest of the record's kind and text, which the signature covers.
    pub digest: Digest,
    /// The key that signed.
    pub key_id: KeyId,
    /// The signature over the record digest, under the kind's domain, or over the group in which the record was signed.
    pub signature: RecordSignature,
    /// Number of entries of the run's history in the record: [`Record::event_count`].
    pub events: u64,
    /// With a checkpoint: the changed channel values.
    pub values: Vec<ChannelValue>,
    /// With a checkpoint that is about to be stored: results that are stored with it for later tasks. Empty in a record that was read back.
    #[serde(default)]
    pub results: Vec<SignedCacheEntry>,
}

/// A record that is ready to be signed.
#[derive(Debug)]
pub struct UnsignedRecord {
    kind: RecordKind,
    run: String,
    namespace: String,
    sequence: u64,
    step: u64,
    task: String,
    body: Arc<str>,
    digest: Digest,
    events: u64,
    values: Vec<ChannelValue>,
    results: Vec<CacheEntry>,
}

/// A record cannot be written as text.
#[derive(Debug, thiserror::Error)]
#[error("a {} record cannot be written as JSON", kind.as_str())]
pub struct EncodeError {
    /// The kind of the record that could not be encoded.
    pub kind: RecordKind,
    /// The error of the serializer.
    #[source]
    pub source: serde_json::Error,
}

/// A stored record cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum DecodeError {
    /// The text is not a record of its kind.
    #[error("the {kind} record {sequence} of run {run} cannot be read: {reason}", kind = kind.as_str())]
    Malformed { kind: RecordKind, run: String, sequence: u64, reason: String },
    /// The text does not match its digest.
    #[error("the {kind} record {sequence} of run {run} was changed: its digest does not match its text", kind = kind.as_str())]
    Changed { kind: RecordKind, run: String, sequence: u64 },
    /// The signature is not that of the key.
    #[error("the {kind} record {sequence} of run {run} is not signed by this host's key {key}", kind = kind.as_str())]
    Signature {
        kind: RecordKind,
        run: String,
        sequence: u64,
        /// The key that was expected.
        key: KeyId,
    },
    /// The record belongs to another place.
    #[error("the {kind} record {sequence} of run {run} does not belong there: its text says {found}", kind = kind.as_str())]
    Misplaced {
        kind: RecordKind,
        run: String,
        sequence: u64,
        /// The value in the text.
        found: String,
    },
}

impl Record {
    /// Returns the kind of the record.
    pub const fn kind(&self) -> RecordKind {
        match self {
            Self::Checkpoint(_) => RecordKind::Checkpoint,
            Self::Task(_) => RecordKind::Task,
            Self::Answers(_) => RecordKind::Answers,
            Self::Hook(_) => RecordKind::Hook,
            Self::Status(_) => RecordKind::Status,
        }
    }

    /// Returns the run, the namespace, the sequence number and the task that the record names.
    fn place(&self) -> (&str, &str, u64, &str) {
        match self {
            Self::Checkpoint(record) => (&record.run, &record.namespace, record.sequence, ""),
            Self::Task(record) => (&record.run, &record.namespace, record.sequence, &record.task),
            Self::Answers(record) => (&record.run, &record.namespace, record.sequence, &record.task),
            Self::Hook(record) => (&record.run, &record.namespace, record.sequence, &record.call),
            Self::Status(record) => (&record.run, &record.namespace, record.sequence, ""),
        }
    }

    /// Returns the same without copying.
    fn into_place(self) -> (String, String, u64, String) {
        match self {
            Self::Checkpoint(record) => (record.run, record.namespace, record.sequence, String::new()),
            Self::Task(record) => (record.run, record.namespace, record.sequence, record.task),
            Self::Answers(record) => (record.run, record.namespace, record.sequence, record.task),
            Self::Hook(record) => (record.run, record.namespace, record.sequence, record.call),
            Self::Status(record) => (record.run, record.namespace, record.sequence, String::new()),
        }
    }

    /// Returns the record's text and its digest.
    pub fn encode(&self) -> Result<(Arc<str>, Digest), EncodeError> {
        // Most texts fit into this capacity.
        let mut text = Vec::with_capacity(8 << 10);
        let written = match self {
            Self::Checkpoint(record) => serde_json::to_writer(&mut text, record),
            Self::Task(record) => serde_json::to_writer(&mut text, record),
            Self::Answers(record) => serde_json::to_writer(&mut text, record),
            Self::Hook(record) => serde_json::to_writer(&mut text, record),
            Self::Status(record) => serde_json::to_writer(&mut text, record),
        };
        let body = written.and_then(|()| std::str::from_utf8(&text).map_err(serde::ser::Error::custom));
        let body = body.map_err(|source| EncodeError { kind: self.kind(), source })?;
        Ok((body.into(), digest_of(self.kind(), body)))
    }
}

fn digest_of(kind: RecordKind, body: &str) -> Digest {
    DomainHasher::new(kind.domain()).field(body.as_bytes()).finish()
}

impl UnsignedRecord {
    /// Creates a record whose text and digest are known, with its channel values and results.
    ///
    /// `step` is the superstep count for the listing of stored records.
    pub fn new(
        record: Record,
        (body, digest): (Arc<str>, Digest),
        step: u64,
        values: Vec<ChannelValue>,
        results: Vec<CacheEntry>,
    ) -> Self {
        let (kind, events) = (record.kind(), record.event_count());
        let (run, namespace, sequence, task) = record.into_place();
        Self { kind, run, namespace, sequence, step, task, body, digest, events, values, results }
    }

    /// Returns the kind of the record.
    pub const fn kind(&self) -> RecordKind {
        self.kind
    }

    /// Signs records that are stored in one transaction: those for which `alone` returns `true` separately, and the others with one
    /// signature over all of them.
    pub fn sign_together(
        records: Vec<Self>,
        alone: impl Fn(&Self) -> bool,
        key: &SigningKey,
    ) -> Result<Vec<SignedRecord>, EncodeError> {
        let group: Vec<_> = records.iter().filter(|record| !alone(record)).map(Self::signed_as).collect();
        let mut signatures = RecordSignature::of_group(&group, key).into_iter();
        let sign = |record: Self| match (alone(&record), record.signed_as()) {
            (true, (domain, digest)) => record.signed(key.sign_digest(domain, &digest).into(), key),
            (false, (domain, digest)) => {
                // The group has one signature for each record.
                let signature = signatures.next().unwrap_or_else(|| key.sign_digest(domain, &digest).into());
                record.signed(signature, key)
            }
        };
        records.into_iter().map(sign).collect()
    }

    /// Returns the signed message: the record's digest, under the domain of its kind.
    const fn signed_as(&self) -> (&'static str, Digest) {
        (self.kind.domain(), self.digest)
    }

    /// Signs the record separately.
    pub fn sign(self, key: &SigningKey) -> Result<SignedRecord, EncodeError> {
        let (domain, digest) = self.signed_as();
        self.signed(key.sign_digest(domain, &digest).into(), key)
    }

    fn signed(self, signature: RecordSignature, key: &SigningKey) -> Result<SignedRecord, EncodeError> {
        Ok(SignedRecord {
            kind: self.kind,
            run: self.run,
            namespace: self.namespace,
            sequence: self.sequence,
            step: self.step,
            task: self.task,
            body: self.body,
            digest: self.digest,
            key_id: key.id(),
            signature,
            events: self.events,
            values: self.values,
            results: self.results.iter().map(|entry| entry.sign(key)).collect::<Result<_, _>>()?,
        })
    }
}

impl SignedRecord {
    /// Checks digest, signature and place, and reads the record.
    pub fn open(&self, key: &VerifyingKey) -> Result<Record, DecodeError> {
        self.check_digest()?;
        let (kind, run, sequence) = (self.kind, self.run.clone(), self.sequence);
        if self.key_id != key.id() || !self.signature.verifies(kind.domain(), &self.digest, key) {
            return Err(DecodeError::Signature { kind, run, sequence, key: key.id() });
        }
        self.read_in_place()
    }

    /// Checks that the digest matches the text.
    pub(super) fn check_digest(&self) -> Result<(), DecodeError> {
        let (kind, run, sequence) = (self.kind, self.run.clone(), self.sequence);
        if digest_of(kind, &self.body) == self.digest {
            Ok(())
        } else {
            Err(DecodeError::Changed { kind, run, sequence })
        }
    }

    /// Reads the record, whose digest was checked before, and checks its place.
    pub(super) fn read_in_place(&self) -> Result<Record, DecodeError> {
        let (kind, run, sequence) = (self.kind, self.run.clone(), self.sequence);
        let record = self.decode()?;
        let (in_run, in_namespace, in_sequence, in_task) = record.place();
        if (in_run, in_namespace, in_sequence, in_task)
            != (&*self.run, &*self.namespace, self.sequence, &*self.task)
        {
            let found =
                format!("run {in_run}, namespace `{in_namespace}`, number {in_sequence}, task `{in_task}`");
            return Err(DecodeError::Misplaced { kind, run, sequence, found });
        }
        Ok(record)
    }

    /// Reads the record without checking its digest, its signature or its place: to show the records of another host, never to build on
    /// them.
    pub fn decode(&self) -> Result<Record, DecodeError> {
        let body = &*self.body;
        let current = match self.kind {
            RecordKind::Checkpoint => format::CHECKPOINT,
            _ => format::CURRENT,
        };
        let record = match self.kind {
            RecordKind::Checkpoint => json::read::<Checkpoint>(body, TreeLimit::RECORD)
                .map(|record| Record::Checkpoint(Box::new(record))),
            RecordKind::Task => json::read::<TaskRecord>(body, TreeLimit::RECORD).map(Record::Task),
            RecordKind::Answers => json::read::<AnswersRecord>(body, TreeLimit::RECORD).map(Record::Answers),
            RecordKind::Hook => json::read::<HookRecord>(body, TreeLimit::RECORD).map(Record::Hook),
            RecordKind::Status => json::read::<StatusRecord>(body, TreeLimit::RECORD).map(Record::Status),
        };
        record.map_err(|error| DecodeError::Malformed {
            kind: self.kind,
            run: self.run.clone(),
            sequence: self.sequence,
            reason: format::reason(body, current, &error),
        })
    }
}
