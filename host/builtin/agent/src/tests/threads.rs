//! Data that a thread passes on, ends of threads, and conversations that another run continues.

use graph_sdk::model::StopReason;

use super::*;

const THREAD: &str = "rye/agent/threads/thread_directive";

/// Returns a host whose model starts threads, each with a usage.
fn starting(answers: impl IntoIterator<Item = Result<Response, Failure>>) -> Host {
    host(answers).item(THREAD, |params| {
        assert!(params["parent"].is_object(), "{params}");
        let cost = json!({ "turns": 2, "input_tokens": 1000, "output_tokens": 50, "spend": 0.25 });
        Ok(json!({ "success": true, "given": params["parent"], "tools": params["tools"], "cost": cost }))
    })
}

fn start(more: Value) -> Value {
    let mut settings = json!({
        "message": "Start one.", "permissions": ["execute.tool.rye.agent.*"],
        "approvals": [{ "tool": "other", "then": "deny" }],
        "tools": [{ "item": THREAD, "name": "start", "description": "Starts a thread." }],
    });
    settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    settings
}

fn host_of_item(item: &str, answers: impl IntoIterator<Item = Result<Response, Failure>>) -> Host {
    Host::new().model("fast", answers).item(item, |_| Ok(json!(1)))
}

/// Returns the results of all tools of a run.
fn results(run: &Run) -> Vec<(String, bool)> {
    let thread = run.thread();
    let results = thread.iter().flat_map(Message::tool_results);
    results.map(|result| (result.content.clone(), result.failed)).collect()
}

#[test]
fn a_thread_inside_gets_what_is_left_and_counts_for_the_thread_above() {
    let forged = json!({ "directive_name": "d", "parent": { "depth": 9, "permissions": [] } });
    let host =
        starting([call("start", forged), call("start", json!({ "directive_name": "d" })), text("Both.")]);
    let mut run = Run::new(start(json!({
        "limits": { "tokens": 5000, "spend": 1.0, "depth": 3, "tool_result": 100_000 },
        "parent": { "depth": 2, "tokens": 9000, "spend": null, "permissions": [["execute.*"]], "approvals": [[{ "tool": "x", "then": "ask" }]] },
    })));
    let answer = run.finish(&host).unwrap();
    let given =
        |at: usize| graph_sdk::serde_json::from_str::<Value>(&results(&run)[at].0).unwrap()["given"].clone();
    assert_eq!(
        given(0),
        json!({
            "depth": 1, "tokens": 4890, "spend": 0.9985,
            "permissions": [["execute.tool.rye.agent.*"], ["execute.*"]],
        })
    );
    assert_eq!((&given(1)["tokens"], &given(1)["spend"]), (&json!(3730), &json!(0.747)));
    assert_eq!(
        answer["cost"],
        json!({ "turns": 3, "input_tokens": 2300, "output_tokens": 130, "spend": 0.5045 })
    );
}

#[test]
fn spawns_and_depth_are_limits() {
    let two = || used(Response::calls([("start", json!({})), ("start", json!({}))]));
    let host = starting([two(), call("start", json!({})), text("One.")]);
    let mut run = Run::new(start(json!({ "limits": { "spawns": 1 } })));
    run.finish(&host).unwrap();
    let refused = "no more threads may be started: `spawns` among the limits is 1".to_owned();
    assert_eq!(results(&run)[1..], [(refused.clone(), true), (refused, true)]);
    assert!(!results(&run)[0].1);

    let host = starting([call("start", json!({})), text("None.")]);
    let mut run = Run::new(start(json!({ "parent": { "depth": 0 } })));
    run.finish(&host).unwrap();
    assert!(results(&run)[0].0.contains("`depth` among the limits leaves no level"), "{:?}", results(&run));
}

#[test]
fn the_rules_of_the_threads_above_hold() {
    let host = host([call("acme_double", json!({ "n": 1 })), text("No."), text("No.")]);
    let mut run = Run::new(with(json!({
        "approvals": [{ "tool": "*", "then": "allow" }],
        "parent": { "approvals": [[{ "tool": "acme/*", "then": "deny" }]] },
    })));
    run.finish(&host).unwrap();
    assert_eq!(results(&run), [("the user does not allow calls of this tool".to_owned(), true)]);
    // Rules that the host passes on match items: the name of the tool has no effect.
    let named = |name: &str, above: Value| {
        let tools = json!([{ "item": "acme/double@2.0.0", "name": name }]);
        let host = host_of_item("acme/double@2.0.0", [call(name, json!({ "n": 1 })), text("Done.")]);
        let mut run = Run::new(with(json!({ "tools": tools, "approvals_above": above })));
        match run.finish(&host) {
            Ok(_) => results(&run)[0].1,
            Err(stopped) => {
                assert_eq!(stopped.question()["item"], "acme/double@2.0.0");
                true
            }
        }
    };
    let deny = |tool: &str| json!([[], [{ "tool": tool, "then": "deny" }, { "tool": "*", "then": "allow" }]]);
    for tool in ["acme/double", "acme/d*", "Acme/Double", "acme/double@1.0.0", "*"] {
        assert!(named("harmless", deny(tool)), "{tool}");
    }
    for tool in ["harmless", "acme/doubles", "acme/double#f"] {
        assert!(!named("harmless", deny(tool)), "{tool}");
    }
    let allow = |tool: &str| json!([[{ "tool": tool, "then": "allow" }, { "tool": "*", "then": "ask" }]]);
    for tool in ["search", "acme/double@1.0.0", "Acme/double", "search*"] {
        assert!(named("search", allow(tool)), "{tool}");
    }
    for tool in ["acme/double", "acme/double@2.0.0", "acme/*"] {
        assert!(!named("search", allow(tool)), "{tool}");
    }
    let mut run = Run::new(with(json!({ "parent": { "permissions": [["execute.tool.other.*"]] } })));
    run.finish(&host).unwrap();
    assert!(host.model_requests().last().unwrap().tools.is_empty());
}

#[test]
fn a_limit_is_told_and_another_run_continues() {
    let first = host([call("acme_double", json!({ "n": 1 })), call("acme_double", json!({ "n": 2 }))]);
    let settings = |more: Value| {
        let mut settings =
            with(json!({ "limits": { "turns": 2, "result": 3 }, "tell_failures": true, "history": {} }));
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        settings
    };
    let mut run = Run::new(settings(json!({})));
    let answer = run.finish(&first).unwrap();
    assert_eq!(
        (&answer["status"], &answer["category"], &answer["cost"]["turns"]),
        (&json!("error"), &json!("limit"), &json!(2))
    );
    assert_eq!(
        answer["error"],
        json!("the model was asked 2 times and has not finished; `limits.turns` is 2")
    );
    // The results are in the conversation, so that no call is made again.
    let second = host([text("Eight.")]);
    let mut run = Run::new(settings(json!({ "message": "And?", "history": answer["history"] })));
    let answer = run.finish(&second).unwrap();
    assert_eq!(
        (&answer["text"], &answer["cost"]["turns"], &answer["thread_length"]),
        (&json!("Eig\n[3 of 6 characters are left out]"), &json!(3), &json!(7))
    );
    assert_eq!(second.model_requests()[0].messages.len(), 5);
    // A failed call of the model keeps the conversation, too. Without `tell_failures` it is a failure.
    let none = host([Err(Failure::transient("no")), Err(Failure::transient("no"))]);
    let answer = Run::new(settings(json!({}))).finish(&none).unwrap();
    assert_eq!(
        (&answer["category"], &answer["history"]["thread"][0]["role"]),
        (&json!("transient"), &json!("user"))
    );
    let failure = Run::new(settings(json!({ "tell_failures": false }))).finish(&none).unwrap_err().failure();
    assert_eq!(failure.category(), Some(Category::Transient));
}

#[test]
fn a_last_answer_that_fails_the_task_is_paid_and_kept() {
    let refusing = || used(Response { stop: StopReason::Refused, ..Response::text("I will not.") });
    let last = json!({ "outputs": { "n": "integer" }, "limits": { "turns": 2, "finish": true } });
    for (answers, more, turns, said, length) in [
        (vec![refusing()], json!({}), 1, "I will not.", 2),
        (vec![call("acme_double", json!({ "n": 1 })), refusing()], json!({}), 2, "I will not.", 4),
        (vec![text("4"), text("Four")], json!({ "outputs": { "n": "integer" } }), 2, "Four", 4),
        (vec![call("acme_double", json!({ "n": 1 })), text("Two")], last, 2, "Two", 5),
        (
            vec![call("acme_double", json!({ "n": 1 })), call("acme_double", json!({ "n": 2 }))],
            json!({ "limits": { "turns": 2, "finish": true } }),
            2,
            "",
            6,
        ),
    ] {
        let mut settings = with(json!({ "tell_failures": true, "history": {} }));
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = Run::new(settings).finish(&host(answers)).unwrap();
        assert_eq!(
            (&answer["status"], &answer["text"], &answer["turns"], &answer["cost"]["turns"]),
            (&json!("error"), &json!(said), &json!(turns), &json!(turns)),
            "{answer}"
        );
        assert_eq!(answer["cost"]["input_tokens"], json!(100 * turns), "{answer}");
        assert_eq!(answer["history"]["used"]["turns"], json!(turns), "{answer}");
        assert_eq!(answer["history"]["thread"].as_array().map(Vec::len), Some(length), "{answer}");
    }
}

#[test]
fn a_person_cancels() {
    let host = host([call("acme_double", json!({ "n": 1 }))]).answer("abort");
    let mut run =
        Run::new(with(json!({ "approvals": [{ "tool": "*", "then": "ask" }], "tell_failures": true })));
    let answer = run.finish(&host).unwrap();
    assert_eq!((&answer["status"], &answer["category"]), (&json!("cancelled"), &json!("denied")));
    assert_eq!(results(&run), [("the task has ended".to_owned(), true)]);
}

#[test]
fn hooks_are_called_at_their_events() {
    let host = host([call("directive_return", json!({ "n": 4 }))]);
    let hook = |event: &str, item: &str, params: Value| json!({ "event": event, "id": event, "action": { "item_id": item, "params": params } });
    let mut run = Run::new(json!({
        "message": "Count.", "outputs": { "n": "integer" },
        "hooks_read": { "inputs": { "n": 3 } },
        "hooks": [
            hook("after_complete", "acme/double", json!({ "n": "${cost.turns}" })),
            hook("thread_started", "acme/double", json!({ "n": "${inputs.n}" })),
            hook("directive_return", "acme/double", json!({ "n": "${result}" })),
            hook("error", "acme/double", json!({})),
        ],
    }));
    let answer = run.finish(&host).unwrap();
    assert_eq!(answer["outputs"], json!({ "n": 4 }));
    // A hook that fails changes nothing.
    let expected = [("thread_started", true), ("directive_return", false), ("after_complete", true)];
    assert_eq!(run.hooked, expected.map(|(name, returned)| (json!(name), returned)));
    let logged = host.lines();
    assert!(logged.iter().any(|(_, line)| line.contains("the hook `error` is not called")), "{logged:?}");
}

#[test]
fn threads_of_hooks_count_as_those_that_the_model_starts() {
    let started = |event: &str| json!({ "event": event, "id": event, "action": { "item_type": "directive", "item_id": "acme/note" } });
    let hooks = json!([started("thread_started"), started("directive_return"), started("after_complete")]);
    let settings = |limits: Value| {
        json!({
            "message": "Count.", "outputs": { "n": "integer" }, "history": {}, "permissions": ["execute.*"],
            "hooks": hooks, "limits": limits,
        })
    };
    let first = starting([call("directive_return", json!({ "n": 4 })), text("Five.")]);
    let mut run = Run::new(settings(json!({ "tokens": 9000, "depth": 2 })));
    let answer = run.finish(&first).unwrap();
    assert_eq!(answer["outputs"], json!({ "n": 4 }));
    let cost = json!({ "turns": 1, "input_tokens": 3100, "output_tokens": 160, "spend": 0.7515 });
    assert_eq!((&answer["cost"], &answer["history"]["used"]["spawns"]), (&cost, &json!(3)));
    assert_eq!(run.channel("used"), &answer["history"]["used"]);
    // They get the rest of the limits, like threads that the model starts.
    let given = &run.channel("hooks")["perform"][0]["arguments"]["parent"];
    assert_eq!((&given["depth"], &given["tokens"]), (&json!(1), &json!(7840)));
    // Another message starts with that usage, and without the hooks that were called last.
    run.again(settings(json!({})));
    run.activate(&first).unwrap();
    assert_eq!(first.model_requests().len(), 2);

    for (limits, called) in [(json!({ "depth": 0 }), 0), (json!({ "spawns": 2 }), 2)] {
        let host = starting([call("directive_return", json!({ "n": 4 }))]);
        let mut run = Run::new(settings(limits));
        run.finish(&host).unwrap();
        assert_eq!(run.hooked.len(), called, "{:?}", run.hooked);
        let told = host.lines().iter().any(|(_, line)| line.contains("` is not called: no "));
        assert!(told, "{:?}", host.lines());
    }
}

#[test]
fn a_request_that_does_not_fit_is_told_with_what_was_done() {
    let short = || Err(Failure::limit("it may need 1614 tokens").with_details(json!({ "short": {} })));
    let first = host([call("acme_double", json!({ "n": 1 })), short(), text("Two.")]);
    let settings = |more: Value| {
        let mut settings = with(json!({ "tell_failures": true, "history": {} }));
        settings.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        settings
    };
    let mut run = Run::new(settings(json!({})));
    let answer = run.finish(&first).unwrap();
    assert_eq!((&answer["error"], &answer["cost"]["turns"]), (&json!("it may need 1614 tokens"), &json!(1)));
    // The results are in the conversation.
    let mut run = Run::new(settings(json!({ "message": "And?", "history": answer["history"] })));
    let answer = run.finish(&first).unwrap();
    assert_eq!((&answer["text"], &answer["cost"]["turns"]), (&json!("Two."), &json!(2)));
    assert_eq!(first.model_requests()[2].messages.len(), 3);

    // The user's message is also in it, once, if even the first request was not sent.
    let first = host([short(), text("Eight.")]);
    let answer = Run::new(settings(json!({}))).finish(&first).unwrap();
    let mut again = Run::new(settings(json!({ "history": answer["history"] })));
    let again = again.finish(&host([short()])).unwrap();
    assert_eq!(again["history"], answer["history"]);
    let mut run = Run::new(settings(json!({ "message": "Now.", "history": answer["history"] })));
    assert_eq!(run.finish(&first).unwrap()["text"], json!("Eight."));
    let asked = &first.model_requests()[1].messages;
    assert_eq!((asked.len(), asked[0].text().as_str()), (1, "Double 4.Now."));
}

#[test]
fn strict_limits_leave_what_the_whole_conversation_has_not_used() {
    let limits = json!({ "tokens": 5000, "spend": 1.0, "strict": true });
    let host = starting([call("start", json!({ "directive_name": "d" })), text("One."), text("Two.")]);
    let mut run = Run::new(start(json!({ "limits": limits, "history": {} })));
    // The model is not asked before the rest of the limits is written.
    assert_eq!(run.activate(&host).unwrap(), None);
    assert_eq!(run.channel("left"), &json!({ "tokens": 5000, "spend": 1.0 }));
    assert!(host.model_requests().is_empty());
    run.activate(&host).unwrap();
    // The usage of the started thread is subtracted once, before the model is asked again.
    run.activate(&host).unwrap();
    assert_eq!(
        (host.model_requests().len(), run.channel("left")),
        (1, &json!({ "tokens": 3840, "spend": 0.7485 }))
    );
    let answer = run.finish(&host).unwrap();
    assert_eq!(answer["cost"]["input_tokens"], json!(1200));
    assert_eq!(run.channel("left"), &json!({ "tokens": 3730, "spend": 0.747 }));
    // Another message, in this run and in another one.
    run.again(start(json!({ "message": "And?", "limits": { "tokens": 6000, "strict": true } })));
    run.activate(&host).unwrap();
    assert_eq!(run.channel("left"), &json!({ "tokens": 4730, "spend": null }));
    let mut run = Run::new(start(
        json!({ "message": "And?", "limits": limits, "history": answer["history"], "lost": [null, { "input_tokens": 700, "cost": 0.5 }] }),
    ));
    run.activate(&host).unwrap();
    assert_eq!(run.channel("left"), &json!({ "tokens": 3030, "spend": 0.247 }));
    let answer = run.finish(&host).unwrap();
    assert_eq!((&answer["cost"]["input_tokens"], &answer["cost"]["spend"]), (&json!(2000), &json!(0.7545)));
}

#[test]
fn a_strict_limit_that_does_not_suffice_is_named() {
    let short = |short: Value| Failure::limit("host").with_details(json!({ "short": short }));
    for (details, message) in [
        (
            json!({ "figure": "input_tokens", "needed": 900, "left": 890 }),
            "the next request may have 900 tokens (one for each byte, until the provider has counted them), and 890 of `limits.tokens`, 1000, are left; 1010 would allow it",
        ),
        (
            json!({ "figure": "cost", "needed": 9000, "left": 8500 }),
            "the next call may cost 0.009, and 0.0085 of `limits.spend`, 0.01, is left; 0.0105 would allow it",
        ),
        // Another limit is exceeded.
        (json!({ "figure": "input_tokens", "needed": 900, "left": 7 }), "host"),
        (json!({ "figure": "calls", "needed": 1, "left": 0 }), "host"),
    ] {
        let host = host([call("acme_double", json!({ "n": 1 })), Err(short(details))]);
        let limits = json!({ "tokens": 1000, "spend": 0.01, "strict": true });
        let answer =
            Run::new(with(json!({ "limits": limits, "tell_failures": true }))).finish(&host).unwrap();
        assert_eq!((&answer["error"], &answer["category"]), (&json!(message), &json!("limit")));
    }
}

#[test]
fn a_last_request_may_fit_without_the_message_that_says_so() {
    let short = Failure::limit("no").with_details(json!({ "short": {} }));
    let host = host([Err(short), text("8")]);
    let answer = Run::new(with(json!({ "limits": { "turns": 1, "finish": true } }))).finish(&host).unwrap();
    assert_eq!((&answer["text"], &answer["finished_early"]), (&json!("8"), &json!(true)));
    let requests = host.model_requests();
    assert_eq!(requests[1].messages, [Message::user("Double 4.")]);
    assert_eq!(requests[1].tool_choice, requests[0].tool_choice);
}

#[test]
fn what_a_thread_of_a_hook_has_used_is_taken_off_before_the_model_is_asked() {
    let host = starting([text("Done.")]);
    let hook =
        json!({ "event": "thread_started", "action": { "item_type": "directive", "item_id": "acme/note" } });
    let mut run = Run::new(start(
        json!({ "hooks": [hook], "limits": { "tokens": 5000, "spend": 1.0, "strict": true } }),
    ));
    while run.hooked.is_empty() {
        run.activate(&host).unwrap();
    }
    run.activate(&host).unwrap();
    assert!(host.model_requests().is_empty());
    assert_eq!(run.channel("left"), &json!({ "tokens": 3950, "spend": 0.75 }));
    let answer = run.finish(&host).unwrap();
    assert_eq!((&answer["text"], &answer["cost"]["input_tokens"]), (&json!("Done."), &json!(1100)));
}
