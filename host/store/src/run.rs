//! The rows of runs.

use std::sync::Arc;

use graph_core::digest::Digest;
use graph_core::limits::ModelUse;
use graph_core::policy::Durability;
use graph_core::record::Status;
use graph_core::time::Timestamp;
use graph_core::trust::KeyId;
use serde::{Deserialize, Serialize};

use crate::names::{self, BadName};

/// A run that is about to be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRun {
    /// The initial row. `updated_at` is the time of creation.
    pub row: RunRow,
    /// The texts that are stored with it, as by
    /// [`CheckpointStore::put_snapshot`](crate::CheckpointStore::put_snapshot).
    pub snapshots: Vec<Snapshot>,
}

/// A text and its digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The digest, in the hash domain that the caller has chosen.
    pub digest: Digest,
    /// The text, such as that of a graph.
    pub text: Arc<str>,
}

/// A summary of a run, for listings, which is available without reading the run's records. Only the signed records
/// prove what the run has done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunRow {
    /// The id by which the run is found.
    pub run_id: String,
    /// The item id of the graph that it runs.
    pub graph_id: String,
    /// The path of the graph's file, relative to the project.
    pub graph_path: Option<String>,
    /// The run that started this one as a child.
    pub parent_id: Option<String>,
    /// The run at the root of the tree; the run's own id if it has no parent.
    pub root_id: String,
    /// The run that this one continues.
    pub continuation_of: Option<String>,
    /// The run that continues this one.
    pub continuation_id: Option<String>,
    /// The first run of the chain of continuations.
    pub chain_root_id: Option<String>,
    /// The status that was written last.
    pub status: Status,
    /// The process that last ran it.
    pub pid: Option<u32>,
    /// Number of supersteps that had committed when the status was last written. While a run is running, the number in
    /// its newest checkpoint is higher.
    pub step: u64,
    /// Fuel used by that time.
    pub fuel: u64,
    /// Language model usage of the run and its child runs by that time. It is zero in rows of earlier versions.
    #[serde(default, skip_serializing_if = "ModelUse::is_nothing")]
    pub model_use: ModelUse,
    /// The name in the manifest of the language model that was asked last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The result, as JSON.
    pub result: Option<Arc<str>>,
    /// The error, as JSON.
    pub error: Option<Arc<str>>,
    /// The digest of the graph.
    pub graph: Digest,
    /// The digest of the canonical inputs.
    pub inputs: Digest,
    /// The digest of the manifest.
    pub manifest: Digest,
    /// The digest of the run's pins.
    pub pins: Digest,
    /// The seed of the run, from which every task's random numbers follow.
    pub seed: Digest,
    /// The key that signs its records.
    pub key: KeyId,
    /// The point at which a step of the run counts as stored.
    pub durability: Durability,
    /// The value that replaces the graph's `max_steps`.
    pub max_steps: Option<u64>,
    /// The time of its creation.
    pub created_at: Timestamp,
    /// The time of the last change of the row.
    pub updated_at: Timestamp,
}

/// A change of an optional field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Change<T> {
    /// The field keeps its value.
    #[default]
    Keep,
    /// The field gets this value.
    Set(T),
    /// The field loses its value.
    Clear,
}

impl<T: Clone> Change<T> {
    pub(crate) fn apply(&self, field: &mut Option<T>) {
        match self {
            Self::Keep => {}
            Self::Set(value) => *field = Some(value.clone()),
            Self::Clear => *field = None,
        }
    }
}

impl<T> Change<T> {
    /// Returns true if the field changes, and its new value if it gets one.
    pub(crate) fn parts(&self) -> (bool, Option<&T>) {
        match self {
            Self::Keep => (false, None),
            Self::Set(value) => (true, Some(value)),
            Self::Clear => (true, None),
        }
    }
}

/// A change of a run's row. Fields that are not set keep their values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunUpdate {
    /// The time of the change. It becomes the row's time of last change.
    pub at: Timestamp,
    /// The new status, if it changes.
    pub status: Option<Status>,
    /// Number of supersteps of the run itself that have committed.
    pub step: Option<u64>,
    /// The fuel that the run and its child runs have used.
    pub fuel: Option<u64>,
    /// Language model usage of the run and its child runs.
    pub model_use: Option<ModelUse>,
    /// The name in the manifest of the language model that was asked last, if it is another one now.
    pub model: Option<String>,
    /// The process that runs it.
    pub pid: Change<u32>,
    /// The result, as JSON.
    pub result: Change<Arc<str>>,
    /// The error, as JSON.
    pub error: Change<Arc<str>>,
    /// The run that continues this one.
    pub continuation_id: Change<String>,
    /// The value that replaces the graph's `max_steps`.
    pub max_steps: Change<u64>,
    /// The digest of the graph, if the user has accepted a change.
    pub graph: Option<Digest>,
    /// The digest of the inputs, if they were replaced.
    pub inputs: Option<Digest>,
    /// The digest of the manifest, if the user has accepted a change.
    pub manifest: Option<Digest>,
    /// The digest of the pins, if the user has accepted a change.
    pub pins: Option<Digest>,
}

impl RunUpdate {
    /// Returns a change of the status.
    pub fn status(at: Timestamp, status: Status) -> Self {
        Self { at, status: Some(status), ..Self::default() }
    }

    /// Reports whether it changes no field. Such an update leaves the row unchanged, its time included.
    pub(crate) fn is_nothing(&self) -> bool {
        *self == Self { at: self.at, ..Self::default() }
    }

    pub(crate) fn apply(&self, row: &mut RunRow) {
        fn set<T: Copy>(field: &mut T, new: Option<T>) {
            if let Some(new) = new {
                *field = new;
            }
        }
        if self.is_nothing() {
            return;
        }
        row.updated_at = self.at;
        set(&mut row.status, self.status);
        set(&mut row.step, self.step);
        set(&mut row.fuel, self.fuel);
        set(&mut row.model_use, self.model_use);
        if let Some(model) = &self.model {
            row.model = Some(model.clone());
        }
        set(&mut row.graph, self.graph);
        set(&mut row.inputs, self.inputs);
        set(&mut row.manifest, self.manifest);
        set(&mut row.pins, self.pins);
        self.pid.apply(&mut row.pid);
        self.result.apply(&mut row.result);
        self.error.apply(&mut row.error);
        self.continuation_id.apply(&mut row.continuation_id);
        self.max_steps.apply(&mut row.max_steps);
    }
}

/// Selects the runs in a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Selects runs with this status.
    pub status: Option<Status>,
    /// Selects runs of this graph.
    pub graph_id: Option<String>,
    /// Selects runs in the tree of this root run.
    pub root_id: Option<String>,
    /// Selects runs that were created before this one: a page continues where the one before it ended. The page is
    /// empty if this run does not exist any more.
    pub before: Option<String>,
    /// Maximum number of runs; `None` for all.
    pub limit: Option<usize>,
}

impl RunRow {
    /// Checks the ids and names of the row. Every store does so before it writes a row and after it has read one.
    pub fn check_names(&self) -> Result<(), BadName> {
        names::row(self)
    }

    /// Returns the row without its texts, as lists of runs contain it.
    pub(crate) fn listed(&self) -> Self {
        Self {
            run_id: self.run_id.clone(),
            graph_id: self.graph_id.clone(),
            graph_path: self.graph_path.clone(),
            parent_id: self.parent_id.clone(),
            root_id: self.root_id.clone(),
            continuation_of: self.continuation_of.clone(),
            continuation_id: self.continuation_id.clone(),
            chain_root_id: self.chain_root_id.clone(),
            model: self.model.clone(),
            result: None,
            error: None,
            ..*self
        }
    }
}

impl RunFilter {
    pub(crate) fn matches(&self, row: &RunRow) -> bool {
        self.status.is_none_or(|status| status == row.status)
            && self.graph_id.as_ref().is_none_or(|graph| *graph == row.graph_id)
            && self.root_id.as_ref().is_none_or(|root| *root == row.root_id)
    }
}
