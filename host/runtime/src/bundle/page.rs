//! Checks that this host makes and a page cannot make.

use std::collections::BTreeSet;

use graph_bundle::site::MissingCheck;
use graph_core::capability::{Access, EffectiveGrant, HttpRule, ModelRule, Scheme};
use graph_core::diagnostic::printable;

use crate::error::Error;
use crate::plan::PlannedNode;
use crate::remedy::Remedy;

/// The refusal of an item that the program performs itself.
pub(super) fn no_functions() -> Error {
    Error::denied("it is a function of the program that runs the graph, and a page has none")
        .help("use a component in place of it")
}

/// The refusal of an action that signs.
pub(super) fn no_signing() -> Error {
    Error::denied("it signs an item, and a page has neither your keys nor your items")
        .help(Remedy::RunGraphNatively { signs: true })
}

/// The refusal of a node that runs a graph which the run writes itself.
pub(super) fn no_written_graphs() -> Error {
    Error::denied("it runs a graph that is written during the run, and a page keeps no such document and has no other items")
        .help(Remedy::RunGraphNatively { signs: false })
}

/// Returns the checks of a node that this host makes and that a page cannot make.
pub(super) fn missing_checks(node: &PlannedNode) -> Vec<MissingCheck> {
    let Some(grant) = &node.grant else { return Vec::new() };
    let check = |message: String| MissingCheck { node: node.name.clone(), message };
    requests(grant).into_iter().chain(folders(grant)).map(check).collect()
}

/// The origins that granted requests go to, as a Content Security Policy names them.
pub(super) fn origins(grants: &[EffectiveGrant]) -> BTreeSet<String> {
    let each = grants.iter().flat_map(rules).flat_map(|HttpRule { host, schemes, ports, .. }| {
        let host = if host.contains(':') { format!("[{host}]") } else { host };
        let of = move |scheme: Scheme| {
            let host = host.clone();
            ports.clone().into_iter().map(move |port| format!("{scheme}://{host}:{port}"))
        };
        schemes.into_iter().flat_map(of)
    });
    // A host that was read from a manifest has no character that ends a source or a directive.
    each.filter(|origin| !origin.contains([';', ',', ' ', '\'', '"', '<', '>'])).collect()
}

/// Returns the HTTP rules of a grant: those of the component's own requests, and those of its requests to models.
fn rules(grant: &EffectiveGrant) -> impl Iterator<Item = HttpRule> {
    grant.http.iter().cloned().chain(grant.models.iter().map(ModelRule::http))
}

fn requests(grant: &EffectiveGrant) -> Vec<String> {
    let mut missing = Vec::new();
    if rules(grant).next().is_some() {
        missing.push(
            "a page does not see which address a request goes to: that it is a public one is not checked"
                .to_owned(),
        );
        missing.push(
            "a page does not see where a redirect leads: a response that redirects is an error".to_owned(),
        );
        missing.push(
            "a page sees only those fields of a response that the server permits (CORS), and reaches only servers that permit the page"
                .to_owned(),
        );
    }
    let plain = rules(grant).filter(|rule| rule.schemes.contains(&Scheme::Http));
    let hosts: BTreeSet<_> = plain.map(|rule| rule.host).collect();
    missing.extend(hosts.into_iter().map(|host| {
        let host = printable(&host);
        format!("a browser sends no request to http://{host} from a page that was loaded over https")
    }));
    missing
}

fn folders(grant: &EffectiveGrant) -> Vec<String> {
    let written = grant.filesystem.iter().filter(|mount| mount.access == Access::ReadWrite);
    written
        .map(|mount| {
            let guest = printable(&mount.guest);
            format!("what is written to {guest} stays in the page: no file of this machine changes")
        })
        .collect()
}
