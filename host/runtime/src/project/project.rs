//! Projects: folders with a `.ai` folder, which contains items and the state of runs.

use std::path::{Path, PathBuf};

use graph_store::held::FolderPlace;

use crate::error::{Error, Result};
use crate::project::BaseFolder;
use crate::sources::Sources;

/// Name of the folder that makes a folder a project.
pub(crate) const MARK: &str = ".ai";
/// Name of the folder in it with the state of runs.
const STATE: &str = "state";

/// Finds the nearest folder with `.ai` in it, at or above `start`.
pub fn nearest(start: &Path) -> Option<PathBuf> {
    start.ancestors().find(|folder| folder.join(MARK).is_dir()).map(Path::to_path_buf)
}

/// The project that keeps a run: its state, its knowledge, and the lockfile that its items are checked against.
///
/// Its folders are held open from their first use on, and paths in them are resolved from their handles: a project's
/// component that has been granted the folder cannot exchange them for another project's.
#[derive(Clone, Debug)]
pub struct Project {
    folder: PathBuf,
    mark: FolderPlace,
    state: FolderPlace,
    base: BaseFolder,
}

impl PartialEq for Project {
    fn eq(&self, other: &Self) -> bool {
        self.folder == other.folder
    }
}

impl Eq for Project {}

impl Project {
    /// Opens the project in this folder, which need not have a `.ai` folder yet.
    pub fn at(folder: PathBuf) -> Self {
        let mark = FolderPlace::at(&folder).child(MARK);
        let state = mark.child(STATE);
        // From here on, these folders are held. A failure to open them is reported at their use.
        let _ = state.get();
        Self { folder, mark, state, base: BaseFolder::default() }
    }

    /// Opens the project around a folder: the nearest one with `.ai`, or the folder itself.
    pub fn around(folder: PathBuf) -> Self {
        Self::at(nearest(&folder).unwrap_or(folder))
    }

    /// Sets the folder that messages show paths relative to.
    #[must_use]
    pub fn with_base(self, base: BaseFolder) -> Self {
        Self { base, ..self }
    }

    /// Returns the folder that messages show paths relative to.
    pub fn base(&self) -> &BaseFolder {
        &self.base
    }

    /// Returns the folder that contains `.ai`, or will contain it.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns its `.ai` folder.
    pub fn mark(&self) -> &FolderPlace {
        &self.mark
    }

    /// Returns its state folder, `.ai/state`.
    pub fn state(&self) -> &FolderPlace {
        &self.state
    }
}

/// Checks that the folders of the sources exist and are folders.
pub fn check_folders(sources: &Sources, base: &BaseFolder) -> Result<()> {
    sources.items.iter().chain(&sources.project).try_for_each(|folder| check_folder(folder, base))
}

/// Checks that a folder the user named exists and is a folder.
pub fn check_folder(folder: &Path, base: &BaseFolder) -> Result<()> {
    let shown = || base.show(folder);
    match std::fs::metadata(folder) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(Error::usage(format!("{} is a file, a folder is needed", shown()))),
        Err(error) => Err(Error::read("the folder", Path::new(&shown()), &error)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_nearest_marked_folder_is_the_project() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b/c");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::create_dir(folder.path().join("a/.ai")).unwrap();
        std::fs::write(folder.path().join("a/b/.ai"), "a file is no mark").unwrap();
        assert_eq!(nearest(&inner), Some(folder.path().join("a")));
        assert_eq!(nearest(&folder.path().join("a")), Some(folder.path().join("a")));
    }
}
