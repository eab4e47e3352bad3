//! A hostile network has no keys, and changes what two honest sides send. It can stop a handshake, and no more.

use core::cell::Cell;

use terse_testkit::forge::{HEADER_LEN, header, plaintext, records};
use terse_testkit::pair::{Pair, Side};
use terse_testkit::rng::SeededRng;
use terse_testkit::setup::Setup;
use terse_tls::crypto::{CryptoError, Rng};
use terse_tls::{AlertDescription as Alert, ContentType, Error, HandshakeType, InvalidMessage, PeerMisbehaved};

use super::attack::{SEED, Verdict, run};
use super::modes::{SCENARIOS, Scenario, TLS12, TLS13, VERSIONS, mutual};

const DECRYPT_FAILED: Error = Error::Crypto(CryptoError::DecryptFailed);

/// What one side sends before it waits for the other.
pub(crate) struct Flight {
    pub(crate) sender: Side,
    pub(crate) records: Vec<Vec<u8>>,
}

impl Flight {
    /// Whether record `nth` is protected: by its type, or in TLS 1.2 because it comes after a ChangeCipherSpec.
    fn is_protected(&self, nth: usize) -> bool {
        let is = |record: &Vec<u8>, content_type: ContentType| record[0] == content_type.0;
        self.records.get(nth).is_some_and(|record| is(record, ContentType::APPLICATION_DATA))
            || self.records.iter().take(nth).any(|record| is(record, ContentType::CHANGE_CIPHER_SPEC))
    }

    /// Whether record `nth` is protected, and comes with a ClientHello.
    fn is_early_data(&self, nth: usize) -> bool {
        let first = [self.records[0][0], self.records[0][HEADER_LEN]];
        self.is_protected(nth) && first == [ContentType::HANDSHAKE.0, HandshakeType::CLIENT_HELLO.0]
    }
}

/// Carries flights until nobody has more to say; `change` may replace each, which has a number.
pub(crate) fn relay(pair: &mut Pair, mut change: impl FnMut(usize, Side, Vec<u8>) -> Vec<u8>) {
    let mut number = 0;
    loop {
        let before = number;
        for sender in Side::BOTH {
            let flight = pair.transmit(sender);
            if !flight.is_empty() {
                drop(pair.deliver(sender.other(), change(number, sender, flight)));
                number += 1;
            }
        }
        if number == before {
            return;
        }
    }
}

/// The flights of an undisturbed handshake, without a ticket that comes after it. In every run they have the same
/// lengths.
pub(crate) fn flights(setup: &Setup) -> Vec<Flight> {
    let mut pair = setup.pair(SEED);
    let mut flights = Vec::new();
    while !(pair.client.is_connected() && pair.server.is_connected()) {
        let sender = Side::BOTH[flights.len() % 2];
        let bytes = pair.transmit(sender);
        flights.push(Flight { sender, records: records(&bytes) });
        pair.deliver(sender.other(), bytes).unwrap();
    }
    flights
}

/// Replaces flight `number` by what `change` makes of its records. The second value says whether the sender of the
/// flight was connected in the end.
pub(crate) fn attack(setup: &Setup, number: usize, change: impl Fn(Vec<Vec<u8>>) -> Vec<Vec<u8>>) -> (Verdict, bool) {
    let sender = Side::BOTH[number % 2]; // the client begins
    let sender_connected = Cell::new(false);
    let verdict = run(setup, sender.other(), |pair| {
        relay(pair, |flight, _, bytes| if flight == number { change(records(&bytes)).concat() } else { bytes });
        sender_connected.set(pair.side(sender).0.is_connected());
    });
    (verdict, sender_connected.get())
}

/// Runs `attacks` on every flight of every scenario in which both sides have certificates.
fn for_each_flight(mut attacks: impl FnMut(&Scenario, usize, &Flight, bool)) {
    for scenario in SCENARIOS.iter().filter(|scenario| scenario.is_mutual()) {
        let flights = flights(&scenario.setup);
        for (number, flight) in flights.iter().enumerate() {
            attacks(scenario, number, flight, number + 1 == flights.len());
        }
    }
}

/// Nothing but the version in the header of an unprotected record says nothing (RFC 9846, 5.1).
#[test]
fn bytes_flipped() {
    for_each_flight(|scenario, number, flight, is_last| {
        for (nth, record) in flight.records.iter().enumerate() {
            let protected = flight.is_protected(nth);
            for place in 0..record.len() {
                let all = [0x01, 0x40, 0xff];
                let patterns = if place < HEADER_LEN { &all[..] } else { &all[place % 3..][..1] };
                // Finished covers all messages: where they are long, or like those of another mode, a part will do.
                if place >= HEADER_LEN && !scenario.is_first_of_its_kind() && place % 7 != number {
                    continue;
                }
                if scenario.version == TLS12 && !protected && place > 100 && place % 11 != 0 {
                    continue;
                }
                for pattern in patterns {
                    let (verdict, sender_connected) = attack(&scenario.setup, number, |mut records| {
                        records[nth][place] ^= pattern;
                        records
                    });
                    let harmless = (1..3).contains(&place) && !protected;
                    let context = format!(
                        "{}, {}, flight {number}, record {nth}, byte {place}: {verdict:?}",
                        scenario.version, scenario.name
                    );
                    assert_eq!(verdict.connected, harmless, "{context}");
                    // The server answers before it has seen the early data.
                    if !flight.is_early_data(nth) {
                        assert_eq!(sender_connected, harmless || (is_last && verdict.error.is_none()), "{context}");
                    }
                    if protected && place >= HEADER_LEN {
                        assert_eq!(verdict.error, Some(DECRYPT_FAILED), "{context}");
                        assert_eq!(verdict.alert, Some(Alert::BAD_RECORD_MAC));
                    }
                }
            }
        }
    });
}

/// TCP may cut a stream anywhere.
#[test]
fn stream_split_everywhere() {
    for setup in VERSIONS.map(|version| &mutual(version).setup) {
        let flights = flights(setup);
        for (number, flight) in flights.iter().enumerate() {
            for split in (1..flight.records.concat().len()).step_by(2) {
                let mut pair = setup.pair(SEED);
                for (nth, Flight { sender, .. }) in flights.iter().enumerate() {
                    let mut bytes = pair.transmit(*sender);
                    if nth == number {
                        let rest = bytes.split_off(split);
                        pair.deliver(sender.other(), bytes).unwrap();
                        bytes = rest;
                    }
                    pair.deliver(sender.other(), bytes).unwrap();
                }
                pair.handshake().unwrap();
            }
        }
    }
}

/// A message of the clear part of the handshake may come in any number of records (RFC 9846, 5.1), but not in empty ones.
#[test]
fn clear_messages_in_pieces() {
    for (version, number) in [(TLS13, 0), (TLS13, 1), (TLS12, 0), (TLS12, 1), (TLS12, 2)] {
        let setup = &mutual(version).setup;
        let whole = &flights(setup)[number].records[0];
        let fragments = |sizes: &dyn Fn(&[u8]) -> Vec<Vec<u8>>| {
            let (verdict, _) = attack(setup, number, |mut all| {
                let rest = all.split_off(1);
                let pieces = sizes(&all[0][HEADER_LEN..]);
                pieces.iter().map(|piece| plaintext(ContentType::HANDSHAKE, piece)).chain(rest).collect()
            });
            verdict
        };
        for split in (1..whole.len() - HEADER_LEN).step_by(if number == 0 { 1 } else { 3 }) {
            let verdict = fragments(&|clear| vec![clear[..split].to_vec(), clear[split..].to_vec()]);
            assert!(verdict.connected, "{version}, {split}: {verdict:?}");
        }
        assert!(fragments(&|clear| clear.chunks(1).map(<[u8]>::to_vec).collect()).connected);
        let verdict = fragments(&|clear| vec![clear[..9].to_vec(), Vec::new(), clear[9..].to_vec()]);
        assert_eq!(verdict.refused(), Some(&PeerMisbehaved::EmptyFragment.into()));
        assert_eq!(verdict.alert, Some(Alert::UNEXPECTED_MESSAGE));
        let verdict = fragments(&|clear| vec![[clear, &[0]].concat()]);
        let error = verdict.refused().expect("a byte too much");
        match (version, number) {
            // It is taken for the beginning of the next message.
            (TLS12, 0) => assert_eq!(*error, InvalidMessage::HandshakeTooLarge.into()),
            // No key changes here, but with the ChangeCipherSpec that comes next.
            (TLS12, 2) => assert_eq!(*error, PeerMisbehaved::MessageCrossesKeyChange.into()),
            _ => assert_eq!(*error, PeerMisbehaved::MessageCrossesKeyChange.into()),
        }
    }
}

/// Returns a setup with small records, so that there are many.
fn small_records(scenario: &Scenario) -> Setup {
    let mut setup = scenario.setup.clone();
    setup.client.record_size_limit(Some(64));
    setup.server.record_size_limit(Some(64));
    setup
}

/// In TLS 1.3 each record has its place; so do the protected ones of TLS 1.2.
#[test]
fn records_dropped_doubled_and_swapped() {
    for scenario in SCENARIOS.iter().filter(|scenario| scenario.is_mutual()) {
        let setup = small_records(scenario);
        let flights = flights(&setup);
        for (number, flight) in flights.iter().enumerate() {
            for nth in 0..flight.records.len() {
                let context = format!("{}, {}, flight {number}, record {nth}", scenario.version, scenario.name);
                let is_last = nth + 1 == flight.records.len();
                let protected = flight.is_protected(nth);
                let check = |verdict: &Verdict, is_in_order: bool| {
                    assert!(!verdict.connected, "{context}: {verdict:?}");
                    let data = ContentType::APPLICATION_DATA;
                    let unexpected = || PeerMisbehaved::UnexpectedRecord(data).into();
                    let expected = if protected { DECRYPT_FAILED } else { unexpected() };
                    if protected || scenario.version == TLS13 {
                        assert_eq!(verdict.error, Some(expected).filter(|_| !is_in_order), "{context}");
                    }
                };

                let (dropped, _) = attack(&setup, number, |mut records| {
                    records.remove(nth);
                    records
                });
                // After early data the key stays.
                check(&dropped, is_last && !flight.is_early_data(nth));

                let (doubled, _) = attack(&setup, number, |mut records| {
                    records.insert(nth, records[nth].clone());
                    records
                });
                match doubled.error {
                    Some(DECRYPT_FAILED) => assert!(protected, "{context}"),
                    // Whatever a part of a message that comes twice looks like.
                    _ if scenario.version == TLS12 => assert!(!doubled.connected && !protected, "{context}"),
                    // A ClientHello that is taken for the second one, or comes after it; a HelloRetryRequest.
                    Some(Error::PeerMisbehaved(_)) => assert!(!protected, "{context}"),
                    // One with a ticket, which is longer than protected records may be here.
                    Some(Error::InvalidMessage(InvalidMessage::RecordTooLarge)) => assert_eq!(number, 0, "{context}"),
                    ref other => panic!("{context}: {other:?}"),
                }

                if !is_last {
                    let (swapped, _) = attack(&setup, number, |mut records| {
                        records.swap(nth, nth + 1);
                        records
                    });
                    check(&swapped, false);
                }
            }
        }
    }
}

/// At the header, before anything of the record has come (RFC 9846, 5.1 and 5.2).
#[test]
fn oversize_records() {
    for (version, victim) in VERSIONS.into_iter().flat_map(|version| Side::BOTH.map(|side| (version, side))) {
        let setup = &mutual(version).setup;
        for content_type in [ContentType::HANDSHAKE, ContentType::ALERT, ContentType::CHANGE_CIPHER_SPEC] {
            let (most, more) = (header(content_type, 0x4000), header(content_type, 0x4001));
            let verdict = run(setup, victim, |pair| drop(pair.deliver(victim, more.to_vec())));
            assert_eq!(verdict.refused(), Some(&InvalidMessage::RecordTooLarge.into()));
            assert_eq!(verdict.alert, Some(Alert::RECORD_OVERFLOW));
            let verdict = run(setup, victim, |pair| drop(pair.deliver(victim, most.to_vec())));
            assert_eq!(verdict.error, None);
        }
    }
    for (version, number) in [(TLS13, 1), (TLS13, 2), (TLS12, 2), (TLS12, 3)] {
        let (verdict, _) = attack(&mutual(version).setup, number, |mut records| {
            let last = records.len() - 1;
            records[last] = header(ContentType(records[last][0]), 0x4101).to_vec();
            records
        });
        assert_eq!(verdict.refused(), Some(&InvalidMessage::RecordTooLarge.into()));
        assert_eq!(verdict.alert, Some(Alert::RECORD_OVERFLOW));
    }
}

#[test]
fn garbage() {
    for greeting in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"SSH-2.0-OpenSSH_9.9\r\n", &[0x80, 0x2e, 1, 3, 1], &[0; 9]] {
        let setup = &mutual(TLS12).setup;
        let verdict = run(setup, Side::Server, |pair| drop(pair.deliver(Side::Server, greeting.to_vec())));
        assert_eq!(verdict.refused(), Some(&InvalidMessage::UnknownContentType.into()));
        assert_eq!(verdict.alert, Some(Alert::UNEXPECTED_MESSAGE));
    }
    let mut rng = SeededRng::new(1);
    for (round, version) in (0..500).flat_map(|round| VERSIONS.map(|version| (round, version))) {
        // At any point of the handshake, and in half of the rounds dressed up as a record.
        let number = round % if version == TLS12 { 4 } else { 3 };
        let victim = Side::BOTH[number % 2].other();
        let mut bytes = vec![0; 5 + rng.below(200)];
        rng.fill(&mut bytes).unwrap();
        if round % 5 < 3 {
            let len = bytes.len() - HEADER_LEN;
            bytes[..HEADER_LEN].copy_from_slice(&header(ContentType(20 + rng.below(4) as u8), len));
        }
        let verdict = run(&mutual(version).setup, victim, |pair| {
            relay(pair, |flight, _, honest| if flight == number { bytes.clone() } else { honest });
        });
        assert!(!verdict.connected, "{verdict:?}");
    }
}
