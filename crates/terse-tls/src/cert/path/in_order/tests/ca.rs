//! CAs that issue whatever a test asks for, and the two ways to judge it.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use pki_types::{CertificateDer, ServerName};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ED25519, SanType, SigningKey as _, date_time_ymd,
};
use terse_testkit::pki::{SERVER_NAME, unix_time};

use super::der::Element;
use crate::cert::tests::provider;
use crate::cert::{CheckedChain, Expect, Trust};
use crate::error::CertificateError;

/// A holder of a key and a certificate: a CA, or a device.
pub(super) struct Holder {
    pub(super) params: CertificateParams,
    key: KeyPair,
    pub(super) der: Vec<u8>,
}

pub(super) fn good(_: &mut CertificateParams) {}

/// Returns the parameters of a CA.
fn ca(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.not_before = date_time_ymd(2025, 7, 1);
    params.not_after = date_time_ymd(2026, 7, 1);
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params
}

/// Returns the parameters of a server.
fn server() -> CertificateParams {
    let mut params = ca("Server");
    params.is_ca = IsCa::NoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.subject_alt_names = vec![SanType::DnsName(SERVER_NAME.try_into().unwrap())];
    params
}

impl Holder {
    pub(super) fn root(name: &str) -> Self {
        Self::root_with(name, good)
    }

    pub(super) fn root_with(name: &str, change: impl FnOnce(&mut CertificateParams)) -> Self {
        let (key, mut params) = (KeyPair::generate_for(&PKCS_ED25519).unwrap(), ca(name));
        change(&mut params);
        let der = params.self_signed(&key).unwrap().der().to_vec();
        Self { params, key, der }
    }

    /// Makes a CA that this one certifies.
    pub(super) fn sub(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> Self {
        self.certify(ca(name), change)
    }

    /// Makes a server that this one certifies.
    pub(super) fn server(&self, change: impl FnOnce(&mut CertificateParams)) -> Self {
        self.certify(server(), change)
    }

    fn certify(&self, mut params: CertificateParams, change: impl FnOnce(&mut CertificateParams)) -> Self {
        change(&mut params);
        let key = KeyPair::generate_for(&PKCS_ED25519).unwrap();
        let der = params.signed_by(&key, &self.issuer()).unwrap().der().to_vec();
        Self { params, key, der }
    }

    /// Certifies the name and the key of `other`.
    pub(super) fn cross(&self, other: &Self) -> Vec<u8> {
        other.params.signed_by(&other.key, &self.issuer()).unwrap().der().to_vec()
    }

    /// Changes the fields of the TBSCertificate of `certificate`, and signs it again.
    pub(super) fn resigned(&self, certificate: &[u8], change: impl FnOnce(&mut Vec<Element>)) -> Vec<u8> {
        let mut parts = Element::parse(certificate).unwrap();
        let [tbs, _, signature] = &mut parts.children()[..] else { panic!("a certificate has three parts") };
        change(tbs.children());
        let signed = self.key.sign(&tbs.encode()).unwrap();
        *signature = Element::primitive(3, &[&[0], &signed[..]].concat());
        parts.encode()
    }

    fn issuer(&self) -> Issuer<'_, &KeyPair> {
        Issuer::from_params(&self.params, &self.key)
    }
}

/// Judges a chain with path building, and without.
pub(super) fn judge_both(
    anchors: &[&[u8]],
    chain: &[&[u8]],
    expect: Expect<'_>,
) -> [Result<CheckedChain, CertificateError>; 2] {
    let anchors: Vec<_> = anchors.iter().map(|der| CertificateDer::from(*der)).collect();
    let chain: Vec<_> = chain.iter().map(|der| CertificateDer::from(*der)).collect();
    let judge = |trust: Trust| trust.check(&provider(), &chain, expect, Some(unix_time(0)));
    let in_order = judge(Trust::without_path_building(&anchors).unwrap());
    [judge(Trust::new(&anchors).unwrap()), in_order]
}

/// Judges the chain of a server without path building. What is accepted is also accepted with it.
pub(super) fn judge(anchors: &[&[u8]], chain: &[&[u8]]) -> Result<CheckedChain, CertificateError> {
    let name = ServerName::try_from(SERVER_NAME).unwrap();
    let [building, in_order] = judge_both(anchors, chain, Expect::Server(&name));
    assert!(in_order.is_err() || building.is_ok(), "{building:?}");
    in_order
}

/// Judges the chain of a server. Path building makes no difference.
pub(super) fn judge_alike(anchors: &[&[u8]], chain: &[&[u8]]) -> Result<CheckedChain, CertificateError> {
    let name = ServerName::try_from(SERVER_NAME).unwrap();
    let [building, in_order] = judge_both(anchors, chain, Expect::Server(&name));
    assert_eq!(building, in_order);
    in_order
}

/// Returns the certificates of holders.
pub(super) fn chain<'a>(holders: &[&'a Holder]) -> Box<[&'a [u8]]> {
    holders.iter().map(|holder| &holder.der[..]).collect()
}
