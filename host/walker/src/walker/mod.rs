//! The walker: a state machine that executes a graph superstep by superstep. It takes events and returns effects; it does
//! no IO, and receives time and identity as arguments.
//!
//! # The run loop
//!
//! [`RunTree::handle`] takes an event and the time at which it happened, and returns all effects that follow. The run does not
//! change until the next event, so that the driver may perform the effects in its own time. It performs them in order, and answers
//! each that needs an answer with an event: a task with [`Event::TaskDone`], a record with [`Event::Persisted`], and so on.
//!
//! ```
//! use std::collections::VecDeque;
//! use std::sync::Arc;
//!
//! use graph_core::capability::{DispatchPatterns, Manifest};
//! use graph_core::digest::Digest;
//! use graph_walker::document;
//! use graph_core::policy::Durability;
//! use graph_core::node::Outcome;
//! use graph_core::record::Status;
//! use graph_core::time::Timestamp;
//! use graph_walker::walker::{Effect, Event, Identity, RunTree, Setup, TaskReport};
//! use serde_json::{Map, json};
//!
//! let text = r"
//! tool_type: graph
//! config:
//!   start: double
//!   nodes:
//!     double:
//!       action: { item_id: t/double, params: { n: '${inputs.n}' } }
//!       assign: { twice: '${result}' }
//! ";
//! let graph = Arc::new(document::load("double.yaml", text, "t/graph").unwrap().graph);
//! let inputs = Arc::new(json!({ "n": 21 }));
//! let setup = Setup {
//!     identity: Identity { run: "r".into(), root: "r".into(), parent: None, namespace: String::new() },
//!     seed: Setup::default_seed(&graph, &inputs),
//!     inputs,
//!     initial_state: Map::new(),
//!     manifest: Arc::new(Manifest::of_dispatch(DispatchPatterns::parse(["execute.tool.t.*"]).unwrap())),
//!     graphs: Arc::default(),
//!     hooks: Arc::default(),
//!     pins: Digest::of_bytes(b"the components, the manifest and the engine"),
//!     accepted: Vec::new(),
//!     durability: Durability::Sync,
//!     max_steps: None,
//!     max_concurrency: None,
//! };
//!
//! let mut run = RunTree::new(graph, setup);
//! let mut events = VecDeque::from([Event::Started]);
//! let mut records = Vec::new();
//! let mut end = None;
//! for clock in 1.. {
//!     let Some(event) = events.pop_front() else { break };
//!     for effect in run.handle(Timestamp(clock), event).unwrap() {
//!         match effect {
//!             // A driver passes this to an executor, and reports the result once there is one.
//!             Effect::RunTask(spec) => {
//!                 let doubled = spec.params["n"].as_i64().unwrap() * 2;
//!                 let report = TaskReport::new(Ok(Outcome::Result(json!(doubled))), 7);
//!                 let (task, attempt) = (spec.activation.task.as_str().into(), spec.activation.attempt);
//!                 events.push_back(Event::TaskDone { task, attempt, report });
//!             }
//!             // A driver signs and stores this. The next superstep starts once it is known to be stored.
//!             Effect::Persist(persist) => {
//!                 events.push_back(Event::Persisted(persist.id));
//!                 records.push(persist.record);
//!             }
//!             // There is more to do: a driver looks at signals and due timers first.
//!             Effect::Continue => events.push_back(Event::Continued),
//!             Effect::Suspend(status) | Effect::Finish(status) => end = Some(status),
//!             // This graph has no hooks and no cache, and it is neither stopped nor does it run out of time.
//!             Effect::LookUp(_) | Effect::RunHook(_) | Effect::Abort { .. } | Effect::AbortHook { .. } => {}
//!             // Its item asks no language model.
//!             Effect::ModelRecorded { .. } => {}
//!             Effect::SetTimer { .. } | Effect::Emit(_) => {}
//!         }
//!     }
//! }
//! assert_eq!(end, Some(Status::Completed));
//! assert_eq!(run.summary().state["twice"], json!(42));
//! // The boundary before the first superstep, the task's result, and the boundary after it.
//! assert_eq!(records.len(), 3);
//! ```
//!
//! # Parts
//!
//! A [`Walker`] executes one graph, and a [`RunTree`] has one for the run and one for each child run. A walker is composed of state
//! machines; the state of each is changed in its folder, by calls from the others:
//!
//! - `phase`: what the run is at between events, the work of that phase, and the table of its changes;
//! - `tasks`: the agenda, the superstep with its tasks, and its commit;
//! - `state`: the channels, and the writes that change them;
//! - `nodes`: the values that nodes read, their permissions, and the nodes that follow them;
//! - `budget`: the limits of the run, the shares of its tasks, and their usage;
//! - `hooks`: the hooks that are due, their calls, and their verdicts;
//! - `stop`: the limits of runs, and how a run stops;
//! - `records`: the records of the run, its position in its history, and the changes that no checkpoint contains yet;
//! - `interrupt`: questions, the answers to them, and resuming;
//! - `travel`: edits, forks, and the checkpoints that lead to another;
//! - `tree`: the run with its child runs.

mod budget;
mod event;
mod hooks;
mod interrupt;
mod machine;
mod nodes;
mod phase;
mod records;
mod setup;
mod state;
mod stop;
mod tasks;
mod travel;
mod tree;

pub use event::{
    Answers, ChannelChange, CustomEvent, Earlier, Edit, Effect, Event, ItemPlace, Notice, Persist, PersistId,
    RecordedAnswer, Resume, TaskReport, TaskSpec, TimerId, Timing, Update,
};
pub use hooks::calls::HookSpec;
pub use interrupt::match_answers::AnsweredQuestion;
pub use machine::Walker;
pub use setup::{
    CheckpointRef, Graphs, HandleError, Identity, RestoreError, Restored, Setup, Summary, inputs_digest,
    inputs_text_digest,
};
pub(crate) use state::reduce::fold_fuel;
pub use stop::limit_codes::StoppingLimit;
pub use tasks::result_cache::{Answered, Lookup};
pub use travel::ancestry::{warnings_on, way_to};
pub use tree::{RestoredChild, RestoredTree, RunTree, cycles, is_child_of, named, task_of_child};
pub(crate) use tree::{is_below, namespace_of};

#[cfg(test)]
mod tests;
