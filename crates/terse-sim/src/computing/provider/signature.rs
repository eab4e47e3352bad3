//! Counting signatures: keys that sign, and the algorithms that verify.

use alloc::sync::Arc;

use pki_types::{AlgorithmIdentifier, FipsStatus, InvalidSignature, SignatureVerificationAlgorithm};
use pki_types::{SubjectPublicKeyInfoDer, alg_id};
use terse_tls::SignatureScheme;
use terse_tls::crypto::{CryptoError, Rng, Signing, SigningKey};
use x509_cert::der::asn1::{AnyRef, BitStringRef, UintRef};
use x509_cert::der::{Decode, Reader, SliceReader};

use super::leaked;
use crate::computing::counter::note;
use crate::computing::{Operation, SignatureKey};

/// Wraps an algorithm.
pub(super) fn counting(
    inner: &'static dyn SignatureVerificationAlgorithm,
) -> &'static dyn SignatureVerificationAlgorithm {
    leaked(CountingAlgorithm(inner))
}

#[derive(Debug)]
struct CountingAlgorithm(&'static dyn SignatureVerificationAlgorithm);

impl SignatureVerificationAlgorithm for CountingAlgorithm {
    fn verify_signature(&self, public_key: &[u8], message: &[u8], signature: &[u8]) -> Result<(), InvalidSignature> {
        let kind = kind(&self.public_key_alg_id(), public_key);
        note(kind.map_or(Operation::Unknown("key of a signature"), Operation::Verify), 1);
        self.0.verify_signature(public_key, message, signature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.0.public_key_alg_id()
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.0.signature_alg_id()
    }

    fn fips_status(&self) -> FipsStatus {
        self.0.fips_status()
    }

    fn fips(&self) -> bool {
        self.0.fips()
    }
}

/// A key that notes its signatures. One that a secure element makes takes the processor no time, and is not noted.
pub(super) struct CountingKey {
    inner: Arc<dyn SigningKey>,
    kind: Option<SignatureKey>,
}

impl CountingKey {
    /// Wraps a key.
    pub(super) fn new(inner: Arc<dyn SigningKey>) -> Self {
        let kind = parts(&inner.public_key()).and_then(|(algorithm, public_key)| kind(algorithm, public_key));
        Self { inner, kind }
    }
}

impl SigningKey for CountingKey {
    fn schemes(&self) -> &[SignatureScheme] {
        self.inner.schemes()
    }

    fn public_key(&self) -> SubjectPublicKeyInfoDer<'_> {
        self.inner.public_key()
    }

    fn sign(&self, scheme: SignatureScheme, message: &[u8], rng: &mut dyn Rng) -> Result<Signing, CryptoError> {
        let signing = self.inner.sign(scheme, message, rng)?;
        if signing != Signing::Pending {
            note(self.kind.map_or(Operation::Unknown("key of a signature"), Operation::Sign), 1);
        }
        Ok(signing)
    }
}

/// Returns the kind of a key. `algorithm` is the content of its AlgorithmIdentifier (RFC 5280, 4.1.1.2).
fn kind(algorithm: &[u8], public_key: &[u8]) -> Option<SignatureKey> {
    let is = |known: AlgorithmIdentifier| *known == *algorithm;
    if is(alg_id::ECDSA_P256) {
        Some(SignatureKey::EcdsaP256)
    } else if is(alg_id::ECDSA_P384) {
        Some(SignatureKey::EcdsaP384)
    } else if is(alg_id::ED25519) {
        Some(SignatureKey::Ed25519)
    } else if is(alg_id::RSA_ENCRYPTION) {
        modulus_bits(public_key).map(SignatureKey::Rsa)
    } else {
        None
    }
}

/// Returns the content of the AlgorithmIdentifier and the key of a SubjectPublicKeyInfo (RFC 5280, 4.1.2.7).
pub(super) fn parts(subject_public_key_info: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut fields = SliceReader::new(AnyRef::from_der(subject_public_key_info).ok()?.value()).ok()?;
    let (algorithm, public_key) = (fields.decode::<AnyRef<'_>>().ok()?, fields.decode::<BitStringRef<'_>>().ok()?);
    Some((algorithm.value(), public_key.raw_bytes()))
}

/// Returns the length of the modulus of an `RSAPublicKey` (RFC 8017, A.1.1).
fn modulus_bits(public_key: &[u8]) -> Option<u16> {
    let mut fields = SliceReader::new(AnyRef::from_der(public_key).ok()?.value()).ok()?;
    let modulus = fields.decode::<UintRef<'_>>().ok()?;
    let unused = modulus.as_bytes().first()?.leading_zeros() as usize;
    u16::try_from(8 * modulus.as_bytes().len() - unused).ok()
}
