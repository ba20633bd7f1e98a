//! Hooks: which are due, calling them one after the other, and following their verdicts.

pub(super) mod calls;
pub(super) mod due;
pub(super) mod schedule;
pub(super) mod verdict;
