//! Tests of ACKs: when they are sent, and what they acknowledge.

use alloc::vec;

use super::*;

const QUARTER: Option<u64> = Some(250);

fn number(epoch: u64, sequence_number: u64) -> RecordNumber {
    RecordNumber { epoch, sequence_number }
}

fn arrived(numbers: &[u64]) -> Arrived {
    Arrived {
        numbers: numbers.iter().map(|sequence_number| number(2, *sequence_number)).collect(),
        is_whole: true,
        ..Arrived::default()
    }
}

fn sent(acks: &mut Acks, now: u64, room: usize) -> Option<Vec<u64>> {
    let mut bytes = [0xee; 4_000];
    let len = acks.fill(Instant(now), &mut bytes[..room]);
    (len > 0).then(|| parse(&bytes[..len]).unwrap().iter().map(|number| number.sequence_number).collect())
}

#[test]
fn a_part_of_a_flight_is_acknowledged_after_a_quarter_of_the_timer() {
    let mut acks = Acks::default();
    acks.note(Instant(0), arrived(&[3, 1]), QUARTER, false);
    acks.note(Instant(100), arrived(&[2]), QUARTER, false);
    assert_eq!((acks.deadline(), acks.is_due()), (Some(Instant(350)), false), "it goes on");
    acks.expire(Instant(349));
    assert!(!acks.is_due());
    acks.expire(Instant(350));
    assert_eq!((acks.deadline(), acks.is_due()), (None, true));
    assert_eq!(sent(&mut acks, 350, 1_000), Some(vec![1, 2, 3]));
    assert!(!acks.is_due());
    acks.note(Instant(400), arrived(&[9]), QUARTER, false);
    acks.expire(Instant(650));
    assert_eq!(sent(&mut acks, 650, 1_000), Some(vec![9]), "each record once");
}

/// Unprotected records alone cause no ACK: the peer may speak DTLS 1.2.
#[test]
fn nobody_wakes_for_what_is_not_acknowledged() {
    let mut acks = Acks::default();
    let unprotected = || Arrived { numbers: vec![number(0, 1)], ..Arrived::default() };
    acks.note(Instant(0), unprotected(), QUARTER, false);
    acks.note(Instant(0), Arrived { has_gap: true, ..unprotected() }, QUARTER, false);
    assert_eq!((acks.deadline(), acks.is_due()), (None, false));
    acks.note(Instant(10), arrived(&[1]), QUARTER, false);
    assert_eq!(acks.deadline(), Some(Instant(260)));
    acks.note(Instant(20), Arrived { has_gap: true, ..arrived(&[3]) }, QUARTER, false);
    assert_eq!(sent(&mut acks, 20, 1_000), Some(vec![1, 1, 3]));
    assert_eq!(acks.deadline(), None, "all was told");
}

#[test]
fn a_gap_is_told_at_once_but_not_too_often() {
    let mut acks = Acks::default();
    acks.note(Instant(0), Arrived { has_gap: true, ..arrived(&[1]) }, QUARTER, false);
    assert_eq!(sent(&mut acks, 0, 1_000), Some(vec![1]));
    acks.note(Instant(10), Arrived { has_gap: true, ..arrived(&[2]) }, QUARTER, false);
    assert!(!acks.is_due());
    acks.expire(Instant(260));
    assert_eq!(sent(&mut acks, 260, 1_000), Some(vec![2]));
    acks.note(Instant(270), arrived(&[3]), QUARTER, false);
    acks.note(Instant(510), Arrived { has_gap: true, ..arrived(&[5]) }, QUARTER, false);
    assert_eq!(sent(&mut acks, 510, 1_000), Some(vec![3, 5]));
    assert_eq!(acks.deadline(), None, "all is said");
}

#[test]
fn what_is_answered_is_not_acknowledged() {
    let mut acks = Acks::default();
    acks.note(Instant(0), arrived(&[1]), QUARTER, false);
    acks.answered();
    assert_eq!((acks.deadline(), acks.is_due()), (None, false));
    acks.finish();
    assert!(!acks.is_due());
}

/// RFC 9147, 7.1: records without known keys cause an empty ACK. A peer of DTLS 1.2, which sent nothing protected, gets
/// none.
#[test]
fn what_cannot_be_read_is_told_of_without_numbers() {
    let mut acks = Acks::default();
    for has_gap in [true, false] {
        acks.note(Instant(0), Arrived { numbers: vec![number(0, 1)], has_gap, ..Arrived::default() }, QUARTER, false);
        assert_eq!((acks.deadline(), acks.is_due()), (None, false), "nobody is woken for nothing");
    }
    let mut acks = Acks::default();
    acks.note(Instant(0), Arrived { lacks_keys: true, ..Arrived::default() }, QUARTER, false);
    acks.expire(Instant(250));
    assert!(acks.is_due());
    assert_eq!(sent(&mut acks, 250, 1_000), Some(vec![]));
    assert!(!acks.is_due());
}

#[test]
fn after_the_handshake_all_is_acknowledged_at_once() {
    let mut acks = Acks::default();
    acks.note(Instant(0), arrived(&[7]), QUARTER, true);
    assert_eq!(sent(&mut acks, 0, 1_000), Some(vec![7]));
    acks.note(Instant(0), arrived(&[8]), None, false);
    assert_eq!(acks.deadline(), None, "only the end of the handshake is");
    acks.finish();
    assert_eq!(sent(&mut acks, 0, 1_000), Some(vec![8]));
}

/// A ticket in several records gets one ACK, unless its last records are late.
#[test]
fn after_the_handshake_a_part_of_a_message_waits_for_the_rest() {
    let part = |number| Arrived { is_whole: false, ..arrived(&[number]) };
    let mut acks = Acks::default();
    acks.note(Instant(0), part(7), QUARTER, true);
    assert_eq!((acks.deadline(), acks.is_due()), (Some(Instant(250)), false));
    acks.note(Instant(1), arrived(&[8]), QUARTER, true);
    assert_eq!(acks.deadline(), None);
    assert_eq!(sent(&mut acks, 1, 1_000), Some(vec![7, 8]));
    acks.note(Instant(2), part(9), QUARTER, true);
    acks.expire(Instant(252));
    assert_eq!(sent(&mut acks, 252, 1_000), Some(vec![9]));
}

#[test]
fn small_datagrams_take_as_many_as_fit_and_all_get_there() {
    let mut acks = Acks::default();
    acks.note(Instant(0), arrived(&[1, 2, 3, 4, 5]), QUARTER, true);
    assert_eq!(sent(&mut acks, 0, 17), None);
    assert_eq!(sent(&mut acks, 0, 2 + 2 * NUMBER_LEN + 15), Some(vec![1, 2]));
    assert_eq!(sent(&mut acks, 0, 2 + 2 * NUMBER_LEN), Some(vec![3, 4]));
    assert!(acks.is_due());
    assert_eq!(sent(&mut acks, 0, 100), Some(vec![5]));
    assert!(!acks.is_due());
}

#[test]
fn what_is_kept_is_bounded() {
    let mut acks = Acks::default();
    for number in 0..10_000 {
        acks.note(Instant(0), arrived(&[number, number]), QUARTER, false);
    }
    acks.finish();
    let numbers = sent(&mut acks, 0, 4_000).unwrap();
    assert_eq!(numbers, (10_000 - MAX_NUMBERS as u64..10_000).collect::<Vec<_>>());
}

#[test]
fn only_whole_numbers_are_read() {
    let bytes = [&[0, 16][..], &5_u64.to_be_bytes(), &7_u64.to_be_bytes()].concat();
    assert_eq!(parse(&bytes), Some(vec![number(5, 7)]));
    assert_eq!(parse(&[0, 0]), Some(vec![]));
    for len in 0..bytes.len() {
        assert_eq!(parse(&bytes[..len]), None, "{len}");
    }
    assert_eq!(parse(&[&bytes[..], &[0]].concat()), None);
    assert_eq!(parse(&[0, 1, 9]), None);
}
