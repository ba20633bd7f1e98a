//! `graph-host runs gc`.

use std::time::Duration;

use graph_core::diagnostic::one_line;
use graph_core::diagnostic::printable;
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::run_report::counted;
use graph_runtime::error::Result;
use graph_runtime::graph_store::FileStore;
use graph_runtime::project::Project;
use graph_runtime::project::state::{self, OwnState};
use graph_runtime::run::restore;
use graph_runtime::upkeep::gc::{Cached, Policy, Report, collect};

use super::span::parse_span;

use crate::command::number;

/// Remove old runs and checkpoints, and texts that no run needs
///
/// Without options, only texts that no run needs are removed. A run that a process holds is never removed, and a run that
/// could be resumed is removed only with --all-statuses.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Remove runs that have not changed for this long, such as 12h, 30d
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true, value_parser = parse_span)]
    older_than: Option<Duration>,
    /// Remove all but the newest N runs of each graph; with --older-than, only those to which both apply
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::from_zero::<usize>)]
    keep: Option<usize>,
    /// Remove all but the newest N checkpoints of the ended runs that are kept; `runs verify` then reports where the
    /// history begins
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::from_one::<u64>)]
    checkpoints: Option<u64>,
    /// Remove runs that could be resumed, too: interrupted, failed, cancelled, cut short
    #[arg(long)]
    all_statuses: bool,
    /// Remove cached results of nodes with a `cache`: those that have expired, or all
    #[arg(long, value_name = "WHICH", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "expired")]
    cache: Option<Which>,
    /// Print what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Which {
    /// Older than the `ttl` of the node that computed them
    Expired,
    /// All of them
    All,
}

impl From<Which> for Cached {
    fn from(which: Which) -> Self {
        match which {
            Which::Expired => Self::Expired,
            Which::All => Self::All,
        }
    }
}

pub(super) fn run(args: &Args, project: &Project, context: &Context) -> Result<Exit> {
    let files = FileStore::at(&state::files(project)?);
    // A missing database is not created; if there is no store at all, the error is that of the database.
    let is_there = state::database(project)?.exists();
    if !is_there && !files.exists() {
        drop(restore::open_to_read(project, &context.host.home)?);
    }
    let own = OwnState::open(project, &context.host.home)?;
    let database = is_there.then(|| restore::open(&own)).transpose()?;
    let policy = Policy {
        older_than: args.older_than,
        keep: args.keep,
        checkpoints: args.checkpoints.map(|most| usize::try_from(most).unwrap_or(usize::MAX)),
        all_statuses: args.all_statuses,
        cache: args.cache.map(Cached::from),
        dry_run: args.dry_run,
    };
    let mut report = Report { dry_run: args.dry_run, ..Report::default() };
    if let Some(store) = database {
        report.add(collect(&*store, project, policy, &context.host.home)?);
        if report.bytes > 0
            && let Err(error) = store.compact()
        {
            report.left.push(format!("the room stays within the database for now: {error}"));
        }
    }
    if files.exists() {
        report.add(collect(&files, project, policy, &context.host.home)?);
    }
    for refused in &report.refused {
        context.output.warn(printable(refused));
    }
    let exit = if report.refused.is_empty() { Exit::Ok } else { Exit::Integrity };
    if context.output.is_json() {
        let document = serde_json::to_value(&report).unwrap_or_default();
        context.output.document(&document)?;
        return Ok(exit);
    }
    let verb = if report.dry_run { "would remove" } else { "removed" };
    for run in &report.removed {
        let status = run.status.as_str().replace('_', " ");
        context.output.line(format_args!(
            "{verb} run {}  {}  {status}, changed {}",
            run.run_id,
            one_line(&run.graph, 40),
            run.updated_at
        ))?;
    }
    for run in &report.pruned {
        let count = counted(run.checkpoints, "checkpoint");
        context.output.line(format_args!("{verb} the first {count} of run {}", run.run_id))?;
    }
    if report.texts > 0 {
        context.output.line(format_args!("{verb} {} that no run needs", counted(report.texts, "text")))?;
    }
    if report.results > 0 {
        let results = counted(report.results, "result");
        context.output.line(format_args!("{verb} {results} kept for later tasks"))?;
    }
    if report.removed.is_empty() && report.pruned.is_empty() && report.texts == 0 && report.results == 0 {
        context.output.line("there is nothing to remove")?;
    } else if !report.dry_run {
        context.output.line(format_args!("freed {}", size(report.bytes)))?;
    }
    for left in &report.left {
        context.output.note(printable(left));
    }
    Ok(exit)
}

fn size(bytes: u64) -> String {
    match bytes {
        0..10_240 => format!("{bytes} bytes"),
        10_240..10_485_760 => format!("{} KiB", bytes >> 10),
        _ => format!("{} MiB", bytes >> 20),
    }
}
