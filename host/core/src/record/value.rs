//! Values inside records.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::digest::{Digest, DomainHasher};
use crate::json;

/// A JSON value that a record writes in canonical form (RFC 8785), so that a record has the same text on every host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CanonicalValue(pub Arc<Value>);

impl From<Value> for CanonicalValue {
    fn from(value: Value) -> Self {
        Self(Arc::new(value))
    }
}

impl Serialize for CanonicalValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(json::canonical_string(&self.0))
            .map_err(serde::ser::Error::custom)?
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CanonicalValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from)
    }
}

/// The relation of a stored channel value to the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueKind {
    /// The whole value of the channel.
    Whole,
    /// Elements that an append channel gained.
    Segment,
}

/// A channel's new value, or the elements that it gained, at one checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelValue {
    /// The name of the channel.
    pub channel: String,
    /// The sequence number of the checkpoint that wrote it.
    pub version: u64,
    /// The kind of the value: whole or a segment.
    pub kind: ValueKind,
    /// Canonical JSON: the value, or the list of elements gained.
    pub json: Arc<str>,
}

impl ChannelValue {
    /// Returns the digest of the channel after this value. A segment continues the digest before it, so that a step costs only its own
    /// elements.
    pub fn digest(&self, before: Option<&Digest>) -> Digest {
        match self.kind {
            ValueKind::Whole => {
                DomainHasher::new("graph-host/channel/v1").field(self.json.as_bytes()).finish()
            }
            ValueKind::Segment => {
                let mut digest = DomainHasher::new("graph-host/channel-segment/v1");
                if let Some(before) = before {
                    digest = digest.digest(before);
                }
                digest.field(self.json.as_bytes()).finish()
            }
        }
    }
}
