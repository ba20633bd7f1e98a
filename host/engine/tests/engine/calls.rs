//! The input and the answers of a node.

use graph_core::node::{Category, Goto, Outcome};
use graph_engine::Classification;
use serde_json::{Value, json};

use crate::support::{activation, call, call_as, limits, testkit, value, wat_run};

#[tokio::test]
async fn json_comes_back_as_it_went_in() {
    let node = testkit();
    let given = json!({"a": [1, -2, 1.5, u64::MAX, i64::MIN, null, true, "\u{0}é😀"], "ä": {"": []}});
    let report = call(&node, json!({"op": "echo", "value": given})).await;
    assert_eq!(value(&report), &given);
    assert_eq!(report.classification, Classification::Returned);
    assert!(report.fuel_used > 1000 && report.fuel_used < 1_000_000, "{}", report.fuel_used);
}

#[tokio::test]
async fn the_same_call_uses_the_same_fuel() {
    let node = testkit();
    let first = call(&node, json!({"op": "spin", "iterations": 10_000})).await.fuel_used;
    for _ in 0..5 {
        assert_eq!(call(&node, json!({"op": "spin", "iterations": 10_000})).await.fuel_used, first);
    }
    assert!(call(&node, json!({"op": "spin", "iterations": 20_000})).await.fuel_used > first + 10_000);
}

#[tokio::test]
async fn the_activation_arrives_whole() {
    let node = testkit();
    let mut told = activation();
    told.argument = Some(json!({"item": 1}));
    told.answers = vec![json!(null), json!({"ok": false})];
    let report = call_as(&node, &json!({"op": "activation"}), limits(), &told).await;
    let mut expected = serde_json::to_value(&told).unwrap();
    expected["argument"] = json!({"item": 1});
    assert_eq!(value(&report), &expected);
}

#[tokio::test]
async fn a_question_is_answered_in_order() {
    let node = testkit();
    let params = json!({"op": "interrupt", "payload": {"question": "sure?"}});
    let asked = call(&node, params.clone()).await;
    assert_eq!(asked.result, Ok(Outcome::Interrupt(json!({"question": "sure?"}))));
    let mut told = activation();
    told.answers = vec![json!(null)];
    assert_eq!(value(&call_as(&node, &params, limits(), &told).await), &Value::Null);
}

#[tokio::test]
async fn a_command_carries_writes_targets_and_sends() {
    let node = testkit();
    let report = call(
        &node,
        json!({"op": "command", "update": {"k": [1]}, "goto": ["a", {"node": "b", "argument": {"i": 1}}]}),
    )
    .await;
    let Ok(Outcome::Command { update, goto }) = report.result else { panic!("{:?}", report.result) };
    assert_eq!(Value::Object(update), json!({"k": [1]}));
    assert_eq!(
        goto,
        [
            Goto { node: "a".to_owned(), argument: None },
            Goto { node: "b".to_owned(), argument: Some(json!({"i": 1})) }
        ]
    );
}

#[tokio::test]
async fn every_category_of_failure_arrives() {
    let node = testkit();
    for category in Category::ALL {
        let report =
            call(&node, json!({"op": "fail", "category": category.as_str(), "message": "so\u{1b}[1m"})).await;
        let failure = report.result.unwrap_err();
        assert_eq!((failure.category, failure.message.as_str()), (category, "so\\u{1b}[1m"));
        assert_eq!(report.classification, Classification::Returned);
        assert!(report.fuel_used < limits().fuel);
    }
}

#[tokio::test]
async fn params_that_do_not_fit_are_invalid_input() {
    let failure = call(&testkit(), json!({"op": "echo"})).await.result.unwrap_err();
    assert_eq!(failure.category, Category::InvalidInput);
    assert!(failure.message.contains("value"), "{}", failure.message);
}

#[tokio::test]
async fn nothing_is_kept_from_call_to_call() {
    // The node returns the number of its calls, as counted in its own memory.
    let node = crate::support::prepare(
        &wat_run(
            "0",
            "(i32.store8 (i32.const 1024) (i32.add (i32.load8_u (i32.const 1024)) (i32.const 1)))
             (call $result (i32.const 1024) (i32.const 1))",
        ),
        &crate::support::nothing(),
    );
    for _ in 0..3 {
        assert_eq!(value(&call(&node, json!(null)).await), &json!(1));
    }
}

#[tokio::test]
async fn not_a_number_has_the_same_bits_everywhere() {
    assert_eq!(value(&call(&testkit(), json!({"op": "nan"})).await), &json!("7ff8000000000000"));
}

#[tokio::test]
async fn what_is_no_json_is_an_invalid_result() {
    let deep = "[".repeat(200);
    for (text, why) in [
        (r#"{\"a\":1,\"a\":2}"#, "twice"),
        ("NaN", "JSON"),
        ("1e999", "JSON"),
        ("{} {}", "JSON"),
        ("", "JSON"),
        (deep.as_str(), "JSON"),
    ] {
        let length = text.replace('\\', "").len();
        let node = crate::support::prepare(
            &wat_run(text, &format!("(call $result (i32.const 1024) (i32.const {length}))")),
            &crate::support::nothing(),
        );
        let report = call(&node, json!(null)).await;
        assert_eq!(report.classification, Classification::InvalidResult, "{text}");
        let failure = report.result.unwrap_err();
        assert_eq!(failure.category, Category::Internal, "{failure}");
        assert!(failure.message.contains(why), "{text}: {failure}");
    }
}

#[tokio::test]
async fn many_calls_at_once_all_return() {
    let node = testkit();
    let calls = (0..200).map(|i| {
        let node = node.clone();
        tokio::spawn(async move { value(&call(&node, json!({"op": "echo", "value": i})).await).clone() })
    });
    for (i, call) in calls.collect::<Vec<_>>().into_iter().enumerate() {
        assert_eq!(call.await.unwrap(), json!(i));
    }
}
