//! Connecting SQLite to a file in a folder that is held open.
//!
//! SQLite opens files by their paths, and some of them long after the database: its log, the index of the log, a
//! journal. On Linux, the path of the database leads through the handle of the folder, and so do those of the files
//! next to it. SQLite is built so that it does not resolve links in the path itself (`.cargo/config.toml`). It opens no
//! file that is a link.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, ffi};

use crate::held::{FilePlace, HeldFolder};

/// The changes that other processes can make to a file while it is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Changes {
    /// Another process may change it, so that it is locked for reading.
    Possible,
    /// No process can change it: nothing is locked.
    Never,
}

/// Opens a file, and returns the connection with the folder through which it was opened. The folder has to live as long
/// as the connection.
pub(crate) fn open(
    file: &FilePlace,
    flags: OpenFlags,
    changes: Changes,
) -> rusqlite::Result<(Connection, HeldFolder)> {
    let folder = file.folder().get().map_err(|error| cannot_open(&error.to_string()))?;
    if let Some(path) = folder.through_handle(file.name()) {
        match connect(&path, flags, changes) {
            // This SQLite was built to resolve links.
            Err(error) if is_link(&error) => {}
            connected => return Ok((connected?, folder)),
        }
    }
    open_by_path(&folder, file.name(), flags, changes).map(|connection| (connection, folder))
}

/// Opens a file by its path, on systems without paths that lead through a handle. The path has to lead to the folder
/// before and after. A folder that replaces it only in between is not noticed.
fn open_by_path(
    folder: &HeldFolder,
    name: &OsStr,
    flags: OpenFlags,
    changes: Changes,
) -> rusqlite::Result<Connection> {
    let failed = |error: io::Error| cannot_open(&error.to_string());
    let exchanged = || cannot_open("another folder has taken the place of the one that it is in");
    let path = folder.canonical().map_err(failed)?.ok_or_else(exchanged)?;
    let connection = connect(&path.join(name), flags, changes)?;
    if folder.is_at(&path).map_err(failed)? { Ok(connection) } else { Err(exchanged()) }
}

fn connect(path: &Path, flags: OpenFlags, changes: Changes) -> rusqlite::Result<Connection> {
    match changes {
        Changes::Possible => Connection::open_with_flags(path, flags),
        Changes::Never => Connection::open_with_flags(immutable(path), flags | OpenFlags::SQLITE_OPEN_URI),
    }
}

fn is_link(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|failure| failure.extended_code == ffi::SQLITE_CANTOPEN_SYMLINK)
}

fn cannot_open(reason: &str) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_CANTOPEN), Some(reason.to_owned()))
}

/// Returns the URI (RFC 3986) of a file that does not change while it is open.
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
