//! Where runs are kept: the [`CheckpointStore`] trait, a store in memory, one in SQLite and one in a folder.
//!
//! A store keeps records as they are: it never reads what a record says, and never signs or checks one. What it does
//! promise is order, atomicity and durability.

#[cfg(feature = "bench")]
mod bare;
mod bounds;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod error;
mod file;
mod front;
mod knowledge;
mod lock;
mod memory;
mod names;
mod plan;
mod regular;
mod resolve;
mod run;
mod sqlite;
mod store;
mod upkeep;
mod versions;

#[cfg(feature = "bench")]
pub use bare::BareDatabase;
pub use bounds::{LARGEST_NAME, LARGEST_PENDING, LARGEST_READ, LARGEST_TEXT, PAGE_BYTES};
pub use error::{
    AcquireError, CommitError, CreateRunError, ImportError, Loss, ReadError, RemoveError, ResolveError,
    SnapshotError, StorageError,
};
pub use file::{FileStore, Listener};
pub use front::Front;
pub use knowledge::{KnowledgeStore, KnowledgeStoreError};
pub use memory::MemoryStore;
pub use names::BadName;
pub use run::{Change, NewRun, RunFilter, RunRow, RunUpdate, Snapshot};
pub use sqlite::{Access, OpenError, Options, PlaceError, SCHEMA_VERSION, SqliteStore};
pub use store::{
    At, CheckpointStore, Fence, Holder, Listed, Numbered, Owner, RunGuard, Synchronous, Upkeep, Wanted,
};
pub use upkeep::{Cut, Freed, Mark};
pub use versions::{Format, Found};
