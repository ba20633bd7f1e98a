//! Translation of errors of SQLite into errors of the store.

use std::io;
use std::path::Path;
use std::time::Duration;

use graph_core::diagnostic::excerpt;
use rusqlite::types::Type;
use rusqlite::{Error, ErrorCode, Row, ffi};

use crate::bounds::LARGEST_READ;
use crate::error::{ReadableData, StorageError, location};
use crate::names::BadName;

/// The cause of the error for values that are larger than this program writes.
#[derive(Debug, thiserror::Error)]
#[error("{what} have more than {} MiB", LARGEST_READ >> 20)]
struct TooLarge {
    what: &'static str,
}

/// Returns the error for several values that together are larger than this program writes.
pub(super) fn too_large(what: &'static str) -> Error {
    Error::FromSqlConversionFailure(0, Type::Blob, Box::new(TooLarge { what }))
}

/// The cause of the error for a row with an invalid id or name.
#[derive(Debug, thiserror::Error)]
#[error("row {row} of table {table}: {problem}")]
struct RefusedRow {
    table: &'static str,
    row: i64,
    problem: BadName,
}

/// Returns the error for a row with an invalid id or name.
pub(super) fn refused(table: &'static str, row: i64, problem: BadName) -> Error {
    Error::FromSqlConversionFailure(0, Type::Text, Box::new(RefusedRow { table, row, problem }))
}

/// Returns the error for an open file that cannot be inspected any more: writes to it may be lost.
pub(super) fn unfound(file: &Path, error: &io::Error) -> StorageError {
    let location = location(file);
    match error.kind() {
        io::ErrorKind::NotFound => StorageError::Gone { location },
        _ => StorageError::Io { location, reason: error.to_string() },
    }
}

/// The cause of the error for a row of a run with an invalid value.
#[derive(Debug, thiserror::Error)]
#[error("row {row} of table runs: {reason}")]
struct DamagedRun {
    run: String,
    row: i64,
    reason: String,
}

/// Converts the error for an invalid value in the row of a run into one that names the run and the column. Other errors
/// are returned unchanged.
pub(super) fn damaged_run(row: &Row<'_>, number: usize, error: Error) -> Error {
    let column = |at: usize| row.as_ref().column_name(at).unwrap_or("a column").to_owned();
    let reason = match &error {
        Error::IntegralValueOutOfRange(at, value) => format!("`{}` is {value}", column(*at)),
        Error::FromSqlConversionFailure(at, _, cause) => {
            format!("`{}`: {}", column(*at), excerpt(&cause.to_string()))
        }
        Error::InvalidColumnType(_, name, _) => {
            format!("what is stored as `{name}` is not of its kind, or larger than this program writes it")
        }
        Error::Utf8Error(..) => "a text is not UTF-8".to_owned(),
        _ => return error,
    };
    let run = row.get::<_, String>(0).map_or_else(|_| "?".to_owned(), |id| excerpt(&id));
    let damaged = DamagedRun { run, row: row.get(number).unwrap_or_default(), reason };
    Error::FromSqlConversionFailure(0, Type::Text, Box::new(damaged))
}

/// The cause of the error for a counter of epochs without a next value.
#[derive(Debug, thiserror::Error)]
#[error("there is no next epoch")]
struct NoNextEpoch;

/// Returns the error for a counter of epochs that is missing or has no next value.
pub(super) fn no_next_epoch() -> Error {
    Error::FromSqlConversionFailure(0, Type::Integer, Box::new(NoNextEpoch))
}

/// Translates an error of SQLite.
pub(super) fn storage(file: &Path, waited: Duration, error: &Error) -> StorageError {
    let location = location(file);
    let reason = error.to_string();
    let readable = ReadableData::BeforeDamage;
    let corrupt = |reason| StorageError::Corrupt { location: location.clone(), reason, readable };
    let Error::SqliteFailure(failure, _) = error else {
        return match error {
            Error::FromSqlConversionFailure(_, _, cause) if cause.is::<RefusedRow>() => {
                match cause.downcast_ref::<RefusedRow>() {
                    Some(RefusedRow { table, row, problem }) => {
                        StorageError::Row { location, table, row: *row, problem: problem.clone() }
                    }
                    None => corrupt(cause.to_string()),
                }
            }
            Error::FromSqlConversionFailure(_, _, cause) if cause.is::<DamagedRun>() => {
                match cause.downcast_ref::<DamagedRun>() {
                    Some(DamagedRun { run, row, reason }) => {
                        StorageError::Run { location, run: run.clone(), row: *row, reason: reason.clone() }
                    }
                    None => corrupt(cause.to_string()),
                }
            }
            Error::FromSqlConversionFailure(_, _, cause) if cause.is::<NoNextEpoch>() => {
                StorageError::NoNextEpoch { location }
            }
            Error::FromSqlConversionFailure(_, _, cause) if cause.is::<TooLarge>() => {
                corrupt(cause.to_string())
            }
            Error::InvalidColumnType(_, column, Type::Blob) => corrupt(format!(
                "what is stored as `{column}` is not of its kind, or larger than this program writes it"
            )),
            // A column has a value that was never written there, or a statement does not fit the tables, although every
            // statement fitted them when they were created.
            Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::InvalidColumnType(..)
            | Error::Utf8Error(..)
            | Error::SqlInputError { .. } => corrupt(reason),
            _ => StorageError::Io { location, reason },
        };
    };
    match (failure.code, failure.extended_code) {
        // The index of the write-ahead log cannot be made as large as it has to be.
        (ErrorCode::DiskFull, _) | (_, ffi::SQLITE_IOERR_SHMSIZE) => StorageError::Full { location },
        // Only the meter interrupts this connection: see `guard`.
        (ErrorCode::OperationInterrupted, _) => StorageError::Endless { location },
        (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _) => {
            StorageError::Busy { location, seconds: waited.as_secs() }
        }
        (ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied, _) => {
            StorageError::NotWritable { location, reason }
        }
        // Every statement fits the tables as they were created, and the program itself satisfies every constraint. If
        // one fails, the file is wrong.
        (
            ErrorCode::DatabaseCorrupt
            | ErrorCode::NotADatabase
            | ErrorCode::Unknown
            | ErrorCode::SchemaChanged
            // SQLite stopped reading the schema: it has more entries than this program creates.
            | ErrorCode::OperationAborted
            // This program writes nothing of this size: see `plan`.
            | ErrorCode::TooBig
            | ErrorCode::ConstraintViolation,
            _,
        )
        | (_, ffi::SQLITE_IOERR_SHORT_READ | ffi::SQLITE_IOERR_CORRUPTFS | ffi::SQLITE_IOERR_DATA) => {
            corrupt(reason)
        }
        _ => StorageError::Io { location, reason },
    }
}

/// Reports whether the error means that the file is damaged.
pub(super) fn is_damage(error: &Error) -> bool {
    matches!(storage(Path::new(""), Duration::ZERO, error), StorageError::Corrupt { .. })
}

/// Reports whether the error is about the values of one row, and not about the file.
pub(super) fn is_of_row(error: &Error) -> bool {
    matches!(
        error,
        Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::InvalidColumnType(..)
            | Error::Utf8Error(..)
    )
}
