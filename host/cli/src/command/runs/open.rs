//! `graph-host runs open`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use graph_core::diagnostic::one_line;
use graph_host::context::Context;
use graph_host::terminal::browser;
use graph_host::terminal::drawing;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::local_time::local_time;
use graph_host::terminal::page::Page;
use graph_host::terminal::run_report::short_number;
use graph_runtime::error::{Error, Result};
use graph_runtime::graph_store::{CheckpointStore, RunRow};
use graph_runtime::project::user_home::{create_private_folder, write_atomic};
use graph_walker::topology::Topology;
use serde_json::json;

use super::row::shown_status;
use crate::command::graph::of_row;

/// Age above which pages are removed.
const OLDEST: Duration = Duration::from_hours(24 * 7);

/// Show a picture of a run in the browser
///
/// The picture shows which nodes and edges the run took, and how often.
///
/// The page is a single file in your cache folder. It has no scripts and loads nothing from elsewhere.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run: its id, the beginning of it, or @last
    pub(super) run: String,
    /// Write the page and print its path, without starting a browser
    #[arg(long)]
    no_open: bool,
}

pub(super) fn run(args: &Args, store: &dyn CheckpointStore, row: &RunRow, context: &Context) -> Result<Exit> {
    let topology = of_row(store, row)?;
    let page = page(store, row, &topology)?;
    let file = write(&page, &row.run_id, context)?;
    let is_open = !args.no_open && !context.output.is_json() && browser::open(&file);
    if context.output.is_json() {
        context.output.document(&json!({ "run_id": row.run_id, "file": file.display().to_string() }))?;
        return Ok(Exit::Ok);
    }
    if !args.no_open && !is_open {
        context.output.note("no browser could be started; open this file in one:");
    }
    context.output.line(file.display())?;
    Ok(Exit::Ok)
}

fn page(store: &dyn CheckpointStore, row: &RunRow, topology: &Topology) -> Result<String> {
    let title = format!("{} {}", row.graph_id, row.run_id);
    let mut page = Page::new(&title);
    page.heading(&row.graph_id);
    page.facts(&[
        ("run", row.run_id.clone()),
        ("status", shown_status(store, row)),
        ("started", local_time(row.created_at)),
        ("changed", local_time(row.updated_at)),
        ("steps", row.step.to_string()),
        ("fuel", short_number(row.fuel)),
    ]);
    page.picture(&drawing::svg(topology)?);
    let rows = topology.nodes.iter().map(|node| {
        let visits = node.visits.unwrap_or_default();
        [one_line(&node.name, 200), visits.to_string()]
    });
    page.table(["node", "visits"], rows);
    Ok(page.finish())
}

/// Writes the page to the user's cache, and removes old pages.
fn write(page: &str, run: &str, context: &Context) -> Result<PathBuf> {
    let folder = context.host.home.cache().join("pages");
    create_private_folder(&folder)?;
    remove_old(&folder);
    let file = folder.join(format!("{run}.html"));
    write_atomic(&file, page.as_bytes(), true).map_err(|error| Error::write("the page", &file, &error))?;
    Ok(std::path::absolute(&file).unwrap_or(file))
}

fn remove_old(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let now = SystemTime::now();
    for entry in entries.flatten() {
        let changed = entry.metadata().and_then(|found| found.modified());
        let is_old = changed.is_ok_and(|at| now.duration_since(at).is_ok_and(|age| age > OLDEST));
        if is_old {
            // If it cannot be removed, the next call tries again.
            let _ = fs::remove_file(entry.path());
        }
    }
}
