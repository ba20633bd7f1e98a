//! Signatures of items that their author makes.

pub mod signing;
pub mod signing_error;
