//! Runs: events in, effects out.
//!
//! `document` has the setup and the events as they are read, `effects` what is written, `stored` the records on their way to a
//! store and back.

mod document;
mod effects;
mod machine;
mod stored;

pub use machine::Run;

#[cfg(test)]
mod tests;
