//! Renewal: a device gets its key for a new epoch over a connection that its current key authenticates
//! (docs/identity-format.md, 9). The connection carries one message each way; framing them is left to the application.
//!
//! What must always hold: a generator answers only for the identity that the connection has proven; a device accepts only a
//! key of its own name, and of the generator that made its current key, unless it has other parameters from elsewhere.

use alloc::vec::Vec;
use core::fmt;

use terse_tls::Summary;
use terse_tls::crypto::{CryptoError, IdentityKey, Rng};
use terse_tls::identity::{Authority, Identity, IdentityAlgorithm, IdentityParameters};
use terse_tls::summary::AuthenticatedBy;
use zeroize::Zeroizing;

use crate::files::AnyKey;
use crate::generator::{Generator, IssueError, Secrets};
use crate::ristretto255::{Blinded, LEN, Request, Response};

/// The first byte of both messages.
const VERSION: u8 = 1;

/// The renewal of a device's key. It is kept from the request to the response.
#[derive(Debug)]
pub struct Renewal {
    current: IdentityParameters,
    identity: Identity,
    /// The only parameters that are accepted, if they are known.
    expected: Option<IdentityParameters>,
    /// The secret of the request; `None` with an algorithm whose generator makes whole keys.
    blind: Option<Request>,
}

/// Why a renewal failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RenewalError {
    /// The client of the connection has not proven an identity with an identity key.
    NotAuthenticated,
    /// The client has a key of another generator.
    OtherGenerator,
    /// A message is malformed, or of another version or algorithm.
    Malformed,
    /// The response has parameters of another secret, or of an earlier epoch. After `rekey` a device must get the new
    /// parameters in a way that does not depend on the old secret, which somebody else may know.
    OtherParameters,
    /// The key in the response does not belong to the identity and the parameters.
    WrongKey,
    /// The generator makes no such key.
    Issue(IssueError),
}

impl Renewal {
    /// Begins the renewal of `key`.
    pub fn new(key: &dyn IdentityKey, rng: &mut dyn Rng) -> Result<Self, CryptoError> {
        let (current, identity) = (key.parameters().clone(), key.identity().clone());
        let blind = match current.algorithm() {
            IdentityAlgorithm::Ristretto255 => Some(Request::new(current.clone(), identity.clone(), rng)?),
            _ => None,
        };
        Ok(Self { current, identity, expected: None, blind })
    }

    /// Accepts only a key for these parameters, which may be of another secret.
    #[must_use]
    pub fn expecting(self, parameters: IdentityParameters) -> Self {
        Self { expected: Some(parameters), ..self }
    }

    /// Returns the message for the generator: 3 bytes with `id3dh-bls12381`, 35 with `id3dh-ristretto255`.
    pub fn request(&self) -> Vec<u8> {
        let blinded = self.blind.as_ref().map(Request::blinded);
        let blinded = blinded.as_ref().map_or(&[][..], |Blinded(point)| point);
        [&[VERSION, self.current.algorithm().code(), blinded.len() as u8][..], blinded].concat()
    }

    /// Completes the renewal with the response. Returns the new key, whose end (`not_after`) only the connection vouches for.
    pub fn finish(self, response: &[u8]) -> Result<AnyKey, RenewalError> {
        let Self { current, identity, expected, blind } = self;
        let mut rest = response.strip_prefix(&[VERSION]).ok_or(RenewalError::Malformed)?;
        let parameters = IdentityParameters::decode(field(&mut rest)?).ok_or(RenewalError::Malformed)?;
        let (public_part, private) = (field(&mut rest)?, field(&mut rest)?);
        if !rest.is_empty() || parameters.algorithm() != current.algorithm() {
            return Err(RenewalError::Malformed);
        }
        let is_accepted = match &expected {
            Some(expected) => *expected == parameters,
            None => parameters.authority_key() == current.authority_key() && parameters.epoch() >= current.epoch(),
        };
        if !is_accepted {
            return Err(RenewalError::OtherParameters);
        }
        match blind {
            None => AnyKey::new(parameters, identity, public_part, private).map_err(|_| RenewalError::WrongKey),
            Some(request) => {
                let parts = (<[u8; LEN]>::try_from(public_part), <[u8; LEN]>::try_from(private));
                let (Ok(public_part), Ok(partial)) = parts else { return Err(RenewalError::Malformed) };
                let key = request.for_parameters(parameters).finish(&Response { public_part, partial });
                key.map(AnyKey::Ristretto255).ok_or(RenewalError::WrongKey)
            }
        }
    }
}

impl Generator {
    /// Answers a [`Renewal::request`] that came over the connection with this `summary`: the new key is for the identity that
    /// the client has proven there, and for nobody else. `accepted` are the authorities of this generator that a client may
    /// renew a key of: the current epoch and those before it.
    ///
    /// With `id3dh-ristretto255` the generator does not learn the key, and the response is no secret; with `id3dh-bls12381`
    /// it is the whole private key.
    pub fn renew(
        &self,
        accepted: &[Authority],
        summary: &Summary,
        request: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, RenewalError> {
        let is_proven = summary.peer.authenticated_by == AuthenticatedBy::Identity;
        let client = summary.peer.identity_based.as_ref().filter(|_| is_proven);
        let client = client.ok_or(RenewalError::NotAuthenticated)?;
        if !accepted.contains(&client.authority) {
            return Err(RenewalError::OtherGenerator);
        }
        let parameters = self.parameters();
        let mut rest =
            request.strip_prefix(&[VERSION, parameters.algorithm().code()]).ok_or(RenewalError::Malformed)?;
        let blinded = field(&mut rest)?;
        if !rest.is_empty() {
            return Err(RenewalError::Malformed);
        }
        let (public_part, private) = self.renewed(&client.identity, blinded)?;
        let fields = [&parameters.encode()[..], &public_part, &private];
        let mut response =
            Zeroizing::new(Vec::with_capacity(1 + fields.iter().map(|field| 1 + field.len()).sum::<usize>()));
        response.push(VERSION);
        for field in fields {
            response.push(field.len() as u8); // 144 bytes at most
            response.extend_from_slice(field);
        }
        Ok(response)
    }

    /// Returns the public part of a new key, and its private key or this generator's part of it.
    fn renewed(&self, identity: &Identity, blinded: &[u8]) -> Result<(Vec<u8>, Zeroizing<Vec<u8>>), RenewalError> {
        match &self.secrets {
            #[cfg(feature = "bls12381")]
            Secrets::Bls12381(secret) if blinded.is_empty() => {
                let key = secret.issue(self.parameters(), identity)?;
                Ok((Vec::new(), Zeroizing::new(key.private().to_vec())))
            }
            #[cfg(feature = "bls12381")]
            Secrets::Bls12381(_) => Err(RenewalError::Malformed),
            Secrets::Ristretto255(_) => {
                let blinded = Blinded(blinded.try_into().map_err(|_| RenewalError::Malformed)?);
                let Response { public_part, partial } = self.respond(identity, blinded)?;
                Ok((public_part.into(), Zeroizing::new(partial.into())))
            }
        }
    }
}

/// Takes a field with its length before it.
fn field<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], RenewalError> {
    let (len, after) = rest.split_first().ok_or(RenewalError::Malformed)?;
    let (field, after) = after.split_at_checked((*len).into()).ok_or(RenewalError::Malformed)?;
    *rest = after;
    Ok(field)
}

impl From<IssueError> for RenewalError {
    fn from(error: IssueError) -> Self {
        Self::Issue(error)
    }
}

impl fmt::Display for RenewalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAuthenticated => "the client has not proven an identity with an identity key",
            Self::OtherGenerator => "the client has a key of another generator",
            Self::Malformed => "a message of the renewal is malformed, or for another algorithm",
            Self::OtherParameters => {
                "the generator has other parameters: if it has a new secret, get them from its operator"
            }
            Self::WrongKey => "the new key does not belong to the identity and the parameters",
            Self::Issue(error) => return error.fmt(f),
        })
    }
}

impl core::error::Error for RenewalError {}
