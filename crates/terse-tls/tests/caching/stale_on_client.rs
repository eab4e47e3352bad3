//! docs/caching.md, 4.5 on the client: when what it keeps of a server must not be used.

use alloc::sync::Arc;

use pki_types::ServerName;
use terse_testkit::pki::{DAY, Pki, SERVER_NAME};
use terse_tls::cache::Scheme;
use terse_tls::summary::{AuthenticatedBy, CachedObject, Mode};
use terse_tls::{CertificateError, ClientAuthentication, Error, PeerIncompatible, SignatureScheme, Trust};

use super::issued::{self, client_leaf, crl, issue, other_pki, renew, server_leaf};
use super::world::*;

/// The server's certificate must be sent and verified once more; afterwards it is cached again.
fn assert_verified_again(world: &mut World, offered: bool) {
    let done = world.connect().unwrap();
    let offer =
        if world.mode() == Mode::Cached(Scheme::Compact) { done.offer.compact_cache } else { done.offer.cached_info };
    assert_eq!(offer.is_some_and(|offer| !offer.is_empty()), offered);
    assert!(!done.client.cached.contains(&CachedObject::ServerCertificate));
    assert_eq!(done.client.peer.authenticated_by, AuthenticatedBy::Certificate);
    assert_eq!(done.client.signatures_verified, 2);
    world.assert_cached();
}

/// The client must refuse as it would without a cache.
fn assert_refused(world: &mut World, expected: CertificateError) {
    let failed = world.connect().map(|_| ()).unwrap_err();
    assert_eq!((failed.side, failed.error), (terse_testkit::pair::Side::Client, Error::Certificate(expected)));
}

#[test]
fn renewed_server_certificate_with_the_old_key_is_verified_in_full() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        world.server.credentials(vec![renew(&Pki::shared(CHAIN).server, &server_leaf())]);
        assert_verified_again(&mut world, true);
    }
}

#[test]
fn server_certificate_with_a_new_key_is_verified_in_full() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        world.server.credentials(vec![issue(&server_leaf())]);
        assert_verified_again(&mut world, true);
    }
}

#[test]
fn server_certificate_from_another_ca_is_verified_in_full() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        world.server.credentials(vec![other_pki().server(PROVIDER)]);
        assert_refused(&mut world, CertificateError::UnknownIssuer);
        world.client.trust(other_pki().trust());
        assert_verified_again(&mut world, false);
    }
}

#[test]
fn removed_trust_anchor_of_the_server_ends_the_use() {
    for setting in SETTINGS {
        let both = [Pki::shared(CHAIN).root(), other_pki().root()];
        let mut world = World::new(setting);
        world.client.trust(Trust::new(&both).unwrap());
        world.connect().unwrap();
        world.assert_cached();
        // The one that the server needs.
        world.client.trust(other_pki().trust());
        assert_eq!(world.next_offer().cached_info, None);
        assert_refused(&mut world, CertificateError::UnknownIssuer);
        // The other one: not a reason to refuse, but one to look again.
        world.client.trust(Pki::shared(CHAIN).trust());
        assert_verified_again(&mut world, false);
    }
}

/// A CRL that is too old to be believed must not be believed because of what it allowed when it was young.
#[test]
fn expired_crl_ends_the_use_of_the_server_certificate() {
    for setting in SETTINGS {
        let mut world = World::new(setting);
        world.client.trust(Pki::shared(CHAIN).trust().with_crls(&[crl(&[], 7)]).unwrap());
        world.connect().unwrap();
        world.set_clocks(7 * DAY - 1);
        world.assert_cached();
        world.set_clocks(7 * DAY);
        assert_eq!(world.next_offer().cached_info, None);
        assert_refused(&mut world, CertificateError::CrlExpired);
    }
}

/// A world whose server certificate, or its issuer, is valid for ten days only.
fn short_lived(setting: Setting, of_issuer: bool) -> World {
    let (authority, server) = issued::short_lived(of_issuer, server_leaf());
    let mut world = World::new(setting);
    world.client.trust(Trust::new(&[authority.root().clone()]).unwrap());
    world.server.credentials(vec![server]);
    world.connect().unwrap();
    world.assert_cached();
    world
}

#[test]
fn expired_server_certificate_is_not_used_and_deleted() {
    for setting in SETTINGS {
        for of_issuer in [false, true] {
            let mut world = short_lived(setting, of_issuer);
            world.set_clocks(10 * DAY);
            world.assert_cached(); // the last second
            world.set_clocks(10 * DAY + 1);
            assert_eq!(world.next_offer().cached_info, None);
            let failed = world.connect().map(|_| ()).unwrap_err();
            assert!(matches!(failed.error, Error::Certificate(CertificateError::Expired { .. })), "{failed:?}");
            // Deleted: a clock that is put back does not bring it back.
            world.set_clocks(9 * DAY);
            assert_verified_again(&mut world, false);
        }
    }
}

/// Devices boot in 1970: their clock only disables the use.
#[test]
fn clock_that_is_not_plausible_disables_the_use_only() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        world.client_clock = at_boot();
        for _ in 0..2 {
            assert_eq!(world.next_offer().cached_info, None);
            let failed = world.connect().map(|_| ()).unwrap_err();
            assert!(matches!(failed.error, Error::Certificate(CertificateError::NotYetValid { .. })), "{failed:?}");
        }
        world.set_clocks(5);
        let done = world.connect().unwrap();
        assert_eq!(done.client.peer.authenticated_by, AuthenticatedBy::CachedCertificate);
        world.assert_cached();
    }
}

#[test]
fn client_without_a_clock_does_as_configured() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        world.client_clock = no_clock();
        assert_eq!(world.next_offer().cached_info, None);
        assert_refused(&mut world, CertificateError::NoTime);
        world.client.trust(world.client.config().trust().clone().accept_without_clock());
        let done = world.connect().unwrap();
        assert_eq!(done.client.peer.authenticated_by, AuthenticatedBy::CachedCertificate);
        assert!(done.client.peer.time_unchecked);
        world.assert_cached();
    }
}

/// What was accepted without a clock is checked as soon as there is one.
#[test]
fn entry_made_without_a_clock_is_checked_later() {
    for setting in SETTINGS {
        let mut world = short_lived(setting, false);
        world.client_store = Disk::new();
        world.set_schemes(setting.schemes, setting.schemes);
        world.client.trust(world.client.config().trust().clone().accept_without_clock());
        world.client_clock = no_clock();
        world.assert_full();
        world.assert_cached();
        world.set_clocks(11 * DAY);
        let failed = world.connect().map(|_| ()).unwrap_err();
        assert!(matches!(failed.error, Error::Certificate(CertificateError::Expired { .. })), "{failed:?}");
    }
}

/// What a client accepts in signatures is part of the policy, and a key that it does not accept is no use.
#[test]
fn changed_signature_schemes_of_the_client_end_the_use() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        world.client.edit_signature_schemes(|list| list.retain(|scheme| *scheme != SignatureScheme::ED25519));
        assert_verified_again(&mut world, false);
        world.client.signature_schemes(vec![SignatureScheme::ED25519]);
        assert_eq!(world.next_offer().cached_info, None);
        let failed = world.connect().map(|_| ()).unwrap_err();
        assert_eq!(failed.error, PeerIncompatible::NoCommonSignatureScheme.into());
    }
}

/// A ticket is the proof of a certificate: another one, or none, does not show it.
#[test]
fn other_or_no_credential_of_the_client_is_another_scope() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        let own = world.client.config().credentials().to_vec();
        world.client.credentials(vec![renew(&Pki::shared(CHAIN).client, &client_leaf())]);
        assert!(world.next_offer().is_first_contact());
        world.client.credentials(vec![issue(&client_leaf())]);
        assert!(world.next_offer().is_first_contact());
        let done = world.connect().unwrap();
        assert_eq!(done.server.peer.authenticated_by, AuthenticatedBy::Certificate);
        world.assert_cached();
        world.client.credentials(Vec::new());
        let offer = world.next_offer();
        assert_eq!((offer.cached_info.as_ref(), offer.client_cached_info.as_ref(), offer.ticket()), (None, None, None));
        world.client.credentials(own);
        world.assert_cached();
    }
}

#[test]
fn other_port_or_server_name_is_another_scope() {
    for setting in SETTINGS {
        let names = [SERVER_NAME, "other.plant.example", "10.1.2.3"];
        let mut options = server_leaf();
        options.names = names.map(Into::into).into();
        let mut world = World::new(setting);
        world.server.credentials(vec![issue(&options)]);
        world.connect().unwrap();
        let known = world.address.clone();
        for name in names {
            for port in [known.port, known.port + 1] {
                world.address = terse_tls::ServerAddress::new(ServerName::try_from(name).unwrap(), port);
                if world.address != known {
                    assert!(world.next_offer().is_first_contact(), "{name} {port}");
                    world.assert_full();
                }
                world.assert_cached();
            }
        }
        world.address = known;
        world.assert_cached();
    }
}

/// A name is the same name in capitals and with a final dot: what is cached is found.
#[test]
fn server_name_is_compared_as_dns_names_are() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        let name = SERVER_NAME.to_uppercase();
        world.address.name = ServerName::try_from(name).unwrap();
        assert!(world.next_offer().ticket().is_some());
        let done = world.connect().unwrap();
        assert!(done.client.cached.contains(&CachedObject::ServerCertificate));
    }
}

/// The server's CertificateRequest changes with its policy; the cached one must not be answered.
#[test]
fn changed_certificate_request_is_sent_in_full() {
    for setting in SETTINGS {
        let mut world = World::new(setting).with_long_request();
        world.connect().unwrap();
        world.assert_cached();
        let both = [Pki::shared(CHAIN).root(), other_pki().root()];
        world.server_trust(Trust::new(&both).unwrap());
        let done = world.connect().unwrap();
        assert_eq!(done.client.cached, [CachedObject::ServerCertificate]);
        world.assert_cached();
        world.server.client_authentication(ClientAuthentication::None);
        let done = world.connect().unwrap();
        assert_eq!(done.client.cached, [CachedObject::ServerCertificate]);
        assert_eq!(done.server.peer.authenticated_by, AuthenticatedBy::None);
    }
}

/// One store for clients with different trust: what the one believes says nothing to the other.
#[test]
fn two_clients_with_different_trust_on_one_store() {
    for setting in SETTINGS {
        let mut world = World::cached(setting);
        let mut other = World::new(setting);
        other.client_store = world.client_store.clone();
        other.set_schemes(setting.schemes, setting.schemes);
        other.client.trust(other_pki().trust());
        assert_eq!(other.next_offer().cached_info, None);
        assert_refused(&mut other, CertificateError::UnknownIssuer);
        assert!(Arc::ptr_eq(&other.client_store, &world.client_store));
        let done = world.connect().unwrap();
        assert_eq!(done.client.peer.authenticated_by, AuthenticatedBy::CachedCertificate);
    }
}
