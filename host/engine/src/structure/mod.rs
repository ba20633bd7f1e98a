//! What a component may be made of, counted before anything of it is compiled.
//!
//! The time and memory that compiling takes grow faster than a component does, and differ from machine to machine.
//! These counts are the same everywhere, take one pass over the bytes, and know nothing of the compiler but what drives
//! its cost. Whether a component is valid is not asked here: what cannot be read is left to the compiler to explain.

mod body;
mod component;
mod metric;
mod types;

#[cfg(test)]
mod tests;

pub use metric::{Exceeded, Metric};

use metric::Tally;

/// What a component is made of, or the first figure that is over its cap. Bytes that cannot be read count as far as they
/// can.
pub(crate) fn count(bytes: &[u8]) -> Result<Tally, Exceeded> {
    let mut tally = Tally::default();
    tally.add(Metric::Bytes, bytes.len() as u64)?;
    component::count(bytes, &mut tally)?;
    Ok(tally)
}
