//! Tests that every row has a key that a loader reads, and that every key that a loader reads has a row.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::document::{load, load_hooks, load_snapshot};
use crate::graph::Graph;
use graph_core::capability::Manifest;
use graph_core::diagnostic::{Diagnostics, Problems, codes};
use graph_core::hook_event::HookLayer;
use graph_core::keys::*;
use graph_core::limits::{RunLimits, TaskLimits};
use graph_core::node::Category;
use graph_core::schema::InputSchema;
use graph_core::text_item::{TextFormat, read_text_item};
use graph_core::trust::TrustStore;
use graph_core::work::Meter;
use graph_core::yaml::asked;

/// Loads each sample, and returns the problems that name an unknown key, and the keys that readers asked for without a row.
fn unknown_keys(table: &'static KeyTable, load: impl Fn(&str) -> Option<Box<Diagnostics>>) -> Vec<String> {
    let mut found = Vec::new();
    let asked = asked::during(|| {
        for sample in samples(table) {
            let text = sample.to_string();
            let problems = load(&text).map(|problems| problems.to_lines()).unwrap_or_default();
            found.extend(problems.into_iter().filter(|line| line.contains(codes::UNKNOWN_KEY.id())));
        }
    });
    found.extend(
        asked
            .iter()
            .filter(|(.., has_row)| !has_row)
            .map(|(table, key, _)| format!("{table}.{key} has no row")),
    );
    let read: BTreeSet<_> = asked.iter().map(|(table, key, _)| (*table, *key)).collect();
    for table in reachable(&Shape::Table(table)) {
        // Conditions have a custom reader, which checks this table for every key.
        let unread = table.keys.iter().filter(|_| table.name != "condition");
        found.extend(
            unread
                .filter(|key| !read.contains(&(table.name, key.name)))
                .map(|key| format!("{}.{} is not read", table.name, key.name)),
        );
    }
    found
}

#[test]
fn a_key_that_belongs_one_level_below_is_told_where() {
    let help = |node: &str| -> String {
        let text = format!("tool_type: graph\nconfig: {{ start: a, nodes: {{ a: {node} }} }}\n");
        let problems = load("g", &text, "g").unwrap_err();
        problems.iter().filter_map(|problem| problem.help_text()).collect::<Vec<_>>().join("\n")
    };
    for (node, owner) in [
        ("{ type: ask, ask: { question: x }, choices: [a] }", "ask: { choices: … }"),
        ("{ max_attempts: 3 }", "retry: { max_attempts: … }"),
        ("{ params: {}, action: { item_id: a } }", "action: { params: … }"),
        ("{ when: { path: state.a }, next: a }", "next: { when: … }"),
    ] {
        assert!(help(node).contains(owner), "{node}: {}", help(node));
    }
    // No table one level below has the first key; the other is similar to a key of a node.
    assert!(help("{ colour: red }").contains("known keys: "));
    assert!(help("{ nxt: a }").contains("did you mean `next`?"));
}

#[test]
fn tables_and_loaders_agree() {
    let none: Vec<String> = Vec::new();
    assert_eq!(unknown_keys(&graph::TOOL, |text| load("g", text, "g").err()), none);
    assert_eq!(unknown_keys(&hooks::HOOKS, |text| load_hooks("h", text, HookLayer::Project).err()), none);
    assert_eq!(unknown_keys(&manifest::MANIFEST, |text| Manifest::parse(text, "m", "/m").err()), none);
    assert_eq!(unknown_keys(&trust::TRUST, |text| TrustStore::from_yaml("t", text).err()), none);
    let snapshot = |text: &str| load_snapshot(&serde_json::from_str(text).unwrap_or(Value::Null)).err();
    assert_eq!(unknown_keys(&graph::SNAPSHOT, snapshot), none);
    for (table, in_list) in [(&text::INPUT, true), (&text::NAMED_INPUT, false)] {
        let directive = |text: &str| {
            let inputs = if in_list { format!("[{text}]") } else { format!("{{\"n\": {text}}}") };
            let text = format!("---\ninputs: {inputs}\n---\ntext\n");
            read_text_item(graph_core::item::ItemType::Directive, TextFormat::Markdown, "d", &text).err()
        };
        assert_eq!(unknown_keys(table, directive), none);
    }
}

#[test]
fn names_in_tables_are_those_of_the_types() {
    let categories: BTreeSet<String> =
        Category::ALL.iter().flat_map(|it| [it.as_str().to_owned(), it.as_str().replace('-', "_")]).collect();
    assert_eq!(graph::CATEGORIES.map(str::to_owned).into_iter().collect::<BTreeSet<_>>(), categories);
    assert_eq!(graph::OPERATORS, graph_core::condition::Op::ALL.map(graph_core::condition::Op::as_str));
    assert_eq!(
        trust::KINDS,
        graph_core::capability::CapabilityKind::ALL.map(graph_core::capability::CapabilityKind::as_str)
    );
    assert_eq!(
        hooks::EVENTS[..6],
        graph_core::hook_event::HookEvent::ALL.map(graph_core::hook_event::HookEvent::as_str)
    );
}

/// Returns the defaults of a table of numbers, durations and sizes in the syntax of a manifest.
fn written(table: &KeyTable) -> String {
    let line = |key: &Key| match key.shape {
        Shape::Table(table) => Some(format!("{}: {{ {} }}", key.name, written(table))),
        // The limit on costs has no value for "no limit".
        _ if key.name == "cost" => None,
        _ => Some(format!("{}: {}", key.name, key.default.trim_matches('`'))),
    };
    table.keys.iter().filter_map(line).collect::<Vec<_>>().join(", ")
}

#[test]
fn defaults_are_those_of_the_loaders() {
    let text = format!(
        "limits: {{ {} }}\nrun: {{ {} }}\n",
        written(&manifest::TASK_LIMITS),
        written(&manifest::RUN_LIMITS)
    );
    let (manifest, _) = Manifest::parse(&text, "m", "/m").unwrap();
    assert_eq!(
        (manifest.limits_for("a/b"), manifest.run_limits()),
        (TaskLimits::DEFAULT, RunLimits::DEFAULT)
    );
    // A graph without settings, and one that states every default.
    let graph = |config: &str| {
        let text = format!("tool_type: graph\nconfig: {{ start: a, nodes: {{ a: {{}} }} {config} }}\n");
        load("g", &text, "g").map(|loaded| loaded.graph).unwrap()
    };
    let plain = |key: &&Key| {
        key.default.starts_with('`') && key.default.ends_with('`') && !key.default.contains(", ")
    };
    let lines = graph::CONFIG.keys.iter().filter(plain);
    let lines: Vec<String> =
        lines.map(|key| format!(", {}: {}", key.name, key.default.trim_matches('`'))).collect();
    assert!(lines.len() > 8, "{lines:?}");
    let shown = |graph: Graph| {
        let Graph { digest: _, document: _, .. } = &graph;
        format!(
            "{:?}",
            Graph {
                digest: graph_core::digest::Digest::from_bytes([0; 32]),
                document: Value::Null.into(),
                ..graph
            }
        )
    };
    assert_eq!(shown(graph(&lines.concat())), shown(graph("")));
}

#[test]
fn problems_are_gone_where_nothing_is_wrong() {
    // Guards `unknown_keys`: a key without a row has to be found.
    let problems = Problems::new();
    let root = graph_core::yaml::parse("{keyz: []}", &problems).unwrap();
    let fields = graph_core::yaml::Fields::open(&root, &trust::TRUST, "t", &problems).unwrap();
    fields.finish();
    assert_eq!(problems.len(), 1);
}

#[test]
fn schemas_are_schemas_and_take_what_the_tables_take() {
    for (document, table) in [
        (&graph::DOCUMENT, &graph::TOOL),
        (&hooks::DOCUMENT, &hooks::HOOKS),
        (&manifest::DOCUMENT, &manifest::MANIFEST),
        (&trust::DOCUMENT, &trust::TRUST),
    ] {
        let schema = json_schema(table.name, document);
        let compiled = InputSchema::compile(&schema, &Meter::of_one_step()).unwrap();
        for sample in samples(table) {
            compiled.validate_and_fill(sample, &Meter::of_one_step()).unwrap();
        }
        let mut wrong = samples(table).remove(0);
        wrong["no_such_key"] = json!(1);
        assert!(compiled.validate_and_fill(wrong, &Meter::of_one_step()).is_err(), "{}", table.name);
    }
}
