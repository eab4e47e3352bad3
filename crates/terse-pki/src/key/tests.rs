use std::sync::atomic::{AtomicBool, Ordering};

use pki_types::pem::PemObject;
use pki_types::{CertificateDer, PrivateKeyDer};
use tempfile::TempDir;
use webpki::KeyUsage;

use super::*;
use crate::authority::tests::{NOW, options, verify};
use crate::{Authority, LeafOptions, OcspOptions, Validity};

/// A key that is elsewhere, for tests: it can be away, or be another one than it says.
pub(crate) struct Elsewhere {
    key: KeyPair,
    algorithm: KeyAlgorithm,
    public_key: Vec<u8>,
    is_away: AtomicBool,
}

impl ExternalKey for Elsewhere {
    fn algorithm(&self) -> KeyAlgorithm {
        self.algorithm
    }

    fn public_key(&self) -> &[u8] {
        &self.public_key
    }

    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        match self.is_away.load(Ordering::Relaxed) {
            true => Err(KeyError::new("the key is away; bring it back")),
            false => SigningKey::sign(&self.key, message).map_err(KeyError::new),
        }
    }
}

/// Returns a CA, and the key of its last certificate, as one that is elsewhere.
fn authority(chain: &str) -> (Authority, Arc<Elsewhere>) {
    let scratch = TempDir::new().unwrap();
    let files = Authority::new(&options(chain)).unwrap().save(scratch.path(), false).unwrap();
    let (key, level) = (files.last().unwrap(), files.len() / 2 - 1);
    let key = KeyPair::try_from(&PrivateKeyDer::from_pem_file(key).unwrap()).unwrap();
    let algorithm = KeyAlgorithm::of(&key).unwrap();
    let public_key = key.der_bytes().to_vec();
    let key = Arc::new(Elsewhere { key, algorithm, public_key, is_away: AtomicBool::new(false) });
    std::fs::remove_file(files.last().unwrap()).unwrap();
    let authority = Authority::load(scratch.path()).unwrap().with_external_key(level, key.clone()).unwrap();
    (authority, key)
}

fn leaf() -> LeafOptions {
    LeafOptions::new("broker.plant.example", Validity::days(NOW, 9))
}

#[test]
fn a_key_elsewhere_signs_certificates_crls_and_responses() {
    for chain in ["p256x3", "p384x2", "ed25519x3", "rsa2048x2"] {
        let (authority, _) = authority(chain);
        assert!(authority.signs_elsewhere());
        let level = authority.certificates().len() - 1;
        let credential = authority.issue(&leaf()).unwrap();
        verify(&authority, &credential, KeyUsage::client_auth(), NOW).unwrap();
        let crl = authority.crl(level, &[], Validity::days(NOW, 7)).unwrap();
        assert_eq!(authority.read_crl(&crl).unwrap(), (level, Vec::new()));
        authority.ocsp_response(credential.leaf(), &OcspOptions::good(NOW, 7)).unwrap();
        // With a subject that is signed a second time.
        authority.issue_idevid(&crate::IdevidOptions::new("WI-3005", NOW)).unwrap();
    }
}

#[test]
fn why_a_key_does_not_sign_reaches_the_caller() {
    let (authority, key) = authority("p256x3");
    let good = authority.issue(&leaf()).unwrap();
    key.is_away.store(true, Ordering::Relaxed);
    let errors = [
        authority.issue(&leaf()).unwrap_err(),
        authority.issue_idevid(&crate::IdevidOptions::new("WI-3005", NOW)).unwrap_err(),
        authority.crl(1, &[], Validity::days(NOW, 7)).unwrap_err(),
        authority.ocsp_response(good.leaf(), &OcspOptions::good(NOW, 7)).unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, Error::Key(_)), "{error:?}");
        assert_eq!(error.to_string(), "intermediate1.pem: the key is away; bring it back");
    }
    key.is_away.store(false, Ordering::Relaxed);
    authority.issue(&leaf()).unwrap();
}

#[test]
fn a_signature_of_another_key_is_not_used() {
    let (authority, _) = authority("p256x3");
    let own: Vec<CertificateDer<'_>> = authority.certificates().cloned().collect();
    let public_key = crate::authority::parse(&own[1]).unwrap().public_key().subject_public_key.data.to_vec();
    for algorithm in [KeyAlgorithm::P256, KeyAlgorithm::P384, KeyAlgorithm::Ed25519] {
        let key = algorithm.generate().unwrap();
        let key = KeyPair::try_from(key.serialize_der()).unwrap();
        let is_away = AtomicBool::new(false);
        let (algorithm, public_key) = (KeyAlgorithm::P256, public_key.clone());
        let other = LevelKey::External(Arc::new(Elsewhere { key, algorithm, public_key, is_away }));
        assert!(other.test().unwrap_err().to_string().contains("is not the key of the certificate"));
        assert!(SigningKey::sign(&Signer::new(&other), b"a certificate").is_err());
    }
}

#[test]
fn a_key_of_another_certificate_is_refused() {
    let ((authority, _), (_, other)) = (authority("p256x3"), authority("p256x3"));
    assert!(matches!(authority.with_external_key(1, other), Err(Error::KeyMismatch)));
}

#[test]
fn a_key_elsewhere_is_not_written() {
    let (authority, _) = authority("p256x3");
    let scratch = TempDir::new().unwrap();
    let error = authority.save(&scratch.path().join("new"), false).unwrap_err().to_string();
    assert!(error.contains("elsewhere") && error.contains("copy"), "{error}");
    assert!(!scratch.path().join("new").exists());
}
