//! Errors, one type per operation.

use std::path::Path;

use graph_core::digest::Digest;
use graph_core::record::ErrorCode;

use crate::bounds::{LARGEST_PENDING, LARGEST_SNAPSHOT, LARGEST_TEXT};
use crate::names::BadName;
use crate::store::Owner;

/// Errors of the medium of a store, which can occur in any operation. Each names the location, such as a file, as the
/// store describes it to users.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum StorageError {
    /// The stored bytes are not what was written.
    #[error("{location} is damaged: {reason}; {readable}")]
    Corrupt {
        /// The location of the store, for users.
        location: String,
        reason: String,
        /// The data that can still be read.
        readable: ReadableData,
    },
    /// A later version of this program has written it.
    #[error(
        "{location} has format version {found}, and this program reads versions up to {supported}: it was left unchanged; use a newer graph-host"
    )]
    Newer {
        /// The location of the store, for users.
        location: String,
        found: u64,
        /// The latest version that can be read.
        supported: u64,
    },
    /// A row contains an id or a name that no store would write. Other rows are not affected.
    #[error("{location}: row {row} of table {table} is refused: {problem}; other runs can still be read")]
    Row {
        /// The location of the store, for users.
        location: String,
        table: &'static str,
        /// The number of the row.
        row: i64,
        /// The problem with the id or name.
        problem: BadName,
    },
    /// The row of a run contains a value that no store would write. Other runs are not affected.
    #[error(
        "{location}: run `{run}`, row {row} of table runs, is damaged: {reason}; other runs can still be read"
    )]
    Run {
        /// The location of the store, for users.
        location: String,
        /// The id of the run, safe to show.
        run: String,
        /// The number of the row.
        row: i64,
        /// The column and the problem with it.
        reason: String,
    },
    /// The counter from which each process that acquires a run gets its epoch is missing or has no next value.
    #[error(
        "{location}: the count of processes that have taken its runs is missing or has no next number, which this program never writes: no run here can be started or resumed; all can be read: export them, and import them into another project"
    )]
    NoNextEpoch {
        /// The location of the store, for users.
        location: String,
    },
    /// Reading takes more work than an undamaged file of this size could require.
    #[error(
        "{location} is damaged: reading it takes more work than a file of its size can need; move it away, or put it back from a backup"
    )]
    Endless {
        /// The location of the store, for users.
        location: String,
    },
    /// The disk or the quota is full.
    #[error(
        "no room left to write {location}; nothing of this write was kept, and everything before it was: free some space and resume"
    )]
    Full {
        /// The location of the store, for users.
        location: String,
    },
    /// Another process kept the store locked for too long.
    #[error("{location} was locked by another process for {seconds} s: try again when it is done")]
    Busy {
        /// The location of the store, for users.
        location: String,
        /// Number of seconds that this process waited.
        seconds: u64,
    },
    /// The file, its folder or the disk may not be written.
    #[error(
        "{location} cannot be written: {reason}; make the file and its folder writable, or work in a folder that is"
    )]
    NotWritable {
        /// The location of the store, for users.
        location: String,
        reason: String,
    },
    /// The file was removed or replaced by another one while it was open.
    #[error(
        "{location} was removed while it was in use: what was stored in it is lost, this write included; look at what removes it, and start the run again"
    )]
    Gone {
        /// The location of the store, for users.
        location: String,
    },
    /// Any other error of reading or writing.
    #[error("{location} cannot be read or written: {reason}")]
    Io {
        /// The location of the store, for users.
        location: String,
        reason: String,
    },
}

/// Data of a damaged store that can still be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadableData {
    /// The other runs.
    #[error("other runs can still be read")]
    OtherRuns,
    /// Records before the damage, whose extent is unknown.
    #[error("records before the damage can still be read")]
    BeforeDamage,
    /// Data that a text describes.
    #[error("{0}")]
    Described(String),
}

/// Returns the location of a file or folder for errors.
pub(crate) fn location(path: &Path) -> String {
    path.display().to_string()
}

impl StorageError {
    /// Returns the data that can still be read, if the store or a part of it is damaged.
    pub const fn readable(&self) -> Option<&ReadableData> {
        match self {
            Self::Corrupt { readable, .. } => Some(readable),
            Self::Row { .. } | Self::Run { .. } => Some(&ReadableData::OtherRuns),
            _ => None,
        }
    }

    /// Returns the code with which a run ends that meets this error.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Corrupt { .. }
            | Self::Newer { .. }
            | Self::Row { .. }
            | Self::Run { .. }
            | Self::NoNextEpoch { .. }
            | Self::Endless { .. } => ErrorCode::Integrity,
            Self::Full { .. }
            | Self::Busy { .. }
            | Self::NotWritable { .. }
            | Self::Gone { .. }
            | Self::Io { .. } => ErrorCode::Storage,
        }
    }
}

/// The reasons for which a run cannot be added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum CreateRunError {
    /// The store already has a run with this id.
    #[error("there is a run {run} already: choose another id, or leave it out to get a fresh one")]
    Exists { run: String },
    /// One of its ids or names cannot be stored.
    #[error("the run cannot be kept: {0}")]
    Name(#[from] BadName),
    /// One of its texts cannot be stored.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// Its result is too large to be stored.
    #[error("run {run} cannot be kept: its result and error take {bytes} bytes, and {most} is the most", most = LARGEST_TEXT)]
    TooLarge { run: String, bytes: u64 },
    /// A number is too large to be stored.
    #[error("run {run} cannot be kept: its {what} is {number}, above 2^63 - 1")]
    OutOfRange { run: String, what: &'static str, number: u64 },
    /// The disk, the file or the database failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The reasons for which a run cannot be imported from another store. No part of it was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum ImportError {
    /// The run cannot be added.
    #[error(transparent)]
    Create(#[from] CreateRunError),
    /// The records are not in order.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// Its records cannot be read from their source.
    #[error("the records of the run cannot be read: {reason}")]
    Source { reason: String },
    /// The disk, the file or the database failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The reasons for which something cannot be removed. No part of it was removed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum RemoveError {
    /// The guard no longer holds the run.
    #[error("run {run} was taken over, and nothing of it is removed: {loss}")]
    Lost { run: String, loss: Loss },
    /// There is no such run.
    #[error("there is no run {run}")]
    NotFound { run: String },
    /// The checkpoint that would become the first one does not exist.
    #[error("run {run} has no checkpoint {sequence} in namespace `{namespace}`")]
    NoCheckpoint { run: String, namespace: String, sequence: u64 },
    /// Data that has to be kept cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The disk, the file or the database failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The reasons for which a text cannot be stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum SnapshotError {
    /// Another text is stored under this digest.
    #[error("another text is kept as {digest}: one of the two was changed")]
    Differs { digest: Digest },
    /// The text is too large to be stored.
    #[error("a text of {bytes} bytes cannot be kept: {most} is the most", most = LARGEST_SNAPSHOT)]
    TooLarge { bytes: u64 },
    /// The disk, the file or the database failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The reasons for which a guard no longer holds its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Loss {
    /// Another process has acquired the run: its epoch has changed.
    #[error("another process has taken it up since")]
    TakenUp,
    /// The epoch is the guard's, but the newest record is not the one that the guard expects.
    #[error("its records are not those that this process has written")]
    Moved,
    /// The run that was acquired does not exist any more. Another run may have its id.
    #[error("it was removed")]
    Removed,
}

/// The reasons for which a batch was refused. No part of it was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum CommitError {
    /// The guard no longer holds the run. The process must not write anything more to it.
    #[error("run {run} was taken over, and this process writes nothing more about it: {loss}")]
    Lost { run: String, loss: Loss },
    /// A checkpoint's number is not above that of the newest one.
    #[error(
        "run {run} has continued to checkpoint {newest} in namespace `{namespace}`, so checkpoint {sequence} cannot follow"
    )]
    Superseded {
        run: String,
        namespace: String,
        /// The checkpoint that was to be written.
        sequence: u64,
        /// The newest checkpoint there.
        newest: u64,
    },
    /// A task, answers or status record is not under the newest checkpoint.
    #[error("a {kind} record of run {run} is under checkpoint {sequence} of namespace `{namespace}`, but {newest}", newest = newest_text(*newest))]
    NotUnderNewest {
        run: String,
        namespace: String,
        /// The kind of record.
        kind: &'static str,
        /// The checkpoint that it is under.
        sequence: u64,
        /// The newest checkpoint there.
        newest: Option<u64>,
    },
    /// The store cannot keep such a record for this run.
    #[error("a {kind} record cannot be kept in run {run}: {reason}")]
    Unfit {
        run: String,
        /// The kind of record.
        kind: &'static str,
        reason: String,
    },
    /// One of the ids that the run refers to cannot be stored.
    #[error("the change of the run cannot be kept: {0}")]
    Name(#[from] BadName),
    /// A text is too large to be stored.
    #[error(
        "run {run} cannot continue: its {what} takes {bytes} bytes, and at most {most} can be stored in one piece"
    )]
    TooLarge {
        run: String,
        what: &'static str,
        bytes: u64,
        /// Maximum size in bytes.
        most: u64,
    },
    /// A number is too large to be stored.
    #[error("the change of run {run} cannot be kept: its {what} is {number}, above 2^63 - 1")]
    OutOfRange { run: String, what: &'static str, number: u64 },
    /// The disk, the file or the database failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

fn newest_text(newest: Option<u64>) -> String {
    match newest {
        Some(newest) => format!("the newest one is {newest}"),
        None => "there is none yet".to_owned(),
    }
}

/// The reasons for which something cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum ReadError {
    /// There is no such run.
    #[error("there is no run {run}")]
    NotFound { run: String },
    /// A value that a checkpoint refers to is missing.
    #[error(
        "the value of channel `{channel}` at checkpoint {version} of run {run} is missing; checkpoints before it may still be whole"
    )]
    MissingValue {
        run: String,
        channel: String,
        /// The sequence number of the checkpoint that should have written it.
        version: u64,
    },
    /// The pending records under the newest checkpoint are larger than [`LARGEST_PENDING`].
    #[error("the records under the newest checkpoint of run {run} take more than {most} bytes", most = LARGEST_PENDING)]
    TooMuchPending { run: String },
    /// The disk, the file or the database failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The reasons for which a name does not identify one run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum ResolveError {
    /// No id begins with the name.
    #[error("no run is called `{name}` or starts with it")]
    NotFound { name: String },
    /// The name is that of a child run, which has no row of its own.
    #[error("`{name}` is a run inside the run `{run}`: name `{run}` here")]
    Inside { name: String, run: String },
    /// `@last`, and there are no runs.
    #[error("there are no runs yet, so `@last` names none")]
    NoRuns,
    /// The name begins with `@` and is not `@last`.
    #[error("`{name}` is not a name for a run: it is an id, the beginning of one, or `@last`")]
    UnknownName { name: String },
    /// Several ids begin with the name.
    #[error("`{name}` is the beginning of more than one run: {}{}; write more of the id", candidates.join(", "), if *more { " and others" } else { "" })]
    Ambiguous {
        name: String,
        /// Some of the ids, in order.
        candidates: Vec<String>,
        /// True if there are more than these.
        more: bool,
    },
    /// The disk, the file or the database failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The reasons for which a run cannot be acquired.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum AcquireError {
    /// There is no such run.
    #[error("there is no run {run}")]
    NotFound { run: String },
    /// Another process holds it.
    #[error("run {run} is held by {}: wait until it is done, or stop it", holder.as_ref().map_or_else(|| "another process".to_owned(), ToString::to_string))]
    Held {
        run: String,
        /// The holder, if it has recorded its name.
        holder: Option<Owner>,
    },
    /// The lock cannot be created.
    #[error("the lock {location} cannot be taken: {reason}")]
    Lock {
        /// The path of the lock.
        location: String,
        reason: String,
    },
    /// The disk, the file or the database failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

macro_rules! codes {
    ($($error:ty { $($pattern:pat => $code:expr),* $(,)? })*) => {$(
        impl $error {
            /// Returns the code with which an operation ends that meets this error.
            pub const fn code(&self) -> ErrorCode {
                match self {
                    $($pattern => $code,)*
                    Self::Storage(error) => error.code(),
                }
            }

            /// Returns the error of the medium that this one consists of, if it does.
            pub const fn storage(&self) -> Option<&StorageError> {
                match self {
                    Self::Storage(error) => Some(error),
                    _ => None,
                }
            }
        }
    )*};
}

codes! {
    CreateRunError {
        Self::Exists { .. } | Self::OutOfRange { .. } | Self::TooLarge { .. } => ErrorCode::Storage,
        Self::Name(_) => ErrorCode::Integrity,
        Self::Snapshot(error) => error.code(),
    }
    ImportError {
        Self::Create(error) => error.code(),
        Self::Commit(error) => error.code(),
        Self::Source { .. } => ErrorCode::Integrity,
    }
    RemoveError {
        Self::Lost { .. } => ErrorCode::Storage,
        Self::NotFound { .. } | Self::NoCheckpoint { .. } => ErrorCode::NotFound,
        Self::Read(error) => error.code(),
    }
    SnapshotError {
        Self::Differs { .. } => ErrorCode::Integrity,
        Self::TooLarge { .. } => ErrorCode::Storage,
    }
    CommitError {
        Self::Lost { .. }
        | Self::Superseded { .. }
        | Self::NotUnderNewest { .. }
        | Self::Unfit { .. }
        | Self::OutOfRange { .. }
        | Self::TooLarge { .. } => ErrorCode::Storage,
        Self::Name(_) => ErrorCode::Integrity,
    }
    ReadError {
        Self::NotFound { .. } => ErrorCode::NotFound,
        Self::MissingValue { .. } | Self::TooMuchPending { .. } => ErrorCode::Integrity,
    }
    ResolveError {
        Self::NotFound { .. } | Self::Inside { .. } | Self::NoRuns | Self::UnknownName { .. } | Self::Ambiguous { .. } => ErrorCode::NotFound,
    }
    AcquireError {
        Self::NotFound { .. } => ErrorCode::NotFound,
        Self::Held { .. } | Self::Lock { .. } => ErrorCode::Storage,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::fmt::Write as _;
    use std::path::PathBuf;

    use super::*;
    use crate::sqlite::{OpenError, PlaceError};
    use graph_core::time::Timestamp;

    #[test]
    fn messages_say_what_and_what_to_do() {
        let (run, file, namespace) = ("r-7".to_owned(), PathBuf::from("p/runs.db"), String::new());
        let location = location(&file);
        let bad = || crate::names::run_id("run_id", "../\u{1b}[2J").unwrap_err();
        let reason = "`created_at` is -1".to_owned();
        let storage: [StorageError; 9] = [
            StorageError::Row { location: location.clone(), table: "runs", row: 7, problem: bad() },
            StorageError::Run { location: location.clone(), run: run.clone(), row: 7, reason },
            StorageError::NoNextEpoch { location: location.clone() },
            StorageError::Endless { location: location.clone() },
            StorageError::Corrupt {
                location: location.clone(),
                reason: "database disk image is malformed".to_owned(),
                readable: ReadableData::Described("no checkpoint of run r-7 can be read".to_owned()),
            },
            StorageError::Full { location: location.clone() },
            StorageError::Busy { location: location.clone(), seconds: 10 },
            StorageError::NotWritable { location: location.clone(), reason: "permission denied".to_owned() },
            StorageError::Io { location: location.clone(), reason: "disk I/O error".to_owned() },
        ];
        let mut messages: Vec<(String, ErrorCode)> =
            storage.iter().map(|error| (error.to_string(), error.code())).collect();
        macro_rules! add {
            ($($error:expr),* $(,)?) => {$({
                let error = $error;
                messages.push((error.to_string(), error.code()));
            })*};
        }
        let owner = Owner { pid: 42, host: "here".to_owned(), since: Timestamp(0) };
        let superseded = CommitError::Superseded {
            run: run.clone(),
            namespace: namespace.clone(),
            sequence: 3,
            newest: 4,
        };
        let astray = |newest| CommitError::NotUnderNewest {
            run: run.clone(),
            namespace: namespace.clone(),
            kind: "task",
            sequence: 3,
            newest,
        };
        add! {
            CreateRunError::Exists { run: run.clone() },
            CreateRunError::Name(bad()),
            CommitError::Name(bad()),
            CreateRunError::TooLarge { run: run.clone(), bytes: 600 << 20 },
            CreateRunError::OutOfRange { run: run.clone(), what: "fuel", number: u64::MAX },
            SnapshotError::Differs { digest: Digest::of_bytes(b"") },
            SnapshotError::TooLarge { bytes: 600 << 20 },
            ImportError::Create(CreateRunError::Exists { run: run.clone() }),
            ImportError::Commit(CommitError::Unfit { run: run.clone(), kind: "task", reason: "it is of run s".to_owned() }),
            ImportError::Source { reason: "line 7 was changed".to_owned() },
            RemoveError::NotFound { run: run.clone() },
            RemoveError::NoCheckpoint { run: run.clone(), namespace: namespace.clone(), sequence: 3 },
            RemoveError::Read(ReadError::NotFound { run: run.clone() }),
            CommitError::Lost { run: run.clone(), loss: Loss::TakenUp },
            CommitError::Lost { run: run.clone(), loss: Loss::Moved },
            CommitError::Lost { run: run.clone(), loss: Loss::Removed },
            RemoveError::Lost { run: run.clone(), loss: Loss::TakenUp },
            superseded,
            astray(Some(4)),
            astray(None),
            CommitError::Unfit { run: run.clone(), kind: "task", reason: "it is of run s".to_owned() },
            CommitError::OutOfRange { run: run.clone(), what: "step", number: u64::MAX },
            CommitError::TooLarge { run: run.clone(), what: "checkpoint record", bytes: 600 << 20, most: LARGEST_TEXT },
            ReadError::NotFound { run: run.clone() },
            ReadError::MissingValue { run: run.clone(), channel: "log".to_owned(), version: 9 },
            ReadError::TooMuchPending { run: run.clone() },
            ResolveError::NotFound { name: "r".to_owned() },
            ResolveError::Inside { name: "r/1.0".to_owned(), run: "r".to_owned() },
            ResolveError::NoRuns,
            ResolveError::UnknownName { name: "@first".to_owned() },
            ResolveError::Ambiguous { name: "r".to_owned(), candidates: vec!["r1".into(), "r2".into()], more: true },
            AcquireError::NotFound { run: run.clone() },
            AcquireError::Held { run: run.clone(), holder: Some(owner) },
            AcquireError::Held { run: run.clone(), holder: None },
            AcquireError::Lock { location: "p/runs/r-7.lock".to_owned(), reason: "permission denied".to_owned() },
        }
        add! {
            OpenError::Missing { file: file.clone() },
            OpenError::Folder { folder: "p".into(), reason: "not a directory".to_owned() },
            OpenError::NotADatabase { file: file.clone() },
            OpenError::Foreign { file: file.clone(), application_id: 77 },
            OpenError::Newer { file: file.clone(), found: 7, supported: 1 },
            OpenError::Older { file: file.clone(), found: 3, current: 7 },
            OpenError::Altered { file: file.clone(), what: "the table `t` is missing".to_owned() },
            PlaceError::NotRegular { file: file.clone() },
            PlaceError::Journal { file: file.clone(), journal: "p/runs.db-journal".into() },
            PlaceError::Alone { file: file.clone(), log: "p/runs.db-wal".into() },
            PlaceError::Sparse { file: file.clone(), length: 1 << 40 },
            OpenError::Unmerged { file, wal: "p/runs.db-wal".into() },
        }
        let text = messages.iter().fold(String::new(), |mut text, (message, code)| {
            let _ = writeln!(text, "{code}: {message}");
            text
        });
        insta::assert_snapshot!(text);
    }
}
