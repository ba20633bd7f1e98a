//! Compiled components on disk.
//!
//! Machine code from a file is run as it is, so a file counts only if this user's own key vouches for every byte of
//! it. A file is read once; what was checked is what is loaded. Anything else, a changed file, one of another engine
//! or one moved to another name, is compiled anew and replaced. Nothing here can make loading fail.

mod artifact;
mod key;

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use graph_core::digest::Digest;
use wasmtime::component::Component;

use key::Key;

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
    compatibility: [u8; 32],
}

impl Cache {
    pub(crate) fn new(folder: PathBuf, engine: &wasmtime::Engine) -> Self {
        Self { folder, compatibility: key::compatibility(engine) }
    }

    pub(crate) fn get_or_compile(
        &self,
        engine: &wasmtime::Engine,
        digest: &Digest,
        bytes: &[u8],
    ) -> wasmtime::Result<(Component, CacheStatus)> {
        let key = Key::of_user(&self.folder);
        if let Ok(key) = &key
            && let Some(component) = self.read(engine, key, digest)
        {
            return Ok((component, CacheStatus::Hit));
        }
        let component = Component::from_binary(engine, bytes)?;
        let stored = key.and_then(|key| self.write(&key, digest, &component));
        let status = match stored {
            Ok(()) => CacheStatus::Stored,
            Err(error) => CacheStatus::NotStored(format!("{}: {error}", self.folder.display())),
        };
        Ok((component, status))
    }

    /// The file of a component for this engine.
    fn path(&self, digest: &Digest) -> PathBuf {
        let engine = blake3::Hash::from_bytes(self.compatibility).to_hex();
        self.folder.join(format!("{}-{}.artifact", digest.hex(), &engine[..16]))
    }

    fn read(&self, engine: &wasmtime::Engine, key: &Key, digest: &Digest) -> Option<Component> {
        let file = fs::read(self.path(digest)).ok()?;
        let (tag, code) = file.split_at_checked(blake3::OUT_LEN)?;
        let vouched = key.tag(&self.compatibility, digest, code);
        // Comparing hashes of this type takes the same time wherever they differ.
        if blake3::Hash::from_slice(tag).ok()? != vouched {
            return None;
        }
        artifact::load(engine, code).ok()
    }

    fn write(&self, key: &Key, digest: &Digest, component: &Component) -> std::io::Result<()> {
        let code = component.serialize().map_err(|error| std::io::Error::other(error.to_string()))?;
        let mut file = tempfile::Builder::new().prefix(".artifact-").tempfile_in(&self.folder)?;
        file.write_all(key.tag(&self.compatibility, digest, &code).as_bytes())?;
        file.write_all(&code)?;
        file.persist(self.path(digest)).map_err(|error| error.error)?;
        Ok(())
    }
}
