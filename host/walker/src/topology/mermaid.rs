//! The picture in Mermaid's language.

use std::fmt::Write as _;

use super::{Topology, TopologyEdgeKind, TopologyKind};
use graph_core::diagnostic::visible;

impl Topology {
    /// Draws the graph as a Mermaid flowchart. Every text in it is escaped, so that a label cannot become markup.
    pub fn to_mermaid(&self) -> String {
        let title = self.name.as_deref().map(|name| format!("---\ntitle: \"{}\"\n---\n", escape(name)));
        let mut out = title.unwrap_or_default();
        out.push_str("flowchart TD\n  start_([start])\n");
        for (at, node) in self.nodes.iter().enumerate() {
            let lines: Vec<String> = node.lines().iter().map(|line| escape(line)).collect();
            let label = lines.join("<br/>");
            let (open, close) = match node.kind {
                TopologyKind::Default => ("[", "]"),
                TopologyKind::Foreach => ("[[", "]]"),
                TopologyKind::Barrier => ("{{", "}}"),
                TopologyKind::Return => ("([", "])"),
                TopologyKind::Ask => ("[/", "/]"),
                TopologyKind::Wait => (">", "]"),
                TopologyKind::Fail => ("[\\", "/]"),
            };
            let _ = writeln!(out, "  n{at}{open}\"{label}\"{close}");
        }
        if self.edges.iter().any(|edge| edge.to.is_none()) {
            out.push_str("  end_([end])\n");
        }
        let mut unused = Vec::new();
        for (at, (from, to, edge)) in self.placed_edges().enumerate() {
            if edge.is_unused() {
                unused.push(at.to_string());
            }
            let arrow = match edge.kind {
                TopologyEdgeKind::Always | TopologyEdgeKind::Condition | TopologyEdgeKind::Otherwise => "-->",
                TopologyEdgeKind::Error | TopologyEdgeKind::Goto => "-.->",
                TopologyEdgeKind::Wait => "==>",
            };
            let label =
                edge.caption().map(|caption| format!("|\"{}\"|", escape(&caption))).unwrap_or_default();
            let from = from.map_or_else(|| "start_".to_owned(), |at| format!("n{at}"));
            let to = to.map_or_else(|| "end_".to_owned(), |at| format!("n{at}"));
            let _ = writeln!(out, "  {from} {arrow}{label} {to}");
        }
        if !unused.is_empty() {
            let _ = writeln!(out, "  linkStyle {} stroke:#bbb,color:#999", unused.join(","));
        }
        out
    }
}

/// Escapes a text inside a quoted Mermaid label: characters that could end the label or become markup become entity codes.
fn escape(text: &str) -> String {
    const LONGEST: usize = 120;
    let mut out = String::with_capacity(text.len());
    for (count, c) in visible(text).chars().enumerate() {
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
    use super::*;

    #[test]
    fn labels_cannot_become_markup() {
        let hostile = "\"]; click n0 call alert() <script>\u{1b}[0m\n%%{init}";
        assert_eq!(
            escape(hostile),
            "#34;]#59; click n0 call alert() #60;script#62;#92;u{1b}[0m #37;#37;{init}"
        );
    }
}
