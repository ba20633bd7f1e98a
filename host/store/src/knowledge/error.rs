//! Errors of knowledge.

use std::time::Duration;

use graph_core::ranking;
use rusqlite::ErrorCode;

use super::schema::VERSION;
use super::store::{MAX_BYTES, MAX_ENTRIES};
use crate::sqlite::PlaceError;

/// Time limit of one search. The cost of ranking depends on how often the words of the query occur in all entries.
pub(super) const LONGEST_SEARCH: Duration = Duration::from_secs(1);
/// Time limit of any other call, without waiting for other processes.
pub(super) const LONGEST_CALL: Duration = Duration::from_secs(5);

pub(super) type Result<T> = std::result::Result<T, KnowledgeStoreError>;

/// The reasons for which knowledge could not be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum KnowledgeStoreError {
    /// The file was removed or replaced by another one while it was open.
    #[error("{0} was removed while it was in use: what was stored in it is lost, this entry included")]
    Gone(String),
    /// The query contains no word.
    #[error("{}", ranking::NO_WORD)]
    NoWord,
    /// A search took longer than one second.
    #[error("the search took longer than {} s: ask for fewer words, or for words that fewer entries hold", LONGEST_SEARCH.as_secs())]
    Slow,
    /// The project's knowledge would exceed a limit.
    #[error(
        "the project's knowledge is full: {entries} entries and {bytes} bytes; {MAX_ENTRIES} and {MAX_BYTES} are allowed"
    )]
    Full {
        /// Number of entries that there would be.
        entries: i64,
        /// Number of bytes that they would have.
        bytes: i64,
    },
    /// A later version of this program has written it.
    #[error(
        "{file} has format version {found}, and this program reads versions up to {VERSION}: it was left unchanged; use a newer graph-host"
    )]
    Newer { file: String, found: i64 },
    /// The file has an older version, and more texts than can be indexed within the time limit of a call.
    #[error(
        "{0} is of version 1, and its texts are too many for a call to index: the formats of the project have to be brought up to date first"
    )]
    Older(String),
    /// A call other than a search took longer than five seconds.
    #[error("the project's knowledge took longer than {} s to answer", LONGEST_CALL.as_secs())]
    Late,
    /// The file does not have the content that this program writes.
    #[error("the project's knowledge cannot be used: {0}")]
    Altered(String),
    /// The path, or a file next to it, cannot be opened safely.
    #[error("the project's knowledge cannot be used: {0}")]
    Place(#[from] PlaceError),
    /// The file belongs to another program.
    #[error("{0} is not a file of knowledge: move it away")]
    Foreign(String),
    /// SQLite refused an operation; its message is in the field.
    #[error("the project's knowledge cannot be used now: {0}")]
    Sqlite(String),
}

impl From<rusqlite::Error> for KnowledgeStoreError {
    fn from(error: rusqlite::Error) -> Self {
        if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) {
            return Self::Late;
        }
        Self::Sqlite(match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                "another process writes it".to_owned()
            }
            Some(ErrorCode::DiskFull) => "the disk is full".to_owned(),
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                "its file cannot be written".to_owned()
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => "its file is damaged".to_owned(),
            _ => error.to_string(),
        })
    }
}
