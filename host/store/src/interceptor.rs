//! Stores that intercept the commits of another store.

use std::fmt;
use std::ops::RangeInclusive;

use graph_core::digest::Digest;
use graph_core::record::{ChannelValue, RecordKind, SignedCacheEntry, SignedRecord};
use graph_core::time::Timestamp;

use crate::error::{AcquireError, CommitError, CreateRunError, ReadError, ResolveError, SnapshotError};
use crate::run::{NewRun, RunFilter, RunRow, RunUpdate};
use crate::store::{
    CheckpointPosition, CheckpointStore, Holder, NumberedRecord, Owner, RunGuard, RunList, SyncMode,
    WantedChannel,
};

/// A store that intercepts the commits of another store behind it. All other calls go to that store unchanged.
pub trait StoreInterceptor: fmt::Debug + Send + Sync {
    /// Returns the store behind it.
    fn behind(&self) -> &dyn CheckpointStore;

    /// Replaces [`CheckpointStore::commit`]: commits all, a part or nothing of the batch to the store behind.
    fn commit(
        &self,
        guard: &RunGuard,
        batch: &[SignedRecord],
        update: &RunUpdate,
        synchronous: SyncMode,
    ) -> Result<(), CommitError>;

    /// Called with the records that were read from the store behind, before they are returned to the caller.
    fn has_read(&self, records: &mut dyn Iterator<Item = &SignedRecord>) {
        let _ = records;
    }
}

impl<F: StoreInterceptor> CheckpointStore for F {
    fn create_run(&self, run: &NewRun) -> Result<(), CreateRunError> {
        self.behind().create_run(run)
    }

    fn commit(
        &self,
        guard: &RunGuard,
        batch: &[SignedRecord],
        update: &RunUpdate,
        synchronous: SyncMode,
    ) -> Result<(), CommitError> {
        StoreInterceptor::commit(self, guard, batch, update, synchronous)
    }

    fn run(&self, run: &str) -> Result<Option<RunRow>, ReadError> {
        self.behind().run(run)
    }

    fn listed_run(&self, run: &str) -> Result<Option<RunRow>, ReadError> {
        self.behind().listed_run(run)
    }

    fn list(&self, filter: &RunFilter) -> Result<RunList, ReadError> {
        self.behind().list(filter)
    }

    fn resolve(&self, name: &str) -> Result<String, ResolveError> {
        self.behind().resolve(name)
    }

    fn checkpoint(
        &self,
        run: &str,
        namespace: &str,
        at: CheckpointPosition,
    ) -> Result<Option<SignedRecord>, ReadError> {
        let found = self.behind().checkpoint(run, namespace, at)?;
        self.has_read(&mut found.iter());
        Ok(found)
    }

    fn checkpoints(
        &self,
        run: &str,
        namespace: &str,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<SignedRecord>, ReadError> {
        let page = self.behind().checkpoints(run, namespace, after, limit)?;
        self.has_read(&mut page.iter());
        Ok(page)
    }

    fn checkpoints_alone(
        &self,
        run: &str,
        namespace: &str,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<SignedRecord>, ReadError> {
        let page = self.behind().checkpoints_alone(run, namespace, after, limit)?;
        self.has_read(&mut page.iter());
        Ok(page)
    }

    fn checkpoints_before(
        &self,
        run: &str,
        namespace: &str,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<SignedRecord>, ReadError> {
        let page = self.behind().checkpoints_before(run, namespace, before, limit)?;
        self.has_read(&mut page.iter());
        Ok(page)
    }

    fn pending_after(
        &self,
        run: &str,
        namespace: &str,
        after: Option<(RecordKind, &str)>,
        limit: usize,
    ) -> Result<Vec<SignedRecord>, ReadError> {
        let page = self.behind().pending_after(run, namespace, after, limit)?;
        self.has_read(&mut page.iter());
        Ok(page)
    }

    fn history(&self, run: &str, after: u64, limit: usize) -> Result<Vec<NumberedRecord>, ReadError> {
        let page = self.behind().history(run, after, limit)?;
        self.has_read(&mut page.iter().map(|numbered| &numbered.record));
        Ok(page)
    }

    fn status_at(&self, run: &str, before: u64) -> Result<Option<SignedRecord>, ReadError> {
        self.behind().status_at(run, before)
    }

    fn history_length(&self, run: &str) -> Result<u64, ReadError> {
        self.behind().history_length(run)
    }

    fn values(
        &self,
        run: &str,
        namespace: &str,
        wanted: &[WantedChannel<'_>],
    ) -> Result<Vec<ChannelValue>, ReadError> {
        self.behind().values(run, namespace, wanted)
    }

    fn put_snapshot(&self, digest: &Digest, text: &str) -> Result<(), SnapshotError> {
        self.behind().put_snapshot(digest, text)
    }

    fn snapshot(&self, digest: &Digest) -> Result<Option<String>, ReadError> {
        self.behind().snapshot(digest)
    }

    fn has_snapshot(&self, digest: &Digest) -> Result<bool, ReadError> {
        self.behind().has_snapshot(digest)
    }

    fn results(
        &self,
        key: &Digest,
        window: RangeInclusive<Timestamp>,
    ) -> Result<Vec<SignedCacheEntry>, ReadError> {
        self.behind().results(key, window)
    }

    fn namespaces(&self, run: &str) -> Result<Vec<String>, ReadError> {
        self.behind().namespaces(run)
    }

    fn pruning(&self, run: &str, namespace: &str) -> Result<Option<String>, ReadError> {
        self.behind().pruning(run, namespace)
    }

    fn acquire(&self, run: &str, owner: &Owner) -> Result<RunGuard, AcquireError> {
        self.behind().acquire(run, owner)
    }

    fn holder(&self, run: &str) -> Result<Holder, ReadError> {
        self.behind().holder(run)
    }
}
