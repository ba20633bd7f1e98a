//! Limits the number of components that are compiled at the same time, and prevents compiling one twice at once.

use std::collections::HashSet;
use std::sync::{Condvar, Mutex, PoisonError};

use graph_core::digest::Digest;

/// Slots for compilations: one for each processor.
#[derive(Debug)]
pub(crate) struct CompileSlots {
    processors: usize,
    /// The components that are being compiled.
    under_way: Mutex<HashSet<Digest>>,
    ended: Condvar,
}

/// The slot of a component, which is released when this is dropped.
pub(crate) struct CompileSlot<'a> {
    slots: &'a CompileSlots,
    component: Digest,
}

impl CompileSlots {
    pub(crate) fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self { processors, under_way: Mutex::default(), ended: Condvar::new() }
    }

    /// Waits for a free slot, and until no other thread compiles this component, which may be available then.
    pub(crate) fn place(&self, component: Digest) -> CompileSlot<'_> {
        let under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        let has_to_wait =
            |found: &mut HashSet<Digest>| found.len() >= self.processors || found.contains(&component);
        let mut under_way =
            self.ended.wait_while(under_way, has_to_wait).unwrap_or_else(PoisonError::into_inner);
        under_way.insert(component);
        CompileSlot { slots: self, component }
    }
}

impl Drop for CompileSlot<'_> {
    fn drop(&mut self) {
        self.slots.under_way.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.component);
        // Each waiting thread has its own condition.
        self.slots.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn no_component_is_compiled_twice_at_once_and_no_more_than_there_are_processors() {
        let slots = CompileSlots { processors: 3, ..CompileSlots::new() };
        let now: Mutex<HashSet<Digest>> = Mutex::default();
        let together = Mutex::new(0);
        let lock = || now.lock().unwrap_or_else(PoisonError::into_inner);
        std::thread::scope(|scope| {
            for at in 0..24_u8 {
                let (slots, lock, together) = (&slots, &lock, &together);
                scope.spawn(move || {
                    let component = Digest::of_bytes(&[at % 4]);
                    let slot = slots.place(component);
                    let mut found = lock();
                    assert!(found.insert(component), "it is compiled already");
                    assert!(found.len() <= 3);
                    let mut most = together.lock().unwrap_or_else(PoisonError::into_inner);
                    *most = found.len().max(*most);
                    drop((found, most));
                    std::thread::sleep(Duration::from_millis(2));
                    lock().remove(&component);
                    drop(slot);
                });
            }
        });
        assert!(slots.under_way.lock().unwrap_or_else(PoisonError::into_inner).is_empty());
        assert!(
            *together.lock().unwrap_or_else(PoisonError::into_inner) > 1,
            "nothing was compiled in parallel"
        );
    }
}
