//! The tables of a database of runs, and their migration from each version to the next.

use graph_core::diagnostic::printable;
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, TransactionBehavior};

use super::shape::Shape;

/// The application id of databases of runs (`PRAGMA application_id`): `GHos` in ASCII.
pub(crate) const APPLICATION_ID: i64 = 0x4748_6f73;

/// The version of the tables that this program reads and writes (`PRAGMA user_version`).
pub const SCHEMA_VERSION: u32 = 8;

/// The statements that migrate each version to the next, starting with an empty file.
pub(super) const MIGRATIONS: [&str; SCHEMA_VERSION as usize] = [V1, V2, V3, V4, V5, V6, V7, V8];

/// The tables of version 1.
///
/// - `runs.id` rises in order of creation.
/// - A checkpoint's values are the rows `first_value` to `first_value + value_count - 1` of `channel_values`. They are
///   written together, so that no index is needed to find them.
/// - `pending` contains only records under the newest checkpoint of their namespace.
const V1: &str = "
CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL UNIQUE,
    graph_id TEXT NOT NULL,
    graph_path TEXT,
    parent_id TEXT,
    root_id TEXT NOT NULL,
    continuation_of TEXT,
    continuation_id TEXT,
    chain_root_id TEXT,
    status TEXT NOT NULL,
    pid INTEGER,
    step INTEGER NOT NULL,
    fuel INTEGER NOT NULL,
    result TEXT,
    error TEXT,
    graph BLOB NOT NULL,
    inputs BLOB NOT NULL,
    manifest BLOB NOT NULL,
    pins BLOB NOT NULL,
    seed BLOB NOT NULL,
    key BLOB NOT NULL,
    durability TEXT NOT NULL,
    max_steps INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX runs_by_root ON runs (root_id);

CREATE TABLE checkpoints (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    namespace TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    step INTEGER NOT NULL,
    first_value INTEGER NOT NULL,
    value_count INTEGER NOT NULL,
    digest BLOB NOT NULL,
    key BLOB NOT NULL,
    signature BLOB NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX checkpoints_by_place ON checkpoints (run, namespace, sequence, step);

CREATE TABLE channel_values (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    namespace TEXT NOT NULL,
    channel TEXT NOT NULL,
    version INTEGER NOT NULL,
    segment INTEGER NOT NULL CHECK (segment IN (0, 1)),
    json TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX channel_values_by_channel ON channel_values (run, namespace, channel, version);

CREATE TABLE pending (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    namespace TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('task', 'answers', 'status')),
    task TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    step INTEGER NOT NULL,
    digest BLOB NOT NULL,
    key BLOB NOT NULL,
    signature BLOB NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX pending_by_place ON pending (run, namespace, kind, task);

CREATE TABLE owners (
    run INTEGER PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    pid INTEGER NOT NULL,
    host TEXT NOT NULL,
    since INTEGER NOT NULL
) STRICT;

CREATE TABLE snapshots (
    digest BLOB NOT NULL PRIMARY KEY,
    text TEXT NOT NULL
) STRICT;
";

/// The history of a run, in numbered entries.
///
/// - A checkpoint holds `events` entries, and `event` is the number of entries before them; NULL in a checkpoint that
///   was written before entries were numbered.
/// - `history` contains status records, because `pending` does not keep them.
const V2: &str = "
ALTER TABLE checkpoints ADD COLUMN event INTEGER;
ALTER TABLE checkpoints ADD COLUMN events INTEGER NOT NULL DEFAULT 0;
ALTER TABLE pending ADD COLUMN events INTEGER NOT NULL DEFAULT 0;

CREATE TABLE history (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    event INTEGER NOT NULL,
    events INTEGER NOT NULL,
    namespace TEXT NOT NULL,
    kind TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    step INTEGER NOT NULL,
    digest BLOB NOT NULL,
    key BLOB NOT NULL,
    signature BLOB NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX history_by_event ON history (run, event);
";

/// The notes about checkpoints that were removed, by run and namespace.
const V3: &str = "
CREATE TABLE prunings (
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    namespace TEXT NOT NULL,
    note TEXT NOT NULL,
    PRIMARY KEY (run, namespace)
) STRICT, WITHOUT ROWID;
";

/// The table `value_places`, by which values are found by their channel. It is filled for many values at one time: an
/// index would change a separate page for every channel that a commit writes. `placed` contains the number up to which
/// values are in it.
///
/// Values do not refer to `runs`: without an index that begins with the run, removing a run would read all values.
const V4: &str = "
ALTER TABLE channel_values RENAME TO channel_values_before;
CREATE TABLE channel_values (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    namespace TEXT NOT NULL,
    channel TEXT NOT NULL,
    version INTEGER NOT NULL,
    segment INTEGER NOT NULL CHECK (segment IN (0, 1)),
    json TEXT NOT NULL
) STRICT;
INSERT INTO channel_values SELECT id, run, namespace, channel, version, segment, json FROM channel_values_before;
DROP TABLE channel_values_before;

CREATE TABLE value_places (
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    namespace TEXT NOT NULL,
    channel TEXT NOT NULL,
    version INTEGER NOT NULL,
    id INTEGER NOT NULL,
    PRIMARY KEY (run, namespace, channel, version, id)
) STRICT, WITHOUT ROWID;
INSERT INTO value_places SELECT run, namespace, channel, version, id FROM channel_values ORDER BY 1, 2, 3, 4, 5;

CREATE TABLE placed (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    last INTEGER NOT NULL
) STRICT;
INSERT INTO placed SELECT 1, ifnull(max(id), 0) FROM channel_values;
";

/// Records of hooks in `pending`; their `task` is the id of the call.
const V5: &str = "
CREATE TABLE pending_5 (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    namespace TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('task', 'answers', 'hook', 'status')),
    task TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    step INTEGER NOT NULL,
    digest BLOB NOT NULL,
    key BLOB NOT NULL,
    signature BLOB NOT NULL,
    body TEXT NOT NULL,
    events INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO pending_5 SELECT * FROM pending;
DROP TABLE pending;
ALTER TABLE pending_5 RENAME TO pending;
CREATE UNIQUE INDEX pending_by_place ON pending (run, namespace, kind, task);
";

/// Results that are cached for later tasks. They outlive their run.
const V6: &str = "
CREATE TABLE results (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL,
    run TEXT NOT NULL,
    namespace TEXT NOT NULL,
    at INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    signer BLOB NOT NULL,
    signature BLOB NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX results_by_place ON results (key, run, namespace);
CREATE INDEX results_by_age ON results (key, at, run, namespace);
";

/// The fences of runs: the newest epoch, and the digest of the last record of the last commit. `head` is NULL if that
/// record is the newest checkpoint of the run itself, so that a superstep without child runs changes nothing here. A
/// run that no process has acquired has no row. `epochs` contains the epoch that any run was given last. It remains
/// when runs are removed, because other processes may still have guards of them.
const V7: &str = "
CREATE TABLE fences (
    run INTEGER PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    epoch INTEGER NOT NULL,
    head BLOB
) STRICT;

CREATE TABLE epochs (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    last INTEGER NOT NULL
) STRICT;
INSERT INTO epochs VALUES (1, 0);
";

/// The language model usage of the run and its child runs, and the model that was asked last. The usage of earlier runs
/// is unknown here; it is in their records.
const V8: &str = "
ALTER TABLE runs ADD COLUMN turns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN input_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN output_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN spend INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN model TEXT;
";

/// The digests of the schemas that [`MIGRATIONS`] create up to each version, as [`Shape::digest`] returns them. They
/// are constants because creating the schema whenever a file is opened would take longer than opening the file.
const SHAPES: [&str; SCHEMA_VERSION as usize] = [
    "6b9ebffe2f6bfee454f8ebb113d84fbac3f06e8226cb8db4e06445f4ce7da32e",
    "2f99441159174e06ea0b2a937d09687781584b06bdbb92d7dd040806e6c9852a",
    "d6e8a23c31f5502381c0e1fc071e0fffe651adb3af22d38221c66b940105cdc7",
    "8942637e253595f09939c16eebbc69eafa79af388a7ee6529cf44ffafeb3ec9b",
    "00a4b78fb9fbfca1384de1160c7e16e08134bba59f39cbe66d7e7a8a8b77018a",
    "d62121391f8ca8b8f25d279414a83afaea119e9764253146c0354c56751d77bd",
    "857f54094865c81ca2ea35ce3c8f0e82c8c0da7b2b301fa91bd2f5fc61132458",
    "0d418e41ee1d479de3238a490e68ff57460a63d425f71039973cdd65643577ef",
];

/// The identity of a file by its header and its schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Identity {
    /// An empty file.
    Empty,
    /// A database of this program, with tables of this version.
    Ours(u32),
    /// Another program's database.
    Foreign {
        /// The application id in its header.
        application_id: i64,
    },
    /// A database with this program's application id whose tables are not those of this program.
    Altered {
        /// The first difference.
        what: String,
    },
}

/// The difference of a schema that SQLite stopped reading.
pub(crate) const MANY_ENTRIES: &str = "it has more tables and indexes than graph-host makes";

/// Returns the identity of a file. Everything is read from one state of the file, because another process may be
/// creating its tables.
pub(super) fn identify(connection: &Connection) -> rusqlite::Result<Identity> {
    connection.execute_batch("SAVEPOINT look")?;
    let found = read_identity(connection);
    let released = connection.execute_batch("RELEASE look");
    let found = found?;
    released.map(|()| found)
}

fn read_identity(connection: &Connection) -> rusqlite::Result<Identity> {
    let application_id: i64 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if application_id == APPLICATION_ID {
        // A negative version is as unreadable as one that is too new.
        let version = u32::try_from(version).unwrap_or(u32::MAX);
        return match altered(connection, version)? {
            Some(what) => Ok(Identity::Altered { what }),
            None => Ok(Identity::Ours(version)),
        };
    }
    if application_id == 0 && version == 0 && !has_entries(connection)? {
        Ok(Identity::Empty)
    } else {
        Ok(Identity::Foreign { application_id })
    }
}

/// Reports whether the schema has an entry.
pub(crate) fn has_entries(connection: &Connection) -> rusqlite::Result<bool> {
    let any = connection.query_row("SELECT 1 FROM main.sqlite_schema LIMIT 1", [], |_| Ok(())).optional();
    match any {
        Err(error) if has_many_entries(&error) => Ok(true),
        any => any.map(|any| any.is_some()),
    }
}

/// Reports whether SQLite stopped reading the schema because it has more entries than the limit of the connection
/// (`SQLITE_LIMIT_SCHEMA`).
pub(crate) fn has_many_entries(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::OperationAborted)
}

/// Returns the first difference between the tables and those of this version of the schema. The tables of a later
/// version are unknown, and not compared.
fn altered(connection: &Connection, version: u32) -> rusqlite::Result<Option<String>> {
    if version > SCHEMA_VERSION {
        return Ok(None);
    }
    let version = version as usize;
    let found = match Shape::read(connection) {
        Err(error) if has_many_entries(&error) => return Ok(Some(MANY_ENTRIES.to_owned())),
        found => found?,
    };
    if version.checked_sub(1).and_then(|last| SHAPES.get(last)).is_some_and(|digest| found.is(digest)) {
        return Ok(None);
    }
    let expected = Shape::made_by(MIGRATIONS[..version].iter().copied())?;
    Ok(found.difference(&expected))
}

/// Returns the first fault in the pages of a file, each of which is read once. This check precedes [`migrate`], which
/// copies and removes whole tables and relies on the pages, however often they refer to each other.
pub(super) fn damage(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    Ok((found != "ok").then(|| format!("its pages do not fit: {}", printable(&found))))
}

/// Migrates the tables to [`SCHEMA_VERSION`], in one transaction. If the file turns out to be neither empty nor an
/// older database of this program, its identity is returned and nothing is changed.
pub(super) fn migrate(connection: &mut Connection) -> rusqlite::Result<Identity> {
    let current = Identity::Ours(SCHEMA_VERSION);
    // Another process may be about to do the same: the second one finds the tables already migrated.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let from = match identify(&transaction)? {
        Identity::Empty => 0,
        Identity::Ours(version) if version < SCHEMA_VERSION => version as usize,
        other => return Ok(other),
    };
    for migration in &MIGRATIONS[from..] {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    transaction.commit()?;
    Ok(current)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_digests_are_those_of_what_the_migrations_make() {
        let made = |version: usize| Shape::made_by(MIGRATIONS[..version].iter().copied()).unwrap();
        let digests: Vec<_> = (1..=MIGRATIONS.len()).map(|version| made(version).digest().hex()).collect();
        assert_eq!(digests, SHAPES);
        assert_eq!(made(0).difference(&made(0)), None);
    }

    /// Tests that the linked library is the one that the crate contains, because the defences were checked for that
    /// version.
    #[test]
    fn sqlite_is_the_bundled_one() {
        let bundled = std::str::from_utf8(rusqlite::ffi::SQLITE_VERSION.to_bytes()).unwrap();
        assert_eq!(rusqlite::version(), bundled);
        assert!(rusqlite::version_number() >= 3_054_000, "{}", rusqlite::version());
    }

    #[test]
    fn what_is_pending_survives_the_change_of_tables() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(V1).unwrap();
        connection.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
        connection.pragma_update(None, "user_version", 1).unwrap();
        connection.pragma_update(None, "foreign_keys", false).unwrap();
        let put = |connection: &Connection, kind: &str| {
            let insert = "INSERT INTO pending (run, namespace, kind, task, sequence, step, digest, key, signature, body) \
                          VALUES (1, '', ?1, '1.0', 0, 0, x'00', x'00', x'00', '{}')";
            connection.execute(insert, [kind])
        };
        put(&connection, "task").unwrap();
        assert!(put(&connection, "hook").is_err());
        assert_eq!(migrate(&mut connection).unwrap(), Identity::Ours(SCHEMA_VERSION));
        put(&connection, "hook").unwrap();
        assert!(put(&connection, "hook").is_err(), "one place, one record");
        let kinds: i64 = connection.query_row("SELECT count(*) FROM pending", [], |row| row.get(0)).unwrap();
        assert_eq!(kinds, 2);
    }
}
