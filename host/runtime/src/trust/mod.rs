//! Trusted keys, and the log of what was admitted.

pub mod log;
pub mod trusted_keys;
