//! Records of a run: hands them out to be persisted, and handles the answers of the store.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::graph::NodeIndex;
use crate::walker::Walker;
use crate::walker::budget::node_counts::CheckpointCounts;
use crate::walker::event::{Effect, Persist, PersistId};
use crate::walker::machine::illegal;
use crate::walker::phase::{Cause, Phase};
use crate::walker::setup::{CheckpointRef, HandleError};
use crate::walker::tasks::task::{Task, TaskState};
use graph_core::digest::Digest;
use graph_core::format;
use graph_core::limits::ModelUse;
use graph_core::policy::Durability;
use graph_core::record::{
    AnswersRecord, CanonicalValue, ChannelStamp, Checkpoint, CheckpointPlace, Delta, EncodeError, FiredEdge,
    ModelReservation, PendingOutcome, Record, Source, StatusRecord, TaskRecord,
};
use graph_core::time::Timestamp;

/// Limit of the boundaries that wait in memory for the end of the run under `durability: exit`, in logical bytes.
pub(in crate::walker) const SPILL: u64 = 8 << 20;

/// Number of changed entries up to which a checkpoint is never made whole, since a whole one would not be faster to read.
const FEW_ENTRIES: u64 = 64;

/// Entries of a checkpoint for channels and nodes.
struct CheckpointChanges {
    channels: BTreeMap<String, ChannelStamp>,
    removed: Vec<String>,
    counted: CheckpointCounts,
    state: Digest,
    delta: Option<Delta>,
}

impl Walker {
    /// Handles the store's confirmation of a record.
    pub(in crate::walker) fn persisted(
        &mut self,
        id: PersistId,
        fx: &mut Vec<Effect>,
    ) -> Result<(), HandleError> {
        if !self.position.has_handed_out(id) {
            return Err(illegal("nothing with that id was to be persisted"));
        }
        while let Some((task, attempt)) = self.position.take_recorded(id) {
            fx.push(Effect::ModelRecorded { task, attempt });
        }
        if self.phase.persisted(id) {
            fx.push(Effect::Suspend(self.stop.status()));
        }
        Ok(())
    }

    /// Records the reservation of an attempt that is about to ask a language model, so that it counts after a crash.
    /// Under `durability: exit` nothing of the superstep would be stored then, so that the attempt need not wait.
    pub(in crate::walker) fn reserve_model(
        &mut self,
        now: Timestamp,
        task: Arc<str>,
        attempt: u32,
        (model, name): (ModelUse, Option<Arc<str>>),
        fx: &mut Vec<Effect>,
    ) {
        let at = self.phase.superstep().and_then(|superstep| superstep.find(&task));
        let (Some(superstep), Some(at)) = (self.phase.superstep_mut(), at) else {
            return self.reserve_model_of_hook(now, (task, attempt), model, fx);
        };
        let is_running =
            |task: &Task| matches!(task.state(), TaskState::Running) && task.attempt() == attempt;
        // An attempt that was abandoned meanwhile is not answered.
        if !is_running(&superstep.tasks()[at]) {
            return;
        }
        superstep.task_mut(at).account_mut().ask_model(model, name.clone());
        let found = &superstep.tasks()[at];
        if self.setup.durability == Durability::Exit {
            fx.push(Effect::ModelRecorded { task, attempt });
            return;
        }
        let Some(last) = self.position.last() else { return };
        let record = Record::Answers(AnswersRecord {
            answers: found.answers().values(),
            arrived: found.answers().arrived().clone(),
            at: now,
            checkpoint: last.digest,
            dropped: found.answers().dropped(),
            expired: found.answers().expired().clone(),
            forms: found.answers().forms().clone(),
            granted: found.answers().granted(),
            namespace: self.setup.identity.namespace.clone(),
            node: self.graph.node(superstep.node_of(found)).name.clone(),
            reserved: Some(ModelReservation {
                dispatch: found.used().dispatches,
                model: found.used().host.model.plus(model),
                name: name.as_deref().map(str::to_owned),
                lost: found.used().lost,
                lost_models: found.account().lost_models().clone(),
            }),
            run: self.setup.identity.record_run().to_owned(),
            sequence: last.sequence,
            task: String::from(&*task),
        });
        let id = self.persist(record, fx);
        self.position.waits_for(id, task, attempt);
    }

    /// Persists the result of a task, if there is anything to store.
    pub(in crate::walker) fn persist_task(&mut self, now: Timestamp, at: usize, fx: &mut Vec<Effect>) {
        if self.setup.durability == Durability::Exit {
            return;
        }
        self.write_task(now, at, fx);
    }

    pub(in crate::walker) fn write_task(&mut self, now: Timestamp, at: usize, fx: &mut Vec<Effect>) {
        let (Some(superstep), Some(last)) = (self.phase.superstep(), self.position.last()) else { return };
        let task = &superstep.tasks()[at];
        let outcome = match task.state() {
            TaskState::Done(answer) => PendingOutcome::Done { outcome: Arc::clone(&answer.outcome) },
            TaskState::Handled(failure) => PendingOutcome::Handled { failure: failure.clone() },
            TaskState::Interrupted { payload, short } => PendingOutcome::Interrupted {
                answered: task.answers().len(),
                payload: CanonicalValue(Arc::clone(payload)),
                short: short.clone(),
            },
            TaskState::Suspended { waits } => PendingOutcome::Suspended { waits: *waits },
            TaskState::Backoff { due, failure } => {
                PendingOutcome::Retrying { due: *due, failure: failure.clone() }
            }
            TaskState::Failing { failure, hooks_asked: true } => {
                PendingOutcome::Failing { failure: failure.clone() }
            }
            // A first attempt that fails for good has left no record for this one to replace, unless the attempt or its
            // child run had asked.
            TaskState::Failed(failure)
                if task.attempt() > 1
                    || task.used().asked > 0
                    || !task.answers().is_empty()
                    || (task.used().dispatches > 1 && task.is_graph()) =>
            {
                PendingOutcome::Failed { failure: failure.clone() }
            }
            TaskState::Waiting
            | TaskState::Running
            | TaskState::Failing { hooks_asked: false, .. }
            | TaskState::Failed(_)
            | TaskState::Exhausted { .. }
            | TaskState::Abandoned => return,
        };
        let record = Record::Task(TaskRecord {
            asked: task.used().asked,
            at: now,
            attempt: task.attempt(),
            cache: task.caching().cache().cloned(),
            checkpoint: last.digest,
            continued: task.is_continued(),
            dispatches: task.used().dispatches,
            dropped: task.answers().dropped(),
            events: task.history().events().to_vec(),
            fuel: task.used().fuel,
            granted: task.used().granted,
            host: task.used().host,
            journal: task.history().journal().to_vec(),
            lost: task.used().lost,
            lost_models: task.account().lost_models().clone(),
            micros: task.used().micros,
            namespace: self.setup.identity.namespace.clone(),
            node: self.graph.node(superstep.node_of(task)).name.clone(),
            outcome,
            retried: task.retried(),
            run: self.setup.identity.record_run().to_owned(),
            sequence: last.sequence,
            steps: task.used().steps,
            task: String::from(&**task.id()),
            warnings: task.warnings().to_vec(),
        });
        self.persist(record, fx);
    }

    /// Hands out a record to be persisted.
    pub(in crate::walker) fn persist(&mut self, record: Record, fx: &mut Vec<Effect>) -> PersistId {
        let id = self.position.hand_out();
        fx.push(Effect::Persist(Box::new(Persist::new(id, record, self.position.step()))));
        id
    }

    /// Persists a boundary, unless the run's durability defers that to its end.
    pub(in crate::walker) fn reach_boundary(&mut self, fx: &mut Vec<Effect>) {
        self.warnings.reach_boundary();
        if self.setup.durability == Durability::Exit && self.stop.end().is_none() && !self.must_spill() {
            self.phase.enter(Cause::Reach, Phase::Ready);
            return;
        }
        self.store_boundary(fx);
    }

    /// Persists a boundary at once, whatever the run's durability: its origin is recorded nowhere else.
    pub(in crate::walker) fn store_boundary(&mut self, fx: &mut Vec<Effect>) {
        match self.write_checkpoint(fx) {
            Ok(id) => self.phase.enter(Cause::Reach, Phase::Boundary(id)),
            Err(error) => self.unwritable(&error, fx),
        }
    }

    /// Returns `true` if more than [`SPILL`] bytes wait to be stored, so that this boundary is stored like the end of the run.
    fn must_spill(&self) -> bool {
        self.setup.identity.namespace.is_empty() && self.usage.unstored() > SPILL
    }

    /// Persists the newest boundary.
    pub(in crate::walker) fn write_checkpoint(
        &mut self,
        fx: &mut Vec<Effect>,
    ) -> Result<PersistId, EncodeError> {
        let source = self.position.take_unwritten();
        let checkpoint = self.checkpoint(source);
        let (result_digest, has_warnings) = (checkpoint.result, !checkpoint.warnings.is_empty());
        let record = Record::Checkpoint(Box::new(checkpoint));
        let (body, digest) = record.encode()?;
        let sequence = self.position.sequence();
        self.usage.mark_stored();
        self.position.written(CheckpointRef { sequence, digest, result_digest });
        if has_warnings {
            self.warnings.written_to(CheckpointPlace { digest, sequence });
        }
        let id = self.position.hand_out();
        let values = self.channels.take_unpersisted();
        let results = self.unwritten.take_results().collect();
        let step = self.position.step();
        let persist = Persist::of_checkpoint(id, record, (body, digest), step, values, results);
        fx.push(Effect::Persist(Box::new(persist)));
        Ok(id)
    }

    /// Takes the next checkpoint's entries for channels and nodes, and its base: the changes, or everything once the
    /// changes would take as much room.
    fn take_changes(&mut self) -> CheckpointChanges {
        let (channels, removed) = self.channels.take_changed();
        let counted = self.usage.node_counts_mut().take_changed(&self.graph);
        let state = self.channels.state_digest();
        let entries = (channels.len() + removed.len()) as u64 + counted.entries();
        let mut changes = CheckpointChanges { channels, removed, counted, state, delta: None };
        let whole =
            self.channels.stamped().saturating_add(self.usage.node_counts().counting().saturating_mul(2));
        changes.delta = self.position.build_on(entries, whole.max(FEW_ENTRIES));
        if changes.delta.is_none() {
            changes.channels = self.channels.stamps();
            changes.removed.clear();
            changes.counted = self.usage.node_counts().all(&self.graph);
        }
        changes
    }

    fn checkpoint(&mut self, source: Source) -> Checkpoint {
        let CheckpointChanges { channels, removed, counted, state, delta } = self.take_changes();
        let graph = Arc::clone(&self.graph);
        let name = |node: NodeIndex| graph.node(node).name.clone();
        let barriers = self.agenda.part_open().map(|(barrier, arrived)| {
            let waits = graph.node(barrier).wait_for.iter();
            (name(barrier), waits.filter(|node| arrived.contains(node)).map(|node| name(*node)).collect())
        });
        let fired = self.unwritten.take_fired().into_iter().map(|((from, to, via), count)| FiredEdge {
            count,
            from: name(from),
            to: to.map(name),
            via,
        });
        let events = self.unwritten.take_events();
        let follows = match source {
            Source::Inputs => self.visited.newest().iter().map(|node| name(*node)).collect(),
            _ => Vec::new(),
        };
        // Under `durability: exit` the run has continued from the boundary before it is stored.
        let passed = self.setup.durability == Durability::Exit && !self.stop.has_ended();
        let (warnings, warned) = self.warnings.write(passed, delta.is_none());
        let mut checkpoint = Checkpoint {
            accepted: self.unwritten.take_accepted(),
            at: self.position.at(),
            barriers: barriers.collect(),
            cached: counted.cached,
            channels,
            child_steps: self.usage.child_steps(),
            delta,
            deferred: self.agenda.deferred().iter().map(|step| step.record(&self.graph)).collect(),
            end: self.stop.end().cloned(),
            errors_continued: self.stop.has_continued_past_errors(),
            executions: counted.executions,
            failed: counted.failed,
            fired: fired.collect(),
            follows,
            fuel: self.usage.fuel(),
            gone: removed,
            granted: self.usage.granted(),
            graph: self.graph.digest,
            hooked: self.hooks.take_unwritten(),
            hooks: self.hooks.planned().to_vec(),
            host: self.usage.host(),
            inputs: self.inputs_digest,
            max_steps: self.hooks.max_steps_at_boundary(),
            micros: events.micros,
            namespace: self.setup.identity.namespace.clone(),
            next: self.agenda.next().iter().map(|step| step.record(&self.graph)).collect(),
            parent: self.position.last().map(|last| last.digest),
            pins: self.setup.pins,
            released: self.stop.is_released() && source == Source::Inputs,
            result: graph_core::record::ResultDigest(Digest::from_bytes([0; 32])),
            run: self.setup.identity.record_run().to_owned(),
            seed: self.setup.seed,
            sequence: self.position.sequence(),
            source,
            state: Some(state),
            step: self.position.step(),
            step_limit: Some(self.limits.max_steps()).filter(|total| *total != self.graph.max_steps),
            tasks: self.unwritten.take_tasks(),
            turn_steps: self.limits.before_turn(),
            updates: events.updates,
            version: format::CHECKPOINT,
            visited: self.visited.take_unwritten().map(name).collect(),
            visited_digest: self.visited.digest(),
            visits: counted.visits,
            warned,
            warnings,
        };
        checkpoint.result = checkpoint.result_after(self.result_hasher.clone().digest(&state));
        checkpoint
    }

    /// Persists the present status.
    pub(in crate::walker) fn write_status(&mut self, now: Timestamp, fx: &mut Vec<Effect>) -> PersistId {
        let tasks = self.pending.record_uses(&self.graph, self.stop.is_recovered());
        let (checkpoint, sequence) = self.position.under();
        let record = Record::Status(StatusRecord {
            accepted: self.unwritten.accepted().to_vec(),
            at: now,
            checkpoint,
            dispatch: self.limits.dispatch(),
            error: self.stop.error().cloned(),
            hooked: self.hooked_at_the_end(),
            hooks_fuel: self.hooks.counted(),
            hooks_host: self.hooks.counted_host(),
            hooks_passed: self.hooks.have_passed(),
            interrupts: self.stop.interrupts().to_vec(),
            max_steps: self.hooks.max_steps(),
            namespace: self.setup.identity.namespace.clone(),
            released: self.stop.is_released(),
            resumes: self.hooks.resumes(),
            run: self.setup.identity.record_run().to_owned(),
            sequence,
            status: self.stop.status(),
            tasks,
            warnings: self.warnings.unwritten().to_vec(),
        });
        self.persist(record, fx)
    }
}
