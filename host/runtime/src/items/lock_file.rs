//! The lockfile of a project: the versions of the pulled items that it uses.

use std::path::{Path, PathBuf};

use graph_core::item::ItemType;
use graph_registry::lock::{FILE, Lock, LockedItem};
use graph_registry::reference::Reference;

use crate::error::{Error, Result};
use crate::project::paths::absolute;
use crate::project::text_file;
use crate::project::user_home::write_atomic;
use crate::project::{BaseFolder, Project};

/// The lockfile of a project, `graph-host.lock` in its folder.
#[derive(Debug)]
pub struct LockFile {
    path: PathBuf,
    base: BaseFolder,
    /// Its entries, by type and id.
    pub lock: Lock,
}

impl LockFile {
    /// Reads the lockfile of a project; a missing file has no entries.
    pub fn open(project: &Project) -> Result<Self> {
        let (path, base) = (project.folder().join(FILE), project.base().clone());
        let lock = match text_file::read(&path) {
            Ok(text) => Lock::parse(&base.show(&path), &text)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Lock::default(),
            Err(error) => return Err(Error::read("the lockfile", &path, &error)),
        };
        Ok(Self { path, base, lock })
    }

    /// Checks whether there are entries. The error is a sentence with the path of the file.
    pub fn has_entries(&self) -> Result<(), String> {
        if !self.lock.is_empty() {
            return Ok(());
        }
        let reason = if self.path.exists() { "is empty" } else { "was not found" };
        Err(format!("{} {reason}", self.base.show(&self.path)))
    }

    /// Returns the path of the lockfile, whether it exists or not.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    /// Returns the entry of an item; a directory in it is resolved from the current folder.
    pub fn get(&self, item_type: ItemType, id: &str) -> Option<LockedItem> {
        self.lock.get(item_type, id).map(|locked| self.resolved(locked))
    }

    /// Returns the entry with its directory made absolute.
    pub fn resolved(&self, locked: &LockedItem) -> LockedItem {
        let reference = locked.reference.clone().in_folder(|folder| self.folder().join(folder));
        LockedItem { reference, ..locked.clone() }
    }

    /// Adds an entry. A directory below the lockfile's is stored relative to it, so that the project can be moved.
    pub fn insert(&mut self, id: &str, mut locked: LockedItem) {
        let root = absolute(self.folder());
        locked.reference = Reference { digest: None, ..locked.reference }.in_folder(|folder| {
            let folder = absolute(folder);
            match folder.strip_prefix(&root) {
                Ok(below) if below.as_os_str().is_empty() => PathBuf::from("."),
                Ok(below) => below.to_path_buf(),
                Err(_) => folder,
            }
        });
        self.lock.insert(id, locked);
    }

    /// Writes the file and returns `true`, or returns `false` if it is unchanged.
    pub fn write(&self) -> Result<bool> {
        let text = self.lock.to_text();
        if text_file::read(&self.path).is_ok_and(|there| there == text) {
            return Ok(false);
        }
        write_atomic(&self.path, text.as_bytes(), false)
            .map_err(|error| Error::write("the lockfile", &self.path, &error))?;
        Ok(true)
    }
}
