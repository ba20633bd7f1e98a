//! Functions that a component exports in addition to the node action: called with values of WIT types, which are converted from and to
//! JSON.
//!
//! `host/docs/reference/functions.md` has the mapping, and `graph_core::wit_value` is the implementation. `list` finds the functions
//! with their types, `types` reads their types within limits, `documentation` reads their documentation in the component, `values` converts
//! values, and `entry` calls them.

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
pub(crate) use list::{FunctionLookup, exported, first_callable, has_action, look_up};
pub use types::FunctionsTooLarge;
