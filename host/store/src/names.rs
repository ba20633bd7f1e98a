//! Checks of stored ids and names, at every write and every read. A store may have been written by a stranger, and ids
//! become parts of paths and are shown on terminals.

use std::fmt;

use graph_core::diagnostic::printable;
use graph_core::id::{IdError, check_run_id, check_shown_name};
use graph_core::record::SignedRecord;

use crate::run::RunRow;

/// Maximum length of an id or a path of a graph, of a namespace, and of a name of a task or a channel, in bytes.
pub(crate) const LONGEST: usize = 64 << 10;
/// Number of characters of a refused text in messages.
const SHOWN: usize = 60;

/// The error for an invalid id or name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct BadName {
    /// The column or field.
    pub what: &'static str,
    /// The text, escaped and shortened.
    pub text: String,
    /// The problem.
    pub why: IdError,
}

impl fmt::Display for BadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "its {} `{}` is refused: {}", self.what, self.text, self.why)
    }
}

impl BadName {
    fn new(what: &'static str, text: &str, why: IdError) -> Self {
        let cut: String = text.chars().take(SHOWN).collect();
        let more = if cut.len() < text.len() { "…" } else { "" };
        let cut = printable(&cut).replace('\n', "\\n").replace('\t', "\\t");
        Self { what, text: format!("{cut}{more}"), why }
    }
}

/// Checks the id of a run.
pub(crate) fn run_id(what: &'static str, text: &str) -> Result<(), BadName> {
    check_run_id(text).map_err(|why| BadName::new(what, text, why))
}

/// Checks any other name.
pub(crate) fn name(what: &'static str, text: &str) -> Result<(), BadName> {
    check_shown_name(text, LONGEST).map_err(|why| BadName::new(what, text, why))
}

/// Checks the ids and names of a run's row.
pub(crate) fn row(row: &RunRow) -> Result<(), BadName> {
    run_id("run_id", &row.run_id)?;
    run_id("root_id", &row.root_id)?;
    for (what, id) in [
        ("parent_id", &row.parent_id),
        ("continuation_of", &row.continuation_of),
        ("continuation_id", &row.continuation_id),
        ("chain_root_id", &row.chain_root_id),
    ] {
        id.iter().try_for_each(|id| run_id(what, id))?;
    }
    name("graph_id", &row.graph_id)?;
    row.model.iter().try_for_each(|model| name("model", model))?;
    row.graph_path.iter().try_for_each(|path| name("graph_path", path))
}

/// Checks the ids and names of a record, its values and its results.
pub(crate) fn record(record: &SignedRecord) -> Result<(), BadName> {
    run_id("run", &record.run)?;
    name("namespace", &record.namespace)?;
    name("task", &record.task)?;
    record.values.iter().try_for_each(|value| name("channel", &value.channel))?;
    record.results.iter().try_for_each(|entry| {
        run_id("run", &entry.run)?;
        name("namespace", &entry.namespace)
    })
}
