//! The bodies of records. Maps are sorted and values canonical, so that one record has one text.

use serde::{Deserialize, Serialize};

use super::checkpoint::Checkpoint;
use super::hook::HookRecord;
use super::status::StatusRecord;
use super::task::{AnswersRecord, TaskRecord};

/// Any record of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// A boundary: all changes of a superstep.
    Checkpoint(Box<Checkpoint>),
    /// The result of one task of the active superstep.
    Task(TaskRecord),
    /// Answers to a task's interrupts.
    Answers(AnswersRecord),
    /// The result of a hook.
    Hook(HookRecord),
    /// The run has stopped before its end, or continues.
    Status(StatusRecord),
}

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum RecordKind {
    Checkpoint,
    Task,
    Answers,
    Hook,
    Status,
}

impl RecordKind {
    /// Returns the name in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Checkpoint => "checkpoint",
            Self::Task => "task",
            Self::Answers => "answers",
            Self::Hook => "hook",
            Self::Status => "status",
        }
    }

    /// Returns the domain under which records of this kind are digested and signed.
    pub const fn domain(self) -> &'static str {
        match self {
            Self::Checkpoint => "graph-host/checkpoint/v1",
            Self::Task => "graph-host/task/v1",
            Self::Answers => "graph-host/answers/v1",
            Self::Hook => "graph-host/hook/v1",
            Self::Status => "graph-host/status/v1",
        }
    }

    /// Reads the name in the store.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Checkpoint, Self::Task, Self::Answers, Self::Hook, Self::Status]
            .into_iter()
            .find(|kind| kind.as_str() == text)
    }
}

/// Checks whether a count is zero. Records leave such counts out.
pub(super) fn is_zero<N: Default + PartialEq>(count: &N) -> bool {
    *count == N::default()
}
