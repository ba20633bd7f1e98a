//! Limits, shares and usage: what a run may use, what is set aside for each of its tasks, and what has been used.

pub(super) mod limit_templates;
pub(super) mod node_counts;
pub(super) mod run_budget;
pub(super) mod run_limits;
pub(super) mod run_usage;
pub(super) mod task_shares;
pub(super) mod task_usage;
pub(super) mod work_slice;
