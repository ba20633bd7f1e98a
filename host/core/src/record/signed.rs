//! Records as they are stored: their text, its digest, and the host's signature.

use std::sync::Arc;

use super::body::{Record, RecordKind};
use super::cache::SignedCacheEntry;
use super::checkpoint::Checkpoint;
use super::hook::HookRecord;
use super::status::StatusRecord;
use super::task::{AnswersRecord, TaskRecord};
use super::value::ChannelValue;
use crate::digest::{Digest, DomainHasher};
use crate::format;
use crate::trust::{KeyId, Signature, SigningKey, VerifyingKey};

/// A record with its signature. What is signed is the digest of the text as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedRecord {
    /// What it is.
    pub kind: RecordKind,
    /// The run.
    pub run: String,
    /// The namespace; empty for the root graph of a run.
    pub namespace: String,
    /// The checkpoint's number, or of the checkpoint that it is under.
    pub sequence: u64,
    /// The superstep count of a checkpoint; of other records, that of the checkpoint they are under.
    pub step: u64,
    /// The task of a task or answers record, the call of a hook record; empty for others.
    pub task: String,
    /// The text, in JSON.
    pub body: Arc<str>,
    /// The record digest.
    pub digest: Digest,
    /// The key that signed.
    pub key_id: KeyId,
    /// The signature over the record digest, under the kind's domain.
    pub signature: Signature,
    /// How many entries of the run's history it holds, as [`Record::event_count`] has it.
    pub events: u64,
    /// With a checkpoint: the channel values that it changed.
    pub values: Vec<ChannelValue>,
    /// With a checkpoint on its way to a store: results to be kept beside it for later tasks. None once it is read back.
    pub results: Vec<SignedCacheEntry>,
}

/// A record cannot be written as text.
#[derive(Debug, thiserror::Error)]
#[error("a {} record cannot be written as JSON", kind.as_str())]
pub struct EncodeError {
    /// The kind.
    pub kind: RecordKind,
    /// Why.
    #[source]
    pub source: serde_json::Error,
}

/// A stored record cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The text is not a record of its kind.
    #[error("the {kind} record {sequence} of run {run} cannot be read: {reason}", kind = kind.as_str())]
    Malformed {
        /// The kind.
        kind: RecordKind,
        /// The run.
        run: String,
        /// Its number.
        sequence: u64,
        /// Why.
        reason: String,
    },
    /// The text is not what its digest says.
    #[error("the {kind} record {sequence} of run {run} was changed: its digest does not match its text", kind = kind.as_str())]
    Changed {
        /// The kind.
        kind: RecordKind,
        /// The run.
        run: String,
        /// Its number.
        sequence: u64,
    },
    /// The signature is not that of the key.
    #[error("the {kind} record {sequence} of run {run} is not signed by this host's key {key}", kind = kind.as_str())]
    Signature {
        /// The kind.
        kind: RecordKind,
        /// The run.
        run: String,
        /// Its number.
        sequence: u64,
        /// The key that was expected.
        key: KeyId,
    },
    /// The record belongs elsewhere.
    #[error("the {kind} record {sequence} of run {run} does not belong there: its text says {found}", kind = kind.as_str())]
    Misplaced {
        /// The kind.
        kind: RecordKind,
        /// The run.
        run: String,
        /// Its number.
        sequence: u64,
        /// What the text says.
        found: String,
    },
}

impl Record {
    /// What kind of record it is.
    pub const fn kind(&self) -> RecordKind {
        match self {
            Self::Checkpoint(_) => RecordKind::Checkpoint,
            Self::Task(_) => RecordKind::Task,
            Self::Answers(_) => RecordKind::Answers,
            Self::Hook(_) => RecordKind::Hook,
            Self::Status(_) => RecordKind::Status,
        }
    }

    /// The run, the namespace, the sequence number and the task that the record names.
    fn place(&self) -> (&str, &str, u64, &str) {
        match self {
            Self::Checkpoint(record) => (&record.run, &record.namespace, record.sequence, ""),
            Self::Task(record) => (&record.run, &record.namespace, record.sequence, &record.task),
            Self::Answers(record) => (&record.run, &record.namespace, record.sequence, &record.task),
            Self::Hook(record) => (&record.run, &record.namespace, record.sequence, &record.call),
            Self::Status(record) => (&record.run, &record.namespace, record.sequence, ""),
        }
    }

    /// The record's text and its digest.
    pub fn encode(&self) -> Result<(Arc<str>, Digest), EncodeError> {
        let body = match self {
            Self::Checkpoint(record) => serde_json::to_string(record),
            Self::Task(record) => serde_json::to_string(record),
            Self::Answers(record) => serde_json::to_string(record),
            Self::Hook(record) => serde_json::to_string(record),
            Self::Status(record) => serde_json::to_string(record),
        };
        let body = body.map_err(|source| EncodeError { kind: self.kind(), source })?;
        let digest = digest_of(self.kind(), &body);
        Ok((body.into(), digest))
    }
}

fn digest_of(kind: RecordKind, body: &str) -> Digest {
    DomainHasher::new(kind.domain()).field(body.as_bytes()).finish()
}

impl SignedRecord {
    /// Signs a record whose text and digest are known.
    ///
    /// `step` is the superstep count for the listing of stored records.
    pub fn sign(
        record: &Record,
        body: Arc<str>,
        digest: Digest,
        step: u64,
        values: Vec<ChannelValue>,
        key: &SigningKey,
    ) -> Self {
        let kind = record.kind();
        let (run, namespace, sequence, task) = record.place();
        Self {
            kind,
            run: run.to_owned(),
            namespace: namespace.to_owned(),
            sequence,
            step,
            task: task.to_owned(),
            signature: key.sign_digest(kind.domain(), &digest),
            key_id: key.id(),
            events: record.event_count(),
            body,
            digest,
            values,
            results: Vec::new(),
        }
    }

    /// Checks digest, signature and place, and reads the record.
    pub fn open(&self, key: &VerifyingKey) -> Result<Record, DecodeError> {
        let (kind, run, sequence) = (self.kind, self.run.clone(), self.sequence);
        if digest_of(kind, &self.body) != self.digest {
            return Err(DecodeError::Changed { kind, run, sequence });
        }
        if self.key_id != key.id() || !key.verify_digest(kind.domain(), &self.digest, &self.signature) {
            return Err(DecodeError::Signature { kind, run, sequence, key: key.id() });
        }
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

    /// Reads the record without checking its digest, its signature or its place: to show what another host has written,
    /// never to build on it.
    pub fn decode(&self) -> Result<Record, DecodeError> {
        let body = &self.body;
        let current = match self.kind {
            RecordKind::Checkpoint => format::CHECKPOINT,
            _ => format::CURRENT,
        };
        let record = match self.kind {
            RecordKind::Checkpoint => {
                serde_json::from_str::<Checkpoint>(body).map(|record| Record::Checkpoint(Box::new(record)))
            }
            RecordKind::Task => serde_json::from_str::<TaskRecord>(body).map(Record::Task),
            RecordKind::Answers => serde_json::from_str::<AnswersRecord>(body).map(Record::Answers),
            RecordKind::Hook => serde_json::from_str::<HookRecord>(body).map(Record::Hook),
            RecordKind::Status => serde_json::from_str::<StatusRecord>(body).map(Record::Status),
        };
        record.map_err(|error| DecodeError::Malformed {
            kind: self.kind,
            run: self.run.clone(),
            sequence: self.sequence,
            reason: format::reason(body, current, &error),
        })
    }
}
