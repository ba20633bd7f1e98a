//! The effects of commits, and the refusals of invalid ones.

use graph_core::record::{RecordKind, SignedRecord, Status};

use super::sample::{
    SubjectFactory, acquire_run, answers, checkpoint, commit, everything, hook, run, segment, status, task,
    update, whole, with_run, within,
};
use crate::error::CommitError;
use crate::run::RunUpdate;
use crate::store::{CheckpointPosition, CheckpointStore, SyncMode};

fn refuse(store: &dyn CheckpointStore, batch: &[SignedRecord]) -> CommitError {
    let change = RunUpdate { status: Some(Status::Failed), ..update(9_000) };
    store.commit(&acquire_run(store, "r"), batch, &change, SyncMode::Normal).unwrap_err()
}

fn pending(store: &dyn CheckpointStore) -> Vec<SignedRecord> {
    store.pending("r", "").unwrap()
}

pub fn checkpoints_are_kept_in_order(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let store = with_run(&*subject);
    let first = checkpoint("r", 0, vec![whole("b", 0, "1"), whole("a", 0, "[]")]);
    let second = checkpoint("r", 1, vec![segment("a", 1, "[2]")]);
    let third = checkpoint("r", 7, vec![]);
    commit(&*store, "r", std::slice::from_ref(&first));
    commit(&*store, "r", &[second.clone(), third.clone()]);
    let ordered = SignedRecord { values: vec![whole("a", 0, "[]"), whole("b", 0, "1")], ..first };
    assert_eq!(store.checkpoints("r", "", None, 10).unwrap(), [ordered, second, third]);
}

pub fn pending_records_are_replaced_and_voided(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let store = with_run(&*subject);
    commit(&*store, "r", &[checkpoint("r", 0, vec![])]);
    commit(&*store, "r", &[task("r", 0, "0.10", "x"), status("r", 0, "running"), task("r", 0, "0.2", "y")]);
    commit(&*store, "r", &[hook("r", 0, "0.2/error/1/1:a", "old"), answers("r", 0, "0.2", "yes")]);
    assert_eq!(
        pending(&*store),
        [
            task("r", 0, "0.10", "x"),
            task("r", 0, "0.2", "y"),
            answers("r", 0, "0.2", "yes"),
            hook("r", 0, "0.2/error/1/1:a", "old"),
            status("r", 0, "running")
        ]
    );
    commit(&*store, "r", &[task("r", 0, "0.2", "z"), status("r", 0, "failed"), answers("r", 0, "0.2", "no")]);
    commit(&*store, "r", &[hook("r", 0, "0.2/error/1/1:a", "new")]);
    assert_eq!(
        pending(&*store),
        [
            task("r", 0, "0.10", "x"),
            task("r", 0, "0.2", "z"),
            answers("r", 0, "0.2", "no"),
            hook("r", 0, "0.2/error/1/1:a", "new"),
            status("r", 0, "failed")
        ]
    );
    commit(&*store, "r", &[checkpoint("r", 1, vec![])]);
    assert_eq!(pending(&*store), []);
    commit(&*store, "r", &[task("r", 1, "1.0", "x")]);
    assert_eq!(pending(&*store), [task("r", 1, "1.0", "x")]);
}

pub fn a_batch_writes_what_is_left_of_it(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let store = with_run(&*subject);
    commit(
        &*store,
        "r",
        &[
            checkpoint("r", 0, vec![]),
            task("r", 0, "0.0", "void"),
            status("r", 0, "void"),
            checkpoint("r", 1, vec![]),
            task("r", 1, "1.0", "replaced"),
            task("r", 1, "1.1", "kept"),
            task("r", 1, "1.0", "newer"),
        ],
    );
    assert_eq!(pending(&*store), [task("r", 1, "1.0", "newer"), task("r", 1, "1.1", "kept")]);
    assert_eq!(store.checkpoints("r", "", None, 10).unwrap().len(), 2);
}

pub fn records_that_do_not_follow_are_refused(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let store = with_run(&*subject);
    commit(&*store, "r", &[checkpoint("r", 0, vec![]), checkpoint("r", 1, vec![])]);
    let other = subject.open();
    let before = everything(&*other, "r", &[""]);
    let superseded = |sequence, newest| CommitError::Superseded {
        run: "r".to_owned(),
        namespace: String::new(),
        sequence,
        newest,
    };
    assert_eq!(refuse(&*other, &[checkpoint("r", 1, vec![])]), superseded(1, 1));
    assert_eq!(refuse(&*other, &[checkpoint("r", 0, vec![])]), superseded(0, 1));
    assert_eq!(refuse(&*other, &[checkpoint("r", 3, vec![]), checkpoint("r", 2, vec![])]), superseded(2, 3));
    let astray = |kind, sequence, newest, namespace: &str| CommitError::NotUnderNewest {
        run: "r".to_owned(),
        namespace: namespace.to_owned(),
        kind,
        sequence,
        newest,
    };
    assert_eq!(refuse(&*other, &[task("r", 0, "t", "x")]), astray("task", 0, Some(1), ""));
    assert_eq!(refuse(&*other, &[answers("r", 2, "t", "x")]), astray("answers", 2, Some(1), ""));
    let behind = [checkpoint("r", 2, vec![]), status("r", 1, "x")];
    assert_eq!(refuse(&*other, &behind), astray("status", 1, Some(2), ""));
    assert_eq!(refuse(&*other, &[within("n", task("r", 0, "t", "x"))]), astray("task", 0, None, "n"));
    assert_eq!(everything(&*store, "r", &["", "n"]), everything(&*other, "r", &["", "n"]));
    assert_eq!(before, everything(&*store, "r", &[""]));
}

pub fn a_failing_batch_leaves_nothing(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let store = with_run(&*subject);
    commit(&*store, "r", &[checkpoint("r", 0, vec![whole("a", 0, "0")]), task("r", 0, "0.0", "kept")]);
    let before = everything(&*store, "r", &["", "child"]);
    let values = vec![whole("a", 1, "1"), whole("b", 1, "1")];
    refuse(
        &*store,
        &[
            task("r", 0, "0.0", "replaced"),
            checkpoint("r", 1, values),
            task("r", 1, "1.0", "new"),
            within("child", checkpoint("r", 0, vec![])),
            checkpoint("r", 1, vec![]),
        ],
    );
    assert_eq!(before, everything(&*store, "r", &["", "child"]));
    // The same records can be written in the right order afterwards.
    commit(&*store, "r", &[checkpoint("r", 1, vec![whole("a", 1, "1")])]);
    let newest = store.checkpoints("r", "", Some(0), 10).unwrap();
    assert_eq!(newest, [checkpoint("r", 1, vec![whole("a", 1, "1")])]);
}

pub fn unfit_records_are_refused(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let store = with_run(&*subject);
    commit(&*store, "r", &[checkpoint("r", 0, vec![])]);
    let before = everything(&*store, "r", &[""]);
    let with_values = SignedRecord { values: vec![whole("a", 0, "1")], ..task("r", 0, "t", "x") };
    let with_task = SignedRecord { task: "t".to_owned(), ..checkpoint("r", 1, vec![]) };
    let unfit = [
        (checkpoint("other", 1, vec![]), "it is of run other"),
        (with_values, "only a checkpoint brings channel values"),
        (with_task, "checkpoint 1 names a task, `t`"),
        (
            checkpoint("r", 1, vec![whole("a", 2, "1")]),
            "the value of channel `a` has version 2, but the checkpoint has number 1",
        ),
        (
            checkpoint("r", 1, vec![whole("a", 1, "1"), whole("b", 1, "1"), segment("a", 1, "[1]")]),
            "checkpoint 1 brings channel `a` twice",
        ),
    ];
    for (record, why) in unfit {
        let kind = record.kind.as_str();
        let expected = CommitError::Unfit { run: "r".to_owned(), kind, reason: why.to_owned() };
        assert_eq!(refuse(&*store, &[record]), expected);
    }
    assert_eq!(before, everything(&*store, "r", &[""]));
}

pub fn an_empty_batch_changes_the_row(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let store = with_run(&*subject);
    let guard = acquire_run(&*store, "r");
    store.commit(&guard, &[], &RunUpdate { step: Some(4), ..update(5) }, SyncMode::Full).unwrap();
    let row = store.run("r").unwrap().unwrap();
    assert_eq!((row.step, row.updated_at.0), (4, 5));
}

pub fn namespaces_are_apart(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let store = with_run(&*subject);
    store.create_run(&run("s")).unwrap();
    let child = |record| within("0.1/child", record);
    commit(
        &*store,
        "r",
        &[
            checkpoint("r", 5, vec![whole("a", 5, "5")]),
            child(checkpoint("r", 0, vec![whole("a", 0, "0")])),
            child(task("r", 0, "t", "x")),
            task("r", 5, "t", "y"),
        ],
    );
    commit(&*store, "s", &[checkpoint("s", 5, vec![whole("a", 5, "other")]), task("s", 5, "t", "z")]);
    commit(&*store, "r", &[checkpoint("r", 6, vec![])]);
    assert_eq!(pending(&*store), []);
    assert_eq!(store.pending("r", "0.1/child").unwrap(), [child(task("r", 0, "t", "x"))]);
    assert_eq!(store.pending("s", "").unwrap(), [task("s", 5, "t", "z")]);
    let found = store.checkpoints("r", "0.1/child", None, 10).unwrap();
    assert_eq!(found, [child(checkpoint("r", 0, vec![whole("a", 0, "0")]))]);
    assert_eq!(store.checkpoints("r", "", None, 10).unwrap().len(), 2);
    let latest = store.checkpoint("s", "", CheckpointPosition::Latest).unwrap().unwrap();
    assert_eq!((latest.kind, latest.sequence), (RecordKind::Checkpoint, 5));
}

pub fn another_handle_sees_what_is_committed(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let (one, two) = (with_run(&*subject), subject.open());
    for sequence in 0..20 {
        let (writer, reader) = if sequence % 2 == 0 { (&one, &two) } else { (&two, &one) };
        commit(&**writer, "r", &[checkpoint("r", sequence, vec![]), task("r", sequence, "t", "x")]);
        let latest = reader.checkpoint("r", "", CheckpointPosition::Latest).unwrap().unwrap();
        assert_eq!(latest, checkpoint("r", sequence, vec![]));
        assert_eq!(reader.pending("r", "").unwrap(), [task("r", sequence, "t", "x")]);
    }
}
