//! Files of version 1.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};

use super::support::{Numbers, file, store};
use crate::knowledge::schema::{APPLICATION_ID, INDEX, SHAPES, TABLES_1, TEXTS};
use crate::knowledge::{KnowledgeStore, KnowledgeStoreError};
use crate::sqlite::shape::Shape;
use crate::{Format, PathContent};

#[test]
fn the_digests_are_those_of_the_tables() {
    for (tables, digest) in [["", TABLES_1], [TEXTS, INDEX]].into_iter().zip(SHAPES) {
        assert_eq!(Shape::made_by(tables).unwrap().digest().hex(), digest);
    }
}

/// Creates a file as version 1 did, with entries.
fn of_version_1(path: &Path, version: i64, entries: &[(String, String)]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(TABLES_1).unwrap();
    connection.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
    connection.pragma_update(None, "user_version", version).unwrap();
    for (key, text) in entries {
        let put = "INSERT INTO entries (key, text) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET text = excluded.text";
        connection.execute(put, params![key, text]).unwrap();
    }
}

#[test]
fn a_file_of_version_1_is_indexed_anew_when_it_is_opened() {
    let mut numbers = Numbers(5);
    let mut entries: Vec<(String, String)> = Vec::new();
    for number in 0..40 {
        let words = numbers.below(60);
        entries.push((format!("n/{number:02}"), numbers.text(words)));
    }
    for version in [0, 1] {
        let (folder, old) = store();
        let path = file(&folder);
        of_version_1(&path, version, &entries);
        assert_eq!(Format::Knowledge.inspect(&path).unwrap(), PathContent::Version(1));
        let (_other, new) = store();
        for (key, text) in &entries {
            new.put(key, text).unwrap();
        }
        assert_eq!(old.get("n/07").unwrap().as_ref(), Some(&entries[7].1));
        assert_eq!(Format::Knowledge.inspect(&path).unwrap(), PathContent::Version(2));
        for store in [&old, &new] {
            store.put("n/07", "quick the fox rare0").unwrap();
            store.put("n/77", "the new fox").unwrap();
        }
        for query in ["the", "fox", "\"the fox\"", "quick brown", "cafe", "rare0 fox", "new"] {
            assert_eq!(old.search("", query, 100).unwrap(), new.search("", query, 100).unwrap(), "{query}");
        }
        let reopened = KnowledgeStore::at(&path);
        assert_eq!(reopened.list("", None, 100).unwrap().len(), 41);
        assert_eq!(reopened.search("", "new", 1).unwrap()[0].0, "n/77");
    }
}

#[test]
fn only_what_version_1_made_is_migrated() {
    let entries = [("a/b".to_owned(), "text".to_owned())];
    let altered = [
        ("DROP TRIGGER added", "the trigger `added` is missing"),
        ("DROP TABLE words; CREATE VIRTUAL TABLE words USING fts5 (text)", "the table `words` is not"),
        ("INSERT INTO words (words, rank) VALUES ('rank', 'snippet(1)')", "settings"),
        ("INSERT INTO words (words, rank) VALUES ('pgsz', 64000)", "settings"),
        ("UPDATE total SET entries = -9000000000", "does not count"),
        ("CREATE TRIGGER more AFTER UPDATE ON total BEGIN DELETE FROM entries; END", "the trigger `more`"),
    ];
    for (statement, told) in altered {
        let (folder, store) = store();
        let path: PathBuf = file(&folder);
        of_version_1(&path, 1, &entries);
        Connection::open(&path).unwrap().execute_batch(statement).unwrap();
        let before = std::fs::read(&path).unwrap();
        for error in [store.get("a/b").unwrap_err(), store.put("a/b", "other").unwrap_err()] {
            assert!(matches!(error, KnowledgeStoreError::Altered(_)), "{statement}: {error}");
            assert!(error.to_string().contains(told), "{statement}: {error}");
        }
        assert!(Format::Knowledge.bring_up_to_date(&path).is_err(), "{statement}");
        assert!(std::fs::read(&path).unwrap() == before, "{statement}: it was written");
    }
}

#[test]
fn a_process_of_an_older_release_cannot_write_past_the_index() {
    let (folder, store) = store();
    let path = file(&folder);
    of_version_1(&path, 1, &[("a/b".to_owned(), "text".to_owned())]);
    let older = Connection::open(&path).unwrap();
    let mut put = older.prepare("INSERT INTO entries (key, text) VALUES (?1, ?2)").unwrap();
    put.execute(params!["a/c", "text"]).unwrap();
    assert_eq!(store.search("", "text", 10).unwrap().len(), 2);
    let refused = put.execute(params!["a/d", "text"]).unwrap_err();
    assert!(refused.to_string().contains("no such table"), "{refused}");
    assert_eq!(store.list("", None, 10).unwrap(), ["a/b", "a/c"]);
}

#[test]
fn a_call_leaves_a_large_file_to_the_command_that_migrates() {
    let (folder, store) = store();
    let path = file(&folder);
    let text = "fox and hound ".repeat(70_000);
    let entries: Vec<_> = (0..5).map(|number| (format!("a/{number}"), text.clone())).collect();
    of_version_1(&path, 1, &entries);
    for refused in [store.get("a/1").unwrap_err(), store.put("a/1", "x").unwrap_err()] {
        let told = refused.to_string();
        assert!(matches!(refused, KnowledgeStoreError::Older(_)), "{told}");
        assert!(told.contains("have to be brought up to date first"), "{told}");
    }
    assert_eq!(Format::Knowledge.inspect(&path).unwrap(), PathContent::Version(1));
    Format::Knowledge.bring_up_to_date(&path).unwrap();
    assert_eq!(store.search("", "\"fox and hound\"", 10).unwrap().len(), 5);
    store.put("a/1", "x").unwrap();
}

#[test]
fn a_file_that_holds_more_than_a_project_may_is_not_migrated() {
    let (folder, store) = store();
    let path = file(&folder);
    of_version_1(&path, 1, &[("a/b".to_owned(), "x".repeat(5 << 20))]);
    let before = std::fs::read(&path).unwrap();
    let refused = store.get("a/b").unwrap_err();
    assert!(refused.to_string().contains("it holds more than a project may"), "{refused}");
    assert!(Format::Knowledge.bring_up_to_date(&path).is_err());
    assert!(std::fs::read(&path).unwrap() == before);
}

#[test]
fn a_migration_that_is_interrupted_leaves_the_file_as_it_was() {
    let (folder, store) = store();
    let path = file(&folder);
    of_version_1(&path, 1, &[("a/b".to_owned(), "text".to_owned())]);
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.get("a/b").unwrap_err();
    assert!(error.to_string().contains("another process writes it"), "{error}");
    drop(other);
    assert_eq!(Format::Knowledge.inspect(&path).unwrap(), PathContent::Version(1));
    assert_eq!(store.search("", "text", 1).unwrap().len(), 1);
}

#[test]
fn what_older_releases_have_stored_is_found() {
    let releases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/formats");
    let mut seen = 0;
    for release in std::fs::read_dir(releases).unwrap() {
        let stored = release.unwrap().path().join("project/.ai/state/knowledge.db");
        if !stored.exists() {
            continue;
        }
        let (folder, store) = store();
        std::fs::create_dir_all(file(&folder).parent().unwrap()).unwrap();
        std::fs::copy(&stored, file(&folder)).unwrap();
        Format::Knowledge.bring_up_to_date(&file(&folder)).unwrap();
        assert_eq!(Format::Knowledge.inspect(&file(&folder)).unwrap(), PathContent::Version(2));
        let hit = ("notes/one".to_owned(), "a kept text".to_owned());
        assert_eq!(store.search("notes/", "TEXT kept", 10).unwrap(), [hit]);
        assert_eq!(store.get("notes/one").unwrap().as_deref(), Some("a kept text"));
        seen += 1;
    }
    assert!(seen > 0);
}
