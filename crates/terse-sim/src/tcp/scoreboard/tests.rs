//! The scoreboard has the functions of RFC 6675.

use super::Scoreboard;
use crate::Time;
use crate::tcp::{SackBlock, SequenceNumber};
use proptest::prelude::*;

const BASE: SequenceNumber = SequenceNumber(u32::MAX - 250);
const SMSS: u32 = 100;

/// Returns a scoreboard of segments of 100 bytes, sent a millisecond apart.
fn scoreboard(segments: u32) -> Scoreboard {
    let mut board = Scoreboard::default();
    for index in 0..segments {
        let left = BASE + SMSS * index;
        board.push(left, left + SMSS, Time::from_millis(index.into()), None);
    }
    board
}

fn segments(first: u32, after_last: u32) -> SackBlock {
    SackBlock { left: BASE + SMSS * first, right: BASE + SMSS * after_last }
}

fn lost(board: &Scoreboard) -> Vec<usize> {
    (0..board.len()).filter(|index| board.get(*index).is_some_and(|segment| segment.lost)).collect()
}

/// `IsLost`: three separate pieces above a segment, or more than two full segments, make it lost.
#[test]
fn three_reports_above_are_a_loss() {
    let mut board = scoreboard(8);
    assert!(board.select(&[segments(2, 3), segments(4, 5)]));
    assert!(!board.find_losses(3, SMSS));
    assert!(board.select(&[segments(6, 7)]));
    assert!(board.find_losses(3, SMSS));
    assert_eq!(lost(&board), [0, 1]);

    let mut board = scoreboard(8);
    board.select(&[segments(3, 5)]);
    assert!(!board.find_losses(3, SMSS));
    board.select(&[segments(3, 6)]);
    assert!(board.find_losses(3, SMSS));
    assert_eq!(lost(&board), [0, 1, 2]);
    assert!(!board.select(&[segments(3, 6)]), "nothing new");
    assert!(!board.find_losses(3, SMSS));
}

/// The test follows `SetPipe` and `NextSeg`.
#[test]
fn repairs_go_out_in_order_and_count_in_the_pipe() {
    let mut board = scoreboard(8);
    assert_eq!(board.pipe(), 800);
    board.select(&[segments(1, 2), segments(3, 6)]);
    board.find_losses(3, SMSS);
    assert_eq!(lost(&board), [0, 2]);
    assert_eq!(board.pipe(), 200);
    assert_eq!(board.next_lost(), Some(0));
    board.repair(0, Time::ZERO, None);
    assert_eq!((board.next_lost(), board.pipe()), (Some(2), 300));
    board.repair(2, Time::ZERO, None);
    assert_eq!((board.next_lost(), board.pipe()), (None, 400));
    assert_eq!(board.newest(), Some(7));
}

#[test]
fn a_suspect_lies_below_a_report() {
    let mut board = scoreboard(4);
    assert_eq!(board.next_suspect(), None);
    board.select(&[segments(1, 2)]);
    assert_eq!(board.next_suspect(), Some(0));
}

/// Karn's algorithm: a segment that was sent twice gives no sample.
#[test]
fn only_unambiguous_segments_give_samples() {
    let mut board = scoreboard(4);
    assert_eq!(board.acknowledge(BASE + 2 * SMSS).sent_at, Some(Time::from_millis(0)));
    board.repair(0, Time::from_millis(50), None);
    assert_eq!(board.acknowledge(BASE + 4 * SMSS).sent_at, None);
    assert!(board.is_empty());
}

#[test]
fn a_part_of_a_segment_may_be_acknowledged() {
    let mut board = scoreboard(2);
    board.acknowledge(BASE + 150);
    assert_eq!(board.len(), 1);
    assert_eq!(board.first().map(|first| (first.left, first.len())), Some((BASE + 150, 50)));
}

/// Reports of octets that were never sent, of acknowledged ones, and of inverted blocks are ignored.
#[test]
fn reports_outside_of_what_was_sent_are_ignored() {
    let mut board = scoreboard(4);
    board.acknowledge(BASE + SMSS);
    let upside_down = SackBlock { left: BASE + 300, right: BASE + 200 };
    assert!(!board.select(&[segments(0, 3), segments(1, 3), segments(2, 9), upside_down]));
    assert_eq!(board.reported(), 0);
}

#[test]
fn a_timeout_loses_repairs_too_but_not_what_was_reported() {
    let mut board = scoreboard(4);
    board.select(&[segments(1, 2)]);
    board.lose_first();
    board.repair(0, Time::ZERO, None);
    board.lose_all();
    assert_eq!((lost(&board), board.pipe()), (vec![0, 2, 3], 0));
    board.forget_reports();
    assert_eq!((board.reported(), lost(&board)), (0, vec![0, 1, 2, 3]));
}

proptest! {
    #[test]
    fn every_octet_is_reported_or_in_the_pipe_or_lost(
        blocks in prop::collection::vec((0_u32..12, 0_u32..12), 0..12),
        repairs in prop::collection::vec(0_usize..12, 0..12),
        acknowledged in 0_u32..1200,
    ) {
        let mut board = scoreboard(12);
        for (left, right) in blocks {
            board.select(&[segments(left, right)]);
            board.find_losses(3, SMSS);
        }
        for index in repairs {
            board.repair(index, Time::ZERO, None);
        }
        board.acknowledge(BASE + acknowledged);
        let missing: u32 = board.iter().filter(|one| one.lost && !one.repaired && !one.sacked).map(|one| one.len()).sum();
        prop_assert_eq!(board.pipe() + board.reported() + missing, 1200 - acknowledged);
    }
}
