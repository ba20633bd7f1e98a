//! `graph-host run`: carry out a graph.

use crate::command::args;
use crate::command::args::SourceArgs;
use graph_host::context::named_project;
use graph_runtime::error::Kind;
use graph_runtime::history::checkpoints::Names;
use graph_runtime::telemetry::Telemetry;
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use graph_core::diagnostic::printable;
use graph_core::graph::Durability;
use graph_core::record::ErrorCode;
use graph_core::walker::{Event, Summary};
use graph_host::background::{self, BackgroundOptions, Detached};
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::foreground_run::Session;
use graph_host::terminal::inputs;
use graph_host::terminal::output::{self, Output, styled};
use graph_host::terminal::prompt::Given;
use graph_host::terminal::run_report::{self, Progress};
use graph_host::terminal::text::standing_text;
use graph_runtime::error::{Error, Result};
use graph_runtime::graph_store::CheckpointStore;
use graph_runtime::history::checkpoints;
use graph_runtime::history::run_document::RunDocument;
use graph_runtime::items::graph_file::standing_json;
use graph_runtime::items::locate::Space;
use graph_runtime::items::precedence::Precedence;
use graph_runtime::items::subgraphs::recursion_warnings;
use graph_runtime::items::text_items::Text;
use graph_runtime::plan::{Plan, PlannedId};
use graph_runtime::project;
use graph_runtime::project::key_pairs::signing_key;
use graph_runtime::project::run_folder::RunFolder;
use graph_runtime::project::stores::{self, StoreKind};
use graph_runtime::run::restore;
use graph_runtime::run::run_id;
use graph_runtime::run::start::{RunContext, Start, begin, check_inputs, run_parameters, unknown_inputs};
use graph_runtime::run::stop_notes;
use serde_json::{Value, json};

use super::{number, observe, resume, resume_by_input};

/// Run a graph
///
/// Nothing is allowed that the manifest (--caps) does not grant. Everything is checked before the first node runs; see
/// what that comes to with --plan.
#[derive(Clone, Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Args {
    /// The graph: a file, an item id, or a reference (`oci://…`, `oci-layout:…`)
    graph: String,
    /// The capability manifest; without it, nothing is allowed
    #[arg(long, value_name = "FILE")]
    pub(super) caps: Option<PathBuf>,
    #[command(flatten)]
    pub(super) sources: SourceArgs,
    /// An input; a value that is JSON is that value, anything else is text. Four are about the run itself, unless the
    /// graph's `config_schema` declares them: `capabilities`, `depth`, `resume_run_id`, `async`
    #[arg(long = "input", short = 'i', value_name = "KEY=VALUE", value_parser = inputs::parse_pair)]
    input: Vec<(String, Value)>,
    /// A JSON or YAML file of inputs, `-` for stdin; --input wins over it
    #[arg(long, value_name = "FILE")]
    inputs: Option<PathBuf>,
    /// Refuse inputs that the graph's `config_schema` does not name, which are warned of otherwise
    #[arg(long)]
    strict_inputs: bool,
    /// Show items, signers, grants and what is missing, and run nothing
    #[arg(long)]
    pub(super) plan: bool,
    /// Run again whenever the graph, the manifest or an item changes
    #[arg(long, conflicts_with_all = ["plan", "run_id"])]
    pub(super) watch: bool,
    /// What random numbers come from: a digest, or any text; without it, the digest of graph and inputs
    #[arg(long, value_name = "SEED")]
    pub(super) seed: Option<String>,
    /// The run's id; without it, a fresh one
    #[arg(long, value_name = "ID", value_parser = run_id::check)]
    pub(super) run_id: Option<String>,
    /// How many supersteps may run, in place of the graph's `max_steps`
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::from_one::<u64>)]
    pub(super) max_steps: Option<u64>,
    /// When a step counts as stored, in place of the graph's `durability`
    #[arg(long, value_enum, value_name = "MODE")]
    pub(super) durability: Option<Mode>,
    /// Where the run is kept
    #[arg(long, value_parser = args::store(), value_name = "STORE", default_value = "sqlite")]
    pub(super) store: StoreKind,
    /// An answer to a question that the run will ask, in order; or NODE=ANSWER
    #[arg(long = "answer", value_name = "ANSWER")]
    pub(super) answers: Vec<String>,
    /// Let the run sign items of the project that the manifest names without wildcards, with one of your keys or its file
    #[arg(long, value_name = "KEY")]
    pub(super) sign_with: Option<String>,
    /// Perform every task, also those with a `cache`; keep nothing for later ones
    #[arg(long)]
    pub(super) no_cache: bool,
    /// Run in the background: print the run's id and process and return once it is under way
    #[arg(long, conflicts_with_all = ["plan", "stream"])]
    pub(super) detach: bool,
    /// Say nothing about the steps
    #[arg(long, short)]
    pub(super) quiet: bool,
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

/// Tells what is doubtful about the graphs of a scene, and about where they were found.
fn warn_of(scene: &RunContext, output: Output) {
    if !scene.file.warnings.is_empty() {
        output.report(&scene.file.warnings);
    }
    let recursion = recursion_warnings(&scene.file.graph, &scene.subgraphs.graphs);
    let files = iter::once(&scene.file).chain(scene.subgraphs.files.values());
    let found = files.flat_map(|file| &file.precedence.warnings);
    for warning in recursion.iter().chain(&scene.subgraphs.warnings).chain(found) {
        output.warn(warning);
    }
}

/// Warns of inputs that the graph does not name, or refuses them.
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
    let given = inputs::gather(args.inputs.as_deref(), args.input.clone())?;
    let (sources, project) = (args.sources.sources(), named_project(args.sources.project.as_deref())?);
    let context = &context.quiet(args.quiet);
    let mut scene = RunContext::open(&args.graph, args.caps.as_deref(), &sources, &project, &context.host)?;
    scene.components.signing_key =
        args.sign_with.as_deref().map(|key| signing_key(&context.host.home, key)).transpose()?;
    let graph = Arc::clone(&scene.file.graph);
    warn_of(&scene, output);
    let parameters = run_parameters(&graph, &given)?;
    if let Some(run) = &parameters.resume_run_id {
        return resume_by_input::go_on(run, &args, given.clone(), &scene, context).await;
    }
    let detach = in_background(&args, parameters.detached)?;
    scene.components.manifest = Arc::new(parameters.narrow(&scene.components.manifest, 0));
    let plan = Plan::make(&graph, &scene.subgraphs.graphs, &scene.hooks.hooks, &scene.components).await;
    let suggest = scene.suggest_command(&args.graph, &sources);
    if args.plan {
        return show_plan(&scene, &plan, &suggest, context);
    }
    warn_of_inputs(&unknown_inputs(&graph, &given), args.strict_inputs, output)?;
    let inputs = check_inputs(&graph, given)?.inputs;
    if let Some(error) = plan.refusal(&suggest) {
        let nothing_granted = args.caps.is_none() && error.kind() == Kind::Denied;
        return Err(if nothing_granted {
            error.help(format!(
                "without a manifest (--caps FILE) nothing is allowed. See what the graph needs: {suggest}"
            ))
        } else {
            error
        });
    }
    let signed = standing_text(&scene.file.standing);
    let notices = plan.notices();
    let unsigned = unsigned(&plan);
    let items = plan.items.len() as u64;
    let inside = inside_lines(&scene);

    let telemetry = args.observe.telemetry()?;
    if detach {
        RunFolder::check(project.folder())?;
    }
    let store = stores::open(project.folder(), args.store, &context.host)?;
    let start = Start {
        inputs,
        run_id: args.run_id,
        seed: args.seed,
        max_steps: args.max_steps,
        durability: args.durability.map(Durability::from),
    };
    let mut ready = begin(scene, plan, start, Arc::clone(&store), &context.host)?;
    if args.no_cache {
        ready.driver.ignore_cache();
    }
    if !args.quiet {
        output.note(format_args!(
            "{} {}  graph {signed}, {}",
            styled(output::BOLD, printable(&graph.id)),
            styled(output::DIM, format_args!("run {}", ready.run)),
            run_report::counted(items, "component"),
        ));
        for line in &inside {
            output.note(format_args!("  inside: {line}"));
        }
    }
    for notice in notices.iter().chain(&unsigned) {
        output.warn(notice);
    }
    if detach {
        let run = ready.run.clone();
        // Given back, for the process in the background to take.
        drop(ready);
        let mut options = resume::later_options(&args.answers, args.sign_with.as_deref(), args.quiet);
        options.extend(args.no_cache.then(|| "--no-cache".into()));
        options.extend(args.observe.for_background());
        let orders = BackgroundOptions { options, inputs: None };
        return show_detached(project.folder(), &run, &graph.id, orders, context);
    }
    let progress = Progress::new(output, args.quiet || output.is_json());
    let observers =
        args.observe.observers(Arc::clone(&store), &ready.run, &graph.id, telemetry.as_ref(), context)?;
    let mut session = Session {
        thread: RunFolder::of(project.folder(), &ready.run),
        run: ready.run,
        driver: ready.driver,
        progress,
        observers,
        output,
        answers: Given::new(args.answers),
        herald: None,
        checked: None,
    };
    let ended = session.go(Event::Started).await;
    if let Some(Err(error)) = telemetry.map(Telemetry::finish) {
        output.warn(format_args!("{error}; the run is none the worse"));
    }
    let summary = ended?;
    finish(&session, &*store, &graph.id, &summary, args.quiet, context)
}

/// Whether the run goes on in the background: by `--detach`, or by what its inputs say.
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
        return Err(Error::usage("a run in memory lives in one process: it cannot go on in the background"));
    }
    Ok(detach)
}

/// Warnings about components that nobody has signed.
fn unsigned(plan: &Plan) -> Vec<String> {
    let items = plan.items.iter();
    let unsigned = items
        .filter(|(_, item)| item.as_ref().is_ok_and(|admitted| admitted.verified.standing().is_unsigned()));
    let told = unsigned
        .map(|(id, _)| format!("component `{id}` is not signed: nobody vouches for it (--allow-unsigned)"));
    told.collect()
}

/// A line for each graph inside the graph.
fn inside_lines(scene: &RunContext) -> Vec<String> {
    scene
        .subgraphs
        .files
        .iter()
        .map(|(id, file)| format!("graph `{}` {}", printable(id), standing_text(&file.standing)))
        .collect()
}

/// Shows what a run has come to.
pub(in crate::command) fn finish(
    session: &Session,
    store: &dyn CheckpointStore,
    graph: &str,
    summary: &Summary,
    quiet: bool,
    context: &Context,
) -> Result<Exit> {
    let output = context.output;
    if let Err(error) = stop_notes::note(&context.host.home, store, &session.run) {
        output
            .warn(format_args!("`runs verify` cannot tell later whether this stop was taken away: {error}"));
    }
    if output.is_json() {
        let visited = visited(store, &session.run, summary, context);
        let document = RunDocument::of(&session.run, graph, summary, visited).after(session.checked);
        run_report::print(&document, output)?;
    } else {
        if !quiet {
            output.note(run_report::verdict(summary, Some(session.progress.elapsed())));
        }
        for line in run_report::aftermath(&session.run, summary) {
            output.note(line);
        }
        match summary.output.as_deref() {
            None | Some(Value::Null) => {}
            // What a run comes to stands in its stream.
            Some(_) if output.is_in_lines() => {}
            Some(Value::String(text)) => output.line(printable(text))?,
            Some(value) => output.line(run_report::pretty(value))?,
        }
    }
    Ok(run_report::exit(summary))
}

/// The nodes visited in a run, for its document. The run's outcome is printed even if its history cannot be read: then there
/// are none, with a warning unless the document says itself that the store has failed.
fn visited<'s>(
    store: &'s dyn CheckpointStore,
    run: &'s str,
    summary: &Summary,
    context: &'s Context,
) -> Box<Names<'s>> {
    let has_failed = summary.error.as_ref().is_some_and(|error| error.code == ErrorCode::Storage);
    Box::new(move |visit| {
        let row = restore::find(store, run);
        let key = row.and_then(|row| context.host.home.verifying_identity(row.key));
        if let Err(error) = key.and_then(|key| checkpoints::visited(store, run, key)(visit))
            && !has_failed
        {
            context.output.warn(format_args!("the nodes visited are not listed: {}", error.message()));
        }
        Ok(())
    })
}

/// Sends a run that is ready to the background, and tells where it is.
pub(super) fn show_detached(
    project: &Path,
    run: &str,
    graph: &str,
    orders: BackgroundOptions,
    context: &Context,
) -> Result<Exit> {
    let project = graph_runtime::run::pins::absolute(project);
    let Detached { pid, log } = background::start(&project, run, orders)?;
    if context.output.is_json() {
        context.output.document(&json!({
            "run_id": run,
            "graph": graph,
            "status": "running",
            "pid": pid,
            "log": log.display().to_string(),
        }))?;
    } else {
        let log = project::shown(&log);
        context
            .output
            .line(format_args!("run {run} goes on in the background: process {pid}, output in {log}"))?;
        context
            .output
            .note(format_args!("{} graph-host runs watch {run}", styled(output::DIM, "follow it with:")));
    }
    Ok(Exit::Ok)
}

#[allow(clippy::too_many_lines, reason = "one section after the other, each a few lines")]
fn show_plan(scene: &RunContext, plan: &Plan, suggest: &str, context: &Context) -> Result<Exit> {
    let output = context.output;
    let missing = plan.missing();
    let exit = if missing.is_empty() { Exit::Ok } else { Exit::Denied };
    if output.is_json() {
        let mut document = json!({
            "graph": scene.file.graph.id,
            "file": scene.file.path.display().to_string(),
            "space": scene.file.space,
            "passed_over": scene.file.precedence.passed_over,
            "hides": scene.file.precedence.hides,
            "digest": scene.file.graph.digest,
            "signature": standing_json(&scene.file.standing),
            "graphs": scene.subgraphs.files.iter().map(|(id, file)| json!({
                "id": id,
                "file": file.path.display().to_string(),
                "space": file.space,
                "passed_over": file.precedence.passed_over,
                "hides": file.precedence.hides,
                "digest": file.graph.digest,
                "signature": standing_json(&file.standing),
            })).collect::<Vec<_>>(),
            "warnings": scene.subgraphs.warnings,
        });
        if let (Value::Object(document), Value::Object(plan)) = (&mut document, plan.to_json()) {
            document.extend(plan);
            document.insert("suggest".to_owned(), json!(suggest));
        }
        output.document(&document)?;
        return Ok(exit);
    }
    let graph = &scene.file.graph;
    output.line(format_args!(
        "{} {}  {}",
        styled(output::BOLD, printable(&graph.id)),
        project::shown(&scene.file.path),
        standing_text(&scene.file.standing)
    ))?;
    output.line(format_args!("  {}", styled(output::DIM, graph.digest)))?;
    if let Some(line) = scene.file.precedence.line(scene.file.space) {
        output.line(format_args!("  {line}"))?;
    }
    output.line(styled(output::BOLD, "\nitems"))?;
    for (id, item) in &plan.items {
        match item {
            Ok(admitted) => output.line(item_lines(id, admitted))?,
            Err(problem) => output.line(format_args!(
                "  {} {}: {}",
                styled(output::BAD, "✗"),
                printable(id),
                printable(&problem.message)
            ))?,
        }
    }
    for ((item_type, id), text) in &plan.texts {
        match text {
            Ok(text) => output.line(text_line(item_type, id, text))?,
            Err(problem) => output.line(format_args!(
                "  {} {item_type} {}: {}",
                styled(output::BAD, "✗"),
                printable(id),
                printable(&problem.message)
            ))?,
        }
    }
    for (id, file) in &scene.subgraphs.files {
        output.line(graph_line(id, file))?;
    }
    output.line(styled(output::BOLD, "\nnodes"))?;
    for node in plan.nodes.iter().chain(&plan.hooks) {
        let name = node.hook.map_or_else(|| node.name.clone(), |event| format!("{event} hook {}", node.name));
        let item = match &node.item {
            PlannedId::Literal(id) if id.is_empty() => "(a search over everything)".to_owned(),
            PlannedId::Literal(id) => printable(id).into_owned(),
            PlannedId::Template(text) => format!("{} (known when it is dispatched)", printable(text)),
        };
        let kinds = node.grant.as_ref().map_or_else(String::new, |grant| {
            let mut parts: Vec<_> = grant.kinds.iter().map(ToString::to_string).collect();
            parts.extend(grant.filesystem.iter().map(|mount| {
                format!(
                    "{} as {} ({})",
                    printable(&mount.host),
                    printable(&mount.guest),
                    mount.access.as_str()
                )
            }));
            parts.extend(grant.http.iter().flat_map(|rule| {
                let schemes =
                    rule.schemes.iter().map(|scheme| format!("{scheme}://{}", printable(&rule.host)));
                let open_ports: Vec<_> = rule.ports.iter().map(ToString::to_string).collect();
                let tail = format!(":{} ({})", open_ports.join(","), rule.methods.join(", "));
                schemes.map(move |start| format!("{start}{tail}"))
            }));
            parts.extend(grant.secrets.iter().map(|secret| {
                let (header, host) = (printable(&secret.header), printable(&secret.host));
                format!("secret {} in {header} to {host}", printable(&secret.name))
            }));
            parts.extend(
                grant.knowledge.iter().map(|rule| format!("{} ({})", rule.scope, rule.access.as_str())),
            );
            format!("  {}", styled(output::DIM, format_args!("granted: {}", parts.join(", "))))
        });
        output.line(format_args!("  {:<20} {item}{kinds}", printable(&name)))?;
    }
    if missing.is_empty() {
        output.line(styled(output::GOOD, "\nnothing is missing"))?;
    } else {
        output.line(styled(output::BAD, "\nmissing"))?;
        let mut shown = Vec::new();
        for (node, problem) in &missing {
            output.line(format_args!("  {}: {}", node.subject(), printable(&problem.message)))?;
            let lines = problem.manifest_lines.as_ref().or(problem.help.as_ref());
            if let Some(lines) = lines.filter(|lines| !shown.contains(*lines)) {
                for line in lines.trim_end().lines() {
                    output.line(format_args!("      {}", styled(output::DIM, printable(line))))?;
                }
                shown.push(lines.clone());
            }
        }
        output.line(format_args!("\nsee what the graph needs: {suggest}"))?;
    }
    Ok(exit)
}

fn text_line(item_type: &str, id: &str, text: &Text) -> String {
    let file = text.file.as_ref().map(|file| project::shown(&file.path)).unwrap_or_default();
    format!(
        "  {} {item_type} {}  {}  {}{}",
        styled(output::GOOD, "✓"),
        printable(id),
        standing_text(&text.standing),
        styled(output::DIM, format_args!("{} {file}", text.digest.short())),
        precedence_line(&text.precedence, text.space()),
    )
}

fn item_lines(id: &str, admitted: &graph_runtime::plan::admission::Admitted) -> String {
    use graph_core::trust::Standing;
    let verified = &admitted.verified;
    let version = verified.version().map(|version| format!("@{}", printable(version))).unwrap_or_default();
    let signer = match verified.standing() {
        Standing::Signed { key, .. } => {
            styled(output::GOOD, format_args!("signed by {}", printable(&key.to_string())))
        }
        Standing::Unsigned => styled(output::CAUTION, "not signed"),
    };
    let interfaces: Vec<_> = admitted.declared.iter().map(ToString::to_string).collect();
    let needs = if interfaces.is_empty() { "nothing".to_owned() } else { interfaces.join(", ") };
    format!(
        "  {} {}{version}  {signer}  {}{}\n      needs {}",
        styled(output::GOOD, "✓"),
        printable(id),
        styled(output::DIM, format_args!("{} {}", verified.digest().short(), project::shown(&admitted.path))),
        precedence_line(&admitted.precedence, admitted.space),
        printable(&needs)
    )
}

/// The line below an item that says where it was taken from, where there are others with its id.
fn precedence_line(precedence: &Precedence, space: Option<Space>) -> String {
    let line = space.and_then(|space| precedence.line(space));
    line.map(|line| format!("\n      {line}")).unwrap_or_default()
}

/// A graph inside the graph, as the plan shows it.
fn graph_line(id: &str, file: &graph_runtime::items::graph_file::GraphFile) -> String {
    format!(
        "  {} {}  graph {}  {}{}",
        styled(output::GOOD, "✓"),
        printable(id),
        standing_text(&file.standing),
        styled(output::DIM, format_args!("{} {}", file.graph.digest.short(), project::shown(&file.path))),
        precedence_line(&file.precedence, Some(file.space))
    )
}
