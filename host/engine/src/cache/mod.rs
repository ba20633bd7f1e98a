//! Compiled components on disk.
//!
//! Machine code from a file is executed without further checks, so a file is used only if this user's own key authenticates every byte of
//! it. A file is read once, and the checked bytes are loaded. Any other file (changed, of another engine, renamed) is replaced by compiling
//! again. Errors of the cache never make loading fail.

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

/// The source of a compiled component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheStatus {
    /// The engine has no cache.
    Off,
    /// The component was read from the cache.
    Hit,
    /// The component was compiled and stored in the cache.
    Stored,
    /// The component was compiled and could not be stored, for this reason.
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

    /// Opens or creates the key of this user.
    pub(crate) fn open(&self) -> io::Result<Key> {
        Key::of_user(&self.folder)
    }

    /// Returns a component's code, if it is in the cache and this user's key authenticates it.
    pub(crate) fn read(&self, engine: &wasmtime::Engine, key: &Key, digest: &Digest) -> Option<Component> {
        artifact::read(engine, &self.path(digest), key.hasher(&self.compatibility, digest))
    }

    /// Checks whether the cache has a file for a component, without checking its content.
    pub(crate) fn has(&self, digest: &Digest) -> bool {
        self.path(digest).is_file()
    }

    /// Stores a component's code.
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

    /// Returns the file of a component for this engine.
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
            // Files that cannot be removed now are removed after the next component.
            let _ = CacheFolder::at(self.folder.clone()).keep_within(most, &path);
        }
        Ok(())
    }
}
