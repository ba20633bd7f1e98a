//! The tables of a file of knowledge, and those of older versions.

use rusqlite::{Connection, OptionalExtension as _};

use super::error::{KnowledgeStoreError, Result};
use super::index;
use crate::sqlite::guard::Meter;
use crate::sqlite::schema;
use crate::sqlite::shape::Shape;

/// Marks the file as one of these: `ghkn`.
pub(crate) const APPLICATION_ID: i64 = 0x6768_6b6e;
/// The version of the tables (`PRAGMA user_version`). Files from before it was written there have none, and are of version 1.
pub(crate) const VERSION: i64 = 2;

/// The texts, in every version.
pub(super) const ENTRIES: &str = "
CREATE TABLE entries (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE COLLATE BINARY,
    text TEXT NOT NULL
) STRICT;
";
/// What version 1 had besides: an index that SQLite kept and ranked by.
pub(super) const INDEX_1: &str = "
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
/// Takes away what only version 1 had.
const REMOVE_1: &str = "DROP TRIGGER added; DROP TRIGGER changed; DROP TABLE words; DROP TABLE total;";
/// The index of words, and what [`graph_core::ranking`] computes scores from: how many words an entry has, and how often and where it has
/// each. `places` are numbers of words in the text, each as its distance from the end of the one before.
pub(super) const INDEX: &str = "
CREATE TABLE total (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    entries INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    words INTEGER NOT NULL
) STRICT;
INSERT INTO total VALUES (1, 0, 0, 0);
CREATE TABLE lengths (entry INTEGER PRIMARY KEY, words INTEGER NOT NULL) STRICT;
CREATE TABLE words (
    word TEXT NOT NULL COLLATE BINARY,
    entry INTEGER NOT NULL,
    times INTEGER NOT NULL,
    places BLOB NOT NULL,
    PRIMARY KEY (word, entry)
) STRICT, WITHOUT ROWID;
";
/// The digest of the tables of version 1, and of those of this version.
pub(super) const SHAPES: [&str; 2] = [
    "d32fe21fe54411fe45c958543c85a7993fad788f156d4e3869e1eeb9cdf50ffe",
    "a10e7817e5923c6f642833dcc7a8e2c2316ec3036d8dfc36c270c20df40c2751",
];

/// What a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recognised {
    /// Nothing.
    Empty,
    /// The tables of this version.
    Current,
    /// The tables of version 1.
    Older,
}

/// What a file has. Anything but the tables of this program is refused; `file` is what messages call it.
pub(super) fn recognise(connection: &Connection, file: &str) -> Result<Recognised> {
    let altered = |what: String| KnowledgeStoreError::Altered(format!("{file}: {what}"));
    let id: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if id != APPLICATION_ID {
        let is_foreign = schema::has_entries(connection)?;
        let foreign = || KnowledgeStoreError::Foreign(file.to_owned());
        return if is_foreign { Err(foreign()) } else { Ok(Recognised::Empty) };
    }
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if version > VERSION {
        return Err(KnowledgeStoreError::Newer { file: file.to_owned(), found: version });
    }
    let is_older = version < VERSION;
    let found = match Shape::of(connection) {
        Err(error) if schema::has_many_entries(&error) => {
            return Err(altered(schema::MANY_ENTRIES.to_owned()));
        }
        found => found?,
    };
    let (shape, index) = if is_older { (SHAPES[0], INDEX_1) } else { (SHAPES[1], INDEX) };
    if !found.is(shape)
        && let Some(what) = found.difference(&Shape::made_by([ENTRIES, index])?)
    {
        return Err(altered(what));
    }
    if is_older && !has_own_settings(connection)? {
        return Err(altered("the index of its words has settings that graph-host does not make".to_owned()));
    }
    let total = "SELECT 1 FROM total WHERE entries >= 0 AND bytes >= 0";
    if connection.query_row(total, [], |_| Ok(())).optional()?.is_none() {
        return Err(altered("it does not count its entries".to_owned()));
    }
    Ok(if is_older { Recognised::Older } else { Recognised::Current })
}

/// Whether the index of version 1 has no settings but its version: FTS5 keeps them in a table of the file.
fn has_own_settings(connection: &Connection) -> Result<bool> {
    let settings = "SELECT count(*) FROM (SELECT k, v FROM words_config LIMIT 8)";
    let made = "SELECT 1 FROM words_config WHERE k = 'version' AND v = 4";
    let settings: i64 = connection.query_row(settings, [], |row| row.get(0))?;
    Ok(settings == 1 && connection.query_row(made, [], |_| Ok(())).optional()?.is_some())
}

/// Makes the tables, within a transaction.
pub(super) fn make(connection: &Connection) -> Result<()> {
    connection.execute_batch(ENTRIES)?;
    connection.execute_batch(INDEX)?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    Ok(connection.pragma_update(None, "user_version", VERSION)?)
}

/// Replaces the index of a file of version 1, within a transaction. How much work that is depends on the texts: it is counted for each.
pub(super) fn migrate(connection: &Connection, meter: &Meter) -> Result<()> {
    meter.begin();
    connection.execute_batch(REMOVE_1)?;
    connection.execute_batch(INDEX)?;
    let mut next = connection.prepare("SELECT id, text FROM entries WHERE id > ?1 ORDER BY id LIMIT 1")?;
    let mut last = i64::MIN;
    loop {
        meter.begin();
        let entry = next.query_row([last], |row| Ok((row.get(0)?, row.get::<_, String>(1)?))).optional()?;
        let Some((id, text)) = entry else { break };
        index::add(connection, id, &text)?;
        last = id;
    }
    Ok(connection.pragma_update(None, "user_version", VERSION)?)
}
