//! The event loop of a run.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use graph_core::json;
use graph_core::policy::Durability;
use graph_core::record::{ErrorCode, Record, Status};
use graph_core::time::Timestamp;
use graph_core::trust::SigningKey;
use graph_store::{CheckpointStore, RunGuard, RunUpdate};
use graph_walker::walker::{Effect, Event, HandleError, RunTree, Summary, TimerId};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::clock::Clock;
use crate::executor::{CallObserver, TaskExecutor};
use crate::observer::Observer;
use crate::record_writer::{DigestedText, RecordWriter, Refusal, RunUsage, StorageOutcome, WriteMode};
use crate::reservations::PendingReservations;
use crate::results::CachedResults;
use crate::tasks::Tasks;
use crate::timers::Timers;

/// After this number of events the driver yields to other work of its thread.
const TURNS: u32 = 64;
/// The number of the attempt under which a hook, which has only one, asks language models.
const FIRST: u32 = 1;

/// The parts from which a driver is built.
pub struct DriverConfig {
    /// Performs what the walker dispatches: components, text items and functions.
    pub executor: Arc<dyn TaskExecutor>,
    /// The store that the records are written to.
    pub store: Arc<dyn CheckpointStore>,
    /// The guard by which this process holds the run in that store.
    pub guard: Arc<RunGuard>,
    /// The thread and the transactions in which records are written to the store.
    pub writing: WriteMode,
    /// The key that signs the records: the host's identity.
    pub key: SigningKey,
    /// The source of time.
    pub clock: Arc<dyn Clock>,
    /// The point at which a boundary counts as persisted. It has to be that of the walker's setup.
    pub durability: Durability,
}

impl fmt::Debug for DriverConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DriverConfig")
            .field("store", &self.store)
            .field("guard", &self.guard)
            .field("key", &self.key.id())
            .finish_non_exhaustive()
    }
}

/// A request of the run's observer or user to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopRequest {
    /// Running tasks commit, then the run stops.
    Cancel,
    /// The run stops at once.
    Kill,
}

/// The reasons for which a run could not be driven further.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DriveError {
    /// The walker refused the request; nothing has changed.
    #[error("{message}")]
    Refused {
        /// The code, which stays the same when the message is worded differently.
        code: ErrorCode,
        /// The reason, and a remedy.
        message: String,
    },
    /// The changed graph cannot take over what channels hold, unless the resume overwrites it; nothing has changed.
    #[error("{message}")]
    Unfit {
        /// The channels, and the reasons.
        message: String,
        /// The run.
        run: String,
        /// Updates by which the channels would hold values that they can take.
        updates: Vec<(String, Value)>,
    },
    /// Records could not be stored after the run had already stopped.
    #[error("{0}")]
    Storage(String),
    /// Another process holds the run now. This walker and its tasks must not be used any more. Nothing more was
    /// written.
    #[error("{0}")]
    Lost(String),
    /// A bug in the host.
    #[error("the host has a fault: {0}; the run can be resumed from what is stored")]
    Fault(String),
}

/// Performs a walker's effects and reports the outcomes to it as events. It decides nothing about the run.
pub struct Driver {
    walker: RunTree,
    writer: RecordWriter,
    tasks: Tasks,
    /// The language model reservations of attempts that wait until they are stored.
    reservations: PendingReservations,
    results: CachedResults,
    clock: Arc<dyn Clock>,
    timers: Timers,
    /// True if the walker has more to do and has returned control only for the moment.
    has_more: bool,
    /// True if an attempt may start next: the walker's own work and the start of attempts alternate.
    begins_next: bool,
    /// Resolves at the time of the earliest timer.
    alarm: Option<(Timestamp, BoxFuture<'static, ()>)>,
    stops: mpsc::UnboundedReceiver<StopRequest>,
    stop_requests: mpsc::UnboundedSender<StopRequest>,
    /// Called once records have been stored.
    after_store: Option<AfterStore>,
    /// Releases the run when it is dropped, after everything else.
    _guard: Arc<RunGuard>,
}

/// A function that is called whenever records have been stored.
struct AfterStore(Box<dyn Fn() + Send + Sync>);

impl fmt::Debug for AfterStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AfterStore")
    }
}

impl Driver {
    /// Creates a driver for a new or a restored walker. The run is released when the driver is dropped, unless another
    /// owner shares the guard.
    pub fn new(walker: RunTree, parts: DriverConfig) -> std::io::Result<Self> {
        let DriverConfig { executor, store, guard, writing, key, clock, durability } = parts;
        let (stop_requests, stops) = mpsc::unbounded_channel();
        let reservations = PendingReservations::new();
        executor.reserve_with(reservations.sender());
        Ok(Self {
            walker,
            reservations,
            results: CachedResults::new(Arc::clone(&store), key.verifying_key()),
            writer: RecordWriter::new(store, key, Arc::clone(&guard), durability, writing)?,
            tasks: Tasks::new(executor, Arc::clone(&clock)),
            clock,
            timers: Timers::default(),
            has_more: false,
            begins_next: false,
            alarm: None,
            stops,
            stop_requests,
            after_store: None,
            _guard: guard,
        })
    }

    /// Returns a sender for requests to stop the run.
    pub fn stop_requests(&self) -> mpsc::UnboundedSender<StopRequest> {
        self.stop_requests.clone()
    }

    /// Sets the observer of the calls that components make.
    pub fn observe_calls(&self, calls: Arc<dyn CallObserver>) {
        self.tasks.observe(calls);
    }

    /// Stops using the cache: from now on no cached result is used for a task, and none is stored.
    pub fn ignore_cache(&mut self) {
        self.results.switch_off();
    }

    /// Sets a function that is called whenever records have been stored, in addition to any observer.
    pub fn after_store(&mut self, call: impl Fn() + Send + Sync + 'static) {
        self.after_store = Some(AfterStore(Box::new(call)));
    }

    fn notify_stored(&self, observer: &mut dyn Observer) {
        if let Some(AfterStore(call)) = &self.after_store {
            call();
        }
        observer.stored();
    }

    /// Returns the run that is driven.
    pub const fn run(&self) -> &RunTree {
        &self.walker
    }

    /// Returns the present state of the run.
    pub fn summary(&self) -> Summary {
        self.walker.summary()
    }

    /// Returns the state of the run when it stopped. It may be called once, after the run has stopped.
    pub fn take_summary(&mut self) -> Summary {
        self.walker.take_summary()
    }

    /// Reports whether another process holds the run, so that this process may do nothing more with it.
    pub fn is_lost(&self) -> bool {
        self.writer.lost().is_some()
    }

    /// Changes the run's row together with the next record.
    pub fn amend(&mut self, update: RunUpdate) {
        self.writer.amend(update);
    }

    /// Passes the walker an event, [`Event::Started`] or [`Event::Resumed`], and performs effects until the run stops.
    pub async fn drive(&mut self, first: Event, observer: &mut dyn Observer) -> Result<Status, DriveError> {
        self.check_held()?;
        let mut stopped = self.handle(first, observer)?;
        let mut handled = 0_u32;
        loop {
            // A run that always has something to do must not keep signal handlers from running.
            handled = handled.wrapping_add(1);
            if self.has_more || handled.is_multiple_of(TURNS) {
                tokio::task::yield_now().await;
            }
            self.check_held()?;
            if let Some(status) = stopped {
                // Under `async`, records may still wait to be written.
                if let Err(refusal) = self.writer.flush().await {
                    self.check_held()?;
                    return Err(refusal.into());
                }
                self.notify_stored(observer);
                self.timers = Timers::default();
                self.alarm = None;
                return Ok(status);
            }
            if self.writer.take_news() {
                self.notify_stored(observer);
            }
            let event = match self.ready(observer) {
                Some(event) => event,
                None => match self.wait(observer).await {
                    Some(event) => event,
                    None => continue,
                },
            };
            // The writer may have noticed just now that the run is lost: then the walker must not decide anything more.
            self.check_held()?;
            stopped = match self.handle(event, observer) {
                Ok(stopped) => stopped,
                // The walker no longer waits for the event: a timer fired as its task ended, or a task ended as it was
                // aborted.
                Err(DriveError::Refused { .. }) => None,
                Err(error) => return Err(error),
            };
        }
    }

    /// Stops if another process holds the run: running attempts are abandoned, and nothing more is started.
    fn check_held(&mut self) -> Result<(), DriveError> {
        let Some(why) = self.writer.lost() else { return Ok(()) };
        let lost = DriveError::Lost(why.to_owned());
        self.tasks.give_up();
        self.timers = Timers::default();
        self.alarm = None;
        self.has_more = false;
        Err(lost)
    }

    /// Passes the walker an event and performs its effects. Those that take time are only started.
    fn handle(&mut self, event: Event, observer: &mut dyn Observer) -> Result<Option<Status>, DriveError> {
        let now = self.clock.now();
        if let Event::TaskDone { task, attempt, report } = &event {
            observer.done(now, task, *attempt, report);
            self.reservations.forget(task, *attempt);
        }
        if let Event::HookDone { hook, .. } = &event {
            self.reservations.forget(hook, FIRST);
        }
        let effects = self.walker.handle(now, event).map_err(|error| match error {
            HandleError::Refused { code, message } => DriveError::Refused { code, message },
            HandleError::Unfit { message, run, updates } => DriveError::Unfit { message, run, updates },
            HandleError::Illegal { .. } => DriveError::Fault(error.to_string()),
        })?;
        let mut stopped = None;
        for effect in effects {
            match effect {
                Effect::RunTask(spec) => {
                    observer.dispatched(now, &spec);
                    self.tasks.add(*spec);
                }
                Effect::ModelRecorded { task, attempt } => self.reservations.recorded(task, attempt),
                Effect::LookUp(lookup) => {
                    if self.writer.is_idle() {
                        self.results.stored();
                    }
                    self.tasks.add_lookup(*lookup, &self.results);
                }
                Effect::RunHook(spec) => self.tasks.add_hook(*spec),
                Effect::Abort { task, attempt } => {
                    self.tasks.abort(&task, attempt);
                    self.reservations.forget(&task, attempt);
                    observer.aborted(&task, attempt);
                }
                Effect::AbortHook { hook } => {
                    self.tasks.abort_hook(&hook);
                    self.reservations.forget(&hook, FIRST);
                }
                Effect::Persist(persist) => {
                    self.results.handed_out(&persist.results);
                    let texts = self.new_texts(&persist.record);
                    let spent = stops_run(&persist.record)
                        .then(|| RunUsage { fuel: self.walker.fuel(), model: self.walker.model_use() });
                    self.writer.push(persist, texts, now, spent);
                }
                Effect::SetTimer { timer, at } => {
                    self.timers.set(timer, at);
                }
                Effect::Emit(notice) => observer.notice(now, &notice),
                Effect::Continue => self.has_more = true,
                Effect::Suspend(status) | Effect::Finish(status) => stopped = Some(status),
            }
        }
        self.writer.commit(self.tasks.is_idle());
        Ok(stopped)
    }

    /// Returns the texts that are stored with a checkpoint that names their digests: inputs that a resume or a parent
    /// run has provided, and a graph that the run has written.
    fn new_texts(&self, record: &Record) -> Vec<DigestedText> {
        let Record::Checkpoint(checkpoint) = record else { return Vec::new() };
        let inputs = self.walker.new_inputs(record).map(|inputs| (checkpoint.inputs, inputs));
        let texts = inputs.into_iter().chain(self.walker.new_document(record));
        texts.map(|(digest, value)| (digest, json::canonical_string(&value))).collect()
    }

    /// Returns an event that can be handled at once. Requests to stop come first, then due timers, so that a run that
    /// never waits can be stopped and ends in time; then stored records, which let the run continue. If too many
    /// records wait to be stored, nothing else is handled.
    fn ready(&mut self, observer: &mut dyn Observer) -> Option<Event> {
        if let Ok(stop) = self.stops.try_recv() {
            return Some(stop.into());
        }
        if let Some(timer) = self.due() {
            return Some(Event::TimerFired(timer));
        }
        if let Some(acknowledged) = self.writer.try_acknowledged() {
            return Some(acknowledged.into());
        }
        if self.writer.is_behind() {
            return None;
        }
        if let Some(event) = self.reservations.try_arrived().or_else(|| self.tasks.try_ended()) {
            return Some(event);
        }
        self.begins_next = !self.begins_next;
        if self.has_more && !self.begins_next {
            return self.more();
        }
        let clock = Arc::clone(&self.clock);
        self.tasks.advance(|spec| observer.started(clock.now(), spec)).or_else(|| self.more())
    }

    /// Returns control to the walker, if it has asked for it.
    fn more(&mut self) -> Option<Event> {
        std::mem::take(&mut self.has_more).then_some(Event::Continued)
    }

    fn due(&mut self) -> Option<TimerId> {
        self.timers.earliest()?;
        self.timers.take_due(self.clock.now())
    }

    /// Waits until there is an event. Returns `None` if another process holds the run.
    async fn wait(&mut self, observer: &mut dyn Observer) -> Option<Event> {
        // The writer may have noticed during the wait that the run is lost.
        while self.writer.lost().is_none() {
            let earliest = self.timers.earliest();
            if self.alarm.as_ref().map(|(at, _)| *at) != earliest {
                self.alarm = earliest.map(|at| (at, self.clock.wait_until(at)));
            }
            let alarm = async {
                match &mut self.alarm {
                    Some((_, wait)) => wait.await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                Some(stop) = self.stops.recv() => return Some(stop.into()),
                () = self.writer.written() => {}
                event = self.reservations.arrived(), if !self.writer.is_behind() => return Some(event),
                event = self.tasks.ended(), if !self.writer.is_behind() => return Some(event),
                () = alarm => self.alarm = None,
            }
            if let Some(event) = self.ready(observer) {
                return Some(event);
            }
        }
        None
    }
}

/// Reports whether a record stops the root run. Only then is the usage of the run added up over all its child runs:
/// there may be very many of them, so that this is not done whenever one of them stops.
fn stops_run(record: &Record) -> bool {
    matches!(record, Record::Status(status) if status.namespace.is_empty() && status.status != Status::Running)
}

impl fmt::Debug for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver")
            .field("writer", &self.writer)
            .field("tasks", &self.tasks)
            .field("timers", &self.timers)
            .finish_non_exhaustive()
    }
}

impl From<Refusal> for DriveError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Failed(message) => Self::Storage(message),
            Refusal::Lost(message) => Self::Lost(message),
        }
    }
}

impl From<StopRequest> for Event {
    fn from(stop: StopRequest) -> Self {
        match stop {
            StopRequest::Cancel => Self::CancelRequested,
            StopRequest::Kill => Self::KillRequested,
        }
    }
}

impl From<StorageOutcome> for Event {
    fn from(acknowledged: StorageOutcome) -> Self {
        match acknowledged {
            StorageOutcome { id, failed: None } => Self::Persisted(id),
            StorageOutcome { id, failed: Some(message) } => Self::PersistFailed { id, message },
        }
    }
}
