use alloc::vec;
use std::sync::Arc;

use pki_types::PrivateKeyDer;
use pki_types::pem::PemObject;
use terse_pki::{CertificationRequest, KeyAlgorithm, NameAttribute, NewRequest, RequestOptions, Subject};
use terse_rustcrypto::PROVIDER;
use terse_testkit::rng::SeededRng;
use terse_tls::crypto::Signing;

use super::*;
use crate::asn1::{OBJECT_IDENTIFIER, OCTET_STRING};

/// Returns a key of this algorithm.
pub(crate) fn key(algorithm: KeyAlgorithm) -> Arc<dyn SigningKey> {
    let options = RequestOptions { algorithm, ..RequestOptions::new(Subject::empty()) };
    let pem = NewRequest::new(&options).unwrap().key_pem();
    PROVIDER.load_key(&PrivateKeyDer::from_pem_slice(pem.as_bytes()).unwrap()).unwrap()
}

pub(crate) fn subject() -> Subject {
    let subject = Subject::empty().with(NameAttribute::Organization, "Maker").unwrap();
    subject.with(NameAttribute::SerialNumber, "WI-3005").unwrap()
}

/// Returns a subjectAltName with one dNSName.
pub(crate) fn subject_alt_name(name: &[u8]) -> Vec<u8> {
    let names = encode(SEQUENCE, &[&encode(0x82, &[name])]);
    let oid = encode(OBJECT_IDENTIFIER, &[&[0x55, 0x1d, 17]]);
    encode(SEQUENCE, &[&oid, &encode(OCTET_STRING, &[&names])])
}

fn refusal(subject: &[u8], extensions: &[Vec<u8>]) -> SignatureRefused {
    let key = key(KeyAlgorithm::P256);
    let scheme = SignatureScheme::ECDSA_SECP256R1_SHA256;
    UnsignedRequest::new(subject, &*key, scheme, extensions).err().unwrap()
}

#[test]
fn a_ca_reads_the_request_of_every_kind_of_key() {
    for (algorithm, scheme) in [
        (KeyAlgorithm::P256, SignatureScheme::ECDSA_SECP256R1_SHA256),
        (KeyAlgorithm::P384, SignatureScheme::ECDSA_SECP384R1_SHA384),
        (KeyAlgorithm::Ed25519, SignatureScheme::ED25519),
    ] {
        let key = key(algorithm);
        for extensions in [vec![], vec![subject_alt_name(b"sensor.plant.example")]] {
            let request = UnsignedRequest::new(subject().der(), &*key, scheme, &extensions).unwrap();
            let der = request.sign(&*key, &mut SeededRng::new(7)).unwrap();
            let read = CertificationRequest::from_der(&der).unwrap();
            assert_eq!(read.algorithm(), algorithm);
            assert_eq!(read.subject(), &subject());
            assert_eq!(read.subject_public_key_info(), key.public_key().as_ref());
            assert_eq!(read.names().unwrap(), &["sensor.plant.example"][..extensions.len()]);
        }
    }
}

#[test]
fn a_signature_can_come_later() {
    struct Later(Arc<dyn SigningKey>);

    impl SigningKey for Later {
        fn schemes(&self) -> &[SignatureScheme] {
            self.0.schemes()
        }
        fn public_key(&self) -> pki_types::SubjectPublicKeyInfoDer<'_> {
            self.0.public_key()
        }
        fn sign(&self, _: SignatureScheme, _: &[u8], _: &mut dyn Rng) -> Result<Signing, CryptoError> {
            Ok(Signing::Pending)
        }
    }

    let key = Later(key(KeyAlgorithm::P256));
    let scheme = SignatureScheme::ECDSA_SECP256R1_SHA256;
    let request = || UnsignedRequest::new(subject().der(), &key, scheme, &[]).unwrap();
    let refused = request().sign(&key, &mut SeededRng::new(7));
    assert_eq!(refused, Err(SignatureRefused::Crypto(CryptoError::SigningFailed)));
    let request = request();
    let signature = key.0.sign(scheme, request.message(), &mut SeededRng::new(7)).unwrap().done().unwrap();
    CertificationRequest::from_der(&request.signed(&signature)).unwrap();
}

#[test]
fn the_scheme_is_one_of_the_keys_and_of_certificates() {
    let key = key(KeyAlgorithm::P256);
    for scheme in [
        SignatureScheme::ECDSA_SECP384R1_SHA384,
        SignatureScheme::ED25519,
        SignatureScheme::RSA_PKCS1_SHA256,
        SignatureScheme::RSA_PSS_RSAE_SHA256,
    ] {
        let refused = UnsignedRequest::new(subject().der(), &*key, scheme, &[]).err();
        assert_eq!(refused, Some(SignatureRefused::Algorithm), "{scheme:?}");
    }
}

#[test]
fn subject_and_extensions_must_be_well_formed() {
    let malformed = |error| SignatureRefused::Malformed(error);
    for wrong in [&b""[..], &[5, 0], &[0x30, 2, 0x31, 0], &[0x30, 9, 0x31, 7, 0x30, 5, 6, 3, 0x55, 4, 3]] {
        assert_eq!(refusal(wrong, &[]), malformed(Malformed::Der("subject")), "{wrong:?}");
    }
    let name = subject_alt_name(b"a.example");
    let subject = subject();
    for (extensions, error) in [
        (vec![name.clone(); 2], Malformed::Duplicate("extension")),
        (vec![vec![5, 0]], Malformed::Der("extension")),
        (vec![name[..name.len() - 1].to_vec()], Malformed::Der("extension")),
        (vec![[&name[..], &[0]].concat()], Malformed::Der("extension")),
        (vec![encode(SEQUENCE, &[&[6, 1, 42]])], Malformed::Missing("extnValue")),
        (vec![name; MAX_EXTENSIONS + 1], Malformed::TooMany("extensions")),
        (vec![subject_alt_name(&[b'x'; MAX_BODY_LEN])], Malformed::TooLong(MAX_BODY_LEN)),
    ] {
        assert_eq!(refusal(subject.der(), &extensions), malformed(error));
    }
}
