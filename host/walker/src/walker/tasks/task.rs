//! A task of a superstep: its dispatch, state, input, use and events.

use std::sync::Arc;

use serde_json::Value;

use crate::graph::{Node, NodeIndex};
use crate::walker::budget::task_usage::{TaskAccount, TaskStart, TaskUsage};
use crate::walker::event::{CustomEvent, Timing};
use crate::walker::interrupt::task_answers::TaskAnswers;
use crate::walker::nodes::scope::ForeachItem;
use crate::walker::records::warnings::keep_warnings;
use crate::walker::tasks::pending_tasks::{PendingTask, TaskProgress};
use crate::walker::tasks::result_cache::CacheState;
use crate::walker::tasks::superstep_events::TaskHistory;
use graph_core::capability::DispatchPatterns;
use graph_core::item::{ItemOperation, ItemType};
use graph_core::limits::{Budget, ModelUse, TaskLimits};
use graph_core::node::{Failure, Outcome};
use graph_core::record::{CanonicalValue, JournalEntry, LogLine, PendingOutcome, ShortRecord};
use graph_core::time::Timestamp;
use graph_core::work::size;

/// A task of the active superstep.
#[derive(Debug)]
pub(in crate::walker) struct Task {
    id: Arc<str>,
    /// Position of the task's node among the active ones.
    activated: usize,
    /// The item of a `foreach`.
    item: Option<Arc<Value>>,
    /// The index of the item among those of its node, from 0.
    item_index: usize,
    /// Dispatch of the task; none for a node without an action.
    dispatch: Option<Dispatch>,
    state: TaskState,
    /// The attempt, from 1; 0 before the first.
    attempt: u32,
    /// Number of attempts that a hook has asked for.
    retried: u32,
    /// `true` if a hook had the failure passed over, so that `on_error` does not apply.
    continued: bool,
    /// Size of the params of the running attempt.
    params: u64,
    account: TaskAccount,
    answers: TaskAnswers,
    warnings: Vec<String>,
    history: TaskHistory,
    caching: CacheState,
}

/// The parts of a task's dispatch that are the same for every attempt.
#[derive(Clone, Debug)]
pub(in crate::walker) struct Dispatch {
    pub operation: ItemOperation,
    pub item_type: ItemType,
    pub item_id: Arc<str>,
    pub limits: TaskLimits,
    /// Budget of language models from the node, for all attempts together or the whole child run.
    pub budget: ModelUse,
    /// Dispatch patterns from the node's templates; none permits everything.
    pub narrowing: Option<Arc<DispatchPatterns>>,
    /// `true` if the item is a graph, so that the task is a child run.
    pub is_graph: bool,
}

/// Estimated memory of a parsed pattern besides its text, in bytes.
const PATTERN: u64 = 256;

impl Dispatch {
    /// Returns the memory of patterns from templates, which only this dispatch holds, in bytes.
    pub(in crate::walker) fn memory(&self) -> u64 {
        let patterns = self.narrowing.iter().flat_map(|patterns| patterns.iter());
        patterns.map(|pattern| pattern.held().saturating_add(PATTERN)).fold(0, u64::saturating_add)
    }
}

/// The state of a task.
#[derive(Debug)]
pub(in crate::walker) enum TaskState {
    /// The task has not started: it is ready, or behind an earlier item of a serial `foreach`.
    Waiting,
    /// An attempt is running.
    Running,
    /// An attempt has failed; the next is due.
    Backoff { due: Timestamp, failure: Failure },
    /// The task has failed, and hooks are to be asked about the failure; `hooks_asked`: asking has begun.
    Failing { failure: Failure, hooks_asked: bool },
    /// The task waits for the answer to a question.
    Interrupted {
        payload: Arc<Value>,
        /// The used-up budget of language models, if the host asks and not the component.
        short: Option<Box<ShortRecord>>,
    },
    /// The task's child run is suspended with open questions.
    Suspended {
        /// `true` if the child run asks nothing.
        waits: bool,
    },
    /// The task has a result or a command.
    Done(TaskOutcome),
    /// The task has failed for good, and the failure is handled.
    Handled(Failure),
    /// The task has failed for good.
    Failed(Failure),
    /// The task has used up a budget of the run: the superstep does not commit, whatever the graph says of failures.
    Exhausted {
        budget: Budget,
        /// The path of nodes to the failure, if it is in a child run.
        within: Option<String>,
    },
    /// The task has no result and will get none: an earlier item of its serial `foreach` stopped the node, or the superstep was
    /// given up and charged for it.
    Abandoned,
}

/// The answer of a task.
#[derive(Clone, Debug)]
pub(in crate::walker) struct TaskOutcome {
    /// The answer itself: a result or a command.
    pub outcome: Arc<Outcome>,
    /// The values of the node's `assign`, in its order.
    pub assigned: Vec<Value>,
}

impl TaskOutcome {
    /// Returns the memory of the answer, in bytes.
    pub(in crate::walker) fn memory(&self) -> u64 {
        self.assigned.iter().map(size::of).fold(outcome_size(&self.outcome), u64::saturating_add)
    }
}

/// Returns the memory of an outcome, in bytes.
pub(in crate::walker) fn outcome_size(outcome: &Outcome) -> u64 {
    match outcome {
        Outcome::Result(value) | Outcome::Interrupt(value) => size::of(value),
        Outcome::Command { update, goto } => {
            let update = update.iter().map(|(key, value)| key.len() as u64 + size::of(value));
            let goto = goto.iter().map(|goto| {
                let argument = goto.argument.as_ref().map_or(0, size::of);
                size::VALUE + goto.node.len() as u64 + argument
            });
            update.chain(goto).fold(size::VALUE, u64::saturating_add)
        }
    }
}

impl TaskState {
    /// Returns `true` if the superstep no longer waits for the task.
    pub(in crate::walker) const fn is_settled(&self) -> bool {
        !matches!(self, Self::Waiting | Self::Running | Self::Backoff { .. } | Self::Failing { .. })
    }
}

impl Task {
    /// Creates a task that has not started.
    pub(in crate::walker) fn new(id: Arc<str>, activated: usize) -> Self {
        Self {
            id,
            activated,
            item: None,
            item_index: 0,
            dispatch: None,
            state: TaskState::Waiting,
            attempt: 0,
            retried: 0,
            continued: false,
            params: 0,
            account: TaskAccount::new(),
            answers: TaskAnswers::default(),
            warnings: Vec::new(),
            history: TaskHistory::default(),
            caching: CacheState::default(),
        }
    }

    /// The id, unique in the run: superstep, ordinal and item.
    #[inline]
    pub(in crate::walker) const fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// Position of the task's node among the active ones.
    #[inline]
    pub(in crate::walker) const fn activated(&self) -> usize {
        self.activated
    }

    /// The item of a `foreach`.
    #[inline]
    pub(in crate::walker) fn item(&self) -> Option<&Value> {
        self.item.as_deref()
    }

    /// Sets the item of a `foreach`, and its index.
    pub(in crate::walker) fn set_item(&mut self, item: Arc<Value>, index: usize) {
        self.item = Some(item);
        self.item_index = index;
    }

    /// Returns the item of a `foreach` as templates of the node read it.
    pub(in crate::walker) fn foreach_item<'a>(&'a self, node: &'a Node) -> Option<ForeachItem<'a>> {
        ForeachItem::new(node, self.item.as_deref()?, self.item_index)
    }

    /// Dispatch of the task; none for a node without an action.
    #[inline]
    pub(in crate::walker) const fn dispatch(&self) -> Option<&Dispatch> {
        self.dispatch.as_ref()
    }

    pub(in crate::walker) fn set_dispatch(&mut self, dispatch: Dispatch) {
        self.dispatch = Some(dispatch);
    }

    /// Returns the use of language models permitted to the running or the next attempt, if the run has enough: the rest
    /// of the node's budget, within the limits of an attempt. `None` for a node without an action.
    #[inline]
    pub(in crate::walker) fn own_models(&self) -> Option<ModelUse> {
        let Dispatch { limits, budget, .. } = self.dispatch.as_ref()?;
        Some(limits.model.min(budget.less(self.account.used().host.model)))
    }

    /// Returns `true` if the task is a child run.
    #[inline]
    pub(in crate::walker) fn is_graph(&self) -> bool {
        self.dispatch.as_ref().is_some_and(|dispatch| dispatch.is_graph)
    }

    #[inline]
    pub(in crate::walker) const fn state(&self) -> &TaskState {
        &self.state
    }

    /// Moves out the values of the node's `assign`.
    pub(in crate::walker) fn take_assigned(&mut self) -> Vec<Value> {
        match &mut self.state {
            TaskState::Done(answer) => std::mem::take(&mut answer.assigned),
            _ => Vec::new(),
        }
    }

    #[inline]
    pub(in crate::walker) fn enter(&mut self, state: TaskState) {
        self.state = state;
    }

    /// Returns `true` if the task gets a share of the superstep's reservations: it had not settled when the run was
    /// last started or resumed.
    pub(in crate::walker) const fn shares(&self) -> bool {
        !self.account.start().settled || !self.state.is_settled()
    }

    /// The attempt, from 1; 0 before the first.
    #[inline]
    pub(in crate::walker) const fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Begins another attempt and returns its number.
    #[inline]
    pub(in crate::walker) const fn begin_attempt(&mut self) -> u32 {
        self.attempt += 1;
        self.attempt
    }

    /// Undoes the attempt, which does not count.
    pub(in crate::walker) fn take_attempt_back(&mut self) {
        self.state = TaskState::Waiting;
        self.attempt = self.attempt.saturating_sub(1);
    }

    /// Number of attempts that a hook has asked for.
    #[inline]
    pub(in crate::walker) const fn retried(&self) -> u32 {
        self.retried
    }

    /// Counts an attempt that a hook has asked for.
    pub(in crate::walker) const fn count_hook_retry(&mut self) {
        self.retried += 1;
    }

    /// Returns `true` if a hook had the failure passed over.
    #[inline]
    pub(in crate::walker) const fn is_continued(&self) -> bool {
        self.continued
    }

    /// Handles the failure because a hook has it passed over: `on_error` does not apply.
    pub(in crate::walker) fn pass(&mut self, failure: Failure) {
        self.continued = true;
        self.state = TaskState::Handled(failure);
    }

    /// Sets the memory of the running attempt's params.
    #[inline]
    pub(in crate::walker) const fn give_params(&mut self, size: u64) {
        self.params = size;
    }

    /// Takes the memory of the params of an attempt that has ended.
    #[inline]
    pub(in crate::walker) const fn take_params(&mut self) -> u64 {
        std::mem::replace(&mut self.params, 0)
    }

    /// Use and reservations of the task.
    #[inline]
    pub(in crate::walker) const fn account(&self) -> &TaskAccount {
        &self.account
    }

    /// Use and reservations of the task.
    #[inline]
    pub(in crate::walker) const fn account_mut(&mut self) -> &mut TaskAccount {
        &mut self.account
    }

    /// Use of the task so far.
    #[inline]
    pub(in crate::walker) const fn used(&self) -> &TaskUsage {
        self.account.used()
    }

    /// State of the task when the run was last started or resumed.
    #[inline]
    pub(in crate::walker) const fn start(&self) -> &TaskStart {
        self.account.start()
    }

    /// Answers to the task's questions.
    #[inline]
    pub(in crate::walker) const fn answers(&self) -> &TaskAnswers {
        &self.answers
    }

    /// Answers to the task's questions.
    #[inline]
    pub(in crate::walker) const fn answers_mut(&mut self) -> &mut TaskAnswers {
        &mut self.answers
    }

    /// State of the task with respect to the cache of results.
    #[inline]
    pub(in crate::walker) const fn caching(&self) -> &CacheState {
        &self.caching
    }

    /// State of the task with respect to the cache of results.
    #[inline]
    pub(in crate::walker) const fn caching_mut(&mut self) -> &mut CacheState {
        &mut self.caching
    }

    /// Events of the task, which are recorded in addition to its result.
    #[inline]
    pub(in crate::walker) const fn history(&self) -> &TaskHistory {
        &self.history
    }

    /// Warnings of the task's attempts.
    #[inline]
    pub(in crate::walker) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Adds warnings, which the task's record contains.
    #[inline]
    pub(in crate::walker) fn add_warnings(&mut self, warnings: impl IntoIterator<Item = String>) {
        self.warnings.extend(warnings);
    }

    /// Adds a warning, unless the task has the same one already.
    pub(in crate::walker) fn warn_once(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Adds the warnings of the task's child run, up to the limit.
    pub(in crate::walker) fn keep_warnings(&mut self, warnings: impl IntoIterator<Item = String>) {
        keep_warnings(&mut self.warnings, warnings);
    }

    /// Adds the timing, log lines, events and journal of an attempt's report.
    pub(in crate::walker) fn add_report(
        &mut self,
        timing: Timing,
        logs: Vec<LogLine>,
        events: Vec<CustomEvent>,
        journal: Vec<JournalEntry>,
    ) {
        self.account.add_time(timing.micros());
        self.history.add_attempt(self.attempt, timing, logs, events);
        self.history.keep_journal(self.attempt, self.account.used().dispatches, journal);
    }

    /// Adds the event that an attempt failed and another one follows.
    pub(in crate::walker) fn add_retry(
        &mut self,
        clock: Timestamp,
        failure: Failure,
        wait: std::time::Duration,
    ) {
        self.history.add_retry(self.attempt, clock, failure, wait);
    }

    /// Charges all reservations of the task, and drops its results since the run was last started or resumed.
    pub(in crate::walker) fn forfeit(&mut self) {
        self.account.forfeit();
        let start = self.account.start();
        if start.settled {
            return;
        }
        self.attempt = start.attempts;
        if self.dispatch.is_some() {
            self.account.count_dispatch();
        }
        self.history = TaskHistory::default();
        self.warnings.clear();
        self.caching = CacheState::default();
        self.state = TaskState::Abandoned;
    }

    /// Restores the recorded progress except for the state; returns the recorded attempt and warnings.
    pub(in crate::walker) fn restore(
        &mut self,
        known: TaskProgress,
        is_recorded: bool,
    ) -> (u32, Vec<String>) {
        let TaskProgress {
            attempt,
            retried,
            continued,
            used,
            start,
            answers,
            warnings,
            events,
            journal,
            cache,
            lost_models,
            ..
        } = known;
        self.account.restore(used, start, lost_models);
        if let Some(dispatch) = self.dispatch.as_mut().filter(|_| !used.granted.is_nothing()) {
            dispatch.limits = dispatch.limits.with_added(used.granted);
            dispatch.budget = dispatch.budget.raised(used.granted);
        }
        self.answers = answers;
        self.history = TaskHistory::new(events, journal);
        self.caching = CacheState::new(cache);
        if is_recorded && !self.state.is_settled() {
            (self.retried, self.continued) = (retried, continued);
        }
        (attempt, warnings)
    }

    /// Restores the state after an attempt.
    pub(in crate::walker) fn stand(&mut self, attempt: u32, warnings: Vec<String>, state: TaskState) {
        self.attempt = attempt;
        self.warnings = warnings;
        self.state = state;
    }

    /// Has an attempt start again that had asked a question and continues with the answer.
    pub(in crate::walker) const fn begin_anew(&mut self, attempt: u32) {
        self.attempt = attempt.saturating_sub(1);
    }

    /// Turns the task of a superstep that does not commit into a pending one; `None` if nothing of it needs to be kept.
    pub(in crate::walker) fn into_pending(mut self, node: NodeIndex) -> Option<(Arc<str>, PendingTask)> {
        let outcome = match &self.state {
            TaskState::Done(answer) => Some(PendingOutcome::Done { outcome: Arc::clone(&answer.outcome) }),
            TaskState::Handled(failure) => Some(PendingOutcome::Handled { failure: failure.clone() }),
            TaskState::Interrupted { payload, short } => Some(PendingOutcome::Interrupted {
                answered: self.answers.len(),
                payload: CanonicalValue(Arc::clone(payload)),
                short: short.clone(),
            }),
            TaskState::Suspended { waits } => Some(PendingOutcome::Suspended { waits: *waits }),
            TaskState::Backoff { due, failure } => {
                Some(PendingOutcome::Retrying { due: *due, failure: failure.clone() })
            }
            TaskState::Failing { failure, hooks_asked: true } => {
                Some(PendingOutcome::Failing { failure: failure.clone() })
            }
            TaskState::Waiting
            | TaskState::Running
            | TaskState::Failing { hooks_asked: false, .. }
            | TaskState::Failed(_)
            | TaskState::Exhausted { .. }
            | TaskState::Abandoned => None,
        };
        if let TaskState::Failed(failure) = self.state {
            self.history.add_failure(self.attempt, failure);
        }
        self.account.abandon();
        let used = *self.account.used();
        let is_new = outcome.is_none()
            && used == TaskUsage::default()
            && self.answers.is_empty()
            && self.history.events().is_empty();
        if is_new && self.attempt == 0 {
            return None;
        }
        let (events, journal) = self.history.into_parts();
        let known = TaskProgress {
            node,
            attempt: self.attempt,
            retried: self.retried,
            continued: self.continued,
            used,
            start: *self.account.start(),
            answers: self.answers,
            warnings: self.warnings,
            events,
            journal,
            // A cache hit without a kept outcome is not counted: a resume looks the task up again.
            cache: self.caching.into_cache().filter(|_| outcome.is_some()),
            // The reservation of an abandoned attempt has been charged.
            reserved: None,
            lost_models: self.account.lost_models().clone(),
        };
        Some((self.id, PendingTask::new(known, outcome)))
    }
}
