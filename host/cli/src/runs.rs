//! The runs of a project: the store they lie in, and the way from what is stored back to a run that can go on.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use graph_core::digest::Digest;
use graph_core::record::{
    ChainError, ChainVerifier, ChannelStamp, ChannelValue, Checkpoint, History, Place, Pruning, Record,
    RecordKind, SignedPruning, SignedRecord, Standing, Status, ValueKind,
};
use graph_core::trust::VerifyingKey;
use graph_core::walker::{Restored, RestoredChild, RestoredTree, is_child_of};
use graph_store::{
    Access, At, CheckpointStore, Numbered, OpenError, Options, Owner, RunRow, SqliteStore, Wanted,
};

use serde_json::{Map, Value};

use crate::context::now;
use crate::error::{Error, Result};
use crate::home::Home;
use crate::project;
use crate::state::{self, OwnState};

/// Checkpoints that are read at a time.
const PAGE: usize = 256;

/// Opens the runs of a project for writing, and makes the database where there is none.
pub fn open(state: &OwnState) -> Result<Arc<SqliteStore>> {
    SqliteStore::open(&state.database()?, Options::default()).map(Arc::new).map_err(Error::from)
}

/// Opens the runs of a project for reading. A database of an older version is brought up to date first where the state is
/// this host's; another host's is left as it is and refused.
pub fn open_to_read(project: &Path, home: &Home) -> Result<Arc<SqliteStore>> {
    let file = state::database(project)?;
    let options = Options { access: Access::ReadOnly, ..Options::default() };
    let opened = match SqliteStore::open(&file, options) {
        Err(refused @ OpenError::Older { .. }) => match OwnState::open(project, home) {
            Ok(own) => open(&own).and_then(|_| Ok(SqliteStore::open(&file, options)?)),
            Err(_) => Err(Error::from(refused).help(
                "it is not this host's, so reading it must not change it: ask its owner for an export \
                 (graph-host runs export), or, of a project that you have moved or copied yourself, take it over \
                 with graph-host runs adopt",
            )),
        },
        Err(OpenError::Missing { .. }) => {
            let why = if file.exists() { "is empty" } else { "does not exist" };
            Err(Error::not_found(format!("there are no runs here: {} {why}", project::shown(&file)))
                .help("run a graph first, or change to the folder in which it was run"))
        }
        other => other.map_err(Error::from),
    };
    opened.map(Arc::new)
}

/// Brings the database of a project up to date, whoever made it: its user says that it is this host's.
pub fn bring_up_to_date(project: &Path) -> Result<()> {
    let file = state::database(project)?;
    let options = Options { access: Access::ReadOnly, ..Options::default() };
    // What else is wrong is told where it is read.
    if let Err(OpenError::Older { .. }) = SqliteStore::open(&file, options) {
        SqliteStore::open(&file, Options::default())?;
    }
    Ok(())
}

/// This process, as it holds a run.
pub fn this_process() -> Owner {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname")
        .ok()
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .or_else(|| std::env::var("HOSTNAME").ok())
        .unwrap_or_else(|| "this machine".to_owned());
    Owner { pid: std::process::id(), host, since: now() }
}

/// The row of a run that a person names, without its result and its error.
pub fn find(store: &dyn CheckpointStore, name: &str) -> Result<RunRow> {
    let run = store.resolve(name)?;
    store.listed_run(&run)?.ok_or_else(|| Error::not_found(format!("there is no run {run}")))
}

/// Reads a text that a run keeps.
pub fn snapshot(
    store: &dyn CheckpointStore,
    digest: &graph_core::digest::Digest,
    what: &str,
) -> Result<String> {
    store
        .snapshot(digest)?
        .ok_or_else(|| Error::integrity(format!("{what} of this run ({digest}) is missing from the store")))
}

/// A run's checkpoints do not hold together.
pub fn broken(run: &str, sequence: u64, error: &ChainError) -> Error {
    Error::integrity(format!("run {run} is not intact at checkpoint {sequence}: {error}"))
        .details(serde_json::json!({ "run_id": run, "checkpoint": sequence }))
        .help(format!("what is before that checkpoint can still be read: graph-host runs history {run}"))
}

/// Reads everything that a run goes on from, that of its child runs too, and checks all signatures and the whole chain
/// on the way. `None`: the run was cut short before its first checkpoint.
pub fn restore(store: &dyn CheckpointStore, run: &str, key: VerifyingKey) -> Result<Option<RestoredTree>> {
    let Some(root) = restore_one(store, run, "", key)? else { return Ok(None) };
    let mut parents = vec![root.checkpoint.clone()];
    let mut tree = RestoredTree::from(root);
    let namespaces = store.namespaces(run)?;
    while let Some(parent) = parents.pop() {
        for namespace in namespaces.iter().filter(|namespace| is_child_of(namespace, &parent)) {
            let Some(restored) = restore_one(store, run, namespace, key)? else { continue };
            let text = snapshot(store, &restored.checkpoint.inputs, "the inputs of a child run")?;
            let inputs = serde_json::from_str(&text).map_err(|error| {
                Error::integrity(format!("the inputs of the child run {namespace} cannot be read: {error}"))
            })?;
            parents.push(restored.checkpoint.clone());
            tree.children.push(RestoredChild { namespace: namespace.clone(), inputs, restored });
        }
    }
    Ok(Some(tree))
}

/// Reads what the run in one namespace goes on from.
fn restore_one(
    store: &dyn CheckpointStore,
    run: &str,
    namespace: &str,
    key: VerifyingKey,
) -> Result<Option<Restored>> {
    let (history, newest, verifier) = line(store, run, namespace, key)?;
    let Some((mut checkpoint, digest)) = newest else { return Ok(None) };
    verifier.standing().clone().complete(&mut checkpoint);
    let mut restored = at_checkpoint(store, run, checkpoint, digest, history.into_newest())?;
    each_pending(store, run, namespace, |record| {
        let opened = record.open(&key).map_err(|error| Error::integrity(error.to_string()))?;
        // A record under another checkpoint is void; the store gives none, and none is believed.
        match opened {
            Record::Task(task) if task.checkpoint == digest => restored.pending.push(task),
            Record::Answers(record) if record.checkpoint == digest => restored.answers.push(record),
            Record::Hook(record) if record.checkpoint == digest => restored.hooks.push(record),
            Record::Status(record) if record.checkpoint == digest => {
                verifier.accepted(&record.accepted).map_err(|error| broken(run, record.sequence, &error))?;
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

/// Reads what a run was at one of its checkpoints, without anything pending, and checks the whole chain on the way.
pub fn restore_at(
    store: &dyn CheckpointStore,
    run: &str,
    key: VerifyingKey,
    place: &Place,
) -> Result<Restored> {
    let (history, ..) = line(store, run, "", key)?;
    let sequence = history
        .find(place)
        .map_err(|error| {
            Error::not_found(format!("run {run}: {error}"))
                .help(format!("see them all: graph-host runs history {run}"))
        })?
        .sequence;
    let record = store.checkpoint(run, "", At::Sequence(sequence))?;
    let record =
        record.ok_or_else(|| Error::integrity(format!("checkpoint {sequence} of run {run} is gone")))?;
    match record.open(&key).map_err(|error| Error::integrity(error.to_string()))? {
        Record::Checkpoint(mut checkpoint) => {
            complete(store, &mut checkpoint, Some(&key))?;
            at_checkpoint(store, run, *checkpoint, record.digest, history.up_to(sequence))
        }
        _ => Err(Error::integrity(format!("record {sequence} of run {run} is not a checkpoint"))),
    }
}

/// What led to each checkpoint, the newest with its record digest, and what has checked them.
type Line = (History, Option<(Checkpoint, Digest)>, ChainVerifier);

/// All checkpoints of a run, checked: what led to each, the newest with its record digest, and what has checked them.
fn line(store: &dyn CheckpointStore, run: &str, namespace: &str, key: VerifyingKey) -> Result<Line> {
    let (mut verifier, begins) = verifier(store, run, namespace, key)?;
    let mut history = begins.as_ref().map(History::after).unwrap_or_default();
    let mut newest = None;
    each_checkpoint_in(store, run, namespace, |record| {
        let checkpoint = verifier.checkpoint(record).map_err(|error| broken(run, record.sequence, &error))?;
        history.push(&checkpoint);
        newest = Some((checkpoint, record.digest));
        Ok(())
    })?;
    Ok((history, newest, verifier))
}

fn at_checkpoint(
    store: &dyn CheckpointStore,
    run: &str,
    checkpoint: Checkpoint,
    digest: Digest,
    (visited, warnings): (Vec<String>, Vec<String>),
) -> Result<Restored> {
    let wanted: Vec<_> = checkpoint.channels.iter().map(|(channel, stamp)| wanted(channel, stamp)).collect();
    let values = store.values(run, &checkpoint.namespace, &wanted)?;
    let (pending, answers, hooks, status) = (Vec::new(), Vec::new(), Vec::new(), None);
    Ok(Restored { checkpoint, digest, values, pending, answers, hooks, status, visited, warnings })
}

/// Makes a checkpoint whole: with where every channel and node stands, put together from the checkpoints that it builds on. With
/// a key, their signatures are checked; that they follow each other and the digest of the channels are checked in any case.
pub fn complete(
    store: &dyn CheckpointStore,
    checkpoint: &mut Checkpoint,
    key: Option<&VerifyingKey>,
) -> Result<()> {
    let Some(delta) = checkpoint.delta else { return Ok(()) };
    let (run, namespace) = (checkpoint.run.clone(), checkpoint.namespace.clone());
    let begins = match (store.pruning(&run, &namespace)?, key) {
        (None, _) => None,
        (Some(note), Some(key)) => Some(
            SignedPruning::open(&note, key, &run, &namespace)
                .map_err(|error| Error::integrity(error.to_string()))?,
        ),
        (Some(note), None) => SignedPruning::decode(&note).ok(),
    };
    let begins = begins.filter(|begins| begins.first_sequence > delta.whole);
    let mut standing = begins.as_ref().map(Standing::after).unwrap_or_default();
    let first = begins.map_or(delta.whole, |begins| begins.first_sequence);
    let (mut after, mut last_digest) = (first.checked_sub(1), None);
    while after.is_none_or(|after| after < checkpoint.sequence) {
        let page = store.checkpoints(&run, &namespace, after, PAGE)?;
        let Some(last) = page.last() else { break };
        after = Some(last.sequence);
        for record in page.iter().filter(|record| record.sequence <= checkpoint.sequence) {
            let sequence = record.sequence;
            let Record::Checkpoint(found) = open_record(record, key)? else {
                return Err(broken(&run, sequence, &ChainError::NotACheckpoint { sequence }));
            };
            if last_digest.is_some() && found.parent != last_digest {
                return Err(broken(&run, sequence, &ChainError::Parent { sequence }));
            }
            last_digest = Some(record.digest);
            standing.follow(&found);
        }
    }
    if checkpoint.state.is_some_and(|state| state != standing.tree().digest()) {
        let sequence = checkpoint.sequence;
        return Err(broken(&run, sequence, &ChainError::State { sequence }));
    }
    standing.complete(checkpoint);
    Ok(())
}

/// A verifier of the checkpoints of a namespace, and where they begin if the host has removed what was before.
pub fn verifier(
    store: &dyn CheckpointStore,
    run: &str,
    namespace: &str,
    key: VerifyingKey,
) -> Result<(ChainVerifier, Option<Pruning>)> {
    let Some(note) = store.pruning(run, namespace)? else { return Ok((ChainVerifier::new(key), None)) };
    let begins = SignedPruning::open(&note, &key, run, namespace)
        .map_err(|error| Error::integrity(error.to_string()))?;
    Ok((ChainVerifier::after(key, &begins), Some(begins)))
}

/// Goes through a run's checkpoints in order.
pub fn each_checkpoint(
    store: &dyn CheckpointStore,
    run: &str,
    visit: impl FnMut(&SignedRecord) -> Result<()>,
) -> Result<()> {
    each_checkpoint_in(store, run, "", visit)
}

/// Goes through the records under the newest checkpoint of a namespace, in the order of the store.
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

/// The status record under the newest checkpoint of a namespace, if there is one.
pub fn pending_status(
    store: &dyn CheckpointStore,
    run: &str,
    namespace: &str,
) -> Result<Option<SignedRecord>> {
    /// No call of a hook has an id after this.
    const LAST: &str = "\u{10ffff}";
    let found = store.pending_after(run, namespace, Some((RecordKind::Hook, LAST)), PAGE)?;
    Ok(found.into_iter().find(|record| record.kind == RecordKind::Status))
}

/// Goes through a run's history in order, from what comes after an entry.
pub fn each_of_history(
    store: &dyn CheckpointStore,
    run: &str,
    mut after: u64,
    mut visit: impl FnMut(Numbered) -> Result<()>,
) -> Result<()> {
    loop {
        let page = store.history(run, after, PAGE)?;
        let Some(last) = page.last() else { return Ok(()) };
        // A store that gives what was asked for rises; one that does not would be read for ever.
        let next = last.before.saturating_add(last.record.events);
        page.into_iter().try_for_each(&mut visit)?;
        if next <= after {
            return Ok(());
        }
        after = next;
    }
}

/// Goes through the checkpoints of a run, or of one of its child runs, in order.
pub fn each_checkpoint_in(
    store: &dyn CheckpointStore,
    run: &str,
    namespace: &str,
    mut visit: impl FnMut(&SignedRecord) -> Result<()>,
) -> Result<()> {
    let mut after = None;
    let mut size = PAGE;
    loop {
        let page = match store.checkpoints(run, namespace, after, size) {
            Ok(page) => page,
            // What is before the damage comes one by one.
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

fn wanted<'a>(channel: &'a str, stamp: &ChannelStamp) -> Wanted<'a> {
    Wanted { channel, base: stamp.base, version: stamp.version }
}

/// What JSON text may take up once it is read, in bytes: 1 GiB. It is counted as a run's state is.
const LARGEST_JSON: usize = 1 << 30;

/// Whether text of a stranger's can be read as JSON: a short text may stand for many values.
fn check_json(text: &str, what: impl std::fmt::Display) -> Result<()> {
    // Every value but the first one follows one of these; those within strings count as well.
    let values = text.bytes().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count().saturating_add(1);
    if values.saturating_mul(64).saturating_add(text.len()) <= LARGEST_JSON {
        return Ok(());
    }
    Err(Error::integrity(format!("{what} would take more than {} MiB to read", LARGEST_JSON >> 20)))
}

/// Reads a record: with a key it is checked, and without one, as that of another host, it can be shown alone.
pub fn open_record(record: &SignedRecord, key: Option<&VerifyingKey>) -> Result<Record> {
    let opened = if let Some(key) = key {
        record.open(key)
    } else {
        let kind = record.kind.as_str();
        check_json(
            &record.body,
            format_args!("the {kind} record {} of run {}", record.sequence, record.run),
        )?;
        record.decode()
    };
    opened.map_err(|error| Error::integrity(error.to_string()))
}

/// Adds channel values to the channels that are known so far: whole ones replace, segments are appended.
pub fn apply(channels: &mut Map<String, Value>, values: Vec<ChannelValue>) -> Result<()> {
    for value in values {
        let ChannelValue { channel, kind, json, .. } = value;
        check_json(&json, format_args!("the value of channel `{channel}`"))?;
        let parsed: Value = serde_json::from_str(&json)
            .map_err(|error| Error::integrity(format!("channel `{channel}` cannot be read: {error}")))?;
        match (kind, channels.get_mut(&channel), parsed) {
            (ValueKind::Segment, Some(Value::Array(list)), Value::Array(more)) => list.extend(more),
            (_, _, parsed) => {
                channels.insert(channel, parsed);
            }
        }
    }
    Ok(())
}

/// The state at a checkpoint. Where its maps hold changes alone, they are put together first.
pub fn state(store: &dyn CheckpointStore, run: &str, checkpoint: &Checkpoint) -> Result<Map<String, Value>> {
    let is_all = checkpoint.state.is_none_or(|state| Standing::of(checkpoint).tree().digest() == state);
    let mut whole = None;
    if !is_all {
        complete(store, whole.insert(checkpoint.clone()), None)?;
    }
    let checkpoint = whole.as_ref().unwrap_or(checkpoint);
    let wanted: Vec<_> = checkpoint.channels.iter().map(|(channel, stamp)| wanted(channel, stamp)).collect();
    let mut state = Map::new();
    apply(&mut state, store.values(run, &checkpoint.namespace, &wanted)?)?;
    Ok(state)
}

/// The newest checkpoint's record, if there is one.
pub fn newest(store: &dyn CheckpointStore, run: &str) -> Result<Option<SignedRecord>> {
    Ok(store.checkpoint(run, "", At::Latest)?)
}

/// Brings the row of a run that is running up to its newest checkpoint: the row changes with the status alone.
pub fn catch_up(store: &dyn CheckpointStore, row: &mut RunRow) -> Result<()> {
    if row.status != Status::Running {
        return Ok(());
    }
    let Some(newest) = store.checkpoint(&row.run_id, "", At::Latest)? else { return Ok(()) };
    row.step = newest.step;
    if let Ok(Record::Checkpoint(checkpoint)) = newest.decode() {
        (row.fuel, row.updated_at) = (checkpoint.fuel, checkpoint.at);
    }
    Ok(())
}

/// The digests of the texts that a run keeps: its inputs, what it is pinned to, and what that names in turn.
pub fn texts(store: &dyn CheckpointStore, row: &RunRow) -> Result<BTreeSet<Digest>> {
    /// What a checkpoint says of texts.
    #[derive(serde::Deserialize)]
    struct Named {
        inputs: Digest,
        pins: Digest,
    }
    let mut inputs = BTreeSet::from([row.inputs, Digest::from_bytes(*row.key.as_bytes())]);
    let mut pins = BTreeSet::from([row.pins]);
    for namespace in store.namespaces(&row.run_id)? {
        each_checkpoint_in(store, &row.run_id, &namespace, |record| {
            // What cannot be read names nothing.
            if let Ok(named) = serde_json::from_str::<Named>(&record.body) {
                inputs.insert(named.inputs);
                pins.insert(named.pins);
            }
            Ok(())
        })?;
    }
    let mut found = BTreeSet::new();
    for digest in &pins {
        let Some(text) = store.snapshot(digest)? else { continue };
        found.insert(*digest);
        // The text is this program's own; every digest in it may be that of a text.
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
