//! Import of whole runs, and removal of data.

use std::collections::BTreeSet;

use graph_core::digest::Digest;
use rusqlite::limits::Limit;
use rusqlite::{Connection, OptionalExtension as _, Result as SqlResult, params};

use super::store::{SqliteStore, Write};
use super::values;
use super::write::{WriteError, head, insert_row, key, number, write_namespace};
use super::{fence, row, sql};
use crate::error::{CommitError, ImportError, ReadError, RemoveError, StorageError};
use crate::plan;
use crate::run::NewRun;
use crate::store::{NumberedRecord, RunGuard, SyncMode};
use crate::upkeep::{Cut, ReclaimedData, SnapshotEpoch};

/// Statements that read much of the file. Only maintenance executes them, and no run waits for them.
mod whole {
    pub(super) const SNAPSHOTS: &str =
        "SELECT iif(octet_length(digest) > 32, x'', digest) FROM snapshots ORDER BY digest";
    pub(super) const REMOVE_SNAPSHOT: &str =
        "DELETE FROM snapshots WHERE digest = ?1 RETURNING octet_length(text)";
    pub(super) const LENGTH_OF_CHECKPOINTS: &str =
        "SELECT count(*), ifnull(sum(octet_length(body)), 0) FROM checkpoints WHERE run = ?1";
    pub(super) const LENGTH_OF_PENDING: &str =
        "SELECT count(*), ifnull(sum(octet_length(body)), 0) FROM pending WHERE run = ?1";
    pub(super) const LENGTH_OF_VALUES: &str = "SELECT 0, ifnull(sum(octet_length(v.json)), 0) \
         FROM checkpoints c CROSS JOIN channel_values v \
         ON v.id >= c.first_value AND v.id < c.first_value + c.value_count WHERE c.run = ?1";
    pub(super) const REMOVE_VALUES: &str = "DELETE FROM channel_values WHERE id IN (SELECT v.id FROM checkpoints c \
         CROSS JOIN channel_values v ON v.id >= c.first_value AND v.id < c.first_value + c.value_count \
         WHERE c.run = ?1 AND c.namespace = ?2 AND c.sequence <= ?3 AND v.run = c.run AND v.namespace = c.namespace)";
    pub(super) const REMOVE_PLACES: &str = "DELETE FROM value_places WHERE run = ?1 AND namespace = ?2 \
         AND NOT EXISTS (SELECT 1 FROM channel_values v WHERE v.id = value_places.id)";
    pub(super) const REMOVE_VALUES_OF_RUN: &str = "DELETE FROM channel_values WHERE id IN (SELECT p.id FROM value_places p WHERE p.run = ?1) AND run = ?1";
    pub(super) const REMOVE_CHECKPOINTS: &str =
        "DELETE FROM checkpoints WHERE run = ?1 AND namespace = ?2 AND sequence < ?3";
    pub(super) const MOVE_VALUES: &str = "UPDATE checkpoints SET first_value = ?4, value_count = ?5 \
         WHERE run = ?1 AND namespace = ?2 AND sequence = ?3";
    pub(super) const REMOVE_RUN: &str = "DELETE FROM runs WHERE id = ?1";
}

/// Number of bytes after which a transaction that removes runs ends. Until it ends, everything that it removes is also
/// in the log, and other processes that write have to wait.
const FREED_AT_ONCE: u64 = 64 << 20;

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// Returns the number of a run's records, and their length with their values, in bytes.
fn size(connection: &Connection, id: i64) -> SqlResult<ReclaimedData> {
    let mut size = ReclaimedData::default();
    for statement in [whole::LENGTH_OF_CHECKPOINTS, whole::LENGTH_OF_PENDING, whole::LENGTH_OF_VALUES] {
        size += connection.prepare_cached(statement)?.query_row([id], |row| {
            Ok(ReclaimedData { records: unsigned(row.get(0)?), bytes: unsigned(row.get(1)?) })
        })?;
    }
    Ok(size)
}

impl SqliteStore {
    pub(super) fn read_namespaces(&self, run: &str) -> Result<Vec<String>, ReadError> {
        let database = self.lock();
        let connection = &database.connection;
        let mut found = BTreeSet::new();
        // The records of each namespace are skipped to find the next namespace.
        for (table, statement) in
            [("checkpoints", sql::NAMESPACE_FROM), ("pending", sql::PENDING_NAMESPACE_FROM)]
        {
            let next = |from: &str| {
                let mut statement = connection.prepare_cached(statement)?;
                statement.query_row([run, from], |row| row::namespace(table, row)).optional()
            };
            let mut from = String::new();
            while let Some(namespace) = next(&from).map_err(|error| self.fault(&error))? {
                from = format!("{namespace}\0");
                found.insert(namespace);
            }
        }
        Ok(found.into_iter().collect())
    }

    pub(super) fn read_pruning(&self, run: &str, namespace: &str) -> Result<Option<String>, ReadError> {
        let database = self.lock();
        let connection = &database.connection;
        let read = || match connection.prepare_cached(sql::PRUNING) {
            // A file that was opened for reading only may be older than the table.
            Err(_) if !connection.table_exists(None, "prunings")? => Ok(None),
            statement => statement?.query_row([run, namespace], |row| row.get(0)).optional(),
        };
        read().map_err(|error: rusqlite::Error| self.fault(&error).into())
    }

    pub(super) fn read_snapshots(&self) -> Result<Vec<Digest>, ReadError> {
        let database = self.lock();
        let read = || {
            database
                .connection
                .prepare_cached(whole::SNAPSHOTS)?
                .query_map([], |row| row.get(0).map(Digest::from_bytes))?
                .collect::<SqlResult<Vec<_>>>()
        };
        read().map_err(|error| self.fault(&error).into())
    }

    pub(super) fn read_mark(&self) -> Result<SnapshotEpoch, ReadError> {
        let database = self.lock();
        mark(&database.connection).map_err(|error| self.fault(&error).into())
    }

    pub(super) fn write_import(
        &self,
        run: &NewRun,
        records: &mut dyn Iterator<Item = Result<NumberedRecord, ImportError>>,
        prunings: &[(String, String)],
    ) -> Result<(), ImportError> {
        plan::check_run(run)?;
        let mut database = self.writer(SyncMode::Full)?;
        let connection = &database.connection;
        let failed = |error: rusqlite::Error| ImportError::from(self.fault(&error));
        let write = Write::begin(connection).map_err(failed)?;
        let id = insert_row(connection, run).map_err(|stop| match stop {
            WriteError::Refused(error) => ImportError::Create(error),
            WriteError::Failed(error) => failed(error),
        })?;
        let run = &run.row.run_id;
        loop {
            let page = plan::next_of_import(records)?;
            if page.is_empty() {
                break;
            }
            let failed = |error: rusqlite::Error| CommitError::from(self.fault(&error));
            let plans =
                plan::plan_import(run, &page, |namespace| head(connection, id, namespace).map_err(failed))?;
            for plan in &plans {
                write_namespace(connection, id, 0, plan, true).map_err(failed)?;
            }
        }
        for (namespace, note) in prunings {
            put_pruning(connection, id, namespace, note).map_err(failed)?;
        }
        values::place(connection).map_err(failed)?;
        write.commit().map_err(failed)?;
        database.forget(run);
        Ok(())
    }

    /// Removes runs with everything that belongs only to them, in transactions that end once they have freed
    /// [`FREED_AT_ONCE`] bytes.
    pub(super) fn remove_all(&self, guards: &[RunGuard]) -> Result<Vec<ReclaimedData>, RemoveError> {
        let mut database = self.writer(SyncMode::Full)?;
        let mut freed = Vec::with_capacity(guards.len());
        while let Some(rest) = guards.get(freed.len()..).filter(|rest| !rest.is_empty()) {
            let removed = remove_some(&database.connection, rest);
            // The cached state of all these runs is read again, also that of runs that were not removed.
            for guard in rest {
                database.forget(guard.run());
            }
            match removed {
                Ok(removed) => freed.extend(removed),
                Err(WriteError::Refused(refused)) => return Err(refused),
                Err(WriteError::Failed(error)) => return Err(self.fault(&error).into()),
            }
        }
        Ok(freed)
    }

    pub(super) fn cut_history(
        &self,
        guard: &RunGuard,
        namespace: &str,
        cut: &Cut<'_>,
    ) -> Result<ReclaimedData, RemoveError> {
        let run = guard.run();
        // This process holds the run. A process that writes between this read and the transaction has acquired the run,
        // and is noticed by the fence.
        let kept = self.read_values(run, namespace, cut.channels)?;
        let mut database = self.writer(SyncMode::Full)?;
        let connection = &database.connection;
        let missing = || RemoveError::NoCheckpoint {
            run: run.to_owned(),
            namespace: namespace.to_owned(),
            sequence: cut.first,
        };
        let remove = || -> Result<ReclaimedData, WriteError<RemoveError>> {
            let write = Write::begin(connection)?;
            let Some(id) = key(connection, run)? else { return Err(WriteError::Refused(missing())) };
            check_fence(connection, id, guard)?;
            let before = size(connection, id)?;
            values::place(connection)?;
            connection.prepare_cached(whole::REMOVE_VALUES)?.execute(params![
                id,
                namespace,
                number(cut.first)
            ])?;
            connection.prepare_cached(whole::REMOVE_CHECKPOINTS)?.execute(params![
                id,
                namespace,
                number(cut.first)
            ])?;
            connection.prepare_cached(whole::REMOVE_PLACES)?.execute(params![id, namespace])?;
            values::settle(connection)?;
            let (first_value, count) = values::write(connection, id, namespace, &kept)?;
            values::place(connection)?;
            let moved = connection.prepare_cached(whole::MOVE_VALUES)?.execute(params![
                id,
                namespace,
                number(cut.first),
                first_value,
                count
            ])?;
            if moved != 1 {
                // Dropping the transaction rolls everything back.
                return Err(WriteError::Refused(missing()));
            }
            put_pruning(connection, id, namespace, cut.note)?;
            let after = size(connection, id)?;
            write.commit()?;
            Ok(ReclaimedData {
                records: before.records.saturating_sub(after.records),
                bytes: before.bytes.saturating_sub(after.bytes),
            })
        };
        let removed = remove().map_err(|stop| self.stopped(stop));
        database.forget(run);
        removed
    }

    pub(super) fn remove_texts(
        &self,
        digests: &[Digest],
        since: SnapshotEpoch,
    ) -> Result<Option<ReclaimedData>, RemoveError> {
        let database = self.writer(SyncMode::Full)?;
        let connection = &database.connection;
        let remove = || {
            let write = Write::begin(connection)?;
            // From here on, no other process can write.
            if mark(connection)? != since {
                return Ok(None);
            }
            let mut freed = ReclaimedData::default();
            let mut statement = connection.prepare_cached(whole::REMOVE_SNAPSHOT)?;
            for digest in digests {
                let length: Option<i64> =
                    statement.query_row([digest.as_bytes()], |row| row.get(0)).optional()?;
                if let Some(length) = length {
                    freed += ReclaimedData { records: 1, bytes: unsigned(length) };
                }
            }
            drop(statement);
            write.commit().map(|()| Some(freed))
        };
        remove().map_err(|error| self.fault(&error).into())
    }

    /// Returns unused room to the file system. Other processes that write have to wait meanwhile.
    pub fn compact(&self) -> Result<(), StorageError> {
        let database = self.writer(SyncMode::Full)?;
        let compact = || {
            // SQLite copies the data to a second database, which it attaches.
            database.connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 1)?;
            let vacuumed = database.connection.execute_batch("VACUUM");
            database.connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
            vacuumed?;
            database.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        };
        compact().map_err(|error| self.fault(&error))
    }
}

/// Removes the first of these runs in one transaction: at least one, and no more once they have freed [`FREED_AT_ONCE`]
/// bytes.
fn remove_some(
    connection: &Connection,
    guards: &[RunGuard],
) -> Result<Vec<ReclaimedData>, WriteError<RemoveError>> {
    let write = Write::begin(connection)?;
    let (mut removed, mut bytes) = (Vec::new(), 0_u64);
    // The values of all runs are found by their places, and nothing is added before the end.
    values::place(connection)?;
    for guard in guards {
        let Some(id) = key(connection, guard.run())? else {
            return Err(WriteError::Refused(RemoveError::NotFound { run: guard.run().to_owned() }));
        };
        check_fence(connection, id, guard)?;
        let freed = size(connection, id)?;
        connection.prepare_cached(whole::REMOVE_VALUES_OF_RUN)?.execute([id])?;
        connection.prepare_cached(whole::REMOVE_RUN)?.execute([id])?;
        removed.push(freed);
        bytes = bytes.saturating_add(freed.bytes);
        if bytes >= FREED_AT_ONCE {
            break;
        }
    }
    values::settle(connection)?;
    write.commit()?;
    Ok(removed)
}

/// Checks that a guard still holds its run, within a transaction.
fn check_fence(connection: &Connection, id: i64, guard: &RunGuard) -> Result<(), WriteError<RemoveError>> {
    let stored = fence::read(connection, id)?;
    plan::check_fence(guard, stored.map(|stored| stored.fence))
        .map_err(|loss| WriteError::Refused(plan::not_to_remove(guard, loss)))
}

fn mark(connection: &Connection) -> SqlResult<SnapshotEpoch> {
    let version: i64 = connection.prepare_cached(sql::DATA_VERSION)?.query_row([], |row| row.get(0))?;
    Ok(SnapshotEpoch(unsigned(version)))
}

fn put_pruning(connection: &Connection, id: i64, namespace: &str, note: &str) -> SqlResult<()> {
    connection.prepare_cached(sql::PUT_PRUNING)?.execute(params![id, namespace, note]).map(drop)
}
