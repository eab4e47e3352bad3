//! Tests of the parts that were sent and not acknowledged, against a model that marks each byte.

use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;

const LENS: [usize; 3] = [0, 40, 100];

fn number(sequence_number: u64) -> RecordNumber {
    RecordNumber { epoch: 2, sequence_number }
}

fn part(piece: usize, start: usize, end: usize) -> Part {
    Part::new(piece, start..end, false)
}

fn missing(outstanding: &Outstanding, piece: usize, is_on_its_way: impl Fn(Position) -> bool) -> Vec<(usize, usize)> {
    let mut missing = Vec::new();
    outstanding.missing(piece, LENS[piece], is_on_its_way, |part| missing.push((part.range().start, part.range().end)));
    missing
}

#[test]
fn what_was_not_sent_is_missing() {
    let outstanding = Outstanding::default();
    assert_eq!(missing(&outstanding, 1, |_| true), [(0, 40)]);
    assert_eq!(missing(&outstanding, 0, |_| true), [(0, 0)], "an empty message");
    assert!(!outstanding.is_acknowledged(0, 0));
}

#[test]
fn acknowledged_records_leave_gaps() {
    let mut outstanding = Outstanding::default();
    for (index, start) in (0..100).step_by(20).enumerate() {
        outstanding.sent(number(index as u64), &[part(2, start, start + 20)], Instant(index as u64));
    }
    let arrived = outstanding.acknowledge([number(3), number(1), number(77)].into_iter(), true).unwrap();
    assert_eq!(arrived, Position { place: 3, number: number(3), sent: Instant(3) });
    assert_eq!(missing(&outstanding, 2, |_| false), [(0, 20), (40, 60), (80, 100)]);
    let is_after = |position: Position| !position.precedes(arrived);
    assert_eq!(missing(&outstanding, 2, is_after), [(0, 20), (40, 60)], "what came after is under way");
    assert_eq!(missing(&outstanding, 2, |position| position.sent >= Instant(2)), [(0, 20)]);
    outstanding.acknowledge([number(0), number(2), number(4)].into_iter(), true);
    assert!(outstanding.is_acknowledged(2, 100));
}

/// The first epoch of a flight in two epochs was retransmitted in part. An ACK has no room for all numbers of the
/// second epoch.
#[test]
fn what_an_ack_had_no_room_for_is_not_lost() {
    let mut outstanding = Outstanding::default();
    let hello = |sequence_number| RecordNumber { epoch: 0, sequence_number };
    outstanding.sent(hello(0), &[part(1, 0, 40)], Instant(0));
    for index in 0..5 {
        outstanding.sent(number(index), &[part(2, 20 * index as usize, 20 * index as usize + 20)], Instant(0));
    }
    outstanding.sent(hello(1), &[part(1, 0, 40)], Instant(1));
    let arrived = outstanding.acknowledge([hello(1), number(1), number(2)].into_iter(), true).unwrap();
    let is_after = |position: Position| !position.precedes(arrived);
    assert_eq!(missing(&outstanding, 2, is_after), [(0, 20)], "not 60 to 100, which the next one may have");
    // A part that was sent since is not missing either.
    outstanding.sent(number(5), &[part(2, 0, 20)], Instant(2));
    outstanding.sent(hello(2), &[part(1, 0, 40)], Instant(2));
    let arrived = outstanding.acknowledge([number(3)].into_iter(), true).unwrap();
    assert!(!Position { place: 8, number: hello(2), sent: Instant(2) }.precedes(arrived));
    assert_eq!(missing(&outstanding, 2, |position| !position.precedes(arrived)), []);
}

#[test]
fn what_nobody_vouches_for_is_doubted() {
    let mut outstanding = Outstanding::default();
    outstanding.sent(number(0), &[part(0, 0, 0), part(1, 0, 40)], Instant(0));
    outstanding.acknowledge([number(0)].into_iter(), false);
    assert!(!outstanding.is_acknowledged(1, 40) && !outstanding.has_acknowledged());
    assert_eq!(missing(&outstanding, 1, |_| false), []);
    outstanding.forget_claims();
    assert_eq!(missing(&outstanding, 1, |_| false), [(0, 40)]);
    outstanding.acknowledge([number(0)].into_iter(), true);
    outstanding.forget_claims();
    outstanding.acknowledge([number(0)].into_iter(), false);
    assert!(outstanding.is_acknowledged(1, 40), "what is certain stays so");
}

#[test]
fn what_is_kept_is_bounded() {
    let mut outstanding = Outstanding::default();
    for index in 0..10_000 {
        outstanding.sent(number(index), &[part(2, 0, 100)], Instant(0));
    }
    assert!(outstanding.entries.capacity() * size_of::<Entry>() <= MAX_HEAP);
    assert_eq!(outstanding.acknowledge([number(5)].into_iter(), true), None, "forgotten");
    let arrived = outstanding.acknowledge([number(9_999)].into_iter(), true).map(|arrived| arrived.number);
    assert_eq!(arrived, Some(number(9_999)));
}

#[test]
fn what_is_acknowledged_is_remembered_longest() {
    let mut outstanding = Outstanding::default();
    outstanding.sent(number(0), &[part(1, 0, 40)], Instant(0));
    outstanding.acknowledge([number(0)].into_iter(), true);
    for index in 1..10_000 {
        outstanding.sent(number(index), &[part(2, 0, 100)], Instant(0));
    }
    assert!(outstanding.is_acknowledged(1, 40) && missing(&outstanding, 1, |_| false).is_empty());
    for index in 9_990..10_000 {
        assert!(outstanding.acknowledge([number(index)].into_iter(), true).is_some());
    }
}

proptest! {
    #[test]
    fn what_is_missing_is_what_the_model_says(
        records in prop::collection::vec((1..3_usize, 0..100_usize, 1..50_usize, any::<bool>()), 0..40),
    ) {
        let mut outstanding = Outstanding::default();
        let mut model = [vec![false; 0], vec![false; LENS[1]], vec![false; LENS[2]]];
        let mut numbers = Vec::new();
        for (index, (piece, start, len, is_acknowledged)) in records.into_iter().enumerate() {
            let start = start % LENS[piece];
            let end = (start + len).min(LENS[piece]);
            outstanding.sent(number(index as u64), &[part(piece, start, end)], Instant(0));
            if is_acknowledged {
                numbers.push(number(index as u64));
                model[piece][start..end].fill(true);
            }
        }
        outstanding.acknowledge(numbers.into_iter(), true);
        for piece in 1..3 {
            let mut left = model[piece].clone();
            for (start, end) in missing(&outstanding, piece, |_| false) {
                prop_assert!(left[start..end].iter().all(|has| !has), "sent for nothing");
                left[start..end].fill(true);
            }
            prop_assert!(left.iter().all(|has| *has), "not sent");
            prop_assert_eq!(outstanding.is_acknowledged(piece, LENS[piece]), model[piece].iter().all(|has| *has));
        }
    }
}
