//! Pulls items from registries and image-layout directories, and publishes items to them.

pub mod companions;
pub mod fetch_cache;
mod named_registries;
pub mod publish;
pub mod pull;
pub mod yank;
pub(crate) mod yank_memory;
