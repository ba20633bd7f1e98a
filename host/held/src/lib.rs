//! Folders that are held open, and what is in them.
//!
//! A project may come from a stranger, and a component may have been granted its folder: whatever a path names can be another
//! thing between a check and the use. So a path is never followed twice. A folder is opened once, one segment at a time and
//! without following a link, and everything in it is reached from its handle. A folder that takes its place is not looked at.

mod entry;
mod folder;
mod place;

#[cfg(test)]
mod tests;

pub use entry::Entry;
pub use folder::{DRAFT, DRAFT_END, HeldFolder, Opening, Refusal, Written};
pub use place::{FilePlace, FolderPlace};
