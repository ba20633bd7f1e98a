//! `graph-host runs update`.

use graph_core::record::CheckpointSelector;
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{self, styled};
use graph_host::terminal::run_report::{self, resume_command};
use graph_runtime::Runtime;
use graph_runtime::clock::now;
use graph_runtime::error::{Error, Result};
use graph_runtime::history::run_document::RunDocument;
use graph_runtime::project::Project;
use graph_runtime::run::checkpoints;
use graph_runtime::run::edit_and_fork::{EditedRun, parse_selector};

use super::edit::EditArgs;
use crate::command::args::typed_run;

/// Write to the state of a run that has stopped, as a node would
///
/// The unfinished superstep is discarded. The run can then be resumed with the new state.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run: its id, the beginning of it, or @last
    run: String,
    #[command(flatten)]
    edit: EditArgs,
    /// Go back to this checkpoint first: step:N, node:NAME or its number. The checkpoints after it stay in the history
    #[arg(long, value_name = "PLACE", value_parser = parse_selector)]
    at: Option<CheckpointSelector>,
}

pub(super) fn run(args: Args, project: &Project, context: &Context) -> Result<Exit> {
    let edit = args.edit.read()?;
    if edit.is_none() && args.at.is_none() {
        return Err(Error::usage("there is nothing to write")
            .help("give --values, --as-node, or --at to go back to a checkpoint"));
    }
    let (runtime, row) = Runtime::of_run(context.host.clone(), project.clone(), &args.run)?;
    let done = context.block_on(runtime.edit(&row.run_id, edit.unwrap_or_default(), args.at))??;
    if context.output.is_json() {
        let store = runtime.store()?;
        let visited = checkpoints::visited(&*store, &done.run, Some(done.key));
        let document = RunDocument::new(&done.run, &done.graph, &done.summary, visited).at(now());
        run_report::print(&document, context.output)?;
        return Ok(Exit::Ok);
    }
    let sequence = done.summary.checkpoint.map_or(0, |checkpoint| checkpoint.sequence);
    context.output.line(format_args!(
        "{} run {}: checkpoint {sequence} after step {}",
        styled(output::GOOD, "updated"),
        done.run,
        done.summary.steps
    ))?;
    print_edited(&done, &typed_run(&args.run, project.folder()), context)
}

/// Prints the next nodes, and the command that resumes the run.
pub(super) fn print_edited(done: &EditedRun, typed: &str, context: &Context) -> Result<Exit> {
    if !done.summary.next.is_empty() {
        context.output.line(format_args!(
            "{} {}",
            styled(output::BOLD, "next"),
            run_report::nodes(&done.summary.next)
        ))?;
    }
    match resume_command(typed, &done.summary) {
        Some(command) => {
            context.output.note(format_args!("{} {command}", styled(output::DIM, "resume with:")));
        }
        None => context.output.note(run_report::verdict(&done.summary, None)),
    }
    Ok(Exit::Ok)
}
