//! Applies the verdicts of hooks: retries or passes over a failure, extends a limit, fails a run.

use std::sync::Arc;

use crate::hook::{ADDITIONAL_STEPS, MAX_RETRIES};
use crate::walker::Walker;
use crate::walker::event::Effect;
use crate::walker::hooks::calls::HookSubject;
use crate::walker::phase::{Cause, Phase};
use crate::walker::stop::limit_codes::LimitCode;
use crate::walker::stop::stops::PendingStop;
use crate::walker::tasks::start::back_off;
use crate::walker::tasks::superstep::Superstep;
use crate::walker::tasks::task::TaskState;
use graph_core::hook_event::{Control, ControlAction, HookEvent};
use graph_core::node::{Category, Failure};
use graph_core::record::{CanonicalValue, ErrorCode, HookRecord, InterruptRecord, RunError, Status};
use graph_core::time::Timestamp;
use graph_core::work::Meter;

/// The combined result of hooks that were asked together.
#[derive(Debug, Default)]
pub(in crate::walker) struct HookVerdict {
    /// The first control result that its event permits, with the hook that gave it.
    control: Option<(Control, String)>,
    /// The first hook that had to succeed and has not.
    failed: Option<HookRecord>,
    /// Warnings about control results that have no meaning at their event.
    meaningless: Vec<String>,
}

impl HookVerdict {
    pub(in crate::walker) fn from_results<'r>(results: impl Iterator<Item = &'r HookRecord>) -> Self {
        let mut verdict = Self::default();
        for record in results {
            if record.required && record.failure.is_some() && verdict.failed.is_none() {
                verdict.failed = Some(record.clone());
            }
            let Some(control) = record.control else { continue };
            if !record.event.takes(control.action) {
                // For a control that is written in the document, the warning was raised when it was read.
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

/// Returns the error of a run that a hook has failed.
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
        limit: None,
        message: format!("hook `{}` ({}) is required and failed: {reason}", record.hook, record.event),
        node: None,
    }
}

fn aborted(event: &str, hook: &str) -> RunError {
    RunError::new(ErrorCode::NodeFailed, format!("hook `{hook}` ({event}) aborts the run"))
}

impl Walker {
    /// Asks the hooks of the newest boundary that are due, and returns `true` if there are any.
    pub(in crate::walker) fn ask_at_boundary(&mut self, now: Timestamp, fx: &mut Vec<Effect>) -> bool {
        if !self.hooks.are_due() {
            return false;
        }
        self.phase.enter(Cause::Ask, Phase::Hooks(None));
        self.hooks.ask_at_boundary();
        self.ask(&HookSubject::Run, now, fx);
        true
    }

    /// Asks hooks about the tasks of a superstep that failed before they could start, or whose hooks were interrupted.
    pub(in crate::walker) fn ask_about_failures(&mut self, now: Timestamp, fx: &mut Vec<Effect>) {
        let mut at = 0;
        while let Some(task) = self.phase.superstep().and_then(|superstep| superstep.tasks().get(at)) {
            if let TaskState::Failing { failure, hooks_asked } = task.state() {
                let (failure, hooks_asked) = (failure.clone(), *hooks_asked);
                self.failing(now, at, failure, hooks_asked, fx);
            }
            at += 1;
        }
    }

    /// Asks hooks about a task that has failed, has used up its retries and has no running attempt. `hooks_asked`: hooks were
    /// already being asked about this failure.
    pub(in crate::walker) fn failing(
        &mut self,
        now: Timestamp,
        at: usize,
        failure: Failure,
        hooks_asked: bool,
        fx: &mut Vec<Effect>,
    ) {
        let Some(superstep) = self.phase.superstep_mut() else { return };
        if !hooks_asked {
            superstep.task_mut(at).account_mut().ask();
        }
        let mut warnings = Vec::new();
        // The evaluation of the hooks' templates was charged when they were first asked.
        let meter = if hooks_asked { Meter::of_one_step() } else { superstep.tasks()[at].account().meter() };
        let planned = match self.phase.superstep() {
            Some(superstep) => {
                self.plan_error(superstep, &superstep.tasks()[at], &failure, &mut warnings, &meter)
            }
            None => return,
        };
        if !hooks_asked {
            self.count_task_work(at, meter.spent());
        }
        let Some(superstep) = self.phase.superstep_mut() else { return };
        let task = superstep.task_mut(at);
        for warning in warnings {
            task.warn_once(warning);
        }
        let id = Arc::clone(task.id());
        task.enter(TaskState::Failing { failure, hooks_asked: true });
        // Without this record, a crash would have the task executed again, and hook results could be about a failure that does not recur.
        if !planned.is_empty() && !hooks_asked {
            self.persist_task(now, at, fx);
        }
        self.hooks.ask_about_task(Arc::clone(&id), planned);
        self.ask(&HookSubject::Task(id), now, fx);
    }

    /// Applies the verdict of the hooks about a subject, once all have ended.
    pub(in crate::walker) fn follow_verdict(
        &mut self,
        subject: &HookSubject,
        mut verdict: HookVerdict,
        now: Timestamp,
        fx: &mut Vec<Effect>,
    ) {
        let meaningless = std::mem::take(&mut verdict.meaningless);
        match subject {
            HookSubject::Run => {
                for warning in meaningless {
                    self.warn_once(warning);
                }
                match self.hooks.take_stop() {
                    Some(stop) => self.after_stop(stop, verdict, now, fx),
                    None => self.after_boundary(verdict, now, fx),
                }
            }
            HookSubject::Task(task) => {
                let Some(superstep) = self.phase.superstep_mut() else { return };
                let Some(at) = superstep.find(task) else { return };
                superstep.task_mut(at).add_warnings(meaningless);
                self.after_failure(at, verdict, now, fx);
            }
        }
    }

    fn after_boundary(&mut self, verdict: HookVerdict, now: Timestamp, fx: &mut Vec<Effect>) {
        if let Some(failed) = &verdict.failed {
            let error = hook_error(failed);
            return match failed.budget {
                Some(budget) => self.stop_at_limit(now, LimitCode::Budget(budget), error, fx),
                None => self.suspend(now, Status::Failed, Some(error), fx),
            };
        }
        self.hooks.pass();
        if let Some((_, hook)) = verdict.control {
            // At a boundary, only `abort` has a meaning.
            if self.stop.has_ended() {
                self.warn_once(format!("hook `{hook}` aborts the run, which has ended already"));
            } else {
                let event = self.hooks.planned().first().map_or(HookEvent::AfterStep, |hook| hook.event);
                let error = aborted(event.as_str(), &hook);
                return self.suspend(now, Status::Failed, Some(error), fx);
            }
        }
        if self.stop.has_ended() {
            self.stop.take_end();
            let id = self.write_status(now, fx);
            self.phase.enter(Cause::Pass, Phase::Boundary(id));
        } else {
            self.pass_hooks();
        }
    }

    /// Continues once the results of hooks are persisted.
    fn pass_hooks(&mut self) {
        let next = self.hooks.awaited_record().map_or(Phase::Ready, Phase::Boundary);
        self.phase.enter(Cause::Pass, next);
    }

    fn after_stop(&mut self, stop: PendingStop, verdict: HookVerdict, now: Timestamp, fx: &mut Vec<Effect>) {
        let status = stop.status;
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
                if stop.limit != Some(LimitCode::MaxSteps) {
                    self.warn_once(format!(
                        "hook `{hook}` would continue the run, and this limit is not one that it can extend"
                    ));
                    return self.stop_for_good(now, stop, fx);
                }
                let more = additional_steps.unwrap_or(ADDITIONAL_STEPS);
                self.hooks.extend_to(self.limits.extend(more));
                self.pass_hooks();
            }
            _ => self.stop_for_good(now, stop, fx),
        }
    }

    fn after_failure(&mut self, at: usize, verdict: HookVerdict, now: Timestamp, fx: &mut Vec<Effect>) {
        let Some(superstep) = self.phase.superstep_mut() else { return };
        let task = superstep.task_mut(at);
        let TaskState::Failing { failure, .. } = task.state() else { return };
        let mut failure = failure.clone();
        if let Some(failed) = &verdict.failed {
            failure.message = format!("{}; {}", failure.message, hook_error(failed).message);
            task.enter(match failed.budget {
                Some(budget) => TaskState::Exhausted { budget, within: None },
                None => TaskState::Failed(failure),
            });
            return self.closed(now, at, fx);
        }
        let Some((control, hook)) = verdict.control else { return self.stands(now, at, failure, fx) };
        match control.action {
            ControlAction::Fail => self.stands(now, at, failure, fx),
            ControlAction::Continue => {
                task.pass(failure);
                self.closed(now, at, fx);
            }
            ControlAction::Abort => {
                // The other tasks of the superstep finish, as after every failure: their results do not depend on the
                // order.
                failure.message = format!("{}; hook `{hook}` (error) aborts the run", failure.message);
                task.enter(TaskState::Failed(failure));
                self.closed(now, at, fx);
            }
            ControlAction::Retry => {
                let why_not = if failure.category == Category::Denied {
                    Some("a denied dispatch is never tried again")
                } else if task.dispatch().is_none() {
                    Some("nothing was dispatched that could give another result")
                } else {
                    None
                };
                if let Some(reason) = why_not {
                    task.add_warnings([format!("hook `{hook}` would have it tried again, but {reason}")]);
                }
                if why_not.is_some() || task.retried() >= control.max_retries.unwrap_or(MAX_RETRIES) {
                    return self.stands(now, at, failure, fx);
                }
                task.count_hook_retry();
                self.retry_for_hook(now, at, failure, fx);
            }
        }
    }

    /// Starts one more attempt, at once or after the wait of the node's retry policy.
    fn retry_for_hook(&mut self, now: Timestamp, at: usize, failure: Failure, fx: &mut Vec<Effect>) {
        let graph = Arc::clone(&self.graph);
        let Some(superstep) = self.phase.superstep_mut() else { return };
        let task = &superstep.tasks()[at];
        let node = graph.node(superstep.node_of(task));
        let waits = node.retry.max_attempts > 1;
        let wait = if waits {
            back_off(&node.retry, task.attempt(), &self.setup.seed, task.id())
        } else {
            std::time::Duration::ZERO
        };
        self.try_again(now, at, failure, wait, fx);
    }

    /// Lets the failure of a task that is not running stand: the next step of the error order decides.
    fn stands(&mut self, now: Timestamp, at: usize, failure: Failure, fx: &mut Vec<Effect>) {
        let graph = Arc::clone(&self.graph);
        let Some(superstep) = self.phase.superstep_mut() else { return };
        let task = &superstep.tasks()[at];
        let node = graph.node(superstep.node_of(task));
        let is_item = task.item().is_some();
        let state = self.give_up(node, failure, is_item);
        if let Some(superstep) = self.phase.superstep_mut() {
            superstep.task_mut(at).enter(state);
        }
        self.closed(now, at, fx);
    }

    /// Returns the questions of the tasks of a superstep, in task order.
    pub(in crate::walker) fn questions(&self, superstep: &Superstep) -> Vec<InterruptRecord> {
        let asked = superstep.tasks().iter().filter_map(|task| match task.state() {
            TaskState::Interrupted { payload, short } => Some(InterruptRecord {
                budget: short.as_ref().map(|short| short.figure),
                id: format!("{}/{}", task.id(), task.answers().len()),
                node: self.graph.node(superstep.node_of(task)).name.clone(),
                payload: CanonicalValue(Arc::clone(payload)),
            }),
            _ => None,
        });
        asked.collect()
    }
}
