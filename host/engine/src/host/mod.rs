//! The host interfaces that components import.

pub(crate) mod cli;
pub(crate) mod clocks;
pub(crate) mod filesystem;
pub(crate) mod http;
pub(crate) mod knowledge;
pub(crate) mod model;
pub(crate) mod output;
pub(crate) mod random;
pub(crate) mod tools;
