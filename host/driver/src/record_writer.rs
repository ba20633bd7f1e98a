//! Signs and stores the records that the walker wants persisted.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc as blocking;
use std::thread::JoinHandle;

use graph_core::digest::Digest;
use graph_core::hook_event::HookEvent;
use graph_core::json;
use graph_core::limits::{LARGEST_FIGURE, ModelUse};
use graph_core::policy::Durability;
use graph_core::record::{AttemptJournal, JournalEntry, Record, RecordKind, Source, Status, UnsignedRecord};
use graph_core::time::Timestamp;
use graph_core::trust::SigningKey;
use graph_store::{Change, CheckpointStore, CommitError, RunGuard, RunUpdate, SyncMode};
use graph_walker::walker::{Persist, PersistId};
use tokio::sync::mpsc;

/// Number of records that may wait for the writer before a run under `durability: async` waits for it. It bounds what a
/// crash may lose and what waits in memory, however long the run is.
const BACKLOG: usize = 128;

/// Number of records that may wait for the writer before nothing new is started, under every durability. Writing them
/// takes some tenths of a second, which is the time that a run may take to stop.
const BEHIND: usize = 4096;

/// Number of bytes of channel values that may wait, in the same way as [`BACKLOG`] limits records.
const BACKLOG_BYTES: usize = 32 << 20;

/// Message for records that are refused because the writer's thread has ended.
const WRITER_ENDED: &str = "the thread that writes to the store has ended";

/// The thread and the transactions in which records are written to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    /// On the driver's own thread, at once: for a store that does not wait for a disk.
    Inline,
    /// Like `Inline`, but each record in a transaction of its own, and without leaving out task records that a
    /// checkpoint makes void.
    OneByOne,
    /// On a thread of its own, which commits all waiting records together.
    Thread,
}

/// The outcome of writing the records up to one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct WriteReport {
    /// The newest record that was written.
    id: PersistId,
    /// The reason for which they were refused, if they were.
    refused: Option<Refusal>,
}

/// The outcome of storing the records up to one of them, as it is reported to the walker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StorageOutcome {
    /// The newest record that the outcome applies to.
    pub(crate) id: PersistId,
    /// The reason for which they are not stored, if they are not.
    pub(crate) failed: Option<String>,
}

/// The reasons for which records are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// They cannot be stored.
    Failed(String),
    /// Another process holds the run: this process may write nothing more to it.
    Lost(String),
}

impl Refusal {
    fn failed(why: &impl ToString) -> Self {
        Self::Failed(why.to_string())
    }
}

impl From<CommitError> for Refusal {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Lost { .. } => Self::Lost(error.to_string()),
            error => Self::failed(&error),
        }
    }
}

/// A text that a record names by its digest, and the digest.
pub(crate) type DigestedText = (Digest, String);

/// A record that waits to be written, with the texts and the change of the run's row that go with it.
struct QueuedRecord {
    persist: Box<Persist>,
    texts: Vec<DigestedText>,
    update: RunUpdate,
}

/// The size of what is passed to the writer's thread at one time.
#[derive(Clone, Copy, Debug)]
struct Batch {
    records: usize,
    /// The bytes of the records' channel values.
    bytes: usize,
}

impl Batch {
    fn new(queue: &[QueuedRecord]) -> Self {
        let values = queue.iter().flat_map(|queued| &queued.persist.values);
        Self { records: queue.len(), bytes: values.map(|value| value.json.len()).sum() }
    }
}

/// The fuel and the language model usage of a run, its child runs included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunUsage {
    /// Fuel of components.
    pub(crate) fuel: u64,
    /// Usage of language models.
    pub(crate) model: ModelUse,
}

/// Takes records from the driver and reports when they are stored.
pub(crate) struct RecordWriter {
    writer: Arc<Writer>,
    mode: Mode,
    durability: Durability,
    /// Changes of the run's row that go with the next record.
    amendment: RunUpdate,
    /// Records that were pushed since the last commit.
    queue: Vec<QueuedRecord>,
    /// The number of supersteps of the newest checkpoint that was pushed, and the usage of the run by then.
    standing: Option<(u64, RunUsage)>,
    /// The language model that was asked last, according to the records that were pushed.
    model: Option<String>,
    /// The newest record that was pushed.
    newest: PersistId,
    /// Number of records that were passed to the thread and are not written yet.
    unwritten: usize,
    /// The bytes of their values.
    unwritten_bytes: usize,
    /// Under `async`: the newest record that will count as persisted once fewer records wait.
    held_back: Option<PersistId>,
    acknowledged: VecDeque<StorageOutcome>,
    /// The reason for which another process is known to hold the run; `None` while this process holds it.
    lost: Option<String>,
    /// True if records were stored since [`Self::take_news`] was called last.
    news: bool,
}

enum Mode {
    Inline {
        together: bool,
    },
    Thread {
        records: Option<blocking::Sender<Vec<QueuedRecord>>>,
        written: mpsc::UnboundedReceiver<(Batch, WriteReport)>,
        thread: Option<JoinHandle<()>>,
    },
}

struct Writer {
    store: Arc<dyn CheckpointStore>,
    key: SigningKey,
    guard: Arc<RunGuard>,
    durability: Durability,
    /// The durability of a commit that does not stop the run; one that stops it is always synced.
    synchronous: SyncMode,
}

impl RecordWriter {
    /// Creates a writer for the records of one run.
    pub(crate) fn new(
        store: Arc<dyn CheckpointStore>,
        key: SigningKey,
        guard: Arc<RunGuard>,
        durability: Durability,
        writing: WriteMode,
    ) -> std::io::Result<Self> {
        let synchronous = match durability {
            Durability::Sync | Durability::Exit => SyncMode::Full,
            Durability::Async => SyncMode::Normal,
        };
        let writer = Arc::new(Writer { store, key, guard, durability, synchronous });
        let mode = match writing {
            WriteMode::Inline | WriteMode::OneByOne => {
                Mode::Inline { together: writing == WriteMode::Inline }
            }
            WriteMode::Thread => {
                let (give, taken) = blocking::channel::<Vec<QueuedRecord>>();
                let (tell, written) = mpsc::unbounded_channel();
                let thread_writer = Arc::clone(&writer);
                let thread = std::thread::Builder::new()
                    .name("graph-host-writer".to_owned())
                    .spawn(move || thread_writer.serve(&taken, &tell))?;
                Mode::Thread { records: Some(give), written, thread: Some(thread) }
            }
        };
        Ok(Self {
            writer,
            mode,
            durability,
            amendment: RunUpdate::default(),
            queue: Vec::new(),
            standing: None,
            model: None,
            newest: PersistId(0),
            unwritten: 0,
            unwritten_bytes: 0,
            held_back: None,
            acknowledged: VecDeque::new(),
            lost: None,
            news: false,
        })
    }

    /// Changes the run's row together with the next record that is pushed.
    pub(crate) fn amend(&mut self, update: RunUpdate) {
        merge(&mut self.amendment, update);
    }

    /// Queues a record. It is written by the next [`Self::commit`].
    ///
    /// `spent` is the usage of the run when it stops, including tasks of a superstep that has not committed.
    pub(crate) fn push(
        &mut self,
        persist: Box<Persist>,
        texts: Vec<DigestedText>,
        at: Timestamp,
        spent: Option<RunUsage>,
    ) {
        self.newest = persist.id;
        let mut update = std::mem::take(&mut self.amendment);
        update.at = at;
        // The row is that of the root run: records of child runs do not change it.
        if let Record::Checkpoint(checkpoint) = &persist.record
            && checkpoint.namespace.is_empty()
        {
            let spent = RunUsage { fuel: checkpoint.fuel, model: checkpoint.host.model };
            self.standing = Some((checkpoint.step, spent));
        }
        if let (Record::Hook(hook), Some((_, spent))) = (&persist.record, &mut self.standing)
            && hook.event != HookEvent::Error
        {
            spent.fuel = spent.fuel.max(hook.fuel_total);
            let reserved = if hook.reserved { hook.host.model } else { ModelUse::NOTHING };
            spent.model = spent.model.max(hook.host_total.model.plus(hook.lost).plus(reserved));
        }
        // The model is written only when it changes.
        if let Some(model) = asked_last(&persist.record).filter(|model| self.model.as_deref() != Some(model))
        {
            self.model = Some(model.to_owned());
            update.model.clone_from(&self.model);
        }
        describe(&persist.record, &mut update);
        // A commit costs time for every page that it touches, so the row changes with the status, not with each
        // superstep.
        if update.status.is_some() {
            update.step = self.standing.map(|(step, _)| step).or(update.step);
            if let Some(RunUsage { fuel, model }) = spent.or(self.standing.map(|(_, known)| known)) {
                // The numbers are capped: a row that does not fit into the store could never be written, so that the
                // run could not end either.
                (update.fuel, update.model_use) = (Some(fuel.min(LARGEST_FIGURE)), Some(model.counted()));
            }
        }
        self.queue.push(QueuedRecord { persist, texts, update });
    }

    /// Writes what was pushed, or passes it to the writer's thread. What is pushed between two commits stays together: a
    /// task's record and the checkpoint that makes it void are one transaction, not two.
    ///
    /// If the driver is `idle`, with nothing to do until this is stored, it writes by itself: waking a thread and being
    /// woken by it takes about as long as a commit on a fast disk.
    pub(crate) fn commit(&mut self, idle: bool) {
        if self.queue.is_empty() {
            return;
        }
        let queue = std::mem::take(&mut self.queue);
        if self.lost.is_some() {
            return;
        }
        let here = idle && self.durability == Durability::Sync && self.unwritten == 0;
        match &mut self.mode {
            Mode::Thread { .. } if here => {
                let written = self.writer.write(queue, true);
                self.acknowledge(written);
                self.news = true;
            }
            Mode::Inline { together: true } => {
                let written = self.writer.write(queue, true);
                self.acknowledge(written);
                self.news = true;
            }
            Mode::Inline { together: false } => {
                self.news = true;
                for queued in queue {
                    let written = self.writer.write(std::iter::once(queued), false);
                    self.acknowledge(written);
                    if self.lost.is_some() {
                        break;
                    }
                }
            }
            Mode::Thread { records, .. } => {
                let (id, batch) = (self.newest, Batch::new(&queue));
                let sent = records.as_ref().is_some_and(|records| records.send(queue).is_ok());
                let failed = (!sent).then(|| WRITER_ENDED.to_owned());
                if sent {
                    self.unwritten += batch.records;
                    self.unwritten_bytes += batch.bytes;
                }
                let waits = self.unwritten > BACKLOG || self.unwritten_bytes > BACKLOG_BYTES;
                if sent && self.durability == Durability::Async && waits {
                    self.held_back = Some(id);
                } else if !sent || self.durability == Durability::Async {
                    self.acknowledged.push_back(StorageOutcome { id, failed });
                }
            }
        }
    }

    /// Queues the outcome of records for the walker. If the run is lost, the walker is not notified: it no longer
    /// decides anything.
    fn acknowledge(&mut self, written: Option<WriteReport>) {
        let Some(WriteReport { id, refused }) = written else { return };
        let failed = match refused {
            Some(Refusal::Lost(why)) => {
                self.lost = Some(why);
                return;
            }
            Some(Refusal::Failed(why)) => Some(why),
            None => None,
        };
        self.acknowledged.push_back(StorageOutcome { id, failed });
    }

    /// Returns the reason for which another process is known to hold the run, if one does. Nothing more is written
    /// then.
    pub(crate) fn lost(&self) -> Option<&str> {
        self.lost.as_deref()
    }

    /// Reports whether everything that was pushed is stored.
    pub(crate) const fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.unwritten == 0
    }

    /// Reports whether more than [`BEHIND`] records wait to be written. Nothing more should be started then: a run that
    /// is to stop has to wait for all of them.
    pub(crate) const fn is_behind(&self) -> bool {
        self.unwritten > BEHIND
    }

    /// Reports whether something has been stored since the last call.
    pub(crate) const fn take_news(&mut self) -> bool {
        std::mem::replace(&mut self.news, false)
    }

    /// Returns the next acknowledgement, if there is one already.
    pub(crate) fn try_acknowledged(&mut self) -> Option<StorageOutcome> {
        while let Mode::Thread { written, .. } = &mut self.mode
            && let Ok((batch, news)) = written.try_recv()
        {
            self.take(batch, news);
        }
        if self.lost.is_some() {
            return None;
        }
        self.acknowledged.pop_front()
    }

    /// Waits until the thread has written something. It never resolves if nothing waits to be written.
    pub(crate) async fn written(&mut self) {
        let Mode::Thread { written, .. } = &mut self.mode else { return std::future::pending().await };
        if self.unwritten == 0 {
            return std::future::pending().await;
        }
        if let Some((batch, news)) = written.recv().await {
            self.take(batch, news);
        } else {
            (self.unwritten, self.unwritten_bytes) = (0, 0);
            let failed = Some(WRITER_ENDED.to_owned());
            self.acknowledged.push_back(StorageOutcome { id: self.newest, failed });
        }
    }

    /// Notes that the thread has written a batch, and acknowledges it. Under `async`, records were acknowledged when
    /// they were passed to the thread, unless too many waited.
    fn take(&mut self, batch: Batch, news: WriteReport) {
        self.news = true;
        self.unwritten = self.unwritten.saturating_sub(batch.records);
        self.unwritten_bytes = self.unwritten_bytes.saturating_sub(batch.bytes);
        if self.durability != Durability::Async || news.refused.is_some() {
            self.acknowledge(Some(news));
        } else if self.unwritten <= BACKLOG
            && self.unwritten_bytes <= BACKLOG_BYTES
            && let Some(id) = self.held_back.take()
        {
            self.acknowledged.push_back(StorageOutcome { id, failed: None });
        }
    }

    /// Waits until everything pushed is stored. The error is the reason for which it was not.
    pub(crate) async fn flush(&mut self) -> Result<(), Refusal> {
        self.commit(true);
        while self.unwritten > 0 {
            self.written().await;
        }
        if let Some(why) = &self.lost {
            return Err(Refusal::Lost(why.clone()));
        }
        match self.acknowledged.iter().find_map(|news| news.failed.clone()) {
            Some(failed) => Err(Refusal::Failed(failed)),
            None => Ok(()),
        }
    }
}

impl Drop for RecordWriter {
    fn drop(&mut self) {
        if let Mode::Thread { records, thread, .. } = &mut self.mode {
            *records = None;
            if let Some(thread) = thread.take() {
                // A panic of the writer has been reported as a refusal.
                let _ = thread.join();
            }
        }
    }
}

impl fmt::Debug for RecordWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordWriter")
            .field("run", &self.writer.guard.run())
            .field("unwritten", &self.unwritten)
            .finish_non_exhaustive()
    }
}

impl Writer {
    /// Writes until the driver is dropped. All records that wait go into one transaction.
    fn serve(
        &self,
        waiting: &blocking::Receiver<Vec<QueuedRecord>>,
        tell: &mpsc::UnboundedSender<(Batch, WriteReport)>,
    ) {
        let mut refused: Option<Refusal> = None;
        while let Ok(first) = waiting.recv() {
            let batch: Vec<_> = std::iter::once(first).chain(waiting.try_iter()).flatten().collect();
            let size = Batch::new(&batch);
            // No record may be stored after one that is missing.
            let written = match (&refused, batch.last()) {
                (Some(_), Some(last)) => Some(WriteReport { id: last.persist.id, refused: refused.clone() }),
                _ => self.write(batch, true),
            };
            let Some(written) = written else { continue };
            refused.clone_from(&written.refused);
            if tell.send((size, written)).is_err() {
                return;
            }
        }
    }

    /// Signs and commits a batch. If it is written `together`, a task record that a checkpoint of the same batch makes
    /// void is not even signed.
    fn write(&self, batch: impl IntoIterator<Item = QueuedRecord>, together: bool) -> Option<WriteReport> {
        let batch: Vec<_> = batch.into_iter().collect();
        let id = batch.last()?.persist.id;
        // By namespace: each run of a tree has checkpoints of its own.
        let mut newest: HashMap<String, u64> = HashMap::new();
        for queued in &batch {
            if let Record::Checkpoint(checkpoint) = &queued.persist.record
                && together
            {
                newest.insert(checkpoint.namespace.clone(), checkpoint.sequence);
            }
        }
        // A batch that pauses or ends the run is always synced.
        let stops = batch.iter().any(|queued| match &queued.persist.record {
            Record::Checkpoint(checkpoint) => checkpoint.end.is_some(),
            Record::Status(status) => status.status != Status::Running,
            _ => false,
        });
        let synchronous = if stops { SyncMode::Full } else { self.synchronous };
        let mut update = RunUpdate::default();
        let mut records = Vec::with_capacity(batch.len());
        let mut refused = None;
        for QueuedRecord { persist, texts, update: change } in batch {
            merge(&mut update, change);
            for (digest, text) in texts {
                refused =
                    refused.or(self.store.put_snapshot(&digest, &text).err().as_ref().map(Refusal::failed));
            }
            let under = match &persist.record {
                Record::Task(task) => Some((&task.namespace, task.sequence)),
                Record::Answers(answers) => Some((&answers.namespace, answers.sequence)),
                Record::Hook(hook) => Some((&hook.namespace, hook.sequence)),
                Record::Checkpoint(_) | Record::Status(_) => None,
            };
            let is_void = |(namespace, under)| newest.get(namespace).is_some_and(|newest| under < *newest);
            if under.is_some_and(is_void) {
                continue;
            }
            match persist.encode() {
                Ok(record) => records.push(record),
                Err(error) => refused = refused.or(Some(Refusal::failed(&error))),
            }
        }
        if refused.is_none() {
            refused = self.sign_and_commit(records, &update, synchronous).err();
        }
        Some(WriteReport { id, refused })
    }

    fn sign_and_commit(
        &self,
        records: Vec<UnsignedRecord>,
        update: &RunUpdate,
        synchronous: SyncMode,
    ) -> Result<(), Refusal> {
        // Under `sync` a run continues only once a boundary is stored, and each checkpoint has a signature of its own;
        // all other records of a transaction share a signature.
        let alone = |record: &UnsignedRecord| {
            self.durability == Durability::Sync && record.kind() == RecordKind::Checkpoint
        };
        let records = UnsignedRecord::sign_together(records, alone, &self.key);
        let records = records.map_err(|error| Refusal::failed(&error))?;
        Ok(self.store.commit(&self.guard, &records, update, synchronous)?)
    }
}

/// Derives the change of the run's row from a record.
fn describe(record: &Record, update: &mut RunUpdate) {
    match record {
        // The row is about the root run.
        Record::Checkpoint(checkpoint) if !checkpoint.namespace.is_empty() => {}
        Record::Status(status) if !status.namespace.is_empty() => {}
        Record::Checkpoint(checkpoint) => {
            // An update may have returned the run to a checkpoint with other inputs.
            update.inputs = matches!(checkpoint.source, Source::Inputs | Source::Update { .. })
                .then_some(checkpoint.inputs);
            if checkpoint.end.is_none() && update.inputs.is_some() {
                // The run may have ended before.
                update.result = Change::Clear;
            }
            if checkpoint.end.is_none() && checkpoint.source == Source::Inputs {
                update.status = Some(Status::Running);
            }
            if let Some(end) = &checkpoint.end {
                update.result = Change::Set(json::canonical_string(&end.output.0).into());
                update.error = Change::Clear;
                // If hooks follow, the status changes once they have been asked.
                if checkpoint.hooks.is_empty() {
                    update.status = Some(end.status);
                    update.pid = Change::Clear;
                }
            }
        }
        Record::Status(status) => {
            update.status = Some(status.status);
            update.error = match status.error.as_ref().map(serde_json::to_string) {
                Some(Ok(text)) => Change::Set(text.into()),
                _ => Change::Clear,
            };
            update.pid = if status.status == Status::Running { Change::Keep } else { Change::Clear };
        }
        Record::Task(_) | Record::Answers(_) | Record::Hook(_) => {}
    }
}

/// Returns the language model that was asked last, as far as a record names one: the model of its reservation, or
/// otherwise the last one in the journals of its tasks.
fn asked_last(record: &Record) -> Option<&str> {
    fn of_journal(journal: &[AttemptJournal]) -> Option<&str> {
        journal.iter().rev().flat_map(|attempt| attempt.entries.iter().rev()).find_map(JournalEntry::model)
    }
    match record {
        Record::Answers(answers) => answers.reserved.as_ref()?.name.as_deref(),
        Record::Task(task) => of_journal(&task.journal),
        Record::Checkpoint(checkpoint) => {
            checkpoint.tasks.iter().rev().find_map(|task| of_journal(&task.journal))
        }
        Record::Status(_) | Record::Hook(_) => None,
    }
}

/// Combines two changes of the row; the later one takes precedence.
fn merge(update: &mut RunUpdate, later: RunUpdate) {
    fn over<T>(field: &mut Change<T>, later: Change<T>) {
        if !matches!(later, Change::Keep) {
            *field = later;
        }
    }
    update.at = later.at;
    update.status = later.status.or(update.status);
    update.step = later.step.or(update.step);
    update.fuel = later.fuel.or(update.fuel);
    update.model_use = later.model_use.or(update.model_use);
    update.graph = later.graph.or(update.graph);
    update.inputs = later.inputs.or(update.inputs);
    update.manifest = later.manifest.or(update.manifest);
    update.pins = later.pins.or(update.pins);
    if later.model.is_some() {
        update.model = later.model;
    }
    over(&mut update.pid, later.pid);
    over(&mut update.result, later.result);
    over(&mut update.error, later.error);
    over(&mut update.continuation_id, later.continuation_id);
    over(&mut update.max_steps, later.max_steps);
}
