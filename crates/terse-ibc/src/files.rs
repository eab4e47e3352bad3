//! Identity keys, parameters, requests and the secret of a generator as files: in PEM (docs/identity-format.md, 6), and keys as the
//! bytes in it.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use pem_rfc7468::LineEnding;
use terse_tls::crypto::IdentityKey;
use terse_tls::identity::{Identity, IdentityAlgorithm, IdentityParameters};
use zeroize::Zeroizing;

#[cfg(feature = "bls12381")]
use crate::bls12381::{self, BlsKey};
use crate::generator::{Generator, Secrets};
use crate::ristretto255::{self, RistrettoKey};

/// The labels of PEM blocks.
const PARAMETERS: &str = "TERSE IDENTITY PARAMETERS";
const KEY: &str = "TERSE IDENTITY KEY";
const SECRET: &str = "TERSE PKG SECRET";

/// The first byte of each block.
const VERSION: u8 = 1;

/// The longest file that is read, in bytes.
pub const MAX_FILE: usize = 0x2_0000;

/// More bytes than a key takes without its peers: four fields of at most 255 bytes, with their lengths.
const MAX_KEY: usize = 1_100;

/// Why a file is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileError {
    /// It is not PEM, or longer than [`MAX_FILE`].
    Pem,
    /// It has another PEM label than this one.
    Label(&'static str),
    /// It is of another version of the format.
    Version,
    /// Its content is cut short, too long, or has an illegal value.
    Malformed,
    /// The private key does not belong to the identity and the parameters.
    WrongKey,
    /// The program was compiled without the algorithm.
    UnsupportedAlgorithm,
    /// The public part of a peer's key is invalid.
    KnownPeer,
    /// The peers take more than 65,535 bytes.
    TooManyPeers,
}

/// The content of a key file.
pub struct KeyFile<K = Arc<dyn IdentityKey>> {
    /// The identity key.
    pub key: K,
    /// The public parts of the keys of peers.
    pub known_peers: Vec<(Identity, Vec<u8>)>,
}

/// A key of either algorithm.
#[derive(Debug)]
#[non_exhaustive]
pub enum AnyKey {
    /// `id3dh-bls12381`
    #[cfg(feature = "bls12381")]
    Bls12381(BlsKey),
    /// `id3dh-ristretto255`
    Ristretto255(RistrettoKey),
}

impl AnyKey {
    /// Creates the key of its parts, and checks that they belong together.
    pub(crate) fn new(
        parameters: IdentityParameters,
        identity: Identity,
        public_part: &[u8],
        private: &[u8],
    ) -> Result<Self, FileError> {
        let key = match parameters.algorithm() {
            #[cfg(feature = "bls12381")]
            IdentityAlgorithm::Bls12381 if public_part.is_empty() => {
                BlsKey::new(parameters, identity, private).map(Self::Bls12381)
            }
            IdentityAlgorithm::Ristretto255 => {
                RistrettoKey::new(parameters, identity, public_part, private).map(Self::Ristretto255)
            }
            #[cfg(not(feature = "bls12381"))]
            IdentityAlgorithm::Bls12381 => return Err(FileError::UnsupportedAlgorithm),
            _ => return Err(FileError::Malformed),
        };
        key.ok_or(FileError::WrongKey)
    }

    /// Returns the key.
    pub fn as_key(&self) -> &dyn IdentityKey {
        match self {
            #[cfg(feature = "bls12381")]
            Self::Bls12381(key) => key,
            Self::Ristretto255(key) => key,
        }
    }

    fn private(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new(match self {
            #[cfg(feature = "bls12381")]
            Self::Bls12381(key) => key.private().to_vec(),
            Self::Ristretto255(key) => key.private().to_vec(),
        })
    }

    /// Returns the key for a configuration.
    pub fn into_key(self) -> Arc<dyn IdentityKey> {
        match self {
            #[cfg(feature = "bls12381")]
            Self::Bls12381(key) => Arc::new(key),
            Self::Ristretto255(key) => Arc::new(key),
        }
    }
}

impl KeyFile<AnyKey> {
    /// Writes the file. It contains the private key. Fails if a peer has an invalid public part, or if there are too many
    /// peers for one file.
    pub fn to_pem(&self) -> Result<Zeroizing<String>, FileError> {
        Ok(Zeroizing::new(encode(KEY, &self.to_bytes()?)))
    }

    /// Returns the content of the file without PEM, for a device. It contains the private key, and fails as [`Self::to_pem`].
    pub fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>, FileError> {
        let key = self.key.as_key();
        let mut peers = Vec::new();
        for (identity, public_part) in &self.known_peers {
            check_peer(key.parameters(), identity, public_part)?;
            push(&mut peers, identity.encoded());
            push(&mut peers, public_part);
        }
        let len = u16::try_from(peers.len()).map_err(|_| FileError::TooManyPeers)?;
        // Large enough: a vector that grows leaves a copy of the private key behind.
        let mut content = Zeroizing::new(Vec::with_capacity(MAX_KEY + peers.len()));
        content.push(VERSION);
        push(&mut content, &key.parameters().encode());
        push(&mut content, key.identity().encoded());
        push(&mut content, key.public_part());
        push(&mut content, &self.key.private());
        content.extend_from_slice(&len.to_be_bytes());
        content.extend_from_slice(&peers);
        Ok(content)
    }

    /// Reads a file, and checks that the private key belongs to the identity and the parameters.
    pub fn from_pem(pem: &str) -> Result<Self, FileError> {
        Self::from_bytes(&decode(KEY, pem)?)
    }

    /// Reads the content of a file, as [`Self::to_bytes`] returns it, and checks the same. A device that is given it needs no
    /// code for PEM.
    pub fn from_bytes(content: &[u8]) -> Result<Self, FileError> {
        let [VERSION, rest @ ..] = content else { return Err(FileError::Version) };
        let mut rest = rest;
        let parameters = IdentityParameters::decode(field(&mut rest)?).ok_or(FileError::Malformed)?;
        let identity = Identity::decode(field(&mut rest)?).map_err(|_| FileError::Malformed)?;
        let (public_part, private) = (field(&mut rest)?, field(&mut rest)?);
        let key = AnyKey::new(parameters, identity, public_part, private)?;
        let (len, mut peers) = rest.split_first_chunk().ok_or(FileError::Malformed)?;
        if usize::from(u16::from_be_bytes(*len)) != peers.len() {
            return Err(FileError::Malformed);
        }
        let mut known_peers = Vec::new();
        while !peers.is_empty() {
            let identity = Identity::decode(field(&mut peers)?).map_err(|_| FileError::Malformed)?;
            let public_part = field(&mut peers)?;
            check_peer(key.as_key().parameters(), &identity, public_part)?;
            known_peers.push((identity, public_part.into()));
        }
        Ok(Self { key, known_peers })
    }

    /// Returns the content for a configuration.
    pub fn into_dyn(self) -> KeyFile {
        KeyFile { key: self.key.into_key(), known_peers: self.known_peers }
    }
}

impl<K> fmt::Debug for KeyFile<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyFile with {} known peers", self.known_peers.len())
    }
}

/// Writes parameters.
pub fn parameters_to_pem(parameters: &IdentityParameters) -> String {
    encode(PARAMETERS, &[&[VERSION], &parameters.encode()[..]].concat())
}

/// Reads parameters, and checks that the authority's key is a point.
pub fn parameters_from_pem(pem: &str) -> Result<IdentityParameters, FileError> {
    let content = decode(PARAMETERS, pem)?;
    let parameters = IdentityParameters::decode(&content[1..]).ok_or(FileError::Malformed)?;
    let is_valid = match parameters.algorithm() {
        #[cfg(feature = "bls12381")]
        IdentityAlgorithm::Bls12381 => bls12381::is_valid(&parameters),
        IdentityAlgorithm::Ristretto255 => ristretto255::is_valid(&parameters),
        _ => return Err(FileError::UnsupportedAlgorithm),
    };
    is_valid.then_some(parameters).ok_or(FileError::Malformed)
}

/// Checks that a public part gives a peer a valid public key. With id3dh-bls12381 there are none.
fn check_peer(parameters: &IdentityParameters, identity: &Identity, public_part: &[u8]) -> Result<(), FileError> {
    let is_ristretto = parameters.algorithm() == IdentityAlgorithm::Ristretto255;
    let is_valid = is_ristretto && ristretto255::is_public_part(parameters, identity, public_part);
    is_valid.then_some(()).ok_or(FileError::KnownPeer)
}

impl Generator {
    /// Makes the key of `identity`, for a file.
    pub fn extract(&self, identity: &Identity) -> Result<AnyKey, crate::IssueError> {
        Ok(match &self.secrets {
            #[cfg(feature = "bls12381")]
            Secrets::Bls12381(secret) => AnyKey::Bls12381(secret.issue(&self.parameters, identity)?),
            Secrets::Ristretto255(secrets) => AnyKey::Ristretto255(secrets.issue(&self.parameters, identity)?),
        })
    }

    /// Returns the secret of the generator in the form of its file, without encryption.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut content = Zeroizing::new(Vec::with_capacity(256));
        content.push(VERSION);
        content.extend_from_slice(&self.parameters.encode());
        match &self.secrets {
            #[cfg(feature = "bls12381")]
            Secrets::Bls12381(secret) => {
                content.extend_from_slice(&secret.encode()[..]);
                content.extend_from_slice(&[0; 32]);
            }
            Secrets::Ristretto255(secrets) => {
                content.extend_from_slice(secrets.secret.as_bytes());
                content.extend_from_slice(&secrets.prf_key[..]);
            }
        }
        content
    }

    /// Reads the secret of a generator, and checks that it belongs to its parameters.
    pub fn from_bytes(content: &[u8]) -> Result<Self, FileError> {
        let content = match content {
            [VERSION, content @ ..] => content,
            _ => return Err(FileError::Version),
        };
        let (content, prf_key) = content.split_last_chunk::<32>().ok_or(FileError::Malformed)?;
        let (parameters, secret) = content.split_last_chunk::<32>().ok_or(FileError::Malformed)?;
        let parameters = IdentityParameters::decode(parameters).ok_or(FileError::Malformed)?;
        let secrets = match parameters.algorithm() {
            #[cfg(feature = "bls12381")]
            IdentityAlgorithm::Bls12381 if *prf_key == [0; 32] => {
                bls12381::Secret::decode(secret).map(Secrets::Bls12381)
            }
            IdentityAlgorithm::Ristretto255 => ristretto255::scalar(secret).map(|secret| {
                Secrets::Ristretto255(ristretto255::Secrets { secret, prf_key: Zeroizing::new(*prf_key) })
            }),
            #[cfg(not(feature = "bls12381"))]
            IdentityAlgorithm::Bls12381 => return Err(FileError::UnsupportedAlgorithm),
            _ => None,
        };
        let secrets = secrets.ok_or(FileError::Malformed)?;
        if secrets.parameters(parameters.epoch(), parameters.not_after()) != parameters {
            return Err(FileError::WrongKey);
        }
        Ok(Self { parameters, secrets })
    }

    /// Writes the file of the generator, without encryption.
    pub fn to_pem(&self) -> Zeroizing<String> {
        Zeroizing::new(encode(SECRET, &self.to_bytes()))
    }

    /// Reads the file of a generator.
    pub fn from_pem(pem: &str) -> Result<Self, FileError> {
        Self::from_bytes(&decode(SECRET, pem)?)
    }
}

fn push(content: &mut Vec<u8>, field: &[u8]) {
    content.push(field.len() as u8); // all fields are shorter than 256
    content.extend_from_slice(field);
}

fn field<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], FileError> {
    let (len, content) = rest.split_first().ok_or(FileError::Malformed)?;
    let (field, content) = content.split_at_checked((*len).into()).ok_or(FileError::Malformed)?;
    *rest = content;
    Ok(field)
}

fn encode(label: &str, content: &[u8]) -> String {
    // Only an illegal label or a length beyond the memory could fail.
    pem_rfc7468::encode_string(label, LineEnding::LF, content).unwrap_or_default()
}

/// Returns the content of a block with at least its version.
fn decode(label: &'static str, pem: &str) -> Result<Zeroizing<Vec<u8>>, FileError> {
    if pem.len() > MAX_FILE {
        return Err(FileError::Pem);
    }
    let content = terse_pem::first(pem.as_bytes(), &[label]).map_err(|error| match error {
        terse_pem::Error::Missing if terse_pem::sections(pem.as_bytes()).next().is_some() => FileError::Label(label),
        _ => FileError::Pem,
    })?;
    if content.first() == Some(&VERSION) { Ok(content) } else { Err(FileError::Version) }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pem => "it is not a whole PEM file, or too long for one: copy it again",
            Self::Label(label) => {
                return write!(f, "it is another kind of PEM file: -----BEGIN {label}----- is expected");
            }
            Self::Version => "it is of another version of the format: make it again",
            Self::Malformed => "its content is damaged: make it again",
            Self::WrongKey => "the private key does not belong to the identity and the parameters in it",
            Self::UnsupportedAlgorithm => "this program was compiled without its algorithm",
            Self::KnownPeer => "the public part of a peer's key is invalid: extract that key again",
            Self::TooManyPeers => "the public parts of peers take more than 65,535 bytes: leave some of them out",
        })
    }
}

impl core::error::Error for FileError {}

#[cfg(all(test, feature = "bls12381"))]
mod tests;
