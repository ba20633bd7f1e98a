//! Opening the file.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};

use super::fault;
use super::schema::{self, Identity, SCHEMA_VERSION};
use crate::bounds::LARGEST_TEXT;
use crate::error::StorageError;

/// The largest row, in bytes: its largest text, and names beside it.
const LARGEST_ROW: u64 = LARGEST_TEXT + (16 << 20);

/// What all of SQLite in this process may take up at one time, in bytes. Where a file finds rows by a key, SQLite reads them
/// whole to compare them, however long they are; and to write the largest row, it needs that twice.
pub(super) const MOST_MEMORY: u64 = 2 * LARGEST_ROW + (256 << 20);

/// What the file is opened for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Reading and writing; file and folders are made where they are missing.
    #[default]
    ReadWrite,
    /// Reading alone, from a folder that may not be writable, and from a file that may be damaged.
    ReadOnly,
}

/// How the file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// What for.
    pub access: Access,
    /// How long to wait for other processes that write.
    pub busy_timeout: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { access: Access::ReadWrite, busy_timeout: Duration::from_secs(10) }
    }
}

/// The file cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// There is nothing to read.
    #[error("there is no {file} yet: the first run makes it", file = file.display())]
    Missing {
        /// The file.
        file: PathBuf,
    },
    /// The folder cannot be made.
    #[error("the folder {folder} cannot be made: {reason}", folder = folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// Why.
        reason: String,
    },
    /// Not a SQLite file, or its very beginning is damaged.
    #[error("{file} is not a database: move it away to begin a new one, or put it back from a backup", file = file.display())]
    NotADatabase {
        /// The file.
        file: PathBuf,
    },
    /// Another program's database.
    #[error("{file} is the database of another program (application id {application_id}): it was left as it is; choose another file", file = file.display())]
    Foreign {
        /// The file.
        file: PathBuf,
        /// What its header says.
        application_id: i64,
    },
    /// A later version of this program has written it.
    #[error("{file} has schema version {found}, and this program knows up to version {supported}: it was left as it is; use a newer graph-host", file = file.display())]
    Newer {
        /// The file.
        file: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version that can be read.
        supported: u32,
    },
    /// Its newest part lies in a file beside it, and cannot be read without writing.
    #[error("the newest records of {file} are still in {wal}, which can only be read where the folder is writable: copy both files to such a folder", file = file.display(), wal = wal.display())]
    Unmerged {
        /// The file.
        file: PathBuf,
        /// The write-ahead log beside it.
        wal: PathBuf,
    },
    /// The medium failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl OpenError {
    /// The code under which an operation that meets this ends.
    pub const fn code(&self) -> graph_core::record::ErrorCode {
        use graph_core::record::ErrorCode;
        match self {
            Self::Missing { .. } => ErrorCode::NotFound,
            Self::NotADatabase { .. } | Self::Foreign { .. } | Self::Newer { .. } => ErrorCode::Integrity,
            Self::Folder { .. } | Self::Unmerged { .. } => ErrorCode::Storage,
            Self::Storage(error) => error.code(),
        }
    }
}

/// Opens the file.
pub(super) fn open(file: &Path, options: Options) -> Result<Connection, OpenError> {
    match options.access {
        Access::ReadWrite => open_read_write(file, options.busy_timeout),
        Access::ReadOnly => open_read_only(file, options.busy_timeout),
    }
}

fn open_read_write(file: &Path, busy: Duration) -> Result<Connection, OpenError> {
    let failed = |error: rusqlite::Error| refused(file, busy, &error);
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)
            .map_err(|error| OpenError::Folder { folder: folder.to_owned(), reason: error.to_string() })?;
    }
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = connect(file, flags, busy).map_err(failed)?;
    // What is not ours is left as it is: this comes before anything is written.
    recognise(file, schema::identify(&connection).map_err(failed)?)?;
    if connection.is_readonly("main").map_err(failed)? {
        let reason = "permission denied".to_owned();
        return Err(StorageError::NotWritable { file: file.to_owned(), reason }.into());
    }
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true).map_err(failed)?;
    write_ahead(&connection, busy).map_err(failed)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(failed)?;
    let identity = schema::migrate(&mut connection).map_err(failed)?;
    recognise(file, identity)?;
    Ok(connection)
}

fn open_read_only(file: &Path, busy: Duration) -> Result<Connection, OpenError> {
    let failed = |error: rusqlite::Error| refused(file, busy, &error);
    if !file.exists() {
        return Err(OpenError::Missing { file: file.to_owned() });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = connect(file, flags, busy).map_err(failed)?;
    let mut identity = schema::identify(&connection);
    if identity.as_ref().is_err_and(needs_writing) {
        let wal = beside(file, "-wal");
        if fs::metadata(&wal).is_ok_and(|wal| wal.len() > 0) {
            return Err(OpenError::Unmerged { file: file.to_owned(), wal });
        }
        // Nobody can write here, so the file can be read without the locks that would have to be written.
        connection = connect(&immutable(file), flags | OpenFlags::SQLITE_OPEN_URI, busy).map_err(failed)?;
        identity = schema::identify(&connection);
    }
    if identity.as_ref().is_err_and(fault::is_damage) {
        // A file that is shorter than its header says is refused as a whole otherwise.
        connection.pragma_update(None, "writable_schema", true).map_err(failed)?;
        identity = schema::identify(&connection);
    }
    match identity.map_err(failed)? {
        Identity::Empty => Err(OpenError::Missing { file: file.to_owned() }),
        Identity::Ours(found) if found < SCHEMA_VERSION => {
            // What reads it knows the tables as they are now: bringing them there needs a writable file.
            drop(connection);
            open_read_write(file, busy)?;
            open_read_only(file, busy)
        }
        identity => recognise(file, identity).map(|()| connection),
    }
}

fn connect(file: &Path, flags: OpenFlags, busy: Duration) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(file, flags)?;
    connection.busy_timeout(busy)?;
    connection.set_prepared_statement_cache_capacity(64);
    // A file may come from a stranger: nothing in its schema may call a function that reaches outside it, and a page
    // whose cells do not fit is damage and not something to guess from.
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    // No text and no row is larger, whatever the file says; and what is read is read, not mapped: a file that somebody cuts
    // off meanwhile would end this process.
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, i32::try_from(LARGEST_ROW).unwrap_or(i32::MAX))?;
    connection.pragma_update(None, "mmap_size", 0)?;
    connection.pragma_update(None, "hard_heap_limit", i64::try_from(MOST_MEMORY).unwrap_or(i64::MAX))?;
    Ok(connection)
}

/// Turns on write-ahead logging. While another process does the same, SQLite says at once that it is busy.
fn write_ahead(connection: &Connection, busy: Duration) -> rusqlite::Result<()> {
    let start = Instant::now();
    loop {
        let result = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
        match result {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && start.elapsed() < busy =>
            {
                thread::sleep(Duration::from_millis(5));
            }
            // Where there is no shared memory, SQLite stays with its other journal: slower, and as safe.
            result => return result.map(drop),
        }
    }
}

/// Refuses what is not ours.
fn recognise(file: &Path, identity: Identity) -> Result<(), OpenError> {
    match identity {
        Identity::Ours(found) if found > SCHEMA_VERSION => {
            Err(OpenError::Newer { file: file.to_owned(), found, supported: SCHEMA_VERSION })
        }
        Identity::Foreign { application_id } => {
            Err(OpenError::Foreign { file: file.to_owned(), application_id })
        }
        Identity::Ours(_) | Identity::Empty => Ok(()),
    }
}

fn refused(file: &Path, busy: Duration, error: &rusqlite::Error) -> OpenError {
    if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) {
        return OpenError::NotADatabase { file: file.to_owned() };
    }
    fault::storage(file, busy, error).into()
}

/// Whether reading fails because SQLite would have to write beside the file.
fn needs_writing(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
        || error.sqlite_error().is_some_and(|failure| failure.extended_code == ffi::SQLITE_IOERR_SHMSIZE)
}

/// The path with something after its name.
fn beside(file: &Path, suffix: &str) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// The URI (RFC 3986) of a file that does not change while it is open.
fn immutable(file: &Path) -> PathBuf {
    let mut uri = "file:".to_owned();
    for byte in file.as_os_str().as_encoded_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(*byte));
            }
            // Writing to a string does not fail.
            byte => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri.push_str("?immutable=1");
    uri.into()
}
