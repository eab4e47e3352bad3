//! Connections open and close in every order, and are reset (RFC 9293, 3.5, 3.6, 3.10; RFC 5961; RFC 7323, 5).

use super::drill::Drill;
use super::timeouts::plain;
use core::time::Duration;
use terse_sim::tcp::{Config, Failure, State};

fn established() -> Drill {
    Drill::established(Config { time_wait: Duration::from_secs(10), ..plain() }, "mss 1000")
}

/// RFC 9293, 3.6, figure 12; 3.4.2: in TIME-WAIT a repeated FIN is acknowledged, and restarts the wait.
#[test]
fn the_side_that_closes_first_waits() {
    let mut drill = established();
    drill.close();
    assert_eq!(drill.connection.state(), State::FinWait1);
    drill.inject("- 1:1 ack 2");
    assert_eq!(drill.connection.state(), State::FinWait2);
    drill.inject("F 1:1 ack 2");
    assert_eq!(drill.connection.state(), State::TimeWait);
    assert!(drill.connection.is_closed() && drill.connection.is_peer_finished());
    drill.expect(&["100 F 1:1 ack 1", "100 - 2:2 ack 2"]);
    drill.at(9000);
    drill.inject("F 1:1 ack 2");
    drill.expect(&["9000 - 2:2 ack 2"]);
    drill.at(18_999);
    assert_eq!(drill.connection.state(), State::TimeWait);
    drill.at(19_000);
    assert_eq!(drill.connection.state(), State::Closed);
    assert_eq!((drill.connection.poll_timeout(), drill.connection.failure()), (None, None));
}

/// RFC 9293, 3.6: on a half-closed connection the other side may go on sending.
#[test]
fn the_other_side_may_go_on() {
    let mut drill = established();
    drill.inject("FP 1:101 ack 1");
    assert_eq!(drill.connection.state(), State::CloseWait);
    assert!(!drill.connection.is_peer_finished());
    drill.read(100);
    assert!(drill.connection.is_peer_finished());
    drill.write(200);
    drill.inject("- 102:102 ack 201");
    drill.close();
    assert_eq!(drill.connection.state(), State::LastAck);
    drill.inject("- 102:102 ack 202");
    assert_eq!(drill.connection.state(), State::Closed);
    assert_eq!(drill.connection.failure(), None);
    drill.expect(&["100 - 1:1 ack 102", "100 P 1:201 ack 102", "100 F 201:201 ack 102"]);

    let mut drill = established();
    drill.close();
    drill.inject("- 1:1 ack 2");
    drill.inject("- 1:501 ack 2");
    assert_eq!(drill.connection.readable(), 500);
    drill.read(500);
    assert!(!drill.connection.is_peer_finished());
}

/// RFC 9293, 3.6, figure 13: both close at once.
#[test]
fn both_may_close_at_once() {
    let mut drill = established();
    drill.close();
    drill.inject("F 1:1 ack 1");
    assert_eq!(drill.connection.state(), State::Closing);
    drill.inject("- 2:2 ack 2");
    assert_eq!(drill.connection.state(), State::TimeWait);
    drill.expect(&["100 F 1:1 ack 1", "100 - 2:2 ack 2"]);
}

/// RFC 9293, 3.5, figure 7: both open at once.
#[test]
fn both_may_open_at_once() {
    let mut drill = Drill::client(plain());
    drill.inject("S 0:0 mss 1000");
    assert_eq!(drill.connection.state(), State::SynReceived);
    drill.inject("S 0:0 ack 1 mss 1000");
    assert_eq!(drill.connection.state(), State::Established);
    drill.expect(&["0 S 0:0", "0 S 0:0 ack 1", "0 - 1:1 ack 1"]);
    drill.write(10);
    drill.expect(&["0 P 1:11 ack 1"]);
}

/// A FIN waits for the data before it.
#[test]
fn a_fin_out_of_order_waits() {
    let mut drill = established();
    drill.inject("FP 101:201 ack 1");
    assert_eq!(drill.connection.state(), State::Established);
    drill.inject("- 1:101 ack 1");
    assert_eq!(drill.connection.state(), State::CloseWait);
    drill.read(200);
    drill.expect(&["100 - 1:1 ack 1", "100 - 1:1 ack 202"]);
}

/// Data after a FIN is ignored, and so is a FIN before data that has arrived.
#[test]
fn a_fin_is_the_end() {
    let mut drill = established();
    drill.inject("- 301:401 ack 1");
    drill.inject("F 101:101 ack 1");
    drill.inject("- 1:101 ack 1");
    assert_eq!(drill.connection.state(), State::Established);
    let mut drill = established();
    drill.inject("F 101:101 ack 1");
    drill.inject("- 1:401 ack 1");
    assert_eq!(drill.connection.state(), State::CloseWait);
    assert_eq!(drill.connection.readable(), 100);
}

/// Data that was written before the handshake is over leaves after it, with the FIN and the acknowledgement of the SYN.
#[test]
fn closing_waits_for_the_handshake() {
    let mut drill = Drill::client(plain());
    drill.write(10);
    drill.close();
    drill.inject("S 0:0 ack 1 mss 1000");
    drill.expect(&["0 S 0:0", "0 FP 1:11 ack 1"]);
}

/// RFC 5961, 3.2: only a reset with exactly the next number is believed; another in the window is challenged, one
/// outside is dropped.
#[test]
fn resets_are_not_believed_lightly() {
    let mut drill = established();
    drill.inject("R 60001:60001");
    drill.inject("R 70000:70000");
    drill.expect(&["100 - 1:1 ack 1"]);
    assert_eq!(drill.connection.state(), State::Established);
    // A second challenge has to wait.
    drill.inject("R 5000:5000");
    drill.expect(&[]);
    drill.at(600);
    drill.inject("R 5000:5000");
    drill.expect(&["600 - 1:1 ack 1"]);
    drill.inject("R 1:1");
    assert_eq!(drill.connection.failure(), Some(Failure::Reset));
    drill.expect(&[]);
}

/// SYNs and impossible acknowledgements are challenged (RFC 5961, 4.2 and 5.2).
#[test]
fn syns_and_strange_acknowledgements_are_challenged() {
    for strange in ["S 500:500", "- 1:1 ack 5000", "- 1:1 ack 4000000000"] {
        let mut drill = established();
        drill.inject(strange);
        drill.expect(&["100 - 1:1 ack 1"]);
        assert_eq!(drill.connection.state(), State::Established);
    }
}

/// RFC 9293, 3.10.7.3: in SYN-SENT, a wrong acknowledgement is reset, and a reset needs a right one.
#[test]
fn a_client_that_has_only_begun() {
    let mut drill = Drill::client(plain());
    drill.inject("S 0:0 ack 700");
    drill.inject("R 0:0");
    drill.inject("R 0:0 ack 700");
    drill.expect(&["0 S 0:0", "0 R 700:700"]);
    assert_eq!(drill.connection.state(), State::SynSent);
    drill.inject("R 0:0 ack 1");
    assert_eq!(drill.connection.failure(), Some(Failure::Refused));
}

/// RFC 9293, 3.10.7.4: in SYN-RECEIVED, a wrong acknowledgement is reset.
#[test]
fn a_server_that_has_only_begun() {
    let mut drill = Drill::server(plain(), "S 0:0 mss 1000");
    drill.inject("- 1:1 ack 900");
    drill.expect(&["0 S 0:0 ack 1", "0 R 900:900"]);
    drill.inject("R 1:1");
    assert_eq!(drill.connection.failure(), Some(Failure::Reset));
}

/// RFC 9293, 3.10.5 and 3.10.7.1: an abort sends a reset, and any later segment is answered with one.
#[test]
fn an_abort_resets() {
    let mut drill = established();
    drill.write(10);
    drill.abort();
    drill.inject("- 1:101 ack 11");
    drill.inject("F 101:101");
    drill.inject("R 101:101 ack 11");
    drill.expect(&["100 P 1:11 ack 1", "100 R 11:11", "100 R 11:11", "100 R 0:0 ack 102"]);
    assert_eq!(drill.connection.failure(), Some(Failure::Aborted));
}

/// RFC 7323, 5.3: a segment with an older timestamp is refused; 3.2: so is one without.
#[test]
fn old_segments_are_told_by_their_timestamps() {
    let config = Config { timestamps: true, ..plain() };
    let mut drill = Drill::established(config, "mss 1000 ts 500 0");
    drill.inject("- 1:101 ack 1 ts 600 0");
    drill.inject("- 101:201 ack 1 ts 599 0");
    drill.inject("- 101:201 ack 1");
    assert_eq!(drill.connection.readable(), 100);
    drill.inject("- 101:201 ack 1 ts 600 0");
    assert_eq!(drill.connection.readable(), 200);
    assert_eq!(drill.last.options.timestamps, Some((100, 600)));
}

/// A sender that has filled the window, and lost a segment, acknowledges from beyond its right edge.
#[test]
fn an_acknowledgement_on_the_right_edge_counts() {
    let mut drill = Drill::established(Config { receive_window: 1000, ..plain() }, "mss 500");
    drill.write(300);
    drill.inject("- 501:1001 ack 1");
    drill.inject("- 1001:1001 ack 301");
    assert_eq!(drill.connection.poll_timeout(), None, "nothing is under way any more");
}
