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
        let not_found = || AcquireError::NotFound { run: run.to_owned() };
        self.take_all(&[run], owner).pop().unwrap_or_else(|| Err(not_found()))
    }

    /// Takes runs: first the lock of each, then all say in one transaction who has them.
    pub(super) fn take_all(&self, runs: &[&str], owner: &Owner) -> Vec<Result<RunGuard, AcquireError>> {
        let locked: Vec<_> = runs.iter().map(|run| self.lock_run(run)).collect();
        let taken: Vec<_> =
            runs.iter().zip(&locked).filter_map(|(run, lock)| Some((*run, lock.as_ref().ok()?.0))).collect();
        let abandoned = match self.writer(Synchronous::Normal) {
            Ok(_) if taken.is_empty() => Ok(Vec::new()),
            Ok(database) => {
                put_owners(&database.connection, &taken, owner).map_err(|error| self.fault(&error))
            }
            Err(error) => Err(error),
        };
        let mut abandoned = abandoned.map(Vec::into_iter);
        let guard = |(run, lock): (&&str, Result<(i64, RunLock), AcquireError>)| {
            let (id, lock) = lock?;
            let before = match &mut abandoned {
                Ok(abandoned) => abandoned.next().flatten(),
                Err(error) => return Err(error.clone().into()),
            };
            Ok(RunGuard::new(
                run,
                before,
                Held { store: self.clone(), id, owner: owner.clone(), _lock: lock },
            ))
        };
        runs.iter().zip(locked).map(guard).collect()
    }

    /// Takes the lock of a run, and gives the run's number.
    fn lock_run(&self, run: &str) -> Result<(i64, RunLock), AcquireError> {
        let id = self.key(run)?.ok_or_else(|| AcquireError::NotFound { run: run.to_owned() })?;
        // A file opened for reading only shall not get a lock beside it.
        drop(self.writer(Synchronous::Normal)?);
        let file = self.lock_path(run);
        match RunLock::try_take(&file) {
            Ok(Some(lock)) => Ok((id, lock)),
            Ok(None) => Err(AcquireError::Held { run: run.to_owned(), holder: self.owner_soon(run)? }),
            Err(error) => Err(AcquireError::Lock { file, reason: error.to_string() }),
        }
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

fn since(owner: &Owner) -> i64 {
    i64::try_from(owner.since.0).unwrap_or(i64::MAX)
}

/// Says who has these runs, and gives for each who said so before and never took it back.
fn put_owners(
    connection: &Connection,
    runs: &[(&str, i64)],
    owner: &Owner,
) -> rusqlite::Result<Vec<Option<Owner>>> {
    let write = Write::begin(connection)?;
    let since = since(owner);
    let mut before = Vec::with_capacity(runs.len());
    for (run, id) in runs {
        before.push(read_owner(connection, run)?);
        connection.prepare_cached(sql::PUT_OWNER)?.execute(params![id, owner.pid, owner.host, since])?;
    }
    write.commit()?;
    Ok(before)
}

/// Gives the run back: first the row, then the lock.
struct Held {
    store: SqliteStore,
    id: i64,
    owner: Owner,
    _lock: RunLock,
}

impl Drop for Held {
    fn drop(&mut self) {
        // A row that stays names a process that is gone; the lock is what counts, and it goes in any case. The row of a run
        // that is gone went with it, and one under its number since then is another owner's.
        if let Ok(database) = self.store.writer(Synchronous::Normal) {
            let connection = &database.connection;
            let said = || {
                let params = params![self.id, self.owner.pid, self.owner.host, since(&self.owner)];
                connection.prepare_cached(sql::OWNS)?.query_row(params, |_| Ok(())).optional()
            };
            if said().is_ok_and(|said| said.is_some()) {
                let _ = connection
                    .prepare_cached(sql::REMOVE_OWNER)
                    .and_then(|mut remove| remove.execute([self.id]));
            }
        }
    }
}
