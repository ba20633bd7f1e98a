//! The values of channels, and the table by which they are found.

use graph_core::record::{ChannelValue, ValueKind};
use rusqlite::{Connection, Result as SqlResult, Rows, params};

use super::write::number;
use super::{errors, row, sql};
use crate::bounds::{self, LARGEST_READ};

/// Maximum number of values that are not in `value_places`. A process that reads a channel searches all of these.
const UNPLACED: i64 = 1_024;

/// Writes a checkpoint's values in order of channels, and returns the number of the first and how many there are.
pub(super) fn write(
    connection: &Connection,
    run: i64,
    namespace: &str,
    values: &[ChannelValue],
) -> SqlResult<(i64, i64)> {
    let mut values: Vec<_> = values.iter().collect();
    values.sort_unstable_by(|one, other| (&one.channel, one.version).cmp(&(&other.channel, other.version)));
    let (mut first, mut count) = (0, 0);
    for value in values {
        connection.prepare_cached(sql::INSERT_VALUE)?.execute(params![
            run,
            namespace,
            value.channel,
            number(value.version),
            value.kind == ValueKind::Segment,
            &*value.json,
        ])?;
        // Within a transaction, the numbers are consecutive.
        if count == 0 {
            first = connection.last_insert_rowid();
        }
        count += 1;
    }
    Ok((first, count))
}

/// Adds all values to `value_places` if many are missing there. `placed` is the number up to which the caller knows
/// them to be there. Returns that number after the call.
pub(super) fn place_many(connection: &Connection, placed: i64, last: i64) -> SqlResult<i64> {
    if last - placed < UNPLACED {
        return Ok(placed);
    }
    // Another process may have added them meanwhile.
    let placed = self::placed(connection)?;
    if last - placed < UNPLACED {
        return Ok(placed);
    }
    place(connection)?;
    Ok(last)
}

/// Adds all missing values to `value_places`.
pub(super) fn place(connection: &Connection) -> SqlResult<()> {
    let placed = placed(connection)?;
    connection.prepare_cached(sql::PLACE_VALUES)?.execute([placed])?;
    settle(connection)
}

/// Records that all values are in `value_places`. It is needed after a removal, too, because the numbers of removed
/// values are used again.
pub(super) fn settle(connection: &Connection) -> SqlResult<()> {
    let last: i64 = connection.prepare_cached(sql::LAST_VALUE)?.query_row([], |row| row.get(0))?;
    connection.prepare_cached(sql::SET_PLACED)?.execute([last]).map(drop)
}

fn placed(connection: &Connection) -> SqlResult<i64> {
    connection.prepare_cached(sql::PLACED)?.query_row([], |row| row.get(0))
}

/// Adds a channel's values from version `base` to `version` to `found`, in order of versions, and their size to
/// `bytes`. It has to be called in a transaction, because another process may add places between two statements.
pub(super) fn read(
    connection: &Connection,
    run: &str,
    namespace: &str,
    channel: &str,
    (base, version): (i64, i64),
    found: &mut Vec<ChannelValue>,
    bytes: &mut u64,
) -> SqlResult<()> {
    let placed = placed(connection)?;
    let mut take = |mut rows: Rows<'_>, found: &mut Vec<ChannelValue>| -> SqlResult<()> {
        while let Some(row) = rows.next()? {
            let value = row::value(row)?;
            *bytes = bytes.saturating_add(bounds::length(&value.json)).saturating_add(bounds::OVERHEAD);
            if *bytes > LARGEST_READ {
                return Err(errors::too_large("the channel values of a state"));
            }
            found.push(value);
        }
        Ok(())
    };
    let mut statement = connection.prepare_cached(sql::PLACED_VALUES_OF_CHANNEL)?;
    take(statement.query(params![run, namespace, channel, base, version])?, found)?;
    if found.last().is_none_or(|last| last.channel != channel || number(last.version) < version) {
        let mut statement = connection.prepare_cached(sql::NEW_VALUES_OF_CHANNEL)?;
        take(statement.query(params![run, namespace, channel, base, version, placed])?, found)?;
    }
    Ok(())
}
