//! Files that this program has not written.

use rusqlite::Connection;

use super::support::{store, with_suffix};
use crate::KnowledgeStore;
use crate::knowledge::KnowledgeStoreError;
use crate::knowledge::error::LONGEST_CALL;
use crate::sqlite::PlaceError;

#[test]
fn foreign_and_damaged_files_are_left_alone() {
    let (folder, _) = store();
    let path = folder.path().join("x.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
    assert!(matches!(KnowledgeStore::at(&path).put("a", "b"), Err(KnowledgeStoreError::Foreign(_))));
    let damaged = folder.path().join("y.db");
    std::fs::write(&damaged, "not a database at all, but long enough to be looked at".repeat(20)).unwrap();
    assert!(matches!(KnowledgeStore::at(&damaged).get("a"), Err(KnowledgeStoreError::Sqlite(_))));
}

#[test]
fn files_that_were_made_by_somebody_else_are_left_alone() {
    let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS id, x AS key, 'a' AS text FROM n";
    let view = format!("DROP TABLE texts; CREATE VIEW texts AS {endless}");
    let altered = [
        (view.as_str(), "the view `texts` is not"),
        ("CREATE TRIGGER more AFTER UPDATE ON total BEGIN DELETE FROM texts; END", "the trigger `more`"),
        ("DROP TABLE lengths", "the table `lengths` is missing"),
        ("CREATE INDEX odd ON texts (hex(zeroblob(id)))", "the index `odd`"),
        ("ALTER TABLE texts ADD COLUMN more TEXT AS (hex(text))", "the table `texts` is not"),
        ("CREATE TABLE words_more (x)", "the table `words_more`"),
        ("ANALYZE", "sqlite_stat1"),
        ("DROP TABLE words; CREATE VIRTUAL TABLE words USING fts5 (text)", "`words"),
        ("CREATE TRIGGER odd AFTER INSERT ON words BEGIN DELETE FROM texts; END", "the trigger `odd`"),
        ("UPDATE total SET entries = -9000000000", "does not count"),
        ("DELETE FROM total", "does not count"),
    ];
    for (statement, told) in altered {
        let (folder, store) = store();
        store.put("a/b", "text").unwrap();
        drop(store);
        let path = folder.path().join(".ai/state/knowledge.db");
        Connection::open(&path).unwrap().execute_batch(statement).unwrap();
        let before = std::fs::read(&path).unwrap();
        let store = KnowledgeStore::at(&path);
        let began = std::time::Instant::now();
        let refused = [
            store.get("a/b").unwrap_err(),
            store.put("a/b", "other").unwrap_err(),
            store.search("", "text", 1).unwrap_err(),
            store.list("", None, 1).unwrap_err(),
        ];
        for error in refused {
            assert!(matches!(error, KnowledgeStoreError::Altered(_)), "{statement}: {error}");
            assert!(error.to_string().contains(told), "{statement}: {error}");
        }
        assert!(began.elapsed() < LONGEST_CALL, "{:?}", began.elapsed());
        assert!(std::fs::read(&path).unwrap() == before, "{statement}: it was written");
    }
}

#[test]
fn keys_are_checked_when_they_are_read() {
    let (folder, store) = store();
    store.put("a/b", "text").unwrap();
    let path = folder.path().join(".ai/state/knowledge.db");
    Connection::open(&path).unwrap().execute("UPDATE texts SET key = ?1", ["a/\u{1b}[2J"]).unwrap();
    for error in [store.list("", None, 1).unwrap_err(), store.search("", "text", 1).unwrap_err()] {
        let KnowledgeStoreError::Altered(told) = error else { panic!("{error}") };
        assert_eq!(told, "`a/\\u{1b}[2J` is no key");
    }
}

#[test]
fn a_journal_that_names_another_is_not_applied() {
    let (folder, store) = store();
    store.put("a/b", "text").unwrap();
    drop(store);
    let path = folder.path().join(".ai/state/knowledge.db");
    let journal = with_suffix(&path, "-journal");
    std::fs::write(&journal, [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]).unwrap();
    let refused = KnowledgeStore::at(&path).get("a/b").unwrap_err();
    assert_eq!(refused, KnowledgeStoreError::Place(PlaceError::Journal { file: path, journal }));
}

#[test]
#[cfg(unix)]
fn links_are_not_followed() {
    let (folder, store) = store();
    store.put("a/b", "text").unwrap();
    drop(store);
    let path = folder.path().join(".ai/state/knowledge.db");
    let elsewhere = folder.path().join("elsewhere.db");
    std::fs::rename(&path, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
    let expected = KnowledgeStoreError::Place(PlaceError::NotRegular { file: path.clone() });
    assert_eq!(KnowledgeStore::at(&path).put("a/b", "other"), Err(expected.clone()));
    assert_eq!(KnowledgeStore::at(&path).get("a/b"), Err(expected));
}
