//! Credentials of both types.

use alloc::string::ToString;
use alloc::vec;
use core::iter::once;

use terse_testkit::pki::Pki;

use super::super::tests::key_of;
use super::*;
use crate::crypto::{CryptoError, Rng, Signing};
use crate::wire::SignatureScheme;

/// A key that does not sign here.
struct PublicHalf(SubjectPublicKeyInfoDer<'static>);

impl SigningKey for PublicHalf {
    fn schemes(&self) -> &[SignatureScheme] {
        &[]
    }

    fn public_key(&self) -> SubjectPublicKeyInfoDer<'_> {
        self.0.clone()
    }

    fn sign(&self, scheme: SignatureScheme, _: &[u8], _: &mut dyn Rng) -> Result<Signing, CryptoError> {
        unreachable!("{scheme}")
    }
}

const VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::TLS_1_2, ProtocolVersion::TLS_1_3];

#[test]
fn a_chain_has_one_fingerprint() {
    let pki = Pki::shared("p256x3");
    let key = key_of(pki.server.leaf());
    let credential = Credential::new(pki.server.chain().to_vec(), Arc::new(PublicHalf(key.clone())));
    let credential = credential.unwrap();
    assert_eq!(credential.certificate_type(), CertificateType::X509);
    assert_eq!(credential.public_key(), key);
    assert!(credential.cert_data().eq(pki.server.chain().iter().map(|certificate| certificate.as_ref())));
    let fingerprint = Fingerprint::of_chain(pki.server.chain().iter().map(AsRef::as_ref));
    assert_eq!(VERSIONS.map(|version| credential.fingerprint(version)), [fingerprint; 2]);
}

#[test]
fn a_raw_public_key_has_one_for_each_version() {
    let key = key_of(Pki::shared("p256x3").server.leaf());
    let credential = Credential::raw_public_key(Arc::new(PublicHalf(key.clone()))).unwrap();
    assert_eq!(credential.certificate_type(), CertificateType::RAW_PUBLIC_KEY);
    assert_eq!(credential.public_key(), key);
    assert!(credential.chain().is_empty() && credential.cert_data().eq(once(key.as_ref())));
    let expected = VERSIONS.map(|version| Fingerprint::of_raw_public_key(version, &key));
    assert_eq!(VERSIONS.map(|version| credential.fingerprint(version)), expected);
    assert_ne!(expected[0], expected[1]);
    let debug = alloc::format!("{credential:?}");
    assert_eq!(debug, "Credential { certificate_type: RawPublicKey, certificates: 0, .. }");
}

#[test]
fn a_key_that_does_not_parse_is_refused() {
    for malformed in [vec![], vec![0x30, 0], b"no key".to_vec()] {
        let key = Arc::new(PublicHalf(malformed.into()));
        let error = Credential::raw_public_key(key).err();
        assert_eq!(error, Some(ApiMisuse::MalformedPublicKey));
        assert_eq!(ApiMisuse::MalformedPublicKey.to_string(), "a configured public key does not parse");
    }
}

/// A chain of three: both issuers count, and nobody else; a root's signature of itself does not.
#[test]
fn issuers_and_signatures_of_a_chain() {
    let pki = Pki::shared("p256x3");
    let key = Arc::new(PublicHalf(key_of(pki.server.leaf())));
    let credential = |chain| Credential::new(chain, key.clone()).unwrap();
    let chain = pki.server.chain().to_vec();
    let names: Vec<Vec<u8>> =
        pki.authority.certificates().map(|ca| Fields::read(ca).unwrap().subject.to_vec()).collect();
    assert_eq!(names.len(), 2);
    for name in &names {
        assert!(credential(chain.clone()).is_issued_by([&b"nobody"[..], name].into_iter()));
    }
    let leaf = Fields::read(pki.server.leaf()).unwrap();
    assert!(!credential(chain.clone()).is_issued_by(once(leaf.subject)));
    assert!(!credential(chain.clone()).is_issued_by(core::iter::empty()));

    let id = leaf.signature_algorithm;
    assert!(credential(chain.clone()).is_signed_with(|other| other == id));
    assert!(!credential(chain.clone()).is_signed_with(|_| false));
    let asked = core::cell::Cell::new(0);
    let count = |_: &[u8]| {
        asked.set(asked.get() + 1);
        true
    };
    let with_root: Vec<_> = chain.into_iter().chain([pki.root()]).collect();
    assert!(credential(with_root).is_signed_with(count));
    assert_eq!(asked.get(), 2, "not the root's");

    let raw = Credential::raw_public_key(key).unwrap();
    assert!(!raw.is_issued_by(names.iter().map(Vec::as_slice)));
    assert!(raw.is_signed_with(|_| false), "there is nothing signed");
}
