//! What the structure of a graph shows before it runs.

mod reach;
mod report;

pub(crate) use reach::reachable;
pub use report::{Finding, FindingKind, findings, unneeded_capabilities};

#[cfg(test)]
mod tests;
