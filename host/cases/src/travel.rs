//! Operations of a case that start at an earlier checkpoint: update, fork and replay.

use graph_core::record::{CheckpointSelector, ErrorCode};
use graph_walker::walker::{Resume, Summary};

use crate::document::TravelOptions;
use crate::session::{OperationError, Session};

/// Estimated memory of the row of a run, in bytes.
const ROW: u64 = 4 << 10;

impl Session<'_> {
    pub(crate) async fn update(
        &mut self,
        options: &TravelOptions,
    ) -> Result<Option<Summary>, OperationError> {
        let Some((runtime, mut run)) = self.still() else { return Err(no_run()) };
        let held = runtime.hold(&run)?;
        if held.is_unstarted() {
            return Err(no_run());
        }
        let edit = options.edit.clone().unwrap_or_default();
        self.store.break_after(options.crash_after);
        let done = self.unless_broken(runtime.edit(&run, held, edit, options.at.clone())).await;
        // An update can return to a checkpoint with other inputs.
        runtime.refresh(&mut run)?;
        self.set_run(run);
        done
    }

    pub(crate) async fn fork(&mut self, options: &TravelOptions) -> Result<Option<Summary>, OperationError> {
        let Some((runtime, run)) = self.still() else { return Err(no_run()) };
        let at = options.at.as_ref().unwrap_or(&CheckpointSelector::Newest);
        let new = runtime.fork(&run, &format!("case-{}", self.forks + 1), at)?;
        if !self.store.has_room_for(ROW) {
            return Ok(None);
        }
        let run = new.run.clone();
        self.store.break_after(options.crash_after);
        let done = self.unless_broken(runtime.create(new, options.edit.clone())).await?;
        self.forks += 1;
        run.id().clone_into(&mut self.run);
        if let Some(summary) = &done {
            self.spending.begin(summary);
        }
        self.set_run(run);
        Ok(done)
    }

    /// Forks the run and runs the fork. If the fork pauses without a question, it is resumed.
    pub(crate) async fn replay(
        &mut self,
        options: &TravelOptions,
    ) -> Result<Option<Summary>, OperationError> {
        let forked = self.fork(options).await?;
        let goes_on = |summary: &Summary| summary.status.is_paused() && summary.interrupts.is_empty();
        if !forked.as_ref().is_some_and(goes_on) {
            return Ok(forked);
        }
        let Some((runtime, mut run)) = self.still() else { return Err(no_run()) };
        let held = runtime.hold(&run)?;
        if held.is_unstarted() {
            return Err(no_run());
        }
        let stop = self.stop_request();
        let (prepared, event) = runtime.resume(&mut run, held, Resume::default(), stop)?;
        self.drive(prepared, event).await
    }

    /// Runs an edit until it ends, the store breaks, or the case's time is over.
    async fn unless_broken(
        &self,
        edited: impl Future<Output = graph_runtime::error::Result<Summary>>,
    ) -> Result<Option<Summary>, OperationError> {
        let done = tokio::select! {
            biased;
            () = self.store.broken() => None,
            () = self.bounds.late() => return Ok(None),
            done = edited => Some(done),
        };
        if self.store.is_broken() {
            return Ok(None);
        }
        Ok(done.transpose()?)
    }
}

fn no_run() -> OperationError {
    OperationError::refused(
        ErrorCode::NotFound,
        "there is no run to look back on: the script has not started one",
    )
}
