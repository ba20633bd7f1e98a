//! Fences of runs: the epoch and the last record, which every write has to know.

use graph_core::digest::Digest;
use graph_core::record::SignedRecord;
use rusqlite::{Connection, OptionalExtension as _, Result as SqlResult, params};

use super::{errors, row, sql};
use crate::plan;
use crate::store::Fence;

/// A run's fence, as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StoredFence {
    pub(super) fence: Fence,
    /// True if the head is stored in `fences`; otherwise it is the newest checkpoint of the run itself.
    apart: bool,
}

/// Reads the fence of a run; `None` if no process has acquired the run since it was created. It has to be called in a
/// transaction.
pub(super) fn read(connection: &Connection, run: i64) -> SqlResult<Option<StoredFence>> {
    let found = connection.prepare_cached(sql::FENCE)?.query_row([run], row::fence).optional()?;
    let Some((epoch, head)) = found else { return Ok(None) };
    let apart = head.is_some();
    let head = match head {
        Some(head) => Some(head),
        None => connection
            .prepare_cached(sql::OWN_HEAD)?
            .query_row([run], |row| row.get(0).map(Digest::from_bytes))
            .optional()?,
    };
    Ok(Some(StoredFence { fence: Fence { epoch, head }, apart }))
}

/// Stores the last record of a batch as the head, within the transaction of the batch, and returns the fence after it.
pub(super) fn advance(
    connection: &Connection,
    run: i64,
    before: StoredFence,
    batch: &[SignedRecord],
) -> SqlResult<StoredFence> {
    let Some(last) = batch.last() else { return Ok(before) };
    let apart = !plan::is_own_checkpoint(last.kind, &last.namespace);
    if apart || before.apart {
        let head = apart.then(|| last.digest.as_bytes());
        connection.prepare_cached(sql::SET_HEAD)?.execute(params![run, head])?;
    }
    Ok(StoredFence { fence: Fence { head: Some(last.digest), ..before.fence }, apart })
}

/// Raises a run's epoch within a transaction, and returns the fence after it.
pub(super) fn raise(connection: &Connection, run: i64) -> SqlResult<Fence> {
    let next = connection.prepare_cached(sql::NEXT_EPOCH)?.query_row([], |row| row.get(0)).optional()?;
    let epoch: i64 = next.ok_or_else(errors::no_next_epoch)?;
    connection.prepare_cached(sql::RAISE_EPOCH)?.execute([run, epoch])?;
    let raised = read(connection, run)?;
    raised.map(|raised| raised.fence).ok_or(rusqlite::Error::QueryReturnedNoRows)
}
