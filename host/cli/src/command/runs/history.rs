//! `graph-host runs history`.

use graph_core::digest::Digest;
use graph_core::record::{Checkpoint, Record, Source};
use graph_host::context::Context;
use graph_host::error::{Error, Result};
use graph_host::exit::Exit;
use graph_host::report;
use graph_host::runs;
use graph_store::CheckpointStore;
use serde_json::{Value, json};

use super::row::time;
use super::{accepted, story};

/// List a run's checkpoints: what made each, and what was next
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run: its id, the beginning of it, or @last
    pub(super) run: String,
}

pub(super) fn run(args: &Args, store: &dyn CheckpointStore, context: &Context) -> Result<Exit> {
    let row = runs::find(store, &args.run)?;
    // What another host has signed cannot be checked here; it can be shown.
    let key = context.home.verifying_identity(row.key)?;
    let mut line: Vec<(Checkpoint, Digest)> = Vec::new();
    let mut verifier = match key {
        Some(key) => Some(runs::verifier(store, &row.run_id, "", key)?.0),
        None => None,
    };
    let read = runs::each_checkpoint(store, &row.run_id, |record| {
        let checkpoint = match &mut verifier {
            Some(verifier) => verifier
                .checkpoint(record)
                .map_err(|error| runs::broken(&row.run_id, record.sequence, &error))?,
            None => match record.decode().map_err(|error| Error::integrity(error.to_string()))? {
                Record::Checkpoint(checkpoint) => *checkpoint,
                _ => return Err(Error::integrity(format!("record {} is not a checkpoint", record.sequence))),
            },
        };
        line.push((checkpoint, record.digest));
        Ok(())
    });
    // What is before the damage is shown all the same.
    let damage = match read {
        Err(error) if line.is_empty() => return Err(error),
        read => read.err(),
    };
    let status = match &damage {
        Some(_) => None,
        None => story::newest_status(store, &row, key.as_ref())?,
    };
    let accepted = accepted::all(line.iter().map(|(checkpoint, _)| checkpoint), status.as_ref());
    if context.output.is_json() {
        let checkpoints: Vec<_> =
            line.iter().map(|(checkpoint, digest)| document(checkpoint, digest)).collect();
        let mut document = json!({
            "run_id": row.run_id,
            "graph": row.graph_id,
            "status": row.status,
            "checkpoints": checkpoints,
            "accepted": accepted::document(&accepted),
        });
        if let Some(damage) = &damage {
            document["error"] = damage.to_json()["error"].clone();
        }
        context.output.document(&document)?;
        return Ok(damage.map_or(Exit::Ok, |damage| damage.exit()));
    }
    if line.is_empty() {
        context.output.note("the run was cut short before its first checkpoint");
        return Ok(Exit::Ok);
    }
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(["CHECKPOINT", "STEP", "MADE BY", "AT", "NODES", "NEXT", "DIGEST"]);
    for (checkpoint, digest) in &line {
        let next: Vec<_> = checkpoint.next.iter().map(|next| next.node.clone()).collect();
        let next = match &checkpoint.end {
            Some(end) => format!("({})", end.status.as_str().replace('_', " ")),
            None => report::nodes(&next),
        };
        table.add_row([
            checkpoint.sequence.to_string(),
            checkpoint.step.to_string(),
            made_by(&checkpoint.source),
            time(checkpoint.at),
            report::nodes(nodes(checkpoint)),
            next,
            digest.short(),
        ]);
    }
    for line in table.lines() {
        context.output.line(line.trim_end())?;
    }
    accepted::show(&accepted, context.output)?;
    damage.map_or(Ok(Exit::Ok), Err)
}

/// The nodes of the superstep that made a checkpoint: a fork begins with those of all supersteps before it.
pub(super) fn nodes(checkpoint: &Checkpoint) -> &[String] {
    match checkpoint.source {
        Source::Fork { .. } => &[],
        _ => &checkpoint.visited,
    }
}

/// What made a checkpoint, for people.
pub(super) fn made_by(source: &Source) -> String {
    match source {
        Source::Input => "start".to_owned(),
        Source::Superstep => "superstep".to_owned(),
        Source::Inputs => "new inputs".to_owned(),
        Source::Update { as_node, restored, .. } => {
            let as_node = as_node.as_ref().map(|node| format!(" as {node}")).unwrap_or_default();
            let restored = restored.map(|place| format!(", back to {}", place.sequence)).unwrap_or_default();
            report::one_line(&format!("update{as_node}{restored}"), 60)
        }
        Source::Fork { run, of } => report::one_line(&format!("fork of {run} {}", of.sequence), 60),
    }
}

/// What made a checkpoint, for programs: members beside `source`.
pub(super) fn origin(source: &Source) -> Value {
    match source {
        Source::Input | Source::Superstep | Source::Inputs => Value::Null,
        Source::Update { as_node, channels, restored } => json!({
            "as_node": as_node,
            "channels": channels,
            "back_to": restored.map(|place| json!({ "checkpoint": place.sequence, "digest": place.digest })),
        }),
        Source::Fork { run, of } => {
            json!({ "run_id": run, "checkpoint": of.sequence, "digest": of.digest })
        }
    }
}

fn document(checkpoint: &Checkpoint, digest: &Digest) -> Value {
    json!({
        "checkpoint": checkpoint.sequence,
        "step": checkpoint.step,
        "source": checkpoint.source.as_str(),
        "origin": origin(&checkpoint.source),
        "at": checkpoint.at.to_string(),
        "nodes": nodes(checkpoint),
        "next": checkpoint.next.iter().map(|next| &next.node).collect::<Vec<_>>(),
        "ended_by": checkpoint.end.as_ref().map(|end| end.ended_by.as_str()),
        "fuel": checkpoint.fuel,
        "digest": digest,
        "result_digest": checkpoint.result,
    })
}
