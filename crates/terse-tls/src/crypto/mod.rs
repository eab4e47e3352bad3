//! The crypto provider: the interface of the engine to a cryptographic library.
//!
//! A [`CryptoProvider`] is a struct of static trait objects. A firmware that names only the suites, groups and
//! algorithms it uses lets its linker drop the rest.
//!
//! What must always hold: an implementation never panics on any input, compares secrets in constant time, and wipes its
//! copies of secrets.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use pki_types::{PrivateKeyDer, SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer};

use crate::wire::{CipherSuite, NamedGroup, SignatureScheme};

mod identity;
mod secret;
mod tables;
pub use identity::{EphemeralKey, IdentityKey, IdentityPeer, IdentityRole, IdentityTerms, StaticTerms};
pub use secret::{Digest, MAX_HASH_LEN, Secret, SharedSecret};

/// The algorithms that connections can use: cipher suites, groups, signature algorithms, in order of preference.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct CryptoProvider {
    /// A short name for reports, such as `rustcrypto`.
    pub name: &'static str,
    /// TLS 1.3 cipher suites (RFC 9846, B.4), preferred first.
    pub tls13_suites: &'static [&'static Tls13Suite],
    /// TLS 1.2 cipher suites, preferred first.
    pub tls12_suites: &'static [&'static Tls12Suite],
    /// Key exchange groups (RFC 9846, 4.3.7), preferred first.
    pub groups: &'static [&'static dyn Group],
    /// The algorithms that verify signatures in certificates and in CertificateVerify.
    pub signatures: SignatureAlgorithms,
    /// SHA-256, which the fingerprints of RFC 7924 need with every suite.
    pub sha256: &'static dyn Hash,
    /// SHA-1, which only identifies: certificates in OCSP responses (RFC 6960, 4.1.1), of which without it those with SHA-256
    /// alone are accepted, and keys in onboarding (RFC 5280, 4.2.1.2).
    pub sha1: Option<Sha1>,
    /// SHA-512, which no handshake needs: it digests what an Ed25519 key signs in CMS (RFC 8419, 3.1). With `None`, there are
    /// no such signatures.
    pub sha512: Option<Sha512>,
    load_key: LoadKey,
}

/// A function that loads a private key in PKCS#8, SEC1 or PKCS#1 form for signing.
pub type LoadKey = fn(&PrivateKeyDer<'_>) -> Result<Arc<dyn SigningKey>, KeyError>;

/// A function that returns the SHA-1 hash of some bytes.
pub type Sha1 = fn(&[u8]) -> [u8; 20];

/// A function that returns the SHA-512 hash of some bytes.
pub type Sha512 = fn(&[u8]) -> [u8; 64];

impl CryptoProvider {
    /// Returns a provider without suites and groups, and without SHA-1 and SHA-512.
    pub const fn new(
        name: &'static str,
        signatures: SignatureAlgorithms,
        sha256: &'static dyn Hash,
        load_key: LoadKey,
    ) -> Self {
        Self {
            name,
            tls13_suites: &[],
            tls12_suites: &[],
            groups: &[],
            signatures,
            sha256,
            sha1: None,
            sha512: None,
            load_key,
        }
    }

    /// Returns the provider with another [`name`](field@Self::name).
    #[must_use]
    pub const fn name(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// Returns the provider with these suites of TLS 1.3, preferred first.
    #[must_use]
    pub const fn tls13_suites(self, tls13_suites: &'static [&'static Tls13Suite]) -> Self {
        Self { tls13_suites, ..self }
    }

    /// Returns the provider with these suites of TLS 1.2, preferred first.
    #[must_use]
    pub const fn tls12_suites(self, tls12_suites: &'static [&'static Tls12Suite]) -> Self {
        Self { tls12_suites, ..self }
    }

    /// Returns the provider with these groups, preferred first.
    #[must_use]
    pub const fn groups(self, groups: &'static [&'static dyn Group]) -> Self {
        Self { groups, ..self }
    }

    /// Returns the provider with these signature algorithms.
    #[must_use]
    pub const fn signatures(self, signatures: SignatureAlgorithms) -> Self {
        Self { signatures, ..self }
    }

    /// Returns the provider with another implementation of SHA-256.
    #[must_use]
    pub const fn sha256(self, sha256: &'static dyn Hash) -> Self {
        Self { sha256, ..self }
    }

    /// Returns the provider with this implementation of SHA-1, or without one.
    #[must_use]
    pub const fn sha1(self, sha1: Option<Sha1>) -> Self {
        Self { sha1, ..self }
    }

    /// Returns the provider with this implementation of SHA-512, or without one.
    #[must_use]
    pub const fn sha512(self, sha512: Option<Sha512>) -> Self {
        Self { sha512, ..self }
    }

    /// Returns the provider with another function that loads private keys.
    #[must_use]
    pub const fn with_load_key(self, load_key: LoadKey) -> Self {
        Self { load_key, ..self }
    }

    /// Loads a private key in PKCS#8, SEC1 or PKCS#1 form for signing.
    pub fn load_key(&self, key: &PrivateKeyDer<'_>) -> Result<Arc<dyn SigningKey>, KeyError> {
        (self.load_key)(key)
    }

    /// Returns the TLS 1.3 suite with this code point.
    pub fn tls13_suite(&self, id: CipherSuite) -> Option<&'static Tls13Suite> {
        self.tls13_suites.iter().copied().find(|suite| suite.id == id)
    }

    /// Returns the TLS 1.2 suite with this code point.
    pub fn tls12_suite(&self, id: CipherSuite) -> Option<&'static Tls12Suite> {
        self.tls12_suites.iter().copied().find(|suite| suite.id == id)
    }

    /// Returns the group with this code point.
    pub fn group(&self, name: NamedGroup) -> Option<&'static dyn Group> {
        self.groups.iter().copied().find(|group| group.name() == name)
    }
}

impl fmt::Debug for CryptoProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CryptoProvider({})", self.name)
    }
}

/// A TLS 1.3 cipher suite: an AEAD and a hash (RFC 9846, B.4).
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Tls13Suite {
    /// The code point.
    pub id: CipherSuite,
    /// The hash of the transcript and of the key schedule.
    pub hash: &'static dyn Hash,
    /// The algorithm that protects records.
    pub aead: &'static dyn Aead,
    /// The algorithm that encrypts record numbers over datagrams (RFC 9147, 4.2.3). It is the cipher of the AEAD.
    pub record_numbers: &'static dyn RecordNumberCipher,
    /// How many records may be protected under one key before it must be updated (RFC 9846, 5.5).
    pub confidentiality_limit: u64,
    /// How many records over datagrams may fail authentication under one key (RFC 9147, 4.5.3).
    pub integrity_limit: u64,
}

impl Tls13Suite {
    /// Returns a suite whose keys are used within `limits`.
    pub const fn new(
        id: CipherSuite,
        hash: &'static dyn Hash,
        aead: &'static dyn Aead,
        record_numbers: &'static dyn RecordNumberCipher,
        limits: KeyLimits,
    ) -> Self {
        let KeyLimits { confidentiality: confidentiality_limit, integrity: integrity_limit } = limits;
        Self { id, hash, aead, record_numbers, confidentiality_limit, integrity_limit }
    }
}

/// A TLS 1.2 cipher suite (RFC 5246, 7.4.1.2 and Appendix C).
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Tls12Suite {
    /// The code point.
    pub id: CipherSuite,
    /// The key exchange, and the authentication of the server.
    pub key_exchange: Tls12KeyExchange,
    /// The hash of the PRF and of Finished.
    pub hash: &'static dyn Hash,
    /// The algorithm that protects records.
    pub aead: &'static dyn Aead,
    /// How the nonce of a record is made.
    pub nonce: Tls12Nonce,
    /// How many records may be protected under one key. The limits of RFC 9846, 5.5, apply to the same algorithms here.
    pub confidentiality_limit: u64,
}

impl Tls12Suite {
    /// Returns a suite whose keys are used within `limits`.
    pub const fn new(
        id: CipherSuite,
        key_exchange: Tls12KeyExchange,
        hash: &'static dyn Hash,
        aead: &'static dyn Aead,
        nonce: Tls12Nonce,
        limits: KeyLimits,
    ) -> Self {
        Self { id, key_exchange, hash, aead, nonce, confidentiality_limit: limits.confidentiality }
    }
}

/// How often one key of an AEAD may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyLimits {
    confidentiality: u64,
    integrity: u64,
}

impl KeyLimits {
    /// The limits of AES-GCM: 2^24.5 full-size records (RFC 9846, 5.5), and 2^36 forgeries (RFC 9147, 4.5.3).
    pub const AES_GCM: Self = Self::new(23_726_566, 1 << 36);

    /// The limits of ChaCha20-Poly1305: the record sequence number wraps before the first limit is reached (RFC 9846,
    /// 5.5), and 2^36 forgeries are allowed (RFC 9147, 4.5.3).
    pub const CHACHA20_POLY1305: Self = Self::new(u64::MAX, 1 << 36);

    /// The limits of AES-CCM: 2^23 records (RFC 9147, 4.5.3 and Appendix B.1; TLS states none), and 2^23.5 forgeries
    /// (Appendix B.2).
    pub const AES_CCM: Self = Self::new(1 << 23, 11_863_283);

    /// The limits of AES-CCM with a tag of 8 bytes. The length of the tag does not affect the first limit. More than
    /// 2^7 forgeries (RFC 9147, Appendix B.3) would give a forger better chances than with the other suites.
    pub const AES_CCM_8: Self = Self::new(1 << 23, 1 << 7);

    /// Returns limits of `confidentiality` protected records, and of `integrity` records that fail authentication.
    pub const fn new(confidentiality: u64, integrity: u64) -> Self {
        Self { confidentiality, integrity }
    }
}

/// The key exchange and authentication of a TLS 1.2 suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tls12KeyExchange {
    /// Ephemeral ECDH, signed with an ECDSA or EdDSA key (RFC 8422, 2).
    EcdheEcdsa,
    /// Ephemeral ECDH, signed with an RSA key (RFC 8422, 2).
    EcdheRsa,
    /// A pre-shared key alone, without forward secrecy (RFC 4279, 2).
    Psk,
    /// A pre-shared key with ephemeral ECDH (RFC 5489, 2).
    EcdhePsk,
}

impl Tls12KeyExchange {
    /// Returns whether the server proves its identity with a certificate.
    pub const fn has_certificates(self) -> bool {
        matches!(self, Self::EcdheEcdsa | Self::EcdheRsa)
    }
}

/// How the nonce of a TLS 1.2 record is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tls12Nonce {
    /// 4 bytes from the key block, then 8 that are sent with the record (RFC 5288, 3; RFC 6655, 3).
    Explicit,
    /// 12 bytes from the key block, XORed with the sequence number (RFC 7905, 2).
    Implicit,
}

/// A source of random bytes for keys. It is an argument of every call that needs it, so that a run can be replayed.
pub trait Rng {
    /// Fills `out`, or fails without a usable result.
    fn fill(&mut self, out: &mut [u8]) -> Result<(), CryptoError>;
}

/// A hash function, with the HMAC and HKDF (RFC 5869) that are built on it.
pub trait Hash: Send + Sync {
    /// Returns the length of the output in bytes: 32 or 48.
    fn output_len(&self) -> usize;
    /// Begins a running hash.
    fn start(&self) -> Box<dyn HashContext>;
    /// Computes HMAC under `key` over the concatenation of `parts`.
    fn hmac(&self, key: &[u8], parts: &[&[u8]]) -> Digest;
    /// Computes HKDF-Extract (RFC 5869, 2.2).
    fn hkdf_extract(&self, salt: &[u8], input_key_material: &[u8]) -> Secret;
    /// Fills `out` by HKDF-Expand (RFC 5869, 2.3) with the concatenation of `info`.
    ///
    /// Fails when `out` is longer than 255 times the output of the hash, or the key is not as long as that output.
    fn hkdf_expand(&self, pseudorandom_key: &[u8], info: &[&[u8]], out: &mut [u8]) -> Result<(), CryptoError>;

    /// Returns the hash of the concatenation of `parts`.
    fn hash(&self, parts: &[&[u8]]) -> Digest {
        let mut context = self.start();
        for part in parts {
            context.update(part);
        }
        context.finish()
    }
}

/// A running hash.
pub trait HashContext: Send + Sync {
    /// Adds `data`.
    fn update(&mut self, data: &[u8]);
    /// Returns a copy of the running hash.
    fn fork(&self) -> Box<dyn HashContext>;
    /// Returns the hash of all data that was added.
    fn finish(self: Box<Self>) -> Digest;
}

/// The length in bytes of the nonce of every AEAD in TLS 1.2 and TLS 1.3.
pub const NONCE_LEN: usize = 12;

/// The length in bytes of the longest AEAD tag.
pub const MAX_TAG_LEN: usize = 16;

/// An AEAD algorithm (RFC 5116).
pub trait Aead: Send + Sync {
    /// Returns the length of a key in bytes: 16 or 32.
    fn key_len(&self) -> usize;
    /// Returns the length of a tag in bytes: 8 or 16.
    fn tag_len(&self) -> usize;
    /// Prepares `key`, of [`Aead::key_len`] bytes, for use.
    fn key(&self, key: &[u8]) -> Result<Box<dyn AeadKey>, CryptoError>;
}

/// A key of an [`Aead`] that is ready for use.
pub trait AeadKey: Send + Sync {
    /// Encrypts `data` in place and writes the tag, of [`Aead::tag_len`] bytes, to `tag`.
    fn seal(&self, nonce: &[u8; NONCE_LEN], aad: &[u8], data: &mut [u8], tag: &mut [u8]) -> Result<(), CryptoError>;
    /// Authenticates and decrypts `data`, ciphertext followed by tag, in place. Returns the length of the plaintext,
    /// which is at the start of `data`.
    fn open(&self, nonce: &[u8; NONCE_LEN], aad: &[u8], data: &mut [u8]) -> Result<usize, CryptoError>;
}

/// A cipher that encrypts record numbers over datagrams (RFC 9147, 4.2.3).
pub trait RecordNumberCipher: Send + Sync {
    /// Prepares `sn_key`, which is as long as a key of the suite's AEAD, for use.
    fn key(&self, sn_key: &[u8]) -> Result<Box<dyn RecordNumberKey>, CryptoError>;
}

/// A key of a [`RecordNumberCipher`] that is ready for use.
pub trait RecordNumberKey: Send + Sync {
    /// Returns the first bytes of `Mask`, which are XORed with the number of a record. They are computed from the first
    /// bytes of the record's ciphertext.
    fn mask(&self, ciphertext: &[u8; MASK_SAMPLE_LEN]) -> [u8; 2];
}

/// How many bytes of a record's ciphertext the encryption of its number needs (RFC 9147, 4.2.3).
pub const MASK_SAMPLE_LEN: usize = 16;

/// A key exchange group: (EC)DHE, or a KEM or a hybrid with the same interface.
pub trait Group: Send + Sync {
    /// Returns the code point.
    fn name(&self) -> NamedGroup;
    /// Makes a key pair, which is the client's part.
    fn start(&self, rng: &mut dyn Rng) -> Result<Box<dyn KeyExchange>, CryptoError>;
    /// Returns a share, and the shared secret with the client's `key_share`, which is the server's part in one step.
    fn respond(&self, rng: &mut dyn Rng, key_share: &[u8]) -> Result<(Vec<u8>, SharedSecret), CryptoError>;
}

/// The client's half of a key exchange, which waits for the server's share.
pub trait KeyExchange: Send + Sync {
    /// Returns the `key_exchange` field to send.
    fn key_share(&self) -> &[u8];
    /// Returns the shared secret for the server's `key_exchange` field.
    fn complete(self: Box<Self>, key_share: &[u8]) -> Result<SharedSecret, CryptoError>;
}

/// The signature algorithms that can be verified.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct SignatureAlgorithms {
    /// All algorithms, for certificate chains and CRLs.
    pub all: &'static [&'static dyn SignatureVerificationAlgorithm],
    /// The algorithms by TLS code point, preferred first. A scheme that allows several curves or key types lists
    /// several.
    pub by_scheme: &'static [(SignatureScheme, &'static [&'static dyn SignatureVerificationAlgorithm])],
}

/// The algorithms of each scheme.
pub type ByScheme = &'static [(SignatureScheme, &'static [&'static dyn SignatureVerificationAlgorithm])];

impl SignatureAlgorithms {
    /// Returns a set of `all` algorithms, and those of each scheme, preferred first.
    pub const fn new(all: &'static [&'static dyn SignatureVerificationAlgorithm], by_scheme: ByScheme) -> Self {
        Self { all, by_scheme }
    }
}

/// A private key that signs. It may live in this program or in a secure element.
pub trait SigningKey: Send + Sync {
    /// Returns the schemes that this key can sign with, preferred first.
    fn schemes(&self) -> &[SignatureScheme];
    /// Returns the public key, which is compared with that of the certificate.
    fn public_key(&self) -> SubjectPublicKeyInfoDer<'_>;
    /// Signs `message` (not its hash) with `scheme`, one of [`SigningKey::schemes`]. If it returns
    /// [`Signing::Pending`], the connection waits for the signature (see [`crate::Event::NeedSignature`]).
    fn sign(&self, scheme: SignatureScheme, message: &[u8], rng: &mut dyn Rng) -> Result<Signing, CryptoError>;
}

/// The result of [`SigningKey::sign`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signing {
    /// The signature.
    Done(Vec<u8>),
    /// The signature is not ready. The application must get it from its secure element or key server, and pass it to
    /// [`crate::Connection::provide_signature`].
    Pending,
}

impl Signing {
    /// Returns the signature, if it is ready.
    pub fn done(self) -> Option<Vec<u8>> {
        match self {
            Self::Done(signature) => Some(signature),
            Self::Pending => None,
        }
    }
}

/// A failed cryptographic operation. It does not tell the cause if that would help an attacker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CryptoError {
    /// The source of randomness failed.
    RandomFailed,
    /// A key share has the wrong length, is not a point of the group, or has low order.
    InvalidKeyShare,
    /// Authentication of a record failed.
    DecryptFailed,
    /// A key has the wrong length, or an output is too long, which is a bug in the caller.
    InvalidLength,
    /// The key cannot sign with this scheme.
    UnsupportedScheme,
    /// The signer failed, for example because the secure element is gone.
    SigningFailed,
}

impl fmt::Display for CryptoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RandomFailed => "the source of randomness failed",
            Self::InvalidKeyShare => "the key share is not valid for its group",
            Self::DecryptFailed => "a record could not be authenticated",
            Self::InvalidLength => "a key or output has the wrong length",
            Self::UnsupportedScheme => "the key cannot sign with this signature scheme",
            Self::SigningFailed => "the private key could not sign",
        })
    }
}

impl core::error::Error for CryptoError {}

/// Why a private key cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyError {
    /// The key is malformed.
    Malformed,
    /// The provider does not support the kind of key, or its curve.
    UnsupportedAlgorithm,
    /// The provider does not sign with RSA keys, for the reason in its documentation.
    RsaSigningDisabled,
    /// The modulus of an RSA key is shorter than 2,048 bits, or longer than the provider supports.
    UnsupportedRsaSize,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "the private key is malformed",
            Self::UnsupportedAlgorithm => {
                "the private key is of a kind that is not supported (supported: P-256, P-384, Ed25519, RSA)"
            }
            Self::RsaSigningDisabled => {
                "this crypto provider does not sign with RSA keys, because its RSA code leaks timing; \
                 use the aws-lc provider, or an ECDSA or Ed25519 key"
            }
            Self::UnsupportedRsaSize => "the RSA key's modulus must have 2,048 to 4,096 bits",
        })
    }
}

impl core::error::Error for KeyError {}
