//! Stops of a run: the requested one, and the reason why the run has stopped.

use graph_core::record::{End, InterruptRecord, RunError, Status};

/// Number of time slices that a committing superstep may still take once a stop was requested.
const PATIENCE: u32 = 25;

/// The stop that was requested of a run and is not fulfilled yet.
#[derive(Clone, Copy, Debug)]
enum StopRequest {
    None,
    /// Stop once running tasks have ended.
    Cancel,
    /// Stop and discard running tasks.
    Kill,
}

/// Stops of a run: the requested one, and the reason why the run has stopped.
#[derive(Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own about the run, and any may hold together with any"
)]
pub(in crate::walker) struct StopState {
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
    pub(in crate::walker) const fn new() -> Self {
        Self {
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
    pub(in crate::walker) fn restore(released: bool, errors_continued: bool, recovered: bool) -> Self {
        Self { released, recovered, errors_continued, ..Self::new() }
    }

    /// Restores a run whose newest checkpoint is its end, and returns `true` if it has finished. An end with hooks becomes
    /// final once they have been asked. `recorded_status` is the status in the newest status record, if there is one.
    pub(in crate::walker) fn restore_end(
        &mut self,
        end: End,
        recorded_status: Option<Status>,
        has_hooks: bool,
    ) -> bool {
        self.status = recorded_status.unwrap_or(Status::Running);
        let is_finished = !has_hooks || self.status.is_end();
        if is_finished {
            self.status = end.status;
        }
        self.end = Some(end);
        is_finished
    }

    /// Restores the reason why the run stopped.
    pub(in crate::walker) fn restore_stop(
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
    pub(in crate::walker) fn restore_error(&mut self, error: Option<RunError>) {
        self.error = error;
    }

    /// Notes that a resume is recorded: the tasks that it has answered can continue without another answer.
    pub(in crate::walker) const fn restore_resumed(&mut self) {
        self.status = Status::Running;
    }

    /// The status of the run.
    #[inline]
    pub(in crate::walker) const fn status(&self) -> Status {
        self.status
    }

    /// The error with which the run stopped, if any.
    #[inline]
    pub(in crate::walker) const fn error(&self) -> Option<&RunError> {
        self.error.as_ref()
    }

    #[inline]
    pub(in crate::walker) fn interrupts(&self) -> &[InterruptRecord] {
        &self.interrupts
    }

    /// Returns `true` if static interrupts of the newest boundary have been passed.
    #[inline]
    pub(in crate::walker) const fn is_released(&self) -> bool {
        self.released
    }

    /// Returns `true` if the run crashed and continues from its records.
    #[inline]
    pub(in crate::walker) const fn is_recovered(&self) -> bool {
        self.recovered
    }

    /// The end of the run, if it has ended.
    #[inline]
    pub(in crate::walker) const fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// Returns `true` if the newest boundary is the run's end.
    #[inline]
    pub(in crate::walker) const fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Returns `true` if the run continued past a failure.
    #[inline]
    pub(in crate::walker) const fn has_continued_past_errors(&self) -> bool {
        self.errors_continued
    }

    /// Returns `true` if a stop was requested.
    #[inline]
    pub(in crate::walker) const fn is_cancel_requested(&self) -> bool {
        !matches!(self.request, StopRequest::None)
    }

    /// Returns `true` if the run is past its time limit and has not been stopped for it yet.
    #[inline]
    pub(in crate::walker) const fn is_timed_out(&self) -> bool {
        self.timed_out
    }

    /// Returns the status of a run that stops on request.
    pub(in crate::walker) fn stopped_as(&self) -> Status {
        if matches!(self.request, StopRequest::Kill) { Status::Killed } else { Status::Cancelled }
    }

    /// Requests a stop once running tasks have ended.
    pub(in crate::walker) const fn request_cancel(&mut self) {
        if !self.is_cancel_requested() {
            self.request = StopRequest::Cancel;
        }
    }

    /// Requests a stop at once of a run in which nothing is running: it stops as soon as it would continue.
    pub(in crate::walker) const fn request_kill(&mut self) {
        self.request = StopRequest::Kill;
    }

    /// Clears the requests, which have been fulfilled.
    pub(in crate::walker) const fn forget_requests(&mut self) {
        self.request = StopRequest::None;
    }

    /// Counts a time slice of a commit. Returns `true` once a requested stop must not wait for the commit any longer.
    pub(in crate::walker) const fn spend_patience(&mut self) -> bool {
        if !self.is_cancel_requested() {
            self.patience = PATIENCE;
            return false;
        }
        self.patience = self.patience.saturating_sub(1);
        self.patience == 0
    }

    /// Sets whether the run is past its time limit and still has to be stopped for it.
    pub(in crate::walker) const fn set_timed_out(&mut self, timed_out: bool) {
        self.timed_out = timed_out;
    }

    /// Clears the reasons of an earlier stop, since a superstep commits.
    pub(in crate::walker) fn commit(&mut self) {
        self.released = false;
        self.interrupts.clear();
        self.error = None;
        self.status = Status::Running;
    }

    /// Sets whether the run has continued past a failure, in a committing superstep or before.
    pub(in crate::walker) const fn set_continued_past_errors(&mut self, continued: bool) {
        self.errors_continued = continued;
    }

    /// Clears the end, the error and the passed pauses, since an edit has made a boundary.
    pub(in crate::walker) fn take_edit(&mut self) {
        self.released = false;
        self.error = None;
        self.end = None;
    }

    /// Begins another turn of a run that has ended. Requests to stop remain.
    pub(in crate::walker) fn begin_turn(&mut self) {
        *self = Self { request: self.request, ..Self::new() };
    }

    /// Makes the newest boundary the run's end.
    pub(in crate::walker) fn set_end(&mut self, end: End) {
        self.end = Some(end);
    }

    /// Clears the interrupts, since an edit has ended the run.
    pub(in crate::walker) fn forget_interrupts(&mut self) {
        self.interrupts.clear();
    }

    /// Continues to an end whose hooks need not be asked.
    pub(in crate::walker) const fn continue_to_end(&mut self) {
        self.status = Status::Running;
    }

    /// Sets the status of the run's end, once hooks have been asked about it.
    pub(in crate::walker) fn take_end(&mut self) {
        if let Some(end) = &self.end {
            self.status = end.status;
            self.error = None;
        }
    }

    /// Makes the end final and returns the run's status; `None` if the run has not ended.
    pub(in crate::walker) const fn finish(&mut self) -> Option<Status> {
        let Some(end) = &self.end else { return None };
        self.status = end.status;
        Some(self.status)
    }

    /// Sets the interrupts that the run waits for.
    pub(in crate::walker) fn wait_for(&mut self, interrupts: Vec<InterruptRecord>) {
        self.interrupts = interrupts;
    }

    /// Notes that the run stops, so that the next resume is no recovery.
    pub(in crate::walker) const fn end_recovery(&mut self) {
        self.recovered = false;
    }

    /// Sets the status and error with which the run stops.
    pub(in crate::walker) fn stop(&mut self, status: Status, error: Option<RunError>) {
        self.status = status;
        self.error = error;
    }

    /// Resumes the run. `released`: the resume releases the pause at which the run waited.
    pub(in crate::walker) fn resume(&mut self, released: bool) {
        self.released = self.released || released;
        self.status = Status::Running;
        self.error = None;
        self.interrupts.clear();
        self.timed_out = false;
    }

    /// Releases the pause at which the run waits.
    pub(in crate::walker) fn release(&mut self) {
        self.released = true;
        self.interrupts.clear();
    }

    /// Removes interrupts that have been answered.
    pub(in crate::walker) fn forget_answered(&mut self, is_answered: impl Fn(&InterruptRecord) -> bool) {
        self.interrupts.retain(|asked| !is_answered(asked));
    }

    /// Begins another run at this boundary, which has passed no pause.
    pub(in crate::walker) const fn begin_anew(&mut self) {
        self.released = false;
    }

    /// Keeps the request to stop of a run that went back to an earlier checkpoint; the stop is then a cancellation.
    pub(in crate::walker) const fn keep_requests(&mut self, of: &Self) {
        self.request = if of.is_cancel_requested() { StopRequest::Cancel } else { StopRequest::None };
    }
}
