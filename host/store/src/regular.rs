//! Files where files should be. A stranger's folder may have a pipe there, which would be waited for without end, or a link
//! to a device that gives bytes without end.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::path::Path;

/// Refuses what is there and is neither file nor folder.
pub(crate) fn check(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() && !found.is_dir() => Err(io::Error::other("it is not a regular file")),
        // What is missing, or cannot be looked at, is told when it is opened.
        _ => Ok(()),
    }
}

/// Refuses to change what is there unless it is a regular file with one name: a link, of either kind, leads elsewhere.
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

/// How many names a file has.
#[cfg(unix)]
pub(crate) fn names(found: &Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    found.nlink()
}

/// How many names a file has; 1 where the platform does not report it.
#[cfg(not(unix))]
pub(crate) fn names(_: &Metadata) -> u64 {
    1
}

/// As [`fs::read`], of a file that is no longer than so many bytes.
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
