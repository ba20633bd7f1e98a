//! From the JSON of a schema to a [`Program`](super::program::Program): everything that can be wrong with a schema is
//! found here, and all of it is charged for.

mod build;
mod meta;
mod pattern;
mod resolve;
mod scan;
mod shape;
mod uri;

pub(super) use build::compile;

/// The most errors that are reported for one schema.
const MOST_ERRORS: usize = 50;
