//! Where runs are kept: the [`CheckpointStore`] trait, a store in memory .
//!
//! A store keeps records as they are: it never reads what a record says, and never signs or checks one. What it does
//! promise is order, atomicity and durability.

mod error;
mod memory;
mod plan;
mod resolve;
mod run;
mod store;

pub use error::{
    AcquireError, CommitError, CreateRunError, ReadError, ResolveError, SnapshotError, StorageError,
};
pub use memory::MemoryStore;
pub use run::{Change, NewRun, RunFilter, RunRow, RunUpdate, Snapshot};
pub use store::{At, CheckpointStore, Owner, RunGuard, Synchronous, Wanted};
