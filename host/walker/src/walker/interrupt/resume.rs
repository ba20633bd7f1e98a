//! Resumes suspended runs, and restores walkers from stored records.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::graph::{Graph, NodeIndex, NodeKind};
use crate::parameters::Parameters;
use crate::walker::Walker;
use crate::walker::budget::node_counts::{CheckpointCounts, NodeCounts};
use crate::walker::budget::run_usage::RunUsage;
use crate::walker::event::{Effect, Resume, TimerId};
use crate::walker::interrupt::match_answers::{AnsweredQuestion, OpenQuestions, QuestionPath};
use crate::walker::interrupt::task_answers::{RecordedAnswers, TaskAnswer, TaskAnswers};
use crate::walker::machine::illegal;
use crate::walker::phase::{Cause, Phase, PhaseName, RunPhase};
use crate::walker::records::position::HistoryPosition;
use crate::walker::records::unwritten_changes::VisitedNodes;
use crate::walker::records::warnings::Warnings;
use crate::walker::setup::{HandleError, RestoreError, Restored, Setup};
use crate::walker::state::channels::Channels;
use crate::walker::stop::stop_state::StopState;
use crate::walker::tasks::agenda::{Agenda, AgendaStep};
use crate::walker::tasks::pending_tasks::{PendingTask, PendingTasks};
use crate::walker::tasks::task::Task;
use graph_core::record::{
    AnswersRecord, Checkpoint, ErrorCode, GivenRecord, InterruptRecord, PendingActivation, Record, Source,
    Status, result_hasher,
};
use graph_core::time::Timestamp;

/// Answers by task.
pub(in crate::walker) type AnswersByTask = BTreeMap<Arc<str>, TaskAnswer>;

impl Walker {
    /// Restores the walker of a stored run. Its first event is [`Event::Resumed`](crate::walker::Event::Resumed).
    pub fn restore(graph: Arc<Graph>, mut setup: Setup, restored: Restored) -> Result<Self, RestoreError> {
        let Restored { mut checkpoint, digest, values, pending, answers, hooks, status, warnings, warned } =
            restored;
        if checkpoint.graph != graph.digest {
            return Err(RestoreError::OtherGraph { found: checkpoint.graph, expected: graph.digest });
        }
        if checkpoint.inputs != crate::walker::setup::inputs_digest(&setup.inputs) {
            return Err(RestoreError::OtherInputs);
        }
        let mut channels = Channels::restore(
            &graph,
            Arc::clone(&setup.inputs),
            &checkpoint.channels,
            values,
            setup.manifest.run_limits().state,
        )
        .map_err(|reason| RestoreError::Channel { reason })?;
        let unknown = |node: &str| RestoreError::UnknownNode { node: node.to_owned() };
        let find = |node: &String| graph.find(node).ok_or_else(|| unknown(node));
        let steps = |list: &[PendingActivation]| {
            list.iter()
                .map(|step| AgendaStep::restore(&graph, step).ok_or_else(|| unknown(&step.node)))
                .collect::<Result<Vec<_>, _>>()
        };
        let nodes = |names: &[String]| names.iter().map(find).collect::<Result<Vec<NodeIndex>, _>>();
        let mut barriers = BTreeMap::new();
        for (barrier, arrived) in &checkpoint.barriers {
            barriers.insert(find(barrier)?, nodes(arrived)?.into_iter().collect::<BTreeSet<_>>());
        }
        let mut pending = PendingTasks::from_records(&graph, pending, answers, status.as_ref())
            .map_err(|node| unknown(&node))?;
        if let Source::Update { answers, .. } = &checkpoint.source {
            for (task, record) in answers {
                let log = answers_of_update(record);
                pending.give(&graph, task, &record.node, log).map_err(|node| unknown(&node))?;
            }
        }
        let (next, deferred) = (steps(&checkpoint.next)?, steps(&checkpoint.deferred)?);
        let node_counts = restore_node_counts(&graph, &mut checkpoint, &mut channels)?;
        // A static interrupt after a node belongs to the superstep that ran the node, not to an edit or a fork of its boundary.
        let just_visited = match checkpoint.source {
            Source::Update { .. } | Source::Fork { .. } => Vec::new(),
            Source::Inputs => nodes(&checkpoint.follows)?,
            Source::Input | Source::Superstep => nodes(&checkpoint.visited)?,
        };

        let accepted = std::mem::take(&mut setup.accepted);
        let mut walker = Self::with(graph, setup, channels);
        walker.position = HistoryPosition::restore(&checkpoint, digest);
        walker.agenda = Agenda::restore(next, deferred, barriers);
        walker.usage = RunUsage::restore(&checkpoint, node_counts);
        walker.visited = VisitedNodes::new(checkpoint.visited_digest, just_visited);
        walker.warnings = Warnings::restore(warnings, warned);
        walker.pending = pending;
        let recovered = status.as_ref().is_none_or(|status| status.status == Status::Running);
        walker.stop = StopState::restore(checkpoint.released, checkpoint.errors_continued, recovered);
        walker.phase = RunPhase::restored(false);
        let extended = status.as_ref().map_or(checkpoint.max_steps, |status| status.max_steps);
        walker.restore_hooks(checkpoint.hooks, hooks, extended, status.as_ref());
        walker.limits.restore_turn(checkpoint.turn_steps);
        if let Some(end) = checkpoint.end {
            let recorded_status = status.as_ref().map(|status| status.status);
            let has_hooks = !walker.hooks.planned().is_empty();
            let is_finished = walker.stop.restore_end(end, recorded_status, has_hooks);
            walker.phase = RunPhase::restored(is_finished);
            if let Some(status) = status {
                walker.unwritten.accept(status.accepted);
                walker.stop.restore_error(status.error);
                walker.limits.restore_dispatch(status.dispatch);
                walker.warnings.extend(status.warnings);
            }
            // Another turn is pinned to what was accepted for it.
            walker.unwritten.accept(accepted);
            return Ok(walker);
        }
        if let Some(status) = status {
            // Answers may have been stored after the status: a question with an answer is no longer open.
            let asked_by_tasks = |asked: &InterruptRecord| walker.pending.get(&task_of(&asked.id)).is_some();
            let mut interrupts = walker.pending.interrupts(&walker.graph);
            let is_open = |asked: &InterruptRecord| interrupts.iter().any(|open| open.id == asked.id);
            let is_answered = |asked: &InterruptRecord| asked_by_tasks(asked) && !is_open(asked);
            // If a resume was recorded, the tasks that it has answered can continue without another answer.
            let resumed = status.status.is_paused() && status.interrupts.iter().any(is_answered);
            interrupts.extend(status.interrupts.into_iter().filter(|asked| !asked_by_tasks(asked)));
            walker.stop.restore_stop(status.status, status.error, interrupts, status.released);
            if resumed {
                walker.stop.restore_resumed();
            }
            walker.unwritten.accept(status.accepted);
            walker.limits.restore_dispatch(status.dispatch);
            walker.warnings.extend(status.warnings);
        }
        walker.unwritten.accept(accepted);
        Ok(walker)
    }

    /// Returns the inputs with `new` ones merged over them, shallowly.
    pub fn merged_inputs(&self, new: &Map<String, Value>) -> Value {
        let mut merged = self.setup.inputs.as_object().cloned().unwrap_or_default();
        merged.extend(new.clone());
        Value::Object(merged)
    }

    /// Resumes a suspended run: with answers, with new inputs, or with an edit of its state. A run that has ended starts another turn
    /// with new inputs. A refusal changes nothing.
    pub(in crate::walker) fn resume(
        &mut self,
        now: Timestamp,
        resume: Resume,
        fx: &mut Vec<Effect>,
    ) -> Result<(), HandleError> {
        self.check_changed_reducers(resume.update.as_ref())?;
        if let (PhaseName::Finished, Some(inputs)) = (self.phase.name(), &resume.inputs) {
            return self.begin_turn(now, inputs, resume.max_steps, fx);
        }
        self.check_suspended()?;
        if self.stop.is_cancel_requested() {
            self.channels.forget_untracked();
            self.suspend(now, self.stop.stopped_as(), None, fx);
            return Ok(());
        }
        let open = self.pending.interrupts(&self.graph);
        let Resume { answers, max_steps, inputs, update } = resume;
        if self.stop.has_ended() && inputs.is_some() {
            return Err(refused(
                ErrorCode::Finished,
                "the run has ended, only its hooks have not: resume it without inputs first, then start a new turn"
                    .to_owned(),
            ));
        }
        if let Some(inputs) = &inputs {
            self.check_parameters(inputs)?;
        }
        let answered = if inputs.is_some() {
            AnswersByTask::new()
        } else {
            let questions = OpenQuestions {
                open: &open,
                static_interrupts: self.stop.interrupts(),
                answered: self.answered_questions(),
                paths: open
                    .iter()
                    .map(|asked| (asked.id.clone(), self.question_path(&task_of(&asked.id))))
                    .collect(),
                asked_again: open
                    .iter()
                    .filter(|asked| self.asks_again(&task_of(&asked.id)))
                    .map(|asked| asked.id.clone())
                    .collect(),
                status: self.stop.status(),
            };
            let resolved = crate::walker::interrupt::match_answers::match_answers(&questions, answers, now)?;
            resolved
                .into_iter()
                .map(|(id, answer)| (task_of(&id), answer.into_task_answer(&id, now)))
                .collect()
        };
        match update {
            Some(values) => self.continue_edited(now, answered, max_steps, values, fx),
            None => self.continue_run(now, answered, max_steps, inputs, fx),
        }
    }

    /// Checks that new inputs leave `capabilities` and `depth` unchanged, which are fixed when the run starts.
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
            "`capabilities` and `depth` among the inputs say what the run may use, which is fixed when it starts: \
             give them as they were then, or not at all"
                .to_owned(),
        ))
    }

    /// Checks that the run is in a state in which it can be resumed.
    pub(in crate::walker) fn check_suspended(&self) -> Result<(), HandleError> {
        match self.phase.name() {
            PhaseName::Suspended => Ok(()),
            PhaseName::Finished => Err(refused(
                ErrorCode::Finished,
                format!(
                    "the run has ended with status {}; there is nothing to resume, but new inputs start another turn",
                    self.stop.status()
                ),
            )),
            PhaseName::New => Err(illegal("the run has not started")),
            PhaseName::Broken => Err(illegal("the run could not be stored; restore it from the store")),
            PhaseName::Boundary
            | PhaseName::Ready
            | PhaseName::Making
            | PhaseName::Running
            | PhaseName::Committing
            | PhaseName::Planning
            | PhaseName::Hooks
            | PhaseName::Suspending => Err(illegal("the run is under way")),
        }
    }

    /// Checks that a resumed run can continue within its limit of supersteps.
    pub(in crate::walker) fn check_limit(&self, max_steps: Option<u64>) -> Result<(), HandleError> {
        let most = max_steps.unwrap_or(self.limits.max_steps());
        if self.position.step() >= most && (max_steps.is_some() || self.stop.status() == Status::Limit) {
            return Err(refused(
                ErrorCode::Limit,
                format!(
                    "{} supersteps have run: `max_steps` must be larger than that to continue",
                    self.position.step()
                ),
            ));
        }
        Ok(())
    }

    /// Records the answers by task that a resume has brought for this child run, or the release of its pause if there
    /// are none. The child run continues when its task does.
    pub(in crate::walker) fn take_answers_of_parent(
        &mut self,
        now: Timestamp,
        answered: AnswersByTask,
        fx: &mut Vec<Effect>,
    ) {
        if answered.is_empty() {
            self.stop.release();
            self.write_status(now, fx);
        }
        self.stop.forget_answered(|asked| answered.contains_key(&task_of(&asked.id)));
        // The parent's task may fail before this run continues, so the answers must be recorded here.
        self.take_answers(now, answered, fx);
    }

    /// Gives each task its answer, and records it.
    fn take_answers(&mut self, now: Timestamp, answered: AnswersByTask, fx: &mut Vec<Effect>) {
        for (task, answer) in answered {
            self.pending.answer(&task, answer);
            self.write_answers(now, &task, fx);
        }
    }

    /// Returns `true` if the run waits at a pause that a resume has released.
    pub(in crate::walker) fn waits_at_released_pause(&self) -> bool {
        self.stop.status().is_paused()
            && self.stop.is_released()
            && self.stop.interrupts().is_empty()
            && self.pending.suspended().next().is_none()
            && self.pending.interrupts(&self.graph).is_empty()
    }

    /// Continues the superstep with answers by task. A refusal changes nothing.
    pub(in crate::walker) fn continue_run(
        &mut self,
        now: Timestamp,
        answered: AnswersByTask,
        max_steps: Option<u64>,
        inputs: Option<Map<String, Value>>,
        fx: &mut Vec<Effect>,
    ) -> Result<(), HandleError> {
        let Some(inputs) = inputs else {
            return self.continue_at(Phase::Ready, now, answered, max_steps, fx);
        };
        self.begin_to_continue(now, max_steps, fx)?;
        self.take_inputs(now, &inputs, fx);
        Ok(())
    }

    /// Continues the superstep with answers by task, in `phase`.
    fn continue_at(
        &mut self,
        phase: Phase,
        now: Timestamp,
        answered: AnswersByTask,
        max_steps: Option<u64>,
        fx: &mut Vec<Effect>,
    ) -> Result<(), HandleError> {
        self.begin_to_continue(now, max_steps, fx)?;
        self.take_answers(now, answered, fx);
        self.ask_changed_again(now);
        if !self.stop.is_recovered() {
            self.begin_counting();
        }
        self.write_status(now, fx);
        self.phase.enter(Cause::Resume, phase);
        Ok(())
    }

    /// Clears the reasons of the stop, and raises the limit of supersteps.
    fn begin_to_continue(
        &mut self,
        now: Timestamp,
        max_steps: Option<u64>,
        fx: &mut Vec<Effect>,
    ) -> Result<(), HandleError> {
        self.check_limit(max_steps)?;
        self.event_time = now;
        if let Some(most) = max_steps {
            self.limits.set_max_steps(most);
            self.setup.max_steps = max_steps;
            self.hooks.forget_extension();
        }
        // If a hook has made the run fail instead of pausing, a resume releases the pause.
        let paused = self.stop.status() == Status::Failed && !self.stop.interrupts().is_empty();
        let asked =
            (self.stop.status().is_paused() || paused) && self.pending.interrupts(&self.graph).is_empty();
        if matches!(self.stop.status(), Status::Failed | Status::Limit) {
            self.hooks.count_resume();
        }
        self.stop.resume(asked);
        self.channels.forget_untracked();
        fx.push(Effect::SetTimer { timer: TimerId::RunTimeout, at: now.after(self.run_timeout()) });
        Ok(())
    }

    /// Continues from an edit of the state, with answers by task: the superstep starts again with the edited state, and
    /// its tasks have their answers from the start. A refusal changes nothing.
    fn continue_edited(
        &mut self,
        now: Timestamp,
        answered: AnswersByTask,
        max_steps: Option<u64>,
        values: Map<String, Value>,
        fx: &mut Vec<Effect>,
    ) -> Result<(), HandleError> {
        if self.stop.has_ended() {
            return Err(refused(
                ErrorCode::Finished,
                "the run has ended: edit it, or start a new turn with inputs".to_owned(),
            ));
        }
        if let Some(task) = answered.keys().find(|task| self.pending.asks_for_budget(task)) {
            return Err(refused(
                ErrorCode::AnswerNeeded,
                format!(
                    "what is added to a budget cannot be given together with an edit of the state, which starts task `{task}` \
                     again: resume with the answer first, or edit the state without one, which drops the question"
                ),
            ));
        }
        self.check_limit(max_steps)?;
        let mut answers_by_task = BTreeMap::new();
        for (task, answer) in answered {
            let Some(left) = self.pending.get(&task) else { continue };
            let node = self.graph.node(left.node()).name.clone();
            let mut answers = left.answers().clone();
            answers.give(answer, left.shown_form());
            let counting = answers.of_those_that_count();
            let record = GivenRecord {
                answers: counting.values(),
                arrived: counting.arrived().clone(),
                expired: counting.expired().clone(),
                forms: counting.forms().clone(),
                node,
            };
            answers_by_task.insert(task.to_string(), record);
        }
        self.edit_and_continue(now, values, answers_by_task)?;
        match self.write_checkpoint(fx) {
            Ok(stored) => {
                let none = AnswersByTask::new();
                return self.continue_at(Phase::Boundary(stored), now, none, max_steps, fx);
            }
            Err(error) => self.unwritable(&error, fx),
        }
        Ok(())
    }

    /// Returns the questions of the uncommitted superstep that have an answer.
    pub(in crate::walker) fn answered_questions(&self) -> Vec<AnsweredQuestion> {
        let mut found = Vec::new();
        for (task, node, log) in self.pending.answered() {
            let node = self.graph.node(node);
            let is_ask = matches!(node.kind, NodeKind::Ask { .. });
            found.extend(log.details().map(|(number, answer, at, expired)| AnsweredQuestion {
                id: format!("{task}/{number}"),
                node: node.name.clone(),
                answer: answer.clone(),
                at,
                expired,
                // The answer of an `ask` node is its result.
                is_final: is_ask || self.is_pending_settled(task),
                is_ask,
                form: log.forms().get(&number).copied(),
            }));
        }
        found
    }

    /// Returns the path to a task in its own run.
    pub(in crate::walker) fn question_path(&self, task: &str) -> QuestionPath {
        let place = self.pending.place(task);
        QuestionPath(
            place.into_iter().map(|(node, number)| (self.graph.node(node).name.clone(), number)).collect(),
        )
    }

    /// Returns `true` if changes have been accepted and the task is that of an `ask` node, whose form may have changed:
    /// its open question is asked again.
    pub(in crate::walker) fn asks_again(&self, task: &str) -> bool {
        let is_ask = |left: &PendingTask| matches!(self.graph.node(left.node()).kind, NodeKind::Ask { .. });
        !self.unwritten.accepted().is_empty() && self.pending.get(task).is_some_and(is_ask)
    }

    /// Asks questions again if changes have been accepted: open ones that may have changed, and those whose answer was
    /// given to another form than they have now.
    pub(in crate::walker) fn ask_changed_again(&mut self, now: Timestamp) {
        if self.unwritten.accepted().is_empty() {
            return;
        }
        for task in self.answers_to_other_forms(now) {
            self.pending.ask_answered_again(&task);
        }
        for asked in self.pending.interrupts(&self.graph) {
            let task = task_of(&asked.id);
            if self.asks_again(&task) {
                self.pending.ask_again(&task);
            }
        }
    }

    /// Returns the tasks whose answer was given to another form than their question has now.
    fn answers_to_other_forms(&mut self, now: Timestamp) -> Vec<Arc<str>> {
        if !self.pending.tasks().any(PendingTask::has_answer_to_form) {
            return Vec::new();
        }
        let Some(superstep) = self.preview() else { return Vec::new() };
        let is_other = |task: &&Task| {
            let known = self.pending.get(task.id());
            let form = task.answers().newest_form();
            let Some(form) = form.filter(|_| known.is_some_and(PendingTask::has_answer_to_form)) else {
                return false;
            };
            let active = &superstep.activated()[task.activated()];
            self.is_ask(active) && self.form_now(now, active) != Some(form)
        };
        superstep.tasks().iter().filter(is_other).map(|task| Arc::clone(task.id())).collect()
    }

    /// Returns the tasks of the uncommitted superstep that have answers: each task, the number of its answers, and the
    /// numbers of the dropped ones.
    pub(in crate::walker) fn given_answers(&self) -> impl Iterator<Item = (&str, u32, Vec<u32>)> {
        self.pending.answered().map(|(task, _, log)| (&**task, log.len(), log.dropped()))
    }

    /// Sets new inputs, which make a boundary of their own; results of the unfinished superstep are discarded.
    fn take_inputs(&mut self, now: Timestamp, inputs: &Map<String, Value>, fx: &mut Vec<Effect>) {
        self.set_inputs(Arc::new(self.merged_inputs(inputs)));
        self.discard_pending();
        self.begin_boundary_of_hooks();
        self.position.make_boundary(now, Source::Inputs);
        self.store_boundary(fx);
    }

    /// Replaces the inputs, with everything that is derived from them.
    fn set_inputs(&mut self, inputs: Arc<Value>) {
        self.inputs_digest = crate::walker::setup::inputs_digest(&inputs);
        self.result_hasher = result_hasher(&self.graph.digest, &self.inputs_digest);
        self.channels.set_inputs(Arc::clone(&inputs));
        self.setup.inputs = inputs;
        self.pass_on();
    }

    /// Starts another turn of a run that has ended, with new inputs: at `start`, with its present channels and the
    /// original number of supersteps. A refusal changes nothing.
    fn begin_turn(
        &mut self,
        now: Timestamp,
        inputs: &Map<String, Value>,
        max_steps: Option<u64>,
        fx: &mut Vec<Effect>,
    ) -> Result<(), HandleError> {
        self.check_parameters(inputs)?;
        let before = (Arc::clone(&self.setup.inputs), std::mem::take(&mut self.agenda));
        self.set_inputs(Arc::new(self.merged_inputs(inputs)));
        let undo = self.channels.begin_turn(self.position.sequence() + 1);
        let meter = self.meter(0);
        let begun = self.begin(&meter);
        self.count_work(&meter);
        if let Err(error) = begun {
            self.channels.undo(undo);
            self.set_inputs(before.0);
            self.agenda = before.1;
            return Err(refused(error.code, error.message));
        }
        self.event_time = now;
        if max_steps.is_some() {
            self.setup.max_steps = max_steps;
        }
        let most = self.setup.max_steps.unwrap_or(self.graph.max_steps);
        self.limits.begin_turn(self.position.step(), self.usage.child_steps(), most);
        self.hooks.extend_to(self.limits.max_steps());
        self.channels.merge_versions(self.position.sequence() + 1);
        self.stop.begin_turn();
        self.visited.forget_newest();
        self.begin_boundary_of_hooks();
        self.position.make_boundary(now, Source::Inputs);
        fx.push(Effect::SetTimer { timer: TimerId::RunTimeout, at: now.after(self.run_timeout()) });
        self.plan_start();
        self.store_boundary(fx);
        Ok(())
    }

    /// Makes the use so far the base of reservations for tasks, since the run stops or is resumed.
    pub(in crate::walker) fn begin_counting(&mut self) {
        self.pending.begin();
        self.hooks.count_all();
    }

    /// Drops the results of the unfinished superstep; its use stays counted.
    pub(in crate::walker) fn discard_pending(&mut self) {
        let left = std::mem::take(&mut self.pending);
        self.count_used(left);
    }

    /// Records the answers that a task has in this superstep.
    fn write_answers(&mut self, now: Timestamp, task: &Arc<str>, fx: &mut Vec<Effect>) {
        let (Some(left), Some(last)) = (self.pending.get(task), self.position.last()) else { return };
        if left.answers().is_empty() {
            return;
        }
        let reserved = left.reserved().cloned();
        let record = Record::Answers(AnswersRecord {
            answers: left.answers().values(),
            arrived: left.answers().arrived().clone(),
            at: now,
            checkpoint: last.digest,
            dropped: left.answers().dropped(),
            expired: left.answers().expired().clone(),
            forms: left.answers().forms().clone(),
            granted: left.answers().granted(),
            namespace: self.setup.identity.namespace.clone(),
            node: self.graph.node(left.node()).name.clone(),
            reserved,
            run: self.setup.identity.record_run().to_owned(),
            sequence: last.sequence,
            task: task.to_string(),
        });
        self.persist(record, fx);
    }
}

/// Restores the answers that a task has from the start of its superstep.
pub(in crate::walker) fn answers_of_update(record: &GivenRecord) -> TaskAnswers {
    let GivenRecord { answers, arrived, expired, forms, .. } = record;
    let (arrived, expired, forms) = (Some(arrived), Some(expired), Some(forms));
    TaskAnswers::of_records(&RecordedAnswers {
        answers,
        expired,
        arrived,
        forms,
        ..RecordedAnswers::default()
    })
}

/// Returns the task in an interrupt's id, `task/n`.
pub(in crate::walker) fn task_of(interrupt: &str) -> Arc<str> {
    interrupt.rsplit_once('/').map_or(interrupt, |(task, _)| task).into()
}

/// Returns the number of the question in an interrupt's id: the number of answers that its task had been given before.
pub(in crate::walker) fn number_of(interrupt: &str) -> u32 {
    interrupt.rsplit_once('/').and_then(|(_, number)| number.parse().ok()).unwrap_or_default()
}

pub(in crate::walker) fn refused(code: ErrorCode, message: String) -> HandleError {
    HandleError::Refused { code, message }
}

/// Restores the counts of nodes from a checkpoint, whose maps are moved out, and checks the channels against its digest.
fn restore_node_counts(
    graph: &Graph,
    checkpoint: &mut Checkpoint,
    channels: &mut Channels,
) -> Result<NodeCounts, RestoreError> {
    let counted = CheckpointCounts {
        cached: std::mem::take(&mut checkpoint.cached),
        executions: std::mem::take(&mut checkpoint.executions),
        failed: std::mem::take(&mut checkpoint.failed),
        visits: std::mem::take(&mut checkpoint.visits),
    };
    let node_counts =
        NodeCounts::restore(graph, counted).map_err(|node| RestoreError::UnknownNode { node })?;
    match checkpoint.state {
        Some(state) if state != channels.state_digest() => {
            Err(RestoreError::State { sequence: checkpoint.sequence })
        }
        _ => Ok(node_counts),
    }
}
