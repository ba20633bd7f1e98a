//! Going back in a history: edits, forks, and the checkpoints that lead to another.

pub(super) mod ancestry;
pub(super) mod changed_reducers;
pub(super) mod edit_and_fork;
