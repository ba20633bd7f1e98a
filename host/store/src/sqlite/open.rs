//! Opening the file.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};

use super::beside::{self, Found, HALF, PlaceError};
use super::connection::{self, Changes};
use super::errors;
use super::guard::{self, Meter};
use super::schema::{self, Identity, SCHEMA_VERSION};
use crate::error::{StorageError, location};
use crate::held::{Entry, FilePlace, HeldFolder};

/// What the file is opened for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Reading and writing; file and folders are made where they are missing.
    #[default]
    ReadWrite,
    /// Reading alone, from a folder that may not be writable, and from a file that may be damaged. Nothing is written: what
    /// an older version of this program has written is refused with [`OpenError::Older`].
    ReadOnly,
}

/// How the file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether the database is opened for writing, or for reading only.
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
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum OpenError {
    /// There is nothing to read.
    #[error("there is no {file} yet: the first run makes it", file = file.display())]
    Missing { file: PathBuf },
    /// The folder cannot be made.
    #[error("the folder {folder} cannot be made: {reason}", folder = folder.display())]
    Folder { folder: PathBuf, reason: String },
    /// Not a SQLite file, or its very beginning is damaged.
    #[error("{file} is not a database: move it away to start a new one, or put it back from a backup", file = file.display())]
    NotADatabase { file: PathBuf },
    /// Another program's database.
    #[error("{file} is the database of another program (application id {application_id}): it was left unchanged; choose another file", file = file.display())]
    Foreign {
        file: PathBuf,
        /// What its header says.
        application_id: i64,
    },
    /// A later version of this program has written it.
    #[error("{file} has schema version {found}, and this program knows up to version {supported}: it was left unchanged; use a newer graph-host", file = file.display())]
    Newer {
        file: PathBuf,
        found: u32,
        /// The newest version that can be read.
        supported: u32,
    },
    /// An older version of this program has written it, and what only reads it must not bring it up to date.
    #[error("{file} has schema version {found}, and has to be brought up to version {current} before it is read: it was left unchanged", file = file.display())]
    Older {
        file: PathBuf,
        found: u32,
        /// The version that this program reads and writes.
        current: u32,
    },
    /// It says that it is one of ours, and its tables are others.
    #[error("{file} is not as graph-host makes its databases: {what}; it was left unchanged: move it away, and ask its owner for an export (`graph-host runs export`)", file = file.display())]
    Altered {
        file: PathBuf,
        /// What is not as it is made.
        what: String,
    },
    /// What is there, or next to it, is nothing that is opened.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// Its newest part is in a file next to it, and cannot be read without writing.
    #[error("the newest records of {file} are still in {wal}, which can only be read where the folder is writable: copy both files to such a folder", file = file.display(), wal = wal.display())]
    Unmerged {
        file: PathBuf,
        /// The write-ahead log next to it.
        wal: PathBuf,
    },
    /// The disk, the file or the database failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl OpenError {
    /// The code under which an operation that meets this ends.
    pub const fn code(&self) -> graph_core::record::ErrorCode {
        use graph_core::record::ErrorCode;
        match self {
            Self::Missing { .. } => ErrorCode::NotFound,
            Self::NotADatabase { .. }
            | Self::Foreign { .. }
            | Self::Newer { .. }
            | Self::Older { .. }
            | Self::Altered { .. } => ErrorCode::Integrity,
            Self::Place(error) => error.code(),
            Self::Folder { .. } | Self::Unmerged { .. } => ErrorCode::Storage,
            Self::Storage(error) => error.code(),
        }
    }
}

/// An open file, and what its work is counted with.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) connection: Connection,
    pub(super) meter: Meter,
    /// The folder through which the connection reaches its files.
    pub(super) folder: HeldFolder,
}

pub(super) fn open(file: &FilePlace, options: Options) -> Result<Opened, OpenError> {
    match options.access {
        Access::ReadWrite => open_read_write(file, options.busy_timeout),
        Access::ReadOnly => open_read_only(file, options.busy_timeout),
    }
}

const READ_WRITE: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE
    .union(OpenFlags::SQLITE_OPEN_CREATE)
    .union(OpenFlags::SQLITE_OPEN_NO_MUTEX)
    .union(OpenFlags::SQLITE_OPEN_NOFOLLOW);
const READ_ONLY: OpenFlags = OpenFlags::SQLITE_OPEN_READ_ONLY
    .union(OpenFlags::SQLITE_OPEN_NO_MUTEX)
    .union(OpenFlags::SQLITE_OPEN_NOFOLLOW);

fn open_read_write(file: &FilePlace, busy: Duration) -> Result<Opened, OpenError> {
    let failed = |error: rusqlite::Error| refused(file, busy, &error);
    let no_folder = |error: io::Error| OpenError::Folder {
        folder: file.folder().path().to_owned(),
        reason: error.to_string(),
    };
    remove_halves(file, &file.folder().make().map_err(no_folder)?);
    if beside::check(file)? == Found::Nothing {
        make(file, busy).map_err(failed)?;
    }
    let mut opened = connect(file, READ_WRITE, busy).map_err(failed)?;
    // What is not ours is left unchanged: this comes before anything is written.
    let identity = schema::identify(&opened.connection).map_err(failed)?;
    let is_current = identity == Identity::Ours(SCHEMA_VERSION);
    let is_older = matches!(identity, Identity::Ours(version) if version < SCHEMA_VERSION);
    recognise(file, identity)?;
    let connection = &mut opened.connection;
    if is_older && let Some(what) = schema::damage(connection).map_err(failed)? {
        return Err(OpenError::Altered { file: file.path(), what });
    }
    if connection.is_readonly("main").map_err(failed)? {
        let reason = "permission denied".to_owned();
        return Err(StorageError::NotWritable { location: location(&file.path()), reason }.into());
    }
    write_ahead(connection, busy).map_err(failed)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(failed)?;
    if !is_current {
        let identity = schema::migrate(connection).map_err(failed)?;
        recognise(file, identity)?;
    }
    Ok(opened)
}

/// A database is made in milliseconds: one that is older than this has no maker any more.
const MAKING: Duration = Duration::from_mins(1);

/// Removes what processes that were killed while they made a database have left next to it.
fn remove_halves(file: &FilePlace, folder: &HeldFolder) {
    let half = file.beside(HALF);
    for name in folder.names().unwrap_or_default() {
        if !name.as_encoded_bytes().starts_with(half.name().as_encoded_bytes()) {
            continue;
        }
        let found = folder.entry(&name).ok().flatten().filter(Entry::is_file);
        if found.and_then(|found| found.modified().elapsed().ok()).is_some_and(|age| age > MAKING) {
            // Another process that opens the database may have been faster.
            let _ = folder.remove(&name);
        }
    }
}

/// Makes the database under another name, and gives it its own once it is whole: no one sees a half of it, and there is
/// never a journal next to it. Where the file system has no such names, it is made where it is to be.
fn make(file: &FilePlace, busy: Duration) -> rusqlite::Result<()> {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let half = file.beside(&format!("{HALF}{}-{number}", std::process::id()));
    let made = fill(&half, busy);
    if made.is_ok() {
        // The process that was faster has made the same; and where there cannot be two names, SQLite makes it in its place.
        let _ = file.folder().get().and_then(|folder| folder.link(half.name(), file.name()));
    }
    remove(&half);
    made
}

fn fill(half: &FilePlace, busy: Duration) -> rusqlite::Result<()> {
    // What another process of this number has left there is a half.
    remove(half);
    let mut connection = connect(half, READ_WRITE, busy)?.connection;
    connection.pragma_update(None, "synchronous", "FULL")?;
    schema::migrate(&mut connection)?;
    write_ahead(&connection, busy)?;
    // Closing it takes its log away.
    connection.close().map_err(|(_, error)| error)
}

fn remove(half: &FilePlace) {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        // What is missing need not be removed, and what stays has a name that no one opens.
        let _ = half.beside(suffix).remove();
    }
}

fn open_read_only(file: &FilePlace, busy: Duration) -> Result<Opened, OpenError> {
    let failed = |error: rusqlite::Error| refused(file, busy, &error);
    if beside::check(file)? == Found::Nothing {
        return Err(OpenError::Missing { file: file.path() });
    }
    let mut opened = connect(file, READ_ONLY, busy).map_err(failed)?;
    let mut identity = schema::identify(&opened.connection);
    if identity.as_ref().is_err_and(needs_writing) {
        let wal = file.beside("-wal");
        if wal.entry().is_ok_and(|found| found.is_some_and(|found| found.length() > 0)) {
            return Err(OpenError::Unmerged { file: file.path(), wal: wal.path() });
        }
        // No one can write here, so the file can be read without the locks that would have to be written.
        opened = connect_as(file, READ_ONLY, Changes::Never, busy).map_err(failed)?;
        identity = schema::identify(&opened.connection);
    }
    if identity.as_ref().is_err_and(errors::is_damage) {
        // A file that is shorter than its header says is refused as a whole otherwise. Nothing is written here.
        let connection = &opened.connection;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false).map_err(failed)?;
        connection.pragma_update(None, "writable_schema", true).map_err(failed)?;
        identity = schema::identify(connection);
    }
    match identity.map_err(failed)? {
        Identity::Empty => Err(OpenError::Missing { file: file.path() }),
        Identity::Ours(found) if found < SCHEMA_VERSION => {
            // What reads it knows the tables as they are now, and only the process that may write brings them there.
            Err(OpenError::Older { file: file.path(), found, current: SCHEMA_VERSION })
        }
        identity => recognise(file, identity).map(|()| opened),
    }
}

fn connect(file: &FilePlace, flags: OpenFlags, busy: Duration) -> rusqlite::Result<Opened> {
    connect_as(file, flags, Changes::Possible, busy)
}

fn connect_as(
    file: &FilePlace,
    flags: OpenFlags,
    changes: Changes,
    busy: Duration,
) -> rusqlite::Result<Opened> {
    let (mut connection, folder) = connection::open(file, flags, changes)?;
    connection.busy_timeout(busy)?;
    connection.set_prepared_statement_cache_capacity(64);
    guard::set(&connection)?;
    let meter = Meter::on(&mut connection, file)?;
    Ok(Opened { connection, meter, folder })
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
fn recognise(file: &FilePlace, identity: Identity) -> Result<(), OpenError> {
    match identity {
        Identity::Ours(found) if found > SCHEMA_VERSION => {
            Err(OpenError::Newer { file: file.path(), found, supported: SCHEMA_VERSION })
        }
        Identity::Foreign { application_id } => Err(OpenError::Foreign { file: file.path(), application_id }),
        Identity::Altered { what } => Err(OpenError::Altered { file: file.path(), what }),
        Identity::Ours(_) | Identity::Empty => Ok(()),
    }
}

fn refused(file: &FilePlace, busy: Duration, error: &rusqlite::Error) -> OpenError {
    if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) {
        return OpenError::NotADatabase { file: file.path() };
    }
    errors::storage(&file.path(), busy, error).into()
}

/// Whether reading fails because SQLite would have to write next to the file.
fn needs_writing(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
        || error.sqlite_error().is_some_and(|failure| failure.extended_code == ffi::SQLITE_IOERR_SHMSIZE)
}
