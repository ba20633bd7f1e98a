//! Rye's orchestrator of threads, `rye/agent/threads/orchestrator`, for threads that have ended.
//!
//! A thread is a result with a `thread_id`. Here a node that starts one has its result before the next node begins, also with
//! `async_exec`, so that every operation follows from the results that the run has kept in the channel [`THREADS`]. Rye's operations on
//! running threads, or on files of their transcripts, are refused with a message that names the command for the same purpose.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use graph_core::diagnostic::excerpt;
use graph_core::node::{Category, Failure};

/// The id of the item.
pub(crate) const ORCHESTRATOR: &str = "rye/agent/threads/orchestrator";
/// The channel with the results of threads, in order.
pub(crate) const THREADS: &str = "_threads";
/// The operations; the last six are refused.
const OPERATIONS: [&str; 12] = [
    "wait_threads",
    "aggregate_results",
    "get_status",
    "get_chain",
    "list_active",
    "list_children",
    "cancel_thread",
    "kill_thread",
    "read_transcript",
    "chain_search",
    "resume_thread",
    "handoff_thread",
];
/// Statuses of threads that have answered. An answer after a summary, `continued`, is the end of the chain, since the thread is one run.
const ANSWERED: [&str; 2] = ["completed", "continued"];
/// Limit of the threads that a failure names.
const MOST_NAMED: usize = 3;

/// Returns the JSON Schema of the params. Rye's other params are accepted, and have no effect on threads that have ended.
pub(crate) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "operation": {
                "enum": OPERATIONS,
                "description": "What to do. The last six are refused with the command that does it",
            },
            "thread_ids": { "type": ["array", "null"], "description": "The threads, for `wait_threads` and `aggregate_results`" },
            "thread_id": { "type": ["string", "null"], "description": "The thread, for the other operations" },
            "timeout": { "description": "Has no effect: the threads have ended" },
            "fail_fast": { "description": "Has no effect: the threads have ended" },
        },
        "required": ["operation"],
    })
}

/// Returns the id of the thread that a result is about, if it has one.
pub(crate) fn started(result: &Value) -> Option<&str> {
    result.get("thread_id")?.as_str()
}

/// The threads that a run has started: their results by id.
#[derive(Debug)]
pub(crate) struct Threads<'r> {
    by_id: BTreeMap<&'r str, &'r Value>,
}

impl<'r> Threads<'r> {
    /// Indexes the results that a run has kept, in order; a later one replaces an earlier one.
    pub(crate) fn new(kept: Option<&'r Value>) -> Self {
        let results = kept.and_then(Value::as_array).into_iter().flatten();
        let by_id = results.filter_map(|result| Some((started(result)?, result))).collect();
        Self { by_id }
    }

    /// Number of threads.
    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Returns the result of a thread.
    pub(crate) fn get(&self, id: &str) -> Option<&'r Value> {
        self.by_id.get(id).copied()
    }

    fn known(&self, id: &str) -> Result<&'r Value, Failure> {
        self.get(id).ok_or_else(|| {
            refused(&format!("this run has started no thread `{}` in an earlier step", excerpt(id)))
        })
    }
}

/// Performs an operation.
///
/// The failure is `invalid-input` for invalid params, and `permanent` for an unknown thread, for threads that are
/// waited for and have not completed, and for refused operations.
pub(crate) fn coordinate(params: &Value, threads: &Threads<'_>) -> Result<Value, Failure> {
    let operation = params.get("operation").and_then(Value::as_str);
    let operation = operation.ok_or_else(|| invalid("`operation` is missing: such as `wait_threads`"))?;
    let thread = || {
        let id = params.get("thread_id").and_then(Value::as_str);
        let id = id.ok_or_else(|| invalid(&format!("`{operation}` needs a `thread_id`")))?;
        Ok((id, threads.known(id)?))
    };
    match operation {
        "wait_threads" => wait(params, threads),
        "aggregate_results" => {
            let results = results(params, threads)?;
            Ok(json!({ "success": true, "count": results.len(), "results": results }))
        }
        "get_status" => {
            let (_, known) = thread()?;
            let mut result = known.as_object().cloned().unwrap_or_default();
            // This operation succeeds if the thread exists.
            result.insert("success".to_owned(), json!(true));
            Ok(Value::Object(result))
        }
        "get_chain" => {
            let (id, known) = thread()?;
            let status = known.get("status");
            Ok(
                json!({ "success": true, "chain_length": 1, "chain": [{ "thread_id": id, "status": status }] }),
            )
        }
        "list_active" => Ok(json!({ "success": true, "active_threads": [], "count": 0 })),
        "list_children" => {
            let ids: Vec<&&str> = threads.by_id.keys().collect();
            Ok(json!({ "success": true, "count": ids.len(), "children": ids }))
        }
        other => Err(refused_operation(other).map_or_else(
            || {
                let known = OPERATIONS.join(", ");
                invalid(&format!("there is no operation `{}`: they are {known}", excerpt(other)))
            },
            |reason| refused(&reason),
        )),
    }
}

/// Returns the reason why no node performs an operation, with a command for the same purpose. It is the same for every
/// thread, so that it is known before a run starts.
pub(crate) fn refused_operation(operation: &str) -> Option<String> {
    let instead = match operation {
        "cancel_thread" | "kill_thread" => {
            let command = operation.trim_end_matches("_thread");
            format!(
                "a thread has ended when the next node begins, and `graph-host runs {command} RUN` ends a run that is under way"
            )
        }
        "read_transcript" | "chain_search" => {
            "`graph-host runs transcript RUN` shows the conversations of a run and of its threads".to_owned()
        }
        "resume_thread" | "handoff_thread" => {
            "a node that starts the directive again continues from here, and a thread that is a run of its own is continued with \
             `graph-host resume RUN --input message=..`"
                .to_owned()
        }
        _ => return None,
    };
    Some(format!("`{operation}` is not done by a node: {instead}"))
}

/// Returns the results of threads, or a failure with the results in its details if one has not completed.
fn wait(params: &Value, threads: &Threads<'_>) -> Result<Value, Failure> {
    let results = results(params, threads)?;
    let status =
        |result: &Value| result.get("status").and_then(Value::as_str).unwrap_or("unknown").to_owned();
    let why = |result: &Value| match result.get("error").and_then(Value::as_str) {
        Some(error) => format!("{}: {}", excerpt(&status(result)), excerpt(error)),
        None => excerpt(&status(result)),
    };
    let failed: Vec<_> =
        results.iter().filter(|(_, result)| !ANSWERED.contains(&status(result).as_str())).collect();
    if failed.is_empty() {
        return Ok(json!({ "success": true, "count": results.len(), "results": results }));
    }
    let named =
        failed.iter().take(MOST_NAMED).map(|(id, result)| format!("`{}`: {}", excerpt(id), why(result)));
    let named = named.collect::<Vec<_>>().join("; ");
    let more = if failed.len() > MOST_NAMED { "; .." } else { "" };
    let (some, all) = (failed.len(), results.len());
    let message = format!("{some} of {all} threads have not completed ({named}{more})");
    let details = json!({ "success": false, "error": message, "count": all, "results": results });
    Err(Failure { details: Some(details), ..refused(&message) })
}

/// Returns the results of the threads that the params name, by id. An entry that is no id, because a thread could not
/// be started, gets a key of its own.
fn results(params: &Value, threads: &Threads<'_>) -> Result<Map<String, Value>, Failure> {
    let named = params.get("thread_ids").and_then(Value::as_array);
    let named = named.ok_or_else(|| invalid("`thread_ids` has to be a list of threads"))?;
    let id_of = |named: &'_ Value| named.as_str().or_else(|| started(named)).map(str::to_owned);
    let mut results = Map::new();
    for id in named.iter().filter_map(id_of) {
        let found = threads.get(&id).cloned();
        let found = found.unwrap_or_else(|| json!({ "status": "not_found", "thread_id": id }));
        results.insert(id, found);
    }
    for (place, other) in named.iter().enumerate().filter(|(_, named)| id_of(named).is_none()) {
        let mut key = format!("__failed_{place}");
        while results.contains_key(&key) {
            key.insert(0, '_');
        }
        let failed =
            if other.is_object() { other.clone() } else { json!({ "status": "error", "error": other }) };
        results.insert(key, failed);
    }
    Ok(results)
}

fn invalid(message: &str) -> Failure {
    Failure::new(Category::InvalidInput, message)
}

fn refused(message: &str) -> Failure {
    Failure::new(Category::Permanent, message)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::needless_pass_by_value)]
    use super::*;

    /// Kept results: `b` has failed in the end; entries without a text as id are no threads.
    fn kept() -> Value {
        json!([
            { "success": true, "status": "completed", "thread_id": "a", "result": "Good." },
            { "success": true, "status": "completed", "thread_id": "b" },
            { "success": false, "status": "error", "thread_id": "b", "error": "no" },
            7,
            { "thread_id": 8 },
        ])
    }

    fn asked(params: Value) -> Result<Value, Failure> {
        coordinate(&params, &Threads::new(Some(&kept())))
    }

    #[test]
    fn threads_that_have_ended_are_not_waited_for() {
        let waited = asked(
            json!({ "operation": "wait_threads", "thread_ids": ["a", { "thread_id": "a" }], "timeout": "300" }),
        );
        assert_eq!(waited, Ok(json!({ "success": true, "count": 1, "results": { "a": kept()[0] } })));
        let ids = json!(["a", "b", "__failed_4", "c", { "status": "error", "error": "not started" }, 7]);
        let failure = asked(json!({ "operation": "wait_threads", "thread_ids": ids })).unwrap_err();
        assert_eq!(
            failure.message,
            "5 of 6 threads have not completed (`___failed_4`: error: not started; `__failed_4`: not_found; `__failed_5`: error; ..)"
        );
        let waited = failure.details.unwrap();
        assert_eq!((&waited["success"], &waited["count"]), (&json!(false), &json!(6)));
        assert_eq!(waited["results"]["b"], kept()[2]);
        assert_eq!(waited["results"]["c"], json!({ "status": "not_found", "thread_id": "c" }));
        let all = asked(json!({ "operation": "aggregate_results", "thread_ids": ids })).unwrap();
        assert_eq!((&all["success"], &all["results"]), (&json!(true), &waited["results"]));
        let none = asked(json!({ "operation": "wait_threads", "thread_ids": [] }));
        assert_eq!(none, Ok(json!({ "success": true, "count": 0, "results": {} })));
    }

    #[test]
    fn a_thread_can_be_looked_up() {
        let status = asked(json!({ "operation": "get_status", "thread_id": "b" })).unwrap();
        assert_eq!(
            (&status["success"], &status["status"], &status["error"]),
            (&json!(true), &json!("error"), &json!("no"))
        );
        let chain = asked(json!({ "operation": "get_chain", "thread_id": "a" })).unwrap();
        assert_eq!(chain["chain"], json!([{ "thread_id": "a", "status": "completed" }]));
        assert_eq!(asked(json!({ "operation": "list_active", "thread_id": null })).unwrap()["count"], 0);
        assert_eq!(asked(json!({ "operation": "list_children" })).unwrap()["children"], json!(["a", "b"]));
    }

    #[test]
    fn what_is_not_done_says_what_is() {
        for (params, message) in [
            (json!({}), "`operation` is missing"),
            (json!({ "operation": "dance" }), "there is no operation `dance`"),
            (json!({ "operation": "wait_threads", "thread_ids": "a" }), "`thread_ids` has to be a list"),
            (json!({ "operation": "get_status" }), "`get_status` needs a `thread_id`"),
            (json!({ "operation": "get_status", "thread_id": "c" }), "this run has started no thread `c`"),
            (
                json!({ "operation": "kill_thread", "thread_id": "a" }),
                "a thread has ended when the next node begins, and `graph-host runs kill RUN`",
            ),
            (json!({ "operation": "read_transcript", "thread_id": "a" }), "`graph-host runs transcript RUN`"),
            (
                json!({ "operation": "resume_thread", "thread_id": "a" }),
                "`graph-host resume RUN --input message=..`",
            ),
        ] {
            let refused = asked(params.clone()).unwrap_err().message;
            assert!(refused.contains(message), "{params}: {refused}");
        }
        let refused: Vec<_> = OPERATIONS.iter().filter(|name| refused_operation(name).is_some()).collect();
        assert_eq!(refused, OPERATIONS[6..].iter().collect::<Vec<_>>());
    }
}
