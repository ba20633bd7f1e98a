//! Compiled components on disk.
//!
//! Machine code from a file is run as it is, so a file counts only if this user's own key vouches for every byte of
//! it. A file is read once; what was checked is what is loaded. Anything else, a changed file, one of another engine
//! or one moved to another name, is compiled anew and replaced. Nothing here can make loading fail.

mod artifact;
mod folder;
mod key;

use std::io::{self, Write as _};
use std::path::PathBuf;

use graph_core::digest::Digest;
use wasmtime::component::Component;

pub(crate) use artifact::load_compiled;
pub use folder::{CacheFolder, CachePolicy, CachedComponent};
pub(crate) use key::Key;

/// Where a compiled component came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheStatus {
    /// The engine has no cache.
    Off,
    /// It was in the cache.
    Hit,
    /// It was compiled, and is in the cache now.
    Stored,
    /// It was compiled, and could not be kept: why.
    NotStored(String),
}

/// A folder of compiled components.
pub(crate) struct Cache {
    folder: PathBuf,
    most_bytes: Option<u64>,
    compatibility: [u8; 32],
}

impl Cache {
    pub(crate) fn new(folder: PathBuf, most_bytes: Option<u64>, engine: &wasmtime::Engine) -> Self {
        Self { folder, most_bytes, compatibility: key::compatibility(engine) }
    }

    /// The key of this user.
    pub(crate) fn open(&self) -> io::Result<Key> {
        Key::of_user(&self.folder)
    }

    /// A component's code, if it is here and this user's key vouches for it.
    pub(crate) fn read(&self, engine: &wasmtime::Engine, key: &Key, digest: &Digest) -> Option<Component> {
        artifact::read(engine, &self.path(digest), key.hasher(&self.compatibility, digest))
    }

    /// Keeps a component's code.
    pub(crate) fn keep(&self, key: &io::Result<Key>, digest: &Digest, code: &[u8]) -> CacheStatus {
        let failed =
            |error: &io::Error| CacheStatus::NotStored(format!("{}: {error}", self.folder.display()));
        match key {
            Ok(key) => match self.write(key, digest, code) {
                Ok(()) => CacheStatus::Stored,
                Err(error) => failed(&error),
            },
            Err(error) => failed(error),
        }
    }

    /// The file of a component for this engine.
    fn path(&self, digest: &Digest) -> PathBuf {
        let engine = blake3::Hash::from_bytes(self.compatibility).to_hex();
        self.folder.join(folder::file_name(&digest.hex(), &engine[..16]))
    }

    fn write(&self, key: &Key, digest: &Digest, code: &[u8]) -> io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(".artifact-").tempfile_in(&self.folder)?;
        let mut hasher = key.hasher(&self.compatibility, digest);
        hasher.update(code);
        file.write_all(hasher.finalize().as_bytes())?;
        file.write_all(code)?;
        let path = self.path(digest);
        file.persist(&path).map_err(|error| error.error)?;
        if let Some(most) = self.most_bytes {
            // What cannot be removed now is removed after the next component.
            let _ = CacheFolder::at(self.folder.clone()).keep_within(most, &path);
        }
        Ok(())
    }
}
