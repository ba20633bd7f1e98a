//! Loads a graph from a graph tool file, a bare `config`, or a snapshot.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::ask::compiled;
use super::config;
use crate::compat::{Dialect, rye};
use crate::graph::{Graph, NodeKind};
use crate::parameters;
use graph_core::diagnostic::{Diagnostic, Diagnostics, Problems, Span, codes, excerpt};
use graph_core::digest::Digest;
use graph_core::json::digest;
use graph_core::policy::OnItemError;
use graph_core::schema::InputMarks;
use graph_core::work::CompileBudget;
use graph_core::yaml::{Fields, Node, Yaml};
use graph_core::{keys, yaml};

/// The key that selects the dialect.
const EXECUTOR: &str = "executor_id";

/// A valid graph document.
#[derive(Debug)]
pub struct LoadedGraph {
    /// The graph, with names resolved; the walker needs nothing else.
    pub graph: Graph,
    /// The warnings of the document.
    pub warnings: Diagnostics,
    /// The signature line at its top. It is only recognised here; `trust` verifies it.
    pub signature_line: Option<SignatureLine>,
}

/// A signature in a comment before the document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureLine {
    /// The format of the line.
    pub kind: SignatureKind,
    /// The line without its line break.
    pub text: String,
    /// The position of the line in the text.
    pub span: Span,
}

/// The format of a signature line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureKind {
    /// A line of graph-host's: `# graph-host:signed:…`.
    GraphHost,
    /// `# rye:signed:…`, which covers less and never establishes trust.
    Rye,
}

/// Reads a graph tool file. `source_name` is the file's name in messages; `id` is the graph's item id, or the name of its file.
pub fn load(source_name: &str, text: &str, id: &str) -> Result<LoadedGraph, Box<Diagnostics>> {
    load_within(source_name, text, id, &CompileBudget::of_file())
}

/// Reads a graph tool file like [`load`]. The cost of compiling its patterns and schemas is charged to a budget: if the budget was
/// exceeded, the result is not valid ([`CompileBudget::refused`]).
pub fn load_within(
    source_name: &str,
    text: &str,
    id: &str,
    compiling: &CompileBudget<'_>,
) -> Result<LoadedGraph, Box<Diagnostics>> {
    let problems = Problems::new();
    let graph = yaml::parse(text, &problems).and_then(|root| tool(&root, text, id, compiling, &problems));
    let (graph, warnings) = problems.finish(source_name, text, graph)?;
    Ok(LoadedGraph { graph, warnings, signature_line: signature_line(text) })
}

/// Reads a bare `config` in another document, whose text is `text`. Returns `None` after reporting an error; warnings are also added to
/// `problems`.
pub fn load_config(
    config: &Node,
    text: &str,
    id: &str,
    dialect: Dialect,
    problems: &Problems,
) -> Option<Graph> {
    let compiling = CompileBudget::of_file();
    let parts = DocumentParts {
        config,
        schema: None,
        description: None,
        order: None,
        dialect,
        compiling: &compiling,
    };
    let graph = assemble(parts, text, id, problems);
    graph.filter(|_| !problems.has_errors())
}

/// Reads a [`Graph::document`] that a run stores, independent of the present file.
pub fn load_snapshot(document: &Value) -> Result<Graph, Box<Diagnostics>> {
    let problems = Problems::new();
    let root = Node::from_json(document);
    let graph = snapshot(&root, &problems);
    problems.finish("the run's snapshot of its graph", "", graph).map(|(graph, _)| graph)
}

fn snapshot(root: &Node, problems: &Problems) -> Option<Graph> {
    let mut fields = Fields::open(root, &keys::graph::SNAPSHOT, "the snapshot", problems)?;
    let id = fields.required("id").and_then(|node| node.text("`id`", problems));
    let config = fields.required("config");
    let order = fields.required("node_order").and_then(|node| node.texts("`node_order`", problems));
    let schema = fields.filled("config_schema");
    let description = fields.filled("description").and_then(|node| node.text("`description`", problems));
    // A run that was started before documents contained their dialect continues in this host's.
    let dialect = executor(&mut fields, problems);
    fields.finish();
    let order: Vec<&str> = order?.into_iter().map(|(name, _)| name).collect();
    let compiling = CompileBudget::of_file();
    let order = Some(&*order);
    let parts = DocumentParts { config: config?, schema, description, order, dialect, compiling: &compiling };
    assemble(parts, "", id?, problems)
}

/// Reads a whole graph tool file.
fn tool(
    root: &Node,
    text: &str,
    id: &str,
    compiling: &CompileBudget<'_>,
    problems: &Problems,
) -> Option<Graph> {
    let mut fields = Fields::open(root, &keys::graph::TOOL, "a graph tool", problems)?;
    for key in ["version", "category"] {
        if let Some(node) = fields.filled(key)
            && !matches!(node.value, Yaml::Text(_) | Yaml::Number(_))
        {
            node.wrong_type(format!("`{key}`"), "a text", problems);
        }
    }
    if let Some(node) = fields.required("tool_type")
        && let Some(kind) = node.text("`tool_type`", problems).filter(|text| *text != "graph")
    {
        let problem = Diagnostic::error(codes::NOT_A_GRAPH, node.span, "the document is not a graph");
        problems.push(problem.label("expected `graph`").help(format!(
            "a tool of the kind `{}` is carried out by a runtime of Rye's, which graph-host does not have: it runs graphs and components. \
             Write a component that does the same, or let a node run a script with rye/bash/bash",
            excerpt(kind)
        )));
        // The remaining keys belong to another kind of document.
        return None;
    }
    let dialect = executor(&mut fields, problems);
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
    let parts = DocumentParts { config: config?, schema, description, order: None, dialect, compiling };
    assemble(parts, text, id, problems)
}

/// Reads `executor_id`: the dialect of the graph.
fn executor(fields: &mut Fields<'_>, problems: &Problems) -> Dialect {
    let Some(node) = fields.filled(EXECUTOR) else { return Dialect::default() };
    let Some(executor) = node.text("`executor_id`", problems) else { return Dialect::default() };
    Dialect::of_executor(executor).unwrap_or_else(|| {
        let problem =
            Diagnostic::error(codes::NOT_A_GRAPH, node.span, "the graph is written for another executor");
        let known = Dialect::EXECUTORS.map(|(executor, _)| executor).join(", ");
        problems.push(problem.help(format!("known: {known}; the key can also be left out")));
        Dialect::default()
    })
}

#[derive(Clone, Copy)]
struct DocumentParts<'n> {
    config: &'n Node,
    schema: Option<&'n Node>,
    description: Option<&'n str>,
    /// The order of the nodes, if the document does not define it.
    order: Option<&'n [&'n str]>,
    dialect: Dialect,
    /// The budget for compiling its patterns and schemas.
    compiling: &'n CompileBudget<'n>,
}

fn assemble(parts: DocumentParts<'_>, text: &str, id: &str, problems: &Problems) -> Option<Graph> {
    let input_schema = parts.schema.map(Node::to_json);
    if let (Some(node), Some(schema)) = (parts.schema, &input_schema) {
        check_schema(node, schema, parts.compiling, problems);
    }
    let inputs = input_schema.as_ref().and_then(|schema| names_of_inputs(schema, parts.dialect));
    let mut graph = config::lower(parts.config, parts.order, inputs, (text, parts.compiling), problems)?;
    // The order of nodes determines the order of tasks, and JSON objects are unordered: so it is digested separately.
    let order: Vec<&str> = graph.nodes.iter().map(|node| node.name.as_str()).collect();
    let mut document = Map::new();
    document.insert("id".to_owned(), json!(id));
    document.insert("config".to_owned(), parts.config.to_json());
    document.insert("config_schema".to_owned(), input_schema.clone().unwrap_or(Value::Null));
    document.insert("node_order".to_owned(), json!(order));
    if parts.dialect != Dialect::default() {
        document.insert(EXECUTOR.to_owned(), json!(parts.dialect.executor()));
    }
    let digest = document_digest(&Value::Object(document.clone()));
    if let Some(description) = parts.description {
        document.insert("description".to_owned(), json!(description));
    }
    id.clone_into(&mut graph.id);
    graph.dialect = parts.dialect;
    if parts.dialect == Dialect::Rye {
        graph.built_in_hooks = rye::built_in_hooks();
        rye::take_other_names(&mut graph);
    }
    for node in &mut graph.nodes {
        let handles = node.on_error.is_some();
        if let NodeKind::Foreach(foreach) = &mut node.kind {
            foreach.keeps_failures &= !handles && parts.dialect.collects_failures();
            if foreach.keeps_failures {
                foreach.on_item_error = OnItemError::KeepError;
            }
        }
    }
    graph.digest = digest;
    graph.document = Arc::new(Value::Object(document));
    graph.description = parts.description.map(str::to_owned);
    if let (Some(node), Some(schema)) = (parts.schema, &input_schema) {
        graph.marks = marks_of(node, schema, problems);
    }
    graph.input_schema = input_schema;
    Some(graph)
}

/// Returns the digest of a graph from its stored document: [`Graph::digest`]. The description, which is for people, is left out.
pub fn document_digest(document: &Value) -> Digest {
    match document.as_object().filter(|document| document.contains_key("description")) {
        Some(described) => {
            let mut document = described.clone();
            document.remove("description");
            digest("graph-host/graph/v1", &Value::Object(document))
        }
        None => digest("graph-host/graph/v1", document),
    }
}

impl Graph {
    /// Checks whether a run with this graph digest was started with this document. A run of a graph of Rye's that was started before
    /// documents contained their dialect continues in its original dialect.
    pub fn is_document_of(&self, kept: &Digest) -> bool {
        let before_dialects = || {
            let mut document = Value::clone(&self.document);
            if let Value::Object(document) = &mut document {
                document.remove(EXECUTOR);
                document.remove("description");
            }
            digest("graph-host/graph/v1", &document)
        };
        self.digest == *kept || (self.dialect != Dialect::default() && before_dialects() == *kept)
    }
}

/// Returns the names of the inputs if the schema is closed.
fn names_of_inputs(schema: &Value, dialect: Dialect) -> Option<BTreeSet<String>> {
    const OTHERS: [&str; 6] =
        ["patternProperties", "unevaluatedProperties", "$ref", "allOf", "anyOf", "oneOf"];
    let schema = schema.as_object()?;
    let is_open = schema.get("additionalProperties").is_some_and(|others| *others != Value::Bool(false));
    if is_open || OTHERS.iter().any(|key| schema.contains_key(*key)) {
        return None;
    }
    let names = schema.get("properties")?.as_object()?.keys().cloned();
    Some(names.chain(parameters::names(dialect).map(str::to_owned)).collect())
}

fn check_schema(node: &Node, schema: &Value, compiling: &CompileBudget<'_>, problems: &Problems) {
    for error in compiled(schema, compiling).err().into_iter().flatten() {
        let place = node.descend(&error.pointer).span.first_line();
        let message = format!("`config_schema` is not a usable JSON Schema: {}", error.message);
        problems.push(Diagnostic::error(codes::SCHEMA_INVALID, place, message));
    }
}

/// Reads the inputs that the schema marks for the host. Rules at places that are not read are a problem: they would have no effect.
fn marks_of(node: &Node, schema: &Value, problems: &Problems) -> InputMarks {
    let marks = InputMarks::from_schema(schema);
    if let Some(place) = &marks.elsewhere {
        let place = node.descend(place).span.first_line();
        let message = "`config_schema` marks rules, tools or `approvals-above` where they are not read";
        let problem = Diagnostic::error(codes::SCHEMA_INVALID, place, message);
        problems.push(
            problem
                .help("mark inputs as a whole, as `properties: { approvals: { format: approvals } }` does"),
        );
    }
    marks
}

/// Finds the first signature among the comments before the document.
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
