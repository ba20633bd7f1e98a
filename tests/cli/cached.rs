//! Results that replace tasks of later runs.

use std::fs;

use serde_json::{Value, json};

use crate::place::Place;

/// The result of `a` names the run that has computed it.
const GRAPH: &str = r#"start: a
nodes:
  a: { action: { item_id: t/kit, params: { op: activation } }, cache: { ttl: 1h }, assign: { seen: "${result.run_id}" }, next: b }
  b: { action: { item_id: t/kit, params: { op: echo, value: "${state.seen}" } }, assign: { told: "${result}" } }
output: "${state.told}"
"#;

fn place() -> Place {
    let place = Place::with_compiled_testkit();
    place.graph("graph.yaml", GRAPH);
    place
}

fn run(place: &Place, id: &str, more: &[&str]) -> Value {
    let args = ["run", "graph.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", id];
    let (done, code) = place.json(&[&args, more].concat());
    assert_eq!(code, 0, "{done}");
    done
}

#[test]
fn a_second_run_takes_what_the_first_has_left() {
    for store in ["sqlite", "file"] {
        let place = place();
        let first = run(&place, "first", &["--store", store]);
        assert_eq!((&first["output"], &first["cached"]), (&json!("first"), &json!({})));
        assert_eq!(first["executions"], json!({ "a": 1, "b": 1 }));
        let second = run(&place, "second", &["--store", store]);
        assert_eq!((&second["output"], &second["cached"]), (&json!("first"), &json!({ "a": 1 })));
        assert_eq!(second["executions"], json!({ "b": 1 }));
        assert_eq!(second["fuel"], first["fuel"]);
        let digest = |run: &Value| run["checkpoint"]["result_digest"].clone();
        assert_eq!(digest(&second), digest(&first), "what is computed does not depend on the cache");

        // No cached result is used, and none is kept.
        let third = run(&place, "third", &["--store", store, "--no-cache"]);
        assert_eq!((&third["output"], &third["cached"]), (&json!("third"), &json!({})));
        assert_eq!(run(&place, "fourth", &["--store", store])["output"], "first");

        let (shown, _) = place.json(&["runs", "show", "second"]);
        assert_eq!(shown["cached"], json!({ "a": 1 }));
        let hit = &shown["history"][1]["tasks"][0]["cached"];
        assert_eq!((&hit["run"], &hit["task"]), (&json!("first"), &json!("1.0")), "{shown}");
        let text = place.run(&["runs", "show", "second"]);
        assert!(text.stdout.contains("= a as task 1.0 of run first at "), "{}", text.stdout);

        let told = place.run(&["runs", "events", "second", "--stream", "events"]);
        let lines = told.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let tasks: Vec<_> = lines.filter(|line| line["kind"] == "task").collect();
        let of = |node: &str| tasks.iter().find(|task| task["node"] == node).unwrap().clone();
        assert_eq!(
            (&of("a")["cached"], &of("a")["cached_from"]["run"]),
            (&json!(true), &json!("first")),
            "{told:?}",
            told = told.stdout
        );
        assert_eq!((&of("b")["cached"], &of("a")["dispatches"]), (&Value::Null, &json!(0)));

        let (verified, code) = place.json(&["runs", "verify", "second"]);
        assert_eq!(code, 0, "{verified}");
        let (replayed, code) = place.json(&["replay", "second"]);
        assert_eq!(
            (code, &replayed["equal"], &replayed["cached"]),
            (0, &json!(true), &json!(1)),
            "{replayed}"
        );
        assert_eq!(replayed["attempts"], 1);
    }
}

#[test]
fn a_person_sees_what_stood_in() {
    let place = place();
    run(&place, "first", &[]);
    let args = ["run", "graph.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", "second"];
    let ran = place.run(&args);
    let line = "= a cached, from run first, ";
    assert!(ran.stderr.contains(line), "{}", ran.shown());
    let watched = place.run(&["runs", "watch", "second"]);
    assert!(watched.stderr.contains(line), "{}", watched.shown());
}

#[test]
fn a_changed_result_is_computed_again_with_a_warning() {
    let place = place();
    run(&place, "first", &["--store", "file"]);
    let mut changed = 0;
    for folder in fs::read_dir(place.path(".ai/state/files/results")).unwrap() {
        for file in fs::read_dir(folder.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            fs::write(&path, text.replace(r#"\"run_id\":\"first\""#, r#"\"run_id\":\"forged\""#)).unwrap();
            assert_ne!(fs::read_to_string(&path).unwrap(), text);
            changed += 1;
        }
    }
    assert_eq!(changed, 1);
    let args = ["run", "graph.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--store", "file"];
    let again = place.run(&[&args[..], &["--run-id", "second"]].concat());
    assert_eq!((again.code, again.stdout.trim()), (0, "second"), "{}", again.shown());
    assert!(
        again
            .stderr
            .contains("node `a` is dispatched again: a stored result is not signed by this host's key"),
        "{}",
        again.shown()
    );
    // The recomputed result has its own entry, and is used from now on.
    assert_eq!(run(&place, "third", &["--store", "file"])["output"], "second");
}

#[test]
fn results_are_removed_once_they_have_expired_or_all() {
    let place = place();
    run(&place, "first", &[]);
    place.graph(
        "graph.yaml",
        &GRAPH.replace("ttl: 1h", "ttl: 1ms").replace("cache: {", "cache: { key: other,"),
    );
    run(&place, "second", &[]);
    let gc = |more: &[&str]| {
        let (report, code) = place.json(&[&["runs", "gc"], more].concat());
        assert_eq!(code, 0, "{report}");
        report["results"].clone()
    };
    assert_eq!(gc(&[]), 0);
    assert_eq!(gc(&["--cache", "--dry-run"]), 1);
    assert_eq!(gc(&["--cache=all", "--dry-run"]), 2);
    assert_eq!(gc(&["--cache"]), 1);
    place.graph("graph.yaml", GRAPH);
    assert_eq!(run(&place, "third", &[])["output"], "first");
    let text = place.run(&["runs", "gc", "--cache=all"]);
    assert!(text.stdout.contains("removed 1 result kept for later tasks"), "{}", text.shown());
    assert_eq!(run(&place, "fourth", &[])["output"], "fourth");
    assert_eq!(place.run(&["runs", "gc", "--cache=old"]).code, 2);
}
