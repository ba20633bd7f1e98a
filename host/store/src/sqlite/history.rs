//! Reading a run's history: checkpoints of all its namespaces and status records, in the order of their entries.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rusqlite::{Connection, OptionalExtension as _, Result as SqlResult, params};

use super::read::{limit, number, with_values};
use super::store::SqliteStore;
use super::{row, sql};
use crate::bounds::Page;
use crate::error::ReadError;
use crate::store::Numbered;

impl SqliteStore {
    pub(super) fn read_history(
        &self,
        run: &str,
        after: u64,
        most: usize,
    ) -> Result<Vec<Numbered>, ReadError> {
        let database = self.lock();
        history(&database.connection, run, after, most)
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

/// The number of the last entry of a run's history.
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

/// Reads the history in the order of its entries: of each namespace its next checkpoint waits, and the first of all of
/// these comes next.
fn history(connection: &Connection, run: &str, after: u64, most: usize) -> SqlResult<Vec<Numbered>> {
    let mut statuses = connection.prepare_cached(sql::HISTORY_AFTER)?;
    let mut statuses = statuses.query(params![run, number(after), limit(most)])?;
    let mut status = statuses.next()?.map(|row| row::history(run, row)).transpose()?;
    let mut heads = BinaryHeap::new();
    let mut from = String::new();
    while let Some(namespace) = namespace(connection, run, &from)? {
        let head = first(connection, run, &namespace, number(after))?;
        // No name of a namespace has this character in it.
        from = format!("{namespace}\u{1}");
        heads.extend(head.map(|(event, sequence)| Reverse((event, sequence, namespace))));
    }
    let (mut found, mut page) = (Vec::new(), Page::of(most));
    while page.has_room() {
        let told = status.as_ref().map(|status| number(status.before));
        let checkpoint_is_next =
            heads.peek().is_some_and(|Reverse((event, ..))| told.is_none_or(|told| *event <= told));
        let next = if checkpoint_is_next {
            let Some(Reverse((_, sequence, namespace))) = heads.pop() else { break };
            let next = checkpoint(connection, run, &namespace, sequence)?;
            let head = event_after(connection, run, &namespace, sequence)?;
            heads.extend(head.map(|(event, sequence)| Reverse((event, sequence, namespace))));
            next
        } else {
            let Some(next) = status.take() else { break };
            status = statuses.next()?.map(|row| row::history(run, row)).transpose()?;
            Some(next)
        };
        if let Some(next) = next {
            page.add(&next.record);
            found.push(next);
        }
    }
    Ok(found)
}

/// The first namespace at or after a name.
fn namespace(connection: &Connection, run: &str, from: &str) -> SqlResult<Option<String>> {
    let read = |row: &rusqlite::Row<'_>| row::namespace("checkpoints", row);
    connection.prepare_cached(sql::NAMESPACE_FROM)?.query_row([run, from], read).optional()
}

/// How many entries come before those of the next checkpoint of a namespace, and its number.
type Head = (i64, i64);

/// The first checkpoint of a namespace with entries after a number.
fn first(connection: &Connection, run: &str, namespace: &str, after: i64) -> SqlResult<Option<Head>> {
    // The entries of a namespace rise with its sequence numbers: the first one is found by halving.
    let up_to = |sequence: i64| -> SqlResult<Option<(i64, i64)>> {
        connection
            .prepare_cached(sql::LAST_EVENT_UP_TO)?
            .query_row(params![run, namespace, sequence], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()
    };
    let Some((newest, _)) = up_to(i64::MAX)?.filter(|(_, last)| *last > after) else { return Ok(None) };
    // Most namespaces are those of child runs, and lie before or after as a whole.
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

/// The first checkpoint after a sequence number that holds numbered entries.
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
) -> SqlResult<Option<Numbered>> {
    let stored = connection
        .prepare_cached(sql::CHECKPOINT_AT_SEQUENCE)?
        .query_row(params![run, namespace, sequence], |row| row::checkpoint(run, namespace, row))
        .optional()?;
    // It goes where another process removes it between the two statements.
    let Some(stored) = stored else { return Ok(None) };
    let before = stored.before.unwrap_or(0);
    Ok(Some(Numbered { before, record: with_values(connection, stored)? }))
}
