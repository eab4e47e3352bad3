//! docs/caching.md, 4.4: caching never changes what a peer may do.

use terse_testkit::pki::{CLIENT_NAME, SERVER_NAME};
use terse_tls::summary::AuthenticatedBy;

use super::issued::{issue, server_leaf};
use super::world::*;

#[test]
fn peer_identity_is_the_same_cached_and_full() {
    for setting in SETTINGS {
        let mut world = World::new(setting).with_long_request();
        let full = world.assert_full();
        for _ in 0..3 {
            let cached = world.assert_cached();
            for (full, cached, name) in [
                (&full.client.peer, &cached.client.peer, SERVER_NAME),
                (&full.server.peer, &cached.server.peer, CLIENT_NAME),
            ] {
                let identity = full.identity.as_ref().expect("authenticated");
                assert_eq!(cached.identity.as_ref(), Some(identity));
                assert_eq!(identity.to_string(), name);
                assert!(!identity.subject_der().is_empty() && !identity.subject_alt_name_der().is_empty());
                assert_eq!(full.authenticated_by, AuthenticatedBy::Certificate);
                assert_eq!(cached.authenticated_by, AuthenticatedBy::CachedCertificate);
                assert!(!cached.time_unchecked);
            }
        }
    }
}

/// The work that is saved is the work that the full handshake did.
#[test]
fn saved_signatures_are_those_of_the_full_handshake() {
    for setting in SETTINGS {
        let mut world = World::new(setting);
        let full = world.assert_full();
        let cached = world.assert_cached();
        for (full, cached) in [(&full.client, &cached.client), (&full.server, &cached.server)] {
            assert_eq!((full.signatures_verified, full.signatures_saved), (2, 0));
            assert_eq!((cached.signatures_verified, cached.signatures_saved), (0, 2));
        }
    }
}

/// Each side is marked for itself: a renewed server certificate is full for the client, cached for the server.
#[test]
fn each_side_is_marked_for_itself() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        world.server.credentials(vec![issue(&server_leaf())]);
        let done = world.connect().unwrap();
        assert_eq!(done.client.mode, world.mode());
        assert_eq!(done.client.peer.authenticated_by, AuthenticatedBy::Certificate);
        assert_eq!(done.server.peer.authenticated_by, AuthenticatedBy::CachedCertificate);
    }
}

/// Without a clock, by permission: the application hears of it, cached or full.
#[test]
fn unchecked_time_is_reported_cached_and_full() {
    for setting in SETTINGS {
        let mut world = World::new(setting);
        world.client.trust(world.client.config().trust().clone().accept_without_clock());
        let trust = world.server.config().client_authentication().trust().unwrap().clone().accept_without_clock();
        world.server_trust(trust);
        (world.client_clock, world.server_clock) = (no_clock(), no_clock());
        let full = world.assert_full();
        let cached = world.assert_cached();
        for summary in [&full.client, &full.server, &cached.client, &cached.server] {
            assert!(summary.peer.time_unchecked);
            assert!(summary.peer.identity.is_some());
        }
    }
}
