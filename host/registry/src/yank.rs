//! Yanks of published versions: signed statements, each an artifact whose subject is the manifest of the version.
//!
//! Type `application/vnd.graph-host.yank.v1`, an empty configuration, one layer: the DSSE envelope. Everyone who may
//! write to a registry can attach anything to a manifest. What is read of it is bounded, and what is not a statement that counts
//! ([`graph_core::trust::TrustStore::verify_yank`]) is ignored: it neither yanks, nor takes back a yank, nor fails a command.

use std::collections::{BTreeMap, BTreeSet};

use graph_core::digest::Digest;
use graph_core::id::{IdError, ItemId};
use graph_core::json;
use graph_core::time::Timestamp;
use graph_core::trust::{EnvelopeClaims, KeyId, MAX_ENVELOPE, MAX_YANK, PublishedVersion, Yank};

use crate::artifact::{Artifact, ItemConfig, Kind, MOST_CONFIG, is_version};
use crate::manifest::{Descriptor, Manifest, annotation, media, shown};
use crate::pull::{Judge, PullError, blob, fetch_manifest, shown_reference};
use crate::reference::{Reference, version_of_tag};
use crate::transport::{Transport, TransportError, Wanted};

/// The artifact type of a yank.
pub const YANK_ARTIFACT: &str = "application/vnd.graph-host.yank.v1";
/// The annotation with the id of the key that signed a yank: statements of trusted keys are read first.
const SIGNER: &str = "dev.graph-host.yank.key";
/// How many statements about a version are read.
const MOST_STATEMENTS: usize = 64;
/// How many bytes of manifests of statements are read.
const MOST_BYTES: usize = 1 << 20;
/// The largest manifest of a statement, in bytes, by what its listing says.
const MOST_MANIFEST: u64 = 64 << 10;
/// How many signatures are read in order to find out which item a component is.
const MOST_CLAIMS: usize = 16;
/// The deepest nesting of a configuration's JSON.
const DEEPEST: usize = 16;

/// The statements about a version that count.
#[derive(Debug, Default)]
pub struct Yanks {
    /// All of them.
    pub statements: Vec<Yank>,
    /// The yank that is in force.
    pub yanked: Option<Yank>,
    /// Why there may be others that were not read.
    pub unread: Option<TransportError>,
}

/// A published version, as its artifact describes itself. None of it is verified.
#[derive(Clone, Debug)]
pub struct Described {
    /// Its id, its version and the digest of its manifest.
    pub about: PublishedVersion,
    /// Whether it is a component, a graph, knowledge or a directive.
    pub kind: Kind,
    /// The manifest, as the subject of a statement.
    pub manifest: Descriptor,
}

/// Whether an error ends the whole command: nothing else could be read, either.
fn is_fatal(error: &TransportError) -> bool {
    matches!(
        error,
        TransportError::TooMuch { .. } | TransportError::Timeout { .. } | TransportError::Network { .. }
    )
}

/// Reads the statements about a version. Nothing is requested if no trusted key may sign the item.
pub fn read(
    transport: &dyn Transport,
    about: &PublishedVersion,
    judge: Judge<'_>,
) -> Result<Yanks, TransportError> {
    let (trust, now) = (judge.trust, judge.at.now);
    let mut found = Yanks::default();
    if !trust.has_key_for(&about.id, now) {
        return Ok(found);
    }
    let mut listed = match transport.referrers(&about.manifest, YANK_ARTIFACT) {
        Ok(listed) => listed,
        Err(TransportError::NotFound { .. }) => return Ok(found),
        Err(error) if is_fatal(&error) => return Err(error),
        Err(error) => return Ok(Yanks { unread: Some(error), ..found }),
    };
    // What the listing says only decides what is read first, in case that there is more than is read.
    listed.retain(|one| one.size <= MOST_MANIFEST);
    listed.sort_by_cached_key(|one| {
        let signer = one.annotations.get(SIGNER).and_then(|key| key.parse::<KeyId>().ok());
        let is_known = signer.is_some_and(|key| matches!(trust.allow(key, &about.id, now), Some(Ok(_))));
        let created = one.annotations.get(annotation::CREATED).and_then(|at| at.parse::<Timestamp>().ok());
        (!is_known, std::cmp::Reverse(created), one.digest)
    });
    let mut seen = BTreeSet::new();
    listed.retain(|one| seen.insert(one.digest));
    let mut bytes = 0;
    for (number, one) in listed.iter().enumerate() {
        if number == MOST_STATEMENTS || bytes > MOST_BYTES {
            let what = format!("the yanks of {}", about.manifest);
            let (place, most, unit) = (transport.place(), number, "statements");
            found.unread = Some(TransportError::CutOff { what, place, most, unit });
            break;
        }
        match envelope(transport, one, &about.manifest, YANK_ARTIFACT, MAX_YANK, &mut bytes) {
            Ok(Some(text)) => {
                found.statements.extend(trust.verify_yank(&text, about, now).unwrap_or_default());
            }
            Err(error) if is_fatal(&error) => return Err(error),
            Ok(None) | Err(_) => {}
        }
    }
    found.yanked = trust.yank_of(&found.statements).cloned();
    Ok(found)
}

/// The envelope in an artifact of a type that refers to a manifest; `None` if it is something else. `bytes` counts those of
/// manifests.
fn envelope(
    transport: &dyn Transport,
    listed: &Descriptor,
    subject: &Digest,
    artifact_type: &str,
    most: usize,
    bytes: &mut usize,
) -> Result<Option<String>, TransportError> {
    let fetched = transport.manifest(Wanted::Digest(&listed.digest))?;
    *bytes += fetched.bytes.len();
    if fetched.digest != listed.digest {
        return Ok(None);
    }
    let Ok(manifest) = Manifest::read(&fetched.bytes) else { return Ok(None) };
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

/// What a published version says that it is. A tag that is a version has to be that of the item.
pub fn describe(transport: &dyn Transport, reference: &Reference) -> Result<Described, PullError> {
    let name = || shown_reference(reference);
    let fetched = fetch_manifest(transport, reference)?;
    let manifest =
        Manifest::read(&fetched.bytes).map_err(|reason| PullError::Manifest { reference: name(), reason })?;
    let kind = Kind::of(&manifest)
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
    let about = PublishedVersion { id, version, manifest: fetched.digest };
    Ok(Described { about, kind, manifest: Descriptor::of(media::MANIFEST, &fetched.bytes) })
}

/// The id and version in the configuration of a text's artifact.
fn configured(
    transport: &dyn Transport,
    name: &str,
    manifest: &Manifest,
) -> Result<(String, String), PullError> {
    let wrong = |reason: String| PullError::Config { reference: name.to_owned(), reason };
    let bytes = blob(transport, name, "the configuration", &manifest.config, MOST_CONFIG)?;
    let text = std::str::from_utf8(&bytes).map_err(|error| wrong(error.to_string()))?;
    let config = json::parse_strict(text, DEEPEST).map_err(|error| wrong(shown(&error.to_string())))?;
    let config: ItemConfig =
        serde_json::from_value(config).map_err(|error| wrong(shown(&error.to_string())))?;
    Ok((config.id, config.version))
}

/// The id and version in the first signed statement about a component, for artifacts of other tools.
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

/// The artifact of a signed statement about a manifest. The same statement always has the same bytes.
fn artifact(manifest: &Descriptor, envelope: &str, key: KeyId, at: Timestamp) -> Artifact {
    let annotations = BTreeMap::from([
        (annotation::CREATED.to_owned(), at.to_string()),
        (SIGNER.to_owned(), key.to_string()),
    ]);
    let manifest = Manifest {
        schema_version: 2,
        media_type: Some(media::MANIFEST.to_owned()),
        artifact_type: Some(YANK_ARTIFACT.to_owned()),
        config: Descriptor::of(media::EMPTY, b"{}"),
        layers: vec![Descriptor::of(media::ENVELOPE, envelope.as_bytes())],
        subject: Some(manifest.clone()),
        annotations,
    };
    Artifact { manifest, blobs: vec![b"{}".to_vec(), envelope.as_bytes().to_vec()] }
}

/// Attaches a signed statement to the manifest that it is about, and returns the digest of the statement's own manifest.
pub fn publish(
    transport: &dyn Transport,
    manifest: &Descriptor,
    envelope: &str,
    key: KeyId,
    at: Timestamp,
) -> Result<Digest, TransportError> {
    let artifact = artifact(manifest, envelope, key, at);
    for blob in &artifact.blobs {
        transport.put_blob(blob)?;
    }
    transport.put_manifest(&artifact.manifest, None)
}

#[cfg(feature = "http")]
mod offers;
#[cfg(feature = "http")]
pub use offers::of_offers;

#[cfg(test)]
mod tests;
