//! Opening of database files.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, ffi};

use super::connection::{self, Changes};
use super::errors;
use super::guard::{self, Meter};
use super::schema::{self, Identity, SCHEMA_VERSION};
use super::sidecar_files::{self, DatabaseFile, HALF, PlaceError};
use crate::error::{StorageError, location};
use crate::held::{Entry, FilePlace, HeldFolder};

/// The kind of access to the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileAccess {
    /// Reading and writing; the file and its folders are created if they are missing.
    #[default]
    ReadWrite,
    /// Reading only, from a folder that need not be writable, and from a file that may be damaged. Nothing is written:
    /// a file that an older version of this program has written is refused with [`OpenError::Older`].
    ReadOnly,
}

/// Options for opening the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqliteOptions {
    /// The kind of access: reading and writing, or reading only.
    pub access: FileAccess,
    /// Time limit of waiting for other processes that write.
    pub busy_timeout: Duration,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self { access: FileAccess::ReadWrite, busy_timeout: Duration::from_secs(10) }
    }
}

/// The reasons for which the file cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum OpenError {
    /// The file is missing or empty, and was to be read.
    #[error("there is no {file} yet: the first run makes it", file = file.display())]
    Missing { file: PathBuf },
    /// The folder cannot be created.
    #[error("the folder {folder} cannot be made: {reason}", folder = folder.display())]
    Folder { folder: PathBuf, reason: String },
    /// The file is not an SQLite file, or its header is damaged.
    #[error("{file} is not a database: move it away to start a new one, or put it back from a backup", file = file.display())]
    NotADatabase { file: PathBuf },
    /// The file is another program's database.
    #[error("{file} is the database of another program (application id {application_id}): it was left unchanged; choose another file", file = file.display())]
    Foreign {
        file: PathBuf,
        /// The application id in its header.
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
    /// An older version of this program has written it, and it has to be migrated before it can be opened for reading
    /// only.
    #[error("{file} has schema version {found}, and has to be brought up to version {current} before it is read: it was left unchanged", file = file.display())]
    Older {
        file: PathBuf,
        found: u32,
        /// The version that this program reads and writes.
        current: u32,
    },
    /// Its application id is that of this program, but its tables are not.
    #[error("{file} is not as graph-host makes its databases: {what}; it was left unchanged: move it away, and ask its owner for an export", file = file.display())]
    Altered {
        file: PathBuf,
        /// The first difference.
        what: String,
    },
    /// The entry at the path, or one next to it, is not of a kind that is opened.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// Its newest records are in the write-ahead log, which cannot be read without writing.
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
    /// Returns the error of the medium that this one consists of, if it does.
    pub const fn storage(&self) -> Option<&StorageError> {
        match self {
            Self::Storage(error) => Some(error),
            _ => None,
        }
    }

    /// Returns the code with which an operation ends that meets this error.
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

/// An open file, with the meter of its work.
#[derive(Debug)]
pub(super) struct OpenDatabase {
    pub(super) connection: Connection,
    pub(super) meter: Meter,
    /// The folder through which the connection reaches its files.
    pub(super) folder: HeldFolder,
}

pub(super) fn open(file: &FilePlace, options: SqliteOptions) -> Result<OpenDatabase, OpenError> {
    match options.access {
        FileAccess::ReadWrite => open_read_write(file, options.busy_timeout),
        FileAccess::ReadOnly => open_read_only(file, options.busy_timeout),
    }
}

const READ_WRITE: OpenFlags = OpenFlags::SQLITE_OPEN_READ_WRITE
    .union(OpenFlags::SQLITE_OPEN_CREATE)
    .union(OpenFlags::SQLITE_OPEN_NO_MUTEX)
    .union(OpenFlags::SQLITE_OPEN_NOFOLLOW);
const READ_ONLY: OpenFlags = OpenFlags::SQLITE_OPEN_READ_ONLY
    .union(OpenFlags::SQLITE_OPEN_NO_MUTEX)
    .union(OpenFlags::SQLITE_OPEN_NOFOLLOW);

fn open_read_write(file: &FilePlace, busy: Duration) -> Result<OpenDatabase, OpenError> {
    let failed = |error: rusqlite::Error| refused(file, busy, &error);
    let no_folder = |error: io::Error| OpenError::Folder {
        folder: file.folder().path().to_owned(),
        reason: error.to_string(),
    };
    remove_halves(file, &file.folder().make().map_err(no_folder)?);
    if sidecar_files::check(file)? == DatabaseFile::Nothing {
        make(file, busy).map_err(failed)?;
    }
    let mut opened = connect(file, READ_WRITE, busy).map_err(failed)?;
    // A file of another program is left unchanged, so that this check precedes any write.
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

/// Age at which the remains of creating a database are removed. Creating one takes milliseconds, so that an older one
/// has no process any more.
const MAKING: Duration = Duration::from_mins(1);

/// Removes the files next to a database that were left by processes that were killed while they created it.
fn remove_halves(file: &FilePlace, folder: &HeldFolder) {
    let half = file.beside(HALF);
    for name in folder.names().unwrap_or_default() {
        if !name.as_encoded_bytes().starts_with(half.name().as_encoded_bytes()) {
            continue;
        }
        let found = folder.entry(&name).ok().flatten().filter(Entry::is_file);
        if found.and_then(|found| found.modified().elapsed().ok()).is_some_and(|age| age > MAKING) {
            // Another process that opens the database may have removed it meanwhile.
            let _ = folder.remove(&name);
        }
    }
}

/// Creates the database under another name, and links it to its own name once it is complete: no process sees an
/// incomplete database, and there is never a journal next to it. On a file system without hard links, SQLite creates it
/// at its final path.
fn make(file: &FilePlace, busy: Duration) -> rusqlite::Result<()> {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let half = file.beside(&format!("{HALF}{}-{number}", std::process::id()));
    let made = fill(&half, busy);
    if made.is_ok() {
        // If linking fails, another process has created the same database meanwhile, or the file system has no hard
        // links and SQLite creates the database at its final path.
        let _ = file.folder().get().and_then(|folder| folder.link(half.name(), file.name()));
    }
    remove(&half);
    made
}

fn fill(half: &FilePlace, busy: Duration) -> rusqlite::Result<()> {
    // A file that another process with the same id has left there is incomplete.
    remove(half);
    let mut connection = connect(half, READ_WRITE, busy)?.connection;
    connection.pragma_update(None, "synchronous", "FULL")?;
    schema::migrate(&mut connection)?;
    write_ahead(&connection, busy)?;
    // Closing the connection removes the log.
    connection.close().map_err(|(_, error)| error)
}

fn remove(half: &FilePlace) {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        // A missing file need not be removed, and a file that remains has a name that no process opens.
        let _ = half.beside(suffix).remove();
    }
}

fn open_read_only(file: &FilePlace, busy: Duration) -> Result<OpenDatabase, OpenError> {
    let failed = |error: rusqlite::Error| refused(file, busy, &error);
    if sidecar_files::check(file)? == DatabaseFile::Nothing {
        return Err(OpenError::Missing { file: file.path() });
    }
    let mut opened = connect(file, READ_ONLY, busy).map_err(failed)?;
    let mut identity = schema::identify(&opened.connection);
    if identity.as_ref().is_err_and(needs_writing) {
        let wal = file.beside("-wal");
        if wal.entry().is_ok_and(|found| found.is_some_and(|found| found.length() > 0)) {
            return Err(OpenError::Unmerged { file: file.path(), wal: wal.path() });
        }
        // No process can write here, so that the file can be read without locks, which would have to be written.
        opened = connect_as(file, READ_ONLY, Changes::Never, busy).map_err(failed)?;
        identity = schema::identify(&opened.connection);
    }
    if identity.as_ref().is_err_and(errors::is_damage) {
        // With these settings SQLite also opens a file that is shorter than its header states, instead of refusing it
        // as a whole. Nothing is written here.
        let connection = &opened.connection;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false).map_err(failed)?;
        connection.pragma_update(None, "writable_schema", true).map_err(failed)?;
        identity = schema::identify(connection);
    }
    match identity.map_err(failed)? {
        Identity::Empty => Err(OpenError::Missing { file: file.path() }),
        Identity::Ours(found) if found < SCHEMA_VERSION => {
            // A reader knows only the current tables, and only a process that may write can migrate them.
            Err(OpenError::Older { file: file.path(), found, current: SCHEMA_VERSION })
        }
        identity => recognise(file, identity).map(|()| opened),
    }
}

fn connect(file: &FilePlace, flags: OpenFlags, busy: Duration) -> rusqlite::Result<OpenDatabase> {
    connect_as(file, flags, Changes::Possible, busy)
}

fn connect_as(
    file: &FilePlace,
    flags: OpenFlags,
    changes: Changes,
    busy: Duration,
) -> rusqlite::Result<OpenDatabase> {
    let (mut connection, folder) = connection::open(file, flags, changes)?;
    connection.busy_timeout(busy)?;
    connection.set_prepared_statement_cache_capacity(64);
    guard::set(&connection)?;
    let meter = Meter::on(&mut connection, file)?;
    Ok(OpenDatabase { connection, meter, folder })
}

/// Turns on write-ahead logging. While another process does the same, SQLite reports at once that the file is busy.
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
            // Without shared memory, SQLite keeps its rollback journal: it is slower, and as safe.
            result => return result.map(drop),
        }
    }
}

/// Refuses a file whose tables are not those of this program.
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

/// Reports whether reading fails because SQLite would have to write next to the file.
fn needs_writing(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
        || error.sqlite_error().is_some_and(|failure| failure.extended_code == ffi::SQLITE_IOERR_SHMSIZE)
}
