//! Pending tasks: the recorded progress of an uncommitted superstep's tasks, which a run leaves when it stops and resumes from.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::graph::{Graph, NodeIndex};
use crate::walker::budget::task_usage::{TaskStart, TaskUsage, add_lost};
use crate::walker::interrupt::task_answers::{RecordedAnswers, TaskAnswer, TaskAnswers};
use crate::walker::tasks::superstep::ordinal;
use crate::walker::tasks::task::outcome_size;
use graph_core::digest::Digest;
use graph_core::limits::{HostUse, ModelUse};
use graph_core::question::form_digest;
use graph_core::record::{
    AnswersRecord, AttemptJournal, InterruptRecord, ModelReservation, PendingOutcome, StatusRecord,
    TaskCache, TaskEvent, TaskRecord, TaskUse,
};
use graph_core::work::size;

/// The pending tasks of a superstep that has not committed, by task id.
#[derive(Clone, Debug, Default)]
pub(in crate::walker) struct PendingTasks(BTreeMap<Arc<str>, PendingTask>);

/// The recorded state of a pending task.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::walker) struct PendingTask {
    known: TaskProgress,
    outcome: Option<PendingOutcome>,
    /// `true` if the task's child run can continue.
    woken: bool,
    /// `true` if the task's question is asked again when the task continues.
    asks_again: bool,
}

/// Progress of a task, apart from its outcome.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::walker) struct TaskProgress {
    /// The index of the task's node.
    pub node: NodeIndex,
    /// The attempt, from 1; 0 before the first.
    pub attempt: u32,
    /// Number of attempts that a hook has asked for.
    pub retried: u32,
    /// `true` if a hook had the task's failure passed over.
    pub continued: bool,
    /// Use of the task so far.
    pub used: TaskUsage,
    /// State of the task when the run was last started or resumed.
    pub start: TaskStart,
    /// Answers to the task's questions.
    pub answers: TaskAnswers,
    /// Warnings of the task's attempts.
    pub warnings: Vec<String>,
    /// Events of the task that are in no record of the history yet.
    pub events: Vec<TaskEvent>,
    /// Journals of the task's attempts.
    pub journal: Vec<AttemptJournal>,
    /// State of the task with respect to the cache of results.
    pub cache: Option<TaskCache>,
    /// Stored reservation of the newest attempt for language models.
    pub reserved: Option<ModelReservation>,
    /// The lost part of `used`, by the model that was asked last, as far as its name is known.
    pub lost_models: BTreeMap<String, ModelUse>,
}

impl PendingTask {
    /// Creates a pending task from its progress and its outcome.
    pub(in crate::walker) const fn new(known: TaskProgress, outcome: Option<PendingOutcome>) -> Self {
        Self { known, outcome, woken: false, asks_again: false }
    }

    /// The index of the task's node.
    pub(in crate::walker) const fn node(&self) -> NodeIndex {
        self.known.node
    }

    /// Use of the task so far.
    pub(in crate::walker) const fn used(&self) -> &TaskUsage {
        &self.known.used
    }

    /// Answers to the task's questions.
    pub(in crate::walker) const fn answers(&self) -> &TaskAnswers {
        &self.known.answers
    }

    /// Stored reservation of the newest attempt for language models.
    pub(in crate::walker) const fn reserved(&self) -> Option<&ModelReservation> {
        self.known.reserved.as_ref()
    }

    /// Returns the progress, the outcome, and `true` if the task's child run can continue.
    pub(in crate::walker) fn into_parts(self) -> (TaskProgress, Option<PendingOutcome>, bool) {
        (self.known, self.outcome, self.woken)
    }

    /// Returns `true` if a result or a handled failure has settled the task.
    pub(in crate::walker) const fn is_settled(&self) -> bool {
        matches!(self.outcome, Some(PendingOutcome::Done { .. } | PendingOutcome::Handled { .. }))
    }

    /// Returns `true` if the task's open question is the host's own, about a budget of language models.
    fn asks_for_budget(&self) -> bool {
        matches!(
            &self.outcome,
            Some(PendingOutcome::Interrupted { answered, short: Some(_), .. })
                if self.known.answers.len() <= *answered
        )
    }

    /// Returns the digest of the open question's form, if it is that of an `ask` node.
    pub(in crate::walker) fn shown_form(&self) -> Option<Digest> {
        match &self.outcome {
            Some(PendingOutcome::Interrupted { payload, short: None, .. }) => form_digest(&payload.0),
            _ => None,
        }
    }

    /// Returns `true` if the task is done and the form that its newest answer was given to is known.
    pub(in crate::walker) fn has_answer_to_form(&self) -> bool {
        matches!(self.outcome, Some(PendingOutcome::Done { .. }))
            && self.known.answers.newest_form().is_some()
    }

    /// Returns `true` if a cached result has replaced the task's dispatch.
    pub(in crate::walker) const fn is_cached(&self) -> bool {
        matches!(self.known.cache, Some(TaskCache::Hit(_)))
    }

    /// Returns `true` if the task failed and the failure is handled.
    pub(in crate::walker) const fn is_handled(&self) -> bool {
        matches!(self.outcome, Some(PendingOutcome::Handled { .. }))
    }

    /// Returns the memory of the task's result or question, in bytes.
    pub(in crate::walker) fn memory(&self) -> u64 {
        match &self.outcome {
            Some(PendingOutcome::Done { outcome }) => outcome_size(outcome),
            Some(PendingOutcome::Interrupted { payload, .. }) => size::of(&payload.0),
            _ => 0,
        }
    }

    /// Returns the task's entry in a status record: its state when the run was last started or resumed, and its events since
    /// the last status record. `recovered`: the run only continues after a crash, so that there is nothing new to record.
    pub(in crate::walker) fn record_use(&mut self, graph: &Graph, recovered: bool) -> Option<TaskUse> {
        let events = if recovered { Vec::new() } else { std::mem::take(&mut self.known.events) };
        if recovered && self.known.start == TaskStart::default() {
            return None;
        }
        // The journal of a task with an outcome is in its task record.
        let journal = if self.outcome.is_none() { self.known.journal.clone() } else { Vec::new() };
        let TaskStart { used, attempts, settled } = self.known.start;
        let TaskUsage { asked, dispatches, ended, fuel, granted, host, lost, micros, steps } = used;
        Some(TaskUse {
            asked,
            attempts,
            dispatches,
            ended: ended && !settled,
            events,
            fuel,
            granted,
            host,
            journal,
            lost,
            lost_models: self.known.lost_models.clone(),
            micros,
            node: graph.node(self.known.node).name.clone(),
            settled,
            steps,
        })
    }

    /// Returns the task's present state as the start of a resumed run.
    fn stand(&self) -> TaskStart {
        let TaskProgress { attempt, used, .. } = self.known;
        let (settled, attempts) = match &self.outcome {
            None => (false, 0),
            Some(PendingOutcome::Retrying { .. }) => (false, attempt),
            Some(PendingOutcome::Interrupted { answered, .. }) if self.known.answers.len() > *answered => {
                (false, attempt.saturating_sub(1))
            }
            Some(PendingOutcome::Suspended { .. }) if self.woken => (false, attempt.saturating_sub(1)),
            Some(_) => (true, attempt),
        };
        TaskStart { used, attempts, settled }
    }

    /// Applies a record of the task. `recorded_use` is the task's entry in the newest status record.
    fn add_record(&mut self, record: TaskRecord, recorded_use: Option<&TaskUse>) {
        let known = &mut self.known;
        if record.dispatches >= known.used.dispatches {
            (known.used.dispatches, known.used.ended) = (record.dispatches, true);
        }
        known.used.fuel = known.used.fuel.max(record.fuel);
        known.used.host = known.used.host.max(record.host);
        known.used.micros = known.used.micros.max(record.micros);
        known.used.steps = known.used.steps.max(record.steps);
        known.used.asked = known.used.asked.max(record.asked);
        known.used.granted = known.used.granted.max(record.granted);
        if !record.lost.is_nothing() {
            known.used.lost = record.lost;
            known.lost_models = record.lost_models;
        }
        // A later status record that knows of this failure means that it stopped the run: the next resume, or the
        // present one, counts attempts from the start. Otherwise the failure has still to stop the run.
        let anew = recorded_use.is_some_and(|recorded_use| recorded_use.dispatches >= record.dispatches);
        // The child run was to continue, and its end is not known.
        self.woken =
            anew && !known.start.settled && matches!(record.outcome, PendingOutcome::Suspended { .. });
        // A status record contains all events up to its time.
        known.events = if anew { Vec::new() } else { record.events };
        // A task that used up a budget of the run has left no record of that, but may have left one before. According
        // to the status record it was dispatched again since, and no result of that dispatch is kept.
        let again = recorded_use.is_some_and(|recorded_use| recorded_use.dispatches > record.dispatches);
        let replaced = match &record.outcome {
            PendingOutcome::Failed { .. } => anew,
            PendingOutcome::Done { .. } | PendingOutcome::Handled { .. } => false,
            PendingOutcome::Interrupted { .. }
            | PendingOutcome::Suspended { .. }
            | PendingOutcome::Retrying { .. }
            | PendingOutcome::Failing { .. } => again,
        };
        known.warnings = record.warnings;
        if !replaced {
            known.attempt = record.attempt;
            known.retried = record.retried;
            known.continued = record.continued;
            known.cache = record.cache;
            self.outcome = Some(record.outcome);
        }
        // An outcome does not count if it followed from an answer that another one has replaced since.
        if known.answers.drops_more_than(&record.dropped) {
            self.outcome = None;
        }
        known.answers.drop_those(&record.dropped);
        // Journals only grow: the longer one is from the later record.
        if record.journal.len() >= known.journal.len() {
            known.journal = record.journal;
        }
    }
}

impl PendingTasks {
    /// Restores the pending tasks from stored records. The error is the name of a node that the graph does not have.
    pub(in crate::walker) fn from_records(
        graph: &Graph,
        records: Vec<TaskRecord>,
        answers: Vec<AnswersRecord>,
        status: Option<&StatusRecord>,
    ) -> Result<Self, String> {
        let recorded_use = status.map(|status| &status.tasks);
        let mut pending = Self::default();
        for (task, used) in recorded_use.into_iter().flatten() {
            let known = &mut pending.entry(graph, task, &used.node)?.known;
            let TaskUse {
                asked,
                attempts,
                dispatches,
                ended,
                fuel,
                granted,
                host,
                lost,
                micros,
                settled,
                steps,
                ..
            } = *used;
            let ended = ended || settled;
            known.used = TaskUsage { dispatches, ended, fuel, host, micros, steps, asked, lost, granted };
            known.start = TaskStart { used: known.used, attempts, settled };
            known.journal.clone_from(&used.journal);
            known.lost_models.clone_from(&used.lost_models);
        }
        let mut reserved = Vec::new();
        for record in answers {
            let entry = pending.entry(graph, &record.task, &record.node)?;
            let log = TaskAnswers::of_records(&RecordedAnswers {
                answers: &record.answers,
                dropped: &record.dropped,
                granted: &record.granted,
                expired: Some(&record.expired),
                arrived: Some(&record.arrived),
                forms: Some(&record.forms),
            });
            entry.known.used.granted = entry.known.used.granted.max(log.added());
            entry.known.answers = log;
            entry.known.reserved.clone_from(&record.reserved);
            reserved.extend(record.reserved.map(|of| (record.task, record.node, of)));
        }
        for record in records {
            let recorded_use = recorded_use.and_then(|recorded_use| recorded_use.get(&record.task));
            pending.entry(graph, &record.task, &record.node)?.add_record(record, recorded_use);
        }
        for (task, node, reserved) in reserved {
            let TaskProgress { used, lost_models, .. } = &mut pending.entry(graph, &task, &node)?.known;
            // If the attempt has ended, its record contains its use.
            if used.dispatches < reserved.dispatch {
                let lost = reserved.model.less(used.host.model);
                let earlier = reserved.lost.less(used.lost);
                used.lose(lost);
                if !earlier.is_nothing() {
                    *lost_models = reserved.lost_models;
                }
                add_lost(lost_models, reserved.name.map(|name| (name, lost.less(earlier))));
            }
        }
        Ok(pending)
    }

    fn entry(&mut self, graph: &Graph, task: &str, node: &str) -> Result<&mut PendingTask, String> {
        let node = graph.find(node).ok_or_else(|| node.to_owned())?;
        let known = || TaskProgress {
            node,
            attempt: 0,
            retried: 0,
            continued: false,
            used: TaskUsage::default(),
            start: TaskStart::default(),
            answers: TaskAnswers::default(),
            warnings: Vec::new(),
            events: Vec::new(),
            journal: Vec::new(),
            cache: None,
            reserved: None,
            lost_models: BTreeMap::new(),
        };
        Ok(self.0.entry(task.into()).or_insert_with(|| PendingTask::new(known(), None)))
    }

    /// Returns the recorded state of a task.
    pub(in crate::walker) fn get(&self, task: &str) -> Option<&PendingTask> {
        self.0.get(task)
    }

    /// Removes the recorded state of a task, if it is of the same node. It may be that of another node's task:
    /// untracked state, which a resume resets, decides how many tasks a `foreach` has.
    pub(in crate::walker) fn take(&mut self, task: &str, node: NodeIndex) -> Option<PendingTask> {
        if self.0.get(task).is_some_and(|known| known.known.node == node) {
            self.0.remove(task)
        } else {
            None
        }
    }

    pub(in crate::walker) fn tasks(&self) -> impl Iterator<Item = &PendingTask> {
        self.0.values()
    }

    /// Returns all tasks, moved out.
    pub(in crate::walker) fn into_tasks(self) -> impl Iterator<Item = PendingTask> {
        self.0.into_values()
    }

    /// Adds the recorded state of a task.
    pub(in crate::walker) fn insert(&mut self, id: Arc<str>, task: PendingTask) {
        self.0.insert(id, task);
    }

    /// Adds the tasks of `others`.
    pub(in crate::walker) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Makes the present state of all tasks their start, since the run stops or is resumed.
    pub(in crate::walker) fn begin(&mut self) {
        for left in self.0.values_mut() {
            left.known.start = left.stand();
        }
    }

    /// Adds an answer to a task's question. If the question had an answer already, the new one replaces it, and the
    /// task's result is discarded.
    pub(in crate::walker) fn answer(&mut self, task: &str, answer: TaskAnswer) {
        if let Some(left) = self.0.get_mut(task) {
            if left.asks_for_budget() {
                let before = left.known.answers.added();
                left.known.answers.grant(answer);
                let added = left.known.answers.added().less(before);
                left.known.used.granted = left.known.used.granted.plus(added);
                return;
            }
            if answer.question < left.known.answers.len() {
                left.outcome = None;
            }
            let shown = left.shown_form();
            left.known.answers.give(answer, shown);
        }
    }

    /// Has a task's answered question asked again when the task continues, because its form has changed since.
    pub(in crate::walker) fn ask_answered_again(&mut self, task: &str) {
        if let Some(left) = self.0.get_mut(task) {
            left.outcome = None;
            left.asks_again = true;
        }
    }

    /// Has a task's open question asked again when the task continues, because it may have changed.
    pub(in crate::walker) fn ask_again(&mut self, task: &str) {
        if let Some(left) = self.0.get_mut(task)
            && matches!(left.outcome, Some(PendingOutcome::Interrupted { short: None, .. }))
        {
            left.outcome = None;
            left.asks_again = true;
        }
    }

    /// Returns the node of a task, and the number of the task among those of the node, from 1.
    pub(in crate::walker) fn place(&self, task: &str) -> Option<(NodeIndex, u64)> {
        let node = self.0.get(task)?.known.node;
        let of_node = self.0.iter().filter(|(_, left)| left.known.node == node);
        let first = of_node.map(|(task, _)| ordinal(task)).min()?;
        Some((node, ordinal(task).saturating_sub(first).saturating_add(1)))
    }

    /// Returns `true` if a task's open question is the host's own, about a budget of language models.
    pub(in crate::walker) fn asks_for_budget(&self, task: &str) -> bool {
        self.0.get(task).is_some_and(PendingTask::asks_for_budget)
    }

    /// Raises the total additions of answers to budgets of language models in a task's child run.
    pub(in crate::walker) fn add_below(&mut self, task: &str, granted: ModelUse) {
        if let Some(left) = self.0.get_mut(task) {
            left.known.used.granted = left.known.used.granted.max(granted);
        }
    }

    /// Gives a task its answers from the start, in a superstep that is started again.
    pub(in crate::walker) fn give(
        &mut self,
        graph: &Graph,
        task: &str,
        node: &str,
        answers: TaskAnswers,
    ) -> Result<(), String> {
        let entry = self.entry(graph, task, node)?;
        if entry.known.answers.len() < answers.len() {
            entry.known.answers = answers;
        }
        Ok(())
    }

    /// Returns the answers of each task that has any: another answer can replace them until the superstep commits.
    pub(in crate::walker) fn answered(&self) -> impl Iterator<Item = (&Arc<str>, NodeIndex, &TaskAnswers)> {
        let answered = self.0.iter().filter(|(_, left)| !left.known.answers.is_empty());
        answered.map(|(task, left)| (task, left.known.node, &left.known.answers))
    }

    /// Notes that a task's child run can continue.
    pub(in crate::walker) fn wake(&mut self, task: &str) {
        if let Some(left) = self.0.get_mut(task) {
            left.woken = true;
        }
    }

    /// Returns the tasks' entries in a status record ([`PendingTask::record_use`]). Later events are in records of their own.
    pub(in crate::walker) fn record_uses(
        &mut self,
        graph: &Graph,
        recovered: bool,
    ) -> BTreeMap<String, TaskUse> {
        let used = |(task, left): (&Arc<str>, &mut PendingTask)| {
            Some((String::from(&**task), left.record_use(graph, recovered)?))
        };
        self.0.iter_mut().filter_map(used).collect()
    }

    /// Fuel of all tasks.
    pub(in crate::walker) fn fuel(&self) -> u64 {
        self.fuel_after(0)
    }

    /// Fuel of all tasks, added to `before`.
    pub(in crate::walker) fn fuel_after(&self, before: u64) -> u64 {
        self.0.values().map(|left| left.known.used.fuel).fold(before, u64::saturating_add)
    }

    /// Fuel of all tasks and of the host's work for them, added to `before`.
    pub(in crate::walker) fn spent_after(&self, before: u64) -> u64 {
        let spent = |left: &PendingTask| left.known.used.fuel.saturating_add(left.known.used.host.fuel);
        self.0.values().map(spent).fold(before, u64::saturating_add)
    }

    /// Use of the host by all tasks.
    pub(in crate::walker) fn host(&self) -> HostUse {
        self.0.values().map(|left| left.known.used.host).fold(HostUse::default(), HostUse::plus)
    }

    /// Supersteps of the child runs of all tasks.
    pub(in crate::walker) fn steps(&self) -> u64 {
        self.0.values().map(|left| left.known.used.steps).fold(0, u64::saturating_add)
    }

    /// Returns the tasks whose child runs are suspended, each with `true` if the child run can continue.
    pub(in crate::walker) fn suspended(&self) -> impl Iterator<Item = (&Arc<str>, bool)> {
        let waits = |left: &PendingTask| matches!(left.outcome, Some(PendingOutcome::Suspended { .. }));
        self.0.iter().filter(move |(_, left)| waits(left)).map(|(task, left)| (task, left.woken))
    }

    /// Returns `true` if a question has an answer, or is to be asked again, and its task has not continued yet.
    pub(in crate::walker) fn has_answers(&self) -> bool {
        self.0.values().any(|left| match &left.outcome {
            Some(PendingOutcome::Interrupted { answered, .. }) => left.known.answers.len() > *answered,
            None => left.asks_again,
            _ => false,
        })
    }

    /// Returns the open questions, in task order.
    pub(in crate::walker) fn interrupts(&self, graph: &Graph) -> Vec<InterruptRecord> {
        let mut asked: Vec<_> = self
            .0
            .iter()
            .filter_map(|(task, left)| match &left.outcome {
                Some(PendingOutcome::Interrupted { answered, payload, short })
                    if left.known.answers.len() <= *answered =>
                {
                    Some((
                        ordinal(task),
                        InterruptRecord {
                            budget: short.as_ref().map(|short| short.figure),
                            id: format!("{task}/{answered}"),
                            node: graph.node(left.known.node).name.clone(),
                            payload: payload.clone(),
                        },
                    ))
                }
                _ => None,
            })
            .collect();
        asked.sort_by_key(|(ordinal, _)| *ordinal);
        asked.into_iter().map(|(_, interrupt)| interrupt).collect()
    }
}
