//! One cache for both versions (docs/caching.md, 3.1): certificates and tickets serve both, requests are of
//! one. A ClientHello that fits both versions offers the same, whatever the server will say.

use terse_testkit::fault::{self, fault};
use terse_testkit::pair::Side;
use terse_tls::cache::Scheme;
use terse_tls::summary::{AuthenticatedBy, CachedObject, Mode};
use terse_tls::{ExtensionType, HandshakeType, PeerMisbehaved, ProtocolVersion};

use super::messages::Messages;
use super::schedule::request_fingerprint;
use super::world::*;

/// The version `from`, then the other one.
fn both_ways(check: impl Fn(ProtocolVersion, ProtocolVersion)) {
    check(TLS12, TLS13);
    check(TLS13, TLS12);
}

/// Both certificates were learned in one version, and are left out in the other; at once, and back again.
#[test]
fn certificates_and_tickets_serve_both_versions() {
    both_ways(|from, to| {
        let mut world = World::cached(from);
        for version in [to, from, to, to, from] {
            world.speak(&[version]);
            let done = world.assert_cached();
            assert_eq!((done.client.version, done.server.version), (Some(version), Some(version)));
            assert_eq!(done.client.peer.authenticated_by, AuthenticatedBy::CachedCertificate);
            assert_eq!(done.server.peer.authenticated_by, AuthenticatedBy::CachedCertificate);
            assert_eq!((done.client.signatures_verified, done.server.signatures_verified), (0, 0));
        }
    });
}

/// A client of both versions, at a server that is replaced by one of the other version.
#[test]
fn client_of_both_versions() {
    both_ways(|from, to| {
        let mut world = World::new(from);
        world.client.versions(VERSIONS.to_vec());
        assert_eq!(world.connect().unwrap().client.version, Some(from));
        world.assert_cached();
        world.server.versions(vec![to]);
        let done = world.assert_cached();
        assert_eq!(done.client.version, Some(to));
        world.server.versions(VERSIONS.to_vec());
        assert_eq!(world.assert_cached().client.version, Some(TLS13));
    });
}

/// The ticket that a handshake of one version makes is taken up in the other, and joins the lineage of its parent.
#[test]
fn tickets_of_both_versions_are_one_lineage() {
    both_ways(|from, to| {
        let mut world = World::cached(from);
        for round in 0..10 {
            world.speak(&[if round % 2 == 0 { to } else { from }]);
            world.assert_cached();
            assert_eq!(world.server_store.len(), 2, "round {round}");
        }
        // What is lost on the way costs nothing either.
        for until in [Until::ServerFlight, Until::ClientFlight, Until::Commit, Until::Finished] {
            world.speak(&[to]);
            world.connect_until(until).unwrap();
            world.speak(&[from]);
            world.assert_cached();
        }
    });
}

/// The request of one version is not offered to a server that only the other one can be spoken with.
#[test]
fn requests_are_of_one_version() {
    both_ways(|from, to| {
        let mut world = World::new(from).with_long_request();
        let (messages, _) = Messages::of(&mut world);
        let request = |messages: &Messages| messages.find(Side::Server, HandshakeType::CERTIFICATE_REQUEST).to_vec();
        let first = request_fingerprint(from, &request(&messages));
        world.speak(&[to]);
        let offered = world.next_offer().cached_info.expect("the certificate");
        assert_eq!(offered.len(), 2 + 34);
        let (messages, done) = Messages::of(&mut world);
        assert_eq!(done.client.cached, BOTH_CERTIFICATES);
        let second = request_fingerprint(to, &request(&messages));
        assert_ne!(first, second);
        // Both are kept.
        for (version, fingerprint) in [(from, first), (to, second), (from, first)] {
            world.speak(&[version]);
            assert!(world.next_offer().cached_info.unwrap().ends_with(&fingerprint));
            world.assert_cached();
        }
    });
}

/// With both versions on offer the client cannot know which request it will be: it is that of the version that the server
/// spoke last.
#[test]
fn request_of_the_version_that_was_spoken_last() {
    both_ways(|from, to| {
        let mut world = World::new(from).with_long_request();
        world.client.versions(VERSIONS.to_vec());
        world.connect().unwrap();
        world.assert_cached();
        world.server.versions(vec![to]);
        let done = world.connect().unwrap();
        assert_eq!(done.client.version, Some(to));
        assert_eq!(done.client.cached, BOTH_CERTIFICATES, "all but the request");
        assert_eq!(world.assert_cached().client.version, Some(to));
    });
}

/// A hostile server selects the request of another version than its own.
#[test]
fn request_of_another_version_cannot_be_selected() {
    both_ways(|from, to| {
        let mut world = World::new(from).with_long_request();
        world.client.versions(VERSIONS.to_vec());
        let (messages, _) = Messages::of(&mut world);
        let known = request_fingerprint(from, messages.find(Side::Server, HandshakeType::CERTIFICATE_REQUEST));
        world.server.versions(vec![to]);
        let select = fault(move |_, kind, message| match kind {
            HandshakeType::CERTIFICATE_REQUEST if to == TLS12 => {
                *message = fault::message(kind, &[&[32], &known[..]].concat());
            }
            HandshakeType::CERTIFICATE_REQUEST => *message = fault::message(kind, &[&[0, 32], &known[..]].concat()),
            kind if kind == super::messages::reply_of(to) => {
                fault::set_extension(message, ExtensionType::CACHED_INFO, &[0, 2, 1, 2]);
            }
            _ => {}
        });
        let (_, result) = world.connect_with(Side::Server, select);
        let failed = result.unwrap_err();
        assert_eq!((failed.side, failed.error), (Side::Client, PeerMisbehaved::IllegalCachingReply.into()));
    });
}

/// A ticket of one version, for a client whose certificate was never sent in the other, in a handshake of which every
/// flight is lost once.
#[test]
fn losses_between_versions() {
    both_ways(|from, to| {
        for until in [Until::ClientHello, Until::ServerFlight, Until::ClientFlight, Until::Commit, Until::Finished] {
            let mut world = World::cached(from);
            world.speak(&[to]);
            for _ in 0..5 {
                world.connect_until(until).unwrap();
            }
            assert_eq!(world.assert_cached().client.mode, Mode::Cached(Scheme::Bithac));
            world.speak(&[from]);
            let done = world.assert_cached();
            assert!(done.client.cached.contains(&CachedObject::ClientCertificate));
        }
    });
}
