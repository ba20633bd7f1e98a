//! The statements about an item's versions under a tag of their own, which is found whatever manifest a version has, and
//! those that are attached to manifests which no tag names any more.

use std::collections::BTreeMap;

use graph_core::digest::Digest;
use graph_core::json::{self, TreeLimit};
use graph_core::time::Timestamp;
use graph_core::trust::{MAX_YANK, TrustStore, YankStatement, signed_content};

use super::{YANK_ARTIFACT, envelope};
use crate::artifact::Kind;
use crate::manifest::{Descriptor, Manifest, media};
use crate::transport::{Transport, TransportError, Wanted};

/// The media type of the layer of that tag: a JSON list of envelopes, each a text.
const LIST: &str = "application/vnd.graph-host.yanks.v1+json";
/// How many statements about an item's versions are listed and read.
const MOST_LISTED: usize = 256;
/// The longest list of them, in bytes.
pub const MOST_LIST: usize = 4 << 20;
/// How many statements are read that are attached to any manifest, and how many bytes of their own manifests.
const MOST_ATTACHED: usize = 1_000;
const MOST_ATTACHED_BYTES: usize = 8 << 20;

/// The tag under which the statements about all versions of an item are listed.
pub fn tag_of(id: &str) -> String {
    format!("yanks-{}", Digest::of_bytes(id.as_bytes()).hex())
}

/// Reads a list of envelopes.
pub fn read_list(bytes: &[u8]) -> Option<Vec<String>> {
    let envelopes: Vec<String> =
        (bytes.len() <= MOST_LIST).then(|| json::read(bytes, TreeLimit::ANSWER).ok()).flatten()?;
    let fits = envelopes.len() <= MOST_LISTED && envelopes.iter().all(|text| text.len() <= MAX_YANK);
    fits.then_some(envelopes)
}

/// Writes a list of envelopes: the newest ones of those that make a statement, without doubles, as many as are read.
pub fn write_list(envelopes: Vec<String>) -> Vec<u8> {
    let mut dated: Vec<(Timestamp, String)> = envelopes
        .into_iter()
        .filter_map(|text| Some((YankStatement::claimed(&text).ok()?.at, text)))
        .collect();
    dated.sort_unstable();
    dated.dedup();
    let first = dated.len().saturating_sub(MOST_LISTED / 2);
    // With half of it, there is room in bytes as well.
    let kept: Vec<&String> = dated[first..].iter().map(|(_, text)| text).collect();
    serde_json::to_vec(&kept).unwrap_or_default()
}

/// The envelopes that are listed under the tag of an item; an error if there is something else.
pub(super) fn listed(transport: &dyn Transport, id: &str) -> Result<Vec<String>, TransportError> {
    let tag = tag_of(id);
    let fetched = match transport.manifest(Wanted::Tag(&tag)) {
        Ok(fetched) => fetched,
        Err(TransportError::NotFound { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let broken = || TransportError::Answer {
        what: format!("tag `{tag}`"),
        place: transport.place(),
        reason: "something that is no list of yanks".to_owned(),
    };
    let manifest = Manifest::read(&fetched.bytes).map_err(|_| broken())?;
    let [layer] = manifest.layers.as_slice() else { return Err(broken()) };
    let fits = layer.media_type == LIST && layer.size <= MOST_LIST as u64;
    if manifest.kind() != YANK_ARTIFACT || !fits {
        return Err(broken());
    }
    let bytes = transport.blob(&layer.digest, layer.size)?;
    let is_it = Digest::of_bytes(&bytes) == layer.digest;
    read_list(&bytes).filter(|_| is_it).ok_or_else(broken)
}

/// Adds a statement to the list under the tag of its item. Anything else under that tag is replaced; a registry that does not
/// answer is an error, so that no list is lost.
pub(super) fn add(transport: &dyn Transport, id: &str, envelope: &str) -> Result<(), TransportError> {
    let mut all = match listed(transport, id) {
        Ok(all) => all,
        Err(TransportError::Answer { .. } | TransportError::NotFound { .. }) => Vec::new(),
        Err(error) => return Err(error),
    };
    all.push(envelope.to_owned());
    let list = write_list(all);
    transport.put_blob(b"{}")?;
    transport.put_blob(&list)?;
    let manifest = Manifest {
        schema_version: 2,
        media_type: Some(media::MANIFEST.to_owned()),
        artifact_type: Some(YANK_ARTIFACT.to_owned()),
        config: Descriptor::of(media::EMPTY, b"{}"),
        layers: vec![Descriptor::of(LIST, &list)],
        subject: None,
        annotations: BTreeMap::new(),
    };
    transport.put_manifest(&manifest, Some(&tag_of(id))).map(|_| ())
}

/// Statements that are attached to manifests of a place, whether a tag names these or not.
#[derive(Debug, Default)]
pub struct Attached {
    /// The manifest, the item that the statement claims to be about, and its envelope.
    pub(super) statements: Vec<(Digest, String, String)>,
    /// Why there may be others.
    pub(super) unread: Option<TransportError>,
}

/// Reads everything that is attached as a yank to any manifest of a place, as far as the place lists such manifests:
/// directories do.
pub fn attached(transport: &dyn Transport, trust: &TrustStore) -> Attached {
    let mut found = Attached::default();
    if trust.keys().is_empty() {
        return found;
    }
    let all = match transport.all_referrers(YANK_ARTIFACT) {
        Ok(all) => all,
        Err(TransportError::NotFound { .. }) => return found,
        Err(error) => return Attached { unread: Some(error), ..found },
    };
    let mut bytes = 0;
    for (number, (subject, one)) in all.iter().enumerate() {
        if number == MOST_ATTACHED || bytes > MOST_ATTACHED_BYTES {
            let (what, place) = ("the yanks".to_owned(), transport.place());
            found.unread = Some(TransportError::CutOff { what, place, most: number, unit: "statements" });
            return found;
        }
        let text = envelope(transport, one, subject, YANK_ARTIFACT, MAX_YANK, &mut bytes);
        let Ok(Some(text)) = text else { continue };
        let Ok(claimed) = YankStatement::claimed(&text) else { continue };
        found.statements.push((*subject, claimed.id, text));
    }
    found
}

/// The digest of what the signature of a published item covers, by its manifest; `None` if it is no item.
pub(super) fn content_of(
    transport: &dyn Transport,
    manifest: &Digest,
) -> Result<Option<Digest>, TransportError> {
    let fetched = transport.manifest(Wanted::Digest(manifest))?;
    if fetched.digest != *manifest {
        return Ok(None);
    }
    let Ok(manifest) = Manifest::read(&fetched.bytes) else { return Ok(None) };
    let (Some(kind), Some(layer)) = (Kind::of(&manifest), manifest.layers.first()) else { return Ok(None) };
    if kind == Kind::Component {
        return Ok(Some(layer.digest));
    }
    if layer.size > kind.most() {
        return Ok(None);
    }
    let bytes = transport.blob(&layer.digest, layer.size)?;
    let is_it = Digest::of_bytes(&bytes) == layer.digest;
    Ok(String::from_utf8(bytes).ok().filter(|_| is_it).map(|text| signed_content(&text)))
}
