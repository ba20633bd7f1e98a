//! Stops runs that no process runs: marks them as cancelled or killed, as the process of a run does.

use std::sync::Arc;

use graph_core::record::Status;
use graph_store::CheckpointStore;
use graph_walker::walker::{Event, Resume};

use crate::error::Result;
use crate::host::Host;
use crate::project::Project;
use crate::run::context::Environment;
use crate::run::edit_and_fork::edit_services;
use crate::run::restore;
use crate::run::resume::{Unheld, own_key};
use crate::run::state_item::StateItem;
use graph_driver::StopRequest;

/// Acquires a run that no process runs, and has its walker stop it before any task runs. The stop is stored and signed
/// like any other, and a resume continues from it.
pub(crate) async fn stop(
    run: &str,
    wish: StopRequest,
    store: Arc<dyn CheckpointStore>,
    project: &Project,
    host: &Host,
) -> Result<Status> {
    let guard = store.acquire(run, &restore::this_process())?;
    let row = restore::find(&*store, run)?;
    if row.status.is_end() {
        return Ok(row.status);
    }
    let key = own_key(&row, host)?;
    let Unheld { graph, setup, restored, behind } = Unheld::read(&*store, &row, &key, &host.home)?;
    let first = if restored.is_none() { Event::Started } else { Event::Resumed(Resume::default()) };
    let state_item = StateItem::of_run(false, &graph, &row, &key, project, host);
    let environment = Environment { services: edit_services(store, key), state_item };
    let assembled = environment.resume(&graph, setup, restored, guard)?;
    environment.stop(assembled, wish, behind, first).await
}
