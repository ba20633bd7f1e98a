//! Resource limits for databases that may come from a stranger: limits of SQLite, and a meter of the work of one call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, Result as SqlResult};

use crate::bounds::LARGEST_TEXT;
use crate::held::FilePlace;

/// Maximum size of a row, in bytes: its largest text, and the names next to it.
const LARGEST_ROW: u64 = LARGEST_TEXT + (16 << 20);

/// Maximum memory of all of SQLite in this process at one time, in bytes. To find rows by a key, SQLite reads complete
/// rows of a file to compare them, however long they are; and it needs twice the size of the largest row to write it.
pub(super) const MOST_MEMORY: u64 = 2 * LARGEST_ROW + (256 << 20);

/// Limits that no statement of this program comes close to. Cascades are one level deep, and so are the triggers of
/// knowledge of version 1.
const LIMITS: [(Limit, i32); 13] = [
    (Limit::SQLITE_LIMIT_SQL_LENGTH, 64 << 10),
    (Limit::SQLITE_LIMIT_COLUMN, 64),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 64),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 8),
    (Limit::SQLITE_LIMIT_VDBE_OP, 100_000),
    (Limit::SQLITE_LIMIT_FUNCTION_ARG, 16),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 64),
    (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 64),
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    (Limit::SQLITE_LIMIT_SCHEMA, 64),
    (Limit::SQLITE_LIMIT_TRIGGER_STEPS, 8),
];

/// Configures a connection to a file that may come from a stranger, before anything is read from it.
pub(crate) fn set(connection: &Connection) -> SqlResult<()> {
    // The schema may not call functions that reach outside the database, no statement may change the schema directly,
    // and a page whose cells do not fit is damage: SQLite must not guess its content.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    // No text and no row may be larger, whatever the file states. Files are not memory-mapped: if another process
    // truncated a mapped file, this process would be killed.
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, i32::try_from(LARGEST_ROW).unwrap_or(i32::MAX))?;
    for (limit, most) in LIMITS {
        connection.set_limit(limit, most)?;
    }
    connection.pragma_update(None, "mmap_size", 0)?;
    connection.pragma_update(None, "hard_heap_limit", i64::try_from(MOST_MEMORY).unwrap_or(i64::MAX))
}

/// Number of instructions of SQLite's virtual machine between two checks of the meter.
const STRIDE: u32 = 1_000;
/// Number of instructions that a call may take regardless of the size of the file: some tenths of a second.
const FREE: u64 = 20_000_000;
/// Number of instructions that a call may take for each byte of the file. Reading a row takes a few tens of
/// instructions, and the smallest rows, those of the index of words, have some twenty bytes.
const PER_BYTE: u64 = 32;
/// Maximum ratio of a file's counted length to the bytes that it occupies on the disk. It is not 1 because file systems
/// compress.
const MOST_COMPRESSED: u64 = 16;

/// Counts the work of one call on a connection, and interrupts the call if no file of its size can require so much
/// work. Pages that refer to each other would otherwise yield rows without end. A call may also have a deadline.
#[derive(Clone, Debug)]
pub(crate) struct Meter(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    files: [FilePlace; 2],
    begun: Instant,
    /// Number of instructions since the call began.
    spent: AtomicU64,
    /// Number of instructions that the call may take, by the size of the files when it was last read.
    allowed: AtomicU64,
    /// The time at which the call has to end, in milliseconds after `begun`; `u64::MAX` for no time.
    until: AtomicU64,
}

impl Meter {
    /// Installs a meter on the connection to a file.
    pub(crate) fn on(connection: &mut Connection, file: &FilePlace) -> SqlResult<Self> {
        let meter = Self(Arc::new(Inner {
            files: [file.clone(), file.beside("-wal")],
            begun: Instant::now(),
            spent: AtomicU64::new(0),
            allowed: AtomicU64::new(FREE),
            until: AtomicU64::new(u64::MAX),
        }));
        let inner = Arc::clone(&meter.0);
        connection
            .progress_handler(i32::try_from(STRIDE).unwrap_or(i32::MAX), Some(move || inner.is_over()))?;
        Ok(meter)
    }

    /// Starts measuring a call.
    pub(crate) fn begin(&self) {
        self.0.spent.store(0, Ordering::Relaxed);
        self.0.allowed.store(FREE, Ordering::Relaxed);
        self.0.until.store(u64::MAX, Ordering::Relaxed);
    }

    /// Starts measuring a call that has to end within a time.
    pub(crate) fn begin_within(&self, time: Duration) {
        self.begin();
        let until = self.0.begun.elapsed().saturating_add(time).as_millis();
        self.0.until.store(u64::try_from(until).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Reports whether the call exceeded its number of instructions, and not its time.
    pub(crate) fn is_spent(&self) -> bool {
        self.0.spent.load(Ordering::Relaxed) > self.0.allowed.load(Ordering::Relaxed)
    }
}

impl Inner {
    fn is_over(&self) -> bool {
        let spent = self.spent.fetch_add(u64::from(STRIDE), Ordering::Relaxed).saturating_add(STRIDE.into());
        if spent > self.allowed.load(Ordering::Relaxed) {
            // Only the few calls that take long inspect the files.
            let bytes = self.files.iter().map(size).fold(0, u64::saturating_add);
            let allowed = FREE.saturating_add(bytes.saturating_mul(PER_BYTE));
            self.allowed.store(allowed, Ordering::Relaxed);
            if spent > allowed {
                return true;
            }
        }
        let until = self.until.load(Ordering::Relaxed);
        until != u64::MAX && self.begun.elapsed().as_millis() >= u128::from(until)
    }
}

/// Returns the counted length of a file in bytes, for which holes do not count.
fn size(file: &FilePlace) -> u64 {
    let found = file.entry().ok().flatten();
    found.map_or(0, |found| found.length().min(found.on_disk().saturating_mul(MOST_COMPRESSED)))
}
