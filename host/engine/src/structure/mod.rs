//! Counts what a component consists of, before it is compiled.
//!
//! The time and memory that compiling takes grow faster than a component's size, and differ between machines. These
//! counts are the same everywhere, take one pass over the bytes, and cover what makes the compiler expensive. Names of imports and exports
//! of components are checked, too, since hosts show them and write them into code. Validity is not checked here: what cannot be read is
//! left to the compiler to report.

mod body;
mod component;
mod metric;
mod types;

#[cfg(test)]
mod tests;

pub use metric::{Exceeded, Metric, StructureError};

use metric::Tally;

/// Counts a component, or returns the first figure that exceeds its cap, or the first name of an import or export that is none. If
/// bytes cannot be read, those before them are counted.
pub(crate) fn count(bytes: &[u8]) -> Result<Tally, StructureError> {
    let mut tally = Tally::default();
    tally.add(Metric::Bytes, bytes.len() as u64)?;
    component::count(bytes, &mut tally)?;
    Ok(tally)
}
