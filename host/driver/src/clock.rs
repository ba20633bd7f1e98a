//! The driver's clock. Cases bring one of their own, so that a back-off of a minute does not take a minute.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use graph_core::time::Timestamp;

/// Tells the time and waits for it.
pub trait Clock: fmt::Debug + Send + Sync {
    /// The time.
    fn now(&self) -> Timestamp;

    /// Is ready once that time has come.
    fn wait_until(&self, at: Timestamp) -> BoxFuture<'static, ()>;
}

/// The system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    fn wait_until(&self, at: Timestamp) -> BoxFuture<'static, ()> {
        // One day at most: a clock that is set forward meanwhile is noticed then.
        let span = at.since(self.now()).min(Duration::from_hours(24));
        tokio::time::sleep(span).boxed()
    }
}
