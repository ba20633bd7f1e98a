//! JSON Schemas of a node's types.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::Answer;

fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().into_generator()
}

fn text(mut schema: Schema) -> String {
    // The contract fixes the dialect, and the title would only repeat the name of a Rust type.
    schema.remove("$schema");
    schema.remove("title");
    schema.to_value().to_string()
}

/// Returns the schema of params, as JSON text.
pub(crate) fn of_params<P: JsonSchema>() -> String {
    text(generator().root_schema_for::<P>())
}

/// Returns the schema of a result, as JSON text.
pub(crate) fn of_answer<A: Answer>() -> String {
    text(A::schema(&mut generator()))
}
