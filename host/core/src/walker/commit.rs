//! The boundary of a superstep: everything commits together, or nothing does.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::Walker;
use super::channels::ApplyError;
use super::event::{Effect, Notice};
use super::reduce::{FoldError, Write};
use super::routes::{code_of, failed_task, failure_document, node_failure};
use super::superstep::{Superstep, Task, TaskState};
use super::telling::{Updates, updates};
use crate::graph::{Foreach, Node, NodeIndex, NodeKind, OnItemError, OnMaxSteps};
use crate::node::{Failure, Outcome};
use crate::record::{Canonical, Checkpoint, End, EndedBy, ErrorCode, RunError, Source, Status, TaskSummary};
use crate::template::{Root, Scope};
use crate::time::Timestamp;

impl Walker {
    /// Every task has settled: the superstep commits, or the run stops before it does.
    pub(super) fn settle(&mut self, now: Timestamp, fx: &mut Vec<Effect>) {
        let Some(superstep) = &self.superstep else { return };
        let failed = superstep.tasks.iter().find_map(|task| match &task.state {
            TaskState::Failed(failure) => Some((superstep.activated[task.activated].node, failure.clone())),
            _ => None,
        });
        let asks = superstep
            .tasks
            .iter()
            .any(|task| matches!(task.state, TaskState::Interrupted { .. } | TaskState::Suspended));
        if failed.is_none() && !asks {
            return self.commit(now, fx);
        }
        let open = self.questions(superstep);
        let error = failed.map(|(node, failure)| self.node_error(node, &failure));
        let status = if error.is_some() { Status::Failed } else { Status::Interrupted };
        self.stop_to_ask(now, status, error, &open, fx);
    }

    fn node_error(&self, node: NodeIndex, failure: &Failure) -> RunError {
        let name = &self.graph.node(node).name;
        let path = match &failure.within {
            Some(within) => format!("{name}/{within}"),
            None => name.clone(),
        };
        RunError {
            category: Some(failure.category),
            code: code_of(failure),
            message: format!("{}{}", failed_at(&path, failure.category), failure.message),
            node: Some(path),
        }
    }

    /// Why writes did not fold.
    pub(super) fn fold_error(&self, error: &ApplyError) -> RunError {
        let name = |node: NodeIndex| self.graph.node(node).name.as_str();
        let ApplyError { channel, reducer, error } = error;
        match error {
            FoldError::Conflict(first, second) => RunError {
                category: None,
                code: ErrorCode::ConflictingWrite,
                message: format!(
                    "tasks of `{}` and `{}` both write `{channel}` in one superstep, and a `{}` channel takes one \
                     write; declare a reducer for it, or let one of them write",
                    name(*first),
                    name(*second),
                    reducer.as_str()
                ),
                node: Some(name(*second).to_owned()),
            },
            FoldError::Invalid { node, reason } => RunError {
                category: None,
                code: ErrorCode::InvalidUpdate,
                message: format!(
                    "node `{}` writes to `{channel}`, a `{}` channel: {reason}",
                    name(*node),
                    reducer.as_str()
                ),
                node: Some(name(*node).to_owned()),
            },
        }
    }

    fn commit(&mut self, now: Timestamp, fx: &mut Vec<Effect>) {
        let Some(mut superstep) = self.superstep.take() else { return };
        let mut warnings = Vec::new();
        let assigned = self.assign_lists(&mut superstep, &mut warnings);
        let outcome = assigned.and_then(|()| {
            let results = self.node_results(&superstep);
            let (writes, updates) = self.writes(&superstep, &results);
            let sequence = self.sequence + 1;
            let (undo, changed) =
                self.channels.apply(writes, sequence).map_err(|error| self.fold_error(&error))?;
            match self.route(&superstep, &results, &mut warnings) {
                Ok(routes) => Ok((routes, changed, updates)),
                Err(error) => {
                    self.channels.undo(undo);
                    Err(error)
                }
            }
        });
        let (mut routes, changed, updates) = match outcome {
            Ok(done) => done,
            Err(error) => {
                self.superstep = Some(superstep);
                return self.suspend(now, Status::Failed, Some(error), fx);
            }
        };
        for (edge, count) in std::mem::take(&mut routes.edges) {
            let fired = self.fired_unwritten.entry(edge).or_default();
            *fired = fired.saturating_add(count);
        }
        let unmatched = std::mem::take(&mut routes.unmatched);
        self.sequence += 1;
        self.step += 1;
        self.at = now;
        self.released = false;
        self.interrupts.clear();
        self.error = None;
        self.status = Status::Running;
        self.begin_boundary_of_hooks();
        self.count(&superstep, warnings);
        self.tell(&superstep, updates);
        self.follow(routes, &superstep);
        let returned = self.returned(&superstep);
        self.conclude(returned, &unmatched);
        self.plan_commit(&superstep);
        let nodes = self.just_visited.iter().map(|node| self.graph.node(*node).name.clone()).collect();
        let fuel = superstep.tasks.iter().map(|task| task.used.fuel).fold(0, u64::saturating_add);
        fx.push(Effect::Emit(Notice::Committed { superstep: self.step, nodes, fuel, changed }));
        self.unwritten = Some(Source::Superstep);
        self.reach_boundary(fx);
    }

    /// What each active node came to, as its edges and its `collect` read it.
    fn node_results<'a>(&self, superstep: &'a Superstep) -> Vec<NodeResult<'a>> {
        let mut results = Vec::with_capacity(superstep.activated.len());
        for (place, active) in superstep.activated.iter().enumerate() {
            let node = self.graph.node(active.node);
            if let Some(failure) = node_failure(node, superstep, place) {
                let value = Cow::Owned(failure_document(failure));
                results.push(NodeResult { value, assigned: &[] });
                continue;
            }
            let tasks = &superstep.tasks[active.tasks.clone()];
            if let NodeKind::Foreach(foreach) = &node.kind {
                let assigned = match &active.assigned {
                    Some(Ok(assigned)) => assigned.as_slice(),
                    _ => &[],
                };
                results.push(NodeResult { value: Cow::Owned(list_of(foreach, tasks)), assigned });
                continue;
            }
            let (mut value, mut assigned) = (Cow::Owned(Value::Null), &[][..]);
            if let [Task { state: TaskState::Done(answer), .. }] = tasks {
                assigned = &answer.assigned;
                if let Outcome::Result(result) = &*answer.outcome {
                    value = Cow::Borrowed(result);
                }
            }
            results.push(NodeResult { value, assigned });
        }
        results
    }

    /// Lets each `foreach` assign from the list of its items' results. A failure is the node's, and goes where its
    /// failures go.
    fn assign_lists(&self, superstep: &mut Superstep, warnings: &mut Vec<String>) -> Result<(), RunError> {
        for place in 0..superstep.activated.len() {
            let active = &superstep.activated[place];
            let node = self.graph.node(active.node);
            let NodeKind::Foreach(foreach) = &node.kind else { continue };
            if node.assign.is_empty() || node_failure(node, superstep, place).is_some() {
                continue;
            }
            let list = list_of(foreach, &superstep.tasks[active.tasks.clone()]);
            let assigned = self.assign(node, active, None, &list, warnings);
            if let Err(failure) = &assigned
                && let TaskState::Failed(failure) = self.give_up(node, failure.clone(), false)
            {
                return Err(self.node_error(active.node, &failure));
            }
            superstep.activated[place].assigned = Some(assigned);
        }
        Ok(())
    }

    /// All writes of the superstep by channel, each channel's in task order, and which node made which.
    fn writes(
        &self,
        superstep: &Superstep,
        results: &[NodeResult<'_>],
    ) -> (BTreeMap<String, Vec<Write>>, Updates) {
        let mut writes: BTreeMap<String, Vec<Write>> = BTreeMap::new();
        let mut host: Map<String, Value> = Map::new();
        let mut retries: Option<Map<String, Value>> = None;
        for (place, active) in superstep.activated.iter().enumerate() {
            let node = self.graph.node(active.node);
            let mut write = |channel: &str, value: Value| {
                let write = Write { node: active.node, value };
                match writes.get_mut(channel) {
                    Some(known) => known.push(write),
                    None => {
                        writes.insert(channel.to_owned(), vec![write]);
                    }
                }
            };
            let result = &results[place];
            for ((channel, _), value) in node.assign.iter().zip(result.assigned) {
                write(channel, value.clone());
            }
            for task in &superstep.tasks[active.tasks.clone()] {
                if let TaskState::Done(answer) = &task.state
                    && let Outcome::Command { update, .. } = &*answer.outcome
                {
                    for (channel, value) in update {
                        write(channel, value.clone());
                    }
                }
                if let TaskState::Handled(failure) = &task.state {
                    host.insert("_last_error".to_owned(), last_error(node, failure));
                }
                if task.attempt > 1 {
                    let known = || {
                        self.channels.get("_retries").and_then(Value::as_object).cloned().unwrap_or_default()
                    };
                    let retries = retries.get_or_insert_with(known);
                    retries.insert(node.name.clone(), json!(task.attempt - 1));
                }
            }
            if let Some(Err(failure)) = &active.assigned {
                host.insert("_last_error".to_owned(), last_error(node, failure));
            }
            if let NodeKind::Foreach(foreach) = &node.kind
                && let Some(collect) = &foreach.collect
                && node_failure(node, superstep, place).is_none()
            {
                write(collect, Value::clone(&result.value));
            }
        }
        if let Some(retries) = retries {
            host.insert("_retries".to_owned(), Value::Object(retries));
        }
        let updates = updates(&self.graph, &writes);
        self.keep_outputs(superstep, results, &mut writes);
        // The host's own keys: whatever a graph wrote there in this superstep gives way.
        for (channel, value) in host {
            writes.insert(channel, vec![Write { node: NodeIndex(0), value }]);
        }
        (writes, updates)
    }

    /// Counts what has committed.
    fn count(&mut self, superstep: &Superstep, warnings: Vec<String>) {
        self.just_visited = superstep.activated.iter().map(|active| active.node).collect();
        let names = self.just_visited.iter().map(|node| self.graph.node(*node).name.as_str());
        self.visited_digest = Checkpoint::extend_visited(&self.visited_digest, names);
        self.visited.extend_from_slice(&self.just_visited);
        for node in &self.just_visited {
            self.visits[node.0 as usize] += 1;
        }
        for (place, active) in superstep.activated.iter().enumerate() {
            let node = self.graph.node(active.node);
            if failed_task(node, superstep, place)
                .is_some_and(|(task, _)| task.is_some_and(|task| task.continued) || node.on_error.is_none())
            {
                self.errors_continued = true;
            }
            for task in &superstep.tasks[active.tasks.clone()] {
                self.executions[active.node.0 as usize] += u64::from(task.used.dispatches);
                self.fuel = self.fuel.saturating_add(task.used.fuel);
                self.host = self.host.plus(task.used.host);
                self.child_steps = self.child_steps.saturating_add(task.used.steps);
                self.warnings.extend(task.warnings.iter().cloned());
                if let Some(entry) = self.result_to_keep(node, task) {
                    self.results.insert(entry.key, entry);
                }
                let cached = task.caching.hit().cloned().map(Box::new);
                self.cached[active.node.0 as usize] += u64::from(cached.is_some());
                self.tasks_unwritten.push(TaskSummary {
                    answers: task.answers.iter().cloned().map(Canonical::from).collect(),
                    at: task.told.at,
                    attempts: task.attempt,
                    cached,
                    dispatches: task.used.dispatches,
                    events: task.told.events.clone(),
                    failure: match &task.state {
                        TaskState::Handled(failure) => Some(failure.clone()),
                        _ => None,
                    },
                    fuel: task.used.fuel,
                    host: task.used.host,
                    item: task.dispatch.as_ref().map(|dispatch| dispatch.item_id.to_string()),
                    journal: task.told.journal.clone(),
                    micros: task.used.micros,
                    node: node.name.clone(),
                    task: task.id.to_string(),
                });
            }
        }
        self.warnings.extend(warnings);
    }

    /// The first `return` node of the superstep, in task order.
    fn returned(&self, superstep: &Superstep) -> Option<Returned> {
        let found = superstep
            .activated
            .iter()
            .find(|active| matches!(self.graph.node(active.node).kind, NodeKind::Return { .. }))?;
        let NodeKind::Return { output: Some(_) } = &self.graph.node(found.node).kind else {
            return Some(Returned { output: None });
        };
        let output = match &superstep.tasks[found.tasks.clone()] {
            [Task { state: state @ TaskState::Done(_), .. }] => Some(item_result(state)),
            _ => None,
        };
        Some(Returned { output })
    }

    /// Decides whether this boundary is the end.
    pub(super) fn conclude(&mut self, returned: Option<Returned>, unmatched: &[(String, String)]) {
        for (node, candidates) in unmatched {
            self.warnings.push(format!("no edge of node `{node}` matches, its branch ends: {candidates}"));
        }
        if let Some(Returned { output }) = returned {
            self.next.clear();
            self.deferred.clear();
            self.barriers.clear();
            return self.finish(EndedBy::Return, output, false);
        }
        self.check_stalled();
        if self.next.is_empty() {
            if self.is_stalled() {
                return;
            }
            let ended_by = if unmatched.is_empty() { EndedBy::End } else { EndedBy::NoEdgeMatched };
            return self.finish(ended_by, None, false);
        }
        if self.step >= self.max_steps {
            match self.graph.on_max_steps {
                OnMaxSteps::Fail => {}
                OnMaxSteps::ReturnLast => self.finish(EndedBy::MaxSteps, None, false),
                OnMaxSteps::ReturnWithFlag => self.finish(EndedBy::MaxSteps, None, true),
            }
        }
    }

    fn finish(&mut self, ended_by: EndedBy, output: Option<Value>, limit_reached: bool) {
        let output = output.unwrap_or_else(|| self.output());
        let status = if self.errors_continued { Status::CompletedWithErrors } else { Status::Completed };
        self.end = Some(End { ended_by, limit_reached, output: Canonical(Arc::new(output)), status });
    }

    /// The graph's output: its template over the state, or the state without keys that begin with `_`.
    fn output(&mut self) -> Value {
        let Some(template) = &self.graph.output else {
            let mut state = self.channels.to_map();
            state.retain(|key, _| !key.starts_with('_'));
            return Value::Object(state);
        };
        let run = self.run_document();
        let scope = Scope::new()
            .with("state", Root::Fields(&self.channels))
            .with("inputs", Root::Value(&self.setup.inputs))
            .with("run", Root::Value(&run));
        let mut missing = Vec::new();
        let value = template.evaluate(&scope, self.graph.templates, &mut missing);
        let mut warnings: Vec<String> = missing
            .into_iter()
            .map(|path| format!("`output`: `{path}` is missing and read as null"))
            .collect();
        let value = value.unwrap_or_else(|error| {
            warnings.push(format!("`output`: {error}"));
            Value::Null
        });
        self.warnings.append(&mut warnings);
        value
    }
}

/// How the message of a node's failure begins.
pub(super) fn failed_at(path: &str, category: crate::node::Category) -> String {
    format!("node `{path}` failed ({category}): ")
}

/// A `return` node has ended the run.
pub(super) struct Returned {
    /// What it gives, if that is not the graph's own output.
    pub(super) output: Option<Value>,
}

/// A failure as `state._last_error` tells it.
fn last_error(node: &Node, failure: &Failure) -> Value {
    json!({ "node": node.name, "error": failure.message, "category": failure.category.as_str() })
}

/// The results of a `foreach`'s items, in their order.
fn list_of(foreach: &Foreach, tasks: &[Task]) -> Value {
    let skips = foreach.on_item_error == OnItemError::Skip;
    let kept = tasks.iter().filter(|task| !(skips && matches!(task.state, TaskState::Handled(_))));
    Value::Array(kept.map(|task| item_result(&task.state)).collect())
}

/// The result of a task that answered with one.
pub(super) fn item_result(state: &TaskState) -> Value {
    match state {
        TaskState::Done(answer) => match &*answer.outcome {
            Outcome::Result(value) => value.clone(),
            Outcome::Command { .. } | Outcome::Interrupt(_) => Value::Null,
        },
        _ => Value::Null,
    }
}

/// What an active node came to.
pub(super) struct NodeResult<'a> {
    /// What its edges and its `collect` read.
    pub(super) value: Cow<'a, Value>,
    /// What its `assign` writes.
    assigned: &'a [Value],
}
