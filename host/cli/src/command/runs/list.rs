//! `graph-host runs list`.

use std::cell::RefCell;
use std::sync::Arc;

use graph_core::diagnostic::one_line;
use graph_core::diagnostic::printable;
use graph_core::record::Status;
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::json_document::Document;
use graph_host::terminal::local_time::local_time;
use graph_host::terminal::output::Output;
use graph_host::terminal::run_report::short_number;
use graph_host::terminal::table::{Columns, widest};
use graph_runtime::error::Result;
use graph_runtime::graph_store::{CheckpointStore, RunFilter, RunRow, StorageError};
use graph_runtime::run::restore;
use graph_runtime::run::stores::Stores;
use serde_json::Map;

use super::expired::{self, ExpiredInterrupt};
use super::namespace;
use super::relations::{Relations, is_created};
use super::row::{model_cells, row_json, shown_status};
use super::tree::{self, ChildRun};

use crate::command::number;

/// List runs, the newest first
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only runs with this status
    #[arg(long, value_parser = parse_status)]
    status: Option<StatusFilter>,
    /// Only runs of this graph
    #[arg(long, value_name = "ID")]
    graph: Option<String>,
    /// Only runs that this one has started: its child runs, and those that were started with --parent
    #[arg(long, value_name = "RUN")]
    parent: Option<String>,
    /// List at most this many runs
    #[arg(long, short = 'n', default_value_t = 20, allow_negative_numbers = true, value_parser = number::from_zero::<usize>)]
    limit: usize,
}

const STATUSES: [Status; 9] = [
    Status::Running,
    Status::Completed,
    Status::CompletedWithErrors,
    Status::Interrupted,
    Status::Waiting,
    Status::Failed,
    Status::Limit,
    Status::Cancelled,
    Status::Killed,
];

/// Status in a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StatusFilter {
    /// Created, and not started.
    Created,
    Is(Status),
}

fn parse_status(text: &str) -> Result<StatusFilter, String> {
    let word = text.replace('-', "_");
    if word == "created" {
        return Ok(StatusFilter::Created);
    }
    STATUSES.into_iter().find(|status| status.as_str() == word).map(StatusFilter::Is).ok_or_else(|| {
        let known: Vec<_> = STATUSES.iter().map(|status| status.as_str()).collect();
        format!("a status is one of created, {}", known.join(", "))
    })
}

impl StatusFilter {
    /// Checks whether a run has the status; `created` runs are `running` in their row.
    fn is(self, store: &dyn CheckpointStore, row: &RunRow) -> bool {
        match self {
            Self::Created => is_created(store, row),
            Self::Is(Status::Running) => row.status == Status::Running && !is_created(store, row),
            Self::Is(status) => row.status == status,
        }
    }

    /// Status in the row of a run.
    const fn of_row(self) -> Status {
        match self {
            Self::Created => Status::Running,
            Self::Is(status) => status,
        }
    }
}

/// Filter of listed runs, which are sorted from the newest.
struct Selection<'a> {
    status: Option<StatusFilter>,
    graph: Option<String>,
    limit: usize,
    /// Run that has started the listed ones: its store, its row, and a namespace.
    parent: Option<(Arc<dyn CheckpointStore>, RunRow, &'a str)>,
}

impl Selection<'_> {
    /// Visits each run, then the child runs of `parent`; returns the rows that could not be read.
    fn each(
        &self,
        stores: &Stores,
        context: &Context,
        mut visit: impl FnMut(ListedRun<'_>) -> Result<()>,
    ) -> Result<Vec<StorageError>> {
        let mut left = self.limit;
        let is_plain = self.parent.is_none()
            && !matches!(self.status, Some(StatusFilter::Created | StatusFilter::Is(Status::Running)));
        let filter = RunFilter {
            status: self.status.map(StatusFilter::of_row),
            graph_id: self.graph.clone(),
            // Without a limit if runs are filtered afterwards.
            limit: is_plain.then_some(self.limit),
            ..RunFilter::default()
        };
        let refused = stores.each_readable(&filter, |store, row| {
            let belongs = self.parent.as_ref().is_none_or(|(_, parent, inside)| {
                inside.is_empty() && row.parent_id.as_ref() == Some(&parent.run_id)
            });
            if left == 0 || !belongs || self.status.is_some_and(|status| !status.is(store, &row)) {
                return Ok(());
            }
            left -= 1;
            visit(ListedRun::Run(store, Box::new(row)))
        })?;
        let Some((store, row, inside)) = &self.parent else { return Ok(refused) };
        let key = context.host.home.known_key(row.key)?;
        let children = tree::read(&**store, row, key.as_ref())?;
        let wanted = children.iter().filter(|child| {
            namespace::is_directly_in(child.namespace(), inside)
                && self.graph.as_deref().is_none_or(|graph| child.graph() == Some(graph))
                && self.status.is_none_or(|status| status == StatusFilter::Is(child.status()))
        });
        let started = tree::started(&children);
        wanted.take(left).try_for_each(|child| {
            let started = started.get(child.namespace()).copied().unwrap_or_default();
            visit(ListedRun::Child(row, child, started))
        })?;
        Ok(refused)
    }
}

/// A listed run.
enum ListedRun<'a> {
    Run(&'a dyn CheckpointStore, Box<RunRow>),
    /// A child run, with the number of runs that it has started itself.
    Child(&'a RunRow, &'a ChildRun, usize),
}

pub(super) fn run(args: &Args, stores: &Stores, context: &Context) -> Result<Exit> {
    let parent = match args.parent.as_deref().map(namespace::split) {
        Some((name, inside)) => {
            let (_, store, row) = stores.find(name)?;
            namespace::check(&*store, &row.run_id, inside)?;
            Some((store, row, inside))
        }
        None => None,
    };
    let selection = Selection { status: args.status, graph: args.graph.clone(), limit: args.limit, parent };
    let unreadable = RefCell::new(Vec::new());
    if context.output.is_json() {
        let relations = Relations::read(stores)?;
        // Results are read one by one, when each run is printed.
        let document = Document::new(Map::new())
            .with_list("runs", |give| {
                let refused = selection.each(stores, context, |found| match found {
                    ListedRun::Run(store, row) => {
                        let Some(mut row) = store.run(&row.run_id)? else { return Ok(()) };
                        restore::catch_up(store, &mut row)?;
                        let mut columns = row_json(&row);
                        columns.extend(relations.columns(store, &row)?);
                        let expired = expired::expired_interrupts(store, &row, context);
                        if !expired.is_empty() {
                            let expired = expired.iter().map(ExpiredInterrupt::document).collect();
                            columns.insert("expired".to_owned(), expired);
                        }
                        give(&columns.into())
                    }
                    ListedRun::Child(row, child, started) => give(&child.columns(row, started).into()),
                })?;
                *unreadable.borrow_mut() = refused;
                Ok(())
            })
            .with_list("unreadable", |give| {
                unreadable.borrow().iter().try_for_each(|refused| give(&refused.to_string().into()))
            });
        context.output.document_in_pieces(document)?;
        return Ok(print_unreadable(&unreadable.borrow(), context.output));
    }
    let mut notes = Vec::new();
    let mut shown = RunTable { rows: Vec::new(), widths: [0; 11], has_header: true, asks: false };
    let refused = selection.each(stores, context, |found| match found {
        ListedRun::Run(store, mut row) => {
            restore::catch_up(store, &mut row)?;
            let expired = expired::expired_interrupts(store, &row, context);
            notes.extend(expired.iter().map(|expired| format!("{}: {}", row.run_id, expired.line())));
            shown.add(cells(store, &row, !expired.is_empty()), context.output)
        }
        ListedRun::Child(row, child, _) => shown.add(child.cells(row), context.output),
    })?;
    shown.print(context.output)?;
    for note in notes {
        context.output.note(note);
    }
    if shown.has_header && refused.is_empty() {
        context.output.note("no such runs");
    }
    Ok(print_unreadable(&refused, context.output))
}

fn cells(store: &dyn CheckpointStore, row: &RunRow, has_expired: bool) -> Cells {
    let status = shown_status(store, row);
    let of_run = [
        row.run_id.clone(),
        one_line(&row.graph_id, 100),
        if has_expired { format!("{status} (expired)") } else { status },
        row.step.to_string(),
        short_number(row.fuel),
        local_time(row.created_at),
    ];
    with_models(of_run, model_cells(row.model_use, row.model.as_deref()))
}

/// A row of the table: the columns of every run, then those of language models.
pub(super) type Cells = [String; 11];

/// Joins the two parts of a row.
pub(super) fn with_models(of_run: [String; 6], of_models: [String; 5]) -> Cells {
    let mut cells = of_run.into_iter().chain(of_models);
    std::array::from_fn(|_| cells.next().unwrap_or_default())
}

/// Warns about rows that could not be read.
fn print_unreadable(refused: &[StorageError], output: Output) -> Exit {
    for refused in refused {
        output.warn(printable(&refused.to_string()));
    }
    if refused.is_empty() { Exit::Ok } else { Exit::Integrity }
}

/// Number of rows that are laid out together.
const PAGE: usize = 256;

const COLUMNS: Columns<11> = Columns {
    names: ["RUN", "GRAPH", "STATUS", "STEPS", "FUEL", "STARTED", "TURNS", "IN", "OUT", "SPEND", "MODEL"],
    cut: &[1],
    dropped: &[4, 7, 8, 10, 3, 6, 5, 9],
    shown: None,
};
/// Index of the first column of language models.
const OF_MODELS: usize = 6;

/// The part of the table that has not been printed.
struct RunTable {
    rows: Vec<Cells>,
    widths: [usize; 11],
    /// `true` until the header has been printed.
    has_header: bool,
    /// `true` if a run of the first page has asked a language model: only then the columns of models are shown.
    asks: bool,
}

impl RunTable {
    fn add(&mut self, cells: Cells, output: Output) -> Result<()> {
        widest(&mut self.widths, &cells);
        self.rows.push(cells);
        if self.rows.len() == PAGE { self.print(output) } else { Ok(()) }
    }

    fn print(&mut self, output: Output) -> Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let is_first = std::mem::take(&mut self.has_header);
        if is_first {
            self.asks = self.widths[OF_MODELS..].iter().any(|width| *width > 0);
        }
        let columns = if self.asks { COLUMNS } else { COLUMNS.first(OF_MODELS) };
        let layout = columns.layout(self.widths, output.table_width());
        if is_first {
            output.line(layout.header())?;
        }
        std::mem::take(&mut self.rows).iter().try_for_each(|row| output.line(layout.row(row)))
    }
}
