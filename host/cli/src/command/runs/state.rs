//! `graph-host runs state`.

use graph_core::record::Place;
use graph_host::context::Context;
use graph_host::error::Result;
use graph_host::exit::Exit;
use graph_host::output::{self, printable, styled};
use graph_host::report::{self, one_line};
use graph_host::travel::{inputs, parse_place};
use graph_host::{resume, runs};
use graph_store::CheckpointStore;
use serde_json::json;

use super::history::{made_by, nodes, origin};
use super::row::time;

/// Show the state of a run at any of its checkpoints, and what was next there
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run: its id, the beginning of it, or @last
    pub(super) run: String,
    /// The checkpoint: step:N as superstep N left it, node:NAME the newest where that node is next, or its number;
    /// without it, the newest
    #[arg(long, value_name = "PLACE", value_parser = parse_place)]
    at: Option<Place>,
}

pub(super) fn run(args: &Args, store: &dyn CheckpointStore, context: &Context) -> Result<Exit> {
    let row = runs::find(store, &args.run)?;
    let key = resume::own_key(&row, context)?.verifying_key();
    let place = args.at.as_ref().unwrap_or(&Place::Newest);
    let restored = runs::restore_at(store, &row.run_id, key, place)?;
    let checkpoint = &restored.checkpoint;
    let state = runs::state(store, &row.run_id, checkpoint)?;
    let next: Vec<_> = checkpoint.next.iter().map(|next| next.node.clone()).collect();
    let out = context.output;
    if out.is_json() {
        out.document(&json!({
            "run_id": row.run_id,
            "graph": row.graph_id,
            "checkpoint": {
                "id": checkpoint.sequence,
                "digest": restored.digest,
                "result_digest": checkpoint.result,
            },
            "step": checkpoint.step,
            "source": checkpoint.source.as_str(),
            "origin": origin(&checkpoint.source),
            "at": checkpoint.at.to_string(),
            "nodes": nodes(checkpoint),
            "state": state,
            "inputs": inputs(store, &restored)?,
            "next": checkpoint.next,
            "deferred": checkpoint.deferred,
            "barriers": checkpoint.barriers,
            "visits": checkpoint.visits,
            "visited": restored.visited,
            "warnings": restored.warnings,
            "ended_by": checkpoint.end.as_ref().map(|end| end.ended_by.as_str()),
            "output": checkpoint.end.as_ref().map(|end| &*end.output.0),
            "fuel": checkpoint.fuel,
        }))?;
        return Ok(Exit::Ok);
    }
    out.line(format_args!(
        "{} {}  checkpoint {}, step {}",
        styled(output::BOLD, printable(&row.graph_id)),
        styled(output::DIM, format_args!("run {}", row.run_id)),
        checkpoint.sequence,
        checkpoint.step
    ))?;
    let made = format!("{} at {}", made_by(&checkpoint.source), time(checkpoint.at));
    out.line(styled(output::DIM, format_args!("{made}, {}", restored.digest.short())))?;
    for (channel, value) in &state {
        out.line(format_args!("  {}: {}", printable(channel), one_line(&value.to_string(), 300)))?;
    }
    for (barrier, arrived) in &checkpoint.barriers {
        out.line(format_args!(
            "{} {}: {} arrived",
            styled(output::BOLD, "barrier"),
            printable(barrier),
            report::nodes(arrived)
        ))?;
    }
    match &checkpoint.end {
        Some(end) => {
            out.line(format_args!("{} {}", styled(output::BOLD, "ended by"), end.ended_by.as_str()))?;
        }
        None => out.line(format_args!("{} {}", styled(output::BOLD, "next"), report::nodes(&next)))?,
    }
    Ok(Exit::Ok)
}
