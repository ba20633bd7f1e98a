//! Performs tasks with components, with operations on other items, and with functions of the program.

mod component_calls;
#[allow(clippy::module_inception, reason = "what it has is re-exported")]
mod executor;
pub mod item_operations;
mod ledger;

pub(crate) use executor::{CallSite, Shared, knowledge_of};
pub use executor::{ComponentExecutor, ExecutorParts};
