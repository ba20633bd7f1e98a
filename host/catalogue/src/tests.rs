//! Pages of catalogues with hostile texts.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use graph_core::capability::CapabilityKind;
use graph_core::digest::Digest;
use graph_core::trust::SigningKey;
use serde_json::{Value, json};

use super::*;

const HOSTILE: &str =
    "</script><script>alert(1)</script>\u{202e}\u{1b}[31m\"'><img src=x onerror=alert(1)>&amp;";

fn digest(text: &str) -> Digest {
    Digest::of_bytes(text.as_bytes())
}

fn signer(name: &str) -> Signer {
    let key = SigningKey::from_seed(&[7; 32]).verifying_key();
    Signer { name: Text::line(name), key_id: key.id(), public_key: key.hex() }
}

fn trusted() -> Trust {
    Trust::Trusted { signers: vec![signer("acme")], not_after: None, signed_at: None }
}

fn version(item_page: &str, id: &str, number: &str, trust: Trust) -> Version {
    let manifest = digest(&format!("{id} {number}"));
    Version {
        version: Text::line(number),
        page: version_page(item_page, id, number, &manifest),
        references: vec![Text::line(&format!("oci-layout:out:{id}:{number}"))],
        manifest,
        digest: None,
        trust,
        description: Some(Text::block("What it is for.")),
        source: None,
        content: None,
        capabilities: None,
        cases: Cases::None,
        yanked: None,
        usage: None,
    }
}

fn item(id: &str, kind: Kind, versions: &[(&str, Trust)]) -> Item {
    let place = "oci-layout:out";
    let page = item_page(place, kind, id);
    let versions = versions.iter().map(|(number, trust)| version(&page, id, number, trust.clone())).collect();
    Item { id: Text::line(id), kind, place: Text::line(place), page, versions }
}

fn schema() -> Schema {
    Schema::of(
        &json!({ "type": "object", "required": ["url"], "properties": { "url": { "type": "string", "description": HOSTILE } } }),
    )
}

fn component() -> Content {
    Content::Component(Box::new(Component {
        world: Text::line("graph-host:node/node@0.1.0"),
        bytes: 12_345,
        callables: vec![Callable {
            item: Text::line("acme/fetch"),
            summary: Text::block("Fetches a page."),
            params: schema(),
            result: Schema::of(&json!({ "type": "string" })),
        }],
        more_callables: 0,
        wit: Wit::Text(Text::source(
            "package root:component;\n\nworld root {\n  import wasi:http/types@0.2.6;\n}\n",
        )),
        asks: Asks {
            interfaces: vec![Text::line("wasi:http/outgoing-handler@0.2.6")],
            reasons: vec![WantedInterface {
                interface: Text::line("wasi:http/outgoing-handler"),
                why: Text::line(HOSTILE),
            }],
            ceiling: BTreeSet::from([CapabilityKind::Log, CapabilityKind::Http]),
            at_most: BTreeSet::from([CapabilityKind::Log]),
            limits: None,
            most: None,
        },
    }))
}

fn graph() -> Content {
    Content::Graph(Box::new(Graph {
        nodes: vec![GraphNode { name: Text::line("get"), item: Some(Text::line("acme/fetch")) }],
        more_nodes: 0,
        uses: vec![UsedItem {
            id: Text::line("acme/fetch"),
            kind: Kind::Component,
            version: Text::line("1.0.0"),
            manifest: digest("acme/fetch 1.0.0"),
            page: None,
        }],
        inputs: Some(schema()),
        picture: Picture::Drawn {
            file: picture_file("items/x.html"),
            svg: "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"200\" height=\"80\"><rect x=\"10\" y=\"10\" width=\"120\" height=\"50\" fill=\"none\" stroke=\"black\"/></svg>".to_owned(),
        },
    }))
}

/// Returns a catalogue that has every kind of content.
fn sample() -> Catalogue {
    let mut catalogue = Catalogue::new(Text::line("oci-layout:out"));
    let not_verified =
        Trust::NotVerified { reason: Text::line(HOSTILE), key_ids: vec![Text::line(&digest("a key").hex())] };
    let mut fetch = item(
        "acme/fetch",
        Kind::Component,
        &[("2.0.0-rc.1", trusted()), ("1.0.0", trusted()), ("0.9.0", not_verified.clone())],
    );
    let content = component();
    let may = BTreeSet::from([CapabilityKind::Log, CapabilityKind::Http]);
    let signers = [signer("acme")];
    let signed = [SignedItem { id: "acme/fetch", may: Some(&may), signers: &signers }];
    let reference = "oci-layout:out:acme/fetch:1.0.0";
    fetch.versions[1].usage =
        Some(usage(("acme/fetch", Kind::Component), reference, &content, &signed, true));
    fetch.versions[1].content = Some(content);
    fetch.versions[1].digest = Some(digest("bytes"));
    fetch.versions[1].source = Link::read("https://example.com/acme/fetch");
    fetch.versions[2].description = Some(Text::block(HOSTILE));
    let mut flow = item("acme/flow", Kind::Graph, &[("1.0.0", trusted())]);
    let content = graph();
    let signed = [SignedItem { id: "acme/flow", may: None, signers: &signers }];
    let reference = "oci-layout:out:acme/flow:1.0.0";
    flow.versions[0].usage = Some(usage(("acme/flow", Kind::Graph), reference, &content, &signed, false));
    flow.versions[0].content = Some(content);
    flow.versions[0].capabilities = Some(Text::source("version: 1\ndispatch: ['execute.tool.acme.*']\n"));
    flow.versions[0].cases = Cases::Ran {
        results: vec![
            CaseResult {
                name: Text::line("fetches"),
                about: Some(Text::line("The page is fetched.")),
                passed: true,
                problem: None,
            },
            CaseResult {
                name: Text::line(HOSTILE),
                about: None,
                passed: false,
                problem: Some(Text::line(HOSTILE)),
            },
        ],
    };
    let mut note = item("acme/note", Kind::Knowledge, &[("2.0.0", trusted())]);
    note.versions[0].content =
        Some(Content::Text(TextItem { title: Some(Text::line("A note")), bytes: 300, inputs: None }));
    let stranger = item(HOSTILE, Kind::Directive, &[(HOSTILE, not_verified)]);
    catalogue.items = vec![fetch, flow, note, stranger];
    catalogue.cut_off = vec![Text::line("the listing of the artifacts was cut off")];
    catalogue.unreadable =
        vec![Unreadable { reference: Text::line("oci-layout:out:a:1"), reason: Text::line(HOSTILE) }];
    catalogue
}

fn pages(catalogue: Catalogue) -> BTreeMap<String, String> {
    let files = files(catalogue).unwrap();
    files.into_iter().map(|(path, bytes)| (path, String::from_utf8(bytes).unwrap())).collect()
}

fn is_page(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "html")
}

/// Writes the sample to the folder `CATALOGUE_OUT`, for review in a browser.
#[test]
#[ignore = "it writes where CATALOGUE_OUT says"]
fn a_sample_is_written() {
    let out = std::path::PathBuf::from(std::env::var_os("CATALOGUE_OUT").unwrap());
    for (path, text) in pages(sample()) {
        let file = out.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
}

#[test]
fn no_text_of_a_stranger_becomes_markup() {
    for (path, text) in pages(sample()) {
        if !is_page(&path) {
            continue;
        }
        let scripts = usize::from(path == "index.html");
        assert_eq!(text.matches("<script").count(), scripts, "{path}");
        assert!(!text.contains("<img src=x") && !text.contains("onerror=alert(1)>"), "{path}");
        for acting in ['\u{202e}', '\u{1b}'] {
            assert!(!text.contains(acting), "{path}");
        }
        for inline in ["<style", " style=", "javascript:", "http://"] {
            assert!(!text.contains(inline), "{path} has {inline}");
        }
        assert!(text.contains("default-src 'none'; script-src 'self'; style-src 'self'"), "{path}");
    }
    let index = &pages(sample())["index.html"];
    assert!(index.contains("\\u{202e}\\u{1b}[31m") && index.contains("&lt;script&gt;"), "{index}");
}

#[test]
fn every_link_leads_to_a_file_of_the_catalogue() {
    let pages = pages(sample());
    let mut followed = 0;
    for (path, text) in pages.iter().filter(|(path, _)| is_page(path)) {
        for attribute in [" href=\"", " src=\""] {
            for link in text.split(attribute).skip(1).map(|rest| rest.split('"').next().unwrap()) {
                if link == "data:," || link == "https://example.com/acme/fetch" {
                    continue;
                }
                let target = match link.strip_prefix("../") {
                    Some(target) => target,
                    None => link,
                };
                assert_eq!(link.starts_with("../"), path.contains('/'), "{path} links to {link}");
                assert!(pages.contains_key(target), "{path} links to {link}");
                followed += 1;
            }
        }
    }
    assert!(followed > 40, "{followed}");
}

#[test]
fn the_same_catalogue_gives_the_same_bytes_and_lists_its_files() {
    let (one, other) = (files(sample()).unwrap(), files(sample()).unwrap());
    assert_eq!(one, other);
    let document: Catalogue = serde_json::from_slice(&one[DOCUMENT]).unwrap();
    assert_eq!((document.format.as_str(), document.version), (FORMAT, VERSION));
    assert_eq!(document.files, one.keys().cloned().collect());
    let listing = Listing::read(&one[DOCUMENT]).unwrap();
    assert!(listing.has("index.html") && !listing.has("notes.txt"));
    assert_eq!(listing.version(), VERSION);
    assert!(Listing::read(b"{\"format\":\"another\",\"version\":1,\"files\":[]}").is_none());
}

#[test]
fn a_long_text_is_cut() {
    let long = "x".repeat(1 << 20);
    let mut catalogue = sample();
    catalogue.items[0].versions[0].description = Some(Text::block(&long));
    catalogue.items[0].id = Text::line(&long);
    let pages = pages(catalogue);
    let most = pages.values().map(String::len).max().unwrap();
    assert!(most < 100_000, "{most}");
    assert!(Text::block(&long).as_str().ends_with("x…"));
    assert_eq!(Text::line("a\nb\tc").as_str(), "a b c");
    let large = Schema::of(&json!({ "description": long }));
    assert_eq!((large.json.is_none(), large.bytes > 1 << 20), (true, true));
}

#[test]
fn only_https_is_a_link() {
    for text in [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "http://example.com",
        "data:text/html,x",
        "//example.com",
        "https://user:secret@example.com",
        "https:///",
        "",
    ] {
        assert_eq!(Link::read(text), None, "{text}");
    }
    assert!(Link::read(&format!("https://example.com/{}", "x".repeat(3000))).is_none());
    let link = Link::read("https://example.com/\"><script>").unwrap();
    assert!(!link.as_str().contains(['"', '<']), "{}", link.as_str());
    assert!(serde_json::from_value::<Link>(json!("javascript:alert(1)")).is_err());
}

#[test]
fn file_names_are_safe_and_differ_whatever_the_ids_are() {
    let ids = [
        "con",
        "CON",
        "aux.txt",
        "../../etc/passwd",
        "a/b",
        "A/b",
        "a/B",
        "a-b",
        "",
        ".",
        "a\0b",
        "ä",
        HOSTILE,
        &"x".repeat(10_000),
    ];
    let names: BTreeSet<_> =
        ids.iter().map(|id| item_page("oci-layout:out", Kind::Graph, id).to_lowercase()).collect();
    assert_eq!(names.len(), ids.len());
    for name in names {
        let stem = name.strip_prefix("items/").unwrap().strip_suffix(".html").unwrap();
        assert!(stem.len() <= 80 && stem.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{stem}");
        assert!(!["con", "aux", "nul", "prn"].contains(&stem), "{stem}");
    }
    let elsewhere = item_page("oci-layout:other", Kind::Graph, "a/b");
    assert_ne!(elsewhere, item_page("oci-layout:out", Kind::Graph, "a/b"));
    assert_ne!(elsewhere, item_page("oci-layout:other", Kind::Knowledge, "a/b"));
}

#[test]
fn ids_that_differ_in_case_have_pages_of_their_own() {
    let mut catalogue = Catalogue::new(Text::line("oci-layout:out"));
    catalogue.items = vec![
        item("Acme/Fetch", Kind::Graph, &[("1.0.0", trusted())]),
        item("acme/fetch", Kind::Graph, &[("1.0.0", trusted())]),
    ];
    let files = files(catalogue).unwrap();
    let names: BTreeSet<_> = files.keys().map(|path| path.to_lowercase()).collect();
    assert_eq!(names.len(), files.len());
    assert_eq!(files.keys().filter(|path| path.starts_with("items/")).count(), 4);
}

#[test]
fn the_newest_version_is_the_greatest_release_that_was_verified() {
    let catalogue = sample();
    assert_eq!(catalogue.items[0].newest().unwrap().version.as_str(), "1.0.0");
    assert_eq!(
        catalogue.items[3].newest().unwrap().references.len(),
        1,
        "one that was not verified, if there is no other"
    );
}

#[test]
fn commands_can_be_typed() {
    let catalogue = sample();
    let lines = |item: usize, version: usize| -> Vec<String> {
        let usage = catalogue.items[item].versions[version].usage.as_ref().unwrap();
        usage.commands.iter().map(|command| command.line.as_str().to_owned()).collect()
    };
    let key = signer("acme").public_key;
    assert_eq!(
        lines(0, 1),
        [
            format!("graph-host trust add acme --key {key} --items acme/fetch --may http"),
            "graph-host pull oci-layout:out:acme/fetch:1.0.0".to_owned(),
            "graph-host inspect acme/fetch".to_owned(),
            "graph-host caps suggest graph.yaml > caps.yaml".to_owned(),
            "graph-host run graph.yaml --caps caps.yaml".to_owned(),
        ]
    );
    assert_eq!(
        lines(1, 0)[1..],
        [
            "graph-host pull oci-layout:out:acme/flow:1.0.0",
            "graph-host caps suggest acme/flow > caps.yaml",
            "graph-host run acme/flow --caps caps.yaml --input url=text",
        ]
    );
    let usage = catalogue.items[0].versions[1].usage.as_ref().unwrap();
    let text = usage.graph.as_ref().unwrap().as_str();
    let graph = graph_walker::document::load("graph.yaml", text, "graph").unwrap().graph;
    assert_eq!(graph.nodes[0].action.as_ref().unwrap().item_id.source(), &Value::from("acme/fetch"));
}

#[test]
fn a_word_of_a_command_is_quoted_for_a_shell() {
    let signers = [signer("it's $(mine)")];
    let signed = [SignedItem { id: "a/b", may: None, signers: &signers }];
    let content = Content::Text(TextItem { title: None, bytes: 1, inputs: None });
    let usage = usage(("a/b", Kind::Knowledge), "oci-layout:my folder;x:a/b:1.0.0", &content, &signed, true);
    let lines: Vec<_> = usage.commands.iter().map(|command| command.line.as_str()).collect();
    assert!(lines[0].starts_with("graph-host trust add 'it'\\''s $(mine)' --key "), "{lines:?}");
    assert_eq!(lines[1], "graph-host pull 'oci-layout:my folder;x:a/b:1.0.0'");
}

#[test]
fn the_wit_of_a_component_is_its_world_and_what_it_exports() {
    let component = wat::parse_str(
        "(component
            (import \"wasi:clocks/monotonic-clock@0.2.6\" (instance (export \"now\" (func (result u64)))))
            (core module $m (func (export \"f\") (param i32) (result i32) local.get 0))
            (core instance $i (instantiate $m))
            (func $f (param \"a\" u32) (result u32) (canon lift (core func $i \"f\")))
            (instance $ops (export \"add\" (func $f)))
            (export \"acme:math/ops@1.0.0\" (instance $ops)))",
    )
    .unwrap();
    let wit = world_of(&component).unwrap();
    assert!(wit.contains("export acme:math/ops@1.0.0") && wit.contains("add: func(a: u32) -> u32"), "{wit}");
    assert!(wit.contains("import wasi:clocks/monotonic-clock@0.2.6"), "{wit}");
    assert!(!wit.contains("now: func"), "what it imports is named, and not repeated: {wit}");
    assert!(matches!(world_of(b"no component"), Err(WitError::Unreadable(_))));
}

#[test]
fn types_that_grow_in_print_are_refused() {
    let mut text = String::from("(component\n(type $t0 (tuple u32 u32))\n");
    for at in 1..16 {
        let _ = writeln!(text, "(type $t{at} (tuple $t{0} $t{0}))", at - 1);
    }
    text += "(import \"f\" (func (param \"a\" $t15))) (import \"g\" (func (param \"a\" $t15))) (import \"h\" (func (param \"a\" $t15))))";
    let component = wat::parse_str(text).unwrap();
    assert!(matches!(world_of(&component), Err(WitError::TooLarge)), "{:?}", world_of(&component));
}
