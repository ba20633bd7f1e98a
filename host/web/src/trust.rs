//! Signatures, and grants of components.

use std::borrow::Cow;
use std::sync::Arc;

use graph_core::capability::{
    EffectiveGrant, GrantRequest, InterfaceName, Manifest, Refusal, effective_grant,
};
use graph_core::digest::Digest;
use graph_core::item::NodeCapabilities;
use graph_core::limits::NodeLimits;
use graph_core::record::CacheEntry;
use graph_core::time::Timestamp;
use graph_core::trust::{
    ComponentStanding, Moment, TextKind, TextStanding, TrustStore, VerifiedComponent, VerifyError,
    verify_text as verify,
};
use serde_json::{Value, json};

use crate::documents::report;
use crate::{Problem, VERSION, read};

/// Name of a trust store in messages, if the caller gives only its text.
const STORE: &str = "trust.yaml";

fn store(text: &str) -> Result<TrustStore, Problem> {
    Ok(TrustStore::from_yaml(STORE, text)?.0)
}

/// Parses a trust store; returns a report with its keys or all its problems, as JSON.
pub fn check_store(name: &str, text: &str) -> String {
    let report = match TrustStore::from_yaml(name, text) {
        Ok((store, warnings)) => {
            let keys: Vec<_> = store
                .keys()
                .iter()
                .map(|key| {
                    json!({
                        "name": key.name,
                        "id": key.id(),
                        "items": key.items.iter().map(ToString::to_string).collect::<Vec<_>>(),
                        "ceiling": key.ceiling,
                        "not_before": key.not_before,
                        "not_after": key.not_after,
                        "revoked": key.revoked.is_some(),
                    })
                })
                .collect();
            let mut report = report(&warnings);
            report["keys"] = json!(keys);
            report
        }
        Err(problems) => report(&problems),
    };
    report.to_string()
}

/// Verifies the signature line of a text item; returns a report, as JSON.
pub fn verify_text(kind: &str, id: &str, text: &str, trust: &str, now: u64) -> Result<String, Problem> {
    let Some(kind) = TextKind::ALL.into_iter().find(|known| known.as_str() == kind) else {
        let message = format!("no text item is of the kind `{kind}`");
        return Err(Problem::new("invalid_json", message).help("use `graph`, `knowledge` or `directive`"));
    };
    let mut report = match verify(kind, id, text, &store(trust)?, Timestamp(now)) {
        TextStanding::Unsigned => json!({ "standing": "unsigned" }),
        TextStanding::Signed { key, time, not_after, format } => json!({
            "standing": "signed", "key": key, "time": time, "not_after": not_after, "format": format.number(),
        }),
        TextStanding::BuiltIn => json!({ "standing": "built_in" }),
        TextStanding::Legacy { fingerprint } => json!({ "standing": "legacy", "key": fingerprint }),
        TextStanding::Invalid(refusal) => {
            json!({ "standing": "invalid", "reason": refusal.to_string(), "help": refusal.wanted().map(|wanted| wanted.to_string()) })
        }
    };
    report["version"] = json!(VERSION);
    Ok(report.to_string())
}

/// A component whose signature was verified.
#[derive(Clone, Debug)]
pub struct Component {
    verified: VerifiedComponent,
    /// Interfaces that it may import: those declared in its statement, or, under development, those that it imports.
    declared: Vec<InterfaceName>,
    /// Function that is used in place of the node action.
    function: Option<String>,
}

impl Component {
    /// Verifies the bytes of a component against its envelope, the trust store, the item as which it is used, and the time.
    pub fn verify(
        bytes: Vec<u8>,
        envelope: Option<&str>,
        trust: &str,
        item: &str,
        now: u64,
        recorded: u64,
    ) -> Result<Self, Problem> {
        let at = Moment { now: Timestamp(now), recorded: Timestamp(recorded) };
        let verified = VerifiedComponent::verify(bytes.into(), envelope, &store(trust)?, item, at)
            .map_err(|error| refused(&error))?;
        let interfaces = verified.statement().map(|statement| statement.predicate.interfaces.clone());
        Self::from_verified(verified, &interfaces.unwrap_or_default())
    }

    /// Accepts an unsigned component that its user is developing, with the interfaces that it imports.
    pub fn under_development(
        bytes: Vec<u8>,
        trust: &str,
        item: &str,
        imports: &[String],
    ) -> Result<Self, Problem> {
        let bytes = Arc::from(bytes);
        let verified = VerifiedComponent::under_development(bytes, item, &store(trust)?)
            .map_err(|error| refused(&error))?;
        Self::from_verified(verified, imports)
    }

    fn from_verified(verified: VerifiedComponent, declared: &[String]) -> Result<Self, Problem> {
        let declared = declared.iter().map(|name| InterfaceName::parse(name)).collect::<Result<_, _>>();
        let declared = declared.map_err(|error| Problem::new("invalid_document", error.to_string()))?;
        Ok(Self { verified, declared, function: None })
    }

    /// Returns the component for uses of one of its functions, with the grants of the manifest for that function.
    #[must_use]
    pub fn function(&self, name: &str) -> Self {
        Self { function: Some(name.to_owned()), ..self.clone() }
    }

    /// Returns a report, as JSON: the statement, the signers and the expiry.
    pub fn report(&self) -> String {
        let Self { verified, declared, .. } = self;
        let not_after = match verified.standing() {
            ComponentStanding::Signed { not_after, .. } => *not_after,
            ComponentStanding::BuiltIn | ComponentStanding::Unsigned => None,
        };
        json!({
            "version": VERSION,
            "id": verified.id(),
            "item_version": verified.version(),
            "digest": verified.digest(),
            "signed": !verified.standing().is_unsigned(),
            "keys": verified.standing().keys().collect::<Vec<_>>(),
            "not_after": not_after,
            "ceiling": verified.ceiling(),
            "interfaces": declared.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "statement": verified.statement().map(|statement| json!(statement.predicate)),
            "statement_digest": verified.statement_digest(),
        })
        .to_string()
    }

    /// Returns the grant of the component at a node, or without one, as JSON.
    pub fn grant(
        &self,
        (name, id, text): (&str, &str, &str),
        node: Option<&str>,
        manifest: &str,
        folder: &str,
    ) -> Result<String, Problem> {
        let graph = read::graph(name, id, text)?;
        let manifest = read::manifest("the manifest", folder, manifest)?;
        let (capabilities, limits) = match node {
            None => (None, NodeLimits::default()),
            Some(name) => {
                let index = graph.find(name).ok_or_else(|| {
                    Problem::new("not_found", format!("graph `{}` has no node `{name}`", graph.id))
                })?;
                let node = graph.node(index);
                (node.capabilities.as_ref(), node.limits)
            }
        };
        self.granted(&manifest, capabilities, limits, None)
    }

    /// Returns the grant of the component, as JSON with its digest; at most `parent`.
    pub(crate) fn granted(
        &self,
        manifest: &Manifest,
        node: Option<&NodeCapabilities>,
        node_limits: NodeLimits,
        parent: Option<&EffectiveGrant>,
    ) -> Result<String, Problem> {
        Ok(shown(&self.effective(manifest, node, node_limits, parent)?).to_string())
    }

    /// Returns the digest of what the component's results depend on at a node, in addition to the task's input.
    pub(crate) fn performer(
        &self,
        manifest: &Manifest,
        node: Option<&NodeCapabilities>,
        node_limits: NodeLimits,
        engine: &Digest,
    ) -> Result<Digest, Problem> {
        let grant = self.effective(manifest, node, node_limits, None)?;
        Ok(CacheEntry::performer(self.verified.digest(), &grant.digest(), engine))
    }

    fn effective(
        &self,
        manifest: &Manifest,
        node: Option<&NodeCapabilities>,
        node_limits: NodeLimits,
        parent: Option<&EffectiveGrant>,
    ) -> Result<EffectiveGrant, Problem> {
        let signer = match self.verified.standing() {
            ComponentStanding::Signed { key, .. } => Some(key.name.as_str()),
            ComponentStanding::BuiltIn | ComponentStanding::Unsigned => None,
        };
        let id = self.verified.id();
        let id = self.function.as_ref().map_or(Cow::Borrowed(id), |name| Cow::Owned(format!("{id}#{name}")));
        let request = GrantRequest {
            item_id: &id,
            declared: &self.declared,
            ceiling: &self.verified.ceiling(),
            signer,
            manifest,
            parent,
            node,
            node_limits,
        };
        effective_grant(&request).map_err(|refusals| denied(&refusals))
    }
}

fn shown(grant: &EffectiveGrant) -> Value {
    json!({ "digest": grant.digest(), "grant": grant })
}

fn refused(error: &VerifyError) -> Problem {
    Problem::integrity(error).help(error.advice())
}

fn denied(refusals: &[Refusal]) -> Problem {
    let lines: Vec<_> = refusals.iter().map(ToString::to_string).collect();
    let each: Vec<_> = refusals
        .iter()
        .map(|refusal| {
            json!({
                "item_id": refusal.item_id,
                "interface": refusal.interface,
                "capability": refusal.kind,
                "message": refusal.to_string(),
                "manifest_lines": refusal.manifest_lines,
            })
        })
        .collect();
    Problem::new("denied", lines.join("\n")).details(json!({ "refusals": each }))
}
