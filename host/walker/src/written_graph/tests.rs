//! Tests of documents that strangers supply to a run.
#![allow(clippy::unwrap_used, clippy::panic)]

use serde_json::{Value, json};

use super::{MAX_TEXT, Refusal, RunCall, validate};
use crate::graph::Graph;
use crate::host_item::HostItem;
use graph_core::capability::DispatchPatterns;
use graph_core::node::{Category, Failure};
use graph_core::schema::InputSchema;
use graph_core::work::{FuelExhausted, Meter};

fn checked(graph: impl Into<Value>) -> Value {
    let dispatch = DispatchPatterns::parse(["execute.tool.t.*"]).unwrap();
    validate(&json!({ "graph": graph.into() }), &dispatch, &Meter::of_one_step()).unwrap()
}

fn run(params: &Value) -> Result<Graph, Failure> {
    let meter = Meter::of_one_step();
    let loaded = RunCall::read(params, &meter).and_then(|call| call.load(&meter));
    loaded.map(|(graph, _)| graph).map_err(|refusal| match refusal {
        Refusal::Failed(failure) => failure,
        Refusal::Exhausted(exhausted) => panic!("{exhausted}"),
    })
}

fn code(checked: &Value) -> &str {
    checked["diagnostics"][0]["code"].as_str().unwrap_or_default()
}

const SMALL: &str = "tool_type: graph\nconfig: { start: a, nodes: { a: {} } }\n";

#[test]
fn what_is_too_large_too_deep_or_a_bomb_is_refused_and_charged() {
    let long = format!("{SMALL}description: {}\n", "x".repeat(MAX_TEXT));
    let deep = format!("tool_type: graph\nconfig: {}1{}\n", "[".repeat(300), "]".repeat(300));
    let list = vec!["1"; 2000].join(",");
    let many: Vec<_> = (0..2000).map(|number| format!("  k{number}: *a\n")).collect();
    let many = many.concat();
    let bomb = format!("tool_type: graph\nx: &a [{list}]\ny:\n{many}");
    for text in [long.as_str(), &deep, &bomb] {
        let report = checked(text);
        assert_eq!(report["valid"], json!(false), "{report}");
        let failure = run(&json!({ "graph": text })).unwrap_err();
        assert_eq!(failure.category, Category::InvalidInput);
        assert_eq!(failure.details.unwrap()["diagnostics"][0]["code"], report["diagnostics"][0]["code"]);
    }
    assert_eq!(code(&checked(long.as_str())), "GH0102");
    // A mapping is as large as its text.
    let mapping = json!({ "tool_type": "graph", "description": "x".repeat(MAX_TEXT) });
    assert_eq!(code(&checked(mapping)), "GH0102");
    let little = Meter::new(1000);
    let dispatch = DispatchPatterns::deny_all();
    let refused = validate(&json!({ "graph": SMALL.repeat(10) }), &dispatch, &little);
    assert!(matches!(refused, Err(Refusal::Exhausted(FuelExhausted::Fuel))), "{refused:?}");
}

#[test]
fn a_result_is_bounded_and_safe_to_show() {
    let nodes: Vec<_> =
        (0..1500).map(|number| format!("    n{number}: {{ \"nex\\u001b[31mt{number}\": 1 }}\n")).collect();
    let nodes = nodes.concat();
    let report = checked(format!("tool_type: graph\nconfig:\n  start: n0\n  nodes:\n{nodes}"));
    let text = report.to_string();
    assert!(text.len() < 128 << 10, "{}", text.len());
    assert!(report["omitted"].as_u64().unwrap() > 0);
    assert!(!text.contains("\\u001b") && !text.contains('\u{1b}'), "{text}");
    let long = "k".repeat(100_000);
    let report = checked(format!("tool_type: graph\n? {long}\n: 1\n"));
    assert!(report.to_string().len() < 8 << 10);
}

#[test]
fn a_document_does_not_choose_its_id_and_its_items_are_ids() {
    let graph = run(&json!({ "graph": SMALL })).unwrap();
    assert!(
        graph.id.starts_with("written/") && graph_core::id::ItemId::parse(&graph.id).is_ok(),
        "{}",
        graph.id
    );
    assert_eq!(checked(SMALL)["id"], json!(graph.id));
    assert_ne!(run(&json!({ "graph": format!("{SMALL}# other\n") })).unwrap().id, graph.id);
    let outside =
        "tool_type: graph\nconfig: { start: a, nodes: { a: { action: { item_id: ../../etc/passwd } } } }\n";
    assert_eq!(checked(outside)["valid"], json!(false));
    // A line with a signature has no effect, whatever its content.
    let signed = format!("# graph-host:signed:v1:whoever\n{SMALL}");
    assert_eq!(checked(signed)["valid"], json!(true));
}

#[test]
fn a_mapping_is_the_same_as_its_text() {
    let mapping =
        json!({ "tool_type": "graph", "config": { "start": "a", "nodes": { "a": { "next": "b" } } } });
    let report = checked(mapping);
    assert_eq!((&report["valid"], &report["missing"]), (&json!(false), &json!([])));
    assert!(report["diagnostics"][0]["line"].as_u64().unwrap() > 1, "{report}");
    let mapping = json!({
        "tool_type": "graph",
        "config": { "start": "a", "nodes": { "a": { "action": { "item_id": "t/x" } }, "b": { "action": { "item_id": "u/x" } } } },
    });
    let report = checked(mapping);
    assert_eq!(report["missing"], json!([{ "node": "b", "capability": "execute.tool.u.x" }]));
    assert_eq!(report["valid"], json!(true));
}

#[test]
fn what_is_never_performed_is_found_behind_a_long_list_of_missing_capabilities() {
    let lacking = |count: usize| {
        let nodes: Vec<_> =
            (0..count).map(|at| format!("n{at}: {{ action: {{ item_id: u/x }} }}, ")).collect();
        let names: Vec<_> = (0..count).map(|at| format!("n{at}, ")).collect();
        let never = "{ item_id: rye/agent/threads/orchestrator, params: { operation: read_transcript } }";
        format!(
            "tool_type: graph\nconfig: {{ start: [{}z], nodes: {{ {}z: {{ action: {never} }} }} }}\n",
            names.concat(),
            nodes.concat()
        )
    };
    for count in [0, 99, 100, 101, 150] {
        let report = checked(lacking(count));
        assert_eq!(report["valid"], json!(false), "{count}: {report}");
        assert!(report["text"].as_str().unwrap().contains("`z` can never be performed"), "{count}");
        assert_eq!(report["missing"].as_array().map(Vec::len), Some((count + 1).min(100)), "{count}");
    }
    let hook = lacking(150)
        .replace("z: { action:", "z: {} }, hooks: [{ id: z, event: error, action:")
        .replace(" } } }\n", " }] }\n");
    assert!(
        checked(hook.as_str())["text"].as_str().unwrap().contains("`hook:z` can never be performed"),
        "{hook}"
    );
}

#[test]
fn params_are_what_the_schema_says() {
    for item in HostItem::ALL {
        assert!(InputSchema::compile(&item.params_schema(), &Meter::of_one_step()).is_ok());
        assert_eq!(HostItem::of_id(item.id()), Some(item));
    }
    assert_eq!(HostItem::of_id("graph/run@1.0.0"), None);
    let graph = SMALL;
    for wrong in [
        json!(null),
        json!({}),
        json!({ "graph": 3 }),
        json!({ "graph": graph, "inputs": [] }),
        json!({ "graph": graph, "limits": { "steps": 0 } }),
        json!({ "graph": graph, "limits": { "model": { "tokens": 1 } } }),
        json!({ "graph": graph, "limits": { "model": { "cost": 0.000_000_1 } } }),
        json!({ "graph": graph, "limit": {} }),
    ] {
        let failure = run(&wrong).unwrap_err();
        assert_eq!(failure.category, Category::InvalidInput, "{wrong}");
        assert!(failure.message.contains("graph/run"), "{}", failure.message);
    }
    assert!(run(&json!({ "graph": graph, "limits": { "steps": 1, "model": { "cost": 0.5 } } })).is_ok());
}
