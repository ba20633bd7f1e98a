//! The version of a store in a folder: the file `format` in it.

use std::io::ErrorKind;

use super::log::{fault, write_atomic};
use crate::error::{ReadableData, StorageError, location};
use crate::held::{FilePlace, FolderPlace};

/// The version that this program writes. In stores of version 1 each record has a signature of its own; from version 2 on
/// records may be signed in groups.
pub(crate) const VERSION: u64 = 2;
/// The beginning of the file, which the version follows.
const HEAD: &str = "graph-host/files ";
/// Maximum length of the file, in bytes.
const LONGEST: u64 = 64;

fn file(folder: &FolderPlace) -> FilePlace {
    folder.file("format")
}

/// Returns the version of a store. A store without the file has version 1, which did not write it.
pub(crate) fn version(folder: &FolderPlace) -> Result<u64, StorageError> {
    let file = file(folder);
    let bytes = match file.read(LONGEST) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(1),
        Err(error) => return Err(fault(&file.path(), &error)),
    };
    let text = String::from_utf8_lossy(&bytes);
    let version = text.trim_end().strip_prefix(HEAD).and_then(|version| version.parse().ok());
    version.filter(|version| *version > 0).ok_or_else(|| StorageError::Corrupt {
        location: location(&file.path()),
        reason: format!("it is not `{}` and a number", HEAD.trim_end()),
        readable: ReadableData::Described(format!(
            "a store of version {VERSION} can be read without the file"
        )),
    })
}

/// Refuses a store that a later version of this program has written.
pub(super) fn check(folder: &FolderPlace) -> Result<(), StorageError> {
    match version(folder)? {
        found if found > VERSION => {
            Err(StorageError::Newer { location: location(folder.path()), found, supported: VERSION })
        }
        _ => Ok(()),
    }
}

/// Writes this version into a store that is about to be written to, unless its file already has it.
pub(super) fn stamp(folder: &FolderPlace) -> Result<(), StorageError> {
    let file = file(folder);
    if file.exists() && version(folder)? >= VERSION {
        return Ok(());
    }
    write_atomic(&file, format!("{HEAD}{VERSION}\n").as_bytes(), true)
}
