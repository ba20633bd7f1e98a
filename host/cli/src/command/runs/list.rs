//! `graph-host runs list`.

use std::cell::RefCell;

use graph_core::diagnostic::one_line;
use graph_core::diagnostic::printable;
use graph_core::record::Status;
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::json_document::Document;
use graph_host::terminal::output::Output;
use graph_host::terminal::run_report::short_number;
use graph_runtime::error::Result;
use graph_runtime::graph_store::{CheckpointStore, RunFilter, RunRow, StorageError};
use graph_runtime::project::stores::Stores;
use graph_runtime::run::restore;
use serde_json::Map;

use super::row::{row_json, shown_status, time};

use crate::command::number;

/// List runs, the newest first
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only runs with this status
    #[arg(long, value_parser = parse_status)]
    status: Option<Status>,
    /// Only runs of this graph
    #[arg(long, value_name = "ID")]
    graph: Option<String>,
    /// At most so many
    #[arg(long, short = 'n', default_value_t = 20, allow_negative_numbers = true, value_parser = number::from_zero::<usize>)]
    limit: usize,
}

const STATUSES: [Status; 8] = [
    Status::Running,
    Status::Completed,
    Status::CompletedWithErrors,
    Status::Interrupted,
    Status::Failed,
    Status::Limit,
    Status::Cancelled,
    Status::Killed,
];

fn parse_status(text: &str) -> Result<Status, String> {
    STATUSES.into_iter().find(|status| status.as_str() == text.replace('-', "_")).ok_or_else(|| {
        let known: Vec<_> = STATUSES.iter().map(|status| status.as_str()).collect();
        format!("a status is one of {}", known.join(", "))
    })
}

pub(super) fn run(args: Args, stores: &Stores, context: &Context) -> Result<Exit> {
    let Args { status, graph, limit } = args;
    let filter = RunFilter { status, graph_id: graph, limit: Some(limit), ..RunFilter::default() };
    let unreadable = RefCell::new(Vec::new());
    if context.output.is_json() {
        // Results are read one at a time, as each run is printed.
        let document = Document::new(Map::new())
            .with_list("runs", |give| {
                let refused = stores.each_readable(&filter, |store, row| {
                    let Some(mut row) = store.run(&row.run_id)? else { return Ok(()) };
                    restore::catch_up(store, &mut row)?;
                    give(&row_json(&row))
                })?;
                *unreadable.borrow_mut() = refused;
                Ok(())
            })
            .with_list("unreadable", |give| {
                unreadable.borrow().iter().try_for_each(|refused| give(&refused.to_string().into()))
            });
        context.output.document_in_pieces(document)?;
        return Ok(told(&unreadable.borrow(), context.output));
    }
    let mut shown = Shown { table: None, rows: 0, has_header: true };
    let refused = stores.each_readable(&filter, |store, mut row| {
        restore::catch_up(store, &mut row)?;
        shown.add(store, &row, context.output)
    })?;
    shown.print(context.output)?;
    if shown.has_header && refused.is_empty() {
        context.output.note("there are no such runs");
    }
    Ok(told(&refused, context.output))
}

/// Tells of rows that were refused.
fn told(refused: &[StorageError], output: Output) -> Exit {
    for refused in refused {
        output.warn(printable(&refused.to_string()));
    }
    if refused.is_empty() { Exit::Ok } else { Exit::Integrity }
}

/// Rows that are laid out together.
const PAGE: usize = 256;

/// The table of runs, as far as it has not been printed.
struct Shown {
    table: Option<comfy_table::Table>,
    rows: usize,
    /// No row has been printed yet.
    has_header: bool,
}

impl Shown {
    fn add(&mut self, store: &dyn CheckpointStore, row: &RunRow, output: Output) -> Result<()> {
        let has_header = self.has_header;
        let table = self.table.get_or_insert_with(|| {
            let mut table = comfy_table::Table::new();
            table.load_style(comfy_table::presets::NOTHING);
            if has_header {
                table.set_header(["RUN", "GRAPH", "STATUS", "STEPS", "FUEL", "STARTED"]);
            }
            table
        });
        table.add_row([
            row.run_id.clone(),
            one_line(&row.graph_id, 40),
            shown_status(store, row),
            row.step.to_string(),
            short_number(row.fuel),
            time(row.created_at),
        ]);
        self.rows += 1;
        if self.rows == PAGE { self.print(output) } else { Ok(()) }
    }

    fn print(&mut self, output: Output) -> Result<()> {
        let Some(table) = self.table.take() else { return Ok(()) };
        (self.rows, self.has_header) = (0, false);
        table.lines().try_for_each(|line| output.line(line.trim_end()))
    }
}
