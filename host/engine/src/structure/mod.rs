//! Counts the parts of a component before it is compiled.
//!
//! The time and memory of compiling grow faster than a component's size, and differ between machines. These counts are the same
//! everywhere, take one pass over the bytes, and cover everything that makes the compiler expensive. Names of imports and exports of
//! components are also checked, since hosts show them and write them into code. Validity is not checked here: the compiler reports
//! unreadable parts.

mod body;
mod component;
mod metric;
mod types;

#[cfg(test)]
mod tests;

pub use metric::{ExceededCap, StructureError, StructureMetric};

use metric::Tally;

/// Counts a component, or returns the first figure that exceeds its cap, or the first invalid name of an import or export. Counting ends at
/// unreadable bytes.
pub(crate) fn count(bytes: &[u8]) -> Result<Tally, StructureError> {
    let mut tally = Tally::default();
    tally.add(StructureMetric::Bytes, bytes.len() as u64)?;
    component::count(bytes, &mut tally)?;
    Ok(tally)
}
