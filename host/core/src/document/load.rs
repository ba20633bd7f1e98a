//! The entrances: a graph tool file, a bare `config`, a snapshot.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::config;
use crate::diagnostic::{Diagnostic, Diagnostics, Problems, Span, codes};
use crate::graph::Graph;
use crate::json::digest;
use crate::schema::InputSchema;
use crate::work::Meter;
use crate::yaml::{self, Fields, Node, Yaml};

/// The executors whose graphs this host walks.
const EXECUTORS: [&str; 3] =
    ["graph-host", "rye/core/runtimes/state_graph_runtime", "rye/core/runtimes/state-graph/runtime"];

/// A graph document that can be used.
#[derive(Debug)]
pub struct Loaded {
    /// The graph.
    pub graph: Graph,
    /// What is doubtful about it.
    pub warnings: Diagnostics,
    /// The signature line at its top. It is recognised only; what it is worth is for `trust` to say.
    pub signature_line: Option<SignatureLine>,
}

/// A signature in a comment before the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureLine {
    /// Whose form it has.
    pub kind: SignatureKind,
    /// The line without its line break.
    pub text: String,
    /// Where it stands.
    pub span: Span,
}

/// Whose form a signature line has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureKind {
    /// `# graph-host:signed:…`.
    GraphHost,
    /// `# rye:signed:…`, which covers less and never establishes trust.
    Rye,
}

/// Reads a graph tool file. `source_name` is what messages call the file; `id` is the graph's item id, or the name of
/// its file.
pub fn load(source_name: &str, text: &str, id: &str) -> Result<Loaded, Box<Diagnostics>> {
    let problems = Problems::new();
    let graph = yaml::parse(text, &problems).and_then(|root| tool(&root, text, id, &problems));
    let (graph, warnings) = problems.finish(source_name, text, graph)?;
    Ok(Loaded { graph, warnings, signature_line: signature_line(text) })
}

/// Reads a bare `config` that stands in another document, whose text is `text`. `None` means that an error has been
/// reported; warnings are reported to the same place.
pub fn load_config(config: &Node, text: &str, id: &str, problems: &Problems) -> Option<Graph> {
    let graph = assemble(Parts { config, schema: None, description: None, order: None }, text, id, problems);
    graph.filter(|_| !problems.has_errors())
}

/// Reads back the [`Graph::document`] that a run keeps, whatever has become of the file since.
pub fn load_snapshot(document: &Value) -> Result<Graph, Box<Diagnostics>> {
    let problems = Problems::new();
    let root = Node::from_json(document);
    let graph = snapshot(&root, &problems);
    problems.finish("the run's snapshot of its graph", "", graph).map(|(graph, _)| graph)
}

fn snapshot(root: &Node, problems: &Problems) -> Option<Graph> {
    let mut fields = Fields::open(root, "the snapshot", problems)?;
    let id = fields.required("id").and_then(|node| node.text("`id`", problems));
    let config = fields.required("config");
    let order = fields.required("node_order").and_then(|node| node.texts("`node_order`", problems));
    let schema = fields.filled("config_schema");
    let description = fields.filled("description").and_then(|node| node.text("`description`", problems));
    fields.finish();
    let order: Vec<&str> = order?.into_iter().map(|(name, _)| name).collect();
    assemble(Parts { config: config?, schema, description, order: Some(&order) }, "", id?, problems)
}

/// The whole of a graph tool file.
fn tool(root: &Node, text: &str, id: &str, problems: &Problems) -> Option<Graph> {
    let mut fields = Fields::open(root, "a graph tool", problems)?;
    for key in ["version", "category"] {
        if let Some(node) = fields.filled(key)
            && !matches!(node.value, Yaml::Text(_) | Yaml::Number(_))
        {
            node.wrong_type(format!("`{key}`"), "a text", problems);
        }
    }
    if let Some(node) = fields.required("tool_type")
        && node.text("`tool_type`", problems).is_some_and(|text| text != "graph")
    {
        let problem = Diagnostic::error(codes::NOT_A_GRAPH, node.span, "the document is not a graph tool");
        problems.push(problem.label("expected `graph`"));
    }
    if let Some(node) = fields.filled("executor_id")
        && let Some(executor) = node.text("`executor_id`", problems)
        && !EXECUTORS.contains(&executor)
    {
        let problem =
            Diagnostic::error(codes::NOT_A_GRAPH, node.span, "the graph is written for another executor");
        problems.push(problem.help(format!("known: {}; the key can also be left out", EXECUTORS.join(", "))));
    }
    let description = fields.filled("description").and_then(|node| node.text("`description`", problems));
    if let Some(entry) = fields.entry("permissions") {
        super::later::warn(
            entry.key.span,
            "`permissions`",
            Some("a graph grants itself nothing: what it may use is said in the capability manifest"),
            problems,
        );
    }
    let schema = fields.filled("config_schema");
    let config = fields.required("config");
    fields.finish();
    assemble(Parts { config: config?, schema, description, order: None }, text, id, problems)
}

#[derive(Clone, Copy)]
struct Parts<'n> {
    config: &'n Node,
    schema: Option<&'n Node>,
    description: Option<&'n str>,
    /// The order of the nodes, where the document does not say it itself.
    order: Option<&'n [&'n str]>,
}

fn assemble(parts: Parts<'_>, text: &str, id: &str, problems: &Problems) -> Option<Graph> {
    let input_schema = parts.schema.map(Node::to_json);
    if let (Some(node), Some(schema)) = (parts.schema, &input_schema) {
        check_schema(node, schema, problems);
    }
    let mut graph = config::lower(parts.config, parts.order, text, problems)?;
    // The order of nodes decides the order of tasks, and JSON objects have none: it is a part of what is digested.
    let order: Vec<&str> = graph.nodes.iter().map(|node| node.name.as_str()).collect();
    let mut document = Map::new();
    document.insert("id".to_owned(), json!(id));
    document.insert("config".to_owned(), parts.config.to_json());
    document.insert("config_schema".to_owned(), input_schema.clone().unwrap_or(Value::Null));
    document.insert("node_order".to_owned(), json!(order));
    let digest = digest("graph-host/graph/v1", &Value::Object(document.clone()));
    if let Some(description) = parts.description {
        document.insert("description".to_owned(), json!(description));
    }
    id.clone_into(&mut graph.id);
    graph.digest = digest;
    graph.document = Arc::new(Value::Object(document));
    graph.description = parts.description.map(str::to_owned);
    graph.input_schema = input_schema;
    Some(graph)
}

fn check_schema(node: &Node, schema: &Value, problems: &Problems) {
    for error in InputSchema::compile(schema, &Meter::of_one_step()).err().into_iter().flatten() {
        let place = node.descend(&error.pointer).span.first_line();
        let message = format!("`config_schema` is not a usable JSON Schema: {}", error.message);
        problems.push(Diagnostic::error(codes::SCHEMA_INVALID, place, message));
    }
}

/// The first signature among the comments before the document.
fn signature_line(text: &str) -> Option<SignatureLine> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let shown = line.trim_end();
        let comment = shown.trim_start_matches('\u{feff}');
        if !comment.is_empty() && !comment.starts_with('#') {
            return None;
        }
        let said = comment.trim_start_matches('#').trim_start();
        let kind = if said.starts_with("graph-host:signed:") {
            Some(SignatureKind::GraphHost)
        } else if said.starts_with("rye:signed:") {
            Some(SignatureKind::Rye)
        } else {
            None
        };
        if let Some(kind) = kind {
            let span = Span::locate(text, start, start + shown.len());
            return Some(SignatureLine { kind, text: shown.to_owned(), span });
        }
        start += line.len();
    }
    None
}
