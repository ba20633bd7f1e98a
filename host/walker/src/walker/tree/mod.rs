//! A run with its child runs.

pub(super) mod child_usage;
pub(super) mod cycles;
pub(super) mod member;
pub(super) mod names;
pub(super) mod run_tree;
pub(super) mod visits;

pub use cycles::{cycles, named};
pub(crate) use names::{is_below, namespace_of};
pub use names::{is_child_of, task_of_child};
pub use run_tree::{RestoredChild, RestoredTree, RunTree};
