//! Whole tasks, activation by activation, as the graph of `rye/agent/agent` executes them.
#![allow(clippy::unwrap_used, clippy::needless_pass_by_value, clippy::unnecessary_wraps)]

mod approvals;
mod limits;
mod outputs;
mod state;
mod summaries;
mod threads;
mod tools;

use graph_sdk::model::{Message, Response, Usage};
use graph_sdk::prelude::*;
use graph_sdk::testing::Host;

use state::{Run, Stopped};

/// Returns an answer with a usage.
fn used(response: Response) -> Result<Response, Failure> {
    Ok(response.used(Usage { input: 100, output: 10, cached: 50, reasoning: 5, cost: 1_500 }))
}

fn text(text: &str) -> Result<Response, Failure> {
    used(Response::text(text))
}

fn call(name: &str, arguments: Value) -> Result<Response, Failure> {
    used(Response::calls([(name, arguments)]))
}

/// Returns a host with a model and the item `acme/double`.
fn host(answers: impl IntoIterator<Item = Result<Response, Failure>>) -> Host {
    Host::new().model("fast", answers).item("acme/double", |params| match params["n"].as_i64() {
        Some(n) => Ok(json!({ "doubled": 2 * n })),
        None => Err(Failure::invalid_input("`n` must be a number")),
    })
}

fn settings() -> Value {
    json!({ "message": "Double 4.", "tools": [{ "item": "acme/double", "description": "Doubles." }] })
}

/// Returns the settings with others added or replaced.
fn with(more: Value) -> Value {
    let mut settings = settings();
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    settings
}

#[test]
fn a_text_answers_a_message() {
    let host = host([text("Hello!")]);
    let mut run =
        Run::new(json!({ "message": "Hi", "system": "Be kind.", "max_output": 20, "temperature": 0.5 }));
    assert_eq!(
        run.finish(&host).unwrap(),
        json!({
            "status": "completed", "text": "Hello!", "outputs": null, "turns": 1, "thread_length": 2,
            "cost": { "turns": 1, "input_tokens": 100, "output_tokens": 10, "spend": 0.0015 },
        })
    );
    let requests = host.model_requests();
    assert_eq!(requests[0].messages, [Message::user("Hi")]);
    assert_eq!((requests[0].system.as_deref(), requests[0].max_output), (Some("Be kind."), Some(20)));
    assert_eq!((requests[0].temperature, requests[0].tools.len()), (Some(0.5), 0));
    assert_eq!(run.thread(), [Message::user("Hi"), Message::assistant("Hello!")]);
}

#[test]
fn null_is_what_is_left_out() {
    let host = host([text("Hello!")]);
    let settings = json!({
        "message": "Hi", "model": null, "tools": null, "outputs": {}, "approvals": null, "permissions": null,
        "capabilities": ["execute.*"], "depth": 3,
        "limits": { "turns": null, "finish": null, "spend": null },
        "context": { "window": 100, "keep": 10, "at": null, "summary": { "model": null, "max_output": null } },
    });
    assert_eq!(Run::new(settings).finish(&host).unwrap()["outputs"], Value::Null);
}

#[test]
fn a_finished_conversation_takes_another_message() {
    let host = host([text("Hello!"), text("Again!"), text("And again!")]);
    let mut run = Run::new(json!({ "message": "Hi" }));
    run.finish(&host).unwrap();
    // The same text is a new message, too.
    run.again(json!({ "message": "Hi" }));
    let answer = run.finish(&host).unwrap();
    assert_eq!(
        (&answer["text"], &answer["turns"], &answer["cost"]["turns"]),
        (&json!("Again!"), &json!(1), &json!(2))
    );
    run.again(json!({ "message": [{ "text": "Look" }, { "media": { "media_type": "image/png", "data": "AAEC" } }] }));
    let answer = run.finish(&host).unwrap();
    assert_eq!((&answer["text"], &answer["thread_length"]), (&json!("And again!"), &json!(6)));
    let requests = host.model_requests();
    assert_eq!(requests[2].messages.len(), 5);
    assert_eq!(requests[2].messages[4].blocks.len(), 2);
}

#[test]
fn there_has_to_be_something_to_answer() {
    let host = host([text("Hello!")]);
    let mut run = Run::new(json!({}));
    let failure = run.finish(&host).unwrap_err().failure();
    assert_eq!(failure.category(), Some(Category::InvalidInput));
    assert!(failure.to_string().contains("settings.message: is missing"), "{failure}");
    run.settings(json!({ "message": "Hi" }));
    run.finish(&host).unwrap();
    // Without a new start of the graph, the message counts as answered.
    let failure = run.activate(&host).unwrap_err().failure();
    assert!(failure.to_string().contains("is the one that was answered last"), "{failure}");
}

#[test]
fn the_first_granted_model_is_asked() {
    let first = host([text("Hello!")]).model("good", [text("Good day!")]);
    Run::new(json!({ "message": "Hi" })).finish(&first).unwrap();
    assert_eq!(first.model_requests()[0].model, "fast");
    Run::new(json!({ "message": "Hi", "model": "good" })).finish(&first).unwrap();
    assert_eq!(first.model_requests()[1].model, "good");
    let none = Host::new();
    let failure = Run::new(json!({ "message": "Hi" })).finish(&none).unwrap_err().failure();
    assert_eq!(failure.category(), Some(Category::Denied));
    let failure = Run::new(json!({ "message": "Hi", "model": "other" })).finish(&none).unwrap_err().failure();
    assert_eq!(failure.category(), Some(Category::Denied));
}

#[test]
fn failures_of_the_model_are_those_of_the_node() {
    let host = host([
        Err(Failure::rate_limited("later")),
        Ok(Response::text("I must not.").stopped(graph_sdk::model::StopReason::Refused)),
        Ok(Response::text("The sea ri").stopped(graph_sdk::model::StopReason::MaxOutput)),
    ]);
    let mut run = Run::new(json!({ "message": "Hi" }));
    assert_eq!(run.finish(&host).unwrap_err().failure(), Failure::rate_limited("later"));
    let refused = run.finish(&host).unwrap_err().failure();
    assert_eq!(refused.category(), Some(Category::Permanent));
    assert_eq!(refused.to_string(), "the model refuses to answer: I must not.");
    // A failure writes nothing: the task continues from its last state.
    let answer = run.finish(&host).unwrap();
    assert_eq!((&answer["text"], &answer["truncated"]), (&json!("The sea ri"), &json!(true)));
    assert_eq!(answer["thread_length"], 2);
}

#[test]
fn settings_are_checked_before_anything_is_paid() {
    let host = host([]);
    for (settings, message) in [
        (json!({ "message": "" }), "settings.message: is empty"),
        (json!({ "message": [] }), "settings.message: is empty"),
        (json!({ "message": [{ "text": "" }] }), "settings.message[0]: is empty"),
        (
            json!({ "message": [{ "reasoning": 1 }] }),
            "settings.message[0]: must be a `text` or a `media` block",
        ),
        (with(json!({ "modle": "fast" })), "unknown field `modle`"),
        (with(json!({ "temperature": 3 })), "settings.temperature: must be from 0 to 2, not 3"),
        (with(json!({ "max_output": 0 })), "settings.max_output: must be at least 1"),
        (with(json!({ "limits": { "turns": 0 } })), "settings.limits.turns: must be from 1 to 400, not 0"),
        (
            with(json!({ "limits": { "turns": 401 } })),
            "settings.limits.turns: must be from 1 to 400, not 401",
        ),
        (with(json!({ "limits": { "repeats": 1 } })), "settings.limits.repeats: must be at least 2"),
        (with(json!({ "limits": { "tool_result": 0 } })), "settings.limits.tool_result: must be at least 1"),
        (with(json!({ "limits": { "spend": -1 } })), "settings.limits.spend: must be at least 0, not -1"),
        (with(json!({ "limits": { "turn": 1 } })), "unknown field `turn`"),
        (
            with(json!({ "approvals": [{ "tool": "", "then": "ask" }] })),
            "settings.approvals[0].tool: is empty",
        ),
        (with(json!({ "approvals": [{ "tool": "*", "then": "maybe" }] })), "unknown variant `maybe`"),
        (
            with(json!({ "tools": [{ "item": "a/b@1.0" }] })),
            "settings.tools[0]: `a_b@1.0` cannot be its name",
        ),
        (
            with(json!({ "tools": [{ "item": "a/b" }, { "item": "a/b" }] })),
            "settings.tools[1]: an earlier tool",
        ),
        (
            with(json!({ "tools": [{ "item": "a", "name": "directive_return" }] })),
            "is that of the tool that returns",
        ),
        (
            with(json!({ "tools": [{ "item": "a", "parameters": 1 }] })),
            "settings.tools[0].parameters: must be a JSON Schema",
        ),
        (with(json!({ "context": { "window": 0 } })), "settings.context.window: must be at least 1"),
        (with(json!({ "context": { "window": 9, "at": 1.5 } })), "settings.context.at: must be above 0"),
        (
            with(json!({ "context": { "window": 9, "keep": 9 } })),
            "settings.context.keep: must be below the window",
        ),
        (
            with(json!({ "context": { "window": 9, "keep": 1, "summary": { "max_output": 0 } } })),
            "settings.context.summary.max_output: must be at least 1",
        ),
        (with(json!({ "outputs": 1 })), "settings.outputs: must be a mapping"),
    ] {
        let failure = Run::new(settings.clone()).finish(&host).unwrap_err().failure();
        assert_eq!(failure.category(), Some(Category::InvalidInput), "{settings}");
        assert!(failure.to_string().contains(message), "{message}: {failure}");
    }
    assert!(host.model_requests().is_empty());
}

#[test]
fn what_is_sent_while_tools_are_pending_is_heard_next() {
    let host = host([call("acme_double", json!({ "n": 4 })), text("8, as you say")]);
    let mut run = Run::new(settings());
    run.activate(&host).unwrap();
    run.settings(with(json!({ "message": "Be brief." })));
    assert_eq!(run.finish(&host).unwrap()["turns"], 1);
    let sent = &host.model_requests()[1].messages;
    assert_eq!((sent.len(), sent[2].blocks.len(), sent[2].text().as_str()), (3, 2, "Be brief."));
    assert!(matches!(run.activate(&host), Err(Stopped::Failed(_))));
}
