//! What is where a database is to be, and next to it, before SQLite looks at any of it.
//!
//! SQLite applies what it finds next to a file before anyone can ask what the file is: a journal changes the pages, and one
//! that names another journal has that file removed. Databases of this program have a write-ahead log, so a journal next to
//! them is a stranger's.

use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use crate::held::{Entry, FilePlace, Opening};

/// Files up to this length may be of holes alone, in bytes.
const SMALL: u64 = 256 << 20;
/// How many times more bytes a larger file may have than it takes up on its disk.
const MOST_HOLES: u64 = 64;
/// What follows a database's name while it is being made.
pub(super) const HALF: &str = ".new-";
/// How long a journal may be there while another process makes a database where none can be given its name once it is whole.
const MAKING: Duration = Duration::from_millis(500);
/// What a journal ends with that names another one.
const JOURNAL_MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// Why a database is not opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum PlaceError {
    /// A link, a pipe, a device.
    #[error("{file} is not a regular file: graph-host keeps its data in one; look at what is there, and move it away", file = file.display())]
    NotRegular {
        /// The path at which the database was to be.
        file: PathBuf,
    },
    /// It has another name elsewhere.
    #[error("{file} is a hard link: the same file has a name elsewhere, and would be changed there, too; replace it with a copy, or move it away", file = file.display())]
    HardLink { file: PathBuf },
    /// A journal is where none belongs.
    #[error("{journal} would change {file} as soon as it is opened, and graph-host has not written it: move it away; what was stored before is not lost", journal = journal.display(), file = file.display())]
    Journal { file: PathBuf, journal: PathBuf },
    /// A log without the database that it is of.
    #[error("{log} holds records of a database that is missing: put {file} back, or move the log away", log = log.display(), file = file.display())]
    Alone { file: PathBuf, log: PathBuf },
    /// A file of holes.
    #[error("{file} has {length} bytes, nearly all of them holes, which no database of graph-host has: move it away", file = file.display())]
    Sparse { file: PathBuf, length: u64 },
}

impl PlaceError {
    /// The code under which an operation that meets this ends.
    pub const fn code(&self) -> graph_core::record::ErrorCode {
        use graph_core::record::ErrorCode;
        match self {
            Self::NotRegular { .. } => ErrorCode::Storage,
            Self::HardLink { .. } | Self::Journal { .. } | Self::Alone { .. } | Self::Sparse { .. } => {
                ErrorCode::Integrity
            }
        }
    }
}

/// The file at the path of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// There is no file of that name.
    Nothing,
    /// A file without a byte.
    Empty,
    /// A file, or what SQLite refuses by itself.
    File,
}

/// Looks at a database and at what is next to it.
pub(crate) fn check(file: &FilePlace) -> Result<Found, PlaceError> {
    let begun = Instant::now();
    loop {
        match inspect(file) {
            Err(PlaceError::Journal { .. } | PlaceError::HardLink { .. }) if begun.elapsed() < MAKING => {
                thread::sleep(Duration::from_millis(5));
            }
            found => return found,
        }
    }
}

fn inspect(file: &FilePlace) -> Result<Found, PlaceError> {
    let [log, index, journal] = ["-wal", "-shm", "-journal"].map(|suffix| file.beside(suffix));
    // In this order: the process that makes a database puts the file there before its log.
    let has_log = is_regular(&log)?;
    is_regular(&index)?;
    let has_journal = is_regular(&journal)?;
    let is_missing = |file: &FilePlace| file.entry().is_ok_and(|found| found.is_none());
    let path = || file.path();
    let found = match file.entry() {
        Ok(Some(found)) if found.is_file() => found,
        // SQLite says of a folder what it is.
        Ok(Some(found)) if found.is_folder() => return Ok(Found::File),
        Ok(Some(_)) => return Err(PlaceError::NotRegular { file: path() }),
        Ok(None) => {
            if has_journal && !is_missing(&journal) {
                return Err(PlaceError::Journal { file: path(), journal: journal.path() });
            }
            return if has_log && !is_missing(&log) {
                Err(PlaceError::Alone { file: path(), log: log.path() })
            } else {
                Ok(Found::Nothing)
            };
        }
        // Opening it reports why it cannot be looked at.
        Err(_) => return Ok(Found::File),
    };
    if found.names() > 1 && found.names() > names_in_folder(file, &found) {
        return Err(PlaceError::HardLink { file: path() });
    }
    if is_sparse(&found) {
        return Err(PlaceError::Sparse { file: path(), length: found.length() });
    }
    let may_have = || found.length() == 0 || may_have_journal(file, &journal);
    if has_journal && !may_have() && !is_missing(&journal) {
        return Err(PlaceError::Journal { file: path(), journal: journal.path() });
    }
    Ok(if found.length() == 0 { Found::Empty } else { Found::File })
}

/// Whether there is something, which has to be a regular file.
fn is_regular(place: &FilePlace) -> Result<bool, PlaceError> {
    match place.entry() {
        Ok(Some(found)) if found.is_file() && found.names() > 1 => {
            Err(PlaceError::HardLink { file: place.path() })
        }
        Ok(Some(found)) if found.is_file() => Ok(true),
        Ok(Some(_)) => Err(PlaceError::NotRegular { file: place.path() }),
        Ok(None) | Err(_) => Ok(false),
    }
}

/// How many names a database has in its folder: its own, and that under which it was made, which it keeps for a moment, and
/// for longer if its maker was killed.
fn names_in_folder(file: &FilePlace, found: &Entry) -> u64 {
    let half = file.beside(HALF);
    let Ok(folder) = file.folder().get() else { return 1 };
    let names = folder.names().unwrap_or_default().into_iter();
    let halves = names
        .filter(|name| name.as_encoded_bytes().starts_with(half.name().as_encoded_bytes()))
        .filter_map(|name| folder.entry(&name).ok().flatten())
        .filter(|half| half.is_same(found));
    1 + halves.count() as u64
}

fn is_sparse(found: &Entry) -> bool {
    found.length() > SMALL && found.on_disk().saturating_mul(MOST_HOLES) < found.length()
}

/// Whether a database may have a journal next to it: one that has no write-ahead log, as on file systems without shared
/// memory, if the journal names no other one; and one without a byte, of which SQLite takes the journal for a remnant and
/// applies nothing.
fn may_have_journal(file: &FilePlace, journal: &FilePlace) -> bool {
    let writes_ahead = || -> io::Result<bool> {
        let mut header = [0; 20];
        file.open(Opening::Read)?.read_exact(&mut header)?;
        Ok(header[18] != 1 || header[19] != 1)
    };
    let names_another = || -> io::Result<bool> {
        let mut journal = journal.open(Opening::Read)?;
        let mut end = [0; 8];
        if journal.metadata()?.len() < 8 {
            return Ok(false);
        }
        journal.seek(SeekFrom::End(-8))?;
        journal.read_exact(&mut end)?;
        Ok(end == JOURNAL_MAGIC)
    };
    matches!((writes_ahead(), names_another()), (Ok(false), Ok(false)))
}
