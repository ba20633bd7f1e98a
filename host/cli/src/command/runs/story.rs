//! A run as its records tell it.

use std::collections::BTreeMap;
use std::sync::Arc;

use graph_core::digest::Digest;
use graph_core::hook::HookEvent;
use graph_core::limits::HostUse;
use graph_core::record::{
    Accepted, Checkpoint, History, HookSummary, Pruning, Record, SignedPruning, SignedRecord, Standing,
    StatusRecord, TaskCache,
};
use graph_core::trust::VerifyingKey;
use graph_core::walker::{CheckpointRef, Summary};
use graph_host::context::Context;
use graph_host::error::{Error, Result};
use graph_host::runs;
use graph_store::{CheckpointStore, RunRow};
use serde_json::{Map, Value};

use super::usage::Usages;

/// Steps that are read at a time.
const STEPS: usize = 256;
/// The nodes visited that are listed; how many more there were is said.
const VISITED: usize = 100_000;
/// The warnings that are listed; how many more there were is said.
const WARNINGS: usize = 1_000;
/// The changes of what a run is pinned to that are listed.
pub(super) const ACCEPTED: usize = 1_000;

/// A run as its records tell it: what can be read is shown. Its steps are read once more when they are.
pub(super) struct Story {
    pub(super) newest: Option<Checkpoint>,
    /// Where the steps begin, if the host has removed what was before.
    pub(super) begins: Option<Pruning>,
    /// What its nodes have used.
    pub(super) usage: Usages,
    /// The first changes of what it is pinned to, each with the checkpoint under which it was accepted.
    pub(super) accepted: Vec<(u64, Accepted)>,
    /// The nodes visited on the way to the newest checkpoint, and the warnings raised.
    history: History,
    /// The record digest of the newest checkpoint.
    digest: Option<Digest>,
    pending: Pending,
    pub(super) trouble: Option<String>,
}

/// What is under the newest checkpoint.
#[derive(Default)]
struct Pending {
    status: Option<StatusRecord>,
    /// What hooks have come to.
    hooked: Vec<HookSummary>,
    /// Fuel and use of the host that they tell of, where they stand for the whole run.
    fuel: u64,
    host: HostUse,
    /// What tasks have used, by task, with their nodes.
    tasks: BTreeMap<String, (String, TaskUsed)>,
    /// How many of them were found in the cache, by node.
    cached: BTreeMap<String, u64>,
}

/// Dispatches, fuel and use of the host.
type TaskUsed = (u32, u64, HostUse);

impl Pending {
    fn take(&mut self, record: Record) {
        match record {
            Record::Status(status) => self.status = Some(status),
            Record::Hook(hook) => {
                if hook.event != HookEvent::Error {
                    self.fuel = self.fuel.max(hook.fuel_total);
                    self.host = self.host.max(hook.host_total);
                }
                self.hooked.push(HookSummary::of(&hook));
            }
            Record::Task(task) => {
                if let Some(TaskCache::Hit(_)) = task.cache {
                    *self.cached.entry(task.node.clone()).or_default() += 1;
                }
                self.tasks.insert(task.task, (task.node, (task.dispatches, task.fuel, task.host)));
            }
            Record::Answers(_) | Record::Checkpoint(_) => {}
        }
    }
}

/// Reads a run; with a key, every record is checked with it.
pub(super) fn read(store: &dyn CheckpointStore, row: &RunRow, key: Option<&VerifyingKey>) -> Result<Story> {
    let run = &row.run_id;
    let mut trouble = None;
    let begins = match (store.pruning(run, "")?, key) {
        (None, _) => None,
        (Some(note), Some(key)) => match SignedPruning::open(&note, key, run, "") {
            Ok(begins) => Some(begins),
            Err(error) => {
                trouble = Some(error.to_string());
                None
            }
        },
        (Some(note), None) => SignedPruning::decode(&note).ok(),
    };
    let mut told = Story {
        newest: None,
        usage: Usages::default(),
        accepted: Vec::new(),
        history: begins.as_ref().map(History::after).unwrap_or_default(),
        begins,
        digest: None,
        pending: Pending::default(),
        trouble,
    };
    let mut standing = told.begins.as_ref().map(Standing::after).unwrap_or_default();
    let ended = runs::each_checkpoint(store, run, |record| {
        let checkpoint = checkpoint(record, key)?;
        standing.follow(&checkpoint);
        told.history.push(&checkpoint);
        told.usage.add(&checkpoint);
        let room = ACCEPTED.saturating_sub(told.accepted.len());
        // It was accepted under the checkpoint before this one, which may have been removed.
        let under = checkpoint.sequence.saturating_sub(1);
        told.accepted.extend(checkpoint.accepted.iter().take(room).map(|one| (under, one.clone())));
        told.newest = Some(checkpoint);
        told.digest = Some(record.digest);
        Ok(())
    });
    if let Some(newest) = &mut told.newest {
        standing.complete(newest);
    }
    if let Err(error) = ended {
        told.trouble = Some(error.message().to_owned());
    }
    if told.trouble.is_none() {
        let (pending, trouble) = (&mut told.pending, &mut told.trouble);
        runs::each_pending(store, run, "", |record| {
            match runs::open_record(&record, key) {
                Ok(record) => pending.take(record),
                Err(error) => *trouble = Some(error.message().to_owned()),
            }
            Ok(())
        })?;
    }
    let status = told.pending.status.iter().flat_map(|status| &status.accepted);
    let room = ACCEPTED.saturating_sub(told.accepted.len());
    let under = told.pending.status.as_ref().map_or(0, |status| status.sequence);
    let more: Vec<_> = status.take(room).map(|accepted| (under, accepted.clone())).collect();
    told.accepted.extend(more);
    Ok(told)
}

fn checkpoint(record: &SignedRecord, key: Option<&VerifyingKey>) -> Result<Checkpoint> {
    match runs::open_record(record, key)? {
        Record::Checkpoint(checkpoint) => Ok(*checkpoint),
        _ => Err(Error::integrity(format!("record {} is not a checkpoint", record.sequence))),
    }
}

/// The status record under a run's newest checkpoint; with a key, it is checked with it.
pub(super) fn newest_status(
    store: &dyn CheckpointStore,
    row: &RunRow,
    key: Option<&VerifyingKey>,
) -> Result<Option<StatusRecord>> {
    let Some(record) = runs::pending_status(store, &row.run_id, "")? else { return Ok(None) };
    match runs::open_record(&record, key)? {
        Record::Status(status) => Ok(Some(status)),
        _ => Ok(None),
    }
}

/// Reads a run. What this host has signed is checked on the way; what another one has signed can be shown alone.
pub(super) fn of(store: &dyn CheckpointStore, row: &RunRow, context: &Context) -> Result<Story> {
    read(store, row, context.home.verifying_identity(row.key)?.as_ref())
}

impl Story {
    /// The status record, if there is one under the newest checkpoint.
    pub(super) fn status(&self) -> Option<&StatusRecord> {
        self.pending.status.as_ref()
    }

    /// Goes through its steps, up to the newest one that was read, as far as they can be.
    pub(super) fn each_step(
        &self,
        store: &dyn CheckpointStore,
        mut visit: impl FnMut(&Checkpoint) -> Result<()>,
    ) -> Result<()> {
        let Some(newest) = &self.newest else { return Ok(()) };
        let mut after = None;
        // What cannot be read now could not before: the newest step is before that.
        while after.is_none_or(|after| after < newest.sequence) {
            let most = if self.trouble.is_some() { 1 } else { STEPS };
            let page = store.checkpoints(&newest.run, "", after, most)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.sequence);
            for record in page.iter().filter(|record| record.sequence <= newest.sequence) {
                visit(&checkpoint(record, None)?)?;
            }
        }
        Ok(())
    }

    /// The first of the nodes visited on the way to the newest checkpoint, and of the warnings raised.
    pub(super) fn ancestry(&self) -> (Vec<String>, Vec<String>) {
        let (visited, mut warnings) = self.history.newest(VISITED, WARNINGS);
        let of_status = self.status().into_iter().flat_map(|status| &status.warnings);
        warnings.extend(of_status.take(WARNINGS.saturating_sub(warnings.len())).cloned());
        (visited, warnings)
    }

    /// How many nodes visited and warnings raised are beyond what [`Self::ancestry`] gives.
    pub(super) fn left_out(&self) -> (usize, usize) {
        let (visited, warnings) = self.history.lengths();
        let warnings = warnings + self.status().map_or(0, |status| status.warnings.len());
        (visited.saturating_sub(VISITED), warnings.saturating_sub(WARNINGS))
    }

    /// What hooks have come to since the newest checkpoint.
    pub(super) fn hooked(&self) -> &[HookSummary] {
        &self.pending.hooked
    }

    /// Fuel that the run has used, that of tasks whose superstep has not committed too.
    pub(super) fn fuel(&self) -> u64 {
        let fuel = self.newest.as_ref().map_or(0, |newest| newest.fuel).max(self.pending.fuel);
        self.uses().into_iter().fold(fuel, |fuel, (_, used)| fuel.saturating_add(used.1))
    }

    /// The state at the newest checkpoint.
    pub(super) fn state(&self, store: &dyn CheckpointStore, row: &RunRow) -> Result<Map<String, Value>> {
        let state = self.newest.as_ref().map(|newest| runs::state(store, &row.run_id, newest));
        state.transpose().map(Option::unwrap_or_default)
    }

    /// The run as it stands, as its own process would tell it, without its state: that may be large, and whoever shows it
    /// reads it once, with [`Self::state`].
    pub(super) fn summary(&self, store: &dyn CheckpointStore, row: &RunRow) -> Result<Summary> {
        let newest = self.newest.as_ref();
        let inputs = newest.map_or(row.inputs, |newest| newest.inputs);
        let inputs: Value = serde_json::from_str(&runs::snapshot(store, &inputs, "the inputs")?)
            .map_err(|error| Error::integrity(format!("the inputs of the run cannot be read: {error}")))?;
        let mut executions = newest.map(|newest| newest.executions.clone()).unwrap_or_default();
        let fuel = self.fuel();
        for (node, used) in self.uses() {
            *executions.entry(node.to_owned()).or_default() += u64::from(used.0);
        }
        executions.retain(|_, count| *count > 0);
        let mut cached = newest.map(|newest| newest.cached.clone()).unwrap_or_default();
        for (node, count) in &self.pending.cached {
            *cached.entry(node.clone()).or_default() += count;
        }
        let end = newest.and_then(|newest| newest.end.as_ref());
        let status = self.status();
        let (visited, warnings) = self.ancestry();
        Ok(Summary {
            status: end
                .filter(|_| newest.is_some_and(|newest| newest.hooks.is_empty()))
                .map(|end| end.status)
                .or(status.map(|status| status.status))
                .unwrap_or(row.status),
            ended_by: end.map(|end| end.ended_by),
            limit_reached: end.is_some_and(|end| end.limit_reached),
            state: Map::new(),
            output: end.map(|end| Arc::clone(&end.output.0)),
            inputs: Arc::new(inputs),
            steps: newest.map_or(0, |newest| newest.step),
            visited,
            executions,
            cached,
            next: newest.iter().flat_map(|newest| &newest.next).map(|next| next.node.clone()).collect(),
            interrupts: status.map(|status| status.interrupts.clone()).unwrap_or_default(),
            error: status.and_then(|status| status.error.clone()),
            warnings,
            fuel,
            host: self.host(),
            checkpoint: newest.zip(self.digest).map(|(newest, digest)| CheckpointRef {
                sequence: newest.sequence,
                digest,
                result_digest: newest.result,
            }),
        })
    }

    /// What the run has used of the host: calls that asked the world, and the bytes of what was asked and answered.
    pub(super) fn host(&self) -> HostUse {
        let committed = self.newest.as_ref().map_or(HostUse::default(), |newest| newest.host);
        let with_hooks = committed.max(self.pending.host);
        self.uses().into_iter().fold(with_hooks, |host, (_, used)| host.plus(used.2))
    }

    /// What the tasks of the superstep under way have used, by node.
    fn uses(&self) -> Vec<(&str, TaskUsed)> {
        let mut by_task: BTreeMap<&str, (&str, TaskUsed)> = BTreeMap::new();
        for (task, used) in self.status().iter().flat_map(|status| &status.tasks) {
            by_task.insert(task, (&used.node, (used.dispatches, used.fuel, used.host)));
        }
        for (task, (node, used)) in &self.pending.tasks {
            by_task.entry(task).or_insert((node, *used));
        }
        by_task.into_values().collect()
    }
}
