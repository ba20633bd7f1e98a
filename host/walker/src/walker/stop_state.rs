//! Whether a run is active, which stops were requested, and why it has stopped.

use super::event::PersistId;
use graph_core::record::{End, InterruptRecord, RunError, Status};

/// How many slices of work a run may still take that was asked to stop while a superstep commits.
const PATIENCE: u32 = 25;

/// The phase of the walker between events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing has happened yet.
    New,
    /// A boundary waits to be persisted.
    Boundary(PersistId),
    /// A superstep may start.
    Ready,
    /// The tasks of a superstep are being made.
    Making,
    /// A superstep is under way.
    Running,
    /// A superstep commits.
    Committing,
    /// A superstep has committed, and it is worked out which hooks follow.
    Planning,
    /// Hooks are asked, and nothing else happens.
    Hooks,
    /// A suspension waits to be persisted.
    Suspending(PersistId),
    /// Nothing happens until the run is resumed.
    Suspended,
    /// The run has ended.
    Finished,
    /// The store has refused a record.
    Broken,
}

/// Whether a run is active, which stops were requested, and why it has stopped.
#[derive(Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own about the run, and any may hold together with any"
)]
pub(super) struct StopState {
    phase: Phase,
    status: Status,
    error: Option<RunError>,
    interrupts: Vec<InterruptRecord>,
    /// Static interrupts of the newest boundary have been passed.
    released: bool,
    /// The run was under way when it was last heard of: resuming it takes up nothing that it had not taken up already.
    recovered: bool,
    cancel_requested: bool,
    /// The stop that was requested discards what is running.
    kill_requested: bool,
    timed_out: bool,
    /// How many slices of work may still pass before a stop that was asked for is made.
    patience: u32,
    end: Option<End>,
    /// A failure was continued past.
    errors_continued: bool,
}

impl StopState {
    /// Of a run that has not started.
    pub(super) const fn new() -> Self {
        Self {
            phase: Phase::New,
            status: Status::Running,
            error: None,
            interrupts: Vec::new(),
            released: false,
            recovered: false,
            cancel_requested: false,
            kill_requested: false,
            timed_out: false,
            patience: 0,
            end: None,
            errors_continued: false,
        }
    }

    /// Of a run that was persisted. `recovered`: it was under way then.
    pub(super) fn restore(released: bool, errors_continued: bool, recovered: bool) -> Self {
        Self { phase: Phase::Suspended, released, recovered, errors_continued, ..Self::new() }
    }

    /// Restores a run whose newest checkpoint is its end. An end with hooks becomes final once they have been asked:
    /// `told` is the status that a status record has for that.
    pub(super) fn restore_end(&mut self, end: End, told: Option<Status>, has_hooks: bool) {
        self.status = told.unwrap_or(Status::Running);
        if !has_hooks || self.status.is_end() {
            self.phase = Phase::Finished;
            self.status = end.status;
        }
        self.end = Some(end);
    }

    /// It had stopped so.
    pub(super) fn restore_stop(
        &mut self,
        status: Status,
        error: Option<RunError>,
        interrupts: Vec<InterruptRecord>,
        released: bool,
    ) {
        self.status = status;
        self.error = error;
        self.interrupts = interrupts;
        self.released = released;
    }

    /// It had stopped with this error.
    pub(super) fn restore_error(&mut self, error: Option<RunError>) {
        self.error = error;
    }

    /// A resume was recorded before the run was restored: the tasks that it has answered can continue without another
    /// answer.
    pub(super) const fn restore_resumed(&mut self) {
        self.status = Status::Running;
    }

    /// The phase of the walker between events.
    #[inline]
    pub(super) const fn phase(&self) -> Phase {
        self.phase
    }

    /// The status of the run.
    #[inline]
    pub(super) const fn status(&self) -> Status {
        self.status
    }

    /// Why the run stopped, if something went wrong.
    #[inline]
    pub(super) const fn error(&self) -> Option<&RunError> {
        self.error.as_ref()
    }

    #[inline]
    pub(super) fn interrupts(&self) -> &[InterruptRecord] {
        &self.interrupts
    }

    /// Whether static interrupts of the newest boundary have been passed.
    #[inline]
    pub(super) const fn is_released(&self) -> bool {
        self.released
    }

    /// Whether the run was under way when it was last heard of.
    #[inline]
    pub(super) const fn is_recovered(&self) -> bool {
        self.recovered
    }

    /// How the run ended, if it has.
    #[inline]
    pub(super) const fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// Whether the newest boundary is the run's end.
    #[inline]
    pub(super) const fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Whether a failure was continued past.
    #[inline]
    pub(super) const fn has_continued_past_errors(&self) -> bool {
        self.errors_continued
    }

    /// Whether the run was asked to stop.
    #[inline]
    pub(super) const fn is_cancel_requested(&self) -> bool {
        self.cancel_requested
    }

    /// Whether the run's time is over, and that has not stopped it yet.
    #[inline]
    pub(super) const fn is_timed_out(&self) -> bool {
        self.timed_out
    }

    /// Whether it is on its way: neither stopped nor about to stop.
    pub(super) const fn is_under_way(&self) -> bool {
        match self.phase {
            Phase::Boundary(_)
            | Phase::Ready
            | Phase::Making
            | Phase::Running
            | Phase::Committing
            | Phase::Planning
            | Phase::Hooks => true,
            Phase::New | Phase::Suspending(_) | Phase::Suspended | Phase::Finished | Phase::Broken => false,
        }
    }

    /// The status of a run that was requested to stop.
    pub(super) fn stopped_as(&self) -> Status {
        if self.kill_requested { Status::Killed } else { Status::Cancelled }
    }

    /// What happens next is this.
    #[inline]
    pub(super) const fn enter(&mut self, phase: Phase) {
        self.phase = phase;
    }

    /// Requests a stop once running tasks have ended; a run that has stopped for good ignores it.
    pub(super) const fn request_cancel(&mut self) {
        if !matches!(self.phase, Phase::Finished | Phase::Broken) {
            self.cancel_requested = true;
        }
    }

    /// The run was asked to stop at once, and nothing is running: it stops as soon as it would continue.
    pub(super) const fn request_kill(&mut self) {
        self.cancel_requested = true;
        self.kill_requested = true;
    }

    /// Clears the requests, which have been fulfilled.
    pub(super) const fn forget_requests(&mut self) {
        self.cancel_requested = false;
        self.kill_requested = false;
    }

    /// Whether a stop was requested that running tasks may not delay any longer.
    pub(super) const fn is_impatient(&mut self) -> bool {
        if !self.cancel_requested {
            self.patience = PATIENCE;
            return false;
        }
        self.patience = self.patience.saturating_sub(1);
        self.patience == 0
    }

    /// The run's time is over.
    pub(super) const fn set_timed_out(&mut self, timed_out: bool) {
        self.timed_out = timed_out;
    }

    /// A superstep commits. `continued`: a failure of it was continued past.
    pub(super) fn commit(&mut self) {
        self.released = false;
        self.interrupts.clear();
        self.error = None;
        self.status = Status::Running;
    }

    /// Whether any failure was continued past, before and with a superstep that is about to commit.
    pub(super) const fn set_continued_past_errors(&mut self, continued: bool) {
        self.errors_continued = continued;
    }

    /// An edit has made a boundary, which is not the end unless that is found.
    pub(super) fn take_edit(&mut self) {
        self.released = false;
        self.error = None;
        self.end = None;
    }

    /// A run that has ended begins another turn.
    pub(super) fn begin_turn(&mut self) {
        *self = Self {
            cancel_requested: self.cancel_requested,
            kill_requested: self.kill_requested,
            ..Self::new()
        };
        self.status = Status::Running;
    }

    /// A fork of an ended run begins with its end, and is complete once that is stored.
    pub(super) const fn begin_at_end(&mut self, stored: PersistId) {
        self.status = Status::Running;
        self.phase = Phase::Boundary(stored);
    }

    /// The newest boundary is the run's end.
    pub(super) fn set_end(&mut self, end: End) {
        self.end = Some(end);
    }

    /// An edit has ended the run, whatever it waited for.
    pub(super) fn forget_interrupts(&mut self) {
        self.interrupts.clear();
    }

    /// An edit has ended the run, and nothing follows the end.
    pub(super) const fn continue_to_end(&mut self) {
        self.status = Status::Running;
    }

    /// Hooks have been asked about the run's end: its status is that of the end.
    pub(super) fn take_end(&mut self) {
        if let Some(end) = &self.end {
            self.status = end.status;
            self.error = None;
        }
    }

    /// Makes the end final: returns the run's final status, or none if it has not ended.
    pub(super) const fn finish(&mut self) -> Option<Status> {
        let Some(end) = &self.end else { return None };
        self.status = end.status;
        self.phase = Phase::Finished;
        Some(self.status)
    }

    /// The run waits for these.
    pub(super) fn wait_for(&mut self, interrupts: Vec<InterruptRecord>) {
        self.interrupts = interrupts;
    }

    /// The run stops: from here on it is resumed, not recovered.
    pub(super) const fn end_recovery(&mut self) {
        self.recovered = false;
    }

    /// The run stops with this.
    pub(super) fn stop(&mut self, status: Status, error: Option<RunError>) {
        self.status = status;
        self.error = error;
    }

    /// A record cannot be stored: nothing further happens.
    pub(super) fn break_down(&mut self, error: RunError) {
        self.status = Status::Failed;
        self.error = Some(error);
        self.phase = Phase::Broken;
    }

    /// The store has taken everything up to a record: returns whether the run waited for that to be suspended.
    pub(super) fn persisted(&mut self, id: PersistId) -> bool {
        match self.phase {
            Phase::Boundary(wanted) if id >= wanted => self.phase = Phase::Ready,
            Phase::Suspending(wanted) if id >= wanted => {
                self.phase = Phase::Suspended;
                return true;
            }
            _ => {}
        }
        false
    }

    /// Resumes the run. `released`: it waited at a pause, which the resume releases.
    pub(super) fn resume(&mut self, released: bool) {
        self.released = self.released || released;
        self.status = Status::Running;
        self.error = None;
        self.interrupts.clear();
        self.timed_out = false;
    }

    /// The pause that the run waits at is over.
    pub(super) fn release(&mut self) {
        self.released = true;
        self.interrupts.clear();
    }

    /// The run does not wait for those any more.
    pub(super) fn forget_answered(&mut self, is_answered: impl Fn(&InterruptRecord) -> bool) {
        self.interrupts.retain(|asked| !is_answered(asked));
    }

    /// Another run begins here, which has not started yet and has passed no pause.
    pub(super) fn begin_anew(&mut self) {
        self.released = false;
        if matches!(self.phase, Phase::Suspended | Phase::Finished) {
            self.phase = Phase::New;
        }
    }

    /// A run that went back to an earlier checkpoint is still asked for the stop that it was asked for.
    pub(super) const fn keep_requests(&mut self, of: &Self) {
        self.cancel_requested = of.cancel_requested;
    }
}
