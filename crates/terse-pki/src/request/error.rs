//! Why a certification request is refused, and what its sender or the operator can do about it.

use core::fmt;

use crate::{KeyAlgorithm, Subject};

/// The reason why a certification request was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestError {
    /// The request has this many bytes, and more than this CA reads.
    TooLong(usize),
    /// This part of the request is no DER of what belongs there (RFC 2986, 4).
    Malformed(&'static str),
    /// This many bytes follow the request.
    TrailingData(usize),
    /// The key is of an algorithm that this CA does not certify.
    UnsupportedKey,
    /// The modulus of the RSA key has this many bits, and this CA certifies no such keys.
    RsaLength(usize),
    /// The public exponent of the RSA key is even or below 65,537.
    WeakExponent,
    /// The signature algorithm is no good, or does not fit a key of this algorithm.
    UnsupportedSignature(KeyAlgorithm),
    /// The signature was not made with the key in the request.
    InvalidSignature,
    /// The extension with this object identifier is asked for twice.
    DuplicateExtension(String),
    /// This many names are asked for, and more than this CA certifies.
    TooManyNames(usize),
    /// The policy does not allow keys of this algorithm.
    KeyNotAllowed(KeyAlgorithm),
    /// The subject is another than the required one.
    SubjectNotAllowed {
        /// The subject that is asked for.
        requested: Subject,
        /// The subject that the policy requires.
        required: Subject,
    },
    /// The subject has values that no CA should sign: no text, or text that does not print.
    InvalidSubject(Subject),
    /// A DNS name has a form that cannot be certified.
    InvalidName(String),
    /// A name of this kind is asked for, and this CA certifies DNS names and IP addresses alone.
    UnsupportedName(&'static str),
    /// The policy does not allow this name.
    NameNotAllowed(String),
    /// The policy requires this name, and the request does not ask for it.
    NameMissing(String),
    /// The certificate would have neither a subject nor another name.
    NoName,
    /// The certificate would not have the extension with this object identifier as it is asked for.
    ExtensionNotAllowed(String),
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the certification request is refused: ")?;
        match self {
            Self::TooLong(len) => {
                write!(f, "it has {len} bytes, and more than {} are not read; ask for fewer names", super::MAX_LEN)
            }
            Self::Malformed(what) => write!(f, "{what} cannot be parsed; make it anew, as PKCS #10"),
            Self::TrailingData(len) => write!(f, "{len} bytes follow it; send one request and nothing else"),
            Self::UnsupportedKey => {
                f.write_str("its key is of no algorithm that is certified here; use P-256, P-384, Ed25519 or RSA")
            }
            Self::RsaLength(bits) => {
                write!(f, "its RSA key has {bits} bits; make one with 2048, 3072 or 4096, or a P-256 key")
            }
            Self::WeakExponent => {
                f.write_str("the exponent of its RSA key is weak; make a key with the exponent 65537")
            }
            Self::UnsupportedSignature(algorithm) => {
                write!(f, "its signature algorithm is none for a {algorithm} key here; sign it with SHA-256 or SHA-384")
            }
            Self::InvalidSignature => {
                f.write_str("its signature is not by its own key; sign it with the private key that it is for")
            }
            Self::DuplicateExtension(oid) => write!(f, "it asks for the extension {oid} twice; ask once"),
            Self::TooManyNames(count) => write!(f, "it asks for {count} names; ask for at most {}", super::MAX_NAMES),
            Self::KeyNotAllowed(algorithm) => {
                write!(f, "{algorithm} keys are not allowed; make a key of another algorithm, or allow these")
            }
            Self::SubjectNotAllowed { requested, required } => {
                write!(
                    f,
                    "its subject is {:?} and must be {:?}; ask for that",
                    requested.to_string(),
                    required.to_string()
                )
            }
            Self::InvalidSubject(subject) => {
                write!(f, "its subject {:?} is not printable text throughout; ask for another", subject.to_string())
            }
            Self::InvalidName(name) => write!(f, "{name:?} is no DNS name; ask for a valid one"),
            Self::UnsupportedName(kind) => {
                write!(f, "it asks for a name of the kind {kind}; ask for DNS names and IP addresses alone")
            }
            Self::NameNotAllowed(name) => write!(f, "the name {name:?} is not allowed; leave it out, or allow it"),
            Self::NameMissing(name) => write!(f, "it must ask for the name {name:?}; add it"),
            Self::NoName => f.write_str("it has no subject and no other name; ask for one, or give one"),
            Self::ExtensionNotAllowed(oid) => {
                write!(
                    f,
                    "the certificate would not have the extension {oid} like that; leave it out, or ignore extensions"
                )
            }
        }
    }
}

impl core::error::Error for RequestError {}
