//! Results that are cached for later tasks.

use std::ops::RangeInclusive;

use graph_core::digest::Digest;
use graph_core::record::SignedCacheEntry;
use graph_core::time::Timestamp;
use rusqlite::{Connection, Result as SqlResult, params};

use super::store::{SqliteStore, Write};
use super::write::number;
use super::{row, sql};
use crate::bounds::{self, RESULTS_BYTES};
use crate::error::{ReadError, RemoveError};
use crate::store::SyncMode;
use crate::upkeep::ReclaimedData;

/// Statements that read much of the file. Only maintenance executes them, and no run waits for them.
mod whole {
    pub(super) const SIZE: &str =
        "SELECT count(*), ifnull(sum(octet_length(body)), 0) FROM results WHERE expires <= ?1";
    pub(super) const REMOVE: &str = "DELETE FROM results WHERE expires <= ?1";
}

/// Stores the results of a checkpoint, within its transaction.
pub(super) fn put(connection: &Connection, results: &[SignedCacheEntry]) -> SqlResult<()> {
    for entry in results {
        connection.prepare_cached(sql::PUT_RESULT)?.execute(params![
            entry.key.as_bytes(),
            entry.run,
            entry.namespace,
            number(entry.at.0),
            number(entry.expires.0),
            entry.key_id.as_bytes(),
            entry.signature.as_bytes(),
            entry.body,
        ])?;
    }
    Ok(())
}

fn size(connection: &Connection, expired: Option<Timestamp>) -> SqlResult<ReclaimedData> {
    let unsigned = |number: i64| u64::try_from(number).unwrap_or(0);
    connection.prepare_cached(whole::SIZE)?.query_row([until(expired)], |row| {
        Ok(ReclaimedData { records: unsigned(row.get(0)?), bytes: unsigned(row.get(1)?) })
    })
}

/// Returns the time up to which results count as expired; the greatest time if none is given.
fn until(expired: Option<Timestamp>) -> i64 {
    expired.map_or(i64::MAX, |at| number(at.0))
}

impl SqliteStore {
    pub(super) fn read_results(
        &self,
        key: &Digest,
        window: &RangeInclusive<Timestamp>,
    ) -> Result<Vec<SignedCacheEntry>, ReadError> {
        let database = self.lock();
        let read = || {
            let mut statement = database.connection.prepare_cached(sql::RESULTS)?;
            let (start, end) = (number(window.start().0), number(window.end().0));
            let mut rows = statement.query(params![key.as_bytes(), start, end])?;
            let (mut found, mut bytes) = (Vec::new(), 0_u64);
            while bytes < RESULTS_BYTES
                && let Some(row) = rows.next()?
            {
                let entry = row::result(key, row)?;
                bytes = bytes.saturating_add(bounds::length(&entry.body)).saturating_add(bounds::OVERHEAD);
                found.push(entry);
            }
            Ok(found)
        };
        read().map_err(|error: rusqlite::Error| self.fault(&error).into())
    }

    pub(super) fn read_results_size(&self, expired: Option<Timestamp>) -> Result<ReclaimedData, ReadError> {
        let database = self.lock();
        size(&database.connection, expired).map_err(|error| self.fault(&error).into())
    }

    pub(super) fn remove_all_results(
        &self,
        expired: Option<Timestamp>,
    ) -> Result<ReclaimedData, RemoveError> {
        let database = self.writer(SyncMode::Full)?;
        let connection = &database.connection;
        let remove = || {
            let write = Write::begin(connection)?;
            let freed = size(connection, expired)?;
            connection.prepare_cached(whole::REMOVE)?.execute([until(expired)])?;
            write.commit().map(|()| freed)
        };
        remove().map_err(|error: rusqlite::Error| self.fault(&error).into())
    }
}
