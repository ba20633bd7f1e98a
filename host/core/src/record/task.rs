//! The results of tasks: during their superstep, and once it has committed.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::body::{is_none_yet, is_zero};
use super::cache::{CacheHit, TaskCache};
use super::event::TaskEvent;
use super::journal::AttemptJournal;
use super::value::Canonical;
use crate::digest::Digest;
use crate::limits::{HostUse, ModelFigure, ModelUse};
use crate::node::{Failure, Outcome};
use crate::time::Timestamp;

/// The result of a task of a committed superstep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskSummary {
    /// The answers to its questions, in the order they were asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Canonical>,
    /// When each answer came, by its number, as far as it is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arrived: BTreeMap<u32, Timestamp>,
    /// When its last attempt ended; absent if nothing was dispatched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// Attempts of the last series, retries included.
    pub attempts: u32,
    /// The cached result that was used instead of its dispatch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<Box<CacheHit>>,
    /// How often its item was dispatched, earlier failures and questions included.
    pub dispatches: u32,
    /// The numbers of the answers that do not count any more: the component has rejected them, or another answer has replaced
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<u32>,
    /// What happened in it and is in no earlier record of the run's history.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<TaskEvent>,
    /// The numbers of the answers that no one gave, with the deadlines that had passed: the answer is the question's default, or
    /// null if it has none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub expired: BTreeMap<u32, Timestamp>,
    /// The failure that was handled, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Fuel of all attempts.
    pub fuel: u64,
    /// The numbers of the answers to the host's own questions about budgets of language models: they are no answers of the
    /// component's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub granted: Vec<u32>,
    /// What all attempts used of the host.
    #[serde(default, skip_serializing_if = "HostUse::is_nothing")]
    pub host: HostUse,
    /// The item that was dispatched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// The journals of its attempts, in order; attempts without calls of the host are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub journal: Vec<AttemptJournal>,
    /// What attempts have used of language models, or may have used, that a crash ended before they had a result: it is in no
    /// journal. `host` includes it.
    #[serde(default, skip_serializing_if = "ModelUse::is_nothing")]
    pub lost: ModelUse,
    /// The same by the model that was asked last, by its name in the manifest, as far as that is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lost_models: BTreeMap<String, ModelUse>,
    /// Microseconds that all attempts took.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub micros: u64,
    /// The name of the task's node.
    pub node: String,
    /// The id of the task in its namespace.
    pub task: String,
}

/// The result of one task of the active superstep. It is void as soon as the superstep commits, and never applies to
/// another checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskRecord {
    /// The time of the result.
    pub at: Timestamp,
    /// The attempt, from 1.
    pub attempt: u32,
    /// How often hooks were asked about a failure of it so far.
    #[serde(default, skip_serializing_if = "is_none_yet")]
    pub asked: u32,
    /// Its state with respect to the cache of results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<TaskCache>,
    /// The record digest of the checkpoint it is under.
    pub checkpoint: Digest,
    /// A hook had its failure passed: `on_error` does not apply.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub continued: bool,
    /// How often its item was dispatched so far.
    pub dispatches: u32,
    /// The numbers of the answers that do not count any more: the component has rejected them, or another answer has replaced
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<u32>,
    /// Its events that the run's history does not contain yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<TaskEvent>,
    /// Fuel of all attempts so far, and of the hooks that were asked about them.
    pub fuel: u64,
    /// What answers have added so far to the budgets of language models of the task and of those of its child run.
    #[serde(default, skip_serializing_if = "ModelUse::is_nothing")]
    pub granted: ModelUse,
    /// What all attempts, and the hooks that were asked about them, have used so far of the host.
    #[serde(default, skip_serializing_if = "HostUse::is_nothing")]
    pub host: HostUse,
    /// The journals of its attempts so far, in order; attempts without calls of the host are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub journal: Vec<AttemptJournal>,
    /// What attempts have used of language models, or may have used, that a crash ended before they had a result: it is in no
    /// journal. `host` includes it.
    #[serde(default, skip_serializing_if = "ModelUse::is_nothing")]
    pub lost: ModelUse,
    /// The same by the model that was asked last, by its name in the manifest, as far as that is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lost_models: BTreeMap<String, ModelUse>,
    /// Microseconds that all attempts took so far.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub micros: u64,
    /// The namespace of the task's run; empty for the root run.
    pub namespace: String,
    /// The name of the task's node.
    pub node: String,
    /// The task's result, failure or question.
    pub outcome: PendingOutcome,
    /// How many of its attempts a hook has asked for.
    #[serde(default, skip_serializing_if = "is_none_yet")]
    pub retried: u32,
    /// The id of the root run.
    pub run: String,
    /// The sequence number of the checkpoint it is under.
    pub sequence: u64,
    /// Supersteps of its child run so far, and of the runs below that.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub steps: u64,
    /// The id of the task in its namespace.
    pub task: String,
    /// Warnings of the task.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// The result of a task whose superstep has not committed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum PendingOutcome {
    /// It answered; it will not run again.
    Done {
        /// The answer of the component, or of the item's own operation.
        outcome: Arc<Outcome>,
    },
    /// It failed, and hooks are asked about that.
    Failing {
        /// The failure that hooks are asked about.
        failure: Failure,
    },
    /// It failed for good although it was to be retried; a resume counts its attempts from 1 again.
    Failed {
        /// The failure that stopped the run.
        failure: Failure,
    },
    /// It failed for good and the graph handles that; it will not run again.
    Handled {
        /// The failure that `on_error`, or a hook, handled.
        failure: Failure,
    },
    /// Its child run asks, and keeps the questions.
    Suspended,
    /// It waits for the answer to a question.
    Interrupted {
        /// How many answers it had when it asked.
        answered: u32,
        /// The payload of the interrupt.
        payload: Canonical,
        /// The host asks, since a budget of language models is used up; it is not the component.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        short: Option<Box<ShortRecord>>,
    },
    /// It failed and will be tried again.
    Retrying {
        /// When the next attempt is due.
        due: Timestamp,
        /// The failure of the last attempt.
        failure: Failure,
    },
}

/// A budget of language models is used up, and more of it is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShortRecord {
    /// The question of the component whose answer the attempt was the first to see, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Canonical>,
    /// The failure that the attempt ended with, which stands if nothing is added.
    pub failure: Failure,
    /// The figure.
    pub figure: ModelFigure,
    /// It is a figure of the run, which ends as `limit` if nothing is added; otherwise it is one of the task.
    pub of_run: bool,
}

/// All answers to a task's interrupts so far, in the order they were asked, and what its running attempt may use of language
/// models.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswersRecord {
    /// The answers, in the order of the task's questions.
    pub answers: Vec<Canonical>,
    /// When each answer came, by its number, as far as it is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arrived: BTreeMap<u32, Timestamp>,
    /// When the last one came.
    pub at: Timestamp,
    /// The record digest of the checkpoint it is under.
    pub checkpoint: Digest,
    /// The numbers of the answers that do not count any more: the component has rejected them, or another answer has replaced
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<u32>,
    /// The numbers of the answers that no one gave, with the deadlines that had passed: the answer is the question's default, or
    /// null if it has none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub expired: BTreeMap<u32, Timestamp>,
    /// The digests of the forms that answers were given to, by their number: of questions of `ask` nodes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub forms: BTreeMap<u32, Digest>,
    /// The numbers of the answers to the host's own questions about budgets of language models: they are no answers of the
    /// component's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub granted: Vec<u32>,
    /// The namespace of the task's run; empty for the root run.
    pub namespace: String,
    /// The name of the task's node.
    pub node: String,
    /// What an attempt may use of language models: written before it asks one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<Reserved>,
    /// The id of the root run.
    pub run: String,
    /// The sequence number of the checkpoint it is under.
    pub sequence: u64,
    /// The id of the task in its namespace.
    pub task: String,
}

/// What an attempt may use of language models. It counts as used if the attempt leaves no result, because the host crashed
/// while it waited for an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reserved {
    /// Which dispatch of the task's item it is, from 1.
    pub dispatch: u32,
    /// What all attempts of the task have used, and this one may use.
    pub model: ModelUse,
    /// The name in the manifest of the model that it asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What is lost of that ([`TaskUse::lost`]) by earlier crashes, which left no other record.
    #[serde(default, skip_serializing_if = "ModelUse::is_nothing")]
    pub lost: ModelUse,
    /// The same by the model that was asked last, by its name in the manifest, as far as that is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lost_models: BTreeMap<String, ModelUse>,
}

/// What a task has used, whatever its result, and its state as the run continues.
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
    /// The last of these has ended, even if no result of it is kept, as after a budget was used up. Left out where the
    /// task is settled; records of release 0.1.0 never have it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended: bool,
    /// What happened in it and is in no earlier record of the run's history.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<TaskEvent>,
    /// Fuel of all attempts.
    pub fuel: u64,
    /// What answers have added so far to the budgets of language models of the task and of those of its child run.
    #[serde(default, skip_serializing_if = "ModelUse::is_nothing")]
    pub granted: ModelUse,
    /// What all attempts used of the host.
    #[serde(default, skip_serializing_if = "HostUse::is_nothing")]
    pub host: HostUse,
    /// The journals of its attempts, in order, if no task record has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub journal: Vec<AttemptJournal>,
    /// What attempts have used of language models, or may have used, that a crash ended before they had a result: it is in no
    /// journal. `host` includes it.
    #[serde(default, skip_serializing_if = "ModelUse::is_nothing")]
    pub lost: ModelUse,
    /// The same by the model that was asked last, by its name in the manifest, as far as that is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lost_models: BTreeMap<String, ModelUse>,
    /// Microseconds that all attempts took.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub micros: u64,
    /// The name of the task's node.
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
    /// The figure of a budget of language models that the host asks more of; absent for the question of a component or a
    /// node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<ModelFigure>,
    /// The id by which it is answered, `task/n`.
    pub id: String,
    /// The name of the node that asks.
    pub node: String,
    /// The question; null for a static interrupt.
    pub payload: Canonical,
}
