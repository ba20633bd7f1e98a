//! Building nodes in other languages than Rust.

pub mod javascript;
pub mod narrow;
pub mod wit;
