//! Reads the records of a run for its replay, and verifies them while reading.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use graph_core::record::{Record, RecordKind};
use graph_core::trust::VerifyingKey;
use graph_store::{CheckpointStore, RunRow};
use graph_walker::replay::{CheckpointSource, RecordedRun, StoredCheckpoint};

use crate::error::{Error, Result};
use crate::run::restore;

/// Number of checkpoints that are held in memory: a few of each active run of a tree.
const HELD: usize = 16;

/// The checkpoints of a run and its child runs, which are read from the store on demand.
#[derive(Debug)]
pub(super) struct StoredCheckpoints {
    store: Arc<dyn CheckpointStore>,
    run: String,
    /// Most recently read checkpoints, the newest first.
    held: Mutex<VecDeque<Arc<StoredCheckpoint>>>,
    /// Error of a checkpoint that could not be read.
    failed: Mutex<Option<Error>>,
}

impl StoredCheckpoints {
    pub(super) fn new(store: &Arc<dyn CheckpointStore>, run: &str) -> Self {
        let (held, failed) = (Mutex::default(), Mutex::default());
        Self { store: Arc::clone(store), run: run.to_owned(), held, failed }
    }

    /// Returns the error of a checkpoint that could not be read, if there is one: results after it are invalid.
    pub(super) fn check(&self) -> Result<()> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }

    /// Returns a checkpoint that exists; it is an error if it cannot be read.
    pub(super) fn checkpoint(&self, namespace: &str, sequence: u64) -> Result<Arc<StoredCheckpoint>> {
        if let Some(stored) = self.read(namespace, sequence) {
            return Ok(stored);
        }
        self.check()?;
        Err(self.gone(sequence))
    }

    fn gone(&self, sequence: u64) -> Error {
        Error::integrity(format!("checkpoint {sequence} of run {} is gone", self.run))
    }

    fn fetch(&self, namespace: &str, sequence: u64) -> Result<StoredCheckpoint> {
        let found = self.store.checkpoints(&self.run, namespace, sequence.checked_sub(1), 1)?.pop();
        let record = found.filter(|record| record.sequence == sequence).ok_or_else(|| self.gone(sequence))?;
        match record.decode().map_err(|error| Error::integrity(error.to_string()).caused_by(error))? {
            Record::Checkpoint(checkpoint) => {
                Ok(StoredCheckpoint { checkpoint: *checkpoint, digest: record.digest, values: record.values })
            }
            _ => Err(self.gone(sequence)),
        }
    }
}

impl CheckpointSource for StoredCheckpoints {
    /// Reads a checkpoint, from memory if it is held.
    fn read(&self, namespace: &str, sequence: u64) -> Option<Arc<StoredCheckpoint>> {
        let is_wanted = |stored: &Arc<StoredCheckpoint>| {
            stored.checkpoint.sequence == sequence && stored.checkpoint.namespace == namespace
        };
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = held.iter().find(|stored| is_wanted(stored)) {
            return Some(Arc::clone(found));
        }
        match self.fetch(namespace, sequence) {
            Ok(stored) => {
                let stored = Arc::new(stored);
                held.truncate(HELD - 1);
                held.push_front(Arc::clone(&stored));
                Some(stored)
            }
            Err(error) => {
                self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                None
            }
        }
    }
}

/// Reads the records of a run and its child runs.
pub(super) fn read(
    store: &dyn CheckpointStore,
    row: &RunRow,
    checkpoints: Arc<StoredCheckpoints>,
    key: &VerifyingKey,
) -> Result<RecordedRun> {
    let run = &row.run_id;
    let mut recorded = RecordedRun::new(run, row.durability, checkpoints);
    let mut namespaces = store.namespaces(run)?;
    if !namespaces.iter().any(String::is_empty) {
        namespaces.push(String::new());
    }
    if namespaces.len() > 1 {
        read_stops(store, run, key, &mut recorded)?;
    }
    for namespace in namespaces {
        let (mut verifier, _) = restore::verifier(store, run, &namespace, *key)?;
        restore::each_with_values(store, run, &namespace, |record| {
            let checkpoint =
                verifier.checkpoint(record).map_err(|error| restore::broken(run, record.sequence, &error))?;
            recorded.add_checkpoint(&checkpoint);
            Ok(())
        })?;
        restore::each_pending(store, run, &namespace, |record| {
            recorded.add_pending(
                record.open(key).map_err(|error| Error::integrity(error.to_string()).caused_by(error))?,
            );
            Ok(())
        })?;
    }
    Ok(recorded)
}

/// Reads the stops of child runs from the history.
fn read_stops(
    store: &dyn CheckpointStore,
    run: &str,
    key: &VerifyingKey,
    recorded: &mut RecordedRun,
) -> Result<()> {
    restore::each_of_history(store, run, 0, |numbered| {
        let record = &numbered.record;
        if record.kind != RecordKind::Status || record.namespace.is_empty() {
            return Ok(());
        }
        let opened =
            record.open(key).map_err(|error| Error::integrity(error.to_string()).caused_by(error))?;
        if let Record::Status(status) = opened {
            recorded.add_stop(status);
        }
        Ok(())
    })
}
