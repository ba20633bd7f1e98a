//! Starts, resumes, edits, forks and stops runs, and computes their pins.

pub mod context;
pub(crate) mod drift;
pub mod edit_and_fork;
pub mod manifest_authority;
pub mod pins;
pub mod restore;
pub mod resume;
pub mod run_id;
pub(crate) mod snapshot;
pub mod start;
pub(crate) mod start_note;
pub mod stop_notes;
pub(crate) mod stop_unheld;
pub mod typed_answers;
pub mod typed_inputs;
