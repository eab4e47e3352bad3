//! A global allocator that has no memory of its own. A program gives memory to an [`Arena`], and enters it: what is allocated meanwhile
//! comes from there. What is allocated while no arena is entered, or beyond its end, goes to a function of the program, which resets
//! the device. So each part of a firmware has the memory that was set aside for it, and nothing else has any.
//!
//! ```
//! use core::alloc::Layout;
//! use core::mem::MaybeUninit;
//!
//! use terse_arena::{Allocator, Arena, Refuse, Refused};
//!
//! # mod firmware { use super::*;
//! #[global_allocator]
//! # #[cfg(target_os = "none")]
//! static ALLOCATOR: Allocator<Refuse> = Allocator::new(Refuse(reset));
//! # }
//!
//! static CONNECTION: Arena = Arena::new();
//! const SIZE: usize = Arena::size_for(25_000); // 25,000 is `Memory::heap()` of terse-tls
//!
//! fn reset(refused: Refused, layout: Layout) -> ! {
//!     println!("{refused}: {} bytes", layout.size());
//!     std::process::abort()
//! }
//!
//! // A firmware has a `static` for it, for example by `cortex_m::singleton!`.
//! let memory: &'static mut [MaybeUninit<u8>] = vec![MaybeUninit::uninit(); SIZE].leak();
//! assert!(CONNECTION.give(memory));
//! let request = CONNECTION.run(|| String::from("22.5 C"));
//! # let _ = reset;
//! drop(request); // a block goes back to its arena, wherever it is freed
//! ```
//!
//! # Rules
//!
//! - [`Arena::run`] can be nested: the innermost arena counts. So a program can run in an arena for its configuration, and the calls of
//!   a connection within that in one of their own.
//! - A block that grows stays in its arena. A block that is freed goes back to its arena, whichever is entered at that time.
//! - What a call leaves behind in something that lives longer, such as an entry of a cache, stays in the arena of the call, unless the
//!   owner enters its own arena to make it.
//! - What an interrupt allocates comes from the arena that it has interrupted, or from one that it enters. That is so for all code that
//!   ends before what it has interrupted goes on. Tasks with stacks of their own that switch while an arena is entered, and
//!   second cores, are not supported. On a computer each thread enters arenas of its own.
//!
//! # How large an arena must be
//!
//! Blocks have no header. Each is rounded up to a multiple of a word, and is two words long at least. First fit leaves gaps between
//! blocks. [`Arena::size_for`] says how much an arena must have for what is in use at most.
//!
//! # Safety
//!
//! An allocator cannot be written without `unsafe`. What must always hold: the list has each arena that was given memory, for ever; two
//! arenas have no memory in common, since each owns its slice; a block goes back to the arena whose memory it is in; nothing touches a
//! heap but within a critical section.
#![no_std]
#![allow(unsafe_code)]

#[cfg(any(test, not(target_os = "none")))]
extern crate std;

use core::alloc::{GlobalAlloc, Layout};
use core::cell::RefCell;
use core::fmt;
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicUsize};

use critical_section::Mutex;
use linked_list_allocator::Heap;

mod entered;
#[cfg(test)]
mod tests;

/// Memory for one purpose, such as a connection. It is a `static`.
pub struct Arena {
    state: Mutex<RefCell<State>>,
    /// The first address of the memory, and the one behind it. They do not change once the arena is in the list.
    start: AtomicUsize,
    end: AtomicUsize,
    /// The arena that was given memory before, or NULL.
    next: AtomicPtr<Self>,
}

struct State {
    heap: Heap,
    in_use: usize,
    peak: usize,
}

/// The arena that was given memory last, with which the list begins, or NULL.
static LAST: AtomicPtr<Arena> = AtomicPtr::new(ptr::null_mut());

impl Arena {
    /// Returns an arena without memory.
    #[allow(clippy::new_without_default)] // a default is not const
    pub const fn new() -> Self {
        Self {
            state: Mutex::new(RefCell::new(State { heap: Heap::empty(), in_use: 0, peak: 0 })),
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            next: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Returns how many bytes an arena must have, so that a computation has room in it which has at most `heap` bytes in use at once: an
    /// eighth more, and 64 bytes, for rounding and for gaps.
    ///
    /// `heap` is a bound, such as `Memory::heap` of `terse-tls`, whose parts are hardly ever in use all at once: no peer in the tests has
    /// brought a connection to three fifths of it. It is not a [peak](Self::peak) that was measured: the gaps of first fit can take as
    /// much as that, so that an arena must have twice as many bytes.
    pub const fn size_for(heap: usize) -> usize {
        heap.saturating_add(heap / 8).saturating_add(64)
    }

    /// Gives the arena its memory. Returns whether it has taken it: it has not if it has some already, or if these are less than 32
    /// bytes.
    #[must_use]
    pub fn give(&'static self, memory: &'static mut [MaybeUninit<u8>]) -> bool {
        critical_section::with(|token| {
            let mut state = self.state.borrow_ref_mut(token);
            let is_taken = state.heap.size() == 0 && memory.len() >= LEAST;
            if is_taken {
                state.heap.init_from_slice(memory);
                self.start.store(state.heap.bottom().addr(), Relaxed);
                self.end.store(state.heap.top().addr(), Relaxed);
                self.next.store(LAST.load(Relaxed), Relaxed);
                LAST.store(ptr::from_ref(self).cast_mut(), Release);
            }
            is_taken
        })
    }

    /// Runs `run`, in which everything is allocated in this arena.
    pub fn run<T>(&'static self, run: impl FnOnce() -> T) -> T {
        let _leave = Leave { back_to: entered::replace(Some(self)) };
        run()
    }

    /// Returns the arena that is entered.
    pub fn entered() -> Option<&'static Self> {
        entered::get()
    }

    /// Returns how many bytes are in use, without what they are rounded up to.
    pub fn in_use(&self) -> usize {
        critical_section::with(|token| self.state.borrow_ref(token).in_use)
    }

    /// Returns the most bytes that were in use at once.
    pub fn peak(&self) -> usize {
        critical_section::with(|token| self.state.borrow_ref(token).peak)
    }

    /// Returns how many bytes the arena has.
    pub fn size(&self) -> usize {
        critical_section::with(|token| self.state.borrow_ref(token).heap.size())
    }

    /// Returns the arena that a block is in.
    fn of(block: *mut u8) -> Option<&'static Self> {
        let mut next = LAST.load(Acquire);
        // SAFETY: what is in the list was a reference to an arena that lives for ever, and nothing is taken out of the list.
        while let Some(arena) = unsafe { next.cast_const().as_ref() } {
            if (arena.start.load(Relaxed)..arena.end.load(Relaxed)).contains(&block.addr()) {
                return Some(arena);
            }
            next = arena.next.load(Relaxed);
        }
        None
    }

    fn allocate(&self, layout: Layout) -> Option<NonNull<u8>> {
        critical_section::with(|token| {
            let mut state = self.state.borrow_ref_mut(token);
            let block = state.heap.allocate_first_fit(layout).ok()?;
            state.in_use += layout.size();
            state.peak = state.peak.max(state.in_use);
            Some(block)
        })
    }

    /// Takes a block back.
    ///
    /// # Safety
    ///
    /// The block was allocated in this arena with this layout, and nobody uses it any more.
    unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
        critical_section::with(|token| {
            let mut state = self.state.borrow_ref_mut(token);
            state.in_use -= layout.size();
            // SAFETY: as the caller promises.
            unsafe { state.heap.deallocate(block, layout) };
        });
    }
}

impl fmt::Debug for Arena {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (size, in_use, peak) = (self.size(), self.in_use(), self.peak());
        f.debug_struct("Arena").field("size", &size).field("in_use", &in_use).field("peak", &peak).finish()
    }
}

/// What an arena needs for itself, whatever the alignment of its memory is.
const LEAST: usize = 32;

/// Leaves an arena, also when a panic unwinds.
struct Leave {
    back_to: Option<&'static Arena>,
}

impl Drop for Leave {
    fn drop(&mut self) {
        entered::replace(self.back_to);
    }
}

/// The allocator, as the `#[global_allocator]` of a program. `O` has what no arena has: [`Refuse`] in a firmware. Tests on a computer
/// take another allocator, for what is not under test.
#[derive(Debug)]
pub struct Allocator<O> {
    outside: O,
}

impl<O> Allocator<O> {
    /// Returns an allocator. `outside` is called for what is allocated while no arena is entered, or does not fit into the one that is
    /// ([`Arena::entered`] tells), and for what it has allocated itself.
    pub const fn new(outside: O) -> Self {
        Self { outside }
    }
}

impl<O: GlobalAlloc> Allocator<O> {
    /// Allocates in an arena.
    ///
    /// # Safety
    ///
    /// As [`GlobalAlloc::alloc`].
    unsafe fn allocate(&self, arena: Option<&Arena>, layout: Layout) -> *mut u8 {
        match arena.and_then(|arena| arena.allocate(layout)) {
            Some(block) => block.as_ptr(),
            // SAFETY: as the caller promises.
            None => unsafe { self.outside.alloc(layout) },
        }
    }
}

// SAFETY: blocks come from the heap of an arena, whose blocks are disjoint and fit their layout, or from `O`; each goes back to where its
// address says that it came from. Nothing here unwinds.
unsafe impl<O: GlobalAlloc> GlobalAlloc for Allocator<O> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { self.allocate(Arena::entered(), layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match (Arena::of(block), NonNull::new(block)) {
            // SAFETY: the block is in the memory of this arena, and the caller keeps the contract of `dealloc`.
            (Some(arena), Some(block)) => unsafe { arena.deallocate(block, layout) },
            // SAFETY: the block is in no arena, so that it came from `O`.
            _ => unsafe { self.outside.dealloc(block, layout) },
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        let Some(arena) = Arena::of(block) else {
            // SAFETY: the block is in no arena, so that it came from `O`.
            return unsafe { self.outside.realloc(block, layout, new_size) };
        };
        // SAFETY: the caller of `realloc` promises that such a layout is valid, and that the block has its layout.
        unsafe {
            let new = self.allocate(Some(arena), Layout::from_size_align_unchecked(new_size, layout.align()));
            if !new.is_null() {
                ptr::copy_nonoverlapping(block, new, layout.size().min(new_size));
                self.dealloc(block, layout);
            }
            new
        }
    }
}

/// Refuses what no arena has: the function resets the device, or ends the program.
#[derive(Clone, Copy, Debug)]
pub struct Refuse(pub fn(Refused, Layout) -> !);

/// What was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// An allocation while no arena is entered.
    Outside,
    /// An allocation for which the arena has no room.
    Full,
    /// A block was freed that no arena has given.
    Foreign,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Outside => "allocation outside of an arena",
            Self::Full => "allocation beyond the end of an arena",
            Self::Foreign => "a block that is in no arena was freed",
        })
    }
}

impl Refuse {
    /// Calls the function. Should it panic, the program ends: an allocator must not unwind, and `extern "C"` does not.
    #[allow(improper_ctypes_definitions)] // no C calls it
    extern "C" fn refuse(&self, refused: Refused, layout: &Layout) -> ! {
        self.0(refused, *layout)
    }
}

// SAFETY: nothing returns and nothing unwinds, so that nothing is given out.
unsafe impl GlobalAlloc for Refuse {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.refuse(if Arena::entered().is_some() { Refused::Full } else { Refused::Outside }, &layout)
    }

    unsafe fn dealloc(&self, _: *mut u8, layout: Layout) {
        self.refuse(Refused::Foreign, &layout)
    }
}
