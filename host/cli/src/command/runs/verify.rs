//! `graph-host runs verify`.

use std::path::PathBuf;

use graph_core::record::{ChainVerifier, Checkpoint, Record, RecordKind, SignedRecord, Status};
use graph_core::trust::VerifyingKey;
use graph_host::context::Context;
use graph_host::error::{Error, Result};
use graph_host::exit::Exit;
use graph_host::output::{self, styled};
use graph_host::stream::audit;
use graph_host::{project, report, runs};
use graph_store::{CheckpointStore, RunRow};
use serde_json::{Value, json};

/// Check every signature of a run, and that nothing was changed, added or left out
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run: its id, the beginning of it, or @last
    pub(super) run: String,
    /// The public key to check with, where another host made the run; without it, this host's
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
}

pub(super) fn run(args: &Args, store: &dyn CheckpointStore, context: &Context) -> Result<Exit> {
    let row = runs::find(store, &args.run)?;
    let key = match &args.key {
        Some(path) => {
            let text = graph_host::text_file::read_as("the key file", path)?;
            VerifyingKey::parse(&text)
                .map_err(|error| Error::invalid(format!("{}: {error}", project::shown(path))))?
        }
        None => context.home.identity()?.verifying_key(),
    };
    if row.key != key.id() {
        return Err(Error::integrity(format!(
            "run {} was signed by the key {}, and this is {}",
            row.run_id,
            row.key.short(),
            key.id().short()
        ))
        .help("another host made this run: check it with --key and the public key of that host"));
    }
    let run = &row.run_id;
    let history = audit(store, run, &key)?;
    let untold = |record: &SignedRecord| {
        Error::integrity(format!(
            "the {} record {} of run {run} is not in its history",
            record.kind.as_str(),
            record.sequence
        ))
    };
    let mut verifier = ChainVerifier::new(key);
    let mut newest = None;
    let (mut count, mut signatures) = (0_u64, 0_u64);
    runs::each_checkpoint(store, run, |record| {
        let checkpoint =
            verifier.checkpoint(record).map_err(|error| runs::broken(run, record.sequence, &error))?;
        if !history.holds(record.sequence, &record.digest) {
            return Err(untold(record));
        }
        count += 1;
        newest = Some((checkpoint, record.digest));
        Ok(())
    })?;
    for record in store.pending(run, "")? {
        let opened = record.open(&key).map_err(|error| Error::integrity(error.to_string()))?;
        let under = match &opened {
            Record::Task(task) => task.checkpoint,
            Record::Answers(answers) => answers.checkpoint,
            Record::Status(status) => status.checkpoint,
            Record::Checkpoint(_) => record.digest,
        };
        if newest.as_ref().map(|(_, digest)| *digest) != Some(under) {
            return Err(Error::integrity(format!(
                "a {} record of run {run} is not under its newest checkpoint",
                record.kind.as_str()
            )));
        }
        if record.kind == RecordKind::Status && !history.holds(record.sequence, &record.digest) {
            return Err(untold(&record));
        }
        signatures += 1;
    }
    check_row(&row, newest.as_ref().map(|(checkpoint, _)| checkpoint), store)?;
    if context.output.is_json() {
        context.output.document(&json!({
            "run_id": run,
            "intact": true,
            "checkpoints": count,
            "records": signatures,
            "entries": history.entries,
            "key_id": key.id(),
            "digest": newest.as_ref().map(|(_, digest)| digest),
            "result_digest": newest.as_ref().map(|(checkpoint, _)| checkpoint.result),
        }))?;
    } else {
        let records = if signatures == 0 {
            String::new()
        } else {
            format!(" and {}", report::counted(signatures, "record"))
        };
        context.output.line(format_args!(
            "{} run {run} is intact: {}{records}, signed by {}",
            styled(output::GOOD, "✓"),
            report::counted(count, "checkpoint"),
            key.id().short()
        ))?;
    }
    Ok(Exit::Ok)
}

/// What the row claims, against what is signed; and the texts that the records name.
fn check_row(row: &RunRow, newest: Option<&Checkpoint>, store: &dyn CheckpointStore) -> Result<()> {
    let Some(newest) = newest else { return Ok(()) };
    let run = &row.run_id;
    let ended = newest.end.as_ref().map(|end| end.status);
    let running = row.status == Status::Running;
    if row.step > newest.step
        || (row.step != newest.step && !running)
        || ended.is_some_and(|ended| ended != row.status)
        || (row.status.is_end() && ended.is_none())
    {
        return Err(Error::integrity(format!(
            "the row of run {run} says {} after {} steps, its newest checkpoint does not: the row, or the checkpoints after it, were changed",
            row.status, row.step
        )));
    }
    let inputs: Value = serde_json::from_str(&runs::snapshot(store, &newest.inputs, "the inputs")?)
        .map_err(|error| Error::integrity(format!("the inputs of run {run} cannot be read: {error}")))?;
    if graph_core::walker::inputs_digest(&inputs) != newest.inputs {
        return Err(Error::integrity(format!("the inputs that run {run} keeps were changed")));
    }
    let pins = graph_host::pins::Pins::read(&runs::snapshot(store, &newest.pins, "what it is pinned to")?)?;
    if pins.text()?.0 != newest.pins {
        return Err(Error::integrity(format!("what run {run} is pinned to was changed")));
    }
    for (digest, what) in [(&pins.graph_text, "the graph"), (&pins.manifest_text, "the manifest")] {
        if graph_core::digest::Digest::of_bytes(runs::snapshot(store, digest, what)?.as_bytes()) != *digest {
            return Err(Error::integrity(format!("{what} that run {run} keeps was changed")));
        }
    }
    Ok(())
}
