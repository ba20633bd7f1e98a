//! Hooks of all three layers, in their places: the graph, the project and the user's space.

use serde_json::{Value, json};

use crate::place::Place;

/// A graph with a task that fails, one that asks, and a hook that records.
const GRAPH: &str = r#"start: ask
on_error: fail
hooks:
  - { id: noted, event: after_step, action: { item_id: t/kit, params: { op: echo, value: { saw: "${node}" } } } }
nodes:
  ask: { action: { item_id: t/kit, params: { op: interrupt, payload: "go on?" } }, next: flaky }
  flaky: { action: { item_id: t/kit, params: { op: fail, category: permanent, message: broken } }, next: last }
  last: { assign: { done: true } }
"#;
const OF_PROJECT: &str = "hooks:\n  - id: pass\n    event: error\n    condition: { path: classification.category, op: eq, value: permanent }\n    action: { continue: true }\n";
const OF_USER: &str = "hooks:\n  - { id: brake, event: after_step, action: { abort: true } }\n  - { id: bye, event: graph_completed, action: { item_id: t/kit, params: { op: echo, value: \"${status}\" } } }\n";

fn place() -> Place {
    let place = Place::with_testkit();
    place.graph("graph.yaml", GRAPH);
    place.write(".ai/hooks.yaml", OF_PROJECT);
    std::fs::create_dir_all(place.path("home")).unwrap();
    place.write("home/hooks.yaml", OF_USER);
    place
}

const RUN: [&str; 7] = ["run", "graph.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", "hooked"];

/// Returns name, layer and control of the hooks in a list.
fn told(hooks: &Value) -> Vec<Value> {
    let hooks = hooks.as_array().unwrap().iter();
    hooks.map(|hook| json!([hook["hook"], hook["layer"], hook["control"]["action"]])).collect()
}

#[test]
fn the_graph_the_project_and_the_user_have_their_say() {
    let place = place();
    let asked = place.run(&RUN);
    assert_eq!(asked.code, 6, "{}", asked.stderr);
    // A hook that cannot change anything is reported with its place.
    assert!(asked.stderr.contains("home/hooks.yaml:2:"), "{}", asked.stderr);
    assert!(asked.stderr.contains("GH0321"), "{}", asked.stderr);
    let (ended, code) = place.json(&["resume", "hooked", "--answer", "yes"]);
    assert_eq!((code, &ended["status"]), (0, &json!("completed_with_errors")), "{ended}");
    assert_eq!(ended["output"], json!({ "done": true }), "{ended}");
    let (shown, _) = place.json(&["runs", "show", "hooked"]);
    let mut all: Vec<Value> =
        shown["history"].as_array().unwrap().iter().flat_map(|step| told(&step["hooks"])).collect();
    all.extend(told(&shown["hooks"]));
    let noted = json!(["noted", 1, null]);
    assert_eq!(
        all,
        [noted.clone(), json!(["pass", 2, "continue"]), noted.clone(), noted, json!(["bye", 3, null])],
        "{shown}"
    );
    assert_eq!(place.run(&["runs", "verify", "hooked"]).code, 0);
}

#[test]
fn what_is_wrong_in_a_file_of_hooks_is_told_with_its_place() {
    let place = place();
    let wrong = "hooks:\n  - event: eror\n    action: { retry: true }\n  - event: error\n    action: { retri: true }\n    condition: { path: node, op: like, value: a }\n";
    let mut shown = String::new();
    for (name, text) in [
        (".ai/hooks.yaml", wrong),
        (".ai/hooks.yaml", "hooks: [\n"),
        (".ai/hooks.yaml", "hook: []\n"),
        ("home/hooks.yaml", "- { event: limit, action: { continue: true, additional_steps: 0 } }\n"),
    ] {
        let before = std::fs::read_to_string(place.path(name)).unwrap();
        place.write(name, text);
        let refused = place.run(&RUN);
        assert_eq!(refused.code, 3, "{}", refused.stderr);
        let (document, code) = place.json(&RUN);
        assert_eq!((code, &document["error"]["code"]), (3, &json!("invalid_document")), "{document}");
        shown.push_str(&refused.shown());
        place.write(name, &before);
    }
    // No run was started.
    assert!(!place.path(".ai/state").exists());
    insta::assert_snapshot!(shown);
}
