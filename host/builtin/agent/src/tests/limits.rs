//! Limits of turns, repetitions and budgets.

use graph_sdk::model::{Budget, ToolChoice};

use super::*;

fn again(times: i64) -> impl Iterator<Item = Result<Response, Failure>> {
    (0..times).map(|n| call("acme_double", json!({ "n": n })))
}

#[test]
fn the_limit_of_turns_says_what_was_done() {
    let host = host(again(5));
    let mut run = Run::new(with(json!({ "limits": { "turns": 3 } })));
    let failure = run.finish(&host).unwrap_err().failure();
    assert_eq!(failure.category(), Some(Category::Limit));
    assert_eq!(failure.to_string(), "the model was asked 3 times and has not finished; `limits.turns` is 3");
    let cost = json!({ "turns": 3, "input_tokens": 300, "output_tokens": 30, "spend": 0.0045 });
    assert_eq!(
        failure.details(),
        Some(&json!({ "turns": 3, "cost": cost, "thread_length": 6, "text": null }))
    );
    assert_eq!(host.model_requests().len(), 3);
    // With a larger limit it continues where it was.
    run.settings(with(json!({ "limits": { "turns": 4 } })));
    assert!(run.finish(&host).unwrap_err().failure().to_string().contains("asked 4 times"));
}

#[test]
fn turns_count_from_each_message() {
    let host = host([
        call("acme_double", json!({ "n": 1 })),
        text("2"),
        call("acme_double", json!({ "n": 2 })),
        text("4"),
    ]);
    let mut run = Run::new(with(json!({ "limits": { "turns": 2 } })));
    run.finish(&host).unwrap();
    run.again(with(json!({ "message": "And 2?", "limits": { "turns": 2 } })));
    let answer = run.finish(&host).unwrap();
    assert_eq!((&answer["turns"], &answer["cost"]["turns"]), (&json!(2), &json!(4)));
}

#[test]
fn a_model_that_repeats_itself_is_warned_and_then_stopped() {
    let same = || (0..9).map(|_| call("acme_double", json!({ "n": 1 })));
    let repeating = host(same());
    let mut run = Run::new(with(json!({ "limits": { "repeats": 3 } })));
    let failure = run.finish(&repeating).unwrap_err().failure();
    assert_eq!(failure.category(), Some(Category::Limit));
    assert!(failure.to_string().contains("has called acme_double with the same arguments"), "{failure}");
    assert_eq!(failure.details(), Some(&json!({ "tools": ["acme_double"], "repeats": 4 })));
    let requests = repeating.model_requests();
    assert_eq!(requests.len(), 4);
    assert_eq!(requests[2].messages[4].text(), "");
    assert!(requests[3].messages[6].text().contains("3 times in a row. Do something else"));

    // The user can say something to it.
    run.again(with(json!({ "message": "Stop that.", "limits": { "repeats": 3 } })));
    run.activate(&repeating).unwrap();
    assert_eq!(repeating.model_requests().last().unwrap().messages[8].text(), "Stop that.");

    // The warning can help.
    let helped = host(same().take(3).chain([text("It is 2.")]));
    let mut run = Run::new(settings());
    assert_eq!(run.finish(&helped).unwrap()["text"], "It is 2.");
}

#[test]
fn the_last_turn_can_be_used_for_an_answer() {
    let host = host(again(2).chain([text("As far as I know, 8.")]));
    let mut run = Run::new(with(json!({ "limits": { "turns": 3, "finish": true } })));
    let answer = run.finish(&host).unwrap();
    assert_eq!((&answer["text"], &answer["finished_early"]), (&json!("As far as I know, 8."), &json!(true)));
    let requests = host.model_requests();
    // The tools stay in the request, as the conversation has calls of them, and cannot be called.
    assert_eq!((&requests[2].tool_choice, requests[2].tools.len()), (&ToolChoice::None, 1));
    assert!(requests[2].messages[4].text().contains("the last call that is possible"));
    assert_eq!(requests[1].tool_choice, ToolChoice::Auto);
}

#[test]
fn the_end_of_the_budget_can_be_used_for_an_answer() {
    for budget in [
        Budget { calls: Some(2), ..Budget::default() },
        // Less than two answers of at most 100 tokens.
        Budget { output: Some(209), ..Budget::default() },
    ] {
        let host = host(again(1).chain([text("8")])).model_budget(budget);
        let mut run = Run::new(with(json!({ "max_output": 100, "limits": { "finish": true } })));
        assert_eq!(run.finish(&host).unwrap()["finished_early"], true, "{budget:?}");
        assert_eq!(host.model_requests()[0].tool_choice, ToolChoice::Auto);
        assert_eq!(host.model_requests()[1].tool_choice, ToolChoice::None);
    }
    // Otherwise the host refuses the call.
    let unfinished = host(again(2)).model_budget(Budget { calls: Some(1), ..Budget::default() });
    let failure = Run::new(settings()).finish(&unfinished).unwrap_err().failure();
    assert_eq!(failure.category(), Some(Category::Limit));
}

#[test]
fn a_last_call_that_asks_for_tools_is_a_limit() {
    let host = host(again(2));
    let mut run = Run::new(with(json!({ "limits": { "turns": 2, "finish": true } })));
    let failure = run.finish(&host).unwrap_err().failure();
    assert_eq!(failure.category(), Some(Category::Limit));
    assert!(failure.to_string().contains("asks for tools in its last call"), "{failure}");
}

#[test]
fn tokens_and_cost_of_the_thread_are_limited() {
    for (limits, calls, message) in [
        (
            json!({ "tokens": 220 }),
            2,
            "the task has used 220 tokens and is not finished; `limits.tokens` is 220",
        ),
        (
            json!({ "spend": 0.0031 }),
            3,
            "the task has cost 0.0045 and is not finished; `limits.spend` is 0.0031",
        ),
        (json!({ "spend": 0 }), 0, "the task has cost 0 and is not finished; `limits.spend` is 0"),
    ] {
        let host = host(again(5));
        let failure = Run::new(with(json!({ "limits": limits }))).finish(&host).unwrap_err().failure();
        assert_eq!((failure.category(), host.model_requests().len()), (Some(Category::Limit), calls));
        assert_eq!(failure.to_string(), message);
    }
}

#[test]
fn what_the_manifest_keeps_for_a_last_call_is_used_for_an_answer() {
    let short = Failure::limit("2 calls of models are used").with_details(json!({ "finish": true }));
    let host = Host::new().model("fast", [Err(short), Ok(Response::text("As far as I know, 9."))]);
    let mut run = Run::new(with(json!({})));
    let answer = run.finish(&host).unwrap();
    assert_eq!((&answer["text"], &answer["finished_early"]), (&json!("As far as I know, 9."), &json!(true)));
    let [first, last] = &host.model_requests()[..] else { panic!("two requests") };
    assert_eq!(last.messages.len(), first.messages.len(), "the last message is the user's, in one");
    assert_eq!(last.tool_choice, ToolChoice::None);

    let other = Failure::limit("2 calls of models are used");
    let host = Host::new().model("fast", [Err(other), Ok(Response::text("never"))]);
    assert!(Run::new(with(json!({}))).finish(&host).is_err());
}
