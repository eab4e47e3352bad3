//! ChangeCipherSpec: ignored in TLS 1.3, and in TLS 1.2 due at one point on each side and nowhere else, since whoever
//! takes an early one takes keys that an attacker knows (CVE-2014-0224).

use terse_testkit::fault::{first, message};
use terse_testkit::forge::{Forge, HEADER_LEN, KeyLogLines, plaintext, records};
use terse_testkit::pair::{Pair, Side};
use terse_tls::crypto::CryptoError;
use terse_tls::{AlertDescription as Alert, ContentType, Error, HandshakeType, PeerMisbehaved};

use alloc::sync::Arc;

use super::attack::{SEED, Verdict, run};
use super::modes::{TLS12, TLS13, cached, mutual};
use super::wire::{attack, flights};

pub(crate) fn spec(content: &[u8]) -> Vec<u8> {
    plaintext(ContentType::CHANGE_CIPHER_SPEC, content)
}

/// RFC 9846, 5: one byte of 1, and only during the handshake. It says nothing.
#[test]
fn of_tls13() {
    let bad: Error = PeerMisbehaved::BadChangeCipherSpec.into();
    let setup = &mutual(TLS13).setup;
    let verdict = run(setup, Side::Server, |pair| drop(pair.deliver(Side::Server, spec(&[1]))));
    assert_eq!(verdict.error, Some(bad), "before the ClientHello");
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
        assert_eq!(late.error, Some(bad), "after Finished");
    }
}

const BAD: Error = Error::PeerMisbehaved(PeerMisbehaved::BadChangeCipherSpec);

/// The client's last flight and the server's: what is clear, if anything, ChangeCipherSpec, Finished.
const LAST_FLIGHTS: [usize; 2] = [2, 3];

fn check(verdict: &Verdict, error: &Error, context: &str) {
    assert_eq!(verdict.refused(), Some(error), "{context}: {verdict:?}");
    assert_eq!(verdict.alert, Some(Alert::UNEXPECTED_MESSAGE), "{context}");
}

/// Before anything, between any two messages, and after the last one.
#[test]
fn early_or_late() {
    let setup = &mutual(TLS12).setup;
    for victim in Side::BOTH {
        let verdict = run(setup, victim, |pair| drop(pair.deliver(victim, spec(&[1]))));
        check(&verdict, &BAD, "at the beginning");
    }
    let verdict = run(setup, Side::Server, |pair| {
        let hello = pair.transmit(Side::Client);
        pair.deliver(Side::Server, hello).unwrap();
        drop(pair.deliver(Side::Server, spec(&[1])));
    });
    check(&verdict, &BAD, "after the ClientHello");
    for (number, flight) in flights(setup).iter().enumerate().take(3) {
        let clear = &flight.records[0][HEADER_LEN..];
        let mut at = 0;
        while at < clear.len() {
            let (verdict, _) = attack(setup, number, |mut records| {
                let handshake = |content| plaintext(ContentType::HANDSHAKE, content);
                let (before, after) = (&clear[..at], handshake(&clear[at..]));
                let before = if before.is_empty() { Vec::new() } else { handshake(before) };
                records[0] = [before, spec(&[1]), after].concat();
                records
            });
            check(&verdict, &BAD, &format!("flight {number}, byte {at}"));
            at += 4 + u32::from_be_bytes([0, clear[at + 1], clear[at + 2], clear[at + 3]]) as usize;
        }
        assert_eq!(at, clear.len());
    }
    // ChangeCipherSpec comes within a message.
    for number in 0..3 {
        let (verdict, _) = attack(setup, number, |mut records| {
            let clear = records[0].split_off(HEADER_LEN);
            let (begin, end) = clear.split_at(7);
            let [begin, end] = [begin, end].map(|part| plaintext(ContentType::HANDSHAKE, part));
            records[0] = [begin, spec(&[1]), end].concat();
            records
        });
        check(&verdict, &BAD, "within a message");
    }
    for number in LAST_FLIGHTS {
        let (verdict, _) = attack(setup, number, |mut records| {
            records.push(spec(&[1]));
            records
        });
        assert_eq!((verdict.connected, verdict.error), (true, Some(BAD)), "after Finished");
    }
}

/// The server's comes before it has seen the client's Finished: the keys are the right ones, and the next one is one too
/// many.
#[test]
fn before_the_client_has_finished() {
    let (verdict, _) = attack(&mutual(TLS12).setup, 1, |mut records| {
        records.push(spec(&[1]));
        records
    });
    check(&verdict, &BAD, "twice");
}

#[test]
fn missing_doubled_or_malformed() {
    for setup in [&mutual(TLS12).setup, &cached(TLS12).setup] {
        for number in LAST_FLIGHTS {
            let change = |change: &dyn Fn(&mut Vec<Vec<u8>>, usize)| {
                let (verdict, _) = attack(setup, number, |mut records| {
                    let at = records.len() - 2;
                    assert_eq!(records[at], spec(&[1]));
                    change(&mut records, at);
                    records
                });
                verdict
            };
            let missing = change(&|records, at| drop(records.remove(at)));
            let error = PeerMisbehaved::UnexpectedRecord(ContentType::HANDSHAKE).into();
            check(&missing, &error, "missing: Finished comes first");
            let swapped = change(&|records, at| records.swap(at, at + 1));
            check(&swapped, &error, "after Finished");
            check(&change(&|records, at| records.insert(at, spec(&[1]))), &BAD, "doubled");
            for content in [&[][..], &[0], &[2], &[1, 1], &[1, 1, 1]] {
                check(&change(&|records, at| records[at] = spec(content)), &BAD, &format!("{content:?}"));
            }
        }
    }
}

/// A client of both versions ignores one until it knows the version; a server of TLS 1.2 has sent one too many then.
#[test]
fn before_the_version_is_known() {
    let mut setup = mutual(TLS12).setup.clone();
    setup.client.versions(vec![TLS13, TLS12]);
    for behind in [false, true] {
        let (verdict, _) = attack(&setup, 1, |mut records| {
            // In front of the ServerHello, or right behind it.
            let clear = records[0].split_off(HEADER_LEN);
            let hello = if behind { 4 + usize::from(clear[3]) } else { 0 };
            let [hello, rest] = [&clear[..hello], &clear[hello..]].map(|part| plaintext(ContentType::HANDSHAKE, part));
            let hello = if behind { hello } else { Vec::new() };
            vec![hello, spec(&[1]), rest]
        });
        check(&verdict, &BAD, "before the version is known");
    }
    // The ServerHello of TLS 1.3 shows that there was nothing wrong with it.
    let (verdict, _) = attack(&mutual(TLS13).setup, 1, |records| [vec![spec(&[1])], records].concat());
    assert!(verdict.connected, "{verdict:?}");
}

/// A server that knows the keys, and what it can say between its ChangeCipherSpec and its Finished, or instead of them.
pub(crate) fn by_server(records_of: impl Fn(&mut Forge) -> Vec<u8>) -> Verdict {
    let mut setup = mutual(TLS12).setup.clone();
    let log = Arc::<KeyLogLines>::default();
    setup.server.key_log(log.clone());
    run(&setup, Side::Client, |pair| {
        for sender in [Side::Client, Side::Server, Side::Client] {
            let flight = pair.transmit(sender);
            pair.deliver(sender.other(), flight).unwrap();
        }
        let mut forge = Forge::of_finished(pair, &terse_aws_lc::PROVIDER, &log, Side::Server);
        drop(pair.deliver(Side::Client, records_of(&mut forge)));
    })
}

/// A client with the keys does the same.
pub(crate) fn by_client(records_of: impl Fn(&mut Forge) -> Vec<u8>) -> Verdict {
    let mut setup = mutual(TLS12).setup.clone();
    let log = Arc::<KeyLogLines>::default();
    setup.client.key_log(log.clone());
    run(&setup, Side::Server, |pair: &mut Pair| {
        for sender in Side::BOTH {
            let flight = pair.transmit(sender);
            pair.deliver(sender.other(), flight).unwrap();
        }
        let clear = records(&pair.transmit(Side::Client)).remove(0);
        pair.deliver(Side::Server, clear).unwrap();
        let mut forge = Forge::of_finished(pair, &terse_aws_lc::PROVIDER, &log, Side::Client);
        drop(pair.deliver(Side::Server, records_of(&mut forge)));
    })
}

/// Nothing of it reaches the application: `run` looks for that.
#[test]
fn what_may_follow() {
    let (data, handshake) = (ContentType::APPLICATION_DATA, ContentType::HANDSHAKE);
    let unexpected = |record| -> Error { PeerMisbehaved::UnexpectedRecord(record).into() };
    let finished = || message(HandshakeType::FINISHED, &[7; 12]);
    type Make<'a> = &'a dyn Fn(&mut Forge) -> Vec<u8>;
    let both = |name: &str, make: Make<'_>, error: Error, alert: Option<Alert>| {
        for verdict in [by_client(make), by_server(make)] {
            assert_eq!((verdict.error, verdict.alert), (Some(error), alert), "{name}");
            assert!(!verdict.connected);
        }
    };
    let message_alert = Some(Alert::UNEXPECTED_MESSAGE);
    both("data before it", &|f| f.record(data, b"evil"), unexpected(data), message_alert);
    both("data in the clear before it", &|_| plaintext(data, b"evil"), unexpected(data), message_alert);
    let decrypt = Error::Crypto(CryptoError::DecryptFailed);
    let mac = Some(Alert::BAD_RECORD_MAC);
    both("data before Finished", &|f| [spec(&[1]), f.record(data, b"evil")].concat(), unexpected(data), message_alert);
    both("no data before Finished", &|f| [spec(&[1]), f.record(data, b"")].concat(), unexpected(data), message_alert);
    both("a Finished in the clear", &|_| [spec(&[1]), plaintext(handshake, &finished())].concat(), decrypt, mac);
    both("an alert in the clear", &|_| [spec(&[1]), plaintext(ContentType::ALERT, &[2, 40])].concat(), decrypt, mac);
    both(
        "a Finished that is wrong",
        &|f| [spec(&[1]), f.record(handshake, &finished())].concat(),
        PeerMisbehaved::BadFinished.into(),
        Some(Alert::DECRYPT_ERROR),
    );
    both(
        "a protected one",
        &|f| [spec(&[1]), f.record(ContentType::CHANGE_CIPHER_SPEC, &[1])].concat(),
        BAD,
        message_alert,
    );
    let ticket = || message(HandshakeType::NEW_SESSION_TICKET, &[0, 0, 0, 9, 0, 1, 7]);
    both("a ticket before it", &|_| plaintext(handshake, &ticket()), unexpected(handshake), message_alert);
    both(
        "a ticket after it",
        &|f| [spec(&[1]), f.record(handshake, &ticket())].concat(),
        PeerMisbehaved::UnexpectedHandshakeMessage(HandshakeType::NEW_SESSION_TICKET).into(),
        message_alert,
    );
    // Alerts may come at any time: before it in the clear, after it under the keys.
    let refused = Error::AlertReceived(Alert::HANDSHAKE_FAILURE);
    both("alert before it", &|_| plaintext(ContentType::ALERT, &[2, 40]), refused, None);
    both("alert after it", &|f| [spec(&[1]), f.record(ContentType::ALERT, &[2, 40])].concat(), refused, None);
}

/// A side that sends its Finished without the ChangeCipherSpec is not the only one that is confused: one that never asks
/// for one, because it leaves out Finished, waits in vain.
#[test]
fn without_finished() {
    for side in Side::BOTH {
        let mut setup = mutual(TLS12).setup.clone();
        setup.common(side).set_fault(Some(first(HandshakeType::FINISHED, Vec::clear)));
        let mut pair = setup.pair(SEED);
        pair.run().unwrap();
        assert!(!pair.side(side.other()).0.is_connected());
    }
}
