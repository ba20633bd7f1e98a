//! Items from registries and image-layout directories, and to them.

pub mod fetch_cache;
pub mod publish;
pub mod pull;
