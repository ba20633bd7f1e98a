#![allow(clippy::unwrap_used)]
use super::*;

const GRAPH: &str = r#"
tool_type: graph
config:
  start: [split, { node: each, argument: 1 }]
  nodes:
    split:
      action: { item_id: t/split }
      next:
        - { to: [each, side], when: { path: state.n, op: gt, value: 10 } }
        - { to: [], when: { path: state.done, op: exists }, label: "done \" <b>|#end" }
        - to: side
      on_error: out
    each: { type: foreach, over: "${state.items}", action: { item_id: "${inputs.tool}" }, collect: got }
    side: { interrupt: [before, after], command: { goto: [out] }, defer: true }
    join: { wait_for: [each, side], next: out }
    out: { type: return }
"#;

fn topology() -> Topology {
    Topology::of(&crate::document::load("shape.yaml", GRAPH, "t/shape").unwrap().graph)
}

/// An edge to each of many targets repeats the label.
#[test]
fn long_labels_are_cut() {
    let text = |label: &str, when: &str| {
        let targets = "b, ".repeat(1_000);
        format!(
            "tool_type: graph\nconfig: {{ start: a, nodes: {{ b: {{}}, a: {{ next: [{{ to: [{targets}], label: {label}, when: {when} }}] }} }} }}\n"
        )
    };
    let long = "é".repeat(100_000);
    for text in [
        text(&long, "{ path: state.x, value: 1 }"),
        text("null", &format!("{{ path: state.x, value: {long} }}")),
    ] {
        let topology = Topology::of(&crate::document::load("shape.yaml", &text, "t/shape").unwrap().graph);
        assert_eq!(topology.edges.len(), 1_001);
        assert!(
            topology
                .edges
                .iter()
                .all(|edge| edge.label.as_ref().is_none_or(|label| label.chars().count() <= 401))
        );
        assert!(topology.to_dot().len() < 1_000_000);
    }
}

#[test]
fn the_picture_as_mermaid() {
    insta::assert_snapshot!(topology().to_mermaid());
}

#[test]
fn the_picture_as_json() {
    insta::assert_json_snapshot!(topology());
}

const POLICIES: &str = r#"
tool_type: graph
description: what a program reads of a graph
config:
  start: a
  max_steps: 7
  on_max_steps: return_with_flag
  max_visits_per_node: 3
  max_concurrency: 1
  max_fan_out: 10
  timeout: 90s
  on_error: continue
  on_no_match: fail
  on_stalled_barrier: release
  durability: async
  templates: strict
  limits: { fuel: 1000, memory: 1MiB, timeout: 2s }
  channels: { log: { reducer: append }, n: { reducer: sum, default: 0 }, gone: { reducer: last_value, default: null } }
  nodes:
    a:
      action: { item_id: t/a }
      retry: { max_attempts: 3, initial_interval: 10ms, backoff: 1.5, max_interval: 1s, jitter: false, retry_on: [timeout] }
      timeout: 5s
      fuel: 500
      cache: { ttl: 1h, key: "${state.n}" }
      command: { goto: [b], write: [n], overwrite: [log] }
      metadata: { owner: ops }
      next: [{ to: b, when: { path: state.n, op: eq, value: 1 }, label: one }]
    b: { next: a }
"#;

#[test]
fn limits_channels_and_policies_as_json() {
    let loaded = crate::document::load("policies.yaml", POLICIES, "t/policies").unwrap();
    let report = Some(TopologyReport::from_warnings(crate::structure::findings_of(&loaded)));
    let topology = Topology { report, ..Topology::of(&loaded.graph) };
    insta::assert_json_snapshot!(topology);
    let text = serde_json::to_string(&topology).unwrap();
    assert_eq!(serde_json::from_str::<Topology>(&text).unwrap(), topology);
}

#[test]
fn versions_are_told_apart() {
    // The output before there were versions.
    let first = r#"{"id":"g","nodes":[],"edges":[]}"#;
    assert_eq!(serde_json::from_str::<Topology>(first).unwrap().version, 1);
    let later = r#"{"version":3,"id":"g","nodes":[],"edges":[]}"#;
    let error = serde_json::from_str::<Topology>(later).unwrap_err().to_string();
    assert!(error.contains("format version 3") && error.contains("up to 2"), "{error}");
}

#[test]
fn the_picture_as_dot() {
    insta::assert_snapshot!(topology().to_dot());
}

#[test]
fn json_round_trips() {
    let text = serde_json::to_string(&topology()).unwrap();
    assert_eq!(serde_json::from_str::<Topology>(&text).unwrap(), topology());
    let unknown = text.replacen("\"id\"", "\"surprise\":1,\"id\"", 1);
    assert!(serde_json::from_str::<Topology>(&unknown).is_err());
}

#[test]
fn an_end_that_is_written_is_drawn() {
    let text = "tool_type: graph\nconfig:\n  start: [a, b, c, d]\n  nodes:\n    a: { next: __end__ }\n    b: { next: [__end__] }\n    \
                c: { next: [] }\n    d: { command: { goto: [a, __end__] }, next: a }\n    e: {}\n";
    let topology = Topology::of(&crate::document::load("ends.yaml", text, "t/ends").unwrap().graph);
    let to_end: Vec<_> = topology
        .edges
        .iter()
        .filter(|edge| edge.to.is_none())
        .map(|edge| (edge.from.as_deref().unwrap_or_default(), edge.kind))
        .collect();
    let always = |node| (node, TopologyEdgeKind::Always);
    assert_eq!(to_end, [always("a"), always("b"), always("c"), ("d", TopologyEdgeKind::Goto)]);
    assert_eq!(topology.finish_nodes, ["a", "b", "c", "d", "e"]);
    assert_eq!(topology.nodes[3].command.as_ref().unwrap().goto, ["a", "__end__"]);
    let drawn = topology.to_mermaid();
    assert!(drawn.contains("  n0 --> end_\n") && drawn.contains("  n3 -.->|\"goto\"| end_\n"), "{drawn}");
    assert!(topology.to_dot().contains("end_"), "{}", topology.to_dot());
}
