//! Pulls items from registries and image-layout directories, and publishes items to them.

pub mod companions;
pub mod fetch_cache;
mod named_registries;
pub mod publish;
pub mod publish_error;
pub mod pull;
pub mod yank;
pub mod yank_error;
pub(crate) mod yank_memory;
