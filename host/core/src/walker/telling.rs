//! What a run tells of itself beside what it computes: how long things took, what happened in tasks, which node wrote
//! what. All of it comes with the tasks' reports; nothing here depends on the order in which they come, and no result
//! digest covers it.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Walker;
use super::event::{CustomEvent, Timing};
use super::reduce::Write;
use super::superstep::{Superstep, Task};
use crate::graph::{Graph, Reducer};
use crate::node::Failure;
use crate::record::{AttemptJournal, Canonical, JournalEntry, TaskEvent, Wrote};
use crate::time::Timestamp;

/// Which nodes wrote what, by channel, in task order.
pub(super) type Updates = BTreeMap<String, Vec<(String, Wrote)>>;

/// What the next checkpoint tells of its superstep.
#[derive(Debug, Default)]
pub(super) struct Telling {
    /// Microseconds from the first beginning to the last end.
    pub(super) micros: u64,
    /// Who wrote what.
    pub(super) updates: Updates,
}

/// What a task tells.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// What happened in it and stands in no record of the history yet.
    pub(super) events: Vec<TaskEvent>,
    /// When its last attempt ended.
    pub(super) at: Option<Timestamp>,
    /// What the world answered to its attempts, earlier failures and questions included.
    pub(super) journal: Vec<AttemptJournal>,
    /// From the first beginning to the last end of its attempts in this process.
    span: Option<(Duration, Duration)>,
}

impl Told {
    /// What is known of a task whose superstep has not committed.
    pub(super) fn of(events: Vec<TaskEvent>, journal: Vec<AttemptJournal>) -> Self {
        Self { events, journal, ..Self::default() }
    }
}

impl Task {
    /// Takes over what an attempt's report tells.
    pub(super) fn hear(&mut self, timing: Timing, events: Vec<CustomEvent>) {
        self.used.micros = self.used.micros.saturating_add(timing.micros());
        if timing.at.is_some() {
            let end = timing.began.saturating_add(timing.took);
            let (began, ended) = self.told.span.unwrap_or((timing.began, end));
            self.told.span = Some((began.min(timing.began), ended.max(end)));
            self.told.at = timing.at;
        }
        let (at, attempt) = (timing.at.unwrap_or_default(), self.attempt);
        self.told.events.extend(events.into_iter().map(|CustomEvent { name, payload }| TaskEvent::Custom {
            at,
            attempt,
            name,
            payload: payload.into(),
        }));
    }

    /// Keeps what the world answered to the attempt.
    pub(super) fn keep_journal(&mut self, entries: Vec<JournalEntry>) {
        if !entries.is_empty() {
            let (attempt, dispatch) = (self.attempt, self.used.dispatches);
            self.told.journal.push(AttemptJournal { attempt, dispatch, entries });
        }
    }

    /// Keeps that an attempt failed and another one follows.
    pub(super) fn hear_retry(&mut self, clock: Timestamp, failure: Failure, wait: Duration) {
        self.told.events.push(TaskEvent::Retry {
            // An attempt that was never dispatched has failed as its superstep began.
            at: self.told.at.unwrap_or(clock),
            attempt: self.attempt,
            failure,
            wait: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
        });
    }
}

impl Walker {
    /// Keeps what the next checkpoint tells of a superstep that commits.
    pub(super) fn tell(&mut self, superstep: &Superstep, updates: Updates) {
        let spans = superstep.tasks.iter().filter_map(|task| task.told.span);
        let whole = spans.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
        let took = whole.map_or(Duration::ZERO, |(began, ended)| ended.saturating_sub(began));
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        // Several supersteps may share a checkpoint: their times add up, and values that were written over are gone.
        self.telling = Telling { micros: self.telling.micros.saturating_add(micros), updates };
    }
}

/// Who wrote what, before the writes are folded.
pub(super) fn updates(graph: &Graph, writes: &BTreeMap<String, Vec<Write>>) -> Updates {
    let mut updates = Updates::new();
    for (channel, writes) in writes {
        let declared = graph.channels.iter().find(|declared| declared.name == *channel);
        let wrote: fn(&Write) -> Wrote = match declared.map_or(Reducer::LastValue, |found| found.reducer) {
            Reducer::Untracked => continue,
            Reducer::LastValue | Reducer::Ephemeral => |_| Wrote::Value,
            Reducer::Append | Reducer::Topic if !writes.iter().any(Write::overwrites) => {
                |write| Wrote::Elements(write.value.as_array().map_or(1, Vec::len) as u64)
            }
            _ => |write| {
                let value = Canonical::from(write.value.clone());
                if write.overwrites() { Wrote::Instead(value) } else { Wrote::Own(value) }
            },
        };
        let of_channel = writes.iter().map(|write| (graph.node(write.node).name.clone(), wrote(write)));
        updates.insert(channel.clone(), of_channel.collect());
    }
    updates
}
