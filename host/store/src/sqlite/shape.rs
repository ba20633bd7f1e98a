//! Comparison of a database's schema with the one that this program creates.
//!
//! A schema can contain code that every process executes that reads or writes: a view in the place of a table, a
//! trigger, a generated column, an index on an expression. So it is compared entry by entry and letter by letter,
//! before anything else is read from a file.

use graph_core::diagnostic::printable;
use graph_core::digest::{Digest, DomainHasher};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

/// Maximum number of entries that are read. No schema of this program has as many.
const MOST: usize = 64;
/// The statement that reads the entries, in no particular order.
const ENTRIES: &str = "SELECT type, name, tbl_name, sql, rootpage FROM main.sqlite_schema LIMIT 64";
/// Number of characters of a stranger's name in messages.
const SHOWN: usize = 60;

/// An entry of the schema.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    name: String,
    kind: String,
    table: String,
    sql: Option<String>,
    /// True if it has pages of its own.
    stored: bool,
}

/// The schema of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// The entries, in order of their names.
    entries: Vec<Entry>,
    /// The name of an entry that has the same pages as another one, or as the schema itself.
    shares_pages: Option<String>,
    encoding: String,
}

/// Reads a column as text. A value of another type becomes a text that this program never writes.
fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<String>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Null => None,
        ValueRef::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        other => Some(format!("\0{:?}", other.data_type())),
    })
}

impl Shape {
    /// Reads the schema of an open database. None of its statements is executed, and none of its tables is read.
    pub(crate) fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let encoding = connection.query_row("PRAGMA encoding", [], |row| row.get(0))?;
        let mut statement = connection.prepare(ENTRIES)?;
        let mut rows = statement.query([])?;
        let mut entries = Vec::new();
        let (mut roots, mut shares_pages) = (Vec::new(), None);
        while let Some(row) = rows.next()? {
            let entry = Entry {
                name: text(row, 1)?.unwrap_or_default(),
                kind: text(row, 0)?.unwrap_or_default(),
                table: text(row, 2)?.unwrap_or_default(),
                sql: text(row, 3)?,
                stored: !matches!(row.get_ref(4)?, ValueRef::Null | ValueRef::Integer(0)),
            };
            if entry.stored {
                // The first page belongs to the schema itself.
                let root = row.get_ref(4)?.as_i64().unwrap_or(1);
                if root <= 1 || roots.contains(&root) {
                    shares_pages = Some(entry.name.clone());
                }
                roots.push(root);
            }
            entries.push(entry);
        }
        entries.sort_unstable();
        Ok(Self { entries, shares_pages, encoding })
    }

    /// Returns the schema that statements create.
    pub(crate) fn made_by<'s>(statements: impl IntoIterator<Item = &'s str>) -> rusqlite::Result<Self> {
        let connection = Connection::open_in_memory()?;
        statements.into_iter().try_for_each(|statements| connection.execute_batch(statements))?;
        Self::read(&connection)
    }

    /// Returns the digest of the schema. Two schemas with the same digest have the same entries.
    pub(crate) fn digest(&self) -> Digest {
        let hasher = DomainHasher::new("graph-host/database-schema/v1").field(self.encoding.as_bytes());
        let entries = self.entries.iter().fold(hasher, |hasher, entry| {
            let [sql, stored]: [&[u8]; 2] = [
                entry.sql.as_ref().map_or(b"\0".as_slice(), |sql| sql.as_bytes()),
                if entry.stored { b"stored".as_slice() } else { b"none".as_slice() },
            ];
            let texts = [entry.name.as_bytes(), entry.kind.as_bytes(), entry.table.as_bytes(), sql, stored];
            texts.into_iter().fold(hasher, DomainHasher::field)
        });
        entries.finish()
    }

    /// Reports whether this is the schema with a digest, and no two entries share pages.
    pub(crate) fn is(&self, digest: &str) -> bool {
        self.shares_pages.is_none() && self.digest().hex() == digest
    }

    /// Returns the first difference from the expected schema.
    pub(crate) fn difference(&self, expected: &Self) -> Option<String> {
        if self.encoding != expected.encoding {
            return Some(format!("its texts are in {}, not in {}", self.encoding, expected.encoding));
        }
        for found in &self.entries {
            let shown = found.shown();
            match expected.entries.iter().find(|entry| entry.name == found.name) {
                None => return Some(format!("it has {shown}, which graph-host does not make")),
                Some(entry) if entry != found => {
                    return Some(format!("{shown} is not as graph-host makes it"));
                }
                Some(_) => {}
            }
        }
        if let Some(missing) = expected.entries.iter().find(|entry| !self.entries.contains(entry)) {
            return Some(format!("{} is missing", missing.shown()));
        }
        if self.entries.len() != expected.entries.len() || self.entries.len() >= MOST {
            return Some("it names a table or an index twice".to_owned());
        }
        self.shares_pages
            .as_ref()
            .map(|name| format!("`{}` has the pages of another table or index", printable(name)))
    }
}

impl Entry {
    fn shown(&self) -> String {
        let cut = |text: &str| -> String {
            let cut: String = text.chars().take(SHOWN).collect();
            printable(&cut).replace('\n', "\\n").replace('\t', "\\t")
        };
        format!("the {} `{}`", cut(&self.kind), cut(&self.name))
    }
}
