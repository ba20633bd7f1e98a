//! Advisory locks on files: the operating system releases them when a process ends, in whatever way.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::regular;

/// Another process that only checks whether a lock is held has it for a moment, which is waited out.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(10);

/// A lock that this process holds. The file exists as long as the lock does.
#[derive(Debug)]
pub(crate) struct RunLock {
    path: PathBuf,
    /// Closed, and so unlocked, after the file has been removed.
    file: File,
}

impl RunLock {
    /// Takes the lock, `None` if another process has it.
    pub(crate) fn try_take(path: &Path) -> io::Result<Option<Self>> {
        let mut tries = 0;
        loop {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            regular::check(path)?;
            let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
            match file.try_lock() {
                // The one before may have removed the file between its opening and its locking here.
                Ok(()) if is_at(&file, path)? => {
                    return Ok(Some(Self { path: path.to_owned(), file }));
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

    /// Whether another process has the lock.
    pub(crate) fn is_held(path: &Path) -> io::Result<bool> {
        regular::check(path)?;
        let file = match File::open(path) {
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
        // Without a way to tell two files of one name apart, the file has to stay. If it cannot be removed it is merely
        // in no one's way.
        // Where another process has removed it, the name may be that of another holder's lock.
        if cfg!(unix) && is_at(&self.file, &self.path).is_ok_and(|is_at| is_at) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Whether the open file is the one that the path names.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;

    let open = file.metadata()?;
    match fs::metadata(path) {
        Ok(named) => Ok((named.dev(), named.ino()) == (open.dev(), open.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}
