//! These tests show what both sides refuse in TLS 1.2, and with which alert (RFC 5246, 7.3 and 7.4.1.3; RFC 5077, 3; RFC
//! 7627, 5.3). A connection that fails does not give its session back, unless it is the client's last message that fails.

use alloc::sync::Arc;

use terse_testkit::fault::{add_extension, edit_suites, first, message, remove_extension};
use terse_testkit::forge::{KeyLogLines, plaintext, records};
use terse_testkit::pair::{Failed, Pair, Side};
use terse_tls::cache::NotSaved;
use terse_tls::crypto::CryptoError;
use terse_tls::resume::{
    MemoryClientSessions, MemorySessionStore, ServerResumption, ServerSessionStore, SessionId, SessionRecord,
};
use terse_tls::summary::Mode;
use terse_tls::{
    AlertDescription as Alert, CipherSuite, ContentType, Error, ExtensionType as Ext, HandshakeType, PeerIncompatible,
    PeerMisbehaved, ProtocolVersion,
};

use super::world::{Kept, LIFETIME, World, mode, shown12};

const CH: HandshakeType = HandshakeType::CLIENT_HELLO;
const SH: HandshakeType = HandshakeType::SERVER_HELLO;
const NST: HandshakeType = HandshakeType::NEW_SESSION_TICKET;
const FINISHED: HandshakeType = HandshakeType::FINISHED;

/// A session, and neither side insists on the extended master secret: it must be for the session's sake.
fn with_session(kept: Kept) -> World {
    let mut world = World::of(ProtocolVersion::TLS_1_2, kept);
    for side in Side::BOTH {
        world.setup.common(side).set_require_extended_master_secret(false);
    }
    world.connect(0);
    world
}

/// A connection in which `victim`'s peer alters its first message of `kind`.
fn check(
    world: &mut World,
    victim: Side,
    kind: HandshakeType,
    alter: impl Fn(&mut Vec<u8>) + Send + 'static,
    error: impl Into<Error>,
    alert: Alert,
) {
    world.setup.common(victim.other()).set_fault(Some(first(kind, alter)));
    let mut pair = world.pair(1);
    let failed = pair.run().unwrap_err();
    check_refusal(&mut pair, victim, (failed.side, failed.error), error, alert);
    assert_eq!(world.sessions.is_empty(), (victim, kind) != (Side::Server, FINISHED));
}

fn check_refusal(pair: &mut Pair, victim: Side, failed: (Side, Error), error: impl Into<Error>, alert: Alert) {
    assert_eq!(failed, (victim, error.into()));
    assert_eq!(pair.failure(victim.other()), Some(&Error::AlertReceived(alert)));
    assert!(!pair.side(victim).0.is_connected());
}

/// The second connection, which would resume.
fn refuses(victim: Side, kind: HandshakeType, alter: fn(&mut Vec<u8>), error: impl Into<Error> + Clone, alert: Alert) {
    for kept in Kept::BOTH {
        check(&mut with_session(kept), victim, kind, alter, error.clone(), alert);
    }
}

/// Changes the session id of a hello.
fn set_id(hello: &mut Vec<u8>, id: &[u8]) {
    let len = usize::from(hello[38]);
    hello.splice(38..39 + len, [&[id.len() as u8], id].concat());
    terse_testkit::fault::fix_length(hello);
}

/// Returns where a ServerHello has its suite.
fn suite_at(hello: &[u8]) -> usize {
    39 + usize::from(hello[38])
}

#[test]
fn a_client_hello_without_the_extended_master_secret() {
    let strip: fn(&mut Vec<u8>) = |m| remove_extension(m, Ext::EXTENDED_MASTER_SECRET);
    let error = PeerIncompatible::NoExtendedMasterSecret;
    refuses(Side::Server, CH, strip, error, Alert::HANDSHAKE_FAILURE);

    // Without a session that is known it is an old client's.
    for kept in Kept::BOTH {
        let mut world = with_session(kept);
        world.setup.server.resumption(Some(world.server_resumption(kept, LIFETIME)));
        world.setup.client.fault(Some(first(CH, strip)));
        assert_eq!(world.mode(1), Mode::Full);
    }
}

#[test]
fn a_server_hello_without_the_extended_master_secret() {
    let strip: fn(&mut Vec<u8>) = |m| remove_extension(m, Ext::EXTENDED_MASTER_SECRET);
    refuses(Side::Client, SH, strip, PeerMisbehaved::ChangedSession, Alert::HANDSHAKE_FAILURE);
}

/// A server that gives sessions all the same: the client keeps none (RFC 7627, 5.4).
#[test]
fn a_session_without_the_extended_master_secret() {
    for is_extended in [false, true] {
        let mut world = World::of(ProtocolVersion::TLS_1_2, Kept::InStore);
        for side in Side::BOTH {
            world.setup.common(side).set_require_extended_master_secret(false);
        }
        world.setup.server.resumption(None);
        let strip = move |m: &mut Vec<u8>| {
            if !is_extended {
                remove_extension(m, Ext::EXTENDED_MASTER_SECRET);
            }
        };
        world.setup.client.fault(Some(first(CH, strip)));
        world.setup.server.fault(Some(first(SH, |m| set_id(m, &[7; 32]))));
        assert_eq!(world.mode(0), Mode::Full);
        assert_eq!(world.sessions.len(), usize::from(is_extended));
    }
}

/// The server selects a suite that is enabled and offered, but is not the session's.
#[test]
fn a_server_hello_with_another_suite() {
    let other: fn(&mut Vec<u8>) = |m| {
        let at = suite_at(m);
        let other = CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384;
        assert_ne!(m[at..at + 2], other.0.to_be_bytes());
        m[at..at + 2].copy_from_slice(&other.0.to_be_bytes());
    };
    refuses(Side::Client, SH, other, PeerMisbehaved::ChangedSession, Alert::HANDSHAKE_FAILURE);
    let unknown: fn(&mut Vec<u8>) = |m| {
        let at = suite_at(m);
        m[at..at + 2].fill(0xfe);
    };
    refuses(Side::Client, SH, unknown, PeerMisbehaved::SelectedUnofferedSuite, Alert::ILLEGAL_PARAMETER);
}

/// The client does not offer the session's suite any more, and the server takes another one (RFC 5246, 7.4.1.2).
#[test]
fn a_client_hello_without_the_suite() {
    for kept in Kept::BOTH {
        let mut world = with_session(kept);
        let suite = world.connect(1).client.summary().cipher_suite.unwrap();
        world.setup.client.fault(Some(first(CH, move |m| edit_suites(m, |all| all.retain(|id| *id != suite)))));
        let pair = world.connect(2);
        assert_eq!(mode(&pair), Mode::Full);
        assert_ne!(pair.client.summary().cipher_suite, Some(suite));
    }
}

/// Another id than the client's means a full handshake: no Finished may come instead.
#[test]
fn a_server_hello_with_another_id() {
    for id in [&[][..], &[7; 8], &[7; 16], &[7; 32]] {
        for kept in Kept::BOTH {
            let mut world = with_session(kept);
            let error = PeerMisbehaved::BadChangeCipherSpec;
            check(&mut world, Side::Client, SH, |m| set_id(m, id), error, Alert::UNEXPECTED_MESSAGE);
        }
    }
}

/// The id of compatibility mode comes back, as if there were a session.
#[test]
fn a_server_hello_with_an_id_that_stands_for_no_session() {
    let mut world = World::of(ProtocolVersion::TLS_1_2, Kept::InTickets);
    world.setup.client.edit_versions(|list| list.insert(0, ProtocolVersion::TLS_1_3));
    world.setup.client.compatibility_mode(true);
    let mut unaltered = world.pair(0);
    unaltered.handshake().unwrap();
    assert_eq!(shown12(&unaltered).0.len(), 32);
    world.sessions = Arc::new(MemoryClientSessions::new(4));
    let mut resumption = world.setup.client.config().resumption().unwrap().clone();
    resumption.store = world.sessions.clone();
    world.setup.client.resumption(resumption);
    let mut pair = world.pair(1);
    let hello = pair.transmit(Side::Client);
    let id = hello[5 + 39..5 + 39 + 32].to_vec();
    drop(pair);
    // The same seed makes the same ClientHello.
    world.setup.server.fault(Some(first(SH, move |m| set_id(m, &id))));
    let (client, server) =
        (Arc::new(world.setup.client.build().unwrap()), Arc::new(world.setup.server.build().unwrap()));
    let mut pair = Pair::at(&client, &server, 2, terse_testkit::pair::at(1));
    assert_eq!(pair.transmit(Side::Client), hello);
    pair.deliver(Side::Server, hello).unwrap();
    let failed = pair.run().unwrap_err();
    let error = PeerMisbehaved::IllegalLegacyField;
    check_refusal(&mut pair, Side::Client, (failed.side, failed.error), error, Alert::ILLEGAL_PARAMETER);
}

#[test]
fn a_ticket_that_was_announced_and_does_not_come() {
    let announce: fn(&mut Vec<u8>) = |m| add_extension(m, Ext::SESSION_TICKET, b"");
    let error = PeerMisbehaved::BadChangeCipherSpec;
    refuses(Side::Client, SH, announce, error, Alert::UNEXPECTED_MESSAGE);
    // In a full handshake.
    let mut world = World::of(ProtocolVersion::TLS_1_2, Kept::InTickets);
    check(&mut world, Side::Client, NST, Vec::clear, error, Alert::UNEXPECTED_MESSAGE);
}

/// `bytes` follow the ServerHello of a resumed handshake, in its record and in one of their own.
fn refuses_after_server_hello(bytes: &'static [u8], own_record: impl Into<Error> + Clone) {
    for kept in Kept::BOTH {
        let append = move |m: &mut Vec<u8>| m.extend_from_slice(bytes);
        let error = PeerMisbehaved::MessageCrossesKeyChange; // ServerHello is the last one in the clear
        check(&mut with_session(kept), Side::Client, SH, append, error, Alert::UNEXPECTED_MESSAGE);

        let mut pair = with_session(kept).pair(1);
        step(&mut pair, Side::Client, |_| {}).unwrap();
        let insert = |records: &mut Vec<Vec<u8>>| records.insert(1, plaintext(ContentType::HANDSHAKE, bytes));
        let failed = step(&mut pair, Side::Server, insert).unwrap_err();
        pair.run().unwrap_err();
        let failed = (failed.side, failed.error);
        check_refusal(&mut pair, Side::Client, failed, own_record.clone(), Alert::UNEXPECTED_MESSAGE);
    }
}

/// Carries what `side` sends, with its records changed.
fn step(pair: &mut Pair, side: Side, change: impl FnOnce(&mut Vec<Vec<u8>>)) -> Result<(), Failed> {
    let mut records = records(&pair.transmit(side));
    change(&mut records);
    pair.deliver(side.other(), records.concat())
}

#[test]
fn a_ticket_that_was_not_announced() {
    let error = PeerMisbehaved::UnexpectedRecord(ContentType::HANDSHAKE);
    refuses_after_server_hello(&[4, 0, 0, 10, 0, 0, 1, 0, 0, 4, 1, 2, 3, 4], error);
    // In a full handshake.
    let mut world = World::of(ProtocolVersion::TLS_1_2, Kept::InTickets);
    let strip = |m: &mut Vec<u8>| remove_extension(m, Ext::SESSION_TICKET);
    check(&mut world, Side::Client, SH, strip, error, Alert::UNEXPECTED_MESSAGE);
}

#[test]
fn a_ticket_that_nobody_asked_for() {
    let mut world = World::of(ProtocolVersion::TLS_1_2, Kept::InTickets);
    world.setup.client.resumption(None);
    let error = PeerMisbehaved::UnsolicitedExtension(Ext::SESSION_TICKET);
    let announce = |m: &mut Vec<u8>| add_extension(m, Ext::SESSION_TICKET, b"");
    check(&mut world, Side::Client, SH, announce, error, Alert::UNSUPPORTED_EXTENSION);
}

/// A server that renews its ticket in a resumed handshake may do so (RFC 5077, 3.3): the new one counts. An empty one
/// leaves the old one.
#[test]
fn a_ticket_that_is_renewed() {
    for (ticket, is_new) in [(&[1, 2, 3, 4][..], true), (&[], false)] {
        let mut world = with_session(Kept::InTickets);
        let old = shown12(&world.connect(1)).1.unwrap();
        let renewed = message(NST, &[&[0, 0, 1, 0, 0, ticket.len() as u8], ticket].concat());
        world.setup.server.fault(Some(first(SH, move |m| {
            add_extension(m, Ext::SESSION_TICKET, b"");
            m.extend_from_slice(&renewed);
        })));
        let pair = world.connect(2);
        assert_eq!(mode(&pair), Mode::Resumed);
        world.setup.server.fault(None);
        let pair = world.connect(3);
        assert_eq!(shown12(&pair).1.unwrap(), if is_new { ticket.to_vec() } else { old });
        assert_eq!(mode(&pair), if is_new { Mode::Full } else { Mode::Resumed });
    }
}

#[test]
fn a_wrong_finished() {
    for side in Side::BOTH {
        refuses(side, FINISHED, |m| m[10] ^= 1, PeerMisbehaved::BadFinished, Alert::DECRYPT_ERROR);
    }
}

/// A full handshake's messages come in a resumed handshake.
#[test]
fn a_certificate_in_a_resumed_handshake() {
    let error = PeerMisbehaved::UnexpectedRecord(ContentType::HANDSHAKE);
    refuses_after_server_hello(&[11, 0, 0, 3, 0, 0, 0], error);
    refuses_after_server_hello(&[14, 0, 0, 0], error);
}

#[test]
fn a_missing_change_cipher_spec() {
    for (kept, cheat) in Kept::BOTH.into_iter().flat_map(|kept| Side::BOTH.map(|side| (kept, side))) {
        let mut pair = with_session(kept).pair(1);
        let strip = |records: &mut Vec<Vec<u8>>| {
            let all = records.len();
            records.retain(|record| record[0] != ContentType::CHANGE_CIPHER_SPEC.0);
            assert_eq!(all - records.len(), 1);
        };
        step(&mut pair, Side::Client, |_| {}).unwrap();
        let result = match cheat {
            Side::Server => step(&mut pair, Side::Server, strip),
            Side::Client => step(&mut pair, Side::Server, |_| {}).and_then(|()| step(&mut pair, Side::Client, strip)),
        };
        let failed = result.unwrap_err();
        pair.run().unwrap_err();
        let error = PeerMisbehaved::UnexpectedRecord(ContentType::HANDSHAKE);
        check_refusal(&mut pair, cheat.other(), (failed.side, failed.error), error, Alert::UNEXPECTED_MESSAGE);
    }
}

/// A server must not reply to the caching extensions when it resumes (docs/caching.md, 4.6).
#[test]
fn a_caching_reply_in_a_resumed_server_hello() {
    for kept in Kept::BOTH {
        for body in [&b""[..], &[0, 0], &[0, 1, 1]] {
            let mut world = super::beside_caching::cached(ProtocolVersion::TLS_1_2, kept);
            let reply = move |m: &mut Vec<u8>| add_extension(m, Ext::CLIENT_CACHED_INFO, body);
            let error = PeerMisbehaved::IllegalCachingReply;
            check(&mut world, Side::Client, SH, reply, error, Alert::ILLEGAL_PARAMETER);
            // Not offered beside a session.
            let mut world = super::beside_caching::cached(ProtocolVersion::TLS_1_2, kept);
            let reply = move |m: &mut Vec<u8>| add_extension(m, Ext::CACHED_INFO, body);
            let error = PeerMisbehaved::UnsolicitedExtension(Ext::CACHED_INFO);
            check(&mut world, Side::Client, SH, reply, error, Alert::UNSUPPORTED_EXTENSION);
            // Offered all the same, it still must not be answered.
            let mut world = super::beside_caching::cached(ProtocolVersion::TLS_1_2, kept);
            let mut resumption = world.setup.client.config().resumption().unwrap().clone();
            resumption.offers_cached_objects = true;
            world.setup.client.resumption(resumption);
            let reply = move |m: &mut Vec<u8>| add_extension(m, Ext::CACHED_INFO, body);
            let error = PeerMisbehaved::IllegalCachingReply;
            check(&mut world, Side::Client, SH, reply, error, Alert::ILLEGAL_PARAMETER);
        }
    }
}

/// Changes one byte of `secret`, which is somewhere in `bytes`.
fn poison(mut bytes: Vec<u8>, secret: &[u8]) -> Vec<u8> {
    let at = bytes.windows(secret.len()).position(|window| window == secret).expect("the master secret is kept");
    bytes[at + 20] ^= 1;
    bytes
}

/// The world after a full handshake, and its master secret.
fn with_secret(world: &mut World) -> Vec<u8> {
    let log = Arc::new(KeyLogLines::default());
    world.setup.server.key_log(log.clone());
    world.connect(0);
    log.secret("CLIENT_RANDOM")
}

/// Whoever can spoil the client's store ends connections, and learns nothing.
#[test]
fn another_master_secret_of_the_client() {
    for kept in Kept::BOTH {
        let mut world = World::of(ProtocolVersion::TLS_1_2, kept);
        let secret = with_secret(&mut world);
        let poisoned = poison(world.sessions.to_bytes().to_vec(), &secret);
        world.sessions = Arc::new(MemoryClientSessions::from_bytes(&poisoned, 4).unwrap());
        let mut resumption = world.setup.client.config().resumption().unwrap().clone();
        resumption.store = world.sessions.clone();
        world.setup.client.resumption(resumption);
        let nothing = |_: &mut Vec<u8>| {};
        check(&mut world, Side::Client, SH, nothing, CryptoError::DecryptFailed, Alert::BAD_RECORD_MAC);
    }
}

/// A store whose sessions are spoilt when they are found again.
struct Poisoned {
    store: MemorySessionStore,
    log: Arc<KeyLogLines>,
}

impl ServerSessionStore for Poisoned {
    fn put(&self, id: SessionId, record: SessionRecord) -> Result<(), NotSaved> {
        self.store.put(id, record)
    }

    fn find(&self, id: &SessionId) -> Option<SessionRecord> {
        let bytes = poison(self.store.find(id)?.to_bytes().to_vec(), &self.log.secret("CLIENT_RANDOM"));
        Some(SessionRecord::from_bytes(&bytes).expect("still a session"))
    }

    fn take(&self, id: &SessionId) -> Option<SessionRecord> {
        self.store.take(id)
    }
}

#[test]
fn another_master_secret_of_the_server() {
    let mut world = World::of(ProtocolVersion::TLS_1_2, Kept::InStore);
    let log = Arc::new(KeyLogLines::default());
    world.setup.client.key_log(log.clone());
    let store = Arc::new(Poisoned { store: MemorySessionStore::new(4), log });
    world.setup.server.resumption(Some(ServerResumption::Stateful { store, lifetime_seconds: LIFETIME }));
    world.connect(0);
    let nothing = |_: &mut Vec<u8>| {};
    check(&mut world, Side::Client, SH, nothing, CryptoError::DecryptFailed, Alert::BAD_RECORD_MAC);
}
