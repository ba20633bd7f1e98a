//! Graphs of other hosts: how graph-host behaves like them where they differ from its own language.
//!
//! A graph has one [`Dialect`], which is determined when its document is lowered. The walker asks the dialect about each
//! point; the modules of the other hosts make their data formats.

mod dialect;
pub mod rye;

pub use dialect::Dialect;
