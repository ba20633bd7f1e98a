//! Operations of a case that start at an earlier checkpoint: update, fork and replay.

use std::sync::Arc;

use graph_core::record::{CheckpointSelector, ErrorCode, Status};
use graph_store::CheckpointStore as _;
use graph_walker::walker::{Edit, Event, Identity, Restored, Resume, Setup, Summary};

use crate::document::TravelOptions;
use crate::session::{OperationError, Session};
use graph_runtime::run::context::Environment;
use graph_runtime::run::edit_and_fork;
use graph_runtime::run::restore;

/// Estimated memory of the row of a run, in bytes.
const ROW: u64 = 4 << 10;

impl Session<'_> {
    pub(crate) async fn update(
        &mut self,
        options: &TravelOptions,
    ) -> Result<Option<Summary>, OperationError> {
        let (Some(started), Some(environment)) = (&self.started, self.still()) else { return Err(no_run()) };
        let guard = environment.take(&self.run)?;
        let restored = restore::restore(&*self.store, &self.run, self.key.verifying_key())?;
        let Some((restored, _)) = restored else { return Err(no_run()) };
        let edit = options.edit.clone().unwrap_or_default();
        self.store.break_after(options.crash_after);
        let (graph, setup) = (&started.graph, started.setup.clone());
        let updated = Box::pin(environment.update(graph, setup, restored, edit, options.at.clone(), guard));
        let done = self.unless_broken(updated).await;
        // An update can return to a checkpoint with other inputs.
        let newest = self.restored(&CheckpointSelector::Newest)?;
        let inputs = Arc::new(edit_and_fork::inputs(&*self.store, &newest)?);
        if let Some(started) = &mut self.started {
            started.setup.inputs = inputs;
        }
        done
    }

    pub(crate) async fn fork(&mut self, options: &TravelOptions) -> Result<Option<Summary>, OperationError> {
        let of = self.restored(options.at.as_ref().unwrap_or(&CheckpointSelector::Newest))?;
        let inputs = Arc::new(edit_and_fork::inputs(&*self.store, &of)?);
        let Some(started) = &self.started else { return Err(no_run()) };
        let run = format!("case-{}", self.forks + 1);
        let identity =
            Identity { run: run.clone(), root: run.clone(), parent: None, namespace: String::new() };
        let setup = Setup { identity, inputs, ..started.setup.clone() };
        let graph = Arc::clone(&started.graph);
        let edit: Option<Edit> = options.edit.clone();
        let origin = self.store.run(&self.run).map_err(|error| OperationError::Fault(error.to_string()))?;
        let (Some(origin), Some(environment)) = (origin, self.still()) else { return Err(no_run()) };
        let row = edit_and_fork::fork_row(&origin, &of, &run);
        if !self.store.has_room_for(ROW) {
            return Ok(None);
        }
        self.store.break_after(options.crash_after);
        let forked = Box::pin(environment.fork(&graph, setup.clone(), row, of, edit));
        let done = self.unless_broken(forked).await?;
        self.forks += 1;
        self.run = run;
        if let Some(summary) = &done {
            self.spending.begin(summary);
        }
        if let Some(started) = &mut self.started {
            started.setup = setup;
        }
        Ok(done)
    }

    /// Forks the run and runs the fork. If the fork pauses without a question, it is resumed.
    pub(crate) async fn replay(
        &mut self,
        options: &TravelOptions,
    ) -> Result<Option<Summary>, OperationError> {
        let forked = self.fork(options).await?;
        let goes_on =
            |summary: &Summary| summary.status == Status::Interrupted && summary.interrupts.is_empty();
        if !forked.as_ref().is_some_and(goes_on) {
            return Ok(forked);
        }
        let Some(environment) = self.still() else { return Err(no_run()) };
        let guard = environment.take(&self.run)?;
        let restored = restore::restore(&*self.store, &self.run, self.key.verifying_key())?;
        let (Some(started), Some((restored, _))) = (&self.started, restored) else { return Err(no_run()) };
        let assembled = environment.resume(&started.graph, started.setup.clone(), Some(restored), guard)?;
        self.drive(&environment, assembled, Event::Resumed(Resume::default())).await
    }

    /// Returns the environment of the run, if it was started.
    fn still(&self) -> Option<Environment> {
        self.started.as_ref().map(|started| self.environment(started.real.clone()))
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

    fn restored(&self, place: &CheckpointSelector) -> Result<Restored, OperationError> {
        if self.started.is_none() {
            return Err(no_run());
        }
        Ok(restore::restore_at(&*self.store, &self.run, self.key.verifying_key(), place)?)
    }
}

fn no_run() -> OperationError {
    OperationError::refused(
        ErrorCode::NotFound,
        "there is no run to look back on: the script has not started one",
    )
}
