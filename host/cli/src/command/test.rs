//! `graph-host test`.

mod published;

use crate::command::args::SourceArgs;
use crate::command::stoppable::until_stopped;
use graph_host::context::named_project;
use graph_host::terminal::remedies;
use std::path::{Path, PathBuf};

use graph_cases::{Items, Options, Stop, cases, run as run_cases, with_answers};
use graph_core::diagnostic::printable;
use graph_host::context::Context;
use graph_host::terminal::case_report;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::run_report::counted;
use graph_runtime::error::{Error, Result};
use graph_runtime::project::text_file;
use graph_runtime::project::user_home::write_atomic;
use serde_json::Value;

/// Test graphs with cases: scripted items, expected outcomes
///
/// Runs every `*.case.yaml` below each path, several at a time, and ends with how many passed and how many failed. Time in
/// a case is virtual: waiting, as for a back-off, takes none.
///
/// An item for which a case has no double is the real one, found, verified and granted as in a run. The project is the
/// nearest folder with .ai, upwards from the case's graph.
///
/// The cases of a published graph, which a reference names, run against that graph with doubles only: no component is
/// executed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Case files, folders that are searched for them, and references of published graphs (`oci://…`, `oci-layout:…`)
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Run only cases with this text in their file's path or their name
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Also stop each passing case after each of its persisted writes in turn, as a kill would, resume it from what is
    /// stored, and compare it with the undisturbed case: nothing may be lost, and no task whose outcome was stored may be
    /// executed again
    #[arg(long)]
    crash: bool,
    /// Send those requests of real components for which a case has no answer, and write the answers into the case, under
    /// `http`
    #[arg(long, conflicts_with = "crash")]
    record: bool,
    /// The manifest that components get their grants from, and whose `run` limits no case exceeds; what may be dispatched is in
    /// each case, under `caps`
    #[arg(long, value_name = "FILE")]
    caps: Option<PathBuf>,
    #[command(flatten)]
    sources: SourceArgs,
}

/// Runs the cases. The exit code is 0 only if every case passed.
pub(crate) fn run(args: Args, context: &Context) -> Result<Exit> {
    let (references, paths): (Vec<_>, Vec<_>) =
        args.paths.into_iter().partition(|path| published::reference(path).is_some());
    if !references.is_empty() && (args.record || args.caps.is_some()) {
        return Err(Error::usage(
            "cases of a published graph run with doubles only: `--record` and `--caps` do not apply",
        )
        .help("write them into a folder and test that: graph-host pull REF --companions DIR"));
    }
    let files = if paths.is_empty() && !references.is_empty() { Vec::new() } else { cases(&paths)? };
    let project = named_project(args.sources.project.as_deref())?;
    let items =
        Items::real(args.sources.sources(), args.caps.as_deref(), &project, &context.quiet(true).host)?
            .with_words(remedies::words);
    let stop = Stop::default();
    let options = Options {
        filter: args.filter,
        crash: args.crash,
        record: args.record,
        until: None,
        stop: Some(stop.clone()),
    };
    let (of_thread, sources, named) = (options.clone(), args.sources.clone(), context.clone());
    let test = move || {
        let mut report = run_cases(&files, &items, &of_thread);
        for reference in references.iter().filter_map(|path| published::reference(path)) {
            let of_graph = published::run(reference, sources.clone(), &project, &of_thread, &named)?;
            report.cases.extend(of_graph.cases);
        }
        Ok(report)
    };
    let Some(report) = until_stopped("cases", &stop, context, test)? else {
        context.output.note("interrupted: not all cases were run");
        return Ok(Exit::Cancelled);
    };
    for case in report.cases.iter().filter(|case| !case.recorded.is_empty()) {
        record(Path::new(&case.file), &case.recorded, context)?;
    }
    let (passed, failed) = report.counts();
    if passed + failed == 0 {
        // A test that found nothing to do must not pass.
        return Err(Error::not_found(format!(
            "no case has `{}` in its file's path or its name",
            printable(options.filter.as_deref().unwrap_or_default())
        )));
    }
    if args.crash && failed == 0 && report.crashes_tried().unwrap_or(0) == 0 {
        // A test that found nothing to do must not pass.
        return Err(Error::not_found("--crash found nothing to do: no case writes a record")
            .help("leave --crash out, or name cases that run a graph and script no crash of their own"));
    }
    if context.output.is_json() {
        context.output.document(&report.to_json())?;
    } else {
        context.output.line(case_report::text(&report))?;
    }
    Ok(if failed == 0 { Exit::Ok } else { Exit::Failed })
}

/// Writes recorded answers into a case.
fn record(case: &Path, answers: &[Value], context: &Context) -> Result<()> {
    let text = text_file::read_named_as("the case", case)?;
    let shown = printable(&case.to_string_lossy()).into_owned();
    let written = with_answers(&text, answers).ok_or_else(|| {
        Error::invalid(format!("`http` of {shown} is not a list whose items have lines of their own"))
            .help("write it as a list with a line that begins with `-` for each answer; nothing was written")
    })?;
    write_atomic(case, written.as_bytes(), false).map_err(|error| Error::write("the case", case, &error))?;
    context.output.note(format_args!("wrote {} into {shown}", counted(answers.len() as u64, "answer")));
    Ok(())
}
