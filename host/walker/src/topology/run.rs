//! The picture of a run: counts of visits of nodes and of edges taken.

use std::collections::BTreeMap;

use super::{Topology, TopologyEdge, TopologyEdgeKind};
use graph_core::record::{Checkpoint, EdgeKind, FiredEdge};

impl Topology {
    /// Adds the counts of nodes and edges from a run's checkpoints, in order.
    #[must_use]
    pub fn of_run<'a>(mut self, checkpoints: impl IntoIterator<Item = &'a Checkpoint>) -> Self {
        for edge in &mut self.edges {
            edge.fired = Some(0);
        }
        let mut newest = None;
        let mut visits: BTreeMap<&str, u64> = BTreeMap::new();
        for checkpoint in checkpoints {
            for fired in &checkpoint.fired {
                self.add(fired);
            }
            visits.extend(checkpoint.visits.iter().map(|(node, count)| (node.as_str(), *count)));
            newest = Some(checkpoint);
        }
        if newest.is_none() {
            return self;
        }
        for node in &mut self.nodes {
            node.visits = Some(visits.get(node.name.as_str()).copied().unwrap_or(0));
        }
        // No record has the unconditional end of a branch: it was taken at the visits without a goto and without a handled failure.
        let mut elsewhere: BTreeMap<String, u64> = BTreeMap::new();
        for edge in &self.edges {
            if let (Some(from), TopologyEdgeKind::Goto | TopologyEdgeKind::Error) = (&edge.from, edge.kind) {
                *elsewhere.entry(from.clone()).or_default() += edge.fired.unwrap_or(0);
            }
        }
        for edge in &mut self.edges {
            match (&edge.from, edge.kind) {
                (Some(from), TopologyEdgeKind::Always) if edge.to.is_none() => {
                    let visits = visits.get(from.as_str()).copied().unwrap_or(0);
                    edge.fired = Some(visits.saturating_sub(elsewhere.get(from).copied().unwrap_or(0)));
                }
                (None, _) => edge.fired = Some(1),
                // A node arrives at a barrier each time that it has completed.
                (Some(awaited), TopologyEdgeKind::Wait) => {
                    edge.fired = Some(visits.get(awaited.as_str()).copied().unwrap_or(0));
                }
                _ => {}
            }
        }
        self
    }

    fn add(&mut self, fired: &FiredEdge) {
        let is = |edge: &&mut TopologyEdge| {
            let kind = match fired.via {
                EdgeKind::Next(place) => edge.place == Some(place),
                EdgeKind::Error => edge.kind == TopologyEdgeKind::Error,
                EdgeKind::Goto => edge.kind == TopologyEdgeKind::Goto,
                EdgeKind::NoMatch => false,
            };
            kind && edge.from.as_ref() == Some(&fired.from) && edge.to == fired.to
        };
        // An edge that the graph does not have is not drawn: its records are of another version of the graph.
        if let Some(edge) = self.edges.iter_mut().find(is) {
            edge.fired = edge.fired.map(|count| count.saturating_add(u64::from(fired.count)));
        }
    }
}
