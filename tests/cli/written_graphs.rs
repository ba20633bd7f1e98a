//! Graphs that a run writes: the stored document, the conditions to run it, and messages about it.

use serde_json::{Value, json};

use crate::place::Place;

const GRAPH: &str = "start: write\nnodes: { write: { action: { item_id: graph/run, params: { graph: \"${inputs.document}\", inputs: { n: 2 } } }, \
                     assign: { got: \"${result}\" } } }";
/// A document that needs no component: it asks a person.
const DOCUMENT: &str = "tool_type: graph
config:
  start: ask
  nodes:
    ask: { type: ask, ask: { question: Which?, choices: [red, blue] }, assign: { said: '${result}' }, next: done }
    done: { type: return, output: '${state.said} ${inputs.n}' }
";

fn place() -> Place {
    let place = Place::new();
    place.graph("g.yaml", GRAPH);
    place.write("caps.yaml", "dispatch: ['execute.tool.graph.*']\n");
    place.write("inputs.json", &json!({ "document": DOCUMENT }).to_string());
    place
}

fn begin(place: &Place) -> Value {
    let (run, code) =
        place.json(&["run", "g.yaml", "--caps", "caps.yaml", "--inputs", "inputs.json", "--run-id", "r"]);
    assert_eq!((code, &run["interrupts"][0]["node"]), (6, &json!("write/ask")), "{run}");
    run
}

#[test]
fn the_document_is_kept_and_verified_and_goes_with_an_export() {
    let place = place();
    begin(&place);
    assert_eq!(place.run(&["runs", "verify", "r"]).code, 0);
    assert_eq!(place.run(&["runs", "export", "r", "-o", "run.jsonl"]).code, 0);
    assert!(place.read("run.jsonl").contains("written/"));
    std::fs::create_dir_all(place.path("elsewhere/.ai")).unwrap();
    let imported = place.run(&["runs", "import", "run.jsonl", "--project", "elsewhere"]);
    assert_eq!(imported.code, 0, "{}", imported.stderr);
    for project in [".", "elsewhere"] {
        let (ended, code) = place.json(&["resume", "r", "--answer", "blue", "--project", project]);
        assert_eq!((code, &ended["state"]["got"]), (0, &json!("blue 2")), "{ended}");
        let (replay, code) = place.json(&["replay", "r", "--project", project]);
        assert_eq!((code, &replay["equal"]), (0, &json!(true)), "{replay}");
        assert_eq!(place.run(&["runs", "verify", "r", "--project", project]).code, 0);
    }
}

#[test]
fn a_document_that_was_changed_or_taken_away_is_found() {
    for change in [
        "update snapshots set text = replace(text, 'Which?', 'What?')",
        "delete from snapshots where text like '%Which?%'",
    ] {
        let place = place();
        begin(&place);
        let database = rusqlite::Connection::open(place.path(".ai/state/runs.db")).unwrap();
        let of_document = format!(
            "{change}{} text like '%written/%'",
            if change.starts_with("delete") { " and" } else { " where" }
        );
        assert_eq!(database.execute(&of_document, []).unwrap(), 1, "{of_document}");
        drop(database);
        let verified = place.run(&["runs", "verify", "r"]);
        assert_eq!(verified.code, 8, "{}", verified.stderr);
        let resumed = place.run(&["resume", "r", "--answer", "blue"]);
        assert_eq!(resumed.code, 8, "{}", resumed.stderr);
        assert!(resumed.stderr.contains("document"), "{}", resumed.stderr);
    }
}

#[test]
fn a_rule_that_requires_signatures_refuses_every_written_graph() {
    let place = place();
    assert_eq!(place.run(&["keys", "generate", "me"]).code, 0);
    assert_eq!(place.run(&["trust", "add", "me", "--key", "me", "--items", "*"]).code, 0);
    let store = place.read("home/trust.yaml");
    let rule = "require:\n  - { items: [\"graph/*\"], threshold: 1, keys: [me] }\n";
    place.write("home/trust.yaml", &format!("{store}{rule}"));
    let run = |place: &Place| place.run(&["run", "g.yaml", "--caps", "caps.yaml", "--inputs", "inputs.json"]);
    let refused = run(&place);
    assert_eq!(refused.code, 8, "{}", refused.stderr);
    assert!(refused.stderr.contains("no key signs a graph that a run writes itself"), "{}", refused.stderr);
    // With a template it is known only once the node runs.
    place.graph("g.yaml", &GRAPH.replace("graph/run", "\"${inputs.item}\""));
    place.write("inputs.json", &json!({ "document": DOCUMENT, "item": "graph/run" }).to_string());
    let refused = run(&place);
    assert_eq!(refused.code, 4, "{}", refused.stderr);
    let told = refused.stderr.replace("\n  ", " ");
    assert!(told.contains("no key signs a graph that a run writes itself"), "{told}");
}

#[test]
fn it_is_shown_suggested_and_checked_before_a_run_and_not_put_into_a_page() {
    let place = place();
    for item in ["graph/run", "graph/validate"] {
        let (inspected, code) = place.json(&["inspect", item]);
        assert_eq!((code, &inspected["params"]["required"]), (0, &json!(["graph"])), "{inspected}");
        assert_eq!(place.run(&["inspect", item]).code, 0);
    }
    let suggested = place.run(&["caps", "suggest", "g.yaml"]);
    assert!(suggested.stdout.contains("execute.tool.graph.run"), "{}", suggested.stdout);
    assert!(!suggested.stderr.contains("not known"), "{}", suggested.stderr);
    assert_eq!(place.run(&["validate", "g.yaml", "--caps", "caps.yaml"]).code, 0);
    let bundled = place.run(&["bundle", "g.yaml", "--caps", "caps.yaml", "-o", "page"]);
    assert_eq!(bundled.code, 4, "{}", bundled.stderr);
    assert!(bundled.stderr.contains("a graph that is written during the run"), "{}", bundled.stderr);
    place.graph("g.yaml", "start: a\nnodes: { a: { action: { item_id: graph/run, params: { graph: 'tool_type: graph', limits: 3 } } } }");
    let refused = place.run(&["run", "g.yaml", "--caps", "caps.yaml"]);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    assert!(refused.stderr.contains("its params are not what `graph/run` takes"), "{}", refused.stderr);
    place.graph(
        "g.yaml",
        "start: a\nnodes: { a: { action: { item_id: graph/run, params: { graph: 'tool_type: graph' } } } }",
    );
    let refused = place.run(&["run", "g.yaml", "--caps", "caps.yaml"]);
    assert_eq!(refused.code, 3, "{}", refused.stderr);
    assert!(refused.stderr.contains("the graph cannot be run"), "{}", refused.stderr);
}
