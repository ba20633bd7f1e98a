#![allow(clippy::unwrap_used)]
use std::collections::BTreeMap;

use graph_core::capability::{Ceiling, ItemPattern};
use graph_core::time::Timestamp;
use graph_core::trust::{CommentMark, Moment, SigningKey, TextKind, TrustStore, TrustedKey, sign_text};
use proptest::prelude::*;

use super::*;
use crate::artifact::{Item, ItemConfig, ItemContent, artifacts};
use crate::layout::Layout;
use crate::manifest::media;
use crate::publish::publish;
use crate::pull::{Judge, PulledArtifact, pull};
use crate::reference::Reference;

const GRAPH: &str = "version: 1.0.0\ntool_type: graph\nconfig:\n  start: a\n  nodes:\n    a: { action: { item_id: t/one } }\n";

fn key() -> SigningKey {
    SigningKey::from_seed(&[7; 32])
}

fn trust() -> TrustStore {
    TrustStore::new(vec![TrustedKey {
        name: "me".to_owned(),
        key: key().verifying_key(),
        items: vec![ItemPattern::parse("t/*").unwrap()],
        ceiling: Ceiling::from_kinds([]),
        not_before: None,
        not_after: None,
        revoked: None,
        succeeds: None,
    }])
}

/// The artifact of the signed graph `t/flow`.
fn graph() -> Artifact {
    let text = sign_text(TextKind::Graph, "t/flow", GRAPH, CommentMark::Hash, &key(), Timestamp(0));
    let config = ItemConfig {
        id: "t/flow".to_owned(),
        kind: Kind::Graph,
        version: "1.0.0".to_owned(),
        uses: Vec::new(),
    };
    let content = ItemContent::Text { text: &text, extension: "yaml" };
    artifacts(&Item { config, description: None, created: None, content }).unwrap().0
}

fn companion(kind: CompanionKind, title: &str, text: &str) -> Companion {
    Companion { kind, title: title.to_owned(), bytes: text.as_bytes().to_vec() }
}

/// Returns companions of every kind, with two cases.
fn all() -> Vec<Companion> {
    vec![
        companion(CompanionKind::Picture, "flow.svg", "<svg/>"),
        companion(CompanionKind::Case, "b.case.yaml", "b"),
        companion(CompanionKind::Manifest, "flow.caps.yaml", "dispatch: []\n"),
        companion(CompanionKind::Case, "a.case.yaml", "a"),
    ]
}

/// Returns a layer as a stranger might write it.
fn layer(media_type: &str, title: Option<&str>, size: u64) -> Descriptor {
    let mut layer = Descriptor { size, ..Descriptor::new(media_type, b"x") };
    layer.annotations =
        title.map(|title| (annotation::TITLE.to_owned(), title.to_owned())).into_iter().collect();
    layer
}

fn case(title: &str) -> Descriptor {
    layer(CompanionKind::Case.media_type(), Some(title), 1)
}

fn with(layers: impl IntoIterator<Item = Descriptor>) -> ArtifactManifest {
    let mut manifest = graph().manifest;
    manifest.layers.extend(layers);
    manifest
}

fn refused(manifest: &ArtifactManifest) -> String {
    read("oci://host/t/flow:1.0.0", manifest).unwrap_err().to_string()
}

fn pulled(layout: &Layout, folder: &std::path::Path) -> Result<PulledArtifact, PullError> {
    let reference: Reference = format!("oci-layout:{}:t/flow:1.0.0", folder.display()).parse().unwrap();
    let trust = trust();
    pull(layout, &reference, None, Judge { trust: &trust, at: Moment::from(Timestamp(1)) })
}

#[test]
fn what_a_graph_takes_along_arrives_and_is_the_same_bytes_every_time() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("out");
    let layout = Layout::new(&place);
    let artifact = attach(graph(), all(), None).unwrap();
    let mut other = all();
    other.reverse();
    assert_eq!(
        attach(graph(), other, None).unwrap().digest(),
        artifact.digest(),
        "the order does not matter"
    );
    publish(&layout, &artifact, None, "t/flow:1.0.0", false).unwrap();
    let pulled = pulled(&layout, &place).unwrap();
    let listed: Vec<_> = pulled.companions.listed.iter().map(|one| (one.layer, one.title.as_str())).collect();
    assert_eq!(listed, [(1, "a.case.yaml"), (2, "b.case.yaml"), (3, "flow.caps.yaml"), (4, "flow.svg")]);
    let texts: Vec<_> =
        pulled.companions.listed.iter().map(|one| fetch_text(&layout, "it", one).unwrap()).collect();
    assert_eq!(texts, ["a", "b", "dispatch: []\n", "<svg/>"]);
    assert_eq!(stated_cases(&artifact.manifest), 2);
    assert_eq!(stated_cases(&graph().manifest), 0);
    // The graph is the same with and without them.
    assert_eq!(artifact.manifest.layers[0], graph().manifest.layers[0]);
}

#[test]
fn another_drawing_of_the_same_graph_is_no_other_version() {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::new(&folder.path().join("out"));
    let first = attach(graph(), all(), None).unwrap();
    publish(&layout, &first, None, "t/flow:1.0.0", false).unwrap();
    let mut drawn = all();
    drawn[0].bytes = b"<svg>another</svg>".to_vec();
    let drawn = attach(graph(), drawn, None).unwrap();
    let again = publish(&layout, &drawn, None, "t/flow:1.0.0", false).unwrap();
    assert_eq!((again.manifest, again.was_there, again.replaced), (first.digest(), true, None));
    // Another case makes another version, and so does a graph without companions.
    let mut tested = all();
    tested[1].bytes = b"c".to_vec();
    for other in [attach(graph(), tested, None).unwrap(), graph()] {
        assert!(publish(&layout, &other, None, "t/flow:1.0.0", false).is_err());
    }
    let forced = publish(&layout, &drawn, None, "t/flow:1.0.0", true).unwrap();
    assert_eq!((forced.manifest, forced.replaced), (drawn.digest(), Some(first.digest())));
}

#[test]
fn a_layer_that_lies_about_itself_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::new(&folder.path().join("out"));
    layout.put_blob(b"twelve bytes").unwrap();
    let listed = |size: u64, digest: Digest| ListedCompanion {
        is_signed: false,
        kind: CompanionKind::Case,
        title: "a.case.yaml".to_owned(),
        layer: 1,
        digest,
        size,
    };
    let own = Digest::of_bytes(b"twelve bytes");
    assert_eq!(fetch(&layout, "it", &listed(12, own)).unwrap(), b"twelve bytes");
    for size in [0, 11, 13, u64::MAX] {
        let error = fetch(&layout, "it", &listed(size, own)).unwrap_err().to_string();
        assert!(error.starts_with("layer 1 (`a.case.yaml`): "), "{size}: {error}");
    }
    // A blob whose name is the digest of other bytes, as a registry can answer.
    let other = Digest::of_bytes(b"other bytes");
    let blobs = folder.path().join("out/blobs/sha256");
    std::fs::write(blobs.join(other.hex()), b"changed byte").unwrap();
    let error = fetch(&layout, "it", &listed(12, other)).unwrap_err().to_string();
    assert!(error.contains("has the digest"), "{error}");
    layout.put_blob(&[0xff]).unwrap();
    let error = fetch_text(&layout, "it", &listed(1, Digest::of_bytes(&[0xff]))).unwrap_err().to_string();
    assert_eq!(error, "layer 1 of it is refused: the case `a.case.yaml` is not text in UTF-8");
}

#[test]
fn titles_are_plain_file_names() {
    let bad = [
        "",
        ".case.yaml",
        "../x.case.yaml",
        "/x.case.yaml",
        "a/x.case.yaml",
        "a\\x.case.yaml",
        "c:x.case.yaml",
        "x..case.yaml",
        ".x.case.yaml",
        "-x.case.yaml",
        " x.case.yaml",
        "x\n.case.yaml",
        "x\u{1b}[2J.case.yaml",
        "x\u{202e}.case.yaml",
        "x?.case.yaml",
        "x.yaml",
        "x.CASE.YAML",
        "x.case.yaml ",
        "x.svg",
        "con.case.yaml",
        "LPT1.case.yaml",
    ];
    for title in bad {
        let error = refused(&with([case(title)]));
        assert!(
            error.starts_with("layer 1 of oci://host/t/flow:1.0.0 is refused: its title"),
            "{title:?}: {error}"
        );
        assert!(!error.contains(['\n', '\u{1b}', '\u{202e}']), "{error:?}");
    }
    let long = format!("{}.case.yaml", "x".repeat(200));
    assert!(refused(&with([case(&long)])).contains("longer than 128 bytes"));
    assert!(refused(&with([layer(CompanionKind::Case.media_type(), None, 1)])).contains("it is missing"));
    for title in ["x.case.yaml", "No files, please.case.yaml", "größe.case.yaml", "a-b_c.d.case.yaml"] {
        assert!(read("it", &with([case(title)])).is_ok(), "{title}");
    }
    // On some systems these names are one file.
    assert!(refused(&with([case("x.case.yaml"), case("X.case.yaml")])).contains("that of another layer"));
    let mut named_like_a_case = with([case("x.case.yaml")]);
    named_like_a_case.layers[0].annotations.insert(annotation::TITLE.to_owned(), "x.case.yaml".to_owned());
    assert!(refused(&named_like_a_case).contains("that of another layer"));
}

#[test]
fn numbers_and_sizes_are_bounded_before_anything_is_read() {
    let many = with((0..9_999).map(|number| case(&format!("{number}.case.yaml"))));
    assert_eq!(stated_cases(&many), 9_999);
    assert!(refused(&many).contains("9999 layers besides its graph, 128 at most"));
    assert!(read("it", &with((0..MOST_COMPANIONS).map(|at| case(&format!("{at}.case.yaml"))))).is_ok());
    let unknown = with((0..=MOST_COMPANIONS).map(|_| layer("text/plain", None, 1)));
    assert!(refused(&unknown).contains("129 layers"));
    // A layer of 1 GiB is refused before it is fetched.
    let large = layer(CompanionKind::Case.media_type(), Some("x.case.yaml"), 1 << 30);
    assert!(refused(&with([large])).contains("the case `x.case.yaml` has 1073741824 bytes, 1048576 at most"));
    let several = (0..9).map(|at| {
        layer(CompanionKind::Case.media_type(), Some(&format!("{at}.case.yaml")), CompanionKind::Case.most())
    });
    assert!(refused(&with(several)).starts_with("layer 9 of "));
    let picture = |title| layer(CompanionKind::Picture.media_type(), Some(title), 1);
    assert!(refused(&with([picture("a.svg"), picture("b.svg")])).contains("a second picture"));
    assert!(refused(&with([layer("application/yaml", Some("g.yaml"), 1)])).contains("only layer 0"));
}

#[test]
fn layers_of_later_versions_are_counted_and_left_alone() {
    let later =
        with([layer("application/vnd.graph-host.case.v2+yaml", Some("../x"), 1 << 40), case("x.case.yaml")]);
    let companions = read("it", &later).unwrap();
    assert_eq!((companions.unknown, companions.listed.len(), companions.listed[0].layer), (1, 1, 2));
}

#[test]
fn only_a_graph_takes_something_along() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("out");
    let layout = Layout::new(&place);
    let component = ArtifactManifest {
        schema_version: 2,
        media_type: Some(media::MANIFEST.to_owned()),
        artifact_type: None,
        config: Descriptor::new(media::WASM_CONFIG, b"{}"),
        layers: vec![Descriptor::new(media::WASM, b"x"), case("x.case.yaml")],
        subject: None,
        annotations: BTreeMap::new(),
    };
    layout.put_manifest(&component, Some("t/flow:1.0.0")).unwrap();
    assert!(matches!(pulled(&layout, &place), Err(PullError::Layers { found: 2, .. })));
    // A graph with a hostile title is not pulled at all, because `oras` would write the file.
    layout.put_manifest(&with([case("../x.case.yaml")]), Some("t/flow:1.0.0")).unwrap();
    assert!(matches!(pulled(&layout, &place), Err(PullError::Companion { layer: 1, .. })));
}

proptest! {
    /// The companions that are accepted are bounded in size and can be written into one folder, for all titles and
    /// sizes that an artifact lists.
    #[test]
    fn what_is_accepted_can_be_written(
        titles in prop::collection::vec(r"[a-zA-Z./\\: \x00-\x20\u{202e}]{0,12}(\.case\.yaml)?", 0..8),
        sizes in prop::collection::vec(any::<u64>(), 8),
    ) {
        let layers = titles.iter().zip(sizes).map(|(title, size)| {
            layer(CompanionKind::Case.media_type(), Some(title), size % (2 << 20))
        });
        if let Ok(companions) = read("it", &with(layers)) {
            prop_assert!(companions.listed.iter().map(|listed| listed.size).sum::<u64>() <= MOST_BYTES);
            for listed in &companions.listed {
                let path = std::path::Path::new(&listed.title);
                prop_assert_eq!(path.components().count(), 1);
                prop_assert_eq!(path.file_name().and_then(|name| name.to_str()), Some(listed.title.as_str()));
            }
        }
    }
}

/// Returns the artifact of the graph with companions and a statement about `companions` that a key has signed.
fn signed_by(seed: u8, companions: &[Companion]) -> Artifact {
    let content = graph_core::trust::signed_content(std::str::from_utf8(&graph().blobs[1]).unwrap());
    let statement = statement_of("t/flow", content, companions);
    let envelope = statement.sign(&SigningKey::from_seed(&[seed; 32])).unwrap();
    attach(graph(), all(), Some(envelope)).unwrap()
}

/// Publishes and pulls an artifact, and returns the names of the companions that are signed.
fn signed_of(artifact: &Artifact) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("out");
    let layout = Layout::new(&place);
    publish(&layout, artifact, None, "t/flow:1.0.0", false).unwrap();
    let listed = pulled(&layout, &place).unwrap().companions.listed;
    listed.into_iter().filter(|one| one.is_signed).map(|one| one.title).collect()
}

#[test]
fn what_its_publisher_has_signed_is_told_from_what_anyone_adds() {
    let every = ["a.case.yaml", "b.case.yaml", "flow.caps.yaml", "flow.svg"];
    assert_eq!(signed_of(&signed_by(7, &all())), every);
    assert_eq!(signed_of(&attach(graph(), all(), None).unwrap()), [""; 0]);
    assert_eq!(signed_of(&signed_by(9, &all())), [""; 0], "a key that nobody trusts for the graph");
    // A case that is not stated, one with another content, and a picture that has become a case.
    let some = |change: fn(&mut Vec<Companion>)| {
        let mut stated = all();
        stated.sort_by(|one, other| one.title.cmp(&other.title));
        change(&mut stated);
        signed_of(&signed_by(7, &stated))
    };
    assert_eq!(some(|stated| drop(stated.remove(0))), every[1..]);
    assert_eq!(some(|stated| stated[0].bytes.push(b' ')), every[1..]);
    assert_eq!(some(|stated| stated[0].kind = CompanionKind::Picture), every[1..]);
    // The statement of another graph.
    let other = statement_of("t/flow", Digest::of_bytes(b"other"), &all());
    let envelope = other.sign(&key()).unwrap();
    assert_eq!(signed_of(&attach(graph(), all(), Some(envelope)).unwrap()), [""; 0]);
    // A text that is not a statement signs nothing, and is no error.
    for text in ["", "{}", "\u{1b}[2J"] {
        assert_eq!(signed_of(&attach(graph(), all(), Some(text.to_owned())).unwrap()), [""; 0]);
    }
}

#[test]
fn a_version_that_was_published_unsigned_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let layout = Layout::new(&folder.path().join("out"));
    let before = attach(graph(), all(), None).unwrap();
    publish(&layout, &before, None, "t/flow:1.0.0", false).unwrap();
    let again = publish(&layout, &signed_by(7, &all()), None, "t/flow:1.0.0", false).unwrap();
    assert_eq!((again.manifest, again.was_there), (before.digest(), true));
}
