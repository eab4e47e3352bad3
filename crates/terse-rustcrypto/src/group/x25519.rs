//! The group x25519 (RFC 7748, 5 and 6.1; RFC 9846, 7.4.2).

use alloc::boxed::Box;
use alloc::vec::Vec;

use terse_tls::NamedGroup;
use terse_tls::crypto::{CryptoError, Group, KeyExchange, Rng, SharedSecret};
use x25519_dalek::{PublicKey, StaticSecret, X25519_BASEPOINT_BYTES};
use zeroize::Zeroizing;

/// x25519, at a security level of 128 bits.
pub static X25519: &dyn Group = &Algorithm;

/// The length in bytes of a share.
pub(super) const SHARE_LEN: usize = 32;

struct Algorithm;

impl Group for Algorithm {
    fn name(&self) -> NamedGroup {
        NamedGroup::X25519
    }

    fn start(&self, rng: &mut dyn Rng) -> Result<Box<dyn KeyExchange>, CryptoError> {
        Ok(Box::new(KeyPair::generate(rng)?))
    }

    fn respond(&self, rng: &mut dyn Rng, key_share: &[u8]) -> Result<(Vec<u8>, SharedSecret), CryptoError> {
        let pair = KeyPair::generate(rng)?;
        let secret = pair.agree(key_share)?;
        Ok((pair.share.as_bytes().to_vec(), SharedSecret::new(secret.to_vec())))
    }
}

/// A key pair for one exchange. The secret wipes itself.
pub(super) struct KeyPair {
    secret: StaticSecret,
    pub(super) share: PublicKey,
}

impl KeyPair {
    /// Generates a pair. On firmware the share is computed as the secret is later, so that no table of 30 kB of multiples of the
    /// base point is needed.
    pub(super) fn generate(rng: &mut dyn Rng) -> Result<Self, CryptoError> {
        let mut scalar = Zeroizing::new([0; 32]);
        rng.fill(&mut *scalar).map_err(|_| CryptoError::RandomFailed)?;
        let secret = StaticSecret::from(*scalar);
        let share = match cfg!(target_os = "none") {
            true => PublicKey::from(secret.diffie_hellman(&PublicKey::from(X25519_BASEPOINT_BYTES)).to_bytes()),
            false => PublicKey::from(&secret),
        };
        Ok(Self { secret, share })
    }

    pub(super) fn agree(&self, key_share: &[u8]) -> Result<Zeroizing<[u8; 32]>, CryptoError> {
        let peer: [u8; SHARE_LEN] = key_share.try_into().map_err(|_| CryptoError::InvalidKeyShare)?;
        let secret = self.secret.diffie_hellman(&PublicKey::from(peer));
        // RFC 9846, 7.4.2: the handshake is aborted when the result is all zeros.
        if !secret.was_contributory() {
            return Err(CryptoError::InvalidKeyShare);
        }
        Ok(Zeroizing::new(secret.to_bytes()))
    }
}

impl KeyExchange for KeyPair {
    fn key_share(&self) -> &[u8] {
        self.share.as_bytes()
    }

    fn complete(self: Box<Self>, key_share: &[u8]) -> Result<SharedSecret, CryptoError> {
        Ok(SharedSecret::new(self.agree(key_share)?.to_vec()))
    }
}
