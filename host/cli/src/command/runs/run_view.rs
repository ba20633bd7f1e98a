//! View of a run that is read from its records.

use graph_host::terminal::remedies;
use graph_runtime::error::Kind;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use graph_core::digest::Digest;
use graph_core::hook_event::HookEvent;
use graph_core::limits::{HostUse, ModelUse};
use graph_core::node::Failure;
use graph_core::record::{
    AcceptedPinChange, Checkpoint, HookSummary, PendingOutcome, Pruning, Record, SignedRecord, Source,
    StatusRecord, TaskCache, TaskEvent,
};
use graph_core::time::Timestamp;
use graph_core::trust::VerifyingKey;
use graph_host::context::Context;
use graph_runtime::error::{Error, Result};
use graph_runtime::graph_store::{CheckpointStore, RunRow};
use graph_runtime::run::checkpoints::{self, Line, Way};
use graph_runtime::run::restore;
use graph_walker::walker::{CheckpointRef, Summary};
use serde_json::{Map, Value};

use super::usage::{PendingModels, Usages};

/// Number of steps that are read at a time.
const STEPS: usize = 256;
/// Limit of accepted changes that are listed.
pub(super) const ACCEPTED: usize = 1_000;

/// A run that was read from its records, as far as they can be read. Its steps are read again when they are shown.
pub(super) struct RunView {
    pub(super) newest: Option<Checkpoint>,
    /// Start of the stored history, if the host has removed earlier checkpoints.
    pub(super) begins: Option<Pruning>,
    steps: Steps,
    pub(super) warnings: Vec<String>,
    /// Record digest of the newest checkpoint.
    digest: Option<Digest>,
    pending: PendingRecords,
    pub(super) trouble: Option<String>,
    key: Option<VerifyingKey>,
}

/// Data of all steps that is needed before the first one is shown.
#[derive(Default)]
struct Steps {
    /// Number of the first checkpoint.
    first: Option<u64>,
    usage: Usages,
    /// The first accepted changes, with their checkpoints.
    accepted: VecDeque<(u64, AcceptedPinChange)>,
    /// Checkpoints of updates that went back, each with the number of the checkpoint that they went back to.
    back: VecDeque<(u64, u64)>,
}

/// Pending records under the newest checkpoint.
#[derive(Default)]
struct PendingRecords {
    status: Option<StatusRecord>,
    /// Results of hooks.
    hooked: Vec<HookSummary>,
    /// Fuel and use of the host after these hooks, if they are totals of the whole run.
    fuel: u64,
    host: HostUse,
    /// Model use reserved by hooks without a result, and possible use by lost calls.
    lost: ModelUse,
    /// Use of tasks, by task, with their nodes.
    tasks: BTreeMap<String, (String, TaskUsed)>,
    /// Number of tasks with a cached result, by node.
    cached: BTreeMap<String, u64>,
    /// The outcome of tasks, by task, with their nodes and attempts.
    outcomes: BTreeMap<String, (String, u32, Timestamp, PendingOutcome)>,
}

/// A task of a superstep that has not committed.
pub(super) struct OpenTask<'a> {
    pub(super) task: &'a str,
    pub(super) node: &'a str,
    pub(super) attempt: u32,
    pub(super) stand: TaskStand<'a>,
}

/// The progress of a task of a superstep that has not committed.
pub(super) enum TaskStand<'a> {
    /// It has a result.
    Done,
    /// It failed, and the graph handles the failure.
    Handled {
        /// The time of the failure.
        at: Timestamp,
        failure: &'a Failure,
    },
    /// Its failure has stopped the run.
    Failed { failure: &'a Failure },
    /// It waits for an answer, for a child run, or for its next attempt.
    Waiting,
    /// It has neither a result nor a failure.
    Unfinished,
}

/// Dispatches, fuel and use of the host.
type TaskUsed = (u32, u64, HostUse);

impl PendingRecords {
    fn take(&mut self, record: Record) {
        match record {
            Record::Status(status) => self.status = Some(status),
            Record::Hook(hook) => {
                if hook.event != HookEvent::Error {
                    self.fuel = self.fuel.max(hook.fuel_total);
                    self.host = self.host.max(hook.host_total);
                }
                self.lost = self.lost.plus(hook.lost);
                if hook.reserved {
                    self.lost = self.lost.plus(hook.host.model);
                } else {
                    self.hooked.push(HookSummary::from_record(&hook));
                }
            }
            Record::Task(task) => {
                if let Some(TaskCache::Hit(_)) = task.cache {
                    *self.cached.entry(task.node.clone()).or_default() += 1;
                }
                let outcome = (task.node.clone(), task.attempt, task.at, task.outcome);
                self.outcomes.insert(task.task.clone(), outcome);
                self.tasks.insert(task.task, (task.node, (task.dispatches, task.fuel, task.host)));
            }
            Record::Answers(_) | Record::Checkpoint(_) => {}
        }
    }
}

/// Reads the current state of a run: its newest checkpoint, the checkpoints on which it is based, and the pending records. The other
/// steps are not read. The records of known hosts are verified; those of other hosts can only be shown.
pub(super) fn newest(store: &dyn CheckpointStore, row: &RunRow, context: &Context) -> Result<RunView> {
    let mut view = without_records(store, row, context)?;
    let newest = view.line(store, &row.run_id).newest()?;
    view.come_to(store, row, newest.as_ref())?;
    Ok(view)
}

/// Reads a run with the use and the accepted changes of all its steps. The signature of the newest checkpoint is verified, and the link
/// from each checkpoint to its predecessor.
pub(super) fn whole(store: &dyn CheckpointStore, row: &RunRow, context: &Context) -> Result<RunView> {
    let mut view = without_records(store, row, context)?;
    let mut steps = Steps::default();
    let read = view.line(store, &row.run_id).each_back(|checkpoint, _| {
        steps.take_earlier(checkpoint);
        Ok(())
    });
    let newest = match read {
        Ok(()) if view.trouble.is_none() => view.line(store, &row.run_id).newest()?,
        // If the chain is broken, each checkpoint is read separately, so that those before the damage are shown.
        read => {
            steps = Steps::default();
            let mut newest = None;
            let one_by_one = restore::each_checkpoint(store, &row.run_id, "", |record| {
                steps.take(&checkpoint(record, view.key.as_ref())?);
                newest = Some(record.clone());
                Ok(())
            });
            let message = |error: Error| remedies::message(&error);
            let of_line = read.err().map(message);
            view.trouble = one_by_one.err().map(message).or(view.trouble.take()).or(of_line);
            newest
        }
    };
    view.steps = steps;
    view.come_to(store, row, newest.as_ref())?;
    if view.trouble.is_none() && !view.host().model.is_nothing() {
        match view.add_models_of_children(store, &row.run_id) {
            // The readable part of the run itself is still shown.
            Err(error) if error.kind() == Kind::Integrity => view.trouble = Some(remedies::message(&error)),
            added => added?,
        }
    }
    Ok(view)
}

fn without_records(store: &dyn CheckpointStore, row: &RunRow, context: &Context) -> Result<RunView> {
    let key = context.host.home.known_key(row.key)?;
    let (begins, trouble) = match checkpoints::begins(store, &row.run_id, "", key.as_ref()) {
        Ok(begins) => (begins, None),
        Err(error) if error.kind() == Kind::Integrity => (None, Some(remedies::message(&error))),
        Err(error) => return Err(error),
    };
    Ok(RunView {
        newest: None,
        begins,
        steps: Steps::default(),
        warnings: Vec::new(),
        digest: None,
        pending: PendingRecords::default(),
        trouble,
        key,
    })
}

/// Returns the changes accepted before a checkpoint, each with the number of the preceding checkpoint, which may have been removed.
pub(super) fn accepted_in(
    checkpoint: &Checkpoint,
) -> impl DoubleEndedIterator<Item = (u64, AcceptedPinChange)> + ExactSizeIterator {
    let under = checkpoint.sequence.saturating_sub(1);
    checkpoint.accepted.iter().map(move |one| (under, one.clone()))
}

impl Steps {
    /// Adds the next checkpoint, in ascending order.
    fn take(&mut self, checkpoint: &Checkpoint) {
        self.first.get_or_insert(checkpoint.sequence);
        self.usage.add(checkpoint);
        let room = ACCEPTED.saturating_sub(self.accepted.len());
        self.accepted.extend(accepted_in(checkpoint).take(room));
        self.back.extend(went_back(checkpoint));
    }

    /// Adds the previous checkpoint, in descending order.
    fn take_earlier(&mut self, checkpoint: &Checkpoint) {
        self.first = Some(checkpoint.sequence);
        self.usage.add(checkpoint);
        for accepted in accepted_in(checkpoint).rev() {
            self.accepted.push_front(accepted);
        }
        self.accepted.truncate(ACCEPTED);
        if let Some(back) = went_back(checkpoint) {
            self.back.push_front(back);
        }
    }
}

fn went_back(checkpoint: &Checkpoint) -> Option<(u64, u64)> {
    match &checkpoint.source {
        Source::Update { restored: Some(restored), .. } => Some((checkpoint.sequence, restored.sequence)),
        _ => None,
    }
}

pub(super) fn checkpoint(record: &SignedRecord, key: Option<&VerifyingKey>) -> Result<Checkpoint> {
    match restore::open_record(record, key)? {
        Record::Checkpoint(checkpoint) => Ok(*checkpoint),
        _ => Err(Error::integrity(format!("record {} is not a checkpoint", record.sequence))),
    }
}

/// Returns the status record under a run's newest checkpoint, verified with `key` if that is given.
pub(super) fn newest_status(
    store: &dyn CheckpointStore,
    row: &RunRow,
    key: Option<&VerifyingKey>,
) -> Result<Option<StatusRecord>> {
    let Some(record) = restore::pending_status(store, &row.run_id, "")? else { return Ok(None) };
    match restore::open_record(&record, key)? {
        Record::Status(status) => Ok(Some(status)),
        _ => Ok(None),
    }
}

impl RunView {
    /// Returns a reader of the run's checkpoints.
    pub(super) fn line<'s>(&'s self, store: &'s dyn CheckpointStore, run: &'s str) -> Line<'s> {
        Line::new(store, run, "", self.key.as_ref(), self.begins.as_ref())
    }

    /// Adds the newest readable checkpoint, and its pending records unless the run has damage.
    fn come_to(
        &mut self,
        store: &dyn CheckpointStore,
        row: &RunRow,
        newest: Option<&SignedRecord>,
    ) -> Result<()> {
        let run = &row.run_id;
        if let Some(newest) = newest {
            let line = self.line(store, run);
            let opened = line.open(newest).and_then(|trusted| Ok((line.warnings(&trusted)?.0, trusted)));
            match opened {
                Ok((warnings, trusted)) => {
                    (self.newest, self.digest) = (Some(trusted.checkpoint), Some(trusted.digest));
                    self.warnings = warnings;
                }
                Err(error) => {
                    self.trouble.get_or_insert_with(|| remedies::message(&error));
                }
            }
        }
        if self.trouble.is_some() {
            return Ok(());
        }
        let (pending, trouble, key) = (&mut self.pending, &mut self.trouble, self.key.as_ref());
        let mut models = PendingModels::default();
        restore::each_pending(store, run, "", |record| {
            match restore::open_record(&record, key) {
                Ok(record) => {
                    models.take(&record);
                    pending.take(record);
                }
                Err(error) => *trouble = Some(remedies::message(&error)),
            }
            Ok(())
        })?;
        models.add_to(&mut self.steps.usage);
        let status = self.pending.status.iter();
        let more: Vec<_> = status
            .flat_map(|status| status.accepted.iter().map(|accepted| (status.sequence, accepted.clone())))
            .collect();
        let room = ACCEPTED.saturating_sub(self.steps.accepted.len());
        self.steps.accepted.extend(more.into_iter().take(room));
        let of_status = self.pending.status.iter().flat_map(|status| &status.warnings);
        self.warnings.extend(of_status.cloned());
        Ok(())
    }

    /// Adds the use of each language model by child runs.
    fn add_models_of_children(&mut self, store: &dyn CheckpointStore, run: &str) -> Result<()> {
        for namespace in store.namespaces(run)?.iter().filter(|namespace| !namespace.is_empty()) {
            let (usage, key) = (&mut self.steps.usage, self.key.as_ref());
            restore::each_checkpoint(store, run, namespace, |record| {
                usage.add_models(&checkpoint(record, key)?);
                Ok(())
            })?;
            let mut pending = PendingModels::default();
            restore::each_pending(store, run, namespace, |record| {
                pending.take(&restore::open_record(&record, key)?);
                Ok(())
            })?;
            pending.add_to(usage);
        }
        Ok(())
    }

    /// Returns the first accepted changes, each with its checkpoint.
    pub(super) fn accepted(&self) -> Vec<(u64, AcceptedPinChange)> {
        self.steps.accepted.iter().cloned().collect()
    }

    /// Returns the use of the nodes.
    pub(super) const fn usage(&self) -> &Usages {
        &self.steps.usage
    }

    /// Visits the nodes on the way to the newest checkpoint, once all steps were read.
    pub(super) fn each_visited(
        &self,
        store: &dyn CheckpointStore,
        visit: &mut dyn FnMut(&str) -> Result<()>,
    ) -> Result<()> {
        let (Some(newest), Some(first)) = (&self.newest, self.steps.first) else { return Ok(()) };
        let back: Vec<_> = self.steps.back.iter().copied().collect();
        Way::to_checkpoint(first, newest.sequence, &back).each_visited(&self.line(store, &newest.run), visit)
    }

    /// Returns the key for verification; `None` if the host is not known.
    pub(super) const fn key(&self) -> Option<&VerifyingKey> {
        self.key.as_ref()
    }

    /// Returns the status record under the newest checkpoint, if there is one.
    pub(super) fn status(&self) -> Option<&StatusRecord> {
        self.pending.status.as_ref()
    }

    /// Visits the readable steps up to the newest checkpoint.
    pub(super) fn each_step(
        &self,
        store: &dyn CheckpointStore,
        mut visit: impl FnMut(&Checkpoint) -> Result<()>,
    ) -> Result<()> {
        let Some(newest) = &self.newest else { return Ok(()) };
        let mut after = None;
        // Unreadable records are after the newest step that was read.
        while after.is_none_or(|after| after < newest.sequence) {
            let most = if self.trouble.is_some() { 1 } else { STEPS };
            let page = store.checkpoints_alone(&newest.run, "", after, most)?;
            let Some(last) = page.last() else { return Ok(()) };
            after = Some(last.sequence);
            for record in page.iter().filter(|record| record.sequence <= newest.sequence) {
                visit(&checkpoint(record, None)?)?;
            }
        }
        Ok(())
    }

    /// Returns the known tasks of a superstep that has not committed, in task order; empty if a superstep is under way in a process.
    pub(super) fn open_tasks(&self) -> Vec<OpenTask<'_>> {
        let mut open: BTreeMap<&str, OpenTask<'_>> = BTreeMap::new();
        for (task, used) in self.status().iter().flat_map(|status| &status.tasks) {
            let failure = used.events.iter().rev().find_map(|event| match event {
                TaskEvent::Failed { failure, .. } => Some(failure),
                _ => None,
            });
            let stand = failure.map_or(TaskStand::Unfinished, |failure| TaskStand::Failed { failure });
            open.insert(task, OpenTask { task, node: &used.node, attempt: used.attempts, stand });
        }
        for (task, (node, attempt, at, outcome)) in &self.pending.outcomes {
            let stand = match outcome {
                PendingOutcome::Done { .. } => TaskStand::Done,
                PendingOutcome::Handled { failure } => TaskStand::Handled { at: *at, failure },
                PendingOutcome::Failed { failure } => TaskStand::Failed { failure },
                PendingOutcome::Failing { .. }
                | PendingOutcome::Suspended { .. }
                | PendingOutcome::Interrupted { .. }
                | PendingOutcome::Retrying { .. } => TaskStand::Waiting,
            };
            open.insert(task, OpenTask { task, node, attempt: *attempt, stand });
        }
        let mut open: Vec<_> = open.into_values().collect();
        // In the order of their numbers, which are the last part of the id.
        open.sort_by_key(|open| open.task.rsplit('.').next().and_then(|number| number.parse::<u64>().ok()));
        open
    }

    /// Returns the results of hooks since the newest checkpoint.
    pub(super) fn hooked(&self) -> &[HookSummary] {
        &self.pending.hooked
    }

    /// Returns the fuel of the run, including tasks whose superstep has not committed.
    pub(super) fn fuel(&self) -> u64 {
        let fuel = self.newest.as_ref().map_or(0, |newest| newest.fuel).max(self.pending.fuel);
        self.uses().into_iter().fold(fuel, |fuel, (_, used)| fuel.saturating_add(used.1))
    }

    /// Reads the state at the newest checkpoint.
    pub(super) fn state(&self, store: &dyn CheckpointStore) -> Result<Map<String, Value>> {
        let state = self.newest.as_ref().map(|newest| restore::state(store, newest));
        state.transpose().map(Option::unwrap_or_default)
    }

    /// Returns the current summary of the run, as its own process would report it, but without the state: that may be large, and commands
    /// that show it read it with [`Self::state`].
    pub(super) fn summary(&self, store: &dyn CheckpointStore, row: &RunRow) -> Result<Summary> {
        let newest = self.newest.as_ref();
        let inputs = newest.map_or(row.inputs, |newest| newest.inputs);
        let inputs = restore::inputs(store, &inputs)?;
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
            visited_digest: newest
                .map_or_else(|| Digest::from_bytes([0; 32]), |newest| newest.visited_digest),
            executions,
            cached,
            failed: newest.map(|newest| newest.failed.clone()).unwrap_or_default(),
            next: newest.iter().flat_map(|newest| &newest.next).map(|next| next.node.clone()).collect(),
            interrupts: status.map(|status| status.interrupts.clone()).unwrap_or_default(),
            error: status.and_then(|status| status.error.clone()),
            warnings: self.warnings.clone(),
            fuel,
            host: self.host(),
            checkpoint: newest.zip(self.digest).map(|(newest, digest)| CheckpointRef {
                sequence: newest.sequence,
                digest,
                result_digest: newest.result,
            }),
        })
    }

    /// Returns the run's use of the host: calls to the outside world and their bytes, and language models.
    pub(super) fn host(&self) -> HostUse {
        let committed = self.newest.as_ref().map_or(HostUse::default(), |newest| newest.host);
        let mut with_hooks = committed.max(self.pending.host);
        with_hooks.model = with_hooks.model.plus(self.pending.lost);
        self.uses().into_iter().fold(with_hooks, |host, (_, used)| host.plus(used.2))
    }

    /// Returns the use of tasks in the superstep under way, with their nodes.
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
