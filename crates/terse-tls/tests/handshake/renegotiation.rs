//! Renegotiation is refused (RFC 5246, 7.4.1.1 and 7.2.2; RFC 5746, 4.5), and the connection goes on; and what else a
//! peer of TLS 1.2 may say besides the handshake: warnings.

use alloc::sync::Arc;

use terse_testkit::fault::{Alerts, add_extension, edit_suites, fix_length, message};
use terse_testkit::forge::{Forge, HEADER_LEN, KeyLogLines, plaintext};
use terse_testkit::pair::{Failed, Pair, Side};
use terse_testkit::setup::Setup;
use terse_tls::{
    AlertDescription as Alert, CipherSuite, ContentType, Error, ExtensionType, HandshakeType, InvalidMessage,
    PeerMisbehaved, ProtocolVersion,
};

use super::{PROVIDER, VERSIONS, check_traffic};

const CHAIN: &str = "ed25519x2";

/// A connection of TLS 1.2, what its sides send as alerts, and what makes records in the name of `sender`.
fn connected(sender: Side) -> (Pair, [Arc<Alerts>; 2], Forge) {
    let mut setup = Setup::mutual(PROVIDER, PROVIDER, CHAIN).only(ProtocolVersion::TLS_1_2);
    let (log, alerts) = (Arc::<KeyLogLines>::default(), Side::BOTH.map(|_| Arc::<Alerts>::default()));
    setup.client.key_log(log.clone());
    for side in Side::BOTH {
        setup.common(side).set_trace(alerts[side as usize].clone());
    }
    let mut pair = setup.pair(1);
    pair.handshake().unwrap();
    let forge = Forge::of(&pair, PROVIDER, &log, sender);
    (pair, alerts, forge)
}

/// Returns the message with which `sender` starts a renegotiation.
fn attempt(pair: &Pair, sender: Side) -> Vec<u8> {
    match sender {
        Side::Server => message(HandshakeType::HELLO_REQUEST, b""),
        Side::Client => {
            let len = usize::from(u16::from_be_bytes([pair.from_client[3], pair.from_client[4]]));
            pair.from_client[HEADER_LEN..][..len].to_vec()
        }
    }
}

/// Four times a renegotiation is refused with a warning; the fifth time ends the connection.
#[test]
fn refused_with_a_warning() {
    for sender in Side::BOTH {
        let victim = sender.other();
        let (mut pair, alerts, mut forge) = connected(sender);
        let attempt = attempt(&pair, sender);
        let before = pair.side(victim).0.summary().received.messages.clone();
        for round in 1..=4 {
            let record = forge.record(ContentType::HANDSHAKE, &attempt);
            pair.deliver(victim, record).unwrap();
            let warning = pair.transmit(victim);
            // Header, nonce, level and description, tag.
            assert_eq!((warning[0], warning.len()), (ContentType::ALERT.0, HEADER_LEN + 8 + 2 + 16));
            pair.deliver(sender, warning).unwrap();
            assert_eq!(alerts[sender as usize].received(), vec![Alert::NO_RENEGOTIATION; round]);
            // The connection goes on, in both directions.
            let data = forge.record(ContentType::APPLICATION_DATA, b"data");
            assert_eq!(pair.receive(victim, data).unwrap(), b"data");
            assert_eq!(pair.carry(victim, b"data").unwrap(), b"data");
        }
        let summary = pair.side(victim).0.summary();
        assert_eq!(summary.received.messages, before, "these are no messages of the handshake");
        let record = forge.record(ContentType::HANDSHAKE, &attempt);
        let error = PeerMisbehaved::TooManyRenegotiations.into();
        assert_eq!(pair.deliver(victim, record), Err(Failed { side: victim, error }));
        assert_eq!(alerts[victim as usize].sent(), [Alert::UNEXPECTED_MESSAGE]);
    }
}

/// Whatever it says of RFC 5746, and whatever else it offers.
#[test]
fn every_second_client_hello() {
    let edits: [fn(&mut Vec<u8>); 4] = [
        |_| {},
        |m| add_extension(m, ExtensionType::RENEGOTIATION_INFO, &[12, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]),
        |m| edit_suites(m, |all| all.retain(|suite| *suite != CipherSuite::TLS_EMPTY_RENEGOTIATION_INFO_SCSV)),
        |m| m[5] = 1,
    ];
    for edit in edits {
        let (mut pair, alerts, mut forge) = connected(Side::Client);
        let mut hello = attempt(&pair, Side::Client);
        edit(&mut hello);
        pair.deliver(Side::Server, forge.record(ContentType::HANDSHAKE, &hello)).unwrap();
        pair.run().unwrap();
        assert_eq!(alerts[0].received(), [Alert::NO_RENEGOTIATION]);
        assert_eq!(pair.carry(Side::Server, b"data").unwrap(), b"data");
    }
}

/// Nothing else of a handshake may come, nor these from the wrong side, nor malformed.
#[test]
fn nothing_else_after_the_handshake() {
    for sender in Side::BOTH {
        let check = |bytes: &[u8], error: Error, alert: Alert| {
            let (mut pair, alerts, mut forge) = connected(sender);
            let record = forge.record(ContentType::HANDSHAKE, bytes);
            let failed = pair.deliver(sender.other(), record).unwrap_err();
            assert_eq!((failed.error, alerts[sender.other() as usize].sent()), (error, vec![alert]));
        };
        for kind in (0..=255).map(HandshakeType) {
            let starts =
                if sender == Side::Server { HandshakeType::HELLO_REQUEST } else { HandshakeType::CLIENT_HELLO };
            if kind != starts {
                let error = PeerMisbehaved::UnexpectedHandshakeMessage(kind).into();
                check(&message(kind, b"whatever"), error, Alert::UNEXPECTED_MESSAGE);
            }
        }
    }
    let (mut pair, _, mut forge) = connected(Side::Server);
    let long = forge.record(ContentType::HANDSHAKE, &message(HandshakeType::HELLO_REQUEST, b"x"));
    assert_eq!(pair.deliver(Side::Client, long).unwrap_err().error, InvalidMessage::TrailingData.into());
    let (mut pair, _, mut forge) = connected(Side::Client);
    let mut short = attempt(&pair, Side::Client);
    short.pop();
    fix_length(&mut short);
    let short = forge.record(ContentType::HANDSHAKE, &short);
    assert_eq!(pair.deliver(Side::Server, short).unwrap_err().error, InvalidMessage::Truncated.into());
}

/// RFC 5246, 7.4.1.1: a client that is shaking hands already ignores HelloRequest; no hash covers it.
#[test]
fn hello_request_during_the_handshake() {
    for before in [HandshakeType::CERTIFICATE, HandshakeType::SERVER_KEY_EXCHANGE, HandshakeType::SERVER_HELLO_DONE] {
        let setup = Setup::mutual(PROVIDER, PROVIDER, CHAIN).only(ProtocolVersion::TLS_1_2);
        let mut pair = setup.pair(1);
        let hello = pair.transmit(Side::Client);
        pair.deliver(Side::Server, hello).unwrap();
        let mut flight = pair.transmit(Side::Server).split_off(HEADER_LEN);
        let mut at = 0;
        while flight[at] != before.0 {
            at += 4 + u32::from_be_bytes([0, flight[at + 1], flight[at + 2], flight[at + 3]]) as usize;
        }
        flight.splice(at..at, [0; 4].repeat(3));
        pair.deliver(Side::Client, plaintext(ContentType::HANDSHAKE, &flight)).unwrap();
        pair.handshake().unwrap();
        check_traffic(&mut pair);
    }
}

/// In TLS 1.2 a warning is one, before the handshake, in it and after it; a fatal alert is the end at any level but this.
#[test]
fn warnings() {
    for warning in [Alert::NO_RENEGOTIATION, Alert::UNRECOGNIZED_NAME, Alert::BAD_CERTIFICATE, Alert(199)] {
        for victim in Side::BOTH {
            let (mut pair, _, mut forge) = connected(victim.other());
            let record = forge.record(ContentType::ALERT, &[1, warning.0]);
            pair.deliver(victim, record).unwrap();
            let data = forge.record(ContentType::APPLICATION_DATA, b"data");
            assert_eq!(pair.receive(victim, data).unwrap(), b"data");
            for level in [0, 2, 255] {
                let (mut pair, _, mut forge) = connected(victim.other());
                let record = forge.record(ContentType::ALERT, &[level, warning.0]);
                let error = Error::AlertReceived(warning);
                assert_eq!(pair.deliver(victim, record), Err(Failed { side: victim, error }), "level {level}");
            }
        }
    }
    // As a server that does not like the name does, before ServerHello (RFC 6066, 3). In TLS 1.3 all alerts are fatal.
    let warning = || plaintext(ContentType::ALERT, &[1, Alert::UNRECOGNIZED_NAME.0]);
    for (versions, taken) in [(&VERSIONS[..], true), (&VERSIONS[1..], true), (&VERSIONS[..1], false)] {
        let mut setup = Setup::new(PROVIDER, PROVIDER, CHAIN);
        setup.client.versions(versions.to_vec());
        for victim in Side::BOTH {
            setup.server.versions(versions.to_vec());
            let mut pair = setup.pair(1);
            assert_eq!(pair.deliver(victim, warning()).is_ok(), taken, "{versions:?}, {victim:?}");
            if taken {
                pair.handshake().unwrap();
            }
        }
    }
}

/// Only a few warnings are accepted.
#[test]
fn too_many_warnings() {
    let (mut pair, _, mut forge) = connected(Side::Server);
    let mut warnings = 0;
    let error = loop {
        let record = forge.record(ContentType::ALERT, &[1, Alert::NO_RENEGOTIATION.0]);
        match pair.deliver(Side::Client, record) {
            Ok(()) => warnings += 1,
            Err(failed) => break failed.error,
        }
        assert!(warnings < 100);
    };
    assert_eq!((error, warnings), (PeerMisbehaved::TooManyEmptyRecords.into(), 32));
}
