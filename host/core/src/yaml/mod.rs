//! YAML 1.2 documents as a tree with the place of each part.
//!
//! Every document of this project is read in two steps: [`parse`] creates a tree of [`Node`]s, and a specific reader lowers the tree to
//! a typed value with [`Fields`], which collects every problem instead of stopping at the first.
//!
//! The schema is YAML's core schema (YAML 1.2.2, 10.3). Ambiguous documents are refused: duplicate keys, keys that are not texts,
//! unknown tags, merge keys, several documents in one file.

mod fields;
mod json_document;
mod node;
mod parse;
mod position;
mod scalar;
mod units;
mod write;

pub use fields::Fields;
#[cfg(feature = "asked-keys")]
pub use fields::asked;
pub use node::{Key, Mapping, MappingEntry, Node, Text, TextStyle, Yaml};
pub use parse::{MAX_DEPTH, MAX_NODES, MAX_TEXT, parse};
pub use units::{ParseDurationError, ParseSizeError, parse_duration, parse_size};
pub use write::write;

#[cfg(test)]
mod tests;
