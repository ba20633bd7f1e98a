//! Results that are cached for later tasks.

use graph_core::digest::Digest;
use graph_core::record::{CacheEntry, SignedCacheEntry, SignedRecord};
use graph_core::time::Timestamp;
use graph_core::trust::SigningKey;

use super::sample::{acquire_run, checkpoint, commit, late, run};
use super::{Subject, UpkeepSubject};
use crate::store::{CheckpointStore, Fence};
use crate::upkeep::ReclaimedData;

fn key(name: &str) -> Digest {
    Digest::of_bytes(name.as_bytes())
}

/// Returns the result of a task of run `r` with this time.
fn result(name: &str, task: &str, at: u64) -> SignedCacheEntry {
    let entry = CacheEntry {
        at: Timestamp(at),
        expires: Timestamp(at + 100),
        fuel: 9,
        key: key(name),
        node: "n".to_owned(),
        result: serde_json::json!({ "of": [name, task, at] }).into(),
        run: "r".to_owned(),
        task: task.to_owned(),
    };
    entry.sign(&SigningKey::from_seed(&[7; 32])).unwrap()
}

/// Returns a checkpoint with results.
fn with(sequence: u64, results: Vec<SignedCacheEntry>) -> SignedRecord {
    SignedRecord { results, ..checkpoint("r", sequence, vec![]) }
}

fn all(store: &dyn CheckpointStore, name: &str) -> Vec<SignedCacheEntry> {
    store.results(&key(name), Timestamp(0)..=Timestamp(i64::MAX.unsigned_abs())).unwrap()
}

pub fn results_come_with_their_checkpoint(fresh: &dyn Fn() -> Box<dyn Subject>) {
    let subject = fresh();
    let store = subject.open();
    store.create_run(&run("r")).unwrap();
    assert_eq!(all(&*store, "a"), []);
    let (a, b) = (result("a", "1.0", 10), result("b", "1.1", 10));
    commit(&*store, "r", &[with(0, vec![a.clone(), b.clone()])]);
    let other = subject.open();
    assert_eq!(all(&*other, "a"), std::slice::from_ref(&a));
    assert_eq!(all(&*other, "b"), std::slice::from_ref(&b));
    assert_eq!(all(&*other, "c"), []);
    // The results are not part of the checkpoint that is read back.
    let read = other.checkpoints("r", "", None, 9).unwrap();
    assert_eq!(read, [checkpoint("r", 0, vec![])]);
    let told = other.history("r", 0, 9).unwrap();
    assert!(told.iter().all(|numbered| numbered.record.results.is_empty()));
}

pub fn the_newest_result_of_each_namespace_is_kept(fresh: &dyn Fn() -> Box<dyn Subject>) {
    let subject = fresh();
    let store = subject.open();
    store.create_run(&run("r")).unwrap();
    commit(&*store, "r", &[with(0, vec![result("a", "1.0", 10)])]);
    commit(&*store, "r", &[with(1, vec![result("a", "2.0/1.0", 15), result("a", "2.1/1.0", 15)])]);
    commit(&*store, "r", &[with(2, vec![result("a", "3.0", 20)])]);
    let expected = [result("a", "3.0", 20), result("a", "2.1/1.0", 15), result("a", "2.0/1.0", 15)];
    assert_eq!(all(&*store, "a"), expected, "the newest one first");
    let within = |from, until| store.results(&key("a"), Timestamp(from)..=Timestamp(until)).unwrap().len();
    assert_eq!(
        [within(16, 19), within(15, 15), within(20, 99), within(21, 99), within(0, 14)],
        [0, 2, 1, 0, 0]
    );
}

pub fn a_refused_batch_leaves_no_results(fresh: &dyn Fn() -> Box<dyn Subject>) {
    let subject = fresh();
    let store = subject.open();
    store.create_run(&run("r")).unwrap();
    commit(&*store, "r", &[with(4, vec![])]);
    let refused = [with(3, vec![result("a", "1.0", 10)])];
    let update = crate::run::RunUpdate::default();
    let guard = acquire_run(&*store, "r");
    store.commit(&guard, &refused, &update, crate::store::SyncMode::Full).unwrap_err();
    let elsewhere = [with(5, vec![result("a", "1.0", 10)])];
    let none = late("none", guard.fence());
    store.commit(&none, &elsewhere, &update, crate::store::SyncMode::Full).unwrap_err();
    // A former holder stores no results either.
    let stale = Fence { epoch: guard.fence().epoch - 1, ..guard.fence() };
    store.commit(&late("r", stale), &elsewhere, &update, crate::store::SyncMode::Full).unwrap_err();
    assert_eq!(all(&*store, "a"), []);
}

pub fn expired_results_are_removed(fresh: &dyn Fn() -> Box<dyn UpkeepSubject>) {
    let subject = fresh();
    let store = subject.open();
    assert_eq!(store.remove_results(None).unwrap(), ReclaimedData::default());
    store.create_run(&run("r")).unwrap();
    let (old, new) = (result("a", "1.0", 10), result("b", "2.0", 50));
    commit(&*store, "r", &[with(0, vec![old.clone()])]);
    commit(&*store, "r", &[with(1, vec![new.clone()])]);
    let freed = |entry: &SignedCacheEntry| ReclaimedData { records: 1, bytes: entry.body.len() as u64 };
    assert_eq!(store.results_size(Some(Timestamp(109))).unwrap(), ReclaimedData::default());
    assert_eq!(store.results_size(Some(Timestamp(110))).unwrap(), freed(&old));
    assert_eq!(store.remove_results(Some(Timestamp(110))).unwrap(), freed(&old));
    assert_eq!((all(&*store, "a"), all(&*store, "b")), (vec![], vec![new.clone()]));
    // Removing a run keeps its results, for other runs.
    let guard = store.acquire("r", &super::sample::owner(1)).unwrap();
    store.remove_run(&guard).unwrap();
    assert_eq!(all(&*subject.open(), "b"), std::slice::from_ref(&new));
    assert_eq!(store.results_size(None).unwrap(), freed(&new));
    assert_eq!(store.remove_results(None).unwrap(), freed(&new));
    assert_eq!(all(&*subject.open(), "b"), []);
}
