//! Companions of a graph in its artifact: the cases that test the graph, the manifest suggested for it, and its
//! picture.
//!
//! They are further layers after the graph, each with a file name as its title, so that `oras pull` writes them as files:
//!
//! | Companion | Media type | File | How many |
//! |---|---|---|---|
//! | case | `application/vnd.graph-host.case.v1+yaml` | `NAME.case.yaml` | at most [`MOST_COMPANIONS`] |
//! | manifest | `application/vnd.graph-host.suggested-manifest.v1+yaml` | `GRAPH.caps.yaml` | at most one |
//! | picture | `image/svg+xml` | `GRAPH.svg` | at most one |
//!
//! The signature of the graph does not cover them. A separate layer of the type [`STATEMENT`] does: the publisher signs
//! a statement of their names and digests ([`graph_core::trust::CompanionsStatement`]). A companion that no statement
//! covers is only as trustworthy as the place from which it was pulled, and is executed only at the user's request.
//! This module applies nothing: its caller shows a manifest, executes cases without real items, and draws the picture
//! again from the verified graph.

use std::collections::BTreeSet;

use graph_core::diagnostic::printable;
use graph_core::digest::Digest;
use graph_core::trust::{CompanionsStatement, MAX_COMPANIONS, SignedFile};

use crate::artifact::{Artifact, Kind};
use crate::manifest::{ArtifactManifest, Descriptor, annotation, shown};
use crate::pull::{Judge, PullError, blob};
use crate::transport::{Transport, TransportError};

/// The media type of the layer with the envelope that signs the companions.
pub const STATEMENT: &str = "application/vnd.graph-host.companions.v1+json";
/// Maximum number of layers of an artifact in addition to its graph, layers of unknown types included.
pub const MOST_COMPANIONS: usize = 128;
/// Maximum total size of the companions of a graph, in bytes.
pub const MOST_BYTES: u64 = 8 << 20;
/// Maximum length of a title, in bytes.
const LONGEST_TITLE: usize = 128;

/// The kind of a companion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CompanionKind {
    /// A case of the graph: it runs with doubles only.
    Case,
    /// The manifest that the publisher's host suggests for the graph. It grants nothing until a user passes it to a
    /// run.
    Manifest,
    /// A drawing of the graph, as SVG. It is a stranger's active content, so that no command outputs it.
    Picture,
}

impl CompanionKind {
    /// All kinds, in the order of their layers.
    pub const ALL: [Self; 3] = [Self::Case, Self::Manifest, Self::Picture];

    /// Returns its name, as `--json` contains it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Case => "case",
            Self::Manifest => "manifest",
            Self::Picture => "picture",
        }
    }

    /// Returns the media type of its layer. The types of this project's own formats contain the version of the format.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Case => "application/vnd.graph-host.case.v1+yaml",
            Self::Manifest => "application/vnd.graph-host.suggested-manifest.v1+yaml",
            Self::Picture => "image/svg+xml",
        }
    }

    /// Returns the suffix of its file name.
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Case => ".case.yaml",
            Self::Manifest => ".caps.yaml",
            Self::Picture => ".svg",
        }
    }

    /// Returns the maximum size of a companion of this kind, in bytes.
    pub const fn most(self) -> u64 {
        match self {
            Self::Case => 1 << 20,
            Self::Manifest => 256 << 10,
            Self::Picture => 4 << 20,
        }
    }

    /// Returns the kind with a media type; `None` for any other type.
    pub fn from_media_type(media_type: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.media_type() == media_type)
    }
}

/// A companion that is published with a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Companion {
    /// The kind of the companion.
    pub kind: CompanionKind,
    /// The name of its file, without a folder.
    pub title: String,
    /// Its content, unchanged.
    pub bytes: Vec<u8>,
}

/// A companion as an artifact lists it. Its title and size were checked; its content has not been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedCompanion {
    /// The kind of the companion.
    pub kind: CompanionKind,
    /// The name of its file: no path, no control characters, and different from all other names in the artifact.
    pub title: String,
    /// The number of its layer; the graph is layer 0.
    pub layer: usize,
    /// The digest that its content has to have.
    pub digest: Digest,
    /// The size that its content has to have, in bytes.
    pub size: u64,
    /// True if a key that the trust store allows for the graph has signed it, with this name, kind and digest
    /// ([`verify`]).
    pub is_signed: bool,
}

/// All companions of an artifact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Companions {
    /// The companions, in the order of layers.
    pub listed: Vec<ListedCompanion>,
    /// Number of layers with types that this version does not know. They are never read.
    pub unknown: usize,
    /// The layer with the statement that signs them, if there is one.
    pub statement: Option<Descriptor>,
}

impl Companions {
    /// Marks the companions that a statement covers as signed, if the trust store accepts the statement for the graph.
    pub fn sign(&mut self, envelope: &str, graph: (&str, &Digest), judge: Judge<'_>) {
        let verified = judge.trust.verify_companions(envelope, graph, judge.at.now);
        for one in &mut self.listed {
            let stated = verified.as_ref().ok().and_then(|statement| statement.files.get(&one.title));
            one.is_signed =
                stated.is_some_and(|file| file.digest == one.digest && file.kind == one.kind.as_str());
        }
    }

    /// Returns the names of the unsigned companions of a kind, or of all kinds.
    pub fn unsigned(&self, kind: Option<CompanionKind>) -> Vec<&str> {
        let wanted = |one: &&ListedCompanion| !one.is_signed && kind.is_none_or(|kind| one.kind == kind);
        self.listed.iter().filter(wanted).map(|one| one.title.as_str()).collect()
    }

    /// Returns the companions of a kind.
    pub fn of_kind(&self, kind: CompanionKind) -> impl Iterator<Item = &ListedCompanion> {
        self.listed.iter().filter(move |listed| listed.kind == kind)
    }
}

/// The reasons for which a layer cannot be a companion.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum CompanionError {
    /// There are more layers than the limit.
    #[error("it has {found} layers besides its graph, {MOST_COMPANIONS} at most are read")]
    TooMany { found: usize },
    /// The title is missing or is not a plain file name.
    #[error("its title `{title}` is not a file name that can be used: {reason}")]
    Title { title: String, reason: &'static str },
    /// Another layer has the same title.
    #[error("its title `{title}` is that of another layer, too")]
    SameTitle { title: String },
    /// There are two companions of a kind of which only one is allowed.
    #[error("it is a second {}, one at most is allowed", kind.as_str())]
    Second { kind: CompanionKind },
    /// It has the media type of a graph.
    #[error("it has the type `{found}`, which only layer 0 may have")]
    SecondItem { found: String },
    /// It is larger than the limit of its kind.
    #[error("the {} `{title}` has {size} bytes, {most} at most are read", kind.as_str())]
    TooLarge { kind: CompanionKind, title: String, size: u64, most: u64 },
    /// All companions together are larger than [`MOST_BYTES`].
    #[error("with it, the layers besides the graph have more than {MOST_BYTES} bytes")]
    TooMuch,
    /// It is not a text.
    #[error("the {} `{title}` is not text in UTF-8", kind.as_str())]
    NotText { kind: CompanionKind, title: String },
}

/// Returns the statement about the companions of a graph, which the publisher signs.
pub fn statement_of(id: &str, content: Digest, companions: &[Companion]) -> CompanionsStatement {
    let file = |one: &Companion| {
        let kind = one.kind.as_str().to_owned();
        (one.title.clone(), SignedFile { digest: Digest::of_bytes(&one.bytes), kind })
    };
    CompanionsStatement { content, files: companions.iter().map(file).collect(), id: id.to_owned() }
}

/// Adds companions to the artifact of a graph, and the envelope of the statement that signs them. The companions are
/// sorted, so that the same files give the same bytes.
pub fn attach(
    mut artifact: Artifact,
    mut companions: Vec<Companion>,
    envelope: Option<String>,
) -> Result<Artifact, PullError> {
    companions.sort_by(|one, other| (one.kind, &one.title).cmp(&(other.kind, &other.title)));
    for companion in companions {
        let mut described = Descriptor::new(companion.kind.media_type(), &companion.bytes);
        described.annotations.insert(annotation::TITLE.to_owned(), companion.title);
        artifact.manifest.layers.push(described);
        artifact.blobs.push(companion.bytes);
    }
    if let Some(envelope) = envelope {
        artifact.manifest.layers.push(Descriptor::new(STATEMENT, envelope.as_bytes()));
        artifact.blobs.push(envelope.into_bytes());
    }
    let id = artifact.manifest.annotations.get(annotation::ITEM).map_or("the graph", String::as_str);
    // An artifact that could not be pulled is not published.
    read(&shown(id), &artifact.manifest)?;
    Ok(artifact)
}

/// Reads the companions that the artifact of a graph lists, and checks titles, numbers and sizes before anything is
/// fetched. `name` is the reference of the artifact, for messages.
pub fn read(name: &str, manifest: &ArtifactManifest) -> Result<Companions, PullError> {
    let wrong = |layer: usize, reason: CompanionError| PullError::Companion {
        reference: name.to_owned(),
        layer,
        reason: Box::new(reason),
    };
    let of_statement = manifest.layers.iter().filter(|layer| layer.media_type == STATEMENT).take(1).count();
    let found = manifest.layers.len().saturating_sub(1 + of_statement);
    if found > MOST_COMPANIONS {
        return Err(wrong(MOST_COMPANIONS + 1, CompanionError::TooMany { found }));
    }
    let mut companions = Companions::default();
    let mut titles = BTreeSet::new();
    let mut bytes: u64 = 0;
    // `oras pull` writes the graph under its title, next to the others.
    let graph = manifest.layers.first().and_then(|layer| layer.annotations.get(annotation::TITLE));
    titles.extend(graph.map(|title| title.to_lowercase()));
    for (layer, described) in manifest.layers.iter().enumerate().skip(1) {
        let wrong = |reason| wrong(layer, reason);
        let Some(kind) = CompanionKind::from_media_type(&described.media_type) else {
            if Kind::Graph.layers().iter().any(|(media_type, _)| *media_type == described.media_type) {
                return Err(wrong(CompanionError::SecondItem { found: shown(&described.media_type) }));
            }
            if described.media_type == STATEMENT && companions.statement.is_none() {
                companions.statement = Some(described.clone());
            } else {
                companions.unknown += 1;
            }
            continue;
        };
        let title = described.annotations.get(annotation::TITLE).map(String::as_str).unwrap_or_default();
        check_title(kind, title)
            .map_err(|reason| wrong(CompanionError::Title { title: shown(title), reason }))?;
        // Some systems do not distinguish upper and lower case in file names.
        if !titles.insert(title.to_lowercase()) {
            return Err(wrong(CompanionError::SameTitle { title: title.to_owned() }));
        }
        if kind != CompanionKind::Case && companions.of_kind(kind).next().is_some() {
            return Err(wrong(CompanionError::Second { kind }));
        }
        let (size, most) = (described.size, kind.most());
        if size > most {
            return Err(wrong(CompanionError::TooLarge { kind, title: title.to_owned(), size, most }));
        }
        bytes = bytes.saturating_add(size);
        if bytes > MOST_BYTES {
            return Err(wrong(CompanionError::TooMuch));
        }
        companions.listed.push(ListedCompanion {
            kind,
            title: title.to_owned(),
            layer,
            digest: described.digest,
            size,
            is_signed: false,
        });
    }
    Ok(companions)
}

/// Determines which companions are signed by a key that the trust store allows for the graph. A statement that is not
/// accepted signs none. It is no error, because the graph can be used without companions.
pub fn verify(
    transport: &dyn Transport,
    name: &str,
    companions: &mut Companions,
    graph: (&str, &Digest),
    judge: Judge<'_>,
) -> Result<(), PullError> {
    if let Some(text) = envelope(transport, name, companions)? {
        companions.sign(&text, graph, judge);
    }
    Ok(())
}

/// Returns the envelope of the statement about companions, if there is one and it is text.
pub fn envelope(
    transport: &dyn Transport,
    name: &str,
    companions: &Companions,
) -> Result<Option<String>, PullError> {
    let Some(described) = companions.statement.as_ref().filter(|_| !companions.listed.is_empty()) else {
        return Ok(None);
    };
    match blob(transport, name, "the statement about its companions", described, MAX_COMPANIONS as u64) {
        Ok(bytes) => Ok(String::from_utf8(bytes).ok()),
        Err(PullError::Transport(
            error @ (TransportError::Timeout { .. }
            | TransportError::TooMuch { .. }
            | TransportError::Network { .. }),
        )) => Err(error.into()),
        Err(_) => Ok(None),
    }
}

/// Checks that a title can be the name of a file of this kind on every system: no path, no hidden file, no characters
/// that are displayed as something else. The error is the reason for which it cannot.
pub fn check_title(kind: CompanionKind, title: &str) -> Result<(), &'static str> {
    if title.is_empty() {
        return Err("it is missing");
    }
    if title.len() > LONGEST_TITLE {
        return Err("it is longer than 128 bytes");
    }
    if printable(title) != title || title.chars().any(char::is_control) {
        return Err("it has control characters");
    }
    if title.contains(['/', '\\', ':']) || title.contains("..") {
        return Err("it leads to another folder");
    }
    if title.contains(['<', '>', '"', '|', '?', '*']) || title.starts_with([' ', '-', '.']) {
        return Err("it has characters that a file name cannot have everywhere");
    }
    // A device name of Windows, such as `con.svg`.
    let stem = title.split('.').next().unwrap_or_default().trim_end().to_lowercase();
    let is_numbered = |device: &str| {
        stem.strip_prefix(device).is_some_and(|rest| rest.chars().count() == 1 && !rest.starts_with('0'))
    };
    if ["con", "prn", "aux", "nul"].contains(&&*stem) || is_numbered("com") || is_numbered("lpt") {
        return Err("it is the name of a device");
    }
    if title.len() <= kind.ending().len() || !title.ends_with(kind.ending()) {
        return Err(match kind {
            CompanionKind::Case => "that of a case ends in `.case.yaml`",
            CompanionKind::Manifest => "that of a manifest ends in `.caps.yaml`",
            CompanionKind::Picture => "that of a picture ends in `.svg`",
        });
    }
    Ok(())
}

/// Fetches a companion, and checks its size and its digest. `name` is the reference of the artifact, for messages.
pub fn fetch(transport: &dyn Transport, name: &str, listed: &ListedCompanion) -> Result<Vec<u8>, PullError> {
    let described = Descriptor {
        media_type: listed.kind.media_type().to_owned(),
        digest: listed.digest,
        size: listed.size,
        artifact_type: None,
        annotations: std::collections::BTreeMap::new(),
    };
    blob(transport, name, "the layer", &described, listed.kind.most()).map_err(|error| {
        PullError::OfCompanion { layer: listed.layer, title: listed.title.clone(), error: Box::new(error) }
    })
}

/// Fetches a companion that is a text.
pub fn fetch_text(
    transport: &dyn Transport,
    name: &str,
    listed: &ListedCompanion,
) -> Result<String, PullError> {
    let bytes = fetch(transport, name, listed)?;
    String::from_utf8(bytes).map_err(|_| PullError::Companion {
        reference: name.to_owned(),
        layer: listed.layer,
        reason: Box::new(CompanionError::NotText { kind: listed.kind, title: listed.title.clone() }),
    })
}

/// Returns the number of cases that an artifact claims to have, for listings. Nothing about them has been checked.
pub fn stated_cases(manifest: &ArtifactManifest) -> usize {
    let is_case = |layer: &&Descriptor| layer.media_type == CompanionKind::Case.media_type();
    if Kind::from_manifest(manifest) == Some(Kind::Graph) {
        manifest.layers.iter().filter(is_case).count()
    } else {
        0
    }
}

/// Reports whether two manifests differ only in layers that graph-host derives from the graph, which are the manifest
/// and the picture. Another version of graph-host may derive them differently.
pub(crate) fn differ_in_derived_only(one: &ArtifactManifest, other: &ArtifactManifest) -> bool {
    let is_derived = |layer: &Descriptor| {
        matches!(
            CompanionKind::from_media_type(&layer.media_type),
            Some(CompanionKind::Manifest | CompanionKind::Picture)
        )
    };
    let has_derived = |manifest: &ArtifactManifest| manifest.layers.iter().any(is_derived);
    // The statement layer is ignored because it depends on what it signs. Therefore a version that was published
    // without one counts as the same, too.
    let rest = |manifest: &ArtifactManifest| {
        let mut rest = manifest.clone();
        rest.layers.retain(|layer| !is_derived(layer) && layer.media_type != STATEMENT);
        rest
    };
    has_derived(one) && has_derived(other) && rest(one) == rest(other)
}

#[cfg(test)]
mod tests;
