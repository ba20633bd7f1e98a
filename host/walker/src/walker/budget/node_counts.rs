//! Counts of each node, with the changes since the newest checkpoint.

use std::collections::BTreeMap;

use crate::graph::{Graph, NodeIndex};

/// The counts of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::walker) struct NodeCount {
    /// Number of cached results used instead of a dispatch.
    pub cached: u64,
    /// Number of dispatches of the node's item.
    pub executions: u64,
    /// Number of tasks whose failure was handled.
    pub failed: u64,
    /// Number of visits.
    pub visits: u64,
}

/// The counts of the nodes of a graph.
#[derive(Clone, Debug)]
pub(in crate::walker) struct NodeCounts {
    counts: Vec<NodeCount>,
    /// The nodes whose counts changed since the newest checkpoint; some more than once.
    changed: Vec<NodeIndex>,
    /// By node: `true` if the newest checkpoint has a count of it.
    known: Vec<bool>,
    /// Number of nodes in `known`.
    counting: u64,
}

/// Counts by node name, as a checkpoint has them: zeros are left out.
#[derive(Debug, Default)]
pub(in crate::walker) struct CheckpointCounts {
    pub cached: BTreeMap<String, u64>,
    pub executions: BTreeMap<String, u64>,
    pub failed: BTreeMap<String, u64>,
    pub visits: BTreeMap<String, u64>,
}

impl CheckpointCounts {
    /// Number of entries in a checkpoint.
    pub(in crate::walker) fn entries(&self) -> u64 {
        (self.cached.len() + self.executions.len() + self.failed.len() + self.visits.len()) as u64
    }
}

impl NodeCounts {
    /// Creates counts of zero.
    pub(in crate::walker) fn new(graph: &Graph) -> Self {
        Self {
            counts: vec![NodeCount::default(); graph.nodes.len()],
            changed: Vec::new(),
            known: vec![false; graph.nodes.len()],
            counting: 0,
        }
    }

    /// Restores the counts from a checkpoint. The error is the name of a node that the graph does not have.
    pub(in crate::walker) fn restore(graph: &Graph, counted: CheckpointCounts) -> Result<Self, String> {
        let mut node_counts = Self::new(graph);
        let mut take = |counts: BTreeMap<String, u64>, set: fn(&mut NodeCount, u64)| {
            for (node, count) in counts {
                let Some(index) = graph.find(&node) else { return Err(node) };
                set(node_counts.get_mut(index), count);
            }
            Ok(())
        };
        take(counted.cached, |counts, count| counts.cached = count)?;
        take(counted.executions, |counts, count| counts.executions = count)?;
        take(counted.failed, |counts, count| counts.failed = count)?;
        take(counted.visits, |counts, count| counts.visits = count)?;
        node_counts.note_known();
        node_counts.changed.clear();
        Ok(node_counts)
    }

    /// The counts of a node.
    pub(in crate::walker) fn get(&self, node: NodeIndex) -> NodeCount {
        self.counts.get(node.0 as usize).copied().unwrap_or_default()
    }

    /// Returns the counts of a node to change, and marks them as changed.
    pub(in crate::walker) fn get_mut(&mut self, node: NodeIndex) -> &mut NodeCount {
        if self.changed.last() != Some(&node) {
            self.changed.push(node);
        }
        &mut self.counts[node.0 as usize]
    }

    /// Takes over another walker's counts, except for the visits.
    pub(in crate::walker) fn take_spent(&mut self, other: &Self) {
        for (place, (own, other)) in (0..).zip(self.counts.iter_mut().zip(&other.counts)) {
            let spent = NodeCount { visits: own.visits, ..*other };
            if *own != spent {
                *own = spent;
                self.changed.push(NodeIndex(place));
            }
        }
    }

    /// Number of nodes with any count when the changes were last taken.
    pub(in crate::walker) const fn counting(&self) -> u64 {
        self.counting
    }

    /// Returns all counts by the names of the nodes.
    pub(in crate::walker) fn all(&self, graph: &Graph) -> CheckpointCounts {
        self.counted(graph, (0..).map(NodeIndex).take(self.counts.len()))
    }

    /// Returns the changes since the last call, by the names of the nodes.
    pub(in crate::walker) fn take_changed(&mut self, graph: &Graph) -> CheckpointCounts {
        self.note_known();
        let changed = std::mem::take(&mut self.changed);
        self.counted(graph, changed)
    }

    fn note_known(&mut self) {
        for node in &self.changed {
            let at = node.0 as usize;
            if !self.known[at] && self.counts[at] != NodeCount::default() {
                self.known[at] = true;
                self.counting += 1;
            }
        }
    }

    fn counted(&self, graph: &Graph, nodes: impl IntoIterator<Item = NodeIndex>) -> CheckpointCounts {
        let mut counted = CheckpointCounts::default();
        for node in nodes {
            let NodeCount { cached, executions, failed, visits } = self.get(node);
            let maps = [
                (&mut counted.cached, cached),
                (&mut counted.executions, executions),
                (&mut counted.failed, failed),
                (&mut counted.visits, visits),
            ];
            for (map, count) in maps {
                if count > 0 {
                    map.insert(graph.node(node).name.clone(), count);
                }
            }
        }
        counted
    }
}
