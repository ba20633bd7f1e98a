//! `manifest.json`, which has the digest of every file of a bundle and is signed.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use graph_core::digest::Digest;
use graph_core::json::{self, TreeLimit};
use graph_core::trust::{
    EnvelopeError, KeyError, KeyId, SigningKey, VerifyingKey, sign_document, verify_document,
};
use serde::{Deserialize, Serialize};

/// Name of the manifest in a bundle.
pub const MANIFEST: &str = "manifest.json";
/// Name of the DSSE envelope of the manifest.
pub const ENVELOPE: &str = "manifest.json.dsse.json";
/// Type of the envelope's payload.
pub const PAYLOAD_TYPE: &str = "application/vnd.graph-host.bundle+json";

const VERSION: u32 = 1;

/// Digests of all files of a bundle except the manifest and its envelope, and the public key for their signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundleManifest {
    version: u32,
    /// Public key of the signature: its 32 bytes in base64. It protects only against changes of single files: who can
    /// replace the whole bundle can also replace the key.
    pub key: String,
    /// Digests by path, with `/`.
    pub files: BTreeMap<String, Digest>,
}

/// Reason why a manifest or a file of a bundle is refused.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// The document is not the manifest of a bundle.
    #[error("{MANIFEST} is not the manifest of a bundle: {0}")]
    Shape(String),
    /// The manifest has a version that is not supported.
    #[error("the bundle is of version {found}, this graph-host reads version {VERSION}")]
    Version {
        /// Version of the manifest.
        found: u32,
    },
    /// The key in the manifest is not a public key.
    #[error("the key in {MANIFEST} cannot be used")]
    Key(#[from] KeyError),
    /// The envelope cannot be read.
    #[error("{ENVELOPE} is not a signature of a bundle")]
    Envelope(#[from] EnvelopeError),
    /// The manifest was signed with another key, or was changed.
    #[error("{MANIFEST} was not signed with key {key}, or was changed since")]
    Signature {
        /// Key that it has to be signed with.
        key: KeyId,
    },
    /// The content of a file differs from the manifest.
    #[error("{path} was changed: its digest is {found}, and {MANIFEST} has {expected}")]
    Changed {
        /// Path of the file in the bundle.
        path: String,
        /// Actual digest of the file.
        found: Digest,
        /// Digest in the manifest.
        expected: Digest,
    },
    /// A file of the manifest is missing.
    #[error("{path} is missing")]
    Missing {
        /// Path of the file in the bundle.
        path: String,
    },
    /// The manifest does not have the file.
    #[error("{path} does not belong to the bundle: {MANIFEST} does not name it")]
    Unknown {
        /// Path of the file.
        path: String,
    },
    /// The manifest cannot be written as JSON.
    #[error("the manifest cannot be written")]
    Json(#[from] serde_json::Error),
}

impl BundleManifest {
    /// Signs the digests of these files. Returns the text of the manifest and its envelope.
    pub(super) fn sign<'f>(
        files: impl IntoIterator<Item = (&'f String, &'f Vec<u8>)>,
        key: &SigningKey,
    ) -> Result<(Vec<u8>, Vec<u8>), ManifestError> {
        let manifest = Self {
            version: VERSION,
            key: STANDARD.encode(key.verifying_key().as_bytes()),
            files: files.into_iter().map(|(path, bytes)| (path.clone(), Digest::of_bytes(bytes))).collect(),
        };
        let mut text = serde_json::to_vec_pretty(&manifest)?;
        text.push(b'\n');
        let envelope = sign_document(PAYLOAD_TYPE, text.clone(), key)?;
        Ok((text, envelope.into_bytes()))
    }

    /// Reads a manifest without verifying its signature.
    pub fn peek(manifest: &[u8]) -> Result<Self, ManifestError> {
        #[derive(Deserialize)]
        struct Head {
            version: u32,
        }
        let head: Head = json::read(manifest, TreeLimit::DOCUMENT)
            .map_err(|error| ManifestError::Shape(error.to_string()))?;
        if head.version != VERSION {
            return Err(ManifestError::Version { found: head.version });
        }
        json::read(manifest, TreeLimit::DOCUMENT).map_err(|error| ManifestError::Shape(error.to_string()))
    }

    /// Reads a manifest and verifies its signature. The manifest has to be signed with the key that it has itself,
    /// which must be `key` if that is given.
    pub fn verify(
        manifest: &[u8],
        envelope: &str,
        key: Option<&VerifyingKey>,
    ) -> Result<Self, ManifestError> {
        let read = Self::peek(manifest)?;
        let named = read.verifying_key()?;
        let key = key.copied().unwrap_or(named);
        let refused = ManifestError::Signature { key: key.id() };
        // The page verifies with the key in the manifest.
        if named != key {
            return Err(refused);
        }
        match verify_document(PAYLOAD_TYPE, envelope, &key)? {
            Some(signed) if signed == manifest => Ok(read),
            _ => Err(refused),
        }
    }

    /// Returns the public key of the signature.
    pub fn verifying_key(&self) -> Result<VerifyingKey, ManifestError> {
        let bytes = STANDARD.decode(&self.key).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        let bytes =
            bytes.ok_or_else(|| ManifestError::Shape("its `key` is not 32 bytes in base64".to_owned()))?;
        Ok(VerifyingKey::from_bytes(&bytes)?)
    }

    /// Checks that a file is in the manifest and has its digest.
    pub fn check(&self, path: &str, bytes: &[u8]) -> Result<(), ManifestError> {
        let expected =
            *self.files.get(path).ok_or_else(|| ManifestError::Unknown { path: path.to_owned() })?;
        let found = Digest::of_bytes(bytes);
        if found == expected {
            Ok(())
        } else {
            Err(ManifestError::Changed { path: path.to_owned(), found, expected })
        }
    }
}
