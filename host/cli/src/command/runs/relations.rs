//! Relations between runs: which run started which, and which continues which.

use std::collections::BTreeMap;

use graph_core::record::Status;
use graph_runtime::error::Result;
use graph_runtime::graph_store::{CheckpointPosition, CheckpointStore, Holder, RunFilter, RunRow};
use graph_runtime::run::stores::Stores;
use serde_json::{Map, Value, json};

use super::namespace;

/// Relations from the rows of all runs.
#[derive(Debug, Default)]
pub(super) struct Relations {
    /// The newest run that continues a run, by run.
    continued: BTreeMap<String, String>,
    /// Number of runs started by a run, by run.
    started: BTreeMap<String, u64>,
}

impl Relations {
    /// Reads every row once. Unreadable rows are skipped.
    pub(super) fn read(stores: &Stores) -> Result<Self> {
        let mut relations = Self::default();
        // The newest come first.
        stores.each_readable(&RunFilter::default(), |_, row| {
            if let Some(origin) = row.continuation_of {
                relations.continued.entry(origin).or_insert(row.run_id);
            }
            if let Some(parent) = row.parent_id {
                *relations.started.entry(parent).or_default() += 1;
            }
            Ok(())
        })?;
        Ok(relations)
    }

    /// Returns the columns that are not in the row itself, and other names for some columns, as in other registries of threads.
    pub(super) fn columns(&self, store: &dyn CheckpointStore, row: &RunRow) -> Result<Map<String, Value>> {
        let namespaces = store.namespaces(&row.run_id)?;
        let inside = namespaces.iter().filter(|inside| namespace::is_directly_in(inside, "")).count() as u64;
        let started = self.started.get(&row.run_id).copied().unwrap_or(0);
        let continued = self.continued.get(&row.run_id).or(row.continuation_id.as_ref());
        let mut columns = names(&row.run_id, &row.graph_id);
        columns.insert("continuation_id".to_owned(), json!(continued));
        columns.insert("spawn_count".to_owned(), json!(started.saturating_add(inside)));
        columns.insert("status".to_owned(), status(store, row).into());
        Ok(columns)
    }
}

/// Returns a run's id and its graph's under the names of registries of threads.
pub(super) fn names(run: &str, graph: &str) -> Map<String, Value> {
    let names = [("thread_id", run), ("graph_run_id", run), ("directive", graph)];
    names.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
}

/// Returns the status of a run, `created` if it has not started yet.
pub(super) fn status(store: &dyn CheckpointStore, row: &RunRow) -> &'static str {
    if is_created(store, row) { "created" } else { row.status.as_str() }
}

/// Checks whether a run was created and not started: nothing of it is stored, and no process holds it. Resuming it starts it.
pub(in crate::command) fn is_created(store: &dyn CheckpointStore, row: &RunRow) -> bool {
    row.status == Status::Running
        && store.holder(&row.run_id) == Ok(Holder::Nobody)
        && store.checkpoint(&row.run_id, "", CheckpointPosition::Latest) == Ok(None)
}
