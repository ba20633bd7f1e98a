//! The names of child runs: `RUN/NAMESPACE`, as in events and lists.

use graph_runtime::error::{Error, Result};
use graph_runtime::graph_store::CheckpointStore;

/// Splits the name of a child run into the run and the namespace, which is empty for the run itself.
pub(super) fn split(name: &str) -> (&str, &str) {
    name.split_once('/').unwrap_or((name, ""))
}

/// Joins the id of a run and a namespace.
pub(super) fn join(run: &str, namespace: &str) -> String {
    if namespace.is_empty() { run.to_owned() } else { format!("{run}/{namespace}") }
}

/// Checks whether the run with the namespace `above` started the child run `inside` directly.
pub(super) fn is_directly_in(inside: &str, above: &str) -> bool {
    !inside.is_empty() && inside.rsplit_once('/').map_or("", |(parent, _)| parent) == above
}

/// Checks that a namespace is stored.
pub(super) fn check(store: &dyn CheckpointStore, run: &str, namespace: &str) -> Result<()> {
    if namespace.is_empty() || store.namespaces(run)?.iter().any(|known| known == namespace) {
        return Ok(());
    }
    Err(Error::not_found(format!("run {run} has no child run with the namespace `{namespace}`"))
        .help(format!("those that it has started: graph-host runs list --parent {run}")))
}
