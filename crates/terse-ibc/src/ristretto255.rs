//! `id3dh-ristretto255` (docs/identity-format.md, 2 to 5): identity keys as Schnorr signatures of the PKG, in the group
//! ristretto255 (RFC 9496).

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use curve25519_dalek::constants::RISTRETTO_BASEPOINT_POINT;
use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use curve25519_dalek::traits::IsIdentity;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha512};
use terse_tls::crypto::{
    CryptoError, EphemeralKey, IdentityKey, IdentityPeer, IdentityRole, IdentityTerms, Rng, SharedSecret, StaticTerms,
};
use terse_tls::identity::{Identity, IdentityAlgorithm, IdentityParameters};
use zeroize::{Zeroize, Zeroizing};

use crate::ephemeral;
use crate::generator::IssueError;

const TAG_H: &[u8] = b"TERSE-ID3DH-V01-RISTRETTO255-H";
const TAG_PRF: &[u8] = b"TERSE-ID3DH-V01-RISTRETTO255-PRF";

/// The length in bytes of points and scalars.
pub const LEN: usize = 32;

/// An identity key.
pub struct RistrettoKey {
    parameters: IdentityParameters,
    /// `Y`
    authority: RistrettoPoint,
    identity: Identity,
    private: Zeroizing<Scalar>,
    public_part: [u8; LEN],
}

/// A device's request for a key that its PKG will not know. It is kept until the response comes.
pub struct Request {
    parameters: IdentityParameters,
    identity: Identity,
    /// `u`
    secret: Zeroizing<Scalar>,
}

/// The values of a request that the PKG gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blinded(pub [u8; LEN]);

/// The PKG's response to a request.
#[derive(Clone, PartialEq, Eq)]
pub struct Response {
    /// `r`, the public part of the key.
    pub public_part: [u8; LEN],
    /// `k + H(ID, r)·s`, the PKG's part of the private key.
    pub partial: [u8; LEN],
}

/// The response has half of a private key.
impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Response")
    }
}

/// Decodes a point: canonical, and not the identity element. Every point of ristretto255 has prime order. Points are in boxes, and what
/// computes them is never inlined, so that a device's stack has room for one computation, and not for the sum of all.
#[inline(never)]
fn point(bytes: &[u8]) -> Option<Box<RistrettoPoint>> {
    let point = CompressedRistretto::from_slice(bytes).ok()?.decompress()?;
    (!point.is_identity()).then(|| Box::new(point))
}

/// Multiplies a point.
#[inline(never)]
fn multiply(scalar: &Scalar, point: &RistrettoPoint) -> Box<Zeroizing<RistrettoPoint>> {
    Box::new(Zeroizing::new(scalar * point))
}

#[inline(never)]
fn add(to: &mut RistrettoPoint, point: &RistrettoPoint) {
    *to += point;
}

#[inline(never)]
fn encode(point: &RistrettoPoint) -> [u8; LEN] {
    point.compress().to_bytes()
}

/// Decodes a scalar below the order, and not zero.
pub(crate) fn scalar(bytes: &[u8]) -> Option<Zeroizing<Scalar>> {
    let mut bytes: [u8; LEN] = bytes.try_into().ok()?;
    let scalar = Option::from(Scalar::from_canonical_bytes(bytes)).map(Zeroizing::new);
    bytes.zeroize();
    scalar.filter(|scalar| **scalar != Scalar::ZERO)
}

/// `H(ID, r)`
#[inline(never)]
fn hash(parameters: &IdentityParameters, identity: &Identity, public_part: &[u8]) -> Scalar {
    let mut hash = Sha512::new();
    hash.update([TAG_H.len() as u8]);
    hash.update(TAG_H);
    hash.update(parameters.authority_key());
    hash.update(identity.hashed(parameters.epoch()));
    hash.update(public_part);
    Scalar::from_bytes_mod_order_wide(&hash.finalize().into())
}

/// Returns the public key of an identity, `r + H(ID, r)·Y`.
fn public_key(
    parameters: &IdentityParameters,
    authority: &RistrettoPoint,
    identity: &Identity,
    public_part: &[u8],
) -> Option<Box<Zeroizing<RistrettoPoint>>> {
    let public_part_point = point(public_part)?;
    let mut public = multiply(&hash(parameters, identity, public_part), authority);
    add(&mut public, &public_part_point);
    (!public.is_identity()).then_some(public)
}

/// Whether the authority's key in parameters of this algorithm is a point.
pub(crate) fn is_valid(parameters: &IdentityParameters) -> bool {
    point(parameters.authority_key()).is_some()
}

/// Whether `public_part` gives `identity` a valid public key.
pub(crate) fn is_public_part(parameters: &IdentityParameters, identity: &Identity, public_part: &[u8]) -> bool {
    let authority = point(parameters.authority_key());
    authority.and_then(|authority| public_key(parameters, &authority, identity, public_part)).is_some()
}

/// Computes and encodes a term, which must not be the identity element.
#[inline(never)]
fn term(scalar: &Scalar, point: &RistrettoPoint) -> Result<SharedSecret, CryptoError> {
    let product = multiply(scalar, point);
    if product.is_identity() {
        return Err(CryptoError::InvalidKeyShare);
    }
    let mut bytes = encode(&product);
    let secret = SharedSecret::new(Vec::from(bytes));
    bytes.zeroize();
    Ok(secret)
}

impl RistrettoKey {
    /// Creates a key of its parts, as a file has them. Returns `None` if they do not belong together:
    /// `sk·B = r + H(ID, r)·Y`.
    pub fn new(parameters: IdentityParameters, identity: Identity, public_part: &[u8], private: &[u8]) -> Option<Self> {
        let private = scalar(private)?;
        let is_ours = parameters.algorithm() == IdentityAlgorithm::Ristretto255;
        let authority = point(parameters.authority_key()).filter(|_| is_ours)?;
        let public = public_key(&parameters, &authority, &identity, public_part)?;
        let public_part = public_part.try_into().ok()?;
        let fits = multiple(&private) == **public;
        fits.then_some(Self { parameters, authority: *authority, identity, private, public_part })
    }

    /// Returns the private key, for its file.
    pub(crate) fn private(&self) -> &[u8; LEN] {
        self.private.as_bytes()
    }
}

impl fmt::Debug for RistrettoKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RistrettoKey({})", self.identity)
    }
}

/// `crates/terse-sim/src/computing/identity.rs` counts the multiplications of `ephemeral` and `terms`: it changes with them.
impl IdentityKey for RistrettoKey {
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
        let wide = ephemeral::wide(self.private(), rng)?;
        let private = Zeroizing::new(Scalar::from_bytes_mod_order_wide(&wide));
        let public = multiple(&private);
        if public.is_identity() {
            return Err(CryptoError::RandomFailed);
        }
        let public = public.compress().to_bytes().into();
        Ok(EphemeralKey::new(SharedSecret::new(private.as_bytes().to_vec()), public))
    }

    fn ephemeral_from(&self, secret: &[u8]) -> Result<EphemeralKey, CryptoError> {
        let private = scalar(secret).ok_or(CryptoError::InvalidLength)?;
        let public = multiple(&private).compress().to_bytes().into();
        Ok(EphemeralKey::new(SharedSecret::new(private.as_bytes().to_vec()), public))
    }

    fn static_terms(
        &self,
        role: IdentityRole,
        ephemeral: Option<&EphemeralKey>,
        peer: IdentityPeer<'_>,
    ) -> Result<StaticTerms, CryptoError> {
        let public = self.key_of(peer)?;
        self.static_terms_with(role, ephemeral, peer, &public)
    }

    fn terms(
        &self,
        role: IdentityRole,
        ephemeral: &EphemeralKey,
        peer: IdentityPeer<'_>,
        known: Option<StaticTerms>,
    ) -> Result<IdentityTerms, CryptoError> {
        let own = private_ephemeral(Some(ephemeral))?;
        let theirs = point(peer.ephemeral).ok_or(CryptoError::InvalidKeyShare)?;
        let (known, k2) = match (role, known) {
            (IdentityRole::Client, Some(known)) => (known, term(&self.private, &theirs)?),
            (IdentityRole::Client, None) => {
                let public = self.key_of(peer)?;
                let known = self.static_terms_with(role, Some(ephemeral), peer, &public)?;
                (known, term(&self.private, &theirs)?)
            }
            (IdentityRole::Server, known) => {
                let public = self.key_of(peer)?;
                let known = known.map_or_else(|| self.static_terms_with(role, None, peer, &public), Ok)?;
                (known, term(&own, &public)?)
            }
        };
        Ok(IdentityTerms::new([known.k0, known.k1, k2, term(&own, &theirs)?]))
    }
}

impl RistrettoKey {
    /// Returns the public key of a peer, which must not be the owner of this key.
    fn key_of(&self, peer: IdentityPeer<'_>) -> Result<Box<Zeroizing<RistrettoPoint>>, CryptoError> {
        let is_other = *peer.identity != self.identity;
        let public = public_key(&self.parameters, &self.authority, peer.identity, peer.public_part);
        public.filter(|_| is_other).ok_or(CryptoError::InvalidKeyShare)
    }

    /// Returns the terms with the server's static key, given the public key of the peer.
    fn static_terms_with(
        &self,
        role: IdentityRole,
        ephemeral: Option<&EphemeralKey>,
        peer: IdentityPeer<'_>,
        public: &RistrettoPoint,
    ) -> Result<StaticTerms, CryptoError> {
        let k1 = match role {
            IdentityRole::Client => term(&*private_ephemeral(ephemeral)?, public)?,
            IdentityRole::Server => term(&self.private, &*point(peer.ephemeral).ok_or(CryptoError::InvalidKeyShare)?)?,
        };
        Ok(StaticTerms::new(term(&self.private, public)?, k1))
    }
}

/// Returns the private half of an ephemeral key of this side.
fn private_ephemeral(ephemeral: Option<&EphemeralKey>) -> Result<Zeroizing<Scalar>, CryptoError> {
    ephemeral.and_then(|ephemeral| scalar(ephemeral.secret())).ok_or(CryptoError::InvalidLength)
}

impl Request {
    /// Begins a request for a key of `identity`.
    pub fn new(parameters: IdentityParameters, identity: Identity, rng: &mut dyn Rng) -> Result<Self, CryptoError> {
        let mut wide = Zeroizing::new([0; 64]);
        rng.fill(&mut wide[..])?;
        let secret = Zeroizing::new(Scalar::from_bytes_mod_order_wide(&wide));
        if *secret == Scalar::ZERO {
            return Err(CryptoError::RandomFailed);
        }
        Ok(Self { parameters, identity, secret })
    }

    /// Returns the value for the PKG, over a connection that authenticates the device: `U = u·B`.
    pub fn blinded(&self) -> Blinded {
        Blinded(multiple(&self.secret).compress().to_bytes())
    }

    /// Returns the identity that is asked for.
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Returns the parameters of the PKG.
    pub const fn parameters(&self) -> &IdentityParameters {
        &self.parameters
    }

    /// Returns the same request for other parameters: its secret does not depend on them.
    pub(crate) fn for_parameters(self, parameters: IdentityParameters) -> Self {
        Self { parameters, ..self }
    }

    /// Completes the key with the response. Returns `None` if the response is wrong.
    pub fn finish(self, response: &Response) -> Option<RistrettoKey> {
        let partial = scalar(&response.partial)?;
        let private = Zeroizing::new(*self.secret + *partial);
        RistrettoKey::new(self.parameters, self.identity, &response.public_part, private.as_bytes())
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Request({})", self.identity)
    }
}

/// The secrets of a PKG.
#[derive(Clone)]
pub(crate) struct Secrets {
    pub(crate) secret: Zeroizing<Scalar>,
    pub(crate) prf_key: Zeroizing<[u8; LEN]>,
}

impl Secrets {
    pub(crate) fn generate(rng: &mut dyn Rng) -> Result<Self, CryptoError> {
        let (mut wide, mut prf_key) = (Zeroizing::new([0; 64]), Zeroizing::new([0; LEN]));
        rng.fill(&mut wide[..])?;
        rng.fill(&mut prf_key[..])?;
        let secret = Zeroizing::new(Scalar::from_bytes_mod_order_wide(&wide));
        if *secret == Scalar::ZERO {
            return Err(CryptoError::RandomFailed);
        }
        Ok(Self { secret, prf_key })
    }

    /// `Y`
    pub(crate) fn public(&self) -> [u8; LEN] {
        multiple(&self.secret).compress().to_bytes()
    }

    /// Answers a request. The same request gets the same answer: two answers for one `k` would give away the secret.
    pub(crate) fn respond(
        &self,
        parameters: &IdentityParameters,
        identity: &Identity,
        blinded: Blinded,
    ) -> Result<Response, IssueError> {
        let blind = point(&blinded.0).ok_or(IssueError::BadRequest)?;
        self.respond_to(parameters, identity, blinded, *blind)
    }

    /// Makes a whole key, which the PKG then knows: `U` is the identity element.
    pub(crate) fn issue(
        &self,
        parameters: &IdentityParameters,
        identity: &Identity,
    ) -> Result<RistrettoKey, IssueError> {
        let response = self.respond_to(parameters, identity, Blinded([0; LEN]), RistrettoPoint::default())?;
        let Response { public_part, partial } = &response;
        let key = RistrettoKey::new(parameters.clone(), identity.clone(), public_part, partial);
        key.ok_or(IssueError::BadRequest)
    }

    fn respond_to(
        &self,
        parameters: &IdentityParameters,
        identity: &Identity,
        blinded: Blinded,
        blind: RistrettoPoint,
    ) -> Result<Response, IssueError> {
        let k = self.prf(parameters, identity, &blinded);
        let public_part = (blind + multiple(&k)).compress().to_bytes();
        let authority = multiple(&self.secret);
        public_key(parameters, &authority, identity, &public_part).ok_or(IssueError::BadRequest)?;
        let partial = Zeroizing::new(*k + hash(parameters, identity, &public_part) * *self.secret);
        Ok(Response { public_part, partial: partial.to_bytes() })
    }

    /// `PRF(ID, U)`, with all that [`hash`] has but `r`.
    fn prf(&self, parameters: &IdentityParameters, identity: &Identity, blinded: &Blinded) -> Zeroizing<Scalar> {
        let mut key = Zeroizing::new([0; 128]); // HMAC pads a key of 32 bytes with zeros to one block (RFC 2104, 2)
        key[..LEN].copy_from_slice(&self.prf_key[..]);
        let mut mac = Hmac::<Sha512>::new((&*key).into());
        mac.update(&[TAG_PRF.len() as u8]);
        mac.update(TAG_PRF);
        mac.update(parameters.authority_key());
        mac.update(&identity.hashed(parameters.epoch()));
        mac.update(&blinded.0);
        let mut wide: [u8; 64] = mac.finalize().into_bytes().into();
        let k = Zeroizing::new(Scalar::from_bytes_mod_order_wide(&wide));
        wide.zeroize();
        k
    }
}

/// Returns the public half of a private key, of a generator or an ephemeral one.
#[cfg(all(test, feature = "bls12381"))]
pub(crate) fn public_of(private: &[u8; LEN]) -> Vec<u8> {
    let private = scalar(private).expect("below the order");
    multiple(&private).compress().to_bytes().into()
}

/// Returns a multiple of the generator. On firmware it is computed like one of any other point, so that no table of 30 kB is needed.
#[inline(never)]
fn multiple(scalar: &Scalar) -> RistrettoPoint {
    if cfg!(target_os = "none") { RISTRETTO_BASEPOINT_POINT * scalar } else { RistrettoPoint::mul_base(scalar) }
}

/// Returns the encoded public key of a key.
#[cfg(all(test, feature = "bls12381"))]
pub(crate) fn public_key_of(key: &dyn IdentityKey) -> Vec<u8> {
    let parameters = key.parameters();
    let authority = point(parameters.authority_key()).expect("a point");
    let public = public_key(parameters, &authority, key.identity(), key.public_part()).expect("a valid key");
    public.compress().to_bytes().into()
}

#[cfg(all(test, feature = "bls12381"))]
mod tests;
