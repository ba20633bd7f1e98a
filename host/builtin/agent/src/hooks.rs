//! Hooks of a directive: items that its thread calls at events.
//!
//! The graph calls hooks like tools, so that each has its own grants from the manifest. The result of a hook is not
//! used, and a hook that fails changes nothing.

use graph_sdk::prelude::*;

use crate::calls::Perform;
use crate::result::Used;
use crate::settings::Settings;
use crate::threads;

/// Event at the start of the thread.
pub(crate) const STARTED: &str = "thread_started";
/// Event after older messages were replaced by a summary.
pub(crate) const CONTEXT: &str = "context_limit_reached";
/// Event after the model has returned the outputs.
pub(crate) const RETURNED: &str = "directive_return";
/// Event after the thread has an answer.
pub(crate) const COMPLETE: &str = "after_complete";
/// Events at which a thread calls hooks.
const EVENTS: [&str; 4] = [STARTED, CONTEXT, RETURNED, COMPLETE];
/// Operators of conditions.
const OPERATORS: [&str; 9] = ["eq", "ne", "gt", "gte", "lt", "lte", "in", "contains", "exists"];
/// Maximum nesting of conditions.
const DEEPEST: usize = 16;

/// A hook, as the host reads it in a directive.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct Hook {
    /// The event.
    event: String,
    /// Its name in messages.
    #[serde(default)]
    id: Option<String>,
    /// It is called only if this holds.
    #[serde(default)]
    condition: Option<Value>,
    /// The item and its params.
    action: Value,
}

/// What the graph does next, once the hooks are called.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Due {
    /// The event.
    pub(crate) event: String,
    /// The node after them.
    then: String,
    /// The calls.
    perform: Vec<Perform>,
    /// Some of them start threads, which count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    threads: bool,
}

impl Due {
    /// Reports whether the graph goes to this node after the hooks.
    pub(crate) fn leads_to(&self, node: &str) -> bool {
        self.then == node
    }

    /// Reports whether one of the hooks starts a thread.
    pub(crate) fn starts_threads(&self) -> bool {
        self.threads
    }

    /// Returns the usage, including the threads that the hooks have started. `given` has the results of the hooks.
    pub(crate) fn used(&self, used: Used, given: &[Value]) -> Used {
        let of_threads = self.perform.iter().zip(given).filter(|(hook, _)| threads::is_thread(&hook.item));
        of_threads.fold(used, |used, (_, given)| threads::with_thread(used, given))
    }

    /// Adds the params that threads get, as if the model had started them. A hook whose thread may not be started is
    /// left out, with a warning in the log.
    fn with_threads(mut self, settings: &Settings, used: &Used) -> Option<Self> {
        let mut started = 0;
        self.perform.retain_mut(|hook| {
            if !threads::is_thread(&hook.item) {
                return true;
            }
            if let Some(why) = threads::refusal(settings, used, started) {
                not_called(&hook.id, &why);
                return false;
            }
            started += 1;
            hook.arguments = threads::passed_on(settings, used, &hook.arguments);
            true
        });
        self.threads = started > 0;
        (!self.perform.is_empty()).then_some(self)
    }
}

impl Hook {
    /// Returns the item that the hook calls, and its params.
    ///
    /// # Errors
    ///
    /// Reason why a thread cannot call it.
    fn call(&self, reads: &Value) -> Result<(String, Value), String> {
        let text = |name: &str| self.action.get(name).and_then(Value::as_str);
        let item = text("item_id").filter(|item| !item.is_empty());
        let Some(item) = item else {
            return Err(
                "its action names no item; only a hook of a graph can say how the run continues".to_owned()
            );
        };
        let params = filled_in(self.action.get("params").unwrap_or(&Value::Null), reads);
        let params = if params.is_null() { json!({}) } else { params };
        match (text("primary").unwrap_or("execute"), text("item_type").unwrap_or("tool")) {
            ("execute", "tool") if item.ends_with("/internal/control") => {
                Err("only a hook of a graph can say how the run continues".to_owned())
            }
            ("execute", "tool") => Ok((item.to_owned(), params)),
            ("execute", "directive") => {
                Ok((threads::THREAD.to_owned(), json!({ "directive_name": item, "inputs": params })))
            }
            (primary, kind) => {
                Err(format!("a thread executes tools and directives, and does not {primary} {kind}"))
            }
        }
    }

    /// Returns the reason why a thread never calls the hook, if there is one.
    fn problem(&self) -> Option<String> {
        if !EVENTS.contains(&self.event.as_str()) {
            return Some(format!(
                "a thread has no event `{}`; write the hook into .ai/hooks.yaml, which holds for all graphs of the project",
                self.event
            ));
        }
        let condition = self.condition.as_ref().and_then(|condition| holds(condition, &Value::Null, 0).err());
        self.call(&Value::Null).err().or(condition)
    }

    fn name(&self) -> &str {
        self.id.as_deref().unwrap_or(&self.event)
    }
}

/// Logs a warning for each hook that a thread never calls, with the reason.
pub(crate) fn warn(hooks: &[Hook]) {
    for hook in hooks {
        if let Some(problem) = hook.problem() {
            not_called(hook.name(), &problem);
        }
    }
}

fn not_called(hook: &str, why: &str) {
    graph_sdk::host::log(graph_sdk::host::Level::Warn, format!("the hook `{hook}` is not called: {why}"));
}

/// Returns the hooks to call at these events before the graph goes to the node `then`; `None` if there are none. `used`
/// is the usage of the thread.
pub(crate) fn due(
    settings: &Settings,
    used: &Used,
    events: &[&str],
    reads: &Value,
    then: &str,
) -> Option<Due> {
    wanted(&settings.hooks, events, reads, then)?.with_threads(settings, used)
}

fn wanted(hooks: &[Hook], events: &[&str], reads: &Value, then: &str) -> Option<Due> {
    let mut perform = Vec::new();
    for event in events {
        let mut reads = reads.clone();
        reads["event"] = json!(event);
        for hook in hooks.iter().filter(|hook| hook.event == **event && hook.problem().is_none()) {
            let wanted =
                hook.condition.as_ref().is_none_or(|condition| holds(condition, &reads, 0) == Ok(true));
            if let Some((item, arguments)) = hook.call(&reads).ok().filter(|_| wanted) {
                perform.push(Perform::of_hook(hook.name(), item, arguments));
            }
        }
    }
    let event = events.last().map(|event| (*event).to_owned())?;
    (!perform.is_empty()).then(|| Due { event, then: then.to_owned(), perform, threads: false })
}

/// Reports whether a condition is true.
///
/// # Errors
///
/// Reason why the condition cannot be evaluated.
fn holds(condition: &Value, reads: &Value, depth: usize) -> Result<bool, String> {
    if depth > DEEPEST {
        return Err(format!("its condition is nested deeper than {DEEPEST}"));
    }
    let each = |list: &Value| -> Result<Vec<bool>, String> {
        list.as_array().into_iter().flatten().map(|one| holds(one, reads, depth + 1)).collect()
    };
    if let Some(all) = condition.get("all") {
        return Ok(each(all)?.into_iter().all(|one| one));
    }
    if let Some(any) = condition.get("any") {
        return Ok(each(any)?.into_iter().any(|one| one));
    }
    if let Some(not) = condition.get("not") {
        return holds(not, reads, depth + 1).map(|one| !one);
    }
    let Some(path) = condition.get("path").and_then(Value::as_str) else { return Ok(true) };
    let operator = condition.get("op").or_else(|| condition.get("operator"));
    let operator = operator.and_then(Value::as_str).unwrap_or("eq");
    if !OPERATORS.contains(&operator) {
        return Err(format!("a thread does not decide conditions with `{operator}`"));
    }
    let (found, value) = (at(reads, path), condition.get("value").unwrap_or(&Value::Null));
    let order = || match (found, value) {
        (Value::String(found), Value::String(value)) => Some(found.cmp(value)),
        _ => found.as_f64()?.partial_cmp(&value.as_f64()?),
    };
    Ok(match operator {
        "eq" => equal(found, value),
        "ne" => !equal(found, value),
        "gt" => order().is_some_and(std::cmp::Ordering::is_gt),
        "gte" => order().is_some_and(std::cmp::Ordering::is_ge),
        "lt" => order().is_some_and(std::cmp::Ordering::is_lt),
        "lte" => order().is_some_and(std::cmp::Ordering::is_le),
        "in" => value.as_array().is_some_and(|list| list.iter().any(|one| equal(found, one))),
        "contains" => match (found, value) {
            (Value::String(found), Value::String(value)) => found.contains(value.as_str()),
            (Value::Array(found), value) => found.iter().any(|one| equal(one, value)),
            (Value::Object(found), Value::String(value)) => found.contains_key(value),
            _ => false,
        },
        _ => !found.is_null(),
    })
}

/// Reports whether values are equal; numbers are compared by value.
fn equal(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        #[expect(clippy::float_cmp, reason = "the condition asks for equality")]
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    }
}

/// Returns the value at a path of names and indices; null if there is none.
fn at<'v>(reads: &'v Value, path: &str) -> &'v Value {
    let step = |value: &'v Value, name: &str| match value {
        Value::Array(list) => name.parse::<usize>().ok().and_then(|index| list.get(index)),
        other => other.get(name),
    };
    path.split('.').try_fold(reads, step).unwrap_or(&Value::Null)
}

/// Replaces `${PATH}` in params. A text that is one template becomes the value itself. Inserted values are never read as templates.
fn filled_in(params: &Value, reads: &Value) -> Value {
    match params {
        Value::String(text) => filled_in_text(text, reads),
        Value::Array(list) => list.iter().map(|one| filled_in(one, reads)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, one)| (name.clone(), filled_in(one, reads)))
            .collect::<Map<_, _>>()
            .into(),
        other => other.clone(),
    }
}

fn filled_in_text(text: &str, reads: &Value) -> Value {
    let whole = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    if let Some(path) = whole.filter(|path| !path.contains(['{', '}'])) {
        return at(reads, path.trim()).clone();
    }
    let mut written = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((path, after)) = after.split_once('}') else { break };
        written.push_str(before);
        match at(reads, path.trim()) {
            Value::String(text) => written.push_str(text),
            Value::Null => {}
            other => written.push_str(&other.to_string()),
        }
        rest = after;
    }
    written.push_str(rest);
    Value::String(written)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn hook(hook: Value) -> Hook {
        graph_sdk::serde_json::from_value(hook).unwrap()
    }

    #[test]
    fn hooks_of_an_event_are_called_if_their_conditions_hold() {
        let hooks = [
            hook(
                json!({ "event": "after_complete", "id": "dear", "condition": { "path": "cost.spend", "op": "gte", "value": 0.5 },
                "action": { "item_id": "acme/tell", "params": { "of": "${cost}", "text": "It cost ${cost.spend}: ${missing}.", "n": 1 } } }),
            ),
            hook(
                json!({ "event": "after_complete", "condition": { "not": { "path": "cost.spend", "op": "exists" } }, "action": { "item_id": "acme/free" } }),
            ),
            hook(
                json!({ "event": "directive_return", "action": { "item_type": "directive", "item_id": "acme/next", "params": { "n": "${outputs.n}" } } }),
            ),
        ];
        let reads = json!({ "cost": { "spend": 0.5 }, "outputs": { "n": 3 } });
        let due = |events: &[&str]| wanted(&hooks, events, &reads, "done").map(|due| json!(due));
        let tell = json!({ "id": "dear", "item": "acme/tell", "arguments": { "of": { "spend": 0.5 }, "text": "It cost 0.5: .", "n": 1 } });
        let next = json!({ "id": "directive_return", "item": threads::THREAD, "arguments": { "directive_name": "acme/next", "inputs": { "n": 3 } } });
        assert_eq!(due(&[COMPLETE]), Some(json!({ "event": COMPLETE, "then": "done", "perform": [tell] })));
        assert_eq!(due(&[RETURNED, COMPLETE]).unwrap()["perform"], json!([next, tell]));
        assert_eq!(due(&[STARTED]), None);
    }

    #[test]
    fn what_a_thread_cannot_do_is_said() {
        for (wrong, reason) in [
            (json!({ "event": "error", "action": { "item_id": "a" } }), "a thread has no event `error`"),
            (json!({ "event": STARTED, "action": { "retry": true } }), "its action names no item"),
            (
                json!({ "event": STARTED, "action": { "item_id": "rye/agent/threads/internal/control" } }),
                "only a hook of a graph",
            ),
            (
                json!({ "event": STARTED, "action": { "item_id": "a", "item_type": "knowledge", "primary": "load" } }),
                "does not load knowledge",
            ),
            (
                json!({ "event": STARTED, "condition": { "any": [{ "path": "a", "op": "regex", "value": "x" }] }, "action": { "item_id": "a" } }),
                "with `regex`",
            ),
        ] {
            let hook = hook(wrong);
            let problem = hook.problem().unwrap();
            assert!(problem.contains(reason), "{problem}");
            assert_eq!(wanted(std::slice::from_ref(&hook), &[STARTED], &json!({}), "turn"), None);
        }
    }

    #[test]
    fn conditions_are_those_of_graphs() {
        let reads = json!({ "n": 3, "text": "abc", "list": [1, "x"], "nested": { "key": null } });
        for (condition, expected) in [
            (json!({}), true),
            (json!({ "path": "n", "value": 3.0 }), true),
            (json!({ "path": "n", "op": "lt", "value": 3 }), false),
            (json!({ "path": "n", "op": "lte", "value": 3 }), true),
            (json!({ "path": "text", "operator": "gt", "value": "abb" }), true),
            (json!({ "path": "text", "op": "gt", "value": 1 }), false),
            (json!({ "path": "text", "op": "contains", "value": "b" }), true),
            (json!({ "path": "list", "op": "contains", "value": 1.0 }), true),
            (json!({ "path": "list.1", "op": "in", "value": ["x"] }), true),
            (json!({ "path": "nested", "op": "contains", "value": "key" }), true),
            (json!({ "path": "nested.key", "op": "exists" }), false),
            (json!({ "path": "nowhere.at.all", "op": "ne", "value": 1 }), true),
            (json!({ "all": [] }), true),
            (json!({ "any": [] }), false),
            (json!({ "not": { "all": [{ "path": "n", "value": 3 }, { "path": "n", "value": 4 }] } }), true),
        ] {
            assert_eq!(holds(&condition, &reads, 0), Ok(expected), "{condition}");
        }
    }
}
