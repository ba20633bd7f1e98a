//! JSON as graph-host writes and reads it: one canonical text per value, strict reading, exact numbers.

mod canonical;
mod number;
mod parse;

#[cfg(test)]
pub(crate) use parse::tests::any_json;

pub use canonical::{Sink, canonical_string, digest, write_canonical};
pub use number::{compare_numbers, equal};
pub use parse::{MAX_DEPTH, StrictJsonError, depth, is_json, parse_strict};
