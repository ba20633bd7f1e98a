//! What a node in Rust reaches beyond the machine and the run: requests, secrets, knowledge, other items.
//!
//! It stands beside `graph-sdk`, which every node uses: a node that stays within the run does not depend on it.

mod bindings;
mod failure;
pub mod http;
pub mod knowledge;
pub mod secrets;
pub mod tools;
