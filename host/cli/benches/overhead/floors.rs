//! A superstep, a task of a fan-out and a process, over the sum of their floors: the bare wasmtime call, one Ed25519 signature, one bare
//! SQLite commit of the same bytes. Each floor is measured alternately with the operation above it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use graph_core::trust::SigningKey;
use graph_driver::{Driver, DriverConfig, SystemClock, WriteMode};
use graph_engine::PreparedNode;
use graph_engine::bench_baseline::BareCall;
use graph_store::conformance::sample;
use graph_store::{BareDatabase, CheckpointStore, MemoryStore, NewRun, SqliteOptions, SqliteStore, SyncMode};
use graph_walker::graph::Graph;
use graph_walker::walker::{Event, RunTree};
use serde_json::{Value, json};

use super::durable::bytes_of_a_step;
use super::{Executor, Pair, ROUNDS, STEPS, Table, activation, params, read, setup, supersteps};
use graph_core::limits::TaskLimits;

/// Tasks of the measured fan-out.
const TASKS: u32 = 10_000;
/// Turns of measurements that wait for a disk: its speed varies, and with short turns both sides see the same speed.
const TURNS: usize = 36;
/// Supersteps of one turn.
const STEPS_OF_A_TURN: u32 = 100;
/// Tasks of the fan-out that computes, and the count of iterations of each: some milliseconds.
const BUSY_TASKS: usize = 64;
const COUNT: u64 = 10_000_000;

/// Adds the rows of the parts that are wanted: `memory`, `sqlite`, `foreach`, `processors`.
pub(super) async fn measure(
    node: &PreparedNode,
    folder: &Path,
    wanted: impl Fn(&str) -> bool,
    table: &mut Table,
) -> Result<()> {
    if wanted("memory") {
        memory(node, table).await?;
    }
    if wanted("sqlite") {
        sqlite(node, folder, table).await?;
    }
    if wanted("foreach") {
        fan_out(node, table).await?;
    }
    if wanted("processors") {
        two_processors(node, table).await?;
    }
    Ok(())
}

/// Minimum work of a superstep.
struct Floors {
    call: BareCall,
    key: SigningKey,
}

impl Floors {
    fn new(node: &PreparedNode) -> Self {
        let call = BareCall::new(node, activation(), params().to_string(), &TaskLimits::DEFAULT);
        Self { call, key: SigningKey::from_seed(&[7; 32]) }
    }

    /// Measures one bare call.
    async fn call(&self, times: u32) -> Result<Duration> {
        let start = Instant::now();
        for _ in 0..times {
            self.call.call().await.map_err(|error| anyhow::anyhow!("{error:?}"))?;
        }
        Ok(start.elapsed() / times)
    }

    /// Measures one signature of a digest.
    fn signature(&self, times: u32) -> Duration {
        let start = Instant::now();
        for at in 0..times {
            std::hint::black_box(self.key.sign("bench", &at.to_le_bytes().repeat(8)));
        }
        start.elapsed() / times
    }
}

/// Supersteps in memory: with a signature each, and with one for all of them.
async fn memory(node: &PreparedNode, table: &mut Table) -> Result<()> {
    let floors = Floors::new(node);
    let (mut sync, mut exit) = (Pair::default(), Pair::default());
    for round in 0..ROUNDS {
        let call = floors.call(STEPS).await?;
        sync.base.push(call + floors.signature(STEPS));
        exit.base.push(call);
        for (durability, pair) in [("sync", &mut sync), ("exit", &mut exit)] {
            let store = Arc::new(MemoryStore::new());
            let run = format!("{durability}{round}");
            pair.ours.push(supersteps(node, store, &run, durability, WriteMode::Inline, STEPS).await?);
        }
    }
    table.row("a superstep in memory, durability sync", "call + signature", &sync, Some(1.25));
    table.row("a superstep in memory, durability exit", "call", &exit, Some(1.4));
    Ok(())
}

/// Supersteps in a database: under `sync` each waits for the disk; under `async` they are written in batches.
async fn sqlite(node: &PreparedNode, folder: &Path, table: &mut Table) -> Result<()> {
    let floors = Floors::new(node);
    let store: Arc<dyn CheckpointStore> =
        Arc::new(SqliteStore::open(&folder.join("floors.db"), SqliteOptions::default())?);
    for (durability, synchronous, over, goal) in [
        ("sync", SyncMode::Full, "commit + call + signature", 1.3),
        ("async", SyncMode::Normal, "call + insert in a batch", 1.5),
    ] {
        let bytes = bytes_of_a_step(node, durability).await?;
        let database = BareDatabase::create(&folder.join(format!("floor-{durability}.db")))?;
        database.set_synchronous(synchronous)?;
        let mut pair = Pair::default();
        for turn in 0..TURNS {
            let start = Instant::now();
            if synchronous == SyncMode::Full {
                for _ in 0..STEPS_OF_A_TURN {
                    database.commit(&bytes)?;
                }
            } else {
                database.commit_batch(&bytes, STEPS_OF_A_TURN)?;
            }
            let stored = start.elapsed() / STEPS_OF_A_TURN;
            let signature = match synchronous {
                SyncMode::Full => floors.signature(STEPS_OF_A_TURN),
                SyncMode::Normal => Duration::ZERO,
            };
            pair.base.push(stored + floors.call(STEPS_OF_A_TURN).await? + signature);
            let run = format!("{durability}{turn}");
            let store = Arc::clone(&store);
            pair.ours
                .push(supersteps(node, store, &run, durability, WriteMode::Thread, STEPS_OF_A_TURN).await?);
        }
        table.row(&format!("a superstep in SQLite, durability {durability}"), over, &pair, Some(goal));
    }
    Ok(())
}

/// A fan-out over numbers.
fn fan_out_graph(items: usize, params: &Value, concurrency: usize) -> Result<Arc<Graph>> {
    let list: Vec<_> = (0..items).collect();
    read(&format!(
        r"
  start: all
  durability: exit
  max_concurrency: {concurrency}
  max_total_steps: 1000000
  limits: {{ fuel: 1000000000000 }}
  nodes:
    all:
      type: foreach
      parallel: true
      over: {list:?}
      action: {{ item_id: examples/testkit, params: {params} }}
      collect: all
"
    ))
}

/// Runs a graph in memory to its end.
async fn run(graph: Arc<Graph>, node: &PreparedNode, name: &str, is_brief: bool) -> Result<Duration> {
    let store: Arc<dyn CheckpointStore> = Arc::new(MemoryStore::new());
    store.create_run(&NewRun { snapshots: Vec::new(), ..sample::run(name) })?;
    let setup = setup(&graph, name)?;
    let guard = Arc::new(store.acquire(name, &sample::owner(1))?);
    let parts = DriverConfig {
        guard,
        executor: Arc::new(Executor { node: node.clone(), bare: None, is_brief }),
        store,
        writing: WriteMode::Inline,
        key: SigningKey::from_seed(&[7; 32]),
        clock: Arc::new(SystemClock),
        durability: setup.durability,
    };
    let mut driver = Driver::new(RunTree::new(graph, setup), parts)?;
    let start = Instant::now();
    let status = driver.drive(Event::Started, &mut ()).await?;
    let took = start.elapsed();
    ensure!(status.is_end() && driver.summary().error.is_none(), "{:?}", driver.summary().error);
    Ok(took)
}

/// Measures one task of a large fan-out.
async fn fan_out(node: &PreparedNode, table: &mut Table) -> Result<()> {
    let floors = Floors::new(node);
    let graph = fan_out_graph(TASKS as usize, &params(), 4)?;
    let mut pair = Pair::default();
    for round in 0..ROUNDS {
        pair.base.push(floors.call(TASKS / 4).await?);
        pair.ours.push(run(Arc::clone(&graph), node, &format!("all{round}"), true).await? / TASKS);
    }
    table.row("a task of a foreach of 10,000, in memory", "call", &pair, Some(1.25));
    Ok(())
}

/// Measures the same tasks, one at a time and two at a time.
async fn two_processors(node: &PreparedNode, table: &mut Table) -> Result<()> {
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return Ok(());
    }
    let spin = json!({ "op": "spin", "iterations": COUNT });
    let mut pair = Pair::default();
    for round in 0..ROUNDS {
        for (concurrency, times) in [(1, &mut pair.ours), (2, &mut pair.base)] {
            let graph = fan_out_graph(BUSY_TASKS, &spin, concurrency)?;
            times.push(run(graph, node, &format!("busy{concurrency}-{round}"), false).await?);
        }
    }
    table.speed_up("busy tasks, one at a time", "two at a time, on two processors", &pair, 1.9);
    Ok(())
}
