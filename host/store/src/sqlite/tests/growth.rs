//! That a commit costs what it adds, however long the run is.

use rusqlite::Connection;

use super::super::sql;
use super::Place;
use crate::conformance::sample::{checkpoint, commit, run, segment, task, whole};
use crate::store::{At, CheckpointStore, Wanted};

/// How the statements that a long run meets find their rows: by nothing less than this.
const NARROW: [(&str, &str); 6] = [
    ("HEAD", "(run=? AND namespace=?)"),
    ("CHECKPOINT_AT_SEQUENCE", "(run=? AND namespace=? AND sequence=?)"),
    ("CHECKPOINTS_AFTER", "(run=? AND namespace=? AND sequence>?)"),
    ("VALUES_OF_CHECKPOINT", "USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
    ("VALUES_OF_CHANNEL", "(run=? AND namespace=? AND channel=? AND version>? AND version<?)"),
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
                assert!(line.ends_with(search) || line.ends_with("(run_id=?)"), "{name}: {line}");
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
