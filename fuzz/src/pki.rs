//! The certificates are fixed, so that recordings with them can be replayed. `new-pki` made them. Their private keys do
//! not exist any more: [`crate::provider::Key`] signs without them.

use pki_types::{CertificateDer, CertificateRevocationListDer, SubjectPublicKeyInfoDer};
use terse_tls::{Credential, Trust};
use webpki::EndEntityCert;

use crate::provider::Key;

/// The root.
pub const ROOT: &[u8] = include_bytes!("../pki/root.der");
/// The intermediate certificate.
pub const INTERMEDIATE: &[u8] = include_bytes!("../pki/intermediate.der");
/// The server's certificate.
pub const SERVER: &[u8] = include_bytes!("../pki/server.der");
/// The client's certificate.
pub const CLIENT: &[u8] = include_bytes!("../pki/client.der");
/// The intermediate's revocation list, which revokes the client's certificate.
pub const CRL: &[u8] = include_bytes!("../pki/crl.der");

/// The CA of a manufacturer of devices.
pub const MAKER: &[u8] = include_bytes!("../pki/onboarding/maker.der");
/// The IDevID of a device of it.
pub const IDEVID: &[u8] = include_bytes!("../pki/onboarding/idevid.der");
/// The CA of a domain.
pub const DOMAIN: &[u8] = include_bytes!("../pki/onboarding/domain.der");
/// The certificate of its registrar.
pub const REGISTRAR: &[u8] = include_bytes!("../pki/onboarding/registrar.der");
/// Its revocation list, which does not revoke that.
pub const DOMAIN_CRL: &[u8] = include_bytes!("../pki/onboarding/crl.der");
/// A certification request of the device, for two names.
pub const REQUEST: &[u8] = include_bytes!("../pki/onboarding/request.der");

/// Returns trust in the root.
pub fn trust() -> Trust {
    Trust::new(&[ROOT.into()]).expect("the root is well-formed")
}

/// Returns trust in the root, with the revocation list.
pub fn trust_with_crl() -> Trust {
    let crl = CertificateRevocationListDer::from(CRL);
    trust().with_crls(&[crl]).expect("the list is well-formed")
}

/// Returns trust in the raw public key of `leaf`.
pub fn raw_trust(leaf: &'static [u8]) -> Trust {
    Trust::raw_public_keys(&[public_key(leaf)]).expect("the key is well-formed")
}

/// Returns a credential with `leaf` and the intermediate.
pub fn credential(leaf: &'static [u8], is_slow: bool) -> Credential {
    let chain = vec![CertificateDer::from(leaf), CertificateDer::from(INTERMEDIATE)];
    Credential::new(chain, Key::shared(public_key(leaf), is_slow)).expect("the chain is well-formed")
}

/// Returns a credential with the raw public key of `leaf`.
pub fn raw_credential(leaf: &'static [u8]) -> Credential {
    let key = Key::shared(public_key(leaf), false);
    Credential::raw_public_key(key).expect("the key is well-formed")
}

/// Returns the SubjectPublicKeyInfo in `leaf`.
pub fn public_key(leaf: &'static [u8]) -> SubjectPublicKeyInfoDer<'static> {
    let leaf = CertificateDer::from(leaf);
    EndEntityCert::try_from(&leaf).expect("the leaf is well-formed").subject_public_key_info().into_owned()
}
