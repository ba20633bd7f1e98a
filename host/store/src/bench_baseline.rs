//! The lowest cost of a durable write with SQLite, as the baseline for benchmarks of the store.

use std::path::Path;

use rusqlite::Connection;

use crate::store::SyncMode;

/// A database with one table, without any of the store's guarantees.
#[derive(Debug)]
pub struct BareDatabase {
    connection: Connection,
}

impl BareDatabase {
    /// Creates a database in a new file.
    pub fn create(file: &Path) -> rusqlite::Result<Self> {
        let connection = Connection::open(file)?;
        connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
        connection.execute_batch("CREATE TABLE log (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT")?;
        Ok(Self { connection })
    }

    /// Sets the durability of the following commits.
    pub fn set_synchronous(&self, synchronous: SyncMode) -> rusqlite::Result<()> {
        let level = match synchronous {
            SyncMode::Full => "FULL",
            SyncMode::Normal => "NORMAL",
        };
        self.connection.pragma_update(None, "synchronous", level)
    }

    /// Commits the bytes as one row.
    pub fn commit(&self, bytes: &[u8]) -> rusqlite::Result<()> {
        self.connection.prepare_cached("INSERT INTO log (bytes) VALUES (?1)")?.execute([bytes]).map(drop)
    }

    /// Commits rows with these bytes in one transaction.
    pub fn commit_batch(&self, bytes: &[u8], rows: u32) -> rusqlite::Result<()> {
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        for _ in 0..rows {
            self.commit(bytes)?;
        }
        self.connection.execute_batch("COMMIT")
    }
}
