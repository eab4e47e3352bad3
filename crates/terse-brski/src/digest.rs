//! SHA-256 of what records are found by: requests, and public keys (RFC 7469, 2.4: the SPKI Fingerprint).

use terse_tls::crypto::CryptoProvider;

use crate::Malformed;
use crate::certificate::public_key;

/// A SHA-256 digest.
pub type Sha256 = [u8; 32];

/// Returns the SHA-256 of some bytes, by which the record of a request is found.
pub fn sha256(provider: &CryptoProvider, bytes: &[u8]) -> Sha256 {
    let digest = provider.sha256.hash(&[bytes]);
    core::array::from_fn(|index| digest.as_ref().get(index).copied().unwrap_or_default()) // SHA-256 has 32 bytes
}

/// Returns the SHA-256 of the SubjectPublicKeyInfo of a certificate. It identifies a holder, where a name or a key
/// identifier does not: anybody can make a certificate with any of these.
pub fn public_key_sha256(provider: &CryptoProvider, certificate: &[u8]) -> Result<Sha256, Malformed> {
    Ok(sha256(provider, public_key(certificate)?))
}
