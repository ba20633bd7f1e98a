//! What SQLite says when it fails, in our words.

use std::io;
use std::path::Path;
use std::time::Duration;

use graph_core::diagnostic::excerpt;
use rusqlite::types::Type;
use rusqlite::{Error, ErrorCode, Row, ffi};

use crate::bounds::LARGEST_READ;
use crate::error::{StorageError, location};
use crate::names::BadName;

/// What is stored is larger than anything that this program writes.
#[derive(Debug, thiserror::Error)]
#[error("{what} have more than {} MiB", LARGEST_READ >> 20)]
struct TooLarge {
    what: &'static str,
}

/// Several values together are larger than this program writes them.
pub(super) fn too_large(what: &'static str) -> Error {
    Error::FromSqlConversionFailure(0, Type::Blob, Box::new(TooLarge { what }))
}

/// A row has an id or a name that no store holds.
#[derive(Debug, thiserror::Error)]
#[error("row {row} of table {table}: {problem}")]
struct Refused {
    table: &'static str,
    row: i64,
    problem: BadName,
}

/// An id or a name in a row is refused.
pub(super) fn refused(table: &'static str, row: i64, problem: BadName) -> Error {
    Error::FromSqlConversionFailure(0, Type::Text, Box::new(Refused { table, row, problem }))
}

/// The error of an open file that cannot be inspected any more: writes to it may be lost.
pub(super) fn unfound(file: &Path, error: &io::Error) -> StorageError {
    let location = location(file);
    match error.kind() {
        io::ErrorKind::NotFound => StorageError::Gone { location },
        _ => StorageError::Io { location, reason: error.to_string() },
    }
}

/// The row of a run has a value that is none of its column.
#[derive(Debug, thiserror::Error)]
#[error("row {row} of table runs: {reason}")]
struct DamagedRun {
    run: String,
    row: i64,
    reason: String,
}

/// A value in the row of a run is none of its column: the error names the run and the column. Other errors stay as they are.
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

/// There is no next epoch.
#[derive(Debug, thiserror::Error)]
#[error("there is no next epoch")]
struct NoNextEpoch;

/// The count of epochs is missing, or has no next one.
pub(super) fn no_next_epoch() -> Error {
    Error::FromSqlConversionFailure(0, Type::Integer, Box::new(NoNextEpoch))
}

/// What to do about a damaged file, where it is not known how far it reaches.
pub(super) const READABLE: &str =
    "records before the damage can still be read: `graph-host runs verify` says how far each run is intact";

/// Translates an error of SQLite.
pub(super) fn storage(file: &Path, waited: Duration, error: &Error) -> StorageError {
    let location = location(file);
    let reason = error.to_string();
    let corrupt =
        |reason| StorageError::Corrupt { location: location.clone(), reason, readable: READABLE.to_owned() };
    let Error::SqliteFailure(failure, _) = error else {
        return match error {
            Error::FromSqlConversionFailure(_, _, cause) if cause.is::<Refused>() => {
                match cause.downcast_ref::<Refused>() {
                    Some(Refused { table, row, problem }) => {
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
            // A column holds what was never written there, or a statement does not fit the tables, which fit every
            // statement when they were made.
            Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::InvalidColumnType(..)
            | Error::Utf8Error(..)
            | Error::SqlInputError { .. } => corrupt(reason),
            _ => StorageError::Io { location, reason },
        };
    };
    match (failure.code, failure.extended_code) {
        // The index of the write-ahead log next to the file cannot be made as large as it has to be.
        (ErrorCode::DiskFull, _) | (_, ffi::SQLITE_IOERR_SHMSIZE) => StorageError::Full { location },
        // Nothing else interrupts this connection: see `meter`.
        (ErrorCode::OperationInterrupted, _) => StorageError::Endless { location },
        (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _) => {
            StorageError::Busy { location, seconds: waited.as_secs() }
        }
        (ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied, _) => {
            StorageError::NotWritable { location, reason }
        }
        // Every statement fits the tables as they were made, and every constraint is one that the program keeps by
        // itself: where one fails, it is the file that is wrong.
        (
            ErrorCode::DatabaseCorrupt
            | ErrorCode::NotADatabase
            | ErrorCode::Unknown
            | ErrorCode::SchemaChanged
            // Reading the schema was given up: it has more entries than ours.
            | ErrorCode::OperationAborted
            // Nothing of this size is written: see `plan`.
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

/// Whether the error says that the file is damaged.
pub(super) fn is_damage(error: &Error) -> bool {
    matches!(storage(Path::new(""), Duration::ZERO, error), StorageError::Corrupt { .. })
}

/// Whether the error is about what one row holds, and not about the file.
pub(super) fn is_of_row(error: &Error) -> bool {
    matches!(
        error,
        Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::InvalidColumnType(..)
            | Error::Utf8Error(..)
    )
}
