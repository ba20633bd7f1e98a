//! [`Runtime`]: everything that a program needs to run graphs.

mod bare;
mod handle;
mod item_executor;
mod options;
#[cfg(any(feature = "unstable", test))]
mod unstable;

use std::sync::{Arc, OnceLock};

use graph_core::record::{CheckpointSelector, Status};
use graph_driver::{Driver, Observer, ObserverPair, StopRequest};
use graph_store::CheckpointStore;
use graph_walker::builder::BuiltGraph;
use graph_walker::walker::{Edit, Event, Resume, Summary};
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::host::Host;
use crate::project::Project;
use crate::project::key_pairs::signing_key;
use crate::project::user_home::Home;
use crate::remedy::ManifestSuggestion;
use crate::run::context::{PreparedRun, RunParent};
use crate::run::edit_and_fork::{self, EditedRun};
use crate::run::opened_graph::OpenedGraph;
use crate::run::planned::PlannedRun;
use crate::run::resume::{self, RestoreOptions, Resumable};
use crate::run::start::{self, StartOptions};
use crate::run::stores::{self, StoreKind, Stores};
use crate::run::{restore, stop_notes, stop_unheld};

pub use bare::{BareGraph, BareRun, BareRuntime, BareStart, HeldRun, NewFork};
pub use handle::{History, RunHandle};
pub use item_executor::ItemSources;
pub use options::{ForkOptions, Options, PlanOptions, ResumeOptions};

/// Runs graphs in a project.
///
/// ```
/// use graph_core::record::Status;
/// use graph_runtime::{Home, Options, Project, Runtime};
///
/// # async fn example(folder: &std::path::Path) -> Result<(), Box<dyn std::error::Error>> {
/// let graph = folder.join("greet.yaml");
/// std::fs::write(&graph, "\
/// tool_type: graph
/// config:
///   start: greet
///   nodes:
///     greet: { assign: { greeting: 'Hello, ${inputs.name}' } }
/// ")?;
/// let (project, home) = (Project::at(folder.to_owned()), Home::at(folder.join("home")));
/// let runtime = Runtime::open(project, home, Options::default())?;
///
/// let plan = runtime.plan(&graph.to_string_lossy()).await?;
/// let inputs = serde_json::Map::from_iter([("name".to_owned(), "Ada".into())]);
/// let run = runtime.start(plan, inputs, ()).await?;
/// let id = run.id().to_owned();
/// let summary = run.outcome().await?;
/// assert_eq!(summary.status, Status::Completed);
/// assert_eq!(summary.state["greeting"], "Hello, Ada");
///
/// let mut kinds = Vec::new();
/// runtime.history(&id)?.after(0, |line| Ok(kinds.push(line["kind"].to_string())))?;
/// assert!(!kinds.is_empty());
/// # Ok(())
/// # }
/// # let folder = tempfile::tempdir().unwrap();
/// # tokio::runtime::Runtime::new().unwrap().block_on(example(folder.path())).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Runtime {
    host: Host,
    project: Project,
    /// Options of a plan that has none of its own.
    plan_options: PlanOptions,
    kept: StoreKind,
    /// The store of runs, once it is open.
    store: Arc<OnceLock<Arc<dyn CheckpointStore>>>,
}

impl Runtime {
    /// Opens a project for its user. The project's state is made where there is none; state of another host is refused.
    pub fn open(project: Project, home: Home, options: Options) -> Result<Self> {
        let Options { sources, manifest, kept, store, compiler, notices, functions } = options;
        let host = Host { home, compiler, notices, functions: Arc::new(functions) };
        let mut runtime = Self::with_host(host, project, kept);
        runtime.plan_options = PlanOptions { sources, manifest, sign_with: None };
        if let Some(store) = store {
            runtime.store = Arc::new(OnceLock::from(store));
        }
        runtime.store()?;
        Ok(runtime)
    }

    fn with_host(host: Host, project: Project, kept: StoreKind) -> Self {
        Self { host, project, plan_options: PlanOptions::default(), kept, store: Arc::default() }
    }

    /// The kind of the project's store that keeps the runs.
    pub fn kept(&self) -> StoreKind {
        self.kept
    }

    /// The store that keeps the runs; it is opened if it is not open yet.
    pub fn store(&self) -> Result<Arc<dyn CheckpointStore>> {
        if let Some(store) = self.store.get() {
            return Ok(Arc::clone(store));
        }
        let opened = stores::open(&self.project, self.kept, &self.host)?;
        Ok(Arc::clone(self.store.get_or_init(|| opened)))
    }

    /// Reads a graph, its manifest and its trust, by its file or its item id.
    fn opened(&self, graph: &str, options: &PlanOptions) -> Result<OpenedGraph> {
        let PlanOptions { sources, manifest, sign_with } = options;
        let mut opened = OpenedGraph::open(graph, manifest.as_deref(), sources, &self.project, &self.host)?;
        opened.components.signing_key =
            sign_with.as_deref().map(|key| signing_key(&self.host.home, key)).transpose()?;
        Ok(opened)
    }

    async fn planned(opened: OpenedGraph) -> Result<PlannedRun> {
        let inputs = opened.read_inputs(Map::new())?;
        Ok(opened.planned(inputs).await)
    }

    /// Reads and checks a graph, by its file or its item id, and runs nothing.
    pub async fn plan(&self, graph: &str) -> Result<PlannedRun> {
        self.plan_with(graph, &self.plan_options).await
    }

    /// Reads and checks a graph with options of its own, and runs nothing.
    pub async fn plan_with(&self, graph: &str, options: &PlanOptions) -> Result<PlannedRun> {
        Self::planned(self.opened(graph, options)?).await
    }

    /// Checks a graph that the program has built, and runs nothing. A run of it is resumed by its id, as any other.
    pub async fn plan_built(&self, graph: &BuiltGraph) -> Result<PlannedRun> {
        let PlanOptions { sources, manifest, .. } = &self.plan_options;
        let (project, host) = (&self.project, &self.host);
        Self::planned(OpenedGraph::from_built(graph, manifest.as_deref(), sources, project, host)?).await
    }

    /// Creates a run of a graph that was planned, and holds it. The options give no inputs any more.
    fn create(&self, planned: PlannedRun, options: StartOptions) -> Result<PreparedRun> {
        let planned = planned.checked(ManifestSuggestion::default())?;
        let parent = options.parent.as_deref().map(|name| self.find_parent(name)).transpose()?;
        start::start(planned, options, parent, self.store()?, &self.host)
    }

    /// Finds the parent of a new run, in the store if it is open and in those of the project otherwise: no store is
    /// created for a parent that does not exist.
    fn find_parent(&self, name: &str) -> Result<RunParent> {
        let row = match self.store.get() {
            Some(store) => restore::find(&**store, name)?,
            None => Stores::to_read(&self.project, &self.host.home)?.find(name)?.2,
        };
        Ok(RunParent { run_id: row.run_id, root_id: row.root_id })
    }

    /// Starts a run of a graph that was planned, with inputs. Without a run, it fails if something is missing from the plan or
    /// if the inputs do not match the graph's schema.
    pub async fn start(
        &self,
        planned: PlannedRun,
        inputs: Map<String, Value>,
        observer: impl Observer + 'static,
    ) -> Result<RunHandle> {
        let options = StartOptions { inputs: Some(inputs), ..StartOptions::default() };
        self.start_with(planned, options, observer).await
    }

    /// Starts a run of a graph that was planned, with options.
    pub async fn start_with(
        &self,
        planned: PlannedRun,
        mut options: StartOptions,
        observer: impl Observer + 'static,
    ) -> Result<RunHandle> {
        let planned = planned.with_inputs_of(&mut options).await?;
        let parameters = planned.inputs.parameters();
        if parameters.resume_run_id.is_some() || parameters.detached {
            return Err(Error::usage(
                "`resume_run_id` and `async` among the inputs are not for a start: resume the run itself",
            ));
        }
        let prepared = self.create(planned, options)?;
        let store = self.store()?;
        Ok(self.handle(prepared, Event::Started, store, observer))
    }

    async fn restore(&self, run: &str, options: RestoreOptions) -> Result<Resumable> {
        resume::reopen(run, self.store()?, options, &self.project, &self.host).await
    }

    /// Resumes a run that is suspended or was cut short, by its id or a prefix of it. It fails if a definition that the
    /// run is pinned to has changed.
    pub async fn resume(
        &self,
        run: &str,
        options: impl Into<ResumeOptions>,
        observer: impl Observer + 'static,
    ) -> Result<RunHandle> {
        let ResumeOptions { mut restore, answers, inputs, update, max_steps } = options.into();
        restore.begins_turn |= inputs.is_some();
        let mut resumable = Box::pin(self.restore(run, restore)).await?;
        let inputs = inputs.map(|inputs| resumable.merged_inputs(inputs)).transpose()?;
        resumable.check_changes(inputs.is_some() || update.is_some())?;
        let event = resumable.event(Resume { answers, max_steps, inputs, update });
        let store = self.store()?;
        Ok(self.handle(resumable.prepared, event, store, observer))
    }

    /// Starts another turn of a run that has ended, with new inputs merged into its own: at `start`, with the state
    /// unchanged. For a suspended run, the superstep is started again with them.
    pub async fn resume_with_inputs(
        &self,
        run: &str,
        inputs: Map<String, Value>,
        observer: impl Observer + 'static,
    ) -> Result<RunHandle> {
        let options = ResumeOptions { inputs: Some(inputs), ..ResumeOptions::default() };
        self.resume(run, options, observer).await
    }

    /// Edits the state of a run that is suspended or has ended, as a node would, at its newest checkpoint or at an earlier one.
    pub async fn edit(
        &self,
        run: &str,
        edit: Edit,
        back_to: Option<CheckpointSelector>,
    ) -> Result<EditedRun> {
        edit_and_fork::update(run, self.store()?, edit, back_to, &self.project, &self.host).await
    }

    /// Makes a new run that begins with the state of another run at a checkpoint.
    pub async fn fork(&self, run: &str, options: impl Into<ForkOptions>) -> Result<EditedRun> {
        let ForkOptions { at, edit, run_id } = options.into();
        edit_and_fork::fork(run, self.store()?, at, edit, run_id, &self.project, &self.host).await
    }

    /// Stops a run that no process drives, before any task runs; returns its status. A [`RunHandle`] stops a run that this
    /// process drives.
    pub async fn stop(&self, run: &str, how: StopRequest) -> Result<Status> {
        Box::pin(stop_unheld::stop(run, how, self.store()?, &self.project, &self.host)).await
    }

    /// The stored history of a run.
    pub fn history(&self, run: &str) -> Result<History> {
        let store = self.store()?;
        let row = restore::find(&*store, run)?;
        Ok(History { store, run: row.run_id })
    }

    fn handle(
        &self,
        prepared: PreparedRun,
        first: Event,
        store: Arc<dyn CheckpointStore>,
        observer: impl Observer + 'static,
    ) -> RunHandle {
        let PreparedRun { run, driver } = prepared;
        let (id, control) = (run.clone(), driver.stop_requests());
        let home = self.host.home.clone();
        let task = tokio::spawn(async move {
            let outcome = drive(driver, first, observer).await;
            // Without this note the run itself is intact; only a later check is weaker.
            let _ = stop_notes::note(&home, &*store, &run);
            outcome
        });
        RunHandle { id, control, task }
    }
}

async fn drive(mut driver: Driver, first: Event, mut observer: impl Observer) -> Result<Summary> {
    if let Some(calls) = observer.calls() {
        driver.observe_calls(calls);
    }
    let status = driver.drive(first, &mut ObserverPair(&mut observer, &mut ())).await?;
    observer.stopped(status);
    let summary = driver.take_summary();
    // The driver's records are stored before another process can take the run.
    drop(driver);
    Ok(summary)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::path::Path;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::Duration;

    use graph_core::policy::Durability;
    use graph_core::time::Timestamp;
    use graph_walker::walker::{Answers, Notice};
    use serde_json::json;

    use super::*;
    use crate::error::Kind;
    use crate::sources::Sources;

    const STEPS: u64 = 900;
    /// The superstep at which the test's run is blocked.
    const HELD_UP: u64 = 100;

    /// Blocks a run in the middle, so that it is under way for as long as a test needs.
    struct Gate {
        reached: Sender<()>,
        open: Receiver<()>,
    }

    impl Observer for Gate {
        fn notice(&mut self, _: Timestamp, notice: &Notice) {
            if matches!(notice, Notice::SuperstepStarted { superstep: HELD_UP, .. }) {
                self.reached.send(()).unwrap();
                // The test may be over.
                let _ = self.open.recv();
            }
        }
    }

    fn runtime(folder: &Path) -> Runtime {
        let home = Home::at(folder.join("home"));
        Runtime::open(Project::at(folder.to_owned()), home, Options::default()).unwrap()
    }

    /// A run of many steps, which blocks in the middle until the sender sends or is dropped.
    async fn long(runtime: &Runtime, folder: &Path) -> (RunHandle, Sender<()>) {
        let graph = folder.join("long.yaml");
        let text = format!(
            "tool_type: graph\nconfig:\n  start: a\n  max_steps: {STEPS}\n  on_max_steps: return_last\n  durability: async\n  \
             nodes:\n    a: {{ assign: {{ n: \"${{run.step}}\" }}, next: a }}\n"
        );
        std::fs::write(&graph, text).unwrap();
        let plan = runtime.plan(graph.to_str().unwrap()).await.unwrap();
        let ((reached, at_gate), (gate, open)) = (channel(), channel());
        let handle = runtime.start(plan, Map::new(), Gate { reached, open }).await.unwrap();
        tokio::task::spawn_blocking(move || at_gate.recv().unwrap()).await.unwrap();
        (handle, gate)
    }

    /// Resumes a run as soon as no process holds it.
    async fn resumed(runtime: &Runtime, run: &str) -> Summary {
        loop {
            match runtime.resume(run, Answers::None, ()).await {
                Ok(handle) => return handle.outcome().await.unwrap(),
                Err(error) if error.kind() == Kind::Held => {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_run_whose_handle_is_dropped_can_be_resumed() {
        let folder = tempfile::tempdir().unwrap();
        let runtime = runtime(folder.path());
        let (handle, gate) = long(&runtime, folder.path()).await;
        let id = handle.id().to_owned();
        drop(handle);
        drop(gate);
        let summary = resumed(&runtime, &id).await;
        assert_eq!((summary.status, summary.steps), (Status::Completed, STEPS));
        let mut ends = 0;
        let count = |line: &Value| {
            ends += u64::from(line["status"] == json!("completed"));
            Ok(())
        };
        runtime.history(&id).unwrap().after(0, count).unwrap();
        assert_eq!(ends, 1);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_run_is_stopped_resumed_and_forked() {
        let folder = tempfile::tempdir().unwrap();
        let runtime = runtime(folder.path());
        let (handle, gate) = long(&runtime, folder.path()).await;
        let id = handle.id().to_owned();
        handle.stop(StopRequest::Cancel);
        drop(gate);
        let stopped = handle.outcome().await.unwrap();
        assert_eq!(stopped.status, Status::Cancelled);
        assert_eq!(stopped.steps, HELD_UP);
        assert_eq!(resumed(&runtime, &id).await.steps, STEPS);
        let fork = runtime.fork(&id, CheckpointSelector::Step(1)).await.unwrap();
        assert_eq!((fork.summary.steps, fork.origin.unwrap().0), (1, id));
    }

    /// Writes a graph that greets, and returns its path.
    fn greeter(folder: &Path) -> String {
        let graph = folder.join("greet.yaml");
        let text = "tool_type: graph\nconfig_schema:\n  type: object\n  required: [name]\n  properties:\n    name: { type: string }\n\
                    config:\n  start: greet\n  nodes:\n    greet: { assign: { greeting: 'Hello, ${inputs.name}' } }\n";
        std::fs::write(&graph, text).unwrap();
        graph.to_str().unwrap().to_owned()
    }

    fn name(name: &str) -> Map<String, Value> {
        Map::from_iter([("name".to_owned(), name.into())])
    }

    #[tokio::test]
    async fn a_run_has_the_options_of_its_start() {
        let folder = tempfile::tempdir().unwrap();
        let (runtime, graph) = (runtime(folder.path()), greeter(folder.path()));
        let started = async |options: StartOptions| {
            let plan = runtime.plan(&graph).await?;
            runtime.start_with(plan, StartOptions { inputs: Some(name("Ada")), ..options }, ()).await
        };
        let options = StartOptions {
            run_id: Some("first".to_owned()),
            seed: Some("seven".to_owned()),
            max_steps: Some(5),
            durability: Some(Durability::Exit),
            ..StartOptions::default()
        };
        let first = started(options).await.unwrap();
        assert_eq!(first.id(), "first");
        first.outcome().await.unwrap();
        let store = runtime.store().unwrap();
        let row = restore::find(&*store, "first").unwrap();
        assert_eq!((row.max_steps, row.durability), (Some(5), Durability::Exit));

        let child = StartOptions { parent: Some("fir".to_owned()), ..StartOptions::default() };
        let child = started(child).await.unwrap();
        let id = child.id().to_owned();
        child.outcome().await.unwrap();
        let other = restore::find(&*store, &id).unwrap();
        assert_eq!((other.parent_id.as_deref(), other.root_id.as_str()), (Some("first"), "first"));
        assert_ne!(other.seed, row.seed);

        let nobody = StartOptions { parent: Some("nobody".to_owned()), ..StartOptions::default() };
        assert_eq!(started(nobody).await.unwrap_err().kind(), Kind::NotFound);
    }

    #[tokio::test]
    async fn a_run_is_planned_with_inputs_found_and_given_another_turn() {
        let folder = tempfile::tempdir().unwrap();
        let (project, graph) = (Project::at(folder.path().to_owned()), greeter(folder.path()));
        let host = Host {
            home: Home::at(folder.path().join("home")),
            compiler: graph_engine::Compiler::InProcess,
            notices: Arc::new(()),
            functions: Arc::default(),
        };
        let runtime = Runtime::new(host.clone(), project.clone(), StoreKind::Sqlite);
        let planned = async |inputs| {
            let opened = runtime.open_graph(&graph, &PlanOptions::default())?;
            let inputs = opened.read_inputs(inputs)?;
            opened.planned(inputs).await.checked(ManifestSuggestion::default())
        };
        assert_eq!(planned(Map::new()).await.unwrap_err().kind(), Kind::Invalid);
        let plan = planned(name("Ada")).await.unwrap();
        // Nothing is stored before the run begins.
        assert!(!project.state().path().exists());
        let run = runtime.start_with(plan, StartOptions::default(), ()).await.unwrap();
        let id = run.id().to_owned();
        assert_eq!(run.outcome().await.unwrap().state["greeting"], "Hello, Ada");

        let missing = Runtime::of_run(host.clone(), project.clone(), "nobody").unwrap_err();
        assert_eq!(missing.kind(), Kind::NotFound);
        let (found, row) = Runtime::of_run(host, project, "@last").unwrap();
        assert_eq!((found.kept(), &row.run_id), (StoreKind::Sqlite, &id));
        let options =
            ResumeOptions { inputs: Some(name("Grace")), max_steps: Some(7), ..ResumeOptions::default() };
        let again = found.resume(&id, options, ()).await.unwrap().outcome().await.unwrap();
        assert_eq!(again.state["greeting"], "Hello, Grace");
        assert_eq!(restore::find(&*found.store().unwrap(), &id).unwrap().max_steps, Some(7));
        // A run that has ended stays as it is.
        assert_eq!(found.stop(&id, StopRequest::Cancel).await.unwrap(), Status::Completed);
    }

    #[tokio::test]
    async fn inputs_of_a_start_narrow_the_manifest_of_its_plan() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at(".ai/tools/t")).unwrap();
        let graph = |node: &str| format!("tool_type: graph\nconfig:\n  start: a\n  nodes:\n    a: {node}\n");
        std::fs::write(at(".ai/tools/t/inner.yaml"), graph("{ assign: { x: 1 } }")).unwrap();
        std::fs::write(at("outer.yaml"), graph("{ action: { item_id: t/inner } }")).unwrap();
        std::fs::write(at("caps.yaml"), "dispatch: ['execute.tool.t.*']\n").unwrap();
        let options = Options {
            sources: Sources { allow_unsigned: true, ..Sources::default() },
            manifest: Some(at("caps.yaml")),
            ..Options::default()
        };
        let project = Project::at(folder.path().to_owned());
        let runtime = Runtime::open(project, Home::at(at("home")), options).unwrap();
        let outer = at("outer.yaml").to_str().unwrap().to_owned();
        let permits = |pattern: &str| Map::from_iter([("capabilities".to_owned(), json!([pattern]))]);
        let (narrow, wide) = (permits("execute.tool.other.*"), permits("execute.tool.t.inner"));

        let plan = runtime.plan(&outer).await.unwrap();
        let refused = runtime.start(plan, narrow.clone(), ()).await.unwrap_err();
        assert_eq!(refused.kind(), Kind::Denied, "{refused}");
        // The inputs of an earlier plan narrow nothing.
        let opened = runtime.open_graph(&outer, &runtime.plan_options).unwrap();
        let narrow = opened.read_inputs(narrow).unwrap();
        let plan = opened.planned(narrow).await;
        let run = runtime.start(plan, wide, ()).await.unwrap();
        assert_eq!(run.outcome().await.unwrap().status, Status::Completed);

        let plan = runtime.plan(&outer).await.unwrap();
        let other = Map::from_iter([("resume_run_id".to_owned(), json!("r"))]);
        let options = StartOptions { inputs: Some(other), ..StartOptions::default() };
        assert_eq!(runtime.prepare(plan, options).await.unwrap_err().kind(), Kind::Usage);
    }

    #[test]
    fn a_runtime_is_shared_between_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<Runtime>();
        shared::<PlannedRun>();
        shared::<RunHandle>();
    }
}
