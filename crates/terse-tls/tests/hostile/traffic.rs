//! A hostile peer that has the keys: records that no honest side makes, after the handshake and in the middle of it
//! (RFC 9846, 4.7, 5 and 6; RFC 5246, 6 and 7.2).

use alloc::sync::Arc;

use terse_testkit::fault::message;
use terse_testkit::forge::{Forge, KeyLogLines, header, plaintext, records};
use terse_testkit::pair::{Pair, Side, at};
use terse_tls::crypto::CryptoError;
use terse_tls::{
    AlertDescription as Alert, ContentType, Error, Event, HandshakeType, InvalidMessage, PeerMisbehaved,
    ProtocolVersion,
};

use super::attack::{SEED, Verdict, run};
use super::modes::{TLS12, TLS13, VERSIONS, mutual};

const KEY_UPDATE: HandshakeType = HandshakeType::KEY_UPDATE;

/// A finished handshake, and what makes the records of the victim's peer.
fn connected(version: ProtocolVersion, victim: Side) -> (Pair, Forge) {
    let mut setup = mutual(version).setup.clone();
    let log = Arc::<KeyLogLines>::default();
    setup.server.key_log(log.clone());
    let mut pair = setup.pair(SEED);
    pair.handshake().unwrap();
    let forge = Forge::of(&pair, &terse_aws_lc::PROVIDER, &log, victim.other());
    (pair, forge)
}

/// Finishes the handshake, and then delivers what `make` makes.
pub(crate) fn after_handshake(
    version: ProtocolVersion,
    victim: Side,
    make: impl FnOnce(&mut Forge) -> Vec<u8>,
) -> Verdict {
    let mut setup = mutual(version).setup.clone();
    let log = Arc::<KeyLogLines>::default();
    setup.server.key_log(log.clone());
    let verdict = run(&setup, victim, |pair| {
        pair.run().unwrap();
        let mut forge = Forge::of(pair, &terse_aws_lc::PROVIDER, &log, victim.other());
        drop(pair.deliver(victim, make(&mut forge)));
    });
    assert!(verdict.connected);
    verdict
}

/// In the middle of a handshake of TLS 1.3: the victim knows its keys, and is waiting for more.
pub(crate) fn within_handshake(victim: Side, make: impl FnOnce(&mut Forge) -> Vec<u8>) -> Verdict {
    let mut setup = mutual(TLS13).setup.clone();
    let log = Arc::<KeyLogLines>::default();
    setup.server.key_log(log.clone());
    run(&setup, victim, |pair| {
        let hello = pair.transmit(Side::Client);
        pair.deliver(Side::Server, hello).unwrap();
        let flight = records(&pair.transmit(Side::Server));
        if victim == Side::Client {
            pair.deliver(victim, flight[0].clone()).unwrap();
        }
        let sender = if victim == Side::Client { "SERVER" } else { "CLIENT" };
        let suite = terse_aws_lc::PROVIDER.tls13_suites[0]; // preferred by both
        let mut forge = Forge::new(suite, &log.secret(&format!("{sender}_HANDSHAKE_TRAFFIC_SECRET")));
        drop(pair.deliver(victim, make(&mut forge)));
    })
}

fn check(
    version: ProtocolVersion,
    name: &str,
    make: impl Fn(&mut Forge) -> Vec<u8>,
    error: impl Into<Error>,
    alert: Option<Alert>,
) {
    let error = error.into();
    for victim in Side::BOTH {
        let verdict = after_handshake(version, victim, &make);
        assert_eq!((verdict.error, verdict.alert), (Some(error), alert), "{version}, {name}, {victim:?}");
    }
}

/// [`check`] in both versions.
fn check_both(name: &str, make: impl Fn(&mut Forge) -> Vec<u8>, error: impl Into<Error>, alert: Option<Alert>) {
    let error = error.into();
    VERSIONS.into_iter().for_each(|version| check(version, name, &make, error, alert));
}

#[test]
fn handshake_messages() {
    let handshake = ContentType::HANDSHAKE;
    let check = |name, bytes: &[u8], error: Error, alert| {
        check(TLS13, name, |forge| forge.record(handshake, bytes), error, Some(alert));
    };
    let value = InvalidMessage::IllegalValue.into();
    check("KeyUpdate with value 2", &message(KEY_UPDATE, &[2]), value, Alert::ILLEGAL_PARAMETER);
    check("empty KeyUpdate", &message(KEY_UPDATE, &[]), InvalidMessage::Truncated.into(), Alert::DECODE_ERROR);
    let trailing = InvalidMessage::TrailingData.into();
    check("long KeyUpdate", &message(KEY_UPDATE, &[0, 0]), trailing, Alert::DECODE_ERROR);
    let crosses: Error = PeerMisbehaved::MessageCrossesKeyChange.into();
    let twice = message(KEY_UPDATE, &[0]).repeat(2);
    check("two KeyUpdates in one record", &twice, crosses, Alert::UNEXPECTED_MESSAGE);
    check("KeyUpdate and more", &[&twice[..5], &[4][..]].concat(), crosses, Alert::UNEXPECTED_MESSAGE);
    let too_large = InvalidMessage::HandshakeTooLarge.into();
    check("too large", &[24, 1, 0, 1], too_large, Alert::DECODE_ERROR);
    for kind in (0..=254).map(HandshakeType) {
        if kind != KEY_UPDATE && kind != HandshakeType::NEW_SESSION_TICKET {
            let unexpected = PeerMisbehaved::UnexpectedHandshakeMessage(kind).into();
            check("type", &message(kind, b"whatever"), unexpected, Alert::UNEXPECTED_MESSAGE);
        }
    }
}

/// RFC 9846, 4.7.1: a client ignores what it has no use for, but not what does not parse; a server never gets one.
#[test]
fn new_session_ticket() {
    let record = |body: &[u8]| {
        let message = message(HandshakeType::NEW_SESSION_TICKET, body);
        move |forge: &mut Forge| forge.record(ContentType::HANDSHAKE, &message)
    };
    let good = [&[0, 0, 0, 9, 1, 2, 3, 4, 1, 0, 0, 2][..], b"id", &[0, 0]].concat();
    let misbehaved = PeerMisbehaved::UnexpectedHandshakeMessage(HandshakeType::NEW_SESSION_TICKET);
    assert_eq!(after_handshake(TLS13, Side::Server, record(&good)).error, Some(misbehaved.into()));

    let (mut pair, mut forge) = connected(TLS13, Side::Client);
    pair.deliver(Side::Client, record(&good)(&mut forge)).unwrap();
    let data = forge.record(ContentType::APPLICATION_DATA, b"goes on");
    assert_eq!(pair.receive(Side::Client, data).unwrap(), b"goes on");
    for bad in [&good[..good.len() - 1], &[&good[..], &[0]].concat(), &[0; 11], b""] {
        let verdict = after_handshake(TLS13, Side::Client, record(bad));
        assert!(matches!(verdict.error, Some(Error::InvalidMessage(_))), "{verdict:?}");
        assert_eq!(verdict.alert, Some(Alert::DECODE_ERROR));
    }
}

#[test]
fn types_of_records() {
    let unexpected = |content_type| PeerMisbehaved::UnexpectedRecord(content_type);
    let (alert, data, handshake) = (ContentType::ALERT, ContentType::APPLICATION_DATA, ContentType::HANDSHAKE);
    let change = ContentType::CHANGE_CIPHER_SPEC;
    let message = Some(Alert::UNEXPECTED_MESSAGE);
    check_both("empty handshake", |f| f.record(handshake, b""), PeerMisbehaved::EmptyFragment, message);
    check_both("empty alert", |f| f.record(alert, b""), PeerMisbehaved::EmptyFragment, message);
    check_both("half an alert", |f| f.record(alert, &[2]), InvalidMessage::Truncated, Some(Alert::DECODE_ERROR));
    let trailing = InvalidMessage::TrailingData;
    check_both("long alert", |f| f.record(alert, &[2, 10, 0]), trailing, Some(Alert::DECODE_ERROR));
    check_both(
        "data within a message",
        |f| [f.record(handshake, &[24, 0]), f.record(data, b"x")].concat(),
        PeerMisbehaved::InterleavedRecord,
        message,
    );
    let bad = PeerMisbehaved::BadChangeCipherSpec;
    check_both("plaintext ChangeCipherSpec", |_| plaintext(change, &[1]), bad, message);
    check(TLS13, "protected ChangeCipherSpec", |f| f.record(change, &[1]), unexpected(change), message);
    check(TLS12, "protected ChangeCipherSpec", |f| f.record(change, &[1]), bad, message);
    for kind in [0x18, 0x19, 0x63, 0xff].map(ContentType) {
        check(TLS13, "unknown type", |f| f.record(kind, b"x"), unexpected(kind), message);
        check(TLS12, "unknown type", |f| f.record(kind, b"x"), InvalidMessage::UnknownContentType, message);
    }
    check(TLS13, "nothing but zeros", |f| f.seal(&[0; 20]), unexpected(ContentType(0)), message);
    check(TLS13, "nothing at all", |f| f.seal(&[]), unexpected(ContentType(0)), message);
    check(TLS13, "plaintext alert", |_| plaintext(alert, &[2, 10]), unexpected(alert), message);
    let update = || plaintext(handshake, &[24, 0, 0, 1, 0]);
    check(TLS13, "plaintext handshake", |_| update(), unexpected(handshake), message);
    // TLS 1.2 cannot see what is not protected.
    let (failed, mac) = (CryptoError::DecryptFailed, Some(Alert::BAD_RECORD_MAC));
    check(TLS12, "plaintext alert", |_| plaintext(alert, &[2, 10]), failed, mac);
    check(TLS12, "plaintext handshake", |_| update(), failed, mac);
    check(TLS12, "plaintext data", |_| plaintext(data, &[7; 100]), failed, mac);
}

/// RFC 9846, 5.1, 5.2 and 5.4; RFC 5246, 6.2.1 and 6.2.3
#[test]
fn sizes() {
    let overflow = Some(Alert::RECORD_OVERFLOW);
    let inner = |len: usize| move |forge: &mut Forge| forge.seal(&[vec![b'x'; len - 1], vec![23]].concat());
    check(TLS13, "content too long", inner(0x4002), InvalidMessage::RecordTooLarge, overflow);
    check(
        TLS13,
        "padding too long",
        |f| f.seal(&[&[b'x', 23][..], &[0; 0x4000]].concat()),
        InvalidMessage::RecordTooLarge,
        overflow,
    );
    let data = ContentType::APPLICATION_DATA;
    let long = |f: &mut Forge| f.record(data, &[b'x'; 0x4001]);
    check(TLS12, "content too long", long, InvalidMessage::RecordTooLarge, overflow);
    // Refused at the header: what it announces is not waited for.
    check_both("announced", |_| header(data, 0x4101).to_vec(), InvalidMessage::RecordTooLarge, overflow);
    check_both("announced", |_| header(data, 0xffff).to_vec(), InvalidMessage::RecordTooLarge, overflow);
    let mac = Some(Alert::BAD_RECORD_MAC);
    for len in [0, 1, 7, 8, 9, 15, 16, 17, 23, 24, 25] {
        check_both("no tag", |_| plaintext(data, &vec![0; len]), CryptoError::DecryptFailed, mac);
    }
    check_both("replayed", |f| f.record(data, b"").repeat(2), CryptoError::DecryptFailed, mac);
    let skipped = |f: &mut Forge| {
        f.skip(1);
        f.record(data, b"x")
    };
    check_both("out of order", skipped, CryptoError::DecryptFailed, mac);
    let unknown = InvalidMessage::UnknownContentType;
    check_both("of unknown type", |_| header(ContentType(24), 3).to_vec(), unknown, Some(Alert::UNEXPECTED_MESSAGE));
}

/// The type of a record is authenticated in TLS 1.2, though it stands outside.
#[test]
fn type_exchanged() {
    let types = [ContentType::APPLICATION_DATA, ContentType::HANDSHAKE, ContentType::ALERT];
    for (from, to) in types.into_iter().flat_map(|from| types.map(|to| (from, to))).filter(|(from, to)| from != to) {
        let exchange = |f: &mut Forge| {
            let mut record = f.record(from, &[1, 0]);
            record[0] = to.0;
            record
        };
        check(TLS12, "exchanged", exchange, CryptoError::DecryptFailed, Some(Alert::BAD_RECORD_MAC));
    }
}

/// The largest record there is, and padding, are taken; in TLS 1.2 an empty one as well (RFC 5246, 6.2.1).
#[test]
fn largest_records() {
    for victim in Side::BOTH {
        let (mut pair, mut forge) = connected(TLS13, victim);
        let largest = forge.seal(&[vec![b'x'; 0x4000], vec![23]].concat());
        assert_eq!(pair.receive(victim, largest).unwrap(), vec![b'x'; 0x4000]);
        let padded = forge.seal(&[&[b'x', 23][..], &[0; 0x3fff]].concat());
        assert_eq!(pair.receive(victim, padded).unwrap(), b"x");
        let (mut pair, mut forge) = connected(TLS12, victim);
        for len in [0x4000, 0, 1] {
            let record = forge.record(ContentType::APPLICATION_DATA, &vec![b'x'; len]);
            assert_eq!(pair.receive(victim, record).unwrap(), vec![b'x'; len]);
        }
    }
}

/// In the clear only while the peer cannot know better.
#[test]
fn plaintext_alerts() {
    let fatal = || plaintext(ContentType::ALERT, &[2, 40]);
    let received = Error::AlertReceived(Alert::HANDSHAKE_FAILURE);
    for (version, victim) in VERSIONS.into_iter().flat_map(|version| Side::BOTH.map(|side| (version, side))) {
        let verdict = run(&mutual(version).setup, victim, |pair| drop(pair.deliver(victim, fatal())));
        assert_eq!(verdict.error, Some(received), "at the beginning");
    }
    let setup = &mutual(TLS13).setup;
    let verdict = run(setup, Side::Server, |pair| {
        let hello = pair.transmit(Side::Client);
        pair.deliver(Side::Server, hello).unwrap();
        drop(pair.deliver(Side::Server, fatal()));
    });
    assert_eq!(verdict.error, Some(received), "after the ServerHello");
    // Small records, so that EncryptedExtensions come before the rest.
    let mut setup = setup.clone();
    setup.client.record_size_limit(Some(64));
    for (after, error) in [(1, received), (2, PeerMisbehaved::UnexpectedRecord(ContentType::ALERT).into())] {
        let verdict = run(&setup, Side::Client, |pair| {
            let hello = pair.transmit(Side::Client);
            pair.deliver(Side::Server, hello).unwrap();
            let flight = records(&pair.transmit(Side::Server));
            pair.deliver(Side::Client, flight[..after].concat()).unwrap();
            drop(pair.deliver(Side::Client, fatal()));
        });
        assert_eq!(verdict.error, Some(error), "after {after} records");
    }
}

/// Nothing of it reaches the application: `run` looks for that.
#[test]
fn application_data_before_finished() {
    let data = ContentType::APPLICATION_DATA;
    for (victim, content) in Side::BOTH.into_iter().flat_map(|victim| [(victim, &b"evil"[..]), (victim, b"")]) {
        let verdict = within_handshake(victim, |forge| forge.record(data, content));
        assert_eq!(verdict.refused(), Some(&PeerMisbehaved::UnexpectedRecord(data).into()), "{victim:?}");
        assert_eq!(verdict.alert, Some(Alert::UNEXPECTED_MESSAGE));
    }
}

/// A KeyUpdate before the Finished is refused (RFC 9846, 4.7.3).
#[test]
fn key_update_before_finished() {
    for victim in Side::BOTH {
        let verdict = within_handshake(victim, |f| f.record(ContentType::HANDSHAKE, &message(KEY_UPDATE, &[0])));
        assert_eq!(verdict.refused(), Some(&PeerMisbehaved::UnexpectedHandshakeMessage(KEY_UPDATE).into()));
    }
}

/// RFC 9846, 6.1: the end is the end.
#[test]
fn after_close_notify() {
    for (version, victim) in VERSIONS.into_iter().flat_map(|version| Side::BOTH.map(|side| (version, side))) {
        let (mut pair, mut forge) = connected(version, victim);
        let close = forge.record(ContentType::ALERT, &[1, 0]);
        let late = forge.record(ContentType::APPLICATION_DATA, b"late");
        assert_eq!(pair.receive(victim, [close, late, b"garbage".to_vec()].concat()).unwrap(), b"");
        assert_eq!(pair.side(victim).0.poll_event(), Some(Event::PeerClosed));
        assert_eq!(pair.side(victim).0.handle_end_of_input(at(0)), Ok(()));
    }
}
