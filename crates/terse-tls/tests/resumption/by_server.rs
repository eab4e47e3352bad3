//! A server is hostile: these tests show what a client refuses, and with which alert.

use alloc::sync::Arc;

use terse_testkit::fault::{add_extension, first, remove_extension, set_extension};
use terse_testkit::pair::Side;
use terse_tls::resume::{ExternalPsk, MemoryPskStore};
use terse_tls::summary::Mode;
use terse_tls::{
    AlertDescription as Alert, Error, ExtensionType as Ext, HandshakeType, InvalidMessage, PeerMisbehaved,
    ProtocolVersion,
};

use super::world::{Kept, World, run};

const SH: HandshakeType = HandshakeType::SERVER_HELLO;
const EE: HandshakeType = HandshakeType::ENCRYPTED_EXTENSIONS;

/// A second connection, with early data where `early`, of which the server's first message of `kind` is altered.
fn refuses(early: bool, kind: HandshakeType, alter: fn(&mut Vec<u8>), error: impl Into<Error>, alert: Alert) {
    let mut world = if early { World::with_early_data(Kept::InTickets) } else { World::new(Kept::InTickets) };
    world.connect(0);
    check(world, kind, alter, error, alert);
}

fn check(mut world: World, kind: HandshakeType, alter: fn(&mut Vec<u8>), error: impl Into<Error>, alert: Alert) {
    world.setup.server.fault(Some(first(kind, alter)));
    let mut pair = world.pair(1);
    let error = error.into();
    let failed = run(&mut pair).unwrap_err();
    assert_eq!((failed.side, &failed.error), (Side::Client, &error));
    assert_eq!(failed.error.alert(), Some(alert));
    assert!(!pair.client.is_connected());
}

const SELECTION: PeerMisbehaved = PeerMisbehaved::IllegalPskSelection;

#[test]
fn an_index_out_of_range() {
    for index in [1_u8, 2, 255] {
        let mut world = World::new(Kept::InTickets);
        world.connect(0);
        let alter = move |m: &mut Vec<u8>| set_extension(m, Ext::PRE_SHARED_KEY, &[0, index]);
        world.setup.server.fault(Some(first(SH, alter)));
        let failed = world.refused(1);
        assert_eq!((failed.side, failed.error), (Side::Client, SELECTION.into()));
    }
}

#[test]
fn a_key_of_another_hash() {
    refuses(false, SH, |m| m[39..41].copy_from_slice(&[0x13, 2]), SELECTION, Alert::ILLEGAL_PARAMETER);
}

#[test]
fn a_key_without_a_share() {
    refuses(false, SH, |m| remove_extension(m, Ext::KEY_SHARE), SELECTION, Alert::ILLEGAL_PARAMETER);
}

#[test]
fn a_key_that_was_not_offered() {
    let mut world = World::new(Kept::InTickets);
    world.setup.server.fault(Some(first(SH, |m| add_extension(m, Ext::PRE_SHARED_KEY, &[0, 0]))));
    let failed = world.refused(0);
    let error = PeerMisbehaved::UnsolicitedExtension(Ext::PRE_SHARED_KEY);
    assert_eq!((failed.side, &failed.error), (Side::Client, &error.into()));
    assert_eq!(failed.error.alert(), Some(Alert::UNSUPPORTED_EXTENSION));
}

#[test]
fn modes_from_the_server() {
    let error = PeerMisbehaved::MisplacedExtension(Ext::PSK_KEY_EXCHANGE_MODES);
    let alter = |m: &mut Vec<u8>| add_extension(m, Ext::PSK_KEY_EXCHANGE_MODES, &[1, 1]);
    refuses(false, EE, alter, error, Alert::ILLEGAL_PARAMETER);
}

/// The server says that it took no key, but goes on with it, so the keys of both sides differ.
#[test]
fn a_selection_that_is_not_meant() {
    let alter = |m: &mut Vec<u8>| remove_extension(m, Ext::PRE_SHARED_KEY);
    let error = terse_tls::crypto::CryptoError::DecryptFailed;
    refuses(false, SH, alter, error, Alert::BAD_RECORD_MAC);
}

/// No Certificate, CertificateRequest or CertificateVerify stands beside a key.
#[test]
fn certificates_beside_a_key() {
    for (kind, message) in [
        (HandshakeType::CERTIFICATE, &[11, 0, 0, 4, 0, 0, 0, 0][..]),
        (HandshakeType::CERTIFICATE_REQUEST, &[13, 0, 0, 11, 0, 0, 8, 0, 13, 0, 4, 0, 2, 8, 7]),
        (HandshakeType::CERTIFICATE_VERIFY, &[15, 0, 0, 4, 8, 7, 0, 0]),
        (HandshakeType::END_OF_EARLY_DATA, &[5, 0, 0, 0]),
    ] {
        let mut world = World::new(Kept::InTickets);
        world.connect(0);
        world.setup.server.fault(Some(first(EE, move |m| m.extend_from_slice(message))));
        let failed = world.refused(1);
        let error = PeerMisbehaved::UnexpectedHandshakeMessage(kind);
        assert_eq!((failed.side, failed.error), (Side::Client, error.into()));
    }
}

#[test]
fn early_data_that_was_not_sent() {
    let error = PeerMisbehaved::UnsolicitedExtension(Ext::EARLY_DATA);
    refuses(false, EE, |m| add_extension(m, Ext::EARLY_DATA, b""), error, Alert::UNSUPPORTED_EXTENSION);
}

/// Early data is accepted only with the key that it came under, and with what belongs to that key (RFC 9846, 4.3.10).
#[test]
fn early_data_that_must_not_be_taken() {
    let error = PeerMisbehaved::IllegalEarlyData;
    let accept: fn(&mut Vec<u8>) = |m| add_extension(m, Ext::EARLY_DATA, b"");

    // No key was selected.
    let mut world = World::with_early_data(Kept::InTickets);
    world.connect(0);
    world.setup.server.resumption(None).early_data(None);
    check(world, EE, accept, error, Alert::ILLEGAL_PARAMETER);

    // The second key was selected.
    let psk = || ExternalPsk::new(b"sensor-17", &[7; 32]).unwrap();
    let mut world = World::with_early_data(Kept::InTickets);
    world.connect(0);
    world.setup.client.psks(vec![psk()]);
    world.setup.server.psks(Arc::new(MemoryPskStore::new([psk()])));
    world.setup.server.resumption(None).early_data(None);
    check(world, EE, accept, error, Alert::ILLEGAL_PARAMETER);

    // Another suite.
    let mut world = World::with_early_data(Kept::InTickets);
    let suite = world.connect(0).client.summary().cipher_suite.unwrap();
    world.setup.server.edit_suites(|list| list.retain(|other| *other != suite));
    check(world, EE, accept, error, Alert::ILLEGAL_PARAMETER);

    // Another application protocol.
    let mut world = World::with_early_data(Kept::InTickets);
    for side in Side::BOTH {
        world.setup.common(side).set_alpn_protocols(vec![b"mqtt".to_vec(), b"coap".to_vec()]);
    }
    world.connect(0);
    let other: fn(&mut Vec<u8>) = |m| {
        set_extension(m, Ext::APPLICATION_LAYER_PROTOCOL_NEGOTIATION, b"\0\x05\x04coap");
    };
    check(world, EE, other, error, Alert::ILLEGAL_PARAMETER);
}

/// After HelloRetryRequest there is no early data that could be taken.
#[test]
fn early_data_after_a_hello_retry_request() {
    let mut world = World::with_early_data(Kept::InTickets);
    world.connect(0);
    world.setup = world.setup.with_hello_retry(false);
    let error = PeerMisbehaved::UnsolicitedExtension(Ext::EARLY_DATA);
    let accept: fn(&mut Vec<u8>) = |m| add_extension(m, Ext::EARLY_DATA, b"");
    check(world, EE, accept, error, Alert::UNSUPPORTED_EXTENSION);
}

/// A server must not reply to the caching extensions when it resumes (docs/caching.md, 4.6).
#[test]
fn a_caching_reply_beside_a_key() {
    for body in [&b""[..], &[0, 0], &[0, 1, 1]] {
        for kind in [Ext::CLIENT_CACHED_INFO, Ext::CACHED_INFO] {
            let mut world = super::beside_caching::cached(ProtocolVersion::TLS_1_3, Kept::InTickets);
            world.setup.server.fault(Some(first(EE, move |m| {
                remove_extension(m, kind);
                add_extension(m, kind, body);
            })));
            let mut pair = world.pair(5);
            let failed = pair.run().unwrap_err();
            assert_eq!(failed.side, Side::Client);
            // What was not even offered is unsolicited.
            let error: Error = if kind == Ext::CLIENT_CACHED_INFO {
                PeerMisbehaved::IllegalCachingReply.into()
            } else {
                PeerMisbehaved::UnsolicitedExtension(kind).into()
            };
            assert_eq!(failed.error, error);
        }
    }
}

/// A ticket that does not parse ends the connection; one that is worth nothing is left alone.
#[test]
fn tickets() {
    let altered = |alter: fn(&mut Vec<u8>)| {
        let mut world = World::new(Kept::InTickets);
        world.setup.server.fault(Some(first(HandshakeType::NEW_SESSION_TICKET, alter)));
        let result = world.pair(0).run();
        (world, result)
    };
    let (world, result) = altered(|m| {
        m.truncate(20);
        terse_testkit::fault::fix_length(m);
    });
    assert_eq!(result.unwrap_err().error, InvalidMessage::Truncated.into());
    assert!(world.sessions.is_empty());

    let (world, result) = altered(|m| m[4..8].fill(0)); // a lifetime of nothing
    result.unwrap();
    assert!(world.sessions.is_empty());

    let (mut world, result) = altered(|m| m[4..8].fill(0xff)); // longer than seven days
    result.unwrap();
    assert!(!world.sessions.is_empty());
    world.setup.server.fault(None);
    assert_eq!(world.mode(7 * 86_400), Mode::Full);

    // An early_data extension of the wrong form.
    let (_, result) = altered(|m| {
        let at = m.len() - 2;
        m.truncate(at);
        m.extend_from_slice(&[0, 4, 0, 42, 0, 0]);
        terse_testkit::fault::fix_length(m);
    });
    assert_eq!(result.unwrap_err().error, InvalidMessage::Truncated.into());
}

/// More tickets than a client has room for.
#[test]
fn a_flood_of_tickets_fills_nothing() {
    let mut world = World::new(Kept::InTickets);
    world.setup.server.fault(Some(first(HandshakeType::NEW_SESSION_TICKET, |m| {
        let one = m.clone();
        (0..100).for_each(|_| m.extend_from_slice(&one));
    })));
    world.connect(0);
    assert_eq!(world.sessions.len(), 1);
    assert!(world.sessions.to_bytes().len() < 4 * 500);
}
