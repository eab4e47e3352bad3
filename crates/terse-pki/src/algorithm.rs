//! Key algorithms and chain lengths have names, which the command line uses (`p256`, `rsa2048x3`).

use core::fmt;
use core::str::FromStr;

use aws_lc_rs::signature::Ed25519KeyPair;
use pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rcgen::{
    KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519, PKCS_RSA_SHA256, PublicKeyData, RsaKeySize,
    SignatureAlgorithm,
};
use zeroize::Zeroizing;

use crate::Error;

/// A key algorithm; RSA keys sign certificates with PKCS #1 and SHA-256.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names say it
pub enum KeyAlgorithm {
    P256,
    P384,
    Ed25519,
    Rsa2048,
    Rsa3072,
    Rsa4096,
}

impl KeyAlgorithm {
    /// Every algorithm.
    pub const ALL: [Self; 6] = [Self::P256, Self::P384, Self::Ed25519, Self::Rsa2048, Self::Rsa3072, Self::Rsa4096];

    const fn name(self) -> &'static str {
        match self {
            Self::P256 => "p256",
            Self::P384 => "p384",
            Self::Ed25519 => "ed25519",
            Self::Rsa2048 => "rsa2048",
            Self::Rsa3072 => "rsa3072",
            Self::Rsa4096 => "rsa4096",
        }
    }

    /// Makes a private key, as PKCS #8: for a device, which asks for its certificate itself.
    pub fn new_key(self) -> Result<Zeroizing<PrivateKeyDer<'static>>, Error> {
        let key = PrivatePkcs8KeyDer::from(self.generate()?.serialized_der()).clone_key();
        Ok(Zeroizing::new(key.into()))
    }

    pub(crate) fn generate(self) -> Result<Zeroizing<KeyPair>, Error> {
        let rsa = |size| KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, size);
        Ok(Zeroizing::new(match self {
            Self::P256 => KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?,
            Self::P384 => KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384)?,
            // PKCS #8 version 1: OpenSSL and GnuTLS cannot read version 2, which is what rcgen would make.
            Self::Ed25519 => {
                let pkcs8 = Ed25519KeyPair::generate()?.to_pkcs8v1()?;
                KeyPair::from_pkcs8_der_and_sign_algo(&PrivatePkcs8KeyDer::from(pkcs8.as_ref()), &PKCS_ED25519)?
            }
            Self::Rsa2048 => rsa(RsaKeySize::_2048)?,
            Self::Rsa3072 => rsa(RsaKeySize::_3072)?,
            Self::Rsa4096 => rsa(RsaKeySize::_4096)?,
        }))
    }

    /// Returns how rcgen names the algorithm.
    pub(crate) fn signature_algorithm(self) -> &'static SignatureAlgorithm {
        match self {
            Self::P256 => &PKCS_ECDSA_P256_SHA256,
            Self::P384 => &PKCS_ECDSA_P384_SHA384,
            Self::Ed25519 => &PKCS_ED25519,
            Self::Rsa2048 | Self::Rsa3072 | Self::Rsa4096 => &PKCS_RSA_SHA256,
        }
    }

    /// Returns the algorithm of a key, or `None` for one that this CA does not make.
    pub(crate) fn of(key: &impl PublicKeyData) -> Option<Self> {
        let algorithm = PublicKeyData::algorithm(key);
        if algorithm == &PKCS_ECDSA_P256_SHA256 {
            Some(Self::P256)
        } else if algorithm == &PKCS_ECDSA_P384_SHA384 {
            Some(Self::P384)
        } else if algorithm == &PKCS_ED25519 {
            Some(Self::Ed25519)
        } else if algorithm == &PKCS_RSA_SHA256 {
            // An RSAPublicKey is its modulus and at most some 30 bytes more.
            match key.der_bytes().len() {
                256..384 => Some(Self::Rsa2048),
                384..512 => Some(Self::Rsa3072),
                512..640 => Some(Self::Rsa4096),
                _ => None,
            }
        } else {
            None
        }
    }
}

impl FromStr for KeyAlgorithm {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|a| a.name() == name).ok_or_else(|| Error::UnknownAlgorithm(name.into()))
    }
}

impl fmt::Display for KeyAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A key algorithm and a number of certificates, leaf and root included: `p256x3` is a root, one intermediate, a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Chain {
    algorithm: KeyAlgorithm,
    certificates: usize,
}

impl Chain {
    /// The most certificates of a chain. Path validation takes six between leaf and root, and what it refuses is of no use.
    pub const MAX_CERTIFICATES: usize = 8;

    /// Creates a chain of 2 to [`Self::MAX_CERTIFICATES`] certificates.
    pub fn new(algorithm: KeyAlgorithm, certificates: usize) -> Result<Self, Error> {
        match certificates {
            2..=Self::MAX_CERTIFICATES => Ok(Self { algorithm, certificates }),
            _ => Err(Error::InvalidChain(format!("{algorithm}x{certificates}"))),
        }
    }

    /// Returns the algorithm of every key in the chain.
    pub fn algorithm(self) -> KeyAlgorithm {
        self.algorithm
    }

    /// Returns the number of certificates, leaf and root included.
    pub fn certificates(self) -> usize {
        self.certificates
    }
}

impl FromStr for Chain {
    type Err = Error;

    fn from_str(chain: &str) -> Result<Self, Error> {
        let invalid = || Error::InvalidChain(chain.into());
        let (algorithm, certificates) = chain.rsplit_once('x').ok_or_else(invalid)?;
        Self::new(algorithm.parse()?, certificates.parse().map_err(|_| invalid())?)
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.algorithm, self.certificates)
    }
}
