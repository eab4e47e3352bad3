//! Timeouts follow RFC 6298, and the probe RFC 8985, 7.

use super::drill::Drill;
use core::time::Duration;
use terse_sim::tcp::{Config, Failure, State};

/// Returns a configuration with round numbers: no timestamps, 1,000 bytes in a segment, a least timeout of 1 s.
pub(crate) fn plain() -> Config {
    Config {
        maximum_segment_size: 1000,
        timestamps: false,
        window_scale: None,
        loss_probe: false,
        rto_minimum: Duration::from_secs(1),
        rto_granularity: Duration::from_millis(1),
        ..Config::linux()
    }
}

/// RFC 6298, 5.5: each expiry doubles the timeout. RFC 9293, 3.8.3: the retransmissions end.
#[test]
fn a_syn_is_sent_again_later_and_later() {
    let mut drill = Drill::client(Config { syn_retries: 3, ..plain() });
    drill.at(14_999);
    drill.expect(&["0 S 0:0", "1000 S 0:0", "3000 S 0:0", "7000 S 0:0"]);
    assert_eq!(drill.connection.state(), State::SynSent);
    drill.at(15_000);
    assert_eq!(drill.connection.failure(), Some(Failure::TimedOut));
    assert_eq!(drill.connection.poll_timeout(), None);
}

/// RFC 6298, 2.5 and 5.5: the timeout doubles up to the maximum.
#[test]
fn data_is_sent_again_later_and_later() {
    let mut drill =
        Drill::established(Config { rto_maximum: Duration::from_secs(5), retries: 5, ..plain() }, "mss 1000");
    drill.write(100);
    drill.at(30_000);
    let sent = ["100", "1100", "3100", "7100", "12100", "17100"].map(|time| format!("{time} P 1:101 ack 1"));
    drill.expect(&sent.each_ref().map(String::as_str));
    assert_eq!(drill.connection.failure(), Some(Failure::TimedOut));
    assert_eq!(drill.connection.statistics().timeouts, 6);
}

/// RFC 6298, 5.3: an acknowledgement of new data starts the timer anew.
#[test]
fn progress_restarts_the_timer() {
    let mut drill = Drill::established(plain(), "mss 1000");
    drill.write(2000);
    drill.at(900);
    drill.inject("- 1:1 ack 1001");
    drill.expect(&["100 - 1:1001 ack 1", "100 P 1001:2001 ack 1"]);
    // SRTT = 7/8 100 + 1/8 800; RTTVAR = 3/4 50 + 1/4 700 = 212.5; RTO = 187.5 + 850 = 1037.5
    drill.at(1937);
    drill.expect(&[]);
    drill.at(1938);
    drill.expect(&["1937 P 1001:2001 ack 1"]);
}

/// Karn (RFC 6298, 3): a segment that was sent twice gives no sample, and the timeout stays doubled until there is one.
#[test]
fn an_ambiguous_acknowledgement_is_no_sample() {
    let mut drill = Drill::established(plain(), "mss 1000");
    drill.write(100);
    drill.at(1100);
    drill.inject("- 1:1 ack 101");
    drill.write(100);
    drill.expect(&["100 P 1:101 ack 1", "1100 P 1:101 ack 1", "1100 P 101:201 ack 1"]);
    // The timeout is twice a second.
    drill.at(3099);
    drill.expect(&[]);
    drill.at(3100);
    drill.expect(&["3100 P 101:201 ack 1"]);
    drill.inject("- 1:1 ack 201");
    drill.write(100);
    drill.at(3150);
    drill.inject("- 1:1 ack 301");
    drill.write(100);
    drill.at(4150);
    drill.expect(&["3100 P 201:301 ack 1", "3150 P 301:401 ack 1", "4150 P 301:401 ack 1"]);
}

/// RFC 7323, 4.1: timestamps tell the copies apart.
#[test]
fn timestamps_make_it_a_sample() {
    let mut drill = Drill::established(Config { timestamps: true, ..plain() }, "mss 1000 ts 5 0");
    drill.write(100);
    drill.at(1150);
    // The timestamp is that of the copy of 1100.
    drill.inject("- 1:1 ack 101 ts 6 1100");
    drill.write(100);
    drill.at(2150);
    drill.expect(&["100 P 1:101 ack 1", "1100 P 1:101 ack 1", "1150 P 101:201 ack 1", "2150 P 101:201 ack 1"]);
}

/// RFC 6298, 5.7: the timeout is three seconds after a lost SYN; RFC 5681, 3.1: the window is one segment.
#[test]
fn after_a_lost_syn_the_timeout_is_three_seconds() {
    let mut drill = Drill::client(Config { lost_syns_forgiven: 0, ..plain() });
    drill.at(1100);
    drill.inject("S 0:0 ack 1 mss 1000");
    drill.write(2000);
    drill.at(4100);
    drill.expect(&["0 S 0:0", "1000 S 0:0", "1100 - 1:1 ack 1", "1100 - 1:1001 ack 1", "4100 - 1:1001 ack 1"]);

    let mut drill = Drill::client(Config { rto_after_lost_syn: None, ..plain() });
    drill.at(1100);
    drill.inject("S 0:0 ack 1 mss 1000");
    drill.write(100);
    // Without the rule, the doubled timeout stays.
    drill.at(3100);
    drill.expect(&["0 S 0:0", "1000 S 0:0", "1100 - 1:1 ack 1", "1100 P 1:101 ack 1", "3100 P 1:101 ack 1"]);
}

/// A server whose SYN-ACK was lost has a timeout of three seconds as well.
#[test]
fn a_lost_syn_ack_counts_as_a_lost_syn() {
    let mut drill = Drill::server(plain(), "S 0:0 mss 1000");
    drill.at(1050);
    drill.inject("- 1:1 ack 1");
    drill.write(100);
    drill.at(4050);
    drill.expect(&["0 S 0:0 ack 1", "1000 S 0:0 ack 1", "1050 P 1:101 ack 1", "4050 P 1:101 ack 1"]);
}

/// A repeated SYN is answered again.
#[test]
fn a_syn_that_comes_again_gets_its_answer() {
    let mut drill = Drill::server(plain(), "S 0:0 mss 1000");
    drill.at(500);
    drill.inject("S 0:0 mss 1000");
    drill.expect(&["0 S 0:0 ack 1", "500 S 0:0 ack 1"]);
    drill.inject("- 1:1 ack 1");
    assert_eq!(drill.connection.state(), State::Established);
}

/// RFC 5681, 3.1: after a timeout the window is one segment, and grows by slow start; reported data is not resent.
#[test]
fn a_timeout_begins_slowly() {
    let mut drill = Drill::established(plain(), "mss 1000 sackok");
    drill.write(4000);
    drill.at(150);
    drill.inject("- 1:1 ack 1 sack 2001-3001");
    drill.expect(&["100 - 1:1001 ack 1", "100 - 1001:2001 ack 1", "100 - 2001:3001 ack 1", "100 P 3001:4001 ack 1"]);
    drill.at(1100);
    drill.expect(&["1100 - 1:1001 ack 1"]);
    drill.at(1150);
    drill.inject("- 1:1 ack 1001 sack 2001-3001");
    drill.expect(&["1150 - 1001:2001 ack 1", "1150 P 3001:4001 ack 1"]);
}

/// RFC 8985, 7.3: new data, if there is some, is the probe, whatever the congestion window says.
#[test]
fn new_data_is_the_better_probe() {
    let config = Config { loss_probe: true, initial_window: 2, ..plain() };
    let mut drill = Drill::established(config, "mss 1000 sackok");
    drill.write(4000);
    drill.at(303);
    drill.expect(&["100 - 1:1001 ack 1", "100 - 1001:2001 ack 1", "302 - 2001:3001 ack 1"]);
}

/// RFC 8985, 7.2 and 7.3: the last segment of a flight is probed after two round trips and a little; then comes the
/// timeout.
#[test]
fn the_end_of_a_flight_is_probed() {
    let mut drill = Drill::established(Config { loss_probe: true, ..plain() }, "mss 1000 sackok");
    drill.write(2000);
    drill.at(302);
    drill.expect(&["100 - 1:1001 ack 1", "100 P 1001:2001 ack 1", "302 P 1001:2001 ack 1"]);
    drill.at(1301);
    drill.expect(&[]);
    drill.at(1302);
    drill.expect(&["1302 - 1:1001 ack 1"]);
    assert_eq!(drill.connection.statistics().loss_probes, 1);
    assert_eq!(drill.connection.statistics().timeouts, 1);
}
