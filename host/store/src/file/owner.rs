//! The holders of runs.

use std::io::ErrorKind;
use std::thread;
use std::time::Duration;

use super::log::{fault, write_atomic};
use crate::bounds::LARGEST_NAME;
use crate::error::{AcquireError, ReadError, StorageError, location};
use crate::held::{FilePlace, FolderPlace};
use crate::lock::RunLock;
use crate::names;
use crate::store::{Fence, Holder, Owner, RunGuard};
use graph_core::json::{self, TreeLimit};

/// Number of waits for a process that has taken a lock and has not written its name yet, and the duration of each wait.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(10);

fn owner_file(folder: &FolderPlace) -> FilePlace {
    folder.file("owner")
}

/// Returns the file that is locked while a process holds a run.
pub(super) fn lock_file(folder: &FolderPlace) -> FilePlace {
    folder.file("lock")
}

/// Takes the lock of a run.
pub(super) fn lock(folder: &FolderPlace, run: &str) -> Result<RunLock, AcquireError> {
    let file = lock_file(folder);
    match RunLock::try_take(&file) {
        Ok(Some(lock)) => Ok(lock),
        Ok(None) => Err(AcquireError::Held { run: run.to_owned(), holder: owner_soon(folder)? }),
        Err(error) => Err(AcquireError::Lock { location: location(&file.path()), reason: error.to_string() }),
    }
}

/// Writes the name of the process that holds a run and has raised its epoch, and returns the guard.
pub(super) fn say(
    folder: &FolderPlace,
    run: &str,
    owner: &Owner,
    fence: Fence,
    lock: RunLock,
) -> Result<RunGuard, StorageError> {
    let file = owner_file(folder);
    let abandoned = read_owner(&file)?;
    let text = serde_json::to_vec(owner)
        .map_err(|error| StorageError::Io { location: location(&file.path()), reason: error.to_string() })?;
    write_atomic(&file, &text, false)?;
    let held = Release { file, owner: owner.clone(), _lock: lock };
    Ok(RunGuard::new(run, fence, abandoned, held))
}

/// Returns the process that holds a run at this moment.
pub(super) fn holder(folder: &FolderPlace) -> Result<Holder, ReadError> {
    let file = lock_file(folder);
    match RunLock::is_held(&file) {
        Ok(false) => Ok(Holder::Nobody),
        Ok(true) => Ok(owner_soon(folder)?.map_or(Holder::Unknown, Holder::Known)),
        Err(error) => Err(fault(&file.path(), &error).into()),
    }
}

fn read_owner(file: &FilePlace) -> Result<Option<Owner>, StorageError> {
    match file.read(LARGEST_NAME) {
        // A file that cannot be parsed names no process: the lock decides.
        Ok(text) => {
            let owner = json::read::<Owner>(&text, TreeLimit::NOTE).ok();
            Ok(owner.filter(|owner| names::name("host", &owner.host).is_ok()))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(fault(&file.path(), &error)),
    }
}

/// Reads the name of the process that holds the run. A process that has just taken the lock needs a moment to write it.
fn owner_soon(folder: &FolderPlace) -> Result<Option<Owner>, StorageError> {
    for _ in 0..TRIES {
        if let Some(owner) = read_owner(&owner_file(folder))? {
            return Ok(Some(owner));
        }
        thread::sleep(PAUSE);
    }
    Ok(None)
}

/// Releases the run when it is dropped: it removes the name, then the lock.
struct Release {
    file: FilePlace,
    owner: Owner,
    _lock: RunLock,
}

impl Drop for Release {
    fn drop(&mut self) {
        // A name that remains is harmless: the lock decides, and it is released in any case. Another name is that of
        // the process that has acquired the run meanwhile, and is kept.
        if read_owner(&self.file).is_ok_and(|owner| owner.as_ref() == Some(&self.owner)) {
            let _ = self.file.remove();
        }
    }
}
