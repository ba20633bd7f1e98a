//! Where runs are put together, whoever asks for them: the command line, a program, a case. What is run is a
//! [`Definition`], what it is run with an [`Environment`]; starting, resuming, editing and forking differ in what they
//! make of the two.
//!
//! What is around that, such as items, trust, and what has changed since a run began, is for [`super::start`] and
//! [`super::resume`].

use std::sync::Arc;

use graph_core::capability::Manifest;
use graph_core::digest::Digest;
use graph_core::graph::{Durability, Graph};
use graph_core::hook::Hook;
use graph_core::json;
use graph_core::record::{ErrorCode, Place, Status};
use graph_core::trust::SigningKey;
use graph_core::walker::{
    Earlier, Edit, Event, Graphs, HandleError, Identity, Restored, RestoredTree, RunTree, Setup, Summary,
    Update, inputs_digest,
};
use graph_driver::{Clock, DriveError, Driver, Parts, TaskExecutor, Writing};
use graph_store::{CheckpointStore, NewRun, RunGuard, RunRow, RunUpdate, Snapshot};
use serde_json::{Map, Value};

use crate::error::{Error, Kind, Result};
use crate::run::edit_and_fork::inputs;
use crate::run::restore;

/// What is run.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The graph.
    pub graph: Arc<Graph>,
    /// The graphs inside of it, by id.
    pub graphs: Arc<Graphs>,
    /// The hooks that are not the graph's own.
    pub hooks: Arc<Vec<Hook>>,
    /// What it may use, narrowed by its inputs.
    pub manifest: Arc<Manifest>,
    /// The digest of the manifest that the run's row names.
    pub manifest_digest: Digest,
    /// The digest of what the run is pinned to.
    pub pins: Digest,
}

/// What a run is run with.
#[derive(Clone, Debug)]
pub struct Environment {
    /// Keeps it.
    pub store: Arc<dyn CheckpointStore>,
    /// Performs its tasks.
    pub executor: Arc<dyn TaskExecutor>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Signs its records.
    pub key: SigningKey,
    /// How its records are written.
    pub writing: Writing,
}

/// How a run begins.
#[derive(Clone, Debug)]
pub struct Beginning {
    /// Its id.
    pub run: String,
    /// The path of the graph's file as the project keeps it, if there is a file.
    pub graph_path: Option<String>,
    /// The inputs, checked and filled in.
    pub inputs: Arc<Value>,
    /// What channels begin with, over what the graph says.
    pub initial_state: Map<String, Value>,
    /// A seed in place of the one that follows from graph and inputs.
    pub seed: Option<Digest>,
    /// In place of the graph's `durability`.
    pub durability: Option<Durability>,
    /// In place of the graph's `max_steps`.
    pub max_steps: Option<u64>,
    /// In place of the graph's `max_concurrency`.
    pub max_concurrency: Option<u32>,
    /// The process that runs it, if that is to be known.
    pub pid: Option<u32>,
    /// The texts that the run keeps, besides its inputs.
    pub texts: Vec<Snapshot>,
}

/// A run that nobody else can take, as it is before it is driven. Dropped, it is a run that can be resumed.
#[derive(Debug)]
pub struct Assembled {
    /// Its id.
    pub run: String,
    /// What its walker was made with.
    pub setup: Setup,
    /// Its walker.
    pub walker: RunTree,
    guard: RunGuard,
}

/// A run that can be driven.
#[derive(Debug)]
pub struct PreparedRun {
    /// Its id.
    pub run: String,
    /// Drives it, and keeps others away from it.
    pub driver: Driver,
}

impl Assembled {
    /// Hands the run to a driver.
    pub fn ready(self, environment: &Environment) -> Result<PreparedRun> {
        let Self { run, setup, walker, guard } = self;
        let driver = environment.driver(walker, guard, setup.durability)?;
        Ok(PreparedRun { run, driver })
    }
}

impl Environment {
    /// Takes a run that is there: no other process can, until the guard is dropped.
    pub fn take(&self, run: &str) -> Result<RunGuard> {
        Ok(self.store.acquire(run, &restore::this_process())?)
    }

    fn driver(&self, walker: RunTree, guard: RunGuard, durability: Durability) -> Result<Driver> {
        let Self { store, executor, clock, key, writing } = self.clone();
        let guard = Arc::new(guard);
        Driver::new(walker, Parts { executor, store, guard, writing, key, clock, durability }).map_err(
            |error| Error::storage(format!("the thread that writes to the store cannot be started: {error}")),
        )
    }

    /// Creates a run in the store, and takes it. What the walker refuses to begin leaves no run behind.
    pub fn start(&self, definition: &Definition, beginning: Beginning) -> Result<Assembled> {
        let graph = &definition.graph;
        let run = beginning.run;
        let setup = Setup {
            identity: Identity {
                run: run.clone(),
                root: run.clone(),
                parent: None,
                namespace: String::new(),
            },
            seed: beginning.seed.unwrap_or_else(|| Setup::default_seed(graph, &beginning.inputs)),
            inputs: beginning.inputs,
            initial_state: beginning.initial_state,
            manifest: Arc::clone(&definition.manifest),
            graphs: Arc::clone(&definition.graphs),
            hooks: Arc::clone(&definition.hooks),
            pins: definition.pins,
            accepted: Vec::new(),
            durability: beginning.durability.unwrap_or(graph.durability),
            max_steps: beginning.max_steps,
            max_concurrency: beginning.max_concurrency,
        };
        let at = self.clock.now();
        // It begins the same way each time.
        RunTree::new(Arc::clone(graph), setup.clone())
            .handle(at, Event::Started)
            .map_err(|error| refused_event(&error))?;
        let inputs = inputs_digest(&setup.inputs);
        let row = RunRow {
            run_id: run.clone(),
            graph_id: graph.id.clone(),
            graph_path: beginning.graph_path,
            parent_id: None,
            root_id: run.clone(),
            continuation_of: None,
            continuation_id: None,
            chain_root_id: None,
            status: Status::Running,
            pid: beginning.pid,
            step: 0,
            fuel: 0,
            result: None,
            error: None,
            graph: graph.digest,
            inputs,
            manifest: definition.manifest_digest,
            pins: setup.pins,
            seed: setup.seed,
            key: self.key.id(),
            durability: setup.durability,
            max_steps: setup.max_steps,
            created_at: at,
            updated_at: at,
        };
        let mut snapshots =
            vec![Snapshot { digest: inputs, text: json::canonical_string(&setup.inputs).into() }];
        snapshots.extend(beginning.texts);
        self.store.create_run(&NewRun { row, snapshots })?;
        let guard = self.take(&run)?;
        let walker = RunTree::new(Arc::clone(graph), setup.clone());
        Ok(Assembled { run, setup, walker, guard })
    }

    /// Puts a run that was taken together again as it was stored; one of which nothing was stored begins anew.
    pub fn resume(
        &self,
        graph: &Arc<Graph>,
        setup: Setup,
        restored: Option<RestoredTree>,
        guard: RunGuard,
    ) -> Result<Assembled> {
        let run = setup.identity.run.clone();
        let walker = walker(graph, setup.clone(), restored)?;
        Ok(Assembled { run, setup, walker, guard })
    }

    /// Writes to a run that was taken as a node would have, at its newest checkpoint or back at an earlier one. `setup` is
    /// that of the run as it is now.
    pub async fn update(
        &self,
        graph: &Arc<Graph>,
        setup: Setup,
        restored: RestoredTree,
        edit: Edit,
        back_to: Option<Place>,
        guard: RunGuard,
    ) -> Result<Summary> {
        let back_to = match back_to {
            None => None,
            Some(place) => {
                let verifying = self.key.verifying_key();
                let earlier = restore::restore_at(&*self.store, &setup.identity.run, verifying, &place)?;
                // Back to where it stands is no way back.
                if earlier.digest == restored.root.digest {
                    None
                } else {
                    let inputs = Arc::new(inputs(&*self.store, &earlier)?);
                    Some(Earlier { restored: earlier, inputs })
                }
            }
        };
        let assembled = self.resume(graph, setup, Some(restored), guard)?;
        self.edited(assembled, Event::Updated(Box::new(Update { edit, back_to }))).await
    }

    /// Makes a new run that begins where another one stood at a checkpoint, edited or unchanged, and leaves it suspended
    /// there. `setup` and `row` are those of the new run. What the walker refuses leaves no run behind.
    pub async fn fork(
        &self,
        graph: &Arc<Graph>,
        setup: Setup,
        row: RunRow,
        of: Restored,
        edit: Option<Edit>,
    ) -> Result<Summary> {
        let at = self.clock.now();
        let run = setup.identity.run.clone();
        let visited = restore::visited_at(&*self.store, &of, &self.key.verifying_key())?;
        let walker = || {
            RunTree::fork(Arc::clone(graph), setup.clone(), of.clone(), &visited).map_err(|error| {
                let origin = row.continuation_of.as_deref().unwrap_or(&run);
                Error::integrity(format!("run {origin} cannot be restored: {error}"))
            })
        };
        // Tried without a store first.
        walker()?
            .handle(at, Event::Forked(edit.clone()))
            .map_err(|error| refused_edit(refused_event(&error)))?;
        let walker = walker()?;
        self.store.create_run(&NewRun { row, snapshots: Vec::new() })?;
        let guard = self.take(&run)?;
        self.edited(Assembled { run, setup, walker, guard }, Event::Forked(edit)).await
    }

    /// Lets a run take an event that leaves it suspended.
    async fn edited(&self, assembled: Assembled, event: Event) -> Result<Summary> {
        let mut ready = assembled.ready(self)?;
        ready.driver.drive(event, &mut ()).await.map_err(|error| match error {
            DriveError::Refused { .. } => refused_edit(error.into()),
            other => other.into(),
        })?;
        Ok(ready.driver.take_summary())
    }

    /// Lets a run that was taken, and that no process runs, stop before anything runs.
    pub async fn stop(
        &self,
        mut assembled: Assembled,
        stop: graph_driver::Control,
        behind: RunUpdate,
        first: Event,
    ) -> Result<Status> {
        let run = assembled.run.clone();
        assembled
            .walker
            .handle(self.clock.now(), stop.into())
            .map_err(|error| Error::storage(format!("run {run} cannot be stopped: {error}")))?;
        let mut ready = assembled.ready(self)?;
        ready.driver.amend(RunUpdate { at: self.clock.now(), ..behind });
        Ok(ready.driver.drive(first, &mut ()).await?)
    }
}

/// The walker of a run; a new one where nothing was stored yet.
pub fn walker(graph: &Arc<Graph>, setup: Setup, restored: Option<RestoredTree>) -> Result<RunTree> {
    let Some(mut restored) = restored else { return Ok(RunTree::new(Arc::clone(graph), setup)) };
    // A change of the graph has been accepted, or there is none.
    restored.root.checkpoint.graph = graph.digest;
    restored.accept_changes = true;
    let run = setup.identity.run.clone();
    RunTree::restore(Arc::clone(graph), setup, restored).map_err(|error| {
        Error::integrity(format!("run {run} cannot be restored: {error}"))
            .help("resume it with the graph that it was begun with, or begin a new run")
    })
}

fn refused_event(error: &HandleError) -> Error {
    match error {
        HandleError::Refused { code, message } => Error::of_run(*code, message.clone()),
        HandleError::Illegal { .. } => {
            Error::new(Kind::Internal, "internal", format!("the host has a fault: {error}"))
        }
    }
}

/// An edit that the walker refuses: its values are what is invalid.
fn refused_edit(error: Error) -> Error {
    if error.code() == ErrorCode::InvalidUpdate.as_str() {
        return Error::new(Kind::Invalid, ErrorCode::InvalidUpdate.as_str(), error.message().to_owned())
            .help("nothing was changed; give values that the channels take");
    }
    error
}
