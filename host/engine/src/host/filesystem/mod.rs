//! `wasi:filesystem` over the granted folders.
//!
//! A component sees only regular files and folders: other entries of a folder can be listed, not opened, so that no call waits for a
//! pipe or a device. Differences between hosts are hidden: entries are sorted by name, times are absent, the number of links is 1, and the
//! metadata hash covers path, kind and size. cap-std resolves paths beneath the granted folder, whatever links are in it.

// Types that the generated bindings name have to be `pub`, though they are not reachable from outside of this crate.
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

/// An open folder that is visible to a component.
pub(crate) struct OpenMount {
    guest: String,
    /// `None` if a journal answers, and no file of this machine is read.
    dir: Option<Arc<Dir>>,
    writable: bool,
}

/// The granted folders, opened once and used by every call.
#[derive(Default)]
pub(crate) struct Mounts(Vec<OpenMount>);

impl Mounts {
    /// Opens the folders of a grant; the error names the one that could not be opened.
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

    /// Creates the folders of a grant without opening them.
    pub(crate) fn unopened(mounts: &[Mount]) -> Self {
        let named = |mount: &Mount| OpenMount {
            guest: mount.guest.clone(),
            dir: None,
            writable: mount.access == Access::ReadWrite,
        };
        Self(mounts.iter().map(named).collect())
    }

    /// Opens a file again by the component's path of it.
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

/// A file or folder that a component has opened.
pub enum FileDescriptor {
    File(OpenFile),
    Folder(OpenFolder),
}

/// An open regular file.
#[derive(Clone)]
pub struct OpenFile {
    /// `None` if a journal answers.
    file: Option<Arc<std::fs::File>>,
    path: String,
    readable: bool,
    writable: bool,
}

/// A folder that a component has opened, with its permissions.
#[derive(Clone)]
pub struct OpenFolder {
    /// `None` if a journal answers, except for granted folders that were opened.
    dir: Option<Arc<Dir>>,
    path: String,
    writable: bool,
}

/// The entries of a folder that are still to be returned, by name.
pub struct FolderEntries(std::vec::IntoIter<DirectoryEntry>);
