//! The clock behind deadlines: it advances the engine's epoch while calls are under way, and sleeps otherwise.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::Thread;
use std::time::Duration;

use wasmtime::Engine;

/// Interval of the ticks: a call may exceed its deadline by this time, and a dropped call notices within it.
const TICK: Duration = Duration::from_millis(5);
/// Ticks without any call after which the thread sleeps, so that calls in quick succession never have to wake it.
const IDLE_TICKS: u32 = 100;

struct TickerState {
    active: AtomicUsize,
    asleep: AtomicBool,
    stop: AtomicBool,
}

/// Owns the thread; dropping it ends the thread.
pub(crate) struct Ticker {
    shared: Arc<TickerState>,
    thread: Thread,
}

/// Marks a call as under way until it is dropped.
pub(crate) struct ActiveCall<'a>(&'a TickerState);

impl Drop for ActiveCall<'_> {
    fn drop(&mut self) {
        self.0.active.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Ticker {
    pub(crate) fn start(engine: &Engine) -> std::io::Result<Self> {
        let shared = Arc::new(TickerState {
            active: AtomicUsize::new(0),
            asleep: AtomicBool::new(false),
            stop: AtomicBool::new(false),
        });
        let weak = engine.weak();
        let state = Arc::clone(&shared);
        let handle = std::thread::Builder::new().name("graph-epoch".to_owned()).spawn(move || {
            let mut idle = 0;
            while !state.stop.load(Ordering::SeqCst) {
                std::thread::park_timeout(TICK);
                if state.active.load(Ordering::SeqCst) > 0 {
                    idle = 0;
                    match weak.upgrade() {
                        Some(engine) => engine.increment_epoch(),
                        None => return,
                    }
                    continue;
                }
                idle += 1;
                if idle >= IDLE_TICKS {
                    idle = 0;
                    state.asleep.store(true, Ordering::SeqCst);
                    // A call that started before the line above has not woken this thread: check again before sleeping.
                    while state.asleep.load(Ordering::SeqCst)
                        && state.active.load(Ordering::SeqCst) == 0
                        && !state.stop.load(Ordering::SeqCst)
                    {
                        std::thread::park();
                    }
                    state.asleep.store(false, Ordering::SeqCst);
                }
            }
        })?;
        Ok(Self { shared, thread: handle.thread().clone() })
    }

    /// Advances the epoch as long as the result lives.
    pub(crate) fn enter(&self) -> ActiveCall<'_> {
        self.shared.active.fetch_add(1, Ordering::SeqCst);
        if self.shared.asleep.load(Ordering::SeqCst) {
            self.thread.unpark();
        }
        ActiveCall(&self.shared)
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::SeqCst);
        self.thread.unpark();
    }
}
