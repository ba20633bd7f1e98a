//! Paths below the `.ai` folder of a project, which a stranger may have made. No component of such a path may be a link,
//! and the end must be a folder or a regular file: a link would make graph-host read, overwrite or remove files
//! elsewhere, and a pipe or a device would block it without end.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::project::{self, MARK};

/// What the end of a path has to be, if it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A folder, not a link to one.
    Folder,
    /// A regular file, not a link, a pipe or a device.
    File,
}

/// The path of a file or folder below the `.ai` folder of a project, by its components from there. It need not exist.
///
/// It is an integrity error if a step is a link, and a storage error if a step on the way is no folder, or the end not of
/// its kind.
pub fn path(project: &Path, names: &[&str], kind: FileKind) -> Result<PathBuf> {
    let mut path = project.join(MARK);
    check(&path, if names.is_empty() { kind } else { FileKind::Folder })?;
    for (at, name) in names.iter().enumerate() {
        path.push(name);
        let is_last = at + 1 == names.len();
        if !check(&path, if is_last { kind } else { FileKind::Folder })? && !is_last {
            // Below a missing folder there is nothing to check.
            path.extend(&names[at + 1..]);
            break;
        }
    }
    Ok(path)
}

/// Like [`path`], for a file that is changed in place: a file with a second name (a hard link) is an integrity error, as
/// it would be changed there, too.
pub fn path_to_change(project: &Path, names: &[&str]) -> Result<PathBuf> {
    let path = path(project, names, FileKind::File)?;
    if fs::symlink_metadata(&path).is_ok_and(|found| links(&found) > 1) {
        let shown = project::shown(&path);
        let message = format!(
            "{shown} is a hard link: the same file has a name elsewhere, and would be changed there, too"
        );
        return Err(Error::integrity(message).help("replace it with a copy, or move it away"));
    }
    Ok(path)
}

/// A folder below the `.ai` folder of a project. It and its parents are made where they are missing.
pub fn folder(project: &Path, names: &[&str]) -> Result<PathBuf> {
    let mut path = project.join(MARK);
    for name in std::iter::once(None).chain(names.iter().map(Some)) {
        path.extend(name);
        match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            // The project's own folder is made, too: the user may have named one that does not exist.
            Err(error) if error.kind() == io::ErrorKind::NotFound && name.is_none() => {
                fs::create_dir_all(&path).map_err(|error| Error::write("the folder", &path, &error))?;
            }
            other => other.map_err(|error| Error::write("the folder", &path, &error))?,
        }
        check(&path, FileKind::Folder)?;
    }
    Ok(path)
}

/// Whether the path exists. It is an error if it is a link, or not of that kind.
fn check(path: &Path, kind: FileKind) -> Result<bool> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => {
            return Err(Error::read("the file", Path::new(&project::shown(path)), &error));
        }
    };
    let expected = match kind {
        FileKind::Folder if found.is_dir() => return Ok(true),
        FileKind::File if found.is_file() => return Ok(true),
        FileKind::Folder => "a folder",
        FileKind::File => "a regular file",
    };
    let shown = project::shown(path);
    let error = if found.is_symlink() {
        let target = fs::read_link(path).map(|target| project::shown(&target)).unwrap_or_default();
        Error::integrity(format!("{shown} is a link to {target}: below {MARK} no link is followed"))
    } else {
        Error::storage(format!("{shown} is not {expected}"))
    };
    Err(error.help("look at what is there, and move it away"))
}

/// Opens a file to append to it, and creates it where it is missing. A link is not followed, and a file with a second
/// name (a hard link) is refused: it would grow there, too.
pub fn append(path: &Path) -> io::Result<File> {
    let file = regular(without_links(OpenOptions::new().create(true).append(true)).open(path)?)?;
    if links(&file.metadata()?) > 1 {
        return Err(io::Error::other("it is a hard link: the same file has a name elsewhere; move it away"));
    }
    Ok(file)
}

/// The number of names (hard links) of a file.
#[cfg(unix)]
fn links(found: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    found.nlink()
}

#[cfg(not(unix))]
fn links(_: &fs::Metadata) -> u64 {
    1
}

/// Creates an empty file. Whatever exists there is left unchanged.
pub fn touch(path: &Path) -> io::Result<()> {
    match OpenOptions::new().create_new(true).write(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other.map(drop),
    }
}

/// Reads a regular file of at most `most` bytes, without following a link. A longer one is
/// [`io::ErrorKind::FileTooLarge`].
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    use std::io::Read as _;
    let file = regular(without_links(OpenOptions::new().read(true)).open(path)?)?;
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

fn regular(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

/// With these options, opening a link at the end of the path fails, and opening a pipe does not block.
#[cfg(unix)]
fn without_links(options: &mut OpenOptions) -> &OpenOptions {
    use std::os::unix::fs::OpenOptionsExt as _;
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    options.custom_flags(i32::from_ne_bytes(flags.bits().to_ne_bytes()))
}

#[cfg(not(unix))]
fn without_links(options: &mut OpenOptions) -> &OpenOptions {
    options
}
