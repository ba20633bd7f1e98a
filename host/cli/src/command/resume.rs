//! `graph-host resume`: resumes a run.

use graph_host::context::named_project;
use graph_host::terminal::typed::in_named_project;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;

use graph_core::diagnostic::printable;
use graph_host::background::{self, BackgroundOptions, StartupReporter};
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::inputs;
use graph_host::terminal::output::{self, Output, styled};
use graph_host::terminal::prompt;
use graph_host::terminal::run_report::counted;
use graph_runtime::Runtime;
use graph_runtime::error::{Error, Result};
use graph_runtime::project::run_folder::RunFolder;
use graph_runtime::run::restore::VerifiedPart;
use graph_runtime::run::resume::{RestoreOptions, Resumable};
use graph_runtime::run::run_inputs::run_parameters;
use graph_runtime::run::typed_answers::TypedAnswers;
use graph_walker::parameters::is_about_the_run;
use graph_walker::walker::{Answers, Resume};
use serde_json::{Map, Value};

use super::foreground::Foreground;
use super::{args, number, observe};

/// Resume a run: answer its questions, give it more steps, continue it
///
/// With new inputs, a run that has ended starts another turn. A run that was interrupted continues from what was stored.
#[derive(Debug, Default, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Args {
    /// The run: its id, the beginning of it, or @last
    run: String,
    /// The answer to the only open question, or ID=ANSWER for each of several: an id, a node, or a path such as each#2/ask; JSON,
    /// or text. Answers to questions that the run has yet to ask are given in advance, as with `run`
    #[arg(
        long = "answer",
        allow_negative_numbers = true,
        value_name = "[ID=]ANSWER",
        help_heading = "Inputs and answers"
    )]
    pub(super) answers: Vec<String>,
    /// The new limit on the supersteps of the run, including those that have run; if the run starts another turn, the limit
    /// of that turn
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = number::from_one::<u64>, help_heading = "How it runs")]
    pub(super) max_steps: Option<u64>,
    /// A new input, merged over the old ones and typed as with `run`; the unfinished superstep is discarded. A run that has ended starts another
    /// turn
    #[arg(long = "input", short = 'i', value_name = "KEY=VALUE", value_parser = inputs::split_pair, help_heading = "Inputs and answers")]
    pub(super) input: Vec<(String, String)>,
    /// New inputs that another command has read.
    #[arg(skip)]
    pub(super) new_inputs: Map<String, Value>,
    /// A JSON or YAML file of new inputs, `-` for stdin
    #[arg(long, value_name = "FILE", help_heading = "Inputs and answers")]
    inputs: Option<PathBuf>,
    /// A value to write to a channel, through its reducer, before the run continues; the unfinished superstep starts again
    /// with the new state. A key that nothing else of the run knows causes a warning
    #[arg(long = "update", value_name = "KEY=VALUE", value_parser = inputs::parse_pair, conflicts_with_all = ["input", "inputs"], help_heading = "Inputs and answers")]
    pub(super) update: Vec<(String, Value)>,
    /// Resume with the present graph, manifest and components if they have changed since the run started
    #[arg(long, help_heading = "How it runs")]
    pub(super) accept_changes: bool,
    /// The project that the run belongs to; without it, the one around the current folder
    #[arg(long, value_name = "DIR", help_heading = "Permissions and items")]
    pub(super) project: Option<PathBuf>,
    #[command(flatten)]
    pub(super) given: args::GivenArgs,
    /// Let the run sign those items of the project that the manifest names without wildcards, with this key: the name of
    /// one of yours, or a file
    #[arg(long, value_name = "KEY", help_heading = "Permissions and items")]
    pub(super) sign_with: Option<String>,
    /// Dispatch every task, also those of nodes with a `cache`, and store no results for later tasks
    #[arg(long, help_heading = "How it runs")]
    pub(super) no_cache: bool,
    /// Write the run's state to a knowledge item at every step from now on, .ai/knowledge/graphs/GRAPH/RUN.md
    #[arg(long, help_heading = "How it runs")]
    pub(super) state_item: bool,
    /// Resume in the background: print the run's id and its process id, and return once the run is under way
    #[arg(long, conflicts_with = "stream", help_heading = "How it runs")]
    pub(super) detach: bool,
    /// Print nothing about the steps
    #[arg(long, short, help_heading = "Output")]
    pub(super) quiet: bool,
    #[command(flatten)]
    pub(super) observe: observe::Args,
    /// For the process in the background: where it reports that the run is under way
    #[arg(long, value_name = "FILE", hide = true, conflicts_with = "detach")]
    report_to: Option<PathBuf>,
    /// For the process in the background: an answer to a question that the run has yet to ask
    #[arg(long, value_name = "ANSWER", hide = true, requires = "report_to")]
    pub(super) later_answer: Vec<String>,
}

impl Args {
    /// Returns the arguments that only name a run.
    pub(super) fn of(run: &str) -> Self {
        Self { run: run.to_owned(), ..Self::default() }
    }
}

/// Returns the options of `run` for the process in the background.
pub(super) fn later_options(answers: &[String], sign_with: Option<&str>, quiet: bool) -> Vec<OsString> {
    let mut options: Vec<OsString> =
        answers.iter().map(|answer| format!("--later-answer={answer}").into()).collect();
    options.extend(sign_with.map(|key| format!("--sign-with={key}").into()));
    if quiet {
        options.push("--quiet".into());
    }
    options
}

pub(crate) fn run(args: Args, context: &Context) -> Result<Exit> {
    let reporter = args.report_to.as_deref().map(StartupReporter::new);
    let (run, folder) = (args.run.clone(), args.project.clone());
    let ended = context.block_on(resume(args, reporter.clone(), context)).flatten();
    let ended = ended.map_err(|error| match named_project(folder.as_deref()) {
        Ok(project) => args::about_run(error, &args::typed_run(&run, project.folder())),
        Err(_) => error,
    });
    if let (Err(error), Some(reporter)) = (&ended, reporter) {
        reporter.failed(error);
    }
    ended
}

pub(super) async fn resume(args: Args, reporter: Option<StartupReporter>, context: &Context) -> Result<Exit> {
    let output = context.output;
    let context = &context.quiet(args.quiet);
    if reporter.is_some() {
        background::outlive_terminal();
    }
    let begins_turn = args.inputs.is_some() || !args.input.is_empty() || !args.new_inputs.is_empty();
    let project = named_project(args.project.as_deref())?;
    // Nothing is created if the run does not exist.
    let (runtime, row) = Runtime::of_run(context.host.clone(), project.clone(), &args.run)?;
    let telemetry = args.observe.telemetry()?;
    let restore = RestoreOptions {
        accept_changes: args.accept_changes,
        begins_turn,
        sign_with: args.sign_with.clone(),
        no_cache: args.no_cache,
        state_item: args.state_item,
        caps: args.given.caps.clone(),
        sources: args.given.sources(),
    };
    let mut resumable = Box::pin(runtime.reopen(&row.run_id, restore)).await?;
    let store = runtime.store()?;
    for change in &resumable.accepted {
        output.warn(format_args!("accepted: {change}"));
    }
    for notice in &resumable.plan_notices {
        output.warn(notice);
    }
    let new_inputs = begins_turn.then(|| {
        let schema = resumable.graph.input_schema.as_ref();
        let mut inputs = inputs::gather(args.inputs.as_deref(), &args.input, schema)?;
        inputs.extend(args.new_inputs.clone());
        Ok::<_, Error>(inputs)
    });
    let new_inputs = new_inputs.transpose()?;
    let NewInputs { new: new_inputs, merged: inputs, detach } = new_inputs_of(new_inputs, &args, &resumable)?;
    let mut given = TypedAnswers::new(args.answers.clone());
    let keys = args.update.iter().map(|(key, _)| key.as_str());
    for warning in resumable.unknown_channels(keys) {
        output.warn(warning);
    }
    let update = (!args.update.is_empty()).then(|| args.update.iter().cloned().collect::<Map<_, _>>());
    resumable.check_changes(inputs.is_some() || update.is_some())?;
    let mut later = TypedAnswers::new(args.later_answer.clone());
    let can_prompt = inputs.is_none() && given.is_empty() && !detach && output.can_ask();
    let typed = args::typed_run(&args.run, project.folder());
    // A changed graph may ask something else: its questions are raised again before they are answered.
    let asks_again = resumable.asks_again();
    let answers = if inputs.is_some() || resumable.from_the_start {
        // Another turn, or a run without a first step, has yet to raise the questions: its answers are given in advance.
        resumable.only_as_shown(&mut given);
        later.append(given);
        Answers::None
    } else if can_prompt && !asks_again && !resumable.open.is_empty() {
        match prompt::ask(output, &typed, &resumable.open, interrupted()).await {
            Some(answers) => answers,
            // Leaving the prompt changes nothing: the run still waits.
            None => return Ok(Exit::Interrupted),
        }
    } else {
        let taken = resumable.take_answers(&mut given, &*store)?;
        later.append(given);
        taken
    };
    if detach {
        let (run, graph) = (resumable.prepared.run.clone(), resumable.graph.id.clone());
        drop(resumable);
        let orders = BackgroundOptions { options: options(&args), inputs: new_inputs };
        return super::run::show_detached(&project, &run, &graph, orders, context);
    }
    if !args.quiet {
        print_opening(&resumable, &typed, output);
    }
    let event = resumable.event(Resume { answers, max_steps: args.max_steps, inputs, update });
    let foreground = Foreground {
        store,
        folder: RunFolder::new(&project, &resumable.prepared.run),
        graph: &resumable.graph.id,
        typed,
        quiet: args.quiet,
        is_kept: true,
        answers: later,
        reporter,
        checked: resumable.checked,
        observe: &args.observe,
        telemetry,
    };
    Box::pin(foreground.carry_out(resumable.prepared, event, context)).await
}

/// Resolves when the user interrupts the command.
async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Prints the resumed run, and the extent of its verification.
fn print_opening(resumable: &Resumable, typed: &str, output: Output) {
    output.note(format_args!(
        "{} {}  resumed after step {}",
        styled(output::BOLD, printable(&resumable.graph.id)),
        styled(output::DIM, format_args!("run {}", resumable.prepared.run)),
        resumable.steps,
    ));
    if let Some(checked) = &resumable.checked {
        output.note(styled(output::DIM, checked_line(checked, typed)));
    }
}

/// Describes the verification before a run is resumed, with the command that checks the rest.
fn checked_line(checked: &VerifiedPart, run: &str) -> String {
    let VerifiedPart { first, last, child_runs, .. } = *checked;
    let mut what =
        if first == last { format!("checkpoint {last}") } else { format!("checkpoints {first} to {last}") };
    if child_runs > 0 {
        let _ = write!(what, " and {}", counted(child_runs, "child run"));
    }
    if first == 0 {
        return format!("checked {what}");
    }
    in_named_project(&format!("checked {what}; for the whole history: graph-host runs verify {run}"))
        .into_owned()
}

/// New inputs of a run.
struct NewInputs {
    /// The new inputs.
    new: Option<Map<String, Value>>,
    /// The new inputs over those of the run.
    merged: Option<Map<String, Value>>,
    detach: bool,
}

fn new_inputs_of(given: Option<Map<String, Value>>, args: &Args, resumable: &Resumable) -> Result<NewInputs> {
    let Some(mut new) = given else { return Ok(NewInputs { new: None, merged: None, detach: args.detach }) };
    let detach = of_this_run(&mut new, resumable)? || args.detach;
    if detach && args.observe.streams() {
        return Err(Error::usage(
            "`async` among the inputs runs it in the background, and --stream is for a run in the foreground",
        )
        .help(
            "leave one of them out; `graph-host runs events RUN --follow` streams a run in the background",
        ));
    }
    // Inputs that are only about the run itself are no new inputs.
    if new.is_empty() {
        return Ok(NewInputs { new: None, merged: None, detach });
    }
    let merged = resumable.merged_inputs(new.clone())?;
    Ok(NewInputs { new: Some(new), merged: Some(merged), detach })
}

/// Removes the parameters of the run from the new inputs; returns whether it is resumed in the background. A change of `capabilities`
/// or `depth`, which are fixed at the start, is an error.
fn of_this_run(new: &mut Map<String, Value>, resumable: &Resumable) -> Result<bool> {
    let (graph, run) = (&resumable.graph, &resumable.prepared.run);
    let parameters = run_parameters(graph, new)?;
    if let Some(other) = parameters.resume_run_id.filter(|other| other != run) {
        return Err(Error::usage(format!(
            "`resume_run_id` among the inputs is run {}, and this is run {run}",
            printable(&other)
        ))
        .help("leave it out: a resume says by itself which run it is for"));
    }
    let before = run_parameters(graph, &resumable.inputs)?;
    let known = [
        ("capabilities", parameters.capabilities.is_none_or(|now| Some(now) == before.capabilities)),
        ("depth", parameters.depth.is_none_or(|now| Some(now) == before.depth)),
    ];
    if let Some((name, _)) = known.iter().find(|(_, same)| !same) {
        let was =
            resumable.inputs.get(*name).map_or_else(|| "without any".to_owned(), |was| format!("with {was}"));
        return Err(Error::denied(format!(
            "`{name}` among the inputs says what the run may use, which is fixed when it starts: run {run} was \
             started {}",
            printable(&was)
        ))
        .help("leave it out, or start a new run with it"));
    }
    new.retain(|name, _| !is_about_the_run(graph, name));
    Ok(parameters.detached)
}

/// Returns the options for the process in the background.
fn options(args: &Args) -> Vec<OsString> {
    let mut options: Vec<OsString> =
        args.answers.iter().map(|answer| format!("--answer={answer}").into()).collect();
    options.extend(args.update.iter().map(|(key, value)| format!("--update={key}={value}").into()));
    if let Some(max_steps) = args.max_steps {
        options.push(format!("--max-steps={max_steps}").into());
    }
    options.extend(args.later_answer.iter().map(|answer| format!("--later-answer={answer}").into()));
    options.extend(args.observe.for_background());
    options.extend(args.given.options());
    options.extend(args.sign_with.iter().map(|key| format!("--sign-with={key}").into()));
    let flags = [
        ("--accept-changes", args.accept_changes),
        ("--no-cache", args.no_cache),
        ("--state-item", args.state_item),
        ("--quiet", args.quiet),
    ];
    options.extend(flags.into_iter().filter(|(_, given)| *given).map(|(flag, _)| flag.into()));
    options
}
