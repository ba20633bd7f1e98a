//! `wasi:clocks`, virtual: the wall clock always shows the superstep's recorded time, and waiting ends at once.

use graph_core::time::Timestamp;
use wasmtime::component::Resource;
use wasmtime_wasi::p2::{DynPollable, Pollable, subscribe};

use crate::bindings::wasi::clocks::{monotonic_clock, wall_clock};
use crate::state::TaskState;

/// The clocks of one call.
pub(crate) struct VirtualClock {
    wall: Timestamp,
    monotonic: u64,
}

impl VirtualClock {
    pub(crate) fn new(wall: Timestamp) -> Self {
        Self { wall, monotonic: 0 }
    }
}

/// A wait that has ended.
struct Over;

#[wasmtime_wasi::async_trait]
impl Pollable for Over {
    async fn ready(&mut self) {}
}

impl wall_clock::Host for TaskState {
    fn now(&mut self) -> wasmtime::Result<wall_clock::Datetime> {
        let Timestamp(milliseconds) = self.clock.wall;
        Ok(wall_clock::Datetime {
            seconds: milliseconds / 1000,
            nanoseconds: u32::try_from(milliseconds % 1000 * 1_000_000).unwrap_or(0),
        })
    }

    fn resolution(&mut self) -> wasmtime::Result<wall_clock::Datetime> {
        Ok(wall_clock::Datetime { seconds: 0, nanoseconds: 1_000_000 })
    }
}

impl monotonic_clock::Host for TaskState {
    fn now(&mut self) -> wasmtime::Result<u64> {
        Ok(self.clock.monotonic)
    }

    fn resolution(&mut self) -> wasmtime::Result<u64> {
        Ok(1)
    }

    fn subscribe_instant(&mut self, when: u64) -> wasmtime::Result<Resource<DynPollable>> {
        self.clock.monotonic = self.clock.monotonic.max(when);
        let over = self.table.push(Over)?;
        subscribe(&mut self.table, over)
    }

    fn subscribe_duration(&mut self, when: u64) -> wasmtime::Result<Resource<DynPollable>> {
        monotonic_clock::Host::subscribe_instant(self, self.clock.monotonic.saturating_add(when))
    }
}
