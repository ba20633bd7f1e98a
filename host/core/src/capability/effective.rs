//! The effective grant of a component at one node: declared ∩ ceiling ∩ manifest ∩ parent ∩ node.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use super::grant::{Access, CapabilityKind, EffectiveGrant, Mount};
use super::http::HttpRule;
use super::interface::{InterfaceName, Provision};
use super::manifest::Manifest;
use super::model::ModelRule;
use super::reach::{KnowledgeRule, SecretRule};
use super::{Ceiling, path};
use crate::id::without_version;
use crate::item::NodeCapabilities;
use crate::limits::{NodeLimits, TaskLimits};

/// The inputs of a grant: the result is their intersection.
#[derive(Clone, Copy, Debug)]
pub struct GrantRequest<'a> {
    /// The component's item id; a version is ignored.
    pub item_id: &'a str,
    /// The interfaces that its signed statement declares, or that it imports while it is under development.
    pub declared: &'a [InterfaceName],
    /// The upper bound from its statement and from the key that signed it.
    pub ceiling: &'a Ceiling,
    /// The name of that key, for messages.
    pub signer: Option<&'a str>,
    /// The manifest.
    pub manifest: &'a Manifest,
    /// The grant of the run that started this one.
    pub parent: Option<&'a EffectiveGrant>,
    /// The node's own restriction.
    pub node: Option<&'a NodeCapabilities>,
    /// The node's own limits, which only lower the others.
    pub node_limits: NodeLimits,
}

/// An interface that a component needs and that is not granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The component's item id.
    pub item_id: String,
    /// The interface, with its version.
    pub interface: String,
    /// The capability to which the interface belongs, if any.
    pub kind: Option<CapabilityKind>,
    /// The reason.
    pub reason: RefusalReason,
    /// The lines of a manifest that would grant it, if a manifest can.
    pub manifest_lines: Option<String>,
}

/// The reason why an interface is not granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefusalReason {
    /// No capability of this version covers the interface.
    Unknown,
    /// The host offers another version of it.
    OtherVersion {
        /// The offered track, such as `0.2`.
        offered: String,
    },
    /// The signature does not cover it.
    Ceiling {
        /// The name of the key that signed the component.
        signer: Option<String>,
    },
    /// No entry of the manifest covers the item.
    NoEntry,
    /// The entry that applies to the item does not grant it.
    NotInEntry {
        /// The pattern of the entry that applies.
        pattern: String,
    },
    /// The run that started this one lacks it.
    Parent,
    /// The node's own `capabilities` leave it out.
    Node,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { item_id, interface, .. } = self;
        write!(f, "`{item_id}` needs `{interface}`, ")?;
        let kind = self.kind.map_or("it", CapabilityKind::as_str);
        match &self.reason {
            RefusalReason::Unknown => f.write_str("which no capability of this version covers"),
            RefusalReason::OtherVersion { offered } => {
                write!(f, "of which this host offers version {offered} alone")
            }
            RefusalReason::Ceiling { signer: Some(key) } => {
                write!(f, "but its signature by the key `{key}` does not reach as far as `{kind}`")
            }
            RefusalReason::Ceiling { signer: None } => write!(f, "but its ceiling leaves out `{kind}`"),
            RefusalReason::NoEntry => f.write_str("but no entry of the manifest is about that item"),
            RefusalReason::NotInEntry { pattern } => {
                write!(f, "but the manifest's entry `{pattern}`, which applies, does not grant `{kind}`")
            }
            RefusalReason::Parent => write!(f, "but the run that started this one is not granted `{kind}`"),
            RefusalReason::Node => write!(f, "but the node's own `capabilities` leave out `{kind}`"),
        }
    }
}

impl std::error::Error for Refusal {}

/// Computes the effective grant of a component at one node. All refusals are reported at once. An interface that defines
/// types for another capability, as `wasi:clocks/wall-clock` does for the file times of `wasi:filesystem`, is linked with
/// that capability; its own functions are then not granted.
pub fn effective_grant(request: &GrantRequest<'_>) -> Result<EffectiveGrant, Vec<Refusal>> {
    let mounts = mounts(request);
    let wanted: BTreeSet<CapabilityKind> =
        request.declared.iter().filter_map(own_kind).chain([CapabilityKind::Log]).collect();
    let kinds: BTreeSet<CapabilityKind> =
        wanted.iter().copied().filter(|kind| refused(request, *kind, &mounts).is_none()).collect();
    let mut refusals: Vec<Refusal> = Vec::new();
    for interface in request.declared {
        let (kind, reason) = match interface.provision() {
            // Types need no grant, and accompanying interfaces are always available.
            Provision::Types | Provision::Kinds { own: None, .. } => continue,
            Provision::Unknown => (None, RefusalReason::Unknown),
            Provision::OtherVersion { major, minor } => {
                (None, RefusalReason::OtherVersion { offered: format!("{major}.{minor}") })
            }
            Provision::Kinds { brought_by, .. } if brought_by.iter().any(|kind| kinds.contains(kind)) => {
                continue;
            }
            Provision::Kinds { own: Some(kind), .. } => match refused(request, kind, &mounts) {
                Some(reason) => (Some(kind), reason),
                None => continue,
            },
        };
        let manifest_lines = match (kind, &reason) {
            (Some(kind), RefusalReason::NoEntry) => Some(lines(request.manifest, &id(request), kind)),
            (Some(kind), RefusalReason::NotInEntry { pattern }) => {
                Some(lines(request.manifest, pattern, kind))
            }
            _ => None,
        };
        let refusal = Refusal {
            item_id: request.item_id.to_owned(),
            interface: interface.to_string(),
            kind,
            reason,
            manifest_lines,
        };
        if !refusals.contains(&refusal) {
            refusals.push(refusal);
        }
    }
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let filesystem = if kinds.contains(&CapabilityKind::Filesystem) { mounts } else { Vec::new() };
    let http = if kinds.contains(&CapabilityKind::Http) { http(request) } else { Vec::new() };
    let secrets = if kinds.contains(&CapabilityKind::Secrets) { secrets(request) } else { Vec::new() };
    let knowledge = if kinds.contains(&CapabilityKind::Knowledge) { knowledge(request) } else { Vec::new() };
    let models = if kinds.contains(&CapabilityKind::Model) { models(request) } else { Vec::new() };
    Ok(EffectiveGrant { kinds, filesystem, http, secrets, knowledge, models, limits: limits(request) })
}

/// Returns the kind to which the functions of an interface belong.
pub(super) fn own_kind(interface: &InterfaceName) -> Option<CapabilityKind> {
    match interface.provision() {
        Provision::Kinds { own, .. } => own,
        _ => None,
    }
}

fn id<'a>(request: &GrantRequest<'a>) -> Cow<'a, str> {
    without_version(request.item_id)
}

/// Returns the reason why a kind is not granted; `None` if it is granted.
fn refused(request: &GrantRequest<'_>, kind: CapabilityKind, mounts: &[Mount]) -> Option<RefusalReason> {
    if kind == CapabilityKind::Log {
        return None;
    }
    if !request.ceiling.kinds.contains(&kind) {
        return Some(RefusalReason::Ceiling { signer: request.signer.map(str::to_owned) });
    }
    match request.manifest.entry_for(request.item_id) {
        None => return Some(RefusalReason::NoEntry),
        Some(entry) if !entry.grants(kind) => {
            return Some(RefusalReason::NotInEntry { pattern: entry.pattern.to_string() });
        }
        Some(_) => {}
    }
    if request.manifest.narrowing.kinds.as_ref().is_some_and(|kinds| !kinds.contains(&kind)) {
        return Some(RefusalReason::Parent);
    }
    let has_kind = |parent: &EffectiveGrant| parent.kinds.contains(&kind);
    if request.parent.is_some_and(|parent| !has_kind(parent))
        || (kind == CapabilityKind::Filesystem && mounts.is_empty())
        || (kind == CapabilityKind::Http && http(request).is_empty())
        || (kind == CapabilityKind::Secrets && secrets(request).is_empty())
        || (kind == CapabilityKind::Knowledge && knowledge(request).is_empty())
        || (kind == CapabilityKind::Model && models(request).is_empty())
    {
        return Some(RefusalReason::Parent);
    }
    let interfaces = request.node.and_then(|node| node.interfaces.as_ref());
    interfaces.filter(|kept| !kept.iter().any(|name| name == kind.as_str())).map(|_| RefusalReason::Node)
}

/// Returns the folders in the manifest's entry that the parent's grant covers.
fn mounts(request: &GrantRequest<'_>) -> Vec<Mount> {
    let entry = request.manifest.entry_for(request.item_id);
    let mounts = entry.into_iter().flat_map(|entry| &entry.filesystem).map(|mount| mount.mount.clone());
    match request.parent {
        None => mounts.collect(),
        Some(parent) => mounts
            .filter_map(|mount| {
                let covering =
                    parent.filesystem.iter().filter(|wide| path::is_within(&mount.host, &wide.host));
                let access = covering.map(|wide| wide.access).max()?;
                Some(Mount { access: access.min(mount.access), ..mount })
            })
            .collect(),
    }
}

/// Returns the HTTP rules in the manifest's entry, restricted to the parent's grant.
fn http(request: &GrantRequest<'_>) -> Vec<HttpRule> {
    let own = request.manifest.entry_for(request.item_id).map_or(&[][..], |entry| &entry.http);
    match request.parent {
        None => own.to_vec(),
        Some(parent) => own
            .iter()
            .flat_map(|rule| parent.http.iter().filter_map(|wide| rule.intersection(wide)))
            .collect(),
    }
}

/// Returns the secrets of the manifest's entry that the parent also has.
fn secrets(request: &GrantRequest<'_>) -> Vec<SecretRule> {
    let own = request.manifest.entry_for(request.item_id).map_or(&[][..], |entry| &entry.secrets);
    let has = |rule: &&SecretRule| request.parent.is_none_or(|parent| parent.secrets.contains(rule));
    own.iter().filter(has).cloned().collect()
}

/// Returns the knowledge scopes in the manifest's entry that the parent's grant covers.
fn knowledge(request: &GrantRequest<'_>) -> Vec<KnowledgeRule> {
    let own = request.manifest.entry_for(request.item_id).map_or(&[][..], |entry| &entry.knowledge);
    let Some(parent) = request.parent else { return own.to_vec() };
    own.iter()
        .filter_map(|rule| {
            let covering = parent.knowledge.iter().filter(|wide| rule.scope.starts_with(&wide.scope));
            let access = covering.map(|wide| wide.access).max()?;
            Some(KnowledgeRule { scope: rule.scope.clone(), access: access.min(rule.access) })
        })
        .collect()
}

/// Returns the models in the manifest's entry that the parent also has.
fn models(request: &GrantRequest<'_>) -> Vec<ModelRule> {
    let has = |rule: &&ModelRule| request.parent.is_none_or(|parent| parent.models.contains(rule));
    request.manifest.models_for(request.item_id).filter(has).cloned().collect()
}

fn limits(request: &GrantRequest<'_>) -> TaskLimits {
    let mut limits = request.manifest.limits_for(request.item_id);
    for other in [request.ceiling.limits, request.parent.map(|parent| parent.limits)].into_iter().flatten() {
        limits = limits.min(other);
    }
    request.node_limits.lower(limits)
}

/// Returns the lines of a manifest that grant a kind to the items of a pattern.
fn lines(manifest: &Manifest, pattern: &str, kind: CapabilityKind) -> String {
    let entry = |line: &str| format!("items:\n  \"{pattern}\":\n    {line}\n");
    match manifest.models().first() {
        Some(model) if kind == CapabilityKind::Model => entry(&format!("model: [{}]", model.name)),
        None if kind == CapabilityKind::Model => format!("{MODELS}{}", entry("model: [fast]")),
        _ => entry(&line(kind, ".", "/data", Access::ReadOnly)),
    }
}

/// The lines that name a model at the top of a manifest.
pub(super) const MODELS: &str = "models:\n  fast: { api: openai-chat, url: \"https://api.example.com/v1\", model: small, \
                                 secret: { env: MODEL_KEY } }\n";

/// Returns the line of an entry that grants a kind.
pub(super) fn line(kind: CapabilityKind, folder: &str, guest: &str, access: Access) -> String {
    let text = |text: &str| crate::json::canonical_string(&text.into());
    match kind {
        CapabilityKind::Filesystem => format!(
            "filesystem: [{{ path: {}, as: {}, access: {} }}]",
            text(folder),
            text(guest),
            access.as_str()
        ),
        CapabilityKind::Http => {
            "http: [{ host: api.example.com, schemes: [https], ports: [443], methods: [GET] }]".to_owned()
        }
        CapabilityKind::Secrets => {
            "secrets: [{ name: TOKEN, from: { env: TOKEN }, header: authorization, host: api.example.com }]"
                .to_owned()
        }
        CapabilityKind::Knowledge => "knowledge: [{ scope: notes/, access: ro }]".to_owned(),
        CapabilityKind::Model => "model: [fast]".to_owned(),
        kind => format!("{kind}: true"),
    }
}

#[cfg(test)]
mod tests;
