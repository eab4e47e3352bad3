//! Why an artefact is refused.

use core::fmt;

use terse_tls::CertificateError;
use terse_tls::crypto::CryptoError;

/// Why an artefact does not parse. The names are those of fields and structures in the RFCs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// It has more bytes than are read: the limit.
    TooLong(usize),
    /// It is no JSON, or not of the form that is due.
    Json,
    /// It is no CBOR (RFC 8949), or not of the form that is due.
    Cbor,
    /// It is no DER, or BER where that is accepted, or not of the structure with this name.
    Der(&'static str),
    /// It is no base64 (RFC 4648, 4).
    Base64(&'static str),
    /// A field is there twice.
    Duplicate(&'static str),
    /// A field that is required is missing.
    Missing(&'static str),
    /// A field has a value that it cannot have.
    Invalid(&'static str),
    /// There are more of them than are read.
    TooMany(&'static str),
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong(limit) => write!(f, "it is longer than {limit} bytes"),
            Self::Json => f.write_str("it is no JSON of the form that is due"),
            Self::Cbor => f.write_str("it is no CBOR of the form that is due"),
            Self::Der(what) => write!(f, "its {what} is malformed"),
            Self::Base64(what) => write!(f, "its {what} is not in base64"),
            Self::Duplicate(field) => write!(f, "it has {field} twice"),
            Self::Missing(field) => write!(f, "it has no {field}"),
            Self::Invalid(field) => write!(f, "its {field} has a value that is not allowed"),
            Self::TooMany(what) => write!(f, "it has too many {what}"),
        }
    }
}

impl core::error::Error for Malformed {}

/// Why the signature of an artefact is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignatureRefused {
    /// The signed structure does not parse.
    Malformed(Malformed),
    /// There is not exactly one signer.
    Signers,
    /// There are no signed attributes (RFC 5652, 5.3: `signedAttrs`), or the one of this name is missing, there twice, or
    /// wrong.
    SignedAttributes(&'static str),
    /// The content has another hash than the signed attributes say.
    Digest,
    /// The signature does not verify with the signer's key.
    Signature,
    /// The algorithm of the signature is not supported, or does not fit the signer's key.
    Algorithm,
    /// There is no certificate of the signer.
    NoSigner,
    /// The chain of the signer is not valid.
    Chain(CertificateError),
    /// The cryptography failed.
    Crypto(CryptoError),
}

impl fmt::Display for SignatureRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(malformed) => write!(f, "the signed data: {malformed}"),
            Self::Signers => f.write_str("there is not exactly one signer"),
            Self::SignedAttributes(which) => write!(f, "{which} is missing, there twice, or wrong"),
            Self::Digest => f.write_str("the content was changed: its hash is not the signed one"),
            Self::Signature => f.write_str("the signature is wrong"),
            Self::Algorithm => f.write_str("the signature algorithm is not supported, or does not fit the key"),
            Self::NoSigner => f.write_str("the certificate of the signer is missing"),
            Self::Chain(error) => write!(f, "the signer: {error}"),
            Self::Crypto(error) => write!(f, "the cryptography failed: {error}"),
        }
    }
}

impl core::error::Error for SignatureRefused {}

impl From<Malformed> for SignatureRefused {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}
