//! The differences between what a run was started with and what exists now.

mod current_sources;
mod documents;
mod pins;

pub(crate) use current_sources::{CurrentSources, changed_manifest};
pub(crate) use documents::of_graphs;
pub(crate) use pins::of_pins;
