//! Every alert in every state of a handshake, and after it (RFC 9846, 6; RFC 5246, 7.2): in the clear as long as there
//! are no keys, under the keys from then on.
//!
//! A fatal one ends the connection, is not answered, and is reported as it is. In TLS 1.3 all are fatal whatever their
//! level says, but for `user_canceled`, which only says that `close_notify` follows; in TLS 1.2 a warning is not. In
//! mid-handshake `close_notify` is an end as well, and answered with another one, unless a client could take that for
//! more.

use terse_testkit::forge::{Forge, plaintext, records};
use terse_testkit::pair::Side;
use terse_testkit::setup::Setup;
use terse_tls::crypto::CryptoError;
use terse_tls::{AlertDescription as Alert, ContentType, Error, PeerMisbehaved, ProtocolVersion};

use super::attack::{Verdict, run};
use super::change_cipher_spec::{by_client, by_server, spec};
use super::modes::{CHAIN, SCENARIOS, TLS12, TLS13, VERSIONS, mutual};
use super::traffic::{after_handshake, within_handshake};
use super::wire::{attack, flights};

/// Where a victim is when the alert comes.
#[derive(Clone, Copy, Debug)]
enum State {
    /// This many flights arrived, and this many records of the next one.
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
            let is_fatal = |alert: &Alert| version == TLS12 || *alert != Alert::USER_CANCELED;
            let all = if level == 2 { 0..=255 } else { 40..=42 };
            for alert in all.filter(is_tried).map(Alert).filter(is_fatal) {
                let is_close = alert == Alert::CLOSE_NOTIFY && matches!(state, State::Connected);
                if is_close || (version, level) == (TLS12, 1) {
                    continue;
                }
                let verdict = send(version, victim, state, &[[level, alert.0]]);
                let context = format!("{version}, {victim:?}, {state:?}, {level}: {verdict:?}");
                assert_eq!(verdict.error, Some(Error::AlertReceived(alert)), "{context}");
                let is_answered = alert == Alert::CLOSE_NOTIFY && !has_sent_finished(version, victim, state);
                assert_eq!(verdict.alert, is_answered.then_some(alert), "{context}");
                assert_eq!(verdict.connected, matches!(state, State::Connected), "{context}");
            }
        }
    }
}

/// Whether the victim is a server of TLS 1.3 that has sent its Finished and waits for the client's.
fn has_sent_finished(version: ProtocolVersion, victim: Side, state: State) -> bool {
    (version, victim) == (TLS13, Side::Server) && !matches!(state, State::Clear(0, _))
}

/// What is not fatal: the connection goes on, but not for ever.
#[test]
fn ignored() {
    let most = 32;
    // An alert under the keys takes a record number that an honest record needs, so that nothing can follow.
    for (version, victim, state) in states().filter(|(.., state)| !matches!(state, State::Connected)) {
        let mut ignored = vec![[1, Alert::USER_CANCELED.0]];
        if version == TLS13 {
            ignored.extend([0, 2, 255].map(|level| [level, Alert::USER_CANCELED.0]));
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

/// A server that gives up before it has chosen a version means it.
#[test]
fn fatal_before_the_version_is_known() {
    let setup = Setup::new(&terse_aws_lc::PROVIDER, &terse_aws_lc::PROVIDER, CHAIN);
    for (level, error) in [(1, None), (2, Some(Error::AlertReceived(Alert::USER_CANCELED)))] {
        let alert = plaintext(ContentType::ALERT, &[level, Alert::USER_CANCELED.0]);
        let verdict = run(&setup, Side::Client, |pair| drop(pair.deliver(Side::Client, alert)));
        assert_eq!(verdict.error, error);
    }
}

/// RFC 5246, 7.2.1; RFC 9846, 6.1: close_notify has its answer in every mode, wherever it is believed. But a client that is
/// connected would take a server's for the proof that its own Finished was verified (docs/caching.md, 4.2), so that a
/// server which has sent its Finished says nothing.
#[test]
fn close_notify_in_every_mode() {
    let close = plaintext(ContentType::ALERT, &[1, Alert::CLOSE_NOTIFY.0]);
    for scenario in SCENARIOS.iter() {
        let flights = flights(&scenario.setup);
        let last =
            if scenario.version == TLS12 { ContentType::CHANGE_CIPHER_SPEC } else { ContentType::APPLICATION_DATA };
        for (number, flight) in flights.iter().enumerate() {
            let (verdict, _) = attack(&scenario.setup, number, |mut records| {
                records.insert(0, close.clone());
                records
            });
            let of_victim = flights[..number].iter().filter(|before| before.sender != flight.sender);
            let sent_finished = of_victim.flat_map(|flight| &flight.records).any(|record| record[0] == last.0);
            let is_answered = flight.sender == Side::Server || !sent_finished;
            let context = format!("{}, {}, flight {number}: {verdict:?}", scenario.version, scenario.name);
            if verdict.error == Some(Error::AlertReceived(Alert::CLOSE_NOTIFY)) {
                assert_eq!(verdict.alert, is_answered.then_some(Alert::CLOSE_NOTIFY), "{context}");
            }
            assert!(!verdict.connected, "{context}");
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
