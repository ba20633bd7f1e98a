//! Performs tasks: with components, with the items that are no components, and with functions of the program.

mod component_calls;
#[allow(clippy::module_inception, reason = "what it has is re-exported")]
mod executor;
pub mod functions;
pub mod item_operations;
mod operation_journal;
mod tape;

pub use executor::ComponentExecutor;
pub(crate) use executor::{CallSite, Shared};
pub use tape::Tape;
