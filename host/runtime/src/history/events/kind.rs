//! Filters of the entries of a run's history.

use std::collections::BTreeSet;

use graph_core::record::{HistoryEntry, Status, TaskEvent};

/// A stream: a selection of the entries of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StreamKind {
    /// The whole state after each step.
    Values,
    /// The writes of each node.
    Updates,
    /// Steps, tasks, retries, hooks, routes, commits, warnings, and the end of the run; live also the beginning of attempts.
    Events,
    /// Everything; live also the beginning of attempts, and the params and results of tasks.
    Debug,
    /// The questions that the run asks.
    Interrupts,
    /// The events that components emit.
    Custom,
    /// The log lines of components.
    Logs,
    /// The answers of language models, while they arrive: live only.
    Messages,
}

/// Selection of runs in a tree of runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Namespaces {
    /// The run and its child runs.
    #[default]
    All,
    /// Only the run at the top.
    Top,
}

/// Filter of the entries of a history: by stream and by namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kinds {
    streams: BTreeSet<StreamKind>,
    namespaces: Namespaces,
}

impl Kinds {
    /// Selects these streams, or all of them if none is named.
    pub fn or_all(kinds: &[StreamKind]) -> Self {
        let all = [StreamKind::Debug];
        let streams = if kinds.is_empty() { &all[..] } else { kinds }.iter().copied().collect();
        Self { streams, namespaces: Namespaces::All }
    }

    /// Restricts the same streams to these namespaces.
    #[must_use]
    pub fn within(self, namespaces: Namespaces) -> Self {
        Self { namespaces, ..self }
    }

    /// Checks whether a namespace is wanted.
    pub(super) fn want_namespace(&self, namespace: &str) -> bool {
        self.namespaces == Namespaces::All || namespace.is_empty()
    }

    /// Checks whether all streams are wanted.
    pub fn everything(&self) -> bool {
        self.streams.contains(&StreamKind::Debug)
    }

    /// Checks whether an entry is wanted.
    pub(super) fn want(&self, entry: &HistoryEntry<'_>) -> bool {
        let stream = match entry {
            HistoryEntry::Values => StreamKind::Values,
            HistoryEntry::Update { .. } => StreamKind::Updates,
            HistoryEntry::Interrupt(_) => StreamKind::Interrupts,
            HistoryEntry::Event { event: TaskEvent::Custom { .. }, .. } => StreamKind::Custom,
            HistoryEntry::Event { event: TaskEvent::Log { .. }, .. } => StreamKind::Logs,
            HistoryEntry::Began(_)
            | HistoryEntry::Hook(_)
            | HistoryEntry::Superstep(_)
            | HistoryEntry::Event { event: TaskEvent::Failed { .. } | TaskEvent::Retry { .. }, .. }
            | HistoryEntry::Task(_)
            | HistoryEntry::Route(_)
            | HistoryEntry::Warning(_)
            | HistoryEntry::Commit
            | HistoryEntry::Status { .. }
            | HistoryEntry::End { .. } => StreamKind::Events,
        };
        self.everything() || self.streams.contains(&stream)
    }

    /// Checks whether lines for the beginning of attempts are wanted.
    pub(super) fn want_starts(&self) -> bool {
        self.want(&HistoryEntry::Commit)
    }

    /// Checks whether lines for parts of answers of language models are wanted.
    pub(super) fn want_messages(&self) -> bool {
        self.everything() || self.streams.contains(&StreamKind::Messages)
    }

    /// Checks whether whole states are wanted.
    pub(super) fn want_values(&self) -> bool {
        self.want(&HistoryEntry::Values)
    }
}

/// The `kind` of a line for an attempt that begins. Such lines are live only: they are not stored.
pub(super) const TASK_STARTED: &str = "task_started";

/// The `kind` of a line for a part of a language model's answer. Such lines are live only, too.
pub(super) const MESSAGE: &str = "message";

/// The values of `kind` in lines of stored entries.
pub const KINDS: [&str; 15] = [
    "run",
    "hook",
    "superstep",
    "custom",
    "failed",
    "log",
    "retry",
    "task",
    "update",
    "values",
    "route",
    "warning",
    "commit",
    "interrupt",
    "end",
];

/// Returns the `kind` of an entry's line.
pub(super) const fn kind_name(entry: &HistoryEntry<'_>) -> &'static str {
    match entry {
        HistoryEntry::Began(_) | HistoryEntry::Status { status: Status::Running, .. } => "run",
        HistoryEntry::Hook(_) => "hook",
        HistoryEntry::Superstep(_) => "superstep",
        HistoryEntry::Event { event: TaskEvent::Custom { .. }, .. } => "custom",
        HistoryEntry::Event { event: TaskEvent::Failed { .. }, .. } => "failed",
        HistoryEntry::Event { event: TaskEvent::Log { .. }, .. } => "log",
        HistoryEntry::Event { event: TaskEvent::Retry { .. }, .. } => "retry",
        HistoryEntry::Task(_) => "task",
        HistoryEntry::Update { .. } => "update",
        HistoryEntry::Values => "values",
        HistoryEntry::Route(_) => "route",
        HistoryEntry::Warning(_) => "warning",
        HistoryEntry::Commit => "commit",
        HistoryEntry::Interrupt(_) => "interrupt",
        HistoryEntry::Status { .. } | HistoryEntry::End { .. } => "end",
    }
}
