//! The highest epoch of the runs that were removed: the file `epoch` in a store's folder.
//!
//! A new run starts with this epoch, so that guards of a removed run with the same id do not fit it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::log::fault;
use super::store::write_atomic;
use crate::error::{StorageError, location};
use crate::regular;

/// The longest file that is read.
const LONGEST: u64 = 64;

fn path(folder: &Path) -> PathBuf {
    folder.join("epoch")
}

/// The epoch that a new run begins with.
pub(super) fn first(folder: &Path) -> Result<u64, StorageError> {
    let path = path(folder);
    let bytes = match regular::read_up_to(&path, LONGEST) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(fault(&path, &error)),
    };
    String::from_utf8_lossy(&bytes).trim_end().parse().map_err(|_| StorageError::Corrupt {
        location: location(&path),
        reason: "it is not a number".to_owned(),
        readable: "the runs can still be read".to_owned(),
    })
}

/// A run with this epoch is about to be removed. The folder is locked.
pub(super) fn retire(folder: &Path, epoch: u64) -> Result<(), StorageError> {
    if epoch <= first(folder)? {
        return Ok(());
    }
    write_atomic(&path(folder), format!("{epoch}\n").as_bytes(), true)
}
