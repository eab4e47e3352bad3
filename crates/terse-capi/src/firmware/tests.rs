//! The allocator over memory of the program, beside the one of this process.

use core::sync::atomic::{AtomicUsize, Ordering};

use super::*;

fn layout(size: usize, align: usize) -> Layout {
    Layout::from_size_align(size, align).unwrap()
}

/// Returns an arena with `len` bytes that live as long as the process.
fn arena(len: usize, hooks: Option<&TerseFirmware>) -> Arena {
    let memory = Vec::leak(vec![0_u8; len]);
    let arena = Arena::new();
    // SAFETY: the memory is leaked, and the arena is new.
    unsafe { arena.init(memory.as_mut_ptr(), len, hooks) }.unwrap();
    arena
}

#[test]
fn memory_comes_from_the_program_and_goes_back() {
    let arena = arena(4_096, None);
    let free = arena.with(|heap| heap.free());
    for align in [1, 8, 64] {
        // SAFETY: the layouts are not empty, and each place goes back with its own.
        unsafe {
            let place = arena.alloc(layout(100, align));
            assert!(!place.is_null() && place.addr().is_multiple_of(align));
            place.write_bytes(0xff, 100);
            let other = arena.alloc(layout(100, align));
            assert!(place.addr().abs_diff(other.addr()) >= 100);
            arena.dealloc(other, layout(100, align));
            arena.dealloc(place, layout(100, align));
        }
        assert_eq!(arena.with(|heap| heap.free()), free);
    }
}

#[test]
fn when_there_is_no_more_the_allocator_says_so() {
    let arena = arena(LEAST_MEMORY, None);
    // SAFETY: the layout is not empty.
    let places: Vec<_> = (0..100).map(|_| unsafe { arena.alloc(layout(64, 8)) }).collect();
    let given = places.iter().filter(|place| !place.is_null()).count();
    assert!((8..=16).contains(&given), "{given}");
}

#[test]
fn the_lock_is_taken_and_given_back_in_pairs() {
    unsafe extern "C" fn lock(context: *mut c_void) {
        // SAFETY: the test gives the counters.
        let [locks, unlocks] = unsafe { &*context.cast::<[AtomicUsize; 2]>() };
        assert_eq!(locks.fetch_add(1, Ordering::Relaxed), unlocks.load(Ordering::Relaxed), "one within another");
    }
    unsafe extern "C" fn unlock(context: *mut c_void) {
        // SAFETY: the test gives the counters.
        let [locks, unlocks] = unsafe { &*context.cast::<[AtomicUsize; 2]>() };
        assert_eq!(unlocks.fetch_add(1, Ordering::Relaxed) + 1, locks.load(Ordering::Relaxed));
    }
    let counters = Box::leak(Box::new([AtomicUsize::new(0), AtomicUsize::new(0)]));
    let context = core::ptr::from_mut(counters).cast();
    let hooks = TerseFirmware { context, lock: Some(lock), unlock: Some(unlock), panic: None };
    let arena = arena(4_096, Some(&hooks));
    // SAFETY: the layout is not empty, and the place goes back with it.
    unsafe { arena.dealloc(arena.alloc(layout(10, 1)), layout(10, 1)) };
    assert_eq!(counters[1].load(Ordering::Relaxed), 2);
}

#[test]
fn memory_is_given_once_and_whole() {
    unsafe extern "C" fn lock(_: *mut c_void) {}
    let memory = Vec::leak(vec![0_u8; 2_048]).as_mut_ptr();
    let half = TerseFirmware { context: core::ptr::null_mut(), lock: Some(lock), unlock: None, panic: None };
    let arena = Arena::new();
    // SAFETY: the memory is leaked, and only one of the calls takes it.
    unsafe {
        assert_eq!(arena.init(core::ptr::null_mut(), 2_048, None), Err(TerseError::NullPointer));
        assert_eq!(arena.init(memory, LEAST_MEMORY - 1, None), Err(TerseError::InvalidArgument));
        assert_eq!(arena.init(memory, usize::MAX, None), Err(TerseError::InvalidArgument));
        assert_eq!(arena.init(memory, 2_048, Some(&half)), Err(TerseError::InvalidArgument));
        assert_eq!(arena.init(memory, 2_048, None), Ok(()));
        assert_eq!(arena.init(memory, 2_048, None), Err(TerseError::AlreadyInitialized));
    }
}

/// Another task may use the heap meanwhile. Under Miri this also says whether its reference stays good.
#[test]
fn a_second_memory_touches_nothing() {
    let arena = arena(4_096, None);
    let other = Vec::leak(vec![0_u8; 2_048]).as_mut_ptr();
    arena.with(|heap| {
        let before = (heap.free(), heap.size());
        // SAFETY: the memory is leaked.
        assert_eq!(unsafe { arena.init(other, 2_048, None) }, Err(TerseError::AlreadyInitialized));
        assert_eq!((heap.free(), heap.size()), before);
    });
}
