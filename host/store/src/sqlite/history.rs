//! Reads the history of a run: the checkpoints of all its namespaces and the status records, in the order of their
//! entries.

use graph_core::record::SignedRecord;
use rusqlite::{Connection, OptionalExtension as _, Result as SqlResult, params};

use super::cursor::{Cursor, Heads};
use super::read::{limit, number, with_values};
use super::store::{Database, SqliteStore};
use super::{row, sql};
use crate::bounds::Page;
use crate::error::ReadError;
use crate::store::NumberedRecord;

impl SqliteStore {
    pub(super) fn read_history(
        &self,
        run: &str,
        after: u64,
        most: usize,
    ) -> Result<Vec<NumberedRecord>, ReadError> {
        let mut database = self.lock();
        let Database { connection, cursors, .. } = &mut *database;
        let mut read = || {
            // The version is read first: changes that another connection makes later are not in the remembered
            // positions.
            let version = connection.prepare_cached(sql::DATA_VERSION)?.query_row([], |row| row.get(0))?;
            cursors.refresh(version);
            let mut cursor = match cursors.take(run, after) {
                Some(cursor) => cursor,
                None => find(connection, run, after)?,
            };
            let found = history(connection, run, after, most, &mut cursor)?;
            let last = found.last();
            let reached = last.map_or(after, |last| last.before.saturating_add(last.record.events));
            cursors.put(run, reached, cursor);
            Ok(found)
        };
        read().map_err(|error| self.damaged(&database.connection, run, "", &error))
    }

    pub(super) fn read_status(&self, run: &str, before: u64) -> Result<Option<SignedRecord>, ReadError> {
        let database = self.lock();
        let read = |connection: &Connection| {
            let mut statement = connection.prepare_cached(sql::STATUS_AT)?;
            statement.query_row(params![run, number(before)], |row| row::history(run, row)).optional()
        };
        read(&database.connection)
            .map(|found| found.map(|found| found.record))
            .map_err(|error| self.damaged(&database.connection, run, "", &error))
    }

    pub(super) fn read_history_length(&self, run: &str) -> Result<u64, ReadError> {
        let database = self.lock();
        let connection = &database.connection;
        let known = || connection.prepare_cached(sql::RUN_KEY)?.query_row([run], |_| Ok(())).optional();
        match known().map_err(|error| self.fault(&error))? {
            Some(()) => length(connection, run)
                .map(|entries| u64::try_from(entries).unwrap_or(0))
                .map_err(|error| self.fault(&error).into()),
            None => Err(ReadError::NotFound { run: run.to_owned() }),
        }
    }
}

/// Returns the number of the last entry of a run's history.
pub(super) fn length(connection: &Connection, run: &str) -> SqlResult<i64> {
    let told: Option<i64> = connection
        .prepare_cached(sql::LAST_EVENT_OF_HISTORY)?
        .query_row([run], |row| row.get(0))
        .optional()?;
    let mut length = told.unwrap_or(0);
    let mut from = String::new();
    while let Some(namespace) = namespace(connection, run, &from)? {
        let (_, last): (i64, i64) = connection
            .prepare_cached(sql::LAST_EVENT_UP_TO)?
            .query_row(params![run, namespace, i64::MAX], |row| Ok((row.get(0)?, row.get(1)?)))?;
        length = length.max(last);
        from = namespace + "\u{1}";
    }
    Ok(length)
}

/// Finds the position after an entry in the history of a run: the next checkpoint of each namespace, and the next
/// status record.
fn find(connection: &Connection, run: &str, after: u64) -> SqlResult<Cursor> {
    let after = number(after);
    // The entries of a status record end where those of the next record begin.
    let status = connection
        .prepare_cached(sql::LAST_STATUS_UP_TO)?
        .query_row(params![run, after], |row| row.get(0))
        .optional()?;
    let mut heads = Heads::default();
    let mut from = String::new();
    while let Some(namespace) = namespace(connection, run, &from)? {
        let head = first(connection, run, &namespace, after)?;
        // No name of a namespace contains this character.
        from = format!("{namespace}\u{1}");
        if let Some((event, sequence)) = head {
            heads.add(namespace.into(), event, sequence);
        }
    }
    Ok(Cursor { heads, status: status.unwrap_or(0) })
}

/// Reads the history in the order of its entries: of the next checkpoints of all namespaces and the next status record,
/// the first one is read.
fn history(
    connection: &Connection,
    run: &str,
    after: u64,
    most: usize,
    cursor: &mut Cursor,
) -> SqlResult<Vec<NumberedRecord>> {
    let mut statuses = connection.prepare_cached(sql::HISTORY_AFTER)?;
    let mut statuses = statuses.query(params![run, number(after), limit(most), cursor.status])?;
    let mut status = statuses.next()?.map(|row| row::history(run, row)).transpose()?;
    let heads = &mut cursor.heads;
    let (mut found, mut page) = (Vec::new(), Page::new(most));
    while page.has_room() {
        let told = status.as_ref().map(|status| number(status.before));
        let checkpoint_is_next = heads.first().is_some_and(|event| told.is_none_or(|told| event <= told));
        let next = if checkpoint_is_next {
            let Some((namespace, sequence)) = heads.pop() else { break };
            let next = checkpoint(connection, run, &namespace, sequence)?;
            if let Some((event, sequence)) = event_after(connection, run, &namespace, sequence)? {
                heads.add(namespace, event, sequence);
            }
            next
        } else {
            let Some(next) = status.take() else { break };
            cursor.status = number(next.before);
            status = statuses.next()?.map(|row| row::history(run, row)).transpose()?;
            Some(next)
        };
        if let Some(next) = next.filter(|next| next.before.saturating_add(next.record.events) > after) {
            page.add(&next.record);
            found.push(next);
        }
    }
    Ok(found)
}

/// Returns the first namespace at or after a name.
fn namespace(connection: &Connection, run: &str, from: &str) -> SqlResult<Option<String>> {
    let read = |row: &rusqlite::Row<'_>| row::namespace("checkpoints", row);
    connection.prepare_cached(sql::NAMESPACE_FROM)?.query_row([run, from], read).optional()
}

/// The number of history entries before those of the next checkpoint of a namespace, and its sequence number.
type Head = (i64, i64);

/// Returns the first checkpoint of a namespace with entries after a number.
fn first(connection: &Connection, run: &str, namespace: &str, after: i64) -> SqlResult<Option<Head>> {
    // The numbers of entries in a namespace rise with its sequence numbers, so that a binary search finds the first
    // one.
    let up_to = |sequence: i64| -> SqlResult<Option<(i64, i64)>> {
        connection
            .prepare_cached(sql::LAST_EVENT_UP_TO)?
            .query_row(params![run, namespace, sequence], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()
    };
    let Some((newest, _)) = up_to(i64::MAX)?.filter(|(_, last)| *last > after) else { return Ok(None) };
    // Most namespaces are those of child runs, whose entries are all before or all after the number.
    if let Some(head @ (event, _)) = event_after(connection, run, namespace, -1)?
        && event >= after
    {
        return Ok(Some(head));
    }
    let (mut low, mut high) = (0, newest);
    while low < high {
        let middle = low + (high - low) / 2;
        match up_to(middle)? {
            Some((sequence, last)) if last > after => high = sequence,
            _ => low = middle + 1,
        }
    }
    event_after(connection, run, namespace, high - 1)
}

/// Returns the first checkpoint after a sequence number that holds numbered entries.
fn event_after(
    connection: &Connection,
    run: &str,
    namespace: &str,
    sequence: i64,
) -> SqlResult<Option<Head>> {
    connection
        .prepare_cached(sql::EVENT_AFTER)?
        .query_row(params![run, namespace, sequence], |row| Ok((row.get(1)?, row.get(0)?)))
        .optional()
}

fn checkpoint(
    connection: &Connection,
    run: &str,
    namespace: &str,
    sequence: i64,
) -> SqlResult<Option<NumberedRecord>> {
    let stored = connection
        .prepare_cached(sql::CHECKPOINT_AT_SEQUENCE)?
        .query_row(params![run, namespace, sequence], |row| row::checkpoint(run, namespace, row))
        .optional()?;
    // Another process may have removed the checkpoint between the two statements.
    let Some(stored) = stored else { return Ok(None) };
    let before = stored.before.unwrap_or(0);
    Ok(Some(NumberedRecord { before, record: with_values(connection, stored)? }))
}
