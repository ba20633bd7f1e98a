//! Time in the shell: the recorded time of the superstep, and the time that scripts sleep.
//!
//! Sleeps do not wait. Each registers its end; once everything in the shell waits, the executor advances the clock to
//! the earliest end. Jobs in the background therefore take turns as in real time.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use graph_sdk::host;

/// Ends of sleeps, in microseconds, each with a number that makes it unique.
type Sleeps = BTreeMap<(u64, u64), Waker>;

struct Clock {
    /// Time that was slept, in microseconds.
    slept: u64,
    sleeps: Sleeps,
    next: u64,
}

static CLOCK: Mutex<Clock> = Mutex::new(Clock { slept: 0, sleeps: BTreeMap::new(), next: 0 });

fn clock() -> std::sync::MutexGuard<'static, Clock> {
    CLOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

/// Returns the time since 1970 in microseconds, which bashkit uses for both of its clocks.
#[unsafe(no_mangle)]
extern "Rust" fn __bashkit_host_now_micros() -> u64 {
    static START: OnceLock<u64> = OnceLock::new();
    START.get_or_init(|| micros(host::now())).saturating_add(clock().slept)
}

/// Returns a future that is ready after a span of the virtual clock.
pub(crate) fn sleep(span: Duration) -> Sleep {
    let mut clock = clock();
    let number = clock.next;
    clock.next += 1;
    Sleep { key: (clock.slept.saturating_add(micros(span)), number) }
}

/// A future that is ready once the clock has advanced far enough.
pub(crate) struct Sleep {
    key: (u64, u64),
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut clock = clock();
        if clock.slept >= self.key.0 {
            clock.sleeps.remove(&self.key);
            return Poll::Ready(());
        }
        clock.sleeps.insert(self.key, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        clock().sleeps.remove(&self.key);
    }
}

/// Advances the clock to the end of the next sleep. Returns false if there is none.
pub(crate) fn advance() -> bool {
    let mut clock = clock();
    let Some(((until, _), waker)) = clock.sleeps.pop_first() else { return false };
    let span = until.saturating_sub(clock.slept);
    clock.slept = clock.slept.max(until);
    drop(clock);
    host::sleep(Duration::from_micros(span));
    waker.wake();
    true
}
