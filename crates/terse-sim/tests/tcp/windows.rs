//! Tests of the congestion window, the receive window, Nagle's algorithm, and acknowledgements.

use super::drill::Drill;
use super::timeouts::plain;
use core::time::Duration;
use terse_sim::tcp::{Acknowledgements, Config, Nagle};

/// Returns how many segments leave at once.
fn burst(drill: &mut Drill) -> u64 {
    let before = drill.connection.statistics().segments_sent;
    drill.write(40_000);
    drill.connection.statistics().segments_sent - before
}

/// RFC 6928, 2: the window has ten segments, or one where the configuration says so.
#[test]
fn the_initial_window_is_ten_segments() {
    assert_eq!(burst(&mut Drill::established(plain(), "mss 1000")), 10);
    assert_eq!(burst(&mut Drill::established(Config { initial_window: 4, ..plain() }, "mss 1000")), 4);
    assert_eq!(burst(&mut Drill::established(Config { congestion_control: false, ..plain() }, "mss 1000")), 40);
}

/// RFC 5681, 3.1: in slow start each acknowledgement adds what it acknowledges, up to L segments (RFC 3465, 2.2).
#[test]
fn slow_start_doubles() {
    let mut drill = Drill::established(plain(), "mss 1000");
    burst(&mut drill);
    drill.at(200);
    drill.inject("- 1:1 ack 10001");
    assert_eq!(drill.connection.statistics().segments_sent, 2 + 10 + 20);

    let mut drill = Drill::established(Config { slow_start_limit: 2, ..plain() }, "mss 1000");
    burst(&mut drill);
    drill.at(200);
    drill.inject("- 1:1 ack 10001");
    assert_eq!(drill.connection.statistics().segments_sent, 2 + 10 + 12);
}

/// RFC 5681, 4.1: a sender that was silent for a timeout begins again with the initial window.
#[test]
fn an_idle_connection_begins_again() {
    for (idle_restart, expected) in [(true, 10), (false, 20)] {
        let mut drill = Drill::established(Config { idle_restart, ..plain() }, "mss 1000");
        drill.write(10_000);
        drill.at(200);
        drill.inject("- 1:1 ack 10001");
        drill.at(5000);
        assert_eq!(burst(&mut drill), expected);
    }
}

/// RFC 9293, 3.8.6.1: a closed window is probed, later and later, for as long as the peer answers.
#[test]
fn a_closed_window_is_probed() {
    let mut drill = Drill::established(Config { retries: 3, ..plain() }, "mss 1000 win 1000");
    drill.write(1500);
    drill.expect(&["100 - 1:1001 ack 1"]);
    drill.at(200);
    drill.inject("- 1:1 ack 1001 win 0");
    for time in [1200, 3200, 7200, 15_200, 31_200, 63_200] {
        drill.at(time - 1);
        drill.expect(&[]);
        drill.at(time);
        // The probe is one octet before the window: it is not acceptable, so that it is answered.
        drill.expect(&[&format!("{time} - 1000:1000 ack 1")]);
        drill.inject("- 1:1 ack 1001 win 0");
    }
    drill.inject("- 1:1 ack 1001 win 1000");
    drill.expect(&["63200 P 1001:1501 ack 1"]);
    drill.inject("- 1:1 ack 1501 win 1000");
    assert_eq!(drill.connection.poll_timeout(), None);
}

/// RFC 9293, 3.8.3: the probes end if the peer does not answer.
#[test]
fn probes_that_nobody_answers_end() {
    let mut drill = Drill::established(Config { retries: 3, ..plain() }, "mss 1000 win 0");
    drill.write(500);
    drill.at(100_000);
    assert_eq!(drill.connection.statistics().window_probes, 3);
    assert_eq!(drill.connection.failure(), Some(terse_sim::tcp::Failure::TimedOut));
}

/// A probe of the peer is answered, even where our window is closed.
#[test]
fn a_probe_is_answered_with_the_window() {
    let mut drill = Drill::established(Config { receive_window: 1000, ..plain() }, "mss 1000");
    drill.inject("- 1:1001 ack 1");
    drill.at(1000);
    drill.inject("- 1000:1000 ack 1");
    assert_eq!((drill.last.window, drill.last.acknowledgement.map(|ack| ack.0)), (0, Some(1001)));
    drill.expect(&["100 - 1:1 ack 1001", "1000 - 1:1 ack 1001"]);
    // Data beyond the window is not accepted.
    drill.inject("- 1001:1002 ack 1");
    drill.expect(&["1000 - 1:1 ack 1001"]);
    assert_eq!(drill.connection.readable(), 1000);
}

/// RFC 9293, 3.8.6.2.2: the window is never a few bytes; an opened window is reported.
#[test]
fn the_window_opens_in_large_steps() {
    let mut drill = Drill::established(Config { receive_window: 2000, ..plain() }, "mss 1000");
    drill.inject("- 1:1001 ack 1");
    drill.inject("- 1001:2001 ack 1");
    assert_eq!(drill.last.window, 0);
    drill.expect(&["100 - 1:1 ack 1001", "100 - 1:1 ack 2001"]);
    drill.read(900);
    drill.expect(&[]);
    drill.read(100);
    drill.expect(&["100 - 1:1 ack 2001"]);
    assert_eq!(drill.last.window, 1000);
}

/// RFC 9293, 3.8.6.2.1: a sender fills a small window only if that is half of the largest, or after a timeout.
#[test]
fn small_windows_are_not_filled_at_once() {
    let mut drill = Drill::established(plain(), "mss 1000 win 4000");
    drill.write(5000);
    drill.at(150);
    drill.inject("- 1:1 ack 4001 win 300");
    drill.at(160);
    drill.expect(&["100 - 1:1001 ack 1", "100 - 1001:2001 ack 1", "100 - 2001:3001 ack 1", "100 - 3001:4001 ack 1"]);
    drill.at(1150);
    drill.expect(&["1150 - 4001:4301 ack 1"]);
}

/// RFC 7323, 2.2 and 2.3: the shift applies except in SYNs.
#[test]
fn windows_are_scaled_if_both_have_said_so() {
    let config = Config { window_scale: Some(2), receive_window: 100_000, ..plain() };
    let mut drill = Drill::client(config.clone());
    assert_eq!((drill.last.window, drill.last.options.window_scale), (65_535, Some(2)));
    drill.inject("S 0:0 ack 1 mss 1000 win 500 scale 3");
    assert_eq!(drill.last.window, 25_000);
    // In the SYN, 500 is 500; afterwards 500 is 4,000.
    drill.write(4000);
    drill.expect(&["0 S 0:0", "0 - 1:1 ack 1", "0 - 1:501 ack 1"]);
    drill.inject("- 1:1 ack 501 win 500");
    drill.expect(&["0 - 501:1501 ack 1", "0 - 1501:2501 ack 1", "0 - 2501:3501 ack 1", "0 P 3501:4001 ack 1"]);

    let mut drill = Drill::client(config);
    drill.inject("S 0:0 ack 1 mss 1000");
    assert_eq!(drill.last.window, 65_535);
}

fn writes(nagle: Nagle, sizes: &[usize]) -> String {
    let mut drill = Drill::established(Config { nagle, ..plain() }, "mss 1000");
    for size in sizes {
        drill.write(*size);
    }
    let before = drill.connection.statistics().segments_sent;
    drill.at(200);
    let all = sizes.iter().sum::<usize>();
    let sent = drill.connection.statistics().bytes_sent as usize;
    drill.inject(&format!("- 1:1 ack {}", sent + 1));
    let after = drill.connection.statistics().segments_sent;
    assert_eq!(drill.connection.statistics().bytes_sent as usize, all, "an acknowledgement lets the rest go");
    format!("{} at once, {} later", before - 2, after - before)
}

/// RFC 1122, 4.2.3.4, and Minshall's variation: a small segment waits for all data in flight, or for a small segment.
#[test]
fn nagle() {
    assert_eq!(writes(Nagle::Off, &[100, 100, 100]), "3 at once, 0 later");
    assert_eq!(writes(Nagle::On, &[100, 100, 100]), "1 at once, 1 later");
    assert_eq!(writes(Nagle::Minshall, &[100, 100, 100]), "1 at once, 1 later");
    // The tail of a large write waits like a small write.
    assert_eq!(writes(Nagle::Off, &[2500]), "3 at once, 0 later");
    assert_eq!(writes(Nagle::On, &[2500]), "2 at once, 1 later");
    assert_eq!(writes(Nagle::Minshall, &[2500]), "3 at once, 0 later");
    // Full segments never wait.
    assert_eq!(writes(Nagle::On, &[100, 2500]), "3 at once, 1 later");
}

/// A FIN ends the data: its segment does not wait for more.
#[test]
fn the_last_segment_does_not_wait() {
    let mut drill = Drill::established(Config { nagle: Nagle::On, ..plain() }, "mss 1000");
    drill.write(100);
    drill.write(100);
    drill.close();
    drill.expect(&["100 P 1:101 ack 1", "100 FP 101:201 ack 1"]);
}

fn delayed() -> Config {
    let delay = Duration::from_millis(150);
    Config { acknowledgements: Acknowledgements::Delayed { delay, segments: 2, full_sized: false }, ..plain() }
}

/// RFC 1122, 4.2.3.2: every second segment is acknowledged, or one after the delay, or with data.
#[test]
fn acknowledgements_are_delayed() {
    let mut drill = Drill::established(delayed(), "mss 1000");
    drill.inject("- 1:1001 ack 1");
    drill.expect(&[]);
    drill.inject("- 1001:2001 ack 1");
    drill.expect(&["100 - 1:1 ack 2001"]);
    drill.inject("- 2001:2101 ack 1");
    drill.at(250);
    drill.expect(&["250 - 1:1 ack 2101"]);
    drill.inject("- 2101:2201 ack 1");
    drill.write(10);
    drill.expect(&["250 P 1:11 ack 2201"]);
    drill.at(900);
    drill.expect(&[]);
    assert_eq!(drill.connection.statistics().pure_acks_sent, 3);
}

/// RFC 5681, 4.2, and RFC 2018, 4: a segment out of order is acknowledged at once, with reports of all data, the newest
/// first; so is one that closes a gap.
#[test]
fn what_is_out_of_order_is_reported_at_once() {
    let mut drill = Drill::established(delayed(), "mss 1000 sackok");
    drill.inject("- 1001:2001 ack 1");
    drill.inject("- 3001:4001 ack 1");
    drill.inject("- 5001:6001 ack 1");
    drill.inject("- 2001:3001 ack 1");
    drill.inject("- 1:1001 ack 1");
    drill.inject("- 4001:5001 ack 1");
    drill.expect(&[
        "100 - 1:1 ack 1 sack 1001-2001",
        "100 - 1:1 ack 1 sack 3001-4001 1001-2001",
        "100 - 1:1 ack 1 sack 5001-6001 3001-4001 1001-2001",
        "100 - 1:1 ack 1 sack 1001-4001 5001-6001",
        "100 - 1:1 ack 4001 sack 5001-6001",
        "100 - 1:1 ack 6001",
    ]);
    assert_eq!(drill.connection.readable(), 6000);
    assert_eq!(drill.connection.statistics().duplicate_acks_sent, 4);
}

/// The receiver's side of SACK can be off, or not agreed upon.
#[test]
fn the_receivers_side_is_a_switch() {
    let off = Config { sack_receiver: false, ..delayed() };
    for (config, options) in [(off, "mss 1000 sackok"), (delayed(), "mss 1000")] {
        let mut drill = Drill::established(config, options);
        drill.inject("- 1001:2001 ack 1");
        drill.expect(&["100 - 1:1 ack 1"]);
    }
}

/// Four blocks fit without timestamps, three with them (RFC 2018, 3); and data makes room for them.
#[test]
fn as_many_blocks_as_fit() {
    let mut drill = Drill::established(plain(), "mss 1000 sackok");
    for index in 0..5 {
        drill.inject(&format!("- {}:{} ack 1", 101 + index * 200, 201 + index * 200));
    }
    assert_eq!(drill.last.options.sack.len(), 4);
    drill.write(2000);
    assert!(drill.last.header_len() + drill.last.payload.len() <= 1020);

    let mut drill = Drill::established(Config { timestamps: true, ..plain() }, "mss 1000 sackok ts 1 0");
    for index in 0..5 {
        drill.inject(&format!("- {}:{} ack 1 ts 1 0", 101 + index * 200, 201 + index * 200));
    }
    assert_eq!(drill.last.options.sack.len(), 3);
}
