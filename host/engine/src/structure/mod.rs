//! Counts what a component consists of, before it is compiled.
//!
//! The time and memory that compiling takes grow faster than a component's size, and differ between machines. These
//! counts are the same everywhere, take one pass over the bytes, and cover what makes the compiler expensive. Validity is
//! not checked here: what cannot be read is left to the compiler to report.

mod body;
mod component;
mod metric;
mod types;

#[cfg(test)]
mod tests;

pub use metric::{Exceeded, Metric};

use metric::Tally;

/// Counts a component, or returns the first figure that exceeds its cap. If bytes cannot be read, those before them are
/// counted.
pub(crate) fn count(bytes: &[u8]) -> Result<Tally, Exceeded> {
    let mut tally = Tally::default();
    tally.add(Metric::Bytes, bytes.len() as u64)?;
    component::count(bytes, &mut tally)?;
    Ok(tally)
}
