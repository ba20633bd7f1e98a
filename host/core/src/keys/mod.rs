//! The keys of every document that people write: one table for each mapping, with the type, the default and the meaning
//! of each key.
//!
//! The loaders read a mapping with its table ([`Fields`](crate::yaml::Fields)), so a key without a row is an unknown key.
//! The reference, the JSON Schemas and `graph-host explain KEY` are generated from the same tables.
//!
//! ```
//! use graph_core::keys::{self, KeyTable};
//!
//! let backoff = keys::graph::RETRY.find("backoff").unwrap();
//! assert_eq!(backoff.shape.words(), "number from 1 to 1000");
//! let schema = keys::json_schema("graph", &keys::graph::DOCUMENT);
//! assert_eq!(schema["$defs"]["retry"]["properties"]["max_attempts"]["minimum"], 1);
//! ```

pub mod graph;
pub mod hooks;
mod json_schema;
pub mod manifest;
mod markdown;
mod sample;
mod shape;
mod table;
pub mod text;
pub mod trust;

pub use json_schema::json_schema;
pub use markdown::{markdown_table, one_line};
pub use sample::samples;
pub use shape::{Shape, names_of, names_of_kinds};
pub(crate) use table::described;
pub use table::{Key, KeyTable, reachable};

/// Converts the choices of a type to the alternatives of a [`Shape::Words`].
#[macro_export]
macro_rules! words {
    ($kind:ty) => {{
        const COUNT: usize = <$kind>::CHOICES.len();
        const NAMES: [&str; COUNT] = $crate::keys::names_of(<$kind>::CHOICES);
        $crate::keys::Shape::Words(&NAMES)
    }};
}
