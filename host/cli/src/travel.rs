//! Time travel over stored runs: a run at any of its checkpoints, edits, and forks. Nothing here dispatches anything: what
//! an edit or a fork leads to runs when the run is resumed.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use graph_core::node::{Category, Failure};
use graph_core::record::{ErrorCode, Place, Status};
use graph_core::trust::{SigningKey, VerifyingKey};
use graph_core::walker::{
    Earlier, Edit, Event, HandleError, Restored, RunTree, Setup, Summary, TaskReport, TaskSpec, Update,
};
use graph_store::{CheckpointStore, NewRun, RunGuard, RunRow};
use serde_json::Value;

use crate::context::{Context, now};
use crate::driver::{DriveError, Driver, Parts, SystemClock, TaskExecutor, Writing};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::kept::Kept;
use crate::resume::{self, finished, own_key, pinned_by};
use crate::runs;

/// A run after an edit, or a fork as it begins.
#[derive(Debug)]
pub struct Travelled {
    /// The run.
    pub run: String,
    /// Its graph's id.
    pub graph: String,
    /// How it stands.
    pub summary: Summary,
    /// The key that its host signs it with.
    pub key: VerifyingKey,
    /// Of a fork: the run it was forked from, and the number of the checkpoint there.
    pub origin: Option<(String, u64)>,
}

/// Reads `--at`: `step:N`, `node:NAME` or the number of a checkpoint.
pub fn parse_place(text: &str) -> Result<Place, String> {
    let number = |digits: &str, what: &str| {
        digits.parse::<u64>().map_err(|_| format!("`{digits}` is not the number of a {what}"))
    };
    match text.split_once(':') {
        Some(("step", step)) => number(step, "step").map(Place::Step),
        Some(("node", "")) => Err("`node:` needs the name of a node".to_owned()),
        Some(("node", node)) => Ok(Place::Node(node.to_owned())),
        Some((other, _)) => Err(format!("`{other}:` is not a kind of place")),
        None => number(text, "checkpoint").map(Place::Sequence),
    }
    .map_err(|error| format!("{error}; a place is step:N, node:NAME or a checkpoint's number"))
}

/// Writes to a suspended run as a node would have, at its newest checkpoint or back at an earlier one. The run stays
/// suspended; what was pending is discarded.
pub async fn update(
    name: &str,
    store: Arc<dyn CheckpointStore>,
    edit: Edit,
    back_to: Option<Place>,
    context: &Context,
) -> Result<Travelled> {
    let found = runs::find(&*store, name)?;
    let run = found.run_id;
    let guard = Arc::new(store.acquire(&run, &runs::this_process())?);
    let mut row = runs::find(&*store, &run)?;
    if row.status.is_end() {
        return Err(finished(&row).help(format!(
            "what has ended is not edited; fork it from a checkpoint before its end: graph-host runs fork {run} --at step:{}",
            row.step.saturating_sub(1)
        )));
    }
    let key = own_key(&row, context)?;
    let restored = runs::restore(&*store, &run, key.verifying_key())?;
    let (restored, _) = restored.ok_or_else(|| nothing_stored(&run))?;
    pinned_by(&mut row, &restored.root);
    let kept = Kept::read(&*store, &row)?;
    let hooks = kept.hooks(&*store)?.hooks;
    let graph = Arc::new(kept.graph);
    let back_to = match back_to {
        None => None,
        Some(place) => {
            let earlier = runs::restore_at(&*store, &run, key.verifying_key(), &place)?;
            // Back to where it stands is no way back.
            if earlier.digest == restored.root.digest {
                None
            } else {
                let inputs = Arc::new(inputs(&*store, &earlier)?);
                Some(Earlier { restored: earlier, inputs })
            }
        }
    };
    let inputs_now = inputs(&*store, &restored.root)?;
    let (manifest, graphs) = (Arc::new(kept.manifest), Arc::new(kept.graphs));
    let setup = Setup { hooks, ..resume::setup(&row, &manifest, &graphs, inputs_now) };
    let walker = resume::walker(&graph, setup, Some(restored))?;
    let event = Event::Updated(Box::new(Update { edit, back_to }));
    let verifying = key.verifying_key();
    let summary = drive(walker, &row, (store, guard), key, event).await?;
    Ok(Travelled { run, graph: graph.id.clone(), summary, key: verifying, origin: None })
}

/// Makes a new run that begins where another one stood at a checkpoint, edited or as it was, and leaves it suspended
/// there. The other run may be under way, and is not touched.
pub async fn fork(
    name: &str,
    store: Arc<dyn CheckpointStore>,
    place: Place,
    edit: Option<Edit>,
    run_id: Option<String>,
    context: &Context,
) -> Result<Travelled> {
    let origin = runs::find(&*store, name)?;
    let key = own_key(&origin, context)?;
    let of = runs::restore_at(&*store, &origin.run_id, key.verifying_key(), &place)?;
    let at = now();
    let run = match run_id {
        Some(run) => run,
        None => crate::run_id::fresh(at)?,
    };
    let sequence = of.checkpoint.sequence;
    let mut row = fork_row(&origin, &of, &run);
    (row.created_at, row.updated_at) = (at, at);
    let kept = Kept::read(&*store, &row)?;
    row.manifest = kept.pins.manifest;
    let hooks = kept.hooks(&*store)?.hooks;
    let graph = Arc::new(kept.graph);
    let (manifest, graphs) = (Arc::new(kept.manifest), Arc::new(kept.graphs));
    let setup = Setup { hooks, ..resume::setup(&row, &manifest, &graphs, inputs(&*store, &of)?) };
    let visited = runs::visited_at(&*store, &of, &key.verifying_key())?;
    let walker = || {
        RunTree::fork(Arc::clone(&graph), setup.clone(), of.clone(), &visited)
            .map_err(|error| Error::integrity(format!("run {} cannot be restored: {error}", origin.run_id)))
    };
    // Tried without a store first, so that what is refused leaves no run behind.
    walker()?.handle(at, Event::Forked(edit.clone())).map_err(|error| refused(&error))?;
    store.create_run(&NewRun { row: row.clone(), snapshots: Vec::new() })?;
    let guard = Arc::new(store.acquire(&run, &runs::this_process())?);
    let verifying = key.verifying_key();
    let summary = drive(walker()?, &row, (store, guard), key, Event::Forked(edit)).await?;
    let origin = Some((origin.run_id.clone(), sequence));
    Ok(Travelled { run, graph: graph.id.clone(), summary, key: verifying, origin })
}

/// The row of a fork: what it is pinned to is what the checkpoint says, whatever the run was changed to since.
pub(crate) fn fork_row(origin: &RunRow, of: &Restored, run: &str) -> RunRow {
    let mut row = RunRow {
        run_id: run.to_owned(),
        parent_id: None,
        root_id: run.to_owned(),
        continuation_of: Some(origin.run_id.clone()),
        continuation_id: None,
        chain_root_id: Some(origin.chain_root_id.clone().unwrap_or_else(|| origin.run_id.clone())),
        status: Status::Running,
        pid: None,
        step: of.checkpoint.step,
        fuel: of.checkpoint.fuel,
        result: None,
        error: None,
        ..origin.clone()
    };
    pinned_by(&mut row, of);
    row
}

/// The inputs that a run had at a checkpoint.
pub fn inputs(store: &dyn CheckpointStore, restored: &Restored) -> Result<Value> {
    serde_json::from_str(&runs::snapshot(store, &restored.checkpoint.inputs, "the inputs")?)
        .map_err(|error| Error::integrity(format!("the inputs of the run cannot be read: {error}")))
}

fn nothing_stored(run: &str) -> Error {
    Error::not_found(format!("run {run} was cut short before its first checkpoint: there is nothing to edit"))
        .help(format!("let it begin: graph-host resume {run}"))
}

fn refused(error: &HandleError) -> Error {
    match error {
        HandleError::Refused { code: code @ ErrorCode::InvalidUpdate, message } => {
            Error::new(Exit::InvalidDocument, code.as_str(), message.clone())
                .help("nothing was changed; give values that the channels take")
        }
        HandleError::Refused { code, message } => Error::of_run(*code, message.clone()),
        HandleError::Illegal { .. } => {
            Error::new(Exit::Failed, "internal", format!("the host has a fault: {error}"))
        }
    }
}

async fn drive(
    walker: RunTree,
    row: &RunRow,
    (store, guard): (Arc<dyn CheckpointStore>, Arc<RunGuard>),
    key: SigningKey,
    event: Event,
) -> Result<Summary> {
    let parts = Parts {
        executor: Arc::new(NoTasks),
        store,
        guard,
        writing: Writing::Inline,
        key,
        clock: Arc::new(SystemClock),
        durability: row.durability,
    };
    let mut driver = Driver::new(walker, parts)
        .map_err(|error| Error::storage(format!("the run cannot be written: {error}")))?;
    driver.drive(event, &mut ()).await.map_err(|error| match error {
        DriveError::Refused { code, message } => refused(&HandleError::Refused { code, message }),
        other => other.into(),
    })?;
    Ok(driver.take_summary())
}

/// Edits and forks dispatch nothing.
#[derive(Debug)]
struct NoTasks;

impl TaskExecutor for NoTasks {
    fn execute(&self, _spec: TaskSpec) -> BoxFuture<'static, TaskReport> {
        let failure = Failure::new(Category::Internal, "nothing is dispatched here");
        futures::future::ready(TaskReport::new(Err(failure), 0)).boxed()
    }

    fn is_brief(&self, _spec: &TaskSpec) -> bool {
        false
    }

    fn parallelism(&self) -> usize {
        1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_step_a_node_or_a_number() {
        assert_eq!(parse_place("step:3"), Ok(Place::Step(3)));
        assert_eq!(parse_place("node:a:b"), Ok(Place::Node("a:b".to_owned())));
        assert_eq!(parse_place("7"), Ok(Place::Sequence(7)));
        for bad in ["", "step:", "step:-1", "node:", "last", "time:now"] {
            assert!(parse_place(bad).is_err_and(|error| error.contains("step:N")), "{bad}");
        }
    }
}
