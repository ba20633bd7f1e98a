//! Folders and files that need not be there, in folders that are held once they were opened.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::entry::Entry;
use super::folder::{HeldFolder, Opening, Written};

/// A folder that is opened when it is first needed, and stays the same one from then on. Clones share it.
#[derive(Clone, Debug)]
pub struct FolderPlace(Arc<Place>);

#[derive(Debug)]
struct Place {
    /// The folder that it is in; without one, it is a folder that the user has named.
    above: Option<(FolderPlace, OsString)>,
    path: PathBuf,
    held: OnceLock<HeldFolder>,
}

impl FolderPlace {
    /// A folder that the user has named, which need not be there.
    pub fn at(path: &Path) -> Self {
        Self(Arc::new(Place { above: None, path: path.to_owned(), held: OnceLock::new() }))
    }

    /// A folder in this one, which need not be there. It is opened without following a link.
    #[must_use]
    pub fn child(&self, name: impl AsRef<OsStr>) -> Self {
        let name = name.as_ref().to_owned();
        let path = self.path().join(&name);
        Self(Arc::new(Place { above: Some((self.clone(), name)), path, held: OnceLock::new() }))
    }

    /// A file in this folder, which need not be there.
    pub fn file(&self, name: impl AsRef<OsStr>) -> FilePlace {
        FilePlace { folder: self.clone(), name: name.as_ref().to_owned() }
    }

    /// Its path, for messages.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// The open folder. One that is missing is [`ErrorKind::NotFound`].
    pub fn get(&self) -> io::Result<HeldFolder> {
        self.opened(|| match &self.0.above {
            Some((above, name)) => above.get()?.step(name),
            None => HeldFolder::open(&self.0.path),
        })
    }

    /// The open folder. It and the ones that it is in are made where they are missing.
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
        // Where two threads open it at once, both use the one that was first.
        let opened = open()?;
        Ok(self.0.held.get_or_init(|| opened).clone())
    }

    /// True if there is such a folder, or something in its place that is refused.
    pub fn exists(&self) -> bool {
        let is_absent =
            |error: &io::Error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
        match self.get() {
            Ok(_) => true,
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            // Where a file is in the place of a folder around it, there is nothing either.
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

/// A file in a folder that is held once it was opened. It need not be there.
#[derive(Clone, Debug)]
pub struct FilePlace {
    folder: FolderPlace,
    name: OsString,
}

impl FilePlace {
    /// A file that the user has named.
    pub fn at(path: &Path) -> Self {
        let folder = path.parent().unwrap_or(Path::new(""));
        FolderPlace::at(folder).file(path.file_name().unwrap_or_default())
    }

    /// The folder that it is in.
    pub fn folder(&self) -> &FolderPlace {
        &self.folder
    }

    /// Its name in the folder.
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// Its path, for messages.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }

    /// The file next to it whose name has a suffix in addition.
    #[must_use]
    pub fn beside(&self, suffix: &str) -> Self {
        let mut name = self.name.clone();
        name.push(suffix);
        Self { folder: self.folder.clone(), name }
    }

    /// The entry of the file; `None` where it or its folder is missing.
    pub fn entry(&self) -> io::Result<Option<Entry>> {
        match self.folder.get() {
            Ok(folder) => folder.entry(&self.name),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The entry of the file, which has to be there.
    pub fn found(&self) -> io::Result<Entry> {
        self.entry()?.ok_or_else(|| io::Error::new(ErrorKind::NotFound, "it was removed a moment ago"))
    }

    /// True if it exists, or cannot be looked at.
    pub fn exists(&self) -> bool {
        self.entry().map_or(true, |found| found.is_some())
    }

    /// True if it is still the file that was opened.
    pub fn is_still(&self, opened: &Entry) -> bool {
        self.found().is_ok_and(|named| named.is_same(opened))
    }

    /// Opens it, as [`HeldFolder::file`] does. The folder is made where the file may be made.
    pub fn open(&self, opening: Opening) -> io::Result<File> {
        let folder = match opening {
            Opening::Read | Opening::Change => self.folder.get()?,
            Opening::Make | Opening::Append | Opening::New => self.folder.make()?,
        };
        folder.file(&self.name, opening)
    }

    /// Reads it, as [`HeldFolder::read`] does.
    pub fn read(&self, most: u64) -> io::Result<Vec<u8>> {
        self.folder.get()?.read(&self.name, most)
    }

    /// Writes it, as [`HeldFolder::replace`] does. The folder is made where it is missing.
    pub fn replace(
        &self,
        written: Written,
        fill: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        self.folder.make()?.replace(&self.name, written, fill)
    }

    /// Removes it.
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
