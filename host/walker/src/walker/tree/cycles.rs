//! Cycles of graphs that run each other.

use std::collections::BTreeSet;

use serde_json::Value;

use super::names::graph_of;
use crate::graph::Graph;
use crate::walker::setup::Graphs;
use graph_core::id::path_of;
use graph_core::item::{ItemOperation, ItemType};

/// Finds the cycles among a graph and those that it names by literal ids: each as the ids from a graph back to itself.
/// A run of such a graph ends at the depth limit, unless a condition ends it before.
pub fn cycles(graph: &Graph, graphs: &Graphs) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut done = BTreeSet::new();
    walk(graph, graphs, &mut Vec::new(), &mut done, &mut found);
    found
}

fn walk<'g>(
    graph: &'g Graph,
    graphs: &'g Graphs,
    path: &mut Vec<&'g str>,
    done: &mut BTreeSet<&'g str>,
    found: &mut Vec<Vec<String>>,
) {
    if let Some(at) = path.iter().position(|id| *id == graph.id) {
        let cycle: Vec<String> =
            path[at..].iter().copied().chain([graph.id.as_str()]).map(str::to_owned).collect();
        if !found.contains(&cycle) {
            found.push(cycle);
        }
        return;
    }
    if done.contains(graph.id.as_str()) {
        return;
    }
    path.push(&graph.id);
    for id in named(graph) {
        // A graph can name itself by its own id, even if its file is not an item.
        if id == graph.id {
            walk(graph, graphs, path, done, found);
        } else if let Some(child) = graph_of(graphs, id) {
            walk(child, graphs, path, done, found);
        }
    }
    path.pop();
    done.insert(&graph.id);
}

/// Returns the items that a graph's nodes execute by literal ids, each once, without versions and functions.
pub fn named(graph: &Graph) -> BTreeSet<&str> {
    let actions = graph.nodes.iter().filter_map(|node| node.action.as_ref());
    actions
        .filter(|action| action.operation == ItemOperation::Execute && action.item_type == ItemType::Tool)
        .filter_map(|action| action.item_id.literal().and_then(Value::as_str))
        .map(path_of)
        .collect()
}
