//! Texts by key that outlast runs: a SQLite file of a project, with an index of their words.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, TransactionBehavior, params};

/// The most entries of a project.
const MAX_ENTRIES: i64 = 100_000;
/// The most bytes of all texts of a project.
const MAX_BYTES: i64 = 256 << 20;
/// How long to wait for another process that writes.
const BUSY: Duration = Duration::from_secs(5);
/// Words of an excerpt.
const EXCERPT_WORDS: i64 = 24;
/// The longest excerpt, in bytes.
const MAX_EXCERPT: usize = 500;
/// Marks the file as one of these: `ghkn`.
const APPLICATION_ID: i64 = 0x6768_6b6e;

const SCHEMA: &str = "
CREATE TABLE entries (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE COLLATE BINARY,
    text TEXT NOT NULL
) STRICT;
CREATE TABLE total (one INTEGER PRIMARY KEY CHECK (one = 1), entries INTEGER NOT NULL, bytes INTEGER NOT NULL) STRICT;
INSERT INTO total VALUES (1, 0, 0);
CREATE VIRTUAL TABLE words USING fts5 (text, content = 'entries', content_rowid = 'id',
    tokenize = 'unicode61 remove_diacritics 2');
CREATE TRIGGER added AFTER INSERT ON entries BEGIN
    INSERT INTO words (rowid, text) VALUES (new.id, new.text);
    UPDATE total SET entries = entries + 1, bytes = bytes + length(CAST(new.text AS BLOB));
END;
CREATE TRIGGER changed AFTER UPDATE ON entries BEGIN
    INSERT INTO words (words, rowid, text) VALUES ('delete', old.id, old.text);
    INSERT INTO words (rowid, text) VALUES (new.id, new.text);
    UPDATE total SET bytes = bytes - length(CAST(old.text AS BLOB)) + length(CAST(new.text AS BLOB));
END;
";

/// The knowledge of a project. Its file is made with the first entry; several processes may use it at once.
#[derive(Debug)]
pub struct KnowledgeStore {
    path: PathBuf,
    connection: Mutex<Option<Connection>>,
}

/// Why knowledge could not be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KnowledgeStoreError {
    /// A query holds no word.
    #[error("the query holds no word")]
    NoWord,
    /// The project holds as much as it may.
    #[error(
        "the project's knowledge is full: {entries} entries and {bytes} bytes; {MAX_ENTRIES} and {MAX_BYTES} are allowed"
    )]
    Full {
        /// Entries that there would be.
        entries: i64,
        /// Bytes that they would have.
        bytes: i64,
    },
    /// The file belongs to something else.
    #[error("{0} is not a file of knowledge: move it away")]
    Foreign(String),
    /// SQLite refused.
    #[error("the project's knowledge cannot be used now: {0}")]
    Sqlite(String),
}

impl From<rusqlite::Error> for KnowledgeStoreError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                "another process writes it".to_owned()
            }
            Some(ErrorCode::DiskFull) => "the disk is full".to_owned(),
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                "its file cannot be written".to_owned()
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => "its file is damaged".to_owned(),
            _ => error.to_string(),
        })
    }
}

type Result<T> = std::result::Result<T, KnowledgeStoreError>;

impl KnowledgeStore {
    /// The knowledge in a file, which need not be there yet.
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), connection: Mutex::new(None) }
    }

    /// The open file; none if it is only to be read and is not there.
    fn open(&self, make: bool) -> Result<Option<MutexGuard<'_, Option<Connection>>>> {
        let mut guard = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        if guard.is_none() {
            if !make && !self.path.exists() {
                return Ok(None);
            }
            if let Some(folder) = self.path.parent() {
                std::fs::create_dir_all(folder)
                    .map_err(|error| KnowledgeStoreError::Sqlite(format!("{}: {error}", folder.display())))?;
            }
            let mut connection = Connection::open(&self.path)?;
            connection.busy_timeout(BUSY)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let id: i64 = transaction.pragma_query_value(None, "application_id", |row| row.get(0))?;
            let tables: i64 =
                transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
            match (id, tables) {
                (APPLICATION_ID, _) => {}
                (_, 0) => {
                    transaction.execute_batch(SCHEMA)?;
                    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
                }
                _ => return Err(KnowledgeStoreError::Foreign(self.path.display().to_string())),
            }
            transaction.commit()?;
            *guard = Some(connection);
        }
        Ok(Some(guard))
    }

    fn read<T: Default>(&self, read: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        match self.open(false)?.as_deref() {
            Some(Some(connection)) => read(connection),
            _ => Ok(T::default()),
        }
    }

    /// The text of a key.
    pub fn get(&self, key: &str) -> Result<Option<String>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached("SELECT text FROM entries WHERE key = ?1")?;
            Ok(statement.query_row([key], |row| row.get(0)).optional()?)
        })
    }

    /// Writes the text of a key, in place of what it held. It is on the disk when this returns.
    pub fn put(&self, key: &str, text: &str) -> Result<()> {
        let mut guard = self.open(true)?;
        let Some(connection) = guard.as_deref_mut().and_then(Option::as_mut) else { return Ok(()) };
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let known: Option<String> = transaction
            .query_row("SELECT text FROM entries WHERE key = ?1", [key], |row| row.get(0))
            .optional()?;
        if known.as_deref() == Some(text) {
            return Ok(());
        }
        transaction.execute(
            "INSERT INTO entries (key, text) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET text = excluded.text",
            params![key, text],
        )?;
        let (entries, bytes): (i64, i64) =
            transaction
                .query_row("SELECT entries, bytes FROM total", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        if entries > MAX_ENTRIES || bytes > MAX_BYTES {
            return Err(KnowledgeStoreError::Full { entries, bytes });
        }
        Ok(transaction.commit()?)
    }

    /// Keys with excerpts of the entries below a prefix that hold all words of a query, best first.
    pub fn search(&self, prefix: &str, query: &str, limit: u32) -> Result<Vec<(String, String)>> {
        let words = words(query);
        if words.is_empty() {
            return Err(KnowledgeStoreError::NoWord);
        }
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT entries.key, snippet(words, 0, '', '', ' … ', ?4) FROM words JOIN entries ON entries.id = words.rowid
                 WHERE words MATCH ?1 AND substr(entries.key, 1, length(?2)) = ?2
                 ORDER BY bm25(words), entries.key LIMIT ?3",
            )?;
            let rows = statement.query_map(params![words, prefix, limit, EXCERPT_WORDS], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
            })?;
            let mut hits = Vec::new();
            for row in rows {
                let (key, excerpt) = row?;
                hits.push((key, one_line(&excerpt)));
            }
            Ok(hits)
        })
    }

    /// The keys that begin with a prefix, from the one behind `after` on, in order of their bytes.
    pub fn list(&self, prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<String>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT key FROM entries WHERE key >= ?1 AND key > ?2 AND substr(key, 1, length(?1)) = ?1
                 ORDER BY key LIMIT ?3",
            )?;
            let rows =
                statement.query_map(params![prefix, after.unwrap_or_default(), limit], |row| row.get(0))?;
            Ok(rows.collect::<std::result::Result<_, _>>()?)
        })
    }
}

/// A query of FTS5 that asks for all words of a text, and for those in double quotes one behind the other. Nothing in
/// the text is an operator.
fn words(text: &str) -> String {
    let mut asked = Vec::new();
    for (at, part) in text.split('"').enumerate() {
        let found =
            part.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty());
        if at % 2 == 1 {
            let phrase: Vec<_> = found.collect();
            if !phrase.is_empty() {
                asked.push(format!("\"{}\"", phrase.join(" ")));
            }
        } else {
            asked.extend(found.map(|word| format!("\"{word}\"")));
        }
    }
    asked.join(" ")
}

/// A text on one line, cut to the length of an excerpt.
fn one_line(text: &str) -> String {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.len() > MAX_EXCERPT {
        let end = (0..=MAX_EXCERPT).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
        line.truncate(end);
    }
    line
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn store() -> (tempfile::TempDir, KnowledgeStore) {
        let folder = tempfile::tempdir().unwrap();
        let store = KnowledgeStore::at(&folder.path().join(".ai/state/knowledge.db"));
        (folder, store)
    }

    #[test]
    fn texts_are_found_again() {
        let (folder, store) = store();
        assert_eq!(store.get("a/b").unwrap(), None);
        assert!(!folder.path().join(".ai").exists(), "reading makes nothing");
        store.put("a/b", "one").unwrap();
        store.put("a/b", "one").unwrap();
        store.put("a/b", "two").unwrap();
        assert_eq!(store.get("a/b").unwrap().as_deref(), Some("two"));
        let other = KnowledgeStore::at(&folder.path().join(".ai/state/knowledge.db"));
        assert_eq!(other.get("a/b").unwrap().as_deref(), Some("two"));
        assert_eq!(other.search("", "one", 10).unwrap(), []);
    }

    #[test]
    fn words_are_searched_below_a_prefix() {
        let (_folder, store) = store();
        store.put("acme/plans", "The quick brown fox\njumps over the café").unwrap();
        store.put("acme/notes", "A quick note, and another quick note about brown paint").unwrap();
        store.put("other/plans", "quick brown").unwrap();
        let keys = |prefix: &str, query: &str| -> Vec<String> {
            store.search(prefix, query, 10).unwrap().into_iter().map(|(key, _)| key).collect()
        };
        assert_eq!(keys("acme/", "QUICK brown").len(), 2);
        assert_eq!(keys("", "quick brown").len(), 3);
        assert_eq!(keys("acme/", "\"quick brown\""), ["acme/plans"]);
        assert_eq!(keys("acme/", "cafe"), ["acme/plans"]);
        assert_eq!(keys("acme%", "quick"), Vec::<String>::new());
        assert_eq!(store.search("", "fox", 10).unwrap()[0].1, "The quick brown fox jumps over the café");
        for query in ["fox OR note", "text:fox", "fo*", "NEAR(quick note)", "\"", "a^b"] {
            store.search("", query, 10).ok();
        }
        assert_eq!(keys("", "fox OR note"), Vec::<String>::new(), "`OR` is a word");
        assert_eq!(store.search("", " *\"' ", 10), Err(KnowledgeStoreError::NoWord));
    }

    #[test]
    fn keys_are_listed_in_order() {
        let (_folder, store) = store();
        for key in ["b/2", "a/1", "b/1", "b/10", "c"] {
            store.put(key, "x").unwrap();
        }
        assert_eq!(store.list("b/", None, 10).unwrap(), ["b/1", "b/10", "b/2"]);
        assert_eq!(store.list("b/", Some("b/1"), 1).unwrap(), ["b/10"]);
        assert_eq!(store.list("", None, 2).unwrap(), ["a/1", "b/1"]);
    }

    #[test]
    fn foreign_and_damaged_files_are_left_alone() {
        let (folder, _) = store();
        let path = folder.path().join("x.db");
        Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
        assert!(matches!(KnowledgeStore::at(&path).put("a", "b"), Err(KnowledgeStoreError::Foreign(_))));
        let damaged = folder.path().join("y.db");
        std::fs::write(&damaged, "not a database at all, but long enough to be looked at".repeat(20))
            .unwrap();
        assert!(matches!(KnowledgeStore::at(&damaged).get("a"), Err(KnowledgeStoreError::Sqlite(_))));
    }

    #[test]
    fn there_is_an_end_to_it() {
        let (_folder, store) = store();
        let large = "x".repeat(100 << 20);
        store.put("a", &large).unwrap();
        store.put("b", &large).unwrap();
        assert!(matches!(store.put("c", &large), Err(KnowledgeStoreError::Full { entries: 3, .. })));
        assert_eq!(store.get("c").unwrap(), None);
        store.put("b", "small").unwrap();
        store.put("c", &large).unwrap();
    }
}
