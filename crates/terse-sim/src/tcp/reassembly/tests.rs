//! The queue agrees with a plain map of octets.

use super::Reassembly;
use crate::tcp::{SackBlock, SequenceNumber};
use proptest::prelude::*;

const BASE: SequenceNumber = SequenceNumber(u32::MAX - 20);

fn block(left: u32, right: u32) -> SackBlock {
    SackBlock { left: BASE + left, right: BASE + right }
}

/// RFC 2018, 4: the first block holds the segment that caused the acknowledgement.
#[test]
fn the_block_that_grew_last_comes_first() {
    let mut queue = Reassembly::new(8);
    queue.insert(BASE + 10, &[1; 5]);
    queue.insert(BASE + 30, &[2; 5]);
    queue.insert(BASE + 50, &[3; 5]);
    assert_eq!(queue.sack_blocks(3), [block(50, 55), block(30, 35), block(10, 15)]);
    queue.insert(BASE + 15, &[1; 5]);
    assert_eq!(queue.sack_blocks(2), [block(10, 20), block(50, 55)]);
}

#[test]
fn a_segment_that_closes_a_gap_joins_two_blocks() {
    let mut queue = Reassembly::new(8);
    queue.insert(BASE + 10, &[1; 5]);
    queue.insert(BASE + 20, &[3; 5]);
    queue.insert(BASE + 12, &[2; 10]);
    assert_eq!(queue.sack_blocks(3), [block(10, 25)]);
    assert_eq!(queue.take(BASE + 9), None);
    assert_eq!(queue.take(BASE + 11), Some([[1; 4].as_slice(), &[2; 5], &[3; 5]].concat()));
    assert!(queue.is_empty());
}

#[test]
fn there_are_never_more_blocks_than_allowed() {
    let mut queue = Reassembly::new(2);
    for start in [10, 30, 50] {
        queue.insert(BASE + start, &[0; 5]);
    }
    assert_eq!(queue.len(), 10);
    // A block that is already there may still grow.
    queue.insert(BASE + 35, &[0; 5]);
    assert_eq!(queue.len(), 15);
}

proptest! {
    /// The stream has octet `n` at `n`. Pieces that arrive in any order are taken as the stream.
    #[test]
    fn blocks_agree_with_a_map(pieces in prop::collection::vec((0_u32..200, 0_usize..40), 0..40), start in 0_u32..250) {
        let mut queue = Reassembly::new(usize::MAX);
        let mut map = [false; 256];
        for (left, len) in pieces {
            let bytes: Vec<u8> = (left..left + len as u32).map(|octet| octet as u8).collect();
            queue.insert(BASE + left, &bytes);
            map[left as usize..left as usize + len].fill(true);
        }
        prop_assert_eq!(queue.len(), map.iter().filter(|held| **held).count());
        let blocks = queue.sack_blocks(usize::MAX);
        for (octet, held) in map.iter().enumerate() {
            let told = blocks.iter().filter(|block| {
                !(BASE + octet as u32).is_before(block.left) && (BASE + octet as u32).is_before(block.right)
            });
            prop_assert_eq!(told.count(), usize::from(*held));
        }
        let expected: Vec<u8> = (start..256).take_while(|octet| map[*octet as usize]).map(|octet| octet as u8).collect();
        prop_assert_eq!(queue.take(BASE + start).unwrap_or_default(), expected);
    }
}
