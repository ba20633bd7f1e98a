//! Log lines, events, time and random numbers.

use serde::Serialize;

use crate::Failure;
use crate::imports::{events, log, monotonic_clock, random, wall_clock};

pub use crate::bindings::graph_host::host::log::Level;

/// Writes a log line, which is always granted.
pub fn log(level: Level, message: impl AsRef<str>) {
    log::log(level, message.as_ref());
}

/// Adds a record to the run's event stream, which is always granted.
pub fn emit(name: &str, payload: impl Serialize) -> Result<(), Failure> {
    events::emit(name, &serde_json::to_string(&payload)?);
    Ok(())
}

/// Returns the time of the superstep since 1970, the same at each call of a task. Requires `wasi:clocks/wall-clock`.
pub fn now() -> std::time::Duration {
    let now = wall_clock::now();
    std::time::Duration::new(now.seconds, now.nanoseconds)
}

/// Sleeps. The host's clock is virtual, so it advances at once. Requires `wasi:clocks/monotonic-clock`.
pub fn sleep(span: std::time::Duration) {
    monotonic_clock::subscribe_duration(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)).block();
}

/// Returns random bytes, derived from the run's seed. Requires `wasi:random/random`.
pub fn random_bytes(count: u64) -> Vec<u8> {
    random::get_random_bytes(count)
}

/// Returns a random number, derived from the run's seed. Requires `wasi:random/random`.
pub fn random_u64() -> u64 {
    random::get_random_u64()
}
