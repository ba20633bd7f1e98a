//! `graph-host replay`: executes a run again and compares it with its records.

use graph_host::context::named_project;
use std::path::PathBuf;

use graph_core::diagnostic::printable;
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{self, BAD, CAUTION, DIM, GOOD, styled};
use graph_host::terminal::run_report::{self, counted, short_number};
use graph_runtime::error::{Error, Result};
use graph_runtime::history::verify::audit;
use graph_runtime::replay::{
    self, LiveDifference, Mode, Replay, ReplayError, ReplaySources, ReplayedSuperstep,
};
use graph_runtime::run::stores::Stores;
use serde_json::json;

use crate::command::args::GivenArgs;
use crate::command::number;

/// Execute a run again from its journal and compare every digest
///
/// Fuel figures are compared as well.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run: its id, the beginning of it, or @last
    run: String,
    /// Repeat the recorded calls that only read, with the same grants and no more often than recorded, and show what is
    /// answered now; the run is not changed. For a run of another host, this needs a manifest of yours, --caps. Calls that change something are answered from the journal: requests with
    /// methods other than GET, HEAD and OPTIONS, writes to files and knowledge, calls of other items
    #[arg(long, conflicts_with = "times")]
    live: bool,
    /// With --live: repeat calls that change something, too
    #[arg(long, requires = "live")]
    send: bool,
    /// How many times to replay the run
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true, value_parser = number::from_one::<u32>)]
    times: u32,
    /// The public key to verify with if another host made the run; without it, this host's, or that of a host that was trusted
    /// when a run of it was imported
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// The project that the run belongs to; without it, the one around the current folder
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    #[command(flatten)]
    given: GivenArgs,
    /// Print nothing about the steps
    #[arg(long, short)]
    quiet: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit> {
    context.block_on(again(args, context))?
}

async fn again(args: &Args, context: &Context) -> Result<Exit> {
    let context = &context.quiet(true);
    let output = context.output;
    let project = named_project(args.project.as_deref())?;
    let (_, store, row) = Stores::to_read(&project, &context.host.home)?.find(&args.run)?;
    let run = row.run_id.clone();
    let key = match &args.key {
        Some(path) => super::runs::read_key(path)?,
        None => context.host.home.known_key(row.key)?.ok_or_else(|| {
            Error::integrity(format!(
                "run {run} was signed by another host, with the key {}",
                row.key.short()
            ))
            .help("name that host's public key with --key FILE")
        })?,
    };
    // A damaged run is not replayed: the error names the damaged record.
    audit(&*store, &row, &key, None)?;
    let mode = match (args.live, args.send) {
        (false, _) => Mode::Journal,
        (true, false) => Mode::Live,
        (true, true) => Mode::Send,
    };
    let given = ReplaySources { caps: args.given.caps.clone(), sources: args.given.sources() };
    let quiet = args.quiet || output.is_json() || args.times > 1;
    let mut done = Replay::default();
    for _ in 0..args.times {
        let mut printed = Ok(());
        let mut tell = |replayed: &ReplayedSuperstep| {
            if !quiet && printed.is_ok() {
                printed = output.line(line(replayed));
            }
        };
        done = replay::replay(store.clone(), &row, key, (mode, &given), &project, &context.host, &mut tell)
            .await?;
        printed?;
        if !done.is_equal() {
            break;
        }
    }
    if args.live {
        return live(&run, &done, context);
    }
    if !done.changes.is_empty() && done.differences.is_empty() {
        return Err(ReplayError::Changed { run, changes: done.changes }.into());
    }
    if let Some(first) = done.differences.first() {
        for change in &done.changes {
            output.warn(change);
        }
        let details = json!({ "differences": done.differences, "changes": done.changes });
        let (difference, others) = (Box::new(first.clone()), done.differences.len() - 1);
        return Err(Error::from(ReplayError::Differs { run, difference, others }).details(details));
    }
    if output.is_json() {
        output.document(&document(&run, args.times, false, &done))?;
        return Ok(Exit::Ok);
    }
    let times = if args.times == 1 { String::new() } else { format!(" {} times", args.times) };
    output.line(format_args!("{} run {run} replays equal{times}: {}", styled(GOOD, "✓"), totals(&done)))?;
    Ok(Exit::Ok)
}

fn totals(done: &Replay) -> String {
    let supersteps = done.supersteps.iter().filter(|one| one.made_by == "superstep").count();
    let cached = if done.cached == 0 {
        String::new()
    } else {
        format!("{} from the cache, ", counted(done.cached, "result"))
    };
    format!(
        "{}, {}, {} from the journal, {cached}{} fuel",
        counted(supersteps as u64, "superstep"),
        counted(done.attempts, "attempt"),
        counted(done.entries, "answer"),
        short_number(done.fuel)
    )
}

fn line(replayed: &ReplayedSuperstep) -> String {
    let (style, word) = if replayed.equal { (GOOD, "equal") } else { (BAD, "differs") };
    let place = if replayed.namespace.is_empty() {
        replayed.step.to_string()
    } else {
        format!("{}/{}", replayed.namespace, replayed.step)
    };
    let what = match replayed.made_by.as_str() {
        "superstep" => run_report::nodes(&replayed.nodes),
        other => styled(DIM, other).clone(),
    };
    let fuel =
        if replayed.fuel == 0 { String::new() } else { format!("  {} fuel", short_number(replayed.fuel)) };
    format!("{place:>4}  {what}  {}{}", styled(style, word), styled(DIM, fuel))
}

/// Prints the differences between recorded and live answers.
fn live(run: &str, done: &Replay, context: &Context) -> Result<Exit> {
    let output = context.output;
    if output.is_json() {
        output.document(&document(run, 1, true, done))?;
        return Ok(Exit::Ok);
    }
    for change in &done.changes {
        output.warn(change);
    }
    for found in &done.world {
        show(found, context)?;
    }
    for difference in &done.differences {
        output.line(format_args!(
            "{} {}",
            styled(BAD, "would result in something else:"),
            printable(&difference.to_string())
        ))?;
    }
    let (mark, verdict) = if done.world.is_empty() && done.is_equal() {
        (styled(GOOD, "✓"), "every answer is the recorded one".to_owned())
    } else {
        let answers = counted(done.world.len() as u64, "answer");
        (styled(CAUTION, "!"), format!("{answers} would be another one now; the run is as it was"))
    };
    output.line(format_args!("{mark} run {run}: {verdict} ({})", totals(done)))?;
    Ok(Exit::Ok)
}

fn show(found: &LiveDifference, context: &Context) -> Result<()> {
    let none = || "(not asked)".to_owned();
    context.output.line(format_args!(
        "{} step {}, task {} (node `{}`), entry {}: {}",
        styled(output::CAUTION, "answers otherwise:"),
        found.step,
        found.task,
        printable(&found.node),
        found.entry,
        printable(&found.call)
    ))?;
    context
        .output
        .line(format_args!("  then  {}", printable(&found.recorded.clone().unwrap_or_else(none))))?;
    context.output.line(format_args!("  now   {}", printable(&found.now.clone().unwrap_or_else(none))))
}

fn document(run: &str, times: u32, live: bool, done: &Replay) -> serde_json::Value {
    json!({
        "run_id": run,
        "live": live,
        "equal": done.is_equal() && done.world.is_empty(),
        "times": times,
        "supersteps": done.supersteps,
        "attempts": done.attempts,
        "entries": done.entries,
        "cached": done.cached,
        "fuel": done.fuel,
        "changes": done.changes,
        "differences": done.differences,
        "world": done.world,
    })
}
