//! Import of whole runs, and removal of data.

use graph_core::record::RecordKind;

use super::UpkeepSubject;
use super::sample::{
    acquire_run, checkpoint, commit, digest, everything, full_run, owner, run, segment, snapshot, status,
    task, whole, within, write,
};

use crate::error::{AcquireError, CommitError, CreateRunError, ImportError, ReadError, RemoveError};
use crate::store::{CheckpointPosition, CheckpointStore, Holder, NumberedRecord, Upkeep, WantedChannel};
use crate::upkeep::Cut;

/// Creates a new, empty place.
type FreshUpkeep<'a> = &'a dyn Fn() -> Box<dyn UpkeepSubject>;

/// Returns a store with the run `r`.
fn filled_place(subject: &dyn UpkeepSubject) -> Box<dyn Upkeep> {
    let store = subject.open();
    store.create_run(&run("r")).unwrap();
    store
}

/// Returns records in the form in which an import reads them.
fn given(records: &[NumberedRecord]) -> impl Iterator<Item = Result<NumberedRecord, ImportError>> {
    records.iter().cloned().map(Ok)
}

fn wanted(channel: &str, base: u64, version: u64) -> WantedChannel<'_> {
    WantedChannel { channel, base, version }
}

/// Writes four checkpoints: `log` grows, `text` is replaced at 2, `once` is written only at 0.
fn fill(store: &dyn CheckpointStore) {
    commit(
        store,
        "r",
        &[checkpoint("r", 0, vec![whole("log", 0, "[0]"), whole("once", 0, "1"), whole("text", 0, "\"a\"")])],
    );
    commit(store, "r", &[checkpoint("r", 1, vec![segment("log", 1, "[1]")])]);
    commit(store, "r", &[checkpoint("r", 2, vec![segment("log", 2, "[2]"), whole("text", 2, "\"b\"")])]);
    commit(store, "r", &[checkpoint("r", 3, vec![segment("log", 3, "[3]")]), status("r", 3, "done")]);
}

pub fn a_pause_outlives_the_checkpoint_that_it_was_under(fresh: FreshUpkeep<'_>) {
    let subject = fresh();
    let store = filled_place(&*subject);
    commit(&*store, "r", &[checkpoint("r", 0, vec![whole("log", 0, "[]")]), status("r", 0, "asks")]);
    commit(&*store, "r", &[checkpoint("r", 1, vec![segment("log", 1, "[1]")]), status("r", 1, "asks again")]);
    commit(&*store, "r", &[checkpoint("r", 2, vec![segment("log", 2, "[2]")])]);
    let guard = store.acquire("r", &owner(1)).unwrap();
    let channels = [wanted("log", 0, 1)];
    store.prune(&guard, "", &Cut { first: 1, channels: &channels, note: "said" }).unwrap();
    let told = store.history("r", 0, 100).unwrap();
    let kinds: Vec<_> = told.iter().map(|numbered| numbered.record.kind).collect();
    let (checkpoint, status) = (RecordKind::Checkpoint, RecordKind::Status);
    assert_eq!(kinds, [status, checkpoint, status, checkpoint]);
    let elsewhere = fresh();
    let there = elsewhere.open();
    there.import_run(&run("r"), &mut given(&told), &[(String::new(), "said".to_owned())]).unwrap();
    let again = elsewhere.open();
    assert_eq!(again.history("r", 0, 100).unwrap(), told);
    assert_eq!(again.history_length("r").unwrap(), store.history_length("r").unwrap());
    assert_eq!(again.pending("r", "").unwrap(), []);
}

pub fn a_cut_history_keeps_what_the_rest_needs(fresh: FreshUpkeep<'_>) {
    let subject = fresh();
    let store = filled_place(&*subject);
    fill(&*store);
    commit(&*store, "r", &[within("child", checkpoint("r", 0, vec![whole("log", 0, "[]")]))]);
    let before = store.checkpoints("r", "", Some(2), 10).unwrap();
    let child = store.checkpoints("r", "child", None, 10).unwrap();
    let (row, pending) = (store.run("r").unwrap(), store.pending("r", "").unwrap());
    let guard = store.acquire("r", &owner(1)).unwrap();
    let channels = [wanted("log", 0, 2), wanted("once", 0, 0), wanted("text", 2, 2)];
    assert_eq!(store.pruning("r", "").unwrap(), None);
    let freed = store.prune(&guard, "", &Cut { first: 2, channels: &channels, note: "said" }).unwrap();
    assert_eq!(freed.records, 2);
    assert!(freed.bytes > 0);
    let other = subject.open();
    assert_eq!(other.pruning("r", "").unwrap().as_deref(), Some("said"));
    assert_eq!(other.pruning("r", "child").unwrap(), None);
    let left = other.checkpoints("r", "", None, 10).unwrap();
    assert_eq!(left.iter().map(|record| record.sequence).collect::<Vec<_>>(), [2, 3]);
    let brought = [
        whole("log", 0, "[0]"),
        segment("log", 1, "[1]"),
        segment("log", 2, "[2]"),
        whole("once", 0, "1"),
        whole("text", 2, "\"b\""),
    ];
    assert_eq!(left[0].values, brought);
    assert_eq!(left[1..], before);
    // The channels have the same values at the newest checkpoint.
    let values = other.values("r", "", &[wanted("log", 0, 3), wanted("once", 0, 0), wanted("text", 2, 2)]);
    assert_eq!(values.unwrap().len(), 6);
    assert!(matches!(other.values("r", "", &[wanted("text", 0, 0)]), Err(ReadError::MissingValue { .. })));
    assert_eq!(other.checkpoint("r", "", CheckpointPosition::Sequence(1)).unwrap(), None);
    assert_eq!((other.run("r").unwrap(), other.pending("r", "").unwrap()), (row, pending));
    assert_eq!(other.checkpoints("r", "child", None, 10).unwrap(), child);
    // The run can continue from there, and be cut again.
    write(&*store, &guard, &[checkpoint("r", 4, vec![segment("log", 4, "[4]")])]);
    let channels = [wanted("log", 0, 4), wanted("once", 0, 0), wanted("text", 2, 2)];
    store.prune(&guard, "", &Cut { first: 4, channels: &channels, note: "again" }).unwrap();
    assert_eq!(store.checkpoints("r", "", None, 10).unwrap().len(), 1);
    assert_eq!(store.values("r", "", &[wanted("log", 0, 4)]).unwrap().len(), 5);
    assert_eq!(store.pruning("r", "").unwrap().as_deref(), Some("again"));
}

pub fn a_cut_that_cannot_be_made_changes_nothing(fresh: FreshUpkeep<'_>) {
    let subject = fresh();
    let store = filled_place(&*subject);
    fill(&*store);
    let before = format!("{:?}", everything(&*store, "r", &["", "child"]));
    let guard = store.acquire("r", &owner(1)).unwrap();
    let channels = [wanted("log", 0, 2)];
    for (namespace, first) in [("", 7), ("child", 2)] {
        let cut = Cut { first, channels: if namespace.is_empty() { &channels } else { &[] }, note: "n" };
        let refused = store.prune(&guard, namespace, &cut).unwrap_err();
        assert!(matches!(refused, RemoveError::NoCheckpoint { .. }), "{refused}");
    }
    let missing = [wanted("log", 0, 9)];
    let refused = store.prune(&guard, "", &Cut { first: 2, channels: &missing, note: "n" }).unwrap_err();
    assert!(matches!(refused, RemoveError::Read(ReadError::MissingValue { .. })), "{refused}");
    assert_eq!(format!("{:?}", everything(&*store, "r", &["", "child"])), before);
    assert_eq!(store.pruning("r", "").unwrap(), None);
}

pub fn a_removed_run_is_gone(fresh: FreshUpkeep<'_>) {
    let subject = fresh();
    let store = filled_place(&*subject);
    store.create_run(&full_run("s")).unwrap();
    fill(&*store);
    commit(&*store, "s", &[checkpoint("s", 0, vec![whole("log", 0, "[]")])]);
    let bystander = format!("{:?}", everything(&*store, "s", &[""]));
    let guard = store.acquire("r", &owner(1)).unwrap();
    let freed = store.remove_run(&guard).unwrap();
    assert_eq!(freed.records, 5);
    assert!(freed.bytes > 0);
    let other = subject.open();
    assert_eq!(other.run("r").unwrap(), None);
    assert_eq!(other.checkpoints("r", "", None, 10).unwrap(), []);
    assert_eq!(other.pending("r", "").unwrap(), []);
    assert_eq!(other.namespaces("r").unwrap(), [""; 0]);
    assert_eq!(store.remove_run(&guard), Err(RemoveError::NotFound { run: "r".to_owned() }));
    drop(guard);
    assert_eq!(format!("{:?}", everything(&*other, "s", &[""])), bystander);
    // The id can be used again, and no record of the first run reappears.
    other.create_run(&run("r")).unwrap();
    assert_eq!(other.checkpoints("r", "", None, 10).unwrap(), []);
    assert_eq!(other.holder("r").unwrap(), Holder::Nobody);
}

pub fn a_run_is_taken_over_whole_or_not_at_all(fresh: FreshUpkeep<'_>) {
    let subject = fresh();
    let store = filled_place(&*subject);
    fill(&*store);
    commit(
        &*store,
        "r",
        &[
            within("child", checkpoint("r", 0, vec![whole("log", 0, "[]")])),
            within("child", task("r", 0, "child/1.0", "done")),
        ],
    );
    assert_eq!(store.namespaces("r").unwrap(), ["", "child"]);
    let mut records = store.history("r", 0, 100).unwrap();
    for namespace in ["", "child"] {
        let waiting = store.pending("r", namespace).unwrap();
        let waiting = waiting.into_iter().filter(|record| record.kind != RecordKind::Status);
        records.extend(waiting.map(|record| NumberedRecord { before: 0, record }));
    }
    let (told, length) = (store.history("r", 0, 100).unwrap(), store.history_length("r").unwrap());
    let whole_run = format!("{:?}", everything(&*store, "r", &["", "child"]));
    let mut new = run("r");
    new.row = store.run("r").unwrap().unwrap();
    new.snapshots = vec![snapshot("graph", "config: {}\n")];
    let said = [(String::new(), "said".to_owned())];

    let elsewhere = fresh();
    let there = elsewhere.open();
    there.import_run(&new, &mut given(&records), &said).unwrap();
    let again = elsewhere.open();
    assert_eq!(format!("{:?}", everything(&*again, "r", &["", "child"])), whole_run);
    assert_eq!(again.pruning("r", "").unwrap().as_deref(), Some("said"));
    assert_eq!(again.snapshot(&digest("graph")).unwrap().as_deref(), Some("config: {}\n"));
    assert_eq!(again.namespaces("r").unwrap(), ["", "child"]);
    // The entries keep their numbers, and the next ones follow them.
    assert_eq!((again.history("r", 0, 100).unwrap(), again.history_length("r").unwrap()), (told, length));
    let next = checkpoint("r", 4, vec![segment("log", 4, "[4]")]);
    commit(&*again, "r", std::slice::from_ref(&next));
    assert_eq!(again.history("r", length, 9).unwrap(), [NumberedRecord { before: length, record: next }]);
    assert_eq!(again.values("r", "", &[wanted("log", 0, 4)]).unwrap().len(), 5);
    let refused = again.import_run(&new, &mut given(&records), &said).unwrap_err();
    assert_eq!(refused, ImportError::Create(CreateRunError::Exists { run: "r".to_owned() }));

    let third = fresh();
    let third = third.open();
    records.reverse();
    let refused = third.import_run(&new, &mut given(&records), &[]).unwrap_err();
    assert!(
        matches!(
            refused,
            ImportError::Commit(CommitError::Superseded { .. } | CommitError::NotUnderNewest { .. })
        ),
        "{refused}"
    );
    assert_eq!(third.run("r").unwrap(), None);
    assert_eq!(third.snapshot(&digest("graph")).unwrap(), None);
}

/// Tests an import of more records than are written at one time, and one with an error at the end.
pub fn a_long_run_is_taken_over_piece_by_piece(fresh: FreshUpkeep<'_>) {
    let subject = fresh();
    let store = filled_place(&*subject);
    let guard = acquire_run(&*store, "r");
    for sequence in 0..3_000 {
        let log = if sequence == 0 { whole("log", 0, "[]") } else { segment("log", sequence, "[1]") };
        let mut batch = vec![checkpoint("r", sequence, vec![log])];
        if sequence % 500 == 0 {
            batch.extend([task("r", sequence, "t", "x"), status("r", sequence, "paused")]);
        }
        write(&*store, &guard, &batch);
    }
    let mut records = store.history("r", 0, 10_000).unwrap();
    while let Some(last) = records.last() {
        let page = store.history("r", last.before + last.record.events, 10_000).unwrap();
        if page.is_empty() {
            break;
        }
        records.extend(page);
    }
    let elsewhere = fresh();
    let there = elsewhere.open();
    let broken = ImportError::Source { reason: "it ends here".to_owned() };
    let refused = there.import_run(&run("r"), &mut given(&records).chain([Err(broken.clone())]), &[]);
    assert_eq!(refused, Err(broken));
    assert_eq!(there.run("r").unwrap(), None);
    there.import_run(&run("r"), &mut given(&records), &[]).unwrap();
    let again = elsewhere.open();
    assert_eq!(again.history_length("r").unwrap(), store.history_length("r").unwrap());
    assert!(
        again.checkpoints("r", "", Some(2_000), 500).unwrap()
            == store.checkpoints("r", "", Some(2_000), 500).unwrap()
    );
    assert!(again.history("r", 4_000, 50).unwrap() == store.history("r", 4_000, 50).unwrap());
    assert_eq!(again.values("r", "", &[wanted("log", 0, 2_999)]).unwrap().len(), 3_000);
}

pub fn texts_are_removed_unless_somebody_has_changed_something(fresh: FreshUpkeep<'_>) {
    let subject = fresh();
    let (one, two) = (subject.open(), subject.open());
    for name in ["a", "b", "c"] {
        one.put_snapshot(&digest(name), name).unwrap();
    }
    let mut all = one.snapshots().unwrap();
    all.sort_unstable();
    let mut expected = [digest("a"), digest("b"), digest("c")];
    expected.sort_unstable();
    assert_eq!(all, expected);
    let mark = one.mark().unwrap();
    two.create_run(&run("r")).unwrap();
    assert_eq!(one.remove_snapshots(&[digest("a")], mark).unwrap(), None);
    assert_eq!(two.snapshot(&digest("a")).unwrap().as_deref(), Some("a"));
    let mark = one.mark().unwrap();
    let freed = one.remove_snapshots(&[digest("a"), digest("c"), digest("d")], mark).unwrap().unwrap();
    assert_eq!((freed.records, freed.bytes), (2, 2));
    assert_eq!(two.snapshots().unwrap(), [digest("b")]);
}

pub fn runs_go_together_and_each_is_held(fresh: FreshUpkeep<'_>) {
    let subject = fresh();
    let (store, other) = (subject.open(), subject.open());
    for id in ["a", "b", "c"] {
        store.create_run(&run(id)).unwrap();
        commit(&*store, id, &[checkpoint(id, 0, vec![whole("log", 0, "[]")]), task(id, 0, "t", "x")]);
    }
    let held = other.acquire("b", &owner(2)).unwrap();
    let mut taken = store.acquire_all(&["a", "b", "nobody", "c"], &owner(1));
    assert!(matches!(&taken[1], Err(AcquireError::Held { run, .. }) if run == "b"));
    assert!(matches!(&taken[2], Err(AcquireError::NotFound { run }) if run == "nobody"));
    taken.retain(Result::is_ok);
    let guards: Vec<_> = taken.into_iter().map(Result::unwrap).collect();
    assert_eq!(guards.iter().map(crate::store::RunGuard::run).collect::<Vec<_>>(), ["a", "c"]);
    for id in ["a", "c"] {
        assert!(matches!(other.acquire(id, &owner(3)), Err(AcquireError::Held { .. })));
        assert_eq!(other.holder(id).unwrap(), Holder::Known(owner(1)));
    }
    let freed = store.remove_runs(&guards).unwrap();
    assert_eq!(freed.len(), 2);
    assert!(freed.iter().all(|freed| freed.records > 0 && freed.bytes > 0), "{freed:?}");
    drop(guards);
    let left = subject.open();
    assert_eq!((left.run("a").unwrap(), left.run("c").unwrap()), (None, None));
    assert_eq!(left.checkpoints("b", "", None, 10).unwrap().len(), 1);
    assert_eq!(left.holder("b").unwrap(), Holder::Known(owner(2)));
    drop(held);
    assert_eq!(left.holder("b").unwrap(), Holder::Nobody);
    assert_eq!(left.remove_runs(&[]).unwrap(), []);
}
