//! Reads of the store.

use graph_core::digest::Digest;
use graph_core::record::{ChannelValue, RecordKind, SignedRecord, ValueKind};
use rusqlite::{Connection, OptionalExtension as _, Result as SqlResult, params};

use super::row::{self, StoredCheckpoint};
use super::store::SqliteStore;
use super::{errors, sql, values};
use crate::bounds::{self, LARGEST_READ, Page};
use crate::error::{ReadError, ReadableData, StorageError};
use crate::names;
use crate::plan::LARGEST;
use crate::resolve::Names;
use crate::run::{RunFilter, RunRow};
use crate::store::{CheckpointPosition, RunList, WantedChannel};

pub(super) fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// Converts a number that is searched for. No stored number is above the maximum.
pub(super) fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

impl SqliteStore {
    pub(super) fn read_run(&self, run: &str, statement: &str) -> Result<Option<RunRow>, ReadError> {
        let database = self.lock();
        let read = || database.connection.prepare_cached(statement)?.query_row([run], row::run).optional();
        read().map_err(|error| self.fault(&error).into())
    }

    pub(super) fn read_runs(&self, filter: &RunFilter) -> Result<RunList, ReadError> {
        let database = self.lock();
        let connection = &database.connection;
        let status = filter.status.map(graph_core::record::Status::as_str);
        let most = filter.limit.unwrap_or(usize::MAX);
        let read = || {
            let before = match &filter.before {
                None => i64::MAX,
                Some(run) => {
                    let key = connection.prepare_cached(sql::RUN_KEY)?.query_row([run], |row| row.get(0));
                    // If the run was removed, the page is empty.
                    key.optional()?.unwrap_or(0)
                }
            };
            let mut statement = match &filter.root_id {
                None => connection.prepare_cached(sql::RUNS)?,
                Some(_) => connection.prepare_cached(sql::RUNS_OF_ROOT)?,
            };
            let mut rows = match &filter.root_id {
                None => statement.query(params![status, filter.graph_id, before])?,
                Some(root) => statement.query(params![status, filter.graph_id, before, root])?,
            };
            let mut listed = RunList::default();
            while listed.rows.len() < most
                && let Some(row) = rows.next()?
            {
                match row::run(row) {
                    Ok(row) => listed.rows.push(row),
                    // A row with invalid values is refused, and the rows around it can be read.
                    Err(error) if errors::is_of_row(&error) => listed.refuse(self.fault(&error)),
                    Err(error) => return Err(error),
                }
            }
            Ok(listed)
        };
        read().map_err(|error: rusqlite::Error| self.fault(&error).into())
    }

    pub(super) fn read_checkpoint(
        &self,
        run: &str,
        namespace: &str,
        at: CheckpointPosition,
    ) -> Result<Option<SignedRecord>, ReadError> {
        let (statement, wanted) = match at {
            CheckpointPosition::Latest => (sql::CHECKPOINT_LATEST, None),
            CheckpointPosition::Sequence(sequence) => (sql::CHECKPOINT_AT_SEQUENCE, Some(sequence)),
            CheckpointPosition::Step(step) => (sql::CHECKPOINT_AT_STEP, Some(step)),
            CheckpointPosition::StepWithin { step, .. } => (sql::CHECKPOINT_AT_STEP_WITHIN, Some(step)),
        };
        if wanted.is_some_and(|wanted| wanted > LARGEST) {
            return Ok(None);
        }
        let database = self.lock();
        let read = |connection: &Connection| {
            let mut statement = connection.prepare_cached(statement)?;
            let convert = |row: &rusqlite::Row<'_>| row::checkpoint(run, namespace, row);
            match (wanted, at) {
                (None, _) => statement.query_row(params![run, namespace], convert),
                (Some(step), CheckpointPosition::StepWithin { first, last, .. }) => statement
                    .query_row(params![run, namespace, number(step), number(first), number(last)], convert),
                (Some(wanted), _) => statement.query_row(params![run, namespace, number(wanted)], convert),
            }
            .optional()
        };
        match read(&database.connection) {
            Ok(found) => Ok(found.map(|found| found.record)),
            Err(error) => Err(self.damaged(&database.connection, run, namespace, &error)),
        }
    }

    pub(super) fn read_checkpoints(
        &self,
        run: &str,
        namespace: &str,
        after: Option<u64>,
        limit: usize,
        what: Values,
    ) -> Result<Vec<SignedRecord>, ReadError> {
        let database = self.lock();
        page(&database.connection, run, namespace, after, limit, what)
            .map_err(|error| self.damaged(&database.connection, run, namespace, &error))
    }

    pub(super) fn read_checkpoints_before(
        &self,
        run: &str,
        namespace: &str,
        before: Option<u64>,
        count: usize,
    ) -> Result<Vec<SignedRecord>, ReadError> {
        let Some(last) = before.unwrap_or(u64::MAX).checked_sub(1) else { return Ok(Vec::new()) };
        let database = self.lock();
        let read = || {
            let mut statement = database.connection.prepare_cached(sql::CHECKPOINTS_UP_TO)?;
            let mut rows = statement.query(params![run, namespace, number(last), limit(count)])?;
            let (mut found, mut page) = (Vec::new(), Page::new(count));
            while page.has_room()
                && let Some(row) = rows.next()?
            {
                let StoredCheckpoint { record, .. } = row::checkpoint(run, namespace, row)?;
                page.add(&record);
                found.push(record);
            }
            Ok(found)
        };
        read().map_err(|error| self.damaged(&database.connection, run, namespace, &error))
    }

    pub(super) fn read_pending(
        &self,
        run: &str,
        namespace: &str,
        after: Option<(RecordKind, &str)>,
        limit: usize,
    ) -> Result<Vec<SignedRecord>, ReadError> {
        let database = self.lock();
        let connection = &database.connection;
        pending(connection, run, namespace, after, limit)
            .map_err(|error| self.damaged(connection, run, namespace, &error))
    }

    pub(super) fn read_values(
        &self,
        run: &str,
        namespace: &str,
        wanted: &[WantedChannel<'_>],
    ) -> Result<Vec<ChannelValue>, ReadError> {
        let database = self.lock();
        let connection = &database.connection;
        let mut found = Vec::with_capacity(wanted.len());
        let mut bytes = 0;
        for wanted in wanted {
            let missing = |version| ReadError::MissingValue {
                run: run.to_owned(),
                channel: wanted.channel.to_owned(),
                version,
            };
            let start = found.len();
            let mut read = |found: &mut Vec<ChannelValue>| {
                let span = (number(wanted.base), number(wanted.version));
                connection.prepare_cached(sql::LOOK)?.execute([])?;
                let read = values::read(connection, run, namespace, wanted.channel, span, found, &mut bytes);
                connection.prepare_cached(sql::LOOKED)?.execute([])?;
                read
            };
            read(&mut found).map_err(|error| self.damaged(connection, run, namespace, &error))?;
            let span = &found[start..];
            let begins = span
                .first()
                .is_some_and(|value| value.kind == ValueKind::Whole && value.version == wanted.base);
            if !begins || span[1..].iter().any(|value| value.kind != ValueKind::Segment) {
                return Err(missing(wanted.base));
            }
            if span.last().is_none_or(|value| value.version != wanted.version) {
                return Err(missing(wanted.version));
            }
        }
        Ok(found)
    }

    pub(super) fn read_snapshot(&self, digest: &Digest) -> Result<Option<String>, ReadError> {
        let database = self.lock();
        let read = || {
            database
                .connection
                .prepare_cached(sql::SNAPSHOT)?
                .query_row([digest.as_bytes()], |row| row.get(0))
                .optional()
        };
        read().map_err(|error| self.fault(&error).into())
    }

    pub(super) fn has_text(&self, digest: &Digest) -> Result<bool, ReadError> {
        let database = self.lock();
        let read = || {
            database.connection.prepare_cached(sql::HAS_SNAPSHOT)?.query_row([digest.as_bytes()], |_| Ok(()))
        };
        read().optional().map(|found| found.is_some()).map_err(|error| self.fault(&error).into())
    }

    /// Returns the error for a failed read of a run. If the file is damaged, it states how far the run can still be
    /// read.
    pub(super) fn damaged(
        &self,
        connection: &Connection,
        run: &str,
        namespace: &str,
        error: &rusqlite::Error,
    ) -> ReadError {
        let mut fault = self.fault(error);
        if let StorageError::Corrupt { readable, .. } = &mut fault {
            let mut last = None;
            while let Ok([checkpoint]) = page(connection, run, namespace, last, 1, Values::With).as_deref() {
                last = Some(checkpoint.sequence);
            }
            *readable = ReadableData::Described(match last {
                Some(last) => format!("the checkpoints of run {run} up to number {last} can still be read"),
                None => format!("no checkpoint of run {run} can be read"),
            });
        }
        fault.into()
    }
}

/// Selects whether checkpoints are read with the values that they changed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Values {
    With,
    Without,
}

/// Reads the checkpoints after a sequence number.
fn page(
    connection: &Connection,
    run: &str,
    namespace: &str,
    after: Option<u64>,
    count: usize,
    values: Values,
) -> SqlResult<Vec<SignedRecord>> {
    let after = after.map_or(-1, number);
    let mut statement = connection.prepare_cached(sql::CHECKPOINTS_AFTER)?;
    let mut rows = statement.query(params![run, namespace, after, limit(count)])?;
    let (mut found, mut page) = (Vec::new(), Page::new(count));
    while page.has_room()
        && let Some(row) = rows.next()?
    {
        let stored = row::checkpoint(run, namespace, row)?;
        let record = match values {
            Values::With => with_values(connection, stored)?,
            Values::Without => stored.record,
        };
        page.add(&record);
        found.push(record);
    }
    Ok(found)
}

/// Reads records under the newest checkpoint, by kind and task.
fn pending(
    connection: &Connection,
    run: &str,
    namespace: &str,
    after: Option<(RecordKind, &str)>,
    most: usize,
) -> SqlResult<Vec<SignedRecord>> {
    let kinds = [RecordKind::Task, RecordKind::Answers, RecordKind::Hook, RecordKind::Status];
    let (mut found, mut page) = (Vec::new(), Page::new(most));
    for kind in kinds {
        let (statement, task) = match after {
            Some((last, _)) if kind < last => continue,
            Some((last, task)) if kind == last => (sql::PENDING, task),
            _ => (sql::PENDING_FROM, ""),
        };
        let mut statement = connection.prepare_cached(statement)?;
        let mut rows = statement.query(params![run, namespace, kind.as_str(), task, limit(page.left())])?;
        while page.has_room()
            && let Some(row) = rows.next()?
        {
            let record = row::pending(run, namespace, row)?;
            page.add(&record);
            found.push(record);
        }
    }
    Ok(found)
}

pub(super) fn with_values(connection: &Connection, stored: StoredCheckpoint) -> SqlResult<SignedRecord> {
    let StoredCheckpoint { mut record, first_value, value_count, run, before: _ } = stored;
    if value_count != 0 {
        let end = first_value.saturating_add(value_count);
        let mut statement = connection.prepare_cached(sql::VALUES_OF_CHECKPOINT)?;
        let mut rows =
            statement.query(params![first_value, end, run, record.namespace, number(record.sequence)])?;
        let mut bytes = bounds::weight(&record);
        while let Some(row) = rows.next()? {
            let value = row::value(row)?;
            bytes = bytes.saturating_add(bounds::length(&value.json)).saturating_add(bounds::OVERHEAD);
            if bytes > LARGEST_READ {
                return Err(errors::too_large("the channel values of a checkpoint"));
            }
            record.values.push(value);
        }
    }
    // A missing value is noticed when the chain of checkpoints is verified.
    Ok(record)
}

impl Names for &SqliteStore {
    fn last(&mut self) -> Result<Option<String>, StorageError> {
        let database = self.lock();
        let read =
            || database.connection.prepare_cached(sql::LAST_ROOT)?.query_row([], |row| row.get(0)).optional();
        read().map_err(|error| self.fault(&error))
    }

    fn beginning(&mut self, prefix: &str, count: usize) -> Result<Vec<String>, StorageError> {
        let database = self.lock();
        let read = || {
            let mut statement = database.connection.prepare_cached(sql::RUNS_BEGINNING)?;
            let mut rows = statement.query([prefix])?;
            let mut found = Vec::new();
            while found.len() < count
                && let Some(row) = rows.next()?
            {
                // An invalid id names no run: `runs list` reports it.
                match row.get::<_, String>(0) {
                    Ok(id) if names::run_id("run_id", &id).is_ok() => found.push(id),
                    Ok(_) => {}
                    Err(error) if errors::is_of_row(&error) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(found)
        };
        read().map_err(|error: rusqlite::Error| self.fault(&error))
    }
}
