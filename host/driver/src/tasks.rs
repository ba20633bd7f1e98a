//! The running attempts of a run.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use graph_core::limits::TaskLimits;
use graph_core::node::{Category, Failure};
use graph_walker::walker::{Event, HookSpec, Lookup, TaskReport, TaskSpec, Timing};
use tokio::task::{AbortHandle, Id, JoinSet};

use crate::clock::Clock;
use crate::executor::{CallObserver, TaskExecutor};
use crate::results::CachedResults;

/// A task and its attempt, or a hook's call and [`HOOK`].
type Name = (Arc<str>, u32);

/// The attempt number of a hook, which has only one attempt. Those of tasks begin at 1.
const HOOK: u32 = 0;

/// Work that waits to be started.
enum Work {
    Task(TaskSpec),
    Hook(HookSpec),
    /// A lookup in the cache of results.
    Lookup(BoxFuture<'static, Event>),
}

/// The work that waits, in the order of its arrival. It can be found by name, because a run that is to stop removes all
/// of it one by one, and there may be very much.
#[derive(Default)]
struct WaitingWork {
    work: BTreeMap<u64, (Name, Work)>,
    places: HashMap<Name, u64>,
    added: u64,
}

impl WaitingWork {
    fn push(&mut self, name: Name, work: Work) {
        self.remove(&name);
        self.added += 1;
        self.places.insert(name.clone(), self.added);
        self.work.insert(self.added, (name, work));
    }

    fn remove(&mut self, name: &Name) {
        if let Some(place) = self.places.remove(name) {
            self.work.remove(&place);
        }
    }

    fn next(&mut self) -> Option<(Name, Work)> {
        let (_, (name, work)) = self.work.pop_first()?;
        self.places.remove(&name);
        Some((name, work))
    }

    fn is_empty(&self) -> bool {
        self.work.is_empty()
    }
}

/// An attempt that is about to start.
enum Attempt {
    Task(TaskSpec),
    Hook(HookSpec),
}

impl Attempt {
    const fn spec(&self) -> &TaskSpec {
        match self {
            Self::Task(spec) => spec,
            Self::Hook(spec) => &spec.call,
        }
    }

    fn prepare(&self, executor: &dyn TaskExecutor) -> Option<BoxFuture<'static, Result<(), Failure>>> {
        executor.prepare(self.spec(), matches!(self, Self::Hook(_)))
    }

    fn execute(self, executor: &dyn TaskExecutor) -> BoxFuture<'static, TaskReport> {
        match self {
            Self::Task(spec) => executor.execute(spec),
            Self::Hook(spec) => executor.execute_hook(spec),
        }
    }
}

/// Work that has ended.
enum EndedWork {
    Attempt(TaskReport),
    Lookup(Event),
}

/// The attempts that wait and those that run.
pub(crate) struct Tasks {
    executor: Arc<dyn TaskExecutor>,
    stopwatch: Stopwatch,
    waiting: WaitingWork,
    running: JoinSet<EndedWork>,
    handles: HashMap<Name, AbortHandle>,
    names: HashMap<Id, Name>,
    parallelism: usize,
}

impl Tasks {
    pub(crate) fn new(executor: Arc<dyn TaskExecutor>, clock: Arc<dyn Clock>) -> Self {
        let parallelism = executor.parallelism().max(1);
        Self {
            executor,
            stopwatch: Stopwatch { clock, origin: Instant::now() },
            waiting: WaitingWork::default(),
            running: JoinSet::new(),
            handles: HashMap::new(),
            names: HashMap::new(),
            parallelism,
        }
    }

    /// Sets the observer of the calls that components make.
    pub(crate) fn observe(&self, calls: Arc<dyn CallObserver>) {
        self.executor.observe(calls);
    }

    /// Reports whether no attempt waits or runs.
    pub(crate) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty()
    }

    /// Adds an attempt; [`Self::advance`] starts it.
    pub(crate) fn add(&mut self, spec: TaskSpec) {
        let name = (Arc::from(spec.activation.task.as_str()), spec.activation.attempt);
        self.waiting.push(name, Work::Task(spec));
    }

    /// Adds a hook; [`Self::advance`] starts it.
    pub(crate) fn add_hook(&mut self, spec: HookSpec) {
        let name = (Arc::from(spec.call.activation.task.as_str()), HOOK);
        self.waiting.push(name, Work::Hook(spec));
    }

    /// Adds a cache lookup that precedes an attempt; [`Self::advance`] starts it, and aborting the attempt aborts it.
    pub(crate) fn add_lookup(&mut self, lookup: Lookup, results: &CachedResults) {
        let told = &lookup.spec.activation;
        let name = (Arc::from(told.task.as_str()), told.attempt);
        self.waiting.push(name, Work::Lookup(results.look_up(lookup, &*self.executor)));
    }

    pub(crate) fn abort_hook(&mut self, call: &Arc<str>) {
        self.abort(call, HOOK);
    }

    pub(crate) fn abort(&mut self, task: &Arc<str>, attempt: u32) {
        let name = (Arc::clone(task), attempt);
        self.waiting.remove(&name);
        if let Some(handle) = self.handles.remove(&name) {
            self.names.remove(&handle.id());
            handle.abort();
        }
    }

    pub(super) fn give_up(&mut self) {
        self.waiting = WaitingWork::default();
        self.handles.clear();
        self.names.clear();
        self.running.abort_all();
    }

    /// Starts attempts while there is room. An attempt that is brief, or the only one, is performed on this thread up to
    /// the point where it first waits; if it ends before, its report is the returned event.
    pub(crate) fn advance(&mut self, mut begins: impl FnMut(&TaskSpec)) -> Option<Event> {
        while self.running.len() < self.parallelism {
            let (name, work) = self.waiting.next()?;
            let alone = self.running.is_empty() && self.waiting.is_empty();
            let began = self.stopwatch.origin.elapsed();
            let mut context = Context::from_waker(Waker::noop());
            let (attempt, is_brief) = match work {
                Work::Task(spec) => {
                    begins(&spec);
                    let is_brief = self.executor.is_brief(&spec);
                    (Attempt::Task(spec), is_brief)
                }
                Work::Hook(spec) => (Attempt::Hook(spec), false),
                Work::Lookup(mut answer) => {
                    if let Poll::Ready(found) = answer.as_mut().poll(&mut context) {
                        return Some(found);
                    }
                    let handle = self.running.spawn(answer.map(EndedWork::Lookup));
                    self.begun(name, handle);
                    continue;
                }
            };
            let limits = attempt.spec().limits;
            let (executor, stopwatch) = (Arc::clone(&self.executor), self.stopwatch.clone());
            // An attempt is expected to be brief only if its component has been executed before: it needs no preparation.
            let preparation = if is_brief { None } else { attempt.prepare(&*executor) };
            if let Some(preparation) = preparation {
                let handle = self.running.spawn(async move {
                    let prepared = preparation.await;
                    let began = stopwatch.origin.elapsed();
                    let report = match prepared {
                        Ok(()) => bounded(attempt.execute(&*executor), executor, limits).await,
                        Err(failure) => TaskReport::new(Err(failure), 0),
                    };
                    EndedWork::Attempt(stopwatch.timed(began, report))
                });
                self.begun(name, handle);
                continue;
            }
            let mut attempt = attempt.execute(&*executor);
            if alone || is_brief {
                // A task that waits is polled again by the thread that continues it, with that thread's waker.
                if let Poll::Ready(report) = attempt.as_mut().poll(&mut context) {
                    return Some(done(name, self.stopwatch.timed(began, report)));
                }
            }
            let handle = self.running.spawn(async move {
                EndedWork::Attempt(stopwatch.timed(began, bounded(attempt, executor, limits).await))
            });
            self.begun(name, handle);
        }
        None
    }

    fn begun(&mut self, name: Name, handle: AbortHandle) {
        self.names.insert(handle.id(), name.clone());
        self.handles.insert(name, handle);
    }

    /// Waits for an attempt to end. It never resolves if none runs.
    pub(crate) async fn ended(&mut self) -> Event {
        loop {
            match self.running.join_next_with_id().await {
                None => std::future::pending().await,
                Some(ended) => {
                    if let Some(event) = self.settle(ended) {
                        return event;
                    }
                }
            }
        }
    }

    /// Returns the event of an attempt that has ended already.
    pub(crate) fn try_ended(&mut self) -> Option<Event> {
        while let Some(ended) = self.running.try_join_next_with_id() {
            if let Some(event) = self.settle(ended) {
                return Some(event);
            }
        }
        None
    }

    /// Returns the event of an attempt that has ended; `None` for one that was abandoned.
    fn settle(&mut self, ended: Result<(Id, EndedWork), tokio::task::JoinError>) -> Option<Event> {
        let (id, ended) = match ended {
            Ok(ended) => ended,
            Err(error) if error.is_cancelled() => return None,
            Err(error) => {
                let message = format!("the host broke down while it performed this task: {error}");
                let result = Err(Failure::new(Category::Internal, message));
                (error.id(), EndedWork::Attempt(TaskReport::new(result, 0)))
            }
        };
        let name = self.names.remove(&id)?;
        self.handles.remove(&name);
        Some(match ended {
            EndedWork::Attempt(report) => done(name, report),
            EndedWork::Lookup(found) => found,
        })
    }
}

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tasks")
            .field("executor", &self.executor)
            .field("waiting", &self.waiting.work.len())
            .field("running", &self.running.len())
            .finish_non_exhaustive()
    }
}

/// Measures the duration of attempts.
#[derive(Clone, Debug)]
struct Stopwatch {
    clock: Arc<dyn Clock>,
    /// The time from which the start times of attempts are counted.
    origin: Instant,
}

impl Stopwatch {
    /// Adds the timing of its attempt to a report.
    fn timed(&self, began: Duration, report: TaskReport) -> TaskReport {
        let took = self.origin.elapsed().saturating_sub(began);
        TaskReport { timing: Timing { at: Some(self.clock.now()), began, took }, ..report }
    }
}

fn done((task, attempt): Name, report: TaskReport) -> Event {
    if attempt == HOOK {
        Event::HookDone { hook: task, report }
    } else {
        Event::TaskDone { task, attempt, report }
    }
}

async fn bounded(
    attempt: BoxFuture<'static, TaskReport>,
    executor: Arc<dyn TaskExecutor>,
    limits: TaskLimits,
) -> TaskReport {
    match tokio::time::timeout(executor.bound(&limits), attempt).await {
        Ok(report) => report,
        Err(_) => executor.timed_out(&limits),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(number: u32) -> Name {
        (Arc::from(format!("1.{number}")), 1)
    }

    fn names(mut waiting: WaitingWork) -> Vec<Name> {
        std::iter::from_fn(|| waiting.next()).map(|(name, _)| name).collect()
    }

    #[test]
    fn work_is_found_by_its_name_and_starts_in_order() {
        let work = || Work::Lookup(futures::future::pending().boxed());
        let mut waiting = WaitingWork::default();
        for number in 0..6 {
            waiting.push(name(number), work());
        }
        waiting.remove(&name(3));
        waiting.remove(&name(0));
        waiting.remove(&name(9));
        // An attempt with the number of a removed one can be added again.
        waiting.push(name(3), work());
        assert_eq!(waiting.places.len(), waiting.work.len());
        assert_eq!(names(waiting), [1, 2, 4, 5, 3].map(name));
        assert!(WaitingWork::default().is_empty());
    }
}
