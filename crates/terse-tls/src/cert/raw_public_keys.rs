//! Raw public keys (RFC 7250) that are trusted because they were configured out of band (4.3 and 4.4).
//!
//! What must always hold: a key is trusted only if it is, byte for byte, one that was configured.

use alloc::vec::Vec;

use pki_types::{SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer};

use super::name::sha256_of;
use super::sha256::Context;
use super::verify::check_key_size;
use super::{VerifiedPeer, split_public_key};
use crate::crypto::CryptoProvider;
use crate::error::{ApiMisuse, CertificateError};

/// Returns the error for a key that was not configured.
pub(super) fn unknown(key: &[u8]) -> CertificateError {
    let [a, b, c, d, e, f, g, h, ..] = sha256_of(key);
    CertificateError::UnknownPublicKey { sha256: [a, b, c, d, e, f, g, h] }
}

/// The raw public keys that a [`Trust`](crate::Trust) accepts. It reaches them by a vtable, which only those settings name that have
/// some: a firmware without has no code for them.
pub(super) trait TrustedKeys: Send + Sync {
    fn keys(&self) -> &[SubjectPublicKeyInfoDer<'static>];

    /// Returns the hash of these keys, which identifies them.
    fn digest(&self) -> &[u8; 32];

    /// Each must be of a kind that `provider` can verify signatures of.
    fn check(&self, provider: &CryptoProvider) -> Result<(), ApiMisuse>;

    /// Accepts `key` if it is one of these, and `algorithms` can verify its signatures.
    fn verify(
        &self,
        key: &[u8],
        algorithms: &[&dyn SignatureVerificationAlgorithm],
    ) -> Result<VerifiedPeer, CertificateError>;
}

/// The trusted keys, and their hash.
pub(super) struct RawPublicKeys {
    /// The keys, sorted and without duplicates.
    keys: Vec<SubjectPublicKeyInfoDer<'static>>,
    digest: [u8; 32],
}

impl RawPublicKeys {
    /// Joins the keys of `known` and `new`. `provider` must be able to verify signatures of each new key.
    pub(super) fn new(known: Option<&dyn TrustedKeys>, new: &[SubjectPublicKeyInfoDer<'_>]) -> Result<Self, ApiMisuse> {
        for key in new {
            split_public_key(key).map_err(|_| ApiMisuse::MalformedPublicKey)?;
            if check_key_size(key, 0).is_err() {
                return Err(ApiMisuse::UnsupportedPublicKey);
            }
        }
        let known = known.map_or(&[][..], |known| known.keys());
        let mut keys: Vec<_> = known.iter().cloned().chain(new.iter().map(|key| key.clone().into_owned())).collect();
        keys.sort_unstable_by(|a, b| a.as_ref().cmp(b.as_ref()));
        keys.dedup();
        let mut context = Context::new();
        for key in &keys {
            context.update(&(key.len() as u64).to_be_bytes());
            context.update(key);
        }
        Ok(Self { keys, digest: context.finish() })
    }
}

impl TrustedKeys for RawPublicKeys {
    fn keys(&self) -> &[SubjectPublicKeyInfoDer<'static>] {
        &self.keys
    }

    fn digest(&self) -> &[u8; 32] {
        &self.digest
    }

    fn check(&self, provider: &CryptoProvider) -> Result<(), ApiMisuse> {
        let is_known = |key: &SubjectPublicKeyInfoDer<'_>| is_verifiable(key, provider.signatures.all);
        if self.keys.iter().all(is_known) { Ok(()) } else { Err(ApiMisuse::UnsupportedPublicKey) }
    }

    fn verify(
        &self,
        key: &[u8],
        algorithms: &[&dyn SignatureVerificationAlgorithm],
    ) -> Result<VerifiedPeer, CertificateError> {
        if self.keys.binary_search_by(|known| known.as_ref().cmp(key)).is_err() {
            return Err(unknown(key));
        }
        if is_verifiable(key, algorithms) {
            Ok(VerifiedPeer::of_raw_public_key(key.into()))
        } else {
            Err(CertificateError::UnsupportedAlgorithm)
        }
    }
}

fn is_verifiable(key: &[u8], algorithms: &[&dyn SignatureVerificationAlgorithm]) -> bool {
    split_public_key(key)
        .is_ok_and(|(kind, _)| algorithms.iter().any(|algorithm| algorithm.public_key_alg_id().as_ref() == kind))
}

#[cfg(test)]
mod tests;
