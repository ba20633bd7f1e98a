//! The operations of a case that look back: update, fork and replay.

use std::sync::Arc;

use graph_core::record::{ErrorCode, Place, Status};
use graph_core::walker::{
    Earlier, Edit, Event, HandleError, Identity, Restored, Resume, RunTree, Setup, Summary, Update,
};
use graph_store::{CheckpointStore as _, NewRun, RunGuard};

use super::document::TravelOptions;
use super::session::{Session, Stop};
use crate::driver::Clock as _;
use crate::{runs, travel};

impl Session<'_> {
    pub(super) async fn update(&mut self, options: &TravelOptions) -> Result<Option<Summary>, Stop> {
        let newest = self.restored(&Place::Newest)?;
        let taken = self.take()?;
        let back_to = match &options.at {
            None => None,
            Some(place) => {
                let restored = self.restored(place)?;
                if restored.digest == newest.digest {
                    None
                } else {
                    let inputs = Arc::new(travel::inputs(&*self.store, &restored)?);
                    Some(Earlier { restored, inputs })
                }
            }
        };
        let Some(started) = &self.started else { return Err(no_run()) };
        let restored = runs::restore(&*self.store, &self.run, self.key.verifying_key())?;
        let Some((restored, _)) = restored else { return Err(no_run()) };
        let walker = RunTree::restore(Arc::clone(&started.graph), started.setup.clone(), restored)
            .map_err(|error| Stop::Fault(format!("the run cannot be restored: {error}")))?;
        let edit = options.edit.clone().unwrap_or_default();
        self.store.break_after(options.crash_after);
        let event = Event::Updated(Box::new(Update { edit, back_to }));
        let done = self.still(walker, event, taken).await;
        // An update may go back to other inputs.
        let newest = self.restored(&Place::Newest)?;
        let inputs = Arc::new(travel::inputs(&*self.store, &newest)?);
        if let Some(started) = &mut self.started {
            started.setup.inputs = inputs;
        }
        done
    }

    pub(super) async fn fork(&mut self, options: &TravelOptions) -> Result<Option<Summary>, Stop> {
        let of = self.restored(options.at.as_ref().unwrap_or(&Place::Newest))?;
        let inputs = Arc::new(travel::inputs(&*self.store, &of)?);
        let Some(started) = &self.started else { return Err(no_run()) };
        let run = format!("case-{}", self.forks + 1);
        let identity =
            Identity { run: run.clone(), root: run.clone(), parent: None, namespace: String::new() };
        let setup = Setup { identity, inputs, ..started.setup.clone() };
        let graph = Arc::clone(&started.graph);
        let visited = runs::visited_at(&*self.store, &of, &self.key.verifying_key())?;
        let walker = || {
            RunTree::fork(Arc::clone(&graph), setup.clone(), of.clone(), &visited)
                .map_err(|error| Stop::Fault(format!("the run cannot be restored: {error}")))
        };
        let edit: Option<Edit> = options.edit.clone();
        walker()?.handle(self.clock.now(), Event::Forked(edit.clone())).map_err(|error| match error {
            HandleError::Refused { code, message } => Stop::refused(code, message),
            HandleError::Illegal { .. } => Stop::Fault(error.to_string()),
        })?;
        let origin = self.store.run(&self.run).map_err(|error| Stop::Fault(error.to_string()))?;
        let Some(origin) = origin else { return Err(no_run()) };
        self.store
            .create_run(&NewRun { row: travel::fork_row(&origin, &of, &run), snapshots: Vec::new() })
            .map_err(|error| Stop::refused(error.code(), error.to_string()))?;
        let walker = walker()?;
        self.forks += 1;
        self.run = run;
        if let Some(started) = &mut self.started {
            started.setup = setup;
        }
        let taken = self.take()?;
        self.store.break_after(options.crash_after);
        self.still(walker, Event::Forked(edit), taken).await
    }

    /// A fork that goes on at once; where it pauses before what is next, it stays.
    pub(super) async fn replay(&mut self, options: &TravelOptions) -> Result<Option<Summary>, Stop> {
        let forked = self.fork(options).await?;
        let goes_on =
            |summary: &Summary| summary.status == Status::Interrupted && summary.interrupts.is_empty();
        if !forked.as_ref().is_some_and(goes_on) {
            return Ok(forked);
        }
        let taken = self.take()?;
        let restored = runs::restore(&*self.store, &self.run, self.key.verifying_key())?;
        let (Some(started), Some((restored, _))) = (&self.started, restored) else { return Err(no_run()) };
        let walker = RunTree::restore(Arc::clone(&started.graph), started.setup.clone(), restored)
            .map_err(|error| Stop::Fault(format!("the run cannot be restored: {error}")))?;
        self.drive(walker, Event::Resumed(Resume::default()), taken).await
    }

    /// Lets a walker take an event that does not let it go on: a cancellation that was asked for waits for one that does.
    async fn still(
        &mut self,
        walker: RunTree,
        event: Event,
        taken: RunGuard,
    ) -> Result<Option<Summary>, Stop> {
        let cancel = std::mem::take(&mut self.cancel);
        let done = self.drive(walker, event, taken).await;
        self.cancel = cancel;
        done
    }

    fn restored(&self, place: &Place) -> Result<Restored, Stop> {
        if self.started.is_none() {
            return Err(no_run());
        }
        Ok(runs::restore_at(&*self.store, &self.run, self.key.verifying_key(), place)?)
    }
}

fn no_run() -> Stop {
    Stop::refused(ErrorCode::NotFound, "there is no run to look back on: the script has not started one")
}
