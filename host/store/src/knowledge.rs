//! Texts by key that outlast runs: a project's SQLite file, with a full-text index.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use graph_core::capability::is_key;
use graph_core::diagnostic::printable;
use rusqlite::{
    Connection, ErrorCode, InterruptHandle, OpenFlags, OptionalExtension as _, TransactionBehavior, params,
};

use crate::sqlite::PlaceError;
use crate::sqlite::beside::{self, Found};
use crate::sqlite::guard::{self, Meter};
use crate::sqlite::schema;
use crate::sqlite::shape::Shape;

/// The most entries of a project.
const MAX_ENTRIES: i64 = 100_000;
/// The most bytes of all texts of a project.
const MAX_BYTES: i64 = 256 << 20;
/// How long to wait for another process that writes.
const BUSY: Duration = Duration::from_secs(5);
/// How long one search may take. What it costs to rank entries depends on how often the words occur in all of them.
const LONGEST_SEARCH: Duration = Duration::from_secs(1);
/// How long any other call may take, without waiting for other processes.
const LONGEST_CALL: Duration = Duration::from_secs(5);
/// The digest of [`SCHEMA`].
const SHAPE: &str = "d32fe21fe54411fe45c958543c85a7993fad788f156d4e3869e1eeb9cdf50ffe";
/// The most words, and phrases, of a query that count.
const MAX_TERMS: usize = 32;
/// Words of an excerpt.
const EXCERPT_WORDS: usize = 24;
/// The longest excerpt, in bytes.
const MAX_EXCERPT: usize = 500;
/// Marks the file as one of these: `ghkn`.
pub(crate) const APPLICATION_ID: i64 = 0x6768_6b6e;
/// The version of the tables (`PRAGMA user_version`). Files from before it was written there have none, and are of version 1.
pub(crate) const VERSION: i64 = 1;

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
    connection: Mutex<Option<Open>>,
}

/// The open file.
#[derive(Debug)]
struct Open {
    connection: Connection,
    /// Counts the work of each call.
    meter: Meter,
}

/// Why knowledge could not be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum KnowledgeStoreError {
    /// A query holds no word.
    #[error("the query holds no word")]
    NoWord,
    /// A search took longer than one second.
    #[error("the search took longer than {} s: ask for fewer words, or for words that fewer entries hold", LONGEST_SEARCH.as_secs())]
    Slow,
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
    /// A later version of this program has written it.
    #[error(
        "{file} has format version {found}, and this program reads versions up to {VERSION}: it was left unchanged; use a newer graph-host"
    )]
    Newer { file: String, found: i64 },
    /// A call other than a search took longer than five seconds.
    #[error("the project's knowledge took longer than {} s to answer", LONGEST_CALL.as_secs())]
    Late,
    /// The file is not what this program has made.
    #[error("the project's knowledge cannot be used: {0}")]
    Altered(String),
    /// The path, or a file next to it, cannot be opened safely.
    #[error("the project's knowledge cannot be used: {0}")]
    Place(#[from] PlaceError),
    /// The file belongs to another program.
    #[error("{0} is not a file of knowledge: move it away")]
    Foreign(String),
    /// SQLite refused an operation; its message is in the field.
    #[error("the project's knowledge cannot be used now: {0}")]
    Sqlite(String),
}

impl From<rusqlite::Error> for KnowledgeStoreError {
    fn from(error: rusqlite::Error) -> Self {
        if error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) {
            return Self::Late;
        }
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

    /// The open file; none if it is only to be read and is missing.
    fn open(&self, make: bool) -> Result<Option<MutexGuard<'_, Option<Open>>>> {
        let mut guard = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        match &*guard {
            Some(open) => open.meter.begin_within(LONGEST_CALL),
            None => match self.connect(make)? {
                None => return Ok(None),
                open => *guard = open,
            },
        }
        Ok(Some(guard))
    }

    fn connect(&self, make: bool) -> Result<Option<Open>> {
        let place = beside::resolved(&self.path);
        if beside::check(&place)? == Found::Nothing {
            if !make {
                return Ok(None);
            }
            if let Some(folder) = self.path.parent() {
                std::fs::create_dir_all(folder)
                    .map_err(|error| KnowledgeStoreError::Sqlite(format!("{}: {error}", folder.display())))?;
            }
        }
        let place = beside::resolved(&self.path);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let mut connection = Connection::open_with_flags(&place, flags)?;
        connection.busy_timeout(BUSY)?;
        guard::set(&connection)?;
        let meter = Meter::on(&mut connection, &place)?;
        meter.begin_within(LONGEST_CALL + BUSY);
        connection.pragma_update(None, "synchronous", "FULL")?;
        // Another program's file is left unchanged: nothing is written before it is recognised.
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Deferred)?;
        let known = self.recognise(&transaction)?;
        transaction.commit()?;
        if !known {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            // Another process may have made the tables first.
            if !self.recognise(&transaction)? {
                transaction.execute_batch(SCHEMA)?;
                transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
                transaction.pragma_update(None, "user_version", VERSION)?;
            }
            transaction.commit()?;
        }
        meter.begin_within(LONGEST_CALL);
        Ok(Some(Open { connection, meter }))
    }

    /// Whether the file has this program's tables; not if it is empty. Any other content is refused.
    fn recognise(&self, connection: &Connection) -> Result<bool> {
        let shown = || self.path.display().to_string();
        let altered = |what: String| KnowledgeStoreError::Altered(format!("{}: {what}", shown()));
        let id: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
        if id != APPLICATION_ID {
            let is_foreign = schema::has_entries(connection)?;
            return if is_foreign { Err(KnowledgeStoreError::Foreign(shown())) } else { Ok(false) };
        }
        let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if version > VERSION {
            return Err(KnowledgeStoreError::Newer { file: shown(), found: version });
        }
        let found = match Shape::of(connection) {
            Err(error) if schema::has_many_entries(&error) => {
                return Err(altered(schema::MANY_ENTRIES.to_owned()));
            }
            found => found?,
        };
        if !found.is(SHAPE)
            && let Some(what) = found.difference(&Shape::made_by([SCHEMA])?)
        {
            return Err(altered(what));
        }
        // FTS5 keeps its settings in a table of the file: only its own version may be in it.
        let settings = "SELECT count(*) FROM (SELECT k, v FROM words_config LIMIT 8)";
        let made = "SELECT 1 FROM words_config WHERE k = 'version' AND v = 4";
        let settings: i64 = connection.query_row(settings, [], |row| row.get(0))?;
        let is_made = connection.query_row(made, [], |_| Ok(())).optional()?.is_some();
        if settings != 1 || !is_made {
            return Err(altered(
                "the index of its words has settings that graph-host does not make".to_owned(),
            ));
        }
        let total = "SELECT 1 FROM total WHERE entries >= 0 AND bytes >= 0";
        if connection.query_row(total, [], |_| Ok(())).optional()?.is_none() {
            return Err(altered("it does not count its entries".to_owned()));
        }
        Ok(true)
    }

    fn read<T: Default>(&self, read: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        match self.open(false)?.as_deref() {
            Some(Some(open)) => self.ended(open, read(&open.connection)),
            _ => Ok(T::default()),
        }
    }

    /// The result of a call, or why it was interrupted.
    fn ended<T>(&self, open: &Open, answer: Result<T>) -> Result<T> {
        match answer {
            Err(KnowledgeStoreError::Late | KnowledgeStoreError::Slow) if open.meter.is_spent() => {
                let what = "reading it takes more work than a file of its size can need";
                Err(KnowledgeStoreError::Altered(format!("{}: {what}", self.path.display())))
            }
            answer => answer,
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
        let Some(open) = guard.as_deref_mut().and_then(Option::as_mut) else { return Ok(()) };
        let written = Self::write(&mut open.connection, key, text);
        self.ended(open, written)
    }

    fn write(connection: &mut Connection, key: &str, text: &str) -> Result<()> {
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
        let terms = terms(query);
        if terms.is_empty() {
            return Err(KnowledgeStoreError::NoWord);
        }
        self.read(|connection| {
            let _limit = TimeLimit::set(connection.get_interrupt_handle(), LONGEST_SEARCH)?;
            Self::ranked(connection, prefix, &terms, limit).map_err(|error| match error {
                KnowledgeStoreError::Late => KnowledgeStoreError::Slow,
                error => error,
            })
        })
    }

    fn ranked(
        connection: &Connection,
        prefix: &str,
        terms: &[Vec<&str>],
        limit: u32,
    ) -> Result<Vec<(String, String)>> {
        // Excerpts are made here and not by SQLite: its `snippet` takes time with the square of the hits in one entry.
        let mut ranked = connection.prepare_cached(
            "SELECT entries.id, entries.key FROM words JOIN entries ON entries.id = words.rowid
                 WHERE words MATCH ?1 AND substr(entries.key, 1, length(?2)) = ?2
                 ORDER BY bm25(words), entries.key LIMIT ?3",
        )?;
        let mut text = connection.prepare_cached("SELECT text FROM entries WHERE id = ?1")?;
        let found = ranked.query_map(params![matching(terms), prefix, limit], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
        })?;
        let mut hits = Vec::new();
        for row in found {
            let (id, key) = row?;
            let text: String = text.query_row([id], |row| row.get(0))?;
            hits.push((checked(key)?, excerpt(&text, terms)));
        }
        Ok(hits)
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
            rows.map(|key| checked(key?)).collect()
        })
    }
}

/// Checks a key that was read: this program writes only valid ones.
fn checked(key: String) -> Result<String> {
    if is_key(&key) {
        return Ok(key);
    }
    let shown: String = key.chars().take(60).collect();
    Err(KnowledgeStoreError::Altered(format!("`{}` is no key", printable(&shown).replace('\n', "\\n"))))
}

/// Interrupts a call on a connection once it has taken too long, unless this is dropped before.
struct TimeLimit {
    done: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl TimeLimit {
    fn set(connection: InterruptHandle, time: Duration) -> Result<Self> {
        let (done, waits) = mpsc::channel();
        let watch = move || {
            // Returns early once the other side has been dropped.
            if waits.recv_timeout(time) == Err(RecvTimeoutError::Timeout) {
                connection.interrupt();
            }
        };
        let thread = std::thread::Builder::new()
            .name("knowledge-search".to_owned())
            .spawn(watch)
            .map_err(|error| KnowledgeStoreError::Sqlite(format!("no thread can be started: {error}")))?;
        Ok(Self { done: Some(done), thread: Some(thread) })
    }
}

impl Drop for TimeLimit {
    fn drop(&mut self) {
        // Waiting for the thread ensures that later calls on the connection are not interrupted.
        self.done = None;
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// What a query asks for: each word of it, and those in double quotes one after the other. Nothing in the text is an
/// operator.
fn terms(query: &str) -> Vec<Vec<&str>> {
    let mut terms: Vec<Vec<&str>> = Vec::new();
    for (at, part) in query.split('"').enumerate() {
        let found =
            part.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty());
        if at % 2 == 1 {
            terms.push(found.collect());
        } else {
            terms.extend(found.map(|word| vec![word]));
        }
    }
    let mut kept: Vec<Vec<&str>> = Vec::new();
    for term in terms {
        if kept.len() < MAX_TERMS && !term.is_empty() && !kept.contains(&term) {
            kept.push(term);
        }
    }
    kept
}

/// A query of FTS5 for entries that hold all terms.
fn matching(terms: &[Vec<&str>]) -> String {
    terms.iter().map(|term| format!("\"{}\"", term.join(" "))).collect::<Vec<_>>().join(" ")
}

/// Some words of a text around the first match, on one line; its beginning if the match is spelled differently, for
/// example with other accents.
fn excerpt(text: &str, terms: &[Vec<&str>]) -> String {
    let wanted: Vec<String> = terms.iter().flatten().map(|word| word.to_lowercase()).collect();
    let is_hit = |piece: &str| {
        piece
            .split(|character: char| !character.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .any(|word| wanted.contains(&word.to_lowercase()))
    };
    let hit = text.split_whitespace().position(is_hit).unwrap_or(0);
    let from = hit.saturating_sub(EXCERPT_WORDS / 3);
    let mut words = text.split_whitespace().skip(from);
    let shown = words.by_ref().take(EXCERPT_WORDS).collect::<Vec<_>>().join(" ");
    let before = if from > 0 { "… " } else { "" };
    let after = if words.next().is_some() { " …" } else { "" };
    cut(format!("{before}{shown}{after}"))
}

/// A line cut to the length of an excerpt.
fn cut(mut line: String) -> String {
    if line.len() > MAX_EXCERPT {
        line.truncate(line.floor_char_boundary(MAX_EXCERPT));
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
    fn a_file_without_a_version_is_of_version_1_and_a_newer_one_is_refused() {
        let (_folder, store) = store();
        store.put("a", "one").unwrap();
        let set = |version: i64| {
            Connection::open(&store.path).unwrap().pragma_update(None, "user_version", version).unwrap();
        };
        let reopened = || KnowledgeStore::at(&store.path).get("a");
        set(0);
        assert_eq!(reopened().unwrap().as_deref(), Some("one"));
        set(VERSION + 1);
        let error = reopened().unwrap_err();
        assert!(matches!(error, KnowledgeStoreError::Newer { found: 2, .. }), "{error}");
        assert!(error.to_string().ends_with("it was left unchanged; use a newer graph-host"), "{error}");
        set(VERSION);
        assert!(reopened().is_ok());
    }

    #[test]
    fn an_excerpt_is_around_the_first_hit() {
        let (_folder, store) = store();
        let text = format!("{}the\n needle, {}", "hay ".repeat(100), "straw ".repeat(100));
        store.put("a", &text).unwrap();
        store.put("b", &"x".repeat(600)).unwrap();
        let found = store.search("", "Needle \"needle straw\"", 10).unwrap();
        let (before, after) = ("hay ".repeat(7), " straw".repeat(15));
        assert_eq!(found, [("a".to_owned(), format!("… {before}the needle,{after} …"))]);
        assert_eq!(store.search("", &"x".repeat(600), 1).unwrap()[0].1.len(), MAX_EXCERPT);
    }

    #[test]
    fn a_search_ends_whatever_is_stored() {
        let (_folder, store) = store();
        let text = "a b c d e f g h i j ".repeat(2_500);
        for number in 0..400 {
            store.put(&format!("k{number}"), &text).unwrap();
        }
        let began = std::time::Instant::now();
        let query = "a b c d e f g h i j \"a b\" \"b c\" \"c d\" \"d e\" \"e f\" \"f g\" \"g h\" \"h i\"";
        let found = store.search("", query, 100);
        assert!(began.elapsed() < 5 * LONGEST_SEARCH, "{:?}", began.elapsed());
        assert!(found == Err(KnowledgeStoreError::Slow) || found.is_ok_and(|hits| hits.len() == 100));
        // What was interrupted leaves nothing behind, and what ended in time interrupts nothing later.
        assert_eq!(store.get("k1").unwrap().as_deref(), Some(text.as_str()));
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
    fn the_digest_is_that_of_the_schema() {
        assert_eq!(Shape::made_by([SCHEMA]).unwrap().digest().hex(), SHAPE);
    }

    #[test]
    fn files_that_were_made_by_somebody_else_are_left_alone() {
        let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS id, x AS key, 'a' AS text FROM n";
        let view = format!("DROP TABLE entries; CREATE VIEW entries AS {endless}");
        let altered = [
            (view.as_str(), "the view `entries` is not"),
            (
                "CREATE TRIGGER more AFTER UPDATE ON total BEGIN DELETE FROM entries; END",
                "the trigger `more`",
            ),
            ("DROP TRIGGER added", "the trigger `added` is missing"),
            ("CREATE INDEX odd ON entries (hex(zeroblob(id)))", "the index `odd`"),
            ("ALTER TABLE entries ADD COLUMN more TEXT AS (hex(text))", "the table `entries` is not"),
            ("CREATE TABLE words_more (x)", "the table `words_more`"),
            ("ANALYZE", "sqlite_stat1"),
            ("DROP TABLE words; CREATE VIRTUAL TABLE words USING fts5 (text)", "the table `words` is not"),
            ("INSERT INTO words (words, rank) VALUES ('rank', 'snippet(1)')", "settings"),
            ("INSERT INTO words (words, rank) VALUES ('pgsz', 64000)", "settings"),
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
        Connection::open(&path).unwrap().execute("UPDATE entries SET key = ?1", ["a/\u{1b}[2J"]).unwrap();
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
        let journal = beside::with_suffix(&path, "-journal");
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
