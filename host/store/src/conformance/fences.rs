//! Fences: only the process that acquired a run last can write to it, with or without locks.

use graph_core::record::{SignedRecord, Status};

use super::sample::{
    SubjectFactory, acquire_run, answers, checkpoint, commit, digest, everything, hook, late, run, status,
    task, update, whole, with_run, within, write,
};
use super::{Subject, UpkeepSubject};
use crate::error::{CommitError, CreateRunError, ImportError, Loss, RemoveError};
use crate::run::RunUpdate;
use crate::store::{CheckpointStore, Fence, NumberedRecord, RunGuard, SyncMode, Upkeep, WantedChannel};
use crate::upkeep::Cut;

/// Creates a new, empty place.
type FreshUpkeep<'a> = &'a dyn Fn() -> Box<dyn UpkeepSubject>;

const NAMESPACES: [&str; 2] = ["", "1.0"];

fn lost(loss: Loss) -> CommitError {
    CommitError::Lost { run: "r".to_owned(), loss }
}

fn not_removed(loss: Loss) -> RemoveError {
    RemoveError::Lost { run: "r".to_owned(), loss }
}

/// Tries a commit, with a change of the row, that must be refused.
fn refuse(store: &dyn CheckpointStore, guard: &RunGuard, batch: &[SignedRecord]) -> CommitError {
    let before = guard.fence();
    let change = RunUpdate { status: Some(Status::Failed), ..update(9_000) };
    let refused = store.commit(guard, batch, &change, SyncMode::Normal).unwrap_err();
    assert_eq!(guard.fence(), before, "nothing was written under it");
    refused
}

pub fn taking_a_run_up_raises_its_epoch(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let (one, two) = (with_run(&*subject), subject.open());
    one.create_run(&run("s")).unwrap();
    let mut before = 0;
    for round in 0..6_u64 {
        let (taker, reader) = if round % 2 == 0 { (&one, &two) } else { (&two, &one) };
        let guard = acquire_run(&**taker, "r");
        assert!(guard.fence().epoch > before, "{before}");
        before = guard.fence().epoch;
        write(&**taker, &guard, &[checkpoint("r", round, vec![])]);
        assert_eq!(guard.fence().epoch, before, "a commit leaves it");
        // A process that only reads the run does not raise its epoch, and neither does acquiring another run.
        assert!(reader.run("r").unwrap().is_some());
        drop(acquire_run(&**reader, "s"));
        write(&**reader, &guard, &[]);
    }
}

pub fn the_last_record_is_the_head(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let (one, two) = (with_run(&*subject), subject.open());
    let child = |record| within("1.0", record);
    let batches = [
        vec![checkpoint("r", 0, vec![])],
        vec![],
        vec![task("r", 0, "t", "x")],
        vec![task("r", 0, "t", "y")],
        vec![checkpoint("r", 1, vec![])],
        vec![checkpoint("r", 2, vec![]), checkpoint("r", 3, vec![])],
        vec![task("r", 3, "void", "x"), checkpoint("r", 4, vec![])],
        vec![checkpoint("r", 5, vec![]), child(checkpoint("r", 10, vec![]))],
        vec![child(answers("r", 10, "t", "yes"))],
        vec![child(checkpoint("r", 11, vec![])), checkpoint("r", 6, vec![])],
        vec![status("r", 6, "paused")],
        vec![],
        vec![hook("r", 6, "h", "on")],
        vec![checkpoint("r", 7, vec![])],
    ];
    let mut head = None;
    for (number, batch) in batches.iter().enumerate() {
        let (writer, other) = if number % 2 == 0 { (&one, &two) } else { (&two, &one) };
        let guard = acquire_run(&**writer, "r");
        assert_eq!(guard.fence().head, head, "before batch {number}");
        head = batch.last().map(|last| last.digest).or(head);
        write(&**writer, &guard, batch);
        assert_eq!(guard.fence().head, head, "after batch {number}");
        // Another handle sees the same head, and a refused batch does not change it.
        write(&**other, &guard, &[]);
        let refused =
            other.commit(&guard, &[checkpoint("s", 9, vec![])], &update(1), SyncMode::Normal).unwrap_err();
        assert!(matches!(refused, CommitError::Unfit { .. }), "{refused}");
        assert_eq!(guard.fence().head, head, "after a refusal");
        write(&**other, &guard, &[]);
    }
}

/// Tests that a late record is refused after another process has acquired the run. The record comes from the first
/// process, which has not noticed that yet, through its own handle and through others. Its sequence number is valid, so
/// that only the fence can refuse it.
fn refuse_late(subject: &dyn Subject, record: &SignedRecord) {
    let (one, two) = (with_run(subject), subject.open());
    let guard = acquire_run(&*one, "r");
    write(&*one, &guard, &[checkpoint("r", 0, vec![]), within("1.0", checkpoint("r", 0, vec![]))]);
    let former = guard.fence();
    drop(guard);
    // Acquiring the run is enough: the new holder need not have written anything.
    let guard = acquire_run(&*two, "r");
    for handle in [&one, &two, &subject.open()] {
        assert_eq!(refuse(&**handle, &late("r", former), std::slice::from_ref(record)), lost(Loss::TakenUp));
    }
    let news = [
        task("r", 0, "t", "new"),
        answers("r", 0, "t", "new"),
        hook("r", 0, "t", "new"),
        status("r", 0, "new"),
        within("1.0", task("r", 0, "t", "new")),
    ];
    write(&*two, &guard, &news);
    let before = everything(&*two, "r", &NAMESPACES);
    for handle in [&one, &two, &subject.open()] {
        for record in [record.clone(), within("1.0", record.clone())] {
            assert_eq!(refuse(&**handle, &late("r", former), &[record]), lost(Loss::TakenUp));
        }
    }
    assert_eq!(everything(&*one, "r", &NAMESPACES), before);
    write(&*two, &guard, &[checkpoint("r", 1, vec![])]);
    assert_eq!(refuse(&*one, &late("r", former), std::slice::from_ref(record)), lost(Loss::TakenUp));
    assert_eq!(one.checkpoints("r", "", None, 9).unwrap().len(), 2);
}

pub fn a_late_task_record_is_refused(fresh: SubjectFactory<'_>) {
    refuse_late(&*fresh(), &task("r", 0, "t", "late"));
}

pub fn a_late_answer_is_refused(fresh: SubjectFactory<'_>) {
    refuse_late(&*fresh(), &answers("r", 0, "t", "late"));
}

pub fn a_late_hook_record_is_refused(fresh: SubjectFactory<'_>) {
    refuse_late(&*fresh(), &hook("r", 0, "t", "late"));
}

pub fn a_late_status_record_is_refused(fresh: SubjectFactory<'_>) {
    refuse_late(&*fresh(), &status("r", 0, "late"));
}

pub fn a_late_checkpoint_is_refused(fresh: SubjectFactory<'_>) {
    refuse_late(&*fresh(), &checkpoint("r", 1, vec![whole("a", 1, "1")]));
}

pub fn a_late_change_of_the_row_is_refused(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let (one, two) = (with_run(&*subject), subject.open());
    let former = acquire_run(&*one, "r").fence();
    let guard = acquire_run(&*two, "r");
    let before = one.run("r").unwrap();
    assert_eq!(refuse(&*one, &late("r", former), &[]), lost(Loss::TakenUp));
    // A commit that names no record is refused, too.
    let refused = one.commit(&late("r", former), &[], &RunUpdate::default(), SyncMode::Full).unwrap_err();
    assert_eq!(refused, lost(Loss::TakenUp));
    assert_eq!(two.run("r").unwrap(), before);
    write(&*two, &guard, &[checkpoint("r", 0, vec![])]);
}

pub fn a_stale_epoch_is_refused_with_the_right_head(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let (one, two) = (with_run(&*subject), subject.open());
    let former = acquire_run(&*one, "r").fence();
    let guard = acquire_run(&*two, "r");
    for batch in
        [checkpoint("r", 0, vec![]), task("r", 0, "t", "x"), within("1.0", checkpoint("r", 0, vec![]))]
    {
        write(&*two, &guard, std::slice::from_ref(&batch));
        let Fence { epoch, head } = guard.fence();
        for epoch in [former.epoch, epoch - 1, epoch + 1, 0, u64::MAX] {
            let stale = late("r", Fence { epoch, head });
            let next = checkpoint("r", 1, vec![]);
            assert_eq!(refuse(&*one, &stale, std::slice::from_ref(&next)), lost(Loss::TakenUp), "{epoch}");
            assert_eq!(refuse(&*two, &stale, &[next]), lost(Loss::TakenUp), "{epoch}");
        }
    }
    assert_eq!(one.checkpoints("r", "", None, 9).unwrap().len(), 1);
}

pub fn a_wrong_head_is_refused_under_the_right_epoch(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let (one, two) = (with_run(&*subject), subject.open());
    let guard = acquire_run(&*one, "r");
    let child = |record| within("1.0", record);
    let batches = [
        checkpoint("r", 0, vec![]),
        task("r", 0, "t", "x"),
        task("r", 0, "u", "x"),
        checkpoint("r", 1, vec![]),
        child(checkpoint("r", 7, vec![])),
        child(task("r", 7, "t", "child")),
        status("r", 1, "paused"),
        checkpoint("r", 2, vec![]),
    ];
    let mut heads = vec![None, Some(digest("elsewhere"))];
    for record in &batches {
        let epoch = guard.fence().epoch;
        heads.push(guard.fence().head);
        write(&*one, &guard, std::slice::from_ref(record));
        let before = everything(&*one, "r", &NAMESPACES);
        for head in &heads {
            let astray = late("r", Fence { epoch, head: *head });
            // Without the fence, each of these records would be accepted.
            for next in [checkpoint("r", 3, vec![]), child(checkpoint("r", 9, vec![])), record.clone()] {
                assert_eq!(refuse(&*one, &astray, std::slice::from_ref(&next)), lost(Loss::Moved));
                assert_eq!(refuse(&*two, &astray, &[next]), lost(Loss::Moved));
            }
            assert_eq!(refuse(&*two, &astray, &[]), lost(Loss::Moved));
        }
        assert_eq!(everything(&*two, "r", &NAMESPACES), before);
    }
}

pub fn a_guard_of_another_run_writes_nothing(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let store = with_run(&*subject);
    store.create_run(&run("s")).unwrap();
    commit(&*store, "r", &[checkpoint("r", 0, vec![])]);
    let (of_r, of_s) = (acquire_run(&*store, "r"), acquire_run(&*store, "s"));
    let before = everything(&*store, "r", &NAMESPACES);
    let next = [checkpoint("r", 1, vec![])];
    let refused = refuse(&*store, &of_s, &next);
    assert!(matches!(refused, CommitError::Unfit { .. }), "{refused}");
    assert_eq!(refuse(&*store, &late("r", of_s.fence()), &next), lost(Loss::TakenUp));
    assert_eq!(everything(&*store, "r", &NAMESPACES), before);
    assert_eq!(store.run("s").unwrap(), Some(run("s").row));
    // A guard for a run that this store does not have.
    let nobody = late("nobody", of_r.fence());
    let refused = refuse(&*store, &nobody, &[]);
    assert_eq!(refused, CommitError::Lost { run: "nobody".to_owned(), loss: Loss::Removed });
    write(&*store, &of_r, &next);
}

/// Returns a store with the run `r`, which has three checkpoints and a pending task record.
fn filled(subject: &dyn UpkeepSubject) -> Box<dyn Upkeep> {
    let store = subject.open();
    store.create_run(&run("r")).unwrap();
    let value = |sequence| vec![whole("a", sequence, "1")];
    commit(&*store, "r", &[0, 1, 2].map(|sequence| checkpoint("r", sequence, value(sequence))));
    commit(&*store, "r", &[task("r", 2, "t", "x")]);
    store
}

pub fn a_former_holder_removes_nothing(fresh: FreshUpkeep<'_>) {
    let subject = fresh();
    let (one, two) = (filled(&*subject), subject.open());
    one.create_run(&run("s")).unwrap();
    let former = acquire_run(&*one, "r").fence();
    let guard = acquire_run(&*two, "r");
    let before = everything(&*two, "r", &NAMESPACES);
    let channels = [WantedChannel { channel: "a", base: 1, version: 1 }];
    let cut = Cut { first: 1, channels: &channels, note: "late" };
    let astray = Fence { head: Some(digest("elsewhere")), ..guard.fence() };
    for store in [&one, &two] {
        for (fence, loss) in [(former, Loss::TakenUp), (astray, Loss::Moved)] {
            let stale = late("r", fence);
            assert_eq!(store.remove_run(&stale), Err(not_removed(loss)));
            assert_eq!(store.prune(&stale, "", &cut), Err(not_removed(loss)));
            assert_eq!(store.remove_runs(&[stale]), Err(not_removed(loss)));
        }
    }
    assert_eq!(everything(&*one, "r", &NAMESPACES), before);
    assert_eq!(one.pruning("r", "").unwrap(), None);
    // The runs before it in the list were removed, as after any other error.
    let listed = [acquire_run(&*one, "s"), late("r", former)];
    assert_eq!(one.remove_runs(&listed), Err(not_removed(Loss::TakenUp)));
    assert!(two.run("r").unwrap().is_some());
    two.remove_run(&guard).unwrap();
    assert_eq!(one.run("r").unwrap(), None);
}

pub fn a_cut_history_keeps_epoch_and_head(fresh: FreshUpkeep<'_>) {
    let subject = fresh();
    let (one, two) = (filled(&*subject), subject.open());
    let former = acquire_run(&*one, "r").fence();
    let guard = acquire_run(&*one, "r");
    let before = guard.fence();
    assert_eq!(before.head, Some(task("r", 2, "t", "x").digest));
    let channels = [WantedChannel { channel: "a", base: 1, version: 1 }];
    one.prune(&guard, "", &Cut { first: 1, channels: &channels, note: "said" }).unwrap();
    assert_eq!(guard.fence(), before);
    assert_eq!(refuse(&*two, &late("r", former), &[task("r", 2, "t", "late")]), lost(Loss::TakenUp));
    let own = Fence { head: Some(checkpoint("r", 2, vec![]).digest), ..before };
    assert_eq!(refuse(&*two, &late("r", own), &[task("r", 2, "t", "late")]), lost(Loss::Moved));
    drop(guard);
    let guard = acquire_run(&*two, "r");
    assert_eq!(guard.fence().head, before.head);
    assert!(guard.fence().epoch > before.epoch);
    write(&*one, &guard, &[task("r", 2, "t", "y")]);
    one.prune(&guard, "", &Cut { first: 2, channels: &[], note: "again" }).unwrap();
    write(&*two, &guard, &[checkpoint("r", 3, vec![])]);
}

pub fn nothing_late_is_written_to_a_removed_run(fresh: FreshUpkeep<'_>) {
    let subject = fresh();
    let (one, two) = (filled(&*subject), subject.open());
    let former = acquire_run(&*one, "r").fence();
    let guard = acquire_run(&*two, "r");
    two.remove_run(&guard).unwrap();
    for stale in [late("r", former), late("r", guard.fence()), guard] {
        for handle in [&one, &two, &subject.open()] {
            assert_eq!(refuse(&**handle, &stale, &[checkpoint("r", 3, vec![])]), lost(Loss::Removed));
            assert_eq!(refuse(&**handle, &stale, &[]), lost(Loss::Removed));
        }
    }
    assert_eq!(one.run("r").unwrap(), None);
}

/// Tests that a guard of a removed run does not hold a new run with the same id, even if the removed run had no records
/// or the same ones.
fn refuse_guards_of_the_one_before(subject: &dyn UpkeepSubject, make: impl Fn(&dyn Upkeep)) {
    let (one, two) = (subject.open(), subject.open());
    let mut stale = Vec::new();
    for _ in 0..3 {
        make(&*one);
        let first = acquire_run(&*one, "r").fence();
        let guard = acquire_run(&*two, "r");
        stale.extend([first, guard.fence()]);
        two.remove_run(&guard).unwrap();
    }
    make(&*one);
    let next = [within("2.0", checkpoint("r", 0, vec![]))];
    let before = everything(&*one, "r", &NAMESPACES);
    for fence in &stale {
        for handle in [&one, &two] {
            assert_eq!(refuse(&**handle, &late("r", *fence), &next), lost(Loss::Removed));
            assert_eq!(handle.remove_run(&late("r", *fence)), Err(not_removed(Loss::Removed)));
        }
    }
    let guard = acquire_run(&*two, "r");
    for fence in &stale {
        assert!(guard.fence().epoch > fence.epoch, "{guard:?} {fence:?}");
        for handle in [&one, &two] {
            assert_eq!(refuse(&**handle, &late("r", *fence), &next), lost(Loss::TakenUp));
            assert_eq!(handle.remove_run(&late("r", *fence)), Err(not_removed(Loss::TakenUp)));
        }
    }
    assert_eq!(everything(&*one, "r", &NAMESPACES), before);
    write(&*one, &guard, &next);
}

pub fn nothing_late_is_written_to_a_run_that_was_made_anew(fresh: FreshUpkeep<'_>) {
    refuse_guards_of_the_one_before(&*fresh(), |store| store.create_run(&run("r")).unwrap());
}

/// Returns the records of a run from another store, with a task record that is pending under its newest checkpoint.
fn elsewhere(fresh: FreshUpkeep<'_>) -> Vec<NumberedRecord> {
    let subject = fresh();
    let store = filled(&*subject);
    let mut records = store.history("r", 0, 100).unwrap();
    let waiting = store.pending("r", "").unwrap();
    records.extend(waiting.into_iter().map(|record| NumberedRecord { before: 0, record }));
    records
}

fn import(store: &dyn Upkeep, records: &[NumberedRecord]) -> Result<(), ImportError> {
    store.import_run(&run("r"), &mut records.iter().cloned().map(Ok), &[])
}

pub fn nothing_late_is_written_to_an_imported_run(fresh: FreshUpkeep<'_>) {
    let records = elsewhere(fresh);
    refuse_guards_of_the_one_before(&*fresh(), |store| import(store, &records).unwrap());
    let subject = fresh();
    let store = subject.open();
    import(&*store, &records).unwrap();
    // No process has acquired the imported run yet. Its head is its newest own checkpoint.
    let head = Some(checkpoint("r", 2, vec![]).digest);
    let nobody = late("r", Fence { epoch: 0, head });
    assert_eq!(refuse(&*store, &nobody, &[checkpoint("r", 3, vec![])]), lost(Loss::Removed));
    let guard = acquire_run(&*subject.open(), "r");
    assert_eq!(guard.fence().head, head);
    write(&*store, &guard, &[task("r", 2, "t", "y")]);
    write(&*subject.open(), &guard, &[checkpoint("r", 3, vec![])]);
}

pub fn an_import_takes_nothing_from_a_holder(fresh: FreshUpkeep<'_>) {
    let records = elsewhere(fresh);
    let subject = fresh();
    let (one, two) = (filled(&*subject), subject.open());
    let guard = acquire_run(&*one, "r");
    let refused = import(&*two, &records).unwrap_err();
    assert_eq!(refused, ImportError::Create(CreateRunError::Exists { run: "r".to_owned() }));
    write(&*one, &guard, &[checkpoint("r", 3, vec![])]);
    write(&*two, &guard, &[checkpoint("r", 4, vec![])]);
}
