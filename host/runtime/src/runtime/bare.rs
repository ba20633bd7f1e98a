//! Runs without a project: the program brings the graph, the store, the clock, the key and the executor of tasks.

use std::sync::Arc;

use graph_core::capability::Manifest;
use graph_core::digest::Digest;
use graph_core::policy::Durability;
use graph_core::record::CheckpointSelector;
use graph_driver::StopRequest;
use graph_store::{RunGuard, RunRow};
use graph_walker::graph::Graph;
use graph_walker::hook::Hook;
use graph_walker::walker::{Edit, Event, Graphs, Identity, Restored, RestoredTree, Resume, Setup, Summary};
use serde_json::{Map, Value};

use crate::error::{Error, Kind, Result};
use crate::run::context::{
    self, AssembledRun, Definition, Environment, NewRunSettings, PreparedRun, RunServices,
};
use crate::run::{edit_and_fork, restore};

/// Runs graphs for a program that brings everything that a run needs. Nothing is read from a project or from the user's
/// space, and no item is searched for.
///
/// ```
/// use std::sync::Arc;
///
/// use graph_core::{capability::Manifest, digest::Digest, record::Status, trust::SigningKey};
/// use graph_runtime::graph_driver::{SystemClock, TaskExecutor, WriteMode};
/// use graph_runtime::graph_store::MemoryStore;
/// use graph_runtime::{BareGraph, BareRuntime, BareStart, RunServices};
/// use graph_walker::document::load;
///
/// # async fn example(executor: Arc<dyn TaskExecutor>) -> Result<(), Box<dyn std::error::Error>> {
/// let text = "\
/// tool_type: graph
/// config:
///   start: greet
///   nodes:
///     greet: { assign: { greeting: 'Hello, ${inputs.name}' } }
/// ";
/// let graph = Arc::new(load("greet.yaml", text, "greet").map_err(|problems| problems.to_lines().join("\n"))?.graph);
/// let graph = BareGraph {
///     graph,
///     graphs: Arc::default(),
///     hooks: Arc::default(),
///     manifest: Arc::new(Manifest::deny_all()),
///     pins: Digest::of_bytes(b"version 7 of the program"),
/// };
/// let runtime = BareRuntime::new(RunServices {
///     store: Arc::new(MemoryStore::default()),
///     executor,
///     clock: Arc::new(SystemClock),
///     key: SigningKey::from_seed(&[7; 32]),
///     writing: WriteMode::Inline,
/// });
/// let start = BareStart::new("greeting-1", serde_json::json!({ "name": "Ada" }));
/// let (run, mut prepared, event) = runtime.start(&graph, start)?;
/// assert_eq!(prepared.driver.drive(event, &mut ()).await?, Status::Completed);
/// drop(prepared);
/// assert_eq!(runtime.summary(&run)?.state["greeting"], "Hello, Ada");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct BareRuntime {
    environment: Environment,
}

/// A graph with everything that a run of it depends on.
#[derive(Clone, Debug)]
pub struct BareGraph {
    /// The graph of the root run.
    pub graph: Arc<Graph>,
    /// The graphs that its nodes dispatch, by item id.
    pub graphs: Arc<Graphs>,
    /// The hooks around the graph's own.
    pub hooks: Arc<Vec<Hook>>,
    /// The manifest that says what its nodes may use.
    pub manifest: Arc<Manifest>,
    /// Digest of everything else that a run depends on, which the run's records are pinned to.
    pub pins: Digest,
}

/// The parameters of a new run.
#[derive(Clone, Debug)]
pub struct BareStart {
    /// Id of the run.
    pub run_id: String,
    /// The inputs, checked and filled in.
    pub inputs: Value,
    /// Initial values of channels, which override the graph's defaults.
    pub initial_state: Map<String, Value>,
    /// Overrides the graph's `durability`.
    pub durability: Option<Durability>,
    /// Overrides the graph's `max_steps`.
    pub max_steps: Option<u64>,
    /// Overrides the graph's `max_concurrency`.
    pub max_concurrency: Option<u32>,
    /// A request to stop that precedes the run's first event.
    pub stop: Option<StopRequest>,
}

impl BareStart {
    /// Makes the parameters of a run with the settings of its graph.
    pub fn new(run_id: &str, inputs: Value) -> Self {
        Self {
            run_id: run_id.to_owned(),
            inputs,
            initial_state: Map::new(),
            durability: None,
            max_steps: None,
            max_concurrency: None,
            stop: None,
        }
    }
}

/// The graph and the setup of a run, which its program keeps between operations. Everything else is in the store.
#[derive(Clone, Debug)]
pub struct BareRun {
    graph: Arc<Graph>,
    setup: Setup,
    is_fork: bool,
}

impl BareRun {
    /// Id of the run.
    pub fn id(&self) -> &str {
        &self.setup.identity.run
    }

    /// The graph of the run.
    pub fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    /// The graphs that its nodes dispatch, by item id.
    pub fn graphs(&self) -> &Arc<Graphs> {
        &self.setup.graphs
    }

    /// The inputs that its next operation begins with.
    pub fn inputs(&self) -> &Value {
        &self.setup.inputs
    }

    /// Replaces the inputs, after a resume with new ones.
    pub fn set_inputs(&mut self, inputs: Value) {
        self.setup.inputs = Arc::new(inputs);
    }

    /// Replaces the limit on supersteps, after a resume with a new one.
    pub fn set_max_steps(&mut self, max_steps: u64) {
        self.setup.max_steps = Some(max_steps);
    }

    /// Mode in which its records become durable.
    pub fn durability(&self) -> Durability {
        self.setup.durability
    }
}

/// A run that this process holds and does not drive yet, with its verified records.
#[derive(Debug)]
pub struct HeldRun {
    guard: RunGuard,
    restored: Option<RestoredTree>,
}

impl HeldRun {
    /// Checks that nothing was stored of the run: it starts from its beginning.
    pub fn is_unstarted(&self) -> bool {
        self.restored.is_none()
    }
}

/// A fork that is not stored yet.
#[derive(Debug)]
pub struct NewFork {
    /// The new run.
    pub run: BareRun,
    row: RunRow,
    of: Restored,
}

impl BareRuntime {
    /// Makes a runtime with the services that a program brings.
    pub fn new(services: RunServices) -> Self {
        Self { environment: Environment { services, state_item: None } }
    }

    /// The services that the runtime was made with.
    pub fn services(&self) -> &RunServices {
        &self.environment.services
    }

    /// Creates a run in the store, and holds it: the caller drives it with the event. If the walker refuses the start, no
    /// run is left behind.
    pub fn start(&self, graph: &BareGraph, start: BareStart) -> Result<(BareRun, PreparedRun, Event)> {
        let definition = Definition {
            graph: Arc::clone(&graph.graph),
            graphs: Arc::clone(&graph.graphs),
            hooks: Arc::clone(&graph.hooks),
            manifest: Arc::clone(&graph.manifest),
            manifest_digest: graph.manifest.digest(),
            pins: graph.pins,
        };
        let settings = NewRunSettings {
            run: start.run_id,
            graph_path: None,
            inputs: Arc::new(start.inputs),
            initial_state: start.initial_state,
            seed: None,
            durability: start.durability,
            max_steps: start.max_steps,
            max_concurrency: start.max_concurrency,
            parent: None,
            pid: None,
            texts: Vec::new(),
        };
        let assembled = self.environment.start(&definition, settings)?;
        let run = BareRun { graph: definition.graph, setup: assembled.setup.clone(), is_fork: false };
        Ok((run, self.prepared(assembled, start.stop)?, Event::Started))
    }

    /// Holds a run, and restores it from its records. It fails if another process holds the run.
    pub fn hold(&self, run: &BareRun) -> Result<HeldRun> {
        let guard = self.environment.take(run.id())?;
        let restored = self.restored(run)?;
        Ok(HeldRun { guard, restored })
    }

    /// Continues a run: the caller drives it with the event. A run of which nothing was stored starts from its beginning,
    /// and takes only the limit on supersteps from `resume`. `stop` is a request that precedes the event.
    pub fn resume(
        &self,
        run: &mut BareRun,
        held: HeldRun,
        resume: Resume,
        stop: Option<StopRequest>,
    ) -> Result<(PreparedRun, Event)> {
        let HeldRun { guard, restored } = held;
        let event = if restored.is_some() {
            Event::Resumed(resume)
        } else if run.is_fork {
            return Err(Error::not_found(
                "the fork was cut short before anything of it was stored: fork again",
            ));
        } else {
            run.setup.max_steps = resume.max_steps.or(run.setup.max_steps);
            Event::Started
        };
        let assembled = self.environment.resume(&run.graph, run.setup.clone(), restored, guard)?;
        Ok((self.prepared(assembled, stop)?, event))
    }

    /// Edits the state of a run, as a node would, at its newest checkpoint or after going back to an earlier one, which may
    /// have had [other inputs](Self::refresh).
    pub async fn edit(
        &self,
        run: &BareRun,
        held: HeldRun,
        edit: Edit,
        back_to: Option<CheckpointSelector>,
    ) -> Result<Summary> {
        let HeldRun { guard, restored } = held;
        let restored = restored.ok_or_else(|| edit_and_fork::nothing_stored(run.id()))?;
        let setup = run.setup.clone();
        Box::pin(self.environment.update(&run.graph, setup, restored, edit, back_to, guard)).await
    }

    /// Reads the inputs that the run had at its newest checkpoint, after an edit.
    pub fn refresh(&self, run: &mut BareRun) -> Result<()> {
        let newest = self.restored_at(run, &CheckpointSelector::Newest)?;
        run.set_inputs(edit_and_fork::inputs(&*self.services().store, &newest)?);
        Ok(())
    }

    /// Prepares a new run that begins with the state of another run at a checkpoint.
    pub fn fork(&self, run: &BareRun, run_id: &str, at: &CheckpointSelector) -> Result<NewFork> {
        let of = self.restored_at(run, at)?;
        let inputs = Arc::new(edit_and_fork::inputs(&*self.services().store, &of)?);
        let row = edit_and_fork::fork_row(&restore::find(&*self.services().store, run.id())?, &of, run_id);
        let (run_id, root) = (run_id.to_owned(), run_id.to_owned());
        let identity = Identity { run: run_id, root, parent: None, namespace: String::new() };
        let setup = Setup { identity, inputs, ..run.setup.clone() };
        let run = BareRun { graph: Arc::clone(&run.graph), setup, is_fork: true };
        Ok(NewFork { run, row, of })
    }

    /// Creates a fork in the store, edited or unchanged, and leaves it suspended. If the walker refuses it, no run is left
    /// behind.
    pub async fn create(&self, fork: NewFork, edit: Option<Edit>) -> Result<Summary> {
        let NewFork { run, row, of } = fork;
        Box::pin(self.environment.fork(&run.graph, run.setup, row, of, edit)).await
    }

    /// The summary of a run by its records.
    pub fn summary(&self, run: &BareRun) -> Result<Summary> {
        Ok(context::walker(&run.graph, run.setup.clone(), self.restored(run)?)?.summary())
    }

    fn restored(&self, run: &BareRun) -> Result<Option<RestoredTree>> {
        let restored =
            restore::restore(&*self.services().store, run.id(), self.services().key.verifying_key())?;
        Ok(restored.map(|(restored, _)| restored))
    }

    fn restored_at(&self, run: &BareRun, at: &CheckpointSelector) -> Result<Restored> {
        restore::restore_at(&*self.services().store, run.id(), self.services().key.verifying_key(), at)
    }

    /// Passes a run to a driver, after a request to stop it.
    fn prepared(&self, mut assembled: AssembledRun, stop: Option<StopRequest>) -> Result<PreparedRun> {
        if let Some(stop) = stop {
            assembled.walker.handle(self.services().clock.now(), stop.into()).map_err(|error| {
                let message = format!("run {} cannot be stopped: {error}", assembled.run);
                Error::new(Kind::Internal, "internal", message)
            })?;
        }
        assembled.prepare(&self.environment)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use futures::FutureExt as _;
    use futures::future::BoxFuture;
    use graph_core::capability::DispatchPatterns;
    use graph_core::node::Outcome;
    use graph_core::record::Status;
    use graph_core::trust::SigningKey;
    use graph_driver::{SystemClock, TaskExecutor, WriteMode};
    use graph_store::MemoryStore;
    use graph_walker::document::load;
    use graph_walker::walker::{Answers, TaskReport, TaskSpec};
    use serde_json::json;

    use super::*;

    /// Answers every task with its params.
    #[derive(Debug)]
    struct Echo;

    impl TaskExecutor for Echo {
        fn execute(&self, spec: TaskSpec) -> BoxFuture<'static, TaskReport> {
            futures::future::ready(TaskReport::new(Ok(Outcome::Result(spec.params)), 1)).boxed()
        }

        fn is_brief(&self, _spec: &TaskSpec) -> bool {
            true
        }

        fn parallelism(&self) -> usize {
            1
        }
    }

    const ASKING: &str = "\
tool_type: graph
config:
  start: add
  channels: { log: { reducer: append } }
  nodes:
    add: { action: { item_id: own/echo, params: { n: \"${inputs.n}\" } }, assign: { log: [\"${result.n}\"] }, next: ask }
    ask: { type: ask, ask: { question: \"go on?\" }, assign: { log: [\"${result}\"] } }
";

    fn runtime() -> BareRuntime {
        BareRuntime::new(RunServices {
            store: Arc::new(MemoryStore::new()),
            executor: Arc::new(Echo),
            clock: Arc::new(SystemClock),
            key: SigningKey::from_seed(&[3; 32]),
            writing: WriteMode::Inline,
        })
    }

    fn graph() -> BareGraph {
        let graph = Arc::new(load("asking.yaml", ASKING, "asking").unwrap().graph);
        let manifest =
            Arc::new(Manifest::of_dispatch(DispatchPatterns::parse(["execute.tool.own.*"]).unwrap()));
        let pins = Digest::of_bytes(b"pins");
        BareGraph { graph, graphs: Arc::default(), hooks: Arc::default(), manifest, pins }
    }

    async fn driven(prepared: PreparedRun, event: Event) -> Summary {
        let PreparedRun { mut driver, .. } = prepared;
        driver.drive(event, &mut ()).await.unwrap();
        driver.take_summary()
    }

    async fn resumed(runtime: &BareRuntime, run: &mut BareRun, answers: Answers) -> Summary {
        let held = runtime.hold(run).unwrap();
        assert!(!held.is_unstarted());
        let resume = Resume { answers, ..Resume::default() };
        let (prepared, event) = runtime.resume(run, held, resume, None).unwrap();
        driven(prepared, event).await
    }

    #[tokio::test]
    async fn a_run_without_a_project_is_started_edited_forked_and_resumed() {
        let runtime = runtime();
        let start = BareStart::new("r", json!({ "n": 7 }));
        let (mut run, prepared, event) = runtime.start(&graph(), start).unwrap();
        // The driver holds the run.
        assert!(runtime.hold(&run).is_err());
        assert_eq!(driven(prepared, event).await.status, Status::Interrupted);
        assert_eq!(runtime.summary(&run).unwrap().state["log"], json!([7]));

        let edit =
            Edit { values: Map::from_iter([("log".to_owned(), json!(["by hand"]))]), ..Edit::default() };
        let held = runtime.hold(&run).unwrap();
        let edited = runtime.edit(&run, held, edit, None).await.unwrap();
        assert_eq!(edited.state["log"], json!([7, "by hand"]));
        runtime.refresh(&mut run).unwrap();
        assert_eq!(*run.inputs(), json!({ "n": 7 }));

        let fork = runtime.fork(&run, "f", &CheckpointSelector::Step(1)).unwrap();
        let mut forked = fork.run.clone();
        assert_eq!(runtime.create(fork, None).await.unwrap().state["log"], json!([7]));
        for (run, state) in [(&mut run, json!([7, "by hand", "yes"])), (&mut forked, json!([7, "yes"]))] {
            // An edit and a fork stop before the question, which is asked first.
            assert_eq!(Box::pin(resumed(&runtime, run, Answers::None)).await.status, Status::Interrupted);
            let summary = Box::pin(resumed(&runtime, run, Answers::Bare(json!("yes")))).await;
            assert_eq!((summary.status, &summary.state["log"]), (Status::Completed, &state));
        }
    }

    #[tokio::test]
    async fn a_run_of_which_nothing_was_stored_starts_from_its_beginning_and_a_fork_does_not() {
        let runtime = runtime();
        let start = BareStart::new("r", json!({ "n": 7 }));
        let (mut run, prepared, _) = runtime.start(&graph(), start).unwrap();
        drop(prepared);
        let held = runtime.hold(&run).unwrap();
        assert!(held.is_unstarted());
        let resume = Resume { max_steps: Some(1), ..Resume::default() };
        let (prepared, event) = runtime.resume(&mut run, held, resume, None).unwrap();
        assert!(matches!(event, Event::Started));
        let limited = driven(prepared, event).await;
        assert_eq!((limited.status, limited.steps), (Status::Limit, 1));

        let NewFork { run: mut forked, row, .. } =
            runtime.fork(&run, "f", &CheckpointSelector::Newest).unwrap();
        runtime.services().store.create_run(&graph_store::NewRun { row, snapshots: Vec::new() }).unwrap();
        let held = runtime.hold(&forked).unwrap();
        let refused = runtime.resume(&mut forked, held, Resume::default(), None).unwrap_err();
        assert_eq!(refused.kind(), Kind::NotFound);
    }

    #[tokio::test]
    async fn a_request_to_stop_precedes_the_first_event() {
        let runtime = runtime();
        let start = BareStart { stop: Some(StopRequest::Cancel), ..BareStart::new("r", json!({ "n": 7 })) };
        let (_, prepared, event) = runtime.start(&graph(), start).unwrap();
        let stopped = driven(prepared, event).await;
        assert_eq!((stopped.status, stopped.steps), (Status::Cancelled, 0));
    }
}
