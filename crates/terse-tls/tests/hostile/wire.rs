//! A hostile network: it has no keys, and changes what two honest sides send. It can stop a handshake, and no more.

use core::cell::Cell;

use terse_testkit::forge::{HEADER_LEN, header, plaintext, records};
use terse_testkit::pair::{Pair, Side};
use terse_testkit::rng::SeededRng;
use terse_testkit::setup::Setup;
use terse_tls::crypto::{CryptoError, Rng};
use terse_tls::{AlertDescription as Alert, ContentType, Error, InvalidMessage, PeerMisbehaved};

use crate::attack::{SCENARIOS, SEED, Scenario, Verdict, mutual, run};

const DECRYPT_FAILED: Error = Error::Crypto(CryptoError::DecryptFailed);

/// What one side sends before it waits for the other.
struct Flight {
    sender: Side,
    records: Vec<Vec<u8>>,
}

/// Carries flights until nobody has more to say; `change` may replace each, which has a number.
fn relay(pair: &mut Pair, mut change: impl FnMut(usize, Side, Vec<u8>) -> Vec<u8>) {
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

/// The flights of an undisturbed handshake; a ticket comes after it. In every run they have the same lengths.
fn flights(setup: &Setup) -> Vec<Flight> {
    let mut flights = Vec::new();
    relay(&mut setup.pair(SEED), |_, sender, bytes| {
        flights.push(Flight { sender, records: records(&bytes) });
        bytes
    });
    flights.truncate(if setup.server.resumption.is_some() { 3 } else { flights.len() });
    flights
}

/// Replaces flight `number` by what `change` makes of its records. The second value says whether the sender of the
/// flight was connected in the end.
fn attack(setup: &Setup, number: usize, change: impl Fn(Vec<Vec<u8>>) -> Vec<Vec<u8>>) -> (Verdict, bool) {
    let sender = Side::BOTH[number % 2]; // the client begins
    let sender_connected = Cell::new(false);
    let verdict = run(setup, sender.other(), |pair| {
        relay(pair, |flight, _, bytes| if flight == number { change(records(&bytes)).concat() } else { bytes });
        sender_connected.set(pair.side(sender).0.is_connected());
    });
    (verdict, sender_connected.get())
}

/// Every flight of every scenario, but for the first, which is like the second.
fn for_each_flight(mut attacks: impl FnMut(&Scenario, usize, &Flight, bool)) {
    for scenario in &SCENARIOS[1..] {
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
            let protected = record[0] == ContentType::APPLICATION_DATA.0;
            for place in 0..record.len() {
                let patterns: &[u8] = if protected && place >= HEADER_LEN { &[0x10] } else { &[0x01, 0x40, 0xff] };
                for pattern in patterns {
                    let (verdict, sender_connected) = attack(&scenario.setup, number, |mut records| {
                        records[nth][place] ^= pattern;
                        records
                    });
                    let harmless = !protected && (1..3).contains(&place);
                    let context = format!("{}, flight {number}, record {nth}, byte {place}", scenario.name);
                    assert_eq!(verdict.connected, harmless, "{context}: {verdict:?}");
                    assert_eq!(sender_connected, harmless || (is_last && verdict.error.is_none()), "{context}");
                    if protected && place >= HEADER_LEN {
                        assert_eq!(verdict.error, Some(DECRYPT_FAILED), "{context}");
                        assert_eq!(verdict.alert, Some(Alert::BAD_RECORD_MAC));
                    }
                }
            }
        }
    });
}

/// TCP cuts a stream wherever it likes.
#[test]
fn stream_split_everywhere() {
    let setup = &mutual().setup;
    let flights = flights(setup);
    for (number, flight) in flights.iter().enumerate() {
        for split in 1..flight.records.concat().len() {
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

/// A message of the clear part of the handshake may come in any number of records (RFC 9846, 5.1), but not in empty ones.
#[test]
fn hellos_in_pieces() {
    for (number, fragment_end) in [(0, None), (1, Some(1))] {
        let whole = &flights(&mutual().setup)[number].records[0];
        let fragments = |sizes: &dyn Fn(&[u8]) -> Vec<Vec<u8>>| {
            let (verdict, _) = attack(&mutual().setup, number, |mut all| {
                let rest = fragment_end.map_or(Vec::new(), |end| all.split_off(end));
                let pieces = sizes(&all[0][HEADER_LEN..]);
                pieces.iter().map(|piece| plaintext(ContentType::HANDSHAKE, piece)).chain(rest).collect()
            });
            verdict
        };
        for split in 1..whole.len() - HEADER_LEN {
            let verdict = fragments(&|hello| vec![hello[..split].to_vec(), hello[split..].to_vec()]);
            assert!(verdict.connected, "{split}: {verdict:?}");
        }
        assert!(fragments(&|hello| hello.chunks(1).map(<[u8]>::to_vec).collect()).connected);
        let verdict = fragments(&|hello| vec![hello[..9].to_vec(), Vec::new(), hello[9..].to_vec()]);
        assert_eq!(verdict.refused(), Some(&PeerMisbehaved::EmptyFragment.into()));
        assert_eq!(verdict.alert, Some(Alert::UNEXPECTED_MESSAGE));
        let verdict = fragments(&|hello| vec![[hello, &[0]].concat()]);
        assert_eq!(verdict.refused(), Some(&PeerMisbehaved::MessageCrossesKeyChange.into()));
        assert_eq!(verdict.alert, Some(Alert::UNEXPECTED_MESSAGE));
    }
}

/// Small records, so that there are many.
fn small_records(scenario: &Scenario) -> Setup {
    let mut setup = scenario.setup.clone();
    setup.client.common.record_size_limit = Some(64);
    setup.server.common.record_size_limit = Some(64);
    setup
}

#[test]
fn records_dropped_doubled_and_swapped() {
    for scenario in &SCENARIOS[1..] {
        let setup = small_records(scenario);
        let flights = flights(&setup);
        for (number, flight) in flights.iter().enumerate() {
            for nth in 0..flight.records.len() {
                let context = format!("{}, flight {number}, record {nth}", scenario.name);
                let protected = |nth: usize| {
                    flight.records.get(nth).is_some_and(|record| record[0] == ContentType::APPLICATION_DATA.0)
                };
                let is_last = nth + 1 == flight.records.len();
                let check = |verdict: &Verdict, expected: Option<Error>| {
                    assert!(!verdict.connected, "{context}: {verdict:?}");
                    assert_eq!(verdict.error, expected, "{context}");
                };
                let unexpected = |content_type| Some(PeerMisbehaved::UnexpectedRecord(content_type).into());
                let data = ContentType::APPLICATION_DATA;

                let (dropped, _) = attack(&setup, number, |mut records| {
                    records.remove(nth);
                    records
                });
                let error = if protected(nth) { Some(DECRYPT_FAILED) } else { unexpected(data) };
                check(&dropped, error.filter(|_| !is_last));

                let (doubled, _) = attack(&setup, number, |mut records| {
                    records.insert(nth, records[nth].clone());
                    records
                });
                match doubled.error {
                    Some(DECRYPT_FAILED) => assert!(protected(nth), "{context}"),
                    // A ClientHello that is taken for the second one, or comes after it; a HelloRetryRequest.
                    Some(Error::PeerMisbehaved(_)) => assert!(!protected(nth), "{context}"),
                    // One with a ticket, which is longer than protected records may be here.
                    Some(Error::InvalidMessage(InvalidMessage::RecordTooLarge)) => assert_eq!(number, 0, "{context}"),
                    ref other => panic!("{context}: {other:?}"),
                }

                if !is_last {
                    let (swapped, _) = attack(&setup, number, |mut records| {
                        records.swap(nth, nth + 1);
                        records
                    });
                    check(&swapped, if protected(nth) { Some(DECRYPT_FAILED) } else { unexpected(data) });
                }
            }
        }
    }
}

/// At the header, before anything of the record has come (RFC 9846, 5.1 and 5.2).
#[test]
fn oversize_records() {
    for victim in Side::BOTH {
        for content_type in [ContentType::HANDSHAKE, ContentType::ALERT, ContentType::CHANGE_CIPHER_SPEC] {
            let (most, more) = (header(content_type, 0x4000), header(content_type, 0x4001));
            let verdict = run(&mutual().setup, victim, |pair| drop(pair.deliver(victim, more.to_vec())));
            assert_eq!(verdict.refused(), Some(&InvalidMessage::RecordTooLarge.into()));
            assert_eq!(verdict.alert, Some(Alert::RECORD_OVERFLOW));
            let verdict = run(&mutual().setup, victim, |pair| drop(pair.deliver(victim, most.to_vec())));
            assert_eq!(verdict.error, None);
        }
    }
    for number in [1, 2] {
        let (verdict, _) = attack(&mutual().setup, number, |mut records| {
            let last = records.len() - 1;
            records[last] = header(ContentType::APPLICATION_DATA, 0x4101).to_vec();
            records
        });
        assert_eq!(verdict.refused(), Some(&InvalidMessage::RecordTooLarge.into()));
        assert_eq!(verdict.alert, Some(Alert::RECORD_OVERFLOW));
    }
}

/// RFC 9846, 5: at most one byte of 1, and only during the handshake.
#[test]
fn change_cipher_spec() {
    let spec = |content: &[u8]| plaintext(ContentType::CHANGE_CIPHER_SPEC, content);
    let bad: Error = PeerMisbehaved::BadChangeCipherSpec.into();
    let setup = &mutual().setup;
    let verdict = run(setup, Side::Server, |pair| drop(pair.deliver(Side::Server, spec(&[1]))));
    assert_eq!(verdict.error, Some(bad.clone()), "before the ClientHello");
    let verdict = run(setup, Side::Client, |pair| drop(pair.deliver(Side::Client, spec(&[1]))));
    assert_eq!(verdict.error, None, "after the ClientHello");

    for number in [1, 2] {
        let nth = flights(setup)[number].records.len() - 1;
        let insert = |content: &'static [u8], times: usize| {
            let (verdict, _) = attack(setup, number, |mut records| {
                records.splice(nth..nth, vec![spec(content); times]);
                records
            });
            verdict
        };
        assert!(insert(&[1], 1).connected);
        assert!(insert(&[1], 32).connected);
        let many = insert(&[1], 33);
        assert_eq!(many.refused(), Some(&PeerMisbehaved::TooManyEmptyRecords.into()));
        assert_eq!(many.alert, Some(Alert::UNEXPECTED_MESSAGE));
        for content in [&[][..], &[0], &[2], &[1, 1]] {
            let verdict = insert(content, 1);
            assert_eq!(verdict.refused(), Some(&bad), "{content:?}");
            assert_eq!(verdict.alert, Some(Alert::UNEXPECTED_MESSAGE));
        }
        let (late, _) = attack(setup, number, |mut records| {
            records.push(spec(&[1]));
            records
        });
        assert_eq!(late.error, Some(bad.clone()), "after Finished");
    }
}

#[test]
fn garbage() {
    for greeting in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"SSH-2.0-OpenSSH_9.9\r\n", &[0x80, 0x2e, 1, 3, 1], &[0; 9]] {
        let verdict = run(&mutual().setup, Side::Server, |pair| drop(pair.deliver(Side::Server, greeting.to_vec())));
        assert_eq!(verdict.refused(), Some(&InvalidMessage::UnknownContentType.into()));
        assert_eq!(verdict.alert, Some(Alert::UNEXPECTED_MESSAGE));
    }
    let mut rng = SeededRng::new(1);
    for round in 0..1000 {
        // At any point of the handshake, and in half of the rounds dressed up as a record.
        let (number, victim) = (round % 3, if round % 3 == 1 { Side::Client } else { Side::Server });
        let mut bytes = vec![0; 5 + rng.below(200)];
        rng.fill(&mut bytes).unwrap();
        if round % 2 == 0 {
            let len = bytes.len() - HEADER_LEN;
            bytes[..HEADER_LEN].copy_from_slice(&header(ContentType(20 + rng.below(4) as u8), len));
        }
        let verdict = run(&mutual().setup, victim, |pair| {
            relay(pair, |flight, _, honest| if flight == number { bytes.clone() } else { honest });
        });
        assert!(!verdict.connected, "{verdict:?}");
    }
}
