//! Runs: events in, effects out.
//!
//! `document` has the setup and the events that are read, `effects` the documents that are written, `stored` the records that are read
//! from a store.

mod document;
mod effects;
mod machine;
mod stored;

pub use machine::Run;

#[cfg(test)]
mod tests;
