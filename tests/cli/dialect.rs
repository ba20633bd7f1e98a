//! Graphs of Rye's dialect on the command line, and the differences between the dialects.

use serde_json::json;

use crate::place::Place;

const STEPS: &str = "start: a\nnodes:\n  a: { assign: { x: 1 }, next: b }\n  b: { interrupt: before, assign: { y: '${state.x}' } }\n";

/// Writes a graph document of Rye's dialect.
fn rye(place: &Place, name: &str, config: &str) {
    place.graph(name, config);
    let text = place
        .read(name)
        .replace("executor_id: graph-host", "executor_id: rye/core/runtimes/state_graph_runtime");
    place.write(name, &text);
}

#[test]
fn the_state_item_follows_a_run_in_any_store() {
    let place = Place::new();
    rye(&place, "steps.yaml", STEPS);
    assert_eq!(place.run(&["run", "steps.yaml", "--run-id", "r1"]).code, 6);
    let item = ".ai/knowledge/graphs/steps/r1.md";
    let text = place.read(item);
    for line in
        ["graph_run_id: \"r1\"", "status: interrupted", "current_node: \"b\"", "step_count: 1", "\"x\": 1"]
    {
        assert!(text.contains(line), "{line}: {text}");
    }
    let (ended, code) = place.json(&["run", "steps.yaml", "-i", "resume=true", "-i", "graph_run_id=r1"]);
    assert_eq!(
        (code, &ended["run_id"], &ended["state"]),
        (0, &json!("r1"), &json!({ "x": 1, "y": 1 })),
        "{ended}"
    );
    let text = place.read(item);
    assert!(text.contains("status: completed") && text.contains("step_count: 2"), "{text}");
    let (listed, _) = place.json(&["runs", "list"]);
    assert_eq!(listed["runs"].as_array().unwrap().len(), 1, "{listed}");
}

#[test]
fn the_state_item_of_our_dialect_is_asked_for() {
    let place = Place::new();
    place.graph("steps.yaml", STEPS);
    let item = |run: &str| place.path(&format!(".ai/knowledge/graphs/steps/{run}.md"));
    assert_eq!(place.run(&["run", "steps.yaml", "--run-id", "r1"]).code, 6);
    assert!(!item("r1").exists());
    assert_eq!(place.run(&["run", "steps.yaml", "--run-id", "r2", "--state-item"]).code, 6);
    assert!(std::fs::read_to_string(item("r2")).unwrap().contains("status: interrupted"));
    // An existing item is kept up to date.
    assert_eq!(place.run(&["resume", "r2"]).code, 0);
    assert!(std::fs::read_to_string(item("r2")).unwrap().contains("status: completed"));
    assert_eq!(place.run(&["resume", "r1", "--state-item"]).code, 0);
    assert!(std::fs::read_to_string(item("r1")).unwrap().contains("status: completed"));
}

#[test]
fn the_state_item_follows_edits_stops_and_forks() {
    let place = Place::new();
    place.graph("steps.yaml", STEPS);
    let item = |run: &str| place.path(&format!(".ai/knowledge/graphs/steps/{run}.md"));
    let text = |run: &str| std::fs::read_to_string(item(run)).unwrap();
    assert_eq!(place.run(&["run", "steps.yaml", "--run-id", "r1", "--state-item"]).code, 6);
    assert!(text("r1").contains("\"x\": 1"), "{}", text("r1"));
    let edited = place.run(&["runs", "update", "r1", "--values", r#"{"x": 7}"#]);
    assert_eq!(edited.code, 0, "{}", edited.stderr);
    assert!(text("r1").contains("\"x\": 7"), "{}", text("r1"));
    // A fork has an item of its own if the run that it was forked from has one.
    let forked = place.run(&["runs", "fork", "r1", "--run-id", "f1", "--values", r#"{"x": 8}"#]);
    assert_eq!(forked.code, 0, "{}", forked.stderr);
    assert!(text("f1").contains("graph_run_id: \"f1\"") && text("f1").contains("\"x\": 8"), "{}", text("f1"));
    assert!(text("r1").contains("\"x\": 7"), "{}", text("r1"));
    assert_eq!(place.run(&["resume", "f1"]).code, 0);
    assert!(text("f1").contains("status: completed"), "{}", text("f1"));
    assert_eq!(place.run(&["runs", "cancel", "r1"]).code, 0);
    assert!(text("r1").contains("status: cancelled"), "{}", text("r1"));
    // Without a request, no item is written.
    assert_eq!(place.run(&["run", "steps.yaml", "--run-id", "r2"]).code, 6);
    assert_eq!(place.run(&["runs", "update", "r2", "--values", r#"{"x": 7}"#]).code, 0);
    assert_eq!(place.run(&["runs", "fork", "r2", "--run-id", "f2"]).code, 0);
    assert_eq!(place.run(&["runs", "cancel", "r2"]).code, 0);
    assert!(!item("r2").exists() && !item("f2").exists());
}

#[test]
fn a_run_is_not_begun_anew_by_mistake() {
    let place = Place::new();
    rye(&place, "steps.yaml", STEPS);
    let ran = place.run(&["run", "steps.yaml", "-i", "resume=true"]);
    let message = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(ran.code == 3 && message.contains("there is no `graph_run_id`"), "{message}");
    assert_eq!(place.run(&["run", "steps.yaml", "-i", "resume=true", "-i", "graph_run_id=nobody"]).code, 9);
}

#[test]
fn the_points_in_which_dialects_differ_are_listed() {
    let place = Place::new();
    let told = place.run(&["explain", "rye"]).stdout;
    for text in
        ["rye/core/runtimes/state_graph_runtime", "default_escalate_limit", "graph_run_id", "--state-item"]
    {
        assert!(told.contains(text), "{text}: {told}");
    }
    let (document, _) = place.json(&["explain", "rye"]);
    assert_eq!(document["executors"]["graph-host"], "graph_host");
    let differences = document["differences"].as_array().unwrap();
    assert_eq!(differences.len(), 10, "{document}");
    // The guide has the same table.
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let guide = std::fs::read_to_string(root.join("host/docs/guide/rye.md")).unwrap();
    for difference in differences {
        let cell = |key: &str| difference[key].as_str().unwrap().to_owned();
        let row = format!("| {} | {} | {} |", cell("point"), cell("rye"), cell("graph_host"));
        assert!(guide.contains(&row), "{row}");
    }
}

#[test]
fn a_plan_names_the_graph_and_its_dialect() {
    let place = Place::new();
    rye(&place, "named.yaml", &format!("name: Two steps\n{STEPS}"));
    let told = place.run(&["run", "named.yaml", "--plan"]).stdout;
    assert!(told.contains("Two steps") && told.contains("graph-host explain rye"), "{told}");
    let (document, _) = place.json(&["run", "named.yaml", "--plan"]);
    assert_eq!(
        (&document["name"], document["executor_id"].as_str().unwrap().starts_with("rye/")),
        (&json!("Two steps"), true)
    );
    let drawn = |format: &str| place.run(&["graph", "show", "named.yaml", "--format", format]).stdout;
    assert!(drawn("mermaid").contains("title: \"Two steps\""), "{}", drawn("mermaid"));
    assert!(drawn("dot").contains("label=\"Two steps\""), "{}", drawn("dot"));
}

#[test]
fn validate_finds_what_a_plan_finds() {
    let place = Place::with_compiled_testkit();
    place.graph(
        "flow.yaml",
        "start: a\nnodes:\n  a: { action: { item_id: t/kit, params: { op: echo, value: 1 } }, next: b }\n  b: { action: { item_id: t/none } }\n",
    );
    assert_eq!(place.run(&["validate", "flow.yaml"]).code, 0);
    let deep = ["validate", "flow.yaml", "--project", ".", "--allow-unsigned"];
    let (found, code) = place.json(&deep);
    let (planned, planned_code) =
        place.json(&["run", "flow.yaml", "--plan", "--caps", "caps.yaml", "--allow-unsigned"]);
    assert!(code != 0 && planned_code != 0, "{found}\n{planned}");
    let items = found["files"][0]["items"].as_array().unwrap();
    assert_eq!((items.len(), &items[0]["node"]), (1, &json!("b")), "{found}");
    let told = place.run(&deep).stdout;
    assert!(told.contains("node `b`: ") && told.contains("t/none"), "{told}");
    // With a manifest, missing grants are found as well.
    place.write("nothing.yaml", "dispatch: []\n");
    let (found, code) = place.json(&[&deep[..], &["--caps", "nothing.yaml"]].concat());
    assert!(code == 4 && found["files"][0]["items"].as_array().unwrap().len() > 1, "{found}");
}

/// A problem that no manifest and no item can solve is known from the document: nothing is spent before the failure.
#[test]
fn what_no_node_does_with_threads_is_refused_before_the_start() {
    for (operation, instead) in [
        ("read_transcript", "runs transcript RUN"),
        ("chain_search", "runs transcript RUN"),
        ("resume_thread", "resume RUN --input message=.."),
        ("handoff_thread", "resume RUN --input message=.."),
        ("cancel_thread", "runs cancel RUN"),
        ("kill_thread", "runs kill RUN"),
    ] {
        let place = Place::new();
        let node = |operation: &str| {
            format!(
                "{{ action: {{ item_id: rye/agent/threads/orchestrator, params: {{ operation: {operation}, thread_id: '${{state.id}}' }} }} }}"
            )
        };
        place.graph(
            "late.yaml",
            &format!("start: a\nnodes:\n  a: {{ assign: {{ id: x }}, next: b }}\n  b: {}\n", node(operation)),
        );
        place.write("caps.yaml", "dispatch: [execute.tool.*]\n");
        for command in [
            &["validate", "late.yaml"][..],
            &["validate", "late.yaml", "--caps", "caps.yaml"],
            &["run", "late.yaml", "--caps", "caps.yaml", "--plan"],
            &["run", "late.yaml", "--caps", "caps.yaml"],
        ] {
            let ran = place.run(command);
            let told =
                format!("{}{}", ran.stdout, ran.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
            assert_ne!(ran.code, 0, "{operation} {command:?}: {told}");
            assert!(told.contains(instead), "{operation} {command:?}: {told}");
        }
        let (document, code) = place.json(&["validate", "late.yaml"]);
        assert!(code != 0 && document["files"][0]["items"][0]["node"] == "b", "{document}");
        assert_eq!(place.run(&["runs", "list"]).code, 9, "{operation}: nothing has run");
        // Operations that nodes support pass.
        place.graph(
            "well.yaml",
            &format!(
                "start: a\nnodes:\n  a: {{ assign: {{ id: x }}, next: b }}\n  b: {}\n",
                node("get_status")
            ),
        );
        assert_eq!(place.run(&["validate", "well.yaml"]).code, 0);
    }
}
