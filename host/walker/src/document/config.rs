//! The keys of `config`.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::scope::{DocumentReader, IN_OUTPUT, IN_START};
use super::{bounds, check, hooks, node, revisit};
use crate::compat::Dialect;
use crate::graph::{Channel, Graph, GraphNames, NodeIndex, StartTarget};
use graph_core::diagnostic::{Diagnostic, Problems, codes};
use graph_core::digest::Digest;
use graph_core::hook_event::HookLayer;
use graph_core::policy::{
    Durability, OnError, OnMaxSteps, OnNoMatch, OnStalledBarrier, Reducer, TemplateMode,
};
use graph_core::schema::InputMarks;
use graph_core::work::CompileBudget;
use graph_core::yaml::{Fields, Mapping, MappingEntry, Node, Yaml};
use graph_core::{id, keys};

/// Default of the largest number of supersteps of a run and its child runs together, unless `max_steps` is larger.
const LEAST_TOTAL_STEPS: u64 = 1_000;
/// Largest number of characters of a graph's name.
const MOST_NAME: usize = 120;

/// Reads a `config`. The caller sets the graph's id, digest, schema and dialect; `inputs` are the names of all inputs, if the schema is
/// closed. If the result is `None`, or an error was reported, the `config` cannot be used.
pub(super) fn lower(
    config: &Node,
    order: Option<&[&str]>,
    inputs: Option<BTreeSet<String>>,
    (text, compiling): (&str, &CompileBudget<'_>),
    problems: &Problems,
) -> Option<Graph> {
    let mut fields = Fields::open(config, &keys::graph::CONFIG, "`config`", problems)?;
    let entries = fields
        .required("nodes")
        .and_then(|nodes| nodes.mapping("`nodes`", problems))
        .map(|nodes| ordered(nodes, order))
        .unwrap_or_default();
    let channel_entries = fields.filled("channels").and_then(|node| node.mapping("`channels`", problems));
    let read = reader(&entries, channel_entries, order.is_some(), (text, compiling), problems);
    let mut reader = DocumentReader { inputs, ..read };

    let name = fields.filled("name").and_then(|node| name(node, problems));
    reader.retry = fields.filled("retry").and_then(|node| node::retry(node, &reader));
    reader.feedback = fields.filled("revisit").is_some_and(|node| revisit::read(node, problems));
    let start = fields.required("start").map(|node| start(node, &reader)).unwrap_or_default();
    let channels: Vec<_> =
        channel_entries.into_iter().flatten().filter_map(|entry| channel(entry, &reader)).collect();
    let folding = channels.iter().filter(|channel| channel.reducer.folds());
    reader.folding = folding.map(|channel| channel.name.clone()).collect();
    let limits = fields.filled("limits").map(|node| bounds::of_graph(node, problems)).unwrap_or_default();
    let max_steps = fields.u64("max_steps", 1..=u64::MAX).unwrap_or(100);
    let mut graph = Graph {
        id: String::new(),
        digest: Digest::from_bytes([0; 32]),
        document: Arc::new(Value::Null),
        description: None,
        name,
        dialect: Dialect::default(),
        input_schema: None,
        marks: InputMarks::default(),
        start,
        nodes: Vec::new(),
        channels,
        max_steps,
        on_max_steps: fields.choice("on_max_steps", OnMaxSteps::CHOICES).unwrap_or_default(),
        on_error: fields.choice("on_error", OnError::CHOICES).unwrap_or_default(),
        on_no_match: fields.choice("on_no_match", OnNoMatch::CHOICES).unwrap_or_default(),
        on_stalled_barrier: fields
            .choice("on_stalled_barrier", OnStalledBarrier::CHOICES)
            .unwrap_or_default(),
        max_concurrency: fields
            .u64("max_concurrency", 1..=u64::from(u32::MAX))
            .and_then(|value| u32::try_from(value).ok()),
        max_fan_out: fields.u64("max_fan_out", 1..=10_000_000).unwrap_or(100_000),
        // A larger `max_steps` also raises the limit of the whole run.
        max_total_steps: fields
            .u64("max_total_steps", 1..=u64::MAX)
            .unwrap_or_else(|| max_steps.max(LEAST_TOTAL_STEPS)),
        max_visits_per_node: fields.u64("max_visits_per_node", 1..=u64::MAX),
        timeout: bounds::positive(fields.get("timeout"), "`timeout`", problems)
            .unwrap_or(Duration::from_mins(10)),
        durability: fields.choice("durability", Durability::CHOICES).unwrap_or_default(),
        templates: fields.choice("templates", TemplateMode::CHOICES).unwrap_or_default(),
        limits,
        output: fields.get("output").and_then(|node| reader.template(node, IN_OUTPUT, None)),
        hooks: fields
            .filled("hooks")
            .map(|node| hooks::list(node, HookLayer::Graph, &reader))
            .unwrap_or_default(),
        built_in_hooks: Vec::new(),
        names: GraphNames::default(),
    };
    fields.finish();
    let lowered: Vec<_> = entries.iter().map(|entry| node::lower(entry, &reader)).collect();
    graph.nodes = lowered.into_iter().collect::<Option<_>>()?;
    graph.names = GraphNames::new(&graph.nodes, &graph.channels);
    if !problems.has_errors() {
        check::whole(&graph, &entries, problems);
    }
    Some(graph)
}

/// Returns the entries of `nodes` in document order, or in the order of a snapshot.
fn ordered<'n>(nodes: &'n Mapping, order: Option<&[&str]>) -> Vec<&'n MappingEntry> {
    let mut entries: Vec<_> = nodes.iter().collect();
    if let Some(order) = order {
        let places: BTreeMap<&str, usize> = order.iter().enumerate().map(|(at, name)| (*name, at)).collect();
        entries.sort_by_key(|entry| places.get(entry.key.name.as_str()).copied().unwrap_or(usize::MAX));
    }
    entries
}

fn reader<'n>(
    entries: &[&'n MappingEntry],
    channels: Option<&'n Mapping>,
    is_snapshot: bool,
    (text, compiling): (&'n str, &'n CompileBudget<'n>),
    problems: &'n Problems,
) -> DocumentReader<'n> {
    let mut names = BTreeMap::new();
    let mut barriers = BTreeSet::new();
    let mut keys: BTreeSet<&str> =
        channels.into_iter().flatten().map(|entry| entry.key.name.as_str()).collect();
    for (index, entry) in (0..).map(NodeIndex).zip(entries) {
        names.insert(entry.key.name.as_str(), index);
        if let Err(error) = id::check_node_name(&entry.key.name) {
            let message = format!(
                "a node cannot be called `{}`: {error}",
                graph_core::diagnostic::excerpt(&entry.key.name)
            );
            problems.push(Diagnostic::error(codes::BAD_NODE_NAME, entry.key.span, message));
        } else if !is_snapshot && id::RESERVED_NODES.contains(&entry.key.name.as_str()) {
            let message = format!("the node name `{}` is reserved", entry.key.name);
            let problem = Diagnostic::error(codes::BAD_NODE_NAME, entry.key.span, message);
            problems.push(problem.help(
                "`start` says where a run begins, and `to: __end__` ends a branch without a node; choose another name",
            ));
        }
        let Some(node) = entry.value.as_mapping() else { continue };
        let waits = node.get("wait_for").is_some_and(|node| match &node.value {
            Yaml::List(items) => !items.is_empty(),
            Yaml::Text(_) => true,
            _ => false,
        });
        if waits {
            barriers.insert(index);
        }
        keys.extend(
            node.get("assign")
                .and_then(Node::as_mapping)
                .into_iter()
                .flatten()
                .map(|entry| entry.key.name.as_str()),
        );
        keys.extend(node.get("collect").and_then(Node::as_text));
        let command = node.get("command").and_then(Node::as_mapping);
        for grant in ["write", "overwrite"] {
            let listed = command.and_then(|command| command.get(grant)).and_then(Node::as_list);
            keys.extend(listed.into_iter().flatten().filter_map(Node::as_text));
        }
    }
    DocumentReader {
        text,
        problems,
        names,
        barriers,
        keys,
        inputs: None,
        is_graph: true,
        is_snapshot,
        reported: RefCell::default(),
        folding: BTreeSet::new(),
        compiling,
        retry: None,
        feedback: false,
    }
}

/// Reads the graph's name for people.
fn name(node: &Node, problems: &Problems) -> Option<String> {
    let text = node.text("`name`", problems)?;
    let length = text.chars().count();
    if text.trim().is_empty() || length > MOST_NAME || text.chars().any(char::is_control) {
        let limit = format!("a text of at most {MOST_NAME} characters on one line");
        node.out_of_range("`name` cannot be shown as the graph's name", &limit, problems);
        return None;
    }
    Some(text.to_owned())
}

/// Reads `start`: a node, a send, or a list of both.
fn start<'n>(node: &'n Node, reader: &DocumentReader<'n>) -> Vec<StartTarget> {
    let items = match &node.value {
        Yaml::List(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    if items.is_empty() {
        node.out_of_range("`start` names no node", "at least one node", reader.problems);
    }
    let mut targets = Vec::with_capacity(items.len());
    let mut seen = BTreeSet::new();
    for item in items {
        let target = match &item.value {
            Yaml::Text(_) => reader.target(item, "`start`").map(|node| StartTarget { node, argument: None }),
            Yaml::Mapping(_) => send(item, reader),
            _ => {
                item.wrong_type("`start`", "a node's name or `{node, argument}`", reader.problems);
                None
            }
        };
        let Some(target) = target else { continue };
        if target.argument.is_none() && !seen.insert(target.node) {
            let message = format!("`start` names `{}` twice", item.as_text().unwrap_or_default());
            reader.problems.push(Diagnostic::warning(codes::DUPLICATE_TARGET, item.span, message));
        }
        targets.push(target);
    }
    targets
}

fn send<'n>(item: &'n Node, reader: &DocumentReader<'n>) -> Option<StartTarget> {
    let mut fields = Fields::open(item, &keys::graph::SEND, "a send", reader.problems)?;
    let node = fields.required("node").and_then(|node| reader.target(node, "`start`"));
    let argument = fields.get("argument").map(|node| reader.template(node, IN_START, None));
    fields.finish();
    let argument = match argument {
        Some(argument) => Some(argument?),
        None => None,
    };
    Some(StartTarget { node: node?, argument })
}

/// Reads a declared channel: `{reducer, default}`, or only the reducer.
fn channel(entry: &MappingEntry, reader: &DocumentReader<'_>) -> Option<Channel> {
    let problems = reader.problems;
    let name = entry.key.name.as_str();
    let sound = reader.state_key(name, entry.key.span);
    let (reducer, default) = if let Yaml::Text(_) = entry.value.value {
        (entry.value.choice("`reducer`", Reducer::CHOICES, problems)?, None)
    } else {
        let mut fields =
            Fields::open(&entry.value, &keys::graph::CHANNEL, format!("channel `{name}`"), problems)?;
        let reducer = match fields.get("reducer") {
            Some(node) => node.choice("`reducer`", Reducer::CHOICES, problems),
            None => Some(Reducer::LastValue),
        };
        let default = fields.get("default");
        fields.finish();
        let reducer = reducer?;
        if let Some(node) = default {
            check_default(node, reducer, problems);
        }
        (reducer, default.map(Node::to_json))
    };
    sound.then(|| Channel { name: name.to_owned(), reducer, default })
}

/// Checks that the reducer can combine a default with writes.
fn check_default(node: &Node, reducer: Reducer, problems: &Problems) {
    let what = format!("the `default` of a `{}` channel", reducer.as_str());
    let (fits, expected) = match reducer {
        Reducer::Append | Reducer::Union | Reducer::Messages | Reducer::Topic => {
            (matches!(node.value, Yaml::List(_)), "a list")
        }
        Reducer::Merge => (matches!(node.value, Yaml::Mapping(_)), "a mapping"),
        Reducer::Sum | Reducer::Min | Reducer::Max => (matches!(node.value, Yaml::Number(_)), "a number"),
        Reducer::LastValue | Reducer::Ephemeral | Reducer::Untracked => (true, ""),
    };
    if !fits {
        node.wrong_type(&what, expected, problems);
    }
}
