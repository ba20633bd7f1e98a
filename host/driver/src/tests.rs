//! The time and durability of commits, and the effect of a failing store on a run.

#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use graph_core::capability::{DispatchPatterns, Manifest};
use graph_core::digest::Digest;
use graph_core::node::{Category, Failure, Outcome};
use graph_core::policy::Durability;
use graph_core::record::{ErrorCode, RecordKind, SignedRecord, Status};
use graph_core::time::Timestamp;
use graph_core::trust::SigningKey;
use graph_store::conformance::sample;
use graph_store::*;
use graph_walker::document;
use graph_walker::graph::Graph;
use graph_walker::walker::{Event, Identity, Notice, RunTree, Setup, TaskReport, TaskSpec};
use serde_json::json;

use crate::{DriveError, Driver, DriverConfig, Observer, SystemClock, TaskExecutor, WriteMode};

/// A store that records the durability of each commit, and refuses commits after a given number.
#[derive(Debug)]
struct Watched {
    inner: MemoryStore,
    commits: Mutex<Vec<(Vec<RecordKind>, SyncMode)>>,
    /// Number of commits that succeed.
    takes: u64,
    /// True if commits that would stop the run are refused.
    refuses_stops: bool,
    /// True if another process holds the run after the commits that succeed.
    is_taken_over: bool,
    taken: AtomicU64,
    /// Duration of a commit.
    slow: Duration,
}

impl Watched {
    fn new(takes: u64, slow: Duration) -> Arc<Self> {
        let inner = MemoryStore::new();
        inner.create_run(&sample::run("r")).unwrap();
        let count = AtomicU64::new(0);
        Arc::new(Self {
            inner,
            commits: Mutex::default(),
            takes,
            refuses_stops: false,
            is_taken_over: false,
            taken: count,
            slow,
        })
    }

    fn taken_over_after(commits: u64) -> Arc<Self> {
        let mut store = Self::new(commits, Duration::ZERO);
        Arc::get_mut(&mut store).unwrap().is_taken_over = true;
        store
    }

    fn without_room_for_a_stop() -> Arc<Self> {
        let mut store = Self::new(u64::MAX, Duration::ZERO);
        Arc::get_mut(&mut store).unwrap().refuses_stops = true;
        store
    }

    fn pressed(&self) -> Vec<(Vec<RecordKind>, SyncMode)> {
        self.commits.lock().unwrap().clone()
    }
}

impl StoreInterceptor for Watched {
    fn behind(&self) -> &dyn CheckpointStore {
        &self.inner
    }

    fn commit(
        &self,
        guard: &RunGuard,
        batch: &[SignedRecord],
        update: &RunUpdate,
        synchronous: SyncMode,
    ) -> Result<(), CommitError> {
        std::thread::sleep(self.slow);
        let stops = update.status.is_some_and(|status| status != Status::Running);
        let taken = self.taken.fetch_add(1, Ordering::SeqCst);
        if self.is_taken_over && taken >= self.takes {
            return Err(CommitError::Lost { run: guard.run().to_owned(), loss: Loss::TakenUp });
        }
        if taken >= self.takes || (self.refuses_stops && stops) {
            return Err(StorageError::Full { location: "the disk".to_owned() }.into());
        }
        let kinds = batch.iter().map(|record| record.kind).collect();
        self.commits.lock().unwrap().push((kinds, synchronous));
        self.inner.commit(guard, batch, update, synchronous)
    }
}

/// Answers every task with its number; the node `ask` asks.
#[derive(Debug, Default)]
struct Counting {
    calls: Arc<AtomicU64>,
    takes: Duration,
    /// The duration and the outcome of a preparation; without a value, everything is ready.
    prepares: Option<(Duration, Result<(), Failure>)>,
}

impl TaskExecutor for Counting {
    fn execute(&self, spec: TaskSpec) -> BoxFuture<'static, TaskReport> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        let takes = self.takes;
        async move {
            tokio::time::sleep(takes).await;
            let result: Result<Outcome, Failure> = Ok(match spec.activation.node_id.as_str() {
                "ask" => Outcome::Interrupt(json!("?")),
                _ => Outcome::Result(json!(call)),
            });
            TaskReport::new(result, 1)
        }
        .boxed()
    }

    fn prepare(&self, _: &TaskSpec, _: bool) -> Option<BoxFuture<'static, Result<(), Failure>>> {
        let (takes, result) = self.prepares.clone()?;
        Some(tokio::time::sleep(takes).map(|()| result).boxed())
    }

    fn is_brief(&self, _: &TaskSpec) -> bool {
        false
    }

    fn parallelism(&self) -> usize {
        4
    }
}

/// Returns a graph with the nodes `a`, `b` and `c` one after the other, then `last`.
fn graph(durability: Durability, last: &str) -> Arc<Graph> {
    let durability = durability.as_str();
    let node = |name: &str, next: &str| {
        format!("    {name}: {{ action: {{ item_id: t/x }}, assign: {{ {name}: \"${{result}}\" }}{next} }}\n")
    };
    let text = format!(
        "tool_type: graph\nconfig:\n  start: a\n  durability: {durability}\n  nodes:\n{}{}{}{}",
        node("a", ", next: b"),
        node("b", ", next: c"),
        node("c", &format!(", next: {last}")),
        node(last, ""),
    );
    Arc::new(document::load("graph.yaml", &text, "graph").unwrap().graph)
}

fn driver(store: &Arc<Watched>, durability: Durability, last: &str, executor: Counting) -> Driver {
    driver_of(store, graph(durability, last), durability, executor)
}

fn driver_of(store: &Arc<Watched>, graph: Arc<Graph>, durability: Durability, executor: Counting) -> Driver {
    let guard = store.acquire("r", &sample::owner(1)).unwrap();
    driver_in(Arc::<Watched>::clone(store), guard, graph, (durability, WriteMode::Thread), executor)
}

fn driver_in(
    store: Arc<dyn CheckpointStore>,
    guard: RunGuard,
    graph: Arc<Graph>,
    (durability, writing): (Durability, WriteMode),
    executor: Counting,
) -> Driver {
    let inputs = Arc::new(json!({}));
    let setup = Setup {
        identity: Identity { run: "r".into(), root: "r".into(), parent: None, namespace: String::new() },
        seed: Setup::default_seed(&graph, &inputs),
        inputs,
        initial_state: serde_json::Map::new(),
        manifest: Arc::new(Manifest::of_dispatch(DispatchPatterns::parse(["*"]).unwrap())),
        graphs: Arc::default(),
        hooks: Arc::default(),
        pins: Digest::of_bytes(b"pins"),
        accepted: Vec::new(),
        durability,
        max_steps: None,
        max_concurrency: None,
    };
    let parts = DriverConfig {
        executor: Arc::new(executor),
        store,
        guard: Arc::new(guard),
        writing,
        key: SigningKey::from_seed(&[7; 32]),
        clock: Arc::new(SystemClock),
        durability,
    };
    Driver::new(RunTree::new(graph, setup), parts).unwrap()
}

fn drive(
    store: &Arc<Watched>,
    durability: Durability,
    last: &str,
    executor: Counting,
) -> (Result<Status, DriveError>, Driver) {
    let mut driver = driver(store, durability, last, executor);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let status = runtime.block_on(driver.drive(Event::Started, &mut ()));
    (status, driver)
}

/// Returns the durability of the commits that contain records of this kind.
fn pressed_with(store: &Watched, wanted: RecordKind) -> Vec<SyncMode> {
    let commits = store.pressed();
    commits.iter().filter(|(kinds, _)| kinds.contains(&wanted)).map(|(_, pressed)| *pressed).collect()
}

#[test]
fn sync_presses_every_boundary_into_the_disk() {
    let store = Watched::new(u64::MAX, Duration::ZERO);
    let (status, _) = drive(&store, Durability::Sync, "d", Counting::default());
    assert_eq!(status, Ok(Status::Completed));
    assert_eq!(pressed_with(&store, RecordKind::Checkpoint), [SyncMode::Full; 5]);
    assert!(store.pressed().iter().all(|(_, pressed)| *pressed == SyncMode::Full));
}

#[test]
fn the_timeout_of_an_attempt_begins_when_what_it_needs_is_ready() {
    let text = "tool_type: graph\nconfig:\n  start: a\n  durability: exit\n  nodes:\n    a: { action: { item_id: t/x }, timeout: 1s, \
                assign: { of: \"${result}\" } }\n";
    let long = Duration::from_secs(30);
    let refused = Failure::new(Category::Denied, "it cannot be loaded");
    for (prepares, takes, ends, calls) in [
        (Some((long, Ok(()))), Duration::ZERO, Status::Completed, 1),
        (Some((long, Ok(()))), long, Status::Failed, 1),
        (Some((Duration::ZERO, Err(refused))), Duration::ZERO, Status::Failed, 0),
        (None, long, Status::Failed, 1),
    ] {
        let store = Watched::new(u64::MAX, Duration::ZERO);
        let graph = Arc::new(document::load("graph.yaml", text, "graph").unwrap().graph);
        let executor = Counting { takes, prepares, ..Counting::default() };
        let made = Arc::clone(&executor.calls);
        let mut driver = driver_of(&store, graph, Durability::Exit, executor);
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        let status = runtime.block_on(driver.drive(Event::Started, &mut ()));
        assert_eq!((status, made.load(Ordering::SeqCst)), (Ok(ends), calls));
    }
}

#[test]
fn sync_starts_no_superstep_before_the_one_before_it_is_stored() {
    /// Reads the newest checkpoint in the store whenever a superstep starts.
    struct Look(Arc<Watched>, Vec<(u64, Option<u64>)>);
    impl Observer for Look {
        fn notice(&mut self, _: Timestamp, notice: &Notice) {
            if let Notice::SuperstepStarted { superstep, .. } = notice {
                let newest =
                    self.0.checkpoint("r", "", CheckpointPosition::Latest).unwrap().map(|newest| newest.step);
                self.1.push((*superstep, newest));
            }
        }
    }
    for (durability, stored_first) in [(Durability::Sync, true), (Durability::Async, false)] {
        let store = Watched::new(u64::MAX, Duration::from_millis(20));
        let mut driver = driver(&store, durability, "d", Counting::default());
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let mut look = Look(Arc::clone(&store), Vec::new());
        let status = runtime.block_on(driver.drive(Event::Started, &mut look));
        assert_eq!(status, Ok(Status::Completed));
        let in_order = look.1.iter().all(|(superstep, newest)| *newest == Some(superstep - 1));
        assert_eq!(in_order, stored_first, "{durability:?}: {:?}", look.1);
        // When the run has ended, all of it is stored, under every durability.
        assert_eq!(store.checkpoint("r", "", CheckpointPosition::Latest).unwrap().unwrap().step, 4);
    }
}

#[test]
fn async_presses_what_matters_into_the_disk() {
    let store = Watched::new(u64::MAX, Duration::ZERO);
    let (status, _) = drive(
        &store,
        Durability::Async,
        "d",
        Counting { takes: Duration::from_millis(5), ..Counting::default() },
    );
    assert_eq!(status, Ok(Status::Completed));
    let pressed = pressed_with(&store, RecordKind::Checkpoint);
    assert_eq!(pressed.last(), Some(&SyncMode::Full));
    assert!(pressed.contains(&SyncMode::Normal), "{pressed:?}");
    let store = Watched::new(u64::MAX, Duration::ZERO);
    let (status, _) = drive(&store, Durability::Async, "ask", Counting::default());
    assert_eq!(status, Ok(Status::Interrupted));
    assert_eq!(pressed_with(&store, RecordKind::Status), [SyncMode::Full]);
}

#[test]
fn async_waits_for_a_disk_that_is_slower_than_the_run() {
    /// The greatest number of supersteps that the run was ahead of the store.
    struct Ahead(Arc<Watched>, u64);
    impl Observer for Ahead {
        fn notice(&mut self, _: Timestamp, notice: &Notice) {
            if let Notice::SuperstepStarted { superstep, .. } = notice {
                let stored = self
                    .0
                    .checkpoint("r", "", CheckpointPosition::Latest)
                    .unwrap()
                    .map_or(0, |newest| newest.step);
                self.1 = self.1.max(superstep - stored);
            }
        }
    }
    let store = Watched::new(u64::MAX, Duration::from_millis(20));
    let text = "tool_type: graph\nconfig:\n  start: a\n  max_steps: 900\n  on_max_steps: return_last\n  durability: async\n  \
                nodes:\n    a: { assign: { n: \"${run.step}\" }, next: a }\n";
    let graph = Arc::new(document::load("graph.yaml", text, "graph").unwrap().graph);
    let mut driver = driver_of(&store, graph, Durability::Async, Counting::default());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let mut ahead = Ahead(Arc::clone(&store), 0);
    assert_eq!(runtime.block_on(driver.drive(Event::Started, &mut ahead)), Ok(Status::Completed));
    // A superstep makes two records: its task and its checkpoint.
    assert!((40..140).contains(&ahead.1), "{}", ahead.1);
    assert_eq!(store.checkpoint("r", "", CheckpointPosition::Latest).unwrap().unwrap().step, 900);
}

#[test]
fn exit_writes_once_and_presses_it_into_the_disk() {
    for (last, status_then) in [("d", Status::Completed), ("ask", Status::Interrupted)] {
        let store = Watched::new(u64::MAX, Duration::ZERO);
        let (status, _) = drive(&store, Durability::Exit, last, Counting::default());
        assert_eq!(status, Ok(status_then));
        let pressed = store.pressed();
        assert_eq!(pressed.len(), 1, "{pressed:?}");
        assert_eq!(pressed[0].1, SyncMode::Full);
        assert_eq!(store.checkpoints("r", "", None, 10).unwrap().len(), 1);
    }
}

#[test]
fn a_write_that_fails_fails_the_run() {
    for durability in [Durability::Sync, Durability::Async] {
        let store = Watched::new(2, Duration::ZERO);
        let executor = Counting { takes: Duration::from_millis(20), ..Counting::default() };
        let calls = Arc::clone(&executor.calls);
        let (status, driver) = drive(&store, durability, "d", executor);
        let message = match status {
            Ok(status) => {
                assert_eq!(status, Status::Failed, "{durability:?}");
                let error = driver.summary().error.unwrap();
                assert_eq!(error.code, ErrorCode::Storage, "{durability:?}");
                error.message
            }
            Err(DriveError::Storage(message)) => message,
            other => panic!("{durability:?}: {other:?}"),
        };
        assert!(message.contains("no room left"), "{message}");
        // The failure is noticed before the run ends: no task runs beyond the next boundary.
        assert!(calls.load(Ordering::SeqCst) <= 3, "{durability:?}: {calls:?}");
        // The store has the beginning of the run without a gap.
        let stored = store.checkpoints("r", "", None, 10).unwrap();
        assert!(stored.len() <= 2, "{durability:?}: {}", stored.len());
        assert!(stored.iter().map(|record| record.sequence).eq(0..stored.len() as u64));
    }
}

#[test]
fn an_end_that_cannot_be_stored_is_no_end() {
    for durability in [Durability::Sync, Durability::Async, Durability::Exit] {
        for last in ["d", "ask"] {
            let store = Watched::without_room_for_a_stop();
            let (status, _) = drive(&store, durability, last, Counting::default());
            assert!(
                matches!(status, Err(DriveError::Storage(_)) | Ok(Status::Failed)),
                "{durability:?} {last}: {status:?}"
            );
            assert_eq!(store.run("r").unwrap().unwrap().status, Status::Running);
        }
    }
}

#[test]
fn a_run_that_is_lost_is_left_alone() {
    for durability in [Durability::Sync, Durability::Async, Durability::Exit] {
        for writing in [WriteMode::Thread, WriteMode::Inline, WriteMode::OneByOne] {
            // Under `exit` all of it is one commit.
            let most = if durability == Durability::Exit { 1 } else { 3 };
            for commits in 0..most {
                let store = Watched::taken_over_after(commits);
                let executor = Counting { takes: Duration::from_millis(5), ..Counting::default() };
                let calls = Arc::clone(&executor.calls);
                let guard = store.acquire("r", &sample::owner(1)).unwrap();
                let (graph, how) = (graph(durability, "d"), (durability, writing));
                let mut driver = driver_in(Arc::<Watched>::clone(&store), guard, graph, how, executor);
                let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
                let ended = runtime.block_on(driver.drive(Event::Started, &mut ()));
                let what = format!("{how:?} {commits}");
                let Err(DriveError::Lost(message)) = ended else { panic!("{what}: {ended:?}") };
                assert!(message.contains("run r was taken over"), "{message}");
                assert!(driver.is_lost(), "{what}");
                // The walker was not notified that a record could not be stored, so that it has decided nothing.
                assert_eq!(driver.summary().error, None, "{what}");
                let asked = |store: &Watched| (store.taken.load(Ordering::SeqCst), store.pressed().len());
                assert_eq!(asked(&store), (commits + 1, usize::try_from(commits).unwrap()), "{what}");
                // The running attempts were abandoned, and no new one starts.
                let before = calls.load(Ordering::SeqCst);
                let again = runtime.block_on(driver.drive(Event::CancelRequested, &mut ()));
                assert!(matches!(again, Err(DriveError::Lost(_))), "{what}: {again:?}");
                runtime.block_on(async { tokio::time::sleep(Duration::from_millis(20)).await });
                drop(driver);
                assert_eq!(calls.load(Ordering::SeqCst), before, "{what}");
                assert_eq!(asked(&store), (commits + 1, usize::try_from(commits).unwrap()), "{what}");
            }
        }
    }
}

#[test]
fn whoever_takes_a_run_over_goes_on_with_it_undisturbed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let open = || SqliteStore::open(&file, SqliteOptions::default()).unwrap();
    let store = Arc::new(open());
    store.create_run(&sample::run("r")).unwrap();
    let guard = store.acquire("r", &sample::owner(1)).unwrap();
    let executor = Counting { takes: Duration::from_millis(100), ..Counting::default() };
    let how = (Durability::Sync, WriteMode::Thread);
    let mut driver = driver_in(Arc::<SqliteStore>::clone(&store), guard, graph(how.0, "d"), how, executor);
    let other = open();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (ended, taken) = runtime.block_on(async {
        let take_over = async {
            tokio::time::sleep(Duration::from_millis(150)).await;
            // Another process removes the lock; until then no other process can acquire the run.
            std::fs::remove_file(SqliteStore::lock_file(&file, "r")).unwrap();
            let taken = other.acquire("r", &sample::owner(2)).unwrap();
            let newest = other.checkpoint("r", "", CheckpointPosition::Latest).unwrap().unwrap().sequence;
            sample::write(&other, &taken, &[sample::status("r", newest, "taken over")]);
            taken
        };
        let mut nobody = ();
        tokio::join!(driver.drive(Event::Started, &mut nobody), take_over)
    });
    assert!(matches!(ended, Err(DriveError::Lost(_))), "{ended:?}");
    drop((driver, store));
    // The new holder keeps its name and its lock, and its records are the last ones.
    assert_eq!(other.holder("r").unwrap(), Holder::Known(sample::owner(2)));
    let newest = other.checkpoint("r", "", CheckpointPosition::Latest).unwrap().unwrap().sequence;
    assert_eq!(other.pending("r", "").unwrap(), [sample::status("r", newest, "taken over")]);
    sample::write(&other, &taken, &[sample::checkpoint("r", newest + 1, vec![])]);
    drop(taken);
    assert_eq!(other.holder("r").unwrap(), Holder::Nobody);
}
