//! The store of runs in an SQLite file.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use graph_core::digest::Digest;
use graph_core::record::{ChannelValue, RecordKind, SignedCacheEntry, SignedRecord};
use graph_core::time::Timestamp;
use rusqlite::Connection;

use super::cursor::Cursors;
use super::errors;
use super::guard::Meter;
use super::open::{self, FileAccess, OpenDatabase, OpenError, SqliteOptions};
use super::read::Values;
use super::sql;
use super::wal_preallocate::WalPreallocation;
use super::write_cache::WriteCache;
use crate::error::{
    AcquireError, CommitError, CreateRunError, ImportError, ReadError, RemoveError, ResolveError,
    SnapshotError, StorageError, location,
};
use crate::held::{Entry, FilePlace, HeldFolder};
use crate::resolve;
use crate::run::{NewRun, RunFilter, RunRow, RunUpdate};
use crate::store::{
    CheckpointPosition, CheckpointStore, Holder, NumberedRecord, Owner, RunGuard, RunList, SyncMode, Upkeep,
    WantedChannel,
};
use crate::upkeep::{Cut, ReclaimedData, SnapshotEpoch};

/// Stores runs in an SQLite file with a write-ahead log next to it. Their locks are in a folder that has the file's
/// name without its extension. Clones share one connection. Several processes may use the same file at the same time.
#[derive(Clone)]
pub struct SqliteStore {
    shared: Arc<SharedConnection>,
}

struct SharedConnection {
    file: PathBuf,
    place: FilePlace,
    /// The entry of the file when it was opened.
    opened: Entry,
    options: SqliteOptions,
    database: Mutex<Database>,
}

/// The connection, with the data that belongs to it.
pub(super) struct Database {
    pub(super) connection: Connection,
    /// Measures the work of each call.
    meter: Meter,
    /// The durability that the connection is set to, once that is known.
    synchronous: Option<SyncMode>,
    pub(super) wal_preallocation: WalPreallocation,
    pub(super) cache: WriteCache,
    pub(super) cursors: Cursors,
    /// The number of a value up to which all values are known to be in `value_places`.
    pub(super) placed: i64,
    /// The folder through which the connection opens its files.
    _folder: HeldFolder,
}

impl Database {
    /// Forgets the cached state of a run that was removed or changed other than by a commit.
    pub(super) fn forget(&mut self, run: &str) {
        self.cache.forget(run);
        self.cursors.forget(run);
    }
}

impl SqliteStore {
    /// Opens a file, conventionally `.ai/state/runs.db` in the project, and migrates its tables to the current version.
    pub fn open(file: impl Into<FilePlace>, options: SqliteOptions) -> Result<Self, OpenError> {
        let place = file.into();
        let OpenDatabase { connection, meter, folder } = open::open(&place, options)?;
        let database = Mutex::new(Database {
            connection,
            meter,
            synchronous: None,
            wal_preallocation: WalPreallocation::for_database(&place),
            cache: WriteCache::default(),
            cursors: Cursors::default(),
            placed: 0,
            _folder: folder,
        });
        let file = place.path();
        let opened = place.found().map_err(|error| errors::unfound(&file, &error))?;
        Ok(Self { shared: Arc::new(SharedConnection { file, place, opened, options, database }) })
    }

    /// Returns the path of the database file.
    pub fn file(&self) -> &Path {
        &self.shared.file
    }

    /// Returns the place of the database file.
    pub(super) fn place(&self) -> &FilePlace {
        &self.shared.place
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Database> {
        // A transaction that a panic interrupted was rolled back.
        let database = self.shared.database.lock().unwrap_or_else(PoisonError::into_inner);
        database.meter.begin();
        database
    }

    /// Refuses to continue if the path no longer leads to the open file: what is written to it is lost.
    pub(super) fn check_there(&self) -> Result<(), StorageError> {
        if self.shared.place.is_still(&self.shared.opened) {
            return Ok(());
        }
        Err(StorageError::Gone { location: location(&self.shared.file) })
    }

    pub(super) fn fault(&self, error: &rusqlite::Error) -> StorageError {
        errors::storage(&self.shared.file, self.shared.options.busy_timeout, error)
    }

    /// Returns the connection for writing, with this durability.
    pub(super) fn writer(&self, synchronous: SyncMode) -> Result<MutexGuard<'_, Database>, StorageError> {
        if self.shared.options.access == FileAccess::ReadOnly {
            let reason = "it was opened for reading only".to_owned();
            return Err(StorageError::NotWritable { location: location(&self.shared.file), reason });
        }
        let mut database = self.lock();
        if database.synchronous != Some(synchronous) {
            let level = match synchronous {
                SyncMode::Full => "FULL",
                SyncMode::Normal => "NORMAL",
            };
            database
                .connection
                .pragma_update(None, "synchronous", level)
                .map_err(|error| self.fault(&error))?;
            database.synchronous = Some(synchronous);
        }
        Ok(database)
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("file", &self.shared.file).finish_non_exhaustive()
    }
}

/// A write transaction. Unless it is committed, it is rolled back.
pub(super) struct Write<'c> {
    pub(super) connection: &'c Connection,
}

impl<'c> Write<'c> {
    pub(super) fn begin(connection: &'c Connection) -> rusqlite::Result<Self> {
        connection.prepare_cached(sql::BEGIN)?.execute([])?;
        Ok(Self { connection })
    }

    pub(super) fn commit(self) -> rusqlite::Result<()> {
        // If the commit fails, dropping rolls back.
        self.connection.prepare_cached(sql::COMMIT)?.execute([]).map(drop)
    }
}

impl Drop for Write<'_> {
    fn drop(&mut self) {
        if !self.connection.is_autocommit() {
            // An error of the rollback has the same cause as one that was reported before.
            let _ =
                self.connection.prepare_cached(sql::ROLLBACK).and_then(|mut rollback| rollback.execute([]));
        }
    }
}

impl CheckpointStore for SqliteStore {
    fn create_run(&self, run: &NewRun) -> Result<(), CreateRunError> {
        self.write_run(run)
    }

    fn commit(
        &self,
        guard: &RunGuard,
        batch: &[SignedRecord],
        update: &RunUpdate,
        synchronous: SyncMode,
    ) -> Result<(), CommitError> {
        self.write_batch(guard, batch, update, synchronous)
    }

    fn run(&self, run: &str) -> Result<Option<RunRow>, ReadError> {
        self.read_run(run, sql::RUN)
    }

    fn listed_run(&self, run: &str) -> Result<Option<RunRow>, ReadError> {
        self.read_run(run, sql::LISTED_RUN)
    }

    fn list(&self, filter: &RunFilter) -> Result<RunList, ReadError> {
        self.read_runs(filter)
    }

    fn resolve(&self, name: &str) -> Result<String, ResolveError> {
        resolve::resolve(name, &mut &*self)
    }

    fn checkpoint(
        &self,
        run: &str,
        namespace: &str,
        at: CheckpointPosition,
    ) -> Result<Option<SignedRecord>, ReadError> {
        self.read_checkpoint(run, namespace, at)
    }

    fn checkpoints(
        &self,
        run: &str,
        namespace: &str,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<SignedRecord>, ReadError> {
        self.read_checkpoints(run, namespace, after, limit, Values::With)
    }

    fn checkpoints_alone(
        &self,
        run: &str,
        namespace: &str,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<SignedRecord>, ReadError> {
        self.read_checkpoints(run, namespace, after, limit, Values::Without)
    }

    fn checkpoints_before(
        &self,
        run: &str,
        namespace: &str,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<SignedRecord>, ReadError> {
        self.read_checkpoints_before(run, namespace, before, limit)
    }

    fn pending_after(
        &self,
        run: &str,
        namespace: &str,
        after: Option<(RecordKind, &str)>,
        limit: usize,
    ) -> Result<Vec<SignedRecord>, ReadError> {
        self.read_pending(run, namespace, after, limit)
    }

    fn history(&self, run: &str, after: u64, limit: usize) -> Result<Vec<NumberedRecord>, ReadError> {
        self.read_history(run, after, limit)
    }

    fn status_at(&self, run: &str, before: u64) -> Result<Option<SignedRecord>, ReadError> {
        self.read_status(run, before)
    }

    fn history_length(&self, run: &str) -> Result<u64, ReadError> {
        self.read_history_length(run)
    }

    fn values(
        &self,
        run: &str,
        namespace: &str,
        wanted: &[WantedChannel<'_>],
    ) -> Result<Vec<ChannelValue>, ReadError> {
        self.read_values(run, namespace, wanted)
    }

    fn put_snapshot(&self, digest: &Digest, text: &str) -> Result<(), SnapshotError> {
        self.write_snapshot(digest, text)
    }

    fn snapshot(&self, digest: &Digest) -> Result<Option<String>, ReadError> {
        self.read_snapshot(digest)
    }

    fn has_snapshot(&self, digest: &Digest) -> Result<bool, ReadError> {
        self.has_text(digest)
    }

    fn results(
        &self,
        key: &Digest,
        window: RangeInclusive<Timestamp>,
    ) -> Result<Vec<SignedCacheEntry>, ReadError> {
        self.read_results(key, &window)
    }

    fn namespaces(&self, run: &str) -> Result<Vec<String>, ReadError> {
        self.read_namespaces(run)
    }

    fn pruning(&self, run: &str, namespace: &str) -> Result<Option<String>, ReadError> {
        self.read_pruning(run, namespace)
    }

    fn acquire(&self, run: &str, owner: &Owner) -> Result<RunGuard, AcquireError> {
        self.take(run, owner)
    }

    fn holder(&self, run: &str) -> Result<Holder, ReadError> {
        self.read_holder(run)
    }
}

impl Upkeep for SqliteStore {
    fn import_run(
        &self,
        run: &NewRun,
        records: &mut dyn Iterator<Item = Result<NumberedRecord, ImportError>>,
        prunings: &[(String, String)],
    ) -> Result<(), ImportError> {
        self.write_import(run, records, prunings)
    }

    fn remove_run(&self, guard: &RunGuard) -> Result<ReclaimedData, RemoveError> {
        let freed = self.remove_all(std::slice::from_ref(guard))?;
        Ok(freed.into_iter().fold(ReclaimedData::default(), |mut all, freed| {
            all += freed;
            all
        }))
    }

    fn acquire_all(&self, runs: &[&str], owner: &Owner) -> Vec<Result<RunGuard, AcquireError>> {
        self.take_all(runs, owner)
    }

    fn remove_runs(&self, guards: &[RunGuard]) -> Result<Vec<ReclaimedData>, RemoveError> {
        self.remove_all(guards)
    }

    fn prune(&self, guard: &RunGuard, namespace: &str, cut: &Cut<'_>) -> Result<ReclaimedData, RemoveError> {
        self.cut_history(guard, namespace, cut)
    }

    fn results_size(&self, expired: Option<Timestamp>) -> Result<ReclaimedData, ReadError> {
        self.read_results_size(expired)
    }

    fn remove_results(&self, expired: Option<Timestamp>) -> Result<ReclaimedData, RemoveError> {
        self.remove_all_results(expired)
    }

    fn snapshots(&self) -> Result<Vec<Digest>, ReadError> {
        self.read_snapshots()
    }

    fn mark(&self) -> Result<SnapshotEpoch, ReadError> {
        self.read_mark()
    }

    fn remove_snapshots(
        &self,
        digests: &[Digest],
        mark: SnapshotEpoch,
    ) -> Result<Option<ReclaimedData>, RemoveError> {
        self.remove_texts(digests, mark)
    }
}
