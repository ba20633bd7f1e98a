//! Bounds the number of records that commands read of a long history.

#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use graph_core::capability::{DispatchPatterns, Manifest};
use graph_core::digest::Digest;
use graph_core::limits::RunLimits;
use graph_core::policy::Durability;
use graph_core::record::{CheckpointSelector, SignedCacheEntry, SignedRecord};
use graph_core::time::Timestamp;
use graph_core::trust::SigningKey;
use graph_store::{
    CheckpointPosition, CheckpointStore, CommitError, Cut, ImportError, MemoryStore, NewRun, NumberedRecord,
    ReadError, ReclaimedData, RemoveError, RunGuard, RunUpdate, SnapshotEpoch, StoreInterceptor, SyncMode,
    Upkeep,
};
use graph_walker::graph::Graph;
use graph_walker::walker::{Effect, Event, Graphs, Identity, RunTree, Setup};
use serde_json::json;

use super::{Line, Way, visited};
use crate::error::Result;
use crate::run::restore;
use crate::upkeep::gc;

/// A store in memory that counts the records that are read from it.
#[derive(Debug, Default)]
struct Counting {
    inner: MemoryStore,
    read: AtomicU64,
}

impl Counting {
    /// Counts the records that `read` reads.
    fn of<T>(&self, read: impl FnOnce(&Self) -> T) -> (T, u64) {
        let before = self.read.load(Ordering::Relaxed);
        let done = read(self);
        (done, self.read.load(Ordering::Relaxed) - before)
    }
}

impl StoreInterceptor for Counting {
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
        self.inner.commit(guard, batch, update, synchronous)
    }

    fn has_read(&self, records: &mut dyn Iterator<Item = &SignedRecord>) {
        self.read.fetch_add(records.count() as u64, Ordering::Relaxed);
    }
}

impl Upkeep for Counting {
    fn import_run(
        &self,
        run: &NewRun,
        records: &mut dyn Iterator<Item = Result<NumberedRecord, ImportError>>,
        prunings: &[(String, String)],
    ) -> Result<(), ImportError> {
        self.inner.import_run(run, records, prunings)
    }

    fn remove_run(&self, guard: &RunGuard) -> Result<ReclaimedData, RemoveError> {
        self.inner.remove_run(guard)
    }

    fn prune(&self, guard: &RunGuard, namespace: &str, cut: &Cut<'_>) -> Result<ReclaimedData, RemoveError> {
        self.inner.prune(guard, namespace, cut)
    }

    fn results_size(&self, expired: Option<Timestamp>) -> Result<ReclaimedData, ReadError> {
        self.inner.results_size(expired)
    }

    fn remove_results(&self, expired: Option<Timestamp>) -> Result<ReclaimedData, RemoveError> {
        self.inner.remove_results(expired)
    }

    fn snapshots(&self) -> Result<Vec<Digest>, ReadError> {
        self.inner.snapshots()
    }

    fn mark(&self) -> Result<SnapshotEpoch, ReadError> {
        self.inner.mark()
    }

    fn remove_snapshots(
        &self,
        digests: &[Digest],
        mark: SnapshotEpoch,
    ) -> Result<Option<ReclaimedData>, RemoveError> {
        self.inner.remove_snapshots(digests, mark)
    }
}

fn key() -> SigningKey {
    SigningKey::from_seed(&[7; 32])
}

fn graph(id: &str, config: &str) -> Arc<Graph> {
    let document = format!("{{tool_type: graph, config: {{{config}}}}}");
    Arc::new(graph_walker::document::load("g.yaml", &document, id).unwrap().graph)
}

/// Makes a store with a run of a graph that needs no components, without the records for which `keep` is false.
fn stored(config: &str, child: Option<&str>, mut keep: impl FnMut(&SignedRecord) -> bool) -> Counting {
    let graph_of_run = graph("t/g", config);
    let children = child.map(|child| ("t/child".to_owned(), graph("t/child", child)));
    let manifest = Manifest::of_dispatch(DispatchPatterns::parse(["*"]).unwrap());
    let limits = RunLimits { fuel: u64::MAX, ..manifest.run_limits() };
    let inputs = Arc::new(json!({}));
    let setup = Setup {
        identity: Identity { run: "r".into(), root: "r".into(), parent: None, namespace: String::new() },
        seed: Setup::default_seed(&graph_of_run, &inputs),
        inputs,
        initial_state: serde_json::Map::new(),
        hooks: Arc::default(),
        manifest: Arc::new(manifest.with_run_limits(limits)),
        graphs: Arc::new(children.into_iter().collect::<Graphs>()),
        pins: Digest::of_bytes(b"pins"),
        accepted: Vec::new(),
        durability: Durability::Sync,
        max_steps: Some(100_000),
        max_concurrency: None,
    };
    let store = Counting::default();
    let mut new = graph_store::conformance::sample::run("r");
    new.row.key = key().id();
    store.create_run(&new).unwrap();
    let guard = store.acquire("r", &crate::run::restore::this_process()).unwrap();
    let mut tree = RunTree::new(graph_of_run, setup);
    let mut waiting = vec![Event::Started];
    while let Some(event) = waiting.pop() {
        for effect in tree.handle(Timestamp(1), event).unwrap() {
            match effect {
                Effect::Persist(persist) => {
                    waiting.push(Event::Persisted(persist.id));
                    let mut signed = persist.sign(&key()).unwrap();
                    signed.results = Vec::<SignedCacheEntry>::new();
                    if keep(&signed) {
                        let update = RunUpdate::default();
                        CheckpointStore::commit(&store, &guard, &[signed], &update, SyncMode::Normal)
                            .unwrap();
                    }
                }
                Effect::Continue => waiting.push(Event::Continued),
                _ => {}
            }
        }
    }
    store
}

/// Makes a run of a loop with this number of supersteps and a few untouched channels, after supersteps that raise a warning each.
fn looped(supersteps: usize) -> Counting {
    let mut config = "start: w0, nodes: {".to_owned();
    for node in 0..5 {
        let next = if node == 4 { "again".to_owned() } else { format!("w{}", node + 1) };
        let _ =
            write!(config, "w{node}: {{next: {next}, assign: {{c{node}: \"${{state.missing{node}}}\"}}}}, ");
    }
    let _ = write!(
        config,
        "again: {{assign: {{n: 1}}, next: [{{to: again, when: {{path: state.n, op: lt, value: {supersteps}}}}}, \
         {{to: last}}]}}, last: {{}}}}, channels: {{n: {{reducer: sum}}}}, max_steps: 100000"
    );
    stored(&config, None, |_| true)
}

fn count(store: &Counting) -> u64 {
    store.inner.checkpoint("r", "", CheckpointPosition::Latest).unwrap().unwrap().sequence + 1
}

#[test]
fn a_resume_reads_what_the_newest_checkpoint_builds_on() {
    let read = |supersteps| {
        let store = looped(supersteps);
        let (restored, read) =
            store.of(|store| restore::restore(store, "r", key().verifying_key()).unwrap().unwrap());
        let (tree, checked) = restored;
        assert_eq!(tree.root.warnings.len(), 5);
        assert_eq!(checked.last + 1, count(&store));
        assert_eq!(checked.last - checked.first + 1, checked.checkpoints);
        assert!(read >= checked.checkpoints + 5, "{read} records, {checked:?}");
        read
    };
    let (some, more) = (read(300), read(3_000));
    assert!(some < 200 && more < 200, "{some} records after 300 supersteps, {more} after 3,000");
}

#[test]
fn a_step_and_a_number_are_sought_and_a_node_is_looked_for_from_the_end() {
    let read = |supersteps: usize| {
        let store = looped(supersteps);
        let places = [
            (CheckpointSelector::Newest, count(&store) - 1),
            (CheckpointSelector::Step(supersteps as u64 / 2), supersteps as u64 / 2),
            (CheckpointSelector::Sequence(7), 7),
            (CheckpointSelector::Node("last".to_owned()), count(&store) - 2),
        ];
        places.map(|(place, sequence)| {
            let (restored, read) =
                store.of(|store| restore::restore_at(store, "r", key().verifying_key(), &place).unwrap());
            assert_eq!(restored.checkpoint.sequence, sequence, "{place}");
            read
        })
    };
    let (some, more) = (read(300), read(3_000));
    assert!(some.iter().chain(&more).all(|read| *read < 200), "{some:?} and {more:?}");
    // A node is searched for from the newest checkpoint back.
    let store = looped(300);
    let (_, read) = store.of(|store| {
        let place = CheckpointSelector::Node("w1".to_owned());
        restore::restore_at(store, "r", key().verifying_key(), &place).unwrap()
    });
    assert!(read > 300, "{read}");
}

#[test]
fn what_goes_through_a_history_reads_it_a_fixed_number_of_times() {
    let read = |supersteps: usize| {
        let store = looped(supersteps);
        let key = key().verifying_key();
        let line = Line::new(&store, "r", "", Some(&key), None);
        let ((), back) = store.of(|_| line.each_back(|_, _| Ok(())).unwrap());
        let mut nodes = 0;
        let ((), named) = store.of(|store| {
            let mut one_more = |_: &str| -> Result<()> {
                nodes += 1;
                Ok(())
            };
            visited(store, "r", Some(key))(&mut one_more).unwrap();
        });
        assert_eq!(nodes, count(&store) - 1);
        (back, named, count(&store))
    };
    for supersteps in [300, 3_000] {
        let (back, named, count) = read(supersteps);
        assert_eq!(back, count);
        assert!(named <= 2 * count + 2, "{named} records are read for the nodes of {count} checkpoints");
    }
}

/// A resume reads only the records that the newest checkpoint builds on; commands that read everything find damage elsewhere.
#[test]
fn what_is_read_is_checked_and_nothing_else() {
    let key = key().verifying_key();
    let config = "start: a, nodes: {a: {assign: {n: 1}, next: [{to: a, when: {path: state.n, op: lt, value: 300}}, \
                  {to: []}]}}, channels: {n: {reducer: sum}}, max_steps: 1000";
    let whole = stored(config, None, |_| true);
    let (_, checked) = restore::restore(&whole, "r", key).unwrap().unwrap();
    assert!(checked.first > 10 && checked.checkpoints > 3, "{checked:?}");
    let lacks = |missing: u64| stored(config, None, |record| record.sequence != missing);
    let goes_through =
        |store: &Counting| Line::new(store, "r", "", Some(&key), None).each_back(|_, _| Ok(()));
    goes_through(&whole).unwrap();
    let old = lacks(checked.first - 1);
    assert_eq!(restore::restore(&old, "r", key).unwrap().unwrap().1, checked);
    let error = goes_through(&old).unwrap_err();
    let expected = format!("run r is not intact at checkpoint {}", checked.first);
    assert!(error.message().starts_with(&expected), "{}", error.message());
    for missing in [checked.first, checked.first + 1, checked.last - 1] {
        let error = restore::restore(&lacks(missing), "r", key).unwrap_err();
        assert_eq!(error.kind(), crate::error::Kind::Integrity, "{missing}: {}", error.message());
    }
    // A verification with another host's key fails as well.
    let other = SigningKey::from_seed(&[8; 32]).verifying_key();
    assert!(restore::restore(&whole, "r", other).is_err());
}

#[test]
fn the_way_to_a_checkpoint_leaves_out_what_was_gone_back_from() {
    let spans = |first, last, updates: &[(u64, u64)]| Way::to_checkpoint(first, last, updates).spans;
    assert_eq!(spans(0, 9, &[]), [(0, 9)]);
    assert_eq!(spans(0, 9, &[(5, 2)]), [(0, 2), (5, 9)]);
    assert_eq!(spans(0, 4, &[(5, 2)]), [(0, 4)]);
    // An update that a later one went back from does not count.
    assert_eq!(spans(0, 9, &[(5, 2), (8, 3)]), [(0, 3), (8, 9)]);
    assert_eq!(spans(0, 9, &[(5, 2), (8, 6)]), [(0, 2), (5, 6), (8, 9)]);
    assert_eq!(spans(0, 9, &[(5, 2), (8, 5)]), [(0, 2), (5, 5), (8, 9)]);
    // No way leads through removed checkpoints.
    assert_eq!(spans(4, 9, &[(5, 2), (8, 6)]), [(4, 6), (8, 9)]);
    // Contradictory input terminates.
    assert_eq!(spans(0, 9, &[(5, 5), (8, 9)]), [(0, 9)]);
}

#[test]
fn shortening_a_run_with_many_child_runs_reads_its_history_once() {
    let read = |children: usize| {
        let config = format!(
            "start: a, nodes: {{a: {{action: {{item_id: t/child}}, assign: {{n: 1}}, next: [{{to: a, when: {{path: state.n, \
             op: lt, value: {children}}}}}, {{to: []}}]}}}}, channels: {{n: {{reducer: sum}}}}, max_steps: 100000"
        );
        let child = "start: x, nodes: {x: {assign: {a: 1}, next: y}, y: {assign: {b: 2}, next: z}, z: {}}";
        let store = stored(&config, Some(child), |_| true);
        assert_eq!(store.namespaces("r").unwrap().len(), children + 1);
        let row = store.listed_run("r").unwrap().unwrap();
        let mut report = gc::Report::default();
        let ((), read) = store.of(|store| gc::shorten(store, &row, 1, false, &key(), &mut report).unwrap());
        assert_eq!(report.pruned.len(), 1);
        assert!(report.pruned[0].checkpoints > 3 * children as u64, "{report:?}");
        for namespace in store.namespaces("r").unwrap() {
            let left = store.checkpoints("r", &namespace, None, 10).unwrap();
            assert_eq!(left.len(), 1, "{namespace}");
        }
        read
    };
    let (some, more) = (read(20), read(200));
    assert!(some > 20 * 5, "{some}");
    assert!(more < some * 11, "{some} records with 20 child runs, {more} with 200");
}
