//! Makes CAs and leaves with Ed25519 keys. All leaves of a role have the key that this role has in the shared PKI.

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ED25519, PublicKeyData, SanType, date_time_ymd,
};
use terse_testkit::pair::Side;
use terse_testkit::pki::{CLIENT_NAME, Pki, SERVER_NAME};

/// The chain of the shared PKI whose keys the leaves have.
pub(crate) const KEYS: &str = "ed25519x2";

/// A CA that issues whatever a test asks for.
pub(crate) struct Ca {
    pub(crate) key: KeyPair,
    pub(crate) params: CertificateParams,
    pub(crate) der: Vec<u8>,
}

/// Valid at the time of tests, and otherwise empty.
fn params(name: Option<&str>) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.not_before = date_time_ymd(2025, 7, 1);
    params.not_after = date_time_ymd(2026, 7, 1);
    params.distinguished_name = DistinguishedName::new();
    if let Some(name) = name {
        params.distinguished_name.push(DnType::CommonName, name);
    }
    params
}

fn ca_params(name: &str) -> CertificateParams {
    let mut params = params(Some(name));
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params
}

/// Nothing about it is changed.
pub(crate) fn good(_: &mut CertificateParams) {}

impl Ca {
    /// Makes a CA that signs its own certificate.
    pub(crate) fn root(name: &str, change: impl FnOnce(&mut CertificateParams)) -> Self {
        let (key, mut params) = (new_key(), ca_params(name));
        change(&mut params);
        let der = params.self_signed(&key).unwrap().der().to_vec();
        Self { key, params, der }
    }

    /// Makes a good CA with the name "Root".
    pub(crate) fn good_root() -> Self {
        Self::root("Root", good)
    }

    /// Makes a CA that this one certifies.
    pub(crate) fn sub(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> Self {
        let (key, mut params) = (new_key(), ca_params(name));
        change(&mut params);
        let der = params.signed_by(&key, &self.issuer()).unwrap().der().to_vec();
        Self { key, params, der }
    }

    /// Certifies another CA's name and key with this CA.
    pub(crate) fn cross(&self, other: &Self) -> Vec<u8> {
        other.params.signed_by(&other.key, &self.issuer()).unwrap().der().to_vec()
    }

    /// Issues a leaf for `role`.
    pub(crate) fn leaf(&self, role: Side, change: impl FnOnce(&mut CertificateParams)) -> Vec<u8> {
        self.leaf_of(role, &leaf_key(role), change)
    }

    /// Issues a leaf for `role` with another key.
    pub(crate) fn leaf_of(
        &self,
        role: Side,
        key: &impl PublicKeyData,
        change: impl FnOnce(&mut CertificateParams),
    ) -> Vec<u8> {
        leaf_params(role, change).signed_by(key, &self.issuer()).unwrap().der().to_vec()
    }

    /// Returns this CA under another name.
    pub(crate) fn renamed(&self, name: &str) -> Self {
        let key = KeyPair::from_pkcs8_der_and_sign_algo(&self.key.serialized_der().into(), &PKCS_ED25519).unwrap();
        let params = ca_params(name);
        let der = params.self_signed(&key).unwrap().der().to_vec();
        Self { key, params, der }
    }

    fn issuer(&self) -> Issuer<'_, &KeyPair> {
        Issuer::from_params(&self.params, &self.key)
    }
}

/// Makes a leaf that signs itself.
pub(crate) fn self_signed_leaf(role: Side) -> Vec<u8> {
    leaf_params(role, good).self_signed(&leaf_key(role)).unwrap().der().to_vec()
}

fn leaf_params(role: Side, change: impl FnOnce(&mut CertificateParams)) -> CertificateParams {
    let (name, usage) = match role {
        Side::Server => (SERVER_NAME, ExtendedKeyUsagePurpose::ServerAuth),
        Side::Client => (CLIENT_NAME, ExtendedKeyUsagePurpose::ClientAuth),
    };
    let mut params = params(Some(name));
    params.subject_alt_names = vec![dns(name)];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![usage];
    change(&mut params);
    params
}

/// Returns a name as it is, without any check.
pub(crate) fn dns(name: &str) -> SanType {
    SanType::DnsName(name.try_into().unwrap())
}

/// Returns the key of all leaves of `role`.
pub(crate) fn leaf_key(role: Side) -> KeyPair {
    let pki = Pki::shared(KEYS);
    let credential = if role == Side::Server { &pki.server } else { &pki.client };
    KeyPair::try_from(credential.key()).unwrap()
}

fn new_key() -> KeyPair {
    KeyPair::generate_for(&PKCS_ED25519).unwrap()
}
