//! Writes of the store.

use graph_core::digest::Digest;
use graph_core::policy::Durability;
use graph_core::record::SignedRecord;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::store::{Database, SqliteStore, Write};
use super::write_cache::Head;
use super::{fence, results, sql, values};
use crate::error::{CommitError, CreateRunError, Loss, SnapshotError};
use crate::plan::{self, NamespacePlan};
use crate::run::{NewRun, RunUpdate};
use crate::store::{RunGuard, SyncMode};

/// Converts a number that was checked to be in range.
pub(super) fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A refusal of an operation, or a failure of SQLite.
pub(super) enum WriteError<E> {
    Refused(E),
    Failed(rusqlite::Error),
}

impl<E> From<rusqlite::Error> for WriteError<E> {
    fn from(error: rusqlite::Error) -> Self {
        Self::Failed(error)
    }
}

impl SqliteStore {
    /// Converts the error of an operation into that of the store.
    pub(super) fn stopped<E: From<crate::error::StorageError>>(&self, stop: WriteError<E>) -> E {
        match stop {
            WriteError::Refused(error) => error,
            WriteError::Failed(error) => self.fault(&error).into(),
        }
    }

    pub(super) fn write_run(&self, run: &NewRun) -> Result<(), CreateRunError> {
        plan::check_run(run)?;
        let synchronous = match run.row.durability {
            Durability::Sync => SyncMode::Full,
            Durability::Async | Durability::Exit => SyncMode::Normal,
        };
        let database = self.writer(synchronous)?;
        insert_run(&database.connection, run).map_err(|stop| self.stopped(stop))
    }

    pub(super) fn write_snapshot(&self, digest: &Digest, text: &str) -> Result<(), SnapshotError> {
        plan::check_snapshot(text)?;
        let database = self.writer(SyncMode::Full)?;
        insert_snapshot(&database.connection, digest, text).map_err(|stop| self.stopped(stop))
    }

    pub(super) fn write_batch(
        &self,
        guard: &RunGuard,
        batch: &[SignedRecord],
        update: &RunUpdate,
        synchronous: SyncMode,
    ) -> Result<(), CommitError> {
        let run = guard.run();
        let mut database = self.writer(synchronous)?;
        let Database { connection, cache, cursors, placed, wal_preallocation, .. } = &mut *database;
        let connection = &*connection;
        let failed = |error: rusqlite::Error| CommitError::from(self.fault(&error));
        let write = Write::begin(connection).map_err(failed)?;
        cache.refresh(connection).map_err(failed)?;
        let id = match cache.id(run) {
            Some(id) => Some(id),
            None => key(connection, run).map_err(failed)?,
        };
        let Some(id) = id else { return Err(plan::lost(guard, Loss::Removed)) };
        let stored = match cache.fence(run) {
            Some(stored) => Some(stored),
            None => fence::read(connection, id).map_err(failed)?,
        };
        plan::check_fence(guard, stored.map(|stored| stored.fence))
            .map_err(|loss| plan::lost(guard, loss))?;
        let Some(stored) = stored else { return Err(plan::lost(guard, Loss::Removed)) };
        plan::check_update(run, update)?;
        // If a run that ends or is suspended cannot be stored, that is reported.
        if update.status.is_some() {
            self.check_there()?;
        }
        if !update.is_nothing() {
            update_run(connection, run, update).map_err(failed)?;
        }
        let plans = plan::plan(run, batch, |namespace| match cache.head(run, namespace) {
            Some(Head(newest)) => Ok(newest),
            None => head(connection, id, namespace).map_err(failed),
        })?;
        let added = number(plan::entries(batch));
        let entries = if added == 0 { 0 } else { cache.length(connection, run).map_err(failed)? };
        let mut last = 0;
        for plan in &plans {
            let pending = cache.has_pending(run, plan.namespace);
            last = last.max(write_namespace(connection, id, entries, plan, pending).map_err(failed)?);
        }
        for record in batch {
            results::put(connection, &record.results).map_err(failed)?;
        }
        let stored = fence::advance(connection, id, stored, batch).map_err(failed)?;
        let now_placed = values::place_many(connection, *placed, last).map_err(failed)?;
        if synchronous == SyncMode::Full {
            wal_preallocation.prepare();
        }
        write.commit().map_err(failed)?;
        *placed = now_placed;
        cursors.committed(run, entries, &plans);
        guard.advance(batch);
        cache.committed(run, (id, stored), (added > 0).then(|| entries.saturating_add(added)), &plans);
        Ok(())
    }
}

fn insert_run(connection: &Connection, run: &NewRun) -> Result<(), WriteError<CreateRunError>> {
    let write = Write::begin(connection)?;
    insert_row(connection, run)?;
    Ok(write.commit()?)
}

/// Adds a run's row and texts, within a transaction, and returns the run's number.
pub(super) fn insert_row(connection: &Connection, run: &NewRun) -> Result<i64, WriteError<CreateRunError>> {
    let row = &run.row;
    let inserted = connection.prepare_cached(sql::INSERT_RUN)?.execute(params![
        row.run_id,
        row.graph_id,
        row.graph_path,
        row.parent_id,
        row.root_id,
        row.continuation_of,
        row.continuation_id,
        row.chain_root_id,
        row.status.as_str(),
        row.pid,
        number(row.step),
        number(row.fuel),
        row.result,
        row.error,
        row.graph.as_bytes(),
        row.inputs.as_bytes(),
        row.manifest.as_bytes(),
        row.pins.as_bytes(),
        row.seed.as_bytes(),
        row.key.as_bytes(),
        row.durability.as_str(),
        row.max_steps.map(number),
        number(row.created_at.0),
        number(row.updated_at.0),
        number(row.model_use.calls),
        number(row.model_use.input),
        number(row.model_use.output),
        number(row.model_use.cost),
        row.model,
    ])?;
    if inserted == 0 {
        return Err(WriteError::Refused(CreateRunError::Exists { run: row.run_id.clone() }));
    }
    let id = connection.last_insert_rowid();
    for snapshot in &run.snapshots {
        insert_snapshot(connection, &snapshot.digest, &snapshot.text).map_err(|stop| match stop {
            WriteError::Refused(error) => WriteError::Refused(error.into()),
            WriteError::Failed(error) => WriteError::Failed(error),
        })?;
    }
    Ok(id)
}

fn insert_snapshot(
    connection: &Connection,
    digest: &Digest,
    text: &str,
) -> Result<(), WriteError<SnapshotError>> {
    let inserted = connection.prepare_cached(sql::PUT_SNAPSHOT)?.execute(params![digest.as_bytes(), text])?;
    if inserted == 0 {
        // The text is compared without copying it, because it may be long.
        let is_kept = connection
            .prepare_cached(sql::SNAPSHOT)?
            .query_row([digest.as_bytes()], |row| Ok(row.get_ref(0)?.as_str()? == text))?;
        if !is_kept {
            return Err(WriteError::Refused(SnapshotError::Differs { digest: *digest }));
        }
    }
    Ok(())
}

/// Returns the number that represents a run's id in all tables; `None` if the run is not stored.
pub(super) fn key(connection: &Connection, run: &str) -> rusqlite::Result<Option<i64>> {
    connection.prepare_cached(sql::RUN_KEY)?.query_row([run], |row| row.get(0)).optional()
}

/// Changes the row of an existing run.
fn update_run(connection: &Connection, run: &str, update: &RunUpdate) -> rusqlite::Result<()> {
    let (pid_changes, pid) = update.pid.parts();
    let (result_changes, result) = update.result.parts();
    let (error_changes, error) = update.error.parts();
    let (continuation_changes, continuation) = update.continuation_id.parts();
    let (max_steps_changes, max_steps) = update.max_steps.parts();
    connection
        .prepare_cached(sql::UPDATE_RUN)?
        .execute(params![
            run,
            number(update.at.0),
            update.status.map(graph_core::record::Status::as_str),
            update.step.map(number),
            update.fuel.map(number),
            update.graph.as_ref().map(Digest::as_bytes),
            update.inputs.as_ref().map(Digest::as_bytes),
            update.manifest.as_ref().map(Digest::as_bytes),
            update.pins.as_ref().map(Digest::as_bytes),
            pid_changes,
            pid,
            result_changes,
            result,
            error_changes,
            error,
            continuation_changes,
            continuation,
            max_steps_changes,
            max_steps.copied().map(number),
            update.model_use.map(|used| number(used.calls)),
            update.model_use.map(|used| number(used.input)),
            update.model_use.map(|used| number(used.output)),
            update.model_use.map(|used| number(used.cost)),
            update.model,
        ])
        .map(drop)
}

/// Returns the sequence number of the newest checkpoint of a namespace.
pub(super) fn head(connection: &Connection, run: i64, namespace: &str) -> rusqlite::Result<Option<u64>> {
    let newest: Option<i64> = connection
        .prepare_cached(sql::HEAD)?
        .query_row(params![run, namespace], |row| row.get(0))
        .optional()?;
    newest
        .map(|newest| u64::try_from(newest).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(0, newest)))
        .transpose()
}

/// Writes the planned records of a namespace. The run's history has `entries` entries before them, and the namespace
/// has pending records only if `pending`. Returns the number of the last value that was written.
pub(super) fn write_namespace(
    connection: &Connection,
    run: i64,
    entries: i64,
    plan: &NamespacePlan<'_>,
    pending: bool,
) -> rusqlite::Result<i64> {
    let namespace = plan.namespace;
    let mut last = 0;
    if plan.voids() && pending {
        connection.prepare_cached(sql::VOID_PENDING)?.execute(params![run, namespace])?;
    }
    for (before, checkpoint) in &plan.checkpoints {
        let (first_value, value_count) = values::write(connection, run, namespace, &checkpoint.values)?;
        last = last.max(first_value + value_count - 1);
        connection.prepare_cached(sql::INSERT_CHECKPOINT)?.execute(params![
            run,
            namespace,
            number(checkpoint.sequence),
            number(checkpoint.step),
            first_value,
            value_count,
            checkpoint.digest.as_bytes(),
            checkpoint.key_id.as_bytes(),
            checkpoint.signature.to_bytes(),
            &*checkpoint.body,
            entries.saturating_add(number(*before)),
            number(checkpoint.events),
        ])?;
    }
    for (before, status) in &plan.history {
        connection.prepare_cached(sql::INSERT_HISTORY)?.execute(params![
            run,
            entries.saturating_add(number(*before)),
            number(status.events),
            namespace,
            status.kind.as_str(),
            number(status.sequence),
            number(status.step),
            status.digest.as_bytes(),
            status.key_id.as_bytes(),
            status.signature.to_bytes(),
            &*status.body,
        ])?;
    }
    for ((kind, task), record) in &plan.pending {
        connection.prepare_cached(sql::PUT_PENDING)?.execute(params![
            run,
            namespace,
            kind.as_str(),
            task,
            number(record.sequence),
            number(record.step),
            record.digest.as_bytes(),
            record.key_id.as_bytes(),
            record.signature.to_bytes(),
            &*record.body,
            number(record.events),
        ])?;
    }
    Ok(last)
}
