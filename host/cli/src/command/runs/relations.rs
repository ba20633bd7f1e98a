//! How runs belong together: which run has started which, and which continues which.

use std::collections::BTreeMap;

use graph_core::record::Status;
use graph_runtime::error::Result;
use graph_runtime::graph_store::{At, CheckpointStore, Holder, RunFilter, RunRow};
use graph_runtime::project::stores::Stores;
use serde_json::{Map, Value, json};

use super::namespace;

/// What the rows of all runs say of each other.
#[derive(Debug, Default)]
pub(super) struct Relations {
    /// By run, the newest one that continues it.
    continued: BTreeMap<String, String>,
    /// By run, how many it has started.
    started: BTreeMap<String, u64>,
}

impl Relations {
    /// Reads every row once. Rows that cannot be read belong to none.
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

    /// The columns that are not in the row itself, and the names that other registries of threads have for some.
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

/// A run's id and its graph's, under the names that registries of threads have for them.
pub(super) fn names(run: &str, graph: &str) -> Map<String, Value> {
    let names = [("thread_id", run), ("graph_run_id", run), ("directive", graph)];
    names.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
}

/// The status, of which a run that nothing has been done for yet is `created`.
pub(super) fn status(store: &dyn CheckpointStore, row: &RunRow) -> &'static str {
    if is_created(store, row) { "created" } else { row.status.as_str() }
}

/// Whether a run was made and no process has started to run it: nothing of it is stored, and no process holds it. It begins when it is
/// resumed.
pub(super) fn is_created(store: &dyn CheckpointStore, row: &RunRow) -> bool {
    row.status == Status::Running
        && store.holder(&row.run_id) == Ok(Holder::Nobody)
        && store.checkpoint(&row.run_id, "", At::Latest) == Ok(None)
}
