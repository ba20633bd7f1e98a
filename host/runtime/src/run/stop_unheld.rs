//! Runs that nobody runs: marking one as cancelled or killed, as a process that ran it would have.

use std::sync::Arc;

use graph_core::record::Status;
use graph_core::walker::{Event, Resume};
use graph_store::CheckpointStore;

use crate::error::Result;
use crate::host::Host;
use crate::run::edit_and_fork::still;
use crate::run::restore;
use crate::run::resume::{Unheld, own_key};
use graph_driver::Control;

/// Takes a run that nobody runs, and lets its walker stop it before anything runs. What it comes to is stored and signed
/// like any other stop, and a resume goes on from there.
pub async fn stop(run: &str, wish: Control, store: Arc<dyn CheckpointStore>, host: &Host) -> Result<Status> {
    let guard = store.acquire(run, &restore::this_process())?;
    let row = restore::find(&*store, run)?;
    if row.status.is_end() {
        return Ok(row.status);
    }
    let key = own_key(&row, host)?;
    let Unheld { graph, setup, restored, behind } = Unheld::read(&*store, &row, &key)?;
    let first = if restored.is_none() { Event::Started } else { Event::Resumed(Resume::default()) };
    let environment = still(store, key);
    let assembled = environment.resume(&graph, setup, restored, guard)?;
    environment.stop(assembled, wish, behind, first).await
}
