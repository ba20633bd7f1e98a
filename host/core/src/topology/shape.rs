//! The shape of a graph: nodes, and edges with what they stand for.

use serde::{Deserialize, Serialize};

use crate::diagnostic::printable;
use crate::graph::{Graph, Next, Node, NodeIndex, NodeKind};

/// How many characters of an edge's label are kept.
const LONGEST_LABEL: usize = 400;

/// The shape of a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Topology {
    /// The graph's id.
    pub id: String,
    /// The nodes, in document order.
    pub nodes: Vec<TopologyNode>,
    /// The edges: those of `start`, then those of each node in document order.
    pub edges: Vec<TopologyEdge>,
}

/// A node of the picture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopologyNode {
    /// The node's name.
    pub name: String,
    /// What kind of node it is.
    pub kind: TopologyKind,
    /// The id of the item that it dispatches, as it is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// Whether it runs only when nothing else is active.
    pub deferred: bool,
    /// Whether the run pauses before the node.
    pub pauses_before: bool,
    /// Whether the run pauses after the node.
    pub pauses_after: bool,
    /// In the picture of a run: how often the node was visited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visits: Option<u64>,
}

/// What kind of node it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TopologyKind {
    /// Runs an action, or passes through.
    Default,
    /// Runs an action for each item of a list.
    Foreach,
    /// Waits for other nodes.
    Barrier,
    /// Ends the run.
    Return,
}

/// An edge of the picture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopologyEdge {
    /// The node that it leads from; `None` is the start of the run.
    pub from: Option<String>,
    /// The node that it leads to; `None` is the end of the branch.
    pub to: Option<String>,
    /// What it stands for.
    pub kind: TopologyEdgeKind,
    /// Its label, or its condition as a short text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// For an edge of `next`: its place there, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<u32>,
    /// In the picture of a run: how often the edge was taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fired: Option<u64>,
}

/// What an edge stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TopologyEdgeKind {
    /// Always taken.
    Always,
    /// Taken if its condition is the first that holds.
    Condition,
    /// Taken if no condition before it holds.
    Otherwise,
    /// Taken when the node fails for good.
    Error,
    /// What the node's command may name in `goto`.
    Goto,
    /// What a barrier waits for.
    Wait,
}

impl Topology {
    /// The shape of a graph.
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
                place: None,
                fired: None,
            })
            .collect();
        for node in &graph.nodes {
            add_edges(node, &name, &mut edges);
        }
        Self { id: graph.id.clone(), nodes: graph.nodes.iter().map(describe).collect(), edges }
    }
}

fn describe(node: &Node) -> TopologyNode {
    let kind = match &node.kind {
        NodeKind::Return { .. } => TopologyKind::Return,
        NodeKind::Foreach(_) => TopologyKind::Foreach,
        NodeKind::Default if !node.wait_for.is_empty() => TopologyKind::Barrier,
        NodeKind::Default => TopologyKind::Default,
    };
    let item = node.action.as_ref().and_then(|action| action.item_id.source().as_str());
    TopologyNode {
        name: node.name.clone(),
        kind,
        item: item.map(|item| printable(item).into_owned()),
        deferred: node.defer,
        pauses_before: node.interrupt.before,
        pauses_after: node.interrupt.after,
        visits: None,
    }
}

fn add_edges(node: &Node, name: &impl Fn(&NodeIndex) -> String, edges: &mut Vec<TopologyEdge>) {
    let mut add = |to: Option<String>, kind, label: Option<String>, place: Option<usize>| {
        let place = place.map(|place| u32::try_from(place).unwrap_or(u32::MAX));
        edges.push(TopologyEdge { from: Some(node.name.clone()), to, kind, label, place, fired: None });
    };
    match &node.next {
        Next::End => {}
        Next::All(targets) => {
            for (place, target) in targets.iter().enumerate() {
                add(Some(name(target)), TopologyEdgeKind::Always, None, Some(place));
            }
        }
        Next::First(list) => {
            for (place, edge) in list.iter().enumerate() {
                let kind = if edge.when.is_some() {
                    TopologyEdgeKind::Condition
                } else {
                    TopologyEdgeKind::Otherwise
                };
                let said = edge.label.as_deref().map(caption);
                let label = said
                    .or_else(|| edge.when.as_ref().map(|when| caption(&when.to_string())))
                    .unwrap_or_else(|| "otherwise".to_owned());
                if edge.to.is_empty() {
                    add(None, kind, Some(label.clone()), Some(place));
                }
                for target in &edge.to {
                    add(Some(name(target)), kind, Some(label.clone()), Some(place));
                }
            }
        }
    }
    if let Some(target) = &node.on_error {
        add(Some(name(target)), TopologyEdgeKind::Error, Some("on error".to_owned()), None);
    }
    for target in node.command.iter().flat_map(|command| &command.goto) {
        add(Some(name(target)), TopologyEdgeKind::Goto, Some("goto".to_owned()), None);
    }
    for awaited in &node.wait_for {
        let to = Some(node.name.clone());
        edges.push(TopologyEdge {
            from: Some(name(awaited)),
            to,
            kind: TopologyEdgeKind::Wait,
            label: None,
            place: None,
            fired: None,
        });
    }
}

/// What a picture shows of a label or a condition: an edge to each of many targets repeats it.
fn caption(text: &str) -> String {
    let shown = printable(text);
    match shown.char_indices().nth(LONGEST_LABEL) {
        Some((at, _)) => format!("{}…", &shown[..at]),
        None => shown.into_owned(),
    }
}

impl Topology {
    /// The edges with the places of their nodes in the list of nodes; `None` is the start or the end. An edge that
    /// names a node that is not there is left out.
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
    /// What a picture says of the node, a line each: its name, its item, what is special about it.
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
    /// What a picture says of the edge: its label, and how often it was taken.
    pub fn caption(&self) -> Option<String> {
        let count = self.fired.filter(|fired| *fired > 0).map(|fired| format!("{fired}×"));
        match (&self.label, count) {
            (Some(label), Some(count)) => Some(format!("{label} ({count})")),
            (label, count) => label.clone().or(count),
        }
    }

    /// Whether the picture of a run shows it as not taken.
    pub fn is_unused(&self) -> bool {
        self.fired == Some(0)
    }
}
