//! A run's history in the lines that `run` shows for people while it goes on.

use std::collections::BTreeMap;
use std::time::Duration;

use graph_core::digest::Digest;
use graph_core::record::{Checkpoint, Entry, Record, Source, TaskEvent, TaskSummary, ValueKind};
use graph_core::walker::ChannelChange;
use graph_runtime::graph_store::Numbered;

use crate::terminal::output::{self, styled};
use crate::terminal::run_report::{cached_line, changes, hook_line, short_number, short_span, step_line};
use crate::terminal::text::event_line;
use graph_core::diagnostic::one_line;

/// What has been told of a run.
#[derive(Debug, Default)]
pub struct HistoryLines {
    /// The nodes that were next at the newest checkpoint of each namespace.
    next: BTreeMap<String, Vec<String>>,
    /// The ids of graphs inside the graph.
    graphs: BTreeMap<Digest, String>,
}

impl HistoryLines {
    /// Nothing yet, of a run with these graphs inside its own.
    pub fn of(graphs: BTreeMap<Digest, String>) -> Self {
        Self { graphs, ..Self::default() }
    }

    /// The lines of a record's entries that come after a number.
    pub fn lines(&mut self, numbered: &Numbered, record: &Record, after: u64) -> Vec<String> {
        let namespace = numbered.record.namespace.as_str();
        let mut lines = Vec::new();
        for (offset, entry) in (numbered.before + 1..).zip(record.entries()) {
            if offset > after {
                lines.extend(self.line(namespace, numbered, record, &entry));
            }
        }
        if let Record::Checkpoint(checkpoint) = record {
            let mut next: Vec<String> = checkpoint.next.iter().map(|next| next.node.clone()).collect();
            next.dedup();
            if checkpoint.end.is_some() && !namespace.is_empty() {
                // Nothing comes below it any more.
                self.next.remove(namespace);
            } else {
                self.next.insert(namespace.to_owned(), next);
            }
        }
        lines
    }

    fn line(
        &self,
        namespace: &str,
        numbered: &Numbered,
        record: &Record,
        entry: &Entry<'_>,
    ) -> Option<String> {
        Some(match entry {
            Entry::Began(Source::Input) if !namespace.is_empty() => {
                let Record::Checkpoint(checkpoint) = record else { return None };
                let graph = self.graphs.get(&checkpoint.graph).map_or("", String::as_str);
                let path = one_line(&self.path(namespace), 60);
                format!(
                    "      {} {path}  {}",
                    styled(output::DIM, "└"),
                    styled(output::DIM, one_line(graph, 60))
                )
            }
            Entry::Event { node, event: TaskEvent::Custom { name, payload, .. }, .. } => {
                let above = self.path(namespace);
                let path = if above.is_empty() { (*node).to_owned() } else { format!("{above}/{node}") };
                event_line(&path, name, &payload.0)
            }
            Entry::Commit => {
                let Record::Checkpoint(checkpoint) = record else { return None };
                let took = namespace.is_empty().then(|| short_span(Duration::from_micros(checkpoint.micros)));
                let line = commit(numbered, checkpoint, took.as_deref());
                if namespace.is_empty() {
                    line
                } else {
                    let path = one_line(&self.path(namespace), 60);
                    format!("      {} {line}", styled(output::DIM, format_args!("{path} ┆")))
                }
            }
            Entry::Event { node, event: TaskEvent::Retry { attempt, failure, wait, .. }, .. } => format!(
                "      {} {} attempt {} in {}, after {}: {}",
                styled(output::CAUTION, "↻"),
                one_line(node, 40),
                attempt.saturating_add(1),
                short_span(Duration::from_millis(*wait)),
                failure.category,
                one_line(&failure.message, 160),
            ),
            Entry::Task(TaskSummary { node, fuel, cached: Some(hit), .. }) => {
                cached_line(node, &format!("as in run {}, {} fuel", hit.run, short_number(*fuel)))
            }
            Entry::Task(task) => {
                let failure = task.failure.as_ref()?;
                format!(
                    "      {} {} {}: {}",
                    styled(output::BAD, "✗"),
                    one_line(&task.node, 40),
                    failure.category,
                    one_line(&failure.message, 200),
                )
            }
            Entry::Warning(warning) => {
                format!("      {} {}", styled(output::CAUTION, "!"), one_line(warning, 300))
            }
            Entry::Hook(hook) => hook_line(hook)?,
            _ => return None,
        })
    }

    /// The path of nodes to a graph inside the graph, as far as it is known from what came before; else its tasks' ids.
    fn path(&self, namespace: &str) -> String {
        if namespace.is_empty() {
            return String::new();
        }
        let mut parent = String::new();
        let mut path = Vec::new();
        for task in namespace.split('/') {
            path.push(match self.next.get(&parent).map(Vec::as_slice) {
                Some([only]) => only.clone(),
                _ => task.to_owned(),
            });
            if !parent.is_empty() {
                parent.push('/');
            }
            parent.push_str(task);
        }
        path.join("/")
    }
}

/// A superstep that has committed.
fn commit(numbered: &Numbered, checkpoint: &Checkpoint, took: Option<&str>) -> String {
    let fuel = checkpoint.tasks.iter().map(|task| task.fuel).fold(0, u64::saturating_add);
    let values = numbered.record.values.iter();
    let changed: Vec<_> = values
        .map(|value| {
            let elements = (value.kind == ValueKind::Segment)
                .then(|| serde_json::from_str::<Vec<serde_json::Value>>(&value.json).ok())
                .flatten();
            ChannelChange {
                channel: value.channel.clone(),
                appended: elements.map(|elements| elements.len() as u64),
            }
        })
        .collect();
    step_line(checkpoint.step, &checkpoint.visited, fuel, took, &changes(&changed))
}
