//! A run's history: the entries of its records, in order, each with a number of its own.
//!
//! A checkpoint and a status record each hold a fixed list of entries, which follows from their text alone. The numbers follow from the
//! order in which a store has received the records; only the records are stored.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::body::Record;
use super::checkpoint::{Checkpoint, Source};
use super::edge::FiredEdge;
use super::hook::HookSummary;
use super::log_line::LogLine;
use super::status::{EndedBy, RunError, Status, StatusRecord};
use super::task::{InterruptRecord, TaskSummary};
use super::value::CanonicalValue;
use crate::json::{self, ReadJsonError, TreeLimit, TreeTooLarge};
use crate::node::Failure;
use crate::time::Timestamp;

/// The first version of checkpoints whose edges have entries in the history.
const ROUTED: u64 = 2;

/// An event of a task, in addition to its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum TaskEvent {
    /// The component emitted a record to the event stream.
    Custom {
        /// The time at which the attempt ended.
        at: Timestamp,
        /// The attempt that emitted it, from 1.
        attempt: u32,
        /// The name of the record's kind.
        name: String,
        /// The payload.
        payload: CanonicalValue,
    },
    /// The task's last attempt failed, and the failure stopped the run: the superstep did not commit.
    Failed {
        /// The time at which the attempt ended; absent if nothing was dispatched.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<Timestamp>,
        /// The attempt, from 1; 0 if the task failed before its first attempt.
        attempt: u32,
        /// The failure.
        failure: Failure,
    },
    /// The component wrote a log line.
    Log {
        /// The time at which the attempt ended.
        at: Timestamp,
        /// The attempt that wrote it, from 1.
        attempt: u32,
        /// The line.
        line: LogLine,
    },
    /// An attempt failed, and another one follows.
    Retry {
        /// The time at which the attempt ended.
        at: Timestamp,
        /// The attempt that failed.
        attempt: u32,
        /// The failure of that attempt.
        failure: Failure,
        /// Milliseconds until the next attempt.
        wait: u64,
    },
}

/// A node's write to a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChannelWrite {
    /// The channel's new value.
    Value,
    /// Number of elements that the channel has gained from this node, after those of the nodes before it.
    Elements(u64),
    /// A value that the reducer has combined with the channel's value.
    Own(CanonicalValue),
    /// A value that has replaced the channel's value.
    Instead(CanonicalValue),
}

/// An entry of a run's history.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HistoryEntry<'a> {
    /// The run starts, receives new inputs or an edit, or starts as a fork.
    Began(&'a Source),
    /// The result of a hook since the preceding checkpoint.
    Hook(&'a HookSummary),
    /// A superstep with these nodes, in task order.
    Superstep(&'a [String]),
    /// An event of a task.
    Event {
        /// The id of the task in its namespace.
        task: &'a str,
        /// The name of the task's node.
        node: &'a str,
        /// The event.
        event: &'a TaskEvent,
    },
    /// A task has settled.
    Task(&'a TaskSummary),
    /// A node's writes. The checkpoint's `updates` contain them.
    Update {
        /// The name of the node that wrote.
        node: &'a str,
    },
    /// The whole state after the checkpoint.
    Values,
    /// An edge that fired from a node, or the end of a branch.
    Route(&'a FiredEdge),
    /// A warning of the superstep or of the stop.
    Warning(&'a str),
    /// A superstep has committed.
    Commit,
    /// A question is open.
    Interrupt(&'a InterruptRecord),
    /// The run stopped before its end, or continues.
    Status {
        /// The new status.
        status: Status,
        /// The error, if any.
        error: Option<&'a RunError>,
    },
    /// The run has ended.
    End {
        /// The final status.
        status: Status,
        /// The cause of the end.
        ended_by: EndedBy,
    },
}

impl Record {
    /// Returns the entries of the run's history in the record, in order. Records of tasks, answers and hooks have none: their events are in
    /// the next checkpoint or status record.
    pub fn entries(&self) -> Vec<HistoryEntry<'_>> {
        match self {
            Self::Checkpoint(checkpoint) => checkpoint.entries(),
            Self::Status(status) => status.entries(),
            Self::Task(_) | Self::Answers(_) | Self::Hook(_) => Vec::new(),
        }
    }

    /// Returns the number of [`Self::entries`].
    pub fn event_count(&self) -> u64 {
        let count = match self {
            Self::Checkpoint(checkpoint) => {
                let tasks: usize = checkpoint.tasks.iter().map(|task| task.events.len() + 1).sum();
                let superstep = if checkpoint.source == Source::Superstep { 2 } else { 1 };
                let (updates, warnings) = (checkpoint.writers().len(), checkpoint.warnings.len());
                superstep
                    + checkpoint.hooked.len()
                    + tasks
                    + updates
                    + 1
                    + checkpoint.routes().len()
                    + warnings
                    + usize::from(checkpoint.end.is_some())
            }
            Self::Status(status) => {
                let events: usize = status.tasks.values().map(|task| task.events.len()).sum();
                events + status.hooked.len() + status.interrupts.len() + 1
            }
            Self::Task(_) | Self::Answers(_) | Self::Hook(_) => 0,
        };
        count as u64
    }

    /// Returns the recorded time of the record.
    pub fn at(&self) -> Timestamp {
        match self {
            Self::Checkpoint(record) => record.at,
            Self::Task(record) => record.at,
            Self::Answers(record) => record.at,
            Self::Hook(record) => record.at,
            Self::Status(record) => record.at,
        }
    }
}

impl Checkpoint {
    fn entries(&self) -> Vec<HistoryEntry<'_>> {
        let mut entries = Vec::new();
        let superstep = self.source == Source::Superstep;
        entries.push(if superstep {
            HistoryEntry::Superstep(&self.visited)
        } else {
            HistoryEntry::Began(&self.source)
        });
        entries.extend(self.hooked.iter().map(HistoryEntry::Hook));
        for summary in &self.tasks {
            let TaskSummary { task, node, .. } = summary;
            entries.extend(summary.events.iter().map(|event| HistoryEntry::Event { task, node, event }));
            entries.push(HistoryEntry::Task(summary));
        }
        entries.extend(self.writers().into_iter().map(|node| HistoryEntry::Update { node }));
        entries.push(HistoryEntry::Values);
        entries.extend(self.routes().iter().map(HistoryEntry::Route));
        entries.extend(self.warnings.iter().map(|warning| HistoryEntry::Warning(warning)));
        if superstep {
            entries.push(HistoryEntry::Commit);
        }
        entries.extend(
            self.end.as_ref().map(|end| HistoryEntry::End { status: end.status, ended_by: end.ended_by }),
        );
        entries
    }

    /// Returns the edges that have entries in the history. Those of format version 1 have none, so that entries keep their numbers.
    fn routes(&self) -> &[FiredEdge] {
        if self.version < ROUTED { &[] } else { &self.fired }
    }

    /// Returns the nodes that wrote, each once, in the order of channels and then of tasks.
    fn writers(&self) -> Vec<&str> {
        let mut known = BTreeSet::new();
        let all = self.updates.values().flatten().map(|(node, _)| node.as_str());
        all.filter(|node| known.insert(*node)).collect()
    }
}

impl StatusRecord {
    fn entries(&self) -> Vec<HistoryEntry<'_>> {
        let mut entries = Vec::new();
        for (task, used) in &self.tasks {
            entries.extend(used.events.iter().map(|event| HistoryEntry::Event {
                task,
                node: &used.node,
                event,
            }));
        }
        entries.extend(self.hooked.iter().map(HistoryEntry::Hook));
        entries.extend(self.interrupts.iter().map(HistoryEntry::Interrupt));
        entries.push(HistoryEntry::Status { status: self.status, error: self.error.as_ref() });
        entries
    }
}

/// Reads the writes of nodes to a channel from a checkpoint's `updates` and values, in the order of writes.
#[derive(Debug)]
pub struct WrittenReader {
    value: Option<Value>,
    taken: usize,
}

impl WrittenReader {
    /// Creates a reader of the value that the checkpoint stores for the channel: the whole value, or the elements gained. A text that is
    /// not JSON counts as missing.
    pub fn new(stored: Option<&str>) -> Result<Self, TreeTooLarge> {
        let value = match stored.map(|text| json::read(text, TreeLimit::VALUE)) {
            Some(Err(ReadJsonError::TooLarge(error))) => return Err(error),
            read => read.and_then(Result::ok),
        };
        Ok(Self { value, taken: 0 })
    }

    /// Returns the value of the channel's next writer; `None` if the store does not have it.
    pub fn take(&mut self, wrote: &ChannelWrite) -> Option<Value> {
        match wrote {
            ChannelWrite::Own(value) => Some(Value::clone(&value.0)),
            ChannelWrite::Instead(value) => Some(json!({ "overwrite": *value.0 })),
            ChannelWrite::Value => self.value.clone(),
            ChannelWrite::Elements(count) => {
                let end = self.taken.checked_add(usize::try_from(*count).ok()?)?;
                let elements = self.value.as_ref()?.as_array()?.get(self.taken..end)?.to_vec();
                self.taken = end;
                Some(elements.into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn elements_are_taken_in_the_order_of_writers() {
        let mut reader = WrittenReader::new(Some("[1,2,3]")).unwrap();
        assert_eq!(reader.take(&ChannelWrite::Elements(2)), Some(json!([1, 2])));
        assert_eq!(reader.take(&ChannelWrite::Elements(0)), Some(json!([])));
        assert_eq!(reader.take(&ChannelWrite::Elements(1)), Some(json!([3])));
        assert_eq!(reader.take(&ChannelWrite::Elements(1)), None);
        assert_eq!(reader.take(&ChannelWrite::Own(json!({"a": 1}).into())), Some(json!({"a": 1})));
        assert_eq!(reader.take(&ChannelWrite::Instead(json!([1]).into())), Some(json!({"overwrite": [1]})));
        assert!(WrittenReader::new(Some(&format!("[{}0]", "0,".repeat(1 << 23)))).is_err());
        assert_eq!(WrittenReader::new(None).unwrap().take(&ChannelWrite::Value), None);
        assert_eq!(WrittenReader::new(Some("7")).unwrap().take(&ChannelWrite::Value), Some(json!(7)));
    }
}
