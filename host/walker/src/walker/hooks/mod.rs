//! Hooks: which are due, calling them one after the other, and following their verdicts.

pub(super) mod boundary;
pub(super) mod calls;
pub(super) mod dispatch;
pub(super) mod due;
pub(super) mod schedule;
pub(super) mod verdict;
