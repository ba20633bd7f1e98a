//! Data formats of Rye.
//!
//! - `result`: the answers of Rye's tools, and the result of a nested graph;
//! - `failure`: failures in hooks and in `state._last_error`, and how Rye classifies them;
//! - `orchestrator`: operations on the threads that a run has started;
//! - `parameters`: other names of the params of Rye's own items;
//! - `built_in_hooks`: the hooks that Rye loads for every graph;
//! - `differences`: differences of Rye's dialect, for people.

mod built_in_hooks;
pub mod differences;
mod failure;
mod orchestrator;
mod parameters;
mod result;

pub(crate) use built_in_hooks::built_in_hooks;
pub(crate) use failure::{classification, error_document, last_error};
pub(crate) use orchestrator::{
    ORCHESTRATOR, THREADS, Threads, coordinate, refused_operation, schema as orchestrator_schema, started,
};
pub(crate) use parameters::take_other_names;
pub(crate) use result::{failed_result, is_own_tool, nested_result, thread_id, unwrap};
