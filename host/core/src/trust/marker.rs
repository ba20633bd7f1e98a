//! The marker of a state folder: the host that stores its runs there, and the folder's path.
//!
//! ```json
//! {"at": "2026-01-31T12:00:00.000Z", "folder": "/home/me/project/.ai/state", "folder_digest": "sha256:…",
//!  "key": "…64 hexadecimal digits…", "signature": "…", "type": "https://graph-host.dev/state-folder/v1"}
//! ```
//!
//! The key signs the canonical JSON of `{at, folder_digest}`. `folder` is for people; only the digest of the path's bytes, which need
//! not be Unicode, is checked. A folder in an untrusted project has no marker of this host, and a copied or moved one has the marker of
//! another path.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::key::{Signature, SigningKey, VerifyingKey};
use super::shown;
use crate::digest::Digest;
use crate::json::{TreeLimit, canonical_string, parse_strict};
use crate::time::Timestamp;

/// The `type` of a marker.
pub const STATE_MARKER_TYPE: &str = "https://graph-host.dev/state-folder/v1";

const DOMAIN: &str = "graph-host/state-folder/v1";

/// A host's verified statement that it stores its runs in a folder. Only signing or verification creates it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateMarker {
    at: Timestamp,
    folder: String,
    folder_digest: Digest,
    key: VerifyingKey,
    signature: Signature,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    at: String,
    folder: String,
    folder_digest: Digest,
    key: String,
    signature: Signature,
    #[serde(rename = "type")]
    _kind: String,
}

/// The reason why a text is not a valid marker.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MarkerError {
    /// Longer than any marker.
    #[error("it has {0} bytes, more than the {most} that are read", most = StateMarker::MOST_BYTES)]
    TooLong(usize),
    /// Not JSON, or not of its shape.
    #[error("{0}")]
    Shape(String),
    /// Another kind of document, or a version that this program does not know.
    #[error("its `type` is `{0}`, expected `{STATE_MARKER_TYPE}`")]
    Type(String),
    /// The signature was not made with the key over this.
    #[error("its signature does not hold: it was changed, or made without its key")]
    BadSignature,
}

impl StateMarker {
    /// Length of the longest marker that is read, in bytes. Paths of folders are shorter.
    pub const MOST_BYTES: usize = 64 << 10;

    /// Marks a folder, by the bytes of its absolute path without links.
    pub fn sign(key: &SigningKey, folder: &[u8], at: Timestamp) -> Self {
        let folder_digest = Digest::of_bytes(folder);
        let signature = key.sign(DOMAIN, message(at, folder_digest).as_bytes());
        let folder = String::from_utf8_lossy(folder).into_owned();
        Self { at, folder, folder_digest, key: key.verifying_key(), signature }
    }

    /// Reads a marker, and checks its signature. The caller has to check the owner of the key.
    pub fn parse(text: &str) -> Result<Self, MarkerError> {
        if text.len() > Self::MOST_BYTES {
            return Err(MarkerError::TooLong(text.len()));
        }
        let value = parse_strict(text, 4, TreeLimit::STATEMENT)
            .map_err(|error| MarkerError::Shape(error.to_string()))?;
        super::objects_at(&value, &[""]).map_err(MarkerError::Shape)?;
        if let Some(other) =
            value.get("type").and_then(|found| found.as_str()).filter(|found| *found != STATE_MARKER_TYPE)
        {
            return Err(MarkerError::Type(shown(other)));
        }
        let Document { at, folder, folder_digest, key, signature, .. } =
            serde_json::from_value(value).map_err(|error| MarkerError::Shape(shown(&error.to_string())))?;
        let key = VerifyingKey::parse(&key).map_err(|error| MarkerError::Shape(format!("`key`: {error}")))?;
        let at = at
            .parse()
            .ok()
            .filter(|read: &Timestamp| read.to_string() == at)
            .ok_or_else(|| MarkerError::Shape(format!("`at`: `{}` is not a time", shown(&at))))?;
        if !key.verify(DOMAIN, message(at, folder_digest).as_bytes(), &signature) {
            return Err(MarkerError::BadSignature);
        }
        Ok(Self { at, folder, folder_digest, key, signature })
    }

    /// Returns the text of the marker: canonical JSON (RFC 8785) and a line break.
    pub fn to_text(&self) -> String {
        let document = json!({
            "at": self.at.to_string(),
            "folder": self.folder,
            "folder_digest": self.folder_digest,
            "key": self.key.hex(),
            "signature": self.signature,
            "type": STATE_MARKER_TYPE,
        });
        canonical_string(&document) + "\n"
    }

    /// Checks whether it marks the folder at this path.
    pub fn is_of(&self, folder: &[u8]) -> bool {
        self.folder_digest == Digest::of_bytes(folder)
    }

    /// Returns the folder's path for people. It is not signed.
    pub fn folder(&self) -> String {
        shown(&self.folder)
    }

    /// Returns the key of the host that signed it.
    pub const fn key(&self) -> &VerifyingKey {
        &self.key
    }

    /// Returns the time of the signature.
    pub const fn at(&self) -> Timestamp {
        self.at
    }
}

fn message(at: Timestamp, folder_digest: Digest) -> String {
    canonical_string(&json!({ "at": at.to_string(), "folder_digest": folder_digest }))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn marker() -> StateMarker {
        StateMarker::sign(&SigningKey::from_seed(&[1; 32]), b"/p/.ai/state", Timestamp(1_700_000_000_000))
    }

    #[test]
    fn a_marker_is_of_one_folder_and_one_key() {
        let read = StateMarker::parse(&marker().to_text()).unwrap();
        assert_eq!(read, marker());
        assert!(read.is_of(b"/p/.ai/state") && !read.is_of(b"/q/.ai/state"));
        assert_eq!(read.key().id(), SigningKey::from_seed(&[1; 32]).id());
    }

    #[test]
    fn nothing_of_a_marker_can_be_changed() {
        let text = marker().to_text();
        let other = StateMarker::sign(&SigningKey::from_seed(&[2; 32]), b"/q", Timestamp(1)).to_text();
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        for field in ["at", "folder_digest", "key", "signature"] {
            let mut changed = value(&text);
            changed[field] = value(&other)[field].clone();
            assert_eq!(StateMarker::parse(&changed.to_string()), Err(MarkerError::BadSignature), "{field}");
        }
        let mut newer = value(&text);
        newer["type"] = "https://graph-host.dev/state-folder/v2".into();
        assert!(matches!(StateMarker::parse(&newer.to_string()), Err(MarkerError::Type(_))));
        let mut more = value(&text);
        more["more"] = 1.into();
        assert!(matches!(StateMarker::parse(&more.to_string()), Err(MarkerError::Shape(_))));
        for text in ["", "[]", "{}", "null"] {
            assert!(matches!(StateMarker::parse(text), Err(MarkerError::Shape(_))), "{text}");
        }
    }
}
