//! What Rye's tools answer, read as outcomes: their result envelope, and failures that come as results.

use serde_json::{Map, Value};

use crate::node::{Category, Failure, Outcome};

/// The keys of Rye's result envelope around `data`.
const ENVELOPE: [&str; 9] =
    ["status", "success", "type", "item_id", "data", "metadata", "chain", "source", "resolved_env_keys"];

/// Takes the envelope off a result, and makes a failure of a result that says it is one.
pub(super) fn unwrap(outcome: Outcome) -> Result<Outcome, Failure> {
    let Outcome::Result(Value::Object(mut map)) = outcome else { return Ok(outcome) };
    if let Some(failure) = failure(&map) {
        return Err(failure);
    }
    if !is_envelope(&map) {
        return Ok(Outcome::Result(Value::Object(map)));
    }
    let data = map.remove("data").unwrap_or_default();
    match data.as_object().and_then(failure) {
        Some(failure) => Err(failure),
        None => Ok(Outcome::Result(data)),
    }
}

fn is_envelope(map: &Map<String, Value>) -> bool {
    let succeeded = map.get("status").is_some_and(|status| status == "success")
        || map.get("success") == Some(&Value::Bool(true));
    succeeded && map.contains_key("data") && map.keys().all(|key| ENVELOPE.contains(&key.as_str()))
}

fn failure(map: &Map<String, Value>) -> Option<Failure> {
    let failed = map.get("success") == Some(&Value::Bool(false))
        || map.get("status").is_some_and(|status| status == "error");
    if !failed {
        return None;
    }
    let message = match map.get("error").or_else(|| map.get("message")) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => crate::json::canonical_string(other),
        None => "the result says that it failed".to_owned(),
    };
    Some(Failure {
        category: Category::Permanent,
        message,
        details: Some(Value::Object(map.clone())),
        within: None,
    })
}
