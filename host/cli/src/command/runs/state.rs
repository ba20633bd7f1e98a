//! `graph-host runs state`.

use graph_core::diagnostic::printable;
use graph_core::record::{Checkpoint, CheckpointSelector};
use graph_core::trust::VerifyingKey;
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::json_document::Document;
use graph_host::terminal::local_time::local_time;
use graph_host::terminal::output::{self, Output, styled};
use graph_host::terminal::remedies;
use graph_host::terminal::run_report;
use graph_host::terminal::values::{Extent, ValueLines};
use graph_host::terminal::width::width;
use graph_runtime::error::{Error, Result};
use graph_runtime::graph_store::{CheckpointStore, RunRow};
use graph_runtime::history::value_changes::ValueChanges;
use graph_runtime::project::Project;
use graph_runtime::run::checkpoints::{self, Line};
use graph_runtime::run::edit_and_fork::{inputs, parse_selector};
use graph_runtime::run::restore;
use graph_runtime::run::resume;
use graph_runtime::run::stores::Stores;
use graph_walker::walker::Restored;
use serde_json::{Map, Value, json};

use super::history::{made_by, nodes, origin};
use super::{diff, namespace, tree};
use crate::command::args::typed_run;

/// Show the state of a run at any of its checkpoints
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run: its id, the beginning of it, or @last; RUN/NAMESPACE for a child run
    pub(super) run: String,
    /// The namespace of a child run, as in events, such as 2.0
    #[arg(long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// The checkpoint: step:N for the one after superstep N, node:NAME for the newest in which that node is next, or its
    /// number; without it, the newest
    #[arg(long, value_name = "PLACE", value_parser = parse_selector)]
    at: Option<CheckpointSelector>,
    /// Show values in full; without it, long ones are shortened
    #[arg(long)]
    all: bool,
    /// Show only what differs from the state at an earlier checkpoint: the one before, or PLACE, written as for --at
    #[arg(long, value_name = "PLACE", num_args = 0..=1, require_equals = true, default_missing_value = "before")]
    diff: Option<String>,
}

pub(super) fn run(args: &Args, stores: &Stores, project: &Project, context: &Context) -> Result<Exit> {
    let (name, inside) = run_and_namespace(args)?;
    let (_, store, row) = stores.find(name)?;
    let store = &*store;
    namespace::check(store, &row.run_id, inside)?;
    let key = resume::own_key(&row, &context.host)?.verifying_key();
    let place = args.at.as_ref().unwrap_or(&CheckpointSelector::Newest);
    let mut restored = restore::restore_child_at(store, &row.run_id, inside, key, place)?;
    let state = restore::take_state(&mut restored)?;
    let checkpoint = &restored.checkpoint;
    let id = namespace::join(&row.run_id, inside);
    let graph = match inside {
        "" => Some(row.graph_id.clone()),
        _ => tree::graphs(store, &row)?.remove(&checkpoint.graph),
    };
    let out = context.output;
    if let Some(earlier) = &args.diff {
        let earlier = match earlier.as_str() {
            "before" => CheckpointSelector::Sequence(checkpoint.sequence.saturating_sub(1)),
            place => parse_selector(place).map_err(Error::usage)?,
        };
        let mut earlier = restore::restore_child_at(store, &row.run_id, inside, key, &earlier)?;
        let before = restore::take_state(&mut earlier)?;
        let most = if args.all || out.is_json() { usize::MAX } else { diff::SHOWN };
        let found = ValueChanges::between(&before, &state, most);
        if out.is_json() {
            out.document(&json!({
                "run_id": id,
                "before": earlier.checkpoint.sequence,
                "after": checkpoint.sequence,
                "state": diff::document(&found),
            }))?;
            return Ok(Exit::Ok);
        }
        let heading =
            format!("state at checkpoint {}, and at {}", earlier.checkpoint.sequence, checkpoint.sequence);
        if found.changes.is_empty() {
            out.line(format_args!("{heading}: the same"))?;
        }
        diff::print_changes(&heading, &found, out)?;
        return Ok(Exit::Ok);
    }
    if out.is_json() {
        print_document(store, &row, (inside, key), &restored, (graph, &state), out)?;
        return Ok(Exit::Ok);
    }
    out.line(format_args!(
        "{} {}  checkpoint {}, step {}",
        styled(output::BOLD, printable(graph.as_deref().unwrap_or("a graph that the run has written"))),
        styled(output::DIM, format_args!("run {id}")),
        checkpoint.sequence,
        checkpoint.step
    ))?;
    let made = format!("{} at {}", made_by(&checkpoint.source), local_time(checkpoint.at));
    out.line(styled(output::DIM, format_args!("{made}, {}", restored.digest.short())))?;
    let mut lines = ValueLines::new(if args.all { Extent::ALL } else { Extent::SHORT }, width());
    for (channel, value) in &state {
        lines.member(channel, value, 2);
    }
    let (text, is_shortened) = lines.finish();
    if !text.is_empty() {
        out.line(text)?;
    }
    print_next(checkpoint, out)?;
    if is_shortened {
        let run = if inside.is_empty() { name.to_owned() } else { format!("{name}/{inside}") };
        let typed = typed_run(&run, project.folder());
        // Named, because a newer checkpoint may exist by then.
        let at = format!(" --at {}", checkpoint.sequence);
        out.line(run_report::all_of_it(&format!("runs state {typed}{at} --all")))?;
    }
    Ok(Exit::Ok)
}

/// Returns the run as the user typed it, and the namespace of the child run.
fn run_and_namespace(args: &Args) -> Result<(&str, &str)> {
    let (name, inside) = namespace::split(&args.run);
    match &args.namespace {
        Some(_) if !inside.is_empty() => {
            Err(Error::usage("the namespace is named twice").help("write RUN/NAMESPACE, or --namespace"))
        }
        Some(namespace) => Ok((name, namespace)),
        None => Ok((name, inside)),
    }
}

/// Prints the checkpoint as JSON.
fn print_document(
    store: &dyn CheckpointStore,
    row: &RunRow,
    (inside, key): (&str, VerifyingKey),
    restored: &Restored,
    (graph, state): (Option<String>, &Map<String, Value>),
    out: Output,
) -> Result<()> {
    let checkpoint = &restored.checkpoint;
    let id = namespace::join(&row.run_id, inside);
    let inputs = inputs(store, restored)?;
    let mut members = members(json!({
        "run_id": id,
        "graph_run_id": id,
        "namespace": inside,
        "graph": graph,
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
    let begins = checkpoints::begins(store, &row.run_id, inside, Some(&key))?;
    let line = Line::new(store, &row.run_id, inside, Some(&key), begins.as_ref());
    // The state is shown even if the earlier history cannot be read.
    match line.way_to(&line.find(&CheckpointSelector::Sequence(checkpoint.sequence))?) {
        Ok(way) => out
            .document_in_pieces(Document::new(members).with_list("visited", |give| {
                way.each_visited(&line, &mut |node| give(&Value::from(node)))
            }))?,
        Err(error) => {
            out.warn(format_args!("`visited` is null: {}", remedies::message(&error)));
            members.insert("visited".to_owned(), Value::Null);
            out.document(&members)?;
        }
    }
    Ok(())
}

/// Prints the barriers and the next nodes.
fn print_next(checkpoint: &Checkpoint, out: Output) -> Result<()> {
    for (barrier, arrived) in &checkpoint.barriers {
        out.line(format_args!(
            "{} {}: {} arrived",
            styled(output::BOLD, "barrier"),
            printable(barrier),
            run_report::nodes(arrived)
        ))?;
    }
    let next: Vec<_> = checkpoint.next.iter().map(|next| next.node.clone()).collect();
    match &checkpoint.end {
        Some(end) => {
            out.line(format_args!("{} {}", styled(output::BOLD, "ended by"), end.ended_by.as_str()))?;
        }
        None => out.line(format_args!("{} {}", styled(output::BOLD, "next"), run_report::nodes(&next)))?,
    }
    Ok(())
}

fn members(document: Value) -> Map<String, Value> {
    if let Value::Object(members) = document { members } else { Map::new() }
}
