//! The JSON Schemas of documents: documents that load are valid, and a sample of others is not.

use std::path::{Path, PathBuf};

use graph_core::diagnostic::Problems;
use graph_core::json::canonical_string;
use graph_core::schema::InputSchema;
use graph_core::work::Meter;
use graph_core::yaml;
use graph_host::document_kind::DocumentKind;
use serde_json::Value;

use crate::place::Place;

fn compiled(kind: DocumentKind) -> InputSchema {
    InputSchema::compile(&kind.schema(), &Meter::of_one_step()).unwrap()
}

fn is_valid(schema: &InputSchema, document: &Value) -> Result<(), String> {
    schema
        .validate_and_fill(document.clone(), &Meter::of_one_step())
        .map(|_| ())
        .map_err(|error| format!("{error:?}"))
}

fn read(path: &Path) -> Option<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    let problems = Problems::new();
    let root = yaml::parse(&text, &problems)?;
    (!problems.has_errors()).then(|| root.to_json())
}

/// Lists files below a folder with these endings.
fn files(folder: &str, ends: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder)];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.to_string_lossy().into_owned();
            if path.is_dir() {
                open.push(path);
            } else if ends.iter().any(|end| name.ends_with(end)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn every_case_that_loads_is_valid() {
    let schema = compiled(DocumentKind::Case);
    let (mut checked, mut refused, mut wrong) = (0, 0, Vec::new());
    for path in files("tests/cases", &[".case.yaml"]).into_iter().chain(files("examples", &[".case.yaml"])) {
        let text = std::fs::read_to_string(&path).unwrap();
        let Some(document) = read(&path) else { continue };
        // A case may show that its graph is refused: then the document is invalid, or valid and refused for its names.
        let shows_refusal = text.contains("invalid_document");
        match is_valid(&schema, &document) {
            Ok(()) => checked += 1,
            Err(_) if shows_refusal => refused += 1,
            Err(error) => wrong.push(format!("{}: {error}", path.display())),
        }
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
    assert!(checked > 500 && refused > 10, "{checked} valid, {refused} not");
}

#[test]
fn examples_and_templates_are_valid() {
    for (folder, ends, kind) in [
        ("examples", "/graph.yaml", DocumentKind::Graph),
        ("examples", "caps.yaml", DocumentKind::Manifest),
        ("examples", "trust.yaml", DocumentKind::Trust),
        ("host/cli/templates", "/graph/graph.yaml", DocumentKind::Graph),
        ("host/cli/templates", "/graph/caps.yaml", DocumentKind::Manifest),
        ("host/cli/templates", "/graph/case.yaml", DocumentKind::Case),
        ("host/cli/templates", "/graph/hooks.yaml", DocumentKind::Hooks),
    ] {
        let schema = compiled(kind);
        let found = files(folder, &[ends]);
        assert!(!found.is_empty(), "{folder} {ends}");
        for path in found {
            let document = read(&path).unwrap();
            if let Err(error) = is_valid(&schema, &document) {
                panic!("{}: {error}", path.display());
            }
        }
    }
}

#[test]
fn what_is_wrong_in_itself_is_not_valid() {
    let wrong = [
        (DocumentKind::Graph, "config: { start: a, nodes: { a: {} } }"),
        (DocumentKind::Graph, "{ tool_type: graph, config: { start: a, nodes: { a: { nxt: b } } } }"),
        (DocumentKind::Graph, "{ tool_type: graph, config: { start: a, nodes: { a: { type: retrun } } } }"),
        (DocumentKind::Graph, "{ tool_type: graph, config: { start: a, nodes: { a: { over: [] } } } }"),
        (DocumentKind::Graph, "{ tool_type: graph, config: { start: a, max_steps: 0, nodes: { a: {} } } }"),
        (DocumentKind::Graph, "{ tool_type: graph, config: { start: a, timeout: soon, nodes: { a: {} } } }"),
        (
            DocumentKind::Graph,
            "{ tool_type: graph, config: { start: a, channels: { x: add }, nodes: { a: {} } } }",
        ),
        (DocumentKind::Manifest, "dispatch: execute.tool.x"),
        (DocumentKind::Manifest, "limits: { fule: 3 }"),
        (DocumentKind::Manifest, "items: { a/b: { filesystem: [{ path: . }] } }"),
        (DocumentKind::Case, "graph: { start: a, nodes: { a: {} } }"),
        (DocumentKind::Case, "{ script: [{ run: { inptus: {} } }] }"),
        (DocumentKind::Hooks, "hooks: [{ event: eror, action: { retry: true } }]"),
        (DocumentKind::Trust, "keys: [{ name: a }]"),
        (DocumentKind::Trust, "keys: []\nrequire: [{ items: [a/b], threshold: 0, keys: [a] }]"),
    ];
    for (kind, text) in wrong {
        let document = yaml::parse(text, &Problems::new()).unwrap().to_json();
        assert!(is_valid(&compiled(kind), &document).is_err(), "{text}");
        let place = Place::new();
        place.write("wrong.yaml", text);
        let checked = place.run(&["validate", "--kind", kind.as_str(), "wrong.yaml"]);
        assert_eq!(checked.code, 3, "{text}\n{}", checked.shown());
    }
}

#[test]
fn schemas_are_printed_and_written() {
    let place = Place::new();
    for kind in DocumentKind::ALL {
        let (printed, code) = place.json(&["schema", kind.as_str()]);
        // Printed numbers have their canonical form.
        assert_eq!((code, canonical_string(&printed)), (0, canonical_string(&kind.schema())));
    }
    let written = place.run(&["schema", "--write", "schemas"]);
    assert_eq!(written.code, 0, "{}", written.shown());
    let text = std::fs::read_to_string(place.path("schemas/graph.schema.json")).unwrap();
    assert_eq!(text, DocumentKind::Graph.schema_text());
    assert!(
        written.stdout.contains("# yaml-language-server: $schema=schemas/graph.schema.json"),
        "{}",
        written.stdout
    );
}

#[test]
fn what_new_writes_names_its_schema() {
    let place = Place::new();
    assert_eq!(place.run(&["new", "graph", "first"]).code, 0);
    for file in ["graph.yaml", "caps.yaml", "first.case.yaml", ".ai/hooks.yaml"] {
        let path = place.path("first").join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        let schema =
            text.lines().next().and_then(|line| line.strip_prefix("# yaml-language-server: $schema="));
        assert!(path.parent().unwrap().join(schema.unwrap()).is_file(), "{file}: {schema:?}");
        let kind = DocumentKind::detect(&path, &text);
        assert!(is_valid(&compiled(kind), &read(&path).unwrap()).is_ok(), "{file}");
    }
}

#[test]
fn validate_says_which_kind_it_saw() {
    let place = Place::new();
    assert_eq!(place.run(&["new", "graph", "first"]).code, 0);
    place.write("trust.yaml", "version: 1\nkeys: []\n");
    let files = [
        "first/graph.yaml",
        "first/caps.yaml",
        "first/first.case.yaml",
        "first/.ai/hooks.yaml",
        "trust.yaml",
    ];
    let (checked, code) = place.json(&[&["validate"], &files[..]].concat());
    let kinds: Vec<_> =
        checked["files"].as_array().unwrap().iter().map(|file| file["kind"].as_str().unwrap()).collect();
    assert_eq!((code, kinds), (0, vec!["graph", "manifest", "case", "hooks", "trust"]));
    // The graph inside a case is checked with it.
    place.write("bad.case.yaml", "graph: { start: b, nodes: { a: {} } }\nscript: [{ run: }]\n");
    let bad = place.run(&["validate", "bad.case.yaml"]);
    assert!(bad.code == 3 && bad.stderr.contains("there is no node `b`"), "{}", bad.shown());
}

#[test]
fn keys_are_explained_with_the_nearest_for_a_typo() {
    let place = Place::new();
    let retry = place.run(&["explain", "retry"]);
    assert_eq!(retry.code, 0, "{}", retry.stderr);
    assert!(
        retry.stdout.contains("retry of a node") && retry.stdout.contains("retry of a control result"),
        "{}",
        retry.stdout
    );
    assert!(!place.run(&["explain", "node.retry"]).stdout.contains("control result"));
    assert!(place.run(&["explain", "send"]).stdout.contains("argument of a send"));
    let (entry, code) = place.json(&["explain", "channel.reducer"]);
    assert_eq!((code, entry["keys"][0]["of"].as_str()), (0, Some("channel")));
    // The value of a key is found by its key.
    assert!(place.run(&["explain", "foreach"]).stdout.contains("type of a node"));
    assert!(place.run(&["explain", "union"]).stdout.contains("reducer of a channel"));
    let typo = place.run(&["explain", "retyr"]);
    assert!(typo.code == 9 && typo.stderr.contains("did you mean `retry`?"), "{}", typo.shown());
}
