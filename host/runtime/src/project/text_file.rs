//! Reads texts from files that a user or a document names, with a limit: an endless device or a file of many gigabytes
//! must not fill memory.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

use crate::error::{Error, LARGEST_TEXT as LARGEST, Result};
use crate::project::paths;

/// Reads a text of at most [`LARGEST_TEXT`](LARGEST) bytes. A larger one is `FileTooLarge`, one that is not UTF-8 `InvalidData`, and
/// anything but a regular file or a folder `InvalidInput`: a pipe in a stranger's project would block without end.
pub fn read(path: &Path) -> io::Result<String> {
    read_from(open(path)?)
}

/// Like [`read`], for a path on the command line, which may be a pipe, as shells make them for `<(command)`.
pub fn read_named(path: &Path) -> io::Result<String> {
    read_from(File::open(path)?)
}

fn read_from(file: File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(too_large(LARGEST));
    }
    String::from_utf8(bytes).map_err(|_| ErrorKind::InvalidData.into())
}

/// Makes the error of a file that is larger than this limit, in bytes, which is a whole number of MiB.
pub fn too_large(limit: u64) -> io::Error {
    io::Error::new(ErrorKind::FileTooLarge, format!("{} MiB", limit >> 20))
}

/// Opens a file for reading. Anything but a regular file or a folder is `InvalidInput`.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    check_kind(&fs::metadata(path)?)?;
    open_as(path, OFlags::empty())
}

/// Like [`open`], for a regular file alone: a link is not followed.
#[cfg(any(feature = "bundle", feature = "catalogue", test))]
pub(crate) fn open_unlinked(path: &Path) -> io::Result<File> {
    let found = fs::symlink_metadata(path)?;
    check_kind(&found)?;
    if found.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    open_as(path, OFlags::NOFOLLOW)
}

/// Opens a file, and checks what was opened: another process may have put a pipe in its place since it was examined.
fn open_as(path: &Path, more: OFlags) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.union(more).bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    check_kind(&file.metadata()?)?;
    Ok(file)
}

fn check_kind(found: &Metadata) -> io::Result<()> {
    if found.is_file() || found.is_dir() {
        return Ok(());
    }
    Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"))
}

/// Like [`read`], for a file below the `.ai` folder of a project: no link on its path is followed from there on.
pub(crate) fn read_in_project(path: &Path) -> io::Result<String> {
    String::from_utf8(paths::named(path).read(LARGEST)?).map_err(|_| ErrorKind::InvalidData.into())
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
pub(super) mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::error::Kind;

    pub(in crate::project) fn make_pipe(path: &Path) {
        let (mode, device) = (rustix::fs::Mode::from_raw_mode(0o600), 0);
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, device).unwrap();
    }

    #[test]
    fn a_pipe_that_took_the_place_of_a_file_does_not_block() {
        let folder = tempfile::tempdir().unwrap();
        let (pipe, link) = (folder.path().join("pipe"), folder.path().join("link"));
        make_pipe(&pipe);
        std::os::unix::fs::symlink("pipe", &link).unwrap();
        for path in [&pipe, &link] {
            assert_eq!(read(path).unwrap_err().kind(), ErrorKind::InvalidInput);
            // As if it had been a file when it was examined.
            assert_eq!(open_as(path, OFlags::empty()).unwrap_err().kind(), ErrorKind::InvalidInput);
        }
        std::fs::remove_file(&link).unwrap();
        std::fs::write(folder.path().join("file"), "text").unwrap();
        std::os::unix::fs::symlink("file", &link).unwrap();
        assert_eq!(read(&link).unwrap(), "text");
        assert!(open_unlinked(&link).is_err() && open_as(&link, OFlags::NOFOLLOW).is_err());
        assert!(open_unlinked(&folder.path().join("file")).is_ok());
    }

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
