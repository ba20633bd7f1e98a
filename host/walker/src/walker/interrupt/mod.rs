//! Questions of a run, the answers to them, and continuing after an interrupt.

pub(super) mod match_answers;
pub(super) mod open_questions;
pub(super) mod resume;
pub(super) mod task_answers;
