//! Sessions of the README.

use crate::place::Place;

const ASKING: &str = r#"start: draft
channels: { log: { reducer: append } }
nodes:
  draft: { action: { item_id: t/kit, params: { op: echo, value: "a draft" } }, assign: { text: "${result}", log: [drafted] }, next: ask }
  ask: { action: { item_id: t/kit, params: { op: interrupt, payload: { question: "Publish?", draft: "${state.text}", choices: ["yes", "no"] } } }, assign: { verdict: "${result}" }, next: done }
  done: { type: return, output: { text: "${state.text}", verdict: "${state.verdict}" } }
"#;

#[test]
fn a_run_asks_and_goes_on() {
    let place = Place::with_compiled_testkit();
    place.graph("asking.yaml", ASKING);
    let run = ["run", "asking.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", "r1"];
    insta::assert_snapshot!("ask", place.run(&run).shown());
    for (answer, what) in [(&["--answer", "9.9/0=x"][..], "--answer"), (&[], "--answer ANSWER")] {
        let (refused, code) = place.json(&[&["resume", "r1"], answer].concat());
        assert_eq!(code, 2, "{refused}");
        assert!(
            refused["error"]["help"]
                .as_str()
                .is_some_and(|help| help.contains("runs show") || help.contains(what)),
            "{refused}"
        );
    }
    insta::assert_snapshot!("answer", place.run(&["resume", "@last", "--answer", "yes"]).shown());
    let verified = place.run(&["runs", "verify", "r1"]);
    assert_eq!(verified.code, 0, "{}", verified.stderr);
    let (listed, _) = place.json(&["runs", "list"]);
    assert_eq!(listed["runs"][0]["status"], "completed");
    let (shown, code) = place.json(&["runs", "show", "r1"]);
    assert_eq!(code, 0);
    assert_eq!(shown["state"]["verdict"], "yes");
    assert_eq!(shown["history"].as_array().unwrap().len(), 4);
    assert_eq!((&shown["steps"], &shown["graph"]), (&serde_json::json!(3), &serde_json::json!("asking")));
    let again = place.run(&["resume", "r1", "--answer", "no"]);
    assert_eq!(again.code, 2, "{}", again.stderr);
}

#[test]
fn answers_can_be_given_beforehand() {
    let place = Place::with_compiled_testkit();
    place.graph("asking.yaml", ASKING);
    let run = ["run", "asking.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--answer", "no"];
    let (document, code) = place.json(&run);
    assert_eq!(code, 0);
    assert_eq!(document["output"]["verdict"], "no");
    assert_eq!(document["executions"]["ask"], 2);
}

#[test]
fn a_refusal_says_what_would_help() {
    let place = Place::with_compiled_testkit();
    place.graph("asking.yaml", ASKING);
    insta::assert_snapshot!("refused", place.run(&["run", "asking.yaml", "--allow-unsigned"]).shown());
    let (document, code) = place.json(&["run", "asking.yaml", "--allow-unsigned", "--plan"]);
    assert_eq!(code, 4);
    assert_eq!(document["missing"].as_array().unwrap().len(), 2);
    let suggested = place.run(&["caps", "suggest", "asking.yaml", "--allow-unsigned"]);
    assert_eq!(suggested.code, 0);
    place.write("suggested.yaml", &suggested.stdout);
    let (_, code) =
        place.json(&["run", "asking.yaml", "--allow-unsigned", "--caps", "suggested.yaml", "--plan"]);
    assert_eq!(code, 0);
    let unsigned = place.run(&["run", "asking.yaml", "--caps", "caps.yaml"]);
    assert_eq!(unsigned.code, 8, "{}", unsigned.stderr);
}

#[test]
fn a_change_is_refused_until_it_is_accepted() {
    let place = Place::with_compiled_testkit();
    place.graph("asking.yaml", ASKING);
    place.run(&["run", "asking.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", "r1"]);
    place.graph("asking.yaml", &ASKING.replace("verdict: \"${state.verdict}\"", "verdict: changed"));
    let (refused, code) = place.json(&["resume", "r1", "--answer", "yes"]);
    assert_eq!(code, 8);
    assert!(refused["error"]["changes"][0].as_str().unwrap().contains("changed"), "{refused}");
    let (document, code) = place.json(&["resume", "r1", "--answer", "yes", "--accept-changes"]);
    assert_eq!(code, 0, "{document}");
    assert_eq!(document["output"]["verdict"], "changed");
    assert_eq!(place.run(&["runs", "verify", "r1"]).code, 0);
}

#[test]
fn a_limit_is_raised_by_a_larger_total() {
    let place = Place::new();
    place.graph(
        "loop.yaml",
        "start: a\nmax_steps: 3\nnodes:\n  a: { next: b }\n  b: { next: c }\n  c: { next: d }\n  d: {}\n",
    );
    let (document, code) = place.json(&["run", "loop.yaml", "--run-id", "r1"]);
    assert_eq!((code, &document["error"]["code"]), (7, &serde_json::json!("limit")));
    let (document, code) = place.json(&["resume", "r1", "--max-steps", "10"]);
    assert_eq!((code, &document["status"]), (0, &serde_json::json!("completed")));
}
