//! `graph-host run`: executes a graph.

use crate::command::args;
use crate::command::args::SourceArgs;
use graph_host::context::named_project;
use graph_host::terminal::remedies;
use graph_runtime::error::Kind;
use graph_runtime::remedy::{ManifestSuggestion, SuggestedGraph};
use std::iter;
use std::path::PathBuf;
use std::sync::Arc;

use graph_core::diagnostic::printable;
use graph_core::policy::Durability;
use graph_core::record::LogLevel;
use graph_host::background::{self, BackgroundOptions, BackgroundRun};
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::inputs;
use graph_host::terminal::output::{self, Output, styled};
use graph_host::terminal::paths::shown;
use graph_host::terminal::run_report;
use graph_host::terminal::text::standing_text;
use graph_runtime::error::{Error, Result};
use graph_runtime::items::subgraphs::recursion_warnings;
use graph_runtime::plan::Plan;
use graph_runtime::project::Project;
use graph_runtime::project::run_folder::RunFolder;
use graph_runtime::run::opened_graph::OpenedGraph;
use graph_runtime::run::run_id;
use graph_runtime::run::run_inputs::run_parameters;
use graph_runtime::run::stores::StoreKind;
use graph_runtime::run::typed_answers::TypedAnswers;
use graph_runtime::run::typed_inputs;
use graph_runtime::{PlanOptions, PlannedRun, Runtime, StartOptions};
use graph_walker::walker::Event;
use serde_json::json;

use super::foreground::Foreground;
use super::{number, observe, plan_view, resume, resume_by_input};

/// Run a graph
///
/// Only what the manifest (--caps) grants is allowed. Everything is checked before the first node runs; --plan prints the
/// result of these checks.
#[derive(Clone, Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Args {
    /// The graph: a file, an item id, or a reference (`oci://…`, `oci-layout:…`)
    graph: String,
    /// The capability manifest; without it, nothing is allowed
    #[arg(long, value_name = "FILE", help_heading = "Permissions and items")]
    pub(super) caps: Option<PathBuf>,
    #[command(flatten)]
    pub(super) sources: SourceArgs,
    /// An input. Where `config_schema` declares a string it is the text as it is typed, where it declares another type it is JSON,
    /// and without a declared type it is JSON, except for numbers that JSON writes in another way, such as 1.10. Four inputs are about the run itself,
    /// unless the graph's `config_schema` declares them: `capabilities`, `depth`, `resume_run_id`, `async`
    #[arg(long = "input", short = 'i', value_name = "KEY=VALUE", value_parser = inputs::split_pair, help_heading = "Inputs and answers")]
    input: Vec<(String, String)>,
    /// A JSON or YAML file of inputs, `-` for stdin; --input takes precedence over it
    #[arg(long, value_name = "FILE", help_heading = "Inputs and answers")]
    inputs: Option<PathBuf>,
    /// Refuse inputs that the graph's `config_schema` does not name; without it, they cause a warning
    #[arg(long, help_heading = "Inputs and answers")]
    pub(super) strict_inputs: bool,
    /// Show items, signers, grants and what is missing, and run nothing
    #[arg(long, help_heading = "How it runs")]
    pub(super) plan: bool,
    /// Run again whenever the graph, the manifest or an item changes
    #[arg(long, conflicts_with_all = ["plan", "run_id", "detach"], help_heading = "How it runs")]
    pub(super) watch: bool,
    /// The seed of random numbers: a digest, or any text; without it, the digest of graph and inputs
    #[arg(long, value_name = "SEED", help_heading = "Inputs and answers")]
    pub(super) seed: Option<String>,
    /// The run's id; without it, a fresh one
    #[arg(long, value_name = "ID", value_parser = run_id::check, help_heading = "How it runs")]
    pub(super) run_id: Option<String>,
    /// The parent of this run: a run's id, the beginning of it, or @last. `runs list --parent` lists the runs of a parent
    #[arg(long, value_name = "RUN", help_heading = "How it runs")]
    pub(super) parent: Option<String>,
    /// The most supersteps that may run, in place of the graph's `max_steps`
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::from_one::<u64>, help_heading = "How it runs")]
    pub(super) max_steps: Option<u64>,
    /// When a step has to be stored, in place of the graph's `durability`. After a crash, requests to language models since the
    /// last checkpoint are sent, and paid for, again: with `exit`, all since the run began or last paused
    #[arg(long, value_enum, value_name = "MODE", help_heading = "How it runs")]
    pub(super) durability: Option<Mode>,
    /// Where the run is kept
    #[arg(long, value_parser = args::store(), value_name = "STORE", default_value = "sqlite", help_heading = "How it runs")]
    pub(super) store: StoreKind,
    /// Write the run's state to a knowledge item at every step, .ai/knowledge/graphs/GRAPH/RUN.md; a fork writes an item of
    /// its own
    #[arg(long, conflicts_with = "plan", help_heading = "How it runs")]
    pub(super) state_item: bool,
    /// An answer given in advance: several answer the run's questions in order, and NODE=ANSWER the question of that node
    #[arg(
        long = "answer",
        allow_negative_numbers = true,
        value_name = "ANSWER",
        help_heading = "Inputs and answers"
    )]
    pub(super) answers: Vec<String>,
    /// Let the run sign those items of the project that the manifest names without wildcards, with this key: the name of
    /// one of yours, or a file
    #[arg(long, value_name = "KEY", help_heading = "Permissions and items")]
    pub(super) sign_with: Option<String>,
    /// Dispatch every task, also those of nodes with a `cache`, and store no results for later tasks
    #[arg(long, help_heading = "How it runs")]
    pub(super) no_cache: bool,
    /// Run in the background: print the run's id and its process id, and return once the run is under way
    #[arg(long, conflicts_with_all = ["plan", "stream"], help_heading = "How it runs")]
    pub(super) detach: bool,
    /// Print nothing about the steps
    #[arg(long, short, help_heading = "Output")]
    pub(super) quiet: bool,
    /// The log lines of components that are printed: those of this level, and of more important ones. Without it, those of `info`, and
    /// with --quiet those of `warn`; `runs logs` shows all of them
    #[arg(long, value_parser = args::log_level(), value_name = "LEVEL", help_heading = "Output")]
    pub(super) log: Option<LogLevel>,
    #[command(flatten)]
    pub(super) observe: observe::Args,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(super) enum Mode {
    /// On the disk before the next step starts
    Sync,
    /// Written while the next step runs
    Async,
    /// Written at the end, and at every pause
    Exit,
}

impl From<Mode> for Durability {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Sync => Self::Sync,
            Mode::Async => Self::Async,
            Mode::Exit => Self::Exit,
        }
    }
}

pub(crate) fn run(mut args: Args, context: &Context) -> Result<Exit> {
    args.graph = fetch(&mut args, context)?;
    if args.watch {
        let again = || context.block_on(carry_out(args.clone(), context))?;
        return super::watch::run(&args.graph, args.caps.as_ref(), &args.sources, context, again);
    }
    context.block_on(carry_out(args, context))?
}

fn fetch(args: &mut Args, context: &Context) -> Result<String> {
    let project = named_project(args.sources.project.as_deref())?;
    args.sources.fetch(&args.graph, &project, context)
}

/// Prints the warnings about the graphs and about their origins.
fn warn_of(opened: &OpenedGraph, output: Output) {
    if !opened.file.warnings.is_empty() {
        output.report(&opened.file.warnings);
    }
    let recursion = recursion_warnings(&opened.file.graph, &opened.subgraphs.graphs);
    let files = iter::once(&opened.file).chain(opened.subgraphs.files.values());
    let found = files.flat_map(|file| &file.precedence.warnings);
    for warning in recursion.iter().chain(&opened.subgraphs.warnings).chain(found) {
        output.warn(warning);
    }
}

/// Warns about inputs that the graph does not declare; with `strict`, they are an error.
fn warn_of_inputs(unknown: &[String], strict: bool, output: Output) -> Result<()> {
    if strict && !unknown.is_empty() {
        return Err(Error::invalid(unknown.join("\n")).help("leave out --strict-inputs to be warned only"));
    }
    for warning in unknown {
        output.warn(warning);
    }
    Ok(())
}

async fn carry_out(args: Args, context: &Context) -> Result<Exit> {
    let output = context.output;
    let (sources, project) = (args.sources.sources(), named_project(args.sources.project.as_deref())?);
    let context = &context.with_logs(args.quiet, args.log);
    let runtime = Runtime::new(context.host.clone(), project.clone(), args.store);
    let graph = SuggestedGraph::Named(args.graph.clone());
    let suggestion = ManifestSuggestion { graph, sources: sources.clone() };
    let suggest = remedies::suggest_command(&suggestion);
    let options = PlanOptions { sources, manifest: args.caps.clone(), sign_with: args.sign_with.clone() };
    let opened = runtime.open_graph(&args.graph, &options)?;
    let graph = Arc::clone(&opened.file.graph);
    let schema = graph.input_schema.as_ref();
    let given = inputs::gather(args.inputs.as_deref(), &args.input, schema)?;
    if !args.quiet {
        warn_of(&opened, output);
    }
    let inputs = opened.read_inputs(given)?;
    if let Some(run) = &inputs.parameters().resume_run_id {
        let typed = run_parameters(&graph, &typed_inputs::read(schema, &args.input)?)?;
        resume_by_input::check_typed(run, typed.resume_run_id.as_deref())?;
        return Box::pin(resume_by_input::resume(run, &args, &inputs, &opened, context)).await;
    }
    let detach = in_background(&args, inputs.parameters().detached)?;
    let planned = Box::pin(opened.planned(inputs)).await;
    let durability = args.durability.map(Durability::from);
    if args.plan {
        return plan_view::show(&planned, durability.unwrap_or(graph.durability), &suggest, context);
    }
    warn_of_inputs(&planned.unknown_inputs(), args.strict_inputs, output)?;
    let planned =
        planned.checked(suggestion).map_err(|error| refused(error, args.caps.is_none(), &suggest))?;
    let start_lines = start_lines(&planned);
    let warnings: Vec<_> = planned.plan().notices().into_iter().chain(unsigned(planned.plan())).collect();

    let telemetry = args.observe.telemetry()?;
    if detach {
        RunFolder::check(&project)?;
    }
    let options = StartOptions {
        inputs: None,
        run_id: args.run_id,
        parent: args.parent,
        seed: args.seed,
        max_steps: args.max_steps,
        durability,
        state_item: args.state_item,
        no_cache: args.no_cache,
    };
    let prepared = Box::pin(runtime.prepare(planned, options)).await?;
    if !args.quiet {
        start_lines.print(&graph.id, &prepared.run, output);
    }
    for warning in &warnings {
        output.warn(warning);
    }
    if detach {
        let run = prepared.run.clone();
        // Releases the run for the process in the background.
        drop(prepared);
        let mut options = resume::later_options(&args.answers, args.sign_with.as_deref(), args.quiet);
        options.extend(args.no_cache.then(|| "--no-cache".into()));
        options.extend(args.state_item.then(|| "--state-item".into()));
        options.extend(args.observe.for_background());
        let orders = BackgroundOptions { options, inputs: None };
        return show_detached(&project, &run, &graph.id, orders, context);
    }
    let typed = args::typed_run(&prepared.run, project.folder());
    let foreground = Foreground {
        store: runtime.store()?,
        folder: RunFolder::new(&project, &prepared.run),
        graph: &graph.id,
        typed: typed.clone(),
        quiet: args.quiet,
        is_kept: args.store != StoreKind::Memory,
        answers: TypedAnswers::new(args.answers),
        reporter: None,
        checked: None,
        observe: &args.observe,
        telemetry,
    };
    let ended = Box::pin(foreground.carry_out(prepared, Event::Started, context)).await;
    ended.map_err(|error| args::about_run(error, &typed))
}

/// Adds the way to a manifest to a refusal of a plan that had none.
fn refused(error: Error, is_without_manifest: bool, suggest: &str) -> Error {
    if is_without_manifest && error.kind() == Kind::Denied {
        return error.help(format!(
            "without a manifest (--caps FILE) nothing is allowed. See what the graph needs: {suggest}"
        ));
    }
    error
}

/// Lines that are printed when a run starts.
struct StartLines {
    /// Standing of the graph's signature.
    signed: String,
    components: u64,
    /// A line for each graph that a node dispatches.
    inside: Vec<String>,
}

fn start_lines(planned: &PlannedRun) -> StartLines {
    let (opened, plan) = (planned.opened(), planned.plan());
    let inside = opened.subgraphs.files.iter();
    StartLines {
        signed: standing_text(&opened.file.standing),
        components: plan.items.len() as u64,
        inside: inside
            .map(|(id, file)| format!("graph `{}` {}", printable(id), standing_text(&file.standing)))
            .collect(),
    }
}

impl StartLines {
    fn print(&self, graph: &str, run: &str, output: Output) {
        output.note(format_args!(
            "{} {}  graph {}, {}",
            styled(output::BOLD, printable(graph)),
            styled(output::DIM, format_args!("run {run}")),
            self.signed,
            run_report::counted(self.components, "component"),
        ));
        for line in &self.inside {
            output.note(format_args!("  inside: {line}"));
        }
    }
}

/// Returns whether the run is started in the background: by `--detach`, or by its inputs.
fn in_background(args: &Args, asked: bool) -> Result<bool> {
    if asked && (args.watch || args.observe.streams()) {
        let option = if args.watch { "--watch" } else { "--stream" };
        return Err(Error::usage(format!(
            "`async` among the inputs runs the graph in the background, and {option} is for one in the foreground"
        ))
        .help("leave one of them out; `graph-host runs events RUN --follow` streams a run in the background"));
    }
    let detach = args.detach || asked;
    if detach && !args.plan && args.store == StoreKind::Memory {
        return Err(Error::usage("a run in memory lives in one process: it cannot run in the background"));
    }
    Ok(detach)
}

/// Returns a warning for each unsigned component.
fn unsigned(plan: &Plan) -> Vec<String> {
    let items = plan.items.iter();
    let unsigned = items
        .filter(|(_, item)| item.as_ref().is_ok_and(|admitted| admitted.verified.standing().is_unsigned()));
    let warnings = unsigned
        .map(|(id, _)| format!("component `{id}` is not signed: its author is not known (--allow-unsigned)"));
    warnings.collect()
}

/// Starts a prepared run in the background, and prints its process and log.
pub(super) fn show_detached(
    project: &Project,
    run: &str,
    graph: &str,
    orders: BackgroundOptions,
    context: &Context,
) -> Result<Exit> {
    let BackgroundRun { pid, log } = background::start(project, run, orders)?;
    if context.output.is_json() {
        context.output.document(&json!({
            "success": true,
            "run_id": run,
            "graph_run_id": run,
            "graph": graph,
            "status": "running",
            "pid": pid,
            "log": log.display().to_string(),
        }))?;
    } else {
        let log = shown(&log);
        context
            .output
            .line(format_args!("run {run} runs in the background: process {pid}, output in {log}"))?;
        let typed = args::typed_run(run, project.folder());
        context
            .output
            .note(format_args!("{} graph-host runs watch {typed}", styled(output::DIM, "follow it with:")));
    }
    Ok(Exit::Ok)
}
