//! Performs tasks: the engine in a real run, doubles in a case.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use graph_core::digest::Digest;
use graph_core::limits::TaskLimits;
use graph_core::node::{Category, Failure};
use graph_core::record::{HostCall, ModelDelta};
use graph_core::walker::{HookSpec, TaskReport, TaskSpec};

use crate::reservations::Reservations;

/// Receives the calls that components make of the host, on the threads that perform them.
pub trait CallObserver: fmt::Debug + Send + Sync {
    /// An attempt of a task has called the host.
    fn host_call(&self, task: &str, attempt: u32, call: &HostCall);

    /// A part of a language model's answer has arrived: the answer to a component of this attempt.
    fn model_delta(&self, attempt: &TaskSpec, delta: &ModelDelta) {
        let _ = (attempt, delta);
    }
}

/// Several observers; each receives everything, in turn.
#[derive(Debug)]
pub(crate) struct CallObservers(pub(crate) Vec<Arc<dyn CallObserver>>);

impl CallObserver for CallObservers {
    fn host_call(&self, task: &str, attempt: u32, call: &HostCall) {
        self.0.iter().for_each(|observer| observer.host_call(task, attempt, call));
    }

    fn model_delta(&self, attempt: &TaskSpec, delta: &ModelDelta) {
        self.0.iter().for_each(|observer| observer.model_delta(attempt, delta));
    }
}

/// Performs the attempts that the walker asks for.
pub trait TaskExecutor: fmt::Debug + Send + Sync + 'static {
    /// Performs one attempt. If the future is dropped, the attempt is abandoned. The driver bounds it by the attempt's
    /// timeout.
    fn execute(&self, spec: TaskSpec) -> BoxFuture<'static, TaskReport>;

    /// Makes ready what an attempt needs, such as a component that has yet to be compiled: an attempt's timeout begins after that. None if
    /// everything is ready. An error is the attempt's own, which is then not performed.
    fn prepare(&self, spec: &TaskSpec, is_hook: bool) -> Option<BoxFuture<'static, Result<(), Failure>>> {
        let _ = (spec, is_hook);
        None
    }

    /// Performs a hook's dispatch, as an attempt of a task.
    fn execute_hook(&self, spec: HookSpec) -> BoxFuture<'static, TaskReport> {
        self.execute(spec.call)
    }

    /// What would perform the attempt: the digest of the component, its grant and the engine. None if that is not known,
    /// or if the attempt would be refused: then no cached result is used for it.
    fn performer(&self, spec: &TaskSpec) -> BoxFuture<'static, Option<Digest>> {
        let _ = spec;
        futures::future::ready(None).boxed()
    }

    /// Whether the attempt is expected to end sooner than another thread could start it: it is then performed on the
    /// driver's own thread. A wrong guess only costs time.
    fn is_brief(&self, spec: &TaskSpec) -> bool;

    /// How many attempts should run in parallel unless the graph limits them.
    fn parallelism(&self) -> usize;

    /// Sets the observer of the calls that components make.
    fn observe(&self, calls: Arc<dyn CallObserver>) {
        let _ = calls;
    }

    /// Hands over what puts reservations of language models on record. An attempt has to wait for that before it asks one,
    /// so that it counts after a crash.
    fn reserve_with(&self, reservations: Reservations) {
        let _ = reservations;
    }

    /// How long the driver waits for an attempt.
    fn bound(&self, limits: &TaskLimits) -> Duration {
        limits.timeout
    }

    /// The report of an attempt that was abandoned at its deadline.
    fn timed_out(&self, limits: &TaskLimits) -> TaskReport {
        let message = format!("it did not answer within {}", span(limits.timeout));
        TaskReport::new(Err(Failure::new(Category::Timeout, message)), 0)
    }
}

/// A duration in the form that documents use.
pub(crate) fn span(span: Duration) -> String {
    let ms = span.as_millis();
    match ms {
        0 => "0ms".to_owned(),
        ms if ms % 60_000 == 0 => format!("{}m", ms / 60_000),
        ms if ms % 1000 == 0 => format!("{}s", ms / 1000),
        ms => format!("{ms}ms"),
    }
}
