//! Assembles runs, for the command line, for programs and for cases alike. A [`Definition`] is the subject of a run, an
//! [`Environment`] its means; starts, resumes, edits and forks differ in their use of the two.
//!
//! Items, trust, and changes since a run was started are the concern of [`super::start`] and [`super::resume`].

use std::sync::Arc;

use graph_core::capability::Manifest;
use graph_core::digest::Digest;
use graph_core::json;
use graph_core::limits::{LARGEST_FIGURE, ModelUse};
use graph_core::policy::Durability;
use graph_core::record::{CheckpointSelector, ErrorCode, Status};
use graph_core::trust::SigningKey;
use graph_driver::{Clock, DriveError, Driver, DriverConfig, TaskExecutor, WriteMode};
use graph_store::{CheckpointStore, NewRun, RunGuard, RunRow, RunUpdate, Snapshot};
use graph_walker::graph::Graph;
use graph_walker::hook::Hook;
use graph_walker::walker::{
    Earlier, Edit, Event, Graphs, HandleError, Identity, Restored, RestoredTree, RunTree, Setup, Summary,
    Update, inputs_digest,
};
use serde_json::{Map, Value};

use crate::error::{Error, Kind, Result};
use crate::run::edit_and_fork::inputs;
use crate::run::restore;
use crate::run::start_note::RunStart;
use crate::run::state_item::StateItem;

/// The graph, hooks and manifest of a run: everything that its pins cover.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The graph of the root run.
    pub graph: Arc<Graph>,
    /// The graphs that its nodes dispatch, by item id.
    pub graphs: Arc<Graphs>,
    /// The hooks of the project and of the user.
    pub hooks: Arc<Vec<Hook>>,
    /// The manifest, narrowed by the run's inputs.
    pub manifest: Arc<Manifest>,
    /// The digest of the manifest, for the run's row.
    pub manifest_digest: Digest,
    /// The digest of the run's pins.
    pub pins: Digest,
}

/// The store, executor, clock and key of runs.
#[derive(Clone, Debug)]
pub struct RunServices {
    /// The store that keeps the runs.
    pub store: Arc<dyn CheckpointStore>,
    /// Performs the tasks of runs.
    pub executor: Arc<dyn TaskExecutor>,
    /// The clock that recorded times come from.
    pub clock: Arc<dyn Clock>,
    /// The key that signs the records of runs.
    pub key: SigningKey,
    /// Mode of writing the records.
    pub writing: WriteMode,
}

/// The services of a run, with the writer of its state item.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The store, executor, clock and key of the run.
    pub services: RunServices,
    /// Writer of the run's state item after each stored record; `None` if the run has no state item.
    pub state_item: Option<StateItem>,
}

/// The parameters of a new run.
#[derive(Clone, Debug)]
pub struct NewRunSettings {
    /// The id of the new run.
    pub run: String,
    /// Path of the graph's file for the run's row, if there is a file.
    pub graph_path: Option<String>,
    /// The inputs, checked and filled in.
    pub inputs: Arc<Value>,
    /// Initial values of channels, which override the graph's defaults.
    pub initial_state: Map<String, Value>,
    /// A seed that replaces the one derived from graph and inputs.
    pub seed: Option<Digest>,
    /// Overrides the graph's `durability`.
    pub durability: Option<Durability>,
    /// Overrides the graph's `max_steps`.
    pub max_steps: Option<u64>,
    /// Overrides the graph's `max_concurrency`.
    pub max_concurrency: Option<u32>,
    /// The run that started it, if there is one.
    pub parent: Option<RunParent>,
    /// Id of the process that runs it, if it is to be recorded.
    pub pid: Option<u32>,
    /// Texts that the run stores in addition to its inputs.
    pub texts: Vec<Snapshot>,
}

/// The run that started another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunParent {
    /// Id of the parent.
    pub run_id: String,
    /// Id of the run at the root of its tree.
    pub root_id: String,
}

/// A run that this process holds, before it is driven. After a drop, it can be resumed.
#[derive(Debug)]
pub struct AssembledRun {
    /// The id of the run.
    pub run: String,
    /// The setup that its walker was made with.
    pub setup: Setup,
    /// The walkers of the run and its child runs.
    pub walker: RunTree,
    guard: RunGuard,
}

/// A run that can be driven.
#[derive(Debug)]
pub struct PreparedRun {
    /// The id of the run.
    pub run: String,
    /// The driver, which holds the run against other processes.
    pub driver: Driver,
}

impl AssembledRun {
    /// Passes the run to a driver.
    pub fn prepare(self, environment: &Environment) -> Result<PreparedRun> {
        let Self { run, setup, walker, guard } = self;
        let driver = environment.driver(&run, (walker, guard), setup.durability)?;
        Ok(PreparedRun { run, driver })
    }
}

impl Environment {
    /// Takes an existing run: no other process can take it until the guard is dropped.
    pub fn take(&self, run: &str) -> Result<RunGuard> {
        Ok(self.services.store.acquire(run, &restore::this_process())?)
    }

    fn driver(&self, run: &str, assembled: (RunTree, RunGuard), durability: Durability) -> Result<Driver> {
        let Self { services: RunServices { store, executor, clock, key, writing }, state_item } =
            self.clone();
        let (walker, guard) = assembled;
        let parts = DriverConfig {
            executor,
            store: Arc::clone(&store),
            guard: Arc::new(guard),
            writing,
            key,
            clock,
            durability,
        };
        let mut driver = Driver::new(walker, parts).map_err(|error| {
            Error::storage(format!("the thread that writes to the store cannot be started: {error}"))
                .caused_by(error)
        })?;
        if let Some(item) = state_item {
            let run = run.to_owned();
            driver.after_store(move || item.update(&*store, &run));
        }
        Ok(driver)
    }

    /// Creates a run in the store, and takes it. If the walker refuses the start, no run is left behind.
    pub fn start(&self, definition: &Definition, settings: NewRunSettings) -> Result<AssembledRun> {
        let graph = &definition.graph;
        let run = settings.run;
        let (root, parent) = match settings.parent {
            Some(parent) => (parent.root_id, Some(parent.run_id)),
            None => (run.clone(), None),
        };
        let inputs = inputs_digest(&settings.inputs);
        let setup = Setup {
            identity: Identity {
                run: run.clone(),
                root: root.clone(),
                parent: parent.clone(),
                namespace: String::new(),
            },
            seed: settings.seed.unwrap_or_else(|| Setup::default_seed_of(&graph.digest, &inputs)),
            inputs: settings.inputs,
            initial_state: settings.initial_state,
            manifest: Arc::clone(&definition.manifest),
            graphs: Arc::clone(&definition.graphs),
            hooks: Arc::clone(&definition.hooks),
            pins: definition.pins,
            accepted: Vec::new(),
            durability: settings.durability.unwrap_or(graph.durability),
            max_steps: settings.max_steps,
            max_concurrency: settings.max_concurrency,
        };
        let at = self.services.clock.now();
        // The start is tried without a store first: its outcome is the same each time.
        RunTree::new(Arc::clone(graph), setup.clone())
            .handle(at, Event::Started)
            .map_err(|error| refused_event(&error))?;
        let row = RunRow {
            run_id: run.clone(),
            graph_id: graph.id.clone(),
            graph_path: settings.graph_path,
            parent_id: parent,
            root_id: root,
            continuation_of: None,
            continuation_id: None,
            chain_root_id: None,
            status: Status::Running,
            pid: settings.pid,
            step: 0,
            fuel: 0,
            model_use: ModelUse::NOTHING,
            model: None,
            result: None,
            error: None,
            graph: graph.digest,
            inputs,
            manifest: definition.manifest_digest,
            pins: setup.pins,
            seed: setup.seed,
            key: self.services.key.id(),
            durability: setup.durability,
            // No run takes more steps.
            max_steps: setup.max_steps.map(|most| most.min(LARGEST_FIGURE)),
            created_at: at,
            updated_at: at,
        };
        let mut snapshots =
            vec![Snapshot { digest: inputs, text: json::canonical_string(&setup.inputs).into() }];
        snapshots.extend(settings.texts);
        snapshots.push(RunStart::of(&row).note(&self.services.key));
        self.services.store.create_run(&NewRun { row, snapshots })?;
        let guard = self.take(&run)?;
        let walker = RunTree::new(Arc::clone(graph), setup.clone());
        Ok(AssembledRun { run, setup, walker, guard })
    }

    /// Restores a run that this process holds; a run without stored records starts from its beginning.
    pub fn resume(
        &self,
        graph: &Arc<Graph>,
        setup: Setup,
        restored: Option<RestoredTree>,
        guard: RunGuard,
    ) -> Result<AssembledRun> {
        let run = setup.identity.run.clone();
        let walker = walker(graph, setup.clone(), restored)?;
        Ok(AssembledRun { run, setup, walker, guard })
    }

    /// Edits the state of a run that this process holds, as a node would, at its newest checkpoint or after going back
    /// to an earlier one. `setup` is the run's present setup.
    pub async fn update(
        &self,
        graph: &Arc<Graph>,
        setup: Setup,
        restored: RestoredTree,
        edit: Edit,
        back_to: Option<CheckpointSelector>,
        guard: RunGuard,
    ) -> Result<Summary> {
        let back_to = match back_to {
            None => None,
            Some(place) => {
                let verifying = self.services.key.verifying_key();
                let earlier =
                    restore::restore_at(&*self.services.store, &setup.identity.run, verifying, &place)?;
                // A run that is at that checkpoint need not go back.
                if earlier.digest == restored.root.digest {
                    None
                } else {
                    let inputs = Arc::new(inputs(&*self.services.store, &earlier)?);
                    Some(Earlier { restored: earlier, inputs })
                }
            }
        };
        let assembled = self.resume(graph, setup, Some(restored), guard)?;
        self.edited(assembled, Event::Updated(Box::new(Update { edit, back_to }))).await
    }

    /// Creates a new run that begins with the state of another run at a checkpoint, edited or unchanged, and leaves it
    /// suspended there. `setup` and `row` are those of the new run. If the walker refuses it, no run is left behind.
    pub async fn fork(
        &self,
        graph: &Arc<Graph>,
        setup: Setup,
        row: RunRow,
        of: Restored,
        edit: Option<Edit>,
    ) -> Result<Summary> {
        let at = self.services.clock.now();
        let run = setup.identity.run.clone();
        let visited = restore::visited_at(&*self.services.store, &of, &self.services.key.verifying_key())?;
        let walker = || {
            RunTree::fork(Arc::clone(graph), setup.clone(), of.clone(), &visited).map_err(|error| {
                let origin = row.continuation_of.as_deref().unwrap_or(&run);
                Error::integrity(format!("run {origin} cannot be restored: {error}"))
            })
        };
        // The fork is tried without a store first.
        walker()?
            .handle(at, Event::Forked(edit.clone()))
            .map_err(|error| refused_edit(refused_event(&error)))?;
        let walker = walker()?;
        self.services.store.create_run(&NewRun { row, snapshots: Vec::new() })?;
        let guard = self.take(&run)?;
        self.edited(AssembledRun { run, setup, walker, guard }, Event::Forked(edit)).await
    }

    /// Passes an event to a run that leaves it suspended.
    async fn edited(&self, assembled: AssembledRun, event: Event) -> Result<Summary> {
        let mut prepared = assembled.prepare(self)?;
        prepared.driver.drive(event, &mut ()).await.map_err(|error| match error {
            DriveError::Refused { .. } => refused_edit(error.into()),
            other => other.into(),
        })?;
        Ok(prepared.driver.take_summary())
    }

    /// Stops a run that this process holds and that is not being driven, before any task runs.
    pub async fn stop(
        &self,
        mut assembled: AssembledRun,
        stop: graph_driver::StopRequest,
        behind: RunUpdate,
        first: Event,
    ) -> Result<Status> {
        let run = assembled.run.clone();
        assembled.walker.handle(self.services.clock.now(), stop.into()).map_err(|error| {
            Error::storage(format!("run {run} cannot be stopped: {error}")).caused_by(error)
        })?;
        let mut prepared = assembled.prepare(self)?;
        prepared.driver.amend(RunUpdate { at: self.services.clock.now(), ..behind });
        Ok(prepared.driver.drive(first, &mut ()).await?)
    }
}

/// Makes the walker of a run; a new one if nothing was stored yet.
pub fn walker(graph: &Arc<Graph>, setup: Setup, restored: Option<RestoredTree>) -> Result<RunTree> {
    let Some(mut restored) = restored else { return Ok(RunTree::new(Arc::clone(graph), setup)) };
    // Any change of the graph has been accepted by now.
    restored.root.checkpoint.graph = graph.digest;
    restored.accept_changes = true;
    let run = setup.identity.run.clone();
    RunTree::restore(Arc::clone(graph), setup, restored).map_err(|error| {
        Error::integrity(format!("run {run} cannot be restored: {error}"))
            .caused_by(error)
            .help("resume it with the graph that it was started with, or start a new run")
    })
}

fn refused_event(error: &HandleError) -> Error {
    match error {
        HandleError::Refused { code, message } => Error::of_run(*code, message.clone()),
        HandleError::Unfit { message, run, updates } => Error::unfit(message, run, updates),
        HandleError::Illegal { .. } => {
            Error::new(Kind::Internal, "internal", format!("the host has a fault: {error}"))
        }
    }
}

/// Makes the error of an edit whose values the walker refuses.
fn refused_edit(error: Error) -> Error {
    if error.code() == ErrorCode::InvalidUpdate.as_str() {
        return Error::new(Kind::Invalid, ErrorCode::InvalidUpdate.as_str(), error.message().to_owned())
            .help("nothing was changed; give values that the channels take");
    }
    error
}
