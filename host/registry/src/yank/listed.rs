//! Statements about an item's versions that are listed under a tag of the item, which does not depend on the versions'
//! manifests, and statements that are attached to manifests that no tag names any more.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use graph_core::digest::Digest;
use graph_core::json::{self, TreeLimit};
use graph_core::trust::{MAX_YANK, TrustStore, YankStatement, deciding_yanks, signed_content};

use super::{YANK_ARTIFACT, envelope};
use crate::artifact::Kind;
use crate::manifest::{ArtifactManifest, Descriptor, media, shown};
use crate::pull::Judge;
use crate::transport::{ManifestName, Transport, TransportError};

/// The media type of the layer of that tag: a JSON list of envelopes, each a string.
const LIST: &str = "application/vnd.graph-host.yanks.v1+json";
/// Maximum number of statements about an item's versions that are listed and read.
const MOST_LISTED: usize = 256;
/// Maximum length of a list, in bytes.
pub const MOST_LIST: usize = 4 << 20;
/// Maximum number of statements attached to any manifest that are read, and the number of bytes of their own manifests
/// after which no more are read.
const MOST_ATTACHED: usize = 1_000;
const MOST_ATTACHED_BYTES: usize = 8 << 20;

/// Returns the tag under which the statements about all versions of an item are listed.
pub fn tag_of(id: &str) -> String {
    format!("yanks-{}", Digest::of_bytes(id.as_bytes()).hex())
}

/// Reads a list of at most `most` envelopes; `None` if it is malformed or exceeds a limit.
pub fn read_list(bytes: &[u8], most: usize) -> Option<Vec<String>> {
    let envelopes: Vec<String> =
        (bytes.len() <= MOST_LIST).then(|| json::read(bytes, TreeLimit::ANSWER).ok()).flatten()?;
    let fits = envelopes.len() <= most && envelopes.iter().all(|text| text.len() <= MAX_YANK);
    fits.then_some(envelopes)
}

/// Writes a list of at most `most` envelopes; `None` if the list exceeds a limit. No envelope is left out.
pub fn write_list(envelopes: &[&str], most: usize) -> Option<Vec<u8>> {
    let bytes = serde_json::to_vec(envelopes).ok()?;
    (envelopes.len() <= most && bytes.len() <= MOST_LIST).then_some(bytes)
}

/// The envelopes about the versions of an item, in two lists: those that a key that is valid now has signed, and all
/// others.
#[derive(Clone, Debug, Default)]
pub struct SortedYanks {
    /// The statements in force, each once, in canonical form.
    pub deciding: Vec<String>,
    /// Statements about the item that this trust store does not accept now, each once, in canonical form. They may be
    /// valid for other users, and are not verified. They are sorted from the newest to the oldest; those with a time in
    /// the future come last.
    pub others: Vec<String>,
}

impl SortedYanks {
    /// Sorts envelopes into the two lists. An envelope that is not a statement about the item is left out.
    pub fn new<'t>(envelopes: impl IntoIterator<Item = &'t str>, item: &str, judge: Judge<'_>) -> Self {
        let now = judge.at.now;
        let (mut verified, mut others) = (Vec::new(), BTreeSet::new());
        for text in envelopes {
            if let Ok(yanks) = judge.trust.verify_yank_of_item(text, item, now) {
                verified.extend(yanks);
            } else if let (Ok(claimed), Ok(text)) =
                (YankStatement::claimed(text), YankStatement::respelled(text))
                && claimed.id == item
            {
                others.insert((claimed.at > now, Reverse(claimed.at), text));
            }
        }
        let deciding = deciding_yanks(verified).iter().map(|yank| yank.envelope().to_owned()).collect();
        Self { deciding, others: others.into_iter().map(|(.., text)| text).collect() }
    }

    /// Returns both lists, the statements in force first.
    pub fn all(&self) -> Vec<&str> {
        self.deciding.iter().chain(&self.others).map(String::as_str).collect()
    }
}

/// Returns the list for a registry. Statements that the trust store does not accept are dropped first if there is no
/// room, because everyone who may write there can add them.
fn list_of(sorted: &SortedYanks) -> Option<Vec<u8>> {
    // With at most half of the maximum number, the size is within its limit, too.
    let room = sorted.deciding.len().max(MOST_LISTED / 2);
    let mut shown = sorted.all();
    shown.truncate(room);
    write_list(&shown, MOST_LISTED).or_else(|| {
        shown.truncate(sorted.deciding.len());
        write_list(&shown, MOST_LISTED)
    })
}

/// Reads the envelopes that are listed under the tag of an item. The error is [`TransportError::Answer`] if the tag
/// names something else.
pub(super) fn listed(transport: &dyn Transport, id: &str) -> Result<Vec<String>, TransportError> {
    let tag = tag_of(id);
    let fetched = match transport.manifest(ManifestName::Tag(&tag)) {
        Ok(fetched) => fetched,
        Err(TransportError::NotFound { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let broken = || TransportError::Answer {
        what: format!("tag `{tag}`"),
        place: transport.place(),
        reason: "something that is no list of yanks".to_owned(),
    };
    let manifest = ArtifactManifest::read(&fetched.bytes).map_err(|_| broken())?;
    let [layer] = manifest.layers.as_slice() else { return Err(broken()) };
    let fits = layer.media_type == LIST && layer.size <= MOST_LIST as u64;
    if manifest.kind() != YANK_ARTIFACT || !fits {
        return Err(broken());
    }
    let bytes = transport.blob(&layer.digest, layer.size)?;
    let is_it = Digest::of_bytes(&bytes) == layer.digest;
    read_list(&bytes, MOST_LISTED).filter(|_| is_it).ok_or_else(broken)
}

/// Adds statements to the list under the tag of their item. Anything else under that tag is replaced. If the registry
/// does not answer, the result is an error, so that no list is lost; and so it is if the accepted statements have no
/// room in the list.
pub(super) fn add(
    transport: &dyn Transport,
    id: &str,
    envelopes: &[&str],
    judge: Judge<'_>,
) -> Result<(), TransportError> {
    let there = match listed(transport, id) {
        Ok(there) => there,
        Err(TransportError::Answer { .. } | TransportError::NotFound { .. }) => Vec::new(),
        Err(error) => return Err(error),
    };
    let all = there.iter().map(String::as_str).chain(envelopes.iter().copied());
    let sorted = SortedYanks::new(all, id, judge);
    let list = list_of(&sorted).ok_or_else(|| TransportError::Full {
        what: format!("the list of yanks of `{}`", shown(id)),
        place: transport.place(),
        count: sorted.deciding.len(),
    })?;
    transport.put_blob(b"{}")?;
    transport.put_blob(&list)?;
    let manifest = ArtifactManifest {
        schema_version: 2,
        media_type: Some(media::MANIFEST.to_owned()),
        artifact_type: Some(YANK_ARTIFACT.to_owned()),
        config: Descriptor::new(media::EMPTY, b"{}"),
        layers: vec![Descriptor::new(LIST, &list)],
        subject: None,
        annotations: BTreeMap::new(),
    };
    transport.put_manifest(&manifest, Some(&tag_of(id))).map(|_| ())
}

/// Statements that are attached to manifests of a place, even if no tag names the manifests.
#[derive(Debug, Default)]
pub struct AttachedStatements {
    /// The manifest, the item that the statement claims to be about, and its envelope.
    pub(super) statements: Vec<(Digest, String, String)>,
    /// The reason for which there may be other statements.
    pub(super) unread: Option<TransportError>,
}

/// Reads the statements that are attached to any manifest of a place, if the place lists them, as directories do.
pub fn attached(transport: &dyn Transport, trust: &TrustStore) -> AttachedStatements {
    let mut found = AttachedStatements::default();
    if trust.keys().is_empty() {
        return found;
    }
    let all = match transport.all_referrers(YANK_ARTIFACT) {
        Ok(all) => all,
        Err(TransportError::NotFound { .. }) => return found,
        Err(error) => return AttachedStatements { unread: Some(error), ..found },
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

/// Returns the digest of the content that the signature of a published item covers, by the item's manifest; `None` if
/// the manifest is not that of an item.
pub(super) fn content_of(
    transport: &dyn Transport,
    manifest: &Digest,
) -> Result<Option<Digest>, TransportError> {
    let fetched = transport.manifest(ManifestName::Digest(manifest))?;
    if fetched.digest != *manifest {
        return Ok(None);
    }
    let Ok(manifest) = ArtifactManifest::read(&fetched.bytes) else { return Ok(None) };
    let (Some(kind), Some(layer)) = (Kind::from_manifest(&manifest), manifest.layers.first()) else {
        return Ok(None);
    };
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
