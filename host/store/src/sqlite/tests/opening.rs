//! Opening of files of every kind.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use graph_core::limits::ModelUse;
use graph_core::record::ErrorCode;
use rusqlite::Connection;

use super::super::{OpenError, SCHEMA_VERSION, SqliteOptions, SqliteStore};
use super::{TestFolder, read_only, with_suffix};
use crate::conformance::sample::{acquire_run, checkpoint, commit, late, owner, run, segment, update, whole};
use crate::error::{AcquireError, CommitError, StorageError};
use crate::run::{RunFilter, RunUpdate};
use crate::store::{CheckpointPosition, CheckpointStore, SyncMode, WantedChannel};
use crate::versions::{Format, PathContent};

fn refused(file: &Path, options: SqliteOptions) -> OpenError {
    SqliteStore::open(file, options).unwrap_err()
}

#[test]
fn a_newer_schema_is_left_alone() {
    let place = TestFolder::new();
    place.fill(1);
    let connection = Connection::open(place.file()).unwrap();
    connection.pragma_update(None, "user_version", SCHEMA_VERSION + 6).unwrap();
    drop(connection);
    let before = fs::read(place.file()).unwrap();
    for options in [SqliteOptions::default(), read_only()] {
        let error = refused(&place.file(), options);
        assert_eq!(
            error,
            OpenError::Newer { file: place.file(), found: SCHEMA_VERSION + 6, supported: SCHEMA_VERSION }
        );
        assert_eq!(error.code(), ErrorCode::Integrity);
        let message = error.to_string();
        let told = format!(
            "has schema version {}, and this program knows up to version {SCHEMA_VERSION}: it was left unchanged; use a newer graph-host",
            SCHEMA_VERSION + 6
        );
        assert!(message.ends_with(&told), "{message}");
    }
    assert_eq!(fs::read(place.file()).unwrap(), before);
}

#[test]
fn another_programs_database_is_left_alone() {
    let place = TestFolder::new();
    // More entries than a connection reads.
    let many: Vec<_> = (0..200).map(|number| format!("CREATE TABLE notes{number} (text);")).collect();
    let many = many.concat();
    let many_of_77 = format!("PRAGMA application_id = 77; {many}");
    for (statement, application_id) in [
        ("CREATE TABLE notes (text)", 0),
        ("PRAGMA application_id = 77", 77),
        ("PRAGMA user_version = 3", 0),
        (many.as_str(), 0),
        (many_of_77.as_str(), 77),
    ] {
        let file = place.0.path().join(format!("{application_id}-{}.db", statement.len()));
        Connection::open(&file).unwrap().execute_batch(statement).unwrap();
        let before = fs::read(&file).unwrap();
        for options in [SqliteOptions::default(), read_only()] {
            assert_eq!(refused(&file, options), OpenError::Foreign { file: file.clone(), application_id });
        }
        assert_eq!(fs::read(&file).unwrap(), before);
        assert!(!file.with_extension("db-wal").exists());
    }
}

#[test]
fn what_is_no_database_is_left_alone() {
    let place = TestFolder::new();
    let file = place.0.path().join("runs.db");
    fs::write(&file, "id: examples/loop\n".repeat(100)).unwrap();
    for options in [SqliteOptions::default(), read_only()] {
        let error = refused(&file, options);
        assert_eq!(error, OpenError::NotADatabase { file: file.clone() });
        assert_eq!(error.code(), ErrorCode::Integrity);
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "id: examples/loop\n".repeat(100));
}

#[test]
fn folders_are_made_and_what_is_in_the_way_is_named() {
    let place = TestFolder::new();
    let deep = place.0.path().join("a/b c/ü/runs.db");
    SqliteStore::open(&deep, SqliteOptions::default()).unwrap().create_run(&run("r")).unwrap();
    assert!(deep.exists());
    let file = deep.join("below/runs.db");
    let OpenError::Folder { folder, .. } = refused(&file, SqliteOptions::default()) else { panic!("opened") };
    assert_eq!(folder, deep.join("below"));
    let folder = place.0.path().to_owned();
    let OpenError::Storage(StorageError::NotWritable { location, .. }) =
        refused(&folder, SqliteOptions::default())
    else {
        panic!("opened")
    };
    assert_eq!(location, folder.display().to_string());
}

#[test]
fn nothing_is_made_for_reading() {
    let place = TestFolder::new();
    assert_eq!(refused(&place.file(), read_only()), OpenError::Missing { file: place.file() });
    assert!(!place.file().parent().unwrap().exists());
    fs::create_dir(place.file().parent().unwrap()).unwrap();
    fs::write(place.file(), "").unwrap();
    assert_eq!(refused(&place.file(), read_only()), OpenError::Missing { file: place.file() });
    // For writing, an empty file is treated like a missing one.
    place.store().create_run(&run("r")).unwrap();
}

#[test]
fn a_reader_sees_a_run_under_way_and_writes_nothing() {
    let place = TestFolder::new();
    let store = place.store();
    store.create_run(&run("r")).unwrap();
    let reader = place.reader();
    let guard = acquire_run(&store, "r");
    let fence = guard.fence();
    store.commit(&guard, &[checkpoint("r", 0, vec![])], &update(1), SyncMode::Full).unwrap();
    drop(guard);
    fs::remove_dir(place.file().with_extension("")).unwrap();
    assert_eq!(
        reader.checkpoint("r", "", CheckpointPosition::Latest).unwrap(),
        Some(checkpoint("r", 0, vec![]))
    );
    assert_eq!(reader.runs(&RunFilter::default()).unwrap().len(), 1);
    let refused = StorageError::NotWritable {
        location: place.file().display().to_string(),
        reason: "it was opened for reading only".to_owned(),
    };
    let commit = reader.commit(&late("r", fence), &[], &update(1), SyncMode::Full);
    assert_eq!(commit, Err(CommitError::Storage(refused.clone())));
    assert_eq!(reader.acquire("r", &owner(1)).unwrap_err(), AcquireError::Storage(refused));
    assert!(!place.file().with_extension("").exists());
}

#[test]
fn many_may_open_a_new_file_at_once() {
    for _ in 0..5 {
        let place = TestFolder::new();
        thread::scope(|scope| {
            for number in 0..8 {
                let place = &place;
                scope.spawn(move || place.store().create_run(&run(&format!("r{number}"))).unwrap());
            }
        });
        assert_eq!(place.reader().runs(&RunFilter::default()).unwrap().len(), 8);
    }
}

#[test]
fn a_commit_is_pressed_as_hard_as_it_says() {
    let place = TestFolder::new();
    let store = place.store();
    store.create_run(&run("r")).unwrap();
    let guard = acquire_run(&store, "r");
    let pragma = |name: &str| -> String {
        let level = |row: &rusqlite::Row<'_>| {
            row.get_ref(0).map(|value| match value {
                rusqlite::types::ValueRef::Integer(number) => number.to_string(),
                other => other.as_str().unwrap().to_owned(),
            })
        };
        store.lock().connection.query_row(&format!("PRAGMA {name}"), [], level).unwrap()
    };
    assert_eq!((pragma("journal_mode"), pragma("foreign_keys")), ("wal".to_owned(), "1".to_owned()));
    for (synchronous, level) in [(SyncMode::Full, "2"), (SyncMode::Normal, "1"), (SyncMode::Full, "2")] {
        store.commit(&guard, &[], &update(1), synchronous).unwrap();
        assert_eq!(pragma("synchronous"), level);
    }
}

#[test]
fn lock_files_lie_beside_the_file_and_go_away() {
    let place = TestFolder::new();
    let store = place.store();
    let locks = place.file().with_extension("");
    store.create_run(&run("r-1")).unwrap();
    let guard = store.acquire("r-1", &owner(1)).unwrap();
    let files: Vec<_> = fs::read_dir(&locks).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(files, ["r-1.lock"]);
    drop(guard);
    assert_eq!(fs::read_dir(&locks).unwrap().count(), 0);
    // A name that could lead elsewhere is replaced by 64 digits.
    for id in ["../../r", "", ".", &"r".repeat(300)] {
        let path = SqliteStore::lock_file(&place.file(), id);
        assert_eq!(path.parent(), Some(locks.as_path()));
        assert_eq!(path.file_name().unwrap().len(), 69);
    }
}

/// Creates the tables of an older version, and executes statements that write to them.
pub(super) fn older(place: &TestFolder, version: usize, wrote: &str) {
    fs::create_dir_all(place.file().parent().unwrap()).unwrap();
    let connection = Connection::open(place.file()).unwrap();
    for migration in &super::super::schema::MIGRATIONS[..version] {
        connection.execute_batch(migration).unwrap();
    }
    connection.execute_batch(wrote).unwrap();
    connection.pragma_update(None, "application_id", super::super::schema::APPLICATION_ID).unwrap();
    connection.pragma_update(None, "user_version", u32::try_from(version).unwrap()).unwrap();
}

#[test]
fn what_version_3_wrote_is_read_and_goes_on() {
    let place = TestFolder::new();
    older(
        &place,
        3,
        "INSERT INTO runs VALUES (7, 'r', 'g', NULL, NULL, 'r', NULL, NULL, NULL, 'running', NULL, 0, 0, NULL, NULL, \
         zeroblob(32), zeroblob(32), zeroblob(32), zeroblob(32), zeroblob(32), zeroblob(32), 'sync', NULL, 1, 1);
         INSERT INTO checkpoints VALUES \
         (1, 7, '', 0, 0, 1, 2, zeroblob(32), zeroblob(32), zeroblob(64), '{}', 0, 1), \
         (2, 7, '', 1, 1, 3, 1, zeroblob(32), zeroblob(32), zeroblob(64), '{}', 1, 1);
         INSERT INTO channel_values VALUES (1, 7, '', 'log', 0, 0, '[]'), (2, 7, '', 'text', 0, 0, '\"a\"'), \
         (3, 7, '', 'log', 1, 1, '[1]');",
    );
    let store = place.store();
    let wanted = |version| [WantedChannel { channel: "log", base: 0, version }];
    assert_eq!(store.values("r", "", &wanted(1)).unwrap(), [whole("log", 0, "[]"), segment("log", 1, "[1]")]);
    let values =
        |sequence| store.checkpoint("r", "", CheckpointPosition::Sequence(sequence)).unwrap().unwrap().events;
    assert_eq!((values(0), values(1)), (1, 1));
    let page = store.checkpoints("r", "", None, 9).unwrap();
    assert_eq!(page[0].values, [whole("log", 0, "[]"), whole("text", 0, "\"a\"")]);
    let writer = place.store();
    commit(&writer, "r", &[checkpoint("r", 2, vec![segment("log", 2, "[2]")])]);
    assert_eq!(store.values("r", "", &wanted(2)).unwrap().len(), 3);
    assert_eq!(store.history_length("r").unwrap(), 2 + checkpoint("r", 2, vec![]).events);
}

#[test]
fn every_older_version_is_known_read_and_goes_on() {
    const RUN: &str = "INSERT INTO runs VALUES (7, 'r', 'g', NULL, NULL, 'r', NULL, NULL, NULL, 'running', NULL, 0, 0, NULL, NULL, \
        zeroblob(32), zeroblob(32), zeroblob(32), zeroblob(32), zeroblob(32), zeroblob(32), 'sync', NULL, 1, 1);
        INSERT INTO checkpoints (id, run, namespace, sequence, step, first_value, value_count, digest, key, signature, body) \
        VALUES (1, 7, '', 0, 0, 1, 1, zeroblob(32), zeroblob(32), zeroblob(64), '{}');
        INSERT INTO channel_values (id, run, namespace, channel, version, segment, json) VALUES (1, 7, '', 'log', 0, 0, '[]');";
    for version in 1..SCHEMA_VERSION {
        let place = TestFolder::new();
        older(&place, version as usize, RUN);
        let look = || Format::Runs.inspect(&place.file()).unwrap();
        assert_eq!(look(), PathContent::Version(version.into()));
        let store = place.store();
        assert_eq!(look(), PathContent::Version(SCHEMA_VERSION.into()), "{version}");
        assert_eq!(store.runs(&RunFilter::default()).unwrap().len(), 1, "{version}");
        let read = store.checkpoints("r", "", None, 1).unwrap().remove(0);
        assert_eq!((&*read.body, &read.values[..]), ("{}", &[whole("log", 0, "[]")][..]), "{version}");
        let row = store.run("r").unwrap().unwrap();
        assert_eq!((row.model_use, row.model), (ModelUse::NOTHING, None), "{version}");
        let writer = place.store();
        commit(&writer, "r", &[checkpoint("r", 1, vec![segment("log", 1, "[1]")])]);
        let used = ModelUse { calls: 1, input: 20, output: 30, cost: 40 };
        let update = RunUpdate { model_use: Some(used), model: Some("fast".to_owned()), ..update(9) };
        let guard = acquire_run(&writer, "r");
        writer.commit(&guard, &[], &update, SyncMode::Full).unwrap();
        let row = store.run("r").unwrap().unwrap();
        assert_eq!((row.model_use, row.model.as_deref()), (used, Some("fast")), "{version}");
        let wanted = [WantedChannel { channel: "log", base: 0, version: 1 }];
        assert_eq!(store.values("r", "", &wanted).unwrap().len(), 2, "{version}");
    }
}

/// Tests that a process that only reads leaves a database of an older version unchanged.
#[test]
fn a_reader_leaves_an_older_schema_as_it_is() {
    for version in 1..SCHEMA_VERSION {
        let place = TestFolder::new();
        older(&place, version as usize, "");
        let before = fs::read(place.file()).unwrap();
        let OpenError::Older { found, current, .. } = refused(&place.file(), read_only()) else {
            panic!("opened")
        };
        assert_eq!((found, current), (version, SCHEMA_VERSION));
        assert_eq!(fs::read(place.file()).unwrap(), before);
        drop(place.store());
        let store = SqliteStore::open(&place.file(), read_only()).unwrap();
        assert_eq!(store.runs(&RunFilter::default()).unwrap(), []);
        assert_eq!(store.history("r", 0, 1).unwrap(), []);
    }
}

#[test]
fn what_killed_processes_have_left_of_a_database_is_removed() {
    let place = TestFolder::new();
    drop(place.store());
    let at = |suffix: &str| with_suffix(&place.file(), suffix);
    let long_ago = std::time::SystemTime::now() - Duration::from_mins(2);
    for suffix in [".new-7-0", ".new-7-0-journal", ".kept"] {
        fs::File::create(at(suffix)).unwrap().set_modified(long_ago).unwrap();
    }
    fs::write(at(".new-8-0"), "of a process that goes on").unwrap();
    drop(place.store());
    let left = [".new-7-0", ".new-7-0-journal", ".kept", ".new-8-0"].map(|suffix| at(suffix).exists());
    assert_eq!(left, [false, false, true, true]);
}
