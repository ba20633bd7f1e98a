//! What is kept of runs: read, shown, verified, exported and deleted.

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
