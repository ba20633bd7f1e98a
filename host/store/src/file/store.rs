//! The store of runs in a folder.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use graph_core::digest::Digest;
use graph_core::policy::Durability;
use graph_core::record::{ChannelValue, ErrorCode, RecordKind, SignedCacheEntry, SignedRecord};
use graph_core::time::Timestamp;

use super::epoch;
use super::format;
use super::log::{self, Log, OpenLog, fault, write_atomic};
use super::owner;
use crate::bounds::{LARGEST_SNAPSHOT, Page};
use crate::error::{
    AcquireError, CommitError, CreateRunError, Loss, ReadError, ReadableData, ResolveError, SnapshotError,
    StorageError, location,
};
use crate::held::{FilePlace, FolderPlace, HeldFolder, Opening};
use crate::resolve::{self, Names};
use crate::run::{NewRun, RunFilter, RunRow, RunUpdate, Snapshot};
use crate::store::{
    CheckpointPosition, CheckpointStore, Holder, NumberedRecord, Owner, RunGuard, RunList, SyncMode,
    WantedChannel,
};
use crate::{names, plan};

/// The digits of the number in the name of a run's folder.
const DIGITS: usize = 10;

/// The name of a run's folder until the folder is complete.
const HALF: &str = "new";

/// Maximum number of runs whose record positions a handle keeps in memory.
const LOGS: usize = 16;

/// Stores runs in a folder, as files that a person can read. A handle keeps the positions of the records of recently
/// used runs in memory, and reads each record on demand. Clones share these positions. Several processes may use the
/// same folder at the same time.
#[derive(Clone)]
pub struct FileStore {
    folder: FolderPlace,
    runs: FolderPlace,
    snapshots: FolderPlace,
    results: FolderPlace,
    logs: Arc<Mutex<HashMap<String, Log>>>,
    /// The folders of runs as they were found last. Finding a run among all folders takes time in proportion to their
    /// number.
    found: Arc<Mutex<HashMap<String, RunFolder>>>,
    listener: Option<Listener>,
}

/// A function that is called after every commit that contains a checkpoint or a status, with the store and the id of
/// the run.
pub type Listener = Arc<dyn Fn(&dyn CheckpointStore, &str) + Send + Sync>;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RunFolder {
    /// The number of the run in the order of creation.
    number: u64,
    run: String,
    /// The name of the folder.
    pub(super) name: OsString,
}

/// The lock that a process holds while it adds or removes runs and texts.
#[derive(Debug)]
pub(super) struct FolderLock {
    _file: File,
}

impl FileStore {
    /// Returns the store in a folder, conventionally `.ai/state/files` in the project. The folder is created when
    /// something is stored.
    pub fn at(folder: impl Into<FolderPlace>) -> Self {
        let folder = folder.into();
        let [runs, snapshots, results] = ["runs", "snapshots", "results"].map(|name| folder.child(name));
        Self { folder, runs, snapshots, results, logs: Arc::default(), found: Arc::default(), listener: None }
    }

    /// Sets a listener, which is notified of commits once they are stored.
    #[must_use]
    pub fn notifying(self, listener: Listener) -> Self {
        Self { listener: Some(listener), ..self }
    }

    /// Returns the path of the store's folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the place of the store's folder.
    pub(super) fn place_of_all(&self) -> &FolderPlace {
        &self.folder
    }

    /// Reports whether the folder that is held open was removed.
    fn is_removed(&self) -> bool {
        let is_removed = |place: &FolderPlace| place.get().and_then(|folder| folder.is_removed());
        [&self.folder, &self.runs].into_iter().any(|place| is_removed(place).is_ok_and(|removed| removed))
    }

    /// Reports whether the folder `runs` exists, which is created with the first run.
    pub fn exists(&self) -> bool {
        self.runs.exists()
    }

    /// Refuses a folder that a later version of this program has written.
    pub fn check(&self) -> Result<(), StorageError> {
        format::check(&self.folder)
    }

    /// Writes the current version into the store. Nothing else in an older store has to change.
    pub fn bring_up_to_date(&self) -> Result<(), StorageError> {
        self.lock_folder().map(drop)
    }

    pub(super) fn runs_folder(&self) -> &FolderPlace {
        &self.runs
    }

    pub(super) fn snapshots_folder(&self) -> &FolderPlace {
        &self.snapshots
    }

    pub(super) fn results_folder(&self) -> &FolderPlace {
        &self.results
    }

    pub(super) fn snapshot_file(&self, digest: &Digest) -> FilePlace {
        self.snapshots.file(digest.hex())
    }

    /// Returns the folder of a run. It is opened for each use, because many runs may be known, but few are used.
    pub(super) fn run_folder(&self, place: &RunFolder) -> FolderPlace {
        self.runs.child(&place.name)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, HashMap<String, Log>> {
        // A log that a panic left inconsistent was taken out of the map before, and is read again: see `commit`.
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the folders of all runs, in order of creation.
    pub(super) fn places(&self) -> Result<Vec<RunFolder>, StorageError> {
        self.scan(&mut RunList::default())
    }

    /// Returns the folders of all runs, and adds a refusal to `listed` for each folder whose name does not contain a
    /// valid id of a run.
    fn scan(&self, listed: &mut RunList) -> Result<Vec<RunFolder>, StorageError> {
        format::check(&self.folder)?;
        let names = match self.runs.get().and_then(|folder| folder.names()) {
            Ok(names) => names,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(fault(self.runs.path(), &error)),
        };
        let mut places = Vec::new();
        for name in names {
            #[cfg(test)]
            tests::LOOKED_AT.set(tests::LOOKED_AT.get() + 1);
            // A folder with another name does not belong to the store.
            let Some((number, run)) = name.to_str().and_then(|name| name.split_once('-')) else { continue };
            if let (Ok(number), Some(run)) = (number.parse(), unescape(run)) {
                match names::run_id("name", &run) {
                    Ok(()) => places.push(RunFolder { number, run, name }),
                    Err(bad) => listed.refuse(StorageError::Corrupt {
                        location: location(self.runs.path()),
                        reason: format!("a folder of it is refused: {bad}"),
                        readable: ReadableData::OtherRuns,
                    }),
                }
            }
        }
        places.sort();
        Ok(places)
    }

    pub(super) fn place(&self, run: &str) -> Result<Option<RunFolder>, StorageError> {
        format::check(&self.folder)?;
        let known = self.found().get(run).cloned();
        // If the folder still exists, it still belongs to the same run, whose id is in its name.
        if let Some(place) = known.filter(|place| self.runs.file(&place.name).exists()) {
            return Ok(Some(place));
        }
        let mut found = HashMap::new();
        for place in self.places()? {
            // If several folders name the same run, the first one is used.
            found.entry(place.run.clone()).or_insert(place);
        }
        let place = found.get(run).cloned();
        *self.found() = found;
        Ok(place)
    }

    fn found(&self) -> MutexGuard<'_, HashMap<String, RunFolder>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a run's log up to its end and passes it to `look`; `None` if there is no such run.
    pub(super) fn with_log<T>(
        &self,
        run: &str,
        look: impl FnOnce(&mut OpenLog<'_>) -> T,
    ) -> Result<Option<T>, StorageError> {
        let mut logs = self.lock();
        if !logs.get(run).is_some_and(Log::is_there) {
            logs.remove(run);
            let Some(place) = self.place(run)? else { return Ok(None) };
            keep_log(&mut logs, run, Log::for_run(&self.run_folder(&place), run));
        }
        let Some(log) = logs.get_mut(run) else { return Ok(None) };
        Ok(Some(look(&mut log.open()?)))
    }

    /// Takes a run's log out of memory in order to write to it. The caller puts it back when it has succeeded, so that
    /// the log is read again after a failure. `None` if there is no such run.
    fn take_log(&self, logs: &mut HashMap<String, Log>, run: &str) -> Result<Option<Log>, StorageError> {
        if let Some(log) = logs.remove(run).filter(Log::is_there) {
            return Ok(Some(log));
        }
        let Some(place) = self.place(run)? else { return Ok(None) };
        format::stamp(&self.folder)?;
        Ok(Some(Log::for_run(&self.run_folder(&place), run)))
    }

    /// Returns the file that is locked while a process on this machine holds a run; `None` if there is no such run.
    pub fn lock_file(&self, run: &str) -> Option<FilePlace> {
        self.place(run).ok().flatten().map(|place| owner::lock_file(&self.run_folder(&place)))
    }

    /// Reads from a run. If the log is damaged, the result counts only if `is_whole` accepts it; otherwise the damage
    /// is returned as the error.
    fn read<T>(
        &self,
        run: &str,
        none: T,
        is_whole: impl FnOnce(&T) -> bool,
        read: impl FnOnce(&mut OpenLog<'_>) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        let found = self.with_log(run, |open| {
            let found = read(open);
            match &open.log.damage {
                Some(damage) if !found.as_ref().is_ok_and(is_whole) => Err(damage.clone().into()),
                _ => found,
            }
        })?;
        found.unwrap_or(Ok(none))
    }

    /// Returns a run's row without its texts. If the end of the log is damaged, it is the row before the damage.
    fn last_row(&self, place: &RunFolder) -> Result<Option<RunRow>, ReadError> {
        if let Some(row) = log::last_row(&self.run_folder(place).file(log::NAME), &place.run)? {
            return Ok(Some(row));
        }
        self.listed_run(&place.run)
    }

    fn fits(&self, digest: &Digest, text: &str) -> Result<bool, SnapshotError> {
        let file = self.snapshot_file(digest);
        match file.read(LARGEST_SNAPSHOT) {
            Ok(kept) if kept == text.as_bytes() => Ok(true),
            Ok(_) => Err(SnapshotError::Differs { digest: *digest }),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(fault(&file.path(), &error).into()),
        }
    }

    /// Locks the folder, so that no other process adds or removes runs and texts.
    pub(super) fn lock_folder(&self) -> Result<FolderLock, StorageError> {
        let place = self.folder.file("lock");
        let lock = || -> io::Result<File> {
            let file = place.open(Opening::Make)?;
            file.lock()?;
            Ok(file)
        };
        format::check(&self.folder)?;
        let lock =
            lock().map(|file| FolderLock { _file: file }).map_err(|error| fault(&place.path(), &error))?;
        format::stamp(&self.folder)?;
        Ok(lock)
    }

    /// Checks that a run can be added, and returns the texts that are not stored yet.
    pub(super) fn check_new<'r>(
        &self,
        _: &FolderLock,
        run: &'r NewRun,
    ) -> Result<Vec<&'r Snapshot>, CreateRunError> {
        if self.place(&run.row.run_id)?.is_some() {
            return Err(CreateRunError::Exists { run: run.row.run_id.clone() });
        }
        let mut missing = Vec::new();
        for (index, snapshot) in run.snapshots.iter().enumerate() {
            let before = run.snapshots[..index].iter().find(|other| other.digest == snapshot.digest);
            if before.is_some_and(|other| other.text != snapshot.text) {
                return Err(SnapshotError::Differs { digest: snapshot.digest }.into());
            }
            if !self.fits(&snapshot.digest, &snapshot.text)? {
                missing.push(snapshot);
            }
        }
        Ok(missing)
    }

    pub(super) fn write_snapshot(&self, _: &FolderLock, snapshot: &Snapshot) -> Result<(), StorageError> {
        write_atomic(&self.snapshot_file(&snapshot.digest), snapshot.text.as_bytes(), true)
    }

    /// Creates the folder of a new run with the files that `fill` writes to it. It appears complete or not at all.
    pub(super) fn add<E: From<StorageError>>(
        &self,
        _: &FolderLock,
        run: &str,
        synchronous: SyncMode,
        fill: impl FnOnce(&FolderPlace) -> Result<(), E>,
    ) -> Result<(), E> {
        let number = self.places()?.last().map_or(1, |last| last.number.saturating_add(1));
        // A folder whose name has no number is ignored.
        let half = self.runs.child(HALF);
        let made = |error: &io::Error| fault(half.path(), error);
        let begun = || -> io::Result<HeldFolder> {
            let folder = self.runs.make()?;
            folder.remove_all(HALF)?;
            half.make().map(|_| folder)
        };
        let folder = begun().map_err(|error| made(&error))?;
        if let Err(error) = fill(&half) {
            // If the remains cannot be removed, they are ignored, and removed when the next run is added.
            let _ = folder.remove_all(HALF);
            return Err(error);
        }
        let whole = format!("{number:0DIGITS$}-{}", escape(run));
        folder.rename(HALF, whole).map_err(|error| made(&error))?;
        if synchronous == SyncMode::Full {
            folder.sync().map_err(|error| made(&error))?;
        }
        Ok(())
    }
}

/// Keeps a run's log in memory. If the maximum is reached, all other logs are forgotten first.
fn keep_log(logs: &mut HashMap<String, Log>, run: &str, log: Log) {
    if logs.len() >= LOGS {
        logs.clear();
    }
    logs.insert(run.to_owned(), log);
}

impl fmt::Debug for FileStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileStore").field("folder", &self.folder.path()).finish_non_exhaustive()
    }
}

impl CheckpointStore for FileStore {
    fn create_run(&self, run: &NewRun) -> Result<(), CreateRunError> {
        plan::check_run(run)?;
        let held = self.lock_folder()?;
        self.check_new(&held, run)?
            .into_iter()
            .try_for_each(|snapshot| self.write_snapshot(&held, snapshot))?;
        let synchronous = match run.row.durability {
            Durability::Sync => SyncMode::Full,
            Durability::Async | Durability::Exit => SyncMode::Normal,
        };
        let epoch = epoch::first(&self.folder)?;
        let create = |half: &FolderPlace| Log::create(half, &run.row, epoch, synchronous);
        Ok(self.add(&held, &run.row.run_id, synchronous, create)?)
    }

    fn commit(
        &self,
        guard: &RunGuard,
        batch: &[SignedRecord],
        update: &RunUpdate,
        synchronous: SyncMode,
    ) -> Result<(), CommitError> {
        let run = guard.run();
        let mut logs = self.lock();
        let Some(mut log) = self.take_log(&mut logs, run)? else {
            return Err(if self.is_removed() {
                StorageError::Gone { location: location(self.folder()) }.into()
            } else {
                plan::lost(guard, Loss::Removed)
            });
        };
        let results: Vec<_> = batch.iter().flat_map(|record| &record.results).collect();
        // Results are stored in separate files, and not in the log.
        let bare: Vec<SignedRecord>;
        let records = if results.is_empty() {
            batch
        } else {
            bare =
                batch.iter().map(|record| SignedRecord { results: Vec::new(), ..record.clone() }).collect();
            &bare
        };
        let durable = synchronous == SyncMode::Full;
        log.commit(guard, records, update, synchronous, || self.put_results(results.into_iter(), durable))?;
        keep_log(&mut logs, run, log);
        drop(logs);
        let tells =
            |record: &SignedRecord| matches!(record.kind, RecordKind::Checkpoint | RecordKind::Status);
        if let Some(listener) = self.listener.as_ref().filter(|_| batch.iter().any(tells)) {
            listener(self, run);
        }
        Ok(())
    }

    fn run(&self, run: &str) -> Result<Option<RunRow>, ReadError> {
        #[allow(
            clippy::redundant_closure_for_method_calls,
            reason = "the method itself is of one lifetime alone"
        )]
        self.read(run, None, Option::is_some, |open| open.row())
    }

    fn listed_run(&self, run: &str) -> Result<Option<RunRow>, ReadError> {
        self.read(run, None, Option::is_some, |open| Ok(open.listed_row()))
    }

    fn list(&self, filter: &RunFilter) -> Result<RunList, ReadError> {
        let limit = filter.limit.unwrap_or(usize::MAX);
        let mut listed = RunList::default();
        let places = self.scan(&mut listed)?;
        let end = match &filter.before {
            None => places.len(),
            Some(run) => places.iter().position(|place| place.run == *run).unwrap_or(0),
        };
        if filter.before.is_some() {
            // The first page has already listed the refusals.
            listed.refused.clear();
        }
        for place in places[..end].iter().rev() {
            if listed.rows.len() >= limit {
                break;
            }
            match self.last_row(place) {
                Ok(row) => listed.rows.extend(row.filter(|row| filter.matches(row))),
                Err(ReadError::Storage(error)) if error.code() == ErrorCode::Integrity => {
                    listed.refuse(error);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(listed)
    }

    fn resolve(&self, name: &str) -> Result<String, ResolveError> {
        resolve::resolve(name, &mut Folder(self))
    }

    fn checkpoint(
        &self,
        run: &str,
        namespace: &str,
        at: CheckpointPosition,
    ) -> Result<Option<SignedRecord>, ReadError> {
        // In a damaged log it is unknown which checkpoint is the newest.
        let known = !matches!(
            at,
            CheckpointPosition::Latest | CheckpointPosition::Step(_) | CheckpointPosition::StepWithin { .. }
        );
        self.read(run, None, |found| known && found.is_some(), |open| open.checkpoint(namespace, at))
    }

    fn checkpoints(
        &self,
        run: &str,
        namespace: &str,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<SignedRecord>, ReadError> {
        // A full page was read completely before the damage.
        let full = |found: &Vec<SignedRecord>| Page::is_full(found, limit);
        self.read(run, Vec::new(), full, |open| open.checkpoints(namespace, after, limit))
    }

    fn checkpoints_alone(
        &self,
        run: &str,
        namespace: &str,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<SignedRecord>, ReadError> {
        // A line of the log contains both the checkpoint and its values.
        let found = self.checkpoints(run, namespace, after, limit)?;
        Ok(found.into_iter().map(|found| SignedRecord { values: Vec::new(), ..found }).collect())
    }

    fn checkpoints_before(
        &self,
        run: &str,
        namespace: &str,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<SignedRecord>, ReadError> {
        let settled = |(_, is_settled): &(Vec<SignedRecord>, bool)| *is_settled;
        let none = (Vec::new(), true);
        let read = self.read(run, none, settled, |open| open.checkpoints_before(namespace, before, limit))?;
        Ok(read.0)
    }

    fn pending_after(
        &self,
        run: &str,
        namespace: &str,
        after: Option<(RecordKind, &str)>,
        limit: usize,
    ) -> Result<Vec<SignedRecord>, ReadError> {
        self.read(run, Vec::new(), |_| false, |open| open.pending(namespace, after, limit))
    }

    fn history(&self, run: &str, after: u64, limit: usize) -> Result<Vec<NumberedRecord>, ReadError> {
        let full =
            |found: &Vec<NumberedRecord>| Page::is_full(found.iter().map(|numbered| &numbered.record), limit);
        self.read(run, Vec::new(), full, |open| open.history(after, limit))
    }

    fn history_length(&self, run: &str) -> Result<u64, ReadError> {
        let length = self.with_log(run, |open| open.history_length())?;
        length.ok_or_else(|| ReadError::NotFound { run: run.to_owned() })
    }

    fn values(
        &self,
        run: &str,
        namespace: &str,
        wanted: &[WantedChannel<'_>],
    ) -> Result<Vec<ChannelValue>, ReadError> {
        let found = self.with_log(run, |open| {
            let found = open.values(namespace, wanted);
            match &open.log.damage {
                Some(damage) if found.is_err() => Err(damage.clone().into()),
                _ => found,
            }
        })?;
        // For a run that does not exist, every requested value is missing.
        found.unwrap_or_else(|| crate::memory::MemoryStore::new().values(run, namespace, wanted))
    }

    fn put_snapshot(&self, digest: &Digest, text: &str) -> Result<(), SnapshotError> {
        plan::check_snapshot(text)?;
        let held = self.lock_folder()?;
        if self.fits(digest, text)? {
            // The new modification time makes a process that is about to remove texts notice that this one is needed.
            let file = self.snapshot_file(digest);
            let touch = || file.open(Opening::Change)?.set_modified(SystemTime::now());
            return touch().map_err(|error| fault(&file.path(), &error).into());
        }
        Ok(self.write_snapshot(&held, &Snapshot { digest: *digest, text: text.into() })?)
    }

    fn snapshot(&self, digest: &Digest) -> Result<Option<String>, ReadError> {
        format::check(&self.folder)?;
        let file = self.snapshot_file(digest);
        let text = |bytes| String::from_utf8(bytes).map_err(|error| io::Error::other(error.utf8_error()));
        match file.read(LARGEST_SNAPSHOT).and_then(text) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(fault(&file.path(), &error).into()),
        }
    }

    fn has_snapshot(&self, digest: &Digest) -> Result<bool, ReadError> {
        Ok(self.snapshot_file(digest).entry().is_ok_and(|found| found.is_some_and(|found| found.is_file())))
    }

    fn results(
        &self,
        key: &Digest,
        window: RangeInclusive<Timestamp>,
    ) -> Result<Vec<SignedCacheEntry>, ReadError> {
        Ok(self.read_results(key, &window)?)
    }

    fn namespaces(&self, run: &str) -> Result<Vec<String>, ReadError> {
        self.read(run, Vec::new(), |_| true, |open| Ok(open.namespaces()))
    }

    fn pruning(&self, run: &str, namespace: &str) -> Result<Option<String>, ReadError> {
        self.read(run, None, |_| true, |open| Ok(open.pruning(namespace)))
    }

    fn acquire(&self, run: &str, owner: &Owner) -> Result<RunGuard, AcquireError> {
        let not_found = || AcquireError::NotFound { run: run.to_owned() };
        let place = self.place(run)?.ok_or_else(not_found)?;
        let folder = self.run_folder(&place);
        let lock = owner::lock(&folder, run)?;
        let mut logs = self.lock();
        let mut log = self.take_log(&mut logs, run)?.ok_or_else(not_found)?;
        let fence = log.acquire()?;
        keep_log(&mut logs, run, log);
        drop(logs);
        Ok(owner::say(&folder, run, owner, fence, lock)?)
    }

    fn holder(&self, run: &str) -> Result<Holder, ReadError> {
        match self.place(run)? {
            Some(place) => owner::holder(&self.run_folder(&place)),
            None => Err(ReadError::NotFound { run: run.to_owned() }),
        }
    }
}

/// Resolves names of runs.
struct Folder<'s>(&'s FileStore);

impl Names for Folder<'_> {
    fn last(&mut self) -> Result<Option<String>, StorageError> {
        for place in self.0.places()?.into_iter().rev() {
            let row = match self.0.last_row(&place) {
                Ok(row) => row,
                Err(ReadError::Storage(error)) => return Err(error),
                Err(_) => None,
            };
            if row.is_some_and(|row| row.parent_id.is_none()) {
                return Ok(Some(place.run));
            }
        }
        Ok(None)
    }

    fn beginning(&mut self, prefix: &str, limit: usize) -> Result<Vec<String>, StorageError> {
        let places = self.0.places()?;
        let mut runs: Vec<_> =
            places.into_iter().map(|place| place.run).filter(|run| run.starts_with(prefix)).collect();
        runs.sort();
        runs.truncate(limit);
        Ok(runs)
    }
}

/// Escapes a run's id for a file name: letters, digits, `_` and `-` are kept, any other byte becomes `%` and two
/// hexadecimal digits.
fn escape(run: &str) -> String {
    use std::fmt::Write as _;
    let mut name = String::with_capacity(run.len());
    for byte in run.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' {
            name.push(char::from(byte));
        } else {
            let _ = write!(name, "%{byte:02x}");
        }
    }
    name
}

/// Reverses [`escape`]; `None` if the name is malformed.
fn unescape(name: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some(first) = rest.bytes().next() {
        if first == b'%' {
            bytes.push(u8::from_str_radix(rest.get(1..3)?, 16).ok()?);
            rest = rest.get(3..)?;
        } else {
            bytes.push(first);
            rest = rest.get(1..)?;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
pub(super) mod tests {
    use std::cell::Cell;

    thread_local! {
        /// Number of entries in folders of runs that this thread has visited.
        pub(in super::super) static LOOKED_AT: Cell<u64> = const { Cell::new(0) };
    }
}
