//! Rows, names and snapshots.

use graph_core::limits::ModelUse;
use graph_core::record::Status;
use graph_core::time::Timestamp;

use super::sample::{self, SubjectFactory, digest, full_run, run, snapshot, update};
use crate::error::{CommitError, CreateRunError, ResolveError, SnapshotError};
use crate::run::{Change, NewRun, RunFilter, RunRow, RunUpdate};
use crate::store::SyncMode;

pub fn a_run_is_kept_as_it_was_given(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let store = subject.open();
    let (plain, full) = (run("plain"), full_run("full"));
    store.create_run(&plain).unwrap();
    store.create_run(&full).unwrap();
    assert_eq!(store.run("plain").unwrap(), Some(plain.row.clone()));
    assert_eq!(store.run("full").unwrap(), Some(full.row.clone()));
    assert_eq!(store.run("other").unwrap(), None);
    assert_eq!(subject.open().run("full").unwrap(), Some(full.row));
}

pub fn a_second_run_of_one_id_is_refused(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let store = subject.open();
    store.create_run(&run("r")).unwrap();
    let mut second = full_run("r");
    second.snapshots = vec![snapshot("fresh", "text")];
    assert_eq!(store.create_run(&second), Err(CreateRunError::Exists { run: "r".to_owned() }));
    assert_eq!(store.run("r").unwrap(), Some(run("r").row));
    assert_eq!(store.snapshot(&digest("fresh")).unwrap(), None);
}

fn ids(rows: &[RunRow]) -> Vec<&str> {
    rows.iter().map(|row| row.run_id.as_str()).collect()
}

/// Invalid ids, among them paths, an escape sequence of terminals, and a character that reverses the direction of
/// writing.
const BAD: [&str; 8] = ["", ".", "../../r", "a/b", "a b", "\u{1b}[2J", "\u{202e}a", "é"];

pub fn ids_that_name_no_run_are_refused(fresh: SubjectFactory<'_>) {
    type Field = fn(&mut RunRow) -> &mut Option<String>;
    let subject = fresh();
    let store = subject.open();
    let refused = |new: &NewRun, what: &str| match store.create_run(new) {
        Err(CreateRunError::Name(bad)) => assert_eq!(bad.what, what),
        other => panic!("{what}: {other:?}"),
    };
    let fields: [(&str, Field); 4] = [
        ("parent_id", |row| &mut row.parent_id),
        ("continuation_of", |row| &mut row.continuation_of),
        ("continuation_id", |row| &mut row.continuation_id),
        ("chain_root_id", |row| &mut row.chain_root_id),
    ];
    for bad in BAD {
        refused(&run(bad), "run_id");
        let mut new = run("r");
        bad.clone_into(&mut new.row.root_id);
        refused(&new, "root_id");
        for (what, field) in fields {
            let mut new = run("r");
            *field(&mut new.row) = Some(bad.to_owned());
            refused(&new, what);
        }
    }
    for bad in ["a\u{1b}[2J", "a\nb", "\u{202e}a", &"a".repeat(65_537)] {
        let mut new = run("r");
        bad.clone_into(&mut new.row.graph_id);
        refused(&new, "graph_id");
        let mut new = run("r");
        new.row.graph_path = Some(bad.to_owned());
        refused(&new, "graph_path");
        let mut new = run("r");
        new.row.model = Some(bad.to_owned());
        refused(&new, "model");
    }
    assert_eq!(store.runs(&RunFilter::default()).unwrap(), []);
    store.create_run(&run("r")).unwrap();
    let guard = sample::acquire_run(&*store, "r");
    for bad in ["a\u{1b}[2J", "a\nb", "\u{202e}a"] {
        let records = [
            sample::within(bad, sample::checkpoint("r", 0, vec![])),
            sample::checkpoint("r", 0, vec![sample::whole(bad, 0, "1")]),
        ];
        for record in records {
            let refused = store.commit(&guard, &[record], &RunUpdate::default(), SyncMode::Normal);
            assert!(matches!(refused, Err(CommitError::Unfit { .. })), "{refused:?}");
        }
    }
    let onwards = RunUpdate { continuation_id: Change::Set("../r".to_owned()), ..RunUpdate::default() };
    let refused = store.commit(&guard, &[], &onwards, SyncMode::Normal);
    assert!(matches!(refused, Err(CommitError::Name(_))), "{refused:?}");
}

pub fn runs_are_listed_newest_first(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let store = subject.open();
    assert_eq!(store.runs(&RunFilter::default()).unwrap(), []);
    // The clock is set back, but the order is that of creation.
    for (id, at, status, graph, root) in [
        ("b", 3_000, Status::Running, "one", "b"),
        ("a", 2_000, Status::Failed, "two", "b"),
        ("c", 1_000, Status::Running, "two", "c"),
    ] {
        let mut new = run(id);
        new.row.created_at = Timestamp(at);
        new.row.status = status;
        graph.clone_into(&mut new.row.graph_id);
        root.clone_into(&mut new.row.root_id);
        store.create_run(&new).unwrap();
    }
    let list = |filter: RunFilter| store.runs(&filter).unwrap();
    assert_eq!(ids(&list(RunFilter::default())), ["c", "a", "b"]);
    assert_eq!(ids(&list(RunFilter { limit: Some(2), ..RunFilter::default() })), ["c", "a"]);
    assert_eq!(ids(&list(RunFilter { limit: Some(0), ..RunFilter::default() })), [""; 0]);
    assert_eq!(ids(&list(RunFilter { status: Some(Status::Running), ..RunFilter::default() })), ["c", "b"]);
    assert_eq!(ids(&list(RunFilter { graph_id: Some("two".into()), ..RunFilter::default() })), ["c", "a"]);
    assert_eq!(ids(&list(RunFilter { root_id: Some("b".into()), ..RunFilter::default() })), ["a", "b"]);
    let narrow = RunFilter {
        status: Some(Status::Running),
        graph_id: Some("one".into()),
        root_id: Some("b".into()),
        before: Some("a".into()),
        limit: Some(1),
    };
    assert_eq!(ids(&list(narrow)), ["b"]);
    let before = |run: &str| RunFilter { before: Some(run.to_owned()), ..RunFilter::default() };
    assert_eq!(ids(&list(before("c"))), ["a", "b"]);
    assert_eq!(ids(&list(RunFilter { limit: Some(1), ..before("c") })), ["a"]);
    assert_eq!(ids(&list(before("b"))), [""; 0]);
    assert_eq!(ids(&list(before("nobody"))), [""; 0]);
}

pub fn listed_rows_have_no_texts(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let store = subject.open();
    let full = full_run("full");
    store.create_run(&full).unwrap();
    assert!(full.row.result.is_some() && full.row.error.is_some());
    let listed = RunRow { result: None, error: None, ..full.row.clone() };
    for store in [store, subject.open()] {
        assert_eq!(store.runs(&RunFilter::default()).unwrap(), std::slice::from_ref(&listed));
        assert_eq!(store.listed_run("full").unwrap(), Some(listed.clone()));
        assert_eq!(store.run("full").unwrap(), Some(full.row.clone()));
    }
    assert_eq!(subject.open().listed_run("nobody").unwrap(), None);
    // The result and the error are still known after another field of the row has changed.
    let store = subject.open();
    let guard = sample::acquire_run(&*store, "full");
    store.commit(&guard, &[], &update(9_000), SyncMode::Normal).unwrap();
    let changed = subject.open().run("full").unwrap().unwrap();
    assert_eq!((changed.result, changed.error), (full.row.result, full.row.error));
}

pub fn updates_change_what_they_name(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let store = subject.open();
    store.create_run(&full_run("r")).unwrap();
    store.create_run(&run("bystander")).unwrap();
    let guard = sample::acquire_run(&*store, "r");
    let mut expected = full_run("r").row;
    let mut check = |update: &RunUpdate, change: &dyn Fn(&mut RunRow)| {
        store.commit(&guard, &[], update, SyncMode::Normal).unwrap();
        let before = expected.clone();
        change(&mut expected);
        if expected != before {
            expected.updated_at = update.at;
        }
        assert_eq!(store.run("r").unwrap().as_ref(), Some(&expected));
    };
    check(&update(5), &|row| row.fuel = 5);
    check(&RunUpdate { at: Timestamp(6), ..RunUpdate::default() }, &|_| {});
    check(&RunUpdate::status(Timestamp(6), Status::Interrupted), &|row| row.status = Status::Interrupted);
    let used = ModelUse { calls: 22, input: 23, output: 24, cost: 25 };
    let all = RunUpdate {
        at: Timestamp(7),
        status: Some(Status::Limit),
        step: Some(18),
        fuel: Some(19),
        pid: Change::Set(20),
        result: Change::Set("[1]".into()),
        error: Change::Set("{}".into()),
        continuation_id: Change::Set("next".to_owned()),
        max_steps: Change::Set(21),
        graph: Some(digest("g")),
        inputs: Some(digest("i")),
        manifest: Some(digest("m")),
        pins: Some(digest("p")),
        model_use: Some(used),
        model: Some("careful".to_owned()),
    };
    check(&all, &|row| {
        row.status = Status::Limit;
        (row.step, row.fuel, row.pid, row.max_steps) = (18, 19, Some(20), Some(21));
        (row.result, row.error) = (Some("[1]".into()), Some("{}".into()));
        row.continuation_id = Some("next".to_owned());
        (row.model_use, row.model) = (used, Some("careful".to_owned()));
        (row.graph, row.inputs, row.manifest, row.pins) =
            (digest("g"), digest("i"), digest("m"), digest("p"));
    });
    let clear = RunUpdate {
        at: Timestamp(8),
        pid: Change::Clear,
        result: Change::Clear,
        error: Change::Clear,
        continuation_id: Change::Clear,
        max_steps: Change::Clear,
        ..RunUpdate::default()
    };
    check(&clear, &|row| {
        (row.pid, row.result, row.error, row.continuation_id, row.max_steps) = (None, None, None, None, None);
    });
    assert_eq!(store.run("bystander").unwrap(), Some(run("bystander").row));
}

pub fn numbers_that_do_not_fit_are_refused(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let store = subject.open();
    let mut large = run("large");
    large.row.fuel = u64::MAX;
    let refused = CreateRunError::OutOfRange { run: "large".to_owned(), what: "fuel", number: u64::MAX };
    assert_eq!(store.create_run(&large), Err(refused));
    assert_eq!(store.run("large").unwrap(), None);

    store.create_run(&run("r")).unwrap();
    let guard = sample::acquire_run(&*store, "r");
    let model_use = Some(ModelUse { output: 1 << 63, ..ModelUse::NOTHING });
    let change = RunUpdate { model_use, ..update(9) };
    let refused = CommitError::OutOfRange { run: "r".to_owned(), what: "output_tokens", number: 1 << 63 };
    assert_eq!(store.commit(&guard, &[], &change, SyncMode::Full), Err(refused));
    let change = RunUpdate { step: Some(1 << 63), ..update(9) };
    let refused = CommitError::OutOfRange { run: "r".to_owned(), what: "step", number: 1 << 63 };
    assert_eq!(store.commit(&guard, &[], &change, SyncMode::Full), Err(refused));
    let record = sample::checkpoint("r", u64::MAX, vec![]);
    let refused = CommitError::OutOfRange { run: "r".to_owned(), what: "sequence", number: u64::MAX };
    assert_eq!(store.commit(&guard, &[record], &update(9), SyncMode::Full), Err(refused));
    assert_eq!(store.run("r").unwrap(), Some(run("r").row));
}

pub fn names_are_resolved(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let store = subject.open();
    assert_eq!(store.resolve("@last"), Err(ResolveError::NoRuns));
    let child = |id: &str| {
        let mut child = run(id);
        child.row.parent_id = Some("x".to_owned());
        child
    };
    let create = |new: &NewRun| store.create_run(new).unwrap();
    create(&child("child"));
    assert_eq!(store.resolve("@last"), Err(ResolveError::NoRuns));
    for id in ["abc", "abd", "ab", "Z-_", "e1", "e2"] {
        create(&run(id));
    }
    create(&child("child2"));
    assert_eq!(store.resolve("@last").unwrap(), "e2");
    assert_eq!(store.resolve("abc").unwrap(), "abc");
    assert_eq!(store.resolve("abd").unwrap(), "abd");
    assert_eq!(store.resolve("ab").unwrap(), "ab");
    assert_eq!(store.resolve("Z").unwrap(), "Z-_");
    assert_eq!(store.resolve("e1").unwrap(), "e1");
    let ambiguous = |name: &str, candidates: &[&str], more| {
        let candidates = candidates.iter().map(|&id| id.to_owned()).collect();
        Err(ResolveError::Ambiguous { name: name.to_owned(), candidates, more })
    };
    assert_eq!(store.resolve("a"), ambiguous("a", &["ab", "abc", "abd"], false));
    assert_eq!(store.resolve("e"), ambiguous("e", &["e1", "e2"], false));
    for name in ["b", "%", "_", "abcd", "z"] {
        assert_eq!(store.resolve(name), Err(ResolveError::NotFound { name: name.to_owned() }));
        assert_eq!(
            store.resolve(&format!("{name}/1.0")),
            Err(ResolveError::NotFound { name: format!("{name}/1.0") })
        );
    }
    for name in ["", "@", "@first"] {
        assert_eq!(store.resolve(name), Err(ResolveError::UnknownName { name: name.to_owned() }));
    }
    for number in 0..6 {
        create(&run(&format!("many{number}")));
    }
    assert_eq!(store.resolve("m"), ambiguous("m", &["many0", "many1", "many2", "many3", "many4"], true));
}

pub fn snapshots_are_kept_once(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let store = subject.open();
    let (one, two) = (digest("one"), digest("two"));
    assert_eq!(store.snapshot(&one).unwrap(), None);
    store.put_snapshot(&one, "text \u{0} and\r\nmore").unwrap();
    store.put_snapshot(&two, "").unwrap();
    store.put_snapshot(&one, "text \u{0} and\r\nmore").unwrap();
    assert_eq!(store.put_snapshot(&one, "other"), Err(SnapshotError::Differs { digest: one }));
    assert_eq!(store.snapshot(&one).unwrap().as_deref(), Some("text \u{0} and\r\nmore"));
    assert_eq!(store.snapshot(&two).unwrap().as_deref(), Some(""));
}

pub fn a_run_brings_its_snapshots_or_nothing(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let store = subject.open();
    store.create_run(&full_run("r")).unwrap();
    assert_eq!(store.snapshot(&digest("graph")).unwrap().as_deref(), Some("config: {}\n"));
    let mut same = full_run("same");
    same.snapshots.push(snapshot("graph", "config: {}\n"));
    store.create_run(&same).unwrap();

    let differs = |name| Err(CreateRunError::Snapshot(SnapshotError::Differs { digest: digest(name) }));
    let mut bad = run("bad");
    bad.snapshots = vec![snapshot("new", "text"), snapshot("graph", "changed")];
    assert_eq!(store.create_run(&bad), differs("graph"));
    bad.snapshots = vec![snapshot("new", "text"), snapshot("new", "changed")];
    assert_eq!(store.create_run(&bad), differs("new"));
    assert_eq!(store.run("bad").unwrap(), None);
    assert_eq!(store.snapshot(&digest("new")).unwrap(), None);
}
