//! X25519MLKEM768 (draft-ietf-tls-ecdhe-mlkem): ML-KEM-768 (FIPS 203) and x25519 side by side, safe while either holds.
//!
//! The ML-KEM part comes first everywhere: in the client's share (an encapsulation key), in the server's share (a
//! ciphertext), and in the secret.

use alloc::boxed::Box;
use alloc::vec::Vec;

use ml_kem::{Decapsulate, DecapsulationKey768, EncapsulationKey768, KeyExport, Seed};
use terse_tls::NamedGroup;
use terse_tls::crypto::{CryptoError, Group, KeyExchange, Rng, SharedSecret};
use zeroize::Zeroizing;

use super::x25519;

/// X25519MLKEM768: traffic that is recorded now stays secret from later quantum computers.
pub static X25519MLKEM768: &dyn Group = &Algorithm;

const ENCAPSULATION_KEY_LEN: usize = 1184;
const CIPHERTEXT_LEN: usize = 1088;

struct Algorithm;

impl Group for Algorithm {
    fn name(&self) -> NamedGroup {
        NamedGroup::X25519MLKEM768
    }

    fn start(&self, rng: &mut dyn Rng) -> Result<Box<dyn KeyExchange>, CryptoError> {
        let mut seed = Zeroizing::new(Seed::default());
        rng.fill(&mut seed).map_err(|_| CryptoError::RandomFailed)?;
        let ml_kem = DecapsulationKey768::from_seed(*seed);
        let x25519 = x25519::KeyPair::generate(rng)?;
        let mut key_share = ml_kem.encapsulation_key().to_bytes().to_vec();
        key_share.extend_from_slice(x25519.share.as_bytes());
        Ok(Box::new(KeyPair { ml_kem, x25519, key_share }))
    }

    fn respond(&self, rng: &mut dyn Rng, key_share: &[u8]) -> Result<(Vec<u8>, SharedSecret), CryptoError> {
        let (encapsulation_key, peer) = split(key_share, ENCAPSULATION_KEY_LEN)?;
        let encapsulation_key = encapsulation_key.try_into().map_err(|_| CryptoError::InvalidKeyShare)?;
        // This includes the modulus check of FIPS 203, 7.2.
        let encapsulation_key =
            EncapsulationKey768::new(encapsulation_key).map_err(|_| CryptoError::InvalidKeyShare)?;
        let mut message = Zeroizing::new(ml_kem::B32::default());
        rng.fill(&mut message).map_err(|_| CryptoError::RandomFailed)?;
        let (ciphertext, ml_kem_secret) = encapsulation_key.encapsulate_deterministic(&message);
        let ml_kem_secret = Zeroizing::new(ml_kem_secret);

        let x25519 = x25519::KeyPair::generate(rng)?;
        let x25519_secret = x25519.agree(peer)?;
        let mut answer = ciphertext.to_vec();
        answer.extend_from_slice(x25519.share.as_bytes());
        Ok((answer, join(&ml_kem_secret, &*x25519_secret)))
    }
}

struct KeyPair {
    ml_kem: DecapsulationKey768,
    x25519: x25519::KeyPair,
    key_share: Vec<u8>,
}

impl KeyExchange for KeyPair {
    fn key_share(&self) -> &[u8] {
        &self.key_share
    }

    fn complete(self: Box<Self>, key_share: &[u8]) -> Result<SharedSecret, CryptoError> {
        let (ciphertext, peer) = split(key_share, CIPHERTEXT_LEN)?;
        let x25519_secret = self.x25519.agree(peer)?;
        // A forged ciphertext gives a secret that nobody knows (FIPS 203, 6.3), so that Finished fails.
        let ml_kem_secret = self.ml_kem.decapsulate_slice(ciphertext).map_err(|_| CryptoError::InvalidKeyShare)?;
        Ok(join(&Zeroizing::new(ml_kem_secret), &*x25519_secret))
    }
}

/// Returns the ML-KEM part and the x25519 part of a share of the right length.
fn split(key_share: &[u8], ml_kem_len: usize) -> Result<(&[u8], &[u8]), CryptoError> {
    match key_share.split_at_checked(ml_kem_len) {
        Some((ml_kem, x25519)) if x25519.len() == x25519::SHARE_LEN => Ok((ml_kem, x25519)),
        _ => Err(CryptoError::InvalidKeyShare),
    }
}

fn join(ml_kem: &[u8], x25519: &[u8]) -> SharedSecret {
    // The vector has its final capacity from the start, so that growing leaves no copy behind.
    let mut secret = Vec::with_capacity(ml_kem.len() + x25519.len());
    secret.extend_from_slice(ml_kem);
    secret.extend_from_slice(x25519);
    SharedSecret::new(secret)
}
