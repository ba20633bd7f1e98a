//! Files of a bundle.

use std::collections::BTreeMap;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use graph_core::digest::Digest;
use graph_core::trust::SigningKey;

use super::assets::ASSETS;
use super::document::{CoreDocument, DOCUMENT, Document, FunctionDocument};
use super::manifest::{BundleManifest, ENVELOPE, MANIFEST, ManifestError};
use crate::instrument::{InstrumentError, instrument_cores};
use crate::transpile::{TranspileError, transpile};

/// Minimum size of a component's file that is compressed, in bytes.
const COMPRESSED: usize = 1 << 20;
/// Ending of the names of compressed files.
const COMPRESSED_NAME: &str = ".gz";

/// Files of a component in a bundle.
#[derive(Clone, Debug)]
pub struct Component {
    /// Folder in the bundle: `components/HEX`.
    pub path: String,
    /// Core modules in this folder.
    pub cores: Vec<CoreDocument>,
    /// True if it requires JavaScript Promise Integration.
    pub waits: bool,
}

/// Reason why a component cannot run in a page.
#[derive(Clone, Debug, thiserror::Error)]
#[error(transparent)]
pub enum ComponentError {
    /// The component cannot be instrumented to count its fuel.
    Instrument(#[from] InstrumentError),
    /// The component cannot be translated to JavaScript.
    Transpile(#[from] TranspileError),
}

/// Files of a bundle, by path.
#[derive(Clone, Debug, Default)]
pub struct Site {
    files: BTreeMap<String, Vec<u8>>,
}

impl Site {
    /// Creates a bundle that has only the files of the page.
    pub fn new() -> Self {
        Self { files: ASSETS.iter().map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec())).collect() }
    }

    /// Transpiles and instruments a component, and adds it with its signed bytes. `imports` are the interfaces that it imports, `functions` those
    /// that are called in place of its node action.
    pub fn add_component<'f>(
        &mut self,
        bytes: &[u8],
        imports: &[String],
        functions: impl IntoIterator<Item = &'f FunctionDocument>,
    ) -> Result<Component, ComponentError> {
        let path = format!("components/{}", Digest::of_bytes(bytes).hex());
        let transpiled = transpile("component", bytes, imports, functions)?;
        let instrumented = instrument_cores(bytes, transpiled.cores.iter().map(|(_, core)| &core[..]))?;
        let mut cores = Vec::new();
        for ((name, _), core) in transpiled.cores.into_iter().zip(instrumented) {
            self.insert(format!("{path}/{name}"), core.module);
            cores.push(CoreDocument { name, pages: core.pages });
        }
        self.files.insert(format!("{path}/component.js"), transpiled.script);
        self.insert(format!("{path}/component.wasm"), bytes.to_vec());
        Ok(Component { path, cores, waits: transpiled.waits })
    }

    /// Adds a file, compressed if it is large: few servers of static files compress responses.
    fn insert(&mut self, path: String, bytes: Vec<u8>) {
        if bytes.len() < COMPRESSED {
            self.files.insert(path, bytes);
            return;
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        match encoder.write_all(&bytes).and_then(|()| encoder.finish()) {
            Ok(compressed) => self.files.insert(path + COMPRESSED_NAME, compressed),
            // Writing to memory does not fail.
            Err(_) => self.files.insert(path, bytes),
        };
    }

    /// Permits the page to send requests to these origins. Its Content Security Policy forbids all others.
    pub fn permit_origins<'o>(&mut self, origins: impl IntoIterator<Item = &'o String>) {
        const OWN: &str = "connect-src 'self'";
        let mut policy = OWN.to_owned();
        for origin in origins {
            policy.push(' ');
            policy.push_str(origin);
        }
        if let Some(page) = self.files.get_mut("index.html") {
            *page = String::from_utf8_lossy(page).replacen(OWN, &policy, 1).into_bytes();
        }
    }

    /// Adds a file to a folder of the bundle, named by its digest. Returns its path and its digest.
    pub fn add_file(&mut self, folder: &str, bytes: Vec<u8>) -> (String, Digest) {
        let digest = Digest::of_bytes(&bytes);
        let path = format!("{folder}/{}", digest.hex());
        self.files.insert(path.clone(), bytes);
        (path, digest)
    }

    /// Returns the number of bytes of all files.
    pub fn size(&self) -> u64 {
        self.files.values().map(|bytes| bytes.len() as u64).sum()
    }

    /// Adds the document and the signed manifest, and returns all files of the bundle by path.
    pub fn seal(
        mut self,
        document: &Document,
        key: &SigningKey,
    ) -> Result<BTreeMap<String, Vec<u8>>, ManifestError> {
        let mut text = serde_json::to_vec_pretty(document)?;
        text.push(b'\n');
        self.files.insert(DOCUMENT.to_owned(), text);
        let (manifest, envelope) = BundleManifest::sign(&self.files, key)?;
        self.files.insert(MANIFEST.to_owned(), manifest);
        self.files.insert(ENVELOPE.to_owned(), envelope);
        Ok(self.files)
    }
}
