//! A store that can break after a number of records, as a process that is killed does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use graph_core::json::{self, TreeLimit};
use graph_core::record::{
    Checkpoint, HookRecord, HookSummary, RecordKind, SignedRecord, StatusRecord, TaskRecord, TaskUse,
};
use graph_store::{
    CheckpointPosition, CheckpointStore, CommitError, MemoryStore, ReadError, RunGuard, RunUpdate,
    StorageError, StoreInterceptor, SyncMode, Upkeep,
};
use tokio::sync::Notify;

/// Dispatches of tasks and hooks. The key is whether it is a hook, and the id of the task or call; the value is the
/// name of the node or hook, and the number of dispatches.
type Open = BTreeMap<(bool, String), (String, u32)>;

/// A store in memory that can be limited to a number of records.
#[derive(Debug, Default)]
pub(crate) struct CaseStore {
    inner: MemoryStore,
    /// Number of further records that it accepts; `u64::MAX` for any number.
    left: AtomicU64,
    /// Number of records that it has accepted.
    taken: AtomicU64,
    /// Number of bytes that it holds in memory.
    held: AtomicU64,
    /// Maximum number of bytes that it holds.
    most: u64,
    /// True if the maximum was exceeded.
    is_full: AtomicBool,
    /// Runs and namespaces of the stored records.
    places: Mutex<BTreeSet<(String, String)>>,
    broken: AtomicBool,
    breaking: Notify,
}

impl CaseStore {
    /// Creates a store that accepts any number of records, of at most `most` bytes together.
    pub(crate) fn new(most: u64) -> Self {
        Self { left: AtomicU64::new(u64::MAX), most, ..Self::default() }
    }

    /// Returns the maximum number of bytes, if it was exceeded.
    pub(crate) fn full(&self) -> Option<u64> {
        self.is_full.load(Ordering::SeqCst).then_some(self.most)
    }

    /// Counts bytes that are kept in memory, and reports whether there is room for them. If not, the store breaks,
    /// which ends the case.
    pub(crate) fn has_room_for(&self, bytes: u64) -> bool {
        let held = self.held.fetch_add(bytes, Ordering::SeqCst).saturating_add(bytes);
        if held <= self.most {
            return true;
        }
        self.is_full.store(true, Ordering::SeqCst);
        self.broken.store(true, Ordering::SeqCst);
        self.breaking.notify_one();
        false
    }

    /// Returns the operations for maintaining the store. A crash in a case does not affect these.
    pub(crate) fn upkeep(&self) -> &dyn Upkeep {
        &self.inner
    }

    /// Sets the number of records after which the store breaks.
    pub(crate) fn break_after(&self, records: Option<u64>) {
        self.left.store(records.unwrap_or(u64::MAX), Ordering::SeqCst);
        self.broken.store(self.full().is_some(), Ordering::SeqCst);
    }

    /// Returns the number of records that it has accepted since the case started.
    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Ordering::SeqCst)
    }

    /// Returns the number of recorded dispatches of each node and each hook, by the path of nodes to it. `path` returns
    /// the path of the node that has started the child run in a namespace.
    pub(crate) fn dispatches(
        &self,
        path: impl Fn(&str, &str) -> Result<String, String>,
    ) -> Result<BTreeMap<String, u64>, String> {
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut dispatches = BTreeMap::new();
        for (run, namespace) in &places {
            let above = if namespace.is_empty() { None } else { Some(path(run, namespace)?) };
            for (node, count) in self.dispatches_in(run, namespace)? {
                let path = above.as_ref().map_or_else(|| node.clone(), |above| format!("{above}/{node}"));
                *dispatches.entry(path).or_default() += count;
            }
        }
        Ok(dispatches)
    }

    /// Returns the number of recorded dispatches of each task of the unfinished supersteps.
    pub(crate) fn task_dispatches(&self, run: &str) -> Result<BTreeMap<String, u32>, String> {
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut dispatches = BTreeMap::new();
        for (_, namespace) in places.iter().filter(|(of, _)| of == run) {
            for ((is_hook, id), (_, count)) in self.open_in(run, namespace)? {
                if !is_hook {
                    dispatches.insert(id, count);
                }
            }
        }
        Ok(dispatches)
    }

    /// Reports whether a child run is history by the records of its run: the superstep of the child's task has ended,
    /// or the parent run is history itself.
    pub(crate) fn is_history(&self, run: &str, namespace: &str) -> Result<bool, String> {
        let Some((parent, superstep)) = place_of_child(namespace) else { return Ok(false) };
        let newest = self
            .inner
            .checkpoint(run, parent, CheckpointPosition::Latest)
            .map_err(|error| error.to_string())?;
        let is_over = newest.is_some_and(|newest| newest.step >= superstep);
        Ok(is_over || self.is_history(run, parent)?)
    }

    /// Returns the number of recorded dispatches in one namespace, by node or hook.
    fn dispatches_in(&self, run: &str, namespace: &str) -> Result<BTreeMap<String, u64>, String> {
        let told = |error: ReadError| error.to_string();
        let mut dispatches = BTreeMap::new();
        let mut counted = BTreeMap::new();
        let mut after = None;
        loop {
            let page = self.inner.checkpoints(run, namespace, after, 256).map_err(told)?;
            let Some(last) = page.last() else { break };
            after = Some(last.sequence);
            for record in &page {
                let Checkpoint { executions, hooked, .. } = read(record)?;
                for hook in hooked {
                    *dispatches.entry(hook_name(&hook.hook)).or_default() += u64::from(hook.dispatches);
                }
                // A checkpoint has only the counts that it changes, each counted from the start of the run.
                counted.extend(executions);
            }
        }
        for (node, count) in counted {
            *dispatches.entry(node).or_default() += count;
        }
        for (name, count) in self.open_in(run, namespace)?.into_values() {
            *dispatches.entry(name).or_default() += u64::from(count);
        }
        Ok(dispatches)
    }

    /// Returns the dispatches in the records that follow the newest checkpoint of a namespace.
    fn open_in(&self, run: &str, namespace: &str) -> Result<Open, String> {
        // The same task or call may be in several records; the highest count is the newest.
        let mut open = Open::new();
        let mut used = |is_hook: bool, id: String, name: String, count: u32| {
            let known = open.entry((is_hook, id)).or_insert((name, 0));
            known.1 = known.1.max(count);
        };
        for record in self.inner.pending(run, namespace).map_err(|error| error.to_string())? {
            match record.kind {
                RecordKind::Task => {
                    let TaskRecord { task, node, dispatches, .. } = read(&record)?;
                    used(false, task, node, dispatches);
                }
                RecordKind::Hook => {
                    let HookRecord { call, hook, dispatches, .. } = read(&record)?;
                    used(true, call, hook_name(&hook), dispatches);
                }
                RecordKind::Status => {
                    let StatusRecord { tasks, hooked, .. } = read(&record)?;
                    for (task, TaskUse { node, dispatches, .. }) in tasks {
                        used(false, task, node, dispatches);
                    }
                    for HookSummary { call, hook, dispatches, .. } in hooked {
                        used(true, call, hook_name(&hook), dispatches);
                    }
                }
                RecordKind::Checkpoint | RecordKind::Answers => {}
            }
        }
        Ok(open)
    }

    /// Reports whether the store is broken.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::SeqCst)
    }

    /// Waits until the store is broken.
    pub(crate) async fn broken(&self) {
        while !self.is_broken() {
            self.breaking.notified().await;
        }
    }
}

/// Returns the task that has started the child run in a namespace. If a superstep with the same number was executed
/// again, the namespace also has an `@` and the number of the checkpoint that the superstep followed.
pub(crate) fn task_of_child(namespace: &str) -> &str {
    let own = namespace.rfind('/').map_or(0, |at| at + 1);
    namespace[own..].find('@').map_or(namespace, |at| &namespace[..own + at])
}

/// Returns the namespace of the parent of a child run, and the number of the superstep there that has the child's task.
fn place_of_child(namespace: &str) -> Option<(&str, u64)> {
    let (parent, own) = namespace.rsplit_once('/').unwrap_or(("", namespace));
    let (superstep, _) = own.split_once('.')?;
    Some((parent, superstep.parse().ok()?))
}

/// Estimates the memory of a record, in bytes.
fn bytes_of(record: &SignedRecord) -> u64 {
    /// Bytes of each part, in addition to its texts.
    const PART: usize = 256;
    let values = record.values.iter().map(|value| value.channel.len() + value.json.len() + PART);
    let results =
        record.results.iter().map(|entry| entry.body.len() + entry.run.len() + entry.namespace.len() + PART);
    let own = record.body.len() + record.run.len() + record.namespace.len() + record.task.len() + PART;
    values.chain(results).fold(own, usize::saturating_add) as u64
}

/// Returns the name under which the dispatches of a hook are counted, next to those of nodes.
fn hook_name(hook: &str) -> String {
    format!("hook:{hook}")
}

fn read<T: serde::de::DeserializeOwned>(record: &SignedRecord) -> Result<T, String> {
    json::read(&*record.body, TreeLimit::RECORD)
        .map_err(|error| format!("a {} record cannot be read: {error}", record.kind.as_str()))
}

impl StoreInterceptor for CaseStore {
    fn behind(&self) -> &dyn CheckpointStore {
        &self.inner
    }

    fn commit(
        &self,
        guard: &RunGuard,
        batch: &[SignedRecord],
        update: &RunUpdate,
        synchronous: SyncMode,
    ) -> Result<(), CommitError> {
        let left = self.left.load(Ordering::SeqCst);
        let taken = usize::try_from(left).unwrap_or(usize::MAX).min(batch.len());
        if self.is_broken() || (taken == 0 && !batch.is_empty()) {
            let reason = "the case has broken off here".to_owned();
            return Err(StorageError::Io { location: "the store of the case".to_owned(), reason }.into());
        }
        if !self.has_room_for(batch[..taken].iter().map(bytes_of).fold(0, u64::saturating_add)) {
            let reason = format!("a case stores at most {} bytes", self.most);
            return Err(StorageError::Io { location: "the store of the case".to_owned(), reason }.into());
        }
        self.inner.commit(guard, &batch[..taken], update, synchronous)?;
        self.taken.fetch_add(taken as u64, Ordering::SeqCst);
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        for record in &batch[..taken] {
            places.insert((record.run.clone(), record.namespace.clone()));
        }
        drop(places);
        if left != u64::MAX {
            let left = left - taken as u64;
            self.left.store(left, Ordering::SeqCst);
            if left == 0 {
                self.broken.store(true, Ordering::SeqCst);
                self.breaking.notify_one();
            }
        }
        Ok(())
    }
}
