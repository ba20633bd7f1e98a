//! The user's space: keys, trusted keys, this host's identity, items, and the cache of compiled components.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;
use graph_core::diagnostic::printable;
use graph_core::trust::SigningKey;
use graph_store::held::{FilePlace, WriteOptions};

use crate::error::{Error, Result};
use crate::project::BaseFolder;
use crate::project::key_pairs::Pairs;
use crate::project::private_files;
use crate::project::text_file;

/// The environment variable that moves the user's space, with the cache, into one folder.
pub(crate) const HOME_VARIABLE: &str = "GRAPH_HOST_HOME";

/// The user's space: keys, trust store, items and caches. Folders are made when something is written into them.
#[derive(Clone, Debug)]
pub struct Home {
    root: PathBuf,
    cache: PathBuf,
    base: BaseFolder,
}

impl Home {
    /// Finds the user's space: `$GRAPH_HOST_HOME`, or the platform's folder for application data. A relative path is
    /// refused: it would be another folder in each project, and in a stranger's project it would hold the stranger's
    /// keys and trust.
    pub fn find() -> Result<Self> {
        let variable = |name: &str| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
        if let Some(root) = variable(HOME_VARIABLE) {
            return if root.is_absolute() { Ok(Self::at(root)) } else { Err(relative(HOME_VARIABLE, &root)) };
        }
        for name in ["HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"] {
            if let Some(path) = variable(name).filter(|path| !path.is_absolute()) {
                return Err(relative(name, &path));
            }
        }
        let base = etcetera::choose_base_strategy().map_err(|error| {
            Error::usage(format!("there is no home folder for keys and trust: {error}"))
                .caused_by(error)
                .help(format!("set {HOME_VARIABLE} to a folder of your own"))
        })?;
        let (data, cache) = (base.data_dir(), base.cache_dir());
        if let Some(path) = [&data, &cache].into_iter().find(|path| !path.is_absolute()) {
            return Err(relative("HOME", path));
        }
        let (root, cache) = (data.join("graph-host"), cache.join("graph-host"));
        Ok(Self { root, cache, base: BaseFolder::default() })
    }

    /// Makes a space in one folder, including the cache.
    pub fn at(root: PathBuf) -> Self {
        Self { cache: root.join("cache"), root, base: BaseFolder::default() }
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

    /// Returns the folder of the user's space.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns `keys/`, the key pairs made by `keys generate`.
    pub fn keys(&self) -> PathBuf {
        self.root.join("keys")
    }

    /// Returns `trust.yaml`, the keys that this user trusts.
    pub fn trust_file(&self) -> PathBuf {
        self.root.join("trust.yaml")
    }

    /// Returns `yanks/`, the yanks that were seen, by item.
    pub fn yanks(&self) -> PathBuf {
        self.root.join("yanks")
    }

    /// Returns `registries`, the registries that this user has named, a line for each.
    pub fn registries(&self) -> PathBuf {
        self.root.join("registries")
    }

    /// Returns the folder of compiled components.
    pub fn cache(&self) -> &Path {
        &self.cache
    }

    /// Returns `built/`, the build folder of all nodes; since they share it, a second node compiles only its own crate.
    pub fn built(&self) -> PathBuf {
        self.root.join("built")
    }

    /// Returns `pulled/`, items that commands have named by a reference, in a folder for each digest.
    pub fn fetched(&self) -> PathBuf {
        self.root.join("pulled")
    }

    /// Returns `installed/`, installed items, with a folder for each type as in `.ai`.
    pub fn installed(&self) -> PathBuf {
        self.root.join("installed")
    }

    /// Returns `identity.pem`, the key with which this host signs checkpoints.
    pub fn identity_file(&self) -> PathBuf {
        self.root.join("identity.pem")
    }

    /// Returns this host's identity key, made at first use. Processes that make it at the same time agree on one.
    pub fn identity(&self) -> Result<SigningKey> {
        let path = self.identity_file();
        match text_file::read(&path) {
            Ok(text) => read_identity(&path, &text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.make_identity(&path),
            Err(error) => Err(Error::read("the host's identity key", &path, &error)),
        }
    }

    /// Cleans up after killed processes: removes temporary files, which may contain private keys, undoes rotations of
    /// this host's key that were not completed, and restores missing public halves of key pairs. A space that does not
    /// exist is not made, and whatever cannot be cleaned up is left for the next command.
    pub fn clean_up(&self) {
        for folder in [self.root(), &self.keys(), &self.identities()] {
            private_files::remove_leftovers(folder);
        }
        self.undo_half_rotation();
        Pairs::in_home(self).restore_public_halves();
    }

    fn make_identity(&self, path: &Path) -> Result<SigningKey> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| {
            Error::storage(format!("the system gives no random bytes for a key: {error}")).caused_by(error)
        })?;
        let key = SigningKey::from_seed(&seed);
        let pem = key.to_pem().map_err(|error| Error::storage(error.to_string()).caused_by(error))?;
        create_private_folder(&self.root)?;
        match write_new_private(path, pem.as_bytes()) {
            Ok(true) => Ok(key),
            Ok(false) => {
                let text = text_file::read(path)
                    .map_err(|error| Error::read("the host's identity key", path, &error))?;
                read_identity(path, &text)
            }
            Err(error) => Err(Error::write("the host's identity key", path, &error)),
        }
    }
}

/// Makes the error of a variable that names the user's space by a relative path.
fn relative(name: &str, path: &Path) -> Error {
    let shown = printable(&path.display().to_string()).into_owned();
    Error::usage(format!(
        "{name} is the relative path `{shown}`: keys and trust would be looked for in the current folder"
    ))
    .help(format!("set {name} to an absolute path, or {HOME_VARIABLE} to a folder of your own"))
}

fn read_identity(path: &Path, text: &str) -> Result<SigningKey> {
    SigningKey::from_pem(text).map_err(|error| {
        Error::integrity(format!("the host's identity key {} is unusable: {error}", path.display())).caused_by(error).help(
            "put the key back from a copy; a new one (move the file away) cannot resume runs signed by the old one",
        )
    })
}

/// Makes a folder that only its owner may enter, with the folders above it.
pub fn create_private_folder(path: &Path) -> Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(path).map_err(|error| Error::write("the folder", path, &error))
}

/// Writes a file that only its owner may read. `false` if the path already exists. The file appears whole or not at all.
pub(crate) fn write_new_private(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    private_files::write_new(path, bytes)
}

/// Syncs the folder of a file, so that the file's name survives a power failure.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    FilePlace::at(path).folder().get()?.sync()
}

/// Checks whether a path is a pipe, a terminal or a device such as `/dev/null`. Bytes are written to it directly:
/// replacing it with a file, as root could, would be wrong.
pub fn is_stream(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Writes or replaces a file, which appears whole or not at all. With `private`, only its owner may read it.
pub fn write_atomic(path: &Path, bytes: &[u8], private: bool) -> io::Result<()> {
    if is_stream(path) {
        return fs::File::options().write(true).open(path)?.write_all(bytes);
    }
    let place = FilePlace::at(path);
    let options = WriteOptions::with_mode(if private { 0o600 } else { 0o644 });
    place.folder().get()?.replace(place.name(), options, |file| file.write_all(bytes))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_identity_is_made_once_and_kept_private() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("space"));
        let key = home.identity().unwrap();
        assert_eq!(home.identity().unwrap().id(), key.id());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(&home.identity_file()), 0o600);
            assert_eq!(mode(home.root()), 0o700);
        }
        fs::write(home.identity_file(), "not a key").unwrap();
        let error = home.identity().unwrap_err();
        assert_eq!(error.kind(), crate::error::Kind::Integrity);
    }

    #[test]
    fn a_new_private_file_never_replaces_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        assert!(write_new_private(&path, b"1").unwrap());
        assert!(!write_new_private(&path, b"2").unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"1");
        write_atomic(&path, b"3", false).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"3");
    }

    #[cfg(unix)]
    #[test]
    fn no_file_takes_the_place_of_a_pipe() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let reader = std::thread::spawn({
            let path = path.clone();
            move || fs::read(path).unwrap()
        });
        write_atomic(&path, b"1", false).unwrap();
        assert_eq!(reader.join().unwrap(), b"1");
        assert!(is_stream(&path));
    }
}
