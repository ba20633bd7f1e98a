//! Statements attached to a published version, honestly or not, and which of them are accepted.

#![allow(clippy::unwrap_used)]

use std::cell::RefCell;

use graph_core::capability::{Ceiling, ItemPattern};
use graph_core::trust::{Moment, SigningKey, TrustStore, TrustedKey, YankStatement};

use super::*;
use crate::http::RegistryOptions;
use crate::layout::Layout;
use crate::manifest::ManifestIndex;
use crate::transport::{FetchedManifest, fallback_tag};

const NOW: Timestamp = Timestamp(1_900_000_000_000);

/// A repository in memory, which counts the manifests and blobs that are read.
#[derive(Debug, Default)]
struct Memory {
    blobs: RefCell<BTreeMap<Digest, Vec<u8>>>,
    tags: RefCell<BTreeMap<String, Digest>>,
    listed: RefCell<Vec<Descriptor>>,
    /// The error with which a listing of referrers fails.
    broken: Option<fn() -> TransportError>,
    read: RefCell<usize>,
}

fn missing() -> TransportError {
    TransportError::NotFound { what: "it".to_owned(), place: "memory".to_owned(), listing: None }
}

fn denied() -> TransportError {
    TransportError::Denied { place: "memory".to_owned(), action: "list".to_owned(), reason: "no".to_owned() }
}

fn late() -> TransportError {
    TransportError::Timeout { what: "it".to_owned(), place: "memory".to_owned(), seconds: 1 }
}

impl Transport for Memory {
    fn manifest(&self, wanted: ManifestName<'_>) -> Result<FetchedManifest, TransportError> {
        *self.read.borrow_mut() += 1;
        let digest = match wanted {
            ManifestName::Digest(digest) => *digest,
            ManifestName::Tag(tag) => *self.tags.borrow().get(tag).ok_or_else(missing)?,
        };
        let bytes = self.blobs.borrow().get(&digest).cloned().ok_or_else(missing)?;
        Ok(FetchedManifest { digest: Digest::of_bytes(&bytes), bytes })
    }

    fn blob(&self, digest: &Digest, most: u64) -> Result<Vec<u8>, TransportError> {
        let bytes = self.blobs.borrow().get(digest).cloned().ok_or_else(missing)?;
        assert!(bytes.len() as u64 <= most, "more is asked for than is stated");
        Ok(bytes)
    }

    fn tags(&self) -> Result<Vec<String>, TransportError> {
        Ok(self.tags.borrow().keys().cloned().collect())
    }

    fn referrers(&self, _subject: &Digest, _artifact_type: &str) -> Result<Vec<Descriptor>, TransportError> {
        self.broken.map_or_else(|| Ok(self.listed.borrow().clone()), |error| Err(error()))
    }

    fn put_blob(&self, bytes: &[u8]) -> Result<(), TransportError> {
        self.blobs.borrow_mut().insert(Digest::of_bytes(bytes), bytes.to_vec());
        Ok(())
    }

    fn put_manifest(&self, manifest: &ArtifactManifest, tag: Option<&str>) -> Result<Digest, TransportError> {
        let bytes = manifest.to_bytes();
        self.put_blob(&bytes)?;
        let digest = Digest::of_bytes(&bytes);
        if manifest.subject.is_some() {
            self.listed.borrow_mut().push(crate::transport::listed(manifest, &bytes));
        }
        if let Some(tag) = tag {
            self.tags.borrow_mut().insert(tag.to_owned(), digest);
        }
        Ok(digest)
    }

    fn place(&self) -> String {
        "memory".to_owned()
    }
}

fn key(seed: u8) -> SigningKey {
    SigningKey::from_seed(&[seed; 32])
}

/// Returns a trust store with key 1, for `a/*`.
fn store() -> TrustStore {
    TrustStore::new(vec![TrustedKey {
        name: "me".to_owned(),
        key: key(1).verifying_key(),
        items: vec![ItemPattern::parse("a/*").unwrap()],
        ceiling: Ceiling::from_kinds([]),
        not_before: None,
        not_after: None,
        revoked: None,
        succeeds: None,
    }])
}

/// Returns the manifest of a text: `a/b` 1.0.0, unless annotations are changed.
fn manifest(changes: &[(&str, &str)]) -> ArtifactManifest {
    let mut annotations: BTreeMap<String, String> =
        [(annotation::ITEM, "a/b"), (annotation::VERSION, "1.0.0")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into();
    annotations.extend(changes.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    ArtifactManifest {
        schema_version: 2,
        media_type: Some(media::MANIFEST.to_owned()),
        artifact_type: Kind::Graph.artifact_type().map(str::to_owned),
        config: Descriptor::new(crate::artifact::ITEM_CONFIG, b"{}"),
        layers: vec![Descriptor::new("application/yaml", b"x")],
        subject: None,
        annotations,
    }
}

/// Publishes `a/b` 1.0.0.
fn published(transport: &dyn Transport, tag: &str) -> DescribedVersion {
    for blob in [&b"{}"[..], b"x"] {
        transport.put_blob(blob).unwrap();
    }
    transport.put_manifest(&manifest(&[]), Some(tag)).unwrap();
    let manifest = manifest(&[]).to_bytes();
    let about = PublishedVersion {
        id: "a/b".to_owned(),
        version: "1.0.0".to_owned(),
        manifest: Digest::of_bytes(&manifest),
        content: Some(Digest::of_bytes(b"x")),
        has_signed_version: true,
    };
    DescribedVersion { about, kind: Kind::Graph, manifest: Descriptor::new(media::MANIFEST, &manifest) }
}

fn envelope_by(seed: u8, about: &PublishedVersion, at: u64, is_yanked: bool) -> String {
    let PublishedVersion { id, version, content, .. } = about.clone();
    let (at, subject) = (Timestamp(at), YankSubject::Content(content.unwrap()));
    let reason = "it leaks".to_owned();
    YankStatement { at, id, version, subject, reason, is_yanked }.sign(&key(seed)).unwrap()
}

/// Returns a statement in the first format, which names the manifest.
fn first_format(about: &PublishedVersion, at: u64, is_yanked: bool) -> String {
    let PublishedVersion { id, version, manifest, .. } = about.clone();
    let (at, subject) = (Timestamp(at), YankSubject::Manifest(manifest));
    let reason = "it leaks".to_owned();
    YankStatement { at, id, version, subject, reason, is_yanked }.sign(&key(1)).unwrap()
}

/// Attaches a statement to the manifest only, without listing it, as earlier versions do.
fn attach_alone(transport: &dyn Transport, to: &DescribedVersion, envelope: &str) {
    let artifact = artifact(&to.manifest, envelope, key(1).id(), Timestamp(5));
    for blob in &artifact.blobs {
        transport.put_blob(blob).unwrap();
    }
    transport.put_manifest(&artifact.manifest, None).unwrap();
}

/// Stores the same content under the same tag, with one more annotation in its manifest.
fn moved(transport: &dyn Transport, tag: &str) -> DescribedVersion {
    let moved = manifest(&[("x", "y")]);
    transport.put_manifest(&moved, Some(tag)).unwrap();
    let bytes = moved.to_bytes();
    let of = published(&Memory::default(), tag);
    let about = PublishedVersion { manifest: Digest::of_bytes(&bytes), ..of.about };
    DescribedVersion { about, kind: Kind::Graph, manifest: Descriptor::new(media::MANIFEST, &bytes) }
}

fn yank(transport: &dyn Transport, to: &DescribedVersion, seed: u8, at: u64, is_yanked: bool) -> Digest {
    let envelope = envelope_by(seed, &to.about, at, is_yanked);
    list(transport, to, &envelope, seed, at, &store()).unwrap()
}

/// Publishes an envelope as a user with this trust store does.
fn list(
    transport: &dyn Transport,
    to: &DescribedVersion,
    envelope: &str,
    seed: u8,
    at: u64,
    trust: &TrustStore,
) -> Result<Digest, TransportError> {
    let signed = SignedYank { envelope, key: key(seed).id(), at: Timestamp(at) };
    publish(transport, to, signed, Judge { trust, at: Moment::from(NOW) }, StatementSources::default())
}

/// Stores a list under the tag of `a/b`, as anyone who may write there can.
fn put_list(transport: &dyn Transport, envelopes: &[String]) {
    let bytes = serde_json::to_vec(envelopes).unwrap();
    transport.put_blob(&bytes).unwrap();
    let mut listing = manifest(&[]);
    listing.artifact_type = Some(YANK_ARTIFACT.to_owned());
    listing.config = Descriptor::new(media::EMPTY, b"{}");
    listing.layers = vec![Descriptor::new("application/vnd.graph-host.yanks.v1+json", &bytes)];
    transport.put_manifest(&listing, Some(&tag_of("a/b"))).unwrap();
}

fn listed_now(transport: &dyn Transport) -> Vec<String> {
    listed::listed(transport, "a/b").unwrap()
}

/// Returns a version of `a/b` with another content.
fn other_version(number: usize) -> PublishedVersion {
    let content = Digest::of_bytes(&number.to_le_bytes());
    let about = published(&Memory::default(), "1.0.0").about;
    PublishedVersion { content: Some(content), version: format!("2.0.{number}"), ..about }
}

/// Returns an envelope with other white space.
fn spaced(envelope: &str, number: usize) -> String {
    format!("{}{envelope}", " ".repeat(number + 1))
}

fn read_by(
    trust: &TrustStore,
    transport: &dyn Transport,
    about: &PublishedVersion,
) -> Result<Yanks, TransportError> {
    read(transport, about, Judge { trust, at: Moment::from(NOW) }, StatementSources::default())
}

fn found(transport: &dyn Transport, about: &PublishedVersion) -> Yanks {
    read_by(&store(), transport, about).unwrap()
}

fn is_yanked(transport: &dyn Transport, about: &PublishedVersion) -> bool {
    found(transport, about).yanked.is_some()
}

#[test]
fn a_yank_is_read_where_it_was_attached_until_it_is_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::new(&folder.path().join("out"));
    let memory = Memory::default();
    let both: [&dyn Transport; 2] = [&layout, &memory];
    for transport in both {
        let item = published(transport, "a/b:1.0.0");
        assert!(!is_yanked(transport, &item.about));
        yank(transport, &item, 1, 5, true);
        let read = found(transport, &item.about);
        let yanked = read.yanked.unwrap();
        assert_eq!((yanked.reason().as_str(), yanked.key().name.as_str()), ("it leaks", "me"));
        assert!(read.unread.is_none());
        // Publishing the same statement again gives the same artifact.
        yank(transport, &item, 1, 5, true);
        yank(transport, &item, 1, 6, false);
        assert!(!is_yanked(transport, &item.about));
        yank(transport, &item, 1, 6, true);
        assert!(is_yanked(transport, &item.about), "at the same time, the yank counts");
    }
    let tags = layout.tags().unwrap();
    let item = published(&layout, "a/b:1.0.0");
    assert_eq!(tags, ["a/b:1.0.0".to_owned(), fallback_tag(&item.about.manifest), tag_of("a/b")]);
}

#[test]
fn strangers_neither_yank_nor_take_back() {
    let memory = Memory::default();
    let item = published(&memory, "1.0.0");
    yank(&memory, &item, 9, 5, true);
    assert!(!is_yanked(&memory, &item.about));
    yank(&memory, &item, 1, 6, true);
    yank(&memory, &item, 9, 7, false);
    assert!(is_yanked(&memory, &item.about));
    // Nobody whose signature would count: nothing is read.
    *memory.read.borrow_mut() = 0;
    let none = read_by(&TrustStore::default(), &memory, &item.about).unwrap();
    assert!(none.yanked.is_none() && *memory.read.borrow() == 0);
}

#[test]
fn a_statement_about_something_else_changes_nothing() {
    let memory = Memory::default();
    let item = published(&memory, "1.0.0");
    let mut others = vec![item.clone(); 3];
    others[0].about.id = "a/c".to_owned();
    others[1].about.version = "1.0.1".to_owned();
    others[2].about.content = Some(Digest::of_bytes(b"other"));
    for other in &others {
        yank(&memory, other, 1, 5, true);
    }
    // An honest statement about the manifest of something else.
    let other = PublishedVersion { manifest: Digest::of_bytes(b"other"), ..item.about.clone() };
    attach_alone(&memory, &item, &first_format(&other, 5, true));
    assert_eq!(memory.listed.borrow().len(), 4);
    assert!(!is_yanked(&memory, &item.about));
}

#[test]
fn another_manifest_under_the_same_tag_takes_no_yank_back() {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::new(&folder.path().join("out"));
    let memory = Memory::default();
    let both: [&dyn Transport; 2] = [&layout, &memory];
    for transport in both {
        let item = published(transport, "a/b:1.0.0");
        yank(transport, &item, 1, 5, true);
        let moved = moved(transport, "a/b:1.0.0");
        assert_ne!(moved.about.manifest, item.about.manifest);
        let unknown = PublishedVersion { content: None, ..moved.about.clone() };
        assert!(is_yanked(transport, &moved.about) && is_yanked(transport, &unknown));
        // The publisher can revoke the yank there.
        yank(transport, &moved, 1, 6, false);
        assert!(!is_yanked(transport, &moved.about));
    }
}

#[test]
fn a_yank_of_the_first_format_is_found_at_another_manifest_of_a_directory() {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::new(&folder.path().join("out"));
    let item = published(&layout, "a/b:1.0.0");
    attach_alone(&layout, &item, &first_format(&item.about, 5, true));
    assert!(is_yanked(&layout, &item.about));
    let moved = moved(&layout, "a/b:1.0.0");
    assert!(is_yanked(&layout, &moved.about));
    // A manifest with another content is not affected.
    layout.put_blob(b"other").unwrap();
    let other =
        ArtifactManifest { layers: vec![Descriptor::new("application/yaml", b"other")], ..manifest(&[]) };
    let digest = layout.put_manifest(&other, Some("a/b:1.0.0")).unwrap();
    let about = PublishedVersion { manifest: digest, content: None, ..item.about };
    assert!(!is_yanked(&layout, &about));
}

#[test]
fn what_the_user_has_seen_is_not_hidden() {
    let memory = Memory::default();
    let item = published(&memory, "1.0.0");
    yank(&memory, &item, 1, 5, true);
    let seen = found(&memory, &item.about);
    assert!(!seen.is_hidden);
    // An attacker who may write removes everything but the version.
    let later = Memory::default();
    published(&later, "1.0.0");
    let trust = store();
    let judge = Judge { trust: &trust, at: Moment::from(NOW) };
    let envelopes: Vec<_> = seen.statements.iter().map(|yank| yank.envelope().to_owned()).collect();
    let known = StatementSources { attached: None, remembered: &envelopes };
    let read_again = read(&later, &item.about, judge, known).unwrap();
    assert!(read_again.yanked.is_some() && read_again.is_hidden);
    // A remembered statement is verified again: without a trusted key it is not accepted.
    let nobody = TrustStore::default();
    let judge = Judge { trust: &nobody, at: Moment::from(NOW) };
    assert!(read(&later, &item.about, judge, known).unwrap().yanked.is_none());
}

#[test]
fn what_is_no_list_of_yanks_is_reported() {
    let memory = Memory::default();
    let item = published(&memory, "1.0.0");
    memory.put_manifest(&manifest(&[]), Some(&tag_of("a/b"))).unwrap();
    let read = found(&memory, &item.about);
    assert!(read.unread.unwrap().to_string().contains("no list of yanks"));
    // The next statement replaces it, and junk is never listed.
    yank(&memory, &item, 1, 5, true);
    assert!(found(&memory, &item.about).unread.is_none() && is_yanked(&memory, &item.about));
    let trust = store();
    let judge = Judge { trust: &trust, at: Moment::from(NOW) };
    assert!(SortedYanks::new(["junk"; 10], "a/b", judge).all().is_empty());
    assert_eq!(read_list(b"{}", 256), None);
    assert_eq!(read_list(&vec![b' '; MOST_LIST + 1], 256), None);
    assert_eq!(read_list(br#"["", ""]"#, 1), None);
    assert_eq!((write_list(&["", ""], 1), write_list(&[""], 1)), (None, Some(br#"[""]"#.to_vec())));
}

#[test]
fn forged_statements_push_no_yank_out_of_the_list() {
    let item = published(&Memory::default(), "1.0.0");
    let envelope = envelope_by(1, &item.about, 5, true);
    let name = |envelope: String| envelope.replace(&key(9).id().to_string(), &key(1).id().to_string());
    let by_nobody = |at: fn(u64) -> u64| -> Vec<String> {
        (0..250).map(|number| envelope_by(9, &item.about, at(number), number % 2 == 0)).collect()
    };
    // Of the future, of the past, of now; under the name of the key that counts; in many spellings; about other versions.
    let forged = [
        by_nobody(|number| NOW.0 * 2 + number),
        by_nobody(|number| number),
        by_nobody(|number| NOW.0 - number),
        by_nobody(|number| NOW.0 * 2 + number).into_iter().map(name).collect(),
        (0..250).map(|number| spaced(&envelope_by(9, &item.about, NOW.0, true), number)).collect(),
        (0..250).map(|number| envelope_by(9, &other_version(number), NOW.0 * 2, true)).collect(),
        // Of the publisher, about other versions and in other spellings, which are few statements.
        (0..250).map(|number| spaced(&envelope_by(1, &other_version(0), 9, true), number)).collect(),
        // Of the publisher, whose clock was wrong: they do not count before that.
        (0..250).map(|number| envelope_by(1, &item.about, NOW.0 * 2 + number, true)).collect(),
    ];
    for (number, forged) in forged.iter().enumerate() {
        let memory = Memory::default();
        published(&memory, "1.0.0");
        put_list(&memory, &[forged.clone(), vec![envelope.clone()]].concat());
        // The next statement rewrites the list, which contains the yank whatever the old list contained.
        let other = envelope_by(1, &other_version(7), 6, true);
        list(&memory, &item, &other, 1, 6, &store()).unwrap();
        assert!(is_yanked(&memory, &item.about), "{number}");
        let there = listed_now(&memory);
        assert!(there.len() <= 128, "{number}: {}", there.len());
        // The yank stays in the list when other statements are written.
        for at in 7..10 {
            let other = envelope_by(1, &other_version(at), 6, true);
            list(&memory, &item, &other, 1, 6, &store()).unwrap();
        }
        assert!(is_yanked(&memory, &item.about), "{number}");
    }
}

#[test]
fn statements_of_other_publishers_stay_in_the_list() {
    let memory = Memory::default();
    let item = published(&memory, "1.0.0");
    yank(&memory, &item, 1, 5, true);
    // This user does not trust key 1.
    list(&memory, &item, &envelope_by(9, &item.about, 6, true), 9, 6, &TrustStore::default()).unwrap();
    assert_eq!(listed_now(&memory).len(), 2);
    assert!(is_yanked(&memory, &item.about));
}

#[test]
fn a_list_without_room_is_left_as_it_is() {
    let memory = Memory::default();
    let item = published(&memory, "1.0.0");
    let all: Vec<_> = (0..256).map(|number| envelope_by(1, &other_version(number), 5, true)).collect();
    put_list(&memory, &all);
    let next = envelope_by(1, &item.about, 6, true);
    let full = list(&memory, &item, &next, 1, 6, &store()).unwrap_err();
    assert!(matches!(full, TransportError::Full { count: 257, .. }), "{full}");
    assert_eq!(listed_now(&memory), all);
    assert!(is_yanked(&memory, &item.about), "it is attached to its version all the same");
    // A later statement about a version replaces the earlier one.
    list(&memory, &item, &envelope_by(1, &other_version(3), 6, true), 1, 6, &store()).unwrap();
    assert_eq!(listed_now(&memory).len(), 256);
}

#[test]
fn what_the_publisher_has_seen_is_listed_again() {
    let memory = Memory::default();
    let item = published(&memory, "1.0.0");
    let remembered = vec![envelope_by(1, &item.about, 5, true)];
    let known = StatementSources { attached: None, remembered: &remembered };
    let envelope = envelope_by(1, &other_version(1), 6, true);
    let signed = SignedYank { envelope: &envelope, key: key(1).id(), at: Timestamp(6) };
    publish(&memory, &item, signed, Judge { trust: &store(), at: Moment::from(NOW) }, known).unwrap();
    assert!(is_yanked(&memory, &item.about));
}

#[test]
fn a_statement_counts_once_however_often_it_was_written_down() {
    let memory = Memory::default();
    let item = published(&memory, "1.0.0");
    let envelope = envelope_by(1, &item.about, 5, true);
    put_list(&memory, &(0..250).map(|number| spaced(&envelope, number)).collect::<Vec<_>>());
    attach_alone(&memory, &item, &spaced(&envelope, 300));
    assert_eq!(found(&memory, &item.about).statements.len(), 1);
}

#[test]
fn junk_is_ignored() {
    let memory = Memory::default();
    let item = published(&memory, "1.0.0");
    let honest = artifact(&item.manifest, "{}", key(1).id(), Timestamp(7)).manifest;
    let layer = |bytes: &[u8]| vec![Descriptor::new(media::ENVELOPE, bytes)];
    let junk = [
        ArtifactManifest { layers: Vec::new(), ..honest.clone() },
        ArtifactManifest { layers: layer(b"not there"), ..honest.clone() },
        ArtifactManifest { layers: vec![Descriptor::new("text/html", b"{}")], ..honest.clone() },
        ArtifactManifest { layers: [layer(b"{}"), layer(b"{}")].concat(), ..honest.clone() },
        ArtifactManifest { artifact_type: None, ..honest.clone() },
        // Its layer claims a size that must never be requested.
        ArtifactManifest {
            layers: vec![Descriptor { size: u64::MAX, ..layer(b"{}")[0].clone() }],
            ..honest.clone()
        },
        honest,
    ];
    memory.put_blob(b"{}").unwrap();
    for manifest in &junk {
        memory.put_manifest(manifest, None).unwrap();
    }
    // Listed blobs that are no manifest, and one that is missing.
    for bytes in [&b"<html>"[..], b"\xff"] {
        memory.put_blob(bytes).unwrap();
        memory.listed.borrow_mut().push(Descriptor::new(media::MANIFEST, bytes));
    }
    memory.listed.borrow_mut().push(Descriptor::new(media::MANIFEST, b"not there"));
    let large = Descriptor { size: MOST_MANIFEST + 1, ..Descriptor::new(media::MANIFEST, b"large") };
    memory.listed.borrow_mut().push(large);
    *memory.read.borrow_mut() = 0;
    let read = found(&memory, &item.about);
    assert!(read.yanked.is_none() && read.unread.is_none(), "{read:?}");
    // One more read is that of the item's tag, which does not exist.
    assert_eq!(*memory.read.borrow(), junk.len() + 3 + 1);
    yank(&memory, &item, 1, 5, true);
    assert!(is_yanked(&memory, &item.about));
}

#[test]
fn a_bounded_number_is_read_and_those_of_trusted_keys_first() {
    let memory = Memory::default();
    let item = published(&memory, "1.0.0");
    for at in 0..MOST_STATEMENTS as u64 {
        yank(&memory, &item, 9, 100 + at, false);
    }
    yank(&memory, &item, 1, 5, true);
    *memory.read.borrow_mut() = 0;
    let read = found(&memory, &item.about);
    assert!(read.yanked.is_some(), "strangers do not crowd it out");
    assert_eq!(*memory.read.borrow(), MOST_STATEMENTS + 1);
    let told = read.unread.unwrap().to_string();
    assert!(told.contains("more than 64 statements"), "{told}");

    // A statement that is listed many times is read once.
    let one = memory.listed.borrow().last().cloned().unwrap();
    *memory.listed.borrow_mut() = vec![one; 2 * MOST_STATEMENTS];
    *memory.read.borrow_mut() = 0;
    assert!(found(&memory, &item.about).unread.is_none());
    assert_eq!(*memory.read.borrow(), 2);
}

#[test]
fn a_bounded_number_of_bytes_is_read() {
    let memory = Memory::default();
    let item = published(&memory, "1.0.0");
    // The listing claims that they are small.
    for number in 0..8 {
        let mut large = artifact(&item.manifest, "{}", key(1).id(), Timestamp(number)).manifest;
        large.annotations.insert("more".to_owned(), "x".repeat(MOST_BYTES / 2));
        memory.put_manifest(&large, None).unwrap();
    }
    for listed in memory.listed.borrow_mut().iter_mut() {
        listed.size = 500;
    }
    *memory.read.borrow_mut() = 0;
    let read = found(&memory, &item.about);
    assert!(matches!(read.unread, Some(TransportError::CutOff { .. })), "{read:?}");
    assert_eq!(*memory.read.borrow(), 3);
}

#[test]
fn a_listing_that_fails_is_reported_and_ends_a_command_only_if_nothing_else_works() {
    let about = published(&Memory::default(), "1.0.0").about;
    let with = |broken: fn() -> TransportError| {
        let memory = Memory { broken: Some(broken), ..Memory::default() };
        read_by(&store(), &memory, &about)
    };
    assert!(with(missing).unwrap().unread.is_none());
    assert!(matches!(with(denied).unwrap().unread, Some(TransportError::Denied { .. })));
    assert!(matches!(with(late), Err(TransportError::Timeout { .. })));
}

#[test]
fn what_is_yanked_is_an_item_of_one_version() {
    let memory = Memory::default();
    let item = published(&memory, "1.0.0");
    let described = |tag: &str| describe(&memory, &format!("oci://h/a/b:{tag}").parse().unwrap());
    let wanted = PublishedVersion { content: None, has_signed_version: false, ..item.about.clone() };
    assert_eq!(with_content(&memory, wanted.clone()).unwrap().content, item.about.content);
    assert_eq!(described("1.0.0").unwrap().about, wanted);
    let put = |tag: &str, manifest: &ArtifactManifest| {
        memory.put_manifest(manifest, Some(tag)).unwrap();
        described(tag)
    };
    assert!(put("latest", &manifest(&[])).is_ok());
    assert!(matches!(put("2.0.0", &manifest(&[])), Err(PullError::Tag { .. })));
    let versioned =
        |id: &str, version: &str| manifest(&[(annotation::ITEM, id), (annotation::VERSION, version)]);
    assert!(matches!(put("x", &versioned("../b", "1.0.0")), Err(PullError::Id { .. })));
    assert!(matches!(put("x", &versioned("a/b@1", "1.0.0")), Err(PullError::Id { .. })));
    assert!(matches!(put("x", &versioned("a/b", "1")), Err(PullError::Config { .. })));
    assert_eq!(put("1.0.0_1", &versioned("a/b", "1.0.0+1")).unwrap().about.version, "1.0.0+1");
    let other = ArtifactManifest { artifact_type: Some("application/x".to_owned()), ..manifest(&[]) };
    assert!(matches!(put("x", &other), Err(PullError::NotAnItem { .. })));
    let statement = artifact(&item.manifest, "{}", key(1).id(), Timestamp(7)).manifest;
    assert!(matches!(put("x", &statement), Err(PullError::NotAnItem { .. })));
    assert!(matches!(described("nothing"), Err(PullError::Transport(TransportError::NotFound { .. }))));

    // Without annotations, the configuration of the artifact states its id and version.
    let config = br#"{"id":"a/c","kind":"graph","version":"3.0.0"}"#;
    memory.put_blob(config).unwrap();
    let plain = ArtifactManifest {
        config: Descriptor::new(crate::artifact::ITEM_CONFIG, config),
        annotations: BTreeMap::new(),
        ..manifest(&[])
    };
    let about = put("3.0.0", &plain).unwrap().about;
    assert_eq!((about.id.as_str(), about.version.as_str()), ("a/c", "3.0.0"));
}

#[test]
fn offers_are_shown_as_yanked() {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::new(folder.path());
    let item = published(&layout, "a/b:1.0.0");
    yank(&layout, &item, 1, 5, true);
    let place: Reference = format!("oci-layout:{}", folder.path().display()).parse().unwrap();
    let options = RegistryOptions::new(None, std::time::Duration::from_mins(1), 1 << 20);
    let offers = crate::search::offers(&place, &options).unwrap().offers;
    assert_eq!(offers.len(), 1, "a yank is no item: {offers:?}");
    let by = |trust: &TrustStore| {
        let judge = Judge { trust, at: Moment::from(NOW) };
        let yanks = of_offers(&place, &offers, &options, judge, &|_| Vec::new()).unwrap();
        yanks.iter().map(|yanks| yanks.yanked.is_some()).collect::<Vec<_>>()
    };
    assert_eq!(by(&store()), [true]);
    assert_eq!(by(&TrustStore::default()), [false]);
    // A layout whose referrers are listed under their tag only, as other tools copy them.
    let mut index = layout.index().unwrap();
    index.manifests.retain(|listed| !listed.annotations.is_empty());
    assert!(index.manifests.len() == 3);
    std::fs::write(folder.path().join("index.json"), ManifestIndex::to_bytes(&index)).unwrap();
    assert_eq!(by(&store()), [true]);
}
