//! The log of one run, and the positions of its records.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use graph_core::record::{ChannelValue, RecordKind, SignedRecord};

use super::channel_span::check_span;
use super::index::{Index, IndexedFields, RecordPosition};
use super::line::{
    self, CommitLine, DIGITS, EntryOutline, HOLE, LONGEST, LineEntry, LineError, LineLookup, LineOutline,
    LineText,
};
use crate::bounds::{self, LARGEST_READ, Page};
use crate::error::{
    CommitError, ImportError, Loss, ReadError, ReadableData, RemoveError, StorageError, location,
};
use crate::held::{FilePlace, FolderPlace, Opening, WriteOptions};
use crate::plan;
use crate::run::{RunRow, RunUpdate};
use crate::store::{CheckpointPosition, Fence, NumberedRecord, RunGuard, SyncMode, WantedChannel};
use crate::upkeep::{Cut, ReclaimedData};

/// Returns a checkpoint without its values.
fn alone(found: SignedRecord) -> SignedRecord {
    SignedRecord { values: Vec::new(), ..found }
}

/// The name of a run's log in its folder.
pub(super) const NAME: &str = "log";

/// The state of a run's log as far as it has been read: the positions of its records, without the records.
#[derive(Debug)]
pub(super) struct Log {
    folder: FolderPlace,
    file: FilePlace,
    run: String,
    index: Index,
    /// The row, without its texts.
    row: Option<RunRow>,
    /// The position of the line that has the texts of the row, if one has.
    texts: Option<u64>,
    prunings: Vec<(String, String)>,
    /// The run's epoch, and the digest of the last record of the last commit.
    fence: Fence,
    /// True if a process has acquired the run since the run was created.
    taken_up: bool,
    /// The position at which the next line begins.
    end: u64,
    /// The digest of the first line, as text. It changes when the log is rewritten.
    first: Vec<u8>,
    generation: u64,
    /// True if the first line has the `head`.
    has_head: bool,
    /// The damage at `end`, if the log is damaged there. Nothing after it is read.
    pub(super) damage: Option<StorageError>,
}

/// A log with an open file, which remains the same even if another process replaces the log.
pub(super) struct OpenLog<'l> {
    pub(super) log: &'l mut Log,
    file: File,
}

/// Converts a system error into an error of the store.
pub(super) fn fault(file: &Path, error: &io::Error) -> StorageError {
    let location = location(file);
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => StorageError::Full { location },
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            StorageError::NotWritable { location, reason: error.to_string() }
        }
        _ => StorageError::Io { location, reason: error.to_string() },
    }
}

/// Writes a file that appears complete or not at all. If `durable`, it is on stable storage when this returns.
pub(super) fn write_atomic(place: &FilePlace, bytes: &[u8], durable: bool) -> Result<(), StorageError> {
    write_atomic_with(place, durable, |file| file.write_all(bytes))
}

/// Writes a file like [`write_atomic`], with a function that fills it.
fn write_atomic_with(
    place: &FilePlace,
    durable: bool,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), StorageError> {
    place.replace(WriteOptions::shared(durable), fill).map_err(|error| fault(&place.path(), &error))
}

/// Converts the refusal of a line that is too long into an I/O error, for a log that is created or rewritten.
fn too_long(reason: LineError) -> io::Error {
    match reason {
        LineError::Failed(error) => error,
        LineError::TooLong => io::Error::other(format!("a line would be longer than {} MiB", LONGEST >> 20)),
    }
}

impl Log {
    /// Writes the first line of a new run into its folder.
    pub(super) fn create(
        folder: &FolderPlace,
        row: &RunRow,
        epoch: u64,
        synchronous: SyncMode,
    ) -> Result<(), StorageError> {
        let line = CommitLine { epoch: begun_at(epoch), ..CommitLine::new(row) };
        Self::begin(&folder.file(NAME), &line, synchronous, |_, end| Ok(end))
    }

    /// Writes the log of a run that is imported.
    pub(super) fn import(
        folder: &FolderPlace,
        row: &RunRow,
        records: &mut dyn Iterator<Item = Result<NumberedRecord, ImportError>>,
        prunings: &[(String, String)],
        epoch: u64,
    ) -> Result<(), ImportError> {
        let file = folder.file(NAME);
        let mut refused = None;
        let line = CommitLine { generation: 1, prunings, epoch: begun_at(epoch), ..CommitLine::new(row) };
        let begun = Self::begin(&file, &line, SyncMode::Full, |file, mut end| {
            let (listed, mut index) = (row.listed(), Index::default());
            let mut next = |end: u64| -> Result<Vec<NumberedRecord>, ImportError> {
                let page = plan::next_of_import(records)?;
                plan::plan_import(&row.run_id, &page, |namespace| Ok(index.head(namespace)))?;
                for (place, NumberedRecord { before, record }) in page.iter().enumerate() {
                    let channels = record.values.iter().map(|value| value.channel.as_str());
                    index.take(
                        &row.run_id,
                        IndexedFields::from(record),
                        channels,
                        (end, place),
                        Some(*before),
                    )?;
                }
                Ok(page)
            };
            loop {
                match next(end) {
                    Ok(page) if page.is_empty() => return Ok(end),
                    Ok(page) => end += write_more(file, end, &listed, &page)?,
                    Err(error) => {
                        refused = Some(error);
                        return Ok(end);
                    }
                }
            }
        });
        match refused {
            Some(error) => Err(error),
            None => Ok(begun?),
        }
    }

    fn begin(
        place: &FilePlace,
        line: &CommitLine<'_>,
        synchronous: SyncMode,
        more: impl FnOnce(&mut File, u64) -> io::Result<u64>,
    ) -> Result<(), StorageError> {
        let write = || {
            let mut file = place.open(Opening::New)?;
            let end = line.write(&mut file, 0).map_err(too_long)?;
            more(&mut file, end)?;
            if synchronous == SyncMode::Full { file.sync_all() } else { Ok(()) }
        };
        write().map_err(|error| fault(&place.path(), &error))
    }

    /// Returns the log of an existing run, which is not read yet.
    pub(super) fn for_run(folder: &FolderPlace, run: &str) -> Self {
        Self {
            folder: folder.clone(),
            file: folder.file(NAME),
            run: run.to_owned(),
            index: Index::default(),
            row: None,
            texts: None,
            prunings: Vec::new(),
            fence: Fence { epoch: 0, head: None },
            taken_up: false,
            end: 0,
            first: Vec::new(),
            generation: 0,
            has_head: false,
            damage: None,
        }
    }

    /// Reports whether its file still exists. The run may have been removed meanwhile.
    pub(super) fn is_there(&self) -> bool {
        self.file.entry().is_ok_and(|found| found.is_some())
    }

    /// Opens the log, and reads the lines that were added since it was read last.
    pub(super) fn open(&mut self) -> Result<OpenLog<'_>, StorageError> {
        let mut open = || {
            let mut file = self.file.open(Opening::Read)?;
            // The lock keeps a process that commits from truncating a line while it is read.
            file.lock_shared()?;
            self.read_on(&mut file)?;
            file.unlock()?;
            Ok(file)
        };
        match open() {
            Ok(file) => Ok(OpenLog { log: self, file }),
            Err(error) => Err(fault(&self.file.path(), &error)),
        }
    }

    /// Reads the lines after those that were read before, or all lines if the log was rewritten. A line without its
    /// line break is left for a later read.
    fn read_on(&mut self, file: &mut File) -> io::Result<()> {
        let mut first = Vec::new();
        file.seek(SeekFrom::Start(0))?;
        Read::by_ref(file).take(DIGITS as u64).read_to_end(&mut first)?;
        if first != self.first {
            *self = Self { first, ..Self::for_run(&self.folder, &self.run) };
        }
        while self.damage.is_none() {
            let taken = match line::find(file, self.end)? {
                LineLookup::End => break,
                LineLookup::Damaged(reason) => Err(reason),
                LineLookup::Line(text) => self.take(&text, file).map(|()| text.length),
            };
            match taken {
                Ok(length) => self.end += length,
                Err(reason) => self.damage = Some(self.damaged(&reason)),
            }
        }
        self.index.settle();
        Ok(())
    }

    fn take(&mut self, text: &LineText, file: &mut File) -> Result<(), String> {
        let line = text.outline(file)?;
        let run = &self.run;
        if line.row.row.run_id != *run {
            return Err(format!("a line is of run {}", line.row.row.run_id));
        }
        let is_first = self.end == 0;
        if !is_first && (line.generation > 0 || !line.prunings.is_empty() || line.head.is_some()) {
            return Err("a later line is written as the first one".to_owned());
        }
        for (place, entry) in line.records.iter().enumerate() {
            // The records of a first line state the number of entries before their own, and so do those after it in a
            // rewritten log. A record of a first line that does not state it has none before its own.
            let before = entry.before.or(is_first.then_some(0));
            let channels = entry.values.iter().map(|value| value.channel.as_str());
            self.index
                .take(run, IndexedFields::from(entry), channels, (self.end, place), before)
                .map_err(|error| error.to_string())?;
        }
        let is_copied = line.records.first().is_some_and(|entry| entry.before.is_some());
        self.take_fence(&line, is_first, is_copied)?;
        if is_first {
            (self.generation, self.prunings) = (line.generation, line.prunings);
        }
        // Lines of an imported run, and the line that a process writes when it acquires the run, repeat the row without
        // its texts. They do not clear the texts.
        let goes_on = is_copied || (!is_first && line.epoch.is_some());
        if line.row.has_texts {
            self.texts = Some(self.end);
        } else if !goes_on {
            self.texts = None;
        }
        self.row = Some(line.row.row);
        Ok(())
    }

    /// Applies a line to the fence. Imported records are in another order than they were written: after them the head
    /// is the run's newest own checkpoint, unless the first line names another record.
    fn take_fence(&mut self, line: &LineOutline, is_first: bool, is_copied: bool) -> Result<(), String> {
        if let Some(epoch) = line.epoch {
            if !is_first && epoch <= self.fence.epoch {
                return Err("a line has an epoch that does not rise".to_owned());
            }
            self.fence.epoch = epoch;
            // The first line of a rewritten log has both the epoch and the head.
            self.taken_up = !is_first || line.head.is_some();
        }
        if is_first {
            (self.fence.head, self.has_head) = (line.head, line.head.is_some());
        }
        let head = if is_copied {
            let own = |entry: &&EntryOutline| plan::is_own_checkpoint(entry.kind, &entry.namespace);
            line.records.iter().rev().find(own).filter(|_| !self.has_head)
        } else {
            line.records.last()
        };
        if let Some(head) = head {
            self.fence.head = Some(head.digest);
        }
        Ok(())
    }

    /// Returns the fence that a writing process has to have; `None` if no process has acquired the run since it was
    /// created.
    pub(super) fn fence(&self) -> Option<Fence> {
        self.taken_up.then_some(self.fence)
    }

    /// Returns the run's epoch, even if no process has acquired the run.
    pub(super) const fn epoch(&self) -> u64 {
        self.fence.epoch
    }

    /// Opens the log to append a line, and locks it against other processes until the file is closed.
    fn open_to_write(&mut self) -> Result<File, StorageError> {
        let mut open = || {
            let mut file = self.file.open(Opening::Change)?;
            file.lock()?;
            self.read_on(&mut file)?;
            Ok(file)
        };
        open().map_err(|error: io::Error| fault(&self.file.path(), &error))
    }

    /// Raises the run's epoch, and returns the new fence. A damaged log keeps its fence, because nothing is appended to
    /// it.
    ///
    /// It does not wait for the disk. A power failure loses only the newest lines, and it also ends every process on
    /// this machine that could have an earlier epoch.
    pub(super) fn acquire(&mut self) -> Result<Fence, StorageError> {
        let mut file = self.open_to_write()?;
        if self.damage.is_some() {
            return Ok(self.fence);
        }
        let next = self.fence.epoch.checked_add(1).filter(|next| *next <= plan::LARGEST);
        let epoch = next.ok_or_else(|| self.damaged("the epoch is as high as there is one"))?;
        let Some(row) = &self.row else { return Ok(self.fence) };
        let line = CommitLine { epoch: Some(epoch), ..CommitLine::new(row) };
        self.end += write_line(&line, &mut file, self.end, SyncMode::Normal)
            .map_err(|error| fault(&self.file.path(), &too_long(error)))?;
        (self.fence.epoch, self.taken_up) = (epoch, true);
        Ok(self.fence)
    }

    fn damaged(&self, reason: &str) -> StorageError {
        let readable = match self.index.head("") {
            Some(newest) => {
                format!("the checkpoints of run {} up to number {newest} can still be read", self.run)
            }
            None => format!("no checkpoint of run {} can be read", self.run),
        };
        StorageError::Corrupt {
            location: location(&self.file.path()),
            reason: format!("at byte {}, {reason}", self.end),
            readable: ReadableData::Described(readable),
        }
    }

    /// Appends a commit as one line. After an error, this value must not be used any more.
    pub(super) fn commit(
        &mut self,
        guard: &RunGuard,
        batch: &[SignedRecord],
        update: &RunUpdate,
        synchronous: SyncMode,
        before: impl FnOnce() -> Result<(), StorageError>,
    ) -> Result<(), CommitError> {
        let mut file = self.open_to_write()?;
        if let Some(damage) = &self.damage {
            return Err(damage.clone().into());
        }
        plan::check_fence(guard, self.fence()).map_err(|loss| plan::lost(guard, loss))?;
        plan::check_update(&self.run, update)?;
        plan::plan(&self.run, batch, |namespace| Ok(self.index.head(namespace)))?;
        let mut row = match self.texts {
            Some(at) => text_at(&self.file.path(), &mut file, at, LineText::row)?,
            None => self.row.clone().ok_or_else(|| plan::lost(guard, Loss::Removed))?,
        };
        update.apply(&mut row);
        let end = self.end;
        for (place, record) in batch.iter().enumerate() {
            let channels = record.values.iter().map(|value| value.channel.as_str());
            self.index.take(&self.run, IndexedFields::from(record), channels, (end, place), None)?;
        }
        before()?;
        let line =
            CommitLine { records: batch.iter().map(LineEntry::from).collect(), ..CommitLine::new(&row) };
        match write_line(&line, &mut file, end, synchronous) {
            Ok(length) => self.end += length,
            Err(LineError::Failed(error)) => return Err(fault(&self.file.path(), &error).into()),
            Err(LineError::TooLong) => {
                let (run, what) = (self.run.clone(), "commit");
                return Err(CommitError::TooLarge {
                    run,
                    what,
                    bytes: LONGEST.saturating_add(1),
                    most: LONGEST,
                });
            }
        }
        self.texts = (row.result.is_some() || row.error.is_some()).then_some(end);
        self.row = Some(row.listed());
        guard.advance(batch);
        self.fence = guard.fence();
        Ok(())
    }
}

/// Returns the epoch that the first line of a new run states: none if it would be 0.
const fn begun_at(epoch: u64) -> Option<u64> {
    if epoch == 0 { None } else { Some(epoch) }
}

/// Appends a line to a log, and returns the line's length.
fn write_line(
    line: &CommitLine<'_>,
    file: &mut File,
    end: u64,
    synchronous: SyncMode,
) -> Result<u64, LineError> {
    // Removes the remains of another commit that was cut short.
    file.set_len(end)?;
    let written = line.write(file, end).inspect_err(|_| {
        // Without its last byte the line has no end, so that its remains are ignored.
        let _ = file.set_len(end);
    })?;
    if synchronous == SyncMode::Full {
        file.sync_data()?;
    }
    Ok(written)
}

/// Appends a line of records with their numbers of entries, and returns the line's length.
fn write_more(file: &mut File, end: u64, row: &RunRow, records: &[NumberedRecord]) -> io::Result<u64> {
    let records = records.iter().map(LineEntry::from).collect();
    CommitLine { records, ..CommitLine::new(row) }.write(file, end).map_err(too_long)
}

/// Reads from the line at a position at which a valid line was found before.
fn text_at<T>(
    path: &Path,
    file: &mut File,
    at: u64,
    read: impl FnOnce(&LineText, &mut File) -> Result<T, String>,
) -> Result<T, StorageError> {
    let found = match line::find(file, at).map_err(|error| fault(path, &error))? {
        LineLookup::Line(text) => read(&text, file),
        LineLookup::End => Err("a line is gone".to_owned()),
        LineLookup::Damaged(reason) => Err(reason),
    };
    found.map_err(|reason| StorageError::Corrupt {
        location: location(path),
        reason: format!("at byte {at}, {reason}"),
        readable: ReadableData::Described(
            "it was changed while it was read: what is before that can be read again".to_owned(),
        ),
    })
}

/// Reads the row without its texts from the last line of a log; `None` if that line is damaged.
pub(super) fn last_row(place: &FilePlace, run: &str) -> Result<Option<RunRow>, StorageError> {
    let look = || {
        let mut file = place.open(Opening::Read)?;
        file.lock_shared()?;
        let Some(at) = last_line(&mut file)? else { return Ok(None) };
        Ok(match line::find(&mut file, at)? {
            LineLookup::Line(text) => text.outline(&mut file).ok().map(|line| line.row.row),
            LineLookup::End | LineLookup::Damaged(_) => None,
        })
    };
    let row = look().map_err(|error: io::Error| fault(&place.path(), &error))?;
    Ok(row.filter(|row| row.run_id == run))
}

/// Returns the position of the last line that has a line break; `None` if there is none, or if a hole is behind it:
/// a hole may have any length, so that it is not read.
fn last_line(file: &mut File) -> io::Result<Option<u64>> {
    const PIECE: u64 = 64 << 10;
    let mut end = file.seek(SeekFrom::End(0))?;
    let mut has_end = false;
    let lowest = end.saturating_sub(2 * LONGEST);
    while end > lowest {
        let start = end.saturating_sub(PIECE);
        let mut piece = vec![0; usize::try_from(end - start).unwrap_or(0)];
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut piece)?;
        for (offset, byte) in piece.iter().enumerate().rev() {
            if *byte == HOLE {
                return Ok(None);
            }
            if *byte == b'\n' {
                if has_end {
                    return Ok(Some(start + offset as u64 + 1));
                }
                has_end = true;
            }
        }
        end = start;
    }
    Ok((has_end && end == 0).then_some(0))
}

impl OpenLog<'_> {
    fn at<T>(
        &mut self,
        line: u64,
        read: impl FnOnce(&LineText, &mut File) -> Result<T, String>,
    ) -> Result<T, ReadError> {
        Ok(text_at(&self.log.file.path(), &mut self.file, line, read)?)
    }

    /// Returns the row with its texts.
    pub(super) fn row(&mut self) -> Result<Option<RunRow>, ReadError> {
        match self.log.texts {
            None => Ok(self.log.row.clone()),
            Some(line) => {
                let whole = self.at(line, LineText::row)?;
                let texts = (whole.result, whole.error);
                Ok(self.log.row.clone().map(|row| RunRow { result: texts.0, error: texts.1, ..row }))
            }
        }
    }

    /// Returns the row without its texts.
    pub(super) fn listed_row(&self) -> Option<RunRow> {
        self.log.row.clone()
    }

    /// Reads records in the order of these positions. Records of the same line are read together.
    fn records(
        &mut self,
        places: impl Iterator<Item = RecordPosition>,
        mut take: impl FnMut(SignedRecord) -> bool,
    ) -> Result<(), ReadError> {
        /// Maximum number of records of a line that are read at one time.
        const TOGETHER: usize = 64;
        let run = self.log.run.clone();
        let mut places = places.peekable();
        while let Some(place) = places.next() {
            let mut indices = vec![place.index];
            // Within a line the indices have to rise; otherwise records are read one at a time.
            while indices.len() < TOGETHER
                && let Some(next) = places.next_if(|next| {
                    next.line == place.line && indices.last().is_some_and(|last| next.index > *last)
                })
            {
                indices.push(next.index);
            }
            let goes_on = self.at(place.line, |text, file| {
                // Of a long line, only one record is in memory at a time.
                let together = if text.is_held() { TOGETHER } else { 1 };
                for indices in indices.chunks(together) {
                    for record in text.records(file, &run, indices)? {
                        if !take(record) {
                            return Ok(false);
                        }
                    }
                }
                Ok(true)
            })?;
            if !goes_on {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Reads a page of records.
    fn page(&mut self, places: Vec<RecordPosition>, limit: usize) -> Result<Vec<SignedRecord>, ReadError> {
        let (mut found, mut page) = (Vec::new(), Page::new(limit));
        self.records(places.into_iter(), |record| {
            let takes = page.takes(&record);
            if takes {
                found.push(record);
            }
            takes && page.has_room()
        })?;
        Ok(found)
    }

    pub(super) fn checkpoint(
        &mut self,
        namespace: &str,
        at: CheckpointPosition,
    ) -> Result<Option<SignedRecord>, ReadError> {
        let Some(place) = self.log.index.checkpoint(namespace, at) else { return Ok(None) };
        let found = self.page(vec![place], 1)?.pop();
        Ok(found.map(alone))
    }

    pub(super) fn checkpoints(
        &mut self,
        namespace: &str,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Vec<SignedRecord>, ReadError> {
        let places = self.log.index.checkpoints(namespace, after).take(limit).collect();
        self.page(places, limit)
    }

    /// Reads a page of checkpoints before a sequence number. Also reports whether the page is certain even if the log
    /// is damaged, because the damage is behind it.
    pub(super) fn checkpoints_before(
        &mut self,
        namespace: &str,
        before: Option<u64>,
        limit: usize,
    ) -> Result<(Vec<SignedRecord>, bool), ReadError> {
        let places = self.log.index.checkpoints_before(namespace, before).take(limit).collect();
        let is_settled = before.is_some_and(|before| self.log.index.reaches(namespace, before));
        Ok((self.page(places, limit)?.into_iter().map(alone).collect(), is_settled))
    }

    pub(super) fn pending(
        &mut self,
        namespace: &str,
        after: Option<(RecordKind, &str)>,
        limit: usize,
    ) -> Result<Vec<SignedRecord>, ReadError> {
        let places = self.log.index.pending(namespace, after).take(limit).collect();
        self.page(places, limit)
    }

    pub(super) fn history(&mut self, after: u64, limit: usize) -> Result<Vec<NumberedRecord>, ReadError> {
        let (before, places): (Vec<u64>, Vec<RecordPosition>) =
            self.log.index.history(after).take(limit).unzip();
        let records = self.page(places, limit)?;
        Ok(before
            .into_iter()
            .zip(records)
            .map(|(before, record)| NumberedRecord { before, record })
            .collect())
    }

    pub(super) fn history_length(&self) -> u64 {
        self.log.index.entries
    }

    pub(super) fn namespaces(&self) -> Vec<String> {
        self.log.index.names()
    }

    pub(super) fn pruning(&self, namespace: &str) -> Option<String> {
        let found = self.log.prunings.iter().find(|(of, _)| of == namespace);
        found.map(|(_, note)| note.clone())
    }

    pub(super) fn values(
        &mut self,
        namespace: &str,
        wanted: &[WantedChannel<'_>],
    ) -> Result<Vec<ChannelValue>, ReadError> {
        // Each checkpoint is read once, even if it has values of several channels.
        let mut places: Vec<(RecordPosition, usize)> = Vec::new();
        for (number, wanted) in wanted.iter().enumerate() {
            let WantedChannel { channel, base, version } = *wanted;
            places.extend(
                self.log.index.values(namespace, channel, base, version).map(|place| (place, number)),
            );
        }
        places.sort_unstable();
        let mut found: Vec<Vec<ChannelValue>> = vec![Vec::new(); wanted.len()];
        let mut bytes = 0;
        for at_place in places.chunk_by(|one, other| one.0 == other.0) {
            let Some(record) = self.page(vec![at_place[0].0], 1)?.pop() else { continue };
            for (_, number) in at_place {
                let WantedChannel { channel, base, version } = wanted[*number];
                let fits = |value: &&ChannelValue| {
                    value.channel == channel && (base..=version).contains(&value.version)
                };
                for value in record.values.iter().filter(fits) {
                    bytes += bounds::length(&value.json).saturating_add(bounds::OVERHEAD);
                    found[*number].push(value.clone());
                }
            }
            if bytes > LARGEST_READ {
                return Err(StorageError::Corrupt {
                    location: location(&self.log.file.path()),
                    reason: format!(
                        "the channel values of a state have more than {} MiB",
                        LARGEST_READ >> 20
                    ),
                    readable: ReadableData::Described("the checkpoints can still be read".to_owned()),
                }
                .into());
            }
        }
        for (wanted, span) in wanted.iter().zip(&found) {
            check_span(&self.log.run, wanted, span)?;
        }
        Ok(found.into_iter().flatten().collect())
    }

    /// Checks that a guard still holds the run. A damaged log passes, because its epoch is unknown and no process
    /// writes to it.
    pub(super) fn check_fence(&self, guard: &RunGuard) -> Result<(), RemoveError> {
        if self.log.damage.is_some() {
            return Ok(());
        }
        plan::check_fence(guard, self.log.fence()).map_err(|loss| plan::not_to_remove(guard, loss))
    }

    /// Returns the number of records of the run, and the length of its log in bytes.
    pub(super) fn size(&self) -> ReclaimedData {
        ReclaimedData { records: self.log.index.records, bytes: self.log.end }
    }

    /// Rewrites the log without the checkpoints before a cut. No other process may write to it meanwhile.
    pub(super) fn prune(
        &mut self,
        guard: &RunGuard,
        namespace: &str,
        cut: &Cut<'_>,
    ) -> Result<ReclaimedData, RemoveError> {
        let run = self.log.run.clone();
        self.check_fence(guard)?;
        if self.log.index.checkpoint(namespace, CheckpointPosition::Sequence(cut.first)).is_none() {
            let (namespace, sequence) = (namespace.to_owned(), cut.first);
            return Err(RemoveError::NoCheckpoint { run, namespace, sequence });
        }
        let row = self.row()?.ok_or(RemoveError::NotFound { run })?;
        let mut values = self.values(namespace, cut.channels)?;
        values
            .sort_unstable_by(|one, other| (&one.channel, one.version).cmp(&(&other.channel, other.version)));
        let mut prunings = self.log.prunings.clone();
        prunings.retain(|(of, _)| of != namespace);
        prunings.push((namespace.to_owned(), cut.note.to_owned()));
        let removed = self.log.index.count_before(namespace, cut.first);
        let mut freed = ReclaimedData { records: u64::try_from(removed).unwrap_or(u64::MAX), bytes: 0 };
        let place = self.log.file.clone();
        let generation = self.log.generation.saturating_add(1);
        let written = write_atomic_with(&place, true, |file| {
            let Fence { epoch, head } = self.log.fence;
            let first = CommitLine {
                generation,
                prunings: &prunings,
                epoch: Some(epoch),
                head,
                ..CommitLine::new(&row)
            };
            let mut end = first.write(file, 0).map_err(too_long)?;
            let row = row.listed();
            let read = |error: ReadError| io::Error::other(error.to_string());
            let mut after = None;
            // A page continues behind the last position and not the last entry, because a record need not hold any
            // entry.
            let places: Vec<(u64, RecordPosition)> = self.log.index.history(0).collect();
            while let Some(rest) = places.get(after.unwrap_or(0)..).filter(|rest| !rest.is_empty()) {
                let page: Vec<RecordPosition> = rest.iter().take(256).map(|(_, place)| *place).collect();
                let records = self.page(page, 256).map_err(read)?;
                let count = records.len();
                if count == 0 {
                    return Err(io::Error::other("a record cannot be read"));
                }
                let mut stays = Vec::with_capacity(count);
                for ((before, _), mut record) in rest.iter().zip(records) {
                    let is_cut = record.kind == RecordKind::Checkpoint && record.namespace == namespace;
                    if is_cut && record.sequence <= cut.first {
                        freed.bytes = freed.bytes.saturating_add(size(&record));
                        if record.sequence < cut.first {
                            continue;
                        }
                        record.values = std::mem::take(&mut values);
                        freed.bytes = freed.bytes.saturating_sub(size(&record));
                    }
                    stays.push(NumberedRecord { before: *before, record });
                }
                if !stays.is_empty() {
                    end += write_more(file, end, &row, &stays)?;
                }
                after = Some(after.unwrap_or(0) + count);
            }
            for namespace in self.log.index.names() {
                let waiting: Vec<RecordPosition> = self.log.index.waiting(&namespace).collect();
                for places in waiting.chunks(256) {
                    let mut rest = places;
                    while !rest.is_empty() {
                        let records = self.page(rest.to_vec(), rest.len()).map_err(read)?;
                        rest = rest.get(records.len().max(1)..).unwrap_or_default();
                        let records: Vec<_> =
                            records.into_iter().map(|record| NumberedRecord { before: 0, record }).collect();
                        end += write_more(file, end, &row, &records)?;
                    }
                }
            }
            Ok(())
        });
        written?;
        Ok(freed)
    }
}

/// Returns the length of a record's texts.
fn size(record: &SignedRecord) -> u64 {
    let values = record.values.iter().map(|value| bounds::length(&value.json));
    values.fold(bounds::length(&record.body), u64::saturating_add)
}
