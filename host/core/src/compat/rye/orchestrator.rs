//! Rye's orchestrator of threads, `rye/agent/threads/orchestrator`, for threads that have ended.
//!
//! A thread is a result with a `thread_id`. Here a node that starts one has its result before the next node begins, also with `async_exec`,
//! so that every operation follows from the results that the run has kept in [`THREADS`]. What Rye does with threads that are under way, or
//! with files of their transcripts, is refused with what does it here.

use serde_json::{Map, Value, json};

use crate::diagnostic::excerpt;
use crate::node::{Category, Failure};

/// The id of the item.
pub(crate) const ORCHESTRATOR: &str = "rye/agent/threads/orchestrator";
/// The state key that holds the results of threads, by their ids.
pub(crate) const THREADS: &str = "_threads";
/// The statuses of threads that have answered. An answer after a summary, `continued`, is the end of the chain: the thread is one run.
const ANSWERED: [&str; 2] = ["completed", "continued"];
/// How many threads are named in a failure.
const MOST_NAMED: usize = 3;

/// The JSON Schema of its params. Other params of Rye's are taken, and say nothing about threads that have ended.
pub(crate) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "operation": {
                "enum": [
                    "wait_threads", "aggregate_results", "get_status", "get_chain", "list_active", "list_children", "cancel_thread",
                    "kill_thread", "read_transcript", "chain_search", "resume_thread", "handoff_thread",
                ],
                "description": "What to do. The last six are refused with the command that does it",
            },
            "thread_ids": { "type": "array", "description": "The threads, for `wait_threads` and `aggregate_results`" },
            "thread_id": { "type": "string", "description": "The thread, for the other operations" },
            "timeout": { "type": ["number", "null"], "description": "Has no effect: the threads have ended" },
            "fail_fast": { "type": ["boolean", "null"], "description": "Has no effect: the threads have ended" },
        },
        "required": ["operation"],
    })
}

/// The thread that a result is about, if it has the id of one.
pub(crate) fn started(result: &Value) -> Option<&str> {
    result.get("thread_id")?.as_str()
}

/// Performs an operation; `threads` are the results by their ids.
///
/// The failure is `invalid-input` for params that are none, and `permanent` for a thread that is not known and for what is not done here.
pub(crate) fn coordinate(params: &Value, threads: &Map<String, Value>) -> Result<Value, Failure> {
    let operation = params.get("operation").and_then(Value::as_str);
    let operation = operation.ok_or_else(|| invalid("`operation` is missing: such as `wait_threads`"))?;
    let thread = || {
        let id = params.get("thread_id").and_then(Value::as_str);
        let id = id.ok_or_else(|| invalid(&format!("`{operation}` needs a `thread_id`")))?;
        let known = threads
            .get(id)
            .ok_or_else(|| refused(&format!("this run has started no thread `{}`", excerpt(id))))?;
        Ok((id, known))
    };
    match operation {
        "wait_threads" => wait(params, threads),
        "aggregate_results" => {
            let results = results(params, threads)?;
            Ok(json!({ "success": true, "count": results.len(), "results": results }))
        }
        "get_status" => {
            let (id, known) = thread()?;
            let mut result = known.clone();
            // That there is such a thread is the success of this operation.
            result["success"] = json!(true);
            result["thread_id"] = json!(id);
            Ok(result)
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
            let ids: Vec<&String> = threads.keys().collect();
            Ok(json!({ "success": true, "count": ids.len(), "children": ids }))
        }
        "cancel_thread" | "kill_thread" => {
            let (id, _) = thread()?;
            Err(refused(&format!(
                "the thread `{}` has ended; `graph-host runs {} RUN` ends a run that is under way",
                excerpt(id),
                operation.trim_end_matches("_thread")
            )))
        }
        "read_transcript" | "chain_search" => Err(refused(&format!(
            "`{operation}` is not done by a node: `graph-host runs transcript RUN` shows the conversations of a run and of its threads"
        ))),
        "resume_thread" | "handoff_thread" => Err(refused(&format!(
            "`{operation}` is not done by a node: `graph-host resume RUN --input message=..` continues a thread, and an edge to a node \
             that starts a thread hands over to it"
        ))),
        other => Err(invalid(&format!("there is no operation `{}`", excerpt(other)))),
    }
}

/// The results of threads, and whether all have answered.
fn wait(params: &Value, threads: &Map<String, Value>) -> Result<Value, Failure> {
    let results = results(params, threads)?;
    let status =
        |result: &Value| result.get("status").and_then(Value::as_str).unwrap_or("unknown").to_owned();
    let failed: Vec<_> = results
        .iter()
        .map(|(id, result)| (id, status(result)))
        .filter(|(_, is)| !ANSWERED.contains(&is.as_str()))
        .collect();
    let mut waited = json!({ "success": failed.is_empty(), "count": results.len(), "results": results });
    if !failed.is_empty() {
        let named =
            failed.iter().take(MOST_NAMED).map(|(id, is)| format!("`{}`: {}", excerpt(id), excerpt(is)));
        let named = named.collect::<Vec<_>>().join(", ");
        let more = if failed.len() > MOST_NAMED { ", .." } else { "" };
        let (some, all) = (failed.len(), results.len());
        waited["error"] = json!(format!("{some} of {all} threads have not completed ({named}{more})"));
    }
    Ok(waited)
}

/// The results of the threads that the params name, by their ids. What was collected in the place of an id, because a thread could not be
/// started, has a key of its own.
fn results(params: &Value, threads: &Map<String, Value>) -> Result<Map<String, Value>, Failure> {
    let named = params.get("thread_ids").and_then(Value::as_array);
    let named = named.ok_or_else(|| invalid("`thread_ids` has to be a list of threads"))?;
    let result = |(place, named): (usize, &Value)| match (named.as_str().or_else(|| started(named)), named) {
        (Some(id), _) => {
            let found = threads.get(id).cloned();
            (id.to_owned(), found.unwrap_or_else(|| json!({ "status": "not_found", "thread_id": id })))
        }
        (None, Value::Object(_)) => (format!("__failed_{place}"), named.clone()),
        (None, other) => (format!("__failed_{place}"), json!({ "status": "error", "error": other })),
    };
    Ok(named.iter().enumerate().map(result).collect())
}

fn invalid(message: &str) -> Failure {
    Failure::new(Category::InvalidInput, message)
}

fn refused(message: &str) -> Failure {
    Failure::new(Category::Permanent, message)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn threads() -> Map<String, Value> {
        let done = json!({ "success": true, "status": "completed", "thread_id": "a", "result": "Good." });
        let failed = json!({ "success": false, "status": "error", "thread_id": "b", "error": "no" });
        Map::from_iter([("a".to_owned(), done), ("b".to_owned(), failed)])
    }

    fn asked(params: Value) -> Result<Value, String> {
        coordinate(&params, &threads()).map_err(|failure| failure.message)
    }

    #[test]
    fn threads_that_have_ended_are_not_waited_for() {
        let waited = asked(
            json!({ "operation": "wait_threads", "thread_ids": ["a", { "thread_id": "a" }], "timeout": 300 }),
        );
        assert_eq!(waited, Ok(json!({ "success": true, "count": 1, "results": { "a": threads()["a"] } })));
        let ids = json!(["a", "b", "c", { "status": "error", "error": "not started" }, 7]);
        let waited = asked(json!({ "operation": "wait_threads", "thread_ids": ids })).unwrap();
        assert_eq!((&waited["success"], &waited["count"]), (&json!(false), &json!(5)));
        assert_eq!(
            waited["error"],
            "4 of 5 threads have not completed (`__failed_3`: error, `__failed_4`: error, `b`: error, ..)"
        );
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
        assert_eq!(asked(json!({ "operation": "list_active" })).unwrap()["count"], 0);
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
                "the thread `a` has ended; `graph-host runs kill RUN`",
            ),
            (json!({ "operation": "read_transcript", "thread_id": "a" }), "`graph-host runs transcript RUN`"),
            (
                json!({ "operation": "resume_thread", "thread_id": "a" }),
                "`graph-host resume RUN --input message=..`",
            ),
        ] {
            let refused = asked(params.clone()).unwrap_err();
            assert!(refused.contains(message), "{params}: {refused}");
        }
    }
}
