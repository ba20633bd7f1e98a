//! The index of a run's records.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use graph_core::digest::Digest;
use graph_core::limits::ModelUse;
use graph_core::policy::Durability;
use graph_core::record::{
    AttemptJournal, CacheHit, CanonicalValue, ChannelValue, Checkpoint, HookSummary, Record, Source, Status,
    StatusRecord, StopLimit, TaskCache, TaskUse,
};
use graph_core::time::Timestamp;

use crate::walker::is_child_of;

/// A stored checkpoint.
#[derive(Clone, Debug)]
pub struct StoredCheckpoint {
    /// The checkpoint as it is stored: whole, or with what it changed.
    pub checkpoint: Checkpoint,
    /// The digest of its record.
    pub digest: Digest,
    /// The channel values that it changed.
    pub values: Vec<ChannelValue>,
}

/// Reads the checkpoints of a recorded run: a run may have more of them than fit into memory.
pub trait CheckpointSource: fmt::Debug + Send + Sync {
    /// Reads the checkpoint of a namespace with a number that was added to the [`RecordedRun`]. `None` if it cannot be read: the
    /// source keeps the reason, and whatever a replay reports after that is invalid.
    fn read(&self, namespace: &str, sequence: u64) -> Option<Arc<StoredCheckpoint>>;
}

/// The fields of a checkpoint that are remembered, so that it need not be read again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub(super) sequence: u64,
    pub(super) at: Timestamp,
    pub(super) pins: Digest,
    /// `true` if a superstep made it.
    pub(super) is_superstep: bool,
    /// `true` for the first checkpoint of the run.
    pub(super) is_start: bool,
}

/// Records of a task.
#[derive(Clone, Debug, Default)]
pub(super) struct TaskRecords {
    pub(super) answers: Vec<CanonicalValue>,
    /// Indices of answers that were discarded later.
    pub(super) dropped: Vec<u32>,
    /// Deadlines of the questions that no one answered in time, by the number of the answer.
    pub(super) expired: BTreeMap<u32, Timestamp>,
    pub(super) journal: Vec<AttemptJournal>,
    /// The cached result that was used instead of a dispatch.
    pub(super) cached: Option<CacheHit>,
    /// Model use of attempts that left no result.
    pub(super) lost: ModelUse,
    /// The same by the last requested model.
    pub(super) lost_models: BTreeMap<String, ModelUse>,
    /// Last attempt that has ended, for a task whose superstep never committed.
    pub(super) reported: u32,
}

/// Returns the last attempt of a task that had ended when its run stopped.
pub(super) fn reported(used: &TaskUse) -> u32 {
    if used.settled { u32::MAX } else { used.attempts }
}

/// The records of a run and its child runs: an index of the checkpoints, and the records that no checkpoint contains.
#[derive(Debug)]
pub struct RecordedRun {
    /// The id of the run.
    pub(super) run: String,
    /// Durability mode of the run: under `exit`, not every boundary was recorded.
    pub(super) durability: Durability,
    checkpoints: Arc<dyn CheckpointSource>,
    /// `true` if release 0.1.0 wrote any of the records.
    pub(super) first_release: bool,
    /// Checkpoints of each namespace, in order.
    lines: BTreeMap<String, Vec<Mark>>,
    /// Tasks whose superstep never committed, by id.
    pending: BTreeMap<String, TaskRecords>,
    /// Results of hooks that no checkpoint contains, by call.
    hooks: BTreeMap<String, HookSummary>,
    /// Use by tasks whose superstep never committed, when their run stopped last, by id.
    stopped: BTreeMap<String, TaskUse>,
    /// Model use that hooks had reserved for a call that was cut off, by call.
    reserved: BTreeMap<String, ModelUse>,
    /// Stops of child runs.
    stops: Stops,
}

/// Contents of the status records of child runs.
#[derive(Debug, Default)]
struct Stops {
    /// Records of child runs that stopped at a deadline, in order.
    overdue: Vec<Arc<StatusRecord>>,
    /// Dispatches that had ended when a run stopped: the task, and the number of its dispatch.
    ended: BTreeSet<(String, u32)>,
}

impl RecordedRun {
    /// Creates the index of a run without records.
    pub fn new(
        run: impl Into<String>,
        durability: Durability,
        checkpoints: Arc<dyn CheckpointSource>,
    ) -> Self {
        Self {
            run: run.into(),
            durability,
            checkpoints,
            first_release: false,
            lines: BTreeMap::new(),
            pending: BTreeMap::new(),
            hooks: BTreeMap::new(),
            stopped: BTreeMap::new(),
            reserved: BTreeMap::new(),
            stops: Stops::default(),
        }
    }

    /// Adds the next checkpoint of its namespace.
    pub fn add_checkpoint(&mut self, checkpoint: &Checkpoint) {
        self.first_release |= checkpoint.version == 1;
        self.line_of(&checkpoint.namespace).push(Mark {
            sequence: checkpoint.sequence,
            at: checkpoint.at,
            pins: checkpoint.pins,
            is_superstep: checkpoint.source == Source::Superstep,
            is_start: checkpoint.source == Source::Input && checkpoint.parent.is_none(),
        });
    }

    /// Adds a record under the newest checkpoint of its namespace. A checkpoint is ignored.
    pub fn add_pending(&mut self, record: Record) {
        let longer = |records: &mut TaskRecords, journal: Vec<AttemptJournal>| {
            if journal.len() > records.journal.len() {
                records.journal = journal;
            }
        };
        match record {
            Record::Task(task) => {
                self.line_of(&task.namespace);
                let records = self.pending.entry(task.task).or_default();
                if let Some(TaskCache::Hit(hit)) = task.cache {
                    records.cached = Some(*hit);
                }
                records.reported = records.reported.max(task.attempt);
                (records.lost, records.lost_models) = (task.lost, task.lost_models);
                longer(records, task.journal);
            }
            Record::Answers(answers) => {
                self.line_of(&answers.namespace);
                let records = self.pending.entry(answers.task).or_default();
                (records.answers, records.dropped) = (answers.answers, answers.dropped);
                records.expired = answers.expired;
            }
            Record::Status(status) => {
                self.line_of(&status.namespace);
                for (task, used) in status.tasks {
                    let records = self.pending.entry(task.clone()).or_default();
                    records.reported = records.reported.max(reported(&used));
                    longer(records, used.journal.clone());
                    self.stopped.insert(task, used);
                }
            }
            Record::Hook(hook) => {
                self.line_of(&hook.namespace);
                if hook.reserved {
                    self.reserved.insert(hook.call, hook.lost.plus(hook.host.model));
                } else {
                    self.hooks.insert(hook.call.clone(), HookSummary::from_record(&hook));
                }
            }
            Record::Checkpoint(_) => {}
        }
    }

    /// Adds the next status record of a child run, from the history of the run: later ones do not replace it there.
    pub fn add_stop(&mut self, status: StatusRecord) {
        let ended = status.tasks.iter().filter(|(_, used)| used.ended || used.settled);
        self.stops.ended.extend(ended.map(|(task, used)| (task.clone(), used.dispatches)));
        let limit = status.error.as_ref().and_then(|error| error.limit);
        if status.status == Status::Limit && limit == Some(StopLimit::Timeout) {
            self.stops.overdue.push(Arc::new(status));
        }
    }

    fn line_of(&mut self, namespace: &str) -> &mut Vec<Mark> {
        self.lines.entry(namespace.to_owned()).or_default()
    }

    /// Reads a checkpoint that the index has.
    fn stored(&self, namespace: &str, sequence: u64) -> Option<Arc<StoredCheckpoint>> {
        self.checkpoints.read(namespace, sequence)
    }

    /// Returns the records of child runs that stopped at a deadline, in the order of these stops.
    pub(super) fn overdue(&self) -> &[Arc<StatusRecord>] {
        &self.stops.overdue
    }

    /// Returns the last ended attempt of a task whose superstep never committed; 0 if there is none.
    pub(super) fn reported(&self, task: &str) -> u32 {
        self.pending.get(task).map_or(0, |records| records.reported)
    }

    /// Checks whether status records list a dispatch that had ended when its run stopped.
    pub(super) fn has_ended(&self, task: &str, dispatch: u32) -> bool {
        self.stops.ended.contains(&(task.to_owned(), dispatch))
    }

    /// Returns the checkpoints of a namespace.
    pub(super) fn line(&self, namespace: &str) -> &[Mark] {
        self.lines.get(namespace).map_or(&[], Vec::as_slice)
    }

    /// Reads the first checkpoint of a namespace after a number.
    pub(super) fn next(&self, namespace: &str, after: Option<u64>) -> Option<Arc<StoredCheckpoint>> {
        let next = self.next_mark(namespace, after)?;
        self.stored(namespace, next.sequence)
    }

    /// Finds the first checkpoint of a namespace after a number, without reading it.
    pub(super) fn next_mark(&self, namespace: &str, after: Option<u64>) -> Option<Mark> {
        let line = self.line(namespace);
        let at = line.partition_point(|mark| after.is_some_and(|after| mark.sequence <= after));
        line.get(at).copied()
    }

    /// Returns the result of a hook that was called after a checkpoint.
    pub(super) fn hook(&self, namespace: &str, after: Option<u64>, call: &str) -> Option<HookSummary> {
        let next = self.next(namespace, after);
        let committed = next.iter().flat_map(|next| &next.checkpoint.hooked).find(|hook| hook.call == call);
        committed.or_else(|| self.hooks.get(call)).cloned()
    }

    /// Returns the use by a task whose superstep never committed, when its run stopped last.
    pub(super) fn stopped(&self, task: &str) -> Option<&TaskUse> {
        self.stopped.get(task)
    }

    /// Returns the model use that a hook had reserved for a call that was cut off.
    pub(super) fn reserved_of_hook(&self, call: &str) -> Option<ModelUse> {
        self.reserved.get(call).copied()
    }

    /// Returns the calls of hooks of a run, and of the runs below it, whose results no checkpoint contains.
    pub(super) fn hooks_of(&self, namespace: &str) -> impl Iterator<Item = &String> {
        let below = format!("{namespace}/");
        self.hooks.keys().filter(move |call| call.starts_with(&below))
    }

    /// Returns the first checkpoint of the child run that starts next under a checkpoint, in task order; `begun` is
    /// true for those that have started.
    pub(super) fn child_to_begin(&self, parent: &Checkpoint, begun: impl Fn(&str) -> bool) -> Option<Mark> {
        let children = self.lines.iter().filter(|(child, _)| is_child_of(child, parent) && !begun(child));
        let ordinal = |child: &str| -> u64 {
            let digits = child.rsplit_once('.').map_or("", |(_, ordinal)| ordinal);
            digits.split('@').next().and_then(|digits| digits.parse().ok()).unwrap_or(u64::MAX)
        };
        children.min_by_key(|(child, _)| ordinal(child)).and_then(|(_, line)| line.first().copied())
    }

    /// Reads the checkpoint with a number, if there is one.
    pub(super) fn find(&self, namespace: &str, sequence: u64) -> Option<Arc<StoredCheckpoint>> {
        self.line(namespace).binary_search_by_key(&sequence, |mark| mark.sequence).ok()?;
        self.stored(namespace, sequence)
    }

    /// Returns the records of a task of the superstep after a checkpoint: from the checkpoint of that superstep, or, if
    /// it never committed, from the task's own records.
    pub(super) fn task(&self, namespace: &str, after: Option<u64>, task: &str) -> TaskRecords {
        let committed = self.next(namespace, after).and_then(|next| {
            let found = next.checkpoint.tasks.iter().find(|summary| summary.task == task)?;
            let cached = found.cached.as_deref().cloned();
            Some(TaskRecords {
                answers: found.answers.clone(),
                dropped: found.dropped.clone(),
                expired: found.expired.clone(),
                journal: found.journal.clone(),
                lost: found.lost,
                lost_models: found.lost_models.clone(),
                cached,
                reported: u32::MAX,
            })
        });
        committed.or_else(|| self.pending.get(task).cloned()).unwrap_or_default()
    }
}
