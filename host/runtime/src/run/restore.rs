//! Opens the stores of a project's runs, and restores runs from them.

use std::collections::BTreeSet;
use std::sync::Arc;

use graph_core::digest::Digest;
use graph_core::json::{self, TreeLimit};
use graph_core::record::{
    ChainError, ChainVerifier, ChannelStamp, ChannelValue, Checkpoint, CheckpointSelector, CumulativeState,
    Pruning, Record, RecordKind, SignedRecord, Status, TrustedCheckpoint, ValueKind,
};
use graph_core::trust::VerifyingKey;
use graph_core::work::size;
use graph_store::{
    CheckpointPosition, CheckpointStore, FileAccess, NumberedRecord, OpenError, Owner, ReadError, RunRow,
    SqliteOptions, SqliteStore, WantedChannel,
};
use graph_walker::document::load_snapshot;
use graph_walker::graph::Graph;
use graph_walker::walker::{Restored, RestoredChild, RestoredTree, inputs_text_digest, is_child_of};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::clock::now;
use crate::error::{Error, Result};
use crate::project::Project;
use crate::project::state::{self, OwnState};
use crate::project::user_home::Home;
use crate::remedy::Remedy;
use crate::run::checkpoints::{self, Line};
use crate::run::history_audit::audit_end;
use crate::run::pins::Pins;
use crate::run::start_note::RunStart;

/// Number of checkpoints that are read at a time.
const PAGE: usize = 256;

/// Opens the runs of a project for writing, and makes the database if there is none.
pub fn open(state: &OwnState) -> Result<Arc<SqliteStore>> {
    SqliteStore::open(&state.database()?, SqliteOptions::default()).map(Arc::new).map_err(Error::from)
}

/// Opens the runs of a project for reading. An older database is migrated first if the state is this host's; another
/// host's is left unchanged and refused.
pub fn open_to_read(project: &Project, home: &Home) -> Result<Arc<SqliteStore>> {
    let file = state::database(project)?;
    let options = SqliteOptions { access: FileAccess::ReadOnly, ..SqliteOptions::default() };
    let opened = match SqliteStore::open(&file, options) {
        Err(refused @ OpenError::Older { .. }) => match OwnState::open(project, home) {
            Ok(own) => open(&own).and_then(|_| Ok(SqliteStore::open(&file, options)?)),
            Err(_) => Err(Error::from(refused).help(Remedy::AskForExport)),
        },
        Err(OpenError::Missing { .. }) => {
            let why = if file.exists() { "is empty" } else { "does not exist" };
            let shown = project.base().show(&file.path());
            Err(Error::not_found(format!("there are no runs here: {shown} {why}"))
                .help("run a graph first, or change to the folder in which it was run"))
        }
        other => other.map_err(Error::from),
    };
    opened.map(Arc::new)
}

/// Migrates the database of a project, whichever host made it, at its user's request.
pub fn bring_up_to_date(project: &Project) -> Result<()> {
    let file = state::database(project)?;
    let options = SqliteOptions { access: FileAccess::ReadOnly, ..SqliteOptions::default() };
    // Other errors are reported when the database is read.
    if let Err(OpenError::Older { .. }) = SqliteStore::open(&file, options) {
        SqliteStore::open(&file, SqliteOptions::default())?;
    }
    Ok(())
}

/// Describes this process as the holder of a run.
pub fn this_process() -> Owner {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname")
        .ok()
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .or_else(|| std::env::var("HOSTNAME").ok())
        .unwrap_or_else(|| "this machine".to_owned());
    Owner { pid: std::process::id(), host, since: now() }
}

/// Returns the row of a run that a person names, without its result and its error.
pub fn find(store: &dyn CheckpointStore, name: &str) -> Result<RunRow> {
    let run = store.resolve(name)?;
    store.listed_run(&run)?.ok_or_else(|| Error::not_found(format!("there is no run {run}")))
}

/// Reads a text that a run keeps, and checks its digest over the bytes; the text is not parsed.
pub fn snapshot(store: &dyn CheckpointStore, digest: &Digest, what: &str) -> Result<String> {
    let text = store.snapshot(digest)?.ok_or_else(|| {
        Error::integrity(format!("{what} of this run ({digest}) is missing from the store"))
    })?;
    if is_text_of(digest, &text) {
        return Ok(text);
    }
    Err(Error::integrity(format!("{what} of this run ({digest}) was changed in the store")))
}

/// Checks whether a text has the digest by which a run names it: that of its bytes, or that in the domain of the inputs or of the pins.
pub(crate) fn is_text_of(digest: &Digest, text: &str) -> bool {
    Digest::of_bytes(text.as_bytes()) == *digest
        || inputs_text_digest(text) == *digest
        || Pins::text_digest(text) == *digest
}

/// Reads the inputs of a run.
pub fn inputs(store: &dyn CheckpointStore, digest: &Digest) -> Result<Value> {
    inputs_of(store, digest, "the inputs")
}

fn inputs_of(store: &dyn CheckpointStore, digest: &Digest, what: &str) -> Result<Value> {
    let text = snapshot(store, digest, what)?;
    json::read(&text, TreeLimit::INPUTS).map_err(|error| {
        Error::integrity(format!("{what} of this run cannot be read: {error}")).caused_by(error)
    })
}

/// Reads a document that a run keeps, such as a graph.
pub fn document<T: serde::de::DeserializeOwned>(
    store: &dyn CheckpointStore,
    digest: &Digest,
    what: &str,
) -> Result<T> {
    let text = snapshot(store, digest, what)?;
    json::read(&text, TreeLimit::DOCUMENT).map_err(|error| {
        Error::integrity(format!("{what} of this run cannot be read: {error}")).caused_by(error)
    })
}

/// Makes the error of a run whose checkpoints are damaged or do not follow each other.
pub fn broken(run: &str, sequence: u64, error: &ChainError) -> Error {
    Error::integrity(format!("run {run} is not intact at checkpoint {sequence}: {error}"))
        .details(serde_json::json!({ "run_id": run, "checkpoint": sequence }))
        .help(Remedy::ReadBeforeDamage { run: run.to_owned() })
}

/// Result of the verification before a resume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct VerifiedPart {
    /// Number of checkpoints, those of child runs included.
    pub checkpoints: u64,
    /// Number of child runs that are resumed with it.
    pub child_runs: u64,
    /// Number of the first checkpoint that the newest one of the run itself builds on.
    pub first: u64,
    /// Number of the newest checkpoint of the run itself.
    pub last: u64,
    /// Number of records under the newest checkpoints.
    pub records: u64,
}

/// Reads everything that a run is resumed from, with its child runs: the newest checkpoints, those that they build on,
/// and the records under them. Checks the signatures, links and digests of all these, and the last entries of the
/// history; `runs verify` checks older checkpoints and entries. `None` if the run was cut short before its first
/// checkpoint.
pub fn restore(
    store: &dyn CheckpointStore,
    run: &str,
    key: VerifyingKey,
) -> Result<Option<(RestoredTree, VerifiedPart)>> {
    let mut checked = VerifiedPart::default();
    let Some(root) = restore_one(store, run, "", key, &mut checked)? else { return Ok(None) };
    audit_end(store, run, &key, (root.checkpoint.sequence, &root.digest))?;
    let mut parents = vec![root.checkpoint.clone()];
    let mut tree = RestoredTree::from(root);
    let namespaces = store.namespaces(run)?;
    while let Some(parent) = parents.pop() {
        for namespace in namespaces.iter().filter(|namespace| is_child_of(namespace, &parent)) {
            let Some(restored) = restore_one(store, run, namespace, key, &mut checked)? else { continue };
            let what = format!("the inputs of the child run {namespace}");
            let inputs = inputs_of(store, &restored.checkpoint.inputs, &what)?;
            parents.push(restored.checkpoint.clone());
            checked.child_runs += 1;
            let graph = written_graph(store, &restored.checkpoint.graph)?.map(Arc::new);
            tree.children.push(RestoredChild { namespace: namespace.clone(), inputs, restored, graph });
        }
    }
    Ok(Some((tree, checked)))
}

/// Reads the graph with this digest, if a run has written it itself: the run keeps the document of such a graph under
/// the digest of the graph.
pub fn written_graph(store: &dyn CheckpointStore, digest: &Digest) -> Result<Option<Graph>> {
    let unreadable = |why: &dyn std::fmt::Display| {
        Error::integrity(format!(
            "the document of a graph that the run has written ({digest}) cannot be read: {why}"
        ))
    };
    let Some(text) = store.snapshot(digest)? else { return Ok(None) };
    let document: Value = json::read(&text, TreeLimit::DOCUMENT).map_err(|error| unreadable(&error))?;
    let graph = load_snapshot(&document).map_err(|error| unreadable(&error))?;
    if graph.digest != *digest {
        return Err(unreadable(&"it was changed in the store"));
    }
    Ok(Some(graph))
}

/// Reads the records from which the run in one namespace is resumed.
fn restore_one(
    store: &dyn CheckpointStore,
    run: &str,
    namespace: &str,
    key: VerifyingKey,
    checked: &mut VerifiedPart,
) -> Result<Option<Restored>> {
    let begins = checkpoints::begins(store, run, namespace, Some(&key))?;
    let line = Line::new(store, run, namespace, Some(&key), begins.as_ref());
    let Some(newest) = line.newest()? else { return Ok(None) };
    let trusted = line.open(&newest)?;
    checked.checkpoints += trusted.checkpoints;
    if namespace.is_empty() {
        (checked.first, checked.last) = (trusted.first, trusted.checkpoint.sequence);
    }
    let mut restored = at_checkpoint(store, &line, trusted)?;
    let digest = restored.digest;
    each_pending(store, run, namespace, |record| {
        let opened =
            record.open(&key).map_err(|error| Error::integrity(error.to_string()).caused_by(error))?;
        checked.records += 1;
        // A store must not return records under other checkpoints.
        match opened {
            Record::Task(task) if task.checkpoint == digest => restored.pending.push(task),
            Record::Answers(record) if record.checkpoint == digest => restored.answers.push(record),
            Record::Hook(record) if record.checkpoint == digest => restored.hooks.push(record),
            Record::Status(record) if record.checkpoint == digest => {
                restored
                    .checkpoint
                    .check_accepted(&record.accepted, key.id())
                    .map_err(|error| broken(run, record.sequence, &error))?;
                restored.status = Some(record);
            }
            _ => {
                return Err(Error::integrity(format!(
                    "a {} record of run {run} is not under its newest checkpoint",
                    record.kind.as_str()
                )));
            }
        }
        Ok(())
    })?;
    Ok(Some(restored))
}

/// Reads the state of a run at one of its checkpoints, without pending records. The checkpoint and those that it builds
/// on are checked.
pub fn restore_at(
    store: &dyn CheckpointStore,
    run: &str,
    key: VerifyingKey,
    place: &CheckpointSelector,
) -> Result<Restored> {
    restore_child_at(store, run, "", key, place)
}

/// Like [`restore_at`], for a child run, by its namespace.
pub fn restore_child_at(
    store: &dyn CheckpointStore,
    run: &str,
    namespace: &str,
    key: VerifyingKey,
    place: &CheckpointSelector,
) -> Result<Restored> {
    let begins = checkpoints::begins(store, run, namespace, Some(&key))?;
    let line = Line::new(store, run, namespace, Some(&key), begins.as_ref());
    let trusted = line.open(&line.find(place)?)?;
    at_checkpoint(store, &line, trusted)
}

/// Returns the nodes visited on the way to a checkpoint of a restored run.
pub(crate) fn visited_at(
    store: &dyn CheckpointStore,
    restored: &Restored,
    key: &VerifyingKey,
) -> Result<Vec<String>> {
    let Checkpoint { run, namespace, sequence, .. } = &restored.checkpoint;
    let begins = checkpoints::begins(store, run, namespace, Some(key))?;
    let line = Line::new(store, run, namespace, Some(key), begins.as_ref());
    let mut visited = Vec::new();
    line.way_to(&line.find(&CheckpointSelector::Sequence(*sequence))?)?.each_visited(&line, &mut |node| {
        visited.push(node.to_owned());
        Ok(())
    })?;
    Ok(visited)
}

fn at_checkpoint(
    store: &dyn CheckpointStore,
    line: &Line<'_>,
    trusted: TrustedCheckpoint,
) -> Result<Restored> {
    let (warnings, warned) = line.warnings(&trusted)?;
    let TrustedCheckpoint { checkpoint, digest, .. } = trusted;
    let values = values_at(store, &checkpoint)?;
    let (pending, answers, hooks, status) = (Vec::new(), Vec::new(), Vec::new(), None);
    Ok(Restored { checkpoint, digest, values, pending, answers, hooks, status, warnings, warned })
}

/// Reads the values of all channels at a whole checkpoint, and checks them against the digests that it names.
fn values_at(store: &dyn CheckpointStore, checkpoint: &Checkpoint) -> Result<Vec<ChannelValue>> {
    let wanted: Vec<_> = checkpoint.channels.iter().map(|(channel, stamp)| wanted(channel, stamp)).collect();
    let values = store.values(&checkpoint.run, &checkpoint.namespace, &wanted)?;
    checkpoint.check_values(&values).map_err(|error| broken(&checkpoint.run, checkpoint.sequence, &error))?;
    Ok(values)
}

/// Makes a verifier for the checkpoints of a namespace; returns it with the note about removed ones, if there is one.
pub fn verifier(
    store: &dyn CheckpointStore,
    run: &str,
    namespace: &str,
    key: VerifyingKey,
) -> Result<(ChainVerifier, Option<Pruning>)> {
    match checkpoints::begins(store, run, namespace, Some(&key))? {
        None => Ok((ChainVerifier::new(key), None)),
        Some(begins) => Ok((ChainVerifier::after(key, &begins), Some(begins))),
    }
}

/// Visits the checkpoints of a run, or of one of its child runs, in order and without their values.
pub fn each_checkpoint(
    store: &dyn CheckpointStore,
    run: &str,
    namespace: &str,
    visit: impl FnMut(&SignedRecord) -> Result<()>,
) -> Result<()> {
    each_page(|after, size| store.checkpoints_alone(run, namespace, after, size), visit)
}

/// Visits the records under the newest checkpoint of a namespace, in the order of the store.
pub fn each_pending(
    store: &dyn CheckpointStore,
    run: &str,
    namespace: &str,
    mut visit: impl FnMut(SignedRecord) -> Result<()>,
) -> Result<()> {
    let mut after: Option<(RecordKind, String)> = None;
    loop {
        let last = after.as_ref().map(|(kind, task)| (*kind, task.as_str()));
        let page = store.pending_after(run, namespace, last, PAGE)?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some((last.kind, last.task.clone()));
        page.into_iter().try_for_each(&mut visit)?;
    }
}

/// Returns the status record under the newest checkpoint of a namespace, if there is one.
pub fn pending_status(
    store: &dyn CheckpointStore,
    run: &str,
    namespace: &str,
) -> Result<Option<SignedRecord>> {
    /// Greater than the id of any hook call.
    const LAST: &str = "\u{10ffff}";
    let found = store.pending_after(run, namespace, Some((RecordKind::Hook, LAST)), PAGE)?;
    Ok(found.into_iter().find(|record| record.kind == RecordKind::Status))
}

/// Visits a run's history in order, after an entry.
pub(crate) fn each_of_history(
    store: &dyn CheckpointStore,
    run: &str,
    mut after: u64,
    mut visit: impl FnMut(NumberedRecord) -> Result<()>,
) -> Result<()> {
    loop {
        let page = store.history(run, after, PAGE)?;
        let Some(last) = page.last() else { return Ok(()) };
        // Positions rise in a correct store; without this check an incorrect one would be read without end.
        let next = last.before.saturating_add(last.record.events);
        page.into_iter().try_for_each(&mut visit)?;
        if next <= after {
            return Ok(());
        }
        after = next;
    }
}

/// Like [`each_checkpoint`], with the values that each checkpoint changed.
pub fn each_with_values(
    store: &dyn CheckpointStore,
    run: &str,
    namespace: &str,
    visit: impl FnMut(&SignedRecord) -> Result<()>,
) -> Result<()> {
    each_page(|after, size| store.checkpoints(run, namespace, after, size), visit)
}

/// Visits checkpoints in order, page by page.
pub(crate) fn each_page(
    read: impl Fn(Option<u64>, usize) -> std::result::Result<Vec<SignedRecord>, ReadError>,
    mut visit: impl FnMut(&SignedRecord) -> Result<()>,
) -> Result<()> {
    let mut after = None;
    let mut size = PAGE;
    loop {
        let page = match read(after, size) {
            Ok(page) => page,
            // Up to a damaged record, records are read one at a time.
            Err(_) if size > 1 => {
                size = 1;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        for record in &page {
            visit(record)?;
        }
        match page.last() {
            Some(last) => after = Some(last.sequence),
            None => return Ok(()),
        }
    }
}

fn wanted<'a>(channel: &'a str, stamp: &ChannelStamp) -> WantedChannel<'a> {
    WantedChannel { channel, base: stamp.base, version: stamp.version }
}

/// Reads a record and checks it with the key. Without one, as for a record of another host, it can only be shown.
pub fn open_record(record: &SignedRecord, key: Option<&VerifyingKey>) -> Result<Record> {
    key.map_or_else(|| record.decode(), |key| record.open(key))
        .map_err(|error| Error::integrity(error.to_string()).caused_by(error))
}

/// Applies channel values to the known channels: whole values replace, segments are appended. All channels together
/// take at most [`TreeLimit::VALUE`].
pub fn apply(channels: &mut Map<String, Value>, values: Vec<ChannelValue>) -> Result<()> {
    let known = channels.values().map(size::of).fold(0, u64::saturating_add);
    let mut left = TreeLimit::VALUE.less(known);
    for value in values {
        let ChannelValue { channel, kind, json, .. } = value;
        let (parsed, size) = json::read_measured(&json, left).map_err(|error| {
            Error::integrity(format!("channel `{channel}` cannot be read: {error}")).caused_by(error)
        })?;
        left = left.less(size);
        match (kind, channels.get_mut(&channel), parsed) {
            (ValueKind::Segment, Some(Value::Array(list)), Value::Array(more)) => list.extend(more),
            (_, _, parsed) => {
                channels.insert(channel, parsed);
            }
        }
    }
    Ok(())
}

/// Reads the state at a checkpoint. If its maps contain only changes, they are assembled first.
pub fn state(store: &dyn CheckpointStore, checkpoint: &Checkpoint) -> Result<Map<String, Value>> {
    let is_all = checkpoint
        .state
        .is_none_or(|state| CumulativeState::from_checkpoint(checkpoint).tree().digest() == state);
    let whole = if is_all { None } else { Some(whole(store, checkpoint)?) };
    let mut state = Map::new();
    apply(&mut state, values_at(store, whole.as_ref().unwrap_or(checkpoint))?)?;
    Ok(state)
}

/// Returns the state of a restored run; its values are moved out of it.
pub fn take_state(restored: &mut Restored) -> Result<Map<String, Value>> {
    let mut state = Map::new();
    apply(&mut state, std::mem::take(&mut restored.values))?;
    Ok(state)
}

/// Makes a checkpoint whole: with the stamps of all channels and the counts of all nodes. Its record has been checked,
/// or is only shown.
fn whole(store: &dyn CheckpointStore, checkpoint: &Checkpoint) -> Result<Checkpoint> {
    let Checkpoint { run, namespace, sequence, .. } = checkpoint;
    let begins = checkpoints::begins(store, run, namespace, None)?;
    let line = Line::new(store, run, namespace, None, begins.as_ref());
    Ok(line.open(&line.find(&CheckpointSelector::Sequence(*sequence))?)?.checkpoint)
}

/// Returns the newest checkpoint's record, if there is one.
pub fn newest(store: &dyn CheckpointStore, run: &str) -> Result<Option<SignedRecord>> {
    Ok(store.checkpoint(run, "", CheckpointPosition::Latest)?)
}

/// Updates the row of a run under way to its newest checkpoint: rows are stored only when the status changes.
pub fn catch_up(store: &dyn CheckpointStore, row: &mut RunRow) -> Result<()> {
    if row.status != Status::Running {
        return Ok(());
    }
    let Some(newest) = store.checkpoint(&row.run_id, "", CheckpointPosition::Latest)? else { return Ok(()) };
    row.step = newest.step;
    if let Ok(Record::Checkpoint(checkpoint)) = newest.decode() {
        (row.fuel, row.updated_at) = (checkpoint.fuel, checkpoint.at);
        row.model_use = checkpoint.host.model;
    }
    Ok(())
}

/// Returns the digests of the texts that a run stores: its inputs, its pins, the texts that those name, and the note of its start.
pub fn texts(store: &dyn CheckpointStore, row: &RunRow) -> Result<BTreeSet<Digest>> {
    /// Part of a checkpoint that names texts.
    #[derive(serde::Deserialize)]
    struct Named {
        graph: Digest,
        inputs: Digest,
        pins: Digest,
    }
    let begun = RunStart::of(row).digest();
    let mut inputs = BTreeSet::from([row.inputs, Digest::from_bytes(*row.key.as_bytes()), begun]);
    let mut pins = BTreeSet::from([row.pins]);
    for namespace in store.namespaces(&row.run_id)? {
        each_checkpoint(store, &row.run_id, &namespace, |record| {
            // A record that cannot be parsed names no texts.
            if let Ok(named) = json::read::<Named>(&*record.body, TreeLimit::RECORD) {
                // The text of a written graph is stored under its digest.
                inputs.extend([named.inputs, named.graph]);
                pins.insert(named.pins);
            }
            Ok(())
        })?;
    }
    let mut found = BTreeSet::new();
    for digest in &pins {
        let Some(text) = store.snapshot(digest)? else { continue };
        found.insert(*digest);
        // This program wrote the text; any digest in it may name a text.
        let named = text.split('"').filter_map(|word| word.parse::<Digest>().ok());
        inputs.extend(named);
    }
    for digest in inputs {
        if store.has_snapshot(&digest)? {
            found.insert(digest);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use graph_store::MemoryStore;
    use graph_walker::walker::inputs_digest;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_is_what_its_digest_says_or_it_is_not_read() {
        let store = MemoryStore::new();
        let inputs_value = json!({ "name": "Ada" });
        let text = json::canonical_string(&inputs_value);
        let named =
            [inputs_digest(&inputs_value), Digest::of_bytes(text.as_bytes()), Pins::text_digest(&text)];
        for digest in named {
            store.put_snapshot(&digest, &text).unwrap();
            assert_eq!(inputs(&store, &digest).unwrap(), inputs_value);
        }
        let other = Digest::of_bytes(b"other");
        store.put_snapshot(&other, &text).unwrap();
        let refused = snapshot(&store, &other, "the inputs").unwrap_err();
        assert_eq!(refused.kind(), crate::error::Kind::Integrity);
        assert!(refused.message().ends_with("was changed in the store"), "{refused}");
    }

    #[test]
    fn the_channels_of_a_run_take_no_more_than_one_value_together() {
        let value = |channel: &str, kind| ChannelValue {
            channel: channel.to_owned(),
            version: 1,
            kind,
            json: format!("[{}0]", "0,".repeat(2_200_000)).into(),
        };
        let mut channels = Map::new();
        apply(&mut channels, vec![value("a", ValueKind::Whole)]).unwrap();
        for (channel, kind) in [("a", ValueKind::Segment), ("b", ValueKind::Whole)] {
            let refused = apply(&mut channels, vec![value(channel, kind)]).unwrap_err();
            assert!(
                refused.message().starts_with(&format!("channel `{channel}` cannot be read: its 44")),
                "{refused}"
            );
        }
        assert_eq!(channels.len(), 1);
    }
}
