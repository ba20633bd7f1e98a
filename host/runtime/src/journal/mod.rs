//! Journals of tasks: the entries of tasks without a component, and the entries that answer the attempts of a replay.

pub(crate) mod operation_journal;
mod tape;

pub use tape::Tape;
