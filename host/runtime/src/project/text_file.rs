//! Reads texts from files that a user or a document names, with a limit: an endless device or a file of many gigabytes
//! must not fill memory.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

use crate::error::{Error, Result};
use crate::items::locate::Space;
use crate::project::paths;

/// Limit of a text, in bytes. It is higher than that of documents, so that the reader of a document reports its own limit.
pub const LARGEST: u64 = 16 << 20;

/// Reads a text of at most [`LARGEST`] bytes. A larger one is `FileTooLarge`, one that is not UTF-8 `InvalidData`, and
/// anything but a regular file or a folder `InvalidInput`: a pipe in a stranger's project would block without end.
pub fn read(path: &Path) -> io::Result<String> {
    let kind = fs::metadata(path)?;
    if !kind.is_file() && !kind.is_dir() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
    }
    read_named(path)
}

/// Like [`read`], for a path on the command line, which may be a pipe, as shells make them for `<(command)`.
pub fn read_named(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(ErrorKind::FileTooLarge.into());
    }
    String::from_utf8(bytes).map_err(|_| ErrorKind::InvalidData.into())
}

/// Like [`read`], for a file below the `.ai` folder of a project: no link on its path is followed from there on.
pub(crate) fn read_in_project(path: &Path) -> io::Result<String> {
    String::from_utf8(paths::named(path).read(LARGEST)?).map_err(|_| ErrorKind::InvalidData.into())
}

/// Like [`read`], for the text of an item. In a project, no link on its path is followed.
pub(crate) fn read_of(space: Space, path: &Path) -> io::Result<String> {
    match space {
        Space::Project => read_in_project(path),
        _ => read(path),
    }
}

/// Like [`read`], with a name of the file for the message: `the graph`, `the manifest`.
pub fn read_as(what: &str, path: &Path) -> Result<String> {
    read(path).map_err(|error| Error::read(what, path, &error))
}

/// Like [`read_named`], with a name of the file for the message.
pub fn read_named_as(what: &str, path: &Path) -> Result<String> {
    read_named(path).map_err(|error| Error::read(what, path, &error))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::error::Kind;

    #[test]
    fn what_never_ends_is_not_read_to_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("large");
        File::create(&path).unwrap().set_len(LARGEST + 1).unwrap();
        let error = read_as("the graph", &path).unwrap_err();
        assert_eq!(error.kind(), Kind::Invalid);
        assert!(error.message().ends_with("is larger than 16 MiB"), "{error}");
        File::options().write(true).open(&path).unwrap().set_len(LARGEST).unwrap();
        assert_eq!(read(&path).unwrap().len() as u64, LARGEST);
        std::fs::write(&path, [0xff]).unwrap();
        assert_eq!(read_as("the graph", &path).unwrap_err().kind(), Kind::Invalid);
    }
}
