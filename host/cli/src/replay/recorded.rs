//! What is recorded of a run, checked on the way.

use std::collections::BTreeMap;

use graph_core::digest::Digest;
use graph_core::record::{
    AttemptJournal, CacheHit, Canonical, ChannelValue, Checkpoint, HookSummary, Record, RecordKind, Status,
    StatusRecord, TaskCache, TaskUse,
};
use graph_core::trust::VerifyingKey;
use graph_core::walker::{TIME_LIMIT, is_child_of};
use graph_store::{CheckpointStore, RunRow};

use crate::error::{Error, Result};
use crate::runs;

/// A checkpoint as it is stored.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) checkpoint: Checkpoint,
    pub(super) digest: Digest,
    /// The channel values that it changed.
    pub(super) values: Vec<ChannelValue>,
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

/// Everything that is recorded of a run and its child runs.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) row: RunRow,
    /// By namespace, in order.
    lines: BTreeMap<String, Vec<Stored>>,
    /// Of tasks whose superstep never committed, by id.
    pending: BTreeMap<String, Known>,
    /// What hooks came to that no checkpoint tells of, by call.
    hooks: BTreeMap<String, HookSummary>,
    /// How child runs stood when their time was over, in order.
    overdue: Vec<StatusRecord>,
}

/// Records of the history that are read at a time.
const PAGE: usize = 64;

impl Recorded {
    pub(super) fn read(store: &dyn CheckpointStore, row: &RunRow, key: &VerifyingKey) -> Result<Self> {
        let run = &row.run_id;
        let mut namespaces = store.namespaces(run)?;
        if !namespaces.iter().any(String::is_empty) {
            namespaces.push(String::new());
        }
        let overdue = if namespaces.len() > 1 { overdue(store, run, key)? } else { Vec::new() };
        let (mut lines, mut hooks) = (BTreeMap::new(), BTreeMap::new());
        let mut pending = BTreeMap::<String, Known>::new();
        for namespace in namespaces {
            let (mut verifier, _) = runs::verifier(store, run, &namespace, *key)?;
            let mut line = Vec::new();
            runs::each_checkpoint_in(store, run, &namespace, |record| {
                let checkpoint = verifier
                    .checkpoint(record)
                    .map_err(|error| runs::broken(run, record.sequence, &error))?;
                line.push(Stored { checkpoint, digest: record.digest, values: record.values.clone() });
                Ok(())
            })?;
            for record in store.pending(run, &namespace)? {
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
            }
            lines.insert(namespace, line);
        }
        Ok(Self { row: row.clone(), lines, pending, hooks, overdue })
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
    pub(super) fn line(&self, namespace: &str) -> &[Stored] {
        self.lines.get(namespace).map_or(&[], Vec::as_slice)
    }

    /// The first checkpoint of a namespace after a number.
    pub(super) fn next(&self, namespace: &str, after: Option<u64>) -> Option<&Stored> {
        let line = self.line(namespace);
        let at =
            line.partition_point(|stored| after.is_some_and(|after| stored.checkpoint.sequence <= after));
        line.get(at)
    }

    /// What a hook came to after a checkpoint.
    pub(super) fn hook(&self, namespace: &str, after: Option<u64>, call: &str) -> Option<&HookSummary> {
        let committed = self.next(namespace, after).map(|next| &next.checkpoint.hooked);
        let committed = committed.into_iter().flatten().find(|hook| hook.call == call);
        committed.or_else(|| self.hooks.get(call))
    }

    /// The first checkpoint of the child run that is the next to begin under a checkpoint, in task order; `begun` says
    /// which have.
    pub(super) fn child_to_begin(
        &self,
        parent: &Checkpoint,
        begun: impl Fn(&str) -> bool,
    ) -> Option<&Stored> {
        let children = self.lines.iter().filter(|(child, _)| is_child_of(child, parent) && !begun(child));
        let ordinal = |child: &str| -> u64 {
            let digits = child.rsplit_once('.').map_or("", |(_, ordinal)| ordinal);
            digits.split('@').next().and_then(|digits| digits.parse().ok()).unwrap_or(u64::MAX)
        };
        children.min_by_key(|(child, _)| ordinal(child)).and_then(|(_, line)| line.first())
    }

    pub(super) fn find(&self, namespace: &str, sequence: u64) -> Option<&Stored> {
        let line = self.line(namespace);
        let at = line.binary_search_by_key(&sequence, |stored| stored.checkpoint.sequence).ok()?;
        line.get(at)
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
    let mut after = 0;
    loop {
        let page = store.history(run, after, PAGE)?;
        for numbered in &page {
            let record = &numbered.record;
            after = after.max(numbered.before.saturating_add(record.events));
            if record.kind != RecordKind::Status || record.namespace.is_empty() {
                continue;
            }
            let opened = record.open(key).map_err(|error| Error::integrity(error.to_string()))?;
            let Record::Status(status) = opened else { continue };
            let error = status.error.as_ref();
            if status.status == Status::Limit
                && error.is_some_and(|error| error.message.starts_with(TIME_LIMIT))
            {
                found.push(status);
            }
        }
        if page.len() < PAGE {
            return Ok(found);
        }
    }
}
