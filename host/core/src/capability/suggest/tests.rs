#![allow(clippy::unwrap_used)]
use proptest::prelude::*;

use super::*;
use crate::capability::{Ceiling, EffectiveGrant, GrantRequest, Manifest, effective_grant};
use crate::limits::NodeLimits;

fn interfaces(names: &[&str]) -> Vec<InterfaceName> {
    names.iter().map(|name| InterfaceName::parse(name).unwrap()).collect()
}

fn wanted(name: &str, why: &str) -> WantedInterface {
    WantedInterface { name: name.to_owned(), why: why.to_owned() }
}

fn read(text: &str) -> Manifest {
    let (manifest, warnings) = Manifest::parse(text, "caps.yaml", "/home/u").unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    manifest
}

fn grant(manifest: &Manifest, item: &ItemNeeds<'_>) -> EffectiveGrant {
    let ceiling = Ceiling::from_kinds(CapabilityKind::ALL);
    effective_grant(&GrantRequest {
        item_id: item.item_id,
        declared: item.interfaces,
        ceiling: &ceiling,
        signer: None,
        manifest,
        parent: None,
        node: None,
        node_limits: NodeLimits::default(),
    })
    .unwrap()
}

fn tool<'a>(item_id: &'a str, node: &'a str) -> DispatchUse<'a> {
    DispatchUse { operation: ItemOperation::Execute, item_type: ItemType::Tool, item_id, node }
}

#[test]
fn every_line_has_its_reason() {
    let files = interfaces(&[
        "wasi:filesystem/types@0.2.6",
        "wasi:filesystem/preopens@0.2.6",
        "wasi:io/streams@0.2.6",
        "wasi:clocks/wall-clock@0.2.6",
    ]);
    let dice = interfaces(&[
        "wasi:random/random@0.2.6",
        "wasi:clocks/wall-clock@0.2.6",
        "graph-host:host/log@0.1.0",
    ]);
    let net = interfaces(&["wasi:sockets/tcp@0.2.0"]);
    let reasons = [wanted("wasi:filesystem/types", "lists the folder\nthat it is asked about \u{1b}[31m")];
    let suggestion = suggest(
        "examples/graph",
        &[
            tool("examples/list", "list"),
            tool("examples/dice@1.0.0", "dice"),
            tool("examples/list@2.0.0", "again"),
            tool("../x", "bad"),
        ],
        &[
            ItemNeeds {
                item_id: "examples/list",
                interfaces: &files,
                wanted: &reasons,
                guest_folder: Some("/src"),
                models: &[],
            },
            ItemNeeds {
                item_id: "examples/dice@1.0.0",
                interfaces: &dice,
                wanted: &[],
                guest_folder: None,
                models: &[],
            },
            ItemNeeds {
                item_id: "examples/net",
                interfaces: &net,
                wanted: &[],
                guest_folder: None,
                models: &[],
            },
        ],
    );
    insta::assert_snapshot!(suggestion.text);
    assert_eq!(
        suggestion.ungrantable,
        [("../x".to_owned(), None), ("examples/net".to_owned(), Some("wasi:sockets/tcp@0.2.0".to_owned()))]
    );
    read(&suggestion.text);
}

#[test]
fn a_graph_that_needs_nothing_gets_nothing() {
    let suggestion = suggest("g", &[], &[]);
    assert_eq!(read(&suggestion.text), Manifest::deny_all());
}

fn item_id() -> impl Strategy<Value = String> {
    "[ab]{1,2}(/[ab]{1,2}){0,2}"
}

fn declared() -> impl Strategy<Value = Vec<InterfaceName>> {
    // Accompanying interfaces are declared as well, as compilers do.
    let own: Vec<InterfaceName> = CapabilityKind::ALL
        .into_iter()
        .flat_map(CapabilityKind::interfaces)
        .map(|path| InterfaceName::parse(path).unwrap())
        .filter(|interface| own_kind(interface).is_some())
        .collect();
    prop::sample::subsequence(own, 0..7)
}

proptest! {
    #[test]
    fn the_suggestion_grants_what_is_needed_and_nothing_else(
        models in prop::collection::btree_set(prop_oneof!["[a-z0-9_-]{1,3}", "true|null|~|y", any::<String>()], 0..3),
        items in prop::collection::btree_map(item_id(), (declared(), any::<String>(), "[wasi:/\\-a-z@.0-9]{0,20}"), 0..4),
        unused in item_id(), graph in any::<String>(), guest in prop::option::of("/[a-z]{0,4}"),
    ) {
        let reasons: Vec<Vec<WantedInterface>> = items
            .values()
            .map(|(interfaces, why, name)| {
                let named = interfaces.iter().take(2).map(|interface| wanted(&interface.to_string(), why));
                named.chain([wanted(name, why)]).collect()
            })
            .collect();
        let models: Vec<&str> = models.iter().map(String::as_str).collect();
        let needs: Vec<ItemNeeds<'_>> = items
            .iter()
            .zip(&reasons)
            .map(|((id, (interfaces, ..)), wanted)| ItemNeeds { item_id: id, interfaces, wanted, guest_folder: guest.as_deref(), models: &models })
            .collect();
        let uses: Vec<DispatchUse<'_>> = items.keys().map(|id| tool(id, &graph)).collect();
        let suggestion = suggest(&graph, &uses, &needs);
        prop_assert!(suggestion.ungrantable.is_empty());
        let manifest = read(&suggestion.text);

        let asks = needs.iter().any(|needs| needed(needs).contains(&CapabilityKind::Model));
        let named: Vec<&str> = models.iter().copied().filter(|name| is_model_name(name)).collect();
        let known: Vec<&str> = manifest.models().iter().map(|model| model.name.as_str()).collect();
        prop_assert_eq!(known, if !asks { vec![] } else if named.is_empty() { vec!["fast"] } else { named });

        let permits = |id: &str| manifest.dispatch().permits(ItemOperation::Execute, ItemType::Tool, id);
        prop_assert!(items.keys().all(|id| permits(id)));
        prop_assert_eq!(permits(&unused), items.contains_key(&unused));
        prop_assert_eq!(manifest.dispatch().iter().len(), items.len());
        prop_assert!(!manifest.dispatch().permits(ItemOperation::Load, ItemType::Tool, &unused));

        for item in &needs {
            let grant = grant(&manifest, item);
            let mut expected = needed(item);
            expected.insert(CapabilityKind::Log);
            prop_assert_eq!(&grant.kinds, &expected);
            let entry = manifest.entry_for(item.item_id);
            for kind in CapabilityKind::ALL.into_iter().filter(|kind| *kind != CapabilityKind::Log) {
                prop_assert_eq!(entry.is_some_and(|entry| entry.grants(kind)), expected.contains(&kind));
            }
            prop_assert!(grant.filesystem.iter().all(|mount| mount.access == Access::ReadOnly && mount.host == "/home/u"));
        }
        if !items.contains_key(&unused) {
            prop_assert!(manifest.entry_for(&unused).is_none());
        }
    }
}
