//! Overhead of graph-host over its dependencies, as ratios: both sides of a pair are measured alternately in one process, under the same
//! load. Figures are medians. `cargo bench` prints the table.

#[path = "overhead/cache.rs"]
mod cache;
#[path = "overhead/durable.rs"]
mod durable;
#[path = "overhead/floors.rs"]
mod floors;
#[path = "overhead/growth.rs"]
mod growth;

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use graph_core::capability::{DispatchPatterns, EffectiveGrant, Manifest};
use graph_core::digest::Digest;
use graph_core::limits::{RunLimits, TaskLimits};
use graph_core::node::{Activation, Category, Failure};
use graph_core::time::Timestamp;
use graph_core::trust::{SigningKey, TrustStore, VerifiedComponent};
use graph_driver::{Driver, DriverConfig, SystemClock, TaskExecutor, WriteMode};
use graph_engine::bench_baseline::BareCall;
use graph_engine::{Call, Engine, EngineConfig, PreparedNode};
use graph_store::conformance::sample;
use graph_store::{CheckpointStore, NewRun};
use graph_walker::document;
use graph_walker::graph::Graph;
use graph_walker::walker::{Event, Identity, RunTree, Setup, TaskReport, TaskSpec};
use serde_json::{Value, json};
use wait4::Wait4 as _;

/// Supersteps of one measured run.
const STEPS: u32 = 400;
/// Rounds of every pair.
const ROUNDS: usize = 9;

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let folder = tempfile::tempdir()?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let mut table = Table::default();
    // `cargo bench --bench overhead -- sqlite` measures that part alone.
    let named: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let wanted = |part: &str| named.is_empty() || named.iter().any(|name| name == part);
    // First, while this process is small: the peak memory of a child includes that of the process it was forked from.
    if wanted("process") {
        process(&root, folder.path(), &mut table)?;
    }
    let node = prepare(&root, folder.path())?;
    runtime.block_on(async {
        if wanted("calls") {
            calls(&node, &mut table).await?;
        }
        floors::measure(&node, folder.path(), wanted, &mut table).await?;
        if wanted("durable") {
            durable::measure(&node, folder.path(), &mut table).await?;
        }
        if wanted("growth") {
            growth::measure(folder.path(), &mut table).await?;
        }
        anyhow::Ok(())
    })?;
    if wanted("cache") {
        cache::measure(&root, folder.path(), &mut table)?;
    }
    table.print();
    runtime.shutdown_background();
    Ok(())
}

/// The echo node of the test kit, linked with nothing but logging.
fn prepare(root: &Path, folder: &Path) -> Result<PreparedNode> {
    let engine =
        Engine::new(EngineConfig { cache_dir: Some(folder.join("cache")), ..EngineConfig::default() })?;
    let bytes = std::fs::read(root.join("examples/nodes/.ai/tools/examples/testkit.wasm"))?;
    let component =
        VerifiedComponent::under_development(bytes.into(), "examples/testkit", &TrustStore::default())?;
    let loaded = engine.load(&component)?;
    Ok(engine.prepare(&loaded, None, &EffectiveGrant::nothing(TaskLimits::DEFAULT))?)
}

fn activation() -> Activation {
    Activation {
        run_id: "bench".into(),
        root_run_id: "bench".into(),
        parent_run_id: None,
        graph_id: "bench".into(),
        node_id: "echo".into(),
        superstep: 1,
        task: "1.0".into(),
        attempt: 1,
        visit: 1,
        argument: None,
        answers: Vec::new(),
        idempotency_key: "0".repeat(64),
    }
}

/// Returns params for about 1 KB of input and output.
fn params() -> Value {
    json!({ "op": "echo", "value": { "text": "x".repeat(960) } })
}

/// A call through the engine over the bare wasmtime call.
async fn calls(node: &PreparedNode, table: &mut Table) -> Result<()> {
    const CALLS: u32 = 2_000;
    let (activation, params) = (activation(), params());
    let bare = BareCall::new(node, activation.clone(), params.to_string(), &TaskLimits::DEFAULT);
    let mut pair = Pair::default();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..CALLS {
            ensure!(bare.call().await.map_err(|error| anyhow::anyhow!("{error:?}"))? > 900);
        }
        pair.base.push(start.elapsed() / CALLS);
        let start = Instant::now();
        for _ in 0..CALLS {
            let report = node
                .call(Call {
                    activation: &activation,
                    params: std::borrow::Cow::Borrowed(&params),
                    seed: [0; 32],
                    clock: Timestamp(0),
                    limits: TaskLimits::DEFAULT,
                    observer: None,
                    journal: graph_engine::Journal::Record,
                    services: graph_engine::Services::default(),
                    depth: 0,
                })
                .await;
            ensure!(report.result.is_ok(), "{:?}", report.result);
        }
        pair.ours.push(start.elapsed() / CALLS);
    }

    table.row("a node call, 1 KB in and out", "bare wasmtime call", &pair, Some(1.1));
    Ok(())
}

/// A graph of one node that is entered again and again.
fn loop_graph(durability: &str, steps: u32) -> Result<Arc<Graph>> {
    read(&format!(
        r#"
  start: echo
  max_steps: {steps}
  max_total_steps: {steps}
  on_max_steps: return_last
  durability: {durability}
  nodes:
    echo:
      action: {{ item_id: examples/testkit, params: {params} }}
      assign: {{ last: "${{result.text}}" }}
      next: echo
"#,
        params = params()
    ))
}

/// A graph with this `config`.
fn read(config: &str) -> Result<Arc<Graph>> {
    let text = format!("tool_type: graph\nconfig:\n{config}");
    let loaded =
        document::load("bench.yaml", &text, "bench").map_err(|problems| anyhow::anyhow!("{problems:?}"))?;
    Ok(Arc::new(loaded.graph))
}

/// Executor that calls the component and, if `bare` is given, makes one bare commit for each task.
struct Executor {
    node: PreparedNode,
    bare: Option<Arc<durable::BareCommits>>,
    /// `true` if attempts end sooner than another thread could start them.
    is_brief: bool,
}

impl std::fmt::Debug for Executor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Executor")
    }
}

impl TaskExecutor for Executor {
    fn execute(&self, spec: TaskSpec) -> BoxFuture<'static, TaskReport> {
        let (node, bare) = (self.node.clone(), self.bare.clone());
        async move {
            if let Some(Err(error)) = bare.map(|bare| bare.commit()) {
                return TaskReport::new(Err(Failure::new(Category::Internal, error.to_string())), 0);
            }
            let report = node
                .call(Call {
                    activation: &spec.activation,
                    params: std::borrow::Cow::Borrowed(&spec.params),
                    seed: *spec.seed.as_bytes(),
                    clock: spec.clock,
                    limits: spec.limits,
                    observer: None,
                    journal: graph_engine::Journal::Record,
                    services: graph_engine::Services::default(),
                    depth: 0,
                })
                .await;
            TaskReport::new(report.result, report.fuel_used)
        }
        .boxed()
    }

    fn is_brief(&self, _: &TaskSpec) -> bool {
        self.is_brief
    }

    fn parallelism(&self) -> usize {
        4
    }
}

/// Returns the setup of a run with default settings.
fn setup(graph: &Graph, run: &str) -> Result<Setup> {
    let inputs = Arc::new(json!({}));
    // The longest run here, an append loop of 100,000 supersteps, holds and stores more than the defaults allow.
    let limits = RunLimits { steps: 1 << 20, state: 1 << 32, stored: 1 << 34, ..RunLimits::DEFAULT };
    let manifest = Manifest::of_dispatch(DispatchPatterns::parse(["*"])?).with_run_limits(limits);
    Ok(Setup {
        identity: Identity { run: run.into(), root: run.into(), parent: None, namespace: String::new() },
        seed: Setup::default_seed(graph, &inputs),
        inputs,
        initial_state: serde_json::Map::new(),
        manifest: Arc::new(manifest),
        graphs: Arc::default(),
        hooks: Arc::default(),
        pins: Digest::of_bytes(b"bench"),
        accepted: Vec::new(),
        durability: graph.durability,
        max_steps: None,
        max_concurrency: None,
    })
}

/// Runs the loop to its end; returns the time of one superstep.
async fn supersteps(
    node: &PreparedNode,
    store: Arc<dyn CheckpointStore>,
    run: &str,
    durability: &str,
    writing: WriteMode,
    steps: u32,
) -> Result<Duration> {
    let executor = Executor { node: node.clone(), bare: None, is_brief: true };
    supersteps_by(executor, store, run, durability, writing, steps).await
}

async fn supersteps_by(
    executor: Executor,
    store: Arc<dyn CheckpointStore>,
    run: &str,
    durability: &str,
    writing: WriteMode,
    steps: u32,
) -> Result<Duration> {
    let graph = loop_graph(durability, steps)?;
    let setup = setup(&graph, run)?;
    let mode = setup.durability;
    let new = NewRun { snapshots: Vec::new(), ..sample::run(run) };
    store.create_run(&new)?;
    let guard = Arc::new(store.acquire(run, &sample::owner(1))?);
    let parts = DriverConfig {
        executor: Arc::new(executor),
        store,
        guard,
        writing,
        key: SigningKey::from_seed(&[7; 32]),
        clock: Arc::new(SystemClock),
        durability: mode,
    };
    let mut driver = Driver::new(RunTree::new(graph, setup), parts)?;
    let start = Instant::now();
    let status = driver.drive(Event::Started, &mut ()).await?;
    let took = start.elapsed();
    ensure!(status.is_end() && driver.summary().steps == u64::from(steps), "{:?}", driver.summary());
    Ok(took / steps)
}

/// A whole warm `graph-host run` of one node, over a process that does nothing, and the most memory that it took.
fn process(root: &Path, folder: &Path, table: &mut Table) -> Result<()> {
    let graph = folder.join("one.yaml");
    std::fs::write(
        &graph,
        "tool_type: graph\nconfig:\n  start: a\n  nodes:\n    a: { action: { item_id: examples/testkit, params: { op: echo, value: 1 } } }\n",
    )?;
    let caps = folder.join("caps.yaml");
    std::fs::write(&caps, "dispatch: [execute.tool.examples.testkit]\n")?;
    for (store, wanted) in [("sqlite", 12), ("memory", 9)] {
        let mut run = Command::new(env!("CARGO_BIN_EXE_graph-host"));
        run.arg("run").arg(&graph).arg("--caps").arg(&caps);
        run.arg("--trust").arg(root.join("examples/trust.yaml"));
        run.arg("--items").arg(root.join("examples/nodes/.ai/tools")).args(["--json", "--store", store]);
        run.current_dir(folder).env("GRAPH_HOST_HOME", folder.join("home"));
        let mut nothing = Command::new(env!("CARGO_BIN_EXE_graph-host"));
        nothing.arg("--version");
        let mut pair = Pair::default();
        let mut memory = 0;
        // The first one compiles the component.
        timed(&mut run)?;
        for _ in 0..20 {
            pair.base.push(timed(&mut nothing)?.0);
            let (time, most) = timed(&mut run)?;
            pair.ours.push(time);
            memory = most.max(memory);
        }
        let what = format!("a warm process with one node, {store}");
        table.timed(&what, "a process that prints its version", &pair, Duration::from_millis(wanted));
        table.notes.push(format!("{what}: at most {:.1} MiB of memory; wanted: 24", mebibytes(memory)));
    }
    Ok(())
}

/// Runs a command; returns its duration, and its peak resident memory in bytes.
fn timed(command: &mut Command) -> Result<(Duration, u64)> {
    let start = Instant::now();
    let ended = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?.wait4()?;
    let time = start.elapsed();
    ensure!(ended.status.success(), "{command:?} ended with {}", ended.status);
    Ok((time, ended.rusage.maxrss))
}

fn mebibytes(bytes: u64) -> f64 {
    Duration::from_micros(bytes).as_secs_f64() * 1e6 / f64::from(1 << 20)
}

/// Times of both sides of a comparison.
#[derive(Default)]
struct Pair {
    base: Vec<Duration>,
    ours: Vec<Duration>,
}

impl Pair {
    fn base_median(&self) -> Duration {
        median(&mut self.base.clone())
    }

    fn ours_median(&self) -> Duration {
        median(&mut self.ours.clone())
    }
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

#[derive(Default)]
struct Table {
    rows: Vec<[String; 6]>,
    notes: Vec<String>,
}

impl Table {
    fn row(&mut self, what: &str, over: &str, pair: &Pair, limit: Option<f64>) {
        let (base, ours) = (pair.base_median(), pair.ours_median());
        let ratio = ours.as_secs_f64() / base.as_secs_f64();
        self.rows.push([
            what.to_owned(),
            micros(ours),
            over.to_owned(),
            micros(base),
            format!("{ratio:.2}"),
            limit.map(|limit| format!("at most {limit:.2}")).unwrap_or_default(),
        ]);
    }

    /// Adds a row with a wanted minimum of the ratio.
    fn speed_up(&mut self, what: &str, over: &str, pair: &Pair, wanted: f64) {
        self.row(what, over, pair, None);
        if let Some([.., limit]) = self.rows.last_mut() {
            *limit = format!("at least {wanted:.1}");
        }
    }

    /// Adds a row with a wanted maximum of the time.
    fn timed(&mut self, what: &str, over: &str, pair: &Pair, wanted: Duration) {
        self.row(what, over, pair, None);
        if let Some([.., limit]) = self.rows.last_mut() {
            *limit = format!("at most {} ms", wanted.as_millis());
        }
    }

    fn print(&self) {
        let mut table = comfy_table::Table::new();
        table.set_header(["what", "takes", "over", "takes", "ratio", "wanted"]);
        for row in &self.rows {
            table.add_row(row);
        }
        println!("{table}");
        for note in &self.notes {
            println!("{note}");
        }
    }
}

fn micros(span: Duration) -> String {
    format!("{:.1} µs", span.as_secs_f64() * 1e6)
}
