//! `graph-host runs chain`.

use std::collections::{BTreeMap, BTreeSet};

use graph_core::diagnostic::{one_line, printable};
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::json_document::Document;
use graph_host::terminal::local_time::local_time;
use graph_host::terminal::output::{self, styled};
use graph_host::terminal::run_report::counted;
use graph_host::terminal::text::branch;
use graph_runtime::error::Result;
use graph_runtime::graph_store::{CheckpointStore, RunFilter, RunRow};
use graph_runtime::run::restore;
use graph_runtime::run::stores::Stores;
use serde_json::{Map, Value, json};

use super::relations::Relations;
use super::row::{bare_json, shown_status};

/// Show the chain that a run belongs to: the original run, its forks, and the forks of those
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A run of the chain: its id, the beginning of it, or @last
    run: String,
}

/// A run of a chain.
struct Link {
    row: RunRow,
    columns: Map<String, Value>,
    status: String,
}

pub(super) fn run(args: &Args, stores: &Stores, context: &Context) -> Result<Exit> {
    let (_, _, row) = stores.find(&args.run)?;
    let root = row.chain_root_id.clone().unwrap_or_else(|| row.run_id.clone());
    let relations = Relations::read(stores)?;
    let mut links = Vec::new();
    stores.each_readable(&RunFilter::default(), |store, mut row| {
        if row.run_id == root || row.chain_root_id.as_ref() == Some(&root) {
            restore::catch_up(store, &mut row)?;
            links.push(link(store, row, &relations)?);
        }
        Ok(())
    })?;
    let links = in_order(links);
    let out = context.output;
    if out.is_json() {
        // One row at a time: an imported chain may be long.
        let head = Map::from_iter([("chain_root_id".to_owned(), json!(root))]);
        let mut links = links.into_iter();
        let document = Document::new(head).with_list("runs", move |give| {
            links.try_for_each(|(_, link)| {
                let mut row = bare_json(link.row);
                row.extend(link.columns);
                give(&Value::Object(row))
            })
        });
        out.document_in_pieces(document)?;
        return Ok(Exit::Ok);
    }
    for (depth, Link { row, status, .. }) in &links {
        let is_named = row.run_id == args.run;
        out.line(format_args!(
            "{}{}  {}  {status}, {}, {}",
            styled(output::DIM, branch(*depth)),
            if is_named { styled(output::BOLD, &row.run_id) } else { row.run_id.clone() },
            one_line(&row.graph_id, 40),
            counted(row.step, "step"),
            styled(output::DIM, local_time(row.created_at)),
        ))?;
    }
    if links.first().is_none_or(|(_, first)| first.row.run_id != root) {
        out.warn(format_args!("run {}, where the chain begins, was removed", printable(&root)));
    }
    Ok(Exit::Ok)
}

fn link(store: &dyn CheckpointStore, row: RunRow, relations: &Relations) -> Result<Link> {
    let columns = relations.columns(store, &row)?;
    let status = shown_status(store, &row);
    // The result and the error are not shown.
    let row = RunRow { result: None, error: None, ..row };
    Ok(Link { row, columns, status })
}

/// Orders runs, each after the one that it continues, the older of two forks first, with their depth. A run whose origin was removed has
/// depth 0.
fn in_order(newest_first: Vec<Link>) -> Vec<(usize, Link)> {
    let ids: BTreeSet<&str> = newest_first.iter().map(|link| link.row.run_id.as_str()).collect();
    let origin =
        |link: &Link| link.row.continuation_of.clone().filter(|origin| ids.contains(origin.as_str()));
    let origins: Vec<_> = newest_first.iter().map(origin).collect();
    drop(ids);
    let mut below: BTreeMap<Option<String>, Vec<Link>> = BTreeMap::new();
    for (origin, link) in origins.into_iter().zip(newest_first) {
        below.entry(origin).or_default().push(link);
    }
    let mut ordered = Vec::new();
    // Runs in a cycle have no first run: the remaining ones also have depth 0.
    while let Some((_, links)) = below.pop_first() {
        // The last run of each list is the oldest one: it is taken first.
        let mut waiting: Vec<(usize, Link)> = links.into_iter().map(|link| (0, link)).collect();
        while let Some((depth, link)) = waiting.pop() {
            let forks = below.remove(&Some(link.row.run_id.clone())).unwrap_or_default();
            waiting.extend(forks.into_iter().map(|fork| (depth + 1, fork)));
            ordered.push((depth, link));
        }
    }
    ordered
}
