//! New keys for the LDevID.

use alloc::sync::Arc;

use pki_types::{PrivatePkcs8KeyDer, PrivateSec1KeyDer};
use terse_rustcrypto::sign::{load_ed25519_key, load_p256_key};
use terse_tls::crypto::{CryptoError, Rng, SigningKey};
use zeroize::Zeroizing;

/// A kind of key: from 32 random bytes to what signs with them.
pub type Kind = fn(&[u8; 32]) -> Option<Arc<dyn SigningKey>>;

/// Returns the key on P-256 whose secret are these bytes. Not all bytes are one.
pub fn p256(secret: &[u8; 32]) -> Option<Arc<dyn SigningKey>> {
    // ECPrivateKey (RFC 5915, 3): version 1, and the secret.
    let mut der = Zeroizing::new([0; 39]);
    der[..7].copy_from_slice(&[0x30, 0x25, 0x02, 0x01, 0x01, 0x04, 0x20]);
    der[7..].copy_from_slice(secret);
    load_p256_key(&PrivateSec1KeyDer::from(&der[..]).into()).ok()
}

/// Returns the Ed25519 key of this seed.
pub fn ed25519(seed: &[u8; 32]) -> Option<Arc<dyn SigningKey>> {
    // OneAsymmetricKey (RFC 8410, 7).
    let mut der = Zeroizing::new([0; 48]);
    der[..16].copy_from_slice(b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20");
    der[16..].copy_from_slice(seed);
    load_ed25519_key(&PrivatePkcs8KeyDer::from(&der[..]).into()).ok()
}

/// A key with its secret, which is to be stored.
pub struct NewKey {
    /// What signs.
    pub key: Arc<dyn SigningKey>,
    /// The bytes that [`Kind`] makes it from.
    pub secret: Zeroizing<[u8; 32]>,
}

/// Makes a key.
pub fn generate(kind: Kind, rng: &mut dyn Rng) -> Result<NewKey, CryptoError> {
    let mut secret = Zeroizing::new([0; 32]);
    for _ in 0..MAX_DRAWS {
        rng.fill(&mut secret[..])?;
        if let Some(key) = kind(&secret) {
            return Ok(NewKey { key, secret });
        }
    }
    Err(CryptoError::RandomFailed)
}

/// How often randomness is drawn: one draw in 2^32 gives no key on P-256.
const MAX_DRAWS: u32 = 8;
