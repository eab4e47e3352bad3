//! What a side of DTLS 1.3 sends again once a part of the answer has come: nothing (RFC 9147, 5.8.1 and 7.2). The peer has
//! all of it, and what is missing is the peer's to send.

use terse_testkit::datagrams::{DELAY, Datagram, DatagramPair};
use terse_testkit::pair::Side;
use terse_tls::{Datagrams, Error, ProtocolVersion};

use super::modes::{CHAIN, mutual};
use super::outcome::SEED;

/// Both sides send several datagrams in a flight.
fn pair() -> DatagramPair {
    let settings = Datagrams::default().max_datagram(250);
    mutual(CHAIN).over(ProtocolVersion::TLS_1_3, settings).datagram_pair(SEED)
}

/// Returns the first byte of each datagram that `from` sent later than `after` milliseconds.
fn after(pair: &DatagramPair, from: Side, after: u64) -> Vec<u8> {
    let late = pair.sent.iter().filter(|datagram| datagram.from == from && datagram.sent > after);
    late.map(|datagram| datagram.bytes[0]).collect()
}

const PLAIN: u8 = 22;

#[test]
fn a_client_does_not_repeat_what_is_being_answered() {
    let is_plain = |first: &u8| *first == PLAIN;
    // The ServerHello came alone: anybody may have sent it.
    let mut unprotected = pair();
    let hello_alone = |datagram: &Datagram| match datagram.bytes[..] {
        _ if datagram.from == Side::Client => datagram.arrives(),
        [PLAIN, _, _, _, _, _, _, _, _, _, _, high, low, ..] => {
            let end = 13 + usize::from(u16::from_be_bytes([high, low]));
            vec![(DELAY, datagram.bytes[..end].to_vec())]
        }
        _ => Vec::new(),
    };
    unprotected.run(hello_alone).unwrap_err();
    assert_eq!(unprotected.failure(Side::Client), Some(&Error::TimedOut));
    assert!(after(&unprotected, Side::Client, 100).iter().filter(|first| is_plain(first)).count() >= 7);
    // The ServerHello came with something that is protected.
    let mut protected = pair();
    let first_alone = |datagram: &Datagram| {
        let arrives = datagram.from == Side::Client || datagram.bytes[0] == PLAIN;
        if arrives { datagram.arrives() } else { Vec::new() }
    };
    protected.run(first_alone).unwrap_err();
    assert_eq!(protected.failure(Side::Client), Some(&Error::TimedOut), "it does not wait for ever");
    let sent = after(&protected, Side::Client, 100);
    assert!(!sent.is_empty() && !sent.iter().any(is_plain), "ACKs, and no ClientHello: {sent:x?}");
}

#[test]
fn a_server_does_not_repeat_what_is_being_answered() {
    let mut pair = pair();
    let mut arrived = 0;
    let fate = |datagram: &Datagram| {
        let is_answer = datagram.from == Side::Client && datagram.bytes[0] != PLAIN;
        arrived += usize::from(is_answer);
        if is_answer && arrived > 1 { Vec::new() } else { datagram.arrives() }
    };
    pair.run(fate).unwrap_err();
    assert_eq!(pair.failure(Side::Server), Some(&Error::TimedOut));
    assert_eq!(pair.server.summary().retransmissions, 0);
    assert!(after(&pair, Side::Server, 100).iter().all(|first| first & 0xe0 == 0x20), "ACKs");
}

/// A server that cannot read the client's data says so, and the client repeats what the server needs for that, long before
/// its timer (RFC 9147, 7.1).
#[test]
fn what_cannot_be_read_tells_that_the_last_flight_was_lost() {
    let mut pair = pair();
    let is_last = |datagram: &Datagram| datagram.from == Side::Client && datagram.bytes[0] & 0xe3 == 0x22;
    let mut lost = |datagram: &Datagram| if is_last(datagram) { Vec::new() } else { datagram.arrives() };
    while !pair.client.is_connected() {
        pair.step(&mut lost, 1_000).unwrap().unwrap();
    }
    pair.transmit(Side::Client, &mut lost);
    let sent = pair.now.monotonic.0;
    pair.send(Side::Client, b"hello").unwrap();
    pair.run_well().unwrap();
    assert!(pair.server.is_connected());
    let again = pair.sent.iter().find(|datagram| is_last(datagram) && datagram.sent > sent).unwrap();
    assert_eq!(again.sent - sent, DELAY + 250 + DELAY, "a quarter of the server's timer, and a round trip");
}
