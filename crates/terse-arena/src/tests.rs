//! Unit tests. The allocator of this program has the computer's memory outside of arenas, and counts what it had to add to a full one.

use std::alloc::System;
use std::boxed::Box;
use std::cell::Cell;
use std::panic::AssertUnwindSafe;
use std::sync::{Mutex, mpsc};
use std::vec;
use std::vec::Vec;

use super::*;

#[global_allocator]
static ALLOCATOR: Allocator<Beyond> = Allocator::new(Beyond);

/// The computer's allocator, which counts what an arena had no room for.
struct Beyond;

std::thread_local! {
    static REFUSED: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call goes to `System` unchanged; counting touches nothing but a `Cell`.
unsafe impl GlobalAlloc for Beyond {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if Arena::entered().is_some() {
            REFUSED.set(REFUSED.get() + 1);
        }
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(block, layout) };
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(block, layout, new_size) }
    }
}

fn arena(size: usize) -> &'static Arena {
    let arena: &'static Arena = Box::leak(Box::new(Arena::new()));
    assert!(arena.give(vec![MaybeUninit::uninit(); size].leak()));
    arena
}

fn arena_of<T>(block: &[T]) -> Option<*const Arena> {
    Arena::of(block.as_ptr().cast_mut().cast()).map(ptr::from_ref)
}

#[test]
fn a_block_is_in_the_innermost_arena_and_goes_back_from_anywhere() {
    let (outer, inner) = (arena(1_024), arena(1_024));
    let (first, second, third) = outer.run(|| {
        let first = vec![1_u8; 100];
        let second = inner.run(|| vec![2_u8; 200]);
        (first, second, vec![3_u8; 300])
    });
    let outside = vec![4_u8; 400];
    assert_eq!(arena_of(&first), Some(ptr::from_ref(outer)));
    assert_eq!(arena_of(&second), Some(ptr::from_ref(inner)));
    assert_eq!(arena_of(&third), Some(ptr::from_ref(outer)));
    assert_eq!(arena_of(&outside), None);
    assert_eq!((outer.in_use(), inner.in_use()), (400, 200));
    outer.run(|| drop((second, outside)));
    inner.run(|| drop(first));
    drop(third);
    assert_eq!((outer.in_use(), inner.in_use()), (0, 0));
    assert_eq!((outer.peak(), inner.peak()), (400, 200));
    // What was freed can be used again, in one piece.
    for arena in [outer, inner] {
        arena.run(|| assert_eq!(vec![5_u8; 1_000].len(), 1_000));
    }
    assert_eq!(REFUSED.get(), 0);
}

#[test]
fn a_block_that_grows_stays_in_its_arena() {
    let (own, other) = (arena(1_024), arena(1_024));
    let mut block: Vec<u8> = own.run(|| vec![7; 10]);
    other.run(|| block.resize(300, 8));
    block.resize(500, 9);
    assert_eq!(arena_of(&block), Some(ptr::from_ref(own)));
    assert_eq!((block[9], block[10], block[299], block[300]), (7, 8, 8, 9));
    block.truncate(20);
    other.run(|| block.shrink_to_fit());
    assert_eq!((own.in_use(), other.in_use()), (20, 0));
    let mut outside = vec![1_u8; 10];
    own.run(|| outside.resize(5_000, 2));
    assert_eq!((arena_of(&outside), REFUSED.get()), (None, 0));
}

#[test]
fn a_full_arena_is_noticed() {
    let small = arena(256);
    let all: Vec<Vec<u8>> = small.run(|| {
        let fits = vec![0_u8; 200];
        assert_eq!(REFUSED.get(), 0);
        Vec::from([fits, vec![0_u8; 100]])
    });
    assert!(REFUSED.take() > 0);
    assert_eq!(arena_of(&all[1]), None);
    drop(all);
    assert_eq!(small.in_use(), 0);
}

#[test]
fn an_arena_is_left_when_a_panic_unwinds() {
    let arena = arena(0x1_0000);
    let result = std::panic::catch_unwind(AssertUnwindSafe(|| arena.run(|| panic!("on purpose"))));
    assert!(result.is_err() && Arena::entered().is_none());
}

#[test]
fn blocks_are_aligned_and_disjoint() {
    #[repr(align(64))]
    struct Line([u8; 64]);
    let arena = arena(4_096);
    let (bytes, lines) = arena.run(|| {
        let mut bytes = Vec::new();
        let mut lines = Vec::new();
        for number in 0..8 {
            bytes.push(Box::new(number));
            lines.push(Box::new(Line([number; 64])));
        }
        (bytes, lines)
    });
    for (number, (byte, line)) in (0_u8..).zip(bytes.iter().zip(&lines)) {
        assert_eq!(ptr::from_ref(&**line).addr() % 64, 0);
        assert_eq!((**byte, line.0), (number, [number; 64]));
    }
    drop((bytes, lines));
    assert_eq!((arena.in_use(), REFUSED.get()), (0, 0));
}

#[test]
fn memory_is_given_once_and_is_not_too_little() {
    let arena: &'static Arena = Box::leak(Box::new(Arena::new()));
    let mut give = |len| arena.give(vec![MaybeUninit::uninit(); len].leak());
    assert_eq!([0, 31, 32, 64].map(&mut give), [false, false, true, false]);
    assert_eq!(arena.size(), 32);
}

#[test]
fn what_no_arena_has_is_refused() {
    static TELL: Mutex<Option<mpsc::Sender<(Refused, usize)>>> = Mutex::new(None);
    static REFUSING: Allocator<Refuse> = Allocator::new(Refuse(|refused, layout| {
        let tell = TELL.lock().unwrap().clone();
        tell.unwrap().send((refused, layout.size())).unwrap();
        loop {
            std::thread::park();
        }
    }));
    let (tell, told) = mpsc::channel();
    *TELL.lock().unwrap() = Some(tell);
    let layout = Layout::new::<[u64; 100]>();
    // Each of these threads stays where it is refused.
    std::thread::spawn(move || {
        // SAFETY: the layout is not empty.
        unsafe { REFUSING.alloc(layout) };
    });
    assert_eq!(told.recv(), Ok((Refused::Outside, 800)));
    std::thread::spawn(move || {
        let small = arena(200);
        entered::replace(Some(small));
        // SAFETY: as above.
        unsafe { REFUSING.alloc(layout) };
    });
    assert_eq!(told.recv(), Ok((Refused::Full, 800)));
    std::thread::spawn(move || {
        // SAFETY: the layout is not empty, and nothing is done with the block.
        unsafe { REFUSING.dealloc(System.alloc(layout), layout) };
    });
    assert_eq!(told.recv(), Ok((Refused::Foreign, 800)));
}
