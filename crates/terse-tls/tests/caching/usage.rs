//! Servers that a client knows by their extended key usage instead of a name (RFC 7030, 3.6.1): cached as others are, and
//! never under the other expectation. The registrar of RFC 8995 has cmcRA alone.

use pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rcgen::ExtendedKeyUsagePurpose::{self, Other, ServerAuth};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256,
    date_time_ymd,
};
use terse_testkit::pair::Side;
use terse_testkit::pki::SERVER_NAME;
use terse_tls::summary::{AuthenticatedBy, Mode};
use terse_tls::{AlertDescription, CertificateError, Credential, Error, KeyPurposeId, Trust};

use super::world::*;

fn cmc_ra() -> ExtendedKeyUsagePurpose {
    Other(vec![1, 3, 6, 1, 5, 5, 7, 3, 28])
}

/// A world whose server has a certificate with these usages and [`SERVER_NAME`], from a CA of its own.
fn registrar(setting: Setting, usages: &[ExtendedKeyUsagePurpose]) -> World {
    let params = |name: &str| {
        let mut params = CertificateParams::new([SERVER_NAME.into()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        (params.not_before, params.not_after) = (date_time_ymd(2025, 7, 1), date_time_ymd(2026, 7, 1));
        params
    };
    let key = || KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
    let (mut ca, ca_key) = (params("Domain CA"), key());
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    ca.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let (mut leaf, leaf_key) = (params("Registrar"), key());
    leaf.extended_key_usages = usages.to_vec();
    let root = ca.self_signed(&ca_key).unwrap();
    let leaf = leaf.signed_by(&leaf_key, &Issuer::from_params(&ca, &ca_key)).unwrap();
    let leaf_key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(leaf_key.serialize_der()));
    let mut world = World::new(setting);
    world.client.trust(Trust::new(&[root.der().clone()]).unwrap());
    let leaf_key = PROVIDER.load_key(&leaf_key).unwrap();
    world.server.credentials(vec![Credential::new(vec![leaf.der().clone()], leaf_key).unwrap()]);
    world
}

/// A device calls the registrar by an address or name that is not in its certificate.
fn call_by_another_name(world: &mut World) {
    world.address.name = ServerName::try_from("192.0.2.7").unwrap();
    world.client.server_usage(KeyPurposeId::CMC_RA);
}

#[test]
fn a_registrar_with_cmc_ra_alone_is_accepted_by_its_usage_and_cached() {
    for setting in SETTINGS {
        let mut world = registrar(setting, &[cmc_ra()]);
        call_by_another_name(&mut world);
        let first = world.connect().unwrap().client;
        assert_eq!((first.mode, first.peer.authenticated_by), (Mode::Full, AuthenticatedBy::Certificate));
        assert_eq!(first.signatures_verified, 1);
        let second = world.assert_cached().client;
        assert_eq!(second.peer.authenticated_by, AuthenticatedBy::CachedCertificate);
        assert_eq!(first.peer.identity, second.peer.identity);
    }
}

#[test]
fn a_registrar_with_cmc_ra_alone_is_no_server_by_name() {
    for setting in SETTINGS {
        let mut world = registrar(setting, &[cmc_ra()]);
        assert_refused(&mut world);
    }
}

#[test]
fn a_server_without_the_usage_is_refused() {
    for setting in SETTINGS {
        let mut world = registrar(setting, &[ServerAuth]);
        call_by_another_name(&mut world);
        assert_refused(&mut world);
    }
}

/// The client must refuse the server for its usage, and say so.
fn assert_refused(world: &mut World) {
    let mut link = world.begin();
    let failed = link.run().unwrap_err();
    assert_eq!((failed.side, failed.error), (Side::Client, CertificateError::WrongUsage.into()));
    let alert = AlertDescription::UNSUPPORTED_CERTIFICATE;
    assert_eq!(link.pair.failure(Side::Server), Some(&Error::AlertReceived(alert)));
}

/// What was verified under a usage says nothing about the name, and the reverse: the certificate is verified again.
#[test]
fn an_entry_under_a_usage_is_not_used_under_a_name_or_the_reverse() {
    for setting in SETTINGS {
        let mut world = registrar(setting, &[ServerAuth, cmc_ra()]);
        let (by_name, by_usage) = (None, Some(KeyPurposeId::CMC_RA));
        for (first, second) in [(by_name, by_usage), (by_usage, by_name), (by_usage, Some(KeyPurposeId::SERVER_AUTH))] {
            world.client.server_usage(first);
            world.connect().unwrap();
            world.assert_cached();
            world.client.server_usage(second);
            let again = world.connect().unwrap().client;
            assert_eq!(again.peer.authenticated_by, AuthenticatedBy::Certificate, "{first:?}, {second:?}");
            assert_eq!(again.signatures_verified, 1);
        }
    }
}

/// Two replicas of a registrar behind one address have one certificate, one key and one store.
#[test]
fn a_registrar_is_cached_at_one_replica_and_known_at_the_other() {
    for setting in SETTINGS {
        let mut world = registrar(setting, &[cmc_ra()]);
        call_by_another_name(&mut world);
        world.connect().unwrap();
        let mut other = World::beside(&world);
        other.server.credentials(world.server.config().credentials().to_vec());
        core::mem::swap(&mut world.server, &mut other.server);
        world.assert_cached();
        core::mem::swap(&mut world.server, &mut other.server);
        world.assert_cached();
    }
}
