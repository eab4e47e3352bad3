//! A second implementation of `id3dh-ristretto255`, written from docs/identity-format.md alone: honest sides that leak
//! secrets, and attackers, need its insides.

use alloc::sync::Arc;
use std::sync::Mutex;

use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use sha2::{Digest, Sha512};
use terse_tls::crypto::{
    CryptoError, EphemeralKey, IdentityKey, IdentityPeer, IdentityRole, IdentityTerms, Rng, SharedSecret, StaticTerms,
};
use terse_tls::identity::{Identity, IdentityAlgorithm, IdentityParameters};

/// A private key generator.
pub(crate) struct Generator {
    secret: Scalar,
    pub(crate) parameters: IdentityParameters,
}

/// An identity key whose secrets can be seen.
#[derive(Clone)]
pub(crate) struct Key {
    pub(crate) parameters: IdentityParameters,
    pub(crate) identity: Identity,
    pub(crate) private: Scalar,
    pub(crate) public_part: [u8; 32],
    /// The last ephemeral private key.
    pub(crate) leaked: Arc<Mutex<Scalar>>,
}

impl Generator {
    pub(crate) fn new(secret: u64) -> Self {
        let secret = Scalar::from(secret);
        let public = RistrettoPoint::mul_base(&secret).compress();
        let not_after = terse_testkit::identity::NOT_AFTER;
        let parameters = IdentityParameters::new(IdentityAlgorithm::Ristretto255, public.as_bytes(), 7, not_after);
        Self { secret, parameters: parameters.expect("the right length") }
    }

    pub(crate) fn issue(&self, identity: &Identity, k: u64) -> Key {
        let k = Scalar::from(k);
        let public_part = RistrettoPoint::mul_base(&k).compress().to_bytes();
        let private = k + hash(&self.parameters, identity, &public_part) * self.secret;
        let parameters = self.parameters.clone();
        Key { parameters, identity: identity.clone(), private, public_part, leaked: Arc::default() }
    }
}

fn hash(parameters: &IdentityParameters, identity: &Identity, public_part: &[u8]) -> Scalar {
    let tag = b"TERSE-ID3DH-V01-RISTRETTO255-H";
    let mut hash = Sha512::new();
    hash.update([tag.len() as u8]);
    hash.update(tag);
    hash.update(parameters.authority_key());
    hash.update(identity.hashed(parameters.epoch()));
    hash.update(public_part);
    Scalar::from_bytes_mod_order_wide(&hash.finalize().into())
}

/// Decodes a point.
pub(crate) fn point(bytes: &[u8]) -> Result<RistrettoPoint, CryptoError> {
    let point = CompressedRistretto::from_slice(bytes).ok().and_then(|point| point.decompress());
    point.ok_or(CryptoError::InvalidKeyShare)
}

/// Returns the public key of an identity, given its public part.
pub(crate) fn public_key(
    parameters: &IdentityParameters,
    identity: &Identity,
    public_part: &[u8],
) -> Result<RistrettoPoint, CryptoError> {
    Ok(point(public_part)? + hash(parameters, identity, public_part) * point(parameters.authority_key())?)
}

/// Returns the private half of an ephemeral key.
pub(crate) fn private(ephemeral: &EphemeralKey) -> Scalar {
    Scalar::from_bytes_mod_order(ephemeral.secret().try_into().expect("32 bytes"))
}

/// Makes an ephemeral key of a private one.
pub(crate) fn ephemeral(private: Scalar, public: RistrettoPoint) -> EphemeralKey {
    EphemeralKey::new(SharedSecret::new(private.to_bytes().into()), public.compress().to_bytes().into())
}

/// Encodes a term.
pub(crate) fn term(point: RistrettoPoint) -> SharedSecret {
    SharedSecret::new(point.compress().to_bytes().into())
}

impl IdentityKey for Key {
    fn parameters(&self) -> &IdentityParameters {
        &self.parameters
    }

    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn public_part(&self) -> &[u8] {
        &self.public_part
    }

    fn ephemeral(&self, rng: &mut dyn Rng) -> Result<EphemeralKey, CryptoError> {
        let mut bytes = [0; 64];
        rng.fill(&mut bytes)?;
        let private = Scalar::from_bytes_mod_order_wide(&bytes);
        *self.leaked.lock().expect("no panic") = private;
        Ok(ephemeral(private, RistrettoPoint::mul_base(&private)))
    }

    fn ephemeral_from(&self, secret: &[u8]) -> Result<EphemeralKey, CryptoError> {
        let private =
            Option::from(Scalar::from_canonical_bytes(secret.try_into().expect("32 bytes"))).expect("a scalar");
        Ok(ephemeral(private, RistrettoPoint::mul_base(&private)))
    }

    fn static_terms(
        &self,
        role: IdentityRole,
        ephemeral: Option<&EphemeralKey>,
        peer: IdentityPeer<'_>,
    ) -> Result<StaticTerms, CryptoError> {
        let public = public_key(&self.parameters, peer.identity, peer.public_part)?;
        let k1 = match (role, ephemeral) {
            (IdentityRole::Client, Some(ephemeral)) => private(ephemeral) * public,
            _ => self.private * point(peer.ephemeral)?,
        };
        Ok(StaticTerms::new(term(self.private * public), term(k1)))
    }

    fn terms(
        &self,
        role: IdentityRole,
        ephemeral: &EphemeralKey,
        peer: IdentityPeer<'_>,
        _: Option<StaticTerms>,
    ) -> Result<IdentityTerms, CryptoError> {
        let (own, static_key) = (private(ephemeral), self.private);
        let theirs = point(peer.ephemeral)?;
        let public = public_key(&self.parameters, peer.identity, peer.public_part)?;
        let (mine_with_static, static_with_theirs) = (own * public, static_key * theirs);
        let (k1, k2) = match role {
            IdentityRole::Client => (mine_with_static, static_with_theirs),
            IdentityRole::Server => (static_with_theirs, mine_with_static),
        };
        Ok(IdentityTerms::new([static_key * public, k1, k2, own * theirs].map(term)))
    }
}
