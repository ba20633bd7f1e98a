#![allow(clippy::unwrap_used)]

use super::*;
use crate::graph::Graph;
use graph_core::capability::Manifest;

fn graph(config: &str) -> Graph {
    let text = format!("tool_type: graph\nconfig:\n{config}");
    crate::document::load("shape.yaml", &text, "t/shape").unwrap().graph
}

fn kinds_in(config: &str) -> Vec<(FindingKind, Vec<String>)> {
    findings(&graph(config)).into_iter().map(|finding| (finding.kind, finding.nodes)).collect()
}

fn only(kind: FindingKind, nodes: &[&str]) -> Vec<(FindingKind, Vec<String>)> {
    vec![(kind, nodes.iter().map(|node| (*node).to_owned()).collect())]
}

#[test]
fn a_sound_graph_has_no_findings() {
    assert_eq!(kinds_in("  start: a\n  nodes: { a: { next: b }, b: {} }"), []);
}

#[test]
fn what_nothing_leads_to() {
    assert_eq!(kinds_in("  start: a\n  nodes: { a: {}, b: {} }"), only(FindingKind::Unreachable, &["b"]));
}

#[test]
fn a_barrier_that_waits_for_what_comes_after_it() {
    let config = "  start: a\n  nodes: { a: {}, gate: { wait_for: [a, c], next: b }, b: { next: c }, c: {} }";
    let found = kinds_in(config);
    assert!(found.contains(&(FindingKind::BarrierNeverOpens, vec!["gate".to_owned()])), "{found:?}");
}

#[test]
fn a_branch_that_ends_beside_a_return() {
    let config = "  start: [a, b]\n  nodes: { a: { next: out }, b: {}, out: { type: return } }";
    assert_eq!(kinds_in(config), only(FindingKind::DeadEnd, &["b"]));
    // An explicit end is no finding.
    for end in ["next: __end__", "next: [__end__]", "next: []", "command: { goto: [__end__] }"] {
        let config = format!(
            "  start: [a, b]\n  nodes: {{ a: {{ next: out }}, b: {{ {end} }}, out: {{ type: return }} }}"
        );
        assert_eq!(kinds_in(&config), [], "{end}");
    }
    // The end of a branch is no finding if a barrier waits for the node, or if a command names targets.
    let config = "  start: [a, b, c]\n  nodes: { a: {}, b: {}, c: { command: { goto: [out] } }, \
                  join: { wait_for: [a, b], next: out }, out: { type: return } }";
    assert_eq!(kinds_in(config), []);
}

#[test]
fn a_list_without_a_default() {
    let config =
        "  start: a\n  nodes: { a: { next: [ { to: b, when: { path: state.x, op: exists } } ] }, b: {} }";
    assert_eq!(kinds_in(config), only(FindingKind::NoDefaultEdge, &["a"]));
    let config = "  start: a\n  nodes: { a: { next: [ { to: b, when: { path: state.x, op: exists } }, { to: [] } ] }, b: {} }";
    assert_eq!(kinds_in(config), []);
}

#[test]
fn writes_that_meet() {
    let nodes = "a: { next: [b, c] }, b: { assign: { x: 1 } }, c: { assign: { x: 2 } }";
    let conflict = only(FindingKind::ConflictingWrites, &["b", "c"]);
    assert_eq!(kinds_in(&format!("  start: a\n  nodes: {{ {nodes} }}")), conflict);
    assert_eq!(
        kinds_in(&format!(
            "  start: a\n  channels: {{ x: {{ reducer: ephemeral }} }}\n  nodes: {{ {nodes} }}"
        )),
        conflict
    );
    assert_eq!(
        kinds_in(&format!("  start: a\n  channels: {{ x: {{ reducer: append }} }}\n  nodes: {{ {nodes} }}")),
        []
    );
    let apart = "a: { next: [b, c] }, b: { assign: { x: 1 } }, c: { assign: { x: 2 }, defer: true }";
    assert_eq!(kinds_in(&format!("  start: a\n  nodes: {{ {apart} }}")), []);
}

/// One node with many writes in many lists, and many ends and barriers.
#[test]
fn large_graphs_are_looked_at_in_time() {
    let start = std::time::Instant::now();
    let writes = (0..30_000).map(|at| format!("k{at}: 1, ")).collect::<Vec<_>>().concat();
    let lists = (0..15_000).map(|at| format!("n{at}: {{ next: [t, n{at}] }}, ")).collect::<Vec<_>>().concat();
    let names = (0..15_000).map(|at| format!("n{at}, ")).collect::<Vec<_>>().concat();
    findings(&graph(&format!("  start: [{names}]\n  nodes: {{ t: {{ assign: {{ {writes} }} }}, {lists} }}")));
    let ends = (0..30_000).map(|at| format!("e{at}: {{}}, ")).collect::<Vec<_>>().concat();
    let names = (0..30_000).map(|at| format!("e{at}, ")).collect::<Vec<_>>().concat();
    let channels = (0..10_000).map(|at| format!("k{at}: sum, ")).collect::<Vec<_>>().concat();
    let many = format!(
        "  start: [{names}out]\n  channels: {{ {channels} }}\n  nodes: {{ {ends} all: {{ wait_for: [{names}] }}, out: {{ type: return }} }}"
    );
    assert_eq!(kinds_in(&many), only(FindingKind::DeadEnd, &["all"]));
    assert!(start.elapsed() < std::time::Duration::from_secs(10), "{:?}", start.elapsed());
}

#[test]
fn what_a_manifest_allows_for_nothing() {
    let (manifest, _) = Manifest::parse(
        "dispatch: [execute.tool.t.used, execute.tool.t.idle]\nitems: { t/used: { clocks: true }, t/idle: { random: true } }\n",
        "caps.yaml",
        "",
    )
    .unwrap();
    let one = graph("  start: a\n  nodes: { a: { action: { item_id: t/used } } }");
    let messages: Vec<String> =
        unneeded_capabilities(&[&one], &manifest).into_iter().map(|finding| finding.message).collect();
    assert_eq!(
        messages,
        [
            "no node needs the capability `execute.tool.t.idle`",
            "no node dispatches an item that the entry `t/idle` is about"
        ]
    );
    let any = graph("  start: a\n  nodes: { a: { action: { item_id: \"${inputs.tool}\" } } }");
    assert_eq!(unneeded_capabilities(&[&one, &any], &manifest), []);
}
