//! External pre-shared keys are used as they are (RFC 9846, 4.3.11) and imported (RFC 9258).

use alloc::sync::Arc;
use core::slice;

use terse_testkit::fault;
use terse_testkit::pair::{Pair, Side};
use terse_testkit::setup::Setup;
use terse_tls::cache::{ClientCache, MemoryClientStore, Schemes};
use terse_tls::resume::{ExternalPsk, MemoryPskStore, PskHash};
use terse_tls::summary::{AuthenticatedBy, Mode};
use terse_tls::{
    AlertDescription, ApiMisuse, CipherSuite, ClientAuthentication, Error, ExtensionType, HandshakeType,
    PeerIncompatible, PeerMisbehaved, Trust,
};

use super::world::{CHAIN, Kept, Sent, World, hello_has, mode, shown_ticket};

const NAME: &[u8] = b"sensor-17";

fn psk(name: &[u8], key: u8) -> ExternalPsk {
    ExternalPsk::new(name, &[key; 32]).unwrap()
}

/// Both sides have certificates as well, but do not resume.
fn world(client: &[ExternalPsk], server: &[ExternalPsk]) -> World {
    let mut world = World::new(Kept::InTickets);
    world.setup.client.resumption(None);
    world.setup.client.psks(client.to_vec());
    world.setup.server.psks(Arc::new(MemoryPskStore::new(server.iter().cloned())));
    world
}

fn check(pair: &Pair, name: &[u8]) {
    assert_eq!(mode(pair), Mode::Psk);
    for connection in [&pair.client, &pair.server] {
        let peer = &connection.summary().peer;
        assert_eq!((peer.authenticated_by, peer.psk_identity.as_deref()), (AuthenticatedBy::Psk, Some(name)));
        assert_eq!(peer.identity, None);
    }
}

/// A client that shares a key is not asked for a certificate, even where others must have one.
#[test]
fn stand_for_certificates_on_both_sides() {
    for providers in
        [[&terse_aws_lc::PROVIDER, &terse_rustcrypto::PROVIDER], [&terse_rustcrypto::PROVIDER, &terse_aws_lc::PROVIDER]]
    {
        for psk in [psk(NAME, 1), psk(NAME, 1).imported(b"plant 4").unwrap()] {
            let mut world = world(slice::from_ref(&psk), slice::from_ref(&psk));
            let setup = Setup::mutual(providers[0], providers[1], CHAIN);
            world.setup.client.common_mut().set_provider(*setup.client.config().common().provider());
            world.setup.server.common_mut().set_provider(*setup.server.config().common().provider());
            let pair = world.connect(0);
            check(&pair, NAME);
            assert_eq!(pair.client.summary().signatures_verified, 0);
        }
    }
}

#[test]
fn need_no_certificates_at_all() {
    let mut world = world(&[psk(NAME, 1)], &[psk(NAME, 1)]);
    world.setup.server.credentials(vec![]);
    check(&world.connect(0), NAME);
    world.setup = world.setup.with_hello_retry(true);
    check(&world.connect(1), NAME);
}

/// A firmware that knows pre-shared keys only leaves all signatures out.
#[test]
fn need_no_signatures_at_all() {
    let mut world = world(&[psk(NAME, 1)], &[psk(NAME, 1)]);
    world.setup.client.trust(Trust::nobody());
    world.setup.client.credentials(Vec::new());
    world.setup.server.credentials(vec![]);
    world.setup.server.client_authentication(ClientAuthentication::None);
    for side in Side::BOTH {
        world.setup.common(side).edit_signature_schemes(|list| list.clear());
        let none = terse_tls::crypto::SignatureAlgorithms::new(&[], &[]);
        world.setup.common(side).edit_provider(|provider| *provider = provider.signatures(none));
    }
    let pair = world.connect(0);
    check(&pair, NAME);
    assert!(!hello_has(&pair, ExtensionType::SIGNATURE_ALGORITHMS));
    world.setup.client.psks(vec![]);
    assert!(matches!(world.setup.client.build().map(drop), Err(ApiMisuse::EmptyConfiguration(_))));
}

/// Without certificates there is nothing to leave out: a cache that a firmware is configured with costs no byte.
#[test]
fn alone_need_no_cache() {
    let mut world = world(&[psk(NAME, 1)], &[psk(NAME, 1)]);
    world.setup.client.trust(Trust::nobody());
    let without = world.connect(0).client.summary().sent.record_bytes;
    let (store, schemes) = (Arc::new(MemoryClientStore::new(4)), Schemes::COMPACT);
    world.setup.client.cache(Some(ClientCache::new(store, schemes)));
    let pair = world.connect(1);
    check(&pair, NAME);
    assert!(!hello_has(&pair, world.setup.client.config().common().compact_cache()));
    assert_eq!(pair.client.summary().sent.record_bytes, without);
}

/// A server with certificates has nothing to offer to a client without the key.
#[test]
fn that_are_all_a_client_has_must_be_known() {
    let mut world = world(&[psk(b"stranger", 1)], &[psk(NAME, 1)]);
    world.setup.client.trust(Trust::nobody());
    let failed = world.refused(0);
    let error = PeerMisbehaved::MissingExtension(ExtensionType::SIGNATURE_ALGORITHMS);
    assert_eq!((failed.side, failed.error), (Side::Server, error.into()));
}

#[test]
fn are_used_with_their_hash_only() {
    for hash in [PskHash::Sha256, PskHash::Sha384] {
        let key = psk(NAME, 1).with_hash(hash);
        let mut world = world(slice::from_ref(&key), slice::from_ref(&key));
        let pair = world.connect(0);
        check(&pair, NAME);
        let is_384 = pair.client.summary().cipher_suite == Some(CipherSuite::TLS_AES_256_GCM_SHA384);
        assert_eq!(is_384, hash == PskHash::Sha384, "the key chooses the suite");
        let other: fn(&CipherSuite) -> bool = match hash {
            PskHash::Sha256 => |suite| *suite == CipherSuite::TLS_AES_256_GCM_SHA384,
            PskHash::Sha384 => |suite| *suite != CipherSuite::TLS_AES_256_GCM_SHA384,
        };
        world.setup.server.edit_suites(|list| list.retain(other));
        assert_eq!(world.mode(1), Mode::Full, "no suite fits");
        world.setup.client.edit_suites(|list| list.retain(other));
        let pair = world.connect(2);
        assert!(!hello_has(&pair, ExtensionType::PRE_SHARED_KEY), "not even offered");
    }
}

#[test]
fn of_different_hashes_do_not_fit_each_other() {
    let mut world = world(&[psk(NAME, 1)], &[psk(NAME, 1).with_hash(PskHash::Sha384)]);
    let failed = world.refused(0);
    assert_eq!((failed.side, failed.error), (Side::Server, PeerMisbehaved::BadBinder.into()));
}

#[test]
fn imported_serve_every_hash() {
    for suite in [CipherSuite::TLS_AES_128_GCM_SHA256, CipherSuite::TLS_AES_256_GCM_SHA384] {
        for hash in [PskHash::Sha256, PskHash::Sha384] {
            let key = psk(NAME, 1).with_hash(hash).imported(b"").unwrap();
            let mut world = world(slice::from_ref(&key), slice::from_ref(&key));
            world.setup.server.suites(vec![suite]);
            let pair = world.connect(0);
            check(&pair, NAME);
            assert_eq!(pair.server.summary().cipher_suite, Some(suite));
            world.setup = world.setup.with_hello_retry(false);
            check(&world.connect(1), NAME);
        }
    }
}

#[test]
fn unknown_lead_to_certificates_or_to_nothing() {
    let mut world = world(&[psk(b"stranger", 1)], &[psk(NAME, 1)]);
    let pair = world.connect(0);
    assert_eq!((mode(&pair), &pair.server.summary().peer.psk_identity), (Mode::Full, &None));
    world.setup.server.credentials(vec![]);
    let unknown = world.refused(1);
    assert_eq!((unknown.side, &unknown.error), (Side::Server, &PeerIncompatible::NoCommonPsk.into()));
    // Nobody can find out which names exist (RFC 9846, F.6).
    world.setup.client.psks(vec![psk(NAME, 2)]);
    let wrong_key = world.refused(2);
    assert_eq!(wrong_key.error, PeerMisbehaved::BadBinder.into());
    assert_eq!(wrong_key.error.alert(), Some(AlertDescription::DECRYPT_ERROR));
    assert_eq!(unknown.error.alert(), wrong_key.error.alert());
}

#[test]
fn imported_on_one_side_only_are_unknown() {
    let imported = |context: &[u8]| psk(NAME, 1).imported(context).unwrap();
    for (client, server) in [
        (imported(b""), psk(NAME, 1)),
        (psk(NAME, 1), imported(b"")),
        (imported(b"a"), imported(b"b")),
        (imported(b""), imported(b"b")),
        (imported(b"a"), psk(b"other", 1).imported(b"a").unwrap()),
    ] {
        let mut world = world(&[client], &[server]);
        assert_eq!(world.mode(0), Mode::Full);
        world.setup.server.credentials(vec![]);
        assert_eq!(world.refused(1).error, PeerIncompatible::NoCommonPsk.into());
    }
}

/// The hash of the external key goes into what is derived from it, and is not negotiated.
#[test]
fn imported_from_keys_of_different_hashes_differ() {
    let imported = |hash| psk(NAME, 1).with_hash(hash).imported(b"").unwrap();
    let mut world = world(&[imported(PskHash::Sha256)], &[imported(PskHash::Sha384)]);
    assert_eq!(world.refused(0).error, PeerMisbehaved::BadBinder.into());
}

#[test]
fn the_first_that_the_server_knows_counts() {
    let mut world = world(&[psk(b"a", 1), psk(b"b", 2), psk(b"c", 3)], &[psk(b"c", 3), psk(b"b", 2)]);
    check(&world.connect(0), b"b");
}

/// The server looks up only the first few of many names.
#[test]
fn a_server_does_not_look_up_names_without_end() {
    let mut names: Vec<_> = (0..8).map(|n| psk(&[b'a' + n], 1)).collect();
    names.push(psk(NAME, 1));
    let mut world = world(&names, &[psk(NAME, 1)]);
    assert_eq!(world.mode(0), Mode::Full);
    world.setup.client.edit_psks(|psks| psks.remove(0));
    assert_eq!(world.mode(1), Mode::Psk);
}

#[test]
fn come_after_the_session_and_make_none() {
    let mut world = world(&[psk(NAME, 1)], &[]);
    world.setup = world.setup.with_resumption();
    assert_eq!(world.mode(0), Mode::Full);
    world.setup.server.psks(Arc::new(MemoryPskStore::new([psk(NAME, 1)])));
    let pair = world.connect(1);
    assert_eq!(mode(&pair), Mode::Resumed, "the session is preferred: it knows who the peers are");
    assert_eq!(shown_ticket(&pair).unwrap().len(), 70 + 24);
    assert_eq!(world.mode(2), Mode::Resumed);
    let sent = Arc::new(Sent::default());
    world.setup.server.trace(sent.clone());
    let again = world.setup.clone().with_resumption();
    world.setup.server.resumption(again.server.config().resumption().cloned());
    check(&world.connect(3), NAME);
    assert_eq!(sent.of(HandshakeType::NEW_SESSION_TICKET), [0_usize; 0], "it would save nothing");
    check(&world.connect(4), NAME);
}

#[test]
fn without_a_hash_of_the_provider_are_refused_before_any_connection() {
    let mut world = world(&[psk(NAME, 1).with_hash(PskHash::Sha384)], &[]);
    assert_eq!(world.setup.client.build().map(drop), Ok(()));
    let common = world.setup.client.common_mut();
    common.edit_provider(|provider| *provider = provider.tls13_suites(&[]).tls12_suites(&[]));
    assert!(matches!(world.setup.client.build().map(drop), Err(terse_tls::ApiMisuse::Unsupported(_))));
}

/// A client of another name must not use the key of this one.
#[test]
fn a_binder_proves_the_key() {
    let mut world = world(&[psk(NAME, 2)], &[psk(NAME, 1)]);
    let failed = world.refused(0);
    assert_eq!((failed.side, failed.error), (Side::Server, PeerMisbehaved::BadBinder.into()));
    let mut pair = world.pair(1);
    let _ = pair.run();
    assert_eq!(pair.failure(Side::Client), Some(&Error::AlertReceived(AlertDescription::DECRYPT_ERROR)));
}

/// A client that takes pre-shared keys without (EC)DHE alone, which Terse does not have: no parameters in common (RFC 9846,
/// 4.2.1), whether the key is known or not.
#[test]
fn without_ecdhe_are_no_common_parameters() {
    for name in [NAME, b"stranger"] {
        let mut world = world(&[psk(name, 1)], &[psk(NAME, 1)]);
        world.setup.server.credentials(vec![]);
        world.setup.client.fault(Some(fault::first(HandshakeType::CLIENT_HELLO, |hello| {
            let psk_ke = [1, 0];
            fault::edit_extensions(hello, |extensions| {
                let modes = extensions.iter_mut().find(|(kind, _)| *kind == ExtensionType::PSK_KEY_EXCHANGE_MODES);
                modes.expect("there are keys").1 = psk_ke.to_vec();
            });
        })));
        let refused = world.refused(0);
        assert_eq!((refused.side, &refused.error), (Side::Server, &PeerIncompatible::NoCommonPskMode.into()));
        assert_eq!(refused.error.alert(), Some(AlertDescription::HANDSHAKE_FAILURE));
    }
}
