//! The outcome of all capability decisions about one component in one place of a graph.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::http::HttpRule;
use super::model::ModelRule;
use super::reach::{KnowledgeRule, SecretRule};
use crate::digest::{Digest, DomainHasher};
use crate::limits::TaskLimits;

/// A capability of a component. Each kind is a set of WIT interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CapabilityKind {
    /// `graph-host:host/log` and `graph-host:host/events`, and the harmless imports of language runtimes: `wasi:cli` (its standard output
    /// is logged) and `wasi:io`. Always granted, budgeted.
    Log,
    /// `wasi:clocks`: the recorded time of the superstep, and sleeps that return at once.
    Clocks,
    /// `wasi:random`: numbers drawn from the seed of run, superstep and task.
    Random,
    /// `wasi:filesystem`, with `wasi:io` and the clock types.
    Filesystem,
    /// `wasi:http`: requests to the hosts of an allow-list.
    Http,
    /// `graph-host:host/secrets`: handles that the host replaces in headers.
    Secrets,
    /// `graph-host:host/knowledge`: entries below granted scopes.
    Knowledge,
    /// `graph-host:host/tools`: calls of other items.
    Tools,
    /// `graph-host:host/model`: completions of the language models that the manifest names.
    Model,
}

impl CapabilityKind {
    /// Every kind, in the order in which plans and suggestions list them.
    pub const ALL: [Self; 9] = [
        Self::Log,
        Self::Clocks,
        Self::Random,
        Self::Filesystem,
        Self::Http,
        Self::Secrets,
        Self::Knowledge,
        Self::Tools,
        Self::Model,
    ];

    /// Returns the key in a manifest.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Clocks => "clocks",
            Self::Random => "random",
            Self::Filesystem => "filesystem",
            Self::Http => "http",
            Self::Secrets => "secrets",
            Self::Knowledge => "knowledge",
            Self::Tools => "tools",
            Self::Model => "model",
        }
    }

    /// Returns the kind of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

impl fmt::Display for CapabilityKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The permitted operations in a granted folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// `ro`: read and list.
    #[serde(rename = "ro")]
    ReadOnly,
    /// `rw`: read, list, write, create, remove.
    #[serde(rename = "rw")]
    ReadWrite,
}

impl Access {
    /// Returns the word in a manifest.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "ro",
            Self::ReadWrite => "rw",
        }
    }
}

/// A folder that is visible to a component.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Mount {
    /// The folder on the host, absolute.
    pub host: String,
    /// The folder's path inside the component, absolute.
    pub guest: String,
    /// The permitted operations.
    pub access: Access,
}

/// The effective grant of one component at one node: declared ∩ ceiling ∩ manifest ∩ parent ∩ node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectiveGrant {
    /// The kinds that are linked.
    pub kinds: BTreeSet<CapabilityKind>,
    /// The visible folders; empty without [`CapabilityKind::Filesystem`].
    pub filesystem: Vec<Mount>,
    /// The requests that it may send; empty without [`CapabilityKind::Http`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub http: Vec<HttpRule>,
    /// The secrets that it may send; empty without [`CapabilityKind::Secrets`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<SecretRule>,
    /// The knowledge that it may use; empty without [`CapabilityKind::Knowledge`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub knowledge: Vec<KnowledgeRule>,
    /// The language models that it may ask; empty without [`CapabilityKind::Model`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelRule>,
    /// The limits of each task.
    pub limits: TaskLimits,
}

impl EffectiveGrant {
    /// Creates a grant of logging only, within the limits.
    pub fn nothing(limits: TaskLimits) -> Self {
        Self {
            kinds: BTreeSet::from([CapabilityKind::Log]),
            filesystem: Vec::new(),
            http: Vec::new(),
            secrets: Vec::new(),
            knowledge: Vec::new(),
            models: Vec::new(),
            limits,
        }
    }

    /// Returns the digest that a checkpoint records.
    pub fn digest(&self) -> Digest {
        let mut digest = DomainHasher::new("graph-host/grant/v1");
        for kind in &self.kinds {
            digest = digest.field(kind.as_str().as_bytes());
        }
        for mount in &self.filesystem {
            digest = digest
                .field(mount.host.as_bytes())
                .field(mount.guest.as_bytes())
                .field(&[u8::from(mount.access == Access::ReadWrite)]);
        }
        for rules in
            [serde_json::json!(self.http), serde_json::json!(self.secrets), serde_json::json!(self.knowledge)]
        {
            digest = digest.field(crate::json::canonical_string(&rules).as_bytes());
        }
        // Without a granted model, the digest equals that of releases without models.
        if !self.models.is_empty() {
            let limits = serde_json::json!([self.limits.model, self.limits.model_floor]);
            for rules in [serde_json::json!(self.models), limits] {
                digest = digest.field(crate::json::canonical_string(&rules).as_bytes());
            }
        }
        let limits = &self.limits;
        digest
            .field(&limits.fuel.to_le_bytes())
            .field(&limits.memory.to_le_bytes())
            .field(&limits.timeout.as_millis().to_le_bytes())
            .field(&limits.output.to_le_bytes())
            .field(&limits.log.to_le_bytes())
            .field(&limits.calls.to_le_bytes())
            .field(&limits.bytes.to_le_bytes())
            .field(&limits.written.to_le_bytes())
            .field(&limits.requests.to_le_bytes())
            .field(&limits.request_body.to_le_bytes())
            .field(&limits.response_body.to_le_bytes())
            .finish()
    }
}
