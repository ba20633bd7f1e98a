//! `graph-host runs state`.

use graph_core::diagnostic::one_line;
use graph_core::diagnostic::printable;
use graph_core::record::Place;
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::json_document::Document;
use graph_host::terminal::output::{self, styled};
use graph_host::terminal::run_report::{self};
use graph_runtime::error::Result;
use graph_runtime::graph_store::CheckpointStore;
use graph_runtime::history::checkpoints::{self, Line};
use graph_runtime::run::edit_and_fork::{inputs, parse_place};
use graph_runtime::run::restore;
use graph_runtime::run::resume;
use serde_json::{Map, Value, json};

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
    let row = restore::find(store, &args.run)?;
    let key = resume::own_key(&row, &context.host)?.verifying_key();
    let place = args.at.as_ref().unwrap_or(&Place::Newest);
    let mut restored = restore::restore_at(store, &row.run_id, key, place)?;
    let state = restore::take_state(&mut restored)?;
    let checkpoint = &restored.checkpoint;
    let next: Vec<_> = checkpoint.next.iter().map(|next| next.node.clone()).collect();
    let out = context.output;
    if out.is_json() {
        let inputs = inputs(store, &restored)?;
        let mut members = members(json!({
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
            "inputs": inputs,
            "next": checkpoint.next,
            "deferred": checkpoint.deferred,
            "barriers": checkpoint.barriers,
            "visits": checkpoint.visits,
            "warnings": restored.warnings,
            "ended_by": checkpoint.end.as_ref().map(|end| end.ended_by.as_str()),
            "output": checkpoint.end.as_ref().map(|end| &*end.output.0),
            "fuel": checkpoint.fuel,
        }));
        let begins = checkpoints::begins(store, &row.run_id, "", Some(&key))?;
        let line = Line::new(store, &row.run_id, "", Some(&key), begins.as_ref());
        // The state is shown also where the history before what it builds on cannot be read.
        match line.way_to(&line.find(&Place::Sequence(checkpoint.sequence))?) {
            Ok(way) => out.document_in_pieces(Document::new(members).with_list("visited", |give| {
                way.each_visited(&line, &mut |node| give(&Value::from(node)))
            }))?,
            Err(error) => {
                out.warn(format_args!("`visited` is null: {}", error.message()));
                members.insert("visited".to_owned(), Value::Null);
                out.document(&members)?;
            }
        }
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
            run_report::nodes(arrived)
        ))?;
    }
    match &checkpoint.end {
        Some(end) => {
            out.line(format_args!("{} {}", styled(output::BOLD, "ended by"), end.ended_by.as_str()))?;
        }
        None => out.line(format_args!("{} {}", styled(output::BOLD, "next"), run_report::nodes(&next)))?,
    }
    Ok(Exit::Ok)
}

fn members(document: Value) -> Map<String, Value> {
    if let Value::Object(members) = document { members } else { Map::new() }
}
