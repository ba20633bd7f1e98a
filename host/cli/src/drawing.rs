//! Pictures of graphs as SVG.

use graph_core::diagnostic::printable;
use graph_core::topology::{Topology, TopologyEdge, TopologyEdgeKind, TopologyKind, TopologyNode};
use layout::backends::svg::SVGWriter;
use layout::core::base::Orientation;
use layout::core::color::Color;
use layout::core::geometry::Point;
use layout::core::style::{LineStyleKind, StyleAttr};
use layout::std_shapes::shapes::{Arrow, Element, LineEndKind, ShapeKind};
use layout::topo::layout::VisualGraph;

use crate::error::{Error, Result};

/// Nodes and edges that are drawn: the layout's cost grows faster than the picture's use.
const MOST: usize = 400;
/// One size for all texts: the writer names a style for each size.
const FONT: usize = 14;
/// Characters of a line that are shown.
const LONGEST: usize = 60;

/// Draws a graph.
pub fn svg(topology: &Topology) -> Result<String> {
    let size = topology.nodes.len().max(topology.edges.len());
    if size > MOST {
        return Err(Error::usage(format!("a graph of {size} nodes or edges is too large to be drawn here"))
            .help("print it with --format dot, and draw it with Graphviz: dot -Tsvg"));
    }
    let mut picture = VisualGraph::new(Orientation::TopToBottom);
    let start = picture.add_node(terminal("start"));
    let nodes: Vec<_> = topology.nodes.iter().map(|node| picture.add_node(element(node))).collect();
    let mut end = None;
    for (from, to, edge) in topology.placed_edges() {
        let from = from.map_or(start, |at| nodes[at]);
        let to = match to {
            Some(at) => nodes[at],
            None => *end.get_or_insert_with(|| picture.add_node(terminal("end"))),
        };
        picture.add_edge(arrow(edge), from, to);
    }
    let mut writer = SVGWriter::new();
    picture.do_it(false, false, false, &mut writer);
    Ok(writer.finalize())
}

fn style(line: &str, fill: &str, rounded: usize) -> StyleAttr {
    StyleAttr::new(Color::fast(line), 1, Some(Color::fast(fill)), rounded, FONT)
}

fn terminal(name: &str) -> Element {
    boxed(name, style("black", "lightgray", 15))
}

fn element(node: &TopologyNode) -> Element {
    let fill = if node.visits == Some(0) { "whitesmoke" } else { "white" };
    let look = match node.kind {
        TopologyKind::Default => style("black", fill, 0),
        TopologyKind::Foreach => style("darkgreen", fill, 0),
        TopologyKind::Barrier => style("darkorange", fill, 0),
        TopologyKind::Return => style("black", fill, 15),
    };
    let lines: Vec<String> = node.lines().iter().map(|line| short(line)).collect();
    boxed(&lines.join("\n"), look)
}

fn boxed(text: &str, look: StyleAttr) -> Element {
    let longest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    let lines = text.lines().count();
    // Half an em for a character, and room around the text.
    #[allow(clippy::cast_precision_loss, reason = "labels are short")]
    let size = Point::new(longest as f64 * 8.0 + 24.0, lines as f64 * 18.0 + 16.0);
    Element::create(ShapeKind::new_box(text), look, Orientation::TopToBottom, size)
}

fn arrow(edge: &TopologyEdge) -> Arrow {
    let line = match edge.kind {
        TopologyEdgeKind::Error | TopologyEdgeKind::Goto => LineStyleKind::Dashed,
        TopologyEdgeKind::Wait => LineStyleKind::Dotted,
        TopologyEdgeKind::Always | TopologyEdgeKind::Condition | TopologyEdgeKind::Otherwise => {
            LineStyleKind::Normal
        }
    };
    let colour = if edge.is_unused() { "silver" } else { "black" };
    let caption = edge.caption().map(|caption| short(&caption)).unwrap_or_default();
    Arrow::new(
        LineEndKind::None,
        LineEndKind::Arrow,
        line,
        &caption,
        &style(colour, "white", 0),
        &None,
        &None,
    )
}

/// A text on one line, without what a terminal or a picture would act on.
fn short(text: &str) -> String {
    let text = printable(text).replace(['\n', '\t'], " ");
    if text.chars().count() <= LONGEST {
        return text;
    }
    text.chars().take(LONGEST - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn topology(config: &str) -> Topology {
        let text = format!("tool_type: graph\nconfig:\n{config}");
        Topology::of(&graph_core::document::load("shape.yaml", &text, "t/shape").unwrap().graph)
    }

    #[test]
    fn a_picture_has_every_node_and_no_markup_of_a_label() {
        let hostile = "  start: a\n  nodes:\n    a: { next: [ { to: b, when: { path: state.x, op: exists }, label: \"</text><script>x()</script>\" }, { to: [] } ], on_error: a }\n    b: { next: a }\n";
        let picture = svg(&topology(hostile)).unwrap();
        assert!(picture.starts_with("<?xml") && picture.trim_end().ends_with("</svg>"), "{picture}");
        assert!(!picture.contains("<script"), "{picture}");
        for label in [">a<", ">b<", ">start<", ">end<", "&lt;script&gt;"] {
            assert!(picture.contains(label), "{label} is missing in {picture}");
        }
    }

    #[test]
    fn the_same_graph_gives_the_same_picture() {
        let config = "  start: [a, b]\n  nodes: { a: { next: c }, b: { next: c }, c: { next: a } }";
        assert_eq!(svg(&topology(config)).unwrap(), svg(&topology(config)).unwrap());
    }

    #[test]
    fn a_picture_that_nobody_could_read_is_refused() {
        let nodes: Vec<String> = (0..500).map(|at| format!("    n{at}: {{}}")).collect();
        let nodes = nodes.join("\n");
        assert!(svg(&topology(&format!("  start: n0\n  nodes:\n{nodes}"))).is_err());
    }
}
