//! Runs: events in, effects out.
//!
//! `document` has the setup and the events that are read, `effects` the documents that are written, `stored` the records that are read
//! from a store, `dispatches` what was handed out, and `replay` the replay of a stored run.

mod dispatches;
mod document;
mod effects;
mod machine;
mod replay;
mod stored;

pub use machine::Run;
pub use replay::Replay;

#[cfg(test)]
mod replay_tests;
#[cfg(test)]
mod tests;
