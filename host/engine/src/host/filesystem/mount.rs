//! Opens a granted folder by exactly the path that the manifest names.
//!
//! If a component of the path were a link, as an untrusted project may contain, another folder would be granted than the manifest shows to
//! the user. So the folder is opened component by component from the root, without following links.

use std::io;
use std::path::{Component, Path};

use cap_std::fs::Dir;

use crate::error::PrepareError;

/// The reason why a granted folder cannot be used.
#[derive(Debug)]
pub(crate) enum UnusableFolder {
    /// The folder cannot be opened.
    Unopened { folder: String, source: io::Error },
    /// A component of its path is a link.
    Linked { folder: String, link: String, target: String },
}

impl UnusableFolder {
    /// Returns the error of preparing an item.
    pub(crate) fn granted_to(self, id: &str) -> PrepareError {
        let id = id.to_owned();
        match self {
            Self::Unopened { folder, source } => PrepareError::Folder { id, folder, source },
            Self::Linked { folder, link, target } => PrepareError::LinkedFolder { id, folder, link, target },
        }
    }
}

/// Opens the folder at an absolute path.
pub(super) fn open(folder: &str) -> Result<Dir, UnusableFolder> {
    if let Some(link) = first_link(Path::new(folder)) {
        let target = std::fs::canonicalize(folder).map_or_else(
            |_| std::fs::read_link(&link).map(|target| target.display().to_string()).unwrap_or_default(),
            |target| target.display().to_string(),
        );
        return Err(UnusableFolder::Linked {
            folder: folder.to_owned(),
            link: link.display().to_string(),
            target,
        });
    }
    open_steps(Path::new(folder))
        .map_err(|source| UnusableFolder::Unopened { folder: folder.to_owned(), source })
}

/// Returns the first component of a path that is a link.
fn first_link(path: &Path) -> Option<std::path::PathBuf> {
    let steps: Vec<&Path> = path.ancestors().collect();
    steps.into_iter().rev().find(|step| step.is_symlink()).map(Path::to_path_buf)
}

/// Opens a folder from the root, component by component. The path was checked before: a new link in it is an error.
#[cfg(unix)]
fn open_steps(path: &Path) -> io::Result<Dir> {
    use rustix::fs::{CWD, Mode, OFlags, openat};
    let passing = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    #[cfg(target_os = "linux")]
    let passing = passing | OFlags::PATH;
    let mut folder = openat(CWD, "/", passing, Mode::empty())?;
    for step in path.components() {
        match step {
            Component::RootDir | Component::CurDir => {}
            Component::Normal(name) => folder = openat(&folder, name, passing, Mode::empty())?,
            Component::ParentDir | Component::Prefix(_) => return Err(io::ErrorKind::InvalidInput.into()),
        }
    }
    let opened = openat(&folder, ".", OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    Ok(Dir::from_std_file(std::fs::File::from(opened)))
}

#[cfg(not(unix))]
fn open_steps(path: &Path) -> io::Result<Dir> {
    Dir::open_ambient_dir(path, cap_std::ambient_authority())
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_path_through_a_link_is_told_with_where_it_leads() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("secret/inner")).unwrap();
        std::os::unix::fs::symlink(root.join("secret"), root.join("data")).unwrap();
        for (path, target) in [("data", "secret"), ("data/inner", "secret/inner")] {
            let error = open(root.join(path).to_str().unwrap()).unwrap_err();
            let UnusableFolder::Linked { link, target: leads, .. } = error else { panic!("{error:?}") };
            assert_eq!(Path::new(&link), root.join("data"));
            assert_eq!(Path::new(&leads), root.join(target));
        }
        let dir = open(root.join("secret").to_str().unwrap()).unwrap();
        assert!(dir.metadata("inner").unwrap().is_dir());
        let missing = open(root.join("none").to_str().unwrap()).unwrap_err();
        assert!(
            matches!(missing, UnusableFolder::Unopened { source, .. } if source.kind() == io::ErrorKind::NotFound)
        );
        assert!(open_steps(&root.join("data")).is_err(), "a link that came after the look");
    }
}
