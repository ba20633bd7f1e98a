//! A store that can break off, as a process that is killed does.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use graph_core::json::{self, TreeLimit};
use graph_core::record::{
    Checkpoint, HookRecord, HookSummary, RecordKind, SignedRecord, StatusRecord, TaskRecord, TaskUse,
};
use graph_store::{
    At, CheckpointStore, CommitError, Front, MemoryStore, ReadError, RunGuard, RunUpdate, StorageError,
    Synchronous, Upkeep,
};
use tokio::sync::Notify;

/// How often tasks and hooks were dispatched: by whether it is a hook and the task's or the call's id, what it is called
/// and how often.
type Open = BTreeMap<(bool, String), (String, u32)>;

/// A store in memory that can be set to take at most that many records.
#[derive(Debug, Default)]
pub(crate) struct CaseStore {
    inner: MemoryStore,
    /// How many more records it takes; `u64::MAX` for any number.
    left: AtomicU64,
    /// How many it has taken.
    taken: AtomicU64,
    /// The bytes that it has taken: all of them are in memory.
    held: AtomicU64,
    /// How many bytes it takes.
    most: u64,
    /// It was to take more than that.
    is_full: AtomicBool,
    /// The runs and namespaces that it has records of.
    places: Mutex<BTreeSet<(String, String)>>,
    broken: AtomicBool,
    breaking: Notify,
}

impl CaseStore {
    /// A store that takes any number of records, of at most `most` bytes in all.
    pub(crate) fn new(most: u64) -> Self {
        Self { left: AtomicU64::new(u64::MAX), most, ..Self::default() }
    }

    /// The most that it takes, once it was to take more.
    pub(crate) fn full(&self) -> Option<u64> {
        self.is_full.load(Ordering::SeqCst).then_some(self.most)
    }

    /// Counts what is kept in memory from now on. Whether there is room for it: otherwise, the case ends here.
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

    /// For keeping order in it, which no crash of a case cuts short.
    pub(crate) fn upkeep(&self) -> &dyn Upkeep {
        &self.inner
    }

    /// From now on takes that many records and breaks off after the last of them.
    pub(crate) fn break_after(&self, records: Option<u64>) {
        self.left.store(records.unwrap_or(u64::MAX), Ordering::SeqCst);
        self.broken.store(self.full().is_some(), Ordering::SeqCst);
    }

    /// How many records it has taken since the case began.
    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Ordering::SeqCst)
    }

    /// How many dispatches of each node and of each hook its records know of, by the path of nodes to it. `path` gives
    /// that of the node whose child run has a namespace.
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

    /// How many dispatches of each task of the supersteps under way its records know of.
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

    /// Whether the records of a run say that a child run of it is history: they have the end of the superstep that the
    /// child was a task of, or the run around it is history itself.
    pub(crate) fn is_history(&self, run: &str, namespace: &str) -> Result<bool, String> {
        let Some((parent, superstep)) = place_of_child(namespace) else { return Ok(false) };
        let newest = self.inner.checkpoint(run, parent, At::Latest).map_err(|error| error.to_string())?;
        let is_over = newest.is_some_and(|newest| newest.step >= superstep);
        Ok(is_over || self.is_history(run, parent)?)
    }

    /// How many dispatches the records of one namespace know of, by node or hook.
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
                // Each holds what it has changed, counted from the beginning of the run.
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

    /// What the records under the newest checkpoint of a namespace know of: whether it is a hook, and its task's or its
    /// call's id; what it is called, and how many dispatches there were.
    fn open_in(&self, run: &str, namespace: &str) -> Result<Open, String> {
        // The same task or call may be in several records: the one that knows of most is the newest.
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

    /// Whether it has broken off.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::SeqCst)
    }

    /// Waits until it breaks off.
    pub(crate) async fn broken(&self) {
        while !self.is_broken() {
            self.breaking.notified().await;
        }
    }
}

/// The task whose child run has a namespace. Where the same superstep is taken again, the child's name has the boundary
/// behind that of its task.
pub(crate) fn task_of_child(namespace: &str) -> &str {
    let own = namespace.rfind('/').map_or(0, |at| at + 1);
    namespace[own..].find('@').map_or(namespace, |at| &namespace[..own + at])
}

/// The namespace around that of a child run, and the number of the superstep there that it is a task of.
fn place_of_child(namespace: &str) -> Option<(&str, u64)> {
    let (parent, own) = namespace.rsplit_once('/').unwrap_or(("", namespace));
    let (superstep, _) = own.split_once('.')?;
    Some((parent, superstep.parse().ok()?))
}

/// What a record takes in memory, about.
fn bytes_of(record: &SignedRecord) -> u64 {
    /// Of each part, in addition to its texts.
    const PART: usize = 256;
    let values = record.values.iter().map(|value| value.channel.len() + value.json.len() + PART);
    let results =
        record.results.iter().map(|entry| entry.body.len() + entry.run.len() + entry.namespace.len() + PART);
    let own = record.body.len() + record.run.len() + record.namespace.len() + record.task.len() + PART;
    values.chain(results).fold(own, usize::saturating_add) as u64
}

/// The name of a hook, next to those of nodes.
fn hook_name(hook: &str) -> String {
    format!("hook:{hook}")
}

fn read<T: serde::de::DeserializeOwned>(record: &SignedRecord) -> Result<T, String> {
    json::read(&*record.body, TreeLimit::RECORD)
        .map_err(|error| format!("a {} record cannot be read: {error}", record.kind.as_str()))
}

impl Front for CaseStore {
    fn behind(&self) -> &dyn CheckpointStore {
        &self.inner
    }

    fn commit(
        &self,
        guard: &RunGuard,
        batch: &[SignedRecord],
        update: &RunUpdate,
        synchronous: Synchronous,
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
