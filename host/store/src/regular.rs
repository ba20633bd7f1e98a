//! Refuses paths that are not regular files. A stranger's folder may contain a pipe, which would block without end, or a
//! link to a device that returns bytes without end.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::path::Path;

/// Refuses a path that exists and is neither a file nor a folder.
pub(crate) fn check(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() && !found.is_dir() => Err(io::Error::other("it is not a regular file")),
        // A missing or inaccessible file is reported when it is opened.
        _ => Ok(()),
    }
}

/// Refuses to change a file unless it is a regular one with one name: a link, symbolic or hard, would change a file
/// elsewhere.
pub(crate) fn check_unshared(path: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(path)?;
    if found.is_symlink() {
        return Err(io::Error::other("it is a link, and none is followed to write"));
    }
    if names(&found) > 1 {
        return Err(io::Error::other(
            "it is a hard link: the same file has a name elsewhere, and would be changed there, too; replace it with a copy",
        ));
    }
    if found.is_file() { Ok(()) } else { Err(io::Error::other("it is not a regular file")) }
}

/// The number of names (hard links) of a file.
#[cfg(unix)]
pub(crate) fn names(found: &Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    found.nlink()
}

/// The number of names (hard links) of a file; 1 where the platform does not report it.
#[cfg(not(unix))]
pub(crate) fn names(_: &Metadata) -> u64 {
    1
}

/// Like [`fs::read`], for a file of at most that many bytes.
pub(crate) fn read_up_to(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    check(path)?;
    let file = File::open(path)?;
    let too_large = || io::Error::other(format!("it is larger than {most} bytes"));
    if file.metadata()?.len() > most {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > most) { Err(too_large()) } else { Ok(bytes) }
}
