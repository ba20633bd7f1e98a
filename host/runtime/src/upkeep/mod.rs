//! Removes data that is no longer needed: entries of caches, and checkpoints and texts of runs.

pub mod caches;
pub mod gc;
