//! Folders that a command writes whole: a new one replaces an older one of the same kind, and nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::project::BaseFolder;
use crate::project::paths::absolute;
use crate::project::text_file;

/// Limit of a file, in bytes.
const LARGEST_FILE: u64 = 128 << 20;
/// Limit of the number of files and folders.
const MOST_FILES: usize = 100_000;

/// A kind of folder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WholeFolder {
    /// Name of the kind in messages: `bundle`.
    pub(crate) noun: &'static str,
    /// Name of the file that identifies such a folder.
    pub(crate) marker: &'static str,
    /// Name of that file in messages: `the manifest`.
    pub(crate) marker_name: &'static str,
}

impl WholeFolder {
    /// Fails for a folder that may not be written to: one that holds anything but an older one of this kind. `older`
    /// reads the marker and returns a predicate for the paths of the older one, `None` for the marker of something
    /// else, or an error.
    pub(crate) fn replaceable<B: Fn(&str) -> bool>(
        self,
        folder: &Path,
        base: &BaseFolder,
        older: impl FnOnce(&[u8]) -> Result<Option<B>>,
    ) -> Result<()> {
        let Self { noun, marker, marker_name } = self;
        let in_use = |what: &str| {
            Err(Error::usage(format!(
                "{} {what}: a {noun} is written to a folder of its own",
                base.show(folder)
            ))
            .help(format!("name a new folder, an empty one, or one with an older {noun}: -o DIR")))
        };
        match fs::symlink_metadata(folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(Error::read("the folder", folder, &error)),
            Ok(metadata) if !metadata.is_dir() => return in_use("is not a folder"),
            Ok(_) => {}
        }
        let mut entries = fs::read_dir(folder).map_err(|error| Error::read("the folder", folder, &error))?;
        if entries.next().is_none() {
            return Ok(());
        }
        match read(folder, marker) {
            // Only files of the older one may be removed.
            Ok(bytes) => match older(&bytes)? {
                Some(belongs) => match paths(folder, base)?.into_iter().find(|path| !belongs(path)) {
                    Some(path) => {
                        in_use(&format!("has a file that does not belong to the {noun} in it, {path}"))
                    }
                    None => Ok(()),
                },
                None => in_use("is not empty"),
            },
            Err(error) if error.kind() == ErrorKind::NotFound => in_use("is not empty"),
            Err(error) => Err(Error::read(marker_name, &folder.join(marker), &error)),
        }
    }

    /// Writes the files. After an error, the folder is unchanged. The caller has checked that the folder is replaceable.
    pub(crate) fn write(self, files: &BTreeMap<String, Vec<u8>>, folder: &Path) -> Result<()> {
        let what = format!("the {}", self.noun);
        let target = absolute(folder);
        let parent = target.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(parent).map_err(|error| Error::write("the folder", parent, &error))?;
        let failed = |error: &std::io::Error| Error::write(&what, folder, error);
        let new = self.builder(parent)?;
        for (path, bytes) in files {
            let file = new.path().join(path);
            let made =
                file.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&file, bytes));
            made.map_err(|error| failed(&error))?;
        }
        let older = self.builder(parent)?;
        let moved = older.path().join(self.noun);
        let exists = fs::symlink_metadata(&target).is_ok();
        if exists {
            fs::rename(&target, &moved).map_err(|error| failed(&error))?;
        }
        if let Err(error) = fs::rename(new.path(), &target) {
            if exists {
                fs::rename(&moved, &target).map_err(|error| failed(&error))?;
            }
            return Err(failed(&error));
        }
        Ok(())
    }

    /// Makes a temporary folder next to the final one.
    fn builder(self, parent: &Path) -> Result<tempfile::TempDir> {
        use std::os::unix::fs::PermissionsExt as _;
        // A server of static files runs as another user.
        let open = fs::Permissions::from_mode(0o755);
        let prefix = format!(".graph-host-{}-", self.noun);
        let made = tempfile::Builder::new().prefix(&prefix).permissions(open).tempdir_in(parent);
        made.map_err(|error| Error::write("the folder", parent, &error))
    }
}

/// Reads a regular file of a folder, of at most [`LARGEST_FILE`] bytes.
pub(crate) fn read(folder: &Path, path: &str) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    text_file::open_unlinked(&folder.join(path))?.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(text_file::too_large(LARGEST_FILE));
    }
    Ok(bytes)
}

/// Lists the paths of all files below a folder, with `/`.
pub(crate) fn paths(folder: &Path, base: &BaseFolder) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(inner) = waiting.pop() {
        let here = folder.join(&inner);
        let entries = fs::read_dir(&here).map_err(|error| Error::read("the folder", &here, &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| Error::read("the folder", &here, &error))?;
            let path = inner.join(entry.file_name());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                waiting.push(path);
            } else {
                found.push(path.to_string_lossy().into_owned());
            }
            if found.len() + waiting.len() > MOST_FILES {
                return Err(Error::limit(format!("{} has more than {MOST_FILES} files", base.show(folder))));
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_file_that_is_not_read_is_refused_for_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::File::create(at("large")).unwrap().set_len(LARGEST_FILE + 1).unwrap();
        fs::write(at("plain"), "plain").unwrap();
        fs::create_dir(at("folder")).unwrap();
        std::os::unix::fs::symlink("plain", at("link")).unwrap();
        text_file::tests::make_pipe(&at("pipe"));
        assert_eq!(read(folder.path(), "plain").unwrap(), b"plain");
        for (name, reason) in [
            ("large", "is larger than 128 MiB"),
            ("folder", "is a folder, a file is needed"),
            ("link", "is not a regular file"),
            ("pipe", "is not a regular file"),
            ("none", "does not exist"),
        ] {
            let error = read(folder.path(), name).unwrap_err();
            let error = Error::read("the file", &at(name), &error);
            assert!(error.message().ends_with(reason), "{name}: {error}");
        }
    }
}
