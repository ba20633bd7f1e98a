//! How a suspended run goes on, and how a walker is made from what was persisted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::Walker;
use super::channels::Channels;
use super::event::{Effect, Resume, TimerId};
use super::machine::{Phase, illegal};
use super::routes::Step;
use super::setup::{CheckpointRef, HandleError, RestoreError, Restored, Setup};
use super::superstep::Pending;
use super::tallies::{Counted, Tallies};
use crate::graph::{Graph, NodeIndex};
use crate::parameters::Parameters;
use crate::record::{
    AnswersRecord, Canonical, Checkpoint, Delta, ErrorCode, InterruptRecord, PendingActivation, Record,
    Source, Status, result_hasher,
};
use crate::time::Timestamp;

impl Walker {
    /// A walker for a run that was persisted. Its first event is [`Event::Resumed`](super::Event::Resumed).
    pub fn restore(graph: Arc<Graph>, mut setup: Setup, restored: Restored) -> Result<Self, RestoreError> {
        let Restored { mut checkpoint, digest, values, pending, answers, hooks, status, warnings, warned } =
            restored;
        if checkpoint.graph != graph.digest {
            return Err(RestoreError::OtherGraph { found: checkpoint.graph, expected: graph.digest });
        }
        if checkpoint.inputs != super::setup::inputs_digest(&setup.inputs) {
            return Err(RestoreError::OtherInputs);
        }
        let mut channels = Channels::restore(&graph, Arc::clone(&setup.inputs), &checkpoint.channels, values)
            .map_err(|reason| RestoreError::Channel { reason })?;
        let unknown = |node: &str| RestoreError::UnknownNode { node: node.to_owned() };
        let find = |node: &String| graph.find(node).ok_or_else(|| unknown(node));
        let steps = |list: &[PendingActivation]| {
            list.iter()
                .map(|step| Step::restore(&graph, step).ok_or_else(|| unknown(&step.node)))
                .collect::<Result<Vec<_>, _>>()
        };
        let nodes = |names: &[String]| names.iter().map(find).collect::<Result<Vec<NodeIndex>, _>>();
        let mut barriers = BTreeMap::new();
        for (barrier, arrived) in &checkpoint.barriers {
            barriers.insert(find(barrier)?, nodes(arrived)?.into_iter().collect::<BTreeSet<_>>());
        }
        let pending = Pending::from_records(&graph, pending, answers, status.as_ref())
            .map_err(|node| unknown(&node))?;
        let (next, deferred) = (steps(&checkpoint.next)?, steps(&checkpoint.deferred)?);
        let tallies = restore_tallies(&graph, &mut checkpoint, &mut channels)?;
        // A pause after a node belongs to the superstep that ran it, not to what an edit or a fork made of that.
        let just_visited = match checkpoint.source {
            Source::Update { .. } | Source::Fork { .. } => Vec::new(),
            Source::Inputs => nodes(&checkpoint.follows)?,
            Source::Input | Source::Superstep => nodes(&checkpoint.visited)?,
        };

        let accepted = std::mem::take(&mut setup.accepted);
        let mut walker = Self::with(graph, setup, channels);
        walker.sequence = checkpoint.sequence;
        walker.step = checkpoint.step;
        walker.at = checkpoint.at;
        walker.last =
            Some(CheckpointRef { sequence: checkpoint.sequence, digest, result_digest: checkpoint.result });
        (walker.next, walker.deferred, walker.barriers) = (next, deferred, barriers);
        walker.tallies = tallies;
        // What release 0.1.0 wrote has no digests to go on with: the next checkpoint is whole.
        let line = checkpoint.delta.unwrap_or(Delta { entries: 0, whole: checkpoint.sequence });
        walker.line = checkpoint.state.map(|_| line);
        walker.visited_digest = checkpoint.visited_digest;
        walker.just_visited = just_visited;
        walker.released = checkpoint.released;
        walker.fuel = checkpoint.fuel;
        walker.host = checkpoint.host;
        walker.stored_so_far = checkpoint.host.stored;
        walker.child_steps = checkpoint.child_steps;
        walker.warnings_written = warnings.len();
        (walker.warnings, walker.warned) = (warnings, warned);
        walker.errors_continued = checkpoint.errors_continued;
        walker.pending = pending;
        walker.phase = Phase::Suspended;
        let extended = status.as_ref().map_or(checkpoint.max_steps, |status| status.max_steps);
        walker.restore_hooks(checkpoint.hooks, hooks, extended, status.as_ref());
        walker.recovered = status.as_ref().is_none_or(|status| status.status == Status::Running);
        if let Some(end) = checkpoint.end {
            // An end that hooks follow is the end once they have had their say.
            let told = status.as_ref().map(|status| status.status);
            walker.status = told.unwrap_or(Status::Running);
            if walker.hooks.planned.is_empty() || walker.status.is_end() {
                walker.phase = Phase::Finished;
                walker.status = end.status;
            }
            walker.end = Some(end);
            if let Some(status) = status {
                walker.error = status.error;
                walker.dispatch = status.dispatch;
                walker.warnings.extend(status.warnings);
            }
            return Ok(walker);
        }
        if let Some(status) = status {
            walker.status = status.status;
            walker.error = status.error;
            // Answers may have been persisted after the status: what has its answer is no longer asked.
            let asked_by_tasks = |asked: &InterruptRecord| walker.pending.0.contains_key(&task_of(&asked.id));
            let mut interrupts = walker.pending.interrupts(&walker.graph);
            let is_open = |asked: &InterruptRecord| interrupts.iter().any(|open| open.id == asked.id);
            let is_answered = |asked: &InterruptRecord| asked_by_tasks(asked) && !is_open(asked);
            if walker.status == Status::Interrupted && status.interrupts.iter().any(is_answered) {
                // A resume has begun: what it has answered can go on without another answer.
                walker.status = Status::Running;
            }
            interrupts.extend(status.interrupts.into_iter().filter(|asked| !asked_by_tasks(asked)));
            walker.interrupts = interrupts;
            walker.released = status.released;
            walker.accepted = status.accepted;
            walker.dispatch = status.dispatch;
            walker.warnings.extend(status.warnings);
        }
        walker.accepted.extend(accepted);
        Ok(walker)
    }

    /// The inputs as they would be with `new` ones merged over them, shallowly.
    pub fn merged_inputs(&self, new: &Map<String, Value>) -> Value {
        let mut merged = self.setup.inputs.as_object().cloned().unwrap_or_default();
        merged.extend(new.clone());
        Value::Object(merged)
    }

    pub(super) fn resume(
        &mut self,
        now: Timestamp,
        resume: Resume,
        fx: &mut Vec<Effect>,
    ) -> Result<(), HandleError> {
        self.check_suspended()?;
        if self.cancel_requested {
            self.channels.forget_untracked();
            self.suspend(now, self.stopped_as(), None, fx);
            return Ok(());
        }
        let open = self.pending.interrupts(&self.graph);
        let Resume { answers, max_steps, inputs } = resume;
        if self.end.is_some() && inputs.is_some() {
            return Err(refused(
                ErrorCode::Finished,
                "the run has ended, only its hooks have not: it takes no new inputs".to_owned(),
            ));
        }
        if let Some(inputs) = &inputs {
            self.check_parameters(inputs)?;
        }
        let answered = if inputs.is_some() {
            BTreeMap::new()
        } else {
            let resolved = super::answers::resolve(&open, &self.interrupts, self.status, answers)?;
            resolved.into_iter().map(|(id, answer)| (task_of(&id), answer)).collect()
        };
        self.go_on(now, answered, max_steps, inputs, fx)
    }

    /// What a run may use is settled when it begins: new inputs say nothing else about that.
    fn check_parameters(&self, new: &Map<String, Value>) -> Result<(), HandleError> {
        let (before, merged) = (&self.setup.inputs, self.merged_inputs(new));
        let read = |inputs: &Value| {
            let parameters = Parameters::read(&self.graph, inputs.as_object().unwrap_or(&Map::new()));
            parameters.map(|parameters| (parameters.capabilities, parameters.depth))
        };
        if read(before) == read(&merged) {
            return Ok(());
        }
        Err(refused(
            ErrorCode::Denied,
            "`capabilities` and `depth` among the inputs say what the run may use, and that is settled when it begins: \
             give them as they were then, or not at all"
                .to_owned(),
        ))
    }

    /// Whether the run is where a resume can take it up.
    pub(super) fn check_suspended(&self) -> Result<(), HandleError> {
        match self.phase {
            Phase::Suspended => Ok(()),
            Phase::Finished => Err(refused(
                ErrorCode::Finished,
                format!("the run has ended with status {}; there is nothing to resume", self.status),
            )),
            Phase::New => Err(illegal("the run has not started")),
            Phase::Broken => Err(illegal("the run could not be stored; restore it from the store")),
            Phase::Boundary(_)
            | Phase::Ready
            | Phase::Making
            | Phase::Running
            | Phase::Committing
            | Phase::Planning
            | Phase::Hooks
            | Phase::Suspending(_) => Err(illegal("the run is under way")),
        }
    }

    /// Whether a resume may go on as far as its number of supersteps goes.
    pub(super) fn check_limit(&self, max_steps: Option<u64>) -> Result<(), HandleError> {
        let most = max_steps.unwrap_or(self.max_steps);
        if self.step >= most && (max_steps.is_some() || self.status == Status::Limit) {
            return Err(refused(
                ErrorCode::Limit,
                format!("{} supersteps have run: `max_steps` must be larger than that to go on", self.step),
            ));
        }
        Ok(())
    }

    /// Of a child run: records what a resume has brought for it, answers by task or the word that its pause is over. It
    /// goes on with that once its task does.
    pub(super) fn take_given(
        &mut self,
        now: Timestamp,
        answered: BTreeMap<Arc<str>, Value>,
        fx: &mut Vec<Effect>,
    ) {
        if answered.is_empty() {
            self.released = true;
            self.interrupts.clear();
            self.write_status(now, fx);
        }
        self.interrupts.retain(|asked| !answered.contains_key(&task_of(&asked.id)));
        // Its task may fail before it goes on, and it has no other occasion to record this.
        self.take_answers(now, answered, fx);
    }

    fn take_answers(&mut self, now: Timestamp, answered: BTreeMap<Arc<str>, Value>, fx: &mut Vec<Effect>) {
        for (task, answer) in answered {
            if let Some(left) = self.pending.0.get_mut(&task) {
                left.answers.push(answer);
            }
            self.write_answers(now, &task, fx);
        }
    }

    /// Whether it waits at a pause that somebody has let it pass.
    pub(super) fn is_let_go(&self) -> bool {
        self.status == Status::Interrupted
            && self.released
            && self.interrupts.is_empty()
            && self.pending.suspended().next().is_none()
            && self.pending.interrupts(&self.graph).is_empty()
    }

    /// Goes on with these answers, by task. What is refused changes nothing.
    pub(super) fn go_on(
        &mut self,
        now: Timestamp,
        answered: BTreeMap<Arc<str>, Value>,
        max_steps: Option<u64>,
        inputs: Option<Map<String, Value>>,
        fx: &mut Vec<Effect>,
    ) -> Result<(), HandleError> {
        self.check_limit(max_steps)?;
        self.event_time = now;
        if let Some(most) = max_steps {
            self.max_steps = most;
            self.setup.max_steps = max_steps;
            self.hooks.max_steps = None;
        }
        // Where a hook has had the run fail instead of pausing, a resume passes the pause.
        let paused = self.status == Status::Failed && !self.interrupts.is_empty();
        let asked =
            (self.status == Status::Interrupted || paused) && self.pending.interrupts(&self.graph).is_empty();
        if matches!(self.status, Status::Failed | Status::Limit) {
            self.hooks.resumes += 1;
        }
        self.released = self.released || asked;
        self.status = Status::Running;
        self.error = None;
        self.interrupts.clear();
        self.channels.forget_untracked();
        self.timed_out = false;
        fx.push(Effect::SetTimer { timer: TimerId::RunTimeout, at: now.after(self.run_timeout()) });
        if let Some(inputs) = inputs {
            self.take_inputs(now, &inputs, fx);
            return Ok(());
        }
        self.take_answers(now, answered, fx);
        if !self.recovered {
            self.begin_counting();
        }
        self.write_status(now, fx);
        self.phase = Phase::Ready;
        Ok(())
    }

    /// New inputs make a boundary of their own; what the superstep under way had come to is discarded.
    fn take_inputs(&mut self, now: Timestamp, inputs: &Map<String, Value>, fx: &mut Vec<Effect>) {
        let merged = Arc::new(self.merged_inputs(inputs));
        self.inputs_digest = super::setup::inputs_digest(&merged);
        self.result_hasher = result_hasher(&self.graph.digest, &self.inputs_digest);
        self.channels.set_inputs(Arc::clone(&merged));
        self.setup.inputs = merged;
        self.discard_pending();
        self.begin_boundary_of_hooks();
        self.sequence += 1;
        self.at = now;
        self.unwritten = Some(Source::Inputs);
        self.reach_boundary(fx);
    }

    /// The run stops, or is taken up: what tasks are set aside from here on follows from what is used up by now.
    pub(super) fn begin_counting(&mut self) {
        self.pending.begin();
        (self.hooks.counted, self.hooks.counted_host) = (self.hooks.fuel, self.hooks.host);
    }

    /// Drops what the superstep under way had come to; what it used stays counted.
    pub(super) fn discard_pending(&mut self) {
        let left = std::mem::take(&mut self.pending);
        self.count_used(left);
    }

    fn write_answers(&mut self, now: Timestamp, task: &Arc<str>, fx: &mut Vec<Effect>) {
        let (Some(left), Some(last)) = (self.pending.0.get(task), &self.last) else { return };
        if left.answers.is_empty() {
            return;
        }
        let record = Record::Answers(AnswersRecord {
            answers: left.answers.iter().cloned().map(Canonical::from).collect(),
            at: now,
            checkpoint: last.digest,
            namespace: self.setup.identity.namespace.clone(),
            node: self.graph.node(left.node).name.clone(),
            run: self.setup.identity.record_run().to_owned(),
            sequence: last.sequence,
            task: task.to_string(),
        });
        self.persist(record, fx);
    }
}

/// The task in an interrupt's id, `task/n`.
pub(super) fn task_of(interrupt: &str) -> Arc<str> {
    interrupt.rsplit_once('/').map_or(interrupt, |(task, _)| task).into()
}

pub(super) fn refused(code: ErrorCode, message: String) -> HandleError {
    HandleError::Refused { code, message }
}

/// What is counted of the nodes at a checkpoint, of which the maps are moved out. The channels have to be those
/// that its digest is of.
fn restore_tallies(
    graph: &Graph,
    checkpoint: &mut Checkpoint,
    channels: &mut Channels,
) -> Result<Tallies, RestoreError> {
    let counted = Counted {
        cached: std::mem::take(&mut checkpoint.cached),
        executions: std::mem::take(&mut checkpoint.executions),
        visits: std::mem::take(&mut checkpoint.visits),
    };
    let tallies = Tallies::restore(graph, counted).map_err(|node| RestoreError::UnknownNode { node })?;
    match checkpoint.state {
        Some(state) if state != channels.state_digest() => {
            Err(RestoreError::State { sequence: checkpoint.sequence })
        }
        _ => Ok(tallies),
    }
}
