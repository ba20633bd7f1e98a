//! Reading a run's history: checkpoints of all its namespaces and status records, in the order of their entries.

use rusqlite::{Connection, OptionalExtension as _, Result as SqlResult, params};

use super::read::{limit, number, with_values};
use super::store::SqliteStore;
use super::{row, sql};
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

fn history(connection: &Connection, run: &str, after: u64, most: usize) -> SqlResult<Vec<Numbered>> {
    let mut found: Vec<Numbered> = connection
        .prepare_cached(sql::HISTORY_AFTER)?
        .query_map(params![run, number(after), limit(most)], |row| row::history(run, row))?
        .collect::<SqlResult<_>>()?;
    let mut from = String::new();
    while let Some(namespace) = namespace(connection, run, &from)? {
        found.extend(checkpoints(connection, run, &namespace, after, most)?);
        // No name of a namespace has this character in it.
        from = namespace + "\u{1}";
    }
    found.sort_by_key(|numbered| numbered.before);
    found.truncate(most);
    Ok(found)
}

/// The first namespace at or after a name.
fn namespace(connection: &Connection, run: &str, from: &str) -> SqlResult<Option<String>> {
    connection.prepare_cached(sql::NAMESPACE_FROM)?.query_row([run, from], |row| row.get(0)).optional()
}

/// The checkpoints of a namespace with entries after a number.
fn checkpoints(
    connection: &Connection,
    run: &str,
    namespace: &str,
    after: u64,
    most: usize,
) -> SqlResult<Vec<Numbered>> {
    // The entries of a namespace rise with its sequence numbers: the first one is found by halving.
    let up_to = |sequence: i64| -> SqlResult<Option<(i64, i64)>> {
        connection
            .prepare_cached(sql::LAST_EVENT_UP_TO)?
            .query_row(params![run, namespace, sequence], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()
    };
    let after = number(after);
    let Some((newest, _)) = up_to(i64::MAX)?.filter(|(_, last)| *last > after) else { return Ok(Vec::new()) };
    let (mut low, mut high) = (0, newest);
    while low < high {
        let middle = low + (high - low) / 2;
        match up_to(middle)? {
            Some((sequence, last)) if last > after => high = sequence,
            _ => low = middle + 1,
        }
    }
    let mut statement = connection.prepare_cached(sql::CHECKPOINTS_AFTER)?;
    let rows = statement.query_map(params![run, namespace, high - 1, limit(most)], |row| {
        row::checkpoint(run, namespace, row)
    })?;
    let mut found = Vec::new();
    for stored in rows {
        let stored = stored?;
        let Some(before) = stored.before else { continue };
        found.push(Numbered { before, record: with_values(connection, stored)? });
    }
    Ok(found)
}
