//! Artifacts of a registry in memory, for the target `artifact` and its seeds.

use std::cell::RefCell;
use std::collections::BTreeMap;

use graph_core::digest::Digest;
use graph_core::time::Timestamp;
use graph_core::trust::{CommentMark, SigningKey, TrustStore, sign_text};
use graph_registry::artifact::{Item, ItemConfig, ItemContent, Kind, artifacts};
use graph_registry::manifest::{ArtifactManifest, Descriptor, ManifestIndex, media};
use graph_registry::transport::{FetchedManifest, ManifestName, Transport, TransportError};
use serde_json::{Value, json};

/// Id of the published item.
pub const ID: &str = "fuzz/item";
/// Its repository in messages.
pub const REPOSITORY: &str = "registry.example/fuzz/item";
/// The repository as a reference.
pub const REPOSITORY_REFERENCE: &str = "oci://registry.example/fuzz/item";
/// Reference of the pulled artifact.
pub const REFERENCE: &str = "oci://registry.example/fuzz/item:1.0.0";
/// Separator of the sections of an input.
const SEPARATOR: &[u8] = b"\n---8<---\n";

/// The key that signs everything.
pub fn key() -> SigningKey {
    SigningKey::from_seed(&[7; 32])
}

/// Makes a trust store with that key only.
///
/// # Panics
///
/// If its text is not a trust store.
pub fn trust() -> TrustStore {
    let text =
        format!("keys:\n  - {{ name: fuzz, key: \"{}\", items: [\"*\"] }}\n", key().verifying_key().hex());
    TrustStore::from_yaml("trust.yaml", &text).expect("the text is a constant").0
}

/// Parts of a received artifact.
#[derive(Clone, Copy, Debug)]
pub struct Sections<'b> {
    /// The manifest; its descriptors are made to fit unless it is not JSON.
    pub manifest: &'b [u8],
    /// The configuration.
    pub config: &'b [u8],
    /// The layer.
    pub layer: &'b [u8],
    /// The manifest of the signature.
    pub signature: &'b [u8],
    /// The envelope in it.
    pub envelope: &'b [u8],
}

impl<'b> Sections<'b> {
    /// Splits an input into sections. Missing ones are empty; `None` without a separator.
    pub fn of(bytes: &'b [u8]) -> Option<Self> {
        let mut rest = bytes;
        let mut next = || {
            let at = rest.windows(SEPARATOR.len()).position(|window| window == SEPARATOR);
            let (section, after) =
                at.map_or((rest, &b""[..]), |at| (&rest[..at], &rest[at + SEPARATOR.len()..]));
            rest = after;
            section
        };
        let (manifest, config, layer) = (next(), next(), next());
        let found = Self { manifest, config, layer, signature: next(), envelope: next() };
        (found.manifest.len() < bytes.len()).then_some(found)
    }

    /// Makes a place with these sections. Digests and sizes in the manifests are corrected, so that later checks are
    /// reached; a descriptor with the size 0 is left unchanged.
    pub fn arrive(&self) -> Memory {
        let place = Memory::default();
        let manifest = fitted(self.manifest, &[("/config", self.config), ("/layers/0", self.layer)]);
        let subject = Digest::of_bytes(&manifest);
        let signature = fitted(
            self.signature,
            &[("/config", b"{}"), ("/layers/0", self.envelope), ("/subject", &manifest)],
        );
        {
            let mut state = place.state.borrow_mut();
            for blob in [self.config, self.layer, self.envelope, b"{}"] {
                state.blobs.insert(Digest::of_bytes(blob), blob.to_vec());
            }
            if !self.signature.is_empty() {
                let mut listed = Descriptor::new(media::MANIFEST, &signature);
                listed.artifact_type = Some(media::ENVELOPE.to_owned());
                state.referrers.push((subject, listed));
            }
            state.tags.insert("1.0.0".to_owned(), subject);
            state.manifests.insert(subject, manifest);
            state.manifests.insert(Digest::of_bytes(&signature), signature);
        }
        place
    }
}

/// Corrects the descriptors of a manifest for these blobs.
fn fitted(bytes: &[u8], blobs: &[(&str, &[u8])]) -> Vec<u8> {
    let Ok(mut value) = serde_json::from_slice::<Value>(bytes) else { return bytes.to_vec() };
    for (pointer, blob) in blobs {
        if let Some(described) = value.pointer_mut(pointer).and_then(Value::as_object_mut)
            && described.get("size") != Some(&json!(0))
        {
            described.insert("digest".to_owned(), json!(Digest::of_bytes(blob).to_string()));
            described.insert("size".to_owned(), json!(blob.len()));
        }
    }
    value.to_string().into_bytes()
}

/// A repository in memory.
#[derive(Debug, Default)]
pub struct Memory {
    state: RefCell<State>,
}

#[derive(Debug, Default)]
struct State {
    tags: BTreeMap<String, Digest>,
    manifests: BTreeMap<Digest, Vec<u8>>,
    blobs: BTreeMap<Digest, Vec<u8>>,
    /// Descriptors of referrers, each with the digest of its subject.
    referrers: Vec<(Digest, Descriptor)>,
}

impl Memory {
    fn missing(what: String) -> TransportError {
        TransportError::NotFound { what, place: REPOSITORY.to_owned(), listing: None }
    }
}

impl Transport for Memory {
    fn manifest(&self, wanted: ManifestName<'_>) -> Result<FetchedManifest, TransportError> {
        let state = self.state.borrow();
        let digest = match wanted {
            ManifestName::Tag(tag) => state.tags.get(tag),
            ManifestName::Digest(digest) => Some(digest),
        };
        let found = digest.and_then(|digest| Some((*digest, state.manifests.get(digest)?.clone())));
        let (digest, bytes) = found.ok_or_else(|| Self::missing(wanted.shown()))?;
        Ok(FetchedManifest { bytes, digest })
    }

    fn blob(&self, digest: &Digest, most: u64) -> Result<Vec<u8>, TransportError> {
        let found = self.state.borrow().blobs.get(digest).cloned();
        let what = format!("blob {digest}");
        match found {
            Some(bytes) if bytes.len() as u64 <= most => Ok(bytes),
            Some(_) => Err(TransportError::TooLarge { what, place: self.place(), most }),
            None => Err(Self::missing(what)),
        }
    }

    fn tags(&self) -> Result<Vec<String>, TransportError> {
        Ok(self.state.borrow().tags.keys().cloned().collect())
    }

    fn referrers(&self, subject: &Digest, _artifact_type: &str) -> Result<Vec<Descriptor>, TransportError> {
        let state = self.state.borrow();
        let found = state.referrers.iter().filter(|(about, _)| about == subject);
        Ok(found.map(|(_, listed)| listed.clone()).collect())
    }

    fn put_blob(&self, bytes: &[u8]) -> Result<(), TransportError> {
        self.state.borrow_mut().blobs.insert(Digest::of_bytes(bytes), bytes.to_vec());
        Ok(())
    }

    fn put_manifest(&self, manifest: &ArtifactManifest, tag: Option<&str>) -> Result<Digest, TransportError> {
        let bytes = manifest.to_bytes();
        let digest = Digest::of_bytes(&bytes);
        let mut state = self.state.borrow_mut();
        if let Some(subject) = &manifest.subject {
            state.referrers.push((subject.digest, Descriptor::new(media::MANIFEST, &bytes)));
        }
        state.manifests.insert(digest, bytes);
        if let Some(tag) = tag {
            state.tags.insert(tag.to_owned(), digest);
        }
        Ok(digest)
    }

    fn place(&self) -> String {
        REPOSITORY.to_owned()
    }
}

/// Makes seeds: an artifact of each kind of text that is admitted, one of a component, and an index.
///
/// # Panics
///
/// If a text cannot become an artifact.
pub fn seeds(component: &[u8], envelope: &str) -> Vec<Vec<u8>> {
    let texts = [
        (
            Kind::Graph,
            "yaml",
            CommentMark::Hash,
            "version: \"1.0.0\"\ntool_type: graph\nexecutor_id: graph-host\ncategory: fuzz\ndescription: adds\nconfig:\n  start: a\n  nodes:\n    a: { type: return }\n",
        ),
        (Kind::Knowledge, "md", CommentMark::Angle, "---\nversion: 1.0.0\n---\n# Facts\n\nWater boils.\n"),
        (Kind::Directive, "md", CommentMark::Angle, "---\nversion: 1.0.0\n---\n# Greet\n\nSay hello.\n"),
    ];
    let mut found = Vec::new();
    for (kind, extension, mark, text) in texts {
        let at = Timestamp(1_600_000_000_000);
        let text = sign_text(kind.text_kind().expect("it is a text"), ID, text, mark, &key(), at);
        let config = ItemConfig { id: ID.to_owned(), kind, version: "1.0.0".to_owned(), uses: Vec::new() };
        let content = ItemContent::Text { text: &text, extension };
        let item = Item { config, description: Some("a text"), created: Some(at), content };
        let (artifact, _) = artifacts(&item).expect("an artifact of the kind");
        found.push(
            [&artifact.manifest.to_bytes()[..], &artifact.blobs[0], &artifact.blobs[1]].join(SEPARATOR),
        );
        found.push(artifact.manifest.to_bytes());
    }
    let index =
        ManifestIndex { manifests: vec![Descriptor::new(media::MANIFEST, b"x")], ..ManifestIndex::empty() };
    found.push(index.to_bytes());
    let described =
        |media_type: &str| json!({ "mediaType": media_type, "digest": Digest::of_bytes(b""), "size": 1 });
    let manifest = |artifact_type: Option<&str>, config: &str, layer: &str, subject: Option<Value>| {
        let mut manifest = json!({ "schemaVersion": 2, "mediaType": media::MANIFEST, "config": described(config),
            "layers": [described(layer)] });
        if let Some(artifact_type) = artifact_type {
            manifest["artifactType"] = json!(artifact_type);
        }
        if let Some(subject) = subject {
            manifest["subject"] = subject;
        }
        manifest.to_string().into_bytes()
    };
    let of_component = manifest(None, media::WASM_CONFIG, media::WASM, None);
    let of_signature =
        manifest(Some(media::ENVELOPE), media::EMPTY, media::ENVELOPE, Some(described(media::MANIFEST)));
    found.push(
        [
            &of_component[..],
            br#"{"architecture":"wasm","os":"wasip2"}"#,
            component,
            &of_signature,
            envelope.as_bytes(),
        ]
        .join(SEPARATOR),
    );
    found
}
