//! Writes of a superstep's nodes, and the results that the rest of the graph reads.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::compat::rye;
use crate::graph::{CommandGrant, Foreach, Graph, Node, NodeIndex, NodeKind, WriteMode};
use crate::host_item::HostItem;
use crate::walker::Walker;
use crate::walker::budget::run_budget::NodeWorkError;
use crate::walker::nodes::routes::{failure_document, node_failure};
use crate::walker::state::reduce::{Write, overwritten};
use crate::walker::tasks::superstep::Superstep;
use crate::walker::tasks::superstep_events::{Updates, updates};
use crate::walker::tasks::task::{Task, TaskState};
use graph_core::limits::{ModelLimits, ModelUse};
use graph_core::model_grant;
use graph_core::node::{Failure, Outcome};
use graph_core::policy::OnItemError;
use graph_core::work::{FuelExhausted, Meter, rates, size};

/// The writes of a superstep.
#[derive(Debug, Default)]
pub(in crate::walker) struct Writes {
    /// Writes by channel, in task order.
    by_channel: BTreeMap<String, Vec<Write>>,
    /// Writes by channel and node, for the checkpoint.
    updates: Updates,
    /// Writes to the host's own append channels: results of nodes for their next visits, and of threads.
    outputs: BTreeMap<String, Vec<Write>>,
    /// Values of the host's own keys.
    host: Map<String, Value>,
    retries: Option<Map<String, Value>>,
}

impl Writes {
    fn push(&mut self, node: NodeIndex, channel: &str, value: Value, mode: WriteMode) {
        let write = Write { node, value, mode };
        match self.by_channel.get_mut(channel) {
            Some(known) => known.push(write),
            None => {
                self.by_channel.insert(channel.to_owned(), vec![write]);
            }
        }
    }

    /// Takes the next channel to fold, and the writes to it.
    pub(in crate::walker) fn take_channel(&mut self) -> Option<(String, Vec<Write>)> {
        self.by_channel.pop_first()
    }

    /// Takes the writes by channel and node, for the checkpoint.
    pub(in crate::walker) fn take_updates(&mut self) -> Updates {
        std::mem::take(&mut self.updates)
    }

    /// Adds the host's own keys once all nodes have written.
    pub(in crate::walker) fn close(&mut self, graph: &Graph) {
        self.updates = updates(graph, &self.by_channel);
        self.by_channel.append(&mut self.outputs);
        if let Some(retries) = self.retries.take() {
            self.host.insert("_retries".to_owned(), Value::Object(retries));
        }
        // The host's keys replace writes of the graph to the same channels in this superstep.
        for (channel, value) in std::mem::take(&mut self.host) {
            self.by_channel.insert(channel, vec![Write { node: NodeIndex(0), value, mode: WriteMode::Fold }]);
        }
    }
}

impl Walker {
    /// Makes the list of results of a `foreach` that has not failed, and evaluates the node's `assign` with it. A
    /// failure of the `assign` is a failure of the node, and is handled like any other.
    pub(in crate::walker) fn make_list(
        &self,
        superstep: &mut Superstep,
        place: usize,
        warnings: &mut Vec<String>,
        meter: &Meter,
    ) -> Result<(), NodeWorkError> {
        let active = &superstep.activated()[place];
        let node = self.graph.node(active.node());
        let NodeKind::Foreach(foreach) = &node.kind else { return Ok(()) };
        if node_failure(node, superstep, place).is_some() {
            return Ok(());
        }
        let before = meter.spent();
        let list = list_of(foreach, superstep.tasks_of(active), meter)?;
        // The charge for the list is its size.
        superstep.add_memory(meter.spent() - before);
        let active = &superstep.activated()[place];
        let mut of_list = None;
        if !node.assign.is_empty() {
            let assigned = match self.assign(node, active, &list, warnings, meter) {
                Ok(assigned) => Ok(assigned),
                Err(NodeWorkError::Exhausted(exhausted)) => return Err(exhausted.into()),
                Err(NodeWorkError::Failed(failure)) => Err(failure),
            };
            if let Err(failure) = &assigned
                && let TaskState::Failed(failure) = self.give_up(node, failure.clone(), false)
            {
                return Err(failure.into());
            }
            of_list = Some(assigned);
        }
        superstep.activated_mut(place).set_list(list, of_list);
        Ok(())
    }

    /// Collects the writes of a node. Assigned values are moved out of its answers: if the superstep does not commit,
    /// the same state gives the same values again.
    pub(in crate::walker) fn gather(
        &self,
        superstep: &mut Superstep,
        place: usize,
        writes: &mut Writes,
        meter: &Meter,
    ) -> Result<(), FuelExhausted> {
        let index = superstep.activated()[place].node();
        let node = self.graph.node(index);
        for (value, assignment) in take_assigned(superstep, place, node).into_iter().zip(&node.assign) {
            meter.charge(rates::LOOKUP)?;
            writes.push(index, &assignment.channel, value, assignment.mode);
        }
        for task in superstep.tasks_of(&superstep.activated()[place]) {
            meter.charge(rates::LOOKUP)?;
            if let TaskState::Done(answer) = task.state()
                && let Outcome::Command { update, .. } = &*answer.outcome
            {
                for (channel, value) in update {
                    let (value, mode) = commanded(node.command.as_ref(), channel, value);
                    writes.push(index, channel, size::copy(value, meter)?, mode);
                }
            }
            // In Rye's dialect the list of results contains the failure.
            let is_kept = matches!(&node.kind, NodeKind::Foreach(foreach) if foreach.keeps_failures);
            if let TaskState::Handled(failure) = task.state()
                && !is_kept
            {
                writes.host.insert("_last_error".to_owned(), self.last_error(superstep, place, failure));
            }
            if self.keeps_threads()
                && let Some(result) = thread_of(task)
            {
                let value = Value::Array(vec![size::copy(result, meter)?]);
                let write = Write { node: index, value, mode: WriteMode::Fold };
                writes.outputs.entry(rye::THREADS.to_owned()).or_default().push(write);
            }
            if task.attempt() > 1 {
                let known = || {
                    let known = self.channels.get("_retries").and_then(Value::as_object);
                    known.cloned().unwrap_or_default()
                };
                let retries = writes.retries.get_or_insert_with(known);
                retries.insert(node.name.clone(), json!(task.attempt() - 1));
            }
        }
        let active = &superstep.activated()[place];
        if let Some(failure) = active.assign_failure() {
            writes.host.insert("_last_error".to_owned(), self.last_error(superstep, place, failure));
        }
        if let (NodeKind::Foreach(Foreach { collect: Some(collect), .. }), Some(list)) =
            (&node.kind, active.list())
            && node_failure(node, superstep, place).is_none()
        {
            writes.push(index, collect, self.collected(list, meter)?, WriteMode::Fold);
        }
        self.keep_output(superstep, place, &mut writes.outputs, meter)
    }

    /// Returns the value that `collect` takes from the list of results.
    fn collected(&self, list: &Value, meter: &Meter) -> Result<Value, FuelExhausted> {
        let Some(results) = list.as_array().filter(|_| self.graph.dialect.collects_thread_ids()) else {
            return size::copy(list, meter);
        };
        meter.charge(size::VALUE)?;
        results.iter().map(|result| size::copy(rye::thread_id(result), meter)).collect()
    }

    /// Returns a failure of an active node for `state._last_error`. If limits on language models apply to the node, so
    /// that lost use affects it anyway, the value contains the use of language models by its tasks.
    fn last_error(&self, superstep: &Superstep, place: usize, failure: &Failure) -> Value {
        let active = &superstep.activated()[place];
        let node = self.graph.node(active.node());
        if self.graph.dialect.tells_failures_as_rye() {
            return rye::last_error(&node.name, failure);
        }
        let mut last_error =
            json!({ "node": node.name, "error": failure.message, "category": failure.category.as_str() });
        if node.limits.or(self.graph.limits).model != ModelLimits::default() || !node.bounds.model.is_empty()
        {
            let used = superstep.tasks_of(active).iter().map(|task| task.used().host.model);
            last_error["models"] = model_grant::all_figures(used.fold(ModelUse::NOTHING, ModelUse::plus));
        }
        last_error
    }
}

/// Returns the result of a thread that a task has started, also of a failed one.
fn thread_of(task: &Task) -> Option<&Value> {
    let dispatch = task.dispatch()?;
    if HostItem::of_dispatch(dispatch.operation, dispatch.item_type, &dispatch.item_id)
        == Some(HostItem::Threads)
    {
        return None;
    }
    let result = match task.state() {
        TaskState::Handled(failure) => failure.details.as_ref()?,
        state => item_result(state),
    };
    rye::started(result).map(|_| result)
}

/// Returns the write of an entry in a command's update. It replaces a channel's value only if the node's `command`
/// permits that: a component that passes on a stranger's value does not intend it.
fn commanded<'v>(grant: Option<&CommandGrant>, channel: &str, value: &'v Value) -> (&'v Value, WriteMode) {
    let allowed = grant.is_some_and(|grant| grant.may_overwrite(channel));
    match overwritten(value).filter(|_| allowed) {
        Some(value) => (value, WriteMode::Overwrite),
        None => (value, WriteMode::Fold),
    }
}

/// Takes the result of a node's `assign`.
fn take_assigned(superstep: &mut Superstep, place: usize, node: &Node) -> Vec<Value> {
    if node_failure(node, superstep, place).is_some() {
        return Vec::new();
    }
    superstep.take_assigned(place, matches!(node.kind, NodeKind::Foreach(_)))
}

/// Returns the result of an active node for its edges.
pub(in crate::walker) fn node_result<'a>(
    node: &Node,
    superstep: &'a Superstep,
    place: usize,
) -> Cow<'a, Value> {
    if let Some(failure) = node_failure(node, superstep, place) {
        return Cow::Owned(failure_document(failure));
    }
    let active = &superstep.activated()[place];
    if let Some(list) = active.list() {
        return Cow::Borrowed(list);
    }
    if let [task] = superstep.tasks_of(active)
        && let TaskState::Done(answer) = task.state()
        && let Outcome::Result(result) = &*answer.outcome
    {
        return Cow::Borrowed(result);
    }
    Cow::Owned(Value::Null)
}

/// Builds the list of the results of a `foreach`'s items, in order.
fn list_of(foreach: &Foreach, tasks: &[Task], meter: &Meter) -> Result<Value, FuelExhausted> {
    let skips = foreach.on_item_error == OnItemError::Skip;
    let keeps_errors = foreach.on_item_error == OnItemError::KeepError;
    meter.charge(size::VALUE)?;
    let kept = tasks.iter().filter(|task| !(skips && matches!(task.state(), TaskState::Handled(_))));
    let results = kept.map(|task| match task.state() {
        TaskState::Handled(failure) if foreach.keeps_failures => {
            size::copy(&rye::failed_result(failure), meter)
        }
        TaskState::Handled(failure) if keeps_errors => size::copy(&item_error(failure), meter),
        state => size::copy(item_result(state), meter),
    });
    results.collect::<Result<_, _>>().map(Value::Array)
}

/// Returns the value that replaces the result of a failed item.
fn item_error(failure: &Failure) -> Value {
    json!({ "_error": { "category": failure.category.as_str(), "error": failure.message } })
}

/// Returns the result of a task, or null if it has none.
pub(in crate::walker) fn item_result(state: &TaskState) -> &Value {
    const NOTHING: &Value = &Value::Null;
    match state {
        TaskState::Done(answer) => match &*answer.outcome {
            Outcome::Result(value) => value,
            Outcome::Command { .. } | Outcome::Interrupt(_) => NOTHING,
        },
        _ => NOTHING,
    }
}
