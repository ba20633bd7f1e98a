//! Time inside a case: it stands still while anything happens and jumps to the next thing that is due.
//!
//! A case runs on a runtime of one thread whose time is paused. Such a runtime moves its time forward only when every
//! task waits, and then to the earliest deadline: a back-off of a minute takes no time, and what comes first is a matter
//! of the figures in the case alone.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use graph_core::time::Timestamp;
use tokio::time::Instant;

use graph_driver::Clock;

/// When every case begins: 2030-01-01T00:00:00Z.
const BEGINNING: Timestamp = Timestamp(1_893_456_000_000);

/// The paused time of the runtime it was made on.
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
