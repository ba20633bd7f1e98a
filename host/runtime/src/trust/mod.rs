//! Whose signatures count, and the record of what was admitted by them.

pub mod log;
pub mod signing;
pub mod trusted_keys;
