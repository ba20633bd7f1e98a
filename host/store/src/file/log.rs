//! The log of one run, and what it comes to.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use super::line::{DIGITS, Entry, Line};
use super::store::write_atomic;
use crate::error::{CommitError, ReadError, StorageError};
use crate::memory::MemoryStore;
use crate::regular;
use crate::run::{NewRun, RunRow, RunUpdate};
use crate::store::{At, CheckpointStore as _, Numbered, Synchronous, Upkeep as _};

use graph_core::record::{RecordKind, SignedRecord};

/// The name of a run's log in its folder.
const NAME: &str = "log";

/// A run as far as its log has been read.
#[derive(Debug)]
pub(super) struct Log {
    file: PathBuf,
    run: String,
    /// What the lines so far come to: a store with this run alone.
    pub(super) held: MemoryStore,
    /// Where the next line begins.
    end: u64,
    /// The digest of the first line, as text: it changes when the log is written anew.
    first: Vec<u8>,
    generation: u64,
    /// What is wrong with that line, if something is.
    pub(super) damage: Option<StorageError>,
}

/// What a system error means for a store.
pub(super) fn fault(file: &Path, error: &io::Error) -> StorageError {
    let file = file.to_owned();
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StorageError::Full { file },
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            StorageError::NotWritable { file, reason: error.to_string() }
        }
        _ => StorageError::Io { file, reason: error.to_string() },
    }
}

impl Log {
    /// Writes the first line of a new run into its folder.
    pub(super) fn create(folder: &Path, row: &RunRow, synchronous: Synchronous) -> Result<(), StorageError> {
        let path = folder.join(NAME);
        let line = Line { row: row.clone(), records: Vec::new(), generation: 0, prunings: Vec::new() };
        Self::begin(&path, &line, synchronous)
    }

    /// Writes the first line of a run that comes from elsewhere.
    pub(super) fn import(
        folder: &Path,
        row: &RunRow,
        records: &[Numbered],
        prunings: &[(String, String)],
    ) -> Result<(), StorageError> {
        let records = records.iter().map(Entry::from).collect();
        let line = Line { row: row.clone(), records, generation: 1, prunings: prunings.to_vec() };
        Self::begin(&folder.join(NAME), &line, Synchronous::Full)
    }

    fn begin(path: &Path, line: &Line, synchronous: Synchronous) -> Result<(), StorageError> {
        let write = || {
            let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
            file.write_all(&line.encode()?)?;
            if synchronous == Synchronous::Full { file.sync_all() } else { Ok(()) }
        };
        write().map_err(|error| fault(path, &error))
    }

    /// The log of a run that is there, not read yet.
    pub(super) fn of(folder: &Path, run: &str) -> Self {
        Self {
            file: folder.join(NAME),
            run: run.to_owned(),
            held: MemoryStore::new(),
            end: 0,
            first: Vec::new(),
            generation: 0,
            damage: None,
        }
    }

    /// Reads what has been added since.
    pub(super) fn refresh(&mut self) -> Result<(), StorageError> {
        let mut read = || {
            regular::check(&self.file)?;
            let mut file = File::open(&self.file)?;
            // Whoever commits must not cut a line off while it is read.
            file.lock_shared()?;
            self.read_on(&mut file)
        };
        let lines = read();
        let lines = lines.map_err(|error| fault(&self.file, &error))?;
        self.take(&lines);
        Ok(())
    }

    /// Everything behind what has been read; all of it where the log was written anew.
    fn read_on(&mut self, file: &mut File) -> io::Result<Vec<u8>> {
        let mut first = Vec::new();
        file.seek(SeekFrom::Start(0))?;
        Read::by_ref(file).take(DIGITS as u64).read_to_end(&mut first)?;
        if first != self.first {
            (self.held, self.end, self.damage) = (MemoryStore::new(), 0, None);
            self.first = first;
        }
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(self.end))?;
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Takes lines that follow; one without its end is left for later.
    fn take(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while self.damage.is_none()
            && let Some(length) = rest.iter().position(|byte| *byte == b'\n')
        {
            if let Err(reason) = Line::decode(&rest[..length]).and_then(|line| self.apply(line)) {
                self.damage = Some(self.damaged(&reason));
                return;
            }
            self.end += length as u64 + 1;
            rest = &rest[length + 1..];
        }
    }

    fn apply(&mut self, line: Line) -> Result<(), String> {
        let run = &self.run;
        if line.row.run_id != *run {
            return Err(format!("a line is of run {}", line.row.run_id));
        }
        if self.end == 0 {
            let new = NewRun { row: line.row, snapshots: Vec::new() };
            let records: Vec<_> = line.records.into_iter().map(|entry| entry.numbered(run)).collect();
            self.generation = line.generation;
            return self.held.import_run(&new, &records, &line.prunings).map_err(|error| error.to_string());
        }
        let records: Vec<SignedRecord> = line.records.into_iter().map(|entry| entry.record(run)).collect();
        self.held
            .commit(run, &records, &RunUpdate::default(), Synchronous::Normal)
            .map_err(|error| error.to_string())?;
        self.held.put_row(line.row);
        Ok(())
    }

    fn damaged(&self, reason: &str) -> StorageError {
        let newest = self.held.checkpoint(&self.run, "", At::Latest).ok().flatten();
        let readable = match newest {
            Some(newest) => format!(
                "the checkpoints of run {} up to number {} can still be read",
                self.run, newest.sequence
            ),
            None => format!("no checkpoint of run {} can be read", self.run),
        };
        StorageError::Corrupt {
            file: self.file.clone(),
            reason: format!("at byte {}, {reason}", self.end),
            readable,
        }
    }

    /// Writes the log anew, with what is held alone. Nobody else may write to it meanwhile.
    pub(super) fn rewrite(&mut self) -> Result<(), ReadError> {
        let Some(row) = self.held.run(&self.run)? else {
            return Err(ReadError::NotFound { run: self.run.clone() });
        };
        let mut records: Vec<Entry> =
            self.held.history(&self.run, 0, usize::MAX)?.iter().map(Entry::from).collect();
        let mut prunings = Vec::new();
        for namespace in self.held.namespaces(&self.run)? {
            // Status records are part of the history.
            let waiting = self.held.pending(&self.run, &namespace)?;
            records
                .extend(waiting.iter().filter(|record| record.kind != RecordKind::Status).map(Entry::from));
            if let Some(note) = self.held.pruning(&self.run, &namespace)? {
                prunings.push((namespace, note));
            }
        }
        let line = Line { row, records, generation: self.generation.saturating_add(1), prunings };
        let bytes = line.encode().map_err(|error| fault(&self.file, &error.into()))?;
        write_atomic(&self.file, &bytes, true)?;
        Ok(())
    }

    /// Adds a commit as one line. After an error what is held here is not to be used any more.
    pub(super) fn commit(
        &mut self,
        batch: &[SignedRecord],
        update: &RunUpdate,
        synchronous: Synchronous,
        before: impl FnOnce() -> Result<(), StorageError>,
    ) -> Result<(), CommitError> {
        let mut open = || {
            regular::check(&self.file)?;
            let mut file = OpenOptions::new().read(true).write(true).open(&self.file)?;
            file.lock()?;
            let lines = self.read_on(&mut file)?;
            Ok((file, lines))
        };
        let (mut file, lines) = open().map_err(|error| fault(&self.file, &error))?;
        self.take(&lines);
        if let Some(damage) = &self.damage {
            return Err(damage.clone().into());
        }
        self.held.commit(&self.run, batch, update, synchronous)?;
        let Ok(Some(row)) = self.held.run(&self.run) else {
            return Err(CommitError::NotFound { run: self.run.clone() });
        };
        before()?;
        let records = batch.iter().map(Entry::from).collect();
        let line = Line { row, records, generation: 0, prunings: Vec::new() };
        let end = self.end;
        let mut write = || -> io::Result<u64> {
            let line = line.encode()?;
            // What another commit did not get to the end of.
            file.set_len(end)?;
            file.seek(SeekFrom::Start(end))?;
            if let Err(error) = file.write_all(&line) {
                // The line has no end without its last byte, so what is left of it means nothing.
                let _ = file.set_len(end);
                return Err(error);
            }
            if synchronous == Synchronous::Full {
                file.sync_data()?;
            }
            Ok(line.len() as u64)
        };
        self.end += write().map_err(|error| CommitError::from(fault(&self.file, &error)))?;
        Ok(())
    }
}
