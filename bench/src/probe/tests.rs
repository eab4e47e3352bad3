//! The probes measure calls whose heap and stack are known.

use core::hint::black_box;
use std::alloc::{Layout, alloc, dealloc, realloc};

use super::*;

#[test]
fn heap_of_a_side_is_counted_where_it_was_allocated() {
    let mut probe = HeapProbe::new();
    let mut kept = None;
    probe.call(Side::Client, &mut || {
        drop(black_box(vec![0_u8; 5_000]));
        kept = Some(black_box(vec![0_u8; 1_000]));
    });
    probe.call(Side::Server, &mut || drop(black_box(vec![0_u8; 300])));
    assert_eq!(probe.heap(Side::Client), Heap { in_use: 1_000, peak: 5_000, total: 6_000 });
    assert_eq!(probe.heap(Side::Server), Heap { in_use: 0, peak: 300, total: 300 });
    probe.call(Side::Server, &mut || drop(kept.take()));
    assert_eq!(probe.heap(Side::Client), Heap { in_use: 0, peak: 5_000, total: 6_000 });
    assert_eq!(probe.heap(Side::Server), Heap { in_use: 0, peak: 300, total: 300 });
}

#[test]
fn aligned_and_grown_blocks_keep_their_content_and_count() {
    let mut probe = HeapProbe::new();
    probe.call(Side::Client, &mut || {
        for alignment in [8, 16, 64, 4096] {
            let layout = Layout::from_size_align(100, alignment).expect("a valid layout");
            let grown = Layout::from_size_align(10_000, alignment).expect("a valid layout");
            // SAFETY: neither layout is empty; each block is used within its size, and freed with its layout.
            unsafe {
                let block = alloc(layout);
                assert_eq!(block.addr() % alignment, 0);
                block.write_bytes(7, 100);
                let block = realloc(block, layout, 10_000);
                assert_eq!(block.addr() % alignment, 0);
                assert!((0..100).all(|index| *block.add(index) == 7));
                dealloc(block, grown);
            }
        }
    });
    // Rust grows a block of a larger alignment than malloc's by a new one, which counts as a whole.
    assert_eq!(probe.heap(Side::Client), Heap { in_use: 0, peak: 10_100, total: 2 * 10_000 + 2 * 10_100 });
}

#[test]
fn stack_is_measured() {
    #[inline(never)]
    fn deep<const BYTES: usize>() {
        black_box(&mut [1_u8; BYTES]);
    }
    let depth = |call: &mut dyn FnMut()| {
        let mut probe = StackProbe::default();
        probe.call(Side::Client, call);
        assert_eq!(probe.deepest(Side::Server), 0);
        probe.deepest(Side::Client)
    };
    let (little, much) = (depth(&mut deep::<1_000>), depth(&mut deep::<51_000>));
    assert!((49_000..52_000).contains(&(much - little)), "{little} and {much}");
}

#[test]
fn a_counted_call_runs_once() {
    let mut count = 0;
    CountedProbe(Side::Client).call(Side::Client, &mut || count += 1);
    CountedProbe(Side::Client).call(Side::Server, &mut || count += 1);
    assert_eq!(count, 2);
}
