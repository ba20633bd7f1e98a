//! The contract of a store.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::{Mutex, PoisonError};

use graph_core::digest::Digest;
use graph_core::record::{ChannelValue, RecordKind, SignedCacheEntry, SignedRecord};
use graph_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::bounds::{self, LARGEST_PENDING};
use crate::error::{
    AcquireError, CommitError, CreateRunError, ImportError, ReadError, RemoveError, ResolveError,
    SnapshotError, StorageError,
};
use crate::run::{NewRun, RunFilter, RunRow, RunUpdate};
use crate::upkeep::{Cut, ReclaimedData, SnapshotEpoch};

/// Number of records that are read at a time when all of them are needed.
const PAGE: usize = 256;

/// A store of runs. Calls block, so that an asynchronous caller has to make them from a thread that may block.
///
/// For each run and namespace, a store keeps a sequence of checkpoints with strictly rising sequence numbers, and
/// **pending** records: the outcome of tasks, the answers and the status since the newest checkpoint. A checkpoint
/// makes all pending records before it void.
///
/// A process has to acquire a run ([`Self::acquire`]) before it writes to it. With each write it states the run's
/// **epoch** and **head** ([`Fence`]). A write of a former holder is therefore refused, whatever has happened to locks
/// and leases. For a store that several machines use, this comparison in the transaction of each write is enough.
pub trait CheckpointStore: fmt::Debug + Send + Sync {
    /// Adds a run and the texts to which it is pinned, in one transaction. It is durable on return if the run's
    /// durability is `sync`.
    fn create_run(&self, run: &NewRun) -> Result<(), CreateRunError>;

    /// Writes a batch of records and the change of the run's row in one transaction, all or nothing.
    ///
    /// A guard whose [`Fence`] is not that of the run is refused with [`CommitError::Lost`], before anything else is
    /// checked. Once the batch is written, its last record is the head, for the run and for the guard
    /// ([`RunGuard::advance`]).
    ///
    /// Records are processed in order. A checkpoint needs a higher sequence number than the newest one of its
    /// namespace, and voids the pending records there. Any other record must be under the newest checkpoint, and
    /// replaces the one of the same kind and task. A checkpoint's [`SignedRecord::results`] are stored with it, each in
    /// place of an earlier result of the same run and namespace under the same key. A record that a later record of the
    /// batch voids or replaces is not written at all. An empty batch changes only the run's row, and an update without
    /// any field leaves the row unchanged, its time included.
    fn commit(
        &self,
        guard: &RunGuard,
        batch: &[SignedRecord],
        update: &RunUpdate,
        synchronous: SyncMode,
    ) -> Result<(), CommitError>;

    /// Reads a run's row; `None` if there is no such run.
    fn run(&self, run: &str) -> Result<Option<RunRow>, ReadError>;

    /// Reads a run's row without its result and its error, each of which may be large; `None` if there is no such run.
    fn listed_run(&self, run: &str) -> Result<Option<RunRow>, ReadError>;

    /// Lists the rows of runs, the one created last first, with the refusals of rows that cannot be read. The store
    /// records the order of creation, which does not depend on clocks. There are fewer rows than the filter's limit
    /// only if there are no more.
    ///
    /// Results and errors are left out of these rows, as by [`Self::listed_run`].
    fn list(&self, filter: &RunFilter) -> Result<RunList, ReadError>;

    /// Lists the rows of runs, as [`Self::list`] does, for a caller that needs all of them: the first refusal is the
    /// error.
    fn runs(&self, filter: &RunFilter) -> Result<Vec<RunRow>, ReadError> {
        let RunList { rows, refused } = self.list(filter)?;
        match refused.into_iter().next() {
            Some(refused) => Err(refused.into()),
            None => Ok(rows),
        }
    }

    /// Resolves the name by which a user refers to a run: an id, a prefix that only one id has, or `@last`, the newest
    /// run without a parent.
    fn resolve(&self, name: &str) -> Result<String, ResolveError>;

    /// Reads one checkpoint, without its values; `None` if there is no such checkpoint.
    fn checkpoint(
        &self,
        run: &str,
        namespace: &str,
        at: CheckpointPosition,
    ) -> Result<Option<SignedRecord>, ReadError>;

    /// Reads a page of checkpoints of a namespace with sequence numbers above `after`, in order, each with the values
    /// that it changed, in order of channels. The page has at most `limit` checkpoints, and ends early once their texts
    /// reach [`PAGE_BYTES`](crate::PAGE_BYTES). An empty page is the end.
    fn checkpoints(
        &self,
        run: &str,
        namespace: &str,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<SignedRecord>, ReadError>;

    /// Reads a page of checkpoints, as [`Self::checkpoints`] does, without their values.
    fn checkpoints_alone(
        &self,
        run: &str,
        namespace: &str,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<SignedRecord>, ReadError>;

    /// Reads a page of checkpoints of a namespace with sequence numbers below `before`, or of the newest ones: the
    /// newest first, without their values. It ends as that of [`Self::checkpoints`] does, and an empty page is the end.
    fn checkpoints_before(
        &self,
        run: &str,
        namespace: &str,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<SignedRecord>, ReadError>;

    /// Reads a page of the records under the newest checkpoint that come after the one with this kind and task: tasks,
    /// then answers, then hooks, then the status; each kind in byte order of its task ids. It ends as that of
    /// [`Self::checkpoints`] does, and an empty page is the end.
    fn pending_after(
        &self,
        run: &str,
        namespace: &str,
        after: Option<(RecordKind, &str)>,
        limit: usize,
    ) -> Result<Vec<SignedRecord>, ReadError>;

    /// Reads all records under the newest checkpoint, in the order of [`Self::pending_after`].
    ///
    /// More than [`LARGEST_PENDING`](crate::LARGEST_PENDING) bytes of them are an error. There is a limit because a run
    /// that is resumed needs all of them in memory at one time.
    fn pending(&self, run: &str, namespace: &str) -> Result<Vec<SignedRecord>, ReadError> {
        let mut found: Vec<SignedRecord> = Vec::new();
        let mut bytes = 0;
        loop {
            let after = found.last().map(|last| (last.kind, last.task.as_str()));
            let page = self.pending_after(run, namespace, after, PAGE)?;
            if page.is_empty() {
                return Ok(found);
            }
            bytes = page.iter().map(bounds::weight).fold(bytes, u64::saturating_add);
            if bytes > LARGEST_PENDING {
                return Err(ReadError::TooMuchPending { run: run.to_owned() });
            }
            found.extend(page);
        }
    }

    /// Reads a page of the run's history, in order, from the record that holds the entry after number `after`. It ends
    /// as that of [`Self::checkpoints`] does, and an empty page is the end.
    ///
    /// The history of a run consists of every checkpoint of every namespace and every status record, in the order in
    /// which they were committed; it only grows. A record holds [`SignedRecord::events`] entries, numbered from 1
    /// without gaps.
    fn history(&self, run: &str, after: u64, limit: usize) -> Result<Vec<NumberedRecord>, ReadError>;

    /// Reads the status record of the history that has `before` entries before its own; `None` if there is no such
    /// record.
    fn status_at(&self, run: &str, before: u64) -> Result<Option<SignedRecord>, ReadError> {
        let found = self.history(run, before, 1)?.pop();
        let found = found.filter(|found| found.before == before && found.record.kind == RecordKind::Status);
        Ok(found.map(|found| found.record))
    }

    /// Returns the number of the newest entry of a run's history.
    fn history_length(&self, run: &str) -> Result<u64, ReadError>;

    /// Reads the values of channels: for each requested one, in the order requested, the whole value at `base` and then
    /// the segments up to `version`. A missing value is an error, and so are more than
    /// [`LARGEST_READ`](crate::LARGEST_READ) bytes altogether.
    fn values(
        &self,
        run: &str,
        namespace: &str,
        wanted: &[WantedChannel<'_>],
    ) -> Result<Vec<ChannelValue>, ReadError>;

    /// Stores a text under its digest: a graph document, a manifest, inputs, or pins. Storing it again changes nothing;
    /// a different text under the same digest is refused. The caller chooses the hash domain of the digest.
    fn put_snapshot(&self, digest: &Digest, text: &str) -> Result<(), SnapshotError>;

    /// Reads the text that is stored under a digest; `None` if there is none.
    fn snapshot(&self, digest: &Digest) -> Result<Option<String>, ReadError>;

    /// Reports whether a text is stored under a digest.
    fn has_snapshot(&self, digest: &Digest) -> Result<bool, ReadError>;

    /// Reads the cached results under a key with times in this range, the newest first. Of each run and namespace,
    /// there is at most the newest result. After 64 MiB of results, older ones are left out.
    fn results(
        &self,
        key: &Digest,
        window: RangeInclusive<Timestamp>,
    ) -> Result<Vec<SignedCacheEntry>, ReadError>;

    /// Lists the namespaces of a run that have records, in byte order.
    fn namespaces(&self, run: &str) -> Result<Vec<String>, ReadError>;

    /// Reads the note about the newest removal of checkpoints of a namespace; `None` if there was none.
    fn pruning(&self, run: &str, namespace: &str) -> Result<Option<String>, ReadError>;

    /// Acquires a run for this process, to start it or to continue it. Until the guard is dropped, or the process ends
    /// for any reason, no other process can acquire it.
    ///
    /// The run gets an epoch that is higher than any that a run with this id has had in the store, also before it was
    /// removed and created again. An epoch never falls, so that the guards of former holders are refused from now on. A
    /// run need not be acquired for reading.
    fn acquire(&self, run: &str, owner: &Owner) -> Result<RunGuard, AcquireError>;

    /// Returns the process that holds a run at this moment, regardless of the run's row. A run whose status is
    /// `running` and that no process holds was interrupted.
    fn holder(&self, run: &str) -> Result<Holder, ReadError>;
}

/// A store that can import whole runs, and remove data.
pub trait Upkeep: CheckpointStore {
    /// Imports a run from another store, in one transaction: its row and texts, its records in the order of each
    /// namespace, and its notes about removals, by namespace. Entries of its history keep their numbers. For pending
    /// records other than a status, these numbers have no meaning.
    ///
    /// Records are read a few at a time. If one of them is an error, the import fails, and no part of the run is
    /// stored.
    fn import_run(
        &self,
        run: &NewRun,
        records: &mut dyn Iterator<Item = Result<NumberedRecord, ImportError>>,
        prunings: &[(String, String)],
    ) -> Result<(), ImportError>;

    /// Removes a run with everything that belongs only to it. A guard that has lost the run is refused, as by
    /// [`CheckpointStore::commit`]. Texts remain, because other runs may share them, and so do the run's cached
    /// results.
    fn remove_run(&self, guard: &RunGuard) -> Result<ReclaimedData, RemoveError>;

    /// Acquires several runs for this process, each as [`CheckpointStore::acquire`] does, and returns the outcome for
    /// each, in order.
    fn acquire_all(&self, runs: &[&str], owner: &Owner) -> Vec<Result<RunGuard, AcquireError>> {
        runs.iter().map(|run| self.acquire(run, owner)).collect()
    }

    /// Removes several runs, each as [`Self::remove_run`] does and each as a whole, and returns what each has freed, in
    /// order. They are removed in that order, in few transactions of bounded size. After an error, or the end of this
    /// process, the first runs are removed and the others are unchanged.
    fn remove_runs(&self, guards: &[RunGuard]) -> Result<Vec<ReclaimedData>, RemoveError> {
        guards.iter().map(|guard| self.remove_run(guard)).collect()
    }

    /// Removes the checkpoints of a namespace before one of them, and stores the note about it, in one transaction. The
    /// run's epoch and head remain. A guard that has lost the run is refused, as by [`CheckpointStore::commit`].
    fn prune(&self, guard: &RunGuard, namespace: &str, cut: &Cut<'_>) -> Result<ReclaimedData, RemoveError>;

    /// Returns the number and size of the results that expire by this time; without a time, of all results.
    fn results_size(&self, expired: Option<Timestamp>) -> Result<ReclaimedData, ReadError>;

    /// Removes the results that expire by this time; without a time, all results.
    fn remove_results(&self, expired: Option<Timestamp>) -> Result<ReclaimedData, RemoveError>;

    /// Lists the digests of all stored texts.
    fn snapshots(&self) -> Result<Vec<Digest>, ReadError>;

    /// Returns a mark of the store's present state, for [`Self::remove_snapshots`].
    fn mark(&self) -> Result<SnapshotEpoch, ReadError>;

    /// Removes texts, unless another process has changed the store since the mark, because it may need them. The result
    /// is `None` then.
    fn remove_snapshots(
        &self,
        digests: &[Digest],
        mark: SnapshotEpoch,
    ) -> Result<Option<ReclaimedData>, RemoveError>;
}

/// The durability of a commit when it returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyncMode {
    /// On stable storage: the commit survives a power failure, and so does every commit before it.
    #[default]
    Full,
    /// Passed to the operating system: the commit survives the end of this process. A power failure may lose the newest
    /// commits, but never one without those after it.
    Normal,
}

/// Selects a checkpoint of a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckpointPosition {
    /// The newest checkpoint of the namespace.
    Latest,
    /// The one with this sequence number.
    Sequence(u64),
    /// The newest checkpoint after this number of supersteps.
    Step(u64),
    /// The newest checkpoint after this number of supersteps, among those with sequence numbers from `first` to `last`.
    /// No others are examined.
    StepWithin {
        /// The number of supersteps.
        step: u64,
        /// The lowest sequence number.
        first: u64,
        /// The highest sequence number.
        last: u64,
    },
}

/// A list of runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunList {
    /// The rows that can be read.
    pub rows: Vec<RunRow>,
    /// The refusals of rows that cannot be read, at most [`Self::MOST_REFUSED`].
    pub refused: Vec<StorageError>,
}

impl RunList {
    /// Maximum number of refusals in a list: all rows of a stranger's store may be bad.
    pub const MOST_REFUSED: usize = 20;

    /// Adds a refusal, unless the maximum is reached.
    pub(crate) fn refuse(&mut self, refused: StorageError) {
        if self.refused.len() < Self::MOST_REFUSED {
            self.refused.push(refused);
        }
    }
}

/// A record of a run's history, with the position of its entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberedRecord {
    /// Number of history entries before the record's own.
    pub before: u64,
    /// The record; if it is a checkpoint, with the values that it changed.
    pub record: SignedRecord,
}

/// The values of a channel at a checkpoint, by the versions that the checkpoint states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WantedChannel<'a> {
    /// The channel.
    pub channel: &'a str,
    /// The version of the whole value to start from.
    pub base: u64,
    /// The version of the last value, which is `base` or higher.
    pub version: u64,
}

/// The identity of a process that holds a run, for people. The lock excludes other processes, and the [`Fence`]
/// excludes writes of former holders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The id of the process on its machine.
    pub pid: u32,
    /// The name of the machine.
    pub host: String,
    /// The time at which it acquired the run.
    pub since: Timestamp,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} on {} since {}", self.pid, self.host, self.since)
    }
}

/// The holder of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// No process holds the run.
    Nobody,
    /// A process that has recorded its identity.
    Known(Owner),
    /// A process that has not recorded its identity, or not yet.
    Unknown,
}

/// The state of a run that a writing process has to know: a write with another fence is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence {
    /// The number of the acquisition. Each acquisition has a higher one than those before.
    pub epoch: u64,
    /// The digest of the last record of the run's last commit. For a run that was imported, or written by a version of
    /// this program that recorded no heads, it is that of the run's newest own checkpoint. `None` if there is no
    /// record.
    pub head: Option<Digest>,
}

/// The right to write to a run, which is released when this is dropped. It contains the fence of the next write.
#[must_use = "the run is released as soon as the guard is dropped"]
pub struct RunGuard {
    run: String,
    fence: Mutex<Fence>,
    abandoned: Option<Owner>,
    _held: Box<dyn Send + Sync>,
}

impl RunGuard {
    /// Creates a guard for a run whose epoch a store has raised. `held` releases the run when it is dropped.
    pub fn new(run: &str, fence: Fence, abandoned: Option<Owner>, held: impl Send + Sync + 'static) -> Self {
        Self { run: run.to_owned(), fence: Mutex::new(fence), abandoned, _held: Box::new(held) }
    }

    /// Returns the id of the run.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// Returns the fence of the next write.
    pub fn fence(&self) -> Fence {
        *self.fence.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the last record of a batch the head. The store calls it when it has written the batch.
    pub fn advance(&self, batch: &[SignedRecord]) {
        if let Some(last) = batch.last() {
            self.fence.lock().unwrap_or_else(PoisonError::into_inner).head = Some(last.digest);
        }
    }

    /// Returns the previous holder, if it ended without releasing the run.
    pub fn abandoned(&self) -> Option<&Owner> {
        self.abandoned.as_ref()
    }
}

impl fmt::Debug for RunGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunGuard")
            .field("run", &self.run)
            .field("fence", &self.fence())
            .field("abandoned", &self.abandoned)
            .finish_non_exhaustive()
    }
}
