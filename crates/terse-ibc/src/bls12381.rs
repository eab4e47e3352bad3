//! `id3dh-bls12381` (docs/identity-format.md, 2 to 5): the public key of a peer follows from its identity alone, and the
//! two sides meet in pairings.

use core::fmt;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use terse_tls::crypto::{
    CryptoError, EphemeralKey, IdentityKey, IdentityPeer, IdentityRole, IdentityTerms, Rng, SharedSecret, StaticTerms,
};
use terse_tls::identity::{Identity, IdentityAlgorithm, IdentityParameters};
use zeroize::Zeroizing;

use crate::ephemeral;
use crate::generator::IssueError;

mod ffi;

use ffi::{G1, G1_LEN, G2, G2_LEN, Scalar, pairing};

const DST_H1: &[u8] = b"TERSE-ID3DH-V01-H1-BLS12381G1_XMD:SHA-256_SSWU_RO_";
const DST_H2: &[u8] = b"TERSE-ID3DH-V01-H2-BLS12381G2_XMD:SHA-256_SSWU_RO_";

/// The length in bytes of a private key: `sk || tk`.
pub const PRIVATE_LEN: usize = G2_LEN + G1_LEN;

/// An identity key.
pub struct BlsKey {
    parameters: IdentityParameters,
    authority: Authority,
    identity: Identity,
    /// `s·H2(ID)`
    sk: G2,
    /// `s·H1(ID)`
    tk: G1,
}

/// The public key of a PKG, and what its hashes are separated by.
struct Authority {
    /// `P_pub`
    point: G1,
    /// `SHA-256(0x01 || P_pub)`
    hash: [u8; 32],
}

impl Authority {
    fn new(parameters: &IdentityParameters) -> Option<Self> {
        if parameters.algorithm() != IdentityAlgorithm::Bls12381 {
            return None;
        }
        let mut hash = Sha256::new();
        hash.update([parameters.algorithm().code()]);
        hash.update(parameters.authority_key());
        Some(Self { point: G1::decode(parameters.authority_key())?, hash: hash.finalize().into() })
    }

    fn h1(&self, identity: &Identity, epoch: u32) -> G1 {
        G1::hash(&identity.hashed(epoch), &[DST_H1, &self.hash].concat())
    }

    fn h2(&self, identity: &Identity, epoch: u32) -> G2 {
        G2::hash(&identity.hashed(epoch), &[DST_H2, &self.hash].concat())
    }
}

/// Whether the authority's key in parameters of this algorithm is a point of G1.
pub(crate) fn is_valid(parameters: &IdentityParameters) -> bool {
    Authority::new(parameters).is_some()
}

fn term(bytes: &[u8]) -> SharedSecret {
    SharedSecret::new(bytes.to_vec())
}

impl BlsKey {
    /// Creates a key of its parts, as a file has them: `sk || tk`. Returns `None` if they do not belong together, which
    /// two pairings tell.
    pub fn new(parameters: IdentityParameters, identity: Identity, private: &[u8]) -> Option<Self> {
        let authority = Authority::new(&parameters)?;
        let (sk, tk) = private.split_at_checked(G2_LEN)?;
        let (sk, tk) = (G2::decode(sk)?, G1::decode(tk)?);
        let epoch = parameters.epoch();
        let (h1, h2) = (authority.h1(&identity, epoch), authority.h2(&identity, epoch));
        let is_sk = pairing(&authority.point, &h2)[..].ct_eq(&pairing(&G1::generator(), &sk)[..]);
        let is_tk = pairing(&tk, &h2)[..].ct_eq(&pairing(&h1, &sk)[..]);
        bool::from(is_sk & is_tk).then_some(Self { parameters, authority, identity, sk, tk })
    }

    /// Returns the private key, for its file.
    pub(crate) fn private(&self) -> Zeroizing<[u8; PRIVATE_LEN]> {
        let mut private = Zeroizing::new([0; PRIVATE_LEN]);
        let (sk, tk) = private.split_at_mut(G2_LEN);
        sk.copy_from_slice(&*Zeroizing::new(self.sk.encode()));
        tk.copy_from_slice(&*Zeroizing::new(self.tk.encode()));
        private
    }
}

impl fmt::Debug for BlsKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlsKey({})", self.identity)
    }
}

/// `crates/terse-sim/src/computing/identity.rs` counts the multiplications, hashes to points and pairings of `ephemeral` and
/// `terms`: it changes with them.
impl IdentityKey for BlsKey {
    fn parameters(&self) -> &IdentityParameters {
        &self.parameters
    }

    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn public_part(&self) -> &[u8] {
        &[]
    }

    fn ephemeral(&self, rng: &mut dyn Rng) -> Result<EphemeralKey, CryptoError> {
        let wide = ephemeral::wide(&self.private()[..], rng)?;
        let private = Scalar::from_wide(&wide).ok_or(CryptoError::RandomFailed)?;
        let public = G1::mul_generator(&private).encode().into();
        Ok(EphemeralKey::new(SharedSecret::new(private.encode().to_vec()), public))
    }

    fn ephemeral_from(&self, secret: &[u8]) -> Result<EphemeralKey, CryptoError> {
        let private = Scalar::decode(secret).ok_or(CryptoError::InvalidLength)?;
        let public = G1::mul_generator(&private).encode().into();
        Ok(EphemeralKey::new(SharedSecret::new(private.encode().to_vec()), public))
    }

    fn static_terms(
        &self,
        role: IdentityRole,
        ephemeral: Option<&EphemeralKey>,
        peer: IdentityPeer<'_>,
    ) -> Result<StaticTerms, CryptoError> {
        self.check(peer)?;
        let epoch = self.parameters.epoch();
        Ok(match role {
            IdentityRole::Client => {
                let own = private_ephemeral(ephemeral)?;
                let h2 = self.authority.h2(peer.identity, epoch);
                let k1 = term(&pairing(&self.authority.point.mul(&own), &h2)[..]);
                StaticTerms::new(term(&pairing(&self.tk, &h2)[..]), k1)
            }
            IdentityRole::Server => {
                let theirs = G1::decode(peer.ephemeral).ok_or(CryptoError::InvalidKeyShare)?;
                let k0 = term(&pairing(&self.authority.h1(peer.identity, epoch), &self.sk)[..]);
                StaticTerms::new(k0, term(&pairing(&theirs, &self.sk)[..]))
            }
        })
    }

    fn terms(
        &self,
        role: IdentityRole,
        ephemeral: &EphemeralKey,
        peer: IdentityPeer<'_>,
        known: Option<StaticTerms>,
    ) -> Result<IdentityTerms, CryptoError> {
        self.check(peer)?;
        let own = private_ephemeral(Some(ephemeral))?;
        let theirs = G1::decode(peer.ephemeral).ok_or(CryptoError::InvalidKeyShare)?;
        let known = known.map_or_else(|| self.static_terms(role, Some(ephemeral), peer), Ok)?;
        let k2 = match role {
            IdentityRole::Client => pairing(&theirs, &self.sk),
            IdentityRole::Server => {
                let h2 = self.authority.h2(peer.identity, self.parameters.epoch());
                pairing(&self.authority.point.mul(&own), &h2)
            }
        };
        let k3 = term(&Zeroizing::new(theirs.mul(&own).encode())[..]);
        Ok(IdentityTerms::new([known.k0, known.k1, term(&k2[..]), k3]))
    }
}

impl BlsKey {
    /// Checks that the peer is not the owner of this key, and has no public part.
    fn check(&self, peer: IdentityPeer<'_>) -> Result<(), CryptoError> {
        let is_valid = *peer.identity != self.identity && peer.public_part.is_empty();
        if is_valid { Ok(()) } else { Err(CryptoError::InvalidKeyShare) }
    }
}

/// Returns the private half of an ephemeral key of this side.
fn private_ephemeral(ephemeral: Option<&EphemeralKey>) -> Result<Scalar, CryptoError> {
    ephemeral.and_then(|ephemeral| Scalar::decode(ephemeral.secret())).ok_or(CryptoError::InvalidLength)
}

/// The secret of a PKG.
#[derive(Clone)]
pub(crate) struct Secret(Scalar);

impl Secret {
    pub(crate) fn generate(rng: &mut dyn Rng) -> Result<Self, CryptoError> {
        let mut wide = Zeroizing::new([0; 64]);
        rng.fill(&mut wide[..])?;
        Scalar::from_wide(&wide).map(Self).ok_or(CryptoError::RandomFailed)
    }

    /// Decodes the secret. Returns `None` if it is zero or not below the order.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        Scalar::decode(bytes).map(Self)
    }

    pub(crate) fn encode(&self) -> Zeroizing<[u8; 32]> {
        self.0.encode()
    }

    /// `P_pub`
    pub(crate) fn public(&self) -> [u8; G1_LEN] {
        G1::mul_generator(&self.0).encode()
    }

    /// Makes a key.
    pub(crate) fn issue(&self, parameters: &IdentityParameters, identity: &Identity) -> Result<BlsKey, IssueError> {
        let authority = Authority::new(parameters).ok_or(IssueError::OtherParameters)?;
        let epoch = parameters.epoch();
        let sk = authority.h2(identity, epoch).mul(&self.0);
        let tk = authority.h1(identity, epoch).mul(&self.0);
        Ok(BlsKey { parameters: parameters.clone(), authority, identity: identity.clone(), sk, tk })
    }
}

/// Returns the public half of a private key, of a generator or an ephemeral one.
#[cfg(test)]
pub(crate) fn public_of(private: &[u8; 32]) -> alloc::vec::Vec<u8> {
    G1::mul_generator(&Scalar::decode(private).expect("below the order")).encode().into()
}

/// Returns H1 of an identity, encoded.
#[cfg(test)]
pub(crate) fn h1_of(parameters: &IdentityParameters, identity: &Identity) -> [u8; G1_LEN] {
    Authority::new(parameters).expect("valid parameters").h1(identity, parameters.epoch()).encode()
}

/// Returns H2 of an identity, encoded.
#[cfg(test)]
pub(crate) fn h2_of(parameters: &IdentityParameters, identity: &Identity) -> [u8; G2_LEN] {
    Authority::new(parameters).expect("valid parameters").h2(identity, parameters.epoch()).encode()
}

#[cfg(test)]
mod tests;
