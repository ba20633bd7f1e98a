//! Folders and files that need not exist yet. The folder is held open from its first use on.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::entry::Entry;
use super::folder::{HeldFolder, Opening, WriteOptions};

/// A folder that is opened at its first use, and remains the same folder from then on. Clones share the handle.
#[derive(Clone, Debug)]
pub struct FolderPlace(Arc<Place>);

#[derive(Debug)]
struct Place {
    /// The folder that contains it, and its name there; `None` for a folder that the user has named.
    above: Option<(FolderPlace, OsString)>,
    path: PathBuf,
    held: OnceLock<HeldFolder>,
}

impl FolderPlace {
    /// Returns the place of a folder that the user has named. The folder need not exist.
    pub fn at(path: &Path) -> Self {
        Self(Arc::new(Place { above: None, path: path.to_owned(), held: OnceLock::new() }))
    }

    /// Returns the place of a folder in this one, which need not exist. It is opened without following a link.
    #[must_use]
    pub fn child(&self, name: impl AsRef<OsStr>) -> Self {
        let name = name.as_ref().to_owned();
        let path = self.path().join(&name);
        Self(Arc::new(Place { above: Some((self.clone(), name)), path, held: OnceLock::new() }))
    }

    /// Returns the place of a file in this folder, which need not exist.
    pub fn file(&self, name: impl AsRef<OsStr>) -> FilePlace {
        FilePlace { folder: self.clone(), name: name.as_ref().to_owned() }
    }

    /// Returns its path, for messages.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Returns the open folder, which is opened if it was not yet. If it is missing, the error is
    /// [`ErrorKind::NotFound`].
    pub fn get(&self) -> io::Result<HeldFolder> {
        self.opened(|| match &self.0.above {
            Some((above, name)) => above.get()?.step(name),
            None => HeldFolder::open(&self.0.path),
        })
    }

    /// Returns the open folder. It and the folders around it are created if they are missing.
    pub fn make(&self) -> io::Result<HeldFolder> {
        self.opened(|| {
            if let Some((above, name)) = &self.0.above {
                above.make()?.make(name)
            } else {
                std::fs::create_dir_all(&self.0.path)?;
                HeldFolder::open(&self.0.path)
            }
        })
    }

    fn opened(&self, open: impl FnOnce() -> io::Result<HeldFolder>) -> io::Result<HeldFolder> {
        if let Some(held) = self.0.held.get() {
            return Ok(held.clone());
        }
        // If two threads open it at the same time, both use the handle that was stored first.
        let opened = open()?;
        Ok(self.0.held.get_or_init(|| opened).clone())
    }

    /// Reports whether the folder, or something in its place that is refused, exists.
    pub fn exists(&self) -> bool {
        let is_absent =
            |error: &io::Error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
        match self.get() {
            Ok(_) => true,
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            // If one of its parents is a file, the folder does not exist either.
            Err(_) => {
                std::fs::symlink_metadata(self.path()).map_or_else(|error| !is_absent(&error), |_| true)
            }
        }
    }
}

impl From<&Path> for FolderPlace {
    fn from(path: &Path) -> Self {
        Self::at(path)
    }
}

impl From<&PathBuf> for FolderPlace {
    fn from(path: &PathBuf) -> Self {
        Self::at(path)
    }
}

impl From<&Self> for FolderPlace {
    fn from(place: &Self) -> Self {
        place.clone()
    }
}

/// A file, which need not exist, in a folder that is held open from its first use on.
#[derive(Clone, Debug)]
pub struct FilePlace {
    folder: FolderPlace,
    name: OsString,
}

impl FilePlace {
    /// Returns the place of a file that the user has named.
    pub fn at(path: &Path) -> Self {
        let folder = path.parent().unwrap_or(Path::new(""));
        FolderPlace::at(folder).file(path.file_name().unwrap_or_default())
    }

    /// Returns the folder that contains it.
    pub fn folder(&self) -> &FolderPlace {
        &self.folder
    }

    /// Returns its name in the folder.
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// Returns its path, for messages.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }

    /// Returns the place of the file in the same folder whose name is this one's followed by a suffix.
    #[must_use]
    pub fn beside(&self, suffix: &str) -> Self {
        let mut name = self.name.clone();
        name.push(suffix);
        Self { folder: self.folder.clone(), name }
    }

    /// Returns the entry of the file; `None` if the file or its folder is missing.
    pub fn entry(&self) -> io::Result<Option<Entry>> {
        match self.folder.get() {
            Ok(folder) => folder.entry(&self.name),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the entry of the file. If it is missing, the error is [`ErrorKind::NotFound`].
    pub fn found(&self) -> io::Result<Entry> {
        self.entry()?.ok_or_else(|| io::Error::new(ErrorKind::NotFound, "it was removed a moment ago"))
    }

    /// Reports whether the file exists. A file that cannot be examined counts as existing.
    pub fn exists(&self) -> bool {
        self.entry().map_or(true, |found| found.is_some())
    }

    /// Reports whether the name still refers to the file that was opened.
    pub fn is_still(&self, opened: &Entry) -> bool {
        self.found().is_ok_and(|named| named.is_same(opened))
    }

    /// Opens the file, as [`HeldFolder::file`] does. An opening that may create the file creates its folder, too.
    pub fn open(&self, opening: Opening) -> io::Result<File> {
        let folder = match opening {
            Opening::Read | Opening::Change => self.folder.get()?,
            Opening::Make | Opening::Append | Opening::New => self.folder.make()?,
        };
        folder.file(&self.name, opening)
    }

    /// Reads the file, as [`HeldFolder::read`] does.
    pub fn read(&self, most: u64) -> io::Result<Vec<u8>> {
        self.folder.get()?.read(&self.name, most)
    }

    /// Writes the file, as [`HeldFolder::replace`] does. The folder is created if it is missing.
    pub fn replace(
        &self,
        options: WriteOptions,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        self.folder.make()?.replace(&self.name, options, fill)
    }

    /// Removes the file. One that is missing is an error.
    pub fn remove(&self) -> io::Result<()> {
        self.folder.get()?.remove(&self.name)
    }
}

impl From<&HeldFolder> for FolderPlace {
    fn from(folder: &HeldFolder) -> Self {
        let held = OnceLock::from(folder.clone());
        Self(Arc::new(Place { above: None, path: folder.path().to_owned(), held }))
    }
}

impl From<&Path> for FilePlace {
    fn from(path: &Path) -> Self {
        Self::at(path)
    }
}

impl From<&PathBuf> for FilePlace {
    fn from(path: &PathBuf) -> Self {
        Self::at(path)
    }
}

impl From<&Self> for FilePlace {
    fn from(place: &Self) -> Self {
        place.clone()
    }
}
