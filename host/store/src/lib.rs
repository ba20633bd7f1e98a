//! Stores of runs: the [`CheckpointStore`] trait, a store in memory, one in SQLite and one in a folder.
//!
//! A store keeps records unchanged: it never interprets, signs or verifies them. It guarantees order, atomicity and
//! durability.
//!
//! # A store of your own
//!
//! Implement [`CheckpointStore`], or [`StoreInterceptor`] to intercept the commits of another store. The conformance suite
//! (feature `conformance`) then tests these guarantees: a macro defines one test for each.
//!
//! ```
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicUsize, Ordering};
//!
//! use graph_core::record::SignedRecord;
//! use graph_store::{CheckpointStore, CommitError, StoreInterceptor, MemoryStore, RunGuard, RunUpdate, SyncMode};
//!
//! /// Counts the records that were committed.
//! #[derive(Clone, Debug, Default)]
//! struct Counting {
//!     store: MemoryStore,
//!     records: Arc<AtomicUsize>,
//! }
//!
//! impl StoreInterceptor for Counting {
//!     fn behind(&self) -> &dyn CheckpointStore {
//!         &self.store
//!     }
//!
//!     fn commit(
//!         &self,
//!         guard: &RunGuard,
//!         batch: &[SignedRecord],
//!         update: &RunUpdate,
//!         synchronous: SyncMode,
//!     ) -> Result<(), CommitError> {
//!         self.store.commit(guard, batch, update, synchronous)?;
//!         self.records.fetch_add(batch.len(), Ordering::Relaxed);
//!         Ok(())
//!     }
//! }
//!
//! // In a test of your crate, `graph_store::conformance!(Place::default());` makes a test of every promise. Here is one.
//! # #[cfg(feature = "conformance")]
//! # {
//! use graph_store::conformance::{Subject, commits};
//!
//! /// A place that every handle shares.
//! #[derive(Default)]
//! struct Place(Counting);
//!
//! impl Subject for Place {
//!     fn open(&self) -> Box<dyn CheckpointStore> {
//!         Box::new(self.0.clone())
//!     }
//! }
//!
//! commits::checkpoints_are_kept_in_order(&|| Box::new(Place::default()));
//! # }
//! ```

#[cfg(feature = "bench")]
mod bench_baseline;
mod bounds;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod error;
mod file;
mod interceptor;
mod knowledge;
mod lock;
mod memory;
mod names;
mod plan;
mod resolve;
mod run;
mod sqlite;
mod store;
mod upkeep;
mod versions;

#[cfg(feature = "bench")]
pub use bench_baseline::BareDatabase;
pub use bounds::{LARGEST_NAME, LARGEST_PENDING, LARGEST_READ, LARGEST_SNAPSHOT, LARGEST_TEXT, PAGE_BYTES};
pub use error::{
    AcquireError, CommitError, CreateRunError, ImportError, Loss, ReadError, ReadableData, RemoveError,
    ResolveError, SnapshotError, StorageError,
};
pub use file::{FileStore, Listener};
pub use graph_held as held;
pub use interceptor::StoreInterceptor;
pub use knowledge::{KnowledgeStore, KnowledgeStoreError};
pub use memory::MemoryStore;
pub use names::BadName;
pub use run::{Change, NewRun, RunFilter, RunRow, RunUpdate, Snapshot};
pub use sqlite::{FileAccess, OpenError, PlaceError, SCHEMA_VERSION, SqliteOptions, SqliteStore};
pub use store::{
    CheckpointPosition, CheckpointStore, Fence, Holder, NumberedRecord, Owner, RunGuard, RunList, SyncMode,
    Upkeep, WantedChannel,
};
pub use upkeep::{Cut, ReclaimedData, SnapshotEpoch};
pub use versions::{Format, PathContent};
