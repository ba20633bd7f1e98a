//! Analyses of a graph's structure before it runs.

mod reach;
mod report;

pub(crate) use reach::reachable;
pub use report::{Finding, FindingKind, findings, findings_of, unknown_channels, unneeded_capabilities};

#[cfg(test)]
mod tests;
