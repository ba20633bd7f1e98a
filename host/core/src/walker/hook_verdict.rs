//! What comes of hooks: a failure that is tried again or passed, a limit that is extended, a run that fails.

use std::sync::Arc;

use serde_json::Value;

use super::Walker;
use super::event::Effect;
use super::hooks::{Queue, Subject};
use super::machine::Phase;
use super::schedule::back_off;
use super::superstep::{Superstep, TaskState};
use crate::hook::{ADDITIONAL_STEPS, Control, ControlAction, HookEvent, MAX_RETRIES};
use crate::limits::Budget;
use crate::node::{Category, Failure};
use crate::record::{Canonical, ErrorCode, HookRecord, InterruptRecord, PlannedAction, RunError, Status};
use crate::time::Timestamp;
use crate::work::Meter;

/// The limit that `additional_steps` extends.
const MAX_STEPS: &str = "max_steps_exceeded";

/// Why a run is about to stop.
#[derive(Clone, Debug)]
pub(super) struct Stop {
    pub(super) status: Status,
    pub(super) error: Option<RunError>,
    /// More of `max_steps` would let it go on.
    pub(super) extends: bool,
}

/// What a run has reached the limit of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LimitCode {
    MaxSteps,
    MaxTotalSteps,
    MaxVisits,
    MaxFanOut,
    Timeout,
    Budget(Budget),
}

impl LimitCode {
    /// The name that hooks read.
    const fn as_str(self) -> &'static str {
        match self {
            Self::MaxSteps => MAX_STEPS,
            Self::MaxTotalSteps => "max_total_steps_exceeded",
            Self::MaxVisits => "max_visits_exceeded",
            Self::MaxFanOut => "max_fan_out_exceeded",
            Self::Timeout => "timeout_exceeded",
            Self::Budget(Budget::Fuel) => "fuel_exceeded",
            Self::Budget(Budget::Calls) => "calls_exceeded",
            Self::Budget(Budget::Bytes) => "bytes_exceeded",
            Self::Budget(Budget::Steps) => "steps_exceeded",
            Self::Budget(Budget::State) => "state_exceeded",
            Self::Budget(Budget::Results) => "results_exceeded",
            Self::Budget(Budget::Stored) => "stored_exceeded",
            Self::Budget(Budget::Work) => "work_exceeded",
        }
    }
}

/// What hooks that were asked together have come to.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    /// The first control result that means something, with the hook that gave it.
    control: Option<(Control, String)>,
    /// The first hook that had to succeed and has not.
    failed: Option<HookRecord>,
    /// Control results that mean nothing, for warnings.
    meaningless: Vec<String>,
}

impl Verdict {
    pub(super) fn of<'r>(results: impl Iterator<Item = &'r HookRecord>) -> Self {
        let mut verdict = Self::default();
        for record in results {
            if record.required && record.failure.is_some() && verdict.failed.is_none() {
                verdict.failed = Some(record.clone());
            }
            let Some(control) = record.control else { continue };
            if !record.event.takes(control.action) {
                // What is written in a document has been warned about there.
                if record.item.is_some() {
                    verdict.meaningless.push(format!(
                        "hook `{}` answered `{}`, which means nothing at `{}`",
                        record.hook, control.action, record.event
                    ));
                }
            } else if verdict.control.is_none() {
                verdict.control = Some((control, record.hook.clone()));
            }
        }
        verdict
    }
}

/// The error of a run that a hook has failed.
fn hook_error(record: &HookRecord) -> RunError {
    let failure = record.failure.as_ref();
    let denied = failure.is_some_and(|failure| failure.category == Category::Denied);
    let reason = failure.map(ToString::to_string).unwrap_or_default();
    RunError {
        budget: record.budget,
        category: failure.map(|failure| failure.category),
        code: match record.budget {
            Some(_) => ErrorCode::Limit,
            None if denied => ErrorCode::Denied,
            None => ErrorCode::NodeFailed,
        },
        message: format!("hook `{}` ({}) is required and failed: {reason}", record.hook, record.event),
        node: None,
    }
}

fn aborted(event: &str, hook: &str) -> RunError {
    RunError {
        budget: None,
        category: None,
        code: ErrorCode::NodeFailed,
        message: format!("hook `{hook}` ({event}) aborts the run"),
        node: None,
    }
}

impl Walker {
    /// Asks the hooks of the newest boundary, if there are any that have not had their say.
    pub(super) fn ask_at_boundary(&mut self, now: Timestamp, fx: &mut Vec<Effect>) -> bool {
        if self.hooks.passed || self.hooks.planned.is_empty() {
            return false;
        }
        self.phase = Phase::Hooks;
        self.hooks.handed_out = None;
        self.hooks.queue = Some(Queue::new(self.hooks.planned.clone()));
        self.ask(&Subject::Run, now, fx);
        true
    }

    /// Stops at a limit, unless a hook has the run go on.
    pub(super) fn stop_at_limit(
        &mut self,
        now: Timestamp,
        code: LimitCode,
        error: RunError,
        fx: &mut Vec<Effect>,
    ) {
        let (value, most) = match code {
            LimitCode::MaxSteps => (Value::from(self.step), Value::from(self.max_steps)),
            LimitCode::MaxTotalSteps => (Value::from(self.step), Value::from(self.max_total_steps())),
            LimitCode::MaxVisits => {
                let most = self.graph.max_visits_per_node;
                (most.map_or(Value::Null, |most| Value::from(most.saturating_add(1))), Value::from(most))
            }
            LimitCode::MaxFanOut => (Value::Null, Value::from(self.graph.max_fan_out)),
            LimitCode::Timeout => (Value::Null, Value::from(self.run_timeout().as_secs_f64())),
            LimitCode::Budget(budget) => (Value::Null, Value::from(budget.of(&self.budgets()))),
        };
        let planned = self.plan_limit(code.as_str(), value, most);
        let stop = Stop { status: Status::Limit, error: Some(error), extends: code == LimitCode::MaxSteps };
        self.stop(now, stop, planned, fx);
    }

    /// Stops because something is asked.
    pub(super) fn stop_to_ask(
        &mut self,
        now: Timestamp,
        status: Status,
        error: Option<RunError>,
        open: &[InterruptRecord],
        fx: &mut Vec<Effect>,
    ) {
        let planned = if open.is_empty() { Vec::new() } else { self.plan_interrupt(open) };
        self.stop(now, Stop { status, error, extends: false }, planned, fx);
    }

    fn stop(
        &mut self,
        now: Timestamp,
        stop: Stop,
        planned: Vec<crate::record::PlannedHook>,
        fx: &mut Vec<Effect>,
    ) {
        if planned.is_empty() {
            return self.suspend(now, stop.status, stop.error, fx);
        }
        self.abort_all(fx);
        self.phase = Phase::Hooks;
        self.hooks.handed_out = None;
        self.hooks.stop = Some(stop);
        self.hooks.queue = Some(Queue::new(planned));
        self.ask(&Subject::Run, now, fx);
    }

    /// Asks hooks about the tasks of a superstep that have failed before they could start, or whose hooks were cut
    /// short.
    pub(super) fn ask_about_failures(&mut self, now: Timestamp, fx: &mut Vec<Effect>) {
        let mut at = 0;
        while let Some(task) = self.superstep.as_ref().and_then(|superstep| superstep.tasks.get(at)) {
            if let TaskState::Failing { failure, told } = &task.state {
                let (failure, told) = (failure.clone(), *told);
                self.failing(now, at, failure, told, fx);
            }
            at += 1;
        }
    }

    /// A task has failed, its retry policy is used up, and no attempt of it is running. `told`: hooks were being asked
    /// about this failure before.
    pub(super) fn failing(
        &mut self,
        now: Timestamp,
        at: usize,
        failure: Failure,
        told: bool,
        fx: &mut Vec<Effect>,
    ) {
        let Some(superstep) = &mut self.superstep else { return };
        if !told {
            superstep.tasks[at].used.asked += 1;
        }
        let mut warnings = Vec::new();
        // What it takes to work out what they are asked was paid for when they were asked first.
        let meter = if told { Meter::of_one_step() } else { superstep.tasks[at].meter() };
        let planned = match &self.superstep {
            Some(superstep) => {
                self.plan_error(superstep, &superstep.tasks[at], &failure, &mut warnings, &meter)
            }
            None => return,
        };
        if !told {
            self.count_task_work(at, meter.spent());
        }
        let Some(superstep) = &mut self.superstep else { return };
        let task = &mut superstep.tasks[at];
        for warning in warnings {
            if !task.warnings.contains(&warning) {
                task.warnings.push(warning);
            }
        }
        let id = Arc::clone(&task.id);
        let waits = planned.iter().any(|hook| matches!(hook.action, PlannedAction::Run { .. }));
        task.state = TaskState::Failing { failure, told: true };
        if waits && !told {
            self.persist_task(now, at, fx);
        }
        self.hooks.tasks.insert(Arc::clone(&id), Queue::new(planned));
        self.ask(&Subject::Task(id), now, fx);
    }

    /// Every hook of a subject has come to something.
    pub(super) fn follow_verdict(
        &mut self,
        subject: &Subject,
        mut verdict: Verdict,
        now: Timestamp,
        fx: &mut Vec<Effect>,
    ) {
        let meaningless = std::mem::take(&mut verdict.meaningless);
        match subject {
            Subject::Run => {
                for warning in meaningless {
                    self.warn_once(warning);
                }
                match self.hooks.stop.take() {
                    Some(stop) => self.after_stop(stop, verdict, now, fx),
                    None => self.after_boundary(verdict, now, fx),
                }
            }
            Subject::Task(task) => {
                let Some(superstep) = &mut self.superstep else { return };
                let Some(at) = superstep.find(task) else { return };
                superstep.tasks[at].warnings.extend(meaningless);
                self.after_failure(at, verdict, now, fx);
            }
        }
    }

    fn after_boundary(&mut self, verdict: Verdict, now: Timestamp, fx: &mut Vec<Effect>) {
        if let Some(failed) = &verdict.failed {
            let error = hook_error(failed);
            return match failed.budget {
                Some(budget) => self.stop_at_limit(now, LimitCode::Budget(budget), error, fx),
                None => self.suspend(now, Status::Failed, Some(error), fx),
            };
        }
        self.hooks.passed = true;
        if let Some((_, hook)) = verdict.control {
            // Of what a boundary's hooks may say, only `abort` means anything.
            if self.end.is_some() {
                self.warn_once(format!("hook `{hook}` aborts the run, which has ended already"));
            } else {
                let event = if self.step == 0 { HookEvent::GraphStarted } else { HookEvent::AfterStep };
                let error = aborted(event.as_str(), &hook);
                return self.suspend(now, Status::Failed, Some(error), fx);
            }
        }
        if let Some(end) = &self.end {
            self.status = end.status;
            self.error = None;
            let id = self.write_status(now, fx);
            self.phase = Phase::Boundary(id);
        } else {
            self.pass_hooks();
        }
    }

    /// Goes on once what hooks have come to is persisted.
    fn pass_hooks(&mut self) {
        self.phase = self.hooks.handed_out.map_or(Phase::Ready, Phase::Boundary);
    }

    fn after_stop(&mut self, stop: Stop, verdict: Verdict, now: Timestamp, fx: &mut Vec<Effect>) {
        let Stop { status, error, extends } = stop;
        if let Some(failed) = &verdict.failed {
            let status = if failed.budget.is_some() { Status::Limit } else { Status::Failed };
            return self.suspend(now, status, Some(hook_error(failed)), fx);
        }
        let event = if status == Status::Limit { "limit" } else { "interrupt" };
        match verdict.control {
            Some((Control { action: ControlAction::Abort, .. }, hook)) => {
                let error = aborted(event, &hook);
                self.suspend(now, Status::Failed, Some(error), fx);
            }
            Some((Control { action: ControlAction::Continue, additional_steps, .. }, hook)) => {
                if !extends {
                    self.warn_once(format!(
                        "hook `{hook}` would have the run go on, and this limit is not one that it can extend"
                    ));
                    return self.suspend(now, status, error, fx);
                }
                let more = additional_steps.unwrap_or(ADDITIONAL_STEPS);
                self.max_steps = self.max_steps.saturating_add(more);
                self.hooks.max_steps = Some(self.max_steps);
                self.pass_hooks();
            }
            _ => self.suspend(now, status, error, fx),
        }
    }

    fn after_failure(&mut self, at: usize, verdict: Verdict, now: Timestamp, fx: &mut Vec<Effect>) {
        let Some(superstep) = &mut self.superstep else { return };
        let task = &mut superstep.tasks[at];
        let TaskState::Failing { failure, .. } = &task.state else { return };
        let mut failure = failure.clone();
        if let Some(failed) = &verdict.failed {
            failure.message = format!("{}; {}", failure.message, hook_error(failed).message);
            task.state = match failed.budget {
                Some(budget) => TaskState::Exhausted { budget, within: None },
                None => TaskState::Failed(failure),
            };
            return self.closed(now, at, fx);
        }
        let Some((control, hook)) = verdict.control else { return self.stands(now, at, failure, fx) };
        match control.action {
            ControlAction::Fail => self.stands(now, at, failure, fx),
            ControlAction::Continue => {
                task.continued = true;
                task.state = TaskState::Handled(failure);
                self.closed(now, at, fx);
            }
            ControlAction::Abort => {
                // The siblings finish, as at every failure: what they come to does not depend on who is first.
                failure.message = format!("{}; hook `{hook}` (error) aborts the run", failure.message);
                task.state = TaskState::Failed(failure);
                self.closed(now, at, fx);
            }
            ControlAction::Retry => {
                let why_not = if failure.category == Category::Denied {
                    Some("a denied dispatch is never tried again")
                } else if task.dispatch.is_none() {
                    Some("nothing was dispatched that could come to something else")
                } else {
                    None
                };
                if let Some(reason) = why_not {
                    task.warnings.push(format!("hook `{hook}` would have it tried again, but {reason}"));
                }
                if why_not.is_some() || task.retried >= control.max_retries.unwrap_or(MAX_RETRIES) {
                    return self.stands(now, at, failure, fx);
                }
                task.retried += 1;
                self.retry_for_hook(now, at, failure, fx);
            }
        }
    }

    /// One more attempt: at once, or after the wait that the node's own retry policy has.
    fn retry_for_hook(&mut self, now: Timestamp, at: usize, failure: Failure, fx: &mut Vec<Effect>) {
        let graph = Arc::clone(&self.graph);
        let Some(superstep) = &mut self.superstep else { return };
        let task = &mut superstep.tasks[at];
        let node = graph.node(superstep.activated[task.activated].node);
        let waits = node.retry.max_attempts > 1;
        let wait = if waits {
            back_off(&node.retry, task.attempt, &self.setup.seed, &task.id)
        } else {
            std::time::Duration::ZERO
        };
        self.try_again(now, at, failure, wait, fx);
    }

    /// The failure of a task that is not running stands: the rest of the error order decides.
    fn stands(&mut self, now: Timestamp, at: usize, failure: Failure, fx: &mut Vec<Effect>) {
        let graph = Arc::clone(&self.graph);
        let Some(superstep) = &mut self.superstep else { return };
        let task = &mut superstep.tasks[at];
        let node = graph.node(superstep.activated[task.activated].node);
        let is_item = task.item.is_some();
        let state = self.give_up(node, failure, is_item);
        if let Some(superstep) = &mut self.superstep {
            superstep.tasks[at].state = state;
        }
        self.closed(now, at, fx);
    }

    /// What the tasks of a superstep ask, in task order.
    pub(super) fn questions(&self, superstep: &Superstep) -> Vec<InterruptRecord> {
        let asked = superstep.tasks.iter().filter_map(|task| match &task.state {
            TaskState::Interrupted { payload } => Some(InterruptRecord {
                id: format!("{}/{}", task.id, task.answers.len()),
                node: self.graph.node(superstep.activated[task.activated].node).name.clone(),
                payload: Canonical(Arc::clone(payload)),
            }),
            _ => None,
        });
        asked.collect()
    }
}
