//! The public parameters of a private key generator.

use alloc::vec::Vec;
use core::fmt;

use sha2::{Digest as _, Sha256};

use super::IdentityAlgorithm;

/// The public parameters of a private key generator in one epoch. Peers must have the same parameters to connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityParameters {
    algorithm: IdentityAlgorithm,
    authority_key: Vec<u8>,
    epoch: u32,
    not_after: u64,
    hash: [u8; 32],
}

/// The first 8 bytes of the SHA-256 of [`IdentityParameters`], by which parameters are found. Security never relies on
/// it: the whole hash is part of every key agreement. It prints as 16 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Authority(pub [u8; 8]);

impl IdentityParameters {
    /// Creates parameters. `authority_key` is the PKG's public key, and `not_after` the last second of the epoch, in
    /// seconds since 1970. Returns `None` if the key has the wrong length. Whether it is a point of the group is for
    /// the algorithm's crate to check.
    pub fn new(algorithm: IdentityAlgorithm, authority_key: &[u8], epoch: u32, not_after: u64) -> Option<Self> {
        let is_valid = authority_key.len() == algorithm.authority_key_len();
        if !is_valid {
            return None;
        }
        let mut parameters = Self { algorithm, authority_key: authority_key.into(), epoch, not_after, hash: [0; 32] };
        parameters.hash = Sha256::digest(parameters.encode()).into();
        Some(parameters)
    }

    /// Reads parameters from their encoding. Returns `None` if it is malformed.
    pub fn decode(encoded: &[u8]) -> Option<Self> {
        let (code, rest) = encoded.split_first()?;
        let (rest, not_after) = rest.split_last_chunk()?;
        let (authority_key, epoch) = rest.split_last_chunk()?;
        let algorithm = IdentityAlgorithm::from_code(*code)?;
        Self::new(algorithm, authority_key, u32::from_be_bytes(*epoch), u64::from_be_bytes(*not_after))
    }

    /// Returns the encoding: `algorithm(1) || authority key || epoch(4) || not_after(8)`.
    pub fn encode(&self) -> Vec<u8> {
        let mut encoded = Vec::from([self.algorithm.code()]);
        encoded.extend_from_slice(&self.authority_key);
        encoded.extend_from_slice(&self.epoch.to_be_bytes());
        encoded.extend_from_slice(&self.not_after.to_be_bytes());
        encoded
    }

    /// Returns the SHA-256 of the encoding.
    pub const fn hash(&self) -> [u8; 32] {
        self.hash
    }

    /// Returns the identifier by which peers find the parameters.
    pub const fn authority(&self) -> Authority {
        let [a, b, c, d, e, f, g, h, ..] = self.hash;
        Authority([a, b, c, d, e, f, g, h])
    }

    /// Returns the algorithm.
    pub const fn algorithm(&self) -> IdentityAlgorithm {
        self.algorithm
    }

    /// Returns the PKG's public key.
    pub fn authority_key(&self) -> &[u8] {
        &self.authority_key
    }

    /// Returns the epoch, which is part of every identity that is hashed.
    pub const fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Returns the last second in which keys of this epoch are accepted, in seconds since 1970.
    pub const fn not_after(&self) -> u64 {
        self.not_after
    }
}

impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Authority({self})")
    }
}
