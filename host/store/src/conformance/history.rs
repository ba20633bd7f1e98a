//! The numbered history of a run.

use graph_core::record::{RecordKind, SignedRecord};

use super::sample::{
    SubjectFactory, acquire_run, checkpoint, commit, status, task, update, whole, with_run, within,
};
use crate::error::CommitError;
use crate::store::{CheckpointStore, SyncMode};

/// Returns the history as numbers, kinds and namespaces.
fn history_of(store: &dyn CheckpointStore, after: u64, limit: usize) -> Vec<(u64, u64, RecordKind, String)> {
    let history = store.history("r", after, limit).unwrap();
    let told = history.into_iter().map(|numbered| {
        let SignedRecord { kind, namespace, events, .. } = numbered.record;
        (numbered.before, events, kind, namespace)
    });
    told.collect()
}

/// Writes a run of several namespaces that is suspended twice. Status records that another one replaces stay in the
/// history.
fn fill(store: &dyn CheckpointStore) {
    let child = |record| within("1.0", record);
    commit(store, "r", &[checkpoint("r", 0, vec![whole("a", 0, "1")])]);
    commit(store, "r", &[child(checkpoint("r", 0, vec![])), child(checkpoint("r", 1, vec![]))]);
    commit(store, "r", &[task("r", 0, "t", "x"), status("r", 0, "interrupted")]);
    commit(
        store,
        "r",
        &[status("r", 0, "running"), checkpoint("r", 1, vec![]), child(status("r", 1, "done"))],
    );
    commit(store, "r", &[checkpoint("r", 2, vec![])]);
}

pub fn entries_are_numbered_without_gaps(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let store = with_run(&*subject);
    assert_eq!(history_of(&*store, 0, 10), []);
    assert_eq!(store.history_length("r").unwrap(), 0);
    fill(&*store);
    let (checkpoint, status) = (RecordKind::Checkpoint, RecordKind::Status);
    let expected = [
        (0, 1, checkpoint, ""),
        (1, 1, checkpoint, "1.0"),
        (2, 2, checkpoint, "1.0"),
        (4, 2, status, ""),
        (6, 2, status, ""),
        (8, 2, checkpoint, ""),
        (10, 2, status, "1.0"),
        (12, 3, checkpoint, ""),
    ]
    .map(|(before, events, kind, namespace)| (before, events, kind, namespace.to_owned()));
    assert_eq!(history_of(&*subject.open(), 0, 10), expected);
    assert_eq!(store.history_length("r").unwrap(), 15);
    let first = &store.history("r", 0, 1).unwrap()[0].record;
    assert_eq!(first.values, [whole("a", 0, "1")]);
    assert_eq!(store.history("nobody", 0, 10).unwrap(), []);
    assert!(store.history_length("nobody").is_err());
}

pub fn a_reader_goes_on_where_it_stopped(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let store = with_run(&*subject);
    fill(&*store);
    let whole = store.history("r", 0, 100).unwrap();
    for after in 0..=16 {
        let rest: Vec<_> = whole
            .iter()
            .filter(|numbered| numbered.before + numbered.record.events > after)
            .cloned()
            .collect();
        assert_eq!(store.history("r", after, 100).unwrap(), rest, "after {after}");
        for limit in 1..4 {
            let page: Vec<_> = rest.iter().take(limit).cloned().collect();
            assert_eq!(store.history("r", after, limit).unwrap(), page, "after {after}, {limit}");
        }
    }
}

pub fn only_history_has_entries(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let store = with_run(&*subject);
    commit(&*store, "r", &[checkpoint("r", 0, vec![])]);
    let odd = SignedRecord { events: 1, ..task("r", 0, "t", "x") };
    let refused = store.commit(&acquire_run(&*store, "r"), &[odd], &update(1), SyncMode::Normal).unwrap_err();
    assert!(matches!(refused, CommitError::Unfit { .. }), "{refused}");
    assert_eq!(store.history_length("r").unwrap(), 1);
}
