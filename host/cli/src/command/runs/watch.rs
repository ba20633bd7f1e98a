//! `graph-host runs watch`.

use crate::command::args;
use graph_host::terminal::history_lines::HistoryLines;
use std::sync::Arc;

use graph_core::diagnostic::printable;
use graph_core::trust::VerifyingKey;
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{self, styled};
use graph_runtime::error::{Error, Result};
use graph_runtime::graph_store::CheckpointStore;
use graph_runtime::history::events::{Kinds, Namespaces, Reader, StreamKind};
use graph_runtime::project::Project;
use graph_runtime::run::restore;
use graph_runtime::run::stores::Stores;

use super::tree;
use super::wait::{self, PAUSE, Watch};
use super::walk::each_record;

use crate::command::number;

/// Follow a run until it stops; Ctrl-C does not affect the run
///
/// Shows what `run` itself shows, from the beginning or from an offset in the history. With --json, it prints the JSON
/// lines that `runs events` prints, and then the run's document as the last line. The exit code is that of the run, as with
/// `wait`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run: its id, the beginning of it, or @last
    run: String,
    /// Start with this offset of the run's history: a reader continues where it stopped
    #[arg(long, value_name = "OFFSET", default_value_t = 1, allow_negative_numbers = true, value_parser = number::from_one::<u64>)]
    from: u64,
    /// Print JSON lines, only of events of these kinds, separated by commas. With --json and without --stream, of all kinds
    #[arg(long, value_parser = args::stream(), value_name = "KIND", value_delimiter = ',')]
    stream: Vec<StreamKind>,
    /// Whether events of child runs are shown, too
    #[arg(long, value_parser = args::namespaces(), value_name = "WHICH", default_value = "all")]
    namespaces: Namespaces,
}

impl Args {
    /// Returns whether stdout is a stream of JSON lines.
    pub(super) fn streams(&self, json: bool) -> bool {
        json || !self.stream.is_empty()
    }
}

pub(super) fn run(args: &Args, project: &Project, context: &Context) -> Result<Exit> {
    let (_, store, mut row) = Stores::to_read(project, &context.host.home)?.find(&args.run)?;
    let length = store.history_length(&row.run_id)?;
    if args.from > length.saturating_add(1) {
        return Err(Error::usage(format!(
            "run {} has {length} entries so far, and {} is after what comes next",
            row.run_id, args.from
        ))
        .help("give the number after that of the last line that was read"));
    }
    context.output.note(format_args!(
        "{} {}",
        styled(output::BOLD, printable(&row.graph_id)),
        styled(output::DIM, format_args!("run {}", row.run_id)),
    ));
    // Records of an unknown host cannot be verified, but they can be shown.
    let key = context.host.home.known_key(row.key)?;
    let after = args.from.saturating_sub(1);
    let mut shown = if context.output.is_in_lines() {
        let kinds = Kinds::or_all(&args.stream).within(args.namespaces);
        RunPrinter::Lines(Box::new(Reader::new(Arc::clone(&store), &row.run_id, key, kinds, after)))
    } else {
        let (history_lines, namespaces) = (
            HistoryLines::new(tree::graphs(&*store, &row)?, tree::foreach_nodes(&*store, &row)),
            args.namespaces,
        );
        RunPrinter::People(Box::new(People { key, history_lines, namespaces, from: after, after: 0 }))
    };
    let mut watch = Watch::default();
    loop {
        // Checked before the history is read: a run that has stopped writes no more.
        let stopped = watch.has_stopped(&*store, &row)?;
        match &mut shown {
            RunPrinter::Lines(reader) => reader.read(|line| context.output.json_line(line))?,
            RunPrinter::People(people) => people.more(&*store, &row.run_id, context)?,
        }
        if stopped {
            return wait::outcome(&*store, &row, &args::typed_run(&args.run, project.folder()), context);
        }
        std::thread::sleep(PAUSE);
        row = restore::find(&*store, &row.run_id)?;
    }
}

/// Printer of a run: JSON lines, or lines for people.
enum RunPrinter {
    Lines(Box<Reader>),
    People(Box<People>),
}

/// State of the lines for people.
struct People {
    key: Option<VerifyingKey>,
    history_lines: HistoryLines,
    namespaces: Namespaces,
    /// Number of the last entry that is not shown. The entries up to it are still read: later lines need their names.
    from: u64,
    /// Number of the last entry that was read.
    after: u64,
}

impl People {
    fn more(&mut self, store: &dyn CheckpointStore, run: &str, context: &Context) -> Result<()> {
        let (names, from, namespaces) = (&mut self.history_lines, self.from, self.namespaces);
        self.after = each_record(store, run, self.key.as_ref(), self.after, |numbered, record, _| {
            for line in names.lines(numbered, record, from) {
                if namespaces == Namespaces::All || numbered.record.namespace.is_empty() {
                    context.output.note(line);
                }
            }
            Ok(())
        })?;
        Ok(())
    }
}
