//! A store in a folder: for people who want to read, copy and keep runs as files.
//!
//! ```text
//! snapshots/<digest>          a text, under its digest
//! runs/<number>-<run>/log     a run: a line for its creation and one for each commit
//! runs/<number>-<run>/owner   who has the run
//! runs/<number>-<run>/lock    held by whoever has the run
//! lock                        held while a run is added
//! ```
//!
//! The first line of a run that comes from elsewhere, or whose first checkpoints were removed, brings all its records: such
//! a log is written anew as a whole.
//!
//! A line of a log is the digest of its text, a blank and the text. A commit is one line, so it is there as a whole or not
//! at all: a last line without its end was cut short, and is cut off by the next commit. Any other line that is not what
//! its digest says is damage: what is before it can be read, and nothing is written any more.

mod line;
mod log;
mod owner;
mod results;
mod store;
mod upkeep;

#[cfg(test)]
mod tests;

pub use store::{FileStore, Listener};
