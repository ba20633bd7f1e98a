//! Lines of a log.

use std::sync::Arc;

use graph_core::digest::Digest;
use graph_core::record::{ChannelValue, RecordKind, SignedRecord, ValueKind};
use graph_core::trust::{KeyId, Signature};
use serde::{Deserialize, Serialize};

use crate::run::RunRow;
use crate::store::Numbered;

/// The digits of the digest that stands before a line's text.
pub(super) const DIGITS: usize = 64;

/// What a line says: the run's row from then on, and the records of a commit.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    pub(super) row: RunRow,
    pub(super) records: Vec<Entry>,
    /// How often the log was written anew, in its first line.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) generation: u64,
    /// What is said about removed checkpoints, by namespace, in the first line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) prunings: Vec<(String, String)>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A record. Its run is that of the log.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    kind: RecordKind,
    namespace: String,
    sequence: u64,
    step: u64,
    task: String,
    body: String,
    digest: Digest,
    key_id: KeyId,
    signature: Signature,
    events: u64,
    /// How many entries of the history come before its own, where that does not follow from the lines before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<u64>,
    values: Vec<Value>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Value {
    channel: String,
    version: u64,
    kind: ValueKind,
    json: String,
}

impl From<&SignedRecord> for Entry {
    fn from(record: &SignedRecord) -> Self {
        let value = |value: &ChannelValue| Value {
            channel: value.channel.clone(),
            version: value.version,
            kind: value.kind,
            json: value.json.to_string(),
        };
        Self {
            kind: record.kind,
            namespace: record.namespace.clone(),
            sequence: record.sequence,
            step: record.step,
            task: record.task.clone(),
            body: record.body.to_string(),
            digest: record.digest,
            key_id: record.key_id,
            signature: record.signature,
            events: record.events,
            before: None,
            values: record.values.iter().map(value).collect(),
        }
    }
}

impl From<&Numbered> for Entry {
    fn from(numbered: &Numbered) -> Self {
        Self { before: Some(numbered.before), ..Self::from(&numbered.record) }
    }
}

impl Entry {
    /// The record with the number that its entries begin after.
    pub(super) fn numbered(self, run: &str) -> Numbered {
        Numbered { before: self.before.unwrap_or(0), record: self.record(run) }
    }

    /// The record, in its run.
    pub(super) fn record(self, run: &str) -> SignedRecord {
        let value = |value: Value| ChannelValue {
            channel: value.channel,
            version: value.version,
            kind: value.kind,
            json: Arc::from(value.json),
        };
        SignedRecord {
            kind: self.kind,
            run: run.to_owned(),
            namespace: self.namespace,
            sequence: self.sequence,
            step: self.step,
            task: self.task,
            body: self.body.into(),
            digest: self.digest,
            key_id: self.key_id,
            signature: self.signature,
            events: self.events,
            values: self.values.into_iter().map(value).collect(),
            results: Vec::new(),
        }
    }
}

impl Line {
    /// The line with its end.
    pub(super) fn encode(&self) -> serde_json::Result<Vec<u8>> {
        let text = serde_json::to_string(self)?;
        let digest = Digest::of_bytes(text.as_bytes()).hex();
        Ok(format!("{digest} {text}\n").into_bytes())
    }

    /// Reads a line without its end; `Err` says why it is damaged.
    pub(super) fn decode(line: &[u8]) -> Result<Self, String> {
        let Some((digest, text)) = line.split_at_checked(DIGITS) else {
            return Err("a line is too short".to_owned());
        };
        let Some((b' ', text)) = text.split_first() else { return Err("a line has no text".to_owned()) };
        if Digest::of_bytes(text).hex().as_bytes() != digest {
            return Err("a line is not what its digest says".to_owned());
        }
        serde_json::from_slice(text).map_err(|error| format!("a line cannot be read: {error}"))
    }
}
