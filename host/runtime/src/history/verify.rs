//! Checks a whole run: every signature, every link of its chains, the claims of its row, and the texts that it keeps.

use graph_core::digest::Digest;
use graph_core::record::{Checkpoint, Pruning, Record, RecordKind, ResultDigest, SignedRecord, Status};
use graph_core::trust::VerifyingKey;
use graph_store::{CheckpointStore, RunRow};

use crate::error::{Error, Result};
use crate::remedy::Remedy;
use crate::run::history_audit::{History, check_pause};
use crate::run::pins::Pins;
use crate::run::restore;
use crate::run::stop_notes::StopNote;

/// Result of the verification of a run.
#[derive(Debug)]
pub struct Audit {
    /// Number of checkpoints, of all namespaces.
    pub checkpoints: u64,
    /// Number of records that are not checkpoints: tasks, answers, hooks, statuses.
    pub records: u64,
    /// The newest checkpoint of the run itself: its record digest and its result digest.
    pub newest: Option<(Digest, ResultDigest)>,
    /// Number of changes of its pins that its host has accepted.
    pub accepted: u64,
    /// Number of entries of its history, including removed ones.
    pub entries: u64,
    /// Number of child runs, at any depth.
    pub child_runs: u64,
    /// Note about removed checkpoints at the beginning of its history, if its host has removed any.
    pub begins: Option<Pruning>,
}

/// Verifies a run with the public key of the host that made it. If `last`, the record with which the run last stopped,
/// is given, that record has to exist.
pub fn audit(
    store: &dyn CheckpointStore,
    row: &RunRow,
    key: &VerifyingKey,
    last: Option<&StopNote>,
) -> Result<Audit> {
    let run = &row.run_id;
    if row.key != key.id() {
        return Err(Error::integrity(format!(
            "run {run} was signed by the key {}, and this is {}",
            row.key.short(),
            key.id().short()
        ))
        .help(Remedy::CheckWithHostKey));
    }
    let mut namespaces = store.namespaces(run)?;
    if !namespaces.iter().any(String::is_empty) {
        namespaces.insert(0, String::new());
    }
    let mut prunings = Vec::new();
    for namespace in &namespaces {
        prunings.extend(restore::verifier(store, run, namespace, *key)?.1);
    }
    let history = crate::run::history_audit::audit(store, run, key, &prunings)?;
    let mut found = Audit {
        checkpoints: 0,
        records: 0,
        newest: None,
        accepted: 0,
        child_runs: 0,
        entries: history.entries,
        begins: None,
    };
    for namespace in &namespaces {
        let (newest, begins) = chain(store, run, namespace, key, &history, &mut found)?;
        if namespace.is_empty() {
            found.newest = newest.as_ref().map(|(checkpoint, digest)| (*digest, checkpoint.result));
            found.begins = begins;
            let newest = newest.as_ref().map(|(checkpoint, _)| checkpoint);
            check_pause(row, newest, store)?;
            check_row(row, newest, store)?;
        } else if let Some((checkpoint, _)) = &newest {
            check_child(run, checkpoint, store)?;
            found.child_runs += 1;
        }
    }
    // The existing records are intact; it remains to check that none was removed from the end.
    if let Some(last) = last.filter(|last| !history.holds(last.sequence, &last.digest)) {
        return Err(Error::integrity(format!(
            "run {run} stopped with the {} record {} ({}), and that is gone: it was taken away, or the store was put back to \
             what it was before",
            last.kind.as_str(),
            last.sequence,
            last.digest.short()
        ))
        .help("if you restored the store from a backup yourself, the run can be resumed from its present state"));
    }
    Ok(found)
}

fn untold(record: &SignedRecord) -> Error {
    crate::run::history_audit::untold(&record.run, record.kind, record.sequence)
}

type Newest = Option<(Checkpoint, Digest)>;

fn chain(
    store: &dyn CheckpointStore,
    run: &str,
    namespace: &str,
    key: &VerifyingKey,
    history: &History,
    found: &mut Audit,
) -> Result<(Newest, Option<Pruning>)> {
    let (mut verifier, begins) = restore::verifier(store, run, namespace, *key)?;
    let mut newest: Newest = None;
    let mut reached = begins.is_none();
    restore::each_with_values(store, run, namespace, |record| {
        let checkpoint =
            verifier.checkpoint(record).map_err(|error| restore::broken(run, record.sequence, &error))?;
        if namespace.is_empty() && !history.holds(record.sequence, &record.digest) {
            return Err(untold(record));
        }
        found.checkpoints += 1;
        if namespace.is_empty() {
            found.accepted += checkpoint.accepted.len() as u64;
        }
        reached |= begins.as_ref().is_some_and(|begins| begins.newest == record.digest);
        newest = Some((checkpoint, record.digest));
        Ok(())
    })?;
    if !reached {
        return Err(Error::integrity(format!(
            "run {run} lacks checkpoint {} that it had when its first ones were removed: its end was cut off",
            begins.as_ref().map_or(0, |begins| begins.newest_sequence)
        )));
    }
    restore::each_pending(store, run, namespace, |record| {
        let opened =
            record.open(key).map_err(|error| Error::integrity(error.to_string()).caused_by(error))?;
        let under = match &opened {
            Record::Task(task) => task.checkpoint,
            Record::Answers(answers) => answers.checkpoint,
            Record::Hook(hook) => hook.checkpoint,
            Record::Status(status) => {
                verifier
                    .accepted(&status.accepted)
                    .map_err(|error| restore::broken(run, record.sequence, &error))?;
                if namespace.is_empty() {
                    found.accepted += status.accepted.len() as u64;
                }
                status.checkpoint
            }
            Record::Checkpoint(_) => record.digest,
        };
        if newest.as_ref().map(|(_, digest)| *digest) != Some(under) {
            return Err(Error::integrity(format!(
                "a {} record of run {run} is not under its newest checkpoint",
                record.kind.as_str()
            )));
        }
        let is_reported = record.kind != RecordKind::Status || !namespace.is_empty();
        if !is_reported && !history.holds(record.sequence, &record.digest) {
            return Err(untold(&record));
        }
        found.records += 1;
        Ok(())
    })?;
    Ok((newest, begins))
}

/// Checks the texts that a child run's records name.
fn check_child(run: &str, newest: &Checkpoint, store: &dyn CheckpointStore) -> Result<()> {
    let what = format!("the inputs of the child run {}", newest.namespace);
    restore::snapshot(store, &newest.inputs, &what)?;
    if restore::written_graph(store, &newest.graph)?.is_none() {
        let pins = Pins::read(&restore::snapshot(store, &newest.pins, "what it is pinned to")?)?;
        let is_item = pins.graphs.values().any(|pinned| pinned.graph == newest.graph);
        if !is_item {
            return Err(Error::integrity(format!(
                "the document of the graph that the child run {} of run {run} executes ({}) is missing from the store",
                newest.namespace, newest.graph
            )));
        }
    }
    Ok(())
}

/// Checks the claims of the row against signed records, and the texts that the records name.
fn check_row(row: &RunRow, newest: Option<&Checkpoint>, store: &dyn CheckpointStore) -> Result<()> {
    let Some(newest) = newest else { return Ok(()) };
    let run = &row.run_id;
    let ended = newest.end.as_ref().map(|end| end.status);
    // An end with `end` hooks becomes final only after these hooks.
    let unsettled = !newest.hooks.is_empty() && !row.status.is_end();
    let running = row.status == Status::Running;
    if row.step > newest.step
        || (row.step != newest.step && !running)
        || ended.is_some_and(|ended| ended != row.status && !unsettled)
        || (row.status.is_end() && ended.is_none())
    {
        return Err(Error::integrity(format!(
            "the row of run {run} says {} after {} steps, its newest checkpoint does not: the row, or the checkpoints after it, were changed",
            row.status, row.step
        )));
    }
    restore::snapshot(store, &newest.inputs, "the inputs")?;
    let pins = Pins::read(&restore::snapshot(store, &newest.pins, "what it is pinned to")?)?;
    if pins.text()?.0 != newest.pins {
        return Err(Error::integrity(format!("what run {run} is pinned to was changed")));
    }
    let inside = pins.graphs.iter().map(|(id, pinned)| (&pinned.text, format!("the graph `{id}`")));
    let hooks = pins.hooks_text.iter().map(|digest| (digest, "the hooks".to_owned()));
    let texts =
        [(&pins.graph_text, "the graph".to_owned()), (&pins.manifest_text, "the manifest".to_owned())];
    for (digest, what) in texts.into_iter().chain(inside).chain(hooks) {
        let what = what.as_str();
        restore::snapshot(store, digest, what)?;
    }
    Ok(())
}
