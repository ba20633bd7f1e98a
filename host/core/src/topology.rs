//! The shape of a graph, for people and pictures: nodes, and edges with what they stand for.

use std::fmt::Write as _;

use serde::Serialize;

use crate::diagnostic::printable;
use crate::graph::{Graph, Next, Node, NodeIndex, NodeKind};

/// The shape of a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Topology {
    /// The graph's id.
    pub id: String,
    /// The nodes, in document order.
    pub nodes: Vec<TopologyNode>,
    /// The edges: those of `start`, then those of each node in document order.
    pub edges: Vec<TopologyEdge>,
}

/// A node of the picture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TopologyNode {
    /// The node's name.
    pub name: String,
    /// What kind of node it is.
    pub kind: TopologyKind,
    /// The id of the item that it dispatches, as it is written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// Whether it runs only when nothing else is active.
    pub deferred: bool,
    /// Whether the run pauses before the node.
    pub pauses_before: bool,
    /// Whether the run pauses after the node.
    pub pauses_after: bool,
}

/// What kind of node it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TopologyEdge {
    /// The node that it leads from; `None` is the start of the run.
    pub from: Option<String>,
    /// The node that it leads to; `None` is the end of the branch.
    pub to: Option<String>,
    /// What it stands for.
    pub kind: TopologyEdgeKind,
    /// Its label, or its condition as a short text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// What an edge stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
            })
            .collect();
        for node in &graph.nodes {
            add_edges(node, &name, &mut edges);
        }
        Self { id: graph.id.clone(), nodes: graph.nodes.iter().map(describe).collect(), edges }
    }

    /// The picture as a Mermaid flowchart. Every text in it is escaped: a label cannot become markup.
    pub fn to_mermaid(&self) -> String {
        let mut out = String::from("flowchart TD\n  start_([start])\n");
        for (at, node) in self.nodes.iter().enumerate() {
            let mut lines = vec![escape(&node.name)];
            lines.extend(node.item.as_deref().map(escape));
            let notes = [
                (node.kind == TopologyKind::Foreach, "for each"),
                (node.deferred, "deferred"),
                (node.pauses_before, "pauses before"),
                (node.pauses_after, "pauses after"),
            ];
            lines.extend(notes.into_iter().filter(|(holds, _)| *holds).map(|(_, note)| note.to_owned()));
            let label = lines.join("<br/>");
            let (open, close) = match node.kind {
                TopologyKind::Default => ("[", "]"),
                TopologyKind::Foreach => ("[[", "]]"),
                TopologyKind::Barrier => ("{{", "}}"),
                TopologyKind::Return => ("([", "])"),
            };
            let _ = writeln!(out, "  n{at}{open}\"{label}\"{close}");
        }
        if self.edges.iter().any(|edge| edge.to.is_none()) {
            out.push_str("  end_([end])\n");
        }
        let places: std::collections::BTreeMap<&str, usize> =
            self.nodes.iter().enumerate().map(|(at, node)| (node.name.as_str(), at)).collect();
        let id = |name: Option<&str>, other: &str| match name.and_then(|name| places.get(name)) {
            Some(at) => format!("n{at}"),
            None => other.to_owned(),
        };
        for edge in &self.edges {
            let arrow = match edge.kind {
                TopologyEdgeKind::Always | TopologyEdgeKind::Condition | TopologyEdgeKind::Otherwise => "-->",
                TopologyEdgeKind::Error | TopologyEdgeKind::Goto => "-.->",
                TopologyEdgeKind::Wait => "==>",
            };
            let label =
                edge.label.as_deref().map(|label| format!("|\"{}\"|", escape(label))).unwrap_or_default();
            let from = id(edge.from.as_deref(), "start_");
            let to = id(edge.to.as_deref(), "end_");
            let _ = writeln!(out, "  {from} {arrow}{label} {to}");
        }
        out
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
    }
}

fn add_edges(node: &Node, name: &impl Fn(&NodeIndex) -> String, edges: &mut Vec<TopologyEdge>) {
    let mut add = |to: Option<String>, kind, label: Option<String>| {
        edges.push(TopologyEdge { from: Some(node.name.clone()), to, kind, label });
    };
    match &node.next {
        Next::End => {}
        Next::All(targets) => {
            for target in targets {
                add(Some(name(target)), TopologyEdgeKind::Always, None);
            }
        }
        Next::First(list) => {
            for edge in list {
                let kind = if edge.when.is_some() {
                    TopologyEdgeKind::Condition
                } else {
                    TopologyEdgeKind::Otherwise
                };
                let said = edge.label.as_deref().map(|label| printable(label).into_owned());
                let label = said
                    .or_else(|| edge.when.as_ref().map(|when| printable(&when.to_string()).into_owned()))
                    .unwrap_or_else(|| "otherwise".to_owned());
                if edge.to.is_empty() {
                    add(None, kind, Some(label.clone()));
                }
                for target in &edge.to {
                    add(Some(name(target)), kind, Some(label.clone()));
                }
            }
        }
    }
    if let Some(target) = &node.on_error {
        add(Some(name(target)), TopologyEdgeKind::Error, Some("on error".to_owned()));
    }
    for target in node.command.iter().flat_map(|command| &command.goto) {
        add(Some(name(target)), TopologyEdgeKind::Goto, Some("goto".to_owned()));
    }
    for awaited in &node.wait_for {
        let to = Some(node.name.clone());
        edges.push(TopologyEdge { from: Some(name(awaited)), to, kind: TopologyEdgeKind::Wait, label: None });
    }
}

/// A text inside a quoted Mermaid label: everything that could end the label or become markup is an entity code.
fn escape(text: &str) -> String {
    const LONGEST: usize = 120;
    let mut out = String::with_capacity(text.len());
    for (count, c) in printable(text).chars().enumerate() {
        if count == LONGEST {
            out.push('…');
            break;
        }
        match c {
            '\n' | '\t' => out.push(' '),
            '"' | '<' | '>' | '&' | '#' | ';' | '`' | '\\' | '%' => {
                let _ = write!(out, "#{};", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const GRAPH: &str = r#"
tool_type: graph
config:
  start: [split, { node: each, argument: 1 }]
  nodes:
    split:
      action: { item_id: t/split }
      next:
        - { to: [each, side], when: { path: state.n, op: gt, value: 10 } }
        - { to: [], when: { path: state.done, op: exists }, label: "done \" <b>|#end" }
        - to: side
      on_error: out
    each: { type: foreach, over: "${state.items}", action: { item_id: "${inputs.tool}" }, collect: got }
    side: { interrupt: [before, after], command: { goto: [out] }, defer: true }
    join: { wait_for: [each, side], next: out }
    out: { type: return }
"#;

    fn topology() -> Topology {
        Topology::of(&crate::document::load("shape.yaml", GRAPH, "t/shape").unwrap().graph)
    }

    #[test]
    fn the_picture_as_mermaid() {
        insta::assert_snapshot!(topology().to_mermaid());
    }

    #[test]
    fn the_picture_as_json() {
        insta::assert_json_snapshot!(topology());
    }

    #[test]
    fn labels_cannot_become_markup() {
        let hostile = "\"]; click n0 call alert() <script>\u{1b}[0m\n%%{init}";
        assert_eq!(
            escape(hostile),
            "#34;]#59; click n0 call alert() #60;script#62;#92;u{1b}[0m #37;#37;{init}"
        );
    }
}
