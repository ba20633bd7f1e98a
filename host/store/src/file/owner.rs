//! The holders of runs.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::log::fault;
use super::store::write_atomic;
use crate::bounds::LARGEST_NAME;
use crate::error::{AcquireError, ReadError, StorageError, location};
use crate::lock::RunLock;
use crate::names;
use crate::regular;
use crate::store::{Fence, Holder, Owner, RunGuard};

/// How many times, and how long each, to wait for a process that has taken a lock to write its name.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(10);

fn owner_path(folder: &Path) -> PathBuf {
    folder.join("owner")
}

/// The file that is locked while another process has a run.
pub(super) fn lock_path(folder: &Path) -> PathBuf {
    folder.join("lock")
}

/// Takes the lock of a run.
pub(super) fn lock(folder: &Path, run: &str) -> Result<RunLock, AcquireError> {
    let file = lock_path(folder);
    match RunLock::try_take(&file) {
        Ok(Some(lock)) => Ok(lock),
        Ok(None) => Err(AcquireError::Held { run: run.to_owned(), holder: owner_soon(folder)? }),
        Err(error) => Err(AcquireError::Lock { location: location(&file), reason: error.to_string() }),
    }
}

/// Writes the name of the process that holds a run and has raised its epoch.
pub(super) fn say(
    folder: &Path,
    run: &str,
    owner: &Owner,
    fence: Fence,
    lock: RunLock,
) -> Result<RunGuard, StorageError> {
    let path = owner_path(folder);
    let abandoned = read_owner(&path)?;
    let text = serde_json::to_vec(owner)
        .map_err(|error| StorageError::Io { location: location(&path), reason: error.to_string() })?;
    write_atomic(&path, &text, false)?;
    let held = Release { file: path, owner: owner.clone(), _lock: lock };
    Ok(RunGuard::new(run, fence, abandoned, held))
}

/// The process that holds a run at this moment.
pub(super) fn holder(folder: &Path) -> Result<Holder, ReadError> {
    let path = lock_path(folder);
    match RunLock::is_held(&path) {
        Ok(false) => Ok(Holder::Nobody),
        Ok(true) => Ok(owner_soon(folder)?.map_or(Holder::Unknown, Holder::Known)),
        Err(error) => Err(fault(&path, &error).into()),
    }
}

fn read_owner(path: &Path) -> Result<Option<Owner>, StorageError> {
    match regular::read_up_to(path, LARGEST_NAME) {
        // A file that cannot be parsed names no process: the lock decides.
        Ok(text) => {
            let owner = serde_json::from_slice::<Owner>(&text).ok();
            Ok(owner.filter(|owner| names::name("host", &owner.host).is_ok()))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(fault(path, &error)),
    }
}

/// The name of the process that holds the run. A process that has just taken the lock needs a moment to write it.
fn owner_soon(folder: &Path) -> Result<Option<Owner>, StorageError> {
    for _ in 0..TRIES {
        if let Some(owner) = read_owner(&owner_path(folder))? {
            return Ok(Some(owner));
        }
        thread::sleep(PAUSE);
    }
    Ok(None)
}

/// Releases the run: first the name is removed, then the lock.
struct Release {
    file: PathBuf,
    owner: Owner,
    _lock: RunLock,
}

impl Drop for Release {
    fn drop(&mut self) {
        // A name that stays is harmless, as the lock decides, which is released in any case. Another name is that of the
        // process that has taken the run since.
        if read_owner(&self.file).is_ok_and(|owner| owner.as_ref() == Some(&self.owner)) {
            let _ = fs::remove_file(&self.file);
        }
    }
}
