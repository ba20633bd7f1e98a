//! `graph-host runs watch`.

use std::path::Path;

use graph_core::record::{Checkpoint, Record};
use graph_host::context::Context;
use graph_host::error::{Error, Result};
use graph_host::exit::Exit;
use graph_host::output::{self, printable, styled};
use graph_host::report::{one_line, step_line};
use graph_host::runs;
use graph_host::stores::Stores;
use graph_store::CheckpointStore;

use super::wait::{self, PAUSE, Watch};

/// Checkpoints that are read at a time.
const PAGE: usize = 256;

/// Follow a run as its steps commit, until it stops; Ctrl-C leaves the run alone
///
/// The exit code is what the run came to, as with `wait`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run: its id, the beginning of it, or @last
    run: String,
}

pub(super) fn run(args: &Args, project: &Path, context: &Context) -> Result<Exit> {
    let (_, store, mut row) = Stores::to_read(project)?.find(&args.run)?;
    context.output.note(format_args!(
        "{} {}",
        styled(output::BOLD, printable(&row.graph_id)),
        styled(output::DIM, format_args!("run {}", row.run_id)),
    ));
    let mut shown = Shown::default();
    let mut watch = Watch::default();
    loop {
        // Looked at before the steps: whoever has stopped commits no more.
        let stopped = watch.has_stopped(&*store, &row)?;
        shown.more(&*store, &row.run_id, context)?;
        if stopped {
            return wait::outcome(&*store, &row, context);
        }
        std::thread::sleep(PAUSE);
        row = runs::find(&*store, &row.run_id)?;
    }
}

/// What has been shown of a run.
#[derive(Debug, Default)]
struct Shown {
    sequence: Option<u64>,
    fuel: u64,
}

impl Shown {
    fn more(&mut self, store: &dyn CheckpointStore, run: &str, context: &Context) -> Result<()> {
        loop {
            let page = store.checkpoints(run, "", self.sequence, PAGE)?;
            let Some(last) = page.last() else { return Ok(()) };
            self.sequence = Some(last.sequence);
            for record in &page {
                let Record::Checkpoint(checkpoint) =
                    record.decode().map_err(|error| Error::integrity(error.to_string()))?
                else {
                    continue;
                };
                self.step(&checkpoint, context);
            }
        }
    }

    fn step(&mut self, checkpoint: &Checkpoint, context: &Context) {
        let fuel = checkpoint.fuel.saturating_sub(self.fuel);
        self.fuel = checkpoint.fuel;
        if checkpoint.visited.is_empty() {
            return;
        }
        let written = checkpoint.channels.iter().filter(|(_, stamp)| stamp.version == checkpoint.sequence);
        let changed: Vec<_> = written.map(|(channel, _)| channel.as_str()).collect();
        let changed = one_line(&changed.join(", "), 60);
        context.output.note(step_line(checkpoint.step, &checkpoint.visited, fuel, None, &changed));
        for task in &checkpoint.tasks {
            if let Some(failure) = &task.failure {
                context.output.note(format_args!(
                    "      {} {} {}: {}",
                    styled(output::BAD, "✗"),
                    printable(&task.node),
                    failure.category,
                    one_line(&failure.message, 200)
                ));
            }
        }
    }
}
