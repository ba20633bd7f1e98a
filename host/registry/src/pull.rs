//! Pulling artifacts. Nothing that arrives is trusted: sizes are limited before and while reading, every blob must
//! match its digest, and [`graph_core::trust`] verifies the signature of the item.

use std::sync::Arc;

use graph_core::diagnostic::Diagnostics;
use graph_core::digest::Digest;
use graph_core::id::{IdError, ItemId};
use graph_core::json::{self, TreeLimit};
use graph_core::time::Timestamp;
use graph_core::trust::{
    ClaimsError, ComponentStanding, EnvelopeClaims, KeyName, MAX_ENVELOPE, Moment, PublishedVersion,
    TextRefusal, TextStanding, TrustStore, VerifiedComponent, VerifyError, signed_content, verify_text,
};
use serde_json::Value;

use crate::artifact::{ItemConfig, Kind, MOST_CONFIG, MOST_USES, UsedItem, is_version, read_text};
use crate::companions::{self, CompanionError, Companions};
use crate::manifest::{ArtifactManifest, Descriptor, ManifestError, annotation, media, shown};
use crate::reference::{Reference, version_of_tag};
use crate::transport::{FetchedManifest, ManifestName, Transport, TransportError};

/// Maximum number of signatures of one artifact that are tried.
pub(crate) const MOST_SIGNATURES: usize = 16;
/// Maximum nesting depth of a configuration's JSON.
const DEEPEST: usize = 16;

/// The reasons for which an artifact was not pulled. Nothing was written then.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum PullError {
    /// A request to the registry, or an access to the directory, failed.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// Its manifest is invalid.
    #[error("the manifest of {reference} cannot be used: {reason}")]
    Manifest {
        /// The requested reference, for messages.
        reference: String,
        reason: ManifestError,
    },
    /// The manifest does not have the digest of the reference.
    #[error("the manifest of {reference} has the digest {actual}, {wanted} was asked for")]
    ManifestDigest {
        /// The requested reference, for messages.
        reference: String,
        /// The digest that was asked for.
        wanted: Digest,
        /// The digest of the manifest that arrived.
        actual: Digest,
    },
    /// It is an artifact of an unknown kind.
    #[error(
        "{reference} is an artifact of the type `{found}`: neither a component nor a graph, knowledge or a directive"
    )]
    NotAnItem {
        /// The requested reference, for messages.
        reference: String,
        /// The artifact type that it states.
        found: String,
    },
    /// It is a text, which contains its signature.
    #[error("{reference} is a {}, whose signature is a line in its text", kind.as_str())]
    NotAComponent {
        /// The requested reference, for messages.
        reference: String,
        /// The kind that it states.
        kind: Kind,
    },
    /// It does not have exactly one layer.
    #[error("{reference} has {found} layers, exactly one is allowed")]
    Layers {
        /// The requested reference, for messages.
        reference: String,
        /// The number of layers.
        found: usize,
    },
    /// A layer in addition to the graph cannot be a companion.
    #[error("layer {layer} of {reference} is refused: {reason}")]
    Companion {
        /// The requested reference, for messages.
        reference: String,
        /// The number of the layer; the graph is layer 0.
        layer: usize,
        reason: Box<CompanionError>,
    },
    /// A companion could not be read.
    #[error("layer {layer} (`{title}`): {error}")]
    OfCompanion {
        /// The number of the layer; the graph is layer 0.
        layer: usize,
        /// The name of its file.
        title: String,
        error: Box<PullError>,
    },
    /// The layer has another media type than the kind requires.
    #[error("the layer of {reference} is of the type `{found}`, {} is needed", expected.join(" or "))]
    LayerType {
        /// The requested reference, for messages.
        reference: String,
        found: String,
        /// The media types that are allowed.
        expected: Vec<&'static str>,
    },
    /// A blob is too large.
    #[error("{what} of {reference} has {size} bytes, {most} at most are pulled")]
    TooLarge {
        /// The requested reference, for messages.
        reference: String,
        what: &'static str,
        /// The size that its descriptor states.
        size: u64,
        most: u64,
    },
    /// A blob has another size than its descriptor states.
    #[error("{what} of {reference} has {actual} bytes, its manifest states {stated}")]
    Size {
        /// The requested reference, for messages.
        reference: String,
        what: &'static str,
        /// The stated size, in bytes.
        stated: u64,
        actual: u64,
    },
    /// A blob has another digest than its descriptor states.
    #[error("{what} of {reference} has the digest {actual}, its manifest states {stated}")]
    BlobDigest {
        /// The requested reference, for messages.
        reference: String,
        what: &'static str,
        stated: Digest,
        actual: Digest,
    },
    /// The artifact's configuration is invalid.
    #[error("what {reference} says about itself cannot be used: {reason}")]
    Config {
        /// The requested reference, for messages.
        reference: String,
        reason: String,
    },
    /// The id in the annotations is invalid.
    #[error("{reference} says that it is the item `{id}`, which is not an item id: {reason}")]
    Id {
        /// The requested reference, for messages.
        reference: String,
        id: String,
        /// The reason for which it is invalid.
        reason: IdError,
    },
    /// It is another item than the one that was requested.
    #[error("{reference} is `{found}`, and `{wanted}` was asked for")]
    OtherItem {
        /// The requested reference, for messages.
        reference: String,
        /// The item that is locked or named.
        wanted: String,
        /// The item that it is.
        found: String,
    },
    /// It is not signed.
    #[error("{reference} is not signed, and what is pulled has to be")]
    Unsigned {
        /// The requested reference, for messages.
        reference: String,
    },
    /// A signature of the artifact is invalid, or about another artifact.
    #[error("the signature {signature} of {reference} cannot be used: {reason}")]
    Signature {
        /// The requested reference, for messages.
        reference: String,
        /// The digest of the signature's manifest.
        signature: Digest,
        reason: String,
    },
    /// It has more signatures than are tried, and none of those that were tried was accepted.
    #[error(
        "none of the first {tried} of {found} signatures of {reference} is admitted, and no more are tried: {first}"
    )]
    Signatures {
        /// The requested reference, for messages.
        reference: String,
        tried: usize,
        found: usize,
        /// The error of the first of them.
        first: Box<PullError>,
    },
    /// The component's signature was not accepted.
    #[error("{reference} is not admitted: {reason}")]
    Component {
        /// The requested reference, for messages.
        reference: String,
        reason: Box<VerifyError>,
    },
    /// The text's signature was not accepted.
    #[error("{reference} is not admitted: the signature of `{id}` does not hold: {reason}")]
    Text {
        /// The requested reference, for messages.
        reference: String,
        id: String,
        reason: Box<TextRefusal>,
    },
    /// The text is not a valid item of its kind.
    #[error("{reference} is not admitted: `{id}` is not a {} that can be used", kind.as_str())]
    Invalid {
        /// The requested reference, for messages.
        reference: String,
        id: String,
        /// The kind of item that was expected.
        kind: Kind,
        problems: Box<Diagnostics>,
    },
    /// The manifest and the signature state different versions.
    #[error("{reference} is published as version {stated}, and its content says {actual}")]
    Version {
        /// The requested reference, for messages.
        reference: String,
        /// The version in the manifest's annotation.
        stated: String,
        /// The version that the signature covers.
        actual: String,
    },
    /// The tag is a version, but names an item of another version.
    #[error("{reference} is version {actual}: its tag says another one")]
    Tag {
        /// The requested reference, for messages.
        reference: String,
        /// The version that the signature covers.
        actual: String,
    },
}

/// An item that was pulled and whose signature was accepted.
#[derive(Clone, Debug)]
pub struct PulledArtifact {
    /// The id that the signature covers.
    pub id: String,
    /// The kind of the item.
    pub kind: Kind,
    /// The version that its signature covers.
    pub version: String,
    /// The digest of its manifest.
    pub manifest: Digest,
    /// The digest of its content.
    pub digest: Digest,
    /// The key whose signature was accepted.
    pub key: KeyName,
    /// The content whose signature was accepted.
    pub content: PulledContent,
    /// The items that are published along with it.
    pub uses: Vec<UsedItem>,
    /// The companions of a graph, and which of them are signed.
    pub companions: Companions,
}

impl PulledArtifact {
    /// Returns the version in the form in which a yank names it.
    pub fn published(&self) -> PublishedVersion {
        let content = match &self.content {
            PulledContent::Component { .. } => self.digest,
            PulledContent::Text { text, .. } => signed_content(text),
        };
        PublishedVersion {
            id: self.id.clone(),
            version: self.version.clone(),
            manifest: self.manifest,
            content: Some(content),
            has_signed_version: self.kind == Kind::Component,
        }
    }
}

/// The content of an item whose signature was accepted.
#[derive(Clone, Debug)]
pub enum PulledContent {
    /// A component, verified against the trust store.
    Component {
        /// The component's bytes, with the verified statements of its signatures.
        component: Box<VerifiedComponent>,
        /// The envelope with its signatures.
        envelope: String,
    },
    /// A text with its signature line.
    Text {
        /// The text as it was published, with its signature line.
        text: String,
        /// The extension of its file.
        extension: &'static str,
        /// The time of its signature, as the signer states it.
        time: Timestamp,
        /// The judgement about its signature.
        standing: TextStanding,
    },
}

/// The trust store and the time by which signatures are verified.
#[derive(Clone, Copy, Debug)]
pub struct Judge<'j> {
    /// The trust store that decides which signatures count.
    pub trust: &'j TrustStore,
    /// The time by which keys are judged.
    pub at: Moment,
}

/// Fetches an artifact and verifies it. `item` is the id that it must have, if that is known.
pub fn pull(
    transport: &dyn Transport,
    reference: &Reference,
    item: Option<&str>,
    judge: Judge<'_>,
) -> Result<PulledArtifact, PullError> {
    let name = shown_reference(reference);
    let fetched = fetch_manifest(transport, reference)?;
    let manifest = ArtifactManifest::read(&fetched.bytes)
        .map_err(|reason| PullError::Manifest { reference: name.clone(), reason })?;
    let kind = Kind::from_manifest(&manifest)
        .filter(|_| manifest.subject.is_none())
        .ok_or_else(|| PullError::NotAnItem { reference: name.clone(), found: shown(manifest.kind()) })?;
    let from = ArrivingArtifact { transport, name: &name, manifest: &manifest, digest: fetched.digest };
    let layer = from.layer(kind)?;
    let companions =
        if kind == Kind::Graph { companions::read(&name, &manifest)? } else { Companions::default() };
    let stated = from.stated(kind, layer)?;
    if let (Some(wanted), Some(found)) = (item, &stated.id)
        && wanted != found
    {
        let (wanted, found) = (wanted.to_owned(), found.clone());
        return Err(PullError::OtherItem { reference: name, wanted, found });
    }
    let bytes = from.blob("the layer", layer, kind.most())?;
    let pulled = if kind == Kind::Component {
        from.component(bytes, &stated, judge)?
    } else {
        let extension = kind.layers().iter().find(|(media_type, _)| *media_type == layer.media_type);
        let extension = extension.map_or("yaml", |(_, extension)| extension);
        let mut pulled = PulledArtifact { companions, ..from.text(kind, bytes, stated, extension, judge)? };
        if let PulledContent::Text { text, .. } = &pulled.content {
            let content = signed_content(text);
            companions::verify(transport, &name, &mut pulled.companions, (&pulled.id, &content), judge)?;
        }
        pulled
    };
    if let Some(wanted) = item.filter(|wanted| *wanted != pulled.id) {
        let (wanted, found) = (wanted.to_owned(), pulled.id);
        return Err(PullError::OtherItem { reference: name, wanted, found });
    }
    // Otherwise, an attacker who may move tags could offer an old version as a new one.
    let tagged = reference.tag.as_deref().and_then(version_of_tag);
    if tagged.is_some_and(|tagged| tagged != pulled.version.replace('+', "_")) {
        return Err(PullError::Tag { reference: name, actual: pulled.version });
    }
    Ok(pulled)
}

/// A component before its signatures are verified: it may be signed, but never be executed.
#[derive(Clone, Debug)]
pub struct UnverifiedComponent {
    /// The bytes of the component, whose digest matches the artifact's manifest.
    pub bytes: Vec<u8>,
    /// The descriptor of the artifact's manifest, which a signature refers to.
    pub subject: Descriptor,
    /// The id that the artifact states, if it states one.
    pub id: Option<String>,
    /// The version that the artifact states, or else its tag.
    pub version: Option<String>,
}

/// Fetches a component and makes all checks of its artifact, except for its signatures. For any other artifact, the
/// error is [`PullError::NotAnItem`] or [`PullError::NotAComponent`].
pub fn unvouched(transport: &dyn Transport, reference: &Reference) -> Result<UnverifiedComponent, PullError> {
    let name = shown_reference(reference);
    let fetched = fetch_manifest(transport, reference)?;
    let manifest = ArtifactManifest::read(&fetched.bytes)
        .map_err(|reason| PullError::Manifest { reference: name.clone(), reason })?;
    match Kind::from_manifest(&manifest).filter(|_| manifest.subject.is_none()) {
        Some(Kind::Component) => {}
        Some(kind) => return Err(PullError::NotAComponent { reference: name, kind }),
        None => return Err(PullError::NotAnItem { reference: name, found: shown(manifest.kind()) }),
    }
    let from = ArrivingArtifact { transport, name: &name, manifest: &manifest, digest: fetched.digest };
    let layer = from.layer(Kind::Component)?;
    let stated = from.stated(Kind::Component, layer)?;
    let bytes = from.blob("the layer", layer, Kind::Component.most())?;
    let tagged = reference.tag.as_deref().and_then(version_of_tag).map(|tag| tag.replace('_', "+"));
    // A pull requires that a tag that is a version is the signed version.
    if let (Some(tagged), Some(stated)) = (&tagged, &stated.version)
        && tagged != stated
    {
        return Err(PullError::Tag { reference: name, actual: stated.clone() });
    }
    let subject = Descriptor::new(media::MANIFEST, &fetched.bytes);
    Ok(UnverifiedComponent { bytes, subject, id: stated.id, version: stated.version.or(tagged) })
}

/// Fetches the manifest of a reference. If the reference has a digest, the manifest has to match it.
pub fn fetch_manifest(
    transport: &dyn Transport,
    reference: &Reference,
) -> Result<FetchedManifest, PullError> {
    let wanted = match (&reference.digest, &reference.tag) {
        (Some(digest), _) => ManifestName::Digest(digest),
        (None, Some(tag)) => ManifestName::Tag(tag),
        (None, None) => ManifestName::Tag("latest"),
    };
    let fetched = transport.manifest(wanted)?;
    match wanted {
        ManifestName::Digest(wanted) if *wanted != fetched.digest => Err(PullError::ManifestDigest {
            reference: shown_reference(reference),
            wanted: *wanted,
            actual: fetched.digest,
        }),
        _ => Ok(fetched),
    }
}

/// Formats a reference for messages.
pub(crate) fn shown_reference(reference: &Reference) -> String {
    graph_core::diagnostic::printable(&reference.to_string()).into_owned()
}

/// The id, version and used items that an artifact states, which are not verified yet.
struct StatedItem {
    id: Option<String>,
    version: Option<String>,
    uses: Vec<UsedItem>,
}

/// An artifact that is being pulled.
struct ArrivingArtifact<'a> {
    transport: &'a dyn Transport,
    name: &'a str,
    manifest: &'a ArtifactManifest,
    digest: Digest,
}

impl ArrivingArtifact<'_> {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    /// Returns the layer of the item, whose media type fits its kind. A graph may have further layers after it.
    fn layer(&self, kind: Kind) -> Result<&Descriptor, PullError> {
        let layer = match self.manifest.layers.as_slice() {
            [layer] => layer,
            [layer, ..] if kind == Kind::Graph => layer,
            layers => return Err(PullError::Layers { reference: self.name(), found: layers.len() }),
        };
        let expected: Vec<_> = kind.layers().iter().map(|(media_type, _)| *media_type).collect();
        if expected.contains(&layer.media_type.as_str()) {
            Ok(layer)
        } else {
            let found = shown(&layer.media_type);
            Err(PullError::LayerType { reference: self.name(), found, expected })
        }
    }

    /// Reads a blob, and checks its size and its digest.
    fn blob(&self, what: &'static str, described: &Descriptor, most: u64) -> Result<Vec<u8>, PullError> {
        blob(self.transport, self.name, what, described, most)
    }

    fn stated(&self, kind: Kind, layer: &Descriptor) -> Result<StatedItem, PullError> {
        let bytes = self.blob("the configuration", &self.manifest.config, MOST_CONFIG)?;
        let wrong = |reason: String| PullError::Config { reference: self.name(), reason };
        let text = std::str::from_utf8(&bytes).map_err(|error| wrong(error.to_string()))?;
        let config = json::parse_strict(text, DEEPEST, TreeLimit::ANSWER)
            .map_err(|error| wrong(shown(&error.to_string())))?;
        let annotated = |key: &str| self.manifest.annotations.get(key).cloned();
        let (id, version) = (annotated(annotation::ITEM), annotated(annotation::VERSION));
        let stated = if kind == Kind::Component {
            let listed = config.get("layerDigests").and_then(Value::as_array);
            let own = layer.digest.to_string();
            if listed.is_some_and(|listed| !listed.iter().any(|digest| digest.as_str() == Some(&*own))) {
                return Err(wrong(format!("its `layerDigests` do not have its layer, {own}")));
            }
            StatedItem { id, version, uses: Vec::new() }
        } else {
            let own: ItemConfig =
                serde_json::from_value(config).map_err(|error| wrong(shown(&error.to_string())))?;
            let differs = |one: &Option<String>, other: &str| one.as_deref().is_some_and(|one| one != other);
            if own.kind != kind || differs(&id, &own.id) || differs(&version, &own.version) {
                let (id, version) = (id.unwrap_or_default(), version.unwrap_or_default());
                return Err(wrong(format!(
                    "its configuration describes the {} `{}` {}, its manifest the {} `{}` {}",
                    own.kind.as_str(),
                    shown(&own.id),
                    shown(&own.version),
                    kind.as_str(),
                    shown(&id),
                    shown(&version),
                )));
            }
            if own.uses.len() > MOST_USES {
                let reason = format!("{} items come along with it, {MOST_USES} at most may", own.uses.len());
                return Err(wrong(reason));
            }
            for used in &own.uses {
                self.check_id(&used.id)?;
            }
            StatedItem { id: Some(own.id), version: Some(own.version), uses: own.uses }
        };
        stated.id.as_deref().map_or(Ok(()), |id| self.check_id(id))?;
        if let Some(version) = stated.version.as_deref().filter(|version| !is_version(version)) {
            return Err(wrong(format!("`{}` is not a version like 1.2.3", shown(version))));
        }
        Ok(stated)
    }

    fn check_id(&self, id: &str) -> Result<(), PullError> {
        let wrong = |reason| PullError::Id { reference: self.name(), id: shown(id), reason };
        let parsed = ItemId::parse(id).map_err(wrong)?;
        match parsed.version() {
            Some(_) => Err(wrong(IdError::Character { character: '@', offset: parsed.path().len() })),
            None => Ok(()),
        }
    }

    /// Verifies a component by one of the signatures that refer to its manifest.
    fn component(
        &self,
        bytes: Vec<u8>,
        stated: &StatedItem,
        judge: Judge<'_>,
    ) -> Result<PulledArtifact, PullError> {
        let bytes: Arc<[u8]> = bytes.into();
        let listed = self.transport.referrers(&self.digest, media::ENVELOPE)?;
        // Several signers may have signed it independently, of which one trusted signature is enough. If none is, the
        // refusals are reported.
        let mut refused = None;
        for one in listed.iter().take(MOST_SIGNATURES) {
            match self.by_signature(one, &bytes, stated, judge) {
                Ok(Some(pulled)) => return Ok(pulled),
                Ok(None) => {}
                Err(
                    error @ PullError::Transport(
                        TransportError::TooMuch { .. } | TransportError::Timeout { .. },
                    ),
                ) => {
                    return Err(error);
                }
                Err(error) => {
                    refused.get_or_insert(error);
                }
            }
        }
        let refused = refused.unwrap_or_else(|| PullError::Unsigned { reference: self.name() });
        if listed.len() <= MOST_SIGNATURES {
            return Err(refused);
        }
        Err(PullError::Signatures {
            reference: self.name(),
            tried: MOST_SIGNATURES,
            found: listed.len(),
            first: Box::new(refused),
        })
    }

    /// Verifies a component by one signature; `None` if the listed artifact is not a signature.
    fn by_signature(
        &self,
        listed: &Descriptor,
        bytes: &Arc<[u8]>,
        stated: &StatedItem,
        judge: Judge<'_>,
    ) -> Result<Option<PulledArtifact>, PullError> {
        let wrong = |reason: String| PullError::Signature {
            reference: self.name(),
            signature: listed.digest,
            reason,
        };
        let fetched = self.transport.manifest(ManifestName::Digest(&listed.digest))?;
        if fetched.digest != listed.digest {
            return Err(wrong(format!("its digest is {}", fetched.digest)));
        }
        let manifest = ArtifactManifest::read(&fetched.bytes).map_err(|error| wrong(error.to_string()))?;
        if manifest.kind() != media::ENVELOPE {
            return Ok(None);
        }
        match &manifest.subject {
            Some(subject) if subject.digest == self.digest => {}
            Some(subject) => return Err(wrong(format!("it is about another artifact, {}", subject.digest))),
            None => return Err(wrong("it is about no artifact".to_owned())),
        }
        let [layer] = manifest.layers.as_slice() else {
            return Err(wrong(format!("it has {} layers, exactly one is allowed", manifest.layers.len())));
        };
        if layer.media_type != media::ENVELOPE {
            return Err(wrong(format!("its layer is of the type `{}`", shown(&layer.media_type))));
        }
        let envelope = self.blob("the signature", layer, MAX_ENVELOPE as u64)?;
        let envelope = String::from_utf8(envelope).map_err(|error| wrong(error.to_string()))?;
        let item = item(&envelope, stated).map_err(|error| wrong(error.to_string()))?;
        let Judge { trust, at } = judge;
        let component = VerifiedComponent::verify(Arc::clone(bytes), Some(&envelope), trust, &item, at)
            .map_err(|reason| PullError::Component { reference: self.name(), reason: Box::new(reason) })?;
        let (ComponentStanding::Signed { key, .. }, Some(version)) =
            (component.standing(), component.version())
        else {
            return Err(PullError::Unsigned { reference: self.name() });
        };
        Ok(Some(PulledArtifact {
            id: component.id().to_owned(),
            kind: Kind::Component,
            version: version.to_owned(),
            manifest: self.digest,
            digest: *component.digest(),
            key: key.clone(),
            content: PulledContent::Component { component: Box::new(component), envelope },
            uses: Vec::new(),
            companions: Companions::default(),
        }))
    }

    fn text(
        &self,
        kind: Kind,
        bytes: Vec<u8>,
        stated: StatedItem,
        extension: &'static str,
        judge: Judge<'_>,
    ) -> Result<PulledArtifact, PullError> {
        let wrong = |reason: String| PullError::Config { reference: self.name(), reason };
        let text = String::from_utf8(bytes).map_err(|error| wrong(format!("its text: {error}")))?;
        let (Some(id), Some(version)) = (stated.id, stated.version) else {
            return Err(wrong("it has no id".to_owned()));
        };
        let digest = Digest::of_bytes(text.as_bytes());
        let Some(text_kind) = kind.text_kind() else { return Err(wrong("it is a component".to_owned())) };
        let standing = verify_text(text_kind, &id, &text, judge.trust, judge.at);
        let (key, time) = match &standing {
            TextStanding::Signed { key, time, .. } => (key.clone(), *time),
            TextStanding::Unsigned | TextStanding::BuiltIn | TextStanding::Legacy { .. } => {
                return Err(PullError::Unsigned { reference: self.name() });
            }
            TextStanding::Invalid(refusal) => {
                let reason = Box::new(refusal.clone());
                return Err(PullError::Text { reference: self.name(), id, reason });
            }
        };
        let said = read_text(kind, &id, extension, &text).map_err(|problems| PullError::Invalid {
            reference: self.name(),
            id: id.clone(),
            kind,
            problems,
        })?;
        if let Some(actual) = said.version.filter(|actual| *actual != version) {
            return Err(PullError::Version { reference: self.name(), stated: version, actual });
        }
        Ok(PulledArtifact {
            id,
            kind,
            version,
            manifest: self.digest,
            digest,
            key,
            content: PulledContent::Text { text, extension, time, standing },
            uses: stated.uses,
            companions: Companions::default(),
        })
    }
}

/// Returns the id that the manifest states; for artifacts of other tools, the one in the signed statement. Neither is
/// trusted until the signature has been verified for it.
fn item(envelope: &str, stated: &StatedItem) -> Result<String, ClaimsError> {
    let id = match &stated.id {
        Some(id) => id.clone(),
        None => EnvelopeClaims::read(envelope)?.statement.predicate.id,
    };
    Ok(stated.version.as_ref().map_or_else(|| id.clone(), |version| format!("{id}@{version}")))
}

/// Reads a blob whose size is that of its descriptor and at most `most`, and checks its digest.
pub(crate) fn blob(
    transport: &dyn Transport,
    name: &str,
    what: &'static str,
    described: &Descriptor,
    most: u64,
) -> Result<Vec<u8>, PullError> {
    let reference = || name.to_owned();
    if described.size > most {
        return Err(PullError::TooLarge { reference: reference(), what, size: described.size, most });
    }
    let bytes = transport.blob(&described.digest, described.size)?;
    let (stated, actual) = (described.size, bytes.len() as u64);
    if stated != actual {
        return Err(PullError::Size { reference: reference(), what, stated, actual });
    }
    let actual = Digest::of_bytes(&bytes);
    if actual != described.digest {
        return Err(PullError::BlobDigest { reference: reference(), what, stated: described.digest, actual });
    }
    Ok(bytes)
}
