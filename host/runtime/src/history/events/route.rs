//! Explains the edges that fired.

use graph_core::diagnostic::one_line;
use graph_core::record::{EdgeKind, FiredEdge};
use graph_walker::graph::{Graph, Next};
use serde_json::{Value, json};

/// Limit of a shown condition, in characters.
const LONGEST: usize = 500;

/// Explains an edge that fired, or the absence of one, with the graph's document if there is one.
pub(super) fn route(fired: &FiredEdge, graph: Option<&Graph>) -> Value {
    let mut fields = json!({
        "node": fired.from,
        "to": fired.to,
        "by": by(fired.via),
        "edge": null,
        "label": null,
        "when": null,
        "count": fired.count,
    });
    let EdgeKind::Next(place) = fired.via else { return fields };
    fields["edge"] = place.into();
    let node = graph.and_then(|graph| Some(graph.node(graph.find(&fired.from)?)));
    match node.map(|node| &node.next) {
        Some(Next::All(_)) => fields["by"] = "always".into(),
        Some(Next::First(edges)) => {
            let Some(edge) = usize::try_from(place).ok().and_then(|place| edges.get(place)) else {
                return fields;
            };
            fields["label"] = edge.label.as_deref().into();
            fields["when"] = edge.when.as_ref().map(|when| one_line(&when.to_string(), LONGEST)).into();
            fields["by"] = match &edge.when {
                Some(_) => "condition",
                None if edges.iter().any(|edge| edge.when.is_some()) => "default",
                None => "always",
            }
            .into();
        }
        Some(Next::End) | None => {}
    }
    fields
}

/// Returns the kind of edge that the record names, without the graph.
const fn by(via: EdgeKind) -> &'static str {
    match via {
        EdgeKind::Next(_) => "next",
        EdgeKind::Error => "on_error",
        EdgeKind::Goto => "goto",
        EdgeKind::NoMatch => "no_match",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn each_reason_has_a_word() {
        let text = "version: '1'\ntool_type: graph\nexecutor_id: graph-host\nconfig:\n  start: a\n  nodes:\n    \
                    a: { next: [{ to: b, when: { path: state.n, op: lt, value: 3 }, label: small }, { to: [] }] }\n    \
                    b: { next: [a, c] }\n    c: { next: [{ to: a, label: back }] }\n";
        let graph = graph_walker::document::load("g.yaml", text, "g").unwrap().graph;
        let fields = |from: &str, via: EdgeKind| {
            let fired = FiredEdge { count: 1, from: from.into(), to: None, via };
            let fields = route(&fired, Some(&graph));
            let text = |key: &str| fields[key].as_str().map(str::to_owned);
            (text("by").unwrap(), text("label"), text("when"))
        };
        let small = fields("a", EdgeKind::Next(0));
        assert_eq!((small.0.as_str(), small.1.as_deref()), ("condition", Some("small")));
        assert!(small.2.unwrap().contains("state.n"));
        assert_eq!(fields("a", EdgeKind::Next(1)), ("default".into(), None, None));
        assert_eq!(fields("b", EdgeKind::Next(1)), ("always".into(), None, None));
        assert_eq!(fields("c", EdgeKind::Next(0)), ("always".into(), Some("back".into()), None));
        assert_eq!(fields("a", EdgeKind::Next(7)).0, "next", "of another version of the graph");
        assert_eq!(fields("a", EdgeKind::Error).0, "on_error");
        assert_eq!(fields("a", EdgeKind::Goto).0, "goto");
        assert_eq!(fields("a", EdgeKind::NoMatch).0, "no_match");
    }
}
