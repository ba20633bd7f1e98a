//! The highest epoch of the runs that were removed: the file `epoch` in a store's folder.
//!
//! A new run starts with this epoch, so that guards of a removed run with the same id do not fit it.

use std::io::ErrorKind;

use super::log::{fault, write_atomic};
use crate::error::{StorageError, location};
use crate::held::{FilePlace, FolderPlace};
use crate::plan::LARGEST;

/// The longest file that is read.
const LONGEST: u64 = 64;

fn file(folder: &FolderPlace) -> FilePlace {
    folder.file("epoch")
}

/// The epoch that a new run begins with.
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
            readable: "the runs can still be read".to_owned(),
        })?;
    if epoch < LARGEST {
        Ok(epoch)
    } else {
        Err(StorageError::NoNextEpoch { location: location(&file.path()) })
    }
}

/// A run with this epoch is about to be removed. The folder is locked.
pub(super) fn retire(folder: &FolderPlace, epoch: u64) -> Result<(), StorageError> {
    if epoch <= first(folder)? {
        return Ok(());
    }
    write_atomic(&file(folder), format!("{epoch}\n").as_bytes(), true)
}
