//! An allocator that counts, so that a test can bound the heap of a connection, and `terse compare` can show it.
//!
//! What must always hold: counts are per thread, since tests run side by side; what one thread allocates and another
//! one frees is not for this.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::Cell;
use std::alloc::System;

/// The system's allocator, with a count of the bytes in use by each thread. To be made the `#[global_allocator]`.
#[derive(Debug)]
pub struct CountingAllocator;

/// Bytes of heap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heap {
    /// In use at the end, beyond what was in use at the beginning.
    pub kept: i64,
    /// The most that was in use at once, beyond what was in use at the beginning.
    pub peak: i64,
}

thread_local! {
    // `const` and without a destructor: using it never allocates.
    static IN_USE: Cell<Heap> = const { Cell::new(Heap { kept: 0, peak: 0 }) };
}

/// The heap that `run` uses on this thread.
pub fn measure<T>(run: impl FnOnce() -> T) -> (T, Heap) {
    let before = IN_USE.get().kept;
    IN_USE.set(Heap { kept: before, peak: before });
    let result = run();
    let after = IN_USE.get();
    (result, Heap { kept: after.kept - before, peak: after.peak - before })
}

fn count(bytes: i64) {
    // Fails only while the thread ends.
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
