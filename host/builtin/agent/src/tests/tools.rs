//! Tool calls, and their results for the model.

use std::cell::Cell;
use std::rc::Rc;

use graph_sdk::model::ToolChoice;

use super::*;

#[test]
fn tools_are_called_between_two_calls_of_the_model() {
    let host = host([call("acme_double", json!({ "n": 4 })), text("It is 8.")]);
    let mut run = Run::new(settings());
    let answer = run.finish(&host).unwrap();
    assert_eq!(
        (&answer["text"], &answer["turns"], &answer["thread_length"]),
        (&json!("It is 8."), &json!(2), &json!(4))
    );
    assert_eq!(
        answer["cost"],
        json!({ "turns": 2, "input_tokens": 200, "output_tokens": 20, "spend": 0.003 })
    );
    // A call of the model, the tool, and a call of the model.
    assert_eq!(run.supersteps(), 3);
    let requests = host.model_requests();
    let tool = &requests[0].tools[0];
    assert_eq!((tool.name.as_str(), tool.description.as_str()), ("acme_double", "Doubles."));
    assert_eq!(
        (&tool.parameters, &requests[0].tool_choice),
        (&json!({ "type": "object" }), &ToolChoice::Auto)
    );
    let results: Vec<_> = requests[1].messages[2].tool_results().cloned().collect();
    assert_eq!((results[0].content.as_str(), results[0].failed), ("{\"doubled\":8}", false));
}

#[test]
fn calls_are_performed_in_order_and_failures_are_results() {
    let calls = Response::calls([
        ("acme_double", json!({ "n": 1 })),
        ("acme_double", json!({ "n": "x" })),
        ("acme_halve", json!({})),
        ("say", json!({ "n": 2 })),
        ("denied", json!({})),
        ("acme_double", json!([1])),
        ("acme_double", json!("{\"n\": ")),
        ("acme_double", json!("{n: 1}")),
        ("acme_double", json!("[1]")),
        ("acme_double", json!("{\"n\": 1}")),
    ]);
    let order = Rc::new(Cell::new(0));
    let seen = Rc::clone(&order);
    let host = host([used(calls), text("done")]).item("acme/say", move |params| {
        assert_eq!(params["n"], 2);
        seen.set(seen.get() + 1);
        Ok(json!("said"))
    });
    let tools = json!([
        { "item": "acme/double", "parameters": { "type": "object", "properties": { "n": { "type": "integer" } } } },
        { "item": "acme/say", "name": "say" },
        { "item": "acme/denied", "name": "denied" },
    ]);
    let mut run = Run::new(with(json!({ "tools": tools })));
    run.finish(&host).unwrap();
    assert_eq!(order.get(), 1);
    let requests = host.model_requests();
    let results: Vec<_> = requests[1].messages[2]
        .tool_results()
        .map(|result| (result.content.as_str(), result.failed))
        .collect();
    assert_eq!(
        results,
        [
            ("{\"doubled\":2}", false),
            ("invalid_input: `n` must be a number", true),
            ("there is no tool `acme_halve`: the tools are acme_double, say, denied", true),
            ("said", false),
            ("denied: `acme/denied` may not be called", true),
            ("the arguments must be a JSON object", true),
            (
                "the arguments are not whole: EOF while parsing a value at line 1 column 6; they may be longer than an answer may be: call the tool again with shorter ones",
                true
            ),
            ("the arguments are not JSON: key must be a string at line 1 column 2", true),
            ("the arguments must be a JSON object", true),
            ("the arguments are too large, or nested too deep", true),
        ]
    );
}

#[test]
fn long_results_are_cut() {
    let host =
        host([call("long", json!({})), text("done")]).item("acme/long", |_| Ok(json!("é".repeat(5000))));
    let tools = json!([{ "item": "acme/long", "name": "long" }]);
    let mut run = Run::new(with(json!({ "tools": tools })));
    run.finish(&host).unwrap();
    let content = run.thread()[2].tool_results().next().unwrap().content.clone();
    assert_eq!(content, format!("{}\n[1000 of 5000 characters are left out]", "é".repeat(4000)));
}

#[test]
fn a_model_without_tools_is_told_so() {
    let host = host([call("search", json!({})), text("done")]);
    let mut run = Run::new(json!({ "message": "Hi" }));
    run.finish(&host).unwrap();
    let content = run.thread()[2].tool_results().next().unwrap().content.clone();
    assert_eq!(content, "there is no tool `search`: no tools can be called");
}

#[test]
fn a_call_without_a_result_is_a_mistake_of_the_graph() {
    let host = host([call("acme_double", json!({ "n": 4 }))]);
    let mut run = Run::new(settings());
    run.activate(&host).unwrap();
    run.set("results", json!([]));
    let failure = run.activate(&host).unwrap_err().failure();
    assert_eq!(failure.category(), Some(Category::Internal));
    assert!(failure.to_string().contains("no result of the call `call-1` of `acme_double`"), "{failure}");
}

#[test]
fn permissions_bound_what_the_model_is_offered() {
    let tools = json!([{ "item": "acme/double" }, { "item": "other/x" }]);
    for (permissions, expected) in [
        (json!(null), vec!["acme_double", "other_x"]),
        (json!([]), vec![]),
        (json!(["rye.execute.tool.acme.*"]), vec!["acme_double"]),
        (json!(["execute.tool.other.x", "load.tool.acme.*"]), vec!["other_x"]),
        (json!(["execute.tool.acme", "acme/double"]), vec![]),
    ] {
        let host = host([call("acme_double", json!({ "n": 1 })), text("done")]);
        let mut run = Run::new(with(json!({ "tools": tools, "permissions": permissions })));
        run.finish(&host).unwrap();
        let requests = host.model_requests();
        let offered: Vec<_> = requests[0].tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(offered, expected, "{permissions}");
        // A tool that was not offered is not called, even if the model asks for it.
        assert_eq!(run.thread()[2].tool_results().next().unwrap().failed, !expected.contains(&"acme_double"));
    }
}
