//! Errors of exporting and importing a run.

use std::io;

use graph_core::digest::Digest;
use graph_core::json::ReadJsonError;
use graph_core::record::DecodeError;
use graph_core::trust::{KeyError, KeyId};
use graph_store::{BadName, ImportError};
use serde_json::Value;

use super::archive::VERSION;
use crate::error::{Kind, OperationError};
use crate::remedy::Remedy;

/// Reasons for which a run is not exported or imported.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum ArchiveError {
    /// A line cannot be made.
    #[error("a line of the file cannot be written: {0}")]
    Encode(#[source] serde_json::Error),
    /// The file cannot be written.
    #[error("the file cannot be written: {0}")]
    Write(#[source] io::Error),
    /// An entry of the history was there, and is not any more.
    #[error("entry {before} of run {run} is gone")]
    EntryGone { before: u64, run: String },
    /// The file cannot be read.
    #[error("the file cannot be read: {0}")]
    Read(#[source] io::Error),
    /// The temporary file for records cannot be used.
    #[error("the records cannot be kept in {}: {source}", std::env::temp_dir().display())]
    Spool { source: io::Error },
    /// The first line is not that of a run.
    #[error("this is not the file of a run: its first line does not say so")]
    Foreign,
    /// The file has a version that is not read.
    #[error("the file has format version {0}, and this program reads versions up to {most}", most = VERSION)]
    Version(Value),
    /// The first line has other fields than its version has.
    #[error("line 1 of the file: {0}")]
    Header(#[source] serde_json::Error),
    /// The user gave another key than the file names.
    #[error("run {run} was signed by the key {}, and the key that was given is {}", named.short(), given.short())]
    OtherKey { run: String, named: KeyId, given: KeyId },
    /// The key in the file is no key.
    #[error("the key in the file cannot be used: {0}")]
    Key(#[source] KeyError),
    /// Neither the user nor the file names a key.
    #[error("the file does not bring the key of the host that made the run")]
    NoKey,
    /// The key cannot be stored as a text.
    #[error(transparent)]
    UnwritableKey(KeyError),
    /// The file is damaged.
    #[error("the file is damaged at line {line}: {damage}")]
    Damaged {
        line: u64,
        #[source]
        damage: Damage,
    },
    /// The line of a record that was checked before is none.
    #[error("the file is damaged: a record is none")]
    NoRecord,
    /// The line of a record that was checked before cannot be parsed.
    #[error("the file is damaged: a record cannot be read: {0}")]
    RecordLine(#[source] ReadJsonError),
    /// The body of a record cannot be decoded.
    #[error(transparent)]
    Record(#[from] DecodeError),
    /// A text has another digest.
    #[error("a text in the file was changed: its digest is not {0}")]
    Text(Digest),
    /// The row has a name that is not stored.
    #[error("the run cannot be taken over: {0}")]
    Name(#[source] BadName),
    /// The run does not hold together.
    #[error(transparent)]
    Trial(#[from] ImportError),
    /// All texts together are too large.
    #[error("the texts of this run, such as its graphs and inputs, have more than {mebibytes} MiB together")]
    Texts {
        /// The limit.
        mebibytes: u64,
    },
}

/// Damage of a line in the file of a run.
#[derive(Debug, thiserror::Error)]
pub enum Damage {
    /// The row occurs twice.
    #[error("there is a second row")]
    SecondRow,
    /// The row is missing.
    #[error("there is no row")]
    NoRow,
    /// The row has another id than the first line.
    #[error("the row is of another run")]
    OtherRow,
    /// Number or digest of the lines do not match.
    #[error("what is before the last line was changed, or lines are missing")]
    Changed,
    /// The signature over the file is invalid.
    #[error("its signature is not that of the key that it was checked with")]
    Signature,
    /// The line is longer than its kind may be.
    #[error("a line of its kind has at most {0} bytes, and it has more")]
    LongLine(u64),
    /// The last line has no end.
    #[error("it ends within a line: it is not whole")]
    PartOfLine,
    /// The last line is missing.
    #[error("it has no last line that says that it is whole: it was cut off")]
    CutOff,
    /// A text is longer than a store keeps it.
    #[error("a text has more than {0} MiB, which no run keeps")]
    LongText(u64),
    /// The line cannot be parsed.
    #[error("the line cannot be read: {0}")]
    Unreadable(#[source] ReadJsonError),
    /// There are lines after the last one.
    #[error("something follows its last line")]
    Trailing,
}

impl OperationError for ArchiveError {
    fn kind(&self) -> Kind {
        match self {
            Self::Encode(_) | Self::Write(_) | Self::Read(_) | Self::Spool { .. } => Kind::Storage,
            Self::Foreign | Self::Version(_) | Self::Header(_) | Self::Key(_) | Self::UnwritableKey(_) => {
                Kind::Invalid
            }
            Self::EntryGone { .. }
            | Self::OtherKey { .. }
            | Self::NoKey
            | Self::Damaged { .. }
            | Self::NoRecord
            | Self::RecordLine(_)
            | Self::Record(_)
            | Self::Text(_)
            | Self::Name(_)
            | Self::Trial(_) => Kind::Integrity,
            Self::Texts { .. } => Kind::Limit,
        }
    }

    fn remedy(&self) -> Option<Remedy> {
        Some(match self {
            Self::Spool { .. } => "name another folder for what is needed for a moment: TMPDIR".into(),
            Self::Foreign => Remedy::ExportRun,
            Self::Version(_) => {
                "read it with the version of graph-host that has written it, or a newer one".into()
            }
            Self::OtherKey { .. } => "give the key of the host or page that made the run".into(),
            Self::NoKey => Remedy::GiveHostKey,
            Self::Texts { mebibytes } => {
                Remedy::RaiseTextLimit { mebibytes: (*mebibytes).max(1).saturating_mul(4) }
            }
            _ => return None,
        })
    }
}
