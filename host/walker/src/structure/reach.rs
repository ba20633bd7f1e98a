//! Reachability of nodes.

use std::collections::VecDeque;

use crate::graph::{Graph, Next, Node, NodeIndex};

/// Returns the nodes to which a node can lead directly.
fn successors(node: &Node) -> impl Iterator<Item = NodeIndex> {
    let next: Vec<NodeIndex> = match &node.next {
        Next::End => Vec::new(),
        Next::All(targets) => targets.clone(),
        Next::First(edges) => edges.iter().flat_map(|edge| edge.to.iter().copied()).collect(),
    };
    let goto: Vec<NodeIndex> = node.command.iter().flat_map(|command| command.goto.iter().copied()).collect();
    next.into_iter().chain(node.on_error).chain(goto)
}

/// Computes for each node whether it can run: an edge leads to it, or all nodes that it waits for can run.
pub(crate) fn reachable(graph: &Graph) -> Vec<bool> {
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
