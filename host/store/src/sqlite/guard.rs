//! What keeps a stranger's database from taking what it likes: limits of SQLite, and a meter of the work of one call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::{Connection, Result as SqlResult};

use crate::bounds::LARGEST_TEXT;
use crate::held::FilePlace;

/// The largest row, in bytes: its largest text, and names next to it.
const LARGEST_ROW: u64 = LARGEST_TEXT + (16 << 20);

/// What all of SQLite in this process may take up at one time, in bytes. Where a file finds rows by a key, SQLite reads them
/// whole to compare them, however long they are; and to write the largest row, it needs that twice.
pub(super) const MOST_MEMORY: u64 = 2 * LARGEST_ROW + (256 << 20);

/// What no statement of this program comes near. Cascades go one level deep, and so do the triggers of
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

/// Sets a connection up for a file that may come from a stranger, before anything is read from it.
pub(crate) fn set(connection: &Connection) -> SqlResult<()> {
    // Nothing in its schema may call a function that reaches outside it, no statement may change the schema behind the back
    // of SQLite, and a page whose cells do not fit is damage and not something to guess from.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    // No text and no row is larger, whatever the file says; and what is read is read, not mapped: a file that another process cuts
    // off meanwhile would end this process.
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, i32::try_from(LARGEST_ROW).unwrap_or(i32::MAX))?;
    for (limit, most) in LIMITS {
        connection.set_limit(limit, most)?;
    }
    connection.pragma_update(None, "mmap_size", 0)?;
    connection.pragma_update(None, "hard_heap_limit", i64::try_from(MOST_MEMORY).unwrap_or(i64::MAX))
}

/// Instructions of SQLite's machine between two looks at the meter.
const STRIDE: u32 = 1_000;
/// Instructions that a call may take whatever the size of the file: some tenths of a second.
const FREE: u64 = 20_000_000;
/// Instructions that a call may take for each byte of the file: to read a row takes a few tens of them, and the
/// smallest rows, those of the index of words, have some twenty bytes.
const PER_BYTE: u64 = 32;
/// How many times more bytes a file may have than it takes up on its disk, before they stop to count: file systems compress.
const MOST_COMPRESSED: u64 = 16;

/// Counts the work of one call on a connection, and ends it where no file of its size can need as much: pages that hold each
/// other give rows without end. It may have a deadline as well.
#[derive(Clone, Debug)]
pub(crate) struct Meter(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    files: [FilePlace; 2],
    begun: Instant,
    /// Instructions since the call began.
    spent: AtomicU64,
    /// How many it may take, as far as that has been found out.
    allowed: AtomicU64,
    /// When it has to end, in milliseconds after `begun`; never at the largest number.
    until: AtomicU64,
}

impl Meter {
    /// Puts a meter on the connection to a file.
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

    /// A call begins.
    pub(crate) fn begin(&self) {
        self.0.spent.store(0, Ordering::Relaxed);
        self.0.allowed.store(FREE, Ordering::Relaxed);
        self.0.until.store(u64::MAX, Ordering::Relaxed);
    }

    /// A call begins that has to end within a time.
    pub(crate) fn begin_within(&self, time: Duration) {
        self.begin();
        let until = self.0.begun.elapsed().saturating_add(time).as_millis();
        self.0.until.store(u64::try_from(until).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Whether the call was ended for what it took, and not for its time.
    pub(crate) fn is_spent(&self) -> bool {
        self.0.spent.load(Ordering::Relaxed) > self.0.allowed.load(Ordering::Relaxed)
    }
}

impl Inner {
    fn is_over(&self) -> bool {
        let spent = self.spent.fetch_add(u64::from(STRIDE), Ordering::Relaxed).saturating_add(STRIDE.into());
        if spent > self.allowed.load(Ordering::Relaxed) {
            // The files are looked at by the few calls that take long.
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

/// The bytes of a file that count: its holes do not.
fn size(file: &FilePlace) -> u64 {
    let found = file.entry().ok().flatten();
    found.map_or(0, |found| found.length().min(found.on_disk().saturating_mul(MOST_COMPRESSED)))
}
