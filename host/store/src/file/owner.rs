//! Who has a run.

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

/// How often, and in what steps, to wait for a process that has taken a lock to say who it is.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(10);

fn owner_path(folder: &Path) -> PathBuf {
    folder.join("owner")
}

/// The file that is locked while somebody has a run.
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

/// Says who has a run that is locked and whose epoch was raised.
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

/// Who has a run at this moment.
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
        // A file that says nothing that can be understood names nobody: the lock is what counts.
        Ok(text) => {
            let owner = serde_json::from_slice::<Owner>(&text).ok();
            Ok(owner.filter(|owner| names::name("host", &owner.host).is_ok()))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(fault(path, &error)),
    }
}

/// Who has said that they have the run. Whoever has just taken the lock needs a moment to say so.
fn owner_soon(folder: &Path) -> Result<Option<Owner>, StorageError> {
    for _ in 0..TRIES {
        if let Some(owner) = read_owner(&owner_path(folder))? {
            return Ok(Some(owner));
        }
        thread::sleep(PAUSE);
    }
    Ok(None)
}

/// Gives the run back: first the name, then the lock.
struct Release {
    file: PathBuf,
    owner: Owner,
    _lock: RunLock,
}

impl Drop for Release {
    fn drop(&mut self) {
        // A name that stays is that of a process that is gone; the lock is what counts, and it goes in any case. Another name is
        // that of whoever has taken the run over.
        if read_owner(&self.file).is_ok_and(|owner| owner.as_ref() == Some(&self.owner)) {
            let _ = fs::remove_file(&self.file);
        }
    }
}
