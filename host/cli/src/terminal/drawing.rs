//! Pictures of graphs as SVG.

use graph_core::diagnostic::visible;
use graph_walker::topology::{Topology, TopologyEdge, TopologyEdgeKind, TopologyKind, TopologyNode};
use layout::backends::svg::SVGWriter;
use layout::core::base::Orientation;
use layout::core::color::Color;
use layout::core::format::{ClipHandle, RenderBackend};
use layout::core::geometry::Point;
use layout::core::style::{LineStyleKind, StyleAttr};
use layout::std_shapes::shapes::{Arrow, Element, LineEndKind, ShapeKind};
use layout::topo::layout::VisualGraph;

use graph_runtime::error::{Error, Result};

/// Limit of nodes and of edges in a picture: the cost of the layout grows faster than the use of the picture.
const MOST: usize = 400;
/// One size for all texts: the writer names a style for each size.
const FONT: usize = 14;
/// Margin to the right of the picture and below it.
const MARGIN: f64 = 12.0;
/// Limit of characters in a line of a label.
const LONGEST: usize = 60;

/// Draws a graph as SVG.
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
    let mut sheet = Sheet { writer: SVGWriter::new(), width: 0.0, height: 0.0, texts: Vec::new() };
    picture.do_it(false, false, false, &mut sheet);
    Ok(sheet.finish())
}

/// The writer with the extent of the picture. The writer's own extent is too large: it reserves as much height below a text as the text
/// is long.
struct Sheet {
    writer: SVGWriter,
    width: f64,
    height: f64,
    /// Texts, drawn last so that they are above the lines.
    texts: Vec<(Point, String, StyleAttr)>,
}

impl Sheet {
    /// Extends the picture to this point.
    fn reach(&mut self, point: Point) {
        self.width = self.width.max(point.x);
        self.height = self.height.max(point.y);
    }

    /// Returns the SVG text: cropped to its content, with a white outline around texts that lines cross.
    fn finish(mut self) -> String {
        for (at, text, look) in self.texts {
            self.writer.draw_text(at, &text, &look);
        }
        let text = self.writer.finalize();
        let (width, height) = ((self.width + MARGIN).ceil(), (self.height + MARGIN).ceil());
        let head = format!(
            "<svg width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" xmlns=\"http://www.w3.org/2000/svg\">"
        );
        let text = match (text.find("<svg "), text.find("svg\">")) {
            (Some(begin), Some(end)) if begin < end => {
                format!("{}{head}{}", &text[..begin], &text[end + "svg\">".len()..])
            }
            _ => text,
        };
        text.replacen(
            "</style>",
            "textPath, text { paint-order: stroke; stroke: white; stroke-width: 4px; }\n</style>",
            1,
        )
    }
}

impl RenderBackend for Sheet {
    fn draw_rect(
        &mut self,
        xy: Point,
        size: Point,
        look: &StyleAttr,
        properties: Option<String>,
        clip: Option<ClipHandle>,
    ) {
        self.reach(xy.add(size));
        self.writer.draw_rect(xy, size, look, properties, clip);
    }

    fn draw_line(&mut self, start: Point, stop: Point, look: &StyleAttr, properties: Option<String>) {
        self.reach(start);
        self.reach(stop);
        self.writer.draw_line(start, stop, look, properties);
    }

    fn draw_circle(&mut self, xy: Point, size: Point, look: &StyleAttr, properties: Option<String>) {
        self.reach(xy.add(size.scale(0.5)));
        self.writer.draw_circle(xy, size, look, properties);
    }

    fn draw_text(&mut self, xy: Point, text: &str, look: &StyleAttr) {
        self.reach(xy.add(room_of(text).scale(0.5)));
        self.texts.push((xy, text.to_owned(), look.clone()));
    }

    fn draw_arrow(
        &mut self,
        path: &[(Point, Point)],
        dashed: bool,
        head: (bool, bool),
        look: &StyleAttr,
        properties: Option<String>,
        text: &str,
    ) {
        for (one, other) in path {
            self.reach(*one);
            self.reach(*other);
        }
        self.writer.draw_arrow(path, dashed, head, look, properties, text);
    }

    fn create_clip(&mut self, xy: Point, size: Point, rounded: usize) -> ClipHandle {
        self.writer.create_clip(xy, size, rounded)
    }
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
        TopologyKind::Ask | TopologyKind::Wait => style("darkblue", fill, 0),
        TopologyKind::Fail => style("darkred", fill, 0),
    };
    let lines: Vec<String> = node.lines().iter().map(|line| short(line)).collect();
    boxed(&lines.join("\n"), look)
}

fn boxed(text: &str, look: StyleAttr) -> Element {
    let size = room_of(text).add(Point::new(24.0, 16.0));
    Element::create(ShapeKind::new_box(text), look, Orientation::TopToBottom, size)
}

/// Estimates the size of a text: 8 by 18 per character and line.
#[allow(clippy::cast_precision_loss, reason = "labels are short")]
fn room_of(text: &str) -> Point {
    let longest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    Point::new(longest as f64 * 8.0, text.lines().count() as f64 * 18.0)
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

/// Returns a text on one line of at most [`LONGEST`] characters, without control characters.
fn short(text: &str) -> String {
    let text = visible(text).replace(['\n', '\t'], " ");
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
        Topology::of(&graph_walker::document::load("shape.yaml", &text, "t/shape").unwrap().graph)
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
    fn a_picture_is_as_large_as_what_is_in_it_and_texts_are_over_lines() {
        let long = "y".repeat(50);
        let picture = svg(&topology(&format!(
            "  start: a\n  nodes: {{ a: {{ next: [ {{ to: b, label: {long} }} ] }}, b: {{}} }}"
        )))
        .unwrap();
        let number = |text: &str, before: &str| -> f64 {
            let from = text.find(before).unwrap() + before.len();
            text[from..].split('"').next().unwrap().parse().unwrap()
        };
        let boxes: Vec<&str> = picture.split("<rect ").skip(1).collect();
        let bottoms = boxes.iter().map(|text| number(text, "y=\"") + number(text, "height=\""));
        let bottom = bottoms.fold(0.0, f64::max);
        let height = number(&picture, "height=\"");
        assert!(height >= bottom && height <= bottom + 2.0 * MARGIN, "{height}, {bottom}");
        assert!(picture.rfind("<path ") < picture.find(&long), "{picture}");
    }

    #[test]
    fn a_picture_that_nobody_could_read_is_refused() {
        let nodes: Vec<String> = (0..500).map(|at| format!("    n{at}: {{}}")).collect();
        let nodes = nodes.join("\n");
        assert!(svg(&topology(&format!("  start: n0\n  nodes:\n{nodes}"))).is_err());
    }
}
