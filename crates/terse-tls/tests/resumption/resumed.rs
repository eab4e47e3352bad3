//! A resumed handshake has the peers of the first one, and none of its certificates.

use alloc::sync::Arc;

use terse_testkit::fault::{first, set_extension};
use terse_testkit::pair::{Pair, Side};
use terse_testkit::pki::{CLIENT_NAME, SERVER_NAME};
use terse_testkit::setup::Setup;
use terse_tls::crypto::CryptoProvider;
use terse_tls::summary::{AuthenticatedBy, EarlyDataStatus, Mode};
use terse_tls::{CipherSuite, ExtensionType, HandshakeType};

use super::world::{CHAIN, Kept, Sent, World, extensions_of, hello_has, hellos, mode, shown_ticket};

pub(crate) const PROVIDERS: [&CryptoProvider; 2] = [&terse_aws_lc::PROVIDER, &terse_rustcrypto::PROVIDER];

#[test]
fn has_the_same_peers_without_certificates() {
    for (kept, client, server) in
        Kept::BOTH.into_iter().flat_map(|kept| PROVIDERS.map(|client| (kept, client, PROVIDERS[kept as usize])))
    {
        let mut world = World::from(Setup::mutual(client, server, CHAIN), kept);
        assert_eq!(world.mode(0), Mode::Full);
        let pair = world.connect(60);
        assert_eq!(mode(&pair), Mode::Resumed);
        check_peers(&pair);
        for summary in [pair.client.summary(), pair.server.summary()] {
            let messages: Vec<_> = summary.sent.messages.iter().map(|(kind, _)| *kind).collect();
            assert!(
                !messages.contains(&HandshakeType::CERTIFICATE)
                    && !messages.contains(&HandshakeType::CERTIFICATE_VERIFY)
            );
            assert_eq!((summary.round_trips, summary.early_data), (1, EarlyDataStatus::None));
            assert_eq!((summary.signatures_verified, summary.signatures_saved), (0, 2));
            assert_eq!((summary.fallback, &summary.cached[..]), (None, &[][..]));
        }
    }
}

pub(crate) fn check_peers(pair: &Pair) {
    for (connection, name) in [(&pair.client, SERVER_NAME), (&pair.server, CLIENT_NAME)] {
        let peer = &connection.summary().peer;
        assert_eq!(peer.identity.as_ref().map(ToString::to_string).as_deref(), Some(name));
        assert_eq!((peer.authenticated_by, peer.time_unchecked), (AuthenticatedBy::Certificate, false));
        assert_eq!(peer.psk_identity, None);
    }
}

#[test]
fn knows_nothing_of_a_client_that_was_not_asked() {
    for kept in Kept::BOTH {
        let provider = &terse_aws_lc::PROVIDER;
        let mut world = World::from(Setup::new(provider, provider, CHAIN), kept);
        world.connect(0);
        let pair = world.connect(1);
        assert_eq!(mode(&pair), Mode::Resumed);
        let peer = &pair.server.summary().peer;
        assert_eq!((&peer.identity, peer.authenticated_by), (&None, AuthenticatedBy::None));
    }
}

#[test]
fn both_sides_have_new_keys() {
    let mut world = World::new(Kept::InTickets);
    let exported = [0, 1].map(|seconds| {
        let pair = world.connect(seconds);
        let [client, server] = [&pair.client, &pair.server].map(|side| {
            let mut secret = [0; 32];
            side.export_keying_material(b"EXPORTER-test", None, &mut secret).unwrap();
            secret
        });
        assert_eq!(client, server);
        client
    });
    assert_ne!(exported[0], exported[1]);
}

#[test]
fn follows_upon_each_other() {
    for kept in Kept::BOTH {
        let mut world = World::new(kept);
        let modes: Vec<_> = (0..6).map(|n| world.mode(n)).collect();
        assert_eq!(modes[0], Mode::Full);
        assert!(modes[1..].iter().all(|mode| *mode == Mode::Resumed), "{modes:?}");
        assert_eq!(world.sessions.len(), 1);
    }
}

/// A client shows a ticket only once (RFC 9846, C.4).
#[test]
fn a_ticket_is_shown_once() {
    for kept in Kept::BOTH {
        let mut world = World::new(kept);
        world.connect(0);
        let mut shown = Vec::new();
        for n in 0..4 {
            shown.push(shown_ticket(&world.connect(n)).unwrap());
        }
        // A connection that fails has used its ticket up, too.
        let mut failed = world.pair(5);
        failed.transmit(Side::Client);
        shown.push(shown_ticket(&failed).unwrap());
        drop(failed);
        let mut next = world.connect(6);
        assert_eq!(shown_ticket(&next), None);
        next.close().unwrap();
        shown.push(shown_ticket(&world.connect(7)).unwrap());
        let all = shown.len();
        shown.sort();
        shown.dedup();
        assert_eq!(shown.len(), all);
    }
}

#[test]
fn connections_at_once_show_different_tickets_or_none() {
    let mut world = World::new(Kept::InStore);
    world.connect(0);
    let mut pairs = [0; 3].map(|_| world.pair(1));
    for pair in &mut pairs {
        pair.handshake().unwrap();
    }
    let shown = pairs.iter().filter_map(shown_ticket).count();
    assert_eq!(shown, 1);
    assert_eq!(pairs.iter().filter(|pair| mode(pair) == Mode::Resumed).count(), 1);
    let mut pairs = [0; 4].map(|_| world.pair(2));
    pairs.iter_mut().for_each(|pair| pair.handshake().unwrap());
    assert_eq!(pairs.iter().filter(|pair| mode(pair) == Mode::Resumed).count(), 3, "each had left a ticket");
}

/// Only a client that can use a ticket gets one (RFC 9846, 4.3.9).
#[test]
fn who_does_not_resume_neither_asks_for_tickets_nor_gets_any() {
    let sent = Arc::new(Sent::default());
    let mut world = World::new(Kept::InTickets);
    world.setup.server.trace(sent.clone());
    world.setup.client.resumption(None);
    let pair = world.connect(0);
    assert!(!hello_has(&pair, ExtensionType::PSK_KEY_EXCHANGE_MODES));
    assert!(!hello_has(&pair, ExtensionType::PRE_SHARED_KEY) && !hello_has(&pair, ExtensionType::EARLY_DATA));
    assert_eq!(sent.of(HandshakeType::NEW_SESSION_TICKET), [0_usize; 0]);

    let mut world = World::new(Kept::InTickets);
    world.setup.server.trace(sent.clone());
    world.setup.server.resumption(None);
    assert_eq!([world.mode(0), world.mode(1)], [Mode::Full; 2]);
    assert_eq!(sent.of(HandshakeType::NEW_SESSION_TICKET), [0_usize; 0]);
}

#[test]
fn a_client_of_the_other_mode_gets_neither_ticket_nor_session() {
    let sent = Arc::new(Sent::default());
    let mut world = World::new(Kept::InTickets);
    world.connect(0);
    world.setup.server.trace(sent.clone());
    world.setup.client.fault(Some(first(HandshakeType::CLIENT_HELLO, |hello| {
        set_extension(hello, ExtensionType::PSK_KEY_EXCHANGE_MODES, &[1, 0]); // psk_ke
    })));
    assert_eq!(world.mode(1), Mode::Full);
    assert_eq!(sent.of(HandshakeType::NEW_SESSION_TICKET), [0_usize; 0]);
}

#[test]
fn survives_a_hello_retry_request() {
    for (kept, cookie) in [(Kept::InTickets, false), (Kept::InStore, true), (Kept::InTickets, true)] {
        let mut world = World::new(kept);
        world.connect(0);
        world.setup = world.setup.with_hello_retry(cookie);
        let pair = world.connect(1);
        assert_eq!((mode(&pair), pair.server.summary().round_trips), (Mode::Resumed, 2));
        check_peers(&pair);
        assert_eq!(world.mode(2), Mode::Resumed, "from a resumed one");
    }
}

/// A resumed connection may have another suite, if its hash is the same (RFC 9846, 4.7.1).
#[test]
fn goes_on_with_another_suite_of_the_same_hash() {
    for kept in Kept::BOTH {
        let mut world = World::new(kept);
        let suite = world.connect(0).client.summary().cipher_suite.unwrap();
        assert_ne!(suite, CipherSuite::TLS_AES_256_GCM_SHA384);
        world.setup.server.edit_suites(|list| list.retain(|other| *other != suite));
        let pair = world.connect(1);
        assert_eq!(mode(&pair), Mode::Resumed);
        assert_ne!(pair.client.summary().cipher_suite, Some(suite));
        world.setup.server.suites(vec![CipherSuite::TLS_AES_256_GCM_SHA384]);
        assert_eq!(world.mode(2), Mode::Full);
        assert_eq!(world.mode(3), Mode::Resumed, "with the other hash");
    }
}

/// The server would rather have the other hash, but the session decides.
#[test]
fn the_session_chooses_the_suite() {
    let mut world = World::new(Kept::InTickets);
    let suite = world.connect(0).client.summary().cipher_suite.unwrap();
    world.setup.server.edit_suites(|list| list.insert(0, CipherSuite::TLS_AES_256_GCM_SHA384));
    world.setup.server.edit_suites(|list| list.dedup());
    let pair = world.connect(1);
    assert_eq!((mode(&pair), pair.client.summary().cipher_suite), (Mode::Resumed, Some(suite)));
}

#[test]
fn a_hello_retry_request_of_another_hash_leaves_the_session_out() {
    let mut world = World::new(Kept::InTickets);
    world.connect(0);
    world.setup = world.setup.with_hello_retry(false);
    world.setup.server.suites(vec![CipherSuite::TLS_AES_256_GCM_SHA384]);
    let pair = world.connect(1);
    assert_eq!((mode(&pair), pair.server.summary().round_trips), (Mode::Full, 2));
    let [first, second] = hellos(&pair).try_into().unwrap();
    let offers = |hello| extensions_of(hello).iter().any(|(kind, _)| *kind == ExtensionType::PRE_SHARED_KEY);
    assert_eq!((offers(first), offers(second)), (true, false), "RFC 9846, 4.2.4");
}

#[test]
fn works_in_compatibility_mode_and_byte_by_byte() {
    let mut world = World::new(Kept::InStore);
    world.setup.client.compatibility_mode(true);
    world.connect(0);
    let mut pair = world.pair(1);
    pair.stretch = 1;
    pair.handshake().unwrap();
    assert_eq!(mode(&pair), Mode::Resumed);
}

#[test]
fn a_ticket_counts_after_the_handshake_only() {
    let sent = Arc::new(Sent::default());
    let mut world = World::new(Kept::InTickets);
    world.setup.server.trace(sent.clone());
    for seconds in 0..2 {
        let pair = world.connect(seconds);
        let [client, server] = [pair.client.summary(), pair.server.summary()];
        assert_eq!(client.received.record_bytes, server.sent.record_bytes);
        assert_eq!(client.received.post_handshake_bytes, server.sent.post_handshake_bytes);
        let len = sent.of(HandshakeType::NEW_SESSION_TICKET)[seconds as usize];
        assert_eq!(server.sent.post_handshake_bytes, (5 + len + 1 + 16) as u64);
        assert!(server.sent.messages.iter().all(|(kind, _)| *kind != HandshakeType::NEW_SESSION_TICKET));
    }
}
