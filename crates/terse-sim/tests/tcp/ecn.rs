//! Explicit congestion notification follows RFC 3168, 6.1.

use super::drill::Drill;
use super::timeouts::plain;
use terse_sim::tcp::{Config, EcnMode};

fn asking() -> Config {
    Config { ecn: EcnMode::On, ..plain() }
}

/// RFC 3168, 6.1.1: ECE and CWR request ECN, ECE alone accepts it; 6.1.1.1: a retransmitted SYN requests nothing.
#[test]
fn the_handshake() {
    let mut drill = Drill::client(asking());
    drill.inject("SE 0:0 ack 1 mss 1000");
    drill.write(10);
    drill.expect(&["0 SEW 0:0", "0 - 1:1 ack 1", "0 P 1:11 ack 1 ect0"]);

    let mut drill = Drill::client(asking());
    drill.inject("S 0:0 ack 1 mss 1000");
    drill.write(10);
    drill.expect(&["0 SEW 0:0", "0 - 1:1 ack 1", "0 P 1:11 ack 1"]);

    // Both flags in an answer are a reflection, and accept nothing.
    let mut drill = Drill::client(asking());
    drill.inject("SEW 0:0 ack 1 mss 1000");
    drill.write(10);
    drill.expect(&["0 SEW 0:0", "0 - 1:1 ack 1", "0 P 1:11 ack 1"]);

    let mut drill = Drill::client(asking());
    drill.at(1000);
    drill.expect(&["0 SEW 0:0", "1000 S 0:0"]);
}

/// Linux accepts ECN and does not request it; with ECN off, a side does neither.
#[test]
fn who_asks_and_who_grants() {
    let mut drill = Drill::client(Config { ecn: EcnMode::WhenAsked, ..plain() });
    drill.expect(&["0 S 0:0"]);
    for (ecn, syn, answer) in [
        (EcnMode::WhenAsked, "SEW 0:0 mss 1000", "0 SE 0:0 ack 1"),
        (EcnMode::WhenAsked, "S 0:0 mss 1000", "0 S 0:0 ack 1"),
        (EcnMode::WhenAsked, "SE 0:0 mss 1000", "0 S 0:0 ack 1"),
        (EcnMode::Off, "SEW 0:0 mss 1000", "0 S 0:0 ack 1"),
    ] {
        let mut drill = Drill::server(Config { ecn, ..plain() }, syn);
        drill.expect(&[answer]);
    }
}

fn established() -> Drill {
    let mut drill = Drill::client(asking());
    drill.at(100);
    drill.inject("SE 0:0 ack 1 mss 1000 sackok");
    drill.expect(&["0 SEW 0:0", "100 - 1:1 ack 1"]);
    drill
}

/// RFC 3168, 6.1.3: the echo goes on until CWR comes; a mark on that segment restarts it.
#[test]
fn a_mark_is_echoed_until_it_is_answered() {
    let mut drill = established();
    drill.inject("- 1:101 ack 1 ce");
    drill.inject("- 101:201 ack 1 ect0");
    drill.inject("W 201:301 ack 1 ect0");
    drill.inject("- 301:401 ack 1 ce");
    drill.inject("W 401:501 ack 1 ce");
    drill.expect(&[
        "100 E 1:1 ack 101",
        "100 E 1:1 ack 201",
        "100 - 1:1 ack 301",
        "100 E 1:1 ack 401",
        "100 E 1:1 ack 501",
    ]);
}

/// RFC 3168, 6.1.2: there is one reduction for each window, reported by CWR in the next new data.
#[test]
fn an_echo_halves_the_window_once() {
    let mut drill = established();
    drill.write(30_000);
    drill.at(200);
    drill.inject("E 1:1 ack 1001");
    drill.inject("E 1:1 ack 4001");
    assert_eq!(drill.connection.statistics().ecn_reductions, 1);
    let sent = drill.connection.statistics().segments_sent;
    // The window is 5,000, and 6,000 bytes are in flight.
    assert_eq!(sent, 2 + 10);
    drill.inject("- 1:1 ack 6001");
    assert!(drill.last.flags.cwr);
    drill.inject("- 1:1 ack 7001");
    assert!(!drill.last.flags.cwr);
    assert_eq!(drill.connection.statistics().segments_sent, 2 + 12);
    // All data in flight at that time has arrived: the next echo counts again.
    drill.inject("E 1:1 ack 10001");
    assert_eq!(drill.connection.statistics().ecn_reductions, 2);
}

/// RFC 3168, 6.1.5: retransmissions and pure acknowledgements are not marked.
#[test]
fn only_new_data_may_be_marked() {
    let mut drill = established();
    drill.write(100);
    drill.at(1100);
    drill.expect(&["100 P 1:101 ack 1 ect0", "1100 P 1:101 ack 1"]);
    // RFC 3168, 6.1.2: a loss is reported by CWR as well.
    drill.at(1200);
    drill.inject("- 1:1 ack 101");
    drill.write(100);
    drill.expect(&["1200 PW 101:201 ack 1 ect0"]);
}
