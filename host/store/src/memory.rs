//! A store in memory: for tests, and for runs that need not be kept.

use std::collections::{BTreeMap, HashMap};
use std::ops::{Bound, RangeInclusive};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use graph_core::digest::Digest;
use graph_core::record::{ChannelValue, RecordKind, SignedCacheEntry, SignedRecord, ValueKind};
use graph_core::time::Timestamp;

use crate::bounds::Page;
use crate::error::{
    AcquireError, CommitError, CreateRunError, ImportError, Loss, ReadError, RemoveError, ResolveError,
    SnapshotError, StorageError,
};
use crate::plan;
use crate::resolve::{self, Names};
use crate::run::{NewRun, RunFilter, RunRow, RunUpdate};
use crate::store::{
    CheckpointPosition, CheckpointStore, Fence, Holder, NumberedRecord, Owner, RunGuard, RunList, SyncMode,
    Upkeep, WantedChannel,
};
use crate::upkeep::{Cut, ReclaimedData, SnapshotEpoch};

/// A store whose runs exist as long as it does. Clones share their runs.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    runs: BTreeMap<String, Run>,
    snapshots: BTreeMap<Digest, Arc<str>>,
    /// The cached results, by key, then by run and namespace.
    results: BTreeMap<Digest, BTreeMap<(String, String), SignedCacheEntry>>,
    created: u64,
    /// The epoch that any run was given last.
    epochs: u64,
    /// Number of changes.
    changes: u64,
}

#[derive(Debug)]
struct Run {
    row: RunRow,
    /// The number of the run in the order of creation.
    order: u64,
    owner: Option<Owner>,
    /// The newest epoch, if the run was acquired.
    epoch: Option<u64>,
    /// The digest of the last record of the last commit.
    head: Option<Digest>,
    namespaces: HashMap<String, Namespace>,
    /// The records of the history, in order, each with the number of entries before its own.
    history: Vec<(u64, HistoryRecord)>,
    /// Number of entries of the history.
    entries: u64,
}

/// A record of the history.
#[derive(Debug)]
enum HistoryRecord {
    /// A checkpoint, by its namespace and its index there.
    Checkpoint(String, usize),
    /// A status record.
    Status(Box<SignedRecord>),
}

#[derive(Debug, Default)]
struct Namespace {
    /// The checkpoints with their values, in order of their sequence numbers.
    checkpoints: Vec<SignedRecord>,
    /// The positions of each channel's values, the oldest first: the index of the checkpoint, and that of the value in
    /// it.
    channels: HashMap<String, Vec<(usize, usize)>>,
    pending: BTreeMap<(RecordKind, String), SignedRecord>,
    /// The note about checkpoints that were removed.
    pruning: Option<String>,
}

impl Namespace {
    fn is_empty(&self) -> bool {
        self.checkpoints.is_empty() && self.pending.is_empty()
    }

    fn freed(&self) -> ReclaimedData {
        let records = self.checkpoints.iter().chain(self.pending.values());
        let mut freed = ReclaimedData::default();
        records.for_each(|record| freed += freed_by(record));
        freed
    }

    fn push(&mut self, checkpoint: &SignedRecord) {
        let place = self.checkpoints.len();
        let mut kept = SignedRecord { results: Vec::new(), ..checkpoint.clone() };
        kept.values
            .sort_unstable_by(|one, other| (&one.channel, one.version).cmp(&(&other.channel, other.version)));
        for (index, value) in kept.values.iter().enumerate() {
            match self.channels.get_mut(&value.channel) {
                Some(places) => places.push((place, index)),
                None => {
                    self.channels.insert(value.channel.clone(), vec![(place, index)]);
                }
            }
        }
        self.checkpoints.push(kept);
    }

    /// Adds the values of a channel from `base` to `version` to `found`.
    fn values(
        &self,
        run: &str,
        wanted: &WantedChannel<'_>,
        found: &mut Vec<ChannelValue>,
    ) -> Result<(), ReadError> {
        let value = |&(place, index): &(usize, usize)| &self.checkpoints[place].values[index];
        let places = self.channels.get(wanted.channel).map_or(&[][..], Vec::as_slice);
        let start = places.partition_point(|place| value(place).version < wanted.base);
        let end = places.partition_point(|place| value(place).version <= wanted.version);
        let span = places.get(start..end).unwrap_or_default();
        let missing = |version| {
            Err(ReadError::MissingValue { run: run.to_owned(), channel: wanted.channel.to_owned(), version })
        };
        for (index, place) in span.iter().enumerate() {
            let value = value(place);
            let fits = if index == 0 {
                value.kind == ValueKind::Whole && value.version == wanted.base
            } else {
                value.kind == ValueKind::Segment
            };
            if !fits {
                return missing(wanted.base);
            }
            found.push(value.clone());
        }
        match span.last().map(value) {
            None => missing(wanted.base),
            Some(last) if last.version != wanted.version => missing(wanted.version),
            Some(_) => Ok(()),
        }
    }
}

fn length(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

fn freed_by(record: &SignedRecord) -> ReclaimedData {
    let values: u64 = record.values.iter().map(|value| length(&value.json)).sum();
    ReclaimedData { records: 1, bytes: length(&record.body).saturating_add(values) }
}

impl State {
    fn namespace(&self, run: &str, namespace: &str) -> Option<&Namespace> {
        self.runs.get(run)?.namespaces.get(namespace)
    }

    /// Returns the checkpoints of a namespace with higher sequence numbers than `after`, or all of them.
    fn checkpoints_after(&self, run: &str, namespace: &str, after: Option<u64>) -> &[SignedRecord] {
        let checkpoints = self.namespace(run, namespace).map_or(&[][..], |namespace| &namespace.checkpoints);
        let start =
            checkpoints.partition_point(|checkpoint| after.is_some_and(|after| checkpoint.sequence <= after));
        checkpoints.get(start..).unwrap_or_default()
    }

    fn fits(&self, digest: &Digest, text: &str) -> Result<(), SnapshotError> {
        match self.snapshots.get(digest) {
            Some(kept) if **kept != *text => Err(SnapshotError::Differs { digest: *digest }),
            _ => Ok(()),
        }
    }
}

impl State {
    /// Checks that a run can be added.
    fn check_new(&self, run: &NewRun) -> Result<(), CreateRunError> {
        if self.runs.contains_key(&run.row.run_id) {
            return Err(CreateRunError::Exists { run: run.row.run_id.clone() });
        }
        for (index, snapshot) in run.snapshots.iter().enumerate() {
            self.fits(&snapshot.digest, &snapshot.text)?;
            let same = |other: &&crate::run::Snapshot| {
                other.digest == snapshot.digest && other.text != snapshot.text
            };
            if run.snapshots[..index].iter().any(|other| same(&other)) {
                return Err(SnapshotError::Differs { digest: snapshot.digest }.into());
            }
        }
        Ok(())
    }

    /// Adds a run that was checked.
    fn create(&mut self, run: &NewRun) {
        for snapshot in &run.snapshots {
            self.snapshots.insert(snapshot.digest, Arc::clone(&snapshot.text));
        }
        let order = self.created;
        self.created += 1;
        self.changes += 1;
        let kept = Run {
            row: run.row.clone(),
            order,
            owner: None,
            epoch: None,
            head: None,
            namespaces: HashMap::new(),
            history: Vec::new(),
            entries: 0,
        };
        self.runs.insert(run.row.run_id.clone(), kept);
    }
}

impl Run {
    fn fence(&self) -> Option<Fence> {
        self.epoch.map(|epoch| Fence { epoch, head: self.head })
    }

    fn write(&mut self, plans: Vec<plan::NamespacePlan<'_>>, more: u64) {
        let (entries, known) = (self.entries, self.history.len());
        for plan in plans {
            let namespace = match self.namespaces.get_mut(plan.namespace) {
                Some(namespace) => namespace,
                None => self.namespaces.entry(plan.namespace.to_owned()).or_default(),
            };
            if plan.voids() {
                namespace.pending.clear();
            }
            for (before, checkpoint) in plan.checkpoints {
                let told = HistoryRecord::Checkpoint(plan.namespace.to_owned(), namespace.checkpoints.len());
                self.history.push((entries.saturating_add(before), told));
                namespace.push(checkpoint);
            }
            for (before, status) in plan.history {
                let told = HistoryRecord::Status(Box::new(status.clone()));
                self.history.push((entries.saturating_add(before), told));
            }
            for ((kind, task), record) in plan.pending {
                namespace.pending.insert((kind, task.to_owned()), record.clone());
            }
        }
        self.entries = entries.saturating_add(more);
        self.history[known..].sort_by_key(|(before, _)| *before);
    }

    /// Removes the first `count` checkpoints of a namespace from the history.
    fn forget(&mut self, gone: &str, count: usize) {
        self.history.retain_mut(|(_, told)| match told {
            HistoryRecord::Checkpoint(namespace, place) if namespace == gone => {
                match place.checked_sub(count) {
                    Some(now) => {
                        *place = now;
                        true
                    }
                    None => false,
                }
            }
            HistoryRecord::Checkpoint(..) | HistoryRecord::Status(_) => true,
        });
    }
}

impl Names for MutexGuard<'_, State> {
    fn last(&mut self) -> Result<Option<String>, StorageError> {
        let roots = self.runs.values().filter(|run| run.row.parent_id.is_none());
        Ok(roots.max_by_key(|run| run.order).map(|run| run.row.run_id.clone()))
    }

    fn beginning(&mut self, prefix: &str, limit: usize) -> Result<Vec<String>, StorageError> {
        let ids = self.runs.range(prefix.to_owned()..).map(|(id, _)| id);
        Ok(ids.take_while(|id| id.starts_with(prefix)).take(limit).cloned().collect())
    }
}

impl MemoryStore {
    /// Creates a store without runs, which exists only in this process.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change is checked before it is made, so that a panic cannot leave an incomplete one behind.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns a checkpoint without its values.
fn alone(found: &SignedRecord) -> SignedRecord {
    SignedRecord {
        kind: found.kind,
        run: found.run.clone(),
        namespace: found.namespace.clone(),
        sequence: found.sequence,
        step: found.step,
        task: String::new(),
        body: Arc::clone(&found.body),
        digest: found.digest,
        key_id: found.key_id,
        signature: found.signature.clone(),
        events: found.events,
        values: Vec::new(),
        results: Vec::new(),
    }
}

impl CheckpointStore for MemoryStore {
    fn create_run(&self, run: &NewRun) -> Result<(), CreateRunError> {
        plan::check_run(run)?;
        let mut state = self.lock();
        state.check_new(run)?;
        state.create(run);
        Ok(())
    }

    fn commit(
        &self,
        guard: &RunGuard,
        batch: &[SignedRecord],
        update: &RunUpdate,
        _: SyncMode,
    ) -> Result<(), CommitError> {
        let run = guard.run();
        let mut state = self.lock();
        state.changes += 1;
        let Some(kept) = state.runs.get_mut(run) else {
            return Err(plan::lost(guard, Loss::Removed));
        };
        plan::check_fence(guard, kept.fence()).map_err(|loss| plan::lost(guard, loss))?;
        plan::check_update(run, update)?;
        let plans = plan::plan(run, batch, |namespace| {
            let newest = kept.namespaces.get(namespace).and_then(|namespace| namespace.checkpoints.last());
            Ok(newest.map(|newest| newest.sequence))
        })?;
        kept.write(plans, plan::entries(batch));
        update.apply(&mut kept.row);
        guard.advance(batch);
        kept.head = guard.fence().head;
        for entry in batch.iter().flat_map(|record| &record.results) {
            let under = state.results.entry(entry.key).or_default();
            under.insert((entry.run.clone(), entry.namespace.clone()), entry.clone());
        }
        Ok(())
    }

    fn namespaces(&self, run: &str) -> Result<Vec<String>, ReadError> {
        let state = self.lock();
        let Some(kept) = state.runs.get(run) else { return Ok(Vec::new()) };
        let written = kept.namespaces.iter().filter(|(_, namespace)| !namespace.is_empty());
        let mut names: Vec<String> = written.map(|(name, _)| name.clone()).collect();
        names.sort_unstable();
        Ok(names)
    }

    fn pruning(&self, run: &str, namespace: &str) -> Result<Option<String>, ReadError> {
        let state = self.lock();
        Ok(state.namespace(run, namespace).and_then(|namespace| namespace.pruning.clone()))
    }

    fn run(&self, run: &str) -> Result<Option<RunRow>, ReadError> {
        Ok(self.lock().runs.get(run).map(|run| run.row.clone()))
    }

    fn listed_run(&self, run: &str) -> Result<Option<RunRow>, ReadError> {
        Ok(self.lock().runs.get(run).map(|run| run.row.listed()))
    }

    fn list(&self, filter: &RunFilter) -> Result<RunList, ReadError> {
        let state = self.lock();
        let mut found: Vec<&Run> = state.runs.values().filter(|run| filter.matches(&run.row)).collect();
        found.sort_by_key(|run| std::cmp::Reverse(run.order));
        let limit = filter.limit.unwrap_or(usize::MAX);
        let before = match &filter.before {
            None => u64::MAX,
            Some(run) => state.runs.get(run).map_or(0, |run| run.order),
        };
        let found = found.into_iter().filter(|run| run.order < before);
        Ok(RunList { rows: found.take(limit).map(|run| run.row.listed()).collect(), refused: Vec::new() })
    }

    fn resolve(&self, name: &str) -> Result<String, ResolveError> {
        resolve::resolve(name, &mut self.lock())
    }

    fn checkpoint(
        &self,
        run: &str,
        namespace: &str,
        at: CheckpointPosition,
    ) -> Result<Option<SignedRecord>, ReadError> {
        let state = self.lock();
        let checkpoints = state.namespace(run, namespace).map_or(&[][..], |namespace| &namespace.checkpoints);
        let found = match at {
            CheckpointPosition::Latest => checkpoints.last(),
            CheckpointPosition::Sequence(sequence) => {
                let place = checkpoints.binary_search_by_key(&sequence, |checkpoint| checkpoint.sequence);
                place.ok().and_then(|place| checkpoints.get(place))
            }
            CheckpointPosition::Step(step) => {
                checkpoints.iter().rev().find(|checkpoint| checkpoint.step == step)
            }
            CheckpointPosition::StepWithin { step, first, last } => checkpoints
                .iter()
                .rev()
                .find(|checkpoint| checkpoint.step == step && (first..=last).contains(&checkpoint.sequence)),
        };
        Ok(found.map(alone))
    }

    fn checkpoints(
        &self,
        run: &str,
        namespace: &str,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<SignedRecord>, ReadError> {
        let state = self.lock();
        let mut page = Page::new(limit);
        Ok(state
            .checkpoints_after(run, namespace, after)
            .iter()
            .take_while(|record| page.takes(record))
            .cloned()
            .collect())
    }

    fn checkpoints_alone(
        &self,
        run: &str,
        namespace: &str,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<SignedRecord>, ReadError> {
        let state = self.lock();
        let mut page = Page::new(limit);
        Ok(state
            .checkpoints_after(run, namespace, after)
            .iter()
            .map(alone)
            .take_while(|record| page.takes(record))
            .collect())
    }

    fn checkpoints_before(
        &self,
        run: &str,
        namespace: &str,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<SignedRecord>, ReadError> {
        let state = self.lock();
        let checkpoints = state.namespace(run, namespace).map_or(&[][..], |namespace| &namespace.checkpoints);
        let end = checkpoints
            .partition_point(|checkpoint| before.is_none_or(|before| checkpoint.sequence < before));
        let mut page = Page::new(limit);
        Ok(checkpoints[..end].iter().rev().map(alone).take_while(|record| page.takes(record)).collect())
    }

    fn pending_after(
        &self,
        run: &str,
        namespace: &str,
        after: Option<(RecordKind, &str)>,
        limit: usize,
    ) -> Result<Vec<SignedRecord>, ReadError> {
        let state = self.lock();
        let Some(namespace) = state.namespace(run, namespace) else { return Ok(Vec::new()) };
        let start = match after {
            None => Bound::Unbounded,
            Some((kind, task)) => Bound::Excluded((kind, task.to_owned())),
        };
        let mut page = Page::new(limit);
        let rest = namespace.pending.range((start, Bound::Unbounded)).map(|(_, record)| record);
        Ok(rest.take_while(|record| page.takes(record)).cloned().collect())
    }

    fn history(&self, run: &str, after: u64, limit: usize) -> Result<Vec<NumberedRecord>, ReadError> {
        let state = self.lock();
        let Some(kept) = state.runs.get(run) else { return Ok(Vec::new()) };
        // The entries of a record end where those of the next one begin.
        let begun = kept.history.partition_point(|(before, _)| *before <= after);
        let rest = kept.history[begun.saturating_sub(1)..].iter().filter_map(|(before, told)| {
            let record = match told {
                HistoryRecord::Status(status) => status,
                HistoryRecord::Checkpoint(namespace, place) => {
                    kept.namespaces.get(namespace)?.checkpoints.get(*place)?
                }
            };
            (before.saturating_add(record.events) > after).then_some((*before, record))
        });
        let mut page = Page::new(limit);
        let page = rest.take_while(|(_, record)| page.takes(record));
        Ok(page.map(|(before, record)| NumberedRecord { before, record: record.clone() }).collect())
    }

    fn history_length(&self, run: &str) -> Result<u64, ReadError> {
        let state = self.lock();
        let kept = state.runs.get(run).ok_or_else(|| ReadError::NotFound { run: run.to_owned() })?;
        Ok(kept.entries)
    }

    fn values(
        &self,
        run: &str,
        namespace: &str,
        wanted: &[WantedChannel<'_>],
    ) -> Result<Vec<ChannelValue>, ReadError> {
        let state = self.lock();
        let none = Namespace::default();
        let namespace = state.namespace(run, namespace).unwrap_or(&none);
        let mut found = Vec::with_capacity(wanted.len());
        for wanted in wanted {
            namespace.values(run, wanted, &mut found)?;
        }
        Ok(found)
    }

    fn put_snapshot(&self, digest: &Digest, text: &str) -> Result<(), SnapshotError> {
        plan::check_snapshot(text)?;
        let mut state = self.lock();
        state.changes += 1;
        state.fits(digest, text)?;
        state.snapshots.entry(*digest).or_insert_with(|| text.into());
        Ok(())
    }

    fn snapshot(&self, digest: &Digest) -> Result<Option<String>, ReadError> {
        Ok(self.lock().snapshots.get(digest).map(ToString::to_string))
    }

    fn has_snapshot(&self, digest: &Digest) -> Result<bool, ReadError> {
        Ok(self.lock().snapshots.contains_key(digest))
    }

    fn results(
        &self,
        key: &Digest,
        window: RangeInclusive<Timestamp>,
    ) -> Result<Vec<SignedCacheEntry>, ReadError> {
        let state = self.lock();
        let under = state.results.get(key).into_iter().flat_map(BTreeMap::values);
        let mut found: Vec<_> = under.filter(|entry| window.contains(&entry.at)).cloned().collect();
        found.reverse();
        found.sort_by_key(|entry| std::cmp::Reverse(entry.at));
        Ok(found)
    }

    fn acquire(&self, run: &str, owner: &Owner) -> Result<RunGuard, AcquireError> {
        let mut state = self.lock();
        let epoch = state.epochs + 1;
        let Some(kept) = state.runs.get_mut(run) else {
            return Err(AcquireError::NotFound { run: run.to_owned() });
        };
        if let Some(holder) = &kept.owner {
            return Err(AcquireError::Held { run: run.to_owned(), holder: Some(holder.clone()) });
        }
        kept.owner = Some(owner.clone());
        kept.epoch = Some(epoch);
        let fence = Fence { epoch, head: kept.head };
        state.epochs = epoch;
        Ok(RunGuard::new(run, fence, None, Release { store: self.clone(), run: run.to_owned(), epoch }))
    }

    fn holder(&self, run: &str) -> Result<Holder, ReadError> {
        match self.lock().runs.get(run) {
            Some(run) => Ok(run.owner.clone().map_or(Holder::Nobody, Holder::Known)),
            None => Err(ReadError::NotFound { run: run.to_owned() }),
        }
    }
}

impl Upkeep for MemoryStore {
    fn import_run(
        &self,
        run: &NewRun,
        records: &mut dyn Iterator<Item = Result<NumberedRecord, ImportError>>,
        prunings: &[(String, String)],
    ) -> Result<(), ImportError> {
        plan::check_run(run)?;
        let records = records.collect::<Result<Vec<_>, _>>()?;
        let mut state = self.lock();
        state.check_new(run)?;
        let plans = plan::plan_import(&run.row.run_id, &records, |_| Ok(None))?;
        state.create(run);
        if let Some(kept) = state.runs.get_mut(&run.row.run_id) {
            kept.write(plans, plan::last_entry(&records));
            let own = kept.namespaces.get("").and_then(|own| own.checkpoints.last());
            kept.head = own.map(|newest| newest.digest);
            for (namespace, note) in prunings {
                kept.namespaces.entry(namespace.clone()).or_default().pruning = Some(note.clone());
            }
        }
        Ok(())
    }

    fn remove_run(&self, guard: &RunGuard) -> Result<ReclaimedData, RemoveError> {
        let mut state = self.lock();
        let not_found = || RemoveError::NotFound { run: guard.run().to_owned() };
        let kept = state.runs.get(guard.run()).ok_or_else(not_found)?;
        plan::check_fence(guard, kept.fence()).map_err(|loss| plan::not_to_remove(guard, loss))?;
        state.changes += 1;
        let removed = state.runs.remove(guard.run()).ok_or_else(not_found)?;
        let mut freed = ReclaimedData::default();
        removed.namespaces.values().for_each(|namespace| freed += namespace.freed());
        Ok(freed)
    }

    fn prune(&self, guard: &RunGuard, namespace: &str, cut: &Cut<'_>) -> Result<ReclaimedData, RemoveError> {
        let run = guard.run();
        let mut state = self.lock();
        state.changes += 1;
        let kept = state.runs.get_mut(run).ok_or_else(|| RemoveError::NotFound { run: run.to_owned() })?;
        plan::check_fence(guard, kept.fence()).map_err(|loss| plan::not_to_remove(guard, loss))?;
        let missing = || RemoveError::NoCheckpoint {
            run: run.to_owned(),
            namespace: namespace.to_owned(),
            sequence: cut.first,
        };
        let found = kept.namespaces.get_mut(namespace).ok_or_else(missing)?;
        let place = found.checkpoints.binary_search_by_key(&cut.first, |checkpoint| checkpoint.sequence);
        let place = place.map_err(|_| missing())?;
        let mut values = Vec::new();
        for wanted in cut.channels {
            found.values(run, wanted, &mut values)?;
        }
        let before = found.freed();
        let mut left = Namespace { pruning: Some(cut.note.to_owned()), ..Namespace::default() };
        left.pending = std::mem::take(&mut found.pending);
        for (index, mut checkpoint) in found.checkpoints.drain(..).skip(place).enumerate() {
            if index == 0 {
                checkpoint.values = std::mem::take(&mut values);
            }
            left.push(&checkpoint);
        }
        *found = left;
        let after = found.freed();
        kept.forget(namespace, place);
        Ok(ReclaimedData {
            records: before.records.saturating_sub(after.records),
            bytes: before.bytes.saturating_sub(after.bytes),
        })
    }

    fn results_size(&self, expired: Option<Timestamp>) -> Result<ReclaimedData, ReadError> {
        let state = self.lock();
        let mut size = ReclaimedData::default();
        for entry in
            state.results.values().flat_map(BTreeMap::values).filter(|entry| has_expired(entry, expired))
        {
            size += ReclaimedData { records: 1, bytes: length(&entry.body) };
        }
        Ok(size)
    }

    fn remove_results(&self, expired: Option<Timestamp>) -> Result<ReclaimedData, RemoveError> {
        let freed = self.results_size(expired)?;
        let mut state = self.lock();
        state.results.values_mut().for_each(|under| under.retain(|_, entry| !has_expired(entry, expired)));
        state.results.retain(|_, under| !under.is_empty());
        Ok(freed)
    }

    fn snapshots(&self) -> Result<Vec<Digest>, ReadError> {
        Ok(self.lock().snapshots.keys().copied().collect())
    }

    fn mark(&self) -> Result<SnapshotEpoch, ReadError> {
        Ok(SnapshotEpoch(self.lock().changes))
    }

    fn remove_snapshots(
        &self,
        digests: &[Digest],
        mark: SnapshotEpoch,
    ) -> Result<Option<ReclaimedData>, RemoveError> {
        let mut state = self.lock();
        if SnapshotEpoch(state.changes) != mark {
            return Ok(None);
        }
        let mut freed = ReclaimedData::default();
        for digest in digests {
            if let Some(text) = state.snapshots.remove(digest) {
                freed += ReclaimedData { records: 1, bytes: length(&text) };
            }
        }
        Ok(Some(freed))
    }
}

fn has_expired(entry: &SignedCacheEntry, by: Option<Timestamp>) -> bool {
    by.is_none_or(|at| entry.expires <= at)
}

/// Releases the run when it is dropped, unless another process has acquired it meanwhile.
struct Release {
    store: MemoryStore,
    run: String,
    epoch: u64,
}

impl Drop for Release {
    fn drop(&mut self) {
        let mut state = self.store.lock();
        if let Some(run) = state.runs.get_mut(&self.run).filter(|run| run.epoch == Some(self.epoch)) {
            run.owner = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::Subject;

    impl Subject for MemoryStore {
        fn open(&self) -> Box<dyn CheckpointStore> {
            Box::new(self.clone())
        }
    }

    impl crate::conformance::UpkeepSubject for MemoryStore {
        fn open(&self) -> Box<dyn Upkeep> {
            Box::new(self.clone())
        }
    }

    crate::conformance!(MemoryStore::new());
    crate::upkeep_conformance!(MemoryStore::new());
}
