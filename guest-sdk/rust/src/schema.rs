//! JSON Schemas of a node's types.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::Answer;

fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().into_generator()
}

fn text(mut schema: Schema) -> String {
    // The dialect is the contract's; the title would only repeat the name of a Rust type.
    schema.remove("$schema");
    schema.remove("title");
    schema.to_value().to_string()
}

/// The schema of params.
pub(crate) fn of_params<P: JsonSchema>() -> String {
    text(generator().root_schema_for::<P>())
}

/// The schema of a result.
pub(crate) fn of_answer<A: Answer>() -> String {
    text(A::schema(&mut generator()))
}
