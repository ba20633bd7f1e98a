//! The records of a run's history, one by one, and their entries with the names of their tasks.

use graph_core::record::{HistoryEntry, Record};
use graph_core::trust::VerifyingKey;
use graph_host::terminal::history_lines::HistoryLines;
use graph_runtime::error::Result;
use graph_runtime::graph_store::{CheckpointStore, NumberedRecord};
use graph_runtime::run::restore;

/// Number of records that are read at a time.
const PAGE: usize = 64;

/// Visits the records of a run's history from the one that holds the entry after number `after`, and returns the number of the last entry.
pub(super) fn each_record(
    store: &dyn CheckpointStore,
    run: &str,
    key: Option<&VerifyingKey>,
    mut after: u64,
    mut visit: impl FnMut(&NumberedRecord, &Record, u64) -> Result<()>,
) -> Result<u64> {
    loop {
        let page = store.history(run, after, PAGE)?;
        let begun = after;
        for numbered in &page {
            let record = restore::open_record(&numbered.record, key)?;
            visit(numbered, &record, after)?;
            after = after.max(numbered.before.saturating_add(numbered.record.events));
        }
        if page.is_empty() || after == begun {
            return Ok(after);
        }
    }
}

/// Visits the entries of a run's history after number `after`, and returns the number of the last one. `names` names their tasks.
pub(super) fn each_entry(
    store: &dyn CheckpointStore,
    run: &str,
    key: Option<&VerifyingKey>,
    after: u64,
    names: &mut HistoryLines,
    mut visit: impl FnMut(&HistoryLines, &HistoryEntry<'_>) -> Result<()>,
) -> Result<u64> {
    each_record(store, run, key, after, |numbered, record, after| {
        let mut visited = Ok(());
        names.visit(numbered, record, after, &mut |names, _, entry| {
            if visited.is_ok() {
                visited = visit(names, entry);
            }
        });
        visited
    })
}
