//! A store in a folder: for people who want to read, copy and keep runs as files.
//!
//! ```text
//! snapshots/<digest>          a text, under its digest
//! runs/<number>-<run>/log     a run: a line for its creation and one for each commit
//! runs/<number>-<run>/owner   who has the run
//! runs/<number>-<run>/lock    held by the process that has the run
//! lock                        held while a run is added
//! epoch                       the highest epoch of the runs that were removed; 0 where the file is missing
//! format                      the version of all this; 1 where the file is missing
//! ```
//!
//! A log is rewritten as a whole if its run is imported, or if its first checkpoints are removed. In such a log, the
//! lines after the first one state the numbers of entries before their records, and each of them contains a part of the
//! records.
//!
//! A process that acquires a run appends a line with the run's epoch. A new run starts with the epoch in the file
//! `epoch`, so that no run gets the epoch of one that was removed.
//!
//! A line of a log is the digest of its text, a blank and the text. A commit is one line, so that it is present as a
//! whole or not at all: a last line without its line break was cut short, and the next commit removes it. Any other
//! line that does not have its digest is damage: the lines before it can be read, and nothing more is written to the
//! log.

mod channel_span;
mod epoch;
pub(crate) mod format;
mod index;
mod line;
mod log;
mod owner;
mod results;
mod store;
mod upkeep;

#[cfg(test)]
mod tests;

pub use store::{FileStore, Listener};
