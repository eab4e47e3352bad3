//! The private key of a CA certificate: in memory, or elsewhere, where it signs on request.
//!
//! What must always hold: a signature of a key that is elsewhere is used only if the public key of the certificate verifies
//! it; why there is none reaches the caller.

use core::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P384_SHA384_ASN1, ED25519, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey,
    VerificationAlgorithm,
};
use rcgen::{KeyPair, PublicKeyData, SignatureAlgorithm, SigningKey};
use zeroize::Zeroizing;

use crate::{Error, KeyAlgorithm};

/// A private key that is not in this process's memory: in an HSM, a smart card, or another process.
///
/// It signs while its caller waits, perhaps for long: a server calls it beside its tasks, and bounds how many wait.
pub trait ExternalKey: Send + Sync {
    /// Returns the algorithm, which signs as a CA with a key in memory does: ECDSA with the hash of the curve's length,
    /// Ed25519, RSA with PKCS #1 and SHA-256.
    fn algorithm(&self) -> KeyAlgorithm;

    /// Returns the public key: the contents of the subjectPublicKey in a certificate (RFC 5280, 4.1.2.7).
    fn public_key(&self) -> &[u8];

    /// Signs a message, and returns the contents of the signatureValue in a certificate: an ECDSA signature is DER.
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError>;
}

/// Why a key that is elsewhere does not sign: one line that says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyError(String);

impl KeyError {
    /// Creates an error that displays as `problem`.
    pub fn new(problem: impl fmt::Display) -> Self {
        Self(problem.to_string())
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for KeyError {}

/// The key of a CA certificate.
pub(crate) enum LevelKey {
    /// It is in memory.
    Software(Zeroizing<KeyPair>),
    /// It is elsewhere.
    External(Arc<dyn ExternalKey>),
}

impl LevelKey {
    /// Makes the key sign, if it is elsewhere, so that what is wrong is found before it is needed.
    pub(crate) fn test(&self) -> Result<(), KeyError> {
        match self {
            Self::Software(_) => Ok(()),
            Self::External(key) => sign_verified(&**key, TEST).map(|_| ()),
        }
    }
}

impl PublicKeyData for LevelKey {
    fn der_bytes(&self) -> &[u8] {
        match self {
            Self::Software(key) => key.der_bytes(),
            Self::External(key) => key.public_key(),
        }
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        match self {
            Self::Software(key) => key.algorithm(),
            Self::External(key) => key.algorithm().signature_algorithm(),
        }
    }
}

/// Signs with the key of a CA certificate, and remembers why that failed: rcgen has no place for it.
pub(crate) struct Signer<'a> {
    key: &'a LevelKey,
    failure: Mutex<Option<KeyError>>,
}

impl<'a> Signer<'a> {
    pub(crate) fn new(key: &'a LevelKey) -> Self {
        Self { key, failure: Mutex::new(None) }
    }

    /// Returns why the key of the certificate in files of this name did not sign; otherwise `error`, which has another cause.
    pub(crate) fn explain(&self, error: Error, name: &str) -> Error {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        failure.map_or(error, |failure| Error::Key(KeyError::new(format_args!("{name}.pem: {failure}"))))
    }
}

impl PublicKeyData for Signer<'_> {
    fn der_bytes(&self) -> &[u8] {
        self.key.der_bytes()
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        PublicKeyData::algorithm(self.key)
    }
}

impl SigningKey for Signer<'_> {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        match self.key {
            LevelKey::Software(key) => SigningKey::sign(&**key, message),
            LevelKey::External(key) => sign_verified(&**key, message).map_err(|error| {
                *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                rcgen::Error::RemoteKeyError
            }),
        }
    }
}

/// Signs with a key that is elsewhere, and checks the signature.
fn sign_verified(key: &dyn ExternalKey, message: &[u8]) -> Result<Vec<u8>, KeyError> {
    let signature = key.sign(message)?;
    let verification: &'static dyn VerificationAlgorithm = match key.algorithm() {
        KeyAlgorithm::P256 => &ECDSA_P256_SHA256_ASN1,
        KeyAlgorithm::P384 => &ECDSA_P384_SHA384_ASN1,
        KeyAlgorithm::Ed25519 => &ED25519,
        KeyAlgorithm::Rsa2048 | KeyAlgorithm::Rsa3072 | KeyAlgorithm::Rsa4096 => &RSA_PKCS1_2048_8192_SHA256,
    };
    match UnparsedPublicKey::new(verification, key.public_key()).verify(message, &signature) {
        Ok(()) => Ok(signature),
        Err(_) => Err(KeyError::new(
            "what signs is not the key of the certificate; correct which key is named, or restore the certificate",
        )),
    }
}

/// What is signed to test a key. It is the beginning of no DER, so that nobody takes it for a certificate.
const TEST: &[u8] = b"terse-pki: whether this key belongs to the certificate";

#[cfg(test)]
pub(crate) mod tests;
