//! The allocator counts, so that a test can bound the heap of a connection, and `terse compare` can show it.
//!
//! What must always hold: counts are per thread, since tests run side by side; memory that one thread allocates and
//! another one frees is counted wrongly.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use std::alloc::System;

/// The system's allocator, with a count of the bytes in use by each thread. It is used as the `#[global_allocator]`.
#[derive(Debug)]
pub struct CountingAllocator;

/// Bytes of heap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heap {
    /// The bytes in use at the end, beyond those at the beginning.
    pub kept: i64,
    /// The most bytes in use at once, beyond those at the beginning.
    pub peak: i64,
}

thread_local! {
    // It is `const` and has no destructor: using it never allocates.
    static IN_USE: Cell<Heap> = const { Cell::new(Heap { kept: 0, peak: 0 }) };
}

/// Runs `run`, and returns its result and the heap that it used on this thread.
pub fn measure<T>(run: impl FnOnce() -> T) -> (T, Heap) {
    let before = IN_USE.get().kept;
    IN_USE.set(Heap { kept: before, peak: before });
    let result = run();
    let after = IN_USE.get();
    (result, Heap { kept: after.kept - before, peak: after.peak - before })
}

fn count(bytes: i64) {
    // This fails only while the thread ends.
    let _ = IN_USE.try_with(|heap| {
        let kept = heap.get().kept + bytes;
        heap.set(Heap { kept, peak: heap.get().peak.max(kept) });
    });
}

// SAFETY: every call goes to `System` unchanged, with the caller's guarantees; counting touches nothing but a `Cell`.
// An allocator cannot be written without `unsafe`, and counting its calls is the only way to see the heap's peak.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: `block` came from `System` with this layout, as the caller guarantees.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size as i64); // both blocks may exist at once
        count(-(layout.size() as i64));
        // SAFETY: `block` came from `System` with this layout, as the caller guarantees.
        unsafe { System.realloc(block, layout, new_size) }
    }
}
