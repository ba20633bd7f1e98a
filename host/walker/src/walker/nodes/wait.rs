//! Outcomes of `wait` nodes.

use serde_json::Value;

use crate::walker::budget::run_budget::NodeWorkError;
use crate::walker::nodes::ask::AskResult;
use graph_core::node::{Category, Failure};
use graph_core::question::shown;
use graph_core::time::Timestamp;
use graph_core::wait::{ExpiredWait, MAX_NAME, Wait, is_event_name, is_matchable, payload};
use graph_core::yaml::parse_duration;

/// The result that a wait has ended with.
pub(in crate::walker) struct WaitAnswer<'a> {
    /// The data of the event; for a wait that ended by time its default, or null.
    pub value: &'a Value,
    /// `true` if time has ended the wait.
    pub is_expired: bool,
}

/// Returns the wait, or its result if it has ended. `wait` is the value of the node's `wait` mapping, `now` the time at which it begins.
pub(in crate::walker) fn waited(
    wait: &Value,
    now: Timestamp,
    answer: Option<&WaitAnswer<'_>>,
) -> Result<AskResult, NodeWorkError> {
    let is_for_event = wait.get("event").is_some_and(|event| !event.is_null());
    if let Some(WaitAnswer { value, is_expired }) = answer {
        let is_without_default = wait.get("default").is_none_or(Value::is_null);
        if *is_expired && is_for_event && is_without_default {
            return Err(timeout().into());
        }
        return Ok(AskResult::Answer(Value::clone(value)));
    }
    check_event(wait)?;
    let payload = payload(wait.clone(), end(wait, now)?);
    let open = Wait::from_payload(&payload).and_then(|wait| wait.expired(now));
    match open {
        None => Ok(AskResult::Question(payload)),
        Some(ExpiredWait::Result(result)) => Ok(AskResult::Answer(result)),
        Some(ExpiredWait::Timeout) => Err(timeout().into()),
    }
}

fn timeout() -> Failure {
    Failure::new(Category::Timeout, "the event did not come in time")
}

fn invalid(message: String) -> NodeWorkError {
    Failure::new(Category::InvalidInput, message).into()
}

/// Returns the time at which a wait that begins at `now` ends by itself.
fn end(wait: &Value, now: Timestamp) -> Result<Option<Timestamp>, NodeWorkError> {
    let given = |key: &str| wait.get(key).filter(|value| !value.is_null());
    if let Some(until) = given("until") {
        let time = until.as_str().and_then(|until| until.parse().ok());
        let wrong = || {
            let written = shown(until);
            invalid(format!("`until` is not a time as RFC 3339 writes it: `{written}`"))
        };
        return time.map(Some).ok_or_else(wrong);
    }
    for key in ["for", "timeout"] {
        let Some(span) = given(key) else { continue };
        let span =
            parse_duration(&shown(span)).map_err(|error| invalid(format!("`{key}` is no time: {error}")))?;
        return Ok(Some(now.after(span)));
    }
    Ok(None)
}

/// Checks the event that ends a wait, and the values that it has to name.
fn check_event(wait: &Value) -> Result<(), NodeWorkError> {
    if let Some(event) = wait.get("event").filter(|event| !event.is_null())
        && !event.as_str().is_some_and(is_event_name)
    {
        return Err(invalid(format!(
            "`event` is no name of letters, digits, `_`, `-`, `.` and `/`, at most {MAX_NAME} long: `{}`",
            shown(event)
        )));
    }
    match wait.get("match") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::Object(matched)) => match matched.iter().find(|(_, value)| !is_matchable(value)) {
            Some((name, _)) => Err(invalid(format!("`match`: `{name}` is no text, number or boolean"))),
            None => Ok(()),
        },
        Some(_) => Err(invalid("`match` is no mapping of names to values".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    const NOW: Timestamp = Timestamp(1_700_000_000_000);

    fn outcome(wait: &Value, answer: Option<(&Value, bool)>) -> Result<Value, String> {
        let answer = answer.map(|(value, is_expired)| WaitAnswer { value, is_expired });
        match waited(wait, NOW, answer.as_ref()) {
            Ok(AskResult::Question(payload) | AskResult::Again(payload)) => Ok(json!({ "open": payload })),
            Ok(AskResult::Answer(result)) => Ok(json!({ "result": result })),
            Err(NodeWorkError::Failed(failure)) => Err(failure.message),
            Err(NodeWorkError::Exhausted(_)) => Err("exhausted".to_owned()),
        }
    }

    #[test]
    fn a_wait_is_open_until_its_end() {
        let at = |seconds: u64| Timestamp(NOW.0 + seconds * 1000).to_string();
        for (wait, open) in [
            (json!({ "for": "10m" }), json!({ "type": "wait", "until": at(600) })),
            (json!({ "for": 90 }), json!({ "type": "wait", "until": at(90) })),
            (
                json!({ "until": "9999-12-30T12:00:00Z" }),
                json!({ "type": "wait", "until": "9999-12-30T12:00:00.000Z" }),
            ),
            (json!({ "event": "paid" }), json!({ "type": "wait", "event": "paid" })),
            (
                json!({ "event": "paid", "match": { "order": 1 }, "timeout": "1s", "default": 0 }),
                json!({ "type": "wait", "event": "paid", "match": { "order": 1 }, "until": at(1), "default": 0 }),
            ),
        ] {
            assert_eq!(outcome(&wait, None), Ok(json!({ "open": open })), "{wait}");
        }
        for wait in [json!({ "until": "2001-01-01T00:00:00Z" }), json!({ "for": "0s" })] {
            assert_eq!(outcome(&wait, None), Ok(json!({ "result": null })), "{wait} has ended already");
        }
    }

    #[test]
    fn a_wait_has_the_result_of_its_end() {
        let event = json!({ "event": "paid", "timeout": "1m" });
        let paid = json!({ "sum": 3 });
        assert_eq!(outcome(&event, Some((&paid, false))), Ok(json!({ "result": paid })));
        assert_eq!(outcome(&event, Some((&Value::Null, false))), Ok(json!({ "result": null })));
        assert_eq!(
            outcome(&event, Some((&Value::Null, true))),
            Err("the event did not come in time".to_owned())
        );
        assert_eq!(
            outcome(&json!({ "for": "1m" }), Some((&Value::Null, true))),
            Ok(json!({ "result": null }))
        );
    }

    #[test]
    fn values_that_templates_give_are_checked() {
        for (wait, part) in [
            (json!({ "for": "soon" }), "`for` is no time"),
            (json!({ "for": -3 }), "`for` is no time"),
            (json!({ "until": "tomorrow" }), "`until` is not a time"),
            (json!({ "until": 7 }), "`until` is not a time"),
            (json!({ "event": "two words" }), "`event` is no name"),
            (json!({ "event": "x".repeat(200) }), "`event` is no name"),
            (json!({ "event": {} }), "`event` is no name"),
            (json!({ "event": "e", "match": [] }), "`match` is no mapping"),
            (json!({ "event": "e", "match": { "a": [1] } }), "`a` is no text, number or boolean"),
            (json!({ "event": "e", "match": { "a": null } }), "`a` is no text, number or boolean"),
        ] {
            let failed = outcome(&wait, None).unwrap_err();
            assert!(failed.contains(part), "{wait}: {failed}");
        }
    }
}
