//! Compatibility with other hosts, for graphs written for them.
//!
//! A graph has one [`Dialect`], which is determined when its document is lowered. The walker asks the dialect about
//! each difference; the modules of the other hosts make their data formats.

mod dialect;
pub mod rye;

pub use dialect::Dialect;
