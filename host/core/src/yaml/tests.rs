#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::diagnostic::{Diagnostics, Problems};
use crate::keys::{Key, KeyTable, Shape};

fn read(text: &str) -> (Option<Node>, Diagnostics) {
    let problems = Problems::new();
    let node = parse(text, &problems);
    (node, problems.into_diagnostics("test.yaml", text))
}

fn clean(text: &str) -> Node {
    let (node, diagnostics) = read(text);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    node.unwrap()
}

/// Returns the codes and places of all problems, one line each.
fn lines(text: &str) -> Vec<String> {
    read(text)
        .1
        .iter()
        .map(|problem| format!("{} {}:{}", problem.code(), problem.span().line, problem.span().column))
        .collect()
}

#[test]
fn values_of_the_core_schema() {
    let text = r#"
a: 1
b: 18446744073709551615
c: -1.5e3
d: [true, False, ~, null, Null, "true", 'null', plain text]
e: { x: , y: "" }
f: |
  two
  lines
g: >-
  folded
  text
h: 2001-01-01
i: 1_000
"#;
    assert_eq!(
        clean(text).to_json(),
        serde_json::json!({
            "a": 1, "b": u64::MAX, "c": -1500.0,
            "d": [true, false, null, null, null, "true", "null", "plain text"],
            "e": {"x": null, "y": ""},
            "f": "two\nlines\n", "g": "folded text", "h": "2001-01-01", "i": "1_000"
        })
    );
}

#[test]
fn spans_are_bytes_lines_and_columns() {
    let text = "# é\nkeyé: wert é\nliste:\n  - \"zwölf\"\n  - {a: b}\nend: 1\n";
    let root = clean(text);
    let mapping = root.as_mapping().unwrap();
    let at = |span: crate::diagnostic::Span| (&text[span.start..span.end], span.line, span.column);
    assert_eq!(at(mapping.entries[0].key.span), ("keyé", 2, 1));
    assert_eq!(at(mapping.entries[0].value.span), ("wert é", 2, 7));
    let list = mapping.entries[1].value.as_list().unwrap();
    assert_eq!(at(list[0].span), ("\"zwölf\"", 4, 5));
    assert_eq!(at(list[1].span), ("{a: b}", 5, 5));
    assert_eq!(at(mapping.entries[1].value.span).0, "- \"zwölf\"\n  - {a: b}");
    assert_eq!(at(mapping.entries[2].value.span), ("1", 6, 6));
}

#[test]
fn places_inside_texts() {
    let text = "a: x ${é.b} y\nb: 'it''s ${q}'\nc: \"\\\"é\\\" ${q}\"\nd: |\n  one\n  two ${q}\ne: >-\n  one\n  two ${q}\nf: \"\\u0041${q}\"\n";
    let root = clean(text);
    for key in ["b", "c", "d", "e"] {
        let node = root.descend([key]);
        let offset = node.as_text().unwrap().find("${q}").unwrap();
        let span = node.span_inside(text, offset, 4);
        assert_eq!(&text[span.start..span.end], "${q}", "{key}");
    }
    let node = root.descend(["a"]);
    let span = node.span_inside(text, 2, 7);
    assert_eq!((&text[span.start..span.end], span.line, span.column), ("${é.b}", 1, 6));
    let node = root.descend(["f"]);
    assert_eq!(node.span_inside(text, 1, 4), node.span, "an escape hides where its text stands");
}

#[test]
fn what_reads_differently_elsewhere_is_refused_or_warned_about() {
    assert_eq!(lines("a: 1\nb: 2\na: 3\n"), ["GH0103 3:1"]);
    assert_eq!(lines("1: a\n? [x]\n: b\ntrue: c\n"), ["GH0104 1:1", "GH0104 2:3", "GH0104 4:1"]);
    assert_eq!(lines("a: !!python/object x\nb: !local [1]\n").len(), 2);
    assert_eq!(lines("a: &a {x: 1}\nb:\n  <<: *a\n"), ["GH0107 3:3"]);
    assert_eq!(
        lines("a: .inf\nb: 99999999999999999999\nc: 1e999\n"),
        ["GH0108 1:4", "GH0108 2:4", "GH0108 3:4"]
    );
    assert_eq!(
        lines("a: [yes, No, ON, off, \"no\"]\n"),
        ["GH0109 1:5", "GH0109 1:10", "GH0109 1:14", "GH0109 1:18"]
    );
    assert_eq!(lines("a: 1\n---\nb: 2\n"), ["GH0110 2:1"]);
    assert_eq!(lines("a: \u{1b}[31m\n"), ["GH0111 1:4"]);
    assert_eq!(lines("# nothing\n"), ["GH0112 1:1"]);
    assert_eq!(lines(""), ["GH0112 1:1"]);
    assert_eq!(lines("a:\n  __proto__: 1\n"), ["GH0113 2:3"]);
    assert_eq!(lines("a: &a [1, *a]\n"), ["GH0106 1:11"]);
    assert_eq!(lines("a: *b\n").len(), 1);
    assert_eq!(lines("a:\n\tb: 1\n").len(), 1);
}

#[test]
fn tags_of_the_core_schema_are_understood() {
    assert_eq!(
        clean("{a: !!str 1, b: !!int 2, c: !!float 3, d: !!map {}, e: !!seq [], f: ! 4}").to_json(),
        serde_json::json!({"a": "1", "b": 2, "c": 3.0, "d": {}, "e": [], "f": "4"})
    );
    assert_eq!(lines("a: !!int x\n").len(), 1);
}

#[test]
fn aliases_are_resolved() {
    let root = clean("a: &a {x: [1, 2]}\nb: *a\nc: [*a]\n");
    assert_eq!(root.to_json()["c"][0]["x"][1], 2);
    assert_eq!(root.descend(["b"]).span.line, 2);
}

#[test]
fn hostile_texts_are_refused_in_bounded_time() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..20 {
        let alias = format!("*a{}, ", level - 1).repeat(10);
        writeln!(bomb, "a{level}: &a{level} [{alias}]").unwrap();
    }
    let long_text = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), "*a, ".repeat(10_000));
    let nested_anchors = format!("{}x{}", "&a [".repeat(60), "]".repeat(60));
    let cases = [
        ("alias bomb", bomb, Some("GH0102")),
        ("long text by alias", long_text, Some("GH0102")),
        ("nesting in flow", "[".repeat(10_000), Some("GH0102")),
        ("nesting of mappings in flow", "{a: ".repeat(10_000), Some("GH0102")),
        ("nesting in block", "- ".repeat(10_000), Some("GH0102")),
        (
            "nesting by indentation",
            (0..10_000).map(|at| format!("{}a:\n", " ".repeat(at))).collect::<Vec<_>>().concat(),
            Some("GH0102"),
        ),
        ("nine megabytes", "a: b\n".repeat(2_000_000), Some("GH0102")),
        ("many values", "- x\n".repeat(2_000_000), Some("GH0102")),
        (
            "many keys",
            (0..800_000).map(|at| format!("k{at:x}:\n")).collect::<Vec<_>>().concat(),
            Some("GH0102"),
        ),
        ("one key, many times", "a: 1\n".repeat(90_000), Some("GH0103")),
        ("unclosed quote", format!("a: \"{}", "x\n".repeat(3_000_000)), Some("GH0101")),
        ("complex keys", "? ".repeat(100_000), None),
        ("colons", ":".repeat(4_000_000), None),
        ("long plain text", format!("a: {}", "word ".repeat(1_500_000)), None),
        ("many anchors", "- &a x\n".repeat(99_000), None),
        ("anchors in anchors", nested_anchors, None),
        ("many tags", "- !!str x\n".repeat(150_000), None),
        ("blank lines", "\n".repeat(8_000_000), Some("GH0112")),
        ("comments", "# x\n".repeat(2_000_000), Some("GH0112")),
    ];
    for (name, text, expected) in cases {
        let start = Instant::now();
        let (_, diagnostics) = read(&text);
        let took = start.elapsed();
        assert!(took < Duration::from_secs(10), "{name} took {took:?}");
        if let Some(expected) = expected {
            let first = diagnostics.iter().next().unwrap_or_else(|| panic!("{name} was read"));
            assert_eq!(first.code().id(), expected, "{name}: {}", first.message());
            assert!(first.span().is_known(), "{name}");
        }
        assert!(diagnostics.len() <= Problems::MOST + 1, "{name}");
    }
}

static EXAMPLE: KeyTable = KeyTable {
    name: "example",
    title: "the example",
    keys: &[
        Key::new("name", Shape::Text(""), "A text"),
        Key::new("retries", Shape::Integer(1, 5), "An integer"),
        Key::new("timeout", Shape::Duration, "A duration"),
        Key::new("memory", Shape::Size, "A size"),
        Key::new("mode", Shape::Words(&["fast", "slow"]), "A choice"),
        Key::new("list", Shape::List(&Shape::Text("")), "A list"),
        Key::new("n", Shape::Integer(0, 10), "Another integer"),
        Key::new("missing", Shape::Any, "A key that is not there").required(),
    ],
};

#[test]
fn fields_report_everything_at_once() {
    let text = "name: 3\nretires: 2\ntimeout: 5 minutes\nmemory: lots\nmode: fsat\nlist: [a, 1]\nn: 11\n";
    let problems = Problems::new();
    let root = parse(text, &problems).unwrap();
    let mut fields = Fields::open(&root, &EXAMPLE, "the example", &problems).unwrap();
    assert_eq!(fields.text("name"), None);
    assert_eq!(fields.u64("retries", 1..=5), None);
    assert_eq!(fields.duration("timeout"), None);
    assert_eq!(fields.size("memory"), None);
    assert_eq!(fields.choice("mode", &[("fast", 1), ("slow", 2)]), None);
    assert_eq!(fields.texts("list").unwrap().len(), 1);
    assert_eq!(fields.u64("n", 0..=10), None);
    assert!(fields.required("missing").is_none());
    fields.finish();
    insta::assert_snapshot!(problems.into_diagnostics("example.yaml", text).to_lines().join("\n"));
}

#[test]
fn places_on_a_long_line_are_in_characters() {
    let text = "é: [ä, \"ö\", ü]\nb: {c: é, d: 1}";
    let (node, _) = read(text);
    let node = node.unwrap();
    let column = |path: &[&str]| {
        let span = node.descend(path).span;
        (span.line, span.column, &text[span.start..span.end])
    };
    assert_eq!(column(&["é", "1"]), (1, 8, "\"ö\""));
    assert_eq!(column(&["é", "2"]), (1, 13, "ü"));
    assert_eq!(column(&["b", "d"]), (2, 14, "1"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in "(?s).{0,200}") {
        check(&text);
    }

    #[test]
    fn any_text_of_yaml_marks_is_read_or_refused(
        text in proptest::collection::vec(prop::sample::select(vec![
            "a", "é", "- ", "? ", ": ", ":", "\n", "  ", "    ", "\t", "[", "]", "{", "}", ",", "&a ", "*a", "!", "!!str ",
            "|", ">", "|2-\n", "'", "\"", "\\", "#", " #", "%", "---", "...", "\r\n", "\r", "<<", "1", "\u{feff}", "~", "@", "`", "%YAML 1.2\n",
        ]), 0..60)
    ) {
        check(&text.concat());
    }
}

fn check(text: &str) {
    let (node, diagnostics) = read(text);
    assert!(node.is_some() || diagnostics.has_errors(), "{text:?}");
    for problem in diagnostics.iter() {
        let span = problem.span();
        assert!(span.is_known() && text.get(span.start..span.end).is_some(), "{text:?}: {span:?}");
    }
    if let Some(node) = node {
        check_spans(&node, text);
    }
}

fn check_spans(node: &Node, text: &str) {
    assert!(text.get(node.span.start..node.span.end).is_some(), "{text:?}: {node:?}");
    match &node.value {
        Yaml::List(items) => items.iter().for_each(|item| check_spans(item, text)),
        Yaml::Mapping(mapping) => mapping.iter().for_each(|entry| check_spans(&entry.value, text)),
        Yaml::Text(value) => {
            for offset in 0..=value.value.len() {
                let span = node.span_inside(text, offset, 1);
                assert!(text.get(span.start..span.end).is_some(), "{text:?}: {node:?}");
            }
        }
        _ => {}
    }
}
