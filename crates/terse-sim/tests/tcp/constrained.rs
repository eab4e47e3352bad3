//! The constrained profile differs from Linux in these ways.

use super::drill::Drill;
use terse_sim::tcp::Config;

fn established() -> Drill {
    Drill::established(Config { send_buffer: 4000, ..Config::constrained() }.for_mtu(240, 40), "mss 1000 sackok")
}

/// A SYN takes 28 bytes: MSS, SACK permitted, padding.
#[test]
fn a_syn_takes_28_bytes() {
    let drill = Drill::client(Config::constrained());
    assert_eq!((drill.last.header_len(), drill.last.window), (28, 1792));
    assert_eq!(drill.last.options.maximum_segment_size, Some(844));
    assert!(drill.last.options.sack_permitted);
}

/// There is no congestion window, but there are five descriptors, and Nagle's algorithm.
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
    // A reported segment frees its descriptor: with the fifth, 180 more bytes leave.
    drill.inject("- 1:1 ack 1 sack 721-901");
    drill.expect(&["100 - 901:1081 ack 1"]);
}

/// The send buffer has 1,024 bytes; reported data makes room, though it is not acknowledged.
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

/// Each segment has a timer, which doubles by itself, and retransmits only its segment.
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
    // The second segment arrives: the first is retransmitted alone, 4 s after its last transmission.
    drill.inject("- 1:1 ack 1 sack 181-361");
    drill.at(20_000);
    drill.expect(&["7100 - 1:181 ack 1", "15100 - 1:181 ack 1"]);
    // A new segment waits as long as the first did, because there was no sample since.
    drill.inject("- 1:1 ack 361");
    drill.write(180);
    drill.at(35_999);
    drill.expect(&["20000 P 361:541 ack 1"]);
    drill.at(36_000);
    drill.expect(&["36000 P 361:541 ack 1"]);
}

/// On a path slower than the timeout, doubling lasts until a segment is acknowledged before it was retransmitted:
/// otherwise none ever would be, and everything would be sent twice or more (RFC 6298, 5.5; Karn).
#[test]
fn a_slow_path_is_measured_in_the_end() {
    let mut drill = established();
    drill.write(180);
    drill.at(5_100);
    drill.inject("- 1:1 ack 181");
    drill.write(180);
    drill.at(10_100);
    drill.inject("- 1:1 ack 361");
    drill.write(180);
    drill.at(15_100);
    drill.inject("- 1:1 ack 541");
    drill.write(180);
    drill.at(20_100);
    drill.expect(&[
        "100 P 1:181 ack 1",
        "1100 P 1:181 ack 1",
        "3100 P 1:181 ack 1",
        "5100 P 181:361 ack 1",
        "9100 P 181:361 ack 1",
        "10100 P 361:541 ack 1", // 8 s, which is enough
        "15100 P 541:721 ack 1", // the timeout follows from the sample
    ]);
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

/// An acknowledgement waits for 150 ms, and the window has 1,792 bytes.
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

/// Two full segments, one directly after the other, are acknowledged at once. A segment is full that has the MSS.
#[test]
fn two_full_segments_are_acknowledged_at_once() {
    let mut drill = Drill::established(Config::constrained(), "mss 1440 sackok");
    drill.inject("- 1:845 ack 1");
    drill.at(110);
    drill.inject("- 845:1689 ack 1");
    drill.expect(&["110 - 1:1 ack 1689"]);

    // 843 bytes are not 844, and a full segment after them is the first again.
    let mut drill = Drill::established(Config { receive_window: 5000, ..Config::constrained() }, "mss 1440 sackok");
    for segment in ["- 1:845 ack 1", "- 845:1688 ack 1", "- 1688:2532 ack 1"] {
        drill.inject(segment);
    }
    drill.at(110);
    drill.expect(&[]);
    drill.inject("- 2532:3376 ack 1");
    drill.expect(&["110 - 1:1 ack 3376"]);
}

/// Segments that are not full are not acknowledged at once, however many follow each other: Mbed TLS writes a flight of
/// a server as five records, and none of them fills a segment.
#[test]
fn small_segments_wait_for_one_acknowledgement() {
    let mut drill = Drill::established(Config::constrained(), "mss 1440 sackok");
    for record in ["- 1:93 ack 1", "- 93:515 ack 1", "- 515:635 ack 1", "- 635:725 ack 1", "- 725:734 ack 1"] {
        drill.inject(record);
    }
    drill.at(249);
    drill.expect(&[]);
    drill.at(300);
    drill.expect(&["250 - 1:1 ack 734"]);
}

/// The peer's MSS limits what it sends, too: its full segments are smaller than ours.
#[test]
fn a_smaller_peer_fills_its_segments_earlier() {
    let mut drill = Drill::established(Config::constrained(), "mss 300 sackok");
    drill.inject("- 1:301 ack 1");
    drill.inject("- 301:601 ack 1");
    drill.expect(&["100 - 1:1 ack 601"]);
}
