//! The records of a run: what is handed out to be persisted, and what the store says to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Walker;
use super::event::{Effect, Notice, Persist, PersistId};
use super::machine::{Phase, illegal};
use super::setup::{CheckpointRef, HandleError};
use super::superstep::{Start, TaskState, Used};
use super::tallies::Counted;
use crate::digest::Digest;
use crate::format;
use crate::graph::{Durability, NodeIndex};
use crate::record::{
    Canonical, ChannelStamp, Checkpoint, CheckpointPlace, Delta, EncodeError, ErrorCode, FiredEdge,
    PendingOutcome, Record, RunError, Source, Status, StatusRecord, TaskRecord, TaskUse,
};
use crate::time::Timestamp;

/// Under `durability: exit` boundaries wait in memory for the end of the run, so many logical bytes of them at most.
pub(super) const SPILL: u64 = 8 << 20;

/// So many entries of changes never make a checkpoint whole: it would be read no faster.
const FEW_ENTRIES: u64 = 64;

/// What a checkpoint holds of channels and nodes.
struct Changes {
    channels: BTreeMap<String, ChannelStamp>,
    gone: Vec<String>,
    counted: Counted,
    state: Digest,
    delta: Option<Delta>,
}

impl Walker {
    /// The store has taken a record.
    pub(super) fn persisted(&mut self, id: PersistId, fx: &mut Vec<Effect>) -> Result<(), HandleError> {
        if id.0 > self.persists {
            return Err(illegal("nothing with that id was to be persisted"));
        }
        match self.phase {
            Phase::Boundary(wanted) if id >= wanted => self.phase = Phase::Ready,
            Phase::Suspending(wanted) if id >= wanted => {
                self.phase = Phase::Suspended;
                fx.push(Effect::Suspend(self.status));
            }
            _ => {}
        }
        Ok(())
    }

    /// The store has refused a record: the run cannot go on.
    pub(super) fn persist_failed(
        &mut self,
        id: PersistId,
        message: &str,
        fx: &mut Vec<Effect>,
    ) -> Result<(), HandleError> {
        if id.0 > self.persists {
            return Err(illegal("nothing with that id was to be persisted"));
        }
        self.abort_all(fx);
        self.superstep = None;
        self.status = Status::Failed;
        let error = RunError {
            budget: None,
            category: None,
            code: ErrorCode::Storage,
            message: format!("the run could not be stored: {message}"),
            node: None,
        };
        fx.push(Effect::Emit(Notice::Stopped(error.clone())));
        self.error = Some(error);
        self.phase = Phase::Broken;
        fx.push(Effect::Suspend(Status::Failed));
        Ok(())
    }

    /// Persists what a task has come to, if there is anything to keep.
    pub(super) fn persist_task(&mut self, now: Timestamp, at: usize, fx: &mut Vec<Effect>) {
        if self.setup.durability == Durability::Exit {
            return;
        }
        self.write_task(now, at, fx);
    }

    pub(super) fn write_task(&mut self, now: Timestamp, at: usize, fx: &mut Vec<Effect>) {
        let (Some(superstep), Some(last)) = (&self.superstep, &self.last) else { return };
        let task = &superstep.tasks[at];
        let outcome = match &task.state {
            TaskState::Done(answer) => PendingOutcome::Done { outcome: Arc::clone(&answer.outcome) },
            TaskState::Handled(failure) => PendingOutcome::Handled { failure: failure.clone() },
            TaskState::Interrupted { payload } => PendingOutcome::Interrupted {
                answered: u32::try_from(task.answers.len()).unwrap_or(u32::MAX),
                payload: Canonical(Arc::clone(payload)),
            },
            TaskState::Suspended => PendingOutcome::Suspended,
            TaskState::Backoff { due, failure } => {
                PendingOutcome::Retrying { due: *due, failure: failure.clone() }
            }
            TaskState::Failing { failure, told: true } => {
                PendingOutcome::Failing { failure: failure.clone() }
            }
            // A first attempt that fails for good has left no record that this would have to replace, unless it had asked,
            // or its child run had.
            TaskState::Failed(failure)
                if task.attempt > 1
                    || task.used.asked > 0
                    || !task.answers.is_empty()
                    || (task.used.dispatches > 1
                        && task.dispatch.as_ref().is_some_and(|dispatch| dispatch.is_graph)) =>
            {
                PendingOutcome::Failed { failure: failure.clone() }
            }
            TaskState::Waiting
            | TaskState::Running
            | TaskState::Failing { told: false, .. }
            | TaskState::Failed(_)
            | TaskState::Exhausted { .. }
            | TaskState::NotReached => return,
        };
        let record = Record::Task(TaskRecord {
            asked: task.used.asked,
            at: now,
            attempt: task.attempt,
            cache: task.caching.cache.clone(),
            checkpoint: last.digest,
            continued: task.continued,
            dispatches: task.used.dispatches,
            events: task.told.events.clone(),
            fuel: task.used.fuel,
            host: task.used.host,
            journal: task.told.journal.clone(),
            micros: task.used.micros,
            namespace: self.setup.identity.namespace.clone(),
            node: self.graph.node(superstep.activated[task.activated].node).name.clone(),
            outcome,
            retried: task.retried,
            run: self.setup.identity.record_run().to_owned(),
            sequence: last.sequence,
            steps: task.used.steps,
            task: String::from(&*task.id),
            warnings: task.warnings.clone(),
        });
        self.persist(record, fx);
    }

    /// Hands a record out to be persisted.
    pub(super) fn persist(&mut self, record: Record, fx: &mut Vec<Effect>) -> PersistId {
        self.persists += 1;
        let id = PersistId(self.persists);
        fx.push(Effect::Persist(Box::new(Persist {
            id,
            record,
            encoded: None,
            step: self.step,
            values: Vec::new(),
            results: Vec::new(),
        })));
        id
    }

    /// Makes a boundary known: persists it, unless the run's durability leaves that to its end.
    pub(super) fn reach_boundary(&mut self, fx: &mut Vec<Effect>) {
        self.hooks.warned = self.warnings.len();
        if self.setup.durability == Durability::Exit && self.end.is_none() && !self.must_spill() {
            self.phase = Phase::Ready;
            return;
        }
        self.phase = match self.write_checkpoint(fx) {
            Ok(id) => Phase::Boundary(id),
            Err(error) => return self.unwritable(&error, fx),
        };
    }

    /// Under `durability: exit`: whether so much waits to be stored that this boundary is stored as if it were the end.
    fn must_spill(&self) -> bool {
        self.setup.identity.namespace.is_empty() && self.unstored() > SPILL
    }

    /// What would be stored with the next checkpoint, in logical bytes.
    pub(super) const fn unstored(&self) -> u64 {
        self.host.stored.saturating_sub(self.stored_so_far)
    }

    pub(super) fn unwritable(&mut self, error: &EncodeError, fx: &mut Vec<Effect>) {
        self.status = Status::Failed;
        self.error = Some(RunError {
            budget: None,
            category: None,
            code: ErrorCode::Storage,
            message: error.to_string(),
            node: None,
        });
        self.phase = Phase::Broken;
        fx.push(Effect::Suspend(Status::Failed));
    }

    /// Persists the newest boundary.
    pub(super) fn write_checkpoint(&mut self, fx: &mut Vec<Effect>) -> Result<PersistId, EncodeError> {
        let source = self.unwritten.take().unwrap_or(Source::Superstep);
        let checkpoint = self.checkpoint(source);
        let (result_digest, has_warnings) = (checkpoint.result, !checkpoint.warnings.is_empty());
        let record = Record::Checkpoint(Box::new(checkpoint));
        let (body, digest) = record.encode()?;
        self.stored_so_far = self.host.stored;
        self.last = Some(CheckpointRef { sequence: self.sequence, digest, result_digest });
        if has_warnings {
            self.warned = Some(CheckpointPlace { digest, sequence: self.sequence });
        }
        self.persists += 1;
        let id = PersistId(self.persists);
        let values = self.channels.take_unpersisted();
        let results = std::mem::take(&mut self.results).into_values().collect();
        let encoded = Some((body, digest));
        let persist = Persist { id, record, encoded, step: self.step, values, results };
        fx.push(Effect::Persist(Box::new(persist)));
        Ok(id)
    }

    /// What the next checkpoint holds of channels and nodes, and what it builds on: what has changed, or everything once
    /// the changes would take up as much.
    fn take_changes(&mut self) -> Changes {
        let (channels, gone) = self.channels.take_changed();
        let counted = self.tallies.take_changed(&self.graph);
        let state = self.channels.state_digest();
        let entries = (channels.len() + gone.len()) as u64 + counted.entries();
        let mut changes = Changes { channels, gone, counted, state, delta: None };
        let whole = self.channels.stamped().saturating_add(self.tallies.counting().saturating_mul(2));
        changes.delta = self.line.and_then(|line| {
            let entries = line.entries.saturating_add(entries);
            (entries <= whole.max(FEW_ENTRIES)).then_some(Delta { entries, ..line })
        });
        if changes.delta.is_none() {
            changes.channels = self.channels.stamps();
            changes.gone.clear();
            changes.counted = self.tallies.all(&self.graph);
        }
        self.line = Some(changes.delta.unwrap_or(Delta { entries: 0, whole: self.sequence }));
        changes
    }

    fn checkpoint(&mut self, source: Source) -> Checkpoint {
        let Changes { channels, gone, counted, state, delta } = self.take_changes();
        let graph = Arc::clone(&self.graph);
        let name = |node: NodeIndex| graph.node(node).name.clone();
        let barriers =
            self.barriers.iter().filter(|(_, arrived)| !arrived.is_empty()).map(|(barrier, arrived)| {
                let waits = self.graph.node(*barrier).wait_for.iter();
                (
                    name(*barrier),
                    waits.filter(|node| arrived.contains(node)).map(|node| name(*node)).collect(),
                )
            });
        let fired = std::mem::take(&mut self.fired_unwritten)
            .into_iter()
            .map(|((from, to, via), count)| FiredEdge { count, from: name(from), to: to.map(name), via });
        let telling = std::mem::take(&mut self.telling);
        let follows = match source {
            Source::Inputs => self.just_visited.iter().map(|node| name(*node)).collect(),
            _ => Vec::new(),
        };
        // Under `durability: exit` the run has gone on from the boundary before it is stored.
        let told = match self.setup.durability {
            Durability::Exit if self.end.is_none() => self.hooks.warned.max(self.warnings_written),
            _ => self.warnings.len(),
        };
        let mut checkpoint = Checkpoint {
            accepted: std::mem::take(&mut self.accepted),
            at: self.at,
            barriers: barriers.collect(),
            cached: counted.cached,
            channels,
            child_steps: self.child_steps,
            delta,
            deferred: self.deferred.iter().map(|step| step.record(&self.graph)).collect(),
            end: self.end.clone(),
            errors_continued: self.errors_continued,
            executions: counted.executions,
            fired: fired.collect(),
            follows,
            fuel: self.fuel,
            gone,
            graph: self.graph.digest,
            hooked: std::mem::take(&mut self.hooks.unwritten),
            hooks: self.hooks.planned.clone(),
            host: self.host,
            inputs: self.inputs_digest,
            max_steps: self.hooks.max_steps,
            micros: telling.micros,
            namespace: self.setup.identity.namespace.clone(),
            next: self.next.iter().map(|step| step.record(&self.graph)).collect(),
            parent: self.last.map(|last| last.digest),
            pins: self.setup.pins,
            released: self.released && source == Source::Inputs,
            result: crate::record::ResultDigest(Digest::from_bytes([0; 32])),
            run: self.setup.identity.record_run().to_owned(),
            seed: self.setup.seed,
            sequence: self.sequence,
            source,
            state: Some(state),
            step: self.step,
            tasks: std::mem::take(&mut self.tasks_unwritten),
            updates: telling.updates,
            version: format::CHECKPOINT,
            visited: self.visited.drain(..).map(name).collect(),
            visited_digest: self.visited_digest,
            visits: counted.visits,
            warned: self.warned.filter(|_| delta.is_none() || self.warnings_written < told),
            warnings: self.warnings[self.warnings_written..told].to_vec(),
        };
        self.warnings_written = told;
        checkpoint.result = checkpoint.result_after(self.result_hasher.clone().digest(&state));
        checkpoint
    }

    /// The checkpoint that a record is under: its digest and its number.
    pub(super) fn under(&self) -> (Digest, u64) {
        self.last.map_or((Digest::from_bytes([0; 32]), 0), |last| (last.digest, last.sequence))
    }

    /// Persists the status as it stands.
    pub(super) fn write_status(&mut self, now: Timestamp, fx: &mut Vec<Effect>) -> PersistId {
        let tasks = self.pending_use();
        let (checkpoint, sequence) = self.under();
        let record = Record::Status(StatusRecord {
            accepted: self.accepted.clone(),
            at: now,
            checkpoint,
            dispatch: self.dispatch,
            error: self.error.clone(),
            hooked: self.hooked_at_the_end(),
            hooks_fuel: self.hooks.counted,
            hooks_host: self.hooks.counted_host,
            hooks_passed: self.hooks.passed,
            interrupts: self.interrupts.clone(),
            max_steps: self.hooks.max_steps,
            namespace: self.setup.identity.namespace.clone(),
            released: self.released,
            resumes: self.hooks.resumes,
            run: self.setup.identity.record_run().to_owned(),
            sequence,
            status: self.status,
            tasks,
            warnings: self.warnings[self.warnings_written..].to_vec(),
        });
        self.persist(record, fx)
    }

    /// Where the tasks of the superstep under way stood when the run was last taken up, and what is told of them herewith.
    /// What has come about since then is told by records of its own.
    fn pending_use(&mut self) -> BTreeMap<String, TaskUse> {
        let mut tasks = BTreeMap::new();
        for (task, left) in &mut self.pending.0 {
            let Start { used, attempts, settled } = left.start;
            let events = if self.recovered { Vec::new() } else { std::mem::take(&mut left.events) };
            if self.recovered && left.start == Start::default() {
                continue;
            }
            // Where it has come to something, a task record has it.
            let journal = if left.outcome.is_none() { left.journal.clone() } else { Vec::new() };
            let node = self.graph.node(left.node).name.clone();
            let Used { asked, dispatches, fuel, host, micros, steps } = used;
            let used = TaskUse {
                asked,
                attempts,
                dispatches,
                events,
                fuel,
                host,
                journal,
                micros,
                node,
                settled,
                steps,
            };
            tasks.insert(String::from(&**task), used);
        }
        tasks
    }
}
