//! What tasks come to: under way, and once their superstep has committed.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::body::{is_none_yet, is_zero};
use super::cache::{CacheHit, TaskCache};
use super::event::TaskEvent;
use super::journal::AttemptJournal;
use super::value::Canonical;
use crate::digest::Digest;
use crate::limits::HostUse;
use crate::node::{Failure, Outcome};
use crate::time::Timestamp;

/// What a task of a committed superstep came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskSummary {
    /// The answers to its questions, in the order they were asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Canonical>,
    /// When its last attempt ended; absent where nothing was dispatched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// Attempts of the last series, retries included.
    pub attempts: u32,
    /// The stored result that stood in for its dispatch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<Box<CacheHit>>,
    /// How often its item was dispatched, earlier failures and questions included.
    pub dispatches: u32,
    /// What happened in it that no earlier record of the run's history tells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<TaskEvent>,
    /// The failure that was handled, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Fuel of all attempts.
    pub fuel: u64,
    /// What all attempts used of the host.
    #[serde(default, skip_serializing_if = "HostUse::is_nothing")]
    pub host: HostUse,
    /// The item that was dispatched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// What the world answered to each of its attempts, in order; those that asked nothing are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub journal: Vec<AttemptJournal>,
    /// Microseconds that all attempts took.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub micros: u64,
    /// The node.
    pub node: String,
    /// The task's id.
    pub task: String,
}

/// What one task of the superstep under way has come to. It is void as soon as the superstep commits, and never
/// applies to another checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskRecord {
    /// When it came to this.
    pub at: Timestamp,
    /// The attempt, from 1.
    pub attempt: u32,
    /// How often hooks were asked about a failure of it so far.
    #[serde(default, skip_serializing_if = "is_none_yet")]
    pub asked: u32,
    /// What it has to do with the cache of results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<TaskCache>,
    /// The record digest of the checkpoint it is under.
    pub checkpoint: Digest,
    /// A hook had its failure passed: `on_error` does not apply.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub continued: bool,
    /// How often its item was dispatched so far.
    pub dispatches: u32,
    /// What happened in it that the run's history does not tell yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<TaskEvent>,
    /// Fuel of all attempts so far, and of the hooks that were asked about them.
    pub fuel: u64,
    /// What all attempts, and the hooks that were asked about them, have used so far of the host.
    #[serde(default, skip_serializing_if = "HostUse::is_nothing")]
    pub host: HostUse,
    /// What the world answered to each of its attempts so far, in order; those that asked nothing are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub journal: Vec<AttemptJournal>,
    /// Microseconds that all attempts took so far.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub micros: u64,
    /// The namespace.
    pub namespace: String,
    /// The node.
    pub node: String,
    /// What it has come to.
    pub outcome: PendingOutcome,
    /// How many of its attempts a hook has asked for.
    #[serde(default, skip_serializing_if = "is_none_yet")]
    pub retried: u32,
    /// The run's id.
    pub run: String,
    /// The sequence number of the checkpoint it is under.
    pub sequence: u64,
    /// Supersteps of its child run so far, and of the runs below that.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub steps: u64,
    /// The task's id.
    pub task: String,
    /// Warnings of the task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// What a task has come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum PendingOutcome {
    /// It answered; it will not run again.
    Done {
        /// The answer.
        outcome: Arc<Outcome>,
    },
    /// It failed, and hooks are asked what becomes of that.
    Failing {
        /// The failure.
        failure: Failure,
    },
    /// It failed for good after it was to be tried again; a resume counts its attempts anew.
    Failed {
        /// The failure.
        failure: Failure,
    },
    /// It failed for good and the graph handles that; it will not run again.
    Handled {
        /// The failure.
        failure: Failure,
    },
    /// Its child run asks, and keeps the questions.
    Suspended,
    /// It asks.
    Interrupted {
        /// How many answers it had when it asked.
        answered: u32,
        /// The question.
        payload: Canonical,
    },
    /// It failed and will be tried again.
    Retrying {
        /// When.
        due: Timestamp,
        /// The failure.
        failure: Failure,
    },
}

/// All answers to a task's interrupts so far, in the order they were asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswersRecord {
    /// The answers.
    pub answers: Vec<Canonical>,
    /// When the last one came.
    pub at: Timestamp,
    /// The record digest of the checkpoint it is under.
    pub checkpoint: Digest,
    /// The namespace.
    pub namespace: String,
    /// The node.
    pub node: String,
    /// The run's id.
    pub run: String,
    /// The sequence number of the checkpoint it is under.
    pub sequence: u64,
    /// The task's id.
    pub task: String,
}

/// What a task has used, whatever it came to, and where it stands as the run goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskUse {
    /// How often hooks were asked about a failure of it.
    #[serde(default, skip_serializing_if = "is_none_yet")]
    pub asked: u32,
    /// The attempts that count against its retry policy.
    #[serde(default, skip_serializing_if = "is_none_yet")]
    pub attempts: u32,
    /// How often its item was dispatched.
    pub dispatches: u32,
    /// What happened in it that no earlier record of the run's history tells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<TaskEvent>,
    /// Fuel of all attempts.
    pub fuel: u64,
    /// What all attempts used of the host.
    #[serde(default, skip_serializing_if = "HostUse::is_nothing")]
    pub host: HostUse,
    /// What the world answered to each of its attempts, in order, where no task record has it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub journal: Vec<AttemptJournal>,
    /// Microseconds that all attempts took.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub micros: u64,
    /// Its node.
    pub node: String,
    /// It will not run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub settled: bool,
    /// Supersteps of its child run, and of the runs below that.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub steps: u64,
}

/// A question that is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InterruptRecord {
    /// The id by which it is answered, `task/n`.
    pub id: String,
    /// The node.
    pub node: String,
    /// The question; null for a static interrupt.
    pub payload: Canonical,
}
