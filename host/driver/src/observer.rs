//! Observers of a run.

use std::fmt;
use std::sync::Arc;

use graph_core::record::Status;
use graph_core::time::Timestamp;
use graph_walker::walker::{Notice, TaskReport, TaskSpec};

use crate::executor::{CallObserver, CallObservers};

/// Receives what happens in a run. The driver calls it on its own thread, and waits for it to return.
pub trait Observer: Send {
    /// Called when the walker has emitted a notice.
    fn notice(&mut self, at: Timestamp, notice: &Notice);

    /// Called when the walker has requested an attempt of a task. The attempt may have to wait before it starts.
    fn dispatched(&mut self, _at: Timestamp, _spec: &TaskSpec) {}

    /// Called when an attempt of a task starts. For a child run, see [`Notice::ChildStarted`].
    fn started(&mut self, _at: Timestamp, _spec: &TaskSpec) {}

    /// Called when an attempt has ended.
    fn done(&mut self, _at: Timestamp, _task: &str, _attempt: u32, _report: &TaskReport) {}

    /// Called when an attempt was abandoned.
    fn aborted(&mut self, _task: &str, _attempt: u32) {}

    /// Called when records have been stored.
    fn stored(&mut self) {}

    /// Called when the run has stopped in this process, with this status.
    fn stopped(&mut self, _status: Status) {}

    /// Returns the observer of the calls that components make, if there is one.
    fn calls(&self) -> Option<Arc<dyn CallObserver>> {
        None
    }
}

impl Observer for () {
    fn notice(&mut self, _at: Timestamp, _notice: &Notice) {}
}

/// An observer that may be missing.
impl<O: Observer> Observer for Option<O> {
    fn notice(&mut self, at: Timestamp, notice: &Notice) {
        if let Some(observer) = self {
            observer.notice(at, notice);
        }
    }

    fn dispatched(&mut self, at: Timestamp, spec: &TaskSpec) {
        if let Some(observer) = self {
            observer.dispatched(at, spec);
        }
    }

    fn started(&mut self, at: Timestamp, spec: &TaskSpec) {
        if let Some(observer) = self {
            observer.started(at, spec);
        }
    }

    fn done(&mut self, at: Timestamp, task: &str, attempt: u32, report: &TaskReport) {
        if let Some(observer) = self {
            observer.done(at, task, attempt, report);
        }
    }

    fn aborted(&mut self, task: &str, attempt: u32) {
        if let Some(observer) = self {
            observer.aborted(task, attempt);
        }
    }

    fn stored(&mut self) {
        if let Some(observer) = self {
            observer.stored();
        }
    }

    fn stopped(&mut self, status: Status) {
        if let Some(observer) = self {
            observer.stopped(status);
        }
    }

    fn calls(&self) -> Option<Arc<dyn CallObserver>> {
        self.as_ref().and_then(Observer::calls)
    }
}

/// Several observers; each receives everything, in turn.
#[derive(Default)]
pub struct Observers(Vec<Box<dyn Observer>>);

impl Observers {
    /// Adds an observer, which receives everything after those before it.
    pub fn push(&mut self, observer: impl Observer + 'static) {
        self.0.push(Box::new(observer));
    }
}

impl fmt::Debug for Observers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Observers").field(&self.0.len()).finish()
    }
}

impl Observer for Observers {
    fn notice(&mut self, at: Timestamp, notice: &Notice) {
        self.0.iter_mut().for_each(|observer| observer.notice(at, notice));
    }

    fn dispatched(&mut self, at: Timestamp, spec: &TaskSpec) {
        self.0.iter_mut().for_each(|observer| observer.dispatched(at, spec));
    }

    fn started(&mut self, at: Timestamp, spec: &TaskSpec) {
        self.0.iter_mut().for_each(|observer| observer.started(at, spec));
    }

    fn done(&mut self, at: Timestamp, task: &str, attempt: u32, report: &TaskReport) {
        self.0.iter_mut().for_each(|observer| observer.done(at, task, attempt, report));
    }

    fn aborted(&mut self, task: &str, attempt: u32) {
        self.0.iter_mut().for_each(|observer| observer.aborted(task, attempt));
    }

    fn stored(&mut self) {
        self.0.iter_mut().for_each(|observer| observer.stored());
    }

    fn stopped(&mut self, status: Status) {
        self.0.iter_mut().for_each(|observer| observer.stopped(status));
    }

    fn calls(&self) -> Option<Arc<dyn CallObserver>> {
        let mut observers: Vec<_> = self.0.iter().filter_map(|observer| observer.calls()).collect();
        if observers.len() > 1 { Some(Arc::new(CallObservers(observers))) } else { observers.pop() }
    }
}

/// Two borrowed observers.
pub struct ObserverPair<'a>(
    /// The observer that is notified first.
    pub &'a mut dyn Observer,
    /// The observer that is notified second.
    pub &'a mut dyn Observer,
);

impl Observer for ObserverPair<'_> {
    fn notice(&mut self, at: Timestamp, notice: &Notice) {
        self.0.notice(at, notice);
        self.1.notice(at, notice);
    }

    fn dispatched(&mut self, at: Timestamp, spec: &TaskSpec) {
        self.0.dispatched(at, spec);
        self.1.dispatched(at, spec);
    }

    fn started(&mut self, at: Timestamp, spec: &TaskSpec) {
        self.0.started(at, spec);
        self.1.started(at, spec);
    }

    fn done(&mut self, at: Timestamp, task: &str, attempt: u32, report: &TaskReport) {
        self.0.done(at, task, attempt, report);
        self.1.done(at, task, attempt, report);
    }

    fn aborted(&mut self, task: &str, attempt: u32) {
        self.0.aborted(task, attempt);
        self.1.aborted(task, attempt);
    }

    fn stored(&mut self) {
        self.0.stored();
        self.1.stored();
    }
}
