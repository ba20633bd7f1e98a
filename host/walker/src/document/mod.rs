//! Graph documents: reads YAML into a [`Graph`](crate::graph::Graph), with all checks that are possible without running it. All problems of
//! a document are reported at once, each with its position.
//!
//! - `load` reads a whole graph tool file, the bare `config` of a case, and the snapshot in a run;
//! - `config` and `node` lower the two levels of keys;
//! - `hooks` reads hooks, those of a graph and those of a document of their own;
//! - `scope` reads names, templates and conditions, and checks which roots they may read;
//! - `revisit` reads the setting for nodes that are entered again;
//! - `later` warns about keys that later releases will support;
//! - `check` checks the graph as a whole.

mod ask;
mod bounds;
mod cache;
mod check;
mod config;
mod hooks;
mod later;
mod load;
mod node;
mod revisit;
mod scope;
mod wait;

pub use hooks::{LoadedHooks, load_hook_list, load_hooks, load_hooks_snapshot};
pub use load::{
    LoadedGraph, SignatureKind, SignatureLine, document_digest, load, load_config, load_snapshot, load_within,
};
pub(crate) use scope::ITEM_INDEX;

#[cfg(test)]
mod key_tables_tests;
#[cfg(test)]
mod tests;
