//! The failures of a run's tasks.

use std::fmt::Write as _;

use graph_core::node::Failure;
use graph_core::record::{HistoryEntry, TaskEvent, TaskSummary};
use graph_core::time::Timestamp;
use graph_host::terminal::history_lines::HistoryLines;
use graph_host::terminal::local_time::local_time;
use graph_host::terminal::output::{self, Output, styled};
use graph_host::terminal::run_report::{counted, failure_line, task_labels};
use graph_runtime::error::Result;
use graph_runtime::graph_store::{CheckpointStore, RunRow};
use serde_json::{Value, json};

use super::run_view::{OpenTask, RunView, TaskStand};
use super::tree;
use super::walk::each_entry;

/// Number of failures of an open superstep that are shown without `--failed`.
const SHOWN: usize = 5;

/// A task that has failed for good.
pub(super) struct FailedTask<'a> {
    /// The path of nodes to the task.
    label: String,
    task: &'a str,
    /// The time of the failure; `None` if nothing was dispatched.
    at: Option<Timestamp>,
    attempts: u32,
    /// `true` if the graph handled the failure; otherwise it stopped the run.
    handled: bool,
    failure: &'a Failure,
}

impl FailedTask<'_> {
    pub(super) fn to_json(&self) -> Value {
        json!({
            "node": self.label,
            "task": self.task,
            "at": self.at.map(|at| at.to_string()),
            "attempts": self.attempts,
            "handled": self.handled,
            "failure": self.failure,
        })
    }

    fn line(&self) -> String {
        let at = self.at.map(local_time).unwrap_or_default();
        format!("{} {}", styled(output::DIM, at), failure_line(&self.label, self.failure).trim_start())
    }
}

/// Visits the failures of a run and of its child runs in the order of its history, and then those of the open superstep.
pub(super) fn each(
    store: &dyn CheckpointStore,
    row: &RunRow,
    view: &RunView,
    mut visit: impl FnMut(&FailedTask<'_>) -> Result<()>,
) -> Result<()> {
    let mut names = HistoryLines::new(tree::graphs(store, row)?, tree::foreach_nodes(store, row));
    each_entry(store, &row.run_id, view.key(), 0, &mut names, |names, entry| {
        let (node, found) = match entry {
            HistoryEntry::Task(TaskSummary { task, node, at, attempts, failure: Some(failure), .. }) => {
                (node.as_str(), (task.as_str(), *at, *attempts, true, failure))
            }
            HistoryEntry::Event { task, node, event: TaskEvent::Failed { at, attempt, failure } } => {
                (*node, (*task, *at, *attempt, false, failure))
            }
            _ => return Ok(()),
        };
        let (task, at, attempts, handled, failure) = found;
        visit(&FailedTask { label: names.label(task, node), task, at, attempts, handled, failure })
    })?;
    let open = view.open_tasks();
    let labels = task_labels(open.iter().map(|open| (open.task, open.node)));
    for OpenTask { task, node, attempt, stand } in &open {
        if let TaskStand::Handled { at, failure } = stand {
            let label = labels.get(task).cloned().unwrap_or_else(|| (*node).to_owned());
            visit(&FailedTask { label, task, at: Some(*at), attempts: *attempt, handled: true, failure })?;
        }
    }
    Ok(())
}

/// Prints all failures.
pub(super) fn print(store: &dyn CheckpointStore, row: &RunRow, view: &RunView, out: Output) -> Result<()> {
    let mut count = 0_u64;
    each(store, row, view, |failed| {
        count += 1;
        out.line(failed.line())
    })?;
    out.note(styled(output::DIM, format_args!("{} of run {} failed", counted(count, "task"), row.run_id)));
    Ok(())
}

/// Prints the tasks of a superstep that has not committed: their numbers by node, and the first failures. `all` is the command that shows
/// all of them.
pub(super) fn print_open(view: &RunView, all: &str, out: Output) -> Result<()> {
    let open = view.open_tasks();
    let mut nodes: Vec<&str> = open.iter().map(|open| open.node).collect();
    nodes.dedup();
    for node in nodes {
        let of_node = || open.iter().filter(|open| open.node == node);
        let count = |of: fn(&TaskStand<'_>) -> bool| of_node().filter(|open| of(&open.stand)).count() as u64;
        let done = count(|stand| matches!(stand, TaskStand::Done));
        let failed = count(|stand| matches!(stand, TaskStand::Failed { .. } | TaskStand::Handled { .. }));
        let waiting = count(|stand| matches!(stand, TaskStand::Waiting));
        let total = of_node().count();
        if total < 2 && failed == 0 {
            continue;
        }
        let mut line = format!("{done} of {total} done");
        for (count, what) in [(failed, "failed"), (waiting, "waiting")] {
            if count > 0 {
                let _ = write!(line, ", {count} {what}");
            }
        }
        let note = styled(output::DIM, "(the superstep has not committed)");
        out.line(format_args!("      {}: {line} {note}", graph_core::diagnostic::printable(node)))?;
    }
    let labels = task_labels(open.iter().map(|open| (open.task, open.node)));
    let failed = open.iter().filter_map(|open| match &open.stand {
        TaskStand::Handled { failure, .. } | TaskStand::Failed { failure, .. } => Some((open, *failure)),
        _ => None,
    });
    let count = failed.clone().count();
    for (open, failure) in failed.take(SHOWN) {
        out.line(failure_line(labels.get(open.task).map_or(open.node, String::as_str), failure))?;
    }
    if count > SHOWN {
        out.line(styled(output::DIM, format_args!("      … and {} more: {all}", count - SHOWN)))?;
    }
    Ok(())
}
