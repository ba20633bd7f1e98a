//! The results of tasks: during their superstep, and once it has committed.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::body::is_zero;
use super::cache::{CacheHit, TaskCache};
use super::event::TaskEvent;
use super::journal::AttemptJournal;
use super::value::CanonicalValue;
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
    pub answers: Vec<CanonicalValue>,
    /// The time at which each answer arrived, by its number, as far as it is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arrived: BTreeMap<u32, Timestamp>,
    /// The time at which its last attempt ended; absent if nothing was dispatched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// Attempts of the last series, retries included.
    pub attempts: u32,
    /// The cached result that was used instead of its dispatch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<Box<CacheHit>>,
    /// Number of dispatches of its item, earlier failures and questions included.
    pub dispatches: u32,
    /// The numbers of the answers that no longer count: the component has rejected them, or another answer has replaced them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<u32>,
    /// Events of the task that no earlier record of the run's history contains.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<TaskEvent>,
    /// Answers that no one gave, by their number, with their deadlines: the answer is the question's default, or null if it has none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub expired: BTreeMap<u32, Timestamp>,
    /// The handled failure, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// Fuel of all attempts.
    pub fuel: u64,
    /// The numbers of the answers to the host's own questions about budgets of language models: the component does not receive them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub granted: Vec<u32>,
    /// Use of the host by all attempts.
    #[serde(default, skip_serializing_if = "HostUse::is_nothing")]
    pub host: HostUse,
    /// The dispatched item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// The journals of its attempts, in order; attempts without calls of the host are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub journal: Vec<AttemptJournal>,
    /// Use of language models, or possible use, by attempts that a crash ended before they had a result: it is in no journal. `host`
    /// includes it.
    #[serde(default, skip_serializing_if = "ModelUse::is_nothing")]
    pub lost: ModelUse,
    /// The lost use by the model of the last request, by its name in the manifest, as far as it is known.
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

/// The result of one task of the active superstep. It is void once the superstep commits, and never applies to another checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskRecord {
    /// The time of the result.
    pub at: Timestamp,
    /// The attempt, from 1.
    pub attempt: u32,
    /// Number of times that hooks were asked about a failure of the task.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub asked: u32,
    /// The task's state with respect to the cache of results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<TaskCache>,
    /// The record digest of its checkpoint.
    pub checkpoint: Digest,
    /// `true` if a hook has decided to continue after its failure: `on_error` does not apply.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub continued: bool,
    /// Number of dispatches of its item so far.
    pub dispatches: u32,
    /// The numbers of the answers that no longer count: the component has rejected them, or another answer has replaced them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<u32>,
    /// Events of the task that the run's history does not contain yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<TaskEvent>,
    /// Fuel of all attempts so far, and of the hooks that were asked about them.
    pub fuel: u64,
    /// Amount that answers have added so far to the budgets of language models of the task and of its child run.
    #[serde(default, skip_serializing_if = "ModelUse::is_nothing")]
    pub granted: ModelUse,
    /// Use of the host so far by all attempts, and by the hooks that were asked about them.
    #[serde(default, skip_serializing_if = "HostUse::is_nothing")]
    pub host: HostUse,
    /// The journals of its attempts so far, in order; attempts without calls of the host are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub journal: Vec<AttemptJournal>,
    /// Use of language models, or possible use, by attempts that a crash ended before they had a result: it is in no journal. `host`
    /// includes it.
    #[serde(default, skip_serializing_if = "ModelUse::is_nothing")]
    pub lost: ModelUse,
    /// The lost use by the model of the last request, by its name in the manifest, as far as it is known.
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
    /// Number of attempts that hooks have requested.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retried: u32,
    /// The id of the root run.
    pub run: String,
    /// The sequence number of its checkpoint.
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
    /// The task has a result and will not run again.
    Done {
        /// The answer of the component, or of the item's own operation.
        outcome: Arc<Outcome>,
    },
    /// The task failed, and hooks are asked about the failure.
    Failing {
        /// The failure.
        failure: Failure,
    },
    /// The task failed for good although it was to be retried; a resume counts its attempts from 1 again.
    Failed {
        /// The failure that stopped the run.
        failure: Failure,
    },
    /// The task failed for good and the graph handles the failure; the task will not run again.
    Handled {
        /// The failure that `on_error`, or a hook, handled.
        failure: Failure,
    },
    /// Questions or waits of its child run, which stores them, are open.
    Suspended {
        /// `true` if none of them is a question: time or events end all of them.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        waits: bool,
    },
    /// The task waits for the answer to a question.
    Interrupted {
        /// Number of answers that it had when it asked.
        answered: u32,
        /// The payload of the interrupt.
        payload: CanonicalValue,
        /// The used-up budget of language models about which the host asks; absent if the component asks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        short: Option<Box<ShortRecord>>,
    },
    /// The task failed and will be retried.
    Retrying {
        /// The time of the next attempt.
        due: Timestamp,
        /// The failure of the last attempt.
        failure: Failure,
    },
}

/// A used-up budget of language models, of which more is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShortRecord {
    /// The component's question whose answer this attempt was the first to receive, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<CanonicalValue>,
    /// The failure of the attempt, which applies if nothing is added.
    pub failure: Failure,
    /// The figure that is used up.
    pub figure: ModelFigure,
    /// `true` if the figure belongs to the run, which ends as `limit` if nothing is added; otherwise it belongs to the task.
    pub of_run: bool,
}

/// All answers to a task's interrupts so far, in the order of the questions, and the reservation of its running attempt for language
/// models.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswersRecord {
    /// The answers, in the order of the task's questions.
    pub answers: Vec<CanonicalValue>,
    /// The time at which each answer arrived, by its number, as far as it is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arrived: BTreeMap<u32, Timestamp>,
    /// The time at which the last answer arrived.
    pub at: Timestamp,
    /// The record digest of its checkpoint.
    pub checkpoint: Digest,
    /// The numbers of the answers that no longer count: the component has rejected them, or another answer has replaced them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<u32>,
    /// Answers that no one gave, by their number, with their deadlines: the answer is the question's default, or null if it has none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub expired: BTreeMap<u32, Timestamp>,
    /// The digests of the forms of the questions that were answered, by their number, for questions of `ask` nodes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub forms: BTreeMap<u32, Digest>,
    /// The numbers of the answers to the host's own questions about budgets of language models: the component does not receive them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub granted: Vec<u32>,
    /// The namespace of the task's run; empty for the root run.
    pub namespace: String,
    /// The name of the task's node.
    pub node: String,
    /// The reservation of an attempt for language models, written before its request is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved: Option<ModelReservation>,
    /// The id of the root run.
    pub run: String,
    /// The sequence number of its checkpoint.
    pub sequence: u64,
    /// The id of the task in its namespace.
    pub task: String,
}

/// The reservation of an attempt for language models. It counts as used if the attempt leaves no result because the host crashed while it
/// waited for an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "struct Reserved")]
pub struct ModelReservation {
    /// The dispatch of the task's item, from 1.
    pub dispatch: u32,
    /// Use of all attempts of the task, this one's reservation included.
    pub model: ModelUse,
    /// The name in the manifest of the requested model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The part of `model` that was lost ([`TaskUse::lost`]) by earlier crashes, which left no other record.
    #[serde(default, skip_serializing_if = "ModelUse::is_nothing")]
    pub lost: ModelUse,
    /// The lost use by the model of the last request, by its name in the manifest, as far as it is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lost_models: BTreeMap<String, ModelUse>,
}

/// The use and the state of a task, whatever its result, when the run continues.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskUse {
    /// Number of times that hooks were asked about a failure of the task.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub asked: u32,
    /// Number of attempts that count against its retry policy.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempts: u32,
    /// Number of dispatches of its item.
    pub dispatches: u32,
    /// `true` if the last dispatch has ended, even without a stored result, as after a budget was used up. Left out if the task is settled;
    /// records of release 0.1.0 never have it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended: bool,
    /// Events of the task that no earlier record of the run's history contains.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<TaskEvent>,
    /// Fuel of all attempts.
    pub fuel: u64,
    /// Amount that answers have added so far to the budgets of language models of the task and of its child run.
    #[serde(default, skip_serializing_if = "ModelUse::is_nothing")]
    pub granted: ModelUse,
    /// Use of the host by all attempts.
    #[serde(default, skip_serializing_if = "HostUse::is_nothing")]
    pub host: HostUse,
    /// The journals of its attempts, in order, if no task record has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub journal: Vec<AttemptJournal>,
    /// Use of language models, or possible use, by attempts that a crash ended before they had a result: it is in no journal. `host`
    /// includes it.
    #[serde(default, skip_serializing_if = "ModelUse::is_nothing")]
    pub lost: ModelUse,
    /// The lost use by the model of the last request, by its name in the manifest, as far as it is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lost_models: BTreeMap<String, ModelUse>,
    /// Microseconds that all attempts took.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub micros: u64,
    /// The name of the task's node.
    pub node: String,
    /// `true` if the task will not run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub settled: bool,
    /// Supersteps of its child run, and of the runs below that.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub steps: u64,
}

/// An open question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InterruptRecord {
    /// The figure of a budget of language models about which the host asks; absent for the question of a component or a node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<ModelFigure>,
    /// The id for answering it, `task/n`.
    pub id: String,
    /// The name of the node that asks.
    pub node: String,
    /// The question; null for a static interrupt.
    pub payload: CanonicalValue,
}
