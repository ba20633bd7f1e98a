//! What is recorded of a run, checked on the way.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use graph_core::digest::Digest;
use graph_core::record::{
    AttemptJournal, CacheHit, Canonical, ChannelValue, Checkpoint, HookSummary, Record, RecordKind, Source,
    Status, StatusRecord, TaskCache, TaskUse,
};
use graph_core::time::Timestamp;
use graph_core::trust::VerifyingKey;
use graph_core::walker::{TIME_LIMIT, is_child_of};
use graph_store::{CheckpointStore, RunRow};

use crate::error::{Error, Result};
use crate::run::restore;

/// A checkpoint as it is stored.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) checkpoint: Checkpoint,
    pub(super) digest: Digest,
    /// The channel values that it changed.
    pub(super) values: Vec<ChannelValue>,
}

/// What is known of a checkpoint without reading it again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub(super) sequence: u64,
    pub(super) at: Timestamp,
    pub(super) pins: Digest,
    /// A superstep made it.
    pub(super) is_superstep: bool,
    /// The run begins with it.
    pub(super) is_start: bool,
}

/// What is known of a task.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    pub(super) answers: Vec<Canonical>,
    pub(super) journal: Vec<AttemptJournal>,
    /// What has stood in for its dispatch.
    pub(super) cached: Option<CacheHit>,
    /// Of a task whose superstep never committed: up to which attempt something has come of it.
    pub(super) reported: u32,
}

/// Up to which attempt something had come of a task when its run stopped.
pub(super) fn reported(used: &TaskUse) -> u32 {
    if used.settled { u32::MAX } else { used.attempts }
}

/// Everything that is recorded of a run and its child runs. Checkpoints are read from the store when they are asked for.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) row: RunRow,
    store: Arc<dyn CheckpointStore>,
    /// Whether release 0.1.0 has written any of it.
    pub(super) first_release: bool,
    /// By namespace, in order.
    lines: BTreeMap<String, Vec<Mark>>,
    /// The checkpoints that were read last.
    held: Mutex<VecDeque<Arc<Stored>>>,
    /// Why a checkpoint could not be read.
    failed: Mutex<Option<Error>>,
    /// Of tasks whose superstep never committed, by id.
    pending: BTreeMap<String, Known>,
    /// What hooks came to that no checkpoint tells of, by call.
    hooks: BTreeMap<String, HookSummary>,
    /// How child runs stood when their time was over, in order.
    overdue: Vec<StatusRecord>,
}

/// Checkpoints that are held at one time: a few of each run of a tree that is under way.
const HELD: usize = 16;

impl Recorded {
    pub(super) fn read(from: &Arc<dyn CheckpointStore>, row: &RunRow, key: &VerifyingKey) -> Result<Self> {
        let (store, run) = (&**from, &row.run_id);
        let mut namespaces = store.namespaces(run)?;
        if !namespaces.iter().any(String::is_empty) {
            namespaces.push(String::new());
        }
        let overdue = if namespaces.len() > 1 { overdue(store, run, key)? } else { Vec::new() };
        let mut first_release = false;
        let (mut lines, mut hooks) = (BTreeMap::new(), BTreeMap::new());
        let mut pending = BTreeMap::<String, Known>::new();
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
                match record.open(key).map_err(|error| Error::integrity(error.to_string()))? {
                    Record::Task(task) => {
                        let known = pending.entry(task.task).or_default();
                        if let Some(TaskCache::Hit(hit)) = task.cache {
                            known.cached = Some(*hit);
                        }
                        known.reported = known.reported.max(task.attempt);
                        longer(known, task.journal);
                    }
                    Record::Answers(answers) => {
                        pending.entry(answers.task).or_default().answers = answers.answers;
                    }
                    Record::Status(status) => {
                        for (task, used) in status.tasks {
                            let known = pending.entry(task).or_default();
                            known.reported = known.reported.max(reported(&used));
                            longer(known, used.journal);
                        }
                    }
                    Record::Hook(hook) => {
                        hooks.insert(hook.call.clone(), HookSummary::of(&hook));
                    }
                    Record::Checkpoint(_) => {}
                }
                Ok(())
            })?;
            lines.insert(namespace, line);
        }
        let (store, row) = (Arc::clone(from), row.clone());
        let (held, failed) = (Mutex::default(), Mutex::default());
        Ok(Self { row, store, first_release, lines, held, failed, pending, hooks, overdue })
    }

    /// Why a checkpoint could not be read, if one could not: what followed from that is not to be believed.
    pub(super) fn check(&self) -> Result<()> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }

    /// A checkpoint that is there.
    pub(super) fn checkpoint(&self, namespace: &str, sequence: u64) -> Result<Arc<Stored>> {
        if let Some(stored) = self.stored(namespace, sequence) {
            return Ok(stored);
        }
        self.check()?;
        Err(Error::integrity(format!("checkpoint {sequence} of run {} is gone", self.row.run_id)))
    }

    /// Reads a checkpoint that is there.
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
        match record.decode().map_err(|error| Error::integrity(error.to_string()))? {
            Record::Checkpoint(checkpoint) => {
                Ok(Stored { checkpoint: *checkpoint, digest: record.digest, values: record.values })
            }
            _ => Err(gone()),
        }
    }

    /// How child runs stood when their time was over, in the order in which that happened.
    pub(super) fn overdue(&self) -> &[StatusRecord] {
        &self.overdue
    }

    /// Up to which attempt something has come of a task whose superstep never committed.
    pub(super) fn reported(&self, task: &str) -> u32 {
        self.pending.get(task).map_or(0, |known| known.reported)
    }

    /// The checkpoints of a namespace.
    pub(super) fn line(&self, namespace: &str) -> &[Mark] {
        self.lines.get(namespace).map_or(&[], Vec::as_slice)
    }

    /// The first checkpoint of a namespace after a number.
    pub(super) fn next(&self, namespace: &str, after: Option<u64>) -> Option<Arc<Stored>> {
        let next = self.next_mark(namespace, after)?;
        self.stored(namespace, next.sequence)
    }

    /// The same, without reading it.
    pub(super) fn next_mark(&self, namespace: &str, after: Option<u64>) -> Option<Mark> {
        let line = self.line(namespace);
        let at = line.partition_point(|mark| after.is_some_and(|after| mark.sequence <= after));
        line.get(at).copied()
    }

    /// What a hook came to after a checkpoint.
    pub(super) fn hook(&self, namespace: &str, after: Option<u64>, call: &str) -> Option<HookSummary> {
        let next = self.next(namespace, after);
        let committed = next.iter().flat_map(|next| &next.checkpoint.hooked).find(|hook| hook.call == call);
        committed.or_else(|| self.hooks.get(call)).cloned()
    }

    /// The first checkpoint of the child run that is the next to begin under a checkpoint, in task order; `begun` says
    /// which have.
    pub(super) fn child_to_begin(&self, parent: &Checkpoint, begun: impl Fn(&str) -> bool) -> Option<Mark> {
        let children = self.lines.iter().filter(|(child, _)| is_child_of(child, parent) && !begun(child));
        let ordinal = |child: &str| -> u64 {
            let digits = child.rsplit_once('.').map_or("", |(_, ordinal)| ordinal);
            digits.split('@').next().and_then(|digits| digits.parse().ok()).unwrap_or(u64::MAX)
        };
        children.min_by_key(|(child, _)| ordinal(child)).and_then(|(_, line)| line.first().copied())
    }

    /// The checkpoint with a number, if there is one.
    pub(super) fn find(&self, namespace: &str, sequence: u64) -> Option<Arc<Stored>> {
        self.line(namespace).binary_search_by_key(&sequence, |mark| mark.sequence).ok()?;
        self.stored(namespace, sequence)
    }

    /// What is known of a task of the superstep after a checkpoint: from the checkpoint that it came to, or, where it came
    /// to none, from what it has left.
    pub(super) fn task(&self, namespace: &str, after: Option<u64>, task: &str) -> Known {
        let committed = self.next(namespace, after).and_then(|next| {
            let found = next.checkpoint.tasks.iter().find(|summary| summary.task == task)?;
            let cached = found.cached.as_deref().cloned();
            Some(Known {
                answers: found.answers.clone(),
                journal: found.journal.clone(),
                cached,
                reported: u32::MAX,
            })
        });
        committed.or_else(|| self.pending.get(task).cloned()).unwrap_or_default()
    }
}

/// The status records of child runs whose time was over.
fn overdue(store: &dyn CheckpointStore, run: &str, key: &VerifyingKey) -> Result<Vec<StatusRecord>> {
    let mut found = Vec::new();
    restore::each_of_history(store, run, 0, |numbered| {
        let record = &numbered.record;
        if record.kind != RecordKind::Status || record.namespace.is_empty() {
            return Ok(());
        }
        let opened = record.open(key).map_err(|error| Error::integrity(error.to_string()))?;
        let Record::Status(status) = opened else { return Ok(()) };
        let error = status.error.as_ref();
        if status.status == Status::Limit && error.is_some_and(|error| error.message.starts_with(TIME_LIMIT))
        {
            found.push(status);
        }
        Ok(())
    })?;
    Ok(found)
}
