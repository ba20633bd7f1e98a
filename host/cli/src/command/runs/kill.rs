//! `graph-host runs kill`.

use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_runtime::error::Result;
use graph_runtime::graph_driver::StopRequest;
use graph_runtime::project::Project;

use super::stop::{self, StopWaitArgs};

/// Stop a run at once and discard the tasks under way
///
/// `resume` executes those tasks again.
///
/// The request is a file in the project, .ai/threads/RUN/kill, which the process that executes the run reads. If that
/// process is on this machine and does not react, it is ended. A run that waits for an answer, or whose process has died,
/// is marked as killed.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run: its id, the beginning of it, or @last
    run: String,
    #[command(flatten)]
    waiting: StopWaitArgs,
}

pub(super) fn run(args: &Args, project: &Project, context: &Context) -> Result<Exit> {
    stop::stop(&args.run, StopRequest::Kill, args.waiting, project, context)
}
