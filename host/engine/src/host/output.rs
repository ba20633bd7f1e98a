//! `graph-host:host/log`, `graph-host:host/events` and standard streams, within one budget of bytes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use graph_core::diagnostic::escape;
use graph_core::json::{MAX_DEPTH, TreeLimit, parse_strict};
use graph_core::node::Category;
use graph_core::record::{HostCall, LogLevel, LogLine, ModelDelta};
use serde_json::Value;

use crate::bindings::graph_host::host::{events, log};
use crate::classify::GuestFault;
use crate::limiter::LimitReached;
use crate::state::TaskState;

/// Cost of a line or an event in addition to its text, in bytes: empty ones are not free.
const OVERHEAD: u64 = 16;
/// The longest line of a standard stream, in bytes.
const MAX_LINE: usize = 64 << 10;
/// The longest name of an event, in bytes.
const MAX_NAME: usize = 64;

/// Returns the level that a component has named.
const fn level_of(level: log::Level) -> LogLevel {
    match level {
        log::Level::Trace => LogLevel::Trace,
        log::Level::Debug => LogLevel::Debug,
        log::Level::Info => LogLevel::Info,
        log::Level::Warn => LogLevel::Warn,
        log::Level::Error => LogLevel::Error,
    }
}

/// A record that a component adds to the run's event stream.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRecord {
    /// The kind of record: letters, digits, `_`, `-`, `.` and `/`.
    pub name: String,
    /// The value of the event.
    pub payload: Value,
}

/// Receives log lines and events during a call. The report of the call contains all of them as well.
pub trait OutputObserver: Send + Sync {
    /// Receives a log line.
    fn log(&self, line: &LogLine);
    /// Receives an event.
    fn event(&self, event: &EventRecord);
    /// Receives a call of the host.
    fn call(&self, call: &HostCall) {
        let _ = call;
    }
    /// Receives a part of a language model's answer, which no report contains.
    fn model_delta(&self, delta: &ModelDelta) {
        let _ = delta;
    }
}

/// The lines and events of a call so far. Clones share them, since the streams of `wasi:cli` also write to them.
#[derive(Clone)]
pub(crate) struct Output {
    written: Arc<Mutex<WrittenOutput>>,
    limit: u64,
    observer: Option<Arc<dyn OutputObserver>>,
}

struct WrittenOutput {
    logs: Vec<LogLine>,
    events: Vec<EventRecord>,
    left: u64,
    /// The bytes written to standard output and standard error since the last line end.
    unfinished: [Vec<u8>; 2],
}

/// A standard stream to which a component writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StandardStream {
    Output,
    Error,
}

impl StandardStream {
    fn level(self) -> LogLevel {
        match self {
            Self::Output => LogLevel::Info,
            Self::Error => LogLevel::Warn,
        }
    }
}

impl Output {
    pub(crate) fn new(limit: u64, observer: Option<Arc<dyn OutputObserver>>) -> Self {
        let unfinished = [Vec::new(), Vec::new()];
        let written = WrittenOutput { logs: Vec::new(), events: Vec::new(), left: limit, unfinished };
        Self { written: Arc::new(Mutex::new(written)), limit, observer }
    }

    fn written(&self) -> MutexGuard<'_, WrittenOutput> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spend(&self, cost: u64) -> Result<(), LimitReached> {
        let mut written = self.written();
        written.left = written.left.checked_sub(cost).ok_or(LimitReached::Log { limit: self.limit })?;
        Ok(())
    }

    fn push_line(&self, level: LogLevel, message: &str) {
        let line = LogLine { level, message: escape(message) };
        if let Some(observer) = &self.observer {
            observer.log(&line);
        }
        self.written().logs.push(line);
    }

    /// Adds bytes that were written to a standard stream: each line of them becomes a log line, within the same budget. A line that is
    /// longer than 64 KiB is divided.
    pub(crate) fn write(&self, stream: StandardStream, bytes: &[u8]) -> Result<(), LimitReached> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (complete, taken) = {
                let mut written = self.written();
                let unfinished = &mut written.unfinished[stream as usize];
                let begins = unfinished.is_empty();
                let room = MAX_LINE - unfinished.len();
                let end = rest.iter().take(room).position(|byte| *byte == b'\n');
                let text = end.unwrap_or(room.min(rest.len()));
                unfinished.extend_from_slice(&rest[..text]);
                let complete =
                    (end.is_some() || unfinished.len() == MAX_LINE).then(|| std::mem::take(unfinished));
                let cost = (text as u64).saturating_add(if begins { OVERHEAD } else { 0 });
                written.left =
                    written.left.checked_sub(cost).ok_or(LimitReached::Log { limit: self.limit })?;
                (complete, text + usize::from(end.is_some()))
            };
            if let Some(line) = complete {
                self.push_bytes(stream, &line);
            }
            rest = &rest[taken..];
        }
        Ok(())
    }

    fn push_bytes(&self, stream: StandardStream, line: &[u8]) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        self.push_line(stream.level(), &String::from_utf8_lossy(line));
    }

    /// Returns the lines and events once the call has ended. Bytes without a line end become a line.
    pub(crate) fn finish(&self) -> (Vec<LogLine>, Vec<EventRecord>) {
        for stream in [StandardStream::Output, StandardStream::Error] {
            let line = std::mem::take(&mut self.written().unfinished[stream as usize]);
            if !line.is_empty() {
                self.push_bytes(stream, &line);
            }
        }
        let mut written = self.written();
        (std::mem::take(&mut written.logs), std::mem::take(&mut written.events))
    }
}

/// The start time of a call of the host; `None` without an observer.
#[derive(Clone, Copy)]
pub(crate) struct CallStart(Option<(Duration, Instant)>);

impl Output {
    /// Records the start of a call of the host.
    pub(crate) fn begin(&self) -> CallStart {
        let now = || (SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(), Instant::now());
        CallStart(self.observer.is_some().then(now))
    }

    /// Reports a call of the host that has ended.
    pub(crate) fn ended(
        &self,
        begun: CallStart,
        interface: &'static str,
        function: &'static str,
        succeeded: bool,
    ) {
        if let (Some(observer), Some((began, from))) = (&self.observer, begun.0) {
            observer.call(&HostCall { interface, function, began, took: from.elapsed(), succeeded });
        }
    }
}

impl Output {
    /// Adds a line of the host about the component, within the same budget; it is dropped if the budget is used up.
    pub(crate) fn host_line(&self, level: LogLevel, message: &str) {
        if self.spend(cost(message.len())).is_ok() {
            self.push_line(level, message);
        }
    }

    /// Checks whether an observer receives parts of answers of language models.
    pub(crate) fn is_observed(&self) -> bool {
        self.observer.is_some()
    }

    /// Reports a part of an answer of a language model.
    pub(crate) fn model_delta(&self, delta: &ModelDelta) {
        if let Some(observer) = &self.observer {
            observer.model_delta(delta);
        }
    }

    fn emit_record(&self, event: EventRecord) {
        if let Some(observer) = &self.observer {
            observer.event(&event);
        }
        self.written().events.push(event);
    }

    /// Adds an event of a called component, which was checked before, within the same budget.
    pub(crate) fn add_event(&self, event: EventRecord) -> Result<(), LimitReached> {
        self.spend(cost(event.name.len().saturating_add(event.payload.to_string().len())))?;
        self.emit_record(event);
        Ok(())
    }
}

/// Returns the cost of a line or an event with a text of that size.
fn cost(bytes: usize) -> u64 {
    OVERHEAD.saturating_add(bytes as u64)
}

impl log::Host for TaskState {
    fn log(&mut self, level: log::Level, message: String) -> wasmtime::Result<()> {
        let begun = self.output.begin();
        let result = self.log_line(level, &message);
        self.output.ended(begun, "graph-host:host/log", "log", result.is_ok());
        result
    }
}

impl TaskState {
    fn log_line(&mut self, level: log::Level, message: &str) -> wasmtime::Result<()> {
        self.output.spend(cost(message.len()))?;
        self.output.push_line(level_of(level), message);
        Ok(())
    }
}

impl events::Host for TaskState {
    fn emit(&mut self, name: String, payload: String) -> wasmtime::Result<()> {
        let begun = self.output.begin();
        let result = self.add_event(name, &payload);
        self.output.ended(begun, "graph-host:host/events", "emit", result.is_ok());
        result
    }
}

impl TaskState {
    fn add_event(&mut self, name: String, payload: &str) -> wasmtime::Result<()> {
        self.output.spend(cost(name.len().saturating_add(payload.len())))?;
        let named = !name.is_empty()
            && name.len() <= MAX_NAME
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte));
        if !named {
            return Err(GuestFault::new(
                Category::InvalidInput,
                format!(
                    "it emitted an event named `{}`; a name is up to {MAX_NAME} letters, digits, `_`, `-`, `.` and `/`",
                    escape(name.get(..MAX_NAME).unwrap_or(&name)),
                ),
            )
            .into());
        }
        let payload = parse_strict(payload, MAX_DEPTH, TreeLimit::CALL).map_err(|error| {
            GuestFault::new(
                Category::InvalidInput,
                format!("the payload of its event `{name}` is not JSON: {error}"),
            )
        })?;
        self.output.emit_record(EventRecord { name, payload });
        Ok(())
    }
}
