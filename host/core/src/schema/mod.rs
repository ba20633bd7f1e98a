//! JSON Schema, draft 2020-12, for inputs and params. Schemas are untrusted as well: references stay inside the
//! schema, and patterns match in linear time.

mod check;
mod defaults;

pub use check::{InputSchema, SchemaError, SchemaProblem};
