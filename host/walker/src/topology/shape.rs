//! The topology of a graph: its nodes and edges.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::facts::{
    NodePolicy, TopologyChannel, TopologyCommand, TopologyLimits, TopologyPolicies, TopologyReport,
};
use crate::graph::{Graph, Next, Node, NodeIndex, NodeKind};
use graph_core::diagnostic::visible;
use graph_core::format;
use graph_core::policy::OnNoMatch;

/// Limit of an edge's label, in characters.
const LONGEST_LABEL: usize = 400;

/// Version of the format. Without a version, a topology has version 1, which has only nodes and edges.
pub const VERSION: u64 = 2;

/// The shape of a graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// The version of the format.
    #[serde(default = "first_version", deserialize_with = "known_version")]
    pub version: u64,
    /// The item id of the graph.
    pub id: String,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A description for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The nodes at which a run begins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entry: Vec<String>,
    /// The nodes after which a branch can end: `return`, no `next`, an empty one, an empty `to`, a `goto` that may end it, or a conditional
    /// list without a default where `on_no_match` is `end`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub finish_nodes: Vec<String>,
    /// `true` if tasks of a superstep may run at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel: Option<bool>,
    /// The limits of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<TopologyLimits>,
    /// Policies for cases that no node decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policies: Option<TopologyPolicies>,
    /// The declared channels, in document order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub channels: Vec<TopologyChannel>,
    /// The nodes, in document order.
    pub nodes: Vec<TopologyNode>,
    /// The edges: those of `start`, then those of each node in document order.
    pub edges: Vec<TopologyEdge>,
    /// The findings of the checks, if they were made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<TopologyReport>,
}

/// A node of the picture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopologyNode {
    /// The name under `nodes`.
    pub name: String,
    /// Kind of the node.
    pub kind: TopologyKind,
    /// The id of the item that the node dispatches, as it is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// `true` if the node runs only when nothing else is active.
    pub deferred: bool,
    /// `true` if the run pauses before the node.
    pub pauses_before: bool,
    /// `true` if the run pauses after the node.
    pub pauses_after: bool,
    /// The node's own settings for attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<NodePolicy>,
    /// Grants for the node's commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<TopologyCommand>,
    /// The node's `metadata`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// Number of visits of the node, in the picture of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visits: Option<u64>,
}

/// Kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TopologyKind {
    /// Runs an action, or passes through.
    Default,
    /// Runs an action for each item of a list.
    Foreach,
    /// Waits for other nodes.
    Barrier,
    /// A `return` node, which ends the run.
    Return,
    /// An `ask` node, which asks a person.
    Ask,
    /// Waits for a time or an event.
    Wait,
    /// A `fail` node, at which the run fails.
    Fail,
}

/// An edge of the picture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopologyEdge {
    /// The node that the edge leads from; `None` is the start of the run.
    pub from: Option<String>,
    /// The node that the edge leads to; `None` is the end of the branch.
    pub to: Option<String>,
    /// The kind of edge.
    pub kind: TopologyEdgeKind,
    /// The label, or the condition as a short text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The condition as text, shortened if it is very long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// Position of an edge in `next`, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<u32>,
    /// Number of times that the edge was taken, in the picture of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fired: Option<u64>,
}

/// The kind of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TopologyEdgeKind {
    /// An edge without a condition.
    Always,
    /// An edge that is taken if its condition is the first that holds.
    Condition,
    /// An edge that is taken if no condition before it holds.
    Otherwise,
    /// An edge that is taken when the node fails for good.
    Error,
    /// A target that a command of the node may name in `goto`.
    Goto,
    /// A node that a barrier waits for.
    Wait,
}

impl Topology {
    /// Returns the topology of a graph.
    pub fn of(graph: &Graph) -> Self {
        let name = |index: &NodeIndex| graph.node(*index).name.clone();
        let mut edges: Vec<TopologyEdge> = graph
            .start
            .iter()
            .map(|target| TopologyEdge {
                from: None,
                to: Some(name(&target.node)),
                kind: TopologyEdgeKind::Always,
                label: target.argument.is_some().then(|| "send".to_owned()),
                when: None,
                place: None,
                fired: None,
            })
            .collect();
        for node in &graph.nodes {
            add_edges(node, &name, &mut edges);
        }
        let finish = graph.nodes.iter().filter(|node| can_end(graph, node)).map(|node| node.name.clone());
        Self {
            version: VERSION,
            id: graph.id.clone(),
            name: graph.name.clone(),
            description: graph.description.as_ref().map(|text| visible(text).into_owned()),
            entry: graph.start.iter().map(|target| name(&target.node)).collect(),
            finish_nodes: finish.collect(),
            parallel: Some(graph.max_concurrency != Some(1)),
            limits: Some(TopologyLimits::from_graph(graph)),
            policies: Some(TopologyPolicies::from_graph(graph)),
            channels: graph.channels.iter().map(TopologyChannel::from_channel).collect(),
            nodes: graph.nodes.iter().map(|node| describe(graph, node)).collect(),
            edges,
            report: None,
        }
    }
}

/// Returns `true` if a branch can end after a node.
fn can_end(graph: &Graph, node: &Node) -> bool {
    match &node.next {
        _ if matches!(node.kind, NodeKind::Return { .. }) => true,
        _ if node.command.as_ref().is_some_and(|command| command.may_end) => true,
        Next::End => true,
        Next::All(targets) => targets.is_empty(),
        Next::First(edges) => {
            let may_match_none =
                graph.on_no_match == OnNoMatch::End && edges.iter().all(|edge| edge.when.is_some());
            may_match_none || edges.iter().any(|edge| edge.to.is_empty())
        }
    }
}

pub(super) fn name_of(graph: &Graph, node: NodeIndex) -> String {
    graph.node(node).name.clone()
}

const fn first_version() -> u64 {
    1
}

fn known_version<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let found = u64::deserialize(deserializer)?;
    match found {
        1..=VERSION => Ok(found),
        _ => Err(serde::de::Error::custom(format::NewerFormat { found, current: VERSION })),
    }
}

fn describe(graph: &Graph, node: &Node) -> TopologyNode {
    let kind = match &node.kind {
        NodeKind::Return { .. } => TopologyKind::Return,
        NodeKind::Foreach(_) => TopologyKind::Foreach,
        NodeKind::Ask { .. } => TopologyKind::Ask,
        NodeKind::Wait(_) => TopologyKind::Wait,
        NodeKind::Fail(_) => TopologyKind::Fail,
        NodeKind::Default if !node.wait_for.is_empty() => TopologyKind::Barrier,
        NodeKind::Default => TopologyKind::Default,
    };
    let item = node.action.as_ref().and_then(|action| action.item_id.source().as_str());
    TopologyNode {
        name: node.name.clone(),
        kind,
        item: item.map(|item| visible(item).into_owned()),
        deferred: node.defer,
        pauses_before: node.interrupt.before,
        pauses_after: node.interrupt.after,
        policy: NodePolicy::from_node(node),
        command: node.command.as_ref().map(|grant| TopologyCommand::from_grant(grant, graph)),
        metadata: node.metadata.clone(),
        visits: None,
    }
}

/// The label of an edge, and its condition.
type EdgeText = (Option<String>, Option<String>);

fn add_edges(node: &Node, name: &impl Fn(&NodeIndex) -> String, edges: &mut Vec<TopologyEdge>) {
    let mut add = |to: Option<String>, kind, (label, when): EdgeText, place: Option<usize>| {
        let place = place.map(|place| u32::try_from(place).unwrap_or(u32::MAX));
        let from = Some(node.name.clone());
        edges.push(TopologyEdge { from, to, kind, label, when, place, fired: None });
    };
    match &node.next {
        Next::End => {}
        Next::All(targets) => {
            if targets.is_empty() {
                add(None, TopologyEdgeKind::Always, (None, None), None);
            }
            for (place, target) in targets.iter().enumerate() {
                add(Some(name(target)), TopologyEdgeKind::Always, (None, None), Some(place));
            }
        }
        Next::First(list) => {
            for (place, edge) in list.iter().enumerate() {
                let kind = if edge.when.is_some() {
                    TopologyEdgeKind::Condition
                } else {
                    TopologyEdgeKind::Otherwise
                };
                let when = edge.when.as_ref().map(|when| caption(&when.to_string()));
                let said = edge.label.as_deref().map(caption);
                let label = said.or_else(|| when.clone()).unwrap_or_else(|| "otherwise".to_owned());
                let said = (Some(label), when);
                if edge.to.is_empty() {
                    add(None, kind, said.clone(), Some(place));
                }
                for target in &edge.to {
                    add(Some(name(target)), kind, said.clone(), Some(place));
                }
            }
        }
    }
    if let Some(target) = &node.on_error {
        add(Some(name(target)), TopologyEdgeKind::Error, (Some("on error".to_owned()), None), None);
    }
    if let Some(command) = &node.command {
        let goto = || (Some("goto".to_owned()), None);
        for target in &command.goto {
            add(Some(name(target)), TopologyEdgeKind::Goto, goto(), None);
        }
        if command.may_end {
            add(None, TopologyEdgeKind::Goto, goto(), None);
        }
    }
    for awaited in &node.wait_for {
        let to = Some(node.name.clone());
        edges.push(TopologyEdge {
            from: Some(name(awaited)),
            to,
            kind: TopologyEdgeKind::Wait,
            label: None,
            when: None,
            place: None,
            fired: None,
        });
    }
}

/// Shortens the text of a label or a condition for a picture, since edges to many targets repeat it.
fn caption(text: &str) -> String {
    let shown = visible(text);
    match shown.char_indices().nth(LONGEST_LABEL) {
        Some((at, _)) => format!("{}…", &shown[..at]),
        None => shown.into_owned(),
    }
}

impl Topology {
    /// Returns the edges with the indices of their nodes in the list of nodes; `None` is the start or the end. An edge
    /// that names an unknown node is left out.
    pub fn placed_edges(&self) -> impl Iterator<Item = (Option<usize>, Option<usize>, &TopologyEdge)> {
        let places: std::collections::BTreeMap<&str, usize> =
            self.nodes.iter().enumerate().map(|(at, node)| (node.name.as_str(), at)).collect();
        self.edges.iter().filter_map(move |edge| {
            let place = |name: &Option<String>| match name {
                None => Some(None),
                Some(name) => places.get(name.as_str()).map(|at| Some(*at)),
            };
            Some((place(&edge.from)?, place(&edge.to)?, edge))
        })
    }
}

impl TopologyNode {
    /// Returns the lines of the node's text in a picture: its name, its item, its special properties.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.name.clone()];
        lines.extend(self.item.clone());
        let notes = [
            (self.kind == TopologyKind::Foreach, "for each"),
            (self.deferred, "deferred"),
            (self.pauses_before, "pauses before"),
            (self.pauses_after, "pauses after"),
        ];
        lines.extend(notes.into_iter().filter(|(holds, _)| *holds).map(|(_, note)| note.to_owned()));
        lines.extend(self.visits.map(|visits| format!("visited {visits}×")));
        lines
    }
}

impl TopologyEdge {
    /// Returns the text of the edge in a picture: its label, and the number of times that it was taken.
    pub fn caption(&self) -> Option<String> {
        let count = self.fired.filter(|fired| *fired > 0).map(|fired| format!("{fired}×"));
        match (&self.label, count) {
            (Some(label), Some(count)) => Some(format!("{label} ({count})")),
            (label, count) => label.clone().or(count),
        }
    }

    /// Returns `true` if the edge was not taken in the picture of a run.
    pub fn is_unused(&self) -> bool {
        self.fired == Some(0)
    }
}
