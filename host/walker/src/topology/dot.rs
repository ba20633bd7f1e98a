//! The picture in the DOT language of Graphviz.

use std::fmt::Write as _;

use super::{Topology, TopologyEdgeKind, TopologyKind};
use graph_core::diagnostic::visible;

impl Topology {
    /// Draws the graph in DOT. Every text in it is a quoted string without escapes of its own, so that a label cannot
    /// become an attribute.
    pub fn to_dot(&self) -> String {
        let mut out = format!("digraph {} {{\n", quoted(&[&self.id]));
        out.push_str(
            "  rankdir=TB; node [shape=box, fontname=\"sans-serif\"]; edge [fontname=\"sans-serif\"];\n",
        );
        if let Some(name) = &self.name {
            let _ = writeln!(out, "  label={}; labelloc=t;", quoted(&[name]));
        }
        out.push_str("  start_ [label=\"start\", shape=oval];\n");
        for (at, node) in self.nodes.iter().enumerate() {
            let shape = match node.kind {
                TopologyKind::Default => "box",
                TopologyKind::Foreach => "box3d",
                TopologyKind::Barrier => "hexagon",
                TopologyKind::Return => "oval",
                TopologyKind::Ask => "parallelogram",
                TopologyKind::Wait => "cds",
                TopologyKind::Fail => "octagon",
            };
            let lines = node.lines();
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let _ = writeln!(out, "  n{at} [label={}, shape={shape}];", quoted(&lines));
        }
        if self.edges.iter().any(|edge| edge.to.is_none()) {
            out.push_str("  end_ [label=\"end\", shape=oval];\n");
        }
        for (from, to, edge) in self.placed_edges() {
            let from = from.map_or_else(|| "start_".to_owned(), |at| format!("n{at}"));
            let to = to.map_or_else(|| "end_".to_owned(), |at| format!("n{at}"));
            let mut attributes = Vec::new();
            if let Some(caption) = edge.caption() {
                attributes.push(format!("label={}", quoted(&[&caption])));
            }
            match edge.kind {
                TopologyEdgeKind::Error | TopologyEdgeKind::Goto => {
                    attributes.push("style=dashed".to_owned());
                }
                TopologyEdgeKind::Wait => attributes.push("style=bold".to_owned()),
                TopologyEdgeKind::Always | TopologyEdgeKind::Condition | TopologyEdgeKind::Otherwise => {}
            }
            if edge.is_unused() {
                attributes.push("color=gray, fontcolor=gray".to_owned());
            }
            let attributes =
                if attributes.is_empty() { String::new() } else { format!(" [{}]", attributes.join(", ")) };
            let _ = writeln!(out, "  {from} -> {to}{attributes};");
        }
        out.push_str("}\n");
        out
    }
}

/// Writes a quoted string of DOT whose lines are centred.
fn quoted(lines: &[&str]) -> String {
    let mut out = String::from("\"");
    for (at, line) in lines.iter().enumerate() {
        if at > 0 {
            out.push_str("\\n");
        }
        for c in visible(line).chars() {
            match c {
                '"' | '\\' => {
                    out.push('\\');
                    out.push(c);
                }
                '\n' | '\t' => out.push(' '),
                c => out.push(c),
            }
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_stay_inside_their_quotes() {
        assert_eq!(
            quoted(&["a\"]; n0 [URL=\"x", "b\\", "c\nd\u{1b}"]),
            r#""a\"]; n0 [URL=\"x\nb\\\nc d\\u{1b}""#
        );
    }
}
