//! x25519, secp256r1 and secp384r1 (RFC 9846, 7.4.2).

use aws_lc_rs::agreement::{self, PrivateKey, PublicKey, UnparsedPublicKey};
use terse_tls::NamedGroup;
use terse_tls::crypto::{CryptoError, Group, KeyExchange, Rng, SharedSecret};
use zeroize::Zeroizing;

/// x25519 (RFC 7748), at a security level of 128 bits.
pub static X25519: &dyn Group = &X25519_CURVE;

/// secp256r1, also called P-256, at a security level of 128 bits.
pub static SECP256R1: &dyn Group = &Curve {
    name: NamedGroup::SECP256R1,
    algorithm: &agreement::ECDH_P256,
    secret_len: 32,
    share_len: 65,
    first_byte: UNCOMPRESSED,
};

/// secp384r1, also called P-384, at a security level of 192 bits.
pub static SECP384R1: &dyn Group = &Curve {
    name: NamedGroup::SECP384R1,
    algorithm: &agreement::ECDH_P384,
    secret_len: 48,
    share_len: 97,
    first_byte: UNCOMPRESSED,
};

pub(super) static X25519_CURVE: Curve =
    Curve { name: NamedGroup::X25519, algorithm: &agreement::X25519, secret_len: 32, share_len: 32, first_byte: None };

/// RFC 9846, 4.3.8.2: the only point format.
const UNCOMPRESSED: Option<u8> = Some(0x04);

/// Each candidate is a valid scalar with a probability above 1 - 2^-32.
const MAX_CANDIDATES: usize = 64;

#[derive(Clone, Copy)]
pub(super) struct Curve {
    name: NamedGroup,
    algorithm: &'static agreement::Algorithm,
    secret_len: usize,
    pub(super) share_len: usize,
    first_byte: Option<u8>,
}

impl Curve {
    pub(super) fn generate(&self, rng: &mut dyn Rng) -> Result<KeyPair, CryptoError> {
        let mut candidate = Zeroizing::new(vec![0; self.secret_len]);
        for _ in 0..MAX_CANDIDATES {
            rng.fill(&mut candidate).map_err(|_| CryptoError::RandomFailed)?;
            if let Ok(secret) = PrivateKey::from_private_key(self.algorithm, &candidate) {
                let share = secret.compute_public_key().map_err(|_| CryptoError::RandomFailed)?;
                return Ok(KeyPair { curve: *self, secret, share });
            }
        }
        Err(CryptoError::RandomFailed)
    }
}

impl Group for Curve {
    fn name(&self) -> NamedGroup {
        self.name
    }

    fn start(&self, rng: &mut dyn Rng) -> Result<Box<dyn KeyExchange>, CryptoError> {
        Ok(Box::new(self.generate(rng)?))
    }

    fn respond(&self, rng: &mut dyn Rng, key_share: &[u8]) -> Result<(Vec<u8>, SharedSecret), CryptoError> {
        let pair = self.generate(rng)?;
        let secret = pair.agree(key_share)?;
        Ok((pair.share.as_ref().to_vec(), SharedSecret::new(secret)))
    }
}

/// A key pair for one exchange. AWS-LC wipes the secret.
pub(super) struct KeyPair {
    curve: Curve,
    secret: PrivateKey,
    pub(super) share: PublicKey,
}

impl KeyPair {
    pub(super) fn agree(&self, key_share: &[u8]) -> Result<Vec<u8>, CryptoError> {
        // aws-lc-rs would also read compressed points and SubjectPublicKeyInfo
        let Curve { algorithm, share_len, first_byte, .. } = self.curve;
        if key_share.len() != share_len || first_byte.is_some_and(|byte| key_share.first() != Some(&byte)) {
            return Err(CryptoError::InvalidKeyShare);
        }
        let peer = UnparsedPublicKey::new(algorithm, key_share);
        // fails on points off the curve, and when x25519 gives all zeros
        agreement::agree(&self.secret, peer, CryptoError::InvalidKeyShare, |secret| Ok(secret.to_vec()))
    }
}

impl KeyExchange for KeyPair {
    fn key_share(&self) -> &[u8] {
        self.share.as_ref()
    }

    fn complete(self: Box<Self>, key_share: &[u8]) -> Result<SharedSecret, CryptoError> {
        self.agree(key_share).map(SharedSecret::new)
    }
}
