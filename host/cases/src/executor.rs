//! Execution of the tasks of a case: by doubles, or by real components for items without a double.

use std::sync::{Arc, Mutex, PoisonError, mpsc};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use graph_core::digest::Digest;
use graph_core::node::{Category, Failure};
use graph_walker::walker::{HookSpec, TaskReport, TaskSpec};

use crate::double::Doubles;
use crate::store::CaseStore;
use graph_driver::{Reservations, TaskExecutor};

/// Executor of a case.
#[derive(Debug)]
pub(crate) struct CaseExecutor {
    pub(crate) doubles: Arc<Doubles>,
    pub(crate) store: Arc<CaseStore>,
    /// Executor of items without a double.
    pub(crate) real: Option<Arc<dyn TaskExecutor>>,
    pub(crate) standstill: Arc<Standstill>,
}

/// Stops a case's virtual time while components run, whatever they wait for, so that they take no time. Paused time
/// does not advance while a blocking thread of the runtime is busy.
#[derive(Debug, Default)]
pub(crate) struct Standstill {
    under_way: Mutex<(usize, Option<mpsc::Sender<()>>)>,
}

/// A component that is running. The virtual time stands still until this value is dropped.
struct HeldTask(Arc<Standstill>);

impl Standstill {
    fn hold(self: &Arc<Self>) -> HeldTask {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.0 += 1;
        if under_way.1.is_none() {
            let (sender, receiver) = mpsc::channel::<()>();
            // The thread ends when the sender is dropped.
            tokio::task::spawn_blocking(move || receiver.recv());
            under_way.1 = Some(sender);
        }
        HeldTask(Arc::clone(self))
    }
}

impl Drop for HeldTask {
    fn drop(&mut self) {
        let mut under_way = self.0.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.0 -= 1;
        if under_way.0 == 0 {
            under_way.1 = None;
        }
    }
}

impl TaskExecutor for CaseExecutor {
    fn execute(&self, spec: TaskSpec) -> BoxFuture<'static, TaskReport> {
        // After a crash of the case, nothing more is dispatched.
        if self.store.is_broken() {
            return futures::future::pending().boxed();
        }
        self.doubles.count(&spec.path);
        let Some(reply) = self.doubles.call(&spec) else {
            return match &self.real {
                Some(real) => {
                    let (real, standstill) = (Arc::clone(real), Arc::clone(&self.standstill));
                    async move {
                        let _held = standstill.hold();
                        real.execute(spec).await
                    }
                    .boxed()
                }
                None => futures::future::ready(unknown(&spec)).boxed(),
            };
        };
        async move {
            let _held = reply.held;
            if let Some(delay) = reply.delay {
                tokio::time::sleep(delay).await;
            }
            reply.report
        }
        .boxed()
    }

    fn prepare(&self, spec: &TaskSpec, is_hook: bool) -> Option<BoxFuture<'static, Result<(), Failure>>> {
        if self.store.is_broken() || self.doubles.has(&spec.item_id) {
            return None;
        }
        let preparation = self.real.as_ref()?.prepare(spec, is_hook)?;
        let standstill = Arc::clone(&self.standstill);
        Some(
            async move {
                let _held = standstill.hold();
                preparation.await
            }
            .boxed(),
        )
    }

    fn execute_hook(&self, spec: HookSpec) -> BoxFuture<'static, TaskReport> {
        match &self.real {
            Some(real) if !self.store.is_broken() && !self.doubles.has(&spec.call.item_id) => {
                self.doubles.count(&spec.call.path);
                let (real, standstill) = (Arc::clone(real), Arc::clone(&self.standstill));
                async move {
                    let _held = standstill.hold();
                    real.execute_hook(spec).await
                }
                .boxed()
            }
            _ => self.execute(spec.call),
        }
    }

    fn performer(&self, spec: &TaskSpec) -> BoxFuture<'static, Option<Digest>> {
        if self.store.is_broken() {
            return futures::future::pending().boxed();
        }
        if self.doubles.has(&spec.item_id) {
            return futures::future::ready(Some(Digest::of_bytes(b"a double"))).boxed();
        }
        let Some(real) = &self.real else { return futures::future::ready(None).boxed() };
        let (performer, standstill) = (real.performer(spec), Arc::clone(&self.standstill));
        async move {
            let _held = standstill.hold();
            performer.await
        }
        .boxed()
    }

    /// Returns false for every attempt, so that every task of a superstep is dispatched before any of them ends, as on
    /// a machine with enough cores.
    fn is_brief(&self, _spec: &TaskSpec) -> bool {
        false
    }

    fn parallelism(&self) -> usize {
        usize::MAX
    }

    fn reserve_with(&self, reservations: Reservations) {
        if let Some(real) = &self.real {
            real.reserve_with(reservations);
        }
    }
}

/// Returns the failure of an item without a double, in a case without real items.
fn unknown(spec: &TaskSpec) -> TaskReport {
    let message = format!("there is no double for `{}` in the case, and no such item", spec.item_id);
    TaskReport::new(Err(Failure::new(Category::InvalidInput, message)), 0)
}
