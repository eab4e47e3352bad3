//! The private key generator (PKG), which makes the keys of identities.

use alloc::sync::Arc;
use core::fmt;

use terse_tls::crypto::{CryptoError, IdentityKey, Rng};
use terse_tls::identity::{Identity, IdentityAlgorithm, IdentityParameters};

#[cfg(feature = "bls12381")]
use crate::bls12381;
use crate::ristretto255::{self, Blinded, Response};

/// A private key generator, in one epoch.
///
/// Whoever has it can make a key for every identity, and so pose as everybody. It cannot read what a handshake has
/// protected: that is forward secret.
#[derive(Clone)]
pub struct Generator {
    pub(crate) parameters: IdentityParameters,
    pub(crate) secrets: Secrets,
}

/// The secrets of either algorithm.
#[derive(Clone)]
pub(crate) enum Secrets {
    #[cfg(feature = "bls12381")]
    Bls12381(bls12381::Secret),
    Ristretto255(ristretto255::Secrets),
}

/// Why a generator issues no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IssueError {
    /// The request has a value that is no point of the group, or that gives no usable key.
    BadRequest,
    /// The algorithm has no blinded requests: its generator always knows the keys that it makes.
    NotBlinded,
    /// The request is for other parameters than those of this epoch.
    OtherParameters,
    /// The epoch has the highest number that there is.
    LastEpoch,
    /// The source of randomness failed, or this program was compiled without the algorithm.
    Crypto(CryptoError),
}

impl Generator {
    /// Makes a new generator, whose first epoch ends after `not_after`, in seconds since 1970.
    pub fn new(
        algorithm: IdentityAlgorithm,
        epoch: u32,
        not_after: u64,
        rng: &mut dyn Rng,
    ) -> Result<Self, IssueError> {
        let secrets = Secrets::generate(algorithm, rng)?;
        let parameters = secrets.parameters(epoch, not_after);
        Ok(Self { parameters, secrets })
    }

    /// Returns the public parameters, which all peers need.
    pub const fn parameters(&self) -> &IdentityParameters {
        &self.parameters
    }

    /// Makes the key of `identity`. The generator knows it.
    pub fn issue(&self, identity: &Identity) -> Result<Arc<dyn IdentityKey>, IssueError> {
        Ok(match &self.secrets {
            #[cfg(feature = "bls12381")]
            Secrets::Bls12381(secret) => Arc::new(secret.issue(&self.parameters, identity)?),
            Secrets::Ristretto255(secrets) => Arc::new(secrets.issue(&self.parameters, identity)?),
        })
    }

    /// Answers a device's [`ristretto255::Request`], whose sender is authenticated as `identity`. The generator does not
    /// learn the key; it could still make another one for the same identity.
    pub fn respond(&self, identity: &Identity, blinded: Blinded) -> Result<Response, IssueError> {
        match &self.secrets {
            #[cfg(feature = "bls12381")]
            Secrets::Bls12381(_) => Err(IssueError::NotBlinded),
            Secrets::Ristretto255(secrets) => secrets.respond(&self.parameters, identity, blinded),
        }
    }

    /// Begins the next epoch with the same secret. Keys of the old epoch do not work with those of the new one.
    pub fn rotate(&mut self, not_after: u64) -> Result<(), IssueError> {
        self.parameters = self.secrets.parameters(self.next_epoch()?, not_after);
        Ok(())
    }

    /// Begins the next epoch with a new secret, for when the old one may be known to somebody.
    pub fn rekey(&mut self, not_after: u64, rng: &mut dyn Rng) -> Result<(), IssueError> {
        *self = Self::new(self.parameters.algorithm(), self.next_epoch()?, not_after, rng)?;
        Ok(())
    }

    /// An epoch never comes again: with the same secret, its old keys would be valid once more.
    fn next_epoch(&self) -> Result<u32, IssueError> {
        self.parameters.epoch().checked_add(1).ok_or(IssueError::LastEpoch)
    }
}

impl Secrets {
    fn generate(algorithm: IdentityAlgorithm, rng: &mut dyn Rng) -> Result<Self, IssueError> {
        match algorithm {
            #[cfg(feature = "bls12381")]
            IdentityAlgorithm::Bls12381 => Ok(Self::Bls12381(bls12381::Secret::generate(rng)?)),
            IdentityAlgorithm::Ristretto255 => Ok(Self::Ristretto255(ristretto255::Secrets::generate(rng)?)),
            _ => Err(CryptoError::UnsupportedScheme.into()),
        }
    }

    /// Returns the parameters of an epoch under these secrets.
    pub(crate) fn parameters(&self, epoch: u32, not_after: u64) -> IdentityParameters {
        let parameters = match self {
            #[cfg(feature = "bls12381")]
            Self::Bls12381(secret) => {
                IdentityParameters::new(IdentityAlgorithm::Bls12381, &secret.public(), epoch, not_after)
            }
            Self::Ristretto255(secrets) => {
                IdentityParameters::new(IdentityAlgorithm::Ristretto255, &secrets.public(), epoch, not_after)
            }
        };
        parameters.expect("a key of its own has the right length")
    }
}

impl fmt::Debug for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Generator({:?})", self.parameters)
    }
}

impl From<CryptoError> for IssueError {
    fn from(error: CryptoError) -> Self {
        Self::Crypto(error)
    }
}

impl fmt::Display for IssueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BadRequest => "the request for an identity key is malformed: make a new one",
            Self::NotBlinded => "id3dh-bls12381 has no requests: the generator makes the whole key",
            Self::OtherParameters => {
                "the request is for other parameters: make it with those that the generator has now"
            }
            Self::LastEpoch => "the generator has had all epochs that there are: make a new generator",
            Self::Crypto(error) => return write!(f, "{error}"),
        })
    }
}

impl core::error::Error for IssueError {}

#[cfg(all(test, feature = "bls12381"))]
mod tests;
