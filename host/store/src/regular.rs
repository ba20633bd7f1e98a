//! Files where files should be. A stranger's folder may have a pipe there, which would be waited for without end, or a link
//! to a device that gives bytes without end.

use std::fs;
use std::io;
use std::path::Path;

/// Refuses what is there and is neither file nor folder.
pub(crate) fn check(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() && !found.is_dir() => Err(io::Error::other("it is not a regular file")),
        // What is missing, or cannot be looked at, is told when it is opened.
        _ => Ok(()),
    }
}

/// As [`fs::read`].
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    check(path)?;
    fs::read(path)
}
