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
use graph_walker::walker::{HookSpec, TaskReport, TaskSpec};

use crate::reservations::Reservations;

/// Receives the calls that components make to the host, on the threads that execute the components.
pub trait CallObserver: fmt::Debug + Send + Sync {
    /// Called when an attempt of a task has called the host.
    fn host_call(&self, task: &str, attempt: u32, call: &HostCall);

    /// Called when a part of a language model's answer to a component of this attempt has arrived.
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

    /// Prepares what an attempt needs, such as a component that has yet to be compiled; the attempt's timeout begins
    /// after that. Returns `None` if everything is ready. An error becomes the result of the attempt, which is then not
    /// performed.
    fn prepare(&self, spec: &TaskSpec, is_hook: bool) -> Option<BoxFuture<'static, Result<(), Failure>>> {
        let _ = (spec, is_hook);
        None
    }

    /// Performs a hook's dispatch, as an attempt of a task.
    fn execute_hook(&self, spec: HookSpec) -> BoxFuture<'static, TaskReport> {
        self.execute(spec.call)
    }

    /// Returns the digest of what would perform the attempt: the component, its grant and the engine. `None` if it is
    /// unknown, or if the attempt would be refused: then no cached result is used for it.
    fn performer(&self, spec: &TaskSpec) -> BoxFuture<'static, Option<Digest>> {
        let _ = spec;
        futures::future::ready(None).boxed()
    }

    /// Reports whether the attempt is expected to end sooner than another thread could start it: it is then performed
    /// on the driver's own thread. A wrong guess only costs time.
    fn is_brief(&self, spec: &TaskSpec) -> bool;

    /// Returns the number of attempts that run in parallel unless the graph limits them.
    fn parallelism(&self) -> usize;

    /// Sets the observer of the calls that components make.
    fn observe(&self, calls: Arc<dyn CallObserver>) {
        let _ = calls;
    }

    /// Passes the executor the handle through which language model reservations are stored. An attempt has to wait
    /// until its reservation is stored before it sends a request to a model, so that the reservation counts after a
    /// crash.
    fn reserve_with(&self, reservations: Reservations) {
        let _ = reservations;
    }

    /// Returns the time after which the driver abandons an attempt.
    fn bound(&self, limits: &TaskLimits) -> Duration {
        limits.timeout
    }

    /// Returns the report of an attempt that was abandoned at its deadline.
    fn timed_out(&self, limits: &TaskLimits) -> TaskReport {
        let message = format!("it did not answer within {}", span(limits.timeout));
        TaskReport::new(Err(Failure::new(Category::Timeout, message)), 0)
    }
}

/// Formats a duration as documents write it, in the largest of `m`, `s` and `ms` in which it is a whole number.
pub(crate) fn span(span: Duration) -> String {
    let ms = span.as_millis();
    match ms {
        0 => "0ms".to_owned(),
        ms if ms % 60_000 == 0 => format!("{}m", ms / 60_000),
        ms if ms % 1000 == 0 => format!("{}s", ms / 1000),
        ms => format!("{ms}ms"),
    }
}
