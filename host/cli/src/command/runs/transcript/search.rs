//! Search in the transcripts of a run and of the runs that it continues.

use std::collections::BTreeSet;
use std::sync::Arc;

use graph_core::diagnostic::printable;
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::json_document::Document;
use graph_host::terminal::run_report::counted;
use graph_runtime::error::{Kind, Result};
use graph_runtime::graph_store::{CheckpointStore, RunRow};
use graph_runtime::history::transcript::{Found, Transcript, Wanted, message_line, search};
use graph_runtime::run::stores::Stores;
use serde_json::{Map, Value, json};

use super::super::namespace;
use super::lines::Lines;

/// Limit of runs of a chain that are searched.
const MOST_RUNS: usize = 1000;

/// Pattern, context and format of a search.
pub(super) struct Search<'a> {
    pub(super) wanted: &'a Wanted,
    pub(super) around: usize,
    pub(super) jsonl: bool,
}

/// A run that the searched run continues.
type Earlier = (Arc<dyn CheckpointStore>, RunRow);

pub(super) fn run(
    of: &Search<'_>,
    stores: &Stores,
    transcript: &Transcript<'_>,
    row: &RunRow,
    context: &Context,
) -> Result<Exit> {
    let out = context.output;
    // A child run continues no other run.
    let earlier = if transcript.namespace.is_empty() { earlier(stores, row, context)? } else { Vec::new() };
    let runs: Vec<&str> = earlier.iter().map(|(_, row)| &*row.run_id).chain([&*row.run_id]).collect();
    let each = |visit: &mut dyn FnMut(&RunRow, Found<'_>) -> Result<()>| -> Result<u64> {
        let mut matches = 0;
        for (store, row) in &earlier {
            let key = context.host.home.known_key(row.key)?;
            let of_run = Transcript { store: &**store, run: &row.run_id, namespace: "", key: key.as_ref() };
            matches += search(&of_run, of.wanted, of.around, &mut |found| visit(row, found))?.matches;
        }
        matches += search(transcript, of.wanted, of.around, &mut |found| visit(row, found))?.matches;
        Ok(matches)
    };
    if out.is_json() {
        let members = Map::from_iter([
            ("run_id".to_owned(), json!(row.run_id)),
            ("namespace".to_owned(), json!(transcript.namespace)),
            ("runs".to_owned(), json!(runs)),
        ]);
        let document = Document::new(members).with_list("messages", |give| {
            each(&mut |row, found| give(&of_run(found.message.to_json(), row, found))).map(|_| ())
        });
        out.document_in_pieces(document)?;
        return Ok(Exit::Ok);
    }
    if of.jsonl {
        let matches =
            each(&mut |row, found| out.json_line(&of_run(message_line(found.message), row, found)))?;
        out.json_line(&json!({ "kind": "end", "matches": matches, "runs": runs }))?;
        return Ok(Exit::Ok);
    }
    let mut lines = Lines::new(out);
    let mut last: Option<String> = None;
    let matches = each(&mut |row, found| {
        if last.as_ref() != Some(&row.run_id) {
            lines.heading(&row.graph_id, &namespace::join(&row.run_id, transcript.namespace), row)?;
            last = Some(row.run_id.clone());
        } else if found.is_after_gap {
            lines.gap(None)?;
        }
        lines.message(found.message, found.is_match.then_some(of.wanted))
    })?;
    let runs = counted(runs.len() as u64, "run");
    let found =
        if matches == 1 { "1 message matches".to_owned() } else { format!("{matches} messages match") };
    out.note(format_args!("{found}, in {runs}"));
    Ok(Exit::Ok)
}

/// Adds the run and the match to a message, for programs.
fn of_run(mut message: Value, row: &RunRow, found: Found<'_>) -> Value {
    message["run_id"] = row.run_id.as_str().into();
    message["match"] = found.is_match.into();
    message
}

/// Returns the runs that a run continues, the oldest first, up to one that was removed.
fn earlier(stores: &Stores, row: &RunRow, context: &Context) -> Result<Vec<Earlier>> {
    let mut found: Vec<Earlier> = Vec::new();
    let mut seen = BTreeSet::from([row.run_id.clone()]);
    let mut next = row.continuation_of.clone();
    while let Some(run) = next.filter(|run| seen.insert(run.clone())) {
        if found.len() == MOST_RUNS {
            context.output.warn(format_args!("only {MOST_RUNS} of the runs that it continues are searched"));
            break;
        }
        next = match stores.find(&run) {
            Ok((_, store, row)) if row.run_id == run => {
                let before = row.continuation_of.clone();
                found.push((store, row));
                before
            }
            Err(error) if error.kind() != Kind::NotFound => return Err(error),
            // Another run may have an id that begins in the same way.
            _ => {
                context.output.warn(format_args!("run {}, which it continues, was removed", printable(&run)));
                None
            }
        };
    }
    found.reverse();
    Ok(found)
}
