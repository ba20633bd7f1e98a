//! Tests that the cost of a commit depends on what it adds, and not on the length of the run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use graph_core::record::RecordKind;
use rusqlite::{Connection, StatementStatus};

use super::super::{SqliteStore, sql};
use super::TestFolder;
use crate::conformance::sample::{
    acquire_run, checkpoint, commit, owner, run, segment, status, task, whole, within, write,
};
use crate::run::RunFilter;
use crate::store::{CheckpointPosition, CheckpointStore, Upkeep as _, WantedChannel};

/// The ways in which the statements for a long run find their rows: none may be less selective than this.
const NARROW: [(&str, &str); 12] = [
    ("HEAD", "(run=? AND namespace=?)"),
    ("OWN_HEAD", "(run=? AND namespace=?)"),
    ("FENCE", "USING INTEGER PRIMARY KEY (rowid=?)"),
    ("CHECKPOINT_AT_SEQUENCE", "(run=? AND namespace=? AND sequence=?)"),
    ("CHECKPOINT_AT_STEP_WITHIN", "(run=? AND namespace=? AND sequence>? AND sequence<?)"),
    ("CHECKPOINTS_UP_TO", "(run=? AND namespace=? AND sequence<?)"),
    ("CHECKPOINTS_AFTER", "(run=? AND namespace=? AND sequence>?)"),
    ("VALUES_OF_CHECKPOINT", "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
    ("PLACED_VALUES_OF_CHANNEL", "(run=? AND namespace=? AND channel=? AND version>? AND version<?)"),
    ("NEW_VALUES_OF_CHANNEL", "USING INTEGER PRIMARY KEY (rowid>?)"),
    ("PLACE_VALUES", "USING INTEGER PRIMARY KEY (rowid>?)"),
    ("VOID_PENDING", "(run=? AND namespace=?)"),
];

#[test]
fn no_statement_reads_a_table_from_end_to_end() {
    let place = TestFolder::new();
    drop(place.store());
    let connection = Connection::open(place.file()).unwrap();
    for (name, statement) in sql::ALL {
        let plan: Vec<String> = connection
            .prepare(&format!("EXPLAIN QUERY PLAN {statement}"))
            .unwrap()
            .query_map(rusqlite::params_from_iter(vec![1; parameters(&connection, statement)]), |row| {
                row.get(3)
            })
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        // Listing runs reads from the newest run to older ones until it has enough.
        let listing = ["RUNS", "LAST_ROOT"].contains(name);
        for line in plan {
            assert!(listing || line.starts_with("SEARCH"), "{name}: {line}");
            assert!(!line.contains("TEMP B-TREE"), "{name}: {line}");
            if let Some((_, search)) = NARROW.iter().find(|(narrow, _)| narrow == name) {
                let by_key = line.ends_with("(run_id=?)") || line.ends_with("(rowid=?)");
                assert!(line.ends_with(search) || by_key, "{name}: {line}");
            }
        }
    }
}

fn parameters(connection: &Connection, statement: &str) -> usize {
    connection.prepare(statement).unwrap().parameter_count()
}

/// Returns the number of pages that 50 commits of an append loop write to the log.
fn pages_of_fifty_steps(place: &TestFolder, from: u64) -> i64 {
    let store = place.store();
    let guard = acquire_run(&store, "r");
    {
        let database = store.lock();
        database.connection.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
        database.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    }
    for sequence in from..from + 50 {
        write(&store, &guard, &[step(sequence)]);
    }
    let database = store.lock();
    database.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get(1)).unwrap()
}

fn step(sequence: u64) -> graph_core::record::SignedRecord {
    checkpoint("r", sequence, vec![segment("log", sequence, "[\"one more line\"]")])
}

#[test]
fn step_100_000_of_an_append_loop_writes_what_step_1_writes() {
    let place = TestFolder::new();
    let store = place.store();
    store.create_run(&run("r")).unwrap();
    // A value that does not change is not written again.
    let large = format!("\"{}\"", "x".repeat(10_000_000));
    commit(&store, "r", &[checkpoint("r", 0, vec![whole("log", 0, "[]"), whole("large", 0, &large)])]);
    let early = pages_of_fifty_steps(&place, 1);
    for thousand in 0..100_u64 {
        let first = 51 + thousand * 1_000;
        commit(&store, "r", &(first..first + 1_000).map(step).collect::<Vec<_>>());
    }
    let late = pages_of_fifty_steps(&place, 100_051);
    // Later the trees are a level or two deeper, and sometimes a leaf of one is full.
    assert!(early > 100, "{early} pages");
    assert!(late <= early * 3 / 2, "{early} pages at first, {late} at last");

    let all = WantedChannel { channel: "log", base: 0, version: 100_100 };
    assert_eq!(store.values("r", "", &[all]).unwrap().len(), 100_101);
    assert_eq!(
        store.checkpoint("r", "", CheckpointPosition::Step(60_000)).unwrap().unwrap().sequence,
        60_000
    );
}

#[test]
fn a_step_is_found_without_the_others_and_no_values_are_read_beside_checkpoints() {
    let cost = |steps: u64| {
        let place = TestFolder::new();
        let store = place.store();
        store.create_run(&run("r")).unwrap();
        commit(&store, "r", &[checkpoint("r", 0, vec![whole("log", 0, "[]")])]);
        commit(&store, "r", &(1..steps).map(step).collect::<Vec<_>>());
        let before = instructions(&store);
        let at = CheckpointPosition::StepWithin { step: steps / 2, first: steps / 2, last: steps / 2 + 3 };
        assert_eq!(store.checkpoint("r", "", at).unwrap().unwrap().sequence, steps / 2);
        let found = instructions(&store);
        assert_eq!(store.checkpoints_before("r", "", Some(steps / 2), 50).unwrap().len(), 50);
        let back = instructions(&store);
        assert_eq!(store.checkpoints_alone("r", "", Some(steps / 2), 50).unwrap().len(), 50);
        let alone = instructions(&store);
        assert_eq!(store.checkpoints("r", "", Some(steps / 2), 50).unwrap().len(), 50);
        let with_values = instructions(&store);
        assert!(alone - back < with_values - alone, "{} and {}", alone - back, with_values - alone);
        (found - before, alone - found)
    };
    let (few, many) = (cost(1_000), cost(10_000));
    assert!(few.0 > 10 && few.1 > 100 * 10, "{few:?}");
    assert_eq!(few, many);
}

/// Returns the number of values that are not in `value_places` yet.
fn unplaced(store: &SqliteStore) -> i64 {
    let database = store.lock();
    let query = "SELECT (SELECT ifnull(max(id), 0) FROM channel_values) - last FROM placed";
    database.connection.query_row(query, [], |row| row.get(0)).unwrap()
}

#[test]
fn a_channel_is_read_through_places_that_come_late() {
    let place = TestFolder::new();
    let (store, other) = (place.store(), place.store());
    for id in ["r", "s"] {
        store.create_run(&run(id)).unwrap();
        commit(&store, id, &[checkpoint(id, 0, vec![whole("log", 0, "[]"), whole("count", 0, "0")])]);
    }
    let mut most = 0;
    for sequence in 1..1_500 {
        // Two processes write, each to a run of its own.
        for (store, id) in [(&store, "r"), (&other, "s")] {
            let values = vec![segment("log", sequence, "[1]"), whole("count", sequence, "1")];
            commit(store, id, &[checkpoint(id, sequence, values)]);
        }
        most = most.max(unplaced(&store));
        if sequence % 100 == 0 {
            let log = WantedChannel { channel: "log", base: 0, version: sequence };
            let count = WantedChannel { channel: "count", base: sequence, version: sequence };
            let expected = usize::try_from(sequence).unwrap() + 2;
            assert_eq!(store.values("s", "", &[log, count]).unwrap().len(), expected);
            assert_eq!(other.values("r", "", &[log, count]).unwrap().len(), expected);
        }
    }
    // A process that reads a channel searches no more values than these.
    assert!((1_000..1_100).contains(&most), "{most}");
}

#[test]
fn the_numbers_of_removed_values_are_given_again() {
    let place = TestFolder::new();
    let (store, other) = (place.store(), place.store());
    for id in ["r", "s"] {
        store.create_run(&run(id)).unwrap();
        let first = checkpoint(id, 0, vec![whole("log", 0, "[]")]);
        let rest = (1..2_000).map(|sequence| checkpoint(id, sequence, vec![segment("log", sequence, "[1]")]));
        commit(&other, id, &std::iter::once(first).chain(rest).collect::<Vec<_>>());
    }
    let guard = store.acquire("s", &owner(1)).unwrap();
    store.remove_run(&guard).unwrap();
    drop(guard);
    // The other process has cached the run, and the positions of its values.
    other.create_run(&run("s")).unwrap();
    for sequence in 0..10 {
        commit(&other, "s", &[checkpoint("s", sequence, vec![whole("log", sequence, "[]")])]);
        let wanted = [WantedChannel { channel: "log", base: sequence, version: sequence }];
        assert_eq!(store.values("s", "", &wanted).unwrap(), [whole("log", sequence, "[]")]);
    }
    let all = WantedChannel { channel: "log", base: 0, version: 1_999 };
    assert_eq!(store.values("r", "", &[all]).unwrap().len(), 2_000);
}

#[test]
fn what_a_batch_voids_is_not_written() {
    let place = TestFolder::new();
    let store = place.store();
    store.create_run(&run("r")).unwrap();
    let guard = acquire_run(&store, "r");
    write(&store, &guard, &[checkpoint("r", 0, vec![])]);
    let changes = || store.lock().connection.total_changes();
    let before = changes();
    let tasks = (0..100).map(|number| task("r", 0, &number.to_string(), "x"));
    write(&store, &guard, &tasks.chain([checkpoint("r", 1, vec![])]).collect::<Vec<_>>());
    // Two rows change: that of the run, and the checkpoint, which is the head itself.
    assert_eq!(changes() - before, 2);
    let before = changes();
    write(&store, &guard, &[checkpoint("r", 2, vec![]), task("r", 2, "t", "x")]);
    // The same two rows change, the task record, and the fence, because the task record is the head.
    assert_eq!(changes() - before, 4);
}

/// Returns the number of instructions of SQLite's virtual machine that the statements of a store have taken since it
/// was opened.
fn instructions(store: &SqliteStore) -> u64 {
    let database = store.lock();
    let taken = |text: &str| {
        let statement = database.connection.prepare_cached(text).unwrap();
        u64::try_from(statement.get_status(StatementStatus::VmStep)).unwrap()
    };
    sql::ALL.iter().map(|(_, text)| taken(text)).sum()
}

/// Writes a run with this number of child runs, each of which ends after three checkpoints and has paused once.
fn with_children(place: &TestFolder, count: u64) -> SqliteStore {
    let store = place.store();
    store.create_run(&run("r")).unwrap();
    commit(&store, "r", &[checkpoint("r", 0, vec![])]);
    for number in 0..count {
        let child = |record| within(&format!("1.{number}"), record);
        let records = [
            child(checkpoint("r", 0, vec![])),
            child(checkpoint("r", 1, vec![])),
            child(status("r", 1, "interrupted")),
            child(checkpoint("r", 2, vec![])),
        ];
        commit(&store, "r", &records);
    }
    commit(&store, "r", &[checkpoint("r", 1, vec![])]);
    store
}

/// Reads a history page by page, from the position of a reader on. Returns the number of records.
fn read_on(store: &SqliteStore, after: &mut u64) -> usize {
    let mut count = 0;
    loop {
        let page = store.history("r", *after, 64).unwrap();
        let Some(last) = page.last() else { return count };
        *after = last.before + last.record.events;
        count += page.len();
    }
}

#[test]
fn a_history_costs_what_its_records_cost_however_many_child_runs_there_are() {
    let cost = |count: u64| {
        let place = TestFolder::new();
        drop(with_children(&place, count));
        let reader = place.reader();
        let before = instructions(&reader);
        assert_eq!(read_on(&reader, &mut 0) as u64, 4 * count + 2);
        instructions(&reader) - before
    };
    let (few, many) = (cost(100), cost(2_000));
    assert!(few > 100 * 20, "{few}");
    assert!(many <= few * 22, "{few} instructions with 100 child runs, {many} with 2,000");
}

#[test]
fn a_pause_is_found_without_the_other_child_runs() {
    let cost = |count: u64| {
        let place = TestFolder::new();
        let store = with_children(&place, count);
        let history = store.history("r", 0, 100_000).unwrap();
        let before = instructions(&store);
        let mut pauses = 0;
        for told in history.iter().filter(|told| told.record.kind == RecordKind::Status) {
            assert_eq!(store.status_at("r", told.before).unwrap().as_ref(), Some(&told.record));
            pauses += 1;
        }
        assert_eq!(pauses, count);
        assert_eq!(store.status_at("r", 0).unwrap(), None, "a checkpoint is no pause");
        instructions(&store) - before
    };
    let (few, many) = (cost(50), cost(1_000));
    assert!(few > 50 * 10, "{few}");
    assert!(many <= few * 22, "{few} instructions with 50 child runs, {many} with 1,000");
}

#[test]
fn two_readers_follow_a_run_at_the_cost_of_what_is_new() {
    let cost = |count: u64| {
        let place = TestFolder::new();
        let store = with_children(&place, count);
        let guard = acquire_run(&store, "r");
        let (mut one, mut other) = (0, 0);
        read_on(&store, &mut one);
        read_on(&store, &mut other);
        let before = instructions(&store);
        for number in 0..count {
            let child = |record| within(&format!("2.{number}"), record);
            write(&store, &guard, &[child(checkpoint("r", 0, vec![])), child(checkpoint("r", 1, vec![]))]);
            write(&store, &guard, &[child(status("r", 1, "interrupted"))]);
            assert_eq!(read_on(&store, &mut one), 3);
            assert_eq!(read_on(&store, &mut other), 3);
        }
        assert_eq!(one, store.history_length("r").unwrap());
        instructions(&store) - before
    };
    let (few, many) = (cost(50), cost(1_000));
    assert!(few > 50 * 100, "{few}");
    assert!(many <= few * 22, "{few} instructions with 50 child runs, {many} with 1,000");
}

#[test]
fn a_reader_sees_what_others_write_and_what_goes() {
    let place = TestFolder::new();
    let (store, other) = (with_children(&place, 3), place.store());
    let all = |store: &SqliteStore| store.history("r", 0, 1_000).unwrap();
    let mut after = 0;
    read_on(&store, &mut after);
    // First another process writes, then this one, then both.
    let turns: [&[&SqliteStore]; 4] = [&[&other], &[&store], &[&store, &other], &[&other, &store]];
    for (number, writers) in turns.into_iter().enumerate() {
        for (place, writer) in writers.iter().enumerate() {
            let child = |record| within(&format!("{}.{place}", number + 7), record);
            commit(*writer, "r", &[child(checkpoint("r", 0, vec![])), child(status("r", 0, "interrupted"))]);
        }
        let expected: Vec<_> = all(&other).into_iter().filter(|told| told.before >= after).collect();
        assert_eq!(expected.len(), 2 * writers.len());
        assert_eq!(store.history("r", after, 1_000).unwrap(), expected);
        read_on(&store, &mut after);
    }
    let guard = store.acquire("r", &owner(1)).unwrap();
    store.remove_run(&guard).unwrap();
    assert_eq!(store.history("r", 0, 10).unwrap(), []);
    drop(guard);
    store.create_run(&run("r")).unwrap();
    commit(&store, "r", &[checkpoint("r", 0, vec![])]);
    assert_eq!(all(&store).len(), 1);
}

#[test]
fn runs_that_go_together_go_in_few_transactions() {
    let commits = |count: u64, size: usize| {
        let place = TestFolder::new();
        let store = place.store();
        let ids: Vec<String> = (0..count).map(|number| format!("r{number}")).collect();
        for id in &ids {
            store.create_run(&run(id)).unwrap();
            commit(
                &store,
                id,
                &[checkpoint(id, 0, vec![whole("a", 0, &format!("\"{}\"", "x".repeat(size)))])],
            );
        }
        let counted = Arc::new(AtomicU64::new(0));
        let statements = Arc::clone(&counted);
        let count_one = move || statements.fetch_add(1, Ordering::Relaxed) == u64::MAX;
        store.lock().connection.commit_hook(Some(count_one)).unwrap();
        let names: Vec<&str> = ids.iter().map(String::as_str).collect();
        let guards: Vec<_> =
            store.acquire_all(&names, &owner(1)).into_iter().collect::<Result<_, _>>().unwrap();
        let freed = store.remove_runs(&guards).unwrap();
        assert!(freed.iter().all(|freed| freed.records == 1 && freed.bytes > size as u64));
        assert_eq!(freed.len() as u64, count);
        drop(guards);
        assert_eq!(store.list(&RunFilter::default()).unwrap().rows, []);
        assert_eq!(unplaced(&store), 0);
        counted.load(Ordering::Relaxed)
    };
    // One transaction records the owner of all runs, and one removes them; releasing removed runs writes nothing.
    assert_eq!(commits(1, 10), commits(100, 10));
    // No transaction frees much more than 64 MiB.
    assert_eq!(commits(10, 15 << 20), commits(100, 10) + 1);
}
