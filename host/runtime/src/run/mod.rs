//! Starts, resumes, edits, forks and stops runs, and computes their pins.

pub(crate) mod answered;
pub mod checkpoints;
pub mod context;
pub(crate) mod drift;
pub mod edit_and_fork;
pub mod history_audit;
pub mod manifest_file;
pub mod opened_graph;
pub mod pins;
pub mod planned;
pub mod restore;
pub mod resume;
pub mod run_id;
pub mod run_inputs;
pub(crate) mod snapshot;
pub mod start;
pub(crate) mod start_note;
pub mod state_item;
pub mod stop_notes;
pub(crate) mod stop_unheld;
pub mod stores;
pub mod typed_answers;
pub mod typed_inputs;
