//! The smallest manifest for a graph, with the reason for every line.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::dispatch::capability_name;
use super::effective::{MODELS, line, own_kind};
use super::grant::{Access, CapabilityKind};
use super::interface::{InterfaceName, Provision};
use super::model::is_model_name;
use crate::diagnostic::{excerpt_up_to, printable};
use crate::id::{ItemId, without_version};
use crate::item::{ItemOperation, ItemType};
use crate::json::canonical_string;
use crate::node::WantedInterface;

/// A dispatch of a graph whose item id is a literal.
#[derive(Clone, Copy, Debug)]
pub struct DispatchUse<'a> {
    /// The operation on the item.
    pub operation: ItemOperation,
    /// The type of the item.
    pub item_type: ItemType,
    /// The item; a version is ignored.
    pub item_id: &'a str,
    /// The node of the dispatch.
    pub node: &'a str,
}

/// The needs that a component declares.
#[derive(Clone, Copy, Debug)]
pub struct ItemNeeds<'a> {
    /// The item; a version is ignored.
    pub item_id: &'a str,
    /// The interfaces that it declares.
    pub interfaces: &'a [InterfaceName],
    /// The component's reasons, from its description.
    pub wanted: &'a [WantedInterface],
    /// The path of the folder in the component, if a node's params show it; `/data` otherwise.
    pub guest_folder: Option<&'a str>,
    /// The models that params name for it. Names that are invalid in a manifest are left out; if none is left, the item gets the models of
    /// the others.
    pub models: &'a [&'a str],
}

/// A manifest to be read by a person before it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// The text of the manifest, with comments.
    pub text: String,
    /// Item ids with interfaces that no manifest can grant; without an interface, the id is invalid.
    pub ungrantable: Vec<(String, Option<String>)>,
}

/// Writes the smallest manifest that permits the dispatches and grants the components their declared interfaces. A folder is suggested
/// read-only, as the folder of the manifest; the user has to choose the right one.
pub fn suggest(graph: &str, dispatches: &[DispatchUse<'_>], items: &[ItemNeeds<'_>]) -> Suggestion {
    let mut text = format!(
        "# The least that `{}` needs. Read each line before you use it: nothing else is allowed.\n",
        comment(graph)
    );
    let mut ungrantable = Vec::new();
    write_dispatch(dispatches, &mut text, &mut ungrantable);
    let needs = join_needs(items, &mut ungrantable);
    let mut all_models: Vec<&str> = Vec::new();
    for needs in needs.values() {
        add_models(&mut all_models, &needs.models);
    }
    if needs.values().any(|needs| needs.kinds.contains_key(&CapabilityKind::Model)) {
        text.push_str(
            "# choose the provider, the model, and where its key comes from: components never see the key\n",
        );
        write_models(&all_models, &mut text);
    }
    if !needs.is_empty() {
        text.push_str("items:\n");
    }
    for (id, needs) in needs {
        let _ = writeln!(text, "  \"{id}\":");
        for (kind, reasons) in needs.kinds {
            for reason in reasons {
                let _ = writeln!(text, "    # {reason}");
            }
            if kind == CapabilityKind::Filesystem {
                text.push_str("    # choose the folder: `path` is relative to this file, `as` is what the component sees\n");
            }
            match kind {
                CapabilityKind::Http => text.push_str("    # choose the hosts: each entry names one\n"),
                CapabilityKind::Secrets => {
                    text.push_str(
                        "    # choose the secret, where it comes from, and the header and host it is for\n",
                    );
                }
                CapabilityKind::Knowledge => text.push_str("    # choose the scope: what keys begin with\n"),
                CapabilityKind::Model => text.push_str("    # choose the models: names of `models`\n"),
                CapabilityKind::Tools => {
                    text.push_str("    # what it may call, `dispatch` has to permit as well\n");
                }
                _ => {}
            }
            let _ = match kind {
                CapabilityKind::Model if !all_models.is_empty() => {
                    let own = if needs.models.is_empty() { &all_models } else { &needs.models };
                    writeln!(text, "    model: {}", canonical_string(&own.as_slice().into()))
                }
                _ => writeln!(text, "    {}", line(kind, ".", &needs.guest, Access::ReadOnly)),
            };
        }
    }
    for (id, interface) in &ungrantable {
        let _ = match interface {
            Some(interface) => {
                writeln!(text, "# cannot be granted: `{}` needs `{}`", comment(id), comment(interface))
            }
            None => writeln!(text, "# cannot be granted: `{}` is not an item id", comment(id)),
        };
    }
    Suggestion { text, ungrantable }
}

fn add_models<'a>(known: &mut Vec<&'a str>, more: &[&'a str]) {
    let mut seen: BTreeSet<&str> = known.iter().copied().collect();
    known.extend(more.iter().copied().filter(|name| seen.insert(name)));
}

fn write_models(names: &[&str], text: &mut String) {
    if names.is_empty() {
        text.push_str(MODELS);
        return;
    }
    text.push_str("models:\n");
    for name in names {
        let name = canonical_string(&(*name).into());
        let _ = writeln!(
            text,
            "  {name}: {{ api: openai-chat, url: \"https://api.example.com/v1\", model: {name}, secret: {{ env: MODEL_KEY }} }}"
        );
    }
}

fn write_dispatch(
    dispatches: &[DispatchUse<'_>],
    text: &mut String,
    ungrantable: &mut Vec<(String, Option<String>)>,
) {
    let mut names: Vec<(String, Vec<&str>)> = Vec::new();
    let (mut places, mut seen, mut refused) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
    for used in dispatches {
        let whole_search = used.operation == ItemOperation::Search && used.item_id.is_empty();
        if !(whole_search
            || ItemId::is_dispatched(&without_version(used.item_id), used.operation, used.item_type))
        {
            if refused.insert(used.item_id) {
                ungrantable.push((used.item_id.to_owned(), None));
            }
            continue;
        }
        let name = capability_name(used.operation, used.item_type, used.item_id);
        let at = *places.entry(name.clone()).or_insert_with(|| {
            names.push((name, Vec::new()));
            names.len() - 1
        });
        if seen.insert((at, used.node))
            && let Some((_, nodes)) = names.get_mut(at)
        {
            nodes.push(used.node);
        }
    }
    if names.is_empty() {
        text.push_str("dispatch: []\n");
        return;
    }
    text.push_str("dispatch:\n");
    for (name, nodes) in names {
        let nodes: Vec<String> = nodes.iter().map(|node| format!("`{}`", comment(node))).collect();
        let plural = if nodes.len() == 1 { "" } else { "s" };
        let _ = writeln!(text, "  - \"{name}\" # node{plural} {}", nodes.join(", "));
    }
}

/// The needs of one item, with reasons.
struct Needs<'a> {
    kinds: BTreeMap<CapabilityKind, Vec<String>>,
    guest: String,
    models: Vec<&'a str>,
}

/// Joins the needs of each item, by id; items that need only logging are left out.
fn join_needs<'a>(
    items: &[ItemNeeds<'a>],
    ungrantable: &mut Vec<(String, Option<String>)>,
) -> BTreeMap<String, Needs<'a>> {
    let mut joined: BTreeMap<String, Needs<'a>> = BTreeMap::new();
    for item in items {
        let id = without_version(item.item_id);
        if !ItemId::is_dispatched(&id, ItemOperation::Execute, ItemType::Tool) {
            ungrantable.push((item.item_id.to_owned(), None));
            continue;
        }
        for interface in item.interfaces {
            if matches!(interface.provision(), Provision::Unknown | Provision::OtherVersion { .. }) {
                ungrantable.push((id.clone().into_owned(), Some(interface.to_string())));
            }
        }
        for kind in needed(item) {
            let guest = item.guest_folder.and_then(|guest| super::path::guest(guest).ok());
            let needs = joined.entry(id.clone().into_owned()).or_insert_with(|| Needs {
                kinds: BTreeMap::new(),
                guest: guest.unwrap_or_else(|| "/data".to_owned()),
                models: Vec::new(),
            });
            if kind == CapabilityKind::Model {
                let named: Vec<_> = item.models.iter().copied().filter(|name| is_model_name(name)).collect();
                add_models(&mut needs.models, &named);
            }
            let known = needs.kinds.entry(kind).or_default();
            for reason in reasons(item, kind) {
                if !known.contains(&reason) {
                    known.push(reason);
                }
            }
        }
    }
    joined
}

/// Returns the capabilities that the item needs for its declared interfaces.
fn needed(item: &ItemNeeds<'_>) -> BTreeSet<CapabilityKind> {
    let is_wanted = |interface: &InterfaceName| {
        item.wanted
            .iter()
            .any(|wanted| InterfaceName::parse(&wanted.name).is_ok_and(|name| name.is_compatible(interface)))
    };
    let has_files =
        item.interfaces.iter().any(|interface| own_kind(interface) == Some(CapabilityKind::Filesystem));
    item.interfaces
        .iter()
        .filter_map(|interface| {
            let Provision::Kinds { own: Some(kind), brought_by } = interface.provision() else { return None };
            // Without a reason of its own, the interface is declared for the types of files.
            let comes_along = has_files
                && kind != CapabilityKind::Filesystem
                && brought_by.contains(&CapabilityKind::Filesystem);
            (kind != CapabilityKind::Log && (!comes_along || is_wanted(interface))).then_some(kind)
        })
        .collect()
}

/// Returns the component's reasons for a kind; without any, the interfaces that need it.
fn reasons(item: &ItemNeeds<'_>, kind: CapabilityKind) -> Vec<String> {
    let wanted = item.wanted.iter().filter(|wanted| {
        wanted.name == kind.as_str()
            || InterfaceName::parse(&wanted.name).is_ok_and(|name| own_kind(&name) == Some(kind))
    });
    let reasons: Vec<String> =
        wanted.map(|wanted| format!("{}: {}", comment(&wanted.name), comment(&wanted.why))).collect();
    if !reasons.is_empty() {
        return reasons;
    }
    let interfaces = item.interfaces.iter().filter(|interface| own_kind(interface) == Some(kind));
    interfaces.map(|interface| format!("it declares {interface} and does not say why")).collect()
}

/// Prepares an untrusted text for a comment: on one line, printable, cut to a readable length.
fn comment(text: &str) -> String {
    printable(&excerpt_up_to(&text.split_whitespace().collect::<Vec<_>>().join(" "), 160)).into_owned()
}

#[cfg(test)]
mod tests;
