//! What the constrained profile does its own way.

use crate::drill::Drill;
use terse_sim::tcp::Config;

fn established() -> Drill {
    Drill::established(Config { send_buffer: 4000, ..Config::constrained() }.for_mtu(240, 40), "mss 1000 sackok")
}

/// 28 bytes of SYN: MSS, SACK permitted, padding.
#[test]
fn a_syn_takes_28_bytes() {
    let drill = Drill::client(Config::constrained());
    assert_eq!((drill.last.header_len(), drill.last.window), (28, 1792));
    assert_eq!(drill.last.options.maximum_segment_size, Some(844));
    assert!(drill.last.options.sack_permitted);
}

/// No congestion window, but five descriptors; and Nagle's algorithm.
#[test]
fn five_segments_are_under_way_at_most() {
    let mut drill = established();
    drill.write(1500);
    drill.expect(&[
        "100 - 1:181 ack 1",
        "100 - 181:361 ack 1",
        "100 - 361:541 ack 1",
        "100 - 541:721 ack 1",
        "100 - 721:901 ack 1",
    ]);
    // What was reported frees its descriptor: with the fifth, 180 bytes more go.
    drill.inject("- 1:1 ack 1 sack 721-901");
    drill.expect(&["100 - 901:1081 ack 1"]);
}

/// The send buffer has 1,024 bytes; what was reported makes room, though it is not acknowledged.
#[test]
fn what_was_reported_is_freed() {
    let config = Config { nagle: terse_sim::tcp::Nagle::Off, ..Config::constrained() };
    let mut drill = Drill::established(config, "mss 300 sackok");
    assert_eq!(drill.connection.send_capacity(), 1024);
    drill.write(900);
    assert_eq!(drill.connection.send_capacity(), 124);
    drill.inject("- 1:1 ack 1 sack 301-601");
    assert_eq!(drill.connection.send_capacity(), 424);
    drill.inject("- 1:1 ack 601");
    assert_eq!(drill.connection.send_capacity(), 724);
}

/// Each segment has its timer, which doubles by itself, and retransmits nothing but its segment.
#[test]
fn each_segment_has_its_timer() {
    let mut drill = established();
    drill.write(180);
    drill.at(400);
    drill.write(180);
    drill.at(3500);
    drill.expect(&[
        "100 P 1:181 ack 1",
        "400 P 181:361 ack 1",
        "1100 - 1:181 ack 1",
        "1400 P 181:361 ack 1",
        "3100 - 1:181 ack 1",
        "3400 P 181:361 ack 1",
    ]);
    // The second arrives: the first goes on alone, 4 s after its last.
    drill.inject("- 1:1 ack 1 sack 181-361");
    drill.at(20_000);
    drill.expect(&["7100 - 1:181 ack 1", "15100 - 1:181 ack 1"]);
    // A new segment begins with the timeout of before.
    drill.inject("- 1:1 ack 361");
    drill.write(180);
    drill.at(21_000);
    drill.expect(&["20000 P 361:541 ack 1", "21000 P 361:541 ack 1"]);
}

/// The timeout is a second at least, and three after a lost SYN.
#[test]
fn three_seconds_after_a_lost_syn() {
    let mut drill = Drill::client(Config::constrained());
    drill.at(1100);
    drill.inject("S 0:0 ack 1 mss 1000 sackok");
    drill.write(100);
    drill.at(4100);
    drill.expect(&["0 S 0:0", "1000 S 0:0", "1100 - 1:1 ack 1", "1100 P 1:101 ack 1", "4100 P 1:101 ack 1"]);
}

/// An acknowledgement waits for 150 ms, or for a second segment, and the window has 1,792 bytes.
#[test]
fn acknowledgements_wait() {
    let mut drill = Drill::established(Config::constrained(), "mss 844 sackok");
    drill.inject("- 1:845 ack 1");
    drill.at(249);
    drill.expect(&[]);
    drill.at(250);
    drill.expect(&["250 - 1:1 ack 845"]);
    assert_eq!(drill.last.window, 948);
}
