//! The algorithms of signed data: a hash of the content, and a signature (RFC 5754, RFC 8419).
//!
//! What must always hold: hash and signature go together. A signature with one hash over a digest of another kind is
//! refused (RFC 5652, 5.4: the same algorithm makes both). Ed25519, which hashes by itself, goes with SHA-512 alone (RFC 8419,
//! 3.1).

use der::Tag;
use der::asn1::ObjectIdentifier;
use pki_types::{AlgorithmIdentifier, SignatureVerificationAlgorithm, alg_id};
use terse_tls::SignatureScheme;
use terse_tls::crypto::CryptoProvider;

use crate::asn1::Element;
use crate::{Malformed, SignatureRefused};

/// A hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DigestAlgorithm {
    Sha256,
    Sha384,
    Sha512,
}

/// A digest of up to 64 bytes.
pub(crate) struct DigestValue {
    bytes: [u8; 64],
    len: usize,
}

impl AsRef<[u8]> for DigestValue {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.len.min(64)]
    }
}

impl DigestAlgorithm {
    pub(crate) const ALL: [Self; 3] = [Self::Sha256, Self::Sha384, Self::Sha512];

    /// Reads an AlgorithmIdentifier.
    pub(super) fn read(identifier: Element<'_>) -> Result<Self, SignatureRefused> {
        let oid = read_identifier(identifier, "digestAlgorithm")?;
        let known = Self::ALL.into_iter().find(|digest| oid.is(digest.oid()));
        known.ok_or(SignatureRefused::Algorithm)
    }

    /// Returns the AlgorithmIdentifier, without parameters (RFC 5754, 2).
    pub(super) const fn identifier(self) -> &'static [u8] {
        match self {
            Self::Sha256 => &[0x30, 0x0b, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01],
            Self::Sha384 => &[0x30, 0x0b, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02],
            Self::Sha512 => &[0x30, 0x0b, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x03],
        }
    }

    /// Returns the digest of some bytes. A provider has SHA-384 if a cipher suite of it has.
    pub(crate) fn digest(self, provider: &CryptoProvider, content: &[u8]) -> Result<DigestValue, SignatureRefused> {
        let hash = match self {
            Self::Sha256 => provider.sha256,
            Self::Sha384 => {
                let tls13 = provider.tls13_suites.iter().map(|suite| suite.hash);
                let mut hashes = tls13.chain(provider.tls12_suites.iter().map(|suite| suite.hash));
                hashes.find(|hash| hash.output_len() == 48).ok_or(SignatureRefused::Algorithm)?
            }
            Self::Sha512 => {
                let sha512 = provider.sha512.ok_or(SignatureRefused::Algorithm)?;
                return Ok(DigestValue { bytes: sha512(content), len: 64 });
            }
        };
        let digest = hash.hash(&[content]);
        let (mut bytes, len) = ([0; 64], digest.as_ref().len().min(64));
        bytes[..len].copy_from_slice(&digest.as_ref()[..len]);
        Ok(DigestValue { bytes, len })
    }

    const fn oid(self) -> ObjectIdentifier {
        match self {
            Self::Sha256 => SHA256,
            Self::Sha384 => SHA384,
            Self::Sha512 => SHA512,
        }
    }
}

/// How a private key signs, with the identifiers of the hash, the signature and the key.
pub(super) struct SigningAlgorithm {
    pub(super) scheme: SignatureScheme,
    pub(super) digest: DigestAlgorithm,
    pub(super) signature: AlgorithmIdentifier,
    pub(super) public_key: AlgorithmIdentifier,
    /// The longest signature, for room.
    pub(super) max_signature_len: usize,
}

impl SigningAlgorithm {
    /// Returns the algorithm for this scheme.
    pub(super) fn of(scheme: SignatureScheme) -> Result<&'static Self, SignatureRefused> {
        SIGNING.iter().find(|algorithm| algorithm.scheme == scheme).ok_or(SignatureRefused::Algorithm)
    }
}

static SIGNING: [SigningAlgorithm; 5] = [
    SigningAlgorithm {
        scheme: SignatureScheme::ECDSA_SECP256R1_SHA256,
        digest: DigestAlgorithm::Sha256,
        signature: alg_id::ECDSA_SHA256,
        public_key: alg_id::ECDSA_P256,
        max_signature_len: 72,
    },
    SigningAlgorithm {
        scheme: SignatureScheme::ECDSA_SECP384R1_SHA384,
        digest: DigestAlgorithm::Sha384,
        signature: alg_id::ECDSA_SHA384,
        public_key: alg_id::ECDSA_P384,
        max_signature_len: 104,
    },
    SigningAlgorithm {
        scheme: SignatureScheme::RSA_PKCS1_SHA256,
        digest: DigestAlgorithm::Sha256,
        signature: alg_id::RSA_PKCS1_SHA256,
        public_key: alg_id::RSA_ENCRYPTION,
        max_signature_len: 512,
    },
    SigningAlgorithm {
        scheme: SignatureScheme::RSA_PKCS1_SHA384,
        digest: DigestAlgorithm::Sha384,
        signature: alg_id::RSA_PKCS1_SHA384,
        public_key: alg_id::RSA_ENCRYPTION,
        max_signature_len: 512,
    },
    SigningAlgorithm {
        scheme: SignatureScheme::ED25519,
        digest: DigestAlgorithm::Sha512,
        signature: alg_id::ED25519,
        public_key: alg_id::ED25519,
        max_signature_len: 64,
    },
];

/// Returns the provider's algorithm for a signatureAlgorithm and a key, whose AlgorithmIdentifier has these contents.
///
/// An RSA signature is also known by the identifier of the key alone (RFC 5754, 3.2); then the hash is that of the content.
pub(super) fn verification(
    provider: &CryptoProvider,
    digest: DigestAlgorithm,
    signature_algorithm: Element<'_>,
    public_key_algorithm: &[u8],
) -> Result<&'static dyn SignatureVerificationAlgorithm, SignatureRefused> {
    let oid = read_identifier(signature_algorithm, "signatureAlgorithm")?;
    let signature = match digest {
        DigestAlgorithm::Sha256 if oid.is(ECDSA_WITH_SHA256) => alg_id::ECDSA_SHA256,
        DigestAlgorithm::Sha384 if oid.is(ECDSA_WITH_SHA384) => alg_id::ECDSA_SHA384,
        DigestAlgorithm::Sha256 if oid.is(SHA256_WITH_RSA) || oid.is(RSA_ENCRYPTION) => alg_id::RSA_PKCS1_SHA256,
        DigestAlgorithm::Sha384 if oid.is(SHA384_WITH_RSA) || oid.is(RSA_ENCRYPTION) => alg_id::RSA_PKCS1_SHA384,
        DigestAlgorithm::Sha512 if oid.is(ID_ED25519) => alg_id::ED25519,
        _ => return Err(SignatureRefused::Algorithm),
    };
    let mut algorithms = provider.signatures.all.iter().copied();
    algorithms
        .find(|algorithm| {
            algorithm.signature_alg_id() == signature && *algorithm.public_key_alg_id() == *public_key_algorithm
        })
        .ok_or(SignatureRefused::Algorithm)
}

/// Returns the object identifier of an AlgorithmIdentifier. Its parameters are NULL or absent, which means the same: RFC
/// 5754, 2 and 3.2, asks readers to take both.
fn read_identifier<'a>(identifier: Element<'a>, what: &'static str) -> Result<Element<'a>, Malformed> {
    let mut fields = identifier.sequence(what)?;
    let oid = fields.expect(Tag::ObjectIdentifier)?;
    if let Some(null) = fields.optional(Tag::Null)?
        && !null.contents.is_empty()
    {
        return Err(Malformed::Der(what));
    }
    fields.finish().map(|()| oid)
}

const SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.1");
const SHA384: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.2");
const SHA512: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.3");
const ID_ED25519: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.101.112");
const ECDSA_WITH_SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.2");
const ECDSA_WITH_SHA384: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.3");
const RSA_ENCRYPTION: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.1");
const SHA256_WITH_RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.11");
const SHA384_WITH_RSA: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.12");
