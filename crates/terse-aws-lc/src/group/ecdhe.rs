//! x25519, secp256r1 and secp384r1 (RFC 9846, 7.4.2).

use aws_lc_rs::agreement::{self, PrivateKey, PublicKey, UnparsedPublicKey};
use terse_tls::NamedGroup;
use terse_tls::crypto::{CryptoError, Group, KeyExchange, Rng, SharedSecret};
use zeroize::Zeroizing;

/// x25519 (RFC 7748), at a security level of 128 bits.
pub static X25519: &dyn Group = &X25519_CURVE;

/// secp256r1, also called P-256, at a security level of 128 bits.
pub static SECP256R1: &dyn Group = &SECP256R1_CURVE;

/// secp384r1, also called P-384, at a security level of 192 bits.
pub static SECP384R1: &dyn Group = &SECP384R1_CURVE;

/// The groups of this provider, with secrets made of the `rng` argument.
pub mod external_randomness {
    use super::super::hybrid;
    use super::{Curve, Group, SECP256R1_CURVE, SECP384R1_CURVE, Source, X25519_CURVE};

    /// All groups, in the order of [`ALL`](super::super::ALL).
    pub static ALL: &[&dyn Group] = &[X25519, SECP256R1, SECP384R1, X25519MLKEM768];

    /// x25519 (RFC 7748).
    pub static X25519: &dyn Group = &X25519_ARGUMENT;

    /// secp256r1, also called P-256.
    pub static SECP256R1: &dyn Group = &Curve { source: Source::Argument, ..SECP256R1_CURVE };

    /// secp384r1, also called P-384.
    pub static SECP384R1: &dyn Group = &Curve { source: Source::Argument, ..SECP384R1_CURVE };

    /// X25519MLKEM768; ML-KEM draws from AWS-LC's own generator.
    pub static X25519MLKEM768: &dyn Group = &hybrid::Algorithm { x25519: X25519_ARGUMENT };

    const X25519_ARGUMENT: Curve = Curve { source: Source::Argument, ..X25519_CURVE };
}

pub(super) const X25519_CURVE: Curve = Curve {
    name: NamedGroup::X25519,
    algorithm: &agreement::X25519,
    secret_len: 32,
    share_len: 32,
    first_byte: None,
    source: Source::AwsLc,
};

const SECP256R1_CURVE: Curve = Curve {
    name: NamedGroup::SECP256R1,
    algorithm: &agreement::ECDH_P256,
    secret_len: 32,
    share_len: 65,
    first_byte: UNCOMPRESSED,
    source: Source::AwsLc,
};

const SECP384R1_CURVE: Curve = Curve {
    name: NamedGroup::SECP384R1,
    algorithm: &agreement::ECDH_P384,
    secret_len: 48,
    share_len: 97,
    first_byte: UNCOMPRESSED,
    source: Source::AwsLc,
};

/// The first byte of the only point format (RFC 9846, 4.3.8.2).
const UNCOMPRESSED: Option<u8> = Some(0x04);

/// The most candidates that are drawn: each is a valid scalar with a probability above 1 - 2^-32.
const MAX_CANDIDATES: usize = 64;

#[derive(Clone, Copy)]
pub(super) struct Curve {
    name: NamedGroup,
    algorithm: &'static agreement::Algorithm,
    secret_len: usize,
    pub(super) share_len: usize,
    first_byte: Option<u8>,
    source: Source,
}

/// The source of secrets.
#[derive(Clone, Copy)]
enum Source {
    AwsLc,
    /// The `rng` argument. AWS-LC checks keys that it did not make itself: on a NIST curve that costs a multiplication.
    Argument,
}

impl Curve {
    pub(super) fn generate(&self, rng: &mut dyn Rng) -> Result<KeyPair, CryptoError> {
        let secret = match self.source {
            Source::AwsLc => PrivateKey::generate(self.algorithm).map_err(|_| CryptoError::RandomFailed)?,
            Source::Argument => self.draw(rng)?,
        };
        let share = secret.compute_public_key().map_err(|_| CryptoError::RandomFailed)?;
        Ok(KeyPair { curve: *self, secret, share })
    }

    fn draw(&self, rng: &mut dyn Rng) -> Result<PrivateKey, CryptoError> {
        let mut candidate = Zeroizing::new(vec![0; self.secret_len]);
        for _ in 0..MAX_CANDIDATES {
            rng.fill(&mut candidate).map_err(|_| CryptoError::RandomFailed)?;
            if let Ok(secret) = PrivateKey::from_private_key(self.algorithm, &candidate) {
                return Ok(secret);
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
        // aws-lc-rs would also read compressed points and SubjectPublicKeyInfo.
        let Curve { algorithm, share_len, first_byte, .. } = self.curve;
        if key_share.len() != share_len || first_byte.is_some_and(|byte| key_share.first() != Some(&byte)) {
            return Err(CryptoError::InvalidKeyShare);
        }
        let peer = UnparsedPublicKey::new(algorithm, key_share);
        // This fails on points off the curve, and when the result of x25519 is all zeros.
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
