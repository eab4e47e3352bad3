//! Every alert in every state of a handshake, and after it (RFC 9846, 6; RFC 5246, 7.2): in the clear as long as there
//! are no keys, under the keys from then on.
//!
//! A fatal one ends the connection, is not answered, and is reported as it is. `user_canceled` only says that
//! `close_notify` follows. In TLS 1.3 every other one is fatal whatever its level says; in TLS 1.2 a warning is not.

use terse_testkit::forge::{Forge, plaintext, records};
use terse_testkit::pair::Side;
use terse_tls::crypto::CryptoError;
use terse_tls::{AlertDescription as Alert, ContentType, Error, PeerMisbehaved, ProtocolVersion};

use crate::attack::{Verdict, run};
use crate::change_cipher_spec::{by_client, by_server, spec};
use crate::modes::{SCENARIOS, TLS12, TLS13, VERSIONS, mutual};
use crate::traffic::{after_handshake, within_handshake};
use crate::wire::{attack, flights};

/// Where a victim is when the alert comes.
#[derive(Clone, Copy, Debug)]
enum State {
    /// This many flights came, and of the next one this many records.
    Clear(usize, usize),
    /// In TLS 1.3, with the keys of the handshake; in TLS 1.2, after ChangeCipherSpec.
    Protected,
    Connected,
}

fn send(version: ProtocolVersion, victim: Side, state: State, alerts: &[[u8; 2]]) -> Verdict {
    let forged = |forge: &mut Forge| {
        alerts.iter().flat_map(|alert| forge.record(ContentType::ALERT, alert)).collect::<Vec<u8>>()
    };
    match state {
        State::Clear(flights, count) => run(&mutual(version).setup, victim, |pair| {
            for sender in Side::BOTH.into_iter().cycle().take(flights) {
                let bytes = pair.transmit(sender);
                pair.deliver(sender.other(), bytes).unwrap();
            }
            let rest = records(&pair.transmit(victim.other()));
            pair.deliver(victim, rest[..count].concat()).unwrap();
            for alert in alerts {
                drop(pair.deliver(victim, plaintext(ContentType::ALERT, alert)));
            }
            drop(pair.deliver(victim, rest[count..].concat()));
            drop(pair.run());
        }),
        State::Protected if version == TLS13 => within_handshake(victim, forged),
        State::Protected => {
            let make = |forge: &mut Forge| [spec(&[1]), forged(forge)].concat();
            if victim == Side::Server { by_client(make) } else { by_server(make) }
        }
        State::Connected => after_handshake(version, victim, forged),
    }
}

/// All of them.
fn states() -> impl Iterator<Item = (ProtocolVersion, Side, State)> {
    let clear: &[_] = &[
        (TLS13, Side::Server, State::Clear(0, 0)),
        (TLS13, Side::Server, State::Clear(2, 0)),
        (TLS13, Side::Client, State::Clear(1, 0)),
        (TLS12, Side::Server, State::Clear(0, 0)),
        (TLS12, Side::Server, State::Clear(2, 0)),
        (TLS12, Side::Server, State::Clear(2, 1)), // before ChangeCipherSpec
        (TLS12, Side::Client, State::Clear(1, 0)),
        (TLS12, Side::Client, State::Clear(3, 0)), // before ChangeCipherSpec
    ];
    let under_keys = VERSIONS.into_iter().flat_map(|version| {
        let both = Side::BOTH.into_iter();
        both.flat_map(move |side| [State::Protected, State::Connected].map(|state| (version, side, state)))
    });
    clear.iter().copied().chain(under_keys)
}

#[test]
fn fatal() {
    for (number, (version, victim, state)) in states().enumerate() {
        for level in [2, 1, 0, 3, 255] {
            // In one state some of those that nobody knows, in the next one others.
            let is_tried = |alert: &u8| *alert <= 120 || usize::from(*alert) % 8 == number % 8;
            let all = if level == 2 { 0..=255 } else { 40..=42 };
            for alert in all.filter(is_tried).map(Alert) {
                let is_close = alert == Alert::CLOSE_NOTIFY;
                let is_proper_close = is_close && matches!(state, State::Connected);
                let is_ignored = (version, alert) == (TLS13, Alert::USER_CANCELED) || (version, level) == (TLS12, 1);
                if is_proper_close || is_ignored && !is_close {
                    continue;
                }
                let verdict = send(version, victim, state, &[[level, alert.0]]);
                let context = format!("{version}, {victim:?}, {state:?}, {level}: {verdict:?}");
                assert_eq!(verdict.error, Some(Error::AlertReceived(alert)), "{context}");
                // RFC 5246, 7.2.1
                let answer = (is_close && version == TLS12).then_some(Alert::CLOSE_NOTIFY);
                assert_eq!(verdict.alert, answer, "{context}");
                assert_eq!(verdict.connected, matches!(state, State::Connected), "{context}");
            }
        }
    }
}

/// What is not fatal: the connection goes on, but not for ever.
#[test]
fn ignored() {
    let most = 32;
    // Under the keys it takes a number that an honest record needs, so that nothing can follow.
    for (version, victim, state) in states().filter(|(.., state)| !matches!(state, State::Connected)) {
        let mut ignored = vec![[1, Alert::USER_CANCELED.0]];
        if version == TLS13 {
            ignored.push([2, Alert::USER_CANCELED.0]);
        } else {
            ignored.extend([0, 10, 41, 90, 100, 112, 255].map(|alert| [1, alert]));
            ignored.retain(|alert| *alert != [1, Alert::CLOSE_NOTIFY.0]);
        }
        for alert in ignored {
            let verdict = send(version, victim, state, &vec![alert; most]);
            let context = format!("{version}, {victim:?}, {state:?}, {alert:?}: {verdict:?}");
            assert_eq!(verdict.error, None, "{context}");
            assert_eq!(verdict.connected, !matches!(state, State::Protected), "{context}");
            let verdict = send(version, victim, state, &vec![alert; most + 1]);
            assert_eq!(verdict.error, Some(PeerMisbehaved::TooManyEmptyRecords.into()), "{context}");
            assert_eq!(verdict.alert, Some(Alert::UNEXPECTED_MESSAGE), "{context}");
        }
    }
}

/// Wherever a record ends, in any mode, somebody who has no keys says that it is over. Until there are keys that is
/// believed; then it is noticed.
#[test]
fn at_every_record_of_every_mode() {
    let fatal = plaintext(ContentType::ALERT, &[2, Alert::INTERNAL_ERROR.0]);
    for scenario in SCENARIOS.iter() {
        let flights = flights(&scenario.setup);
        for (number, flight) in flights.iter().enumerate() {
            for nth in 0..flight.records.len() {
                let (verdict, _) = attack(&scenario.setup, number, |mut records| {
                    records.insert(nth, fatal.clone());
                    records
                });
                let before = flights[..number].iter().filter(|before| before.sender == flight.sender);
                let before: Vec<_> = before.flat_map(|flight| &flight.records).chain(&flight.records[..nth]).collect();
                let came = |content_type: ContentType| before.iter().any(|record| record[0] == content_type.0);
                let expected = if came(ContentType::APPLICATION_DATA) {
                    PeerMisbehaved::UnexpectedRecord(ContentType::ALERT).into()
                } else if came(ContentType::CHANGE_CIPHER_SPEC) {
                    CryptoError::DecryptFailed.into()
                } else {
                    Error::AlertReceived(Alert::INTERNAL_ERROR)
                };
                let context = format!("{}, {}, flight {number}, record {nth}", scenario.version, scenario.name);
                assert_eq!(verdict.error.as_ref(), Some(&expected), "{context}: {verdict:?}");
                assert!(!verdict.connected, "{context}: {verdict:?}");
            }
        }
    }
}
