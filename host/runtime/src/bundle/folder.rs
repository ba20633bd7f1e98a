//! A bundle in a folder.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use graph_bundle::site::{BundleManifest, DOCUMENT, Document, ENVELOPE, MANIFEST, ManifestError};
use graph_core::json::{self, TreeLimit};
use graph_core::trust::{KeyId, VerifyingKey};

use crate::error::{Error, Result};
use crate::project::whole_folder::{WholeFolder, paths, read};
use crate::project::{self, BaseFolder};
use crate::remedy::Remedy;

/// The folder of a bundle.
const FOLDER: WholeFolder = WholeFolder { noun: "bundle", marker: MANIFEST, marker_name: "the manifest" };

/// Refuses a folder that a bundle may not be written to: one that holds anything but an older bundle.
pub fn replaceable(folder: &Path, base: &BaseFolder) -> Result<()> {
    FOLDER.replaceable(folder, base, |manifest| {
        let older = BundleManifest::peek(manifest).ok();
        Ok(older.map(|older| move |path: &str| is_of(&older, path)))
    })
}

fn is_of(manifest: &BundleManifest, path: &str) -> bool {
    path == MANIFEST || path == ENVELOPE || manifest.files.contains_key(path)
}

/// Writes a bundle into a folder. After an error, the folder is unchanged.
pub fn write(files: &BTreeMap<String, Vec<u8>>, folder: &Path, base: &BaseFolder) -> Result<()> {
    replaceable(folder, base)?;
    FOLDER.write(files, folder)
}

/// A bundle whose files match the digests of its manifest.
#[derive(Debug)]
pub struct CheckedBundle {
    /// The signed list of its files.
    pub manifest: BundleManifest,
    /// The key that signed it.
    pub key: KeyId,
    /// The document that the page reads.
    pub document: Document,
    /// Number of its files, including the manifest and its signature.
    pub files: usize,
    /// Sum of the sizes of the listed files, in bytes.
    pub bytes: u64,
}

/// Checks the signature of a bundle and the digest of every file. Without `key`, the key in the manifest is used, which
/// shows only that nothing was changed since that key signed, not who owns it.
pub fn check(folder: &Path, base: &BaseFolder, key: Option<&VerifyingKey>) -> Result<CheckedBundle> {
    project::check_folder(folder, base)?;
    let named = |path: &str, error: &std::io::Error| {
        if error.kind() == ErrorKind::NotFound && [MANIFEST, ENVELOPE].contains(&path) {
            return Error::not_found(format!("{} is not a bundle: it has no {path}", base.show(folder)));
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
    if let Some(path) = paths(folder, base)?.into_iter().find(|path| !is_of(&manifest, path)) {
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
            let read = json::read(&file, TreeLimit::DOCUMENT);
            document = Some(read.map_err(|error| {
                Error::integrity(format!("{DOCUMENT} cannot be read: {error}")).caused_by(error)
            })?);
        }
    }
    let document = document.ok_or_else(|| refused(&ManifestError::Missing { path: DOCUMENT.to_owned() }))?;
    let key = manifest.verifying_key().map_err(|error| refused(&error))?.id();
    let files = manifest.files.len() + [MANIFEST, ENVELOPE].len();
    Ok(CheckedBundle { manifest, key, document, files, bytes })
}

/// Checks whether a path of a manifest stays in the folder.
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
    Error::integrity(message).help(Remedy::MakeBundleAgain)
}
