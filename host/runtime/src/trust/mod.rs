//! Trusted keys, signing, and the log of what was admitted.

pub mod describe;
pub mod log;
pub mod signing;
pub mod trusted_keys;
