//! The outputs of hashes and key exchanges: public digests, and secrets that are wiped on drop.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

#[cfg(test)]
mod tests;

/// The output length in bytes of the longest hash (SHA-384).
pub const MAX_HASH_LEN: usize = 48;

/// The output of a hash or an HMAC, which is compared in constant time.
#[derive(Clone, Copy, Zeroize)]
pub struct Digest {
    bytes: [u8; MAX_HASH_LEN],
    len: usize,
}

impl Digest {
    /// Creates a digest from the output of a hash, which is truncated to [`MAX_HASH_LEN`] bytes.
    pub fn new(output: &[u8]) -> Self {
        let (mut bytes, len) = ([0; MAX_HASH_LEN], output.len().min(MAX_HASH_LEN));
        bytes[..len].copy_from_slice(&output[..len]);
        Self { bytes, len }
    }
}

impl AsRef<[u8]> for Digest {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl PartialEq for Digest {
    fn eq(&self, other: &Self) -> bool {
        self.as_ref().ct_eq(other.as_ref()).into()
    }
}

impl Eq for Digest {}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A secret of a key schedule, which is as long as the output of the hash. It is wiped on drop, and never printed. Its bytes
/// stay where they are when it moves, so that a move leaves no copy behind.
#[derive(Clone)]
pub struct Secret(Zeroizing<Box<[u8]>>);

impl ZeroizeOnDrop for Secret {}

impl Secret {
    /// Creates a secret from bytes, which are truncated to [`MAX_HASH_LEN`].
    pub fn new(secret: &[u8]) -> Self {
        Self(Zeroizing::new(secret[..secret.len().min(MAX_HASH_LEN)].into()))
    }

    /// Creates a secret of `len` zero bytes, to be filled.
    pub(crate) fn zero(len: usize) -> Self {
        Self(Zeroizing::new(vec![0; len.min(MAX_HASH_LEN)].into()))
    }

    pub(crate) fn as_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

impl AsRef<[u8]> for Secret {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The shared secret of a key exchange. It is wiped on drop, and never printed.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct SharedSecret(Vec<u8>);

impl SharedSecret {
    /// Takes ownership of the secret. The caller must wipe other copies.
    pub fn new(secret: Vec<u8>) -> Self {
        Self(secret)
    }
}

impl AsRef<[u8]> for SharedSecret {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for SharedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedSecret")
    }
}
