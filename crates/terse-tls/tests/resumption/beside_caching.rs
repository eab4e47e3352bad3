//! Resumption first, then cached, then full (docs/caching.md, 4.6).

use alloc::sync::Arc;

use terse_testkit::pair::Pair;
use terse_tls::cache::Scheme;
use terse_tls::cache::{ClientCache, MemoryClientStore, MemoryServerStore, Schemes, ServerCache};
use terse_tls::resume::{ExternalPsk, MemoryPskStore};
use terse_tls::summary::{AuthenticatedBy, CachedObject, Mode};
use terse_tls::{ExtensionType, HandshakeType, ProtocolVersion};

use super::world::{Kept, LIFETIME, VERSIONS, World, all, hello_extensions, mode};

/// Both sides cache and resume, and have done so.
pub(crate) fn cached(version: ProtocolVersion, kept: Kept) -> World {
    let mut world = World::of(version, kept);
    let schemes = Schemes::BITHAC;
    world.setup.client.cache(Some(ClientCache::new(Arc::new(MemoryClientStore::new(4)), schemes)));
    world.setup.server.cache(Some(ServerCache::new(Arc::new(MemoryServerStore::new(4)), schemes)));
    assert_eq!(world.mode(0), Mode::Full);
    world
}

/// The bodies of `cached_info` and `client_cached_info`.
fn offer(pair: &Pair) -> [Option<Vec<u8>>; 2] {
    [ExtensionType::CACHED_INFO, ExtensionType::CLIENT_CACHED_INFO]
        .map(|kind| hello_extensions(pair).into_iter().find(|(found, _)| *found == kind).map(|(_, body)| body))
}

fn without_session(world: &mut World) {
    let none = Arc::new(terse_tls::resume::MemoryClientSessions::new(4));
    world.setup.client.edit_resumption(|resumption| resumption.store = none);
}

#[test]
fn a_hello_with_a_session_shows_nothing_of_the_cache() {
    for (version, kept) in all() {
        let mut world = cached(version, kept);
        for seconds in 1..5 {
            let pair = world.connect(seconds);
            assert_eq!(mode(&pair), Mode::Resumed);
            assert_eq!(offer(&pair), [None, Some(vec![])], "support only");
            assert_eq!(pair.client.summary().cached, []);
        }
        without_session(&mut world);
        let pair = world.connect(6);
        assert_eq!(mode(&pair), Mode::Cached(Scheme::Bithac), "what the first handshake left is still good");
        assert!(offer(&pair).iter().all(|body| body.as_ref().is_some_and(|body| !body.is_empty())));
    }
}

#[test]
fn a_resumed_handshake_makes_no_entry() {
    for (version, kept) in all() {
        let mut world = World::of(version, kept);
        world.connect(0);
        let (client, server) = (Arc::new(MemoryClientStore::new(4)), Arc::new(MemoryServerStore::new(4)));
        let schemes = Schemes::BITHAC;
        world.setup.client.cache(Some(ClientCache::new(client.clone(), schemes)));
        world.setup.server.cache(Some(ServerCache::new(server.clone(), schemes)));
        let mut pair = world.connect(1);
        assert_eq!(mode(&pair), Mode::Resumed);
        pair.close().unwrap();
        assert!(client.is_empty() && server.is_empty());
        assert!(pair.server.summary().fallback.is_none());
    }
}

#[test]
fn an_external_key_makes_no_entry_and_gets_no_reply() {
    let psk = || ExternalPsk::new(b"sensor-17", &[7; 32]).unwrap();
    let mut world = cached(ProtocolVersion::TLS_1_3, Kept::InTickets);
    world.setup.client.resumption(None);
    world.setup.client.psks(vec![psk()]);
    world.setup.server.psks(Arc::new(MemoryPskStore::new([psk()])));
    let pair = world.connect(1);
    assert_eq!(mode(&pair), Mode::Psk);
    world.setup.client.psks(vec![]);
    let pair = world.connect(2);
    assert_eq!(mode(&pair), Mode::Cached(Scheme::Bithac));
    let cached = &pair.client.summary().cached;
    assert!(cached.contains(&CachedObject::ClientCertificate), "the ticket that went unanswered is still good");
}

/// Declined, the handshake is a full one that leaves everything for the next.
#[test]
fn a_session_that_is_declined_leads_to_a_full_handshake() {
    for (version, kept) in all() {
        let mut world = cached(version, kept);
        world.setup.server.resumption(Some(world.server_resumption(kept, LIFETIME)));
        let pair = world.connect(1);
        assert_eq!((mode(&pair), offer(&pair)), (Mode::Full, [None, Some(vec![])]));
        world.setup.server.resumption(None);
        world.setup.client.resumption(None);
        assert_eq!(world.mode(2), Mode::Cached(Scheme::Bithac));
    }
}

/// What is declined is cached like a first contact.
#[test]
fn a_full_handshake_after_a_declined_session_makes_an_entry() {
    for (version, kept) in all() {
        let mut world = World::of(version, kept);
        world.connect(0);
        let schemes = Schemes::BITHAC;
        world.setup.client.cache(Some(ClientCache::new(Arc::new(MemoryClientStore::new(4)), schemes)));
        world.setup.server.cache(Some(ServerCache::new(Arc::new(MemoryServerStore::new(4)), schemes)));
        world.setup.server.resumption(Some(world.server_resumption(kept, LIFETIME)));
        let pair = world.connect(1);
        assert_eq!((mode(&pair), offer(&pair)), (Mode::Full, [None, Some(vec![])]));
        drop(pair);
        without_session(&mut world);
        let pair = world.connect(2);
        assert_eq!(mode(&pair), Mode::Cached(Scheme::Bithac));
        assert!(pair.client.summary().cached.contains(&CachedObject::ClientCertificate));
    }
}

/// For applications that prefer bytes to unlinkability.
#[test]
fn objects_can_be_offered_beside_a_session() {
    for (version, kept) in all() {
        let mut world = cached(version, kept);
        let mut resumption = world.setup.client.config().resumption().unwrap().clone();
        resumption.offers_cached_objects = true;
        world.setup.client.resumption(resumption);
        let pair = world.connect(1);
        assert_eq!(mode(&pair), Mode::Resumed);
        assert!(offer(&pair).iter().all(|body| body.as_ref().is_some_and(|body| !body.is_empty())));
        drop(pair);
        world.setup.server.resumption(Some(world.server_resumption(kept, LIFETIME)));
        let pair = world.connect(2);
        assert_eq!(mode(&pair), Mode::Cached(Scheme::Bithac), "declined, but cached");
        let cached = &pair.client.summary().cached;
        assert!(cached.contains(&CachedObject::ClientCertificate), "the ticket beside the first session is still good");
        assert_eq!(pair.client.summary().peer.authenticated_by, AuthenticatedBy::CachedCertificate);
        drop(pair);
        assert_eq!(world.mode(3), Mode::Resumed, "a cached handshake gives tickets, too");
    }
}

/// A cached handshake authenticates: the session that comes of it has its peers.
#[test]
fn a_session_from_a_cached_handshake_has_the_same_peers() {
    for version in VERSIONS {
        let mut world = cached(version, Kept::InStore);
        without_session(&mut world);
        let first = world.connect(1);
        assert_eq!(mode(&first), Mode::Cached(Scheme::Bithac));
        let resumed = world.connect(2);
        assert_eq!(mode(&resumed), Mode::Resumed);
        for side in [|pair: &Pair| pair.client.summary().clone(), |pair: &Pair| pair.server.summary().clone()] {
            assert_eq!(side(&first).peer.identity, side(&resumed).peer.identity);
            assert!(side(&resumed).peer.identity.is_some());
        }
        assert!(resumed.client.summary().sent.messages.iter().all(|(kind, _)| *kind != HandshakeType::CERTIFICATE));
    }
}

/// The ticket of a running connection is held; a resumed one holds none.
#[test]
fn a_resumed_connection_does_not_keep_others_from_their_ticket() {
    for version in VERSIONS {
        let mut world = cached(version, Kept::InTickets);
        let mut resumption = world.setup.client.config().resumption().unwrap().clone();
        resumption.offers_cached_objects = true;
        world.setup.client.resumption(resumption);
        let resumed = world.connect(1);
        assert_eq!(mode(&resumed), Mode::Resumed);
        without_session(&mut world);
        assert_eq!(world.mode(2), Mode::Cached(Scheme::Bithac));
        assert!(resumed.client.is_connected());
    }
}
