//! A heap with its memory, which counts the bytes in use.

#![allow(unsafe_code)]

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use embedded_alloc::LlffHeap;

/// A heap of `LEN` bytes. An image has one, as its `#[global_allocator]`:
///
/// ```ignore
/// #[global_allocator]
/// static HEAP: Heap<65_536> = Heap::new();
/// ```
#[repr(align(8))]
pub struct Heap<const LEN: usize> {
    memory: UnsafeCell<[MaybeUninit<u8>; LEN]>,
    inner: LlffHeap,
    has_begun: AtomicBool,
    in_use: AtomicUsize,
    peak: AtomicUsize,
}

// SAFETY: only `inner` touches `memory`, and it locks itself by a critical section.
unsafe impl<const LEN: usize> Sync for Heap<LEN> {}

impl<const LEN: usize> Heap<LEN> {
    /// Returns a heap that has no memory before [`begin`](Self::begin).
    #[allow(clippy::new_without_default)] // a default is not const
    pub const fn new() -> Self {
        Self {
            memory: UnsafeCell::new([MaybeUninit::uninit(); LEN]),
            inner: LlffHeap::empty(),
            has_begun: AtomicBool::new(false),
            in_use: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
        }
    }

    /// Gives the heap its memory. Any call but the first does nothing.
    pub fn begin(&'static self) {
        if !self.has_begun.swap(true, Relaxed) {
            // SAFETY: this runs once; the memory is as long as is said, lives for ever, and nothing else touches it.
            unsafe { self.inner.init(self.memory.get() as usize, LEN) };
        }
    }

    /// Returns how many bytes are in use, without what the heap itself needs for each block.
    pub fn in_use(&self) -> usize {
        self.in_use.load(Relaxed)
    }

    /// Runs `run`, and returns its result with the most bytes that were in use meanwhile, beyond those before.
    pub fn measure<T>(&self, run: impl FnOnce() -> T) -> (T, usize) {
        let before = self.in_use();
        self.peak.store(before, Relaxed);
        let result = run();
        (result, self.peak.load(Relaxed) - before)
    }
}

// SAFETY: every call goes to `inner` with the caller's guarantees; counting touches nothing but atomics.
unsafe impl<const LEN: usize> GlobalAlloc for Heap<LEN> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc`.
        let block = unsafe { self.inner.alloc(layout) };
        if !block.is_null() {
            let in_use = self.in_use.fetch_add(layout.size(), Relaxed) + layout.size();
            self.peak.fetch_max(in_use, Relaxed);
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        self.in_use.fetch_sub(layout.size(), Relaxed);
        // SAFETY: `block` came from `inner` with this layout, as the caller guarantees.
        unsafe { self.inner.dealloc(block, layout) };
    }
}
