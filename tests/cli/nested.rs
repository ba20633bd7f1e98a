//! Graphs inside graphs: found, pinned, run, shown as a tree, changed and refused.

use serde_json::json;

use crate::place::Place;

const OUTER: &str = "start: a\nnodes:\n  a: { action: { item_id: t/mid, params: { n: 3 } }, assign: { got: \"${result.got}\" } }\n";
const MID: &str = "start: a\nnodes:\n  a: { action: { item_id: t/leaf, params: { n: \"${inputs.n}\" } }, assign: { got: \"${result.n}\" } }\n";
const LEAF: &str = r#"start: work
nodes:
  work: { action: { item_id: t/kit, params: { op: echo, value: "${inputs.n}" } }, assign: { n: "${result}" }, next: check }
  check: { interrupt: before }
"#;

fn place() -> Place {
    let place = Place::with_compiled_testkit();
    place.graph("outer.yaml", OUTER);
    place.graph(".ai/tools/t/mid.yaml", MID);
    place.graph(".ai/tools/t/leaf.yaml", LEAF);
    place
}

const RUN: [&str; 7] = ["run", "outer.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", "nested"];

#[test]
fn a_component_two_graphs_down_runs_and_the_tree_is_shown_and_verified() {
    let place = place();
    let (plan, code) =
        place.json(&["run", "outer.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--plan"]);
    assert_eq!(code, 0, "{plan}");
    let ids: Vec<_> = plan["graphs"].as_array().unwrap().iter().map(|graph| graph["id"].clone()).collect();
    assert_eq!(ids, ["t/leaf", "t/mid"]);
    assert_eq!(plan["nodes"][2]["node"], "a/a/work");

    let (asked, code) = place.json(&RUN);
    assert_eq!((code, &asked["interrupts"][0]["node"]), (6, &json!("a/a/check")), "{asked}");
    let (ended, code) = place.json(&["resume", "nested"]);
    assert_eq!((code, &ended["state"]), (0, &json!({ "got": 3 })), "{ended}");
    assert!(ended["fuel"].as_u64().unwrap() > 0, "{ended}");

    let (shown, _) = place.json(&["runs", "show", "nested"]);
    let tree: Vec<_> = shown["child_runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|child| {
            json!([child["namespace"], child["path"], child["graph"], child["status"], child["steps"]])
        })
        .collect();
    assert_eq!(
        tree,
        [json!(["1.0", "a", "t/mid", "completed", 1]), json!(["1.0/1.0", "a/a", "t/leaf", "completed", 2])]
    );
    let lines = place.run(&["runs", "show", "nested"]).stdout;
    assert!(lines.contains("  └ 1.0 a  t/mid  completed: 1 step"), "{lines}");
    assert!(lines.contains("    └ 1.0/1.0 a/a  t/leaf  completed: 2 steps"), "{lines}");
    let (verified, code) = place.json(&["runs", "verify", "nested"]);
    assert_eq!((code, &verified["child_runs"]), (0, &json!(2)), "{verified}");
}

#[test]
fn a_node_takes_as_long_as_what_is_inside_of_it() {
    let place = place();
    place.graph(
        ".ai/tools/t/leaf.yaml",
        &LEAF.replace("next: check", "next: last").replace("check: { interrupt: before }", "last: {}"),
    );
    assert_eq!(place.run(&RUN).code, 0);
    let (shown, _) = place.json(&["runs", "show", "nested"]);
    let history = shown["history"].as_array().unwrap();
    let step =
        history.iter().find(|step| step["tasks"][0]["node"] == "a").unwrap_or_else(|| panic!("{shown}"));
    let micros = step["tasks"][0]["micros"].as_u64().unwrap_or(0);
    assert!(micros > 0 && step["micros"].as_u64().unwrap_or(0) >= micros, "{step}");
    assert_eq!(shown["nodes"]["a"]["micros"], micros, "{}", shown["nodes"]);
    // Runs of graphs and tasks inside of them both took time.
    let events = place.run(&["runs", "events", "nested", "--stream", "events"]).stdout;
    let lines = events.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let tasks: Vec<_> = lines.filter(|line| line["kind"] == "task" && line["dispatches"] != 0).collect();
    assert!(
        tasks.len() >= 3 && tasks.iter().all(|task| task["micros"].as_u64().unwrap_or(0) > 0),
        "{tasks:#?}"
    );
}

#[test]
fn a_wrongly_signed_graph_inside_is_refused_before_anything_runs() {
    let place = place();
    let text = std::fs::read_to_string(place.path(".ai/tools/t/leaf.yaml")).unwrap();
    assert_eq!(place.run(&["keys", "generate", "someone"]).code, 0);
    let signed = place.run(&["sign", ".ai/tools/t/leaf.yaml", "--key", "someone"]);
    assert_eq!(signed.code, 0, "{}", signed.stderr);
    let refused = place.run(&RUN);
    assert_eq!(refused.code, 8, "{}", refused.stderr);
    assert!(refused.stderr.contains("leaf.yaml does not hold"), "{}", refused.stderr);
    place.write(".ai/tools/t/leaf.yaml", &text);
    assert_eq!(place.run(&RUN).code, 6);
}

#[test]
fn a_graph_that_names_itself_is_warned_of_and_ends_at_the_depth() {
    let place = Place::with_compiled_testkit();
    place.graph(".ai/tools/t/self.yaml", "start: a\nnodes: { a: { action: { item_id: t/self } } }\n");
    place.write("caps.yaml", "dispatch: ['execute.tool.t.*']\nrun: { depth: 2 }\n");
    let validated = place.run(&["validate", ".ai/tools/t/self.yaml"]);
    assert_eq!(validated.code, 0);
    assert!(validated.stderr.contains("`t/self` → `t/self`"), "{}", validated.stderr);
    let (ended, code) = place.json(&["run", "t/self", "--caps", "caps.yaml"]);
    assert_eq!((code, &ended["error"]["node"]), (5, &json!("a/a/a")), "{ended}");
    assert_eq!(ended["error"]["category"], "limit");
}
