//! Firmware without an operating system's heap: an allocator over memory that the program gives once.
//!
//! Unsafe, because an allocator is, and so is what it is made of.
//!
//! What must always hold: nothing is allocated anywhere else, so that the program's memory bounds everything.
#![allow(unsafe_code)]

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::ffi::{c_char, c_void};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, Ordering};

use linked_list_allocator::Heap;

use crate::TerseError;
use crate::error::{TerseResult, result};

#[cfg(test)]
mod tests;

/// What the library needs of a firmware. Every function may be NULL.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TerseFirmware {
    /// What the functions get. It lives as long as the program.
    pub context: *mut c_void,
    /// Keeps other tasks out of the heap until `unlock`: a mutex, or a critical section where tasks of several priorities use the
    /// library. The two are called in pairs, never one within another. NULL where one task alone uses the library.
    pub lock: Option<unsafe extern "C" fn(context: *mut c_void)>,
    /// Lets other tasks in again. Not NULL if `lock` is not.
    pub unlock: Option<unsafe extern "C" fn(context: *mut c_void)>,
    /// Called when the library cannot go on: it is out of memory, or has a bug at `line` of `file`, a text of `file_len` bytes without
    /// a NUL. It must not return, but reset the device; if it returns, or is NULL, the library stays in a loop until the watchdog
    /// resets.
    pub panic: Option<unsafe extern "C" fn(context: *mut c_void, file: *const c_char, file_len: usize, line: u32)>,
}

/// The least memory that is taken, in bytes. No connection fits in so little.
const LEAST_MEMORY: usize = 1_024;

/// Gives the library its memory: `len` bytes, at least 1,024, which nobody else uses from then on. Call it once, before any other
/// function and before tasks begin. `firmware` may be NULL, and is copied.
///
/// How much is needed: for each connection what `terse_config_builder_limits` says, and beside that the configuration with its chains,
/// and what stores have room for. `terse_memory` says how much is in use.
///
/// Errors: NULL_POINTER, INVALID_ARGUMENT, ALREADY_INITIALIZED.
///
/// # Safety
///
/// The pointers are NULL or as the type says; `memory` has `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn terse_init(memory: *mut u8, len: usize, firmware: Option<&TerseFirmware>) -> TerseResult {
    // SAFETY: as the caller promises, which calls this before anything else.
    result(unsafe { ARENA.init(memory, len, firmware) })
}

/// Writes how many bytes of the memory are in use, and how many are free, in pieces: one of the pointers may be NULL. Returns 0.
///
/// # Safety
///
/// The pointers are NULL or as the type says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn terse_memory(used: *mut usize, free: *mut usize) -> TerseResult {
    let (in_use, rest) = ARENA.with(|heap| (heap.used(), heap.free()));
    for (place, value) in [(used, in_use), (free, rest)] {
        if !place.is_null() {
            // SAFETY: as the caller promises.
            unsafe { place.write(value) };
        }
    }
    crate::TERSE_OK
}

/// Memory of the program, and its lock.
struct Arena {
    /// Whether the memory was given.
    is_taken: AtomicBool,
    heap: UnsafeCell<Heap>,
    hooks: UnsafeCell<Option<TerseFirmware>>,
}

// SAFETY: the heap is used within the program's lock, which the program leaves out only where one task alone uses the library. The
// hooks are written once, before tasks begin.
unsafe impl Sync for Arena {}

#[cfg_attr(target_os = "none", global_allocator)]
static ARENA: Arena = Arena::new();

impl Arena {
    const fn new() -> Self {
        Self { is_taken: AtomicBool::new(false), heap: UnsafeCell::new(Heap::empty()), hooks: UnsafeCell::new(None) }
    }

    /// Takes the memory, unless there is some already: then the arena may be in use, and nothing of it is touched.
    ///
    /// # Safety
    ///
    /// `memory` is NULL, or has `len` bytes that nobody else uses from then on. Nobody uses the arena while the first memory is taken.
    unsafe fn init(&self, memory: *mut u8, len: usize, hooks: Option<&TerseFirmware>) -> Result<(), TerseError> {
        if memory.is_null() {
            return Err(TerseError::NullPointer);
        }
        let is_half_lock = hooks.is_some_and(|hooks| hooks.lock.is_some() != hooks.unlock.is_some());
        if !(LEAST_MEMORY..=isize::MAX as usize).contains(&len) || is_half_lock {
            return Err(TerseError::InvalidArgument);
        }
        if self.is_taken.swap(true, Ordering::AcqRel) {
            return Err(TerseError::AlreadyInitialized);
        }
        // SAFETY: this is the first memory, so that nobody else uses the arena meanwhile, as the caller promises.
        let (heap, place) = unsafe { (&mut *self.heap.get(), &mut *self.hooks.get()) };
        *place = hooks.copied();
        // SAFETY: the memory is the heap's from now on, and the heap was empty.
        unsafe { heap.init(memory, len) };
        Ok(())
    }

    fn hooks(&self) -> Option<&TerseFirmware> {
        // SAFETY: the hooks are written once, before anything else is called.
        unsafe { &*self.hooks.get() }.as_ref()
    }

    /// Uses the heap, within the program's lock.
    fn with<T>(&self, act: impl FnOnce(&mut Heap) -> T) -> T {
        let hooks = self.hooks();
        if let Some(TerseFirmware { context, lock: Some(lock), .. }) = hooks {
            // SAFETY: the program promises that its function may be called with its context.
            unsafe { lock(*context) };
        }
        // SAFETY: nobody else has the lock, or only one task uses the library; `act` calls nothing that uses the heap.
        let outcome = act(unsafe { &mut *self.heap.get() });
        if let Some(TerseFirmware { context, unlock: Some(unlock), .. }) = hooks {
            // SAFETY: as above.
            unsafe { unlock(*context) };
        }
        outcome
    }
}

// SAFETY: the heap gives out disjoint pieces of its memory that fit their layout, and NULL if it has none; it never unwinds.
unsafe impl GlobalAlloc for Arena {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.with(|heap| heap.allocate_first_fit(layout)).map_or(core::ptr::null_mut(), NonNull::as_ptr)
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        let Some(place) = NonNull::new(place) else { return };
        // SAFETY: the caller promises that `alloc` gave this place for this layout.
        self.with(|heap| unsafe { heap.deallocate(place, layout) });
    }
}

#[cfg(target_os = "none")]
#[panic_handler]
fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
    if let Some(TerseFirmware { context, panic: Some(panic), .. }) = ARENA.hooks() {
        let (file, line) = info.location().map_or(("", 0), |location| (location.file(), location.line()));
        // SAFETY: the program promises that its function may be called with its context; the text has this length.
        unsafe { panic(*context, file.as_ptr().cast(), file.len(), line) };
    }
    loop {
        core::hint::spin_loop();
    }
}
