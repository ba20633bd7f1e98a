//! What differs between what a run was begun with and what is there now.

mod documents;
mod pins;
mod present;

pub(crate) use documents::of_graphs;
pub(crate) use pins::of_pins;
pub(crate) use present::Present;
