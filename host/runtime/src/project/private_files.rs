//! Files that are written whole or not at all, and removal of their remains after a kill.
//!
//! A temporary file is named after this program and locked by the process that writes it. So a later clean-up can
//! distinguish a file that is being written from one whose writer was killed. A new private file has no name before it
//! is complete, if the file system supports that.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use graph_store::held::{DRAFT, DRAFT_END, FilePlace, HeldFolder, Opening, WriteOptions};

/// Writes a file that only its owner may read, and syncs it and its folder. `false` if the path already exists.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let place = FilePlace::at(path);
    let folder = place.folder().get()?;
    let is_new = match write_unnamed(&folder, place.name(), bytes)? {
        Some(written) => written,
        None => write_named(&folder, place.name(), bytes)?,
    };
    if is_new {
        folder.sync()?;
    }
    Ok(is_new)
}

/// Writes a file under another name first.
fn write_named(folder: &HeldFolder, name: &OsStr, bytes: &[u8]) -> io::Result<bool> {
    let draft = folder.draft(WriteOptions::with_mode(0o600), |file| file.write_all(bytes))?;
    let linked = folder.link(&draft, name);
    folder.remove(&draft)?;
    match linked {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes the temporary files that killed processes of this program have left in a folder, and returns their number. A
/// folder that is a link is skipped, and so is everything in it that is not a regular file of this user.
pub(crate) fn remove_leftovers(folder: &Path) -> usize {
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|found| found.is_dir());
    let Some(folder) = is_folder.then(|| HeldFolder::open(folder).ok()).flatten() else { return 0 };
    let names = folder.names().unwrap_or_default().into_iter();
    let ours = names.filter(|name| name.to_str().is_some_and(is_temp_name));
    ours.filter(|name| remove_leftover(&folder, name)).count()
}

fn is_temp_name(name: &str) -> bool {
    let random = name.strip_prefix(DRAFT).and_then(|rest| rest.strip_suffix(DRAFT_END));
    random.is_some_and(|random| random.len() == 6 && random.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// Removes a file unless a process holds its lock.
fn remove_leftover(folder: &HeldFolder, name: &OsStr) -> bool {
    let Ok(file) = folder.file(name, Opening::Read) else { return false };
    let Ok(found) = file.metadata() else { return false };
    // An empty file may have a writer that has not locked it yet.
    is_own(&found) && found.len() > 0 && file.try_lock().is_ok() && folder.remove(name).is_ok()
}

fn is_own(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    found.uid() == rustix::process::geteuid().as_raw()
}

/// Writes a file that gets its name once it is complete. `None` if the file system has no such files, or `/proc` is missing.
#[cfg(target_os = "linux")]
fn write_unnamed(folder: &HeldFolder, name: &OsStr, bytes: &[u8]) -> io::Result<Option<bool>> {
    use std::fs::File;
    use std::os::fd::AsRawFd as _;

    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, openat};
    use rustix::io::Errno;

    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let mut file = match openat(folder, ".", flags, Mode::RUSR | Mode::WUSR) {
        Ok(file) => File::from(file),
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    file.write_all(bytes)?;
    file.sync_all()?;
    let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
    match linkat(CWD, unnamed, folder, name, AtFlags::SYMLINK_FOLLOW) {
        Ok(()) => Ok(Some(true)),
        Err(Errno::EXIST) => Ok(Some(false)),
        Err(Errno::NOENT | Errno::XDEV | Errno::OPNOTSUPP | Errno::PERM) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns `None`: only Linux has files without a name.
#[cfg(not(target_os = "linux"))]
#[allow(clippy::unnecessary_wraps, reason = "it is fallible on Linux")]
fn write_unnamed(_: &HeldFolder, _: &OsStr, _: &[u8]) -> io::Result<Option<bool>> {
    Ok(None)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_what_a_killed_process_of_this_program_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let held = HeldFolder::open(folder.path()).unwrap();
        let mut writer = None;
        let live = held.draft(WriteOptions::with_mode(0o600), |file| {
            file.write_all(b"being written")?;
            writer = Some(file.try_clone()?);
            Ok(())
        });
        let live = live.unwrap();
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
        assert!(!dead.exists() && at(live.to_str().unwrap()).exists());
        assert!(kept.iter().all(|name| at(name).exists()) && at(".graph-host-empty1.tmp").exists());
        #[cfg(unix)]
        assert!(at("outside").exists() && at(".graph-host-linked.tmp").is_symlink());
        held.rename(&live, "a").unwrap();
        drop(writer);
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
