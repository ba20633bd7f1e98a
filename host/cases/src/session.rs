//! Run of a case. Between two operations only the store is kept, so that every resume in a case reads the signed
//! records.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use graph_core::capability::{DispatchPatterns, Manifest};
use graph_core::diagnostic::{Diagnostics, Problems};
use graph_core::digest::{Digest, DomainHasher};
use graph_core::policy::Reducer;
use graph_core::record::{ErrorCode, Status};
use graph_core::time::Timestamp;
use graph_core::trust::SigningKey;
use graph_core::work::Meter;
use graph_store::{CheckpointStore, Owner, RunGuard};
use graph_walker::document::{load, load_config};
use graph_walker::graph::Graph;
use graph_walker::parameters::{InputsError, check_inputs};
use graph_walker::walker::{Answers, Event, Graphs, Notice, Resume, Summary};
use serde_json::{Map, Value};

use crate::ceiling::{Bounds, Over, Spending};
use crate::clock::PausedClock;
use crate::document::{Case, GraphSource, Operation, ResumeOptions, RunOptions};
use crate::double::Doubles;
use crate::executor::CaseExecutor;
use crate::expect::{Actual, ActualError};
use crate::http::CaseServers;
use crate::items::Items;
use crate::models::CaseModels;
use crate::store::CaseStore;
use graph_driver::{Clock as _, DriveError, Observer, StopRequest, TaskExecutor, WriteMode};
use graph_runtime::error::{Error, Kind};
use graph_runtime::history::events::{Kinds, Reader};
use graph_runtime::history::run_document::RunDocument;
use graph_runtime::items::locate::id_of_graph;
use graph_runtime::items::subgraphs::recursion_warnings;
use graph_runtime::run::checkpoints;
use graph_runtime::run::context::PreparedRun;
use graph_runtime::run::restore;
use graph_runtime::upkeep::gc;
use graph_runtime::{BareGraph, BareRun, BareRuntime, BareStart, RunServices};

/// Id of the first run of every case; the ids of forks have a number after it.
const RUN: &str = "case";

/// Reason why an operation was not performed.
#[derive(Debug)]
pub(crate) enum OperationError {
    /// The operation was refused, so that the run is unchanged.
    Refused(Refusal),
    /// An error in the case or in the host, which no expectation can match.
    Fault(String),
}

/// Refusal of an operation, with its stable code.
#[derive(Debug)]
pub(crate) struct Refusal {
    code: String,
    message: String,
}

impl OperationError {
    pub(crate) fn refused(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::Refused(Refusal { code: code.as_str().to_owned(), message: message.into() })
    }

    fn invalid(diagnostics: &Diagnostics) -> Self {
        Self::refused(ErrorCode::InvalidDocument, with_help(diagnostics))
    }
}

impl From<graph_runtime::error::Error> for OperationError {
    fn from(error: graph_runtime::error::Error) -> Self {
        if error.kind() == Kind::Internal {
            return Self::Fault(error.message().to_owned());
        }
        Self::Refused(Refusal { code: error.code().to_owned(), message: error.message().to_owned() })
    }
}

/// Returns every problem on its own line, with its help.
fn with_help(diagnostics: &Diagnostics) -> String {
    let lines = diagnostics.to_lines();
    let helped = lines.iter().zip(diagnostics.iter()).map(|(line, problem)| match problem.help_text() {
        Some(help) => format!("{line}\n  help: {help}"),
        None => line.clone(),
    });
    helped.collect::<Vec<_>>().join("\n")
}

/// Run of a case, with everything that operations need.
pub(crate) struct Session<'c> {
    case: &'c Case,
    path: String,
    pub(crate) store: Arc<CaseStore>,
    pub(crate) doubles: Arc<Doubles>,
    pub(crate) servers: Arc<CaseServers>,
    models: Arc<CaseModels>,
    pub(crate) key: SigningKey,
    pub(crate) clock: PausedClock,
    items: &'c Items,
    /// True if the next operation that continues the run is cancelled.
    pub(crate) cancel: bool,
    /// Guard by which another process owns the run during the next operation.
    held: Option<RunGuard>,
    /// Number of persisted writes after which the next operation that continues the run is aborted.
    pub(crate) crash: Option<u64>,
    pub(crate) started: Option<Started>,
    /// Id of the run that operations act on.
    pub(crate) run: String,
    /// Number of forks.
    pub(crate) forks: u64,
    /// Limits of the case.
    pub(crate) bounds: &'c Bounds,
    /// Usage of all runs of the case.
    pub(crate) spending: Spending,
}

/// Observer that counts the dispatches of nodes whose items are graphs, which no executor receives.
struct CountChildren {
    doubles: Arc<Doubles>,
    run: String,
}

impl Observer for CountChildren {
    fn notice(&mut self, _at: Timestamp, notice: &Notice) {
        if let Notice::ChildStarted { namespace, path, .. } = notice {
            self.doubles.begin_child(&self.run, namespace, path);
        }
    }
}

/// Data with which a run was started.
pub(crate) struct Started {
    /// The run that operations act on: the first one, or its newest fork.
    pub(crate) run: BareRun,
    /// Warnings about the graph document.
    warnings: Vec<String>,
    /// Executor of items without a double.
    pub(crate) real: Option<Arc<dyn TaskExecutor>>,
}

impl<'c> Session<'c> {
    /// Creates a session. If `records` is true, requests that the case has no answer for are sent, and the answers
    /// recorded.
    pub(crate) fn new(
        case: &'c Case,
        path: &str,
        items: &'c Items,
        records: bool,
        bounds: &'c Bounds,
    ) -> Self {
        Self {
            case,
            path: path.to_owned(),
            store: Arc::new(CaseStore::new(bounds.most.stored)),
            doubles: Arc::new(Doubles::new(case.items.clone(), bounds.most.results)),
            servers: Arc::new(CaseServers::new(&case.http, records)),
            models: Arc::new(CaseModels::new(&case.models)),
            key: SigningKey::from_seed(&[7; 32]),
            clock: PausedClock::start(),
            items,
            cancel: false,
            held: None,
            crash: None,
            started: None,
            run: RUN.to_owned(),
            forks: 0,
            bounds,
            spending: Spending::default(),
        }
    }

    /// Performs an operation, and returns the outcome.
    pub(crate) async fn perform(&mut self, operation: &Operation) -> Result<Actual, String> {
        self.doubles.begin_operation();
        self.models.begin_operation();
        let held = self.held.take();
        let done = match operation {
            Operation::Run(options) => Box::pin(self.run(options)).await,
            Operation::Resume(options) => Box::pin(self.resume(options)).await,
            Operation::Cancel => {
                self.cancel = true;
                Ok(None)
            }
            Operation::Update(options) => self.update(options).await,
            Operation::Fork(options) => self.fork(options).await,
            Operation::Replay(options) => Box::pin(self.replay(options)).await,
            Operation::Hold => self.hold(),
            Operation::Prune(most) => self.prune(*most),
            Operation::Pass(span) => {
                tokio::time::sleep(*span).await;
                Ok(None)
            }
        };
        drop(held);
        if self.over().is_some() {
            return Err("the case may use no more".to_owned());
        }
        self.outcome(done)
    }

    /// Returns the limit of the case that is exceeded, if any.
    pub(crate) fn over(&self) -> Option<Over> {
        self.bounds.over(&self.spending, self.store.full())
    }

    /// Resumes the run after an operation that was aborted.
    pub(crate) async fn resume_cut_short(&mut self, options: &ResumeOptions) -> Result<Actual, String> {
        let done = Box::pin(self.resume(options)).await;
        self.outcome(done)
    }

    fn hold(&mut self) -> Result<Option<Summary>, OperationError> {
        // The owner is always the same, because messages that name it are compared with those of the case without
        // crashes.
        let owner = Owner { pid: 1, host: "elsewhere".to_owned(), since: Timestamp(0) };
        let held = self
            .store
            .acquire(&self.run, &owner)
            .map_err(|error| OperationError::from(Error::from(error)))?;
        self.held = Some(held);
        Ok(None)
    }

    fn prune(&self, most: u64) -> Result<Option<Summary>, OperationError> {
        let row = restore::find(&*self.store, &self.run)?;
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        gc::shorten(self.store.upkeep(), &row, most, false, &self.key, &mut gc::Report::default())?;
        Ok(None)
    }

    /// Returns the run that operations act on, and the number of events in its history.
    pub(crate) fn history_mark(&self) -> Result<(String, u64), String> {
        let text = |error: graph_store::ReadError| error.to_string();
        let length = match self.store.run(&self.run).map_err(text)? {
            Some(_) => self.store.history_length(&self.run).map_err(text)?,
            None => 0,
        };
        Ok((self.run.clone(), length))
    }

    /// Returns the events in the history after a mark. If the mark is of another run, returns all events.
    pub(crate) fn events_since(&self, (run, length): &(String, u64)) -> Result<Vec<Value>, String> {
        let after = if *run == self.run { *length } else { 0 };
        if self.store.run(&self.run).map_err(|error| error.to_string())?.is_none() {
            return Ok(Vec::new());
        }
        let store = Arc::clone(&self.store) as Arc<dyn CheckpointStore>;
        let mut reader = Reader::new(store, &self.run, None, Kinds::or_all(&[]), after);
        if let Some(started) = &self.started {
            reader = reader.with_graphs(started.run.graph(), started.run.graphs());
        }
        let mut lines = Vec::new();
        let read = reader.read(|line| {
            lines.push(line.clone());
            Ok(())
        });
        read.map_err(|error| error.message().to_owned()).map(|()| lines)
    }

    /// Returns the outcome of an operation.
    fn outcome(&self, done: Result<Option<Summary>, OperationError>) -> Result<Actual, String> {
        let (summary, refusal) = match done {
            Ok(Some(summary)) => (Some(summary), None),
            Ok(None) => (self.stored_summary()?, None),
            Err(OperationError::Refused(refusal)) => (self.stored_summary()?, Some(refusal)),
            Err(OperationError::Fault(message)) => return Err(message),
        };
        self.actual(summary.as_ref(), refusal)
    }

    pub(crate) fn actual(
        &self,
        summary: Option<&Summary>,
        refusal: Option<Refusal>,
    ) -> Result<Actual, String> {
        let graph_of_run = self.started.as_ref().map(|started| &**started.run.graph());
        let graph = graph_of_run.map(|graph| graph.id.clone()).unwrap_or_default();
        let mut result = match summary {
            Some(summary) => {
                let visited = checkpoints::visited(&*self.store, &self.run, Some(self.key.verifying_key()));
                RunDocument::new(&self.run, &graph, summary, visited)
                    .at(self.clock.now())
                    .to_value()
                    .map_err(|error| error.message().to_owned())?
            }
            None => unborn(refusal.as_ref()),
        };
        if let (Some(started), Some(Value::Array(warnings))) = (&self.started, result.get_mut("warnings")) {
            warnings.extend(started.warnings.iter().map(|warning| Value::from(warning.as_str())));
        }
        let of_run = summary.and_then(|summary| summary.error.as_ref()).map(|error| ActualError {
            code: error.code.as_str().to_owned(),
            message: error.message.clone(),
            used_up: error.budget.is_some(),
            limit: error.limit,
            refused: false,
        });
        let error = refusal
            .map(|Refusal { code, message }| ActualError {
                code,
                message,
                used_up: false,
                limit: None,
                refused: true,
            })
            .or(of_run);
        Ok(Actual {
            result,
            executions: self.doubles.dispatches(graph_of_run),
            checkpoints: self.checkpoints()?,
            error,
            events: Vec::new(),
        })
    }

    /// Reports whether the graph has channels that are never stored.
    pub(crate) fn is_partly_untracked(&self) -> bool {
        let untracked = |started: &Started| {
            started.run.graph().channels.iter().any(|channel| channel.reducer == Reducer::Untracked)
        };
        self.started.as_ref().is_some_and(untracked)
    }

    fn checkpoints(&self) -> Result<u64, String> {
        if self.store.run(&self.run).map_err(|error| error.to_string())?.is_none() {
            return Ok(0);
        }
        let mut count = 0;
        restore::each_checkpoint(&*self.store, &self.run, "", |_| {
            count += 1;
            Ok(())
        })
        .map_err(|error| error.to_string())?;
        Ok(count)
    }

    async fn run(&mut self, options: &RunOptions) -> Result<Option<Summary>, OperationError> {
        if self.started.is_some() {
            return Err(OperationError::Fault(
                "a case has one run, and it has been started already".to_owned(),
            ));
        }
        let (graph, mut warnings) = self.load()?;
        let graph = Arc::new(graph);
        let manifest = Arc::new(self.manifest()?);
        let graphs = Arc::new(self.subgraphs(&graph, &manifest, &mut warnings)?);
        let file = match &self.case.graph {
            GraphSource::File(path) => path.as_path(),
            GraphSource::Inline(_) => Path::new(&self.path),
        };
        let has_double = |id: &str| self.doubles.has(id);
        let items_dir = self.case.items_dir.as_deref();
        if let Some(dir) = items_dir.filter(|dir| !dir.is_dir()) {
            let message = format!("`items_dir`: there is no folder {}", dir.display());
            return Err(OperationError::Fault(message));
        }
        let hooks = Arc::clone(&self.case.hooks);
        let pins = pins(&manifest);
        let graph = BareGraph { graph, graphs, hooks, manifest, pins };
        let looked_for = (file, items_dir);
        let real = self.items.executor(looked_for, &graph, (&self.servers, &self.models), has_double).await?;
        let inputs = fill_inputs(&graph.graph, Value::Object(options.inputs.clone()))?;
        let start = BareStart {
            initial_state: options.state.clone(),
            durability: options.durability,
            max_steps: options.max_steps,
            max_concurrency: options.max_concurrency,
            stop: self.stop_request(),
            ..BareStart::new(RUN, inputs)
        };
        let (run, prepared, event) = self.runtime(real.clone()).start(&graph, start)?;
        self.store.break_after(self.crash.take().or(options.crash_after));
        self.started = Some(Started { run, warnings, real });
        self.drive(prepared, event).await
    }

    /// Returns the request of an earlier step to cancel the next operation, if there is one.
    pub(crate) fn stop_request(&mut self) -> Option<StopRequest> {
        std::mem::take(&mut self.cancel).then_some(StopRequest::Cancel)
    }

    /// Returns the runtime of the run, with the doubles, the case's clock and its store.
    pub(crate) fn runtime(&self, real: Option<Arc<dyn TaskExecutor>>) -> BareRuntime {
        let executor = CaseExecutor {
            doubles: Arc::clone(&self.doubles),
            store: Arc::clone(&self.store),
            real,
            standstill: Arc::default(),
        };
        BareRuntime::new(RunServices {
            store: Arc::clone(&self.store) as Arc<dyn CheckpointStore>,
            executor: Arc::new(executor),
            clock: Arc::new(self.clock),
            key: self.key.clone(),
            writing: WriteMode::OneByOne,
        })
    }

    async fn resume(&mut self, options: &ResumeOptions) -> Result<Option<Summary>, OperationError> {
        let Some((runtime, mut run)) = self.still() else {
            let none = "there is no run to resume: the script has not started one";
            return Err(OperationError::refused(ErrorCode::NotFound, none));
        };
        let held = runtime.hold(&run)?;
        self.store.break_after(self.crash.take());
        let mut resume =
            Resume { max_steps: options.max_steps, update: options.update.clone(), ..Resume::default() };
        resume.answers = match (&options.answer, &options.answers) {
            (Some(answer), _) => Answers::Bare(answer.clone()),
            (None, Some(answers)) => Answers::ById(answers.clone()),
            (None, None) => Answers::None,
        };
        let mut merged = None;
        // A run that starts from its beginning has the inputs of its start.
        if let Some(inputs) = options.inputs.as_ref().filter(|_| !held.is_unstarted()) {
            let mut all = run.inputs().as_object().cloned().unwrap_or_default();
            all.extend(inputs.clone());
            merged = Some(fill_inputs(run.graph(), Value::Object(all))?);
            resume.inputs = Some(inputs.clone());
        }
        let stop = self.stop_request();
        let (prepared, event) = runtime.resume(&mut run, held, resume, stop)?;
        if matches!(event, Event::Started) {
            self.set_run(run);
            return self.drive(prepared, event).await;
        }
        let summary = self.drive(prepared, event).await?;
        if let Some(max_steps) = options.max_steps {
            run.set_max_steps(max_steps);
        }
        if let Some(inputs) = merged {
            run.set_inputs(inputs);
        }
        self.set_run(run);
        Ok(summary)
    }

    /// Returns the run, with its runtime, if it was started.
    pub(crate) fn still(&self) -> Option<(BareRuntime, BareRun)> {
        self.started.as_ref().map(|started| (self.runtime(started.real.clone()), started.run.clone()))
    }

    /// Replaces the run that operations act on.
    pub(crate) fn set_run(&mut self, run: BareRun) {
        if let Some(started) = &mut self.started {
            started.run = run;
        }
    }

    /// Drives a run until it stops, the store breaks, or the case's time is over.
    pub(crate) async fn drive(
        &mut self,
        prepared: PreparedRun,
        first: Event,
    ) -> Result<Option<Summary>, OperationError> {
        let PreparedRun { mut driver, .. } = prepared;
        let store = Arc::clone(&self.store);
        let mut watcher = CountChildren { doubles: Arc::clone(&self.doubles), run: self.run.clone() };
        let ended = tokio::select! {
            biased;
            () = store.broken() => None,
            () = self.bounds.late() => None,
            status = driver.drive(first, &mut watcher) => Some(status),
        };
        self.spending.count(&driver.summary());
        if store.is_broken() {
            return Ok(None);
        }
        match ended {
            Some(Ok(_)) | None => Ok(Some(driver.summary())),
            Some(Err(DriveError::Refused { code, message })) => Err(OperationError::refused(code, message)),
            Some(Err(DriveError::Unfit { message, .. })) => {
                Err(OperationError::refused(ErrorCode::Integrity, message))
            }
            Some(Err(error)) => Err(OperationError::Fault(error.to_string())),
        }
    }

    /// Returns the summary of the run, restored from its records.
    pub(crate) fn stored_summary(&self) -> Result<Option<Summary>, String> {
        let Some((runtime, run)) = self.still() else { return Ok(None) };
        runtime.summary(&run).map(Some).map_err(|error| error.message().to_owned())
    }

    fn load(&self) -> Result<(Graph, Vec<String>), OperationError> {
        match &self.case.graph {
            GraphSource::Inline(config) => {
                let problems = Problems::new();
                let graph =
                    load_config(config, &self.case.text, &self.case.name, self.case.dialect, &problems);
                let (graph, warnings) = problems
                    .finish(&self.path, &self.case.text, graph)
                    .map_err(|problems| OperationError::invalid(&problems))?;
                Ok((graph, warnings.to_lines()))
            }
            GraphSource::File(path) => {
                let shown = path.display().to_string();
                let text = graph_runtime::project::text_file::read_as("the graph", path)
                    .map_err(OperationError::from)?;
                let loaded = load(&shown, &text, &id_of_graph(path))
                    .map_err(|problems| OperationError::invalid(&problems))?;
                Ok((loaded.graph, loaded.warnings.to_lines()))
            }
        }
    }

    /// Returns the graphs that nodes name: those of the case, and those that are found as in a run.
    fn subgraphs(
        &self,
        graph: &Arc<Graph>,
        manifest: &Manifest,
        warnings: &mut Vec<String>,
    ) -> Result<Graphs, OperationError> {
        let mut own = Graphs::new();
        for (id, config) in &self.case.subgraphs {
            let problems = Problems::new();
            let graph = load_config(config, &self.case.text, id, self.case.dialect, &problems);
            let (graph, found) = problems
                .finish(&self.path, &self.case.text, graph)
                .map_err(|problems| OperationError::invalid(&problems))?;
            warnings.extend(found.to_lines());
            own.insert(id.clone(), Arc::new(graph));
        }
        let file = match &self.case.graph {
            GraphSource::File(path) => path.as_path(),
            GraphSource::Inline(_) => Path::new(&self.path),
        };
        let graphs = self
            .items
            .graphs(file, self.case.items_dir.as_deref(), graph, own, manifest, |id| self.doubles.has(id))
            .map_err(OperationError::from)?;
        warnings.extend(recursion_warnings(graph, &graphs));
        Ok(graphs)
    }

    fn manifest(&self) -> Result<Manifest, OperationError> {
        DispatchPatterns::parse(&self.case.caps)
            .map(|dispatch| self.items.manifest(dispatch))
            .map(|manifest| manifest.with_run_limits(self.bounds.run))
            .map_err(|error| {
                OperationError::refused(
                    ErrorCode::InvalidDocument,
                    format!("`caps`: {error}; {}", error.help),
                )
            })
    }
}

/// Checks inputs against the graph's schema, and fills in its defaults.
fn fill_inputs(graph: &Graph, inputs: Value) -> Result<Value, OperationError> {
    let join =
        |problems: Vec<String>| OperationError::refused(ErrorCode::InvalidDocument, problems.join("\n"));
    let Value::Object(inputs) = inputs else {
        return Err(join(vec!["inputs: a mapping is needed".to_owned()]));
    };
    let checked = check_inputs(graph, inputs, &Meter::of_one_step()).map_err(|error| match error {
        error @ InputsError::Exhausted(_) => OperationError::refused(ErrorCode::Limit, error.to_string()),
        InputsError::Schema { reasons } => {
            join(reasons.iter().map(|reason| format!("`config_schema`: {reason}")).collect())
        }
        InputsError::Unfit { unfit, parameters } => {
            join(unfit.iter().chain(&parameters).map(|problem| format!("inputs: {problem}")).collect())
        }
    })?;
    if checked.parameters.resume_run_id.is_some() || checked.parameters.detached {
        return Err(join(vec![
            "inputs: a case has one run, in the foreground: `resume_run_id` and `async` have no place in it"
                .to_owned(),
        ]));
    }
    Ok(checked.inputs)
}

fn pins(manifest: &Manifest) -> Digest {
    DomainHasher::new("graph-host/case-pins/v1").digest(&manifest.digest()).finish()
}

/// Returns the result of a run that was not started.
fn unborn(refusal: Option<&Refusal>) -> Value {
    let error = refusal.map(|refusal| {
        Value::Object(Map::from_iter([
            ("code".to_owned(), Value::from(refusal.code.as_str())),
            ("message".to_owned(), Value::from(refusal.message.as_str())),
        ]))
    });
    let empty = || Value::Array(Vec::new());
    let mut result = BTreeMap::from([
        ("state", Value::Object(Map::new())),
        ("steps", Value::from(0)),
        ("visited", empty()),
        ("next", empty()),
        ("interrupts", empty()),
        ("warnings", empty()),
    ]);
    if let Some(error) = error {
        result.insert("status", Value::from(Status::Failed.as_str()));
        result.insert("error", error);
    }
    Value::Object(result.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}
