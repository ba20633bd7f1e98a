//! Reads the records of a run, and verifies them while reading.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use graph_core::digest::Digest;
use graph_core::limits::ModelUse;
use graph_core::record::{
    AttemptJournal, CacheHit, CanonicalValue, ChannelValue, Checkpoint, HookSummary, Record, RecordKind,
    Source, Status, StatusRecord, StopLimit, TaskCache, TaskUse,
};
use graph_core::time::Timestamp;
use graph_core::trust::VerifyingKey;
use graph_store::{CheckpointStore, RunRow};
use graph_walker::walker::is_child_of;

use crate::error::{Error, Result};
use crate::run::restore;

/// A stored checkpoint.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) checkpoint: Checkpoint,
    pub(super) digest: Digest,
    /// The channel values that it changed.
    pub(super) values: Vec<ChannelValue>,
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
pub(super) struct Known {
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

/// All records of a run and its child runs. Checkpoints are read from the store on demand.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) row: RunRow,
    store: Arc<dyn CheckpointStore>,
    /// `true` if release 0.1.0 wrote any of the records.
    pub(super) first_release: bool,
    /// Checkpoints of each namespace, in order.
    lines: BTreeMap<String, Vec<Mark>>,
    /// Most recently read checkpoints, the newest first.
    held: Mutex<VecDeque<Arc<Stored>>>,
    /// Error of a checkpoint that could not be read.
    failed: Mutex<Option<Error>>,
    /// Tasks whose superstep never committed, by id.
    pending: BTreeMap<String, Known>,
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
    overdue: Vec<StatusRecord>,
    /// Dispatches that had ended when a run stopped: the task, and the number of its dispatch.
    ended: BTreeSet<(String, u32)>,
}

/// Number of checkpoints that are held in memory: a few of each active run of a tree.
const HELD: usize = 16;

impl Recorded {
    pub(super) fn read(from: &Arc<dyn CheckpointStore>, row: &RunRow, key: &VerifyingKey) -> Result<Self> {
        let (store, run) = (&**from, &row.run_id);
        let mut namespaces = store.namespaces(run)?;
        if !namespaces.iter().any(String::is_empty) {
            namespaces.push(String::new());
        }
        let stops = if namespaces.len() > 1 { stops(store, run, key)? } else { Stops::default() };
        let mut first_release = false;
        let (mut lines, mut hooks, mut reserved) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let (mut pending, mut stopped) = (BTreeMap::<String, Known>::new(), BTreeMap::new());
        for namespace in namespaces {
            let (mut verifier, _) = restore::verifier(store, run, &namespace, *key)?;
            let mut line = Vec::new();
            restore::each_with_values(store, run, &namespace, |record| {
                let checkpoint = verifier
                    .checkpoint(record)
                    .map_err(|error| restore::broken(run, record.sequence, &error))?;
                first_release |= checkpoint.version == 1;
                line.push(Mark {
                    sequence: checkpoint.sequence,
                    at: checkpoint.at,
                    pins: checkpoint.pins,
                    is_superstep: checkpoint.source == Source::Superstep,
                    is_start: checkpoint.source == Source::Input && checkpoint.parent.is_none(),
                });
                Ok(())
            })?;
            restore::each_pending(store, run, &namespace, |record| {
                let longer = |known: &mut Known, journal: Vec<AttemptJournal>| {
                    if journal.len() > known.journal.len() {
                        known.journal = journal;
                    }
                };
                match record
                    .open(key)
                    .map_err(|error| Error::integrity(error.to_string()).caused_by(error))?
                {
                    Record::Task(task) => {
                        let known = pending.entry(task.task).or_default();
                        if let Some(TaskCache::Hit(hit)) = task.cache {
                            known.cached = Some(*hit);
                        }
                        known.reported = known.reported.max(task.attempt);
                        (known.lost, known.lost_models) = (task.lost, task.lost_models);
                        longer(known, task.journal);
                    }
                    Record::Answers(answers) => {
                        let known = pending.entry(answers.task).or_default();
                        (known.answers, known.dropped) = (answers.answers, answers.dropped);
                        known.expired = answers.expired;
                    }
                    Record::Status(status) => {
                        for (task, used) in status.tasks {
                            let known = pending.entry(task.clone()).or_default();
                            known.reported = known.reported.max(reported(&used));
                            longer(known, used.journal.clone());
                            stopped.insert(task, used);
                        }
                    }
                    Record::Hook(hook) if hook.reserved => {
                        reserved.insert(hook.call, hook.lost.plus(hook.host.model));
                    }
                    Record::Hook(hook) => {
                        hooks.insert(hook.call.clone(), HookSummary::from_record(&hook));
                    }
                    Record::Checkpoint(_) => {}
                }
                Ok(())
            })?;
            lines.insert(namespace, line);
        }
        let (store, row) = (Arc::clone(from), row.clone());
        let (held, failed) = (Mutex::default(), Mutex::default());
        Ok(Self { row, store, first_release, lines, held, failed, pending, hooks, stopped, reserved, stops })
    }

    /// Returns the error of a checkpoint that could not be read, if there is one: results after it are invalid.
    pub(super) fn check(&self) -> Result<()> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }

    /// Returns a checkpoint that exists; it is an error if it cannot be read.
    pub(super) fn checkpoint(&self, namespace: &str, sequence: u64) -> Result<Arc<Stored>> {
        if let Some(stored) = self.stored(namespace, sequence) {
            return Ok(stored);
        }
        self.check()?;
        Err(Error::integrity(format!("checkpoint {sequence} of run {} is gone", self.row.run_id)))
    }

    /// Reads a checkpoint, from memory if it is held.
    fn stored(&self, namespace: &str, sequence: u64) -> Option<Arc<Stored>> {
        let is_wanted = |stored: &Arc<Stored>| {
            stored.checkpoint.sequence == sequence && stored.checkpoint.namespace == namespace
        };
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = held.iter().find(|stored| is_wanted(stored)) {
            return Some(Arc::clone(found));
        }
        match self.fetch(namespace, sequence) {
            Ok(stored) => {
                let stored = Arc::new(stored);
                held.truncate(HELD - 1);
                held.push_front(Arc::clone(&stored));
                Some(stored)
            }
            Err(error) => {
                self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                None
            }
        }
    }

    fn fetch(&self, namespace: &str, sequence: u64) -> Result<Stored> {
        let run = &self.row.run_id;
        let found = self.store.checkpoints(run, namespace, sequence.checked_sub(1), 1)?.pop();
        let gone = || Error::integrity(format!("checkpoint {sequence} of run {run} is gone"));
        let record = found.filter(|record| record.sequence == sequence).ok_or_else(gone)?;
        match record.decode().map_err(|error| Error::integrity(error.to_string()).caused_by(error))? {
            Record::Checkpoint(checkpoint) => {
                Ok(Stored { checkpoint: *checkpoint, digest: record.digest, values: record.values })
            }
            _ => Err(gone()),
        }
    }

    /// Returns the records of child runs that stopped at a deadline, in the order of these stops.
    pub(super) fn overdue(&self) -> &[StatusRecord] {
        &self.stops.overdue
    }

    /// Returns the last ended attempt of a task whose superstep never committed; 0 if there is none.
    pub(super) fn reported(&self, task: &str) -> u32 {
        self.pending.get(task).map_or(0, |known| known.reported)
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
    pub(super) fn next(&self, namespace: &str, after: Option<u64>) -> Option<Arc<Stored>> {
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
    pub(super) fn find(&self, namespace: &str, sequence: u64) -> Option<Arc<Stored>> {
        self.line(namespace).binary_search_by_key(&sequence, |mark| mark.sequence).ok()?;
        self.stored(namespace, sequence)
    }

    /// Returns the records of a task of the superstep after a checkpoint: from the checkpoint of that superstep, or, if
    /// it never committed, from the task's own records.
    pub(super) fn task(&self, namespace: &str, after: Option<u64>, task: &str) -> Known {
        let committed = self.next(namespace, after).and_then(|next| {
            let found = next.checkpoint.tasks.iter().find(|summary| summary.task == task)?;
            let cached = found.cached.as_deref().cloned();
            Some(Known {
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

/// Reads the stops of child runs.
fn stops(store: &dyn CheckpointStore, run: &str, key: &VerifyingKey) -> Result<Stops> {
    let mut found = Stops::default();
    restore::each_of_history(store, run, 0, |numbered| {
        let record = &numbered.record;
        if record.kind != RecordKind::Status || record.namespace.is_empty() {
            return Ok(());
        }
        let opened =
            record.open(key).map_err(|error| Error::integrity(error.to_string()).caused_by(error))?;
        let Record::Status(status) = opened else { return Ok(()) };
        let ended = status.tasks.iter().filter(|(_, used)| used.ended || used.settled);
        found.ended.extend(ended.map(|(task, used)| (task.clone(), used.dispatches)));
        let limit = status.error.as_ref().and_then(|error| error.limit);
        if status.status == Status::Limit && limit == Some(StopLimit::Timeout) {
            found.overdue.push(status);
        }
        Ok(())
    })?;
    Ok(found)
}
