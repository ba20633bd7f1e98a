//! Functions that a component exports besides the node action: called with values of WIT types, which JSON stands for.
//!
//! `host/docs/reference/functions.md` has the mapping. `list` finds the functions and says what they take, `schema` writes JSON Schemas of
//! types, `documentation` reads what the component says about them, `read` makes values of JSON, `write` makes JSON of values, `entry` calls.

mod documentation;
mod entry;
mod list;
mod read;
mod schema;
#[cfg(test)]
mod tests;
mod write;

pub use documentation::DocumentationError;
pub(crate) use entry::FunctionEntry;
pub use list::{ExportedFunctions, UncallableFunction};
pub(crate) use list::{Named, first_callable, has_action, look_up};
pub use schema::NoRoom;

/// The texts that stand for the floating-point numbers that JSON has no number for.
const NOT_A_NUMBER: &str = "NaN";
const INFINITY: &str = "Infinity";
const NEGATIVE_INFINITY: &str = "-Infinity";
/// JSON has this number, but canonical JSON (RFC 8785) writes it as `0`.
const NEGATIVE_ZERO: &str = "-0";
/// The key that stands for an option that is there, where its value could be `null` itself.
const SOME: &str = "some";
/// The keys of a `result` inside of another type.
const OK: &str = "ok";
const ERR: &str = "err";

/// Whether the JSON of a type can be `null`, so that `null` alone cannot stand for its absence.
fn can_be_null(ty: &wasmtime::component::Type) -> bool {
    matches!(ty, wasmtime::component::Type::Option(_))
}
