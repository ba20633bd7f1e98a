//! Supersteps and their tasks, from the agenda to the commit.

pub(super) mod agenda;
pub(super) mod commit;
pub(super) mod completion;
pub(super) mod conclusion;
pub(super) mod making;
pub(super) mod pending_tasks;
pub(super) mod result_cache;
pub(super) mod start;
pub(super) mod superstep;
pub(super) mod superstep_events;
pub(super) mod task;
