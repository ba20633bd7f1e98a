//! JSON as graph-host writes and reads it: one canonical text per value, strict reading, exact numbers.

mod canonical;
mod number;
mod parse;
mod tree;

#[cfg(test)]
pub(crate) use parse::tests::any_json;

pub use canonical::{Sink, canonical_length, canonical_size, canonical_string, digest, write_canonical};
pub use number::{SumError, add_numbers, compare_numbers, equal_metered, round_number};
pub use parse::{
    MAX_DEPTH, MAX_ENVELOPE_DEPTH, MeteredJsonError, MeteredValue, StrictJsonError, depth, is_json,
    parse_envelope, parse_strict, parse_strict_metered,
};
pub use tree::{ReadJsonError, TreeLimit, TreeTooLarge, read, read_measured};
