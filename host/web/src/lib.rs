//! The walker behind JSON, for hosts that are not written in Rust: a browser's page, or a program that runs components.
//!
//! [`graph_core`] has Rust types; this crate has the same functions on texts. `host/web/component` makes it a component without imports,
//! with the interfaces of `wit/walker`; `wit/walker/README.md` lists the fields of every document and has the run loop. This crate
//! decides nothing: it parses a document, calls `graph_core`, and writes a document.
//!
//! ```
//! use graph_web::run::Run;
//! use serde_json::{Value, json};
//!
//! let setup = json!({
//!     "version": 1,
//!     "run": "r",
//!     "graph": { "name": "double.yaml", "id": "t/double", "text": "
//! tool_type: graph
//! config:
//!   start: double
//!   nodes:
//!     double: { action: { item_id: t/twice, params: { n: '${inputs.n}' } }, assign: { twice: '${result}' } }
//! " },
//!     "inputs": { "n": 21 },
//!     "manifest": { "name": "caps.yaml", "folder": "/", "text": "dispatch: [execute.tool.t.*]" },
//!     "key": "0707070707070707070707070707070707070707070707070707070707070707",
//! });
//! let mut run = Run::start(&setup.to_string())?;
//! let mut events = vec![json!({ "event": "started" })];
//! let mut results = Vec::new();
//! for now in 1.. {
//!     let Some(event) = events.pop() else { break };
//!     let effects: Vec<Value> = serde_json::from_str(&run.handle(now, &event.to_string())?).unwrap();
//!     for effect in effects {
//!         match effect["effect"].as_str().unwrap() {
//!             "run_task" => {
//!                 let doubled = effect["params"]["n"].as_i64().unwrap() * 2;
//!                 let report = json!({ "outcome": { "result": doubled }, "fuel": 7 });
//!                 let activation = &effect["activation"];
//!                 events.push(json!({ "event": "task_done", "task": activation["task"],
//!                     "attempt": activation["attempt"], "report": report }));
//!             }
//!             "persist" => {
//!                 results.extend(effect["result_digest"].as_str().map(str::to_owned));
//!                 events.insert(0, json!({ "event": "persisted", "id": effect["id"] }));
//!             }
//!             "continue" => events.insert(0, json!({ "event": "continued" })),
//!             _ => {}
//!         }
//!     }
//! }
//! let summary: Value = serde_json::from_str(&run.summary()).unwrap();
//! assert_eq!((&summary["status"], &summary["state"]["twice"]), (&json!("completed"), &json!(42)));
//! // The boundary before the first superstep, and the one after it.
//! assert_eq!(results.len(), 2);
//! # Ok::<(), graph_web::Problem>(())
//! ```

pub mod digests;
pub mod documents;
pub mod functions;
pub mod host;
pub mod models;
mod problem;
mod read;
pub mod run;
pub mod trust;

pub use problem::Problem;

/// Version of the documents. A setup names it; reports contain it.
pub const VERSION: u32 = 1;
