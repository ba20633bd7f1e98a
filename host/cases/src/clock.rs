//! Virtual time of a case. It does not advance while the case is working, and then jumps to the next deadline.
//!
//! A case runs on a single-threaded runtime with paused time. Such a runtime advances its time only when every task
//! waits, and then to the earliest deadline: a back-off of a minute takes no real time, and the order of events depends
//! only on the durations in the case.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use graph_core::time::Timestamp;
use tokio::time::Instant;

use graph_driver::Clock;

/// Time at which every case starts: 2030-01-01T00:00:00Z.
const BEGINNING: Timestamp = Timestamp(1_893_456_000_000);

/// Clock that reads the paused time of the runtime on which it was created.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PausedClock {
    started: Instant,
}

impl PausedClock {
    /// Creates a clock that starts now.
    pub(crate) fn start() -> Self {
        Self { started: Instant::now() }
    }
}

impl Clock for PausedClock {
    fn now(&self) -> Timestamp {
        BEGINNING.after(self.started.elapsed())
    }

    fn wait_until(&self, at: Timestamp) -> BoxFuture<'static, ()> {
        tokio::time::sleep_until(self.started + at.since(BEGINNING)).boxed()
    }
}
