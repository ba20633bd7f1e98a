//! `graph-host runs fork`.

use graph_core::record::CheckpointSelector;
use graph_host::context::Context;
use graph_host::terminal::exit::{self, Exit};
use graph_host::terminal::output::{self, styled};
use graph_host::terminal::remedies;
use graph_runtime::clock::now;
use graph_runtime::error::{Error, Result};
use graph_runtime::history::run_document::RunDocument;
use graph_runtime::project::Project;
use graph_runtime::project::key_pairs::signing_key;
use graph_runtime::run::checkpoints;
use graph_runtime::run::edit_and_fork::parse_selector;
use graph_runtime::{ForkOptions, Runtime};
use serde_json::{Value, json};

use super::edit::EditArgs;
use crate::command::args::{GivenArgs, typed_run};
use crate::command::{number, observe, resume};

/// Make a new run from a checkpoint of another one
///
/// With --go, the new run continues from there at once.
#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(super) struct Args {
    /// The run: its id, the beginning of it, or @last
    run: String,
    /// The checkpoint: step:N for the one after superstep N, node:NAME for the newest in which that node is next, or its
    /// number; without it, the newest
    #[arg(long, value_name = "PLACE", value_parser = parse_selector)]
    at: Option<CheckpointSelector>,
    #[command(flatten)]
    edit: EditArgs,
    /// The new run's id
    #[arg(long, value_name = "ID", value_parser = graph_runtime::run::run_id::check)]
    run_id: Option<String>,
    /// Resume the new run at once
    #[arg(long)]
    go: bool,
    /// With --go: use the present graph, manifest and components if they have changed since the original run started
    #[arg(long, requires = "go")]
    accept_changes: bool,
    /// With --go: the new limit on the supersteps of the run, including those before the fork
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::from_one::<u64>, requires = "go")]
    max_steps: Option<u64>,
    /// With --go: an answer given in advance: several answer the fork's questions in order, and NODE=ANSWER the question of
    /// that node
    #[arg(long = "answer", allow_negative_numbers = true, value_name = "ANSWER", requires = "go")]
    answers: Vec<String>,
    /// With --go: let the fork sign those items of the project that the manifest names without wildcards, with one of your
    /// keys
    #[arg(long, value_name = "KEY", requires = "go")]
    sign_with: Option<String>,
    /// With --go: run in the background
    #[arg(long, requires = "go", conflicts_with = "stream")]
    detach: bool,
    /// Print nothing about the steps
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    given: GivenArgs,
    #[command(flatten)]
    observe: observe::Args,
}

impl Args {
    /// Returns whether stdout is a stream of JSON lines.
    pub(super) fn streams(&self) -> bool {
        self.observe.streams()
    }
}

pub(super) fn run(args: Args, project: &Project, context: &Context) -> Result<Exit> {
    if !args.go && args.observe.is_used() {
        return Err(Error::usage("--stream and --otlp are for a fork that runs")
            .help("add --go, or give them to `graph-host resume`"));
    }
    context.block_on(carry_out(args, project, context))?
}

async fn carry_out(args: Args, project: &Project, context: &Context) -> Result<Exit> {
    let edit = args.edit.read()?;
    if let Some(key) = args.sign_with.as_deref().filter(|_| args.go) {
        // Checked before the fork is created.
        signing_key(&context.host.home, key)?;
    }
    let (runtime, row) = Runtime::of_run(context.host.clone(), project.clone(), &args.run)?;
    let at = args.at.unwrap_or(CheckpointSelector::Newest);
    let options = ForkOptions { at, edit, run_id: args.run_id };
    let done = Box::pin(runtime.fork(&row.run_id, options)).await?;
    let (origin, sequence) = done.origin.clone().unwrap_or_default();
    let text =
        format!("run {} from {origin} at checkpoint {sequence}, after step {}", done.run, done.summary.steps);
    // A fork that waits at an interrupt is not resumed.
    let goes_on = args.go && !done.summary.status.is_end() && done.summary.interrupts.is_empty();
    if goes_on {
        if !args.quiet {
            context.output.note(format_args!("{} {text}", styled(output::GOOD, "forked")));
        }
        let mut resume = resume::Args::of(&done.run);
        resume.accept_changes = args.accept_changes;
        resume.max_steps = args.max_steps;
        resume.later_answer = args.answers;
        resume.sign_with = args.sign_with;
        resume.detach = args.detach;
        resume.quiet = args.quiet;
        resume.observe = args.observe;
        resume.given = args.given;
        resume.project = Some(project.folder().to_path_buf());
        return Box::pin(resume::resume(resume, None, context)).await.map_err(|error| {
            let help = remedies::of_error(&error).unwrap_or_default();
            let kept = format!(
                "{help}\nthe fork is kept; resume it with: graph-host resume {}",
                typed_run(&done.run, project.folder())
            );
            remedies::reworded(error, kept.trim().to_owned())
        });
    }
    let code = if args.go { exit::of_run(&done.summary) } else { Exit::Ok };
    if context.output.is_json() {
        let store = runtime.store()?;
        let visited = checkpoints::visited(&*store, &done.run, Some(done.key));
        let mut document =
            RunDocument::new(&done.run, &done.graph, &done.summary, visited).at(now()).to_value()?;
        if let Value::Object(document) = &mut document {
            document.insert("forked_from".to_owned(), json!({ "run_id": origin, "checkpoint": sequence }));
        }
        context.output.document(&document)?;
        return Ok(code);
    }
    context.output.line(format_args!("{} {text}", styled(output::GOOD, "forked")))?;
    super::update::print_edited(&done, &typed_run(&done.run, project.folder()), context)?;
    Ok(code)
}
