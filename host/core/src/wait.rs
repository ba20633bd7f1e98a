//! Waits: the payload of an interrupt that time or an event ends, and not a person.
//!
//! The payload has `type: wait`. `until` is the time at which the wait ends by itself; `event` the name of the event that ends it, and `match`
//! what the event has to name. A wait for an event that ends by time has the result `default`; without one, its node fails with `timeout`.
//!
//! ```
//! use graph_core::wait::{Wait, payload};
//! use serde_json::json;
//!
//! let paid = json!({ "event": "paid", "match": { "order": 17 } });
//! let payload = payload(paid, Some("2026-11-28T12:00:00Z".parse().unwrap()));
//! let wait = Wait::from_payload(&payload).unwrap();
//! let named = json!({ "order": "17", "region": "eu" });
//! assert!(wait.is_ended_by("paid", named.as_object().unwrap()));
//! assert!(!wait.is_ended_by("shipped", named.as_object().unwrap()));
//! ```

use serde_json::{Map, Value};

use crate::question::shown;
use crate::time::Timestamp;

/// The longest name of an event, in bytes.
pub const MAX_NAME: usize = 128;

/// `type` in the payload of a wait.
const WAIT: &str = "wait";

/// A wait that is open.
#[derive(Clone, Debug)]
pub struct Wait<'p> {
    until: Option<Timestamp>,
    event: Option<&'p str>,
    matched: Option<&'p Map<String, Value>>,
    default: Option<&'p Value>,
}

/// The outcome of a wait that has ended by time.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpiredWait {
    /// The node has this result.
    Result(Value),
    /// The node fails with `timeout`: the event did not come, and there is no default.
    Timeout,
}

impl<'p> Wait<'p> {
    /// Reads the payload of an interrupt; `None` if it is not that of a wait.
    pub fn from_payload(payload: &'p Value) -> Option<Self> {
        let fields = payload.as_object().filter(|fields| is_wait(fields))?;
        Some(Self {
            until: fields.get("until").and_then(Value::as_str).and_then(|until| until.parse().ok()),
            event: fields.get("event").and_then(Value::as_str),
            matched: fields.get("match").and_then(Value::as_object),
            default: fields.get("default"),
        })
    }

    /// Returns the time at which the wait ends by itself.
    pub const fn until(&self) -> Option<Timestamp> {
        self.until
    }

    /// Returns the name of the event that ends the wait.
    pub const fn event(&self) -> Option<&'p str> {
        self.event
    }

    /// Returns the values that the event has to name.
    pub const fn matched(&self) -> Option<&'p Map<String, Value>> {
        self.matched
    }

    /// Returns the result of a wait that has ended by time, if the node names one.
    pub const fn default_result(&self) -> Option<&'p Value> {
        self.default
    }

    /// Returns `true` if an event with this name that names these values ends the wait: it names every value of `match`. Values are
    /// compared as they are typed, so that the number 17 and the text `17` are the same.
    pub fn is_ended_by(&self, event: &str, named: &Map<String, Value>) -> bool {
        let is_named = |(key, value): (&String, &Value)| {
            named.get(key).is_some_and(|named| shown(named) == shown(value))
        };
        self.event == Some(event) && self.matched.into_iter().flatten().all(is_named)
    }

    /// Returns the outcome if the wait has ended by time at `now`.
    pub fn expired(&self, now: Timestamp) -> Option<ExpiredWait> {
        self.until.filter(|until| now >= *until)?;
        Some(match (self.default, self.event) {
            (Some(default), _) => ExpiredWait::Result(default.clone()),
            (None, None) => ExpiredWait::Result(Value::Null),
            (None, Some(_)) => ExpiredWait::Timeout,
        })
    }
}

/// Returns the payload of a wait: the values of the node's `wait` mapping, with its type and the time at which it ends by itself.
pub fn payload(wait: Value, until: Option<Timestamp>) -> Value {
    let mut fields = match wait {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    fields.retain(|key, value| !value.is_null() && !matches!(key.as_str(), "for" | "until" | "timeout"));
    fields.insert("type".to_owned(), WAIT.into());
    if let Some(until) = until {
        fields.insert("until".to_owned(), until.to_string().into());
    }
    Value::Object(fields)
}

/// Returns `true` if these are the fields of the payload of a wait.
pub fn is_wait(fields: &Map<String, Value>) -> bool {
    fields.get("type").and_then(Value::as_str) == Some(WAIT)
}

/// Returns `true` if a text can be the name of an event: letters, digits, `_`, `-`, `.` and `/`, at most [`MAX_NAME`] bytes.
pub fn is_event_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/');
    !name.is_empty() && name.len() <= MAX_NAME && name.bytes().all(is_allowed)
}

/// Returns `true` if a value can be one of those that an event names: a text, a number or a boolean.
pub const fn is_matchable(value: &Value) -> bool {
    matches!(value, Value::String(_) | Value::Number(_) | Value::Bool(_))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    const AT: Timestamp = Timestamp(1_000_000);

    #[test]
    fn every_value_of_a_wait_has_to_be_named() {
        let payload = payload(json!({ "event": "e", "match": { "a": 1, "b": "x", "c": true } }), None);
        let wait = Wait::from_payload(&payload).unwrap();
        for (named, ends) in [
            (json!({ "a": 1, "b": "x", "c": true }), true),
            (json!({ "a": "1", "b": "x", "c": "true", "more": 2 }), true),
            (json!({ "a": 1, "b": "x" }), false),
            (json!({ "a": 2, "b": "x", "c": true }), false),
            (json!({ "a": 1.0, "b": "x", "c": true }), false),
            (json!({}), false),
        ] {
            assert_eq!(wait.is_ended_by("e", named.as_object().unwrap()), ends, "{named}");
        }
        let any = super::payload(json!({ "event": "e" }), None);
        assert!(Wait::from_payload(&any).unwrap().is_ended_by("e", &Map::new()));
    }

    #[test]
    fn a_wait_that_ends_by_time_has_a_result_or_fails() {
        let outcome = |wait: Value, now: u64| {
            let payload = payload(wait, Some(AT));
            Wait::from_payload(&payload).unwrap().expired(Timestamp(now))
        };
        assert_eq!(outcome(json!({ "for": "10m" }), AT.0), Some(ExpiredWait::Result(Value::Null)));
        assert_eq!(outcome(json!({ "for": "10m" }), AT.0 - 1), None);
        let event = json!({ "event": "e", "timeout": "10m" });
        assert_eq!(outcome(event, AT.0), Some(ExpiredWait::Timeout));
        let default = json!({ "event": "e", "default": { "late": true } });
        assert_eq!(outcome(default, u64::MAX), Some(ExpiredWait::Result(json!({ "late": true }))));
    }

    #[test]
    fn only_a_wait_is_read() {
        for payload in [json!({ "type": "ask" }), json!("wait"), json!({ "until": "2026-01-01T00:00:00Z" })] {
            assert!(Wait::from_payload(&payload).is_none(), "{payload}");
        }
    }
}
