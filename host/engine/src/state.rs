//! What the host keeps for one call.

use std::sync::Arc;
use std::time::Instant;

use graph_core::time::Timestamp;
use wasmtime::component::{HasData, ResourceTable};

use crate::host::clocks::VirtualClock;
use crate::host::filesystem::Mounts;
use crate::host::output::Output;
use crate::host::random::SeededRandom;
use crate::journal::SharedJournal;
use crate::limiter::Limiter;

/// How many handles a component may hold at a time, open files among them.
const MAX_HANDLES: usize = 256;

/// The data of a call's store.
pub(crate) struct TaskState {
    pub(crate) table: ResourceTable,
    pub(crate) limiter: Limiter,
    pub(crate) output: Output,
    pub(crate) clock: VirtualClock,
    pub(crate) random: SeededRandom,
    pub(crate) mounts: Arc<Mounts>,
    pub(crate) journal: SharedJournal,
    pub(crate) deadline: Instant,
}

impl TaskState {
    pub(crate) fn new(
        limits: &graph_core::limits::TaskLimits,
        clock: Timestamp,
        seed: [u8; 32],
        mounts: Arc<Mounts>,
        output: Output,
        journal: SharedJournal,
        deadline: Instant,
    ) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(MAX_HANDLES);
        Self {
            table,
            limiter: Limiter::new(limits.memory),
            output,
            clock: VirtualClock::new(clock),
            random: SeededRandom::new(seed),
            mounts,
            journal,
            deadline,
        }
    }
}

/// Gives host functions the whole state.
pub(crate) struct HasState;

impl HasData for HasState {
    type Data<'a> = &'a mut TaskState;
}

/// Gives the functions of `wasi:io` the table of handles.
pub(crate) struct HasTable;

impl HasData for HasTable {
    type Data<'a> = &'a mut ResourceTable;
}
