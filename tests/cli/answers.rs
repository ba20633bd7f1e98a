//! Answers from the command line: their questions, their acceptance, and the messages about unused ones.

use serde_json::{Value, json};

use crate::place::Place;

const TWO: &str = r#"start: [legal, comment]
nodes:
  legal: { type: ask, ask: { question: "Fine?", choices: ["yes", "no"] }, assign: { legal: "${result}" } }
  comment: { type: ask, ask: { question: "Any comment?" }, assign: { comment: "${result}" } }
"#;

fn code_of(document: &Value) -> &str {
    document["error"]["code"].as_str().unwrap_or_default()
}

#[test]
fn an_answer_to_an_answered_question_is_none_to_another() {
    let place = Place::new();
    place.graph("q.yaml", TWO);
    assert_eq!(place.run(&["run", "q.yaml", "--run-id", "r", "-q"]).code, 6);
    assert_eq!(place.run(&["resume", "r", "--answer", "legal=yes", "-q"]).code, 6);
    for name in ["legal", "1.0/0"] {
        let (refused, code) = place.json(&["resume", "r", "--answer", &format!("{name}=no")]);
        assert_eq!((code, code_of(&refused)), (2, "already_answered"), "{refused}");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains("was answered at 2") && message.contains("with `yes`"), "{message}");
    }
    // A text that only looks like this is written after the name of its question.
    let (ended, code) = place.json(&["resume", "r", "--answer", "comment=legal=no"]);
    assert_eq!((code, &ended["state"]), (0, &json!({ "legal": "yes", "comment": "legal=no" })), "{ended}");
    let (refused, code) = place.json(&["resume", "r", "--answer", "legal=no"]);
    assert_eq!((code, code_of(&refused)), (2, "finished"), "{refused}");
}

#[test]
fn an_answer_of_an_earlier_step_is_remembered() {
    let place = Place::new();
    place.graph(
        "q.yaml",
        r#"start: legal
nodes:
  legal: { type: ask, ask: { question: "Fine?" }, assign: { legal: "${result}" }, next: comment }
  comment: { type: ask, ask: { question: "Any comment?" }, assign: { comment: "${result}" } }
"#,
    );
    assert_eq!(place.run(&["run", "q.yaml", "--run-id", "r", "-q", "--answer", "ok"]).code, 6);
    for name in ["legal", "1.0/0"] {
        let (refused, code) = place.json(&["resume", "r", "--answer", &format!("{name}=no")]);
        assert_eq!((code, code_of(&refused)), (2, "already_answered"), "{refused}");
        assert!(refused["error"]["message"].as_str().unwrap().contains("with `ok`"), "{refused}");
    }
    let (ended, code) = place.json(&["resume", "r", "--answer", "2.0/0=fine"]);
    assert_eq!((code, &ended["state"]["comment"]), (0, &json!("fine")), "{ended}");
}

#[test]
fn answers_in_advance_are_for_the_questions_that_they_name() {
    let place = Place::new();
    place.graph("q.yaml", TWO);
    let (ended, code) =
        place.json(&["run", "q.yaml", "--run-id", "r", "--answer", "comment=none", "--answer", "legal=no"]);
    assert_eq!((code, &ended["state"]), (0, &json!({ "legal": "no", "comment": "none" })), "{ended}");
    // A fork has not asked yet.
    assert_eq!(place.run(&["runs", "fork", "r", "--at", "step:0", "--run-id", "f"]).code, 0);
    let (ended, code) = place.json(&["resume", "f", "--answer", "comment=some", "--answer", "legal=yes"]);
    assert_eq!((code, &ended["state"]), (0, &json!({ "legal": "yes", "comment": "some" })), "{ended}");
    assert_eq!(place.run(&["runs", "fork", "r", "--at", "step:0", "--run-id", "g"]).code, 0);
    let (ended, code) = place.json(&["resume", "g", "--answer", "yes", "--answer", "any"]);
    assert_eq!((code, &ended["state"]), (0, &json!({ "legal": "yes", "comment": "any" })), "{ended}");
    let fork =
        ["runs", "fork", "r", "--at", "step:0", "--go", "--answer", "comment=x", "--answer", "legal=no"];
    let (ended, code) = place.json(&fork);
    assert_eq!((code, &ended["state"]), (0, &json!({ "legal": "no", "comment": "x" })), "{ended}");
    // A name that no question has is not used as an answer to the open question.
    assert_eq!(place.run(&["runs", "fork", "r", "--at", "step:0", "--go", "--run-id", "h"]).code, 6);
    let (refused, code) = place.json(&["resume", "h", "--answer", "leagl=yes"]);
    assert_eq!(code, 2, "{refused}");
}

#[test]
fn a_question_of_a_graph_inside_is_named_by_its_path() {
    let place = Place::new();
    place.write("caps.yaml", "dispatch: ['execute.tool.t.*']\n");
    place.graph(
        ".ai/tools/t/child.yaml",
        "{ start: q, output: \"${state.said}\", nodes: { q: { type: ask, ask: { question: Who? }, assign: { said: \"${result}\" } } } }",
    );
    place.graph(
        "q.yaml",
        "{ start: each, nodes: { each: { type: foreach, over: [1, 2, 3], as: x, parallel: true, action: { item_id: t/child }, collect: got } } }",
    );
    let run = ["run", "q.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", "r", "-q"];
    assert_eq!(place.run(&run).code, 6);
    let (refused, code) = place.json(&["resume", "r", "--answer", "each/q=x"]);
    assert_eq!((code, code_of(&refused)), (2, "ambiguous_answer"), "{refused}");
    assert_eq!(place.run(&["resume", "r", "--answer", "each#2/q=two", "-q"]).code, 6);
    let (refused, code) = place.json(&["resume", "r", "--answer", "each#2/q=again"]);
    assert_eq!((code, code_of(&refused)), (2, "already_answered"), "{refused}");
    let (ended, code) =
        place.json(&["resume", "r", "--answer", "each#3/q=three", "--answer", "each#1/q=one"]);
    assert_eq!((code, &ended["state"]["got"]), (0, &json!(["one", "two", "three"])), "{ended}");
}

#[test]
fn a_late_answer_is_refused_and_lists_mark_what_has_expired() {
    let place = Place::new();
    place.graph(
        "q.yaml",
        r#"start: deploy
nodes:
  deploy: { type: ask, ask: { question: "Deploy?", choices: [go, stop], timeout: 1ms, default: stop }, assign: { v: "${result}" } }
"#,
    );
    assert_eq!(place.run(&["run", "q.yaml", "--run-id", "r", "-q"]).code, 6);
    std::thread::sleep(std::time::Duration::from_millis(5));
    let (listed, _) = place.json(&["runs", "list"]);
    assert_eq!(listed["runs"][0]["expired"][0]["default"], "stop", "{listed}");
    let (shown, _) = place.json(&["runs", "show", "r"]);
    assert_eq!(shown["interrupts"][0]["expired"], true, "{shown}");
    for command in [["runs", "list"].as_slice(), &["runs", "show", "r"]] {
        let told = place.run(command).shown();
        assert!(told.contains("ago; its default `stop` is used at the next resume"), "{told}");
        assert!(!told.contains("1. go"), "{told}");
    }
    for answer in ["go", "deploy=go", "1.0/0=go", "nothing of it"] {
        let (refused, code) = place.json(&["resume", "r", "--answer", answer]);
        assert_eq!((code, code_of(&refused)), (2, "answer_too_late"), "{refused}");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains("expired at 2") && message.contains("`stop`"), "{message}");
    }
    let (ended, code) = place.json(&["resume", "r"]);
    assert_eq!((code, &ended["state"]["v"]), (0, &json!("stop")), "{ended}");
    let (verified, code) = place.json(&["runs", "verify", "r"]);
    assert_eq!(code, 0, "{verified}");
    let (replayed, code) = place.json(&["replay", "r"]);
    assert_eq!(code, 0, "{replayed}");
}

#[test]
fn a_question_that_was_edited_is_asked_again() {
    let place = Place::new();
    let graph = r#"{ start: a, nodes: { a: { type: ask, ask: { question: "ok?", choices: [y, n] }, assign: { v: "${result}" } } } }"#;
    place.graph("g.yaml", graph);
    assert_eq!(place.run(&["run", "g.yaml", "--run-id", "r", "-q"]).code, 6);
    place.graph("g.yaml", &graph.replace("[y, n]", "[y, approve, reject]"));
    let (asked, code) = place.json(&["resume", "r", "--answer", "y", "--accept-changes"]);
    assert_eq!(
        (code, &asked["interrupts"][0]["form"]["choices"]),
        (6, &json!(["y", "approve", "reject"])),
        "{asked}"
    );
    let (asked, code) = place.json(&["resume", "r"]);
    assert_eq!((code, asked["interrupts"].as_array().map(Vec::len)), (6, Some(1)), "{asked}");
    let (ended, code) = place.json(&["resume", "r", "--answer", "approve"]);
    assert_eq!((code, &ended["state"]["v"]), (0, &json!("approve")), "{ended}");
    assert_eq!(place.run(&["runs", "verify", "r"]).code, 0);

    // Neither an answer to the former question nor one to the present question is accepted before it is asked again.
    for (run, answer) in [("v", "n"), ("w", "reject")] {
        place.graph("g.yaml", graph);
        assert_eq!(place.run(&["run", "g.yaml", "--run-id", run, "-q"]).code, 6);
        place.graph("g.yaml", &graph.replace("[y, n]", "[approve, reject]"));
        let (asked, code) = place.json(&["resume", run, "--answer", answer, "--accept-changes"]);
        assert_eq!(
            (code, &asked["interrupts"][0]["form"]["choices"]),
            (6, &json!(["approve", "reject"])),
            "{asked}"
        );
    }

    // Without an answer it is asked again at once, and an unchanged question takes its answer.
    place.graph("g.yaml", graph);
    assert_eq!(place.run(&["run", "g.yaml", "--run-id", "s", "-q"]).code, 6);
    place.graph("g.yaml", &graph.replace("ok?", "really?"));
    let (asked, code) = place.json(&["resume", "s", "--accept-changes"]);
    assert_eq!((code, &asked["interrupts"][0]["payload"]["question"]), (6, &json!("really?")), "{asked}");
    let (ended, code) = place.json(&["resume", "s", "--answer", "n"]);
    assert_eq!((code, &ended["state"]["v"]), (0, &json!("n")), "{ended}");

    place.graph("g.yaml", graph);
    assert_eq!(place.run(&["run", "g.yaml", "--run-id", "t", "-q"]).code, 6);
    place.graph("g.yaml", &graph.replace("assign: {", "assign: { w: 1,"));
    let (ended, code) = place.json(&["resume", "t", "--answer", "n", "--accept-changes"]);
    assert_eq!((code, &ended["state"]["v"]), (0, &json!("n")), "{ended}");
}

#[test]
fn a_question_of_a_graph_inside_that_was_edited_is_asked_again() {
    let place = Place::new();
    place.write("caps.yaml", "dispatch: ['execute.tool.t.*']\n");
    let child = "{ start: q, output: \"${state.said}\", nodes: { q: { type: ask, ask: { question: Who?, choices: [a, b] }, assign: { said: \"${result}\" } } } }";
    place.graph(".ai/tools/t/child.yaml", child);
    place.graph(
        "q.yaml",
        "{ start: n, nodes: { n: { action: { item_id: t/child }, assign: { got: \"${result}\" } } } }",
    );
    let run = ["run", "q.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", "r", "-q"];
    assert_eq!(place.run(&run).code, 6);
    place.graph(".ai/tools/t/child.yaml", &child.replace("[a, b]", "[c, d]"));
    let (asked, code) = place.json(&["resume", "r", "--accept-changes"]);
    assert_eq!((code, &asked["interrupts"][0]["form"]["choices"]), (6, &json!(["c", "d"])), "{asked}");
    let (ended, code) = place.json(&["resume", "r", "--answer", "d"]);
    assert_eq!((code, &ended["state"]["got"]), (0, &json!("d")), "{ended}");
}

#[test]
fn a_changed_reducer_is_accepted_where_the_stored_value_fits_it() {
    let place = Place::new();
    let graph = |channels: &str| {
        format!(
            "start: a\nchannels: {channels}\nnodes:\n  a: {{ assign: {{ notes: first, total: 5, list: [1] }}, next: review }}\n  \
             review: {{ type: ask, ask: {{ question: \"ok?\" }}, next: b }}\n  b: {{ assign: {{ notes: second, total: 1, list: [2] }} }}\n"
        )
    };
    let channels = "{ total: { reducer: sum, default: 0 } }";
    for (run, changed, names, update) in [
        (
            "r",
            "{ notes: append, total: append }",
            ["`notes`", "`total`"],
            vec![r#"notes={"overwrite":["first"]}"#, r#"total={"overwrite":[5]}"#],
        ),
        ("s", "{ notes: merge, total: sum }", ["`notes`", "an object"], vec![r#"notes={"overwrite":{}}"#]),
        ("t", "{ notes: max, total: sum }", ["`notes`", "a number"], vec![r#"notes={"overwrite":0}"#]),
    ] {
        place.graph("g.yaml", &graph(channels));
        assert_eq!(place.run(&["run", "g.yaml", "--run-id", run, "-q"]).code, 6);
        place.graph("g.yaml", &graph(changed));
        let resume = ["resume", run, "--answer", "y", "--accept-changes"];
        let (refused, code) = place.json(&resume);
        assert_eq!((code, code_of(&refused)), (8, "integrity"), "{refused}");
        let message = refused["error"]["message"].as_str().unwrap();
        for named in names.iter().copied().chain(update.iter().copied()) {
            assert!(message.contains(named), "{named}: {message}");
        }
        // The refusal has changed nothing.
        assert_eq!(place.json(&["runs", "show", run]).0["state"]["notes"], "first");
    }
    let settled = [
        "resume",
        "r",
        "--answer",
        "y",
        "--accept-changes",
        "--update",
        r#"notes={"overwrite":["first"]}"#,
        "--update",
        r#"total={"overwrite":[5]}"#,
    ];
    place.graph("g.yaml", &graph("{ notes: append, total: append }"));
    let (ended, code) = place.json(&settled);
    let state = json!({ "notes": ["first", "second"], "total": [5, 1], "list": [2] });
    assert_eq!((code, &ended["state"]), (0, &state), "{ended}");

    // A reducer that fits the value is accepted unchanged, and an untracked channel would lose its value.
    place.graph("g.yaml", &graph(channels));
    assert_eq!(place.run(&["run", "g.yaml", "--run-id", "u", "-q"]).code, 6);
    place.graph("g.yaml", &graph("{ total: untracked, list: append }"));
    let (refused, code) = place.json(&["resume", "u", "--answer", "y", "--accept-changes"]);
    assert_eq!(code, 8, "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("would be lost"), "{refused}");
    place.graph("g.yaml", &graph("{ total: max, list: append }"));
    let (ended, code) = place.json(&["resume", "u", "--answer", "y", "--accept-changes"]);
    assert_eq!(
        (code, &ended["state"]),
        (0, &json!({ "notes": "second", "total": 5, "list": [1, 2] })),
        "{ended}"
    );
}
