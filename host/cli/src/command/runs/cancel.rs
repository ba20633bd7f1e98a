//! `graph-host runs cancel`.

use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_runtime::error::Result;
use graph_runtime::graph_driver::StopRequest;
use graph_runtime::project::Project;

use super::stop::{self, StopWaitArgs};

/// Stop a run once the tasks under way are done
///
/// `resume` continues the run from there.
///
/// The request is a file in the project, .ai/threads/RUN/cancel, which other programs may create as well; the process that
/// executes the run reads it. A run that waits for an answer, or whose process has died, is marked as cancelled.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run: its id, the beginning of it, or @last
    run: String,
    #[command(flatten)]
    waiting: StopWaitArgs,
}

pub(super) fn run(args: &Args, project: &Project, context: &Context) -> Result<Exit> {
    stop::stop(&args.run, StopRequest::Cancel, args.waiting, project, context)
}
