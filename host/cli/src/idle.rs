//! Runs that nobody runs: marking one as cancelled or killed, as a process that ran it would have.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use graph_core::node::{Category, Failure};
use graph_core::record::Status;
use graph_core::walker::{Event, Resume, TaskReport, TaskSpec};
use graph_store::{CheckpointStore, RunUpdate};

use crate::context::{Context, now};
use crate::driver::{Control, Driver, Parts, SystemClock, TaskExecutor, Writing};
use crate::error::{Error, Result};
use crate::resume::bare_walker;
use crate::runs;

/// Takes a run that nobody runs, and lets its walker stop it before anything runs. What it comes to is stored and signed
/// like any other stop, and a resume goes on from there.
pub async fn stop(
    run: &str,
    wish: Control,
    store: Arc<dyn CheckpointStore>,
    context: &Context,
) -> Result<Status> {
    let guard = Arc::new(store.acquire(run, &runs::this_process())?);
    let row = runs::find(&*store, run)?;
    if row.status.is_end() {
        return Ok(row.status);
    }
    let (mut walker, key, standing, from_the_start) = bare_walker(&*store, &row, context)?;
    walker
        .handle(now(), wish.into())
        .map_err(|error| Error::storage(format!("run {run} cannot be stopped: {error}")))?;
    let parts = Parts {
        executor: Arc::new(NoTasks),
        store: Arc::clone(&store),
        guard,
        writing: Writing::Inline,
        key,
        clock: Arc::new(SystemClock),
        durability: row.durability,
    };
    let mut driver = Driver::new(walker, parts)
        .map_err(|error| Error::storage(format!("the writer cannot be started: {error}")))?;
    driver.amend(RunUpdate { at: now(), ..standing });
    let first = if from_the_start { Event::Started } else { Event::Resumed(Resume::default()) };
    let status = driver.drive(first, &mut ()).await?;
    Ok(status)
}

/// Performs nothing: a run that is stopped before it goes on has no tasks.
#[derive(Debug)]
struct NoTasks;

impl TaskExecutor for NoTasks {
    fn execute(&self, _: TaskSpec) -> BoxFuture<'static, TaskReport> {
        let failure =
            Failure::new(Category::Internal, "the run was to be stopped before any task".to_owned());
        async { TaskReport::new(Err(failure), 0) }.boxed()
    }

    fn is_brief(&self, _: &TaskSpec) -> bool {
        true
    }

    fn parallelism(&self) -> usize {
        1
    }
}
