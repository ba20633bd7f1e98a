//! Tests that memory use does not grow with the size of the stored values.

use graph_core::record::ErrorCode;
use graph_core::time::Timestamp;
use rusqlite::Connection;

use super::TestFolder;
use crate::bounds::{LARGEST_SNAPSHOT, LARGEST_TEXT};
use crate::conformance::memory::{SLACK, figures_of, peak_of, reading, report, steps, writing};
use crate::conformance::sample::{checkpoint, commit, digest, owner, run, snapshot, status, task, whole};
use crate::error::ReadError;
use crate::run::{Change, RunFilter};
use crate::store::{CheckpointPosition, CheckpointStore, WantedChannel};

#[test]
#[ignore = "a part of the next one, in a process of its own"]
fn measured() {
    let place = TestFolder::new();
    let written = writing(&place, steps());
    report(&[written, reading(&place, steps())]);
}

#[test]
fn a_long_run_takes_no_more_memory_than_a_short_one() {
    let of = |steps| figures_of("sqlite::tests::memory::measured", steps);
    let (short, long) = (of(500), of(50_000));
    for (short, long) in short.iter().zip(&long) {
        assert!(*long < short + SLACK, "{short} bytes for 500 steps, {long} for 50,000");
    }
}

/// Writes a run with something in every table.
fn fill(place: &TestFolder) {
    let store = place.store();
    let mut new = run("r");
    new.snapshots = vec![snapshot("graph", "config: {}")];
    store.create_run(&new).unwrap();
    let batch = [
        checkpoint("r", 0, vec![whole("a", 0, "1")]),
        status("r", 0, "paused"),
        checkpoint("r", 1, vec![whole("a", 1, "2")]),
        task("r", 1, "t", "x"),
    ];
    commit(&store, "r", &batch);
    let update = crate::run::RunUpdate {
        at: Timestamp(9),
        result: Change::Set("[]".into()),
        error: Change::Set("{}".into()),
        ..crate::run::RunUpdate::default()
    };
    let guard = store.acquire("r", &owner(7)).unwrap();
    store.commit(&guard, &[], &update, crate::store::SyncMode::Normal).unwrap();
    std::mem::forget(guard);
    let connection = Connection::open(place.file()).unwrap();
    connection.execute_batch("INSERT INTO prunings (run, namespace, note) VALUES (1, '', 'said')").unwrap();
}

/// Executes a statement that writes values which the tables do not accept: their constraints are removed for that
/// moment.
fn write_anyway(place: &TestFolder, statement: &str) {
    let connection = Connection::open(place.file()).unwrap();
    connection
        .execute_batch(
            "CREATE TEMP TABLE kept AS SELECT rowid AS number, sql FROM main.sqlite_schema;
             PRAGMA writable_schema = ON;
             UPDATE sqlite_schema SET sql = replace(replace(sql, 'STRICT, ', ''), 'STRICT', '');
             UPDATE sqlite_schema SET sql = replace(sql, ' CHECK (segment IN (0, 1))', '');
             UPDATE sqlite_schema SET sql = replace(sql, ' CHECK (kind IN (''task'', ''answers'', ''hook'', ''status''))', '');
             PRAGMA writable_schema = RESET;",
        )
        .unwrap();
    connection.execute_batch(statement).unwrap();
    connection
        .execute_batch(
            "PRAGMA writable_schema = ON;
             UPDATE sqlite_schema SET sql = (SELECT kept.sql FROM kept WHERE kept.number = sqlite_schema.rowid);",
        )
        .unwrap();
}

/// Reads everything, and returns the first error.
fn read(place: &TestFolder) -> Option<ReadError> {
    let store = place.reader();
    let reads: [&dyn Fn() -> Option<ReadError>; 11] = [
        &|| store.runs(&RunFilter::default()).err(),
        &|| store.listed_run("r").err(),
        &|| store.run("r").err(),
        &|| store.checkpoint("r", "", CheckpointPosition::Latest).err(),
        &|| store.checkpoints("r", "", None, 256).err(),
        &|| store.pending("r", "").err(),
        &|| store.history("r", 0, 256).err(),
        &|| store.values("r", "", &[WantedChannel { channel: "a", base: 1, version: 1 }]).err(),
        &|| store.snapshot(&digest("graph")).err(),
        &|| store.pruning("r", "").err(),
        &|| store.holder("r").err(),
    ];
    reads.into_iter().find_map(|read| read())
}

#[test]
#[ignore = "a part of the next one, in a process of its own"]
fn measured_with_what_is_too_large() {
    // Columns by which rows are found are read from an index.
    let short = [
        (
            "runs",
            "graph_id graph_path parent_id root_id continuation_of continuation_id chain_root_id status pid step \
                  fuel graph inputs manifest pins seed key durability max_steps created_at updated_at turns input_tokens \
                  output_tokens spend model",
        ),
        ("checkpoints", "first_value value_count digest key signature event events"),
        ("channel_values", "segment"),
        ("pending", "sequence step digest key signature events"),
        ("history", "events namespace kind sequence step digest key signature"),
        ("owners", "pid host since"),
    ];
    let long = [
        ("runs", "result error"),
        ("checkpoints", "body"),
        ("channel_values", "json"),
        ("pending", "body"),
        ("history", "body"),
    ];
    let kept = [("snapshots", "text")];
    // A table without row ids is a tree of complete rows.
    let found_by_key = [("prunings", "note")];
    let mut largest = 0;
    let tables = [
        (&short[..], 24 << 20, 16 << 20),
        (&long[..], LARGEST_TEXT + 1, 16 << 20),
        (&kept[..], LARGEST_SNAPSHOT + 1, 16 << 20),
        (&found_by_key[..], LARGEST_SNAPSHOT + 1, 2 * LARGEST_SNAPSHOT + (16 << 20)),
    ];
    for (tables, size, most) in tables {
        for (table, columns) in tables {
            for column in columns.split_whitespace() {
                let place = TestFolder::new();
                fill(&place);
                write_anyway(&place, &format!("UPDATE {table} SET {column} = zeroblob({size})"));
                let peak = peak_of(|| {
                    let error = read(&place).unwrap_or_else(|| panic!("{table}.{column} is read"));
                    let ReadError::Storage(error) = error else { panic!("{table}.{column}: {error}") };
                    assert_eq!(error.code(), ErrorCode::Integrity, "{table}.{column}: {error}");
                });
                largest = largest.max(peak);
                assert!(peak < most, "{table}.{column} takes {peak} bytes");
            }
        }
    }
    report(&[largest]);
}

#[test]
fn what_is_too_large_is_refused_before_it_is_read() {
    figures_of("sqlite::tests::memory::measured_with_what_is_too_large", 0);
}
