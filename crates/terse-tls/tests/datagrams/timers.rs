//! When a flight is sent again, and when no more: RFC 6347, 4.2.4, with the measurements of RFC 6298.

use terse_testkit::datagrams::{Datagram, DatagramPair, Fate};
use terse_testkit::pair::Side;
use terse_testkit::pki::Pki;
use terse_tls::{AlertDescription, ContentType, Datagrams, Error, InvalidMessage, ProtocolVersion};

use crate::modes::{CHAIN, PROVIDER, mutual};
use crate::outcome::SEED;

fn pair(settings: Datagrams) -> DatagramPair {
    mutual(CHAIN).over(ProtocolVersion::TLS_1_2, settings).datagram_pair(SEED)
}

fn lost(_: &Datagram) -> Fate {
    Vec::new()
}

/// When `side` sent something, in milliseconds.
fn times(pair: &DatagramPair, side: Side) -> Vec<u64> {
    let mut times: Vec<_> = pair.sent.iter().filter(|datagram| datagram.from == side).map(|sent| sent.sent).collect();
    times.dedup();
    times
}

/// Retransmitted datagrams, of client and server.
fn repeats(pair: &DatagramPair) -> [u32; 2] {
    [pair.client.summary().retransmissions, pair.server.summary().retransmissions]
}

#[test]
fn nobody_answers() {
    let constrained = Datagrams::constrained();
    for (settings, expected, end) in [
        (Datagrams::default(), &[0, 1_000, 3_000, 7_000, 15_000, 31_000, 63_000, 123_000][..], 183_000),
        (constrained, &[0, 9_000, 27_000, 63_000, 123_000, 183_000], 243_000),
        (Datagrams { max_retransmissions: 0, ..Datagrams::default() }, &[0], 1_000),
    ] {
        let mut pair = pair(settings);
        assert_eq!(pair.run(lost).unwrap_err().error, Error::TimedOut);
        assert_eq!(times(&pair, Side::Client), expected);
        assert_eq!(pair.now.monotonic.0, end);
        assert_eq!(repeats(&pair), [expected.len() as u32 - 1, 0]);
        assert_eq!(pair.client.poll_timeout(), None);
        let now = pair.now;
        let (client, rng) = pair.side(Side::Client);
        assert_eq!(client.handle_timeout(now), Ok(()), "it is over already");
        assert_eq!(client.handle_input(now, rng, &mut [0; 20]), Err(Error::TimedOut));
    }
}

/// The server as well, if its client is gone.
#[test]
fn a_server_gives_up() {
    let mut pair = pair(Datagrams::default());
    let fate = |datagram: &Datagram| match datagram.from {
        Side::Client if datagram.number == 0 => datagram.arrives(),
        _ => Vec::new(),
    };
    pair.run(fate).unwrap_err();
    assert_eq!(pair.failure(Side::Server), Some(&Error::TimedOut));
    let times: Vec<_> = times(&pair, Side::Server).into_iter().map(|time| time - 20).collect();
    assert_eq!(times, [0, 1_000, 3_000, 7_000, 15_000, 31_000, 63_000, 123_000]);
}

fn slowly(datagram: &Datagram) -> Fate {
    datagram.arrives_after(2_000)
}

/// A round trip of four seconds. With the usual first second the ClientHello goes out again while its answer is on the way;
/// the first second that was too short is made up for once.
#[test]
fn a_slow_path() {
    let mut pair = pair(Datagrams { max_datagram: 548, ..Datagrams::default() });
    pair.run(slowly).unwrap();
    assert!(pair.client.is_connected() && pair.server.is_connected());
    // The ClientHello after one and three seconds; the server's first flight until it is answered after four.
    assert_eq!(times(&pair, Side::Client), [0, 1_000, 3_000, 4_000]);
    assert_eq!(times(&pair, Side::Server), [2_000, 3_000, 5_000, 6_000]);
    assert_eq!(pair.client.summary().handshake_ms, 8_000);

    // Who knows that the network is slow sends nothing twice.
    let mut pair = self::pair(Datagrams { max_datagram: 548, ..Datagrams::constrained() });
    pair.run(slowly).unwrap();
    assert_eq!(repeats(&pair), [0, 0]);
    assert_eq!((times(&pair, Side::Client).len(), times(&pair, Side::Server).len()), (2, 2));
}

/// What was measured in the first exchange says when something is lost in the second: after three round trips instead of
/// nine seconds.
#[test]
fn a_loss_after_the_first_exchange() {
    for (delay, expected) in [(200, 1_200), (500, 3_000), (1_000, 6_000), (20, 1_000)] {
        let mut pair = pair(Datagrams::constrained());
        let mut is_lost = false;
        pair.run(|datagram| {
            let is_answer = datagram.from == Side::Client && datagram.sent > 0;
            if is_answer && !core::mem::replace(&mut is_lost, true) {
                return Vec::new();
            }
            datagram.arrives_after(delay)
        })
        .unwrap();
        assert!(pair.client.is_connected() && pair.server.is_connected());
        let times = times(&pair, Side::Client);
        assert_eq!(times.len(), 3);
        assert_eq!(times[2] - times[1], expected, "a round trip of {} ms", 2 * delay);
        assert_eq!(repeats(&pair)[1], 0, "the server has not begun to wait less than nine seconds");
    }
}

/// Whoever sent the last flight answers as long as the peer asks, and it asks until it gives up.
#[test]
fn the_last_flight_is_answered_again() {
    for losses in 0..=8 {
        let mut pair = pair(Datagrams::default());
        let mut answers = 0;
        let _ = pair.run(|datagram| {
            let is_last =
                datagram.from == Side::Server && datagram.bytes.windows(4).any(|bytes| bytes == [254, 253, 0, 1]);
            answers += usize::from(is_last);
            if is_last && answers <= losses { Vec::new() } else { datagram.arrives() }
        });
        assert_eq!(pair.client.is_connected(), losses < 8, "{losses} losses");
        assert!(pair.server.is_connected());
        assert_eq!(answers, 8.min(losses + 1));
        let failure = pair.failure(Side::Client);
        assert_eq!(failure, Some(&Error::TimedOut).filter(|_| losses == 8));
    }
}

/// RFC 6347, 4.1.1.1: a path with a smaller MTU than was configured, in either direction or both.
#[test]
fn a_path_that_drops_what_is_large() {
    let (one_way, both) = ([&[Side::Client][..], &[Side::Server]], [&Side::BOTH[..]]);
    for (largest, seconds, directions) in [
        (1_300, 4, &one_way[..]),
        (600, 8, &one_way),
        (300, 16, &one_way),
        (1_300, 10, &both),
        (600, 20, &both),
        (300, 16, &both),
    ] {
        for narrow in directions {
            let mut setup = mutual("rsa2048x3")
                .over(ProtocolVersion::TLS_1_2, Datagrams { max_datagram: 1_472, ..Datagrams::default() });
            // Long chains both ways, so that there is something to be dropped.
            setup.server.certificate_authorities = true;
            let mut pair = setup.datagram_pair(SEED);
            pair.run(|datagram| match narrow.contains(&datagram.from) && datagram.bytes.len() > largest {
                true => Vec::new(),
                false => datagram.arrives(),
            })
            .unwrap();
            assert!(pair.client.is_connected() && pair.server.is_connected(), "{largest}, {narrow:?}");
            assert!(repeats(&pair)[0] + repeats(&pair)[1] > 0, "{largest}, {narrow:?}");
            let took = pair.client.summary().handshake_ms.max(pair.server.summary().handshake_ms);
            assert!(took < 1_000 * seconds, "{largest}, {narrow:?}: {took} ms");
        }
    }
}

/// An alert in the clear may be a lie. It is believed if whoever sent it says no more.
#[test]
fn a_refusal_is_believed_at_the_next_timeout() {
    let mut setup = mutual(CHAIN);
    setup.server.common.suites.retain(|suite| suite.0 == 0xc0a8); // TLS_PSK_WITH_AES_128_CCM_8, without a key
    let mut pair = setup.datagram_pair(SEED);
    pair.run_well().unwrap_err();
    assert_eq!(pair.failure(Side::Client), Some(&Error::AlertReceived(AlertDescription::HANDSHAKE_FAILURE)));
    assert_eq!((pair.now.monotonic.0, repeats(&pair)), (1_000, [0, 0]));

    // The client's certificate is not accepted: this alert comes when the client expects protected records.
    let mut setup = mutual(CHAIN);
    setup.client.credential = Some(Pki::named(CHAIN, "Other CA").client(PROVIDER));
    let mut pair = setup.datagram_pair(SEED);
    pair.run_well().unwrap_err();
    assert_eq!(pair.failure(Side::Client), Some(&Error::AlertReceived(AlertDescription::UNKNOWN_CA)));
    assert_eq!((pair.now.monotonic.0, repeats(&pair)), (1_040, [0, 0]));
}

/// A device with little room cannot take the server's chain: it must not look as if nobody were there.
#[test]
fn a_message_that_is_too_long_is_the_reason_in_the_end() {
    let mut setup = mutual(CHAIN).over(ProtocolVersion::TLS_1_2, Datagrams::default());
    setup.client.common.max_handshake_message = 300;
    let mut pair = setup.datagram_pair(SEED);
    pair.run_well().unwrap_err();
    assert_eq!(pair.failure(Side::Client), Some(&InvalidMessage::HandshakeTooLarge.into()));
    let last = pair.sent.iter().rfind(|datagram| datagram.from == Side::Client).unwrap();
    assert_eq!((last.bytes[0], &last.bytes[13..]), (ContentType::ALERT.0, &[2, 50][..]), "decode_error, not silence");
}

/// A server that closes at once still answers a client that did not get its last flight.
#[test]
fn the_last_flight_is_sent_again_after_a_close() {
    let mut pair = pair(Datagrams::default());
    while !pair.server.is_connected() {
        pair.step(&mut Datagram::arrives, u64::MAX).expect("more to come").unwrap();
    }
    pair.transmit(Side::Server, &mut lost);
    pair.server.close();
    pair.run_well().unwrap();
    assert!(pair.client.is_connected());
}
