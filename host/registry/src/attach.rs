//! Signatures for components that are already in a registry. A signature is an artifact of its own, whose subject is
//! the component's manifest, so that signing changes neither the component's digest nor its tag.

use std::collections::BTreeMap;

use graph_core::digest::Digest;
use graph_core::trust::PREDICATE_TYPE;

use crate::artifact::Artifact;
use crate::manifest::{ArtifactManifest, Descriptor, media};
use crate::pull::MOST_SIGNATURES;
use crate::transport::{Transport, TransportError};

/// The reasons for which a signature was not attached. Nothing was written then, unless the transport failed between
/// two writes.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// The component has as many signatures as a pull tries.
    #[error(
        "{place} lists {found} signatures of {subject} already, and a pull tries {MOST_SIGNATURES} of them"
    )]
    Full {
        /// The repository or directory.
        place: String,
        /// The component's manifest.
        subject: Digest,
        /// Number of signatures that are listed.
        found: usize,
    },
    /// A request to the registry, or an access to the directory, failed.
    #[error(transparent)]
    Transport(#[from] TransportError),
}

/// A signature that is attached to a component's artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttachedSignature {
    /// The digest of the signature's own manifest.
    pub signature: Digest,
    /// True if the same signature was attached before.
    pub was_there: bool,
}

/// Builds the artifact of a component's envelope. `subject` is the descriptor of the component's manifest as it is
/// stored: manifests that other tools wrote are not in canonical form.
pub fn envelope(subject: Descriptor, envelope: &str) -> Artifact {
    let manifest = ArtifactManifest {
        schema_version: 2,
        media_type: Some(media::MANIFEST.to_owned()),
        artifact_type: Some(media::ENVELOPE.to_owned()),
        config: Descriptor::new(media::EMPTY, b"{}"),
        layers: vec![Descriptor::new(media::ENVELOPE, envelope.as_bytes())],
        subject: Some(subject),
        annotations: BTreeMap::from([("in-toto.io/predicate-type".to_owned(), PREDICATE_TYPE.to_owned())]),
    };
    Artifact { manifest, blobs: vec![b"{}".to_vec(), envelope.as_bytes().to_vec()] }
}

/// Attaches an envelope to a component's artifact. Existing signatures are kept.
pub fn attach(
    transport: &dyn Transport,
    subject: Descriptor,
    text: &str,
) -> Result<AttachedSignature, AttachError> {
    let about = subject.digest;
    let artifact = envelope(subject, text);
    let signature = artifact.digest();
    let listed = transport.referrers(&about, media::ENVELOPE)?;
    if listed.iter().any(|listed| listed.digest == signature) {
        return Ok(AttachedSignature { signature, was_there: true });
    }
    if listed.len() >= MOST_SIGNATURES {
        return Err(AttachError::Full { place: transport.place(), subject: about, found: listed.len() });
    }
    for blob in &artifact.blobs {
        transport.put_blob(blob)?;
    }
    let signature = transport.put_manifest(&artifact.manifest, None)?;
    Ok(AttachedSignature { signature, was_there: false })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::layout::Layout;
    use crate::pull::{PullError, unvouched};
    use crate::reference::Reference;

    /// Stores a component as other tools do: without annotations, and not in canonical JSON.
    fn pushed(layout: &Layout, annotations: &str) -> Digest {
        layout.put_blob(b"{}").unwrap();
        layout.put_blob(b"\0asm").unwrap();
        let (config, wasm) = (Digest::of_bytes(b"{}"), Digest::of_bytes(b"\0asm"));
        let text = format!(
            "{{ \"schemaVersion\": 2,\n  \"config\": {{ \"mediaType\": \"{}\", \"digest\": \"{config}\", \"size\": 2 }},\n  \
             \"layers\": [{{ \"mediaType\": \"{}\", \"digest\": \"{wasm}\", \"size\": 4 }}]{annotations} }}",
            media::WASM_CONFIG,
            media::WASM
        );
        layout.put_blob(text.as_bytes()).unwrap();
        Digest::of_bytes(text.as_bytes())
    }

    /// Adds a manifest to the index under a name, as another tool would.
    fn name(folder: &std::path::Path, digest: Digest, name: &str) {
        let path = folder.join("index.json");
        let mut index = crate::manifest::ManifestIndex::read(&std::fs::read(&path).unwrap()).unwrap();
        let size = std::fs::metadata(folder.join("blobs/sha256").join(digest.hex())).unwrap().len();
        let annotations = [("org.opencontainers.image.ref.name".to_owned(), name.to_owned())].into();
        index.manifests.push(Descriptor {
            digest,
            size,
            annotations,
            ..Descriptor::new(media::MANIFEST, b"")
        });
        std::fs::write(path, index.to_bytes()).unwrap();
    }

    #[test]
    fn a_signature_refers_to_the_manifest_as_it_is_stored() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("out");
        let layout = Layout::new(&place);
        let digest = pushed(&layout, "");
        name(&place, digest, "pushed:1.2.0");
        let reference: Reference = format!("oci-layout:{}:pushed:1.2.0", place.display()).parse().unwrap();
        let found = unvouched(&layout, &reference).unwrap();
        assert_eq!((found.id, found.version.as_deref()), (None, Some("1.2.0")));
        assert_eq!((&*found.bytes, found.subject.digest), (&b"\0asm"[..], digest));
        let one = attach(&layout, found.subject.clone(), "{}").unwrap();
        assert!(!one.was_there);
        assert_eq!(
            attach(&layout, found.subject.clone(), "{}").unwrap(),
            AttachedSignature { was_there: true, ..one }
        );
        let listed = layout.referrers(&digest, media::ENVELOPE).unwrap();
        assert_eq!(listed.iter().map(|listed| listed.digest).collect::<Vec<_>>(), [one.signature]);
        // Neither the tag nor the component has changed.
        assert_eq!(unvouched(&layout, &reference).unwrap().subject, found.subject);
        for other in 1..MOST_SIGNATURES {
            attach(&layout, found.subject.clone(), &format!("{{\"{other}\":0}}")).unwrap();
        }
        let full = attach(&layout, found.subject, "{\"x\":0}");
        assert!(matches!(full, Err(AttachError::Full { found: MOST_SIGNATURES, .. })), "{full:?}");
    }

    #[test]
    fn a_tag_and_the_stated_version_agree() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("out");
        let layout = Layout::new(&place);
        let digest = pushed(
            &layout,
            ", \"annotations\": { \"org.opencontainers.image.version\": \"1.0.0\", \"dev.graph-host.item.id\": \"t/x\" }",
        );
        name(&place, digest, "pushed:1.2.0");
        name(&place, digest, "pushed:latest");
        let of = |tag: &str| {
            let reference: Reference =
                format!("oci-layout:{}:pushed:{tag}", place.display()).parse().unwrap();
            unvouched(&layout, &reference)
        };
        assert!(matches!(of("1.2.0"), Err(PullError::Tag { .. })));
        let found = of("latest").unwrap();
        assert_eq!((found.id.as_deref(), found.version.as_deref()), (Some("t/x"), Some("1.0.0")));
    }
}
