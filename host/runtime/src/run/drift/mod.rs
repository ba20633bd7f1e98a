//! Differences between the sources of a run at its start and at present.

mod current_sources;
mod documents;
mod pins;

pub(crate) use current_sources::{CurrentSources, changed_manifest};
pub(crate) use documents::of_graphs;
pub(crate) use pins::of_pins;
