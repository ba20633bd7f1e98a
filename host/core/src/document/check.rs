//! The graph as a whole: which nodes can be reached.

use std::collections::VecDeque;

use crate::diagnostic::{Diagnostic, Problems, codes};
use crate::graph::{Graph, Next, Node, NodeIndex};
use crate::yaml::Entry;

/// Warns about what is doubtful in a graph whose parts are sound. `entries` are its nodes in the document.
pub(super) fn whole(graph: &Graph, entries: &[&Entry], problems: &Problems) {
    let reached = reachable(graph);
    for (entry, _) in entries.iter().zip(&reached).filter(|(_, reached)| !**reached) {
        let message = format!("nothing leads to the node `{}`", entry.key.name);
        let problem = Diagnostic::warning(codes::UNREACHABLE_NODE, entry.key.span, message);
        problems.push(
            problem.help("lead to it with `start`, `next`, `on_error` or `command.goto`, or remove it"),
        );
    }
}

/// The nodes that a node can lead to by itself.
fn successors(node: &Node) -> impl Iterator<Item = NodeIndex> {
    let next: Vec<NodeIndex> = match &node.next {
        Next::End => Vec::new(),
        Next::All(targets) => targets.clone(),
        Next::First(edges) => edges.iter().flat_map(|edge| edge.to.iter().copied()).collect(),
    };
    let goto: Vec<NodeIndex> = node.command.iter().flat_map(|command| command.goto.iter().copied()).collect();
    next.into_iter().chain(node.on_error).chain(goto)
}

/// For each node whether it can run: something leads to it, or all that it waits for can run.
fn reachable(graph: &Graph) -> Vec<bool> {
    let mut reached = vec![false; graph.nodes.len()];
    let mut waiting: Vec<usize> = graph.nodes.iter().map(|node| node.wait_for.len()).collect();
    let mut barriers = vec![Vec::new(); graph.nodes.len()];
    for (index, node) in graph.indexed() {
        for awaited in &node.wait_for {
            barriers[awaited.0 as usize].push(index);
        }
    }
    let mut queue: VecDeque<NodeIndex> = graph.start.iter().map(|target| target.node).collect();
    while let Some(index) = queue.pop_front() {
        if std::mem::replace(&mut reached[index.0 as usize], true) {
            continue;
        }
        queue.extend(successors(graph.node(index)));
        for barrier in &barriers[index.0 as usize] {
            let left = &mut waiting[barrier.0 as usize];
            *left -= 1;
            if *left == 0 {
                queue.push_back(*barrier);
            }
        }
    }
    reached
}
