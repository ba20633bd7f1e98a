//! Ways in which a run stops: at a limit, with questions, on request, and because a record cannot be stored.

use std::sync::Arc;

use serde_json::Value;

use crate::walker::Walker;
use crate::walker::event::{Effect, Notice, PersistId};
use crate::walker::hooks::calls::HookSubject;
use crate::walker::machine::illegal;
use crate::walker::phase::{Cause, Phase, PhaseName, RefusedTransition};
use crate::walker::setup::HandleError;
use crate::walker::stop::limit_codes::LimitCode;
use crate::walker::tasks::start::limit;
use crate::walker::tasks::task::TaskState;
use graph_core::policy::Durability;
use graph_core::record::{EncodeError, ErrorCode, InterruptRecord, PlannedHook, RunError, Status, StopLimit};
use graph_core::time::Timestamp;

/// Reason why a run is about to stop.
#[derive(Clone, Debug)]
pub(in crate::walker) struct PendingStop {
    pub status: Status,
    pub error: Option<RunError>,
    /// The limit at which the run stops, if any.
    pub limit: Option<LimitCode>,
    /// `true` once the hooks of the end have been asked about the stop.
    pub is_end: bool,
}

impl PendingStop {
    fn new(status: Status, error: Option<RunError>) -> Self {
        Self { status, error, limit: None, is_end: false }
    }
}

impl Walker {
    /// Stops at a limit, unless a hook makes the run continue.
    pub(in crate::walker) fn stop_at_limit(
        &mut self,
        now: Timestamp,
        code: LimitCode,
        error: RunError,
        fx: &mut Vec<Effect>,
    ) {
        let (value, most) = match code {
            LimitCode::MaxSteps => (Value::from(self.position.step()), Value::from(self.limits.max_steps())),
            LimitCode::MaxTotalSteps => {
                (Value::from(self.position.step()), Value::from(self.max_total_steps()))
            }
            LimitCode::MaxVisits => {
                let most = self.graph.max_visits_per_node;
                (most.map_or(Value::Null, |most| Value::from(most.saturating_add(1))), Value::from(most))
            }
            LimitCode::MaxFanOut => (Value::Null, Value::from(self.graph.max_fan_out)),
            LimitCode::Timeout => (Value::Null, Value::from(self.run_timeout().as_secs_f64())),
            LimitCode::Budget(budget) => (Value::Null, Value::from(self.most_of(budget))),
        };
        let planned = self.plan_limit(code.as_str(), value, most);
        let stop = PendingStop { limit: Some(code), ..PendingStop::new(Status::Limit, Some(error)) };
        self.stop(now, stop, planned, fx);
    }

    /// Stops because of open questions, unless a hook prevents it.
    pub(in crate::walker) fn stop_to_ask(
        &mut self,
        now: Timestamp,
        status: Status,
        error: Option<RunError>,
        open: &[InterruptRecord],
        fx: &mut Vec<Effect>,
    ) {
        let planned = if open.is_empty() { Vec::new() } else { self.plan_interrupt(open) };
        self.stop(now, PendingStop::new(status, error), planned, fx);
    }

    fn stop(&mut self, now: Timestamp, stop: PendingStop, planned: Vec<PlannedHook>, fx: &mut Vec<Effect>) {
        if planned.is_empty() {
            return self.stop_for_good(now, stop, fx);
        }
        self.ask_about_stop(now, stop, planned, fx);
    }

    fn ask_about_stop(
        &mut self,
        now: Timestamp,
        stop: PendingStop,
        planned: Vec<PlannedHook>,
        fx: &mut Vec<Effect>,
    ) {
        self.abort_all(fx);
        let superstep = self.phase.take_superstep();
        self.phase.enter(Cause::Ask, Phase::Hooks(superstep));
        self.hooks.ask_about_stop(stop, planned);
        self.ask(&HookSubject::Run, now, fx);
    }

    /// Stops, since no hook has the run continue. At a limit, the hooks of the end are asked first.
    pub(in crate::walker) fn stop_for_good(
        &mut self,
        now: Timestamp,
        stop: PendingStop,
        fx: &mut Vec<Effect>,
    ) {
        if let Some(code) = stop.limit.filter(|_| !stop.is_end) {
            let planned = self.plan_end_at_limit(code.as_str());
            if !planned.is_empty() {
                return self.ask_about_stop(now, PendingStop { is_end: true, ..stop }, planned, fx);
            }
        }
        self.suspend(now, stop.status, stop.error, fx);
    }

    pub(in crate::walker) fn time_out(&mut self, now: Timestamp, fx: &mut Vec<Effect>) {
        self.stop.set_timed_out(false);
        self.abandon_work();
        let seconds = self.run_timeout().as_secs_f64();
        let whose =
            if self.graph.timeout <= self.budgets().timeout { "of the graph" } else { "of the manifest" };
        let message = format!(
            "the run's time limit of {seconds} s is over (`timeout` {whose}); a resumed run has as much time again"
        );
        let error = RunError { limit: Some(StopLimit::Timeout), ..limit(None, message) };
        self.stop_at_limit(now, LimitCode::Timeout, error, fx);
    }

    /// Requests a stop once running tasks have ended; a run that has stopped for good ignores it.
    pub(in crate::walker) fn request_cancel(&mut self) {
        if !matches!(self.phase.name(), PhaseName::Finished | PhaseName::Broken) {
            self.stop.request_cancel();
        }
    }

    /// Stops at once, or as soon as the run would continue.
    pub(in crate::walker) fn kill(&mut self, now: Timestamp, fx: &mut Vec<Effect>) {
        match self.phase.name() {
            PhaseName::Running
            | PhaseName::Ready
            | PhaseName::Making
            | PhaseName::Committing
            | PhaseName::Boundary
            | PhaseName::Hooks
                if self.stop.end().is_none() || self.phase.name() == PhaseName::Hooks =>
            {
                self.suspend(now, Status::Killed, None, fx);
            }
            // Nothing is running: the run stops when it would next do something.
            PhaseName::New | PhaseName::Suspended | PhaseName::Planning => {
                self.stop.request_kill();
            }
            _ => {}
        }
    }

    /// Discards unfinished work, since the run stops.
    fn abandon_work(&mut self) {
        self.abandon_making();
        self.abandon_commit();
    }

    /// Abandons all running tasks and hooks.
    pub(in crate::walker) fn abort_all(&mut self, fx: &mut Vec<Effect>) {
        self.abort_hooks(fx);
        let Some(superstep) = self.phase.superstep_mut() else { return };
        let aborted = &mut self.aborted;
        superstep.give_up_running(|task, attempt| {
            fx.push(Effect::Abort { task: Arc::clone(task), attempt });
            aborted.insert((Arc::clone(task), attempt));
        });
    }

    /// Stops before the end of the run: persists everything that is known, then notifies the driver.
    pub(in crate::walker) fn suspend(
        &mut self,
        now: Timestamp,
        status: Status,
        error: Option<RunError>,
        fx: &mut Vec<Effect>,
    ) {
        self.abandon_work();
        self.abort_all(fx);
        // Work that did not lead to a boundary is done again after a resume, and is charged then.
        self.usage.forget_work();
        self.stop.forget_requests();
        if self.position.unwritten().is_some()
            && let Err(error) = self.write_checkpoint(fx)
        {
            return self.unwritable(&error, fx);
        }
        if self.setup.durability == Durability::Exit {
            for at in 0..self.phase.superstep().map_or(0, |superstep| superstep.tasks().len()) {
                self.write_task(now, at, fx);
            }
        }
        if let Some(superstep) = self.phase.take_superstep() {
            for task in superstep.tasks() {
                let fresh = task.warnings().iter().filter(|_| matches!(task.state(), TaskState::Failed(_)));
                self.warnings.keep(fresh.cloned());
            }
            self.pending = superstep.into_pending();
            self.stop.wait_for(self.pending.interrupts(&self.graph));
        }
        self.stop.end_recovery();
        self.begin_counting();
        self.write_hooks(fx);
        if let Some(error) = &error {
            fx.push(Effect::Emit(Notice::Stopped(error.clone())));
        }
        self.stop.stop(status, error);
        let id = self.write_status(now, fx);
        self.phase.enter(Cause::Suspend, Phase::Suspending(id));
    }

    /// Stops the run because the store has refused a record.
    pub(in crate::walker) fn persist_failed(
        &mut self,
        id: PersistId,
        message: &str,
        fx: &mut Vec<Effect>,
    ) -> Result<(), HandleError> {
        if !self.position.has_handed_out(id) {
            return Err(illegal("nothing with that id was to be persisted"));
        }
        self.abort_all(fx);
        self.phase.take_superstep();
        let error = RunError::new(ErrorCode::Storage, format!("the run could not be stored: {message}"));
        fx.push(Effect::Emit(Notice::Stopped(error.clone())));
        self.break_down(error, fx);
        Ok(())
    }

    /// Stops the run because a record cannot be written as text.
    pub(in crate::walker) fn unwritable(&mut self, error: &EncodeError, fx: &mut Vec<Effect>) {
        self.break_down(RunError::new(ErrorCode::Storage, error.to_string()), fx);
    }

    /// Stops the run because it was about to change its phase against the table: its records would not be right.
    pub(in crate::walker) fn break_down_at(&mut self, refused: RefusedTransition, fx: &mut Vec<Effect>) {
        self.abort_all(fx);
        let error = RunError::new(ErrorCode::Storage, refused.to_string());
        fx.push(Effect::Emit(Notice::Stopped(error.clone())));
        self.break_down(error, fx);
    }

    /// Stops for good in this process: nothing more of the run is stored.
    fn break_down(&mut self, error: RunError, fx: &mut Vec<Effect>) {
        let superstep = self.phase.take_superstep();
        self.phase.enter(Cause::Refuse, Phase::Broken(superstep));
        self.stop.stop(Status::Failed, Some(error));
        fx.push(Effect::Suspend(Status::Failed));
    }
}
