//! What is recorded of the tasks of a superstep that has not committed: what a run leaves when it stops, and resumes
//! with.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::answer_log::{AnswerLog, RecordedAnswers, TaskAnswer};
use super::superstep::ordinal;
use super::task::outcome_size;
use super::task_account::{Start, Used, add_lost};
use crate::graph::{Graph, NodeIndex};
use graph_core::digest::Digest;
use graph_core::limits::{HostUse, ModelUse};
use graph_core::question::form_digest;
use graph_core::record::{
    AnswersRecord, AttemptJournal, InterruptRecord, PendingOutcome, Reserved, StatusRecord, TaskCache,
    TaskEvent, TaskRecord, TaskUse,
};
use graph_core::work::size;

/// What is recorded of the tasks of a superstep that has not committed.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending(BTreeMap<Arc<str>, PendingTask>);

/// What is recorded of one such task.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PendingTask {
    known: Progress,
    outcome: Option<PendingOutcome>,
    /// Its child run has something to continue with.
    woken: bool,
    /// Its question is asked again when it continues.
    asks_again: bool,
}

/// How far a task has got, apart from its outcome.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Progress {
    /// The index of the task's node.
    pub node: NodeIndex,
    /// The attempt, from 1; 0 before the first.
    pub attempt: u32,
    /// How many of its attempts a hook has asked for.
    pub retried: u32,
    /// A hook had its failure passed.
    pub continued: bool,
    /// What it has used so far.
    pub used: Used,
    /// Its state when the run was last started or resumed.
    pub start: Start,
    /// Answers to its interrupts.
    pub answers: AnswerLog,
    /// Warnings of its attempts.
    pub warnings: Vec<String>,
    /// What happened in it and is in no record of the history yet.
    pub events: Vec<TaskEvent>,
    /// The journals of its attempts.
    pub journal: Vec<AttemptJournal>,
    /// Its state with respect to the cache of results.
    pub cache: Option<TaskCache>,
    /// What its newest attempt may use of language models, as the store has it.
    pub reserved: Option<Reserved>,
    /// What is lost of `used`, by the model that was asked last, as far as its name is known.
    pub lost_models: BTreeMap<String, ModelUse>,
}

impl PendingTask {
    /// A task that has got so far.
    pub(super) const fn new(known: Progress, outcome: Option<PendingOutcome>) -> Self {
        Self { known, outcome, woken: false, asks_again: false }
    }

    /// The index of the task's node.
    pub(super) const fn node(&self) -> NodeIndex {
        self.known.node
    }

    /// What it has used so far.
    pub(super) const fn used(&self) -> &Used {
        &self.known.used
    }

    /// Answers to its interrupts.
    pub(super) const fn answers(&self) -> &AnswerLog {
        &self.known.answers
    }

    /// What its newest attempt may use of language models, as the store has it.
    pub(super) const fn reserved(&self) -> Option<&Reserved> {
        self.known.reserved.as_ref()
    }

    /// How far it has got, its outcome, and whether its child run has something to continue with.
    pub(super) fn into_parts(self) -> (Progress, Option<PendingOutcome>, bool) {
        (self.known, self.outcome, self.woken)
    }

    /// Whether its answer, or a failure that is handled, has settled it.
    pub(super) const fn is_settled(&self) -> bool {
        matches!(self.outcome, Some(PendingOutcome::Done { .. } | PendingOutcome::Handled { .. }))
    }

    /// Whether it has a result that counts when the superstep commits.
    pub(super) const fn is_over(&self) -> bool {
        matches!(self.outcome, Some(PendingOutcome::Done { .. } | PendingOutcome::Handled { .. }))
    }

    /// Whether its open question is the host's own, about a budget of language models.
    fn asks_for_budget(&self) -> bool {
        matches!(
            &self.outcome,
            Some(PendingOutcome::Interrupted { answered, short: Some(_), .. })
                if self.known.answers.len() <= *answered
        )
    }

    /// The digest of the form of its open question, if that is one of an `ask` node.
    pub(super) fn shown_form(&self) -> Option<Digest> {
        match &self.outcome {
            Some(PendingOutcome::Interrupted { payload, short: None, .. }) => form_digest(&payload.0),
            _ => None,
        }
    }

    /// Reports whether its answer is its result, and the form is known that it was given to.
    pub(super) fn has_answer_to_form(&self) -> bool {
        matches!(self.outcome, Some(PendingOutcome::Done { .. }))
            && self.known.answers.newest_form().is_some()
    }

    /// Whether a stored result has replaced its dispatch.
    pub(super) const fn is_cached(&self) -> bool {
        matches!(self.known.cache, Some(TaskCache::Hit(_)))
    }

    /// The memory of its result.
    pub(super) fn holds(&self) -> u64 {
        match &self.outcome {
            Some(PendingOutcome::Done { outcome }) => outcome_size(outcome),
            Some(PendingOutcome::Interrupted { payload, .. }) => size::of(&payload.0),
            _ => 0,
        }
    }

    /// Its state when the run was last started or resumed, as a status record holds it, and its events since the last
    /// one. `recovered`: the run only continues after a crash, so that there is nothing new to record.
    pub(super) fn record_use(&mut self, graph: &Graph, recovered: bool) -> Option<TaskUse> {
        let events = if recovered { Vec::new() } else { std::mem::take(&mut self.known.events) };
        if recovered && self.known.start == Start::default() {
            return None;
        }
        // If it has a result, its task record has the journal.
        let journal = if self.outcome.is_none() { self.known.journal.clone() } else { Vec::new() };
        let Start { used, attempts, settled } = self.known.start;
        let Used { asked, dispatches, ended, fuel, granted, host, lost, micros, steps } = used;
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

    /// Its present state, as a run that has stopped is resumed.
    fn stand(&self) -> Start {
        let Progress { attempt, used, .. } = self.known;
        let (settled, attempts) = match &self.outcome {
            None => (false, 0),
            Some(PendingOutcome::Retrying { .. }) => (false, attempt),
            Some(PendingOutcome::Interrupted { answered, .. }) if self.known.answers.len() > *answered => {
                (false, attempt.saturating_sub(1))
            }
            Some(PendingOutcome::Suspended) if self.woken => (false, attempt.saturating_sub(1)),
            Some(_) => (true, attempt),
        };
        Start { used, attempts, settled }
    }

    /// Applies a record of the task. `told` is what the newest status record says of it.
    fn add_record(&mut self, record: TaskRecord, told: Option<&TaskUse>) {
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
        // A later status record that knows of this failure means that it stopped the run: the resume after that, or the
        // present one, counts attempts from the start. If no status record knows of it, it has still to stop the run.
        let anew = told.is_some_and(|told| told.dispatches >= record.dispatches);
        // Its child run was to continue, and how that ended is not known.
        self.woken = anew && !known.start.settled && matches!(record.outcome, PendingOutcome::Suspended);
        // A status record contains all events up to its time.
        known.events = if anew { Vec::new() } else { record.events };
        // A task that used a budget of the run up has left no record of that, but may have left one before: it was
        // dispatched again since, as the status record says, and nothing that came of that is kept.
        let again = told.is_some_and(|told| told.dispatches > record.dispatches);
        let replaced = match &record.outcome {
            PendingOutcome::Failed { .. } => anew,
            PendingOutcome::Done { .. } | PendingOutcome::Handled { .. } => false,
            PendingOutcome::Interrupted { .. }
            | PendingOutcome::Suspended
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
        // What followed from an answer that another one has replaced since then does not count.
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

impl Pending {
    /// From stored records. A record that names a node that the graph does not have is the name in the error.
    pub(super) fn from_records(
        graph: &Graph,
        records: Vec<TaskRecord>,
        answers: Vec<AnswersRecord>,
        status: Option<&StatusRecord>,
    ) -> Result<Self, String> {
        let told = status.map(|status| &status.tasks);
        let mut pending = Self::default();
        for (task, used) in told.into_iter().flatten() {
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
            known.used = Used { dispatches, ended, fuel, host, micros, steps, asked, lost, granted };
            known.start = Start { used: known.used, attempts, settled };
            known.journal.clone_from(&used.journal);
            known.lost_models.clone_from(&used.lost_models);
        }
        let mut reserved = Vec::new();
        for record in answers {
            let entry = pending.entry(graph, &record.task, &record.node)?;
            let log = AnswerLog::of_records(&RecordedAnswers {
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
            let told = told.and_then(|told| told.get(&record.task));
            pending.entry(graph, &record.task, &record.node)?.add_record(record, told);
        }
        for (task, node, reserved) in reserved {
            let Progress { used, lost_models, .. } = &mut pending.entry(graph, &task, &node)?.known;
            // Of an attempt that has ended, a record says what it has used.
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
        let known = || Progress {
            node,
            attempt: 0,
            retried: 0,
            continued: false,
            used: Used::default(),
            start: Start::default(),
            answers: AnswerLog::default(),
            warnings: Vec::new(),
            events: Vec::new(),
            journal: Vec::new(),
            cache: None,
            reserved: None,
            lost_models: BTreeMap::new(),
        };
        Ok(self.0.entry(task.into()).or_insert_with(|| PendingTask::new(known(), None)))
    }

    /// What is recorded of a task.
    pub(super) fn get(&self, task: &str) -> Option<&PendingTask> {
        self.0.get(task)
    }

    /// Takes out what is recorded of a task that is restored, if the record is of the same node. It may be of another
    /// node's task: untracked state decides how many tasks a `foreach` has, and is reset by a resume.
    pub(super) fn take(&mut self, task: &str, node: NodeIndex) -> Option<PendingTask> {
        if self.0.get(task).is_some_and(|known| known.known.node == node) {
            self.0.remove(task)
        } else {
            None
        }
    }

    pub(super) fn tasks(&self) -> impl Iterator<Item = &PendingTask> {
        self.0.values()
    }

    /// All tasks, moved out.
    pub(super) fn into_tasks(self) -> impl Iterator<Item = PendingTask> {
        self.0.into_values()
    }

    /// Adds what is recorded of a task.
    pub(super) fn insert(&mut self, id: Arc<str>, task: PendingTask) {
        self.0.insert(id, task);
    }

    /// Adds those that `others` has.
    pub(super) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// A run that has stopped is taken up, or stops: from here on its tasks are counted.
    pub(super) fn begin(&mut self) {
        for left in self.0.values_mut() {
            left.known.start = left.stand();
        }
    }

    /// The question of a task has been answered. If it had an answer already, the new one replaces it, and the task's
    /// result is discarded with it.
    pub(super) fn answer(&mut self, task: &str, answer: TaskAnswer) {
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

    /// A task's answer was given to another form of its question, which is asked again when the task continues.
    pub(super) fn ask_answered_again(&mut self, task: &str) {
        if let Some(left) = self.0.get_mut(task) {
            left.outcome = None;
            left.asks_again = true;
        }
    }

    /// The open question of a task is asked again when the task continues: what it asks may have changed.
    pub(super) fn ask_again(&mut self, task: &str) {
        if let Some(left) = self.0.get_mut(task)
            && matches!(left.outcome, Some(PendingOutcome::Interrupted { short: None, .. }))
        {
            left.outcome = None;
            left.asks_again = true;
        }
    }

    /// The node of a task, and the number of the task among those of the node, from 1.
    pub(super) fn place(&self, task: &str) -> Option<(NodeIndex, u64)> {
        let node = self.0.get(task)?.known.node;
        let of_node = self.0.iter().filter(|(_, left)| left.known.node == node);
        let first = of_node.map(|(task, _)| ordinal(task)).min()?;
        Some((node, ordinal(task).saturating_sub(first).saturating_add(1)))
    }

    /// Whether the question of a task is the host's own, about a budget of language models.
    pub(super) fn asks_for_budget(&self, task: &str) -> bool {
        self.0.get(task).is_some_and(PendingTask::asks_for_budget)
    }

    /// Answers have added so much in all to the budgets of language models of a task's child run.
    pub(super) fn add_below(&mut self, task: &str, granted: ModelUse) {
        if let Some(left) = self.0.get_mut(task) {
            left.known.used.granted = left.known.used.granted.max(granted);
        }
    }

    /// Gives a task its answers from the start, in a superstep that is started again.
    pub(super) fn give(
        &mut self,
        graph: &Graph,
        task: &str,
        node: &str,
        answers: AnswerLog,
    ) -> Result<(), String> {
        let entry = self.entry(graph, task, node)?;
        if entry.known.answers.len() < answers.len() {
            entry.known.answers = answers;
        }
        Ok(())
    }

    /// The questions that have their answer, by task: another answer can replace it as long as the superstep has not committed.
    pub(super) fn answered(&self) -> impl Iterator<Item = (&Arc<str>, NodeIndex, &AnswerLog)> {
        let answered = self.0.iter().filter(|(_, left)| !left.known.answers.is_empty());
        answered.map(|(task, left)| (task, left.known.node, &left.known.answers))
    }

    /// The child run of a task has something to continue with.
    pub(super) fn wake(&mut self, task: &str) {
        if let Some(left) = self.0.get_mut(task) {
            left.woken = true;
        }
    }

    /// The state of the tasks when the run was last started or resumed, and which events of theirs this record contains.
    /// What happened later is in records of its own.
    pub(super) fn record_uses(&mut self, graph: &Graph, recovered: bool) -> BTreeMap<String, TaskUse> {
        let used = |(task, left): (&Arc<str>, &mut PendingTask)| {
            Some((String::from(&**task), left.record_use(graph, recovered)?))
        };
        self.0.iter_mut().filter_map(used).collect()
    }

    /// Fuel of all of them.
    pub(super) fn fuel(&self) -> u64 {
        self.fuel_after(0)
    }

    /// Fuel of all of them, on top of `before`.
    pub(super) fn fuel_after(&self, before: u64) -> u64 {
        self.0.values().map(|left| left.known.used.fuel).fold(before, u64::saturating_add)
    }

    /// Fuel of all of them and of the host's work for them, on top of `before`.
    pub(super) fn spent_after(&self, before: u64) -> u64 {
        let spent = |left: &PendingTask| left.known.used.fuel.saturating_add(left.known.used.host.fuel);
        self.0.values().map(spent).fold(before, u64::saturating_add)
    }

    /// What all of them have used of the host.
    pub(super) fn host(&self) -> HostUse {
        self.0.values().map(|left| left.known.used.host).fold(HostUse::default(), HostUse::plus)
    }

    /// Supersteps of the child runs of all of them.
    pub(super) fn steps(&self) -> u64 {
        self.0.values().map(|left| left.known.used.steps).fold(0, u64::saturating_add)
    }

    /// The tasks whose child runs ask, each with whether that has something to continue with.
    pub(super) fn suspended(&self) -> impl Iterator<Item = (&Arc<str>, bool)> {
        let waits = |left: &PendingTask| matches!(left.outcome, Some(PendingOutcome::Suspended));
        self.0.iter().filter(move |(_, left)| waits(left)).map(|(task, left)| (task, left.woken))
    }

    /// Whether a question has its answer, and its task has not continued with it.
    pub(super) fn has_answers(&self) -> bool {
        self.0.values().any(|left| match &left.outcome {
            Some(PendingOutcome::Interrupted { answered, .. }) => left.known.answers.len() > *answered,
            None => left.asks_again,
            _ => false,
        })
    }

    /// The open questions, in task order.
    pub(super) fn interrupts(&self, graph: &Graph) -> Vec<InterruptRecord> {
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
