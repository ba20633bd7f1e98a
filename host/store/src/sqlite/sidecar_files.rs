//! Inspects the path of a database and the files next to it before SQLite opens any of them.
//!
//! SQLite applies a file next to a database before a program can check what the database is: a journal changes the
//! pages of the database, and SQLite removes another journal that it names. Databases of this program have a
//! write-ahead log, so that a journal next to one of them is a stranger's.

use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use crate::held::{Entry, FilePlace, Opening};

/// Maximum length of a file that may consist of holes only, in bytes.
const SMALL: u64 = 256 << 20;
/// Maximum ratio of a larger file's length to the bytes that it occupies on the disk.
const MOST_HOLES: u64 = 64;
/// The suffix of a database's name while the database is created.
pub(super) const HALF: &str = ".new-";
/// Time for which a journal may exist while another process creates a database at its final path, which it does on file
/// systems without hard links.
const MAKING: Duration = Duration::from_millis(500);
/// The last bytes of a journal that names another one.
const JOURNAL_MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// The reasons for which a database is not opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum PlaceError {
    /// The path is that of a link, a pipe or a device.
    #[error("{file} is not a regular file: graph-host keeps its data in one; look at what is there, and move it away", file = file.display())]
    NotRegular {
        /// The path of the database.
        file: PathBuf,
    },
    /// The file has another name elsewhere.
    #[error("{file} is a hard link: the same file has a name elsewhere, and would be changed there, too; replace it with a copy, or move it away", file = file.display())]
    HardLink { file: PathBuf },
    /// A journal is next to a database that cannot have one.
    #[error("{journal} would change {file} as soon as it is opened, and graph-host has not written it: move it away; what was stored before is not lost", journal = journal.display(), file = file.display())]
    Journal { file: PathBuf, journal: PathBuf },
    /// A log exists without its database.
    #[error("{log} holds records of a database that is missing: put {file} back, or move the log away", log = log.display(), file = file.display())]
    Alone { file: PathBuf, log: PathBuf },
    /// The file consists nearly entirely of holes.
    #[error("{file} has {length} bytes, nearly all of them holes, which no database of graph-host has: move it away", file = file.display())]
    Sparse { file: PathBuf, length: u64 },
}

impl PlaceError {
    /// Returns the code with which an operation ends that meets this error.
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
pub(crate) enum DatabaseFile {
    /// There is no file of that name.
    Nothing,
    /// A file of length 0.
    Empty,
    /// A file, or an entry that SQLite itself refuses.
    File,
}

/// Inspects a database and the files next to it. A journal or a hard link is accepted for [`MAKING`], because another
/// process may be creating the database.
pub(crate) fn check(file: &FilePlace) -> Result<DatabaseFile, PlaceError> {
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

fn inspect(file: &FilePlace) -> Result<DatabaseFile, PlaceError> {
    let [log, index, journal] = ["-wal", "-shm", "-journal"].map(|suffix| file.beside(suffix));
    // The log is inspected before the database: a process that creates a database creates the file before its log.
    let has_log = is_regular_file(&log)?;
    is_regular_file(&index)?;
    let has_journal = is_regular_file(&journal)?;
    let is_missing = |file: &FilePlace| file.entry().is_ok_and(|found| found.is_none());
    let path = || file.path();
    let found = match file.entry() {
        Ok(Some(found)) if found.is_file() => found,
        // SQLite reports a folder itself.
        Ok(Some(found)) if found.is_folder() => return Ok(DatabaseFile::File),
        Ok(Some(_)) => return Err(PlaceError::NotRegular { file: path() }),
        Ok(None) => {
            if has_journal && !is_missing(&journal) {
                return Err(PlaceError::Journal { file: path(), journal: journal.path() });
            }
            return if has_log && !is_missing(&log) {
                Err(PlaceError::Alone { file: path(), log: log.path() })
            } else {
                Ok(DatabaseFile::Nothing)
            };
        }
        // Opening the file reports why it cannot be inspected.
        Err(_) => return Ok(DatabaseFile::File),
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
    Ok(if found.length() == 0 { DatabaseFile::Empty } else { DatabaseFile::File })
}

/// Reports whether a file exists. An entry that is not a regular file, or that is a hard link, is an error.
fn is_regular_file(place: &FilePlace) -> Result<bool, PlaceError> {
    match place.entry() {
        Ok(Some(found)) if found.is_file() && found.names() > 1 => {
            Err(PlaceError::HardLink { file: place.path() })
        }
        Ok(Some(found)) if found.is_file() => Ok(true),
        Ok(Some(_)) => Err(PlaceError::NotRegular { file: place.path() }),
        Ok(None) | Err(_) => Ok(false),
    }
}

/// Returns the number of names of a database in its folder: its own, and the one under which it was created. It keeps
/// that for a moment, or longer if the process was killed.
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

/// Reports whether a database may have a journal next to it: if it has no write-ahead log, as on file systems without
/// shared memory, and the journal names no other journal. The caller accepts any journal next to a file of length 0,
/// because SQLite treats such a journal as a remnant and does not apply it.
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
