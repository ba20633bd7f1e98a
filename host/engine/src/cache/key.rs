//! The key that authenticates compiled code, and its tags.

use std::fs::{self, File};
use std::hash::{Hash as _, Hasher};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use graph_core::digest::Digest;

/// The context that separates these tags from any other use of the key.
const CONTEXT: &str = "graph-host 2026 compiled component v1";

/// A secret of this user on this machine. A process that can read it can run code as this user anyway.
pub(crate) struct Key([u8; 32]);

impl Key {
    /// Reads the key of a cache folder, or creates it at first use. A key that other users could read or replace is not used.
    pub(super) fn of_user(folder: &Path) -> io::Result<Self> {
        make_private(folder)?;
        let path = folder.join("key");
        if let Some(key) = read(&path) {
            return Ok(key);
        }
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
        // The file is created with mode 0600.
        let mut file = tempfile::Builder::new().prefix(".key-").tempfile_in(folder)?;
        file.write_all(&bytes)?;
        file.as_file().sync_all()?;
        match file.persist_noclobber(&path) {
            Ok(_) => Ok(Self(bytes)),
            // Another process has created a key, or the existing one cannot be used.
            Err(error) => match read(&path) {
                Some(key) => Ok(key),
                None => error.file.persist(&path).map(|_| Self(bytes)).map_err(|error| error.error),
            },
        }
    }

    /// Creates a hasher for the tag of compiled code, for one component and one engine; the caller adds the code.
    pub(super) fn hasher(&self, compatibility: &[u8; 32], digest: &Digest) -> blake3::Hasher {
        let key = blake3::derive_key(CONTEXT, &self.0);
        let mut hasher = blake3::Hasher::new_keyed(&key);
        hasher.update(compatibility);
        hasher.update(digest.hex().as_bytes());
        hasher
    }
}

fn read(path: &Path) -> Option<Key> {
    if !private(path) {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(33).read_to_end(&mut bytes).ok()?;
    bytes.try_into().ok().map(Key)
}

#[cfg(unix)]
fn private(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    fs::symlink_metadata(path).is_ok_and(|metadata| {
        metadata.is_file()
            && metadata.mode().trailing_zeros() >= 6 // nothing for group and others
            && metadata.uid() == rustix::process::geteuid().as_raw()
    })
}

#[cfg(not(unix))]
fn private(path: &Path) -> bool {
    // The operating system denies other users access to a user's profile.
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
}

#[cfg(unix)]
fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn make_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// Returns a digest of the dependencies of compiled code other than the component: wasmtime's version and settings, the processor, and the
/// caps for which the component was checked.
pub(super) fn compatibility(engine: &wasmtime::Engine) -> [u8; 32] {
    struct Feed(blake3::Hasher);
    impl Hasher for Feed {
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }
        fn finish(&self) -> u64 {
            0
        }
    }
    let mut feed = Feed(blake3::Hasher::new());
    engine.precompile_compatibility_hash().hash(&mut feed);
    crate::config::WASMTIME_VERSION.hash(&mut feed);
    crate::structure::StructureMetric::ALL.map(crate::structure::StructureMetric::cap).hash(&mut feed);
    // Names are checked together with the caps.
    "names".hash(&mut feed);
    *feed.0.finalize().as_bytes()
}
