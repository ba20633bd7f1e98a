//! [`Runtime`]: everything that a program needs to run graphs.

use std::path::PathBuf;
use std::sync::Arc;

use graph_core::record::CheckpointSelector;
use graph_driver::{Driver, Observer, ObserverPair, StopRequest};
use graph_engine::Compiler;
use graph_store::CheckpointStore;
use graph_walker::builder::BuiltGraph;
use graph_walker::walker::{Answers, Edit, Event, Resume, Summary};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::error::{Error, Kind, Result};
use crate::executor::functions::Functions;
use crate::history::events::{Kinds, Reader};
use crate::host::Host;
use crate::notice::NoticeObserver;
use crate::plan::Plan;
use crate::project::Project;
use crate::project::stores::{self, StoreKind};
use crate::project::user_home::Home;
use crate::run::context::PreparedRun;
use crate::run::edit_and_fork::{self, EditedRun};
use crate::run::resume::{self, Opening};
use crate::run::start::{self, RunContext, Sources, Start};
use crate::run::{restore, stop_notes};

/// Settings of a [`Runtime`], in addition to its project and its user's space. By default, runs are kept in the
/// project's database, components are compiled in this process, nothing is granted, and notices are ignored.
#[derive(Clone, Debug)]
pub struct Options {
    /// Sources of items and trust.
    pub sources: Sources,
    /// The file of the manifest that says what graphs may use; without it, nothing is allowed.
    pub manifest: Option<PathBuf>,
    /// Kind of the project's store of runs.
    pub kept: StoreKind,
    /// A store of the program's own, which replaces the project's.
    pub store: Option<Arc<dyn CheckpointStore>>,
    /// Compiles components, in this process or in a child process.
    pub compiler: Compiler,
    /// Receives notices about what happens around runs.
    pub notices: Arc<dyn NoticeObserver>,
    /// Items that the program performs itself. A manifest has to permit each.
    pub functions: Functions,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            sources: Sources::default(),
            manifest: None,
            kept: StoreKind::default(),
            store: None,
            compiler: Compiler::InProcess,
            notices: Arc::new(()),
            functions: Functions::default(),
        }
    }
}

/// Runs graphs in a project.
///
/// ```
/// use graph_core::record::Status;
/// use graph_runtime::project::Project;
/// use graph_runtime::project::user_home::Home;
/// use graph_runtime::{Options, Runtime};
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
    sources: Sources,
    manifest: Option<PathBuf>,
    store: Arc<dyn CheckpointStore>,
}

/// A graph that was planned, with everything that a run of it needs.
#[derive(Debug)]
pub struct PlannedRun {
    /// The graph, its items, and their origins.
    pub context: RunContext,
    /// The dispatched items, the grants, and what is missing.
    pub plan: Plan,
}

impl Runtime {
    /// Opens a project for its user. The project's state is made where there is none; state of another host is refused.
    pub fn open(project: Project, home: Home, options: Options) -> Result<Self> {
        let Options { sources, manifest, kept, store, compiler, notices, functions } = options;
        let host = Host { home, compiler, notices, functions: Arc::new(functions) };
        let store = match store {
            Some(store) => store,
            None => stores::open(&project, kept, &host)?,
        };
        Ok(Self { host, project, sources, manifest, store })
    }

    /// Reads and checks a graph, by its file or its item id, and runs nothing.
    pub async fn plan(&self, graph: &str) -> Result<PlannedRun> {
        let manifest = self.manifest.as_deref();
        let context = RunContext::open(graph, manifest, &self.sources, &self.project, &self.host)?;
        let plan = planned(&context).await;
        Ok(PlannedRun { context, plan })
    }

    /// Checks a graph that the program has built, and runs nothing. A run of it is resumed by its id, as any other.
    pub async fn plan_built(&self, graph: &BuiltGraph) -> Result<PlannedRun> {
        let manifest = self.manifest.as_deref();
        let context = RunContext::of_built(graph, manifest, &self.sources, &self.project, &self.host)?;
        let plan = planned(&context).await;
        Ok(PlannedRun { context, plan })
    }

    /// Starts a run of a graph that was planned. Without a run, it fails if something is missing from the plan or if
    /// the inputs do not match the graph's schema.
    pub async fn start(
        &self,
        planned_run: PlannedRun,
        inputs: Map<String, Value>,
        observer: impl Observer + 'static,
    ) -> Result<RunHandle> {
        let PlannedRun { mut context, mut plan } = planned_run;
        let graph = Arc::clone(&context.file.graph);
        let parameters = start::run_parameters(&graph, &inputs)?;
        if parameters.resume_run_id.is_some() || parameters.detached {
            return Err(Error::usage(
                "`resume_run_id` and `async` among the inputs are for a command line: resume the run itself",
            ));
        }
        let narrowed = parameters.narrow(&context.components.manifest, 0);
        if narrowed.digest() != context.components.manifest.digest() {
            context.components.manifest = Arc::new(narrowed);
            plan = planned(&context).await;
        }
        let inputs = start::check_inputs(&graph, inputs)?.inputs;
        if let Some(refusal) = plan.refusal("graph-host caps suggest GRAPH") {
            return Err(refusal);
        }
        let start = Start {
            inputs,
            run_id: None,
            parent: None,
            seed: None,
            max_steps: None,
            durability: None,
            state_item: false,
        };
        let ready = start::begin(context, plan, start, Arc::clone(&self.store), &self.host)?;
        Ok(self.handle(ready, Event::Started, observer))
    }

    /// Resumes a run that is suspended or was cut short, by its id or a prefix of it. It fails if a definition that the
    /// run is pinned to has changed.
    pub async fn resume(
        &self,
        run: &str,
        answers: Answers,
        observer: impl Observer + 'static,
    ) -> Result<RunHandle> {
        let store = Arc::clone(&self.store);
        let resumable = resume::open(run, store, Opening::default(), &self.project, &self.host).await?;
        let event = resumable.event(Resume { answers, ..Resume::default() });
        Ok(self.handle(resumable.ready, event, observer))
    }

    /// Starts another turn of a run that has ended, with new inputs merged into its own: at `start`, with the state
    /// unchanged. For a suspended run, the superstep is started again with them.
    pub async fn resume_with_inputs(
        &self,
        run: &str,
        inputs: Map<String, Value>,
        observer: impl Observer + 'static,
    ) -> Result<RunHandle> {
        let opening = Opening { begins_turn: true, ..Opening::default() };
        let resumable =
            resume::open(run, Arc::clone(&self.store), opening, &self.project, &self.host).await?;
        let mut merged = resumable.inputs.clone();
        merged.extend(inputs);
        let checked = start::check_inputs(&resumable.graph, merged)?.inputs;
        let inputs = checked.as_object().cloned();
        let event = resumable.event(Resume { inputs, ..Resume::default() });
        Ok(self.handle(resumable.ready, event, observer))
    }

    /// Edits the state of a run that is suspended or has ended, as a node would, at its newest checkpoint or at an earlier one.
    pub async fn edit(
        &self,
        run: &str,
        edit: Edit,
        back_to: Option<CheckpointSelector>,
    ) -> Result<EditedRun> {
        edit_and_fork::update(run, Arc::clone(&self.store), edit, back_to, &self.project, &self.host).await
    }

    /// Makes a new run that begins with the state of another run at a checkpoint.
    pub async fn fork(&self, run: &str, at: CheckpointSelector, edit: Option<Edit>) -> Result<EditedRun> {
        edit_and_fork::fork(run, Arc::clone(&self.store), at, edit, None, &self.project, &self.host).await
    }

    /// The stored history of a run.
    pub fn history(&self, run: &str) -> Result<History> {
        let row = restore::find(&*self.store, run)?;
        Ok(History { store: Arc::clone(&self.store), run: row.run_id })
    }

    fn handle(&self, ready: PreparedRun, first: Event, observer: impl Observer + 'static) -> RunHandle {
        let PreparedRun { run, driver } = ready;
        let (id, control) = (run.clone(), driver.stop_requests());
        let (store, home) = (Arc::clone(&self.store), self.host.home.clone());
        let task = tokio::spawn(async move {
            let outcome = drive(driver, first, observer).await;
            // Without this note the run itself is intact; only a later check is weaker.
            let _ = stop_notes::note(&home, &*store, &run);
            outcome
        });
        RunHandle { id, control, task }
    }
}

async fn planned(context: &RunContext) -> Plan {
    let RunContext { file, subgraphs, components, hooks, .. } = context;
    Plan::make(&file.graph, &subgraphs.graphs, &hooks.hooks, components).await
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

/// A run that is under way. If it is dropped before its outcome is awaited, its tasks are abandoned; the run can be
/// resumed from what is stored.
#[derive(Debug)]
pub struct RunHandle {
    id: String,
    control: mpsc::UnboundedSender<StopRequest>,
    task: JoinHandle<Result<Summary>>,
}

impl RunHandle {
    /// The id by which the run is resumed, shown and verified.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Asks the run to stop: once the tasks under way are done, or at once.
    pub fn stop(&self, how: StopRequest) {
        // If the driver is gone, the run has stopped already.
        let _ = self.control.send(how);
    }

    /// Waits until the run has ended or is suspended.
    pub async fn outcome(mut self) -> Result<Summary> {
        match (&mut self.task).await {
            Ok(outcome) => outcome,
            Err(error) => {
                let message = format!("the host broke down while it drove run {}: {error}", self.id);
                Err(Error::new(Kind::Internal, "internal", message))
            }
        }
    }
}

impl Drop for RunHandle {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The stored history of a run, as a stream of numbered lines.
#[derive(Clone, Debug)]
pub struct History {
    store: Arc<dyn CheckpointStore>,
    run: String,
}

impl History {
    /// Passes every line after number `offset` to `line`; 0 for all. The run may store more later: call this again with
    /// the number of the last line.
    pub fn after(&self, offset: u64, line: impl FnMut(&Value) -> Result<()>) -> Result<()> {
        let kinds = Kinds::or_all(&[]);
        Reader::new(Arc::clone(&self.store), &self.run, None, kinds, offset).read(line)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::path::Path;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::Duration;

    use graph_core::record::Status;
    use graph_core::time::Timestamp;
    use graph_walker::walker::Notice;
    use serde_json::json;

    use super::*;

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
        let fork = runtime.fork(&id, CheckpointSelector::Step(1), None).await.unwrap();
        assert_eq!((fork.summary.steps, fork.origin.unwrap().0), (1, id));
    }

    #[test]
    fn a_runtime_is_shared_between_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<Runtime>();
        shared::<PlannedRun>();
        shared::<RunHandle>();
    }
}
