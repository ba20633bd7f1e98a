//! Chooses between items with one id, and describes the others.
//!
//! The first space with the item wins, with two exceptions, as the files of a project may come from a stranger while
//! the user has put the items into the user's space:
//!
//! - an unsigned item is passed over if a later space has a signed one: removing a signature must not be a way to
//!   replace an item that the user trusts. An item with an invalid signature is not unsigned: it is chosen, and
//!   refused;
//! - an item of the project whose signed version is older than the user's own is refused: a valid signature does not
//!   prove that the version is still current.
//!
//! Built-in items come last and count as signed: an unsigned item does not replace them, and a signed one of the
//! project replaces them with a warning.
//!
//! A folder that the command line names with `--items` is the user's own decision: its items win, signed or not.

use std::fmt;
use std::path::{Path, PathBuf};

use graph_core::digest::Digest;
use graph_core::id::path_of;
use graph_core::item::ItemType;
use graph_core::trust::{
    ComponentStanding, Moment, TextKind, TextStanding, TrustStore, VerifiedComponent, unsigned_text,
    verify_text,
};
use graph_registry::artifact::{Kind, read_text};
use semver::Version;
use serde::Serialize;

use crate::clock::now;
use crate::error::{Error, Kind as ErrorKind, Result};
use crate::items::locate::{ItemFile, ItemLocator, Space, envelope_path, read_component, read_of};
use crate::project::{BaseFolder, text_file};
use crate::remedy::Remedy;
use graph_core::diagnostic::printable;

/// A file with the wanted id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its space.
    pub space: Space,
    /// The path of its file.
    pub path: PathBuf,
    /// `true` for a link out of its space. It is not read before it is chosen, and then it is refused.
    pub is_outside: bool,
}

/// The candidates that were not chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Others {
    /// Unsigned candidates of earlier spaces, passed over because a later space has a signed one.
    pub passed_over: Vec<Candidate>,
    /// Candidates of later spaces.
    pub hidden: Vec<Candidate>,
}

/// Other items with an item's id, for plans and warnings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Precedence {
    /// Unsigned items of earlier spaces.
    pub passed_over: Vec<OtherItem>,
    /// Items of later spaces.
    pub hides: Vec<OtherItem>,
    /// Warnings for the user before the item is used.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

/// An item that was not chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OtherItem {
    /// Its space.
    pub space: Space,
    /// The path of its file, as messages show it.
    pub file: String,
    /// Its version, if a trusted key signed it.
    pub version: Option<String>,
    /// Name of that key.
    pub signer: Option<String>,
}

/// Version, signer and content of an item that a trusted key signed.
struct Release {
    version: Option<String>,
    signer: String,
    content: Digest,
}

/// Picks the first item that is in a folder of the command line, that carries a signature, or for which no later space
/// has a signed item.
pub(crate) fn choose(id: &str, candidates: Vec<Candidate>) -> Option<(Candidate, Others)> {
    let first = candidates.first()?.space;
    // Files are read only if there is a choice.
    let at = if first == Space::Named || candidates.iter().all(|candidate| candidate.space == first) {
        0
    } else {
        let signed: Vec<bool> = candidates.iter().map(|candidate| claims_signature(id, candidate)).collect();
        let counts = |at: &usize| {
            let is_later = |other: &usize| candidates[*other].space > candidates[*at].space;
            signed[*at] || !(0..candidates.len()).any(|other| is_later(&other) && signed[other])
        };
        (0..candidates.len()).find(counts)?
    };
    let chosen = candidates.get(at)?.clone();
    let (earlier, later): (Vec<_>, Vec<_>) = candidates
        .into_iter()
        .filter(|other| other.space != chosen.space)
        .partition(|other| other.space < chosen.space);
    Some((chosen, Others { passed_over: earlier, hidden: later }))
}

/// Checks whether an item is treated as a signed one. An item that cannot be read must be refused, not passed over, so
/// it is treated as signed.
fn claims_signature(id: &str, candidate: &Candidate) -> bool {
    if candidate.is_outside || candidate.space == Space::BuiltIn {
        return true;
    }
    if is_component(&candidate.path) {
        return envelope_path(&candidate.path).symlink_metadata().is_ok();
    }
    let Ok(text) = read_of(candidate.space, &candidate.path) else { return true };
    // The signer and the kind of item are checked when the item is used.
    let standing = verify_text(TextKind::Graph, id, &text, &TrustStore::default(), now());
    !matches!(standing, TextStanding::Unsigned | TextStanding::Legacy { .. })
}

/// Describes the other items with a verified component's id. A component of the project that is older than the user's own is an error.
pub fn of_component(
    file: &ItemFile,
    verified: &VerifiedComponent,
    trust: &TrustStore,
    at: Moment,
) -> Result<Precedence> {
    judge(ItemType::Tool, file, trust, at, || Release::of_component(verified))
}

/// Like [`of_component`], for a text: a graph, knowledge or a directive.
pub fn of_text(
    item_type: ItemType,
    file: &ItemFile,
    text: &str,
    standing: &TextStanding,
    trust: &TrustStore,
    at: Moment,
) -> Result<Precedence> {
    let id = path_of(&file.id);
    judge(item_type, file, trust, at, || Release::of_text(item_type, id, &file.path, text, standing))
}

/// The rank of a file among the items with its id, whether it is used or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rank {
    /// Its space; `None` for a file elsewhere.
    pub space: Option<Space>,
    /// The other items, if this one is chosen.
    pub precedence: Precedence,
    /// The item that is chosen instead of it.
    pub hidden_by: Option<OtherItem>,
}

/// Returns the rank of a file among the items with an id. Nothing is refused here, and versions are not compared.
pub fn rank(
    (item_type, id): (ItemType, &str),
    path: &Path,
    locator: &ItemLocator,
    trust: &TrustStore,
    at: Moment,
) -> Rank {
    let id = path_of(id);
    let Ok(ItemFile { path: chosen, space, others, base, .. }) = locator.file(item_type, id) else {
        return Rank::default();
    };
    let is_this = |other: &Path| match (other.canonicalize(), path.canonicalize()) {
        (Ok(other), Ok(path)) => other == path,
        _ => other == path,
    };
    let shown = |other: &Candidate| OtherItem::of(other, release(item_type, id, other, trust, at), &base);
    if is_this(&chosen) {
        let listed = |others: &[Candidate]| -> Vec<OtherItem> { others.iter().map(&shown).collect() };
        let (passed_over, hides) = (listed(&others.passed_over), listed(&others.hidden));
        return Rank {
            space: Some(space),
            precedence: Precedence { passed_over, hides, warnings: Vec::new() },
            hidden_by: None,
        };
    }
    let Some(own) = others.hidden.iter().chain(&others.passed_over).find(|other| is_this(&other.path)) else {
        return Rank::default();
    };
    let chosen = Candidate { space, path: chosen, is_outside: false };
    Rank { space: Some(own.space), precedence: Precedence::default(), hidden_by: Some(shown(&chosen)) }
}

impl Rank {
    /// Returns the line of `inspect` about the rank; `None` for the only file with its id.
    pub fn line(&self) -> Option<String> {
        let space = self.space?;
        match &self.hidden_by {
            Some(other) => Some(format!("from {}; hidden by {other} ({})", space.as_str(), other.file)),
            None => self.precedence.line(space),
        }
    }
}

fn judge(
    item_type: ItemType,
    file: &ItemFile,
    trust: &TrustStore,
    at: Moment,
    own: impl FnOnce() -> Option<Release>,
) -> Result<Precedence> {
    let mut precedence = Precedence::default();
    for other in &file.others.passed_over {
        precedence.warnings.push(passed_over(file, other));
        precedence.passed_over.push(OtherItem::of(other, None, &file.base));
    }
    // A resume compares digests with those of the start, which reports every change; and an item that was admitted at
    // the start stays admitted. So only other items are compared here.
    let is_compared = file.space == Space::Project && !file.is_pinned && !file.others.hidden.is_empty();
    let own = is_compared.then(own).flatten();
    for other in &file.others.hidden {
        if is_compared && other.space == Space::BuiltIn {
            precedence.warnings.push(replaces_built_in(file));
        }
        let release = release(item_type, path_of(&file.id), other, trust, at);
        if let (Some(own), Some(release)) = (&own, &release) {
            match (own.semver(), release.semver()) {
                (Some(own), Some(newer)) if own < newer => return Err(older(file, &own, other, &newer)),
                (Some(own), Some(older)) if own > older => {}
                _ if release.content == own.content => {}
                _ => precedence.warnings.push(not_comparable(file, other)),
            }
        }
        precedence.hides.push(OtherItem::of(other, release, &file.base));
    }
    Ok(precedence)
}

/// Verifies an item; `None` if no trusted key signed it.
fn release(
    item_type: ItemType,
    id: &str,
    candidate: &Candidate,
    trust: &TrustStore,
    at: Moment,
) -> Option<Release> {
    let path = &candidate.path;
    if candidate.is_outside || candidate.space == Space::BuiltIn {
        return None;
    }
    if is_component(path) {
        let envelope = text_file::read(&envelope_path(path)).ok()?;
        let bytes = read_component(path, &BaseFolder::default()).ok()?;
        let verified = VerifiedComponent::verify(bytes, Some(&envelope), trust, id, at).ok()?;
        return Release::of_component(&verified);
    }
    let text = read_of(candidate.space, path).ok()?;
    Release::of_text(item_type, id, path, &text, &verify_text(item_type.into(), id, &text, trust, at))
}

impl Release {
    fn of_component(verified: &VerifiedComponent) -> Option<Self> {
        let ComponentStanding::Signed { key, .. } = verified.standing() else { return None };
        let (version, signer) = (verified.version().map(str::to_owned), key.name.clone());
        Some(Self { version, signer, content: *verified.digest() })
    }

    fn of_text(
        item_type: ItemType,
        id: &str,
        path: &Path,
        text: &str,
        standing: &TextStanding,
    ) -> Option<Self> {
        let TextStanding::Signed { key, .. } = standing else { return None };
        let kind = match item_type {
            ItemType::Tool => Kind::Graph,
            ItemType::Knowledge => Kind::Knowledge,
            ItemType::Directive => Kind::Directive,
        };
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let said = read_text(kind, id, extension, text).ok()?;
        let content = Digest::of_bytes(unsigned_text(text).as_bytes());
        Some(Self { version: said.version, signer: key.name.clone(), content })
    }

    fn semver(&self) -> Option<Version> {
        self.version.as_deref().and_then(|version| Version::parse(version).ok())
    }
}

fn is_component(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "wasm")
}

/// Returns the folder of an item's space, which has its tools, knowledge and directives; the item's file if it is in none.
fn named_folder(path: &Path) -> &Path {
    let below = |name: &&Path| ["tools", "knowledge", "directives"].iter().any(|kind| name.ends_with(kind));
    path.ancestors().skip(1).filter(below).last().and_then(Path::parent).unwrap_or(path)
}

fn passed_over(file: &ItemFile, other: &Candidate) -> String {
    let shown = file.base.show(&other.path);
    format!(
        "`{}` is taken from {} ({}): {shown} is not signed, and an unsigned item never replaces a signed one; to use it, \
         name its folder: {}",
        printable(&file.id),
        file.space.place(),
        file.shown(),
        file.base.show(named_folder(&other.path))
    )
}

fn replaces_built_in(file: &ItemFile) -> String {
    format!(
        "`{}` is taken from the project ({}) and replaces the one that is built into graph-host",
        printable(&file.id),
        file.shown()
    )
}

fn not_comparable(file: &ItemFile, other: &Candidate) -> String {
    format!(
        "`{}` is taken from the project ({}) and hides another one of {} ({}); their versions do not say which one is newer",
        printable(&file.id),
        file.shown(),
        other.space.place(),
        file.base.show(&other.path)
    )
}

fn older(file: &ItemFile, own: &Version, other: &Candidate, newer: &Version) -> Error {
    let shown = file.shown();
    let message = format!(
        "`{}` of the project is version {own} ({shown}), which is older than version {newer} in {} ({})",
        printable(&file.id),
        other.space.place(),
        file.base.show(&other.path)
    );
    let folder = named_folder(&file.path).to_owned();
    Error::new(ErrorKind::Integrity, "integrity", message).help(Remedy::NameFolderOfOlder { folder })
}

impl OtherItem {
    fn of(candidate: &Candidate, release: Option<Release>, base: &BaseFolder) -> Self {
        let (version, signer) =
            release.map_or((None, None), |release| (release.version, Some(release.signer)));
        Self { space: candidate.space, file: base.show(&candidate.path), version, signer }
    }
}

impl fmt::Display for OtherItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.space.as_str())?;
        if self.space == Space::BuiltIn {
            return Ok(());
        }
        if let Some(version) = &self.version {
            write!(f, " {}", printable(version))?;
        }
        match &self.signer {
            Some(signer) => write!(f, " signed by {}", printable(signer)),
            None => f.write_str(" (not signed by a trusted key)"),
        }
    }
}

impl Precedence {
    /// Returns the line of a plan about the other items; `None` for the only item with its id.
    pub fn line(&self, space: Space) -> Option<String> {
        let list = |items: &[OtherItem]| items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let mut parts = Vec::new();
        if !self.passed_over.is_empty() {
            let spaces: Vec<_> = self.passed_over.iter().map(|other| other.space.as_str()).collect();
            parts.push(format!("passes over {} (not signed)", spaces.join(", ")));
        }
        if !self.hides.is_empty() {
            parts.push(format!("hides {}", list(&self.hides)));
        }
        (!parts.is_empty()).then(|| format!("from {}; {}", space.as_str(), parts.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn candidate(space: Space, path: &Path, text: Option<&str>) -> Candidate {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        if let Some(text) = text {
            std::fs::write(path, text).unwrap();
        }
        Candidate { space, path: path.to_path_buf(), is_outside: false }
    }

    /// Chooses among texts of these spaces; returns the space of the chosen one, and those of the passed over and the hidden ones.
    fn chosen(texts: &[(Space, Option<&str>)]) -> (Space, Vec<Space>, Vec<Space>) {
        let folder = tempfile::tempdir().unwrap();
        let candidates = texts.iter().enumerate().map(|(at, (space, text))| {
            candidate(*space, &folder.path().join(at.to_string()).join("x.md"), *text)
        });
        let (chosen, others) = choose("x", candidates.collect()).unwrap();
        let spaces = |of: &[Candidate]| of.iter().map(|other| other.space).collect();
        (chosen.space, spaces(&others.passed_over), spaces(&others.hidden))
    }

    const UNSIGNED: Option<&str> = Some("# X\n");
    const SIGNED: Option<&str> = Some("<!-- graph-host:signed:x -->\n# X\n");
    const UNREADABLE: Option<&str> = None;

    #[test]
    fn an_unsigned_item_is_passed_over_for_a_signed_one_of_a_later_space() {
        use Space::{Installed, Named, Project, User};
        let key = graph_core::trust::SigningKey::from_seed(&[1; 32]);
        let mark = graph_core::trust::CommentMark::Angle;
        let signed = graph_core::trust::sign_text(TextKind::Knowledge, "x", "# X\n", mark, &key, now());
        // The signature line is not the first line of the text, so it is invalid.
        let misplaced = format!("new\n{signed}");
        for (texts, expected) in [
            (vec![(Project, UNSIGNED)], (Project, vec![], vec![])),
            (vec![(Project, UNSIGNED), (User, UNSIGNED)], (Project, vec![], vec![User])),
            (vec![(Project, UNSIGNED), (User, SIGNED)], (User, vec![Project], vec![])),
            (
                vec![(Project, UNSIGNED), (User, UNSIGNED), (Installed, SIGNED)],
                (Installed, vec![Project, User], vec![]),
            ),
            (
                vec![(Project, UNSIGNED), (User, SIGNED), (Installed, SIGNED)],
                (User, vec![Project], vec![Installed]),
            ),
            (vec![(Project, SIGNED), (User, SIGNED)], (Project, vec![], vec![User])),
            (vec![(Project, SIGNED), (User, UNSIGNED)], (Project, vec![], vec![User])),
            // An item with an invalid signature is refused, not passed over.
            (vec![(Project, Some(misplaced.as_str())), (User, SIGNED)], (Project, vec![], vec![User])),
            (vec![(Project, UNREADABLE), (User, SIGNED)], (Project, vec![], vec![User])),
            // The user names it.
            (vec![(Named, UNSIGNED), (User, SIGNED)], (Named, vec![], vec![User])),
            // A signed item of the same space does not make an item passed over.
            (vec![(Project, UNSIGNED), (Project, SIGNED)], (Project, vec![], vec![])),
        ] {
            assert_eq!(chosen(&texts), expected, "{texts:?}");
        }
        assert_eq!(choose("x", Vec::new()), None);
    }

    #[test]
    fn a_link_out_of_the_project_is_not_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let mut link = candidate(Space::Project, &folder.path().join("a/x.md"), UNSIGNED);
        link.is_outside = true;
        let user = candidate(Space::User, &folder.path().join("b/x.md"), SIGNED);
        assert_eq!(choose("x", vec![link, user]).unwrap().0.space, Space::Project);
    }

    #[test]
    fn the_folder_to_name_is_the_one_around_all_kinds_of_items() {
        for path in ["/p/.ai/tools/acme/x.wasm", "/p/.ai/knowledge/tools/x.md", "/p/.ai/directives/x.md"] {
            assert_eq!(named_folder(Path::new(path)), Path::new("/p/.ai"));
        }
    }
}
