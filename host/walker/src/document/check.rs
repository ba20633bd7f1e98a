//! Checks of the graph as a whole: reachability of nodes, and whether their writes match the channels.

use serde_json::Value;

use crate::graph::{Foreach, Graph, Node, NodeKind, WriteMode};
use crate::structure::reachable;
use graph_core::diagnostic::{Diagnostic, Problems, codes};
use graph_core::policy::Reducer;
use graph_core::yaml::MappingEntry;

/// Warns about probable mistakes in a graph whose parts are valid. `entries` are its nodes in the document.
pub(super) fn whole(graph: &Graph, entries: &[&MappingEntry], problems: &Problems) {
    let reached = reachable(graph);
    for (entry, _) in entries.iter().zip(&reached).filter(|(_, reached)| !**reached) {
        let message = format!("nothing leads to the node `{}`", entry.key.name);
        let problem = Diagnostic::warning(codes::UNREACHABLE_NODE, entry.key.span, message);
        problems.push(
            problem.help("lead to it with `start`, `next`, `on_error` or `command.goto`, or remove it"),
        );
    }
    for (entry, node) in entries.iter().zip(&graph.nodes) {
        warn_of_misfits(graph, entry, node, problems);
    }
}

/// Warns of writes that the reducer of their channel can never accept: the run fails at the first of them.
fn warn_of_misfits(graph: &Graph, entry: &MappingEntry, node: &Node, problems: &Problems) {
    let value = |key: &str| entry.value.as_mapping()?.get(key);
    if let NodeKind::Foreach(Foreach { collect: Some(key), .. }) = &node.kind
        && let Some((reducer, takes)) = taken_by(graph, key)
        && let Some(place) = value("collect")
    {
        let message = format!(
            "`collect` writes the list of all results to `{key}` in one write, and a `{reducer}` channel takes {takes}"
        );
        problems.push(Diagnostic::warning(codes::WRITE_MISFITS, place.span, message).help(
            "collect into an `append` channel, or let the item write each result by a command (`command: {write: [..]}`)",
        ));
    }
    for write in node.assign.iter().filter(|write| write.mode == WriteMode::Fold) {
        let key = &write.channel;
        let Some((reducer, takes)) = taken_by(graph, key) else { continue };
        let is_misfit = match write.value.literal() {
            None => false,
            Some(Value::Object(_)) => reducer != Reducer::Merge.as_str(),
            Some(Value::Number(_)) => reducer == Reducer::Merge.as_str(),
            Some(_) => true,
        };
        let place = value("assign").and_then(|assign| assign.as_mapping()?.get(key));
        if let (true, Some(place)) = (is_misfit, place) {
            let message = format!("`{key}` is a `{reducer}` channel, which takes {takes}");
            problems.push(Diagnostic::warning(codes::WRITE_MISFITS, place.span, message));
        }
    }
}

/// Returns the reducer of a channel that does not accept every value, and a description of the accepted values.
fn taken_by(graph: &Graph, key: &str) -> Option<(&'static str, &'static str)> {
    let channel = graph.channel(key)?;
    let takes = match channel.reducer {
        Reducer::Min | Reducer::Max | Reducer::Sum => "a number",
        Reducer::Merge => "a mapping",
        _ => return None,
    };
    Some((channel.reducer.as_str(), takes))
}
