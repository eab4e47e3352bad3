//! A peer of DTLS 1.3 that has the keys, and does with them what it must not. It can end the connection; it cannot make the
//! other side believe what is not so, or keep more than little.

use std::panic::{AssertUnwindSafe, catch_unwind};

use terse_testkit::datagrams::{Datagram, DatagramPair};
use terse_testkit::fault::{fault, message};
use terse_testkit::forge::DatagramForge;
use terse_testkit::pair::Side;
use terse_testkit::rng::{SeededRng, seeds};
use terse_tls::{ApiMisuse, ContentType, Error, HandshakeType, PeerMisbehaved};

use super::key_updates::{carries, connected, setup};
use super::modes::SCENARIOS;
use super::outcome::SEED;
use super::wire::{forge, listen, records};

const VERSION: terse_tls::ProtocolVersion = terse_tls::ProtocolVersion::TLS_1_3;

fn ack(numbers: impl IntoIterator<Item = (u64, u64)>) -> Vec<u8> {
    let numbers: Vec<u8> =
        numbers.into_iter().flat_map(|(epoch, number)| [epoch.to_be_bytes(), number.to_be_bytes()].concat()).collect();
    [&(numbers.len() as u16).to_be_bytes()[..], &numbers].concat()
}

/// A whole message in one fragment.
fn fragment(kind: HandshakeType, message_seq: u16, body: &[u8]) -> Vec<u8> {
    let [_, len @ ..] = (body.len() as u32).to_be_bytes();
    [&[kind.0][..], &len, &message_seq.to_be_bytes(), &[0; 3], &len, body].concat()
}

/// A client that is connected, and what it sends with under the first key of application data, with numbers that it did not
/// use.
fn hostile_client() -> (DatagramPair, DatagramForge) {
    let (pair, log) = connected(setup());
    let mut client = forge(&pair, &log, Side::Client, 3).unwrap();
    client.at(10);
    (pair, client)
}

/// The number of the client's next message.
const NEXT_SEQ: u16 = 4;

fn deliver(pair: &mut DatagramPair, record: Vec<u8>) -> Result<(), Error> {
    pair.deliver(Side::Server, record).map_err(|failed| failed.error)
}

/// RFC 9147, 7.2: of what was never sent, of what is yet to be, and of what was acknowledged before.
#[test]
fn acknowledgements_of_nothing_change_nothing() {
    let (mut pair, mut client) = hostile_client();
    let everything = || (0..8).flat_map(|epoch| (0..500).map(move |number| (epoch, number)));
    let far = [(3, 1 << 60), (u64::MAX, u64::MAX), (0, u64::MAX), (1 << 48, 0), (3, 7), (3, 6), (3, 6)];
    for content in [ack(far), ack([]), ack((0..1_000).map(|number| (number, number))), ack(everything())] {
        deliver(&mut pair, client.record(ContentType::ACK, &content)).unwrap();
        pair.run_well().unwrap();
    }
    // The numbers of what is sent now were acknowledged in advance: that counts for nothing.
    pair.server.update_keys(false).unwrap();
    pair.transmit(Side::Server, &mut |_: &Datagram| Vec::new());
    assert_eq!(pair.server.update_keys(false), Err(ApiMisuse::KeyUpdateUnderWay.into()));
    pair.run_well().unwrap();
    for side in Side::BOTH {
        carries(&mut pair, side);
    }
    assert_eq!(pair.server.summary().retransmissions, 1, "the KeyUpdate that was lost");
}

#[test]
fn acknowledgements_that_make_no_sense_are_dropped() {
    let (mut pair, mut client) = hostile_client();
    let one = ack([(3, 0)]);
    for content in [&[][..], &[0], &[0, 1, 0], &[0xff; 400], &one[..17], &[&one[..], &[0]].concat(), &[0, 15, 0]] {
        deliver(&mut pair, client.record(ContentType::ACK, content)).unwrap();
    }
    assert_eq!(pair.server.summary().dropped.malformed, 7);
    carries(&mut pair, Side::Client);
}

/// RFC 9846, 4.7.3: keys are changed for data, not for their own sake.
#[test]
fn key_updates_without_end_are_the_end() {
    for in_one_epoch in [true, false] {
        let (mut pair, mut client) = hostile_client();
        let mut update = |pair: &mut DatagramPair, count| {
            let content = fragment(HandshakeType::KEY_UPDATE, NEXT_SEQ + count, &[1]);
            if !in_one_epoch && count > 0 {
                client = client.updated();
                client.at(0);
            }
            deliver(pair, client.record(ContentType::HANDSHAKE, &content))
        };
        // Under one key only two are accepted, because the receiver keeps one earlier epoch.
        let taken = if in_one_epoch { 2 } else { 32 };
        for count in 0..taken {
            update(&mut pair, count).unwrap();
        }
        assert!(pair.server.is_connected());
        match in_one_epoch {
            true => {
                let dropped = pair.server.summary().dropped.wrong_epoch;
                update(&mut pair, taken).unwrap();
                assert_eq!(pair.server.summary().dropped.wrong_epoch, dropped + 1, "one epoch before is kept, not two");
            }
            false => assert_eq!(update(&mut pair, taken), Err(PeerMisbehaved::TooManyKeyUpdates.into())),
        }
    }
    // All in one record.
    let (mut pair, mut client) = hostile_client();
    let updates: Vec<u8> =
        (0..9).flat_map(|count| fragment(HandshakeType::KEY_UPDATE, NEXT_SEQ + count, &[0])).collect();
    deliver(&mut pair, client.record(ContentType::HANDSHAKE, &updates)).unwrap();
    assert!(pair.server.is_connected());
    let mut last = (0..9).fold(client, |client, _| client.updated());
    deliver(&mut pair, last.record(ContentType::APPLICATION_DATA, b"data")).unwrap();
    assert_eq!(pair.received[Side::Server as usize], [b"data"]);
}

/// Messages are handled in order. What is too far ahead is not kept, nor acknowledged; nor is what has to wait.
#[test]
fn messages_that_jump_are_not_handled() {
    for (ahead, is_kept) in [(1, true), (8, true), (9, false), (1_000, false), (u16::MAX - NEXT_SEQ, false)] {
        let (mut pair, mut client) = hostile_client();
        let before = pair.sent.len();
        let content = fragment(HandshakeType::KEY_UPDATE, NEXT_SEQ + ahead, &[0]);
        deliver(&mut pair, client.record(ContentType::HANDSHAKE, &content)).unwrap();
        pair.run_well().unwrap();
        assert_eq!(pair.sent.len(), before, "{ahead}: nobody says that it arrived");
        assert_eq!(pair.server.summary().dropped.bad_fragment, u32::from(!is_kept));
        carries(&mut pair, Side::Client);
    }
}

/// What has no place after the handshake.
#[test]
fn messages_of_the_handshake_end_the_connection_after_it() {
    for kind in (0..=30).map(HandshakeType).filter(|kind| ![9, 10, 24].contains(&kind.0)) {
        let (mut pair, mut client) = hostile_client();
        let content = fragment(kind, NEXT_SEQ, &[0; 40]);
        let error = deliver(&mut pair, client.record(ContentType::HANDSHAKE, &content)).unwrap_err();
        assert!(matches!(error, Error::PeerMisbehaved(_) | Error::InvalidMessage(_)), "{kind}: {error:?}");
        assert!(!pair.server.is_connected());
    }
}

/// RFC 9147, 6.1: each message under its own key. The client's last flight under that of application data is never handled,
/// as what would make the key known is in it; a new message under that of the handshake ends the connection.
#[test]
fn messages_under_other_keys_are_not_handled() {
    let mut setup = setup();
    let log = listen(&mut setup);
    let mut pair = setup.datagram_pair(SEED);
    while !pair.client.is_connected() {
        pair.step(&mut Datagram::arrives, u64::MAX).unwrap().unwrap();
    }
    pair.transmit(Side::Client, &mut |_: &Datagram| Vec::new());
    let flight = records(&pair, &log).into_iter().filter(|record| record.from == Side::Client && record.number.0 == 2);
    let mut application = forge(&pair, &log, Side::Client, 3).unwrap();
    application.at(20);
    for record in flight {
        pair.deliver(Side::Server, application.record(ContentType::HANDSHAKE, &record.content)).unwrap();
    }
    assert!(pair.server.is_handshaking());
    pair.run_well().unwrap();
    assert!(pair.server.is_connected(), "under its own key");

    let mut handshake = forge(&pair, &log, Side::Client, 2).unwrap();
    let content = fragment(HandshakeType::KEY_UPDATE, NEXT_SEQ, &[0]);
    let result = deliver(&mut pair, handshake.at(10).record(ContentType::HANDSHAKE, &content));
    assert_eq!(result, Err(PeerMisbehaved::MessageCrossesKeyChange.into()));
}

/// RFC 9147, 5.10: with a number after that of close_notify.
#[test]
fn what_follows_close_notify_is_ignored() {
    let (mut pair, mut client) = hostile_client();
    deliver(&mut pair, client.record(ContentType::ALERT, &[1, 0])).unwrap();
    let update = fragment(HandshakeType::KEY_UPDATE, NEXT_SEQ, &[0]);
    let before = pair.sent.len();
    for (content_type, content) in [
        (ContentType::APPLICATION_DATA, &b"data"[..]),
        (ContentType::HANDSHAKE, &update),
        (ContentType::HANDSHAKE, b"garbage"),
        (ContentType::ALERT, &[2, 80]),
    ] {
        deliver(&mut pair, client.record(content_type, content)).unwrap();
    }
    pair.run_well().unwrap();
    assert_eq!((pair.sent.len(), pair.received[Side::Server as usize].len()), (before, 0));
    carries(&mut pair, Side::Server);
}

/// Records whose insides are nothing.
#[test]
fn empty_insides_are_dropped() {
    let (mut pair, mut client) = hostile_client();
    for inner in [&[][..], &[0], &[0; 100], &[22], &[99, 99], &[21], &[26], &[5, 22]] {
        deliver(&mut pair, client.seal(inner)).unwrap();
    }
    assert!(pair.received[Side::Server as usize].is_empty());
    let dropped = pair.server.summary().dropped;
    assert_eq!((dropped.malformed, dropped.not_due), (6, 1), "{dropped:?}");
    carries(&mut pair, Side::Client);
}

/// RFC 9846, 5.2 and 5.4, and RFC 8449, 4: 2^14 bytes with whatever type, and what was agreed on with the type and padding.
#[test]
fn records_are_as_long_as_they_may_be() {
    let padded = |content: usize, zeros: usize| [&vec![7; content][..], &[23], &vec![0; zeros]].concat();
    for (limit, most) in [(None, 0x4000), (Some(200), 199)] {
        let mut setup = setup();
        Side::BOTH.into_iter().for_each(|side| _ = setup.common(side).set_record_size_limit(limit));
        let (mut pair, log) = connected(setup);
        let mut client = forge(&pair, &log, Side::Client, 3).unwrap();
        client.at(10);
        for (content, zeros, is_taken) in
            [(most, 0, true), (most - 5, 5, true), (most + 1, 0, false), (most, 1, false), (1, most, false)]
        {
            let before = pair.received[Side::Server as usize].len();
            deliver(&mut pair, client.seal(&padded(content, zeros))).unwrap();
            let came = &pair.received[Side::Server as usize][before..];
            assert_eq!(came.concat().len(), if is_taken { content } else { 0 }, "{limit:?}: {content} and {zeros}");
        }
    }
}

/// Whatever a side says instead of what it should, in any message and however it is cut: the other one ends the handshake, or
/// goes on as if nothing had been, and both come to an end.
#[test]
fn whatever_a_peer_says_the_handshake_ends() {
    let mut counts = [0; 2];
    let scenarios: Vec<_> = SCENARIOS.iter().filter(|scenario| scenario.version == VERSION).collect();
    for (seed, scenario) in seeds(240).zip(scenarios.iter().cycle()) {
        let mut rng = SeededRng::new(seed);
        let (side, number) = (Side::BOTH[rng.below(2)], rng.below(6));
        let mut setup = scenario.setup.clone();
        setup.common(side).set_fault(Some(fault(move |sent, _, bytes: &mut Vec<u8>| {
            if sent == number {
                match rng.below(4) {
                    0 => bytes.truncate(4 + rng.below(bytes.len() - 3)),
                    1 => bytes.extend((0..rng.below(300)).map(|byte| byte as u8)),
                    2 => *bytes = message(HandshakeType(rng.below(30) as u8), &vec![0; rng.below(40)]),
                    _ => {
                        for _ in 0..1 + rng.below(4) {
                            let at = rng.below(bytes.len());
                            bytes[at] ^= 1 << rng.below(8);
                        }
                    }
                }
            }
        })));
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let mut pair = setup.datagram_pair(seed);
            let _ = pair.run(Datagram::arrives);
            let ends = Side::BOTH.map(|side| {
                let (connection, _) = pair.side(side);
                assert_eq!(connection.poll_timeout(), None, "{side:?} still waits for something");
                connection.is_connected()
            });
            if ends == [true, true] {
                carries(&mut pair, Side::Client);
                carries(&mut pair, Side::Server);
            }
            ends == [true, true]
        }));
        let outcome =
            outcome.unwrap_or_else(|_| panic!("{}, seed {seed}: message {number} of {side:?}", scenario.name));
        counts[usize::from(outcome)] += 1;
    }
    println!("{counts:?} failed, connected");
    assert!(counts.iter().all(|count| *count > 20), "{counts:?}");
}
