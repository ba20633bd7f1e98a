//! Typed outputs.

use graph_sdk::model::{StopReason, ToolChoice};

use super::*;

fn typed(more: Value) -> Value {
    let mut settings = with(
        json!({ "outputs": { "n": { "type": "integer", "required": true, "description": "The double" } } }),
    );
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    settings
}

fn contents(run: &Run, message: usize) -> Vec<String> {
    run.thread()[message].tool_results().map(|result| result.content.clone()).collect()
}

#[test]
fn the_model_returns_outputs_with_a_tool() {
    let host = host([call("directive_return", json!({ "n": 8 })), text("You are welcome.")]);
    let mut run = Run::new(typed(json!({})));
    let answer = run.finish(&host).unwrap();
    assert_eq!(
        (&answer["outputs"], &answer["turns"], &answer["thread_length"]),
        (&json!({ "n": 8 }), &json!(1), &json!(3))
    );
    let request = &host.model_requests()[0];
    assert_eq!(
        request.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
        ["acme_double", "directive_return"]
    );
    assert_eq!(
        request.tools[1].parameters["properties"]["n"],
        json!({ "type": "integer", "description": "The double" })
    );
    // The conversation can continue.
    run.again(json!({ "message": "Thank you." }));
    assert_eq!(run.finish(&host).unwrap()["text"], "You are welcome.");
    assert_eq!(host.model_requests()[1].messages.len(), 3);
}

#[test]
fn wrong_outputs_are_corrected() {
    let host = host([
        call("directive_return", json!({ "n": "8", "m": 1 })),
        used(Response::calls([("acme_double", json!({ "n": 4 })), ("directive_return", json!({ "n": 8 }))])),
        call("directive_return", json!({ "n": 8 })),
    ]);
    let mut run = Run::new(typed(json!({})));
    assert_eq!(run.finish(&host).unwrap()["outputs"], json!({ "n": 8 }));
    assert_eq!(
        contents(&run, 2),
        ["the outputs are wrong: m: is unknown; known are n; n: must be of type integer, not string"]
    );
    // Outputs that the model returns before it has the results of other calls are not accepted.
    let results = contents(&run, 4);
    assert_eq!(results[0], "{\"doubled\":8}");
    assert!(results[1].contains("has to be called alone"), "{}", results[1]);
}

#[test]
fn an_answer_without_outputs_is_followed_by_a_reminder() {
    let reminded = host([text("It is 8."), call("directive_return", json!({ "n": 8 }))]);
    let mut run = Run::new(typed(json!({})));
    assert_eq!(run.finish(&reminded).unwrap()["outputs"], json!({ "n": 8 }));
    let requests = reminded.model_requests();
    assert_eq!(requests[0].tool_choice, ToolChoice::Auto);
    assert_eq!(requests[1].tool_choice, ToolChoice::Named("directive_return".to_owned()));
    assert!(requests[1].messages[2].text().contains("return them with the tool"));

    let stubborn = host([text("It is 8."), text("As I said: 8.")]);
    let failure = Run::new(typed(json!({}))).finish(&stubborn).unwrap_err().failure();
    assert_eq!(failure.category(), Some(Category::Permanent));
    assert!(failure.to_string().ends_with("although it was reminded"), "{failure}");

    let cut = || used(Response { stop: StopReason::MaxOutput, ..Response::text("It is") });
    let failure = Run::new(typed(json!({}))).finish(&host([cut(), cut()])).unwrap_err().failure();
    assert!(failure.to_string().contains("its answer has reached the most tokens"), "{failure}");
}

#[test]
fn the_last_call_returns_outputs() {
    let last = json!({ "limits": { "turns": 1, "finish": true } });
    let finished = host([call("directive_return", json!({ "n": 8 }))]);
    let answer = Run::new(typed(last.clone())).finish(&finished).unwrap();
    assert_eq!((&answer["outputs"], &answer["finished_early"]), (&json!({ "n": 8 }), &json!(true)));
    assert_eq!(finished.model_requests()[0].tool_choice, ToolChoice::Named("directive_return".to_owned()));
    for (wrong, message) in [
        (call("directive_return", json!({})), "in its last call are wrong: n: is missing"),
        (
            call("directive_return", json!("{\"n\"")),
            "in its last call are wrong: the arguments are not whole",
        ),
        (text("8"), "has not returned the outputs"),
    ] {
        let failure = Run::new(typed(last.clone())).finish(&host([wrong])).unwrap_err().failure();
        assert_eq!(failure.category(), Some(Category::Limit));
        assert!(failure.to_string().contains(message), "{failure}");
    }
}
