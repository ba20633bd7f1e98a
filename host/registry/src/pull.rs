//! Pulling: nothing that comes is believed. Sizes are capped before and while reading, every blob has to have its digest,
//! and what it is, is what [`graph_core::trust`] says after checking its signature.

use std::sync::Arc;

use graph_core::diagnostic::Diagnostics;
use graph_core::digest::Digest;
use graph_core::id::{IdError, ItemId};
use graph_core::json;
use graph_core::time::Timestamp;
use graph_core::trust::{
    ClaimsError, EnvelopeClaims, KeyName, MAX_ENVELOPE, Moment, Standing, TextRefusal, TextStanding,
    TrustStore, VerifiedComponent, VerifyError, verify_text,
};
use serde_json::Value;

use crate::artifact::{ItemConfig, Kind, MOST_CONFIG, MOST_USES, Use, is_version, read_text};
use crate::manifest::{Descriptor, Manifest, ManifestError, annotation, media, shown};
use crate::reference::{Reference, version_of_tag};
use crate::transport::{Fetched, Transport, TransportError, Wanted};

/// How many signatures of one artifact are looked at.
const MOST_SIGNATURES: usize = 16;
/// How deep a configuration's JSON may nest.
const DEEPEST: usize = 16;

/// Why something is not pulled. Nothing has been written then.
#[derive(Debug, thiserror::Error)]
pub enum PullError {
    /// It could not be brought.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// Its manifest is none.
    #[error("the manifest of {reference} cannot be used: {reason}")]
    Manifest {
        /// What was asked for.
        reference: String,
        /// What is wrong.
        reason: ManifestError,
    },
    /// The manifest is not the one that was asked for.
    #[error("the manifest of {reference} has the digest {actual}, {wanted} was asked for")]
    ManifestDigest {
        /// What was asked for.
        reference: String,
        /// The digest that was asked for.
        wanted: Digest,
        /// The digest of what came.
        actual: Digest,
    },
    /// It is an artifact of another kind.
    #[error(
        "{reference} is an artifact of the type `{found}`: neither a component nor a graph, knowledge or a directive"
    )]
    NotAnItem {
        /// What was asked for.
        reference: String,
        /// What it says that it is.
        found: String,
    },
    /// It has more or fewer layers than one.
    #[error("{reference} has {found} layers, exactly one is allowed")]
    Layers {
        /// What was asked for.
        reference: String,
        /// How many there are.
        found: usize,
    },
    /// The layer is of another type.
    #[error("the layer of {reference} is of the type `{found}`, {} is needed", expected.join(" or "))]
    LayerType {
        /// What was asked for.
        reference: String,
        /// Its type.
        found: String,
        /// What it may be.
        expected: Vec<&'static str>,
    },
    /// A blob is larger than it may be.
    #[error("{what} of {reference} has {size} bytes, {most} at most are pulled")]
    TooLarge {
        /// What was asked for.
        reference: String,
        /// Which blob.
        what: &'static str,
        /// The size that its descriptor states.
        size: u64,
        /// The cap.
        most: u64,
    },
    /// A blob is not as long as its descriptor says.
    #[error("{what} of {reference} has {actual} bytes, its manifest states {stated}")]
    Size {
        /// What was asked for.
        reference: String,
        /// Which blob.
        what: &'static str,
        /// What is stated.
        stated: u64,
        /// What came.
        actual: u64,
    },
    /// A blob is not what its descriptor says.
    #[error("{what} of {reference} has the digest {actual}, its manifest states {stated}")]
    BlobDigest {
        /// What was asked for.
        reference: String,
        /// Which blob.
        what: &'static str,
        /// What is stated.
        stated: Digest,
        /// What came.
        actual: Digest,
    },
    /// What the artifact says about itself cannot be used.
    #[error("what {reference} says about itself cannot be used: {reason}")]
    Config {
        /// What was asked for.
        reference: String,
        /// What is wrong.
        reason: String,
    },
    /// The id in the annotations is none.
    #[error("{reference} says that it is the item `{id}`, which is not an item id: {reason}")]
    Id {
        /// What was asked for.
        reference: String,
        /// The text.
        id: String,
        /// What is wrong.
        reason: IdError,
    },
    /// It is another item than the one that was asked for.
    #[error("{reference} is `{found}`, and `{wanted}` was asked for")]
    OtherItem {
        /// What was asked for.
        reference: String,
        /// The item that is locked or named.
        wanted: String,
        /// The item that it is.
        found: String,
    },
    /// Nobody has signed it.
    #[error("{reference} is not signed, and what is pulled has to be")]
    Unsigned {
        /// What was asked for.
        reference: String,
    },
    /// What lies beside it as its signature is none, or is about something else.
    #[error("the signature {signature} of {reference} cannot be used: {reason}")]
    Signature {
        /// What was asked for.
        reference: String,
        /// The digest of the signature's manifest.
        signature: Digest,
        /// What is wrong.
        reason: String,
    },
    /// The component is not let in.
    #[error("{reference} is not let in: {reason}")]
    Component {
        /// What was asked for.
        reference: String,
        /// Why.
        reason: Box<VerifyError>,
    },
    /// The text is not let in.
    #[error("{reference} is not let in: the signature of `{id}` does not hold: {reason}")]
    Text {
        /// What was asked for.
        reference: String,
        /// The item.
        id: String,
        /// Why.
        reason: Box<TextRefusal>,
    },
    /// The text is not what it should be.
    #[error("{reference} is not let in: `{id}` is not a {} that can be used", kind.as_str())]
    Invalid {
        /// What was asked for.
        reference: String,
        /// The item.
        id: String,
        /// What it should be.
        kind: Kind,
        /// What is wrong.
        problems: Box<Diagnostics>,
    },
    /// Manifest and content state different versions.
    #[error("{reference} is published as version {stated}, and its content says {actual}")]
    Version {
        /// What was asked for.
        reference: String,
        /// The published version.
        stated: String,
        /// The signed one.
        actual: String,
    },
    /// The tag is a version, and what it names is another one.
    #[error("{reference} is version {actual}: its tag says another one")]
    Tag {
        /// What was asked for.
        reference: String,
        /// The signed version.
        actual: String,
    },
}

/// An item that has been let in.
#[derive(Clone, Debug)]
pub struct Pulled {
    /// The item's id.
    pub id: String,
    /// What it is.
    pub kind: Kind,
    /// Its version.
    pub version: String,
    /// The digest of its manifest.
    pub manifest: Digest,
    /// The digest of its content.
    pub digest: Digest,
    /// The key by whose signature it was let in.
    pub key: KeyName,
    /// Its content.
    pub content: PulledContent,
    /// What comes along with it.
    pub uses: Vec<Use>,
}

/// The content of an item that has been let in.
#[derive(Clone, Debug)]
pub enum PulledContent {
    /// A component.
    Component {
        /// The component.
        component: Box<VerifiedComponent>,
        /// The envelope that vouches for it.
        envelope: String,
    },
    /// A text with its signature line.
    Text {
        /// The text.
        text: String,
        /// What its file ends in.
        extension: &'static str,
        /// When it was signed, as the signer says.
        time: Timestamp,
        /// How far it may be believed.
        standing: TextStanding,
    },
}

/// Whose signatures count, and when.
#[derive(Clone, Copy, Debug)]
pub struct Judge<'j> {
    /// The trust store.
    pub trust: &'j TrustStore,
    /// The time by which keys are judged.
    pub at: Moment,
}

/// Brings an artifact and lets it in. `item` is the id that it has to have, where that is known.
pub fn pull(
    transport: &dyn Transport,
    reference: &Reference,
    item: Option<&str>,
    judge: Judge<'_>,
) -> Result<Pulled, PullError> {
    let name = shown_reference(reference);
    let fetched = fetch_manifest(transport, reference)?;
    let manifest = Manifest::read(&fetched.bytes)
        .map_err(|reason| PullError::Manifest { reference: name.clone(), reason })?;
    let kind = Kind::of(&manifest)
        .filter(|_| manifest.subject.is_none())
        .ok_or_else(|| PullError::NotAnItem { reference: name.clone(), found: shown(manifest.kind()) })?;
    let from = Arriving { transport, name: &name, manifest: &manifest, digest: fetched.digest, judge };
    let layer = from.layer(kind)?;
    let stated = from.stated(kind, layer)?;
    if let (Some(wanted), Some(found)) = (item, &stated.id)
        && wanted != found
    {
        let (wanted, found) = (wanted.to_owned(), found.clone());
        return Err(PullError::OtherItem { reference: name, wanted, found });
    }
    let bytes = from.blob("the layer", layer, kind.most())?;
    let pulled = if kind == Kind::Component {
        from.component(bytes, &stated)?
    } else {
        let extension = kind.layers().iter().find(|(media_type, _)| *media_type == layer.media_type);
        from.text(kind, bytes, stated, extension.map_or("yaml", |(_, extension)| extension))?
    };
    if let Some(wanted) = item.filter(|wanted| *wanted != pulled.id) {
        let (wanted, found) = (wanted.to_owned(), pulled.id);
        return Err(PullError::OtherItem { reference: name, wanted, found });
    }
    // Whoever may move tags could otherwise offer an old version as a new one.
    let tagged = reference.tag.as_deref().and_then(version_of_tag);
    if tagged.is_some_and(|tagged| tagged != pulled.version.replace('+', "_")) {
        return Err(PullError::Tag { reference: name, actual: pulled.version });
    }
    Ok(pulled)
}

/// The manifest of a reference, which has the digest that the reference names.
pub fn fetch_manifest(transport: &dyn Transport, reference: &Reference) -> Result<Fetched, PullError> {
    let wanted = match (&reference.digest, &reference.tag) {
        (Some(digest), _) => Wanted::Digest(digest),
        (None, Some(tag)) => Wanted::Tag(tag),
        (None, None) => Wanted::Tag("latest"),
    };
    let fetched = transport.manifest(wanted)?;
    match wanted {
        Wanted::Digest(wanted) if *wanted != fetched.digest => Err(PullError::ManifestDigest {
            reference: shown_reference(reference),
            wanted: *wanted,
            actual: fetched.digest,
        }),
        _ => Ok(fetched),
    }
}

fn shown_reference(reference: &Reference) -> String {
    graph_core::diagnostic::printable(&reference.to_string()).into_owned()
}

/// What an artifact says about itself, before anything is believed.
struct Stated {
    id: Option<String>,
    version: Option<String>,
    uses: Vec<Use>,
}

/// An artifact that is being pulled.
struct Arriving<'a> {
    transport: &'a dyn Transport,
    name: &'a str,
    manifest: &'a Manifest,
    digest: Digest,
    judge: Judge<'a>,
}

impl Arriving<'_> {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    /// Its one layer, which is of a type that its kind has.
    fn layer(&self, kind: Kind) -> Result<&Descriptor, PullError> {
        let [layer] = self.manifest.layers.as_slice() else {
            let found = self.manifest.layers.len();
            return Err(PullError::Layers { reference: self.name(), found });
        };
        let expected: Vec<_> = kind.layers().iter().map(|(media_type, _)| *media_type).collect();
        if expected.contains(&layer.media_type.as_str()) {
            Ok(layer)
        } else {
            let found = shown(&layer.media_type);
            Err(PullError::LayerType { reference: self.name(), found, expected })
        }
    }

    /// A blob: not larger than it may be, as long as it should be, and what its digest says.
    fn blob(&self, what: &'static str, described: &Descriptor, most: u64) -> Result<Vec<u8>, PullError> {
        blob(self.transport, self.name, what, described, most)
    }

    fn stated(&self, kind: Kind, layer: &Descriptor) -> Result<Stated, PullError> {
        let bytes = self.blob("the configuration", &self.manifest.config, MOST_CONFIG)?;
        let wrong = |reason: String| PullError::Config { reference: self.name(), reason };
        let text = std::str::from_utf8(&bytes).map_err(|error| wrong(error.to_string()))?;
        let config = json::parse_strict(text, DEEPEST).map_err(|error| wrong(shown(&error.to_string())))?;
        let annotated = |key: &str| self.manifest.annotations.get(key).cloned();
        let (id, version) = (annotated(annotation::ITEM), annotated(annotation::VERSION));
        let stated = if kind == Kind::Component {
            let listed = config.get("layerDigests").and_then(Value::as_array);
            let own = layer.digest.to_string();
            if listed.is_some_and(|listed| !listed.iter().any(|digest| digest.as_str() == Some(&*own))) {
                return Err(wrong(format!("its `layerDigests` do not have its layer, {own}")));
            }
            Stated { id, version, uses: Vec::new() }
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
            Stated { id: Some(own.id), version: Some(own.version), uses: own.uses }
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

    /// Lets a component in by one of the signatures that refer to its manifest.
    fn component(&self, bytes: Vec<u8>, stated: &Stated) -> Result<Pulled, PullError> {
        let bytes: Arc<[u8]> = bytes.into();
        let listed = self.transport.referrers(&self.digest)?;
        let is_signature = |listed: &&Descriptor| {
            listed.artifact_type.as_deref().is_none_or(|found| found == media::ENVELOPE)
        };
        // Several may have signed it, each for themselves: one that is believed is enough. What stands beside it says why
        // the others are not, if none is.
        let mut refused = None;
        for listed in listed.iter().filter(is_signature).take(MOST_SIGNATURES) {
            match self.by_signature(listed, &bytes, stated) {
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
        Err(refused.unwrap_or_else(|| PullError::Unsigned { reference: self.name() }))
    }

    /// Lets a component in by one signature; `None` where that is no signature at all.
    fn by_signature(
        &self,
        listed: &Descriptor,
        bytes: &Arc<[u8]>,
        stated: &Stated,
    ) -> Result<Option<Pulled>, PullError> {
        let wrong = |reason: String| PullError::Signature {
            reference: self.name(),
            signature: listed.digest,
            reason,
        };
        let fetched = self.transport.manifest(Wanted::Digest(&listed.digest))?;
        if fetched.digest != listed.digest {
            return Err(wrong(format!("its digest is {}", fetched.digest)));
        }
        let manifest = Manifest::read(&fetched.bytes).map_err(|error| wrong(error.to_string()))?;
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
        let (trust, at) = (self.judge.trust, self.judge.at);
        let component = VerifiedComponent::verify(Arc::clone(bytes), Some(&envelope), trust, &item, at)
            .map_err(|reason| PullError::Component { reference: self.name(), reason: Box::new(reason) })?;
        let (Standing::Signed { key, .. }, Some(version)) = (component.standing(), component.version())
        else {
            return Err(PullError::Unsigned { reference: self.name() });
        };
        Ok(Some(Pulled {
            id: component.id().to_owned(),
            kind: Kind::Component,
            version: version.to_owned(),
            manifest: self.digest,
            digest: *component.digest(),
            key: key.clone(),
            content: PulledContent::Component { component: Box::new(component), envelope },
            uses: Vec::new(),
        }))
    }

    fn text(
        &self,
        kind: Kind,
        bytes: Vec<u8>,
        stated: Stated,
        extension: &'static str,
    ) -> Result<Pulled, PullError> {
        let wrong = |reason: String| PullError::Config { reference: self.name(), reason };
        let text = String::from_utf8(bytes).map_err(|error| wrong(format!("its text: {error}")))?;
        let (Some(id), Some(version)) = (stated.id, stated.version) else {
            return Err(wrong("it has no id".to_owned()));
        };
        let digest = Digest::of_bytes(text.as_bytes());
        let Some(text_kind) = kind.text_kind() else { return Err(wrong("it is a component".to_owned())) };
        let standing = verify_text(text_kind, &id, &text, self.judge.trust, self.judge.at);
        let (key, time) = match &standing {
            TextStanding::Signed { key, time, .. } => (key.clone(), *time),
            TextStanding::Unsigned | TextStanding::Legacy { .. } => {
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
        Ok(Pulled {
            id,
            kind,
            version,
            manifest: self.digest,
            digest,
            key,
            content: PulledContent::Text { text, extension, time, standing },
            uses: stated.uses,
        })
    }
}

/// The item that the manifest says it is; for artifacts of other tools, the one that the statement claims. Both are
/// believed only once the signature has been checked over it.
fn item(envelope: &str, stated: &Stated) -> Result<String, ClaimsError> {
    let id = match &stated.id {
        Some(id) => id.clone(),
        None => EnvelopeClaims::read(envelope)?.statement.predicate.id,
    };
    Ok(stated.version.as_ref().map_or_else(|| id.clone(), |version| format!("{id}@{version}")))
}

/// Reads a blob as far as its descriptor and a cap allow, and checks that it is what the descriptor says.
fn blob(
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
