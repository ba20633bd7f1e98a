//! The agenda of a run: the next activations, deferred ones, and half-filled barriers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use crate::graph::{Graph, NodeIndex};
use graph_core::record::{ActivationKind, CanonicalValue, EdgeKind, PendingActivation};

/// A node that is next, or deferred.
#[derive(Clone, Debug)]
pub(in crate::walker) struct AgendaStep {
    node: NodeIndex,
    kind: ActivationKind,
    argument: Option<Arc<Value>>,
}

impl AgendaStep {
    /// Creates a step for the target of an edge.
    pub(in crate::walker) const fn plain(node: NodeIndex) -> Self {
        Self { node, kind: ActivationKind::Plain, argument: None }
    }

    /// Creates a step for a node with an argument of its own.
    pub(in crate::walker) fn send(node: NodeIndex, argument: Value) -> Self {
        Self { node, kind: ActivationKind::Send, argument: Some(Arc::new(argument)) }
    }

    /// Creates a step for a barrier that has opened.
    const fn barrier(node: NodeIndex) -> Self {
        Self { node, kind: ActivationKind::Barrier, argument: None }
    }

    /// The node to activate.
    #[inline]
    pub(in crate::walker) const fn node(&self) -> NodeIndex {
        self.node
    }

    /// The cause of the activation.
    #[inline]
    pub(in crate::walker) const fn kind(&self) -> ActivationKind {
        self.kind
    }

    #[inline]
    pub(in crate::walker) const fn argument(&self) -> Option<&Arc<Value>> {
        self.argument.as_ref()
    }

    /// Returns the form that a checkpoint contains.
    pub(in crate::walker) fn record(&self, graph: &Graph) -> PendingActivation {
        PendingActivation {
            argument: self.argument.clone().map(CanonicalValue),
            kind: self.kind,
            node: graph.node(self.node).name.clone(),
        }
    }

    /// Restores a step from its form in a checkpoint; `None` if the graph has no such node.
    pub(in crate::walker) fn restore(graph: &Graph, pending: &PendingActivation) -> Option<Self> {
        Some(Self {
            node: graph.find(&pending.node)?,
            kind: pending.kind,
            argument: pending.argument.as_ref().map(|argument| Arc::clone(&argument.0)),
        })
    }
}

/// Number of times that each edge fired, by source, target and kind.
pub(in crate::walker) type FiredEdges = BTreeMap<(NodeIndex, Option<NodeIndex>, EdgeKind), u32>;

/// The activations that the tasks of a superstep lead to.
#[derive(Debug, Default)]
pub(in crate::walker) struct Routes {
    plain: Vec<NodeIndex>,
    seen: BTreeSet<NodeIndex>,
    sends: Vec<AgendaStep>,
    edges: FiredEdges,
    /// Branches that ended because no edge matched: the node, and its edges as text.
    unmatched: Vec<(String, String)>,
}

impl Routes {
    /// Adds the target of an edge; each target counts once.
    #[inline]
    pub(in crate::walker) fn go(&mut self, to: NodeIndex) {
        if self.seen.insert(to) {
            self.plain.push(to);
        }
    }

    /// Adds a node that a command sends an argument to.
    #[inline]
    pub(in crate::walker) fn send(&mut self, to: NodeIndex, argument: Value) {
        self.sends.push(AgendaStep::send(to, argument));
    }

    /// Counts an edge that has fired.
    #[inline]
    pub(in crate::walker) fn fire(&mut self, from: NodeIndex, to: Option<NodeIndex>, via: EdgeKind) {
        *self.edges.entry((from, to, via)).or_default() += 1;
    }

    /// Records that no edge of a node matched.
    pub(in crate::walker) fn end_unmatched(&mut self, node: String, candidates: String) {
        self.unmatched.push((node, candidates));
    }

    /// Takes the counts of the edges that fired.
    pub(in crate::walker) fn take_fired(&mut self) -> FiredEdges {
        std::mem::take(&mut self.edges)
    }

    /// Takes the branches that ended because no edge matched.
    pub(in crate::walker) fn take_unmatched(&mut self) -> Vec<(String, String)> {
        std::mem::take(&mut self.unmatched)
    }
}

/// The agenda of a run.
#[derive(Clone, Debug, Default)]
pub(in crate::walker) struct Agenda {
    next: Vec<AgendaStep>,
    deferred: Vec<AgendaStep>,
    /// The nodes that have arrived at each barrier.
    barriers: BTreeMap<NodeIndex, BTreeSet<NodeIndex>>,
}

impl Agenda {
    /// Restores the agenda from a checkpoint.
    pub(in crate::walker) const fn restore(
        next: Vec<AgendaStep>,
        deferred: Vec<AgendaStep>,
        barriers: BTreeMap<NodeIndex, BTreeSet<NodeIndex>>,
    ) -> Self {
        Self { next, deferred, barriers }
    }

    /// The activations of the next superstep.
    #[inline]
    pub(in crate::walker) fn next(&self) -> &[AgendaStep] {
        &self.next
    }

    /// The activations that wait until nothing else is next.
    #[inline]
    pub(in crate::walker) fn deferred(&self) -> &[AgendaStep] {
        &self.deferred
    }

    /// Returns the barriers at which nodes have arrived, and these nodes.
    pub(in crate::walker) fn part_open(&self) -> impl Iterator<Item = (NodeIndex, &BTreeSet<NodeIndex>)> {
        let arrived = self.barriers.iter().filter(|(_, arrived)| !arrived.is_empty());
        arrived.map(|(barrier, arrived)| (*barrier, arrived))
    }

    /// Returns `true` if the node has arrived at the barrier.
    pub(in crate::walker) fn has_arrived(&self, node: NodeIndex, barrier: NodeIndex) -> bool {
        self.barriers.get(&barrier).is_some_and(|arrived| arrived.contains(&node))
    }

    /// Removes all activations and barriers, since the run ends.
    pub(in crate::walker) fn clear(&mut self) {
        self.next.clear();
        self.deferred.clear();
        self.barriers.clear();
    }

    /// Sets the activations at the start of the run.
    pub(in crate::walker) fn begin(&mut self, graph: &Graph, steps: impl IntoIterator<Item = AgendaStep>) {
        self.schedule(graph, steps);
        self.drain();
    }

    /// Applies the routes of a superstep: next activations, opened barriers, deferred activations.
    pub(in crate::walker) fn follow(&mut self, graph: &Graph, routes: Routes, arrived: &BTreeSet<NodeIndex>) {
        self.next.clear();
        let opened = self.arrive(graph, arrived);
        let Routes { plain, sends, .. } = routes;
        self.schedule(graph, plain.into_iter().map(AgendaStep::plain).chain(opened).chain(sends));
        self.drain();
    }

    /// Puts the routes of a node in the place of the next activations that `gives_way` selects, or after all others.
    /// `arrives`: the node counts at barriers.
    pub(in crate::walker) fn replace(
        &mut self,
        graph: &Graph,
        gives_way: impl Fn(&AgendaStep) -> bool,
        routes: Routes,
        arrives: Option<NodeIndex>,
    ) {
        let before = self.next.iter().take_while(|step| !gives_way(step)).count();
        let mut steps: Vec<AgendaStep> = std::mem::take(&mut self.next);
        steps.retain(|step| !gives_way(step));
        let behind = steps.split_off(before.min(steps.len()));
        let opened = arrives.map(|node| self.arrive(graph, &BTreeSet::from([node]))).unwrap_or_default();
        let stays: BTreeSet<NodeIndex> = steps
            .iter()
            .chain(&behind)
            .filter(|step| step.kind == ActivationKind::Plain)
            .map(|step| step.node)
            .collect();
        self.next = steps;
        self.schedule(
            graph,
            routes.plain.into_iter().filter(|target| !stays.contains(target)).map(AgendaStep::plain),
        );
        self.next.extend(behind);
        self.schedule(graph, opened);
        self.drain();
    }

    /// Opens the barriers at which some nodes have arrived, and not all.
    pub(in crate::walker) fn release_barriers(&mut self) {
        let stalled: Vec<NodeIndex> = self.part_open().map(|(barrier, _)| barrier).collect();
        for barrier in stalled {
            self.barriers.remove(&barrier);
            self.next.push(AgendaStep::barrier(barrier));
        }
    }

    /// Adds activations to the next or to the deferred ones.
    fn schedule(&mut self, graph: &Graph, steps: impl IntoIterator<Item = AgendaStep>) {
        // The nodes that are deferred without an argument: another activation of one merges with it.
        let mut merging: Option<BTreeSet<NodeIndex>> = None;
        for step in steps {
            if !graph.node(step.node).defer {
                self.next.push(step);
                continue;
            }
            let without_argument = |step: &AgendaStep| step.kind != ActivationKind::Send;
            let merging = merging.get_or_insert_with(|| {
                self.deferred.iter().filter(|step| without_argument(step)).map(|step| step.node).collect()
            });
            if !without_argument(&step) || merging.insert(step.node) {
                self.deferred.push(step);
            }
        }
    }

    /// Makes the deferred activations the next ones if there are no others: plain targets, then barriers, then sends.
    fn drain(&mut self) {
        if !self.next.is_empty() {
            return;
        }
        let deferred = std::mem::take(&mut self.deferred);
        for wanted in [ActivationKind::Plain, ActivationKind::Barrier, ActivationKind::Send] {
            let mut steps: Vec<AgendaStep> =
                deferred.iter().filter(|step| step.kind == wanted).cloned().collect();
            if wanted == ActivationKind::Barrier {
                steps.sort_by_key(|step| step.node);
            }
            self.next.extend(steps);
        }
    }

    /// Adds arrivals at barriers, and returns the barriers that open.
    fn arrive(&mut self, graph: &Graph, arrived: &BTreeSet<NodeIndex>) -> Vec<AgendaStep> {
        let mut opened = Vec::new();
        for (barrier, node) in graph.indexed().filter(|(_, node)| !node.wait_for.is_empty()) {
            let new = node.wait_for.iter().filter(|waited| arrived.contains(waited));
            let here = self.barriers.entry(barrier).or_default();
            here.extend(new);
            if node.wait_for.iter().all(|waited| here.contains(waited)) {
                here.clear();
                opened.push(AgendaStep::barrier(barrier));
            }
        }
        opened
    }
}
