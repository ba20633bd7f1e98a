//! The virtual time of a case: it does not pass while anything happens, and jumps to the next deadline.
//!
//! A case runs on a runtime of one thread with paused time. Such a runtime advances its time only when every task waits,
//! and then to the earliest deadline: a back-off of a minute takes no time, and the order of events depends only on the
//! figures in the case.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use graph_core::time::Timestamp;
use tokio::time::Instant;

use graph_driver::Clock;

/// The time at which every case begins: 2030-01-01T00:00:00Z.
const BEGINNING: Timestamp = Timestamp(1_893_456_000_000);

/// The paused time of the runtime that it was made on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PausedClock {
    started: Instant,
}

impl PausedClock {
    /// A clock that begins now.
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
