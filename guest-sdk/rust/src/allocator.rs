//! The allocator of a node: dlmalloc over the memory that the component starts with.
//!
//! Growing memory is the most expensive operation of a short call: the host has to change page protections, and to undo
//! that afterwards. The standard library's allocator grows the memory for its first byte, even if the memory has room.
//! This allocator starts with the memory between the end of the program's data and the end of the initial memory, and
//! grows it only after that.

use core::alloc::{GlobalAlloc, Layout};
use core::arch::wasm32::{memory_grow, memory_size};
use core::cell::{Cell, UnsafeCell};

use dlmalloc::{Allocator, Dlmalloc};

const PAGE: usize = 65_536;

unsafe extern "C" {
    /// End of the program's data, which the linker sets. Only the address of this static has a meaning.
    static __heap_base: u8;
}

/// Source of memory for dlmalloc.
struct Pages {
    initial_given: Cell<bool>,
}

// SAFETY: `alloc` hands out each region once: the rest of the initial memory, which nothing else uses, and then pages
// that `memory.grow` has just added.
unsafe impl Allocator for Pages {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        let first = !self.initial_given.replace(true);
        if first {
            let start = (&raw const __heap_base as usize).next_multiple_of(16);
            let end = memory_size(0) * PAGE;
            if end.saturating_sub(start) >= size {
                return (start as *mut u8, end - start, 0);
            }
        }
        let pages = size.div_ceil(PAGE);
        match memory_grow(0, pages) {
            usize::MAX => (core::ptr::null_mut(), 0, 0),
            before => ((before * PAGE) as *mut u8, pages * PAGE, 0),
        }
    }

    fn remap(&self, _: *mut u8, _: usize, _: usize, _: bool) -> *mut u8 {
        core::ptr::null_mut()
    }

    fn free_part(&self, _: *mut u8, _: usize, _: usize) -> bool {
        false
    }

    fn free(&self, _: *mut u8, _: usize) -> bool {
        false
    }

    fn can_release_part(&self, _: u32) -> bool {
        false
    }

    fn allocates_zeros(&self) -> bool {
        // The linker places `__heap_base` after all data, and WebAssembly memory starts as zeros.
        true
    }

    fn page_size(&self) -> usize {
        PAGE
    }
}

struct NodeAllocator(UnsafeCell<Dlmalloc<Pages>>);

// SAFETY: a component has one thread.
unsafe impl Sync for NodeAllocator {}

// SAFETY: dlmalloc keeps the contract of `GlobalAlloc`; there is one thread, so no call overlaps another.
unsafe impl GlobalAlloc for NodeAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        unsafe { (*self.0.get()).malloc(layout.size(), layout.align()) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        unsafe { (*self.0.get()).calloc(layout.size(), layout.align()) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { (*self.0.get()).free(pointer, layout.size(), layout.align()) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        unsafe { (*self.0.get()).realloc(pointer, layout.size(), layout.align(), size) }
    }
}

#[global_allocator]
static ALLOCATOR: NodeAllocator =
    NodeAllocator(UnsafeCell::new(Dlmalloc::new_with_allocator(Pages { initial_given: Cell::new(false) })));
