//! Routing: from the start of a run, and from the tasks of a superstep, to the next activations.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::graph::{Edge, Next, Node, NodeIndex, NodeKind};
use crate::walker::Walker;
use crate::walker::budget::run_budget::NodeWorkError;
use crate::walker::state::writes::node_result;
use crate::walker::tasks::agenda::{AgendaStep, Routes};
use crate::walker::tasks::superstep::{ActivatedNode, Superstep};
use crate::walker::tasks::task::{Task, TaskState};
use graph_core::diagnostic::excerpt_up_to;
use graph_core::node::{Category, Failure, Outcome};
use graph_core::policy::{OnItemError, OnNoMatch, OnStalledBarrier};
use graph_core::record::{EdgeKind, ErrorCode, RunError};
use graph_core::template::{Root, Scope};
use graph_core::work::{FuelExhausted, Meter, rates, size};

/// Approximate limit of a node's edges in a message, in characters.
const MOST_CANDIDATES: usize = 1_000;

/// Reason why the routes of a node cannot be determined.
#[derive(Debug)]
pub(in crate::walker) enum RouteError {
    Failed(RunError),
    Exhausted(FuelExhausted),
}

impl From<FuelExhausted> for RouteError {
    fn from(exhausted: FuelExhausted) -> Self {
        Self::Exhausted(exhausted)
    }
}

impl Walker {
    /// Determines the activations at the start of the run.
    pub(in crate::walker) fn begin(&mut self, meter: &Meter) -> Result<(), RunError> {
        let mut plain = Vec::new();
        let mut sends = Vec::new();
        let mut seen = BTreeSet::new();
        let run = self.run_fields();
        let mut warnings = Vec::new();
        for target in &self.graph.start {
            let Some(argument) = &target.argument else {
                if seen.insert(target.node) {
                    plain.push(AgendaStep::plain(target.node));
                }
                continue;
            };
            let scope = Scope::new()
                .with("state", Root::Fields(&self.channels))
                .with("inputs", Root::Value(&self.setup.inputs))
                .with("run", Root::Fields(&run));
            let node = self.graph.node(target.node);
            let value = self.evaluate(argument, &scope, node, &mut warnings, meter);
            let value = value.map_err(|error| match error {
                NodeWorkError::Failed(failure) => RunError {
                    category: Some(failure.category),
                    node: Some(node.name.clone()),
                    ..RunError::new(ErrorCode::NodeFailed, failure.message)
                },
                NodeWorkError::Exhausted(exhausted) => self.exhausted(exhausted, Some(node.name.clone())).1,
            })?;
            sends.push(AgendaStep::send(target.node, value));
        }
        self.warnings.extend(warnings);
        self.agenda.begin(&self.graph, plain.into_iter().chain(sends));
        Ok(())
    }

    /// Determines the routes of an active node of a superstep, with the state as it commits.
    pub(in crate::walker) fn route(
        &self,
        superstep: &Superstep,
        place: usize,
        routes: &mut Routes,
        warnings: &mut Vec<String>,
        meter: &Meter,
    ) -> Result<(), RouteError> {
        meter.charge(rates::VISIT)?;
        let active = &superstep.activated()[place];
        let node = self.graph.node(active.node());
        if matches!(node.kind, NodeKind::Return { .. }) || go_by_error(superstep, place, node, routes) {
            return Ok(());
        }
        if !self.go_by_command(superstep, place, routes, meter)? {
            let result = node_result(node, superstep, place);
            self.go_by_edges(node, (active.node(), active.visit()), &result, routes, warnings, meter)?;
        }
        Ok(())
    }

    fn go_by_command(
        &self,
        superstep: &Superstep,
        place: usize,
        routes: &mut Routes,
        meter: &Meter,
    ) -> Result<bool, FuelExhausted> {
        let active = &superstep.activated()[place];
        let mut went = false;
        for task in superstep.tasks_of(active) {
            let TaskState::Done(answer) = task.state() else { continue };
            let Outcome::Command { goto, .. } = &*answer.outcome else { continue };
            for goto in goto {
                // The target was checked when the command came: a name that is no node is the end of the branch.
                went = true;
                let Some(target) = self.graph.find(&goto.node) else {
                    routes.fire(active.node(), None, EdgeKind::Goto);
                    continue;
                };
                routes.fire(active.node(), Some(target), EdgeKind::Goto);
                match &goto.argument {
                    None => routes.go(target),
                    Some(argument) => {
                        let argument = size::copy(argument, meter)?;
                        routes.send(target, argument);
                    }
                }
            }
        }
        Ok(went)
    }

    pub(in crate::walker) fn go_by_edges(
        &self,
        node: &Node,
        (from, visit): (NodeIndex, u64),
        result: &Value,
        routes: &mut Routes,
        warnings: &mut Vec<String>,
        meter: &Meter,
    ) -> Result<(), RouteError> {
        let edges = match &node.next {
            Next::End => return Ok(()),
            Next::All(targets) => {
                for (place, target) in targets.iter().enumerate() {
                    routes.fire(from, Some(*target), EdgeKind::next(place));
                    routes.go(*target);
                }
                return Ok(());
            }
            Next::First(edges) => edges,
        };
        let context = self.edge_context(node, from, visit, meter)?;
        let mut scope = Scope::new()
            .with("state", Root::Fields(&self.channels))
            .with("result", Root::Value(result))
            .with("inputs", Root::Value(&self.setup.inputs));
        if let Some(context) = &context {
            scope = scope.with("node", Root::Value(context.node()));
        }
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
                routes.fire(from, None, EdgeKind::next(place));
            }
            for target in &edge.to {
                routes.fire(from, Some(*target), EdgeKind::next(place));
                routes.go(*target);
            }
            return Ok(());
        }
        let candidates = self.candidates(edges, meter)?;
        if self.graph.on_no_match == OnNoMatch::Fail {
            let message = format!("no edge of node `{}` matches: {candidates}", node.name);
            return Err(RouteError::Failed(RunError {
                node: Some(node.name.clone()),
                ..RunError::new(ErrorCode::NoEdgeMatched, message)
            }));
        }
        routes.fire(from, None, EdgeKind::NoMatch);
        routes.end_unmatched(node.name.clone(), candidates);
        Ok(())
    }

    /// Describes the edges of a node for a message. Their texts are at most as long as the document's, so that each is
    /// charged after it is made; only a short text is kept.
    fn candidates(&self, edges: &[Edge], meter: &Meter) -> Result<String, FuelExhausted> {
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

    /// Applies the routes: next activations, opened barriers, deferred activations.
    pub(in crate::walker) fn follow(&mut self, routes: Routes, superstep: &Superstep) {
        let arrived: BTreeSet<NodeIndex> = superstep.activated().iter().map(ActivatedNode::node).collect();
        self.agenda.follow(&self.graph, routes, &arrived);
    }

    /// Handles half-filled barriers if no node is next: depending on the graph they open, raise a warning, or make the run fail.
    pub(in crate::walker) fn check_stalled(&mut self, warnings: &mut Vec<String>) {
        if !self.agenda.next().is_empty() {
            return;
        }
        match self.graph.on_stalled_barrier {
            OnStalledBarrier::Release => self.agenda.release_barriers(),
            OnStalledBarrier::Warn => {
                for (barrier, _) in self.agenda.part_open() {
                    warnings.push(self.stall_text(barrier));
                }
            }
            OnStalledBarrier::Fail => {}
        }
    }

    /// Returns `true` if the run cannot end because a barrier is half-filled.
    pub(in crate::walker) fn is_stalled(&self) -> bool {
        self.graph.on_stalled_barrier == OnStalledBarrier::Fail
            && self.agenda.next().is_empty()
            && self.agenda.part_open().next().is_some()
    }

    fn stall_text(&self, barrier: NodeIndex) -> String {
        let node = self.graph.node(barrier);
        let missing: Vec<String> = node
            .wait_for
            .iter()
            .filter(|waited| !self.agenda.has_arrived(**waited, barrier))
            .map(|waited| format!("`{}`", self.graph.node(*waited).name))
            .collect();
        format!("barrier `{}` never opened: it still waits for {}", node.name, missing.join(", "))
    }

    pub(in crate::walker) fn stalled(&self) -> RunError {
        let barrier = self.agenda.part_open().next().map(|(barrier, _)| barrier);
        let message =
            barrier.map_or_else(|| "nothing is next".to_owned(), |barrier| self.stall_text(barrier));
        let node = barrier.map(|barrier| self.graph.node(barrier).name.clone());
        RunError { node, ..RunError::new(ErrorCode::StalledBarrier, message) }
    }
}

/// Follows the error edge of a node that has failed, if it has one.
fn go_by_error(superstep: &Superstep, place: usize, node: &Node, routes: &mut Routes) -> bool {
    let failed =
        failed_task(node, superstep, place).filter(|(task, _)| !task.is_some_and(Task::is_continued));
    let (Some(_), Some(target)) = (failed, node.on_error) else {
        return false;
    };
    routes.fire(superstep.activated()[place].node(), Some(target), EdgeKind::Error);
    routes.go(target);
    true
}

/// Returns the handled failure of an active node, if it has one: for a `foreach` one that its `on_item_error` did not
/// handle, or that of its `assign`.
pub(in crate::walker) fn node_failure<'a>(
    node: &Node,
    superstep: &'a Superstep,
    place: usize,
) -> Option<&'a Failure> {
    failed_task(node, superstep, place).map(|(_, failure)| failure)
}

/// Returns the failure of [`node_failure`] and the task that failed; no task if the `assign` of the node as a whole failed.
pub(in crate::walker) fn failed_task<'a>(
    node: &Node,
    superstep: &'a Superstep,
    place: usize,
) -> Option<(Option<&'a Task>, &'a Failure)> {
    let own_rule =
        matches!(&node.kind, NodeKind::Foreach(foreach) if foreach.on_item_error != OnItemError::Fail);
    let active = &superstep.activated()[place];
    let of_task = superstep.tasks_of(active).iter().find_map(|task| match task.state() {
        TaskState::Handled(failure) if !(own_rule && task.item().is_some()) => Some((Some(task), failure)),
        _ => None,
    });
    of_task.or_else(|| Some((None, active.assign_failure()?)))
}

/// Returns a failure as edges read it in `result`.
pub(in crate::walker) fn failure_document(failure: &Failure) -> Value {
    json!({
        "status": "error",
        "success": false,
        "error": failure.message,
        "message": failure.message,
        "category": failure.category.as_str(),
        "details": failure.details,
    })
}

/// Returns the error code of a failure: `denied` or `node_failed`.
pub(in crate::walker) fn code_of(failure: &Failure) -> ErrorCode {
    match failure.category {
        Category::Denied => ErrorCode::Denied,
        _ => ErrorCode::NodeFailed,
    }
}
