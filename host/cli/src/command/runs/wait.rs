//! `graph-host runs wait`.

use graph_runtime::error::Kind;
use graph_runtime::project::Project;
use std::time::{Duration, Instant};

use graph_core::record::Status;
use graph_host::context::Context;
use graph_host::terminal::exit::{self, Exit};
use graph_host::terminal::output::{self, styled};
use graph_host::terminal::run_report;
use graph_runtime::clock::now;
use graph_runtime::error::{Error, Result};
use graph_runtime::graph_store::{CheckpointStore, Holder, RunRow};
use graph_runtime::history::run_document::RunDocument;
use graph_runtime::run::checkpoints;
use graph_runtime::run::restore;
use graph_runtime::run::stores::Stores;
use serde_json::Value;

use super::span::parse_span;
use super::{run_view, tree};
use crate::command::args::typed_run;

/// Interval at which the run is checked.
pub(super) const PAUSE: Duration = Duration::from_millis(50);
/// Time without a holder, such as between two processes, after which a running run counts as cut short.
const HANDOVER: Duration = Duration::from_secs(2);

/// Wait until a run has stopped; the exit code is that of the run
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run: its id, the beginning of it, or @last
    run: String,
    /// Give up after this time, such as 500ms, 30s, 2m; the exit code is then 124
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true, value_parser = parse_span)]
    timeout: Option<Duration>,
}

/// Detector of the end of a run.
#[derive(Debug, Default)]
pub(super) struct Watch {
    alone_since: Option<Instant>,
    held_since: Option<Instant>,
}

impl Watch {
    /// Checks whether the run has stopped, or was cut short.
    pub(super) fn has_stopped(&mut self, store: &dyn CheckpointStore, row: &RunRow) -> Result<bool> {
        if row.status.is_end() {
            return Ok(true);
        }
        let alone = store.holder(&row.run_id)? == Holder::Nobody;
        match (row.status, alone) {
            (Status::Running, false) => {
                (self.alone_since, self.held_since) = (None, None);
                Ok(false)
            }
            (Status::Running, true) => {
                Ok(self.alone_since.get_or_insert_with(Instant::now).elapsed() > HANDOVER)
            }
            (_, true) => Ok(true),
            // The process that holds the run may be asking its user for the answer.
            (_, false) => Ok(self.held_since.get_or_insert_with(Instant::now).elapsed() > HANDOVER),
        }
    }
}

pub(super) fn run(args: &Args, project: &Project, context: &Context) -> Result<Exit> {
    let (_, store, mut row) = Stores::to_read(project, &context.host.home)?.find(&args.run)?;
    let began = Instant::now();
    let mut watch = Watch::default();
    while !watch.has_stopped(&*store, &row)? {
        let left = args.timeout.map(|timeout| timeout.saturating_sub(began.elapsed()));
        if left.is_some_and(|left| left.is_zero()) {
            return Err(Error::new(
                Kind::TimedOut,
                "timed_out",
                format!("run {} has not stopped", row.run_id),
            )
            .details(serde_json::json!({ "run_id": row.run_id, "status": row.status })));
        }
        std::thread::sleep(PAUSE.min(left.unwrap_or(PAUSE)));
        row = restore::find(&*store, &row.run_id)?;
    }
    outcome(&*store, &row, &typed_run(&args.run, project.folder()), context)
}

/// Prints the outcome of a run, as `run` does.
pub(super) fn outcome(
    store: &dyn CheckpointStore,
    row: &RunRow,
    typed: &str,
    context: &Context,
) -> Result<Exit> {
    let view = run_view::newest(store, row, context)?;
    if let Some(trouble) = &view.trouble {
        return Err(Error::integrity(format!("run {} cannot be read: {trouble}", row.run_id)));
    }
    let mut summary = view.summary(store, row)?;
    summary.state = view.state(store)?;
    summary.interrupts.extend(tree::open(&tree::read(store, row, view.key())?));
    let output = context.output;
    if output.is_json() {
        let visited = checkpoints::visited(store, &row.run_id, view.key().copied());
        let document = RunDocument::new(&row.run_id, &row.graph_id, &summary, visited).at(now());
        run_report::print(&document, output)?;
        return Ok(exit::of_run(&summary));
    }
    if summary.status == Status::Running {
        output.note(format_args!(
            "{} run {} was cut short: no process runs it",
            styled(output::BAD, "✗"),
            row.run_id
        ));
    } else {
        output.note(run_report::verdict(&summary, None));
    }
    for line in run_report::aftermath(Some(typed), &summary, summary.error.as_ref()) {
        output.note(line);
    }
    match summary.output.as_deref() {
        None | Some(Value::Null) => {}
        // The stream of lines already contains the run's output.
        Some(_) if output.is_in_lines() => {}
        Some(value) => run_report::print_result(value, Some(typed), output)?,
    }
    Ok(exit::of_run(&summary))
}
