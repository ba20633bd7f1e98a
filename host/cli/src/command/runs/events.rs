//! `graph-host runs events`.

use crate::command::args;
use std::sync::Arc;
use std::time::Duration;

use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_runtime::error::{Error, Result};
use graph_runtime::graph_store::{CheckpointStore, Holder, RunRow};
use graph_runtime::history::events::{Kinds, Namespaces, Reader, StreamKind};

use crate::command::number;

/// Interval at which a run under way is read.
const INTERVAL: Duration = Duration::from_millis(100);

/// Print the events of a run as JSON lines, each with its offset
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run: its id, the beginning of it, or @last
    pub(super) run: String,
    /// Print only events after this offset: a reader continues where it stopped
    #[arg(long, value_name = "OFFSET", default_value_t = 0, allow_negative_numbers = true, value_parser = number::from_zero::<u64>)]
    after: u64,
    /// Continue to print new events until the run has stopped
    #[arg(long)]
    follow: bool,
    /// Print only events of these kinds, separated by commas; without it, of all kinds
    #[arg(long, value_parser = args::stream(), value_name = "KIND", value_delimiter = ',')]
    stream: Vec<StreamKind>,
    /// Whether events of child runs are printed, too
    #[arg(long, value_parser = args::namespaces(), value_name = "WHICH", default_value = "all")]
    namespaces: Namespaces,
}

pub(super) fn run(
    args: &Args,
    store: &Arc<dyn CheckpointStore>,
    row: &RunRow,
    context: &Context,
) -> Result<Exit> {
    if args.stream.contains(&StreamKind::Messages) {
        let message = "`messages` are reported while language models answer, and no history has them";
        let help = format!(
            "see them live with `graph-host run --stream messages`; what was said is in `graph-host runs transcript {}`",
            row.run_id
        );
        if args.stream.iter().all(|kind| *kind == StreamKind::Messages) {
            return Err(Error::usage(message).help(help));
        }
        context.output.warn(format_args!("{message}: {help}"));
    }
    let length = store.history_length(&row.run_id)?;
    if args.after > length && !args.follow {
        return Err(Error::usage(format!(
            "run {} has {length} entries, and {} is after the last of them",
            row.run_id, args.after
        ))
        .help("give the offset of the last line that was read, or wait for more with --follow"));
    }
    // Records of an unknown host cannot be verified, but they can be shown.
    let key = context.host.home.known_key(row.key)?;
    let kinds = Kinds::or_all(&args.stream).within(args.namespaces);
    let mut reader = Reader::new(Arc::clone(store), &row.run_id, key, kinds, args.after);
    loop {
        // Checked before reading: everything that a run writes before it stops is then read.
        let stopped = !args.follow || store.holder(&row.run_id)? == Holder::Nobody;
        reader.read(|line| context.output.json_line(line))?;
        if stopped {
            return Ok(Exit::Ok);
        }
        std::thread::sleep(INTERVAL);
    }
}
