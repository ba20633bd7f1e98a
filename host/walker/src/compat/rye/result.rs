//! Reads the answers of Rye's tools as outcomes: their result envelope, and failures that are returned as results.
//! Makes the result of a graph for the node that runs it.

use serde_json::{Map, Value, json};

use graph_core::id::path_of;
use graph_core::node::{Category, Failure, Outcome};
use graph_core::record::Status;

/// The keys of Rye's result envelope around `data`.
const ENVELOPE: [&str; 9] =
    ["status", "success", "type", "item_id", "data", "metadata", "chain", "source", "resolved_env_keys"];

/// Removes the envelope from a result, and converts a result that says it failed into a failure.
pub(crate) fn unwrap(outcome: Outcome) -> Result<Outcome, Failure> {
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

/// Returns the result of a node that runs a graph: the graph's state, and the status at its end. A graph that declares
/// an output, which Rye's cannot, has that as well.
pub(crate) fn nested_result(state: &Value, steps: u64, status: Status, output: Option<Value>) -> Value {
    let mut result = json!({ "success": true, "state": state, "steps": steps, "status": status.as_str() });
    if let Some(output) = output {
        result["output"] = output;
    }
    result
}

/// Returns the entry of a failed element in a list of results: its own result if that says it failed.
pub(crate) fn failed_result(failure_of_item: &Failure) -> Value {
    let returned =
        failure_of_item.details.as_ref().and_then(Value::as_object).filter(|map| failure(map).is_some());
    let mut result = returned
        .cloned()
        .unwrap_or_else(|| Map::from_iter([("error".to_owned(), json!(failure_of_item.message))]));
    result.insert("status".to_owned(), json!("error"));
    Value::Object(result)
}

/// Returns `true` if an item is a tool of Rye's own, such as `rye/agent/threads/thread_directive`: its result is not
/// wrapped, although it may be a graph here.
pub(crate) fn is_own_tool(item: &str) -> bool {
    path_of(item).starts_with("rye/")
}

/// Returns the value that `collect` takes from a result: its `thread_id`, if it has one.
pub(crate) fn thread_id(result: &Value) -> &Value {
    result.get("thread_id").unwrap_or(result)
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
        Some(other) => graph_core::json::canonical_string(other),
        None => "the result says that it failed".to_owned(),
    };
    Some(Failure {
        category: Category::Permanent,
        message,
        details: Some(Value::Object(map.clone())),
        within: None,
    })
}
