//! A run's history as the lines that `run` prints for people while the run is under way.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use graph_core::digest::Digest;
use graph_core::json::{self, TreeLimit};
use graph_core::record::{
    Checkpoint, HistoryEntry, LogLevel, Record, Source, TaskEvent, TaskSummary, ValueKind,
};
use graph_runtime::graph_store::NumberedRecord;
use graph_walker::walker::ChannelChange;
use serde::de::IgnoredAny;

use crate::terminal::output::{self, styled};
use crate::terminal::run_report::{
    cached_line, changes, failure_line, hook_line, retry_line, short_number, short_span, step_line,
};
use crate::terminal::text::event_line;
use crate::terminal::text::log_line;
use crate::terminal::width::one_line;

/// State of a printed history: the names that its next lines need.
#[derive(Debug, Default)]
pub struct HistoryLines {
    /// The nodes that were next at the newest checkpoint of each namespace.
    next: BTreeMap<String, Vec<String>>,
    /// The ids of the graphs of child runs.
    graphs: BTreeMap<Digest, String>,
    /// The graph of each namespace.
    current: BTreeMap<String, Digest>,
    /// The `foreach` nodes of all graphs.
    foreach: BTreeSet<(Digest, String)>,
    /// Task that failed last, with the message.
    failed: Option<(String, String)>,
}

impl HistoryLines {
    /// Creates the state for a run with these graphs of child runs and these `foreach` nodes.
    pub fn new(graphs: BTreeMap<Digest, String>, foreach: BTreeSet<(Digest, String)>) -> Self {
        Self { graphs, foreach, ..Self::default() }
    }

    /// Returns the lines for the entries of a record whose number is greater than `after`.
    pub fn lines(&mut self, numbered: &NumberedRecord, record: &Record, after: u64) -> Vec<String> {
        let mut lines = Vec::new();
        self.visit(numbered, record, after, &mut |state, _, entry| {
            lines.extend(state.line(&numbered.record.namespace, numbered, record, entry));
        });
        lines
    }

    /// Visits the entries of a record whose number is greater than `after`, with their numbers.
    pub fn visit(
        &mut self,
        numbered: &NumberedRecord,
        record: &Record,
        after: u64,
        visit: &mut dyn FnMut(&mut Self, u64, &HistoryEntry<'_>),
    ) {
        let namespace = numbered.record.namespace.as_str();
        if let Record::Checkpoint(checkpoint) = record {
            self.current.insert(namespace.to_owned(), checkpoint.graph);
        }
        for (offset, entry) in (numbered.before + 1..).zip(record.entries()) {
            if offset > after {
                visit(self, offset, &entry);
            }
        }
        if let Record::Checkpoint(checkpoint) = record {
            let mut next: Vec<String> = checkpoint.next.iter().map(|next| next.node.clone()).collect();
            next.dedup();
            if checkpoint.end.is_some() && !namespace.is_empty() {
                // A child run that has ended has no further lines.
                self.next.remove(namespace);
            } else {
                self.next.insert(namespace.to_owned(), next);
            }
        }
    }

    fn line(
        &mut self,
        namespace: &str,
        numbered: &NumberedRecord,
        record: &Record,
        entry: &HistoryEntry<'_>,
    ) -> Option<String> {
        Some(match entry {
            HistoryEntry::Began(Source::Input) if !namespace.is_empty() => {
                let Record::Checkpoint(checkpoint) = record else { return None };
                let graph = self.graphs.get(&checkpoint.graph).map_or("", String::as_str);
                let path = one_line(&self.path(namespace), 60);
                format!(
                    "      {} {path}  {}",
                    styled(output::DIM, "└"),
                    styled(output::DIM, one_line(graph, 60))
                )
            }
            HistoryEntry::Event { task, node, event: TaskEvent::Custom { name, payload, .. } } => {
                let above = self.nodes_above(namespace);
                let own = self.numbered(namespace, task.rsplit('/').next().unwrap_or(task), node);
                let path = if above.is_empty() { own } else { format!("{above}/{own}") };
                event_line(&path, name, &payload.0)
            }
            HistoryEntry::Commit => {
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
            HistoryEntry::Event { task, node, event: TaskEvent::Log { line, .. } } => {
                if line.level < LogLevel::Info {
                    return None;
                }
                format!("      {}", log_line(&self.label(task, node), line.level, &line.message))
            }
            HistoryEntry::Event { task, node, event: TaskEvent::Failed { failure, .. } } => {
                failure_line(&self.label(task, node), failure)
            }
            HistoryEntry::Event { node, task, event: TaskEvent::Retry { attempt, failure, wait, .. } } => {
                let wait = short_span(Duration::from_millis(*wait));
                retry_line(&self.label(task, node), attempt.saturating_add(1), &wait, failure)
            }
            HistoryEntry::Task(TaskSummary { task, node, fuel, cached: Some(hit), .. }) => {
                let from = format!("cached, from run {}, {} fuel", hit.run, short_number(*fuel));
                cached_line(&self.label(task, node), &from)
            }
            HistoryEntry::Task(task) => {
                let failure = task.failure.as_ref()?;
                let shown = (task.task.clone(), failure.message.clone());
                // A failure of a child run is not repeated for its task.
                let is_of_child = |(child, message): &(String, String)| {
                    *message == shown.1
                        && child.strip_prefix(&shown.0).is_some_and(|rest| rest.starts_with(['/', '@']))
                };
                if self.failed.as_ref().is_some_and(is_of_child) {
                    return None;
                }
                let line = failure_line(&self.label(&task.task, &task.node), failure);
                self.failed = Some(shown);
                line
            }
            HistoryEntry::Warning(warning) => {
                format!("      {} {}", styled(output::CAUTION, "!"), one_line(warning, 300))
            }
            HistoryEntry::Hook(hook) => hook_line(hook),
            _ => return None,
        })
    }

    /// Returns the name of a task: the path of nodes to it, and its number if its node has several tasks.
    pub fn label(&self, task: &str, node: &str) -> String {
        let (namespace, own) = task.rsplit_once('/').unwrap_or(("", task));
        let name = self.numbered(namespace, own, node);
        let above = self.path(namespace);
        if above.is_empty() { name } else { format!("{above}/{name}") }
    }

    /// Returns a node with the number of its task if the superstep runs this node only and it has several tasks; for a `foreach`, the
    /// number of the item.
    fn numbered(&self, namespace: &str, task: &str, node: &str) -> String {
        let ordinal = task.split('@').next().and_then(|task| task.rsplit_once('.')?.1.parse::<u64>().ok());
        let is_only = self.next.get(namespace).is_some_and(|next| next.len() == 1);
        let graph = self.current.get(namespace);
        let is_foreach = graph.is_some_and(|graph| self.foreach.contains(&(*graph, node.to_owned())));
        match ordinal {
            Some(ordinal) if is_only && (is_foreach || ordinal > 0) => format!("{node}#{}", ordinal + 1),
            _ => node.to_owned(),
        }
    }

    /// Returns the path of nodes to a child run without the numbers of tasks, as in events of a run under way.
    fn nodes_above(&self, namespace: &str) -> String {
        let path = self.path(namespace);
        let nodes = path.split('/').map(|node| node.split('#').next().unwrap_or(node));
        nodes.collect::<Vec<_>>().join("/")
    }

    /// Returns the path of nodes to a child run; ids of tasks stand for nodes that are not known.
    fn path(&self, namespace: &str) -> String {
        if namespace.is_empty() {
            return String::new();
        }
        let mut parent = String::new();
        let mut path = Vec::new();
        for task in namespace.split('/') {
            path.push(match self.next.get(&parent).map(Vec::as_slice) {
                Some([only]) => self.numbered(&parent, task, only),
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

/// Returns the line of a superstep that has committed.
fn commit(numbered: &NumberedRecord, checkpoint: &Checkpoint, took: Option<&str>) -> String {
    let fuel = checkpoint.tasks.iter().map(|task| task.fuel).fold(0, u64::saturating_add);
    let values = numbered.record.values.iter();
    let changed: Vec<_> = values
        .map(|value| {
            let elements = (value.kind == ValueKind::Segment)
                .then(|| json::read::<Vec<IgnoredAny>>(&*value.json, TreeLimit::RECORD).ok())
                .flatten();
            ChannelChange {
                channel: value.channel.clone(),
                appended: elements.map(|elements| elements.len() as u64),
            }
        })
        .collect();
    step_line(checkpoint.step, &checkpoint.visited, fuel, took, &changes(&changed))
}
