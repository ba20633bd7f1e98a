//! The driver's clock. Cases use one of their own, so that a back-off of a minute does not take a minute.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use graph_core::time::Timestamp;

/// A source of time, which can also wait. Cases use one that is virtual.
pub trait Clock: fmt::Debug + Send + Sync {
    /// Returns the present time. The run's records contain it.
    fn now(&self) -> Timestamp;

    /// Returns a future that resolves at that time or later.
    fn wait_until(&self, at: Timestamp) -> BoxFuture<'static, ()>;
}

/// The clock of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    fn wait_until(&self, at: Timestamp) -> BoxFuture<'static, ()> {
        // The wait ends after at most a day, so that a clock that was set forward is noticed.
        let span = at.since(self.now()).min(Duration::from_hours(24));
        tokio::time::sleep(span).boxed()
    }
}
