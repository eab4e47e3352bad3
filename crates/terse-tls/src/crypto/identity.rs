//! The interface of the engine to an algorithm of identity-based key agreement, such as those of `terse-ibc`.

use alloc::vec::Vec;

use super::{CryptoError, Rng, SharedSecret};
use crate::identity::{Identity, IdentityParameters};

/// An identity key: the private key that a private key generator (PKG) made for an identity.
///
/// What must always hold: an implementation accepts a key of a peer only in its canonical encoding, in the right
/// subgroup, and if it is not the identity element; it computes with secrets in constant time, wipes its copies of them,
/// and never panics on any input.
pub trait IdentityKey: Send + Sync {
    /// Returns the parameters of the PKG that made the key.
    fn parameters(&self) -> &IdentityParameters;

    /// Returns the identity that the key was made for.
    fn identity(&self) -> &Identity;

    /// Returns the public part of the key, `r`; empty with an algorithm that has none.
    fn public_part(&self) -> &[u8];

    /// Makes an ephemeral key pair for one connection. The private key of this identity is mixed into the randomness
    /// (RFC 8937), so that a weak generator alone does not give the ephemeral away.
    fn ephemeral(&self, rng: &mut dyn Rng) -> Result<EphemeralKey, CryptoError>;

    /// Restores an ephemeral key pair from its private half, [`EphemeralKey::secret`], which a ticket has kept. Fails if
    /// this is no private key of the algorithm.
    fn ephemeral_from(&self, secret: &[u8]) -> Result<EphemeralKey, CryptoError>;

    /// Returns the terms with the server's static key, which early data can use before there is an ephemeral key of the
    /// server. A client passes its own ephemeral key, and `peer.ephemeral` is not used; a server passes `None`.
    fn static_terms(
        &self,
        role: IdentityRole,
        ephemeral: Option<&EphemeralKey>,
        peer: IdentityPeer<'_>,
    ) -> Result<StaticTerms, CryptoError>;

    /// Returns the terms of the key agreement with `peer`. This side has `role`, and has sent the public half of
    /// `ephemeral`. If `known` is given, it is the result of [`Self::static_terms`] for the same keys, which is not
    /// computed again.
    fn terms(
        &self,
        role: IdentityRole,
        ephemeral: &EphemeralKey,
        peer: IdentityPeer<'_>,
        known: Option<StaticTerms>,
    ) -> Result<IdentityTerms, CryptoError>;
}

/// The side that computes [`IdentityKey::terms`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentityRole {
    /// The side that sends the ClientHello.
    Client,
    /// The side that sends the ServerHello.
    Server,
}

/// The values of a peer that a key agreement uses.
#[derive(Clone, Copy, Debug)]
pub struct IdentityPeer<'a> {
    /// The identity that the peer must have a key for.
    pub identity: &'a Identity,
    /// The public part `r` of the peer's key; empty with an algorithm that has none.
    pub public_part: &'a [u8],
    /// The peer's ephemeral public key.
    pub ephemeral: &'a [u8],
}

/// An ephemeral key pair of one connection.
#[derive(Debug)]
pub struct EphemeralKey {
    secret: SharedSecret,
    public: Vec<u8>,
}

impl EphemeralKey {
    /// Takes ownership of a private key, and of its public half in the encoding for the wire.
    pub const fn new(secret: SharedSecret, public: Vec<u8>) -> Self {
        Self { secret, public }
    }

    /// Returns the private key, for the algorithm that made it.
    pub fn secret(&self) -> &[u8] {
        self.secret.as_ref()
    }

    /// Returns the public key.
    pub fn public(&self) -> &[u8] {
        &self.public
    }
}

/// The terms with the server's static key, which are a part of [`IdentityTerms`].
#[derive(Debug)]
#[non_exhaustive]
pub struct StaticTerms {
    /// `static_C` with `static_S`.
    pub k0: SharedSecret,
    /// `ephemeral_C` with `static_S`.
    pub k1: SharedSecret,
}

impl StaticTerms {
    /// Creates the terms.
    pub const fn new(k0: SharedSecret, k1: SharedSecret) -> Self {
        Self { k0, k1 }
    }
}

/// The terms of ID-3DH (docs/identity-format.md, 3). Each is hashed into the key schedule for itself: a product or sum
/// of terms would be another scheme, which is broken.
#[derive(Debug)]
#[non_exhaustive]
pub struct IdentityTerms {
    /// `static_C` with `static_S`. Without this term, whoever learns an ephemeral key can pose as its owner's peer.
    pub k0: SharedSecret,
    /// `ephemeral_C` with `static_S`.
    pub k1: SharedSecret,
    /// `static_C` with `ephemeral_S`.
    pub k2: SharedSecret,
    /// `ephemeral_C` with `ephemeral_S`. It makes the handshake forward secret.
    pub k3: SharedSecret,
}

impl IdentityTerms {
    /// Creates the terms, in the order of their numbers.
    pub fn new([k0, k1, k2, k3]: [SharedSecret; 4]) -> Self {
        Self { k0, k1, k2, k3 }
    }

    /// Returns the terms with the server's static key.
    pub fn into_static(self) -> StaticTerms {
        StaticTerms { k0: self.k0, k1: self.k1 }
    }
}
