//! Records for people in addition to results: durations, events in tasks, and the writes of each node. All of it comes
//! with the reports of tasks; it does not depend on the order in which they arrive, and no result digest covers it.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::graph::Graph;
use crate::walker::event::{CustomEvent, Timing};
use crate::walker::state::reduce::Write;
use crate::walker::tasks::superstep::Superstep;
use graph_core::node::Failure;
use graph_core::policy::Reducer;
use graph_core::record::{AttemptJournal, CanonicalValue, ChannelWrite, JournalEntry, LogLine, TaskEvent};
use graph_core::time::Timestamp;

/// The writes of nodes by channel, in task order.
pub(in crate::walker) type Updates = BTreeMap<String, Vec<(String, ChannelWrite)>>;

/// The events of a superstep, for its checkpoint.
#[derive(Debug, Default)]
pub(in crate::walker) struct SuperstepEvents {
    /// Microseconds from the first beginning to the last end.
    pub micros: u64,
    /// The writes by node.
    pub updates: Updates,
}

/// The events of a task.
#[derive(Debug, Default)]
pub(in crate::walker) struct TaskHistory {
    /// The events that no record contains yet.
    events: Vec<TaskEvent>,
    /// Time at which the last attempt ended.
    at: Option<Timestamp>,
    /// The journals of all attempts, earlier failures and questions included.
    journal: Vec<AttemptJournal>,
    /// First beginning and last end of the attempts in this process.
    span: Option<(Duration, Duration)>,
}

impl TaskHistory {
    /// Restores the recorded events of a task whose superstep has not committed.
    pub(in crate::walker) fn new(events: Vec<TaskEvent>, journal: Vec<AttemptJournal>) -> Self {
        Self { events, journal, ..Self::default() }
    }

    /// The events that no record contains yet.
    #[inline]
    pub(in crate::walker) fn events(&self) -> &[TaskEvent] {
        &self.events
    }

    /// Time at which the last attempt ended.
    #[inline]
    pub(in crate::walker) const fn at(&self) -> Option<Timestamp> {
        self.at
    }

    /// The journals of its attempts.
    #[inline]
    pub(in crate::walker) fn journal(&self) -> &[AttemptJournal] {
        &self.journal
    }

    /// Adds the timing, the log lines and the events of an attempt's report.
    pub(in crate::walker) fn add_attempt(
        &mut self,
        attempt: u32,
        timing: Timing,
        logs: Vec<LogLine>,
        events: Vec<CustomEvent>,
    ) {
        if timing.at.is_some() {
            let end = timing.began.saturating_add(timing.took);
            let (began, ended) = self.span.unwrap_or((timing.began, end));
            self.span = Some((began.min(timing.began), ended.max(end)));
            self.at = timing.at;
        }
        let at = timing.at.unwrap_or_default();
        self.events.extend(logs.into_iter().map(|line| TaskEvent::Log { at, attempt, line }));
        self.events.extend(events.into_iter().map(|CustomEvent { name, payload }| TaskEvent::Custom {
            at,
            attempt,
            name,
            payload: payload.into(),
        }));
    }

    /// Stores the journal of an attempt.
    pub(in crate::walker) fn keep_journal(
        &mut self,
        attempt: u32,
        dispatch: u32,
        entries: Vec<JournalEntry>,
    ) {
        if !entries.is_empty() {
            self.journal.push(AttemptJournal { attempt, dispatch, entries });
        }
    }

    /// Adds the event that an attempt failed and another one follows.
    pub(in crate::walker) fn add_retry(
        &mut self,
        attempt: u32,
        clock: Timestamp,
        failure: Failure,
        wait: Duration,
    ) {
        self.events.push(TaskEvent::Retry {
            // An attempt that was never dispatched failed when its superstep began.
            at: self.at.unwrap_or(clock),
            attempt,
            failure,
            wait: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
        });
    }

    /// Adds the event that the last attempt failed and stops the run.
    pub(in crate::walker) fn add_failure(&mut self, attempt: u32, failure: Failure) {
        self.events.push(TaskEvent::Failed { at: self.at, attempt, failure });
    }

    /// Returns the events and the journals.
    pub(in crate::walker) fn into_parts(self) -> (Vec<TaskEvent>, Vec<AttemptJournal>) {
        (self.events, self.journal)
    }
}

impl SuperstepEvents {
    /// Collects the events of a superstep that commits.
    pub(in crate::walker) fn from_superstep(superstep: &Superstep, updates: Updates) -> Self {
        let spans = superstep.tasks().iter().filter_map(|task| task.history().span);
        let whole = spans.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
        let took = whole.map_or(Duration::ZERO, |(began, ended)| ended.saturating_sub(began));
        Self { micros: u64::try_from(took.as_micros()).unwrap_or(u64::MAX), updates }
    }
}

/// Lists the writes by channel and node, before they are folded.
pub(in crate::walker) fn updates(graph: &Graph, writes: &BTreeMap<String, Vec<Write>>) -> Updates {
    let mut updates = Updates::new();
    for (channel, writes) in writes {
        let declared = graph.channel(channel);
        let wrote: fn(&Write) -> ChannelWrite =
            match declared.map_or(Reducer::LastValue, |found| found.reducer) {
                Reducer::Untracked => continue,
                Reducer::LastValue | Reducer::Ephemeral => |_| ChannelWrite::Value,
                Reducer::Append | Reducer::Topic if !writes.iter().any(Write::overwrites) => {
                    |write| ChannelWrite::Elements(write.value.as_array().map_or(1, Vec::len) as u64)
                }
                _ => |write| {
                    let value = CanonicalValue::from(write.value.clone());
                    if write.overwrites() { ChannelWrite::Instead(value) } else { ChannelWrite::Own(value) }
                },
            };
        let of_channel = writes.iter().map(|write| (graph.node(write.node).name.clone(), wrote(write)));
        updates.insert(channel.clone(), of_channel.collect());
    }
    updates
}
