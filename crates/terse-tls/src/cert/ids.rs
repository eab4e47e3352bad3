//! The identifiers of handshake messages and of trust policies.

use core::fmt;

use crate::crypto::Digest;

/// SHA-256 over a whole handshake message, header included (RFC 7924, 5).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(pub [u8; 32]);

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The policy that a chain was verified under: 8 bytes of a hash over role, trust anchors, extended key usage,
/// accepted signatures and revocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrustId(pub [u8; 8]);

impl TrustId {
    /// Creates an identifier from the first bytes of `digest`.
    pub(crate) fn from_digest(digest: Digest) -> Self {
        Self(first(digest))
    }

    /// Creates an identifier from the field of a record, which is padded with zeros.
    pub(crate) fn from_shared(value: [u8; 32]) -> Self {
        let mut bytes = [0; 8];
        bytes.iter_mut().zip(value).for_each(|(to, from)| *to = from);
        Self(bytes)
    }
}

/// Returns the first `N` bytes of a digest, which has at least 32.
pub(crate) fn first<const N: usize>(digest: Digest) -> [u8; N] {
    let mut bytes = [0; N];
    for (to, from) in bytes.iter_mut().zip(digest.as_ref()) {
        *to = *from;
    }
    bytes
}
