//! What the standard library would bring: the allocator, which is that of C, and what a panic does, which is to abort.

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::c_void;
use core::panic::PanicInfo;
use core::ptr::null_mut;

/// The allocator of C.
struct Malloc;

#[global_allocator]
static ALLOCATOR: Malloc = Malloc;

// SAFETY: blocks of `malloc` have the alignment that is checked here, and `realloc` and `free` take them back.
unsafe impl GlobalAlloc for Malloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() > ALIGNMENT {
            return null_mut(); // nothing here asks for it
        }
        // SAFETY: `malloc` takes any size.
        unsafe { malloc(layout.size()) }.cast()
    }

    unsafe fn dealloc(&self, block: *mut u8, _: Layout) {
        // SAFETY: the block is one of `malloc`, as the caller guarantees.
        unsafe { free(block.cast()) };
    }

    unsafe fn realloc(&self, block: *mut u8, _: Layout, size: usize) -> *mut u8 {
        // SAFETY: the block is one of `malloc`, as the caller guarantees.
        unsafe { realloc(block.cast(), size) }.cast()
    }
}

/// The alignment of `malloc` on 64-bit processors.
const ALIGNMENT: usize = 16;

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    // SAFETY: `abort` may be called at any time.
    unsafe { abort() }
}

unsafe extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn free(block: *mut c_void);
    fn abort() -> !;
}
