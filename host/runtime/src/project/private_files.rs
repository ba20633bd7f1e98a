//! Files that are written whole or not at all, and removal of what killed processes have left of them.
//!
//! A temporary file is named after this program and locked by the process that writes it. A later clean-up can so
//! distinguish a file that is being written from one whose writer was killed. A new private file has no name before it is
//! complete, where the file system supports that.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

const PREFIX: &str = ".graph-host-";
const SUFFIX: &str = ".tmp";

/// Writes a file that only its owner may read. `false` if the path already exists.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    #[cfg(target_os = "linux")]
    if let Some(written) = unnamed::write_new(path, bytes)? {
        return Ok(written);
    }
    match write_temp(path, bytes)?.persist_noclobber(path) {
        Ok(_) => Ok(true),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error.error),
    }
}

/// Writes a temporary file next to a path, with mode 0600, and syncs it.
pub(crate) fn write_temp(path: &Path, bytes: &[u8]) -> io::Result<tempfile::NamedTempFile> {
    let mut file = tempfile::Builder::new().prefix(PREFIX).suffix(SUFFIX).tempfile_in(folder_of(path))?;
    // It is locked before the first byte is written: the clean-up ignores empty files.
    file.as_file().lock()?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// The folder that a file is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Removes the temporary files that killed processes of this program have left in a folder, and returns how many there
/// were. A folder that is a link is skipped, and so is everything in it that is not a regular file of this user.
pub(crate) fn remove_leftovers(folder: &Path) -> usize {
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir());
    let Some(entries) = is_folder.then(|| fs::read_dir(folder).ok()).flatten() else { return 0 };
    let ours = entries.flatten().filter(|entry| entry.file_name().to_str().is_some_and(is_temp_name));
    ours.filter(|entry| remove_leftover(&entry.path())).count()
}

fn is_temp_name(name: &str) -> bool {
    let random = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(SUFFIX));
    random.is_some_and(|random| random.len() == 6 && random.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// Removes a file unless a process holds its lock.
fn remove_leftover(path: &Path) -> bool {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.custom_flags(flags.bits().cast_signed());
    }
    let Ok(file) = options.open(path) else { return false };
    let Ok(found) = file.metadata() else { return false };
    // An empty file may have a writer that has not locked it yet.
    found.is_file()
        && is_own(&found)
        && found.len() > 0
        && file.try_lock().is_ok()
        && fs::remove_file(path).is_ok()
}

#[cfg(unix)]
fn is_own(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    found.uid() == rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn is_own(_: &fs::Metadata) -> bool {
    true
}

/// Files that get their name once they are complete.
#[cfg(target_os = "linux")]
mod unnamed {
    use std::fs::File;
    use std::io::{self, Write as _};
    use std::os::fd::AsRawFd as _;
    use std::path::Path;

    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};
    use rustix::io::Errno;

    /// `None` where the file system has no such files, or `/proc` is missing.
    pub(super) fn write_new(path: &Path, bytes: &[u8]) -> io::Result<Option<bool>> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let mut file = match open(super::folder_of(path), flags, Mode::RUSR | Mode::WUSR) {
            Ok(file) => File::from(file),
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        file.write_all(bytes)?;
        file.sync_all()?;
        let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
        match linkat(CWD, unnamed, CWD, path, AtFlags::SYMLINK_FOLLOW) {
            Ok(()) => Ok(Some(true)),
            Err(Errno::EXIST) => Ok(Some(false)),
            Err(Errno::NOENT | Errno::XDEV | Errno::OPNOTSUPP | Errno::PERM) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_what_a_killed_process_of_this_program_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let live = write_temp(&at("a"), b"being written").unwrap();
        let dead = at(".graph-host-dEaD01.tmp");
        let kept =
            [".graph-host-dEaD0.tmp", ".graph-host-dEa-01.tmp", ".tmpdEaD01", "a.tmp", ".graph-host-dEaD02"];
        for name in kept {
            fs::write(at(name), "of somebody else").unwrap();
        }
        fs::write(at(".graph-host-empty1.tmp"), "").unwrap();
        fs::create_dir(at(".graph-host-folder.tmp")).unwrap();
        fs::write(&dead, "left behind").unwrap();
        #[cfg(unix)]
        {
            let outside = at("outside");
            fs::write(&outside, "not ours").unwrap();
            std::os::unix::fs::symlink(&outside, at(".graph-host-linked.tmp")).unwrap();
            let link = at("link");
            std::os::unix::fs::symlink(folder.path(), &link).unwrap();
            assert_eq!(remove_leftovers(&link), 0, "a folder behind a link");
        }
        assert_eq!(remove_leftovers(folder.path()), 1);
        assert!(!dead.exists() && live.path().exists());
        assert!(kept.iter().all(|name| at(name).exists()) && at(".graph-host-empty1.tmp").exists());
        #[cfg(unix)]
        assert!(at("outside").exists() && at(".graph-host-linked.tmp").is_symlink());
        live.persist(at("a")).unwrap();
        assert_eq!(fs::read(at("a")).unwrap(), b"being written");
        assert_eq!(remove_leftovers(&at("nothing")), 0);
    }

    #[test]
    fn a_new_file_is_private_and_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        assert!(write_new(&path, b"1").unwrap());
        assert!(!write_new(&path, b"2").unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"1");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(write_new(&folder.path().join("no/a"), b"1").is_err());
    }
}
