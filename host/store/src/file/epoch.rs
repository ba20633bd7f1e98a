//! The highest epoch of the runs that were removed: the file `epoch` in a store's folder.
//!
//! A new run starts with this epoch, so that guards of a removed run with the same id are refused for it.

use std::io::ErrorKind;

use super::log::{fault, write_atomic};
use crate::error::{ReadableData, StorageError, location};
use crate::held::{FilePlace, FolderPlace};
use crate::plan::LARGEST;

/// Maximum length of the file, in bytes.
const LONGEST: u64 = 64;

fn file(folder: &FolderPlace) -> FilePlace {
    folder.file("epoch")
}

/// Returns the epoch with which a new run starts.
pub(super) fn first(folder: &FolderPlace) -> Result<u64, StorageError> {
    let file = file(folder);
    let bytes = match file.read(LONGEST) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(fault(&file.path(), &error)),
    };
    let epoch: u64 =
        String::from_utf8_lossy(&bytes).trim_end().parse().map_err(|_| StorageError::Corrupt {
            location: location(&file.path()),
            reason: "it is not a number".to_owned(),
            readable: ReadableData::Described("the runs can still be read".to_owned()),
        })?;
    if epoch < LARGEST {
        Ok(epoch)
    } else {
        Err(StorageError::NoNextEpoch { location: location(&file.path()) })
    }
}

/// Records the epoch of a run that is about to be removed. The caller has locked the folder.
pub(super) fn retire(folder: &FolderPlace, epoch: u64) -> Result<(), StorageError> {
    if epoch <= first(folder)? {
        return Ok(());
    }
    write_atomic(&file(folder), format!("{epoch}\n").as_bytes(), true)
}
