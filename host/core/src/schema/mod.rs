//! JSON Schema, draft 2020-12, for inputs and params. Schemas are untrusted as well: references stay inside the schema,
//! patterns match in linear time, and compiling and checking are charged to a [`Meter`](crate::work::Meter) before the work
//! is done and before memory is taken.

mod annotated;
mod check;
mod compare;
mod compile;
mod defaults;
mod errors;
mod evaluate;
mod explain;
mod marks;
mod message;
mod program;
mod referred;
mod report;
mod seen;

#[cfg(test)]
mod tests;

pub use annotated::{every_text_of_format, texts_of_format};
pub use check::{InputSchema, SchemaError, SchemaFailure, SchemaProblem};
pub use marks::InputMarks;
pub use referred::referred;
