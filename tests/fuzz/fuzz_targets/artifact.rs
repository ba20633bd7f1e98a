//! Manifests, indexes and whole artifacts: anything from a registry is refused with the requested reference, or is an
//! item that the key has signed; and a published item is pulled again unchanged. The input is a manifest, a
//! configuration, a layer, a signature's manifest and an envelope, with a separator in between.
#![no_main]

use graph_core::time::Timestamp;
use graph_core::trust::{CommentMark, TrustStore, sign_text};
use graph_fuzz::artifact::{self, Sections};
use graph_registry::artifact::{
    Item, ItemConfig, ItemContent, Kind, MOST_USES, artifacts, is_version, read_text,
};
use graph_registry::manifest::{ArtifactManifest, ManifestIndex};
use graph_registry::publish::publish;
use graph_registry::pull::{Judge, PullError, PulledArtifact, PulledContent, pull};
use libfuzzer_sys::fuzz_target;

const AT: Timestamp = Timestamp(1_700_000_000_000);

fuzz_target!(|bytes: &[u8]| {
    documents(bytes);
    let Some(sections) = Sections::of(bytes) else { return };
    let reference = artifact::REFERENCE.parse().expect("the reference is a constant");
    let place = sections.arrive();
    let trust = artifact::trust();
    let judge = Judge { trust: &trust, at: AT.into() };
    check(pull(&place, &reference, None, judge));
    let nobody = Judge { trust: &TrustStore::default(), at: AT.into() };
    assert!(pull(&place, &reference, None, nobody).is_err(), "a store without keys has believed someone");
    if let Ok(text) = std::str::from_utf8(sections.layer) {
        for (kind, extension, mark) in [
            (Kind::Graph, "yaml", CommentMark::Hash),
            (Kind::Knowledge, "yaml", CommentMark::Hash),
            (Kind::Knowledge, "md", CommentMark::Angle),
            (Kind::Directive, "md", CommentMark::Angle),
        ] {
            published(kind, extension, mark, text, judge);
        }
    }
});

/// Checks that documents read the same after they are written.
fn documents(bytes: &[u8]) {
    match ArtifactManifest::read(bytes) {
        Ok(manifest) => {
            assert_eq!(
                ArtifactManifest::read(&manifest.to_bytes()).as_ref(),
                Ok(&manifest),
                "another manifest"
            );
        }
        Err(error) => shown(&error.to_string()),
    }
    match ManifestIndex::read(bytes) {
        Ok(index) => assert_eq!(ManifestIndex::read(&index.to_bytes()).as_ref(), Ok(&index), "another index"),
        Err(error) => shown(&error.to_string()),
    }
}

/// Checks that an admitted item is bounded and has a valid id and version, and that a refusal names the place.
fn check(result: Result<PulledArtifact, PullError>) {
    match result {
        Ok(pulled) => {
            let id = graph_core::id::ItemId::parse(&pulled.id).expect("an id that is not one was admitted");
            assert!(id.version().is_none() && is_version(&pulled.version), "{pulled:?}");
            assert!(pulled.uses.len() <= MOST_USES, "too many items come along");
            let bytes = match &pulled.content {
                PulledContent::Component { component, .. } => component.bytes(),
                PulledContent::Text { text, .. } => text.as_bytes(),
            };
            assert_eq!(
                graph_core::digest::Digest::of_bytes(bytes),
                pulled.digest,
                "the digest of other bytes"
            );
            assert_eq!(pulled.key.id, artifact::key().id(), "admitted by another key");
        }
        Err(error) => {
            let told = error.to_string();
            shown(&told);
            assert!(told.contains(artifact::REPOSITORY), "a refusal that names no place: {told}");
        }
    }
}

/// Checks that a message can be printed: not empty, bounded, and without control characters.
fn shown(message: &str) {
    assert!(!message.is_empty() && message.len() < 8_000, "a message of {} bytes", message.len());
    assert!(!message.contains(|c: char| c.is_control()), "a message with control characters: {message:?}");
}

/// Checks that a text that is signed, published and pulled is unchanged.
fn published(kind: Kind, extension: &str, mark: CommentMark, text: &str, judge: Judge<'_>) {
    let text_kind = kind.text_kind().expect("it is a text");
    let signed = sign_text(text_kind, artifact::ID, text, mark, &artifact::key(), AT);
    let Ok(said) = read_text(kind, artifact::ID, extension, &signed) else { return };
    let version = said.version.unwrap_or_else(|| "1.0.0".to_owned());
    let item = Item {
        config: ItemConfig { id: artifact::ID.to_owned(), kind, version: version.clone(), uses: Vec::new() },
        description: said.description.as_deref(),
        created: Some(AT),
        content: ItemContent::Text { text: &signed, extension },
    };
    let (artifact, signature) = artifacts(&item).expect("an artifact of the kind");
    let place = artifact::Memory::default();
    let reference: graph_registry::reference::Reference =
        format!("{}:{}", artifact::REPOSITORY_REFERENCE, version.replace('+', "_"))
            .parse()
            .expect("a version is a tag");
    let tag = reference.tag.clone().expect("it has a tag");
    let first = publish(&place, &artifact, signature.as_ref(), &tag, false).expect("it is published");
    let again = publish(&place, &artifact, signature.as_ref(), &tag, false).expect("it is published again");
    assert!(again.was_there && again.manifest == first.manifest, "the same item, another artifact");
    let pulled =
        pull(&place, &reference, Some(artifact::ID), judge).expect("what was published can be pulled");
    assert_eq!((pulled.manifest, pulled.version), (first.manifest, version));
    let PulledContent::Text { text, .. } = pulled.content else { panic!("a text became a component") };
    assert_eq!(text, signed, "another text");
}
