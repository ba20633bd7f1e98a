//! Access to the `.ai` folder of a project, which a stranger may have made, and which a component may change while it
//! runs. Paths are resolved from the handle of that folder, one segment at a time. No segment may be a link, and the
//! end must be a folder or a regular file: a link would make graph-host read, overwrite or remove files elsewhere, and
//! a pipe or a device would block it without end.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use graph_store::held::{Entry, FilePlace, FolderPlace, HeldFolder, Refusal};

use crate::error::{Error, Result};
use crate::project::{BaseFolder, MARK, Project};

/// Required kind of the end of a path, if it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A folder, not a link to one.
    Folder,
    /// A regular file, not a link, a pipe or a device.
    File,
}

/// Returns the place of a folder below the `.ai` folder of a project, by its segments from there.
pub(crate) fn folder_place(project: &Project, names: &[&str]) -> FolderPlace {
    names.iter().fold(project.mark().clone(), |folder, name| folder.child(name))
}

/// Returns the place of a file below the `.ai` folder of a project, by its segments from there: the file need not exist.
///
/// It is an integrity error if a segment is a link, and a storage error if an inner segment is no folder, or the end
/// not a regular file.
pub fn file(project: &Project, names: &[&str]) -> Result<FilePlace> {
    let (name, folders) = names.split_last().unwrap_or((&"", &[]));
    let place = folder_place(project, folders).file(name);
    entry(&place, FileKind::File, project.base())?;
    Ok(place)
}

/// Returns the place of the file at a path. From a `.ai` folder on, no link on the path is followed.
pub fn named(path: &Path) -> FilePlace {
    let mut segments: Vec<_> = path.components().collect();
    let Some(at) = segments.iter().rposition(|segment| segment.as_os_str() == MARK) else {
        return FilePlace::at(path);
    };
    let below = segments.split_off(at);
    let Some((name, folders)) = below.split_last().filter(|(_, folders)| !folders.is_empty()) else {
        return FilePlace::at(path);
    };
    let project = FolderPlace::at(&segments.iter().collect::<PathBuf>());
    folders.iter().fold(project, |folder, name| folder.child(name)).file(name)
}

/// Returns the file or folder at a place; `None` if there is none. It is an error if it is of another kind.
pub fn entry(place: &FilePlace, kind: FileKind, base: &BaseFolder) -> Result<Option<Entry>> {
    let failed = |error: &io::Error| failed(error, &place.path(), base);
    let Some(found) = place.entry().map_err(|error| failed(&error))? else { return Ok(None) };
    let refusal = match kind {
        _ if found.is_link() => place.folder().get().map_err(|error| failed(&error))?.link_at(place.name()),
        FileKind::Folder if found.is_folder() => return Ok(Some(found)),
        FileKind::File if found.is_file() => return Ok(Some(found)),
        FileKind::Folder => Refusal::NotFolder { path: place.path() },
        FileKind::File => Refusal::NotRegular { path: place.path() },
    };
    Err(refused(&refusal, base))
}

/// Like [`entry`], for a file that is changed in place: a file with a second name (a hard link) is an integrity error,
/// as the change would affect that name, too.
pub(crate) fn entry_to_change(place: &FilePlace, base: &BaseFolder) -> Result<Option<Entry>> {
    match entry(place, FileKind::File, base)? {
        Some(found) if found.names() > 1 => Err(refused(&Refusal::HardLink { path: place.path() }, base)),
        found => Ok(found),
    }
}

/// Opens a folder below the `.ai` folder of a project. It and its parents are made if they are missing.
pub fn folder(project: &Project, names: &[&str]) -> Result<HeldFolder> {
    let place = folder_place(project, names);
    place.make().map_err(|error| not_made(&error, place.path(), project.base()))
}

/// Makes the error of a folder that cannot be made.
pub(crate) fn not_made(error: &io::Error, path: &Path, base: &BaseFolder) -> Error {
    // The first missing folder could not be made.
    let missing = path.ancestors().take_while(|folder| folder.symlink_metadata().is_err()).last();
    not_written("the folder", error, missing.unwrap_or(path), base)
}

/// Opens the folder at a place; `None` if it is missing.
pub fn open_folder(place: &FolderPlace, base: &BaseFolder) -> Result<Option<HeldFolder>> {
    match place.get() {
        Ok(folder) => Ok(Some(folder)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(&error, place.path(), base)),
    }
}

/// Makes the error of a place that cannot be inspected or read.
fn failed(error: &io::Error, path: &Path, base: &BaseFolder) -> Error {
    match Refusal::of(error) {
        Some(refusal) => refused(refusal, base),
        None => Error::read("the file", Path::new(&base.show(path)), error),
    }
}

/// Makes the error of a file that cannot be written; `what` names it in messages.
pub(crate) fn not_written(what: &str, error: &io::Error, path: &Path, base: &BaseFolder) -> Error {
    match Refusal::of(error) {
        Some(refusal) => refused(refusal, base),
        None => Error::write(what, path, error),
    }
}

/// Makes the error of a refused place.
fn refused(refusal: &Refusal, base: &BaseFolder) -> Error {
    let shown = base.show(refusal.path());
    let error = match refusal {
        Refusal::Link { target, .. } => {
            let target = base.show(target);
            Error::integrity(format!("{shown} is a link to {target}: below {MARK} no link is followed"))
        }
        Refusal::HardLink { .. } => {
            let message = format!(
                "{shown} is a hard link: the same file has a name elsewhere, and would be changed there, too"
            );
            return Error::integrity(message).help("replace it with a copy, or move it away");
        }
        Refusal::NotFolder { .. } => Error::storage(format!("{shown} is not a folder")),
        Refusal::NotRegular { .. } => Error::storage(format!("{shown} is not a regular file")),
        Refusal::NotAName { .. } => Error::storage(format!("{shown} is not the name of a file")),
    };
    error.help("look at what is there, and move it away")
}

/// Makes a path independent of the folder that a later command is called in.
pub fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}
