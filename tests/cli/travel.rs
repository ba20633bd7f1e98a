//! Inspects past states of a run, edits it and forks it.

use serde_json::json;

use crate::place::Place;

const ASKING: &str = r#"start: draft
channels: { log: { reducer: append } }
nodes:
  draft: { action: { item_id: t/kit, params: { op: echo, value: "a draft" } }, assign: { text: "${result}", log: [drafted] }, next: check }
  check: { assign: { log: [checked] }, next: [{ to: publish, when: { path: state.ok, op: eq, value: true } }, { to: ask }] }
  ask: { action: { item_id: t/kit, params: { op: interrupt, payload: "Publish?" } }, assign: { log: ["${result}"] }, next: publish }
  publish: { type: return, output: { text: "${state.text}", log: "${state.log}" } }
"#;

fn asking() -> Place {
    let place = Place::with_compiled_testkit();
    place.graph("asking.yaml", ASKING);
    let ran = place.run(&[
        "run",
        "asking.yaml",
        "--caps",
        "caps.yaml",
        "--allow-unsigned",
        "--run-id",
        "r1",
        "--quiet",
    ]);
    assert_eq!(ran.code, 6, "{}", ran.stderr);
    place
}

/// Removes times and digests.
fn steady(text: &str) -> String {
    let is_time = |word: &str| {
        word.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            10 => byte == b' ',
            13 | 16 => byte == b':',
            _ => byte.is_ascii_digit(),
        })
    };
    let is_digest = |word: &str| word.bytes().all(|byte| byte.is_ascii_hexdigit());
    replaced(&replaced(text, 19, is_time, "[at]"), 12, is_digest, "[digest]")
}

/// Replaces every stretch of `length` bytes that fits.
fn replaced(text: &str, length: usize, fits: impl Fn(&str) -> bool, by: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if rest.get(..length).is_some_and(&fits) {
            shown.push_str(by);
            rest = &rest[length..];
        } else {
            shown.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    shown
}

#[test]
fn a_run_is_looked_back_on_edited_and_forked() {
    let place = asking();
    insta::assert_snapshot!("history", steady(&place.run(&["runs", "history", "r1"]).shown()));
    insta::assert_snapshot!("state", steady(&place.run(&["runs", "state", "r1", "--at", "step:1"]).shown()));
    let update =
        ["runs", "update", "r1", "--values", r#"{"ok": true, "log": ["by hand"]}"#, "--as-node", "check"];
    insta::assert_snapshot!("update", place.run(&update).shown());
    let (document, code) = place.json(&["resume", "r1"]);
    assert_eq!((code, &document["output"]["log"]), (0, &json!(["drafted", "checked", "by hand"])));
    let fork = ["runs", "fork", "r1", "--at", "node:ask", "--run-id", "f1"];
    insta::assert_snapshot!("fork", place.run(&fork).shown());
    insta::assert_snapshot!("history_of_a_fork", steady(&place.run(&["runs", "history", "f1"]).shown()));
    let (document, code) = place.json(&["resume", "f1"]);
    assert_eq!((code, &document["interrupts"][0]["payload"]), (6, &json!("Publish?")));
    let (document, code) = place.json(&["resume", "f1", "--answer", "yes"]);
    assert_eq!((code, &document["output"]["log"]), (0, &json!(["drafted", "checked", "yes"])));
    assert_eq!(document["executions"]["draft"], 1);
    let (shown, _) = place.json(&["runs", "show", "f1"]);
    assert_eq!((&shown["continuation_of"], &shown["chain_root_id"]), (&json!("r1"), &json!("r1")));
    for run in ["r1", "f1"] {
        assert_eq!(place.run(&["runs", "verify", run]).code, 0, "{run}");
    }
}

#[test]
fn what_cannot_be_done_says_why() {
    let place = asking();
    place.write("values.yaml", "log: [from a file]\n");
    let cases: [(&[&str], i32, &str); 11] = [
        (&["runs", "update", "r1"], 2, "nothing to write"),
        (&["runs", "update", "r1", "--values", "{\"log\": "], 2, "not JSON"),
        (&["runs", "update", "r1", "--values", "[1]"], 2, "a JSON object"),
        (&["runs", "update", "r1", "--values", "none.yaml"], 9, "does not exist"),
        (&["runs", "update", "r1", "--values", "{}", "--as-node", "nobody"], 9, "`draft`"),
        (&["runs", "update", "r1", "--at", "step:7"], 9, "the steps that are there are 0 to 2"),
        (&["runs", "state", "r1", "--at", "17"], 9, "0 to 2"),
        (&["runs", "state", "r1", "--at", "node:x"], 9, "the nodes that are next"),
        (&["runs", "fork", "r1", "--at", "step:1", "--run-id", "r1"], 2, "there is a run r1 already"),
        (&["runs", "fork", "nobody"], 9, "no run is called"),
        (&["runs", "history", "nobody"], 9, "no run is called"),
    ];
    for (args, exit, text) in cases {
        let (document, code) = place.json(args);
        let message = document["error"]["message"].as_str().unwrap_or_default();
        assert!(code == exit && message.contains(text), "{args:?}: {code} {document}");
    }
    assert_eq!(place.run(&["runs", "fork", "r1", "--at", "yesterday"]).code, 2);
    let (edited, code) = place.json(&["runs", "update", "r1", "--values", "values.yaml"]);
    assert_eq!((code, &edited["state"]["log"][2]), (0, &json!("from a file")));
    // A run that has ended is edited and forked as well.
    let (ended, code) = place.json(&["runs", "update", "r1", "--values", "{}", "--as-node", "publish"]);
    assert_eq!((code, &ended["status"]), (0, &json!("completed")));
    let (edited, code) = place.json(&["runs", "update", "r1", "--values", "{\"log\": \"late\"}"]);
    assert_eq!(
        (code, &edited["status"], &edited["state"]["log"][3]),
        (0, &json!("completed"), &json!("late"))
    );
    let (forked, code) = place.json(&["runs", "fork", "r1", "--run-id", "r2"]);
    assert_eq!((code, &forked["state"]["log"][3]), (0, &json!("late")), "{forked}");
    // Without inputs there is nothing to resume.
    let (refused, code) = place.json(&["resume", "r1"]);
    assert_eq!((code, &refused["error"]["code"]), (2, &json!("finished")));
    let (listed, _) = place.json(&["runs", "list"]);
    assert_eq!(listed["runs"].as_array().unwrap().len(), 2);
}
