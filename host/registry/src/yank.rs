//! Yanks of published versions: signed statements, each an artifact whose subject is the manifest of the version.
//!
//! The artifact has the type `application/vnd.graph-host.yank.v1`, an empty configuration, and one layer: the DSSE
//! envelope. Everyone who may write to a registry can attach anything to a manifest. So the number and size of the
//! statements that are read are limited, and a statement that the trust store does not accept
//! ([`graph_core::trust::TrustStore::verify_yank`]) is ignored: it neither yanks a version, nor revokes a yank, nor
//! makes a command fail.
//!
//! Everyone who may write can also store the same signed item under another manifest, to which nothing is attached.
//! Therefore the statements about an item are looked up in four places ([`read`]): attached to its manifest, under a
//! tag of the item, attached to other manifests, and among the statements that the user has seen before.

use std::collections::{BTreeMap, BTreeSet};

use graph_core::digest::Digest;
use graph_core::id::{IdError, ItemId};
use graph_core::json::{self, TreeLimit};
use graph_core::time::Timestamp;
use graph_core::trust::{
    EnvelopeClaims, KeyId, MAX_ENVELOPE, MAX_YANK, PublishedVersion, Yank, YankError, YankSubject,
};

use crate::artifact::{Artifact, ItemConfig, Kind, MOST_CONFIG, is_version};
use crate::manifest::{ArtifactManifest, Descriptor, annotation, media, shown};
use crate::pull::{Judge, PullError, blob, fetch_manifest, shown_reference};
use crate::reference::{Reference, version_of_tag};
use crate::transport::{ManifestName, Transport, TransportError};

/// The artifact type of a yank.
pub const YANK_ARTIFACT: &str = "application/vnd.graph-host.yank.v1";
/// The annotation with the id of the key that signed a yank. It decides which statements are read first: those of
/// trusted keys.
const SIGNER: &str = "dev.graph-host.yank.key";
/// Maximum number of statements about a version that are read.
const MOST_STATEMENTS: usize = 64;
/// Number of bytes of statements' manifests after which no more are read.
const MOST_BYTES: usize = 1 << 20;
/// Maximum size of a statement's manifest, in bytes, as its listing states it.
const MOST_MANIFEST: u64 = 64 << 10;
/// Maximum number of signatures that are read in order to find the id of a component.
const MOST_CLAIMS: usize = 16;
/// Maximum nesting depth of a configuration's JSON.
const DEEPEST: usize = 16;

/// The statements about a version that the trust store accepts.
#[derive(Debug, Default)]
pub struct Yanks {
    /// All of these statements.
    pub statements: Vec<Yank>,
    /// The yank that is in force.
    pub yanked: Option<Yank>,
    /// True if the registry or directory no longer lists the yank in force, which was remembered.
    pub is_hidden: bool,
    /// The reason for which there may be statements that were not read.
    pub unread: Option<TransportError>,
}

/// A published version, as its artifact describes itself. None of it is verified.
#[derive(Clone, Debug)]
pub struct DescribedVersion {
    /// Its id, its version and the digest of its manifest.
    pub about: PublishedVersion,
    /// The kind of the item.
    pub kind: Kind,
    /// The manifest, as the subject of a statement.
    pub manifest: Descriptor,
}

/// Reports whether an error ends the whole command, because no further request could succeed either.
fn is_fatal(error: &TransportError) -> bool {
    matches!(
        error,
        TransportError::TooMuch { .. } | TransportError::Timeout { .. } | TransportError::Network { .. }
    )
}

/// A signed statement that is to be published.
#[derive(Clone, Copy, Debug)]
pub struct SignedYank<'y> {
    /// Its envelope.
    pub envelope: &'y str,
    /// The key that has signed it.
    pub key: KeyId,
    /// The time that it states.
    pub at: Timestamp,
}

/// The sources of statements in addition to what the registry lists for the version.
#[derive(Clone, Copy, Debug, Default)]
pub struct StatementSources<'k> {
    /// The statements that are attached to any manifests of the place; with `None`, they are read.
    pub attached: Option<&'k AttachedStatements>,
    /// The envelopes about the item that the user has seen before.
    pub remembered: &'k [String],
}

/// Reads the statements about a version. Nothing is requested if no trusted key may sign the item.
pub fn read(
    transport: &dyn Transport,
    about: &PublishedVersion,
    judge: Judge<'_>,
    known: StatementSources<'_>,
) -> Result<Yanks, TransportError> {
    if !judge.trust.has_key_for(&about.id, judge.at.now) {
        return Ok(Yanks::default());
    }
    let mut reader = StatementReader {
        transport,
        judge,
        about: about.clone(),
        found: Yanks::default(),
        seen: BTreeSet::new(),
        counted: BTreeSet::new(),
    };
    reader.attached_to_it()?;
    match listed::listed(transport, &about.id) {
        Ok(listed) => listed.iter().try_for_each(|text| reader.add(text))?,
        Err(error) if is_fatal(&error) => return Err(error),
        Err(error) => reader.unread(error),
    }
    let own;
    let attached = if let Some(attached) = known.attached {
        attached
    } else {
        own = listed::attached(transport, judge.trust);
        &own
    };
    reader.attached_to_others(attached)?;
    if let Some(error) = &attached.unread {
        reader.unread(TransportError::Answer {
            what: "its yanks".to_owned(),
            place: transport.place(),
            reason: error.to_string(),
        });
    }
    let said = |yank: &Yank| (yank.statement().clone(), yank.key().clone());
    let shown = judge.trust.yank_of(&reader.found.statements).map(said);
    known.remembered.iter().try_for_each(|text| reader.add(text))?;
    let mut found = reader.found;
    found.yanked = judge.trust.yank_of(&found.statements).cloned();
    found.is_hidden = found.yanked.is_some() && found.yanked.as_ref().map(said) != shown;
    Ok(found)
}

/// The state of reading the statements about a version.
struct StatementReader<'r> {
    transport: &'r dyn Transport,
    judge: Judge<'r>,
    about: PublishedVersion,
    found: Yanks,
    /// The digests of envelopes that were read.
    seen: BTreeSet<Digest>,
    /// The digests of the envelopes of accepted statements, in canonical form.
    counted: BTreeSet<Digest>,
}

impl StatementReader<'_> {
    /// Notes the first reason for which not all statements were read.
    fn unread(&mut self, error: TransportError) {
        self.found.unread.get_or_insert(error);
    }

    /// Adds verified statements, each only once, even if there are several copies of it.
    fn found(&mut self, verified: Vec<Yank>) {
        for yank in verified {
            if self.counted.insert(Digest::of_bytes(yank.envelope().as_bytes())) {
                self.found.statements.push(yank);
            }
        }
    }

    /// Adds the statements of an envelope about the version that the trust store accepts.
    fn add(&mut self, text: &str) -> Result<(), TransportError> {
        if !self.seen.insert(Digest::of_bytes(text.as_bytes())) {
            return Ok(());
        }
        let (trust, now) = (self.judge.trust, self.judge.at.now);
        let mut verified = trust.verify_yank(text, &self.about, now);
        if verified == Err(YankError::UnknownContent) {
            match listed::content_of(self.transport, &self.about.manifest) {
                Ok(Some(content)) => self.about.content = Some(content),
                Ok(None) => return Ok(()),
                Err(error) if is_fatal(&error) => return Err(error),
                Err(error) => {
                    self.unread(error);
                    return Ok(());
                }
            }
            verified = trust.verify_yank(text, &self.about, now);
        }
        if let Ok(verified) = verified {
            self.found(verified);
        }
        Ok(())
    }

    /// Adds the statements that are attached to the manifest of the version.
    fn attached_to_it(&mut self) -> Result<(), TransportError> {
        let (trust, now) = (self.judge.trust, self.judge.at.now);
        let (transport, about) = (self.transport, self.about.clone());
        let mut listed = match transport.referrers(&about.manifest, YANK_ARTIFACT) {
            Ok(listed) => listed,
            Err(TransportError::NotFound { .. }) => return Ok(()),
            Err(error) if is_fatal(&error) => return Err(error),
            Err(error) => {
                self.unread(error);
                return Ok(());
            }
        };
        // The annotations in the listing are not trusted: they only decide which statements are read first if there are
        // more than the limit.
        listed.retain(|one| one.size <= MOST_MANIFEST);
        listed.sort_by_cached_key(|one| {
            let signer = one.annotations.get(SIGNER).and_then(|key| key.parse::<KeyId>().ok());
            let is_known = signer.is_some_and(|key| matches!(trust.allow(key, &about.id, now), Some(Ok(_))));
            let created =
                one.annotations.get(annotation::CREATED).and_then(|at| at.parse::<Timestamp>().ok());
            (!is_known, std::cmp::Reverse(created), one.digest)
        });
        let mut seen = BTreeSet::new();
        listed.retain(|one| seen.insert(one.digest));
        let mut bytes = 0;
        for (number, one) in listed.iter().enumerate() {
            if number == MOST_STATEMENTS || bytes > MOST_BYTES {
                let what = format!("the yanks of {}", about.manifest);
                let (place, most, unit) = (transport.place(), number, "statements");
                self.unread(TransportError::CutOff { what, place, most, unit });
                break;
            }
            match envelope(transport, one, &about.manifest, YANK_ARTIFACT, MAX_YANK, &mut bytes) {
                Ok(Some(text)) => self.add(&text)?,
                Err(error) if is_fatal(&error) => return Err(error),
                Ok(None) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Adds the statements that are attached to other manifests with the same content.
    fn attached_to_others(&mut self, attached: &AttachedStatements) -> Result<(), TransportError> {
        let (trust, now) = (self.judge.trust, self.judge.at.now);
        let own = self.about.manifest;
        let mut contents = BTreeMap::new();
        for (manifest, id, text) in &attached.statements {
            if *id != self.about.id || *manifest == own {
                continue;
            }
            let other = PublishedVersion { manifest: *manifest, ..self.about.clone() };
            let names_other = match trust.verify_yank(text, &other, now) {
                Ok(verified) => {
                    verified.iter().any(|yank| matches!(yank.statement().subject, YankSubject::Manifest(_)))
                }
                Err(_) => false,
            };
            if !names_other {
                // A statement that names the content is compared with the content of the version, to whatever manifest
                // it is attached.
                self.add(text)?;
                continue;
            }
            if self.about.content.is_none() {
                self.about.content = self.content_of(&own)?;
            }
            let content = if let Some(content) = contents.get(manifest) {
                *content
            } else {
                let content = self.content_of(manifest)?;
                contents.insert(*manifest, content);
                content
            };
            if content.is_some()
                && content == self.about.content
                && self.seen.insert(Digest::of_bytes(text.as_bytes()))
            {
                self.found(trust.verify_yank(text, &other, now).unwrap_or_default());
            }
        }
        Ok(())
    }

    fn content_of(&self, manifest: &Digest) -> Result<Option<Digest>, TransportError> {
        match listed::content_of(self.transport, manifest) {
            Err(error) if is_fatal(&error) => Err(error),
            found => Ok(found.ok().flatten()),
        }
    }
}

/// Reads the envelope in an artifact of this type that refers to a manifest; `None` if the artifact is something else.
/// Adds the size of the artifact's manifest to `bytes`.
fn envelope(
    transport: &dyn Transport,
    listed: &Descriptor,
    subject: &Digest,
    artifact_type: &str,
    most: usize,
    bytes: &mut usize,
) -> Result<Option<String>, TransportError> {
    let fetched = transport.manifest(ManifestName::Digest(&listed.digest))?;
    *bytes += fetched.bytes.len();
    if fetched.digest != listed.digest {
        return Ok(None);
    }
    let Ok(manifest) = ArtifactManifest::read(&fetched.bytes) else { return Ok(None) };
    let is_about = manifest.subject.as_ref().is_some_and(|about| about.digest == *subject);
    let [layer] = manifest.layers.as_slice() else { return Ok(None) };
    let fits = layer.media_type == media::ENVELOPE && usize::try_from(layer.size).is_ok_and(|it| it <= most);
    if !is_about || manifest.kind() != artifact_type || !fits {
        return Ok(None);
    }
    let content = transport.blob(&layer.digest, layer.size)?;
    let is_it = Digest::of_bytes(&content) == layer.digest;
    Ok(String::from_utf8(content).ok().filter(|_| is_it))
}

/// Returns a version with the digest of the content that its signature covers, which a statement names. That signature
/// is not verified.
pub fn with_content(
    transport: &dyn Transport,
    about: PublishedVersion,
) -> Result<PublishedVersion, TransportError> {
    let content = listed::content_of(transport, &about.manifest)?;
    Ok(PublishedVersion { content, ..about })
}

/// Reads the id, version and kind that a published version states. A tag that is a version has to be the version of the
/// item.
pub fn describe(transport: &dyn Transport, reference: &Reference) -> Result<DescribedVersion, PullError> {
    let name = || shown_reference(reference);
    let fetched = fetch_manifest(transport, reference)?;
    let manifest = ArtifactManifest::read(&fetched.bytes)
        .map_err(|reason| PullError::Manifest { reference: name(), reason })?;
    let kind = Kind::from_manifest(&manifest)
        .filter(|_| manifest.subject.is_none())
        .ok_or_else(|| PullError::NotAnItem { reference: name(), found: shown(manifest.kind()) })?;
    let annotated = |key: &str| manifest.annotations.get(key).cloned();
    let (id, version) = match (annotated(annotation::ITEM), annotated(annotation::VERSION)) {
        (Some(id), Some(version)) => (id, version),
        _ if kind == Kind::Component => claimed(transport, &name(), &fetched.digest)?,
        _ => configured(transport, &name(), &manifest)?,
    };
    let invalid = match ItemId::parse(&id) {
        Err(reason) => Some(reason),
        Ok(parsed) => {
            parsed.version().map(|_| IdError::Character { character: '@', offset: parsed.path().len() })
        }
    };
    if let Some(reason) = invalid {
        return Err(PullError::Id { reference: name(), id: shown(&id), reason });
    }
    if !is_version(&version) {
        let reason = format!("`{}` is not a version like 1.2.3", shown(&version));
        return Err(PullError::Config { reference: name(), reason });
    }
    let tagged = reference.tag.as_deref().filter(|_| reference.digest.is_none()).and_then(version_of_tag);
    if tagged.is_some_and(|tagged| tagged != version.replace('+', "_")) {
        return Err(PullError::Tag { reference: name(), actual: version });
    }
    let about = PublishedVersion {
        id,
        version,
        manifest: fetched.digest,
        content: None,
        has_signed_version: kind == Kind::Component,
    };
    Ok(DescribedVersion { about, kind, manifest: Descriptor::new(media::MANIFEST, &fetched.bytes) })
}

/// Reads the id and version in the configuration of a text's artifact.
fn configured(
    transport: &dyn Transport,
    name: &str,
    manifest: &ArtifactManifest,
) -> Result<(String, String), PullError> {
    let wrong = |reason: String| PullError::Config { reference: name.to_owned(), reason };
    let bytes = blob(transport, name, "the configuration", &manifest.config, MOST_CONFIG)?;
    let text = std::str::from_utf8(&bytes).map_err(|error| wrong(error.to_string()))?;
    let config = json::parse_strict(text, DEEPEST, TreeLimit::ANSWER)
        .map_err(|error| wrong(shown(&error.to_string())))?;
    let config: ItemConfig =
        serde_json::from_value(config).map_err(|error| wrong(shown(&error.to_string())))?;
    Ok((config.id, config.version))
}

/// Reads the id and version in the first signed statement about a component, for artifacts of other tools.
fn claimed(transport: &dyn Transport, name: &str, manifest: &Digest) -> Result<(String, String), PullError> {
    let mut bytes = 0;
    for listed in transport.referrers(manifest, media::ENVELOPE)?.iter().take(MOST_CLAIMS) {
        let text = match envelope(transport, listed, manifest, media::ENVELOPE, MAX_ENVELOPE, &mut bytes) {
            Ok(text) => text,
            Err(error) if is_fatal(&error) => return Err(error.into()),
            Err(_) => None,
        };
        if let Some(claims) = text.and_then(|text| EnvelopeClaims::read(&text).ok()) {
            let claimed = claims.statement.predicate;
            return Ok((claimed.id, claimed.version));
        }
    }
    Err(PullError::Unsigned { reference: name.to_owned() })
}

/// Builds the artifact of a signed statement about a manifest. The same statement always gives the same bytes.
fn artifact(manifest: &Descriptor, envelope: &str, key: KeyId, at: Timestamp) -> Artifact {
    let annotations = BTreeMap::from([
        (annotation::CREATED.to_owned(), at.to_string()),
        (SIGNER.to_owned(), key.to_string()),
    ]);
    let manifest = ArtifactManifest {
        schema_version: 2,
        media_type: Some(media::MANIFEST.to_owned()),
        artifact_type: Some(YANK_ARTIFACT.to_owned()),
        config: Descriptor::new(media::EMPTY, b"{}"),
        layers: vec![Descriptor::new(media::ENVELOPE, envelope.as_bytes())],
        subject: Some(manifest.clone()),
        annotations,
    };
    Artifact { manifest, blobs: vec![b"{}".to_vec(), envelope.as_bytes().to_vec()] }
}

/// Attaches a signed statement to the manifest of its version, lists it under the tag of the item, and returns the
/// digest of the statement's own manifest. Statements that the user has seen before are listed again if they were
/// removed.
pub fn publish(
    transport: &dyn Transport,
    to: &DescribedVersion,
    signed: SignedYank<'_>,
    judge: Judge<'_>,
    known: StatementSources<'_>,
) -> Result<Digest, TransportError> {
    let SignedYank { envelope, key, at } = signed;
    let artifact = artifact(&to.manifest, envelope, key, at);
    for blob in &artifact.blobs {
        transport.put_blob(blob)?;
    }
    let attached = transport.put_manifest(&artifact.manifest, None)?;
    let mut all: Vec<&str> = known.remembered.iter().map(String::as_str).collect();
    all.push(envelope);
    listed::add(transport, &to.about.id, &all, judge)?;
    Ok(attached)
}

mod listed;
#[cfg(feature = "http")]
mod offers;
pub use listed::{AttachedStatements, MOST_LIST, SortedYanks, attached, read_list, tag_of, write_list};
#[cfg(feature = "http")]
pub use offers::of_offers;

#[cfg(test)]
mod tests;
