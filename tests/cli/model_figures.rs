//! Model use of a run: in the registry of runs, in `runs show`, and in the lines of its history.

use serde_json::{Value, json};

use crate::place::Place;
use crate::transcript::{RUN, counting, place, provider};

const COLUMNS: [&str; 5] = ["turns", "input_tokens", "output_tokens", "spend", "model"];

fn listed(place: &Place, more: &[&str]) -> Vec<Vec<Value>> {
    let (document, code) = place.json(&[&["runs", "list"], more].concat());
    assert_eq!(code, 0, "{document}");
    let rows = document["runs"].as_array().unwrap().iter();
    rows.map(|row| COLUMNS.map(|column| row[column].clone()).to_vec()).collect()
}

/// Splits each line into words.
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
        // The start time is three words.
        assert_eq!(lines[1][8..], ["4", "48", "12", "0.000072", "fast"], "{table}");
        assert_eq!(lines[2].len(), 8, "{table}");

        // A fork starts with the run's use up to its checkpoint.
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

/// A number that a record keeps as `1` is printed as `1` before it is stored, too.
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

/// A graph whose node asks a model and handles its failure.
const HANDLED: &str = "start: talk\nnodes:\n  talk: { action: { item_id: t/ask }, assign: { n: \"${result}\" }, on_error: handled, next: handled }\n  handled: { type: return, output: \"${state.n}\" }\n";

/// Every count of a provider is charged as far as it can be stored: the run ends, is shown, and can be resumed.
#[test]
fn what_a_provider_counts_can_always_be_stored() {
    const MOST: u64 = i64::MAX as u64;
    let both = |input: &str, output: &str| {
        format!("{{\"prompt_tokens\": {input}, \"completion_tokens\": {output}}}")
    };
    // The provider's usage, the tokens that are charged, and whether they exceed the budget.
    let cases = [
        (both("18446744073709551615", "1"), Some([MOST, 1]), true),
        (both("9223372036854775808", "1"), Some([MOST, 1]), true),
        (both("18446744073709551616", "1"), Some([MOST, 1]), true),
        (both("1e300", "1"), Some([MOST, 1]), true),
        (both("1", "18446744073709551615"), Some([1, MOST]), true),
        (both("1", "1e19"), Some([1, MOST]), true),
        (
            "{\"prompt_tokens\": 1, \"completion_tokens\": 1, \"total_tokens\": 18446744073709551615}"
                .to_owned(),
            None,
            true,
        ),
        // The component asks twice.
        (both("12", "3"), Some([24, 6]), false),
        // An invalid count: the reserved use is charged.
        (both("-1", "1"), None, false),
        (both("1", "-9223372036854775808"), None, false),
        (both("0.5", "1"), None, false),
        (both("\"12\"", "1"), None, false),
        (both("12", "\"3\""), None, false),
        (both("null", "1"), None, false),
        ("null".to_owned(), None, false),
        ("[]".to_owned(), None, false),
    ];
    for store in ["sqlite", "file"] {
        for (usage, charged, is_limit) in &cases {
            let server = counting(usage);
            let place = place(&server);
            place.graph("g.yaml", HANDLED);
            let ran = place.run(&[&RUN[..], &["--store", store]].concat());
            assert_eq!(ran.code, 0, "{usage}: {}\n{}", ran.stdout, ran.stderr);
            let (shown, code) = place.json(&["runs", "show", "r1"]);
            assert_eq!(code, 0, "{usage}: {shown}");
            let columns = listed(&place, &[]);
            let tokens = [1, 2].map(|at| columns[0][at].as_u64().unwrap());
            assert!(tokens.iter().all(|tokens| *tokens <= MOST), "{usage}: {tokens:?}");
            match charged {
                Some(charged) => assert_eq!(tokens, *charged, "{usage}"),
                None => assert!(tokens[0] > 0 && tokens[1] > 0, "{usage}: {tokens:?}"),
            }
            let category = &shown["state"]["_last_error"]["category"];
            assert_eq!(*category == "limit", *is_limit, "{usage}: {shown}");
            let ended = place.run(&["resume", "r1"]);
            assert_eq!(ended.code, 2, "{usage}: {}", ended.stderr);
        }
    }
}

/// Without a budget of tokens, a count that cannot be stored ends the task all the same.
#[test]
fn no_budget_is_large_enough_for_what_cannot_be_counted() {
    for (prices, budget) in [
        ("input: 1, output: 2", "input_tokens: 18446744073709551614, output_tokens: 18446744073709551614"),
        (
            "input: 9000000, output: 9000000",
            "input_tokens: 18446744073709551614, output_tokens: 18446744073709551614",
        ),
    ] {
        let server = counting(
            "{\"prompt_tokens\": 18446744073709551615, \"completion_tokens\": 18446744073709551615}",
        );
        let place = place(&server);
        place.graph("g.yaml", HANDLED);
        let caps = place.read("caps.yaml").replace("input: 1, output: 2", prices);
        let limits = format!("limits: {{ model: {{ {budget} }} }}\nrun: {{ model: {{ {budget} }} }}\n");
        place.write("caps.yaml", &(caps + &limits));
        let ran = place.run(&RUN);
        assert!([0, 7].contains(&ran.code), "{}: {}", ran.code, ran.stderr);
        let (shown, code) = place.json(&["runs", "show", "r1"]);
        assert_eq!(code, 0, "{shown}");
        assert!(shown.to_string().contains("limit"), "{shown}");
        let resumed = place.run(&["resume", "r1"]);
        assert!([2, 7].contains(&resumed.code), "{}: {}", resumed.code, resumed.stderr);
    }
}

/// A crash under another durability than `sync` costs money: the plan warns of it.
#[test]
fn the_plan_says_which_requests_are_paid_for_again() {
    let server = provider(0);
    let place = place(&server);
    let plan = |more: &[&str]| {
        let ran = place
            .run(&[&["run", "g.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--plan"], more].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let words: Vec<&str> = ran.stderr.split_whitespace().collect();
        words.join(" ")
    };
    let again = "requests to language models since the last checkpoint are sent, and paid for, again";
    assert!(!plan(&[]).contains(again));
    for mode in ["async", "exit"] {
        let told = plan(&["--durability", mode]);
        assert!(told.contains(again) && told.contains(mode), "{told}");
    }
    // The plan does not warn if no model is used.
    place.graph("plain.yaml", "start: a\nnodes: { a: { assign: { x: 1.0 } } }\n");
    let ran = place.run(&["run", "plain.yaml", "--plan", "--durability", "exit"]);
    assert!(ran.code == 0 && !ran.stderr.contains("paid"), "{}", ran.stderr);
}

/// The forfeited part of a budget of the largest number, and the largest number of supersteps.
#[test]
fn the_largest_budgets_of_a_manifest_can_be_stored() {
    let place = Place::with_compiled_testkit();
    let most = u64::MAX;
    place.write(
        "caps.yaml",
        &format!(
            "dispatch: ['execute.tool.t.*']\nlimits: {{ fuel: {most} }}\nrun: {{ fuel: {most}, steps: {most}, stored: {most}, results: 1000 }}\n"
        ),
    );
    let text = "x".repeat(3000);
    place.graph(
        "g.yaml",
        &format!(
            "start: [a, b]\nnodes:\n  a: {{ action: {{ item_id: t/kit, params: {{ op: echo, value: {text} }} }} }}\n  b: {{ action: {{ item_id: t/kit, params: {{ op: spin, iterations: 100000 }} }} }}\n"
        ),
    );
    for store in ["sqlite", "file"] {
        let args =
            ["run", "g.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--store", store, "--run-id", store];
        let ran = place.run(&[&args[..], &["--max-steps", "18446744073709551615"]].concat());
        assert_eq!(ran.code, 7, "{}", ran.stderr);
        let (shown, code) = place.json(&["runs", "show", store]);
        assert_eq!((code, &shown["status"]), (0, &json!("limit")), "{shown}");
        let resumed = place.run(&["resume", store, "--max-steps", "18446744073709551615"]);
        assert_ne!(resumed.code, 10, "{}", resumed.stderr);
    }
}
