//! What a run has used of language models: in the registry of runs, in `runs show`, and in the lines of its history.

use serde_json::{Value, json};

use crate::place::Place;
use crate::transcript::{RUN, place, provider};

const COLUMNS: [&str; 5] = ["turns", "input_tokens", "output_tokens", "spend", "model"];

fn listed(place: &Place, more: &[&str]) -> Vec<Vec<Value>> {
    let (document, code) = place.json(&[&["runs", "list"], more].concat());
    assert_eq!(code, 0, "{document}");
    let rows = document["runs"].as_array().unwrap().iter();
    rows.map(|row| COLUMNS.map(|column| row[column].clone()).to_vec()).collect()
}

/// The words of each line.
fn words(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split_whitespace().collect()).collect()
}

#[test]
fn the_registry_has_the_figures_of_a_run_with_its_child_runs() {
    for store in ["sqlite", "file"] {
        let server = provider(0);
        let place = place(&server);
        place.graph("plain.yaml", "start: a\nnodes: { a: { assign: { x: 1.0 } } }\n");
        assert_eq!(place.run(&["run", "plain.yaml", "--run-id", "r0", "--store", store]).code, 0);
        let without = place.run(&["runs", "list"]).stdout;
        let header = ["RUN", "GRAPH", "STATUS", "STEPS", "FUEL", "STARTED"];
        assert_eq!(words(&without)[0], header, "{without}");

        assert_eq!(place.run(&[&RUN[..], &["--store", store]].concat()).code, 0);
        let all = json!([[4, 48, 12, 0.000_072, "fast"], [0, 0, 0, 0, null]]);
        assert_eq!(json!(listed(&place, &[])), all, "{store}");
        let child = json!([[2, 24, 6, 0.000_036, null]]);
        assert_eq!(json!(listed(&place, &["--parent", "r1"])), child, "{store}");

        let table = place.run(&["runs", "list"]).stdout;
        let lines = words(&table);
        assert_eq!(lines[0], [&header[..], &["TURNS", "IN", "OUT", "SPEND", "MODEL"]].concat(), "{table}");
        // The time of the start is two words.
        assert_eq!(lines[1][7..], ["4", "48", "12", "0.000072", "fast"], "{table}");
        assert_eq!(lines[2].len(), 7, "{table}");

        // A fork begins with what the run had used up to there.
        assert_eq!(place.run(&["runs", "fork", "r1", "--at", "step:1", "--run-id", "r2"]).code, 0);
        assert_eq!(json!(listed(&place, &["-n", "1"])), json!([[2, 24, 6, 0.000_036, "fast"]]), "{store}");
        assert_eq!(place.run(&["runs", "fork", "r1", "--at", "step:0", "--run-id", "r3"]).code, 0);
        assert_eq!(json!(listed(&place, &["-n", "1"])), json!([[0, 0, 0, 0, null]]), "{store}");
    }
}

#[test]
fn child_runs_count_by_model_too() {
    let server = provider(0);
    let place = place(&server);
    assert_eq!(place.run(&RUN).code, 0);
    let all = json!({ "calls": 4, "input_tokens": 48, "output_tokens": 12, "cost": 72 });
    let half = json!({ "calls": 2, "input_tokens": 24, "output_tokens": 6, "cost": 36 });
    let (shown, code) = place.json(&["runs", "show", "r1"]);
    assert_eq!((code, &shown["model"], &shown["models"]), (0, &all, &json!({ "fast": all })), "{shown}");
    let columns = COLUMNS.map(|column| shown[column].clone());
    assert_eq!(columns[..4], [json!(4), json!(48), json!(12), json!(0.000_072)]);
    assert_eq!((&shown["last_model"], &shown["child_runs"][0]["model"]), (&json!("fast"), &half));
    let told = place.run(&["runs", "show", "r1"]).stdout;
    let child = "2 model calls, 24 tokens in, 6 out, cost 0.000036";
    assert!(told.lines().any(|line| line.contains('└') && line.ends_with(child)), "{told}");

    let events = place.run(&["runs", "events", "r1"]).stdout;
    let events: Vec<Value> = events.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str, key: &str| -> Vec<(Value, Value, Value)> {
        let lines = events.iter().filter(|line| line["kind"] == kind && line["model"] != Value::Null);
        lines.map(|line| (line[key].clone(), line["model"].clone(), line["models"].clone())).collect()
    };
    let by_model = json!({ "fast": half });
    let tasks = of("task", "node");
    assert!(tasks.contains(&(json!("talk"), half.clone(), by_model.clone())), "{tasks:?}");
    assert!(tasks.contains(&(json!("ask"), half.clone(), by_model)), "{tasks:?}");
    assert!(tasks.contains(&(json!("below"), half.clone(), Value::Null)), "{tasks:?}");
    let commits = of("commit", "nodes");
    assert!(commits.contains(&(json!(["talk"]), half, Value::Null)), "{commits:?}");
    assert!(commits.contains(&(json!(["below"]), all, Value::Null)), "{commits:?}");
}

/// A number that a record keeps as `1` is printed as that before it was stored, too.
#[test]
fn numbers_are_printed_as_records_have_them() {
    let place = Place::new();
    place.graph("g.yaml", "start: a\nnodes: { a: { assign: { x: 1.0, y: 0.5 } } }\n");
    let state = |text: &str| {
        let lines = text.lines().skip_while(|line| !line.contains("\"state\": {"));
        lines.take(4).map(str::trim).collect::<Vec<_>>().join(" ")
    };
    let ran = place.run(&["run", "g.yaml", "--run-id", "r", "--json"]);
    let shown = place.run(&["runs", "show", "r", "--json"]);
    assert_eq!(state(&ran.stdout), "\"state\": { \"x\": 1, \"y\": 0.5 },");
    assert_eq!(state(&shown.stdout), state(&ran.stdout));
}
