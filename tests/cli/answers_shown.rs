//! An answer is accepted for the question as it was shown, and unused answers are reported.

use serde_json::{Value, json};

use crate::place::Place;

const TWO: &str = r#"start: [legal, comment]
nodes:
  legal: { type: ask, ask: { question: "Fine?", choices: ["yes", "no"], default: "no", timeout: 60s }, assign: { legal: "${result}" } }
  comment: { type: ask, ask: { question: "Any comment?" }, assign: { comment: "${result}" } }
"#;

fn again(asked: &Value, at: usize) -> &str {
    asked["interrupts"][at]["payload"]["asked_again"].as_str().unwrap_or_default()
}

fn nodes(asked: &Value) -> Vec<&str> {
    let listed = asked["interrupts"].as_array().map_or(&[][..], Vec::as_slice);
    listed.iter().map(|asked| asked["node"].as_str().unwrap_or_default()).collect()
}

fn replays(place: &Place, run: &str) {
    assert_eq!(place.run(&["runs", "verify", run]).code, 0, "{run}");
    let (replayed, code) = place.json(&["replay", run]);
    assert_eq!((code, &replayed["equal"]), (0, &json!(true)), "{run}: {replayed}");
}

#[test]
fn an_answered_question_that_was_edited_is_asked_again() {
    let place = Place::new();
    for (run, from, to) in [
        ("text", "Fine?", "Fine, with all of it?"),
        ("choices", r#"["yes", "no"]"#, r#"["yes", "no", "later"]"#),
        ("order", r#"["yes", "no"]"#, r#"["no", "yes"]"#),
        ("other", r#"default: "no""#, r#"default: "no", other: true"#),
        ("about", r#"default: "no""#, r#"default: "no", about: "the contract""#),
        ("default", r#"default: "no""#, r#"default: "yes""#),
        ("deadline", ", timeout: 60s", ""),
        ("later", "timeout: 60s", "timeout: 90s"),
        ("schema", r#"choices: ["yes", "no"]"#, "schema: { type: string }"),
    ] {
        place.graph("q.yaml", TWO);
        assert_eq!(place.run(&["run", "q.yaml", "--run-id", run, "-q"]).code, 6);
        assert_eq!(place.run(&["resume", run, "--answer", "legal=yes", "-q"]).code, 6);
        place.graph("q.yaml", &TWO.replace(from, to));
        let resume = ["resume", run, "--accept-changes", "--answer", "comment=none"];
        let (asked, code) = place.json(&resume);
        assert_eq!((code, nodes(&asked)), (6, vec!["legal"]), "{run}: {asked}");
        assert!(again(&asked, 0).contains("`yes`"), "{run}: {asked}");
        let (ended, code) = place.json(&["resume", run, "--answer", "no"]);
        let state = json!({ "legal": "no", "comment": "none" });
        assert_eq!((code, &ended["state"]), (0, &state), "{run}: {ended}");
        replays(&place, run);
    }
}

#[test]
fn an_answered_question_that_was_not_edited_keeps_its_answer() {
    let place = Place::new();
    for (run, from, to) in [
        ("assign", "assign: { legal:", "assign: { seen: 1, legal:"),
        ("neighbour", "Any comment?", "No comment?"),
    ] {
        place.graph("q.yaml", TWO);
        assert_eq!(place.run(&["run", "q.yaml", "--run-id", run, "-q"]).code, 6);
        assert_eq!(place.run(&["resume", run, "--answer", "legal=yes", "-q"]).code, 6);
        place.graph("q.yaml", &TWO.replace(from, to));
        let (asked, code) = place.json(&["resume", run, "--accept-changes"]);
        assert_eq!((code, nodes(&asked)), (6, vec!["comment"]), "{run}: {asked}");
        // The change stays accepted, and has no further effects.
        let (ended, code) = place.json(&["resume", run, "--answer", "none"]);
        assert_eq!((code, &ended["state"]["legal"]), (0, &json!("yes")), "{run}: {ended}");
        replays(&place, run);
    }
}

#[test]
fn an_answer_is_asked_for_again_at_each_edit() {
    let place = Place::new();
    place.graph("q.yaml", TWO);
    assert_eq!(place.run(&["run", "q.yaml", "--run-id", "r", "-q"]).code, 6);
    assert_eq!(place.run(&["resume", "r", "--answer", "legal=yes", "-q"]).code, 6);
    for (edit, answer) in [("Really fine?", "no"), ("Fine indeed?", "yes"), ("Fine?", "no")] {
        place.graph("q.yaml", &TWO.replace("Fine?", edit));
        let (asked, code) = place.json(&["resume", "r", "--accept-changes"]);
        assert_eq!((code, nodes(&asked)), (6, vec!["legal", "comment"]), "{asked}");
        let legal = format!("legal={answer}");
        assert_eq!(place.run(&["resume", "r", "--answer", &legal, "-q"]).code, 6);
    }
    let (ended, code) = place.json(&["resume", "r", "--answer", "none"]);
    assert_eq!((code, &ended["state"]["legal"]), (0, &json!("no")), "{ended}");
    replays(&place, "r");
}

#[test]
fn an_answered_question_of_a_graph_inside_that_was_edited_is_asked_again() {
    let place = Place::new();
    place.write("caps.yaml", "dispatch: ['execute.tool.t.*']\n");
    let child = format!("{TWO}output: \"${{state.legal}}\"\n");
    place.graph(".ai/tools/t/child.yaml", &child);
    place.graph(
        "q.yaml",
        "{ start: each, nodes: { each: { type: foreach, over: [1, 2], as: x, parallel: true, action: { item_id: t/child }, collect: got } } }",
    );
    let run = ["run", "q.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", "r", "-q"];
    assert_eq!(place.run(&run).code, 6);
    let answers = ["each#1/legal=yes", "each#2/legal=yes", "each#1/comment=one"];
    for answer in answers {
        assert_eq!(place.run(&["resume", "r", "--answer", answer, "-q"]).code, 6, "{answer}");
    }
    place.graph(".ai/tools/t/child.yaml", &child.replace("Fine?", "Really fine?"));
    // The first child run has ended with its answer; the second one has committed nothing.
    let (asked, code) = place.json(&["resume", "r", "--accept-changes"]);
    assert_eq!((code, nodes(&asked)), (6, vec!["each/legal", "each/comment"]), "{asked}");
    assert!(again(&asked, 0).contains("`yes`"), "{asked}");
    let (ended, code) =
        place.json(&["resume", "r", "--answer", "each#2/legal=no", "--answer", "each#2/comment=two"]);
    assert_eq!((code, &ended["state"]["got"]), (0, &json!(["yes", "no"])), "{ended}");
    assert_eq!(place.run(&["runs", "verify", "r"]).code, 0);
}

/// The question depends on an input and on the state.
const AMOUNT: &str = r#"start: a
channels: { payee: { default: Ann } }
nodes:
  a: { type: ask, ask: { question: "Pay ${inputs.amount} to ${state.payee}?", choices: [approve, reject] }, assign: { v: "${result}" } }
"#;

#[test]
fn an_answer_with_new_inputs_counts_for_the_question_that_was_shown() {
    let place = Place::new();
    place.graph("q.yaml", AMOUNT);
    for (run, answer) in
        [("id", "1.0/0=approve"), ("node", "a=approve"), ("bare", "approve"), ("number", "1")]
    {
        assert_eq!(place.run(&["run", "q.yaml", "-i", "amount=100", "--run-id", run, "-q"]).code, 6);
        let ran = place.run(&["resume", run, "-i", "amount=5000", "--answer", answer, "--json"]);
        let asked: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!((ran.code, nodes(&asked)), (6, vec!["a"]), "{answer}: {}", ran.shown());
        assert_eq!(asked["interrupts"][0]["payload"]["question"], "Pay 5000 to Ann?", "{answer}: {asked}");
        assert_eq!(asked["unused_answers"][0]["answer"], answer, "{asked}");
        assert!(ran.stderr.contains("was not used: its question has changed"), "{}", ran.stderr);
        let (ended, code) = place.json(&["resume", run, "--answer", "reject"]);
        assert_eq!((code, &ended["state"]["v"]), (0, &json!("reject")), "{ended}");

        // An input that the question does not depend on leaves it as it was shown.
        let run = format!("{run}-same");
        assert_eq!(place.run(&["run", "q.yaml", "-i", "amount=100", "--run-id", &run, "-q"]).code, 6);
        let (ended, code) = place.json(&["resume", &run, "-i", "note=x", "--answer", answer]);
        assert_eq!((code, &ended["state"]["v"]), (0, &json!("approve")), "{answer}: {ended}");
        assert_eq!(ended.get("unused_answers"), None, "{ended}");
    }
    // A new turn of a run that has ended has asked nothing yet.
    let (ended, code) = place.json(&["resume", "id", "-i", "amount=7", "--answer", "approve"]);
    assert_eq!((code, &ended["state"]["v"]), (0, &json!("approve")), "{ended}");
}

#[test]
fn an_answer_of_a_superstep_that_new_inputs_start_again_is_none() {
    let place = Place::new();
    place.graph("q.yaml", &TWO.replace("Fine?", "Fine, ${inputs.who || 'Ann'}?"));
    assert_eq!(place.run(&["run", "q.yaml", "--run-id", "r", "-q"]).code, 6);
    assert_eq!(place.run(&["resume", "r", "--answer", "legal=yes", "-q"]).code, 6);
    let resume = ["resume", "r", "-i", "who=Bob", "--answer", "legal=yes", "--answer", "comment=none"];
    let (asked, code) = place.json(&resume);
    assert_eq!((code, nodes(&asked)), (6, vec!["legal"]), "{asked}");
    assert_eq!(asked["unused_answers"][0]["answer"], "legal=yes", "{asked}");
}

#[test]
fn an_answer_with_an_edit_of_the_state_counts_for_the_question_that_was_shown() {
    let place = Place::new();
    place.graph("q.yaml", AMOUNT);
    for (run, answer) in [("id", "1.0/0=approve"), ("node", "a=approve"), ("bare", "approve")] {
        assert_eq!(place.run(&["run", "q.yaml", "-i", "amount=100", "--run-id", run, "-q"]).code, 6);
        let (asked, code) = place.json(&["resume", run, "--update", "payee=Mallory", "--answer", answer]);
        assert_eq!((code, nodes(&asked)), (6, vec!["a"]), "{answer}: {asked}");
        assert_eq!(asked["interrupts"][0]["payload"]["question"], "Pay 100 to Mallory?", "{asked}");
        assert!(again(&asked, 0).contains("`approve`"), "{asked}");
        let (ended, code) = place.json(&["resume", run, "--update", "note=1", "--answer", "reject"]);
        assert_eq!((code, &ended["state"]["v"]), (0, &json!("reject")), "{ended}");
        replays(&place, run);
    }
}

#[test]
fn an_answer_that_accepted_changes_refuse_is_said_to_be_unused() {
    let place = Place::new();
    place.graph("q.yaml", AMOUNT);
    assert_eq!(place.run(&["run", "q.yaml", "-i", "amount=1", "--run-id", "r", "-q"]).code, 6);
    place.graph("q.yaml", &AMOUNT.replace("reject]", "refuse]"));
    let ran = place.run(&["resume", "r", "--accept-changes", "--answer", "refuse"]);
    assert_eq!(ran.code, 6, "{}", ran.shown());
    assert!(ran.stderr.contains("asked_again: ") && ran.stderr.contains("`refuse`"), "{}", ran.stderr);
    let (ended, code) = place.json(&["resume", "r", "--answer", "refuse"]);
    assert_eq!((code, &ended["state"]["v"]), (0, &json!("refuse")), "{ended}");
    replays(&place, "r");
}

#[test]
fn answers_that_no_question_takes_are_said() {
    let place = Place::new();
    place.graph("q.yaml", TWO);
    place.graph("none.yaml", "{ start: a, nodes: { a: { assign: { v: 1 } } } }");
    let unused = |command: &[&str], code: i32, answers: &[&str]| {
        let ran = place.run(&[command, &["--json"]].concat());
        let ended: Value = serde_json::from_str(&ran.stdout).unwrap();
        let listed = ended["unused_answers"].as_array().map_or(&[][..], Vec::as_slice);
        let listed: Vec<_> = listed.iter().filter_map(|unused| unused["answer"].as_str()).collect();
        assert_eq!((ran.code, &listed[..]), (code, answers), "{command:?}: {}", ran.shown());
        for answer in answers {
            assert!(ran.stderr.contains(&format!("`{answer}` was not used")), "{}", ran.stderr);
        }
    };
    unused(&["run", "none.yaml", "--answer", "x=1", "--answer", "2"], 0, &["x=1", "2"]);
    let three = ["run", "q.yaml", "--answer", "yes", "--answer", "fine", "--answer", "more"];
    unused(&three, 0, &["more"]);
    let twice = ["run", "q.yaml", "--answer", "legal=yes", "--answer", "legal=no", "--answer", "comment=x"];
    unused(&twice, 0, &["legal=no"]);
    // An answer to a later question is kept until the run stops.
    unused(&["run", "q.yaml", "--run-id", "r", "--answer", "comment=x"], 6, &[]);
    unused(&["resume", "r", "--answer", "legal=yes"], 0, &[]);
    unused(&["run", "q.yaml", "--run-id", "s"], 6, &[]);
    unused(&["resume", "s", "--answer", "legal=yes"], 6, &[]);
    unused(&["resume", "s", "--answer", "fine", "--answer", "more"], 0, &["more"]);
    let quiet = place.run(&["run", "none.yaml", "-q", "--answer", "x"]);
    assert!(quiet.stderr.contains("`x` was not used"), "{}", quiet.stderr);
}
