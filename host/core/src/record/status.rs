//! The status of a run, the cause of its end, and the reason of a stop.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::accepted::AcceptedPinChange;
use super::body::is_zero;
use super::hook::HookSummary;
use super::task::{InterruptRecord, TaskUse};
use super::value::CanonicalValue;
use crate::digest::Digest;
use crate::limits::{Budget, HostUse};
use crate::node::Category;
use crate::time::Timestamp;

/// The cause of a run's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// No node was next.
    End,
    /// A `return` node ran.
    Return,
    /// `max_steps` was reached, with `return_last` or `return_with_flag`.
    MaxSteps,
    /// The last branch ended because none of its edges matched.
    NoEdgeMatched,
}

impl EndedBy {
    /// Returns the name in documents and output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::End => "end",
            Self::Return => "return",
            Self::MaxSteps => "max_steps",
            Self::NoEdgeMatched => "no_edge_matched",
        }
    }
}

/// The status of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Status {
    Running,
    Completed,
    CompletedWithErrors,
    Interrupted,
    /// Time or an event continues the run; it asks nothing.
    Waiting,
    Failed,
    Limit,
    Cancelled,
    Killed,
}

impl Status {
    /// Returns the name in documents, the store and output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::CompletedWithErrors => "completed_with_errors",
            Self::Interrupted => "interrupted",
            Self::Waiting => "waiting",
            Self::Failed => "failed",
            Self::Limit => "limit",
            Self::Cancelled => "cancelled",
            Self::Killed => "killed",
        }
    }

    /// Checks whether the run has stopped to wait: for answers, or for time and events.
    pub const fn is_paused(self) -> bool {
        matches!(self, Self::Interrupted | Self::Waiting)
    }

    /// Checks whether the run has reached its end and cannot be resumed.
    pub const fn is_end(self) -> bool {
        matches!(self, Self::Completed | Self::CompletedWithErrors)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The reason why a run stopped, or an operation on it was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum ErrorCode {
    NodeFailed,
    Denied,
    ConflictingWrite,
    InvalidUpdate,
    NoEdgeMatched,
    StalledBarrier,
    Limit,
    Finished,
    AlreadyAnswered,
    AmbiguousAnswer,
    AnswerNeeded,
    AnswerTooLate,
    UnknownInterrupt,
    NotFound,
    InvalidDocument,
    Integrity,
    Storage,
}

impl ErrorCode {
    /// Returns the name in output.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NodeFailed => "node_failed",
            Self::Denied => "denied",
            Self::ConflictingWrite => "conflicting_write",
            Self::InvalidUpdate => "invalid_update",
            Self::NoEdgeMatched => "no_edge_matched",
            Self::StalledBarrier => "stalled_barrier",
            Self::Limit => "limit",
            Self::Finished => "finished",
            Self::AlreadyAnswered => "already_answered",
            Self::AmbiguousAnswer => "ambiguous_answer",
            Self::AnswerNeeded => "answer_needed",
            Self::AnswerTooLate => "answer_too_late",
            Self::UnknownInterrupt => "unknown_interrupt",
            Self::NotFound => "not_found",
            Self::InvalidDocument => "invalid_document",
            Self::Integrity => "integrity",
            Self::Storage => "storage",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The limit at which a run stopped, if it is not a budget of the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopLimit {
    /// `timeout`, the time of the run: a resumed run gets the same time again.
    Timeout,
    /// `max_steps`: a resumed run may be given a larger total.
    MaxSteps,
    /// The deadline of a question without a default: resuming the run fails in the same way.
    Deadline,
}

impl StopLimit {
    /// Returns the limit of a record that does not state it: earlier builds recorded only a message.
    fn of_earlier(code: ErrorCode, message: &str) -> Option<Self> {
        if code != ErrorCode::Limit {
            None
        } else if message.starts_with("the run's time limit of ") {
            Some(Self::Timeout)
        } else if message.contains(" supersteps have run, which is `max_steps`,") {
            Some(Self::MaxSteps)
        } else {
            None
        }
    }
}

/// The reason why a run stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredRunError")]
pub struct RunError {
    /// The used-up budget of the run, if that is the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// The failure's category, if a node failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
    /// The code, which does not depend on the message's wording.
    pub code: ErrorCode,
    /// The reached limit, if that is the reason and it is not a budget.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<StopLimit>,
    /// The message for people.
    pub message: String,
    /// The node that caused it, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

impl RunError {
    /// Creates an error without a node, category and limit.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { budget: None, category: None, code, limit: None, message: message.into(), node: None }
    }
}

/// A [`RunError`] as recorded by any build.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredRunError {
    #[serde(default)]
    budget: Option<Budget>,
    #[serde(default)]
    category: Option<Category>,
    code: ErrorCode,
    #[serde(default)]
    limit: Option<StopLimit>,
    message: String,
    #[serde(default)]
    node: Option<String>,
}

impl From<StoredRunError> for RunError {
    fn from(stored: StoredRunError) -> Self {
        let StoredRunError { budget, category, code, limit, message, node } = stored;
        let limit = limit.or_else(|| StopLimit::of_earlier(code, &message).filter(|_| budget.is_none()));
        Self { budget, category, code, limit, message, node }
    }
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// The cause.
    pub ended_by: EndedBy,
    /// `true` if `on_max_steps: return_with_flag` took effect.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub limit_reached: bool,
    /// The output: that of the `return` node, or else that of the graph.
    pub output: CanonicalValue,
    /// The final status: `completed`, or `completed_with_errors` if `on_error: continue` has ignored a failure.
    pub status: Status,
}

/// The run has stopped before its end, or continues.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatusRecord {
    /// Changes of the run's pins that were accepted under this checkpoint, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accepted: Vec<AcceptedPinChange>,
    /// The time of the change.
    pub at: Timestamp,
    /// The record digest of its checkpoint.
    pub checkpoint: Digest,
    /// For a child run: the dispatch of its parent's task for which it runs, from 1.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dispatch: u32,
    /// The error, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RunError>,
    /// The results of the hooks after the run's end: no checkpoint follows that could contain them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hooked: Vec<HookSummary>,
    /// Fuel of the hooks of the run since the checkpoint, as far as it counts towards the reservations of tasks.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub hooks_fuel: u64,
    /// Use of the host by those hooks, as far as it counts in the same way.
    #[serde(default, skip_serializing_if = "HostUse::is_nothing")]
    pub hooks_host: HostUse,
    /// `true` if the hooks of this boundary have run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hooks_passed: bool,
    /// The open questions.
    pub interrupts: Vec<InterruptRecord>,
    /// The total of `max_steps`, if hooks have extended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u64>,
    /// The namespace of the run; empty for the root run.
    pub namespace: String,
    /// `true` if the static interrupts of this boundary have been passed.
    pub released: bool,
    /// Number of times that the run has continued after a failure or a limit under this checkpoint.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resumes: u32,
    /// The id of the root run.
    pub run: String,
    /// The sequence number of its checkpoint.
    pub sequence: u64,
    /// The new status of the run.
    pub status: Status,
    /// Use by the tasks of the active superstep so far, by task id.
    pub tasks: BTreeMap<String, TaskUse>,
    /// Warnings since the checkpoint.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn a_stated_limit_counts_whatever_the_message_says() {
        let reworded = json!({ "code": "limit", "limit": "timeout", "message": "time is up" });
        assert_eq!(from_value::<RunError>(reworded).unwrap().limit, Some(StopLimit::Timeout));
        let error =
            RunError { limit: Some(StopLimit::MaxSteps), ..RunError::new(ErrorCode::Limit, "enough") };
        assert_eq!(from_value::<RunError>(serde_json::to_value(&error).unwrap()).unwrap(), error);
    }

    #[test]
    fn earlier_records_stated_it_in_the_message() {
        let timeout = "the run's time limit of 3 s is over (`timeout` of the graph); a resumed run has as much time again";
        let steps =
            "7 supersteps have run, which is `max_steps`, and something is next; resume with a larger total";
        for (code, budget, message, limit) in [
            ("limit", None, timeout, Some(StopLimit::Timeout)),
            ("limit", None, steps, Some(StopLimit::MaxSteps)),
            ("limit", Some("fuel"), timeout, None),
            ("node_failed", None, timeout, None),
            ("limit", None, "`max_fan_out` is 3", None),
        ] {
            let stored = json!({ "budget": budget, "code": code, "message": message });
            assert_eq!(from_value::<RunError>(stored).unwrap().limit, limit, "{code} {message}");
        }
    }
}
