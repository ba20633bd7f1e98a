//! Stored runs: reads, shows, verifies, exports and removes them.

pub mod answered;
pub mod archive;
pub mod checkpoints;
pub mod events;
pub mod gc;
pub mod run_document;
pub mod run_knowledge_item;
pub mod streamed;
pub mod transcript;
pub mod verify;
