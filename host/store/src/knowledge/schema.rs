//! The tables of a file of knowledge, and those of older versions.

use rusqlite::{Connection, OptionalExtension as _};

use super::error::{KnowledgeStoreError, Result};
use crate::sqlite::schema;
use crate::sqlite::shape::Shape;

/// The application id of files of knowledge: `ghkn` in ASCII.
pub(crate) const APPLICATION_ID: i64 = 0x6768_6b6e;
/// The version of the tables (`PRAGMA user_version`). Files without one are of version 1, which did not write it.
pub(crate) const VERSION: i64 = 2;

/// The table of texts. Version 1 called it `entries`: a program that knows only version 1 finds no such table, and so
/// cannot write texts without indexing them. The name is in quotation marks, as SQLite writes it when it renames a
/// table.
pub(super) const TEXTS: &str = "
CREATE TABLE \"texts\" (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE COLLATE BINARY,
    text TEXT NOT NULL
) STRICT;
";
/// The tables of version 1, which used an index and a ranking of SQLite.
pub(super) const TABLES_1: &str = "
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
/// The index of words, with the numbers from which [`graph_core::ranking`] computes scores: how many words an entry
/// has, and how often and where each occurs in it. `places` are positions of a word in the text, counted in words, each
/// as its distance from the end of the one before.
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
/// The digests of the tables of version 1, and of those of this version.
pub(super) const SHAPES: [&str; 2] = [
    "d32fe21fe54411fe45c958543c85a7993fad788f156d4e3869e1eeb9cdf50ffe",
    "6b64c8f77fff750aa8f52f4ee53e8ddfbeb353cf9a961a6e7724c1b54916b64d",
];

/// The kind of tables in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KnowledgeTables {
    /// No tables.
    Empty,
    /// The tables of this version.
    Current,
    /// The tables of version 1.
    Older,
}

/// Returns the kind of tables in a file. Any tables that this program has not made are refused. `file` is the name of
/// the file in messages.
pub(super) fn recognise(connection: &Connection, file: &str) -> Result<KnowledgeTables> {
    let altered = |what: String| KnowledgeStoreError::Altered(format!("{file}: {what}"));
    let id: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if id != APPLICATION_ID {
        let is_foreign = schema::has_entries(connection)?;
        let foreign = || KnowledgeStoreError::Foreign(file.to_owned());
        return if is_foreign { Err(foreign()) } else { Ok(KnowledgeTables::Empty) };
    }
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if version > VERSION {
        return Err(KnowledgeStoreError::Newer { file: file.to_owned(), found: version });
    }
    let is_older = version < VERSION;
    let found = match Shape::read(connection) {
        Err(error) if schema::has_many_entries(&error) => {
            return Err(altered(schema::MANY_ENTRIES.to_owned()));
        }
        found => found?,
    };
    let (shape, tables) = if is_older { (SHAPES[0], ["", TABLES_1]) } else { (SHAPES[1], [TEXTS, INDEX]) };
    if !found.is(shape)
        && let Some(what) = found.difference(&Shape::made_by(tables)?)
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
    Ok(if is_older { KnowledgeTables::Older } else { KnowledgeTables::Current })
}

/// Reports whether the index of version 1 has no setting but its version. FTS5 keeps settings in a table of the file.
fn has_own_settings(connection: &Connection) -> Result<bool> {
    let settings = "SELECT count(*) FROM (SELECT k, v FROM words_config LIMIT 8)";
    let made = "SELECT 1 FROM words_config WHERE k = 'version' AND v = 4";
    let settings: i64 = connection.query_row(settings, [], |row| row.get(0))?;
    Ok(settings == 1 && connection.query_row(made, [], |_| Ok(())).optional()?.is_some())
}

/// Creates the tables, within a transaction.
pub(super) fn make(connection: &Connection) -> Result<()> {
    connection.execute_batch(TEXTS)?;
    connection.execute_batch(INDEX)?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    Ok(connection.pragma_update(None, "user_version", VERSION)?)
}
