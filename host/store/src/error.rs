//! What can go wrong, one type per operation.

use std::path::PathBuf;

use graph_core::digest::Digest;
use graph_core::record::ErrorCode;

use crate::bounds::{LARGEST_PENDING, LARGEST_TEXT};
use crate::names::BadName;
use crate::store::Owner;

/// What the medium under a store can do to any operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StorageError {
    /// What lies in the file is not what was written.
    #[error("{file} is damaged: {reason}; {readable}", file = file.display())]
    Corrupt {
        /// The file.
        file: PathBuf,
        /// What was found.
        reason: String,
        /// What can still be read, or how.
        readable: String,
    },
    /// A later version of this program has written it.
    #[error("{file} has format version {found}, and this program reads versions up to {supported}: it was left unchanged; use a newer graph-host", file = file.display())]
    Newer {
        /// The file, or the folder of files.
        file: PathBuf,
        /// Its version.
        found: u64,
        /// The latest version that can be read.
        supported: u64,
    },
    /// An id or a name in a row is none that a store holds. Other rows are not affected.
    #[error("{file}: row {row} of table {table} is refused: {problem}; other runs can still be read, and `graph-host runs list` shows them", file = file.display())]
    Row {
        /// The file.
        file: PathBuf,
        /// The table.
        table: &'static str,
        /// The number of the row.
        row: i64,
        /// What is wrong with it.
        problem: BadName,
    },
    /// Reading takes more work than a file of this size can ask for.
    #[error("{file} is damaged: reading it takes more work than a file of its size can need; move it away, or put it back from a backup", file = file.display())]
    Endless {
        /// The file.
        file: PathBuf,
    },
    /// No room.
    #[error("no room left to write {file}; nothing of this write was kept, and everything before it was: free some space and resume", file = file.display())]
    Full {
        /// The file.
        file: PathBuf,
    },
    /// Somebody else is writing all the time.
    #[error("{file} was locked by another process for {seconds} s: try again when it is done", file = file.display())]
    Busy {
        /// The file.
        file: PathBuf,
        /// How long was waited.
        seconds: u64,
    },
    /// The file, its folder or the disk may not be written.
    #[error("{file} cannot be written: {reason}; make the file and its folder writable, or work in a folder that is", file = file.display())]
    NotWritable {
        /// The file.
        file: PathBuf,
        /// Why.
        reason: String,
    },
    /// Reading or writing failed otherwise.
    #[error("{file} cannot be read or written: {reason}", file = file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// Why.
        reason: String,
    },
}

impl StorageError {
    /// The code under which a run that meets this ends.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Corrupt { .. } | Self::Newer { .. } | Self::Row { .. } | Self::Endless { .. } => {
                ErrorCode::Integrity
            }
            Self::Full { .. } | Self::Busy { .. } | Self::NotWritable { .. } | Self::Io { .. } => {
                ErrorCode::Storage
            }
        }
    }
}

/// A run cannot be added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CreateRunError {
    /// The id is taken.
    #[error("there is a run {run} already: choose another id, or leave it out to get a fresh one")]
    Exists {
        /// The id.
        run: String,
    },
    /// One of its ids or names cannot be kept.
    #[error("the run cannot be kept: {0}")]
    Name(#[from] BadName),
    /// One of its texts cannot be kept.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// Its result is too large to be kept.
    #[error("run {run} cannot be kept: its result and error take {bytes} bytes, and {most} is the most", most = LARGEST_TEXT)]
    TooLarge {
        /// The id.
        run: String,
        /// The size.
        bytes: u64,
    },
    /// A number is too large to be kept.
    #[error("run {run} cannot be kept: its {what} is {number}, above 2^63 - 1")]
    OutOfRange {
        /// The id.
        run: String,
        /// Which number.
        what: &'static str,
        /// The number.
        number: u64,
    },
    /// The medium failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// A run cannot be taken over from another store. Nothing of it was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The run cannot be added.
    #[error(transparent)]
    Create(#[from] CreateRunError),
    /// Its records do not follow from each other.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// Its records cannot be read where they come from.
    #[error("the records of the run cannot be read: {reason}")]
    Source {
        /// Why.
        reason: String,
    },
    /// The medium failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// Something cannot be removed. Nothing of it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemoveError {
    /// There is no such run.
    #[error("there is no run {run}")]
    NotFound {
        /// The id.
        run: String,
    },
    /// There is no such checkpoint to begin from.
    #[error("run {run} has no checkpoint {sequence} in namespace `{namespace}`")]
    NoCheckpoint {
        /// The run.
        run: String,
        /// The namespace.
        namespace: String,
        /// Its number.
        sequence: u64,
    },
    /// What has to stay cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The medium failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// A text cannot be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// Another text has the digest.
    #[error("another text is kept as {digest}: one of the two was changed")]
    Differs {
        /// The digest.
        digest: Digest,
    },
    /// The text is too large to be kept.
    #[error("a text of {bytes} bytes cannot be kept: {most} is the most", most = LARGEST_TEXT)]
    TooLarge {
        /// The size.
        bytes: u64,
    },
    /// The medium failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// A batch was refused. Nothing of it was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// There is no such run.
    #[error("there is no run {run}")]
    NotFound {
        /// The id.
        run: String,
    },
    /// The namespace has gone on without the writer.
    #[error(
        "run {run} has gone on to checkpoint {newest} in namespace `{namespace}`, so checkpoint {sequence} cannot follow: another process writes to this run"
    )]
    Superseded {
        /// The run.
        run: String,
        /// The namespace.
        namespace: String,
        /// The checkpoint that was to be written.
        sequence: u64,
        /// The newest checkpoint there.
        newest: u64,
    },
    /// A task, answers or status record is not under the newest checkpoint.
    #[error("a {kind} record of run {run} is under checkpoint {sequence} of namespace `{namespace}`, but {newest}: another process writes to this run", newest = newest_text(*newest))]
    NotUnderNewest {
        /// The run.
        run: String,
        /// The namespace.
        namespace: String,
        /// The kind of record.
        kind: &'static str,
        /// The checkpoint that it is under.
        sequence: u64,
        /// The newest checkpoint there.
        newest: Option<u64>,
    },
    /// A record is not one that this run can keep.
    #[error("a {kind} record cannot be kept in run {run}: {reason}")]
    Unfit {
        /// The run.
        run: String,
        /// The kind of record.
        kind: &'static str,
        /// Why.
        reason: String,
    },
    /// One of the ids that the run refers to cannot be kept.
    #[error("the change of the run cannot be kept: {0}")]
    Name(#[from] BadName),
    /// A text is too large to be kept.
    #[error(
        "run {run} cannot go on: its {what} takes {bytes} bytes, and {most} is the most that is stored in one piece"
    )]
    TooLarge {
        /// The run.
        run: String,
        /// Which text.
        what: &'static str,
        /// The size.
        bytes: u64,
        /// The largest one that can be kept.
        most: u64,
    },
    /// A number is too large to be kept.
    #[error("the change of run {run} cannot be kept: its {what} is {number}, above 2^63 - 1")]
    OutOfRange {
        /// The id.
        run: String,
        /// Which number.
        what: &'static str,
        /// The number.
        number: u64,
    },
    /// The medium failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

fn newest_text(newest: Option<u64>) -> String {
    match newest {
        Some(newest) => format!("the newest one is {newest}"),
        None => "there is none yet".to_owned(),
    }
}

/// Something cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// There is no such run.
    #[error("there is no run {run}")]
    NotFound {
        /// The id.
        run: String,
    },
    /// A value that a checkpoint refers to is not there.
    #[error(
        "the value of channel `{channel}` at checkpoint {version} of run {run} is missing; checkpoints before it may still be whole"
    )]
    MissingValue {
        /// The run.
        run: String,
        /// The channel.
        channel: String,
        /// The checkpoint that should have written it.
        version: u64,
    },
    /// More waits under the newest checkpoint than is read at one time.
    #[error("the records under the newest checkpoint of run {run} take more than {most} bytes", most = LARGEST_PENDING)]
    TooMuchPending {
        /// The run.
        run: String,
    },
    /// The medium failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// A name is not that of one run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// No id begins so.
    #[error("no run is called `{name}` or begins with it: `graph-host runs list` shows them")]
    NotFound {
        /// The name.
        name: String,
    },
    /// `@last`, and there are no runs.
    #[error("there are no runs yet, so `@last` names none")]
    NoRuns,
    /// Another name with `@`.
    #[error("`{name}` is not a name for a run: it is an id, the beginning of one, or `@last`")]
    UnknownName {
        /// The name.
        name: String,
    },
    /// More than one id begins so.
    #[error("`{name}` is the beginning of more than one run: {}{}; write more of the id", candidates.join(", "), if *more { " and others" } else { "" })]
    Ambiguous {
        /// The name.
        name: String,
        /// Some of the ids, in order.
        candidates: Vec<String>,
        /// There are more than those.
        more: bool,
    },
    /// The medium failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// A run cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AcquireError {
    /// There is no such run.
    #[error("there is no run {run}")]
    NotFound {
        /// The id.
        run: String,
    },
    /// Somebody has it.
    #[error("run {run} is held by {}: wait until it is done, or stop it", holder.as_ref().map_or_else(|| "another process".to_owned(), ToString::to_string))]
    Held {
        /// The run.
        run: String,
        /// Who has it, as far as they have said.
        holder: Option<Owner>,
    },
    /// The lock cannot be made.
    #[error("the lock {file} cannot be taken: {reason}", file = file.display())]
    Lock {
        /// The lock file.
        file: PathBuf,
        /// Why.
        reason: String,
    },
    /// The medium failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

macro_rules! codes {
    ($($error:ty { $($pattern:pat => $code:expr),* $(,)? })*) => {$(
        impl $error {
            /// The code under which an operation that meets this ends.
            pub const fn code(&self) -> ErrorCode {
                match self {
                    $($pattern => $code,)*
                    Self::Storage(error) => error.code(),
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
        Self::NotFound { .. } | Self::NoCheckpoint { .. } => ErrorCode::NotFound,
        Self::Read(error) => error.code(),
    }
    SnapshotError {
        Self::Differs { .. } => ErrorCode::Integrity,
        Self::TooLarge { .. } => ErrorCode::Storage,
    }
    CommitError {
        Self::NotFound { .. } => ErrorCode::NotFound,
        Self::Superseded { .. }
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
        Self::NotFound { .. } | Self::NoRuns | Self::UnknownName { .. } | Self::Ambiguous { .. } => ErrorCode::NotFound,
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

    use super::*;
    use crate::sqlite::{OpenError, PlaceError};
    use graph_core::time::Timestamp;

    #[test]
    fn messages_say_what_and_what_to_do() {
        let (run, file, namespace) = ("r-7".to_owned(), PathBuf::from("p/runs.db"), String::new());
        let bad = || crate::names::run_id("run_id", "../\u{1b}[2J").unwrap_err();
        let storage: [StorageError; 7] = [
            StorageError::Row { file: file.clone(), table: "runs", row: 7, problem: bad() },
            StorageError::Endless { file: file.clone() },
            StorageError::Corrupt {
                file: file.clone(),
                reason: "database disk image is malformed".to_owned(),
                readable: "no checkpoint of run r-7 can be read".to_owned(),
            },
            StorageError::Full { file: file.clone() },
            StorageError::Busy { file: file.clone(), seconds: 10 },
            StorageError::NotWritable { file: file.clone(), reason: "permission denied".to_owned() },
            StorageError::Io { file: file.clone(), reason: "disk I/O error".to_owned() },
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
            ImportError::Commit(CommitError::NotFound { run: run.clone() }),
            ImportError::Source { reason: "line 7 was changed".to_owned() },
            RemoveError::NotFound { run: run.clone() },
            RemoveError::NoCheckpoint { run: run.clone(), namespace: namespace.clone(), sequence: 3 },
            RemoveError::Read(ReadError::NotFound { run: run.clone() }),
            CommitError::NotFound { run: run.clone() },
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
            ResolveError::NoRuns,
            ResolveError::UnknownName { name: "@first".to_owned() },
            ResolveError::Ambiguous { name: "r".to_owned(), candidates: vec!["r1".into(), "r2".into()], more: true },
            AcquireError::NotFound { run: run.clone() },
            AcquireError::Held { run: run.clone(), holder: Some(owner) },
            AcquireError::Held { run: run.clone(), holder: None },
            AcquireError::Lock { file: "p/runs/r-7.lock".into(), reason: "permission denied".to_owned() },
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
