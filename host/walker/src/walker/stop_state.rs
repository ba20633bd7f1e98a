//! Activity of a run: its phase, the stops requested, and the reason why it has stopped.

use super::event::PersistId;
use graph_core::record::{End, InterruptRecord, RunError, Status};

/// Number of time slices that a committing superstep may still take once a stop was requested.
const PATIENCE: u32 = 25;

/// The phase of the walker between events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The run has not started.
    New,
    /// A boundary waits to be persisted.
    Boundary(PersistId),
    /// A superstep may start.
    Ready,
    /// The tasks of a superstep are being made.
    Making,
    /// A superstep is active.
    Running,
    /// A superstep commits.
    Committing,
    /// A superstep has committed, and the hooks after it are planned.
    Planning,
    /// Hooks are asked, and nothing else happens.
    Hooks,
    /// A suspension waits to be persisted.
    Suspending(PersistId),
    /// The run waits to be resumed.
    Suspended,
    /// The run has ended.
    Finished,
    /// The store has refused a record.
    Broken,
}

/// The stop that was requested of a run and is not fulfilled yet.
#[derive(Clone, Copy, Debug)]
enum StopRequest {
    None,
    /// Stop once running tasks have ended.
    Cancel,
    /// Stop and discard running tasks.
    Kill,
}

/// Activity of a run: its phase, the stops requested, and the reason why it has stopped.
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
    /// `true` if static interrupts of the newest boundary have been passed.
    released: bool,
    /// `true` if the run crashed: a resume keeps the recorded starts of its tasks, from which reservations follow.
    recovered: bool,
    request: StopRequest,
    timed_out: bool,
    /// Number of time slices that may still pass before a requested stop.
    patience: u32,
    end: Option<End>,
    /// `true` if the run continued past a failure.
    errors_continued: bool,
}

impl StopState {
    /// Creates the state of a run that has not started.
    pub(super) const fn new() -> Self {
        Self {
            phase: Phase::New,
            status: Status::Running,
            error: None,
            interrupts: Vec::new(),
            released: false,
            recovered: false,
            request: StopRequest::None,
            timed_out: false,
            patience: 0,
            end: None,
            errors_continued: false,
        }
    }

    /// Restores the state of a stored run. `recovered`: the run was active when its last record was stored.
    pub(super) fn restore(released: bool, errors_continued: bool, recovered: bool) -> Self {
        Self { phase: Phase::Suspended, released, recovered, errors_continued, ..Self::new() }
    }

    /// Restores a run whose newest checkpoint is its end. An end with hooks becomes final once they have been asked.
    /// `recorded_status` is the status in the newest status record, if there is one.
    pub(super) fn restore_end(&mut self, end: End, recorded_status: Option<Status>, has_hooks: bool) {
        self.status = recorded_status.unwrap_or(Status::Running);
        if !has_hooks || self.status.is_end() {
            self.phase = Phase::Finished;
            self.status = end.status;
        }
        self.end = Some(end);
    }

    /// Restores the reason why the run stopped.
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

    /// Restores the error with which the run stopped.
    pub(super) fn restore_error(&mut self, error: Option<RunError>) {
        self.error = error;
    }

    /// Notes that a resume is recorded: the tasks that it has answered can continue without another answer.
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

    /// The error with which the run stopped, if any.
    #[inline]
    pub(super) const fn error(&self) -> Option<&RunError> {
        self.error.as_ref()
    }

    #[inline]
    pub(super) fn interrupts(&self) -> &[InterruptRecord] {
        &self.interrupts
    }

    /// Returns `true` if static interrupts of the newest boundary have been passed.
    #[inline]
    pub(super) const fn is_released(&self) -> bool {
        self.released
    }

    /// Returns `true` if the run crashed and continues from its records.
    #[inline]
    pub(super) const fn is_recovered(&self) -> bool {
        self.recovered
    }

    /// The end of the run, if it has ended.
    #[inline]
    pub(super) const fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// Returns `true` if the newest boundary is the run's end.
    #[inline]
    pub(super) const fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Returns `true` if the run continued past a failure.
    #[inline]
    pub(super) const fn has_continued_past_errors(&self) -> bool {
        self.errors_continued
    }

    /// Returns `true` if a stop was requested.
    #[inline]
    pub(super) const fn is_cancel_requested(&self) -> bool {
        !matches!(self.request, StopRequest::None)
    }

    /// Returns `true` if the run is past its time limit and has not been stopped for it yet.
    #[inline]
    pub(super) const fn is_timed_out(&self) -> bool {
        self.timed_out
    }

    /// Returns `true` if the run is neither stopped nor about to stop.
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

    /// Returns the status of a run that stops on request.
    pub(super) fn stopped_as(&self) -> Status {
        if matches!(self.request, StopRequest::Kill) { Status::Killed } else { Status::Cancelled }
    }

    /// Enters a phase.
    #[inline]
    pub(super) const fn enter(&mut self, phase: Phase) {
        self.phase = phase;
    }

    /// Requests a stop once running tasks have ended; a run that has stopped for good ignores it.
    pub(super) const fn request_cancel(&mut self) {
        if !self.is_cancel_requested() && !matches!(self.phase, Phase::Finished | Phase::Broken) {
            self.request = StopRequest::Cancel;
        }
    }

    /// Requests a stop at once of a run in which nothing is running: it stops as soon as it would continue.
    pub(super) const fn request_kill(&mut self) {
        self.request = StopRequest::Kill;
    }

    /// Clears the requests, which have been fulfilled.
    pub(super) const fn forget_requests(&mut self) {
        self.request = StopRequest::None;
    }

    /// Counts a time slice of a commit. Returns `true` once a requested stop must not wait for the commit any longer.
    pub(super) const fn spend_patience(&mut self) -> bool {
        if !self.is_cancel_requested() {
            self.patience = PATIENCE;
            return false;
        }
        self.patience = self.patience.saturating_sub(1);
        self.patience == 0
    }

    /// Sets whether the run is past its time limit and still has to be stopped for it.
    pub(super) const fn set_timed_out(&mut self, timed_out: bool) {
        self.timed_out = timed_out;
    }

    /// Clears the reasons of an earlier stop, since a superstep commits.
    pub(super) fn commit(&mut self) {
        self.released = false;
        self.interrupts.clear();
        self.error = None;
        self.status = Status::Running;
    }

    /// Sets whether the run has continued past a failure, in a committing superstep or before.
    pub(super) const fn set_continued_past_errors(&mut self, continued: bool) {
        self.errors_continued = continued;
    }

    /// Clears the end, the error and the passed pauses, since an edit has made a boundary.
    pub(super) fn take_edit(&mut self) {
        self.released = false;
        self.error = None;
        self.end = None;
    }

    /// Begins another turn of a run that has ended. Requests to stop remain.
    pub(super) fn begin_turn(&mut self) {
        *self = Self { request: self.request, ..Self::new() };
    }

    /// Begins a fork of an ended run with that end; it is complete once the end is stored.
    pub(super) const fn begin_at_end(&mut self, stored: PersistId) {
        self.status = Status::Running;
        self.phase = Phase::Boundary(stored);
    }

    /// Makes the newest boundary the run's end.
    pub(super) fn set_end(&mut self, end: End) {
        self.end = Some(end);
    }

    /// Clears the interrupts, since an edit has ended the run.
    pub(super) fn forget_interrupts(&mut self) {
        self.interrupts.clear();
    }

    /// Continues to an end that an edit has brought and that no hooks follow.
    pub(super) const fn continue_to_end(&mut self) {
        self.status = Status::Running;
    }

    /// Sets the status of the run's end, once hooks have been asked about it.
    pub(super) fn take_end(&mut self) {
        if let Some(end) = &self.end {
            self.status = end.status;
            self.error = None;
        }
    }

    /// Makes the end final and returns the run's status; `None` if the run has not ended.
    pub(super) const fn finish(&mut self) -> Option<Status> {
        let Some(end) = &self.end else { return None };
        self.status = end.status;
        self.phase = Phase::Finished;
        Some(self.status)
    }

    /// Sets the interrupts that the run waits for.
    pub(super) fn wait_for(&mut self, interrupts: Vec<InterruptRecord>) {
        self.interrupts = interrupts;
    }

    /// Notes that the run stops, so that the next resume is no recovery.
    pub(super) const fn end_recovery(&mut self) {
        self.recovered = false;
    }

    /// Sets the status and error with which the run stops.
    pub(super) fn stop(&mut self, status: Status, error: Option<RunError>) {
        self.status = status;
        self.error = error;
    }

    /// Stops for good, because a record cannot be stored.
    pub(super) fn break_down(&mut self, error: RunError) {
        self.status = Status::Failed;
        self.error = Some(error);
        self.phase = Phase::Broken;
    }

    /// Notes that the store has taken all records up to `id`. Returns `true` if that completes a suspension.
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

    /// Resumes the run. `released`: the resume releases the pause at which the run waited.
    pub(super) fn resume(&mut self, released: bool) {
        self.released = self.released || released;
        self.status = Status::Running;
        self.error = None;
        self.interrupts.clear();
        self.timed_out = false;
    }

    /// Releases the pause at which the run waits.
    pub(super) fn release(&mut self) {
        self.released = true;
        self.interrupts.clear();
    }

    /// Removes interrupts that have been answered.
    pub(super) fn forget_answered(&mut self, is_answered: impl Fn(&InterruptRecord) -> bool) {
        self.interrupts.retain(|asked| !is_answered(asked));
    }

    /// Begins another run at this boundary, which has not started yet and has passed no pause.
    pub(super) fn begin_anew(&mut self) {
        self.released = false;
        if matches!(self.phase, Phase::Suspended | Phase::Finished) {
            self.phase = Phase::New;
        }
    }

    /// Keeps the request to stop of a run that went back to an earlier checkpoint; the stop is then a cancellation.
    pub(super) const fn keep_requests(&mut self, of: &Self) {
        self.request = if of.is_cancel_requested() { StopRequest::Cancel } else { StopRequest::None };
    }
}
