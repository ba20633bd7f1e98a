//! `manifest.json`: the digest of every file of a bundle, signed.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use graph_core::digest::Digest;
use graph_core::json::{self, TreeLimit};
use graph_core::trust::{
    EnvelopeError, KeyError, KeyId, SigningKey, VerifyingKey, sign_document, verify_document,
};
use serde::{Deserialize, Serialize};

/// The name of the manifest in a bundle.
pub const MANIFEST: &str = "manifest.json";
/// The name of the DSSE envelope around it.
pub const ENVELOPE: &str = "manifest.json.dsse.json";
/// The type of the envelope's payload.
pub const PAYLOAD_TYPE: &str = "application/vnd.graph-host.bundle+json";

const VERSION: u32 = 1;

/// The digests of all files of a bundle but the manifest and its envelope, and the key that they are signed with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BundleManifest {
    version: u32,
    /// The key that signed it: its 32 bytes in base64. What can replace the bundle can replace the key.
    pub key: String,
    /// Digests by path, with `/`.
    pub files: BTreeMap<String, Digest>,
}

/// Why a manifest or a file of a bundle is refused.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// It is not the manifest of a bundle.
    #[error("{MANIFEST} is not the manifest of a bundle: {0}")]
    Shape(String),
    /// It is of a later version.
    #[error("the bundle is of version {found}, this graph-host reads version {VERSION}")]
    Version {
        /// The version that the bundle states.
        found: u32,
    },
    /// Its key is none.
    #[error("the key in {MANIFEST} cannot be used")]
    Key(#[from] KeyError),
    /// The envelope cannot be read.
    #[error("{ENVELOPE} is not a signature of a bundle")]
    Envelope(#[from] EnvelopeError),
    /// It is signed with another key, or was changed.
    #[error("{MANIFEST} was not signed with key {key}, or was changed since")]
    Signature {
        /// The key that it has to be signed with.
        key: KeyId,
    },
    /// A file is not what the manifest says.
    #[error("{path} was changed: its digest is {found}, and {MANIFEST} has {expected}")]
    Changed {
        /// The path of the changed file in the bundle.
        path: String,
        /// The digest of the file as it is now.
        found: Digest,
        /// That of the manifest.
        expected: Digest,
    },
    /// A file is missing.
    #[error("{path} is missing")]
    Missing {
        /// The path that the manifest names.
        path: String,
    },
    /// A file is not in the manifest.
    #[error("{path} does not belong to the bundle: {MANIFEST} does not name it")]
    Unknown {
        /// The path of the file that the manifest does not name.
        path: String,
    },
    /// It cannot be written as JSON.
    #[error("the manifest cannot be written")]
    Json(#[from] serde_json::Error),
}

impl BundleManifest {
    /// The manifest of files, as its text and the envelope that signs it.
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

    /// Reads a manifest without looking at its signature.
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

    /// Reads a manifest that was signed with this key, or with the one that it names itself.
    pub fn verify(
        manifest: &[u8],
        envelope: &str,
        key: Option<&VerifyingKey>,
    ) -> Result<Self, ManifestError> {
        let read = Self::peek(manifest)?;
        let named = read.verifying_key()?;
        let key = key.copied().unwrap_or(named);
        let refused = ManifestError::Signature { key: key.id() };
        // The page takes the key from the manifest.
        if named != key {
            return Err(refused);
        }
        match verify_document(PAYLOAD_TYPE, envelope, &key)? {
            Some(signed) if signed == manifest => Ok(read),
            _ => Err(refused),
        }
    }

    /// The key that signed it.
    pub fn verifying_key(&self) -> Result<VerifyingKey, ManifestError> {
        let bytes = STANDARD.decode(&self.key).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
        let bytes =
            bytes.ok_or_else(|| ManifestError::Shape("its `key` is not 32 bytes in base64".to_owned()))?;
        Ok(VerifyingKey::from_bytes(&bytes)?)
    }

    /// Checks that the manifest names a file with these bytes.
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
