//! Probable mistakes in the structure of a valid graph.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::reach::reachable;
use crate::document::LoadedGraph;
use crate::graph::{Graph, Next, Node, NodeIndex, NodeKind};
use graph_core::capability::{Manifest, capability_name};
use graph_core::diagnostic::{codes, nearest, printable};
use graph_core::policy::Reducer;

/// A probable mistake in a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// The kind of the finding.
    pub kind: FindingKind,
    /// The nodes of the finding, in document order.
    pub nodes: Vec<String>,
    /// The finding as a sentence.
    pub message: String,
    /// Advice for the author.
    pub help: String,
}

/// A kind of finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    /// Nothing leads to a node.
    Unreachable,
    /// A barrier waits for a node that can never complete.
    BarrierNeverOpens,
    /// A branch ends without `return` in a graph that returns elsewhere.
    DeadEnd,
    /// A conditional list has no default edge.
    NoDefaultEdge,
    /// Two nodes that are always active together write the same channel, which takes one write.
    ConflictingWrites,
    /// The manifest allows a capability that no node needs.
    UnneededCapability,
    /// A value is read that no node writes.
    ReadsNothing,
}

impl FindingKind {
    /// Returns the name in output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::BarrierNeverOpens => "barrier never opens",
            Self::DeadEnd => "dead end",
            Self::NoDefaultEdge => "no default edge",
            Self::ConflictingWrites => "conflicting writes",
            Self::UnneededCapability => "unneeded capability",
            Self::ReadsNothing => "reads nothing",
        }
    }
}

/// Returns the probable mistakes in a graph's structure: by kind, then in document order.
pub fn findings(graph: &Graph) -> Vec<Finding> {
    let reached = reachable(graph);
    let is_reached = |index: NodeIndex| reached[index.0 as usize];
    let mut found = Vec::new();
    unreached(graph, &is_reached, &mut found);
    let returns = graph
        .indexed()
        .any(|(index, node)| is_reached(index) && matches!(node.kind, NodeKind::Return { .. }));
    let awaited: BTreeSet<NodeIndex> =
        graph.nodes.iter().flat_map(|node| node.wait_for.iter().copied()).collect();
    for (index, node) in graph.indexed().filter(|(index, _)| is_reached(*index)) {
        if returns && !awaited.contains(&index) && ends_a_branch(node) {
            found.push(Finding {
                kind: FindingKind::DeadEnd,
                nodes: vec![node.name.clone()],
                message: format!(
                    "the branch ends after `{}`, and the run ends without an output of its own if no other branch \
                     continues",
                    node.name
                ),
                help: "give it a `next`, or make it a `return` node".to_owned(),
            });
        }
        if let Next::First(edges) = &node.next
            && edges.iter().all(|edge| edge.when.is_some())
        {
            found.push(Finding {
                kind: FindingKind::NoDefaultEdge,
                nodes: vec![node.name.clone()],
                message: format!("if none of the conditions of `{}` holds, its branch ends", node.name),
                help: "end its list with an entry without `when`; `to: []` says that the end is meant"
                    .to_owned(),
            });
        }
    }
    conflicts(graph, &is_reached, &mut found);
    found.sort_by_key(|finding| finding.kind);
    found
}

/// Returns the findings of a loaded document, including its warnings about keys that no node writes.
pub fn findings_of(loaded: &LoadedGraph) -> Vec<Finding> {
    let mut found = findings(&loaded.graph);
    let reads = loaded.warnings.iter().filter(|warning| warning.code() == codes::READS_NOTHING);
    found.extend(reads.map(|warning| Finding {
        kind: FindingKind::ReadsNothing,
        nodes: Vec::new(),
        message: format!("line {}: {}", warning.span().line, warning.message()),
        help: warning.help_text().unwrap_or_default().to_owned(),
    }));
    found
}

fn unreached(graph: &Graph, is_reached: &impl Fn(NodeIndex) -> bool, found: &mut Vec<Finding>) {
    for (index, node) in graph.indexed().filter(|(index, _)| !is_reached(*index)) {
        let (open, shut): (Vec<NodeIndex>, Vec<NodeIndex>) =
            node.wait_for.iter().partition(|awaited| is_reached(**awaited));
        let name = |index: &NodeIndex| format!("`{}`", graph.node(*index).name);
        if open.is_empty() {
            found.push(Finding {
                kind: FindingKind::Unreachable,
                nodes: vec![node.name.clone()],
                message: format!("nothing leads to `{}`", node.name),
                help: "lead to it with `start`, `next`, `on_error` or `command.goto`, or remove it"
                    .to_owned(),
            });
            continue;
        }
        let behind = shut.contains(&index);
        let shut: Vec<String> = shut.iter().map(name).collect();
        let why = if behind { "and so for itself" } else { "which can run only after it, or never" };
        found.push(Finding {
            kind: FindingKind::BarrierNeverOpens,
            nodes: vec![node.name.clone()],
            message: format!("the barrier `{}` waits for {}, {why}", node.name, shut.join(", ")),
            help: "leave them out of `wait_for`, or lead to them without passing the barrier".to_owned(),
        });
    }
}

/// Checks whether a node that no barrier waits for silently ends its branch.
fn ends_a_branch(node: &Node) -> bool {
    let goes = node.command.as_ref().is_some_and(|command| command.may_end || !command.goto.is_empty());
    matches!(node.next, Next::End) && !matches!(node.kind, NodeKind::Return { .. }) && !goes
}

/// Largest number of writes that are checked for conflicts. A node may be in every list, and each list checks all writes of its nodes.
const MOST_WRITES: usize = 100_000;

/// Finds nodes that one list activates together and that write the same channel, which accepts one write.
fn conflicts(graph: &Graph, is_reached: &impl Fn(NodeIndex) -> bool, found: &mut Vec<Finding>) {
    let mut together: BTreeSet<Vec<NodeIndex>> = BTreeSet::new();
    let mut add = |list: Vec<NodeIndex>| {
        let sorted: BTreeSet<NodeIndex> = list.into_iter().collect();
        together.insert(sorted.into_iter().collect());
    };
    add(graph.start.iter().filter(|target| target.argument.is_none()).map(|target| target.node).collect());
    for (_, node) in graph.indexed().filter(|(index, _)| is_reached(*index)) {
        match &node.next {
            Next::End => {}
            Next::All(targets) => add(targets.clone()),
            Next::First(edges) => edges.iter().for_each(|edge| add(edge.to.clone())),
        }
    }
    let takes_many: BTreeSet<&str> = graph
        .channels
        .iter()
        .filter(|channel| !takes_one(channel.reducer))
        .map(|channel| channel.name.as_str())
        .collect();
    let mut left = MOST_WRITES;
    let mut reported = BTreeSet::new();
    for list in together {
        if list.len() < 2 {
            continue;
        }
        // Deferred nodes run in a superstep of their own.
        let (later, now): (Vec<NodeIndex>, Vec<NodeIndex>) =
            list.into_iter().partition(|index| graph.node(*index).defer);
        for group in [now, later] {
            let mut writers: BTreeMap<&str, Vec<NodeIndex>> = BTreeMap::new();
            for index in group {
                let node = graph.node(index);
                left = left.saturating_sub(1 + node.assign.len());
                if left == 0 {
                    return;
                }
                for channel in written(node).into_iter().filter(|channel| !takes_many.contains(channel)) {
                    writers.entry(channel).or_default().push(index);
                }
            }
            for (channel, writers) in writers.into_iter().filter(|(_, writers)| writers.len() > 1) {
                if !reported.insert((channel, writers.clone())) {
                    continue;
                }
                let nodes: Vec<String> =
                    writers.iter().map(|index| graph.node(*index).name.clone()).collect();
                let named: Vec<String> = nodes.iter().map(|node| format!("`{node}`")).collect();
                found.push(Finding {
                    kind: FindingKind::ConflictingWrites,
                    message: format!(
                        "{} are active in the same superstep and all write `{channel}`, which takes one write",
                        named.join(" and ")
                    ),
                    nodes,
                    help: format!("give `{channel}` a reducer, such as `append`, or let one of them write it"),
                });
            }
        }
    }
}

/// Returns the channels that a node writes whenever it succeeds.
fn written(node: &Node) -> BTreeSet<&str> {
    let collect = match &node.kind {
        NodeKind::Foreach(foreach) => foreach.collect.as_deref(),
        _ => None,
    };
    node.assign.iter().map(|write| write.channel.as_str()).chain(collect).collect()
}

/// Returns warnings about keys of an update that no part of the run has: the graph declares no such channel, none of its nodes writes it,
/// and the state does not have it. They are probably misspelt.
pub fn unknown_channels<'k>(
    graph: &Graph,
    state: &Map<String, Value>,
    keys: impl IntoIterator<Item = &'k str>,
) -> Vec<String> {
    let declared = graph.channels.iter().map(|channel| channel.name.as_str());
    let known: BTreeSet<&str> = declared
        .chain(graph.nodes.iter().flat_map(written))
        .chain(state.keys().map(String::as_str))
        .collect();
    let is_commanded = |key: &str| {
        graph.nodes.iter().filter_map(|node| node.command.as_ref()).any(|grant| grant.may_write(key))
    };
    let unknown = keys.into_iter().filter(|key| !known.contains(key) && !is_commanded(key));
    let warning = |key: &str| {
        let meant = nearest(key, known.iter().copied());
        let meant = meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
        format!("`{key}` is no channel of the graph, and nothing but this update writes it{meant}")
    };
    unknown.map(warning).collect()
}

const fn takes_one(reducer: Reducer) -> bool {
    matches!(reducer, Reducer::LastValue | Reducer::Ephemeral | Reducer::Untracked)
}

/// Finds capabilities that a manifest allows and no node of these graphs needs: dispatch patterns that match none of their actions, and
/// entries for items that none of them dispatches. If an item id is a template, any capability may be needed, and nothing is reported.
pub fn unneeded_capabilities(graphs: &[&Graph], manifest: &Manifest) -> Vec<Finding> {
    let actions = || graphs.iter().flat_map(|graph| &graph.nodes).filter_map(|node| node.action.as_ref());
    let mut names = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for action in actions() {
        let Some(id) = action.item_id.literal().and_then(|id| id.as_str()) else { return Vec::new() };
        names.insert(capability_name(action.operation, action.item_type, id));
        ids.insert(id);
    }
    let finding = |message: String, help: &str| Finding {
        kind: FindingKind::UnneededCapability,
        nodes: Vec::new(),
        message,
        help: help.to_owned(),
    };
    let mut found = Vec::new();
    for pattern in
        manifest.dispatch().iter().filter(|pattern| !names.iter().any(|name| pattern.matches(name)))
    {
        found.push(finding(
            format!("no node needs the capability `{}`", printable(pattern.as_str())),
            "take the line out of `dispatch`",
        ));
    }
    // Each id is looked up only once: a graph may have as many ids as a manifest has entries, and more.
    let applied: BTreeSet<&str> =
        ids.iter().filter_map(|id| Some(manifest.entry_for(id)?.pattern.as_str())).collect();
    for entry in manifest.items().iter().filter(|entry| !applied.contains(entry.pattern.as_str())) {
        found.push(finding(
            format!(
                "no node dispatches an item that the entry `{}` is about",
                printable(entry.pattern.as_str())
            ),
            "take the entry out of `items`",
        ));
    }
    found
}
