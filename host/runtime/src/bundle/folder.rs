//! A bundle in a folder.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use graph_bundle::site::{BundleManifest, DOCUMENT, Document, ENVELOPE, MANIFEST, ManifestError};
use graph_core::trust::{KeyId, VerifyingKey};

use crate::error::{Error, Result};
use crate::project;
use crate::run::pins::absolute;

/// The largest file of a bundle that is read, in bytes.
const LARGEST_FILE: u64 = 128 << 20;
/// How many files a bundle has at most.
const MOST_FILES: usize = 100_000;

/// Refuses a folder that a bundle may not be written to: one that holds anything but an older bundle.
pub fn replaceable(folder: &Path) -> Result<()> {
    let in_use = |what: &str| {
        Err(Error::usage(format!(
            "{} {what}: a bundle is written to a folder of its own",
            project::shown(folder)
        ))
        .help("name a new folder, an empty one, or one with an older bundle: -o DIR"))
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
    match read(folder, MANIFEST) {
        // Only what belongs to the older bundle may go.
        Ok(manifest) => match BundleManifest::peek(&manifest) {
            Ok(older) => match paths(folder)?.into_iter().find(|path| !is_of(&older, path)) {
                Some(path) => in_use(&format!("has a file that does not belong to the bundle in it, {path}")),
                None => Ok(()),
            },
            Err(_) => in_use("is not empty"),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => in_use("is not empty"),
        Err(error) => Err(Error::read("the manifest", &folder.join(MANIFEST), &error)),
    }
}

fn is_of(manifest: &BundleManifest, path: &str) -> bool {
    path == MANIFEST || path == ENVELOPE || manifest.files.contains_key(path)
}

/// Writes a bundle: it is in the folder whole, or the folder is as it was.
pub fn write(files: &BTreeMap<String, Vec<u8>>, folder: &Path) -> Result<()> {
    replaceable(folder)?;
    let target = absolute(folder);
    let parent = target.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(parent).map_err(|error| Error::write("the folder", parent, &error))?;
    let failed = |error: &std::io::Error| Error::write("the bundle", folder, error);
    let new = Builder::new(parent)?;
    for (path, bytes) in files {
        let file = new.path().join(path);
        let made = file.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&file, bytes));
        made.map_err(|error| failed(&error))?;
    }
    let older = Builder::new(parent)?;
    let moved = older.path().join("bundle");
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

/// A folder next to the bundle's, which is removed when it is not needed any more.
struct Builder(tempfile::TempDir);

impl Builder {
    fn new(parent: &Path) -> Result<Self> {
        use std::os::unix::fs::PermissionsExt as _;
        // A server of static files runs as another user.
        let open = fs::Permissions::from_mode(0o755);
        let made =
            tempfile::Builder::new().prefix(".graph-host-bundle-").permissions(open).tempdir_in(parent);
        made.map(Self).map_err(|error| Error::write("the folder", parent, &error))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

/// A bundle whose files are what its manifest says.
#[derive(Debug)]
pub struct CheckedBundle {
    /// The signed list of its files.
    pub manifest: BundleManifest,
    /// The key that signed it.
    pub key: KeyId,
    /// What the page reads.
    pub document: Document,
    /// How many files it has, the list and its signature included.
    pub files: usize,
    /// How many bytes the listed files have.
    pub bytes: u64,
}

/// Checks the signature of a bundle and the digest of every file. Without a key, the one that the manifest names is used,
/// which shows that nothing was changed since that key signed it, and not whose key it is.
pub fn check(folder: &Path, key: Option<&VerifyingKey>) -> Result<CheckedBundle> {
    project::check_folder(folder)?;
    let named = |path: &str, error: &std::io::Error| {
        if error.kind() == ErrorKind::NotFound && [MANIFEST, ENVELOPE].contains(&path) {
            return Error::not_found(format!("{} is not a bundle: it has no {path}", project::shown(folder)));
        }
        if error.kind() == ErrorKind::NotFound {
            return refused(&ManifestError::Missing { path: path.to_owned() });
        }
        Error::read("the file", &folder.join(path), error)
    };
    let open = |path: &str| read(folder, path).map_err(|error| named(path, &error));
    let (manifest, envelope) = (open(MANIFEST)?, open(ENVELOPE)?);
    let envelope = String::from_utf8_lossy(&envelope);
    let manifest = BundleManifest::verify(&manifest, &envelope, key).map_err(|error| refused(&error))?;
    if let Some(path) = paths(folder)?.into_iter().find(|path| !is_of(&manifest, path)) {
        return Err(refused(&ManifestError::Unknown { path }));
    }
    let mut bytes = 0;
    let mut document = None;
    for path in manifest.files.keys() {
        if !is_inside(path) {
            return Err(refused(&ManifestError::Shape(format!("`{path}` is not a path in the bundle"))));
        }
        let file = open(path)?;
        bytes += file.len() as u64;
        manifest.check(path, &file).map_err(|error| refused(&error))?;
        if path == DOCUMENT {
            let read = serde_json::from_slice(&file);
            document =
                Some(read.map_err(|error| Error::integrity(format!("{DOCUMENT} cannot be read: {error}")))?);
        }
    }
    let document = document.ok_or_else(|| refused(&ManifestError::Missing { path: DOCUMENT.to_owned() }))?;
    let key = manifest.verifying_key().map_err(|error| refused(&error))?.id();
    let files = manifest.files.len() + [MANIFEST, ENVELOPE].len();
    Ok(CheckedBundle { manifest, key, document, files, bytes })
}

/// Whether a path of a manifest stays in the folder.
fn is_inside(path: &str) -> bool {
    path.split('/')
        .all(|segment| !segment.is_empty() && segment != "." && segment != ".." && !segment.contains('\\'))
}

fn refused(error: &ManifestError) -> Error {
    let mut message = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        message = format!("{message}: {inner}");
        source = inner.source();
    }
    Error::integrity(message)
        .help("make the bundle again, and serve what `graph-host bundle` wrote without changes")
}

fn read(folder: &Path, path: &str) -> std::io::Result<Vec<u8>> {
    let file = folder.join(path);
    if !fs::symlink_metadata(&file)?.is_file() {
        return Err(std::io::Error::new(ErrorKind::InvalidData, "it is not a regular file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(&file)?.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(std::io::Error::new(ErrorKind::InvalidData, "it is larger than any file of a bundle"));
    }
    Ok(bytes)
}

/// The paths of all files below a folder, with `/`.
fn paths(folder: &Path) -> Result<Vec<String>> {
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
                return Err(Error::limit(format!(
                    "{} has more than {MOST_FILES} files",
                    project::shown(folder)
                )));
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}
