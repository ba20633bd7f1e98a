//! Compiles the JSON of a schema to a [`Program`](super::program::Program). All errors of a schema are found here, and all work is charged.

mod build;
mod meta;
mod pattern;
mod resolve;
mod scan;
mod shape;
mod uri;

pub(super) use build::compile;
pub(super) use uri::decoded;

/// Largest number of errors that are reported for one schema.
const MOST_ERRORS: usize = 50;
