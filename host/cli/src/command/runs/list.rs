//! `graph-host runs list`.

use graph_core::record::Status;
use graph_host::context::Context;
use graph_host::error::Result;
use graph_host::exit::Exit;
use graph_host::report::{one_line, short_number};
use graph_host::runs;
use graph_host::stores::Stores;
use graph_store::RunFilter;
use serde_json::json;

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
    let mut rows = stores.list(&RunFilter { status, graph_id: graph, root_id: None, limit: Some(limit) })?;
    for (store, row) in &mut rows {
        runs::catch_up(&**store, row)?;
    }
    if context.output.is_json() {
        let runs: Vec<_> = rows.iter().map(|(_, row)| row_json(row)).collect();
        context.output.document(&json!({ "runs": runs }))?;
        return Ok(Exit::Ok);
    }
    if rows.is_empty() {
        context.output.note("there are no such runs");
        return Ok(Exit::Ok);
    }
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(["RUN", "GRAPH", "STATUS", "STEPS", "FUEL", "STARTED"]);
    for (store, row) in &rows {
        let status = shown_status(&**store, row);
        table.add_row([
            row.run_id.clone(),
            one_line(&row.graph_id, 40),
            status,
            row.step.to_string(),
            short_number(row.fuel),
            time(row.created_at),
        ]);
    }
    for line in table.lines() {
        context.output.line(line.trim_end())?;
    }
    Ok(Exit::Ok)
}
