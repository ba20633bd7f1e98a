//! Graphs that a run writes itself: the items `graph/validate` and `graph/run`, which the walker performs.
//!
//! `graph/validate` reports the problems of a document, and `graph/run` runs it as a child run. A written graph has no
//! signature and no authority of its own: it may dispatch what the manifest and the nodes above leave, and no more.

mod limits;
mod open;
mod report;

pub use limits::WrittenLimits;
pub(crate) use open::is_written;
pub use open::{MAX_TEXT, Refusal, RunCall};
pub use report::validate;

#[cfg(test)]
mod tests;
