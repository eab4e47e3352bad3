//! Private keys sign with ECDSA on P-256 and P-384, Ed25519, and RSA.
//!
//! [`load_key`] takes any of them except RSA, and [`load_key_or_rsa`] takes RSA as well. A firmware with one kind of key names
//! that kind's loader instead, and its linker drops the others.

use alloc::sync::Arc;
use alloc::vec::Vec;

use pkcs8::der::Encode;
use pkcs8::der::asn1::{AnyRef, BitStringRef};
use pkcs8::der::oid::ObjectIdentifier;
use pkcs8::spki::{AlgorithmIdentifierRef, SubjectPublicKeyInfoRef};
use pki_types::PrivateKeyDer;
use terse_tls::crypto::{KeyError, SigningKey};

use crate::private_key::{Kind, PrivateKey, malformed};

mod ecdsa;
mod ed25519;
mod rsa;

/// Loads a key on P-256 or P-384, or an Ed25519 key. Refuses an RSA key with [`KeyError::RsaSigningDisabled`].
pub fn load_key(key: &PrivateKeyDer<'_>) -> Result<Arc<dyn SigningKey>, KeyError> {
    load_any(key, |_| Err(KeyError::RsaSigningDisabled))
}

/// Loads a key of any supported kind. Read first what [the crate's documentation](crate#rsa) says of RSA.
pub fn load_key_or_rsa(key: &PrivateKeyDer<'_>) -> Result<Arc<dyn SigningKey>, KeyError> {
    load_any(key, rsa::load)
}

fn load_any(key: &PrivateKeyDer<'_>, load_rsa: Load) -> Result<Arc<dyn SigningKey>, KeyError> {
    let key = PrivateKey::parse(key)?;
    let load = match key.kind {
        Kind::P256 => ecdsa::load_p256,
        Kind::P384 => ecdsa::load_p384,
        Kind::Ed25519 => ed25519::load,
        Kind::Rsa => load_rsa,
    };
    load(&key)
}

type Load = fn(&PrivateKey<'_>) -> Result<Arc<dyn SigningKey>, KeyError>;

/// Loads an ECDSA key on P-256, and no other.
pub fn load_p256_key(key: &PrivateKeyDer<'_>) -> Result<Arc<dyn SigningKey>, KeyError> {
    load_kind(key, Kind::P256, ecdsa::load_p256)
}

/// Returns the ECDSA key on P-256 whose secret is this scalar, big-endian. A firmware that keeps it as it is needs no code that
/// reads the files of keys. Fails if the scalar is zero, or not below the order of the curve.
pub fn p256_key(secret: &[u8; 32]) -> Result<Arc<dyn SigningKey>, KeyError> {
    ecdsa::load_p256(&PrivateKey { kind: Kind::P256, secret, public: None })
}

/// Loads an ECDSA key on P-384, and no other.
pub fn load_p384_key(key: &PrivateKeyDer<'_>) -> Result<Arc<dyn SigningKey>, KeyError> {
    load_kind(key, Kind::P384, ecdsa::load_p384)
}

/// Loads an Ed25519 key, and no other.
pub fn load_ed25519_key(key: &PrivateKeyDer<'_>) -> Result<Arc<dyn SigningKey>, KeyError> {
    load_kind(key, Kind::Ed25519, ed25519::load)
}

/// Loads an RSA key, and no other. Read first what [the crate's documentation](crate#rsa) says of RSA.
pub fn load_rsa_key(key: &PrivateKeyDer<'_>) -> Result<Arc<dyn SigningKey>, KeyError> {
    load_kind(key, Kind::Rsa, rsa::load)
}

fn load_kind(key: &PrivateKeyDer<'_>, kind: Kind, load: Load) -> Result<Arc<dyn SigningKey>, KeyError> {
    let key = PrivateKey::parse(key)?;
    if key.kind == kind { load(&key) } else { Err(KeyError::UnsupportedAlgorithm) }
}

/// Returns a SubjectPublicKeyInfo (RFC 5280, 4.1.2.7).
fn subject_public_key_info(
    algorithm: ObjectIdentifier,
    parameters: Option<AnyRef<'_>>,
    public_key: &[u8],
) -> Result<Vec<u8>, KeyError> {
    SubjectPublicKeyInfoRef {
        algorithm: AlgorithmIdentifierRef { oid: algorithm, parameters },
        subject_public_key: BitStringRef::from_bytes(public_key).map_err(malformed)?,
    }
    .to_der()
    .map_err(malformed)
}
