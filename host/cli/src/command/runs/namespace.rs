//! The names of child runs: `RUN/NAMESPACE`, as in events and lists.

use graph_runtime::error::{Error, Result};
use graph_runtime::graph_store::CheckpointStore;

/// A run's name, and the namespace behind it; empty for the run itself.
pub(super) fn split(name: &str) -> (&str, &str) {
    name.split_once('/').unwrap_or((name, ""))
}

/// The id of a child run.
pub(super) fn join(run: &str, namespace: &str) -> String {
    if namespace.is_empty() { run.to_owned() } else { format!("{run}/{namespace}") }
}

/// Whether a graph with the one namespace was started by the run with the other.
pub(super) fn is_directly_in(inside: &str, above: &str) -> bool {
    !inside.is_empty() && inside.rsplit_once('/').map_or("", |(parent, _)| parent) == above
}

/// Refuses a namespace of which nothing is stored.
pub(super) fn check(store: &dyn CheckpointStore, run: &str, namespace: &str) -> Result<()> {
    if namespace.is_empty() || store.namespaces(run)?.iter().any(|known| known == namespace) {
        return Ok(());
    }
    Err(Error::not_found(format!("run {run} has no child run with the namespace `{namespace}`"))
        .help(format!("those that it has started: graph-host runs list --parent {run}")))
}
