//! Questions to a person about calls of tools.

use std::cell::Cell;
use std::rc::Rc;

use super::*;

/// Returns a host whose model asks for two calls, and the counter of the item's calls.
fn asked() -> (Host, Rc<Cell<u32>>) {
    let calls = Response::calls([("acme_double", json!({ "n": 1 })), ("acme_double", json!({ "n": 2 }))]);
    let called = Rc::new(Cell::new(0));
    let counted = Rc::clone(&called);
    let host = Host::new().model("fast", [used(calls), text("done")]).item("acme/double", move |params| {
        counted.set(counted.get() + 1);
        Ok(params["n"].clone())
    });
    (host, called)
}

fn run() -> Run {
    Run::new(with(
        json!({ "approvals": [{ "tool": "other", "then": "deny" }, { "tool": "acme/*", "then": "ask" }] }),
    ))
}

/// Returns the results of the two calls.
fn results(run: &Run) -> Vec<(String, bool)> {
    run.thread()[2].tool_results().map(|result| (result.content.clone(), result.failed)).collect()
}

#[test]
fn nothing_is_called_before_all_answers_are_there() {
    let (host, called) = asked();
    let mut run = run();
    let question = run.finish(&host).unwrap_err().question();
    assert_eq!(question["question"], "May the model call `acme_double`?");
    assert_eq!((&question["tool"], &question["item"]), (&json!("acme_double"), &json!("acme/double")));
    assert_eq!(
        (&question["arguments"], &question["choices"]),
        (&json!({ "n": 1 }), &json!(["allow", "deny", "edit", "abort"]))
    );
    let host = host.answer("allow");
    let question = run.activate(&host).unwrap_err().question();
    assert_eq!((&question["arguments"], called.get()), (&json!({ "n": 2 }), 0));
    let host = host.answer(json!({ "deny": "too many" }));
    run.activate(&host).unwrap();
    assert_eq!((called.get(), host.model_requests().len()), (1, 1));
    assert_eq!(run.finish(&host).unwrap()["text"], "done");
    assert_eq!(
        results(&run),
        [("1".to_owned(), false), ("a person has refused this call: too many".to_owned(), true)]
    );
}

#[test]
fn a_person_can_change_the_arguments() {
    let (host, _) = asked();
    let mut run = run();
    run.finish(&host).unwrap_err().question();
    let host = host.answer(json!({ "edit": { "n": 7 } })).answer("edit");
    let question = run.activate(&host).unwrap_err().question();
    assert_eq!(question["question"], "With which arguments is `acme_double` to be called?");
    assert_eq!(
        (&question["arguments"], &question["schema"]),
        (&json!({ "n": 2 }), &json!({ "type": "object" }))
    );
    let host = host.answer(json!({ "n": 9 }));
    run.finish(&host).unwrap();
    assert_eq!(
        results(&run),
        [
            ("(A person has changed the arguments to {\"n\":7}.)\n7".to_owned(), false),
            ("(A person has changed the arguments to {\"n\":9}.)\n9".to_owned(), false),
        ]
    );
}

#[test]
fn a_wrong_answer_is_refused_before_the_next_question() {
    for answer in [json!("yes"), json!({ "edit": [] })] {
        let (host, called) = asked();
        let mut run = run();
        run.finish(&host).unwrap_err().question();
        let host = host.answer(&answer);
        let failure = run.activate(&host).unwrap_err().failure();
        assert_eq!((failure.category(), called.get()), (Some(Category::InvalidInput), 0), "{answer}");
    }
    let (host, called) = asked();
    let mut run = run();
    run.finish(&host).unwrap_err().question();
    let host = host.answer("edit").answer("n = 7");
    let failure = run.activate(&host).unwrap_err().failure();
    assert_eq!((failure.category(), called.get()), (Some(Category::InvalidInput), 0));
}

#[test]
fn a_person_can_end_the_task() {
    let (host, called) = asked();
    let mut run = run();
    run.finish(&host).unwrap_err().question();
    let host = host.answer("allow").answer("abort");
    let failure = run.activate(&host).unwrap_err().failure();
    assert_eq!((failure.category(), called.get()), (Some(Category::Denied), 0));
    assert_eq!(failure.to_string(), "a person has ended the task at the call of `acme_double`");
    assert_eq!(
        failure.details(),
        Some(&json!({ "tool": "acme_double", "arguments": { "n": 2 }, "ended": true }))
    );
}

#[test]
fn the_first_rule_that_matches_counts() {
    let refused = ("the user does not allow calls of this tool".to_owned(), true);
    for (approvals, expected) in [
        (json!([]), None),
        (json!([{ "tool": "acme_*", "then": "allow" }, { "tool": "*", "then": "deny" }]), None),
        (json!([{ "tool": "acme_doubl?", "then": "deny" }, { "tool": "*", "then": "allow" }]), Some(refused)),
    ] {
        let (host, called) = asked();
        let mut run = Run::new(with(json!({ "approvals": approvals })));
        run.finish(&host).unwrap();
        match expected {
            Some(refused) => assert_eq!((called.get(), results(&run)), (0, vec![refused.clone(), refused])),
            None => assert_eq!(called.get(), 2),
        }
    }
}
