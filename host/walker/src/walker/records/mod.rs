//! Records of a run, its position in its history, and the changes that no checkpoint contains yet.

pub(super) mod persist;
pub(super) mod position;
pub(super) mod unwritten_changes;
pub(super) mod warnings;
