//! Functions that a component exports besides the node action: called with values of WIT types, which JSON stands for.
//!
//! `host/docs/reference/functions.md` has the mapping, and `graph_core::wit_value` is the implementation. `list` finds the functions and says
//! what they take, `types` reads their types within bounds, `documentation` reads what the component says about them, `values` converts values,
//! `entry` calls.

mod documentation;
mod entry;
mod list;
#[cfg(test)]
mod tests;
mod types;
mod values;

pub use documentation::DocumentationError;
pub(crate) use entry::FunctionEntry;
pub use list::{ExportedFunction, ExportedFunctions, UncallableFunction};
pub(crate) use list::{Named, exported, first_callable, has_action, look_up};
pub use types::NoRoom;
