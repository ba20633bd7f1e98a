//! An entry of a run's history as a line of JSON.

use std::collections::BTreeSet;

use graph_core::limits::ModelUse;
use graph_core::record::{
    Checkpoint, HistoryEntry, Record, TaskEvent, TaskSummary, WrittenReader, model_uses,
};
use graph_core::time::Timestamp;
use graph_store::NumberedRecord;
use graph_walker::graph::Graph;
use serde_json::{Map, Value, json};

use super::kind::kind_name;
use super::route::route;
use super::run_graphs::Named;
use crate::history::run_document::interrupt;

/// The keys of lines of all kinds, those of every line first.
pub const LINE_KEYS: &[&str] = &[
    "offset",
    "run",
    "run_id",
    "root_run_id",
    "parent_run_id",
    "graph_id",
    "namespace",
    "step",
    "at",
    "kind",
    "attempt",
    "attempts",
    "by",
    "cached",
    "cached_from",
    "call",
    "changed",
    "checkpoint",
    "control",
    "count",
    "digest",
    "dispatches",
    "edge",
    "ended_by",
    "error",
    "event",
    "failure",
    "form",
    "fuel",
    "hook",
    "id",
    "item",
    "label",
    "layer",
    "max_steps",
    "message",
    "micros",
    "model",
    "models",
    "name",
    "next",
    "node",
    "nodes",
    "params",
    "payload",
    "result",
    "result_digest",
    "source",
    "state",
    "status",
    "task",
    "to",
    "wait_ms",
    "when",
    "writes",
];

/// Details of a task that a live stream has and that are not stored.
#[derive(Clone, Debug, Default)]
pub(super) struct Details {
    /// The params of its last attempt.
    pub(super) params: Option<Value>,
    /// The result of its last attempt.
    pub(super) result: Option<Value>,
}

/// An entry's record and its context.
pub(super) struct Around<'a> {
    pub(super) numbered: &'a NumberedRecord,
    pub(super) record: &'a Record,
    /// The run and the graph, which every line names.
    pub(super) named: &'a Named,
    /// The graph, if lines need it and the store has it.
    pub(super) graph: Option<&'a Graph>,
}

impl Around<'_> {
    fn checkpoint(&self) -> Option<&Checkpoint> {
        match self.record {
            Record::Checkpoint(checkpoint) => Some(checkpoint),
            _ => None,
        }
    }

    /// Makes the line of an entry: the keys of every line, then those of its kind.
    pub(super) fn line(
        &self,
        offset: u64,
        entry: &HistoryEntry<'_>,
        state: Option<&Map<String, Value>>,
        details: Option<Details>,
    ) -> Value {
        let signed = &self.numbered.record;
        let (at, fields) = self.fields(entry, state, details);
        // A task of a superstep that has not committed belongs to the superstep after the newest boundary.
        let ahead = u64::from(self.checkpoint().is_none() && matches!(entry, HistoryEntry::Event { .. }));
        let mut line = json!({
            "offset": offset,
            "run": signed.run,
            "run_id": self.named.run_id,
            "root_run_id": self.named.root,
            "parent_run_id": self.named.parent,
            "graph_id": self.named.graph.as_deref(),
            "namespace": signed.namespace,
            "step": signed.step + ahead,
            "at": at.unwrap_or_else(|| self.record.at()).to_string(),
            "kind": kind_name(entry),
        });
        if let (Value::Object(line), Value::Object(fields)) = (&mut line, fields) {
            line.extend(fields);
        }
        line
    }

    /// Returns the fields of an entry, and its time if the entry records one.
    fn fields(
        &self,
        entry: &HistoryEntry<'_>,
        state: Option<&Map<String, Value>>,
        details: Option<Details>,
    ) -> (Option<Timestamp>, Value) {
        let fields = match entry {
            HistoryEntry::Began(source) => json!({ "status": "running", "source": source.as_str() }),
            HistoryEntry::Hook(hook) => json!(hook),
            HistoryEntry::Superstep(nodes) => json!({ "nodes": nodes, "max_steps": self.max_steps() }),
            HistoryEntry::Event { task, node, event: TaskEvent::Custom { at, attempt, name, payload } } => {
                let fields = json!({
                    "task": task, "node": node, "attempt": attempt, "name": name, "payload": *payload.0,
                });
                return (Some(*at), fields);
            }
            HistoryEntry::Event { task, node, event: TaskEvent::Failed { at, attempt, failure } } => {
                return (*at, json!({ "task": task, "node": node, "attempt": attempt, "failure": failure }));
            }
            HistoryEntry::Event { task, node, event: TaskEvent::Log { at, attempt, line } } => {
                let told = json!({
                    "task": task, "node": node, "attempt": attempt, "level": line.level, "message": line.message,
                });
                return (Some(*at), told);
            }
            HistoryEntry::Event { task, node, event: TaskEvent::Retry { at, attempt, failure, wait } } => {
                let fields = json!({
                    "task": task, "node": node, "attempt": attempt, "failure": failure, "wait_ms": wait,
                });
                return (Some(*at), fields);
            }
            HistoryEntry::Task(task) => {
                let mut fields = json!({
                    "task": task.task,
                    "node": task.node,
                    "item": task.item,
                    "attempts": task.attempts,
                    "dispatches": task.dispatches,
                    "fuel": task.fuel,
                    "micros": task.micros,
                    "failure": task.failure,
                });
                if let Value::Object(fields) = &mut fields
                    && !task.host.model.is_nothing()
                {
                    fields.insert("model".to_owned(), figures(task.host.model));
                    let by_model = by_model(task);
                    if !by_model.is_empty() {
                        fields.insert("models".to_owned(), by_model.into());
                    }
                }
                if let (Value::Object(fields), Some(hit)) = (&mut fields, &task.cached) {
                    fields.insert("cached".to_owned(), true.into());
                    let from =
                        json!({ "key": hit.key, "run": hit.run, "task": hit.task, "at": hit.at.to_string() });
                    fields.insert("cached_from".to_owned(), from);
                }
                if let (Value::Object(fields), Some(details)) = (&mut fields, details) {
                    fields.insert("params".to_owned(), details.params.unwrap_or_default());
                    fields.insert("result".to_owned(), details.result.unwrap_or_default());
                }
                return (task.at, fields);
            }
            HistoryEntry::Update { node } => json!({ "node": node, "writes": self.writes(node) }),
            HistoryEntry::Values => json!({ "state": state }),
            HistoryEntry::Route(fired) => route(fired, self.graph),
            HistoryEntry::Warning(message) => json!({ "message": message }),
            HistoryEntry::Commit => self.commit(),
            HistoryEntry::Interrupt(asked) => interrupt(asked),
            HistoryEntry::Status { status, error } => json!({ "status": status, "error": error }),
            HistoryEntry::End { status, ended_by } => json!({ "status": status, "ended_by": ended_by }),
        };
        (None, fields)
    }

    /// Returns the step limit that held for the superstep; `None` if neither the checkpoint nor a graph has one.
    fn max_steps(&self) -> Option<u64> {
        self.checkpoint()
            .and_then(|checkpoint| checkpoint.step_limit)
            .or(self.graph.map(|graph| graph.max_steps))
    }

    fn commit(&self) -> Value {
        let Some(checkpoint) = self.checkpoint() else { return json!({}) };
        // In a history that was shortened, the first checkpoint contains every part of a list.
        let changed: BTreeSet<_> = self.numbered.record.values.iter().map(|value| &value.channel).collect();
        let mut fields = json!({
            "checkpoint": checkpoint.sequence,
            "digest": self.numbered.record.digest,
            "result_digest": checkpoint.result,
            "nodes": checkpoint.visited,
            "next": checkpoint.next.iter().map(|next| &next.node).collect::<Vec<_>>(),
            "changed": changed,
            "fuel": checkpoint.fuel,
            "micros": checkpoint.micros,
        });
        if let Value::Object(fields) = &mut fields
            && !checkpoint.host.model.is_nothing()
        {
            fields.insert("model".to_owned(), figures(checkpoint.host.model));
        }
        fields
    }

    /// Returns the writes of a node in the superstep, in order of channels and then of its tasks. A value is null if a
    /// later superstep overwrote it before it was stored, or if it would take too much memory: then `error` says so.
    fn writes(&self, wanted: &str) -> Vec<Value> {
        let mut writes = Vec::new();
        for (channel, writers) in
            self.checkpoint().map(|checkpoint| &checkpoint.updates).into_iter().flatten()
        {
            let stored = self.numbered.record.values.iter().rfind(|value| value.channel == *channel);
            let mut reader = WrittenReader::new(stored.map(|stored| &*stored.json));
            for (node, wrote) in writers {
                let value = match &mut reader {
                    Ok(reader) => reader.take(wrote),
                    Err(error) if node == wanted => {
                        writes.push(json!({ "channel": channel, "value": null, "error": error.to_string() }));
                        continue;
                    }
                    Err(_) => continue,
                };
                if node == wanted {
                    writes.push(json!({ "channel": channel, "value": value }));
                }
            }
        }
        writes
    }
}

/// Returns the figures of model use; the cost in millionths of the manifest's currency.
fn figures(used: ModelUse) -> Value {
    let ModelUse { calls, input, output, cost } = used;
    json!({ "calls": calls, "input_tokens": input, "output_tokens": output, "cost": cost })
}

/// Returns the task's use of each language model, by its name in the manifest, without that of components that its
/// component called, which is only in the task's total.
fn by_model(task: &TaskSummary) -> Map<String, Value> {
    let by_model = model_uses(&task.journal, &task.lost_models);
    by_model.into_iter().map(|(name, used)| (name, figures(used))).collect()
}
