//! Limits on the resources of one call: memory, tables, core instances.

use wasmtime::ResourceLimiter;

use crate::config::{MAX_CORE_INSTANCES, MAX_MEMORIES, MAX_TABLE_ELEMENTS, MAX_TABLES};

/// A limit of the host that a component exceeded. It is passed as the error of the call, so that the call can be
/// classified by type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LimitReached {
    #[error("it asked for {wanted} bytes of memory; {limit} are allowed")]
    Memory { wanted: u64, limit: u64 },
    #[error("it asked for a table of {wanted} elements; {MAX_TABLE_ELEMENTS} are allowed")]
    Table { wanted: usize },
    #[error("it ran past its deadline of {milliseconds} ms")]
    Deadline { milliseconds: u64 },
    #[error("its log lines and events take more than {limit} bytes")]
    Log { limit: u64 },
    #[error("it asked for {wanted} random bytes at once; {limit} are allowed")]
    Random { wanted: u64, limit: u64 },
    #[error("it listed a folder with more than {limit} entries")]
    Entries { limit: usize },
}

/// Counts the bytes of all memories of a component together.
pub(crate) struct Limiter {
    limit: u64,
    held: u64,
    /// Bytes of the present growth, which are subtracted again if it fails.
    pending: u64,
}

impl Limiter {
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit, held: 0, pending: 0 }
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        self.pending = 0;
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let more = desired.saturating_sub(current) as u64;
        let wanted = self.held.saturating_add(more);
        if wanted > self.limit {
            return Err(LimitReached::Memory { wanted, limit: self.limit }.into());
        }
        self.held = wanted;
        self.pending = more;
        Ok(true)
    }

    fn memory_grow_failed(&mut self, _error: wasmtime::Error) -> wasmtime::Result<()> {
        self.held -= std::mem::take(&mut self.pending);
        Ok(())
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        // If the slot of a table has room for the largest permitted number of elements, that number is the maximum here, whatever the
        // component has declared. Only a smaller maximum is the component's own.
        if maximum.is_some_and(|maximum| desired > maximum && maximum < MAX_TABLE_ELEMENTS) {
            return Ok(false);
        }
        if desired > MAX_TABLE_ELEMENTS {
            return Err(LimitReached::Table { wanted: desired }.into());
        }
        Ok(true)
    }

    fn instances(&self) -> usize {
        MAX_CORE_INSTANCES as usize
    }

    fn tables(&self) -> usize {
        MAX_TABLES as usize
    }

    fn memories(&self) -> usize {
        MAX_MEMORIES as usize
    }
}
