//! Builders of graphs in a program. [`GraphBuilder`] makes a document as a person would write it, and
//! [`compile`](GraphBuilder::compile) reads it with the checks of every document: the graph has the digest of the YAML,
//! runs in the same way, and can be written with [`GraphBuilder::to_yaml`].
//!
//! - `graph_builder` has the nodes, the edges between them, and the settings of the whole graph;
//! - `node_builder` has the settings of one node;
//! - `when` has the conditions of edges and hooks;
//! - `hook_builder` has hooks;
//! - `fields` keeps the keys of a mapping in the order in which they were set.

mod fields;
mod graph_builder;
mod hook_builder;
mod node_builder;
mod when;

pub use graph_builder::{Branch, BuildError, BuiltGraph, GraphBuilder};
pub use hook_builder::HookBuilder;
pub use node_builder::{ActionBuilder, NodeBuilder, Retry};
pub use when::When;

#[cfg(test)]
mod tests;
