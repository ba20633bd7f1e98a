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
use crate::upkeep::{Cut, Freed, Mark};

/// Records that are read at a time where all of them are wanted.
const PAGE: usize = 256;

/// Keeps runs. Calls block, so an asynchronous caller makes them from a thread that may.
///
/// Per run and namespace a store keeps a line of checkpoints in strictly rising sequence, and **pending** records: what
/// tasks, answers and the status have resulted in since the newest checkpoint. A checkpoint makes every pending record
/// before it void.
///
/// The process that writes to a run has taken it up ([`Self::acquire`]), and names with everything that it writes the run's **epoch**
/// and **head** ([`Fence`]): what a former holder writes is refused, whatever has become of locks and leases. A store of several
/// machines needs no more than this comparison, in the transaction of each write.
pub trait CheckpointStore: fmt::Debug + Send + Sync {
    /// Adds a run with the texts it is pinned to, in one transaction. It is durable on return if the run's durability
    /// is `sync`.
    fn create_run(&self, run: &NewRun) -> Result<(), CreateRunError>;

    /// Writes a batch of records and the change of the run's row, all or nothing, in one transaction.
    ///
    /// A guard whose [`Fence`] is not that of the run is refused with [`CommitError::Lost`], before anything else is looked at. Once
    /// the batch is written, its last record is the head, for the run and for the guard ([`RunGuard::advance`]).
    ///
    /// Records are taken in order. A checkpoint needs a higher sequence than the newest one of its namespace and voids
    /// the pending records there; any other record must be under the newest checkpoint, and replaces the one of the
    /// same kind and task. A checkpoint's [`SignedRecord::results`] are kept with it, each in place of what the same run and
    /// namespace have left under its key before. What a later record of the batch voids or replaces is not written at all. An empty batch
    /// changes only the run's row, and an update that names nothing leaves that as it is, its time included.
    fn commit(
        &self,
        guard: &RunGuard,
        batch: &[SignedRecord],
        update: &RunUpdate,
        synchronous: Synchronous,
    ) -> Result<(), CommitError>;

    /// A run's row; `None` if there is no such run.
    fn run(&self, run: &str) -> Result<Option<RunRow>, ReadError>;

    /// A run's row without its result and its error, each of which may be large; `None` if there is no such run.
    fn listed_run(&self, run: &str) -> Result<Option<RunRow>, ReadError>;

    /// The rows of runs, the one created last first, with the refusals of those that cannot be read. Creation order is the
    /// store's own and does not depend on clocks. There are fewer rows than the filter asks for only where there are no more.
    ///
    /// Results and errors are left out of these rows, as of [`Self::listed_run`].
    fn list(&self, filter: &RunFilter) -> Result<Listed, ReadError>;

    /// The same where all rows are needed: the first refusal is the error.
    fn runs(&self, filter: &RunFilter) -> Result<Vec<RunRow>, ReadError> {
        let Listed { rows, refused } = self.list(filter)?;
        match refused.into_iter().next() {
            Some(refused) => Err(refused.into()),
            None => Ok(rows),
        }
    }

    /// The id of the run that a person names: a whole id, a prefix that only one id has, or `@last`, the newest run
    /// without a parent.
    fn resolve(&self, name: &str) -> Result<String, ResolveError>;

    /// One checkpoint, without its values; `None` if there is none there.
    fn checkpoint(&self, run: &str, namespace: &str, at: At) -> Result<Option<SignedRecord>, ReadError>;

    /// A page of checkpoints of a namespace with sequence numbers above `after`, in order, each with the values that it
    /// changed in order of channels. It has at most `limit` of them, and ends early once their texts reach
    /// [`PAGE_BYTES`](crate::PAGE_BYTES). An empty page is the end.
    fn checkpoints(
        &self,
        run: &str,
        namespace: &str,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<SignedRecord>, ReadError>;

    /// The same without their values.
    fn checkpoints_alone(
        &self,
        run: &str,
        namespace: &str,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<SignedRecord>, ReadError>;

    /// A page of checkpoints of a namespace with sequence numbers below `before`, or of the newest ones: the newest first, without
    /// their values. It ends as [`Self::checkpoints`] says, and an empty page is the end.
    fn checkpoints_before(
        &self,
        run: &str,
        namespace: &str,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<SignedRecord>, ReadError>;

    /// A page of the records under the newest checkpoint that come after the one with this kind and task: tasks, then
    /// answers, then hooks, then the status; each kind in byte order of its task ids. It ends as
    /// [`Self::checkpoints`] says, and an empty page is the end.
    fn pending_after(
        &self,
        run: &str,
        namespace: &str,
        after: Option<(RecordKind, &str)>,
        limit: usize,
    ) -> Result<Vec<SignedRecord>, ReadError>;

    /// All records under the newest checkpoint, in the order of [`Self::pending_after`].
    ///
    /// More than [`LARGEST_PENDING`](crate::LARGEST_PENDING) of them is an error: a run that is resumed needs all of them
    /// at one time.
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

    /// A page of the run's history, in its order, from the record on that holds the entry after number `after`. It ends
    /// as [`Self::checkpoints`] says, and an empty page is the end.
    ///
    /// The history of a run is every checkpoint of every namespace and every status record, in the order in which they
    /// were committed; it only grows. A record holds [`SignedRecord::events`] entries, numbered from 1 on without gaps.
    fn history(&self, run: &str, after: u64, limit: usize) -> Result<Vec<Numbered>, ReadError>;

    /// The status record of the history before whose entries that many others come; `None` if there is none there.
    fn status_at(&self, run: &str, before: u64) -> Result<Option<SignedRecord>, ReadError> {
        let found = self.history(run, before, 1)?.pop();
        let found = found.filter(|found| found.before == before && found.record.kind == RecordKind::Status);
        Ok(found.map(|found| found.record))
    }

    /// The number of the newest entry of a run's history.
    fn history_length(&self, run: &str) -> Result<u64, ReadError>;

    /// What channels are made of: for each wanted one, in the order wanted, the whole value at `base` and then the
    /// segments up to `version`. A value that is missing is an error, and so is more than
    /// [`LARGEST_READ`](crate::LARGEST_READ) altogether.
    fn values(
        &self,
        run: &str,
        namespace: &str,
        wanted: &[Wanted<'_>],
    ) -> Result<Vec<ChannelValue>, ReadError>;

    /// Keeps a text under its digest: a graph document, a manifest, inputs, pins. Putting it again changes nothing; a
    /// different text under the same digest is refused. Which domain the digest has is the caller's business.
    fn put_snapshot(&self, digest: &Digest, text: &str) -> Result<(), SnapshotError>;

    /// The text kept under a digest; `None` if there is none.
    fn snapshot(&self, digest: &Digest) -> Result<Option<String>, ReadError>;

    /// Whether a text is kept under a digest.
    fn has_snapshot(&self, digest: &Digest) -> Result<bool, ReadError>;

    /// The results that are kept under a key for later tasks and are from within these times, the newest first: of each run
    /// and namespace that has left one the newest. After 64 MiB of them older ones are left out.
    fn results(
        &self,
        key: &Digest,
        window: RangeInclusive<Timestamp>,
    ) -> Result<Vec<SignedCacheEntry>, ReadError>;

    /// The namespaces of a run that have records, in byte order.
    fn namespaces(&self, run: &str) -> Result<Vec<String>, ReadError>;

    /// What was said about the newest removal of checkpoints of a namespace; `None` if there was none.
    fn pruning(&self, run: &str, namespace: &str) -> Result<Option<String>, ReadError>;

    /// Takes a run up for this process, to begin it or to continue it: until the guard is dropped, or the process ends in
    /// whatever way, no other process gets it.
    ///
    /// The run gets an epoch that is higher than any that a run of this id has had in the store, also before it was removed and
    /// made again. It outlives every process that can have an earlier one: from now on their guards are refused. A run that is
    /// only read is not taken up.
    fn acquire(&self, run: &str, owner: &Owner) -> Result<RunGuard, AcquireError>;

    /// Who holds a run at this moment, whatever the run's row says. A run that is `running` and held by no process was cut
    /// short.
    fn holder(&self, run: &str) -> Result<Holder, ReadError>;
}

/// A store that takes over whole runs and gives back what runs take up.
pub trait Upkeep: CheckpointStore {
    /// Adds a whole run that another store has kept, in one transaction: its row and texts, its records in the order of
    /// each namespace, and what is said about removals, by namespace. Entries of its history keep their numbers; those of
    /// what only waits under the newest checkpoint mean nothing.
    ///
    /// Records are taken a few at a time, as they come. An error among them ends the import, and nothing of it stays.
    fn import_run(
        &self,
        run: &NewRun,
        records: &mut dyn Iterator<Item = Result<Numbered, ImportError>>,
        prunings: &[(String, String)],
    ) -> Result<(), ImportError>;

    /// Removes a run with everything that belongs to it alone. A guard that has lost the run is refused, as by
    /// [`CheckpointStore::commit`]. Texts that other runs may share stay, and so do the results
    /// that it has left for them.
    fn remove_run(&self, guard: &RunGuard) -> Result<Freed, RemoveError>;

    /// Takes several runs for this process, each as [`CheckpointStore::acquire`] does, and gives what has come of each, in
    /// order.
    fn acquire_all(&self, runs: &[&str], owner: &Owner) -> Vec<Result<RunGuard, AcquireError>> {
        runs.iter().map(|run| self.acquire(run, owner)).collect()
    }

    /// Removes several runs, each as [`Self::remove_run`] does and each as a whole, and gives what each has taken up, in order.
    /// They go in that order and in few transactions, none of which is without bounds: after an error, or the end of this
    /// process, the first ones are gone and the others are as they were.
    fn remove_runs(&self, guards: &[RunGuard]) -> Result<Vec<Freed>, RemoveError> {
        guards.iter().map(|guard| self.remove_run(guard)).collect()
    }

    /// Removes the checkpoints of a namespace before one of them, in one transaction with the note that says so. The run's epoch
    /// and head stay. A guard that has lost the run is refused, as by [`CheckpointStore::commit`].
    fn prune(&self, guard: &RunGuard, namespace: &str, cut: &Cut<'_>) -> Result<Freed, RemoveError>;

    /// What the results that have expired by then take up; without a time, all of them.
    fn results_size(&self, expired: Option<Timestamp>) -> Result<Freed, ReadError>;

    /// Removes the results that have expired by then; without a time, all of them.
    fn remove_results(&self, expired: Option<Timestamp>) -> Result<Freed, RemoveError>;

    /// The digests of all texts that are kept.
    fn snapshots(&self) -> Result<Vec<Digest>, ReadError>;

    /// What the store stands at, for [`Self::remove_snapshots`].
    fn mark(&self) -> Result<Mark, ReadError>;

    /// Removes texts, unless another process has changed something since the mark, who may need them: `None` then.
    fn remove_snapshots(&self, digests: &[Digest], mark: Mark) -> Result<Option<Freed>, RemoveError>;
}

/// How hard a commit is pressed into the disk before it returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Synchronous {
    /// On stable storage: it survives a loss of power, and so does every commit before it.
    #[default]
    Full,
    /// With the operating system: it survives the end of this process, and a loss of power may take the newest commits,
    /// always from the end.
    Normal,
}

/// Which checkpoint of a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The newest checkpoint of the namespace.
    Latest,
    /// The one with this sequence number.
    Sequence(u64),
    /// The newest one after this number of supersteps.
    Step(u64),
    /// The same among those with sequence numbers from `first` to `last`: no others are looked at.
    StepWithin {
        /// The number of supersteps.
        step: u64,
        /// The lowest sequence number.
        first: u64,
        /// The highest sequence number.
        last: u64,
    },
}

/// Runs as a list has them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// The rows that can be read.
    pub rows: Vec<RunRow>,
    /// What was found in place of others, at most [`Self::MOST_REFUSED`].
    pub refused: Vec<StorageError>,
}

impl Listed {
    /// How many refusals a list names: a stranger's store may have nothing but bad rows.
    pub const MOST_REFUSED: usize = 20;

    /// Adds a refusal, unless enough are named.
    pub(crate) fn refuse(&mut self, refused: StorageError) {
        if self.refused.len() < Self::MOST_REFUSED {
            self.refused.push(refused);
        }
    }
}

/// A record of a run's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbered {
    /// How many entries the records before it hold: its own follow them.
    pub before: u64,
    /// The record; a checkpoint with the values that it changed.
    pub record: SignedRecord,
}

/// A channel at a checkpoint, as its stamp there says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted<'a> {
    /// The channel whose values are wanted.
    pub channel: &'a str,
    /// The version of the whole value to start from.
    pub base: u64,
    /// The version of the last value that counts; `base` or later.
    pub version: u64,
}

/// A process that holds a run. It is for people to read: what keeps others out is the lock, and what keeps a former holder from
/// writing is the [`Fence`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The id of the process on its machine.
    pub pid: u32,
    /// The name of the machine that the process runs on.
    pub host: String,
    /// Since when it has held the run.
    pub since: Timestamp,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} on {} since {}", self.pid, self.host, self.since)
    }
}

/// Who holds a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// No process holds the run.
    Nobody,
    /// A process that has said who it is.
    Known(Owner),
    /// A process that has not said who it is, or not yet.
    Unknown,
}

/// What the process that writes to a run builds on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence {
    /// The number of the taking up: each has a higher one.
    pub epoch: u64,
    /// The digest of the last record of the run's last commit. Of a run that was imported, or written by a version of this
    /// program that kept no heads, it is that of the newest checkpoint of the run itself; `None` where there is no record.
    pub head: Option<Digest>,
}

/// Holds a run until it is dropped, and says what this holder's writes build on.
#[must_use = "the run is released as soon as the guard is dropped"]
pub struct RunGuard {
    run: String,
    fence: Mutex<Fence>,
    abandoned: Option<Owner>,
    _held: Box<dyn Send + Sync>,
}

impl RunGuard {
    /// A guard of a run that a store has raised to an epoch. `held` gives the run back when it is dropped.
    pub fn new(run: &str, fence: Fence, abandoned: Option<Owner>, held: impl Send + Sync + 'static) -> Self {
        Self { run: run.to_owned(), fence: Mutex::new(fence), abandoned, _held: Box::new(held) }
    }

    /// The run that is held.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// What the next write builds on.
    pub fn fence(&self) -> Fence {
        *self.fence.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Called by the store that has written a batch: its last record is the head from now on.
    pub fn advance(&self, batch: &[SignedRecord]) {
        if let Some(last) = batch.last() {
            self.fence.lock().unwrap_or_else(PoisonError::into_inner).head = Some(last.digest);
        }
    }

    /// Who had the run before and ended without giving it back.
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
