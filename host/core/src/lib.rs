//! The pure part of graph-host: documents, conditions, templates, the walker, checkpoint records, trust and
//! capabilities. Nothing here reads a clock, draws randomness, looks at the environment or does IO: time and identity
//! are arguments, and the same arguments give the same result on every machine and in a browser.

pub mod capability;
pub mod condition;
pub mod diagnostic;
pub mod digest;
pub mod document;
pub mod format;
pub mod graph;
pub mod hook;
pub mod id;
pub mod json;
pub mod limits;
pub mod node;
pub mod parameters;
pub mod record;
pub mod schema;
pub mod structure;
pub mod template;
pub mod text_item;
pub mod time;
pub mod topology;
pub mod trust;
pub mod walker;
pub mod work;
pub mod yaml;
