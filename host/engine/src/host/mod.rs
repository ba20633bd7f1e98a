//! The host interfaces that components import.

pub(crate) mod cli;
pub(crate) mod clocks;
pub(crate) mod filesystem;
pub(crate) mod http;
pub(crate) mod knowledge;
pub(crate) mod model;
pub(crate) mod output;
pub(crate) mod random;
mod text;
pub(crate) mod tools;

pub(crate) use text::escape;
