//! Limits how many components are compiled at the same time.

use std::sync::{Condvar, Mutex, PoisonError};

/// Slots for child processes that compile: one for each processor.
#[derive(Debug)]
pub(crate) struct CompileSlots {
    free: Mutex<usize>,
    back: Condvar,
}

/// A slot, which is released when this is dropped.
pub(crate) struct CompileSlot<'a>(&'a CompileSlots);

impl CompileSlots {
    pub(crate) fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self { free: Mutex::new(processors), back: Condvar::new() }
    }

    /// Waits for a free slot.
    pub(crate) fn place(&self) -> CompileSlot<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self.back.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        CompileSlot(self)
    }
}

impl Drop for CompileSlot<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.back.notify_one();
    }
}
