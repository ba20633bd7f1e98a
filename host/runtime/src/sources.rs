//! The sources that a command or a program names.

use std::path::PathBuf;

/// Sources of items and trusted keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// Trust files whose keys are trusted, in addition to those of the user's trust store.
    pub trust: Vec<PathBuf>,
    /// Folders that are searched first for items, as `DIR/ID.wasm`.
    pub items: Vec<PathBuf>,
    /// Project with items in its `.ai/tools`. Without it, the nearest folder with `.ai` at or above the graph.
    pub project: Option<PathBuf>,
    /// Admits components without a signature: for components under development.
    pub allow_unsigned: bool,
}
