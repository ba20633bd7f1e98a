//! The end of attempts and tasks: accepts answers, handles failures, and settles tasks.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::graph::{Node, NodeKind};
use crate::walker::Walker;
use crate::walker::budget::run_budget::NodeWorkError;
use crate::walker::event::{Effect, Notice, TaskReport, TimerId};
use crate::walker::machine::illegal;
use crate::walker::setup::HandleError;
use crate::walker::state::assigned_state::AssignedState;
use crate::walker::tasks::making::failure_size;
use crate::walker::tasks::start::back_off;
use crate::walker::tasks::superstep::ActivatedNode;
use crate::walker::tasks::task::{TaskOutcome, TaskState, outcome_size};
use graph_core::hook_event::HookEvent;
use graph_core::id::END;
use graph_core::limits::{Budget, HostUse, ModelFigure, ModelUse, TaskLimits};
use graph_core::model_budget::ShortFigure;
use graph_core::model_grant;
use graph_core::model_grant::UsedUpBudget;
use graph_core::node::{Category, Failure, Outcome};
use graph_core::policy::{OnError, OnItemError};
use graph_core::record::{JournalEntry, ShortRecord};
use graph_core::template::Root;
use graph_core::time::Timestamp;
use graph_core::work::{Meter, rates, size};

impl Walker {
    /// Handles the end of a running attempt.
    pub(in crate::walker) fn task_done(
        &mut self,
        now: Timestamp,
        task: &Arc<str>,
        attempt: u32,
        report: TaskReport,
        fx: &mut Vec<Effect>,
    ) -> Result<(), HandleError> {
        if !self.aborted.is_empty() && self.aborted.remove(&(Arc::clone(task), attempt)) {
            return Ok(());
        }
        let Some(superstep) = self.phase.superstep_mut() else {
            return Err(illegal("no superstep is under way"));
        };
        let Some(at) = superstep.find(task) else { return Err(illegal("there is no such task")) };
        let found = superstep.task_mut(at);
        if !matches!(found.state(), TaskState::Running) || found.attempt() != attempt {
            return Err(illegal("that attempt is not running"));
        }
        superstep.take_params(at);
        let found = superstep.task_mut(at);
        let account = found.account();
        let had_fuel = if account.left() <= account.components() { account.left() } else { u64::MAX };
        let host = JournalEntry::used_by(&report.journal);
        let returned = report_size(&report).saturating_add(host.bytes);
        let last = report.journal.last();
        let refused = last.is_some_and(JournalEntry::is_refused);
        let shortage = last.and_then(JournalEntry::shortage);
        let figure = shortage.map(|short| short.figure);
        let had = account.left_of_host();
        let own_models = found.own_models();
        let of_item = own_models.unwrap_or(ModelUse::UNBOUNDED);
        found.account_mut().end_attempt(report.fuel, host);
        if !report.lost.is_nothing() {
            found.account_mut().lose(report.lost, report.lost_models);
        }
        let worked_too_much = report.work > found.account().left();
        found.account_mut().charge_work(report.work);
        found.caching_mut().took(report.fuel);
        found.add_warnings(report.warnings);
        found.add_report(report.timing, report.logs, report.events, report.journal);
        self.add_time(report.timing);
        self.add_memory(returned);
        if self.exceeds_memory() {
            self.stop_over_memory(now, fx);
            return Ok(());
        }
        // A provider has used more than was reserved. The run is short of the budget only if the item's own limit is
        // larger; otherwise the attempt fails.
        let is_of_run = |figure: &ModelFigure| {
            figure.of(host.model) > figure.of(had.model) && figure.of(had.model) < figure.of(of_item)
        };
        if let Some(figure) = ModelFigure::ALL.into_iter().find(is_of_run) {
            let over = figure.of(host.model).saturating_sub(figure.of(had.model));
            let short = ShortFigure { over: Some(over), ..figure.into() };
            let failure = report.result.err().unwrap_or_else(|| {
                Failure::new(Category::Limit, "a provider has used more than was left of the run's budget")
            });
            self.fall_short(now, at, short, true, failure, fx);
            self.start_ready(now, fx);
            return Ok(());
        }
        match report.result {
            _ if worked_too_much => self.exhaust(now, at, Budget::Fuel, None, fx),
            Ok(outcome) => self.answered(now, at, outcome, fx),
            Err(failure) if failure.category == Category::Limit && report.work >= rates::STEP => {
                self.exhaust(now, at, Budget::Work, None, fx);
            }
            Err(failure) => {
                let Some(superstep) = self.phase.superstep() else { return Ok(()) };
                let limits = superstep.tasks()[at].dispatch().map(|dispatch| dispatch.limits);
                let own = limits.zip(own_models).map(|(limits, model)| TaskLimits { model, ..limits });
                let own = own.filter(|_| failure.category == Category::Limit);
                let short = own.and_then(|own| {
                    short_of(&own, had_fuel, had, report.fuel, host, refused)
                        .or_else(|| short_of_models(&own, had, figure))
                });
                let is_limit = own.is_some();
                match (short, shortage.filter(|_| is_limit)) {
                    (Some(budget), Some(shortage)) if budget.figure() == Some(shortage.figure) => {
                        self.fall_short(now, at, shortage, true, failure, fx);
                    }
                    (Some(budget), _) => self.exhaust(now, at, budget, None, fx),
                    (None, Some(shortage)) => self.fall_short(now, at, shortage, false, failure, fx),
                    (None, None) => self.refused_by_component(now, at, failure, fx),
                }
            }
        }
        self.start_ready(now, fx);
        Ok(())
    }

    /// Handles an attempt that a budget of language models has ended, that of the run or that of the task: asks for
    /// more of it if the manifest says so.
    fn fall_short(
        &mut self,
        now: Timestamp,
        at: usize,
        short: ShortFigure,
        of_run: bool,
        failure: Failure,
        fx: &mut Vec<Effect>,
    ) {
        let figure = short.figure;
        let of_run_most = of_run.then(|| self.models_of_root());
        let run_asks = self.budgets().model_asks;
        let Some(superstep) = self.phase.superstep_mut() else { return };
        let task = superstep.task_mut(at);
        let own = task.dispatch().map_or(TaskLimits::UNBOUNDED, |dispatch| dispatch.limits);
        if !(if of_run { run_asks } else { own.model_asks }) {
            return self.end_short(now, at, figure, of_run, failure, fx);
        }
        let most = of_run_most.unwrap_or(own.model);
        let used_up = UsedUpBudget { short, of_run, most, spent: task.used().host.model };
        let payload = Arc::new(model_grant::question(&used_up, &failure.message));
        let asked = task.answers().new_question();
        let short = Some(Box::new(ShortRecord { asked, failure, figure, of_run }));
        let size = size::of(&payload);
        task.enter(TaskState::Interrupted { payload, short });
        self.add_memory(size);
        if self.exceeds_memory() {
            return self.stop_over_memory(now, fx);
        }
        self.settled(now, at, fx);
    }

    /// Ends a dispatch at once, without its component, because an answer has added nothing to a used-up budget.
    pub(in crate::walker) fn end_stopped(
        &mut self,
        now: Timestamp,
        at: usize,
        short: ShortRecord,
        fx: &mut Vec<Effect>,
    ) {
        let Some(superstep) = self.phase.superstep_mut() else { return };
        superstep.task_mut(at).account_mut().begin_and_end();
        let ShortRecord { failure, figure, of_run, .. } = short;
        self.end_short(now, at, figure, of_run, failure, fx);
    }

    /// Fails an attempt that a budget of language models has ended and for which nothing is added to the budget.
    fn end_short(
        &mut self,
        now: Timestamp,
        at: usize,
        figure: ModelFigure,
        of_run: bool,
        failure: Failure,
        fx: &mut Vec<Effect>,
    ) {
        if of_run {
            self.exhaust(now, at, figure.into(), None, fx);
        } else {
            self.refused_by_component(now, at, failure, fx);
        }
    }

    /// Handles the answer of a running attempt.
    pub(in crate::walker) fn answered(
        &mut self,
        now: Timestamp,
        at: usize,
        outcome: Outcome,
        fx: &mut Vec<Effect>,
    ) {
        let outcome = match crate::compat::rye::unwrap(outcome) {
            Ok(outcome) => outcome,
            Err(failure) => {
                // The attempt has seen the newest answer: a later failure does not reject it.
                if let Some(superstep) = self.phase.superstep_mut() {
                    superstep.task_mut(at).answers_mut().take_new();
                }
                return self.failed(now, at, failure, fx);
            }
        };
        self.accept(now, at, outcome, fx);
    }

    /// Accepts an answer, or the value of a node without an action.
    pub(in crate::walker) fn accept(
        &mut self,
        now: Timestamp,
        at: usize,
        outcome: Outcome,
        fx: &mut Vec<Effect>,
    ) {
        let graph = Arc::clone(&self.graph);
        let Some(superstep) = self.phase.superstep_mut() else { return };
        let place = superstep.tasks()[at].activated();
        let node = graph.node(superstep.activated()[place].node());
        // A value that cannot be assigned does not mean that the user's answer was rejected.
        superstep.task_mut(at).answers_mut().take_new();
        if let Outcome::Interrupt(payload) = outcome {
            let payload = Arc::new(payload);
            superstep.task_mut(at).enter(TaskState::Interrupted { payload, short: None });
            return self.settled(now, at, fx);
        }
        let mut warnings = Vec::new();
        let meter = superstep.tasks()[at].account().meter();
        let answer = {
            let Some(superstep) = self.phase.superstep() else { return };
            self.answer(node, &superstep.activated()[place], Arc::new(outcome), &mut warnings, &meter)
        };
        self.count_task_work(at, meter.spent());
        let Some(superstep) = self.phase.superstep_mut() else { return };
        superstep.task_mut(at).add_warnings(warnings);
        match answer {
            Ok(answer) => {
                let memory = answer.assigned.iter().map(size::of).fold(0, u64::saturating_add);
                superstep.task_mut(at).enter(TaskState::Done(answer));
                self.add_memory(memory);
                if self.exceeds_memory() {
                    return self.stop_over_memory(now, fx);
                }
                self.settled(now, at, fx);
            }
            Err(error) => self.end_with_error(now, at, error, fx),
        }
    }

    /// Checks an answer against the node's grants, and evaluates its assignments.
    pub(in crate::walker) fn answer(
        &self,
        node: &Node,
        active: &ActivatedNode,
        outcome: Arc<Outcome>,
        warnings: &mut Vec<String>,
        meter: &Meter,
    ) -> Result<TaskOutcome, NodeWorkError> {
        let mut assigned = Vec::new();
        match &*outcome {
            Outcome::Command { update, goto } => {
                meter.charge_each(update.len().saturating_add(goto.len()), rates::LOOKUP)?;
                self.check_command(
                    node,
                    update.keys().map(String::as_str),
                    goto.iter().map(|goto| &*goto.node),
                )?;
            }
            Outcome::Result(result) => {
                // A `foreach` node assigns once, from the list of its items' results.
                if !node.assign.is_empty() && !matches!(node.kind, NodeKind::Foreach(_)) {
                    assigned = self.assign(node, active, result, warnings, meter)?;
                }
            }
            Outcome::Interrupt(_) => {}
        }
        Ok(TaskOutcome { outcome, assigned })
    }

    pub(in crate::walker) fn assign(
        &self,
        node: &Node,
        active: &ActivatedNode,
        result: &Value,
        warnings: &mut Vec<String>,
        meter: &Meter,
    ) -> Result<Vec<Value>, NodeWorkError> {
        let context = self.context(node, active, meter)?;
        let argument = active.argument().map(|argument| &**argument);
        if !self.graph.dialect.assigns_in_order() {
            let scope = self.scope(&context, argument, None).with("result", Root::Value(result));
            let evaluated = node.assign.iter();
            return evaluated
                .map(|write| self.evaluate(&write.value, &scope, node, warnings, meter))
                .collect();
        }
        let mut seen = AssignedState::over(&self.channels);
        let mut values = Vec::with_capacity(node.assign.len());
        for write in &node.assign {
            let value = {
                let scope = self.scope(&context, argument, None);
                let scope = scope.with("result", Root::Value(result)).with("state", Root::Fields(&seen));
                self.evaluate(&write.value, &scope, node, warnings, meter)?
            };
            seen.write(active.node(), write, &value, meter)?;
            values.push(value);
        }
        Ok(values)
    }

    fn check_command<'a>(
        &self,
        node: &Node,
        keys: impl Iterator<Item = &'a str>,
        targets: impl Iterator<Item = &'a str>,
    ) -> Result<(), Failure> {
        let denied = |message: String| Failure::new(Category::Denied, message);
        let empty = crate::graph::CommandGrant::default();
        let grant = node.command.as_ref().unwrap_or(&empty);
        for target in targets {
            let found = self.graph.find(target);
            if found.is_none() && target == END && grant.may_end {
                continue;
            }
            if found.is_none() && target != END {
                return Err(denied(format!(
                    "node `{}` goes to `{target}`, which is not in the graph",
                    node.name
                )));
            }
            if !found.is_some_and(|found| grant.may_go_to(found)) {
                return Err(denied(format!(
                    "node `{}` goes to `{target}`, which its `command: {{goto: [..]}}` does not list",
                    node.name
                )));
            }
        }
        for key in keys {
            if !grant.may_write(key) {
                return Err(denied(format!(
                    "node `{}` writes `{key}`, which its `command: {{write: [..]}}` does not list",
                    node.name
                )));
            }
        }
        Ok(())
    }

    /// Has a task that is not running tried again after a wait.
    pub(in crate::walker) fn try_again(
        &mut self,
        now: Timestamp,
        at: usize,
        failure: Failure,
        wait: Duration,
        fx: &mut Vec<Effect>,
    ) {
        let graph = Arc::clone(&self.graph);
        let Some(superstep) = self.phase.superstep_mut() else { return };
        let node = graph.node(superstep.node_of(&superstep.tasks()[at]));
        let task = superstep.task_mut(at);
        let due = now.after(wait);
        task.add_retry(self.position.at(), failure.clone(), wait);
        let timer = TimerId::Retry { task: Arc::clone(task.id()), attempt: task.attempt() + 1 };
        fx.push(Effect::Emit(Notice::Retrying {
            task: Arc::clone(task.id()),
            node: node.name.clone(),
            attempt: task.attempt() + 1,
            due,
            failure: failure.clone(),
        }));
        task.enter(TaskState::Backoff { due, failure });
        self.persist_task(now, at, fx);
        fx.push(Effect::SetTimer { timer, at: due });
    }

    /// Handles the failure of a running attempt's component. If it rejects an answer that it had not seen before, the
    /// question is asked again.
    fn refused_by_component(&mut self, now: Timestamp, at: usize, failure: Failure, fx: &mut Vec<Effect>) {
        let Some(superstep) = self.phase.superstep_mut() else { return };
        let task = superstep.task_mut(at);
        if let Some(question) = task.answers_mut().take_new()
            && failure.category == Category::InvalidInput
            && task.answers_mut().reject()
        {
            let payload = Arc::new(graph_core::question::rejected(&question, &failure.message));
            let size = size::of(&payload);
            task.enter(TaskState::Interrupted { payload, short: None });
            self.add_memory(size);
            if self.exceeds_memory() {
                return self.stop_over_memory(now, fx);
            }
            return self.settled(now, at, fx);
        }
        self.failed(now, at, failure, fx);
    }

    /// Handles the failure of a running attempt: the task is tried again, the failure is handled, or the superstep fails.
    pub(in crate::walker) fn failed(
        &mut self,
        now: Timestamp,
        at: usize,
        failure: Failure,
        fx: &mut Vec<Effect>,
    ) {
        let graph = Arc::clone(&self.graph);
        let Some(superstep) = self.phase.superstep_mut() else { return };
        let task = &superstep.tasks()[at];
        let node = graph.node(superstep.node_of(task));
        let policy = &node.retry;
        let again = task.attempt() < policy.max_attempts
            && failure.category != Category::Denied
            && policy.retry_on.contains(&failure.category);
        if again {
            let wait = back_off(policy, task.attempt(), &self.setup.seed, task.id());
            superstep.end_attempt();
            self.try_again(now, at, failure, wait, fx);
            return;
        }
        let is_item = task.item().is_some();
        if self.has_hooks(HookEvent::Error) {
            if let Some(superstep) = self.phase.superstep_mut() {
                superstep.end_attempt();
            }
            return self.failing(now, at, failure, false, fx);
        }
        let state = self.give_up(node, failure, is_item);
        if let Some(superstep) = self.phase.superstep_mut() {
            superstep.task_mut(at).enter(state);
        }
        self.settled(now, at, fx);
    }

    /// Returns the state of a task after a failure that is not retried.
    pub(in crate::walker) fn give_up(&self, node: &Node, failure: Failure, is_item: bool) -> TaskState {
        let by_item = match &node.kind {
            NodeKind::Foreach(foreach) => is_item && foreach.on_item_error != OnItemError::Fail,
            _ => false,
        };
        if by_item || node.on_error.is_some() || self.graph.on_error == OnError::Continue {
            TaskState::Handled(failure)
        } else {
            TaskState::Failed(failure)
        }
    }

    /// Settles a running task.
    pub(in crate::walker) fn settled(&mut self, now: Timestamp, at: usize, fx: &mut Vec<Effect>) {
        let Some(superstep) = self.phase.superstep_mut() else { return };
        superstep.end_attempt();
        self.closed(now, at, fx);
    }

    /// Settles a task that is not running.
    pub(in crate::walker) fn closed(&mut self, now: Timestamp, at: usize, fx: &mut Vec<Effect>) {
        let Some(superstep) = self.phase.superstep_mut() else { return };
        superstep.close();
        let task = &superstep.tasks()[at];
        let place = task.activated();
        let failure = match task.state() {
            TaskState::Failed(failure) | TaskState::Handled(failure) => Some(failure.clone()),
            _ => None,
        };
        if !matches!(task.state(), TaskState::Interrupted { .. } | TaskState::Suspended { .. }) {
            fx.push(Effect::Emit(Notice::TaskFinished {
                task: Arc::clone(task.id()),
                node: self.graph.node(superstep.activated()[place].node()).name.clone(),
                attempts: task.attempt(),
                fuel: task.used().fuel,
                failure,
            }));
        }
        self.persist_task(now, at, fx);
        if matches!(&self.node_kind(place), Some(NodeKind::Foreach(foreach)) if !foreach.parallel) {
            self.release_items(place);
        }
    }

    fn node_kind(&self, activated: usize) -> Option<&NodeKind> {
        let superstep = self.phase.superstep()?;
        Some(&self.graph.node(superstep.activated()[activated].node()).kind)
    }
}

/// Returns the run's budget that made an attempt fail: the attempt was given less than its item's own limit, and used
/// that up. `own` is the item's limit, `fuel` and `host` the rest of the run's budgets for the attempt, `used` and
/// `asked` its use of each; `refused`: its last call of the host exceeded the limit.
pub(in crate::walker) fn short_of(
    own: &TaskLimits,
    fuel: u64,
    host: HostUse,
    used: u64,
    asked: HostUse,
    refused: bool,
) -> Option<Budget> {
    if fuel < own.fuel && used >= fuel {
        return Some(Budget::Fuel);
    }
    let of_own = own.host();
    if refused && host.calls < of_own.calls && asked.calls >= host.calls {
        return Some(Budget::Calls);
    }
    (refused && host.bytes < of_own.bytes).then_some(Budget::Bytes)
}

/// Returns the run's budget of models that made an attempt fail: `figure` ended the attempt, which was given less of
/// that than its item's own limit.
pub(in crate::walker) fn short_of_models(
    own: &TaskLimits,
    host: HostUse,
    figure: Option<ModelFigure>,
) -> Option<Budget> {
    figure.filter(|figure| figure.of(host.model) < figure.of(own.model)).map(Budget::from)
}

/// Returns the memory of an attempt's report without its journal, in bytes.
fn report_size(report: &TaskReport) -> u64 {
    let result = match &report.result {
        Ok(outcome) => outcome_size(outcome),
        Err(failure) => failure_size(failure),
    };
    let events = report.events.iter().map(|event| event.name.len() as u64 + size::of(&event.payload));
    let logs = report.logs.iter().map(|line| line.message.len() as u64);
    let warnings = report.warnings.iter().map(|warning| warning.len() as u64);
    events.chain(logs).chain(warnings).fold(result, u64::saturating_add)
}
