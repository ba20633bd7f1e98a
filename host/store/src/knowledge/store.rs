//! The store of a project's knowledge.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use graph_core::capability::is_key;
use graph_core::diagnostic::printable;
use graph_core::ranking::Query;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, TransactionBehavior, params};

use super::error::{KnowledgeStoreError, LONGEST_CALL, LONGEST_SEARCH, Result};
use super::migration::{self, MigrationEffort};
use super::schema::{self, KnowledgeTables};
use super::time_limit::TimeLimit;
use super::{index, search};
use crate::held::{Entry, FilePlace, HeldFolder};
use crate::sqlite::connection::{self, Changes};
use crate::sqlite::guard::{self, Meter};
use crate::sqlite::sidecar_files::{self, DatabaseFile};

/// Maximum number of entries of a project.
pub(super) const MAX_ENTRIES: i64 = 100_000;
/// Maximum total size of all texts of a project, in bytes.
pub(super) const MAX_BYTES: i64 = 256 << 20;
/// Time limit of waiting for another process that writes.
const BUSY: Duration = Duration::from_secs(5);

/// The knowledge of a project. Its file is created with the first entry. Several processes may use it at the same time.
#[derive(Debug)]
pub struct KnowledgeStore {
    file: FilePlace,
    connection: Mutex<Option<OpenKnowledge>>,
}

/// The open file.
#[derive(Debug)]
struct OpenKnowledge {
    connection: Connection,
    /// Measures the work of each call.
    meter: Meter,
    /// The entry of the file when it was opened.
    opened: Entry,
    /// The folder through which the connection opens its files.
    _folder: HeldFolder,
}

impl KnowledgeStore {
    /// Returns the knowledge in a file, which need not exist yet.
    pub fn at(file: impl Into<FilePlace>) -> Self {
        Self { file: file.into(), connection: Mutex::new(None) }
    }

    /// Migrates a file of an older version, however long that takes. Any other call migrates it only if it has few
    /// texts, because calls have a time limit.
    pub fn bring_up_to_date(&self) -> Result<()> {
        self.open(false, MigrationEffort::Whole).map(drop)
    }

    /// Returns the open file; `None` if the file is missing and `make` is false.
    fn open(
        &self,
        make: bool,
        effort: MigrationEffort,
    ) -> Result<Option<MutexGuard<'_, Option<OpenKnowledge>>>> {
        let mut guard = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        match &*guard {
            Some(open) => open.meter.begin_within(LONGEST_CALL),
            None => match self.connect(make, effort)? {
                None => return Ok(None),
                open => *guard = open,
            },
        }
        Ok(Some(guard))
    }

    fn connect(&self, make: bool, effort: MigrationEffort) -> Result<Option<OpenKnowledge>> {
        let place = &self.file;
        if sidecar_files::check(place)? == DatabaseFile::Nothing {
            if !make {
                return Ok(None);
            }
            let folder = place.folder();
            folder.make().map_err(|error| {
                KnowledgeStoreError::Sqlite(format!("{}: {error}", folder.path().display()))
            })?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let (mut connection, folder) = connection::open(place, flags, Changes::Possible)?;
        connection.busy_timeout(BUSY)?;
        guard::set(&connection)?;
        let meter = Meter::on(&mut connection, place)?;
        meter.begin_within(LONGEST_CALL + BUSY);
        connection.pragma_update(None, "synchronous", "FULL")?;
        let opened = place
            .found()
            .map_err(|error| KnowledgeStoreError::Sqlite(format!("{}: {error}", place.path().display())))?;
        let mut open = OpenKnowledge { connection, meter, opened, _folder: folder };
        let prepared = self.prepare(&mut open, effort);
        self.ended(&open, prepared)?;
        open.meter.begin_within(LONGEST_CALL);
        Ok(Some(open))
    }

    /// Creates the tables in an empty file, and migrates older ones.
    fn prepare(&self, open: &mut OpenKnowledge, effort: MigrationEffort) -> Result<()> {
        let file = self.file.path().display().to_string();
        // Another program's file is left unchanged: nothing is written before the file is recognized.
        let transaction = open.connection.transaction_with_behavior(TransactionBehavior::Deferred)?;
        let found = schema::recognise(&transaction, &file)?;
        transaction.commit()?;
        if found == KnowledgeTables::Current {
            return Ok(());
        }
        let transaction = open.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have created the tables meanwhile.
        match schema::recognise(&transaction, &file)? {
            KnowledgeTables::Empty => schema::make(&transaction)?,
            KnowledgeTables::Older => migration::migrate(&transaction, &open.meter, effort, &file)?,
            KnowledgeTables::Current => {}
        }
        Ok(transaction.commit()?)
    }

    fn read<T: Default>(&self, read: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        match self.open(false, MigrationEffort::Call)?.as_deref() {
            Some(Some(open)) => self.ended(open, read(&open.connection)),
            _ => Ok(T::default()),
        }
    }

    /// Returns the result of a call. If it was interrupted because it required more work than an undamaged file can
    /// need, the error is [`KnowledgeStoreError::Altered`].
    fn ended<T>(&self, open: &OpenKnowledge, answer: Result<T>) -> Result<T> {
        match answer {
            Err(KnowledgeStoreError::Late | KnowledgeStoreError::Slow) if open.meter.is_spent() => {
                let what = "reading it takes more work than a file of its size can need";
                Err(KnowledgeStoreError::Altered(format!("{}: {what}", self.file.path().display())))
            }
            answer => answer,
        }
    }

    /// Returns the text of a key.
    pub fn get(&self, key: &str) -> Result<Option<String>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached("SELECT text FROM texts WHERE key = ?1")?;
            Ok(statement.query_row([key], |row| row.get(0)).optional()?)
        })
    }

    /// Writes the text of a key, in place of an earlier one. It is on the disk when this returns.
    pub fn put(&self, key: &str, text: &str) -> Result<()> {
        let mut guard = self.open(true, MigrationEffort::Call)?;
        let Some(open) = guard.as_deref_mut().and_then(Option::as_mut) else { return Ok(()) };
        let written = Self::write(&mut open.connection, key, text);
        self.ended(open, written)?;
        if self.file.is_still(&open.opened) {
            return Ok(());
        }
        Err(KnowledgeStoreError::Gone(self.file.path().display().to_string()))
    }

    fn write(connection: &mut Connection, key: &str, text: &str) -> Result<()> {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let known: Option<(i64, String)> = transaction
            .query_row("SELECT id, text FROM texts WHERE key = ?1", [key], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .optional()?;
        let old = known.as_ref().map(|(_, old)| old.as_str());
        if old == Some(text) {
            return Ok(());
        }
        check_room(&transaction, old, text)?;
        if let Some((id, old)) = &known {
            transaction.execute("UPDATE texts SET text = ?2 WHERE id = ?1", params![id, text])?;
            index::replace(&transaction, *id, old, text)?;
        } else {
            transaction.execute("INSERT INTO texts (key, text) VALUES (?1, ?2)", params![key, text])?;
            index::add(&transaction, transaction.last_insert_rowid(), text)?;
        }
        Ok(transaction.commit()?)
    }

    /// Returns keys with excerpts of the entries below a prefix that contain all words of a query, the best first.
    pub fn search(&self, prefix: &str, query: &str, limit: u32) -> Result<Vec<(String, String)>> {
        let query = Query::new(query).ok_or(KnowledgeStoreError::NoWord)?;
        self.read(|connection| {
            let time = TimeLimit::set(connection.get_interrupt_handle(), LONGEST_SEARCH)?;
            let found =
                search::search(connection, prefix, &query, limit, &time).map_err(|error| match error {
                    KnowledgeStoreError::Late => KnowledgeStoreError::Slow,
                    error => error,
                })?;
            found.into_iter().map(|(key, excerpt)| Ok((checked(key)?, excerpt))).collect()
        })
    }

    /// Returns the keys that begin with a prefix and come after `after`, in byte order.
    pub fn list(&self, prefix: &str, after: Option<&str>, limit: u32) -> Result<Vec<String>> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT key FROM texts WHERE key >= ?1 AND key > ?2 AND substr(key, 1, length(?1)) = ?1
                 ORDER BY key LIMIT ?3",
            )?;
            let rows =
                statement.query_map(params![prefix, after.unwrap_or_default(), limit], |row| row.get(0))?;
            rows.map(|key| checked(key?)).collect()
        })
    }
}

/// Refuses a text with which the project's knowledge would exceed a limit.
fn check_room(connection: &Connection, old: Option<&str>, text: &str) -> Result<()> {
    let size = |text: &str| i64::try_from(text.len()).unwrap_or(i64::MAX);
    let (entries, bytes): (i64, i64) =
        connection.query_row("SELECT entries, bytes FROM total", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let entries = entries.saturating_add(i64::from(old.is_none()));
    let bytes = bytes.saturating_sub(old.map_or(0, size)).saturating_add(size(text));
    if entries > MAX_ENTRIES || bytes > MAX_BYTES {
        return Err(KnowledgeStoreError::Full { entries, bytes });
    }
    Ok(())
}

/// Checks a key that was read. An invalid key shows that another program has written to the file.
fn checked(key: String) -> Result<String> {
    if is_key(&key) {
        return Ok(key);
    }
    let shown: String = key.chars().take(60).collect();
    Err(KnowledgeStoreError::Altered(format!("`{}` is no key", printable(&shown).replace('\n', "\\n"))))
}
