//! Tests of chains that are verified outside of a handshake, among them those of RFC 8995, appendix C.

use alloc::string::ToString as _;
use alloc::vec;
use alloc::vec::Vec;

use pki_types::pem::PemObject as _;
use pki_types::{CertificateDer, ServerName, UnixTime};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    PKCS_ED25519, date_time_ymd,
};
use terse_testkit::pki::{CLIENT_NAME, DAY, NOW, Pki, SERVER_NAME, unix_time};
use terse_testkit::vectors;

use super::*;
use crate::cert::KeyPurposeId;
use crate::cert::tests::{provider, trusts};
use crate::error::ApiMisuse;

/// Returns a certificate of RFC 8995, appendix C, if it is there.
fn rfc8995(name: &str) -> Option<CertificateDer<'static>> {
    let pem = vectors::text(&std::format!("brski/rfc8995/{name}.crt"))?;
    Some(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap())
}

const JUNE_2021: u64 = 1_622_505_600;

fn seconds(time: u64) -> Option<UnixTime> {
    Some(UnixTime::since_unix_epoch(Duration::from_secs(time)))
}

fn check(
    trust: &Trust,
    chain: &[CertificateDer<'_>],
    expect: Expect<'_>,
    time: Option<UnixTime>,
) -> Result<usize, CertificateError> {
    trust.check(&provider(), chain, expect, time).map(|checked| checked.anchor)
}

#[test]
fn the_registrar_of_rfc8995_is_accepted_by_its_usage_and_refused_by_its_name() {
    let names = ["jrc_prime256v1", "ownerca_secp384r1", "idevid_00-D0-E5-F2-00-02", "vendor"];
    let [Some(registrar), Some(owner_ca), Some(idevid), Some(vendor_ca)] = names.map(rfc8995) else { return };
    let (registrar, idevid) = ([registrar], [idevid]);
    for trust in trusts(&[vendor_ca, owner_ca]) {
        the_registrar_of_rfc8995(&trust, &registrar, &idevid);
    }
}

fn the_registrar_of_rfc8995(trust: &Trust, registrar: &[CertificateDer<'_>], idevid: &[CertificateDer<'_>]) {
    // The registrar has the extended key usage cmcRA alone.
    let at = seconds(JUNE_2021);
    let cmc_ra = Expect::Usage(KeyPurposeId::CMC_RA);
    assert_eq!(check(trust, registrar, cmc_ra, at), Ok(1));
    assert_eq!(check(trust, registrar, Expect::AnyUsage, at), Ok(1));
    let name = ServerName::try_from("fountain-test.example.com").unwrap();
    assert_eq!(check(trust, registrar, Expect::Server(&name), at), Err(CertificateError::WrongUsage));
    assert_eq!(check(trust, registrar, Expect::Client, at), Err(CertificateError::WrongUsage));
    // The device has no extended key usage, which allows everything but what is required.
    assert_eq!(check(trust, idevid, Expect::Client, at), Ok(0));
    assert_eq!(check(trust, idevid, cmc_ra, at), Err(CertificateError::WrongUsage));
    // Its CA ended in 2023, and the device works on.
    let late = seconds(JUNE_2021 + 5 * 365 * DAY);
    assert!(matches!(check(trust, idevid, Expect::Client, late), Ok(0)), "an anchor is a name and a key");
    assert!(matches!(check(trust, registrar, cmc_ra, late), Err(CertificateError::Expired { depth: 0, .. })));
}

/// A CA with an extended key usage of its own, and a leaf under it.
fn chain_with_usages(
    of_ca: &[ExtendedKeyUsagePurpose],
    of_leaf: &[ExtendedKeyUsagePurpose],
) -> (CertificateDer<'static>, Vec<CertificateDer<'static>>) {
    let params = |name: &str| {
        let mut params = CertificateParams::new([SERVER_NAME.into()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        (params.not_before, params.not_after) = (date_time_ymd(2025, 7, 1), date_time_ymd(2026, 7, 1));
        params
    };
    let key = || KeyPair::generate_for(&PKCS_ED25519).unwrap();
    let (root_key, ca_key) = (key(), key());
    let (mut root, mut ca, mut leaf) = (params("Root"), params("CA"), params("Leaf"));
    for ca in [&mut root, &mut ca] {
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        ca.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    }
    ca.extended_key_usages = of_ca.to_vec();
    leaf.extended_key_usages = of_leaf.to_vec();
    let chain = vec![
        leaf.signed_by(&key(), &Issuer::from_params(&ca, &ca_key)).unwrap().der().clone(),
        ca.signed_by(&ca_key, &Issuer::from_params(&root, &root_key)).unwrap().der().clone(),
    ];
    (root.self_signed(&root_key).unwrap().der().clone(), chain)
}

#[test]
fn a_usage_is_required_of_the_leaf_and_allowed_by_its_cas() {
    use ExtendedKeyUsagePurpose::{ClientAuth, Other, ServerAuth};
    let cmc_ra = || Other(vec![1, 3, 6, 1, 5, 5, 7, 3, 28]);
    let wrong = Err(CertificateError::WrongUsage);
    for (of_ca, of_leaf, by_usage, by_name) in [
        (vec![], vec![cmc_ra()], Ok(0), wrong),
        (vec![], vec![ServerAuth, cmc_ra()], Ok(0), Ok(0)),
        (vec![], vec![ServerAuth, ClientAuth], wrong, Ok(0)),
        (vec![], vec![], wrong, Ok(0)),
        (vec![cmc_ra()], vec![cmc_ra()], Ok(0), wrong),
        (vec![ServerAuth], vec![cmc_ra()], wrong, wrong),
        (vec![ServerAuth], vec![ServerAuth, cmc_ra()], wrong, Ok(0)),
    ] {
        let (root, chain) = chain_with_usages(&of_ca, &of_leaf);
        let name = ServerName::try_from(SERVER_NAME).unwrap();
        let case = std::format!("{of_ca:?} {of_leaf:?}");
        for trust in trusts(&[root]) {
            assert_eq!(check(&trust, &chain, Expect::Usage(KeyPurposeId::CMC_RA), seconds(NOW)), by_usage, "{case}");
            assert_eq!(check(&trust, &chain, Expect::Server(&name), seconds(NOW)), by_name, "{case}");
            assert_eq!(check(&trust, &chain, Expect::AnyUsage, seconds(NOW)), Ok(0), "{case}");
        }
    }
}

/// Whoever has the key of a server is no signer of documents, also if the server's certificate allows any usage besides.
#[test]
fn who_is_unrestricted_has_no_extended_key_usage_of_others() {
    use ExtendedKeyUsagePurpose::{Any, ClientAuth, ServerAuth};
    let wrong = Err(CertificateError::WrongUsage);
    for (of_ca, of_leaf, expected) in [
        (vec![], vec![], Ok(0)),
        (vec![], vec![Any], Ok(0)),
        (vec![Any], vec![], Ok(0)),
        (vec![], vec![ServerAuth], wrong),
        (vec![], vec![ClientAuth], wrong),
        (vec![], vec![Any, ServerAuth], wrong),
        (vec![], vec![ServerAuth, Any], wrong),
        (vec![ServerAuth], vec![], wrong),
    ] {
        let (root, chain) = chain_with_usages(&of_ca, &of_leaf);
        for trust in trusts(&[root]) {
            assert_eq!(check(&trust, &chain, Expect::Unrestricted, seconds(NOW)), expected, "{of_ca:?} {of_leaf:?}");
        }
    }
}

#[test]
fn the_anchor_is_told_by_its_place_in_the_configuration() {
    let pkis = ["Maker A", "Maker B", "Maker C"].map(|name| Pki::named("ed25519x3", name));
    let roots: Vec<_> = pkis.iter().map(Pki::root).collect();
    let other = Pki::named("ed25519x3", "Maker D");
    for trust in trusts(&roots) {
        for (index, pki) in pkis.iter().enumerate() {
            let checked = trust.check(&provider(), pki.client.chain(), Expect::Client, seconds(NOW)).unwrap();
            assert_eq!((checked.anchor, checked.time_unchecked), (index, false));
            assert_eq!(checked.peer.identity().to_string(), CLIENT_NAME);
        }
        let stranger = check(&trust, other.client.chain(), Expect::Client, seconds(NOW));
        assert_eq!(stranger, Err(CertificateError::UnknownIssuer));
        assert_eq!(check(&trust, &[], Expect::AnyUsage, seconds(NOW)), Err(CertificateError::Malformed));
        assert_eq!(check(&trust, pkis[0].client.chain(), Expect::Client, None), Err(CertificateError::NoTime));
    }
    let unverified = Trust::unverified(&[CertificateType::X509]).unwrap();
    let refused = check(&unverified, other.client.chain(), Expect::AnyUsage, seconds(NOW));
    assert_eq!(refused, Err(CertificateError::UnknownIssuer), "nobody is accepted unverified here");
}

/// RFC 8995, 2.6.2: by manufacturer, whose place in the configuration it is given by.
#[test]
fn a_not_after_is_ignored_under_the_chosen_anchors_alone() {
    let pkis = ["Maker A", "Maker B"].map(|name| Pki::named("ed25519x3", name));
    let roots: Vec<_> = pkis.iter().map(Pki::root).collect();
    for trust in trusts(&roots) {
        a_not_after_is_ignored(&trust, &pkis);
    }
}

fn a_not_after_is_ignored(trust: &Trust, pkis: &[Pki; 2]) {
    let years_later = seconds(NOW + 10 * 365 * DAY);
    for index in [0, 1] {
        let lenient = trust.clone().ignoring_not_after(&[index]).unwrap();
        let (chosen, other) = (&pkis[index], &pkis[1 - index]);
        let checked = lenient.check(&provider(), chosen.client.chain(), Expect::Client, years_later).unwrap();
        assert_eq!((checked.anchor, checked.time_unchecked), (index, false));
        assert_eq!(checked.peer.validity().check(years_later.unwrap()), Ok(()), "a cached one does not end either");
        for (trust, chain) in [(&lenient, other.client.chain()), (trust, chosen.client.chain())] {
            let refused = check(trust, chain, Expect::Client, years_later);
            assert!(matches!(refused, Err(CertificateError::Expired { depth: 0, .. })), "{refused:?}");
        }
        // Everything else is checked as ever.
        let too_early = check(&lenient, chosen.client.chain(), Expect::Client, seconds(NOW - 200 * DAY));
        assert!(matches!(too_early, Err(CertificateError::NotYetValid { .. })), "{too_early:?}");
        let wrong = check(&lenient, chosen.server.chain(), Expect::Client, years_later);
        assert_eq!(wrong, Err(CertificateError::WrongUsage));
        assert_eq!(check(&lenient, chosen.client.chain(), Expect::Client, seconds(NOW)), Ok(index));
    }
    for unknown in [&[][..], &[2], &[0, 2]] {
        assert_eq!(trust.clone().ignoring_not_after(unknown).err(), Some(ApiMisuse::NoTrustAnchors));
    }
}

/// The certificate of an issuer that is revoked stays revoked where its end is ignored.
#[test]
fn a_revoked_certificate_is_refused_also_where_its_end_is_ignored() {
    let pki = Pki::shared("ed25519x2");
    let validity = terse_pki::Validity { not_before: NOW, not_after: NOW + 20 * 365 * DAY };
    let revoked = terse_pki::Revocation::new(pki.client.leaf(), NOW).unwrap();
    for (revoked, result) in [(vec![], Ok(0)), (vec![revoked], Err(CertificateError::Revoked))] {
        let crl = pki.authority.crl(0, &revoked, validity).unwrap();
        for trust in trusts(&[pki.root()]) {
            let trust = trust.with_crls(core::slice::from_ref(&crl)).unwrap().ignoring_not_after(&[0]).unwrap();
            let years_later = unix_time(10 * 365 * DAY);
            assert_eq!(check(&trust, pki.client.chain(), Expect::Client, Some(years_later)), result);
        }
    }
}
