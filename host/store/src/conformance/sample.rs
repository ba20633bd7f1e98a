//! Runs and records for tests. Their content is made up, because a store does not interpret it.

use std::sync::Arc;

use graph_core::digest::Digest;
use graph_core::limits::ModelUse;
use graph_core::policy::Durability;
use graph_core::record::{ChannelValue, RecordKind, SignedRecord, Status, ValueKind};
use graph_core::time::Timestamp;
use graph_core::trust::{KeyId, Signature, SigningKey};

use super::Subject;
use crate::run::{NewRun, RunRow, RunUpdate, Snapshot};
use crate::store::{CheckpointStore, Fence, Owner, RunGuard, SyncMode};

/// Creates a new, empty place.
pub type SubjectFactory<'a> = &'a dyn Fn() -> Box<dyn Subject>;

/// Returns the digest of a text.
pub fn digest(text: &str) -> Digest {
    Digest::of_bytes(text.as_bytes())
}

/// Returns the id of the key with which all records claim to be signed.
pub fn key_id() -> KeyId {
    SigningKey::from_seed(&[7; 32]).id()
}

/// Returns a run with this id and without optional fields.
pub fn run(id: &str) -> NewRun {
    let row = RunRow {
        run_id: id.to_owned(),
        graph_id: "examples/loop".to_owned(),
        graph_path: None,
        parent_id: None,
        root_id: id.to_owned(),
        continuation_of: None,
        continuation_id: None,
        chain_root_id: None,
        status: Status::Running,
        pid: None,
        step: 0,
        fuel: 0,
        model_use: ModelUse::NOTHING,
        model: None,
        result: None,
        error: None,
        graph: digest("graph"),
        inputs: digest("inputs"),
        manifest: digest("manifest"),
        pins: digest("pins"),
        seed: digest("seed"),
        key: key_id(),
        durability: Durability::Async,
        max_steps: None,
        created_at: Timestamp(1_000),
        updated_at: Timestamp(1_000),
    };
    NewRun { row, snapshots: Vec::new() }
}

/// Returns a run with a value in every optional field.
pub fn full_run(id: &str) -> NewRun {
    let mut run = run(id);
    run.row = RunRow {
        graph_path: Some("graphs/ä b/graph.yaml".to_owned()),
        parent_id: Some("parent".to_owned()),
        root_id: "root".to_owned(),
        continuation_of: Some("before".to_owned()),
        continuation_id: Some("after".to_owned()),
        chain_root_id: Some("first".to_owned()),
        status: Status::CompletedWithErrors,
        pid: Some(u32::MAX),
        step: 17,
        fuel: i64::MAX as u64,
        model_use: ModelUse { calls: 3, input: 1_200, output: 0, cost: i64::MAX as u64 },
        model: Some("fast".to_owned()),
        result: Some(r#"{"a":[1,"\u0000",9223372036854775807]}"#.into()),
        error: Some("null".into()),
        durability: Durability::Exit,
        max_steps: Some(0),
        updated_at: Timestamp(2_000),
        ..run.row
    };
    run.snapshots = vec![snapshot("graph", "config: {}\n"), snapshot("manifest", "")];
    run
}

/// Returns a snapshot whose digest is that of a name.
pub fn snapshot(name: &str, text: &str) -> Snapshot {
    Snapshot { digest: digest(name), text: text.into() }
}

fn record(kind: RecordKind, run: &str, sequence: u64, task: &str, body: String) -> SignedRecord {
    let digest = Digest::of_bytes(body.as_bytes());
    SignedRecord {
        kind,
        run: run.to_owned(),
        namespace: String::new(),
        sequence,
        step: sequence,
        task: task.to_owned(),
        body: body.into(),
        digest,
        key_id: key_id(),
        signature: Signature::from_bytes([u8::try_from(sequence % 251).unwrap(); 64]).into(),
        events: match kind {
            RecordKind::Checkpoint => sequence % 4 + 1,
            RecordKind::Status => 2,
            RecordKind::Task | RecordKind::Answers | RecordKind::Hook => 0,
        },
        values: Vec::new(),
        results: Vec::new(),
    }
}

/// Returns a checkpoint in the root namespace. Its number of supersteps is its sequence number.
pub fn checkpoint(run: &str, sequence: u64, values: Vec<ChannelValue>) -> SignedRecord {
    let body = format!(r#"{{"run":"{run}","sequence":{sequence}}}"#);
    SignedRecord { values, ..record(RecordKind::Checkpoint, run, sequence, "", body) }
}

/// Returns a task record under a checkpoint.
pub fn task(run: &str, sequence: u64, task: &str, says: &str) -> SignedRecord {
    record(RecordKind::Task, run, sequence, task, format!(r#"{{"task":"{task}","says":"{says}"}}"#))
}

/// Returns an answers record under a checkpoint.
pub fn answers(run: &str, sequence: u64, task: &str, says: &str) -> SignedRecord {
    record(RecordKind::Answers, run, sequence, task, format!(r#"{{"answers":["{says}"]}}"#))
}

/// Returns a hook record under a checkpoint.
pub fn hook(run: &str, sequence: u64, call: &str, says: &str) -> SignedRecord {
    record(RecordKind::Hook, run, sequence, call, format!(r#"{{"call":"{call}","says":"{says}"}}"#))
}

/// Returns a status record under a checkpoint.
pub fn status(run: &str, sequence: u64, says: &str) -> SignedRecord {
    record(RecordKind::Status, run, sequence, "", format!(r#"{{"status":"{says}"}}"#))
}

/// Moves a record into another namespace.
pub fn within(namespace: &str, record: SignedRecord) -> SignedRecord {
    SignedRecord { namespace: namespace.to_owned(), ..record }
}

/// Returns the whole value of a channel.
pub fn whole(channel: &str, version: u64, json: &str) -> ChannelValue {
    ChannelValue { channel: channel.to_owned(), version, kind: ValueKind::Whole, json: Arc::from(json) }
}

/// Returns a segment, which is the addition to a channel's value at a version.
pub fn segment(channel: &str, version: u64, json: &str) -> ChannelValue {
    ChannelValue { kind: ValueKind::Segment, ..whole(channel, version, json) }
}

/// Returns a small change of the run's row at a time.
pub fn update(at: u64) -> RunUpdate {
    RunUpdate { at: Timestamp(at), fuel: Some(at), ..RunUpdate::default() }
}

/// Returns an owner with a process id.
pub fn owner(pid: u32) -> Owner {
    Owner { pid, host: "here".to_owned(), since: Timestamp(u64::from(pid)) }
}

/// Acquires a run that no process holds.
pub fn acquire_run(store: &dyn CheckpointStore, run: &str) -> RunGuard {
    store.acquire(run, &owner(99)).unwrap()
}

/// Returns a guard with a given fence that holds no lock, like that of a former holder that has not noticed its loss
/// yet.
pub fn late(run: &str, fence: Fence) -> RunGuard {
    RunGuard::new(run, fence, None, ())
}

/// Commits a batch, which must be accepted, under a guard.
pub fn write(store: &dyn CheckpointStore, guard: &RunGuard, batch: &[SignedRecord]) {
    store.commit(guard, batch, &update(3_000), SyncMode::Normal).unwrap();
}

/// Acquires a run that no process holds, commits a batch that must be accepted, and releases the run.
pub fn commit(store: &dyn CheckpointStore, run: &str, batch: &[SignedRecord]) {
    write(store, &acquire_run(store, run), batch);
}

/// Returns a store with the run `r`.
pub fn with_run(subject: &dyn Subject) -> Box<dyn CheckpointStore> {
    let store = subject.open();
    store.create_run(&run("r")).unwrap();
    store
}

/// Returns everything that a store has about a run, for comparison.
pub fn everything(
    store: &dyn CheckpointStore,
    run: &str,
    namespaces: &[&str],
) -> impl PartialEq + std::fmt::Debug {
    let row = store.run(run).unwrap();
    let records: Vec<_> = namespaces
        .iter()
        .map(|namespace| {
            (store.checkpoints(run, namespace, None, 10_000).unwrap(), store.pending(run, namespace).unwrap())
        })
        .collect();
    (row, records, store.history(run, 0, 10_000).unwrap(), store.history_length(run).unwrap())
}
