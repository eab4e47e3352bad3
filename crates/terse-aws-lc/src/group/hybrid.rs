//! X25519MLKEM768 (draft-ietf-tls-ecdhe-mlkem): ML-KEM-768 (FIPS 203) and x25519 side by side, safe while either holds.
//!
//! The ML-KEM part comes first everywhere: in the client's share (an encapsulation key), in the server's share (a
//! ciphertext), and in the secret. AWS-LC draws ML-KEM's randomness itself.

use aws_lc_rs::kem::{Ciphertext, DecapsulationKey, EncapsulationKey, ML_KEM_768};
use terse_tls::NamedGroup;
use terse_tls::crypto::{CryptoError, Group, KeyExchange, Rng, SharedSecret};
use zeroize::Zeroizing;

use super::ecdhe::{self, Curve, X25519_CURVE};

/// X25519MLKEM768: traffic that is recorded now stays secret from later quantum computers.
pub static X25519MLKEM768: &dyn Group = &Algorithm { x25519: X25519_CURVE };

const ENCAPSULATION_KEY_LEN: usize = 1184;
const CIPHERTEXT_LEN: usize = 1088;

pub(super) struct Algorithm {
    pub(super) x25519: Curve,
}

impl Group for Algorithm {
    fn name(&self) -> NamedGroup {
        NamedGroup::X25519MLKEM768
    }

    fn start(&self, rng: &mut dyn Rng) -> Result<Box<dyn KeyExchange>, CryptoError> {
        let x25519 = self.x25519.generate(rng)?;
        let ml_kem = DecapsulationKey::generate(&ML_KEM_768).map_err(|_| CryptoError::RandomFailed)?;
        let encapsulation_key =
            ml_kem.encapsulation_key().and_then(|key| key.key_bytes()).map_err(|_| CryptoError::RandomFailed)?;
        let key_share = [encapsulation_key.as_ref(), x25519.share.as_ref()].concat();
        Ok(Box::new(KeyPair { ml_kem, x25519, key_share }))
    }

    fn respond(&self, rng: &mut dyn Rng, key_share: &[u8]) -> Result<(Vec<u8>, SharedSecret), CryptoError> {
        let (encapsulation_key, peer) = split(key_share, ENCAPSULATION_KEY_LEN)?;
        let x25519 = self.x25519.generate(rng)?;
        let x25519_secret = Zeroizing::new(x25519.agree(peer)?);
        // This includes the modulus check of FIPS 203, 7.2.
        let (ciphertext, ml_kem_secret) = EncapsulationKey::new(&ML_KEM_768, encapsulation_key)
            .map_err(|_| CryptoError::InvalidKeyShare)?
            .encapsulate()
            .map_err(|_| CryptoError::InvalidKeyShare)?;
        let answer = [ciphertext.as_ref(), x25519.share.as_ref()].concat();
        Ok((answer, SharedSecret::new([ml_kem_secret.as_ref(), &x25519_secret].concat())))
    }
}

struct KeyPair {
    ml_kem: DecapsulationKey,
    x25519: ecdhe::KeyPair,
    key_share: Vec<u8>,
}

impl KeyExchange for KeyPair {
    fn key_share(&self) -> &[u8] {
        &self.key_share
    }

    fn complete(self: Box<Self>, key_share: &[u8]) -> Result<SharedSecret, CryptoError> {
        let (ciphertext, peer) = split(key_share, CIPHERTEXT_LEN)?;
        let x25519_secret = Zeroizing::new(self.x25519.agree(peer)?);
        // A forged ciphertext gives a secret that nobody knows (FIPS 203, 6.3), so that Finished fails.
        let ml_kem_secret =
            self.ml_kem.decapsulate(Ciphertext::from(ciphertext)).map_err(|_| CryptoError::InvalidKeyShare)?;
        Ok(SharedSecret::new([ml_kem_secret.as_ref(), &x25519_secret].concat()))
    }
}

/// Returns the ML-KEM part and the x25519 part of a share of the right length.
fn split(key_share: &[u8], ml_kem_len: usize) -> Result<(&[u8], &[u8]), CryptoError> {
    match key_share.split_at_checked(ml_kem_len) {
        Some((ml_kem, x25519)) if x25519.len() == X25519_CURVE.share_len => Ok((ml_kem, x25519)),
        _ => Err(CryptoError::InvalidKeyShare),
    }
}
