//! Folders that are held open, and access to their entries through the open handle.
//!
//! A project may come from a stranger, and a component may have been granted its folder. Between a check of a path and
//! its use, another process can therefore put something else in its place. So a path is never followed twice: a folder
//! is opened once, segment by segment and without following a link, and everything in it is reached from its handle. A
//! folder that was put in its place later is never used.

mod entry;
mod folder;
mod place;

#[cfg(test)]
mod tests;

pub use entry::Entry;
pub use folder::{DRAFT, DRAFT_END, HeldFolder, Opening, Refusal, WriteOptions};
pub use place::{FilePlace, FolderPlace};
