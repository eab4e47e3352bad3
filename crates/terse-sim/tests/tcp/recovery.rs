//! Loss recovery follows RFC 5681, 6582, 6675 and 3042.

use super::drill::Drill;
use super::timeouts::plain;
use terse_sim::tcp::Config;

/// Returns a connection that has sent ten segments of 1,000 bytes, at 100 ms.
fn ten_segments(config: Config, options: &str) -> Drill {
    let mut drill = Drill::established(config, options);
    drill.write(10_000);
    let sent: Vec<String> = (0..10)
        .map(|index| {
            let flags = if index == 9 { 'P' } else { '-' };
            format!("100 {flags} {}:{} ack 1", index * 1000 + 1, index * 1000 + 1001)
        })
        .collect();
    drill.expect(&sent.iter().map(String::as_str).collect::<Vec<_>>());
    drill.at(200);
    drill
}

fn without_sack() -> Config {
    Config { sack_sender: false, sack_receiver: false, ..plain() }
}

/// RFC 5681, 3.2, step 2: the third duplicate means a loss; RFC 3042: the first two let new data out.
#[test]
fn three_duplicates_are_a_loss() {
    let mut drill = ten_segments(without_sack(), "mss 1000");
    drill.write(5000);
    drill.inject("- 1:1 ack 1");
    drill.expect(&["200 - 10001:11001 ack 1"]);
    drill.inject("- 1:1 ack 1");
    drill.expect(&["200 - 11001:12001 ack 1"]);
    drill.inject("- 1:1 ack 1");
    drill.expect(&["200 - 1:1001 ack 1"]);
    // ssthresh = 5, cwnd = 8 and one more with each duplicate; twelve are in flight.
    for _ in 0..4 {
        drill.inject("- 1:1 ack 1");
        drill.expect(&[]);
    }
    drill.inject("- 1:1 ack 1");
    drill.expect(&["200 - 12001:13001 ack 1"]);
    assert_eq!(drill.connection.statistics().fast_retransmits, 1);
}

/// Limited transmit (RFC 3042) can be switched off.
#[test]
fn limited_transmit_is_a_switch() {
    let mut drill = ten_segments(Config { limited_transmit: false, ..without_sack() }, "mss 1000");
    drill.write(5000);
    drill.inject("- 1:1 ack 1");
    drill.inject("- 1:1 ack 1");
    drill.expect(&[]);
}

/// Fast retransmit can be switched off.
#[test]
fn fast_retransmit_is_a_switch() {
    let mut drill = ten_segments(Config { duplicate_ack_threshold: None, ..without_sack() }, "mss 1000");
    for _ in 0..6 {
        drill.inject("- 1:1 ack 1");
    }
    drill.expect(&[]);
    drill.at(1100);
    drill.expect(&["1100 - 1:1001 ack 1"]);
}

/// RFC 5681, 2: a segment with data, or with another window, is no duplicate.
#[test]
fn not_every_repeated_number_is_a_duplicate() {
    let mut drill = ten_segments(without_sack(), "mss 1000");
    for index in 0..3 {
        drill.inject(&format!("- 1:1 ack 1 win {}", 30_000 + index));
    }
    for index in 0..3 {
        drill.inject(&format!("- {}:{} ack 1", 1 + index * 10, 11 + index * 10));
    }
    assert_eq!(drill.connection.statistics().duplicate_acks_received, 0);
    assert_eq!(drill.connection.statistics().fast_retransmits, 0);
}

/// RFC 6582, 3.2, step 3: a partial acknowledgement means that the next segment was lost, too.
#[test]
fn a_partial_acknowledgement_repairs_the_next_hole() {
    let mut drill = ten_segments(without_sack(), "mss 1000");
    for _ in 0..3 {
        drill.inject("- 1:1 ack 1");
    }
    drill.expect(&["200 - 1:1001 ack 1"]);
    drill.at(300);
    drill.inject("- 1:1 ack 4001");
    drill.expect(&["300 - 4001:5001 ack 1"]);
    drill.at(400);
    drill.inject("- 1:1 ack 10001");
    drill.expect(&[]);
    // The window is min(ssthresh, FlightSize + SMSS): ssthresh is 5,000, and nothing is in flight.
    drill.write(5000);
    drill.expect(&["400 - 10001:11001 ack 1", "400 - 11001:12001 ack 1"]);
}

/// RFC 6582, 3.2, step 2: retransmissions after a timeout cause duplicates, which are no new loss.
#[test]
fn duplicates_after_a_timeout_are_no_loss() {
    let mut drill = ten_segments(without_sack(), "mss 1000");
    drill.at(1100);
    drill.expect(&["1100 - 1:1001 ack 1"]);
    for _ in 0..4 {
        drill.inject("- 1:1 ack 1");
    }
    drill.expect(&[]);
    // Nothing had been lost: retransmitted segments arrive twice, and each copy is a duplicate of the new data's
    // number.
    drill.at(1200);
    drill.inject("- 1:1 ack 10001");
    drill.write(4000);
    drill.expect(&[
        "1200 - 10001:11001 ack 1",
        "1200 - 11001:12001 ack 1",
        "1200 - 12001:13001 ack 1",
        "1200 P 13001:14001 ack 1",
    ]);
    for _ in 0..3 {
        drill.inject("- 1:1 ack 10001");
    }
    assert_eq!(drill.connection.statistics().fast_retransmits, 0);
    // Once some of the new data has arrived, duplicates mean a loss again.
    drill.inject("- 1:1 ack 11001");
    for _ in 0..3 {
        drill.inject("- 1:1 ack 11001");
    }
    assert_eq!(drill.connection.statistics().fast_retransmits, 1);
}

/// RFC 6675, 5: exactly the holes are repaired, each once, and new data is sent as the pipe drains.
#[test]
fn selective_acknowledgements_repair_exactly_the_holes() {
    let mut drill = ten_segments(plain(), "mss 1000 sackok");
    drill.write(3000);
    // Segments 1, 3 and 6 are lost. Each report lets a new segment out, until there are three.
    drill.inject("- 1:1 ack 1 sack 1001-2001");
    drill.expect(&["200 - 10001:11001 ack 1"]);
    drill.inject("- 1:1 ack 1 sack 3001-4001 1001-2001");
    drill.expect(&["200 - 11001:12001 ack 1"]);
    drill.inject("- 1:1 ack 1 sack 3001-5001 1001-2001");
    // IsLost(1): more than 2 * SMSS above it. The pipe holds 9,000, and cwnd is 5,000: only the first repair goes.
    drill.expect(&["200 - 1:1001 ack 1"]);
    drill.inject("- 1:1 ack 1 sack 6001-7001 3001-5001 1001-2001");
    drill.inject("- 1:1 ack 1 sack 6001-8001 3001-5001 1001-2001");
    drill.inject("- 1:1 ack 1 sack 6001-9001 3001-5001 1001-2001");
    drill.expect(&["200 - 2001:3001 ack 1"]);
    drill.inject("- 1:1 ack 1 sack 6001-10001 3001-5001 1001-2001");
    drill.expect(&["200 - 5001:6001 ack 1"]);
    drill.at(300);
    drill.inject("- 1:1 ack 2001 sack 6001-10001 3001-5001");
    drill.expect(&["300 P 12001:13001 ack 1"]);
    drill.inject("- 1:1 ack 12001");
    drill.inject("- 1:1 ack 13001");
    drill.at(60_000);
    drill.expect(&[]);
    assert_eq!(drill.connection.statistics().retransmissions, 3);
    assert_eq!(drill.connection.statistics().timeouts, 0);
}

/// RFC 6675, 4, `NextSeg`, rule 4: at the end there is one rescue of the highest octet.
#[test]
fn the_highest_octet_is_rescued_once() {
    let mut drill = Drill::established(plain(), "mss 1000 sackok");
    drill.write(6000);
    drill.at(200);
    // Segments 1 and 6 are lost: nothing will ever be reported above 6.
    drill.inject("- 1:1 ack 1 sack 1001-4001");
    drill.inject("- 1:1 ack 1 sack 1001-5001");
    drill.at(300);
    drill.inject("- 1:1 ack 5001");
    drill.expect(&[
        "100 - 1:1001 ack 1",
        "100 - 1001:2001 ack 1",
        "100 - 2001:3001 ack 1",
        "100 - 3001:4001 ack 1",
        "100 - 4001:5001 ack 1",
        "100 P 5001:6001 ack 1",
        "200 - 1:1001 ack 1",
        "200 P 5001:6001 ack 1",
    ]);
}

/// RFC 2018, 8: a receiver may discard data that it has reported. When that shows, everything is sent again.
#[test]
fn a_receiver_that_reneges_gets_everything_again() {
    let mut drill = Drill::established(plain(), "mss 1000 sackok");
    drill.write(3000);
    drill.at(200);
    drill.inject("- 1:1 ack 1 sack 1001-3001");
    // The first segment arrives, and the receiver has discarded the others.
    drill.at(1100);
    drill.inject("- 1:1 ack 1001");
    drill.inject("- 1:1 ack 3001");
    drill.expect(&[
        "100 - 1:1001 ack 1",
        "100 - 1001:2001 ack 1",
        "100 P 2001:3001 ack 1",
        "1100 - 1:1001 ack 1",
        "1100 - 1001:2001 ack 1",
        "1100 P 2001:3001 ack 1",
    ]);
}

/// A peer that agrees to SACK and sends none gets its repair as one without SACK.
#[test]
fn a_peer_that_reports_nothing_still_gets_its_repair() {
    let mut drill = ten_segments(plain(), "mss 1000 sackok");
    for _ in 0..3 {
        drill.inject("- 1:1 ack 1");
    }
    drill.expect(&["200 - 1:1001 ack 1"]);
}

/// The sender's side of SACK can be off; recovery is then that of RFC 6582.
#[test]
fn the_senders_side_is_a_switch() {
    let mut drill = ten_segments(Config { sack_sender: false, ..plain() }, "mss 1000 sackok");
    for end in [4001, 5001] {
        drill.inject(&format!("- 1:1 ack 1 sack 1001-{end}"));
    }
    drill.expect(&[]);
    drill.inject("- 1:1 ack 1 sack 1001-6001");
    drill.expect(&["200 - 1:1001 ack 1"]);
}
