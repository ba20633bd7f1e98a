//! Manifests, indexes and descriptors of the OCI image specification 1.1, as far as artifacts need them.

use std::collections::BTreeMap;

use graph_core::diagnostic::one_line;
use graph_core::digest::Digest;
use graph_core::json::{self, TreeLimit};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// Media types, most of them defined elsewhere.
pub mod media {
    /// An OCI image manifest.
    pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
    /// An OCI image index: a list of manifests.
    pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";
    /// An empty blob: `{}`.
    pub const EMPTY: &str = "application/vnd.oci.empty.v1+json";
    /// The CNCF's configuration of a Wasm artifact.
    pub const WASM_CONFIG: &str = "application/vnd.wasm.config.v0+json";
    /// The single layer of a Wasm artifact.
    pub const WASM: &str = "application/wasm";
    /// A DSSE envelope: the signatures of a component.
    pub const ENVELOPE: &str = "application/vnd.dsse.envelope.v1+json";
}

/// Keys of annotations: those of the OCI specification, and those of this project.
pub mod annotation {
    /// The name of a file or an artifact.
    pub const TITLE: &str = "org.opencontainers.image.title";
    /// The version of the item.
    pub const VERSION: &str = "org.opencontainers.image.version";
    /// The time of creation, in RFC 3339.
    pub const CREATED: &str = "org.opencontainers.image.created";
    /// A description in a sentence.
    pub const DESCRIPTION: &str = "org.opencontainers.image.description";
    /// The place of the sources.
    pub const SOURCE: &str = "org.opencontainers.image.source";
    /// The name of a manifest in an image layout.
    pub const REF_NAME: &str = "org.opencontainers.image.ref.name";
    /// The item id of an artifact.
    pub const ITEM: &str = "dev.graph-host.item.id";
}

/// Maximum size of a manifest or index, in bytes: the size that the distribution specification requires registries to
/// accept.
pub const MOST_MANIFEST: u64 = 4 << 20;
/// Maximum nesting depth of a manifest's JSON.
const DEEPEST: usize = 16;
/// Maximum number of descriptors in a manifest or an index.
pub(crate) const MOST_LISTED: usize = 10_000;
/// Maximum number of characters of a media type or an annotation in messages.
const SHOWN: usize = 120;

/// A reference to content, by its digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    /// The media type of the content.
    pub media_type: String,
    /// The SHA-256 of the content, which is checked after reading it.
    #[serde(deserialize_with = "digest")]
    pub digest: Digest,
    /// Its size in bytes.
    pub size: u64,
    /// The artifact type, if the content is a manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    /// Further annotations, which are kept unchanged.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// A manifest: the configuration and layers of an artifact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactManifest {
    /// The schema version: always 2.
    pub schema_version: u32,
    /// The media type: [`media::MANIFEST`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// The artifact type, if the manifest states one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    /// The blob that describes the content.
    pub config: Descriptor,
    /// The content: the item first, and after a graph its companions.
    pub layers: Vec<Descriptor>,
    /// The manifest that this one refers to, such as the component of a signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<Descriptor>,
    /// Further annotations, which are kept unchanged.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// A list of manifests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ManifestIndex {
    /// The schema version: always 2.
    pub schema_version: u32,
    /// The media type: [`media::INDEX`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// The manifests that the index names, by digest.
    pub manifests: Vec<Descriptor>,
    /// Further annotations, which are kept unchanged.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// The reasons for which bytes are not the expected manifest or index.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// They are not JSON, or do not have the right structure.
    #[error("it is malformed: {0}")]
    Shape(String),
    /// The media type is another one.
    #[error("it is of the type `{found}`, `{expected}` is needed")]
    MediaType {
        /// The media type that it states.
        found: String,
        /// The media type that was expected.
        expected: &'static str,
    },
    /// It is an index, where a manifest was expected.
    #[error("it is an index of {0} manifests, for several platforms: one manifest is needed")]
    Index(usize),
    /// The schema version is another one.
    #[error("its `schemaVersion` is {0}, 2 is needed")]
    SchemaVersion(u64),
    /// It lists too many descriptors.
    #[error("it lists {0} descriptors, {MOST_LISTED} at most are read")]
    TooMany(usize),
}

fn digest<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
    let text = String::deserialize(deserializer)?;
    if !text.starts_with("sha256:") {
        let message = format!("`{}` is not a digest of `sha256`, the only one that is read", shown(&text));
        return Err(serde::de::Error::custom(message));
    }
    text.parse().map_err(serde::de::Error::custom)
}

/// Returns a stranger's text in the form for messages: on one line, shortened, and without control characters.
pub(crate) fn shown(text: &str) -> String {
    one_line(text, SHOWN)
}

fn value(bytes: &[u8]) -> Result<Value, ManifestError> {
    let text = std::str::from_utf8(bytes).map_err(|error| ManifestError::Shape(error.to_string()))?;
    json::parse_strict(text, DEEPEST, TreeLimit::ANSWER)
        .map_err(|error| ManifestError::Shape(shown(&error.to_string())))
}

/// Makes the checks that manifests and indexes share.
fn check(value: &Value, expected: &'static str) -> Result<(), ManifestError> {
    if !value.is_object() {
        return Err(ManifestError::Shape("it has to be an object".to_owned()));
    }
    let media_type = value.get("mediaType").and_then(Value::as_str);
    let listed = |key| value.get(key).and_then(Value::as_array).map(Vec::len);
    if expected == media::MANIFEST && (media_type == Some(media::INDEX) || value.get("manifests").is_some()) {
        return Err(ManifestError::Index(listed("manifests").unwrap_or_default()));
    }
    if let Some(found) = media_type.filter(|found| *found != expected) {
        return Err(ManifestError::MediaType { found: shown(found), expected });
    }
    let version = value.get("schemaVersion").and_then(Value::as_u64);
    if let Some(version) = version.filter(|version| *version != 2) {
        return Err(ManifestError::SchemaVersion(version));
    }
    let listed = listed("layers").or_else(|| listed("manifests")).unwrap_or_default();
    if listed > MOST_LISTED { Err(ManifestError::TooMany(listed)) } else { Ok(()) }
}

/// Writes canonical JSON: the same document always has the same bytes.
fn to_bytes(document: &impl Serialize) -> Vec<u8> {
    // A map with text keys, texts and numbers can always be written.
    let value = serde_json::to_value(document).unwrap_or_default();
    json::canonical_string(&value).into_bytes()
}

impl Descriptor {
    /// Returns the descriptor of content.
    pub fn new(media_type: &str, bytes: &[u8]) -> Self {
        Self {
            media_type: media_type.to_owned(),
            digest: Digest::of_bytes(bytes),
            size: bytes.len() as u64,
            artifact_type: None,
            annotations: BTreeMap::new(),
        }
    }
}

impl ArtifactManifest {
    /// Reads a manifest, and checks that it is one: an index or a web page is refused.
    pub fn read(bytes: &[u8]) -> Result<Self, ManifestError> {
        let value = value(bytes)?;
        check(&value, media::MANIFEST)?;
        serde_json::from_value(value).map_err(|error| ManifestError::Shape(shown(&error.to_string())))
    }

    /// Writes the manifest as canonical JSON.
    pub fn to_bytes(&self) -> Vec<u8> {
        to_bytes(self)
    }

    /// Returns the artifact type: `artifactType`, or else the media type of the configuration.
    pub fn kind(&self) -> &str {
        self.artifact_type.as_deref().unwrap_or(&self.config.media_type)
    }
}

impl ManifestIndex {
    /// Returns an index without manifests.
    pub fn empty() -> Self {
        Self {
            schema_version: 2,
            media_type: Some(media::INDEX.to_owned()),
            manifests: Vec::new(),
            annotations: BTreeMap::new(),
        }
    }

    /// Reads an index of manifests.
    pub fn read(bytes: &[u8]) -> Result<Self, ManifestError> {
        let value = value(bytes)?;
        check(&value, media::INDEX)?;
        serde_json::from_value(value).map_err(|error| ManifestError::Shape(shown(&error.to_string())))
    }

    /// Writes the index as canonical JSON.
    pub fn to_bytes(&self) -> Vec<u8> {
        to_bytes(self)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_manifest_round_trips_and_always_has_the_same_bytes() {
        let manifest = ArtifactManifest {
            schema_version: 2,
            media_type: Some(media::MANIFEST.to_owned()),
            artifact_type: None,
            config: Descriptor::new(media::EMPTY, b"{}"),
            layers: vec![Descriptor::new(media::WASM, b"x")],
            subject: None,
            annotations: [("b", "2"), ("a", "1")].map(|(k, v)| (k.to_owned(), v.to_owned())).into(),
        };
        let bytes = manifest.to_bytes();
        assert_eq!(ArtifactManifest::read(&bytes).unwrap(), manifest);
        assert_eq!(ArtifactManifest::read(&bytes).unwrap().to_bytes(), bytes);
        assert!(matches!(ManifestIndex::read(&bytes), Err(ManifestError::MediaType { .. })));
    }

    #[test]
    fn what_is_no_manifest_is_refused_with_the_reason() {
        let index = ManifestIndex {
            manifests: vec![Descriptor::new(media::MANIFEST, b"x")],
            ..ManifestIndex::empty()
        };
        assert_eq!(ArtifactManifest::read(&index.to_bytes()), Err(ManifestError::Index(1)));
        let reasons = [
            ("[]", "an object"),
            ("{", "malformed"),
            (r#"{"schemaVersion":1}"#, "`schemaVersion` is 1"),
            (r#"{"schemaVersion":2,"schemaVersion":2}"#, "malformed"),
            (r#"{"schemaVersion":2,"mediaType":"text/html"}"#, "`text/html`"),
            (
                r#"{"schemaVersion":2,"config":{"mediaType":"a","digest":"sha512:00","size":1},"layers":[]}"#,
                "sha256",
            ),
            (
                r#"{"schemaVersion":2,"config":{"mediaType":"a","digest":"00","size":1},"layers":[]}"#,
                "sha256",
            ),
            (
                r#"{"schemaVersion":2,"config":{"mediaType":"a","digest":"sha256:00","size":-1},"layers":[]}"#,
                "malformed",
            ),
        ];
        for (text, reason) in reasons {
            let error = ArtifactManifest::read(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
        assert!(ArtifactManifest::read(&[0xff]).is_err());
    }

    proptest! {
        /// A manifest that can be read is written in a form that reads as the same manifest.
        #[test]
        fn no_manifest_panics(
            keys in prop::collection::vec("schemaVersion|mediaType|artifactType|config|layers|subject|manifests|annotations", 0..6),
            values in prop::collection::vec(r#"2|"x"|null|\[\]|\{\}|-1|\{"a":"b"\}|\{"mediaType":"a","digest":"sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad","size":[0-9]{1,20}\}"#, 6),
        ) {
            let entries: Vec<_> = keys.iter().zip(&values).map(|(key, value)| format!("\"{key}\":{value}")).collect();
            let text = format!("{{{}}}", entries.join(","));
            if let Ok(manifest) = ArtifactManifest::read(text.as_bytes()) {
                prop_assert_eq!(ArtifactManifest::read(&manifest.to_bytes()), Ok(manifest));
            }
            if let Ok(index) = ManifestIndex::read(text.as_bytes()) {
                prop_assert_eq!(ManifestIndex::read(&index.to_bytes()), Ok(index));
            }
        }
    }
}
