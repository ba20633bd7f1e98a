//! `graph-host runs logs`.

use std::sync::Arc;

use graph_core::record::{HistoryEntry, LogLevel, LogLine, TaskEvent};
use graph_core::time::Timestamp;
use graph_core::trust::VerifyingKey;
use graph_core::work::{Meter, Pattern};
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::history_lines::HistoryLines;
use graph_host::terminal::local_time::local_time;
use graph_host::terminal::output::{self, Output, styled};
use graph_host::terminal::text::log_line;
use graph_runtime::error::{Error, Result};
use graph_runtime::graph_store::{CheckpointStore, Holder, RunRow};
use serde_json::{Value, json};

use super::tree;
use super::wait::PAUSE;
use super::walk::each_entry;
use crate::command::args;

/// Print the log lines of a run's components
///
/// Lines are on record once the superstep of their task has committed, or has stopped the run; while it runs, `run` and `runs
/// watch` show them.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run: its id, the beginning of it, or @last
    pub(super) run: String,
    /// Print only lines of this node: its name, with the names of the nodes above it in a child run, such as `review/check`; `NAME#N` is
    /// its task for the Nth element
    #[arg(long, value_name = "NODE")]
    node: Option<String>,
    /// Print only lines of this level, and of more important ones
    #[arg(long, value_parser = args::log_level(), value_name = "LEVEL", default_value = "trace")]
    level: LogLevel,
    /// Print only lines that this regular expression matches
    #[arg(long, value_name = "PATTERN")]
    grep: Option<String>,
    /// Continue to print new lines until the run has stopped
    #[arg(long)]
    follow: bool,
}

pub(super) fn run(
    args: &Args,
    store: &Arc<dyn CheckpointStore>,
    row: &RunRow,
    context: &Context,
) -> Result<Exit> {
    let pattern = args.grep.as_deref().map(compile).transpose()?;
    // Records of an unknown host cannot be verified, but they can be shown.
    let key = context.host.home.known_key(row.key)?;
    let mut printer = LogPrinter { args, pattern, key, after: 0, output: context.output };
    let mut names = HistoryLines::new(tree::graphs(&**store, row)?, tree::foreach_nodes(&**store, row));
    loop {
        // Checked before reading: everything that a run writes before it stops is then read.
        let stopped = !args.follow || store.holder(&row.run_id)? == Holder::Nobody;
        printer.read(&**store, &row.run_id, &mut names)?;
        if stopped {
            return Ok(Exit::Ok);
        }
        std::thread::sleep(PAUSE);
    }
}

fn compile(pattern: &str) -> Result<Pattern> {
    Pattern::compile(pattern).map_err(|error| Error::usage(format!("`{pattern}` is not a pattern: {error}")))
}

/// Printer of the lines that the options select.
struct LogPrinter<'a> {
    args: &'a Args,
    pattern: Option<Pattern>,
    key: Option<VerifyingKey>,
    /// Number of the last entry that was read.
    after: u64,
    output: Output,
}

/// A line, with the task that wrote it.
struct TaskLine<'a> {
    label: &'a str,
    task: &'a str,
    at: Timestamp,
    attempt: u32,
    line: &'a LogLine,
}

impl LogPrinter<'_> {
    fn read(&mut self, store: &dyn CheckpointStore, run: &str, names: &mut HistoryLines) -> Result<()> {
        let (key, after) = (self.key, self.after);
        let read = each_entry(store, run, key.as_ref(), after, names, |names, entry| match entry {
            HistoryEntry::Event { task, node, event: TaskEvent::Log { at, attempt, line } } => {
                let label = names.label(task, node);
                self.print(&TaskLine { label: &label, task, at: *at, attempt: *attempt, line })
            }
            _ => Ok(()),
        })?;
        self.after = read;
        Ok(())
    }

    fn print(&self, found: &TaskLine<'_>) -> Result<()> {
        let TaskLine { label, task, at, attempt, line } = found;
        if line.level < self.args.level || !self.args.node.as_deref().is_none_or(|node| is_of(label, node)) {
            return Ok(());
        }
        if let Some(pattern) = &self.pattern {
            // The line was bounded when it was written.
            let matched = pattern.is_match(&line.message, &Meter::new(u64::MAX));
            if !matched.map_err(|error| Error::usage(error.to_string()))? {
                return Ok(());
            }
        }
        if self.output.is_in_lines() {
            let line: Value = json!({
                "at": at.to_string(), "attempt": attempt, "level": line.level, "message": line.message,
                "node": label, "task": task,
            });
            return self.output.json_line(&line);
        }
        let at = styled(output::DIM, local_time(*at));
        self.output.line(format_args!("{at} {}", log_line(label, line.level, &line.message)))
    }
}

/// Checks whether the label of a task is that of a node, or of one of the node's tasks.
fn is_of(label: &str, node: &str) -> bool {
    label == node || label.strip_prefix(node).is_some_and(|rest| rest.starts_with('#') && !rest.contains('/'))
}
