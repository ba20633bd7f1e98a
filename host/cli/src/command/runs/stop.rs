//! Stops a run from another process, for `runs cancel` and `runs kill`.

use graph_runtime::error::Kind;
use graph_runtime::project::Project;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use graph_core::record::Status;
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{self, styled};
use graph_runtime::Runtime;
use graph_runtime::error::{Error, Result};
use graph_runtime::graph_driver::StopRequest;
use graph_runtime::graph_store::held::{Entry, FilePlace};
use graph_runtime::graph_store::{CheckpointStore, Holder, Owner, RunRow};
use graph_runtime::project::run_folder::{GRACE, RunFolder};
use graph_runtime::run::restore;
use graph_runtime::run::resume;
use graph_runtime::run::stores;
use serde_json::json;

use super::span::parse_span;
use crate::command::args::typed_run;

/// Interval at which the run is checked.
const PAUSE: Duration = Duration::from_millis(25);
/// Time limit for the system to end a process.
const END: Duration = Duration::from_secs(5);

/// How long to wait for the run to stop.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct StopWaitArgs {
    /// How long to wait until the run has stopped, such as 500ms, 30s, 2m
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true, value_parser = parse_span, default_value = "30s")]
    timeout: Duration,
    /// Return as soon as the run has been asked to stop
    #[arg(long, conflicts_with = "timeout")]
    no_wait: bool,
}

/// Holder of a run, and its lock file, if the store has one.
struct RunHolder {
    holder: Holder,
    lock: Option<FilePlace>,
}

/// The outcome of a request to stop.
struct Outcome {
    row: RunRow,
    /// `true` if no process ran the run, so that it was marked.
    marked: bool,
    /// Process that was ended from outside.
    ended: Option<u32>,
    /// `true` if the run has stopped, `false` if it was only asked to.
    stopped: bool,
}

/// Stops a run, whether a process runs it or not.
pub(super) fn stop(
    name: &str,
    wish: StopRequest,
    waiting: StopWaitArgs,
    project: &Project,
    context: &Context,
) -> Result<Exit> {
    // Nothing is created if the run does not exist.
    let (runtime, row) = Runtime::of_run(context.host.clone(), project.clone(), name)?;
    let store = runtime.store()?;
    if row.status.is_end() {
        return Err(resume::finished(&row));
    }
    let run_folder = RunFolder::new(project, &row.run_id);
    let typed = typed_run(name, project.folder());
    let outcome = match store.holder(&row.run_id)? {
        Holder::Nobody => mark(&runtime, &row.run_id, wish, &typed, context)?,
        holder => {
            run_folder.ask(wish)?;
            if waiting.no_wait {
                Outcome { row, marked: false, ended: None, stopped: false }
            } else {
                let held =
                    RunHolder { holder, lock: stores::lock_file(project, runtime.kept(), &row.run_id)? };
                await_stop(&runtime, &row, &held, wish, waiting.timeout, &run_folder, context)?
            }
        }
    };
    show(&outcome, wish, &typed, context)
}

/// Marks a run that no process runs.
fn mark(runtime: &Runtime, run: &str, wish: StopRequest, typed: &str, context: &Context) -> Result<Outcome> {
    let store = runtime.store()?;
    let row = restore::find(&*store, run)?;
    if row.status != Status::Running && !row.status.is_paused() {
        let message = format!("run {run} is not running: its status is {}", shown(row.status));
        return Err(Error::new(Kind::Usage, "not_running", message)
            .help(format!("there is nothing to stop; resume it with: graph-host resume {typed}")));
    }
    context.block_on(runtime.stop(run, wish))??;
    Ok(Outcome { row: restore::find(&*store, run)?, marked: true, ended: None, stopped: true })
}

/// Waits until the process that holds the run has released it.
fn await_stop(
    runtime: &Runtime,
    row: &RunRow,
    held: &RunHolder,
    wish: StopRequest,
    timeout: Duration,
    run_folder: &RunFolder,
    context: &Context,
) -> Result<Outcome> {
    let (store, run) = (runtime.store()?, row.run_id.as_str());
    let began = Instant::now();
    let mut ended = None;
    loop {
        if store.holder(run)? == Holder::Nobody {
            break;
        }
        // A process ends itself if the run does not stop; if it fails to, it is ended from here.
        if wish == StopRequest::Kill && ended.is_none() && began.elapsed() > (GRACE + END).min(timeout) {
            let pid = end_process(&*store, run, held)?;
            ended = Some((pid, Instant::now()));
        }
        let patience = ended.map_or(began.elapsed() < timeout, |(_, at)| at.elapsed() < END);
        if !patience {
            let error = Error::new(
                Kind::TimedOut,
                "timed_out",
                format!(
                    "run {run} has been asked to stop and has not stopped within {} s",
                    timeout.as_secs_f64()
                ),
            );
            return Err(match wish {
                StopRequest::Cancel => error.help(format!(
                    "it stops once the tasks under way are done; to discard them: graph-host runs kill {run}"
                )),
                StopRequest::Kill => {
                    error.help(format!("look at the process that holds it: graph-host runs show {run}"))
                }
            });
        }
        std::thread::sleep(PAUSE);
    }
    // The process may have ended before it could see or remove the request.
    run_folder.take_back(wish);
    let now = restore::find(&*store, run)?;
    let ended = ended.map(|(pid, _)| pid);
    if now.status == Status::Running {
        return Ok(Outcome { ended, ..mark(runtime, run, wish, run, context)? });
    }
    Ok(Outcome { row: now, marked: false, ended, stopped: true })
}

/// Kills the process that holds a run, after checking that it still holds it.
fn end_process(store: &dyn CheckpointStore, run: &str, held: &RunHolder) -> Result<u32> {
    let refuse = |why: String| {
        Err(Error::storage(format!(
            "run {run} does not stop, and its process cannot be ended from here: {why}"
        )))
    };
    let Holder::Known(owner) = &held.holder else {
        return refuse("it has not said which one it is".to_owned());
    };
    if store.holder(run)? != held.holder {
        return refuse("another process has taken the run meanwhile".to_owned());
    }
    if owner.host != restore::this_process().host {
        return refuse(format!("it is {owner}"));
    }
    if !held.lock.as_ref().is_some_and(|lock| has_lock(owner, lock)) {
        return refuse(format!("process {} does not hold its lock", owner.pid));
    }
    let sent = Command::new("sh")
        .args(["-c", "kill -KILL \"$1\"", "sh", &owner.pid.to_string()])
        .output()
        .map_err(|error| Error::storage(format!("the process {} cannot be ended: {error}", owner.pid)))?;
    if sent.status.success() {
        Ok(owner.pid)
    } else {
        refuse(String::from_utf8_lossy(&sent.stderr).trim().to_owned())
    }
}

/// Checks whether a process has the lock file open: its id may have been reused by another program. The file itself is compared, and it
/// must have one name only: a link in its place could lead to a file of any program.
fn has_lock(owner: &Owner, lock: &FilePlace) -> bool {
    let Ok(Some(lock)) = lock.entry() else { return false };
    let Ok(open) = std::fs::read_dir(format!("/proc/{}/fd", owner.pid)) else { return false };
    let is_lock = |path: PathBuf| Entry::at(&path).is_ok_and(|open| open.is_same(&lock));
    lock.is_file() && lock.names() == 1 && open.flatten().any(|file| is_lock(file.path()))
}

fn shown(status: Status) -> String {
    status.as_str().replace('_', " ")
}

fn show(outcome: &Outcome, wish: StopRequest, typed: &str, context: &Context) -> Result<Exit> {
    let Outcome { row, marked, ended, stopped } = outcome;
    let (run, status) = (&row.run_id, row.status);
    if context.output.is_json() {
        context.output.document(&json!({
            "run_id": run,
            "wish": match wish { StopRequest::Cancel => "cancel", StopRequest::Kill => "kill" },
            "stopped": stopped,
            "status": status,
            "marked": marked,
            "ended_process": ended,
        }))?;
        return Ok(Exit::Ok);
    }
    if !stopped {
        context.output.line(format_args!("run {run} has been asked to stop"))?;
        return Ok(Exit::Ok);
    }
    if let Some(pid) = ended {
        context.output.warn(format_args!("process {pid} did not react and was ended"));
    }
    let how = if *marked {
        format!("no process runs {run}: it is now {}", shown(status))
    } else {
        format!("run {run} has stopped: {}", shown(status))
    };
    context.output.line(format_args!("{} {how}", styled(output::CAUTION, "■")))?;
    if !status.is_end() {
        context
            .output
            .note(format_args!("{} graph-host resume {typed}", styled(output::DIM, "resume with:")));
    }
    Ok(Exit::Ok)
}
