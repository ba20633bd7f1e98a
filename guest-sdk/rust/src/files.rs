//! Granted folders. A path is absolute, and in a folder that the capability manifest names under `as`. Requires the
//! interface `wasi:filesystem/types`.
//!
//! ```
//! use graph_sdk::{Failure, files};
//!
//! /// The names of the files in a folder that have a text in them.
//! fn with_text(folder: &str, text: &str) -> Result<Vec<String>, Failure> {
//!     let mut found = Vec::new();
//!     for entry in files::list(folder)? {
//!         let is_file = entry.kind == files::Kind::File;
//!         if is_file && files::read_to_string(&format!("{folder}/{}", entry.name))?.contains(text) {
//!             found.push(entry.name);
//!         }
//!     }
//!     Ok(found)
//! }
//! # let _host = graph_sdk::testing::Host::new().file("/src/a", "one").file("/src/b", "two").file("/src/c/d", "one");
//! # assert_eq!(with_text("/src", "one"), Ok(vec!["a".to_owned()]));
//! ```

use std::io::{self, ErrorKind, Read};

use crate::bindings::wasi::filesystem::types::{
    DescriptorFlags, DescriptorType, ErrorCode, OpenFlags, PathFlags,
};
use crate::imports::filesystem::Descriptor;
use crate::imports::preopens::get_directories;

/// Maximum number of bytes that one host call reads or writes.
const CHUNK: usize = 256 * 1024;

/// Type of an entry of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// Anything else; it cannot be opened.
    Other,
}

impl From<DescriptorType> for Kind {
    fn from(kind: DescriptorType) -> Self {
        match kind {
            DescriptorType::RegularFile => Self::File,
            DescriptorType::Directory => Self::Folder,
            DescriptorType::SymbolicLink => Self::Link,
            _ => Self::Other,
        }
    }
}

/// An entry of a folder.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Name of the entry, without the folder's path.
    pub name: String,
    /// Type of the entry.
    pub kind: Kind,
}

/// An open file.
#[derive(Debug)]
pub struct File {
    descriptor: Descriptor,
    position: u64,
    path: String,
}

impl Read for File {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = buffer.len().min(CHUNK) as u64;
        let (bytes, _end) =
            self.descriptor.read(wanted, self.position).map_err(|code| error(code, &self.path))?;
        buffer[..bytes.len()].copy_from_slice(&bytes);
        self.position += bytes.len() as u64;
        Ok(bytes.len())
    }
}

/// Opens a file for reading.
pub fn open(path: &str) -> io::Result<File> {
    let descriptor = open_at(path, OpenFlags::empty(), DescriptorFlags::READ)?;
    Ok(File { descriptor, position: 0, path: path.to_owned() })
}

/// Reads a file.
pub fn read(path: &str) -> io::Result<Vec<u8>> {
    let file = open(path)?;
    let size = file.descriptor.stat().map_err(|code| error(code, path))?.size;
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    loop {
        let (more, end) =
            file.descriptor.read(CHUNK as u64, bytes.len() as u64).map_err(|code| error(code, path))?;
        bytes.extend_from_slice(&more);
        if end {
            return Ok(bytes);
        }
    }
}

/// Reads a file that has UTF-8 text.
pub fn read_to_string(path: &str) -> io::Result<String> {
    String::from_utf8(read(path)?)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, format!("{path}: is not UTF-8 text")))
}

/// Writes a file, and replaces its content.
pub fn write(path: &str, bytes: &[u8]) -> io::Result<()> {
    let descriptor = open_at(path, OpenFlags::CREATE | OpenFlags::TRUNCATE, DescriptorFlags::WRITE)?;
    let mut position = 0;
    while position < bytes.len() {
        let end = bytes.len().min(position + CHUNK);
        let written =
            descriptor.write(&bytes[position..end], position as u64).map_err(|code| error(code, path))?;
        if written == 0 {
            return Err(io::Error::new(
                ErrorKind::WriteZero,
                format!("{path}: nothing more could be written"),
            ));
        }
        position += usize::try_from(written).unwrap_or(usize::MAX);
    }
    Ok(())
}

/// Returns the entries of a folder. The host gives them in the order of their names.
pub fn list(path: &str) -> io::Result<Vec<Entry>> {
    let descriptor = open_at(path, OpenFlags::DIRECTORY, DescriptorFlags::READ)?;
    let entries = descriptor.read_directory().map_err(|code| error(code, path))?;
    let mut list = Vec::new();
    while let Some(entry) = entries.read_directory_entry().map_err(|code| error(code, path))? {
        list.push(Entry { name: entry.name, kind: entry.type_.into() });
    }
    Ok(list)
}

/// Returns the type of a file and its size in bytes. A symbolic link is not followed.
pub fn stat(path: &str) -> io::Result<(Kind, u64)> {
    let (folder, rest) = locate(path)?;
    let stat = folder.stat_at(PathFlags::empty(), &rest).map_err(|code| error(code, path))?;
    Ok((stat.type_.into(), stat.size))
}

/// Creates a folder.
pub fn create_folder(path: &str) -> io::Result<()> {
    let (folder, rest) = locate(path)?;
    folder.create_directory_at(&rest).map_err(|code| error(code, path))
}

/// Removes a file.
pub fn remove(path: &str) -> io::Result<()> {
    let (folder, rest) = locate(path)?;
    folder.unlink_file_at(&rest).map_err(|code| error(code, path))
}

fn open_at(path: &str, open: OpenFlags, flags: DescriptorFlags) -> io::Result<Descriptor> {
    let (folder, rest) = locate(path)?;
    folder.open_at(PathFlags::SYMLINK_FOLLOW, &rest, open, flags).map_err(|code| error(code, path))
}

/// Returns the innermost granted folder that a path is in, and the path within that folder.
fn locate(path: &str) -> io::Result<(Descriptor, String)> {
    let mut best: Option<(Descriptor, String, usize)> = None;
    let mut granted = Vec::new();
    for (descriptor, folder) in get_directories() {
        let inside = match folder.trim_end_matches('/') {
            "" => path.strip_prefix('/'),
            prefix => path.strip_prefix(prefix).and_then(|rest| match rest {
                "" => Some(""),
                rest => rest.strip_prefix('/'),
            }),
        };
        if let Some(rest) = inside
            && best.as_ref().is_none_or(|(_, _, length)| folder.len() > *length)
        {
            let rest = if rest.is_empty() { "." } else { rest };
            best = Some((descriptor, rest.to_owned(), folder.len()));
        }
        granted.push(folder);
    }
    best.map(|(descriptor, rest, _)| (descriptor, rest)).ok_or_else(|| {
        let granted = if granted.is_empty() { "none".to_owned() } else { granted.join(", ") };
        io::Error::new(
            ErrorKind::PermissionDenied,
            format!("{path}: lies in no granted folder (granted: {granted})"),
        )
    })
}

fn error(code: ErrorCode, path: &str) -> io::Error {
    let kind = match code {
        ErrorCode::NoEntry => ErrorKind::NotFound,
        ErrorCode::Access | ErrorCode::NotPermitted => ErrorKind::PermissionDenied,
        ErrorCode::ReadOnly => ErrorKind::ReadOnlyFilesystem,
        ErrorCode::NotDirectory => ErrorKind::NotADirectory,
        ErrorCode::IsDirectory => ErrorKind::IsADirectory,
        ErrorCode::Exist => ErrorKind::AlreadyExists,
        ErrorCode::NotEmpty => ErrorKind::DirectoryNotEmpty,
        ErrorCode::Invalid | ErrorCode::IllegalByteSequence | ErrorCode::NameTooLong | ErrorCode::Loop => {
            ErrorKind::InvalidInput
        }
        ErrorCode::InsufficientSpace | ErrorCode::Quota => ErrorKind::StorageFull,
        ErrorCode::FileTooLarge => ErrorKind::FileTooLarge,
        ErrorCode::Unsupported => ErrorKind::Unsupported,
        ErrorCode::Busy | ErrorCode::TextFileBusy => ErrorKind::ResourceBusy,
        ErrorCode::Interrupted => ErrorKind::Interrupted,
        ErrorCode::WouldBlock => ErrorKind::WouldBlock,
        _ => ErrorKind::Other,
    };
    io::Error::new(kind, format!("{path}: {}", code.message()))
}
