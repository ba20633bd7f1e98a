//! Paths below the `.ai` folder of a project, which a stranger may have made: no step on the way is a link, and what is
//! there is a file or a folder. A link would lead graph-host to read, overwrite or remove what lies elsewhere; a pipe or a
//! device would be waited for without end.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::project::{self, MARK};

/// What has to be at the end of a path, if anything is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A folder.
    Folder,
    /// A regular file.
    File,
}

/// The path of something below the `.ai` folder of a project, by its names from there. Nothing has to be there.
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
            // Nothing is below what is not there.
            path.extend(&names[at + 1..]);
            break;
        }
    }
    Ok(path)
}

/// As [`path`], of a file that is changed where it is: it is an integrity error, too, if it has another name, as it would be
/// changed there.
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

/// A folder below the `.ai` folder of a project, which is made where it is missing, and those that it lies in.
pub fn folder(project: &Path, names: &[&str]) -> Result<PathBuf> {
    let mut path = project.join(MARK);
    for name in std::iter::once(None).chain(names.iter().map(Some)) {
        path.extend(name);
        match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            // The project itself is made along with its `.ai`, as it may be one that is named.
            Err(error) if error.kind() == io::ErrorKind::NotFound && name.is_none() => {
                fs::create_dir_all(&path).map_err(|error| Error::write("the folder", &path, &error))?;
            }
            other => other.map_err(|error| Error::write("the folder", &path, &error))?,
        }
        check(&path, FileKind::Folder)?;
    }
    Ok(path)
}

/// Whether something is there, which is of that kind and no link.
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

/// Opens a file to add to its end; it is made where it is missing. A link is not followed, and a file that has another name
/// is refused: it would grow there, too.
pub fn append(path: &Path) -> io::Result<File> {
    let file = regular(without_links(OpenOptions::new().create(true).append(true)).open(path)?)?;
    if links(&file.metadata()?) > 1 {
        return Err(io::Error::other("it is a hard link: the same file has a name elsewhere; move it away"));
    }
    Ok(file)
}

/// How many names a file has.
#[cfg(unix)]
fn links(found: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    found.nlink()
}

#[cfg(not(unix))]
fn links(_: &fs::Metadata) -> u64 {
    1
}

/// Makes an empty file. One that is there is left as it is, whatever it is.
pub fn touch(path: &Path) -> io::Result<()> {
    match OpenOptions::new().create_new(true).write(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other.map(drop),
    }
}

/// Reads at most so many bytes of a regular file, without following a link. A longer one is [`io::ErrorKind::FileTooLarge`].
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

/// Opening a link at the end of the path fails, and opening a pipe does not wait.
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
