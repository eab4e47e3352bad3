//! Configurations that work, and those that do not.

use alloc::string::ToString as _;
use std::vec;

use terse_aws_lc::PROVIDER;
use terse_pki::IdevidOptions;

use super::*;
use crate::pledge::form::Coaps;
use crate::pledge::tests::pki::{NOW, PKI, config, credential};

#[test]
fn serial_number_and_issuer_are_those_of_the_idevid() {
    let config = config();
    assert_eq!(config.serial_number(), "WI-3005");
    assert_eq!(config.issuer.as_deref().map(|issuer| &issuer[..6]), Some(&[4, 24, 48, 22, 128, 20][..]));
    // The subject of this IDevID has no common name.
    assert_eq!(
        with_common_name(&PKI.idevid, PKI.maker.root()).unwrap_err(),
        ConfigError::Idevid(Malformed::Missing("commonName"))
    );
}

fn with_common_name(idevid: &Credential, anchor: &CertificateDer<'static>) -> Result<PledgeConfig, ConfigError> {
    let anchors = vec![anchor.clone()];
    PledgeConfig::with_serial_number_field(&PROVIDER, idevid.clone(), anchors, SerialNumberField::CommonName)
}

#[test]
fn the_serial_number_may_stand_in_the_common_name_alone() {
    let options = terse_pki::LeafOptions::new("WI-3006", crate::pledge::tests::pki::validity());
    let idevid = credential(&PKI.maker.issue(&options).unwrap());
    let signer = &PKI.masa.chain()[0];
    assert_eq!(with_common_name(&idevid, signer).unwrap().serial_number(), "WI-3006");
    let default = PledgeConfig::new(&PROVIDER, idevid.clone(), vec![signer.clone()]);
    assert_eq!(default.unwrap_err(), ConfigError::Idevid(Malformed::Missing("serialNumber")));
    // The IDevID has no serialNumber and no MASA, so that only its CA tells it from a signer of vouchers.
    assert!(with_common_name(&idevid, PKI.maker.root()).unwrap().has_device_ca);
    assert!(!with_common_name(&idevid, PKI.stranger.root()).unwrap().has_device_ca, "a CA that has no devices");
    // The same without path building.
    let without = |anchor: &CertificateDer<'static>| {
        let (anchors, field) = (vec![anchor.clone()], SerialNumberField::CommonName);
        let paths: Paths = Trust::without_path_building;
        PledgeConfig::with_paths(Https, &PROVIDER, idevid.clone(), anchors, field, paths).unwrap().has_device_ca
    };
    assert!(without(PKI.maker.root()));
    assert!(!without(PKI.stranger.root()));
}

#[test]
fn keys_that_cannot_sign_voucher_requests_are_refused() {
    let idevid = |algorithm: &str| {
        let options = IdevidOptions { algorithm: Some(algorithm.parse().unwrap()), ..IdevidOptions::new("7", NOW) };
        credential(&PKI.maker.issue_idevid(&options).unwrap())
    };
    let new = |idevid| PledgeConfig::new(&PROVIDER, idevid, vec![PKI.maker.root().clone()]);
    assert_eq!(new(idevid("p384")).unwrap().scheme, SignatureScheme::ECDSA_SECP384R1_SHA384);
    assert_eq!(new(idevid("ed25519")).unwrap().scheme, SignatureScheme::ED25519);
    let without_sha512 = PROVIDER.sha512(None);
    let error = PledgeConfig::new(&without_sha512, idevid("ed25519"), vec![PKI.maker.root().clone()]).unwrap_err();
    assert_eq!(error, ConfigError::Key(SignatureRefused::Algorithm));
    assert!(error.to_string().contains("not supported"), "{error}");
}

#[test]
fn a_configuration_keeps_all_but_the_form_in_another_one() {
    let idevid = |algorithm: &str| {
        let options = IdevidOptions { algorithm: Some(algorithm.parse().unwrap()), ..IdevidOptions::new("7", NOW) };
        credential(&PKI.maker.issue_idevid(&options).unwrap())
    };
    let new = |idevid| PledgeConfig::new(&PROVIDER, idevid, vec![PKI.maker.root().clone()]).unwrap();
    let https = new(idevid("p384")).accept_nonceless(false).require_cmc_ra(false).max_response(7);
    let coaps = https.clone().into_form(Coaps::default()).unwrap();
    assert_eq!((coaps.serial_number(), coaps.scheme), (https.serial_number(), https.scheme));
    assert_eq!((coaps.accept_nonceless, coaps.require_cmc_ra, coaps.max_response), (false, false, 7));
    assert_eq!((&coaps.manufacturer, &coaps.issuer), (&https.manufacturer, &https.issuer));
    // An RSA key signs CMS, and no COSE.
    let error = new(idevid("rsa2048")).into_form(Coaps::default()).unwrap_err();
    assert!(matches!(error, ConfigError::Key(_)), "{error:?}");
}

#[test]
fn a_pledge_has_a_certificate_and_anchors() {
    let key = crate::pledge::tests::pki::idevid_key();
    let raw = Credential::raw_public_key(key).unwrap();
    let error = PledgeConfig::new(&PROVIDER, raw, vec![PKI.maker.root().clone()]).unwrap_err();
    assert!(matches!(error, ConfigError::Key(_) | ConfigError::NoCertificate), "{error:?}");
    let error = PledgeConfig::new(&PROVIDER, PKI.idevid.clone(), vec![]).unwrap_err();
    assert_eq!(error, ConfigError::Manufacturer(ApiMisuse::NoTrustAnchors));
}

#[test]
fn no_response_is_longer_than_a_body_that_can_be_decoded() {
    assert_eq!(config().max_response, MAX_BODY_LEN);
    for (set, expected) in
        [(0, 0), (MAX_BODY_LEN, MAX_BODY_LEN), (MAX_BODY_LEN + 1, MAX_BODY_LEN), (usize::MAX, MAX_BODY_LEN)]
    {
        assert_eq!(config().max_response(set).max_response, expected);
        let body = vec![b'A'; config().max_response(set).max_response];
        assert!(crate::est::decode_body(&body, "body").is_ok());
    }
}

#[test]
fn a_configuration_prints_no_key() {
    let text = std::format!("{:?}", config());
    assert!(text.contains("WI-3005") && text.len() < 300, "{text}");
}
