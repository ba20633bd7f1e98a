//! `graph-host runs history`.

use graph_host::terminal::exit;
use graph_host::terminal::local_time::local_time;
use graph_host::terminal::output::error_document;
use std::collections::VecDeque;

use graph_core::digest::Digest;
use graph_core::record::{AcceptedPinChange, Checkpoint, Record, SignedRecord, Source};
use graph_core::trust::VerifyingKey;
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::json_document::Document;
use graph_host::terminal::run_report;
use graph_host::terminal::table::{Columns, widest};
use graph_runtime::error::{Error, Result};
use graph_runtime::graph_store::CheckpointStore;
use graph_runtime::run::checkpoints::{self, Line};
use graph_runtime::run::restore;
use serde_json::{Map, Value, json};

use super::{accepted, run_view};

/// List the checkpoints of a run: what made each, and which nodes were next
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run: its id, the beginning of it, or @last
    pub(super) run: String,
}

pub(super) fn run(args: &Args, store: &dyn CheckpointStore, context: &Context) -> Result<Exit> {
    let row = restore::find(store, &args.run)?;
    // Records of an unknown host cannot be verified, but they can be shown.
    let key = context.host.home.known_key(row.key)?;
    let found = intact(store, &row.run_id, key.as_ref());
    // If the chain is broken, each checkpoint is read separately, so that those before the damage are shown.
    let (found, read) = if let Ok(found) = found {
        (found, Ok(()))
    } else {
        let mut found = CheckpointOverview::default();
        let read = one_by_one(store, &row.run_id, key.as_ref(), &mut found);
        (found, read)
    };
    let damage = match read {
        Err(error) if found.newest.is_none() => return Err(error),
        read => read.err(),
    };
    let status = match &damage {
        Some(_) => None,
        None => run_view::newest_status(store, &row, key.as_ref())?,
    };
    let mut accepted = Vec::from(found.accepted);
    if let Some(status) = status {
        let room = run_view::ACCEPTED.saturating_sub(accepted.len());
        accepted.extend(status.accepted.into_iter().take(room).map(|accepted| (status.sequence, accepted)));
    }
    let run = &row.run_id;
    if context.output.is_json() {
        let mut members = Map::from_iter([
            ("run_id".to_owned(), json!(run)),
            ("graph".to_owned(), json!(row.graph_id)),
            ("status".to_owned(), json!(row.status)),
            ("accepted".to_owned(), accepted::document(&accepted)),
        ]);
        if let Some(damage) = &damage {
            members.insert("error".to_owned(), error_document(damage)["error"].clone());
        }
        let document = Document::new(members).with_list("checkpoints", |give| {
            pages(store, run, found.newest, damage.is_some(), |page| {
                page.iter().try_for_each(|(checkpoint, digest)| give(&document(checkpoint, digest)))
            })
        });
        context.output.document_in_pieces(document)?;
        return Ok(damage.map_or(Exit::Ok, |damage| exit::of_error(&damage)));
    }
    if found.newest.is_none() {
        context.output.note("the run was cut short before its first checkpoint");
        return Ok(Exit::Ok);
    }
    let layout = COLUMNS.layout(found.widths, context.output.table_width());
    context.output.line(layout.header())?;
    pages(store, run, found.newest, damage.is_some(), |page| {
        page.iter()
            .try_for_each(|(checkpoint, digest)| context.output.line(layout.row(&cells(checkpoint, digest))))
    })?;
    accepted::show(&accepted, context.output)?;
    damage.map_or(Ok(Exit::Ok), Err)
}

/// Reads the checkpoints from the newest one, whose signature is verified, back to the first. Fails at the first broken link.
fn intact(store: &dyn CheckpointStore, run: &str, key: Option<&VerifyingKey>) -> Result<CheckpointOverview> {
    let begins = checkpoints::begins(store, run, "", key)?;
    let line = Line::new(store, run, "", key, begins.as_ref());
    let mut found = CheckpointOverview::default();
    line.each_back(|checkpoint, digest| {
        found.take_earlier(checkpoint, digest);
        Ok(())
    })?;
    Ok(found)
}

/// Reads the intact checkpoints in ascending order, each verified by itself and against its predecessors.
fn one_by_one(
    store: &dyn CheckpointStore,
    run: &str,
    key: Option<&VerifyingKey>,
    found: &mut CheckpointOverview,
) -> Result<()> {
    match key {
        Some(key) => {
            let (mut verifier, _) = restore::verifier(store, run, "", *key)?;
            restore::each_with_values(store, run, "", |record| {
                let checkpoint = verifier
                    .checkpoint(record)
                    .map_err(|error| restore::broken(run, record.sequence, &error))?;
                found.take(&checkpoint, record.digest);
                Ok(())
            })
        }
        // Records of an unknown host cannot be verified, but they can be shown.
        None => restore::each_checkpoint(store, run, "", |record| {
            found.take(&decode(record)?, record.digest);
            Ok(())
        }),
    }
}

const COLUMNS: Columns<7> = Columns {
    names: ["CHECKPOINT", "STEP", "MADE BY", "AT", "NODES", "NEXT", "DIGEST"],
    cut: &[4, 5, 2],
    dropped: &[6, 3],
    shown: None,
};

/// Data of all checkpoints that is needed before the first one is printed.
#[derive(Default)]
struct CheckpointOverview {
    newest: Option<u64>,
    accepted: VecDeque<(u64, AcceptedPinChange)>,
    /// Width of each column.
    widths: [usize; 7],
}

impl CheckpointOverview {
    /// Adds the next checkpoint, in ascending order.
    fn take(&mut self, checkpoint: &Checkpoint, digest: Digest) {
        self.newest = Some(checkpoint.sequence);
        let room = run_view::ACCEPTED.saturating_sub(self.accepted.len());
        self.accepted.extend(run_view::accepted_in(checkpoint).take(room));
        self.widen(checkpoint, digest);
    }

    /// Adds the previous checkpoint, in descending order.
    fn take_earlier(&mut self, checkpoint: &Checkpoint, digest: Digest) {
        self.newest.get_or_insert(checkpoint.sequence);
        for accepted in run_view::accepted_in(checkpoint).rev() {
            self.accepted.push_front(accepted);
        }
        self.accepted.truncate(run_view::ACCEPTED);
        self.widen(checkpoint, digest);
    }

    fn widen(&mut self, checkpoint: &Checkpoint, digest: Digest) {
        widest(&mut self.widths, &cells(checkpoint, &digest));
    }
}

fn decode(record: &SignedRecord) -> Result<Checkpoint> {
    match restore::open_record(record, None)? {
        Record::Checkpoint(checkpoint) => Ok(*checkpoint),
        _ => Err(Error::integrity(format!("record {} is not a checkpoint", record.sequence))),
    }
}

/// Reads the intact checkpoints again, page by page, up to the newest one.
fn pages(
    store: &dyn CheckpointStore,
    run: &str,
    newest: Option<u64>,
    is_damaged: bool,
    mut visit: impl FnMut(&[(Checkpoint, Digest)]) -> Result<()>,
) -> Result<()> {
    let Some(newest) = newest else { return Ok(()) };
    let mut after = None;
    while after.is_none_or(|after| after < newest) {
        // With damage, the checkpoints before it are read one by one.
        let page = store.checkpoints_alone(run, "", after, if is_damaged { 1 } else { PAGE })?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(last.sequence);
        let known = page.iter().filter(|record| record.sequence <= newest);
        let page: Vec<_> = known
            .map(|record| decode(record).map(|checkpoint| (checkpoint, record.digest)))
            .collect::<Result<_>>()?;
        visit(&page)?;
    }
    Ok(())
}

/// Number of checkpoints that are read at a time.
const PAGE: usize = 256;

fn cells(checkpoint: &Checkpoint, digest: &Digest) -> [String; 7] {
    let next: Vec<_> = checkpoint.next.iter().map(|next| next.node.clone()).collect();
    let next = match &checkpoint.end {
        Some(end) => format!("({})", end.status.as_str().replace('_', " ")),
        None => run_report::nodes(&next),
    };
    [
        checkpoint.sequence.to_string(),
        checkpoint.step.to_string(),
        made_by(&checkpoint.source),
        local_time(checkpoint.at),
        run_report::nodes(nodes(checkpoint)),
        next,
        digest.short(),
    ]
}

/// Returns the nodes of the superstep that made a checkpoint; none for a fork, whose checkpoint has those of all supersteps before it.
pub(super) fn nodes(checkpoint: &Checkpoint) -> &[String] {
    match checkpoint.source {
        Source::Fork { .. } => &[],
        _ => &checkpoint.visited,
    }
}

/// Describes the origin of a checkpoint for people.
pub(super) fn made_by(source: &Source) -> String {
    match source {
        Source::Input => "start".to_owned(),
        Source::Superstep => "superstep".to_owned(),
        Source::Inputs => "new inputs".to_owned(),
        Source::Update { as_node, restored, .. } => {
            let as_node = as_node.as_ref().map(|node| format!(" as {node}")).unwrap_or_default();
            let restored = restored.map(|place| format!(", back to {}", place.sequence)).unwrap_or_default();
            graph_core::diagnostic::one_line(&format!("update{as_node}{restored}"), 60)
        }
        Source::Fork { run, of } => {
            graph_core::diagnostic::one_line(&format!("fork of {run} {}", of.sequence), 60)
        }
    }
}

/// Returns the origin of a checkpoint for programs: details in addition to `source`.
pub(super) fn origin(source: &Source) -> Value {
    match source {
        Source::Input | Source::Superstep | Source::Inputs => Value::Null,
        Source::Update { answers, as_node, channels, restored } => json!({
            "answered": answers.keys().collect::<Vec<_>>(),
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
