//! These tests show when a flight is retransmitted, and when no more: RFC 6347, 4.2.4, and RFC 9147, 5.8, with the
//! measurements of RFC 6298.

use alloc::sync::Arc;

use terse_testkit::datagrams::{Datagram, DatagramPair, Fate};
use terse_testkit::fault::Alerts;
use terse_testkit::pair::Side;
use terse_testkit::pki::Pki;
use terse_tls::{AlertDescription, CipherSuite, ContentType, Datagrams, Error, Event, InvalidMessage, ProtocolVersion};

use super::modes::{BOTH_VERSIONS, CHAIN, PROVIDER, mutual};
use super::outcome::SEED;

fn pair(version: ProtocolVersion, settings: Datagrams) -> DatagramPair {
    mutual(CHAIN).over(version, settings).datagram_pair(SEED)
}

fn lost(_: &Datagram) -> Fate {
    Vec::new()
}

/// Returns when `side` sent something, in milliseconds.
fn times(pair: &DatagramPair, side: Side) -> Vec<u64> {
    let mut times: Vec<_> = pair.sent.iter().filter(|datagram| datagram.from == side).map(|sent| sent.sent).collect();
    times.dedup();
    times
}

/// Returns how many datagrams client and server retransmitted.
fn repeats(pair: &DatagramPair) -> [u32; 2] {
    [pair.client.summary().retransmissions, pair.server.summary().retransmissions]
}

#[test]
fn nobody_answers() {
    let all = [
        (Datagrams::default(), &[0, 1_000, 3_000, 7_000, 15_000, 31_000, 63_000, 123_000][..], 183_000),
        (Datagrams::constrained(), &[0, 9_000, 27_000, 63_000, 123_000, 183_000], 243_000),
        (Datagrams::default().max_retransmissions(0), &[0], 1_000),
    ];
    for (version, (settings, expected, end)) in
        BOTH_VERSIONS.into_iter().flat_map(|version| all.map(|of| (version, of)))
    {
        let mut pair = pair(version, settings);
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

/// The server gives up as well, if its client is gone.
#[test]
fn a_server_gives_up() {
    for version in BOTH_VERSIONS {
        let mut pair = pair(version, Datagrams::default());
        let fate = |datagram: &Datagram| match datagram.from {
            Side::Client if datagram.number == 0 => datagram.arrives(),
            _ => Vec::new(),
        };
        pair.run(fate).unwrap_err();
        assert_eq!(pair.failure(Side::Server), Some(&Error::TimedOut));
        let times: Vec<_> = times(&pair, Side::Server).into_iter().map(|time| time - 20).collect();
        assert_eq!(times, [0, 1_000, 3_000, 7_000, 15_000, 31_000, 63_000, 123_000]);
    }
}

fn slowly(datagram: &Datagram) -> Fate {
    datagram.arrives_after(2_000)
}

/// A round trip of four seconds. With the usual first second the ClientHello goes out again while its answer is on the way;
/// the first second that was too short is made up for once.
#[test]
fn a_slow_path() {
    for version in BOTH_VERSIONS {
        let mut pair = pair(version, Datagrams::default().max_datagram(548));
        pair.run(slowly).unwrap();
        assert!(pair.client.is_connected() && pair.server.is_connected());
        // The ClientHello after one and three seconds; the server's first flight until it is answered after four. In DTLS 1.3
        // the client's Finished is not acknowledged before the next four are over.
        let (of_client, of_server, took) = match version {
            ProtocolVersion::TLS_1_2 => (&[0, 1_000, 3_000, 4_000][..], &[2_000, 3_000, 5_000, 6_000][..], 8_000),
            _ => (&[0, 1_000, 3_000, 4_000][..], &[2_000, 3_000, 5_000, 6_000][..], 4_000),
        };
        assert_eq!(times(&pair, Side::Client), of_client);
        assert_eq!(times(&pair, Side::Server), of_server);
        assert_eq!(pair.client.summary().handshake_ms, took);

        // Who knows that the network is slow sends nothing twice.
        let mut pair = self::pair(version, Datagrams::constrained().max_datagram(548));
        pair.run(slowly).unwrap();
        assert_eq!(repeats(&pair), [0, 0]);
        assert_eq!((times(&pair, Side::Client).len(), times(&pair, Side::Server).len()), (2, 2));
    }
}

/// What was measured in the first exchange says when something is lost in the second: after three round trips instead of
/// nine seconds.
#[test]
fn a_loss_after_the_first_exchange() {
    let delays = [(200, 1_200), (500, 3_000), (1_000, 6_000), (20, 1_000)];
    for (version, (delay, expected)) in BOTH_VERSIONS.into_iter().flat_map(|version| delays.map(|of| (version, of))) {
        let mut pair = pair(version, Datagrams::constrained());
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

/// Whoever sent the last flight of DTLS 1.2 answers as long as the peer asks, and it asks until it gives up.
#[test]
fn the_last_flight_is_answered_again() {
    for losses in 0..=8 {
        let mut pair = pair(ProtocolVersion::TLS_1_2, Datagrams::default());
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

/// A path has a smaller MTU than was configured, in either direction or both (RFC 6347, 4.1.1.1).
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
        for (version, narrow) in
            BOTH_VERSIONS.into_iter().flat_map(|version| directions.iter().map(move |of| (version, of)))
        {
            let mut setup = mutual("rsa2048x3").over(version, Datagrams::default().max_datagram(1_472));
            // Long chains both ways, so that there is something to be dropped.
            setup.server.certificate_authorities(true);
            let mut pair = setup.datagram_pair(SEED);
            pair.run(|datagram| match narrow.contains(&datagram.from) && datagram.bytes.len() > largest {
                true => Vec::new(),
                false => datagram.arrives(),
            })
            .unwrap();
            assert!(pair.client.is_connected() && pair.server.is_connected(), "{version}, {largest}, {narrow:?}");
            assert!(repeats(&pair)[0] + repeats(&pair)[1] > 0, "{version}, {largest}, {narrow:?}");
            let took = pair.client.summary().handshake_ms.max(pair.server.summary().handshake_ms);
            // Small datagrams get through, and show that the rest did not: that takes one attempt more.
            let seconds = if version == ProtocolVersion::TLS_1_3 { 2 * seconds } else { seconds };
            assert!(took < 1_000 * seconds, "{version}, {largest}, {narrow:?}: {took} ms");
        }
    }
}

/// An alert in the clear may be forged. It is believed only if its sender sends nothing else.
#[test]
fn a_refusal_is_believed_at_the_next_timeout() {
    for version in BOTH_VERSIONS {
        let mut setup = mutual(CHAIN).only(version);
        match version {
            // TLS_PSK_WITH_AES_128_CCM_8, without a key
            ProtocolVersion::TLS_1_2 => setup.server.edit_suites(|suites| suites.retain(|suite| suite.0 == 0xc0a8)),
            _ => {
                setup.client.suites(vec![CipherSuite::TLS_AES_128_GCM_SHA256]);
                setup.server.suites(vec![CipherSuite::TLS_AES_256_GCM_SHA384]);
            }
        }
        let mut pair = setup.datagram_pair(SEED);
        pair.run_well().unwrap_err();
        assert_eq!(pair.failure(Side::Client), Some(&Error::AlertReceived(AlertDescription::HANDSHAKE_FAILURE)));
        assert_eq!((pair.now.monotonic.0, repeats(&pair)), (1_000, [0, 0]));

        // The client's certificate is not accepted: in DTLS 1.2 this alert comes when the client expects protected records,
        // in DTLS 1.3 it is one.
        let mut setup = mutual(CHAIN).only(version);
        setup.client.credentials(vec![Pki::named(CHAIN, "Other CA").client(PROVIDER)]);
        let mut pair = setup.datagram_pair(SEED);
        pair.run_well().unwrap_err();
        assert_eq!(pair.failure(Side::Client), Some(&Error::AlertReceived(AlertDescription::UNKNOWN_CA)));
        let time = if version == ProtocolVersion::TLS_1_2 { 1_040 } else { 80 };
        assert_eq!((pair.now.monotonic.0, repeats(&pair)), (time, [0, 0]));
    }
}

/// A device with little memory cannot accept the server's chain: to the server it must not look as if nobody were there.
#[test]
fn a_message_that_is_too_long_is_the_reason_in_the_end() {
    for version in BOTH_VERSIONS {
        let mut setup = mutual(CHAIN).over(version, Datagrams::default());
        setup.client.max_handshake_message(300);
        let alerts = Arc::<Alerts>::default();
        setup.client.trace(alerts.clone());
        let mut pair = setup.datagram_pair(SEED);
        pair.run_well().unwrap_err();
        assert_eq!(pair.failure(Side::Client), Some(&InvalidMessage::HandshakeTooLarge.into()));
        assert_eq!(alerts.sent(), [AlertDescription::DECODE_ERROR], "not silence");
        let last = pair.sent.iter().rfind(|datagram| datagram.from == Side::Client).unwrap();
        let is_alert = last.bytes[0] == ContentType::ALERT.0 && last.bytes[13..] == [2, 50];
        assert!(is_alert || version == ProtocolVersion::TLS_1_3, "a protected one");
    }
}

/// Who closes at once still sees to it that the peer gets the last flight.
#[test]
fn the_last_flight_is_sent_again_after_a_close() {
    let mut pair = pair(ProtocolVersion::TLS_1_2, Datagrams::default());
    while !pair.server.is_connected() {
        pair.step(&mut Datagram::arrives, u64::MAX).expect("more to come").unwrap();
    }
    pair.transmit(Side::Server, &mut lost);
    pair.server.close();
    pair.run_well().unwrap();
    assert!(pair.client.is_connected());

    for is_lost in [false, true] {
        let mut pair = self::pair(ProtocolVersion::TLS_1_3, Datagrams::default());
        while !pair.client.is_connected() {
            pair.step(&mut Datagram::arrives, u64::MAX).expect("more to come").unwrap();
        }
        pair.send(Side::Client, b"goodbye").unwrap();
        pair.client.close();
        if is_lost {
            pair.transmit(Side::Client, &mut lost);
        } else {
            pair.transmit(Side::Client, &mut |datagram: &Datagram| match datagram.bytes.len() > 500 {
                true => Vec::new(),
                false => datagram.arrives(), // it overtakes the flight
            });
        }
        pair.run_well().unwrap();
        assert!(pair.server.is_connected());
        let (data, end) = if is_lost { (vec![], None) } else { (vec![b"goodbye".to_vec()], Some(Event::PeerClosed)) };
        assert_eq!(pair.received[Side::Server as usize], data);
        assert_eq!(pair.server.poll_event(), Some(Event::Connected));
        assert_eq!(pair.server.poll_event(), end);
        assert_eq!(pair.client.poll_timeout(), None, "nothing is left to be done");
    }
}
