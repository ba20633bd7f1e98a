//! Runs in projects of their own, in this process: by [`Runtime`](crate::Runtime), as programs and the command line do.
#![allow(clippy::unwrap_used)]

mod back_in_time;
mod cached_results;
mod changed_pins;
mod changed_stores;
mod graphs_inside;
mod hooks_of_layers;
mod item_precedence;
mod replays;
mod test_project;
