//! What is where a database is to be, and next to it, before SQLite looks at any of it.
//!
//! SQLite applies what it finds next to a file before anyone can ask what the file is: a journal changes the pages, and one
//! that names another journal has that file removed. Databases of this program have a write-ahead log, so a journal next to
//! them is a stranger's.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::guard;
use crate::regular::names;

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

/// The path with something after its name.
pub(crate) fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// The path with its folder resolved: SQLite is configured to follow no link, and folders of the user may well be links.
pub(crate) fn resolved(file: &Path) -> PathBuf {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (fs::canonicalize(folder), file.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => file.to_owned(),
    }
}

/// Looks at a database and at what is next to it.
pub(crate) fn check(file: &Path) -> Result<Found, PlaceError> {
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

fn inspect(file: &Path) -> Result<Found, PlaceError> {
    let [log, index, journal] = ["-wal", "-shm", "-journal"].map(|suffix| with_suffix(file, suffix));
    // In this order: the process that makes a database puts the file there before its log.
    let has_log = is_regular(&log)?;
    is_regular(&index)?;
    let has_journal = is_regular(&journal)?;
    let is_missing =
        |file: &Path| fs::symlink_metadata(file).is_err_and(|error| error.kind() == ErrorKind::NotFound);
    let found = match fs::symlink_metadata(file) {
        Ok(found) if found.is_file() => found,
        // SQLite says of a folder what it is.
        Ok(found) if found.is_dir() => return Ok(Found::File),
        Ok(_) => return Err(PlaceError::NotRegular { file: file.to_owned() }),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if has_journal && !is_missing(&journal) {
                return Err(PlaceError::Journal { file: file.to_owned(), journal });
            }
            return if has_log && !is_missing(&log) {
                Err(PlaceError::Alone { file: file.to_owned(), log })
            } else {
                Ok(Found::Nothing)
            };
        }
        // Opening it reports why it cannot be looked at.
        Err(_) => return Ok(Found::File),
    };
    if names(&found) > 1 && names(&found) > names_in_folder(file, &found) {
        return Err(PlaceError::HardLink { file: file.to_owned() });
    }
    if is_sparse(&found) {
        return Err(PlaceError::Sparse { file: file.to_owned(), length: found.len() });
    }
    let may_have = || found.len() == 0 || may_have_journal(file, &journal);
    if has_journal && !may_have() && !is_missing(&journal) {
        return Err(PlaceError::Journal { file: file.to_owned(), journal });
    }
    Ok(if found.len() == 0 { Found::Empty } else { Found::File })
}

/// Whether there is something, which has to be a regular file.
fn is_regular(path: &Path) -> Result<bool, PlaceError> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() && names(&found) > 1 => {
            Err(PlaceError::HardLink { file: path.to_owned() })
        }
        Ok(found) if found.is_file() => Ok(true),
        Ok(_) => Err(PlaceError::NotRegular { file: path.to_owned() }),
        Err(_) => Ok(false),
    }
}

/// How many names a database has in its folder: its own, and that under which it was made, which it keeps for a moment, and
/// for longer if its maker was killed.
#[cfg(unix)]
fn names_in_folder(file: &Path, found: &Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let half = with_suffix(file, HALF);
    let (Some(folder), Some(half)) = (file.parent(), half.file_name()) else { return 1 };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let halves = entries
        .filter(|entry| entry.file_name().as_encoded_bytes().starts_with(half.as_encoded_bytes()))
        .filter_map(|entry| fs::symlink_metadata(entry.path()).ok())
        .filter(|half| (half.dev(), half.ino()) == (found.dev(), found.ino()));
    1 + halves.count() as u64
}

#[cfg(not(unix))]
fn names_in_folder(_: &Path, _: &Metadata) -> u64 {
    1
}

fn is_sparse(found: &Metadata) -> bool {
    found.len() > SMALL && guard::on_disk(found).saturating_mul(MOST_HOLES) < found.len()
}

/// Whether a database may have a journal next to it: one that has no write-ahead log, as on file systems without shared
/// memory, if the journal names no other one; and one without a byte, of which SQLite takes the journal for a remnant and
/// applies nothing.
fn may_have_journal(file: &Path, journal: &Path) -> bool {
    let writes_ahead = || -> io::Result<bool> {
        let mut header = [0; 20];
        File::open(file)?.read_exact(&mut header)?;
        Ok(header[18] != 1 || header[19] != 1)
    };
    let names_another = || -> io::Result<bool> {
        let mut journal = File::open(journal)?;
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
