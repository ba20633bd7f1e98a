//! `wasi:filesystem` over the granted folders.
//!
//! A component sees regular files and folders only: anything else in a folder can be listed, not opened, so that no
//! call waits for a pipe or a device. What differs from host to host is hidden: entries come sorted by name, times
//! are absent, links count as one, and the metadata hash is made of path, kind and size. Paths are resolved by
//! cap-std beneath the granted folder, whatever links are in it.

// What the generated bindings name has to be `pub`, though nothing outside of this crate can reach it.
#![allow(unreachable_pub)]

mod error;
mod folder;
mod host;
mod mount;
mod recorded;
mod streams;

use std::sync::Arc;

use cap_std::fs::Dir;
use graph_core::capability::{Access, Mount};

use crate::bindings::wasi::filesystem::types::DirectoryEntry;

pub use error::FsError;
pub(crate) use mount::UnusableFolder;

/// An open folder that a component sees.
pub(crate) struct OpenMount {
    guest: String,
    /// None where a journal answers, and no file of this machine is read.
    dir: Option<Arc<Dir>>,
    writable: bool,
}

/// The granted folders, opened once and used by every call.
#[derive(Default)]
pub(crate) struct Mounts(Vec<OpenMount>);

impl Mounts {
    /// Opens the folders of a grant; says which could not be opened.
    pub(crate) fn open(mounts: &[Mount]) -> Result<Self, UnusableFolder> {
        let open = |mount: &Mount| {
            Ok(OpenMount {
                guest: mount.guest.clone(),
                dir: Some(Arc::new(mount::open(&mount.host)?)),
                writable: mount.access == Access::ReadWrite,
            })
        };
        mounts.iter().map(open).collect::<Result<_, _>>().map(Self)
    }

    /// The folders of a grant, of which none is opened.
    pub(crate) fn unopened(mounts: &[Mount]) -> Self {
        let named = |mount: &Mount| OpenMount {
            guest: mount.guest.clone(),
            dir: None,
            writable: mount.access == Access::ReadWrite,
        };
        Self(mounts.iter().map(named).collect())
    }

    /// Opens a file again by the path that the component used for it.
    pub(crate) fn open_again(&self, path: &str) -> std::io::Result<std::fs::File> {
        let below = |mount: &OpenMount| {
            let rest = path.strip_prefix(mount.guest.trim_end_matches('/'))?.strip_prefix('/')?;
            Some((mount.guest.len(), mount.dir.clone(), rest.to_owned()))
        };
        let found = self.0.iter().filter_map(below).max_by_key(|(length, ..)| *length);
        let (_, dir, rest) = found.ok_or(std::io::ErrorKind::NotFound)?;
        let dir = dir.ok_or(std::io::ErrorKind::PermissionDenied)?;
        let file = folder::open_to_read(&dir, &rest)?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(std::io::ErrorKind::InvalidInput.into()) }
    }
}

/// A file or folder that a component holds open.
pub enum Descriptor {
    File(OpenFile),
    Folder(OpenFolder),
}

/// An open regular file.
#[derive(Clone)]
pub struct OpenFile {
    /// None where a journal answers.
    file: Option<Arc<std::fs::File>>,
    path: String,
    readable: bool,
    writable: bool,
}

/// A folder that a component has open, with what it may do there.
#[derive(Clone)]
pub struct OpenFolder {
    /// None where a journal answers, except for granted folders that were opened.
    dir: Option<Arc<Dir>>,
    path: String,
    writable: bool,
}

/// The entries of a folder that are still to be given, by name.
pub struct Entries(std::vec::IntoIter<DirectoryEntry>);
