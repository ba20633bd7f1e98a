//! Edits and forks of stored runs at any of their checkpoints. Nothing is dispatched here: later tasks run when the run is resumed.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use graph_core::node::{Category, Failure};
use graph_core::record::{CheckpointSelector, Status};
use graph_core::trust::{SigningKey, VerifyingKey};
use graph_store::{CheckpointStore, RunRow};
use graph_walker::walker::{Edit, Restored, Setup, Summary, TaskReport, TaskSpec};
use serde_json::Value;

use crate::clock::now;
use crate::error::{Error, Result};
use crate::host::Host;
use crate::project::Project;
use crate::remedy::Remedy;
use crate::run::context::{Environment, RunServices};
use crate::run::history_audit::check_pause;
use crate::run::restore;
use crate::run::resume::{self, own_key, pinned_by};
use crate::run::snapshot::{PinnedBy, RunSnapshot};
use crate::run::state_item::StateItem;
use graph_driver::{SystemClock, TaskExecutor, WriteMode};

/// A run after an edit, or a new fork.
#[derive(Debug)]
pub struct EditedRun {
    /// Id of the run.
    pub run: String,
    /// Item id of its graph.
    pub graph: String,
    /// Its status and state.
    pub summary: Summary,
    /// Key that its host signs it with.
    pub key: VerifyingKey,
    /// For a fork: the id of the original run, and the number of the checkpoint in it.
    pub origin: Option<(String, u64)>,
}

/// Reads `--at`: `step:N`, `node:NAME` or the number of a checkpoint.
pub fn parse_selector(text: &str) -> Result<CheckpointSelector, String> {
    let number = |digits: &str, what: &str| {
        digits.parse::<u64>().map_err(|_| format!("`{digits}` is not the number of a {what}"))
    };
    match text.split_once(':') {
        Some(("step", step)) => number(step, "step").map(CheckpointSelector::Step),
        Some(("node", "")) => Err("`node:` needs the name of a node".to_owned()),
        Some(("node", node)) => Ok(CheckpointSelector::Node(node.to_owned())),
        Some((other, _)) => Err(format!("`{other}:` is not a kind of place")),
        None => number(text, "checkpoint").map(CheckpointSelector::Sequence),
    }
    .map_err(|error| format!("{error}; a place is step:N, node:NAME or a checkpoint's number"))
}

/// Edits the state of a suspended run, as a node would, at its newest checkpoint or after going back to an earlier one.
/// The run stays suspended; the results of its unfinished superstep are discarded.
pub(crate) async fn update(
    name: &str,
    store: Arc<dyn CheckpointStore>,
    edit: Edit,
    back_to: Option<CheckpointSelector>,
    project: &Project,
    host: &Host,
) -> Result<EditedRun> {
    let found = restore::find(&*store, name)?;
    let run = found.run_id;
    let guard = store.acquire(&run, &restore::this_process())?;
    let mut row = restore::find(&*store, &run)?;
    let key = own_key(&row, host)?;
    let restored = restore::restore(&*store, &run, key.verifying_key())?;
    let (restored, _) = restored.ok_or_else(|| nothing_stored(&run))?;
    check_pause(&row, Some(&restored.root.checkpoint), &*store)?;
    pinned_by(&mut row, &restored.root);
    let kept = RunSnapshot::read(&*store, &row, PinnedBy::Record, &host.home)?;
    let hooks = kept.hooks(&*store)?.hooks;
    let inputs_now = inputs(&*store, &restored.root)?;
    let manifest = Arc::new(kept.manifest.of_record().clone());
    let (graph, graphs) = (Arc::new(kept.graph), Arc::new(kept.graphs));
    let setup = Setup { hooks, ..resume::setup(&row, &manifest, &graphs, inputs_now) };
    let verifying = key.verifying_key();
    let state_item = StateItem::of_run(false, &graph, &row, &key, project, host);
    // The future holds the walker's data, which is large.
    let environment = Environment { services: edit_services(store, key), state_item };
    let summary = Box::pin(environment.update(&graph, setup, restored, edit, back_to, guard)).await?;
    Ok(EditedRun { run, graph: graph.id.clone(), summary, key: verifying, origin: None })
}

/// Creates a new run that begins with the state of another run at a checkpoint, edited or unchanged, and leaves it
/// suspended there. The other run may be active, and is not changed.
pub(crate) async fn fork(
    name: &str,
    store: Arc<dyn CheckpointStore>,
    place: CheckpointSelector,
    edit: Option<Edit>,
    run_id: Option<String>,
    project: &Project,
    host: &Host,
) -> Result<EditedRun> {
    let origin = restore::find(&*store, name)?;
    let key = own_key(&origin, host)?;
    let of = restore::restore_at(&*store, &origin.run_id, key.verifying_key(), &place)?;
    let at = now();
    let run = match run_id {
        Some(run) => run,
        None => crate::run::run_id::fresh(at)?,
    };
    let sequence = of.checkpoint.sequence;
    let mut row = fork_row(&origin, &of, &run);
    (row.created_at, row.updated_at) = (at, at);
    let kept = RunSnapshot::read(&*store, &row, PinnedBy::Record, &host.home)?;
    row.manifest = kept.pins.manifest;
    let hooks = kept.hooks(&*store)?.hooks;
    let manifest = Arc::new(kept.manifest.of_record().clone());
    let (graph, graphs) = (Arc::new(kept.graph), Arc::new(kept.graphs));
    let setup = Setup { hooks, ..resume::setup(&row, &manifest, &graphs, inputs(&*store, &of)?) };
    let verifying = key.verifying_key();
    let state_item = StateItem::of_run(false, &graph, &origin, &key, project, host);
    // The future holds the walker's data, which is large.
    let environment = Environment { services: edit_services(store, key), state_item };
    let summary = Box::pin(environment.fork(&graph, setup, row, of, edit)).await?;
    let origin = Some((origin.run_id.clone(), sequence));
    Ok(EditedRun { run, graph: graph.id.clone(), summary, key: verifying, origin })
}

/// Makes the row of a fork. Its pins are those of the checkpoint, even if the run got other pins later.
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
        model_use: of.checkpoint.host.model,
        model: origin.model.clone().filter(|_| !of.checkpoint.host.model.is_nothing()),
        result: None,
        error: None,
        ..origin.clone()
    };
    pinned_by(&mut row, of);
    row
}

/// Reads the inputs that a run had at a checkpoint.
pub fn inputs(store: &dyn CheckpointStore, restored: &Restored) -> Result<Value> {
    restore::inputs(store, &restored.checkpoint.inputs)
}

pub(crate) fn nothing_stored(run: &str) -> Error {
    Error::not_found(format!("run {run} was cut short before its first checkpoint: there is nothing to edit"))
        .help(Remedy::ResumeRun { run: run.to_owned() })
}

/// Makes the services for edits: nothing is dispatched, and records are stored before the call returns.
pub(crate) fn edit_services(store: Arc<dyn CheckpointStore>, key: SigningKey) -> RunServices {
    RunServices {
        store,
        executor: Arc::new(NoTasks),
        clock: Arc::new(SystemClock),
        key,
        writing: WriteMode::Inline,
    }
}

/// Executor of edits, forks and stops, which dispatch nothing.
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
        assert_eq!(parse_selector("step:3"), Ok(CheckpointSelector::Step(3)));
        assert_eq!(parse_selector("node:a:b"), Ok(CheckpointSelector::Node("a:b".to_owned())));
        assert_eq!(parse_selector("7"), Ok(CheckpointSelector::Sequence(7)));
        for bad in ["", "step:", "step:-1", "node:", "last", "time:now"] {
            assert!(parse_selector(bad).is_err_and(|error| error.contains("step:N")), "{bad}");
        }
    }
}
