//! Where a run goes: from its start, and from the tasks of a superstep to what is next.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::Walker;
use super::budget::Trouble;
use super::superstep::{Superstep, Task, TaskState};
use super::writes::node_result;
use crate::diagnostic::excerpt_up_to;
use crate::graph::{Edge, Graph, Next, Node, NodeIndex, NodeKind, OnItemError, OnNoMatch, OnStalledBarrier};
use crate::node::{Category, Failure, Outcome};
use crate::record::{ActivationKind, Canonical, ErrorCode, PendingActivation, RunError, Via};
use crate::template::{Root, Scope};
use crate::work::{Exhausted, Meter, rates, size};

/// A node that is next, or deferred.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) node: NodeIndex,
    pub(super) kind: ActivationKind,
    pub(super) argument: Option<Arc<Value>>,
}

impl Step {
    pub(super) fn plain(node: NodeIndex) -> Self {
        Self { node, kind: ActivationKind::Plain, argument: None }
    }

    fn send(node: NodeIndex, argument: Value) -> Self {
        Self { node, kind: ActivationKind::Send, argument: Some(Arc::new(argument)) }
    }

    /// As a checkpoint holds it.
    pub(super) fn record(&self, graph: &Graph) -> PendingActivation {
        PendingActivation {
            argument: self.argument.clone().map(Canonical),
            kind: self.kind,
            node: graph.node(self.node).name.clone(),
        }
    }

    /// From what a checkpoint holds; `None` if the graph has no such node.
    pub(super) fn restore(graph: &Graph, pending: &PendingActivation) -> Option<Self> {
        Some(Self {
            node: graph.find(&pending.node)?,
            kind: pending.kind,
            argument: pending.argument.as_ref().map(|argument| Arc::clone(&argument.0)),
        })
    }
}

/// How often each edge fired.
pub(super) type Fired = BTreeMap<(NodeIndex, Option<NodeIndex>, Via), u32>;

/// Where the tasks of a superstep go.
#[derive(Debug, Default)]
pub(super) struct Routes {
    pub(super) plain: Vec<NodeIndex>,
    seen: BTreeSet<NodeIndex>,
    sends: Vec<Step>,
    pub(super) edges: Fired,
    /// For each branch that ended because no edge matched: the node, and its edges as text.
    pub(super) unmatched: Vec<(String, String)>,
}

/// How long the edges of a node are told in a message, in characters: about as many.
const MOST_CANDIDATES: usize = 1_000;

/// Why it cannot be said where a node goes.
#[derive(Debug)]
pub(super) enum RouteError {
    Failed(RunError),
    Exhausted(Exhausted),
}

impl From<Exhausted> for RouteError {
    fn from(exhausted: Exhausted) -> Self {
        Self::Exhausted(exhausted)
    }
}

impl Routes {
    fn go(&mut self, to: NodeIndex) {
        if self.seen.insert(to) {
            self.plain.push(to);
        }
    }

    fn fire(&mut self, from: NodeIndex, to: Option<NodeIndex>, via: Via) {
        *self.edges.entry((from, to, via)).or_default() += 1;
    }
}

impl Walker {
    /// What is next at the start of the run.
    pub(super) fn begin(&mut self, meter: &Meter) -> Result<(), RunError> {
        let mut plain = Vec::new();
        let mut sends = Vec::new();
        let mut seen = BTreeSet::new();
        let run = self.run_document();
        let mut warnings = Vec::new();
        for target in &self.graph.start {
            let Some(argument) = &target.argument else {
                if seen.insert(target.node) {
                    plain.push(Step::plain(target.node));
                }
                continue;
            };
            let scope = Scope::new()
                .with("state", Root::Fields(&self.channels))
                .with("inputs", Root::Value(&self.setup.inputs))
                .with("run", Root::Value(&run));
            let node = self.graph.node(target.node);
            let value = self.evaluate(argument, &scope, node, &mut warnings, meter);
            let value = value.map_err(|trouble| match trouble {
                Trouble::Failed(failure) => RunError {
                    budget: None,
                    category: Some(failure.category),
                    code: ErrorCode::NodeFailed,
                    message: failure.message,
                    node: Some(node.name.clone()),
                },
                Trouble::Exhausted(exhausted) => self.exhausted(exhausted, Some(node.name.clone())).1,
            })?;
            sends.push(Step::send(target.node, value));
        }
        self.warnings.append(&mut warnings);
        self.schedule(plain.into_iter().chain(sends));
        self.drain();
        Ok(())
    }

    /// Puts activations where they belong: next, or deferred.
    pub(super) fn schedule(&mut self, steps: impl IntoIterator<Item = Step>) {
        for step in steps {
            if !self.graph.node(step.node).defer {
                self.next.push(step);
                continue;
            }
            let merges = step.kind != ActivationKind::Send
                && self
                    .deferred
                    .iter()
                    .any(|other| other.node == step.node && other.kind != ActivationKind::Send);
            if !merges {
                self.deferred.push(step);
            }
        }
    }

    /// With nothing else active, the deferred activations are next: plain targets, then barriers, then sends.
    pub(super) fn drain(&mut self) {
        if !self.next.is_empty() {
            return;
        }
        let deferred = std::mem::take(&mut self.deferred);
        for wanted in [ActivationKind::Plain, ActivationKind::Barrier, ActivationKind::Send] {
            let mut steps: Vec<Step> = deferred.iter().filter(|step| step.kind == wanted).cloned().collect();
            if wanted == ActivationKind::Barrier {
                steps.sort_by_key(|step| step.node);
            }
            self.next.extend(steps);
        }
    }

    /// Works out where an active node of a superstep goes, with the state as it commits.
    pub(super) fn route(
        &self,
        superstep: &Superstep,
        place: usize,
        routes: &mut Routes,
        warnings: &mut Vec<String>,
        meter: &Meter,
    ) -> Result<(), RouteError> {
        meter.charge(rates::VISIT)?;
        let active = &superstep.activated[place];
        let node = self.graph.node(active.node);
        if matches!(node.kind, NodeKind::Return { .. }) || go_by_error(superstep, place, node, routes) {
            return Ok(());
        }
        if !self.go_by_command(superstep, place, routes, meter)? {
            let result = node_result(node, superstep, place);
            self.go_by_edges(node, active.node, &result, routes, warnings, meter)?;
        }
        Ok(())
    }

    fn go_by_command(
        &self,
        superstep: &Superstep,
        place: usize,
        routes: &mut Routes,
        meter: &Meter,
    ) -> Result<bool, Exhausted> {
        let active = &superstep.activated[place];
        let mut went = false;
        for task in &superstep.tasks[active.tasks.clone()] {
            let TaskState::Done(answer) = &task.state else { continue };
            let Outcome::Command { goto, .. } = &*answer.outcome else { continue };
            for goto in goto {
                // The target was checked when the command came.
                let Some(target) = self.graph.find(&goto.node) else { continue };
                went = true;
                routes.fire(active.node, Some(target), Via::Goto);
                match &goto.argument {
                    None => routes.go(target),
                    Some(argument) => {
                        let argument = size::copy(argument, meter)?;
                        routes.sends.push(Step::send(target, argument));
                    }
                }
            }
        }
        Ok(went)
    }

    pub(super) fn go_by_edges(
        &self,
        node: &Node,
        from: NodeIndex,
        result: &Value,
        routes: &mut Routes,
        warnings: &mut Vec<String>,
        meter: &Meter,
    ) -> Result<(), RouteError> {
        let edges = match &node.next {
            Next::End => return Ok(()),
            Next::All(targets) => {
                for (place, target) in targets.iter().enumerate() {
                    routes.fire(from, Some(*target), Via::next(place));
                    routes.go(*target);
                }
                return Ok(());
            }
            Next::First(edges) => edges,
        };
        let scope = Scope::new()
            .with("state", Root::Fields(&self.channels))
            .with("result", Root::Value(result))
            .with("inputs", Root::Value(&self.setup.inputs));
        let mut found = None;
        for (place, edge) in edges.iter().enumerate() {
            let holds = match &edge.when {
                Some(when) => when.evaluate(&scope, warnings, meter)?,
                None => true,
            };
            if holds {
                found = Some((place, edge));
                break;
            }
        }
        if let Some((place, edge)) = found {
            if edge.to.is_empty() {
                routes.fire(from, None, Via::next(place));
            }
            for target in &edge.to {
                routes.fire(from, Some(*target), Via::next(place));
                routes.go(*target);
            }
            return Ok(());
        }
        let candidates = self.candidates(edges, meter)?;
        if self.graph.on_no_match == OnNoMatch::Fail {
            return Err(RouteError::Failed(RunError {
                budget: None,
                category: None,
                code: ErrorCode::NoEdgeMatched,
                message: format!("no edge of node `{}` matches: {candidates}", node.name),
                node: Some(node.name.clone()),
            }));
        }
        routes.unmatched.push((node.name.clone(), candidates));
        Ok(())
    }

    /// The edges of a node for a message. Their texts are as long as the document's at most, so each is charged once it is
    /// there; what is kept of them is short.
    fn candidates(&self, edges: &[Edge], meter: &Meter) -> Result<String, Exhausted> {
        let mut candidates = String::new();
        for edge in edges {
            let to: Vec<&str> = edge.to.iter().map(|node| self.graph.node(*node).name.as_str()).collect();
            let when = edge.when.as_ref().map(ToString::to_string).unwrap_or_default();
            let candidate = format!("`{}` when {when}", to.join(", "));
            meter.charge(rates::VALUE)?;
            meter.charge_each(candidate.len(), rates::BYTE)?;
            if candidates.len() >= MOST_CANDIDATES {
                candidates.push_str("; …");
                break;
            }
            let separator = if candidates.is_empty() { "" } else { "; " };
            candidates.push_str(separator);
            candidates.push_str(&excerpt_up_to(&candidate, MOST_CANDIDATES));
        }
        Ok(candidates)
    }

    /// Takes the routes: what is next, which barriers have opened, what is deferred.
    pub(super) fn follow(&mut self, routes: Routes, superstep: &Superstep) {
        self.next.clear();
        let arrived: BTreeSet<NodeIndex> = superstep.activated.iter().map(|active| active.node).collect();
        let opened = self.arrive(&arrived);
        let Routes { plain, sends, .. } = routes;
        self.schedule(plain.into_iter().map(Step::plain).chain(opened).chain(sends));
        self.drain();
    }

    /// Counts arrivals at barriers, and gives those that open.
    pub(super) fn arrive(&mut self, arrived: &BTreeSet<NodeIndex>) -> Vec<Step> {
        let mut opened = Vec::new();
        let graph = Arc::clone(&self.graph);
        for (barrier, node) in graph.indexed().filter(|(_, node)| !node.wait_for.is_empty()) {
            let new = node.wait_for.iter().filter(|waited| arrived.contains(waited));
            let here = self.barriers.entry(barrier).or_default();
            here.extend(new);
            if node.wait_for.iter().all(|waited| here.contains(waited)) {
                here.clear();
                opened.push(Step { node: barrier, kind: ActivationKind::Barrier, argument: None });
            }
        }
        opened
    }

    /// With nothing next: a half-filled barrier opens, is told of, or stalls the run.
    pub(super) fn check_stalled(&mut self, warnings: &mut Vec<String>) {
        if !self.next.is_empty() {
            return;
        }
        let stalled: Vec<NodeIndex> = self
            .barriers
            .iter()
            .filter(|(_, arrived)| !arrived.is_empty())
            .map(|(barrier, _)| *barrier)
            .collect();
        match self.graph.on_stalled_barrier {
            OnStalledBarrier::Release => {
                for barrier in stalled {
                    self.barriers.remove(&barrier);
                    self.next.push(Step { node: barrier, kind: ActivationKind::Barrier, argument: None });
                }
            }
            OnStalledBarrier::Warn => {
                for barrier in stalled {
                    warnings.push(self.stall_text(barrier));
                }
            }
            OnStalledBarrier::Fail => {}
        }
    }

    /// Whether the run cannot end because a barrier is half-filled.
    pub(super) fn is_stalled(&self) -> bool {
        self.graph.on_stalled_barrier == OnStalledBarrier::Fail
            && self.next.is_empty()
            && self.barriers.values().any(|arrived| !arrived.is_empty())
    }

    fn stall_text(&self, barrier: NodeIndex) -> String {
        let node = self.graph.node(barrier);
        let arrived = self.barriers.get(&barrier);
        let missing: Vec<String> = node
            .wait_for
            .iter()
            .filter(|waited| !arrived.is_some_and(|arrived| arrived.contains(waited)))
            .map(|waited| format!("`{}`", self.graph.node(*waited).name))
            .collect();
        format!("barrier `{}` never opened: it still waits for {}", node.name, missing.join(", "))
    }

    pub(super) fn stalled(&self) -> RunError {
        let barrier =
            self.barriers.iter().find(|(_, arrived)| !arrived.is_empty()).map(|(barrier, _)| *barrier);
        RunError {
            budget: None,
            category: None,
            code: ErrorCode::StalledBarrier,
            message: barrier.map_or_else(|| "nothing is next".to_owned(), |barrier| self.stall_text(barrier)),
            node: barrier.map(|barrier| self.graph.node(barrier).name.clone()),
        }
    }
}

/// Goes where the failure of a node leads, if it has failed and that leads anywhere.
fn go_by_error(superstep: &Superstep, place: usize, node: &Node, routes: &mut Routes) -> bool {
    let failed =
        failed_task(node, superstep, place).filter(|(task, _)| !task.is_some_and(|task| task.continued));
    let (Some(_), Some(target)) = (failed, node.on_error) else {
        return false;
    };
    routes.fire(superstep.activated[place].node, Some(target), Via::Error);
    routes.go(target);
    true
}

/// The handled failure of an active node, if it has one: of a `foreach`, one that its items' own rule did not handle, or
/// that of its `assign`.
pub(super) fn node_failure<'a>(node: &Node, superstep: &'a Superstep, place: usize) -> Option<&'a Failure> {
    failed_task(node, superstep, place).map(|(_, failure)| failure)
}

/// As [`node_failure`], with the task that failed, unless it was the `assign` of the node as a whole.
pub(super) fn failed_task<'a>(
    node: &Node,
    superstep: &'a Superstep,
    place: usize,
) -> Option<(Option<&'a Task>, &'a Failure)> {
    let own_rule =
        matches!(&node.kind, NodeKind::Foreach(foreach) if foreach.on_item_error != OnItemError::Fail);
    let active = &superstep.activated[place];
    let of_task = superstep.tasks[active.tasks.clone()].iter().find_map(|task| match &task.state {
        TaskState::Handled(failure) if !(own_rule && task.item.is_some()) => Some((Some(task), failure)),
        _ => None,
    });
    of_task.or_else(|| Some((None, active.assigned.as_ref()?.as_ref().err()?)))
}

/// A failure as edges read it in `result`.
pub(super) fn failure_document(failure: &Failure) -> Value {
    json!({
        "status": "error",
        "success": false,
        "error": failure.message,
        "message": failure.message,
        "category": failure.category.as_str(),
        "details": failure.details,
    })
}

/// Whether a failure stops the run as a denial.
pub(super) fn code_of(failure: &Failure) -> ErrorCode {
    match failure.category {
        Category::Denied => ErrorCode::Denied,
        _ => ErrorCode::NodeFailed,
    }
}
