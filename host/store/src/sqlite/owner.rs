//! The holders of runs.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use graph_core::digest::Digest;
use graph_core::id::RunId;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::store::{SqliteStore, Write};
use super::{fence, row, sql, write};
use crate::error::{AcquireError, ReadError, StorageError, location};
use crate::held::FilePlace;
use crate::lock::RunLock;
use crate::store::{Fence, Holder, Owner, RunGuard, SyncMode};

/// Number of waits for a process that has taken a lock and has not recorded its identity yet, and the duration of each
/// wait.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(10);

impl SqliteStore {
    /// Returns the path of the file that is locked while a process on this machine holds a run of a database. For an
    /// invalid id, the name of the file is made of the id's digest.
    pub fn lock_file(database: &Path, run: &str) -> PathBuf {
        Self::lock_place(&FilePlace::at(database), run).path()
    }

    /// Returns the place of that file. Its folder is opened for each use, because it may be created and removed
    /// meanwhile.
    pub fn lock_place(database: &FilePlace, run: &str) -> FilePlace {
        database.folder().child(Path::new(database.name()).with_extension("")).file(lock_name(run))
    }

    pub(super) fn take(&self, run: &str, owner: &Owner) -> Result<RunGuard, AcquireError> {
        let not_found = || AcquireError::NotFound { run: run.to_owned() };
        self.take_all(&[run], owner).pop().unwrap_or_else(|| Err(not_found()))
    }

    /// Acquires runs: first the lock of each run is taken, then the epochs of all are raised and their owner is
    /// recorded in one transaction.
    ///
    /// It does not wait for the disk. A power failure loses the newest epoch only together with every commit under it,
    /// and it also ends every process that could have an earlier epoch.
    pub(super) fn take_all(&self, runs: &[&str], owner: &Owner) -> Vec<Result<RunGuard, AcquireError>> {
        let locked: Vec<_> = runs.iter().map(|run| self.lock_run(run)).collect();
        let taken: Vec<_> =
            runs.iter().zip(&locked).filter_map(|(run, lock)| Some((*run, lock.as_ref().ok()?.0))).collect();
        let raised = match self.writer(SyncMode::Normal) {
            Ok(_) if taken.is_empty() => Ok(Vec::new()),
            Ok(mut database) => {
                let raised = raise(&database.connection, &taken, owner).map_err(|error| self.fault(&error));
                for (run, _) in &taken {
                    database.cache.taken_up(run);
                }
                raised
            }
            Err(error) => Err(error),
        };
        let mut raised = raised.map(Vec::into_iter);
        let guard = |(run, lock): (&&str, Result<(i64, RunLock), AcquireError>)| {
            let (id, lock) = lock?;
            let (before, fence) = match &mut raised {
                Ok(raised) => {
                    raised.next().ok_or_else(|| AcquireError::NotFound { run: (*run).to_owned() })?
                }
                Err(error) => return Err(error.clone().into()),
            };
            let held = Release { store: self.clone(), id, epoch: fence.epoch, _lock: lock };
            Ok(RunGuard::new(run, fence, before, held))
        };
        runs.iter().zip(locked).map(guard).collect()
    }

    /// Takes the lock of a run, and returns the run's number.
    fn lock_run(&self, run: &str) -> Result<(i64, RunLock), AcquireError> {
        let id = self.key(run)?.ok_or_else(|| AcquireError::NotFound { run: run.to_owned() })?;
        // No lock may be created next to a file that was opened for reading only.
        drop(self.writer(SyncMode::Normal)?);
        let file = Self::lock_place(self.place(), run);
        match RunLock::try_take(&file) {
            Ok(Some(lock)) => Ok((id, lock)),
            Ok(None) => Err(AcquireError::Held { run: run.to_owned(), holder: self.owner_soon(run)? }),
            Err(error) => {
                Err(AcquireError::Lock { location: location(&file.path()), reason: error.to_string() })
            }
        }
    }

    pub(super) fn read_holder(&self, run: &str) -> Result<Holder, ReadError> {
        if self.key(run)?.is_none() {
            return Err(ReadError::NotFound { run: run.to_owned() });
        }
        let path = Self::lock_place(self.place(), run);
        match RunLock::is_held(&path) {
            Ok(false) => Ok(Holder::Nobody),
            Ok(true) => Ok(self.owner_soon(run)?.map_or(Holder::Unknown, Holder::Known)),
            Err(error) => {
                Err(StorageError::Io { location: location(&path.path()), reason: error.to_string() }.into())
            }
        }
    }

    fn key(&self, run: &str) -> Result<Option<i64>, StorageError> {
        let database = self.lock();
        write::key(&database.connection, run).map_err(|error| self.fault(&error))
    }

    /// Reads the recorded holder of a run. The process that has just taken the lock needs a moment to record its
    /// identity.
    fn owner_soon(&self, run: &str) -> Result<Option<Owner>, StorageError> {
        for _ in 0..TRIES {
            let owner = read_owner(&self.lock().connection, run).map_err(|error| self.fault(&error))?;
            if owner.is_some() {
                return Ok(owner);
            }
            thread::sleep(PAUSE);
        }
        Ok(None)
    }
}

/// Returns the name of the file that is locked while a process holds a run.
fn lock_name(run: &str) -> String {
    match RunId::parse(run) {
        Ok(run) => format!("{run}.lock"),
        Err(_) => format!("{}.lock", Digest::of_bytes(run.as_bytes()).hex()),
    }
}

fn read_owner(connection: &Connection, run: &str) -> rusqlite::Result<Option<Owner>> {
    connection.prepare_cached(sql::OWNER)?.query_row([run], row::owner).optional()
}

/// Raises the epochs of these runs and records their owner. Returns for each the previous owner, if it ended without
/// releasing the run, and the fence.
fn raise(
    connection: &Connection,
    runs: &[(&str, i64)],
    owner: &Owner,
) -> rusqlite::Result<Vec<(Option<Owner>, Fence)>> {
    let write = Write::begin(connection)?;
    let since = i64::try_from(owner.since.0).unwrap_or(i64::MAX);
    let mut raised = Vec::with_capacity(runs.len());
    for (run, id) in runs {
        let before = read_owner(connection, run)?;
        connection.prepare_cached(sql::PUT_OWNER)?.execute(params![id, owner.pid, owner.host, since])?;
        raised.push((before, fence::raise(connection, *id)?));
    }
    write.commit()?;
    Ok(raised)
}

/// Releases the run when it is dropped: it removes the row, then the lock.
struct Release {
    store: SqliteStore,
    id: i64,
    epoch: u64,
    _lock: RunLock,
}

impl Drop for Release {
    fn drop(&mut self) {
        // A row that remains names a process that has ended. It is harmless: the lock decides, and it is released in
        // any case. If the run was removed, its row was removed with it. A row with another epoch is that of another
        // owner.
        if let Ok(database) = self.store.writer(SyncMode::Normal) {
            let connection = &database.connection;
            let is_own = || -> rusqlite::Result<bool> {
                let stored = fence::read(connection, self.id)?;
                Ok(stored.is_some_and(|stored| stored.fence.epoch == self.epoch))
            };
            let give_back = || {
                // Nothing is written if the run was removed or another process has acquired it.
                if !is_own()? {
                    return Ok(());
                }
                let write = Write::begin(connection)?;
                if is_own()? {
                    connection.prepare_cached(sql::REMOVE_OWNER)?.execute([self.id])?;
                }
                write.commit()
            };
            let _: rusqlite::Result<()> = give_back();
        }
    }
}
