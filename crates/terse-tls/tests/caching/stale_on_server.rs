//! docs/caching.md, 4.5 on the server: when a client's ticket must not be honoured.

use terse_testkit::fault;
use terse_testkit::pair::Side;
use terse_testkit::pki::{DAY, Pki};
use terse_tls::FallbackReason;
use terse_tls::summary::{AuthenticatedBy, CachedObject};
use terse_tls::{CertificateError, ClientAuthentication, Error, ExtensionType, HandshakeType, SignatureScheme, Trust};

use super::issued::{self, client_leaf, crl, issue, other_pki, renew};
use super::world::*;

/// The client shows its ticket, and must send its Certificate all the same; afterwards it is cached again.
fn assert_verified_again(world: &mut World, reason: FallbackReason) {
    let done = world.connect().unwrap();
    assert!(done.offer.ticket().is_some());
    assert!(!done.server.cached.contains(&CachedObject::ClientCertificate));
    assert_eq!(done.server.fallback, Some(reason));
    assert_eq!(done.server.peer.authenticated_by, AuthenticatedBy::Certificate);
    assert_eq!(done.server.signatures_verified, 2);
    world.assert_cached();
}

/// The client shows its ticket, and the server must refuse as it would without a cache. Nothing is kept.
fn assert_refused(world: &mut World, expected: CertificateError) {
    let mut link = world.begin();
    let failed = link.run().unwrap_err();
    assert!(link.offer().ticket().is_some());
    assert_eq!((failed.side, failed.error), (Side::Server, Error::Certificate(expected)));
    let summary = link.pair.server.summary();
    assert!(summary.peer.identity.is_none() && !summary.cached.contains(&CachedObject::ClientCertificate));
}

#[test]
fn renewed_client_certificate_with_the_old_key_is_verified_in_full() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        world.client.credentials(vec![renew(&Pki::shared(CHAIN).client, &client_leaf())]);
        world.assert_full();
        world.assert_cached();
    }
}

#[test]
fn client_certificate_with_a_new_key_is_verified_in_full() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        world.client.credentials(vec![issue(&client_leaf())]);
        world.assert_full();
        world.assert_cached();
    }
}

#[test]
fn removed_trust_anchor_of_the_client_ends_the_use() {
    for setting in SETTINGS {
        let both = [Pki::shared(CHAIN).root(), other_pki().root()];
        let mut world = World::new(setting);
        world.server_trust(Trust::new(&both).unwrap());
        world.connect().unwrap();
        world.assert_cached();
        // Not the one that the client needs, but a reason to look again.
        world.server_trust(Pki::shared(CHAIN).trust());
        assert_verified_again(&mut world, FallbackReason::TrustChanged);
        // The one that it needs.
        world.server_trust(other_pki().trust());
        assert_refused(&mut world, CertificateError::UnknownIssuer);
    }
}

#[test]
fn expired_crl_ends_the_use_of_the_client_certificate() {
    for setting in SETTINGS {
        let mut world = World::new(setting);
        world.server_trust(Pki::shared(CHAIN).trust().with_crls(&[crl(&[], 7)]).unwrap());
        world.connect().unwrap();
        world.set_clocks(7 * DAY - 1);
        world.assert_cached();
        world.set_clocks(7 * DAY);
        assert_refused(&mut world, CertificateError::CrlExpired);
    }
}

#[test]
fn client_of_another_ca_is_refused() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        world.server_trust(other_pki().trust());
        assert_refused(&mut world, CertificateError::UnknownIssuer);
        assert_eq!(world.server_store.len(), 2, "the entries are those of another policy, which may come back");
        world.server_trust(Pki::shared(CHAIN).trust());
        world.connect().unwrap();
        world.assert_cached();
    }
}

#[test]
fn nothing_is_used_when_client_authentication_becomes_required() {
    for version in VERSIONS {
        let mut world = World::new(version);
        let required = world.server.config().client_authentication().clone();
        world.server.client_authentication(ClientAuthentication::None);
        for _ in 0..2 {
            let done = world.connect().unwrap();
            assert_eq!(done.offer.ticket(), None);
            assert_eq!(done.server.peer.authenticated_by, AuthenticatedBy::None);
        }
        assert!(world.server_store.is_empty(), "no ticket without a proven certificate");
        world.server.client_authentication(required);
        let done = world.connect().unwrap();
        assert_eq!(done.offer.ticket(), None);
        assert_eq!(done.server.peer.authenticated_by, AuthenticatedBy::Certificate);
        world.assert_cached();
    }
}

#[test]
fn nothing_proves_a_client_while_client_authentication_is_off() {
    for version in VERSIONS {
        let mut world = World::cached(version);
        let required = world.server.config().client_authentication().clone();
        world.server.client_authentication(ClientAuthentication::None);
        let done = world.connect().unwrap();
        assert!(done.offer.ticket().is_some());
        assert_eq!(done.server.cached, [CachedObject::ServerCertificate]);
        assert_eq!(done.server.peer.identity, None, "nobody was asked, so nobody was authenticated");
        assert_eq!(done.server.peer.authenticated_by, AuthenticatedBy::None);
        assert_eq!(world.next_offer().ticket(), None, "a handshake without a certificate makes no ticket");
        world.server.client_authentication(required);
        let done = world.connect().unwrap();
        assert_eq!(done.server.peer.authenticated_by, AuthenticatedBy::Certificate);
        world.assert_cached();
    }
}

/// Optional or required: the same chains are believed, so the same entries are. Without a certificate there is none.
#[test]
fn client_authentication_from_required_to_optional() {
    for version in VERSIONS {
        let mut world = World::cached(version);
        let trust = world.server.config().client_authentication().trust().unwrap().clone();
        world.server.client_authentication(ClientAuthentication::Optional(trust.clone()));
        world.assert_cached();
        let own = world.client.edit_credentials(core::mem::take);
        let done = world.connect().unwrap();
        assert_eq!((done.offer.is_silent(), done.server.peer.identity), (true, None));
        world.server_trust(trust);
        let failed = world.connect().map(|_| ()).unwrap_err();
        assert_eq!((failed.side, failed.error), (Side::Server, CertificateError::Required.into()));
        world.client.credentials(own);
        world.assert_cached();
    }
}

/// Two virtual hosts behind one address, one store, different client CAs: the ticket of the one is worth nothing at the
/// other, and does not suffer there.
#[test]
fn two_virtual_hosts_with_different_client_cas_on_one_store() {
    for setting in SETTINGS {
        let mut first = World::cached(setting);
        let mut second = World::beside(&first);
        second.client_store = first.client_store.clone();
        second.set_schemes(setting.schemes, setting.schemes);
        second.server_trust(other_pki().trust());
        let rows = first.rows();
        assert_refused(&mut second, CertificateError::UnknownIssuer);
        assert_eq!(first.rows(), rows);
        // A client of the second CA is not believed by the first host either, whatever it shows.
        second.client.credentials(vec![other_pki().client(PROVIDER)]);
        second.assert_full();
        second.assert_cached();
        first.client.credentials(second.client.config().credentials());
        assert_refused(&mut first, CertificateError::UnknownIssuer);
    }
}

/// The same client CA, but a host of another name: an entry is used under the server name that it was made for.
#[test]
fn ticket_is_not_used_under_another_host_name() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        let rename = fault::first(HandshakeType::CLIENT_HELLO, |message| {
            let name = b"second.plant.example";
            let len = name.len() as u8;
            let body = [&[0, len + 3, 0, 0, len], &name[..]].concat();
            fault::set_extension(message, ExtensionType::SERVER_NAME, &body);
        });
        world.client.fault(Some(rename));
        let done = world.connect().unwrap();
        assert_eq!(done.pair.server.server_name(), Some("second.plant.example"));
        assert_eq!(done.server.fallback, Some(FallbackReason::OtherServerName));
        assert_eq!(done.server.peer.authenticated_by, AuthenticatedBy::Certificate);
        world.client.fault(None);
        // That the name is not sent is another name, too.
        world.connect().unwrap();
        world.assert_cached();
        world.client.send_server_name(false);
        assert_verified_again(&mut world, FallbackReason::OtherServerName);
    }
}

/// A world whose client certificate, or its issuer, is valid for ten days only.
fn short_lived(setting: Setting, of_issuer: bool) -> World {
    let (authority, client) = issued::short_lived(of_issuer, client_leaf());
    let mut world = World::new(setting);
    world.server_trust(Trust::new(&[authority.root().clone()]).unwrap());
    world.client.credentials(vec![client]);
    world.connect().unwrap();
    world.assert_cached();
    world
}

#[test]
fn expired_client_certificate_is_not_used_and_deleted() {
    for setting in SETTINGS {
        for of_issuer in [false, true] {
            let mut world = short_lived(setting, of_issuer);
            world.server_clock = terse_testkit::pair::at(10 * DAY);
            world.assert_cached(); // the last second
            world.server_clock = terse_testkit::pair::at(10 * DAY + 1);
            assert_eq!(world.server_store.len(), 2);
            let mut link = world.begin();
            let failed = link.run().unwrap_err();
            assert!(matches!(failed.error, Error::Certificate(CertificateError::Expired { .. })), "{failed:?}");
            assert_eq!(link.pair.server.summary().fallback, Some(FallbackReason::Expired));
            assert_eq!(world.server_store.len(), 1, "the entry that was asked for is gone");
        }
    }
}

#[test]
fn clock_of_the_server_that_is_not_plausible_disables_the_use_only() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        let rows = world.rows();
        let good = core::mem::replace(&mut world.server_clock, at_boot());
        let mut link = world.begin();
        let failed = link.run().unwrap_err();
        assert_eq!(failed.side, Side::Server);
        assert!(matches!(failed.error, Error::Certificate(CertificateError::NotYetValid { .. })), "{failed:?}");
        assert_eq!(link.pair.server.summary().fallback, Some(FallbackReason::ClockNotPlausible));
        drop(link);
        assert_eq!(world.rows(), rows);
        world.server_clock = good;
        world.connect().unwrap();
        world.assert_cached();
    }
}

#[test]
fn server_without_a_clock_does_as_configured() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        world.server_clock = no_clock();
        assert_refused(&mut world, CertificateError::NoTime);
        let mut world = World::cached(setting);
        world.server_clock = no_clock();
        let trust = world.server.config().client_authentication().trust().unwrap().clone();
        world.server_trust(trust.accept_without_clock());
        let done = world.assert_cached();
        assert!(done.server.peer.time_unchecked);
    }
}

#[test]
fn changed_signature_schemes_of_the_server_end_the_use() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        world.server.edit_signature_schemes(|list| list.retain(|scheme| *scheme != SignatureScheme::ED25519));
        assert_verified_again(&mut world, FallbackReason::TrustChanged);
        // None that the client's key can sign with: it sends no certificate, as it would without a cache.
        world.server.signature_schemes(vec![SignatureScheme::ED25519]);
        assert_refused(&mut world, CertificateError::Required);
    }
}
