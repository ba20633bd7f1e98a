//! Which entries of a run's history are wanted.

use std::collections::BTreeSet;

use graph_core::record::{Entry, Status, TaskEvent};

/// A stream: a choice of what happens in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StreamKind {
    /// The whole state after each step
    Values,
    /// What each node wrote
    Updates,
    /// Steps, tasks, retries, hooks, routes, commits, warnings, and how the run ends; live also when attempts begin
    Events,
    /// Everything; live also when attempts begin, and the params and results of tasks
    Debug,
    /// The questions that the run asks
    Interrupts,
    /// What components emit
    Custom,
    /// What language models answer, while it arrives: live only
    Messages,
}

/// Which runs of a tree of runs are reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Namespaces {
    /// The run and its child runs
    #[default]
    All,
    /// The run at the top alone
    Top,
}

/// Which entries of a history are wanted: which streams, and of which namespaces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kinds {
    streams: BTreeSet<StreamKind>,
    namespaces: Namespaces,
}

impl Kinds {
    /// These streams, or all of them where none is named.
    pub fn or_all(kinds: &[StreamKind]) -> Self {
        let all = [StreamKind::Debug];
        let streams = if kinds.is_empty() { &all[..] } else { kinds }.iter().copied().collect();
        Self { streams, namespaces: Namespaces::All }
    }

    /// The same streams, of these namespaces.
    #[must_use]
    pub fn of(self, namespaces: Namespaces) -> Self {
        Self { namespaces, ..self }
    }

    /// Whether a namespace is wanted.
    pub(super) fn want_namespace(&self, namespace: &str) -> bool {
        self.namespaces == Namespaces::All || namespace.is_empty()
    }

    /// Whether everything is wanted.
    pub fn everything(&self) -> bool {
        self.streams.contains(&StreamKind::Debug)
    }

    /// Whether an entry is wanted.
    pub(super) fn want(&self, entry: &Entry<'_>) -> bool {
        let stream = match entry {
            Entry::Values => StreamKind::Values,
            Entry::Update { .. } => StreamKind::Updates,
            Entry::Interrupt(_) => StreamKind::Interrupts,
            Entry::Event { event: TaskEvent::Custom { .. }, .. } => StreamKind::Custom,
            Entry::Began(_)
            | Entry::Hook(_)
            | Entry::Superstep(_)
            | Entry::Event { event: TaskEvent::Retry { .. }, .. }
            | Entry::Task(_)
            | Entry::Route(_)
            | Entry::Warning(_)
            | Entry::Commit
            | Entry::Status { .. }
            | Entry::End { .. } => StreamKind::Events,
        };
        self.everything() || self.streams.contains(&stream)
    }

    /// Whether lines for the beginning of attempts are wanted.
    pub(super) fn want_starts(&self) -> bool {
        self.want(&Entry::Commit)
    }

    /// Whether lines for parts of answers of language models are wanted.
    pub(super) fn want_messages(&self) -> bool {
        self.everything() || self.streams.contains(&StreamKind::Messages)
    }

    /// Whether whole states are wanted.
    pub(super) fn want_values(&self) -> bool {
        self.want(&Entry::Values)
    }
}

/// The `event` of a line for an attempt that begins. Such lines are live only: they are not stored.
pub(super) const TASK_STARTED: &str = "task_started";

/// The `event` of a line for a part of a language model's answer. Such lines are live only, too.
pub(super) const MESSAGE: &str = "message";

/// The values by which lines of stored entries name what they report.
pub const KINDS: [&str; 13] = [
    "run",
    "hook",
    "superstep",
    "custom",
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

/// The value by which a line names what it reports.
pub(super) const fn word(entry: &Entry<'_>) -> &'static str {
    match entry {
        Entry::Began(_) | Entry::Status { status: Status::Running, .. } => "run",
        Entry::Hook(_) => "hook",
        Entry::Superstep(_) => "superstep",
        Entry::Event { event: TaskEvent::Custom { .. }, .. } => "custom",
        Entry::Event { event: TaskEvent::Retry { .. }, .. } => "retry",
        Entry::Task(_) => "task",
        Entry::Update { .. } => "update",
        Entry::Values => "values",
        Entry::Route(_) => "route",
        Entry::Warning(_) => "warning",
        Entry::Commit => "commit",
        Entry::Interrupt(_) => "interrupt",
        Entry::Status { .. } | Entry::End { .. } => "end",
    }
}
