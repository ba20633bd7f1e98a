//! Advisory locks on files. The operating system releases them when a process ends for any reason.

use std::fs::{File, TryLockError};
use std::io;
use std::thread;
use std::time::Duration;

use crate::held::{Entry, FilePlace, Opening};

/// Number of further attempts to take a lock, and the pause before each. A process that only checks whether the lock is
/// held has it for a moment.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(10);

/// A lock that this process holds. The file exists as long as the lock is held.
#[derive(Debug)]
pub(crate) struct RunLock {
    place: FilePlace,
    /// The locked file. It is closed, and so unlocked, after its name was removed.
    file: File,
}

impl RunLock {
    /// Takes the lock; `None` if another process has it.
    pub(crate) fn try_take(place: &FilePlace) -> io::Result<Option<Self>> {
        let mut tries = 0;
        loop {
            let file = place.open(Opening::Make)?;
            match file.try_lock() {
                // The previous holder may have removed the file after it was opened here, and before it was locked.
                Ok(()) if is_at(&file, place)? => {
                    return Ok(Some(Self { place: place.clone(), file }));
                }
                Ok(()) => {}
                Err(TryLockError::WouldBlock) if tries < TRIES => {
                    tries += 1;
                    thread::sleep(PAUSE);
                }
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    /// Reports whether another process has the lock.
    pub(crate) fn is_held(place: &FilePlace) -> io::Result<bool> {
        let file = match place.open(Opening::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // A file that cannot be removed does not disturb any process. If another process has removed it, the name may
        // be that of another holder's lock.
        if is_at(&self.file, &self.place).is_ok_and(|is_at| is_at) {
            let _ = self.place.remove();
        }
    }
}

/// Reports whether the name still refers to the open file.
fn is_at(file: &File, place: &FilePlace) -> io::Result<bool> {
    let open = Entry::of(file)?;
    Ok(place.entry()?.is_some_and(|named| named.is_same(&open)))
}
