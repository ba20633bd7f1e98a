//! Log lines, failures and differences of runs, from their records.

use serde_json::{Value, json};

use crate::place::Place;

/// A node with three items, and then another one; the inputs are what they do. A failure of an item is handled.
const GRAPH: &str = r#"start: each
nodes:
  each:
    type: foreach
    over: [1, 2, 3]
    parallel: true
    on_item_error: keep_null
    action: { item_id: t/kit, params: "${inputs.each}" }
    assign: { all: "${result}" }
    next: last
  last: { action: { item_id: t/kit, params: "${inputs.last}" }, assign: { end: "${result}" } }
"#;
/// Logs two lines of four bytes.
const LOG: &str = r#"{"op":"log","lines":2,"bytes":4}"#;
const FAIL: &str = r#"{"op":"fail","category":"permanent","message":"no luck"}"#;

fn place() -> Place {
    let place = Place::with_compiled_testkit();
    place.graph("g.yaml", GRAPH);
    place
}

/// Returns the exit code and stderr of a run whose nodes do this.
fn run(place: &Place, id: &str, (each, last): (&str, &str), more: &[&str]) -> (i32, String) {
    let (each, last) = (format!("each={each}"), format!("last={last}"));
    let options = [
        "run",
        "g.yaml",
        "--caps",
        "caps.yaml",
        "--allow-unsigned",
        "--run-id",
        id,
        "-i",
        &each,
        "-i",
        &last,
    ];
    let ran = place.run(&[&options[..], more].concat());
    (ran.code, ran.stderr)
}

fn documents(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn log_lines_are_on_record_and_can_be_selected() {
    let place = place();
    let (code, stderr) = run(&place, "r", (LOG, LOG), &[]);
    assert_eq!(code, 0, "{stderr}");
    let logs = |more: &[&str]| {
        let ran = place.run(&[&["runs", "logs", "r"], more].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stdout
    };
    let all = logs(&[]);
    assert_eq!(all.lines().count(), 8, "{all}");
    for (more, count, part) in [
        (&["--level", "info"][..], 8, " info "),
        (&["--level", "warn"], 0, ""),
        (&["--node", "each#3"], 2, " each#3: "),
        (&["--node", "each"], 6, " each#"),
        (&["--node", "last", "--grep", "^.{4}$"], 2, " last: "),
        (&["--node", "last", "--grep", "^.{5}$"], 0, ""),
        (&["--node", "nowhere"], 0, ""),
    ] {
        let found = logs(more);
        assert_eq!(found.lines().count(), count, "{more:?}: {found}");
        assert!(found.lines().all(|line| line.contains(part)), "{more:?}: {found}");
    }
    let lines = documents(&logs(&["--json", "--node", "last"]));
    assert_eq!(lines.len(), 2);
    assert_eq!(
        (&lines[0]["level"], &lines[0]["node"], &lines[0]["attempt"]),
        (&json!("info"), &json!("last"), &json!(1))
    );
    let streamed = documents(&place.run(&["runs", "events", "r", "--stream", "logs"]).stdout);
    assert_eq!(streamed.len(), 8);
    assert!(streamed.iter().all(|line| line["kind"] == "log"));
    let replayed = place.run(&["replay", "r"]);
    assert_eq!(replayed.code, 0, "{}", replayed.stderr);
    let wrong = place.run(&["runs", "logs", "r", "--grep", "("]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("is not a pattern"), "{}", wrong.stderr);
}

#[test]
fn what_is_logged_while_it_runs_depends_on_the_level() {
    let place = place();
    for (id, more, shown) in [
        ("a", &[][..], true),
        ("b", &["--log", "warn"], false),
        ("c", &["--quiet"], false),
        ("d", &["--quiet", "--log", "trace"], true),
    ] {
        let (code, stderr) = run(&place, id, (LOG, LOG), more);
        assert_eq!((code, stderr.contains("info last: ")), (0, shown), "{more:?}: {stderr}");
    }
    // Another process shows the same lines.
    assert!(place.run(&["runs", "watch", "a"]).stderr.contains("info last: "));
}

#[test]
fn every_failure_is_on_record_whether_its_superstep_committed_or_not() {
    let place = place();
    let (code, stderr) = run(&place, "r", (FAIL, FAIL), &[]);
    assert_eq!(code, 5, "{stderr}");
    let failed = place.run(&["runs", "show", "r", "--failed"]);
    assert_eq!(failed.code, 0, "{}", failed.stderr);
    let lines: Vec<_> = failed.stdout.lines().collect();
    assert_eq!(lines.len(), 4, "{}", failed.stdout);
    assert!(lines[1].contains("each#2 permanent: no luck"), "{}", lines[1]);
    assert!(lines[3].contains("last permanent: no luck"), "{}", lines[3]);
    assert!(failed.stderr.contains("4 tasks of run r failed"), "{}", failed.stderr);
    let document: Value = serde_json::from_str(&place.run(&["runs", "show", "r", "--json"]).stdout).unwrap();
    let handled: Vec<_> =
        document["failures"].as_array().unwrap().iter().map(|one| &one["handled"]).collect();
    assert_eq!(handled, [&json!(true), &json!(true), &json!(true), &json!(false)]);
    assert_eq!(document["failed"], json!({ "each": 3 }));
    // Another attempt of the failed node, after a resume, does not take the first one off the record.
    assert_eq!(place.run(&["resume", "r"]).code, 5);
    let failed = place.run(&["runs", "show", "r", "--failed"]).stdout;
    assert_eq!(failed.lines().filter(|line| line.contains("last permanent: no luck")).count(), 2, "{failed}");
    let shown = place.run(&["runs", "show", "r"]).stdout;
    assert!(shown.contains("0 of 3 done, 3 failed"), "{shown}");
}

#[test]
fn an_open_superstep_tells_how_many_of_its_tasks_failed() {
    let place = place();
    place.graph("g.yaml", &GRAPH.replace("    on_item_error: keep_null\n", ""));
    let (code, stderr) = run(&place, "r", (FAIL, LOG), &[]);
    assert_eq!(code, 5, "{stderr}");
    let shown = place.run(&["runs", "show", "r"]).stdout;
    assert!(shown.contains("each: 0 of 3 done, 3 failed"), "{shown}");
    assert_eq!(place.run(&["runs", "show", "r", "--failed"]).stdout.lines().count(), 3);
}

#[test]
fn the_last_line_counts_failures_that_were_handled() {
    let place = place();
    let (code, stderr) = run(&place, "r", (FAIL, LOG), &[]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("3 tasks failed (each 3)"), "{stderr}");
}

#[test]
fn two_runs_and_two_checkpoints_are_compared() {
    let place = place();
    for (id, each) in [("a", LOG), ("b", LOG), ("c", FAIL)] {
        assert_eq!(run(&place, id, (each, LOG), &[]).0, 0);
    }
    let same = place.run(&["runs", "diff", "a", "b"]);
    assert_eq!(same.code, 0, "{}", same.stderr);
    assert!(same.stdout.contains("the steps are the same"), "{}", same.stdout);
    let other = place.run(&["runs", "diff", "a", "c"]).stdout;
    assert!(other.contains("~ each.op: \"log\" → \"fail\""), "{other}");
    let document: Value =
        serde_json::from_str(&place.run(&["runs", "diff", "a", "c", "--json"]).stdout).unwrap();
    assert!(
        document["inputs"]
            .as_array()
            .unwrap()
            .contains(&json!({ "path": "each.op", "before": "log", "after": "fail" }))
    );
    let state = place.run(&["runs", "state", "a", "--at", "step:1", "--diff"]).stdout;
    assert!(state.contains("+ all:"), "{state}");
    let state = place.run(&["runs", "state", "a", "--diff=step:1", "--json"]).stdout;
    let state: Value = serde_json::from_str(&state).unwrap();
    assert_eq!(state["state"][0]["path"], "end");
}
