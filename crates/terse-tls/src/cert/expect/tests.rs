//! Tests of what is expected of the holder of a certificate.

use alloc::string::ToString;
use alloc::vec::Vec;

use pki_types::ServerName;
use terse_testkit::pki::{Pki, SERVER_NAME};

use super::*;
use crate::cert::{Trust, TrustId};
use crate::test_crypto::SHA256;

#[test]
fn an_extended_key_usage_is_printed_as_an_object_identifier() {
    assert_eq!(KeyPurposeId::SERVER_AUTH.to_string(), "1.3.6.1.5.5.7.3.1");
    assert_eq!(KeyPurposeId::CLIENT_AUTH.to_string(), "1.3.6.1.5.5.7.3.2");
    assert_eq!(std::format!("{:?}", KeyPurposeId::CMC_RA), "KeyPurposeId(1.3.6.1.5.5.7.3.28)");
    assert_eq!(KeyPurposeId::from_der_contents(&[]).to_string(), "no object identifier");
    assert_eq!(KeyPurposeId::CMC_RA.der_contents().len(), 8);
}

/// docs/caching.md, 4.5: what was verified under one expectation is not used under another.
#[test]
fn each_expectation_has_a_trust_id_of_its_own() {
    let trust = Trust::new(&[Pki::shared("p256x3").root()]).unwrap();
    let name = ServerName::try_from(SERVER_NAME).unwrap();
    let id = |expect| trust.id(SHA256, expect, &[]);
    let expectations = [
        Expect::Server(&name),
        Expect::Client,
        Expect::Usage(KeyPurposeId::CMC_RA),
        Expect::Usage(KeyPurposeId::SERVER_AUTH),
        Expect::Usage(KeyPurposeId::CLIENT_AUTH),
        Expect::AnyUsage,
        Expect::Unrestricted,
    ];
    let ids: Vec<TrustId> = expectations.into_iter().map(id).collect();
    for (place, one) in ids.iter().enumerate() {
        assert!(!ids[place + 1..].contains(one), "{:?}", expectations[place]);
    }
    let undated = trust.clone().ignoring_not_after(&[0]).unwrap();
    assert_ne!(undated.id(SHA256, Expect::Client, &[]), ids[1]);
    let in_order = Trust::without_path_building(&[Pki::shared("p256x3").root()]).unwrap();
    assert_ne!(in_order.id(SHA256, Expect::Client, &[]), ids[1]);
}
