//! Import of whole runs, and removal of data.

use std::io::{self, ErrorKind};
use std::time::UNIX_EPOCH;

use graph_core::digest::{Digest, DomainHasher};
use graph_core::time::Timestamp;

use super::epoch;
use super::log::{self, Log, fault};
use super::store::FileStore;
use crate::error::{ImportError, ReadError, RemoveError, StorageError};
use crate::held::{Entry, FolderPlace};
use crate::plan;
use crate::run::NewRun;
use crate::store::{NumberedRecord, RunGuard, SyncMode, Upkeep};
use crate::upkeep::{Cut, ReclaimedData, SnapshotEpoch};

impl Upkeep for FileStore {
    fn import_run(
        &self,
        run: &NewRun,
        records: &mut dyn Iterator<Item = Result<NumberedRecord, ImportError>>,
        prunings: &[(String, String)],
    ) -> Result<(), ImportError> {
        plan::check_run(run)?;
        let held = self.lock_folder()?;
        let missing = self.check_new(&held, run)?;
        let epoch = epoch::first(self.place_of_all())?;
        self.add(&held, &run.row.run_id, SyncMode::Full, |half| {
            Log::import(half, &run.row, records, prunings, epoch)?;
            // Records that are out of order were refused before, so that no texts are stored for them.
            missing.into_iter().try_for_each(|snapshot| self.write_snapshot(&held, snapshot))?;
            Ok(())
        })
    }

    fn remove_run(&self, guard: &RunGuard) -> Result<ReclaimedData, RemoveError> {
        let run = guard.run();
        let not_found = || RemoveError::NotFound { run: run.to_owned() };
        let _held = self.lock_folder()?;
        let place = self.place(run)?.ok_or_else(not_found)?;
        let found = self.with_log(run, |open| {
            open.check_fence(guard)?;
            Ok::<_, RemoveError>((open.size(), open.log.epoch()))
        })?;
        let (freed, epoch) = found.ok_or_else(not_found)??;
        self.lock().remove(run);
        epoch::retire(self.place_of_all(), epoch)?;
        let gone = format!("gone-{}", std::process::id());
        // A folder whose name has no number is ignored, so that the run disappears as a whole.
        let remove = || {
            let folder = self.runs_folder().get()?;
            folder.remove_all(&gone)?;
            folder.rename(&place.name, &gone)?;
            folder.remove_all(&gone)
        };
        remove().map_err(|error| fault(self.run_folder(&place).path(), &error))?;
        Ok(freed)
    }

    fn prune(&self, guard: &RunGuard, namespace: &str, cut: &Cut<'_>) -> Result<ReclaimedData, RemoveError> {
        let run = guard.run();
        let pruned = self.with_log(run, |open| match &open.log.damage {
            Some(damage) => Err(damage.clone().into()),
            None => open.prune(guard, namespace, cut),
        })?;
        // After a failed write, the log in memory differs from the file: it is read again.
        self.lock().remove(run);
        pruned.ok_or_else(|| RemoveError::NotFound { run: run.to_owned() })?
    }

    fn results_size(&self, expired: Option<Timestamp>) -> Result<ReclaimedData, ReadError> {
        Ok(self.expired_results(expired, false)?)
    }

    fn remove_results(&self, expired: Option<Timestamp>) -> Result<ReclaimedData, RemoveError> {
        Ok(self.expired_results(expired, true)?)
    }

    fn snapshots(&self) -> Result<Vec<Digest>, ReadError> {
        let mut digests = Vec::new();
        each(self.snapshots_folder(), |name, _| {
            digests.extend(format!("sha256:{name}").parse::<Digest>());
            Ok(())
        })?;
        digests.sort_unstable();
        Ok(digests)
    }

    fn mark(&self) -> Result<SnapshotEpoch, ReadError> {
        Ok(fingerprint(self)?)
    }

    fn remove_snapshots(
        &self,
        digests: &[Digest],
        mark: SnapshotEpoch,
    ) -> Result<Option<ReclaimedData>, RemoveError> {
        // From here on, no other process can add a run or a text.
        let _held = self.lock_folder()?;
        if fingerprint(self)? != mark {
            return Ok(None);
        }
        let mut freed = ReclaimedData::default();
        for digest in digests {
            let file = self.snapshot_file(digest);
            let failed = |error: io::Error| fault(&file.path(), &error);
            let Some(length) = file.entry().map_err(failed)?.map(|found| found.length()) else { continue };
            file.remove().map_err(failed)?;
            freed += ReclaimedData { records: 1, bytes: length };
        }
        Ok(Some(freed))
    }
}

/// Returns a fingerprint of the store: of the names, lengths and times of all logs and texts.
fn fingerprint(store: &FileStore) -> Result<SnapshotEpoch, StorageError> {
    let mut seen = Vec::new();
    let mut note = |name: &str, found: Entry| -> io::Result<()> {
        let changed = found.modified().duration_since(UNIX_EPOCH).unwrap_or_default();
        seen.push(format!("{name} {} {}", found.length(), changed.as_nanos()));
        Ok(())
    };
    for place in store.places()? {
        let folder = store.run_folder(&place);
        let log = folder.file(log::NAME);
        let noted = log
            .entry()
            .and_then(|found| note(&folder.path().to_string_lossy(), found.ok_or(ErrorKind::NotFound)?));
        noted.map_err(|error| fault(&log.path(), &error))?;
    }
    each(store.snapshots_folder(), &mut note)?;
    seen.sort_unstable();
    let digest = seen
        .iter()
        .fold(DomainHasher::new("graph-host/files/v1"), |hasher, line| hasher.field(line.as_bytes()))
        .finish();
    let number = digest.as_bytes().iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte));
    Ok(SnapshotEpoch(number))
}

/// Visits the files of a folder that may not exist.
fn each(
    folder: &FolderPlace,
    mut visit: impl FnMut(&str, Entry) -> io::Result<()>,
) -> Result<(), StorageError> {
    let failed = |error: io::Error| fault(folder.path(), &error);
    let held = match folder.get() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        held => held.map_err(failed)?,
    };
    for name in held.names().map_err(failed)? {
        let found = held.entry(&name).map_err(failed)?.ok_or_else(|| failed(ErrorKind::NotFound.into()))?;
        visit(&name.to_string_lossy(), found).map_err(failed)?;
    }
    Ok(())
}
