//! Stored runs: reads, shows, verifies, and exports them.

pub mod archive;
pub mod archive_error;
pub mod events;
pub mod run_document;
pub mod streamed;
pub mod transcript;
pub mod value_changes;
pub mod verify;
