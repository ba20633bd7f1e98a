//! That a commit costs what it adds, however long the run is.

use rusqlite::Connection;

use super::super::sql;
use super::Place;
use crate::conformance::sample::{checkpoint, commit, owner, run, segment, task, whole};
use crate::store::{At, CheckpointStore, Upkeep as _, Wanted};

/// How the statements that a long run meets find their rows: by nothing less than this.
const NARROW: [(&str, &str); 8] = [
    ("HEAD", "(run=? AND namespace=?)"),
    ("CHECKPOINT_AT_SEQUENCE", "(run=? AND namespace=? AND sequence=?)"),
    ("CHECKPOINTS_AFTER", "(run=? AND namespace=? AND sequence>?)"),
    ("VALUES_OF_CHECKPOINT", "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
    ("PLACED_VALUES_OF_CHANNEL", "(run=? AND namespace=? AND channel=? AND version>? AND version<?)"),
    ("NEW_VALUES_OF_CHANNEL", "USING INTEGER PRIMARY KEY (rowid>?)"),
    ("PLACE_VALUES", "USING INTEGER PRIMARY KEY (rowid>?)"),
    ("VOID_PENDING", "(run=? AND namespace=?)"),
];

#[test]
fn no_statement_reads_a_table_from_end_to_end() {
    let place = Place::new();
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
        // Listing runs goes from the newest to older ones until it has enough.
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

/// The pages that 50 commits of an append loop write to the log.
fn pages_of_fifty_steps(place: &Place, from: u64) -> i64 {
    let store = place.store();
    {
        let database = store.lock();
        database.connection.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
        database.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    }
    for sequence in from..from + 50 {
        commit(&store, "r", &[step(sequence)]);
    }
    let database = store.lock();
    database.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get(1)).unwrap()
}

fn step(sequence: u64) -> graph_core::record::SignedRecord {
    checkpoint("r", sequence, vec![segment("log", sequence, "[\"one more line\"]")])
}

#[test]
fn step_100_000_of_an_append_loop_writes_what_step_1_writes() {
    let place = Place::new();
    let store = place.store();
    store.create_run(&run("r")).unwrap();
    // A value that nobody touches is not written again.
    let large = format!("\"{}\"", "x".repeat(10_000_000));
    commit(&store, "r", &[checkpoint("r", 0, vec![whole("log", 0, "[]"), whole("large", 0, &large)])]);
    let early = pages_of_fifty_steps(&place, 1);
    for thousand in 0..100_u64 {
        let first = 51 + thousand * 1_000;
        commit(&store, "r", &(first..first + 1_000).map(step).collect::<Vec<_>>());
    }
    let late = pages_of_fifty_steps(&place, 100_051);
    // The trees are a level or two deeper, and a leaf of each fills up now and then.
    assert!(early > 100, "{early} pages");
    assert!(late <= early * 3 / 2, "{early} pages at first, {late} at last");

    let all = Wanted { channel: "log", base: 0, version: 100_100 };
    assert_eq!(store.values("r", "", &[all]).unwrap().len(), 100_101);
    assert_eq!(store.checkpoint("r", "", At::Step(60_000)).unwrap().unwrap().sequence, 60_000);
}

/// How many values have no place yet.
fn unplaced(store: &crate::SqliteStore) -> i64 {
    let database = store.lock();
    let query = "SELECT (SELECT ifnull(max(id), 0) FROM channel_values) - last FROM placed";
    database.connection.query_row(query, [], |row| row.get(0)).unwrap()
}

#[test]
fn a_channel_is_read_through_places_that_come_late() {
    let place = Place::new();
    let (store, other) = (place.store(), place.store());
    for id in ["r", "s"] {
        store.create_run(&run(id)).unwrap();
        commit(&store, id, &[checkpoint(id, 0, vec![whole("log", 0, "[]"), whole("count", 0, "0")])]);
    }
    let mut most = 0;
    for sequence in 1..1_500 {
        // Two processes write, each a run of its own.
        for (store, id) in [(&store, "r"), (&other, "s")] {
            let values = vec![segment("log", sequence, "[1]"), whole("count", sequence, "1")];
            commit(store, id, &[checkpoint(id, sequence, values)]);
        }
        most = most.max(unplaced(&store));
        if sequence % 100 == 0 {
            let log = Wanted { channel: "log", base: 0, version: sequence };
            let count = Wanted { channel: "count", base: sequence, version: sequence };
            let expected = usize::try_from(sequence).unwrap() + 2;
            assert_eq!(store.values("s", "", &[log, count]).unwrap().len(), expected);
            assert_eq!(other.values("r", "", &[log, count]).unwrap().len(), expected);
        }
    }
    // Whoever reads a channel looks through no more than these.
    assert!((1_000..1_100).contains(&most), "{most}");
}

#[test]
fn the_numbers_of_removed_values_are_given_again() {
    let place = Place::new();
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
    // The other process knows the run, and where its values were.
    other.create_run(&run("s")).unwrap();
    for sequence in 0..10 {
        commit(&other, "s", &[checkpoint("s", sequence, vec![whole("log", sequence, "[]")])]);
        let wanted = [Wanted { channel: "log", base: sequence, version: sequence }];
        assert_eq!(store.values("s", "", &wanted).unwrap(), [whole("log", sequence, "[]")]);
    }
    let all = Wanted { channel: "log", base: 0, version: 1_999 };
    assert_eq!(store.values("r", "", &[all]).unwrap().len(), 2_000);
}

#[test]
fn what_a_batch_voids_is_not_written() {
    let place = Place::new();
    let store = place.store();
    store.create_run(&run("r")).unwrap();
    commit(&store, "r", &[checkpoint("r", 0, vec![])]);
    let changes = || store.lock().connection.total_changes();
    let before = changes();
    let tasks = (0..100).map(|number| task("r", 0, &number.to_string(), "x"));
    commit(&store, "r", &tasks.chain([checkpoint("r", 1, vec![])]).collect::<Vec<_>>());
    // The run's row and the checkpoint.
    assert_eq!(changes() - before, 2);
}
