//! Cost of a superstep as a run grows, and of the walker alone. The benchmark answers the nodes itself, so that no component hides the
//! measured time.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use graph_core::node::{Goto, Outcome};
use graph_core::time::Timestamp;
use graph_core::trust::SigningKey;
use graph_driver::{Driver, DriverConfig, SystemClock, TaskExecutor, WriteMode};
use graph_store::conformance::sample;
use graph_store::{CheckpointStore, MemoryStore, NewRun, SqliteOptions, SqliteStore};
use graph_walker::graph::Graph;
use graph_walker::walker::{Effect, Event, RunTree, TaskReport, TaskSpec, Walker};
use serde_json::{Map, Value, json};

use super::{Pair, Table, read, setup};

/// Supersteps before and after a measured place in a run.
const WINDOW: usize = 500;
/// Early and late place, as numbers of supersteps.
const EARLY: usize = 1_000;
const LATE: usize = 100_000;
/// Supersteps of one measured run with a large unused value.
const STEPS: usize = 400;
/// Size of that value, in bytes.
const LARGE: usize = 10 << 20;
/// Tasks of one fan-out.
const FAN_OUT: usize = 1_000;

/// Adds the rows and notes of this module.
pub(super) async fn measure(folder: &Path, table: &mut Table) -> Result<()> {
    late_steps(folder, table).await?;
    untouched_state(table).await?;
    walker_alone(table)
}

/// Returns a graph of one node that appends an element and loops.
fn append_loop(durability: &str, steps: usize) -> Result<Arc<Graph>> {
    read(&format!(
        r#"
  start: add
  max_steps: {steps}
  max_total_steps: {steps}
  on_max_steps: return_last
  durability: {durability}
  output: null
  channels: {{ log: {{ reducer: append }} }}
  nodes:
    add: {{ action: {{ item_id: bench/add }}, assign: {{ log: "${{result}}" }}, next: add }}
"#
    ))
}

/// Executor that answers at once and records the time of each task.
#[derive(Debug, Default)]
struct Stopwatch(Mutex<Vec<Instant>>);

impl TaskExecutor for Stopwatch {
    fn execute(&self, spec: TaskSpec) -> BoxFuture<'static, TaskReport> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Instant::now());
        let result = json!({ "superstep": spec.activation.superstep, "text": "an element of the list" });
        futures::future::ready(TaskReport::new(Ok(Outcome::Result(result)), 1)).boxed()
    }

    fn is_brief(&self, _: &TaskSpec) -> bool {
        true
    }

    fn parallelism(&self) -> usize {
        4
    }
}

impl Stopwatch {
    /// Returns the time of one superstep around a place in the run.
    fn around(&self, place: usize) -> Result<Duration> {
        let times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (first, last) = (place - WINDOW, (place + WINDOW).min(times.len() - 1));
        let (from, to) = times.get(first).zip(times.get(last)).context("the run was shorter than that")?;
        Ok(to.duration_since(*from) / u32::try_from(last - first)?)
    }
}

/// Runs a graph to its end.
async fn run(
    graph: Arc<Graph>,
    state: Map<String, Value>,
    store: Arc<dyn CheckpointStore>,
    name: &str,
    writing: WriteMode,
) -> Result<Arc<Stopwatch>> {
    let mut setup = setup(&graph, name)?;
    setup.initial_state = state;
    store.create_run(&NewRun { snapshots: Vec::new(), ..sample::run(name) })?;
    let guard = Arc::new(store.acquire(name, &sample::owner(1))?);
    let stopwatch = Arc::new(Stopwatch::default());
    let parts = DriverConfig {
        executor: Arc::clone(&stopwatch) as Arc<dyn TaskExecutor>,
        store,
        guard,
        writing,
        key: SigningKey::from_seed(&[7; 32]),
        clock: Arc::new(SystemClock),
        durability: setup.durability,
    };
    let mut driver = Driver::new(RunTree::new(graph, setup), parts)?;
    let status = driver.drive(Event::Started, &mut ()).await?;
    ensure!(status.is_end(), "{status}: {:?}", driver.summary().error);
    Ok(stopwatch)
}

/// Compares superstep 100,000 of an append loop with superstep 1,000 of the same run.
async fn late_steps(folder: &Path, table: &mut Table) -> Result<()> {
    let sqlite: Arc<dyn CheckpointStore> =
        Arc::new(SqliteStore::open(&folder.join("growth.db"), SqliteOptions::default())?);
    for (what, durability) in [
        ("superstep 100,000 of an append loop, memory store", "sync"),
        ("superstep 100,000 of an append loop, SQLite async", "async"),
    ] {
        let mut pair = Pair::default();
        for round in 0..3 {
            let (store, writing) = match durability {
                "sync" => (Arc::new(MemoryStore::new()) as Arc<dyn CheckpointStore>, WriteMode::Inline),
                _ => (Arc::clone(&sqlite), WriteMode::Thread),
            };
            let graph = append_loop(durability, LATE + WINDOW)?;
            let stopwatch = run(graph, Map::new(), store, &format!("growth{round}"), writing).await?;
            pair.base.push(stopwatch.around(EARLY)?);
            pair.ours.push(stopwatch.around(LATE)?);
        }
        table.row(what, "superstep 1,000 of that run", &pair, Some(1.2));
    }
    Ok(())
}

/// Compares a superstep with 10 MB of unused state with one without.
async fn untouched_state(table: &mut Table) -> Result<()> {
    let mut pair = Pair::default();
    for round in 0..super::ROUNDS {
        for large in [false, true] {
            let mut state = Map::new();
            if large {
                state.insert("large".to_owned(), Value::from("x".repeat(LARGE)));
            }
            let graph = append_loop("sync", STEPS)?;
            let store = Arc::new(MemoryStore::new());
            let stopwatch =
                run(graph, state, store, &format!("state{round}{large}"), WriteMode::Inline).await?;
            let times = if large { &mut pair.ours } else { &mut pair.base };
            let all = stopwatch.0.lock().unwrap_or_else(PoisonError::into_inner);
            let (first, last) = all.first().zip(all.last()).context("the run has supersteps")?;
            times.push(last.duration_since(*first) / u32::try_from(STEPS - 1)?);
        }
    }
    table.row("a superstep beside 10 MB that nobody touches", "the same without", &pair, Some(1.1));
    Ok(())
}

/// Measures the events and effects of the walker alone, without a driver, a store, digests and signatures.
fn walker_alone(table: &mut Table) -> Result<()> {
    let steps = 20_000;
    let mut one = Vec::new();
    let mut many = Vec::new();
    for _ in 0..super::ROUNDS {
        let graph = append_loop("exit", steps)?;
        one.push(walk(&graph, |_| Outcome::Result(json!(1)))? / u32::try_from(steps)?);
        let rounds = 20;
        let graph = read(&format!(
            r"
  start: spread
  max_steps: {most}
  max_total_steps: {most}
  on_max_steps: return_last
  durability: exit
  output: null
  channels: {{ sum: {{ reducer: sum }} }}
  nodes:
    spread: {{ action: {{ item_id: bench/spread }}, command: {{ goto: [work] }} }}
    work: {{ action: {{ item_id: bench/work }}, assign: {{ sum: 1 }}, next: spread }}
",
            most = rounds * 2
        ))?;
        let sends: Vec<Goto> =
            (0..FAN_OUT).map(|at| Goto { node: "work".to_owned(), argument: Some(json!(at)) }).collect();
        let took = walk(&graph, |spec| match spec.activation.node_id.as_str() {
            "spread" => Outcome::Command { update: Map::new(), goto: sends.clone() },
            _ => Outcome::Result(Value::Null),
        })?;
        many.push(took / u32::try_from(rounds * (FAN_OUT + 1))?);
    }
    table.notes.push(format!(
        "the walker alone, without digest and signature: {} a superstep of one node (aim: 3 µs), {} a task of a fan-out of \
         1,000 (aim: 1 µs)",
        super::micros(super::median(&mut one)),
        super::micros(super::median(&mut many)),
    ));
    Ok(())
}

/// Walks a graph to its end; returns the time spent in `handle`. Events that may arrive together are measured together.
fn walk(graph: &Arc<Graph>, answer: impl Fn(&TaskSpec) -> Outcome) -> Result<Duration> {
    let mut walker = Walker::new(Arc::clone(graph), setup(graph, "walk")?);
    let mut events = VecDeque::from([Event::Started]);
    let mut took = Duration::ZERO;
    while !events.is_empty() {
        let batch = std::mem::take(&mut events);
        let mut effects = Vec::with_capacity(batch.len());
        let start = Instant::now();
        for event in batch {
            effects.push(walker.handle(Timestamp(1), event)?);
        }
        took += start.elapsed();
        for effect in effects.into_iter().flatten() {
            match effect {
                Effect::RunTask(spec) => {
                    let report = TaskReport::new(Ok(answer(&spec)), 1);
                    let (task, attempt) = (spec.activation.task.as_str().into(), spec.activation.attempt);
                    events.push_back(Event::TaskDone { task, attempt, report });
                }
                Effect::Persist(persist) => events.push_back(Event::Persisted(persist.id)),
                _ => {}
            }
        }
    }
    ensure!(walker.summary().status.is_end(), "{:?}", walker.summary().error);
    Ok(took)
}
