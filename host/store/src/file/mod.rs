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
//! A log is rewritten as a whole where a run comes from elsewhere, or where its first checkpoints were removed: the lines
//! after its first one bring its records with their numbers, some at a time.
//!
//! The process that takes a run up adds a line with its epoch. The epoch of a run that is made is that of the file `epoch`, so that no run
//! gets the epoch of one that was removed.
//!
//! A line of a log is the digest of its text, a blank and the text. A commit is one line, so it is there as a whole or not
//! at all: a last line without its end was cut short, and is cut off by the next commit. Any other line that is not what
//! its digest says is damage: what is before it can be read, and nothing is written any more.

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
