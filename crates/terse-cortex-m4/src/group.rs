//! Key exchange groups (RFC 9846, 4.3.7): secp256r1 in assembly, and those of `terse-rustcrypto`.
//!
//! Every share that a peer sends is checked before it is used: its length, and that it is a point of the curve other than
//! the one at infinity (RFC 9846, 4.3.8.2 and 7.4.2).

use alloc::boxed::Box;
use alloc::vec::Vec;

use terse_rustcrypto::group;
pub use terse_rustcrypto::group::{SECP384R1, X25519, X25519MLKEM768};
use terse_tls::NamedGroup;
use terse_tls::crypto::{CryptoError, Group, KeyExchange, Rng, SharedSecret};
use zeroize::Zeroizing;

use crate::ffi::Scalar;
use crate::number::{Point, UNCOMPRESSED_LEN};
use crate::stack::wiped;

/// secp256r1, also called P-256, at a security level of 128 bits.
pub static SECP256R1: &dyn Group = &Secp256r1;

/// All groups, preferred first. The hybrid comes last, as its shares cost 2,304 bytes.
pub static ALL: &[&dyn Group] = &[group::X25519, SECP256R1, group::SECP384R1, group::X25519MLKEM768];

struct Secp256r1;

impl Group for Secp256r1 {
    fn name(&self) -> NamedGroup {
        NamedGroup::SECP256R1
    }

    fn start(&self, rng: &mut dyn Rng) -> Result<Box<dyn KeyExchange>, CryptoError> {
        wiped(|| Ok(Box::new(KeyPair::generate(rng)?) as Box<dyn KeyExchange>))
    }

    fn respond(&self, rng: &mut dyn Rng, key_share: &[u8]) -> Result<(Vec<u8>, SharedSecret), CryptoError> {
        let peer = parse(key_share)?;
        wiped(|| {
            let pair = KeyPair::generate(rng)?;
            let secret = pair.agree(&peer)?;
            Ok((pair.share.to_vec(), secret))
        })
    }
}

/// A key pair for one exchange. The secret wipes itself.
struct KeyPair {
    secret: Scalar,
    share: [u8; UNCOMPRESSED_LEN],
}

impl KeyPair {
    fn generate(rng: &mut dyn Rng) -> Result<Self, CryptoError> {
        let mut bytes = Zeroizing::new([0; 32]);
        for _ in 0..MAX_DRAWS {
            rng.fill(&mut *bytes).map_err(|_| CryptoError::RandomFailed)?;
            let Some(secret) = Scalar::from_be_bytes(&bytes) else { continue };
            let share = secret.public_key().ok_or(CryptoError::RandomFailed)?.to_uncompressed();
            return Ok(Self { secret, share });
        }
        Err(CryptoError::RandomFailed)
    }

    fn agree(&self, peer: &Point) -> Result<SharedSecret, CryptoError> {
        let mut secret = Zeroizing::new([0; 32]);
        self.secret.multiply(peer, &mut secret).ok_or(CryptoError::InvalidKeyShare)?;
        Ok(SharedSecret::new(secret.to_vec()))
    }
}

impl KeyExchange for KeyPair {
    fn key_share(&self) -> &[u8] {
        &self.share
    }

    fn complete(self: Box<Self>, key_share: &[u8]) -> Result<SharedSecret, CryptoError> {
        let peer = parse(key_share)?;
        wiped(|| self.agree(&peer))
    }
}

/// Parses a peer's point: it must be uncompressed and on the curve.
fn parse(key_share: &[u8]) -> Result<Point, CryptoError> {
    // No other form has this length.
    if key_share.len() != UNCOMPRESSED_LEN {
        return Err(CryptoError::InvalidKeyShare);
    }
    Point::from_bytes(key_share).ok_or(CryptoError::InvalidKeyShare)
}

/// How often randomness is drawn: one draw in 2^32 is no private key.
const MAX_DRAWS: u32 = 8;
