//! Who has a run.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use graph_core::digest::Digest;
use graph_core::id::RunId;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::row;
use super::sql;
use super::store::{SqliteStore, Write};
use crate::error::{AcquireError, ReadError, StorageError};
use crate::lock::RunLock;
use crate::store::{Holder, Owner, RunGuard, Synchronous};

/// How often, and in what steps, to wait for a process that has taken a lock to say who it is.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(10);

impl SqliteStore {
    /// Where the lock of a run lies. An id that names no run is represented by its digest.
    pub(super) fn lock_path(&self, run: &str) -> PathBuf {
        let name = match RunId::parse(run) {
            Ok(run) => format!("{run}.lock"),
            Err(_) => format!("{}.lock", Digest::of_bytes(run.as_bytes()).hex()),
        };
        self.file().with_extension("").join(name)
    }

    pub(super) fn take(&self, run: &str, owner: &Owner) -> Result<RunGuard, AcquireError> {
        let id = self.key(run)?.ok_or_else(|| AcquireError::NotFound { run: run.to_owned() })?;
        // A file opened for reading only shall not get a lock beside it.
        drop(self.writer(Synchronous::Normal)?);
        let file = self.lock_path(run);
        let lock = match RunLock::try_take(&file) {
            Ok(Some(lock)) => lock,
            Ok(None) => {
                return Err(AcquireError::Held { run: run.to_owned(), holder: self.owner_soon(run)? });
            }
            Err(error) => return Err(AcquireError::Lock { file, reason: error.to_string() }),
        };
        let abandoned = {
            let database = self.writer(Synchronous::Normal)?;
            put_owner(&database.connection, run, id, owner).map_err(|error| self.fault(&error))?
        };
        Ok(RunGuard::new(run, abandoned, Held { store: self.clone(), id, _lock: lock }))
    }

    pub(super) fn read_holder(&self, run: &str) -> Result<Holder, ReadError> {
        if self.key(run)?.is_none() {
            return Err(ReadError::NotFound { run: run.to_owned() });
        }
        let path = self.lock_path(run);
        match RunLock::is_held(&path) {
            Ok(false) => Ok(Holder::Nobody),
            Ok(true) => Ok(self.owner_soon(run)?.map_or(Holder::Unknown, Holder::Known)),
            Err(error) => Err(StorageError::Io { file: path, reason: error.to_string() }.into()),
        }
    }

    fn key(&self, run: &str) -> Result<Option<i64>, StorageError> {
        let database = self.lock();
        let read = || {
            database.connection.prepare_cached(sql::RUN_KEY)?.query_row([run], |row| row.get(0)).optional()
        };
        read().map_err(|error| self.fault(&error))
    }

    /// Who has said that they have the run. Whoever has just taken the lock needs a moment to say so.
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

fn read_owner(connection: &Connection, run: &str) -> rusqlite::Result<Option<Owner>> {
    connection.prepare_cached(sql::OWNER)?.query_row([run], row::owner).optional()
}

/// Says who has the run, and gives who said so before and never took it back.
fn put_owner(connection: &Connection, run: &str, id: i64, owner: &Owner) -> rusqlite::Result<Option<Owner>> {
    let write = Write::begin(connection)?;
    let before = read_owner(connection, run)?;
    let since = i64::try_from(owner.since.0).unwrap_or(i64::MAX);
    connection.prepare_cached(sql::PUT_OWNER)?.execute(params![id, owner.pid, owner.host, since])?;
    write.commit()?;
    Ok(before)
}

/// Gives the run back: first the row, then the lock.
struct Held {
    store: SqliteStore,
    id: i64,
    _lock: RunLock,
}

impl Drop for Held {
    fn drop(&mut self) {
        // A row that stays names a process that is gone; the lock is what counts, and it goes in any case.
        if let Ok(database) = self.store.writer(Synchronous::Normal) {
            let _ = database
                .connection
                .prepare_cached(sql::REMOVE_OWNER)
                .and_then(|mut remove| remove.execute([self.id]));
        }
    }
}
