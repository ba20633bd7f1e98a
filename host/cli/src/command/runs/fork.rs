//! `graph-host runs fork`.

use std::path::Path;
use std::sync::Arc;

use graph_core::record::Place;
use graph_core::walker::Resume;
use graph_host::answers::Given;
use graph_host::context::Context;
use graph_host::driver::Observers;
use graph_host::error::Result;
use graph_host::exit::Exit;
use graph_host::output::{self, printable, styled};
use graph_host::report::{self, Progress};
use graph_host::resume;
use graph_host::session::Session;
use graph_host::thread::Thread;
use graph_host::travel::{self, parse_place};
use graph_store::CheckpointStore;
use serde_json::{Value, json};

use super::edit::{EditArgs, open};

/// Make a new run from a checkpoint of another one; with --go, run it again from there
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run: its id, the beginning of it, or @last
    run: String,
    /// The checkpoint: step:N as superstep N left it, node:NAME the newest where that node is next, or its number;
    /// without it, the newest
    #[arg(long, value_name = "PLACE", value_parser = parse_place)]
    at: Option<Place>,
    #[command(flatten)]
    edit: EditArgs,
    /// The new run's id
    #[arg(long, value_name = "ID", value_parser = graph_host::run_id::check)]
    run_id: Option<String>,
    /// Let it go on at once
    #[arg(long)]
    go: bool,
    /// With --go: use graph, manifest and components as they are now, where they have changed
    #[arg(long, requires = "go")]
    accept_changes: bool,
    /// Say nothing about the steps
    #[arg(long, short)]
    quiet: bool,
}

pub(super) fn run(args: Args, project: &Path, context: &Context) -> Result<Exit> {
    context.block_on(carry_out(args, project, context))?
}

async fn carry_out(args: Args, project: &Path, context: &Context) -> Result<Exit> {
    let edit = args.edit.read()?;
    let (store, run) = open(project, &args.run, context)?;
    let place = args.at.unwrap_or(Place::Newest);
    let done = travel::fork(&run, Arc::clone(&store), place, edit, args.run_id, context).await?;
    let (origin, sequence) = done.origin.clone().unwrap_or_default();
    let told =
        format!("run {} from {origin} at checkpoint {sequence}, after step {}", done.run, done.summary.steps);
    if args.go && !done.summary.status.is_end() {
        if !args.quiet {
            context.output.note(format_args!("{} {told}", styled(output::GOOD, "forked")));
        }
        let thread = Thread::of(project, &done.run);
        return go_on(&done.run, store, thread, args.accept_changes, args.quiet, context).await;
    }
    if context.output.is_json() {
        let mut document = report::document(&done.run, &done.graph, &done.summary);
        if let Value::Object(document) = &mut document {
            document.insert("forked_from".to_owned(), json!({ "run_id": origin, "checkpoint": sequence }));
        }
        context.output.document(&document)?;
        return Ok(Exit::Ok);
    }
    context.output.line(format_args!("{} {told}", styled(output::GOOD, "forked")))?;
    super::update::tell(&done, context)
}

/// Lets the fork go on as `resume` would; where it pauses before what is next, it stays there.
async fn go_on(
    run: &str,
    store: Arc<dyn CheckpointStore>,
    thread: Thread,
    accept_changes: bool,
    quiet: bool,
    context: &Context,
) -> Result<Exit> {
    let output = context.output;
    let resumable =
        resume::reopen(run, store, accept_changes, None, context, quiet).await.map_err(|error| {
            let help = error.help_text().map(str::to_owned).unwrap_or_default();
            error.help(format!("{help}\nthe fork is kept: graph-host resume {run}").trim().to_owned())
        })?;
    for change in &resumable.accepted {
        output.warn(format_args!("accepted: {change}"));
    }
    for notice in &resumable.plan_notices {
        output.warn(printable(notice));
    }
    let pauses = !resumable.open.is_empty();
    let event = resumable.event(Resume::default());
    let graph = resumable.graph.id.clone();
    let mut session = Session {
        thread,
        herald: None,
        run: resumable.ready.run,
        driver: resumable.ready.driver,
        progress: Progress::new(output, quiet || output.is_json()),
        observers: Observers::default(),
        output,
        answers: Given::default(),
    };
    let summary = if pauses { session.driver.summary() } else { session.go(event).await? };
    crate::command::run::finish(&session, &graph, &summary, quiet, context)
}
