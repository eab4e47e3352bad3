//! Delayed acknowledgements: RFC 1122's, RFC 5681's, Linux's.

use super::{AckScheduler, Arrival};
use crate::Time;
use crate::tcp::{Acknowledgements, Config};
use core::time::Duration;

const fn at(milliseconds: u64) -> Time {
    Time::from_millis(milliseconds)
}

fn arrival(len: u32, unacknowledged: u32) -> Arrival {
    let (rto, round_trip) = (Duration::from_secs(1), Some(Duration::from_millis(100)));
    Arrival { len, is_full: len >= 500, unacknowledged, window_moves: true, window: 10_000, rto, round_trip }
}

fn delayed(full_sized: bool) -> AckScheduler {
    let delay = Duration::from_millis(150);
    AckScheduler::new(Acknowledgements::Delayed { delay, segments: 2, full_sized }, 500)
}

/// RFC 1122, 4.2.3.2: a second segment ends the delay.
#[test]
fn the_second_segment_is_acknowledged_at_once() {
    let mut acks = delayed(false);
    acks.received(at(0), arrival(10, 10));
    assert!(!acks.is_due(at(149)));
    assert_eq!(acks.deadline(), Some(at(150)));
    acks.received(at(20), arrival(10, 20));
    assert!(acks.is_due(at(20)));
    acks.sent();
    assert!(!acks.is_due(at(1000)));
}

/// OpenWSN acknowledges at once only after two full segments, one directly after the other.
#[test]
fn small_segments_need_not_count() {
    let mut acks = delayed(true);
    acks.received(at(0), arrival(10, 10));
    acks.received(at(20), arrival(10, 20));
    assert_eq!(acks.deadline(), Some(at(150)), "the delay is that of the first");
    acks.received(at(40), arrival(500, 520));
    assert!(!acks.is_due(at(40)));
    acks.received(at(60), arrival(500, 1020));
    assert!(acks.is_due(at(60)));
}

/// The bytes of two full segments are not enough, if a small segment is between them.
#[test]
fn full_segments_count_one_after_the_other() {
    let mut acks = delayed(true);
    for (time, len, unacknowledged) in [(0, 500, 500), (20, 499, 999), (40, 500, 1499), (60, 1, 1500)] {
        acks.received(at(time), arrival(len, unacknowledged));
        assert!(!acks.is_due(at(149)), "after {unacknowledged} bytes");
    }
    assert!(acks.is_due(at(150)));
    // What an acknowledgement has covered does not count any more.
    acks.received(at(151), arrival(500, 2000));
    acks.sent();
    acks.received(at(160), arrival(500, 500));
    assert!(!acks.is_due(at(160)));
    acks.received(at(170), arrival(500, 1000));
    assert!(acks.is_due(at(170)));
}

fn adaptive() -> AckScheduler {
    AckScheduler::new(Config::linux().acknowledgements, 1448)
}

/// Linux acknowledges the first segments one by one: half a window of them, 16 at most.
#[test]
fn linux_begins_quickly() {
    let mut acks = adaptive();
    let quick = (0..20)
        .take_while(|index| {
            acks.received(at(100 + index), arrival(400, 400));
            let due = acks.is_due(at(100 + index));
            acks.sent();
            due
        })
        .count();
    // 10,000 / (2 * 536)
    assert_eq!(quick, 9);
}

/// Once the application has answered within the delay, acknowledgements wait for its answers.
#[test]
fn linux_waits_for_an_application_that_answers() {
    let mut acks = adaptive();
    acks.received(at(100), arrival(400, 400));
    assert!(acks.is_due(at(100)));
    acks.data_sent(at(101));
    acks.sent();
    acks.received(at(400), arrival(400, 400));
    assert!(!acks.is_due(at(400)));
    assert_eq!(acks.deadline(), Some(at(440)));
    acks.read(true, 400);
    assert!(!acks.is_due(at(400)));
    // After a delay without an answer, the next segment is acknowledged at once again.
    acks.expired(Duration::from_secs(1));
    assert!(acks.is_due(at(440)));
    acks.sent();
    acks.received(at(500), arrival(400, 400));
    assert!(acks.is_due(at(500)));
}

/// Linux acknowledges at once again after a segment out of order.
#[test]
fn linux_is_quick_after_something_unusual() {
    let mut acks = adaptive();
    acks.received(at(100), arrival(400, 400));
    acks.data_sent(at(101));
    acks.sent();
    acks.unusual(10_000);
    assert!(acks.is_due(at(200)));
    acks.sent();
    acks.received(at(300), arrival(400, 400));
    assert!(acks.is_due(at(300)));
}

/// An application that has read the end of a flight will not read more soon.
#[test]
fn linux_acknowledges_the_end_of_a_flight_when_it_was_read() {
    let mut acks = adaptive();
    for index in 0..20 {
        acks.received(at(100 + index), arrival(1000, 1000));
        acks.sent();
    }
    acks.received(at(200), arrival(300, 300));
    assert!(!acks.is_due(at(200)));
    acks.read(false, 300);
    assert!(!acks.is_due(at(200)));
    acks.read(true, 300);
    assert!(acks.is_due(at(200)));
}
