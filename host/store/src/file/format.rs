//! The version of a store in a folder: the file `format` in it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::log::fault;
use super::store::write_atomic;
use crate::error::{StorageError, location};
use crate::regular;

/// The version that this program writes. In stores of version 1 each record has a signature of its own; from version 2 on
/// records may be signed in groups.
pub(crate) const VERSION: u64 = 2;
/// What the file begins with; the version follows.
const HEAD: &str = "graph-host/files ";
/// The longest file that is read.
const LONGEST: u64 = 64;

fn path(folder: &Path) -> PathBuf {
    folder.join("format")
}

/// The version of a store. One without the file is of version 1: that is what there was before it.
pub(crate) fn version(folder: &Path) -> Result<u64, StorageError> {
    let path = path(folder);
    let bytes = match regular::read_up_to(&path, LONGEST) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(1),
        Err(error) => return Err(fault(&path, &error)),
    };
    let text = String::from_utf8_lossy(&bytes);
    let version = text.trim_end().strip_prefix(HEAD).and_then(|version| version.parse().ok());
    version.filter(|version| *version > 0).ok_or_else(|| StorageError::Corrupt {
        location: location(&path),
        reason: format!("it is not `{}` and a number", HEAD.trim_end()),
        readable: format!("a store of version {VERSION} can be read without the file"),
    })
}

/// Refuses a store that a later version of this program has written.
pub(super) fn check(folder: &Path) -> Result<(), StorageError> {
    match version(folder)? {
        found if found > VERSION => {
            Err(StorageError::Newer { location: location(folder), found, supported: VERSION })
        }
        _ => Ok(()),
    }
}

/// Writes the version of a store that is about to be written to, unless the file says it.
pub(super) fn stamp(folder: &Path) -> Result<(), StorageError> {
    let path = path(folder);
    if path.exists() && version(folder)? >= VERSION {
        return Ok(());
    }
    write_atomic(&path, format!("{HEAD}{VERSION}\n").as_bytes(), true)
}
