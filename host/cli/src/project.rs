//! Projects: folders with a `.ai` folder in them, where items and the state of runs lie.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The folder that makes a project.
pub const MARK: &str = ".ai";

/// The nearest folder with `.ai` in it, at or above `start`.
pub fn nearest(start: &Path) -> Option<PathBuf> {
    start.ancestors().find(|folder| folder.join(MARK).is_dir()).map(Path::to_path_buf)
}

/// The folder that the command was typed in.
pub fn current_folder() -> Result<PathBuf> {
    std::env::current_dir()
        .map_err(|error| Error::storage(format!("the current folder cannot be used: {error}")))
}

/// The project whose state a command works on: the one around the current folder, or the current folder itself.
pub fn of_current_folder() -> Result<PathBuf> {
    let folder = current_folder()?;
    Ok(nearest(&folder).unwrap_or(folder))
}

/// The project that is named, or the one around the current folder.
pub fn named(folder: Option<&Path>) -> Result<PathBuf> {
    let Some(folder) = folder else { return of_current_folder() };
    check_folder(folder)?;
    Ok(folder.to_path_buf())
}

/// Whether a folder that is named is one.
pub fn check_folder(folder: &Path) -> Result<()> {
    match std::fs::metadata(folder) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(Error::usage(format!("{} is a file, a folder is needed", shown(folder)))),
        Err(error) => Err(Error::read("the folder", Path::new(&shown(folder)), &error)),
    }
}

/// A path for people: relative to the current folder where it lies in it.
pub fn shown(path: &Path) -> String {
    let relative =
        std::env::current_dir().ok().and_then(|folder| path.strip_prefix(folder).ok().map(Path::to_path_buf));
    let path = relative.filter(|path| !path.as_os_str().is_empty()).unwrap_or_else(|| path.to_path_buf());
    crate::output::printable(&path.display().to_string()).into_owned()
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
