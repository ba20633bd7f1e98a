//! Files with this program's application id that another program has made.

use std::fs::{self, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use graph_core::record::{ErrorCode, Status};
use graph_core::time::Timestamp;
use rusqlite::Connection;
use rusqlite::limits::Limit;

use super::super::schema::{APPLICATION_ID, MIGRATIONS};
use super::super::{OpenError, PlaceError, SCHEMA_VERSION, SqliteOptions, SqliteStore};
use super::{TestFolder, read_only, with_suffix};
use crate::conformance::sample::{acquire_run, checkpoint, commit, run, status, task, whole};
use crate::error::{AcquireError, CommitError, ReadError, ResolveError, StorageError};
use crate::held::FilePlace;
use crate::run::{RunFilter, RunUpdate};
use crate::store::{CheckpointPosition, CheckpointStore, Owner, SyncMode, WantedChannel};
use crate::{Format, KnowledgeStore, PathContent};

fn alter(file: &Path, statements: &str) {
    let connection = Connection::open(file).unwrap();
    connection.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA writable_schema = ON").unwrap();
    connection.execute_batch(statements).unwrap();
}

/// Opens a file with each kind of access, and checks that it is refused and remains unchanged.
fn refused(file: &Path) -> Vec<OpenError> {
    let before = fs::read(file).unwrap();
    let begun = Instant::now();
    let refused = [SqliteOptions::default(), read_only()].map(|options| {
        let error = SqliteStore::open(file, options).expect_err("it is opened");
        assert_eq!(error.code(), ErrorCode::Integrity, "{error}");
        error
    });
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(fs::read(file).unwrap() == before, "it was written");
    refused.into()
}

#[test]
fn a_schema_that_is_not_ours_is_refused() {
    let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x, 'a' FROM n";
    let view = format!("DROP TABLE snapshots; CREATE VIEW snapshots (digest, text) AS {endless}");
    let set = |name: &str, from: &str, to: &str| {
        format!("UPDATE sqlite_schema SET sql = replace(sql, '{from}', '{to}') WHERE name = '{name}'")
    };
    let altered = [
        ("CREATE VIEW seen AS SELECT * FROM runs", "the view `seen`, which"),
        (
            "CREATE TRIGGER empties AFTER INSERT ON pending BEGIN DELETE FROM history; END",
            "the trigger `empties`",
        ),
        ("CREATE TRIGGER empties INSTEAD OF INSERT ON seen BEGIN SELECT 1; END", ""),
        ("CREATE INDEX odd ON runs (hex(zeroblob(step)))", "the index `odd`"),
        ("CREATE INDEX part ON runs (step) WHERE step > 0", "the index `part`"),
        ("CREATE TABLE more (x)", "the table `more`"),
        ("CREATE VIRTUAL TABLE words USING fts5 (text)", "`words"),
        ("ALTER TABLE runs ADD COLUMN twice INTEGER AS (step * 2)", "the table `runs` is not"),
        ("ALTER TABLE runs ADD COLUMN more TEXT", "the table `runs` is not"),
        ("ALTER TABLE owners RENAME COLUMN since TO until", "the table `owners` is not"),
        ("ANALYZE", "the table `sqlite_stat1`"),
        ("CREATE TABLE counted (id INTEGER PRIMARY KEY AUTOINCREMENT)", "`"),
        ("DROP INDEX runs_by_root", "the index `runs_by_root` is missing"),
        ("DROP TABLE owners", "the table `owners` is missing"),
        (
            "DROP TABLE placed; CREATE TABLE placed (one INTEGER PRIMARY KEY CHECK (hex(zeroblob(400000000)) > 0), \
             last INTEGER NOT NULL) STRICT",
            "the table `placed` is not",
        ),
        (&view, "the view `snapshots` is not"),
        (&set("history", "STRICT", ""), "the table `history` is not"),
        (&set("prunings", ", WITHOUT ROWID", ""), ""),
        (&set("runs", "fuel INTEGER", "fuel TEXT"), "the table `runs` is not"),
        (
            &set("runs", "status TEXT NOT NULL", "status TEXT NOT NULL DEFAULT (random())"),
            "the table `runs` is not",
        ),
        (&set("runs_by_root", "(root_id)", "(root_id DESC)"), "the index `runs_by_root` is not"),
        (
            &set("channel_values", "json TEXT", "json TEXT COLLATE NOCASE"),
            "the table `channel_values` is not",
        ),
        ("UPDATE sqlite_schema SET sql = CAST(sql AS BLOB) WHERE name = 'owners'", ""),
        ("UPDATE sqlite_schema SET type = 'view' WHERE name = 'owners'", ""),
        ("INSERT INTO sqlite_schema VALUES (NULL, NULL, NULL, NULL, NULL)", ""),
        ("INSERT INTO sqlite_schema SELECT * FROM sqlite_schema WHERE name = 'runs_by_root'", ""),
        (
            "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'owners') \
             WHERE name = 'placed'",
            "has the pages of another",
        ),
        ("CREATE TABLE \"a\u{1b}[2J\u{202e}\" (x)", "`a\\u{1b}[2J\\u{202e}`"),
    ];
    for (statement, told) in altered {
        let place = TestFolder::new();
        place.fill(1);
        if statement.contains("ON seen") {
            alter(&place.file(), "CREATE VIEW seen AS SELECT 1 AS x");
        }
        alter(&place.file(), statement);
        for error in refused(&place.file()) {
            assert!(error.to_string().contains(told), "{statement}: {error}");
            assert!(!error.to_string().contains('\u{1b}'), "{error}");
        }
    }
}

#[test]
fn more_entries_than_we_make_are_refused() {
    let place = TestFolder::new();
    place.fill(1);
    let tables = (0..2_000).map(|number| format!("CREATE TABLE t{number} (x);")).collect::<Vec<_>>().concat();
    alter(&place.file(), &tables);
    refused(&place.file());
}

#[test]
fn texts_in_another_encoding_are_refused() {
    let place = TestFolder::new();
    fs::create_dir_all(place.file().parent().unwrap()).unwrap();
    let connection = Connection::open(place.file()).unwrap();
    connection.pragma_update(None, "encoding", "UTF-16le").unwrap();
    for migration in MIGRATIONS {
        connection.execute_batch(migration).unwrap();
    }
    connection.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
    connection.pragma_update(None, "user_version", SCHEMA_VERSION).unwrap();
    drop(connection);
    for error in refused(&place.file()) {
        assert!(error.to_string().contains("its texts are in UTF-16le"), "{error}");
    }
}

#[test]
fn an_older_file_that_is_not_ours_is_not_brought_up_to_date() {
    for version in 1..MIGRATIONS.len() {
        let place = TestFolder::new();
        super::opening::older(&place, version, "");
        let trigger = "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM checkpoints; END";
        alter(&place.file(), trigger);
        for error in refused(&place.file()) {
            assert!(error.to_string().contains("the trigger `t`"), "{error}");
        }
        // A file that states another version than that of its tables is refused.
        alter(&place.file(), &format!("DROP TRIGGER t; PRAGMA user_version = {}", version + 1));
        refused(&place.file());
        alter(&place.file(), &format!("PRAGMA user_version = {version}"));
        place.store().create_run(&run("r")).unwrap();
    }
    let place = TestFolder::new();
    super::opening::older(&place, 1, "PRAGMA user_version = 0");
    alter(&place.file(), "PRAGMA user_version = 0");
    refused(&place.file());
}

#[test]
fn an_older_file_whose_pages_do_not_fit_is_not_brought_up_to_date() {
    let place = TestFolder::new();
    super::opening::older(&place, 3, "");
    let root = root_of(&place.file(), "channel_values_by_channel");
    // The free list refers to a page of a table, which would be used for other data.
    let mut file = OpenOptions::new().write(true).open(place.file()).unwrap();
    file.seek(SeekFrom::Start(32)).unwrap();
    file.write_all(&root.to_be_bytes()).unwrap();
    file.write_all(&1_u32.to_be_bytes()).unwrap();
    drop(file);
    // A process that only reads checks no more than the version.
    let why = ["its pages do not fit", "has to be brought up to version"];
    for (error, why) in refused(&place.file()).iter().zip(why) {
        assert!(error.to_string().contains(why), "{error}");
    }
}

fn root_of(file: &Path, name: &str) -> u32 {
    let connection = Connection::open(file).unwrap();
    let root = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
    connection.query_row(root, [name], |row| row.get(0)).unwrap()
}

const PAGE: usize = 4_096;

/// Inserts pages before a table, each of which refers to the next one hundreds of times: the rows of the table repeat.
fn repeat(file: &Path, table: &str, levels: u32) {
    let root = root_of(file, table);
    let mut handle = OpenOptions::new().read(true).write(true).open(file).unwrap();
    let mut bytes = Vec::new();
    handle.read_to_end(&mut bytes).unwrap();
    let at = |page: u32| (page as usize - 1) * PAGE;
    let leaf = bytes[at(root)..at(root) + PAGE].to_vec();
    assert_eq!(leaf[0], 0x0d, "it is one page");
    let mut next = u32::try_from(bytes.len() / PAGE).unwrap() + 1;
    bytes.extend(&leaf);
    for level in 0..levels {
        let mut page = vec![0; PAGE];
        let cells = 300_u16;
        page[0] = 0x05;
        page[3..5].copy_from_slice(&cells.to_be_bytes());
        let mut content = PAGE;
        for cell in 0..cells {
            content -= 6;
            page[content..content + 4].copy_from_slice(&next.to_be_bytes());
            page[content + 4] = 0x80 | u8::try_from((cell + 1) >> 7).unwrap();
            page[content + 5] = u8::try_from((cell + 1) & 0x7f).unwrap();
            let pointer = 12 + 2 * usize::from(cell);
            page[pointer..pointer + 2].copy_from_slice(&u16::try_from(content).unwrap().to_be_bytes());
        }
        page[5..7].copy_from_slice(&u16::try_from(content).unwrap().to_be_bytes());
        page[8..12].copy_from_slice(&next.to_be_bytes());
        if level + 1 == levels {
            bytes[at(root)..at(root) + PAGE].copy_from_slice(&page);
        } else {
            next = u32::try_from(bytes.len() / PAGE).unwrap() + 1;
            bytes.extend(&page);
        }
    }
    let pages = u32::try_from(bytes.len() / PAGE).unwrap();
    bytes[28..32].copy_from_slice(&pages.to_be_bytes());
    fs::write(file, bytes).unwrap();
}

#[test]
fn rows_without_end_come_to_an_end() {
    let place = TestFolder::new();
    place.fill(1);
    repeat(&place.file(), "runs", 6);
    for store in [place.reader(), place.store()] {
        let begun = Instant::now();
        let filter = RunFilter { status: Some(Status::Killed), ..RunFilter::default() };
        let ended = store.runs(&filter);
        assert_eq!(
            ended,
            Err(ReadError::Storage(StorageError::Endless { location: place.file().display().to_string() }))
        );
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        // The next call may do as much work again.
        assert!(store.runs(&RunFilter { limit: Some(1), ..RunFilter::default() }).is_ok());
    }
}

fn options() -> [SqliteOptions; 2] {
    [SqliteOptions::default(), read_only()]
}

fn misplaced(file: &Path) -> Vec<PlaceError> {
    let open = |options| match SqliteStore::open(file, options) {
        Err(OpenError::Place(error)) => error,
        other => panic!("{other:?}"),
    };
    options().into_iter().map(open).collect()
}

#[test]
fn a_schema_of_many_tables_is_told_from_a_damaged_file() {
    let place = TestFolder::new();
    place.fill(1);
    alter(
        &place.file(),
        &(0..200).map(|number| format!("CREATE TABLE more{number} (x);")).collect::<Vec<_>>().concat(),
    );
    for error in refused(&place.file()) {
        let OpenError::Altered { what, .. } = error else { panic!("{error}") };
        assert_eq!(what, "it has more tables and indexes than graph-host makes");
    }
}

#[test]
fn a_journal_is_not_applied() {
    let place = TestFolder::new();
    place.fill(1);
    let before = fs::read(place.file()).unwrap();
    let journal = with_suffix(&place.file(), "-journal");
    let expected = PlaceError::Journal { file: place.file(), journal: journal.clone() };
    for text in [&b"x"[..], &[], &[0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]] {
        fs::write(&journal, text).unwrap();
        for error in misplaced(&place.file()) {
            assert_eq!(error, expected);
            assert_eq!(error.code(), ErrorCode::Integrity);
        }
        assert_eq!(fs::read(&journal).unwrap(), text);
        assert!(fs::read(place.file()).unwrap() == before);
    }
    fs::remove_file(place.file()).unwrap();
    for error in misplaced(&place.file()) {
        assert_eq!(error, expected);
    }
    // A journal cannot change a file of length 0.
    fs::write(place.file(), "").unwrap();
    assert!(matches!(SqliteStore::open(&place.file(), read_only()), Err(OpenError::Missing { .. })));
    place.store().create_run(&run("r")).unwrap();
    assert!(!journal.exists());
}

#[test]
fn where_there_is_no_log_a_journal_may_be_and_names_no_other() {
    let place = TestFolder::new();
    place.fill(1);
    Connection::open(place.file())
        .unwrap()
        .query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))
        .unwrap();
    let journal = with_suffix(&place.file(), "-journal");
    let other = place.0.path().join("other");
    fs::write(&other, "text").unwrap();
    let mut text = vec![0; 512];
    text.extend(other.to_str().unwrap().as_bytes());
    text.extend([0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]);
    fs::write(&journal, &text).unwrap();
    for error in misplaced(&place.file()) {
        assert!(matches!(error, PlaceError::Journal { .. }), "{error}");
    }
    assert_eq!(fs::read_to_string(&other).unwrap(), "text");
    fs::write(&journal, vec![0; 512]).unwrap();
    assert!(place.reader().run("r").unwrap().is_some());
    assert!(place.store().run("r").unwrap().is_some());
}

#[test]
fn a_log_without_its_database_is_left_alone() {
    let place = TestFolder::new();
    place.fill(1);
    fs::remove_file(place.file()).unwrap();
    let log = with_suffix(&place.file(), "-wal");
    fs::write(&log, "x").unwrap();
    for error in misplaced(&place.file()) {
        assert_eq!(error, PlaceError::Alone { file: place.file(), log: log.clone() });
    }
    assert_eq!(fs::read(&log).unwrap(), b"x");
}

#[test]
#[cfg(unix)]
fn links_and_pipes_are_not_followed() {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let place = TestFolder::new();
        place.fill(1);
        let path = with_suffix(&place.file(), suffix);
        let elsewhere = place.0.path().join("elsewhere");
        if suffix.is_empty() {
            fs::rename(&path, &elsewhere).unwrap();
        } else {
            fs::write(&elsewhere, "text").unwrap();
        }
        let before = fs::read(&elsewhere).unwrap();
        let not_regular = |file: &Path| {
            for error in misplaced(file) {
                assert_eq!(error, PlaceError::NotRegular { file: path.clone() });
                assert_eq!(error.code(), ErrorCode::Storage);
            }
        };
        for target in [elsewhere.clone(), PathBuf::from("/dev/zero"), place.0.path().join("nothing")] {
            std::os::unix::fs::symlink(&target, &path).unwrap();
            not_regular(&place.file());
            fs::remove_file(&path).unwrap();
            assert!(!place.0.path().join("nothing").exists());
        }
        assert!(fs::read(&elsewhere).unwrap() == before);
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        not_regular(&place.file());
    }
}

#[test]
#[cfg(unix)]
fn a_file_with_a_name_elsewhere_is_not_written() {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let place = TestFolder::new();
        place.fill(1);
        let path = with_suffix(&place.file(), suffix);
        let elsewhere = place.0.path().join("elsewhere");
        if suffix.is_empty() {
            fs::hard_link(&path, &elsewhere).unwrap();
        } else {
            fs::write(&elsewhere, "text").unwrap();
            fs::hard_link(&elsewhere, &path).unwrap();
        }
        let before = fs::read(&elsewhere).unwrap();
        for error in misplaced(&place.file()) {
            assert_eq!(error, PlaceError::HardLink { file: path.clone() });
            assert_eq!(error.code(), ErrorCode::Integrity);
        }
        assert!(fs::read(&elsewhere).unwrap() == before);
    }
}

/// Tests that a database can be opened under both names: a process that was killed while it created the database leaves
/// both.
#[test]
#[cfg(unix)]
fn a_database_may_keep_the_name_under_which_it_was_made() {
    let place = TestFolder::new();
    place.fill(1);
    let half = with_suffix(&place.file(), ".new-1-0");
    for options in options() {
        fs::hard_link(place.file(), &half).unwrap();
        assert!(SqliteStore::open(&place.file(), options).unwrap().run("r").unwrap().is_some());
        fs::remove_file(&half).unwrap();
    }
}

#[test]
#[cfg(unix)]
fn folders_of_the_user_may_be_links() {
    let place = TestFolder::new();
    place.fill(1);
    let link = place.0.path().join("link");
    std::os::unix::fs::symlink(place.file().parent().unwrap(), &link).unwrap();
    for options in options() {
        let store = SqliteStore::open(&link.join("runs.db"), options).unwrap();
        assert!(store.run("r").unwrap().is_some());
    }
}

#[test]
#[cfg(unix)]
fn a_file_of_holes_is_refused() {
    let place = TestFolder::new();
    place.fill(1);
    OpenOptions::new().write(true).open(place.file()).unwrap().set_len(1 << 40).unwrap();
    for error in misplaced(&place.file()) {
        assert_eq!(error, PlaceError::Sparse { file: place.file(), length: 1 << 40 });
    }
}

#[test]
fn a_database_appears_whole() {
    let place = TestFolder::new();
    drop(place.store());
    let names: Vec<_> = fs::read_dir(place.file().parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names, ["runs.db"]);
    // It has a write-ahead log from the start.
    assert_eq!(fs::read(place.file()).unwrap()[18..20], [2, 2]);
}

#[test]
fn a_connection_is_limited() {
    let place = TestFolder::new();
    let store = place.store();
    store.create_run(&run("r")).unwrap();
    let limited = || {
        let database = store.lock();
        assert_eq!(database.connection.limit(Limit::SQLITE_LIMIT_ATTACHED).unwrap(), 0);
        assert!(database.connection.execute_batch("ATTACH ':memory:' AS other").is_err());
        assert!(
            database
                .connection
                .execute_batch("PRAGMA writable_schema = ON; DELETE FROM sqlite_schema")
                .is_err()
        );
        assert!(database.connection.prepare(&format!("SELECT {}1", "1 + ".repeat(100))).is_err());
    };
    limited();
    store.compact().unwrap();
    limited();
}

/// Writes two runs, with something in every table that contains names.
fn two_runs(place: &TestFolder) {
    let store = place.store();
    for id in ["r", "s"] {
        store.create_run(&run(id)).unwrap();
        let batch =
            [checkpoint(id, 0, vec![whole("a", 0, "1")]), status(id, 0, "paused"), task(id, 0, "t", "x")];
        commit(&store, id, &batch);
    }
}

#[test]
fn a_row_that_is_refused_takes_no_other_with_it() {
    let set = |column: &str, text: &str| {
        let place = TestFolder::new();
        two_runs(&place);
        Connection::open(place.file())
            .unwrap()
            .execute(&format!("UPDATE runs SET {column} = ?1 WHERE run_id = 'r'"), [text])
            .unwrap();
        place
    };
    let ids = ["run_id", "parent_id", "root_id", "continuation_of", "continuation_id", "chain_root_id"];
    for column in ids {
        for bad in ["../../victim/notes", "a/b", "", "..", "\u{1b}[2J", "é"] {
            let place = set(column, bad);
            check_refused(&place, column);
        }
    }
    for column in ["graph_id", "graph_path"] {
        for bad in ["\u{1b}[2J", "a\nb", "\u{202e}a", &"a".repeat(70_000)] {
            let place = set(column, bad);
            check_refused(&place, column);
        }
        assert!(set(column, "graphs/ä b.yaml").reader().runs(&RunFilter::default()).is_ok());
    }
    let place = set("run_id", "../../victim/notes");
    let store = place.store();
    for name in ["../../victim/notes", "..", "r"] {
        assert_eq!(store.resolve(name), Err(ResolveError::NotFound { name: name.to_owned() }));
    }
}

/// Tests values that columns can contain and that this program never writes.
#[test]
fn a_run_with_a_damaged_row_is_named_and_the_others_are_listed() {
    for (column, value) in [
        ("created_at", "-1"),
        ("updated_at", "-9223372036854775808"),
        ("step", "-7"),
        ("fuel", "-1"),
        ("max_steps", "-1"),
        ("pid", "4294967296"),
        ("status", "'over'"),
        ("status", "char(27) || '[2J' || char(10) || '::error::x'"),
        ("durability", "''"),
    ] {
        let place = TestFolder::new();
        two_runs(&place);
        let set = format!(
            "PRAGMA ignore_check_constraints = ON; UPDATE runs SET {column} = {value} WHERE run_id = 'r'"
        );
        Connection::open(place.file()).unwrap().execute_batch(&set).unwrap();
        let store = place.reader();
        let listed = store.list(&RunFilter::default()).unwrap();
        assert_eq!(listed.rows.iter().map(|row| row.run_id.as_str()).collect::<Vec<_>>(), ["s"], "{column}");
        let [error @ StorageError::Run { run, row: 1, reason, .. }] = listed.refused.as_slice() else {
            panic!("{column} = {value}: {:?}", listed.refused)
        };
        assert_eq!(run, "r");
        assert!(reason.starts_with(&format!("`{column}`")), "{reason}");
        let told = error.to_string();
        assert!(told.contains("run `r`") && !told.contains(['\u{1b}', '\n']), "{told}");
        assert_eq!(store.run("r").unwrap_err().code(), ErrorCode::Integrity);
        assert!(store.run("s").unwrap().is_some());
    }
}

/// Tests a counter of epochs without a next value, which every process needs that acquires a run: the error states a
/// remedy, and runs can still be read.
#[test]
fn a_database_without_a_next_epoch_says_what_to_do() {
    for set in
        ["UPDATE epochs SET last = 9223372036854775807", "UPDATE epochs SET last = -5", "DELETE FROM epochs"]
    {
        let place = TestFolder::new();
        two_runs(&place);
        let change = format!("PRAGMA ignore_check_constraints = ON; {set}");
        Connection::open(place.file()).unwrap().execute_batch(&change).unwrap();
        let store = place.store();
        let owner = Owner { pid: 1, host: "here".to_owned(), since: Timestamp(0) };
        let error = store.acquire("r", &owner).unwrap_err();
        assert!(matches!(error, AcquireError::Storage(StorageError::NoNextEpoch { .. })), "{set}: {error:?}");
        assert!(error.to_string().contains("export them, and import them"), "{error}");
        assert_eq!(place.reader().runs(&RunFilter::default()).unwrap().len(), 2);
    }
    let place = TestFolder::new();
    two_runs(&place);
    Connection::open(place.file())
        .unwrap()
        .execute_batch("UPDATE epochs SET last = 9223372036854775805")
        .unwrap();
    let owner = Owner { pid: 1, host: "here".to_owned(), since: Timestamp(0) };
    assert!(place.store().acquire("r", &owner).is_ok());
}

fn check_refused(place: &TestFolder, column: &str) {
    let store = place.reader();
    let listed = store.list(&RunFilter::default()).unwrap();
    let ids: Vec<_> = listed.rows.iter().map(|row| row.run_id.as_str()).collect();
    assert_eq!(ids, ["s"], "{column}");
    let [StorageError::Row { table, row, problem, .. }] = listed.refused.as_slice() else {
        panic!("{column}: {:?}", listed.refused)
    };
    assert_eq!((*table, *row, problem.what), ("runs", 1, column));
    let told = listed.refused[0].to_string();
    assert!(!told.contains(['\u{1b}', '\n', '\u{202e}']) && told.len() < 1_000, "{told}");
    let error = store.runs(&RunFilter::default()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Integrity);
    assert!(error.to_string().contains("row 1 of table runs is refused: its"), "{error}");
    assert!(store.run("s").unwrap().is_some());
    if column != "run_id" {
        assert_eq!(store.run("r").unwrap_err().code(), ErrorCode::Integrity);
    }
}

#[test]
fn names_in_records_are_checked_when_they_are_read() {
    type Read = fn(&SqliteStore) -> Option<ReadError>;
    let reads: [(&str, &str, Read); 6] = [
        ("checkpoints", "namespace", |store| store.namespaces("r").err()),
        ("checkpoints", "namespace", |store| store.history_length("r").err()),
        ("pending", "namespace", |store| store.namespaces("r").err()),
        ("pending", "task", |store| store.pending("r", "").err()),
        ("history", "namespace", |store| store.history("r", 0, 9).err()),
        ("channel_values", "channel", |store| store.checkpoints("r", "", None, 9).err()),
    ];
    for (table, column, read) in reads {
        let place = TestFolder::new();
        two_runs(&place);
        let update = format!(
            "UPDATE {table} SET {column} = ?1 WHERE run = 1 AND ({column} <> '' OR '{column}' <> 'task')"
        );
        Connection::open(place.file()).unwrap().execute(&update, ["x\u{1b}[2J"]).unwrap();
        let store = place.reader();
        let error = read(&store).unwrap_or_else(|| panic!("{table}.{column} is read"));
        assert_eq!(error.code(), ErrorCode::Integrity);
        let told = error.to_string();
        assert!(
            told.contains(&format!("of table {table} is refused: its {column} `x\\u{{1b}}[2J`")),
            "{told}"
        );
        assert!(store.checkpoint("s", "", CheckpointPosition::Latest).unwrap().is_some());
        assert!(store.values("s", "", &[WantedChannel { channel: "a", base: 0, version: 0 }]).is_ok());
    }
}

/// The ways to replace a folder by that of another database: by a link, or by two renames.
const EXCHANGES: [fn(&Path, &Path, &Path); 2] = [
    |folder, kept, other| {
        fs::rename(folder, kept).unwrap();
        std::os::unix::fs::symlink(other, folder).unwrap();
    },
    |folder, kept, other| {
        fs::rename(folder, kept).unwrap();
        fs::rename(other, folder).unwrap();
        std::os::unix::fs::symlink(folder, other).unwrap();
    },
];

fn contents(folder: &Path) -> Vec<(std::ffi::OsString, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let mut found: Vec<_> = entries
        .filter(|entry| entry.path().is_file())
        .map(|entry| (entry.file_name(), fs::read(entry.path()).unwrap()))
        .collect();
    found.sort();
    found
}

#[test]
fn a_database_stays_that_of_the_folder_that_is_held() {
    for exchange in EXCHANGES {
        let (mine, other) = (TestFolder::new(), TestFolder::new());
        mine.fill(1);
        other.fill(1);
        let folder = mine.file().parent().unwrap().to_owned();
        let kept = folder.with_file_name("kept");
        let place = FilePlace::at(&mine.file());
        place.folder().get().unwrap();
        let open = SqliteStore::open(&place, SqliteOptions::default()).unwrap();
        exchange(&folder, &kept, other.file().parent().unwrap());
        let before = contents(&folder);
        // The open connection, which creates its log and the index of the log only now, the locks, and the room in the
        // log.
        for sequence in 1..4 {
            commit(&open, "r", &[checkpoint("r", sequence, vec![whole("a", sequence, "1")])]);
        }
        open.compact().unwrap();
        // New connections, for writing and for reading.
        for options in options() {
            let store = SqliteStore::open(&place, options).unwrap();
            assert_eq!(store.checkpoints("r", "", None, 9).unwrap().len(), 4);
        }
        assert_eq!(Format::Runs.inspect(&place).unwrap(), PathContent::Version(u64::from(SCHEMA_VERSION)));
        assert!(contents(&folder) == before);
        // A missing database is created in the folder that is held, and a migrated one is written there.
        let fresh = place.folder().file("fresh.db");
        drop(SqliteStore::open(&fresh, SqliteOptions::default()).unwrap());
        Format::Runs.bring_up_to_date(&place).unwrap();
        let knowledge = KnowledgeStore::at(place.folder().file("knowledge.db"));
        knowledge.put("a", "mine").unwrap();
        assert_eq!(knowledge.get("a").unwrap().as_deref(), Some("mine"));
        drop((open, knowledge));
        assert!(contents(&folder) == before);
        assert!(kept.join("fresh.db").is_file() && kept.join("knowledge.db").is_file());
    }
}

#[test]
fn the_end_of_a_run_is_not_written_to_a_file_that_is_gone() {
    let removals: [fn(&Path); 3] = [
        |file| fs::remove_dir_all(file.parent().unwrap()).unwrap(),
        |file| fs::remove_file(file).unwrap(),
        |file| {
            fs::copy(file, file.with_file_name("copy")).unwrap();
            fs::rename(file.with_file_name("copy"), file).unwrap();
        },
    ];
    for remove in removals {
        let place = TestFolder::new();
        place.fill(1);
        let store = place.store();
        let guard = acquire_run(&store, "r");
        remove(&place.file());
        let ended = RunUpdate { status: Some(Status::Completed), ..RunUpdate::default() };
        let batch = [checkpoint("r", 1, vec![whole("a", 1, "1")])];
        let error = store.commit(&guard, &batch, &ended, SyncMode::Full).unwrap_err();
        assert!(matches!(error, CommitError::Storage(StorageError::Gone { .. })), "{error}");
        assert_eq!(error.code(), ErrorCode::Storage);
    }
}
