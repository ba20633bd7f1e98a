//! A store that can break off, as a process that is killed does.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use graph_core::digest::Digest;
use graph_core::record::{ChannelValue, SignedRecord};
use graph_store::{
    AcquireError, At, CheckpointStore, CommitError, CreateRunError, Holder, MemoryStore, NewRun, Owner,
    ReadError, ResolveError, RunFilter, RunGuard, RunRow, RunUpdate, SnapshotError, StorageError,
    Synchronous, Wanted,
};
use tokio::sync::Notify;

/// A store in memory that can be told to take no more than so many records.
#[derive(Debug, Default)]
pub(super) struct CaseStore {
    inner: MemoryStore,
    /// How many more records it takes; `u64::MAX` for any number.
    left: AtomicU64,
    broken: AtomicBool,
    breaking: Notify,
}

impl CaseStore {
    /// A store that takes everything.
    pub(super) fn new() -> Self {
        Self { left: AtomicU64::new(u64::MAX), ..Self::default() }
    }

    /// From now on takes so many records and breaks off after the last of them.
    pub(super) fn break_after(&self, records: Option<u64>) {
        self.left.store(records.unwrap_or(u64::MAX), Ordering::SeqCst);
        self.broken.store(false, Ordering::SeqCst);
    }

    /// Whether it has broken off.
    pub(super) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::SeqCst)
    }

    /// Waits until it breaks off.
    pub(super) async fn broken(&self) {
        while !self.is_broken() {
            self.breaking.notified().await;
        }
    }
}

impl CheckpointStore for CaseStore {
    fn create_run(&self, run: &NewRun) -> Result<(), CreateRunError> {
        self.inner.create_run(run)
    }

    fn commit(
        &self,
        run: &str,
        batch: &[SignedRecord],
        update: &RunUpdate,
        synchronous: Synchronous,
    ) -> Result<(), CommitError> {
        let left = self.left.load(Ordering::SeqCst);
        let taken = usize::try_from(left).unwrap_or(usize::MAX).min(batch.len());
        if self.is_broken() || (taken == 0 && !batch.is_empty()) {
            let reason = "the case has broken off here".to_owned();
            return Err(StorageError::Io { file: "the store of the case".into(), reason }.into());
        }
        self.inner.commit(run, &batch[..taken], update, synchronous)?;
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

    fn run(&self, run: &str) -> Result<Option<RunRow>, ReadError> {
        self.inner.run(run)
    }

    fn runs(&self, filter: &RunFilter) -> Result<Vec<RunRow>, ReadError> {
        self.inner.runs(filter)
    }

    fn resolve(&self, name: &str) -> Result<String, ResolveError> {
        self.inner.resolve(name)
    }

    fn checkpoint(&self, run: &str, namespace: &str, at: At) -> Result<Option<SignedRecord>, ReadError> {
        self.inner.checkpoint(run, namespace, at)
    }

    fn checkpoints(
        &self,
        run: &str,
        namespace: &str,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<SignedRecord>, ReadError> {
        self.inner.checkpoints(run, namespace, after, limit)
    }

    fn pending(&self, run: &str, namespace: &str) -> Result<Vec<SignedRecord>, ReadError> {
        self.inner.pending(run, namespace)
    }

    fn values(
        &self,
        run: &str,
        namespace: &str,
        wanted: &[Wanted<'_>],
    ) -> Result<Vec<ChannelValue>, ReadError> {
        self.inner.values(run, namespace, wanted)
    }

    fn put_snapshot(&self, digest: &Digest, text: &str) -> Result<(), SnapshotError> {
        self.inner.put_snapshot(digest, text)
    }

    fn snapshot(&self, digest: &Digest) -> Result<Option<String>, ReadError> {
        self.inner.snapshot(digest)
    }

    fn acquire(&self, run: &str, owner: &Owner) -> Result<RunGuard, AcquireError> {
        self.inner.acquire(run, owner)
    }

    fn holder(&self, run: &str) -> Result<Holder, ReadError> {
        self.inner.holder(run)
    }
}
