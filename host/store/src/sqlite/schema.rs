//! The tables, and how a file gets from one version of them to the next.

use graph_core::diagnostic::printable;
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, TransactionBehavior};

use super::shape::Shape;

/// What marks a file as one of ours, in its header (`PRAGMA application_id`): `GHos` in ASCII.
pub(crate) const APPLICATION_ID: i64 = 0x4748_6f73;

/// The version of the tables that this program reads and writes (`PRAGMA user_version`).
pub const SCHEMA_VERSION: u32 = 8;

/// What leads from each version to the next, from an empty file on.
pub(super) const MIGRATIONS: [&str; SCHEMA_VERSION as usize] = [V1, V2, V3, V4, V5, V6, V7, V8];

/// - `runs.id` rises in order of creation.
/// - A checkpoint's values are the rows `first_value` to `first_value + value_count - 1` of `channel_values`: they are
///   written in one go, and so need no index of their own.
/// - `pending` holds nothing but what is under the newest checkpoint of its namespace.
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
/// - A checkpoint holds `events` entries, and `event` come before them; NULL in one from before entries were numbered.
/// - `history` keeps status records, which `pending` does not.
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

/// What is said about checkpoints that were removed, by run and namespace.
const V3: &str = "
CREATE TABLE prunings (
    run INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    namespace TEXT NOT NULL,
    note TEXT NOT NULL,
    PRIMARY KEY (run, namespace)
) STRICT, WITHOUT ROWID;
";

/// Values are found by their channel through `value_places`, which is filled for many of them at one time: an index would
/// change a page of its own for every channel that a commit writes. `placed` says up to which number they are there.
///
/// Values do not refer to `runs`: without an index that begins with the run, removing one would read them all.
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

/// `pending` keeps what hooks have resulted in as well; `task` is then the call's id.
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

/// Results that are kept for later tasks. They outlive their run.
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

/// Who may write to a run: its newest epoch, and the digest of the last record of its last commit. `head` is NULL where that record
/// is the newest checkpoint of the run itself, so that a superstep without child runs changes nothing here. A run that no one has
/// taken up has no row. `epochs` has the epoch that was given last, to whatever run: it stays when runs are removed, and so do
/// the guards that others may still have of them.
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

/// What the run and its child runs have used of language models, and the model that was asked last. Nothing is known of what runs
/// have used before; their records say it.
const V8: &str = "
ALTER TABLE runs ADD COLUMN turns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN input_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN output_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN spend INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN model TEXT;
";

/// The digest of the schema of each version, as [`Shape::digest`] gives it: what is made by [`MIGRATIONS`] up to there. To
/// make that again whenever a file is opened would take longer than to open it.
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

/// What a file is, by its header and its schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Identity {
    /// Nothing is in it.
    Empty,
    /// One of ours, with tables of this version.
    Ours(u32),
    /// Another program's.
    Foreign {
        /// What its header says.
        application_id: i64,
    },
    /// It says that it is one of ours, and its tables are not as this program makes them.
    Altered {
        /// The first difference that was found.
        what: String,
    },
}

/// What is wrong with a schema that SQLite stopped reading.
pub(crate) const MANY_ENTRIES: &str = "it has more tables and indexes than graph-host makes";

/// Looks what the file is. All is read from one state of the file: between two, another process may have made its
/// tables.
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
        // A version below none is as unreadable as one that is too new.
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

/// Whether there is anything in the schema.
pub(crate) fn has_entries(connection: &Connection) -> rusqlite::Result<bool> {
    let any = connection.query_row("SELECT 1 FROM main.sqlite_schema LIMIT 1", [], |_| Ok(())).optional();
    match any {
        Err(error) if has_many_entries(&error) => Ok(true),
        any => any.map(|any| any.is_some()),
    }
}

/// Whether SQLite stopped reading the schema because it has more entries than a connection may have
/// (`SQLITE_LIMIT_SCHEMA`).
pub(crate) fn has_many_entries(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::OperationAborted)
}

/// What of the tables is not as this program makes them at a version. Of a later version it does not know.
fn altered(connection: &Connection, version: u32) -> rusqlite::Result<Option<String>> {
    if version > SCHEMA_VERSION {
        return Ok(None);
    }
    let version = version as usize;
    let found = match Shape::of(connection) {
        Err(error) if has_many_entries(&error) => return Ok(Some(MANY_ENTRIES.to_owned())),
        found => found?,
    };
    if version.checked_sub(1).and_then(|last| SHAPES.get(last)).is_some_and(|digest| found.is(digest)) {
        return Ok(None);
    }
    let expected = Shape::made_by(MIGRATIONS[..version].iter().copied())?;
    Ok(found.difference(&expected))
}

/// What is wrong with the pages of a file, each of which is looked at once. It comes before [`migrate`]: that copies and
/// removes whole tables, and takes pages for what they say they are, however often they lead to each other.
pub(super) fn damage(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    Ok((found != "ok").then(|| format!("its pages do not fit: {}", printable(&found))))
}

/// Brings the tables to [`SCHEMA_VERSION`], in one transaction. Gives what the file turns out to be where that is
/// neither empty nor an older one of ours.
pub(super) fn migrate(connection: &mut Connection) -> rusqlite::Result<Identity> {
    let current = Identity::Ours(SCHEMA_VERSION);
    // Another process may be about to do the same: the process that comes second finds it done.
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

    /// The library that is linked is the one that comes with the crate: its defences are those that were looked up.
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
