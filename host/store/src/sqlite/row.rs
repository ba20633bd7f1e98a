//! Conversion of rows into values.

use graph_core::digest::Digest;
use graph_core::limits::ModelUse;
use graph_core::record::{
    ChannelValue, RecordKind, RecordSignature, SignedCacheEntry, SignedRecord, ValueKind,
};
use graph_core::time::Timestamp;
use graph_core::trust::{KeyId, Signature};
use rusqlite::types::Type;
use rusqlite::{Error, Result, Row};
use serde::Deserialize;
use serde::de::IntoDeserializer as _;
use serde::de::value::{Error as NameError, StrDeserializer};

use super::errors::{self, refused};
use crate::names::{self, BadName};
use crate::run::RunRow;
use crate::store::{NumberedRecord, Owner};

fn conversion(column: usize, kind: Type, error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::FromSqlConversionFailure(column, kind, Box::new(error))
}

fn unsigned(row: &Row<'_>, column: usize) -> Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| Error::IntegralValueOutOfRange(column, number))
}

fn optional<T: TryFrom<i64>>(row: &Row<'_>, column: usize) -> Result<Option<T>> {
    let number: Option<i64> = row.get(column)?;
    let convert = |number| T::try_from(number).map_err(|_| Error::IntegralValueOutOfRange(column, number));
    number.map(convert).transpose()
}

fn digest(row: &Row<'_>, column: usize) -> Result<Digest> {
    row.get(column).map(Digest::from_bytes)
}

fn signature(row: &Row<'_>, column: usize) -> Result<RecordSignature> {
    let bytes = row.get_ref(column)?.as_blob().map_err(|error| conversion(column, Type::Blob, error))?;
    RecordSignature::from_bytes(bytes).map_err(|error| conversion(column, Type::Blob, error))
}

fn key(row: &Row<'_>, column: usize) -> Result<KeyId> {
    let digits = digest(row, column)?.hex();
    digits.parse().map_err(|error| conversion(column, Type::Blob, error))
}

/// Reads a name in the form in which documents contain it.
fn name<'de, T: Deserialize<'de>>(row: &'de Row<'_>, column: usize) -> Result<T> {
    let text = row.get_ref(column)?.as_str().map_err(|error| conversion(column, Type::Text, error))?;
    let text: StrDeserializer<'de, NameError> = text.into_deserializer();
    T::deserialize(text).map_err(|error| conversion(column, Type::Text, error))
}

/// Returns a value that was read if its names are valid, and otherwise the refusal, with the number of the row.
fn checked<T>(
    table: &'static str,
    row: &Row<'_>,
    id: usize,
    read: T,
    names: Result<(), BadName>,
) -> Result<T> {
    match names {
        Ok(()) => Ok(read),
        Err(bad) => Err(refused(table, row.get(id)?, bad)),
    }
}

/// Reads the namespace in the first column of a row of a table. The number of the row is in the second column.
pub(super) fn namespace(table: &'static str, row: &Row<'_>) -> Result<String> {
    let namespace: String = row.get(0)?;
    let names = names::name("namespace", &namespace);
    checked(table, row, 1, namespace, names)
}

/// The index of the column of a run's row that has the number of the row.
const ROW: usize = 29;

pub(super) fn run(row: &Row<'_>) -> Result<RunRow> {
    let run = unchecked_run(row).map_err(|error| errors::damaged_run(row, ROW, error))?;
    let names = names::row(&run);
    checked("runs", row, ROW, run, names)
}

fn unchecked_run(row: &Row<'_>) -> Result<RunRow> {
    Ok(RunRow {
        run_id: row.get(0)?,
        graph_id: row.get(1)?,
        graph_path: row.get(2)?,
        parent_id: row.get(3)?,
        root_id: row.get(4)?,
        continuation_of: row.get(5)?,
        continuation_id: row.get(6)?,
        chain_root_id: row.get(7)?,
        status: name(row, 8)?,
        pid: optional(row, 9)?,
        step: unsigned(row, 10)?,
        fuel: unsigned(row, 11)?,
        result: row.get(12)?,
        error: row.get(13)?,
        graph: digest(row, 14)?,
        inputs: digest(row, 15)?,
        manifest: digest(row, 16)?,
        pins: digest(row, 17)?,
        seed: digest(row, 18)?,
        key: key(row, 19)?,
        durability: name(row, 20)?,
        max_steps: optional(row, 21)?,
        created_at: Timestamp(unsigned(row, 22)?),
        updated_at: Timestamp(unsigned(row, 23)?),
        model_use: ModelUse {
            calls: unsigned(row, 24)?,
            input: unsigned(row, 25)?,
            output: unsigned(row, 26)?,
            cost: unsigned(row, 27)?,
        },
        model: row.get(28)?,
    })
}

/// A checkpoint and the position of its values.
pub(super) struct StoredCheckpoint {
    pub(super) record: SignedRecord,
    pub(super) first_value: i64,
    pub(super) value_count: i64,
    /// The run's number.
    pub(super) run: i64,
    /// Number of history entries before its own; `None` in a checkpoint that was written before entries were numbered.
    pub(super) before: Option<u64>,
}

/// Reads a checkpoint of a run and namespace.
pub(super) fn checkpoint(run: &str, namespace: &str, row: &Row<'_>) -> Result<StoredCheckpoint> {
    Ok(StoredCheckpoint {
        record: SignedRecord {
            kind: RecordKind::Checkpoint,
            run: run.to_owned(),
            namespace: namespace.to_owned(),
            sequence: unsigned(row, 0)?,
            step: unsigned(row, 1)?,
            task: String::new(),
            digest: digest(row, 2)?,
            key_id: key(row, 3)?,
            signature: signature(row, 4)?,
            body: row.get(5)?,
            events: unsigned(row, 10)?,
            values: Vec::new(),
            results: Vec::new(),
        },
        first_value: row.get(6)?,
        value_count: row.get(7)?,
        run: row.get(8)?,
        before: optional(row, 9)?,
    })
}

/// Reads a result that is cached under a key.
pub(super) fn result(under: &Digest, row: &Row<'_>) -> Result<SignedCacheEntry> {
    let entry = SignedCacheEntry {
        key: *under,
        run: row.get(0)?,
        namespace: row.get(1)?,
        at: Timestamp(unsigned(row, 2)?),
        expires: Timestamp(unsigned(row, 3)?),
        key_id: key(row, 4)?,
        signature: Signature::from_bytes(row.get(5)?),
        body: row.get(6)?,
    };
    let names = names::run_id("run", &entry.run).and_then(|()| names::name("namespace", &entry.namespace));
    checked("results", row, 7, entry, names)
}

/// Reads a pending record of a run and namespace.
pub(super) fn pending(run: &str, namespace: &str, row: &Row<'_>) -> Result<SignedRecord> {
    kept("pending", run, namespace, row)
}

fn kept(table: &'static str, run: &str, namespace: &str, row: &Row<'_>) -> Result<SignedRecord> {
    let record = SignedRecord {
        kind: name(row, 0)?,
        run: run.to_owned(),
        namespace: namespace.to_owned(),
        sequence: unsigned(row, 1)?,
        step: unsigned(row, 2)?,
        task: row.get(3)?,
        digest: digest(row, 4)?,
        key_id: key(row, 5)?,
        signature: signature(row, 6)?,
        body: row.get(7)?,
        events: unsigned(row, 8)?,
        values: Vec::new(),
        results: Vec::new(),
    };
    let names = names::name("task", &record.task).and_then(|()| names::name("namespace", &record.namespace));
    checked(table, row, 11, record, names)
}

/// Reads a record that only the history has.
pub(super) fn history(run: &str, row: &Row<'_>) -> Result<NumberedRecord> {
    let namespace: String = row.get(9)?;
    Ok(NumberedRecord { before: unsigned(row, 10)?, record: kept("history", run, &namespace, row)? })
}

pub(super) fn value(row: &Row<'_>) -> Result<ChannelValue> {
    let segment: bool = row.get(2)?;
    let value = ChannelValue {
        channel: row.get(0)?,
        version: unsigned(row, 1)?,
        kind: if segment { ValueKind::Segment } else { ValueKind::Whole },
        json: row.get(3)?,
    };
    let names = names::name("channel", &value.channel);
    checked("channel_values", row, 4, value, names)
}

/// Reads the epoch and the head of a run.
pub(super) fn fence(row: &Row<'_>) -> Result<(u64, Option<Digest>)> {
    Ok((unsigned(row, 0)?, row.get::<_, Option<[u8; 32]>>(1)?.map(Digest::from_bytes)))
}

/// Reads the owner of a run.
pub(super) fn owner(row: &Row<'_>) -> Result<Owner> {
    let pid: i64 = row.get(0)?;
    let owner = Owner {
        pid: u32::try_from(pid).map_err(|_| Error::IntegralValueOutOfRange(0, pid))?,
        host: row.get(1)?,
        since: Timestamp(unsigned(row, 2)?),
    };
    let names = names::name("host", &owner.host);
    checked("owners", row, 3, owner, names)
}
